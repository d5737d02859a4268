"""Device taints that end pods: which of them are tolerated, and for how long.

The scheduler accepts more tolerations than the device taint eviction controller does: only a
toleration that names the effect NoExecute keeps a pod from being evicted (kubernetes
pkg/controller/devicetainteviction/device_taint_eviction.go claimEvictionTime).
"""

from collections.abc import Iterable, Mapping

from dractl.allocation.state import DeviceID
from dractl.allocation.taints import tolerates
from dractl.model import DeviceRequestAllocationResult, DeviceTaint, DeviceToleration, ResourceSlice

EVICTING_EFFECT = "NoExecute"


def list_evicting_taints(
    slices: Iterable[ResourceSlice],
) -> dict[DeviceID, tuple[DeviceTaint, ...]]:
    """Return the taints that evict pods, by device."""
    taints_by_device: dict[DeviceID, tuple[DeviceTaint, ...]] = {}
    for resource_slice in slices:
        spec = resource_slice.spec
        for device in spec.devices:
            if not device.mapping.get("taints"):  # decoding the devices of a large cluster is slow
                continue
            taints = tuple(taint for taint in device.taints if taint.effect == EVICTING_EFFECT)
            if taints:
                device_id = DeviceID(spec.driver, spec.pool.name, device.name)
                taints_by_device[device_id] = taints
    return taints_by_device


def find_evicting_taint(
    results: Iterable[DeviceRequestAllocationResult],
    taints_by_device: Mapping[DeviceID, tuple[DeviceTaint, ...]],
) -> tuple[DeviceRequestAllocationResult, DeviceTaint] | None:
    """Return the first allocated device with a taint that evicts its pods, and the taint."""
    for result in results:
        device = DeviceID(result.driver, result.pool, result.device)
        for taint in taints_by_device.get(device, ()):
            if not is_tolerated(result.tolerations, taint):
                return result, taint
    return None


def is_tolerated(tolerations: Iterable[DeviceToleration], taint: DeviceTaint) -> bool:
    """Return whether pods with these tolerations keep running in spite of a taint."""
    return any(_tolerates_forever(toleration, taint) for toleration in tolerations)


def eviction_delay(tolerations: Iterable[DeviceToleration], taint: DeviceTaint) -> int | None:
    """Return the number of seconds after which a taint evicts a pod that does not tolerate it
    forever.

    Return None if no toleration covers the taint: it then evicts the pod at once.
    """
    limits = [
        toleration.toleration_seconds
        for toleration in tolerations
        if _tolerates(toleration, taint) and toleration.toleration_seconds is not None
    ]
    return max(0, min(limits)) if limits else None


def _tolerates_forever(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """Return whether a toleration names the effect, the taint, and no limit of time."""
    return toleration.toleration_seconds is None and _tolerates(toleration, taint)


def _tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """Return whether a toleration names the effect and the taint."""
    return toleration.effect == EVICTING_EFFECT and tolerates(toleration, taint)
