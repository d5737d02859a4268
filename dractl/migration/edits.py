"""Changes of a document, made to its value and to its text alike."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.lint.finding import Edit
from dractl.lint.fixes import removal
from dractl.manifests import Document, Position
from dractl.manifests.documents import Path


class Remove(Struct, frozen=True):
    """Removes a key of a map; comments on its lines stay, but where they are ``moved``."""

    path: Path
    moved: bool = False


class Prepend(Struct, frozen=True):
    """Puts items in front of a list of the map at ``path``, which is made before the key ``before``
    where it lacks.

    ``alone``: every other key of that map is removed. ``comment`` stands behind the first item in block style.
    ``inside``: the key of a map that is made for the list.
    """

    path: Path
    key: str
    items: tuple[Mapping[str, str], ...]
    before: str
    alone: bool = False
    comment: str = ""
    inside: str = ""


class Put(Struct, frozen=True):
    """Puts a text into the map at ``path``, before its other keys."""

    path: Path
    key: str
    value: str


Alteration = Remove | Prepend | Put


class Unclear(Exception):
    """The text of a change cannot be told."""


def change(value: Any, wanted: Alteration) -> None:
    """Makes a change in a value."""
    holder = value
    for step in wanted.path[:-1] if isinstance(wanted, Remove) else wanted.path:
        holder = holder[step]
    if isinstance(wanted, Remove):
        del holder[wanted.path[-1]]
    elif isinstance(wanted, Put):
        holder[wanted.key] = wanted.value
    else:
        if wanted.inside:
            holder = holder.setdefault(wanted.inside, {})
        holder[wanted.key] = [dict(item) for item in wanted.items] + (holder.get(wanted.key) or [])


def edit(document: Document, wanted: Alteration) -> Edit:
    """Return the edit of the text; raises Unclear where it is not plain."""
    if isinstance(wanted, Put):
        return _put(document, wanted)
    return _cut(document, wanted) if isinstance(wanted, Remove) else _prepended(document, wanted)


def comments(document: Document, path: Path) -> str:
    """Return the comments that the removal of a key leaves behind, in one line."""
    found = removal(document, path)
    return " ".join(found.text.split()) if found else ""


def _cut(document: Document, wanted: Remove) -> Edit:
    found = removal(document, wanted.path)
    if found is None:
        raise Unclear
    return replace(found, text="") if wanted.moved else found


def _put(document: Document, wanted: Put) -> Edit:
    place, present = document.locate(wanted.path), document.at(wanted.path)
    written = f'{wanted.key}: "{wanted.value}"'
    if document.line(place.line)[place.column - 1 : place.column] == "{":
        comma = ", " if present else ""
        return Edit(_at(place, place.line, place.column + 1), written + comma)
    if not present:
        raise Unclear
    first = document.locate((*wanted.path, next(iter(present))), key=True)
    indent = document.line(first.line)[: first.column - 1]
    if indent.strip():
        raise Unclear
    return Edit(_at(first, first.line, 1), f"{indent}{written}\n")


def _prepended(document: Document, wanted: Prepend) -> Edit:
    existing = document.at((*wanted.path, wanted.key))
    where = (*wanted.path, wanted.key) if existing else wanted.path
    place = document.locate(where)
    opening = document.line(place.line)[place.column - 1 : place.column]
    flow = ", ".join(
        "{" + ", ".join(f"{k}: {v}" for k, v in item.items()) + "}" for item in wanted.items
    )
    if opening in ("[", "{"):
        inside = Position(place.file, place.line, place.column + 1, place.line, place.column + 1)
        comma = "" if wanted.alone else ", "
        made = f"{wanted.key}: [{flow}]"
        made = f"{wanted.inside}: {{{made}}}" if wanted.inside else made
        return Edit(inside, f"{flow}, " if opening == "[" else f"{made}{comma}")
    if wanted.key in document.at(wanted.path) and not existing:
        raise Unclear
    anchor = (
        document.locate((*where, 0))
        if existing
        else document.locate((*where, wanted.before), key=True)
    )
    prefix = document.line(anchor.line)[: anchor.column - 1]
    if existing:
        if prefix.strip() != "-":
            raise Unclear
        indent = prefix[: prefix.index("-")]
        return Edit(_at(anchor, anchor.line, 1), _block(wanted, indent))
    indent = " " * len(prefix)
    deeper = f"{indent}  " if wanted.inside else indent
    head = f"{indent}{wanted.inside}:\n" if wanted.inside else ""
    text = f"{head}{deeper}{wanted.key}:\n{_block(wanted, deeper)}"
    if not prefix.strip():
        line = anchor.line
        # A comment stays with what it is about
        while line > 1 and document.line(line - 1).startswith(f"{indent}#"):
            line -= 1
        return Edit(_at(anchor, line, 1), text)
    return Edit(_at(anchor, anchor.line, anchor.column), text[len(indent) :] + indent)


def _block(wanted: Prepend, indent: str) -> str:
    lines = []
    for item in wanted.items:
        lines += [
            f"{indent}{'- ' if not at else '  '}{key}: {value}\n"
            for at, (key, value) in enumerate(item.items())
        ]
    if wanted.comment:
        lines[0] = f"{lines[0][:-1]}  {wanted.comment}\n"
    return "".join(lines)


def _at(place: Position, line: int, column: int) -> Position:
    return Position(place.file, line, column, line, column)
