"""The limits of every release, since a driver is installed on all of them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.lint.finding import Severity
from dractl.lint.place import Located, from_violation
from dractl.lint.verdict import Flagged
from dractl.manifests import Document
from dractl.model import Target
from dractl.model.releases import PREVIEWS, RELEASES
from dractl.objects import encode_json, items, mapping
from dractl.validation import Violation, validate
from dractl.validation.violation import Path

_LIMIT_TYPES = frozenset({"FieldValueTooMany", "FieldValueTooLong"})
_QUALIFIED_NAME = "RS-17"


class Excess(Struct, frozen=True):
    """A limit that a slice exceeds in some releases."""

    violation: Violation
    target: Target
    """The oldest release with the limit."""
    releases: tuple[str, ...]


def find_exceeded_limits(documents: Iterable[Document], own: Target) -> Iterator[Located]:
    """Yield limits that slices exceed in other releases, and names that a preview refuses."""
    targets = _list_other_releases(own)
    excesses: dict[bytes, list[Excess]] = {}  # slices of equal nodes are equal
    for document in documents:
        part = _keep_what_differs(document.value) if document.kind == "ResourceSlice" else None
        if part is None:
            continue
        spec = part["spec"]
        key = encode_json([spec.get("devices", ()), spec.get("sharedCounters", ())])
        if key not in excesses:
            excesses[key] = _list_excesses(part, own, targets)
        yield from (_place(document, excess) for excess in excesses[key])


def _list_excesses(part: Mapping[str, Any], own: Target, targets: list[Target]) -> list[Excess]:
    """Return the limits that a slice exceeds in other releases only."""
    excesses: dict[tuple[str, Path], Excess] = {}
    for target in targets:
        for violation in _list_limits(part, target):
            key = (violation.rule, violation.path)
            first = excesses.get(key, Excess(violation, target, ()))
            excesses[key] = replace(first, releases=(*first.releases, target.release))
    reported = {(one.rule, one.path) for one in _list_limits(part, own)} if excesses else set()
    return [excess for key, excess in excesses.items() if key not in reported]


def _list_other_releases(own: Target) -> list[Target]:
    """Return the other releases that serve the API by default, and the next one."""
    targets = [Target.of(release) for release in RELEASES if release != own.release]
    return [target for target in targets if target.has("served-by-default")]


def _keep_what_differs(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a slice with only those fields whose limits differ between releases; None if it has no
    such field.

    The maximum number of devices depends on taints and counters, and the maximum number of counters
    on the release. Lists affect the number of devices only with DRAListTypeAttributes, which no
    release enables by default. Other limits are the same in all releases, so the check for the
    chosen release covers them.
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
            name: entry for name, entry in mapping(device.get(field)).items() if name.count("/") > 1
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


def _place(document: Document, excess: Excess) -> Located:
    is_preview = set(excess.releases) <= set(PREVIEWS)
    severity: Severity | None = "warning" if is_preview else None
    placed = from_violation(document, Flagged(excess.violation, severity=severity), excess.target)
    message = f"{placed.finding.message} (Kubernetes {', '.join(excess.releases)})"
    finding = replace(placed.finding, message=message, releases=excess.releases)
    return replace(placed, finding=finding)
