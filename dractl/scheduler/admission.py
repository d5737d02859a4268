"""Admission of a claim that does not exist yet: adminAccess and quota.

kubernetes pkg/registry/resource/resourceclaim/strategy.go (AuthorizedForAdmin) and
pkg/quota/v1/evaluator/core/resource_claims.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.cluster.state import map_at
from dractl.model import RequestRef
from dractl.scheduler.stops import AdminAccessDenied, OverQuota

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dractl.cluster.state import ClusterState, Key
    from dractl.model import DeviceRequest, DeviceSubRequest, ExactDeviceRequest, ResourceClaim

ADMIN_LABEL = "resource.kubernetes.io/admin-access"

_SUFFIX = ".deviceclass.resource.k8s.io/devices"
_ALL_COUNTS = 32  # resourceapi.AllocationResultsMaxSize


def admission(
    state: ClusterState, claim: ResourceClaim, namespace: str, pod_claim: str, replaces: Key | None = None
) -> list[AdminAccessDenied | OverQuota]:
    """Why the API server would refuse to create ``claim``. ``replaces`` is an existing claim that it takes over."""
    found: list[AdminAccessDenied | OverQuota] = []
    owner = f"{namespace}/{claim.metadata.name}"
    admin = next((r.name for r in claim.spec.devices.requests if r.exactly and r.exactly.admin_access), None)
    here = state.get("Namespace", ("", namespace))
    if admin is not None and here is not None and map_at(here, "metadata", "labels").get(ADMIN_LABEL) != "true":
        found.append(AdminAccessDenied(pod_claim, RequestRef(owner, admin), namespace))
    wanted = devices_by_class([claim])
    used: dict[str, int] | None = None
    for (where, quota), value in state.all("ResourceQuota").items():
        if where != namespace:
            continue
        for resource, limit in map_at(value, "spec", "hard").items():
            device_class = resource.removesuffix(_SUFFIX)
            if device_class == resource or device_class not in wanted or not str(limit).isdigit():
                continue
            if used is None:
                others = (k for k in state.all("ResourceClaim") if k[0] == namespace and k != replaces)
                used = devices_by_class([c for key in others if (c := state.claim(key)) is not None])
            need, have = wanted[device_class], used.get(device_class, 0)
            if need + have > int(str(limit)):
                request = next(
                    r.name
                    for r in claim.spec.devices.requests
                    if any(a.device_class_name == device_class for a in options(r))
                )
                ref = RequestRef(owner, request)
                key = (namespace, quota)
                found.append(OverQuota(pod_claim, key, resource, device_class, ref, int(str(limit)), have, need))
    return found


def options(request: DeviceRequest) -> tuple[ExactDeviceRequest | DeviceSubRequest, ...]:
    """The alternatives of a request, or the request itself."""
    return request.first_available or ((request.exactly,) if request.exactly is not None else ())


def devices_by_class(claims: Iterable[ResourceClaim]) -> dict[str, int]:
    """Devices that quota counts by class: the count, 32 for mode All, of alternatives the worst."""
    total: dict[str, int] = {}
    for claim in claims:
        for request in claim.spec.devices.requests:
            worst: dict[str, int] = {}
            for option in options(request):
                need = _ALL_COUNTS if option.allocation_mode == "All" else 1 if option.count is None else option.count
                worst[option.device_class_name] = max(worst.get(option.device_class_name, 0), need)
            for name, need in worst.items():
                total[name] = total.get(name, 0) + need
    return total
