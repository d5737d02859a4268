"""Completions at a position: fields, classes, drivers, domains, attributes and their values."""

from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from dractl.cel.conditions import driver_comparisons
from dractl.editing import expressions, fields, published
from dractl.editing.entries import Path
from dractl.editing.places import Cursor, Outline, outline, place_at, split_lines, strip_quotes
from dractl.lint.published import classes, products
from dractl.model import Target
from dractl.validation.schemas import schemas_of
from dractl.validation.shapes import List, Map, Record
from dractl.validation.tolerations import OPERATORS, effects

Kind = Literal["field", "class", "driver", "domain", "attribute", "value"]

_GROUP = "resource.k8s.io"
_TOP = ("apiVersion", "kind", "metadata", "spec")
_MODES = ("ExactCount", "All")  # resource.k8s.io/v1 DeviceAllocationMode
"""``DeviceAllocationMode`` of resource.k8s.io/v1."""


class Completion(Struct, frozen=True):
    """Something that can be inserted at a position: it replaces the columns from ``start`` to the
    position.
    """

    label: str
    """The text that the editor lists."""
    kind: Kind
    start: int
    """The first of the columns that it replaces."""
    detail: str = ""
    """A text that fits on the line of the label, such as the type of a field."""
    about: str = ""
    """A description in Markdown; empty if there is none."""
    text: str | None = None
    """The text that is inserted; None for the label itself."""


def completions(text: str, line: int, column: int, target: Target) -> list[Completion]:
    """Return all known completions at a position, regardless of the text before it, since editors
    filter the list.
    """
    place = place_at(text, line, column)
    if place is None:
        return []
    if place.expression:
        return list(_in_expression(place, column))
    if place.key:
        return list(_fields(place, column, target))
    return list(_values(place, column, text, target))


def _in_expression(place: Cursor, column: int) -> Iterator[Completion]:
    wanted = expressions.word_before(place.before)
    if wanted is None:
        return
    start = column - len(wanted.word)
    match wanted.what:
        case "member":
            yield from (Completion(name, "field", start) for name in expressions.MEMBERS)
        case "domain":
            yield from (
                Completion(name, "domain", start) for name in published.domains(wanted.kind)
            )
        case "driver":
            yield from _drivers(start)
        case "name":
            for name, items in published.in_domain(wanted.kind, wanted.domain).items():
                yield Completion(
                    name, "attribute", start, items[0].type, published.describe_rows(items)
                )
        case "value":
            yield from (Completion(value, "value", start) for value in _string_values(wanted))


def _string_values(wanted: expressions.Word) -> list[str]:
    """Return the string values of an attribute, and the product names of known machines."""
    items = published.rows_of_name(wanted.kind, f"{wanted.domain}/{wanted.name}")
    values = [value for item in items for value in item.values if isinstance(value, str)]
    if wanted.name == "productName":
        values += products().get(wanted.domain, ())
    return list(dict.fromkeys(values))


def _fields(place: Cursor, column: int, target: Target) -> Iterator[Completion]:
    holder = place.path[:-1]
    start = column - len(place.before)
    shape = fields.shape_at(place.outline, holder, target)
    if isinstance(shape, Record):
        names: Iterable[str] = shape.names
    elif not holder:
        names = _TOP
    else:
        return
    written = place.outline.children(holder) - {place.path[-1]}
    for name in names:
        if name in written:
            continue
        path = (*holder, name)
        inner = shape.field(name) if isinstance(shape, Record) else None
        yield Completion(
            name,
            "field",
            start,
            inner.go if inner else "",
            fields.describe_field(place.outline, path, target) or "",
            f"{name}:" if isinstance(inner, Record | List | Map) else f"{name}: ",
        )


def _values(place: Cursor, column: int, text: str, target: Target) -> Iterator[Completion]:
    written = place.before.lstrip(" \"'")
    start = column - len(written)
    shape = fields.shape_at(place.outline, place.path, target)
    match place.path[-1]:
        case "apiVersion" if len(place.path) == 1:
            kind = place.outline.value("kind")
            schemas = schemas_of(target.release)
            api_versions = (
                schemas.versions(kind)
                if kind
                else tuple(f"{_GROUP}/v{f.rpartition('-v')[2]}" for f in schemas.files(_GROUP))
            )
            yield from (Completion(name, "value", start) for name in api_versions)
        case "kind" if len(place.path) == 1:
            api_version = place.outline.value("apiVersion") or f"{_GROUP}/v1"
            yield from (
                Completion(name, "value", start)
                for name in schemas_of(target.release).kinds_of(api_version)
            )
        case "deviceClassName":
            yield from (
                Completion(name, "class", start, "in this file") for name in _classes_of_text(text)
            )
            yield from (
                Completion(name, "class", start, "; ".join(installed_class.selectors))
                for name, installed_class in classes().items()
            )
        case "matchAttribute" | "distinctAttribute":
            for name in _rank_attributes(_list_drivers_of_requests(place, text)):
                items = published.rows_of_name("attributes", name)
                yield Completion(
                    name, "attribute", start, items[0].type, published.describe_rows(items)
                )
        case "driver":
            yield from _drivers(start)
        case "allocationMode":
            yield from (Completion(name, "value", start) for name in _MODES)
        case "operator" if "tolerations" in place.path:
            yield from (Completion(name, "value", start) for name in OPERATORS)
        case "effect":
            yield from (Completion(name, "value", start) for name in effects(target))
        case _ if shape is not None and shape.go == "bool":
            yield from (Completion(name, "value", start) for name in ("true", "false"))


def _list_drivers_of_requests(place: Cursor, text: str) -> frozenset[str]:
    """Return the drivers whose classes the document's requests name. A class of the text takes
    precedence over one that a driver installs under that name.
    """
    names = {
        strip_quotes(entry.text)
        for entry in place.outline.entries
        if entry.path[-1:] == ("deviceClassName",) and not entry.scalar
    }
    written, installed = _classes_of_text(text), classes()
    return frozenset[str]().union(
        *(_drivers_of_selectors(written[name]) for name in names & written.keys()),
        {installed[name].driver for name in names & installed.keys() - written.keys()},
    )


def _rank_attributes(drivers: frozenset[str]) -> list[str]:
    """Return the names of attributes, sorted by the number of ``drivers`` that publish them, then
    by the number of all drivers that do; the highest numbers come first.

    A constraint on an attribute that a device lacks is never satisfied.
    """
    publishers: dict[str, set[str]] = {}
    for item in published.by_kind("attributes"):
        publishers.setdefault(item.full_name, set()).add(item.driver)
    return sorted(
        publishers, key=lambda name: (-len(publishers[name] & drivers), -len(publishers[name]))
    )


def _drivers(start: int) -> Iterator[Completion]:
    yield from (
        Completion(name, "driver", start, about=published.describe_driver(name))
        for name in published.drivers()
    )


def _classes_of_text(text: str) -> dict[str, Outline]:
    """Return the outline of each DeviceClass of a text by its name."""
    outlines: dict[str, Outline] = {}
    document: list[str] = []
    for line in [*split_lines(text), "---"]:
        if not line.startswith("---"):
            document.append(line)
            continue
        entries = outline(document)
        name = entries.value("metadata", "name")
        if entries.value("kind") == "DeviceClass" and name:
            outlines[name] = entries
        document = []
    return outlines


def _drivers_of_selectors(document: Outline) -> frozenset[str]:
    """Return the drivers that the selectors of a DeviceClass name."""
    lines: dict[Path, list[str]] = {}
    for entry in document.entries:
        if entry.path[-2:] == ("cel", "expression"):
            lines.setdefault(entry.path, []).append(entry.text)
    return frozenset(
        str(literal.value)
        for parts in lines.values()
        for comparison in driver_comparisons(strip_quotes("\n".join(parts)))
        for literal in comparison.literals
    )
