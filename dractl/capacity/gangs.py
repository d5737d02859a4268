"""Pods that kube-scheduler places together, and why a gang waits although its pods fit one by one.

kubernetes pkg/scheduler/schedule_one_podgroup.go, pkg/scheduler/framework/plugins/gangscheduling
and topologyaware. A gang's pods are placed one after the other; if fewer than ``minCount`` have a
node in the end, none gets one. A group with a topology constraint is tried in one domain after the
other.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from dractl.allocation import Features
from dractl.cluster.podgroups import GangGroup
from dractl.cluster.state import ClusterState
from dractl.objects import Raw
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.pre_enqueue import pre_enqueue
from dractl.scheduler.verdict import Attempt
from dractl.views import Key, Pod, PodGroup

if TYPE_CHECKING:
    from dractl.capacity.replicas import Placement


class GroupMissing(Struct, frozen=True):
    """The object that the pods name as their group does not exist."""

    group: str
    """``Kind/namespace/name``."""
    is_kind_unknown: bool = False
    """True if the input has no object of the group's kind. The evidence for the missing group
    is then that the scheduler has set no condition on the pod.
    """


class TooFewPods(Struct, frozen=True):
    """The gang has fewer pods than have to start together, so PreEnqueue holds them back."""

    group: str
    minimum: int
    pods: int


class MemberBlocked(Struct, frozen=True):
    """A pod that PreEnqueue holds back, and for which the rest of the group waits."""

    group: str
    minimum: int | None
    pod: Raw
    attempt: Attempt
    """The attempt with the stops of the pod."""


class UnequalPods(Struct, frozen=True):
    """Pods of the group that differ in a field that must be the same."""

    group: str
    text: str
    """The scheduler's message."""


class NoTopologyDomain(Struct, frozen=True):
    """No node is in a topology domain of the group."""

    group: str
    key: str
    """The label of the group's topology constraint. No node has the label, or the nodes of
    the group's placed pods have no common value.
    """


class TooFewFit(Struct, frozen=True):
    """Fewer pods of the group fit than have to start together."""

    group: str
    minimum: int
    """The number of pods that have to start together; 1 if the group has started."""
    pods: int
    """The number of pods of the group."""
    placed: int
    """The number of pods that have a node."""
    fits: int
    """The number of further pods that fit."""
    pod: Raw
    """The next pod, which does not fit."""
    attempt: Attempt
    """The scheduler's attempt for that pod."""
    state: ClusterState
    """The cluster of the attempt, with the pods that fit."""
    domain: str = ""
    """The topology domain (``key=value``) in which the most pods fit, if a constraint keeps them
    together.
    """


class GangUndecided(Struct, frozen=True):
    """The budget ran out before it was clear whether ``minimum`` pods fit."""

    group: str
    minimum: int
    fits: int
    """The number of pods that certainly fit."""


GangWait = GroupMissing | TooFewPods | MemberBlocked | UnequalPods | NoTopologyDomain | TooFewFit


class _Members(Struct, frozen=True):
    """The pods of a gang, by how the scheduler treats them."""

    pods: list[Pod]
    """All pods of the gang."""

    placed: list[Pod]
    """The pods that have a node."""

    queued: list[Pod]
    """The pods that wait for a node and are not being deleted."""

    schedulable: list[Pod]
    """The queued pods that pass PreEnqueue."""

    blocked: MemberBlocked | None
    """The first queued pod that PreEnqueue holds back."""


def find_gang_wait(
    state: ClusterState,
    pod: Raw,
    group: GangGroup | None,
    features: Features,
    *,
    recreated: bool = False,
) -> GangWait | GangUndecided | None:
    """Return why the ``group`` of a pod waits; None if kube-scheduler would start it now.

    Return None, too, if the pod is in no group, or if the group's object is not in the input. With
    ``recreated`` the pods are created again, with new claims.
    """
    if group is None:
        return None
    if group.value is None:
        return _find_missing_group(state, Pod(pod), group)
    too_few = find_too_few_pods(state, group)
    if too_few is not None:
        return too_few
    minimum, topology = group.min_count, group.topology
    members = _sort_members(state, group, recreated=recreated)
    placed, schedulable = members.placed, members.schedulable
    if members.blocked is not None and (
        features.has("groups-held-by-one") or len(placed) + len(schedulable) < (minimum or 0)
    ):
        return members.blocked
    if features.has("groups-checked"):
        message = _inequality_message(PodGroup(group.value), [*members.queued, *placed])
        if message:
            return UnequalPods(group.name, message)
    missing = max((minimum or 1) - len(placed), 1 if topology else 0)
    if not schedulable or missing <= 0 or (minimum is None and not topology):
        return None
    return _place_members(state, group, members, features, missing)


def find_too_few_pods(state: ClusterState, group: GangGroup | None) -> TooFewPods | None:
    """Return the cause for a gang that has fewer pods than have to start together; None for other
    gangs.
    """
    if group is None or group.value is None or group.min_count is None:
        return None
    count = len(group.members(state))
    return TooFewPods(group.name, group.min_count, count) if count < group.min_count else None


def _find_missing_group(state: ClusterState, pod: Pod, group: GangGroup) -> GroupMissing | None:
    """Return the cause if the cluster lacks the group; None if that is unknown."""
    if group.kind in state.kinds:
        return GroupMissing(group.name)
    # The scheduler sets no condition on a pod whose group does not exist.
    if pod.uid and not pod.conditions and not pod.node_name:
        return GroupMissing(group.name, is_kind_unknown=True)
    return None


def _sort_members(state: ClusterState, group: GangGroup, *, recreated: bool) -> _Members:
    pods = group.members(state)
    placed = [pod for pod in pods if pod.node_name]
    queued = [pod for pod in pods if not pod.node_name and not pod.deletion_timestamp]
    entries = [(pod, pre_enqueue(state, pod.raw, recreated=recreated)) for pod in queued]
    blocked = [
        MemberBlocked(
            group.name,
            group.min_count,
            pod.raw,
            Attempt(entry.claims, entry.stops, message=entry.condition),
        )
        for pod, entry in entries
        if entry.stops
    ]
    return _Members(
        pods,
        placed,
        queued,
        [pod for pod, entry in entries if not entry.stops],
        blocked[0] if blocked else None,
    )


def _place_members(
    state: ClusterState, group: GangGroup, members: _Members, features: Features, missing: int
) -> NoTopologyDomain | TooFewFit | GangUndecided | None:
    """Place the schedulable members in one topology domain after the other.

    Return None as soon as ``missing`` of them fit in a domain.
    """
    minimum, placed = group.min_count or 1, len(members.placed)
    domains = split_by_topology(state, group.topology, members.placed)
    if not domains:
        return NoTopologyDomain(group.name, group.topology)
    schedulable = [pod.raw for pod in members.schedulable]
    from dractl.capacity.replicas import place_first  # few explanations place a gang

    placements: list[tuple[str, Placement]] = []
    for domain, nodes in domains.items():
        placement = place_first(nodes, group.key[1], schedulable, features, missing)
        if placement.fits >= missing:
            return None
        if placement.undecided:
            return GangUndecided(group.name, minimum, placed + placement.fits)
        placements.append((domain, placement))
    best_domain, best = max(placements, key=lambda entry: entry[1].fits)
    next_pod, attempt = best.pending, best.attempt
    if next_pod is None or attempt is None:
        next_pod = schedulable[-1]
        attempt = Scheduler(best.state, features).attempt_pod(next_pod, recreated=True)
    return TooFewFit(
        group=group.name,
        minimum=1 if placed >= minimum else minimum,
        pods=len(members.pods),
        placed=placed,
        fits=best.fits,
        pod=next_pod,
        attempt=attempt,
        state=best.state,
        domain=best_domain,
    )


def gang_remarks(group: GangGroup) -> Iterator[str]:
    """Yield remarks on the features of a group that were not checked, if the pod does not wait for
    its group.
    """
    name = group.name.replace("/", " ", 1)
    if group.value is None:
        yield (
            f"{name} is not in the input: whether its pods start together or not at all was not"
            " checked"
        )
    if group.parent:
        yield f"{name} is part of CompositePodGroup {group.parent}, which is not checked here"
    if group.topology:
        yield (
            f"{name} keeps its pods on nodes with one value of {group.topology}: that was checked"
            f" for {group.min_count or 1} of its pods, but not for each node that is named here"
        )


def _inequality_message(group: PodGroup, pods: Sequence[Pod]) -> str:
    """Return the scheduler's message for pods that cannot be in one group (validatePodGroup); "" if
    they can.
    """
    if not pods:
        return ""
    first_scheduler, first_policy = pods[0].scheduler_name, pods[0].preemption_policy
    for pod in pods:
        if pod.scheduler_name != first_scheduler:
            return (
                "all pods in a single pod group should have the same .spec.schedulerName set, "
                f'got: "{pod.scheduler_name}" and "{first_scheduler}"'
            )
        # Only the API server sets a priority, so an object that it has not stored has none.
        if pod.priority != group.priority and pod.uid and group.uid:
            return (
                "all pods in a single pod group should have the same priority as the pod group's "
                f"priority, got {pod.priority} and {group.priority}"
            )
        if pod.preemption_policy != first_policy:
            return (
                "all pods in a single pod group should have the same preemption policy, "
                f"got {pod.preemption_policy} and {first_policy}"
            )
    return ""


def split_by_topology(
    state: ClusterState, topology: str, placed: Sequence[Pod]
) -> dict[str, ClusterState]:
    """Return, by ``key=value``, the cluster with only the nodes of one topology domain.

    ``topology`` is the node label; without a label, the whole cluster is one domain. If pods of the
    group are ``placed``, only the domain of their nodes is returned.
    """
    if not topology:
        return {"": state}
    domains: dict[str, dict[Key, Raw]] = {}
    for key, node in state.nodes.items():
        value = node.labels.get(topology)
        if value is not None:
            domains.setdefault(str(value), {})[key] = node.raw
    hosts = {("", pod.node_name) for pod in placed}
    return {
        f"{topology}={value}": state.with_kinds({"Node": nodes})
        for value, nodes in sorted(domains.items())
        if not hosts or hosts <= nodes.keys()
    }
