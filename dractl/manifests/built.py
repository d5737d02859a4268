"""Builds the kustomizations of the input, and places the resulting objects in the files that they
come from.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from msgspec.structs import replace

from dractl.manifests.content import read_file
from dractl.manifests.documents import Document, Inputs, Path, Provenance, Skipped, Spot, Within
from dractl.manifests.embedded import in_text
from dractl.manifests.kustomize import NAMES, Kustomizations, is_kustomization
from dractl.manifests.load import is_definition, is_relevant, names_dra, read_text
from dractl.manifests.naming import display_path
from dractl.manifests.rendered import Builder
from dractl.manifests.source import Position
from dractl.manifests.text import decode, digest
from dractl.model.paths import at as value_at

ORIGIN = "config.kubernetes.io/origin"
"""kubernetes-sigs/kustomize api/internal/utils/annotations.go OriginAnnotationKey"""
_MAX_FILE = 4 * 1024 * 1024
_WORKERS = 2


def add_built_objects(
    inputs: Inputs,
    files: Iterable[str],
    build: Builder,
    concerns: Callable[[Document], bool],
    overlay: Callable[[str], bytes | None] = lambda _: None,
    may_concern: Callable[[bytes], bool] = names_dra,
) -> Inputs:
    """Return the input, followed by the objects of the kustomizations among ``files`` as ``build``
    makes them.

    Only the outermost kustomizations are built, and only if they refer to nothing but files and
    folders of this machine. A kustomization is built only if ``concerns`` is true for one of its
    documents, and ``may_concern`` is true for the bytes of that document's file. All other
    kustomizations are in ``skipped``, and their files are linted as they are. ``overlay`` gives the
    content of files that are not written yet.
    """
    names = {os.path.abspath(file): file for file in files}
    folders = [os.path.dirname(path) for path in names if is_kustomization(path)]
    if not folders:
        return inputs
    written = _Written(inputs.documents, names, overlay)
    kustomizations = _Kustomizations(folders, written, concerns, may_concern)
    roots = kustomizations.roots()
    refusals = {root: why for root in roots if (why := kustomizations.refusal(root)) is not None}
    local = [root for root in roots if root not in refusals]
    rivals = kustomizations.rivals(local)
    skipped = [_report_not_built(root, why) for root, why in refusals.items()]
    documents: list[Document] = []
    with ThreadPoolExecutor(_WORKERS) as pool:
        for root, result in zip(local, pool.map(build, local), strict=True):
            if result.data is None:
                skipped.append(_report_not_built(root, result.why or "it cannot be built"))
            else:
                world = display_path(root) if root in rivals else None
                patches = kustomizations.patches(root)
                documents += _locate_objects(
                    result.data, root, result.base, written, patches, world
                )
    return replace(
        inputs,
        documents=(*inputs.documents, *documents),
        skipped=(*inputs.skipped, *skipped),
        digests={**written.digests, **inputs.digests},
    )


def _report_not_built(root: str, why: str) -> Skipped:
    return Skipped(
        display_path(root),
        f"the kustomization was not built: {why}",
        "its files are linted as they are",
    )


class _Kustomizations:
    """The kustomizations in some folders, and the kustomizations that they refer to."""

    def __init__(
        self,
        folders: Iterable[str],
        written: _Written,
        concerns: Callable[[Document], bool],
        may_concern: Callable[[bytes], bool],
    ) -> None:
        self._read = Kustomizations()
        self._folders = list(folders)
        self._written = written
        self._matters = concerns
        self._may_matter = may_concern
        self._concern: dict[str, bool] = {}

    def refusal(self, root: str) -> str | None:
        """Return the reason not to build a kustomization, if any."""
        return self._read.refusal(root)

    def roots(self) -> list[str]:
        """Return the folders whose kustomization concerns DRA and is not part of another."""
        inner: set[str] = set()
        for folder in self._folders:
            kustomization = self._read.kustomization(folder)
            inner.update(kustomization.resources if kustomization is not None else ())
        return [folder for folder in self._folders if folder not in inner and self._is_root(folder)]

    def _is_root(self, folder: str) -> bool:
        kustomization = self._read.kustomization(folder)
        return kustomization is not None and not kustomization.component and self._concerns(folder)

    def _concerns(self, path: str) -> bool:
        """Return True if a file, or the kustomization in a folder, may contain documents for which
        the caller's ``concerns`` is true.
        """
        if path not in self._concern:
            self._concern[path] = False  # ends the recursion if kustomizations refer to each other
            if os.path.isdir(path):
                kustomization = self._read.kustomization(path)
                files = [os.path.join(path, name) for name in NAMES]
                parts = (
                    [*files, *kustomization.resources, *kustomization.patches]
                    if kustomization is not None
                    else ()
                )
                self._concern[path] = any(self._concerns(part) for part in parts)
            else:
                self._concern[path] = self._holds_concern(path)
        return self._concern[path]

    def _holds_concern(self, path: str) -> bool:
        data = self._written.data(path)
        if not self._may_matter(data) or is_definition(data):
            return False
        documents = self._written.documents_of(path)
        # Kustomizations, and files without documents, such as lists of operations, count by their
        # bytes alone
        of_objects = documents and not is_kustomization(path)
        return not of_objects or any(map(self._matters, documents))

    def rivals(self, roots: Iterable[str]) -> frozenset[str]:
        """Return the kustomizations among ``roots`` that share a file with another one: they are
        for different clusters or namespaces, as the overlays of a base are.
        """
        files = {root: self._files(root) for root in roots}
        uses = Counter(path for paths in files.values() for path in paths)
        return frozenset(
            root for root, paths in files.items() if any(uses[path] > 1 for path in paths)
        )

    def _files(self, root: str) -> set[str]:
        """Return the files and folders that a kustomization consists of, directly or not."""
        paths: set[str] = set()
        stack = [root]
        while stack:
            path = stack.pop()
            part = self._read.kustomization(path) if os.path.isdir(path) else None
            inner = part.resources - paths if part is not None else ()
            paths.update(inner)
            stack.extend(inner)
        return paths

    def patches(self, folder: str) -> tuple[Document, ...]:
        """Return the patches of a kustomization, in files or in itself, and of the kustomizations
        that it consists of.
        """
        kustomization = self._read.kustomization(folder)
        if kustomization is None:
            return ()
        inner = [
            part
            for path in sorted(kustomization.resources)
            if os.path.isdir(path)
            for part in self.patches(path)
        ]
        files = (os.path.join(folder, name) for name in NAMES)
        inline = (
            part
            for path in files
            for document in self._written.documents_of(path)
            for part in _inline(document)
        )
        listed = (
            item
            for path in sorted(kustomization.patches)
            for item in read_text(display_path(path), decode(self._written.data(path)))
        )
        return (*(item for item in listed if isinstance(item, Document)), *inline, *inner)


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
        """Return the bytes of a file."""
        content = self._overlay(path)
        content = (read_file(path, _MAX_FILE) or b"") if content is None else content
        self.digests[display_path(path)] = digest(content)
        return content

    def documents_of(self, path: str) -> list[Document]:
        """Return the documents of a file, which is read now unless it is part of the input."""
        if path not in self._files:
            items = read_text(self._names.get(path) or display_path(path), decode(self.data(path)))
            documents = [
                item
                for item in items
                if isinstance(item, Document) and isinstance(item.value, dict)
            ]
            self._files[path] = documents
        return self._files[path]


def _locate_objects(
    data: bytes,
    root: str,
    base: str,
    written: _Written,
    patches: Sequence[Document],
    world: str | None,
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
        before = find_before(
            value, written.documents_of(os.path.normpath(os.path.join(base, origin)))
        )
        if before is not None:
            places = Places(
                value, before, [patch for patch in patches if _changes(patch.value, value)]
            )
            yield Document(
                before.file,
                before.index,
                value,
                places,
                provenance=Provenance(
                    rendered=display_path(root), layers=places.patches, world=world
                ),
            )


def strip_origin(value: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """Return an object without the annotation that names its file, and the path of that file; None
    in place of the path if there is no such annotation.
    """
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(annotations, dict):
        return value, None
    path = re.search(r"(?m)^path: (.+)$", str(annotations.get(ORIGIN)))
    further = {name: text for name, text in annotations.items() if name != ORIGIN}
    kept = {name: item for name, item in metadata.items() if name != "annotations"}
    return {**value, "metadata": {**kept, "annotations": further} if further else kept}, path[
        1
    ] if path else None


def find_before(value: dict[str, Any], documents: Iterable[Document]) -> Document | None:
    """Return an object as it was before kustomize changed it: the document of the same kind with
    the same name, or else with the longest part of the name, or else any document of the kind.
    """
    alike = [document for document in documents if document.kind == value.get("kind")]
    name = str(value["metadata"].get("name"))
    same = [document for document in alike if document.name == name]
    inside = [document for document in alike if document.name and document.name in name]
    return next(
        iter([*same, *sorted(inside, key=lambda document: -len(document.name or "")), *alike]), None
    )


class Places(Within):
    """Finds the values of an object where they were written: in its file, or in the patch that adds
    them; other values are placed at their parent.
    """

    def __init__(
        self, value: dict[str, Any], before: Document, patches: Sequence[Document]
    ) -> None:
        super().__init__(before)
        self._value = value
        self.patches = patches

    def source(self, path: Path) -> Spot | None:
        """Return the place in a patch that sets the whole value at ``path``; None if the file has
        this value, or if no patch sets all of it.
        """
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
        origin, route = self._outer, _route(self._value, path, self._outer.value)
        whole = len(route) == len(path) and origin.at(route) == value
        for patch in self.patches if not whole else ():
            place, covered = _in_patch(self._value, path, patch.value)
            if covered == len(path) and patch.at(place) == value:
                # The value that the operation's own path names
                if key and isinstance(patch.value, list) and len(place) == 2:
                    return patch.locate((place[0], "path"), key=False, offset=None)
                return patch.locate(place, key=key, offset=offset)
            if isinstance(patch.value, dict) and covered > len(route):
                origin, route = patch, place
        return origin.locate(
            route, key=key and len(route) == len(path), offset=offset if whole else None
        )


def _inline(kustomization: Document) -> Iterator[Document]:
    """Yield the patches that are written in a kustomization itself."""
    for field in ("patches", "patchesJson6902", "patchesStrategicMerge"):
        rows = kustomization.value.get(field)
        for at, row in enumerate(rows if isinstance(rows, list) else ()):
            path: Path = (field, at, "patch") if isinstance(row, dict) else (field, at)
            text = kustomization.at(path)
            if isinstance(text, str) and ("\n" in text or text.startswith(("{", "["))):
                yield from in_text(kustomization, path, text)


def _changes(patch: Any, value: Mapping[str, Any]) -> bool:
    """Return True if a patch may change an object: a strategic merge patch of its kind and name, or
    operations.
    """
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
    """Return the place in a patch for a value of the object, and the number of steps of its path
    that the patch has.
    """
    if isinstance(patch, dict):
        route = _route(value, path, patch)
        return route, len(route)
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
    """Return the path in another form of an object, as far as the path exists there; items of lists
    are matched by their names.
    """
    route: list[str | int] = []
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
        route.append(place)
        other = other[place]
    return tuple(route)
