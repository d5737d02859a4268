"""The objects of resource.k8s.io/v1 and the parts of core/v1 that claims need; quantities,
versions, releases.
"""

from dractl.model.claims import (
    AllocatedDeviceStatus as AllocatedDeviceStatus,
    AllocationResult as AllocationResult,
    CapacityRequirements as CapacityRequirements,
    CELDeviceSelector as CELDeviceSelector,
    DeviceAllocationConfiguration as DeviceAllocationConfiguration,
    DeviceAllocationResult as DeviceAllocationResult,
    DeviceClaim as DeviceClaim,
    DeviceClaimConfiguration as DeviceClaimConfiguration,
    DeviceConstraint as DeviceConstraint,
    DeviceDerivedAttribute as DeviceDerivedAttribute,
    DeviceRequest as DeviceRequest,
    DeviceRequestAllocationResult as DeviceRequestAllocationResult,
    DeviceSelector as DeviceSelector,
    DeviceSubRequest as DeviceSubRequest,
    ExactDeviceRequest as ExactDeviceRequest,
    OpaqueDeviceConfiguration as OpaqueDeviceConfiguration,
    ResourceClaim as ResourceClaim,
    ResourceClaimConsumerReference as ResourceClaimConsumerReference,
    ResourceClaimSpec as ResourceClaimSpec,
    ResourceClaimStatus as ResourceClaimStatus,
    ResourceClaimTemplate as ResourceClaimTemplate,
    ResourceClaimTemplateSpec as ResourceClaimTemplateSpec,
)
from dractl.model.classes import (
    DeviceClass as DeviceClass,
    DeviceClassConfiguration as DeviceClassConfiguration,
    DeviceClassSpec as DeviceClassSpec,
)
from dractl.model.convert import to_v1 as to_v1
from dractl.model.core import (
    Container as Container,
    ContainerExtendedResourceRequest as ContainerExtendedResourceRequest,
    ContainerResourceClaim as ContainerResourceClaim,
    Namespace as Namespace,
    Node as Node,
    NodeSelector as NodeSelector,
    NodeSelectorRequirement as NodeSelectorRequirement,
    NodeSelectorTerm as NodeSelectorTerm,
    NodeSpec as NodeSpec,
    NodeStatus as NodeStatus,
    Pod as Pod,
    PodExtendedResourceClaimStatus as PodExtendedResourceClaimStatus,
    PodResourceClaim as PodResourceClaim,
    PodResourceClaimStatus as PodResourceClaimStatus,
    PodSpec as PodSpec,
    PodStatus as PodStatus,
    ResourceRequirements as ResourceRequirements,
    Taint as Taint,
    Toleration as Toleration,
)
from dractl.model.decoding import Object as Object, decodable as decodable, decode as decode
from dractl.model.meta import (
    Condition as Condition,
    ObjectMeta as ObjectMeta,
    OwnerReference as OwnerReference,
)
from dractl.model.names import (
    QualifiedName as QualifiedName,
    RequestRef as RequestRef,
    full_name as full_name,
    qualified_name as qualified_name,
)
from dractl.model.pods import pod_specs as pod_specs, pod_templates as pod_templates
from dractl.model.quantity import Quantity as Quantity, SaturatingQuantity as SaturatingQuantity
from dractl.model.reader import DecodeError as DecodeError, Path as Path, Reader as Reader
from dractl.model.releases import (
    GATES as GATES,
    NEWEST as NEWEST,
    RELEASES as RELEASES,
    Target as Target,
    served_versions as served_versions,
)
from dractl.model.slices import (
    CapacityRequestPolicy as CapacityRequestPolicy,
    CapacityRequestPolicyRange as CapacityRequestPolicyRange,
    CounterSet as CounterSet,
    Device as Device,
    DeviceAttribute as DeviceAttribute,
    DeviceCapacity as DeviceCapacity,
    DeviceCounterConsumption as DeviceCounterConsumption,
    ResourcePool as ResourcePool,
    ResourceSlice as ResourceSlice,
    ResourceSliceSpec as ResourceSliceSpec,
)
from dractl.model.taints import (
    DeviceTaint as DeviceTaint,
    DeviceTaintRule as DeviceTaintRule,
    DeviceTaintRuleSpec as DeviceTaintRuleSpec,
    DeviceTaintRuleStatus as DeviceTaintRuleStatus,
    DeviceTaintSelector as DeviceTaintSelector,
    DeviceToleration as DeviceToleration,
)
from dractl.model.version import Version as Version
