"""Device selectors: which part of them is false, which values the devices have instead, and how to say it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dractl.cel import reading
from dractl.cel.tokens import tokenize
from dractl.model.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dractl.allocation import DeviceID
    from dractl.cel.lookups import Lookup
    from dractl.cluster.devices import Devices

_MOST = 4  # values that a message names
_SHORTEST = 3  # characters that may stand for a longer name


def readable(text: str, most: int = 72) -> str:
    """An expression as a person would say it: ``memory >= 80Gi``, ``architecture == 'Hopper'``."""
    program = reading(text)
    instead: dict[int, tuple[int, str]] = {}  # by where a part starts: where it ends, and what is written for it
    for lookup in program.lookups:
        if lookup.name and lookup.name_start > lookup.domain_start:
            instead[lookup.start] = lookup.end, f"has({_named(lookup)})" if lookup.tested else _named(lookup)
    for found in program.comparisons:
        if found.lookup and found.literals[0].kind in ("quantity", "semver") and not found.default:
            values = ", ".join(str(literal.value) for literal in found.literals)
            values = f"[{values}]" if found.operator == "in" else values
            instead[found.start] = found.end, f"{_named(found.lookup)} {found.operator} {values}"
    parts: list[str] = []
    end = 0
    for token in tokenize(text):
        if token.start < end:
            continue
        if token.start > end and parts:
            parts.append(" ")
        end, written = instead.get(token.start, (token.end, token.text))
        parts.append(written)
    return shorten("".join(parts), most)


def _named(lookup: Lookup) -> str:
    """The bare name, unless the domain is one of Kubernetes'."""
    return lookup.full_name if lookup.domain.endswith("kubernetes.io") else lookup.name or ""


def shorten(text: str, most: int = 72) -> str:
    """The text on one line, cut to ``most`` characters."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


# -- what the devices have --


def value_of(devices: Devices, device: DeviceID, reference: Lookup) -> str | None:
    """What a device has for a reference, as text; None where it has nothing of that name."""
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


def tally(values: Iterable[str]) -> str:
    """``Ampere ×64, Hopper ×2``: the values, the most frequent first."""
    counted = Counter(values).most_common()
    shown = ", ".join(f"{value} ×{count}" if count > 1 else value for value, count in counted[:_MOST])
    return shown + (f", {len(counted) - _MOST} more values" if len(counted) > _MOST else "")


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a condition is false on devices: which name it reads, the values there, and the nearest right name."""

    reference: Lookup | None
    found: tuple[str, ...]  # values, the most frequent first
    detail: str
    nearest: str | None = None


def misfit(devices: Devices, condition: str, lost: Sequence[DeviceID]) -> Misfit:
    """Explains a condition that is false (or an error) on the devices ``lost``."""
    told: list[Misfit] = []
    program = reading(condition)
    for reference in program.lookups:
        values = [value_of(devices, device, reference) for device in lost]
        there = [value for value in values if value is not None]
        known = _names(devices, lost, reference.kind)
        if reference.name and there:
            found = tuple(value for value, _ in Counter(there).most_common(_MOST))
            missing = len(values) - len(there)
            lacking = f", not published by {missing}" if missing else ""
            told.append(Misfit(reference, found, f"{reference.name}: {tally(there)}{lacking}"))
            continue
        near = nearest_name(reference.domain, reference.name, known)
        kind = "attribute" if reference.kind == "attributes" else "capacity"
        what = f"{kind} {reference.full_name}" if reference.name else f"domain {reference.domain}"
        if not reference.name and any(name.startswith(reference.domain + "/") for name in known):
            continue
        instead = f"; there is {near}" if near else ""
        told.append(Misfit(reference, (), f"{what} exists on 0 of {len(lost)} devices{instead}", near))
    absent = [m for m in told if not m.found]
    if absent or told:
        return (absent or told)[0]
    if any(found.lookup is None for found in program.comparisons):
        drivers = [device.driver for device in lost]
        return Misfit(None, tuple(dict.fromkeys(drivers)), f"driver: {tally(drivers)}")
    return Misfit(None, (), "")


def _names(devices: Devices, lost: Sequence[DeviceID], kind: str) -> dict[str, int]:
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
    found = [n for n in known if n.lower().startswith(name.lower())] if len(name) >= _SHORTEST else []
    return found[0] if len(found) == 1 else None
