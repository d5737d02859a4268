"""The objects that explain works on, as one immutable value: from a dump, from manifests, or from a live cluster.

Objects stay the mappings that they were read as; what the allocator needs is decoded when it is asked for, once. A kind
that the input lacks is *not in the input*, which is another thing than that no object of it exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal, cast

from dractl.cluster.paste import nameable
from dractl.cluster.rights import WHOLE, Rights
from dractl.errors import InputError
from dractl.facts.schedulers import group_resources
from dractl.manifests import Document
from dractl.model import (
    DeviceClass,
    DeviceTaintRule,
    Node,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
    decode,
    pod_templates,
)
from dractl.model.paths import at as at, reader
from dractl.model.reader import Path
from dractl.program import program_name
from dractl.topology.machine import Machine
from dractl.validation.claims import MAX_CONSTRAINTS
from dractl.validation.violation import dotted

Machines = Mapping[str, tuple[Machine, Literal["snapshot", "hardware"]]]


Key = tuple[str, str]  # namespace ("" for what is cluster-scoped), name

_DRA = "resource.k8s.io"
# The kinds that explain reads, with their API group. Anything else is kept only if it has a pod template.
GROUPS = {
    "ResourceClaim": _DRA,
    "ResourceClaimTemplate": _DRA,
    "DeviceClass": _DRA,
    "ResourceSlice": _DRA,
    "DeviceTaintRule": _DRA,
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
}
SCHEDULER_CONFIGURATION = "KubeSchedulerConfiguration"
"""The kind with the profiles of a kube-scheduler: ConfigMaps that hold one are kept, others not."""
# Kinds of pods that are scheduled together: kept in these groups, as other workloads are for their pod templates.
_PODS_TOGETHER = {
    "PodGroup": ("scheduling.k8s.io", "scheduling.x-k8s.io"),
    "Workload": ("scheduling.k8s.io",),
}
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
    }
)
DEFAULT_NAMESPACE = "default"

_NONE: Mapping[Key, Mapping[str, Any]] = MappingProxyType({})


def key_of(full_name: str) -> Key:
    """The key of ``namespace/name``."""
    namespace, _, name = full_name.partition("/")
    return namespace, name


class ClusterState:
    """The objects of a cluster by kind and name. It never changes: :meth:`replace` makes another one.

    ``rights`` tells which objects could not be read; those that are missing for that reason may exist. ``read_at``
    (seconds since 1970) is when a live cluster began to be read. ``machines``: by node its hardware, where it is known,
    and from where: a ``snapshot``, or the description of ``hardware``. ``files``: of an object's identity the file that
    it was read from. ``derived`` is what others make of the objects,
    shared by all states that come from one.
    """

    __slots__ = (
        *("_claims_of_pods", "_decoded", "_events_of", "_kinds"),
        *("derived", "files", "machines", "read_at", "release", "rights"),
    )

    def __init__(
        self,
        kinds: Mapping[str, Mapping[Key, Mapping[str, Any]]],
        decoded: dict[int, tuple[Any, Any]] | None = None,
        release: str | None = None,
        rights: Rights = WHOLE,
        read_at: float | None = None,
        machines: Machines | None = None,
        files: Mapping[int, str] | None = None,
        derived: dict[Any, Any] | None = None,
    ) -> None:
        self._kinds = kinds
        self._decoded: dict[int, tuple[Any, Any]] = {} if decoded is None else decoded
        self._claims_of_pods: dict[Key, list[Key]] | None = None
        self._events_of: dict[Key, list[Mapping[str, Any]]] | None = None
        self.release = release
        self.rights = rights
        self.read_at = read_at
        self.machines: Machines = machines or {}
        self.files: Mapping[int, str] = files or {}
        self.derived: dict[Any, Any] = {} if derived is None else derived

    @classmethod
    def from_documents(
        cls, documents: Iterable[Document], *, namespace: str | None = None
    ) -> ClusterState:
        """The state that loaded documents describe; of an object that comes twice the later one counts.

        ``namespace`` is that of objects that name none (kubectl's ``-n``). Raises InputError for an object whose name
        is none: without it the answer would be about another cluster.
        """
        kinds: dict[str, dict[Key, Mapping[str, Any]]] = {}
        files: dict[int, str] = {}
        fine: set[str] = set()
        for document in documents:
            value = document.value
            if not isinstance(value, dict):
                continue
            if not add(kinds, value, namespace or DEFAULT_NAMESPACE):
                raise _unnamed(document)
            if (path := _unnameable(value, fine)) is not None:
                raise _no_name(document, path)
            if (path := _overfull(value)) is not None:
                raise _too_many(document, path)
            files[id(value)] = document.file
        return cls(kinds, release=_kubelet_release(kinds.get("Node", {}).values()), files=files)

    # -- objects as they were read --

    def all(self, kind: str) -> Mapping[Key, Mapping[str, Any]]:
        """Every object of a kind; the same mapping at every call, so that callers can see what did not change."""
        return self._kinds.get(kind, _NONE)

    def get(self, kind: str, key: Key) -> Mapping[str, Any] | None:
        """An object, or None."""
        return self._kinds.get(kind, {}).get(key)

    def has(self, kind: str) -> bool:
        """True if the input holds an object of this kind."""
        return bool(self._kinds.get(kind))

    def listed(self, kind: str) -> bool:
        """True if the input holds objects of this kind, or a cluster is known to have none."""
        return kind in self._kinds

    def claims_of_pod(self, pod: Key) -> Sequence[Key]:
        """The claims that were generated for a pod or are reserved for it."""
        if self._claims_of_pods is None:
            self._claims_of_pods = {}
            for key, claim in self.all("ResourceClaim").items():
                users = (
                    c
                    for c in maps_at(claim, "status", "reservedFor")
                    if c.get("resource") == "pods"
                )
                for name in dict.fromkeys(
                    (*owning_pods(claim), *(text_at(user, "name") for user in users))
                ):
                    self._claims_of_pods.setdefault((key[0], name), []).append(key)
        return self._claims_of_pods.get(pod, ())

    def events_of(self, about: Key) -> Sequence[Mapping[str, Any]]:
        """The events about objects of this namespace and name, whatever their kind."""
        if self._events_of is None:
            self._events_of = {}
            for (namespace, _), event in self.all("Event").items():
                named = text_at(
                    map_at(event, "involvedObject") or map_at(event, "regarding"), "name"
                )
                self._events_of.setdefault((namespace, named), []).append(event)
        return self._events_of.get(about, ())

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of which there are objects."""
        return tuple(kind for kind, objects in self._kinds.items() if objects)

    def replace(self, kind: str, key: Key, value: Mapping[str, Any] | None) -> ClusterState:
        """The state with one object created, replaced or (None) deleted."""
        objects = dict(self._kinds.get(kind, {}))
        if value is None:
            objects.pop(key, None)
        else:
            objects[key] = value
        return self._with({**self._kinds, kind: objects})

    def with_objects(self, kinds: Mapping[str, Mapping[Key, Mapping[str, Any]]]) -> ClusterState:
        """The state with further objects, which replace those of the same names."""
        changed = {
            kind: {**self._kinds.get(kind, {}), **objects}
            for kind, objects in kinds.items()
            if objects
        }
        return self._with({**self._kinds, **changed})

    def only(self, kinds: Mapping[str, Mapping[Key, Mapping[str, Any]]]) -> ClusterState:
        """The state with these objects of these kinds alone; other kinds stay."""
        return self._with({**self._kinds, **kinds})

    def _with(
        self, kinds: Mapping[str, Mapping[Key, Mapping[str, Any]]], machines: Machines | None = None
    ) -> ClusterState:
        same = (self._decoded, self.release, self.rights, self.read_at)
        return ClusterState(kinds, *same, machines or self.machines, self.files, self.derived)

    def on(self, machines: Machines) -> ClusterState:
        """The state with the hardware of nodes."""
        return self._with(self._kinds, {**self.machines, **machines})

    def merged(self, other: ClusterState) -> ClusterState:
        """Both states' objects; where both have one, that of ``other``."""
        kinds = dict(self._kinds)
        for kind in other._kinds:
            kinds[kind] = {**kinds.get(kind, {}), **other.all(kind)}
        rights = self.rights if self.rights.unread else other.rights
        decoded = {**self._decoded, **other._decoded}
        release, read_at = self.release or other.release, self.read_at or other.read_at
        machines, files = {**self.machines, **other.machines}, {**self.files, **other.files}
        return ClusterState(kinds, decoded, release, rights, read_at, machines, files)

    # -- objects as the allocator takes them --

    def decode(self, value: Mapping[str, Any]) -> Any:
        """An object as the model has it. Raises InputError where it is none that an API server would hold."""
        known = self._decoded.get(id(value))
        if known is not None and known[0] is value:
            return known[1]
        decoded = decode(
            value, ": ".join(filter(None, (self.files.get(id(value)), describe(value))))
        )
        self._decoded[id(value)] = (value, decoded)
        return decoded

    def decoded(self, kind: str) -> tuple[Any, ...]:
        return tuple(self.decode(value) for value in self.all(kind).values())

    @property
    def claims(self) -> tuple[ResourceClaim, ...]:
        return cast("tuple[ResourceClaim, ...]", self.decoded("ResourceClaim"))

    @property
    def slices(self) -> tuple[ResourceSlice, ...]:
        return cast("tuple[ResourceSlice, ...]", self.decoded("ResourceSlice"))

    @property
    def classes(self) -> tuple[DeviceClass, ...]:
        return cast("tuple[DeviceClass, ...]", self.decoded("DeviceClass"))

    @property
    def taint_rules(self) -> tuple[DeviceTaintRule, ...]:
        return cast("tuple[DeviceTaintRule, ...]", self.decoded("DeviceTaintRule"))

    @property
    def nodes(self) -> tuple[Node, ...]:
        return cast("tuple[Node, ...]", self.decoded("Node"))

    def claim(self, key: Key) -> ResourceClaim | None:
        value = self.get("ResourceClaim", key)
        return None if value is None else cast("ResourceClaim", self.decode(value))

    def template(self, key: Key) -> ResourceClaimTemplate | None:
        value = self.get("ResourceClaimTemplate", key)
        return None if value is None else cast("ResourceClaimTemplate", self.decode(value))


def owning_pods(claim: Mapping[str, Any]) -> list[str]:
    """The names of the pods that own a claim: those for which it was generated."""
    owners = maps_at(claim, "metadata", "ownerReferences")
    return [text_at(owner, "name") for owner in owners if owner.get("kind") == "Pod"]


def add(
    kinds: dict[str, dict[Key, Mapping[str, Any]]], value: dict[str, Any], namespace: str
) -> bool:
    """Puts one object where it belongs, if explain reads its kind; False if it does, but the object has no name."""
    kind, api_version = value.get("kind"), value.get("apiVersion")
    if not isinstance(kind, str) or not isinstance(api_version, str):
        return True
    group = api_version.rpartition("/")[0]
    if kind in GROUPS:
        if group != GROUPS[kind] and not (kind == "Event" and group == "events.k8s.io"):
            return True
        if kind == "ConfigMap" and not _holds_profiles(value):
            return True
    elif kind == "PodGroup" and f"podgroups.{group}" in group_resources():
        kind = f"podgroups.{group}"
    elif group not in _PODS_TOGETHER.get(kind, ()) and not any(pod_templates(value)):
        return True
    metadata = map_at(value, "metadata")
    name = metadata.get("name") or metadata.get("generateName")
    if not isinstance(name, str):
        return False
    where = "" if kind in CLUSTER_SCOPED else str(metadata.get("namespace") or namespace)
    kinds.setdefault(kind, {})[(where, name)] = value
    return True


def _holds_profiles(value: Mapping[str, Any]) -> bool:
    """Return True if a ConfigMap has the configuration of a kube-scheduler."""
    texts = map_at(value, "data").values()
    return any(isinstance(text, str) and SCHEDULER_CONFIGURATION in text for text in texts)


def _unnamed(document: Document) -> InputError:
    written = at(document.value, "metadata", "name")
    place = document.locate(("metadata", "name"))
    what, hint = f"this {document.kind} has no metadata.name", None
    if written not in (None, ""):
        kind = {bool: "a boolean", int: "a number", float: "a number"}.get(type(written), "no text")
        what = f"metadata.name of this {document.kind} is {kind}, not a string"
        hint = "put it in quotes: without them YAML does not read n, no, off and 1 as strings"
    return InputError(what, place=f"{place.file}:{place.line}:{place.column}", hint=hint)


def _unnameable(value: Mapping[str, Any], fine: set[str]) -> Path | None:
    """Where an object has a name that no API server takes because of its characters; those that it does take are in
    ``fine``. A dump can come from anywhere, and names end up on terminals, in logs of CI and in commands to paste."""
    for path, name in _names(value):
        if isinstance(name, str) and name and name not in fine:
            if not nameable(name):
                return path
            fine.add(name)
    return None


def _names(value: Mapping[str, Any]) -> Iterator[tuple[Path, object]]:
    published = value.get("kind") == "ResourceSlice"
    for index, device in enumerate(list_at(value, "spec", "devices") if published else ()):
        if isinstance(device, dict):
            yield ("spec", "devices", index, "name"), device.get("name")
    metadata = map_at(value, "metadata")
    for key in ("name", "generateName", "namespace"):
        yield ("metadata", key), metadata.get(key)
    for path in _NAMES_OF_SLICES if published else ():
        yield path, at(value, *path)


_NAMES_OF_SLICES: Final[tuple[Path, ...]] = (
    ("spec", "driver"),
    ("spec", "nodeName"),
    ("spec", "pool", "name"),
)


def _no_name(document: Document, path: Path) -> InputError:

    place = document.locate(path)
    name = at(document.value, *path)
    holds = "holds control characters" if not name.isprintable() else f"is {name!r}"
    return InputError(
        f"{dotted(path)} of this {document.kind} {holds}; no API server takes such a name",
        place=f"{place.file}:{place.line}:{place.column}",
        hint=f"{program_name()} lint says what is allowed in a name",
    )


_CLAIMS: Final[Mapping[str, Path]] = {
    "ResourceClaim": ("spec", "devices", "constraints"),
    "ResourceClaimTemplate": ("spec", "spec", "devices", "constraints"),
}


def _overfull(value: Mapping[str, Any]) -> Path | None:
    """Where a claim has more constraints than an API server takes: each is compared on every device of every node."""
    path = _CLAIMS.get(str(value.get("kind")))
    constraints = at(value, *path) if path is not None else None
    return path if isinstance(constraints, list) and len(constraints) > MAX_CONSTRAINTS else None


def _too_many(document: Document, path: Path) -> InputError:
    place = document.locate(path)
    number = len(at(document.value, *path))
    return InputError(
        f"{dotted(path)} of this {document.kind} has {number:,} items; an API server takes at most {MAX_CONSTRAINTS}",
        place=f"{place.file}:{place.line}:{place.column}",
    )


def _kubelet_release(nodes: Iterable[Mapping[str, Any]]) -> str | None:
    """The highest minor version of the nodes' kubelets, such as ``1.36``; None where no node says one."""
    highest: tuple[int, int] | None = None
    for node in nodes:
        text = text_at(node, "status", "nodeInfo", "kubeletVersion")
        major, _, rest = text.removeprefix("v").partition(".")
        minor = rest.partition(".")[0]
        if major.isdigit() and minor.isdigit():
            found = (int(major), int(minor))
            highest = max(highest or found, found)
    return None if highest is None else f"{highest[0]}.{highest[1]}"


def describe(value: Mapping[str, Any]) -> str:
    """``Kind/[namespace/]name`` of an object, for messages."""
    name = text_at(value, "metadata", "name") or text_at(value, "metadata", "generateName")
    namespace = text_at(value, "metadata", "namespace")
    return "/".join(part for part in (str(value.get("kind")), namespace, name) if part)


# -- reading mappings that may hold anything --


text_at: Callable[..., str] = reader(str, str)
map_at: Callable[..., Mapping[str, Any]] = reader(dict, dict)
list_at: Callable[..., list[Any]] = reader(list, list)


def maps_at(value: Any, *path: str | int) -> list[Mapping[str, Any]]:
    """The maps of the list at ``path``."""
    return [item for item in list_at(value, *path) if isinstance(item, dict)]
