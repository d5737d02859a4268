"""The next step if enough devices are free, but not together: move other pods.

This module only names the command. ``dractl plan`` searches for the moves, which takes longer than
an answer should.
"""

from collections.abc import Iterable, Sequence

from dractl.allocation import RequestSurvey
from dractl.cluster.devices import Holder
from dractl.cluster.shell import NextStep, quote_command
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.holding import list_holders
from dractl.explain.reasons.next_step import AskedObject
from dractl.program import program_name


def suggest_plan(
    asked: AskedObject, causes: Sequence[Cause], requests: Iterable[RequestSurvey]
) -> NextStep | None:
    """Return the step that searches for pods to move; None if no move can help.

    ``requests`` are the surveys of all nodes together: if all nodes have too few free devices, pods
    would have to end.
    """
    if asked.kind != "Pod" or not any(map(_may_move, list_holders(causes))):
        return None
    if not all(_is_enough_free(request) for request in requests):
        return None
    command = quote_command(f"{program_name()} plan pod/{{}} -n {{}}", asked.name, asked.namespace)
    return NextStep("find out which running pods have to move so that it fits", command)


def _may_move(holder: Holder) -> bool:
    """Return whether something recreates the holder's pod on another node."""
    workload = holder.workload or ""
    return bool(workload and holder.pod) and not workload.startswith(("DaemonSet ", "Node "))


def _is_enough_free(request: RequestSurvey) -> bool:
    free = request.stages[-1].kept if request.stages else request.offered
    return len(free) >= request.wanted
