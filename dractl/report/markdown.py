"""Texts and names of strangers in Markdown."""

import re

from dractl.report.plain import printable


def escape(text: str) -> str:
    """Text in one line whose characters mean nothing to Markdown."""
    shown = " ".join(printable(part) for part in text.split())
    return re.sub(r"([\\`*_\[\]<>#|~])", r"\\\1", shown)


def code(text: str) -> str:
    """A name as code, also in a cell of a table: a backtick would end it, and a bar the cell."""
    shown = " ".join(printable(part) for part in text.split())
    return f"`{shown.replace('`', '').replace('|', chr(92) + '|')}`"
