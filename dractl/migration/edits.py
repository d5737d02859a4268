"""Changes of a document, applied both to its value and to its text."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.lint.finding import Edit
from dractl.lint.fixes import removal
from dractl.manifests import Document, Position
from dractl.manifests.documents import Path


class Remove(Struct, frozen=True):
    """The removal of a key from a map; comments on its lines stay unless they are moved."""

    path: Path
    """The path of the key."""
    moved: bool = False
    """True if the comments on its lines are moved to another place."""


class Prepend(Struct, frozen=True):
    """Items that are inserted at the beginning of a list in a map."""

    path: Path
    """The path of the map."""
    key: str
    """The key of the list."""
    items: tuple[Mapping[str, str], ...]
    """The items, whose values are strings."""
    before: str
    """If the map has no list under ``key`` yet, the list is inserted before this key of the map."""
    alone: bool = False
    """True if every other key of the map is removed."""
    comment: str = ""
    """A comment after the first item in block style."""
    inside: str = ""
    """The key of a map that is created for the list; empty if the list is directly in the map."""


class Put(Struct, frozen=True):
    """A text that is inserted into a map, before its other keys."""

    path: Path
    """The path of the map."""
    key: str
    """The key of the text."""
    value: str
    """The text."""


Alteration = Remove | Prepend | Put


class Unclear(Exception):
    """The change to the text cannot be determined."""


def change(value: Any, alteration: Alteration) -> None:
    """Apply a change to a value."""
    holder = value
    for step in alteration.path[:-1] if isinstance(alteration, Remove) else alteration.path:
        holder = holder[step]
    if isinstance(alteration, Remove):
        del holder[alteration.path[-1]]
    elif isinstance(alteration, Put):
        holder[alteration.key] = alteration.value
    else:
        if alteration.inside:
            holder = holder.setdefault(alteration.inside, {})
        items = [dict(item) for item in alteration.items]
        holder[alteration.key] = items + (holder.get(alteration.key) or [])


def edit(document: Document, alteration: Alteration) -> Edit:
    """Return the edit of the text; raises Unclear if it cannot be determined."""
    if isinstance(alteration, Put):
        return _put(document, alteration)
    return (
        _cut(document, alteration)
        if isinstance(alteration, Remove)
        else _prepend(document, alteration)
    )


def comments(document: Document, path: Path) -> str:
    """Return the comments that remain after the removal of a key, in one line."""
    edit_of_removal = removal(document, path)
    return " ".join(edit_of_removal.text.split()) if edit_of_removal else ""


def _cut(document: Document, removed: Remove) -> Edit:
    edit_of_removal = removal(document, removed.path)
    if edit_of_removal is None:
        raise Unclear
    return replace(edit_of_removal, text="") if removed.moved else edit_of_removal


def _put(document: Document, added: Put) -> Edit:
    place, present = document.locate(added.path), document.at(added.path)
    written = f'{added.key}: "{added.value}"'
    if document.line(place.line)[place.column - 1 : place.column] == "{":
        comma = ", " if present else ""
        return Edit(_empty_range(place, place.line, place.column + 1), written + comma)
    if not present:
        raise Unclear
    first = document.locate((*added.path, next(iter(present))), key=True)
    indent = document.line(first.line)[: first.column - 1]
    if indent.strip():
        raise Unclear
    return Edit(_empty_range(first, first.line, 1), f"{indent}{written}\n")


def _prepend(document: Document, added: Prepend) -> Edit:
    existing = document.at((*added.path, added.key))
    target = (*added.path, added.key) if existing else added.path
    place = document.locate(target)
    opening = document.line(place.line)[place.column - 1 : place.column]
    flow = ", ".join(
        "{" + ", ".join(f"{k}: {v}" for k, v in item.items()) + "}" for item in added.items
    )
    if opening in ("[", "{"):
        inside = Position(place.file, place.line, place.column + 1, place.line, place.column + 1)
        comma = "" if added.alone else ", "
        entry = f"{added.key}: [{flow}]"
        entry = f"{added.inside}: {{{entry}}}" if added.inside else entry
        return Edit(inside, f"{flow}, " if opening == "[" else f"{entry}{comma}")
    if added.key in document.at(added.path) and not existing:
        raise Unclear
    anchor = (
        document.locate((*target, 0))
        if existing
        else document.locate((*target, added.before), key=True)
    )
    prefix = document.line(anchor.line)[: anchor.column - 1]
    if existing:
        if prefix.strip() != "-":
            raise Unclear
        indent = prefix[: prefix.index("-")]
        return Edit(_empty_range(anchor, anchor.line, 1), _block(added, indent))
    indent = " " * len(prefix)
    deeper = f"{indent}  " if added.inside else indent
    head = f"{indent}{added.inside}:\n" if added.inside else ""
    text = f"{head}{deeper}{added.key}:\n{_block(added, deeper)}"
    if not prefix.strip():
        line = anchor.line
        # A comment stays with the item that it is about
        while line > 1 and document.line(line - 1).startswith(f"{indent}#"):
            line -= 1
        return Edit(_empty_range(anchor, line, 1), text)
    return Edit(_empty_range(anchor, anchor.line, anchor.column), text[len(indent) :] + indent)


def _block(added: Prepend, indent: str) -> str:
    lines = []
    for item in added.items:
        lines += [
            f"{indent}{'- ' if not at else '  '}{key}: {value}\n"
            for at, (key, value) in enumerate(item.items())
        ]
    if added.comment:
        lines[0] = f"{lines[0][:-1]}  {added.comment}\n"
    return "".join(lines)


def _empty_range(place: Position, line: int, column: int) -> Position:
    return Position(place.file, line, column, line, column)
