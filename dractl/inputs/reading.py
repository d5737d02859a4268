"""Reads the objects of files as a cluster would get them: rendered, whole, and each once."""

import os
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dractl.errors import InputError
from dractl.inputs.copies import choose_copies
from dractl.manifests import Broken, Document, Inputs, Skipped, load
from dractl.manifests.content import read_file
from dractl.manifests.definitions import DefinitionFile
from dractl.manifests.files import Entry, list_files
from dractl.manifests.kustomize import is_kustomization
from dractl.manifests.load import APPLIER_GROUPS, is_relevant, names_dra
from dractl.manifests.naming import display_path, name_paths
from dractl.manifests.templates import chart_of
from dractl.model import Target

if TYPE_CHECKING:
    from dractl.inputs.charts import ValueChoice

_SNAPSHOT_START = re.compile(rb'\s*\{\s*"schema"\s*:\s*"dractl/machine/')
_SNAPSHOT_BYTES = 256
_LINE = re.compile(r":\d+\Z")
"""The line number after the name of a skipped file."""
_SEARCHED_BYTES = 2**20
"""The number of bytes of a skipped file that are searched for the words of DRA."""


def is_snapshot(path: str) -> bool:
    """Return True for a file that is a machine's snapshot, by its first bytes."""
    return _SNAPSHOT_START.match(read_file(path, _SNAPSHOT_BYTES) or b"") is not None


def load_manifests(
    paths: Sequence[str], *, stdin: bytes | None = None, values: "ValueChoice | None" = None
) -> Inputs:
    """Load the documents of paths; charts are rendered with ``values``, kustomizations built, and
    objects that Flux and Argo CD apply replace the files that they are made of.

    Raises InputError for a path that cannot be read, and for one that cannot be rendered, and
    UsageError for copies of one object that differ.
    """
    inputs = None
    if values is None and not _needs_rendering(paths):
        inputs = load(list(paths), stdin=stdin, relevant_only=False)
    if inputs is None or _has_appliers(inputs):
        from dractl.inputs.loading import load_rendered

        inputs = load_rendered(list(paths), Target.of(), stdin=stdin, choice=values)
    files = frozenset((*paths, *map(display_path, paths)))
    return replace(inputs, documents=choose_copies(inputs.documents, files))


def read_files(
    paths: Sequence[str], *, stdin: bytes | None = None, values: "ValueChoice | None" = None
) -> Inputs:
    """Load dumps and manifests as :func:`load_manifests` does.

    Raises InputError for files that cannot be read, and for a broken document: an answer about half
    of a cluster would be a guess.
    """
    inputs = load_manifests(paths, stdin=stdin, values=values)
    if inputs.broken:
        first = inputs.broken[0]
        raise InputError(
            first.message,
            place=f"{first.position.file}:{first.position.line}:{first.position.column}",
            hint=first.hint,
        )
    for document in inputs.documents:
        if document.paged:
            raise InputError(
                "a list with metadata.continue, which is only its first part",
                place=document.file,
                hint="write the dump again: kubectl get ... -o yaml > FILE, which reads all parts",
            )
        if (
            document.kind is None
            and isinstance(document.value, dict)
            and isinstance(document.value.get("items"), list)
        ):
            raise InputError(
                "a list without kind, which kubectl writes at its end: the file is cut short",
                place=document.file,
                hint="write the dump again: kubectl get ... -o yaml > FILE",
            )
    return inputs


def select_relevant(inputs: Inputs, paths: Sequence[str]) -> Inputs:
    """Return the part of an input of ``paths`` that may concern DRA, by the rules of :func:`load`.

    If there is only one path, the documents of this file count even if they do not mention DRA, and
    so do the documents of standard input. The result has CustomResourceDefinitions in
    ``definitions`` instead of ``documents``.
    """
    named = frozenset(("<stdin>", *name_paths(paths[:1] if len(paths) == 1 else ())))

    @cache
    def is_wanted(text: str) -> bool:
        return is_relevant(text.encode("utf-8", "surrogatepass"))

    documents: list[Document] = []
    definitions: dict[str, DefinitionFile] = {}
    for item in inputs.documents:
        if item.file not in named and item.world is None and not is_wanted(item.text):
            continue
        if item.kind == "CustomResourceDefinition":
            definitions[item.file] = DefinitionFile(item.file, item.text)
        else:
            documents.append(item)
    return replace(
        inputs,
        documents=tuple(documents),
        broken=tuple(item for item in inputs.broken if item.file in named or _may_decide(item)),
        skipped=tuple(item for item in inputs.skipped if item.judged or _may_decide(item)),
        definitions=tuple(definitions.values()),
    )


def _may_decide(item: Broken | Skipped) -> bool:
    """Return True for a file that was not read and may concern DRA, judging by its bytes. Return
    True, too, for a folder or a member of an archive, which cannot be read now.
    """
    data = read_file(_LINE.sub("", item.file), _SEARCHED_BYTES)
    return data is None or (names_dra if isinstance(item, Broken) else is_relevant)(data)


def list_unrendered(inputs: Inputs) -> Iterator[Skipped]:
    """Yield the files that were not rendered or built, and may concern DRA."""
    appliers = frozenset(map(os.path.abspath, inputs.appliers))
    for item in inputs.skipped:
        path = _LINE.sub("", item.file)
        if (
            item.judged
            or os.path.abspath(path) in appliers
            or is_relevant(read_file(path, _SEARCHED_BYTES) or b"")
        ):
            yield item


def _has_appliers(inputs: Inputs) -> bool:
    """Return True if an applier is a manifest. If all come from a dump, the dump also has the
    objects that they apply.
    """
    return bool(inputs.appliers) and any(
        not document.at(("metadata", "uid"))
        for document in inputs.documents
        if (document.api_version or "").startswith(APPLIER_GROUPS)
    )


def _needs_rendering(paths: Sequence[str]) -> bool:
    """Return True if there is a kustomization or the template of a chart among the files.

    Listing 1,000 files takes a fifth of the time of importing the modules that render.
    """
    files = (entry.path for entry in list_files(paths, ()) if isinstance(entry, Entry))
    return any(is_kustomization(path) or chart_of(path) is not None for path in files)
