"""The data of the ConfigMaps that a kustomization generates (kustomize api/kv/kv.go)."""

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from dractl.manifests import Document
from dractl.manifests.documents import DoubledKey, Path, Spot
from dractl.manifests.naming import display_path
from dractl.manifests.source import Position, Source
from dractl.manifests.text import decode
from dractl.objects import items


class GeneratedData(Struct, frozen=True):
    """The data of a generated ConfigMap."""

    values: dict[str, str]
    """The texts of literals and of lines of env files, by key."""
    spots: dict[str, Spot]
    """The places where people write these texts."""
    files: dict[str, str]
    """The paths of the files whose whole text is a value, by key."""


def generate(
    home: Document, number: int, row: Mapping[str, Any], read: Callable[[str], bytes]
) -> GeneratedData:
    """Return the data of an entry of ``configMapGenerator`` in a kustomization."""
    made = GeneratedData({}, {}, {})
    folder = os.path.dirname(os.path.abspath(home.file))
    for text in items(row.get("files")):
        key, equals, name = str(text).rpartition("=")
        path = os.path.normpath(os.path.join(folder, name))
        made.files[key if equals else os.path.basename(name)] = path
    names = [row["env"]] if isinstance(row.get("env"), str) else []
    for name in (*names, *items(row.get("envs"))):
        path = os.path.normpath(os.path.join(folder, str(name)))
        if not os.path.isfile(path):
            continue  # a file that is written before kustomize runs, such as one of secrets
        document = _read_env(display_path(path), decode(read(path)))
        for key, text in document.value.items():
            made.values[key] = text
            made.spots[key] = Spot(document, (key,))
    for place, text in enumerate(items(row.get("literals"))):
        key, _, literal = str(text).partition("=")
        made.values[key] = literal.strip("\"'")
        made.spots[key] = Spot(home, ("configMapGenerator", number, "literals", place))
    return made


def _read_env(name: str, text: str) -> Document:
    """Return the variables in an env file, each with its place in the file."""
    values: dict[str, Any] = {}
    positions: dict[str, Position] = {}
    source = Source(name, text)
    for key, start, end in _list_variables(text):
        values[key] = text[start:end]
        positions[key] = source.position(start, max(end, start + 1))
    return Document(name, 0, values, _EnvPlaces(source, positions))


def _list_variables(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the variables of an env file, with the offsets of their values; lines without ``=`` are
    left out, since kustomize takes their values from its own environment.
    """
    start = 0
    for line in text.splitlines(keepends=True):
        variable = line.lstrip().rstrip("\r\n")
        key, equals, value = variable.partition("=")
        if equals and not variable.startswith("#"):
            end = start + len(line.rstrip("\r\n"))
            yield key, end - len(value), end
        start += len(line)


class _EnvPlaces:
    """Finds the values of an env file."""

    def __init__(self, source: Source, positions: Mapping[str, Position]) -> None:
        self._source = source
        self._positions = positions

    def locate(self, path: Path, *, key: bool, offset: int | None) -> Position:  # noqa: ARG002
        return self._positions.get(str(path[0]) if path else "") or self._source.position(0)

    def source(self, path: Path) -> Spot | None:  # noqa: ARG002
        return None

    def faults(self) -> tuple[DoubledKey, ...]:
        return ()

    def line(self, number: int) -> str:
        return self._source.line(number)

    def text(self) -> str:
        return self._source.text
