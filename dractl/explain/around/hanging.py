"""What hangs on a node: the node itself, and pods on it that cannot start, run or end."""

from collections.abc import Iterator

from dractl.cluster import kubelet
from dractl.cluster.pods import ended
from dractl.cluster.state import ClusterState, text_at
from dractl.explain import settled
from dractl.explain.answer import FITS, Hanging
from dractl.explain.ask import Question
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.phrases import Names
from dractl.explain.reasons.running import NodeSilent, NodeUnready
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.preenqueue import enter


def pods(scheduler: Scheduler, node: str) -> Iterator[Hanging]:
    """The pods of a node that hang for another reason than the node itself. Those that have ended are left out: they
    have no devices any more."""
    for key, pod in sorted(scheduler.state.all("Pod").items()):
        if text_at(pod, "spec", "nodeName") == node and not ended(pod):
            claims = enter(scheduler.state, pod).claims
            conclusion, _ = settled.placed_pod(scheduler, Question("Pod", key, pod), claims)
            node_itself = (
                isinstance(conclusion.causes[0], (NodeSilent, NodeUnready))
                if conclusion.causes
                else False
            )
            if conclusion.verdict not in FITS and not node_itself:
                yield Hanging("/".join(key), conclusion.headline.text(Names()))


def condition(state: ClusterState, node: str) -> Cause | None:
    """That nobody answers on a node, or that its kubelet says it is not ready."""
    silent = kubelet.silence(state, node)
    if silent is not None:
        return NodeSilent(nodes=(node,), why=silent.message, since=silent.since)
    why = kubelet.unready(state, node)
    return NodeUnready(nodes=(node,), why=why) if why else None
