"""Pending pods, scheduled in the order of kube-scheduler's queue."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence

from msgspec import Struct

from dractl.capacity.binding import bound
from dractl.capacity.gangs import waiting
from dractl.capacity.replicas import kind_of
from dractl.cluster.changes import Delete, apply
from dractl.cluster.podgroups import object_of, podgroup
from dractl.cluster.pods import is_pending
from dractl.cluster.state import ClusterState, Key, at, maps_at, text_at
from dractl.objects import Raw
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.verdict import NodeVerdict
from dractl.simulation.workload_pods import NEW_SUFFIX, pod_identity
from dractl.views import Pod

PlacementCache = dict[Hashable, NodeVerdict | None]
"""The node that a pod got, by the history of the cluster until then."""


class QueuedPod(Struct, frozen=True):
    """A pod in the queue."""

    key: Key
    """Namespace and name of the pod."""

    pod: Raw
    """The pod itself."""

    generates_claims: bool = False
    """Whether its claims are generated from their templates now; else it keeps those it has."""

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


def list_pending_pods(state: ClusterState) -> list[tuple[Key, Pod]]:
    """Return the pods that kube-scheduler would try, in the order of its queue."""
    pending_pods = [(key, pod) for key, pod in state.pods.items() if pod.queue_key is not None]
    return sorted(pending_pods, key=lambda entry: entry[1].queue_key or ())


def build_queue(
    pending_pods: Sequence[tuple[Key, Pod]],
    new_pods: Collection[str],
    subjects: Collection[str],
    nodes: frozenset[str] | None,
    affected_nodes: frozenset[str] | None,
) -> list[QueuedPod]:
    """Return the queue of a changed cluster, up to the last new pod or subject.

    ``new_pods`` and ``subjects`` are identities (``pod_identity``). These pods may use
    ``nodes``; pods ahead of them may use only ``affected_nodes``: the change does not help them
    elsewhere.
    """
    queue: list[QueuedPod] = []
    end = 0
    for key, pod in pending_pods:
        identity = pod_identity(key, pod.raw)
        generates_claims = identity in new_pods or pod.has_uncreated_claims or not pod.uid
        if identity in new_pods or identity in subjects:
            is_subject = identity in subjects
            queue.append(QueuedPod(key, pod.raw, generates_claims, nodes, is_subject))
            end = len(queue)
        elif affected_nodes is None or affected_nodes:
            queue.append(QueuedPod(key, pod.raw, generates_claims, affected_nodes))
    return queue[:end]


def schedule_pods(
    scheduler: Scheduler, queue: Iterable[QueuedPod], cache: PlacementCache, history: Hashable
) -> QueueResult:
    """Try each pod once, in the order of the queue, until a subject gets a node.

    Once a pod gets no node, pods that the scheduler cannot tell from it are not tried. ``history``
    identifies the cluster: after the same changes, the pods ahead of several subjects are tried
    only once (``cache``).
    """
    placements: list[tuple[Key, str]] = []
    unschedulable: set[Hashable] = set()
    pods_per_node: Counter[str] = Counter()
    for entry in queue:
        pod_class = (entry.key[0], entry.nodes, kind_of(entry.pod))
        if pod_class in unschedulable:
            continue
        attempt = history, tuple(placements), entry.key, entry.generates_claims, entry.nodes
        if attempt not in cache:
            cache[attempt] = _select_node(scheduler, entry, pods_per_node)
        node = cache[attempt]
        if node is None:
            unschedulable.add(pod_class)
            continue
        pods_per_node[node.name] += 1
        placements.append((entry.key, node.name))
        scheduler = _bind(scheduler, entry, node)
        if entry.is_subject:
            break
    return QueueResult(scheduler, tuple(placements))


def _select_node(
    scheduler: Scheduler, entry: QueuedPod, pods_per_node: Counter[str]
) -> NodeVerdict | None:
    """Return the node that a pod gets: with few victims, then with few pods of this queue."""
    if object_of(entry.pod) is not None and not _gang_starts(scheduler, entry):
        return None
    attempt = scheduler.attempt_pod(
        entry.pod, recreated=entry.generates_claims, node_names=entry.nodes
    )
    return min(
        (node for node in attempt.nodes if node.fits and attempt.fits),
        key=lambda node: (len(node.victims), pods_per_node[node.name], node.name),
        default=None,
    )


def _bind(scheduler: Scheduler, entry: QueuedPod, node: NodeVerdict) -> Scheduler:
    """Evict the victims of a pod, and bind it and its claims to the node."""
    if node.victims:
        evictions = [Delete(f"Pod/{victim}") for victim in node.victims]
        scheduler = scheduler.with_state(apply(scheduler.state, evictions))
    state = bound(scheduler, dict(_with_server_metadata(entry)), node)[2]
    return scheduler.with_state(_remove_unallocated_claims(state, entry))


def _gang_starts(scheduler: Scheduler, entry: QueuedPod) -> bool:
    """Return whether the gang of a pod starts.

    Its other pods keep their claims, whatever the templates would generate now. So a gang does
    not start while a pending member has an outdated claim.
    """
    state, pod = scheduler.state, _with_server_metadata(entry)
    group = podgroup(state, pod)
    for member in group.members(state) if group is not None else ():
        is_other = text_at(member, "metadata", "name") != entry.key[1]
        if is_other and is_pending(member) and _has_outdated_claim(state, entry.key[0], member):
            return False
    return waiting(state, pod, group, scheduler.features) is None


def _has_outdated_claim(state: ClusterState, namespace: str, pod: Raw) -> bool:
    """Return whether a claim of a pod differs from what its template generates now."""
    claim_names = {
        text_at(status, "name"): text_at(status, "resourceClaimName")
        for status in maps_at(pod, "status", "resourceClaimStatuses")
    }
    for entry in maps_at(pod, "spec", "resourceClaims"):
        claim_name = claim_names.get(text_at(entry, "name"), "")
        template_name = text_at(entry, "resourceClaimTemplateName")
        claim = state.get("ResourceClaim", (namespace, claim_name))
        template = state.get("ResourceClaimTemplate", (namespace, template_name))
        if claim is None or template is None:
            continue
        if at(claim, "spec") != at(template, "spec", "spec"):
            return True
    return False


def _with_server_metadata(entry: QueuedPod) -> Raw:
    """Return the pod with the UID and namespace that the API server gives a new pod."""
    namespace, name = entry.key
    metadata = {"uid": f"{name}{NEW_SUFFIX}", **entry.pod["metadata"], "namespace": namespace}
    return {**entry.pod, "metadata": metadata}


def _remove_unallocated_claims(state: ClusterState, entry: QueuedPod) -> ClusterState:
    """Remove the claims that a pod had while it waited: its allocated ones have other names."""
    namespace = entry.key[0]
    claims = state.all("ResourceClaim")
    statuses = maps_at(entry.pod, "status", "resourceClaimStatuses")
    unallocated = {
        key
        for key in ((namespace, text_at(s, "resourceClaimName")) for s in statuses)
        if not at(claims.get(key), "status", "allocation")
    }
    if not unallocated:
        return state
    remaining = {key: claim for key, claim in claims.items() if key not in unallocated}
    return state.only({"ResourceClaim": remaining})
