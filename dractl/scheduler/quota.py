"""ResourceQuotas: the quota that refuses one more claim or pod.

kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go
(CheckRequest). Usage is counted from the objects instead of ``status.used``, which does not reflect
a simulated change.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from dractl.allocation import Features
from dractl.cluster.state import DEFAULT_NAMESPACE, ClusterState, Key
from dractl.model import Quantity, RequestRef, ResourceClaim
from dractl.objects import Raw, text
from dractl.scheduler.charges import (
    DEVICES_SUFFIX,
    ExtendedResourceCharges,
    Usage,
    add_up,
    claim_charge,
    pod_charge,
    request_options,
)
from dractl.scheduler.stops import Stop
from dractl.views import Pod
from dractl.views.amounts import pod_limits, pod_requests
from dractl.views.quota import QuotaScope, ResourceQuota

_REQUIRED_IF_LIMITED = frozenset(
    f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in ("cpu", "memory")
)
"""Resources for which each container must have a request or limit if a quota limits them."""


class QuotaExceeded(Stop, frozen=True):
    """A ResourceQuota does not allow one more claim or pod."""

    pod_claim: str
    """The claim; "" if a pod is refused."""
    quota: Key
    resource: str
    limit: Quantity
    used: Quantity
    need: Quantity
    request: RequestRef | None = None
    """The request that asks for devices of the class that the quota limits."""


class PodsNotCreated(Stop, frozen=True):
    """The API server refuses to create a pod."""

    pod: str
    message: str
    """The end of the API server's message."""


class QuotaRoom(Struct, frozen=True):
    """The number of further pods that quotas admit."""

    copies: int
    refusal: QuotaExceeded
    """The refusal of the next pod."""


def find_exceeded_quotas(
    state: ClusterState,
    claim: ResourceClaim,
    namespace: str,
    pod_claim: str,
    replaces: Key | None = None,
) -> list[QuotaExceeded]:
    """Return the quotas that refuse the creation of ``claim``. ``replaces`` is an existing claim
    that ``claim`` replaces.
    """
    quotas = list(_quotas(state, namespace))
    if not quotas:
        return []
    charge = claim_charge(claim)
    limits = [
        (quota.key, resource, limit)
        for quota in quotas
        if not quota.has_scopes
        for resource, limit in quota.hard.items()
        if resource in charge
    ]
    used = _claims_usage(state, namespace, replaces) if limits else {}
    exceeded = []
    for key, resource, limit in limits:
        in_use, need = used.get(resource, Quantity()), charge[resource]
        if limit < in_use + need:
            request = _request_for(claim, resource)
            exceeded.append(QuotaExceeded(pod_claim, key, resource, limit, in_use, need, request))
    return exceeded


def find_quota_room(
    state: ClusterState, features: Features, pod: Raw, claims: Iterable[ResourceClaim]
) -> QuotaRoom | None:
    """Return how many more pods like ``pod`` the quotas of its namespace admit, if each pod has its
    own ``claims``.

    Return None if no quota limits them.
    """
    view = Pod(pod)
    namespace = view.namespace or DEFAULT_NAMESPACE
    quotas = list(_quotas(state, namespace))
    if not quotas:
        return None
    pods = [other for key, other in state.pods.items() if key[0] == namespace]
    charges = ExtendedResourceCharges(state, features)
    claims_charge = add_up(map(charges.claim_charge, claims))
    claims_used = add_up(map(charges.claim_charge, _claims_in(state, namespace)))
    rooms: list[QuotaRoom] = []
    for quota in quotas:
        counts_claims = not quota.has_scopes
        charges_of_copy = [claims_charge] if counts_claims else []
        charges_in_use = [claims_used] if counts_claims else []
        charges_of_copy += [pod_charge(view)] if _is_in_scopes(quota, view) else []
        charges_in_use += [pod_charge(other) for other in pods if _is_in_scopes(quota, other)]
        rooms += _rooms(quota, add_up(charges_of_copy), add_up(charges_in_use))
    return min(rooms, key=lambda room: room.copies, default=None)


def _rooms(quota: ResourceQuota, charge: Usage, used: Usage) -> Iterator[QuotaRoom]:
    """Yield the room that one quota has for each resource that a pod is charged for."""
    for resource, limit in quota.hard.items():
        need, in_use = charge.get(resource, Quantity()), used.get(resource, Quantity())
        if need.sign() > 0:
            copies = max(0, (limit - in_use).milli_value() // need.milli_value())
            at_end = in_use + Quantity(need.milli_value() * copies, -3)
            yield QuotaRoom(copies, QuotaExceeded("", quota.key, resource, limit, at_end, need))


def find_missing_requests(state: ClusterState, pod: Raw) -> PodsNotCreated | None:
    """Return the refusal of a pod without requests or limits for resources that a quota limits.

    See enforcePodContainerConstraints. A LimitRange may add these requests and limits, so if the
    namespace has one, the result is None.
    """
    view = Pod(pod)
    namespace = view.namespace or DEFAULT_NAMESPACE
    if view.pod_level_resources or any(k[0] == namespace for k in state.objects("LimitRange")):
        return None
    for quota in _quotas(state, namespace):
        if not _is_in_scopes(quota, view):
            continue
        required = sorted(_REQUIRED_IF_LIMITED.intersection(quota.hard))
        missing: dict[str, list[str]] = {}
        for container in view.containers:
            charge = pod_charge(Pod({"spec": {"containers": [container]}}))
            for resource in required:
                if resource not in charge:
                    missing.setdefault(resource, []).append(text(container.get("name")))
        if missing:
            texts = (f"{name} for: {','.join(sorted(names))}" for name, names in missing.items())
            message = f"failed quota: {quota.key[1]}: must specify {'; '.join(texts)}"
            return PodsNotCreated(view.name, message)
    return None


# -- quotas and their resources ------------------------------------------------------------------


def _quotas(state: ClusterState, namespace: str) -> Iterator[ResourceQuota]:
    for key, raw in state.objects("ResourceQuota").items():
        if key[0] == namespace:
            yield ResourceQuota(raw, key)


def _claims_usage(state: ClusterState, namespace: str, excluded: Key | None) -> Usage:
    return add_up(map(claim_charge, _claims_in(state, namespace, excluded)))


def _claims_in(
    state: ClusterState, namespace: str, excluded: Key | None = None
) -> Iterator[ResourceClaim]:
    for key in state.objects("ResourceClaim"):
        claim = state.decode_claim(key) if key[0] == namespace and key != excluded else None
        if claim is not None:
            yield claim


def _request_for(claim: ResourceClaim, resource: str) -> RequestRef | None:
    """Return the request that asks for devices of the class that a quota limits."""
    device_class = resource.removesuffix(DEVICES_SUFFIX)
    for request in claim.spec.devices.requests:
        if any(option.device_class_name == device_class for option in request_options(request)):
            return RequestRef(f"{claim.metadata.namespace}/{claim.metadata.name}", request.name)
    return None


# -- scopes --------------------------------------------------------------------------------------


def _is_in_scopes(quota: ResourceQuota, pod: Pod) -> bool:
    """Decide whether a pod is in all scopes of a quota (podMatchesScopeFunc)."""
    return all(_is_in_scope(scope, pod) for scope in quota.scopes)


def _is_in_scope(scope: QuotaScope, pod: Pod) -> bool:
    match scope.name:
        case "Terminating":
            return "activeDeadlineSeconds" in pod.spec
        case "NotTerminating":
            return "activeDeadlineSeconds" not in pod.spec
        case "BestEffort":
            return _is_best_effort(pod)
        case "NotBestEffort":
            return not _is_best_effort(pod)
        case "PriorityClass":
            return _has_priority_class(scope, pod.priority_class_name)
        case _:
            return False


def _is_best_effort(pod: Pod) -> bool:
    amounts = {**pod_requests(pod.spec), **pod_limits(pod.spec)}
    return not any(amounts[name].sign() for name in ("cpu", "memory") if name in amounts)


def _has_priority_class(scope: QuotaScope, name: str) -> bool:
    match scope.operator:
        case "Exists":
            return bool(name)
        case "DoesNotExist":
            return not name
        case "In":
            return name in scope.values
        case "NotIn":
            return name not in scope.values
        case _:
            return False
