"""What a pod object says about itself: whether it has ended or still waits, and which claims it refers to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.cluster.state import maps_at, text_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dractl.cluster.state import ClusterState, Key

    Raw = Mapping[str, Any]

ENDED = ("Succeeded", "Failed")


def ended(pod: Raw) -> bool:
    return text_at(pod, "status", "phase") in ENDED


def is_pending(pod: Raw) -> bool:
    """Whether a pod still waits for a node."""
    return not text_at(pod, "spec", "nodeName") and text_at(pod, "status", "phase") not in ENDED


def consumers(state: ClusterState, claim: Key) -> Sequence[Raw]:
    """The pods that refer to a claim, by name or through their status."""
    namespace, name = claim
    return [
        pod
        for (where, _), pod in state.all("Pod").items()
        if where == namespace
        and (
            any(text_at(r, "resourceClaimName") == name for r in maps_at(pod, "spec", "resourceClaims"))
            or any(text_at(s, "resourceClaimName") == name for s in maps_at(pod, "status", "resourceClaimStatuses"))
            or text_at(pod, "status", "extendedResourceClaimStatus", "resourceClaimName") == name
        )
    ]
