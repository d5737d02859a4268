"""The case of one subject: the question, the scheduler's verdict, and what the cluster has. Made once, read by all."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from dractl.allocation import CLAIM_NAME, DeviceID, Survey
from dractl.cluster.devices import Devices
from dractl.cluster.state import ClusterState
from dractl.explain.answer import Reason, reason_of
from dractl.explain.ask import Question
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.limits import drivers_named
from dractl.explain.reasons.misfits import Evaluated, Saw
from dractl.explain.reasons.phrases import Names
from dractl.model import (
    CapacityRequestPolicy,
    DeviceClass,
    DeviceSubRequest,
    ExactDeviceRequest,
    RequestRef,
)
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.rejection import Rejection, Unmet, Untolerated
from dractl.scheduler.snapshot import PodInfo
from dractl.scheduler.verdict import Attempt, NodeVerdict

_MANY = 64  # with more nodes than this, those with the same answer share one


class Case(Struct, frozen=True):
    """One subject in one cluster.

    ``pod`` is the subject, if it is a pod. ``claims`` are the subject's by ``namespace/name``.
    ``groups`` are nodes that get the same answer, ``surveys`` what the first node of each group offers, where anything
    is to be allocated. ``refusals`` are all filters that refuse a node, of which the scheduler reports the first.
    """

    question: Question
    pod: PodInfo
    scheduler: Scheduler
    attempt: Attempt
    devices: Devices
    claims: Mapping[str, PodClaim]
    names: Names
    groups: tuple[tuple[NodeVerdict, ...], ...] = ()
    surveys: Mapping[str, Survey] = field(default_factory=dict)
    classes: Mapping[str, DeviceClass] = field(default_factory=dict)
    drivers: frozenset[str] = frozenset()
    refusals: Mapping[str, tuple[Rejection, ...]] = field(default_factory=dict)

    @property
    def state(self) -> ClusterState:
        return self.scheduler.state

    @property
    def refusing(self) -> Mapping[str, Survey]:
        """The surveys of nodes where the claims cannot be allocated."""
        return {
            v.name: self.surveys[v.name]
            for v, *_ in self.groups
            if not v.allocates and v.name in self.surveys
        }

    def say(self, cause: Cause) -> str:
        """The sentence about a cause, as the user has named things."""
        return cause.said(self.names)

    def reason(self, cause: Cause) -> Reason:
        """A cause as JSON shows it."""
        claim = self.claims.get(cause.about[0].claim) if cause.about else None
        return reason_of(cause, self.names, claim.name or None if claim is not None else None)

    def option(self, ref: RequestRef) -> ExactDeviceRequest | DeviceSubRequest | None:
        """A request, or the alternative of one, as its claim has it."""
        claim = self.claims.get(ref.claim)
        requests = (
            claim.claim.spec.devices.requests
            if claim is not None and claim.claim is not None
            else ()
        )
        request = next((r for r in requests if r.name == ref.name), None)
        if request is None or ref.alternative is None:
            return None if request is None else request.exactly
        return next(
            (option for option in request.first_available if option.name == ref.alternative), None
        )

    def drivers_of(self, device_class: str) -> frozenset[str]:
        """The drivers that a class's selectors name literally; empty where they name none."""
        found = self.classes.get(device_class)
        return drivers_named(found) if found is not None else frozenset()

    def false_part(self, expression: str, devices: Sequence[DeviceID]) -> str | None:
        """The part of an expression that no device meets: what decided the evaluation on each of them where that is the
        same, else the first condition that none meets by itself."""
        program = self.scheduler.compile(expression)
        if not program.ok:
            return expression
        decided = {
            (found.start, found.end): found.expression
            for found in self.evaluated(expression, devices)
        }
        if len(decided) == 1:
            return next(iter(decided.values()))
        parts = {**decided, **{(part.start, part.end): part.text for part in program.conjuncts}}
        for _, part in sorted(parts.items()):
            if not any(self.holds(part, device) for device in devices):
                return part
        return None

    def evaluated(self, expression: str, devices: Iterable[DeviceID]) -> tuple[Evaluated, ...]:
        """Why an expression is not true on devices, once for each part that decided and values that it saw; the most
        frequent first."""
        program = self.scheduler.compile(expression)
        there = (
            (device, found) for device in devices if (found := self.devices.get(device)) is not None
        )
        decisions = (
            Counter(program.decision(device.driver, found) for device, found in there)
            if program.ok
            else {}
        )
        return tuple(
            Evaluated(
                d.text,
                d.start,
                d.end,
                d.error,
                tuple(Saw(seen.name, seen.value) for seen in d.seen),
            )
            for d in sorted(decisions, key=lambda decision: -decisions[decision])
        )

    def holds(self, expression: str, device: DeviceID) -> bool:
        """True if a condition is true on a device."""
        found = self.devices.get(device)
        program = self.scheduler.compile(expression)
        return found is not None and program.ok and program.evaluate(device.driver, found) is True

    def policy(self, device: DeviceID, capacity: str) -> CapacityRequestPolicy | None:
        """The request policy of a device's capacity."""
        found = self.devices.get(device)
        capacities = {} if found is None else found.capacity
        named = capacities.get(capacity) or capacities.get(
            capacity.removeprefix(f"{device.driver}/")
        )
        return named.request_policy if named is not None else None


def case_of(scheduler: Scheduler, devices: Devices, question: Question, attempt: Attempt) -> Case:
    """The case of a question, with a survey for each group of nodes that gets the same answer."""
    pod = scheduler.snapshot.pod(question.value)
    special = (c for n in attempt.nodes[:1] for c in n.claims)
    claims = {c.full_name: c for c in (*attempt.claims, *special)}
    called = {name: c.name or c.key[1] for name, c in claims.items() if c.key[1] != CLAIM_NAME}
    refusals = {
        v.name: _refusals(scheduler, pod, v.name) for v in attempt.nodes if v.rejection is not None
    }
    groups = () if attempt.stopped else _groups(attempt.nodes, refusals)
    return Case(
        question,
        pod,
        scheduler,
        attempt,
        devices,
        claims,
        Names(called, pod.written),
        groups,
        {v.name: _survey(scheduler, v) for v, *_ in groups if v.outcome is not None},
        {item.metadata.name or "": item for item in scheduler.state.classes},
        frozenset(item.spec.driver for item in scheduler.slices),
        refusals,
    )


def _refusals(scheduler: Scheduler, pod: PodInfo, node: str) -> tuple[Rejection, ...]:
    """Every filter that refuses a node. A cordoned node has a taint that says the same (pkg/controller/nodelifecycle):
    it is not a second cause."""
    found = scheduler.refusals(pod, node)
    if not any(refused.plugin == "NodeUnschedulable" for refused in found):
        return found
    without = ((r, tuple(unmet for unmet in r.unmet if not _of_cordon(unmet))) for r in found)
    return tuple(
        r if left == r.unmet else replace(r, unmet=left)
        for r, left in without
        if left or not r.unmet
    )


def _of_cordon(unmet: Unmet) -> bool:
    return isinstance(unmet, Untolerated) and unmet.taint.key == "node.kubernetes.io/unschedulable"


def _survey(scheduler: Scheduler, verdict: NodeVerdict) -> Survey:
    decoded = [c.claim for c in verdict.claims if c.claim is not None]
    return scheduler.allocator.survey(scheduler.state.decode(verdict.node), decoded)


def _groups(
    verdicts: Sequence[NodeVerdict], refusals: Mapping[str, Sequence[Rejection]]
) -> tuple[tuple[NodeVerdict, ...], ...]:
    """Each node by itself; of many nodes, those that get the same answer together."""
    if len(verdicts) <= _MANY:
        return tuple((v,) for v in verdicts)
    found: dict[object, list[NodeVerdict]] = {}
    for v in verdicts:
        refused = tuple((r.plugin, r.texts) for r in refusals.get(v.name, ()))
        elsewhere = tuple(c.full_name for c in v.elsewhere)
        found.setdefault((v.group, refused, elsewhere, bool(v.victims)), []).append(v)
    return tuple(map(tuple, found.values()))
