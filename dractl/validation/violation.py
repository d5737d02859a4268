"""Violations: the errors that the API server of a release reports for a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dractl.cel import Issue

Path = tuple[str | int, ...]
"""Keys and indices from the root of a document to a value."""


class Violation(Struct, frozen=True):
    """One error that the API server reports, or that dractl adds where the server is silent.

    ``rule``: the id of the validation rule (``RC-16``) or a word (``unknown-field``, ``wrong-type``, ``not-served``,
    ``duplicate-key``, ``dropped-field``).
    ``type``, ``field``: the cause's type and field path as the server reports them (``FieldValueInvalid`` and
    ``spec.devices.requests[0].exactly.count``; ``BadRequest``; ``NotServed``); ``type`` is None for what the server
    does silently.
    ``path``: the place in the document as it was written; ``key`` is true where the key at that place is at fault, not
    its value; ``offset`` counts code points inside the scalar there.
    ``allowed``: the values or names that would be right; ``nearest``: the one that was probably meant.
    ``issues``: the errors of a CEL expression, one by one; ``message`` has them all as one string.
    ``detail``: the server's own sentence, where ``message`` has a shorter one.
    ``moved_to``: the probable place of an unknown field; its parent's path if its content belongs there.
    ``meant``: the value that was probably meant in place of one of the wrong type; None if there is none.
    """

    rule: str
    type: str | None
    field: str | None
    path: Path
    message: str
    key: bool = False
    offset: int | None = None
    allowed: tuple[str, ...] = ()
    nearest: str | None = None
    issues: tuple[Issue, ...] = ()
    detail: str | None = None
    moved_to: Path | None = None
    meant: Any = None

    @property
    def said(self) -> str:
        """The server's own sentence."""
        return self.detail or self.message


def dotted(path: Iterable[str | int]) -> str:
    """A path as the server's decoder prints it: ``spec.devices.requests[0].name``; a map's keys follow a dot."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
