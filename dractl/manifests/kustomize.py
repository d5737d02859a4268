"""Kustomizations: the files that they use as resources and as patches.

Field names follow kubernetes-sigs/kustomize api/types/kustomization.go.
"""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from dractl.manifests import yamltext
from dractl.manifests.content import read_file
from dractl.manifests.documents import Document
from dractl.manifests.naming import parent_of
from dractl.manifests.source import Source
from dractl.manifests.text import decode

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_MAX_SIZE = 1024 * 1024
_RESOURCES = (
    "resources",
    "bases",
    "components",
    "crds",
    "configurations",
    "generators",
    "transformers",
    "validators",
)
_PLUGINS = ("generators", "transformers", "validators", "helmCharts", "helmChartInflationGenerator")
_PATCHES = ("patches", "patchesStrategicMerge", "patchesJson6902")
_REPOSITORY = r"(?i)://|^github\.com[/:]|@|::|[?&]ref=|^[^./][^/]*:"
_WITHOUT_FILES = frozenset(
    {
        "apiVersion",
        "kind",
        "metadata",
        "images",
        "labels",
        "commonLabels",
        "commonAnnotations",
        "literals",
        "patch",
    }
)


def is_kustomization(path: str) -> bool:
    """Return True if a file is a kustomization, by its name."""
    return path.endswith(NAMES) and os.path.basename(path) in NAMES


class PatchEntry(Struct, frozen=True):
    """An entry of ``patches``, or of one of the older fields for patches."""

    place: tuple[str, int]
    """The name of the field, in lower case since kustomize ignores case, and the index of the
    entry.
    """
    file: str
    """The absolute path of the patch; "" for a patch that is written in the kustomization."""
    target: Mapping[str, Any] | None
    """The selector of the objects that the patch changes; None if the patch names its object
    itself.
    """


class Kustomization(Struct, frozen=True):
    """A kustomization file: absolute paths of the files and folders that it refers to."""

    folder: str
    resources: frozenset[str]
    patches: frozenset[str]
    component: bool = False
    """True if it is a component, which is only used as a part of others."""
    barred: str | None = None
    """The reason not to build the kustomization, if any."""
    affix: tuple[str, str] = ("", "")
    """The prefix and the suffix that it adds to the names of its objects."""
    files: frozenset[str] = frozenset()
    """The names of all files that the kustomization mentions, such as the files of generators."""
    patch_entries: tuple[PatchEntry, ...] = ()


class Kustomizations:
    """The kustomizations around the files of one run, each read once."""

    def __init__(self) -> None:
        self._folders: dict[str, Kustomization | None] = {}
        self._absolute: dict[str, str] = {}
        self._homes: dict[str, str] = {}
        self._naming: dict[str, Kustomization | None] = {}
        self._above: dict[str, tuple[Kustomization, ...]] = {}

    def naming(self, path: str) -> Kustomization | None:
        """Return the nearest kustomization, in a file's folder or above it, that lists the file as
        a resource or as a patch; None if there is none.
        """
        if path not in self._naming:
            self._naming[path] = self._kustomization_naming(path)
        return self._naming[path]

    def _kustomization_naming(self, path: str) -> Kustomization | None:
        candidates = self.kustomizations_above(self.folder(path))
        if not candidates:
            return None
        file = os.path.abspath(path)
        return next(
            (
                kustomization
                for kustomization in candidates
                if file in kustomization.patches or file in kustomization.resources
            ),
            None,
        )

    def folder(self, path: str) -> str:
        """Return the absolute path of a file's folder."""
        folder = parent_of(path)
        if folder not in self._absolute:
            self._absolute[folder] = os.path.abspath(folder)
        return self._absolute[folder]

    def kustomizations_above(self, folder: str) -> tuple[Kustomization, ...]:
        """Return the kustomizations in a folder and above it, as far as its repository reaches; the
        nearest first.
        """
        if folder not in self._above:
            kustomization = self.kustomization(folder)
            parent = os.path.dirname(folder)
            outermost = parent == folder or os.path.exists(os.path.join(folder, ".git"))
            further = () if outermost else self.kustomizations_above(parent)
            self._above[folder] = further if kustomization is None else (kustomization, *further)
        return self._above[folder]

    def is_patch(self, path: str) -> bool:
        """Return True if a kustomization lists the file as a patch."""
        kustomization = self.naming(path)
        return kustomization is not None and os.path.abspath(path) in kustomization.patches

    def home_of(self, path: str) -> str:
        """Return the key that groups a file with others: the folder of the kustomization that lists
        it, or else its own folder. Files beside a kustomization that does not list them are a group
        of their own.
        """
        if path not in self._homes:
            kustomization, folder = self.naming(path), self.folder(path)
            if kustomization is not None:
                self._homes[path] = kustomization.folder
            else:
                self._homes[path] = (
                    folder if self.kustomization(folder) is None else os.path.join(folder, "*")
                )
        return self._homes[path]

    def kustomization(self, folder: str) -> Kustomization | None:
        """Return the kustomization in a folder, by its absolute path."""
        if folder not in self._folders:
            self._folders[folder] = _read(folder)
        return self._folders[folder]

    def resources_below(self, folder: str) -> list[str]:
        """Return the absolute paths of the files, except patches, to which a kustomization and the
        kustomizations below it refer.
        """
        files: dict[str, None] = {}
        seen: set[str] = set()
        folders = [folder]
        while folders:
            here = folders.pop()
            kustomization = self.kustomization(here) if here not in seen else None
            seen.add(here)
            for path in sorted(kustomization.resources) if kustomization is not None else ():
                if os.path.isdir(path):
                    folders.append(path)
                else:
                    files[path] = None
        return list(files)

    def refusal(self, folder: str, seen: frozenset[str] = frozenset()) -> str | None:
        """Return the reason not to build a kustomization: its own reason, or the reason of a
        kustomization that it consists of; None if it may be built.
        """
        kustomization = self.kustomization(folder)
        if kustomization is None or folder in seen:
            return REMOTE
        if kustomization.barred is not None:
            return kustomization.barred
        if not all(map(os.path.exists, (*kustomization.resources, *kustomization.patches))):
            return REMOTE
        parts = (
            self.refusal(path, seen | {folder})
            for path in kustomization.resources
            if os.path.isdir(path)
        )
        return next(filter(None, parts), None)


def _read(folder: str) -> Kustomization | None:
    for name in NAMES:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            value = _value(path)
            if value is None:
                return Kustomization(
                    folder, frozenset(), frozenset(), barred=f"{name} cannot be read"
                )
            resources, patches = _paths(folder, value, _RESOURCES), _paths(folder, value, _PATCHES)
            component = value.get("kind") == "Component"
            affix = (str(value.get("namePrefix") or ""), str(value.get("nameSuffix") or ""))
            return Kustomization(
                folder,
                frozenset(resources),
                frozenset(patches),
                component,
                _build_refusal(value),
                affix,
                frozenset(_file_names(value)),
                tuple(_patch_entries(folder, value)),
            )
    return None


def _patch_entries(folder: str, value: dict[str, Any]) -> Iterator[PatchEntry]:
    """Yield the patches of a kustomization with their targets."""
    for field in _PATCHES:
        for number, item in enumerate(_items_of(value, field)):
            entry = item if isinstance(item, dict) else {"path": item}
            path, target = entry.get("path"), entry.get("target")
            file = ""
            if isinstance(path, str) and "\n" not in path:  # an older field also has inline texts
                file = os.path.normpath(os.path.join(folder, path))
            target = target if isinstance(target, dict) else None
            yield PatchEntry((field.casefold(), number), file, target)


def _file_names(value: dict[str, Any]) -> Iterator[str]:
    """Yield the base names of the paths that may occur in a kustomization."""
    stack: list[Any] = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, str) and "." in node and "\n" not in node:
            yield os.path.basename(node.rpartition("=")[2])


REMOTE = "it refers to files that are not on this machine"


def _build_refusal(value: dict[str, Any]) -> str | None:
    """Return the reason not to build a kustomization: it may make kustomize download something.

    kustomize fetches ``https:`` for any file that it loads (api/internal/loader/fileloader.go), and
    treats ``github.com/...`` and ``git@...`` as repositories even if such a folder exists
    (api/internal/git/repospec.go). Generators and transformers are files that load other files.
    """
    for field in _PLUGINS:
        if any(name.casefold() == field.casefold() for name in value):
            return f"it uses {field}"
    named = [
        item for field in _RESOURCES for item in _items_of(value, field) if isinstance(item, str)
    ]
    if any(re.search(_REPOSITORY, name) is not None for name in named):
        return REMOTE
    stack: list[Any] = [item for field, item in value.items() if field not in _WITHOUT_FILES]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            stack.extend(item for field, item in node.items() if field not in _WITHOUT_FILES)
        elif isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, str) and "://" in node and "\n" not in node:
            return REMOTE
    return None


def _value(path: str) -> dict[str, Any] | None:
    data = read_file(path, _MAX_SIZE + 1)
    return None if data is None else decode_kustomization(path, data)


def decode_kustomization(path: str, data: bytes) -> dict[str, Any] | None:
    """Decode the first document of a file, the only one that kustomize reads; None if it is not a
    mapping, or too large.
    """
    documents = yamltext.read(Source(path, decode(data))) if len(data) <= _MAX_SIZE else ()
    first = next(iter(documents), None)
    return first.value if isinstance(first, Document) and isinstance(first.value, dict) else None


def _paths(folder: str, value: dict[str, Any], fields: tuple[str, ...]) -> list[str]:
    paths = []
    for field in fields:
        for item in _items_of(value, field):
            name = item.get("path") if isinstance(item, dict) else item
            if isinstance(name, str) and "\n" not in name and "://" not in name:
                paths.append(os.path.normpath(os.path.join(folder, name)))
    return paths


def _items_of(value: dict[str, Any], field: str) -> list[Any]:
    """Return the items of a field, whatever the case of its name: kustomize decodes JSON with Go,
    which ignores case.
    """
    lists = [
        items
        for name, items in value.items()
        if name.casefold() == field.casefold() and isinstance(items, list)
    ]
    return [item for items in lists for item in items]
