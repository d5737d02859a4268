"""``dractl discover``: the hardware of this node, and how it is wired."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import yaml
from typer import Argument, Exit, Option

from dractl.cli import common, completing, terminal
from dractl.cli.headings import ACTIONS, AGAINST, OptionGroup
from dractl.cli.options.machine_input import (
    MachineSource,
    describe_machine,
    read_node,
    render_machine,
)
from dractl.cli.options.printing import Printing, output_option
from dractl.cli.options.release import ReleaseOptions, choose_target
from dractl.errors import Unsupported, UsageError
from dractl.objects import slice_of
from dractl.program import program_name
from dractl.report.canvas import Canvas
from dractl.report.machine import (
    matrix as machine_matrix,
    table as machine_table,
    tree as machine_tree,
)
from dractl.report.plain import inert
from dractl.topology import snapshot as snapshots
from dractl.topology.diff import differences
from dractl.topology.wire import encode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dractl.drivers.publication import Publication
    from dractl.model import Target
    from dractl.probes import SysRoot, services
    from dractl.report.canvas import Canvas
    from dractl.topology.machine import Machine

FORMATS = ("tree", "matrix", "table", "json", "yaml", "svg", "html")
_UNLIMITED = 10_000

Output = Annotated[str, output_option(FORMATS)]
File = Annotated[
    Path | None,
    Argument(
        metavar="[FILE|DIR]",
        help="A snapshot, an archive or a directory, short for --from or --root.",
    ),
]
Hardware = Annotated[
    list[str] | None,
    Option(
        "--hardware",
        metavar="SPEC",
        help="Show one described machine, such as dgx-h100; named as for `dractl render`.",
        autocompletion=completing.offer_lazily(completing.machines),
    ),
]
Save = Annotated[
    Path | None,
    Option(
        "--save", metavar="FILE", help="Also write a snapshot, which --from reads on any machine."
    ),
]
Identity = Annotated[
    bool,
    Option(
        "--with-identity",
        help="Keep host name, MAC and IP addresses and serial numbers in reports and snapshots.",
    ),
]
Suggest = Annotated[
    str | None,
    Option(
        "--suggest",
        metavar="SHAPE[;SHAPE...]",
        help=(
            "Print the claim with the closest alignment for a shape such as gpu=2,nic=1 or"
            " mig=7x1g.10gb, or with the alignment that the shape demands (gpu=2,nic=1@pcieRoot,"
            " @numaNode, @none). `largest` is the largest shape that can be aligned, `all` the"
            " usual shapes."
        ),
    ),
]
Diff = Annotated[
    tuple[Path, Path] | None,
    Option(
        "--diff",
        metavar="A B",
        help=(
            "Compare two machines by meaning, not by name; each is a snapshot, an archive, a"
            " directory or `local`."
        ),
    ),
]
Check = Annotated[
    bool,
    Option(
        "--check",
        help="Check that this node has everything DRA needs; exit code 1 if something is missing.",
    ),
]
Cluster = Annotated[
    bool,
    Option(
        "--cluster",
        help=(
            "With --check: check the cluster through kubectl, and this machine if it is a node"
            " of it."
        ),
    ),
]


class NodeOptions(MachineSource, frozen=True):
    """The machine that is shown."""

    with_identity: Identity = False
    file: File = None

    def resolve(self) -> MachineSource:
        """Return the machine that the options or the argument name. Raises UsageError if both name
        one.
        """
        if self.file is None:
            return MachineSource(self.sysfs_root, self.snapshot)
        if not self.is_this_machine:
            raise UsageError(
                f"{self.file} names a machine, as --root and --from do: give only one of them"
            )
        return (
            MachineSource(self.file) if os.path.isdir(self.file) else MachineSource(None, self.file)
        )


class DescriptionOptions(OptionGroup, frozen=True):
    """The option of a described machine."""

    heading: ClassVar[str] = AGAINST

    hardware: Hardware = None


class ActionOptions(OptionGroup, frozen=True):
    """Options for the output, printed or written to files."""

    heading: ClassVar[str] = ACTIONS

    save: Save = None
    suggest: Suggest = None
    diff: Diff = None
    check: Check = False
    cluster: Cluster = False

    def refuse_modes(self) -> None:
        """Raise UsageError for options that each print a report of their own."""
        modes = {
            "--diff": self.diff is not None,
            "--check": self.check,
            "--suggest": self.suggest is not None,
        }
        names = [name for name, is_given in modes.items() if is_given]
        if len(names) > 1:
            raise UsageError(
                f"{' and '.join(names)} cannot be combined: each prints its own report",
                hint=f"run {program_name()} once per report",
            )

    def refuse_combinations(self) -> None:
        """Raise UsageError for options that mean nothing together."""
        if self.cluster and not self.check:
            raise UsageError("--cluster needs --check")
        if self.save is not None and (self.diff is not None or self.check):
            raise UsageError(
                "--save writes the machine shown: it cannot be combined with --diff or --check"
            )


def command(
    node: NodeOptions = NodeOptions(),
    output: Output = "tree",
    described: DescriptionOptions = DescriptionOptions(),
    actions: ActionOptions = ActionOptions(),
    against: ReleaseOptions = ReleaseOptions(),
    printing: Printing = Printing(),
) -> None:
    """Show this node's NUMA nodes, PCIe roots, switches and devices, and how far apart they are."""
    printing.apply()
    common.choose_output(output, FORMATS)
    actions.refuse_modes()
    source, hardware = node.resolve(), described.hardware
    actions.refuse_combinations()
    if actions.diff is not None:
        if hardware or not source.is_this_machine:
            raise UsageError(
                "--diff already names both machines: it cannot be combined with --root, --from or"
                " --hardware"
            )
        raise Exit(_diff(actions.diff, output, printing.output_file))
    if actions.check:
        raise Exit(_check(source, actions.cluster, output, printing.output_file))
    settings, variables = against.settings()
    target = choose_target(*against.release_and_gates(settings, variables))
    if hardware and not source.is_this_machine:
        raise UsageError(
            "--hardware names a machine, as --root and --from do: give only one of them"
        )
    spec = _single_machine(hardware) if hardware else None
    machine = source.read() if spec is None else describe_machine(spec)
    if actions.save is not None:
        snapshots.save(machine, actions.save, identity=node.with_identity)
        terminal.notice(
            f"snapshot written to {actions.save}; `{program_name()} discover --from"
            f" {actions.save}` shows it again"
        )
    if actions.suggest is not None:
        from dractl.cli.suggestions import print_suggestions

        if output not in ("tree", "yaml"):
            raise UsageError(f"--suggest cannot print {output}; it prints claims as YAML")
        print_suggestions(machine, actions.suggest, target, spec, printing.output_file)
        return
    shown = machine if node.with_identity else machine.drop_identity()
    common.write_report(_render(shown, output, target, printing.verbose), printing.output_file)


def _canvas(default: int = 100) -> Canvas:
    """Describe standard output; it has ``default`` columns if it is no terminal."""
    width = terminal.width(sys.stdout, default)
    return Canvas(width, terminal.use_unicode(sys.stdout), terminal.use_color(sys.stdout))


def _diff(sides: tuple[Path, Path], output: str, output_file: Path | None) -> int:
    """Print the differences; return the exit code, 1 if there are any."""
    from dractl.report.machine import diff as machine_diff

    if output not in ("tree", "json"):
        raise UsageError(f"--diff cannot print {output}; it prints text, or JSON with -o json")
    changes = differences(
        *(read_node(None, None if str(side) == "local" else side) for side in sides)
    )
    if output == "json":
        text = json.dumps(
            {"schema": "dractl/machine-diff/v1", "differences": [encode(d) for d in changes]},
            indent=1,
        )
    else:
        text = machine_diff.render(changes, (str(sides[0]), str(sides[1])), _canvas())
    common.write_report(text, output_file)
    return 1 if changes else 0


def _check(source: MachineSource, cluster: bool, output: str, output_file: Path | None) -> int:
    """Print the checks; return the exit code, 1 if something is missing."""
    from dractl.report.machine import check as machine_check

    if output not in ("tree", "json"):
        raise UsageError(f"--check cannot print {output}; it prints text, or JSON with -o json")
    if source.snapshot is not None:
        raise UsageError(
            "--check reads files that a snapshot does not have",
            hint="run it on the node itself, or give the node's mounted root with --root DIR",
        )
    checks = _cluster_checks(source.sysfs_root) if cluster else _node_checks(source.sysfs_root)
    if output == "json":
        text = json.dumps(
            {"schema": "dractl/check/v1", "checks": [encode(c) for c in checks]}, indent=1
        )
    else:
        text = machine_check.render(checks, _canvas())
    common.write_report(text, output_file)
    return 1 if any(c.state == "missing" for c in checks) else 0


def _node_checks(
    sysfs_root: Path | None, publishing: Iterable[str] = ()
) -> tuple[services.Check, ...]:
    """Check the node.

    Drivers that publish for it must be registered, and so must drivers with hardware on it.
    """
    from dractl.drivers import by_default, find
    from dractl.probes.readiness import checks

    machine = read_node(sysfs_root, None)
    present = (name for name in by_default() if find(name).present(machine))
    return checks(machine, _sysfs(sysfs_root), tuple(dict.fromkeys((*present, *publishing))))


def _sysfs(sysfs_root: Path | None) -> SysRoot:
    from dractl.probes import SysRoot

    return SysRoot.for_this_machine() if sysfs_root is None else SysRoot.for_directory(sysfs_root)


def _cluster_checks(sysfs_root: Path | None) -> tuple[services.Check, ...]:
    """Check the cluster. If this machine is one of its nodes, check the machine first."""
    from dractl.cluster.conformance import cluster_checks
    from dractl.inputs.kubectl import list_objects, list_served_resources
    from dractl.probes import services
    from dractl.views import View

    kinds = list_served_resources("resource.k8s.io", "v1")
    group = "resource.k8s.io"
    classes, slices = (
        list_objects(f"{kind}.{group}") if kind in kinds else []
        for kind in ("deviceclasses", "resourceslices")
    )
    nodes = list_objects("nodes")
    checks = cluster_checks(kinds, classes, slices, nodes)
    host_names = {os.environ.get("NODE_NAME"), _sysfs(sysfs_root).text("proc/sys/kernel/hostname")}
    local_nodes = [name for node in nodes if (name := View(node).name) in host_names]
    if not local_nodes:
        return checks
    publishing = sorted({item.driver for item in map(slice_of, slices) if item.node in local_nodes})
    claims = list_objects(f"resourceclaims.{group}") if "resourceclaims" in kinds else []
    machine_checks = services.compare_with_cluster(
        _sysfs(sysfs_root), claims, list_objects("runtimeclasses.node.k8s.io")
    )
    return (*_node_checks(sysfs_root, publishing), *machine_checks, *checks)


def _render(machine: Machine, output: str, target: Target, verbose: int) -> str:
    publication = _publication(machine, target)
    if output in ("json", "yaml"):
        return _render_structured(machine, publication, output)
    if output == "svg":
        from dractl.report.machine import svg as machine_svg

        return machine_svg.render(machine, publication)
    if output == "html":
        from dractl.report.machine import html as machine_html

        return machine_html.render(machine, publication)

    if output == "matrix":
        return inert(machine_matrix.render(machine, _canvas(), publication=publication))
    if output == "table":  # programs get every column
        return inert(
            machine_table.render(
                machine, _canvas(_UNLIMITED), publication=publication, verbose=verbose > 0
            )
        )
    return inert(
        machine_tree.render(machine, _canvas(), publication=publication, verbose=verbose > 0)
    )


def _render_structured(machine: Machine, publication: Publication, output: str) -> str:
    value = snapshots.to_json(machine) | {
        "publishedDevices": [encode(device) for device in publication.devices]
    }
    if output == "json":
        return json.dumps(value, indent=1, ensure_ascii=False)

    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120)


def _publication(machine: Machine, target: Target) -> Publication:
    """Return the devices that the drivers would publish, or none on releases for which dractl
    renders no ResourceSlices.
    """
    from dractl.drivers.publication import NOTHING, publication

    try:
        return publication(render_machine(machine, target), machine)
    except Unsupported as error:
        terminal.notice(f"names of published devices are omitted: {error.message}")
        return NOTHING


def _single_machine(hardware: Iterable[str]) -> str:
    """Return the machine that is shown. Raises UsageError for several."""
    from dractl.machines.nodes import single_machine

    return single_machine(hardware, "discover shows how one is wired")
