"""The place of a position in a YAML text, determined by indentation, since a text that is
being typed is rarely valid, and in flow style (``{a: b}``) by brackets.
"""

import re

from msgspec import Struct

from dractl.editing.entries import Path, TextEntry
from dractl.editing.flow_style import begins_flow, read_flow

_KEY = re.compile(r"""(?P<key>"[^"]*"|'[^']*'|[A-Za-z0-9_.$/-]+)\s*:(?=\s|$)""")
_BLOCK = re.compile(r"[|>][-+0-9]*\s*(?:#.*)?\Z")
_LINES = re.compile(r"\r\n?|\n")


class Outline(Struct, frozen=True):
    """The entries of one document of a text."""

    entries: tuple[TextEntry, ...]
    """The entries in the order of the text."""
    stack: tuple[tuple[int, str | int], ...]
    """The columns and path steps that are open at the end."""
    block: int | None
    """The column of the block scalar that is open at the end, to which lines with deeper
    indentation belong; None if none is open.
    """

    def value(self, *path: str | int) -> str | None:
        """Return the scalar at a path, without its quotes."""
        entry = next((e for e in self.entries if e.path == path and not e.scalar), None)
        return strip_quotes(entry.text) if entry and entry.text else None

    def children(self, path: Path) -> frozenset[str]:
        """Return the keys of the map at a path."""
        return frozenset(
            str(entry.path[-1])
            for entry in self.entries
            if len(entry.path) == len(path) + 1 and entry.path[:-1] == path
        )


class Cursor(Struct, frozen=True):
    """A position in a document."""

    outline: Outline
    """The outline of the whole document."""
    path: Path
    """The path of the key or value."""
    key: bool
    """True inside a key, or at a position where a key can begin."""
    before: str
    """The text of the key or value on this line that precedes the position."""
    after: str
    """The text of the key or value on this line that follows the position."""

    @property
    def expression(self) -> bool:
        """True if the position is inside a CEL expression."""
        return not self.key and self.path[-2:] == ("cel", "expression")


def split_lines(text: str) -> list[str]:
    """Return the lines of a text without line ends, divided as in YAML and in editors."""
    return _LINES.split(text)


def strip_quotes(text: str) -> str:
    """Return a scalar that is written on one line, without quotes and comment."""
    text = text.strip()
    if text[:1] in ("'", '"'):
        return text[1:].partition(text[0])[0]
    return re.split(r"\s#", text, maxsplit=1)[0].rstrip()


def place_at(text: str, line: int, column: int) -> Cursor | None:
    """Return the place of a position; None in a comment, on a separator, or outside the text."""
    lines = split_lines(text)
    if not 0 <= line < len(lines) or _separates(lines[line]):
        return None
    first = next((n + 1 for n in range(line - 1, -1, -1) if _separates(lines[n])), 0)
    last = next((n for n in range(line + 1, len(lines)) if _separates(lines[n])), len(lines))
    whole = outline(lines[first:last], first)
    above = outline(lines[first:line], first)
    current = lines[line]
    column = min(column, len(current))
    on_line = [entry for entry in whole.entries if entry.line == line]
    if not on_line:
        if current.lstrip().startswith("#"):
            return None
        return _on_blank_line(whole, above, current[:column], current[column:])
    here = next((entry for entry in reversed(on_line) if entry.start <= column), on_line[0])
    after = current[column : here.stop]
    if here.scalar:
        return Cursor(whole, here.path, key=False, before=current[:column], after=after)
    if here.start < here.end and column <= here.end:
        name = column >= here.start
        before = current[here.start : column] if name else ""
        return Cursor(
            whole,
            here.path,
            key=True,
            before=before,
            after=current[max(column, here.start) : here.end],
        )
    if column < here.value:
        if here.start == here.end:
            return None
        return Cursor(whole, here.path, key=False, before="", after=after)
    before = current[here.value : column]
    if here.start == here.end:  # an item or a word without a colon: it may become a key
        return Cursor(whole, here.path, key=True, before=before.lstrip(), after=after)
    return Cursor(whole, here.path, key=False, before=before, after=after)


def _on_blank_line(whole: Outline, above: Outline, before: str, after: str) -> Cursor | None:
    column = len(before)
    if above.block is not None and column > above.block:
        return Cursor(whole, tuple(step for _, step in above.stack), key=False, before="", after="")
    stack = list(above.stack)
    while stack and stack[-1][0] >= column:
        stack.pop()
    return Cursor(
        whole, (*(step for _, step in stack), ""), key=True, before="", after=after.strip()
    )


def _separates(line: str) -> bool:
    return line.startswith(("---", "..."))


def outline(lines: list[str], first: int = 0) -> Outline:
    """Return the entries of the lines of one document; ``first`` is the number of its
    first line.
    """
    entries: list[TextEntry] = []
    stack: list[tuple[int, str | int]] = []
    block: int | None = None

    def path() -> Path:
        return tuple(step for _, step in stack)

    def flow(number: int, column: int) -> list[TextEntry]:
        limit = stack[-1][0] if stack else -1
        return read_flow(lines[number - first :], number, column, path(), limit)

    for number, line in enumerate(lines, first):
        column = len(line) - len(line.lstrip(" "))
        if not line.strip() or (entries and number <= entries[-1].line):
            continue
        if block is not None:
            if column > block:
                entries.append(
                    TextEntry(number, path(), column, column, column, line.strip(), scalar=True)
                )
                continue
            block = None
        if line.lstrip().startswith("#"):
            continue
        while line[column : column + 2] == "- " or line[column:] == "-":
            _start_item(stack, column)
            column += 1
            column += len(line[column:]) - len(line[column:].lstrip(" "))
        match = _KEY.match(line, column)
        if match:
            while stack and stack[-1][0] >= column:
                stack.pop()
            stack.append((column, match["key"].strip("'\"")))
            value = match.end() + len(line[match.end() :]) - len(line[match.end() :].lstrip(" "))
            value_text = line[value:].strip()
            entries.append(TextEntry(number, path(), column, match.end() - 1, value, value_text))
            if _BLOCK.match(value_text):
                block = column
            elif begins_flow(value_text):
                entries += flow(number, value)
        elif stack and stack[-1][0] < column and _is_open(entries, path()):
            entries.append(
                TextEntry(number, path(), column, column, column, line.strip(), scalar=True)
            )
        elif begins_flow(line[column:]):
            entries += flow(number, column)
        else:  # a scalar item, or a word that may become a key
            outer = tuple(step for at, step in stack if at < column)
            entries.append(
                TextEntry(number, (*outer, ""), column, column, column, line[column:].strip())
            )
    return Outline(tuple(entries), tuple(stack), block)


def _start_item(stack: list[tuple[int, str | int]], column: int) -> None:
    """Count the next item of the list whose dashes are in a column."""
    while stack and stack[-1][0] > column:
        stack.pop()
    if stack and stack[-1][0] == column and isinstance(stack[-1][1], int):
        stack.append((column, int(stack.pop()[1]) + 1))
    else:
        stack.append((column, 0))


def _is_open(entries: list[TextEntry], path: Path) -> bool:
    """Return True if the value at a path has begun as a scalar, so that a line with deeper
    indentation continues it.
    """
    return bool(entries) and entries[-1].path == path and bool(entries[-1].text)
