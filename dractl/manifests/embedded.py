"""Objects inside other objects: in the values of a HelmRelease, the objects of an OpenShift
Template, the text of a ConfigMap, the inline patches of a kustomization.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from dractl.manifests import yamltext
from dractl.manifests.documents import Document, DoubledKey, Embedding, Path, Within
from dractl.manifests.load import read_text
from dractl.manifests.source import Position, Source

_MAX_DEPTH = 32


def objects_within(document: Document, group: str) -> Iterator[Document]:
    """Yield the objects of an API group inside a document of another group: maps with
    ``apiVersion``, ``kind`` and ``spec`` or ``metadata`` (a map without the last two only refers to
    an object), and the YAML of strings. Their places are positions in the containing file.
    """
    mark = f"{group}/"
    stack: list[tuple[Path, Any]] = [((), document.value)]
    while stack:
        path, value = stack.pop()
        if len(path) > _MAX_DEPTH:
            continue
        if isinstance(value, dict):
            if path and "kind" in value and str(value.get("apiVersion")).startswith(mark):
                if "spec" not in value and "metadata" not in value:
                    continue
                part = document.part(path)
                yield _body(part) if path[-2:-1] == ("rawResources",) else part
                continue
            stack.extend([((*path, name), item) for name, item in value.items()][::-1])
        elif isinstance(value, list):
            stack.extend([((*path, at), item) for at, item in enumerate(value)][::-1])
        elif isinstance(value, str) and mark in value and "kind:" in value:
            yield from _in_text(document, path, value, mark)


def _body(raw: Document) -> Document:
    """Return the object that an entry of ``rawResources`` describes. All fields of the object
    except its metadata are in the entry's ``spec``, a form that bjw-s' common chart had before
    ``manifest`` (charts/library/common/templates/classes/_rawResource.tpl). An entry that is
    complete by itself is left alone.
    """
    fields = raw.value.get("spec")
    for _ in range(2 if raw.kind == "ResourceClaimTemplate" else 1):
        if not isinstance(fields, dict) or set(fields) != {"spec"}:
            return raw
        fields = fields["spec"]
    value = {**raw.value, **raw.value["spec"]}
    return raw.another(value, _BodyPlaces(raw))


class _BodyPlaces(Within):
    """Finds the values of an object whose ``spec`` is in the ``spec`` of another map."""

    def _outward(self, path: Path) -> Path:
        return ("spec", *path) if path[:1] == ("spec",) else path

    def locate(self, path: Path, *, key: bool, offset: int | None) -> Position:
        return self._outer.locate(self._outward(path), key=key, offset=offset)

    def faults(self) -> Sequence[DoubledKey]:
        return [
            replace(fault, path=fault.path[1:]) if fault.path[:2] == ("spec", "spec") else fault
            for fault in self._outer.faults
        ]


def _in_text(document: Document, path: Path, text: str, mark: str) -> Iterator[Document]:
    for item in in_text(document, path, text):
        if isinstance(item.value, dict) and (item.api_version or "").startswith(mark):
            yield item


def in_text(document: Document, path: Path, text: str) -> Iterator[Document]:
    """Yield the YAML documents in the string at a path of a document."""
    source = Source(document.file, text)
    for number, item in enumerate(yamltext.read(source)):
        if isinstance(item, Document):
            inner = document.another(item.value, _TextPlaces(document, path, item, source))
            embedding = Embedding(document, path, number)
            inner.provenance = replace(inner.provenance, embedding=embedding)
            yield inner


def read_again(document: Document, text: str) -> Document | None:
    """Return the same document in another text of its file; None if it is no longer there."""
    home = document.embedding
    if home is None:
        items = read_text(document.file, text)
        others = (item for item in items if isinstance(item, Document))
        return next((item for item in others if item.index == document.index), None)
    outer = read_again(home.document, text)
    inner = outer.at(home.path) if outer is not None else None
    if outer is None or not isinstance(inner, str):
        return None
    parts = in_text(outer, home.path, inner)
    same = (item for item in parts if item.embedding and item.embedding.number == home.number)
    return next(same, None)


def is_inline_patch(document: Document) -> bool:
    """Return True for the text of an inline patch: in a kustomization, or in the input that Flux
    and Argo CD pass to kustomize.
    """
    home = document.embedding
    return home is not None and home.path[-1:] == ("patch",) and home.path[-3:-2] == ("patches",)


class _TextPlaces(Within):
    """Finds the values of a document whose text is a scalar in another document."""

    def __init__(self, outer: Document, path: Path, inner: Document, source: Source) -> None:
        super().__init__(outer)
        self._path = path
        self._inner = inner
        self._source = source

    def locate(self, path: Path, *, key: bool, offset: int | None) -> Position:
        place = self._inner.locate(path, key=key, offset=offset)
        start = self._source.offset(place.line, place.column)
        end = max(start + 1, self._source.offset(place.end_line, place.end_column))
        first = self._outer.locate(self._path, offset=start)
        last = self._outer.locate(self._path, offset=end - 1)
        return Position(first.file, first.line, first.column, last.end_line, last.end_column)

    def faults(self) -> Sequence[DoubledKey]:
        return self._inner.faults
