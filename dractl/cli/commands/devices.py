"""``dractl devices``: every device of the cluster, its state and its holder, and what needs
cleaning up.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import Struct
from msgspec.structs import replace
from typer import Argument, Option

from dractl.capacity import Inventory, PluginRow, find_problems, list_device_plugins, take_inventory
from dractl.capacity.added_nodes import add_nodes, parse_added_nodes
from dractl.capacity.device_filter import DeviceFilter
from dractl.capacity.inventory import STATES
from dractl.capacity.owners import find_owners
from dractl.capacity.problems import Problem
from dractl.capacity.templates import count_template_copies
from dractl.cli import common, completing, terminal, watching
from dractl.cli.headings import ACTIONS, AGAINST, INPUT, OUTPUT, OptionGroup
from dractl.cli.options import cluster_input, driver_options
from dractl.cli.options.access import Access
from dractl.cli.options.cluster_input import Cluster, ClusterInput
from dractl.cli.options.device_sources import load_added_nodes
from dractl.cli.options.printing import Printing, output_option
from dractl.cli.options.release import ReleaseOptions
from dractl.cli.projections import KINDS as PROJECTIONS, Projection, parse_projection
from dractl.cluster.clock import newest_time
from dractl.cluster.coverage import Unread, command_for
from dractl.cluster.labels import parse_labels
from dractl.cluster.sources import classify_arguments, describe_unusable_input
from dractl.errors import InputError, UsageError
from dractl.model import Target
from dractl.model.driver_choice import DriverChoice
from dractl.report.alignment.text import fleet_text
from dractl.report.canvas import Canvas
from dractl.report.capacity import json as capacity_json, text as capacity_text

if TYPE_CHECKING:
    from dractl.alignment import Alignment, Use

FORMATS = ("table", "wide", "name", "json", "yaml", "html", "csv", "openmetrics", "svg")
GROUPS = ("node", "driver", "class", "model", "root", "namespace", "workload", "owner")

Arguments = Annotated[
    list[str] | None,
    Argument(
        metavar="[FILE]...", help="Files to read objects from, short for -f.", show_default=False
    ),
]
Node = Annotated[
    str | None,
    Option(
        "--node", metavar="NAME", help="Only devices of this node.", autocompletion=completing.nodes
    ),
]
Namespace = Annotated[
    str | None,
    Option(
        "--namespace",
        "-n",
        metavar="NAME",
        help="Only devices that claims of this namespace hold.",
        autocompletion=completing.namespaces,
    ),
]
AllNamespaces = Annotated[
    bool, Option("--all-namespaces", "-A", help="Devices of all holders; the default.")
]
Labels = Annotated[
    str | None,
    Option(
        "--labels", "-l", metavar="LABELS", help="Only devices that pods with these labels hold."
    ),
]
Class = Annotated[
    str | None, Option("--class", metavar="NAME", help="Only devices of this DeviceClass.")
]
Cel = Annotated[
    str | None,
    Option(
        "--cel", metavar="EXPRESSION", help="Only devices for which this CEL expression is true."
    ),
]
OldCel = Annotated[str | None, Option("--selector", metavar="CEL", hidden=True)]
SortBy = Annotated[
    str | None,
    Option(
        "--sort-by", metavar="COLUMN", help="Sort the table by a column: its header in lower case."
    ),
]
NoHeaders = Annotated[bool, Option("--no-headers", help="Leave out the first line of the table.")]
State = Annotated[
    str | None,
    Option(
        "--state",
        metavar="STATE,...",
        help=f"Only devices in these states: {', '.join(STATES)}.",
        autocompletion=completing.offer_comma_list(lambda: STATES),
    ),
]
By = Annotated[
    str,
    Option(
        "--by",
        metavar="GROUP",
        help=f"Group the table by {', '.join(GROUPS)}.",
        autocompletion=completing.offer_words(*GROUPS),
    ),
]
Output = Annotated[str, output_option((*FORMATS, *PROJECTIONS))]
ByAlignment = Annotated[
    bool,
    Option(
        "--alignment",
        help="Show each pod's or claim's share of the best alignment, the worst first. JSON, HTML"
        " and metrics have it without this option.",
    ),
]
Watch = Annotated[bool, Option("--watch", help="Show the table again whenever something changes.")]


class InputOptions(OptionGroup, frozen=True):
    """The objects that are read, and the holders whose devices are listed."""

    heading: ClassVar[str] = INPUT

    arguments: Arguments = None
    files: cluster_input.Files = None
    namespace: Namespace = None
    all_namespaces: AllNamespaces = False
    labels: Labels = None
    cel: Cel = None
    selector: OldCel = None

    @property
    def expression(self) -> str | None:
        """Return the expression of ``--cel``, or of ``--selector``, the former name of the
        option.
        """
        return self.cel or self.selector

    def refuse_names(self) -> None:
        """Raise InputError for an argument that is no file."""
        if names := classify_arguments(self.arguments or (), (), ()).names:
            raise InputError(
                f"{names[0]}: no such file",
                hint="devices takes files; choose devices by --node, --driver and --class",
            )


class MachineOptions(OptionGroup, frozen=True):
    """Devices that are added to those of the cluster, and the nodes and drivers that are listed."""

    heading: ClassVar[str] = AGAINST

    devices: cluster_input.Devices = None
    hardware: cluster_input.Hardware = None
    driver_version: driver_options.DriverVersion = None
    driver_option: driver_options.DriverOption = None
    node: Node = None
    driver: driver_options.Driver = None

    def parse_drivers(self) -> DriverChoice:
        """Parse the options of drivers. Raises UsageError."""
        return driver_options.parse(
            self.driver, self.driver_version, self.driver_option, self.hardware
        )


class ListingOptions(OptionGroup, frozen=True):
    """The devices that are listed, and their order."""

    heading: ClassVar[str] = ACTIONS

    device_class: Class = None
    state: State = None
    by: By = "node"
    alignment: ByAlignment = False
    watch: Watch = False

    def parse_states(self) -> frozenset[str] | None:
        """Return the states of ``--state``, or None for all. Raises UsageError."""
        if not self.state:
            return None
        words = self.state.split(",")
        return frozenset(common.choose("--state", word.strip(), STATES) for word in words)


class TableOptions(OptionGroup, frozen=True):
    """The form of the table."""

    heading: ClassVar[str] = OUTPUT

    sort_by: SortBy = None
    no_headers: NoHeaders = False
    output: Output = "table"

    @property
    def projection(self) -> Projection | None:
        """Return the projection that ``-o`` selects from the JSON; None if ``-o`` is a format
        instead. Raises UsageError.
        """
        return parse_projection(
            self.output, "devices", capacity_json.DEVICE_FIELDS, headers=not self.no_headers
        )

    def choose_format(self, printing: Printing) -> str:
        """Return the format of ``-o``; with ``-v`` a table is wide. Raises UsageError."""
        if self.output.startswith(PROJECTIONS):
            return common.choose_output("json", FORMATS)
        common.choose_output(self.output, (*FORMATS, *PROJECTIONS))
        return "wide" if printing.verbose and self.output == "table" else self.output


def command(
    inputs: InputOptions = InputOptions(),
    machines: MachineOptions = MachineOptions(),
    listing: ListingOptions = ListingOptions(),
    table: TableOptions = TableOptions(),
    access: Access = Access(),
    against: ReleaseOptions = ReleaseOptions(),
    printing: Printing = Printing(),
) -> None:
    """List the devices of the cluster: which are free, who holds the others, and what needs
    cleaning up.

    Objects come from the cluster of the kubeconfig, or from files. `-o wide` has a line for each
    device.

    Examples: `dractl devices`, `dractl devices --class gpu.nvidia.com --state free -o wide`,
    `dractl devices -f dump.yaml --by model`
    """
    printing.apply()
    output, projection = table.choose_format(printing), table.projection
    common.choose("--by", listing.by, GROUPS)
    if inputs.selector is not None:
        terminal.notice("--selector is called --cel now; the next release removes the old name")
    _check_alignment(output, alignment=listing.alignment)
    device_filter = _make_filter(inputs, machines, listing)
    driver_choice = machines.parse_drivers()
    added_nodes = parse_added_nodes("--hardware", machines.hardware or ())
    inputs.refuse_names()

    def make_report() -> str:
        cluster = _load_cluster(inputs, machines, access, against)
        target = Target.of(cluster.features.release)
        extended = add_nodes(
            cluster.state,
            added_nodes,
            lambda addition: load_added_nodes(addition, target, driver_choice),
        )
        cluster = replace(cluster, state=extended)
        _refuse_empty(cluster)
        if listing.alignment and output in ("table", "wide", "svg"):
            uses = _list_uses(cluster, device_filter.node)
            return _render_alignment(uses, output, printing.output_file)
        canvas = terminal.canvas(to_file=printing.output_file, unlimited=200)
        canvas = replace(canvas, sort_by=table.sort_by, headers=not table.no_headers)
        report = _report(cluster, device_filter, common.base_format(output), listing.by, canvas)
        return report if projection is None else projection(report)

    if listing.watch:
        if output not in ("table", "wide"):
            raise UsageError("--watch shows a table", hint="omit -o, or give -o wide")

        watching.repeat(watching.tolerate_errors(make_report))
        return
    common.write_output(make_report(), output, printing.output_file)


def _check_alignment(output: str, *, alignment: bool) -> None:
    """Raise UsageError for --alignment with a format that cannot show it, and for a format that
    shows nothing else without it.
    """
    if output == "svg" and not alignment:
        raise UsageError(
            "-o svg draws what is allocated", hint="add --alignment, or use -o html for all devices"
        )
    if output in ("csv", "name") and alignment:
        raise UsageError(
            f"-o {output} has no alignment",
            hint="--alignment prints a table or, with -o svg, a picture; -o json, html and"
            " openmetrics have the alignment of every claim",
        )


def _make_filter(
    inputs: InputOptions, machines: MachineOptions, listing: ListingOptions
) -> DeviceFilter:
    """Return the conditions on the devices that are listed. Raises UsageError."""
    states = listing.parse_states()
    if inputs.all_namespaces and inputs.namespace:
        raise UsageError("-n and -A exclude each other")
    return DeviceFilter(
        machines.node,
        driver_options.parse_names(machines.driver),
        listing.device_class,
        states,
        inputs.expression,
        inputs.namespace.removeprefix("=") if inputs.namespace else None,  # -n=ml gives "=ml"
        parse_labels(inputs.labels) if inputs.labels is not None else None,
    )


def _load_cluster(
    inputs: InputOptions, machines: MachineOptions, access: Access, against: ReleaseOptions
) -> Cluster:
    request = ClusterInput(
        inputs.arguments,
        inputs.files,
        machines.devices,
        everywhere=True,
        vital=frozenset({"ResourceSlice"}),
        described=bool(machines.hardware),
    )
    return cluster_input.load_cluster(request, access, against)


def _refuse_empty(cluster: Cluster) -> None:
    """Raise InputError if the files are empty or are reports of dractl, not a cluster."""
    if cluster.sources.live or any(cluster.state.kinds):
        return
    if advice := describe_unusable_input(cluster.sources.files):
        raise InputError("no object of a cluster in the input", hint=advice)


class _Listing(Struct, frozen=True):
    """The devices that a report shows."""

    cluster: Cluster
    """The objects of the input."""
    node: str | None
    """The only node that is shown, or None for all."""
    inventory: Inventory
    """The devices that meet the conditions, and their pools."""
    plugin_rows: tuple[PluginRow, ...]
    """Resources of device plugins."""
    problems: tuple[Problem, ...]
    """Problems that somebody has to clean up."""

    @property
    def uses(self) -> "tuple[Use, ...]":
        """Return the allocations with their alignments."""
        return _list_uses(self.cluster, self.node)


def _report(
    cluster: Cluster, device_filter: DeviceFilter, output: str, by: str, canvas: Canvas
) -> str:
    """Return the report of the devices that meet the conditions."""
    state, features, node = cluster.state, cluster.features, device_filter.node
    with terminal.progress() as progress:
        inventory = take_inventory(state, features, progress)
    all_plugin_rows = list_device_plugins(state)
    if not (inventory.devices or all_plugin_rows or state.covers("ResourceSlice")):
        raise InputError(
            "the input has no ResourceSlices, and no claim that holds a device",
            hint=f"add `{command_for(('ResourceSlice', 'ResourceClaim'))}`",
        )
    problems = (
        *_find_node_problems(cluster, node),
        *find_problems(state, inventory, all_plugin_rows),
    )
    rows = device_filter.select_devices(state, features, inventory)
    device_filter.check_names(state, inventory, all_plugin_rows)
    plugin_rows = device_filter.select_plugins(all_plugin_rows)
    concerns_devices = device_filter.expression is not None or device_filter.states is not None
    has_plugin_rows = bool(plugin_rows) and not concerns_devices
    count = len(inventory.devices)
    if not rows and count and not has_plugin_rows and output in ("table", "wide", "name"):
        return f"none of {count} devices matches these options\n"
    pools = {(row.id.driver, row.id.pool) for row in rows}
    shown_pools = tuple(
        pool for pool in inventory.pools if len(rows) == count or (pool.driver, pool.pool) in pools
    )
    shown = replace(inventory, devices=rows, pools=shown_pools)
    return _render(_Listing(cluster, node, shown, plugin_rows, problems), output, by, canvas)


def _find_node_problems(cluster: Cluster, node: str | None) -> Sequence[Problem]:
    if node is None:
        return ()
    from dractl.explain.fleet.node_problems import find_node_problems

    return list(find_node_problems(cluster.state, cluster.features, node))


def _render(listing: _Listing, output: str, by: str, canvas: Canvas) -> str:
    cluster, inventory = listing.cluster, listing.inventory
    if output == "json":
        return capacity_json.devices(
            inventory,
            listing.plugin_rows,
            listing.problems,
            cluster.release_name,
            unread=cluster.state.list_unread(),
            uses=listing.uses,
            assumed=cluster.live_release_assumed,
            origin=cluster.origin,
        )
    if output == "openmetrics":
        from dractl.report.capacity import openmetrics as capacity_openmetrics

        return capacity_openmetrics.devices(inventory, listing.plugin_rows, listing.uses)
    if output == "html":
        return _render_html(listing)
    if output == "csv":
        from dractl.report.capacity import csv as capacity_csv

        return capacity_csv.devices(inventory.devices, headers=canvas.headers)
    if output == "name":
        return "\n".join(str(row.id) for row in inventory.devices)
    note = _note_unread(cluster)
    if output == "wide":
        now = newest_time(cluster.state)
        return capacity_text.wide(inventory, listing.problems, canvas, note, listing.uses, now)
    return capacity_text.devices(
        inventory,
        listing.plugin_rows,
        listing.problems,
        canvas,
        note,
        by=by,
        release=cluster.release,
        owners=find_owners(cluster.state, inventory.devices) if by == "owner" else None,
    )


def _render_html(listing: _Listing) -> str:
    from dractl.report.capacity import html as capacity_html

    cluster = listing.cluster
    fits = []
    if not cluster.state.rights.unread:
        with terminal.progress() as progress:
            fits = count_template_copies(cluster.state, cluster.features, progress)
    return capacity_html.devices(
        listing.inventory,
        listing.plugin_rows,
        listing.problems,
        fits,
        _note_unread(cluster),
        cluster.origin.title,
        listing.uses,
    )


_MAX_PANELS = 12  # maximum number of panels of a picture


def _render_alignment(uses: "tuple[Use, ...]", output: str, to_file: object) -> str:
    """Return all uses of devices as text, or the least aligned of them as a picture."""
    if output != "svg":
        return fleet_text(uses, terminal.canvas(to_file=to_file, unlimited=100))
    from dractl.report.alignment import svg as alignment_svg

    panels = [
        (use.pod or ", ".join(use.claims), min(use.alignments, key=_alignment_share))
        for use in uses[:_MAX_PANELS]
    ]
    if not panels:
        raise InputError("no pod or claim uses devices that belong together")
    return alignment_svg.render(panels) + "\n"


def _alignment_share(alignment: "Alignment") -> float:
    return 2 if alignment.share is None else alignment.share[0]


def _list_uses(cluster: Cluster, node: str | None) -> "tuple[Use, ...]":
    """Return the allocations with their alignments, on one node or on all."""
    from dractl.alignment import list_uses
    from dractl.scheduler.attempt import Scheduler

    with terminal.progress() as progress:
        uses = list_uses(Scheduler(cluster.state, cluster.features), progress)
    return tuple(use for use in uses if node in (None, use.node))


def _note_unread(cluster: Cluster) -> str:
    """Return the note on slices and claims that were not seen; empty if all were."""
    rights = cluster.state.rights
    unread = [one for one in rights.unread if one.kind == "ResourceClaim"]
    if not unread:
        missing = cluster.state.coverage.unread(("ResourceSlice", "ResourceClaim"))
        return next(filter(None, map(_note_missing, missing)), "")
    scope = f" outside of namespace {unread[0].namespace}" if unread[0].namespace else ""
    return (
        f"not allowed to read claims{scope}: devices in state unknown are free, or held by such"
        " claims; an administrator can allow it:"
        f" {rights.grant_commands('ResourceClaim')}"
    )


def _note_missing(row: Unread) -> str:
    """Return the sentence on slices or claims that the input lacks. It is empty if the input has
    some of them, since it is then unknown whether there are more.
    """
    if row.seen == "unseen" and row.kind == "ResourceSlice":
        lack = "the input has no ResourceSlices: whether these devices are published is unknown"
    elif row.seen == "unseen":
        lack = "the input has no ResourceClaims: which devices are held is unknown"
    elif row.namespace:
        lack = f"the input has claims of namespace {row.namespace} alone: others may hold devices"
    else:
        return ""
    return f"{lack}; add `{row.add}`"
