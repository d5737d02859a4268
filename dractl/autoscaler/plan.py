"""Translates the claims of a pod and the devices of an instance type to numbers for the search.

ValidateClaimRequest and buildRequestData in sigs.k8s.io/karpenter
pkg/scheduling/dynamicresources/request.go.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from dractl.cel import Environment, EvalError, environment, require
from dractl.facts.autoscalers import InstanceType
from dractl.model import Device, DeviceClass, ResourceClaim, Target
from dractl.model.claims import DeviceRequest, DeviceSubRequest, ExactDeviceRequest

MAX_DEVICES = 32
"""The maximum number of devices of one claim: AllocationResultsMaxSize of resource.k8s.io."""

Bound = tuple[str, str]
Value = tuple[str, object]


class RefusedClaim(Exception):
    """Karpenter refuses a claim before its search; the message is a clause with the reason.

    Karpenter then refuses all instance types that it considers together.
    """


class TooManyDevices(RefusedClaim):
    """A request for all devices gets too many devices of one instance type. Only this instance type
    is refused.
    """


class TemplateDevice(Struct, frozen=True):
    """A device that the provider declares for an instance type."""

    driver: str
    device: Device
    bindings: frozenset[str]
    """Attributes without a given value that are known to be equal on all devices of the driver."""

    def match_key(self, attribute: str) -> Value | Bound | None:
        """Return the value or the binding that matchAttribute compares; None if the device has
        neither.

        MatchAttributeConstraint.Add in constraint.go: a value never equals a binding.
        """
        value = self.device.attribute(attribute, self.driver)
        if value is not None:
            return (str(value.type), value.value)
        return ("bound", self.driver) if attribute in self.bindings else None


class Alternative(Struct, frozen=True):
    """An exact request, or one alternative of a request."""

    name: str
    """``REQUEST`` or ``REQUEST/ALTERNATIVE``."""
    matching: tuple[int, ...]
    """Numbers of the devices that its selectors accept."""
    failing: frozenset[int]
    """Numbers of the devices on which a selector fails."""
    count: int
    takes_all: bool
    constraints: tuple[int, ...]
    """Numbers of the claim's constraints that apply to the alternative."""
    device_class: str
    selectors: tuple[str, ...]
    """The selectors of class and request, in this order."""


class ClaimPlan(Struct, frozen=True):
    """A claim."""

    name: str
    requests: tuple[tuple[Alternative, ...], ...]
    """For each request its alternatives, in their order; a single one for an exact request."""
    attributes: tuple[str, ...]
    """The attribute of each matchAttribute constraint."""


class Plan(Struct, frozen=True):
    """The claims of a pod on one instance type."""

    devices: tuple[TemplateDevice, ...]
    claims: tuple[ClaimPlan, ...]


def template_devices(instance_type: InstanceType) -> tuple[TemplateDevice, ...]:
    """Return the devices of an instance type in the order of the search."""
    return tuple(
        TemplateDevice(
            group.driver,
            Device(mapping),
            (
                frozenset(
                    name
                    for name in instance_type.equal_on_node
                    if name.partition("/")[0] == group.driver
                )
                if len(group.names) > 1  # BuildAttributeBindings ignores a binding of one device
                else frozenset()
            ),
        )
        for group in instance_type.groups
        for mapping in group.devices()
    )


def selector_environment(release: str) -> Environment:
    """Return the environment in which the allocator of Karpenter compiles selectors.

    NewAllocator: dracel.NewCache(0, dracel.Features{EnableConsumableCapacity: true}), of the
    library of ``release``.
    """
    require("judging claims")
    return environment(Target.of(release, {"DRAConsumableCapacity": True}), "stored")


def make_plan(
    claims: Sequence[ResourceClaim],
    classes: Mapping[str, DeviceClass],
    devices: tuple[TemplateDevice, ...],
    cel: Environment,
) -> Plan:
    """Return the claims in the form for the search. Raises RefusedClaim."""
    return Plan(devices, tuple(_plan_claim(claim, classes, devices, cel) for claim in claims))


def _plan_claim(
    claim: ResourceClaim,
    classes: Mapping[str, DeviceClass],
    devices: tuple[TemplateDevice, ...],
    cel: Environment,
) -> ClaimPlan:
    spec = claim.spec.devices
    for constraint in spec.constraints:
        if constraint.distinct_attribute is not None:
            raise RefusedClaim(
                f"claim {claim.metadata.name} has distinctAttribute"
                f" {constraint.distinct_attribute}, which Karpenter does not support"
            )
        if constraint.match_attribute is None:
            raise RefusedClaim(
                f"claim {claim.metadata.name} has a constraint of a kind that Karpenter does not"
                " support"
            )
    requests = [
        tuple(
            _plan_alternative(claim, request, part, classes, devices, cel)
            for part in _parts(claim, request)
        )
        for request in spec.requests
    ]
    plan = ClaimPlan(
        claim.metadata.name,
        tuple(requests),
        tuple(constraint.match_attribute or "" for constraint in spec.constraints),
    )
    _check_device_limit(plan)
    return plan


def _parts(
    claim: ResourceClaim, request: DeviceRequest
) -> tuple[ExactDeviceRequest | DeviceSubRequest, ...]:
    if request.exactly is not None:
        return (request.exactly,)
    if request.first_available:
        return request.first_available
    raise RefusedClaim(f"request {request.name} of claim {claim.metadata.name} asks for nothing")


def _plan_alternative(
    claim: ResourceClaim,
    request: DeviceRequest,
    part: ExactDeviceRequest | DeviceSubRequest,
    classes: Mapping[str, DeviceClass],
    devices: tuple[TemplateDevice, ...],
    cel: Environment,
) -> Alternative:
    name = request.name
    if isinstance(part, DeviceSubRequest):
        name = f"{request.name}/{part.name}"
    device_class = classes.get(part.device_class_name)
    if device_class is None:
        raise RefusedClaim(
            f"request {name} names DeviceClass {part.device_class_name}, which does not exist"
        )
    expressions = tuple(
        selector.cel.expression
        for selector in (*device_class.spec.selectors, *part.selectors)
        if selector.cel is not None
    )
    for text in expressions:
        program = cel.compile(text)
        if not program.ok:
            raise RefusedClaim(
                f"a selector of request {name} does not compile: {_first_line(program.error)}"
            )
    takes_all = part.allocation_mode == "All"
    answers = [_evaluate(expressions, device, cel) for device in devices]
    if takes_all:
        _refuse_failures(name, devices, answers)
    return Alternative(
        name,
        tuple(number for number, answer in enumerate(answers) if answer is True),
        frozenset(n for n, answer in enumerate(answers) if isinstance(answer, EvalError)),
        0 if takes_all else (part.count or 1),
        takes_all,
        tuple(
            number
            for number, constraint in enumerate(claim.spec.devices.constraints)
            if not constraint.requests
            or request.name in constraint.requests
            or name in constraint.requests
        ),
        part.device_class_name,
        expressions,
    )


def _evaluate(
    expressions: Iterable[str], device: TemplateDevice, cel: Environment
) -> bool | EvalError:
    """Evaluate selectors on a device, up to the first one that is not true
    (DeviceMatchesSelectors).
    """
    for text in expressions:
        answer = cel.compile(text).evaluate(device.driver, device.device)
        if answer is not True:
            return answer
    return True


def _refuse_failures(
    name: str, devices: Iterable[TemplateDevice], answers: Iterable[bool | EvalError]
) -> None:
    """Raise RefusedClaim if a selector fails on a device.

    In a request for a number of devices, a runtime error only excludes the device (tryDevice); in a
    request for all devices, it is fatal (collectAllModeFromDevices).
    """
    for device, answer in zip(devices, answers, strict=True):
        if isinstance(answer, EvalError):
            raise RefusedClaim(
                f"a selector of request {name}, which takes all devices, fails on a declared device"
                f" of driver {device.driver}: {answer.text}"
            )


def _check_device_limit(plan: ClaimPlan) -> None:
    """Raise RefusedClaim if even the smallest alternatives need more devices than a claim may
    get.
    """
    counted = sum(min(part.count for part in request) for request in plan.requests)
    every = sum(
        min(len(part.matching) if part.takes_all else 0 for part in request)
        for request in plan.requests
    )
    reason = (
        f"claim {plan.name} needs {counted + every} devices, and a claim can get at most"
        f" {MAX_DEVICES}"
    )
    if counted > MAX_DEVICES:
        raise RefusedClaim(reason)
    if every and counted + every > MAX_DEVICES:
        raise TooManyDevices(reason)


def _first_line(text: str | None) -> str:
    return (text or "").partition("\n")[0]
