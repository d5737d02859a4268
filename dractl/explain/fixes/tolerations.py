"""Offer tolerations of single taints, each with the key, value and effect of the taint.

The device taint eviction controller ends a pod whose device has a NoExecute taint unless a
toleration names that effect (kubernetes pkg/controller/devicetainteviction); the scheduler accepts
a toleration without effect. Taints by which a driver reports a broken device are not tolerated,
since nobody wants to use it.
"""

import re
from collections.abc import Mapping
from typing import Any

from dractl.model import Taint
from dractl.model.nearest import nearest
from dractl.model.paths import text_at

# Words in taints of broken devices: gpu.nvidia.com/xid and gpu.nvidia.com/gpu-lost
# (k8s-dra-driver-gpu cmd/gpu-kubelet-plugin/device_health.go), HealthIssues-*
# (intel-resource-drivers-for-kubernetes pkg/gpu/device), gpu.amd.com/memory-partition-conflict
# (k8s-gpu-dra-driver), and synonyms of other drivers.
_DAMAGE_WORDS = re.compile(
    r"(^|[/._-])(xid|gpu-lost|lost|fallen-off|unhealthy|healthissues|health|degraded"
    r"|failed|failing|failure|broken|faulty|ecc|memory-partition-conflict)([._-]|$)",
    re.IGNORECASE,
)


def narrowest_toleration(taint: Taint) -> dict[str, str]:
    """Return the narrowest toleration of a taint."""
    operator = "Equal" if taint.value else "Exists"
    fields = {"key": taint.key, "operator": operator, "value": taint.value, "effect": taint.effect}
    return {name: value for name, value in fields.items() if value}


def reports_damage(taint: Taint) -> bool:
    """Return whether a taint says that its device is broken."""
    return bool(_DAMAGE_WORDS.search(taint.key) or _DAMAGE_WORDS.search(taint.value))


def is_near_miss(toleration: Mapping[str, Any], taint: Taint) -> bool:
    """Return whether a toleration was meant for a taint: a letter or case differs in its words."""
    key, value = text_at(toleration, "key"), text_at(toleration, "value")
    if not key or (key != taint.key and nearest(key, [taint.key], 0.9) is None):
        return False
    if toleration.get("operator") == "Exists":
        return key != taint.key
    is_near = value == taint.value or (bool(value) and nearest(value, [taint.value], 0.8))
    return bool(is_near) and (key, value) != (taint.key, taint.value)


def correct_toleration(toleration: Mapping[str, Any], taint: Taint) -> dict[str, Any]:
    """Return the corrected form of a toleration that was meant for a taint."""
    if toleration.get("operator") != "Exists":
        return {**toleration, **narrowest_toleration(taint)}
    effect = {"effect": taint.effect} if "effect" in toleration else {}
    return {**toleration, "key": taint.key, **effect}


def format_toleration(toleration: Mapping[str, Any]) -> str:
    """Return ``key=value``, or the key where any value is tolerated."""
    return "=".join(filter(None, (text_at(toleration, "key"), text_at(toleration, "value"))))
