"""Devices as they are published, or would be: ``--devices FILE|DIR|SNAPSHOT|local|cluster`` and
``--hardware``.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from dractl.capacity import what_if
from dractl.cel import Program, environment
from dractl.cli import terminal
from dractl.cli.options.driver_options import DriverChoice
from dractl.cli.options.machine_input import read_node
from dractl.cluster import ClusterState, sources
from dractl.cluster.state import list_at, text_at
from dractl.drivers import Options, find, names, render
from dractl.drivers.network import read as of_files
from dractl.errors import InputError, UsageError
from dractl.machines import as_node, labels_of, machine, room_of
from dractl.machines.described import is_description
from dractl.machines.names import every
from dractl.machines.spec import node_groups
from dractl.model import Target
from dractl.objects import Claim, selectors_of
from dractl.program import program_name
from dractl.topology.machine import Machine
from dractl.upgrade import DescribedNode


def load_devices(source: str, target: Target) -> ClusterState:
    """Load the ResourceSlices and DeviceClasses of one source."""
    if source == "cluster":
        from dractl.cluster import live

        return live.read(live.Login()).state
    published = sources.read_published(source) if source != "local" else None
    return published or render_snapshot(source, target)


def list_installed_classes(
    slices: Iterable[Mapping[str, Any]], target: Target
) -> dict[str, dict[str, Any]]:
    """List the DeviceClasses that come with the drivers of the slices; unsupported drivers have
    none.
    """
    drivers = {text_at(slice_, "spec", "driver") for slice_ in slices}
    options = Options(node_name="node-1", target=target)
    classes = [
        item for name in names() if name in drivers for item in find(name).device_classes(options)
    ]
    return {item["metadata"]["name"]: item for item in classes}


def render_snapshot(source: str, target: Target) -> ClusterState:
    """Render the slices that drivers would publish for this machine (``local``) or for that of a
    snapshot.
    """
    machine = read_node(None, None if source == "local" else Path(source))
    name = machine.host.name or os.environ.get("NODE_NAME") or "node-1"
    return _render_objects(machine, name, f"--devices {source}", target, ())


def render_machine(
    spec: str,
    target: Target,
    drivers: Sequence[str] = (),
    driver_choice: DriverChoice | None = None,
) -> ClusterState:
    """Render the slices that drivers would publish for a machine of ``--hardware``.

    Its node has the name of the machine.
    """
    described = machine(spec)
    for note in described.notes:
        terminal.add_aside(f"{spec}: {note.message}")
    driver_choice = driver_choice or DriverChoice(tuple(drivers))
    settings, wanted_drivers = (
        driver_settings(spec, described, driver_choice),
        drivers or driver_choice.drivers,
    )
    return _render_objects(
        described,
        node_name(spec),
        f"--hardware {spec}",
        target,
        wanted_drivers,
        settings,
        driver_choice.versions,
    )


def parse_nodes(values: Iterable[str]) -> list[tuple[str, DescribedNode]]:
    """Return the nodes of ``--hardware`` with what describes them: machines, or their snapshots.

    A node has the name of its machine, or of the host of a snapshot; equal ones have numbers, too.
    """
    groups = [group for text in values for group in node_groups(text)]
    count: Counter[str] = Counter()
    for group in groups:
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


def parse_node(source: str) -> DescribedNode:
    """Describe a node by a snapshot or by a line of ``--hardware``."""
    if os.path.isfile(source) and not is_description(source):
        snapshot = read_node(None, Path(source))
        return DescribedNode((snapshot.host.name or node_name(source)).lower(), snapshot)
    described = machine(source)
    return DescribedNode(node_name(source), described, driver_settings(source, described))


def render_node(
    described: DescribedNode, spec: str, target: Target, versions: Mapping[str, str]
) -> ClusterState:
    """Render the slices that drivers would publish for a node, their classes and the node."""
    return _render_objects(
        described.machine,
        described.node,
        f"--hardware {spec}",
        target,
        (),
        described.settings,
        versions,
    )


def driver_settings(
    spec: str, described: Machine, driver_choice: DriverChoice | None = None
) -> dict[str, Mapping[str, str]]:
    """Return the options of a described machine's drivers."""
    settings: dict[str, Mapping[str, str]] = (
        dict(driver_choice.settings) if driver_choice is not None else {}
    )
    nvidia = settings.get("gpu.nvidia.com", {})
    if (
        any(gpu.mig_mode and not gpu.mig_devices for gpu in described.gpus)
        and "dynamicMIG" not in nvidia
    ):
        settings["gpu.nvidia.com"] = {"dynamicMIG": "true", **nvidia}
        terminal.notice(
            f"{spec}: its driver is assumed to run with dynamicMIG, which creates MIG devices for"
            " claims"
        )
    return settings


def parse_machines(values: Iterable[str]) -> list[str]:
    """Return the machines that ``--hardware`` values name, each once.

    For what is asked of a single node, the number of equal nodes does not matter.
    """
    return list(dict.fromkeys(group.machine for text in values for group in node_groups(text)))


def single_machine(values: Iterable[str], why: str) -> str:
    """Return the only machine that ``--hardware`` values name.

    Raises UsageError, which says ``why`` there cannot be several.
    """
    groups = [group for text in values for group in node_groups(text)]
    if len(groups) > 1:
        named = ", ".join(map(str, groups))
        raise UsageError(
            f"--hardware names {len(groups)} machines ({named}), and {why}",
            hint="run it once for each of them",
        )
    if groups[0].count > 1:
        raise UsageError(
            f"--hardware {groups[0]} means {groups[0].count:,} equal machines, and {why}",
            hint=f"write {groups[0].machine}",
        )
    return groups[0].machine


def list_known_classes(target: Target) -> ClusterState:
    """List the DeviceClasses that come with supported drivers, including those of dranet's chart
    for EKS.
    """
    options = Options(node_name="node-1", target=target, settings={"dra.net": {"cloud": "aws"}})
    return sources.from_objects(
        item for name in names() for item in find(name).device_classes(options)
    )


def load_network_devices(files: Iterable[str], target: Target) -> ClusterState:
    """Load the ResourceSlices of ``--network-devices`` files."""
    pools: dict[tuple[str, str], str] = {}
    slices: list[dict[str, Any]] = []
    for path in files:
        network = of_files(path, target)
        for notice in network.notices:
            terminal.notice(notice)
        for pool in network.pools:
            if pools.setdefault(pool, path) != path:
                raise InputError(f"pool {pool[1]} of {pool[0]} is in {pools[pool]} too", place=path)
        slices += network.slices
    return sources.from_objects(slices)


def render_every_machine(target: Target, drivers: Sequence[str] = ()) -> list[ClusterState]:
    """Render the slices of every machine that ``--hardware`` knows by name, if it has any."""
    states = []
    for name in every():
        rendering = render(
            machine(name), Options(node_name=node_name(name), target=target), drivers
        )
        if rendering.slices:
            states.append(sources.from_objects(rendering.objects))
    return states


def node_name(spec: str) -> str:
    """Derive a node's name from the name, the line or the file of a machine."""
    name = re.sub(
        r"[^a-z0-9.-]+",
        "-",
        os.path.basename(spec).lower().removesuffix(".yaml").removesuffix(".yml"),
    )
    return name.strip("-.")[:63] or "node-1"


def _render_objects(
    machine: Machine,
    name: str,
    option: str,
    target: Target,
    drivers: Sequence[str],
    settings: Mapping[str, Mapping[str, str]] | None = None,
    versions: Mapping[str, str] | None = None,
) -> ClusterState:
    options = Options(
        node_name=name.lower(), target=target, versions=versions or {}, settings=settings or {}
    )
    rendering = render(machine, options, drivers, device_classes=True)
    for notice in rendering.remarks:
        terminal.notice(notice)
    if rendering.unpublished and not rendering.slices:
        silent = "; ".join(
            f"{driver} publishes nothing here: {why}"
            for driver, why in rendering.unpublished.items()
        )
        raise InputError(f"{option}: {silent}")
    for driver, why in rendering.unpublished.items():
        terminal.notice(f"{driver} publishes nothing here: {why}")
    if not rendering.slices:
        hint = (
            f"`{program_name()} discover` shows the hardware"
            if option.startswith("--devices")
            else None
        )
        raise InputError(f"{option}: no known driver would publish a device here", hint=hint)
    source: Literal["snapshot", "hardware"] = (
        "hardware" if option.startswith("--hardware") else "snapshot"
    )
    objects = (_annotate_unknown(item, rendering.unknown) for item in rendering.objects)
    return sources.from_objects(objects).with_machines({options.node_name: (machine, source)})


_MAX_ADDED_DEVICES = (
    50_000  # devices: more than the 5,000 nodes of a large cluster have, and within 500 MB
)
_UNKNOWN_ANNOTATION = "dractl/unknown"
"""An annotation of slices in memory: names that their devices have, but whose values a snapshot
lacks.
"""


def _annotate_unknown(
    item: dict[str, Any], unknown: Mapping[str, frozenset[str]]
) -> dict[str, Any]:
    names = unknown.get(item["spec"].get("driver", "")) if item["kind"] == "ResourceSlice" else None
    if not names:
        return item
    return {
        **item,
        "metadata": {
            **item["metadata"],
            "annotations": {_UNKNOWN_ANNOTATION: ",".join(sorted(names))},
        },
    }


def unknown_names(slices: Iterable[Mapping[str, Any]]) -> dict[str, frozenset[str]]:
    """Collect the attributes and capacities, by driver, that devices have, but whose values a
    snapshot lacks.
    """
    names_by_driver: dict[str, frozenset[str]] = {}
    for slice_ in slices:
        names = text_at(slice_, "metadata", "annotations", _UNKNOWN_ANNOTATION)
        if names:
            driver = text_at(slice_, "spec", "driver")
            names_by_driver[driver] = names_by_driver.get(driver, frozenset()) | frozenset(
                names.split(",")
            )
    return names_by_driver


def snapshot_gap_error(program: Program, names: Iterable[str]) -> InputError | None:
    """Return the error for an expression that reads what a snapshot lacks, or None."""
    unknown_reads = sorted({lookup.full_name for lookup in program.lookups} & set(names))
    if not unknown_reads:
        return None
    return InputError(
        f"unknown: the snapshot lacks {', '.join(unknown_reads)}, which a selector reads:"
        f" {program.text}",
        hint=(
            f"take it on the node, where the driver's library answers: {program_name()} discover"
            " --save FILE"
        ),
    )


def refuse_undecided(state: ClusterState, target: Target) -> None:
    """Raise InputError if a selector in the input reads what a snapshot among the devices lacks."""
    names = frozenset[str]().union(*unknown_names(state.objects("ResourceSlice").values()).values())
    for kind in ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass") if names else ():
        for value in state.objects(kind).values():
            for text in _selectors(value, kind):
                error = snapshot_gap_error(environment(target, "stored").compile(text), names)
                if error is not None:
                    raise error


def _selectors(value: Mapping[str, Any], kind: str) -> list[str]:
    """Return the selectors of a claim, a template or a class."""
    if kind == "DeviceClass":
        return [item.text for item in selectors_of(value)]
    prefix = ("spec", "spec") if kind == "ResourceClaimTemplate" else ("spec",)
    requests = Claim.of(None, value, prefix).alternatives
    return [item.text for request in requests for item in request.selectors]


class AddedNodes(Struct, frozen=True):
    """Nodes that an option adds."""

    option: str
    """The option that adds them."""
    source: str
    """A file, or a described machine."""
    count: int
    """How often the nodes of the source are added."""

    def __str__(self) -> str:
        return f"{self.option} {self.source}" + (f"*{self.count}" if self.count > 1 else "")


def parse_added_nodes(option: str, values: Iterable[str]) -> list[AddedNodes]:
    """Return the nodes that the values of an option add.

    Raises UsageError for what is neither a file nor a machine that is known, and for a number of
    nodes that is none.
    """
    try:
        groups = [group for text in values for group in node_groups(text)]
        for group in groups:
            if not os.path.isfile(group.machine) or is_description(group.machine):
                machine(group.machine)
    except UsageError as error:
        raise UsageError(error.message.replace("--hardware", option, 1), hint=error.hint) from None
    return [AddedNodes(option, group.machine, group.count) for group in groups]


def add_nodes(
    state: ClusterState,
    additions: Iterable[AddedNodes],
    target: Target,
    driver_choice: DriverChoice,
) -> ClusterState:
    """Add nodes to the cluster. Raises UsageError for too many devices, and InputError."""
    devices = 0
    for addition in additions:
        nodes = _render_added(addition, target, driver_choice)
        devices += addition.count * sum(
            len(list_at(s, "spec", "devices")) for s in nodes.objects("ResourceSlice").values()
        )
        if devices > _MAX_ADDED_DEVICES:
            hint = f"at most {_MAX_ADDED_DEVICES:,} can be added; try fewer nodes"
            raise UsageError(f"{addition} makes {devices:,} devices", hint=hint)
        state = what_if.add_nodes(state, nodes, addition.count, node_name(addition.source))
    return state


def _render_added(
    addition: AddedNodes, target: Target, driver_choice: DriverChoice
) -> ClusterState:
    """Return nodes to add.

    They have the slices of a file, or those that drivers would publish for a snapshot or for a
    described machine, whose node has the labels that it certainly has.
    """
    source = addition.source
    if os.path.exists(source) and not is_description(source):
        return sources.filter_drivers(load_devices(source, target), driver_choice.drivers)
    described = machine(source)
    options = Options(
        "node-1", target, driver_choice.versions, driver_settings(source, described, driver_choice)
    )
    rendering = render(described, options, driver_choice.drivers, device_classes=True)
    if not rendering.slices:
        raise InputError(f"{addition}: no known driver would publish a device there")
    metadata = {"name": "node-1", "labels": labels_of(source)}
    node: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
    if room := room_of(source):
        node["status"] = {"allocatable": room}
    return sources.from_objects([*rendering.objects, node]).with_machines(
        {"node-1": (described, "hardware")}
    )
