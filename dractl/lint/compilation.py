"""What the API server says about a CEL expression, without the expression: the report shows it in its place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from dractl.lint.fixes import value_at

if TYPE_CHECKING:
    from dractl.manifests import Document
    from dractl.validation.violation import Violation

# validation/field: `Invalid value: "` and the value as Go quotes it; then cel-go: an issue, its line and a caret below.
_VALUE = re.compile(r'Invalid value: "(?:[^"\\]|\\.)*": ', re.DOTALL)
_ISSUE = re.compile(r"^ERROR: <input>:(\d+):(\d+): (.*(?:\n(?! \||ERROR: ).*)*)", re.MULTILINE)
_FAILED = "compilation failed: "
_NOISE = " (in container '')"
_MAX_FURTHER = 4


class Compilation(NamedTuple):
    """One sentence about the first issue, and the further ones with their offsets into the expression."""

    message: str
    further: list[tuple[str, int]]


def compilation(document: Document, violation: Violation) -> Compilation | None:
    """The server's message in short; None where it is not about what an expression says."""
    value = _VALUE.match(violation.message)
    written = value_at(document, violation.path)
    if value is None or not violation.path or violation.path[-1] != "expression" or not isinstance(written, str):
        return None
    said = violation.message[value.end() :]
    if not said.startswith(_FAILED):
        return Compilation(f"the expression {said}" if said.startswith("must ") else f"the expression: {said}", [])
    said = said.removeprefix(_FAILED)
    issues = [(match[3].strip(), _offset(written, match)) for match in _ISSUE.finditer(said)]
    if not issues:
        return Compilation(f"the expression does not compile: {said}", [])
    (first, _), *further = [(text.replace(_NOISE, ""), offset) for text, offset in issues]
    return Compilation(f"the expression does not compile: {first}", further[:_MAX_FURTHER])


def _offset(written: str, place: re.Match[str]) -> int:
    lines = written.split("\n")[: int(place[1]) - 1]
    return sum(len(line) + 1 for line in lines) + int(place[2]) - 1
