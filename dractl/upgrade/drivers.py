"""What two versions of a driver publish: for a known machine exactly, else the present slices with what the catalogue
says of the versions between."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from msgspec import Struct, field

from dractl.cluster import ClusterState, sources
from dractl.cluster.described_nodes import DescribedNode
from dractl.drivers import Options, find, render
from dractl.drivers.compare import devices
from dractl.errors import UsageError
from dractl.facts import pack
from dractl.facts.drivers import Attribute, Capacity, Driver
from dractl.model import Target, to_v1
from dractl.objects import Device, Raw, mapping, slice_of
from dractl.upgrade.finding import Finding

Devices = Mapping[tuple[str, str], Raw]


_VALUES = {
    "string": "string",
    "int": "int",
    "bool": "bool",
    "version": "version",
    "strings": "string",
    "ints": "int",
}
_ADDRESS = "resource.kubernetes.io/pciBusID"
_OF_ADDRESS = ("resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode")
"""Attributes that all devices of a PCI address share."""


class ComingAttribute(Struct, frozen=True):
    """An attribute, or a capacity (whose ``type`` is ``quantity``), that a device will have, or (not ``certain``) may have; the slices do not tell its value."""

    name: str
    type: str
    certain: bool


class Predicted(Struct, frozen=True):
    """Slices as another version would publish them. ``coming``: by name of a device what has no known value and is not
    in the slices."""

    slices: tuple[dict[str, Any], ...]
    coming: Mapping[str, tuple[ComingAttribute, ...]] = field(default_factory=dict)


# -- versions --


def later(name: str, text: str) -> str:
    """The version that ``text`` names, as dractl calls it. Raises UsageError for an unknown driver or version, which is
    never judged by the nearest one."""
    known = find(name).catalogue
    index = known.index(text)
    bare = text.rpartition("v")[2]
    tags = {tag.rpartition("v")[2] for tag in known.names}
    if known.stand_in(text) is not None or (bare.count(".") > 1 and bare not in tags):
        listed = ", ".join(map(known.with_tags, known.versions))
        raise UsageError(
            f"{name} {text} is not a version that dractl knows", hint=f"dractl knows {listed}"
        )
    return known.versions[index]


def present(name: str, slices: Iterable[Raw], tag: str | None) -> tuple[str, ...]:
    """Return the versions that may publish these slices, oldest first.

    It is that of the image's tag, if dractl knows it; else those with the attributes of the slices.
    """
    known = find(name).catalogue
    if tag is not None and known.knows(tag) and known.stand_in(tag) is None:
        return (known.versions[known.index(tag)],)
    shapes = {_shape(device) for item in map(slice_of, slices) for device in item.devices}
    return tuple(
        version
        for version in known.versions
        if all(_fits(known, version, shape) for shape in shapes)
    )


_Shape = tuple[frozenset[str], str, bool]


def _shape(device: Device) -> _Shape:
    """Return all that a version decides: the names of a device's attributes, its type, and whether
    it is a partition.
    """
    is_partition = bool(device.fields.get("consumesCounters"))
    return frozenset(device.attributes), device.attribute_text("type"), is_partition


def _fits(known: Driver, version: str, shape: _Shape) -> bool:
    """True if a version can publish a device: with none of the attributes that it lacks, and all that it always has."""
    attributes, kind, partition = shape
    for row in known.attributes:
        there, concerns = row.name in attributes, not row.devices or kind in row.devices
        always = concerns and not row.when and not partition  # partitions lack some
        if there != known.covers(row, version) and (there or always):
            return False
    return True


def downgrade(name: str, start: str, to: str) -> bool:
    """True if the later version is the older one."""
    order = find(name).catalogue.versions
    return order.index(to) < order.index(start)


def versions(name: str) -> tuple[str, ...]:
    """The versions that dractl knows, oldest first."""
    return find(name).catalogue.versions


def changes(name: str, start: str, to: str) -> Iterator[Finding]:
    """What the driver's code does differently in the versions between, which slices alone need not show."""
    known = find(name).catalogue
    order = known.versions
    for row in known.changes.values():
        if row.since is not None and order.index(start) < order.index(row.since) <= order.index(to):
            source, date = row.source or known.source, row.read or known.read
            yield Finding(
                "driver-change",
                "info",
                f"from {row.since} on, {row.about}",
                source=source,
                date=date,
            )


# -- slices --


def published(
    described: DescribedNode, name: str, version: str, target: Target
) -> tuple[dict[str, Any], ...]:
    """What a version publishes on a known machine; nothing where it would not start."""
    options = Options(described.node, target, {name: version}, described.settings)
    return render(described.machine, options, [name]).slices


@cache
def _changed(
    name: str, start: str, to: str
) -> tuple[tuple[tuple[Attribute | Capacity, bool], ...], frozenset[str], frozenset[str]]:
    """The attributes and capacities that come, and whether it is certain; the attributes and capacities that a version
    lacks."""
    known = find(name).catalogue
    order = known.versions
    every: tuple[Attribute | Capacity, ...] = (*known.attributes, *known.capacities)
    rows = (row for row in every if known.covers(row, to) and _came(known, row, start, to))
    comes = tuple(
        (row, not row.when and order.index(row.since or to) > order.index(start)) for row in rows
    )
    gone = frozenset(row.name for row in known.attributes if not known.covers(row, to))
    return comes, gone, frozenset(row.name for row in known.capacities if not known.covers(row, to))


@cache
def _lost(name: str, start: str, to: str) -> Mapping[str, frozenset[str]]:
    """Return the attributes that the devices of a type no longer have, by type."""
    known = find(name).catalogue
    order = known.versions
    lost: dict[str, set[str]] = defaultdict(set)
    for row in known.attributes:
        since = row.fewer_since
        if since is not None and order.index(start) < order.index(since) <= order.index(to):
            for kind in row.lost_by:
                lost[kind].add(row.name)
    return {kind: frozenset(names) for kind, names in lost.items()}


pack.forget_with(_changed.cache_clear)
pack.forget_with(_lost.cache_clear)


def predicted(slices: Sequence[Raw], name: str, start: str, to: str) -> Predicted:
    """Return the present slices of a driver with the differences between two versions."""
    rows, gone, capacities = _changed(name, start, to)
    lost = _lost(name, start, to)
    shared = _by_address(slices)
    coming: dict[str, tuple[ComingAttribute, ...]] = {}
    changed = []
    for value in map(dict, map(to_v1, slices)):
        resource_slice = slice_of(value)
        devices = []
        for device in resource_slice.devices:
            kind = device.attribute_text("type")
            missing = gone | lost.get(kind, frozenset())
            attributes = {k: v for k, v in device.attributes.items() if k not in missing}
            unknown = []
            for row, certain in rows:
                concerns = not row.devices or kind in row.devices
                if isinstance(row, Capacity):
                    if concerns and row.name not in device.capacity:
                        unknown.append(ComingAttribute(row.name, row.type, certain))
                    continue
                if not concerns or row.name in device.attributes:
                    continue
                address = device.attribute_text(_ADDRESS)
                text = device.attributes.get(row.same_as) or shared.get((row.name, address))
                if text is not None and (
                    row.name not in _OF_ADDRESS or _known_to_helper(device.attributes, attributes)
                ):
                    attributes[row.name] = text
                elif certain and len(row.values) == 1:
                    attributes[row.name] = {_VALUES[row.type]: row.values[0]}
                else:
                    unknown.append(ComingAttribute(row.name, _VALUES[row.type], certain))
            fields = {**device.fields, "attributes": attributes}
            if "capacity" in fields:
                fields["capacity"] = {
                    key: amount for key, amount in device.capacity.items() if key not in capacities
                }
            devices.append(fields)
            coming[device.name] = tuple(unknown)
        spec = resource_slice.spec
        changed.append(
            {**value, "spec": {**spec, "devices": devices} if "devices" in spec else spec}
        )
    return Predicted(tuple(changed), {device: each for device, each in coming.items() if each})


def _known_to_helper(had: Raw, kept: Raw) -> bool:
    """True if the helper library finds the function: it knows PCI domains of four digits alone
    (k8s.io/dynamic-resource-allocation/deviceattribute pci.go), and finds the root and the NUMA node of all others."""
    return not {"dra.net/pciAddress"} & had.keys() or _OF_ADDRESS[0] in kept


def _came(known: Driver, row: Attribute | Capacity, start: str, to: str) -> bool:
    """True if devices have an attribute or a capacity in one version that they, or some of them, lack in the other."""
    order, first = known.versions, known.versions.index(start)
    return any(
        since is not None and first < order.index(since) <= order.index(to)
        for since in (row.since, row.more_since if isinstance(row, Attribute) else None)
    )


def _by_address(slices: Iterable[Raw]) -> dict[tuple[str, str], Any]:
    """Return the values that all devices of one PCI address share, by attribute and address."""
    values = {}
    for device in (device for item in map(slice_of, slices) for device in item.devices):
        address = device.attribute_text(_ADDRESS)
        for name in _OF_ADDRESS:
            if address and name in device.attributes:
                values[name, address] = device.attributes[name]
    return values


def republished(state: ClusterState, name: str, slices: Iterable[Raw]) -> ClusterState:
    """Return the cluster with these slices of a driver in place of its present ones."""
    new = list(slices)
    others = {
        key: value
        for key, value in state.objects("ResourceSlice").items()
        if slice_of(value).driver != name
    }
    return state.with_kinds(
        {"ResourceSlice": {**others, **sources.from_objects(new).objects("ResourceSlice")}}
    )


# -- what differs --


class Change(Struct, frozen=True):
    """Something that is published otherwise."""

    code: str
    name: str
    """The attribute or capacity as slices have it, the family of the devices, or the claim that holds one."""
    text: str = ""
    """The rest of the sentence, where the name is not all of it."""


Changes = Mapping[Change, Sequence[str]]
"""What changes, with the node of each device."""


def collect_changes(
    name: str,
    before: Mapping[str, Sequence[Raw]],
    after: Mapping[str, Predicted],
    holders: Mapping[str, Sequence[str]],
) -> Changes:
    """Return what a driver publishes otherwise. ``holders``: the claims that hold a device, which is named
    ``DRIVER/POOL/DEVICE``."""
    changes: dict[Change, list[str]] = defaultdict(list)
    for node in sorted(before.keys() | after.keys()):
        new = after.get(node, Predicted(()))
        for change in _of_node(name, node, before.get(node, ()), new, holders):
            changes[change].append(node)
    return changes


def differences(changes: Changes) -> Iterator[Finding]:
    """Yield what a driver publishes otherwise, by node."""
    for change, nodes in changes.items():
        level, text = _SENTENCES[change.code]
        many = f" ({len(nodes)} devices)" if change.code not in _ONCE else ""
        there = tuple(f"Node/{node}" for node in dict.fromkeys(nodes))
        is_held = change.code == "held-device-gone"
        yield Finding(
            change.code,
            level,
            text.format("" if is_held else change.text or change.name) + many,
            (change.name,) if is_held else there,
        )


def changed_names(name: str, changes: Changes) -> dict[tuple[str, str], str]:
    """Return the code of each attribute and capacity that changes, by part of the device and full name."""
    parts = {"attribute": "attributes", "capacity": "capacity"}
    found: dict[tuple[str, str], str] = {}
    for change in changes:
        part = parts.get(change.code.partition("-")[0])
        if part is not None:
            full = change.name if "/" in change.name else f"{name}/{change.name}"
            found.setdefault((part, full), change.code)
    return found


def known_changes(name: str, start: str, to: str) -> dict[tuple[str, str], str]:
    """Return the same from the facts alone, where no slice of the driver is in the input."""
    known = find(name).catalogue
    rows, _, _ = _changed(name, start, to)
    found: dict[tuple[str, str], str] = {}
    for row, is_certain in rows:
        part = "capacity" if isinstance(row, Capacity) else "attributes"
        code = f"{'capacity' if part == 'capacity' else 'attribute'}-{'comes' if is_certain else 'may-come'}"
        found[part, known.full(row.name)] = code
    for part, listed in (("attributes", known.attributes), ("capacity", known.capacities)):
        for row in listed:
            if known.covers(row, start) and not known.covers(row, to):
                code = f"{'capacity' if part == 'capacity' else 'attribute'}-gone"
                found[part, known.full(row.name)] = code
    return found


_ONCE = ("held-device-gone",)
_SENTENCES: Mapping[str, tuple[Any, str]] = {
    "attribute-gone": ("changes", "attribute {} is no longer published"),
    "attribute-new": ("changes", "attribute {} is published"),
    "attribute-comes": (
        "changes",
        "attribute {} is published; the present slices do not tell its value",
    ),
    "attribute-may-come": ("info", "attribute {} may be published; the present slices do not tell"),
    "attribute-type": ("changes", "attribute {}"),
    "attribute-text": ("changes", "attribute {} has another value"),
    "capacity-comes": (
        "changes",
        "capacity {} is published; the present slices do not tell its amount",
    ),
    "capacity-may-come": ("info", "capacity {} may be published; the present slices do not tell"),
    "capacity-gone": ("changes", "capacity {} is no longer published"),
    "capacity-new": ("changes", "capacity {} is published"),
    "capacity-text": ("changes", "capacity {} has another value"),
    "device-gone": ("changes", "devices {} are no longer published"),
    "device-new": ("changes", "devices {} are published"),
    "device-kind": ("changes", "{}"),
    "held-device-gone": (
        "breaks",
        "a device that the claim holds is no longer published under its name{}",
    ),
}
_KINDS = {
    "consumesCounters": (
        "devices take counters: they are partitions",
        "devices no longer take counters",
    ),
    "allowMultipleAllocations": ("devices can be shared", "devices can no longer be shared"),
    "taints": ("devices are tainted", "devices are no longer tainted"),
}


def _of_node(
    name: str,
    node: str,
    before: Sequence[Raw],
    after: Predicted,
    holders: Mapping[str, Sequence[str]],
) -> Iterator[Change]:
    old = _devices(before, node, name)
    new = _devices(after.slices, node, name)
    for device in sorted(old.keys() - new.keys()):
        yield Change("device-gone", _family(device))
        for claim in holders.get(f"{name}/{node}/{device}", ()):
            yield Change("held-device-gone", claim)
    for device in sorted(new.keys() - old.keys()):
        yield Change("device-new", _family(device))
    for device in sorted(new.keys() & old.keys()):
        yield from _of_device(old[device], new[device])
        for each in after.coming.get(device, ()):
            part = "capacity" if each.type == "quantity" else "attribute"
            yield Change(f"{part}-comes" if each.certain else f"{part}-may-come", each.name)


def _of_device(old: Raw, new: Raw) -> Iterator[Change]:
    for part, code in (("attributes", "attribute"), ("capacity", "capacity")):
        left, right = mapping(old.get(part)), mapping(new.get(part))
        for key in sorted(left.keys() | right.keys()):
            if key not in right:
                yield Change(f"{code}-gone", key)
            elif key not in left:
                yield Change(f"{code}-new", key)
            elif left[key] != right[key]:
                types = [next(iter(side[key]), "") for side in (left, right)]
                if code == "attribute" and types[0] != types[1]:
                    text = f"{key} is {types[1]} instead of {types[0]}"
                    yield Change("attribute-type", key, text)
                else:
                    yield Change(f"{code}-text", key)
    for key, (comes, goes) in _KINDS.items():
        if bool(old.get(key)) != bool(new.get(key)):
            yield Change("device-kind", comes if new.get(key) else goes)


def _devices(slices: Iterable[Raw], node: str, name: str) -> dict[str, Raw]:
    return {
        device: fields for (_, device), fields in devices(slices, node, frozenset({name})).items()
    }


def _family(device: str) -> str:
    """The name of a device without its numbers: ``gpu-*-mig-*``."""
    parts = ("*" if any(c.isdigit() for c in part) else part for part in device.split("-"))
    found = "-".join(parts)
    while "*-*" in found:
        found = found.replace("*-*", "*")
    return found


def by_node(slices: Iterable[Raw], name: str) -> dict[str, list[Raw]]:
    """Return the slices of a driver by node; those of no single node are under an empty name."""
    nodes: dict[str, list[Raw]] = defaultdict(list)
    for value in slices:
        resource_slice = slice_of(value)
        if resource_slice.driver == name:
            nodes[resource_slice.node].append(value)
    return nodes
