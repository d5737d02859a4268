"""Texts and names from the input, escaped for Markdown."""

import re

from dractl.report.plain import printable


def escape(text: str) -> str:
    """Return a text on one line, with the characters escaped that mean something to Markdown."""
    shown = " ".join(printable(part) for part in text.split())
    return re.sub(r"([\\`*_\[\]<>#|~])", r"\\\1", shown)


def code(text: str) -> str:
    """Return a name as code, even in the cell of a table, where a backtick would end the code and a
    bar the cell.
    """
    shown = " ".join(printable(part) for part in text.split())
    return f"`{shown.replace('`', '').replace('|', chr(92) + '|')}`"
