"""Places in an expression, and how cel-go prints what is wrong at one."""

from __future__ import annotations

import re
from bisect import bisect_right

from dractl.cel.program import Issue

_TYPES = (
    ("google.protobuf.Duration", "duration"),
    ("google.protobuf.Timestamp", "timestamp"),
    ("google.protobuf.Any", "any"),
    ("null_type", "null"),
    ("*error*", "!error!"),
)
_FREE_TYPE = re.compile(r"\b[A-Z]%\d+")


def short_type(kind: str) -> str:
    """A type as messages name it: ``duration`` instead of ``google.protobuf.Duration``."""
    for long, short in _TYPES:
        kind = kind.replace(long, short)
    return _FREE_TYPE.sub("dyn", kind)


def line_starts(text: str) -> list[int]:
    """The offset at which each line begins."""
    return [0, *(m.end() for m in re.finditer("\n", text))]


def issue_at(message: str, offset: int, text: str) -> Issue:
    starts = line_starts(text)
    line = bisect_right(starts, offset)
    return Issue(message, offset, line, offset - starts[line - 1] + 1)


def render(issues: tuple[Issue, ...], text: str) -> str:
    """The issues as cel-go prints them (common/errors.go): each with its line and a caret below the column."""
    lines = text.split("\n")
    return "\n".join(_block(issue, lines) for issue in issues)


def _block(issue: Issue, lines: list[str]) -> str:
    if issue.line is None or issue.column is None:
        return f"ERROR: <input>:-1:0: {issue.message}"
    block = f"ERROR: <input>:{issue.line}:{issue.column}: {issue.message}"
    if issue.column < 1 or issue.line > len(lines):
        return block
    snippet = lines[issue.line - 1].replace("\t", " ")
    before = snippet[: issue.column - 1].ljust(issue.column - 1)
    under = snippet[issue.column - 1 : issue.column]
    return f"{block}\n | {snippet}\n | {''.join(map(_dot, before))}{'＾' if under and _wide(under) else '^'}"


def _dot(character: str) -> str:
    return "．" if _wide(character) else "."


def _wide(character: str) -> bool:
    """What common/errors.go takes for a wide character: whatever has more than one byte in UTF-8."""
    return ord(character) > 0x7F
