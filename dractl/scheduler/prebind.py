"""Score and PreBind: failures after a node was found.

kubernetes pkg/scheduler/framework/plugins/dynamicresources (dynamicresources.go, extendeddynamicresources.go).
"""

from collections.abc import Sequence

from dractl.allocation import CLAIM_NAME, Features
from dractl.cluster.state import ClusterState
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.quota import QuotaExceeded, claim_refusals
from dractl.scheduler.stops import Late
from dractl.scheduler.verdict import NodeVerdict
from dractl.views import Pod

RESERVED_LIMIT = 256
"""Pods that may use a claim at a time (resourceapi.ResourceClaimReservedForMaxSize)."""


class ReservedLimit(Late, frozen=True):
    """The claim is reserved for as many pods as a claim may be."""

    claim: PodClaim
    reserved: int
    limit: int

    @property
    def text(self) -> str:
        return (
            _reservation(self.claim)
            + f"status.reservedFor: Too many: {self.reserved + 1}: must have at most {self.limit} items"
        )


class NoAllocationTime(Late, frozen=True):
    """The claim was allocated without a time, as by a scheduler without binding conditions.

    A scheduler that has them writes the time with the reservation of another pod, which the API server refuses
    (dynamicresources.go bindClaim; pkg/apis/resource/validation, ValidateImmutableField of status.allocation).
    """

    claim: PodClaim

    @property
    def text(self) -> str:
        return _reservation(self.claim) + (
            "status.allocation: Invalid value: null: field cannot be modified once set"
        )


class EmptyMapping(Late, frozen=True):
    """The pod has claims and an extended resource that a class provides, and the device plugin of the node has it: the
    scheduler makes an empty claim for the resource and cannot bind it (extendeddynamicresources.go
    filterExtendedResources, patchPodExtendedResourceClaimStatus). ``pod`` is ``namespace/name``."""

    pod: str
    nodes: tuple[str, ...]

    @property
    def text(self) -> str:
        return (
            'running PreBind plugin "DynamicResources": nil or empty request mappings, '
            f"no update of pod {self.pod} ExtendedResourceClaimStatus"
        )


class ExtendedClaimRefused(Late, frozen=True):
    """Quotas refuse the claim that the scheduler makes for the extended resources of ``pod``, in PreBind
    (dynamicresources.go bindClaim). ``refusals`` are those of one quota, as one error of the API server names them."""

    pod: Pod
    refusals: tuple[QuotaExceeded, ...]

    @property
    def text(self) -> str:
        """The scheduler's message, without the random end of the claim's name."""
        namespace, first = self.pod.namespace or "default", self.refusals[0]
        amounts = [
            (r.resource, {"requested": r.need, "used": r.used, "limited": r.limit})
            for r in self.refusals
        ]
        said = (
            f"{word}: " + ",".join(f"{name}={of[word]}" for name, of in amounts)
            for word in amounts[0][1]
        )
        return (
            f'running PreBind plugin "DynamicResources": create claim for extended resources {namespace}/: '
            f'resourceclaims.resource.k8s.io "{self.pod.name}-extended-resources-" is forbidden: '
            f"exceeded quota: {first.quota[1]}, {', '.join(said)}"
        )


class Miscounted(Late, frozen=True):
    """kubernetes#139016: scoring alternatives counts allocations against all claims, also those allocated before.

    ``open_claims`` are those to allocate.
    """

    open_claims: tuple[PodClaim, ...]

    issue = "kubernetes#139016"

    @property
    def text(self) -> str:
        return (
            'running Score plugins: plugin "DynamicResources" failed with: '
            f"number of allocations {len(self.open_claims)} is smaller than number of claims"
        )


def late(
    state: ClusterState,
    features: Features,
    pod: Pod | None,
    claims: Sequence[PodClaim],
    nodes: Sequence[NodeVerdict],
    *,
    mapped: bool,
) -> Late | None:
    """The failure of an attempt that found a node. ``mapped``: a class provides an extended resource of the pod."""
    miscounted = _miscounted(features, claims, nodes)
    uid, group = ("", "") if pod is None else (pod.uid, pod.pod_group_name)
    joined = [c for c in claims if c.allocated and not c.reserved_for(uid, group)]
    for claim in joined:
        assert claim.claim is not None
        reserved = len(claim.claim.status.reserved_for)
        if reserved >= RESERVED_LIMIT:
            return ReservedLimit(claim, reserved, RESERVED_LIMIT)
    refused = _refused(state, pod, nodes) if mapped and pod is not None else None
    if refused is not None:
        return refused
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
            return EmptyMapping(
                f"{pod.namespace or 'default'}/{pod.name}", tuple(n.name for n in fitting)
            )
    return miscounted


def _refused(
    state: ClusterState, pod: Pod, nodes: Sequence[NodeVerdict]
) -> ExtendedClaimRefused | None:
    """What quotas say of the claim for extended resources, if they refuse it on whichever node is chosen."""
    found: list[QuotaExceeded] = []
    for node in nodes:
        if node.fits:
            special = next((c.claim for c in node.claims if c.key[1] == CLAIM_NAME), None)
            here = (
                []
                if special is None
                else claim_refusals(state, special, pod.namespace or "default", "")
            )
            if not here:
                return None
            found = found or here
    return (
        ExtendedClaimRefused(pod, tuple(r for r in found if r.quota == found[0].quota))
        if found
        else None
    )


def _miscounted(
    features: Features, claims: Sequence[PodClaim], nodes: Sequence[NodeVerdict]
) -> Miscounted | None:
    """Scoring happens where more than one node is left."""
    if not features.has("score-of-allocated") or sum(n.fits for n in nodes) < 2:
        return None
    open_claims = tuple(c for c in claims if not c.allocated and c.claim is not None)
    mixed = len(open_claims) < len(claims) and any(
        request.first_available
        for c in open_claims
        if c.claim
        for request in c.claim.spec.devices.requests
    )
    return Miscounted(open_claims) if mixed else None


def _reservation(claim: PodClaim) -> str:
    return (
        f'running PreBind plugin "DynamicResources": add reservation to claim {claim.full_name}: '
        f'ResourceClaim.resource.k8s.io "{claim.key[1]}" is invalid: '
    )
