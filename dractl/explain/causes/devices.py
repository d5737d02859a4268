"""Causes in devices: what a request wants of them and does not get, alone or together with others."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dractl.explain.causes.base import (
    APART,
    HIDDEN,
    OTHER,
    SEE_CLAIM,
    SEE_POD_CLAIMS,
    SEE_SLICES,
    STOPPED,
    TAKEN,
    Held,
    OfRequest,
    OfRequests,
    ReasonPage,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dractl.cluster.devices import Holder
    from dractl.explain.answer import Evaluated
    from dractl.explain.selectors import Misfit

    Counted = tuple[tuple[str, int], ...]


# -- one request --


class SelectorFalse(OfRequest, frozen=True, kw_only=True):
    """A selector is false on devices: ``have`` of ``of`` meet it, ``want`` are needed. ``of_class``: it is one of the
    class. ``part`` is the part of it that is false on all of them. ``misfit`` is what the devices have instead,
    ``values`` are those values; ``evaluated`` has both for each kind of device."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "selector-false",
        "the selectors exclude the devices",
        "The devices are there, but the CEL expressions of the class and the request are false on them.",
        SEE_SLICES + " beside the selectors of the class and the request",
        "Compare the expression with the values that the devices publish: dractl explain prints the nearest ones.",
        OTHER,
    )
    identity: ClassVar[tuple[str, ...]] = ("request", "selector")
    shown: ClassVar[Mapping[str, str]] = {"values": "found"}

    selector: str
    part: str | None = None
    of_class: bool = False
    attribute: str | None = None
    capacity: str | None = None
    values: tuple[str, ...] = ()
    misfit: Misfit | None = None
    nearest: str | None = None
    want: int | None = None
    have: int | None = None
    of: int = 0
    devices: tuple[str, ...] = ()
    evaluated: tuple[Evaluated, ...] = ()


class SelectorError(OfRequest, frozen=True, kw_only=True):
    """A selector fails on ``devices`` of the nodes ``on``. ``error`` is cel-go's sentence, ``upstream`` the scheduler's
    whole message, where nothing more is known."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "selector-error",
        "a selector fails on a device",
        "An error while evaluating a CEL expression on any device that the search reaches aborts scheduling for the "
        "whole pod, even if other devices or nodes would fit.",
        "kubectl describe pod -n NS NAME (FailedScheduling: CEL runtime error)",
        "Guard optional attributes (device.attributes['d'].?x.orValue(0) or has()), test device.driver first, compare "
        "with the attribute's own type.",
        STOPPED,
    )
    identity: ClassVar[tuple[str, ...]] = ("request", "selector")
    shown: ClassVar[Mapping[str, str]] = {"values": "found"}

    selector: str | None = None
    error: str = ""
    upstream: str = ""
    on: tuple[str, ...] = ()
    attribute: str | None = None
    values: tuple[str, ...] = ()
    misfit: Misfit | None = None
    nearest: str | None = None
    devices: tuple[str, ...] = ()
    evaluated: tuple[Evaluated, ...] = ()


class AttributeMissing(OfRequest, frozen=True, kw_only=True):
    """``devices`` lack the attribute of a constraint; ``have`` of ``of`` publish it."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "attr-missing",
        "devices lack the attribute of a constraint",
        "matchAttribute and distinctAttribute refuse a device that does not publish the attribute under exactly that "
        "name.",
        SEE_SLICES + " (attributes of the devices)",
        "Use an attribute that all drivers of the constraint publish, update the driver, or leave the request out of "
        "the constraint.",
        APART,
    )
    identity: ClassVar[tuple[str, ...]] = ("request", "constraint")

    constraint: str
    attribute: str
    driver: str | None = None
    nearest: str | None = None
    devices: tuple[str, ...] = ()
    publish: int = 0
    of: int = 0


class DeviceInUse(Held, frozen=True, kw_only=True):
    """Claims hold the devices: ``free`` of ``of`` are free, ``want`` are needed."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "device-in-use",
        "the devices are allocated to other claims",
        "Matching devices exist, and claims hold them. A claim holds its devices until nobody uses it, even if its "
        "pods have ended without releasing it. The scheduler does not preempt pods for devices.",
        "kubectl get resourceclaims -A -o wide",
        "Wait, end a pod that holds one, delete a claim that nobody uses any more, or add devices.",
        TAKEN,
    )

    want: int
    have: int
    free: int
    of: int = 0


class DeviceInUseSamePod(Held, frozen=True, kw_only=True):
    """The pod's own claims hold the devices."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "device-in-use-same-pod",
        "another request of the same pod takes the device",
        "Requests and claims of one pod never share a device, unless it allows multiple allocations.",
        SEE_POD_CLAIMS,
        "Ask for fewer devices, or let one request serve both purposes.",
        APART,
    )

    want: int
    have: int
    free: int
    of: int = 0


class Rivals(OfRequests, frozen=True, kw_only=True):
    """Two requests would both have to take their devices from the same ``have``, and want ``want``."""

    page: ClassVar[ReasonPage] = DeviceInUseSamePod.page

    device_class: str | None = None
    devices: tuple[str, ...] = ()
    want: int
    have: int


class Tainted(OfRequest, frozen=True, kw_only=True):
    """``devices`` have a taint (the most frequent one: ``taint``) that the request does not tolerate. ``taints`` are
    all with their numbers, ``rules`` the DeviceTaintRules that put ``taint`` there. ``tolerates``
    are tolerations of the request that look like it and do not match; ``sweeping`` are rules that select every device
    of a driver."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "tainted",
        "a device taint is not tolerated",
        "The device, or a DeviceTaintRule, carries a taint with effect NoSchedule or NoExecute. Tolerations of the pod "
        "are about nodes and do not count here; adminAccess does not tolerate taints either.",
        SEE_SLICES + " (taints); kubectl get devicetaintrules",
        "Repair the device and let the driver remove the taint, delete the rule, or add a toleration to the request.",
        TAKEN,
    )
    identity: ClassVar[tuple[str, ...]] = ("request", "taint")

    taint: str | None = None
    taints: Counted = ()
    rules: tuple[str, ...] = ()
    tolerates: tuple[str, ...] = ()
    sweeping: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    want: int
    have: int


class AllNeedsFree(Held, frozen=True, kw_only=True):
    """A request for all devices, ``taken`` of which are held."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "all-needs-free",
        "allocationMode All needs every matching device",
        "All means all devices that match on the node; one that is in use or tainted makes the request fail there.",
        "kubectl get resourceclaims -A -o wide",
        "Free the device, exclude it with a selector, tolerate its taint, or ask for a number.",
        TAKEN,
    )

    want: int
    have: int
    free: int
    taken: int = 0


class AllNeedsUntainted(Tainted, frozen=True, kw_only=True):
    """A request for all devices, some of which are tainted."""

    page: ClassVar[ReasonPage] = AllNeedsFree.page


class CountersShort(Held, frozen=True, kw_only=True):
    """Counters that ``devices`` consume have too little left: the first lacks ``want``, of which ``free`` are left."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "counters-short",
        "partitions of the same hardware use up the shared counters",
        "A partition (such as a MIG device) consumes counters that it shares with others; too little of them is left, "
        "or not in the place of this partition.",
        SEE_SLICES + " (sharedCounters, consumesCounters)",
        "Free the partitions that consume the same counter set, or ask for a partition of another size.",
        TAKEN,
    )

    driver: str
    pool: str
    counter_set: str | None = None
    counters: tuple[str, ...] = ()
    want: str | None = None
    free: str | None = None


class CapacityMissing(OfRequest, frozen=True, kw_only=True):
    """No device publishes the capacity. ``known`` are the capacities that they publish."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "capacity-missing",
        "the device does not publish that capacity",
        "The request names a capacity that no candidate has under exactly that name.",
        SEE_SLICES + " (capacity of the devices)",
        "Use the name that the driver publishes.",
        OTHER,
    )
    shown: ClassVar[Mapping[str, str]] = {"known": "found"}

    capacity: str
    nearest: str | None = None
    known: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()


class CapacityShort(Held, frozen=True, kw_only=True):
    """No device has ``want`` of a capacity left; the best has ``free`` of ``have``. ``asked`` is the amount in the
    claim, where the devices' policy rounds it up to ``want``."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "capacity-short",
        "not enough capacity is left on any one device",
        "The amount must be free on a single device. A request that names no amount takes the default of the policy, "
        "or all.",
        SEE_SLICES + " and the consumedCapacity in kubectl get resourceclaims -A -o yaml",
        "Ask for less, or end a pod that has a share of the device.",
        TAKEN,
    )

    capacity: str
    want: str | None = None
    free: str | None = None
    have: str | None = None
    asked: str | None = None


class CapacityPolicy(Held, frozen=True, kw_only=True):
    """The amount is not one that the device's policy allows. ``allowed`` says which are; ``problem``
    what is wrong with it, where the device has no policy."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "capacity-policy",
        "the amount violates the device's request policy",
        "The device serves only amounts from a range or a list (requestPolicy), and this is not one of them.",
        SEE_SLICES + " (capacity.*.requestPolicy)",
        "Ask for an amount within the policy.",
        OTHER,
    )

    capacity: str
    want: str | None = None
    free: str | None = None
    have: str | None = None
    allowed: str = ""
    problem: str = ""


class GateOff(OfRequest, frozen=True, kw_only=True):
    """The request or its devices need a feature whose gate is off; ``upstream`` is the scheduler's sentence,
    ``detail`` what is hidden from the request."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "gate-off",
        "a feature gate is off",
        "The claim or the devices use a feature that is off in this release with its gates.",
        "kubectl version; the feature gates of kube-apiserver and kube-scheduler",
        "Enable the gate in kube-apiserver, kube-scheduler and kube-controller-manager, or do without the feature.",
        STOPPED,
    )

    gate: str | None = None
    upstream: str = ""
    detail: str = ""
    devices: tuple[str, ...] = ()


class BindingConditionsOff(GateOff, frozen=True, kw_only=True):
    """Devices with binding conditions, while their gate is off."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "binding-conditions-off",
        "devices with binding conditions are not used while the gate is off",
        "The device must be prepared before a pod is bound, which needs DRADeviceBindingConditions and "
        "DRAResourceClaimDeviceStatus.",
        SEE_SLICES + " (bindingConditions)",
        "Enable the gates in kube-scheduler.",
        HIDDEN,
    )


class NotEnough(OfRequest, frozen=True, kw_only=True):
    """A request wants more devices than the node has."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "not-enough",
        "the node has fewer devices than wanted",
        "A pod's devices all come from one node (or are reachable from it), and it has fewer than the requests add up "
        "to.",
        "kubectl get resourceslices --field-selector spec.nodeName=NODE",
        "Ask for fewer devices, or spread the work over several pods.",
        3,
    )

    want: int
    have: int


# -- requests together --


class NotEnoughTogether(OfRequests, frozen=True, kw_only=True):
    """Requests together want more devices than the node has that match."""

    page: ClassVar[ReasonPage] = NotEnough.page

    want: int
    have: int
    holders: tuple[Holder, ...] = ()


class AttributeType(OfRequests, frozen=True, kw_only=True):
    """The devices publish a constrained attribute with different types. ``types`` lists them by request; ``gate`` would
    have to be on for lists."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "attr-type",
        "the attribute has another type",
        'matchAttribute needs values of the same type: the string "1" is not the int 1; a list matches only with the '
        "gate DRAListTypeAttributes.",
        SEE_SLICES + " (attributes of the devices)",
        "Constrain by an attribute that has one type in all drivers.",
        APART,
    )
    identity: ClassVar[tuple[str, ...]] = ("requests", "constraint")
    shown: ClassVar[Mapping[str, str]] = {"kinds": "found"}

    constraint: str
    attribute: str
    types: tuple[tuple[str, tuple[str, ...]], ...] = ()
    kinds: tuple[str, ...] = ()
    gate: str | None = None
    driver: str | None = None


class ConstraintConflict(OfRequests, frozen=True, kw_only=True):
    """No set of devices satisfies a constraint. ``counts`` is the number of devices that each request wants, ``values``
    are the attribute's values among the free candidates; ``devices`` are matching ones that ``holders`` hold.
    ``exists``: with all of them free it could be satisfied."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "constraint-conflict",
        "no set of devices satisfies the constraint",
        "Each request finds devices, but no combination shares (matchAttribute) or differs in (distinctAttribute) the "
        "value.",
        "dractl explain prints what each PCIe root or NUMA node holds",
        "Ask for fewer devices, relax to a coarser attribute (pcieRoot to numaNode), or free the device that stands in "
        "the way.",
        APART,
    )
    identity: ClassVar[tuple[str, ...]] = ("requests", "constraint")
    shown: ClassVar[Mapping[str, str]] = {"values": "found"}

    constraint: str | None = None
    attribute: str | None = None
    counts: Counted = ()
    values: tuple[str, ...] = ()
    want: int | None = None
    have: int | None = None
    devices: tuple[str, ...] = ()
    holders: tuple[Holder, ...] = ()
    exists: bool = True


class AllUnderConstraint(OfRequest, frozen=True, kw_only=True):
    """A request for all devices, for all of which a constraint does not hold."""

    page: ClassVar[ReasonPage] = ConstraintConflict.page
    identity: ClassVar[tuple[str, ...]] = ("request", "constraint")

    constraint: str | None = None
    devices: tuple[str, ...] = ()


class SearchConflict(OfRequests, frozen=True, kw_only=True):
    """Each request alone would fit, or one device of a request; together they do not. ``counter_sets`` are counters
    that their devices share."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "search-conflict",
        "each request fits alone, but not all together",
        "The requests compete for devices, or one claim's choice leaves nothing for another.",
        SEE_POD_CLAIMS,
        "Relax one of the requests that explain names.",
        APART,
    )

    total: int = 0
    counter_sets: tuple[str, ...] = ()


class ConstrainedSearch(SearchConflict, frozen=True, kw_only=True):
    """The same under a constraint that could be satisfied by itself."""

    page: ClassVar[ReasonPage] = ConstraintConflict.page
    identity: ClassVar[tuple[str, ...]] = ("requests", "constraint")

    constraint: str


class ClaimLimit(OfRequests, frozen=True, kw_only=True):
    """The requests of a claim want more than ``have`` devices; ``want`` is None where it cannot be counted."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "limit-32",
        "a claim can have at most 32 devices",
        "The requests of one claim add up to more than 32 devices. With All, devices in use and tainted "
        "ones count too.",
        SEE_CLAIM,
        "Split the claim into several claims of the pod, or ask for fewer.",
        STOPPED,
    )

    claim: str
    want: int | None = None
    have: int = 32
