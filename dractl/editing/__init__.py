"""Answers for editors about one open text: diagnostics, hovers, completions and fixes, as plain values."""

from __future__ import annotations

from dractl.editing.completing import Completion, completions
from dractl.editing.hovering import Hover, hover
from dractl.editing.judging import Diagnostic, Edit, QuickFix, Range, diagnostics

__all__ = ["Completion", "Diagnostic", "Edit", "Hover", "QuickFix", "Range", "completions", "diagnostics", "hover"]
