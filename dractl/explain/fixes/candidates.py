"""Provide the parts that all makers of fixes share: the problem, candidates, and the parts that can
be edited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum, IntEnum, auto
from typing import Any, Generic, TypeVar

from msgspec import Struct

from dractl.allocation import Features, RequestSurvey
from dractl.cluster.changes import Change, Create, Delete, Patch, parse_target, pointer
from dractl.cluster.state import ClusterState
from dractl.cluster.workloads import WORKLOAD_KINDS
from dractl.explain.ask import Question
from dractl.explain.context import Case
from dractl.explain.fixes.edits import Operation, put
from dractl.explain.fixes.owners import Owners
from dractl.explain.fixes.preference import Preference
from dractl.explain.obstacles import Obstacles, Trial
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.scheduling import Mixed
from dractl.model.names import RequestRef
from dractl.objects import Claim, Constraint, Raw, Request
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.verdict import NodeVerdict

SUBSTITUTE_EFFECT = "if such devices will do"  # the condition of a fix that asks for other devices


# The aspect of the problem that a fix changes.
Topic = Enum(
    "Topic",
    "AFFINITY ALL_MODE AMOUNT CAPACITY CLAIM CLASS CONSTRAINT CONSUMER COUNT CREATION DEVICE "
    "ENDING ENDINGS EXTENDED GANG GATE GATES LABEL NAME NAMESPACE NODE NODE_NAME POD POOL PORT "
    "QUOTA RELEASE ROLLOUT RULE SCHEDULER SELECTOR SHARING SPREAD TAINT TOGETHER TOLERATION WAIT",
)


class FixSlot(Struct, frozen=True):
    """The slot in which fixes compete: only the first proven fix of a slot is shown."""

    topic: Topic
    """The aspect that the fix changes."""
    detail: str = ""
    """Distinguishes slots of one topic: by a name, by a request, or by the kind of fix."""


class Reach(IntEnum):
    """The extent of a change, from the nearest to the farthest."""

    CLAIM = auto()
    POD = auto()
    WORKLOAD = auto()
    POLICY = auto()
    NODE = auto()
    SETTING = auto()


_REACH_BY_KIND = {
    "ResourceClaim": Reach.CLAIM,
    "ResourceClaimTemplate": Reach.CLAIM,
    "Pod": Reach.POD,
    "DeviceClass": Reach.POLICY,
    "DeviceTaintRule": Reach.POLICY,
    "ResourceSlice": Reach.POLICY,
    "ResourceQuota": Reach.POLICY,
    "Namespace": Reach.POLICY,
    "PodGroup": Reach.POD,
    "Node": Reach.NODE,
    **dict.fromkeys(WORKLOAD_KINDS, Reach.WORKLOAD),
}


class Candidate(Struct, frozen=True):
    """A change that may help."""

    title: str
    """An imperative that names the object."""
    changes: tuple[Change, ...]
    """The changes that a person applies. They are empty if no person can: a driver must act, or
    time must pass.
    """
    slot: FixSlot
    """The slot for which it competes."""
    preference: Preference
    """The rank that an engineer would give it."""
    effect: str = ""
    """Side effects and conditions, shown after the title."""
    degree: int = 0
    """The order among candidates with equal preference and reach."""
    features: Features | None = None
    """The features of the scheduler after the fix, if the fix changes them."""
    superseded_by: tuple[FixSlot | Topic, ...] = ()
    """The topics or slots whose fixes hide this one."""
    consequences: tuple[Change, ...] = ()
    """The changes that result, which are simulated in place of ``changes``; empty if they are the
    same.
    """
    chance: tuple[Change, ...] = ()
    """Mutually exclusive side effects: the candidate must work with each of them."""
    nodes: tuple[str, ...] = ()
    """The only nodes on which it can help; empty for all."""
    corrects: bool = False
    """True if it removes the headline's cause. If that alone is not enough, the answer says so, and
    offers no other fix of its slot.
    """
    parts: tuple[Candidate, ...] = ()
    """The candidates that :func:`combine` has joined to this one."""

    @property
    def trial(self) -> tuple[Change, ...]:
        """The changes that are simulated to prove the candidate."""
        return self.consequences or self.changes

    @property
    def size(self) -> tuple[int, ...]:
        """The order of candidates, the smallest first.

        It compares preference, the number of other pods that end, changes, operations, reach and
        degree.
        """
        operations = sum(len(c.operations) if isinstance(c, Patch) else 1 for c in self.changes)
        reach = max(
            map(measure_reach, self.changes),
            default=Reach.CLAIM if self.corrects else Reach.SETTING,
        )
        ended_pods = sum(isinstance(c, Delete) and c.target.startswith("Pod/") for c in self.trial)
        ended_pods = (
            ended_pods
            if self.preference in (Preference.END, Preference.LAST, Preference.OUTAGE)
            else 0
        )
        return (self.preference, ended_pods, len(self.changes), operations, reach, self.degree)


def measure_reach(change: Change) -> Reach:
    """Return how far a change reaches. The deletion of a pod or claim affects a workload."""
    match change:
        case Patch(target):
            return _REACH_BY_KIND.get(parse_target(target)[0], Reach.SETTING)
        case Delete(target):
            kind = parse_target(target)[0]
            if kind in ("Pod", "ResourceClaim"):
                return Reach.WORKLOAD
            return _REACH_BY_KIND.get(kind, Reach.SETTING)
        case Create(value):
            return _REACH_BY_KIND.get(str(value.get("kind")), Reach.SETTING)


def order_parts(parts: Iterable[Candidate]) -> list[Candidate]:
    """Return the parts of one fix in the order in which its title names them.

    The pod's requests come before the parts that admit it to the nodes with the devices.
    """
    return sorted(
        parts,
        key=lambda c: (max(map(measure_reach, c.changes), default=Reach.SETTING), -c.preference),
    )


def combine(parts: Iterable[Candidate]) -> Candidate:
    """Combine several candidates into one. An operation that several of them have is made once."""
    singles: list[Candidate] = []
    for single in (single for part in parts for single in part.parts or (part,)):
        singles += [] if single in singles else [single]
    if len(singles) == 1:
        return singles[0]
    changes: tuple[Change, ...] = ()
    consequences: tuple[Change, ...] = ()
    for part in singles:
        changes += subtract_changes(part.changes, changes)
        consequences += subtract_changes(part.trial, consequences)
    return Candidate(
        ", and ".join(dict.fromkeys(part.title for part in singles)),
        changes,
        FixSlot(Topic.TOGETHER),
        max(part.preference for part in singles),
        effect="; ".join(
            dict.fromkeys(filter(None, (e for part in singles for e in part.effect.split("; "))))
        ),
        superseded_by=tuple(part.slot.topic for part in singles),
        consequences=consequences if consequences != changes else (),
        parts=tuple(singles),
    )


def subtract_changes(later: Iterable[Change], earlier: Sequence[Change]) -> tuple[Change, ...]:
    """Return the later changes without the operations that earlier changes already make."""
    earlier_operations = [
        (c.target, o) for c in earlier if isinstance(c, Patch) for o in c.operations
    ]
    remaining: list[Change] = []
    for change in later:
        if not isinstance(change, Patch):
            remaining += [] if change in earlier else [change]
            continue
        operations = tuple(
            o for o in change.operations if (change.target, o) not in earlier_operations
        )
        remaining += [Patch(change.target, operations)] if operations else []
    return tuple(remaining)


class GangContext(Struct, frozen=True):
    """A gang that starts only if one of its pods fits."""

    state: ClusterState
    """The cluster as it is."""
    question: Question
    """The question about the gang's pod."""
    starts: Callable[[ClusterState, Features], bool]
    """Decides whether the gang would start in a changed cluster."""


class FixProblem(Struct, frozen=True):
    """A subject that does not fit, as the input of makers of fixes."""

    case: Case
    """The case of the attempt. For a gang, the attempt is for the pod at which the gang stops,
    after those of its pods that fit.
    """
    causes: tuple[Cause, ...]
    """The causes, beginning with the headline's."""
    owners: Owners
    """The workloads of the cluster."""
    gang: GangContext | None = None
    """The gang for which the pod waits."""
    authored: Trial | None = None
    """The cluster and the subject as people wrote them, if other obstacles are lifted in
    ``case``.
    """
    whole: Case | None = None
    """The case without lifted obstacles, if they are lifted in ``case``."""
    obstacles: Obstacles = Obstacles()
    """The obstacles between the subject and its nearest nodes."""

    @property
    def question(self) -> Question:
        """The question about the pod of the case."""
        return self.case.question if self.authored is None else self.authored.question

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler of the case."""
        return self.case.scheduler

    @property
    def state(self) -> ClusterState:
        """The cluster as it is."""
        if self.authored is not None:
            return self.authored.state
        return self.case.state if self.gang is None else self.gang.state

    @property
    def subject_question(self) -> Question:
        """The question whose subject must fit after a fix; the case may be about another pod of its
        gang.
        """
        return self.question if self.gang is None else self.gang.question

    @property
    def claims(self) -> tuple[PodClaim, ...]:
        """The claims of the pod."""
        return tuple(self.case.claims.values())

    @property
    def headline_cause(self) -> Cause:
        """The cause that the headline names."""
        return next((c for c in self.causes if not isinstance(c, Mixed)), self.causes[0])

    @property
    def pod(self) -> Raw | None:
        """The pod of the case; None unless it is an object of the input."""
        return self.state.get("Pod", self.question.key) if self.question.kind == "Pod" else None

    @property
    def demanding_pod(self) -> Raw:
        """The pod with only the demands that are left in the case."""
        return self.case.question.value

    @property
    def target(self) -> str:
        """The pod as a target of changes: ``Pod/NAMESPACE/NAME``."""
        return "/".join(("Pod", *self.question.key))

    def patch(self, *operations: Operation) -> Patch:
        """Return a patch of the pod."""
        return Patch(self.target, operations)

    def requests(self) -> Iterator[tuple[NodeVerdict, RequestSurvey]]:
        """Yield every request on every surveyed node that cannot allocate."""
        surveys = self.case.refusing
        for verdict in self.case.attempt.nodes:
            survey = surveys.get(verdict.name)
            for request in survey.requests if survey else ():
                yield verdict, request

    def request_name(self, ref: RequestRef) -> str:
        """Return ``request gpu``, with its claim's name where the pod has several."""
        return self.case.names.request(ref)

    def editable_request(self, ref: RequestRef | None) -> EditablePart[Request] | None:
        """Return a request or alternative in the object that people wrote; None where nobody can
        change it.
        """
        claim = None if ref is None else self.case.claims.get(ref.claim)
        claim_view = None if claim is None else self._claim(claim)
        request = None if claim_view is None else claim_view.request(str(ref))
        return (
            None
            if claim_view is None or request is None
            else EditablePart(claim_view.subject, request)
        )

    def editable_constraints(self, claim: PodClaim) -> list[EditablePart[Constraint]]:
        """Return a claim's constraints in the object that people wrote; none where nobody can
        change them.
        """
        claim_view = self._claim(claim)
        return (
            []
            if claim_view is None
            else [
                EditablePart(claim_view.subject, constraint)
                for constraint in claim_view.constraints
            ]
        )

    def _claim(self, claim: PodClaim) -> Claim[str] | None:
        """Return a view of a claim in the object that people wrote, if any."""
        if claim.editable is None:
            return None
        target, prefix = claim.editable.target, claim.editable.path
        return Claim.of(target, self.state.get(*parse_target(target)) or {}, prefix)

    def claim_reference(self, pod_claim: str | None) -> tuple[int, Raw] | None:
        """Return the entry of the pod's ``spec.resourceClaims`` with a name, after its index."""
        pod = self.question.pod
        entries = enumerate(zip(pod.claim_references, pod.claim_entries, strict=True))
        return next(((i, entry) for i, (r, entry) in entries if r.name == pod_claim), None)


Part = TypeVar("Part", Request, Constraint)


class EditablePart(Struct, Generic[Part], frozen=True):
    """A request or constraint in the object that people wrote."""

    target: str
    """The object as a target of changes."""
    part: Part
    """The request or constraint, with its path in the object."""

    def put(self, *field: str | int, value: Any) -> Patch:
        """Return a patch that sets a field, and creates the parents that are missing."""
        operation = put(self.part.fields, field, value)
        return Patch(
            self.target, ({**operation, "path": pointer(*self.part.path) + str(operation["path"])},)
        )

    def add(self, *field: str | int, value: Any) -> Patch:
        """Return a patch that adds a field, or an entry to a list at ``-``."""
        return Patch(
            self.target, ({"op": "add", "path": pointer(*self.part.path, *field), "value": value},)
        )

    def remove(self, *field: str | int) -> Patch:
        """Return a patch that removes a field."""
        return Patch(self.target, ({"op": "remove", "path": pointer(*self.part.path, *field)},))


# -- makers of fixes, and the causes that they are for: importing a module registers them --

CauseMaker = Callable[[FixProblem, Any], Iterator[Candidate]]
ProblemMaker = Callable[[FixProblem], Iterator[Candidate]]


F = TypeVar("F", bound="CauseMaker")
G = TypeVar("G", bound="ProblemMaker")

_CAUSE_MAKERS: list[tuple[tuple[type[Cause], ...], CauseMaker]] = []
_PROBLEM_MAKERS: list[tuple[tuple[type[Cause], ...], ProblemMaker]] = []


def fix_for(*causes: type[Cause]) -> Callable[[F], F]:
    """Register a maker that is called with the problem and each cause of these classes."""

    def register(maker: F) -> F:
        _CAUSE_MAKERS.append((causes, maker))
        return maker

    return register


def fix_once_for(*causes: type[Cause]) -> Callable[[G], G]:
    """Register a maker that is called once if any cause is of these classes.

    It looks at all claims, nodes or surveys together.
    """

    def register(maker: G) -> G:
        _PROBLEM_MAKERS.append((causes, maker))
        return maker

    return register


def make_candidates(problem: FixProblem) -> Iterator[Candidate]:
    """Yield every candidate for the causes of a problem."""
    for classes, make_once in _PROBLEM_MAKERS:
        if any(isinstance(cause, classes) for cause in problem.causes):
            yield from make_once(problem)
    for classes, make in _CAUSE_MAKERS:
        for cause in problem.causes:
            if isinstance(cause, classes):
                yield from make(problem, cause)
