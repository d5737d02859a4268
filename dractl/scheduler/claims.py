"""The claims of a pod, as the scheduler resolves them."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from dractl.cluster.state import Key
from dractl.model import ResourceClaim


class PodClaim(Struct, frozen=True):
    """One entry of ``spec.resourceClaims``, or a claim asked about by itself (``name`` is empty then).

    ``value`` and ``claim`` are the claim as it is, or as its template would make it; None if there is none.
    ``editable`` says where its spec can be changed: ``Kind/namespace/name`` and the path of the claim's spec in it.
    """

    name: str
    key: Key
    value: Mapping[str, Any] | None = None
    claim: ResourceClaim | None = None
    template: str | None = None
    editable: tuple[str, tuple[str, ...]] | None = None

    @property
    def full_name(self) -> str:
        """``namespace/name``."""
        return "/".join(self.key)

    @property
    def allocated(self) -> bool:
        """True if the claim has devices."""
        return self.claim is not None and self.claim.status.allocation is not None

    def reserved_for(self, uid: str, group: str = "") -> bool:
        """True if the claim is reserved for the pod with this uid, or for its PodGroup (IsReservedForPod)."""
        if self.claim is None:
            return False
        return any(
            (bool(uid) and consumer.uid == uid)
            or (bool(group) and consumer.resource == "podgroups" and consumer.name == group)
            for consumer in self.claim.status.reserved_for
        )
