"""Parts of a cluster that may not be read, and what an answer lacks without them."""

from collections.abc import Iterator

from msgspec import Struct

from dractl.cluster.paste import NextStep
from dractl.cluster.rights import Rights
from dractl.cluster.state import ClusterState, maps_at, text_at
from dractl.explain.ask import Question
from dractl.scheduler.stops import Stop

DEVICES = ("ResourceSlice", "DeviceClass", "ResourceClaim")

# What is missing from an answer: kinds that may be read nowhere, and kinds that may be read in one namespace only.
_NOWHERE = {
    "ResourceSlice": ("ResourceSlices", "devices were not compared"),
    "DeviceClass": ("DeviceClasses", "devices were not compared"),
    "ResourceClaim": ("ResourceClaims", "devices were not compared"),
    "ResourceClaimTemplate": ("ResourceClaimTemplates", "the template was not looked at"),
    "Node": ("nodes", "their labels, taints and free resources were not checked"),
    "DeviceTaintRule": ("DeviceTaintRules", "taints that they put on devices were not applied"),
    "ResourceQuota": ("quotas", "they were not checked"),
    "Pod": ("pods", "who uses the claims, and what pods use on nodes, is not known"),
}
_ELSEWHERE = {
    "ResourceClaim": ("claims of other namespaces", "devices that they hold look free"),
    "Pod": ("pods of other namespaces", "what they use on a node is not counted"),
}


class Blind(Struct, frozen=True):
    """A resource that may not be read, or in one ``namespace`` only, and the ``effect`` on the answer. ``what`` is what
    people call it."""

    resource: str
    namespace: str
    what: str
    effect: str


class Blindness(Struct, frozen=True):
    """All that an answer lacks; no ``parts`` where everything that it depends on may be read."""

    parts: tuple[Blind, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """A sentence for each effect: ``ResourceSlices may not be read, so devices were not compared``."""
        by_effect: dict[str, list[str]] = {}
        for one in self.parts:
            by_effect.setdefault(one.effect, []).append(one.what)
        return tuple(
            f"{both(what)} may not be read, so {effect}" for effect, what in by_effect.items()
        )

    def granting(self, rights: Rights) -> tuple[NextStep, ...]:
        """The step after which everything may be read."""
        return (
            (NextStep("have an administrator allow reading the rest", rights.grant),)
            if self.parts
            else ()
        )


def blind_to(state: ClusterState, question: Question, *, allocates: bool) -> Blindness:
    """What the answer to a question lacks. ``allocates``: there are claims to allocate, or claims that could not be
    read."""
    rights = state.rights
    if not rights.unread:
        return Blindness()
    kinds = tuple(_relevant(state, question, allocates=allocates))
    hidden = {one.kind: one for one in rights.hidden(*kinds)}
    narrow = ["ResourceClaim"] if allocates and compares_devices(rights) else []
    narrow += ["Pod"] if "Node" not in hidden and question.kind == "Pod" else []
    return Blindness(
        (
            *(Blind(one.resource, "", *_NOWHERE[kind]) for kind, one in hidden.items()),
            *(
                Blind(one.resource, one.namespace, *_ELSEWHERE[one.kind])
                for k in narrow
                for one in rights.narrow(k)
            ),
        )
    )


def compares_devices(rights: Rights) -> bool:
    """True if the devices that a claim wants can be compared with those of the cluster, at least in part."""
    return not rights.hidden(*DEVICES)


def decided(rights: Rights) -> bool:
    """True if everything may be read that decides whether a pod fits."""
    return not any(
        one.kind in (*DEVICES, "Node", "Pod", "DeviceTaintRule") for one in rights.unread
    )


def _relevant(state: ClusterState, question: Question, *, allocates: bool) -> Iterator[str]:
    """The kinds that the answer depends on."""
    if allocates:
        yield from DEVICES
        if compares_devices(state.rights):
            yield "DeviceTaintRule"
    if question.kind in ("Pod", "ResourceClaim"):
        yield "Pod"
    if question.kind == "Pod":
        yield "Node"
        made = {
            text_at(status, "name")
            for status in maps_at(question.value, "status", "resourceClaimStatuses")
        }
        waits = [
            r
            for r in maps_at(question.value, "spec", "resourceClaims")
            if text_at(r, "name") not in made
        ]
        if any(text_at(reference, "resourceClaimTemplateName") for reference in waits):
            yield from ("ResourceClaimTemplate", "ResourceQuota")


def founded(found: tuple[Stop, ...], rights: Rights) -> tuple[Stop, ...]:
    """The stops that do not come from objects that may exist and may not be read."""
    missing = {one.kind for one in rights.hidden(*(stop.absent for stop in found))}
    return tuple(stop for stop in found if stop.absent not in missing)


def both(words: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
