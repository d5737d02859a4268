"""Reasons about the number of devices: a request for all devices, for more than there are, or for
more than fit together.
"""

from dractl.cluster.devices import Holder
from dractl.explain.reasons.base import (
    LIST_HOLDERS,
    SEE_POD_CLAIMS,
    Facts,
    HeldByOthers,
    Progress,
    ReasonPage,
    RequestCause,
    RequestsCause,
)
from dractl.explain.reasons.constraints import ConstraintConflict
from dractl.explain.reasons.devices import Tainted
from dractl.explain.reasons.phrases import Names, Scope, plural


class AllNeedsFree(HeldByOthers, frozen=True, kw_only=True):
    """A request wants all devices, and some of them are held."""

    page = ReasonPage(
        "all-needs-free",
        "allocationMode All needs every matching device",
        "All means all devices that match on the node; one that is in use or tainted makes the"
        " request fail there.",
        LIST_HOLDERS,
        "Free the device, exclude it with a selector, tolerate its taint, or ask for a number.",
        Progress.IN_USE,
    )

    want: int
    have: int
    free: int
    taken: int = 0
    """The number of devices that are held."""

    def facts(self) -> Facts:
        return {**super().facts(), "want": self.want, "have": self.have, "free": self.free}

    def sentence(self, names: Names, scope: Scope) -> str:
        taken = f"{self.taken} {'is' if self.taken == 1 else 'are'} in use"
        return f"{self.request_text(names)} wants all {self.want} matching devices; {taken}"


class AllNeedsUntainted(Tainted, frozen=True, kw_only=True):
    """A request wants all devices, and some of them are tainted."""

    page = AllNeedsFree.page

    def sentence(self, names: Names, scope: Scope) -> str:
        number = sum(number for _, number in self.taints)
        tainted = f"{number} {'is' if number == 1 else 'are'} tainted: {self.taints_text()}"
        every = (
            f"all {self.want} matching devices"
            if len(self.nodes) < 2
            else "all matching devices of a node"
        )
        return f"{self.request_text(names)} wants {every}; {tainted}"


class NotEnough(RequestCause, frozen=True, kw_only=True):
    """A request wants more devices than the node has."""

    page = ReasonPage(
        "not-enough",
        "the node has fewer devices than wanted",
        "A pod's devices all come from one node (or are reachable from it), and it has fewer than"
        " the requests add up to.",
        "kubectl get resourceslices --field-selector spec.nodeName=NODE",
        "Ask for fewer devices, or spread the work over several pods.",
        Progress.TOO_FEW,
    )

    want: int
    have: int

    def facts(self) -> Facts:
        return {**super().facts(), "want": self.want, "have": self.have}

    def sentence(self, names: Names, scope: Scope) -> str:
        lead = "the node has" if scope is Scope.ONE else "no node has more than"
        return (
            f"{self.request_text(names)} wants {plural(self.want, 'device')}; {lead} {self.have}"
            f" of class {self.device_class}"
        )


class NotEnoughTogether(RequestsCause, frozen=True, kw_only=True):
    """Requests together want more devices than the node has that match."""

    page = NotEnough.page

    want: int
    have: int
    holders: tuple[Holder, ...] = ()

    def facts(self) -> Facts:
        return {**super().facts(), "want": self.want, "have": self.have, "holders": self.holders}

    def sentence(self, names: Names, scope: Scope) -> str:
        lead = "the node has" if scope is Scope.ONE else "no node has more than"
        return (
            f"{names.requests(self.requests)} want {self.want} devices together; {lead}"
            f" {self.have} that match{'es' * (self.have == 1)}"
        )


class SearchConflict(RequestsCause, frozen=True, kw_only=True):
    """Requests that fit one by one do not fit together, or the devices of one request do not."""

    page = ReasonPage(
        "search-conflict",
        "each request fits alone, but not all together",
        "The requests compete for devices, or one claim's choice leaves nothing for another.",
        SEE_POD_CLAIMS,
        "Relax one of the requests that explain names.",
        Progress.APART,
    )

    total: int = 0
    """The number of devices that a single request wants."""
    counter_sets: tuple[str, ...] = ()
    """The counter sets that the devices share."""
    incompatible: bool = False
    """True if some devices have compatibility groups that exclude each other."""
    holders: tuple[Holder, ...] = ()
    """The holders of other devices that use the counters."""

    def facts(self) -> Facts:
        return {**super().facts(), "holders": self.holders}

    def sentence(self, names: Names, scope: Scope) -> str:
        if len(self.requests) == 1:
            why = (
                f"{names.request(self.requests[0])}: one device would fit; {self.total} together"
                " do not"
            )
        else:
            why = (
                f"each of the {names.requests(self.requests)} would fit alone; together they do not"
            )
        if not self.counter_sets:
            return why
        sets = ", ".join(self.counter_sets[:3]) + (" …" if len(self.counter_sets) > 3 else "")
        used = ", which are in use in part" if self.holders else ""
        apart = ", and some have no compatibility group in common" if self.incompatible else ""
        return f"{why}: their devices draw on the same counters, of {sets}{used}{apart}"

    @property
    def named_holders(self) -> tuple[Holder, ...]:
        return self.holders


class ConstrainedSearch(SearchConflict, frozen=True, kw_only=True):
    """The requests under a constraint do not fit together, although the constraint by itself could
    be satisfied.
    """

    page = ConstraintConflict.page
    identity = ("requests", "constraint")

    constraint: str

    def facts(self) -> Facts:
        return {**super().facts(), "constraint": self.constraint}

    def sentence(self, names: Names, scope: Scope) -> str:
        why = super().sentence(names, scope)
        return why if self.counter_sets else f"{why} with {self.constraint}"
