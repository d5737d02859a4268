"""Answers for editors about one open text: diagnostics, hovers, completions, fixes and
definitions, as plain values.

Lines and columns count from 0 here, and columns count code points; a protocol's own units are its
server's business.
"""

from dractl.editing.completing import Completion, completions
from dractl.editing.defining import Definition, definitions
from dractl.editing.hovering import Hover, hover
from dractl.editing.judging import Diagnostic, QuickFix, Range, TextEdit, diagnostics

__all__ = [
    "Completion",
    "Definition",
    "Diagnostic",
    "Hover",
    "QuickFix",
    "Range",
    "TextEdit",
    "completions",
    "definitions",
    "diagnostics",
    "hover",
]
