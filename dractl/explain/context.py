"""The case of one subject: the question, the scheduler's verdict, and the state of the cluster. It
is made once, and every diagnosis reads it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from dractl.allocation import CLAIM_NAME, DeviceID, RequestSurvey, Survey
from dractl.cluster.devices import Devices
from dractl.cluster.state import ClusterState
from dractl.explain.answer import Reason, reason_of
from dractl.explain.ask import Question
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.limits import drivers_of_class
from dractl.explain.reasons.misfits import Evaluation, SeenValue
from dractl.explain.reasons.phrases import Names
from dractl.model import (
    CapacityRequestPolicy,
    DeviceClass,
    DeviceSubRequest,
    ExactDeviceRequest,
    RequestRef,
)
from dractl.properties import cached_property
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.rejection import Rejection, UnmetRequirement, UntoleratedTaint
from dractl.scheduler.verdict import Attempt, NodeVerdict
from dractl.views import Pod

MAX_NODES_ANSWERED_ALONE = 64  # with more nodes than this, nodes with the same answer share it


class Case(Struct, frozen=True, dict=True):
    """One subject in one cluster."""

    question: Question
    pod: Pod
    """The subject, or the pod that would use the claim."""
    scheduler: Scheduler
    attempt: Attempt
    devices: Devices
    claims: Mapping[str, PodClaim]
    """The subject's claims by ``namespace/name``."""
    names: Names
    groups: tuple[tuple[NodeVerdict, ...], ...] = ()
    """Nodes that get the same answer."""
    surveys: Mapping[str, Survey] = field(default_factory=dict)
    """The survey of the first node of each group, by the name of that node; empty if nothing is to
    be allocated.
    """
    classes: Mapping[str, DeviceClass] = field(default_factory=dict)
    drivers: frozenset[str] = frozenset()
    refusals: Mapping[str, tuple[Rejection, ...]] = field(default_factory=dict)
    """All filters that refuse a node, by the name of the node. The scheduler reports only the first
    one.
    """

    @property
    def state(self) -> ClusterState:
        return self.scheduler.state

    @cached_property
    def refusing(self) -> Mapping[str, Survey]:
        """The surveys of nodes where the claims cannot be allocated."""
        return {
            v.name: self.surveys[v.name]
            for v, *_ in self.groups
            if not v.allocates and v.name in self.surveys
        }

    def count_devices(self, survey: Survey, request: RequestSurvey) -> int:
        """Return the most devices that a surveyed node can give a request; a shared device can be
        given more than once.
        """
        is_shared = self.devices.are_shared(request.candidates)
        return request.wanted if is_shared else survey.count_devices(request)

    @cached_property
    def has_enough_devices(self) -> bool:
        """True if some node may have enough devices for each request, apart from constraints."""
        is_refused_everywhere = 0 < len(self.groups) == len(self.refusing)
        return not is_refused_everywhere or any(
            map(self._has_enough_devices, self.refusing.values())
        )

    def _has_enough_devices(self, survey: Survey) -> bool:
        """Return whether a node has enough devices for each request, apart from constraints."""
        enough: dict[RequestRef, bool] = {}
        for request in survey.requests:
            devices, key = request.unconstrained, request.ref.request
            suffices = len(devices) >= request.wanted or self.devices.are_shared(devices)
            enough[key] = enough.get(key, False) or suffices
        return all(enough.values())

    def say(self, cause: Cause) -> str:
        """Return the sentence about a cause, with the names that the user gave."""
        return cause.full_sentence(self.names)

    def reason(self, cause: Cause) -> Reason:
        """Return a cause as JSON shows it."""
        claim = self.claims.get(cause.refs[0].claim) if cause.refs else None
        return reason_of(cause, self.names, claim.name or None if claim is not None else None)

    def option(self, ref: RequestRef) -> ExactDeviceRequest | DeviceSubRequest | None:
        """Return a request, or one of its alternatives, from the spec of its claim."""
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
        """Return the drivers that a class's selectors name literally; empty if they name none."""
        value = self.classes.get(device_class)
        return drivers_of_class(value) if value is not None else frozenset()

    def false_part(self, expression: str, devices: Sequence[DeviceID]) -> str | None:
        """Return the part of an expression that no device meets; None if there is none.

        If one part decided the evaluation on all devices, it is that part. Otherwise it is the
        first condition that is false on every device when it is evaluated alone.
        """
        program = self.scheduler.compile_selector(expression)
        if not program.ok:
            return expression
        decisive = {
            (evaluation.start, evaluation.end): evaluation.expression
            for evaluation in self.evaluations(expression, devices)
        }
        if len(decisive) == 1:
            return next(iter(decisive.values()))
        parts = {**decisive, **{(part.start, part.end): part.text for part in program.conjuncts}}
        for _, part in sorted(parts.items()):
            if not any(self.holds(part, device) for device in devices):
                return part
        return None

    def evaluations(self, expression: str, devices: Iterable[DeviceID]) -> tuple[Evaluation, ...]:
        """Return why an expression is not true on devices: one evaluation for each deciding part
        and its values, the most frequent first.
        """
        program = self.scheduler.compile_selector(expression)
        published = (
            (device, mapping)
            for device in devices
            if (mapping := self.devices.get(device)) is not None
        )
        decisions = (
            Counter(program.decision(device.driver, mapping) for device, mapping in published)
            if program.ok
            else {}
        )
        return tuple(
            Evaluation(
                d.text,
                d.start,
                d.end,
                d.error,
                tuple(SeenValue(seen.name, seen.value) for seen in d.seen),
            )
            for d in sorted(decisions, key=lambda decision: -decisions[decision])
        )

    def holds(self, expression: str, device: DeviceID) -> bool:
        """Return True if a condition is true on a device."""
        published = self.devices.get(device)
        program = self.scheduler.compile_selector(expression)
        return (
            published is not None
            and program.ok
            and program.evaluate(device.driver, published) is True
        )

    def policy(self, device: DeviceID, capacity: str) -> CapacityRequestPolicy | None:
        """Return the request policy of a device's capacity."""
        published = self.devices.get(device)
        capacities = {} if published is None else published.capacity
        capacity_value = capacities.get(capacity) or capacities.get(
            capacity.removeprefix(f"{device.driver}/")
        )
        return capacity_value.request_policy if capacity_value is not None else None


def case_of(scheduler: Scheduler, devices: Devices, question: Question, attempt: Attempt) -> Case:
    """Build the case of a question, with a survey for each group of nodes that get the same
    answer.
    """
    pod = scheduler.snapshot.pod(question.value)
    special_claims = (c for n in attempt.nodes[:1] for c in n.claims)
    claims = {c.full_name: c for c in (*attempt.claims, *special_claims)}
    labels = {name: c.name or c.key[1] for name, c in claims.items() if c.key[1] != CLAIM_NAME}
    refusals = {
        v.name: _refusals(scheduler, pod, v.name) for v in attempt.nodes if v.rejection is not None
    }
    groups = () if attempt.stops else _groups(attempt.nodes, refusals)
    return Case(
        question,
        pod,
        scheduler,
        attempt,
        devices,
        claims,
        Names(labels, pod.extended_request_sources),
        groups,
        scheduler.surveys(v for v, *_ in groups if v.allocator_verdict is not None),
        {item.metadata.name or "": item for item in scheduler.state.classes},
        frozenset(item.spec.driver for item in scheduler.slices),
        refusals,
    )


def _refusals(scheduler: Scheduler, pod: Pod, node: str) -> tuple[Rejection, ...]:
    """Return every filter that refuses a node.

    A cordoned node also has a taint (pkg/controller/nodelifecycle), which is not reported as a
    second cause.
    """
    refusals = scheduler.find_rejections(pod, node)
    if not any(refused.plugin == "NodeUnschedulable" for refused in refusals):
        return refusals
    kept = ((r, tuple(unmet for unmet in r.unmet if not _is_cordon_taint(unmet))) for r in refusals)
    return tuple(
        r if unmet_besides == r.unmet else replace(r, unmet=unmet_besides)
        for r, unmet_besides in kept
        if unmet_besides or not r.unmet
    )


def _is_cordon_taint(unmet: UnmetRequirement) -> bool:
    return (
        isinstance(unmet, UntoleratedTaint)
        and unmet.taint.key == "node.kubernetes.io/unschedulable"
    )


def _groups(
    verdicts: Sequence[NodeVerdict], refusals: Mapping[str, Sequence[Rejection]]
) -> tuple[tuple[NodeVerdict, ...], ...]:
    """Group the nodes by answer if there are many; otherwise each node is a group of its own."""
    if len(verdicts) <= MAX_NODES_ANSWERED_ALONE:
        return tuple((v,) for v in verdicts)
    groups: dict[object, list[NodeVerdict]] = {}
    for v in verdicts:
        texts = tuple((r.plugin, r.texts) for r in refusals.get(v.name, ()))
        elsewhere = tuple(c.full_name for c in v.unusable_claims)
        groups.setdefault((v.group, texts, elsewhere, bool(v.victims)), []).append(v)
    return tuple(map(tuple, groups.values()))
