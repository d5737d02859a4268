"""The pods of a group placed one after the other as kube-scheduler would: how many fit, and what stops the next.

Equal pods are copies of one (:mod:`dractl.capacity.placing`), and the most that any order reaches can be proven. Pods
that differ, such as a leader and its workers, are placed in turn; other orders of their kinds are tried.
"""

from collections.abc import Callable, Hashable, Sequence
from itertools import islice, permutations
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import Features
from dractl.capacity.binding import bind_copy
from dractl.capacity.copies import Copies
from dractl.capacity.packing import MaxCopies, max_copies
from dractl.capacity.placing import free_nodes, place_copies
from dractl.cluster.state import ClusterState, map_at, maps_at, text_at
from dractl.objects import Raw
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.verdict import Attempt

_MAX_ORDERS = 24  # of kinds of pods that are tried: all of four kinds
# Fields and labels that tell replicas of one workload apart and change nothing about where they can run.
_REPLICA_FIELDS = ("hostname", "nodeName")
_REPLICA_LABELS = (
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/job-completion-index",
    "controller-revision-hash",
    "leaderworkerset.sigs.k8s.io/worker-index",
    "statefulset.kubernetes.io/pod-name",
)


class AlternativeFit(Struct, frozen=True):
    """Pods that fit if ``request`` of a template (``claim/request``) had its one ``alternative`` alone."""

    request: str
    alternative: str
    fits: int


class Placement(Struct, frozen=True):
    """Pods of a group that fit: ``fits`` in their order. The first of the others is ``pending``; ``attempt`` is
    kube-scheduler's for it, in ``state``, the cluster with those that fit.

    ``max_copies`` is what the best order of equal pods reaches, ``order`` an order of the kinds of unequal ones in which all
    fit, by the name of one of each, and ``by_alternative`` what equal pods reach with one alternative alone.
    """

    fits: int
    state: ClusterState
    pending: Raw | None = None
    attempt: Attempt | None = None
    max_copies: MaxCopies | None = None
    order: tuple[str, ...] = ()
    by_alternative: tuple[AlternativeFit, ...] = ()
    undecided: bool = False


def place_replicas(
    state: ClusterState,
    name: str,
    pods: Sequence[Raw],
    features: Features,
    progress: Callable[[str], None] = lambda _: None,
) -> Placement:
    """Places the ``pods`` of workload ``name``, which wait for a node or are to be created, in this order. If ``state``
    has them, they are removed first, with the claims that were made for them."""
    base = _remove_pods(state, pods)
    if len({scheduling_key(pod) for pod in pods}) == 1:
        return _place_equal_pods(base, name, pods, features, progress)
    found = _place_in_order(base, pods, features, progress)
    if found.pending is None:
        return found
    kinds: dict[Hashable, list[Raw]] = {}
    for pod in pods:
        kinds.setdefault(scheduling_key(pod), []).append(pod)
    for order in islice(permutations(kinds.values()), 1, _MAX_ORDERS):
        other = _place_in_order(
            base, [pod for members in order for pod in members], features, progress
        )
        if other.pending is None:
            return replace(
                found, order=tuple(text_at(members[0], "metadata", "name") for members in order)
            )
    return found


def place_first(
    state: ClusterState, name: str, pods: Sequence[Raw], features: Features, max_pods: int
) -> Placement:
    """Places up to ``max_copies`` of ``pods``, which wait for a node, each tried once: what one scheduling cycle of their
    group does."""
    base = _remove_pods(state, pods)
    if len({scheduling_key(pod) for pod in pods}) > 1:
        again = not features.has("groups-in-one-cycle")
        return _place_in_order(
            base, pods, features, lambda _: None, max_pods=max_pods, is_retried=again
        )
    found = place_copies(_copies_of_equal_pods(base, name, pods), features, max_count=max_pods)
    pending = pods[found.fits] if found.fits < min(max_pods, len(pods)) else None
    return Placement(
        found.fits, found.state, pending, found.next_attempt, undecided=found.undecided
    )


def scheduling_key(pod: Raw) -> Hashable:
    """Equal for pods that the scheduler cannot tell apart."""
    spec = {key: value for key, value in map_at(pod, "spec").items() if key not in _REPLICA_FIELDS}
    labels = {
        key: value
        for key, value in map_at(pod, "metadata", "labels").items()
        if key not in _REPLICA_LABELS
    }
    return repr(sorted(spec.items())), repr(sorted(labels.items()))


def _remove_pods(state: ClusterState, pods: Sequence[Raw]) -> ClusterState:
    """The cluster before the group: without its pods and the claims that were made for them."""
    where = {text_at(pod, "metadata", "namespace") for pod in pods}
    gone = {
        (text_at(pod, "metadata", "namespace"), text_at(pod, "metadata", "name")) for pod in pods
    }
    made = {
        (text_at(pod, "metadata", "namespace"), text_at(status, "resourceClaimName"))
        for pod in pods
        for status in maps_at(pod, "status", "resourceClaimStatuses")
    }
    claims = state.objects("ResourceClaim")
    made -= {key for key in made if _belongs_to_group(claims.get(key))}
    if not where:
        return state
    return state.with_kinds(
        {
            "Pod": {key: value for key, value in state.objects("Pod").items() if key not in gone},
            "ResourceClaim": {key: value for key, value in claims.items() if key not in made},
        }
    )


def _belongs_to_group(claim: Raw | None) -> bool:
    return any(
        owner.get("kind") == "PodGroup" for owner in maps_at(claim, "metadata", "ownerReferences")
    )


def _strip_pod(pod: Raw) -> dict[str, Any]:
    metadata = {
        k: v
        for k, v in map_at(pod, "metadata").items()
        if k in ("name", "namespace", "labels", "annotations")
    }
    metadata["uid"] = f"dractl-{metadata['namespace']}-{metadata['name']}"
    spec = {k: v for k, v in map_at(pod, "spec").items() if k != "nodeName"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _copies_of_equal_pods(base: ClusterState, name: str, pods: Sequence[Raw]) -> Copies:
    """Equal pods as copies of one, which are called NAME-1 and so on."""
    pod = _strip_pod(pods[0])
    del pod["metadata"]["uid"]
    pod["metadata"]["name"] = name
    return Copies(name, base, pod)


def _place_equal_pods(
    base: ClusterState,
    name: str,
    pods: Sequence[Raw],
    features: Features,
    progress: Callable[[str], None],
) -> Placement:
    subject = _copies_of_equal_pods(base, name, pods)
    found = place_copies(subject, features, max_count=len(pods), progress=progress)
    if found.fits >= len(pods):
        return Placement(found.fits, found.state)
    return Placement(
        found.fits,
        found.state,
        pods[found.fits],
        found.next_attempt,
        max_copies(found, features, progress),
        by_alternative=tuple(_place_each_alternative(subject, len(pods), features, progress)),
        undecided=found.undecided,
    )


def _place_each_alternative(
    subject: Copies, count: int, features: Features, progress: Callable[[str], None]
) -> list[AlternativeFit]:
    """The number reached with each alternative alone of each request of a template that has several."""
    found = []
    for reference in maps_at(subject.pod, "spec", "resourceClaims"):
        key = (
            text_at(subject.pod, "metadata", "namespace"),
            text_at(reference, "resourceClaimTemplateName"),
        )
        template = subject.state.get("ResourceClaimTemplate", key)
        if template is None:
            continue
        requests = maps_at(template, "spec", "spec", "devices", "requests")
        for number, request in enumerate(requests):
            for alternative in maps_at(request, "firstAvailable"):
                alone = [
                    *requests[:number],
                    {**request, "firstAvailable": [alternative]},
                    *requests[number + 1 :],
                ]
                spec = map_at(template, "spec", "spec")
                devices = {**map_at(spec, "devices"), "requests": alone}
                changed = {
                    **template,
                    "spec": {**map_at(template, "spec"), "spec": {**spec, "devices": devices}},
                }
                state = subject.state.replace("ResourceClaimTemplate", key, changed)
                placed = place_copies(
                    Copies(subject.name, state, subject.pod),
                    features,
                    max_count=count,
                    progress=progress,
                )
                name = f"{text_at(reference, 'name')}/{text_at(request, 'name')}"
                found.append(AlternativeFit(name, text_at(alternative, "name"), placed.fits))
    return found


def _place_in_order(
    base: ClusterState,
    pods: Sequence[Raw],
    features: Features,
    progress: Callable[[str], None],
    *,
    max_pods: int | None = None,
    is_retried: bool = True,
) -> Placement:
    """Each pod in turn, until ``max_copies`` have a node; what was refused is tried ``is_retried`` after others were placed, as
    the scheduler's queue does."""
    scheduler = Scheduler(base, features)
    waiting, placed = list(pods), 0
    on: dict[str, int] = {}
    while waiting:
        left: list[Raw] = []
        failed: dict[Hashable, Attempt] = {}
        for pod in waiting:
            if max_pods is not None and placed >= max_pods:
                return Placement(placed, scheduler.state)
            if scheduling_key(pod) in failed:
                left.append(pod)
                continue
            fresh = _strip_pod(pod)
            attempt = scheduler.attempt_pod(fresh, recreated=True)
            free = free_nodes(attempt)
            if not free or attempt.pre_bind_failure is not None:
                failed[scheduling_key(pod)] = attempt
                left.append(pod)
                continue
            chosen = min(free, key=lambda node: (on.get(node.name, 0), node.name))
            on[chosen.name] = on.get(chosen.name, 0) + 1
            scheduler = scheduler.with_state(bind_copy(scheduler, fresh, chosen)[2])
            placed += 1
            progress(f"placing pods ({placed} of {len(pods)})")
        if left and (len(left) == len(waiting) or not is_retried):
            return Placement(placed, scheduler.state, left[0], failed[scheduling_key(left[0])])
        waiting = left
    return Placement(placed, scheduler.state)
