"""Builds the kustomizations of the input: bases with their patches, placed in the files they come from."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from msgspec.structs import replace

from dractl.manifests.documents import Document, Inputs, Path, Skipped, Spot, Within
from dractl.manifests.embedded import in_text
from dractl.manifests.kustomize import NAMES, Kustomizations, is_kustomization
from dractl.manifests.load import is_definition, is_relevant, names_dra, read_text
from dractl.manifests.naming import shown
from dractl.manifests.rendered import Builder
from dractl.manifests.source import Position
from dractl.manifests.text import decode, digest
from dractl.model.paths import at as value_at

ORIGIN = "config.kubernetes.io/origin"
"""kubernetes-sigs/kustomize api/internal/utils/annotations.go OriginAnnotationKey"""
_MAX_FILE = 4 * 1024 * 1024
_WORKERS = 2


def built(
    inputs: Inputs,
    files: Iterable[str],
    build: Builder,
    concerns: Callable[[Document], bool],
    overlay: Callable[[str], bytes | None] = lambda _: None,
) -> Inputs:
    """The input, followed by the objects of the kustomizations among ``files`` as ``build`` makes them.

    Only the outermost kustomizations are built, only those with a document that ``concerns`` the reader, and only those
    that refer to nothing but files and folders of this machine. The others are in ``skipped``: their files are linted
    as they are. ``overlay`` gives the content of files that are not written yet.
    """
    names = {os.path.abspath(file): file for file in files}
    folders = [os.path.dirname(path) for path in names if is_kustomization(path)]
    if not folders:
        return inputs
    written = _Written(inputs.documents, names, overlay)
    found = _Kustomizations(folders, written, concerns)
    roots = found.roots()
    barred = {root: why for root in roots if (why := found.refusal(root)) is not None}
    local = [root for root in roots if root not in barred]
    skipped = [_skipped(root, why) for root, why in barred.items()]
    documents: list[Document] = []
    with ThreadPoolExecutor(_WORKERS) as pool:
        for root, result in zip(local, pool.map(build, local), strict=True):
            if result.data is None:
                skipped.append(_skipped(root, result.why or "it cannot be built"))
            else:
                documents += _placed(result.data, root, result.base, written, found.patches(root))
    return replace(
        inputs,
        documents=(*inputs.documents, *documents),
        skipped=(*inputs.skipped, *skipped),
        digests={**written.digests, **inputs.digests},
    )


def _skipped(root: str, why: str) -> Skipped:
    return Skipped(
        shown(root), f"the kustomization was not built: {why}", "its files are linted as they are"
    )


class _Kustomizations:
    """The kustomizations in some folders, and those they consist of."""

    def __init__(
        self, folders: Iterable[str], written: _Written, concerns: Callable[[Document], bool]
    ) -> None:
        self._read = Kustomizations()
        self._folders = list(folders)
        self._written = written
        self._matters = concerns
        self._concern: dict[str, bool] = {}

    def refusal(self, root: str) -> str | None:
        """The reason not to build a kustomization, if any."""
        return self._read.refusal(root)

    def roots(self) -> list[str]:
        """The folders whose kustomization concerns DRA and is not part of another."""
        inner: set[str] = set()
        for folder in self._folders:
            found = self._read.kustomization(folder)
            inner.update(found.resources if found is not None else ())
        return [folder for folder in self._folders if folder not in inner and self._is_root(folder)]

    def _is_root(self, folder: str) -> bool:
        found = self._read.kustomization(folder)
        return found is not None and not found.component and self._concerns(folder)

    def _concerns(self, path: str) -> bool:
        """True if a file, or the kustomization in a folder, contains something that concerns the reader."""
        if path not in self._concern:
            self._concern[path] = (
                False  # while kustomizations that name each other are looked through
            )
            if os.path.isdir(path):
                found = self._read.kustomization(path)
                files = [os.path.join(path, name) for name in NAMES]
                parts = [*files, *found.resources, *found.patches] if found is not None else ()
                self._concern[path] = any(self._concerns(part) for part in parts)
            else:
                self._concern[path] = self._holds_concern(path)
        return self._concern[path]

    def _holds_concern(self, path: str) -> bool:
        data = self._written.data(path)
        if not names_dra(data) or is_definition(data):
            return False
        documents = self._written.of(path)
        of_objects = documents and not is_kustomization(
            path
        )  # other patches are lists of operations
        return not of_objects or any(map(self._matters, documents))

    def patches(self, folder: str) -> tuple[Document, ...]:
        """The patches of a kustomization, in files or in itself, and of those that it consists of."""
        found = self._read.kustomization(folder)
        if found is None:
            return ()
        inner = [
            part
            for path in sorted(found.resources)
            if os.path.isdir(path)
            for part in self.patches(path)
        ]
        files = (os.path.join(folder, name) for name in NAMES)
        inline = (
            part
            for path in files
            for document in self._written.of(path)
            for part in _inline(document)
        )
        own = (
            item
            for path in sorted(found.patches)
            for item in read_text(shown(path), decode(self._written.data(path)))
        )
        return (*(item for item in own if isinstance(item, Document)), *inline, *inner)


def _bytes(path: str) -> bytes:
    if not os.path.isfile(path):
        return b""  # a terminal, a pipe: reading it would wait
    try:
        with open(path, "rb") as file:
            return file.read(_MAX_FILE)
    except OSError:
        return b""


class _Written:
    """The documents of files as they were written."""

    def __init__(
        self,
        documents: Iterable[Document],
        names: Mapping[str, str],
        overlay: Callable[[str], bytes | None],
    ) -> None:
        self._names = names
        self._overlay = overlay
        self._files: dict[str, list[Document]] = {}
        self.digests: dict[str, str] = {}
        for document in documents:
            if not document.rendered and os.path.isfile(document.file):
                self._files.setdefault(os.path.abspath(document.file), []).append(document)

    def data(self, path: str) -> bytes:
        """The bytes of a file."""
        content = self._overlay(path)
        content = _bytes(path) if content is None else content
        self.digests[shown(path)] = digest(content)
        return content

    def of(self, path: str) -> list[Document]:
        """The documents of a file, read now unless they are part of the input."""
        if path not in self._files:
            found = read_text(self._names.get(path) or shown(path), decode(self.data(path)))
            documents = [
                item
                for item in found
                if isinstance(item, Document) and isinstance(item.value, dict)
            ]
            self._files[path] = documents
        return self._files[path]


def _placed(
    data: bytes, root: str, base: str, written: _Written, patches: Sequence[Document]
) -> Iterator[Document]:
    relevant = [
        part
        for part in re.split(rb"(?m)^---\n", data)
        if is_relevant(part) and not is_definition(part)
    ]
    for item in read_text(root, decode(b"---\n".join(relevant))):
        if not isinstance(item, Document) or not isinstance(item.value, dict):
            continue
        value, origin = strip_origin(item.value)
        if origin is None:
            continue
        before = _before(value, written.of(os.path.normpath(os.path.join(base, origin))))
        if before is not None:
            places = _Places(value, before, patches)
            yield Document(
                before.file,
                before.index,
                value,
                places,
                rendered=shown(root),
                layers=places.patches,
            )


def strip_origin(value: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """An object without the annotation that names its file, and the path of that file."""
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(annotations, dict):
        return value, None
    path = re.search(r"(?m)^path: (.+)$", str(annotations.get(ORIGIN)))
    rest = {name: text for name, text in annotations.items() if name != ORIGIN}
    kept = {name: item for name, item in metadata.items() if name != "annotations"}
    return {**value, "metadata": {**kept, "annotations": rest} if rest else kept}, path[
        1
    ] if path else None


def _before(value: dict[str, Any], documents: Iterable[Document]) -> Document | None:
    """An object before kustomize changed it: the one of its kind whose name is its own, or a part of it."""
    alike = [document for document in documents if document.kind == value.get("kind")]
    name = str(value["metadata"].get("name"))
    same = [document for document in alike if document.name == name]
    inside = [document for document in alike if document.name and document.name in name]
    return next(
        iter([*same, *sorted(inside, key=lambda document: -len(document.name or "")), *alike]), None
    )


class _Places(Within):
    """Finds the values of an object where they were written: in its file, or in the patch that adds them; other values
    are placed at what they were added to."""

    def __init__(
        self, value: dict[str, Any], before: Document, patches: Sequence[Document]
    ) -> None:
        super().__init__(before)
        self._value = value
        self.patches = [patch for patch in patches if _changes(patch.value, value)]

    def source(self, path: Path) -> Spot | None:
        """Return the value of a patch that makes up a value as a whole."""
        value = value_at(self._value, *path)
        route = _route(self._value, path, self._outer.value)
        if len(route) == len(path) and self._outer.at(route) == value:
            return None
        for patch in self.patches:
            place, covered = _in_patch(self._value, path, patch.value)
            if covered == len(path) and patch.at(place) == value:
                return Spot(patch, place)
        return None

    def locate(self, path: Path, *, key: bool, offset: int | None) -> Position:
        value = value_at(self._value, *path)
        here, there = self._outer, _route(self._value, path, self._outer.value)
        whole = len(there) == len(path) and here.at(there) == value
        for patch in self.patches if not whole else ():
            place, covered = _in_patch(self._value, path, patch.value)
            if covered == len(path) and patch.at(place) == value:
                if (
                    key and isinstance(patch.value, list) and len(place) == 2
                ):  # what the operation's own path names
                    return patch.locate((place[0], "path"), key=False, offset=None)
                return patch.locate(place, key=key, offset=offset)
            if isinstance(patch.value, dict) and covered > len(there):
                here, there = patch, place
        return here.locate(
            there, key=key and len(there) == len(path), offset=offset if whole else None
        )


def _inline(kustomization: Document) -> Iterator[Document]:
    """The patches that stand in a kustomization itself."""
    for field in ("patches", "patchesJson6902", "patchesStrategicMerge"):
        rows = kustomization.value.get(field)
        for at, row in enumerate(rows if isinstance(rows, list) else ()):
            path: Path = (field, at, "patch") if isinstance(row, dict) else (field, at)
            text = kustomization.at(path)
            if isinstance(text, str) and "\n" in text:
                yield from in_text(kustomization, path, text)


def _changes(patch: Any, value: Mapping[str, Any]) -> bool:
    """True if a patch may be one of an object: a strategic merge patch of its kind and name, or operations."""
    if isinstance(patch, list):
        return True
    metadata = patch.get("metadata") if isinstance(patch, dict) else None
    named = metadata.get("name") if isinstance(metadata, dict) else None
    return (
        isinstance(patch, dict)
        and patch.get("kind") == value.get("kind")
        and named == value["metadata"].get("name")
    )


def _in_patch(value: Any, path: Path, patch: Any) -> tuple[Path, int]:
    """The place in a patch of a value of the object, and how many steps of its path the patch has."""
    if isinstance(patch, dict):
        found = _route(value, path, patch)
        return found, len(found)
    for at, operation in enumerate(patch):
        pointer = (
            str(operation.get("path"))
            if isinstance(operation, dict) and "value" in operation
            else ""
        )
        names = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
        if names and [str(step) for step in path[: len(names)]] == names:
            inside = _route(
                value_at(value, *path[: len(names)]), path[len(names) :], operation["value"]
            )
            return (at, "value", *inside), len(names) + len(inside)
    return (), 0


def _route(value: Any, path: Path, other: Any) -> Path:
    """The path in another form of an object, where items of lists are known by their names; as far as it has it."""
    found: list[str | int] = []
    for step in path:
        value = value_at(value, step)
        if isinstance(other, list) and isinstance(step, int):
            name = value.get("name") if isinstance(value, dict) else None
            same = [
                at
                for at, item in enumerate(other)
                if name is not None and value_at(item, "name") == name
            ]
            place: str | int = same[0] if same else step
            if (name is not None and not same) or place not in range(len(other)):
                break
        elif isinstance(other, dict) and step in other:
            place = step
        else:
            break
        found.append(place)
        other = other[place]
    return tuple(found)
