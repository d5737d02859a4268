"""Parts of a cluster that may not be read, and what an answer lacks without them."""

from collections.abc import Iterator

from msgspec import Struct

from dractl.cluster.rights import Rights
from dractl.cluster.shell import NextStep
from dractl.cluster.state import ClusterState, maps_at, text_at
from dractl.explain.ask import Question
from dractl.scheduler.stops import Stop

DEVICES = ("ResourceSlice", "DeviceClass", "ResourceClaim")

# What is missing from an answer: kinds that may be read nowhere, and kinds that may be read in one
# namespace only.
_WITHOUT_KIND = {
    "ResourceSlice": ("ResourceSlices", "devices were not compared"),
    "DeviceClass": ("DeviceClasses", "devices were not compared"),
    "ResourceClaim": ("ResourceClaims", "devices were not compared"),
    "ResourceClaimTemplate": ("ResourceClaimTemplates", "the template was not looked at"),
    "Node": ("nodes", "their labels, taints and free resources were not checked"),
    "DeviceTaintRule": ("DeviceTaintRules", "taints that they put on devices were not applied"),
    "ResourceQuota": ("quotas", "they were not checked"),
    "Pod": ("pods", "who uses the claims, and what pods use on nodes, is not known"),
}
_WITHOUT_OTHER_NAMESPACES = {
    "ResourceClaim": ("claims of other namespaces", "devices that they hold look free"),
    "Pod": ("pods of other namespaces", "what they use on a node is not counted"),
}


class UnreadableResource(Struct, frozen=True):
    """A resource that may not be read, and what an answer lacks without it."""

    resource: str
    namespace: str
    """The only namespace in which it may be read; empty if it may be read nowhere."""
    what: str
    """The resource as people call it."""
    effect: str
    """What the answer lacks without it."""


class MissingPermissions(Struct, frozen=True):
    """All that an answer lacks because the user may not read it."""

    parts: tuple[UnreadableResource, ...] = ()
    """The resources; none if everything that the answer depends on may be read."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """A sentence for each effect: ``ResourceSlices may not be read, so devices were not
        compared``.
        """
        by_effect: dict[str, list[str]] = {}
        for row in self.parts:
            by_effect.setdefault(row.effect, []).append(row.what)
        return tuple(
            f"{join_words(what)} may not be read, so {effect}" for effect, what in by_effect.items()
        )

    def grant_steps(self, rights: Rights) -> tuple[NextStep, ...]:
        """Return the step after which everything may be read."""
        return (
            (NextStep("have an administrator allow reading the rest", rights.full_grant),)
            if self.parts
            else ()
        )


def find_missing_permissions(
    state: ClusterState, question: Question, *, allocates: bool
) -> MissingPermissions:
    """Return what the answer to a question lacks. ``allocates``: some claims are to be allocated or
    could not be read.
    """
    rights = state.rights
    if not rights.unread:
        return MissingPermissions()
    kinds = tuple(_kinds_that_matter(state, question, allocates=allocates))
    unreadable = {row.kind: row for row in rights.unreadable(*kinds)}
    one_namespace_kinds = ["ResourceClaim"] if allocates and compares_devices(rights) else []
    one_namespace_kinds += ["Pod"] if "Node" not in unreadable and question.kind == "Pod" else []
    return MissingPermissions(
        (
            *(
                UnreadableResource(row.resource, "", *_WITHOUT_KIND[kind])
                for kind, row in unreadable.items()
            ),
            *(
                UnreadableResource(
                    row.resource, row.namespace, *_WITHOUT_OTHER_NAMESPACES[row.kind]
                )
                for kind in one_namespace_kinds
                for row in rights.readable_in_namespace(kind)
            ),
        )
    )


def compares_devices(rights: Rights) -> bool:
    """Return True if the devices that a claim wants can be compared with the cluster's, at least in
    part.
    """
    return not rights.unreadable(*DEVICES)


def can_decide(rights: Rights) -> bool:
    """Return True if everything may be read that decides whether a pod fits."""
    return not any(
        row.kind in (*DEVICES, "Node", "Pod", "DeviceTaintRule") for row in rights.unread
    )


def _kinds_that_matter(
    state: ClusterState, question: Question, *, allocates: bool
) -> Iterator[str]:
    """Yield the kinds on which the answer depends."""
    if allocates:
        yield from DEVICES
        if compares_devices(state.rights):
            yield "DeviceTaintRule"
    if question.kind in ("Pod", "ResourceClaim"):
        yield "Pod"
    if question.kind == "Pod":
        yield "Node"
        created = {
            text_at(status, "name")
            for status in maps_at(question.value, "status", "resourceClaimStatuses")
        }
        uncreated = [
            r
            for r in maps_at(question.value, "spec", "resourceClaims")
            if text_at(r, "name") not in created
        ]
        if any(text_at(reference, "resourceClaimTemplateName") for reference in uncreated):
            yield from ("ResourceClaimTemplate", "ResourceQuota")


def select_confirmed_stops(stops: tuple[Stop, ...], rights: Rights) -> tuple[Stop, ...]:
    """Select the stops that cannot come from objects which exist and may not be read."""
    unreadable_kinds = {row.kind for row in rights.unreadable(*(stop.absent for stop in stops))}
    return tuple(stop for stop in stops if stop.absent not in unreadable_kinds)


def join_words(words: list[str]) -> str:
    """Join words: ``a``, ``a and b``, ``a, b and c``."""
    *first_words, last = words
    return f"{', '.join(first_words)} and {last}" if first_words else last
