"""The base of all causes: its page, how far a pod gets, and how equal causes of several nodes become one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dractl.cluster.devices import Holder
    from dractl.model.names import RequestRef

C = TypeVar("C", bound="Cause")


class ReasonPage(Struct, frozen=True):
    """The page of a reason code, as ``dractl rule CODE`` prints it.

    ``reach`` tells how far a pod gets on a node before this stops it: the further, the nearer the node is to fitting.
    """

    code: str
    title: str
    means: str
    see: str
    mend: str  # how to fix it; the name is that of the JSON key
    reach: float


# How far the pod got: the attempt ended before any node, no device of the driver is there, devices are there but not
# those wanted, the right devices are hidden, taken, free but not usable together; all fits but something outside DRA.
STOPPED, NOTHING, OTHER, HIDDEN, TAKEN, APART, OUTSIDE = 9, 0, 2, 4, 5, 6, 7

# How to see things with kubectl, for the pages.
SEE_CLAIM = "kubectl get resourceclaim -n NS NAME -o yaml"
SEE_SLICES = "kubectl get resourceslices -o yaml"
SEE_POD_CLAIMS = "kubectl get pod -n NS NAME -o jsonpath='{.spec.resourceClaims} {.status.resourceClaimStatuses}'"

# Fields of which a cause for several nodes has what any of the nodes has.
_UNITED = frozenset({"nodes", "devices", "holders", "rules", "counters", "values", "users", "evaluated", "labels"})


class Cause(Struct, frozen=True, kw_only=True):
    """Why a subject is not placed, as a value. Each subclass has the fields that such a cause really has; the sentence
    about it is made by :mod:`dractl.explain.wording`.

    ``page`` is the page of its code. ``identity`` names the fields by which causes of several nodes are the same one,
    ``shown`` the fields whose key in JSON is not their own name.
    """

    page: ClassVar[ReasonPage]
    identity: ClassVar[tuple[str, ...]] = ()
    shown: ClassVar[Mapping[str, str]] = {}

    nodes: tuple[str, ...] = ()

    @property
    def code(self) -> str:
        """The stable code of the reason."""
        return self.page.code

    @property
    def reach(self) -> float:
        """How far the pod gets."""
        return self.page.reach

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for causes of different nodes that are one cause."""
        return (self.code, *(getattr(self, name) for name in self.identity))

    @property
    def about(self) -> tuple[RequestRef, ...]:
        """The requests that the cause is about."""
        one = getattr(self, "request", None)
        return (one,) if one is not None else getattr(self, "requests", ())

    def same_as(self, other: Cause) -> bool:
        """True if both say the same, but for the nodes and devices that they are about."""
        if type(self) is not type(other):
            return False
        names = set(self.__struct_fields__) - _UNITED
        return all(getattr(self, name) == getattr(other, name) for name in names)

    @property
    def lacking(self) -> int:
        """The number of missing devices, if it can be counted."""
        want, have = getattr(self, "want", None), getattr(self, "have", None)
        return want - have if isinstance(want, int) and isinstance(have, int) else 0


def merge(one: C, other: C) -> C:
    """One cause for the nodes of both. Its numbers are those of the node that lacks least; what tells single nodes
    apart and differs (``only`` fields) is left out."""
    if other.lacking < one.lacking:
        one, other = other, one
    changed: dict[str, object] = {}
    for name in one.__struct_fields__:
        mine, theirs = getattr(one, name), getattr(other, name, None)
        if name in _UNITED and isinstance(mine, tuple) and isinstance(theirs, tuple):
            changed[name] = tuple(dict.fromkeys((*mine, *theirs)))
        elif name == "nearest":
            changed[name] = mine or theirs
    return replace(one, **changed)


class OfClaim(Cause, frozen=True, kw_only=True):
    """A cause that lies in one claim. ``pod_claim`` is its name in the pod, ``claim`` is ``namespace/name``."""

    identity: ClassVar[tuple[str, ...]] = ("pod_claim", "claim")

    pod_claim: str | None = None
    claim: str | None = None


class OfRequest(Cause, frozen=True, kw_only=True):
    """A cause that lies in one request or alternative. ``device_class`` is the class that it names."""

    identity: ClassVar[tuple[str, ...]] = ("request",)

    request: RequestRef | None = None
    device_class: str | None = None


class OfRequests(Cause, frozen=True, kw_only=True):
    """A cause that lies between requests, of one claim or of several."""

    identity: ClassVar[tuple[str, ...]] = ("requests",)

    requests: tuple[RequestRef, ...] = ()


class Held(OfRequest, frozen=True, kw_only=True):
    """Devices that a request could use, and who holds them."""

    devices: tuple[str, ...] = ()
    holders: tuple[Holder, ...] = ()
