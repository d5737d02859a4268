"""The description of the word at a position, which an editor shows."""

from msgspec import Struct

from dractl.cel.lookups import from_tokens
from dractl.cel.tokens import tokenize
from dractl.editing import expressions, fields, published
from dractl.editing.places import Cursor, place_at, strip_quotes
from dractl.lint.published import classes
from dractl.model import Target


class Hover(Struct, frozen=True):
    """A description of a word of one line."""

    text: str
    """Markdown."""
    start: int
    """The first column of the word."""
    end: int
    """The column behind that word."""


def hover(text: str, line: int, column: int, target: Target) -> Hover | None:
    """Return a description of the field, class, driver, attribute or capacity at a position; None
    if there is none.
    """
    place = place_at(text, line, column)
    if place is None:
        return None
    if place.expression:
        return _in_expression(place, column)
    if place.key:
        description = fields.describe_field(place.outline, place.path, target)
        return _hover_over(description, place, column)
    return _hover_over(_describe_value(place), place, column)


def _hover_over(description: str | None, place: Cursor, column: int) -> Hover | None:
    return (
        None
        if description is None
        else Hover(description, column - len(place.before), column + len(place.after.rstrip()))
    )


def _in_expression(place: Cursor, column: int) -> Hover | None:
    text, shift = expressions.blank_quotes(place.before + place.after), column - len(place.before)
    at = column - shift
    for lookup in from_tokens(text):
        start, end = lookup.name_span
        if lookup.name is not None and start <= at <= end:
            items = published.rows_of_name(
                lookup.kind, f"{lookup.domain.strip()}/{lookup.name.strip()}"
            )
            return (
                Hover(published.describe_rows(items), shift + start, shift + end) if items else None
            )
    for token in tokenize(text):
        name = (token.content or "").strip() if token.kind == "string" else ""
        if token.start <= at <= token.end and name in published.drivers():
            return Hover(published.describe_driver(name), shift + token.start, shift + token.end)
    return None


def _describe_value(place: Cursor) -> str | None:
    value = strip_quotes(place.before + place.after)
    match place.path[-1]:
        case "deviceClassName":
            return _describe_class(value)
        case "matchAttribute" | "distinctAttribute":
            items = published.rows_of_name("attributes", value)
            return published.describe_rows(items) if items else None
        case "driver":
            return published.describe_driver(value) if value in published.drivers() else None
    return None


def _describe_class(name: str) -> str | None:
    installed = classes().get(name)
    if installed is None:
        return None
    selectors = "\n".join(installed.selectors)
    return (
        f"**{name}**: DeviceClass that a driver's installation includes\n\n```cel\n{selectors}\n```"
    )
