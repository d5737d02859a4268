"""Fixes that only a driver can make: what it would have to publish. Nobody can apply them; what was tried is told."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dractl.allocation import DanglingCounter, DanglingCounterSet, DuplicateDevice
from dractl.cel import reading
from dractl.cluster.changes import Create, Patch, pointer
from dractl.cluster.state import list_at, map_at, text_at
from dractl.explain.fixes.candidates import Candidate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dractl.allocation import PoolFault
    from dractl.explain.answer import Reason
    from dractl.explain.fixes.candidates import Case

_ABSENT = ("no-slices-for-driver", "no-slices-on-node")


def complete(case: Case) -> Iterator[Candidate]:
    """The missing slices of a pool, or its newest generation."""
    for reason in case.reasons:
        if reason.pool is None or reason.driver is None:
            continue
        pool = reason.pool.removeprefix(f"{reason.driver}/")
        slices = [
            (key, value)
            for key, value in case.state.all("ResourceSlice").items()
            if text_at(value, "spec", "driver") == reason.driver and text_at(value, "spec", "pool", "name") == pool
        ]
        corrects = reason.pool == case.first.pool
        if reason.code == "pool-incomplete" and slices:
            yield replace(_missing(reason, pool, slices), corrects=corrects)
        elif reason.code == "pool-obsolete" and slices:
            yield replace(_same_generation(reason, slices), corrects=corrects)
        elif reason.code == "pool-invalid":
            for candidate in _valid(reason, _fault(case, reason.driver, pool), slices):
                yield replace(candidate, corrects=corrects)


def _fault(case: Case, driver: str, pool: str) -> PoolFault | None:
    """What makes a pool invalid, as the surveys found it."""
    pools = (p for survey in case.surveys.values() for p in survey.pools)
    return next((p.fault for p in pools if (p.driver, p.pool) == (driver, pool) and p.fault is not None), None)


def _generation(value: Mapping[str, Any]) -> int:
    found = map_at(value, "spec", "pool").get("generation", 0)
    return found if isinstance(found, int) else 0


def _missing(reason: Reason, pool: str, slices: list[tuple[Any, Mapping[str, Any]]]) -> Candidate:
    newest = max(_generation(value) for _, value in slices)
    model = next(value for _, value in slices if _generation(value) == newest)
    want, have = int(reason.want or 0), int(reason.have or 0)
    # Where the counts disagree (kubernetes#141117) the slices of the whole cluster count.
    present = sum(_generation(value) == newest for _, value in slices)
    creates = []
    for number in range(max(want - max(have, present), 1)):
        spec = {k: v for k, v in map_at(model, "spec").items() if k not in ("devices", "sharedCounters")}
        creates.append(
            Create(
                {
                    "apiVersion": model.get("apiVersion"),
                    "kind": "ResourceSlice",
                    "metadata": {"name": f"zz-missing-{number + 1}-{pool.replace('/', '-')}"},
                    "spec": {**spec, "pool": {**map_at(spec, "pool"), "resourceSliceCount": want}, "devices": []},
                }
            )
        )
    title = f"driver {reason.driver} publishes the missing slice{'s' if len(creates) > 1 else ''} of pool {pool}"
    return Candidate(
        title,
        (),
        f"pool {reason.pool}",
        effect="restart the driver; an empty slice was tried here",
        tried=tuple(creates),
    )


def _same_generation(reason: Reason, slices: list[tuple[Any, Mapping[str, Any]]]) -> Candidate:
    newest = max(_generation(value) for _, value in slices)
    changes = []
    for (_, name), value in slices:
        operations: list[Mapping[str, Any]] = []
        if _generation(value) != newest:
            operations.append({"op": "replace", "path": "/spec/pool/generation", "value": newest})
        if map_at(value, "spec", "pool").get("resourceSliceCount") != len(slices):
            operations.append({"op": "replace", "path": "/spec/pool/resourceSliceCount", "value": len(slices)})
        if operations:
            changes.append(Patch(f"ResourceSlice/{name}", tuple(operations)))
    title = f"driver {reason.driver} publishes all slices of pool {reason.pool} in generation {newest}"
    return Candidate(title, (), f"pool {reason.pool}", effect="restart the driver", tried=tuple(changes))


def _valid(reason: Reason, fault: PoolFault | None, slices: list[tuple[Any, Mapping[str, Any]]]) -> Iterator[Candidate]:
    """The pool without the fault that makes it invalid: with the missing counter, or without the repeated device."""
    if isinstance(fault, DanglingCounter):
        for (_, name), value in slices:
            for i, shared in enumerate(list_at(value, "spec", "sharedCounters")):
                if text_at(shared, "name") == fault.counter_set:
                    path = pointer("spec", "sharedCounters", i, "counters", fault.counter)
                    change = {"op": "add", "path": path, "value": {"value": _most(slices, fault.counter)}}
                    yield Candidate(
                        f"driver {reason.driver} publishes the counter {fault.counter}",
                        (),
                        f"pool {reason.pool}",
                        tried=(Patch(f"ResourceSlice/{name}", (change,)),),
                    )
    elif isinstance(fault, DanglingCounterSet):
        yield from _counter_set(reason, slices, fault.counter_set)
        for (_, name), value in slices:
            for i, device in enumerate(list_at(value, "spec", "devices")):
                if any(text_at(c, "counterSet") == fault.counter_set for c in list_at(device, "consumesCounters")):
                    path = pointer("spec", "devices", i)
                    name_ = text_at(device, "name")
                    yield Candidate(
                        f"driver {reason.driver} publishes {name_} without counter set {fault.counter_set}",
                        (),
                        f"pool {reason.pool}",
                        tried=(
                            Patch(f"ResourceSlice/{name}", ({"op": "remove", "path": f"{path}/consumesCounters"},)),
                        ),
                    )
    elif isinstance(fault, DuplicateDevice):
        found = [
            (name, i)
            for (_, name), value in slices
            for i, d in enumerate(list_at(value, "spec", "devices"))
            if text_at(d, "name") == fault.device
        ]
        if len(found) > 1:
            name, i = found[-1]
            yield Candidate(
                f"driver {reason.driver} publishes device {fault.device} once",
                (),
                f"pool {reason.pool}",
                tried=(Patch(f"ResourceSlice/{name}", ({"op": "remove", "path": pointer("spec", "devices", i)},)),),
            )


def _counter_set(reason: Reason, slices: list[tuple[Any, Mapping[str, Any]]], name: str) -> Iterator[Candidate]:
    """The counter set that devices consume from, with what they consume together."""
    uses = [
        use
        for _, value in slices
        for device in list_at(value, "spec", "devices")
        for use in list_at(device, "consumesCounters")
        if text_at(use, "counterSet") == name
    ]
    counters = {c: {"value": _most(slices, c)} for c in dict.fromkeys(c for u in uses for c in map_at(u, "counters"))}
    for (_, slice_name), value in slices:
        if counters and list_at(value, "spec", "sharedCounters"):
            change = {
                "op": "add",
                "path": "/spec/sharedCounters/-",
                "value": {"name": name, "counters": counters},
            }
            yield Candidate(
                f"driver {reason.driver} publishes counter set {name}",
                (),
                f"pool {reason.pool}",
                tried=(Patch(f"ResourceSlice/{slice_name}", (change,)),),
            )


def _most(slices: list[tuple[Any, Mapping[str, Any]]], counter: str) -> str:
    """What all devices together consume of a counter."""
    from dractl.model import Quantity

    total = Quantity.parse("0")
    for _, value in slices:
        for device in list_at(value, "spec", "devices"):
            for use in list_at(device, "consumesCounters"):
                amount = text_at(use, "counters", counter, "value")
                if amount:
                    total = total + Quantity.parse(amount)
    return str(total)


def publish(case: Case) -> Iterator[Candidate]:
    """A driver that published nothing: devices as the class and the selectors want them. Where that is only one cause
    of many the other nodes simply have no such device."""
    for reason in case.reasons if case.first.code in _ABSENT else ():
        if reason.code not in _ABSENT or reason.driver is None:
            continue
        wanted = next((r for _, r in case.requests() if r.request == reason.request and r.claim == reason.claim), None)
        if wanted is None:
            continue
        node = next((v.name for v in case.judgement.nodes if v.asked and v.name in reason.nodes), None)
        if node is None:
            continue
        attributes: dict[str, Any] = {}
        for expression in (s.expression or "" for s in wanted.stages):
            attributes |= _attributes(expression)
        for (_, device_class), value in case.state.all("DeviceClass").items():
            if device_class == wanted.device_class:
                for selector in list_at(value, "spec", "selectors"):
                    attributes |= _attributes(text_at(selector, "cel", "expression"))
        devices = [{"name": f"device-{i}", "attributes": attributes} for i in range(max(wanted.wanted, 1))]
        made = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"{node}-{reason.driver}"},
            "spec": {
                "driver": reason.driver,
                "nodeName": node,
                "pool": {"name": f"{node}-new", "generation": 1, "resourceSliceCount": 1},
                "devices": devices,
            },
        }
        told = ", ".join(f"{n.rpartition('/')[2]} {v['string']}" for n, v in attributes.items())
        title = f"driver {reason.driver} publishes {len(devices)} device{'s' if len(devices) > 1 else ''} on {node}" + (
            f" ({told})" if told else ""
        )
        effect = "is it installed and running there?"
        yield Candidate(title, (), f"publish {reason.driver}", effect=effect, tried=(Create(made),))


def _attributes(expression: str) -> dict[str, Any]:
    """The strings that an expression compares attributes with, as attributes that satisfy it."""
    return {
        found.lookup.full_name: {"string": literal.value}
        for found in reading(expression).comparisons
        if found.lookup and found.lookup.kind == "attributes" and found.operator == "==" and not found.negated
        for literal in found.literals
        if literal.kind == "string"
    }
