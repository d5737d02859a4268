"""The namespaces of a run, as needed for admin access."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from dractl.lint.relevance import group
from dractl.manifests import Document

_LABELS = ("resource.kubernetes.io/admin-access", "resource.k8s.io/admin-access")
"""Labels from k8s.io/api/resource/v1 types.go DRAAdminNamespaceLabelKey; the second one is of 1.33
and before.
"""


class Namespaces(Struct, frozen=True):
    """The namespaces of a run."""

    labels: Mapping[str, Mapping[str, str]]
    """The labels of each namespace, unless a kustomization adds to them."""
    known: frozenset[str | None]
    """The names of these namespaces, and None if some namespace of the run allows admin access,
    since an object that names no namespace may be meant for that one.
    """


def tells_labels(document: Document) -> bool:
    """Return True for a Namespace, and for a kustomization that adds labels to namespaces."""
    return (document.kind == "Namespace" and document.api_version == "v1") or _patches(document)


def _patches(document: Document) -> bool:
    return group(document.value) == "kustomize.config.k8s.io" and any(
        label in document.text for label in _LABELS
    )


def _admits(labels: Mapping[str, str]) -> bool:
    return any(label in labels for label in _LABELS)


def _add(
    labels_by_name: dict[str, Mapping[str, str]], name: str, labels: Mapping[str, str]
) -> None:
    """Add the labels of a namespace.

    A namespace in several clusters of one repository allows admin access if it does so in one of
    them.
    """
    if name not in labels_by_name or not _admits(labels_by_name[name]):
        labels_by_name[name] = labels


def namespaces_of(documents: Iterable[Document]) -> Namespaces:
    """Return the namespaces that documents define."""
    labels_by_name: dict[str, Mapping[str, str]] = {}
    admitting = patched = False
    for document in documents:
        if document.kind == "Namespace" and document.api_version == "v1" and document.name:
            labels = document.value["metadata"].get("labels")
            _add(labels_by_name, document.name, labels if isinstance(labels, dict) else {})
            admitting = admitting or _admits(labels_by_name[document.name])
        else:
            patched = patched or _patches(document)
    if patched:
        labels_by_name = {
            name: labels for name, labels in labels_by_name.items() if _admits(labels)
        }
    return Namespaces(
        labels_by_name,
        frozenset((*labels_by_name, None) if admitting or patched else labels_by_name),
    )
