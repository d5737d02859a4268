"""Changes between two snapshots that a driver must not make: of names, types and pools."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from dractl.driver_checks.remark import Remark, Remarks, remark
from dractl.driver_checks.snapshots import Snapshot
from dractl.lint.model import Manifest
from dractl.lint.standard import STANDARD_DOMAIN
from dractl.model import full_name
from dractl.objects import Device, PoolName, encode_json, mapping, newest
from dractl.validation.violation import Path

_MAX_NAMED = 4
_IDENTIFIERS = ("uuid", "UUID", "serial", "serialNumber", f"{STANDARD_DOMAIN}/pciBusID")
"""Attributes that identify the hardware independently of the device's name; the first one
counts.
"""
_CONTENT = ("devices", "sharedCounters", "nodeName")


class Placed(Struct, frozen=True):
    """A device and the slice that contains it."""

    device: Device
    subject: Manifest

    def path(self, *steps: str) -> Path:
        """Return the path of a part of the device."""
        return (*self.device.path, *steps)

    @property
    def name_path(self) -> Path:
        """The path of the device's name."""
        return (*self.device.path[:3], "name")


class Pool(Struct, frozen=True):
    """The newest generation of a pool in a snapshot."""

    driver: str
    name: str
    slices: tuple[Manifest, ...]
    devices: tuple[Placed, ...]
    is_new: bool
    """True if the pool has had no slice at some time since the previous snapshot, in which case any
    generation is correct.
    """

    @property
    def generation(self) -> int:
        return self.slices[0].slice.generation

    @property
    def is_complete(self) -> bool:
        """True if the pool has as many slices as it announces."""
        return self.slices[0].slice.announced == len(self.slices)

    @property
    def nodes(self) -> frozenset[str]:
        """The nodes that its slices name."""
        return frozenset(one.slice.node for one in self.slices) - {""}

    def __str__(self) -> str:
        return f"pool {self.name}"


Pools = dict[PoolName, Pool]


def compare_snapshots(snapshots: Sequence[Snapshot]) -> Remarks:
    """Yield the changes between each snapshot and the one before it.

    In a recording, a pool is compared as soon as all of its slices are written.
    """
    before: Pools = {}
    settled: Pools = {}
    for index, snapshot in enumerate(snapshots):
        pools = _group(snapshot)
        seen = {
            key: pool if pool.is_complete or not snapshot.is_recorded else settled.get(key, pool)
            for key, pool in pools.items()
        }
        if index:
            for check in _CHECKS:
                yield from check(settled, seen)
            if snapshot.is_recorded:
                yield from _find_incomplete_generations(before, pools)
        before, settled = pools, seen


def _group(snapshot: Snapshot) -> Pools:
    """Return the pools of a snapshot."""
    groups = newest(snapshot.slices, lambda one: one.slice.identity)
    return {
        key: Pool(
            *key,
            tuple(members),
            tuple(Placed(device, one) for one in members for device in one.devices),
            key in snapshot.emptied,
        )
        for key, members in groups.items()
    }


def _pairs(earlier: Pools, later: Pools) -> Iterable[tuple[Pool, Pool]]:
    """Return the pools that both snapshots have, except unchanged ones."""
    return [
        (before, later[key])
        for key, before in earlier.items()
        if key in later and list(map(id, before.slices)) != list(map(id, later[key].slices))
    ]


def _find_kept_generations(earlier: Pools, later: Pools) -> Remarks:
    """Yield pools whose generation decreases, or stays the same although several slices have
    changed.
    """
    path = ("spec", "pool", "generation")
    for before, after in _pairs(earlier, later):
        first = after.slices[0]
        if after.is_new:
            continue
        if after.generation < before.generation:
            yield remark(
                "DRA381",
                first,
                path,
                f"the generation of {after} falls from {before.generation} to {after.generation}:"
                " slices of the higher generation hide these until they are deleted",
                help="continue from the highest generation that the API server has",
                severity="warning",
                related=(("before", before.slices[0], path),),
            )
        elif after.generation == before.generation:
            contents = Counter(map(encode_content, before.slices))
            changed = sum((Counter(map(encode_content, after.slices)) - contents).values())
            added = len(after.slices) - len(before.slices)
            if changed > 1 or added > 0:
                change = f"{changed} slice{'' if changed == 1 else 's'} of {after} changed"
                yield remark(
                    "DRA381",
                    first,
                    path,
                    f"{change} within generation {after.generation}: a reader cannot tell the old"
                    " ones from the new",
                    help="raise the generation of all slices of the pool when several change",
                    related=(("before", before.slices[0], path),),
                )


def encode_content(one: Manifest) -> bytes:
    """Return the content of a slice without its generation."""
    count = mapping(one.spec.get("pool")).get("resourceSliceCount")
    # Absent fields are left out, since null is slow to encode.
    return encode_json([count, {name: one.spec[name] for name in _CONTENT if name in one.spec}])


def _find_renamed_devices(earlier: Pools, later: Pools) -> Remarks:
    """Yield pools in which the same hardware has a different name than before."""
    for before, after in _pairs(earlier, later):
        names_before, names_after = _name_hardware(before), _name_hardware(after)
        renamed = [
            (names_before[identity], placed)
            for identity, placed in names_after.items()
            if identity in names_before and names_before[identity].device.name != placed.device.name
        ]
        if renamed:
            yield _describe_renamed(after, renamed)
        elif not names_before and _is_renamed_at_random(before, after):
            yield remark(
                "DRA382",
                after.devices[0].subject,
                after.devices[0].name_path,
                f"all devices of {after} have new names, although they are otherwise equal",
                help="derive names from the hardware: claims refer to a device by its name",
                confidence="likely",
                related=(("before", before.devices[0].subject, before.devices[0].name_path),),
            )


def _name_hardware(pool: Pool) -> dict[tuple[str, ...], Placed]:
    """Return the devices of a pool by the identifier of their hardware, where it is unique."""
    devices: dict[tuple[str, ...], list[Placed]] = {}
    for placed in pool.devices:
        for name in _IDENTIFIERS:
            value = _string(placed.device, name, pool.driver)
            if value:
                kind = _string(placed.device, "type", pool.driver)
                devices.setdefault((name, value, kind), []).append(placed)
                break
    return {key: members[0] for key, members in devices.items() if len(members) == 1}


def _string(device: Device, name: str, driver: str) -> str:
    """Return an attribute that is a string, under its short name or in the driver's domain."""
    return device.attribute_text(name) or device.attribute_text(f"{driver}/{name}")


def _describe_renamed(pool: Pool, renamed: Sequence[tuple[Placed, Placed]]) -> Remark:
    shown = ", ".join(
        f"{old.device.name} is {new.device.name} now" for old, new in renamed[:_MAX_NAMED]
    )
    more = f", and {len(renamed) - _MAX_NAMED} more" if len(renamed) > _MAX_NAMED else ""
    old, new = renamed[0]
    return remark(
        "DRA382",
        new.subject,
        new.name_path,
        f"hardware of {pool} has another name: {shown}{more}",
        help="derive names from what does not change: claims refer to a device by its name",
        related=(("before", old.subject, old.name_path),),
    )


def _is_renamed_at_random(before: Pool, after: Pool) -> bool:
    """Return True if the devices are the same except for their names."""
    names = {placed.device.name for placed in before.devices}
    if not names or not names.isdisjoint(placed.device.name for placed in after.devices):
        return False
    return Counter(map(_features, before.devices)) == Counter(map(_features, after.devices))


def _features(placed: Placed) -> bytes:
    return encode_json([dict(placed.device.attributes), dict(placed.device.capacity)])


class Usage(Struct, frozen=True):
    """An attribute in a pool: its types, the number of devices that have it, and one of these
    devices.
    """

    types: frozenset[str]
    count: int
    placed: Placed
    path: Path


def _list_attributes(devices: Iterable[Placed], driver: str) -> dict[str, Usage]:
    """Return the attributes of devices by their full names."""
    types: dict[str, set[str]] = {}
    first: dict[str, tuple[Placed, str]] = {}
    counts: Counter[str] = Counter()
    for placed in devices:
        for name, value in placed.device.attributes.items():
            full = full_name(name, driver)
            counts[full] += 1
            if full not in first:
                first[full], types[full] = (placed, name), set()
            types[full].update(mapping(value))
    return {
        full: Usage(frozenset(types[full]), counts[full], placed, placed.path("attributes", name))
        for full, (placed, name) in first.items()
    }


def _find_changed_attributes(earlier: Pools, later: Pools) -> Remarks:
    """Yield attributes that have a different type, and attributes that all devices have lost; once
    for each driver.
    """
    reported: set[tuple[str, str, str]] = set()
    for before, after in _pairs(earlier, later):
        names = {placed.device.name for placed in before.devices} & {
            placed.device.name for placed in after.devices
        }
        kept_before, kept_after = (
            [placed for placed in pool.devices if placed.device.name in names]
            for pool in (before, after)
        )
        usages = _list_attributes(kept_after, after.driver)
        for name, usage in _list_attributes(kept_before, before.driver).items():
            new = usages.get(name)
            if new is not None and usage.types.isdisjoint(new.types):
                change = _describe_new_type(name, usage, new)
            elif new is None and usage.count == len(kept_before) > 0:
                change = _describe_withdrawn(name, usage, kept_after)
            else:
                continue
            key = (change.code, after.driver, name)
            if key not in reported:
                reported.add(key)
                yield change


def _describe_new_type(name: str, usage: Usage, new: Usage) -> Remark:
    old_type, new_type = ("/".join(sorted(one.types)) for one in (usage, new))
    return remark(
        "DRA383",
        new.placed.subject,
        new.path,
        f"{name} was of type {old_type} before and is of type {new_type} now",
        help="publish a new type under a new name: selectors for the old one fail with an error",
        key=True,
        related=(("before", usage.placed.subject, usage.path),),
    )


def _describe_withdrawn(name: str, usage: Usage, devices: Sequence[Placed]) -> Remark:
    first = devices[0]
    return remark(
        "DRA384",
        first.subject,
        first.path("attributes") if first.device.attributes else first.name_path,
        f"no device has {name} any more",
        help="keep an attribute for a release beside the one that replaces it",
        confidence="likely",
        key=bool(first.device.attributes),
        related=(("before", usage.placed.subject, usage.path),),
    )


def _find_renamed_pools(earlier: Pools, later: Pools) -> Remarks:
    """Yield pools that replace a pool with a different name on the same node.

    The helper library deletes the old pool only after 30 s; until then the devices are published
    twice.
    """
    for key, after in later.items():
        if key in earlier or not after.nodes:
            continue
        replaced = [
            before
            for other, before in earlier.items()
            if before.nodes == after.nodes
            and before.driver == after.driver
            and (other not in later or _have_same_devices(before, after))
        ]
        if replaced:
            path = ("spec", "pool", "name")
            yield remark(
                "DRA385",
                after.slices[0],
                path,
                f"the devices of {', '.join(sorted(after.nodes))} were in {replaced[0]} before and"
                f" are in {after} now",
                help="name the pool after its node: claims keep the name of their pool",
                related=(("before", replaced[0].slices[0], path),),
            )


def _have_same_devices(one: Pool, other: Pool) -> bool:
    """Return True if all devices of two pools are equal, with their names."""
    devices = [
        {(placed.device.name, _features(placed)) for placed in pool.devices}
        for pool in (one, other)
    ]
    return bool(devices[0]) and devices[0] == devices[1]


def _find_incomplete_generations(earlier: Pools, later: Pools) -> Remarks:
    """Yield generations of a recording that ended before all of their slices were published."""
    for before, after in _pairs(earlier, later):
        if after.generation > before.generation and not before.is_complete:
            path = ("spec", "pool", "generation")
            announced = before.slices[0].slice.announced
            yield remark(
                "DRA386",
                before.slices[0],
                path,
                f"generation {before.generation} of {before} never had more than"
                f" {len(before.slices)} of {announced} slices before {after.generation} came",
                help="write all slices of a generation before the next one begins",
                related=(("the next one", after.slices[0], path),),
            )


_CHECKS: tuple[Callable[[Pools, Pools], Remarks], ...] = (
    _find_kept_generations,
    _find_renamed_devices,
    _find_changed_attributes,
    _find_renamed_pools,
)
