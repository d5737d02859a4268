"""The problem that a fix solves, and the parts of claims that it can edit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Generic, TypeVar

from msgspec import Struct

from dractl.allocation import Features, RequestSurvey
from dractl.cluster.changes import Patch, parse_target, pointer
from dractl.cluster.state import ClusterState
from dractl.cluster.workloads import workload_target
from dractl.explain.answer import When
from dractl.explain.ask import Question
from dractl.explain.context import Case
from dractl.explain.fixes.edits import Operation, Path, append, put, remove
from dractl.explain.fixes.owners import Owners
from dractl.explain.obstacles import Obstacles, Trial
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.scheduling import Mixed
from dractl.model.names import RequestRef
from dractl.objects import Claim, Constraint, Raw, Request
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.verdict import NodeVerdict

Part = TypeVar("Part", Request, Constraint)


class GangContext(Struct, frozen=True):
    """A gang that does not start, because one of its pods does not fit."""

    state: ClusterState
    """The cluster as it is."""
    question: Question
    """The question about the gang's pod."""
    starts: Callable[[ClusterState, Features], bool]
    """Decides whether the gang would start in a changed cluster."""


class FixProblem(Struct, frozen=True):
    """A subject that does not fit, as the input of makers of fixes."""

    case: Case
    """The attempt for the subject. For a gang, it is the attempt for the first pod that does not
    fit, after the pods before it were placed.
    """
    causes: tuple[Cause, ...]
    """The causes, beginning with the headline's."""
    owners: Owners
    """The workloads of the cluster."""
    gang: GangContext | None = None
    """The gang for which the pod waits."""
    authored: Trial | None = None
    """The cluster and the subject with all obstacles, after the earlier corrections of a plan. It
    is set only if obstacles are lifted in ``case``.
    """
    whole: Case | None = None
    """The case before obstacles are lifted. It is set only if ``case`` has lifted obstacles."""
    obstacles: Obstacles = Obstacles()
    """The obstacles between the subject and its nearest nodes."""
    when: When | None = None
    """The time when the subject could fit; None if that is not known."""

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
        """The question whose subject must fit, even if the case is another pod of its gang."""
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
        """The pod of the case, without the demands that are lifted there."""
        return self.case.question.value

    @property
    def target(self) -> str:
        """The pod as a target of changes: ``Pod/NAMESPACE/NAME``."""
        return "/".join(("Pod", *self.question.key))

    @property
    def owner(self) -> str | None:
        """The workload of the pod as a target of changes; None if it has none."""
        is_pod = self.question.kind == "Pod"
        return workload_target(self.state, self.question.key) if is_pod else None

    @property
    def workload(self) -> Raw | None:
        """The workload of the pod; None if the input has none."""
        return None if self.owner is None else self.state.get(*parse_target(self.owner))

    def patch(self, *operations: Operation) -> Patch:
        """Return a patch of the pod."""
        return Patch(self.target, operations)

    def requests(self) -> Iterator[tuple[NodeVerdict, RequestSurvey]]:
        """Yield each request on each surveyed node where the claims cannot be allocated."""
        surveys = self.case.refusing
        for verdict in self.case.attempt.nodes:
            survey = surveys.get(verdict.name)
            for request in survey.requests if survey else ():
                yield verdict, request

    def request_name(self, ref: RequestRef) -> str:
        """Return ``request gpu``, with the name of its claim if the pod has several."""
        return self.case.names.request(ref)

    def editable_request(self, ref: RequestRef | None) -> EditablePart[Request] | None:
        """Return a request or alternative in the object that people wrote; None without such an
        object.
        """
        claim = None if ref is None else self.case.claims.get(ref.claim)
        view = None if claim is None else self._claim(claim)
        request = None if view is None else view.request(str(ref))
        return None if view is None or request is None else EditablePart(view.subject, request)

    def editable_constraints(self, claim: PodClaim) -> list[EditablePart[Constraint]]:
        """Return a claim's constraints in the object that people wrote; empty without such an
        object.
        """
        view = self._claim(claim)
        return [] if view is None else [EditablePart(view.subject, c) for c in view.constraints]

    def _claim(self, claim: PodClaim) -> Claim[str] | None:
        """Return a view of a claim in the object that people wrote, if any."""
        if claim.editable is None:
            return None
        target, prefix = claim.editable.target, claim.editable.path
        value = self.state.get(*parse_target(target)) or {}
        make = partial(Claim.of, target, value, prefix)
        return self.state.cache.from_object(("editable-claim", prefix), value, make)

    def claim_reference(self, pod_claim: str | None) -> tuple[int, Raw] | None:
        """Return the index and the entry with this name in the pod's ``spec.resourceClaims``."""
        pod = self.question.pod
        entries = enumerate(zip(pod.claim_references, pod.claim_entries, strict=True))
        return next(((i, entry) for i, (r, entry) in entries if r.name == pod_claim), None)


class EditablePart(Struct, Generic[Part], frozen=True):
    """A request or constraint in the object that people wrote."""

    target: str
    """The object as a target of changes."""
    part: Part
    """The request or constraint, with its path in the object."""

    def put(self, field: Path, value: Any) -> Patch:
        """Return a patch that sets a field, and creates the parents that are missing."""
        return self._patch(put(self.part.fields, field, value))

    def append(self, field: Path, entry: Any) -> Patch:
        """Return a patch that appends an entry to a list."""
        return self._patch(*append(self.part.fields, field, [entry]))

    def remove(self, field: Path) -> Patch:
        """Return a patch that removes a field."""
        return self._patch(remove(field))

    def _patch(self, operation: Operation) -> Patch:
        """Return a patch of the object with an operation on the part."""
        path = pointer(*self.part.path) + str(operation["path"])
        return Patch(self.target, ({**operation, "path": path},))
