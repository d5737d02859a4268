"""The objects of a cluster as one immutable value: from a dump, from manifests, or live.

Objects stay the mappings that were parsed; the parts that the allocator needs are decoded on first
use. A kind that the input lacks is *not in the input*: objects of it may exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress, islice
from operator import is_not
from types import MappingProxyType
from typing import Any, Literal, TypeVar, cast

from msgspec.structs import replace

from dractl.cluster.coverage import RESOURCES, Coverage, Extent, Unread, cover, is_stored
from dractl.cluster.derived import DerivedValues, derive_from, update_from
from dractl.cluster.document_checks import check_document, no_name_error
from dractl.cluster.rights import FULL_RIGHTS, Rights
from dractl.facts.schedulers import group_resources
from dractl.manifests import Document
from dractl.model import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceSlice,
    decode,
    pod_templates,
)
from dractl.model.paths import (
    at as at,
    list_at as list_at,
    map_at as map_at,
    maps_at as maps_at,
    text_at as text_at,
)
from dractl.model.releases import RELEASES, patch_of
from dractl.objects import Raw, mapping, text
from dractl.objects.defaults import set_defaults
from dractl.properties import cached_property
from dractl.topology.machine import Machine
from dractl.views import (
    Claim,
    ClaimTemplate,
    ConfigMap,
    Event,
    Key as Key,
    Namespace,
    Node,
    Pod,
    PodGroup,
    View,
    Workload,
)

Machines = Mapping[str, tuple[Machine, Literal["snapshot", "hardware"]]]

V = TypeVar("V", bound=View)

_DRA_GROUP = "resource.k8s.io"
API_GROUPS = {
    "ResourceClaim": _DRA_GROUP,
    "ResourceClaimTemplate": _DRA_GROUP,
    "DeviceClass": _DRA_GROUP,
    "ResourceSlice": _DRA_GROUP,
    "DeviceTaintRule": _DRA_GROUP,
    "Pod": "",
    "Node": "",
    "Namespace": "",
    "ResourceQuota": "",
    "Event": "",
    "LimitRange": "",
    "PersistentVolumeClaim": "",
    "PersistentVolume": "",
    "StorageClass": "storage.k8s.io",
    "PriorityClass": "scheduling.k8s.io",
    "PodDisruptionBudget": "policy",
    "HorizontalPodAutoscaler": "autoscaling",
    "ConfigMap": "",
    "ComputeDomain": "resource.nvidia.com",
    "ClusterPolicy": "nvidia.com",
    "GPUCluster": "nvidia.com",
    "NodePool": "karpenter.sh",
    "NodeClaim": "karpenter.sh",
}
"""The kinds that explain reads, with their API groups. Other kinds are kept if they have a pod
template.
"""
SCHEDULER_CONFIGURATION = "KubeSchedulerConfiguration"
"""The kind that contains the profiles of a kube-scheduler. Only ConfigMaps that contain one are
kept.
"""
_GANG_GROUPS = {
    "PodGroup": ("scheduling.k8s.io", "scheduling.x-k8s.io"),
    "Workload": ("scheduling.k8s.io",),
}
"""The kinds of gangs, with the API groups that define them."""
CLUSTER_SCOPED = frozenset(
    {
        "DeviceClass",
        "ResourceSlice",
        "DeviceTaintRule",
        "Node",
        "Namespace",
        "PersistentVolume",
        "StorageClass",
        "PriorityClass",
        "ClusterPolicy",
        "GPUCluster",
        "NodePool",
        "NodeClaim",
    }
)
DEFAULT_NAMESPACE = "default"

_NO_OBJECTS: Mapping[Key, Raw] = MappingProxyType({})


def parse_key(full_name: str) -> Key:
    """Return the key of ``namespace/name``."""
    namespace, _, name = full_name.partition("/")
    return namespace, name


class ClusterState:
    """The objects of a cluster by kind and name.

    It never changes: :meth:`replace` makes a new state.
    """

    def __init__(
        self,
        kinds: Mapping[str, Mapping[Key, Raw]],
        *,
        release: str | None = None,
        rights: Rights = FULL_RIGHTS,
        coverage: Coverage | None = None,
        read_at: float | None = None,
        machines: Machines | None = None,
        files: Mapping[int, str] | None = None,
        cache: DerivedValues | None = None,
    ) -> None:
        self._kinds = kinds
        self.release = release
        """The highest minor version of the kubelets, such as ``1.36``; None if unknown."""
        self.rights = rights
        """The objects that the user is not allowed to read. They can exist although the input lacks
        them.
        """
        self.coverage = cover(kinds) if coverage is None else coverage
        """How much of each kind the input shows, apart from the limits of ``rights``."""
        self.read_at = read_at
        """The time at which reading a live cluster began, in seconds since 1970."""
        self.machines: Machines = machines or {}
        """The hardware of nodes, if it is known, with its source: a snapshot or a description."""
        self.files: Mapping[int, str] = files or {}
        """The file that an object was read from, by the identity of the object."""
        self.cache = DerivedValues() if cache is None else cache
        """The values computed from objects, shared by all states that are made from the same
        one.
        """

    @classmethod
    def from_documents(
        cls, documents: Iterable[Document], *, namespace: str | None = None
    ) -> ClusterState:
        """Return the state that loaded documents describe.

        Objects that no API server has stored get its defaults. If an object comes twice, the later
        one counts. Objects of several files are sorted by their names, as a server lists them, so
        that an answer does not depend on the order of files. Objects without a namespace get
        ``namespace`` (kubectl's ``-n``). Raises InputError for an object without a valid name:
        without that object, the answer would be about another cluster.
        """
        kinds: dict[str, dict[Key, Raw]] = {}
        files: dict[int, str] = {}
        safe_names: set[str] = set()
        for document in documents:
            value = document.value
            if not isinstance(value, dict):
                continue
            if not is_stored(value):
                value = set_defaults(value)
            if not add_object(kinds, value, namespace or DEFAULT_NAMESPACE):
                raise no_name_error(document)
            check_document(document, safe_names)
            files[id(value)] = document.file
        if len(set(files.values())) > 1:
            kinds = {kind: dict(sorted(objects.items())) for kind, objects in sorted(kinds.items())}
        return cls(kinds, release=_kubelet_release(kinds.get("Node", {}).values()), files=files)

    # -- objects as they were read --

    def objects(self, kind: str) -> Mapping[Key, Raw]:
        """Return every object of a kind.

        Every call returns the same mapping object, so that callers can recognize an unchanged kind.
        """
        return self._kinds.get(kind, _NO_OBJECTS)

    def get(self, kind: str, key: Key) -> Raw | None:
        """Return an object, or None."""
        return self._kinds.get(kind, {}).get(key)

    def has(self, kind: str) -> bool:
        """Return True if the input holds an object of this kind."""
        return bool(self._kinds.get(kind))

    def lists_none(self, kind: str) -> bool:
        """Return True if a list of all objects of this kind was read, and is empty."""
        return self._kinds.get(kind) == {} and not self.rights.unreadable(kind)

    def lists(self, kind: str) -> bool:
        """Return True if the input has objects of this kind, or an empty list of them."""
        return self.has(kind) or self.lists_none(kind)

    @property
    def lists_all_nodes(self) -> bool:
        """True if the input has all nodes, or an empty list of them: a node that it lacks does not
        exist.
        """
        return self.lists("Node") and self.extent("Node") != "part"

    def covers(self, kind: str) -> bool:
        """Return True if the input has objects of this kind, or shows that there are none."""
        return kind in self._kinds or self.extent(kind) != "unseen"

    def extent(self, kind: str) -> Extent:
        """Return how much of a kind was seen."""
        forbidden = next((row.seen for row in self.rights.unread if row.kind == kind), None)
        return forbidden or self.coverage.extent(kind)

    def shows(self, kind: str, namespace: str = "") -> bool:
        """Return True if the input shows every object of a kind in a namespace, so that an object
        which it lacks does not exist.
        """
        if any(row.kind == kind for row in self.rights.unread):
            return self.rights.can_read(kind, namespace)
        extent = self.coverage.extent(kind)
        return extent == "whole" or (
            extent == "part" and self.coverage.namespaces.get(kind) == namespace
        )

    def list_unread(self, kinds: Iterable[str] = RESOURCES) -> tuple[Unread, ...]:
        """Return the gaps of the input: the resources that the user is not allowed to read, those
        of ``kinds`` that the input does not show whole, and the sources that were not rendered.
        """
        forbidden = {row.kind for row in self.rights.unread}
        others = [kind for kind in kinds if kind not in forbidden]
        return (*self.rights.unread, *self.coverage.unread(others), *self.coverage.unrendered)

    def claims_of_pod(self, pod: Key) -> Sequence[Key]:
        """Return the claims that were generated for a pod or are reserved for it."""
        return _claims_by_pod(self).get(pod, ())

    def pods_of_template(self, template: Key) -> Sequence[Key]:
        """Return the pods whose claims a ResourceClaimTemplate makes."""
        return _pods_by_template(self).get(template, ())

    def events_of(self, about: Key) -> Sequence[Event]:
        """Return the events about objects of this namespace and name, whatever their kind."""
        return _events_by_object(self).get(about, ())

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds with objects in the input."""
        return tuple(kind for kind, objects in self._kinds.items() if objects)

    def replace(self, kind: str, key: Key, value: Raw | None) -> ClusterState:
        """Return the state with one object created, replaced or (None) deleted."""
        objects = dict(self._kinds.get(kind, {}))
        if value is None:
            objects.pop(key, None)
        else:
            objects[key] = value
        return self._copy_with({**self._kinds, kind: objects})

    def with_objects(self, kinds: Mapping[str, Mapping[Key, Raw]]) -> ClusterState:
        """Return the state with further objects, which replace objects of the same names."""
        changed = {
            kind: {**self._kinds.get(kind, {}), **objects}
            for kind, objects in kinds.items()
            if objects
        }
        return self._copy_with({**self._kinds, **changed})

    def with_kinds(self, kinds: Mapping[str, Mapping[Key, Raw]]) -> ClusterState:
        """Return the state in which these kinds have exactly these objects; other kinds stay."""
        return self._copy_with({**self._kinds, **kinds})

    def with_edited(self, kind: str, edited: Mapping[Key, Raw]) -> ClusterState:
        """Return the state with edited objects. They keep the names of their files."""
        before = self.objects(kind)
        state = self.with_objects({kind: edited})
        names = {
            id(value): self.files[id(before[key])]
            for key, value in edited.items()
            if value is not before[key] and id(before[key]) in self.files
        }
        state.files = {**self.files, **names}
        return state

    def with_unrendered(self, rows: tuple[Unread, ...]) -> ClusterState:
        """Return the state whose coverage also names the files that were not rendered."""
        state = self._copy_with(self._kinds)
        state.coverage = replace(self.coverage, unrendered=(*self.coverage.unrendered, *rows))
        return state

    def _copy_with(
        self, kinds: Mapping[str, Mapping[Key, Raw]], machines: Machines | None = None
    ) -> ClusterState:
        return ClusterState(
            kinds,
            release=self.release,
            rights=self.rights,
            coverage=self.coverage,
            read_at=self.read_at,
            machines=machines or self.machines,
            files=self.files,
            cache=self.cache,
        )

    def with_machines(self, machines: Machines) -> ClusterState:
        """Return the state with the hardware of nodes."""
        return self._copy_with(self._kinds, {**self.machines, **machines})

    def merge(self, other: ClusterState) -> ClusterState:
        """Return the objects of both states; an object of ``other`` replaces one of the same
        name.
        """
        kinds = dict(self._kinds)
        for kind in other._kinds:
            kinds[kind] = {**kinds.get(kind, {}), **other.objects(kind)}
        return ClusterState(
            kinds,
            release=self.release or other.release,
            rights=self.rights if self.rights.unread else other.rights,
            coverage=self.coverage.merge(other.coverage),
            read_at=self.read_at or other.read_at,
            machines={**self.machines, **other.machines},
            files={**self.files, **other.files},
            cache=self.cache.merge(other.cache),
        )

    # -- objects as typed views --

    @cached_property
    def pods(self) -> Mapping[Key, Pod]:
        """All pods."""
        return _pods(self)

    @cached_property
    def nodes(self) -> Mapping[Key, Node]:
        """All nodes."""
        return _nodes(self)

    @cached_property
    def claims(self) -> Mapping[Key, Claim]:
        """All ResourceClaims."""
        return _claims(self)

    @cached_property
    def events(self) -> Mapping[Key, Event]:
        """All events."""
        return _events(self)

    def pod(self, key: Key) -> Pod:
        """Return a pod; an empty one if it does not exist."""
        return self.pods.get(key) or Pod(None, key)

    def node(self, name: str) -> Node:
        """Return a node; an empty one if it does not exist."""
        key = ("", name)
        return self.nodes.get(key) or Node(None, key)

    def claim(self, key: Key) -> Claim:
        """Return a ResourceClaim; an empty one if it does not exist."""
        return self.claims.get(key) or Claim(None, key)

    def claim_template(self, key: Key) -> ClaimTemplate:
        """Return a ResourceClaimTemplate; an empty one if it does not exist."""
        return ClaimTemplate(self.get("ResourceClaimTemplate", key), key)

    def workload(self, kind: str, key: Key) -> Workload:
        """Return a workload; an empty one if it does not exist."""
        return Workload(self.get(kind, key), key)

    def namespace(self, name: str) -> Namespace:
        """Return a namespace; an empty one if it does not exist."""
        return Namespace(self.get("Namespace", ("", name)), ("", name))

    def pod_group(self, key: Key) -> PodGroup:
        """Return a PodGroup; an empty one if it does not exist."""
        return PodGroup(self.get("PodGroup", key), key)

    # -- objects as the allocator takes them --

    def decode(self, value: Raw) -> Any:
        """Return an object as a value of the model.

        Raises InputError if no API server would accept it.
        """
        return self.cache.from_object("decode", value, lambda: self._decode(value))

    def _decode(self, value: Raw) -> Any:
        origin = ": ".join(filter(None, (self.files.get(id(value)), describe(value))))
        return decode(value, origin)

    def decode_all(self, kind: str) -> tuple[Any, ...]:
        """Return all objects of a kind as values of the model."""
        objects = self.objects(kind)
        return self.cache.from_sources(
            ("decode_all", kind), (objects,), lambda _: tuple(map(self.decode, objects.values()))
        )

    def decode_claim(self, key: Key) -> ResourceClaim | None:
        """Return a ResourceClaim as a value of the model; None if it does not exist."""
        value = self.get("ResourceClaim", key)
        return None if value is None else cast("ResourceClaim", self.decode(value))

    @property
    def decoded_claims(self) -> tuple[ResourceClaim, ...]:
        """All ResourceClaims as values of the model."""
        return cast("tuple[ResourceClaim, ...]", self.decode_all("ResourceClaim"))

    @property
    def slices(self) -> tuple[ResourceSlice, ...]:
        """All ResourceSlices as values of the model."""
        return cast("tuple[ResourceSlice, ...]", self.decode_all("ResourceSlice"))

    @property
    def classes(self) -> tuple[DeviceClass, ...]:
        """All DeviceClasses as values of the model."""
        return cast("tuple[DeviceClass, ...]", self.decode_all("DeviceClass"))

    @property
    def taint_rules(self) -> tuple[DeviceTaintRule, ...]:
        """All DeviceTaintRules as values of the model."""
        return cast("tuple[DeviceTaintRule, ...]", self.decode_all("DeviceTaintRule"))


# -- values that are computed once for the same objects --


@update_from("Pod", "PriorityClass")
def _pods(state: ClusterState, previous: Mapping[Key, Pod] | None) -> Mapping[Key, Pod]:
    classes, views = state.objects("PriorityClass"), previous or {}
    # All pods of one state have the same mapping of priority classes, so it is enough to look at
    # one pod.
    if any(pod.priority_classes is not classes for pod in islice(views.values(), 1)):
        views = {}
    return _update_views(lambda raw, key: Pod(raw, key, classes), state.objects("Pod"), views)


@update_from("Node")
def _nodes(state: ClusterState, previous: Mapping[Key, Node] | None) -> Mapping[Key, Node]:
    return _update_views(Node, state.objects("Node"), previous or {})


@update_from("ResourceClaim")
def _claims(state: ClusterState, previous: Mapping[Key, Claim] | None) -> Mapping[Key, Claim]:
    return _update_views(Claim, state.objects("ResourceClaim"), previous or {})


@update_from("Event")
def _events(state: ClusterState, previous: Mapping[Key, Event] | None) -> Mapping[Key, Event]:
    return _update_views(Event, state.objects("Event"), previous or {})


def _update_views(
    view: Callable[[Raw, Key], V], objects: Mapping[Key, Raw], previous: Mapping[Key, V]
) -> Mapping[Key, V]:
    """Return a view of each object; unchanged objects keep their views from ``previous``."""
    if list(previous) == list(objects):  # most changes neither add nor remove objects
        raws = [old_view.raw for old_view in previous.values()]
        changed = compress(objects, map(is_not, raws, objects.values()))
        return {**previous, **{key: view(objects[key], key) for key in changed}}
    return {
        key: old_view if (old_view := previous.get(key)) and old_view.raw is raw else view(raw, key)
        for key, raw in objects.items()
    }


@derive_from("ResourceClaim")
def _claims_by_pod(state: ClusterState) -> Mapping[Key, Sequence[Key]]:
    claims: dict[Key, list[Key]] = {}
    for key, claim in state.claims.items():
        for name in dict.fromkeys((*claim.owner_pods, *claim.consumer_pods)):
            claims.setdefault((key[0], name), []).append(key)
    return claims


@derive_from("Pod")
def _pods_by_template(state: ClusterState) -> Mapping[Key, Sequence[Key]]:
    pods: dict[Key, dict[Key, None]] = {}
    for key, pod in state.pods.items():
        for reference in pod.claim_references:
            if reference.template_name:
                pods.setdefault((key[0], reference.template_name), {})[key] = None
    return {template: tuple(keys) for template, keys in pods.items()}


@derive_from("Event")
def _events_by_object(state: ClusterState) -> Mapping[Key, Sequence[Event]]:
    events: dict[Key, list[Event]] = {}
    for (namespace, _), event in state.events.items():
        events.setdefault((namespace, event.regarding.name), []).append(event)
    return events


def add_object(kinds: dict[str, dict[Key, Raw]], value: dict[str, Any], namespace: str) -> bool:
    """Add an object to its kind, if explain reads the kind.

    Returns False if an object of such a kind has no name.
    """
    kind, api_version = value.get("kind"), value.get("apiVersion")
    if not isinstance(kind, str) or not isinstance(api_version, str):
        return True
    group = api_version.rpartition("/")[0]
    if kind in API_GROUPS:
        if group != API_GROUPS[kind] and not (kind == "Event" and group == "events.k8s.io"):
            return True
        if kind == "ConfigMap" and not _holds_profiles(value):
            return True
    elif kind == "PodGroup" and f"podgroups.{group}" in group_resources():
        kind = f"podgroups.{group}"
    elif group not in _GANG_GROUPS.get(kind, ()) and not any(pod_templates(value)):
        return True
    metadata = map_at(value, "metadata")
    name = metadata.get("name") or metadata.get("generateName")
    if not isinstance(name, str):
        return False
    scope = "" if kind in CLUSTER_SCOPED else str(metadata.get("namespace") or namespace)
    kinds.setdefault(kind, {})[(scope, name)] = value
    return True


def _holds_profiles(value: Mapping[str, Any]) -> bool:
    """Return True if a ConfigMap has the configuration of a kube-scheduler."""
    return any(SCHEDULER_CONFIGURATION in text for text in ConfigMap(value).texts.values())


def _kubelet_release(nodes: Iterable[Raw]) -> str | None:
    """Return the highest kubelet release of the nodes, such as ``1.36.3``. Without the patch
    if it, or the release, is not known; None if no node has a release.
    """
    releases = []
    for node in nodes:
        version = Node(node).kubelet_version
        major, minor, *_ = (*version.removeprefix("v").split("."), "")
        if major.isdigit() and minor.isdigit():
            patch = patch_of(version)
            releases.append((int(major), int(minor), -1 if patch is None else patch))
    if not releases:
        return None
    *numbers, patch = max(releases)
    release = ".".join(map(str, numbers))
    return f"{release}.{patch}" if patch >= 0 and release in RELEASES else release


def describe(value: Raw) -> str:
    """Return ``Kind/[namespace/]name`` of an object, for messages."""
    metadata = mapping(value.get("metadata"))
    name = text(metadata.get("name")) or text(metadata.get("generateName"))
    parts = (str(value.get("kind")), text(metadata.get("namespace")), name)
    return "/".join(filter(None, parts))
