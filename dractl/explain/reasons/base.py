"""The base of all reasons: the page of a reason, how far a pod gets, and the merging of causes on
several nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import cache
from itertools import chain
from typing import Any, ClassVar, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from dractl.cluster.devices import Holder
from dractl.cluster.shell import NextStep, quote_command
from dractl.explain.reasons.next_step import AskedObject
from dractl.explain.reasons.phrases import Names, Scope, describe_holders, name_holders
from dractl.model.names import RequestRef
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.stops import PreBindFailure, Stop

Facts = dict[str, Any]
"""The facts of a cause that JSON shows beside its sentence, by key; empty values are left out."""
C = TypeVar("C", bound="Cause")
S = TypeVar("S", bound=Stop | PreBindFailure)


class Progress(IntEnum):
    """The progress of a pod on a node before a reason stops it; a high value means that it nearly
    fits.
    """

    NO_DEVICE = 0
    """The driver has no device on the node."""
    NO_DRIVER = 1
    """The driver publishes nothing anywhere, so that nothing is known of its devices."""
    OTHER_DEVICES = 2
    """The node has devices, but not the wanted ones."""
    TOO_FEW = 3
    """The node has wanted devices, but too few, or they are for other nodes."""
    HIDDEN = 4
    """The scheduler does not use the pool that has the wanted devices."""
    IN_USE = 5
    """The wanted devices are in use or tainted."""
    APART = 6
    """The wanted devices are free, but cannot be used together."""
    OUTSIDE_DRA = 7
    """Everything fits except something outside DRA."""
    EVERYWHERE = 8
    """Something outside DRA rejects all nodes, so nothing else matters until that is corrected."""
    STOPPED = 9
    """The attempt ended before any node was tried."""


MESSAGES_HEADING = "What Kubernetes prints"
"""The heading of the section whose paragraphs are messages."""


class ReasonPage(Struct, frozen=True):
    """The page of a reason code, as ``dractl rule CODE`` prints it."""

    code: str
    title: str
    means: str
    see: str
    """Advice on how to see the problem."""
    fix: str
    """Advice on how to correct the problem."""
    progress: Progress
    """The progress of a pod on a node before this reason stops it."""
    messages: tuple[str, ...] = ()
    """Messages that Kubernetes prints in this case, with example names. Source: v1.37.1,
    plugins/dynamicresources, dynamic-resource-allocation, pkg/controller/resourceclaim and
    devicetainteviction.
    """

    @property
    def sections(self) -> dict[str, tuple[str, ...]]:
        """The paragraphs of the page by heading; a heading without paragraphs is left out."""
        sections = {
            "What it means": (self.means,),
            MESSAGES_HEADING: self.messages,
            "How to see it": (self.see,),
            "How to fix it": (self.fix,),
        }
        return {heading: paragraphs for heading, paragraphs in sections.items() if paragraphs}


# The kubectl commands of the pages that show a problem.
SEE_CLAIM = "kubectl get resourceclaim -n NS NAME -o yaml"
SEE_SLICES = "kubectl get resourceslices -o yaml"
LIST_HOLDERS = (
    "kubectl get resourceclaims -A -o custom-columns='NAMESPACE:.metadata.namespace,"
    "CLAIM:.metadata.name,DEVICES:.status.allocation.devices.results[*].device,"
    "PODS:.status.reservedFor[*].name'"
)
"""``-o wide`` has no columns for devices and pods (pkg/printers/internalversion)."""
SEE_POD_CLAIMS = (
    "kubectl get pod -n NS NAME "
    "-o jsonpath='{.spec.resourceClaims} {.status.resourceClaimStatuses}'"
)

_MERGED_FIELDS = frozenset(
    {"nodes", "devices", "holders", "rules", "counters", "values", "users", "evaluated", "labels"}
)
"""Fields that a cause for several nodes collects from all of these nodes."""


class Cause(Struct, frozen=True, kw_only=True):
    """The reason why a subject is not placed, as a value.

    Each subclass has the fields of its kind of cause, the sentence about it, its facts in JSON, and
    the steps for the case that no change of objects helps.
    """

    page: ClassVar[ReasonPage]
    """The page of the reason's code; classes with the same code share a page."""
    stops: ClassVar[tuple[type[Stop | PreBindFailure], ...]] = ()
    """The scheduler's stops that this cause explains."""
    identity: ClassVar[tuple[str, ...]] = ()
    """The attributes that tell whether causes on several nodes are the same."""
    steps_beside_fixes: ClassVar[bool] = False
    """True if its steps are shown even beside fixes, since no change of objects removes the
    cause.
    """
    is_root_cause: ClassVar[bool] = False
    """True if other causes follow from this one, so that its steps come first."""
    is_question: ClassVar[bool] = False
    """True if its sentence ends with a question."""

    nodes: tuple[str, ...] = ()
    """The nodes on which the cause applies."""

    @classmethod
    def from_stop(cls, stop: Any, scheduler: Scheduler) -> Cause:
        """Return the cause of a stop of one of the classes ``stops``.

        Alternatives, such as a similar name, are looked up in the cluster.
        """
        raise NotImplementedError

    def facts(self) -> Facts:
        """Return the facts that JSON shows beside the sentence of the cause."""
        return {"nodes": self.nodes}

    def sentence(self, names: Names, scope: Scope) -> str:
        """Describe the fault: the request first, then the state of the cluster, and the allowed or
        nearest values.
        """
        raise NotImplementedError

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        """Yield next steps for the case that no change of objects helps."""
        return iter(())

    @property
    def holders(self) -> tuple[Holder, ...]:
        """The holders of devices that the subject could use."""
        return ()

    @property
    def named_holders(self) -> tuple[Holder, ...]:
        """The holders of devices that the sentence names at its end."""
        return ()

    @property
    def detail(self) -> str:
        """The words that the full sentence adds, such as the field of the claim."""
        return ""

    @property
    def holders_clause(self) -> str:
        """``; held by Deployment ml/web``: the named holders, in the form for a headline."""
        return f"; held by {name_holders(self.named_holders)}" if self.named_holders else ""

    @property
    def is_transient(self) -> bool:
        """True if the state passes without any action, so that nothing is wrong yet."""
        return False

    def full_sentence(self, names: Names, scope: Scope = Scope.ONE) -> str:
        """Return the sentence with its detail, and with the holders of the devices."""
        holders = describe_holders(self.named_holders) if self.named_holders else ""
        sentence = self.sentence(names, scope) + self.detail
        return sentence + (f"; held by {holders}" if holders else "")

    def brief(self, names: Names, scope: Scope = Scope.ONE) -> str:
        """Return the sentence without the parts that tables show in other columns: holders, and
        unreadable resources.
        """
        return self.sentence(names, scope)

    @property
    def code(self) -> str:
        """The stable code of the reason."""
        return self.page.code

    @property
    def progress(self) -> float:
        """The progress of the pod before this cause stops it."""
        return self.page.progress

    @property
    def key(self) -> tuple[object, ...]:
        """A key that is equal for the same cause on different nodes."""
        return (self.code, *(getattr(self, name) for name in self.identity))

    @property
    def refs(self) -> tuple[RequestRef, ...]:
        """The requests that the cause is about."""
        return ()

    def is_same_elsewhere(self, other: Cause) -> bool:
        """Return True if both causes are equal except for their nodes and devices."""
        if type(self) is not type(other):
            return False
        names = _list_unmerged_fields(type(self))
        return all(getattr(self, name) == getattr(other, name) for name in names)

    @property
    def shortage(self) -> int:
        """The amount that is missing, if it can be counted: devices, or thousandths of a resource
        of the node.
        """
        want, have = getattr(self, "want", None), getattr(self, "have", None)
        return want - have if isinstance(want, int) and isinstance(have, int) else 0


def merge(causes: Sequence[C]) -> C:
    """Return one cause for the nodes of all causes. Its numbers and its other fields come from the
    first one.
    """
    first, *others = causes
    if not others:
        return first
    changes: dict[str, object] = {}
    for name in _list_merged_fields(type(first)):
        value = getattr(first, name)
        further = [getattr(other, name, None) for other in others]
        if name == "nearest":
            changes[name] = next(filter(None, (value, *further)), further[-1])
        elif isinstance(value, tuple):
            tuples = (each for each in further if isinstance(each, tuple))
            changes[name] = tuple(dict.fromkeys(chain(value, *tuples)))
    return replace(first, **changes)


@cache
def _list_merged_fields(kind: type[Cause]) -> tuple[str, ...]:
    """Return the fields of a class of causes that are merged."""
    return tuple(
        name for name in kind.__struct_fields__ if name in _MERGED_FIELDS or name == "nearest"
    )


@cache
def _list_unmerged_fields(kind: type[Cause]) -> tuple[str, ...]:
    """Return the fields of a class of causes that are equal for the same cause elsewhere."""
    return tuple(name for name in kind.__struct_fields__ if name not in _MERGED_FIELDS)


class StopCause(Cause, Generic[S], frozen=True, kw_only=True):
    """A cause that the scheduler knows as a stop, with the fields of the stop."""

    stop: S

    def __hash__(self) -> int:
        return hash(self.key)  # a stop may hold an object of the input, which has no hash

    @classmethod
    def from_stop(cls, stop: S, scheduler: Scheduler) -> Cause:
        return cls(stop=stop)


class ClaimStopCause(StopCause[S], Generic[S], frozen=True, kw_only=True):
    """A cause for a stop in one claim."""

    identity: ClassVar[tuple[str, ...]] = ("pod_claim", "claim")

    def facts(self) -> Facts:
        return {**super().facts(), "podClaim": self.pod_claim, "claim": self.claim}

    @property
    def pod_claim(self) -> str | None:
        """The name that the pod gives the claim."""
        raise NotImplementedError

    @property
    def claim(self) -> str | None:
        """``namespace/name`` of the claim; None if it has no name yet."""
        return None


class ClaimCause(Cause, frozen=True, kw_only=True):
    """A cause in one claim."""

    identity: ClassVar[tuple[str, ...]] = ("pod_claim", "claim")

    pod_claim: str | None = None
    """The name that the pod gives the claim."""
    claim: str | None = None
    """``namespace/name`` of the claim."""

    def facts(self) -> Facts:
        return {**super().facts(), "podClaim": self.pod_claim, "claim": self.claim}


class RequestCause(Cause, frozen=True, kw_only=True):
    """A cause in one request or alternative."""

    identity: ClassVar[tuple[str, ...]] = ("request",)

    request: RequestRef | None = None
    device_class: str | None = None
    """The class that the request names."""

    def facts(self) -> Facts:
        return {**super().facts(), "class": self.device_class}

    @property
    def refs(self) -> tuple[RequestRef, ...]:
        return (self.request,) if self.request is not None else ()

    def request_text(self, names: Names) -> str:
        """Return ``request gpu``."""
        return names.request(self.request) if self.request is not None else "the request"

    def lead(self, names: Names) -> str:
        """Return ``request gpu: `` as the beginning of a sentence; "" if the request is unknown."""
        return f"{names.request(self.request)}: " if self.request is not None else ""


class RequestsCause(Cause, frozen=True, kw_only=True):
    """A cause that concerns several requests, of one claim or of several."""

    identity: ClassVar[tuple[str, ...]] = ("requests",)

    requests: tuple[RequestRef, ...] = ()

    @property
    def refs(self) -> tuple[RequestRef, ...]:
        return self.requests


class HeldDevices(RequestCause, frozen=True, kw_only=True):
    """Devices that a request could use, and their holders."""

    devices: tuple[str, ...] = ()
    holders: tuple[Holder, ...] = ()

    def facts(self) -> Facts:
        return {**super().facts(), "devices": self.devices, "holders": self.holders}


class HeldByOthers(HeldDevices, frozen=True, kw_only=True):
    """Devices that a request could use if others did not hold them."""

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        holder = next((holder for holder in self.holders if holder.consumer), None)
        if holder is not None:
            resource, _, name = str(holder.consumer).partition(" ")
            namespace = holder.claim.partition("/")[0]
            yield NextStep(
                f"have the owner of {holder.consumer} end it, or what it runs: claim"
                f" {holder.claim} is reserved for it, so deleting the claim would only leave the"
                " claim Terminating",
                quote_command("kubectl get {} {} -n {}", resource, name, namespace),
            )
        if self.holders and all(holder.finished for holder in self.holders):
            return  # another cause says why ended pods still hold claims
        yield NextStep(
            "wait until a holder ends, scale down the workload that holds the devices, or add a"
            " node with more of them",
            LIST_HOLDERS,
        )

    @property
    def named_holders(self) -> tuple[Holder, ...]:
        return self.holders
