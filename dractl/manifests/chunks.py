"""The documents of a YAML stream as parts of its text, and the error of a document that cannot be
read.
"""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

_SEPARATOR = re.compile(r"^---([^\r\n]*)(?:\r\n?|\n|\Z)", re.MULTILINE)


class Unreadable(Exception):
    """A document that cannot be read: go-yaml's message and the offset in the document's text."""

    def __init__(self, message: str, offset: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.hint = hint


class Chunk(Struct, frozen=True):
    """The part of a file's text that is one document."""

    start: int
    end: int
    separator: str | None = None
    """The text after its ``---`` if that is more than a comment."""
    separator_start: int = 0


def split(text: str) -> Iterable[Chunk]:
    """Yield the documents of a stream, as YAMLReader.Read splits them: at lines that begin with
    ``---``.
    """
    # The substring test is a hundred times as fast as a search for the beginnings of lines.
    return _split(text) if "---" in text else (Chunk(0, len(text)),)


def _split(text: str) -> Iterator[Chunk]:
    start, separator, separator_start = 0, None, 0
    for match in _SEPARATOR.finditer(text):
        yield Chunk(start, match.start(), separator, separator_start)
        content = match[1].strip()
        separator, separator_start = (
            (content, match.end(1) - len(match[1].lstrip()))
            if content[:1] not in ("", "#")
            else (None, 0)
        )
        start = match.end()
    yield Chunk(start, len(text), separator, separator_start)
