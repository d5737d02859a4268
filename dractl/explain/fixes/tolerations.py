"""Offer tolerations that are worth it: for one taint as it is, with key, value and effect.

The device taint eviction controller ends a pod whose device has a NoExecute taint unless a
toleration names that effect (kubernetes pkg/controller/devicetainteviction); the scheduler asks
less. Nobody who wants to use a device tolerates the taints by which its driver reports it as
broken.
"""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from dractl.allocation import Allocated, DeviceID, Verdict, is_tolerated
from dractl.model import DeviceTaint
from dractl.model.nearest import nearest

# Words in taints of broken devices: gpu.nvidia.com/xid and gpu.nvidia.com/gpu-lost
# (k8s-dra-driver-gpu cmd/gpu-kubelet-plugin/device_health.go), HealthIssues-*
# (intel-resource-drivers-for-kubernetes pkg/gpu/device), gpu.amd.com/memory-partition-conflict
# (k8s-gpu-dra-driver), and synonyms of other drivers.
_DAMAGE_WORDS = re.compile(
    r"(^|[/._-])(xid|gpu-lost|lost|fallen-off|unhealthy|healthissues|health|degraded"
    r"|failed|failing|failure|broken|faulty|ecc|memory-partition-conflict)([._-]|$)",
    re.IGNORECASE,
)


def narrowest_toleration(key: str, value: str, effect: str) -> dict[str, str]:
    """Return the narrowest toleration of a taint."""
    operator = {"operator": "Equal", "value": value} if value else {"operator": "Exists"}
    return {"key": key, **operator, **({"effect": effect} if effect else {})}


class Taint(Struct, frozen=True):
    """A taint of a device, as reasons name it."""

    key: str
    """The key."""

    value: str
    """The value; empty if the taint has none."""

    effect: str
    """``NoSchedule``, ``NoExecute`` or ``None``."""


def parse_taint(text: str) -> Taint:
    """Parse ``key=value:Effect`` or ``key:Effect``."""
    name, _, effect = text.rpartition(":")
    key, _, value = name.partition("=")
    return Taint(key, value, effect)


def reports_damage(key: str, value: str) -> bool:
    """Return whether a taint says that its device is broken."""
    return bool(_DAMAGE_WORDS.search(key) or _DAMAGE_WORDS.search(value))


def find_evicting_taint(
    outcome: Verdict | None, taints: Mapping[DeviceID, tuple[DeviceTaint, ...]]
) -> DeviceTaint | None:
    """Find the taint that would evict the pod right after it is scheduled.

    ``taints`` are those of :func:`dractl.allocation.list_evicting_taints`.
    """
    for result in outcome.results if taints and isinstance(outcome, Allocated) else ():
        for allocated in result.devices.results:
            for taint in taints.get(
                DeviceID(allocated.driver, allocated.pool, allocated.device), ()
            ):
                if not is_tolerated(allocated.tolerations, taint):
                    return taint
    return None


def toleration_for(taint: Mapping[str, Any]) -> dict[str, str]:
    """Return the narrowest toleration of a node's taint."""
    return narrowest_toleration(
        str(taint.get("key") or ""), str(taint.get("value") or ""), str(taint.get("effect") or "")
    )


def format_taint(taint: Mapping[str, Any]) -> str:
    """Format a taint as kubectl does: ``key=value:Effect``."""
    value = str(taint.get("value") or "")
    return f"{taint.get('key')}{'=' + value if value else ''}:{taint.get('effect')}"


def is_near_miss(toleration: Mapping[str, Any], key: str, value: str) -> bool:
    """Return whether a toleration was meant for a taint: key or value differ by case or a
    letter.
    """
    toleration_key, toleration_value = (
        str(toleration.get("key") or ""),
        str(toleration.get("value") or ""),
    )
    if not toleration_key or (
        toleration_key != key and nearest(toleration_key, [key], 0.9) is None
    ):
        return False
    if toleration.get("operator") == "Exists":
        return toleration_key != key
    is_near = toleration_value == value or (
        bool(toleration_value) and nearest(toleration_value, [value], 0.8) is not None
    )
    return is_near and (toleration_key, toleration_value) != (key, value)


def correct_toleration(
    toleration: Mapping[str, Any], narrowest: Mapping[str, str]
) -> dict[str, Any]:
    """Return a toleration that was meant for a taint, corrected after ``narrowest``."""
    if toleration.get("operator") == "Exists":
        return {
            **toleration,
            "key": narrowest["key"],
            **({"effect": narrowest["effect"]} if "effect" in toleration else {}),
        }
    return {**toleration, **narrowest}
