"""The keys and values of a YAML text in flow style (``{a: b, c: [d]}``), which may end before its
brackets are closed.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct, structs

from dractl.editing.entries import Path, TextEntry

_TOKEN = re.compile(
    r"""
    (?P<open> \{(?!\{) | \[ )
  | (?P<close> [\]}] )
  | (?P<comma> , )
  | (?P<comment> (?<!\S)\#.* )
  | (?P<word>
        "(?:[^"\\]|\\.)*(?:"|(?P<double>$))
      | '(?:[^']|'')*(?:'|(?P<single>$))
      | (?!\s)(?: \{\{.*?(?:\}\}|$)           # an action of a chart's template
          | [^\s,\[\]{}:]
          | :(?![\s,\[\]{}]|$)
          | \s+(?![\s,\[\]{}:#]|$)
        )+
    )
    (?P<colon> \s*:(?=[\s,\[\]{}]|$) | (?<=["']): )?
    """,
    re.VERBOSE,
)
_REST = {'"': re.compile(r'(?:[^"\\]|\\.)*("|$)'), "'": re.compile(r"(?:[^']|'')*('|$)")}
"""The patterns for the further lines of a scalar in quotes, by its quote."""


class _Token(Struct, frozen=True):
    kind: Literal["open", "close", "comma", "comment", "key", "word", "line"]
    line: int
    start: int
    text: str
    value: int = 0
    """For a key, the column in which its value begins."""


def begins_flow(text: str) -> bool:
    """Return True for the text of a map or list in flow style; actions of templates are none."""
    return text.startswith(("{", "[")) and not text.startswith("{{")


def read_flow(
    lines: Sequence[str], first: int, column: int, path: Path, limit: int
) -> list[TextEntry]:
    """Return the entries of the map or list that begins in a column of the first of some lines.

    ``first`` is the number of that line, and ``path`` is the path of the map or list. It ends with
    its last bracket, or before the first line that is not indented deeper than ``limit``.
    """
    entries: list[TextEntry] = []
    slots: list[Path] = []  # the place in each open map and list, without a name before its key

    def add(token: _Token, column: int, path: Path, text: str, *, scalar: bool) -> None:
        entries.append(TextEntry(token.line, path, column, column, column, text, scalar=scalar))

    for token in _tokens(lines, first, column, limit):
        match token.kind:
            case "open":
                holder = slots[-1] if slots else path
                slots.append((*holder, "" if token.text == "{" else 0))
                add(token, token.start + 1, slots[-1], "", scalar=token.text == "[")
            case "comma":
                last = slots[-1][-1]
                slots[-1] = (*slots[-1][:-1], last + 1 if isinstance(last, int) else "")
                add(token, token.start + 1, slots[-1], "", scalar=isinstance(last, int))
            case "close":
                add(token, token.start + 1, (*slots.pop()[:-1], ""), "", scalar=True)
            case "comment":
                add(token, token.start, (*slots[-1][:-1], ""), "", scalar=True)
            case "key" if slots[-1][-1] == "":
                slots[-1] = (*slots[-1][:-1], token.text.strip("'\""))
                end = token.start + len(token.text)
                entries.append(TextEntry(token.line, slots[-1], token.start, end, token.value, ""))
            case "word" if entries[-1].value == token.start and entries[-1].end > entries[-1].start:
                entries[-1] = structs.replace(entries[-1], text=token.text)
            case _:
                scalar = slots[-1][-1] != ""
                add(token, token.start, slots[-1], token.text, scalar=scalar)
    return entries


def _tokens(lines: Sequence[str], first: int, column: int, limit: int) -> Iterator[_Token]:
    depth, quote = 0, ""
    for number, line in enumerate(lines, first):
        at = column
        if number > first:
            content = line.lstrip()
            indent = len(line) - len(content)
            if content and indent <= limit and content[0] not in "]}":
                return
            if (not content and indent <= limit) or (content.startswith("#") and not quote):
                continue
            yield _Token("line", number, 0, "")
            at = indent
        if quote:
            closing = _REST[quote].match(line, at)
            assert closing is not None
            yield _Token("word", number, at, closing[0])
            at, quote = closing.end(), "" if closing[1] else quote
        while at < len(line):
            token = _TOKEN.match(line, at)
            if token is None:
                at += 1
                continue
            at = token.end()
            yield _read_token(token, number, line)
            depth += (token["open"] is not None) - (token["close"] is not None)
            if depth == 0:
                return
            if token["double"] is not None or token["single"] is not None:
                quote = token["word"][0]


def _read_token(token: re.Match[str], number: int, line: str) -> _Token:
    if token["word"] is None:
        kind: Literal["open", "close", "comma", "comment"] = next(
            name for name in ("open", "close", "comma", "comment") if token[name] is not None
        )
        return _Token(kind, number, token.start(), token[0])
    if token["colon"] is None:
        return _Token("word", number, token.start(), token["word"])
    value = len(line) - len(line[token.end() :].lstrip())
    return _Token("key", number, token.start(), token["word"], value)
