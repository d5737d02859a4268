"""The result of an attempt to place a pod: on each node, and as a whole."""

from collections.abc import Hashable

from msgspec import Struct

from dractl.allocation import Allocated, Verdict
from dractl.properties import cached_property
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.rejection import Rejection
from dractl.scheduler.stops import PreBindFailure, Stop
from dractl.views import Node


class NodeVerdict(Struct, frozen=True):
    """The scheduler's verdict on one node."""

    node: Node
    name: str
    rejection: Rejection | None
    """The rejection by the first filter that rejects the node; None if no filter does."""
    unusable_claims: tuple[PodClaim, ...]
    """Allocated claims that cannot be used on the node."""
    claims: tuple[PodClaim, ...]
    """The claims to allocate."""
    allocator_verdict: Verdict | None
    """The allocator's verdict on the claims, which exists even if a filter rejects the node; None
    if there is nothing to allocate.
    """
    group: Hashable = None
    """A key that is equal for nodes that the allocator cannot tell apart."""
    victims: tuple[str, ...] = ()
    """The pods of lower priority that the scheduler evicts, so that no filter rejects the node."""

    @property
    def allocates(self) -> bool:
        """True if the allocator finds devices here in time."""
        verdict = self.allocator_verdict
        return verdict is None or (isinstance(verdict, Allocated) and not verdict.times_out)

    @property
    def times_out(self) -> bool:
        """True if the scheduler gives up before it has a verdict on the node."""
        return self.allocator_verdict is not None and self.allocator_verdict.times_out

    @property
    def fits(self) -> bool:
        """True if the pod can run on the node."""
        passes = self.rejection is None or bool(self.victims)
        return passes and not self.unusable_claims and self.allocates

    @property
    def passes_filters(self) -> bool:
        """True if no filter before DRA rejects the node."""
        return self.rejection is None


class Attempt(Struct, frozen=True, dict=True):
    """kube-scheduler's attempt to place a pod. A claim is tried as if a pod without other
    requirements used it.

    An attempt has one of five ends: a stop before any node is tried, a node's error that ends it
    for all nodes, a failure after a node was found, a pod that fits, or no node that fits.
    """

    claims: tuple[PodClaim, ...]
    stops: tuple[Stop, ...] = ()
    """The failures before any node is tried."""
    nodes: tuple[NodeVerdict, ...] = ()
    fatal_node: NodeVerdict | None = None
    """The node whose error ends the attempt for all nodes."""
    pre_bind_failure: PreBindFailure | None = None
    """The failure after a node was found."""
    message: str | None = None
    """The text of the condition PodScheduled; None if the scheduler writes none."""

    @cached_property
    def fits(self) -> bool:
        """True if the pod is placed."""
        return (
            not self.stops
            and self.fatal_node is None
            and self.pre_bind_failure is None
            and any(node.fits for node in self.nodes)
        )

    def claim_to_deallocate(self, uid: str) -> PodClaim | None:
        """Return the allocated claim that PostFilter releases, so that the next attempt allocates
        it again.

        It does so if no node fits the pod with this ``uid``, only the claim keeps the pod from a
        node, and no other pod uses the claim. If there are several such claims, the scheduler picks
        one at random (dynamicresources.go PostFilter, deallocateOrDeletePodClaims).
        """
        if self.fits or self.fatal_node is not None:
            return None
        for node in self.nodes:
            if not node.passes_filters or not node.allocates:
                continue
            for claim in node.unusable_claims:
                users = 0 if claim.claim is None else len(claim.claim.status.reserved_for)
                if users == 0 or (users == 1 and claim.is_reserved_for(uid)):
                    return claim
        return None
