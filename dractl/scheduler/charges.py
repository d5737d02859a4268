"""The resources that claims and pods use up in quotas.

kubernetes pkg/quota/v1/evaluator/core (resource_claims.go, pods.go).
"""

from collections.abc import Iterable, Mapping, Sequence

from dractl.allocation import EXTENDED_CLAIM, Features, backing_classes
from dractl.cluster.state import ClusterState
from dractl.model import (
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    Quantity,
    ResourceClaim,
)
from dractl.views import Pod
from dractl.views.amounts import pod_limits, pod_requests

Usage = Mapping[str, Quantity]
"""Amounts by the name of the resource that a quota limits."""

CLAIM_COUNT = "count/resourceclaims.resource.k8s.io"
DEVICES_SUFFIX = ".deviceclass.resource.k8s.io/devices"
"""``CLASS`` with this suffix is the resource with which a quota limits the devices of a class."""
_ALL_MODE_DEVICES = 32
"""The number of devices that a request with allocationMode All is charged for
(resourceapi.AllocationResultsMaxSize).
"""
_ONE = Quantity(1)
_COMPUTE_RESOURCES = ("cpu", "memory", "ephemeral-storage")


def request_options(request: DeviceRequest) -> tuple[ExactDeviceRequest | DeviceSubRequest, ...]:
    """Return the alternatives of a request, or the request itself."""
    return request.first_available or ((request.exactly,) if request.exactly is not None else ())


def claim_charge(claim: ResourceClaim) -> dict[str, Quantity]:
    """Return the charge for a claim: the claim itself, and the devices of each class; for
    alternatives, the largest number of devices counts.
    """
    devices: dict[str, int] = {}
    for request in claim.spec.devices.requests:
        most: dict[str, int] = {}
        for option in request_options(request):
            name = option.device_class_name
            most[name] = max(most.get(name, 0), _device_count(option))
        for name, count in most.items():
            devices[name] = devices.get(name, 0) + count
    charge = {f"{name}{DEVICES_SUFFIX}": Quantity(count) for name, count in devices.items()}
    return {CLAIM_COUNT: _ONE, **charge}


def _device_count(option: ExactDeviceRequest | DeviceSubRequest) -> int:
    if option.allocation_mode == "All":
        return _ALL_MODE_DEVICES
    return 1 if option.count is None else option.count


def pod_charge(pod: Pod) -> dict[str, Quantity]:
    """Return the charge for a pod; a pod that has ended counts only as an object."""
    charge = {"count/pods": _ONE}
    if pod.has_ended:
        return charge
    charge["pods"] = _ONE
    for name, amount in pod_requests(pod.spec).items():
        is_compute = name in _COMPUTE_RESOURCES or name.startswith("hugepages-")
        if is_compute:
            charge[name] = amount
        if is_compute or "/" in name:
            charge[f"requests.{name}"] = amount
    for name, amount in pod_limits(pod.spec).items():
        if name in _COMPUTE_RESOURCES:
            charge[f"limits.{name}"] = amount
    return charge


class ExtendedResourceCharges:
    """Charges for claims that include the extended resources of their classes, as from 1.35 on."""

    def __init__(self, state: ClusterState, features: Features) -> None:
        self._classes: Sequence[tuple[str, str]] = ()
        if features.has("quota-of-extended-names"):
            self._classes = [
                (name, device_class.metadata.name)
                for name, device_class in backing_classes(state.classes, features).items()
            ]

    def claim_charge(self, claim: ResourceClaim) -> dict[str, Quantity]:
        """Return the charge for a claim.

        The scheduler's own claims are not charged for the extended resources, since their pods are
        charged for them (addExtendedResourceQuota).
        """
        charge = claim_charge(claim)
        if claim.metadata.annotations.get(EXTENDED_CLAIM) == "true":
            return charge
        extended = {
            f"requests.{name}": charge[f"{device_class}{DEVICES_SUFFIX}"]
            for name, device_class in self._classes
            if f"{device_class}{DEVICES_SUFFIX}" in charge
        }
        return {**charge, **extended}


def add_up(charges: Iterable[Usage]) -> dict[str, Quantity]:
    """Return the sum of charges."""
    total: dict[str, Quantity] = {}
    for charge in charges:
        for name, amount in charge.items():
            total[name] = total[name] + amount if name in total else amount
    return total
