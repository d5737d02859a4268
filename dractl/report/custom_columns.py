"""Tables of columns that a user names, as ``kubectl get -o custom-columns=`` has them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from dractl.errors import UsageError
from dractl.model.nearest import nearest
from dractl.report.jsonpath import Path, find, first_names, format_value, parse_path

_MISSING = "<none>"
_GAP = 3  # blanks between columns


class Column(Struct, frozen=True):
    """One column: its header, and the path to its values."""

    header: str
    path: Path


def parse_columns(text: str, fields: Collection[str]) -> tuple[Column, ...]:
    """Parse ``HEADER:.path,...``; ``fields`` are the fields of each object.

    Raises UsageError for a column without header or path, and for a field that does not exist.
    """
    columns = []
    for part in text.split(","):
        header, colon, path_text = part.partition(":")
        if not (header.strip() and colon and path_text.strip()):
            raise UsageError(
                f"-o custom-columns: {part!r} is no HEADER:.path",
                hint=f"write NODE:.node,DEVICE:.device; fields are {', '.join(fields)}",
            )
        path = parse_path(path_text)
        for name in first_names(path):
            if name not in fields:
                near = nearest(name, fields)
                raise UsageError(
                    f"-o custom-columns: unknown field .{name}"
                    + (f"; did you mean .{near}?" if near else ""),
                    hint=f"fields are {', '.join(fields)}",
                )
        columns.append(Column(header.strip(), path))
    return tuple(columns)


def render(
    columns: Sequence[Column], objects: Iterable[Mapping[str, Any]], *, headers: bool
) -> str:
    """Return the table: a line for each object, below a line of headers."""
    rows = [tuple(column.header for column in columns)] if headers else []
    rows += [tuple(_cell(column, value) for column in columns) for value in objects]
    widths = [max(map(len, cells)) + _GAP for cells in zip(*rows, strict=True)]
    lines = (
        "".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "".join(f"{line}\n" for line in lines)


def _cell(column: Column, value: Mapping[str, Any]) -> str:
    values = [each for each in find(column.path, value, value) if each is not None]
    return ",".join(map(format_value, values)) if values else _MISSING
