"""The base of all reasons: its page, how far a pod gets, and how equal ones of several nodes become
one.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Any, ClassVar, TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from dractl.cluster.devices import Holder
from dractl.cluster.shell import NextStep, quote_command
from dractl.explain.reasons.next_step import AskedObject
from dractl.explain.reasons.phrases import Names, Scope, describe_holders, name_holders
from dractl.model.names import RequestRef
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.stops import PreBindFailure, Stop

C = TypeVar("C", bound="Cause")


class Progress(IntEnum):
    """How far a pod gets on a node before a reason stops it: the further, the nearer to fitting."""

    NO_DEVICE = 0
    """The driver has no device there."""
    NO_DRIVER = 1
    """The driver publishes nothing anywhere, so that nothing is known of its devices."""
    OTHER_DEVICES = 2
    """There are devices, and not the wanted ones."""
    TOO_FEW = 3
    """There are wanted devices, and too few of them, or they are for other nodes."""
    HIDDEN = 4
    """The scheduler does not use the pool that has the wanted devices."""
    IN_USE = 5
    """The wanted devices are in use or tainted."""
    APART = 6
    """The wanted devices are free, and cannot be used together."""
    OUTSIDE_DRA = 7
    """Everything fits but something outside DRA."""
    EVERYWHERE = 8
    """Something outside DRA rejects all nodes: nothing else matters until that is fixed."""
    STOPPED = 9
    """The attempt ended before any node."""


class ReasonPage(Struct, frozen=True):
    """The page of a reason code, as ``dractl rule CODE`` prints it.

    ``progress`` tells how far a pod gets on a node before this stops it: the further, the nearer
    the node is to fitting.
    """

    code: str
    title: str
    means: str
    see: str
    fix: str
    """How to fix it."""
    progress: Progress


# How to see things with kubectl, for the pages.
SEE_CLAIM = "kubectl get resourceclaim -n NS NAME -o yaml"
SEE_SLICES = "kubectl get resourceslices -o yaml"
SEE_POD_CLAIMS = (
    "kubectl get pod -n NS NAME -o jsonpath='{.spec.resourceClaims}"
    " {.status.resourceClaimStatuses}'"
)

# Fields of which a cause for several nodes has what any of the nodes has.
_UNITED = frozenset(
    {"nodes", "devices", "holders", "rules", "counters", "values", "users", "evaluated", "labels"}
)


class Cause(Struct, frozen=True, kw_only=True):
    """Why a subject is not placed, as a value. Each subclass has the fields that such a cause
    really has, the sentence about it, and the steps where no change of objects helps.

    ``page`` is the page of its code, which is never given another meaning; classes with one code
    share it. ``stops`` are the scheduler's own values for it, where it stops a pod before any node
    or after one was found. ``identity`` names the fields by which causes of several nodes are the
    same one, ``found`` the field that JSON has as ``found``. ``steps_beside_fixes``: its steps are
    shown even where fixes are, since no change of objects reaches it. ``underlying``: others only
    follow from it, so its steps come first. ``is_question``: its sentence ends with a question.
    """

    page: ClassVar[ReasonPage]
    stops: ClassVar[tuple[type[Stop | PreBindFailure], ...]] = ()
    identity: ClassVar[tuple[str, ...]] = ()
    found: ClassVar[str] = ""
    steps_beside_fixes: ClassVar[bool] = False
    is_root_cause: ClassVar[bool] = False
    is_question: ClassVar[bool] = False

    nodes: tuple[str, ...] = ()

    @classmethod
    def of_stop(cls, stop: Any, scheduler: Scheduler) -> Cause:
        """The cause that a stop of one of the classes ``stops`` is, with what the cluster has
        instead. Unless a class says otherwise it has the fields of the stop.
        """
        return cls(**asdict(stop))

    def sentence(self, names: Names, scope: Scope) -> str:
        """What is wrong: the request first, then what was found, and what is allowed or nearest."""
        raise NotImplementedError

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        """What to look at or to do where no change of objects helps."""
        return iter(())

    @property
    def named_holders(self) -> tuple[Holder, ...]:
        """The holders of devices that the sentence ends with."""
        return ()

    @property
    def whose(self) -> str:
        """``; held by Deployment ml/web``: the blamed as a headline names them after the brief
        sentence.
        """
        return f"; held by {name_holders(self.named_holders)}" if self.named_holders else ""

    @property
    def is_transient(self) -> bool:
        """True if it is a state that goes by itself: nothing is wrong yet."""
        return False

    def full_sentence(self, names: Names, scope: Scope = Scope.ONE) -> str:
        """The sentence, with who holds the devices."""
        held = f"; held by {describe_holders(self.named_holders)}" if self.named_holders else ""
        return self.sentence(names, scope) + held

    def brief(self, names: Names, scope: Scope = Scope.ONE) -> str:
        """The sentence without what tables show elsewhere: who holds the devices, and what may not
        be read.
        """
        return self.sentence(names, scope)

    @property
    def code(self) -> str:
        """The stable code of the reason."""
        return self.page.code

    @property
    def progress(self) -> float:
        """How far the pod gets."""
        return self.page.progress

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for causes of different nodes that are one cause."""
        return (self.code, *(getattr(self, name) for name in self.identity))

    @property
    def refs(self) -> tuple[RequestRef, ...]:
        """The requests that the cause is about."""
        one = getattr(self, "request", None)
        return (one,) if one is not None else getattr(self, "requests", ())

    def is_same_elsewhere(self, other: Cause) -> bool:
        """True if both say the same, but for the nodes and devices that they are about."""
        if type(self) is not type(other):
            return False
        names = set(self.__struct_fields__) - _UNITED
        return all(getattr(self, name) == getattr(other, name) for name in names)

    @property
    def shortage(self) -> int:
        """How much is missing, if it can be counted: devices, or thousandths of what a node has."""
        want, have = getattr(self, "want", None), getattr(self, "have", None)
        return want - have if isinstance(want, int) and isinstance(have, int) else 0


def merge(one: C, other: C) -> C:
    """One cause for the nodes of both. Its numbers are those of the node that lacks least."""
    return merge_into(other, one) if other.shortage < one.shortage else merge_into(one, other)


def merge_into(one: C, other: C) -> C:
    """The first cause, for the nodes of both."""
    changed: dict[str, object] = {}
    for name in one.__struct_fields__:
        mine, theirs = getattr(one, name), getattr(other, name, None)
        if name in _UNITED and isinstance(mine, tuple) and isinstance(theirs, tuple):
            changed[name] = tuple(dict.fromkeys((*mine, *theirs)))
        elif name == "nearest":
            changed[name] = mine or theirs
    return replace(one, **changed)


class ClaimCause(Cause, frozen=True, kw_only=True):
    """A cause that lies in one claim. ``pod_claim`` is its name in the pod, ``claim`` is
    ``namespace/name``.
    """

    identity: ClassVar[tuple[str, ...]] = ("pod_claim", "claim")

    pod_claim: str | None = None
    claim: str | None = None


class RequestCause(Cause, frozen=True, kw_only=True):
    """A cause that lies in one request or alternative. ``device_class`` is the class that it
    names.
    """

    identity: ClassVar[tuple[str, ...]] = ("request",)

    request: RequestRef | None = None
    device_class: str | None = None

    def subject_text(self, names: Names) -> str:
        """``request gpu``."""
        return names.request(self.request) if self.request is not None else "the request"

    def lead(self, names: Names) -> str:
        """``request gpu: ``, which begins a sentence; nothing where the request is not known."""
        return f"{names.request(self.request)}: " if self.request is not None else ""


class RequestsCause(Cause, frozen=True, kw_only=True):
    """A cause that lies between requests, of one claim or of several."""

    identity: ClassVar[tuple[str, ...]] = ("requests",)

    requests: tuple[RequestRef, ...] = ()


class HeldDevices(RequestCause, frozen=True, kw_only=True):
    """Devices that a request could use, and who holds them."""

    devices: tuple[str, ...] = ()
    holders: tuple[Holder, ...] = ()


class HeldByOthers(HeldDevices, frozen=True, kw_only=True):
    """Devices that a request could use if others did not hold them."""

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        for holder in [holder for holder in self.holders if holder.consumer][:1]:
            resource, _, name = str(holder.consumer).partition(" ")
            namespace = holder.claim.partition("/")[0]
            yield NextStep(
                f"have the owner of {holder.consumer} end it, or what it runs: claim {holder.claim}"
                " is reserved for it, so to delete the claim would only leave it Terminating",
                quote_command("kubectl get {} {} -n {}", resource, name, namespace),
            )
        yield NextStep(
            "wait until a holder ends, scale down the workload that holds the devices, or add a"
            " node with more of them",
            "kubectl get resourceclaims -A -o wide",
        )

    @property
    def named_holders(self) -> tuple[Holder, ...]:
        return self.holders
