"""Builds the Explanation from the conclusion and the other parts of an answer."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import Features, RequestSurvey, Survey
from dractl.cluster.devices import Devices
from dractl.cluster.shell import NextStep, quote_command
from dractl.cluster.state import ClusterState, Key
from dractl.cluster.workloads import idle_state
from dractl.explain.answer import (
    Conflict,
    DeviceStatus,
    ExpectedNode,
    Explanation,
    Fix,
    FunnelStage,
    NodeAnswer,
    Reason,
    Subject,
    reason_of,
)
from dractl.explain.ask import CLAIMS, Question
from dractl.explain.conclude import Conclusion
from dractl.explain.context import Case
from dractl.explain.diagnosis import pods, schedulers
from dractl.explain.diagnosis.combinations import conflict_on
from dractl.explain.diagnosis.gangs import GangDiagnosis
from dractl.explain.diagnosis.nodes import NodeFindings
from dractl.explain.fleet import node_report
from dractl.explain.funnel import count_nodes, funnel, merge_surveys
from dractl.explain.moves import suggest_plan
from dractl.explain.obstacles.description import Description
from dractl.explain.permissions import MissingPermissions
from dractl.explain.rank import nodes_excluded_by_pod
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.constraints import ConstraintConflict
from dractl.explain.reasons.cross_object import PodsNotCreated
from dractl.explain.reasons.drivers import PluginFault
from dractl.explain.reasons.next_step import AskedObject
from dractl.explain.reasons.phrases import Names
from dractl.explain.reasons.pools import NoSlicesForDriver, NoSlicesOnNode
from dractl.model import Target
from dractl.program import program_name
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.words import SchedulerWords
from dractl.validation import validate
from dractl.views import View

if TYPE_CHECKING:
    from dractl.alignment import Alignment

MAX_STEPS = 3  # maximum number of next steps of an answer


class Parts(Struct, frozen=True):
    """Everything that an answer has besides its conclusion."""

    case: Case | None = None
    """The case of the attempt, if there was one."""
    found: Sequence[NodeFindings] = ()
    """The findings on each node of the attempt."""
    nodes: tuple[NodeAnswer, ...] = ()
    """The answers for nodes, if there was no attempt."""
    fixes: tuple[Fix, ...] = ()
    steps: tuple[NextStep, ...] = ()
    """Steps that replace the causes' next steps."""
    then: tuple[NextStep, ...] = ()
    """Steps that come after the next steps of the causes."""
    notes: tuple[str, ...] = ()
    blind: MissingPermissions = MissingPermissions()
    """Permissions that the user lacks."""
    alignment: "tuple[Alignment, ...]" = ()
    expected_nodes: tuple[ExpectedNode, ...] = ()
    """Nodes that an autoscaler would launch for the pod."""
    described: Description = Description()
    """The obstacles, and when the subject could fit."""
    words: SchedulerWords | None = None
    """kube-scheduler's newest words about the subject."""


def build(
    scheduler: Scheduler,
    devices: Devices,
    question: Question,
    subject: Subject,
    conclusion: Conclusion,
    parts: Parts,
    *,
    assumed: bool,
) -> Explanation:
    """Build the answer to a question. ``assumed`` is True if neither the user nor the input names
    the release.
    """
    case, permissions = parts.case, parts.blind
    names = case.names if case is not None else Names()
    reason = case.reason if case is not None else partial(reason_of, names=names)
    details = _details(scheduler, devices, conclusion, parts)
    asked = AskedObject(question.kind, *question.key, details.volumes)
    answers = parts.nodes or tuple(_answer_node(n, case, reason) for n in parts.found)
    if conclusion.verdict == "undecided":
        answers = tuple(map(_withhold_allocation, answers))
    causes = (*conclusion.causes, *conclusion.behind)
    steps = parts.steps or next_steps(asked, causes, parts.fixes, parts.then)
    return Explanation(
        subject,
        conclusion.verdict,
        scheduler.features.release,
        assumed,
        headline=conclusion.headline.text(names),
        clauses=conclusion.headline.clauses(names),
        scheduler_message=conclusion.scheduler_message,
        when=parts.described.when,
        obstacles=parts.described.obstacles,
        reasons=tuple(map(reason, _add_causes(causes, parts.described.causes))),
        nodes=answers,
        funnel=details.funnel,
        conflict=details.conflict,
        fixes=parts.fixes,
        plan=(
            suggest_plan(asked, conclusion.causes, details.requests)
            if conclusion.verdict == "unallocatable"
            else None
        ),
        next=(*steps, *permissions.steps(scheduler.state.rights)),
        notes=(*note_invalid_objects(scheduler.state, scheduler.features, question), *parts.notes),
        unread=permissions.parts,
        alignment=parts.alignment,
        expected_nodes=parts.expected_nodes,
        scheduler=schedulers.answer_of(case) if case is not None else None,
        words=parts.words,
        age=question.view.creation_timestamp or None,
        phase=question.pod.phase or None,
        devices=details.devices,
    )


def _answer_node(
    findings: NodeFindings, case: Case | None, reason: Callable[[Cause], Reason]
) -> NodeAnswer:
    survey = None if case is None else case.surveys.get(findings.name)
    return NodeAnswer(
        findings.name,
        findings.verdict,
        tuple(map(reason, findings.causes)),
        (
            funnel(case.devices, survey.requests, case.names.request, case.false_part)
            if case is not None and survey is not None
            else ()
        ),
        findings.allocation,
        findings.like,
    )


def _add_causes(causes: Sequence[Cause], further: Sequence[Cause]) -> tuple[Cause, ...]:
    """Return ``causes``, then the ``further`` causes that are not among them."""
    return (
        *causes,
        *(c for c in further if not any(c.is_same_elsewhere(other) for other in causes)),
    )


class _Details(Struct, frozen=True):
    """The funnel, conflict and devices that an attempt shows; empty without an attempt."""

    funnel: tuple[FunnelStage, ...] = ()
    conflict: Conflict | None = None
    devices: tuple[DeviceStatus, ...] = ()
    """The devices of the node that is nearest to a fit."""
    volumes: tuple[tuple[str, str], ...] = ()
    """The PersistentVolumeClaims of the pod, with their phases."""
    requests: Sequence[RequestSurvey] = ()
    """The devices of all nodes for each request."""


def _details(
    scheduler: Scheduler, devices: Devices, conclusion: Conclusion, parts: Parts
) -> _Details:
    """Return the funnel, the conflict, the nearest node's devices and the volumes of an attempt."""
    case = parts.case
    if case is None:
        return _Details()
    surveys = _surveys_to_show(case, parts.found)
    conflict = None if case.attempt.fits else _conflict(case, conclusion)
    nearest = _nearest(case, conclusion, conflict)
    statuses: tuple[DeviceStatus, ...] = ()
    if nearest is not None:
        statuses = node_report.device_statuses(scheduler, devices, nearest, case.surveys[nearest])
    merged = merge_surveys(surveys)
    lines = funnel(devices, merged, case.names.request, case.false_part, count_nodes(surveys))
    return _Details(lines, conflict, statuses, tuple(pods.volumes_of(case)), merged)


def _surveys_to_show(case: Case, findings: Sequence[NodeFindings]) -> list[tuple[Survey, int]]:
    """Return the surveys of the nodes that the pod wants, each with the number of nodes with the
    same findings.

    If these nodes have no devices at all, return the surveys of all nodes.
    """
    excluded = nodes_excluded_by_pod(case)
    all_surveys = [
        (n.name, case.surveys[n.name], n.count) for n in findings if n.name in case.surveys
    ]
    wanted = [(survey, count) for name, survey, count in all_surveys if name not in excluded]
    has_devices = any(request.offered for survey, _ in wanted for request in survey.requests)
    return wanted if has_devices else [(survey, count) for _, survey, count in all_surveys]


def _withhold_allocation(node: NodeAnswer) -> NodeAnswer:
    """Return a node as undecided and without its devices if it is allocatable, since the devices
    are not certain; return any other node unchanged.
    """
    return (
        replace(node, verdict="undecided", allocation=()) if node.verdict == "allocatable" else node
    )


def _conflict(case: Case, conclusion: Conclusion) -> Conflict | None:
    """Return the conflict if a constraint is the cause.

    If the constraint is the first cause, the conflict is on that cause's first node. Otherwise it
    is on the node where one value of the attribute comes nearest to a fit.
    """
    node_names = [
        node
        for cause in conclusion.ranked
        if isinstance(cause, ConstraintConflict)
        for node in cause.nodes
    ]
    conflicts = [
        conflict
        for v in case.attempt.nodes
        if v.name in node_names and v.name in case.refusing
        if (conflict := conflict_on(case, v, case.refusing[v.name])) is not None
    ]
    if conflicts and isinstance(conclusion.ranked[0], ConstraintConflict):
        return min(conflicts, key=lambda c: node_names.index(c.node))
    return max(
        conflicts, key=lambda c: max((p.score for p in c.places), default=(0, 0)), default=None
    )


def _nearest(case: Case, conclusion: Conclusion, conflict: Conflict | None) -> str | None:
    """Return the node whose devices are shown: the node of the conflict, else the first node that a
    cause names.
    """
    if conflict is not None:
        return conflict.node
    if case.attempt.stops:
        return None
    refusing = case.refusing
    return next((n for cause in conclusion.ranked for n in cause.nodes if n in refusing), None)


# -- next steps, and objects that the API server would refuse --


def next_steps(
    asked: AskedObject, causes: Sequence[Cause], fixes: Sequence[Fix], then: Sequence[NextStep] = ()
) -> tuple[NextStep, ...]:
    """Return the next steps for the causes of an answer, underlying causes first, with the steps
    ``then`` among them.

    If there are fixes, only the steps of causes that no change of objects can remove are returned.
    """
    # If the pods cannot be created, only that cause has steps: no object shows the others before a
    # pod exists.
    causes = [cause for cause in causes if isinstance(cause, PodsNotCreated)] or causes
    explained = {cause.driver for cause in causes if isinstance(cause, PluginFault)}
    causes = [
        cause
        for cause in causes
        if not (isinstance(cause, NoSlicesForDriver | NoSlicesOnNode) and cause.driver in explained)
    ]
    ordered = sorted(causes, key=lambda cause: not cause.is_root_cause)
    cause_steps = [
        step
        for cause in ordered
        if cause.steps_beside_fixes or not fixes
        for step in cause.steps(asked)
    ]
    steps: list[NextStep] = []
    for step in (
        *cause_steps[: MAX_STEPS - 1],
        *then[:1],
        *cause_steps[MAX_STEPS - 1 :],
        *then[1:],
    ):
        if all(step.command != other.command and step.text != other.text for other in steps):
            steps.append(step)
    if not steps and not fixes and causes:
        steps.append(
            NextStep(
                f"see what the scheduler says about the {asked.kind.lower()} now",
                quote_command(
                    "kubectl describe {} {} -n {}", asked.kind.lower(), asked.name, asked.namespace
                ),
            )
        )
    return tuple(steps[:MAX_STEPS])


def gang_next_steps(
    question: Question, group: GangDiagnosis, causes: Sequence[Cause], fixes: Sequence[Fix]
) -> tuple[NextStep, ...]:
    """Return next steps if the gang is the first cause, otherwise none."""
    if not group.causes or not causes or causes[0] is not group.causes[0]:
        return ()
    return next_steps(AskedObject(question.kind, *question.key), causes[:1], fixes)


def idle_workload_steps(state: ClusterState, question: Question) -> tuple[NextStep, ...]:
    """Return the next step for a workload that wants no pods now, otherwise none."""
    idle_workload = idle_state(state, question.kind, question.key)
    if idle_workload is None or not idle_workload.resume:
        return ()
    text = (
        "see what its queue waits for"
        if "kueue" in idle_workload.resume
        else "have it create its pods"
    )
    return (NextStep(text, idle_workload.resume),)


def note_invalid_objects(
    state: ClusterState, features: Features, question: Question
) -> Iterator[str]:
    """Yield a sentence for each claim or template of the subject that an API server would refuse,
    and that comes from a file.
    """
    objects: list[tuple[str, Key]] = (
        [(question.kind, question.key)] if question.kind in CLAIMS else []
    )
    for reference in question.pod.claim_references:
        if reference.claim_name:
            objects.append(("ResourceClaim", (question.key[0], reference.claim_name)))
        if reference.template_name:
            objects.append(("ResourceClaimTemplate", (question.key[0], reference.template_name)))
    target = Target(features.release, features.on)
    for kind, key in dict.fromkeys(objects):
        value = state.get(kind, key)
        if value is None or View(value).uid:
            continue
        violation = next((v for v in validate(value, target) if v.type is not None), None)
        if violation is not None:
            field_text = f"{violation.field}: " if violation.field else ""
            yield (
                f"the API server would refuse {kind} {key[1]}: {field_text}{violation.message}"
                f" ({program_name()} lint says where)"
            )
