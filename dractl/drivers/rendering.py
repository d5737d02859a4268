"""Turns inventories into the objects that an API server would store: pools and slices, without the
fields that a release drops or refuses.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from dractl.drivers import registry
from dractl.drivers.profile import Inventory, Known, Options
from dractl.errors import Unsupported
from dractl.model.abbreviation import abbreviate
from dractl.model.releases import GATES, SpecField, Target, fields_dropped_by, stage, unknown_fields
from dractl.program import program_name
from dractl.topology.machine import Machine
from dractl.validation import rules

_MAX_NAME = 253
_MAX_NAMED = 4  # maximum number of addresses in one remark


class Rendering(Struct, frozen=True):
    """Objects of ``resource.k8s.io/v1``."""

    slices: tuple[dict[str, Any], ...] = ()
    device_classes: tuple[dict[str, Any], ...] = ()
    comments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Comment lines above objects, by the name of the object."""
    left_out: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The PCI functions that a driver does not publish, each with the reason, by driver."""
    notices: tuple[str, ...] = ()
    """The drivers' other remarks."""
    unpublished: Mapping[str, str] = field(default_factory=dict)
    """The reason why a driver publishes nothing at all on this machine, by driver: the driver does
    not start, or the API server refuses its slices. The rendering has no slice of such a driver.
    """
    unknown: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The full names of attributes and capacities whose values were not read, by driver."""

    @property
    def objects(self) -> tuple[dict[str, Any], ...]:
        """The DeviceClasses, then the slices."""
        return self.device_classes + self.slices

    @property
    def remarks(self) -> tuple[str, ...]:
        """One line for each driver and each reason to leave functions out, then the notices."""
        lines = []
        for driver, functions in self.left_out.items():
            for why in dict.fromkeys(functions.values()):
                alike = [bdf for bdf, reason in functions.items() if reason == why]
                verb = "are" if len(alike) > 1 else "is"
                names = abbreviate(alike, _MAX_NAMED)
                lines.append(f"{driver}: {names} {verb} not published: {why}")
        return (*lines, *self.notices)


def render(
    machine: Machine, options: Options, drivers: Sequence[str] = (), *, device_classes: bool = False
) -> Rendering:
    """Return the slices that ``drivers`` would publish for the machine as a node.

    The default drivers are the drivers of registry.by_default whose hardware is present. Raises
    Unsupported for releases before 1.34, UsageError for unknown drivers, versions and settings.
    """
    if not options.target.has("served-by-default"):
        raise Unsupported(
            "ResourceSlices are rendered for Kubernetes 1.34 and later, not"
            f" {options.target.release}",
            hint=f"resource.k8s.io/v1 came with 1.34; {program_name()} lint knows 1.31 to 1.33",
        )
    chosen = [registry.find(name) for name in drivers] or [
        profile for profile in map(registry.find, registry.by_default()) if profile.present(machine)
    ]
    options = _with_gates(options)
    slices: list[dict[str, Any]] = []
    classes: list[dict[str, Any]] = []
    comments: dict[str, tuple[str, ...]] = {}
    left_out: dict[str, Mapping[str, str]] = {}
    notices: list[str] = []
    unpublished: dict[str, str] = {}
    unknown: dict[str, frozenset[str]] = {}
    for profile in chosen:
        inventory = profile.inventory(machine, options)
        notices += _stand_in_notices(profile, options)
        notices += inventory.notices
        if inventory.unknown:
            unknown[profile.name] = inventory.unknown
        if inventory.left_out:
            left_out[profile.name] = inventory.left_out
        published = _objects(profile, inventory, options, notices)
        why = inventory.unpublished or _refusal(published, options)
        if why is not None:
            unpublished[profile.name] = why
        else:
            if not (inventory.devices or inventory.left_out):
                notices.append(f"{profile.name}: no device to publish on this node")
            slices += published
            comments |= _comments(published, inventory)
        if device_classes:
            for item in profile.device_classes(options):
                classes.append(item)
                name = f"DeviceClass {item['metadata']['name']}"
                drop_fields(item["spec"], "class", options.target, name, notices)
    return Rendering(
        tuple(slices),
        tuple(classes),
        comments,
        left_out,
        tuple(dict.fromkeys(notices)),
        unpublished,
        unknown,
    )


def _stand_in_notices(profile: Known, options: Options) -> Iterator[str]:
    """Yield a notice if another version is rendered than the requested one."""
    asked = options.versions.get(profile.name)
    stand_in = profile.catalogue.stand_in(asked)
    if stand_in is None:
        return
    newest = [name for name in profile.catalogue.versions if name[0].isdigit()][-1]
    difference = "is not a release that dractl knows"
    if stand_in == newest:
        difference = "is newer than dractl knows"
    yield f"{profile.name}: {asked} {difference}; rendered as {stand_in}"


def _with_gates(options: Options) -> Options:
    """Return the options with the feature gates of Kubernetes that the drivers' options set.

    A driver is started with a gate of Kubernetes, such as DRAListTypeAttributes, only if the
    cluster has it on; otherwise its slices would be refused.
    """
    given = {
        name
        for settings in options.settings.values()
        for name, value in settings.items()
        if value == "true"
    }
    gates = {
        name for name in given if name in GATES and stage(name, options.target.release) is not None
    }
    return (
        replace(options, target=replace(options.target, gates=options.target.gates | gates))
        if gates
        else options
    )


def slice_name(number: int, driver: str, node: str) -> str:
    """Return the helper library's name (kubeletplugin since 0.36) without the random suffix that an
    API server adds.
    """
    return f"{number:05x}-{driver}-{node}"[:_MAX_NAME].rstrip("-.")


def _objects(
    profile: Known, inventory: Inventory, options: Options, notices: list[str]
) -> list[dict[str, Any]]:
    """Return the pool's slices as the helper library creates them, without the fields that the
    release does not store.
    """
    objects = []
    for number, slice_ in enumerate(inventory.slices):
        spec: dict[str, Any] = {
            "driver": profile.name,
            "nodeName": options.node_name,
            "pool": {
                "name": options.node_name,
                "generation": 1,
                "resourceSliceCount": len(inventory.slices),
            },
        }
        if slice_.counter_sets:
            spec["sharedCounters"] = deepcopy(list(slice_.counter_sets))
        if slice_.devices:
            spec["devices"] = deepcopy(list(slice_.devices))
        drop_fields(spec, "slice", options.target, profile.name, notices)
        metadata = {"name": slice_name(number, profile.name, options.node_name)}
        objects.append(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceSlice",
                "metadata": metadata,
                "spec": spec,
            }
        )
    return objects


def _comments(slices: list[dict[str, Any]], inventory: Inventory) -> dict[str, tuple[str, ...]]:
    comments = {}
    for slice_ in slices:
        names = [device["name"] for device in slice_["spec"].get("devices", ())]
        lines = tuple(
            f"{name}: {inventory.comments[name]}" for name in names if name in inventory.comments
        )
        if lines:
            comments[slice_["metadata"]["name"]] = lines
    return comments


def _refusal(slices: list[dict[str, Any]], options: Options) -> str | None:
    """Return the reason why an API server of the release refuses all of the driver's slices; None
    if it accepts them.

    The helper library creates every slice as it is given (resourceslicecontroller.go: "the driver
    must ensure that each resulting slice is valid"), and the scheduler does not use a pool that
    lacks one of its slices. Names of devices must differ in the whole pool.
    """
    names: set[str] = set()
    for item in slices:
        first = next(rules.check(item, options.target, namespaces={}), None)
        if first is not None:
            return f"the API server refuses its ResourceSlice: {first.field}: {first.message}"
        for device in item["spec"].get("devices", ()):
            if device["name"] in names:
                return f"the scheduler ignores its pool: two devices are named {device['name']}"
            names.add(device["name"])
    return None


# -- fields that the release does not keep ---------------------------------------------------------


def drop_fields(
    spec: dict[str, Any], kind: str, target: Target, about: str, notices: list[str]
) -> None:
    """Remove, in place, the fields that an API server of the target release would not store, and
    add one notice for each field.
    """
    gone = (*fields_dropped_by(kind, target), *unknown_fields(kind, target.release))
    notices += [
        f"{about}: {_loss_reason(item, target)}"
        for item in gone
        if _remove(spec, item.path.split("."))
    ]


def _loss_reason(item: SpecField, target: Target) -> str:
    release = target.release
    gates = (
        " and ".join(gate for gate in item.gates if not target.enabled(gate)) if item.gates else ""
    )
    if gates:
        return f"{item.path} is left out: Kubernetes {release} drops it without {gates}"
    return f"{item.path} is left out: Kubernetes {release} does not know it"


def _remove(value: Any, path: list[str]) -> bool:
    head, further = path[0], path[1:]
    name = head.removesuffix("[]").removesuffix("{}")
    if not isinstance(value, dict) or name not in value:
        return False
    if not further:
        del value[name]
        return True
    children = [value[name]]
    if head.endswith("[]"):
        children = value[name]
    elif head.endswith("{}"):
        children = list(value[name].values())
    return sum(_remove(child, further) for child in children) > 0
