"""Documents rendered from a chart, placed in the templates they come from."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from dractl.manifests.documents import Document, DoubledKey, Path
from dractl.manifests.source import Position, Source
from dractl.manifests.templates import inserted_values

Renderer = Callable[[str], "Rendered"]


class Rendered(Struct, frozen=True):
    """The manifests of a chart or a kustomization, or the reason why there are none; origins of a kustomization's
    objects are relative to ``base``."""

    data: bytes | None
    why: str | None = None
    base: str = ""


def in_template(document: Document, template: Source, values: Document | None = None) -> Document:
    """A rendered document with places in its template, as near as possible: the line with the same text, else one with
    the same key, else the first; what the line inserts is placed in the ``values`` of the chart."""
    locator = _TemplatePlaces(document, template, values)
    return Document(
        template.name, document.index, document.value, locator, origin=document.origin, rendered=document.file
    )  # fmt: skip


class _TemplatePlaces:
    def __init__(self, document: Document, template: Source, values: Document | None) -> None:
        self._values = values
        self._document = document
        self._template = template
        self._lines = template.text.splitlines()

    def locate(self, path: Path, *, key: bool, offset: int | None) -> Position:
        place = self._document.locate(path, key=key, offset=offset)
        written = self._document.line(place.line)
        number = self._line(written.strip(), place.line)
        line = self._lines[number - 1] if number <= len(self._lines) else ""
        if line.strip() == written.strip() and place.line == place.end_line:
            shift = (len(line) - len(line.lstrip())) - (len(written) - len(written.lstrip()))
            return Position(
                self._template.name, number, place.column + shift, number, place.end_column + shift
            )
        found = self._inserted(line, self._document.at(path)) if not key else None
        if found is not None and self._values is not None:
            whole = self._values.at(found) == self._document.at(path)
            return self._values.locate(found, offset=offset if whole else None)
        start = len(line) - len(line.lstrip()) + 1
        return Position(
            self._template.name, number, start, number, max(start + 1, len(line.rstrip()) + 1)
        )

    def _inserted(self, line: str, value: Any) -> tuple[str, ...] | None:
        """The path of the value that a line inserts as ``value``, or as the only part of it that varies."""
        if (
            isinstance(value, dict) and len(value) == 1
        ):  # such as a container's claim, which is just a name
            (value,) = value.values()
        names = inserted_values(line) if self._values is not None else []
        held = [(name, self._values.at(name)) for name in names if self._values is not None]
        same = [name for name, item in held if item is not None and item == value]
        part = [
            name
            for name, item in held
            if isinstance(item, str) and isinstance(value, str) and item in value
        ]
        return same[0] if same else part[0] if len(names) == 1 and part else None

    def _line(self, written: str, near: int) -> int:
        """The number of the template's line that produced a rendered line."""
        key = written.lstrip("- ").partition(":")[0]
        same = [at for at, line in enumerate(self._lines, 1) if line.strip() == written]
        alike = [
            at
            for at, line in enumerate(self._lines, 1)
            if line.strip().lstrip("- ").partition(":")[0] == key
        ]
        return min(same or alike or [1], key=lambda at: abs(at - near))

    def faults(self) -> Sequence[DoubledKey]:
        return self._document.faults

    def line(self, number: int) -> str:
        return self._template.line(number)

    def text(self) -> str:
        return self._template.text
