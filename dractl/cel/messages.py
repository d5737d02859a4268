"""The words of cel-go for what the parser and checker of cel-cpp report."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from dractl.cel.program import Issue

if TYPE_CHECKING:
    from collections.abc import Callable

_BLOCK = re.compile(r"^ERROR: <input>:(-?\d+):(-?\d+): ", re.MULTILINE)

_TYPES = (
    ("google.protobuf.Duration", "duration"),
    ("google.protobuf.Timestamp", "timestamp"),
    ("google.protobuf.Any", "any"),
    ("null_type", "null"),
    ("*error*", "!error!"),
)
_FREE_TYPE = re.compile(r"\bT%\d+|\b[A-Z]%\d+")
_STRUCTS = "Quantity|Semver|URL|NamedFormat"

_TEXTS: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"undefined field '(.*)' not found in struct 'kubernetes\.DRADevice'"), r"undefined field '\1'"),
    (
        re.compile(rf"undefined field '.*' not found in struct '(kubernetes\.(?:{_STRUCTS}))'"),
        r"unexpected failed resolution of '\1'",
    ),
    (
        re.compile(r"expression of type '(.*)' cannot be the operand of a select operation"),
        r"type '\1' does not support field selection",
    ),
    (re.compile(r"cannot be the range of a comprehension"), "cannot be range of a comprehension"),
    (re.compile(r"has\(\) argument must be a field selection"), "invalid argument to has() macro"),
    (re.compile(r"\w+\(\) (?:\w+ )?variable name must be a simple identifier"), "argument must be a simple name"),
    (
        re.compile(r"undeclared reference to '(.*?)' \(in container ''\)"),
        r"undeclared reference to '\1' (in container '')",
    ),
)


def short_type(kind: str) -> str:
    """A type as messages name it: ``duration`` instead of ``google.protobuf.Duration``."""
    for long, short in _TYPES:
        kind = kind.replace(long, short)
    return _FREE_TYPE.sub("dyn", kind)


def issues_of(error: str, text: str) -> tuple[Issue, ...]:
    """The issues in the text of an exception of cel_expr_python."""
    text_error = error.removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")
    blocks = list(_BLOCK.finditer(text_error))
    if not blocks:
        return (Issue(text_error),)
    starts = line_starts(text)
    found: list[Issue] = []
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        body = text_error[block.end() : following.start() if following else len(text_error)]
        message = body.partition("\n |")[0].rstrip("\n")
        line, column = int(block[1]), int(block[2])
        if line < 1:
            continue
        found.append(Issue(_reworded(message), min(starts[line - 1] + column - 1, len(text)), line, column))
    return tuple(found)


def _reworded(message: str) -> str:
    message = short_type(message)
    for pattern, replacement in _TEXTS:
        message = pattern.sub(replacement, message)
    return message


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
    blocks = []
    for issue in issues:
        assert issue.line is not None
        assert issue.column is not None
        block = f"ERROR: <input>:{issue.line}:{issue.column}: {issue.message}"
        if issue.line <= len(lines) and text:
            snippet = lines[issue.line - 1].replace("\t", " ")
            before = snippet[: max(issue.column - 1, 0)].ljust(max(issue.column - 1, 0))
            dots = "".join("．" if _wide(c) else "." for c in before)
            under = snippet[issue.column - 1 : issue.column]
            block += f"\n | {snippet}\n | {dots}{'＾' if under and _wide(under) else '^'}"
        blocks.append(block)
    return "\n".join(blocks)


def _wide(character: str) -> bool:
    """Whether common/errors.go takes a character for a wide one: more than one byte of UTF-8."""
    return ord(character) > 0x7F


def quoted_names(text: str) -> tuple[Issue, ...]:
    """Field names in backquotes, which cel-go before 0.29 knows but does not take (Kubernetes up to 1.36)."""
    from dractl.cel.tokens import tokenize

    tokens = tokenize(text)
    return tuple(
        issue_at("unsupported syntax: '`'", tokens[i - 1].start if i else token.start, text)
        for i, token in enumerate(tokens)
        if token.kind == "quoted"
    )
