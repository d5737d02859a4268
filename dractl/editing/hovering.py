"""What an editor shows beside the word under the pointer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dractl.editing import expressions, fields, published
from dractl.editing.places import place_at, split_lines, unquoted
from dractl.lint.published import CLASSES
from dractl.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dractl.editing.places import Place
    from dractl.model import Target

_STRING = re.compile(r"""(["'])([^"']*)\1""")


class Hover(NamedTuple):
    """Markdown about ``start`` to ``end``, two columns of the line."""

    text: str
    start: int
    end: int


def hover(text: str, line: int, column: int, target: Target) -> Hover | None:
    """What is known about the field, class, driver, attribute or capacity at a position; None where nothing is."""
    place = place_at(text, line, column)
    if place is None:
        return None
    current = split_lines(text)[line]
    if place.expression:
        return _in_expression(expressions.plain(current), column)
    if place.key:
        said = fields.described(place.outline, place.path, target)
        return _around(said, place, column)
    return _around(_of_value(place), place, column)


def _around(said: str | None, place: Place, column: int) -> Hover | None:
    return None if said is None else Hover(said, column - len(place.before), column + len(place.after.rstrip()))


def _in_expression(line: str, column: int) -> Hover | None:
    for match in expressions.LOOKUP.finditer(line):
        if match.start("name") <= column <= match.end("name"):
            items = published.of_name(match["kind"], f"{match['domain'].strip()}/{match['name']}")
            return Hover(published.described(items), *match.span("name")) if items else None
    for match in _STRING.finditer(line):
        if match.start() <= column <= match.end() and match[2].strip() in published.drivers():
            return Hover(published.described_driver(match[2].strip()), *match.span())
    return None


def _of_value(place: Place) -> str | None:
    value = unquoted(place.before + place.after)
    match place.path[-1]:
        case "deviceClassName":
            return _described_class(value, CLASSES)
        case "matchAttribute" | "distinctAttribute":
            items = published.of_name("attributes", value)
            return published.described(items) if items else None
        case "driver":
            return published.described_driver(value) if value in published.drivers() else None
    return None


def _described_class(name: str, classes: Mapping[str, tuple[str, ...]]) -> str | None:
    if name not in classes:
        return None
    selectors = "\n".join(classes[name])
    return f"**{name}**: DeviceClass that a driver's installation includes\n\n```cel\n{selectors}\n```"
