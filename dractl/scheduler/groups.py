"""Nodes that the allocator cannot tell apart, since they differ only in names, and in values that
nothing in the question reads. Such nodes share one search. If there are many, they also share one
entry in the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import compress
from operator import is_not, ne
from typing import Any

from msgspec import Struct

from dractl.allocation.nodes import matches_some_term
from dractl.cel import Program
from dractl.cluster.derived import DerivedValues
from dractl.model import ResourceSlice
from dractl.objects import PoolName, Raw
from dractl.scheduler.holdings import DevicesInUse
from dractl.views import Node

AttributeNames = frozenset[str] | None
"""Bare names of the attributes that a question may read; None if it may read any."""

_PLAIN_TYPES = frozenset({"string", "int", "bool"})
"""Types whose values cannot make a selector fail. A version or a list is converted, which may make
every selector fail, even one that does not read it.
"""


def attribute_names(compile_selector: Callable[[str], Program], *specs: Any) -> AttributeNames:
    """Return the attributes that specs of claims and classes may read.

    Every ``expression`` is a selector or a derived attribute; every other string may be the name of
    an attribute.
    """
    names: set[str] = set()
    pending: list[tuple[str, Any]] = [("", spec) for spec in specs]
    while pending:
        key, value = pending.pop()
        if isinstance(value, dict):
            pending += value.items()
        elif isinstance(value, list):
            pending += ((key, entry) for entry in value)
        elif isinstance(value, str) and key == "expression":
            fields = compile_selector(value).reads
            if fields is None:
                return None
            for field in fields:
                if field.kind == "attributes":
                    if field.name is None:
                        return None
                    names.add(field.name)
        elif isinstance(value, str):
            names.add(_bare_name(value))
    return frozenset(names)


class NodeGroups:
    """The groups of nodes for one set of slices: nodes with equal keys get the same verdict."""

    def __init__(self, slices: Iterable[ResourceSlice], cache: DerivedValues) -> None:
        self._slices = tuple(slices)
        self._slices_by_node: dict[str, list[ResourceSlice]] = {}
        self._network_slices: list[ResourceSlice] = []
        pool_nodes: dict[PoolName, set[str | None]] = {}
        for resource_slice in self._slices:
            node = resource_slice.spec.node_name
            pool_nodes.setdefault(_pool_of(resource_slice), set()).add(node)
            if node:
                self._slices_by_node.setdefault(node, []).append(resource_slice)
            else:
                self._network_slices.append(resource_slice)
        self._wide_pools = {pool for pool, nodes in pool_nodes.items() if len(nodes) > 1}
        self._node_by_pool = {
            pool: next(iter(nodes)) for pool, nodes in pool_nodes.items() if len(nodes) == 1
        }
        self._signatures = SliceSignatures(cache)
        self._reaches: dict[int, _NodeReach] = {}
        self._idle_keys: dict[AttributeNames, dict[int, _IdleNodeKey]] = {}
        self._distinct_slices: dict[AttributeNames, tuple[ResourceSlice, ...]] = {}
        self._key_numbers: dict[Hashable, int] = {}

    @property
    def are_independent(self) -> bool:
        """True if no node's devices depend on the devices in use on other nodes."""
        return not (self._network_slices or self._wide_pools)

    def keys(
        self,
        nodes: Mapping[str, Node],
        names: AttributeNames,
        in_use: DevicesInUse,
        previous: NodeKeys | None = None,
    ) -> NodeKeys:
        """Return the keys of nodes for a question that reads ``names``.

        ``previous`` are earlier keys of the same nodes for the same names. They are reused for
        nodes whose devices in use are the same.
        """
        idle_keys = self._idle_keys.setdefault(names, {})
        keys: dict[str, Hashable] = {}
        changed = nodes
        if previous is not None and previous.groups is self and previous.nodes is nodes:
            keys = dict(previous.by_name)
            pools = _diff_in_use(previous.in_use, in_use)
            owners = map(self._node_by_pool.get, pools)
            changed = {name: nodes[name] for name in owners if name is not None and name in nodes}
        for name, node in changed.items():
            idle = idle_keys.get(id(node.raw))
            if idle is None or idle.node is not node.raw:
                idle = idle_keys[id(node.raw)] = self._idle_key(node.raw, names)
            keys[name] = idle.key, *map(in_use.get, idle.pools)
        return NodeKeys(self, nodes, in_use, keys)

    def distinct_slices(self, names: AttributeNames) -> tuple[ResourceSlice, ...]:
        """Return one of the slices that are equal for a question that reads ``names``, of each
        kind.
        """
        if names not in self._distinct_slices:
            kinds = {self._signatures.of(each).hash(names): each for each in self._slices}
            self._distinct_slices[names] = tuple(kinds.values())
        return self._distinct_slices[names]

    def _idle_key(self, node: Raw, names: AttributeNames) -> _IdleNodeKey:
        reach = self._reaches.get(id(node))
        if reach is None or reach.node is not node:
            reach = self._reaches[id(node)] = self._reach(node)
        if reach.is_single:
            return _IdleNodeKey(node, reach.name, ())
        hashes = tuple([each.hash(names) for each in reach.signatures])
        key = hashes, reach.network_slices, reach.declared_features
        number = self._key_numbers.setdefault(key, len(self._key_numbers))
        return _IdleNodeKey(node, number, reach.pools)

    def _reach(self, node: Raw) -> _NodeReach:
        view = Node(node)
        network_slices = []
        is_single = False
        for resource_slice in self._network_slices:
            spec = resource_slice.spec
            if spec.per_device_node_selection or spec.shared_counters:
                is_single = True
            elif spec.all_nodes or _selects(resource_slice, view):
                network_slices.append(id(resource_slice))
        slices = self._slices_of(view.name)
        pools = tuple(map(_pool_of, slices))
        is_single = is_single or not self._wide_pools.isdisjoint(pools)
        return _NodeReach(
            node,
            view.name,
            () if is_single else tuple(map(self._signatures.of, slices)),
            pools,
            tuple(network_slices),
            view.declared_features,
            is_single,
        )

    def pools(self, node: str) -> tuple[PoolName, ...]:
        """Return the pool of each slice of a node, in an order that matches between equal nodes."""
        return tuple(map(_pool_of, self._slices_of(node)))

    def _slices_of(self, node: str) -> Sequence[ResourceSlice]:
        slices = self._slices_by_node.get(node, ())
        if len(slices) < 2:
            return slices
        return sorted(slices, key=lambda s: (s.spec.driver, s.spec.pool.name, s.metadata.name))


class NodeKeys(Struct, frozen=True):
    """The keys of nodes. A key contains everything that decides the verdict on its node: the node's
    pools, their devices in use, and other slices that the node reaches.
    """

    groups: NodeGroups
    nodes: Mapping[str, Node]
    in_use: DevicesInUse
    by_name: Mapping[str, Hashable]
    """The keys by the names of the nodes, in the order of ``nodes``."""


class _NodeReach(Struct, frozen=True):
    """The devices that a node reaches."""

    node: Raw
    name: str
    signatures: tuple[_Signature, ...]
    """The signatures of the slices that are for this node only; none if ``is_single``."""
    pools: tuple[PoolName, ...]
    """The pool of each slice that is for this node only."""
    network_slices: tuple[int, ...]
    """The identities of the other slices that the node reaches."""
    declared_features: tuple[str, ...]
    """The feature gates that the node's kubelet declares."""
    is_single: bool
    """True if the verdict may depend on any label of the node, or on the devices in use on other
    nodes, so that the node is a group of its own.
    """


class _IdleNodeKey(Struct, frozen=True):
    """The key of a node when nothing in its pools is in use."""

    node: Raw
    key: Hashable
    pools: tuple[PoolName, ...]


class _Signature(Struct, frozen=True):
    """Hashes of the parts of a slice that affect verdicts."""

    resource_slice: ResourceSlice
    base_hash: int
    """The hash of the slice without plain attributes."""
    similar: _Signature | None = None
    """The signature of a slice that differs only in the attributes ``differing_names``."""
    differing_names: frozenset[str] = frozenset()
    hash_by_names: dict[AttributeNames, int] = {}
    """The hashes with the attributes that a question reads, by the names of these attributes."""

    def hash(self, names: AttributeNames) -> int:
        """Return the hash of the slice for a question that reads the attributes ``names``.

        Slices have equal hashes if they differ only in plain attributes that the question does not
        read.
        """
        signature = self
        if (
            self.similar is not None
            and names is not None
            and self.differing_names.isdisjoint(names)
        ):
            signature = self.similar
        if names not in signature.hash_by_names:
            values = _attribute_values(signature.resource_slice, names)
            signature.hash_by_names[names] = hash((signature.base_hash, values))
        return signature.hash_by_names[names]


class SliceSignatures:
    """Signatures of slices.

    Most slices of a driver differ only in a few attributes that questions seldom read, such as
    uuid. Such slices share their hashes.
    """

    def __init__(self, cache: DerivedValues) -> None:
        self._cache = cache
        self._latest_of_driver: dict[str, _Signature] = {}
        self._names: dict[frozenset[str], frozenset[str]] = {}

    def of(self, resource_slice: ResourceSlice) -> _Signature:
        """Return the signature of a slice."""
        return self._cache.from_object(
            "slice-signature", resource_slice, lambda: self._make(resource_slice)
        )

    def _make(self, resource_slice: ResourceSlice) -> _Signature:
        driver = resource_slice.spec.driver
        similar = self._latest_of_driver.get(driver)
        if similar is not None:
            names = _diff_attributes(resource_slice, similar.resource_slice)
            if names is not None:
                names = self._names.setdefault(names, names)  # most slices differ in the same ones
                return _Signature(resource_slice, similar.base_hash, similar, names)
        signature = _Signature(resource_slice, _base_hash(resource_slice))
        self._latest_of_driver[driver] = signature
        return signature


def _diff_attributes(first: ResourceSlice, second: ResourceSlice) -> frozenset[str] | None:
    """Return the bare names of plain attributes in which the devices of two slices differ; None if
    they also differ elsewhere.

    Comparing is faster than :func:`_base_hash`, even where equal parts are different objects. Equal
    parts are one object only in JSON lists of 16 MiB or more (:mod:`dractl.manifests.jsontext`).
    """
    ours, theirs = first.spec, second.spec
    if ours.shared_counters or theirs.shared_counters or len(ours.devices) != len(theirs.devices):
        return None
    if _slice_header(first) != _slice_header(second):
        return None
    names: set[str] = set()
    for device, other in zip(ours.devices, theirs.devices, strict=True):
        mine, their = device.mapping, other.mapping
        attributes, others = mine.get("attributes"), their.get("attributes")
        if not isinstance(attributes, dict) or not isinstance(others, dict):
            return None
        if {**mine, "attributes": others} != their:
            return None
        if _are_equal_except(names, attributes, others):
            continue
        if list(attributes) != list(others):
            return None
        differing = list(compress(attributes, map(ne, attributes.values(), others.values())))
        if not all(_is_plain(attributes[name]) and _is_plain(others[name]) for name in differing):
            return None
        names.update(differing)
    return frozenset(map(_bare_name, names))


def _are_equal_except(names: Iterable[str], first: Raw, second: Raw) -> bool:
    """Return True if two maps of attributes are equal but for some plain attributes, in one
    comparison of all values.
    """
    replaced = dict(first)
    for name in names:
        value, other = first.get(name), second.get(name)
        if not _is_plain(value) or not _is_plain(other):
            return False
        replaced[name] = other
    return replaced == second


def _base_hash(resource_slice: ResourceSlice) -> int:
    devices = [_strip_plain_attributes(d.mapping) for d in resource_slice.spec.devices]
    counters = resource_slice.spec.shared_counters
    return hash((_slice_header(resource_slice), repr((counters, devices))))


def _slice_header(resource_slice: ResourceSlice) -> tuple[Hashable, ...]:
    spec = resource_slice.spec
    pool = spec.pool
    return spec.driver, pool.generation, pool.resource_slice_count, spec.skip_node_operations


def _strip_plain_attributes(device: Raw) -> Raw:
    """Return a device without its plain attributes, which affect only selectors that read them."""
    attributes = device.get("attributes")
    if not isinstance(attributes, dict):
        return device
    return {
        **device,
        # The condition of _is_plain without a call, since a large dump has a million attributes
        "attributes": {
            name: value
            for name, value in attributes.items()
            if type(value) is not dict or not _PLAIN_TYPES.issuperset(value)
        },
    }


def _is_plain(value: object) -> bool:
    return type(value) is dict and _PLAIN_TYPES.issuperset(value)


def _attribute_values(resource_slice: ResourceSlice, names: AttributeNames) -> str:
    """Return the attributes of all devices that a question reads, as one text."""
    devices = [device.mapping.get("attributes") for device in resource_slice.spec.devices]
    attributes = [each for each in devices if isinstance(each, dict)]
    read = sorted(set[str]().union(*attributes))
    if names is not None:
        read = [name for name in read if name.rpartition("/")[2] in names]
    return repr((read, [each.get(name) for each in attributes for name in read]))


def _diff_in_use(first: DevicesInUse, second: DevicesInUse) -> list[PoolName]:
    """Return the pools in which the devices in use differ."""
    if list(first) == list(second):
        return list(compress(first, map(is_not, first.values(), second.values())))
    return [
        *(pool for pool, devices in first.items() if second.get(pool) is not devices),
        *(pool for pool in second if pool not in first),
    ]


def _bare_name(name: str) -> str:
    """Return the name of an attribute without its domain."""
    return name.rpartition("/")[2]


def _pool_of(resource_slice: ResourceSlice) -> PoolName:
    return resource_slice.spec.driver, resource_slice.spec.pool.name


def _selects(resource_slice: ResourceSlice, node: Node) -> bool:
    selector = resource_slice.spec.node_selector
    return selector is not None and matches_some_term(selector, node.name, node.labels)
