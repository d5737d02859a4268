"""``dractl plan``: which running pods have to move so that a pod, a workload or a shape fits."""

import json
from typing import Annotated, Any, ClassVar

from typer import Argument, Exit, Option

from dractl.capacity import Copies, copies
from dractl.capacity.shapes import is_shape, shape_copies
from dractl.cli import common, completing, terminal
from dractl.cli.headings import ACTIONS, AGAINST, OptionGroup
from dractl.cli.options import cluster_input
from dractl.cli.options.access import Access
from dractl.cli.options.cluster_input import Cluster, ClusterInput
from dractl.cli.options.printing import ExitZero, Printing, output_option
from dractl.cli.options.release import ReleaseOptions
from dractl.cli.options.subject import SubjectOptions
from dractl.cluster.labels import parse_labels
from dractl.errors import UsageError
from dractl.explain import Explainer, Options, Question, find_subjects
from dractl.facts import current
from dractl.model.shapes import spread
from dractl.objects.values import drop_uid
from dractl.planning import (
    Plan,
    PlanOptions,
    Subject,
    find_plan,
    subject_of_copies,
    subject_of_pods,
)
from dractl.program import program_name
from dractl.report.planning import json as planning_json, text as planning_text

FORMATS = ("text", "json", "yaml", "html")

Name = Annotated[
    str | None,
    Argument(
        metavar="SUBJECT",
        help=(
            "What has to fit: pod/NAME, deploy/NAME, job/NAME ... (their pending pods),"
            " template/NAME, claim/NAME, or a shape such as gpu=8."
        ),
        show_default=False,
        autocompletion=completing.subjects,
    ),
]
MAX_REPLICAS = 1_000
"""The maximum number of pods for which room is made at once, since each of them is scheduled in
each step of the search.
"""
Replicas = Annotated[
    int | None,
    Option(
        "--replicas",
        metavar="N",
        parser=common.number_parser("--replicas", 1, MAX_REPLICAS),
        help="Make room for N pods. Default: all pending pods of SUBJECT, else 1.",
    ),
]
End = Annotated[
    bool, Option("--end", help="Let pods also end without a new place, as few as possible.")
]
Keep = Annotated[
    str | None,
    Option(
        "--keep",
        metavar="LABELS",
        help="Do not move pods with these labels, written as for `kubectl get pods -l`.",
    ),
]
Output = Annotated[str, output_option(FORMATS)]


class PlanSubject(SubjectOptions, frozen=True):
    """Options that name the pods that have to fit and the objects to read."""

    name: Name = None


class AgainstOptions(OptionGroup, frozen=True):
    """The devices that count."""

    heading: ClassVar[str] = AGAINST

    devices: cluster_input.Devices = None


class PlanningOptions(OptionGroup, frozen=True):
    """Options that limit the moves of a plan."""

    heading: ClassVar[str] = ACTIONS

    replicas: Replicas = None
    end: End = False
    keep: Keep = None
    exit_zero: ExitZero = False

    def parse(self) -> PlanOptions:
        """Parse the options. Raises UsageError."""
        keep = None if self.keep is None else parse_labels(self.keep, "--keep")
        return PlanOptions(may_end=self.end, keep=keep)


def command(
    subject: PlanSubject = PlanSubject(),
    sources: AgainstOptions = AgainstOptions(),
    planning: PlanningOptions = PlanningOptions(),
    access: Access = Access(),
    against: ReleaseOptions = ReleaseOptions(),
    output: Output = "text",
    printing: Printing = Printing(),
) -> None:
    """Find the fewest running pods that have to move so that SUBJECT fits.

    To move is to be evicted and recreated by the owner on another node. Pods without a controller,
    of DaemonSets, with `safe-to-evict: "false"` or `do-not-disrupt: "true"`, of an exhausted
    PodDisruptionBudget, of higher priority, of a Job that would fail, or with a claim that others
    share do not move. Each step is proven in the cluster after the steps before it. Nothing is
    changed: the commands are printed. The exit code is 1 if there is no plan.

    Examples: `dractl plan pod/train-0 -n ml`, `dractl plan gpu=8 -f dump.yaml`,
    `dractl plan deploy/chat --replicas 2 --keep app=search`
    """
    printing.apply()
    common.choose_output(output, FORMATS)
    options = planning.parse()
    if subject.name is None:
        raise UsageError(
            "name what has to fit", hint=f"{program_name()} plan pod/NAME, or plan gpu=8"
        )
    cluster = _load_cluster(subject, sources, access, against)
    for caveat in cluster.scheduler_caveats:
        terminal.notice(caveat)
    wanted = _find_subject(cluster, subject.name, planning.replicas)
    with terminal.progress() as progress:
        plan = find_plan(wanted, cluster.features, options, progress)
    reasons = _list_reasons(cluster, plan)
    common.write_output(
        _render(cluster, plan, reasons, output, printing), output, printing.output_file
    )
    if plan.verdict in ("none", "undecided") and not planning.exit_zero:
        raise Exit(1)


def _load_cluster(
    subject: PlanSubject, sources: AgainstOptions, access: Access, against: ReleaseOptions
) -> Cluster:
    request = ClusterInput(
        (),
        subject.all_files,
        sources.devices,
        subject.namespace_name,
        subject.namespace_name is None,
        values=subject.choose_values(against.settings()[0].charts),
    )
    return cluster_input.load_cluster(request, access, against)


def _find_subject(cluster: Cluster, name: str, replicas: int | None) -> Subject:
    """Return the subject that a word means. Raises UsageError or InputError."""
    state, features = cluster.state, cluster.features
    shape = spread(name)
    if is_shape(state, shape):
        # The last claim for a shape demands only the alignment that was asked for.
        *_, last = shape_copies(state, features, shape, cluster.namespace or "default")
        return subject_of_copies(last, replicas or 1)
    questions = find_subjects(state, name, cluster.namespace, cluster.kinds)
    first = questions[0]
    if first.kind == "Node":
        raise UsageError(
            f"{name} is a node",
            hint="name a pod, a workload, a template or a shape that has to fit",
        )
    if first.kind != "Pod":
        return subject_of_copies(_copies(cluster, first), replicas or 1)
    title = name if len(questions) > 1 else "/".join(("Pod", *first.key))
    pending = [question.key for question in questions if question.pod.is_pending]
    keys = pending or [question.key for question in questions]
    return subject_of_pods(state, title, keys[: replicas or len(keys)])


def _copies(cluster: Cluster, question: Question) -> Copies:
    return copies.copies_of_object(cluster.state, question.kind, question.key)


def _list_reasons(cluster: Cluster, plan: Plan) -> tuple[str, ...]:
    """Return why there is no plan. For a subject that fits nowhere, these are the sentences of
    explain.
    """
    if not plan.is_hopeless:
        return plan.reasons
    pod = plan.before.pod(plan.subjects[0])
    raw = drop_uid(pod.raw) if pod.has_uncreated_claims else pod.raw
    explainer = Explainer(plan.before, cluster.features, Options(fixes=0))
    return (explainer.explain(Question("Pod", pod.key, raw)).headline,)


def _render(
    cluster: Cluster, plan: Plan, reasons: tuple[str, ...], output: str, printing: Printing
) -> str:
    if common.base_format(output) == "json":
        return _render_json(cluster, plan, reasons)
    if output == "html":
        from dractl.report.planning import html as planning_html

        return planning_html.render(plan, cluster.features, reasons, cluster.origin.title)
    canvas = terminal.canvas(to_file=printing.to_file)
    return planning_text.render(plan, canvas, cluster.release, reasons)


def _render_json(cluster: Cluster, plan: Plan, reasons: tuple[str, ...]) -> str:
    report: dict[str, Any] = planning_json.plan_value(plan, reasons, cluster.release_name)
    report["facts"] = current().to_json()
    if input_origin := cluster.origin.to_json():
        report["input"] = input_origin
    if unread := cluster.state.list_unread():
        report["unread"] = [row.as_json() for row in unread]
    return json.dumps(report, indent=1, ensure_ascii=False)
