"""Score and PreBind: failures after a node was found.

kubernetes pkg/scheduler/framework/plugins/dynamicresources (dynamicresources.go,
extendeddynamicresources.go).
"""

from collections.abc import Sequence

from dractl.allocation import CLAIM_NAME, Features
from dractl.cluster.state import DEFAULT_NAMESPACE, ClusterState
from dractl.properties import cached_property
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.quota import QuotaExceeded, find_exceeded_quotas
from dractl.scheduler.stops import PreBindFailure
from dractl.scheduler.verdict import NodeVerdict
from dractl.views import Pod

RESERVED_LIMIT = 256
"""The maximum number of pods that may use a claim at the same time
(resourceapi.ResourceClaimReservedForMaxSize).
"""


class ReservedLimit(PreBindFailure, frozen=True):
    """The claim is reserved for the maximum number of pods."""

    claim: PodClaim
    reserved: int
    limit: int

    @property
    def text(self) -> str:
        """The scheduler's message."""
        return (
            f"{_reservation_text(self.claim)}status.reservedFor: Too many: {self.reserved + 1}: "
            f"must have at most {self.limit} items"
        )


class NoAllocationTime(PreBindFailure, frozen=True):
    """The claim's allocation has no time, for example because a scheduler without binding
    conditions made it.

    A scheduler that has binding conditions adds the time when it reserves the claim for another
    pod. The API server refuses this change (dynamicresources.go bindClaim;
    pkg/apis/resource/validation, ValidateImmutableField of status.allocation).
    """

    claim: PodClaim

    @property
    def text(self) -> str:
        """The scheduler's message."""
        return (
            f"{_reservation_text(self.claim)}status.allocation: Invalid value: null: "
            "field cannot be modified once set"
        )


class EmptyMapping(PreBindFailure, frozen=True):
    """The scheduler cannot bind the claim that it makes for extended resources, because it is
    empty.

    The pod has claims and an extended resource that a class provides, and the device plugin of the
    node has the resource (extendeddynamicresources.go filterExtendedResources,
    patchPodExtendedResourceClaimStatus).
    """

    pod: str
    """``namespace/name``."""
    nodes: tuple[str, ...]

    @property
    def text(self) -> str:
        """The scheduler's message."""
        return (
            'running PreBind plugin "DynamicResources": nil or empty request mappings, '
            f"no update of pod {self.pod} ExtendedResourceClaimStatus"
        )


class ExtendedClaimRefused(PreBindFailure, frozen=True):
    """A quota refuses the claim that the scheduler makes for extended resources.

    dynamicresources.go bindClaim.
    """

    pod: Pod
    refusals: tuple[QuotaExceeded, ...]
    """The refusals of one quota, which one error of the API server lists."""

    @property
    def text(self) -> str:
        """The scheduler's message, without the random suffix of the claim's name."""
        namespace, first = self.pod.namespace or DEFAULT_NAMESPACE, self.refusals[0]
        requested = ",".join(f"{r.resource}={r.need}" for r in self.refusals)
        used = ",".join(f"{r.resource}={r.used}" for r in self.refusals)
        limited = ",".join(f"{r.resource}={r.limit}" for r in self.refusals)
        return (
            'running PreBind plugin "DynamicResources": create claim for extended resources '
            f'{namespace}/: resourceclaims.resource.k8s.io "{self.pod.name}-extended-resources-" '
            f"is forbidden: exceeded quota: {first.quota[1]}, "
            f"requested: {requested}, used: {used}, limited: {limited}"
        )


class Miscounted(PreBindFailure, frozen=True):
    """kubernetes#139016: when alternatives are scored, the number of allocations is compared with
    the number of all claims, including those that were allocated before.
    """

    open_claims: tuple[PodClaim, ...]
    """The claims to allocate."""

    issue = "kubernetes#139016"

    @property
    def text(self) -> str:
        """The scheduler's message."""
        return (
            'running Score plugins: plugin "DynamicResources" failed with: '
            f"number of allocations {len(self.open_claims)} is smaller than number of claims"
        )


class PreBind:
    """Score and PreBind of a pod, or of claims by themselves, that fit on some nodes."""

    def __init__(
        self,
        state: ClusterState,
        features: Features,
        pod: Pod | None,
        claims: Sequence[PodClaim],
        nodes: Sequence[NodeVerdict],
        *,
        has_mapped_resources: bool,
    ) -> None:
        self.state = state
        self.features = features
        self.claims = claims
        self._all_nodes = nodes
        self.mapped_pod = pod if has_mapped_resources else None
        """The pod, if a class provides one of its extended resources."""
        uid, group = ("", "") if pod is None else (pod.uid, pod.pod_group_name)
        self.unreserved_claims = [
            claim for claim in claims if claim.allocated and not claim.is_reserved_for(uid, group)
        ]
        """The allocated claims that still have to be reserved for the pod."""

    @cached_property
    def nodes(self) -> Sequence[NodeVerdict]:
        """The nodes that fit."""
        return [node for node in self._all_nodes if node.fits]

    def find_failure(self) -> PreBindFailure | None:
        """Return the failure that the scheduler reports."""
        failure = self._find_reserved_limit() or self._find_refused_special_claim()
        if failure is not None or not self.features.upstream_bugs:
            return failure
        return (
            self._find_missing_allocation_time()
            or self._find_empty_special_claim()
            or self._find_miscount()
        )

    def _find_reserved_limit(self) -> ReservedLimit | None:
        for claim in self.unreserved_claims:
            assert claim.claim is not None
            reserved = len(claim.claim.status.reserved_for)
            if reserved >= RESERVED_LIMIT:
                return ReservedLimit(claim, reserved, RESERVED_LIMIT)
        return None

    def _find_refused_special_claim(self) -> ExtendedClaimRefused | None:
        """Return the refusal of the claim for extended resources, if quotas refuse it whichever
        node is chosen.
        """
        if self.mapped_pod is None:
            return None
        namespace = self.mapped_pod.namespace or DEFAULT_NAMESPACE
        refusals: list[QuotaExceeded] = []
        for node in self.nodes:
            special = next((c.claim for c in node.claims if c.key[1] == CLAIM_NAME), None)
            if special is None:
                return None
            exceeded = find_exceeded_quotas(self.state, special, namespace, "")
            if not exceeded:
                return None
            refusals = refusals or exceeded
        quota = refusals[0].quota
        same_quota = tuple(refusal for refusal in refusals if refusal.quota == quota)
        return ExtendedClaimRefused(self.mapped_pod, same_quota)

    def _find_missing_allocation_time(self) -> NoAllocationTime | None:
        for claim in self.unreserved_claims if self.features.binding_conditions else ():
            assert claim.claim is not None
            assert claim.claim.status.allocation is not None
            if not claim.claim.status.allocation.allocation_timestamp:
                return NoAllocationTime(claim)
        return None

    def _find_empty_special_claim(self) -> EmptyMapping | None:
        pod = self.mapped_pod
        if pod is None or not self.claims:
            return None
        if any(claim.key[1] == CLAIM_NAME for node in self.nodes for claim in node.claims):
            return None
        full_name = f"{pod.namespace or DEFAULT_NAMESPACE}/{pod.name}"
        return EmptyMapping(full_name, tuple(node.name for node in self.nodes))

    def _find_miscount(self) -> Miscounted | None:
        """Return the failure of scoring, which occurs if more than one node remains."""
        if not self.features.has("score-of-allocated") or len(self.nodes) < 2:
            return None
        open_claims = tuple(
            claim for claim in self.claims if not claim.allocated and claim.claim is not None
        )
        has_alternatives = any(
            request.first_available
            for claim in open_claims
            if claim.claim is not None
            for request in claim.claim.spec.devices.requests
        )
        is_mixed = len(open_claims) < len(self.claims)
        return Miscounted(open_claims) if is_mixed and has_alternatives else None


def _reservation_text(claim: PodClaim) -> str:
    return (
        'running PreBind plugin "DynamicResources": add reservation to claim '
        f'{claim.full_name}: ResourceClaim.resource.k8s.io "{claim.key[1]}" is invalid: '
    )
