"""Device taints: which are tolerated, and which DeviceTaintRules add."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dractl.errors import Unsupported
from dractl.model.slices import Device

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dractl.allocation.features import Features
    from dractl.model import DeviceTaint, DeviceTaintRule, DeviceToleration, ResourceSlice

_PREVENT = ("NoSchedule", "NoExecute")


def tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """ToleratesTaint in k8s.io/dynamic-resource-allocation/resourceclaim/devicetoleration.go."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in (None, "", "Equal"):
        return (toleration.value or "") == taint.value
    return toleration.operator == "Exists"


def preventing(device: Device, tolerations: Iterable[DeviceToleration], *, any_effect: bool) -> DeviceTaint | None:
    """The first taint of a device that keeps a request from it.

    ``any_effect``: taints of effect None, and of effects not known, count too, as they did in 1.34.
    """
    for taint in device.taints:
        if (any_effect or taint.effect in _PREVENT) and not any(tolerates(t, taint) for t in tolerations):
            return taint
    return None


def apply_taint_rules(
    slices: Sequence[ResourceSlice], rules: Iterable[DeviceTaintRule], features: Features
) -> tuple[ResourceSlice, ...]:
    """The slices with the taints that DeviceTaintRules add to their devices.

    Where the gate is off they are returned as they are. A rule without a selector taints every device up to 1.36, and
    none from 1.37 on. Rules are applied in the order of their names (resourceslice/tracker/tracker.go).

    Raises Unsupported for a rule that selects by class or CEL, which 1.34 still took.
    """
    gate = "DRADeviceTaintRules" if features.at_least("1.35") else "DRADeviceTaints"
    chosen = sorted(rules, key=lambda rule: rule.metadata.name)
    if not chosen or not (features.enabled(gate) and features.enabled("DRADeviceTaints")):
        return tuple(slices)
    if not features.at_least("1.35"):
        for rule in chosen:
            selector = rule.spec.device_selector
            if selector is not None and (selector.device_class_name or selector.selectors):
                raise Unsupported(
                    f"DeviceTaintRule {rule.metadata.name} selects devices by class or CEL, which only Kubernetes 1.34 "
                    "and older do and dractl does not",
                    hint="name driver, pool or device instead",
                )
    every = features.upstream_bugs and not features.at_least("1.37")
    return tuple(_tainted(slice_, chosen, every=every) for slice_ in slices)


def _tainted(slice_: ResourceSlice, rules: Sequence[DeviceTaintRule], *, every: bool) -> ResourceSlice:
    spec = slice_.spec
    devices = []
    changed = False
    for device in spec.devices:
        added = [rule.spec.taint for rule in rules if rule_selects(rule, slice_, device, every=every)]
        if added:
            changed = True
            written = [
                {
                    "key": t.key,
                    "value": t.value,
                    "effect": t.effect,
                    **({"timeAdded": t.time_added} if t.time_added else {}),
                }
                for t in added
            ]
            devices.append(Device({**device.mapping, "taints": [*(device.mapping.get("taints") or ()), *written]}))
        else:
            devices.append(device)
    return replace(slice_, spec=replace(spec, devices=tuple(devices))) if changed else slice_


def rule_selects(rule: DeviceTaintRule, slice_: ResourceSlice, device: Device, *, every: bool) -> bool:
    """Whether a rule taints a device; ``every``: what a rule without a selector does."""
    selector = rule.spec.device_selector
    if selector is None:
        return every
    spec = slice_.spec
    return (
        selector.driver in (None, spec.driver)
        and selector.pool in (None, spec.pool.name)
        and selector.device in (None, device.name)
    )
