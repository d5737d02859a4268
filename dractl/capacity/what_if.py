"""Clusters after a hypothetical change: without a pod, node or claim, or with more nodes."""

import itertools
from collections.abc import Container, Iterable, Mapping
from types import MappingProxyType

from dractl.cluster.changes import Delete, apply
from dractl.cluster.kinds import resolve_kind
from dractl.cluster.state import API_GROUPS, ClusterState, Key
from dractl.cluster.workloads import pods_of_workload
from dractl.errors import InputError, UsageError
from dractl.model.nearest import nearest
from dractl.model.order import natural
from dractl.model.quantity import PLENTY
from dractl.objects import IMPLICIT_PREFIX, Raw, mapping, slice_of
from dractl.scheduler.cache import add_nodes_of_slices
from dractl.scheduler.extended import classes_by_resource
from dractl.views import Node, Pod, View
from dractl.views.amounts import pod_requests

_NAMESPACE_WORDS = ("ns", "namespace", "namespaces")
_HINT = "write pod/NAME, claim/NAME, node/NAME, ns/NAME or a workload such as deploy/NAME"


def remove_object(
    state: ClusterState,
    target: str,
    namespace: str | None,
    kinds: Mapping[str, str] = MappingProxyType({}),
) -> ClusterState:
    """Remove ``KIND/[NS/]NAME`` and the objects that depend on it: a pod, claim, node, namespace or
    workload.

    The generated claims of a pod, the slices and pods of a node, the pods of a workload, and the
    pods and claims of a namespace are removed with it. ``kinds`` maps further words that the API
    server knows to kinds. Raises UsageError or InputError if there is no such object.
    """
    word, slash, name = target.partition("/")
    if not (slash and name):
        raise _kind_error(state, target)
    if word.lower() in _NAMESPACE_WORDS:
        return _remove_namespace(state, name)
    kind = resolve_kind(state, word, kinds, f"--without: {_HINT}")
    if kind in ("Pod", "ResourceClaim"):
        key = _find_key(state, kind, name, namespace)
        return apply(state, [Delete("/".join((kind, *key)))])
    if kind == "Node":
        return _remove_node(state, name)
    if kind in API_GROUPS:
        raise UsageError(f"--without {target}: a {kind} holds no devices", hint=_HINT)
    return _remove_workload(state, kind, name, namespace)


def _kind_error(state: ClusterState, target: str) -> UsageError:
    name = target.strip("/")
    words = {"pod": "Pod", "node": "Node", "claim": "ResourceClaim"}
    named = (w for w, kind in words.items() if any(key[1] == name for key in state.objects(kind)))
    word = next(named, None)
    hint = _HINT if word is None else f"write {word}/{name}"
    missing = "name" if "/" in target else "kind"
    return UsageError(f"--without {target}: missing {missing}", hint=hint)


def _remove_node(state: ClusterState, name: str) -> ClusterState:
    state = add_nodes_of_slices(state)
    key = _find_key(state, "Node", name, None)
    state = apply(state, [Delete(f"Node/{key[1]}")])
    state = _remove_pods(state, [k for k, pod in state.pods.items() if pod.node_name == key[1]])
    slices = state.objects("ResourceSlice")
    return state.with_kinds(
        {"ResourceSlice": {k: v for k, v in slices.items() if slice_of(v).node != key[1]}}
    )


def _remove_namespace(state: ClusterState, name: str) -> ClusterState:
    """Remove the pods and claims of a namespace. Raises InputError if it has none."""
    pods = [key for key in state.objects("Pod") if key[0] == name]
    if not pods and not any(key[0] == name for key in state.objects("ResourceClaim")):
        names = {key[0] for kind in ("Pod", "ResourceClaim") for key in state.objects(kind)}
        near = nearest(name, names)
        raise InputError(
            f"--without: no pod and no claim is in namespace {name}",
            hint=f"there is {near or ', '.join(sorted(names)[:8]) or 'none'}",
        )
    state = _remove_pods(state, pods)
    claims = [key for key in state.objects("ResourceClaim") if key[0] == name]
    return apply(state, [Delete("/".join(("ResourceClaim", *key))) for key in claims])


def _remove_workload(
    state: ClusterState, kind: str, name: str, namespace: str | None
) -> ClusterState:
    """Remove the pods of a workload; its controllers do not create them again."""
    wanted_namespace, _, object_name = name.rpartition("/")
    if not any(key[1] == object_name for key in state.objects(kind)):
        # The owner references of pods may name a Job that the dump lacks.
        scope = wanted_namespace or namespace
        spaces = {key[0] for key in state.objects("Pod") if scope in (None, key[0])}
        owned = {n: list(pods_of_workload(state, kind, (n, object_name))) for n in sorted(spaces)}
        pods = [key for each in owned.values() for key, _ in each]
        if not pods:
            _find_key(state, kind, name, namespace)  # raises InputError for an unknown object
        return _remove_pods(state, pods)
    key = _find_key(state, kind, name, namespace)
    pods = [pod_key for pod_key, _ in pods_of_workload(state, kind, key)]
    return _remove_pods(apply(state, [Delete("/".join((kind, *key)))]), pods)


def _remove_pods(state: ClusterState, keys: Iterable[Key]) -> ClusterState:
    return apply(state, [Delete("/".join(("Pod", *key))) for key in keys])


def _find_key(state: ClusterState, kind: str, name: str, namespace: str | None) -> Key:
    wanted_namespace, slash, object_name = name.rpartition("/")
    keys = [
        key
        for key in state.objects(kind)
        if key[1] == object_name
        and (
            kind == "Node" or (key[0] == wanted_namespace if slash else namespace in (None, key[0]))
        )
    ]
    if len(keys) == 1:
        return keys[0]
    if keys:
        raise UsageError(
            f"{kind.lower()} {object_name} exists in several namespaces",
            hint=f"write NAMESPACE/{object_name}",
        )
    near = nearest(object_name, {key[1] for key in state.objects(kind)})
    raise InputError(f"no {kind.lower()} {name}", hint=f"there is {near}" if near else None)


def add_nodes(state: ClusterState, nodes: ClusterState, count: int, name: str) -> ClusterState:
    """Add ``count`` nodes like the ones in ``nodes``, with their slices and classes.

    The new nodes are called ``NAME-1`` and so on, from the first number that is free.
    """
    state = add_nodes_of_slices(state)
    slices: dict[Key, Raw] = {}
    objects: dict[Key, Raw] = {}
    names = dict.fromkeys(slice_of(value).node for value in nodes.objects("ResourceSlice").values())
    free = (
        new
        for number in itertools.count(1)
        if state.get("Node", ("", new := f"{name}-{number}")) is None
    )
    for _ in range(count):
        for old in filter(None, names):
            new = next(free)
            objects["", new] = _copy_node(nodes.node(old), new)
            for (_, slice_name), value in nodes.objects("ResourceSlice").items():
                if slice_of(value).node == old:
                    new_name = f"{slice_name}-{new}"
                    slices["", new_name] = _copy_slice(value, new_name, old, new)
    if not objects:
        raise InputError("--add: the input has no ResourceSlice of a node")
    classes = {
        key: v
        for key, v in nodes.objects("DeviceClass").items()
        if state.get("DeviceClass", key) is None
    }
    return state.with_objects({"Node": objects, "ResourceSlice": slices, "DeviceClass": classes})


def _copy_node(node: Node, name: str) -> Raw:
    """Return a copy of a node under a new name."""
    labels = {**node.labels, "kubernetes.io/hostname": name}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        **({"status": node.status} if node.status else {}),
    }


def _copy_slice(value: Raw, name: str, node: str, new_node: str) -> Raw:
    """Return a slice of ``node`` in the form in which ``new_node`` would publish it, under a new
    name.
    """
    resource_slice = slice_of(value)
    spec, pool_name = resource_slice.spec, _rename_pool(resource_slice.pool, node, new_node)
    pool = {**mapping(spec.get("pool")), "name": pool_name}
    return {
        **value,
        "metadata": {"name": name, "annotations": View(value).annotations},
        "spec": {**spec, "nodeName": new_node, "pool": pool},
    }


def list_unknown_resources(
    pod: Raw, allocatable: Mapping[str, object], provided: Container[str]
) -> list[str]:
    """Return the resources that a pod requests and whose amount on a node is unknown.

    That is so on nodes made from a description, whose ``allocatable`` lacks these resources or has
    a placeholder amount. Resources that classes provide (``provided``) are devices, and are left
    out.
    """
    requested = (name for name in pod_requests(Pod(pod).spec) if name not in provided)
    return sorted(
        name
        for name in requested
        if not name.startswith(IMPLICIT_PREFIX) and str(allocatable.get(name, PLENTY)) == PLENTY
    )


def list_unjudged_resources(state: ClusterState, pod: Raw) -> tuple[str, ...]:
    """Return the resources that a pod requests and whose amount is unknown on some described node.

    A described node has no UID, since no API server has stored it.
    """
    devices = classes_by_resource(state.classes)
    rooms = (node.allocatable for node in state.nodes.values() if not node.uid)
    return tuple(
        sorted({name for room in rooms for name in list_unknown_resources(pod, room, devices)})
    )


def _rename_pool(pool: str, old: str, new: str) -> str:
    """Return the name of the corresponding pool on another node; different pools get different
    names.
    """
    return pool.replace(old, new) if old in pool else f"{pool}-{new}"


def keep_node(state: ClusterState, name: str) -> ClusterState:
    """Remove all nodes but one. Raises InputError for an unknown node."""
    state = add_nodes_of_slices(state)
    nodes = state.objects("Node")
    if ("", name) not in nodes:
        near = nearest(name, {key[1] for key in nodes})
        first = sorted((key[1] for key in nodes), key=natural)[:8]
        raise InputError(
            f"--node {name}: no such node", hint=f"there is {near or ', '.join(first) or 'none'}"
        )
    return state.with_kinds(
        {"Node": {key: value for key, value in nodes.items() if key[1] == name}}
    )
