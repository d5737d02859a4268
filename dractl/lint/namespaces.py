"""The namespaces of a run, as needed for admin access."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from dractl.lint.relevance import group
from dractl.manifests import Document

_LABELS = ("resource.kubernetes.io/admin-access", "resource.k8s.io/admin-access")
"""k8s.io/api/resource/v1 types.go DRAAdminNamespaceLabelKey; the second one in 1.33 and before."""


class Namespaces(Struct, frozen=True):
    """``labels``: those of each namespace, unless a kustomization adds to them. ``known``: the names of these
    namespaces, and None if some namespace of the run allows admin access: it may be that of an object which names
    none."""

    labels: Mapping[str, Mapping[str, str]]
    known: frozenset[str | None]


def tells_labels(document: Document) -> bool:
    """True for a namespace, and for a kustomization that adds to the labels of some."""
    return (document.kind == "Namespace" and document.api_version == "v1") or _patches(document)


def _patches(document: Document) -> bool:
    return group(document.value) == "kustomize.config.k8s.io" and any(
        label in document.text for label in _LABELS
    )


def _admits(labels: Mapping[str, str]) -> bool:
    return any(label in labels for label in _LABELS)


def _add(found: dict[str, Mapping[str, str]], name: str, labels: Mapping[str, str]) -> None:
    """A namespace that several clusters of one repository have allows admin access if it does in one of them."""
    if name not in found or not _admits(found[name]):
        found[name] = labels


def namespaces_of(documents: Iterable[Document]) -> Namespaces:
    """The namespaces that documents define."""
    found: dict[str, Mapping[str, str]] = {}
    admitting = patched = False
    for document in documents:
        if document.kind == "Namespace" and document.api_version == "v1" and document.name:
            labels = document.value["metadata"].get("labels")
            _add(found, document.name, labels if isinstance(labels, dict) else {})
            admitting = admitting or _admits(found[document.name])
        else:
            patched = patched or _patches(document)
    if patched:
        found = {name: labels for name, labels in found.items() if _admits(labels)}
    return Namespaces(found, frozenset((*found, None) if admitting or patched else found))
