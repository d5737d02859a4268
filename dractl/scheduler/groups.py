"""Nodes that the allocator cannot tell apart: the same devices but for names and values that nothing in the question
reads, with the same ones in use. They share one search, and one entry in the answer where there are many of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dractl.cluster.state import at, text_at
from dractl.scheduler.node_filters import matches_term

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from dractl.allocation import AllocatedState
    from dractl.model import Device, ResourceSlice

    Raw = Mapping[str, Any]

# An expression with one of these may read attributes that it does not name.
_READS_ALL = re.compile(
    r"\.(?:exists|exists_one|all|filter|map|transform\w*)\(|\bsize\(|device\.attributes\s*[=!.]=|\bin\s+device\b"
)


class Groups:
    """Keys of nodes; two nodes with the same key get the same verdict.

    ``texts`` are all expressions and names that take part in the question (classes, claims, constraints).
    """

    def __init__(
        self,
        slices: Iterable[ResourceSlice],
        held: AllocatedState,
        texts: Iterable[str],
        known: dict[tuple[int, str], tuple[ResourceSlice, int]] | None = None,
    ) -> None:
        self.text = "\n".join(sorted(set(texts)))
        self.read = _Read(self.text)
        self.known = {} if known is None else known  # signatures of slices, shared between states
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
        self.in_use: dict[tuple[str, str], list[object]] = {}
        for device in held.devices:
            self.in_use.setdefault((device.driver, device.pool), []).append(device.device)
        for device in held.shared:
            self.in_use.setdefault((device.driver, device.pool), []).append((device.device, "share"))
        for device, amounts in held.capacity.items():
            taken = tuple(sorted((name, str(amount)) for name, amount in amounts.items()))
            self.in_use.setdefault((device.driver, device.pool), []).append((device.device, taken))

    def key(self, node: Raw) -> Hashable:
        """What makes a node's verdict: its pools, what is in use of them, and which other slices it reaches."""
        name = text_at(node, "metadata", "name")
        reached = []
        for item in self.reachable:
            if item.spec.per_device_node_selection or item.spec.shared_counters:
                return name  # may depend on any label, or on what other nodes use
            if item.spec.all_nodes or _matches(item, node):
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
        key = (id(item), self.text)
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
                parts += [(n, repr(v)) for n, v in value.items() if self.read[n]]
            elif name != "name":
                parts.append((name, repr(value)))
        return tuple(parts)


class _Read(dict[str, bool]):
    """Whether an attribute may be read, by its name."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.all = bool(_READS_ALL.search(text))

    def __missing__(self, name: str) -> bool:
        found = self[name] = self.all or name.rpartition("/")[2] in self.text
        return found


def _matches(item: ResourceSlice, node: Raw) -> bool:
    selector = item.spec.node_selector
    if selector is None:
        return False
    for term in selector.node_selector_terms:
        raw = {
            "matchExpressions": [_requirement(e) for e in term.match_expressions],
            "matchFields": [_requirement(e) for e in term.match_fields],
        }
        if matches_term(raw, node):
            return True
    return False


def _requirement(requirement: Any) -> dict[str, Any]:
    return {"key": requirement.key, "operator": requirement.operator, "values": list(requirement.values)}
