"""Device selectors: what they read, which part of them is false, which values the devices have instead."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dractl.model.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dractl.allocation import DeviceID
    from dractl.cluster.devices import Devices

_REFERENCE = re.compile(
    r"""device\.(?P<kind>attributes|capacity)
        \[\s*\??(?P<q>['"])(?P<domain>[^'"]*)(?P=q)\s*\]
        (?: \s*\.\s*\??(?P<name>[A-Za-z_]\w*) | \[\s*\??(?P<q2>['"])(?P<quoted>[^'"]*)(?P=q2)\s*\] )?""",
    re.VERBOSE,
)
_IN = re.compile(r"""(?P<q>['"])(?P<name>[^'"]*)(?P=q)\s+in\s+$""")
_MOST = 4  # values that a message names
_SHORTEST = 3  # characters that may stand for a longer name


@dataclass(frozen=True, slots=True)
class Reference:
    """``device.attributes["domain"].name`` in an expression; ``name`` is empty where only the domain is read."""

    kind: str  # attributes, capacity
    domain: str
    name: str
    start: int
    end: int
    domain_start: int
    name_start: int

    @property
    def full_name(self) -> str:
        return f"{self.domain}/{self.name}"


def references(text: str) -> tuple[Reference, ...]:
    """Every attribute and capacity that an expression reads by a literal name."""
    found = []
    for match in _REFERENCE.finditer(text):
        name, name_start = match["name"], match.start("name")
        if name is None and match["quoted"] is not None:
            name, name_start = match["quoted"], match.start("quoted")
        start = match.start()
        if name is None:
            before = _IN.search(text[:start])  # 'name' in device.attributes['domain']
            if before is not None:
                name, name_start, start = before["name"], before.start("name"), before.start()
        found.append(
            Reference(match["kind"], match["domain"], name or "", start, match.end(), match.start("domain"), name_start)
        )
    return tuple(found)


_COMPARE = re.compile(
    r"""\.compareTo\(\s*(?:quantity|semver)\(\s*(['"])(?P<amount>[^'"]*)\1\s*\)\s*\)\s*(?P<op>[<>=!]=|[<>])\s*0"""
    r"""|\.(?P<method>isGreaterThan|isLessThan)\(\s*(?:quantity|semver)\(\s*(['"])(?P<other>[^'"]*)\5\s*\)\s*\)"""
)


def readable(text: str, most: int = 72) -> str:
    """An expression as a person would say it: ``memory >= 80Gi``, ``architecture == 'Hopper'``."""
    short = " ".join(text.split())
    for reference in reversed(references(short)):
        if reference.name and reference.name_start > reference.domain_start:
            name = reference.name
            if reference.domain.endswith("kubernetes.io"):
                name = reference.full_name
            short = short[: reference.start] + name + short[reference.end :]

    def compared(match: re.Match[str]) -> str:
        if match["method"]:
            return f" {'>' if match['method'] == 'isGreaterThan' else '<'} {match['other']}"
        return f" {match['op']} {match['amount']}"

    return shorten(_COMPARE.sub(compared, short), most)


def shorten(text: str, most: int = 72) -> str:
    """The text on one line, cut to ``most`` characters."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


@dataclass(frozen=True, slots=True)
class Part:
    """One of the conditions that ``&&`` joins, and where it stands in the whole text."""

    text: str
    start: int
    end: int


def conjuncts(text: str) -> tuple[Part, ...]:
    """The conditions that must all hold. An expression with ``||`` or ``?:`` at its top is one condition."""
    start, end = _bare(text, 0, len(text))
    depth, quote, cuts, i = 0, "", [start], start
    while i < end:
        c = text[i]
        if quote:
            if c == "\\":
                i += 1
            elif c == quote:
                quote = ""
        elif c in "'\"":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif (depth == 0 and c == "?" and text[i - 1] not in ".[") or (depth == 0 and text.startswith("||", i)):
            return (Part(text[start:end], start, end),)
        elif depth == 0 and text.startswith("&&", i):
            cuts += [i, i + 2]
            i += 1
        i += 1
    cuts.append(end)
    parts: list[Part] = []
    for left, right in zip(cuts[::2], cuts[1::2], strict=True):
        inner = _bare(text, left, right)
        whole = text[inner[0] : inner[1]]
        if len(cuts) > 2 and inner != _trimmed(text, left, right):
            nested = conjuncts(whole)  # (a && b) && c
            parts += (
                [Part(p.text, p.start + inner[0], p.end + inner[0]) for p in nested]
                if len(nested) > 1
                else [Part(*_slice(text, left, right))]
            )
        else:
            parts.append(Part(*_slice(text, left, right)))
    return tuple(parts)


def _slice(text: str, left: int, right: int) -> tuple[str, int, int]:
    left, right = _trimmed(text, left, right)
    return text[left:right], left, right


def _trimmed(text: str, left: int, right: int) -> tuple[int, int]:
    while left < right and text[left].isspace():
        left += 1
    while right > left and text[right - 1].isspace():
        right -= 1
    return left, right


def _bare(text: str, left: int, right: int) -> tuple[int, int]:
    """Without surrounding space and one pair of parentheses around the whole."""
    left, right = _trimmed(text, left, right)
    if right - left < 2 or text[left] != "(" or text[right - 1] != ")":
        return left, right
    depth, quote = 0, ""
    for i in range(left, right):
        c = text[i]
        if quote:
            quote = "" if c == quote and text[i - 1] != "\\" else quote
        elif c in "'\"":
            quote = c
        elif c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
            if depth == 0 and i < right - 1:
                return left, right
    return _trimmed(text, left + 1, right - 1)


# -- what the devices have --


def value_of(devices: Devices, device: DeviceID, reference: Reference) -> str | None:
    """What a device has for a reference, as text; None where it has nothing of that name."""
    found = devices.get(device)
    if found is None:
        return None
    if reference.kind == "attributes":
        attribute = devices.attribute(device, reference.full_name)
        return None if attribute is None else text_of(attribute.value)
    capacity = found.capacity.get(reference.full_name)
    if capacity is None and reference.domain == device.driver:
        capacity = found.capacity.get(reference.name)
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

    reference: Reference | None
    found: tuple[str, ...]  # values, the most frequent first
    detail: str
    nearest: str | None = None


def misfit(devices: Devices, condition: str, lost: Sequence[DeviceID]) -> Misfit:
    """Explains a condition that is false (or an error) on the devices ``lost``."""
    told: list[Misfit] = []
    for reference in references(condition):
        values = [value_of(devices, device, reference) for device in lost]
        there = [value for value in values if value is not None]
        known = _names(devices, lost, reference.kind)
        if reference.name and there:
            found = tuple(value for value, _ in Counter(there).most_common(_MOST))
            missing = len(values) - len(there)
            lacking = f", not published by {missing}" if missing else ""
            told.append(Misfit(reference, found, f"{reference.name}: {tally(there)}{lacking}"))
            continue
        near = nearest_name(reference, known)
        kind = "attribute" if reference.kind == "attributes" else "capacity"
        what = f"{kind} {reference.full_name}" if reference.name else f"domain {reference.domain}"
        if not reference.name and any(name.startswith(reference.domain + "/") for name in known):
            continue
        instead = f"; there is {near}" if near else ""
        told.append(Misfit(reference, (), f"{what} exists on 0 of {len(lost)} devices{instead}", near))
    absent = [m for m in told if not m.found]
    if absent or told:
        return (absent or told)[0]
    if "device.driver" in condition:
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


def nearest_name(reference: Reference, known: dict[str, int]) -> str | None:
    """The published name that was probably meant: the same name in another domain, else one that looks alike."""
    if not reference.name:
        return nearest(reference.domain, {name.partition("/")[0] for name in known})
    same = sorted((n for n in known if n.partition("/")[2] == reference.name), key=lambda n: (-known[n], n))
    if same:
        return same[0]
    by_name = {name.partition("/")[2]: name for name in sorted(known, reverse=True)}
    near = nearest(reference.name, by_name) or _abbreviated(reference.name, by_name)
    return by_name[near] if near else None


def _abbreviated(name: str, known: Iterable[str]) -> str | None:
    """The only known name that begins as ``name`` does: ``arch`` for ``architecture``."""
    found = [n for n in known if n.lower().startswith(name.lower())] if len(name) >= _SHORTEST else []
    return found[0] if len(found) == 1 else None
