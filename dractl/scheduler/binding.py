"""Claims that are allocated before their pod is bound: what their devices wait for, and why a device failed.

kubernetes pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go, isClaimReadyForBinding.
"""

from collections.abc import Iterator, Sequence

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
    """The scheduler waits for a driver to set ``conditions`` of a device in the claim's status.

    ``since`` is when the claim was allocated (RFC 3339), "" if unknown; the scheduler gives up ten minutes later.
    """

    claim: PodClaim
    request: str
    device: DeviceID
    conditions: tuple[str, ...]
    since: str


def failure(claim: PodClaim) -> BindingFailure | None:
    """The first device of a claim that its driver cannot get ready."""
    for result, conditions in _devices(claim):
        for name in result.binding_failure_conditions:
            found = conditions.get(name)
            if found is not None and found.status == "True":
                return BindingFailure(claim, _device(result), found)
    return None


def pending(claims: Sequence[PodClaim]) -> BindingWait | None:
    """The conditions that a pod with allocated claims still waits for; it has no PodScheduled condition meanwhile."""
    if not all(claim.allocated for claim in claims):
        return None
    for claim in claims:
        for result, conditions in _devices(claim):
            true = {name for name, condition in conditions.items() if condition.status == "True"}
            unset = tuple(name for name in result.binding_conditions if name not in true)
            if unset:
                assert claim.claim is not None
                assert claim.claim.status.allocation is not None
                since = claim.claim.status.allocation.allocation_timestamp or ""
                return BindingWait(claim, result.request, _device(result), unset, since)
    return None


def without_allocation(claim: Raw) -> Raw:
    """A claim as it is after the scheduler has taken its allocation back."""
    status = {
        k: v
        for k, v in claim["status"].items()
        if k not in ("allocation", "reservedFor", "devices")
    }
    return {**claim, "status": status}


def _devices(
    claim: PodClaim,
) -> Iterator[tuple[DeviceRequestAllocationResult, dict[str, Condition]]]:
    """The results of an allocation, each with the conditions that its driver has set."""
    if claim.claim is None or claim.claim.status.allocation is None:
        return
    reported = claim.claim.status.devices
    for result in claim.claim.status.allocation.devices.results:
        identity = (result.driver, result.pool, result.device, result.share_id)
        status = next(
            (d for d in reported if (d.driver, d.pool, d.device, d.share_id) == identity), None
        )
        yield result, {c.type: c for c in status.conditions} if status is not None else {}


def _device(result: DeviceRequestAllocationResult) -> DeviceID:
    return DeviceID(result.driver, result.pool, result.device)
