"""Copies of one object in several files: which copy counts, and when that is unclear."""

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dractl.errors import UsageError
from dractl.manifests import Document
from dractl.model.paths import at, text_at

_DRA_GROUP = "resource.k8s.io"
_KINDS = frozenset(
    {
        ("", "Pod"),
        ("", "Node"),
        ("apps", "Deployment"),
        ("apps", "StatefulSet"),
        ("apps", "DaemonSet"),
        ("batch", "Job"),
        ("batch", "CronJob"),
    }
)
"""API groups and kinds outside DRA for which a wrong copy would change an answer."""

Identity = tuple[str, str, str, str]
"""The API group, kind, namespace and name of an object."""


def choose_copies(documents: Sequence[Document], files: Collection[str]) -> tuple[Document, ...]:
    """Keep one copy of each object.

    A copy in ``files``, which the user has named, takes precedence over copies in the files of a
    folder, and the newer state of a stored object over an older one. Raises UsageError if copies
    differ and the intended one is unclear.
    """
    chosen: dict[Identity, Document] = {}
    rejected: set[int] = set()
    for document in documents:
        identity = _identify(document)
        if identity is None:
            continue
        rival = chosen.get(identity)
        winner = document if rival is None else _choose(rival, document, files)
        if rival is not None:
            rejected.add(id(rival if winner is document else document))
        chosen[identity] = winner
    if not rejected:
        return tuple(documents)
    return tuple(document for document in documents if id(document) not in rejected)


def _identify(document: Document) -> Identity | None:
    """Return the identity of a document's object; None for an object that may have any number of
    copies.
    """
    kind, name = document.kind, document.name
    if not kind or not name or not isinstance(document.value, dict):
        return None
    group = (document.api_version or "").rpartition("/")[0]
    if group != _DRA_GROUP and (group, kind) not in _KINDS:
        return None
    return group, kind, document.namespace or "", name


def _choose(first: Document, second: Document, files: Collection[str]) -> Document:
    """Return the copy that counts."""
    if first.file == second.file or first.value == second.value:
        return second
    is_first_named, is_second_named = first.file in files, second.file in files
    if is_first_named != is_second_named:
        return first if is_first_named else second
    if _is_stored(first) != _is_stored(second):
        # If the user named both files, the manifest counts: it changes the stored object. In a
        # folder, the stored object counts.
        return first if _is_stored(first) != is_first_named else second
    if _is_stored(first) and _is_same_object(first.value, second.value):
        return first if _version(first) > _version(second) else second
    raise UsageError(
        f"{first.kind} {'/'.join(filter(None, (first.namespace, first.name)))} differs between"
        f" {first.file} and {second.file}",
        hint=(
            "name the file that counts, or a folder with one state of one cluster"
            if os.path.isfile(first.file)
            else "unpack the archive, and name the folder of one state of one cluster"
        ),
    )


def _is_stored(document: Document) -> bool:
    return bool(text_at(document.value, "metadata", "uid"))


def _is_same_object(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Return True if copies show one stored object in the same state: they have the same uid and,
    unless the object is a pod, the same specification, allocation and allocatable resources.
    """
    if text_at(first, "metadata", "uid") != text_at(second, "metadata", "uid"):
        return False
    return all(
        at(first, *path) == at(second, *path)
        for path in (("spec",), ("status", "allocation"), ("status", "allocatable"))
        if first.get("kind") != "Pod"
    )


def _version(document: Document) -> int:
    text = text_at(document.value, "metadata", "resourceVersion")
    return int(text) if text.isdecimal() else 0
