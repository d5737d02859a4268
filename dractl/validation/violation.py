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
    """One error that the API server reports, or that dractl reports although the server does
    not.
    """

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
    """The server's sentence, or a shorter one; for a CEL expression, all errors in one string."""
    key: bool = False
    """True if the key at the path is at fault, and not its value."""
    offset: int | None = None
    """The offset of the fault in the scalar at the path, in code points; None for the whole value.
    """
    allowed: tuple[str, ...] = ()
    """Values or names that the server would accept."""
    nearest: str | None = None
    """The allowed value that was probably meant; None if it is unclear."""
    issues: tuple[Issue, ...] = ()
    """Errors of a CEL expression, one by one."""
    detail: str | None = None
    """The server's own sentence, if ``message`` is a shorter one."""
    moved_to: Path | None = None
    """The probable path of an unknown field; the path of the field's parent if the content of the
    field belongs there.
    """
    meant: Any = None
    """The value that was probably meant, if the given value has the wrong type; None if there is
    none.
    """
    ratcheted: bool = False
    """True if an update ignores the error as long as the field keeps its stored value."""

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
