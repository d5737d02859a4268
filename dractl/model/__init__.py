"""The objects of resource.k8s.io/v1 and the parts of core/v1 that claims need; quantities, versions, releases.

The names below are imported on first use: creating sixty dataclasses takes longer than linting a file.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dractl.model.claims import (
        AllocatedDeviceStatus,
        AllocationResult,
        CapacityRequirements,
        CELDeviceSelector,
        DeviceAllocationConfiguration,
        DeviceAllocationResult,
        DeviceClaim,
        DeviceClaimConfiguration,
        DeviceConstraint,
        DeviceDerivedAttribute,
        DeviceRequest,
        DeviceRequestAllocationResult,
        DeviceSelector,
        DeviceSubRequest,
        ExactDeviceRequest,
        OpaqueDeviceConfiguration,
        ResourceClaim,
        ResourceClaimConsumerReference,
        ResourceClaimSpec,
        ResourceClaimStatus,
        ResourceClaimTemplate,
        ResourceClaimTemplateSpec,
    )
    from dractl.model.classes import DeviceClass, DeviceClassConfiguration, DeviceClassSpec
    from dractl.model.convert import to_v1
    from dractl.model.core import (
        Container,
        ContainerExtendedResourceRequest,
        ContainerResourceClaim,
        Namespace,
        Node,
        NodeSelector,
        NodeSelectorRequirement,
        NodeSelectorTerm,
        NodeSpec,
        NodeStatus,
        Pod,
        PodExtendedResourceClaimStatus,
        PodResourceClaim,
        PodResourceClaimStatus,
        PodSpec,
        PodStatus,
        ResourceRequirements,
        Taint,
        Toleration,
    )
    from dractl.model.decoding import Object, decodable, decode
    from dractl.model.meta import Condition, ObjectMeta, OwnerReference
    from dractl.model.names import QualifiedName, RequestRef, qualified_name
    from dractl.model.pods import pod_specs, pod_templates
    from dractl.model.quantity import Quantity
    from dractl.model.reader import DecodeError, Path, Reader
    from dractl.model.releases import GATES, NEWEST, RELEASES, Target, served_versions
    from dractl.model.slices import (
        CapacityRequestPolicy,
        CapacityRequestPolicyRange,
        CounterSet,
        Device,
        DeviceAttribute,
        DeviceCapacity,
        DeviceCounterConsumption,
        ResourcePool,
        ResourceSlice,
        ResourceSliceSpec,
    )
    from dractl.model.taints import (
        DeviceTaint,
        DeviceTaintRule,
        DeviceTaintRuleSpec,
        DeviceTaintRuleStatus,
        DeviceTaintSelector,
        DeviceToleration,
    )
    from dractl.model.version import Version

_HOMES = {
    "claims": (
        "AllocatedDeviceStatus AllocationResult CapacityRequirements CELDeviceSelector "
        "DeviceAllocationConfiguration DeviceAllocationResult DeviceClaim DeviceClaimConfiguration "
        "DeviceConstraint DeviceDerivedAttribute DeviceRequest DeviceRequestAllocationResult DeviceSelector "
        "DeviceSubRequest ExactDeviceRequest OpaqueDeviceConfiguration ResourceClaim "
        "ResourceClaimConsumerReference ResourceClaimSpec ResourceClaimStatus ResourceClaimTemplate "
        "ResourceClaimTemplateSpec"
    ),
    "classes": "DeviceClass DeviceClassConfiguration DeviceClassSpec",
    "convert": "to_v1",
    "core": (
        "Container ContainerExtendedResourceRequest ContainerResourceClaim Namespace Node NodeSelector "
        "NodeSelectorRequirement NodeSelectorTerm NodeSpec NodeStatus Pod PodExtendedResourceClaimStatus "
        "PodResourceClaim PodResourceClaimStatus PodSpec PodStatus ResourceRequirements Taint Toleration"
    ),
    "decoding": "Object decodable decode",
    "meta": "Condition ObjectMeta OwnerReference",
    "names": "QualifiedName RequestRef qualified_name",
    "pods": "pod_specs pod_templates",
    "quantity": "Quantity",
    "reader": "DecodeError Path Reader",
    "releases": "GATES NEWEST RELEASES Target served_versions",
    "slices": (
        "CapacityRequestPolicy CapacityRequestPolicyRange CounterSet Device DeviceAttribute DeviceCapacity "
        "DeviceCounterConsumption ResourcePool ResourceSlice ResourceSliceSpec"
    ),
    "taints": (
        "DeviceTaint DeviceTaintRule DeviceTaintRuleSpec DeviceTaintRuleStatus DeviceTaintSelector DeviceToleration"
    ),
    "version": "Version",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    "GATES",
    "NEWEST",
    "RELEASES",
    "AllocatedDeviceStatus",
    "AllocationResult",
    "CELDeviceSelector",
    "CapacityRequestPolicy",
    "CapacityRequestPolicyRange",
    "CapacityRequirements",
    "Condition",
    "Container",
    "ContainerExtendedResourceRequest",
    "ContainerResourceClaim",
    "CounterSet",
    "DecodeError",
    "Device",
    "DeviceAllocationConfiguration",
    "DeviceAllocationResult",
    "DeviceAttribute",
    "DeviceCapacity",
    "DeviceClaim",
    "DeviceClaimConfiguration",
    "DeviceClass",
    "DeviceClassConfiguration",
    "DeviceClassSpec",
    "DeviceConstraint",
    "DeviceCounterConsumption",
    "DeviceDerivedAttribute",
    "DeviceRequest",
    "DeviceRequestAllocationResult",
    "DeviceSelector",
    "DeviceSubRequest",
    "DeviceTaint",
    "DeviceTaintRule",
    "DeviceTaintRuleSpec",
    "DeviceTaintRuleStatus",
    "DeviceTaintSelector",
    "DeviceToleration",
    "ExactDeviceRequest",
    "Namespace",
    "Node",
    "NodeSelector",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
    "NodeSpec",
    "NodeStatus",
    "Object",
    "ObjectMeta",
    "OpaqueDeviceConfiguration",
    "OwnerReference",
    "Path",
    "Pod",
    "PodExtendedResourceClaimStatus",
    "PodResourceClaim",
    "PodResourceClaimStatus",
    "PodSpec",
    "PodStatus",
    "QualifiedName",
    "Quantity",
    "Reader",
    "RequestRef",
    "ResourceClaim",
    "ResourceClaimConsumerReference",
    "ResourceClaimSpec",
    "ResourceClaimStatus",
    "ResourceClaimTemplate",
    "ResourceClaimTemplateSpec",
    "ResourcePool",
    "ResourceRequirements",
    "ResourceSlice",
    "ResourceSliceSpec",
    "Taint",
    "Target",
    "Toleration",
    "Version",
    "decodable",
    "decode",
    "pod_specs",
    "pod_templates",
    "qualified_name",
    "served_versions",
    "to_v1",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"dractl.model.{_HOME[name]}"), name)
    return value
