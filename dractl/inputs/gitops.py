"""Adds to an input what Flux and Argo CD apply of it, as they build it.

The files stay in the input; what is delivered is judged beside them, with the other objects of its
cluster, at the places where people edit it.
"""

import os

from msgspec.structs import replace

from dractl.inputs.delivered import ReleaseRenderer, WorldDocuments
from dractl.inputs.deliveries import DeliveryReader
from dractl.inputs.kustomizations import KustomizationBuilder
from dractl.inputs.layering import Files
from dractl.inputs.origins import find_origins
from dractl.inputs.trees import Overlay, TreeReader, find_repository
from dractl.manifests import Inputs


def deliver(
    inputs: Inputs, render: ReleaseRenderer, builder: KustomizationBuilder, overlay: Overlay
) -> tuple[Inputs, frozenset[str]]:
    """Return the input with what its appliers deliver, and the absolute paths of all files that
    were read for that.
    """
    paths = [os.path.abspath(path) for path in inputs.appliers]
    top = find_repository(os.path.dirname(paths[0]))
    files = Files(TreeReader(top, overlay), inputs.documents)
    reader = DeliveryReader(files, builder, find_origins(top))
    worlds = reader.read(paths)
    documents = [
        document
        for world in worlds
        for document in WorldDocuments(world, files, reader, render).make()
    ]
    asked = [item for item in reader.skipped if item.file not in inputs.around]
    made = replace(
        inputs, documents=(*inputs.documents, *documents), skipped=(*inputs.skipped, *asked)
    )
    return made, frozenset(files.paths)
