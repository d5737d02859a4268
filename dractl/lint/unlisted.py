"""Manifests in the folder of a kustomization that does not list them. Nothing applies them together
with the manifests that it lists.
"""

import os
from collections.abc import Container, Iterable, Iterator

from dractl.lint.reading import Reading
from dractl.manifests import Skipped
from dractl.manifests.kustomize import Kustomizations, is_kustomization
from dractl.manifests.markdown import SUFFIXES
from dractl.manifests.naming import display_path
from dractl.manifests.templates import chart_of


def find_unlisted(
    readings: Iterable[Reading], kustomizations: Kustomizations, others: Container[str]
) -> Iterator[Skipped]:
    """Find the files with DRA objects that the kustomization in their folder does not name. Files
    that Flux or Argo CD applies are left out, and so are ``others``, which are read but not linted.
    """
    delivered: set[str] = set()
    files: dict[str, None] = {}
    for item in readings:
        document = item.document
        if document.rendered:
            delivered.add(document.file)
        elif document.kind and not item.resources:
            files[document.file] = None
    for file in files:
        if file not in delivered and file not in others and _is_unlisted(file, kustomizations):
            place = display_path(kustomizations.folder(file))
            why = f"the kustomization in {place} does not list it"
            hint = "list it as a resource, or nothing applies it"
            yield Skipped(file, why, hint, judged=True)


def _is_unlisted(file: str, kustomizations: Kustomizations) -> bool:
    """Return True for a manifest that no kustomization lists, although its folder has one."""
    beside = kustomizations.kustomization(kustomizations.folder(file))
    return (
        beside is not None
        and os.path.basename(file) not in beside.files
        and os.path.isfile(file)
        and not file.endswith(SUFFIXES)
        and not is_kustomization(file)
        and kustomizations.naming(file) is None
        and chart_of(file) is None
    )
