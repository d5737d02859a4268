"""The entries of clusters, and the Kustomizations of Flux that nothing applies.

A person or a program applies the entry of a cluster: `flux bootstrap` applies its gotk-sync.yaml,
and Flux Operator applies the folder of a FluxInstance. A Kustomization that neither an entry nor
another Kustomization applies is a stray, for example the Kustomization of an archived application.
"""

import os
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

from dractl.inputs import flux
from dractl.inputs.layering import Files, Layers, Member
from dractl.inputs.origins import Origins
from dractl.inputs.patching import NeedsProgram
from dractl.inputs.trees import NotRenderable
from dractl.manifests import Document
from dractl.model.paths import text_at

_SYNC_FILE = "gotk-sync.yaml"
"""The file of `flux bootstrap` (fluxcd/flux2 pkg/manifestgen/sync/options.go)."""
_OPERATOR = "fluxcd.controlplane.io/"
_OPERATOR_CHART = "flux-instance"

Key = tuple[str, int]
"""The file of an object, and its number there."""


class Entries:
    """The entries of the clusters of a repository, and the folders that programs apply."""

    def __init__(self, files: Files, folders: Iterable[str], named: Iterable[str]) -> None:
        self._files = files
        self._layers = Layers(files)
        self._folders = tuple(folders)
        """The folders that programs such as Flux Operator apply."""
        self._named = frozenset(map(os.path.abspath, named))
        """The files that the user asks about."""

    def find_strays(self, tops: Sequence[Member], makers: Container[Key]) -> frozenset[Key]:
        """Return the Kustomizations of Flux that nothing applies.

        ``tops`` are the appliers that no other applier makes. ``makers`` are the appliers in
        ``tops`` that make other appliers. If there is no entry, it is unknown which Kustomizations
        are applied, and none is returned.
        """
        flux_tops = [top for top in tops if flux.is_kustomization(top)]
        entries = [top for top in flux_tops if top.key in makers or _is_sync(top)]
        others = {top.key for top in flux_tops} - {entry.key for entry in entries}
        if not others:
            return frozenset()
        folders = {*self._folders, *(_folder_of(entry) for entry in entries)}
        applied = {key for folder in folders for key in self._list_keys(folder, others)}
        for entry in entries:
            for folder in self._list_kustomized(entry):
                keys = self._list_keys(folder, others | {entry.key})
                applied |= keys if entry.key in keys else frozenset()
        named = {key for key in others if os.path.abspath(key[0]) in self._named}
        return frozenset(others - applied - named) if entries or applied else frozenset()

    def _list_keys(self, folder: str, keys: Iterable[Key]) -> frozenset[Key]:
        """Return the ``keys`` of the objects that Flux applies from a folder; if the folder cannot
        be built, the ``keys`` of all objects in it.
        """
        try:
            made = {member.key for member in self._layers.members(folder)}
        except (NotRenderable, NeedsProgram):
            inside = os.path.join(folder, "")
            return frozenset(key for key in keys if os.path.abspath(key[0]).startswith(inside))
        return frozenset(made.intersection(keys))

    def _list_kustomized(self, entry: Member) -> Iterator[str]:
        """Yield the folders above an object's folder that have a kustomization."""
        folder = _folder_of(entry)
        while not _is_top(folder):
            folder = os.path.dirname(folder)
            try:
                if self._files.kustomization(folder) is not None:
                    yield folder
            except NotRenderable:
                continue


def list_sync_folders(documents: Iterable[Document], origins: Origins) -> Iterator[str]:
    """Yield the folders of this repository that Flux Operator syncs to clusters."""
    for document in documents:
        fields = _find_instance(document)
        path, kind = (text_at(fields, "sync", name) for name in ("path", "kind"))
        if path and origins.has(text_at(fields, "sync", "url")):
            try:
                yield flux.find_folder(Member(document.value, document), path, kind)
            except NotRenderable:
                continue


def _find_instance(document: Document) -> Any:
    """Return the fields of a FluxInstance, None for any other object. They may be in the values of
    its chart (controlplaneio-fluxcd/charts charts/flux-instance/values.yaml).
    """
    if (document.api_version or "").startswith(_OPERATOR) and document.kind == "FluxInstance":
        return document.at(("spec",))
    if document.kind != "HelmRelease" or not isinstance(document.value, dict):
        return None
    chart = flux.chart_path(Member(document.value, document))[1]
    return document.at((*flux.VALUES, "instance")) if chart == _OPERATOR_CHART else None


def _is_sync(top: Member) -> bool:
    return os.path.basename(top.before.file) == _SYNC_FILE


def _folder_of(member: Member) -> str:
    return os.path.dirname(os.path.abspath(member.before.file))


def _is_top(folder: str) -> bool:
    """Return True for the top of a repository, and for the root of the file system."""
    return os.path.lexists(os.path.join(folder, ".git")) or folder == os.path.dirname(folder)
