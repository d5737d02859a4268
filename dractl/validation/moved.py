"""Fields that people write out of habit: what became of them, as data."""

from __future__ import annotations

from typing import Final

MOVED: Final[dict[tuple[str, str], str]] = {
    # (Go type without its version, field): what to write instead
    ("Device", "basic"): "v1 and v1beta2 have no such wrapper: write its fields beside the device's name",
    ("Device", "nodeAllocatableResourceMappings"): "1.37 has nodeAllocatableResources in its place, with another shape",
    ("BasicDevice", "nodeAllocatableResourceMappings"): "1.37 has nodeAllocatableResources in its place",
    ("DeviceRequest", "exactly"): "v1beta1 has no such wrapper: write its fields beside the request's name",
    ("DeviceSubRequest", "exactly"): "the fields of a subrequest stand beside its name",
    ("DeviceSubRequest", "adminAccess"): "a subrequest cannot ask for admin access",
    ("DeviceTaintSelector", "deviceClassName"): "1.35 and later select devices by driver, pool and device only",
    ("DeviceTaintSelector", "selectors"): "1.35 and later select devices by driver, pool and device only",
    ("PodResourceClaim", "source"): "since 1.31 resourceClaimName and resourceClaimTemplateName stand beside the name",
    ("ResourceClaimSpec", "resourceClassName"): "classic DRA ended with 1.31: ask for spec.devices.requests",
    ("ResourceClaimSpec", "parametersRef"): "classic DRA ended with 1.31: ask for spec.devices.requests",
    ("ResourceClaimSpec", "allocationMode"): "classic DRA ended with 1.31: a request has its own allocationMode",
    ("DeviceClassSpec", "suitableNodes"): "classic DRA ended with 1.32",
    ("DeviceClassSpec", "driver"): 'say it in a selector: device.driver == "..."',
    ("ResourceSliceSpec", "namedResources"): "the structured model of 1.30 ended with it: publish devices",
}
"""Sources: k8s.io/api/resource/<version>/types.go and k8s.io/api/core/v1/types.go of the releases named."""

UNWRAPPED: Final = frozenset(
    {("Device", "basic"), ("DeviceRequest", "exactly"), ("DeviceSubRequest", "exactly"), ("PodResourceClaim", "source")}
)
"""Fields of :data:`MOVED` that were wrappers: what they hold belongs beside them."""
