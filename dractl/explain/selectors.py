"""Misfits: conditions of selectors that no device meets, and the values that the devices have
instead.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from dractl.allocation import DeviceID
from dractl.cel import Program, reading
from dractl.cel.lookups import Lookup
from dractl.cluster.devices import Devices
from dractl.explain.reasons.misfits import Misfit
from dractl.model.nearest import nearest

MIN_ABBREVIATION = 3  # the minimum length of an abbreviation of a longer name


_OTHER_KIND = {"attributes": "capacity", "capacity": "attributes"}


def value_of(devices: Devices, device: DeviceID, reference: Lookup) -> str | None:
    """Return a device's value for a reference as a string; None if the device has no value of that
    name.
    """
    device_view = devices.get(device)
    if device_view is None:
        return None
    if reference.kind == "attributes":
        attribute = device_view.attribute(reference.full_name, device.driver)
        return None if attribute is None else text_of(attribute.value)
    capacity = device_view.capacity_named(reference.full_name, device.driver)
    return None if capacity is None else str(capacity.value)


def text_of(value: object) -> str:
    """Format an attribute's value as it is written in CEL, without quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(text_of(v) for v in value) + "]"
    return str(value)


def misfit(devices: Devices, condition: str, lost: Sequence[DeviceID]) -> Misfit:
    """Explain a condition that is false or an error on the devices ``lost``.

    The explanation is about a name that none of these devices publishes, else about the first name
    that the condition reads, else about the driver.
    """
    misfits: list[Misfit] = []
    program = reading(condition)
    for reference in program.lookups:
        values = Counter(
            value for d in lost if (value := value_of(devices, d, reference)) is not None
        )
        if reference.name and values:
            kinds = _type_mismatch(devices, program, reference, lost)
            misfits.append(Misfit(reference, tuple(values.items()), len(lost), kinds=kinds))
            continue
        published = names(devices, lost, reference.kind)
        if reference.name or not any(name.startswith(reference.domain + "/") for name in published):
            similar = nearest_name(
                reference.domain, reference.name, published
            ) or _attribute_with_value(devices, program, reference, lost)
            is_other_kind = bool(reference.name) and reference.full_name in names(
                devices, lost, _OTHER_KIND[reference.kind]
            )
            misfits.append(
                Misfit(reference, (), len(lost), None if is_other_kind else similar, is_other_kind)
            )
    if misfits:
        return next((m for m in misfits if not m.values), misfits[0])
    if any(comparison.lookup is None for comparison in program.comparisons):
        return Misfit(None, tuple(Counter(device.driver for device in lost).items()), len(lost))
    return Misfit(None)


def _attribute_with_value(
    devices: Devices, program: Program, reference: Lookup, lost: Sequence[DeviceID]
) -> str | None:
    """Return the attribute that has probably replaced an unknown one, since drivers rename
    attributes.

    It is the only attribute that has the condition's string on some of the devices; None if there
    is no such attribute, or more than one.
    """
    if reference.kind != "attributes":
        return None
    values = {
        str(literal.value)
        for comparison in program.comparisons
        if comparison.lookup == reference
        for literal in comparison.literals
        if literal.kind == "string" and len(str(literal.value)) > MIN_ABBREVIATION
    }
    names = {
        name if "/" in name else f"{device.driver}/{name}"
        for device in lost
        if (comparison := devices.get(device)) is not None
        for name, attribute in comparison.attributes.items()
        if attribute.value in values
    }
    return next(iter(names)) if len(names) == 1 else None


_LITERALS = {"string": "string", "int": "int", "bool": "bool", "semver": "version"}
_NOUNS = {"string": "a string", "int": "an int", "bool": "a bool", "version": "a version"}


def _type_mismatch(
    devices: Devices, program: Program, reference: Lookup, lost: Sequence[DeviceID]
) -> tuple[str, str] | None:
    """Return the types of an attribute and of the literal that it is compared with, if CEL converts
    neither.
    """
    if reference.kind != "attributes":
        return None
    attributes = (devices.attribute(device, reference.full_name) for device in lost)
    device_type = next((a.type for a in attributes if a is not None), None)
    literal_kinds = (
        f.literals[0].kind
        for f in program.comparisons
        if f.lookup == reference and f.operator != "in"
    )
    literal_type = _LITERALS.get(next(literal_kinds, ""))
    if device_type is None or literal_type is None or device_type == literal_type:
        return None
    is_list = device_type.removesuffix("s") in _NOUNS and device_type not in _NOUNS
    return (
        f"a list of {device_type}" if is_list else _NOUNS.get(device_type, device_type)
    ), _NOUNS[literal_type]


def names(devices: Devices, lost: Sequence[DeviceID], kind: str) -> dict[str, int]:
    """Count the devices that publish each name, by full name."""
    counted: Counter[str] = Counter()
    for device in lost:
        device_view = devices.get(device)
        if device_view is not None:
            values = device_view.attributes if kind == "attributes" else device_view.capacity
            counted.update(name if "/" in name else f"{device.driver}/{name}" for name in values)
    return dict(counted)


def nearest_name(domain: str, name: str | None, published: dict[str, int]) -> str | None:
    """Return the published name that was probably meant: the same name in another domain, or a
    similar one.
    """
    if not name:
        return nearest(domain, {full.partition("/")[0] for full in published})
    same_name = sorted(
        (n for n in published if n.partition("/")[2] == name), key=lambda n: (-published[n], n)
    )
    if same_name:
        return same_name[0]
    by_name = {full.partition("/")[2]: full for full in sorted(published, reverse=True)}
    similar = nearest(name, by_name) or _expand_abbreviation(name, by_name)
    return by_name[similar] if similar else None


def _expand_abbreviation(name: str, names: Iterable[str]) -> str | None:
    """Return the only name that begins with ``name``: ``architecture`` for ``arch``."""
    matches = (
        [n for n in names if n.lower().startswith(name.lower())]
        if len(name) >= MIN_ABBREVIATION
        else []
    )
    return matches[0] if len(matches) == 1 else None
