"""The API's fields at a place: their types, and the feature gates that they need."""

from __future__ import annotations

from dractl.editing.entries import Path
from dractl.editing.places import Outline
from dractl.model import Target
from dractl.model.releases import FIELDS, SpecField
from dractl.validation.schemas import descriptions, schemas_of
from dractl.validation.shapes import List, Map, Record, Shape

_SPECS = {
    "ResourceClaim": ("claim", ("spec",)),
    "ResourceClaimTemplate": ("claim", ("spec", "spec")),
    "DeviceClass": ("class", ("spec",)),
    "ResourceSlice": ("slice", ("spec",)),
}


def shape_at(outline: Outline, path: Path, target: Target) -> Shape | None:
    """Return the type of the value at a path, according to the document's apiVersion and kind; None
    if it is not known.
    """
    api_version, kind = outline.value("apiVersion"), outline.value("kind")
    if api_version is None or kind is None:
        return None
    shape: Shape | None = schemas_of(target.release).kind(api_version, kind)
    for step in path:
        if isinstance(shape, Record) and isinstance(step, str):
            shape = shape.field(step)
        elif (isinstance(shape, List) and isinstance(step, int)) or (
            isinstance(shape, Map) and isinstance(step, str)
        ):
            shape = shape.item
        else:
            return None
    return shape


def describe_field(outline: Outline, path: Path, target: Target) -> str | None:
    """Return a field as Markdown: its type and struct, the API's own description, the release that
    introduced it and the gates that it needs.
    """
    shape, holder = shape_at(outline, path, target), shape_at(outline, path[:-1], target)
    if shape is None:
        return None
    owner = f" of {holder.go.rpartition('.')[2]}" if isinstance(holder, Record) else ""
    lines = [f"**{path[-1]}**: `{shape.go}`{owner}"]
    if isinstance(holder, Record):
        lines += _describe_by_api(outline, holder, str(path[-1]))
    if isinstance(shape, Record):
        lines.append(f"fields: {', '.join(shape.names)}")
    row = _row(outline, path)
    if row is not None:
        lines.append(f"since Kubernetes {row.since}")
        lines += [
            f"needs the feature gate {gate}, which is {'on' if gate in target.gates else 'off'} in"
            f" {target.release}"
            for gate in row.gates
        ]
    return "\n\n".join(lines)


def _describe_by_api(outline: Outline, holder: Record, field: str) -> list[str]:
    """Return the API's description of a field of a struct, in a list that is empty without one."""
    group, _, _ = (outline.value("apiVersion") or "").rpartition("/")
    name = f"{holder.go.rpartition('.')[2]}.{field}"
    # ResourceClaim is the name of two structs: one of the group, and one of core for containers
    groups = dict.fromkeys((group or "core", *descriptions()))
    texts = (descriptions().get(group, {}).get(name) for group in groups)
    return [text for text in texts if text is not None][:1]


def _row(outline: Outline, path: Path) -> SpecField | None:
    spec, prefix = _SPECS.get(outline.value("kind") or "", ("", ()))
    if not spec or path[: len(prefix)] != prefix:
        return None
    written = "".join(
        "[]" if isinstance(step, int) else f".{step}" for step in path[len(prefix) :]
    ).lstrip(".")
    return next(
        (row for row in FIELDS if row.spec == spec and row.path.replace("{}.", ".") == written),
        None,
    )
