"""What-if changes: the cluster without some pods, nodes or claims, or with more nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.cluster.changes import Delete, apply
from dractl.cluster.kinds import KINDS
from dractl.cluster.state import map_at, text_at
from dractl.errors import InputError, UsageError
from dractl.model.nearest import nearest
from dractl.scheduler.attempt import nodes_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dractl.cluster.state import ClusterState, Key

    Raw = Mapping[str, Any]

_KINDS = ("Pod", "Node", "ResourceClaim")


def without(state: ClusterState, target: str, namespace: str | None) -> ClusterState:
    """The cluster after ``pod/[NS/]NAME``, ``node/NAME`` or ``claim/[NS/]NAME`` is gone, and what goes with it: a pod's
    generated claims, a node's slices and pods. Raises UsageError or InputError if there is no such object."""
    word, _, rest = target.partition("/")
    kind = KINDS.get(word.lower())
    if kind not in _KINDS:
        near = nearest(word, ("pod", "node", "claim"))
        raise UsageError(
            f"--without takes pod/NAME, node/NAME or claim/NAME, not {target!r}",
            hint=f"did you mean {near}/{rest}?" if near and near != word else None,
        )
    state = _with_nodes(state) if kind == "Node" else state
    key = _key(state, kind, rest, namespace)
    state = apply(state, [Delete("/".join((kind, *filter(None, key))))])
    if kind != "Node":
        return state
    for pod, value in list(state.all("Pod").items()):
        if text_at(value, "spec", "nodeName") == key[1]:
            state = apply(state, [Delete("/".join(("Pod", *pod)))])
    slices = state.all("ResourceSlice")
    return state.only({"ResourceSlice": {k: v for k, v in slices.items() if text_at(v, "spec", "nodeName") != key[1]}})


def _key(state: ClusterState, kind: str, name: str, namespace: str | None) -> Key:
    where, slash, last = name.rpartition("/")
    found = [
        key
        for key in state.all(kind)
        if key[1] == last and (kind == "Node" or (key[0] == where if slash else namespace in (None, key[0])))
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{kind.lower()} {last} exists in several namespaces", hint=f"write NAMESPACE/{last}")
    near = nearest(last, {key[1] for key in state.all(kind)})
    raise InputError(f"no {kind.lower()} {name}", hint=f"there is {near}" if near else None)


def added(state: ClusterState, nodes: ClusterState, count: int, number: int) -> ClusterState:
    """The cluster with ``count`` more nodes like those of ``nodes``, its slices and classes included. The new nodes are
    called ``added-NUMBER-1`` and so on."""
    state = _with_nodes(state)
    slices: dict[Key, Raw] = {}
    objects: dict[Key, Raw] = {}
    names = dict.fromkeys(text_at(value, "spec", "nodeName") for value in nodes.all("ResourceSlice").values())
    for copy in range(count):
        for place, old in enumerate(name for name in names if name):
            new = f"added-{number}-{copy * len(names) + place + 1}"
            labels = {**map_at(nodes.get("Node", ("", old)), "metadata", "labels"), "kubernetes.io/hostname": new}
            objects["", new] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": new, "labels": labels}}
            for (_, name), value in nodes.all("ResourceSlice").items():
                spec = map_at(value, "spec")
                if spec.get("nodeName") == old:
                    pool = {**map_at(spec, "pool"), "name": _renamed(text_at(spec, "pool", "name"), old, new)}
                    metadata = {"name": f"{name}-{new}"}
                    slices["", metadata["name"]] = {
                        **value,
                        "metadata": metadata,
                        "spec": {**spec, "nodeName": new, "pool": pool},
                    }
    if not objects:
        raise InputError("--add: no ResourceSlice of a node in it")
    classes = {key: v for key, v in nodes.all("DeviceClass").items() if state.get("DeviceClass", key) is None}
    return state.with_objects({"Node": objects, "ResourceSlice": slices, "DeviceClass": classes})


def _renamed(pool: str, old: str, new: str) -> str:
    """The name of a node's pool on another node: pools that differ stay different."""
    return pool.replace(old, new) if old in pool else f"{pool}-{new}"


def _with_nodes(state: ClusterState) -> ClusterState:
    """The cluster with the nodes that its slices name, if the input has no Node objects."""
    if state.has("Node"):
        return state
    return state.only({"Node": {("", name): node for name, node in nodes_of(state).items()}})


def only_node(state: ClusterState, name: str) -> ClusterState:
    """The cluster with one node alone. Raises InputError for an unknown node."""
    state = _with_nodes(state)
    nodes = state.all("Node")
    if ("", name) not in nodes:
        near = nearest(name, {key[1] for key in nodes})
        raise InputError(f"--node {name}: no such node", hint=f"there is {near}" if near else None)
    return state.only({"Node": {key: value for key, value in nodes.items() if key[1] == name}})
