"""Changes of a cluster's objects: RFC 6902 patches, deletions and creations.

A deletion includes what the claim controller does when a pod ends: the pod's generated claims go
with it, other claims lose the reservation and, when nobody is left, the allocation (kubernetes
pkg/controller/resourceclaim/controller.go syncClaim).
"""

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from dractl.cluster.state import CLUSTER_SCOPED, ClusterState, Key
from dractl.views import Claim


class Patch(Struct, frozen=True):
    """An RFC 6902 patch of an object of the source, named ``Kind/[namespace/]name``."""

    target: str
    operations: tuple[Mapping[str, Any], ...]


class Delete(Struct, frozen=True):
    """An object to delete (a pod: to end), named ``Kind/[namespace/]name``."""

    target: str


class Create(Struct, frozen=True):
    """An object to create."""

    value: Mapping[str, Any]

    @property
    def target(self) -> str:
        """Its name, as ``Kind/[namespace/]name``."""
        metadata = self.value["metadata"]
        names = (self.value["kind"], metadata.get("namespace"), metadata["name"])
        return "/".join(filter(None, names))


Change = Patch | Delete | Create


class PatchError(ValueError):
    """A JSON patch does not apply to the object."""


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
    """Return a copy of ``value`` after an RFC 6902 patch of any operation but ``copy``.

    Raises PatchError.
    """
    result: dict[str, Any] = copy.deepcopy(dict(value))
    for operation in operations:
        if operation["op"] == "move":
            parent, part = _find_container(result, operation["from"])
            moved = _child(parent, part)
            _edit(parent, part, {"op": "remove"})
            _edit(*_find_container(result, operation["path"]), {"op": "add", "value": moved})
        else:
            _edit(*_find_container(result, operation["path"]), operation)
    return result


def _find_container(value: Any, path: Any) -> tuple[Any, str]:
    """Return the container of the value at a JSON pointer, and the value's key there."""
    *above, last = parse_pointer(str(path))
    for part in above:
        value = _child(value, part)
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
            parent[part] = copy.deepcopy(operation["value"])
    elif isinstance(parent, list):
        index = len(parent) if part == "-" else int(part)
        if op == "add":
            parent.insert(index, copy.deepcopy(operation["value"]))
        elif index >= len(parent):
            raise PatchError(f"there is no item {part}")
        elif op == "remove":
            del parent[index]
        else:
            parent[index] = copy.deepcopy(operation["value"])
    else:
        raise PatchError(f"{part!r} is in neither a map nor a list")


def apply(state: ClusterState, changes: Iterable[Change]) -> ClusterState:
    """Return the cluster after ``changes``. Raises PatchError if one does not apply."""
    original = state
    written: list[Key] = []  # claims, which may have other users than before
    for change in changes:
        match change:
            case Patch(target, operations):
                kind, key = parse_target(target)
                value = state.get(kind, key)
                if value is None:
                    raise PatchError(f"there is no {target}")
                state = state.replace(kind, key, apply_patch(value, operations))
            case Create(value):
                kind = str(value["kind"])
                metadata = value.get("metadata") or {}
                key = (str(metadata.get("namespace") or ""), str(metadata["name"]))
                state = state.replace(kind, key, value)
            case Delete(target):
                kind, key = parse_target(target)
                if state.get(kind, key) is None:
                    raise PatchError(f"there is no {target}")
                state = state.replace(kind, key, None)
                if kind == "Pod":
                    state = _release_claims(
                        state, key, dict.fromkeys((*original.claims_of_pod(key), *written))
                    )
        if kind == "ResourceClaim":
            written.append(key)
    return state


def _release_claims(state: ClusterState, pod: Key, claims: Iterable[Key]) -> ClusterState:
    """Remove an ended pod's reservations from ``claims``."""
    namespace, name = pod
    for key in claims:
        claim = Claim(state.get("ResourceClaim", key))
        if not claim.exists or key[0] != namespace:
            continue
        if name in claim.owner_pods:
            state = state.replace("ResourceClaim", key, None)
            continue
        remaining = [
            consumer
            for consumer in claim.reserved_for
            if not (consumer.get("resource") == "pods" and consumer.get("name") == name)
        ]
        if len(remaining) == len(claim.reserved_for):
            continue
        status = {**claim.status, "reservedFor": remaining}
        if not remaining:
            status = {
                k: v for k, v in status.items() if k not in ("allocation", "reservedFor", "devices")
            }
        state = state.replace("ResourceClaim", key, {**claim.raw, "status": status})
    return state
