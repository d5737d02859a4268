"""Where the objects come from: files, dumps and archives, this node's own devices, a live cluster."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dractl.errors import InputError
from dractl.explain.cluster import DEFAULT_NAMESPACE, ClusterState, add
from dractl.explain.subjects import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from dractl.explain.cluster import Key
    from dractl.manifests import Inputs

_ENDINGS = (".yaml", ".yml", ".json", ".gz", ".tar", ".tgz", ".bz2", ".xz", ".zip")


@dataclass(frozen=True, slots=True)
class Sources:
    """What was asked for: names of subjects, files to read, and where devices come from."""

    names: tuple[str, ...]
    files: tuple[str, ...]
    devices: tuple[str, ...] = ()

    @property
    def live(self) -> bool:
        """Whether a cluster is asked."""
        return "cluster" in self.devices or not (self.files or self.devices)


def sort_out(arguments: Sequence[str], files: Sequence[str], devices: Sequence[str]) -> Sources:
    """Tells names from files among the arguments: what exists, or ends like one, is a file."""
    names: list[str] = []
    found = list(files)
    for argument in arguments:
        kind, slash, _ = argument.partition("/")
        named = bool(slash) and kind.lower() in KINDS
        if argument == "-" or (not named and (os.path.exists(argument) or argument.lower().endswith(_ENDINGS))):
            found.append(argument)
        else:
            names.append(argument)
    return Sources(tuple(names), tuple(found), tuple(devices))


def read_files(paths: Sequence[str], *, stdin: bytes | None = None) -> Inputs:
    """Loads dumps and manifests. Raises InputError for what cannot be read, a broken document included: an answer
    about half of a cluster would be a guess."""
    from dractl.manifests import load

    inputs = load(list(paths), stdin=stdin, relevant_only=False)
    if inputs.broken:
        first = inputs.broken[0]
        raise InputError(
            first.message, place=f"{first.position.file}:{first.position.line}:{first.position.column}", hint=first.hint
        )
    return inputs


def state_of(sources: Sources, *, namespace: str | None, stdin: bytes | None = None) -> ClusterState:
    """The objects of the files."""
    if not sources.files:
        return ClusterState({})
    return ClusterState.from_documents(read_files(sources.files, stdin=stdin).documents, namespace=namespace)


def published(source: str) -> ClusterState | None:
    """What ``--devices FILE|DIR`` holds; None where there is no ResourceSlice in it, as in a snapshot of a machine."""
    from dractl.errors import DractlError

    try:
        state = ClusterState.from_documents(read_files([source]).documents)
    except DractlError:
        if not os.path.exists(source):
            raise
        return None  # an archive of a machine's files
    return state if state.has("ResourceSlice") else None


def of_objects(objects: Iterable[Mapping[str, Any]]) -> ClusterState:
    """Objects that were made here, such as rendered slices."""
    kinds: dict[str, dict[Key, Mapping[str, Any]]] = {}
    for value in objects:
        add(kinds, dict(value), DEFAULT_NAMESPACE)
    return ClusterState(kinds)
