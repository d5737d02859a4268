"""Makes text from files safe for a terminal."""

import re
import textwrap

_CONTROL = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]"
_HARMFUL = (
    "\x1b(?!\\[[0-9;]*m)|\r(?!\n)"
    "|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)


# Strings that a CI system's log takes for commands. GitHub's ``::error::`` counts at the start of a
# line, and wrapping can put any word there. Its ``##[error]`` counts anywhere (actions/runner
# src/Runner.Common/ActionCommand.cs), and so does Azure's ``##vso[``.
_COMMAND = r"(?<!\S):(?=:[A-Za-z].*::)|#(?=#[a-z]*\[)"
_COMMAND_IN_JSON = r"#(?=#[a-z]*\[)"


def printable(text: str) -> str:
    """Return ``text`` on one line, without characters that move the cursor, set colours or change
    the writing direction, and without strings that a CI system's log would interpret as a command.
    """
    line = inert(text.replace("\n", " ").replace("\t", " "))
    return line if line.isprintable() else re.sub(_CONTROL, _escape, line)


def inert(text: str) -> str:
    """Return ``text`` without strings that a CI system's log would interpret as a command."""
    return re.sub(_COMMAND, _escape, text) if "::" in text or "##" in text else text


def _escape(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def harmless(text: str) -> str:
    """Return a report, in any format, without control characters other than line breaks, tabs and
    ANSI styles: this is the last filter for text from a file, a node or a cluster. Parsers of JSON
    and YAML restore the escaped characters.
    """
    if "##" in text and text[0] in "{[":
        text = re.sub(_COMMAND_IN_JSON, r"\\u0023", text)
    if text.replace("\n", "").isprintable():  # most reports are, and the pattern is slow to compile
        return text
    return re.sub(_HARMFUL, lambda match: f"\\u{ord(match[0]):04x}", text)


def plural(count: int, noun: str) -> str:
    """Return ``1 error``, ``2 errors``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


_QUOTED_COMMAND = r"`(?:dractl|kubectl|helm|kustomize|ytt|pip) [^`]*`"


def keep_together(match: re.Match[str]) -> str:
    """Return the matched text with spaces at which :func:`wrap` does not break it."""
    return match[0].replace(" ", "\N{NO-BREAK SPACE}")


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """Return the lines of a text with at most ``width`` columns, all but the first indented; an
    empty text is one empty line.

    Names, paths and commands between backquotes are not broken: a line break in a command would be
    copied along with it. Lists without spaces, such as 0,4,8, break after a comma if they have to.
    """
    width = max(width, 8)  # nested boxes leave little room
    if len(text) <= width and not {"\n", "\t"} & set(text):
        return [text.rstrip()]
    lines: list[str] = []
    if "`" in text:
        text = re.sub(_QUOTED_COMMAND, keep_together, text)
    for line in textwrap.wrap(
        text, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    ):
        remainder = line
        while (
            len(remainder) > width
            and "\N{NO-BREAK SPACE}" not in remainder
            and (cut := remainder.rfind(",", len(indent) + 1, width)) > 0
        ):
            lines.append(remainder[: cut + 1])
            remainder = indent + remainder[cut + 1 :]
        lines.append(remainder)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines] or [""]


def wrap_anywhere(text: str, width: int) -> list[str]:
    """Return the lines of a text as :func:`wrap` does; names that are longer than a line go on in
    the next one.
    """
    return [
        line[start : start + width]
        for line in wrap(text, width)
        for start in range(0, max(len(line), 1), width)
    ]


def add_remark(text: str, remark: str, width: int) -> str:
    """Return a line with a remark behind it, or below it if ``width`` is too small."""
    line = f"{text}{'':4}{remark}"
    return line if len(line) <= width else f"{text}\n  {remark}"
