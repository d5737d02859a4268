"""Admission of a claim that does not exist yet: adminAccess and quota.

kubernetes pkg/registry/resource/resourceclaim/strategy.go (AuthorizedForAdmin).
"""

from dractl.cluster.state import ClusterState, Key, map_at
from dractl.model import RequestRef, ResourceClaim
from dractl.scheduler.quota import QuotaExceeded, claim_refusals
from dractl.scheduler.stops import Stop

ADMIN_LABEL = "resource.kubernetes.io/admin-access"


class AdminAccessNamespace(Stop, frozen=True):
    """A request wants adminAccess, and the namespace lacks the label that allows it."""

    pod_claim: str
    request: RequestRef
    namespace: str


def admission(
    state: ClusterState,
    claim: ResourceClaim,
    namespace: str,
    pod_claim: str,
    replaces: Key | None = None,
) -> list[AdminAccessNamespace | QuotaExceeded]:
    """Why the API server would refuse to create ``claim``. ``replaces`` is an existing claim that it takes over."""
    found: list[AdminAccessNamespace | QuotaExceeded] = []
    owner = f"{namespace}/{claim.metadata.name}"
    admin = next(
        (r.name for r in claim.spec.devices.requests if r.exactly and r.exactly.admin_access), None
    )
    here = state.get("Namespace", ("", namespace))
    if (
        admin is not None
        and here is not None
        and map_at(here, "metadata", "labels").get(ADMIN_LABEL) != "true"
    ):
        found.append(AdminAccessNamespace(pod_claim, RequestRef(owner, admin), namespace))
    return [*found, *claim_refusals(state, claim, namespace, pod_claim, replaces)]
