"""Builds what Flux and Argo CD apply of an input, as they build it."""

import os
from collections.abc import Container

from msgspec import Struct
from msgspec.structs import replace

from dractl.errors import UsageError
from dractl.inputs.delivered import ReleaseRenderer, WorldDocuments
from dractl.inputs.deliveries import DeliveryReader
from dractl.inputs.kustomizations import KustomizationBuilder
from dractl.inputs.layering import Files
from dractl.inputs.origins import find_origins
from dractl.inputs.trees import NO_OVERLAY, Overlay, TreeReader, find_repository
from dractl.manifests import Document, Inputs, Skipped
from dractl.manifests.load import is_relevant
from dractl.manifests.templates import chart_of
from dractl.objects import encode_json

_MAX_NAMED_WORLDS = 4


class Delivered(Struct, frozen=True):
    """The objects that appliers apply, at the places where people edit them."""

    documents: tuple[Document, ...]
    """The objects that may concern DRA, each with the cluster that it is applied to."""
    skipped: tuple[Skipped, ...]
    """What was not built."""
    files: frozenset[str]
    """The absolute paths of all files that were read for them."""
    charts: frozenset[str]
    """The absolute paths of the charts that were rendered for them."""


def build_deliveries(
    inputs: Inputs, render: ReleaseRenderer, builder: KustomizationBuilder, overlay: Overlay
) -> Delivered:
    """Build what the appliers of an input apply; it has at least one."""
    paths = [os.path.abspath(path) for path in inputs.appliers]
    top = find_repository(os.path.dirname(paths[0]))
    files = Files(TreeReader(top, overlay), inputs.documents)
    reader = DeliveryReader(files, builder, find_origins(top))
    worlds = [WorldDocuments(world, files, reader, render) for world in reader.read(paths)]
    documents = tuple(document for world in worlds for document in world.make())
    return Delivered(
        documents,
        reader.skipped,
        frozenset(files.paths),
        frozenset(chart for world in worlds for chart in world.charts),
    )


def deliver(
    inputs: Inputs, render: ReleaseRenderer, builder: KustomizationBuilder, overlay: Overlay
) -> tuple[Inputs, frozenset[str]]:
    """Return the input with what its appliers deliver, and the absolute paths of all files that
    were read for that.

    The files stay in the input, since people edit them; what is delivered is judged beside them,
    with the other objects of its cluster.
    """
    delivered = build_deliveries(inputs, render, builder, overlay)
    asked = [item for item in delivered.skipped if item.file not in inputs.around]
    made = replace(
        inputs,
        documents=(*inputs.documents, *delivered.documents),
        skipped=(*inputs.skipped, *asked),
    )
    return made, delivered.files


def replace_delivered(
    inputs: Inputs, render: ReleaseRenderer, builder: KustomizationBuilder
) -> tuple[Inputs, frozenset[str]]:
    """Return the input with what its appliers deliver in place of the files that they make it of,
    and the absolute paths of these.

    The objects are those of one cluster. Raises UsageError for those of several.
    """
    delivered = build_deliveries(inputs, render, builder, NO_OVERLAY)
    worlds = dict.fromkeys(document.world for document in delivered.documents if document.world)
    if len(worlds) > 1:
        names = list(worlds)
        more = f" and {len(names) - _MAX_NAMED_WORLDS} more" if names[_MAX_NAMED_WORLDS:] else ""
        raise UsageError(
            f"the input is applied to {len(names)} clusters, by"
            f" {', '.join(names[:_MAX_NAMED_WORLDS])}{more}",
            hint=f"name what one cluster gets, such as {names[0]}",
        )
    written = _find_sources(inputs, delivered)
    documents = [item for item in inputs.documents if id(item) not in written]
    skipped = [item for item in inputs.skipped if not _is_rendered(item.file, delivered.charts)]
    made = replace(
        inputs, documents=(*documents, *delivered.documents), skipped=(*skipped, *delivered.skipped)
    )
    return made, delivered.files


def _find_sources(inputs: Inputs, delivered: Delivered) -> frozenset[int]:
    """Return the identities of the documents that are in the input as they were delivered, or whose
    kustomization leaves them out.

    An applier's file may also have objects that nothing delivers.
    """
    places = {(item.file, item.index) for item in delivered.documents}
    appliers = {os.path.abspath(path) for path in inputs.appliers}
    return frozenset(
        id(item)
        for item in inputs.documents
        if _is_rendered(item.file, delivered.charts)
        or (
            (path := os.path.abspath(item.file)) in delivered.files
            and ((item.file, item.index) in places or path not in appliers)
            and is_relevant(encode_json(item.value))
        )
    )


def _is_rendered(file: str, charts: Container[str]) -> bool:
    """Return True for a template of one of the charts."""
    chart = chart_of(file)
    return chart is not None and os.path.abspath(chart) in charts
