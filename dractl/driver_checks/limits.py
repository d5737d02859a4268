"""The limits of every release: a driver is installed on all of them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from dractl.lint.finding import Severity
from dractl.lint.place import Located, from_violation
from dractl.lint.verdict import Flagged
from dractl.manifests import Document
from dractl.model import Target
from dractl.model.releases import PREVIEWS, RELEASES
from dractl.objects import items, mapping
from dractl.validation import Violation, validate
from dractl.validation.violation import Path

_LIMIT_TYPES = frozenset({"FieldValueTooMany", "FieldValueTooLong"})
_QUALIFIED_NAME = "RS-17"
_LISTS = frozenset({"ints", "strings", "bools", "versions"})


def find_exceeded_limits(documents: Iterable[Document], own: Target) -> Iterator[Located]:
    """Yield limits that slices exceed in other releases, and names that a preview refuses."""
    targets = _list_other_releases(own)
    for document in documents:
        part = _keep_what_differs(document.value) if document.kind == "ResourceSlice" else None
        if part is None:
            continue
        releases: dict[tuple[str, Path], list[str]] = {}
        first: dict[tuple[str, Path], tuple[Violation, Target]] = {}
        for target in targets:
            for violation in _list_limits(part, target):
                key = (violation.rule, violation.path)
                releases.setdefault(key, []).append(target.release)
                first.setdefault(key, (violation, target))
        reported = {(one.rule, one.path) for one in _list_limits(part, own)} if first else set()
        for key, (violation, target) in first.items():
            if key not in reported:
                yield _place(document, violation, target, tuple(releases[key]))


def _list_other_releases(own: Target) -> list[Target]:
    """Return the other releases that serve the API by default, and the next one."""
    targets = [Target.of(release) for release in RELEASES if release != own.release]
    return [target for target in targets if target.has("served-by-default")]


def _keep_what_differs(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a slice with what releases judge differently; None if it has nothing of the kind.

    The number of devices depends on taints, counters and lists, and the number of counters on the
    release. Other limits are the same in all releases, and the chosen one has judged them.
    """
    spec = mapping(value.get("spec"))
    devices = [_keep_of_device(mapping(device)) for device in items(spec.get("devices"))]
    if not spec.get("sharedCounters") and all(len(device) == 1 for device in devices):
        return None
    return {**value, "spec": {**spec, "devices": devices}} if devices else dict(value)


def _keep_of_device(device: Mapping[str, Any]) -> dict[str, Any]:
    kept = {"name": device.get("name")}
    kept.update(
        {field: device[field] for field in ("taints", "consumesCounters") if device.get(field)}
    )
    for field in ("attributes", "capacity"):
        names = {
            name: entry
            for name, entry in mapping(device.get(field)).items()
            if name.count("/") > 1 or not _LISTS.isdisjoint(mapping(entry))
        }
        if names:
            kept[field] = names
    return kept


def _list_limits(value: Mapping[str, Any], target: Target) -> list[Violation]:
    """Return the limits that a slice exceeds in a release, and the names that a preview refuses."""
    is_preview = target.release in PREVIEWS
    return [
        violation
        for violation in validate(value, target)
        if violation.type in _LIMIT_TYPES or (is_preview and violation.rule == _QUALIFIED_NAME)
    ]


def _place(
    document: Document, violation: Violation, target: Target, releases: tuple[str, ...]
) -> Located:
    severity: Severity | None = "warning" if set(releases) <= set(PREVIEWS) else None
    placed = from_violation(document, Flagged(violation, severity=severity), target)
    message = f"{placed.finding.message} (Kubernetes {', '.join(releases)})"
    return replace(placed, finding=replace(placed.finding, message=message, releases=releases))
