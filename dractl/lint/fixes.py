"""Edits that mend findings, and what a text becomes with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint.advice import Replacement
from dractl.lint.finding import Edit, Fix
from dractl.manifests import Position

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dractl.manifests import Document
    from dractl.validation.violation import Path, Violation


def for_violation(document: Document, violation: Violation) -> Fix | None:
    """The nearest right name in place of a wrong one, or the fields of a request put below ``exactly``; else None."""
    nearest = violation.nearest
    if nearest is None or violation.offset is not None or not violation.path:
        return None
    written = violation.path[-1] if violation.key else value_at(document, violation.path)
    if not isinstance(written, str):
        return None
    if violation.key:
        if nearest.endswith(f".exactly.{written}"):
            return _below_exactly(document, violation.path)
        holder = value_at(document, violation.path[:-1])
        # A field that belongs elsewhere is moved by hand; only a name beside its siblings can be corrected in place.
        if "." in nearest or "[" in nearest or not isinstance(holder, dict) or nearest in holder:
            return None
    wanted = Replacement(f"replace by {nearest}", violation.path, nearest, violation.key, safe=_alike(written, nearest))
    return replacement(document, wanted)


def _alike(written: str, nearest: str) -> bool:
    """Whether a name is so near to another that nothing else can be meant."""
    from difflib import SequenceMatcher

    return SequenceMatcher(None, written.lower(), nearest.lower()).ratio() > 0.85


def replacement(document: Document, wanted: Replacement) -> Fix:
    """The edit of one scalar or key, quoted as it was; or of a part of a scalar."""
    if wanted.start is not None and wanted.end is not None:
        first = document.locate(wanted.path, offset=wanted.start)
        last = document.locate(wanted.path, offset=wanted.end - 1)
        position = Position(first.file, first.line, first.column, last.end_line, last.end_column)
        return Fix(wanted.title, (Edit(position, wanted.text),), wanted.safe)
    position = document.locate(wanted.path, key=wanted.key)
    quote = document.line(position.line)[position.column - 1 : position.column]
    new = f"{quote}{wanted.text}{quote}" if quote in ("'", '"') else wanted.text
    return Fix(wanted.title, (Edit(position, new),), wanted.safe)


def _below_exactly(document: Document, path: Path) -> Fix | None:
    """The fields of a request that stand beside its name, as v1beta1 has them: all of them one level deeper.

    They have to stand in lines of their own, one after the other. The first of them carries the fix for all.
    """
    request = value_at(document, path[:-1])
    if not isinstance(request, dict) or "exactly" in request or "firstAvailable" in request:
        return None
    fields = [name for name in request if name != "name"]
    keys = [document.locate((*path[:-1], name), key=True) for name in fields]
    if path[-1] != fields[0] or any(document.line(key.line)[: key.column - 1].strip() for key in keys):
        return None
    first = keys[0]
    last = max(document.locate((*path[:-1], name)).end_line for name in fields)
    if "name" in request and first.line <= document.locate((*path[:-1], "name"), key=True).line <= last:
        return None
    lines = range(first.line, last + 1)
    indent = document.line(first.line)[: first.column - 1]
    edits = [Edit(_before(first, first.line), f"{indent}exactly:\n  ")]
    edits += (Edit(_before(first, line), "  ") for line in lines if line > first.line and document.line(line).strip())
    return Fix("put the fields of the request below exactly", tuple(edits), safe=True)


def _before(position: Position, line: int) -> Position:
    """The empty range at the beginning of a line."""
    return Position(position.file, line, 1, line, 1)


def value_at(document: Document, path: Path) -> object:
    """The value at a path of a document; None where there is none."""
    value: object = document.value
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def applied(text: str, fixes: Iterable[Fix]) -> tuple[str, int]:
    """A file's text with the fixes, and how many could be applied: one that touches an earlier one has to wait."""
    import re

    starts = [0, *(match.end() for match in re.finditer(r"\r\n?|\n", text))]

    def offset(line: int, column: int) -> int:
        return min(starts[min(line, len(starts)) - 1] + column - 1, len(text))

    taken: list[tuple[int, int, str]] = []
    count = 0
    for fix in fixes:
        ranges = [
            (offset(e.position.line, e.position.column), offset(e.position.end_line, e.position.end_column), e.text)
            for e in fix.edits
        ]
        if any(_touch(this, other) for this in ranges for other in taken):
            continue
        taken += ranges
        count += 1
    for start, end, new in sorted(taken, reverse=True):
        text = text[:start] + new + text[end:]
    return text, count


def _touch(this: tuple[int, int, str], other: tuple[int, int, str]) -> bool:
    return this[0] == other[0] or (this[0] < other[1] and other[0] < this[1])
