"""The snapshots of a driver: all ResourceSlices that it published at one time.

Each path that a user names is a snapshot, either a file or a folder. A file in which slices recur,
as ``kubectl get resourceslices -w -o yaml`` prints it, is a recording: each further state of a
slice results in another snapshot. With ``--output-watch-events``, it contains deletions, too.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from dractl.errors import InputError, UsageError
from dractl.lint.model import Manifest, manifest
from dractl.manifests import Document
from dractl.model.nearest import nearest
from dractl.model.paths import map_at
from dractl.objects import PoolName, number, text

_MAX_NAMED = 6
_MAX_RECORDED_SLICES = 1_000_000
"""The maximum number of slices in all states of a recording together."""
_EVENT_FIELDS = {"type", "object"}
"""The fields of a WatchEvent (k8s.io/apimachinery pkg/apis/meta/v1/watch.go)."""
_BOOKMARK, _DELETED = "BOOKMARK", "DELETED"


class Snapshot(Struct, frozen=True):
    """The slices of a driver at one time."""

    name: str
    """The path from which the snapshot was read."""
    slices: tuple[Manifest, ...]
    """The slices, of every generation."""
    is_recorded: bool = False
    """True for a state in a recording, in which the driver may not have written every slice yet."""
    emptied: frozenset[PoolName] = frozenset()
    """The pools that have had no slice at some time since the previous snapshot."""


class _Write(Struct, frozen=True):
    """A slice as it was written or deleted."""

    subject: Manifest
    event: str = ""
    """The type of the watch event; empty for a plain object."""

    @property
    def key(self) -> str:
        return self.subject.name

    @property
    def pool(self) -> PoolName:
        return _pool_of(self.subject)


class Publication(Struct, frozen=True):
    """The snapshots of one driver, in the order of time."""

    driver: str
    """The name of the driver."""
    snapshots: tuple[Snapshot, ...]
    """The snapshots; none if only a chart is checked."""


def read_publication(
    sources: Sequence[tuple[str, Sequence[Document]]], driver: str | None
) -> Publication:
    """Return the snapshots of a driver from the documents of each source.

    Raises UsageError for slices of several drivers, for a driver that published none, and for
    snapshots in the wrong order; InputError for a source without slices.
    """
    writes = [(name, list(_list_writes(documents))) for name, documents in sources]
    for name, written in writes:
        if not written:
            raise InputError(
                "no ResourceSlice",
                place=name,
                hint="write one: kubectl get resourceslices -o yaml > FILE",
            )
    chosen = _choose_driver([one.subject for _, written in writes for one in written], driver)
    snapshots = [
        snapshot
        for name, written in writes
        for snapshot in _split(name, [one for one in written if one.pool[0] == chosen])
    ]
    _refuse_wrong_order([one for one in snapshots if not one.is_recorded])
    return Publication(chosen, tuple(snapshots))


def _list_writes(documents: Iterable[Document]) -> Iterator[_Write]:
    """Yield the slices of documents, and of watch events."""
    for document in documents:
        value, event = document.value, ""
        if isinstance(value, dict) and value.keys() == _EVENT_FIELDS:
            event, document = text(value["type"]), document.part(("object",))  # noqa: PLW2901
        if document.kind == "ResourceSlice" and event != _BOOKMARK:
            yield _Write(manifest(document), event)


def _choose_driver(slices: Iterable[Manifest], driver: str | None) -> str:
    """Return the only driver of the slices, or the driver that the user named. Raises
    UsageError.
    """
    drivers = sorted({one.slice.driver for one in slices if one.slice.driver})
    if driver is not None and (driver in drivers or not drivers):
        return driver
    names = ", ".join(drivers[:_MAX_NAMED]) + (", ..." if len(drivers) > _MAX_NAMED else "")
    if driver is not None:
        near = nearest(driver, drivers)
        raise UsageError(
            f"no slice of driver {driver}",
            hint=f"did you mean {near}?" if near else f"there are slices of {names}",
        )
    if len(drivers) > 1:
        raise UsageError(
            f"slices of {len(drivers)} drivers: {names}", hint="name one with --driver NAME"
        )
    return drivers[0] if drivers else ""


def _split(name: str, writes: Sequence[_Write]) -> list[Snapshot]:
    """Return the snapshot of a source or, for a recording, a snapshot for each time that slices
    recur.

    Raises InputError for a recording that is too long.
    """
    has_events = any(write.event for write in writes)
    states: dict[str, Manifest] = {}
    recent: set[str] = set()
    emptied: set[PoolName] = set()
    snapshots: list[Snapshot] = []
    for index, write in enumerate(writes):
        key = write.key or f"#{index}"
        if key in recent:
            states = _drop_deleted(states) if snapshots and not has_events else states
            snapshots.append(_make_snapshot(name, states, emptied))
            recent.clear()
            emptied.clear()
            if len(snapshots) * len(states) > _MAX_RECORDED_SLICES:
                raise InputError(
                    f"a recording of more than {len(snapshots)} states of {len(states)} slices",
                    place=name,
                    hint="record one node: --field-selector spec.nodeName=NODE",
                )
        recent.add(key)
        states.pop(key, None)  # so that the newest write comes last
        if write.event != _DELETED:
            states[key] = write.subject
        elif not any(_pool_of(other) == write.pool for other in states.values()):
            emptied.add(write.pool)
    if not snapshots:
        return [Snapshot(name, tuple(states.values()))]
    states = states if has_events else _drop_deleted(states)
    return [*snapshots, _make_snapshot(name, states, emptied)] if states else snapshots


def _make_snapshot(name: str, states: dict[str, Manifest], emptied: set[PoolName]) -> Snapshot:
    return Snapshot(name, tuple(states.values()), is_recorded=True, emptied=frozenset(emptied))


def _pool_of(subject: Manifest) -> PoolName:
    return subject.slice.driver, subject.slice.pool


def _drop_deleted(states: dict[str, Manifest]) -> dict[str, Manifest]:
    """Return the states, in the order of their writes, without slices that must have been deleted.

    A watch without events does not show deletions. But if a generation has more slices than its
    newest slice announces, the oldest slices must have been deleted.
    """
    counts: Counter[tuple[str, str, int]] = Counter()
    announced: dict[tuple[str, str, int], int] = {}
    kept: list[str] = []
    for key, written in reversed(states.items()):
        identity = written.slice.identity
        counts[identity] += 1
        if counts[identity] <= announced.setdefault(identity, written.slice.announced):
            kept.append(key)
    return {key: states[key] for key in reversed(kept)}


def _refuse_wrong_order(snapshots: Sequence[Snapshot]) -> None:
    """Raise UsageError if an object in a later snapshot is older than in an earlier one."""
    versions: dict[str, tuple[int, str]] = {}
    for snapshot in snapshots:
        for written in snapshot.slices:
            metadata = map_at(written.value, "metadata")
            uid, version = text(metadata.get("uid")), number(metadata.get("generation"))
            if not uid or not version:
                continue
            newest, earlier = versions.get(uid, (version, snapshot.name))
            if version < newest and earlier != snapshot.name:
                raise UsageError(
                    f"snapshots out of order: {written.name} has metadata.generation {newest} in"
                    f" {earlier} and {version} in {snapshot.name}, which is named after it",
                    hint="name the snapshots in the order in which they were taken",
                )
            versions[uid] = (version, snapshot.name)
