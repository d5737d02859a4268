"""The pending pods, tried in the order of kube-scheduler's queue."""

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
from dractl.scheduler.snapshot import PodInfo, Snapshot
from dractl.scheduler.verdict import NodeVerdict

Played = dict[Hashable, NodeVerdict | None]
"""The node that a pod got, by what had made the cluster until then."""


class QueuedPod(Struct, frozen=True):
    """A pod in the queue. ``new``: it was made after the change, so that its templates make its claims; ``among`` are
    the nodes that are tried, None for all; ``asked``: it is one of those that the question is about."""

    key: Key
    pod: Raw
    new: bool = False
    among: frozenset[str] | None = None
    asked: bool = False


class Placed(Struct, frozen=True):
    """The cluster with the pods of the queue that got a node; ``evicted`` are pods of lower priority that ended."""

    scheduler: Scheduler
    nodes: tuple[tuple[Key, str], ...] = ()
    evicted: tuple[str, ...] = ()


def pending(snapshot: Snapshot, state: ClusterState) -> list[tuple[Key, PodInfo]]:
    """The pods of ``state`` that kube-scheduler would try, those in front first. ``snapshot`` is of this cluster, or of
    one that has most of its pods."""
    found = ((key, snapshot.pod(pod)) for key, pod in state.all("Pod").items())
    return sorted(
        ((key, pod) for key, pod in found if pod.turn is not None),
        key=lambda item: item[1].turn or (),
    )


def place(
    scheduler: Scheduler, queue: Iterable[QueuedPod], known: Played, story: Hashable
) -> Placed:
    """Tries each pod once, in the order given, until one has a node that is asked about. Of pods that are alike the
    others wait once one does. ``story`` is what has made the cluster: many pods are asked about, each after the same
    changes, and those in front of several of them are tried once (``known``)."""
    placed: list[tuple[Key, str]] = []
    evicted: list[str] = []
    failed: set[Hashable] = set()
    count: Counter[str] = Counter()
    for entry in queue:
        kind = (entry.key[0], entry.among, kind_of(entry.pod))
        if kind in failed:
            continue
        tried = story, tuple(placed), entry.key, entry.new, entry.among
        if tried not in known:
            known[tried] = _node_for(scheduler, entry, count)
        node = known[tried]
        if node is None:
            failed.add(kind)
            continue
        count[node.name] += 1
        if node.victims:
            evicted += node.victims
            scheduler = scheduler.after(
                apply(scheduler.state, [Delete(f"Pod/{name}") for name in node.victims])
            )
        state = bound(scheduler, dict(_complete(entry)), node)[2]
        scheduler = scheduler.after(_without_open_claims(state, entry))
        placed.append((entry.key, node.name))
        if entry.asked:
            break
    return Placed(scheduler, tuple(placed), tuple(evicted))


def _node_for(scheduler: Scheduler, entry: QueuedPod, count: Counter[str]) -> NodeVerdict | None:
    """The node that a pod gets; of those that fit one with few pods that were placed before (``count``)."""
    if object_of(entry.pod) is not None and not _starts(scheduler, entry):
        return None
    attempt = scheduler.pod(entry.pod, recreated=entry.new, among=entry.among)
    fitting = (node for node in attempt.nodes if node.fits and attempt.fits)
    return min(fitting, key=lambda v: (len(v.victims), count[v.name], v.name), default=None)


def _starts(scheduler: Scheduler, entry: QueuedPod) -> bool:
    """True if the group of a pod starts. Its other pods keep the claims that they have, whatever their templates would
    make now."""
    state, pod = scheduler.state, _complete(entry)
    group = podgroup(state, pod)
    members = group.members(state) if group is not None else []
    others = [other for other in members if text_at(other, "metadata", "name") != entry.key[1]]
    if any(_outdated(state, entry.key[0], other) for other in others if is_pending(other)):
        return False
    return waiting(state, pod, group, scheduler.features) is None


def _outdated(state: ClusterState, namespace: str, pod: Raw) -> bool:
    """True if a claim of a pod is not what its template makes now."""
    made = {
        text_at(s, "name"): text_at(s, "resourceClaimName")
        for s in maps_at(pod, "status", "resourceClaimStatuses")
    }
    for entry in maps_at(pod, "spec", "resourceClaims"):
        claim = state.get("ResourceClaim", (namespace, made.get(text_at(entry, "name"), "")))
        template = state.get(
            "ResourceClaimTemplate", (namespace, text_at(entry, "resourceClaimTemplateName"))
        )
        if (
            claim is not None
            and template is not None
            and at(claim, "spec") != at(template, "spec", "spec")
        ):
            return True
    return False


def entries(
    waiting_pods: Sequence[tuple[Key, PodInfo]],
    made: Collection[str],
    asked: Collection[str],
    where: frozenset[str] | None,
    among: frozenset[str] | None,
) -> list[QueuedPod]:
    """The queue of a changed cluster: pods that were ``made`` since, and those ``asked`` about (both by
    :func:`identity`), are tried on the nodes ``where``, those in front of them ``among`` the nodes where the change can
    have helped them."""
    found, last = [], 0
    for key, pod in waiting_pods:
        uid = pod.uid or "/".join(key)
        new = uid in made or pod.lacks_claims or not pod.uid
        if uid in made or uid in asked:
            found.append(QueuedPod(key, pod.value, new, where, uid in asked))
            last = len(found)
        elif among is None or among:
            found.append(QueuedPod(key, pod.value, new, among))
    return found[:last]


def identity(key: Key, pod: Raw | None) -> str:
    """The uid of a pod; the name of one that no server has seen."""
    return text_at(pod, "metadata", "uid") or "/".join(key)


def _complete(entry: QueuedPod) -> Raw:
    """The pod with what the API server gives to one that is created."""
    namespace, name = entry.key
    return {
        **entry.pod,
        "metadata": {"uid": f"{name}-anew", **entry.pod["metadata"], "namespace": namespace},
    }


def _without_open_claims(state: ClusterState, entry: QueuedPod) -> ClusterState:
    """The cluster without the claims that the pod had while it waited: those that it got instead have other names."""
    names = {
        text_at(s, "resourceClaimName")
        for s in maps_at(entry.pod, "status", "resourceClaimStatuses")
    }
    claims = state.all("ResourceClaim")
    gone = {
        (entry.key[0], name)
        for name in names
        if not (claims.get((entry.key[0], name)) or {}).get("status", {}).get("allocation")
    }
    return (
        state.only({"ResourceClaim": {k: v for k, v in claims.items() if k not in gone}})
        if gone
        else state
    )
