"""Builds the objects that Flux and Argo CD apply, in the same way as they do."""

import os
import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.errors import UsageError
from dractl.inputs.delivered import ReleaseRenderer, WorldDocuments
from dractl.inputs.deliveries import DeliveryReader, World
from dractl.inputs.entries import Entries, list_sync_folders
from dractl.inputs.kustomizations import KustomizationBuilder
from dractl.inputs.layering import Files
from dractl.inputs.origins import find_origins
from dractl.inputs.trees import NO_OVERLAY, Overlay, TreeReader, find_repository
from dractl.manifests import Document, Inputs, Skipped
from dractl.manifests.kustomize import Kustomizations
from dractl.manifests.load import APPLIER_GROUPS, is_relevant, names_dra
from dractl.manifests.naming import display_path
from dractl.manifests.templates import chart_of
from dractl.objects import encode_json

_MAX_NAMED_WORLDS = 4
_LINE = re.compile(r":\d+\Z")
"""The line number after the name of a skipped file."""
_NOT_APPLIED = "nothing in the input applies it"
_NAME_FILE = "name the file, too"


class Delivered(Struct, frozen=True):
    """The objects that appliers apply, with the places where people edit them."""

    documents: tuple[Document, ...]
    """The objects that may concern DRA, each with the cluster that it is applied to."""
    skipped: tuple[Skipped, ...]
    """Parts that were not built."""
    files: frozenset[str]
    """The absolute paths of all files that were read for these objects."""
    charts: frozenset[str]
    """The absolute paths of the charts that were rendered for these objects."""
    roots: frozenset[str] = frozenset()
    """The absolute paths of the files with appliers that no other applier delivers."""
    strays: frozenset[str] = frozenset()
    """The absolute paths of the files with Kustomizations that nothing applies."""


class Applied(Struct, frozen=True):
    """An input in which delivered objects replace the files of the appliers' folders."""

    inputs: Inputs
    """The input."""
    files: frozenset[str] = frozenset()
    """The absolute paths of all files that were read for the delivered objects."""
    folders: tuple[str, ...] = ()
    """The absolute paths of the folders in which only delivered objects count, each with a
    separator at its end.
    """


class _Appliers:
    """The appliers of an input, which has at least one, and everything that they apply.

    Appliers in the ``named`` files count as applied.
    """

    def __init__(
        self,
        inputs: Inputs,
        builder: KustomizationBuilder,
        overlay: Overlay,
        named: Iterable[str] = (),
    ) -> None:
        kustomizations = Kustomizations()
        appliers = map(os.path.abspath, inputs.appliers)
        paths = [path for path in appliers if not kustomizations.is_patch(path)]
        top = find_repository(os.path.dirname(paths[0])) if paths else None
        tree = TreeReader(top, overlay)
        origins = find_origins(top)
        self._files = Files(tree, inputs.documents)
        self._reader = DeliveryReader(self._files, builder, origins)
        self._reader.note_sources(inputs.documents)
        folders = list_sync_folders(inputs.documents, origins) if paths else ()
        # A file that is only read to find strays is not a file of a delivery.
        entries = Entries(Files(tree, inputs.documents), folders, named)
        self.worlds = self._reader.read(paths, entries)

    def build(
        self,
        worlds: Sequence[World],
        render: ReleaseRenderer,
        may_concern: Callable[[bytes], bool] = names_dra,
    ) -> Delivered:
        """Build the objects of some clusters.

        A chart is rendered only if ``may_concern`` is true for the bytes of one of its templates.
        """
        read = [
            WorldDocuments(world, self._files, self._reader, render, may_concern)
            for world in worlds
        ]
        documents = tuple(document for world in read for document in world.make())
        return Delivered(
            documents,
            self._reader.skipped,
            frozenset(self._files.paths),
            frozenset(chart for world in read for chart in world.charts),
            frozenset(root for world in worlds for root in _list_roots(world)),
        )


def _list_roots(world: World) -> frozenset[str]:
    """Return the absolute paths of the files with appliers that no applier delivers."""
    appliers = (delivery.applier.before.file for delivery in world.deliveries)
    return frozenset(map(os.path.abspath, appliers)) - _list_files([world])


def deliver(
    inputs: Inputs,
    render: ReleaseRenderer,
    builder: KustomizationBuilder,
    overlay: Overlay,
    may_concern: Callable[[bytes], bool] = names_dra,
) -> tuple[Inputs, frozenset[str]]:
    """Return the input with the objects that its appliers deliver, and the absolute paths of all
    files that were read for these objects.

    The files stay in the input, since people edit them. The delivered objects are judged, too, each
    with the other objects of its cluster.
    """
    appliers = _Appliers(inputs, builder, overlay)
    delivered = appliers.build(appliers.worlds, render, may_concern)
    asked = [item for item in delivered.skipped if item.file not in inputs.around]
    made = replace(
        inputs,
        documents=(*inputs.documents, *delivered.documents),
        skipped=(*inputs.skipped, *asked),
    )
    return made, delivered.files


def replace_delivered(
    inputs: Inputs, files: Sequence[str], render: ReleaseRenderer, builder: KustomizationBuilder
) -> Applied:
    """Return the input with the objects that its appliers deliver, in place of the files in the
    appliers' folders.

    Manifests in these folders that nothing applies are in ``skipped``. Objects of ``files``, which
    the user has named, stay unless they are delivered. The objects belong to one cluster. Raises
    UsageError for objects of several clusters.
    """
    delivered = _build_applied(_Appliers(inputs, builder, NO_OVERLAY, files), render)
    worlds = list(
        dict.fromkeys(document.world for document in delivered.documents if document.world)
    )
    if not worlds and not delivered.strays:
        return Applied(replace(inputs, skipped=(*inputs.skipped, *delivered.skipped)))
    if len(worlds) > 1:
        more = f" and {len(worlds) - _MAX_NAMED_WORLDS} more" if worlds[_MAX_NAMED_WORLDS:] else ""
        raise UsageError(
            f"the input is applied to {len(worlds)} clusters, by"
            f" {', '.join(worlds[:_MAX_NAMED_WORLDS])}{more}",
            hint=f"name what one cluster gets, such as {worlds[0]}",
        )
    scope = _Scope(inputs, delivered, files)
    named = [item for item in delivered.documents if not _has_variable(item)]
    unnamed = [
        Skipped(item.file, f"no value of {item.name} is in this repository", judged=True)
        for item in delivered.documents
        if _has_variable(item)
    ]
    documents, dropped = scope.split_documents()
    broken = [item for item in inputs.broken if not scope.holds(item.file)]
    skipped = [item for item in inputs.skipped if not _is_rendered(item.file, delivered.charts)]
    made = replace(
        inputs,
        documents=(*documents, *named),
        broken=tuple(broken),
        skipped=(*skipped, *delivered.skipped, *unnamed, *scope.list_unapplied(dropped)),
    )
    return Applied(made, delivered.files, scope.folders)


def _build_applied(appliers: _Appliers, render: ReleaseRenderer) -> Delivered:
    """Build the objects of the clusters, without Kustomizations that nothing applies."""
    worlds = [world for world in appliers.worlds if world.is_applied]
    made = appliers.build(worlds, render)
    others = [world for world in appliers.worlds if not world.is_applied]
    strays = frozenset(root for world in others for root in _list_roots(world)) - made.roots
    left = _list_files(others) - _list_files(worlds)
    skipped = [item for item in made.skipped if _path_of(item) not in strays]
    skipped += (Skipped(display_path(file), _NOT_APPLIED, _NAME_FILE) for file in sorted(strays))
    return replace(made, skipped=tuple(skipped), strays=strays, files=made.files - left)


def _list_files(worlds: Iterable[World]) -> frozenset[str]:
    """Return the absolute paths of the files with the objects of some clusters."""
    deliveries = (delivery for world in worlds for delivery in world.deliveries)
    members = (member for delivery in deliveries for member in delivery.members)
    return frozenset(os.path.abspath(member.before.file) for member in members)


def _path_of(item: Skipped) -> str:
    """Return the absolute path of a skipped file, whose name may end with a line."""
    return os.path.abspath(_LINE.sub("", item.file))


class _Scope:
    """The folders from which a cluster gets only the objects that appliers deliver."""

    def __init__(self, inputs: Inputs, delivered: Delivered, files: Sequence[str]) -> None:
        self._inputs = inputs
        self._delivered = delivered
        self._named = frozenset(os.path.abspath(path) for path in files if os.path.isfile(path))
        folders = (os.path.join(os.path.abspath(folder), "") for folder in inputs.folders)
        tops = delivered.roots | delivered.strays
        self.folders = tuple(
            folder for folder in folders if any(path.startswith(folder) for path in tops)
        )
        self._places = frozenset((item.file, item.index) for item in delivered.documents)

    def holds(self, file: str) -> bool:
        """Return True for a file in the scope's folders that the user did not name."""
        path = os.path.abspath(file)
        return path.startswith(self.folders) and path not in self._named

    def split_documents(self) -> tuple[list[Document], list[Document]]:
        """Return the documents that count as they are written, and those that do not count."""
        kept: list[Document] = []
        dropped: list[Document] = []
        for document in self._inputs.documents:
            (kept if self._keeps(document) else dropped).append(document)
        return kept, dropped

    def _keeps(self, document: Document) -> bool:
        """Return True for a document that counts as it is written."""
        if _is_rendered(document.file, self._delivered.charts):
            return False
        path = os.path.abspath(document.file)
        if path in self._delivered.roots:
            # Manifests beside an applier are applied by hand, as they are written.
            is_delivered = (document.file, document.index) in self._places
            is_applier = (document.api_version or "").startswith(APPLIER_GROUPS)
            return not (is_delivered or is_applier)
        if path in self._delivered.files and is_relevant(encode_json(document.value)):
            return False
        return not self.holds(document.file) or bool(document.at(("metadata", "uid")))

    def list_unapplied(self, dropped: Iterable[Document]) -> Iterator[Skipped]:
        """Yield the manifests about DRA that are in the folders and that nothing applies."""
        files = {item.file: None for item in dropped if names_dra(encode_json(item.value))}
        read = self._delivered.files
        for file in files:
            if os.path.abspath(file) not in read and not _is_rendered(file, self._delivered.charts):
                yield Skipped(file, _NOT_APPLIED, _NAME_FILE)


def _has_variable(document: Document) -> bool:
    """Return True for an object whose name contains a variable that could not be substituted."""
    return any("${" in text for text in (document.name or "", document.namespace or ""))


def _is_rendered(file: str, charts: Container[str]) -> bool:
    """Return True for a template of one of the charts."""
    chart = chart_of(file)
    return chart is not None and os.path.abspath(chart) in charts
