"""The report on a node: its free devices, the holders of its other devices, and whether a driver
can be restarted.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from msgspec.structs import replace

from dractl.allocation import DeviceID, PoolSurvey, Survey
from dractl.cluster.devices import Devices, ready_devices
from dractl.cluster.rights import Rights
from dractl.cluster.shell import NextStep, quote_command
from dractl.cluster.state import parse_key
from dractl.errors import InputError
from dractl.explain.answer import (
    DeviceStatus,
    DriverStatus,
    Explanation,
    Hanging,
    Subject,
    Verdict,
    reason_of,
)
from dractl.explain.ask import Question
from dractl.explain.diagnosis.faults import cause_of_unused_pool
from dractl.explain.permissions import find_missing_permissions, join_words
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.headline import Headline
from dractl.explain.reasons.nodes import NodeFilter
from dractl.explain.reasons.phrases import Names, Scope, describe_holders, plural
from dractl.explain.selectors import text_of
from dractl.model import Device, DeviceClass, ResourceClaim, decode
from dractl.model.taints import format_taint
from dractl.program import program_name
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.rejection import CordonedNode
from dractl.views import Node

MAX_NAMED_PODS = 8  # the maximum number of pods that are named
_EFFECTS_WITHOUT_HARM = ("None",)  # taints with these effects keep no pod away
# A claim without conditions for a class that accepts every device: a device that this claim cannot
# get is out of reach for every claim.
_ANY_DEVICE = {
    "deviceClassName": "any",
    "allocationMode": "ExactCount",
    "count": 1,
    "tolerations": [{"operator": "Exists"}],
}
_ANY_CLAIM = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "any", "namespace": "any"},
    "spec": {"devices": {"requests": [{"name": "any", "exactly": _ANY_DEVICE}]}},
}
_ANY_CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "any"},
    "spec": {},
}


def explain_node(
    scheduler: Scheduler,
    devices: Devices,
    question: Question,
    *,
    assumed: bool,
    condition: Cause | None = None,
    stuck: Sequence[Hanging] = (),
) -> Explanation:
    """Return the report on one node: its devices, its condition, and pods stuck on it.

    The verdict is ``blocked`` if the node does not answer or a pool cannot be used, ``failing`` if
    pods are stuck, otherwise ``allocatable``. Raises InputError if the user is not allowed to
    read the devices.
    """
    name, rights = question.key[1], scheduler.state.rights
    _require_devices(name, rights)
    permissions = find_missing_permissions(scheduler.state, question, allocates=True)
    survey = scheduler.allocator.survey(scheduler.state.decode(question.value), [])
    statuses = device_statuses(scheduler, devices, name, survey)
    causes = list(_causes(question, survey, condition))
    blocked = condition is not None or bool(_pools_not_in_use(survey))
    condition_text = "" if condition is None else f"{condition.sentence(Names(), Scope.ONE)}; "
    headline = Headline(
        condition_text + _summary(devices, statuses, stuck),
        prefix="based on what you can read: " if permissions.parts else "",
    )
    return Explanation(
        Subject("Node", "", name),
        _verdict(blocked=blocked, stuck=bool(stuck), unread=bool(permissions.parts)),
        scheduler.features.release,
        assumed,
        headline=headline.text(Names()),
        reasons=tuple(reason_of(cause, Names()) for cause in causes),
        age=question.view.creation_timestamp or None,
        devices=statuses,
        drivers=tuple(
            _driver_status(driver, statuses, claims_readable=not permissions.parts)
            for driver in sorted({DeviceID.parse(d.device).driver for d in statuses})
        ),
        notes=(
            *(f"pod {pod.pod}: {pod.why}" for pod in stuck[:MAX_NAMED_PODS]),
            *permissions.sentences,
        ),
        unread=permissions.parts,
        next=(*_next_steps(name, condition, stuck), *permissions.steps(rights)),
    )


def _require_devices(node: str, rights: Rights) -> None:
    """Raise InputError if the user is not allowed to read the devices of the node."""
    unreadable = rights.unreadable("ResourceSlice", "ResourceClaim")
    if unreadable:
        names = join_words([row.resource.partition(".")[0] for row in unreadable])
        allowing = rights.grant_commands("ResourceSlice", "ResourceClaim")
        raise InputError(
            f"the devices of node {node} cannot be listed: you are not allowed to read {names}",
            hint=f"an administrator can allow it: {allowing}",
        )


def _causes(question: Question, survey: Survey, condition: Cause | None) -> Iterator[Cause]:
    """Yield the problems of the node: its condition, pools that cannot be used, a cordon."""
    here = (question.key[1],)
    if condition is not None:
        yield condition
    for pool in _pools_not_in_use(survey).values():
        yield replace(cause_of_unused_pool(pool), nodes=here)
    if Node(question.value).unschedulable:
        yield NodeFilter(plugin="NodeUnschedulable", unmet=(CordonedNode(),), nodes=here)


def _pools_not_in_use(survey: Survey) -> dict[tuple[str, str], PoolSurvey]:
    return {(p.driver, p.pool): p for p in survey.pools if p.state != "usable"}


def _summary(devices: Devices, statuses: tuple[DeviceStatus, ...], stuck: Sequence[Hanging]) -> str:
    """Count the devices by status, and the pods that are stuck."""
    counts: Counter[str] = Counter(device.status for device in statuses)
    order = ("free", "held", "unavailable", "tainted", "hidden", "unpublished")
    summary = ", ".join(f"{counts[s]} {s}" for s in order if counts[s]) or "no devices"
    if stuck:
        summary += f"; {plural(len(stuck), 'pod')} on it cannot start, run or end"
    if _share_counters(devices, statuses):
        summary += "; the free devices share counters and cannot all be allocated at once"
    return summary


def _verdict(*, blocked: bool, stuck: bool, unread: bool) -> Verdict:
    if blocked:
        return "blocked"
    if stuck:
        return "failing"
    return "undecided" if unread else "allocatable"


def _next_steps(node: str, condition: Cause | None, stuck: Sequence[Hanging]) -> Iterator[NextStep]:
    """Yield next steps for a node that does not answer, and for its stuck pods."""
    if condition is not None:
        yield NextStep(
            f"start the kubelet of {node}, or correct what it names",
            quote_command("kubectl describe node {}", node),
        )
    for stuck_pod in stuck[:MAX_NAMED_PODS]:
        namespace, pod = parse_key(stuck_pod.pod)
        yield NextStep(
            f"see what helps pod {stuck_pod.pod}",
            quote_command(f"{program_name()} explain pod/{{}} -n {{}}", pod, namespace),
        )


def device_statuses(
    scheduler: Scheduler, devices: Devices, name: str, survey: Survey
) -> tuple[DeviceStatus, ...]:
    """Return the status of every device of a node, with the requests of the survey whose selectors
    the device meets.
    """
    unused_pools = _pools_not_in_use(survey)
    requests: dict[DeviceID, list[str]] = {}
    for request in survey.requests:
        selector_stages = [
            s for s in request.stages if s.name in ("class-selector", "request-selector")
        ]
        for device in selector_stages[-1].kept if selector_stages else ():
            requests.setdefault(device, []).append(request.request)
    unavailable = _shortages(scheduler, devices, name)
    statuses = [
        *_statuses_of_slices(scheduler, devices, name, unused_pools, requests, unavailable),
        *_statuses_without_slice(scheduler, devices, name),
    ]
    return tuple(sorted(statuses, key=lambda d: d.device))


def _shortages(scheduler: Scheduler, devices: Devices, name: str) -> dict[DeviceID, str]:
    """Return the devices of a node that no claim holds and no claim can get, each with the reason.

    Other devices have used up the counters that they need, or their gate is off.
    """
    node = scheduler.nodes.get(name)
    if node is None:
        return {}

    allocator = scheduler.allocator.replace(classes=(cast("DeviceClass", decode(_ANY_CLASS)),))
    (request,) = allocator.survey(
        scheduler.state.decode(node.raw), [cast("ResourceClaim", decode(_ANY_CLAIM))]
    ).requests
    losses = [loss for stage in request.stages if stage.name != "in-use" for loss in stage.lost]
    holder_texts: dict[tuple[str, str, str], str] = {}
    reasons = {}
    for loss in losses:
        reasons[loss.device] = loss.message
        if loss.counter_set is not None:
            key = (loss.device.driver, loss.device.pool, loss.counter_set)
            if key not in holder_texts:
                holders = devices.holders(devices.counter_consumers({key}))
                holder_texts[key] = f"; held by {describe_holders(holders)}" if holders else ""
            shortage = f"wants {loss.want} {loss.counter} of {loss.counter_set}, {loss.free} left"
            reasons[loss.device] = shortage + holder_texts[key]
    return reasons


def _statuses_of_slices(
    scheduler: Scheduler,
    devices: Devices,
    name: str,
    unused_pools: Mapping[tuple[str, str], PoolSurvey],
    requests: Mapping[DeviceID, Sequence[str]],
    unavailable: Mapping[DeviceID, str],
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
                devices, identity, device, unused_pools.get(pool), unavailable.get(identity)
            )
            if status.status == "held":
                status = replace(status, detail=_capacity_left(scheduler, identity, device))
            root, numa = (_attribute(devices, identity, name) for name in ("pcieRoot", "numaNode"))
            yield replace(status, requests=tuple(requests.get(identity, ())), root=root, numa=numa)


def _attribute(devices: Devices, identity: DeviceID, name: str) -> str | None:
    """Return a standard attribute, or the attribute of that name in the driver's own domain."""
    value = devices.attribute(identity, f"resource.kubernetes.io/{name}")
    value = value or devices.attribute(identity, f"{identity.driver}/{name}")
    return None if value is None else text_of(value.value)


def _status(
    devices: Devices,
    identity: DeviceID,
    device: Device,
    pool: PoolSurvey | None,
    shortage: str | None,
) -> DeviceStatus:
    holders = devices.holders([identity])
    taints = tuple(
        format_taint(taint) for taint in device.taints if taint.effect not in _EFFECTS_WITHOUT_HARM
    )
    if holders:
        return DeviceStatus(str(identity), "held", holders, taints)
    if pool is not None:
        return DeviceStatus(str(identity), "hidden", (), taints, f"its pool is {pool.state}")
    if shortage is not None:
        return DeviceStatus(str(identity), "unavailable", (), taints, shortage)
    return DeviceStatus(str(identity), "tainted" if taints else "free", (), taints)


def _capacity_left(scheduler: Scheduler, identity: DeviceID, device: Device) -> str:
    """Describe the remaining capacities of a device that several claims may hold."""
    consumed = scheduler.held_devices.devices.capacity.get(identity)
    if consumed is None or not device.allow_multiple_allocations:
        return ""
    amounts = ((name, capacity.value) for name, capacity in device.capacity.items())
    texts = [
        f"{name} {total - consumed[name] if name in consumed else total} of {total} left"
        for name, total in amounts
    ]
    return "shared: " + ", ".join(texts)


def _statuses_without_slice(
    scheduler: Scheduler, devices: Devices, name: str
) -> Iterator[DeviceStatus]:
    """Yield devices that a claim of this node holds and no slice has, since a driver may have moved
    them into the pod.
    """
    ready = ready_devices(scheduler.state)
    seen: set[DeviceID] = set()
    for claim in scheduler.state.claims.values():
        if name not in claim.node_names:
            continue
        for identity in (device.id for device in claim.allocated_devices):
            if devices.get(identity) is None and identity not in seen:
                seen.add(identity)
                holders = devices.holders([identity])
                if identity in ready:
                    yield DeviceStatus(str(identity), "held", holders)
                else:
                    yield DeviceStatus(str(identity), "unpublished", holders, (), "no slice has it")


def _share_counters(devices: Devices, statuses: tuple[DeviceStatus, ...]) -> bool:
    """Return True if two free devices consume counters of the same set."""
    counter_sets = [
        (identity.driver, identity.pool, name)
        for status in statuses
        if status.status == "free"
        for identity in (DeviceID.parse(status.device),)
        if (device := devices.get(identity)) is not None
        for name in {consumed.counter_set for consumed in device.consumes_counters}
    ]
    return len(set(counter_sets)) < len(counter_sets)


def _driver_status(
    name: str, devices: tuple[DeviceStatus, ...], *, claims_readable: bool
) -> DriverStatus:
    own_devices = [d for d in devices if DeviceID.parse(d.device).driver == name]
    held = sum(bool(d.holders) for d in own_devices)
    return DriverStatus(name, len(own_devices), held, claims_readable and held == 0)
