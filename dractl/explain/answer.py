"""An explanation: a verdict, reasons, nodes with their funnels, and fixes. These are plain values,
which reports render.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal, cast

from msgspec import Struct, field

from dractl.cluster.changes import Change, Create, Delete, Patch
from dractl.explain.reasons.machines import NotKnownOfMachine
from dractl.explain.reasons.previews import NotKnownOfPreview
from dractl.model.camelcase import camel_case

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dractl.alignment import Alignment
    from dractl.cluster.devices import Holder
    from dractl.cluster.schedulers import Utterance
    from dractl.cluster.shell import NextStep
    from dractl.explain.fixes.steps import Command
    from dractl.explain.permissions import UnreadableResource
    from dractl.explain.reasons.base import Cause, Facts
    from dractl.explain.reasons.headline import Clauses
    from dractl.explain.reasons.misfits import Evaluation
    from dractl.explain.reasons.phrases import Names
    from dractl.scheduler.words import SchedulerWords


Verdict = Literal[
    "allocated", "allocatable", "unallocatable", "blocked", "error", "undecided", "failing"
]

# From the worst on: subjects that can never fit, then subjects that wait, then healthy ones.
SEVERITY: tuple[Verdict, ...] = (
    "error",
    "blocked",
    "failing",
    "unallocatable",
    "undecided",
    "allocatable",
    "allocated",
)
FITS: frozenset[Verdict] = frozenset({"allocated", "allocatable"})


class Reason(Struct, frozen=True):
    """A cause as it is reported, with a code that never changes."""

    code: str
    message: str
    """The sentence, with the holders of the devices."""
    brief: str
    """The sentence without the holders of the devices."""
    facts: Facts = field(default_factory=dict)
    """Further facts for JSON, by their keys."""

    @property
    def is_unknown_machine(self) -> bool:
        """True if the answer depends on values of a machine that no source shows."""
        return self.code == NotKnownOfMachine.page.code

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes to which the reason applies."""
        return cast("tuple[str, ...]", self.facts.get("nodes", ()))

    @property
    def request(self) -> str | None:
        """The requests to which the reason applies."""
        return cast("str | None", self.facts.get("request"))

    @property
    def selector(self) -> str | None:
        """The selector that excludes devices or fails on them."""
        return cast("str | None", self.facts.get("selector"))

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """The evaluations of the selector on the devices."""
        return cast("tuple[Evaluation, ...]", self.facts.get("evaluated", ()))


class FunnelStage(Struct, frozen=True):
    """One line of the funnel: the devices that remain after a stage."""

    request: str
    stage: str
    kept: int
    """The number of devices that remain."""
    of: int
    """The number of devices before the stage."""
    detail: str = ""
    heading: str = ""
    """The request as people name it: with its claim if the pod has several, or by its extended
    resource.
    """
    nodes: int = 0
    """The number of nodes with devices of the class. It is set only in the first line of a request,
    and only if several nodes share the line.
    """
    claim: str = ""
    """The claim as ``namespace/name``."""


class AllocatedDevice(Struct, frozen=True):
    """A device that the scheduler would give, or has given, to a request."""

    claim: str
    """The claim as ``namespace/name``."""
    request: str
    driver: str
    pool: str
    device: str


class ConstraintGroup(Struct, frozen=True):
    """One value of a constrained attribute, such as a PCIe root or a NUMA node, with its matching
    devices.
    """

    attribute: str
    value: str
    free: tuple[tuple[str, int], ...]
    """The number of free matching devices of each request."""
    all: tuple[tuple[str, int], ...] = ()
    """The number of matching devices of each request, in use or not."""

    @property
    def score(self) -> tuple[int, int]:
        """The sort key for nearness to a fit: the number of requests that find a device here, then
        the number of free devices.
        """
        return sum(1 for _, n in self.free if n), sum(n for _, n in self.free)


class Conflict(Struct, frozen=True):
    """A minimal set of requests and constraints that cannot be satisfied together on ``node``."""

    node: str
    requests: tuple[str, ...]
    constraints: tuple[str, ...]
    places: tuple[ConstraintGroup, ...] = ()


class NodeAnswer(Struct, frozen=True):
    """The answer for one node."""

    name: str
    verdict: Verdict | Literal["filtered"]
    reasons: tuple[Reason, ...] = ()
    funnel: tuple[FunnelStage, ...] = ()
    allocation: tuple[AllocatedDevice, ...] = ()
    like: tuple[str, ...] = ()
    """Further nodes with the same answer. The answer's devices and holders are those of
    ``name``.
    """


class Relief(Struct, frozen=True):
    """The pods that wait for the same fix."""

    fits: int
    """The number of pods that fit after the fix, placed one after the other."""
    of: int
    """The number of pods that wait for the fix."""


class Fix(Struct, frozen=True):
    """A change after which the simulated scheduler allocated the subject."""

    title: str
    changes: tuple[Change, ...]
    effect: str = ""
    nodes: tuple[str, ...] = ()
    """The nodes on which the subject fits after the change."""
    rank: int = 0
    tried: tuple[Change, ...] = ()
    """The changes that were simulated, if they differ from ``changes``: the slices that a driver
    would publish, or the pods that a smaller workload would end.
    """
    steps: tuple[Command, ...] = ()
    """The commands that apply the fix."""
    by_hand: str | None = None
    """The owner of the manifest that a person has to change, if no command can apply the fix."""
    relief: Relief | None = None
    """The pods that wait for the same fix, if there are several."""
    parts: tuple[str, ...] = ()
    """The titles of the corrections that the fix consists of, if it corrects several obstacles."""

    @property
    def effects(self) -> str:
        """The effect of the fix, and how many of the waiting pods fit after it."""
        fitting = (
            f"{self.relief.fits} of {self.relief.of} pods fit then"
            if self.relief is not None
            else ""
        )
        return "; ".join(filter(None, (self.effect, fitting)))


class FixResult(Struct, frozen=True):
    """The fixes of a subject."""

    fixes: tuple[Fix, ...] = ()
    notes: tuple[str, ...] = ()
    """Notes about changes that are not enough."""
    next: tuple[NextStep, ...] = ()
    """The next steps after a change that is not enough, if there is no fix."""


When = Literal["never", "now-held", "blocked"]
"""The time when a subject could fit. ``never``: it does not fit even with all devices free.
``now-held``: it fits once others free the devices that they hold. ``blocked``: something must
change before the scheduler tries any node.
"""


class ExpectedNode(Struct, frozen=True):
    """The answer for one NodePool, or the autoscaler's own words."""

    autoscaler: str
    pool: str
    """The name of the NodePool; "" where the autoscaler names none."""
    verdict: str
    """``comes``, ``never`` or ``unknown``."""
    machines: tuple[str, ...]
    """Instance types that would serve the pod's claims."""
    reason: str
    """A sentence without its full stop."""
    fix: str | None = None
    """The smallest change of the NodePool or the pod after which a node would come."""


class Obstacle(Struct, frozen=True):
    """One thing that has to change before the subject fits on a node."""

    kind: str
    object: str
    """The object that states the demand, as ``Kind/namespace/name``; empty for the subject."""
    want: str
    """The demand, as a phrase."""
    have: str
    """The state that does not meet the demand, as a phrase."""
    nodes: tuple[str, ...] = ()
    """The nodes with the same obstacle."""
    code: str = ""
    """The code that the obstacle has when it is reported as a reason."""


class DeviceStatus(Struct, frozen=True):
    """The state of a device of a node."""

    device: str
    """The device as ``driver/pool/device``."""
    status: Literal["free", "held", "unavailable", "tainted", "hidden", "unpublished"]
    """``unavailable``: no claim can have the device, since other devices use its counters or its
    gate is off. ``tainted``: the device is free, with a taint that keeps claims away. ``hidden``:
    the scheduler does not use its pool. ``unpublished``: a claim holds the device, and no slice has
    it.
    """
    holders: tuple[Holder, ...] = ()
    taints: tuple[str, ...] = ()
    detail: str = ""
    """The reason for the status, or the remainder of a shared device."""
    requests: tuple[str, ...] = ()
    """The requests that could use the device if it were free."""
    root: str | None = None
    """The PCIe root that its driver publishes."""
    numa: str | None = None
    """The NUMA node that its driver publishes."""


class Hanging(Struct, frozen=True):
    """A pod (``namespace/name``) that is stuck, with its own headline."""

    pod: str
    why: str


class DriverStatus(Struct, frozen=True):
    """A driver on a node."""

    driver: str
    devices: int
    held: int
    restartable: bool
    """True if all devices of the driver on the node are free."""


class Subject(Struct, frozen=True):
    """The subject of an answer."""

    kind: str
    namespace: str
    name: str
    pod_claims: Mapping[str, str | None] = field(default_factory=dict)
    """The claims by the names that the pod gives them."""
    templates: Mapping[str, str] = field(default_factory=dict)
    """The templates, by the names that the pod gives the claims."""
    extended: Mapping[str, str] = field(default_factory=dict)
    """The extended resources of the pod by the requests of the scheduler's claim."""

    @property
    def address(self) -> str:
        """``KIND/NAMESPACE/NAME``, the name by which ``explain`` takes the subject."""
        return "/".join(filter(None, (self.kind.lower(), self.namespace, self.name)))

    @property
    def title(self) -> str:
        return (
            f"{self.kind.lower()} {self.namespace}/{self.name}"
            if self.namespace
            else f"{self.kind.lower()} {self.name}"
        )


class SchedulerAnswer(Struct, frozen=True):
    """The scheduler that a pod names, if it is not default-scheduler."""

    name: str
    title: str
    """The scheduler with its version, if it is known; else its name."""
    kube_scheduler: bool
    """True if the scheduler is a kube-scheduler, so that the verdict of the answer is its verdict.
    """
    runs: bool | None
    """True if the scheduler runs; None if the input does not show whether it does."""
    workloads: tuple[str, ...]
    """``KIND/NAMESPACE/NAME`` of the workloads that run it."""
    version: str
    profile: str
    """The ConfigMap with its profile."""
    allocates_claims: bool | None
    """Whether the scheduler allocates claims; None if that is not known."""
    claims: str
    gangs: str
    quota: str
    """The treatment of quotas: the end of a sentence that begins with the scheduler's name. The
    fields ``claims`` and ``gangs`` have the same form.
    """
    group: str
    queue: str
    """The group and the queue that the pod names."""
    words: tuple[Utterance, ...]
    """The scheduler's own words about the pod."""
    source: str
    read: str
    """The source of the facts about the scheduler, and the day on which they were read."""


_UNTRIED = ("not-tried-yet", "would-fit-now")


class SubjectVerdict(Struct, frozen=True):
    """The verdict on a subject, with its first reason."""

    subject: Subject
    verdict: Verdict
    code: str
    """The code of the first reason; the verdict if there is no reason."""
    pools: frozenset[tuple[str, str]] = frozenset()
    """The drivers and pools whose devices the first node would give."""

    @property
    def fits(self) -> bool:
        """True if the subject can be, or is, allocated."""
        return self.verdict in FITS


class Explanation(Struct, frozen=True):
    """The whole answer about one subject."""

    subject: Subject
    verdict: Verdict
    release: str
    release_assumed: bool
    headline: str = ""
    clauses: Clauses | None = None
    """The clauses of the headline."""
    scheduler_message: str | None = None
    when: When | None = None
    """The time when the subject could fit; None if it fits, or if the time is not known."""
    obstacles: tuple[Obstacle, ...] = ()
    """The obstacles on the nearest node, the deciding one first."""
    reasons: tuple[Reason, ...] = ()
    nodes: tuple[NodeAnswer, ...] = ()
    funnel: tuple[FunnelStage, ...] = ()
    """The stages, summed over the nodes."""
    conflict: Conflict | None = None
    fixes: tuple[Fix, ...] = ()
    plan: NextStep | None = None
    """The step that finds out which other pods have to move; it comes before the fixes."""
    next: tuple[NextStep, ...] = ()
    """Further things to look at or to do."""
    notes: tuple[str, ...] = ()
    """Notes on facts that were assumed or not checked."""
    age: str | None = None
    """The creation timestamp of the subject."""
    phase: str | None = None
    """The phase of a pod that exists."""
    devices: tuple[DeviceStatus, ...] = ()
    """The devices of the node that the question names, or else of the node that is nearest to a
    fit.
    """
    drivers: tuple[DriverStatus, ...] = ()
    alike: tuple[str, ...] = ()
    """Other pods of ``workload`` with the same answer."""
    workload: str = ""
    """The workload as ``kind namespace/name``."""
    unread: tuple[UnreadableResource, ...] = ()
    """The resources that were not read whole, so that the answer is incomplete."""
    alignment: tuple[Alignment, ...] = ()
    """The alignment of an allocated subject, by kinds of devices."""
    release_from: str = ""
    """The origin of the release: kubelets, a default, and so on."""
    expected_nodes: tuple[ExpectedNode, ...] = ()
    """The nodes that an autoscaler would launch for a pending pod."""
    scheduler: SchedulerAnswer | None = None
    """The answer of a scheduler other than the default, if the pod names one."""
    words: SchedulerWords | None = None
    """kube-scheduler's newest words about the subject."""

    @property
    def title(self) -> str:
        """The name of the subject; for equal replicas, the workload and their number."""
        return f"{self.workload} ({1 + len(self.alike)} pods)" if self.alike else self.subject.title

    @property
    def waits(self) -> bool:
        """True if the subject waits only for the scheduler to try or retry it."""
        return any(reason.code in _UNTRIED for reason in self.reasons[:1])

    @property
    def all_next(self) -> tuple[NextStep, ...]:
        """All next steps, beginning with the step that precedes the fixes."""
        return self.next if self.plan is None else (self.plan, *self.next)

    @property
    def fits(self) -> bool:
        return self.verdict in FITS

    @property
    def code(self) -> str:
        """The code of the first reason; the verdict if there is no reason."""
        return self.reasons[0].code if self.reasons else self.verdict

    @property
    def is_unknown_machine(self) -> bool:
        """True if the answer depends on values of a machine that no source shows."""
        return any(reason.is_unknown_machine for reason in self.reasons[:1])

    @property
    def pools(self) -> frozenset[tuple[str, str]]:
        """The drivers and pools whose devices the first node would give."""
        return list_pools(device for node in self.nodes[:1] for device in node.allocation)

    @property
    def summary(self) -> SubjectVerdict:
        """The verdict and the first reason alone."""
        return SubjectVerdict(self.subject, self.verdict, self.code, self.pools)

    @property
    def is_without_fix(self) -> bool:
        """True if dractl tried changes and none made the subject fit."""
        waits = any(reason.code == "own-replicas" for reason in self.reasons)
        settled = self.fits or self.verdict == "failing" or self.unread or self.unchecked or waits
        in_doubt = self.is_unknown_machine or self.code == NotKnownOfPreview.page.code
        return bool(self.nodes) and not (self.fixes or settled or in_doubt)

    @property
    def is_driver_at_fault(self) -> bool:
        """True if a driver publishes nothing on nodes that it should serve. Steps that make the
        driver run then come before fixes that give up the demand.
        """
        return any(reason.code == "driver-absent" for reason in self.reasons)

    @property
    def unchecked(self) -> bool:
        """True if a node fits, but a plugin or scheduler that dractl does not simulate may refuse
        it. dractl then searches for no fixes.
        """
        stopped = bool(self.reasons) and self.reasons[0].code in ("node-filter", "other-scheduler")
        return stopped and any(node.verdict in ("allocatable", "undecided") for node in self.nodes)


def list_pools(allocation: Iterable[AllocatedDevice]) -> frozenset[tuple[str, str]]:
    """Return the drivers and pools of devices."""
    return frozenset((device.driver, device.pool) for device in allocation)


def plain(value: Any) -> Any:
    """Encode a value of this module as JSON: camelCase keys, without fields that have no value."""
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, Patch):
        return {"patch": value.target, "json": [dict(operation) for operation in value.operations]}
    if isinstance(value, Delete):
        return {"delete": value.target}
    if isinstance(value, Create):
        return {"create": dict(value.value)}
    if isinstance(value, Reason):
        facts = {key: plain(fact) for key, fact in value.facts.items()}
        return {"code": value.code, "message": value.message, **facts}
    if isinstance(value, Struct):
        fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
        return {camel_case(name): plain(item) for name, item in fields if _has_value(item)}
    return value


def _has_value(fact: object) -> bool:
    return fact is not None and fact not in ((), "")


_FACT_ORDER = (
    *("podClaim", "claim", "request", "selector", "constraint", "class", "template", "driver"),
    *("pool", "slice", "counterSet", "counters", "attribute", "capacity", "taint", "rules"),
    *("plugin", "resource", "gate", "group", "issue", "nodes", "devices", "holders"),
    *("want", "have", "free", "nearest", "found", "evaluated"),
)
"""The keys of facts in the order in which JSON shows them; others come last."""
_FACT_POSITIONS = {key: position for position, key in enumerate(_FACT_ORDER)}


def reason_of(cause: Cause, names: Names, pod_claim: str | None = None) -> Reason:
    """Return a cause as it is reported; ``pod_claim`` is the name that the pod gives the claim of
    the first request.
    """
    facts = cause.facts()
    if cause.refs:
        single = len({ref.claim for ref in cause.refs}) == 1
        facts["claim"] = cause.refs[0].claim
        facts["request"] = ", ".join(map(str if single else names.short_name, cause.refs))
        facts["podClaim"] = facts.get("podClaim") or pod_claim
    return Reason(
        cause.code,
        cause.full_sentence(names),
        cause.brief(names),
        {key: facts[key] for key in _sort_facts(tuple(facts)) if _has_value(facts[key])},
    )


@cache
def _sort_facts(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys of facts in the order in which JSON shows them."""
    return tuple(sorted(keys, key=lambda key: _FACT_POSITIONS.get(key, len(_FACT_ORDER))))
