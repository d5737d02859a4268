"""Fixes of rendered objects: they are made in the values file or patch that a value comes from, and
tried on the object.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.lint.finding import TextFix
from dractl.lint.fixes import apply_text_fixes, fix_for_violation, replacement
from dractl.lint.model import Replacement
from dractl.manifests import Document
from dractl.manifests.embedded import read_again
from dractl.validation.violation import Path, Violation


class RenderedFix(Struct, frozen=True):
    """A fix in another file, and the rendered object after it."""

    fix: TextFix
    """The edits of the values file or the patch."""
    trial: Document
    """The rendered object with the value that the edits make."""


def fix_violation(document: Document, violation: Violation) -> RenderedFix | None:
    """Return the fix of a violation if another file contains the whole value; None if the fix would
    have to change more.
    """
    spot = document.source(violation.path)
    moves = violation.key or violation.moved_to is not None or violation.rule == "unknown-field"
    if spot is None or moves or "allocationMode" in violation.message:
        return None
    fix = fix_for_violation(spot.document, replace(violation, path=spot.path))
    return _try(document, violation.path, fix)


def fix_advice(document: Document, change: Replacement) -> RenderedFix | None:
    """Return the fix of a value that another file contains as a whole."""
    spot = None if change.key else document.source(change.path)
    if spot is None:
        return None
    fix = replacement(spot.document, replace(change, path=spot.path))
    return _try(document, change.path, fix)


def _try(document: Document, path: Path, fix: TextFix | None) -> RenderedFix | None:
    """Return a fix with the object that it makes; None without a fix, if no other file supplies the
    whole value, or if the edits leave the value unchanged.
    """
    spot = document.source(path)
    if fix is None or spot is None:
        return None
    text, _ = apply_text_fixes(spot.document.text, [fix])
    changed = read_again(spot.document, text)
    value = changed.at(spot.path) if changed is not None else None
    if value is None or value == document.at(path):
        return None
    return RenderedFix(fix, document.with_value(_put(document.value, path, value)))


def _put(value: Any, path: Sequence[str | int], new: Any) -> Any:
    """Return a copy of a value with ``new`` at a path; everything outside the path is shared."""
    if not path:
        return new
    step, *below = path
    inside = _put(value[step], below, new)
    if isinstance(value, list):
        number = int(step)
        return [*value[:number], inside, *value[number + 1 :]]
    return {**value, step: inside}
