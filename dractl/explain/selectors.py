"""Conditions of selectors that no device meets: which values the devices have instead."""

from collections import Counter
from collections.abc import Iterable, Sequence

from dractl.allocation import DeviceID
from dractl.cel import Program, reading
from dractl.cel.lookups import Lookup
from dractl.cluster.devices import Devices
from dractl.explain.reasons.misfits import Misfit
from dractl.model.nearest import nearest

_SHORTEST = 3  # characters that may stand for a longer name


_OTHER = {"attributes": "capacity", "capacity": "attributes"}


def value_of(devices: Devices, device: DeviceID, reference: Lookup) -> str | None:
    """A device's value for a reference, as a string; None if it has nothing of that name."""
    found = devices.get(device)
    if found is None:
        return None
    if reference.kind == "attributes":
        attribute = found.attribute(reference.full_name, device.driver)
        return None if attribute is None else text_of(attribute.value)
    capacity = found.capacity_named(reference.full_name, device.driver)
    return None if capacity is None else str(capacity.value)


def text_of(value: object) -> str:
    """An attribute's value as it is written in CEL, without quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(text_of(v) for v in value) + "]"
    return str(value)


def misfit(devices: Devices, condition: str, lost: Sequence[DeviceID]) -> Misfit:
    """Explains a condition that is false (or an error) on the devices ``lost``: by a name that none of them publishes,
    else by the first name that it reads, else by the driver."""
    misfits: list[Misfit] = []
    program = reading(condition)
    for reference in program.lookups:
        there = Counter(
            value for d in lost if (value := value_of(devices, d, reference)) is not None
        )
        if reference.name and there:
            kinds = _kinds(devices, program, reference, lost)
            misfits.append(Misfit(reference, tuple(there.items()), len(lost), kinds=kinds))
            continue
        published = names(devices, lost, reference.kind)
        if reference.name or not any(name.startswith(reference.domain + "/") for name in published):
            near = nearest_name(reference.domain, reference.name, published) or _of_value(
                devices, program, reference, lost
            )
            other = bool(reference.name) and reference.full_name in names(
                devices, lost, _OTHER[reference.kind]
            )
            misfits.append(Misfit(reference, (), len(lost), None if other else near, other))
    if misfits:
        return next((m for m in misfits if not m.values), misfits[0])
    if any(found.lookup is None for found in program.comparisons):
        return Misfit(None, tuple(Counter(device.driver for device in lost).items()), len(lost))
    return Misfit(None)


def _of_value(
    devices: Devices, program: Program, reference: Lookup, lost: Sequence[DeviceID]
) -> str | None:
    """The only attribute that has, on one of the devices, the string with which an unknown one is compared: drivers
    rename attributes."""
    if reference.kind != "attributes":
        return None
    values = {
        str(literal.value)
        for found in program.comparisons
        if found.lookup == reference
        for literal in found.literals
        if literal.kind == "string" and len(str(literal.value)) > _SHORTEST
    }
    names = {
        name if "/" in name else f"{device.driver}/{name}"
        for device in lost
        if (found := devices.get(device)) is not None
        for name, attribute in found.attributes.items()
        if attribute.value in values
    }
    return next(iter(names)) if len(names) == 1 else None


_LITERALS = {"string": "string", "int": "int", "bool": "bool", "semver": "version"}
_NOUNS = {"string": "a string", "int": "an int", "bool": "a bool", "version": "a version"}


def _kinds(
    devices: Devices, program: Program, reference: Lookup, lost: Sequence[DeviceID]
) -> tuple[str, str] | None:
    """The type of an attribute on the devices, and that of the literal that it is compared with, where CEL does not
    convert one to the other."""
    if reference.kind != "attributes":
        return None
    attributes = (devices.attribute(device, reference.full_name) for device in lost)
    own = next((a.type for a in attributes if a is not None), None)
    compared = (
        f.literals[0].kind
        for f in program.comparisons
        if f.lookup == reference and f.operator != "in"
    )
    other = _LITERALS.get(next(compared, ""))
    if own is None or other is None or own == other:
        return None
    listed = own.removesuffix("s") in _NOUNS and own not in _NOUNS
    return (f"a list of {own}" if listed else _NOUNS.get(own, own)), _NOUNS[other]


def names(devices: Devices, lost: Sequence[DeviceID], kind: str) -> dict[str, int]:
    """Full name -> number of devices that publish it."""
    counted: Counter[str] = Counter()
    for device in lost:
        found = devices.get(device)
        if found is not None:
            own = found.attributes if kind == "attributes" else found.capacity
            counted.update(name if "/" in name else f"{device.driver}/{name}" for name in own)
    return dict(counted)


def nearest_name(domain: str, name: str | None, known: dict[str, int]) -> str | None:
    """The published name that was probably meant: the same name in another domain, else one that looks alike."""
    if not name:
        return nearest(domain, {full.partition("/")[0] for full in known})
    same = sorted((n for n in known if n.partition("/")[2] == name), key=lambda n: (-known[n], n))
    if same:
        return same[0]
    by_name = {full.partition("/")[2]: full for full in sorted(known, reverse=True)}
    near = nearest(name, by_name) or _abbreviated(name, by_name)
    return by_name[near] if near else None


def _abbreviated(name: str, known: Iterable[str]) -> str | None:
    """The only known name that begins as ``name`` does: ``arch`` for ``architecture``."""
    found = (
        [n for n in known if n.lower().startswith(name.lower())] if len(name) >= _SHORTEST else []
    )
    return found[0] if len(found) == 1 else None
