"""The origin of objects: files, dumps and archives, this node's own devices, a live cluster."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dractl.cluster.coverage import DEVICES_SEEN, Unread
from dractl.cluster.kinds import KINDS_BY_WORD
from dractl.cluster.state import DEFAULT_NAMESPACE, ClusterState, Key, add_object
from dractl.errors import InputError, UsageError
from dractl.inputs.omissions import omissions
from dractl.inputs.reading import is_snapshot, list_unrendered, read_files
from dractl.manifests import Inputs
from dractl.manifests.naming import display_path
from dractl.model.nearest import nearest_names
from dractl.objects import slice_of
from dractl.program import program_name

if TYPE_CHECKING:
    from dractl.inputs.charts import ValueChoice

_FILE_SUFFIXES = (".yaml", ".yml", ".json", ".gz", ".tar", ".tgz", ".bz2", ".xz", ".zip")


class Sources(Struct, frozen=True):
    """The requested input."""

    names: tuple[str, ...]
    """Names of subjects."""
    files: tuple[str, ...]
    """Files to read."""
    devices: tuple[str, ...] = ()
    """The inputs of devices: files, ``local``, or ``cluster``."""
    described: bool = False
    """True if the described machines are all the nodes, because an option describes them and no
    files or devices are named.
    """
    values: ValueChoice | None = None
    """The user's values for charts."""

    @property
    def live(self) -> bool:
        """True if a cluster is queried."""
        return "cluster" in self.devices or not (self.files or self.devices or self.described)


def classify_arguments(
    arguments: Sequence[str],
    files: Sequence[str],
    devices: Sequence[str],
    *,
    described: bool = False,
) -> Sources:
    """Distinguish names from files among the arguments, and machine snapshots from other files.

    An argument is a file if it exists, or if it ends like a file's name. Snapshots are read as
    devices.
    """
    names: list[str] = []
    paths = list(files)
    for argument in arguments:
        kind, slash, _ = argument.partition("/")
        is_reference = bool(slash) and kind.lower() in KINDS_BY_WORD
        if argument == "-" or (
            not is_reference
            and (os.path.exists(argument) or argument.lower().endswith(_FILE_SUFFIXES))
        ):
            paths.append(argument)
        else:
            names.append(argument)
    snapshots = [path for path in paths if is_snapshot(path)]
    others = tuple(path for path in paths if path not in snapshots)
    return Sources(tuple(names), others, (*devices, *snapshots), described)


def read_state(
    sources: Sources, *, namespace: str | None, stdin: bytes | None = None
) -> ClusterState:
    """Load the objects of the files."""
    if not sources.files:
        if sources.values is not None and sources.values.named:
            raise UsageError("--values and --set need a chart among the files")
        return ClusterState({})
    inputs = read_files(sources.files, stdin=stdin, values=sources.values)
    return make_state(inputs, namespace)


def make_state(inputs: Inputs, namespace: str | None = None) -> ClusterState:
    """Return the state of an input. Its coverage names the files that were not rendered."""
    state = ClusterState.from_documents(inputs.documents, namespace=namespace)
    rows = list_unread_files(inputs)
    return state.with_unrendered(rows) if rows else state


def list_unread_files(inputs: Inputs) -> tuple[Unread, ...]:
    """Return the files of an input that were not rendered or built, and that may affect the
    answer.
    """
    return tuple(
        Unread("", omission.place, why="not-rendered", reason=omission.why)
        for omission in omissions(list_unrendered(inputs))
    )


def describe_unusable_input(paths: Iterable[str]) -> str | None:
    """Describe input without objects of a cluster: an empty file, or a report of dractl.

    Return None for anything else.
    """
    for path in paths:
        documents = (
            [document.value for document in read_files([path]).documents] if path != "-" else []
        )
        schemas = {
            str(value.get("schema"))
            for value in documents
            if isinstance(value, dict) and "schema" in value
        }
        if schemas:
            return f"{path} is a report ({', '.join(sorted(schemas))}), not objects of a cluster"
        if not documents and path != "-":
            return f"{path} is empty, or has no Kubernetes object"
    return None


def read_published(source: str) -> ClusterState | None:
    """Load the objects of ``--devices FILE|DIR``.

    Return None if the source has no ResourceSlice, such as a snapshot of a machine.
    """
    try:
        inputs = read_files([source])
    except InputError:
        if not os.path.exists(source) or not _may_be_a_machine(source):
            raise
        return None
    documents = inputs.documents
    state = make_state(inputs)
    if state.has("ResourceSlice"):
        return state
    # Members of an archive have another name than the archive.
    own_documents = [document for document in documents if document.file == display_path(source)]
    if any("schema" not in document.value for document in own_documents) or not (
        own_documents or _may_be_a_machine(source)
    ):
        raise InputError(
            "it has no ResourceSlice, and it is not a machine snapshot",
            place=source,
            hint=(
                "`kubectl get resourceslices,deviceclasses -o yaml` and "
                f"`{program_name()} render` write them, "
                f"`{program_name()} discover --save` a snapshot"
            ),
        )
    return None


def _may_be_a_machine(source: str) -> bool:
    """Return True if a source may contain a machine's files, judging by its name."""
    if os.path.isdir(source):
        return any(os.path.isdir(os.path.join(source, name)) for name in ("sys", "devices"))
    return not source.lower().endswith((".yaml", ".yml", ".json"))


def from_objects(objects: Iterable[Mapping[str, Any]]) -> ClusterState:
    """Return a state of objects that dractl itself made, such as rendered slices."""
    return ClusterState(_by_kind(objects), coverage=DEVICES_SEEN)


def from_manifests(objects: Iterable[Mapping[str, Any]]) -> ClusterState:
    """Return a state of objects that people wrote, which show only a part of a cluster."""
    return ClusterState(_by_kind(objects))


def _by_kind(objects: Iterable[Mapping[str, Any]]) -> dict[str, dict[Key, Mapping[str, Any]]]:
    kinds: dict[str, dict[Key, Mapping[str, Any]]] = {}
    for value in objects:
        add_object(kinds, dict(value), DEFAULT_NAMESPACE)
    return kinds


def filter_drivers(state: ClusterState, drivers: Collection[str]) -> ClusterState:
    """Keep the slices of ``drivers`` only; all slices if no driver is named.

    Raises InputError for a driver without slices.
    """
    slices = state.objects("ResourceSlice") if drivers else {}
    published_drivers = {slice_of(item).driver for item in slices.values()}
    for name in drivers:
        if name not in published_drivers:
            near = nearest_names(name, published_drivers, most=1)
            hint = (
                f"did you mean {near[0]}?"
                if near
                else f"drivers: {', '.join(sorted(published_drivers)) or 'none'}"
            )
            raise InputError(f"--driver: no ResourceSlice has driver {name}", hint=hint)
    kept_slices = {key: item for key, item in slices.items() if slice_of(item).driver in drivers}
    return state.with_kinds({"ResourceSlice": kept_slices}) if drivers else state
