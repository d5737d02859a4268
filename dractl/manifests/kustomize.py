"""Kustomizations: which files they take as resources, and which as patches.

Field names follow kubernetes-sigs/kustomize api/types/kustomization.go.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_MAX_SIZE = 1024 * 1024
_RESOURCES = ("resources", "bases", "components", "crds", "configurations", "generators", "transformers")
_PATCHES = ("patches", "patchesStrategicMerge", "patchesJson6902")


class Kustomization(NamedTuple):
    """A kustomization file: absolute paths of the files and folders that it names."""

    folder: str
    resources: frozenset[str]
    patches: frozenset[str]


class Kustomizations:
    """The kustomizations around the files of one run, each read once."""

    def __init__(self) -> None:
        self._folders: dict[str, Kustomization | None] = {}
        self._homes: dict[str, str] = {}
        self._naming: dict[str, Kustomization | None] = {}
        self._above: dict[str, tuple[Kustomization, ...]] = {}

    def naming(self, path: str) -> Kustomization | None:
        """The nearest kustomization, in a file's folder or above it, that names it as a resource or as a patch."""
        if path not in self._naming:
            self._naming[path] = self._found(path)
        return self._naming[path]

    def _found(self, path: str) -> Kustomization | None:
        file = os.path.abspath(path)
        around = self.around(os.path.dirname(file))
        return next((found for found in around if file in found.patches or file in found.resources), None)

    def around(self, folder: str) -> tuple[Kustomization, ...]:
        """The kustomizations in a folder and above it, as far as its repository reaches; the nearest first."""
        if folder not in self._above:
            found = self._in(folder)
            parent = os.path.dirname(folder)
            outermost = parent == folder or os.path.exists(os.path.join(folder, ".git"))
            further = () if outermost else self.around(parent)
            self._above[folder] = further if found is None else (found, *further)
        return self._above[folder]

    def is_patch(self, path: str) -> bool:
        """True if a kustomization lists the file as a patch."""
        found = self.naming(path)
        return found is not None and os.path.abspath(path) in found.patches

    def home_of(self, path: str) -> str:
        """What keeps a file together with others: the folder of the kustomization that names it, else its own."""
        if path not in self._homes:
            found = self.naming(path)
            self._homes[path] = found.folder if found is not None else os.path.dirname(os.path.abspath(path))
        return self._homes[path]

    def _in(self, folder: str) -> Kustomization | None:
        if folder not in self._folders:
            self._folders[folder] = _read(folder)
        return self._folders[folder]


def _read(folder: str) -> Kustomization | None:
    for name in NAMES:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            value = _value(path)
            resources, patches = _paths(folder, value, _RESOURCES), _paths(folder, value, _PATCHES)
            return Kustomization(folder, frozenset(resources), frozenset(patches))
    return None


def _value(path: str) -> dict[str, Any]:
    from dractl.manifests import yamltext
    from dractl.manifests.documents import Document
    from dractl.manifests.source import Source
    from dractl.manifests.text import decode

    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_SIZE)
    except OSError:
        return {}
    documents = yamltext.read(Source(path, decode(data)))
    return next((item.value for item in documents if isinstance(item, Document) and isinstance(item.value, dict)), {})


def _paths(folder: str, value: dict[str, Any], fields: tuple[str, ...]) -> list[str]:
    found = []
    for field in fields:
        for item in value.get(field) or () if isinstance(value.get(field), list) else ():
            name = item.get("path") if isinstance(item, dict) else item
            if isinstance(name, str) and "\n" not in name and "://" not in name:
                found.append(os.path.normpath(os.path.join(folder, name)))
    return found
