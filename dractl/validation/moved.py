"""Fields that moved or were removed, each with its replacement, as data."""

from typing import Final

MOVED: Final[dict[tuple[str, str], str]] = {
    # (Go type without its version, field): the replacement
    (
        "Device",
        "basic",
    ): "v1 and v1beta2 have no such wrapper: write its fields next to the device's name",
    (
        "Device",
        "nodeAllocatableResourceMappings",
    ): "1.37 replaced it by nodeAllocatableResources, which is structured differently",
    (
        "BasicDevice",
        "nodeAllocatableResourceMappings",
    ): "1.37 replaced it by nodeAllocatableResources",
    (
        "DeviceRequest",
        "exactly",
    ): "v1beta1 has no such wrapper: write its fields next to the request's name",
    ("DeviceSubRequest", "exactly"): "write the fields of a subrequest next to its name",
    ("DeviceSubRequest", "adminAccess"): "a subrequest cannot ask for admin access",
    (
        "DeviceTaintSelector",
        "deviceClassName",
    ): "1.35 and later select devices by driver, pool and device only",
    (
        "DeviceTaintSelector",
        "selectors",
    ): "1.35 and later select devices by driver, pool and device only",
    (
        "PodResourceClaim",
        "source",
    ): "since 1.31 resourceClaimName and resourceClaimTemplateName are next to the name",
    (
        "ResourceClaimSpec",
        "resourceClassName",
    ): "classic DRA was removed in 1.32: write spec.devices.requests",
    (
        "ResourceClaimSpec",
        "parametersRef",
    ): "classic DRA was removed in 1.32: write spec.devices.requests",
    (
        "ResourceClaimSpec",
        "allocationMode",
    ): "classic DRA was removed in 1.32: a request has its own allocationMode",
    ("DeviceClassSpec", "suitableNodes"): "classic DRA was removed in 1.32",
    ("DeviceClassSpec", "driver"): 'write a selector: device.driver == "..."',
    (
        "StatefulSetSpec",
        "resourceClaimTemplates",
    ): "create a ResourceClaimTemplate for the pods to name",
    ("ResourceSliceSpec", "namedResources"): "only 1.30 had named resources: publish devices",
}
"""Sources: k8s.io/api/resource/<version>/types.go and k8s.io/api/core/v1/types.go of the releases
named.
"""

UNWRAPPED: Final = frozenset(
    {
        ("Device", "basic"),
        ("DeviceRequest", "exactly"),
        ("DeviceSubRequest", "exactly"),
        ("PodResourceClaim", "source"),
    }
)
"""Fields of :data:`MOVED` that were wrappers; their content now takes their place."""
