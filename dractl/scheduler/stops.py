"""Failures before any node is looked at, or after one was found, as values.

A pod that PreEnqueue holds back has no condition and no event (but for scheduling gates); what PreFilter, Score and
PreBind refuse is in the pod's condition, in the sentence of ``text``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from dractl.cluster.state import Key
    from dractl.model import Quantity, RequestRef
    from dractl.scheduler.claims import PodClaim


# -- PreEnqueue, and why the claim controller has not made a claim -------------------------------------------------


class SchedulingGated(Struct, frozen=True):
    """The pod has scheduling gates."""

    gates: tuple[str, ...]

    @property
    def text(self) -> str:
        """The scheduler's message."""
        return "Scheduling is blocked due to non-empty scheduling gates"


class ClaimUnsetSource(Struct, frozen=True):
    """An entry of ``spec.resourceClaims`` names neither a claim nor a template.

    ``old_form``: it has the field ``source`` of 1.30 and earlier, which is no longer read.
    """

    pod_claim: str
    old_form: bool


class ClaimMissing(Struct, frozen=True):
    """The claim does not exist in the pod's namespace. ``template``: the one that it was made from, if it was."""

    pod_claim: str
    claim: Key
    template: str | None = None


class TemplateMissing(Struct, frozen=True):
    """The template does not exist in the pod's namespace, so the claim is not made."""

    pod_claim: str
    template: Key


class ClaimNotCreated(Struct, frozen=True):
    """The claim controller has not made the claim of a template that exists.

    ``event`` is the newest FailedResourceClaimCreation about it; ``younger``: the template was created after the pod.
    ``new``: the pod was created moments before the cluster was read.
    """

    pod_claim: str
    template: Key
    event: str
    younger: bool
    new: bool = False


class ClaimNotOwned(Struct, frozen=True):
    """The claim was made for another pod of the same name."""

    claim: PodClaim


class ClaimDeleting(Struct, frozen=True):
    """The claim is being deleted. ``users`` are the pods that it is reserved for."""

    claim: PodClaim
    users: tuple[str, ...]
    finalizers: tuple[str, ...]


# -- admission of a claim or a pod that does not exist yet -------------------------------------------------------------


class AdminAccessNamespace(Struct, frozen=True):
    """A request wants adminAccess, and the namespace lacks the label that allows it."""

    pod_claim: str
    request: RequestRef
    namespace: str


class QuotaExceeded(Struct, frozen=True):
    """A ResourceQuota does not allow a claim, or (without ``pod_claim``) a pod: of ``limit`` for ``resource``, ``used``
    is in use and ``need`` more is wanted. ``request`` asks for devices of the class that the quota limits."""

    pod_claim: str
    quota: Key
    resource: str
    limit: Quantity
    used: Quantity
    need: Quantity
    request: RequestRef | None = None


class PodsNotCreated(Struct, frozen=True):
    """The API server refuses to create a pod, with the end of its message."""

    pod: str
    message: str


# -- PreFilter ---------------------------------------------------------------------------------------------------------


class ClassMissing(Struct, frozen=True):
    """A request names a DeviceClass that does not exist."""

    claim: PodClaim
    request: RequestRef
    device_class: str

    @property
    def text(self) -> str:
        """The scheduler's message."""
        return f"request {self.request}: device class {self.device_class} does not exist"


class VolumeUnusable(Struct, frozen=True):
    """A PersistentVolumeClaim of the pod cannot be used on any node; ``text`` is the plugin's message."""

    plugin: str
    volume_claim: Key
    text: str


class NoNodes(Struct, frozen=True):
    """The cluster has no node."""

    @property
    def text(self) -> str:
        """The scheduler's message."""
        return "no nodes available to schedule pods"


Stop = (
    SchedulingGated
    | ClaimUnsetSource
    | ClaimMissing
    | TemplateMissing
    | ClaimNotCreated
    | ClaimNotOwned
    | ClaimDeleting
    | AdminAccessNamespace
    | QuotaExceeded
    | PodsNotCreated
    | ClassMissing
    | VolumeUnusable
    | NoNodes
)


# -- Score and PreBind -------------------------------------------------------------------------------------------------


class ReservedLimit(Struct, frozen=True):
    """The claim is reserved for as many pods as a claim may be."""

    claim: PodClaim
    reserved: int
    limit: int

    @property
    def text(self) -> str:
        """The scheduler's message."""
        return (
            _reservation(self.claim)
            + f"status.reservedFor: Too many: {self.reserved + 1}: must have at most {self.limit} items"
        )


class NoAllocationTime(Struct, frozen=True):
    """The claim was allocated without a time, as by a scheduler without binding conditions.

    A scheduler that has them writes the time with the reservation of another pod, which the API server refuses
    (dynamicresources.go bindClaim; pkg/apis/resource/validation, ValidateImmutableField of status.allocation).
    """

    claim: PodClaim

    @property
    def text(self) -> str:
        """The scheduler's message."""
        return _reservation(self.claim) + ("status.allocation: Invalid value: null: field cannot be modified once set")


class EmptyMapping(Struct, frozen=True):
    """The pod has claims and an extended resource that a class provides, and the device plugin of the node has it: the
    scheduler makes an empty claim for the resource and cannot bind it (extendeddynamicresources.go
    filterExtendedResources, patchPodExtendedResourceClaimStatus). ``pod`` is ``namespace/name``."""

    pod: str
    nodes: tuple[str, ...]

    @property
    def text(self) -> str:
        """The scheduler's message."""
        return (
            'running PreBind plugin "DynamicResources": nil or empty request mappings, '
            f"no update of pod {self.pod} ExtendedResourceClaimStatus"
        )


class Miscounted(Struct, frozen=True):
    """kubernetes#139016: scoring alternatives counts allocations against all claims, also those allocated before.

    ``open_claims`` are those to allocate.
    """

    open_claims: tuple[PodClaim, ...]

    issue = "kubernetes#139016"

    @property
    def text(self) -> str:
        """The scheduler's message."""
        return (
            'running Score plugins: plugin "DynamicResources" failed with: '
            f"number of allocations {len(self.open_claims)} is smaller than number of claims"
        )


Late = ReservedLimit | NoAllocationTime | EmptyMapping | Miscounted


def _reservation(claim: PodClaim) -> str:
    return (
        f'running PreBind plugin "DynamicResources": add reservation to claim {claim.full_name}: '
        f'ResourceClaim.resource.k8s.io "{claim.key[1]}" is invalid: '
    )
