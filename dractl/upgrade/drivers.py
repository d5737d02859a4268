"""Slices of two versions of a driver, and their differences.

A known machine is rendered with each version. For other nodes, the present slices are changed by
the catalogue's rows for the versions in between.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from dractl.cluster import ClusterState, sources
from dractl.drivers import Options, find, render
from dractl.drivers.compare import devices
from dractl.errors import UsageError
from dractl.facts import pack
from dractl.facts.drivers import Attribute, Capacity, Driver
from dractl.model import Target, to_v1
from dractl.objects import Device, Raw, mapping, slice_of
from dractl.upgrade.finding import Finding

if TYPE_CHECKING:
    from dractl.cluster.described_nodes import DescribedNode

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
_SHARED_BY_ADDRESS = ("resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode")
"""Attributes that all devices with the same PCI address share."""


class ComingAttribute(Struct, frozen=True):
    """An attribute or a capacity that the later version introduces, with a value that the present
    slices do not show.
    """

    name: str
    """The name as it is in the catalogue."""
    type: str
    """The type of its value; ``quantity`` for a capacity."""
    certain: bool
    """True if the device will have it, False if it may have it."""


class PredictedSlices(Struct, frozen=True):
    """Slices as another version would publish them."""

    slices: tuple[dict[str, Any], ...]
    coming: Mapping[str, tuple[ComingAttribute, ...]] = field(default_factory=dict)
    """The introduced attributes and capacities, by the name of the device; the slices lack them,
    since their values are unknown.
    """


# -- versions --


def parse_version(name: str, text: str) -> str:
    """Return the version that ``text`` names, as the catalogue calls it.

    Raises UsageError for an unknown driver or version; the nearest version is never used instead.
    """
    catalogue = find(name).catalogue
    index = catalogue.index(text)
    bare = text.rpartition("v")[2]
    tags = {tag.rpartition("v")[2] for tag in catalogue.names}
    if catalogue.stand_in(text) is not None or (bare.count(".") > 1 and bare not in tags):
        names = ", ".join(map(catalogue.with_tags, catalogue.versions))
        raise UsageError(
            f"{name} {text} is not a version that dractl knows", hint=f"dractl knows {names}"
        )
    return catalogue.versions[index]


def versions_that_fit(name: str, slices: Iterable[Raw], tag: str | None) -> tuple[str, ...]:
    """Return the versions that may publish these slices, oldest first.

    This is the version of the image's tag, if dractl knows it, or else the versions that publish
    the attributes of the slices.
    """
    catalogue = find(name).catalogue
    if tag is not None and catalogue.knows(tag) and catalogue.stand_in(tag) is None:
        return (catalogue.versions[catalogue.index(tag)],)
    shapes = {_shape(device) for item in map(slice_of, slices) for device in item.devices}
    return tuple(
        version
        for version in catalogue.versions
        if all(_fits(catalogue, version, shape) for shape in shapes)
    )


_Shape = tuple[frozenset[str], str, bool]


def _shape(device: Device) -> _Shape:
    """Return the facts about a device that depend on the driver's version: the names of its
    attributes, its type, and whether it is a partition.
    """
    is_partition = bool(device.fields.get("consumesCounters"))
    return frozenset(device.attributes), device.attribute_text("type"), is_partition


def _fits(catalogue: Driver, version: str, shape: _Shape) -> bool:
    """Return True if a version can publish a device: the device has no attributes that the version
    lacks, and has all that the version always publishes.
    """
    attributes, kind, partition = shape
    for row in catalogue.attributes:
        is_present, concerns = row.name in attributes, not row.devices or kind in row.devices
        always = concerns and not row.when and not partition  # a partition may lack attributes
        if is_present != catalogue.covers(row, version) and (is_present or always):
            return False
    return True


def is_downgrade(name: str, start: str, to: str) -> bool:
    """Return True if ``to`` is the older version."""
    order = find(name).catalogue.versions
    return order.index(to) < order.index(start)


def versions(name: str) -> tuple[str, ...]:
    """Return the versions in the catalogue, oldest first."""
    return find(name).catalogue.versions


def behavior_changes(name: str, start: str, to: str) -> Iterator[Finding]:
    """Yield the changes in the driver's code between the versions, which slices need not show."""
    catalogue = find(name).catalogue
    order = catalogue.versions
    for row in catalogue.changes.values():
        if row.since is not None and order.index(start) < order.index(row.since) <= order.index(to):
            source, date = row.source or catalogue.source, row.read or catalogue.read
            yield Finding(
                "driver-change",
                "info",
                f"from {row.since} on, {row.about}",
                source=source,
                date=date,
            )


# -- slices --


def render_slices(
    described: "DescribedNode", name: str, version: str, target: Target
) -> tuple[dict[str, Any], ...]:
    """Return the slices of a version on a known machine; none if the version would not start."""
    options = Options(described.node, target, {name: version}, described.settings)
    return render(described.machine, options, [name]).slices


class _CatalogueChanges(Struct, frozen=True):
    """The differences between two versions of a driver, by the catalogue."""

    rows: tuple[tuple[Attribute | Capacity, bool], ...]
    """Attributes and capacities that the later version introduces, each with True if that is
    certain.
    """
    lost_attributes: frozenset[str]
    """Names of the attributes that the later version lacks."""
    lost_capacities: frozenset[str]
    """Names of the capacities that the later version lacks."""


@cache
def _catalogue_changes(name: str, start: str, to: str) -> _CatalogueChanges:
    """Return the differences between two versions, by the catalogue."""
    catalogue = find(name).catalogue
    order = catalogue.versions
    every: tuple[Attribute | Capacity, ...] = (*catalogue.attributes, *catalogue.capacities)
    rows = (
        row
        for row in every
        if catalogue.covers(row, to) and _appears_between(catalogue, row, start, to)
    )

    def names_lost(rows: Iterable[Attribute | Capacity]) -> frozenset[str]:
        return frozenset(row.name for row in rows if not catalogue.covers(row, to))

    return _CatalogueChanges(
        tuple(
            (row, not row.when and order.index(row.since or to) > order.index(start))
            for row in rows
        ),
        names_lost(catalogue.attributes),
        names_lost(catalogue.capacities),
    )


@cache
def _list_lost_attributes(name: str, start: str, to: str) -> Mapping[str, frozenset[str]]:
    """Return the attributes that the devices of a type no longer have, by type."""
    catalogue = find(name).catalogue
    order = catalogue.versions
    lost_by_type: dict[str, set[str]] = defaultdict(set)
    for row in catalogue.attributes:
        since = row.fewer_since
        if since is not None and order.index(start) < order.index(since) <= order.index(to):
            for kind in row.lost_by:
                lost_by_type[kind].add(row.name)
    return {kind: frozenset(names) for kind, names in lost_by_type.items()}


pack.forget_with(_catalogue_changes.cache_clear)
pack.forget_with(_list_lost_attributes.cache_clear)


def predict_slices(slices: Sequence[Raw], name: str, start: str, to: str) -> PredictedSlices:
    """Return the present slices of a driver as the version ``to`` would publish them. The slices
    are consistent with the version ``start``.
    """
    catalogue_changes = _catalogue_changes(name, start, to)
    lost = _list_lost_attributes(name, start, to)
    shared = _by_address(slices)
    coming: dict[str, tuple[ComingAttribute, ...]] = {}
    changed = []
    for value in map(dict, map(to_v1, slices)):
        resource_slice = slice_of(value)
        devices = []
        for device in resource_slice.devices:
            kind = device.attribute_text("type")
            missing = catalogue_changes.lost_attributes | lost.get(kind, frozenset())
            attributes = {k: v for k, v in device.attributes.items() if k not in missing}
            unknown = []
            for row, certain in catalogue_changes.rows:
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
                    row.name not in _SHARED_BY_ADDRESS
                    or _helper_finds(device.attributes, attributes)
                ):
                    attributes[row.name] = text
                elif certain and len(row.values) == 1:
                    attributes[row.name] = {_VALUES[row.type]: row.values[0]}
                else:
                    unknown.append(ComingAttribute(row.name, _VALUES[row.type], certain))
            fields = {**device.fields, "attributes": attributes}
            if "capacity" in fields:
                fields["capacity"] = {
                    key: amount
                    for key, amount in device.capacity.items()
                    if key not in catalogue_changes.lost_capacities
                }
            devices.append(fields)
            coming[device.name] = tuple(unknown)
        spec = resource_slice.spec
        changed.append(
            {**value, "spec": {**spec, "devices": devices} if "devices" in spec else spec}
        )
    return PredictedSlices(
        tuple(changed), {device: each for device, each in coming.items() if each}
    )


def _helper_finds(had: Raw, kept: Raw) -> bool:
    """Return True if the helper library finds the PCI function of a device.

    The library knows only PCI domains with four digits
    (k8s.io/dynamic-resource-allocation/deviceattribute pci.go). It finds the PCIe root and the NUMA
    node of a function in such a domain.
    """
    return not {"dra.net/pciAddress"} & had.keys() or _SHARED_BY_ADDRESS[0] in kept


def _appears_between(known: Driver, row: Attribute | Capacity, start: str, to: str) -> bool:
    """Return True if a version after ``start``, up to ``to``, adds an attribute or a capacity to
    all devices, or to more devices than before.
    """
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
        for name in _SHARED_BY_ADDRESS:
            if address and name in device.attributes:
                values[name, address] = device.attributes[name]
    return values


def replace_slices(state: ClusterState, name: str, slices: Iterable[Raw]) -> ClusterState:
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


# -- differences --


class Change(Struct, frozen=True):
    """One difference between the slices of two versions."""

    code: str
    """The code of the finding."""
    name: str
    """The attribute or capacity in the form in which slices have it, the family of the devices, or
    the claim that holds a device.
    """
    text: str = ""
    """The words in the finding's sentence for what changes; if empty, the sentence has the name."""


Changes = Mapping[Change, Sequence[str]]
"""Changes, each with the nodes of the devices that it affects."""


def collect_changes(
    name: str,
    before: Mapping[str, Sequence[Raw]],
    after: Mapping[str, PredictedSlices],
    holders: Mapping[str, Sequence[str]],
) -> Changes:
    """Return the differences between two versions of a driver, each with the nodes of its devices.

    ``holders`` has the claims that hold a device, by ``DRIVER/POOL/DEVICE``.
    """
    changes: dict[Change, list[str]] = defaultdict(list)
    for node in sorted(before.keys() | after.keys()):
        new = after.get(node, PredictedSlices(()))
        for change in _changes_on_node(name, node, before.get(node, ()), new, holders):
            changes[change].append(node)
    return changes


def difference_findings(changes: Changes) -> Iterator[Finding]:
    """Yield the differences in the slices of a driver, by node."""
    for change, nodes in changes.items():
        level, text = _SENTENCES[change.code]
        many = f" ({len(nodes)} devices)" if change.code not in _CODES_WITHOUT_COUNT else ""
        node_names = tuple(f"Node/{node}" for node in dict.fromkeys(nodes))
        is_held = change.code == "held-device-gone"
        yield Finding(
            change.code,
            level,
            text.format("" if is_held else change.text or change.name) + many,
            (change.name,) if is_held else node_names,
        )


def codes_by_name(name: str, changes: Changes) -> dict[tuple[str, str], str]:
    """Return the code of each attribute and capacity that changes. The key is ``attributes`` or
    ``capacity``, and the full name.
    """
    parts = {"attribute": "attributes", "capacity": "capacity"}
    codes: dict[tuple[str, str], str] = {}
    for change in changes:
        part = parts.get(change.code.partition("-")[0])
        if part is not None:
            full = change.name if "/" in change.name else f"{name}/{change.name}"
            codes.setdefault((part, full), change.code)
    return codes


def catalogue_codes(name: str, start: str, to: str) -> dict[tuple[str, str], str]:
    """Return the code of each attribute and capacity that changes, from the catalogue alone.

    This is for an input without slices of the driver.
    """
    catalogue = find(name).catalogue
    codes: dict[tuple[str, str], str] = {}
    for row, is_certain in _catalogue_changes(name, start, to).rows:
        part = "capacity" if isinstance(row, Capacity) else "attributes"
        noun = "capacity" if part == "capacity" else "attribute"
        code = f"{noun}-{'comes' if is_certain else 'may-come'}"
        codes[part, catalogue.full(row.name)] = code
    for part, rows_of_part in (
        ("attributes", catalogue.attributes),
        ("capacity", catalogue.capacities),
    ):
        for row in rows_of_part:
            if catalogue.covers(row, start) and not catalogue.covers(row, to):
                code = f"{'capacity' if part == 'capacity' else 'attribute'}-gone"
                codes[part, catalogue.full(row.name)] = code
    return codes


_CODES_WITHOUT_COUNT = ("held-device-gone",)
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


def _changes_on_node(
    name: str,
    node: str,
    before: Sequence[Raw],
    after: PredictedSlices,
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
        yield from _changes_of_device(old[device], new[device])
        for each in after.coming.get(device, ()):
            part = "capacity" if each.type == "quantity" else "attribute"
            yield Change(f"{part}-comes" if each.certain else f"{part}-may-come", each.name)


def _changes_of_device(old: Raw, new: Raw) -> Iterator[Change]:
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
    """Return the name of a device without its numbers: ``gpu-*-mig-*``."""
    parts = ("*" if any(c.isdigit() for c in part) else part for part in device.split("-"))
    pattern = "-".join(parts)
    while "*-*" in pattern:
        pattern = pattern.replace("*-*", "*")
    return pattern


def group_by_node(slices: Iterable[Raw], name: str) -> dict[str, list[Raw]]:
    """Return the slices of a driver by node; slices of several nodes are under ""."""
    nodes: dict[str, list[Raw]] = defaultdict(list)
    for value in slices:
        resource_slice = slice_of(value)
        if resource_slice.driver == name:
            nodes[resource_slice.node].append(value)
    return nodes
