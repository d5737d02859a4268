"""``dractl explain``: why a claim or pod is not allocated, and what would make it fit."""

import sys
from collections.abc import Sequence
from typing import Annotated, ClassVar

from msgspec import Struct
from msgspec.structs import replace
from typer import Argument, Exit, Option

from dractl.cli import common, completing, terminal, watching
from dractl.cli.app import MAX_REPETITIONS
from dractl.cli.headings import ACTIONS, AGAINST, INPUT, OptionGroup
from dractl.cli.options import autoscaler, cluster_input, driver_options
from dractl.cli.options.access import Access
from dractl.cli.options.cluster_input import Cluster, ClusterInput
from dractl.cli.options.printing import ExitZero, Printing, output_option
from dractl.cli.options.release import ReleaseOptions
from dractl.cli.options.values import ValuesOptions
from dractl.cluster import ClusterState
from dractl.cluster.clock import newest_time
from dractl.cluster.kinds import check_namespace
from dractl.cluster.labels import parse_labels
from dractl.cluster.rights import Rights
from dractl.cluster.sources import describe_unusable_input, filter_drivers
from dractl.cluster.state import API_GROUPS
from dractl.cluster.workloads import WORKLOAD_KINDS
from dractl.errors import InputError, UsageError
from dractl.explain import (
    Explainer,
    Explanation,
    Options,
    Question,
    explain_each,
    find_all_waiting,
    find_by_labels,
    find_subjects,
)
from dractl.explain.fleet.batch import drop_repeated_step
from dractl.explain.fleet.groups import Group, explain_groups
from dractl.explain.permissions import can_decide, join_words
from dractl.facts import current
from dractl.facts.autoscalers import AutoscalerChoice
from dractl.model import Target
from dractl.model.abbreviation import abbreviate
from dractl.model.driver_choice import DriverChoice
from dractl.program import program_name
from dractl.report.explain import (
    groups as explain_groups_text,
    json as explain_json,
    openmetrics as explain_openmetrics,
    overview,
    text as explain_text,
)
from dractl.views import View

_PENDING_KINDS = ("Pod", "ResourceClaim")
FORMATS = ("text", "name", "json", "yaml", "html", "csv", "openmetrics")

Names = Annotated[
    list[str] | None,
    Argument(
        metavar="[KIND/]NAME | FILE",
        help=(
            "Pod or claim by NAME, KIND/NAME (deploy/NAME, node/NAME ...), or a file. Default:"
            " everything pending."
        ),
        show_default=False,
        autocompletion=completing.subjects,
    ),
]
Selector = Annotated[
    str | None,
    Option(
        "--selector",
        "-l",
        metavar="LABELS",
        help="Only subjects with these labels, like `kubectl get pods -l`.",
    ),
]
Node = Annotated[
    str | None,
    Option(
        "--node", metavar="NAME", help="Answer for this node only.", autocompletion=completing.nodes
    ),
]
Hardware = Annotated[
    list[str] | None,
    Option(
        "--hardware",
        metavar="SPEC,...",
        help=(
            "Show which described machines would serve the subject, and why others would not. Name "
            "machines as for `dractl render`, or several by `all`, a vendor such as aws, or a "
            "pattern such as 'p5*'. KIND/NAME is read from the cluster; for a file, no cluster is "
            "read."
        ),
        autocompletion=completing.offer_comma_list(completing.machine_patterns),
    ),
]
NetworkDevices = Annotated[
    list[str] | None,
    Option("--network-devices", metavar="FILE", help="Add pools of network-attached devices."),
]
Patch = Annotated[
    int,
    Option(
        "--patch",
        metavar="[N]",
        parser=common.number_parser("--patch"),
        help="Print the first fix, or fix N, as a shell script of kubectl commands.",
    ),
]
Output = Annotated[str, output_option(FORMATS)]
Watch = Annotated[
    bool, Option("--watch", help="Explain again whenever something that matters changes.")
]


class InputOptions(ValuesOptions, frozen=True):
    """The subjects, the objects that are read, and the values for charts."""

    heading: ClassVar[str] = INPUT

    names: Names = None
    files: cluster_input.Files = None
    namespace: cluster_input.Namespace = None
    all_namespaces: cluster_input.AllNamespaces = False
    selector: Selector = None

    def check(self) -> None:
        """Raise UsageError for more names than ``MAX_REPETITIONS``."""
        count = len(self.names or ())
        if count > MAX_REPETITIONS:
            raise UsageError(
                f"{count:,} names are given, and at most {MAX_REPETITIONS:,} are taken",
                hint="-A explains all",
            )


class MachineOptions(OptionGroup, frozen=True):
    """The devices, nodes and drivers that the question is about."""

    heading: ClassVar[str] = AGAINST

    devices: cluster_input.Devices = None
    hardware: Hardware = None
    for_: autoscaler.For = None
    driver: driver_options.Driver = None
    driver_version: driver_options.DriverVersion = None
    driver_option: driver_options.DriverOption = None
    network_devices: NetworkDevices = None
    node: Node = None

    def choose_autoscaler(self) -> AutoscalerChoice | None:
        """Return the autoscaler of ``--for``; None without the option. Raises UsageError."""
        return autoscaler.choose(self.for_, has_machines=bool(self.hardware))

    def parse_drivers(self) -> DriverChoice:
        """Parse the options of drivers. Raises UsageError."""
        return driver_options.parse(
            self.driver, self.driver_version, self.driver_option, self.hardware
        )


class AnswerOptions(OptionGroup, frozen=True):
    """The format of the answer, its exit code and script, and whether it is repeated."""

    heading: ClassVar[str] = ACTIONS

    patch: Patch = 0
    watch: Watch = False
    exit_zero: ExitZero = False
    output: Output = "text"

    def check(self, *, has_machines: bool) -> None:
        """Raise UsageError for a patch or a table that cannot be printed."""
        if self.output == "csv" and not has_machines:
            raise UsageError(
                "-o csv is a table of machines and subjects", hint="name machines with --hardware"
            )
        if self.patch and self.output != "text":
            raise UsageError(
                f"--patch prints a shell script, not {self.output}",
                hint="-o json has the changes and commands of every fix",
            )


def command(
    inputs: InputOptions = InputOptions(),
    machines: MachineOptions = MachineOptions(),
    access: Access = Access(),
    against: ReleaseOptions = ReleaseOptions(),
    answer: AnswerOptions = AnswerOptions(),
    printing: Printing = Printing(),
) -> None:
    """Explain why a claim or pod is not allocated, node by node, and show the smallest change that
    makes it fit.

    Objects come from the cluster of the kubeconfig, or from files. Several subjects are shown as a
    table; -v also explains in full those that do not fit, and -vv explains these node by node. For
    a single subject, -v goes node by node. The exit code is 1 if anything asked about does not fit.

    Examples: `dractl explain train-0 -n ml`, `dractl explain -f dump.yaml pod/train-0`,
    `dractl explain claim.yaml --devices local`,
    `dractl explain pod/train-0 -n ml --hardware p5.48xlarge,dgx-a100`
    """
    printing.apply()
    common.choose_output(answer.output, FORMATS)
    answer.check(has_machines=bool(machines.hardware))
    inputs.check()
    driver_choice = machines.parse_drivers()
    judge = machines.choose_autoscaler()
    if machines.hardware:
        from dractl.cli import machine_comparison

        machine_comparison.refuse_combinations(
            answer.output,
            patch=bool(answer.patch),
            node=machines.node is not None,
            devices=bool(machines.devices),
        )

    def make_report(*, aged: bool = True) -> tuple[str, bool]:
        cluster = _load_cluster(inputs, machines, access, against)
        if machines.hardware:
            cluster = _add_network_devices(cluster, machines, against)
            target = _describe_target(cluster, against)
            output = common.base_format(answer.output)
            return machine_comparison.compare(
                cluster, machines.hardware, driver_choice, target, output, printing, judge
            )
        cluster = replace(cluster, state=filter_drivers(cluster.state, driver_choice.drivers))
        cluster = _add_network_devices(cluster, machines, against)
        return _explain(cluster, _Request(inputs.selector, machines.node, answer, printing, aged))

    if answer.watch:
        if answer.output != "text" or answer.patch:
            raise UsageError("--watch prints only text", hint="omit -o and --patch")

        # A pipe gets a report only if it differs from the last one, and an age always differs.
        watching.repeat(watching.tolerate_errors(lambda: make_report(aged=sys.stdout.isatty())[0]))
        return
    text, fits = make_report()
    common.write_output(text, answer.output, printing.output_file)
    if not answer.exit_zero and not fits:
        raise Exit(1)


def _find_rules(cluster: Cluster, output: str) -> str:
    """Return the text about the named DeviceTaintRules; "" if none is named."""
    if not any(name.lower().startswith("devicetaintrule") for name in cluster.sources.names):
        return ""
    from dractl.cli import rule_hits

    names = rule_hits.select_rule_names(cluster.sources.names)
    if not names:
        return ""
    if len(names) < len(cluster.sources.names) or output != "text":
        raise UsageError(
            "DeviceTaintRules are explained by themselves, as text",
            hint=f"{program_name()} impact FILE -o json lists the pods that a rule affects",
        )
    return rule_hits.describe_stored_rules(cluster.state, cluster.features, names)


def _load_cluster(
    inputs: InputOptions, machines: MachineOptions, access: Access, against: ReleaseOptions
) -> Cluster:
    request = ClusterInput(
        inputs.names,
        inputs.files,
        machines.devices,
        inputs.namespace,
        inputs.all_namespaces,
        partly=True,
        described=bool(machines.hardware) and not cluster_input.subject_names(inputs.names or []),
        values=inputs.choose_values(against.settings()[0].charts),
    )
    return cluster_input.load_cluster(request, access, against)


def _describe_target(cluster: Cluster, against: ReleaseOptions) -> Target:
    """Return the release of the cluster, with the gates of the options."""
    settings, variables = against.settings()
    _, gates = replace(against, kubernetes_version=None).release_and_gates(settings, variables)
    return Target.of(cluster.features.release, gates)


def _add_network_devices(
    cluster: Cluster, machines: MachineOptions, against: ReleaseOptions
) -> Cluster:
    """Add the devices of ``--network-devices`` to the cluster."""
    if not machines.network_devices:
        return cluster
    from dractl.cluster.described_nodes import load_network_devices

    target = _describe_target(cluster, against)
    pools = load_network_devices(machines.network_devices, target, terminal.notice)
    return replace(cluster, state=pools.merge(cluster.state))


def _find_questions(
    cluster: Cluster, selector: str | None
) -> tuple[list[Question], list[InputError]]:
    """Find the named or labelled subjects, or everything that is pending.

    The errors are for names without an object. If no name has an object, the first error is raised.
    """
    state, names = cluster.state, cluster.sources.names
    if selector is not None:
        return (
            find_by_labels(state, names, parse_labels(selector), cluster.namespace, cluster.kinds),
            [],
        )
    if not names:
        return find_all_waiting(state, cluster.namespace, cluster.files), []
    questions: list[Question] = []
    missing: list[InputError] = []
    for name in names:
        try:
            questions += find_subjects(state, name, cluster.namespace, cluster.kinds)
        except InputError as error:
            missing.append(error)
    if missing and not questions:
        raise missing[0]
    return questions, missing


class _Request(Struct, frozen=True):
    """The subjects, and the form of the answer."""

    selector: str | None
    """Labels of the subjects."""
    node: str | None
    """The only node that the question is about, or None for all."""
    answer: AnswerOptions
    printing: Printing
    aged: bool
    """True if the report has the ages of the subjects."""

    @property
    def output(self) -> str:
        """Return the format in which the report is made."""
        return common.base_format(self.answer.output)


class _Report(Struct, frozen=True):
    """The answers that a report shows."""

    explanations: list[Explanation]
    groups: list[Group]
    """Workloads and gangs, explained as wholes."""
    listed: bool
    """True if the question is about more than one subject."""
    several: bool
    """True if there are more subjects than names."""

    @property
    def fits(self) -> bool:
        """Return True if every subject fits."""
        return all(e.fits for e in self.explanations) and all(g.complete for g in self.groups)


def _explain(cluster: Cluster, request: _Request) -> tuple[str, bool]:
    """Return the report, and True if every subject fits."""
    if rules := _find_rules(cluster, request.output):
        return rules, True
    questions, missing = _find_questions(cluster, request.selector)
    if not questions:
        text = _report_nothing_pending(
            cluster, request.selector, request.output, patch=bool(request.answer.patch)
        )
        return text, _can_read_all(cluster)
    _warn_incomplete_dump(cluster)
    report = _answer(cluster, request, questions)
    if request.printing.verbose:
        terminal.notice(current().title)
    text = _render(cluster, report, request)
    for error in missing:
        if request.output == "text" and not request.answer.patch:
            text += f"\n{error}\n"
        else:
            terminal.notice(str(error))
    return text, not missing and report.fits


def _answer(cluster: Cluster, request: _Request, questions: list[Question]) -> _Report:
    """Answer the questions. Raises InputError for a node that does not exist."""
    names, patch = cluster.sources.names, request.answer.patch
    explainer = _make_explainer(cluster, request.node)
    with terminal.progress() as progress:
        explanations = explain_each(explainer, questions, progress, group_replicas=not patch)
    explanations = [
        replace(
            drop_repeated_step(explanation, names),
            release=cluster.release_name,
            release_from=cluster.release_from,
        )
        for explanation in explanations
    ]
    return _Report(
        explanations,
        [] if patch or request.selector else _explain_groups(explainer, cluster, questions),
        listed=len(names) != 1 or len(questions) != 1,
        several=len(explanations) > max(1, len(names)),
    )


def _make_explainer(cluster: Cluster, node: str | None) -> Explainer:
    notes = (cluster.caveat,) if cluster.caveat else ()
    options = Options(
        cluster.release_assumed,
        node,
        notes=notes,
        attempt_notes=cluster.scheduler_caveats,
        gate_evidence=cluster.gate_evidence,
    )
    explainer = Explainer(cluster.state, cluster.features, options)
    node_names = list(explainer.scheduler.nodes)
    if node is not None and node not in node_names:
        raise InputError(
            f"--node {node}: no such node", hint=f"nodes: {', '.join(node_names[:8]) or 'none'}"
        )
    return explainer


def _explain_groups(
    explainer: Explainer, cluster: Cluster, questions: Sequence[Question]
) -> list[Group]:
    """Explain the named workloads and gangs as wholes. Without names, explain the workloads of
    manifests.

    The list is empty if the user is not allowed to read their objects.
    """
    if not can_decide(cluster.state.rights):
        return []
    workloads = (q for q in questions if q.kind in WORKLOAD_KINDS)
    manifests = (q for q in workloads if not View(cluster.state.get(q.kind, q.key)).uid)
    names = cluster.sources.names or list(
        dict.fromkeys("/".join((q.kind, *q.key)) for q in manifests)
    )
    with terminal.progress() as progress:
        return explain_groups(explainer, names, cluster.namespace, cluster.kinds, progress)


def _report_nothing_pending(
    cluster: Cluster, selector: str | None, output: str, *, patch: bool
) -> str:
    """Report that nothing is pending. Raises InputError if the input has nothing that could be."""
    state, namespace = cluster.state, cluster.namespace
    if not (cluster.sources.live or any(state.has(kind) for kind in ("Pod", "ResourceClaim"))):
        raise InputError(
            _no_subject_message(state),
            hint=describe_unusable_input(cluster.sources.files) or _list_contents(state),
        )
    check_namespace(state, namespace)
    is_narrowed = namespace is not None and selector is None
    waiting = (
        sorted(question.key[0] for question in find_all_waiting(state, None)) if is_narrowed else []
    )
    if waiting:
        namespaces = list(dict.fromkeys(waiting))
        names = abbreviate(namespaces, 4)
        count = f"{len(waiting)} {'is' if len(waiting) == 1 else 'are'} pending in {names}"
        terminal.notice(f"{count}: -A shows all, -n NAMESPACE those in one namespace")
    scope = f" in namespace {namespace}" if namespace is not None else ""
    if output == "json":
        return explain_json.render(
            [], listed=True, unread=state.list_unread(), origin=cluster.origin
        )
    selection = f" with {selector}" if selector is not None else ""
    sentence = (
        f"nothing{selection} is pending{scope}: no pod waits for devices, and no claim is"
        " unallocated"
    )
    rights = state.rights
    if rights.unread:
        unread = join_words(
            list(dict.fromkeys(entry.resource.partition(".")[0] for entry in rights.unread))
        )
        sentence = (
            f"{sentence}, but you are not allowed to read {unread}"
            if _can_read_all(cluster)
            else _doubt_sentence(rights, namespace, selection + scope)
        )
        if rights.full_grant:
            sentence += (
                f"\n{'# ' if patch else ''}an administrator can allow it: {rights.full_grant}"
            )
    if output == "openmetrics":
        return explain_openmetrics.render([])
    if output == "html":
        from dractl.report.explain import html as explain_html

        return explain_html.render([], otherwise=sentence, origin=cluster.origin)
    return f"{'# ' if patch else ''}{sentence}\n"


def _can_read_all(cluster: Cluster) -> bool:
    """Return True if all pods and claims that may wait were read."""
    rights, namespace = cluster.state.rights, cluster.namespace
    if namespace is None:
        return not any(entry.kind in _PENDING_KINDS for entry in rights.unread)
    return all(rights.can_read(kind, namespace) for kind in _PENDING_KINDS)


def _doubt_sentence(rights: Rights, namespace: str | None, scope: str) -> str:
    """Return the sentence that subjects which the user is not allowed to read could be pending."""
    hidden = [
        entry
        for entry in rights.unread
        if entry.kind in _PENDING_KINDS and (not namespace or entry.namespace != namespace)
    ]
    names = join_words([entry.resource.partition(".")[0] for entry in hidden])
    outside = hidden[0].namespace
    unread = f"{names}{f' outside of namespace {outside}' if outside else ''}"
    return (
        f"it is unknown whether anything{scope} is pending: you are not allowed to read {unread};"
        " nothing that was read waits"
    )


def _warn_incomplete_dump(cluster: Cluster) -> None:
    """Print a notice if a dump has pods with claims, but no object that determines their
    devices.
    """
    state = cluster.state
    kinds = ("ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceClass")
    if cluster.sources.live or any(state.has(kind) for kind in kinds):
        return
    if any(pod.claim_references for pod in state.pods.values()):
        terminal.notice(
            "the input has pods with claims and no DRA object (kubectl cluster-info dump writes"
            " none); add them: kubectl get"
            " resourceclaims,resourceclaimtemplates,resourceslices,deviceclasses -A -o yaml >"
            " dra.yaml, then -f dra.yaml"
        )


def _no_subject_message(state: ClusterState) -> str:
    """Say that a file has no subject, or that its only workload uses no claim."""
    workloads = [
        (kind, key[1])
        for kind in state.kinds
        if kind not in API_GROUPS
        for key in state.objects(kind)
    ]
    if len(workloads) == 1:
        return f"{workloads[0][0]} {workloads[0][1]} uses no claim"
    return "no pod or claim in the input"


def _list_contents(state: ClusterState) -> str:
    counts = ", ".join(f"{len(state.objects(kind))} {kind}" for kind in state.kinds)
    return f"the input has {counts}" if counts else "the input has no object that explain reads"


def _render(cluster: Cluster, report: _Report, request: _Request) -> str:
    output, origin = request.output, cluster.origin
    unread = cluster.state.list_unread()
    explanations, groups = report.explanations, report.groups
    if request.answer.patch:
        return _render_patches(explanations, request.answer.patch)
    if output == "name":
        return "".join(f"{e.subject.address}\n" for e in explanations)
    if output == "text":
        now = newest_time(cluster.state) if request.aged else None
        return _render_text(report, request.printing, now)
    if output == "json":
        return explain_json.render(
            explanations, listed=report.listed, groups=groups, unread=unread, origin=origin
        )
    if output == "openmetrics":
        return explain_openmetrics.render(explanations)
    from dractl.report.explain import html as explain_html

    return explain_html.render(explanations, groups, now=origin.time, origin=origin)


def _render_text(report: _Report, printing: Printing, now: float | None) -> str:
    """Render a single subject, or each named subject, in full; otherwise render a table of all
    subjects.

    With -v, each subject that does not fit follows the table.
    """
    explanations, verbose, to_file = report.explanations, printing.verbose, printing.to_file
    canvas = terminal.canvas(to_file=to_file, most=120)
    group_text = explain_groups_text.text(report.groups, canvas) + "\n" if report.groups else ""
    if not report.several:
        return group_text + explain_text.render(explanations, canvas, now=now, every=verbose > 0)
    screen = terminal.height(sys.stdout)
    text = overview.table(explanations, canvas, now=now, screen=0 if to_file else screen)
    unplaced = (
        [e for e in explanations if not e.fits or e.subject.kind == "Node"] if verbose else []
    )
    if unplaced:
        text += "\n" + explain_text.render(unplaced, canvas, now=now, every=verbose > 1)
    text = group_text + text
    if not verbose and (to_file or not screen or text.count("\n") + 2 <= screen):
        terminal.notice("for details: explain KIND/NAME -n NAMESPACE, or -v for all")
    return text


def _render_patches(explanations: list[Explanation], number: int) -> str:
    from dractl.report.explain import patch as explain_patch

    terminal.write_utf8()
    count = max(len(e.fixes) for e in explanations)
    if not count:
        raise InputError(
            "no change was found to make it fit",
            hint=f"{program_name()} explain without --patch shows why it does not fit",
        )
    if number > count:
        raise UsageError(
            f"--patch {number}: there {'is 1 fix' if count == 1 else f'are {count} fixes'}"
        )
    return explain_patch.render([e for e in explanations if len(e.fixes) >= number], number)
