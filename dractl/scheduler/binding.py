"""Claims that are allocated before their pod is bound: the conditions that their devices wait for,
and the failures of devices.

kubernetes pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go,
isClaimReadyForBinding.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from dractl.allocation import DeviceID
from dractl.model import Condition, DeviceRequestAllocationResult
from dractl.objects import Raw
from dractl.scheduler.claims import PodClaim


class BindingFailure(Struct, frozen=True):
    """A driver has reported that it cannot get a device of the claim ready."""

    claim: PodClaim
    device: DeviceID
    condition: Condition


class BindingWait(Struct, frozen=True):
    """The scheduler waits for a driver to set conditions of a device in the claim's status."""

    claim: PodClaim
    request: str
    device: DeviceID
    conditions: tuple[str, ...]
    since: str
    """When the claim was allocated (RFC 3339), "" if unknown; the scheduler gives up ten minutes
    later.
    """


class _DeviceStatus(Struct, frozen=True):
    result: DeviceRequestAllocationResult
    conditions: Mapping[str, Condition]
    """The conditions that the driver has set, by type."""

    @property
    def device(self) -> DeviceID:
        return DeviceID(self.result.driver, self.result.pool, self.result.device)


def find_binding_failure(claim: PodClaim) -> BindingFailure | None:
    """Return a claim's first device that its driver cannot get ready; None if there is none."""
    for status in _device_statuses(claim):
        for name in status.result.binding_failure_conditions:
            condition = status.conditions.get(name)
            if condition is not None and condition.status == "True":
                return BindingFailure(claim, status.device, condition)
    return None


def find_binding_wait(claims: Sequence[PodClaim]) -> BindingWait | None:
    """Return the conditions that a pod with allocated claims still waits for; None if there are
    none.

    While it waits, the pod has no condition PodScheduled.
    """
    if not all(claim.allocated for claim in claims):
        return None
    for claim in claims:
        for status in _device_statuses(claim):
            true = {name for name, c in status.conditions.items() if c.status == "True"}
            unset = tuple(name for name in status.result.binding_conditions if name not in true)
            if unset:
                assert claim.claim is not None
                assert claim.claim.status.allocation is not None
                since = claim.claim.status.allocation.allocation_timestamp or ""
                return BindingWait(claim, status.result.request, status.device, unset, since)
    return None


def deallocate(claim: Raw) -> Raw:
    """Return a claim in its state after the scheduler has removed its allocation."""
    status = {
        key: value
        for key, value in claim["status"].items()
        if key not in ("allocation", "reservedFor", "devices")
    }
    return {**claim, "status": status}


def _device_statuses(claim: PodClaim) -> Iterator[_DeviceStatus]:
    if claim.claim is None or claim.claim.status.allocation is None:
        return
    reported = {
        (d.driver, d.pool, d.device, d.share_id): d for d in reversed(claim.claim.status.devices)
    }
    for result in claim.claim.status.allocation.devices.results:
        status = reported.get((result.driver, result.pool, result.device, result.share_id))
        conditions = () if status is None else status.conditions
        yield _DeviceStatus(result, {condition.type: condition for condition in conditions})
