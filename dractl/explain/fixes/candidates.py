"""Shared by all makers of fixes: the problem, candidates, and requests and constraints as written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Any, Generic, TypeVar

from msgspec import Struct

from dractl.allocation import Features, RequestSurvey
from dractl.cluster.changes import Change, Create, Delete, Patch, parse_target, pointer
from dractl.cluster.state import ClusterState, maps_at, text_at
from dractl.cluster.workloads import WORKLOAD_KINDS
from dractl.explain.ask import Question
from dractl.explain.context import Case
from dractl.explain.fixes.edits import Operation, put
from dractl.explain.fixes.owners import Owners
from dractl.explain.fixes.preference import Preference
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.scheduling import Mixed
from dractl.model.names import RequestRef
from dractl.objects import Claim, Constraint, Raw, Request
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.verdict import NodeVerdict

SUBSTITUTE_EFFECT = "if such devices will do"  # the effect of asking for something else


# What a fix is about.
Topic = Enum(
    "Topic",
    "AFFINITY ALL_MODE AMOUNT CAPACITY CLAIM CLASS CONSTRAINT CONSUMER COUNT CREATION DEVICE ENDING "
    "ENDINGS EXTENDED GANG GATE GATES LABEL NAME NAMESPACE NODE NODE_NAME POD POOL PORT QUOTA RELEASE "
    "ROLLOUT RULE SCHEDULER SELECTOR SHARING SPREAD TAINT TOGETHER TOLERATION WAIT",
)


class FixSlot(Struct, frozen=True):
    """What fixes compete for: of one slot only the first that is verified is shown. ``of`` tells slots of one topic
    apart."""

    topic: Topic
    detail: str = ""


# What a change touches, the smallest first.
OWN, POD, OTHER, POLICY, NODE, SETTING = range(6)
_REACH_BY_KIND = {
    "ResourceClaim": OWN,
    "ResourceClaimTemplate": OWN,
    "Pod": POD,
    "DeviceClass": POLICY,
    "DeviceTaintRule": POLICY,
    "ResourceSlice": POLICY,
    "ResourceQuota": POLICY,
    "Namespace": POLICY,
    "PodGroup": POD,
    "Node": NODE,
    **dict.fromkeys(WORKLOAD_KINDS, OTHER),
}


class Candidate(Struct, frozen=True):
    """A change that may help, with an imperative for its title.

    ``changes`` are what a person applies; empty where nobody can: it is up to a driver, or to time. ``tried`` is what
    follows from it, where that is not ``changes`` themselves. ``features`` are what the scheduler would have to run
    with, where that is the change. Of ``chance`` one comes true besides, and nobody knows which: the subject has to run
    after each. ``degree`` orders candidates of one preference that touch the same. It is not shown
    where a fix of a topic or slot in ``unless`` is.

    ``corrects``: it removes the cause that is named first. Where such a correction is not enough by itself, the answer
    says so, and offers nothing of its slot that goes around the cause. ``reluctant``: never shown first, since most
    people would regret it. ``parts`` are what it was made of by :func:`joint`.
    """

    title: str
    changes: tuple[Change, ...]
    slot: FixSlot
    preference: Preference
    effect: str = ""
    degree: int = 0
    features: Features | None = None
    superseded_by: tuple[FixSlot | Topic, ...] = ()
    consequences: tuple[Change, ...] = ()
    chance: tuple[Change, ...] = ()
    corrects: bool = False
    reluctant: bool = False
    parts: tuple[Candidate, ...] = ()

    @property
    def trial(self) -> tuple[Change, ...]:
        """The changes with which it is verified."""
        return self.consequences or self.changes

    @property
    def size(self) -> tuple[int, ...]:
        """Preference, pods of others that end, changes, operations, what they touch, degree: smaller is shown first."""
        operations = sum(len(c.operations) if isinstance(c, Patch) else 1 for c in self.changes)
        touched = max(
            map(measure_reach, self.changes), default=SETTING if not self.corrects else OWN
        )
        ended = sum(isinstance(c, Delete) and c.target.startswith("Pod/") for c in self.trial)
        ended = (
            ended if self.preference in (Preference.END, Preference.LAST, Preference.OUTAGE) else 0
        )
        return (self.preference, ended, len(self.changes), operations, touched, self.degree)


def measure_reach(change: Change) -> int:
    match change:
        case Patch(target):
            return _REACH_BY_KIND.get(parse_target(target)[0], SETTING)
        case Delete(target):
            kind = parse_target(target)[0]
            return OTHER if kind in ("Pod", "ResourceClaim") else _REACH_BY_KIND.get(kind, SETTING)
        case Create(value):
            return _REACH_BY_KIND.get(str(value.get("kind")), SETTING)


def order_parts(parts: Iterable[Candidate]) -> list[Candidate]:
    """The parts of one fix in the order in which they are named: what the pod asks for before what keeps it from the
    nodes that have it."""
    return sorted(
        parts, key=lambda c: (max(map(measure_reach, c.changes), default=SETTING), -c.preference)
    )


def combine(parts: Iterable[Candidate]) -> Candidate:
    """One candidate of several, without what two of them do."""
    each: list[Candidate] = []
    for single in (single for part in parts for single in part.parts or (part,)):
        each += [] if single in each else [single]
    if len(each) == 1:
        return each[0]
    changes: tuple[Change, ...] = ()
    consequences: tuple[Change, ...] = ()
    for part in each:
        changes += subtract_changes(part.changes, changes)
        consequences += subtract_changes(part.trial, consequences)
    return Candidate(
        ", and ".join(dict.fromkeys(part.title for part in each)),
        changes,
        FixSlot(Topic.TOGETHER),
        max(part.preference for part in each),
        effect="; ".join(
            dict.fromkeys(filter(None, (e for part in each for e in part.effect.split("; "))))
        ),
        superseded_by=tuple(part.slot.topic for part in each),
        consequences=consequences if consequences != changes else (),
        parts=tuple(each),
    )


def subtract_changes(later: Iterable[Change], earlier: Sequence[Change]) -> tuple[Change, ...]:
    """The later changes without the operations that earlier ones make already."""
    done = [(c.target, o) for c in earlier if isinstance(c, Patch) for o in c.operations]
    left: list[Change] = []
    for change in later:
        if not isinstance(change, Patch):
            left += [] if change in earlier else [change]
            continue
        operations = tuple(o for o in change.operations if (change.target, o) not in done)
        left += [Patch(change.target, operations)] if operations else []
    return tuple(left)


class GangContext(Struct, frozen=True):
    """The group of a pod that kube-scheduler places with others: ``state`` is the cluster as it is, ``question`` is
    about the pod, and ``starts`` says whether the group would start in another cluster."""

    state: ClusterState
    question: Question
    starts: Callable[[ClusterState, Features], bool]


class FixProblem(Struct, frozen=True):
    """What makers of fixes are given: a case that does not fit, and its causes, what matters most first. ``owners`` are
    the workloads of the cluster. Where a pod waits for its ``group``, the case is that of the pod at which the group
    stops, in the cluster with those of the group that fit."""

    case: Case
    causes: tuple[Cause, ...]
    owners: Owners
    gang: GangContext | None = None

    @property
    def question(self) -> Question:
        return self.case.question

    @property
    def scheduler(self) -> Scheduler:
        return self.case.scheduler

    @property
    def state(self) -> ClusterState:
        return self.case.state if self.gang is None else self.gang.state

    @property
    def subject_question(self) -> Question:
        """The subject that must fit after a fix: the one asked about, even if the case is another pod of its group."""
        return self.case.question if self.gang is None else self.gang.question

    @property
    def claims(self) -> tuple[PodClaim, ...]:
        return tuple(self.case.claims.values())

    @property
    def headline_cause(self) -> Cause:
        """The cause that is named first."""
        return next((c for c in self.causes if not isinstance(c, Mixed)), self.causes[0])

    @property
    def pod(self) -> Raw | None:
        """The pod that is asked about, if it is an object of the input."""
        return self.state.get("Pod", self.question.key) if self.question.kind == "Pod" else None

    @property
    def target(self) -> str:
        """The subject's name as a target of changes."""
        return "/".join(("Pod", *self.question.key))

    def patch(self, *operations: Operation) -> Patch:
        """A patch of the subject."""
        return Patch(self.target, operations)

    def requests(self) -> Iterator[tuple[NodeVerdict, RequestSurvey]]:
        """Every request on every surveyed node that cannot allocate."""
        surveys = self.case.refusing
        for verdict in self.case.attempt.nodes:
            survey = surveys.get(verdict.name)
            for request in survey.requests if survey else ():
                yield verdict, request

    def request_name(self, ref: RequestRef) -> str:
        """``request gpu``; with its claim's name where the pod has several."""
        return self.case.names.request(ref)

    def editable_request(self, ref: RequestRef | None) -> EditablePart[Request] | None:
        """A request, or an alternative of one, as it is written; None where nobody can change it."""
        claim = None if ref is None else self.case.claims.get(ref.claim)
        view = None if claim is None else self._claim(claim)
        request = None if view is None else view.request(str(ref))
        return None if view is None or request is None else EditablePart(view.subject, request)

    def editable_constraints(self, claim: PodClaim) -> list[EditablePart[Constraint]]:
        """A claim's constraints as they are written; none where nobody can change them."""
        view = self._claim(claim)
        return (
            []
            if view is None
            else [EditablePart(view.subject, constraint) for constraint in view.constraints]
        )

    def _claim(self, claim: PodClaim) -> Claim[str] | None:
        if claim.editable is None:
            return None
        target, prefix = claim.editable.target, claim.editable.path
        return Claim.of(target, self.state.get(*parse_target(target)) or {}, prefix)

    def claim_reference(self, pod_claim: str | None) -> tuple[int, Raw] | None:
        """The entry of the pod's ``spec.resourceClaims`` with a name, and its index."""
        entries = enumerate(maps_at(self.question.value, "spec", "resourceClaims"))
        return next(((i, r) for i, r in entries if text_at(r, "name") == pod_claim), None)


Part = TypeVar("Part", Request, Constraint)


class EditablePart(Struct, Generic[Part], frozen=True):
    """A request or constraint as people wrote it, in the object ``target``; and patches of it."""

    target: str
    part: Part

    def put(self, *field: str | int, value: Any) -> Patch:
        """A patch that sets a field, with the parents that it lacks."""
        operation = put(self.part.fields, field, value)
        return Patch(
            self.target, ({**operation, "path": pointer(*self.part.path) + str(operation["path"])},)
        )

    def add(self, *field: str | int, value: Any) -> Patch:
        """A patch that adds a field, or an item to a list at ``-``."""
        return Patch(
            self.target, ({"op": "add", "path": pointer(*self.part.path, *field), "value": value},)
        )

    def remove(self, *field: str | int) -> Patch:
        """A patch that removes a field."""
        return Patch(self.target, ({"op": "remove", "path": pointer(*self.part.path, *field)},))


# -- the makers of fixes, and the causes that they are for; importing a module registers its makers --

CauseMaker = Callable[[FixProblem, Any], Iterator[Candidate]]
ProblemMaker = Callable[[FixProblem], Iterator[Candidate]]


F = TypeVar("F", bound="CauseMaker")
G = TypeVar("G", bound="ProblemMaker")

_CAUSE_MAKERS: list[tuple[tuple[type[Cause], ...], CauseMaker]] = []
_PROBLEM_MAKERS: list[tuple[tuple[type[Cause], ...], ProblemMaker]] = []


def fix_for(*causes: type[Cause]) -> Callable[[F], F]:
    """Registers a maker that is called with the problem and each cause of these classes."""

    def register(maker: F) -> F:
        _CAUSE_MAKERS.append((causes, maker))
        return maker

    return register


def fix_once_for(*causes: type[Cause]) -> Callable[[G], G]:
    """Registers a maker that is called once if any cause is of these classes: it looks at all claims, nodes or surveys
    together."""

    def register(maker: G) -> G:
        _PROBLEM_MAKERS.append((causes, maker))
        return maker

    return register


def make_candidates(problem: FixProblem) -> Iterator[Candidate]:
    """Every candidate for the causes of a problem."""
    for classes, once in _PROBLEM_MAKERS:
        if any(isinstance(cause, classes) for cause in problem.causes):
            yield from once(problem)
    for classes, maker in _CAUSE_MAKERS:
        for cause in problem.causes:
            if isinstance(cause, classes):
                yield from maker(problem, cause)
