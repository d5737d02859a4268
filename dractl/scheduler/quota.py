"""ResourceQuotas: what claims and pods are charged for, and the quota that refuses one more.

kubernetes pkg/quota/v1/evaluator/core (resource_claims.go, pods.go) and apiserver
pkg/admission/plugin/resourcequota/controller.go (CheckRequest). What is in use is counted from the objects, not read
from ``status.used``, so that it holds after a change too.
"""

from collections.abc import Iterable, Mapping

from dractl.allocation import EXTENDED_CLAIM, Features, backing_classes
from dractl.cluster.pods import ended
from dractl.cluster.state import ClusterState, Key, list_at, map_at, maps_at, text_at
from dractl.model import (
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    Quantity,
    RequestRef,
    ResourceClaim,
)
from dractl.objects import Raw
from dractl.scheduler.stops import Stop
from dractl.views.amounts import pod_limits, pod_requests, quantity

Usage = Mapping[str, Quantity]


CLAIMS = "count/resourceclaims.resource.k8s.io"
PER_CLASS = ".deviceclass.resource.k8s.io/devices"
_ALL_COUNTS = 32  # resourceapi.AllocationResultsMaxSize
_ONE = Quantity(1)
_MUST_BE_GIVEN = frozenset(
    f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in ("cpu", "memory")
)
_COMPUTE = ("cpu", "memory", "ephemeral-storage")


class QuotaExceeded(Stop, frozen=True):
    """A ResourceQuota does not allow a claim, or (without ``pod_claim``) a pod: of ``limit`` for ``resource``, ``used``
    is in use and ``need`` more is wanted. ``request`` asks for devices of the class that the quota limits."""

    pod_claim: str
    quota: Key
    resource: str
    limit: Quantity
    used: Quantity
    need: Quantity
    request: RequestRef | None = None


class PodsNotCreated(Stop, frozen=True):
    """The API server refuses to create a pod, with the end of its message."""

    pod: str
    message: str


def options(request: DeviceRequest) -> tuple[ExactDeviceRequest | DeviceSubRequest, ...]:
    """The alternatives of a request, or the request itself."""
    return request.first_available or ((request.exactly,) if request.exactly is not None else ())


def of_claim(claim: ResourceClaim) -> dict[str, Quantity]:
    """The charge for a claim: itself, and the devices of each class. All counts as 32, of alternatives the worst."""
    devices: dict[str, int] = {}
    for request in claim.spec.devices.requests:
        worst: dict[str, int] = {}
        for option in options(request):
            need = (
                _ALL_COUNTS
                if option.allocation_mode == "All"
                else 1
                if option.count is None
                else option.count
            )
            worst[option.device_class_name] = max(worst.get(option.device_class_name, 0), need)
        for name, need in worst.items():
            devices[name] = devices.get(name, 0) + need
    return {
        CLAIMS: _ONE,
        **{f"{name}{PER_CLASS}": Quantity(count) for name, count in devices.items()},
    }


def of_pod(pod: Raw) -> dict[str, Quantity]:
    """The charge for a pod; one that has ended counts only as an object."""
    charged = {"count/pods": _ONE}
    if ended(pod):
        return charged
    charged["pods"] = _ONE
    for name, amount in pod_requests(map_at(pod, "spec")).items():
        if name in _COMPUTE or name.startswith("hugepages-"):
            charged[name] = amount
        if name in _COMPUTE or name.startswith("hugepages-") or "/" in name:
            charged[f"requests.{name}"] = amount
    for name, amount in pod_limits(map_at(pod, "spec")).items():
        if name in _COMPUTE:
            charged[f"limits.{name}"] = amount
    return charged


def claim_refusals(
    state: ClusterState,
    claim: ResourceClaim,
    namespace: str,
    pod_claim: str,
    replaces: Key | None = None,
) -> list[QuotaExceeded]:
    """Quotas that refuse to create ``claim``. ``replaces`` is an existing claim that it takes over."""
    charged = of_claim(claim)
    used: Usage | None = None
    found = []
    for key, quota in state.all("ResourceQuota").items():
        if key[0] != namespace or not _scopeless(quota):
            continue
        for resource, limit in _limits(quota):
            if resource in charged:
                used = _claims_of(state, namespace, replaces) if used is None else used
                have, need = used.get(resource, Quantity()), charged[resource]
                if limit < have + need:
                    found.append(
                        QuotaExceeded(
                            pod_claim, key, resource, limit, have, need, _asking(claim, resource)
                        )
                    )
    return found


def _claims_of(state: ClusterState, namespace: str, but: Key | None) -> dict[str, Quantity]:
    keys = [key for key in state.all("ResourceClaim") if key[0] == namespace and key != but]
    return total(of_claim(claim) for key in keys if (claim := state.decoded_claim(key)) is not None)


def _asking(claim: ResourceClaim, resource: str) -> RequestRef | None:
    """The request that asks for devices of the class that a quota limits."""
    device_class = resource.removesuffix(PER_CLASS)
    for request in claim.spec.devices.requests:
        if any(option.device_class_name == device_class for option in options(request)):
            return RequestRef(f"{claim.metadata.namespace}/{claim.metadata.name}", request.name)
    return None


def room(
    state: ClusterState, features: Features, pod: Raw, claims: Iterable[ResourceClaim]
) -> tuple[int, QuotaExceeded] | None:
    """How many more of ``pod``, each with its own ``claims``, the quotas of its namespace admit, and the quota that
    refuses the next one; None if no quota limits them."""
    namespace = text_at(pod, "metadata", "namespace") or "default"
    quotas = [
        (key, value) for key, value in state.all("ResourceQuota").items() if key[0] == namespace
    ]
    if not quotas:
        return None
    pods = [value for key, value in state.all("Pod").items() if key[0] == namespace]
    held = [
        c
        for key in state.all("ResourceClaim")
        if key[0] == namespace and (c := state.decoded_claim(key)) is not None
    ]
    backing = _backing(state, features)
    own, others = (
        total(_extended(c, backing) for c in claims),
        total(_extended(c, backing) for c in held),
    )
    found: list[tuple[int, QuotaExceeded]] = []
    for key, quota in quotas:
        charged = total(
            ([own] if _scopeless(quota) else []) + ([of_pod(pod)] if _in_scopes(quota, pod) else [])
        )
        used = total(
            [
                *([others] if _scopeless(quota) else []),
                *(of_pod(p) for p in pods if _in_scopes(quota, p)),
            ]
        )
        for resource, limit in _limits(quota):
            need, have = charged.get(resource, Quantity()), used.get(resource, Quantity())
            if need.sign() > 0:
                copies = max(0, (limit - have).milli_value() // need.milli_value())
                at_end = have + Quantity(need.milli_value() * copies, -3)
                found.append((copies, QuotaExceeded("", key, resource, limit, at_end, need)))
    return min(found, key=lambda item: item[0], default=None)


def forbidden(state: ClusterState, pod: Raw) -> PodsNotCreated | None:
    """Why the API server refuses a pod that does not say how much it wants of what a quota limits
    (enforcePodContainerConstraints). Where a LimitRange could fill that in, nothing is said."""
    namespace, spec = text_at(pod, "metadata", "namespace") or "default", map_at(pod, "spec")
    if map_at(spec, "resources") or any(key[0] == namespace for key in state.all("LimitRange")):
        return None
    for key, quota in state.all("ResourceQuota").items():
        if key[0] != namespace or not _in_scopes(quota, pod):
            continue
        missing: dict[str, list[str]] = {}
        for container in [*maps_at(spec, "containers"), *maps_at(spec, "initContainers")]:
            given = of_pod({"spec": {"containers": [container]}})
            for resource in sorted(_MUST_BE_GIVEN.intersection(map_at(quota, "spec", "hard"))):
                if resource not in given:
                    missing.setdefault(resource, []).append(text_at(container, "name"))
        if missing:
            asked = "; ".join(
                f"{resource} for: {','.join(sorted(names))}" for resource, names in missing.items()
            )
            return PodsNotCreated(
                text_at(pod, "metadata", "name"), f"failed quota: {key[1]}: must specify {asked}"
            )
    return None


def _backing(state: ClusterState, features: Features) -> list[tuple[str, str]]:
    """Extended resources and the classes that back them; from 1.35 on claims are charged for these too."""
    if not features.has("quota-of-extended-names"):
        return []
    return [(name, c.metadata.name) for name, c in backing_classes(state.classes, features).items()]


def _extended(claim: ResourceClaim, backing: list[tuple[str, str]]) -> dict[str, Quantity]:
    """What a claim is charged, with the extended resources of its classes. The scheduler's own claims for extended
    resources are not: their pods are (addExtendedResourceQuota)."""
    charged = of_claim(claim)
    if claim.metadata.annotations.get(EXTENDED_CLAIM) == "true":
        return charged
    more = [
        (f"requests.{name}", charged.get(f"{device_class}{PER_CLASS}"))
        for name, device_class in backing
    ]
    return {**charged, **{name: amount for name, amount in more if amount is not None}}


def total(charges: Iterable[Usage]) -> dict[str, Quantity]:
    """Charges added up."""
    found: dict[str, Quantity] = {}
    for charged in charges:
        for name, amount in charged.items():
            found[name] = found[name] + amount if name in found else amount
    return found


def _limits(quota: Raw) -> Iterable[tuple[str, Quantity]]:
    return (
        (resource, quantity(limit)) for resource, limit in map_at(quota, "spec", "hard").items()
    )


def _scopeless(quota: Raw) -> bool:
    """Claims are in no scope, so quotas with scopes do not count them."""
    return not list_at(quota, "spec", "scopes") and not map_at(quota, "spec", "scopeSelector")


def _in_scopes(quota: Raw, pod: Raw) -> bool:
    """True if a pod is in all scopes of a quota (podMatchesScopeFunc)."""
    wanted = [
        {"scopeName": name, "operator": "Exists"} for name in list_at(quota, "spec", "scopes")
    ]
    return all(
        _in_scope(one, pod)
        for one in [*wanted, *maps_at(quota, "spec", "scopeSelector", "matchExpressions")]
    )


def _in_scope(scope: Raw, pod: Raw) -> bool:
    spec = map_at(pod, "spec")
    match scope.get("scopeName"):
        case "Terminating":
            return "activeDeadlineSeconds" in spec
        case "NotTerminating":
            return "activeDeadlineSeconds" not in spec
        case "BestEffort" | "NotBestEffort" as name:
            amounts = {**pod_requests(spec), **pod_limits(spec)}
            best = not any(amounts[key].sign() for key in ("cpu", "memory") if key in amounts)
            return bool(best == (name == "BestEffort"))
        case "PriorityClass":
            own, values = text_at(spec, "priorityClassName"), list_at(scope, "values")
            answers = {
                "Exists": bool(own),
                "DoesNotExist": not own,
                "In": own in values,
                "NotIn": own not in values,
            }
            return bool(answers.get(str(scope.get("operator"))))
        case _:
            return False
