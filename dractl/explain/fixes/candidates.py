"""What the makers of fixes share: a candidate, and where in the source a claim's requests can be changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dractl.cluster.changes import Create, Delete, Patch, parse_target, pointer
from dractl.cluster.state import at, maps_at, text_at
from dractl.explain.fixes.owners import WORKLOADS, Owners

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dractl.allocation import Features
    from dractl.allocation.survey import RequestSurvey, Survey
    from dractl.cluster.changes import Change
    from dractl.cluster.devices import Devices
    from dractl.explain.about import About
    from dractl.explain.answer import Reason
    from dractl.explain.subjects import Question
    from dractl.scheduler.attempt import Scheduler
    from dractl.scheduler.claims import PodClaim
    from dractl.scheduler.verdict import Attempt, NodeVerdict

    Raw = Mapping[str, Any]

# What a change touches, the smallest first (design section 3).
OWN, POD, OTHER, POLICY, NODE, SETTING = range(6)
_TOUCHES = {
    "ResourceClaim": OWN,
    "ResourceClaimTemplate": OWN,
    "Pod": POD,
    "DeviceClass": POLICY,
    "DeviceTaintRule": POLICY,
    "ResourceSlice": POLICY,
    "ResourceQuota": POLICY,
    "Namespace": POLICY,
    "Node": NODE,
    **dict.fromkeys(WORKLOADS, OTHER),
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A change that may help. Of one ``family`` only the first that is verified is shown, and none if one of the family
    ``unless`` is; ``features`` are what the scheduler would have to run with, where that is the change.

    ``tried`` is what is assumed to follow, where that is not ``changes`` themselves; what has no changes nobody can
    apply: it is up to a driver, or to time. ``corrects``: it removes the cause that is named first. Where such a
    correction is not enough by itself, the answer says so, and nothing of its family that goes around the cause."""

    title: str
    changes: tuple[Change, ...]
    family: str
    effect: str = ""
    features: Features | None = None
    order: int = 0  # among candidates of the same size
    unless: str = ""
    tried: tuple[Change, ...] = ()
    corrects: bool = False
    reluctant: bool = False  # never shown first: most people would regret it

    @property
    def trial(self) -> tuple[Change, ...]:
        return self.tried or self.changes

    @property
    def size(self) -> tuple[int, int, int, int]:
        """Changes, operations, what they touch, order: smaller is shown first."""
        if not self.changes:
            return (0, 0, 0, self.order) if self.corrects else (1, 1, SETTING, self.order)
        operations = sum(len(c.operations) if isinstance(c, Patch) else 1 for c in self.changes)
        return (len(self.changes), operations, max(touches(c) for c in self.changes), self.order)


def touches(change: Change) -> int:
    match change:
        case Patch(target):
            return _TOUCHES.get(parse_target(target)[0], SETTING)
        case Delete(target):
            kind = parse_target(target)[0]
            return OTHER if kind in ("Pod", "ResourceClaim") else _TOUCHES.get(kind, SETTING)
        case Create(value):
            return _TOUCHES.get(str(value.get("kind")), SETTING)


@dataclass(frozen=True, slots=True)
class Case:
    """What is known about a subject that does not fit."""

    question: Question
    judge: Scheduler
    judgement: Attempt
    devices: Devices
    about: About
    reasons: Sequence[Reason]
    surveys: Mapping[str, Survey]  # by node, of those that cannot allocate
    claims: tuple[PodClaim, ...]
    owners: Owners = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "owners", Owners(self.judge.state, self.question.key))

    @property
    def state(self) -> Any:
        return self.judge.state

    @property
    def first(self) -> Reason:
        """The cause that is named first."""
        return next((r for r in self.reasons if r.code != "mixed"), self.reasons[0])

    def requests(self) -> Iterator[tuple[NodeVerdict, RequestSurvey]]:
        """Every request on every surveyed node."""
        for verdict in self.judgement.nodes:
            survey = self.surveys.get(verdict.name)
            for request in survey.requests if survey else ():
                yield verdict, request

    def claim(self, full_name: str | None) -> PodClaim | None:
        return next((c for c in self.claims if c.full_name == full_name), None)

    def place(self, claim_name: str | None, request: str | None) -> Place | None:
        """Where a request, or an alternative of one, is written."""
        claim = self.claim(claim_name)
        if claim is None or claim.editable is None or not request:
            return None
        target, prefix = claim.editable
        kind, key = parse_target(target)
        value = self.state.get(kind, key)
        name, _, alternative = request.partition("/")
        for i, raw in enumerate(maps_at(value, *prefix, "devices", "requests")):
            if text_at(raw, "name") != name:
                continue
            path: tuple[str | int, ...] = (*prefix, "devices", "requests", i)
            if alternative:
                for j, sub in enumerate(maps_at(raw, "firstAvailable")):
                    if text_at(sub, "name") == alternative:
                        return Place(target, (*path, "firstAvailable", j), sub)
                return None
            if isinstance(raw.get("exactly"), dict):
                return Place(target, (*path, "exactly"), raw["exactly"])
            return Place(target, path, raw)  # v1beta1
        return None

    def constraints(self, claim: PodClaim) -> tuple[str, tuple[str | int, ...], list[Raw]] | None:
        """Target, path and value of a claim's constraints."""
        if claim.editable is None:
            return None
        target, prefix = claim.editable
        kind, key = parse_target(target)
        path = (*prefix, "devices", "constraints")
        return target, path, maps_at(self.state.get(kind, key), *path)


@dataclass(frozen=True, slots=True)
class Place:
    """A request as it is written: in which object, at which path, and its fields."""

    target: str
    path: tuple[str | int, ...]
    value: Raw

    def replace(self, *field: str | int, value: Any) -> Patch:
        """A patch that sets a field, whether or not it is there."""
        op = "replace" if at(self.value, *field) is not None else "add"
        return Patch(self.target, ({"op": op, "path": pointer(*self.path, *field), "value": value},))

    def add(self, *field: str | int, value: Any) -> Patch:
        return Patch(self.target, ({"op": "add", "path": pointer(*self.path, *field), "value": value},))

    def remove(self, *field: str | int) -> Patch:
        return Patch(self.target, ({"op": "remove", "path": pointer(*self.path, *field)},))
