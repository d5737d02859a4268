"""The verdict of an API server of one release on one document."""

from collections.abc import Collection, Iterator, Mapping
from hashlib import blake2b
from typing import Any

from msgspec.structs import replace

from dractl.manifests import DoubledKey
from dractl.model import to_v1
from dractl.model.paths import at
from dractl.model.releases import Target, served_versions
from dractl.objects import encode_json
from dractl.objects.defaults import set_defaults_of_converted
from dractl.validation import rules
from dractl.validation.conversion import source_path
from dractl.validation.decoding import decode, identify
from dractl.validation.drop import Dropped, drop
from dractl.validation.older import check_basic
from dractl.validation.place import Place
from dractl.validation.previews import doubt_names, is_decided, is_doubt, remove_doubts
from dractl.validation.status import claim_status
from dractl.validation.violation import Violation, dot_path

_PARTS: dict[str, tuple[str, ...]] = {
    "ResourceClaim": ("spec",),
    "ResourceClaimTemplate": ("spec", "spec"),
    "DeviceClass": ("spec",),
}
"""The path of the part that many objects have in common, by kind: the spec of a claim, also inside
a template, and the spec of a class.
"""

_Part = tuple[str, bool, bytes]
"""The cache key of a part: the version, True for a class, and the digest of the content."""
_FAULTLESS_PARTS: set[tuple[_Part, Target]] = set()
_MAX_FAULTLESS_PARTS = 10_000
"""The maximum number of parts without violations that are remembered for a release."""


def validate(
    value: Mapping[str, Any],
    target: Target,
    *,
    namespaces: Mapping[str, Mapping[str, str]] | None = None,
    faults: Collection[DoubledKey] = (),
) -> list[Violation]:
    """Return the violations that the API server of ``target`` reports when a document is created,
    in the server's order of steps.

    The document must be served in this version, decode strictly, and pass validation after
    defaulting, conversion and the dropping of disabled fields; a step that fails hides the later
    ones. Violations that the server does not report have a ``type`` of None: dropped fields, a
    version that is served only on demand, the status of a claim, and names that are unknown in a
    preview.

    ``namespaces``: the labels of known namespaces. ``faults``: findings from loading the document
    that matter to strict decoding. A custom resource has no violations.
    """
    part = _part(value)
    if part is not None and (part, target) in _FAULTLESS_PARTS:
        return _check_around_part(value, target, faults)
    violations = _violations(value, target, namespaces or {}, faults)
    if part is not None and not violations and len(_FAULTLESS_PARTS) < _MAX_FAULTLESS_PARTS:
        _FAULTLESS_PARTS.add((part, target))
    return violations


def _part(value: Mapping[str, Any]) -> _Part | None:
    """Return the cache key of a part. Return None if the verdict also depends on the namespace or
    the status, and for a part with parameters of drivers, which may have any size and depth.
    """
    kind = str(value.get("kind"))
    part = at(value, *_PARTS[kind]) if kind in _PARTS and "status" not in value else None
    devices = part if kind == "DeviceClass" else at(part, "devices")
    if (
        not isinstance(devices, dict)
        or "config" in devices
        or b"adminAccess" in (encoded := encode_json(part))
    ):
        return None
    return (
        str(value.get("apiVersion")),
        kind == "DeviceClass",
        blake2b(encoded, digest_size=16).digest(),
    )


def _check_around_part(
    value: Mapping[str, Any], target: Target, faults: Collection[DoubledKey]
) -> list[Violation]:
    """Return the violations in a document whose cached part has none: violations in its metadata,
    and unknown fields.
    """
    shape = identify(value, target)
    if isinstance(shape, list):  # a custom resource
        return shape
    remainder = _empty_part(value, _PARTS[value["kind"]])
    undecodable = decode(remainder, shape, target, faults)
    if not all(map(is_doubt, undecodable)):
        return undecodable
    return undecodable + list(rules.metadata(remainder, target))


def _empty_part(value: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """Return ``value`` with an empty part at ``path``."""
    return {**value, path[0]: _empty_part(value[path[0]], path[1:]) if path[1:] else {}}


def _violations(
    value: Mapping[str, Any],
    target: Target,
    namespaces: Mapping[str, Mapping[str, str]],
    faults: Collection[DoubledKey],
) -> list[Violation]:
    shape = identify(value, target)
    if isinstance(shape, list):
        return shape
    violations = _on_demand(value["apiVersion"], value["kind"], target)
    doubts = decode(value, shape, target, faults)
    if not all(map(is_doubt, doubts)):
        return violations + doubts

    whole = remove_doubts(value, doubts)
    stored, lost = drop(set_defaults_of_converted(to_v1(whole), whole["apiVersion"]), target)
    violations += [_note_dropped_field(item, whole, target) for item in lost]
    version = whole["apiVersion"].rpartition("/")[2]
    violations += rules.check(stored, target, namespaces=namespaces, written=version)
    if stored["kind"] == "ResourceClaim" and stored.get("status"):
        violations += _status(stored, target, namespaces)
    violations = [
        replace(violation, path=source_path(violation.path, whole)) for violation in violations
    ]
    named = doubt_names(violations, whole, target)
    violations = doubts + [violation for violation in named if is_decided(violation, doubts)]
    if not target.has("device-without-basic"):
        violations += check_basic(whole)
    return violations


def _on_demand(api_version: str, kind: str, target: Target) -> list[Violation]:
    """Return the violation for a version that is off unless ``--runtime-config`` turns it on, as
    all of DRA is up to 1.33.
    """
    always = served_versions(kind, target.release, by_default=True)
    if (
        not target.has("served-by-default")
        or api_version in always
        or api_version not in served_versions(kind, target.release)
    ):
        return []
    message = (
        f"Kubernetes {target.release} serves {api_version} {kind} only if --runtime-config"
        " enables it"
    )
    if always:
        message += f"; {always[0]} is always served"
    return [
        Violation(
            "served-on-demand", None, "apiVersion", ("apiVersion",), message,
            allowed=always, nearest=always[0] if always else None,
        )
    ]  # fmt: skip


def _status(
    claim: dict[str, Any], target: Target, namespaces: Mapping[str, Mapping[str, str]]
) -> Iterator[Violation]:
    """Yield the violations in the status of a claim. They are no reason to reject the document,
    since the server drops the status at creation.
    """
    root = Place(claim)
    namespace = namespaces.get(root.child("metadata", "namespace").text or "default")
    for violation in claim_status(root, namespace, target):
        yield replace(violation, type=None, message=f"{violation.field}: {violation.message}")


def _note_dropped_field(item: Dropped, source: dict[str, Any], target: Target) -> Violation:
    written = dot_path(source_path(item.paths[0], source))
    more = f" (and at {len(item.paths) - 1} more places)" if len(item.paths) > 1 else ""
    return Violation(
        "dropped-field",
        None,
        dot_path(item.paths[0]),
        item.paths[0],
        f"the API server of {target.release} silently drops {written}{more}: feature gate"
        f" {item.gate} is off",
        key=True,
    )
