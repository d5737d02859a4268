"""The result of a rule's check, before it is placed in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from dractl.cel import Program
    from dractl.lint.finding import Confidence, Severity
    from dractl.lint.model import Manifest
    from dractl.validation.violation import Path


class Replacement(Struct, frozen=True):
    """A fix that replaces one scalar (or one key) by another text; ``start``, ``end``: code points of its value."""

    title: str
    path: Path
    text: str
    key: bool = False
    start: int | None = None
    end: int | None = None
    safe: bool = True


def spot(program: Program, name: str = "") -> tuple[int, int]:
    """The part of an expression to point at, as code points: where ``name`` is read, else the first attribute or
    capacity, else the first line."""
    named = [found for found in program.lookups if found.name is not None and not found.tested]
    for found in [found for found in named if found.name == name] or named:
        return found.name_start, found.name_end
    return 0, len(program.text.partition("\n")[0])


class Advice(Struct, frozen=True):
    """A finding of a check in ``subject`` at ``path``, a path of the document in v1.

    ``offset`` and ``end`` count code points inside the scalar there. ``severity`` is set if it differs from the rule's
    own in a lesser case. ``related`` are further places: (description, subject, path).
    """

    subject: Manifest
    path: Path
    message: str
    help: str | None = None
    key: bool = False
    offset: int | None = None
    end: int | None = None
    severity: Severity | None = None
    confidence: Confidence = "certain"
    fix: Replacement | None = None
    related: tuple[tuple[str, Manifest, Path], ...] = ()
