"""The manifests in the YAML blocks of a Markdown file."""

import re

SUFFIXES = (".md", ".markdown")
_FENCE = re.compile(r"( *)(`{3,}|~{3,})\s*([\w+-]*)")
_LANGUAGES = frozenset({"yaml", "yml", "json"})
_ELISION = re.compile(r"( *)(?:-\s+)?(\.{3}|…|\[\.{3}\]|<snip>)\s*(?:#.*)?")
ELIDED = "#…"
"""A comment in place of a line that says that something is left out."""


def masked(text: str) -> str:
    """The text with the lines of its YAML blocks as they are, and the others empty: places stay what they are. Each
    block begins a document, and what says that lines are left out becomes a comment."""
    lines: list[str] = []
    fence: str | None = None
    reading = False
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if found and fence is None:
            fence, reading = found[2], found[3].lower() in _LANGUAGES
            lines.append("---" if reading else "")
        elif fence is not None and found and found[2].startswith(fence) and not found[3]:
            fence, reading = None, False
            lines.append("")
        elif reading:
            elided = _ELISION.fullmatch(line)
            lines.append(f"{elided[1]}{ELIDED}" if elided else line)
        else:
            lines.append("")
    return "\n".join(lines)
