"""ResourceClaim and ResourceClaimTemplate (staging/src/k8s.io/api/resource/v1/types.go)."""

from collections.abc import Mapping
from typing import Any

from dractl.model.apitype import APIType
from dractl.model.core import NodeSelector
from dractl.model.meta import Condition, ObjectMeta
from dractl.model.quantity import Quantity
from dractl.model.taints import DeviceToleration


class CELDeviceSelector(APIType, frozen=True):
    """A CEL expression that must be true for a device; ``device`` is its only variable."""

    expression: str


class DeviceSelector(APIType, frozen=True):
    """One condition on a device. The only known kind is CEL; ``cel`` is None if the condition has
    another kind.
    """

    cel: CELDeviceSelector | None = None


class CapacityRequirements(APIType, frozen=True):
    """The amount of each capacity that a request needs from a device, by the name under which the
    device publishes it.
    """

    requests: Mapping[str, Quantity]


class DeviceDerivedAttribute(APIType, frozen=True):
    """An attribute that a CEL expression computes for each device, for the constraints of the claim
    (alpha since 1.37).
    """

    name: str
    expression: str


class ExactDeviceRequest(APIType, frozen=True):
    """The content of a request without alternatives."""

    device_class_name: str
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str | None = None
    """ExactCount or All; None if it was not written: see API defaulting."""
    count: int | None = None
    """The number of devices; None if it was not written."""
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DeviceDerivedAttribute, ...] = ()


class DeviceSubRequest(APIType, frozen=True):
    """An alternative of ``firstAvailable``; referenced as ``request/subrequest``."""

    name: str
    device_class_name: str
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str | None = None
    count: int | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DeviceDerivedAttribute, ...] = ()


class DeviceRequest(APIType, frozen=True):
    """A request, with either ``exactly`` or ``first_available`` set."""

    name: str
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


class DeviceConstraint(APIType, frozen=True):
    """A constraint on the named requests (``request`` or ``request/subrequest``), or on all if none
    is named.
    """

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class OpaqueDeviceConfiguration(APIType, frozen=True):
    """Parameters for a driver."""

    driver: str
    parameters: Any = None
    """The value as written, a mapping in every valid object."""


class DeviceClaimConfiguration(APIType, frozen=True):
    """Parameters that a claim passes to the driver of the devices for ``requests``, or for all
    requests if none is named.
    """

    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClaim(APIType, frozen=True):
    """A claim's requests in order, constraints on them, and parameters for the drivers."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()


class ResourceClaimSpec(APIType, frozen=True):
    """The specification of a claim; immutable in the API."""

    devices: DeviceClaim


class DeviceRequestAllocationResult(APIType, frozen=True):
    """A device allocated for ``request`` (``request/subrequest``); with ``share_id``, a share of
    its capacity.
    """

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


class DeviceAllocationConfiguration(APIType, frozen=True):
    """Parameters of an allocated claim."""

    source: str
    """FromClass or FromClaim."""
    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceAllocationResult(APIType, frozen=True):
    """The allocated devices, in the order of the requests, with the parameters of class and claim
    for their drivers.
    """

    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: tuple[DeviceAllocationConfiguration, ...] = ()


class AllocationResult(APIType, frozen=True):
    """The devices allocated to a claim, and the nodes from which they can be used."""

    devices: DeviceAllocationResult
    node_selector: NodeSelector | None = None
    """The nodes; None for all nodes."""
    allocation_timestamp: str | None = None


class ResourceClaimConsumerReference(APIType, frozen=True):
    """A consumer that may use an allocated claim, nearly always a pod; ``resource`` is the plural,
    such as ``pods``.
    """

    api_group: str
    resource: str
    name: str
    uid: str


class AllocatedDeviceStatus(APIType, frozen=True):
    """The status that a driver reports for an allocated device; ``data`` and ``network_data`` are
    as the driver wrote them.
    """

    driver: str
    pool: str
    device: str
    share_id: str | None = None
    conditions: tuple[Condition, ...] = ()
    data: Any = None
    network_data: Mapping[str, Any] | None = None


class ResourceClaimStatus(APIType, frozen=True):
    """The state of a claim: its allocation, its consumers (256 at most), and the drivers' reports
    about the devices.
    """

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(APIType, frozen=True):
    """A request for devices and, once it is allocated, the devices themselves."""

    metadata: ObjectMeta
    spec: ResourceClaimSpec
    status: ResourceClaimStatus


class ResourceClaimTemplateSpec(APIType, frozen=True):
    """The labels, annotations and specification of every claim made from a template."""

    metadata: ObjectMeta
    spec: ResourceClaimSpec


class ResourceClaimTemplate(APIType, frozen=True):
    """Creates a claim for each pod that refers to it."""

    metadata: ObjectMeta
    spec: ResourceClaimTemplateSpec
