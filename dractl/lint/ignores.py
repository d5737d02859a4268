"""Comments that take findings out: ``# dractl: ignore[DRA116] why``, ``# dractl: ignore-file[DRA3, count-zero] why``.

A comment behind something speaks for its line; one that stands alone for the next line that is no comment. A finding
inside a text of several lines is also taken out at the line of its key.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_MARK = "dractl:"
_COMMENT = re.compile(r"(?:^|[\s])#[ \t]*dractl:[ \t]*(ignore-file|ignore)\b[ \t]*(?:\[([^\]]*)\])?")
_ONLY_COMMENT = re.compile(r"[ \t]*(?:#.*)?$")


@dataclass(frozen=True, slots=True)
class Ignore:
    """One comment: where it stands, the codes and names in it, and the line that it speaks for (None: the file)."""

    line: int
    column: int
    end_column: int
    names: tuple[str, ...]
    target: int | None

    def speaks_for(self, lines: Collection[int]) -> bool:
        return self.target is None or self.target in lines


def ignores(text: str) -> Sequence[Ignore]:
    """The comments of a file."""
    if _MARK not in text:
        return ()
    lines = re.split(r"\r\n?|\n", text)
    found = []
    for number, line in enumerate(lines, 1):
        match = _COMMENT.search(line) if _MARK in line else None
        if match is None:
            continue
        names = tuple(part.strip() for part in (match[2] or "").split(",") if part.strip())
        start = line.index("#", match.start())
        target: int | None = number
        if match[1] == "ignore-file":
            target = None
        elif not line[:start].strip():
            target = next(
                (n for n in range(number + 1, len(lines) + 1) if not _ONLY_COMMENT.match(lines[n - 1])), number
            )
        found.append(Ignore(number, start + 1, len(line.rstrip()) + 1, names, target))
    return found
