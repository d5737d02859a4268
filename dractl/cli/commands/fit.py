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


class _Rest(Struct, frozen=True):
    """Why the next copy stays pending, in total and by node, the free devices that are unusable, and the maximum (None:
    not requested)."""

    stops: tuple[Reason, ...]
    left: tuple[StrandedDevices, ...]
    most: MaxCopies | None
    by_node: Mapping[str, Sequence[Reason]]


Name = Annotated[
    str | None,
    Argument(
        metavar="SHAPE | KIND/NAME | FILE",
        help="gpu=2,nic=1, or gpu=2,nic=1@pcieRoot (@numaNode, @none); template/NAME, claim/NAME, "
        "pod/NAME, deploy/NAME ...; or a file that contains one of these.",
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
        help="Answer as if N more nodes existed: a slices file, a snapshot, or hardware such as "
        "dgx-h100*4 or 8xH100,4xnic; repeatable.",
        autocompletion=completing.comma_list(completing.machines),
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
        help="Count only copies whose devices are as near to each other as their node allows while "
        "it is idle; with SHAPE@none, of those that the order of the devices makes.",
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
        help="Show a table of several shapes by node: gpu=2,nic=1;gpu=4@numaNode, or names with "
        "commas.",
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
    printing.settle()
    common.choose_output(output, FORMATS)
    _check_words(name, shapes, more or [])
    namespace = namespace and namespace.removeprefix("=")  # -n=ml
    own = [name] if name and os.path.exists(name) else []
    with without_collecting():
        written = (
            cluster_input.of_files(sources.Sources((), tuple(own)), namespace) if own else None
        )
    cluster_too = written is not None and any(map(written.has, ("Node", "ResourceSlice")))
    added = [
        *virtual_nodes.additions("--add", add or ()),
        *virtual_nodes.additions("--hardware", hardware or ()),
    ]
    files = [*(files or []), *(more or [])]
    configured = driver_options.configured(driver, driver_version, driver_option, added)
    paths = [*files, *own] if files or devices or hardware or cluster_too else files
    cluster = cluster_input.read(
        [],
        paths,
        devices or [],
        access,
        against,
        namespace=namespace,
        everywhere=namespace is None,
        described=bool(hardware),
        given=written if paths == own else None,
    )
    state = _changed(cluster, without or [], added, node, configured)
    if own and written is not None:
        subjects: list[Subject] = [(_of_file(state, own[0], written),)]
    else:
        words = split_list(shapes) if shapes else _shapes(name or "")
        subjects = [_subject(cluster, state, word.strip()) for word in dict.fromkeys(words)]
    for subject in subjects:
        _tell_of_group(subject[0])
        _tell_of_shared(subject[0])
        _tell_of_scheduler(state, subject[0])
    placed = [_placed(cluster, subject) for subject in subjects]
    near = [_aligned(cluster, fit) if aligned else None for fit in placed]
    handed = () if trust_slices else device_plugin_allocations(state)
    found = [subtract_plugin_allocations(fit, handed, cluster.features) for fit in placed]
    if common.base_format(output) == "json":
        text = _json(cluster, found, near, pack, replicas)
    elif output == "html":
        text = _html(cluster, found, near, pack)
    else:
        text = _text(
            cluster,
            found,
            near,
            pack,
            replicas,
            to_file=printing.to_file,
            every=printing.verbose > 0,
        )
    common.write_output(text, output, printing.output_file)
    if any(
        (fit.fits if one is None else min(fit.fits, one.first)) < (replicas or 1)
        for fit, one in zip(found, near, strict=True)
    ):
        raise Exit(1)


def _check_words(name: str | None, shapes: str | None, more: Sequence[str]) -> None:
    """Raise UsageError unless exactly one question is asked."""
    if (name is None) == (shapes is None):
        problem = (
            "both a shape and --shapes are given"
            if name
            else "name one shape or object to place, or --shapes"
        )
        raise UsageError(problem, hint=f"{program_name()} fit gpu=2,nic=1")
    for word in more:
        if "=" in word and not os.path.exists(word):
            raise UsageError(
                f"{word} stands beside the shape {name}", hint=f"write one shape: {name},{word}"
            )


def _shapes(name: str) -> list[str]:
    """Return the shapes of ``gpu=2,nic=1;gpu=4``; anything else is one name."""
    return (split(name) if {"=", "@"} & set(name) else []) or [name]


def _aligned(cluster: Cluster, found: Fit) -> AlignedCounts:
    """The alignment of the copies that fit."""
    with terminal.progress() as tell:
        return aligned_of(found, cluster.features, tell)


def _subject(cluster: Cluster, state: ClusterState, name: str) -> Subject:
    shape = spread(name)
    if is_shape(state, shape):
        return shape_copies(state, cluster.features, shape, cluster.namespace or "default")
    return (copies.find_subject(state, name, cluster.namespace, cluster.kinds),)


_ORDER = ("ResourceClaimTemplate", "ResourceClaim")


def _of_file(state: ClusterState, path: str, written: ClusterState) -> Copies:
    """The workload or pod that is ``written`` in a file, else its template, else its claim; the file's objects are
    added to the cluster's. Raises UsageError where a file has a cluster and several of them."""
    others = [
        kind
        for kind in written.kinds
        if kind not in (*_ORDER, "Node", "DeviceClass", "ResourceSlice")
    ]
    pods = [kind for kind in others if kind == "Pod" or kind not in API_GROUPS]
    if any(map(written.has, ("Node", "ResourceSlice"))):
        pods = [kind for kind in pods if kind != "Pod"]  # those that run there
    every = [
        (kind, key, value)
        for kind in (*pods, *_ORDER)
        for key, value in written.objects(kind).items()
    ]
    found = [
        (kind, key)
        for kind, key, value in every
        if kind != "ResourceClaim" or not at(value, "status", "allocation")
    ]
    if len(found) > 1 and written.has("Node"):
        there = ", ".join(f"{kind.lower()}/{key[1]}" for kind, key in found[:5])
        raise UsageError(
            f"{path} has several objects to place", hint=f"name one, with -f {path}: {there}"
        )
    for kind, key in found[:1]:
        return copies.copies_of_object(state.merge(written), kind, key)
    raise InputError(
        "nothing in it can be placed",
        place=path,
        hint="fit accepts a template, a claim, a pod or a workload",
    )


def _tell_of_group(subject: Copies) -> None:
    """A notice that copies of a pod in a group are placed by themselves."""
    found = group_object(Pod(subject.pod))
    if found is not None:
        kind, (_, name) = found
        terminal.notice(
            f"copies are placed one by one, without the rules of {kind} {name}: "
            f"{program_name()} explain {kind.lower()}/{name} counts how many of its pods fit"
        )


def _tell_of_scheduler(state: ClusterState, subject: Copies) -> None:
    """Print a notice that another scheduler than kube-scheduler places the copies."""
    scheduler = identify(state, Pod(subject.pod).scheduler_name)
    if not scheduler.is_kube_scheduler:
        terminal.notice(
            f"copies are counted as kube-scheduler would place them; the pod names scheduler {scheduler.name}"
            + (f" ({scheduler.title})" if scheduler.title != scheduler.name else "")
        )


def _tell_of_shared(subject: Copies) -> None:
    """A notice that copies share a claim which the pod names, and so take no further devices."""
    entries = maps_at(subject.pod, "spec", "resourceClaims")
    names = [name for entry in entries if (name := text_at(entry, "resourceClaimName"))]
    if names:
        plural = "" if len(names) == 1 else "s"
        terminal.notice(
            f"all copies share claim{plural} {', '.join(names)}, which the pod names, and with it the same devices: "
            f"{program_name()} fit claim/{names[0]} counts copies with devices of their own"
        )


def _placed(cluster: Cluster, subject: Subject) -> Fit:
    with terminal.progress() as tell:
        return place_closest(subject, cluster.features, tell)


def _changed(
    cluster: Cluster,
    without: list[str],
    add: list[virtual_nodes.Added],
    node: str | None,
    configured: driver_options.Configured,
) -> ClusterState:
    """The cluster after `--without`, `--add` and `--node`. Raises InputError for an object that does not exist."""
    state = cluster.state
    for target in without:
        state = what_if.remove_object(state, target, cluster.namespace)
    state = (
        sources.filter_drivers(state, configured.drivers)
        if state.objects("ResourceSlice")
        else state
    )
    state = virtual_nodes.grown(state, add, Target.of(cluster.features.release), configured)
    return state if node is None else what_if.keep_node(state, node)


def _explained(cluster: Cluster, found: Fit) -> Explanation | None:
    """The reason why the next copy stays pending, as explain reports it; None if it does not."""
    if found.next_attempt.fits and not found.undecided:
        return None

    pod = found.subject.copy(found.fits + 1)
    del pod["metadata"]["uid"]  # its claims are made from their templates
    pod["spec"] = {k: v for k, v in pod["spec"].items() if k != "schedulerName"}  # told already
    key = (pod["metadata"]["namespace"], pod["metadata"]["name"])
    explainer = Explainer(found.state, cluster.features, Options(fixes=0))
    return explainer.explain(Question("Pod", key, pod), found.next_attempt)


def _stops(cluster: Cluster, found: Fit) -> tuple[Reason, ...]:
    """Return why no further copy fits, where the number alone would leave that open."""
    shape = found.subject.shape
    if found.fits and (shape is None or shape.constraint not in ATTRIBUTES):
        return ()
    with terminal.progress() as tell:
        tell(f"looking for what stops {found.subject.name}")
        answer = _explained(cluster, found)
    return answer.reasons if answer is not None else ()


def _rest(cluster: Cluster, found: Fit, pack: bool) -> _Rest:
    """The parts that every format shows besides the number, as kube-scheduler sees them."""
    found = found.scheduler_fit or found
    with terminal.progress() as tell:
        packed = max_copies(found, cluster.features, tell) if pack else None
        tell("looking for stranded devices")
        answer = _explained(cluster, found)
        nodes = answer.nodes if answer is not None else ()
        by_node = {name: node.reasons for node in nodes for name in (node.name, *node.like)}

        def say(node: str) -> str:
            return "; ".join(dict.fromkeys(reason.short for reason in by_node.get(node, ())[:3]))

        left = find_stranded_devices(found, Scheduler(found.state, cluster.features), say)
        return _Rest(answer.reasons if answer is not None else (), left, packed, by_node)


def _json(
    cluster: Cluster,
    found: list[Fit],
    near: list[AlignedCounts | None],
    pack: bool,
    replicas: int | None,
) -> str:
    release = cluster.features.release
    values = []
    for fit, aligned in zip(found, near, strict=True):
        rest = _rest(cluster, fit, pack)
        values.append(
            capacity_json.fit_value(
                fit,
                rest.stops,
                rest.left,
                rest.most,
                aligned=aligned,
                by_node=rest.by_node,
                replicas=replicas,
                release=release,
            )
        )
    whole: dict[str, Any] = (
        values[0] if len(values) == 1 else {"schema": "dractl/fit/v1", "subjects": values}
    )
    whole["facts"] = current().to_json()
    if known := cluster.origin.to_json():
        whole["input"] = known
    if cluster.live_release_assumed:
        whole["kubernetesVersionAssumed"] = True
    if cluster.state.rights.unread:
        whole["unread"] = cluster.state.rights.as_json()
    return json.dumps(whole, indent=1, ensure_ascii=False)


def _html(cluster: Cluster, found: list[Fit], near: list[AlignedCounts | None], pack: bool) -> str:
    from dractl.report.capacity import html as capacity_html

    if len(found) > 1:
        return capacity_html.shapes(
            found, take_inventory(cluster.state, cluster.features), cluster.origin.title
        )
    rest = _rest(cluster, found[0], pack)
    stock = take_inventory(found[0].state, cluster.features)
    stops = capacity_text.stopped(rest.stops)
    stops += [
        f"kube-scheduler ends {', '.join(pods)} on {node} for it"
        for node, pods in found[0].preempts[:4]
    ]
    return capacity_html.fit(
        found[0], stock, stops, rest.left, rest.most, near[0], cluster.origin.title
    )


def _text(
    cluster: Cluster,
    found: list[Fit],
    near: list[AlignedCounts | None],
    pack: bool,
    replicas: int | None,
    *,
    to_file: bool,
    every: bool,
) -> str:
    canvas = terminal.canvas(to_file=to_file)
    if len(found) > 1:
        stops = [_stops(cluster, fit) for fit in found]
        return capacity_text.shapes(found, canvas, near, stops)
    rest = _rest(cluster, found[0], pack)
    return capacity_text.fit(
        found[0],
        rest.stops,
        rest.left,
        rest.most,
        canvas,
        aligned=near[0],
        replicas=replicas,
        release=cluster.release,
        every=every,
    )
