"""Score and PreBind: failures after a node was found.

kubernetes pkg/scheduler/framework/plugins/dynamicresources (dynamicresources.go, extendeddynamicresources.go).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.allocation import CLAIM_NAME
from dractl.cluster.state import text_at
from dractl.scheduler.stops import EmptyMapping, Miscounted, NoAllocationTime, ReservedLimit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dractl.allocation import Features
    from dractl.scheduler.claims import PodClaim
    from dractl.scheduler.stops import Late
    from dractl.scheduler.verdict import NodeVerdict

RESERVED_LIMIT = 256
"""Pods that may use a claim at a time (resourceapi.ResourceClaimReservedForMaxSize)."""


def late(
    features: Features,
    pod: Mapping[str, Any] | None,
    claims: Sequence[PodClaim],
    nodes: Sequence[NodeVerdict],
    *,
    mapped: bool,
) -> Late | None:
    """The failure of an attempt that found a node. ``mapped``: a class provides an extended resource of the pod."""
    uid, group = text_at(pod, "metadata", "uid"), text_at(pod, "spec", "schedulingGroup", "podGroupName")
    joined = [c for c in claims if c.allocated and not c.reserved_for(uid, group)]
    for claim in joined:
        assert claim.claim is not None
        reserved = len(claim.claim.status.reserved_for)
        if reserved >= RESERVED_LIMIT:
            return ReservedLimit(claim, reserved, RESERVED_LIMIT)
    if not features.upstream_bugs:
        return None
    if features.binding_conditions:
        for claim in joined:
            assert claim.claim is not None
            assert claim.claim.status.allocation is not None
            if not claim.claim.status.allocation.allocation_timestamp:
                return NoAllocationTime(claim)
    if mapped and pod is not None and claims:
        fitting = [n for n in nodes if n.fits]
        if not any(c.key[1] == CLAIM_NAME for n in fitting for c in n.claims):
            name = f"{text_at(pod, 'metadata', 'namespace') or 'default'}/{text_at(pod, 'metadata', 'name')}"
            return EmptyMapping(name, tuple(n.name for n in fitting))
    return _miscounted(features, claims, nodes)


def _miscounted(features: Features, claims: Sequence[PodClaim], nodes: Sequence[NodeVerdict]) -> Miscounted | None:
    """Scoring happens where more than one node is left."""
    if features.release != "1.35" or sum(n.fits for n in nodes) < 2:
        return None
    open_claims = tuple(c for c in claims if not c.allocated and c.claim is not None)
    mixed = len(open_claims) < len(claims) and any(
        request.first_available for c in open_claims if c.claim for request in c.claim.spec.devices.requests
    )
    return Miscounted(open_claims) if mixed else None
