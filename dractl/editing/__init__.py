"""Answers for editors about one open text: diagnostics, hovers, completions and fixes, as plain
values.

Lines and columns count from 0 here, and columns count code points; a protocol's own units are its
server's business.
"""

from dractl.editing.completing import Completion, completions
from dractl.editing.hovering import Hover, hover
from dractl.editing.judging import Diagnostic, QuickFix, Range, TextEdit, diagnostics

__all__ = [
    "Completion",
    "Diagnostic",
    "Hover",
    "QuickFix",
    "Range",
    "TextEdit",
    "completions",
    "diagnostics",
    "hover",
]
