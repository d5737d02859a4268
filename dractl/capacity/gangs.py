"""Groups of pods that kube-scheduler places together, and why one of them waits although its pods fit one by one.

kubernetes pkg/scheduler/schedule_one_podgroup.go, pkg/scheduler/framework/plugins/gangscheduling and topologyaware. A
gang's pods are placed one after the other; if fewer than ``minCount`` have a node in the end, none gets one. A group
with a topology constraint is tried on the nodes of one domain after the other.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from dractl.allocation import Features
from dractl.capacity.replicas import Placement, place_first
from dractl.cluster.podgroups import GangGroup
from dractl.cluster.state import ClusterState, at, map_at, maps_at, text_at
from dractl.objects import Raw
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.pre_enqueue import pre_enqueue
from dractl.scheduler.verdict import Attempt
from dractl.views import Pod


class GroupMissing(Struct, frozen=True):
    """The object that the pods name as their ``group`` (``Kind/namespace/name``) does not exist; ``is_kind_unknown``: the input
    has none of its kind, and the scheduler has not tried the pod, as it does where there is none."""

    group: str
    is_kind_unknown: bool = False  # the input has no object of its kind


class TooFewPods(Struct, frozen=True):
    """The gang has fewer pods than start together, so PreEnqueue keeps them."""

    group: str
    minimum: int
    pods: int


class MemberBlocked(Struct, frozen=True):
    """PreEnqueue holds back ``pod`` with the stops of ``attempt``, and the group waits for it."""

    group: str
    minimum: int | None
    pod: Raw
    attempt: Attempt


class UnequalPods(Struct, frozen=True):
    """Pods of the group differ in what must be the same; ``text`` is the scheduler's message."""

    group: str
    text: str


class NoTopologyDomain(Struct, frozen=True):
    """No node has the label ``key`` of the group's topology constraint, or none with the value that pods of the group
    that are on nodes have."""

    group: str
    key: str


class TooFewFit(Struct, frozen=True):
    """Of ``pods`` in all ``placed`` have a node and ``fits`` more get one, which is less than ``minimum``; of a group
    that has started none fits, and ``minimum`` is 1.

    ``attempt`` is kube-scheduler's for ``pod``, the next one, in ``state``, the cluster with those that fit. ``domain``
    (``key=value``) is where most of them fit, if a topology constraint keeps them together.
    """

    group: str
    minimum: int
    pods: int
    placed: int
    fits: int
    pod: Raw
    attempt: Attempt
    state: ClusterState
    domain: str = ""


class GangUndecided(Struct, frozen=True):
    """The budget ran out before it was clear whether ``minimum`` pods fit; ``fits`` do."""

    group: str
    minimum: int
    fits: int


GangWait = GroupMissing | TooFewPods | MemberBlocked | UnequalPods | NoTopologyDomain | TooFewFit


def why_gang_waits(
    state: ClusterState,
    pod: Raw,
    group: GangGroup | None,
    features: Features,
    *,
    recreated: bool = False,
) -> GangWait | GangUndecided | None:
    """Why the ``group`` of a pod waits; None if kube-scheduler would start it now, if the pod is in none, or if the
    group's object is not in the input. With ``recreated`` its pods are created again, with new claims."""
    if group is None:
        return None
    name, value, least, topology = group.name, group.value, group.min_count, group.topology
    if value is None:
        if group.kind in state.kinds:
            return GroupMissing(name)
        untried = text_at(pod, "metadata", "uid") and not maps_at(pod, "status", "conditions")
        return (
            GroupMissing(name, is_kind_unknown=True)
            if untried and not text_at(pod, "spec", "nodeName")
            else None
        )
    own = group.members(state)
    if least is not None and len(own) < least:
        return TooFewPods(name, least, len(own))
    placed = [member for member in own if text_at(member, "spec", "nodeName")]
    queued = [
        member
        for member in own
        if not text_at(member, "spec", "nodeName")
        and not text_at(member, "metadata", "deletionTimestamp")
    ]
    entries = [(member, pre_enqueue(state, member, recreated=recreated)) for member in queued]
    held = next(((member, entry) for member, entry in entries if entry.stops), None)
    tried = [member for member, entry in entries if not entry.stops]
    if held is not None and (
        features.has("groups-held-by-one") or len(placed) + len(tried) < (least or 0)
    ):
        member, entry = held
        return MemberBlocked(
            name, least, member, Attempt(entry.claims, entry.stops, message=entry.condition)
        )
    text = _inequality_message(value, [*queued, *placed]) if features.has("groups-checked") else ""
    if text:
        return UnequalPods(name, text)
    missing = max((least or 1) - len(placed), 1 if topology else 0)
    if not tried or missing <= 0 or (least is None and not topology):
        return None
    places = split_by_topology(state, topology, placed)
    if not places:
        return NoTopologyDomain(name, topology)
    best: tuple[Placement, str] | None = None
    for domain, nodes in places.items():
        reached = place_first(nodes, group.key[1], tried, features, missing)
        if reached.fits >= missing:
            return None
        if reached.undecided:
            return GangUndecided(name, least or 1, len(placed) + reached.fits)
        if best is None or reached.fits > best[0].fits:
            best = reached, domain
    assert best is not None
    short, where = best
    next_pod, attempt = short.pending, short.attempt
    if next_pod is None or attempt is None:
        next_pod = tried[-1]
        attempt = Scheduler(short.state, features).attempt_pod(next_pod, recreated=True)
    started = len(placed) >= (least or 1)
    return TooFewFit(
        name,
        1 if started else least or 1,
        len(own),
        len(placed),
        short.fits,
        next_pod,
        attempt,
        short.state,
        where,
    )


def gang_remarks(group: GangGroup) -> Iterator[str]:
    """Sentences about what is not checked in the group of a pod that does not wait for it."""
    name = group.name.replace("/", " ", 1)
    if group.value is None:
        yield f"{name} is not in the input: whether its pods start together or not at all was not checked"
    if group.parent:
        yield f"{name} is part of CompositePodGroup {group.parent}, which is not checked here"
    if group.topology:
        yield (
            f"{name} keeps its pods on nodes with one value of {group.topology}: that was checked for "
            f"{group.min_count or 1} of them, not for each node that is named here"
        )


def _inequality_message(group: Raw, pods: Sequence[Raw]) -> str:
    """What the scheduler says of pods that may not be in one group; empty if they may (validatePodGroup)."""
    first = Pod(pods[0]).scheduler_name if pods else ""
    never = text_at(pods[0], "spec", "preemptionPolicy") or _DEFAULT_PREEMPTION if pods else ""
    wanted = _int_or_zero(at(group, "spec", "priority"))
    for pod in pods:
        scheduler = Pod(pod).scheduler_name
        if scheduler != first:
            return (
                "all pods in a single pod group should have the same .spec.schedulerName set, "
                f'got: "{scheduler}" and "{first}"'
            )
        priority = _int_or_zero(at(pod, "spec", "priority"))
        if (
            priority != wanted
            and text_at(pod, "metadata", "uid")
            and text_at(group, "metadata", "uid")
        ):
            return (
                "all pods in a single pod group should have the same priority as the pod group's priority, "
                f"got {priority} and {wanted}"
            )
        policy = text_at(pod, "spec", "preemptionPolicy") or _DEFAULT_PREEMPTION
        if policy != never:
            return f"all pods in a single pod group should have the same preemption policy, got {policy} and {never}"
    return ""


_DEFAULT_PREEMPTION = "PreemptLowerPriority"


def _int_or_zero(value: object) -> int:
    return value if isinstance(value, int) else 0


def split_by_topology(
    state: ClusterState, topology: str, placed: Sequence[Raw]
) -> dict[str, ClusterState]:
    """For each value of a node label (``key=value``) the cluster with its nodes alone; if pods of the group are
    ``placed``, for the value of their nodes. Without a label the whole cluster."""
    if not topology:
        return {"": state}
    nodes: dict[str, dict[tuple[str, str], Raw]] = {}
    for name, node in state.objects("Node").items():
        value = map_at(node, "metadata", "labels").get(topology)
        if value is not None:
            nodes.setdefault(str(value), {})[name] = node
    hosts = {("", text_at(pod, "spec", "nodeName")) for pod in placed}
    found = {
        value: there for value, there in sorted(nodes.items()) if not hosts or hosts <= there.keys()
    }
    return {
        f"{topology}={value}": state.with_kinds({"Node": there}) for value, there in found.items()
    }
