"""The pods of a group placed one after the other: how many fit, and the cause that stops the next.

Equal pods are copies of one pod (:mod:`dractl.capacity.placing`), so the maximum over all orders
can be proven. Pods that differ, such as a leader and its workers, are placed one after the other,
and other orders of their kinds are tried.
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
from dractl.cluster.state import ClusterState
from dractl.objects import Raw, text
from dractl.objects.values import drop_uid
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.verdict import Attempt
from dractl.views import Claim, ClaimTemplate, Pod

_MAX_ORDERS = 24  # number of orders that are tried: enough for every order of four kinds (4!)


class AlternativeFit(Struct, frozen=True):
    """The number of pods that fit if a request of a template had only one of its alternatives."""

    request: str
    """``claim/request``."""
    alternative: str
    fits: int


class Placement(Struct, frozen=True):
    """The pods of a group that fit, in their order."""

    fits: int
    state: ClusterState
    """The cluster with the pods that fit."""
    pending: Raw | None = None
    """The first pod that does not fit; None if every pod that was tried fits."""
    attempt: Attempt | None = None
    """The scheduler's attempt for ``pending``, in ``state``."""
    max_copies: MaxCopies | None = None
    """The number of equal pods that the best order reaches; None if it was not counted."""
    order: tuple[str, ...] = ()
    """An order in which all of the unequal pods fit: for each kind, the name of one pod."""
    by_alternative: tuple[AlternativeFit, ...] = ()
    """The numbers of equal pods that fit with only one alternative."""
    undecided: bool = False


def place_replicas(
    state: ClusterState,
    name: str,
    pods: Sequence[Raw],
    features: Features,
    progress: Callable[[str], None] = lambda _: None,
) -> Placement:
    """Place ``pods`` of the workload ``name`` in this order; they are pending, or still to be
    created.

    If ``state`` has them, they are removed first, with the claims that were generated for them.
    """
    base, views = _remove_pods(state, pods), [Pod(pod) for pod in pods]
    kinds: dict[Hashable, list[Pod]] = {}
    for pod in views:
        kinds.setdefault(pod.scheduling_key, []).append(pod)
    if len(kinds) == 1:
        return _place_equal_pods(base, name, pods, features, progress)
    placement = _place_in_order(base, views, features, progress)
    if placement.pending is None:
        return placement
    for order in islice(permutations(kinds.values()), 1, _MAX_ORDERS):
        other_placement = _place_in_order(
            base, [pod for members in order for pod in members], features, progress
        )
        if other_placement.pending is None:
            return replace(placement, order=tuple(members[0].name for members in order))
    return placement


def place_first(
    state: ClusterState, name: str, pods: Sequence[Raw], features: Features, max_pods: int
) -> Placement:
    """Place up to ``max_pods`` of the pending ``pods``, each tried once.

    This is what one scheduling cycle of their group does.
    """
    base, views = _remove_pods(state, pods), [Pod(pod) for pod in pods]
    if len({pod.scheduling_key for pod in views}) > 1:
        is_retried = not features.has("groups-in-one-cycle")
        return _place_in_order(
            base, views, features, lambda _: None, max_pods=max_pods, is_retried=is_retried
        )
    fit = place_copies(_copies_of_equal_pods(base, name, pods), features, max_count=max_pods)
    pending = pods[fit.fits] if fit.fits < min(max_pods, len(pods)) else None
    return Placement(fit.fits, fit.state, pending, fit.next_attempt, undecided=fit.undecided)


def _remove_pods(state: ClusterState, pods: Sequence[Raw]) -> ClusterState:
    """Remove pods and the claims that were generated for them."""
    if not pods:
        return state
    views = [Pod(pod) for pod in pods]
    pod_keys = {pod.key for pod in views}
    claim_keys = {(pod.namespace, name) for pod in views for name in pod.claim_statuses.values()}
    claim_keys -= {key for key in claim_keys if _belongs_to_group(state.claim(key))}
    claims = state.objects("ResourceClaim")
    return state.with_kinds(
        {
            "Pod": {
                key: value for key, value in state.objects("Pod").items() if key not in pod_keys
            },
            "ResourceClaim": {key: value for key, value in claims.items() if key not in claim_keys},
        }
    )


def _belongs_to_group(claim: Claim) -> bool:
    return any(owner.kind == "PodGroup" for owner in claim.owners)


def _strip_pod(pod: Pod) -> dict[str, Any]:
    metadata = {
        k: v for k, v in pod.metadata.items() if k in ("name", "namespace", "labels", "annotations")
    }
    metadata["uid"] = f"dractl-{metadata['namespace']}-{metadata['name']}"
    spec = {k: v for k, v in pod.spec.items() if k != "nodeName"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _copies_of_equal_pods(base: ClusterState, name: str, pods: Sequence[Raw]) -> Copies:
    """Return equal pods as copies of one pod, with their own names."""
    pod = drop_uid(_strip_pod(Pod(pods[0])))
    names = tuple(Pod(other).name for other in pods)
    return Copies(name, base, {**pod, "metadata": {**pod["metadata"], "name": name}}, names=names)


def _place_equal_pods(
    base: ClusterState,
    name: str,
    pods: Sequence[Raw],
    features: Features,
    progress: Callable[[str], None],
) -> Placement:
    subject = _copies_of_equal_pods(base, name, pods)
    fit = place_copies(subject, features, max_count=len(pods), progress=progress)
    if fit.fits >= len(pods):
        return Placement(fit.fits, fit.state)
    return Placement(
        fit.fits,
        fit.state,
        pods[fit.fits],
        fit.next_attempt,
        max_copies(fit, features, progress),
        by_alternative=tuple(_place_each_alternative(subject, len(pods), features, progress)),
        undecided=fit.undecided,
    )


def _place_each_alternative(
    subject: Copies, count: int, features: Features, progress: Callable[[str], None]
) -> list[AlternativeFit]:
    """Place the pods once for each alternative of a request that has several, with
    this alternative alone.
    """
    fits = []
    pod = Pod(subject.pod)
    for reference in pod.claim_references:
        key = (pod.namespace, reference.template_name)
        template = subject.state.claim_template(key)
        for number, request in enumerate(template.claim.requests):
            for alternative in request.alternatives:
                changed = _restrict_request(template, number, alternative)
                state = subject.state.replace("ResourceClaimTemplate", key, changed)
                fit = place_copies(
                    Copies(subject.name, state, subject.pod),
                    features,
                    max_count=count,
                    progress=progress,
                )
                name = f"{reference.name}/{request.name}"
                fits.append(AlternativeFit(name, text(alternative.get("name")), fit.fits))
    return fits


def _restrict_request(template: ClaimTemplate, number: int, alternative: Raw) -> Raw:
    """Return a template in which the request with this index has only one of its alternatives."""
    claim = template.claim
    requests = [request.raw for request in claim.requests]
    requests[number] = {**requests[number], "firstAvailable": [alternative]}
    devices = {**claim.devices, "requests": requests}
    spec = {**template.spec, "spec": {**claim.spec, "devices": devices}}
    return {**template.raw, "spec": spec}


def _place_in_order(
    base: ClusterState,
    pods: Sequence[Pod],
    features: Features,
    progress: Callable[[str], None],
    *,
    max_pods: int | None = None,
    is_retried: bool = True,
) -> Placement:
    """Place each pod in turn, until ``max_pods`` have a node.

    With ``is_retried``, a refused pod is retried after others were placed, as in the scheduler's
    queue.
    """
    scheduler = Scheduler(base, features)
    queue, count = list(pods), 0
    pods_per_node: dict[str, int] = {}
    while queue:
        refused: list[Pod] = []
        attempts: dict[Hashable, Attempt] = {}
        for pod in queue:
            if max_pods is not None and count >= max_pods:
                return Placement(count, scheduler.state)
            if pod.scheduling_key in attempts:
                refused.append(pod)
                continue
            new_pod = _strip_pod(pod)
            attempt = scheduler.attempt_pod(new_pod, recreated=True)
            free = free_nodes(attempt)
            if not free or attempt.pre_bind_failure is not None:
                attempts[pod.scheduling_key] = attempt
                refused.append(pod)
                continue
            chosen = min(free, key=lambda node: (pods_per_node.get(node.name, 0), node.name))
            pods_per_node[chosen.name] = pods_per_node.get(chosen.name, 0) + 1
            scheduler = scheduler.with_state(bind_copy(scheduler, new_pod, chosen).state)
            count += 1
            progress(f"placing pods ({count} of {len(pods)})")
        if refused and (len(refused) == len(queue) or not is_retried):
            attempt = attempts[refused[0].scheduling_key]
            return Placement(count, scheduler.state, refused[0].raw, attempt)
        queue = refused
    return Placement(count, scheduler.state)
