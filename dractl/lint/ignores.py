"""Comments that suppress findings: ``# dractl: ignore[DRA116] why``, ``# dractl: ignore-file[DRA3,
count-zero] why``.

A comment at the end of a line applies to that line; a comment on its own line applies to the next
line that is not a comment. A finding inside a string of several lines can also be suppressed at the
line of its key.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

_MARK = "dractl:"
# Compiled for the first file with such a comment, since most files have none.
_COMMENT = r"(?:^|[\s])#[ \t]*dractl:[ \t]*(ignore-file|ignore)\b[ \t]*(?:\[([^\]]*)\])?"
_ONLY_COMMENT = r"[ \t]*(?:#.*)?$"


class Ignore(Struct, frozen=True):
    """An ignore comment."""

    line: int
    """The line of the comment."""
    column: int
    """The first column."""
    end_column: int
    """The column after the comment."""
    names: tuple[str, ...]
    """The codes and names of rules in the comment."""
    target: int | None
    """The line that the comment applies to; None for the whole file."""


def names_end(line: str, ignore: Ignore) -> tuple[int, bool]:
    """Return the column at which the list of names in an ignore comment ends, and whether the list
    has brackets.
    """
    match = re.compile(_COMMENT).search(line, max(ignore.column - 2, 0))
    if match is None:
        raise ValueError(f"no ignore comment at column {ignore.column}")
    return (match.end(2) + 1, True) if match[2] is not None else (match.end(1) + 1, False)


def ignores(text: str) -> Sequence[Ignore]:
    """Return the comments of a file."""
    if _MARK not in text:
        return ()
    lines = re.split(r"\r\n?|\n", text)
    comments = []
    for number, line in enumerate(lines, 1):
        match = re.search(_COMMENT, line) if _MARK in line else None
        if match is None:
            continue
        names = tuple(part.strip() for part in (match[2] or "").split(",") if part.strip())
        start = line.index("#", match.start())
        target: int | None = number
        if match[1] == "ignore-file":
            target = None
        elif not line[:start].strip():
            target = next(
                (
                    n
                    for n in range(number + 1, len(lines) + 1)
                    if not re.match(_ONLY_COMMENT, lines[n - 1])
                ),
                number,
            )
        comments.append(Ignore(number, start + 1, len(line.rstrip()) + 1, names, target))
    return comments
