"""Admission of a claim that does not exist yet: adminAccess and quota.

kubernetes pkg/registry/resource/resourceclaim/strategy.go (AuthorizedForAdmin).
"""

from dractl.cluster.state import ClusterState, Key
from dractl.model import RequestRef, ResourceClaim
from dractl.scheduler.quota import QuotaExceeded, find_exceeded_quotas
from dractl.scheduler.stops import Stop


class AdminAccessNamespace(Stop, frozen=True):
    """A request wants adminAccess, and the namespace lacks the label that allows it."""

    pod_claim: str
    request: RequestRef
    namespace: str


def find_refusals(
    state: ClusterState,
    claim: ResourceClaim,
    namespace: str,
    pod_claim: str,
    replaces: Key | None = None,
) -> list[AdminAccessNamespace | QuotaExceeded]:
    """Return why the API server would refuse to create ``claim``.

    ``replaces`` is an existing claim that ``claim`` replaces.
    """
    refusals: list[AdminAccessNamespace | QuotaExceeded] = []
    request = next(
        (r.name for r in claim.spec.devices.requests if r.exactly and r.exactly.admin_access), None
    )
    view = state.namespace(namespace)
    if request is not None and view.exists and not view.allows_admin_access:
        ref = RequestRef(f"{namespace}/{claim.metadata.name}", request)
        refusals.append(AdminAccessNamespace(pod_claim, ref, namespace))
    refusals += find_exceeded_quotas(state, claim, namespace, pod_claim, replaces)
    return refusals
