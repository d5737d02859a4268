"""From profiles to the objects that an API server would hold: pools, slices, limits, fields that a release drops."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dractl.drivers import registry
from dractl.errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dractl.drivers.profile import Inventory, Options, Profile
    from dractl.model.releases import Field
    from dractl.topology.machine import Machine

# k8s.io/api/resource/v1 types.go: ResourceSliceMaxDevices, ...WithAdvancedFeatures,
# ResourceSliceMaxCounterSets, DeviceAttributeMaxValueLength.
MAX_DEVICES, MAX_ADVANCED_DEVICES, MAX_COUNTER_SETS, MAX_TEXT = 128, 64, 8, 64
_LISTS = ("ints", "bools", "strings", "versions")
_MAX_NAME = 253


@dataclass(frozen=True, slots=True)
class Rendering:
    """Objects of ``resource.k8s.io/v1``. ``comments`` are lines for objects by name, ``notices`` are for the user."""

    slices: tuple[dict[str, Any], ...] = ()
    device_classes: tuple[dict[str, Any], ...] = ()
    comments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    @property
    def objects(self) -> tuple[dict[str, Any], ...]:
        return self.device_classes + self.slices


def render(
    machine: Machine, options: Options, drivers: Sequence[str] = (), *, device_classes: bool = False
) -> Rendering:
    """What ``drivers`` would publish for the machine as a node; default: those of registry.by_default whose hardware is
    present.

    Raises Unsupported for releases before 1.34, UsageError for unknown drivers, versions and settings.
    """
    if not options.target.at_least("1.34"):
        raise Unsupported(
            f"ResourceSlices are rendered for Kubernetes 1.34 and later, not {options.target.release}",
            hint="resource.k8s.io/v1 came with 1.34; dractl lint knows 1.31 to 1.33",
        )
    chosen = [registry.find(name) for name in drivers] or [
        profile for profile in map(registry.find, registry.by_default()) if profile.present(machine)
    ]
    slices: list[dict[str, Any]] = []
    classes: list[dict[str, Any]] = []
    comments: dict[str, tuple[str, ...]] = {}
    notices: list[str] = []
    for profile in chosen:
        inventory = profile.inventory(machine, options)
        notices += inventory.notices
        if not inventory.devices:
            notices.append(f"{profile.name}: no device to publish on this node")
        published = _slices(profile, inventory, options, notices)
        slices += published
        for one in published:
            names = [device["name"] for device in one["spec"].get("devices", ())]
            lines = tuple(f"{name}: {inventory.comments[name]}" for name in names if name in inventory.comments)
            if lines:
                comments[one["metadata"]["name"]] = lines
        if device_classes:
            for item in profile.device_classes(options):
                classes.append(item)
                _drop(item["spec"], "class", options, f"DeviceClass {item['metadata']['name']}", notices)
    return Rendering(tuple(slices), tuple(classes), comments, tuple(dict.fromkeys(notices)))


def _slices(profile: Profile, inventory: Inventory, options: Options, notices: list[str]) -> list[dict[str, Any]]:
    whole: dict[str, Any] = {"devices": [_fitting(device, profile.name, notices) for device in inventory.devices]}
    if inventory.counter_sets:
        whole["sharedCounters"] = list(inventory.counter_sets)
    _drop(whole, "slice", options, profile.name, notices)
    groups = _groups(whole["devices"], inventory.apart)
    parts = _parts(profile.name, groups, whole.get("sharedCounters", []), options)
    with_devices = sum("devices" in part for part in parts)
    if with_devices > len(groups):
        count = len(inventory.devices)
        notices.append(f"{profile.name}: {count} devices in {with_devices} slices; the API has a limit for one")
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": slice_name(number, profile.name, options.node_name)},
            "spec": {
                "driver": profile.name,
                "nodeName": options.node_name,
                "pool": {"name": options.node_name, "generation": 1, "resourceSliceCount": len(parts)},
                **part,
            },
        }
        for number, part in enumerate(parts)
    ]


def _groups(devices: list[dict[str, Any]], apart: tuple[tuple[str, ...], ...]) -> list[list[dict[str, Any]]]:
    """The devices of each slice as the driver has it: those that it keeps apart, and the others."""
    by_name = {device["name"]: device for device in devices}
    named = {name for names in apart for name in names}
    others = [device for device in devices if device["name"] not in named]
    return [group for group in ([by_name[name] for name in names] for names in apart) if group] + (
        [others] if others else []
    )


def _parts(
    driver: str, groups: list[list[dict[str, Any]]], counter_sets: list[dict[str, Any]], options: Options
) -> list[dict[str, Any]]:
    """What each slice of the pool holds: from 1.35 on either counter sets or devices, in 1.34 both."""
    chunks = [{"devices": chunk} for group in groups for chunk in _chunks(group)]
    if not counter_sets:
        return chunks
    if options.target.at_least("1.35"):
        starts = range(0, len(counter_sets), MAX_COUNTER_SETS)
        return [{"sharedCounters": counter_sets[start : start + MAX_COUNTER_SETS]} for start in starts] + chunks
    parts = []
    for group in groups:
        used = {use["counterSet"] for device in group for use in device.get("consumesCounters", ())}
        shared = [item for item in counter_sets if item["name"] in used]
        if len(group) > MAX_ADVANCED_DEVICES or len(shared) > MAX_COUNTER_SETS:
            raise Unsupported(
                f"{driver}: Kubernetes {options.target.release} wants devices and their counters in one slice, "
                "and these are too many for that",
                hint="give a later --kubernetes-version, or fewer devices",
            )
        parts.append({"sharedCounters": shared, "devices": group} if shared else {"devices": group})
    return parts


def slice_name(number: int, driver: str, node: str) -> str:
    """The helper library's name (kubeletplugin since 0.36) without the random suffix that an API server adds."""
    return f"{number:05x}-{driver}-{node}"[:_MAX_NAME].rstrip("-.")


def _chunks(devices: list[dict[str, Any]]) -> Iterable[list[dict[str, Any]]]:
    """As many devices a slice as the API allows."""
    advanced = any(_advanced(device) for device in devices)
    limit = MAX_ADVANCED_DEVICES if advanced else MAX_DEVICES
    for start in range(0, len(devices), limit):
        yield devices[start : start + limit]


def _advanced(device: Mapping[str, Any]) -> bool:
    lists = any(name in value for value in device.get("attributes", {}).values() for name in _LISTS)
    return lists or "taints" in device or "consumesCounters" in device


def _fitting(device: dict[str, Any], driver: str, notices: list[str]) -> dict[str, Any]:
    """The device without texts that are too long (names of pci.ids can be): they would break the whole slice."""
    kept = {}
    for name, value in device.get("attributes", {}).items():
        text = value.get("string")
        if text is not None and len(text.encode()) > MAX_TEXT:
            notices.append(f"{driver}/{device['name']}: {name} is longer than {MAX_TEXT} bytes and left out: {text!r}")
        else:
            kept[name] = value
    return {**device, "attributes": kept} if kept else {k: v for k, v in device.items() if k != "attributes"}


# --- fields that the release does not keep -----------------------------------------------------------------------


def _drop(spec: dict[str, Any], kind: str, options: Options, about: str, notices: list[str]) -> None:
    """Removes, in place, what an API server of the target release would not store, and says so once a field."""
    from dractl.model.releases import dropped_fields, unknown_fields

    gone = (*dropped_fields(kind, options.target), *unknown_fields(kind, options.target.release))
    notices += [f"{about}: {_why(item, options)}" for item in gone if _remove(spec, item.path.split("."))]
    for device in spec.get("devices", ()):
        if "attributes" in device:  # a list that was removed leaves an attribute without value
            device["attributes"] = {name: value for name, value in device["attributes"].items() if value}


def _why(item: Field, options: Options) -> str:
    release = options.target.release
    gates = " and ".join(gate for gate in item.gates if not options.target.enabled(gate)) if item.gates else ""
    reason = f"without {gates}" if gates else "does not know it"
    return f"{item.path} is left out: Kubernetes {release} {'drops it ' if gates else ''}{reason}"


def _remove(value: Any, path: list[str]) -> bool:
    head, rest = path[0], path[1:]
    name = head.removesuffix("[]").removesuffix("{}")
    if not isinstance(value, dict) or name not in value:
        return False
    if not rest:
        del value[name]
        return True
    children = value[name] if head.endswith("[]") else value[name].values() if head.endswith("{}") else [value[name]]
    return sum(_remove(child, rest) for child in children) > 0
