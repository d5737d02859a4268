"""Device plugins' resources in the inline patches of a kustomization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.manifests import Document, read_text
from dractl.migration.resources import wanted
from dractl.objects import items, mapping

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dractl.manifests import Position

_INLINE = ("patches", "patchesStrategicMerge", "patchesJson6902")
_AMOUNTS = ("limits", "requests")
_DEPTH = 32


def requests_in_patches(document: Document) -> Iterator[tuple[Position, str]]:
    """The place and the name of each resource in a kustomization's strategic merge and RFC 6902 patches."""
    for field in _INLINE:
        for at, entry in enumerate(items(mapping(document.value).get(field))):
            place = (field, at) if isinstance(entry, str) else (field, at, "patch")
            text = document.at(place)
            if not isinstance(text, str) or (isinstance(entry, str) and "\n" not in text):
                continue
            for found in read_text(document.file, text):
                for resource, written in _named(found.value) if isinstance(found, Document) else ():
                    yield document.locate(place, offset=max(0, text.find(written))), resource


def _named(value: Any) -> Iterator[tuple[str, str]]:
    """Name and spelling of the resources in a patch: keys of limits and requests, ends of JSON pointers to them."""
    stack: list[tuple[tuple[str, ...], Any]] = [((), value)]
    while stack:
        path, node = stack.pop()
        if len(path) > _DEPTH:
            continue
        if isinstance(node, list):
            stack += [((*path, ""), child) for child in node][::-1]
        elif isinstance(node, dict) and "op" in node and isinstance(node.get("path"), str):
            pointer = ("", *node["path"].split("/"))
            resource = pointer[-1].replace("~1", "/").replace("~0", "~")  # RFC 6901
            if pointer[-2] in _AMOUNTS and wanted(resource):
                yield resource, pointer[-1]
            stack.append((pointer, node.get("value")))
        elif isinstance(node, dict):
            if path and path[-1] in _AMOUNTS:
                yield from ((key, key) for key in node if wanted(key))
            stack += [((*path, key), child) for key, child in node.items()][::-1]
