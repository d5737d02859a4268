"""Fixes for tainted devices: a toleration, no DeviceTaintRule, the repair of a device that is reported broken."""

from collections.abc import Iterator, Mapping
from typing import Any

from dractl.allocation import DeviceID
from dractl.cluster.changes import Delete, Patch
from dractl.cluster.state import maps_at, text_at
from dractl.explain.fixes.candidates import (
    Candidate,
    FixProblem,
    FixSlot,
    Topic,
    fix_for,
    fix_once_for,
)
from dractl.explain.fixes.edits import remove
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.tolerations import (
    correct_toleration,
    is_near_miss,
    narrowest_toleration,
    parse,
    reports_damage,
)
from dractl.explain.reasons.devices import Tainted
from dractl.model.names import RequestRef

_MAX_RULES = 12  # rules
_MAX_TAINTS_PER_REQUEST = 4  # of one request


@fix_once_for(Tainted)
def tolerate_taints(problem: FixProblem) -> Iterator[Candidate]:
    """A toleration in the request, for one taint at a time."""
    for ref, taints in _devices_by_taint(problem).items():
        written = problem.editable_request(ref)
        if written is None:
            continue
        for taint in sorted(taints, key=lambda t: -len(taints[t]))[:_MAX_TAINTS_PER_REQUEST]:
            key, value, effect = parse(taint)
            tolerated = narrowest_toleration(key, value, effect)
            if written.part.tolerations:
                patch = written.add("tolerations", "-", value=tolerated)
            else:
                patch = written.add("tolerations", value=[tolerated])
            damaged = reports_damage(key, value)
            for index, own in enumerate(written.part.tolerations):
                if is_near_miss(own, key, value):
                    new = correct_toleration(own, tolerated)
                    yield Candidate(
                        f"change the toleration of {_toleration_name(own)} in {problem.request_name(ref)} to {_toleration_name(new)}",
                        (written.put("tolerations", index, value=new),),
                        FixSlot(Topic.TOLERATION, f"{ref!r} {taint}"),
                        Preference.CORRECT,
                        corrects=True,
                    )
            yield Candidate(
                f"add a toleration for {taint} to {problem.request_name(ref)}",
                (patch,),
                FixSlot(Topic.TOLERATION, f"{ref!r} {taint}"),
                Preference.ADMIT,
                effect="the taint says that the device is broken"
                if damaged
                else "if the device may be used",
                reluctant=damaged or effect == "NoExecute",
            )


@fix_once_for(Tainted)
def repair_devices(problem: FixProblem) -> Iterator[Candidate]:
    """Devices that their driver reports as broken, repaired."""
    seen: set[DeviceID] = set()
    for taints in _devices_by_taint(problem).values():
        for taint, devices in taints.items():
            key, value, _ = parse(taint)
            if not reports_damage(key, value):
                continue
            for device in devices:
                patch = None if device in seen else _remove_taint(problem, device, key)
                seen.add(device)
                if patch is None:
                    continue
                yield Candidate(
                    f"repair device {device.device} of pool {device.pool}, which driver {device.driver} reports with "
                    f"{taint}",
                    (),
                    FixSlot(Topic.DEVICE, str(device)),
                    Preference.RESTORE,
                    effect="drain the node, then reset or replace the device; the driver removes the taint",
                    consequences=(patch,),
                    corrects=True,
                )


@fix_for(Tainted)
def delete_rules(_: FixProblem, cause: Tainted) -> Iterator[Candidate]:
    """The DeviceTaintRules that taint the devices, deleted."""
    for name in cause.rules[:_MAX_RULES]:
        yield Candidate(
            f"delete DeviceTaintRule {name}",
            (Delete(f"DeviceTaintRule/{name}"),),
            FixSlot(Topic.RULE),
            Preference.POLICY,
            effect="if it is no longer needed",
        )


def _toleration_name(toleration: Mapping[str, Any]) -> str:
    """``key=value``, or the key where any value is tolerated."""
    return "=".join(filter(None, (text_at(toleration, "key"), text_at(toleration, "value"))))


def _devices_by_taint(problem: FixProblem) -> dict[RequestRef, dict[str, list[DeviceID]]]:
    """The devices that each untolerated taint keeps from each request."""
    found: dict[RequestRef, dict[str, list[DeviceID]]] = {}
    for _, survey in problem.requests():
        for stage in survey.stages:
            for loss in stage.lost:
                if loss.taint:
                    devices = found.setdefault(survey.ref, {}).setdefault(loss.taint, [])
                    devices.append(loss.device)
    return found


def _remove_taint(problem: FixProblem, device: DeviceID, key: str) -> Patch | None:
    """A patch of the device's slice that removes a taint; None where no slice has the taint: a rule put it there."""
    for (_, name), value in problem.state.objects("ResourceSlice").items():
        pool = text_at(value, "spec", "driver"), text_at(value, "spec", "pool", "name")
        if pool != (device.driver, device.pool):
            continue
        for index, item in enumerate(maps_at(value, "spec", "devices")):
            for number, taint in enumerate(
                maps_at(item, "taints") or maps_at(item, "basic", "taints")
            ):
                if text_at(item, "name") == device.device and text_at(taint, "key") == key:
                    path = (
                        "spec",
                        "devices",
                        index,
                        *(("basic",) if "basic" in item else ()),
                        "taints",
                        number,
                    )
                    return Patch(f"ResourceSlice/{name}", (remove(*path),))
    return None
