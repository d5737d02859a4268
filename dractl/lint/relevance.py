"""Which documents concern DRA; everything else passes without a word."""

from __future__ import annotations

from typing import Any

GROUP = "resource.k8s.io"
KINDS = (
    "ResourceClaim",
    "ResourceClaimTemplate",
    "DeviceClass",
    "ResourceSlice",
    "DeviceTaintRule",
    "ResourcePoolStatusRequest",
)
_MAX_DEPTH = 64
_QUOTA = f".deviceclass.{GROUP}/devices"  # what a ResourceQuota calls the devices of a class


def group(value: dict[str, Any]) -> str:
    """The API group of a document; empty for the core group."""
    api_version = value.get("apiVersion")
    return api_version.rpartition("/")[0] if isinstance(api_version, str) else ""


def is_relevant(value: dict[str, Any]) -> bool:
    """Whether a document is of the group or of its kinds, holds a pod that uses claims or extended resources, or
    is a quota of claims or their devices.

    Another project may have a kind ``DeviceClass`` of its own: the validation tells it from a misspelt group.
    """
    if group(value) == GROUP or value.get("kind") in KINDS:
        return True
    spec = value.get("spec")
    if not value.get("kind") and not value.get("apiVersion") and "metadata" in value and isinstance(spec, dict):
        return "devices" in spec  # a claim or a slice that says nothing of itself
    return any(_mentions(value.get(part), 0) for part in ("spec", "template"))


def _mentions(value: Any, depth: int) -> bool:
    if isinstance(value, list):
        return depth < _MAX_DEPTH and any(_mentions(item, depth + 1) for item in value)
    if not isinstance(value, dict):
        return False
    for key, item in value.items():
        lower = key.lower() if isinstance(key, str) else ""
        if "resourceclaim" in lower or lower.endswith(_QUOTA):
            return True
        if lower == "resources" and isinstance(item, dict) and ("claims" in item or _extended(item)):
            return True
        if depth < _MAX_DEPTH and _mentions(item, depth + 1):
            return True
    return False


def _extended(resources: dict[str, Any]) -> bool:
    """Whether requests or limits name a resource with a domain: a DeviceClass may stand behind it."""
    named = [resources.get("requests"), resources.get("limits")]
    return any(isinstance(part, dict) and any(isinstance(k, str) and "/" in k for k in part) for part in named)
