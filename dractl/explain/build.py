"""The last step of an answer: its conclusion and its parts become one Explanation."""

from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from dractl.alignment import Alignment
from dractl.allocation import Features, Survey
from dractl.cluster.devices import Devices
from dractl.cluster.paste import NextStep, command
from dractl.cluster.state import ClusterState, Key, maps_at, text_at
from dractl.cluster.workloads import idle
from dractl.explain.answer import Conflict, Explanation, Fix, NodeAnswer, Subject, reason_of
from dractl.explain.ask import CLAIMS, Question
from dractl.explain.conclude import Conclusion
from dractl.explain.context import Case
from dractl.explain.diagnosis import pods, schedulers
from dractl.explain.diagnosis.combinations import conflict_on
from dractl.explain.diagnosis.gangs import GangDiagnosis
from dractl.explain.diagnosis.nodes import NodeFindings
from dractl.explain.fleet import node_report
from dractl.explain.funnel import count_nodes, funnel, merge_surveys
from dractl.explain.permissions import MissingPermissions
from dractl.explain.rank import nodes_excluded_by_pod
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.between import PodsNotCreated
from dractl.explain.reasons.constraints import ConstraintConflict
from dractl.explain.reasons.next_step import AskedObject
from dractl.explain.reasons.phrases import Names
from dractl.model import Target
from dractl.program import program_name
from dractl.scheduler.attempt import Scheduler
from dractl.validation import validate

_STEPS = 3  # steps that an answer has


class Parts(Struct, frozen=True):
    """What an answer has besides its conclusion. ``case`` and ``found`` are those of an attempt; without one, ``nodes``
    are given. ``blind`` is what may not be read, ``steps`` what to do in place of the causes' own next steps, ``then``
    what to do after these."""

    case: Case | None = None
    found: Sequence[NodeFindings] = ()
    nodes: tuple[NodeAnswer, ...] = ()
    fixes: tuple[Fix, ...] = ()
    steps: tuple[NextStep, ...] = ()
    then: tuple[NextStep, ...] = ()
    notes: tuple[str, ...] = ()
    blind: MissingPermissions = MissingPermissions()
    alignment: tuple[Alignment, ...] = ()


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
    """The answer to a question. ``assumed``: nobody named the release."""
    case, found, blind = parts.case, parts.found, parts.blind
    names = case.names if case is not None else Names()
    reason = case.reason if case is not None else partial(reason_of, names=names)
    surveyed = _surveyed(case, found) if case is not None else []
    conflict = _conflict(case, conclusion) if case is not None and not case.attempt.fits else None
    nearest = _nearest(case, conclusion, conflict) if case is not None else None
    volumes = tuple(pods.volumes_of(case)) if case is not None else ()
    asked = AskedObject(question.kind, *question.key, volumes)
    answers = parts.nodes or tuple(
        NodeAnswer(n.name, n.verdict, tuple(map(reason, n.causes)), n.funnel, n.allocation, n.like)
        for n in found
    )
    if conclusion.verdict == "undecided":
        answers = tuple(map(_open, answers))
    return Explanation(
        subject,
        conclusion.verdict,
        scheduler.features.release,
        assumed,
        headline=conclusion.headline.text(names),
        clauses=conclusion.headline.clauses(names),
        scheduler_message=conclusion.scheduler_message,
        reasons=tuple(map(reason, conclusion.causes)),
        nodes=answers,
        funnel=funnel(
            devices,
            merge_surveys(surveyed),
            case.names.request,
            case.false_part,
            count_nodes(surveyed),
        )
        if case
        else (),
        conflict=conflict,
        fixes=parts.fixes,
        next=(
            *(
                parts.steps
                or next_steps(
                    asked, (*conclusion.causes, *conclusion.behind), parts.fixes, parts.then
                )
            ),
            *blind.grant_steps(scheduler.state.rights),
        ),
        notes=(*_refused(scheduler.state, scheduler.features, question), *parts.notes),
        unread=blind.parts,
        alignment=parts.alignment,
        scheduler=schedulers.answer_of(case) if case is not None else None,
        age=text_at(question.value, "metadata", "creationTimestamp") or None,
        phase=text_at(question.value, "status", "phase") or None,
        devices=node_report.device_statuses(scheduler, devices, nearest, case.surveys[nearest])
        if case is not None and nearest is not None
        else (),
    )


def _surveyed(case: Case, found: Sequence[NodeFindings]) -> list[tuple[Survey, int]]:
    """The surveys of the nodes that the pod wants, each with how many nodes it is of; of all nodes, if those that it
    wants have no devices at all."""
    unwanted = nodes_excluded_by_pod(case)
    every = [(n.name, case.surveys[n.name], n.count) for n in found if n.name in case.surveys]
    wanted = [(survey, count) for name, survey, count in every if name not in unwanted]
    there = any(request.offered for survey, _ in wanted for request in survey.requests)
    return wanted if there else [(survey, count) for _, survey, count in every]


def _open(node: NodeAnswer) -> NodeAnswer:
    """Undecided instead of allocatable, without the devices, which are not known."""
    return (
        replace(node, verdict="undecided", allocation=()) if node.verdict == "allocatable" else node
    )


def _conflict(case: Case, conclusion: Conclusion) -> Conflict | None:
    """The conflict where a constraint is the cause: on the node that the headline names, else on the node whose best
    place holds the most free devices."""
    named = [
        node
        for cause in conclusion.ranked
        if isinstance(cause, ConstraintConflict)
        for node in cause.nodes
    ]
    found = [
        conflict
        for v in case.attempt.nodes
        if v.name in named and v.name in case.refusing
        if (conflict := conflict_on(case, v, case.refusing[v.name])) is not None
    ]
    if found and isinstance(conclusion.ranked[0], ConstraintConflict):
        return min(found, key=lambda c: named.index(c.node))
    return max(found, key=lambda c: max((p.score for p in c.places), default=(0, 0)), default=None)


def _nearest(case: Case, conclusion: Conclusion, conflict: Conflict | None) -> str | None:
    """The node whose devices are shown: that of the conflict, else the first that a cause names."""
    if conflict is not None:
        return conflict.node
    if case.attempt.stopped:
        return None
    refusing = case.refusing
    return next((n for cause in conclusion.ranked for n in cause.nodes if n in refusing), None)


# -- next steps, and what the API server would refuse --


def next_steps(
    asked: AskedObject, found: Sequence[Cause], fixes: Sequence[Fix], then: Sequence[NextStep] = ()
) -> tuple[NextStep, ...]:
    """The next steps for the causes of an answer, first those for causes that others only follow from, and ``then``
    those given. Where there are fixes, only what belongs to a cause that no change of objects can reach."""
    # Without a pod nothing else of it can be looked at.
    found = [cause for cause in found if isinstance(cause, PodsNotCreated)] or found
    ordered = sorted(found, key=lambda cause: not cause.underlying)
    theirs = [
        step for cause in ordered if cause.beside_fixes or not fixes for step in cause.steps(asked)
    ]
    steps: list[NextStep] = []
    for step in (*theirs[: _STEPS - 1], *then[:1], *theirs[_STEPS - 1 :], *then[1:]):
        if all(step.command != other.command and step.text != other.text for other in steps):
            steps.append(step)
    if not steps and not fixes and found:
        steps.append(
            NextStep(
                f"see what the scheduler says about the {asked.kind.lower()} now",
                command(
                    "kubectl describe {} {} -n {}", asked.kind.lower(), asked.name, asked.namespace
                ),
            )
        )
    return tuple(steps[:_STEPS])


def of_group(
    question: Question, group: GangDiagnosis, found: Sequence[Cause], fixes: Sequence[Fix]
) -> tuple[NextStep, ...]:
    """The next steps for a pod that waits for its group, about the group alone; none for others."""
    if not group.causes or not found or found[0] is not group.causes[0]:
        return ()
    return next_steps(AskedObject(question.kind, *question.key), found[:1], fixes)


def of_idle(state: ClusterState, question: Question) -> tuple[NextStep, ...]:
    """The next step for a workload that wants no pods now; none for others."""
    resting = idle(question.kind, question.key, state.get(question.kind, question.key))
    if resting is None or not resting.resume:
        return ()
    text = (
        "see what its queue waits for" if "kueue" in resting.resume else "have it create its pods"
    )
    return (NextStep(text, resting.resume),)


def _refused(state: ClusterState, features: Features, question: Question) -> Iterator[str]:
    """A sentence for each claim or template of the subject that no server has seen, and would refuse."""
    written: list[tuple[str, Key]] = (
        [(question.kind, question.key)] if question.kind in CLAIMS else []
    )
    for reference in maps_at(question.value, "spec", "resourceClaims"):
        for kind, field_name in (
            ("ResourceClaim", "resourceClaimName"),
            ("ResourceClaimTemplate", "resourceClaimTemplateName"),
        ):
            if text_at(reference, field_name):
                written.append((kind, (question.key[0], text_at(reference, field_name))))
    target = Target(features.release, features.on)
    for kind, key in dict.fromkeys(written):
        value = state.get(kind, key)
        if value is None or text_at(value, "metadata", "uid"):
            continue
        violation = next((v for v in validate(value, target) if v.type is not None), None)
        if violation is not None:
            where = f"{violation.field}: " if violation.field else ""
            yield f"the API server would refuse {kind} {key[1]}: {where}{violation.message} ({program_name()} lint says where)"
