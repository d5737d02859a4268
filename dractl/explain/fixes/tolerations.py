"""Tolerations that are worth offering: for one taint as it is, with key, value and effect.

The device taint eviction controller ends a pod whose device has a NoExecute taint unless a toleration names that effect
(kubernetes pkg/controller/devicetainteviction); the scheduler asks less. Taints by which a driver reports a broken
device are tolerated by nobody who wants to use it.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from dractl.allocation import Allocated, DeviceID, Verdict
from dractl.model import DeviceTaint, ResourceSlice
from dractl.model.nearest import nearest

# What drivers taint broken devices with: gpu.nvidia.com/xid and gpu.nvidia.com/gpu-lost (k8s-dra-driver-gpu
# cmd/gpu-kubelet-plugin/device_health.go), HealthIssues-* (intel-resource-drivers-for-kubernetes pkg/gpu/device),
# gpu.amd.com/memory-partition-conflict (k8s-gpu-dra-driver), and words that others use for the same.
_DAMAGE_WORDS = re.compile(
    r"(^|[/._-])(xid|gpu-lost|lost|fallen-off|unhealthy|healthissues|health|degraded|failed|failing|failure|broken"
    r"|faulty|ecc|memory-partition-conflict)([._-]|$)",
    re.IGNORECASE,
)
_EVICTING_EFFECT = "NoExecute"


def narrowest_toleration(key: str, value: str, effect: str) -> dict[str, str]:
    """The narrowest toleration of a taint."""
    exact = {"operator": "Equal", "value": value} if value else {"operator": "Exists"}
    return {"key": key, **exact, **({"effect": effect} if effect else {})}


def parse(taint: str) -> tuple[str, str, str]:
    """``key=value:Effect`` or ``key:Effect`` as key, value and effect."""
    name, _, effect = taint.rpartition(":")
    key, _, value = name.partition("=")
    return key, value, effect


def reports_damage(key: str, value: str) -> bool:
    return bool(_DAMAGE_WORDS.search(key) or _DAMAGE_WORDS.search(value))


def evicting_taints(slices: Iterable[ResourceSlice]) -> dict[DeviceID, tuple[DeviceTaint, ...]]:
    """The devices with a taint that evicts pods, and those taints."""
    found: dict[DeviceID, tuple[DeviceTaint, ...]] = {}
    tainted = [
        (item.spec, device)
        for item in slices
        for device in item.spec.devices
        if device.mapping.get("taints")
    ]
    for spec, device in tainted:
        taints = tuple(taint for taint in device.taints if taint.effect == _EVICTING_EFFECT)
        if taints:
            found[DeviceID(spec.driver, spec.pool.name, device.name)] = taints
    return found


def find_evicting_taint(
    outcome: Verdict | None, taints: Mapping[DeviceID, tuple[DeviceTaint, ...]]
) -> DeviceTaint | None:
    """The taint of :func:`evicting` for which the pod would be evicted right after it is scheduled, if any."""
    for result in outcome.results if taints and isinstance(outcome, Allocated) else ():
        for given in result.devices.results:
            for taint in taints.get(DeviceID(given.driver, given.pool, given.device), ()):
                if not is_tolerated(given.tolerations, taint):
                    return taint
    return None


def is_tolerated(tolerations: Iterable[Any], taint: DeviceTaint) -> bool:
    return any(_tolerates_forever(tolerated, taint) for tolerated in tolerations)


def eviction_delay(tolerations: Iterable[Any], taint: DeviceTaint) -> int | None:
    """The seconds after which a taint that pods do not survive ends them; None if no toleration names its effect
    (device_taint_eviction.go claimEvictionTime)."""
    limits = [
        t.toleration_seconds
        for t in tolerations
        if _tolerates(t, taint) and t.toleration_seconds is not None
    ]
    return max(0, min(limits)) if limits else None


def _tolerates_forever(tolerated: Any, taint: DeviceTaint) -> bool:
    """True if a toleration names the effect, the taint, and no limit of time."""
    return tolerated.toleration_seconds is None and _tolerates(tolerated, taint)


def _tolerates(tolerated: Any, taint: DeviceTaint) -> bool:
    """True if a toleration names the effect and the taint."""
    if tolerated.effect != _EVICTING_EFFECT:
        return False
    if tolerated.operator == "Exists":
        return tolerated.key in (None, "", taint.key)
    return tolerated.key == taint.key and (tolerated.value or "") == taint.value


def toleration_for(taint: Mapping[str, Any]) -> dict[str, str]:
    """The narrowest toleration of a node's taint."""
    return narrowest_toleration(
        str(taint.get("key") or ""), str(taint.get("value") or ""), str(taint.get("effect") or "")
    )


def format_taint(taint: Mapping[str, Any]) -> str:
    """A taint as kubectl writes it: ``key=value:Effect``."""
    value = str(taint.get("value") or "")
    return f"{taint.get('key')}{'=' + value if value else ''}:{taint.get('effect')}"


def is_near_miss(written: Mapping[str, Any], key: str, value: str) -> bool:
    """True if a toleration was meant for a taint: its key or its value differs by case or a letter."""
    named, meant = str(written.get("key") or ""), str(written.get("value") or "")
    if not named or (named != key and nearest(named, [key], 0.9) is None):
        return False
    if written.get("operator") == "Exists":
        return named != key
    near = meant == value or (bool(meant) and nearest(meant, [value], 0.8) is not None)
    return near and (named, meant) != (key, value)


def correct_toleration(written: Mapping[str, Any], tolerated: Mapping[str, str]) -> dict[str, Any]:
    """A toleration that was meant for a taint, made to tolerate it as ``tolerated`` does."""
    if written.get("operator") == "Exists":
        return {
            **written,
            "key": tolerated["key"],
            **({"effect": tolerated["effect"]} if "effect" in written else {}),
        }
    return {**written, **tolerated}
