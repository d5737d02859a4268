"""Converts older versions of resource.k8s.io objects to v1
(pkg/apis/resource/v1beta1/conversion.go).
"""

from collections.abc import Mapping
from typing import Any

GROUP = "resource.k8s.io/"

_V1 = "resource.k8s.io/v1"
_WRAPPED = ("resource.k8s.io/v1beta1", "resource.k8s.io/v1alpha3")
"""Versions whose requests are flat and whose devices hold everything but their name
in ``basic``.
"""


def to_v1(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the object converted to v1; the same mapping if nothing has to change.

    Nothing is checked here: values of an unexpected type stay unchanged.
    """
    version = value.get("apiVersion")
    if version not in ("resource.k8s.io/v1beta2", *_WRAPPED):
        return value
    converted = {**value, "apiVersion": _V1}
    spec = value.get("spec")
    if version not in _WRAPPED or not isinstance(spec, Mapping):
        return converted
    match value.get("kind"):
        case "ResourceClaim":
            converted["spec"] = _claim_spec(spec)
        case "ResourceClaimTemplate" if isinstance(spec.get("spec"), Mapping):
            converted["spec"] = {**spec, "spec": _claim_spec(spec["spec"])}
        case "ResourceSlice":
            converted["spec"] = _slice_spec(
                spec, counts_as_quantity=version == "resource.k8s.io/v1alpha3"
            )
    return converted


FLAT_REQUEST_FIELDS = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
    "derivedAttributes",
)
"""The fields of a v1beta1 request that v1 has in ``exactly``."""


def _claim_spec(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    devices = spec.get("devices")
    if not isinstance(devices, Mapping) or not isinstance(devices.get("requests"), list):
        return spec
    requests = [
        _request(request) if isinstance(request, Mapping) else request
        for request in devices["requests"]
    ]
    return {**spec, "devices": {**devices, "requests": requests}}


def _request(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Convert a request: if any flat field differs from Go's zero value, the flat fields are moved
    into ``exactly``.
    """
    flat = {name: request[name] for name in FLAT_REQUEST_FIELDS if name in request}
    converted = {name: value for name, value in request.items() if name not in flat}
    if any(_is_set(name, value) for name, value in flat.items()):
        converted["exactly"] = flat
    return converted


def _is_set(name: str, value: object) -> bool:
    # Pointers and lists are set if they are not null (an empty list is set), other fields if they
    # are not zero.
    if name in {"deviceClassName", "allocationMode"}:
        return value not in (None, "")
    if name == "count":
        return value not in (None, 0)
    return value is not None


def _slice_spec(spec: Mapping[str, Any], *, counts_as_quantity: bool) -> Mapping[str, Any]:
    converted = dict(spec)
    # nodeName and allNodes are not pointers in these versions, so "" and false mean that they are
    # not set.
    if converted.get("nodeName") == "":
        del converted["nodeName"]
    if converted.get("allNodes") is False:
        del converted["allNodes"]
    devices = spec.get("devices")
    if isinstance(devices, list):
        converted["devices"] = [
            _device(device, counts_as_quantity=counts_as_quantity)
            if isinstance(device, Mapping)
            else device
            for device in devices
        ]
    return converted


def _device(device: Mapping[str, Any], *, counts_as_quantity: bool) -> Mapping[str, Any]:
    basic = device.get("basic")
    if not isinstance(basic, Mapping):
        return {name: value for name, value in device.items() if name != "basic"}
    flat = {**{name: value for name, value in device.items() if name != "basic"}, **basic}
    capacity = flat.get("capacity")
    if counts_as_quantity and isinstance(capacity, Mapping):  # v1alpha3: a map of quantities
        flat["capacity"] = {
            key: value if isinstance(value, Mapping) else {"value": value}
            for key, value in capacity.items()
        }
    return flat
