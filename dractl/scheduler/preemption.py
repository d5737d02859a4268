"""PostFilter: pods of lower priority that the scheduler evicts so that the filters before DRA let a pod through.

kubernetes pkg/scheduler/framework/preemption/preemption.go and plugins/defaultpreemption. The scheduler never evicts a
pod for its devices: the DRA plugin keeps no account of what a removed pod would free (it has no AddPod and RemovePod),
so on a node without free devices the pod does not fit after the eviction either.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dractl.scheduler import wording

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dractl.scheduler.node_filters import NodeFilters
    from dractl.scheduler.snapshot import NodeInfo, PodInfo, Snapshot
    from dractl.scheduler.verdict import NodeVerdict


def preempt(
    filters: NodeFilters, verdicts: Sequence[NodeVerdict], dra_texts: Callable[[NodeVerdict], tuple[str, ...]]
) -> tuple[tuple[NodeVerdict, ...], list[str]]:
    """The verdicts with victims, if evicting them helps on some node; else what preemption says of each node.

    ``dra_texts`` gives what DRA says of a node, nothing if the pod's claims can be allocated there.
    """
    texts: list[str] = []
    found: list[NodeVerdict] = []
    for verdict in verdicts:
        if verdict.rejection is None or verdict.rejection.final:
            texts.append(wording.NOT_HELPFUL)
            found.append(verdict)
            continue
        node = filters.snapshot.nodes[verdict.name]
        victims = lower_priority(filters.snapshot, filters.pod, node)
        emptied = filters.without(victims) if victims else filters
        refused = emptied.first(emptied.snapshot.nodes[node.name])
        said = (wording.NO_VICTIMS,) if not victims else refused.texts if refused is not None else dra_texts(verdict)
        texts += said
        names = tuple(victim.full_name for victim in victims)
        found.append(verdict if said else replace(verdict, victims=names))
    return (tuple(found), []) if any(n.victims for n in found) else ((), texts)


def lower_priority(snapshot: Snapshot, pod: PodInfo, node: NodeInfo) -> list[PodInfo]:
    """The pods of a node that the scheduler may evict in favour of another: those of lower priority."""
    if not pod.preempts:
        return []
    own = pod.priority(snapshot.state)
    return [other for other in node.pods if other is not pod and other.priority(snapshot.state) < own]
