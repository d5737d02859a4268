"""Fixes for tainted devices: tolerate the taint, delete a DeviceTaintRule, or repair the device."""

from collections.abc import Iterator

from dractl.allocation import DeviceID
from dractl.cluster.changes import Delete, Patch
from dractl.cluster.state import maps_at
from dractl.explain.fixes.candidates import Candidate, FixSlot, Topic, correct
from dractl.explain.fixes.edits import remove
from dractl.explain.fixes.makers import fix_for, fix_once_for
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.problem import EditablePart, FixProblem
from dractl.explain.fixes.tolerations import (
    correct_toleration,
    format_toleration,
    is_near_miss,
    narrowest_toleration,
    reports_damage,
)
from dractl.explain.reasons.devices import Tainted
from dractl.model import Taint
from dractl.model.names import RequestRef
from dractl.model.taints import parse_taint
from dractl.objects import Request, slice_of

_MAX_RULES = 12  # DeviceTaintRules whose deletion is tried
_MAX_TAINTS_PER_REQUEST = 4
_REPAIR_EFFECT = "drain the node, then reset or replace the device; the driver removes the taint"


@fix_once_for(Tainted)
def tolerate_taints(problem: FixProblem) -> Iterator[Candidate]:
    """Add a toleration to the request, for one taint at a time."""
    for ref, devices_by_taint in _devices_by_taint(problem).items():
        editable = problem.editable_request(ref)
        if editable is None:
            continue
        by_device_count = sorted(devices_by_taint, key=lambda name: -len(devices_by_taint[name]))
        for taint_name in by_device_count[:_MAX_TAINTS_PER_REQUEST]:
            yield from _tolerate_taint(problem, ref, editable, taint_name)


def _tolerate_taint(
    problem: FixProblem, ref: RequestRef, editable: EditablePart[Request], taint_name: str
) -> Iterator[Candidate]:
    """Correct the toleration that was meant for a taint, or add one."""
    taint = parse_taint(taint_name)
    request, slot = problem.request_name(ref), FixSlot(Topic.TOLERATION, f"{ref!r} {taint_name}")
    for index, misspelt in enumerate(editable.part.tolerations):
        if is_near_miss(misspelt, taint):
            corrected = correct_toleration(misspelt, taint)
            yield correct(
                f"change the toleration of {format_toleration(misspelt)} in {request} "
                f"to {format_toleration(corrected)}",
                editable.put(("tolerations", index), corrected),
                slot,
            )
    yield Candidate(
        f"add a toleration for {taint_name} to {request}",
        (editable.append(("tolerations",), narrowest_toleration(taint)),),
        slot,
        Preference.ADMIT,
        effect=_condition_of(taint),
    )


def _condition_of(taint: Taint) -> str:
    """Return the condition under which tolerating a taint is right."""
    if reports_damage(taint):
        return f"only if the device works: the taint says that it is broken; else {_REPAIR_EFFECT}"
    evicts = "; pods that do not tolerate the taint are evicted from it"
    return "if the device may be used" + (evicts if taint.effect == "NoExecute" else "")


@fix_once_for(Tainted)
def repair_devices(problem: FixProblem) -> Iterator[Candidate]:
    """Repair devices that their driver reports as broken."""
    seen: set[DeviceID] = set()
    for devices_by_taint in _devices_by_taint(problem).values():
        for taint_name, devices in devices_by_taint.items():
            taint = parse_taint(taint_name)
            if not reports_damage(taint):
                continue
            for device in devices:
                patch = None if device in seen else _remove_taint(problem, device, taint.key)
                seen.add(device)
                if patch is not None:
                    words = f"device {device.device} of pool {device.pool}, which"
                    yield _repair(f"{words} driver {device.driver}", device.pool, taint_name, patch)
            yield from _repair_pools(problem, taint_name, devices)


def _repair_pools(
    problem: FixProblem, taint_name: str, devices: list[DeviceID]
) -> Iterator[Candidate]:
    """Repair all devices of a pool that have a taint, for subjects that need more than one."""
    pools: dict[tuple[str, str], list[DeviceID]] = {}
    for device in dict.fromkeys(devices):
        pools.setdefault((device.driver, device.pool), []).append(device)
    key = parse_taint(taint_name).key
    for (driver, pool), broken in pools.items():
        patches = tuple(p for d in broken if (p := _remove_taint(problem, d, key)) is not None)
        if len(patches) > 1:
            words = f"the {len(patches)} devices of pool {pool} that driver {driver}"
            yield _repair(words, pool, taint_name, *patches)


def _repair(devices: str, pool: str, taint_name: str, *patches: Patch) -> Candidate:
    """Return a candidate for the repair of devices of a pool."""
    return Candidate(
        f"repair {devices} reports with {taint_name}",
        (),
        FixSlot(Topic.DEVICE, pool),
        Preference.REPAIR,
        effect=_REPAIR_EFFECT,
        degree=int(len(patches) > 1),
        consequences=patches,
        corrects=True,
    )


@fix_for(Tainted)
def delete_rules(_: FixProblem, cause: Tainted) -> Iterator[Candidate]:
    """Delete the DeviceTaintRules that taint the devices."""
    for name in cause.rules[:_MAX_RULES]:
        yield Candidate(
            f"delete DeviceTaintRule {name}",
            (Delete(f"DeviceTaintRule/{name}"),),
            FixSlot(Topic.RULE),
            Preference.POLICY,
            effect="if it is no longer needed",
        )


def _devices_by_taint(problem: FixProblem) -> dict[RequestRef, dict[str, list[DeviceID]]]:
    """Return the devices that each request could use without an untolerated taint, by taint."""
    devices_by_taint: dict[RequestRef, dict[str, list[DeviceID]]] = {}
    for _, survey in problem.requests():
        for stage in survey.stages:
            for loss in stage.lost:
                if loss.taint:
                    devices = devices_by_taint.setdefault(survey.ref, {}).setdefault(loss.taint, [])
                    devices.append(loss.device)
    return devices_by_taint


def _remove_taint(problem: FixProblem, device: DeviceID, key: str) -> Patch | None:
    """Return a patch of the device's slice without a taint; None if a rule put the taint there."""
    for (_, name), value in problem.state.objects("ResourceSlice").items():
        published_slice = slice_of(value)
        if (published_slice.driver, published_slice.pool) != (device.driver, device.pool):
            continue
        for published in published_slice.devices:
            taints = maps_at(published.fields, "taints") if published.name == device.device else []
            for number, taint in enumerate(taints):
                if taint.get("key") == key:
                    path = (*published.path, "taints", number)
                    return Patch(f"ResourceSlice/{name}", (remove(path),))
    return None
