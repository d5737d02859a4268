"""``dractl fit``: how many more copies of a shape, a claim, a pod or a workload fit, and where."""

import json
import os
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from msgspec import Struct, to_builtins
from msgspec.structs import replace
from typer import Argument, Exit, Option

from dractl.capacity import Copies, Fit, copies, max_copies, take_inventory, what_if
from dractl.capacity.added_nodes import AddedNodes, add_nodes, parse_added_nodes
from dractl.capacity.aligned_counts import AlignedCounts, count_aligned_copies as aligned_of
from dractl.capacity.candidates import ATTRIBUTES
from dractl.capacity.device_plugins import device_plugin_allocations
from dractl.capacity.placing import subtract_plugin_allocations
from dractl.capacity.shapes import is_shape, place_closest, shape_copies
from dractl.cli import common, completing, terminal
from dractl.cli.headings import ACTIONS, AGAINST, OptionGroup
from dractl.cli.options import autoscaler, cluster_input, driver_options
from dractl.cli.options.access import Access
from dractl.cli.options.cluster_input import Cluster, ClusterInput
from dractl.cli.options.device_sources import assume_site_values, load_added_nodes
from dractl.cli.options.printing import Printing, output_option
from dractl.cli.options.release import ReleaseOptions
from dractl.cli.options.subject import SubjectOptions
from dractl.cluster import ClusterState, sources
from dractl.cluster.podgroups import group_object
from dractl.cluster.schedulers import identify
from dractl.cluster.state import API_GROUPS
from dractl.errors import InputError, UsageError
from dractl.explain import Reason
from dractl.explain.fleet.machines import MachineJudgement, ask_autoscaler, claims_of_question
from dractl.explain.next_copy import (
    explain_next_copy,
    find_stranded,
    list_reasons_by_node,
    mark_undecided,
    question_of_copy,
)
from dractl.facts import current
from dractl.facts.autoscalers import AutoscalerChoice
from dractl.garbage import pause_collection
from dractl.model import Target
from dractl.model.driver_choice import DriverChoice
from dractl.model.shapes import split, split_list, spread
from dractl.program import program_name
from dractl.report.capacity import fit_json, machines as machines_text, text as capacity_text
from dractl.report.capacity.fit_report import FitReport
from dractl.simulation import site
from dractl.views import Claim, Pod

FORMATS = ("text", "json", "yaml", "html", "csv", "openmetrics")


Subject = tuple[Copies, ...]
"""The copies of one object; for a shape, copies of each claim that serves it. The claim with the
closest alignment is first.
"""


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
    ),
]
Pack = Annotated[bool, Option("--pack", help="Also find the maximum over all orders of placing.")]
Without = Annotated[
    list[str] | None,
    Option(
        "--without",
        metavar="KIND/[NS/]NAME",
        help=(
            "Answer as if this pod, claim, node, namespace (ns/NAME) or workload (deploy/NAME) were"
            " gone; repeatable."
        ),
        autocompletion=completing.removable_objects,
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
    ),
]
Node = Annotated[
    str | None,
    Option(
        "--node",
        metavar="NAME",
        help="Place copies on this node only.",
        autocompletion=completing.nodes,
    ),
]
AlignedOnly = Annotated[
    bool,
    Option(
        "--aligned",
        help=(
            "Count only copies whose devices are as close together as their node allows when it is "
            "idle; with SHAPE@none, only of the copies that the order of the devices leads to."
        ),
    ),
]
TrustSlices = Annotated[
    bool,
    Option(
        "--trust-slices",
        help="Count as kube-scheduler does, also devices that a device plugin has handed out.",
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
    ),
]
Output = Annotated[str, output_option(FORMATS)]


class FitSubject(SubjectOptions, frozen=True):
    """Options that name the subject to count and the objects to read."""

    name: Name = None

    @property
    def subject_file(self) -> str | None:
        """Return the file that has the subject, if one is named."""
        return self.name if self.name and os.path.exists(self.name) else None


class ChangeOptions(OptionGroup, frozen=True):
    """Options that limit the devices and nodes to count on."""

    heading: ClassVar[str] = AGAINST

    devices: cluster_input.Devices = None
    trust_slices: TrustSlices = False
    without: Without = None
    add: Add = None
    hardware: cluster_input.Hardware = None
    for_: autoscaler.For = None
    driver: driver_options.Driver = None
    driver_version: driver_options.DriverVersion = None
    driver_option: driver_options.DriverOption = None
    node: Node = None

    def parse_added_nodes(self) -> list[AddedNodes]:
        """Return the nodes of ``--add`` and ``--hardware``. Raises UsageError."""
        return [
            *parse_added_nodes("--add", self.add or ()),
            *parse_added_nodes("--hardware", self.hardware or ()),
        ]

    def choose_autoscaler(self) -> AutoscalerChoice | None:
        """Return the autoscaler of ``--for``; None without the option. Raises UsageError."""
        return autoscaler.choose(self.for_, has_machines=bool(self.hardware))

    def parse_drivers(self, added_nodes: Sequence[AddedNodes]) -> DriverChoice:
        """Parse the options of drivers. Raises UsageError."""
        return driver_options.parse(
            self.driver, self.driver_version, self.driver_option, added_nodes
        )


class CountOptions(OptionGroup, frozen=True):
    """Options that change how copies are counted."""

    heading: ClassVar[str] = ACTIONS

    replicas: Replicas = None
    pack: Pack = False
    aligned: AlignedOnly = False
    shapes: Shapes = None


def command(
    subject: FitSubject = FitSubject(),
    changes: ChangeOptions = ChangeOptions(),
    count: CountOptions = CountOptions(),
    access: Access = Access(),
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
    _check_arguments(subject.name, count.shapes, subject.more or [])
    file_state = _load_subject_file(subject, against)
    added_nodes = changes.parse_added_nodes()
    judge = changes.choose_autoscaler()
    driver_choice = changes.parse_drivers(added_nodes)
    cluster = _load_cluster(subject, changes, access, against, file_state)
    for scheduler_caveat in cluster.scheduler_caveats:
        terminal.notice(scheduler_caveat)
    if file_state is not None:
        cluster = replace(cluster, state=cluster.state.merge(file_state))
    state = _apply_changes(cluster, changes, added_nodes, driver_choice)
    _note_wiring(added_nodes)
    _warn_claims_unseen(state)
    if subject.subject_file is not None and file_state is not None:
        subjects: list[Subject] = [(_file_subject(state, subject.subject_file, file_state),)]
    else:
        words = split_list(count.shapes) if count.shapes else _parse_shapes(subject.name or "")
        subjects = [_subject(cluster, state, word.strip()) for word in dict.fromkeys(words)]
    for candidates in subjects:
        _warn(state, candidates[0])
    counts = _count_copies(cluster, state, subjects, count, trust_slices=changes.trust_slices)
    if judge is not None:
        counts = [_judge_machines(entry, judge, added_nodes, cluster.state) for entry in counts]
    common.write_output(
        _render(cluster, counts, count, output, printing), output, printing.output_file
    )
    if any(entry.total < (count.replicas or 1) for entry in counts):
        raise Exit(1)


class _Count(Struct, frozen=True):
    """The number of copies of a subject."""

    fit: Fit
    aligned: AlignedCounts | None
    """The copies with the best alignment that an idle node allows; None if they are not counted."""
    machines: tuple[MachineJudgement, ...] = ()
    """The verdicts of ``--for`` on the described machines."""

    @property
    def total(self) -> int:
        """Return the number that is compared with ``--replicas``."""
        return self.fit.fits if self.aligned is None else min(self.fit.fits, self.aligned.first)


def _judge_machines(
    entry: _Count, judge: AutoscalerChoice, added_nodes: Sequence[AddedNodes], written: ClusterState
) -> _Count:
    """Judge each described machine as an autoscaler would for a copy of the subject.

    Selectors count as people wrote them, without the assumptions about the site.
    """
    state = site.restore_selectors(entry.fit.state, written)
    kind, _, name = entry.fit.subject.name.partition("/")
    if kind == "ResourceClaim":  # its copies use a template, which still has the assumptions
        namespace, _, claim = name.rpartition("/")
        state = copies.copies_of_object(state, kind, (namespace, claim)).state
    claims = claims_of_question(state, question_of_copy(entry.fit))
    classes = state.classes
    machines = [added.source for added in added_nodes if added.description is not None]
    judgements = tuple(
        MachineJudgement(machine, ask_autoscaler(judge, machine, classes, claims))
        for machine in dict.fromkeys(machines)
    )
    return replace(entry, machines=judgements)


def _load_subject_file(subject: FitSubject, against: ReleaseOptions) -> ClusterState | None:
    """Load the objects of the file that has the subject."""
    path = subject.subject_file
    if path is None:
        return None
    values = subject.choose_values(against.settings()[0].charts)
    origin = sources.Sources((), (path,), values=values)
    with pause_collection():
        return cluster_input.load_files(origin, subject.namespace_name)


def _load_cluster(
    subject: FitSubject,
    changes: ChangeOptions,
    access: Access,
    against: ReleaseOptions,
    file_state: ClusterState | None,
) -> Cluster:
    """Load the cluster from the file with the subject if it has nodes or slices, and otherwise from
    the other inputs.
    """
    files, subject_file = subject.all_files, subject.subject_file
    has_cluster = file_state is not None and any(map(file_state.has, ("Node", "ResourceSlice")))
    is_alone = not (files or changes.devices or changes.hardware or has_cluster)
    paths = files if is_alone or subject_file is None else [*files, subject_file]
    request = ClusterInput(
        (),
        paths,
        changes.devices,
        subject.namespace_name,
        subject.namespace_name is None,
        described=bool(changes.hardware),
        file_objects=file_state if paths == [subject_file] else None,
        values=subject.choose_values(against.settings()[0].charts),
    )
    return cluster_input.load_cluster(request, access, against)


def _note_wiring(added_nodes: Sequence[AddedNodes]) -> None:
    """Print a notice on each described machine if no document says where its devices are."""
    for added in added_nodes:
        if added.description is not None and added.description.wiring is not None:
            terminal.add_aside(f"{added.source}: {added.description.wiring}")


def _warn(state: ClusterState, subject: Copies) -> None:
    """Print notices about facts that the number of copies does not show."""
    _warn_gang_ignored(subject)
    _warn_claim_shared(subject)
    _warn_other_scheduler(state, subject)


def _count_copies(
    cluster: Cluster,
    state: ClusterState,
    subjects: Sequence[Subject],
    count: CountOptions,
    *,
    trust_slices: bool,
) -> list[_Count]:
    """Count the copies of each subject. Devices that device plugins have handed out do not count,
    unless ``trust_slices``.
    """
    trusting_fits = [
        mark_undecided(_place_copies(cluster, subject), cluster.features) for subject in subjects
    ]
    alignments = [_count_aligned(cluster, fit) if count.aligned else None for fit in trusting_fits]
    allocations = () if trust_slices else device_plugin_allocations(state)
    return [
        _Count(subtract_plugin_allocations(fit, allocations, cluster.features), alignment)
        for fit, alignment in zip(trusting_fits, alignments, strict=True)
    ]


def _render(
    cluster: Cluster, counts: list[_Count], count: CountOptions, output: str, printing: Printing
) -> str:
    if common.base_format(output) == "json":
        return _render_json(cluster, counts, count)
    if output == "html":
        return _render_html(cluster, counts, count)
    if output == "csv":
        from dractl.report.capacity import csv as capacity_csv

        return capacity_csv.fit([entry.fit for entry in counts])
    if output == "openmetrics":
        from dractl.report.capacity import openmetrics as capacity_openmetrics

        reports = [_report(cluster, entry, count) for entry in counts]
        return capacity_openmetrics.fit([(report.fit, report.stranded) for report in reports])
    return _render_text(cluster, counts, count, printing)


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
                f"{word} follows the shape {name}", hint=f"write one shape: {name},{word}"
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
    """Choose the workload or pod in a file; if there is none, the template; and if that is missing,
    too, the claim.

    Raises UsageError if a file has a cluster and several subjects.
    """
    kinds = [
        kind
        for kind in file_state.kinds
        if kind not in (*_ORDER, "Node", "DeviceClass", "ResourceSlice")
    ]
    pods = [kind for kind in kinds if kind == "Pod" or kind not in API_GROUPS]
    if any(map(file_state.has, ("Node", "ResourceSlice"))):
        # The file's other pods are part of the cluster, not the subject
        pods = [kind for kind in pods if kind != "Pod"]
    objects = [
        (kind, key, value)
        for kind in (*pods, *_ORDER)
        for key, value in file_state.objects(kind).items()
    ]
    unallocated = [
        (kind, key)
        for kind, key, value in objects
        if kind != "ResourceClaim" or not Claim(value).is_allocated
    ]
    if len(unallocated) > 1 and file_state.has("Node"):
        names = ", ".join(f"{kind.lower()}/{key[1]}" for kind, key in unallocated[:5])
        raise UsageError(
            f"{path} has several objects to place", hint=f"name one, with -f {path}: {names}"
        )
    for kind, key in unallocated[:1]:
        return copies.copies_of_object(state, kind, key)
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


def _warn_claims_unseen(state: ClusterState) -> None:
    """Print a notice if the input has slices and no claim: devices that claims hold look free."""
    for row in state.list_unread(("ResourceClaim",)) if state.has("ResourceSlice") else ():
        if row.add and row.seen == "unseen":
            terminal.notice(
                "the input has no ResourceClaims: devices that claims hold look free; add"
                f" `{row.add}`"
            )


def _warn_claim_shared(subject: Copies) -> None:
    """Print a notice if copies share a claim that the pod names, and so take no further devices."""
    references = Pod(subject.pod).claim_references
    names = [reference.claim_name for reference in references if reference.claim_name]
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
    changes: ChangeOptions,
    added_nodes: list[AddedNodes],
    driver_choice: DriverChoice,
) -> ClusterState:
    """Apply `--without`, `--add` and `--node` to the cluster. Raises InputError for an object that
    does not exist.
    """
    state = cluster.state
    for name in changes.without or ():
        state = what_if.remove_object(state, name, cluster.namespace, cluster.kinds)
    if state.objects("ResourceSlice"):
        state = sources.filter_drivers(state, driver_choice.drivers)
    target = Target.of(cluster.features.release)
    state = add_nodes(
        state, added_nodes, lambda addition: load_added_nodes(addition, target, driver_choice)
    )
    state = assume_site_values(state, state.objects("ResourceSlice").values(), target)
    return state if changes.node is None else what_if.keep_node(state, changes.node)


def _stop_reasons(cluster: Cluster, fit: Fit) -> tuple[Reason, ...]:
    """Return the reasons why no further copy fits, if the number alone does not show them."""
    shape = fit.subject.shape
    if fit.fits and (shape is None or shape.constraint not in ATTRIBUTES):
        return ()
    with terminal.progress() as progress:
        progress(f"looking for what stops {fit.subject.name}")
        explanation = explain_next_copy(fit, cluster.features)
    return explanation.reasons if explanation is not None else ()


def _report(cluster: Cluster, count: _Count, options: CountOptions) -> FitReport:
    """Compute everything that the formats show besides the number. What stops the next copy is
    judged as kube-scheduler would, without knowledge of device plugins.
    """
    fit = count.fit.scheduler_fit or count.fit
    with terminal.progress() as progress:
        progress("looking for stranded devices")
        explanation = explain_next_copy(fit, cluster.features)
        is_unknown = explanation is not None and explanation.is_unknown_machine
        is_packed = options.pack and not is_unknown
        maximum = max_copies(fit, cluster.features, progress) if is_packed else None
        by_node = list_reasons_by_node(explanation)
        return FitReport(
            count.fit,
            explanation.reasons if explanation is not None else (),
            find_stranded(fit, cluster.features, by_node),
            maximum,
            by_node,
            count.aligned,
            options.replicas,
        )


def _render_json(cluster: Cluster, counts: list[_Count], options: CountOptions) -> str:
    values = []
    for count in counts:
        fit_report = _report(cluster, count, options)
        values.append(fit_json.fit_value(fit_report, cluster.release_name))
        if count.machines:
            values[-1]["machines"] = to_builtins(count.machines)
    report: dict[str, Any] = (
        values[0] if len(values) == 1 else {"schema": "dractl/fit/v1", "subjects": values}
    )
    report["facts"] = current().to_json()
    if input_origin := cluster.origin.to_json():
        report["input"] = input_origin
    if cluster.live_release_assumed:
        report["kubernetesVersionAssumed"] = True
    if unread := cluster.state.list_unread():
        report["unread"] = [row.as_json() for row in unread]
    return json.dumps(report, indent=1, ensure_ascii=False)


def _render_html(cluster: Cluster, counts: list[_Count], count: CountOptions) -> str:
    from dractl.report.capacity import html as capacity_html

    title = cluster.origin.title
    if len(counts) > 1:
        inventory = take_inventory(cluster.state, cluster.features)
        return capacity_html.shapes([entry.fit for entry in counts], inventory, title)
    fit, aligned = counts[0].fit, counts[0].aligned
    report = _report(cluster, counts[0], count)
    inventory = take_inventory(fit.state, cluster.features)
    stops = capacity_text.describe_stops(report.stops)
    stops += [
        f"kube-scheduler ends {', '.join(pods)} on {node} for it" for node, pods in fit.preempts[:4]
    ]
    return capacity_html.fit(fit, inventory, stops, report.stranded, report.maximum, aligned, title)


def _render_text(
    cluster: Cluster, counts: list[_Count], count: CountOptions, printing: Printing
) -> str:
    canvas = terminal.canvas(to_file=printing.to_file)
    if len(counts) > 1:
        fits = [entry.fit for entry in counts]
        stops = [_stop_reasons(cluster, fit) for fit in fits]
        text = capacity_text.shapes(fits, canvas, [entry.aligned for entry in counts], stops)
        return text + "".join(machines_text.render(e.machines, canvas) for e in counts)
    report = _report(cluster, counts[0], count)
    text = capacity_text.fit(report, canvas, cluster.release, every=printing.verbose > 0)
    return text + machines_text.render(counts[0].machines, canvas)
