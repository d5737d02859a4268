"""Machines of the models that the labels of a cluster's nodes name. A new one may serve a subject
that no existing node can ever serve.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from dractl.allocation import Features
from dractl.cluster.state import ClusterState
from dractl.errors import DractlError
from dractl.explain.ask import Question
from dractl.scheduler.attempt import Scheduler

if TYPE_CHECKING:
    from dractl.explain.fleet.machines import MachineCluster

_LABELS = ("node.kubernetes.io/instance-type", "nvidia.com/gpu.machine")
"""Labels of cloud providers (k8s.io/api/core/v1 well_known_labels.go) and of
gpu-feature-discovery.
"""
_MAX_MACHINES = 3
_UNKNOWN = "?"
"""The result for a machine that may or may not serve the subject."""


def note_known_machines(scheduler: Scheduler, question: Question) -> Iterator[str]:
    """Yield a note on the machines that node labels name and that would serve a subject; none if no
    label names a known machine.
    """
    labels = (node.labels for node in scheduler.nodes.values())
    values = dict.fromkeys(each[key] for each in labels for key in _LABELS if key in each)
    if not values:
        return
    from dractl.machines.names import canonical

    names = list(dict.fromkeys(name for value in values if (name := canonical(value))))
    judged = {name: _judge_machine(scheduler, question, name) for name in names[:_MAX_MACHINES]}
    judged = {name: needs for name, needs in judged.items() if needs != _UNKNOWN}
    serving = [f"{name}{needs}" for name, needs in judged.items() if needs is not None]
    if serving:
        yield (
            f"node labels name hardware that could serve it: a new {' or '.join(serving)}, if all"
            " its devices are free and its drivers publish their defaults"
        )
    elif judged:
        yield f"no new {' or '.join(judged)} (named by node labels) would serve it either"


def _judge_machine(scheduler: Scheduler, question: Question, name: str) -> str | None:
    """Return the labels that a machine's node needs to serve the subject: `` with LABELS``, or ""
    if it needs none. Return None if the machine does not serve the subject, and :data:`_UNKNOWN` if
    that is unknown.
    """
    from dractl.explain.explain import Explainer
    from dractl.explain.fleet.machines import make_pending

    state = make_pending(scheduler.state, [question])
    with suppress(DractlError):
        cluster = state.cache.from_object(
            ("machine's cluster", name, scheduler.features),
            state,
            lambda: _make_cluster(state, scheduler.features, name),
        )
        answer, conditions = cluster.answer(question, Explainer.judge)
        if answer.fits:
            needs = ", ".join(dict.fromkeys(need.text for need in conditions.needs))
            return f" with {needs}" if needs else ""
        if answer.verdict == "undecided":
            return _UNKNOWN
    return None


def _make_cluster(state: ClusterState, features: Features, name: str) -> "MachineCluster":
    """Return the cluster that has this machine only, all of whose devices are free.

    Raises DractlError if the machine cannot be described for this release.
    """
    from dractl.cluster.described_nodes import describe_node, list_known_classes, render_node
    from dractl.explain.explain import Options
    from dractl.explain.fleet.machines import DescribedMachine, make_clusters
    from dractl.machines import describe
    from dractl.model import Target
    from dractl.model.driver_choice import DriverChoice

    choice, target = DriverChoice(), Target(features.release, features.on)

    def describe_machine() -> DescribedMachine:
        node = describe_node(name, choice, lambda _: None)
        published = render_node(node, f"--hardware {name}", target, choice, lambda _: None)
        return DescribedMachine(list_known_classes(target).merge(published), describe(name))

    machine = state.cache.from_sources(
        ("known machine", name, features), (), lambda _: describe_machine()
    )
    options = Options(fixes=0, brief=True)
    (cluster,) = make_clusters(state, {name: machine}, lambda _: [], features, options)
    return cluster
