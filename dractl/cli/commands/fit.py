"""``dractl fit``: how many more copies of a shape, a claim, a pod or a workload fit, and where."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Struct
from typer import Argument, Exit, Option

from dractl.capacity import (
    Copies,
    Fit,
    MaxCopies,
    StrandedDevices,
    copies,
    find_stranded_devices,
    max_copies,
    take_inventory,
    what_if,
)
from dractl.capacity.aligned_counts import AlignedCounts, count_aligned_copies as aligned_of
from dractl.capacity.candidates import ATTRIBUTES
from dractl.capacity.device_plugins import device_plugin_allocations
from dractl.capacity.placing import subtract_plugin_allocations
from dractl.capacity.shapes import is_shape, place_closest, shape_copies
from dractl.cli import common, completing, terminal, virtual_nodes
from dractl.cli.headings import ACTIONS, AGAINST
from dractl.cli.options import cluster_input, driver_options
from dractl.cli.options.cluster_input import Cluster
from dractl.cli.options.printing import Printing, output_option
from dractl.cli.options.release import ReleaseOptions
from dractl.cluster import ClusterState, sources
from dractl.cluster.podgroups import group_object
from dractl.cluster.schedulers import identify
from dractl.cluster.state import API_GROUPS, at, maps_at, text_at
from dractl.errors import InputError, UsageError
from dractl.explain import Explainer, Explanation, Options, Question, Reason
from dractl.facts import current
from dractl.garbage import without_collecting
from dractl.model import Target
from dractl.model.shapes import split, split_list, spread
from dractl.program import program_name
from dractl.report.capacity import json as capacity_json, text as capacity_text
from dractl.scheduler.attempt import Scheduler
from dractl.views import Pod

FORMATS = ("text", "json", "yaml", "html")


Subject = tuple[Copies, ...]
"""The copies of an object, or of each claim that serves a shape, the closest alignment first."""


class _FitDetails(Struct, frozen=True):
    """The parts of a report besides the number of copies."""

    stops: tuple[Reason, ...]
    """Reasons why the next copy stays pending."""
    stranded: tuple[StrandedDevices, ...]
    """Free devices that no further copy can use."""
    maximum: MaxCopies | None
    """The most copies over all orders of placing, or None if it was not requested."""
    by_node: Mapping[str, Sequence[Reason]]
    """The reasons of each node by its name."""


Name = Annotated[
    str | None,
    Argument(
        metavar="SHAPE | KIND/NAME | FILE",
        help=(
            "gpu=2,nic=1, or gpu=2,nic=1@pcieRoot (@numaNode, @none); template/NAME, claim/NAME, "
            "pod/NAME, deploy/NAME ...; or a file that contains one of these."
        ),
        show_default=False,
        autocompletion=completing.subjects,
    ),
]
Replicas = Annotated[
    int | None,
    Option(
        "--replicas",
        metavar="N",
        parser=common.number_parser("--replicas"),
        help="Exit with 1 if fewer than N fit. Default: 1.",
        rich_help_panel=ACTIONS,
    ),
]
Pack = Annotated[
    bool,
    Option(
        "--pack", help="Also find the maximum over all orders of placing.", rich_help_panel=ACTIONS
    ),
]
Without = Annotated[
    list[str] | None,
    Option(
        "--without",
        metavar="KIND/[NS/]NAME",
        help="Answer as if this pod, node or claim were gone; repeatable.",
        rich_help_panel=AGAINST,
    ),
]
Add = Annotated[
    list[str] | None,
    Option(
        "--add",
        metavar="NODES[*N],...",
        help=(
            "Answer as if N more nodes existed: a slices file, a snapshot, or hardware such as "
            "dgx-h100*4 or 8xH100,4xnic; repeatable."
        ),
        autocompletion=completing.offer_comma_list(completing.machines),
        rich_help_panel=AGAINST,
    ),
]
Node = Annotated[
    str | None,
    Option(
        "--node",
        metavar="NAME",
        help="Place copies on this node only.",
        autocompletion=completing.nodes,
        rich_help_panel=AGAINST,
    ),
]
AlignedOnly = Annotated[
    bool,
    Option(
        "--aligned",
        help=(
            "Count only copies whose devices are as near to each other as their node allows while "
            "it is idle; with SHAPE@none, of those that the order of the devices makes."
        ),
        rich_help_panel=ACTIONS,
    ),
]
TrustSlices = Annotated[
    bool,
    Option(
        "--trust-slices",
        help="Count as kube-scheduler does, also devices that a device plugin has handed out.",
        rich_help_panel=AGAINST,
    ),
]
More = Annotated[
    list[str] | None,
    Argument(
        metavar="[FILE]...", help="Files to read objects from, short for -f.", show_default=False
    ),
]
Shapes = Annotated[
    str | None,
    Option(
        "--shapes",
        metavar="NAME,...",
        help=(
            "Show a table of several shapes by node: gpu=2,nic=1;gpu=4@numaNode, or names with "
            "commas."
        ),
        rich_help_panel=ACTIONS,
    ),
]
Output = Annotated[str, output_option(FORMATS)]


def command(
    name: Name = None,
    more: More = None,
    files: cluster_input.Files = None,
    devices: cluster_input.Devices = None,
    namespace: cluster_input.Namespace = None,
    replicas: Replicas = None,
    pack: Pack = False,
    aligned: AlignedOnly = False,
    trust_slices: TrustSlices = False,
    without: Without = None,
    add: Add = None,
    hardware: cluster_input.Hardware = None,
    driver: driver_options.Driver = None,
    driver_version: driver_options.DriverVersion = None,
    driver_option: driver_options.DriverOption = None,
    shapes: Shapes = None,
    node: Node = None,
    access: cluster_input.Access = cluster_input.Access(),
    against: ReleaseOptions = ReleaseOptions(),
    output: Output = "text",
    printing: Printing = Printing(),
) -> None:
    """Count how many more copies fit, placed one after the other as kube-scheduler would.

    A copy of a template is a pod with one container that uses its claim and requests nothing else.
    Each copy of a shape takes the closest alignment that its node has left, which the table names;
    `@pcieRoot` or `@numaNode` behind the shape demands that all its devices share one, `@none` has
    no preference. The exit code is 1 if fewer than `--replicas` fit.

    Examples: `dractl fit gpu=2,nic=1`, `dractl fit gpu=2,nic=1@pcieRoot --hardware dgx-h100`,
    `dractl fit template/gpu-pair -n ml --pack`,
    `dractl fit deploy/trainer -f dump.yaml --replicas 8 --without node/gpu-7`
    """
    printing.apply()
    common.choose_output(output, FORMATS)
    _check_arguments(name, shapes, more or [])
    namespace = namespace and namespace.removeprefix("=")  # -n=ml
    subject_files = [name] if name and os.path.exists(name) else []
    with without_collecting():
        file_state = (
            cluster_input.load_files(sources.Sources((), tuple(subject_files)), namespace)
            if subject_files
            else None
        )
    has_cluster = file_state is not None and any(map(file_state.has, ("Node", "ResourceSlice")))
    added_nodes = [
        *virtual_nodes.parse_added_nodes("--add", add or ()),
        *virtual_nodes.parse_added_nodes("--hardware", hardware or ()),
    ]
    files = [*(files or []), *(more or [])]
    driver_choice = driver_options.parse(driver, driver_version, driver_option, added_nodes)
    paths = [*files, *subject_files] if files or devices or hardware or has_cluster else files
    cluster = cluster_input.load_cluster(
        [],
        paths,
        devices or [],
        access,
        against,
        namespace=namespace,
        everywhere=namespace is None,
        described=bool(hardware),
        file_objects=file_state if paths == subject_files else None,
    )
    state = _apply_changes(cluster, without or [], added_nodes, node, driver_choice)
    if subject_files and file_state is not None:
        subjects: list[Subject] = [(_file_subject(state, subject_files[0], file_state),)]
    else:
        words = split_list(shapes) if shapes else _parse_shapes(name or "")
        subjects = [_subject(cluster, state, word.strip()) for word in dict.fromkeys(words)]
    for subject in subjects:
        _warn_gang_ignored(subject[0])
        _warn_claim_shared(subject[0])
        _warn_other_scheduler(state, subject[0])
    trusting_fits = [_place_copies(cluster, subject) for subject in subjects]
    alignments = [_count_aligned(cluster, fit) if aligned else None for fit in trusting_fits]
    allocations = () if trust_slices else device_plugin_allocations(state)
    fits = [
        subtract_plugin_allocations(fit, allocations, cluster.features) for fit in trusting_fits
    ]
    if common.base_format(output) == "json":
        text = _render_json(cluster, fits, alignments, pack, replicas)
    elif output == "html":
        text = _render_html(cluster, fits, alignments, pack)
    else:
        text = _render_text(
            cluster,
            fits,
            alignments,
            pack,
            replicas,
            to_file=printing.to_file,
            every=printing.verbose > 0,
        )
    common.write_output(text, output, printing.output_file)
    if any(
        (fit.fits if alignment is None else min(fit.fits, alignment.first)) < (replicas or 1)
        for fit, alignment in zip(fits, alignments, strict=True)
    ):
        raise Exit(1)


def _check_arguments(name: str | None, shapes: str | None, extra_words: Sequence[str]) -> None:
    """Raise UsageError unless exactly one question is asked."""
    if (name is None) == (shapes is None):
        problem = (
            "both a shape and --shapes are given"
            if name
            else "name one shape or object to place, or --shapes"
        )
        raise UsageError(problem, hint=f"{program_name()} fit gpu=2,nic=1")
    for word in extra_words:
        if "=" in word and not os.path.exists(word):
            raise UsageError(
                f"{word} stands beside the shape {name}", hint=f"write one shape: {name},{word}"
            )


def _parse_shapes(name: str) -> list[str]:
    """Return the shapes of ``gpu=2,nic=1;gpu=4``; anything else is one name."""
    return (split(name) if {"=", "@"} & set(name) else []) or [name]


def _count_aligned(cluster: Cluster, fit: Fit) -> AlignedCounts:
    """Count the copies that are aligned as well as an idle node allows."""
    with terminal.progress() as progress:
        return aligned_of(fit, cluster.features, progress)


def _subject(cluster: Cluster, state: ClusterState, name: str) -> Subject:
    shape = spread(name)
    if is_shape(state, shape):
        return shape_copies(state, cluster.features, shape, cluster.namespace or "default")
    return (copies.find_subject(state, name, cluster.namespace, cluster.kinds),)


_ORDER = ("ResourceClaimTemplate", "ResourceClaim")


def _file_subject(state: ClusterState, path: str, file_state: ClusterState) -> Copies:
    """Choose the workload or pod in a file, else its template, else its claim.

    The objects of the file are added to the cluster's. Raises UsageError if a file has a cluster
    and several subjects.
    """
    kinds = [
        kind
        for kind in file_state.kinds
        if kind not in (*_ORDER, "Node", "DeviceClass", "ResourceSlice")
    ]
    pods = [kind for kind in kinds if kind == "Pod" or kind not in API_GROUPS]
    if any(map(file_state.has, ("Node", "ResourceSlice"))):
        pods = [kind for kind in pods if kind != "Pod"]  # those that run there
    objects = [
        (kind, key, value)
        for kind in (*pods, *_ORDER)
        for key, value in file_state.objects(kind).items()
    ]
    unallocated = [
        (kind, key)
        for kind, key, value in objects
        if kind != "ResourceClaim" or not at(value, "status", "allocation")
    ]
    if len(unallocated) > 1 and file_state.has("Node"):
        names = ", ".join(f"{kind.lower()}/{key[1]}" for kind, key in unallocated[:5])
        raise UsageError(
            f"{path} has several objects to place", hint=f"name one, with -f {path}: {names}"
        )
    for kind, key in unallocated[:1]:
        return copies.copies_of_object(state.merge(file_state), kind, key)
    raise InputError(
        "nothing in it can be placed",
        place=path,
        hint="fit accepts a template, a claim, a pod or a workload",
    )


def _warn_gang_ignored(subject: Copies) -> None:
    """Print a notice if copies of a pod in a gang are placed by themselves."""
    gang = group_object(Pod(subject.pod))
    if gang is not None:
        kind, (_, name) = gang
        terminal.notice(
            f"copies are placed one by one, without the rules of {kind} {name}: {program_name()}"
            f" explain {kind.lower()}/{name} counts how many of its pods fit"
        )


def _warn_other_scheduler(state: ClusterState, subject: Copies) -> None:
    """Print a notice that another scheduler than kube-scheduler places the copies."""
    scheduler = identify(state, Pod(subject.pod).scheduler_name)
    if not scheduler.is_kube_scheduler:
        terminal.notice(
            "copies are counted as kube-scheduler would place them; the pod names scheduler"
            f" {scheduler.name}"
            + (f" ({scheduler.title})" if scheduler.title != scheduler.name else "")
        )


def _warn_claim_shared(subject: Copies) -> None:
    """Print a notice if copies share a claim that the pod names, and so take no further devices."""
    entries = maps_at(subject.pod, "spec", "resourceClaims")
    names = [name for entry in entries if (name := text_at(entry, "resourceClaimName"))]
    if names:
        plural = "" if len(names) == 1 else "s"
        terminal.notice(
            f"all copies share claim{plural} {', '.join(names)}, which the pod names, and with it"
            f" the same devices: {program_name()} fit claim/{names[0]} counts copies with devices"
            " of their own"
        )


def _place_copies(cluster: Cluster, subject: Subject) -> Fit:
    with terminal.progress() as progress:
        return place_closest(subject, cluster.features, progress)


def _apply_changes(
    cluster: Cluster,
    without: list[str],
    added_nodes: list[virtual_nodes.AddedNodes],
    node: str | None,
    driver_choice: driver_options.DriverChoice,
) -> ClusterState:
    """Apply `--without`, `--add` and `--node` to the cluster. Raises InputError for an object that
    does not exist.
    """
    state = cluster.state
    for target in without:
        state = what_if.remove_object(state, target, cluster.namespace)
    state = (
        sources.filter_drivers(state, driver_choice.drivers)
        if state.objects("ResourceSlice")
        else state
    )
    state = virtual_nodes.add_nodes(
        state, added_nodes, Target.of(cluster.features.release), driver_choice
    )
    return state if node is None else what_if.keep_node(state, node)


def _explain_next_copy(cluster: Cluster, fit: Fit) -> Explanation | None:
    """Explain why the next copy stays pending; return None if it does not."""
    if fit.next_attempt.fits and not fit.undecided:
        return None

    pod = fit.subject.copy(fit.fits + 1)
    del pod["metadata"]["uid"]  # its claims are made from their templates
    pod["spec"] = {k: v for k, v in pod["spec"].items() if k != "schedulerName"}  # told already
    key = (pod["metadata"]["namespace"], pod["metadata"]["name"])
    explainer = Explainer(fit.state, cluster.features, Options(fixes=0))
    return explainer.explain(Question("Pod", key, pod), fit.next_attempt)


def _stop_reasons(cluster: Cluster, fit: Fit) -> tuple[Reason, ...]:
    """Return why no further copy fits, where the number alone would leave that open."""
    shape = fit.subject.shape
    if fit.fits and (shape is None or shape.constraint not in ATTRIBUTES):
        return ()
    with terminal.progress() as progress:
        progress(f"looking for what stops {fit.subject.name}")
        explanation = _explain_next_copy(cluster, fit)
    return explanation.reasons if explanation is not None else ()


def _fit_details(cluster: Cluster, fit: Fit, pack: bool) -> _FitDetails:
    """Compute the parts that every format shows besides the number, as kube-scheduler sees them."""
    fit = fit.scheduler_fit or fit
    with terminal.progress() as progress:
        maximum = max_copies(fit, cluster.features, progress) if pack else None
        progress("looking for stranded devices")
        explanation = _explain_next_copy(cluster, fit)
        nodes = explanation.nodes if explanation is not None else ()
        by_node = {name: node.reasons for node in nodes for name in (node.name, *node.like)}

        def describe(node: str) -> str:
            return "; ".join(dict.fromkeys(reason.short for reason in by_node.get(node, ())[:3]))

        stranded_devices = find_stranded_devices(
            fit, Scheduler(fit.state, cluster.features), describe
        )
        return _FitDetails(
            explanation.reasons if explanation is not None else (),
            stranded_devices,
            maximum,
            by_node,
        )


def _render_json(
    cluster: Cluster,
    fits: list[Fit],
    alignments: list[AlignedCounts | None],
    pack: bool,
    replicas: int | None,
) -> str:
    release = cluster.features.release
    values = []
    for fit, alignment in zip(fits, alignments, strict=True):
        details = _fit_details(cluster, fit, pack)
        values.append(
            capacity_json.fit_value(
                fit,
                details.stops,
                details.stranded,
                details.maximum,
                aligned=alignment,
                by_node=details.by_node,
                replicas=replicas,
                release=release,
            )
        )
    report: dict[str, Any] = (
        values[0] if len(values) == 1 else {"schema": "dractl/fit/v1", "subjects": values}
    )
    report["facts"] = current().to_json()
    if input_origin := cluster.origin.to_json():
        report["input"] = input_origin
    if cluster.live_release_assumed:
        report["kubernetesVersionAssumed"] = True
    if cluster.state.rights.unread:
        report["unread"] = cluster.state.rights.as_json()
    return json.dumps(report, indent=1, ensure_ascii=False)


def _render_html(
    cluster: Cluster, fits: list[Fit], alignments: list[AlignedCounts | None], pack: bool
) -> str:
    from dractl.report.capacity import html as capacity_html

    if len(fits) > 1:
        return capacity_html.shapes(
            fits, take_inventory(cluster.state, cluster.features), cluster.origin.title
        )
    details = _fit_details(cluster, fits[0], pack)
    stock = take_inventory(fits[0].state, cluster.features)
    stops = capacity_text.stopped(details.stops)
    stops += [
        f"kube-scheduler ends {', '.join(pods)} on {node} for it"
        for node, pods in fits[0].preempts[:4]
    ]
    return capacity_html.fit(
        fits[0],
        stock,
        stops,
        details.stranded,
        details.maximum,
        alignments[0],
        cluster.origin.title,
    )


def _render_text(
    cluster: Cluster,
    fits: list[Fit],
    alignments: list[AlignedCounts | None],
    pack: bool,
    replicas: int | None,
    *,
    to_file: bool,
    every: bool,
) -> str:
    canvas = terminal.canvas(to_file=to_file)
    if len(fits) > 1:
        stops = [_stop_reasons(cluster, fit) for fit in fits]
        return capacity_text.shapes(fits, canvas, alignments, stops)
    details = _fit_details(cluster, fits[0], pack)
    return capacity_text.fit(
        fits[0],
        details.stops,
        details.stranded,
        details.maximum,
        canvas,
        aligned=alignments[0],
        replicas=replicas,
        release=cluster.release,
        every=every,
    )
