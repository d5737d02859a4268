"""Fixes in a selector: the right name, a value that exists, a guard, a condition less."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.cel import reading
from dractl.cluster.changes import Patch, pointer
from dractl.cluster.state import maps_at, text_at
from dractl.explain import selectors
from dractl.explain.fixes.candidates import Candidate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dractl.allocation import DeviceID
    from dractl.cel.conditions import Comparison, Part
    from dractl.cel.lookups import Lookup
    from dractl.cluster.devices import Devices
    from dractl.explain.fixes.candidates import Case, Place


def repairs(case: Case) -> Iterator[Candidate]:
    """Every repair of every selector that loses all devices, or fails on some."""
    seen: set[tuple[str, str, int]] = set()
    for _, request in case.requests():
        place = case.place(request.claim, request.request)
        if place is None:
            continue
        for stage in request.stages:
            if stage.name != "request-selector" or stage.selector is None or not stage.lost:
                continue
            lost = [loss.device for loss in stage.lost]
            key = (request.claim, request.request, stage.selector)
            first = key not in seen
            seen.add(key)
            yield from _selector(case, place, request.request, stage.selector, lost, whole=first)


def _selector(
    case: Case, place: Place, request: str, index: int, lost: Sequence[DeviceID], *, whole: bool
) -> Iterator[Candidate]:
    raw = maps_at(place.value, "selectors")
    if index >= len(raw):
        return
    text = text_at(raw[index], "cel", "expression")
    family = f"selector {place.target} {request} {index}"

    def candidate(title: str, expression: str, order: int) -> Candidate:
        patch = place.replace("selectors", index, "cel", "expression", value=expression)
        return Candidate(f"request {request}: {title}", (patch,), f"{family} repair", order=order, corrects=not order)

    for part in case.judge.compile(text).conjuncts:
        if all(case.about.holds(part.text, device) for device in lost):
            continue
        wrong = selectors.misfit(case.devices, part.text, lost)
        if wrong.nearest and wrong.reference is not None:
            changed = _renamed(text, wrong.reference, wrong.nearest)
            yield candidate(f"{wrong.reference.full_name} → {wrong.nearest}", changed, 0)
        for title, changed, order in _part(case.devices, part.text, lost):
            yield candidate(title, text[: part.start] + changed + text[part.end :], order)
        rest = _without(text, part)
        if rest is not None:
            yield candidate(f"without the condition {selectors.readable(part.text)}", rest, 40)
    if whole:
        path = pointer(*place.path, "selectors", *((index,) if len(raw) > 1 else ()))
        patch = Patch(place.target, ({"op": "remove", "path": path},))
        yield Candidate(
            f"request {request}: without the selector {selectors.readable(text)}",
            (patch,),
            f"{family} repair",
            order=50,
        )


def _part(devices: Devices, text: str, lost: Sequence[DeviceID]) -> Iterator[tuple[str, str, int]]:
    """Repairs of one condition: title, new text, order of preference."""
    program = reading(text)
    compared = {found.lookup: found for found in program.comparisons if found.default is None}
    for lookup in program.lookups:
        values = [selectors.value_of(devices, device, lookup) for device in lost] if lookup.name else []
        present = [v for v in values if v is not None]
        if present and len(present) == len(values) and lookup in compared:
            yield from _values(devices, text, compared[lookup], lookup, present, lost)
        if lookup.kind == "attributes" and lookup.name and not lookup.tested and len(present) < len(values):
            for guarded in _guarded(devices, text, lookup):
                yield f"guard {lookup.name}, which some devices lack", guarded, 20


def _renamed(text: str, wrong: Lookup, nearest: str) -> str:
    """An expression with a name put right wherever it is read: the domain, or domain and name."""
    domain, _, name = nearest.partition("/")
    places = {
        place
        for lookup in reading(text).lookups
        if (lookup.kind, lookup.full_name) == (wrong.kind, wrong.full_name)
        for place in (
            (lookup.domain_start, lookup.domain_end, domain),
            *([(lookup.name_start, lookup.name_end, name)] if name and lookup.name else []),
        )
    }
    for start, end, new in sorted(places, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _values(
    devices: Devices, text: str, found: Comparison, lookup: Lookup, present: Sequence[str], lost: Sequence[DeviceID]
) -> Iterator[tuple[str, str, int]]:
    literal = found.literals[0]
    operand, before, after = text[lookup.start : lookup.end], text[: found.start], text[found.end :]
    kind = _type(devices, lost, lookup)
    if len(found.literals) > 1 or found.operator in ("in", "!="):
        return
    if literal.kind == "quantity":
        yield from _quantity(before + operand, lookup, found, present, after)
    elif literal.kind == "semver":
        return
    elif found.operator == "==":
        common = list(dict.fromkeys(sorted(present, key=lambda v: -present.count(v))))[:3]
        for position, value in enumerate(common):
            changed = text[: literal.start] + _literal(value, kind, literal.text) + text[literal.end :]
            yield f"{lookup.name} == {literal.text} → {value}", changed, 10 + position
    elif kind == "version":
        changed = f"{before}{operand}.compareTo(semver('{literal.value}')) {found.operator} 0{after}"
        yield f"compare {lookup.name}, a version, with semver('{literal.value}')", changed, 1
    elif kind == "int" and literal.kind == "string":
        changed = text[: literal.start] + str(literal.value) + text[literal.end :]
        yield f"compare {lookup.name}, an int, with {literal.value} without quotes", changed, 1
    elif kind == "int":
        best = _best([int(v) for v in present], found.operator)
        changed = f"{before}{operand} {'>=' if '>' in found.operator else '<='} {best}{after}"
        yield f"{lookup.name} {found.operator} {literal.text} → {best}", changed, 10


def _quantity(
    before: str, lookup: Lookup, found: Comparison, present: Sequence[str], after: str
) -> Iterator[tuple[str, str, int]]:
    from dractl.model import Quantity

    op = found.operator
    amounts = sorted((Quantity.parse(v) for v in present), key=lambda q: q.milli_value())
    best = str(amounts[-1] if ">" in op or op == "==" else amounts[0])
    operator = "==" if op == "==" else ">=" if ">" in op else "<="
    changed = f"{before}.compareTo(quantity('{best}')) {operator} 0{after}"
    yield f"{lookup.name} {op} {found.literals[0].value} → {operator} {best}", changed, 10


def _best(values: Sequence[int], op: str) -> int:
    return max(values) if ">" in op else min(values)


def _type(devices: Devices, lost: Sequence[DeviceID], reference: Lookup) -> str | None:
    if reference.kind == "capacity":
        return "quantity"
    found = (devices.attribute(device, reference.full_name) for device in lost)
    return next((a.type for a in found if a is not None), None)


def _literal(value: str, kind: str | None, like: str) -> str:
    if kind in ("int", "bool"):
        return value
    quote = like[0] if like[0] in "'\"" else "'"
    return f"{quote}{value}{quote}"


_DEFAULTS = {"int": "-1", "bool": "false", "string": "''", "version": "semver('0.0.0')"}


def _guarded(devices: Devices, text: str, lookup: Lookup) -> Iterator[str]:
    """The condition, made false where an attribute is missing.

    Either ``attributes['d'].?x.orValue(…)`` with a value that hardly any condition wants, or ``'x' in
    device.attributes['d'] && …``, which stays within the server's cost limit where a function of ``orValue``, whose
    result is taken to be as long as can be, does not."""
    known = next(
        (
            attribute.type
            for item in devices.slices
            for device in item.spec.devices
            if (attribute := device.attribute(lookup.full_name, item.spec.driver)) is not None
        ),
        None,
    )
    default = _DEFAULTS.get(known or "")
    head = text[: lookup.name_start].rstrip()
    if default is not None and not lookup.optional and head.endswith("."):
        yield f"{head}?{lookup.name}.orValue({default}){text[lookup.end :]}"
    if not lookup.optional:
        condition = f"({text})" if "||" in text or "?" in text else text
        yield f"'{lookup.name}' in device.attributes['{lookup.domain}'] && {condition}"


def _without(text: str, part: Part) -> str | None:
    """The expression without one of its conditions; None where it is the only one."""
    before, after = text[: part.start].rstrip(), text[part.end :].lstrip()
    if after.startswith("&&"):
        return before + (" " if before else "") + after[2:].lstrip()
    if before.endswith("&&"):
        return before[:-2].rstrip() + (" " + after if after else "")
    return None
