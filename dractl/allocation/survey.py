"""The stages of a request: the devices that each keeps and loses, and why.

:meth:`dractl.allocation.Allocator.survey` makes them for a node and a pod's claims. It looks at
every request by itself; :meth:`dractl.allocation.Allocator.allocate` decides how requests affect
each other. The stages are in the order in which the scheduler checks a device. If a device can
never serve the request, the stage that shows this loses the device, even if the device is also in
use or its counters are used up.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation.faults import Fault, PoolFault
from dractl.allocation.state import DeviceID
from dractl.model import DeviceSelector, ResourceClaim
from dractl.model.names import RequestRef

StageName = Literal[
    "class-selector",  # one stage for each selector of the class
    "request-selector",  # one stage for each selector of the request
    "node",  # perDeviceNodeSelection: the device is for another node
    "in-use",  # held by another claim
    "node-operations",  # skipNodeOperations that the node does not declare
    "counters",  # shared counters: not enough left
    "taints",
    "capacity",  # consumable capacity: missing, against the policy, not enough left
    "constraint",  # the device lacks the attribute that a constraint of the claim compares
    "gate",  # a field whose feature gate is off hides the device
]

LossCode = Literal[
    "selector-false",
    "selector-error",
    "node-mismatch",
    "device-in-use",
    "node-operations",
    "counters-short",
    "compatibility-groups",
    "tainted",
    "capacity-missing",
    "capacity-policy",
    "capacity-short",
    "attr-missing",
    "gate-off",
]


class Loss(Struct, frozen=True):
    """One device that a stage loses. Fields that do not apply are None."""

    device: DeviceID
    code: LossCode
    message: str
    error: str | None = None
    """The error of a selector, as cel-go has it."""
    attribute: str | None = None
    capacity: str | None = None
    counter_set: str | None = None
    counter: str | None = None
    taint: str | None = None
    """The taint as ``key=value:effect``."""
    gate: str | None = None
    want: str | None = None
    free: str | None = None
    total: str | None = None


class Stage(Struct, frozen=True):
    """A stage of a request. ``kept`` and ``lost`` together are the devices that the previous stage
    kept.
    """

    name: StageName
    kept: tuple[DeviceID, ...]
    lost: tuple[Loss, ...]
    selector: int | None = None
    """The index of the selector in the class or request."""
    expression: str | None = None
    """The text of the selector."""
    constraint: int | None = None
    """The index of the constraint in the claim."""
    attribute: str | None = None


class RequestSurvey(Struct, frozen=True):
    """The stages of one request, or of one alternative of a request with ``firstAvailable``."""

    ref: RequestRef
    claim_index: int
    device_class: str
    mode: str
    wanted: int
    """The number of devices: the count, or for mode All the number that the selectors match."""
    offered: tuple[DeviceID, ...]
    """The devices of the node's usable pools, before any stage."""
    stages: tuple[Stage, ...]
    candidates: tuple[DeviceID, ...]
    """The devices after the last stage."""
    fault: Fault | None = None
    """The fault of an invalid request (class missing, gate off ...), which has no stages then."""

    @property
    def claim(self) -> str:
        """``namespace/name`` of the claim."""
        return self.ref.claim

    @property
    def request(self) -> str:
        """``request`` or ``request/alternative``."""
        return str(self.ref)

    @property
    def enough(self) -> bool:
        """True if the request by itself has as many candidates as it needs."""
        if self.fault is not None:
            return False
        return len(self.candidates) >= max(self.wanted, 1 if self.mode == "All" else 0)

    @property
    def unconstrained(self) -> tuple[DeviceID, ...]:
        """The devices before the stages of constraints."""
        first = next((stage for stage in self.stages if stage.name == "constraint"), None)
        if first is None:
            return self.candidates
        return (*first.kept, *(loss.device for loss in first.lost))


class PoolSurvey(Struct, frozen=True):
    """A pool that the node sees, and whether the scheduler uses it."""

    driver: str
    pool: str
    state: Literal["usable", "incomplete", "invalid", "obsolete"]
    fault: PoolFault | None
    """The fault of an invalid pool."""
    generation: int
    slices: int
    """The number of slices of the pool's generation in the whole cluster."""
    expected: int
    """The ``resourceSliceCount`` of the pool."""
    devices: int
    """The number of devices for the node."""


class ValueGroup(Struct, frozen=True):
    """The candidates of the constrained requests that share one value of the attribute."""

    value: str
    # Request (or request/alternative) -> its candidates
    candidates: tuple[tuple[str, tuple[DeviceID, ...]], ...]
    fits: bool
    """For matchAttribute, True if every request finds as many devices as it wants in this group."""


class ConstraintSurvey(Struct, frozen=True):
    """A constraint of a claim, and the candidates for each value of its attribute."""

    claim: str
    claim_index: int
    constraint: int
    kind: Literal["matchAttribute", "distinctAttribute"]
    attribute: str
    requests: tuple[str, ...]
    """The requests that the constraint covers."""
    groups: tuple[ValueGroup, ...]

    @property
    def satisfiable(self) -> bool:
        """True if the constraint by itself can be satisfied."""
        return any(group.fits for group in self.groups)


class Survey(Struct, frozen=True):
    """A node's devices for a pod's claims, request by request."""

    node: str
    pools: tuple[PoolSurvey, ...]
    requests: tuple[RequestSurvey, ...]
    constraints: tuple[ConstraintSurvey, ...]
    fault: Fault | None = None
    """The reason why the pools could not be gathered."""

    @property
    def names_claims(self) -> bool:
        """True if a sentence of the survey names a claim."""
        return any(
            request.fault is not None
            or any(loss.code == "selector-error" for stage in request.stages for loss in stage.lost)
            for request in self.requests
        )

    def count_devices(self, request: RequestSurvey) -> int:
        """Return the most devices that one of the surveyed requests can get if none is allocated
        twice: ``matchAttribute`` limits it to devices with the same value.
        """
        groups_by_constraint = [
            c.groups
            for c in self.constraints
            if c.kind == "matchAttribute"
            and c.claim_index == request.claim_index
            and request.request in c.requests
        ]
        counts = [
            max((len(dict(g.candidates)[request.request]) for g in groups), default=0)
            for groups in groups_by_constraint
        ]
        return min([len(request.candidates), *counts])


def restate(survey: Survey, claims: Sequence[ResourceClaim]) -> Survey:
    """Return the survey for claims that differ from the surveyed ones only in their names and in
    the texts of selectors. No sentence of ``survey`` must contain the name of a claim.
    """
    options = [
        option
        for claim in claims
        for request in claim.spec.devices.requests
        for option in request.first_available or (request.exactly,)
    ]
    requests = tuple(
        [
            _restate_request(each, claims[each.claim_index], () if o is None else o.selectors)
            for each, o in zip(survey.requests, options, strict=True)
        ]
    )
    constraints = tuple(
        [
            replace(each, claim=claims[each.claim_index].metadata.full_name)
            for each in survey.constraints
        ]
    )
    return replace(survey, requests=requests, constraints=constraints)


def _restate_request(
    request: RequestSurvey, claim: ResourceClaim, selectors: Sequence[DeviceSelector]
) -> RequestSurvey:
    stages = tuple([_restate_stage(stage, selectors) for stage in request.stages])
    ref = replace(request.ref, claim=claim.metadata.full_name)
    return replace(request, ref=ref, stages=stages)


def _restate_stage(stage: Stage, selectors: Sequence[DeviceSelector]) -> Stage:
    if stage.name != "request-selector" or stage.selector is None:
        return stage
    cel = selectors[stage.selector].cel
    return stage if cel is None else replace(stage, expression=cel.expression)
