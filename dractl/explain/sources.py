"""Where the objects come from: files, dumps and archives, this node's own devices, a live cluster."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dractl.errors import InputError, Unsupported
from dractl.explain.cluster import ClusterState, add
from dractl.explain.subjects import KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
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
    """The objects of all files, and of the devices that ``--devices`` names."""
    state = ClusterState({})
    if sources.files:
        state = ClusterState.from_documents(read_files(sources.files, stdin=stdin).documents, namespace=namespace)
    for source in sources.devices:
        if source != "cluster":
            state = state.merged(devices_from(source))
    return state


def devices_from(source: str) -> ClusterState:
    """ResourceSlices (and DeviceClasses) from files, or as drivers would publish them for a machine."""
    if source != "local":
        inputs = read_files([source])
        state = ClusterState.from_documents(inputs.documents)
        if state.has("ResourceSlice"):
            return state
    try:
        from dractl.drivers import published
    except ImportError:
        raise Unsupported(
            f"--devices {source}: there is no ResourceSlice in it, and rendering a machine's devices is not there yet",
            hint="render them first: dractl render > slices.yaml, then --devices slices.yaml",
        ) from None
    kinds: dict[str, dict[Key, Mapping[str, Any]]] = {}
    for value in published(source):
        add(kinds, value, "default")
    return ClusterState(kinds)
