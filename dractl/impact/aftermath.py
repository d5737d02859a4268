"""The cluster after pods have ended: their owners create new pods, and the scheduler places
these.
"""

from collections.abc import Callable, Collection, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from dractl.cluster.changes import Change, Create, Delete
from dractl.cluster.state import ClusterState, Key
from dractl.impact.result import PendingPod
from dractl.scheduler.attempt import Scheduler
from dractl.simulation import NO_SUBJECT, SimulationResult, simulate
from dractl.simulation.evicted_pods import mark_evicted, mark_failed
from dractl.simulation.queue import QueuedPod, list_pending_pods, schedule_pods
from dractl.views import Claim, Pod

_KEEPS_NAME = "StatefulSet"
_ALLOCATION_FIELDS = ("allocation", "reservedFor", "devices")


class Aftermath(Struct, frozen=True):
    """A cluster after pods have ended and been replaced."""

    scheduler: Scheduler
    """The scheduler of the cluster at the end."""
    nodes: Mapping[Key, str | None] = {}
    """The ended pods that an owner replaces, each with the node of the new pod; None if the new pod
    gets no node.
    """
    successors: Mapping[Key, Key] = {}
    """The pods that were created, each with the ended pod that it replaces."""
    followers: Mapping[Key, str] = {}
    """The pods that owners end because other pods end, each with the reason."""
    notes: tuple[str, ...] = ()
    """Side effects: Jobs that fail, pods that the API server refuses, assumptions."""


def evict_pods(
    aftermath: Aftermath, pods: Collection[Key], stuck: Collection[Key] = ()
) -> Aftermath:
    """Return the effects when ``pods`` are evicted at the same time.

    Pods that are ``stuck`` stay Terminating with their devices.
    """
    if not pods:
        return aftermath
    return _end_pods(_mark(aftermath, pods, mark_evicted), pods, stuck)


def fail_pods(aftermath: Aftermath, pods: Collection[Key]) -> Aftermath:
    """Return the effects when the containers of ``pods`` end for good at the same time."""
    if not pods:
        return aftermath
    return _end_pods(_mark(aftermath, pods, mark_failed), pods)


def _mark(aftermath: Aftermath, pods: Collection[Key], mark: Callable[[Pod], Pod]) -> Aftermath:
    state = aftermath.scheduler.state
    marked = state.with_objects({"Pod": {key: mark(state.pod(key)).raw for key in pods}})
    return replace(aftermath, scheduler=aftermath.scheduler.with_state(marked))


def _end_pods(
    aftermath: Aftermath, pods: Collection[Key], stuck: Collection[Key] = ()
) -> Aftermath:
    """Return ``aftermath``, extended by the effects when ``pods`` end at the same time.

    Pods that are ``stuck`` stay Terminating with their devices.
    """
    scheduler = aftermath.scheduler
    state_before = scheduler.state
    changes = _list_changes(state_before, pods, stuck)
    result = simulate(scheduler, changes, NO_SUBJECT)
    released = _release_unused_claims(result.scheduler.state, result.successors)
    placed = dict(result.placements)
    if released is not result.scheduler.state:
        retry = schedule_pods(
            scheduler.with_state(released), _queue_unplaced(released, result.successors), {}, ()
        )
        placed |= dict(retry.placements)
        scheduler = retry.scheduler
    else:
        scheduler = result.scheduler
    replaced = {
        old: placed.get(new) or None
        for new, old in result.successors.items()
        if old not in aftermath.successors
    }
    followers = {
        key: _explain_follower(state_before.pod(key), result)
        for key in result.ended_pods
        if key not in pods and key not in aftermath.successors
    }
    notes = (*result.failed_jobs, *result.rejections, *result.notes)
    return Aftermath(
        scheduler,
        {**aftermath.nodes, **replaced},
        {**aftermath.successors, **result.successors},
        {**aftermath.followers, **followers},
        tuple(dict.fromkeys((*aftermath.notes, *notes))),
    )


def _explain_follower(pod: Pod, result: SimulationResult) -> str:
    """Return why a pod ends as a consequence of other pods' ends."""
    owner = "/".join((pod.key[0], pod.workload[1])) if pod.workload is not None else ""
    message = next((text for text in result.failed_jobs if f"Job {owner} fails" in text), "")
    return message or "its owner ends the group as a whole"


def _list_changes(
    state: ClusterState, pods: Collection[Key], stuck: Collection[Key]
) -> list[Change]:
    """Return the changes that delete pods and keep the claims that the pods share by name.

    Owners create new pods at once, while the old pods are still Terminating. If the new pods fit on
    the node of a shared claim, the claim is reserved for them before it becomes unused, and so
    binds them to this node. A StatefulSet waits until the name of its pod is free, for ever if the
    pod is stuck.
    """
    ended = [key for key in pods if key not in stuck or _is_replaced_at_once(state.pod(key))]
    held = dict.fromkeys(
        (key[0], name)
        for key in ended
        if key in stuck
        for name in state.pod(key).claim_names
        if state.claim((key[0], name)).is_allocated
    )
    shared = dict.fromkeys(
        (key[0], reference.claim_name)
        for key in pods
        if _is_replaced_at_once(state.pod(key))
        for reference in state.pod(key).claim_references
        if reference.claim_name and state.claim((key[0], reference.claim_name)).is_allocated
    )
    return [
        *(Delete("/".join(("Pod", *key))) for key in ended),
        *(Create(_release(state.claim(claim), pods)) for claim in shared if claim not in held),
        *(Create(state.claim(claim).raw) for claim in held),
    ]


def _is_replaced_at_once(pod: Pod) -> bool:
    owner = pod.controller
    return owner is not None and owner.kind != _KEEPS_NAME


def _release(claim: Claim, pods: Collection[Key]) -> Mapping[str, object]:
    """Return an allocated claim without its reservations for ``pods``."""
    consumers = [
        raw
        for raw, consumer in zip(claim.reserved_for, claim.consumers, strict=True)
        if consumer.resource != "pods" or (claim.key[0], consumer.name) not in pods
    ]
    return {**claim.raw, "status": {**claim.status, "reservedFor": consumers}}


def _release_unused_claims(state: ClusterState, pods: Iterable[Key]) -> ClusterState:
    """Return the cluster in which claims that ``pods`` name lose their allocation if nothing
    reserves them.

    Of ``pods``, only new pods without a node count: they did not fit on the node of such a claim.
    The claim controller deallocates the claim when the pods that they replace are gone
    (pkg/controller/resourceclaim/controller.go syncClaim).
    """
    for key in _list_unplaced(state, pods):
        for reference in state.pod(key).claim_references:
            claim = state.claim((key[0], reference.claim_name))
            if claim.is_allocated and not claim.reserved_for:
                status = {k: v for k, v in claim.status.items() if k not in _ALLOCATION_FIELDS}
                raw = {**claim.raw, "status": status}
                state = state.replace("ResourceClaim", claim.key, raw)
    return state


def _list_unplaced(state: ClusterState, pods: Iterable[Key]) -> list[Key]:
    return [key for key in pods if state.pod(key).exists and not state.pod(key).node_name]


def _queue_unplaced(state: ClusterState, pods: Iterable[Key]) -> list[QueuedPod]:
    return [QueuedPod(state.pod(key), generates_claims=True) for key in _list_unplaced(state, pods)]


def place_pending_pods(scheduler: Scheduler, pods: Iterable[Key]) -> dict[Key, str]:
    """Return the pending ``pods`` that the scheduler places, each with its node.

    All pending pods are tried in the order of the queue.
    """
    queue = [
        QueuedPod(pod, generates_claims=pod.has_uncreated_claims or not pod.uid)
        for pod in list_pending_pods(scheduler.state)
    ]
    wanted = frozenset(pods)
    if not wanted.intersection(entry.pod.key for entry in queue):
        return {}
    result = schedule_pods(scheduler, queue, {}, ())
    return {key: node for key, node in result.placements if key in wanted}


def compare_pending_pods(before: Scheduler, after: Aftermath) -> tuple[PendingPod, ...]:
    """Return the pending pods that a change affects.

    A pod that an owner has created counts if it gets no node. A pod that waited before counts if it
    gains or loses a node because of the change.
    """
    waiting = [pod.key for pod in list_pending_pods(before.state)]
    nodes_before = place_pending_pods(before, waiting)
    nodes_after = place_pending_pods(after.scheduler, waiting)
    bound = {key: node for key in waiting if (node := after.scheduler.state.pod(key).node_name)}
    nodes_after |= bound
    changed = (
        PendingPod("/".join(key), nodes_before.get(key), nodes_after.get(key))
        for key in waiting
        if (key in nodes_before) != (key in nodes_after)
    )
    homeless = (
        PendingPod("/".join(key), None, None, replaces=True)
        for key, node in after.nodes.items()
        if node is None
    )
    return (*homeless, *changed)
