"""ResourceClaim and ResourceClaimTemplate (staging/src/k8s.io/api/resource/v1/types.go)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from dractl.model.core import NodeSelector
from dractl.model.meta import Condition, ObjectMeta
from dractl.model.quantity import Quantity
from dractl.model.reader import Reader
from dractl.model.taints import DeviceToleration


class CELDeviceSelector(Struct, frozen=True):
    """A CEL expression that must be true of a device; ``device`` is its one variable."""

    expression: str

    @classmethod
    def read(cls, r: Reader) -> CELDeviceSelector:
        return cls(r.text("expression"))


class DeviceSelector(Struct, frozen=True):
    """One condition on a device. CEL is the only kind; None if another one was written."""

    cel: CELDeviceSelector | None = None

    @classmethod
    def read(cls, r: Reader) -> DeviceSelector:
        return cls(r.optional("cel", CELDeviceSelector.read))


class CapacityRequirements(Struct, frozen=True):
    """The amount of each capacity that a request needs from a device, by the name under which the device publishes
    it."""

    requests: Mapping[str, Quantity]

    @classmethod
    def read(cls, r: Reader) -> CapacityRequirements:
        return cls(r.quantities("requests"))


class DeviceDerivedAttribute(Struct, frozen=True):
    """An attribute that a CEL expression computes for each device, for the constraints of the claim (alpha since
    1.37)."""

    name: str
    expression: str

    @classmethod
    def read(cls, r: Reader) -> DeviceDerivedAttribute:
        return cls(r.text("name"), r.text("expression"))


class ExactDeviceRequest(Struct, frozen=True):
    """``allocation_mode`` (ExactCount, All) and ``count`` are None if they were not written: see API defaulting."""

    device_class_name: str
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str | None = None
    count: int | None = None
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DeviceDerivedAttribute, ...] = ()

    @classmethod
    def read(cls, r: Reader) -> ExactDeviceRequest:
        return cls(
            device_class_name=r.text("deviceClassName"),
            selectors=r.each("selectors", DeviceSelector.read),
            allocation_mode=r.optional_text("allocationMode"),
            count=r.integer("count"),
            admin_access=r.boolean("adminAccess"),
            tolerations=r.each("tolerations", DeviceToleration.read),
            capacity=r.optional("capacity", CapacityRequirements.read),
            derived_attributes=r.each("derivedAttributes", DeviceDerivedAttribute.read),
        )


class DeviceSubRequest(Struct, frozen=True):
    """An alternative of ``firstAvailable``; referenced as ``request/subrequest``."""

    name: str
    device_class_name: str
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str | None = None
    count: int | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DeviceDerivedAttribute, ...] = ()

    @classmethod
    def read(cls, r: Reader) -> DeviceSubRequest:
        return cls(
            name=r.text("name"),
            device_class_name=r.text("deviceClassName"),
            selectors=r.each("selectors", DeviceSelector.read),
            allocation_mode=r.optional_text("allocationMode"),
            count=r.integer("count"),
            tolerations=r.each("tolerations", DeviceToleration.read),
            capacity=r.optional("capacity", CapacityRequirements.read),
            derived_attributes=r.each("derivedAttributes", DeviceDerivedAttribute.read),
        )


class DeviceRequest(Struct, frozen=True):
    """Exactly one of ``exactly`` and ``first_available`` is set."""

    name: str
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()

    @classmethod
    def read(cls, r: Reader) -> DeviceRequest:
        return cls(
            r.text("name"),
            r.optional("exactly", ExactDeviceRequest.read),
            r.each("firstAvailable", DeviceSubRequest.read),
        )


class DeviceConstraint(Struct, frozen=True):
    """A constraint on the named requests, ``request`` or ``request/subrequest``; on all if none is named."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None

    @classmethod
    def read(cls, r: Reader) -> DeviceConstraint:
        return cls(r.texts("requests"), r.optional_text("matchAttribute"), r.optional_text("distinctAttribute"))


class OpaqueDeviceConfiguration(Struct, frozen=True):
    """``parameters`` is the value as written, a mapping in every valid object."""

    driver: str
    parameters: Any = None

    @classmethod
    def read(cls, r: Reader) -> OpaqueDeviceConfiguration:
        return cls(r.text("driver"), r.mapping.get("parameters"))


class DeviceClaimConfiguration(Struct, frozen=True):
    """Parameters that a claim passes to the driver of the devices for ``requests`` (none named: of all)."""

    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None

    @classmethod
    def read(cls, r: Reader) -> DeviceClaimConfiguration:
        return cls(r.texts("requests"), r.optional("opaque", OpaqueDeviceConfiguration.read))


class DeviceClaim(Struct, frozen=True):
    """A claim's requests in order, constraints on them, and parameters for the drivers."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()

    @classmethod
    def read(cls, r: Reader) -> DeviceClaim:
        return cls(
            r.each("requests", DeviceRequest.read),
            r.each("constraints", DeviceConstraint.read),
            r.each("config", DeviceClaimConfiguration.read),
        )


class ResourceClaimSpec(Struct, frozen=True):
    """The specification of a claim; immutable in the API."""

    devices: DeviceClaim

    @classmethod
    def read(cls, r: Reader) -> ResourceClaimSpec:
        return cls(DeviceClaim.read(r.child("devices")))


class DeviceRequestAllocationResult(Struct, frozen=True):
    """A device allocated for ``request`` (``request/subrequest``); with ``share_id``, a share of its capacity."""

    request: str
    driver: str
    pool: str
    device: str
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = None
    consumed_capacity: Mapping[str, Quantity] | None = None
    skip_node_operations: tuple[str, ...] = ()
    compatibility_groups: Mapping[str, Any] | None = None

    @classmethod
    def read(cls, r: Reader) -> DeviceRequestAllocationResult:
        return cls(
            request=r.text("request"),
            driver=r.text("driver"),
            pool=r.text("pool"),
            device=r.text("device"),
            admin_access=r.boolean("adminAccess"),
            tolerations=r.each("tolerations", DeviceToleration.read),
            binding_conditions=r.texts("bindingConditions"),
            binding_failure_conditions=r.texts("bindingFailureConditions"),
            share_id=r.optional_text("shareID"),
            consumed_capacity=r.quantities("consumedCapacity") if r.has("consumedCapacity") else None,
            skip_node_operations=r.texts("skipNodeOperations"),
            compatibility_groups=r.raw_map("compatibilityGroups"),
        )


class DeviceAllocationConfiguration(Struct, frozen=True):
    """``source``: FromClass or FromClaim."""

    source: str
    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None

    @classmethod
    def read(cls, r: Reader) -> DeviceAllocationConfiguration:
        return cls(r.text("source"), r.texts("requests"), r.optional("opaque", OpaqueDeviceConfiguration.read))


class DeviceAllocationResult(Struct, frozen=True):
    """The allocated devices, in the order of the requests, with the parameters of class and claim for their drivers."""

    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: tuple[DeviceAllocationConfiguration, ...] = ()

    @classmethod
    def read(cls, r: Reader) -> DeviceAllocationResult:
        return cls(
            r.each("results", DeviceRequestAllocationResult.read),
            r.each("config", DeviceAllocationConfiguration.read),
        )


class AllocationResult(Struct, frozen=True):
    """The devices allocated to a claim, and the nodes from which they can be used (``node_selector`` None: all
    nodes)."""

    devices: DeviceAllocationResult
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None

    @classmethod
    def read(cls, r: Reader) -> AllocationResult:
        return cls(
            DeviceAllocationResult.read(r.child("devices")),
            r.optional("nodeSelector", NodeSelector.read),
            r.optional_text("allocationTimestamp"),
        )


class ResourceClaimConsumerReference(Struct, frozen=True):
    """A consumer that may use an allocated claim, nearly always a pod; ``resource`` is the plural, such as ``pods``."""

    api_group: str
    resource: str
    name: str
    uid: str

    @classmethod
    def read(cls, r: Reader) -> ResourceClaimConsumerReference:
        return cls(r.text("apiGroup"), r.text("resource"), r.text("name"), r.text("uid"))


class AllocatedDeviceStatus(Struct, frozen=True):
    """``data`` and ``network_data`` are as the driver wrote them."""

    driver: str
    pool: str
    device: str
    share_id: str | None = None
    conditions: tuple[Condition, ...] = ()
    data: Any = None
    network_data: Mapping[str, Any] | None = None

    @classmethod
    def read(cls, r: Reader) -> AllocatedDeviceStatus:
        return cls(
            driver=r.text("driver"),
            pool=r.text("pool"),
            device=r.text("device"),
            share_id=r.optional_text("shareID"),
            conditions=r.each("conditions", Condition.read),
            data=r.mapping.get("data"),
            network_data=r.raw_map("networkData"),
        )


class ResourceClaimStatus(Struct, frozen=True):
    """The state of a claim: its allocation, its consumers (256 at most), and what drivers report about the devices."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()

    @classmethod
    def read(cls, r: Reader) -> ResourceClaimStatus:
        return cls(
            r.optional("allocation", AllocationResult.read),
            r.each("reservedFor", ResourceClaimConsumerReference.read),
            r.each("devices", AllocatedDeviceStatus.read),
        )


class ResourceClaim(Struct, frozen=True):
    """A request for devices and, once it is allocated, the devices themselves."""

    metadata: ObjectMeta
    spec: ResourceClaimSpec
    status: ResourceClaimStatus

    @classmethod
    def read(cls, r: Reader) -> ResourceClaim:
        return cls(
            ObjectMeta.read(r.child("metadata")),
            ResourceClaimSpec.read(r.child("spec")),
            ResourceClaimStatus.read(r.child("status")),
        )


class ResourceClaimTemplateSpec(Struct, frozen=True):
    """The labels, annotations and specification of every claim made from a template."""

    metadata: ObjectMeta
    spec: ResourceClaimSpec

    @classmethod
    def read(cls, r: Reader) -> ResourceClaimTemplateSpec:
        return cls(ObjectMeta.read(r.child("metadata")), ResourceClaimSpec.read(r.child("spec")))


class ResourceClaimTemplate(Struct, frozen=True):
    """Creates a claim for each pod that refers to it."""

    metadata: ObjectMeta
    spec: ResourceClaimTemplateSpec

    @classmethod
    def read(cls, r: Reader) -> ResourceClaimTemplate:
        return cls(ObjectMeta.read(r.child("metadata")), ResourceClaimTemplateSpec.read(r.child("spec")))
