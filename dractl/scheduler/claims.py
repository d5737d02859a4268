"""The claims of a pod, as the scheduler resolves them."""

from msgspec import Struct

from dractl.cluster.state import Key
from dractl.model import ResourceClaim
from dractl.objects import Raw


class EditableSpec(Struct, frozen=True):
    """The place where a person can change the spec of a claim."""

    target: str
    """The object that contains the spec, as ``Kind/namespace/name``."""
    path: tuple[str, ...]
    """The path of the claim's spec in that object."""


class PodClaim(Struct, frozen=True):
    """An entry of ``spec.resourceClaims``, or a claim that is itself the subject."""

    name: str
    """The name of the entry; "" if the claim is the subject."""
    key: Key
    value: Raw | None = None
    """The claim as it exists, or as its template would make it; None if there is none."""
    claim: ResourceClaim | None = None
    """``value`` decoded; None if ``value`` is None."""
    template: str | None = None
    """The name of the template, if the claim is made from one."""
    editable: EditableSpec | None = None

    @property
    def full_name(self) -> str:
        """``namespace/name``."""
        return "/".join(self.key)

    @property
    def allocated(self) -> bool:
        """True if the claim has devices."""
        return self.claim is not None and self.claim.status.allocation is not None

    def is_reserved_for(self, uid: str, group: str = "") -> bool:
        """Decide whether the claim is reserved for a pod or for its PodGroup (IsReservedForPod)."""
        if self.claim is None:
            return False
        return any(
            (bool(uid) and consumer.uid == uid)
            or (bool(group) and consumer.resource == "podgroups" and consumer.name == group)
            for consumer in self.claim.status.reserved_for
        )
