"""``dractl render``: the ResourceSlices (and DeviceClasses) that drivers would publish for a node."""

import os
import re
from pathlib import Path
from typing import Annotated, Any

from msgspec.structs import replace
from typer import Exit, Option

from dractl.cli import common, completing, driver_options, published, terminal
from dractl.cli.node import From, SysfsRoot, read_node
from dractl.drivers import Options, Rendering, by_default, compare, render
from dractl.drivers.registry import ONLY_NAMED
from dractl.errors import InputError, UsageError
from dractl.machines import as_node, machine
from dractl.manifests import load
from dractl.model import Target
from dractl.report import objects
from dractl.report.facts import hardware_list
from dractl.report.machine import render_diff
from dractl.topology.machine import Machine

FORMATS = ("yaml", "json")
_EXAMPLE = ".example.com"
MAX_NODES = 10_000  # of --nodes

Output = Annotated[str, common.output_option(FORMATS)]
Driver = Annotated[
    list[str] | None,
    Option(
        "--driver",
        metavar="NAME,...",
        help="Drivers to render; default: all whose hardware is present. Rendered only when named: "
        f"{', '.join(one for one in ONLY_NAMED if not one.endswith(_EXAMPLE))} and the example drivers "
        f"{', '.join(one for one in ONLY_NAMED if one.endswith(_EXAMPLE))}.",
        autocompletion=completing.comma_list(completing.drivers),
    ),
]
NodeName = Annotated[
    str | None, Option("--node-name", metavar="NAME", help="Node that the slices belong to.")
]
Hardware = Annotated[
    str | None,
    Option(
        "--hardware",
        metavar="SPEC",
        help="A described machine: a name (p5.48xlarge, dgx-h100), a line (8xH100,8xnic,cpus=64), or a YAML file.",
        autocompletion=completing.known(completing.machines),
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
        parser=common.number("--nodes", 1, MAX_NODES),
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


def command(
    output: Output = "yaml",
    driver: Driver = None,
    node_name: NodeName = None,
    sysfs_root: SysfsRoot = None,
    snapshot: From = None,
    hardware: Hardware = None,
    list_hardware: ListHardware = False,
    network_devices: NetworkDevices = None,
    nodes: Nodes = 1,
    against: common.Against = common.Against(),
    driver_version: driver_options.DriverVersion = None,
    driver_option: driver_options.DriverOption = None,
    device_classes: DeviceClasses = False,
    diff: Diff = None,
    printing: common.Printing = common.Printing(),
) -> None:
    """Print the ResourceSlices that DRA drivers would publish for this node or for a described machine."""
    printing.settle()
    common.choose_output(output, FORMATS)
    if list_hardware:
        common.write_report(_known_hardware(output), printing.output_file)
        return
    settings, variables = against.settings()
    target = common.target(*against.asked(settings, variables))
    drivers = list(driver_options.names(driver))
    if network_devices:
        if diff is not None:
            raise UsageError(
                "--diff compares the slices of a node: it cannot be combined with --network-devices"
            )
        if sysfs_root is None and snapshot is None and hardware is None:
            _write(_of_network(network_devices, target), output, printing.output_file)
            return
    machine = _machine(sysfs_root, snapshot, hardware)
    name = _node_name(
        node_name, machine, live=sysfs_root is None and snapshot is None and hardware is None
    )
    if diff is not None and nodes > 1:
        raise UsageError("--diff compares one node: it cannot be combined with --nodes")
    options = Options(
        node_name=name,
        target=target,
        versions=driver_options.versions(driver_version or (), drivers),
        settings=driver_options.settings(driver_option or ()),
    )
    rendering = _render(machine, options, drivers, nodes, device_classes=device_classes)
    for notice in rendering.remarks:
        terminal.notice(notice)
    for driver_name, why in rendering.unpublished.items():
        terminal.complain(f"{driver_name} publishes nothing: {why}")
    if not (rendering.slices or rendering.remarks or rendering.unpublished):
        wanted = ", ".join(drivers) if drivers else "any driver that is rendered by default"
        terminal.notice(f"nothing to publish: no hardware found for {wanted}")
    if diff is not None:
        found = _compare(
            diff, rendering, name, drivers or list(by_default()), output, printing.output_file
        )
        raise Exit(1 if found else 0)
    if network_devices:
        rendering = replace(
            rendering, slices=rendering.slices + _of_network(network_devices, target).slices
        )
    _write(rendering, output, printing.output_file)
    if rendering.unpublished:
        raise Exit(1)


def _write(rendering: Rendering, output: str, output_file: Path | None) -> None:
    shown = (
        objects.to_json(rendering.objects)
        if output == "json"
        else objects.to_yaml(rendering.objects, rendering.comments)
    )
    common.write_report(shown, output_file)


def _of_network(files: list[str], target: Target) -> Rendering:
    """The slices of ``--network-devices`` files, with notices of the fields that the release drops."""
    return Rendering(
        tuple(map(dict, published.network(files, target).all("ResourceSlice").values()))
    )


def _machine(sysfs_root: Path | None, snapshot: Path | None, hardware: str | None) -> Machine:
    if hardware is None:
        return read_node(sysfs_root, snapshot)
    if sysfs_root is not None or snapshot is not None:
        raise UsageError(
            "--hardware, --from and --sysfs-root each name a machine: give one of them"
        )

    found = machine(hardware)
    for note in found.notes:
        terminal.aside(f"{hardware}: {note.message}")
    return found


def _known_hardware(output: str) -> str:
    if output == "json":
        return hardware_list.to_json()
    return hardware_list.to_text(terminal.canvas())


_MOST_DEVICES = 10_000  # a few seconds of work

# Node names are DNS subdomains: k8s.io/apimachinery/pkg/util/validation IsDNS1123Subdomain.
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")


def _node_name(given: str | None, machine: Machine, *, live: bool) -> str:
    """The given name, else the snapshot's, else $NODE_NAME, else this host's for a live machine, else node-1."""
    from_snapshot = None if live else machine.host.name
    name = (
        given
        or from_snapshot
        or os.environ.get("NODE_NAME")
        or (machine.host.name if live else None)
        or "node-1"
    )
    if given is None:
        name = name.lower()
    if len(name) > 253 or not _SUBDOMAIN.match(name):
        raise UsageError(
            f"{name!r} is not a valid node name",
            hint="--node-name accepts a DNS name such as worker-1",
        )
    return name


def _render(
    machine: Machine, options: Options, drivers: list[str], nodes: int, *, device_classes: bool
) -> Rendering:
    first = render(machine, options, drivers, device_classes=device_classes)
    if nodes == 1:
        return first
    devices = nodes * sum(len(item["spec"].get("devices", ())) for item in first.slices)
    if devices > _MOST_DEVICES:
        raise UsageError(
            f"--nodes {nodes} makes {devices:,} devices of this hardware, of at most {_MOST_DEVICES:,}",
            hint=f"--nodes {max(1, nodes * _MOST_DEVICES // devices)} is within it; --driver renders fewer of a node",
        )
    parts = []
    for number in range(1, nodes + 1):
        name = f"{options.node_name.removesuffix('-1')}-{number}"
        one = replace(options, node_name=name)
        parts.append(
            render(
                as_node(machine, name), one, drivers, device_classes=device_classes and number == 1
            )
        )
    return replace(
        parts[0],
        slices=tuple(item for part in parts for item in part.slices),
        comments={name: lines for part in parts for name, lines in part.comments.items()},
        unpublished={name: why for part in parts for name, why in part.unpublished.items()},
    )


def _compare(
    source: str,
    rendering: Rendering,
    node_name: str,
    drivers: list[str],
    output: str,
    output_file: Path | None,
) -> bool:
    published = _published(source)
    nodes = compare.nodes(published)
    if node_name not in nodes:
        raise InputError(
            f"no ResourceSlice of node {node_name} is published there",
            place=source,
            hint=f"--node-name: there are slices of {', '.join(nodes[:5])}" if nodes else None,
        )
    found = compare.differences(published, rendering.slices, node_name, drivers)
    text = (
        render_diff.to_json(found, node_name)
        if output == "json"
        else render_diff.to_text(found, node_name)
    )
    common.write_report(text, output_file)
    return bool(found)


def _published(source: str) -> list[dict[str, Any]]:
    if source == "cluster":
        from dractl.cluster import kubectl

        return kubectl.get("resourceslices.resource.k8s.io")

    inputs = load([source])
    for broken in inputs.broken:
        raise InputError(broken.message, place=str(broken.position), hint=broken.hint)
    return [document.value for document in inputs.documents if document.kind == "ResourceSlice"]
