"""Places in an expression, and cel-go's rendering of issues at them."""

import re
from bisect import bisect_right
from functools import lru_cache

from dractl.cel.issues import Issue

_TYPES = (
    ("google.protobuf.Duration", "duration"),
    ("google.protobuf.Timestamp", "timestamp"),
    ("google.protobuf.Any", "any"),
    ("null_type", "null"),
    ("*error*", "!error!"),
)
_FREE_TYPE = re.compile(r"\b[A-Z]%\d+")


_MAX_REPORTED_ISSUES = 100  # common/errors.go maxErrorsToReport


def short_type(kind: str) -> str:
    """Return a type as messages name it: ``duration`` instead of ``google.protobuf.Duration``."""
    for long, short in _TYPES:
        kind = kind.replace(long, short)
    return _FREE_TYPE.sub("dyn", kind)


def may_be_bool(kind: str) -> bool:
    """Return True if ``&&`` and ``||`` accept a type."""
    return kind in ("bool", "dyn", "google.protobuf.Any", "wrapper(bool)") or kind.startswith("<")


def bool_mismatch(kind: str) -> str:
    return f"expected type 'bool' but found '{short_type(kind)}'"


@lru_cache(8)
def line_starts(text: str) -> tuple[int, ...]:
    """Return the offset at which each line begins."""
    return (0, *(m.end() for m in re.finditer("\n", text)))


def issue_at(message: str, offset: int, text: str) -> Issue:
    starts = line_starts(text)
    line = bisect_right(starts, offset)
    return Issue(message, offset, line, offset - starts[line - 1] + 1)


def render(issues: tuple[Issue, ...], text: str) -> str:
    """Return the issues as cel-go prints them (common/errors.go): each with its line and a caret
    below the column.
    """
    lines = text.split("\n")
    blocks = [_block(issue, lines) for issue in issues[:_MAX_REPORTED_ISSUES]]
    if len(issues) > _MAX_REPORTED_ISSUES:
        blocks.append(f"{len(issues) - _MAX_REPORTED_ISSUES} more errors were truncated")
    return "\n".join(blocks)


def _block(issue: Issue, lines: list[str]) -> str:
    if issue.line is None or issue.column is None:
        return f"ERROR: <input>:-1:0: {issue.message}"
    block = f"ERROR: <input>:{issue.line}:{issue.column}: {issue.message}"
    if issue.column < 1 or issue.line > len(lines):
        return block
    snippet = lines[issue.line - 1].replace("\t", " ")
    before = snippet[: issue.column - 1].ljust(issue.column - 1)
    under = snippet[issue.column - 1 : issue.column]
    dots = "".join("．" if _wide(character) else "." for character in before)
    return f"{block}\n | {snippet}\n | {dots}{'＾' if under and _wide(under) else '^'}"


def _wide(character: str) -> bool:
    """Return True for a character that common/errors.go treats as wide: one with more than one byte
    in UTF-8.
    """
    return ord(character) > 0x7F
