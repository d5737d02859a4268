"""Pending pods, scheduled in the order of kube-scheduler's queue."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from dractl.capacity.binding import bind_copy
from dractl.capacity.gangs import find_gang_wait
from dractl.cluster.changes import Delete, apply
from dractl.cluster.derived import derive_from
from dractl.cluster.podgroups import find_pod_group, group_object
from dractl.cluster.state import ClusterState, Key
from dractl.objects import Raw
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.verdict import NodeVerdict
from dractl.simulation.workload_pods import NEW_SUFFIX, pod_identity
from dractl.views import Pod


class BoundPod(Struct, frozen=True):
    """A pod of the queue that got a node."""

    node: str
    """The name of the node."""

    victims: tuple[str, ...]
    """The pods that are evicted for this pod."""

    objects: Mapping[str, Mapping[Key, Raw]]
    """The objects that binding writes, by kind."""


PlacementCache = dict[Hashable, BoundPod | None]
"""The result of each attempt: the bound pod, or None for a pod that got no node. The key consists
of the pod and the changes of the cluster before the attempt.
"""


class QueuedPod(Struct, frozen=True):
    """A pod in the queue."""

    pod: Pod
    """The pod."""

    generates_claims: bool = False
    """Whether the pod's claims are generated from their templates now; otherwise the pod keeps its
    present claims.
    """

    nodes: frozenset[str] | None = None
    """Nodes that are tried; None for all."""

    is_subject: bool = False
    """Whether the simulation is about this pod."""


class QueueResult(Struct, frozen=True):
    """A cluster after its pending pods have been tried."""

    scheduler: Scheduler
    """The scheduler of the cluster with the pods that got a node."""

    placements: tuple[tuple[Key, str], ...] = ()
    """Pods that got a node, each with the node, in the order of the queue."""


def placement_cache(scheduler: Scheduler) -> PlacementCache:
    """Return the cache of placements that all simulations of this cluster read and extend."""
    cache: PlacementCache = scheduler.state.cache.from_sources(
        ("simulated-placements", scheduler.features), (scheduler.state,), lambda _: {}
    )
    return cache


@derive_from("Pod", "PriorityClass")
def list_pending_pods(state: ClusterState) -> Sequence[Pod]:
    """Return the pods that kube-scheduler would try, in the order of its queue."""
    pending_pods = (pod for pod in state.pods.values() if pod.queue_key is not None)
    return tuple(sorted(pending_pods, key=lambda pod: pod.queue_key or ()))


def build_queue(
    pending_pods: Sequence[Pod],
    new_pods: Collection[str],
    subjects: Collection[str],
    nodes: frozenset[str] | None,
    affected_nodes: frozenset[str] | None,
) -> list[QueuedPod]:
    """Return the queue of a changed cluster, up to the last new pod or subject.

    ``new_pods`` and ``subjects`` are identities (``pod_identity``). These pods may use ``nodes``.
    Pods ahead of them may use only ``affected_nodes``, since the change does not help them on other
    nodes.
    """
    queue: list[QueuedPod] = []
    end = 0
    for pod in pending_pods:
        identity = pod_identity(pod)
        generates_claims = identity in new_pods or pod.has_uncreated_claims or not pod.uid
        if identity in new_pods or identity in subjects:
            is_subject = identity in subjects
            queue.append(QueuedPod(pod, generates_claims, nodes, is_subject))
            end = len(queue)
        elif affected_nodes is None or affected_nodes:
            queue.append(QueuedPod(pod, generates_claims, affected_nodes))
    return queue[:end]


def schedule_pods(
    scheduler: Scheduler, queue: Iterable[QueuedPod], cache: PlacementCache, history: Hashable
) -> QueueResult:
    """Try each pod once, in the order of the queue, until a subject gets a node.

    If a pod gets no node, the pods that the scheduler cannot tell apart from it are not tried.
    ``history`` identifies the changes of the cluster in ``cache``, so simulations of the same
    changes for several subjects try the pods ahead only once.
    """
    placements: list[tuple[Key, str]] = []
    unschedulable: set[Hashable] = set()
    pods_per_node: Counter[str] = Counter()
    for entry in queue:
        pod_class = (entry.pod.key[0], entry.nodes, entry.pod.scheduling_key)
        if pod_class in unschedulable:
            continue
        attempt = history, tuple(placements), entry.pod.key, entry.generates_claims, entry.nodes
        if attempt not in cache:
            node = _select_node(scheduler, entry, pods_per_node)
            cache[attempt] = None if node is None else _bind(scheduler, entry, node)
        bound_pod = cache[attempt]
        if bound_pod is None:
            unschedulable.add(pod_class)
            continue
        pods_per_node[bound_pod.node] += 1
        placements.append((entry.pod.key, bound_pod.node))
        state, binding = scheduler.state, (scheduler.features, attempt)
        scheduler = scheduler.with_state(
            state.cache.from_change(state, binding, partial(_write, state, entry.pod, bound_pod))
        )
        if entry.is_subject:
            break
    return QueueResult(scheduler, tuple(placements))


def _select_node(
    scheduler: Scheduler, entry: QueuedPod, pods_per_node: Counter[str]
) -> NodeVerdict | None:
    """Return the node that a pod gets: a node with few victims, or else with few pods of this
    queue. None if no node fits, or if the pod's gang does not start.
    """
    if group_object(entry.pod) is not None and not _gang_starts(scheduler, entry):
        return None
    attempt = scheduler.attempt_pod(
        entry.pod.raw, recreated=entry.generates_claims, node_names=entry.nodes
    )
    return min(
        (node for node in attempt.nodes if node.fits and attempt.fits),
        key=lambda node: (len(node.victims), pods_per_node[node.name], node.name),
        default=None,
    )


def _bind(scheduler: Scheduler, entry: QueuedPod, node: NodeVerdict) -> BoundPod:
    """Bind a pod and its claims to the node, after its victims are evicted."""
    scheduler = scheduler.with_state(_evict(scheduler.state, node.victims))
    binding = bind_copy(scheduler, _with_server_metadata(entry.pod), node)
    return BoundPod(node.name, node.victims, binding.objects)


def _write(state: ClusterState, pod: Pod, bound_pod: BoundPod) -> ClusterState:
    """Return the cluster in which a pod was bound."""
    state = _evict(state, bound_pod.victims).with_objects(bound_pod.objects)
    return _remove_unallocated_claims(state, pod)


def _evict(state: ClusterState, victims: Sequence[str]) -> ClusterState:
    return apply(state, [Delete(f"Pod/{victim}") for victim in victims]) if victims else state


def _gang_starts(scheduler: Scheduler, entry: QueuedPod) -> bool:
    """Return whether the gang of a pod starts.

    Its other pods keep their claims, even if the templates would generate different ones now. So a
    gang does not start while a pending member has an outdated claim. Claims of pods that were just
    created are generated before the gang is tried.
    """
    pod = entry.pod
    state, new_pod = scheduler.state, _with_server_metadata(pod)
    group = find_pod_group(state, Pod(new_pod))
    for member in group.members(state) if group is not None else ():
        is_other = member.name != pod.key[1]
        if is_other and member.is_pending and _has_outdated_claim(state, pod.key[0], member):
            return False
    wait = find_gang_wait(
        state, new_pod, group, scheduler.features, recreated=entry.generates_claims
    )
    return wait is None


def _has_outdated_claim(state: ClusterState, namespace: str, pod: Pod) -> bool:
    """Return whether a claim of a pod differs from the claim that its template generates now."""
    for reference in pod.claim_references:
        claim = state.claim((namespace, pod.claim_statuses.get(reference.name, "")))
        template = state.claim_template((namespace, reference.template_name))
        if claim.exists and template.exists and claim.spec != template.claim_spec:
            return True
    return False


def _with_server_metadata(pod: Pod) -> dict[str, Any]:
    """Return the pod with the UID and namespace that the API server gives a new pod."""
    namespace, name = pod.key
    metadata = {"uid": f"{name}{NEW_SUFFIX}", **pod.metadata, "namespace": namespace}
    return {**pod.raw, "metadata": metadata}


def _remove_unallocated_claims(state: ClusterState, pod: Pod) -> ClusterState:
    """Remove the unallocated claims of a pod. The simulation has given its allocated claims other
    names.
    """
    keys = {(pod.key[0], name) for name in pod.claim_statuses.values()}
    unallocated = {key for key in keys if not state.claim(key).is_allocated}
    if not unallocated:
        return state
    claims = state.objects("ResourceClaim").items()
    remaining = {key: claim for key, claim in claims if key not in unallocated}
    return state.with_kinds({"ResourceClaim": remaining})
