"""Fixes in a selector: the right name, a value that exists, a guard, a condition less."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dractl.cluster.changes import Patch, pointer
from dractl.cluster.state import maps_at, text_at
from dractl.explain import selectors
from dractl.explain.fixes.candidates import Candidate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dractl.allocation import DeviceID
    from dractl.cluster.devices import Devices
    from dractl.explain.fixes.candidates import Case, Place
    from dractl.explain.selectors import Reference

_LITERAL = r"""(?P<literal>'[^']*'|"[^"]*"|-?\d+(?:\.\d+)?|true|false)"""
_EQUALS = re.compile(rf"\s*==\s*{_LITERAL}")
_ORDER = re.compile(rf"\s*(?P<op>>=|<=|>|<)\s*{_LITERAL}")
_QUANTITY = re.compile(
    r"""\s*\.\s*(?:compareTo\(\s*quantity\(\s*(?P<q>['"])(?P<amount>[^'"]*)(?P=q)\s*\)\s*\)\s*(?P<op>>=|>|==|<=|<)\s*0
        |(?P<method>isGreaterThan|isLessThan)\(\s*quantity\(\s*(?P<q2>['"])(?P<amount2>[^'"]*)(?P=q2)\s*\)\s*\))""",
    re.VERBOSE,
)


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

    for part in selectors.conjuncts(text):
        if all(case.about.holds(part.text, device) for device in lost):
            continue
        wrong = selectors.misfit(case.devices, part.text, lost)
        if wrong.nearest and wrong.reference is not None:
            changed = _renamed(text, wrong.reference, wrong.nearest)
            yield candidate(f"{_short(wrong.reference)} → {wrong.nearest}", changed, 0)
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
    for reference in selectors.references(text):
        values = [selectors.value_of(devices, device, reference) for device in lost] if reference.name else []
        present = [v for v in values if v is not None]
        if present and len(present) == len(values):
            yield from _values(devices, text, reference, present, lost)
        if reference.kind == "attributes" and reference.name and len(present) < len(values):
            guarded = _guarded(devices, text, reference)
            if guarded is not None:
                yield f"guard {reference.name}, which some devices lack", guarded, 20


def _short(reference: Reference) -> str:
    return reference.full_name if reference.name else reference.domain


def _renamed(text: str, wrong: Reference, nearest: str) -> str:
    """An expression with a name put right wherever it is read: the domain, or domain and name."""
    domain, _, name = nearest.partition("/")
    for reference in reversed(selectors.references(text)):
        if (reference.kind, reference.domain, reference.name) != (wrong.kind, wrong.domain, wrong.name):
            continue
        places = [(reference.domain_start, reference.domain, domain)]
        if name and reference.name:
            places.append((reference.name_start, reference.name, name))
        for start, old, new in sorted(places, reverse=True):
            text = text[:start] + new + text[start + len(old) :]
    return text


def _values(
    devices: Devices, text: str, reference: Reference, present: Sequence[str], lost: Sequence[DeviceID]
) -> Iterator[tuple[str, str, int]]:
    after = text[reference.end :]
    common = list(dict.fromkeys(sorted(present, key=lambda v: -present.count(v))))[:3]
    kind = _type(devices, lost, reference)
    if (match := _EQUALS.match(after)) is not None:
        for position, value in enumerate(common):
            start, end = match.span("literal")
            changed = (
                text[: reference.end + start] + _literal(value, kind, match["literal"]) + text[reference.end + end :]
            )
            yield f"{reference.name} == {match['literal']} → {value}", changed, 10 + position
    elif (match := _ORDER.match(after)) is not None:
        start, end = match.span("literal")
        if kind == "version":
            bare = match["literal"].strip("'\"")
            changed = f"{text[: reference.end]}.compareTo(semver('{bare}')) {match['op']} 0{after[end:]}"
            yield f"compare {reference.name}, a version, with semver('{bare}')", changed, 1
        elif kind == "int" and match["literal"][0] in "'\"":
            bare = match["literal"].strip("'\"")
            changed = text[: reference.end + start] + bare + text[reference.end + end :]
            yield f"compare {reference.name}, an int, with {bare} without quotes", changed, 1
        elif kind == "int":
            best = _best([int(v) for v in present], match["op"])
            changed = f"{text[: reference.end]} {'>=' if '>' in match['op'] else '<='} {best}{after[end:]}"
            yield f"{reference.name} {match['op']} {match['literal']} → {best}", changed, 10
    elif (match := _QUANTITY.match(after)) is not None:
        yield from _quantity(text, reference, match, present)


def _quantity(
    text: str, reference: Reference, match: re.Match[str], present: Sequence[str]
) -> Iterator[tuple[str, str, int]]:
    from dractl.model import Quantity

    op = match["op"] or (">" if match["method"] == "isGreaterThan" else "<")
    amounts = sorted((Quantity.parse(v) for v in present), key=lambda q: q.milli_value())
    best = str(amounts[-1] if ">" in op or op == "==" else amounts[0])
    wanted = match["amount"] or match["amount2"]
    operator = "==" if op == "==" else ">=" if ">" in op else "<="
    changed = f"{text[: reference.end]}.compareTo(quantity('{best}')) {operator} 0{text[reference.end + match.end() :]}"
    yield f"{reference.name} {op} {wanted} → {operator} {best}", changed, 10


def _best(values: Sequence[int], op: str) -> int:
    return max(values) if ">" in op else min(values)


def _type(devices: Devices, lost: Sequence[DeviceID], reference: Reference) -> str | None:
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


def _guarded(devices: Devices, text: str, reference: Reference) -> str | None:
    """``attributes['d'].x`` → ``attributes['d'].?x.orValue(…)``, with a value that hardly any condition wants."""
    known = next(
        (
            a.type
            for item in devices.slices
            for d in item.spec.devices
            if (a := d.attributes.get(reference.full_name)) or (a := d.attributes.get(reference.name))
        ),
        None,
    )
    default = _DEFAULTS.get(known or "")
    if default is None or reference.name_start < reference.domain_start:
        return None
    head = text[: reference.name_start].rstrip()
    if not head.endswith("."):
        return None
    return f"{head}?{reference.name}.orValue({default}){text[reference.end :]}"


def _without(text: str, part: selectors.Part) -> str | None:
    """The expression without one of its conditions; None where it is the only one."""
    before, after = text[: part.start].rstrip(), text[part.end :].lstrip()
    if after.startswith("&&"):
        return before + (" " if before else "") + after[2:].lstrip()
    if before.endswith("&&"):
        return before[:-2].rstrip() + (" " + after if after else "")
    return None
