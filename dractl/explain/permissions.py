"""Parts of a cluster that the user is not allowed to read or that are not in the input, and the
gaps that they leave in an answer.
"""

from collections.abc import Iterator

from msgspec import Struct

from dractl.cluster.coverage import Unread
from dractl.cluster.rights import Rights
from dractl.cluster.shell import NextStep
from dractl.cluster.state import ClusterState
from dractl.explain.ask import Question
from dractl.explain.reasons.next_step import complete_input
from dractl.scheduler.stops import Stop

DEVICES = ("ResourceSlice", "DeviceClass", "ResourceClaim")

# The gaps of an answer, for kinds that the user is not allowed to read at all, and for kinds that
# the user can read in one namespace only.
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
    """A resource that was not read whole, and the gap that it leaves in an answer."""

    row: Unread
    """The part that was seen, and the reason why no more was."""
    what: str
    """The resource as people call it."""
    effect: str
    """The effect on the answer."""

    @property
    def resource(self) -> str:
        """The name of the resource with its group."""
        return self.row.resource

    @property
    def namespace(self) -> str:
        """The only namespace in which it was read; empty if it was read nowhere."""
        return self.row.namespace

    @property
    def lack(self) -> str:
        """The reason why it was not read whole, such as ``you are not allowed to read nodes``."""
        if self.row.why == "forbidden":
            return f"you are not allowed to read {self.what}"
        return f"no {self.what} are in the input"


class MissingPermissions(Struct, frozen=True):
    """Everything that an answer lacks because the user is not allowed to read it, or because the
    input has none of it.
    """

    parts: tuple[UnreadableResource, ...] = ()
    """The unreadable resources; empty if everything that the answer depends on was read."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """A sentence for each effect: ``you are not allowed to read ResourceSlices, so devices
        were not compared``.
        """
        by_effect: dict[str, list[str]] = {}
        for part in self.parts:
            if part.row.why == "forbidden":
                by_effect.setdefault(part.effect, []).append(part.what)
        return (
            *(
                f"you are not allowed to read {join_words(what)}, so {effect}"
                for effect, what in by_effect.items()
            ),
            *(f"{part.lack}, so {part.effect}" for part in self.parts if part.row.add),
        )

    def steps(self, rights: Rights) -> tuple[NextStep, ...]:
        """Return the steps after which everything can be read."""
        missing = [part.row for part in self.parts if part.row.add]
        additions = (complete_input(missing[0].kind),) if missing else ()
        if len(missing) == len(self.parts):
            return additions
        grant = NextStep("have an administrator allow reading the rest", rights.full_grant)
        return (*additions, grant)


def find_missing_permissions(
    state: ClusterState, question: Question, *, allocates: bool
) -> MissingPermissions:
    """Return the gaps of the answer to a question. ``allocates`` is True if some claims have to be
    allocated, or could not be read.
    """
    rights = state.rights
    if allocates and not state.covers("ResourceSlice") and not rights.unreadable("ResourceSlice"):
        (row,) = state.coverage.unread(["ResourceSlice"])
        return MissingPermissions((UnreadableResource(row, *_WITHOUT_KIND["ResourceSlice"]),))
    if not rights.unread:
        return MissingPermissions()
    kinds = tuple(_kinds_that_matter(state, question, allocates=allocates))
    unreadable = {row.kind: row for row in rights.unreadable(*kinds)}
    one_namespace_kinds = ["ResourceClaim"] if allocates and compares_devices(rights) else []
    one_namespace_kinds += ["Pod"] if "Node" not in unreadable and question.kind == "Pod" else []
    return MissingPermissions(
        (
            *(UnreadableResource(row, *_WITHOUT_KIND[kind]) for kind, row in unreadable.items()),
            *(
                UnreadableResource(row, *_WITHOUT_OTHER_NAMESPACES[row.kind])
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
    """Return True if the user can read everything that decides whether a pod fits."""
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
        if question.pod.has_uncreated_claims:
            yield from ("ResourceClaimTemplate", "ResourceQuota")


def select_confirmed_stops(stops: tuple[Stop, ...], rights: Rights) -> tuple[Stop, ...]:
    """Return the stops that are certain: no object that the user is not allowed to read can
    remove them.
    """
    unreadable_kinds = {row.kind for row in rights.unreadable(*(stop.absent for stop in stops))}
    return tuple(stop for stop in stops if stop.absent not in unreadable_kinds)


def join_words(words: list[str]) -> str:
    """Join words: ``a``, ``a and b``, ``a, b and c``."""
    *first_words, last = words
    return f"{', '.join(first_words)} and {last}" if first_words else last
