"""Device plugins' resources in the patches of a kustomization: inline patches, and RFC 6902 patches
in separate files.
"""

import os
from collections.abc import Iterator
from typing import Any

from dractl.manifests import Document, Position, read_text
from dractl.manifests.content import read_file
from dractl.manifests.kustomize import is_kustomization
from dractl.manifests.text import decode
from dractl.migration.resources import stand_in_for
from dractl.objects import items, mapping

_INLINE = ("patches", "patchesStrategicMerge", "patchesJson6902")
_AMOUNTS = ("limits", "requests")
_MAX_DEPTH = 32
_MAX_SIZE = 1024 * 1024


def requests_in_patches(document: Document) -> Iterator[tuple[Position, str]]:
    """Yield the place and the name of each resource in a kustomization's strategic merge and RFC
    6902 patches.

    Strategic merge patches in files are manifests, which the caller has among its documents.
    """
    for field in _INLINE:
        for at, entry in enumerate(items(mapping(document.value).get(field))):
            place = (field, at) if isinstance(entry, str) else (field, at, "patch")
            text = document.at(place)
            if not isinstance(text, str) or (isinstance(entry, str) and "\n" not in text):
                yield from _requests_in_file(
                    document, entry if isinstance(entry, str) else mapping(entry).get("path")
                )
                continue
            for patch in read_text(document.file, text):
                for resource, written in (
                    _resources_in_patch(patch.value) if isinstance(patch, Document) else ()
                ):
                    yield document.locate(place, offset=max(0, text.find(written))), resource


def _requests_in_file(document: Document, name: object) -> Iterator[tuple[Position, str]]:
    """Yield the requests of an RFC 6902 patch in a file, at or below the kustomization as kustomize
    demands (api/internal/loader/loadrestrictions.go).
    """
    folder = os.path.dirname(document.file)
    path = os.path.join(folder, name) if isinstance(name, str) else ""
    root = os.path.realpath(folder or ".")
    inside = os.path.realpath(path).startswith(os.path.join(root, ""))
    data = read_file(path, _MAX_SIZE + 1) if inside and is_kustomization(document.file) else None
    text = decode(data) if data is not None and len(data) <= _MAX_SIZE else ""
    for patch in read_text(path, text):
        if isinstance(patch, Document) and isinstance(patch.value, list):
            for resource, written in _resources_in_patch(patch.value):
                yield _position(path, text, written), resource


def _position(path: str, text: str, written: str) -> Position:
    before = text[: text.find(written)]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return Position(path, line, column, line, column + len(written))


def _resources_in_patch(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the name and the spelling of each resource in a patch. Resources are keys of limits and
    requests, or the last parts of JSON pointers.
    """
    stack: list[tuple[tuple[str, ...], Any]] = [((), value)]
    while stack:
        path, node = stack.pop()
        if len(path) > _MAX_DEPTH:
            continue
        if isinstance(node, list):
            stack += [((*path, ""), child) for child in node][::-1]
        elif isinstance(node, dict) and "op" in node and isinstance(node.get("path"), str):
            pointer = ("", *node["path"].split("/"))
            resource = pointer[-1].replace("~1", "/").replace("~0", "~")  # RFC 6901
            if pointer[-2] in _AMOUNTS and stand_in_for(resource):
                yield resource, pointer[-1]
            stack.append((pointer, node.get("value")))
        elif isinstance(node, dict):
            if path and path[-1] in _AMOUNTS:
                yield from ((key, key) for key in node if stand_in_for(key))
            stack += [((*path, key), child) for key, child in node.items()][::-1]
