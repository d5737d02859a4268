"""Fixes for tainted devices: a toleration, no DeviceTaintRule, the repair of a device that is reported broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.cluster.changes import Delete, Patch, pointer
from dractl.cluster.state import list_at, maps_at, text_at
from dractl.explain.fixes.candidates import Candidate, Preference, Slot, Topic
from dractl.explain.fixes.tolerations import parse, reports_damage, toleration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dractl.allocation import DeviceID
    from dractl.explain.fixes.candidates import Case

_MOST = 12  # rules
_TAINTS = 4  # of one request


def tolerate(case: Case) -> Iterator[Candidate]:
    """A toleration in the request, for one taint at a time."""
    for (claim, request), taints in _taints(case).items():
        place = case.place(claim, request)
        if place is None:
            continue
        for taint in sorted(taints, key=lambda t: -len(taints[t]))[:_TAINTS]:
            key, value, effect = parse(taint)
            tolerated = toleration(key, value, effect)
            if list_at(place.value, "tolerations"):
                patch = place.add("tolerations", "-", value=tolerated)
            else:
                patch = place.add("tolerations", value=[tolerated])
            damaged = reports_damage(key, value)
            yield Candidate(
                f"add a toleration for {taint} to request {case.called(claim, request)}",
                (patch,),
                Slot(Topic.TOLERATION, f"{claim} {request} {taint}"),
                Preference.ADMIT,
                effect="the taint says that the device is broken" if damaged else "if the device may be used",
                reluctant=damaged or effect == "NoExecute",
            )


def repair(case: Case) -> Iterator[Candidate]:
    """Devices that their driver reports as broken, in order again."""
    seen: set[DeviceID] = set()
    for taints in _taints(case).values():
        for taint, devices in taints.items():
            key, value, _ = parse(taint)
            if not reports_damage(key, value):
                continue
            for device in devices:
                patch = None if device in seen else _untainted(case, device, key)
                seen.add(device)
                if patch is None:
                    continue
                yield Candidate(
                    f"repair device {device.device} of pool {device.pool}, which driver {device.driver} reports with "
                    f"{taint}",
                    (),
                    Slot(Topic.DEVICE, str(device)),
                    Preference.RESTORE,
                    effect="drain the node, then reset or replace the device; the driver removes the taint",
                    tried=(patch,),
                    corrects=True,
                )


def delete_rules(case: Case) -> Iterator[Candidate]:
    """The DeviceTaintRules that taint the devices, deleted."""
    names = list(dict.fromkeys(name for reason in case.reasons for name in reason.rules))
    for name in names[:_MOST]:
        yield Candidate(
            f"delete DeviceTaintRule {name}",
            (Delete(f"DeviceTaintRule/{name}"),),
            Slot(Topic.RULE),
            Preference.POLICY,
            effect="if what it was made for is over",
        )


def _taints(case: Case) -> dict[tuple[str, str], dict[str, list[DeviceID]]]:
    """The devices that each untolerated taint keeps from each request."""
    found: dict[tuple[str, str], dict[str, list[DeviceID]]] = {}
    for _, survey in case.requests():
        for stage in survey.stages:
            for loss in stage.lost:
                if loss.taint:
                    devices = found.setdefault((survey.claim, survey.request), {}).setdefault(loss.taint, [])
                    devices.append(loss.device)
    return found


def _untainted(case: Case, device: DeviceID, key: str) -> Patch | None:
    """A patch of the device's slice that removes a taint; None where no slice has the taint: a rule put it there."""
    for (_, name), value in case.state.all("ResourceSlice").items():
        pool = text_at(value, "spec", "driver"), text_at(value, "spec", "pool", "name")
        if pool != (device.driver, device.pool):
            continue
        for index, item in enumerate(maps_at(value, "spec", "devices")):
            for number, taint in enumerate(maps_at(item, "taints") or maps_at(item, "basic", "taints")):
                if text_at(item, "name") == device.device and text_at(taint, "key") == key:
                    path = ("spec", "devices", index, *(("basic",) if "basic" in item else ()), "taints", number)
                    return Patch(f"ResourceSlice/{name}", ({"op": "remove", "path": pointer(*path)},))
    return None
