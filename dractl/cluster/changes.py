"""Changes of a cluster's objects: RFC 6902 patches, deletions and creations.

The deletion of a pod includes the work of the claim controller. The claims that were generated for
the pod are deleted too. Other claims lose the pod's reservation, and with the last reservation
their allocation (kubernetes pkg/controller/resourceclaim/controller.go syncClaim).
"""

import copy
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from dractl.cluster.state import CLUSTER_SCOPED, ClusterState, Key
from dractl.objects import Raw
from dractl.properties import cached_property
from dractl.views import Claim


class Patch(Struct, frozen=True):
    """An RFC 6902 patch of an object of the input, named ``Kind/[namespace/]name``."""

    target: str
    operations: tuple[Mapping[str, Any], ...]


class Delete(Struct, frozen=True):
    """The deletion of an object named ``Kind/[namespace/]name``. For a pod, it also means that the
    pod has ended.
    """

    target: str


class Create(Struct, frozen=True):
    """The creation of an object."""

    value: Mapping[str, Any]

    @property
    def target(self) -> str:
        """The name of the object, as ``Kind/[namespace/]name``."""
        metadata = self.value["metadata"]
        names = (self.value["kind"], metadata.get("namespace"), metadata["name"])
        return "/".join(filter(None, names))


Change = Patch | Delete | Create


class PatchError(ValueError):
    """A JSON patch does not apply to the object."""


@lru_cache(maxsize=4096)  # a search for fixes parses the same targets again and again
def parse_target(text: str) -> tuple[str, Key]:
    """Split ``Kind/[namespace/]name`` into kind and key."""
    kind, _, full_name = text.partition("/")
    if kind in CLUSTER_SCOPED:
        return kind, ("", full_name)
    namespace, _, name = full_name.partition("/")
    return kind, (namespace, name)


def pointer(*path: str | int) -> str:
    """Return a JSON pointer (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def parse_pointer(path: str) -> list[str]:
    """Split a JSON pointer into its keys and indices."""
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def apply_patch(
    value: Mapping[str, Any], operations: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return ``value`` after an RFC 6902 patch of any operation but ``copy``. The parts that no
    operation changes are shared with ``value``.

    Raises PatchError.
    """
    result = dict(value)
    for operation in operations:
        if operation["op"] == "move":
            parent, part = _copy_container(result, operation["from"])
            moved = _child(parent, part)
            _edit(parent, part, {"op": "remove"})
            _edit(*_copy_container(result, operation["path"]), {"op": "add", "value": moved})
        else:
            _edit(*_copy_container(result, operation["path"]), operation)
    return result


def _copy_container(value: Any, path: Any) -> tuple[Any, str]:
    """Replace all containers on the way to a JSON pointer by copies. Return the innermost one, and
    the key of the value there.
    """
    *above, last = parse_pointer(str(path))
    for part in above:
        child = copy.copy(_child(value, part))
        value[int(part) if isinstance(value, list) else part] = child
        value = child
    return value, last


def _child(parent: Any, part: str) -> Any:
    if isinstance(parent, dict) and part in parent:
        return parent[part]
    if isinstance(parent, list) and part.isdigit() and int(part) < len(parent):
        return parent[int(part)]
    raise PatchError(f"there is nothing at {part!r}")


def _edit(parent: Any, part: str, operation: Mapping[str, Any]) -> None:
    op = operation["op"]
    if isinstance(parent, dict):
        if op in ("remove", "replace") and part not in parent:
            raise PatchError(f"there is nothing at {part!r}")
        if op == "test":
            if parent.get(part) != operation["value"]:
                raise PatchError(f"{part!r} has another value")
        elif op == "remove":
            del parent[part]
        else:
            parent[part] = operation["value"]
    elif isinstance(parent, list):
        index = len(parent) if part == "-" else int(part)
        if op == "add":
            parent.insert(index, operation["value"])
        elif index >= len(parent):
            raise PatchError(f"there is no item {part}")
        elif op == "remove":
            del parent[index]
        else:
            parent[index] = operation["value"]
    else:
        raise PatchError(f"{part!r} is in neither a map nor a list")


def apply(state: ClusterState, changes: Iterable[Change]) -> ClusterState:
    """Return the cluster after ``changes``. Raises PatchError if a patch does not apply."""
    changes = tuple(changes)
    if any(isinstance(change, Create) for change in changes):
        return _apply(state, changes)  # a cached state would not have this very object
    return state.cache.from_change(state, repr(changes), lambda: _apply(state, changes))


def _apply(state: ClusterState, changes: Iterable[Change]) -> ClusterState:
    draft = _Draft(state)
    for change in changes:
        match change:
            case Patch(target, operations):
                kind, key = parse_target(target)
                draft.write(kind, key, apply_patch(draft.take(kind, key), operations))
            case Create(value):
                kind = str(value["kind"])
                metadata = value.get("metadata") or {}
                key = (str(metadata.get("namespace") or ""), str(metadata["name"]))
                draft.write(kind, key, value)
            case Delete(target):
                kind, key = parse_target(target)
                draft.take(kind, key)
                draft.write(kind, key, None)
                if kind == "Pod":
                    draft.release_claims(key)
        if kind == "ResourceClaim":
            draft.written_claims.append(key)
    return state.with_kinds(draft.kinds)


class _Draft:
    """The state while changes are made; each kind of object is copied once."""

    def __init__(self, state: ClusterState) -> None:
        self.state = state
        self.kinds: dict[str, dict[Key, Raw]] = {}
        self.written_claims: list[Key] = []
        """The claims that changes name; their users may differ from before."""

    def get(self, kind: str, key: Key) -> Raw | None:
        """Return an object; None if there is none."""
        objects = self.kinds.get(kind)
        return self.state.get(kind, key) if objects is None else objects.get(key)

    def take(self, kind: str, key: Key) -> Raw:
        """Return an object that must exist. Raises PatchError."""
        value = self.get(kind, key)
        if value is None:
            raise PatchError(f"there is no {'/'.join((kind, *filter(None, key)))}")
        return value

    def write(self, kind: str, key: Key, value: Raw | None) -> None:
        """Create, replace or (None) delete an object."""
        if kind not in self.kinds:
            self.kinds[kind] = dict(self.state.objects(kind))
        if value is None:
            self.kinds[kind].pop(key, None)
        else:
            self.kinds[kind][key] = value

    def release_claims(self, pod: Key) -> None:
        """Remove the reservations of a pod that has ended, and the claims that were made for it."""
        namespace, name = pod
        keys = dict.fromkeys((*self.state.claims_of_pod(pod), *self.written_claims))
        for key in keys:
            claim = self._claim(key)
            if claim.exists and key[0] == namespace:
                self._release(key, claim, name)

    def _claim(self, key: Key) -> Claim:
        raw = self.get("ResourceClaim", key)
        # The state's view of an unchanged claim has already cached the fields that it decoded.
        claim = self._claims_before.get(key)
        return claim if claim is not None and claim.raw is raw else Claim(raw)

    @cached_property
    def _claims_before(self) -> Mapping[Key, Claim]:
        return self.state.claims

    def _release(self, key: Key, claim: Claim, pod: str) -> None:
        if pod in claim.owner_pods:
            self.write("ResourceClaim", key, None)
            return
        remaining = [
            consumer
            for consumer in claim.reserved_for
            if not (consumer.get("resource") == "pods" and consumer.get("name") == pod)
        ]
        if len(remaining) == len(claim.reserved_for):
            return
        status = {**claim.status, "reservedFor": remaining}
        if not remaining:
            for field in ("allocation", "reservedFor", "devices"):
                status.pop(field, None)
        self.write("ResourceClaim", key, {**claim.raw, "status": status})
