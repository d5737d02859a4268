"""``dractl discover``: what is in this node, and how is it wired."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dractl.cli import common
from dractl.cli.node import From, SysfsRoot, read_node
from dractl.errors import UsageError

if TYPE_CHECKING:
    from dractl.drivers.rendering import Rendering
    from dractl.drivers.view import View
    from dractl.model import Target
    from dractl.probes import readiness
    from dractl.topology.machine import Machine

FORMATS = ("tree", "matrix", "table", "json", "yaml", "svg", "html")

Output = Annotated[str, typer.Option("--output", "-o", metavar="FORMAT", help=", ".join(FORMATS) + ".")]
Save = Annotated[
    Path | None,
    typer.Option("--save", metavar="FILE", help="Also write a snapshot that --from replays anywhere."),
]
Identity = Annotated[
    bool,
    typer.Option(
        "--with-identity", help="Keep host name, MAC and IP addresses and serial numbers in JSON and snapshots."
    ),
]

Suggest = Annotated[
    str | None,
    typer.Option(
        "--suggest", metavar="SHAPE", help="A claim for the best alignment of, say, gpu=2,nic=1 (gpu, nic, rdma)."
    ),
]

Diff = Annotated[
    tuple[Path, Path] | None,
    typer.Option(
        "--diff", metavar="A B", help="Compare two machines (snapshot, archive, tree, local) by meaning, not by name."
    ),
]

Check = Annotated[
    bool,
    typer.Option("--check", help="Is everything there that DRA needs on this node? Exit code 1 if something is not."),
]
Cluster = Annotated[
    bool, typer.Option("--cluster", help="With --check: what AI Conformance asks of the cluster, through kubectl.")
]


def command(
    output: Output = "tree",
    sysfs_root: SysfsRoot = None,
    snapshot: From = None,
    save: Save = None,
    with_identity: Identity = False,
    suggest: Suggest = None,
    diff: Diff = None,
    check: Check = False,
    cluster: Cluster = False,
    kubernetes_version: common.KubernetesVersion = None,
    feature_gates: common.FeatureGates = None,
    config: common.Config = None,
    isolated: common.Isolated = False,
    output_file: common.OutputFile = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = 0,
    color: common.Color = "auto",
) -> None:
    """Show this node's NUMA nodes, PCIe roots, switches and devices, and how far apart they are."""
    from dractl.cli import terminal

    common.settle(color, quiet)
    common.choose_output(output, FORMATS)
    if diff is not None:
        raise typer.Exit(_diff(diff, output, output_file))
    if cluster and not check:
        raise UsageError("--cluster belongs to --check")
    if check:
        raise typer.Exit(_check(sysfs_root, snapshot, cluster, output, output_file))
    settings, variables = common.configuration(config, isolated), common.environment(isolated)
    target = common.target(*common.asked(kubernetes_version, feature_gates, settings, variables))
    machine = read_node(sysfs_root, snapshot)
    if save is not None:
        from dractl.topology import snapshot as snapshots

        snapshots.save(machine, save, identity=with_identity)
        terminal.notice(f"snapshot written to {save}; `dractl discover --from {save}` shows it again")
    if suggest is not None:
        _suggest(machine, suggest, target, output_file)
        return
    shown = machine if with_identity else machine.without_identity()
    common.write_report(_report(shown, output, target, verbose), output_file)


def _diff(sides: tuple[Path, Path], output: str, output_file: Path | None) -> int:
    """Prints what differs; the exit code is 1 where something does."""
    import json
    import sys

    from dractl.cli import terminal
    from dractl.report import machine_diff
    from dractl.report.canvas import Canvas
    from dractl.topology.diff import differences
    from dractl.topology.wire import encode

    if output not in ("tree", "json"):
        raise UsageError(f"--diff prints text, or json with -o json, and no {output}")
    found = differences(*(read_node(None, None if str(side) == "local" else side) for side in sides))
    if output == "json":
        text = json.dumps({"schema": "dractl/machine-diff/v1", "differences": [encode(d) for d in found]}, indent=1)
    else:
        canvas = Canvas(terminal.width(sys.stdout), terminal.use_unicode(sys.stdout), terminal.use_color(sys.stdout))
        text = machine_diff.render(found, (str(sides[0]), str(sides[1])), canvas)
    common.write_report(text, output_file)
    return 1 if found else 0


def _check(sysfs_root: Path | None, snapshot: Path | None, cluster: bool, output: str, output_file: Path | None) -> int:
    """Prints the checks; the exit code is 1 where something is missing."""
    import json
    import sys

    from dractl.cli import terminal
    from dractl.report import machine_check
    from dractl.report.canvas import Canvas
    from dractl.topology.wire import encode

    if output not in ("tree", "json"):
        raise UsageError(f"--check prints text, or json with -o json, and no {output}")
    if snapshot is not None:
        raise UsageError("--check looks at this machine or a mounted root (--root DIR): snapshots have no files")
    found = _cluster_checks() if cluster else _node_checks(sysfs_root)
    if output == "json":
        text = json.dumps({"schema": "dractl/check/v1", "checks": [encode(c) for c in found]}, indent=1)
    else:
        canvas = Canvas(terminal.width(sys.stdout), terminal.use_unicode(sys.stdout), terminal.use_color(sys.stdout))
        text = machine_check.render(found, canvas)
    common.write_report(text, output_file)
    return 1 if any(c.state == "missing" for c in found) else 0


def _node_checks(sysfs_root: Path | None) -> tuple[readiness.Check, ...]:
    from dractl.drivers import by_default, find
    from dractl.probes import SysRoot
    from dractl.probes.readiness import checks

    machine = read_node(sysfs_root, None)
    root = SysRoot.this_machine() if sysfs_root is None else SysRoot.of(sysfs_root)
    return checks(machine, root, [name for name in by_default() if find(name).present(machine)])


def _cluster_checks() -> tuple[readiness.Check, ...]:
    from dractl.cluster.kubectl import get, served
    from dractl.drivers.conformance import cluster_checks

    kinds = served("resource.k8s.io", "v1")
    group = "resource.k8s.io"
    classes, slices = (get(f"{kind}.{group}") if kind in kinds else [] for kind in ("deviceclasses", "resourceslices"))
    return cluster_checks(kinds, classes, slices, get("nodes"))


def _report(machine: Machine, output: str, target: Target, verbose: int) -> str:
    import sys

    from dractl.cli import terminal
    from dractl.report.canvas import Canvas

    if output == "json":
        import json

        return json.dumps(machine.to_json(), indent=1, ensure_ascii=False)
    if output == "yaml":
        import yaml

        return yaml.safe_dump(machine.to_json(), sort_keys=False, allow_unicode=True, width=120)
    if output in ("svg", "html"):
        from dractl.report import machine_html, machine_svg

        return machine_svg.render(machine) if output == "svg" else machine_html.render(machine, _view(machine, target))
    from dractl.report import machine_matrix, machine_table, machine_tree

    canvas = Canvas(terminal.width(sys.stdout), terminal.use_unicode(sys.stdout), terminal.use_color(sys.stdout))
    if output == "matrix":
        return machine_matrix.render(machine, canvas)
    if output == "table":
        return machine_table.render(machine, canvas, verbose=verbose > 0)
    return machine_tree.render(machine, canvas, view=_view(machine, target), verbose=verbose > 0)


def _rendering(machine: Machine, target: Target) -> Rendering:
    """What drivers would publish for the machine, as their current releases do."""
    from dractl.drivers import Options, render

    return render(machine, Options(machine.host.name or "node-1", target), device_classes=True)


def _view(machine: Machine, target: Target) -> View:
    from dractl.drivers.view import view

    return view(_rendering(machine, target))


def _suggest(machine: Machine, shape: str, target: Target, output_file: Path | None) -> None:
    """Prints a claim for the best alignment that the node can give."""
    import yaml

    from dractl.cli import terminal
    from dractl.drivers.suggest import parse, suggest

    found = suggest(parse(shape), _rendering(machine, target), target)
    if found is None:
        terminal.complain(
            f"this node's drivers would not publish enough devices for {shape}",
            hint="`dractl discover` shows what there is, `dractl render` what would be published",
        )
        raise typer.Exit(1)
    lines = [f"# {found.alignment}", *(f"#   {device}" for device in found.devices)]
    common.write_report("\n".join(lines) + "\n" + yaml.safe_dump(found.claim, sort_keys=False), output_file)
    terminal.notice(
        "the devices in the comment are those that the scheduler would take on this node while all are free"
    )
