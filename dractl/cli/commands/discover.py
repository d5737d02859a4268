"""``dractl discover``: the hardware of this node, and how it is wired."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import yaml
from msgspec import structs
from typer import Argument, Exit, Option

from dractl.capacity.suggest import drivers_without_attribute, find_largest_shape, suggest
from dractl.cli import common, completing, terminal
from dractl.cli.headings import ACTIONS, AGAINST, OptionGroup
from dractl.cli.options.machine_input import MachineSource, read_node
from dractl.cli.options.printing import Printing, output_option
from dractl.cli.options.release import ReleaseOptions, choose_target
from dractl.errors import InputError, Unsupported, UsageError
from dractl.model.shapes import MIG, Shape, parse, split
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
from dractl.views import View

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dractl.capacity.suggest import Preference, Suggestion
    from dractl.drivers.publication import Publication
    from dractl.drivers.rendering import Rendering
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
        help="Show a described machine, such as dgx-h100; as in `dractl render`, but one.",
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
            " mig=7x1g.10gb, or with the one that it demands (gpu=2,nic=1@pcieRoot, @numaNode,"
            " @none); `largest`; or `all`, the usual shapes."
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
        """Return the machine that the options or the argument name. Raises UsageError for both."""
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
    """The options for the printed or written output."""

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
    machine = source.read() if spec is None else _describe_machine(spec)
    if actions.save is not None:
        snapshots.save(machine, actions.save, identity=node.with_identity)
        terminal.notice(
            f"snapshot written to {actions.save}; `{program_name()} discover --from"
            f" {actions.save}` shows it again"
        )
    if actions.suggest is not None:
        _suggest(machine, actions.suggest, target, spec, printing.output_file)
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
    """Check the cluster, and before it this machine if it is one of the nodes."""
    from dractl.cluster.conformance import cluster_checks
    from dractl.inputs.kubectl import list_objects, list_served_resources
    from dractl.probes import services

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


def _rendering(machine: Machine, target: Target) -> Rendering:
    """Render the devices that the current releases of the drivers would publish for the machine."""
    from dractl.drivers import Options, render

    return render(machine, Options(machine.host.name or "node-1", target), device_classes=True)


def _publication(machine: Machine, target: Target) -> Publication:
    """Return the devices that the drivers would publish, or none on releases for which dractl
    renders no ResourceSlices.
    """
    from dractl.drivers.publication import NOTHING, publication

    try:
        return publication(_rendering(machine, target), machine)
    except Unsupported as error:
        terminal.notice(f"names of published devices are omitted: {error.message}")
        return NOTHING


_USUAL_SHAPES = (
    "gpu=1; gpu=1,nic=1; gpu=2; gpu=2,nic=2; gpu=4; gpu=4,nic=4; gpu=8; gpu=8,nic=8; largest"
)


def _single_machine(hardware: Iterable[str]) -> str:
    """Return the machine that is shown. Raises UsageError for several."""
    from dractl.machines.nodes import single_machine

    return single_machine(hardware, "discover shows how one is wired")


def _describe_machine(spec: str) -> Machine:
    """Return the machine that a line of ``--hardware`` describes."""
    from dractl.machines import machine

    described = machine(spec)
    return structs.replace(
        described, host=structs.replace(described.host, name=described.host.name or "node-1")
    )


def _suggest(
    machine: Machine, text: str, target: Target, hardware: str | None, output_file: Path | None
) -> None:
    """Print the claims with the closest alignment that the node can satisfy, one for each shape."""
    rendering = _rendering(machine, target)
    is_usual = text.strip() == "all"
    words = split(_USUAL_SHAPES if is_usual else text)
    if not words:
        raise UsageError("--suggest needs a shape, such as gpu=2,nic=1")
    claims: list[str] = []
    missing: list[Shape] = []
    for shape in _parse_shapes(words, rendering, target):
        rendered = _with_mig(shape, rendering, hardware, target)
        try:
            suggestion = suggest(shape, rendered, target)
        except InputError:
            if len(words) == 1:
                raise
            suggestion = None
        if suggestion is None:
            missing.append(shape)
        else:
            claims.append(_claim_text(suggestion))
    incomplete = (bool(missing) and not is_usual) or not claims
    if incomplete:
        _report_missing(missing, text, rendering, target)
    if claims:
        common.write_report("---\n".join(claims), output_file)
        terminal.notice(
            "the comments list the devices that the scheduler would choose while all devices are "
            "free"
        )
    if incomplete:
        raise Exit(1)


def _parse_shapes(words: Iterable[str], rendering: Rendering, target: Target) -> list[Shape]:
    """Return the shapes that words name, each once. ``largest`` adds none if the node has no
    largest shape.
    """
    classes = [item["metadata"]["name"] for item in rendering.device_classes]
    shapes: list[Shape] = []
    for word in words:
        shape = find_largest_shape(rendering, target) if word == "largest" else parse(word, classes)
        signatures = [(other.counts, other.constraint) for other in shapes]
        if shape is not None and (shape.counts, shape.constraint) not in signatures:
            shapes.append(shape)
    return shapes


def _report_missing(
    missing: Sequence[Shape], text: str, rendering: Rendering, target: Target
) -> None:
    """Say which shapes the node cannot serve: for want of devices, or of the alignment demanded."""
    unserved: list[str] = []
    for shape in missing:
        unconstrained = _suggest_loosely(shape, rendering, target)
        if unconstrained is None:
            unserved.append(shape.text)
        else:
            silent_names = drivers_without_attribute(shape, rendering)
            terminal.print_error(
                (
                    f"{shape.text}: {' and '.join(silent_names)} would not publish"
                    f" {shape.constraint} here"
                    if silent_names
                    else f"{shape.text}: no {_PLACES[shape.constraint]} has them all"
                ),
                hint=(
                    f"without @{shape.constraint}: {_describe_copies(unconstrained)},"
                    f" {unconstrained.alignment}"
                ),
            )
    if unserved or not missing:
        count_by_driver = Counter(
            item["spec"]["driver"] for item in rendering.slices for _ in item["spec"]["devices"]
        )
        counts = ", ".join(f"{count} of {driver}" for driver, count in count_by_driver.items())
        terminal.print_error(
            "this node's drivers would not publish enough devices for"
            f" {'; '.join(unserved) or text}",
            hint=f"they would publish {counts}; `{program_name()} discover` shows them",
        )


_PLACES: Mapping[str | None, str] = {"pcieRoot": "PCIe root", "numaNode": "NUMA node"}


def _suggest_loosely(shape: Shape, rendering: Rendering, target: Target) -> Suggestion | None:
    """Return the suggestion for a shape without the alignment that it demands."""
    if shape.constraint not in _PLACES:
        return None
    try:
        return suggest(structs.replace(shape, constraint=None), rendering, target)
    except InputError:
        return None


def _with_mig(
    shape: Shape, rendering: Rendering, hardware: str | None, target: Target
) -> Rendering:
    """Return the node with the MIG devices of the shape, if it is described without any."""
    profiles = [
        f"{count}x{kind.removeprefix(MIG)}"
        for kind, count in shape.counts.items()
        if kind.startswith(MIG)
    ]
    if not profiles or hardware is None or "mig=" in hardware:
        return rendering
    return _rendering(_describe_machine(f"{hardware},mig={'+'.join(profiles)}"), target)


def _claim_text(suggestion: Suggestion) -> str:
    """Render a claim below comments that list its devices and the remaining devices."""
    leftover = ", ".join(f"{count} {driver}" for driver, count in suggestion.leftover.items())
    lines = [
        f"# {suggestion.shape.text}: {suggestion.alignment or 'no alignment asked for'}",
        *(f"#   {device}" for device in suggestion.devices),
        f"# {_describe_copies(suggestion)} on the node; the first leaves {leftover or 'no device'}",
    ]
    for group in suggestion.further:
        copies = "1 more copy" if group.copies == 1 else f"{group.copies} more copies"
        fit = "fits" if group.copies == 1 else "fit"
        lines.append(
            f"#   {copies} of {suggestion.shape.text} {fit} less closely: {group.alignment}"
        )
    claim = "\n".join(lines) + "\n" + yaml.safe_dump(suggestion.claim, sort_keys=False)
    if suggestion.preference is None:
        return claim
    return claim + _preference_text(suggestion.preference)


def _preference_text(preference: Preference) -> str:
    """Render the specification that prefers the alignment as comments, so that the output is one
    claim for each shape.
    """
    spec = yaml.safe_dump({"spec": preference.claim["spec"]}, sort_keys=False)
    copies, aligned = preference.copies, preference.aligned
    share = "all" if aligned == copies else str(aligned)
    lines = [
        "To prefer this alignment, and take other devices where none are left that have it:",
        f"({_count_copies(copies)} on the node, {share} of them with this alignment; the claim's",
        "status names the alternative that each request has got)",
        *spec.splitlines(),
    ]
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def _describe_copies(suggestion: Suggestion) -> str:
    return _count_copies(suggestion.copies)


def _count_copies(copies: int) -> str:
    return "1 of these fits" if copies == 1 else f"{copies} of these fit"
