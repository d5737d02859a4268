"""Documents rendered from a chart, placed in the templates that they come from."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from dractl.manifests.documents import Document, DoubledKey, Path, Provenance, Spot
from dractl.manifests.naming import display_path
from dractl.manifests.source import Position, Source
from dractl.manifests.templates import fill, list_inserted_values

Renderer = Callable[[str], Sequence["Rendered"]]
"""A function that renders the chart in a folder, once with each of several values."""
Builder = Callable[[str], "Rendered"]
"""A function that builds the kustomization in a folder."""


class Rendered(Struct, frozen=True):
    """The manifests of a chart or a kustomization, or the reason why there are none."""

    data: bytes | None
    """The manifests; None if there are none."""
    why: str | None = None
    """The reason why there are none; None if no program could render them."""
    base: str = ""
    """The folder to which the origins of a kustomization's objects are relative."""
    values: tuple[str, ...] = ()
    """Values files beside the chart's own; the last one takes precedence."""
    is_variant: bool = False
    """True if the chart was also rendered with other values before."""


def in_template(
    document: Document,
    template: Source,
    values: Sequence[Document] = (),
    variant: str | None = None,
) -> Document:
    """Return a rendered document with places in its template, as near as possible. A value is
    placed at the line that makes its text, or else at a line with the same key, or else at the
    first line. What that line inserts is placed in the first of the ``values`` that has it.
    """
    beside = f" with {display_path(variant)}" if variant is not None else ""
    return Document(
        template.name,
        document.index,
        document.value,
        _TemplatePlaces(document, template, values),
        provenance=Provenance(
            origin=f"{document.origin}{beside}",
            rendered=f"{document.file}{beside}",
            variant=variant,
            layers=values,
        ),
    )


class _TemplatePlaces:
    def __init__(self, document: Document, template: Source, values: Sequence[Document]) -> None:
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
        inside = self._in_values(line, self._document.at(path), offset) if not key else None
        if inside is not None:
            return inside
        start = len(line) - len(line.lstrip()) + 1
        return Position(
            self._template.name, number, start, number, max(start + 1, len(line.rstrip()) + 1)
        )

    def source(self, path: Path) -> Spot | None:
        """Return the value that a line of the template inserts, if it inserts nothing else."""
        place = self._document.locate(path, key=False, offset=None)
        written = self._document.line(place.line)
        number = self._line(written.strip(), place.line)
        line = self._lines[number - 1] if number <= len(self._lines) else ""
        value = self._document.at(path)
        if line.strip() == written.strip() or isinstance(value, dict | list):
            return None
        for name in list_inserted_values(line):
            values = self._holder(name)
            if values is not None and values.at(name) == value:
                return Spot(values, name)
        return None

    def _in_values(self, line: str, value: Any, offset: int | None) -> Position | None:
        """Return the place of the value that a line inserts as ``value``, or as the only inserted
        part of ``value``. None if the character at ``offset`` is not in this part.
        """
        if isinstance(value, dict) and len(value) == 1:
            (value,) = value.values()  # such as a container's claim with its name
        names = list_inserted_values(line)
        held = [(name, values) for name in names if (values := self._holder(name)) is not None]
        same = [(name, values) for name, values in held if values.at(name) == value]
        if same:
            name, values = same[0]
            return values.locate(name, offset=offset)
        if len(names) != 1 or not held or not isinstance(value, str):
            return None
        ((name, values),) = held
        part = values.at(name)
        start = value.find(part) if isinstance(part, str) else -1
        if start < 0:
            return None
        if offset is None:
            return values.locate(name)
        is_inside = start <= offset < start + len(part)
        return values.locate(name, offset=offset - start) if is_inside else None

    def _holder(self, name: Path) -> Document | None:
        """Return the values file that determines a name."""
        return next((values for values in self._values if values.at(name) is not None), None)

    def _line(self, written: str, near: int) -> int:
        """Return the number of the template's line that produced a rendered line.

        If several lines have the same key, a line whose values make the same text is preferred,
        then the line with the most matching lines above it, then the nearest line.
        """
        key = _key(written)
        alike = [at for at, line in enumerate(self._lines, 1) if _key(line) == key]
        if len(alike) < 2:
            return alike[0] if alike else 1
        return min(
            alike,
            key=lambda at: (
                not self._makes(self._lines[at - 1], written),
                -self._count_context(at, near),
                abs(at - near),
            ),
        )

    def _makes(self, line: str, written: str) -> bool:
        """Return True if a line of the template makes a rendered line, as far as the values are
        known.
        """
        if line.strip() == written.strip():
            return True
        values: Any = {}
        for name in list_inserted_values(line)[:1]:
            holder = self._holder(name)
            values = holder.at(name) if holder is not None else None
            for part in reversed(name):
                values = {part: values}
        chart = (self._document.origin or "").partition("/")[0]
        return (fill(line, values, chart) or "").strip() == written.strip()

    def _count_context(self, at: int, near: int) -> int:
        """Return how many lines above a template's line make the corresponding lines above a
        rendered line. The count ends at the first pair of lines with different keys.
        """
        count = 0
        above = zip(
            _read_up(at, lambda number: self._lines[number - 1]),
            _read_up(near, self._document.line),
            strict=False,
        )
        for line, written in above:
            if _key(line) != _key(written):
                break
            count += self._makes(line, written)
        return count

    def faults(self) -> Sequence[DoubledKey]:
        return self._document.faults

    def line(self, number: int) -> str:
        return self._template.line(number)

    def text(self) -> str:
        return self._template.text


def _key(line: str) -> str:
    return line.strip().lstrip("- ").partition(":")[0]


def _read_up(number: int, read: Callable[[int], str]) -> Iterator[str]:
    """Yield the lines above a line, the nearest first. Empty lines, and lines with only a comment
    or an action such as ``{{- if }}``, are left out.
    """
    lines = (read(each) for each in range(number - 1, 0, -1))
    return (line for line in lines if line.strip() and not line.lstrip().startswith(("#", "{{")))
