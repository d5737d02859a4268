"""The manifests in the YAML blocks of a Markdown file."""

import re

SUFFIXES = (".md", ".markdown")
_FENCE = r"( *)(`{3,}|~{3,})\s*([\w+-]*)"
_LANGUAGES = frozenset({"yaml", "yml", "json"})
_ELISION = r"( *)(?:-\s+)?(\.{3}|…|\[\.{3}\]|<snip>)\s*(?:#.*)?"
ELIDED = "#…"
"""A comment that replaces a line which marks an omission."""


def mask(text: str) -> str:
    """Return the text with the lines of its YAML blocks unchanged and all other lines empty, so
    that places stay the same. Each block begins a document, and a line that marks an omission
    becomes a comment.
    """
    lines: list[str] = []
    fence: str | None = None
    reading = False
    for line in text.split("\n"):
        fence_line = re.match(_FENCE, line)
        if fence_line and fence is None:
            fence, reading = fence_line[2], fence_line[3].lower() in _LANGUAGES
            lines.append("---" if reading else "")
        elif (
            fence is not None
            and fence_line
            and fence_line[2].startswith(fence)
            and not fence_line[3]
        ):
            fence, reading = None, False
            lines.append("")
        elif reading:
            elided = re.fullmatch(_ELISION, line)
            lines.append(f"{elided[1]}{ELIDED}" if elided else line)
        else:
            lines.append("")
    return "\n".join(lines)
