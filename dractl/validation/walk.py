"""Decodes a document as the API server's strict decoder does, with its messages.

It follows ``sigs.k8s.io/json`` (a fork of Go's ``encoding/json``: ``decode.go``) and
``k8s.io/apimachinery/pkg/runtime/serializer/json``. Required fields and formats are not checked
here.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from dractl.model.nearest import nearest
from dractl.validation.moved import MOVED, UNWRAPPED
from dractl.validation.scalars import (
    ANYTHING,
    BOOL,
    INT32,
    INT32_OR_STRING,
    INT64,
    json_type,
    number,
)
from dractl.validation.shapes import List, Map, Mismatch, Record, Scalar, Shape
from dractl.validation.violation import Path, Violation, dot_path


def walk(value: Any, shape: Record) -> list[Mismatch]:
    """Return the misfits of a document against ``shape``, in the order of the document."""
    misfits: list[Mismatch] = []
    shape.walk(value, [], misfits)
    return misfits


def wrong_type(root: Record, misfit: Mismatch) -> Violation:
    """Return the violation for a value of the wrong type; ``detail`` is the decoder's
    own sentence.
    """
    shape, path = misfit.shape, misfit.path
    place = dot_path(path)
    sentence = misfit.text or _cannot_unmarshal(root, misfit)
    message = (
        f"{place or 'the document'} must be {_describe_shape(shape)}, not"
        f" {_describe_value(misfit.value)}"
    )
    if shape.plain is str and isinstance(misfit.value, bool | int | float):
        message += "; put it in quotes"
    elif misfit.text and not misfit.text.startswith("json: "):
        message += f": {misfit.text}"
    meant = _guess_value(misfit.value, shape)
    return Violation(
        "wrong-type",
        "BadRequest",
        place or None,
        path,
        message,
        detail=f"{message}: {sentence}",
        meant=meant,
    )


def _guess_value(value: Any, shape: Shape) -> Any:
    """Return the value that was probably meant; None if unknown."""
    if isinstance(shape, List) and isinstance(value, dict):
        return _list_by_name(value, shape.item) or [value]
    if isinstance(shape, List) and type(value) is shape.item.plain:
        return [value]
    if (
        isinstance(shape, Record)
        and isinstance(value, list)
        and len(value) == 1
        and isinstance(value[0], dict)
    ):
        return value[0]
    if (
        isinstance(shape, Record)
        and shape.go.endswith(".CELDeviceSelector")
        and isinstance(value, str)
    ):
        return {"expression": value}
    if isinstance(shape, Record) and shape.go == "v1.ResourceClaim" and isinstance(value, str):
        return {"name": value}  # the entry of a container for a claim
    if (
        isinstance(shape, Record)
        and shape.go.endswith(".DeviceCapacity")
        and isinstance(value, str | int | float)
    ):
        return {"value": value}  # v1alpha3 has the quantity in place of the map
    if shape in (INT32, INT64) and isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,9}", value):
        return int(value)
    if shape is BOOL and value in ("true", "false"):
        return value == "true"
    if (
        shape.plain is str
        and shape is not INT32_OR_STRING
        and isinstance(value, bool | int | float)
    ):
        return number(value) if not isinstance(value, bool) else str(value).lower()
    return None


def _list_by_name(value: dict[str, Any], item: Shape) -> list[Any] | None:
    """Return the list for a map of objects keyed by their names."""
    if not value or not isinstance(item, Record) or "name" not in item.names:
        return None
    if not all(
        isinstance(fields, dict) and name not in item.names for name, fields in value.items()
    ):
        return None
    return [{"name": name, **fields} for name, fields in value.items()]


def has_field(root: Record, path: Path) -> bool:
    """Return True if the last step of a path is a field of its struct."""
    last = next(reversed(list(_holders(root, path))), None)
    return (
        last is not None
        and isinstance(last[0], Record)
        and len(path) > 0
        and last[1] == path[-1] in last[0].names
    )


def unknown_field(root: Record, misfit: Mismatch, known_when: str | None = None) -> Violation:
    """Return the violation for an unknown field, with the probable name or place.

    ``known_when`` names the other releases that have the field.
    """
    path, struct = misfit.path, misfit.shape
    assert isinstance(struct, Record)
    place, name = dot_path(path), str(path[-1])
    allowed = tuple(sorted(struct.names))
    fitting = [other for other in allowed if _may_hold(struct.field(other), misfit.value)]
    meant: str | None = None
    moved_to: Path | None = None
    message = f'unknown field "{place}"'
    habit = (struct.go.partition(".")[2], name)
    history = [text for text in (known_when, MOVED.get(habit)) if text]
    if history:
        message += f": {'; '.join(history)}"
        moved_to = path[:-1] if habit in UNWRAPPED else None
    elif elsewhere := _find_field(root, path, name):
        meant, moved_to = dot_path(elsewhere), elsewhere
        message += f": {name} belongs at {meant}"
    elif near := nearest(name, fitting):
        meant, moved_to = near, (*path[:-1], near)
        message += f": did you mean {meant}?"
    elif below := _nearest_below(struct, name, misfit.value):
        meant, moved_to = dot_path(below), (*path[:-1], *below)
        message += f": did you mean {meant}?"
    else:
        message += f": allowed fields are {', '.join(allowed)}"
    return Violation(
        "unknown-field",
        "BadRequest",
        place,
        path,
        message,
        key=True,
        allowed=allowed,
        nearest=meant,
        moved_to=moved_to,
    )


def _cannot_unmarshal(root: Record, misfit: Mismatch) -> str:
    """Return the sentence of encoding/json, such as ``json: cannot unmarshal string into Go struct
    field ...``.
    """
    struct, fields = root, []
    for holder, step in _holders(root, misfit.path):
        if isinstance(holder, Record):
            struct = holder
            fields += [*holder.go_embedding(str(step)), str(step)]
    json_kind = json_type(misfit.value)
    if json_kind == "number" and misfit.shape in (INT32, INT64, INT32_OR_STRING):
        json_kind += f" {number(misfit.value)}"
    into = f"struct field {struct.go.partition('.')[2]}.{'.'.join(fields)}" if fields else "value"
    return f"json: cannot unmarshal {json_kind} into Go {into} of type {misfit.shape.go}"


def _holders(root: Record, path: Path) -> Iterator[tuple[Shape, str | int]]:
    """Yield the steps of a path, each with the type in which it starts."""
    shape: Shape | None = root
    for step in path:
        if shape is None:
            return
        yield shape, step
        if isinstance(shape, Record):
            shape = shape.field(str(step))
        else:
            shape = shape.item if isinstance(shape, List | Map) else None


def _find_field(root: Record, path: Path, name: str) -> Path | None:
    """Return the path of a known field with this name; None if there is none. The search begins in
    the innermost struct of the path and the structs inside it, and continues with the outer ones.
    """
    for depth, (holder, _) in reversed(list(enumerate(_holders(root, path)))):
        at = path[:depth]
        below = _field_below(holder, name) if isinstance(holder, Record) else None
        if below and (*at, *below) != path:
            return (*at, *below)
    return None


def _field_below(struct: Record, name: str) -> Path | None:
    """Return the path of the field in this struct, or in a struct one or two fields below it (not
    through lists or maps).
    """
    level: list[tuple[Path, Record]] = [((), struct)]
    for _ in range(3):
        for path, this in level:
            if name in this.names:
                return (*path, name)
        level = [
            ((*path, field), inner)
            for path, this in level
            for field in this.names
            if field not in ("metadata", "status")
            and isinstance(inner := this.field(field), Record)
        ]
    return None


def _nearest_below(struct: Record, name: str, value: Any) -> Path | None:
    """Return the path of the most similar name in a struct one field below: ``deviceclassname`` ->
    ``exactly.deviceClassName``.
    """
    for field in struct.names:
        inner = struct.field(field)
        if isinstance(inner, Record) and field not in ("metadata", "status"):
            fitting = [other for other in inner.names if _may_hold(inner.field(other), value)]
            if close := nearest(name, fitting):
                return (field, close)
    return None


def _may_hold(shape: "Shape | None", value: Any) -> bool:
    """Return False if a value cannot be intended for a field, such as a map for a quantity."""
    if shape is None or value is None or shape is ANYTHING:
        return True
    if isinstance(value, dict | list):
        return not isinstance(shape, Scalar)
    return isinstance(shape, Scalar) or _guess_value(value, shape) is not None


def is_former(misfit: Mismatch) -> bool:
    """Return True if an unknown field was once part of the API, or belongs elsewhere in it by
    :data:`MOVED`.
    """
    assert isinstance(misfit.shape, Record)
    return (misfit.shape.go.partition(".")[2], str(misfit.path[-1])) in MOVED


def _describe_shape(shape: Shape) -> str:
    if isinstance(shape, List):
        return "a list"
    if isinstance(shape, Map | Record):
        return "a map"
    names = {
        "bool": "a boolean",
        "int32": "an integer",
        "int64": "an integer",
        "resource.Quantity": "a quantity",
    }
    if shape is INT32_OR_STRING:
        return "an integer or a string"
    return names.get(
        shape.go, "a string" if shape.plain is str else "a time such as 2026-01-02T15:04:05Z"
    )


def _describe_value(value: Any) -> str:
    match value:
        case bool():
            return f"the boolean {str(value).lower()}"
        case int() | float():
            return f"the number {number(value)}"
        case str():
            short = value if len(value) <= 60 else value[:57] + "..."
            return f"the string {json.dumps(short, ensure_ascii=False)}"
        case list():
            return "a list"
        case _:
            return "a map"
