"""Extended resources provided by DRA devices: a pod's ``vendor.com/gpu: 2`` becomes a claim.

kubernetes pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go and
k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache (1.37; alpha in 1.34 and 1.35).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation.features import Features
from dractl.model import Container, DeviceClass, Node, Pod, Quantity
from dractl.model.claims import (
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
)
from dractl.model.core import ContainerExtendedResourceRequest
from dractl.model.meta import ObjectMeta
from dractl.objects import IMPLICIT_PREFIX

CLAIM_NAME: Final = "<extended-resources>"
"""The name, in the scheduler's messages, of the claim for a pod's extended resources. The claim of
this name exists only in the scheduler's memory.
"""

EXTENDED_CLAIM: Final = "resource.kubernetes.io/extended-resource-claim"


class ExtendedResources(Struct, frozen=True):
    """Devices that a pod's extended resources need on one node."""

    claim: ResourceClaim | None
    """The claim; None if no DeviceClass backs any of the resources on the node."""
    mappings: tuple[ContainerExtendedResourceRequest, ...] = ()
    """The request that each container uses."""
    misfit: str | None = None
    """A resource that the node lacks and no class backs, for which the scheduler says ``cannot fit
    resource``; None if there is none.
    """


def backing_classes(classes: Iterable[DeviceClass], features: Features) -> dict[str, DeviceClass]:
    """Return the class that backs each extended resource. Among several classes it is the newest;
    among equally new ones, it is the first by name.

    From 1.35 on, a class also backs the implicit name ``deviceclass.resource.kubernetes.io/CLASS``.
    """
    by_resource: dict[str, DeviceClass] = {}
    if not features.enabled("DRAExtendedResource"):
        return by_resource
    # Timestamps of the API are strings that sort by time, so the last class in this order wins.
    by_name = sorted(classes, key=lambda c: c.metadata.name, reverse=True)
    for device_class in sorted(by_name, key=lambda c: c.metadata.creation_timestamp or ""):
        if device_class.spec.extended_resource_name:
            by_resource[device_class.spec.extended_resource_name] = device_class
        if features.has("implicit-extended-names"):
            by_resource[IMPLICIT_PREFIX + device_class.metadata.name] = device_class
    return by_resource


def delegated_resources(classes: Iterable[DeviceClass], features: Features) -> frozenset[str]:
    """Return the extended resources that NodeResourcesFit leaves to DRA on nodes without a device
    plugin for them.

    1.34 also leaves to DRA the implicit names of classes without ``extendedResourceName``, but
    makes no claim for these names. A pod that requests such a name is scheduled without any device
    (dynamicresources/extended/util.go DeviceClassMapping).
    """
    classes = tuple(classes)
    names = set(backing_classes(classes, features))
    if features.enabled("DRAExtendedResource") and not features.has("implicit-extended-names"):
        names |= {
            IMPLICIT_PREFIX + c.metadata.name for c in classes if not c.spec.extended_resource_name
        }
    return frozenset(names)


def extended_resources(
    pod: Pod, node: Node, classes: Iterable[DeviceClass], features: Features
) -> ExtendedResources:
    """Return the claim that kube-scheduler makes for a pod's extended resources on a node."""
    backing = backing_classes(classes, features)
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    wanted = sorted(
        {
            name
            for c in containers
            for name, amount in _requests(c).items()
            if is_extended(name) and amount
        }
    )
    if not any(name in backing for name in wanted):
        return ExtendedResources(None)
    served: list[str] = []
    for name in wanted:
        allocatable = node.status.allocatable.get(name)
        if name in backing and (allocatable is None or not allocatable.sign()):
            served.append(name)
        elif allocatable is None:
            return ExtendedResources(None, misfit=name)
    if not served:
        return ExtendedResources(None)
    requests: list[DeviceRequest] = []
    mappings: list[ContainerExtendedResourceRequest] = []
    for name in served:
        resource_requests, used = _requests_for(name, backing[name].metadata.name, pod, containers)
        requests += resource_requests
        mappings += used
    requests.sort(key=lambda request: request.name)
    return ExtendedResources(_claim(pod, requests), tuple(mappings))


def _claim(pod: Pod, requests: Sequence[DeviceRequest]) -> ResourceClaim:
    metadata = ObjectMeta(
        name=CLAIM_NAME,
        namespace=pod.metadata.namespace,
        labels={},
        annotations={EXTENDED_CLAIM: "true"},
        uid="",
        creation_timestamp=None,
        deletion_timestamp=None,
        owner_references=(),
        generate_name=f"{pod.metadata.name}-extended-resources-",
        finalizers=(),
        generation=None,
    )
    return ResourceClaim(
        metadata, ResourceClaimSpec(DeviceClaim(tuple(requests))), ResourceClaimStatus()
    )


def _requests(container: Container) -> dict[str, int]:
    """Return a container's requests in whole numbers; as in the API server, a limit is the default
    of an unset request.
    """
    amounts: Mapping[str, Quantity] = {**container.resources.limits, **container.resources.requests}
    return {name: amount.value() for name, amount in amounts.items() if amount.is_int64()}


def is_extended(name: str) -> bool:
    """Return True for a resource that a DeviceClass can provide (IsDRAExtendedResourceName in
    pkg/scheduler/util/utils.go).
    """
    if name.startswith(IMPLICIT_PREFIX):
        return True
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def _requests_for(
    resource: str, device_class: str, pod: Pod, containers: Sequence[Container]
) -> tuple[list[DeviceRequest], list[ContainerExtendedResourceRequest]]:
    """Return the requests for one resource. Init containers reuse the devices of later containers
    and share one request.
    """
    init = len(pod.spec.init_containers)
    short = [n for n, c in enumerate(containers) if n < init and c.restart_policy != "Always"]
    kept: list[DeviceRequest | None] = [None] * len(containers)
    mappings: list[ContainerExtendedResourceRequest] = []
    for number, container in enumerate(containers):
        if number not in short:
            kept[number], used = _container_request(number, container, resource, device_class, ())
            mappings += used
    largest: DeviceRequest | None = None
    names: set[str] = set()
    shared: list[ContainerExtendedResourceRequest] = []
    for number in short:
        request, used = _container_request(
            number, containers[number], resource, device_class, kept[number:]
        )
        if request is not None:
            names.add(request.name)
            if largest is None or _count(largest) < _count(request):
                largest = request
        shared += used
    if largest is not None:
        shared = [
            replace(m, request_name=largest.name) if m.request_name in names else m for m in shared
        ]
    requests = [request for request in (largest, *kept) if request is not None]
    return requests, [*mappings, *shared]


def _count(request: DeviceRequest) -> int:
    assert request.exactly is not None
    return request.exactly.count or 0


def _container_request(
    number: int,
    container: Container,
    resource: str,
    device_class: str,
    reusable: Sequence[DeviceRequest | None],
) -> tuple[DeviceRequest | None, list[ContainerExtendedResourceRequest]]:
    amounts = _requests(container)
    wanted = amounts.get(resource, 0)
    if not wanted:
        return None, []
    mappings: list[ContainerExtendedResourceRequest] = []
    covered = 0
    for request in reusable:
        if request is not None:
            covered += _count(request)
            mappings.append(
                ContainerExtendedResourceRequest(container.name, resource, request.name)
            )
            if covered >= wanted:
                return None, mappings
    position = sorted({**container.resources.limits, **container.resources.requests}).index(
        resource
    )
    name = f"container-{number}-request-{position}"
    spec = ExactDeviceRequest(device_class, allocation_mode="ExactCount", count=wanted - covered)
    mappings.append(ContainerExtendedResourceRequest(container.name, resource, name))
    return DeviceRequest(name, spec), mappings
