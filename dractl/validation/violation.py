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
    """One error that the API server reports, or that dractl adds where the server is silent."""

    rule: str
    """Id of the validation rule (``RC-16``), or a word: ``unknown-field``, ``wrong-type``,
    ``not-served``, ``duplicate-key``, ``dropped-field``, ``not-known-of-preview``.
    """
    type: str | None
    """Type of the cause as the server reports it (``FieldValueInvalid``, ``BadRequest``),
    ``NotServed``, or None if the server reports nothing.
    """
    field: str | None
    """Path of the field as the server reports it: ``spec.devices.requests[0].exactly.count``."""
    path: Path
    """Path in the document as it was written."""
    message: str
    """The server's sentence, or a shorter one; all errors of a CEL expression as one string."""
    key: bool = False
    """True if the key at the path is at fault, not its value."""
    offset: int | None = None
    """Code points inside the scalar at the path."""
    allowed: tuple[str, ...] = ()
    """Values or names that would be right."""
    nearest: str | None = None
    """The allowed value that was probably meant."""
    issues: tuple[Issue, ...] = ()
    """Errors of a CEL expression, one by one."""
    detail: str | None = None
    """The server's own sentence, where ``message`` has a shorter one."""
    moved_to: Path | None = None
    """The probable path of an unknown field; its parent's path if its content belongs there."""
    meant: Any = None
    """The value that was probably meant in place of a value of the wrong type; None if there is
    none.
    """
    ratcheted: bool = False
    """True if the server overlooks the error in an update that leaves the field as it is stored."""

    @property
    def said(self) -> str:
        """The server's own sentence."""
        return self.detail or self.message


def dot_path(path: Iterable[str | int]) -> str:
    """Return a path as the server's decoder prints it: ``spec.devices.requests[0].name``; a map's
    keys follow a dot.
    """
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text
