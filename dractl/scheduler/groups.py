"""Nodes that the allocator cannot tell apart: they differ only in names and values that nothing in the question reads.

Such nodes share one search, and one entry in the answer if there are many of them.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from dractl.allocation.nodes import some_term_matches
from dractl.cluster.state import at, map_at, text_at

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

    from dractl.allocation import AllocatedState
    from dractl.cel import Program
    from dractl.model import Device, ResourceSlice

    Raw = Mapping[str, Any]
    Signatures = dict[tuple[int, frozenset[str] | None], tuple[ResourceSlice, int]]
    """Hashes of slices by identity and names read; each slice is kept, so that its identity stays its own."""


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


class Groups:
    """Keys of nodes; two nodes with the same key get the same verdict.

    ``names`` are the attributes that the question reads (:func:`names_read`); None is any.
    """

    def __init__(self, slices: Iterable[ResourceSlice], held: AllocatedState, known: Signatures | None = None) -> None:
        self.names: frozenset[str] | None = None
        self._read = _Read(None)
        self.known: Signatures = {} if known is None else known  # shared between states
        self.local: dict[str, list[ResourceSlice]] = {}
        self.reachable: list[ResourceSlice] = []  # not bound to one node
        pools: dict[tuple[str, str], set[str | None]] = {}
        for item in slices:
            where = item.spec.node_name
            pools.setdefault((item.spec.driver, item.spec.pool.name), set()).add(where)
            if where:
                self.local.setdefault(where, []).append(item)
            else:
                self.reachable.append(item)
        self.spread = {pool for pool, nodes in pools.items() if len(nodes) > 1}
        self.in_use = _in_use(held)

    def holding(self, held: AllocatedState) -> Groups:
        """The same slices with other devices in use."""
        found = copy(self)
        found.in_use = _in_use(held)
        return found

    def reading(self, names: frozenset[str] | None) -> Groups:
        """The same slices and devices in use, for a question that reads these attributes."""
        found = copy(self)
        found.names, found._read = names, _Read(names)
        return found

    def key(self, node: Raw) -> Hashable:
        """Everything that decides a node's verdict: its pools, devices of them in use, and other slices it reaches."""
        name, labels = text_at(node, "metadata", "name"), map_at(node, "metadata", "labels")
        reached = []
        for item in self.reachable:
            if item.spec.per_device_node_selection or item.spec.shared_counters:
                return name  # may depend on any label, or on what other nodes use
            if item.spec.all_nodes or _selects(item, name, labels):
                reached.append(id(item))
        pools = []
        for item in sorted(self.local.get(name, ()), key=lambda s: (s.spec.driver, s.spec.pool.name, s.metadata.name)):
            pool = (item.spec.driver, item.spec.pool.name)
            if pool in self.spread:
                return name
            used = self.in_use.get(pool)
            pools.append((self._signature(item), tuple(sorted(map(repr, used))) if used else ()))
        declared = at(node, "status", "declaredFeatures")
        return (tuple(pools), tuple(reached), repr(declared) if declared else "")

    def _signature(self, item: ResourceSlice) -> Hashable:
        key = (id(item), self.names)
        found = self.known.get(key)
        if found is None:
            spec = item.spec
            counters = repr(spec.shared_counters) if spec.shared_counters else ""
            where = (
                spec.driver,
                spec.pool.generation,
                spec.pool.resource_slice_count,
                counters,
                spec.skip_node_operations,
            )
            found = self.known[key] = (item, hash((where, tuple(self._device(device) for device in spec.devices))))
        return found[1]

    def _device(self, device: Device) -> Hashable:
        parts: list[object] = [device.name]
        for name, value in device.mapping.items():
            if name == "attributes" and isinstance(value, dict):
                read = self._read
                parts += [
                    (n, repr(v)) for n, v in value.items() if read[n] or type(v) is not dict or not _PLAIN.issuperset(v)
                ]
            elif name != "name":
                parts.append((name, repr(value)))
        return tuple(parts)


class _Read(dict[str, bool]):
    """By full name of an attribute: true if the question may read it."""

    def __init__(self, names: frozenset[str] | None) -> None:
        super().__init__()
        self._names = names

    def __missing__(self, name: str) -> bool:
        found = self[name] = self._names is None or name.rpartition("/")[2] in self._names
        return found


_PLAIN = frozenset({"string", "int", "bool"})
"""Values of other types may make every selector fail, read or not: versions and lists are converted."""


def _selects(item: ResourceSlice, name: str, labels: Mapping[str, str]) -> bool:
    selector = item.spec.node_selector
    return selector is not None and some_term_matches(selector, name, labels)


def _in_use(held: AllocatedState) -> dict[tuple[str, str], list[object]]:
    """By driver and pool what is in use of it."""
    found: dict[tuple[str, str], list[object]] = {}
    for device in held.devices:
        found.setdefault((device.driver, device.pool), []).append(device.device)
    for device in held.shared:
        found.setdefault((device.driver, device.pool), []).append((device.device, "share"))
    for device, amounts in held.capacity.items():
        taken = tuple(sorted((name, str(amount)) for name, amount in amounts.items()))
        found.setdefault((device.driver, device.pool), []).append((device.device, taken))
    return found
