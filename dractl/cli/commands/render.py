"""``dractl render``: the ResourceSlices (and DeviceClasses) that drivers would publish for a
node.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace
from typer import Exit, Option

from dractl.cli import common, completing, terminal
from dractl.cli.headings import ACTIONS, AGAINST, OptionGroup
from dractl.cli.options import driver_options
from dractl.cli.options.machine_input import MachineSource
from dractl.cli.options.printing import Printing, output_option
from dractl.cli.options.release import (
    ReleaseOptions,
    SeenRelease,
    choose_target,
    find_known_release,
)
from dractl.cluster.described_nodes import load_network_devices
from dractl.drivers import Options, Rendering, by_default, compare, render
from dractl.drivers.registry import ONLY_NAMED
from dractl.errors import InputError, UsageError
from dractl.machines import as_node, machine
from dractl.machines.nodes import node_name as suggest_name
from dractl.machines.spec import node_groups
from dractl.manifests import load
from dractl.model import Target
from dractl.report import objects
from dractl.report.facts import hardware_list
from dractl.report.machine import render_diff
from dractl.report.plain import plural
from dractl.topology.machine import Machine

FORMATS = ("yaml", "json")
_EXAMPLE = ".example.com"
MAX_NODES = 10_000  # maximum value of --nodes

Output = Annotated[str, output_option(FORMATS)]
Driver = Annotated[
    list[str] | None,
    Option(
        "--driver",
        metavar="NAME,...",
        help=(
            "Drivers to render; default: all whose hardware is present. Rendered only when named:"
            f" {', '.join(one for one in ONLY_NAMED if not one.endswith(_EXAMPLE))} and the example"
            f" drivers {', '.join(one for one in ONLY_NAMED if one.endswith(_EXAMPLE))}."
        ),
        autocompletion=completing.offer_comma_list(completing.drivers),
    ),
]
NodeName = Annotated[
    str | None, Option("--node-name", metavar="NAME", help="Node that the slices belong to.")
]
Hardware = Annotated[
    list[str] | None,
    Option(
        "--hardware",
        metavar="SPEC[*N],...",
        help=(
            "Described machines: a name (p5.48xlarge, dgx-h100), a line (8xH100,8xnic,cpus=64), "
            "or a YAML file; *N for N nodes of one; repeatable."
        ),
        autocompletion=completing.offer_comma_list(completing.machines),
    ),
]
ListHardware = Annotated[
    bool, Option("--list-hardware", help="List the machines that --hardware knows by name.")
]
NetworkDevices = Annotated[
    list[str] | None,
    Option(
        "--network-devices",
        metavar="FILE",
        help="Also render these network-attached pools (alone if no machine is given).",
    ),
]
Nodes = Annotated[
    int,
    Option(
        "--nodes",
        metavar="N",
        parser=common.number_parser("--nodes", 1, MAX_NODES),
        help="Render N nodes of this hardware: NAME-1 to NAME-N.",
    ),
]
DeviceClasses = Annotated[
    bool, Option("--device-classes", help="Also print the DeviceClasses of the drivers.")
]
Diff = Annotated[
    str | None,
    Option(
        "--diff",
        metavar="FILE|-|cluster",
        help="Compare with published slices; exit code 1 if they differ.",
    ),
]


class NodeOptions(OptionGroup, frozen=True):
    """Options for the drivers, and for the node for which they publish."""

    heading: ClassVar[str] = AGAINST

    driver: Driver = None
    node_name: NodeName = None
    hardware: Hardware = None
    list_hardware: ListHardware = False
    network_devices: NetworkDevices = None
    nodes: Nodes = 1

    @property
    def drivers(self) -> list[str]:
        """Return the drivers of ``--driver``."""
        return list(driver_options.parse_names(self.driver))


class SetupOptions(OptionGroup, frozen=True):
    """Options for the setup of the drivers."""

    heading: ClassVar[str] = AGAINST

    driver_version: driver_options.DriverVersion = None
    driver_option: driver_options.DriverOption = None


class ActionOptions(OptionGroup, frozen=True):
    """Options for the output."""

    heading: ClassVar[str] = ACTIONS

    device_classes: DeviceClasses = False
    diff: Diff = None


def command(
    output: Output = "yaml",
    node: NodeOptions = NodeOptions(),
    source: MachineSource = MachineSource(),
    against: ReleaseOptions = ReleaseOptions(),
    setup: SetupOptions = SetupOptions(),
    actions: ActionOptions = ActionOptions(),
    printing: Printing = Printing(),
) -> None:
    """Print the ResourceSlices that DRA drivers would publish for this node or for a described
    machine.
    """
    printing.apply()
    common.choose_output(output, FORMATS)
    if node.list_hardware:
        common.write_report(_list_hardware(output), printing.output_file)
        return
    settings, variables = against.settings()
    release, gates = against.release_and_gates(settings, variables)
    seen = _find_release(actions.diff) if actions.diff is not None and not release else None
    target = choose_target(seen.name if seen else release, gates)
    if node.network_devices:
        if actions.diff is not None:
            raise UsageError(
                "--diff compares the slices of a node: it cannot be combined with --network-devices"
            )
        if source.is_this_machine and not node.hardware:
            rendering = _network_rendering(node.network_devices, target)
            _write(rendering, output, printing.output_file)
            return
    groups = _nodes(node, source)
    if actions.diff is not None and (count := sum(len(group.names) for group in groups)) > 1:
        raise UsageError(f"--diff compares one node, and {count:,} are rendered")
    options = Options(
        node_name=groups[0].names[0],
        target=target,
        versions=driver_options.parse_versions(setup.driver_version or (), node.drivers),
        settings=driver_options.parse_settings(setup.driver_option or ()),
    )
    rendering = _render(groups, options, node.drivers, device_classes=actions.device_classes)
    _remark_on(rendering, node.drivers)
    if seen is not None:
        terminal.notice(f"rendered for Kubernetes {seen.name} ({seen.origin})")
    if actions.diff is not None:
        raise Exit(_compare(actions.diff, rendering, options.node_name, node, output, printing))
    if node.network_devices:
        pools = _network_rendering(node.network_devices, target)
        rendering = replace(rendering, slices=rendering.slices + pools.slices)
    _write(rendering, output, printing.output_file)
    if rendering.unpublished:
        raise Exit(1)


def _remark_on(rendering: Rendering, drivers: Sequence[str]) -> None:
    """Print notices and errors about devices that drivers would not publish."""
    for notice in rendering.remarks:
        terminal.notice(notice)
    for driver_name, why in rendering.unpublished.items():
        terminal.print_error(f"{driver_name} publishes nothing: {why}")
    if not (rendering.slices or rendering.remarks or rendering.unpublished):
        wanted = ", ".join(drivers) if drivers else "any driver that is rendered by default"
        terminal.notice(f"nothing to publish: no hardware found for {wanted}")


def _write(rendering: Rendering, output: str, output_file: Path | None) -> None:
    shown = (
        objects.to_json(rendering.objects)
        if output == "json"
        else objects.to_yaml(rendering.objects, rendering.comments)
    )
    common.write_report(shown, output_file)


def _network_rendering(files: list[str], target: Target) -> Rendering:
    """Return the slices of ``--network-devices`` files, and print notices of the fields that the
    release drops.
    """
    state = load_network_devices(files, target, terminal.notice)
    return Rendering(tuple(map(dict, state.objects("ResourceSlice").values())))


class _EqualNodes(Struct, frozen=True):
    """Nodes with the same hardware."""

    machine: Machine
    """The hardware of each node."""
    names: Sequence[str]
    """The names of the nodes."""

    @property
    def machines(self) -> Iterator[tuple[str, Machine]]:
        """Yield each node with its hardware; GPUs of several nodes have different UUIDs."""
        several = len(self.names) > 1
        for name in self.names:
            yield name, as_node(self.machine, name) if several else self.machine


def _nodes(options: NodeOptions, source: MachineSource) -> list[_EqualNodes]:
    """Return the nodes that the options describe.

    A single node has the name that :func:`_node_name` gives it, and ``--nodes`` numbers several
    equal nodes. Several machines have the names that ``fit`` gives them, or ``--node-name`` and a
    number.
    """
    count = options.nodes
    groups = [group for text in options.hardware or () for group in node_groups(text)]
    if not groups or (len(groups) == 1 and groups[0].count == 1):
        machine = _machine(source, groups[0].machine if groups else None)
        live = source.is_this_machine and not groups
        name = _node_name(options.node_name, machine, live=live)
        return [_EqualNodes(machine, [name] if count == 1 else _number_names(name, range(count)))]
    if count > 1 and any(group.count > 1 for group in groups):
        raise UsageError(
            f"--nodes {count} and --hardware {', '.join(map(str, groups))} both give a number of "
            "nodes: leave one of them out"
        )
    nodes: list[_EqualNodes] = []
    used: Counter[str] = Counter()
    for group in groups:
        machine = _machine(source, group.machine)
        number = max(count, group.count)
        base_name = options.node_name or suggest_name(group.machine)
        name = _node_name(base_name, machine, live=False)
        names = _number_names(name, range(used[name], used[name] + number))
        nodes.append(_EqualNodes(as_node(machine, names[0]), names))
        used[name] += number
    return nodes


def _number_names(name: str, numbers: range) -> list[str]:
    """Return names of nodes that end in numbers, which count from 1."""
    stem = name.removesuffix("-1")
    return [f"{stem}-{number + 1}" for number in numbers]


def _machine(source: MachineSource, hardware: str | None) -> Machine:
    if hardware is None:
        return source.read()
    if not source.is_this_machine:
        raise UsageError(
            "--hardware, --from and --sysfs-root each name a machine: give one of them"
        )
    described = machine(hardware)
    for note in described.notes:
        terminal.add_aside(f"{hardware}: {note.message}")
    return described


def _list_hardware(output: str) -> str:
    if output == "json":
        return hardware_list.to_json()
    return terminal.fold_report(hardware_list.to_text(terminal.canvas()))


_MAX_DEVICES = 10_000  # a few seconds of work

# Node names are DNS subdomains: k8s.io/apimachinery/pkg/util/validation IsDNS1123Subdomain.
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")


def _node_name(option: str | None, machine: Machine, *, live: bool) -> str:
    """Return the name of ``--node-name``, else the snapshot's, else $NODE_NAME, else this host's
    for a live machine, else node-1.
    """
    from_snapshot = None if live else machine.host.name
    name = (
        option
        or from_snapshot
        or os.environ.get("NODE_NAME")
        or (machine.host.name if live else None)
        or "node-1"
    )
    if option is None:
        name = name.lower()
    if len(name) > 253 or not _SUBDOMAIN.match(name):
        raise UsageError(
            f"{name!r} is not a valid node name",
            hint="--node-name accepts a DNS name such as worker-1",
        )
    return name


def _render(
    nodes: Sequence[_EqualNodes], options: Options, drivers: list[str], *, device_classes: bool
) -> Rendering:
    """Return the slices of all nodes, and the classes of their drivers once."""

    def render_node(name: str, machine: Machine) -> Rendering:
        node_options = replace(options, node_name=name)
        return render(machine, node_options, drivers, device_classes=device_classes)

    examples = [render_node(*next(group.machines)) for group in nodes]
    _refuse_too_many(nodes, examples)
    parts = [
        part
        for group, example in zip(nodes, examples, strict=True)
        for part in (example, *(render_node(*node) for node in islice(group.machines, 1, None)))
    ]
    if len(parts) == 1:
        return parts[0]
    classes = {item["metadata"]["name"]: item for part in parts for item in part.device_classes}
    return replace(
        parts[0],
        slices=tuple(item for part in parts for item in part.slices),
        device_classes=tuple(classes.values()),
        comments={name: lines for part in parts for name, lines in part.comments.items()},
        left_out={name: why for part in parts for name, why in part.left_out.items()},
        notices=tuple(dict.fromkeys(notice for part in parts for notice in part.notices)),
        unpublished={name: why for part in parts for name, why in part.unpublished.items()},
    )


def _refuse_too_many(nodes: Sequence[_EqualNodes], examples: Sequence[Rendering]) -> None:
    """Raise UsageError if several nodes have more devices than are rendered in a few seconds.

    ``examples`` is the rendering of the first node of each group.
    """
    count = sum(len(group.names) for group in nodes)
    devices = sum(
        len(group.names) * sum(len(item["spec"].get("devices", ())) for item in example.slices)
        for group, example in zip(nodes, examples, strict=True)
    )
    if count > 1 and devices > _MAX_DEVICES:
        within = plural(max(1, count * _MAX_DEVICES // devices), "node")
        raise UsageError(
            f"{count:,} nodes make {devices:,} devices of this hardware, of at most "
            f"{_MAX_DEVICES:,}",
            hint=f"render {within}, or with --driver fewer devices of each",
        )


def _compare(
    published: str,
    rendering: Rendering,
    node_name: str,
    node: NodeOptions,
    output: str,
    printing: Printing,
) -> int:
    """Print the differences to published slices; return the exit code, 1 if there are any."""
    slices = _load_published(published)
    nodes = compare.nodes(slices)
    if node_name not in nodes:
        raise InputError(
            f"no ResourceSlice of node {node_name} is published there",
            place=published,
            hint=f"--node-name: there are slices of {', '.join(nodes[:5])}" if nodes else None,
        )
    drivers = node.drivers or list(by_default())
    differences = compare.differences(slices, rendering.slices, node_name, drivers)
    text = (
        render_diff.to_json(differences, node_name)
        if output == "json"
        else render_diff.to_text(differences, node_name)
    )
    common.write_report(text, printing.output_file)
    return 1 if differences else 0


def _find_release(source: str) -> SeenRelease | None:
    """Return the release of the cluster whose slices are compared; None if nothing shows it."""
    if source != "cluster":
        return find_known_release([source])
    from dractl.cluster import live

    release = live.read_release(live.Login())
    return find_known_release((), [SeenRelease(release, live=True)] if release else ())


def _load_published(source: str) -> list[dict[str, Any]]:
    if source == "cluster":
        from dractl.inputs import kubectl

        return kubectl.list_objects("resourceslices.resource.k8s.io")

    inputs = load([source])
    for broken in inputs.broken:
        raise InputError(broken.message, place=str(broken.position), hint=broken.hint)
    return [document.value for document in inputs.documents if document.kind == "ResourceSlice"]
