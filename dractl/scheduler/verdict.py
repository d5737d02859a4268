"""The result of an attempt to place a pod: on every node, and altogether."""

from collections.abc import Hashable
from functools import cached_property

from msgspec import Struct

from dractl.allocation import Allocated, Verdict
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.rejection import Rejection
from dractl.scheduler.stops import Late, Stop
from dractl.views import Node


class NodeVerdict(Struct, frozen=True):
    """The scheduler's result for one node.

    ``rejection`` is the first filter that refuses the node. ``outcome`` is the allocator's verdict, also where a filter
    refuses the node, so that one sees what would be without it; None if nothing is left to allocate. ``elsewhere`` are
    allocated claims that cannot be used here, ``claims`` those to allocate. Nodes with equal ``group`` look the same to
    the allocator. ``victims`` are pods of lower priority that the scheduler evicts so that no filter refuses the node.
    """

    node: Node
    name: str
    rejection: Rejection | None
    elsewhere: tuple[PodClaim, ...]
    claims: tuple[PodClaim, ...]
    outcome: Verdict | None
    group: Hashable = None
    victims: tuple[str, ...] = ()

    @property
    def allocates(self) -> bool:
        """True if the allocator finds devices here in time."""
        return self.outcome is None or (
            isinstance(self.outcome, Allocated) and not self.outcome.times_out
        )

    @property
    def times_out(self) -> bool:
        """True if the scheduler gives up before it has an answer for the node."""
        return self.outcome is not None and self.outcome.times_out

    @property
    def fits(self) -> bool:
        """True if the pod can run here."""
        return (
            (self.rejection is None or bool(self.victims)) and not self.elsewhere and self.allocates
        )

    @property
    def asked(self) -> bool:
        """True if no filter before DRA refuses the node."""
        return self.rejection is None


class Attempt(Struct, frozen=True, dict=True):
    """kube-scheduler's attempt to place a pod, or a claim as if a pod without other wishes used it.

    One of these holds: it is ``stopped`` before any node is looked at; the error of ``fatal`` ends it for all nodes;
    ``late``: it fails after a node was found; it ``fits``; or no node fits. ``message`` is the text of the condition
    PodScheduled, None if the scheduler writes none.
    """

    claims: tuple[PodClaim, ...]
    stopped: tuple[Stop, ...] = ()
    nodes: tuple[NodeVerdict, ...] = ()
    fatal: NodeVerdict | None = None
    late: Late | None = None
    message: str | None = None

    @cached_property
    def fits(self) -> bool:
        """True if the pod is placed."""
        return (
            not self.stopped
            and self.fatal is None
            and self.late is None
            and any(n.fits for n in self.nodes)
        )

    def given_back(self, uid: str) -> PodClaim | None:
        """The allocated claim that PostFilter releases if no node fits, so that the next attempt allocates it again.

        ``uid`` is the pod's. The claim alone keeps the pod from a node, and nobody else uses it. Of several the
        scheduler picks one at random (dynamicresources.go PostFilter, deallocateOrDeletePodClaims).
        """
        if self.fits or self.fatal is not None:
            return None
        for node in self.nodes:
            if not node.asked or not node.allocates:
                continue
            for claim in node.elsewhere:
                users = 0 if claim.claim is None else len(claim.claim.status.reserved_for)
                if users == 0 or (users == 1 and claim.reserved_for(uid)):
                    return claim
        return None
