"""A node's devices: which are free, who holds the others, and whether a driver can be restarted without harm."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dractl.allocation import DeviceID
from dractl.explain.about import About
from dractl.explain.answer import DeviceStatus, DriverStatus, Explanation, Reason, Subject
from dractl.explain.cluster import at, maps_at, text_at
from dractl.explain.devices import result_device
from dractl.explain.selectors import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dractl.allocation import PoolSurvey, Survey
    from dractl.explain.devices import Devices
    from dractl.explain.judge import Judge
    from dractl.explain.subjects import Question
    from dractl.model import Device

_HARMLESS = ("None",)  # effects of taints that keep nothing away


def node(judge: Judge, devices: Devices, question: Question, *, assumed: bool) -> Explanation:
    """What there is on a node. ``blocked`` where a pool cannot be used, else ``allocatable``."""
    survey = judge.allocator.survey(judge.state.decode(question.value), [])
    unusable = {(p.driver, p.pool): p for p in survey.pools if p.state != "usable"}
    found = of_node(judge, devices, question.key[1], survey)
    about = About(judge, devices, ())
    reasons = tuple(about.pool(pool, {"nodes": (question.key[1],)}) for pool in unusable.values())
    if at(question.value, "spec", "unschedulable") is True:
        reasons = (
            *reasons,
            Reason("node-filter", "the node is cordoned", plugin="NodeUnschedulable", nodes=(question.key[1],)),
        )
    drivers = tuple(_driver(name, found) for name in sorted({DeviceID.parse(d.device).driver for d in found}))
    counts = {
        status: sum(d.status == status for d in found)
        for status in ("free", "held", "tainted", "hidden", "unpublished")
    }
    told = ", ".join(f"{n} {status}" for status, n in counts.items() if n) or "no devices"
    return Explanation(
        Subject("Node", "", question.key[1]),
        "blocked" if unusable else "allocatable",
        judge.features.release,
        assumed,
        headline=told,
        reasons=reasons,
        age=text_at(question.value, "metadata", "creationTimestamp") or None,
        devices=found,
        drivers=drivers,
    )


def of_node(judge: Judge, devices: Devices, name: str, survey: Survey) -> tuple[DeviceStatus, ...]:
    """Every device of a node, with the requests of the survey that its selectors let through."""
    unusable = {(p.driver, p.pool): p for p in survey.pools if p.state != "usable"}
    wanted: dict[DeviceID, list[str]] = {}
    for request in survey.requests:
        chosen = [s for s in request.stages if s.name in ("class-selector", "request-selector")]
        for device in chosen[-1].kept if chosen else ():
            wanted.setdefault(device, []).append(request.request)
    found = [*_published(judge, devices, name, unusable, wanted), *_unpublished(judge, devices, name)]
    return tuple(sorted(found, key=lambda d: d.device))


def _published(
    judge: Judge,
    devices: Devices,
    name: str,
    unusable: Mapping[tuple[str, str], PoolSurvey],
    wanted: Mapping[DeviceID, Sequence[str]],
) -> Iterator[DeviceStatus]:
    for item in judge.slices:
        if item.spec.node_name != name:
            continue
        pool = (item.spec.driver, item.spec.pool.name)
        current = {id(s) for s in devices.pool(*pool)}
        for device in item.spec.devices:
            identity = DeviceID(*pool, device.name)
            if id(item) not in current:
                continue  # of an older generation
            status = _status(devices, identity, device, unusable.get(pool))
            root, numa = (_attribute(devices, identity, name) for name in ("pcieRoot", "numaNode"))
            yield replace(status, requests=tuple(wanted.get(identity, ())), root=root, numa=numa)


def _attribute(devices: Devices, identity: DeviceID, name: str) -> str | None:
    """A standard attribute, or one of that name in the driver's own domain."""
    found = devices.attribute(identity, f"resource.kubernetes.io/{name}")
    found = found or devices.attribute(identity, f"{identity.driver}/{name}")
    return None if found is None else text_of(found.value)


def _status(devices: Devices, identity: DeviceID, device: Device, pool: PoolSurvey | None) -> DeviceStatus:
    holders = devices.holders([identity])
    taints = tuple(
        f"{t.key}{'=' + t.value if t.value else ''}:{t.effect}" for t in device.taints if t.effect not in _HARMLESS
    )
    if holders:
        return DeviceStatus(str(identity), "held", holders, taints)
    if pool is not None:
        return DeviceStatus(str(identity), "hidden", (), taints, f"its pool is {pool.state}")
    return DeviceStatus(str(identity), "tainted" if taints else "free", (), taints)


def _unpublished(judge: Judge, devices: Devices, name: str) -> Iterator[DeviceStatus]:
    """Devices that a claim of this node holds and no slice has."""
    seen: set[DeviceID] = set()
    for claim in judge.state.all("ResourceClaim").values():
        terms = maps_at(claim, "status", "allocation", "nodeSelector", "nodeSelectorTerms")
        here = any(name in (e.get("values") or ()) for t in terms for e in maps_at(t, "matchFields"))
        for result in maps_at(claim, "status", "allocation", "devices", "results") if here else ():
            identity = result_device(result)
            if devices.get(identity) is None and identity not in seen:
                seen.add(identity)
                holders = devices.holders([identity])
                yield DeviceStatus(str(identity), "unpublished", holders, (), "no slice has it")


def _driver(name: str, devices: tuple[DeviceStatus, ...]) -> DriverStatus:
    mine = [d for d in devices if DeviceID.parse(d.device).driver == name]
    held = sum(bool(d.holders) for d in mine)
    return DriverStatus(name, len(mine), held, held == 0)
