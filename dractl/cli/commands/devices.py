"""``dractl devices``: every device of the cluster, its state and its holder, and what needs
cleaning up.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Annotated, Any

from msgspec.structs import replace
from typer import Argument, Option

from dractl.alignment import Alignment, Use, list_uses
from dractl.capacity import (
    DeviceRow,
    Fit,
    Inventory,
    PluginRow,
    copies,
    find_problems,
    list_device_plugins,
    place_copies,
    take_inventory,
)
from dractl.capacity.placing import ATTEMPT_BUDGET
from dractl.capacity.problems import Problem
from dractl.cel import environment
from dractl.cli import common, completing, terminal, virtual_nodes, watching
from dractl.cli.headings import ACTIONS, AGAINST, INPUT, OUTPUT
from dractl.cli.options import cluster_input, driver_options
from dractl.cli.options.cluster_input import Cluster
from dractl.cli.options.printing import Printing, output_option
from dractl.cli.options.release import ReleaseOptions
from dractl.cluster import shell
from dractl.cluster.clock import newest_time
from dractl.cluster.devices import Devices
from dractl.cluster.labels import LabelQuery, parse_labels
from dractl.cluster.sources import classify_arguments, describe_unusable_input
from dractl.cluster.state import ClusterState, map_at, maps_at, parse_key, text_at
from dractl.errors import DractlError, InputError, UsageError
from dractl.explain.reasons.phrases import Names, Scope
from dractl.lint.cel_hints import help_of
from dractl.model import Target
from dractl.model.nearest import nearest
from dractl.program import program_name
from dractl.report.alignment.text import fleet_text
from dractl.report.canvas import Canvas
from dractl.report.capacity import json as capacity_json, text as capacity_text
from dractl.scheduler.attempt import Scheduler

FORMATS = ("table", "wide", "name", "json", "yaml", "html", "openmetrics", "svg")
GROUPS = ("node", "driver", "class", "model", "root")
STATES = ("free", "unknown", "held", "shared", "blocked", "tainted", "incomplete", "stale", "gone")

Arguments = Annotated[
    list[str] | None,
    Argument(
        metavar="[FILE]...", help="Files to read objects from, short for -f.", show_default=False
    ),
]
Node = Annotated[
    str | None,
    Option(
        "--node",
        metavar="NAME",
        help="Only devices of this node.",
        autocompletion=completing.nodes,
        rich_help_panel=AGAINST,
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
        rich_help_panel=INPUT,
    ),
]
AllNamespaces = Annotated[
    bool,
    Option(
        "--all-namespaces",
        "-A",
        help="Devices whoever holds them; the default.",
        rich_help_panel=INPUT,
    ),
]
Labels = Annotated[
    str | None,
    Option(
        "--labels",
        "-l",
        metavar="LABELS",
        help="Only devices that pods with these labels hold.",
        rich_help_panel=INPUT,
    ),
]
Class = Annotated[
    str | None,
    Option(
        "--class", metavar="NAME", help="Only devices of this DeviceClass.", rich_help_panel=ACTIONS
    ),
]
Cel = Annotated[
    str | None,
    Option(
        "--cel",
        metavar="EXPRESSION",
        help="Only devices for which this CEL expression is true.",
        rich_help_panel=INPUT,
    ),
]
OldCel = Annotated[
    str | None, Option("--selector", metavar="CEL", hidden=True, rich_help_panel=INPUT)
]
SortBy = Annotated[
    str | None,
    Option(
        "--sort-by",
        metavar="COLUMN",
        help="Sort the table by a column: its header in lower case.",
        rich_help_panel=OUTPUT,
    ),
]
NoHeaders = Annotated[
    bool,
    Option("--no-headers", help="Leave out the first line of the table.", rich_help_panel=OUTPUT),
]
State = Annotated[
    str | None,
    Option(
        "--state",
        metavar="STATE,...",
        help=f"Only devices in these states: {', '.join(STATES)}.",
        autocompletion=completing.offer_comma_list(lambda: STATES),
        rich_help_panel=ACTIONS,
    ),
]
By = Annotated[
    str,
    Option(
        "--by",
        metavar="GROUP",
        help=f"Group the table by {', '.join(GROUPS)}.",
        autocompletion=completing.offer_words(*GROUPS),
        rich_help_panel=ACTIONS,
    ),
]
Output = Annotated[str, output_option(FORMATS)]
ByAlignment = Annotated[
    bool,
    Option(
        "--alignment",
        help="Show what is allocated by its share of the best alignment, the worst first.",
        rich_help_panel=ACTIONS,
    ),
]
Watch = Annotated[
    bool,
    Option(
        "--watch", help="Show the table again whenever something changes.", rich_help_panel=ACTIONS
    ),
]


def command(
    arguments: Arguments = None,
    files: cluster_input.Files = None,
    devices: cluster_input.Devices = None,
    hardware: cluster_input.Hardware = None,
    driver_version: driver_options.DriverVersion = None,
    driver_option: driver_options.DriverOption = None,
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    labels: Labels = None,
    node: Node = None,
    driver: driver_options.Driver = None,
    device_class: Class = None,
    cel: Cel = None,
    selector: OldCel = None,
    state: State = None,
    by: By = "node",
    alignment: ByAlignment = False,
    sort_by: SortBy = None,
    no_headers: NoHeaders = False,
    watch: Watch = False,
    access: cluster_input.Access = cluster_input.Access(),
    against: ReleaseOptions = ReleaseOptions(),
    output: Output = "table",
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
    common.choose_output(output, FORMATS)
    if printing.verbose and output == "table":
        output = "wide"
    common.choose("--by", by, GROUPS)
    if selector is not None:
        terminal.notice("--selector is called --cel, and goes with the next release")
    if output == "svg" and not alignment:
        raise UsageError(
            "-o svg draws what is allocated", hint="add --alignment, or use -o html for all devices"
        )
    states = (
        frozenset(common.choose("--state", word.strip(), STATES) for word in state.split(","))
        if state
        else None
    )

    if all_namespaces and namespace:
        raise UsageError("-n and -A exclude each other")
    namespace_name = namespace.removeprefix("=") if namespace else None  # -n=ml
    label_query = parse_labels(labels) if labels is not None else None
    driver_choice = driver_options.parse(driver, driver_version, driver_option, hardware)
    added_nodes = virtual_nodes.parse_added_nodes("--hardware", hardware or ())
    names = classify_arguments(arguments or [], (), ()).names
    if names:
        raise InputError(
            f"{names[0]}: no such file",
            hint="devices takes files; --node, --driver and --class choose",
        )

    def make_report() -> str:
        cluster = cluster_input.load_cluster(
            arguments or [],
            files or [],
            devices or [],
            access,
            against,
            namespace=None,
            everywhere=True,
            vital=frozenset({"ResourceSlice"}),
            described=bool(hardware),
        )
        extended = virtual_nodes.add_nodes(
            cluster.state, added_nodes, Target.of(cluster.features.release), driver_choice
        )
        cluster = replace(cluster, state=extended)
        if not (cluster.sources.live or any(cluster.state.kinds)) and (
            advice := describe_unusable_input(cluster.sources.files)
        ):
            raise InputError("no object of a cluster in the input", hint=advice)
        canvas = terminal.canvas(to_file=printing.output_file, unlimited=200)
        canvas = replace(canvas, sort_by=sort_by, headers=not no_headers)
        if alignment and output in ("table", "wide", "svg"):
            return _render_alignment(_list_uses(cluster, node), output, printing.output_file)
        base_output = common.base_format(output)
        holds = (
            None
            if namespace_name is None and label_query is None
            else partial(_holds_device, cluster.state, namespace_name, label_query)
        )
        return _render(
            cluster,
            node,
            driver_choice.drivers,
            device_class,
            cel or selector,
            states,
            holds=holds,
            by=by,
            output=base_output,
            canvas=canvas,
        )

    if watch:
        if output not in ("table", "wide"):
            raise UsageError("--watch shows a table", hint="omit -o, or give -o wide")

        watching.repeat(watching.tolerate_errors(make_report))
        return
    common.write_output(make_report(), output, printing.output_file)


def _render(
    cluster: Cluster,
    node: str | None,
    drivers: tuple[str, ...],
    device_class: str | None,
    selector: str | None,
    states: frozenset[str] | None,
    *,
    holds: Callable[[DeviceRow], bool] | None = None,
    by: str,
    output: str,
    canvas: Canvas,
) -> str:
    with terminal.progress() as progress:
        stock = take_inventory(cluster.state, cluster.features, progress)
    unread = cluster.state.rights.unread
    plugin_rows = list_device_plugins(cluster.state)
    faults = (
        *(_node_problems(cluster, node) if node is not None else ()),
        *find_problems(cluster.state, stock, plugin_rows),
    )
    rows = [
        row
        for row in stock.devices
        if node in (None, row.node)
        and (not drivers or row.id.driver in drivers)
        and (device_class is None or device_class in row.classes)
        and (states is None or row.state in states)
        and (holds is None or holds(row))
    ]
    if selector is not None:
        rows = _filter_by_cel(cluster, rows, selector)
    _check_names(cluster, stock, plugin_rows, node=node, drivers=drivers, device_class=device_class)
    is_narrowed = drivers or device_class or holds
    has_plugin_rows = not (is_narrowed or selector or states) and any(
        node in (None, p.node) for p in plugin_rows
    )
    if not rows and stock.devices and not has_plugin_rows and output in ("table", "wide", "name"):
        return f"none of {len(stock.devices)} devices matches these options\n"
    filtered = len(rows) < len(stock.devices)
    pools = {(row.id.driver, row.id.pool) for row in rows}
    shown_pools = tuple(
        row for row in stock.pools if not filtered or (row.driver, row.pool) in pools
    )
    stock = replace(stock, devices=tuple(rows), pools=shown_pools)
    plugin_rows = tuple(p for p in plugin_rows if node in (None, p.node)) if not is_narrowed else ()
    if output == "json":
        rights, assumed = cluster.state.rights, cluster.live_release_assumed
        release, uses = cluster.features.release, _list_uses(cluster, node)
        return capacity_json.devices(
            stock,
            plugin_rows,
            faults,
            release,
            rights,
            uses=uses,
            assumed=assumed,
            origin=cluster.origin,
        )
    if output == "openmetrics":
        from dractl.report.capacity import openmetrics as capacity_openmetrics

        return capacity_openmetrics.render(stock, plugin_rows, _list_uses(cluster, node))
    if output == "html":
        from dractl.report.capacity import html as capacity_html

        templates = [] if unread else _count_template_copies(cluster)
        return capacity_html.devices(
            stock,
            plugin_rows,
            faults,
            templates,
            _unread_claims_note(cluster),
            cluster.origin.title,
            _list_uses(cluster, node),
        )

    if output == "name":
        return "\n".join(str(row.id) for row in stock.devices)
    if output == "wide":
        now = newest_time(cluster.state)
        return capacity_text.wide(
            stock, faults, canvas, _unread_claims_note(cluster), _list_uses(cluster, node), now
        )
    return capacity_text.devices(
        stock,
        plugin_rows,
        faults,
        canvas,
        _unread_claims_note(cluster),
        by=by,
        release=cluster.release,
    )


def _holds_device(
    state: ClusterState, namespace: str | None, labels: LabelQuery | None, row: DeviceRow
) -> bool:
    """Return True if a claim of the namespace, and a pod with the labels, holds the device."""
    return any(
        namespace in (None, holder.claim.partition("/")[0])
        and (labels is None or labels.matches(_pod_labels(state, holder.pod)))
        for holder in row.holders
        if labels is None or holder.pod
    )


def _pod_labels(state: ClusterState, pod: str | None) -> Mapping[str, Any]:
    space, _, name = (pod or "").partition("/")
    return map_at(state.get("Pod", (space, name)), "metadata", "labels")


_MAX_PANELS = 12  # of a picture


def _render_alignment(uses: tuple[Use, ...], output: str, to_file: object) -> str:
    """Return all uses of devices as text, or the least aligned of them as a picture."""
    if output != "svg":
        return fleet_text(uses, terminal.canvas(to_file=to_file, unlimited=100))
    from dractl.report.alignment import svg as alignment_svg

    panels = [
        (use.pod or ", ".join(use.claims), min(use.alignments, key=_alignment_share))
        for use in uses[:_MAX_PANELS]
    ]
    if not panels:
        raise InputError("nothing is allocated whose devices belong together")
    return alignment_svg.render(panels) + "\n"


def _alignment_share(alignment: Alignment) -> float:
    return 2 if alignment.share is None else alignment.share[0]


def _node_problems(cluster: Cluster, node: str) -> Iterator[Problem]:
    """Yield the problems of a node: its condition, and the pods that are stuck on it."""
    from dractl.explain.fleet import stuck_pods

    condition = stuck_pods.node_condition(cluster.state, node)
    if condition is not None:
        node_step = shell.NextStep(
            "see what its kubelet says", shell.quote_command("kubectl describe node {}", node)
        )
        yield Problem(
            "node-not-ready",
            condition.sentence(Names(), Scope.ONE),
            (f"Node/{node}",),
            (node_step,),
        )
    for stuck in stuck_pods.find_stuck_pods(Scheduler(cluster.state, cluster.features), node):
        namespace, name = parse_key(stuck.pod)
        pod_step = shell.NextStep(
            "see what helps",
            shell.quote_command(f"{program_name()} explain pod/{{}} -n {{}}", name, namespace),
        )
        yield Problem(
            "pod-hangs", f"pod {stuck.pod}: {stuck.why}", (f"Pod/{stuck.pod}",), (pod_step,)
        )


def _list_uses(cluster: Cluster, node: str | None) -> tuple[Use, ...]:
    """Return what is allocated with its alignment, on one node or on all."""
    with terminal.progress() as progress:
        uses = list_uses(Scheduler(cluster.state, cluster.features), progress)
    return tuple(use for use in uses if node in (None, use.node))


def _check_names(
    cluster: Cluster,
    stock: Inventory,
    plugin_rows: tuple[PluginRow, ...],
    *,
    node: str | None,
    drivers: tuple[str, ...],
    device_class: str | None,
) -> None:
    """Raises InputError for a node, driver or class that the input does not have."""
    state = cluster.state
    nodes = {name for _, name in state.objects("Node")} | {
        row.node for row in stock.devices if row.node
    }
    nodes |= {p.node for p in plugin_rows}
    published = {pool.driver for pool in stock.pools} | {row.id.driver for row in stock.devices}
    classes = {name for _, name in state.objects("DeviceClass")}
    for option, plural, values, present in (
        ("node", "nodes", (node,), nodes),
        ("driver", "drivers", drivers, published),
        ("class", "classes", (device_class,), classes),
    ):
        for value in values:
            if value is not None and value not in present:
                near = nearest(value, sorted(present))
                names = ", ".join(sorted(present)[:8]) + (" ..." if len(present) > 8 else "")
                listed = f"{plural}: {names}" if present else None
                hint = f"did you mean {near}?" if near else listed
                raise InputError(f"--{option} {value}: no such {option} in the input", hint=hint)


def _unread_claims_note(cluster: Cluster) -> str:
    """Return the note that claims may not be read, or an empty string if all may."""
    rights = cluster.state.rights
    unread = [one for one in rights.unread if one.kind == "ResourceClaim"]
    if not unread:
        return ""
    scope = f" outside of namespace {unread[0].namespace}" if unread[0].namespace else ""
    return (
        f"claims{scope} may not be read: devices in state unknown are free, or held by claims that"
        " you may not read; an administrator can allow it:"
        f" {rights.grant_commands('ResourceClaim')}"
    )


_TEMPLATES, _NODES = (
    6,
    6000,
)  # templates whose copies are counted on a page, multiplied by nodes: a few seconds


def _count_template_copies(cluster: Cluster) -> list[Fit]:
    """Count the further copies of the cluster's templates.

    Of many templates, only those that most pods use are counted.
    """
    pod_count = Counter(
        (key[0], text_at(reference, "resourceClaimTemplateName"))
        for key, pod in cluster.state.objects("Pod").items()
        for reference in maps_at(pod, "spec", "resourceClaims")
    )
    # Of a template without requests any number fits.
    templates = cluster.state.objects("ResourceClaimTemplate").items()
    candidates = [
        key for key, value in templates if maps_at(value, "spec", "spec", "devices", "requests")
    ]
    keys = sorted(candidates, key=lambda key: (-pod_count[key], key))
    fits = []
    with terminal.progress() as progress:
        for key in keys[
            : max(1, min(_TEMPLATES, _NODES // max(1, len(cluster.state.objects("Node")))))
        ]:
            progress(f"placing copies of {key[1]}")
            try:
                subject = copies.copies_of_object(cluster.state, "ResourceClaimTemplate", key)
                fits.append(
                    place_copies(subject, cluster.features, budget=ATTEMPT_BUDGET // _TEMPLATES)
                )
            except DractlError:
                continue  # a template that no server would have accepted is left out of the page
    return fits


def _filter_by_cel(cluster: Cluster, rows: list[DeviceRow], selector: str) -> list[DeviceRow]:
    """Return the rows for whose devices a CEL expression is true. Raises UsageError if it does not
    compile.
    """
    features = cluster.features
    gates = features.on if features.cel_on is None else features.cel_on
    program = environment(Target(features.release, gates), "stored").compile(selector)
    if not program.ok:
        why = program.issues[0].message if program.issues else program.error
        raise UsageError(
            f"--cel does not compile: {why}", hint=help_of(program, Target(features.release, gates))
        )
    index = Devices(cluster.state, cluster.state.slices)
    matches = []
    for row in rows:
        device = index.get(row.id)
        if device is not None and program.evaluate(row.id.driver, device) is True:
            matches.append(row)
    return matches
