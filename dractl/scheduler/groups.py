"""Nodes that the allocator cannot tell apart: they differ only in names and values that nothing in the question reads.

Such nodes share one search, and one entry in the answer if there are many of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from itertools import compress
from operator import is_not
from typing import Any, TypeVar

from msgspec import Struct

from dractl.allocation import AllocatedState, DeviceID, Features, Verdict
from dractl.allocation.nodes import some_term_matches
from dractl.cel import Program
from dractl.cluster.state import ClusterState, Key, at, map_at, text_at
from dractl.model import ResourceSlice
from dractl.objects import Raw
from dractl.scheduler.snapshot import exchanged

T = TypeVar("T")
Pool = tuple[str, str]  # driver and name
InUse = Mapping[Pool, frozenset[object]]
Holding = tuple[Raw, AllocatedState, InUse]
Holdings = dict[int, Holding]
"""What single claims hold, by the identity of their mappings; each is kept, so that its identity stays its own."""


def names_read(compiled: Callable[[str], Program], *specs: Any) -> frozenset[str] | None:
    """The bare names of all attributes that specs of claims and classes may read; None: any attribute.

    Every ``expression`` is a selector or a derived attribute, which ``compiled`` reads; every other string may be the
    name of an attribute.
    """
    found: set[str] = set()
    pending: list[tuple[str, Any]] = [("", spec) for spec in specs]
    while pending:
        key, value = pending.pop()
        if isinstance(value, dict):
            pending += value.items()
        elif isinstance(value, list):
            pending += ((key, item) for item in value)
        elif isinstance(value, str) and key == "expression":
            reads = compiled(value).reads
            if reads is None:
                return None
            for field in reads:
                if field.kind == "attributes":
                    if field.name is None:
                        return None
                    found.add(field.name)
        elif isinstance(value, str):
            found.add(value.rpartition("/")[2])
    return frozenset(found)


_NOTHING = AllocatedState()
_NAMES = {"request", "driver", "pool", "device"}


class ClaimsHeld(Struct, frozen=True):
    """What the ``claims`` of a cluster hold: ``devices`` as the allocator takes it, ``in_use`` by driver and pool. What
    one claim holds is looked up in ``known``, which states share."""

    devices: AllocatedState
    in_use: InUse
    known: Holdings
    claims: Mapping[Key, Raw]

    @classmethod
    def of(
        cls, state: ClusterState, features: Features, before: ClaimsHeld | None = None
    ) -> ClaimsHeld:
        """What the claims of ``state`` hold."""
        claims = state.all("ResourceClaim")
        gone, new = exchanged({} if before is None else before.claims, claims)
        known = {} if before is None else before.known
        alike: dict[frozenset[object], frozenset[object]] = {}
        for value in new:
            own = _plain(value) or AllocatedState.of_claim(state.decode(value), features)
            held = {pool: alike.setdefault(used, used) for pool, used in _by_pool(own).items()}
            known[id(value)] = value, own, held
        changed = [known[id(value)] for value in (*gone, *new)]
        if before is not None and all(own is _NOTHING for _, own, _ in changed):
            return cls(before.devices, before.in_use, known, claims)
        parts = [known[id(value)] for value in claims.values()]
        if before is not None and not (
            before.devices.capacity or any(own.capacity for _, own, _ in changed)
        ):
            return before._after(parts, changed, known, claims)
        in_use = _united(pools for _, _, pools in parts)
        devices = AllocatedState.united([own for _, own, _ in parts])
        for device, amounts in devices.capacity.items():
            taken = (
                device.device,
                tuple(sorted((name, str(amount)) for name, amount in amounts.items())),
            )
            pool = device.driver, device.pool
            in_use[pool] = in_use.get(pool, frozenset()) | {taken}
        return cls(devices, in_use, known, claims)

    def _after(
        self,
        parts: list[Holding],
        changed: list[Holding],
        known: Holdings,
        claims: Mapping[Key, Raw],
    ) -> ClaimsHeld:
        """What ``parts`` hold, where the ``changed`` claims alone hold something else than before: capacity apart, that
        is looked up for their pools."""
        touched = {pool for _, _, pools in changed for pool in pools}
        there = [(own, pools) for _, own, pools in parts if not touched.isdisjoint(pools)]
        left = AllocatedState.united([own for own, _ in there])
        lost = AllocatedState.united([own for _, own, _ in changed])
        devices = AllocatedState(
            _exchanged(self.devices.devices, lost.devices, left.devices),
            _exchanged(self.devices.shared, lost.shared, left.shared),
        )
        in_use = dict(self.in_use)
        for pool in touched:
            in_use.pop(pool, None)
        in_use |= {
            pool: used
            for pool, used in _united(pools for _, pools in there).items()
            if pool in touched
        }
        return ClaimsHeld(devices, in_use, known, claims)


def _exchanged(held: frozenset[T], lost: frozenset[T], left: frozenset[T]) -> frozenset[T]:
    """What is held once some is ``lost`` that others may have ``left``, without a copy where nothing changes."""
    gone, new = lost - left, left - held
    held = held - gone if gone else held
    return held | new if new else held


def _united(holdings: Iterable[InUse]) -> dict[Pool, frozenset[object]]:
    found: dict[Pool, frozenset[object]] = {}
    for pools in holdings:
        for pool, used in pools.items():
            found[pool] = found[pool] | used if pool in found else used
    return found


def _plain(claim: Raw) -> AllocatedState | None:
    """What a claim holds that has no allocation, or one whose results have nothing but names: most claims of a large
    cluster are like that, and decoding them takes a tenth of an answer. None for others."""
    if not at(claim, "status", "allocation"):
        return _NOTHING
    results = at(claim, "status", "allocation", "devices", "results")
    if not isinstance(results, list):
        return None
    devices = set()
    for result in results:
        if (
            not isinstance(result, dict)
            or result.keys() != _NAMES
            or set(map(type, result.values())) != {str}
        ):
            return None
        devices.add(DeviceID(result["driver"], result["pool"], result["device"]))
    return AllocatedState(frozenset(devices))


def _by_pool(held: AllocatedState) -> InUse:
    """By driver and pool the devices of it that are held, whole or in part."""
    found: dict[Pool, set[object]] = {}
    for device in held.devices:
        found.setdefault((device.driver, device.pool), set()).add(device.device)
    for device in held.shared:
        found.setdefault((device.driver, device.pool), set()).add((device.device, "share"))
    return {pool: frozenset(used) for pool, used in found.items()}


class Groups:
    """Keys of nodes in one set of slices; two nodes with the same key get the same verdict."""

    def __init__(
        self, slices: Iterable[ResourceSlice], known: dict[int, _Signature] | None = None
    ) -> None:
        self.known = (
            {} if known is None else known
        )  # by the identity of slices; shared between sets of them
        self.local: dict[str, list[ResourceSlice]] = {}
        self.reachable: list[ResourceSlice] = []  # not bound to one node
        pools: dict[Pool, set[str | None]] = {}
        for item in slices:
            where = item.spec.node_name
            pools.setdefault((item.spec.driver, item.spec.pool.name), set()).add(where)
            if where:
                self.local.setdefault(where, []).append(item)
            else:
                self.reachable.append(item)
        self.spread = {pool for pool, nodes in pools.items() if len(nodes) > 1}
        self.apart = not (
            self.reachable or self.spread
        )  # no node's devices depend on what other nodes use
        # By question, with the classes, and by key of the node.
        self.verdicts: dict[Hashable, tuple[object, dict[Hashable, Verdict | None]]] = {}
        self._last: dict[str, _Signature] = {}
        self._alike: dict[frozenset[str], frozenset[str]] = {}
        self._unused: dict[tuple[int, frozenset[str] | None], _Unused] = {}
        self._keys: dict[Hashable, int] = {}

    def key(self, node: Raw, names: frozenset[str] | None, in_use: InUse) -> Hashable:
        """Everything that decides a node's verdict on a question that reads the attributes ``names`` (see
        :func:`names_read`): its pools, devices of them ``in_use``, and other slices it reaches."""
        found = self._unused.get((id(node), names))
        if found is None or found.node is not node:
            found = self._unused[id(node), names] = self._read(node, names)
        return found.key, *map(in_use.get, found.pools)

    def _read(self, node: Raw, names: frozenset[str] | None) -> _Unused:
        """What decides apart from the devices in use."""
        name, labels = text_at(node, "metadata", "name"), map_at(node, "metadata", "labels")
        own = _Unused(node, name, ())  # may depend on any label, or on what other nodes use
        reached = []
        for item in self.reachable:
            if item.spec.per_device_node_selection or item.spec.shared_counters:
                return own
            if item.spec.all_nodes or _selects(item, name, labels):
                reached.append(id(item))
        there = self._there(name)
        pools = _pools(there)
        if not self.spread.isdisjoint(pools):
            return own
        declared = at(node, "status", "declaredFeatures")
        signatures = tuple(self._signature(item, names) for item in there)
        key = signatures, tuple(reached), repr(declared) if declared else ""
        return _Unused(node, self._keys.setdefault(key, len(self._keys)), pools)

    def _there(self, node: str) -> list[ResourceSlice]:
        return sorted(
            self.local.get(node, ()),
            key=lambda s: (s.spec.driver, s.spec.pool.name, s.metadata.name),
        )

    def pools(self, node: str) -> tuple[Pool, ...]:
        """The pool of each slice of one node. Those of two nodes with the same key correspond."""
        return _pools(self._there(node))

    def _signature(self, item: ResourceSlice, names: frozenset[str] | None) -> int:
        found = self.known.get(id(item))
        if found is None:
            like = self._last.get(item.spec.driver)
            differ = None if like is None else _differ(item, like.item)
            if like is None or differ is None:
                found = self._last[item.spec.driver] = _Signature(item, _unread(item), {})
            else:
                found = _Signature(
                    item, like.unread, {}, like, self._alike.setdefault(differ, differ)
                )
            self.known[id(item)] = found
        if found.like is not None and names is not None and found.differ.isdisjoint(names):
            return self._signature(found.like.item, names)
        if names not in found.read:
            found.read[names] = hash((found.unread, _values(item, names)))
        return found.read[names]


def _pools(slices: Iterable[ResourceSlice]) -> tuple[Pool, ...]:
    return tuple([(item.spec.driver, item.spec.pool.name) for item in slices])


class _Unused(Struct, frozen=True):
    """The key of ``node`` where nothing of its ``pools`` is in use."""

    node: Raw
    key: Hashable
    pools: tuple[Pool, ...]


class _Signature(Struct, frozen=True):
    """What decides about ``item``, as hashes: ``unread`` whatever a question reads, and ``read`` by the names that one
    reads. The slice is kept, so that its identity stays its own. It is ``like`` another one but for the attributes that
    ``differ``."""

    item: ResourceSlice
    unread: int
    read: dict[frozenset[str] | None, int]
    like: _Signature | None = None
    differ: frozenset[str] = frozenset()


def _differ(item: ResourceSlice, before: ResourceSlice) -> frozenset[str] | None:
    """The bare names of attributes, all plain, by which the devices of a slice differ from those of another; None where
    they differ in more. Most of what is equal in a large dump is one value, so that this is told sooner than
    :func:`_unread`."""
    mine, its = item.spec, before.spec
    if mine.shared_counters or its.shared_counters or len(mine.devices) != len(its.devices):
        return None
    if _about(item) != _about(before):
        return None
    found: set[str] = set()
    for device, like in zip(mine.devices, its.devices, strict=True):
        whole, other = device.mapping, like.mapping
        apart = [key for key, value in whole.items() if other.get(key, other) is not value]
        if len(whole) != len(other) or apart not in ([], ["attributes"]):
            return None
        own, others = whole.get("attributes"), other.get("attributes")
        if (
            not isinstance(own, dict)
            or not isinstance(others, dict)
            or (unlike := _unlike(own, others)) is None
        ):
            return None
        if not all(_is_plain(own[name]) and _is_plain(others[name]) for name in unlike):
            return None
        found.update(unlike)
    return frozenset(name.rpartition("/")[2] for name in found)


def _unlike(one: Raw, other: Raw) -> list[str] | None:
    """The keys of values that are not the same one in two maps; None where their keys differ."""
    return (
        list(compress(one, map(is_not, one.values(), other.values())))
        if list(one) == list(other)
        else None
    )


def _unread(item: ResourceSlice) -> int:
    devices = [_without_plain(device.mapping) for device in item.spec.devices]
    return hash((_about(item), repr((item.spec.shared_counters, devices))))


def _about(item: ResourceSlice) -> tuple[Hashable, ...]:
    spec = item.spec
    return (
        spec.driver,
        spec.pool.generation,
        spec.pool.resource_slice_count,
        spec.skip_node_operations,
    )


def _without_plain(device: Raw) -> Raw:
    """A device without the attributes that decide nothing unless they are read."""
    attributes = device.get("attributes")
    if not isinstance(attributes, dict):
        return device
    return {
        **device,
        "attributes": {name: value for name, value in attributes.items() if not _is_plain(value)},
    }


def _is_plain(value: object) -> bool:
    return type(value) is dict and _PLAIN.issuperset(value)


def _values(item: ResourceSlice, names: frozenset[str] | None) -> str:
    """The attributes of devices that a question reads, one after the other."""
    devices = [device.mapping.get("attributes") for device in item.spec.devices]
    told = [attributes for attributes in devices if isinstance(attributes, dict)]
    read = sorted(
        name for name in set().union(*told) if names is None or name.rpartition("/")[2] in names
    )
    return repr((read, [attributes.get(name) for attributes in told for name in read]))


_PLAIN = frozenset({"string", "int", "bool"})
"""Values of other types may make every selector fail, read or not: versions and lists are converted."""


def _selects(item: ResourceSlice, name: str, labels: Mapping[str, str]) -> bool:
    selector = item.spec.node_selector
    return selector is not None and some_term_matches(selector, name, labels)
