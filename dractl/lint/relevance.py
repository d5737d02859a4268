"""Finds the documents that concern DRA; everything else is skipped silently."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from dractl.manifests.documents import Path
from dractl.objects import items
from dractl.validation.kueue import device_class_mappings, has_mappings
from dractl.validation.roles import ROLES, concerns_drivers

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
PER_CLASS = f".deviceclass.{GROUP}/devices"
"""The suffix after a class's name in the resource by which a ResourceQuota limits its devices."""


def group(value: dict[str, Any]) -> str:
    """Return the API group of a document; empty for the core group."""
    api_version = value.get("apiVersion")
    return api_version.rpartition("/")[0] if isinstance(api_version, str) else ""


Concern = Literal["claims", "resources"]
"""The reason why a document matters: because of claims, or only because of a pod's extended
resources.
"""


def concern(value: dict[str, Any]) -> Concern | None:
    """Return the reason why a document matters to DRA; None if it does not.

    ``claims``: it is of the group or of its kinds, contains a pod that uses claims, limits claims
    or the devices of a class by a quota, or is a driver's role. ``resources``: it holds a pod that
    asks for extended resources, behind which a DeviceClass may stand. Another project may also have
    a kind ``DeviceClass``; validation distinguishes it from a misspelt group.
    """
    if _is_fixture(value):
        return None
    if group(value) == GROUP or value.get("kind") in KINDS:
        return "claims"
    if (
        not value.get("kind")
        and not value.get("apiVersion")
        and not any(map(_is_misspelt_type, value))
    ):
        spec = value.get("spec")  # without a kind, only claims and slices can be recognized
        return (
            "claims"
            if "metadata" in value and isinstance(spec, dict) and "devices" in spec
            else None
        )
    if has_mappings(value) or (value.get("kind") in ROLES and concerns_drivers(value)):
        return "claims"
    reasons = {_mentions(value.get(part), 0) for part in ("spec", "template")}
    if "claims" in reasons:
        return "claims"
    return "resources" if "resources" in reasons else None


def resources_in_mappings(value: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield the resources under which Kueue's configuration counts devices, with their paths."""
    for path, entry in device_class_mappings(value):
        if isinstance(name := entry.get("name"), str):
            yield (*path, "name"), name


def class_mappings(value: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield the names of device classes in the configuration of Kueue, with their paths."""
    for path, entry in device_class_mappings(value):
        for number, name in enumerate(items(entry.get("deviceClassNames"))):
            if isinstance(name, str):
                yield (*path, "deviceClassNames", number), name


def _is_fixture(value: dict[str, Any]) -> bool:
    """Return True for an object made by Kubernetes' round-trip tests, whose every field contains
    its own name (k8s.io/apimachinery/pkg/api/apitesting/roundtrip/compatibility.go).
    """
    metadata = value.get("metadata")
    return (
        isinstance(metadata, dict)
        and metadata.get("name") == "nameValue"
        and metadata.get("generateName") == "generateNameValue"
    )


def _is_misspelt_type(key: Any) -> bool:
    return (
        isinstance(key, str)
        and key not in ("apiVersion", "kind")
        and key.lower() in ("apiversion", "kind")
    )


def _mentions(value: Any, depth: int) -> Concern | None:
    inside: Iterable[Any] = ()
    extended = False
    if isinstance(value, list):
        inside = value
    elif isinstance(value, dict):
        for key, item in value.items():
            lower = key.lower() if isinstance(key, str) else ""
            if "resourceclaim" in lower or lower.endswith(PER_CLASS):
                return "claims"
            if lower == "resources" and isinstance(item, dict):
                if "claims" in item:
                    return "claims"
                extended = extended or _names_extended_resources(item)
        inside = value.values()
    for item in inside if depth < _MAX_DEPTH else ():
        reason = _mentions(item, depth + 1) if isinstance(item, dict | list) else None
        if reason == "claims":
            return reason
        extended = extended or reason is not None
    return "resources" if extended else None


def _names_extended_resources(resources: dict[str, Any]) -> bool:
    """Return True if requests or limits name a resource with a domain."""
    lists = [resources.get("requests"), resources.get("limits")]
    return any(
        isinstance(part, dict) and any(isinstance(k, str) and "/" in k for k in part)
        for part in lists
    )
