"""Device taints: toleration, and the taints that DeviceTaintRules add."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation.features import Features
from dractl.cel import Program, environment
from dractl.model import DeviceClass, DeviceTaint, DeviceTaintRule, DeviceToleration, ResourceSlice
from dractl.model.releases import Target
from dractl.model.slices import Device
from dractl.model.taints import DeviceTaintSelector

_PREVENT = ("NoSchedule", "NoExecute")


def tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """Return True if a toleration covers a taint (ToleratesTaint in
    k8s.io/dynamic-resource-allocation/resourceclaim/devicetoleration.go).
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in (None, "", "Equal"):
        return (toleration.value or "") == taint.value
    return toleration.operator == "Exists"


def first_exclusion(
    device: Device, tolerations: Iterable[DeviceToleration], *, any_effect: bool
) -> DeviceTaint | None:
    """Return the first taint of a device that excludes it for a request.

    With ``any_effect``, taints with effect None or an unknown effect count too, as in 1.34.
    """
    for taint in device.taints:
        if (any_effect or taint.effect in _PREVENT) and not any(
            tolerates(t, taint) for t in tolerations
        ):
            return taint
    return None


class Uncompilable(Exception):
    """A selector of a DeviceTaintRule, or of its class, does not compile."""


class Reach(Struct, frozen=True):
    """The devices that a DeviceTaintRule taints. All programs are true for these devices, and
    driver, pool and name match where they are not None.
    """

    driver: str | None = None
    pool: str | None = None
    device: str | None = None
    programs: tuple[Program, ...] = ()

    def covers(self, driver: str, pool: str, device: Device) -> bool:
        """Return True if the rule taints a device. Raises Uncompilable for a program that is
        reached and does not compile.
        """
        if (
            self.driver not in (None, driver)
            or self.pool not in (None, pool)
            or self.device not in (None, device.name)
        ):
            return False
        if not self.programs:
            return True
        if device.mapping.get("allowMultipleAllocations") is not None:
            # The tracker passes only driver, attributes and capacity to CEL, so
            # ``allowMultipleAllocations`` is false here.
            device = Device(
                {k: v for k, v in device.mapping.items() if k != "allowMultipleAllocations"}
            )
        for program in self.programs:
            if not program.ok:
                raise Uncompilable
            # Devices on which a selector fails do not match either
            if program.evaluate(driver, device) is not True:
                return False
        return True


def effective_taint_rules(
    rules: Iterable[DeviceTaintRule], features: Features, classes: Iterable[DeviceClass] = ()
) -> list[tuple[DeviceTaintRule, Reach]]:
    """Return the DeviceTaintRules that can taint a device, in the order of their names, each with
    the devices it taints.

    The list is empty if the gate is off. A rule without a selector taints every device up to 1.36,
    and none from 1.37 on. Only 1.34 reads ``deviceClassName`` and ``selectors``; there, a rule
    whose class does not exist taints nothing.
    """
    gate = "DRADeviceTaintRules" if features.has("taint-rules-gate") else "DRADeviceTaints"
    if not (features.enabled(gate) and features.enabled("DRADeviceTaints")):
        return []
    every = features.keeps_bug("rules-without-selector") and features.has("empty-rule-taints-all")
    by_name = {device_class.metadata.name: device_class for device_class in classes}
    effective = []
    for rule in sorted(rules, key=lambda rule: rule.metadata.name):
        selector = rule.spec.device_selector or (DeviceTaintSelector() if every else None)
        programs = None if selector is None else _programs(selector, by_name, features)
        if selector is not None and programs is not None:
            effective.append(
                (rule, Reach(selector.driver, selector.pool, selector.device, programs))
            )
    return effective


def _programs(
    selector: DeviceTaintSelector, classes: Mapping[str, DeviceClass], features: Features
) -> tuple[Program, ...] | None:
    """Return the selectors of the class, then the rule's own; None if the class does not exist."""
    if not features.has("rules-by-class"):
        return ()
    texts: list[str] = []
    if selector.device_class_name is not None:
        device_class = classes.get(selector.device_class_name)
        if device_class is None:
            return None
        texts += [
            selector.cel.expression
            for selector in device_class.spec.selectors
            if selector.cel is not None
        ]
    texts += selector.selectors
    gates = features.on if features.cel_on is None else features.cel_on
    cel = environment(Target(features.release, gates), "stored")
    return tuple([cel.compile(text) for text in texts])


def apply_taint_rules(
    slices: Sequence[ResourceSlice],
    rules: Iterable[DeviceTaintRule],
    features: Features,
    *,
    classes: Iterable[DeviceClass] = (),
) -> tuple[ResourceSlice, ...]:
    """Return the slices as the scheduler sees them: on each device, the taints of DeviceTaintRules
    follow the device's own taints.

    ``classes`` are all DeviceClasses, since rules of 1.34 may name them. A slice is left out if a
    selector that does not compile is tried on one of its devices: 1.34 never adds such a slice.

    Source: applyPatches and syncSlice in
    k8s.io/dynamic-resource-allocation/resourceslice/tracker/tracker.go.
    """
    effective = effective_taint_rules(rules, features, classes)
    if not effective:
        return tuple(slices)
    tainted = []
    for slice_ in slices:
        try:
            tainted.append(_add_taints(slice_, effective))
        except Uncompilable:
            continue
    return tuple(tainted)


def _add_taints(
    slice_: ResourceSlice, rules: Sequence[tuple[DeviceTaintRule, Reach]]
) -> ResourceSlice:
    spec = slice_.spec
    devices = []
    changed = False
    for device in spec.devices:
        added = [
            rule.spec.taint
            for rule, reach in rules
            if reach.covers(spec.driver, spec.pool.name, device)
        ]
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
            devices.append(
                Device(
                    {**device.mapping, "taints": [*(device.mapping.get("taints") or ()), *written]}
                )
            )
        else:
            devices.append(device)
    return replace(slice_, spec=replace(spec, devices=tuple(devices))) if changed else slice_
