"""Loads objects as a cluster would get them: charts are rendered, and kustomizations replace their
files.
"""

import os
import re
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.errors import InputError
from dractl.inputs.charts import NO_CHOICE, ChartRenderer, ValueChoice, refuse_values
from dractl.inputs.gitops import Applied, replace_delivered
from dractl.inputs.kustomizations import KustomizationBuilder, read_kustomization
from dractl.inputs.trees import NO_OVERLAY, NotRenderable
from dractl.manifests import Document, Inputs, load_readable, read_text
from dractl.manifests.built import strip_origin
from dractl.manifests.content import read_file
from dractl.manifests.files import Entry, list_files
from dractl.manifests.kustomize import Kustomizations, is_kustomization
from dractl.manifests.load import is_relevant
from dractl.manifests.naming import display_path, name_paths
from dractl.manifests.templates import chart_of
from dractl.manifests.text import decode
from dractl.model import Target

_DOCUMENT = re.compile(rb"(?m)^---\n")


class _Build(Struct, frozen=True):
    """The objects that a kustomization makes, and its files."""

    documents: tuple[Document, ...]
    """The objects."""
    files: frozenset[str]
    """The absolute paths of the files that it consists of."""


def load_rendered(
    paths: Sequence[str],
    target: Target,
    *,
    stdin: bytes | None = None,
    choice: ValueChoice | None = None,
) -> Inputs:
    """Load the objects of paths, charts with their values and kustomizations with their patches.

    Objects that Flux and Argo CD apply replace the files that they are made of. Raises InputError
    for files that cannot be read, and for a chart or a kustomization that could not be rendered and
    may affect the answer: it mentions DRA, or pods that request devices.
    """
    renderer = ChartRenderer(target, choice=choice or NO_CHOICE)
    inputs = load_readable(
        paths, stdin=stdin, relevant_only=False, render=renderer.render, digests=False
    )
    for item in inputs.unread:
        raise InputError(item.why, place=item.file, hint=item.hint)
    if choice is not None and choice.named and not renderer.has_charts:
        refuse_values()
    applied = Applied(inputs)
    if inputs.appliers:
        applied = replace_delivered(inputs, paths, renderer.render_release, KustomizationBuilder())
    for item in applied.inputs.skipped:
        if os.path.abspath(item.file).startswith(applied.folders):
            continue
        if chart_of(item.file) is not None and is_relevant(read_file(item.file) or b""):
            hint = f"render it first: helm template {chart_of(item.file)} > FILE; then name FILE"
            raise InputError(f"not rendered: {item.why}", place=item.file, hint=hint)
    return _replace_kustomizations(applied, name_paths(paths))


def _replace_kustomizations(applied: Applied, paths: Sequence[str]) -> Inputs:
    """Return the input with the objects of the outermost kustomizations in place of their files.

    Kustomizations that appliers deliver have been built already.
    """
    inputs = applied.inputs
    entries = list_files(paths, ()) if any(map(os.path.exists, paths)) else ()
    names = (entry.path for entry in entries if isinstance(entry, Entry))
    folders = [
        os.path.dirname(path)
        for path in map(os.path.abspath, filter(is_kustomization, names))
        if path not in applied.files and not path.startswith(applied.folders)
    ]
    builds = [build for root in _find_roots(folders) if (build := _build(root)) is not None]
    if not builds:
        return inputs
    files = frozenset().union(*(build.files for build in builds))
    documents = [
        document
        for document in inputs.documents
        if document.rendered or os.path.abspath(document.file) not in files
    ]
    for build in builds:
        documents += build.documents
    return replace(inputs, documents=tuple(documents))


def _find_roots(folders: Iterable[str]) -> list[str]:
    """Return the folders with a kustomization that is neither a component nor a part of another
    one.
    """
    read = Kustomizations()
    kustomizations = [item for folder in folders if (item := read.kustomization(folder))]
    inner = frozenset().union(*(item.resources for item in kustomizations))
    return [
        item.folder for item in kustomizations if item.folder not in inner and not item.component
    ]


def _build(root: str) -> _Build | None:
    """Build a kustomization; None if no object in its files concerns dractl. Its files are then
    read as they are.

    Raises InputError if it cannot be built.
    """
    refusal = Kustomizations().refusal(root)
    try:
        tree = read_kustomization(root, NO_OVERLAY)
    except NotRenderable as error:
        raise _refuse(root, error.why) from None
    if not any(map(is_relevant, tree.files.values())):
        return None
    if refusal is not None:
        raise _refuse(root, refusal)
    rendered = KustomizationBuilder().build(root)
    if rendered.data is None:
        raise _refuse(root, rendered.why or "it cannot be built")
    documents = [
        item.with_value(strip_origin(item.value)[0])
        for part in _DOCUMENT.split(rendered.data)
        for item in read_text(display_path(root), decode(part))
        if isinstance(item, Document) and isinstance(item.value, dict)
    ]
    for document in documents:
        document.provenance = replace(document.provenance, rendered=display_path(root))
    files = frozenset(os.path.join(tree.root, path) for path in tree.files)
    return _Build(tuple(documents), files)


def _refuse(root: str, why: str) -> InputError:
    hint = f"build it first: kustomize build {display_path(root)} > FILE; then name FILE"
    return InputError(
        f"the kustomization was not built: {why}", place=display_path(root), hint=hint
    )
