"""The patches that a HelmRelease makes to the objects of its chart.

Source: fluxcd/helm-controller api/v2/helmrelease_types.go PostRenderer, Kustomize.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from dractl.manifests.documents import Document, Path, Spot, Within
from dractl.manifests.embedded import in_text
from dractl.manifests.source import Position

HELM = "helm.toolkit.fluxcd.io"
_FIELDS = ("patches", "patchesJson6902")
_SET = frozenset({"add", "replace"})
POST_RENDERERS: Path = ("spec", "postRenderers")


class PostPatch(Struct, frozen=True):
    """A patch of a HelmRelease on the objects of its chart."""

    path: Path
    """The path of its text, or of its operations, in the HelmRelease."""
    patch: Document
    """The patch: an object, or a list of operations."""
    target: Mapping[str, Any] | None
    """The objects that it changes; None if it names its object itself."""


class _Part(Struct, frozen=True):
    """A value that a patch sets."""

    path: Path
    """The path in the object that is patched."""
    value: Any
    spot: Spot
    """The place of the value in the patch."""


def list_post_patches(document: Document) -> Iterator[PostPatch]:
    """Yield the patches of a HelmRelease."""
    spec = _field(document.value, "spec")
    for number, renderer in enumerate(_items(_field(spec, "postRenderers"))):
        for field in _FIELDS:
            for place, row in enumerate(_items(_field(_field(renderer, "kustomize"), field))):
                path = (*POST_RENDERERS, number, "kustomize", field, place, "patch")
                target, patch = _field(row, "target"), _field(row, "patch")
                inner = (
                    in_text(document, path, patch)
                    if isinstance(patch, str)
                    else iter([document.part(path)])
                )
                for item in inner:
                    if isinstance(item.value, dict | list):
                        yield PostPatch(path, item, target if isinstance(target, dict) else None)


def expand_post_renderers(document: Document) -> Document:
    """Return a HelmRelease in which the text or the operations of each patch are replaced by the
    parts of objects that the patch sets.
    """
    value: Any = document.value
    parts: list[_Part] = []
    for item in list_post_patches(document):
        tree: dict[str, Any] = {}
        for part in _list_parts(item.patch):
            inside = _put(tree, part.path, part.value)
            parts.append(_Part((*item.path, *inside), part.value, part.spot))
        value = _replace(value, item.path, tree)
    if not parts:
        return document
    return document.another(value, _PatchPlaces(document, parts), derived=document.derived)


def _list_parts(patch: Document) -> Iterator[_Part]:
    """Yield the values that a patch sets, at their paths in the object that it changes."""
    if isinstance(patch.value, dict):
        for name, value in patch.value.items():
            yield _Part((str(name),), value, Spot(patch, (name,)))
        return
    for number, operation in enumerate(patch.value):
        pointer = _field(operation, "path")
        if isinstance(pointer, str) and operation.get("op") in _SET and "value" in operation:
            steps = (part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
            yield _Part(tuple(steps), operation["value"], Spot(patch, (number, "value")))


def _put(tree: dict[str, Any], path: Path, value: Any) -> Path:
    """Put a value into a tree, and return its path in the tree; an item is added to the end of a
    list.
    """
    *above, last = path or ("",)
    is_item = bool(above) and (last == "-" or str(last).isdigit())
    node = tree
    for step in above[:-1] if is_item else above:
        inner = node.setdefault(str(step), {})
        if not isinstance(inner, dict):
            return path
        node = inner
    if not is_item:
        node[str(last)] = value
        return path
    listed = node.setdefault(str(above[-1]), [])
    if not isinstance(listed, list):
        return path
    listed.append(value)
    return (*above, len(listed) - 1)


def _replace(value: Any, path: Sequence[str | int], new: Any) -> Any:
    """Return a value with ``new`` at a path that exists in the value."""
    if not path:
        return new
    step, *below = path
    inside = _replace(value[step], below, new)
    if isinstance(value, list):
        number = int(step)
        return [*value[:number], inside, *value[number + 1 :]]
    return {**value, step: inside}


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


class _PatchPlaces(Within):
    """Finds the values of a HelmRelease, and of the parts of objects in its patches."""

    def __init__(self, outer: Document, parts: Sequence[_Part]) -> None:
        super().__init__(outer)
        self._parts = parts

    def _spot(self, path: Path, *, key: bool = False) -> Spot | None:
        for part in self._parts:
            length = len(part.path)
            if path[:length] == part.path:
                document, place = part.spot.document, part.spot.path
                if key and path == part.path and isinstance(document.value, list):
                    return Spot(document, (place[0], "path"))  # the operation's path has the key
                return Spot(document, (*place, *path[length:]))
        return None

    def locate(self, path: Path, *, key: bool, offset: int | None) -> Position:
        spot = self._spot(path, key=key)
        if spot is None:
            return self._outer.locate(path, key=key, offset=offset)
        return spot.document.locate(spot.path, key=key, offset=offset)

    def source(self, path: Path) -> Spot | None:
        return None if self._spot(path) else self._outer.source(path)
