"""The objects that drivers would publish for machines outside the cluster: described machines, and
snapshots.

``notify`` is called with each notice for the user about such a machine or its drivers.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from dractl.cluster.snapshot_gaps import annotate_unknown
from dractl.cluster.sources import from_objects
from dractl.cluster.state import ClusterState
from dractl.drivers import Options, Rendering, find, names, render
from dractl.drivers.network import read
from dractl.errors import InputError
from dractl.machines import Description, as_node, machine
from dractl.machines.names import every
from dractl.machines.nodes import node_name, parse_groups
from dractl.machines.site import site_attributes_of
from dractl.machines.wiring import place_together
from dractl.model import Target
from dractl.model.driver_choice import DriverChoice
from dractl.objects import Slice, slice_of
from dractl.program import program_name
from dractl.topology.machine import Machine
from dractl.views.base import View

Notify = Callable[[str], None]
Settings = Mapping[str, Mapping[str, str]]
"""Options by driver."""

_NODE = "node-1"
_HARDWARE: Literal["hardware"] = "hardware"


class DescribedNode(Struct, frozen=True):
    """A node whose machine is known, with the configuration of its drivers."""

    node: str
    """The name of the node."""
    machine: Machine
    settings: Settings = field(default_factory=dict)


def parse_nodes(
    values: Iterable[str], parse_node: Callable[[str], DescribedNode]
) -> list[tuple[str, DescribedNode]]:
    """Return the nodes of ``--hardware`` with the text that describes them.

    ``parse_node`` describes one node. Equal nodes get numbers after their name.
    """
    count: Counter[str] = Counter()
    for group in parse_groups(values):
        count[group.machine] += group.count
    return [
        (source, node)
        for source, number in count.items()
        for node in _number_node(parse_node(source), number)
    ]


def _number_node(first: DescribedNode, count: int) -> Iterator[DescribedNode]:
    if count == 1:
        yield first
        return
    for number in range(1, count + 1):
        name = f"{first.node}-{number}"
        yield replace(first, node=name, machine=as_node(first.machine, name))


def describe_node(spec: str, choice: DriverChoice, notify: Notify) -> DescribedNode:
    """Describe a node by a line of ``--hardware``; its name is made from the line."""
    described = machine(spec)
    settings = driver_settings(spec, described, choice, notify)
    return DescribedNode(node_name(spec), described, settings)


def driver_settings(
    spec: str, described: Machine, choice: DriverChoice, notify: Notify
) -> dict[str, Mapping[str, str]]:
    """Return the options of a described machine's drivers."""
    settings = dict(choice.settings)
    nvidia = settings.get("gpu.nvidia.com", {})
    in_mig_mode = any(gpu.mig_mode and not gpu.mig_devices for gpu in described.gpus)
    if in_mig_mode and "dynamicMIG" not in nvidia:
        settings["gpu.nvidia.com"] = {"dynamicMIG": "true", **nvidia}
        notify(
            f"{spec}: its driver is assumed to run with dynamicMIG, which creates MIG devices for"
            " claims"
        )
    return settings


def render_node(
    described: DescribedNode, option: str, target: Target, choice: DriverChoice, notify: Notify
) -> ClusterState:
    """Render the slices that drivers would publish for a node, and their classes.

    ``option`` is the option that names the machine. Raises InputError if no driver would publish a
    device.
    """
    options = Options(described.node.lower(), target, choice.versions, described.settings)
    rendering = _render_known(described.machine, options, choice.drivers)
    for remark in rendering.remarks:
        notify(remark)
    _refuse_empty(rendering, option)
    for driver, why in rendering.unpublished.items():
        notify(f"{driver} publishes nothing here: {why}")
    source: Literal["snapshot", "hardware"] = (
        "hardware" if option.startswith("--hardware") else "snapshot"
    )
    unknown = _unknown_of_described(rendering) if source == "hardware" else rendering.unknown
    objects = (annotate_unknown(item, unknown) for item in rendering.objects)
    machines = {options.node_name: (described.machine, source)}
    return from_objects(objects).with_machines(machines)


def _render_known(machine: Machine, options: Options, drivers: Sequence[str]) -> Rendering:
    """Render a machine with its classes. If no source shows where its devices are, the values that
    depend on the place are left out, and ``unknown`` of the result has their names.
    """
    rendering = render(machine, options, drivers, device_classes=True)
    placed = place_together(machine)
    if placed is None:
        return rendering
    by_place = _attributes_by_device(render(placed, options, drivers).slices)
    unknown: dict[str, frozenset[str]] = dict(rendering.unknown)
    slices = []
    for item in rendering.slices:
        driver, devices = slice_of(item).driver, []
        for device in slice_of(item).devices:
            attributes = device.fields.get("attributes", {})
            other_attributes = by_place.get((driver, device.name), attributes)
            names = {
                name
                for name in attributes | other_attributes
                if attributes.get(name) != other_attributes.get(name)
            }
            full_names = {name if "/" in name else f"{driver}/{name}" for name in names}
            unknown[driver] = unknown.get(driver, frozenset()) | full_names
            kept = {name: value for name, value in attributes.items() if name not in names}
            devices.append({**device.fields, "attributes": kept} if names else device.fields)
        spec = {**slice_of(item).spec, "devices": devices}
        slices.append({**item, "spec": spec} if devices else item)
    return replace(rendering, slices=tuple(slices), unknown=unknown)


def _attributes_by_device(
    slices: Iterable[Mapping[str, Any]],
) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return the attributes of each device of a node, by driver and name."""
    return {
        (slice_of(item).driver, device.name): device.fields.get("attributes", {})
        for item in slices
        for device in slice_of(item).devices
    }


def _unknown_of_described(rendering: Rendering) -> dict[str, frozenset[str]]:
    """Return the names, by driver, of values that the description of a machine does not contain."""
    drivers = {Slice(View(item).spec).driver for item in rendering.slices}
    return {
        driver: rendering.unknown.get(driver, frozenset()) | site_attributes_of(driver)
        for driver in drivers
    }


def _refuse_empty(rendering: Rendering, option: str) -> None:
    """Raise InputError if a machine has no device that a driver would publish."""
    if rendering.slices:
        return
    if rendering.unpublished:
        reasons = "; ".join(
            f"{driver} publishes nothing here: {why}"
            for driver, why in rendering.unpublished.items()
        )
        raise InputError(f"{option}: {reasons}")
    raise InputError(
        f"{option}: no known driver would publish a device here",
        hint=(
            f"`{program_name()} discover` shows the hardware"
            if option.startswith("--devices")
            else None
        ),
    )


def render_added_node(
    description: Description, option: str, target: Target, choice: DriverChoice, settings: Settings
) -> ClusterState:
    """Render a described node with its slices, classes and the labels that it certainly has.

    ``settings`` are options by driver.
    """
    options = Options(_NODE, target, choice.versions, settings)
    rendering = _render_known(description.machine, options, choice.drivers)
    if not rendering.slices:
        raise InputError(f"{option}: no known driver would publish a device there")
    metadata = {"name": _NODE, "labels": dict(description.labels)}
    node: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
    if description.room:
        node["status"] = {"allocatable": dict(description.room)}
    unknown = _unknown_of_described(rendering)
    state = from_objects([*(annotate_unknown(o, unknown) for o in rendering.objects), node])
    return state.with_machines({_NODE: (description.machine, "hardware")})


def render_every_machine(target: Target, drivers: Sequence[str] = ()) -> list[ClusterState]:
    """Render the slices of every machine that ``--hardware`` knows by name, unless the machine has
    none.
    """
    states = []
    for name in every():
        described, options = machine(name), Options(node_name=node_name(name), target=target)
        rendering = _render_known(described, options, drivers)
        if rendering.slices:
            slices = (annotate_unknown(item, rendering.unknown) for item in rendering.slices)
            machines = {options.node_name: (described, _HARDWARE)}
            states.append(from_objects(slices).with_machines(machines))
    return states


def list_installed_classes(
    slices: Iterable[Mapping[str, Any]], target: Target
) -> dict[str, dict[str, Any]]:
    """List the DeviceClasses that come with the drivers of the slices; unsupported drivers have
    none.
    """
    drivers = {Slice(View(item).spec).driver for item in slices}
    options = Options(node_name=_NODE, target=target)
    classes = [
        item for name in names() if name in drivers for item in find(name).device_classes(options)
    ]
    return {View(item).name: item for item in classes}


def list_known_classes(target: Target) -> ClusterState:
    """List the DeviceClasses that come with supported drivers, including the classes of dranet's
    chart for EKS.
    """
    options = Options(node_name=_NODE, target=target, settings={"dra.net": {"cloud": "aws"}})
    return from_objects(item for name in names() for item in find(name).device_classes(options))


def load_network_devices(files: Iterable[str], target: Target, notify: Notify) -> ClusterState:
    """Load the ResourceSlices of ``--network-devices`` files."""
    pools: dict[tuple[str, str], str] = {}
    slices: list[dict[str, Any]] = []
    for path in files:
        network = read(path, target)
        for notice in network.notices:
            notify(notice)
        for pool in network.pools:
            if pools.setdefault(pool, path) != path:
                raise InputError(f"pool {pool[1]} of {pool[0]} is in {pools[pool]} too", place=path)
        slices += network.slices
    return from_objects(slices)
