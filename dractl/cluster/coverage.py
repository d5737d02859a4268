"""Coverage: how much of each kind of a cluster's objects was seen: the whole, a part or nothing.

A kind that was not seen is unknown, not absent.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from dractl.cluster.shell import quote_command
from dractl.objects import Raw, slice_of
from dractl.views import Claim, Event, Key, Pod

Extent = Literal["whole", "part", "unseen"]
Why = Literal["forbidden", "not-in-input", "not-rendered"]

_EXTENTS: tuple[Extent, ...] = ("unseen", "part", "whole")
"""The extents, from the least to the greatest."""
RESOURCES = {
    "ResourceSlice": "resourceslices.resource.k8s.io",
    "ResourceClaim": "resourceclaims.resource.k8s.io",
    "DeviceClass": "deviceclasses.resource.k8s.io",
    "ResourceClaimTemplate": "resourceclaimtemplates.resource.k8s.io",
    "DeviceTaintRule": "devicetaintrules.resource.k8s.io",
    "Node": "nodes",
    "Pod": "pods",
}
"""The kinds on which answers about devices depend, with their resources."""
_DRA_KINDS = frozenset(kind for kind, name in RESOURCES.items() if name.endswith(".k8s.io"))
_CLUSTER_SCOPED = frozenset({"ResourceSlice", "DeviceClass", "DeviceTaintRule", "Node"})
_GET = "kubectl get {} -o yaml"
_GET_EVERYWHERE = "kubectl get {} -A -o yaml"
EFFECTS = {
    "ResourceSlice": "devices were not compared",
    "DeviceClass": "devices were not compared",
    "ResourceClaim": "devices that claims hold look free",
    "Node": "their labels, taints and free resources were not checked",
    "DeviceTaintRule": "taints that they put on devices were not applied",
    "Pod": "who uses the claims, and what pods use on nodes, is not known",
}
"""The effect on an answer if the input has nothing of a kind, or only a part of it."""
_NO_NODES = ("no nodes available to schedule pods", "0/0 nodes are available")
"""Messages of kube-scheduler which prove that there is no Node (pkg/scheduler/schedule_one.go,
framework/types.go).
"""
_COUNT_OF_NODES = re.compile(r"\b0/(\d+) nodes are available")
"""The number of nodes that kube-scheduler has tried (framework/types.go FitError)."""


class Unread(Struct, frozen=True):
    """A resource that was not seen whole."""

    kind: str
    """The kind of the resource; "" for files that were not rendered, which may contain any kind."""
    resource: str
    """The resource's name and group; for files that were not rendered, their path."""
    namespace: str = ""
    """The only namespace in which the resource was seen; "" if unknown, or if it was seen nowhere.
    """
    why: Why = "forbidden"
    extent: Extent | None = None
    """The extent to which the resource was seen; None if ``namespace`` already determines the
    extent.
    """
    reason: str = ""
    """The reason why files were not rendered."""

    @property
    def seen(self) -> Extent:
        """The extent to which the resource was seen: a part, or nothing."""
        return self.extent or ("part" if self.namespace else "unseen")

    @property
    def add(self) -> str:
        """The command whose output completes the input; "" if the user is not allowed to read
        the resource.
        """
        return command_for([self.kind]) if self.why == "not-in-input" else ""

    def as_json(self, effect: str = "") -> dict[str, str]:
        """Return the row that reports print."""
        row = {
            "resource": self.resource,
            "namespace": self.namespace,
            "seen": self.seen,
            "why": self.why,
            "effect": effect or self.reason or (EFFECTS.get(self.kind, "") if self.add else ""),
            "add": self.add,
        }
        return {name: text for name, text in row.items() if text}


class Coverage(Struct, frozen=True):
    """The extent to which an input shows each kind, apart from what the user is not allowed to
    read.
    """

    others: Extent = "whole"
    """The extent of every kind that is not listed."""
    extents: Mapping[str, Extent] = {}
    namespaces: Mapping[str, str] = {}
    """The namespace of each kind that was seen in a single namespace only."""
    unrendered: tuple[Unread, ...] = ()
    """Files that were not rendered, and may hold objects of any kind."""

    def extent(self, kind: str) -> Extent:
        """Return how much was seen of a kind."""
        return self.extents.get(kind, self.others)

    def unread(self, kinds: Iterable[str]) -> tuple[Unread, ...]:
        """Return the members of ``kinds`` that were not seen whole."""
        return tuple(
            Unread(
                kind,
                RESOURCES[kind],
                self.namespaces.get(kind, ""),
                "not-in-input",
                self.extent(kind),
            )
            for kind in kinds
            if self.extent(kind) != "whole"
        )

    def merge(self, other: "Coverage") -> "Coverage":
        """Return how much both inputs show together."""
        extents = {
            kind: max(self.extent(kind), other.extent(kind), key=_EXTENTS.index)
            for kind in {**self.extents, **other.extents}
        }
        namespaces = {
            kind: namespace
            for kind, namespace in {**self.namespaces, **other.namespaces}.items()
            if self.namespaces.get(kind, namespace) == other.namespaces.get(kind, namespace)
        }
        others = max(self.others, other.others, key=_EXTENTS.index)
        unrendered = tuple(dict.fromkeys((*self.unrendered, *other.unrendered)))
        return Coverage(others, extents, namespaces, unrendered)


DEVICES_SEEN = Coverage(
    "unseen",
    dict.fromkeys(("ResourceSlice", "ResourceClaim", "DeviceTaintRule", "Node", "Pod"), "whole"),
)
"""The coverage of described machines and of machines that were read: they are all the nodes, and no
pod runs on them.
"""


def cover(kinds: Mapping[str, Mapping[Key, Raw]]) -> Coverage:
    """Return how much the objects of a dump or of manifests show.

    A dump with Nodes is a dump of a cluster: among the kinds on which devices depend, a kind
    without an object in the dump has none in the cluster. There are two exceptions. A dump without
    any object of resource.k8s.io, such as `kubectl cluster-info dump` writes, shows nothing of that
    group. Volumes and quotas are rarely dumped, or only those of one namespace. Claims of pods
    prove that there are pods, and other objects may prove that there are further nodes.
    """
    present = {kind: objects for kind, objects in kinds.items() if objects}
    if "Node" not in present:
        return _cover_without_nodes(present)
    shown = set(_DRA_KINDS if _DRA_KINDS.intersection(present) else ())
    if not _names_pods(kinds.get("ResourceClaim", {}).values()):
        shown.add("Pod")
    namespaces = {
        kind: namespace
        for kind, objects in present.items()
        if kind not in RESOURCES and (namespace := _common_namespace(objects))
    }
    parts = [*namespaces, *(["Node"] if _has_further_nodes(present) else [])]
    namespace_of_pods = _namespace_of_pods(present)
    if namespace_of_pods is not None:
        parts.append("Pod")
        namespaces |= {"Pod": namespace_of_pods} if namespace_of_pods else {}
    extents: dict[str, Extent] = dict.fromkeys((*present, *shown), "whole")
    return Coverage("unseen", {**extents, **dict.fromkeys(parts, "part")}, namespaces)


def _has_further_nodes(kinds: Mapping[str, Mapping[Key, Raw]]) -> bool:
    """Return True if a dump probably has only some of the nodes, as `kubectl get node NAME` prints.

    A node that slices or pods name may be missing because it was deleted. Nodes were not dumped if
    kube-scheduler counts more of them than the dump has. Without such a count, nodes are assumed
    not to have been dumped if more are missing than present.
    """
    names = {name for _, name in kinds["Node"]}
    slices = kinds.get("ResourceSlice", {}).values()
    missing = {slice_of(item).node for item in slices}
    missing |= {Pod(pod).node_name for pod in kinds.get("Pod", {}).values()}
    missing -= names | {""}
    if not missing:
        return False
    messages = _scheduler_messages(kinds.get("Event", {}).values(), kinds.get("Pod", {}).values())
    counts = [int(count) for text in messages for count in _COUNT_OF_NODES.findall(text)]
    return max(counts) > len(names) if counts else len(missing) > len(names)


def _namespace_of_pods(kinds: Mapping[str, Mapping[Key, Raw]]) -> str | None:
    """Return the only namespace whose pods a dump has, "" if it has only some pods, and None if it
    may have all pods.

    Claims name the pods that use them. Such pods may have ended if the dump lacks them. A whole
    list, however, has pods of several namespaces and pods that run, at least those of the system.
    """
    pods, claims = kinds.get("Pod", {}), kinds.get("ResourceClaim", {})
    if not pods:
        return None
    shown = _common_namespace(pods)
    if shown and _have_further_users(
        {key: claim for key, claim in claims.items() if key[0] != shown}, pods
    ):
        return shown
    runs = any(Pod(pod).node_name for pod in pods.values())
    return None if runs or not _have_further_users(claims, pods) else ""


def _have_further_users(claims: Mapping[Key, Raw], pods: Mapping[Key, Raw]) -> bool:
    """Return True if claims are used by pods that are not in ``pods``. Claims that are being
    deleted do not count, since their pods have ended.
    """
    views = (Claim(claim, key) for key, claim in claims.items())
    return any(
        (view.key[0], name) not in pods
        for view in views
        if not view.deletion_timestamp
        for name in view.consumer_pods
    )


def _common_namespace(objects: Mapping[Key, Raw]) -> str:
    """Return the namespace that all objects are in; "" if they are in several, or in none."""
    first = next((namespace for namespace, _ in objects), "")
    return first if all(namespace == first for namespace, _ in objects) else ""


def _names_pods(claims: Iterable[Raw]) -> bool:
    """Return True if claims are used by pods: then pods exist, even if none was dumped."""
    return any(claim.consumer_pods or claim.owner_pods for claim in map(Claim, claims))


def _cover_without_nodes(kinds: Mapping[str, Mapping[Key, Raw]]) -> Coverage:
    """Return how much an input without Nodes shows.

    A kind without an object is unseen. If all objects are of one namespace, the input may be a dump
    of that namespace only. Manifests, which no API server has stored, are never whole.
    """
    extents: dict[str, Extent] = {}
    namespaces: dict[str, str] = {}
    for kind, objects in kinds.items():
        namespace = _common_namespace(objects)
        is_dump = all(map(is_stored, objects.values()))
        if is_dump and namespace:
            namespaces[kind] = namespace
        extents[kind] = "whole" if is_dump and kind not in namespaces else "part"
    if _has_no_nodes(kinds.get("Event", {}).values(), kinds.get("Pod", {}).values()):
        extents["Node"] = "whole"
    return Coverage("unseen", extents, namespaces)


def is_stored(value: Raw) -> bool:
    """Return True if an API server has stored an object."""
    # Read without a view, which would cost more for every object of a dump
    metadata = value.get("metadata")
    return isinstance(metadata, dict) and bool(
        metadata.get("uid") or metadata.get("resourceVersion")
    )


def _has_no_nodes(events: Iterable[Raw], pods: Iterable[Raw]) -> bool:
    """Return True if a message of the scheduler proves that the cluster has no Node."""
    messages = _scheduler_messages(events, pods)
    return any(words in message for message in messages for words in _NO_NODES)


def _scheduler_messages(events: Iterable[Raw], pods: Iterable[Raw]) -> list[str]:
    """Return the messages of events and of conditions of pods, which may be kube-scheduler's."""
    messages = [Event(event).message for event in events]
    return messages + [entry.message for pod in pods for entry in Pod(pod).condition_entries]


def command_for(kinds: Iterable[str]) -> str:
    """Return the kubectl command that prints all objects of some kinds."""
    listed = list(kinds)
    names = ",".join(RESOURCES[kind].partition(".")[0] for kind in listed)
    command = _GET if _CLUSTER_SCOPED.issuperset(listed) else _GET_EVERYWHERE
    return quote_command(command, names)
