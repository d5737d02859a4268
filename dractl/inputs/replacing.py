"""The replacements of kustomizations that copy one field into others (kubernetes-sigs/kustomize
api/filters/replacement/replacement.go).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dractl.inputs.patching import NeedsProgram, selects
from dractl.model.paths import at
from dractl.objects import items, mapping

_SOURCE = frozenset({"group", "version", "kind", "name", "namespace", "fieldPath"})
_TARGET = frozenset({"select", "reject", "fieldPaths", "options"})
_FIELD = re.compile(r"[A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*)*")


def replace_fields(objects: Sequence[dict[str, Any]], row: Any) -> list[dict[str, Any]]:
    """Return objects after one replacement. Raises NeedsProgram if it uses fields that only
    kustomize handles.
    """
    source = mapping(mapping(row).get("source"))
    targets = items(mapping(row).get("targets"))
    if not source or set(mapping(row)) != {"source", "targets"} or set(source) - _SOURCE:
        raise NeedsProgram("a replacement needs kustomize")
    selector = {name: re.escape(str(text)) for name, text in source.items() if name != "fieldPath"}
    holders = [value for value in objects if selects(selector, value)]
    field = str(source.get("fieldPath") or "metadata.name")
    text = at(holders[0], *_split(field)) if len(holders) == 1 else None
    if not isinstance(text, str):
        kind = source.get("kind") or "object"
        raise NeedsProgram(f"a replacement needs one {kind} with a string at {field}")
    made = list(objects)
    for target in targets:
        made = [_replace_in(value, mapping(target), text) for value in made]
    return made


def _replace_in(value: dict[str, Any], target: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return an object after one target of a replacement."""
    options = mapping(target.get("options"))
    if set(target) - _TARGET or set(options) - {"create"}:
        raise NeedsProgram("a replacement needs kustomize")
    rejected = any(selects(mapping(row), value) for row in items(target.get("reject")))
    if rejected or not selects(mapping(target.get("select")), value):
        return value
    for field in items(target.get("fieldPaths")) or ["metadata.name"]:
        steps = _split(str(field))
        if options.get("create") is not True and at(value, *steps) is None:
            raise NeedsProgram(f"a replacement sets the field {field}, which a target lacks")
        value = _put(value, steps, text)
    return value


def _split(field: str) -> list[str]:
    if _FIELD.fullmatch(field) is None:
        raise NeedsProgram(f"a replacement of {field} needs kustomize")
    return field.split(".")


def _put(value: Any, steps: Sequence[str], text: str) -> dict[str, Any]:
    step, *below = steps
    node = value if isinstance(value, dict) else {}
    return {**node, step: _put(node.get(step), below, text) if below else text}
