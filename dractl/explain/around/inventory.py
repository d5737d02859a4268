"""A node's devices: which are free, who holds the others, and whether a driver can be restarted without harm."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from msgspec.structs import replace

from dractl.allocation import DeviceID, PoolSurvey, Survey
from dractl.cluster.devices import Devices, ready_devices, result_device
from dractl.cluster.paste import NextStep, command
from dractl.cluster.state import at, key_of, maps_at, text_at
from dractl.errors import InputError
from dractl.explain.answer import (
    DeviceStatus,
    DriverStatus,
    Explanation,
    Hanging,
    Subject,
    reason_of,
)
from dractl.explain.ask import Question
from dractl.explain.diagnosis.faults import cause_of_unused_pool as unusable_pool
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.headline import Headline
from dractl.explain.reasons.nodes import NodeFilter
from dractl.explain.reasons.phrases import Names, Scope, held_by
from dractl.explain.reasons.refusals import taint_text
from dractl.explain.selectors import text_of
from dractl.explain.unread import blind_to, both
from dractl.model import Device, DeviceClass, ResourceClaim, decode
from dractl.program import program_name
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.rejection import Cordoned

_MOST = 8  # pods that are named
_HARMLESS = ("None",)  # effects of taints that keep nothing away
# A claim without any wish, for a class that takes every device: what it cannot have, nobody can.
_WISH = {
    "deviceClassName": "any",
    "allocationMode": "ExactCount",
    "count": 1,
    "tolerations": [{"operator": "Exists"}],
}
_ANY = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "any", "namespace": "any"},
    "spec": {"devices": {"requests": [{"name": "any", "exactly": _WISH}]}},
}
_ANY_CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "any"},
    "spec": {},
}


def node(
    scheduler: Scheduler,
    devices: Devices,
    question: Question,
    *,
    assumed: bool,
    condition: Cause | None = None,
    stuck: Sequence[Hanging] = (),
) -> Explanation:
    """Devices of a node, whose ``condition`` may be at fault and on which pods may be ``stuck``. ``blocked`` if nobody
    answers there or a pool cannot be used, ``failing`` if pods hang, else ``allocatable``. Raises InputError if the
    devices may not be read."""
    rights = scheduler.state.rights
    hidden = rights.hidden("ResourceSlice", "ResourceClaim")
    if hidden:
        names = both([one.resource.partition(".")[0] for one in hidden])
        raise InputError(
            f"the devices of node {question.key[1]} cannot be listed: {names} may not be read",
            hint=f"an administrator can allow it: {rights.allowing('ResourceSlice', 'ResourceClaim')}",
        )
    blind = blind_to(scheduler.state, question, allocates=True)
    survey = scheduler.allocator.survey(scheduler.state.decode(question.value), [])
    unusable = {(p.driver, p.pool): p for p in survey.pools if p.state != "usable"}
    found = of_node(scheduler, devices, question.key[1], survey)
    name = question.key[1]
    here = (name,)
    causes: list[Cause] = [replace(unusable_pool(pool), nodes=here) for pool in unusable.values()]
    if condition is not None:
        causes.insert(0, condition)
    if at(question.value, "spec", "unschedulable") is True:
        causes.append(NodeFilter(plugin="NodeUnschedulable", unmet=(Cordoned(),), nodes=here))
    drivers = tuple(
        _driver(name, found, seen=not blind.parts)
        for name in sorted({DeviceID.parse(d.device).driver for d in found})
    )
    counts = {
        status: sum(d.status == status for d in found)
        for status in ("free", "held", "unavailable", "tainted", "hidden", "unpublished")
    }
    counted = ", ".join(f"{n} {status}" for status, n in counts.items() if n) or "no devices"
    competing = (
        "; the free devices share counters and cannot all be allocated at once"
        if _compete(devices, found)
        else ""
    )
    if stuck:
        counted += (
            f"; {len(stuck)} pod{'' if len(stuck) == 1 else 's'} on it cannot start, run or end"
        )
    ready = "" if condition is None else f"{condition.sentence(Names(), Scope.ONE)}; "
    headline = Headline(
        ready + counted + competing, before="based on what may be read: " if blind.parts else ""
    )
    return Explanation(
        Subject("Node", "", question.key[1]),
        "blocked"
        if unusable or condition
        else "failing"
        if stuck
        else "undecided"
        if blind.parts
        else "allocatable",
        scheduler.features.release,
        assumed,
        headline=headline.text(Names()),
        reasons=tuple(reason_of(cause, Names()) for cause in causes),
        age=text_at(question.value, "metadata", "creationTimestamp") or None,
        devices=found,
        drivers=drivers,
        notes=(*(f"pod {one.pod}: {one.why}" for one in stuck[:_MOST]), *blind.sentences),
        unread=blind.parts,
        next=(*_next(name, condition, stuck), *blind.granting(rights)),
    )


def _next(node: str, condition: Cause | None, stuck: Sequence[Hanging]) -> Iterator[NextStep]:
    """What to do about a node that does not answer, and where to read on about the pods that hang on it."""
    if condition is not None:
        yield NextStep(
            f"start the kubelet of {node}, or mend what it names",
            command("kubectl describe node {}", node),
        )
    for one in stuck[:_MOST]:
        namespace, pod = key_of(one.pod)
        yield NextStep(
            f"see what helps pod {one.pod}",
            command(f"{program_name()} explain pod/{{}} -n {{}}", pod, namespace),
        )


def of_node(
    scheduler: Scheduler, devices: Devices, name: str, survey: Survey
) -> tuple[DeviceStatus, ...]:
    """Every device of a node, with the requests of the survey that its selectors let through."""
    unusable = {(p.driver, p.pool): p for p in survey.pools if p.state != "usable"}
    wanted: dict[DeviceID, list[str]] = {}
    for request in survey.requests:
        chosen = [s for s in request.stages if s.name in ("class-selector", "request-selector")]
        for device in chosen[-1].kept if chosen else ():
            wanted.setdefault(device, []).append(request.request)
    out_of_reach = _out_of_reach(scheduler, devices, name)
    found = [
        *_published(scheduler, devices, name, unusable, wanted, out_of_reach),
        *_unpublished(scheduler, devices, name),
    ]
    return tuple(sorted(found, key=lambda d: d.device))


def _out_of_reach(scheduler: Scheduler, devices: Devices, name: str) -> dict[DeviceID, str]:
    """Devices of a node that no claim holds and none can have, with the reason: their counters are used by other
    devices, their gate is off."""
    node = scheduler.nodes.get(name)
    if node is None:
        return {}

    allocator = scheduler.allocator.replace(classes=(cast("DeviceClass", decode(_ANY_CLASS)),))
    (request,) = allocator.survey(
        scheduler.state.decode(node), [cast("ResourceClaim", decode(_ANY))]
    ).requests
    lost = [loss for stage in request.stages if stage.name != "in-use" for loss in stage.lost]
    short: dict[tuple[str, str, str], str] = {}
    found = {}
    for loss in lost:
        found[loss.device] = loss.message
        if loss.counter_set is not None:
            key = (loss.device.driver, loss.device.pool, loss.counter_set)
            if key not in short:
                holders = devices.holders(devices.drawing_on({key}))
                short[key] = f"; held by {held_by(holders)}" if holders else ""
            left = f"wants {loss.want} {loss.counter} of {loss.counter_set}, {loss.free} left"
            found[loss.device] = left + short[key]
    return found


def _published(
    scheduler: Scheduler,
    devices: Devices,
    name: str,
    unusable: Mapping[tuple[str, str], PoolSurvey],
    wanted: Mapping[DeviceID, Sequence[str]],
    out_of_reach: Mapping[DeviceID, str],
) -> Iterator[DeviceStatus]:
    for item in scheduler.slices:
        if item.spec.node_name != name:
            continue
        pool = (item.spec.driver, item.spec.pool.name)
        current = {id(s) for s in devices.pool(*pool)}
        for device in item.spec.devices:
            identity = DeviceID(*pool, device.name)
            if id(item) not in current:
                continue  # of an older generation
            status = _status(
                devices, identity, device, unusable.get(pool), out_of_reach.get(identity)
            )
            if status.status == "held":
                status = replace(status, detail=_left(scheduler, identity, device))
            root, numa = (_attribute(devices, identity, name) for name in ("pcieRoot", "numaNode"))
            yield replace(status, requests=tuple(wanted.get(identity, ())), root=root, numa=numa)


def _attribute(devices: Devices, identity: DeviceID, name: str) -> str | None:
    """A standard attribute, or one of that name in the driver's own domain."""
    found = devices.attribute(identity, f"resource.kubernetes.io/{name}")
    found = found or devices.attribute(identity, f"{identity.driver}/{name}")
    return None if found is None else text_of(found.value)


def _status(
    devices: Devices, identity: DeviceID, device: Device, pool: PoolSurvey | None, lost: str | None
) -> DeviceStatus:
    holders = devices.holders([identity])
    taints = tuple(taint_text(taint) for taint in device.taints if taint.effect not in _HARMLESS)
    if holders:
        return DeviceStatus(str(identity), "held", holders, taints)
    if pool is not None:
        return DeviceStatus(str(identity), "hidden", (), taints, f"its pool is {pool.state}")
    if lost is not None:
        return DeviceStatus(str(identity), "unavailable", (), taints, lost)
    return DeviceStatus(str(identity), "tainted" if taints else "free", (), taints)


def _left(scheduler: Scheduler, identity: DeviceID, device: Device) -> str:
    """The remainder of the capacities of a device that several claims may hold."""
    taken = scheduler.held.devices.capacity.get(identity)
    if taken is None or not device.allow_multiple_allocations:
        return ""
    amounts = ((name, capacity.value) for name, capacity in device.capacity.items())
    left = [
        f"{name} {total - taken[name] if name in taken else total} of {total} left"
        for name, total in amounts
    ]
    return "shared: " + ", ".join(left)


def _unpublished(scheduler: Scheduler, devices: Devices, name: str) -> Iterator[DeviceStatus]:
    """Devices that a claim of this node holds and no slice has; a driver may have moved them into the pod."""
    moved = ready_devices(scheduler.state)
    seen: set[DeviceID] = set()
    for claim in scheduler.state.all("ResourceClaim").values():
        terms = maps_at(claim, "status", "allocation", "nodeSelector", "nodeSelectorTerms")
        here = any(
            name in (e.get("values") or ()) for t in terms for e in maps_at(t, "matchFields")
        )
        for result in maps_at(claim, "status", "allocation", "devices", "results") if here else ():
            identity = result_device(result)
            if devices.get(identity) is None and identity not in seen:
                seen.add(identity)
                holders = devices.holders([identity])
                if identity in moved:
                    yield DeviceStatus(str(identity), "held", holders)
                else:
                    yield DeviceStatus(str(identity), "unpublished", holders, (), "no slice has it")


def _compete(devices: Devices, found: tuple[DeviceStatus, ...]) -> bool:
    """True if two free devices consume a counter of the same set."""
    drawn = [
        (identity.driver, identity.pool, name)
        for status in found
        if status.status == "free"
        for identity in (DeviceID.parse(status.device),)
        if (device := devices.get(identity)) is not None
        for name in {consumed.counter_set for consumed in device.consumes_counters}
    ]
    return len(set(drawn)) < len(drawn)


def _driver(name: str, devices: tuple[DeviceStatus, ...], *, seen: bool) -> DriverStatus:
    mine = [d for d in devices if DeviceID.parse(d.device).driver == name]
    held = sum(bool(d.holders) for d in mine)
    return DriverStatus(name, len(mine), held, seen and held == 0)
