"""Answers for editors about one open text: diagnostics, hovers, completions, fixes and
definitions, as plain values.

Here, lines and columns start at 0, and columns count code points; the server of a protocol converts
them to the protocol's units.
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
