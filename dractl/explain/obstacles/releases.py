"""The claims of a cluster, with no device allocated."""

from collections.abc import Mapping
from functools import partial

from dractl.cluster.derived import derive_from
from dractl.cluster.state import ClusterState, Key
from dractl.model.paths import remove_at
from dractl.objects import Raw

_ALLOCATION = ("status", "allocation")


@derive_from("ResourceClaim")
def release_claims(state: ClusterState) -> Mapping[Key, Raw]:
    """Return all claims without their allocations.

    The result for a claim is the same object in each call, so that values which the scheduler
    derives from it are computed once.
    """
    return {
        key: state.cache.from_object("released", claim, partial(remove_at, claim, _ALLOCATION))
        for key, claim in state.objects("ResourceClaim").items()
    }
