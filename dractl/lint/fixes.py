"""Edits that mend findings, and their application to files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dractl.lint.advice import Replacement
from dractl.lint.finding import Edit, Fix

if TYPE_CHECKING:
    from dractl.manifests import Document
    from dractl.validation.violation import Violation


def for_violation(document: Document, violation: Violation) -> Fix | None:
    """The nearest right name in place of a wrong one, where there is one."""
    nearest = violation.nearest
    if nearest is None or violation.offset is not None:
        return None
    if violation.key:
        # A field that belongs elsewhere is moved by hand: only a name beside its siblings can be corrected in place.
        if "." in nearest or "[" in nearest or not violation.path:
            return None
        holder = _value(document, violation.path[:-1])
        if isinstance(holder, dict) and nearest in holder:
            return None
        return replacement(document, Replacement(f"rename to {nearest}", violation.path, nearest, key=True))
    if isinstance(_value(document, violation.path), str):
        return replacement(document, Replacement(f"replace by {nearest}", violation.path, nearest))
    return None


def replacement(document: Document, wanted: Replacement) -> Fix:
    """The edit of one scalar or key, quoted as it was."""
    position = document.locate(wanted.path, key=wanted.key)
    if wanted.start is not None and wanted.end is not None:
        first = document.locate(wanted.path, offset=wanted.start)
        last = document.locate(wanted.path, offset=wanted.end - 1)
        position = type(position)(first.file, first.line, first.column, last.end_line, last.end_column)
        return Fix(wanted.title, (Edit(position, wanted.text),), wanted.safe)
    written = document.line(position.line)[position.column - 1 :]
    quote = written[:1] if written[:1] in ("'", '"') else ""
    new = json.dumps(wanted.text) if quote == '"' else f"{quote}{wanted.text}{quote}"
    return Fix(wanted.title, (Edit(position, new),), wanted.safe)


def _value(document: Document, path: tuple[str | int, ...]) -> object:
    value: object = document.value
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value
