"""Pods of a workload, and new ones as its controller creates them."""

from collections.abc import Collection
from typing import Any

from dractl.cluster.state import ClusterState, Key, map_at, text_at
from dractl.cluster.workloads import workload
from dractl.objects import Raw
from dractl.simulation.controllers import filter_active_pods

WorkloadKey = tuple[str, Key]
"""Kind, and namespace and name, of a workload."""

NEW_SUFFIX = "-new"
"""End of the name and UID of pods that the simulation creates."""

_CLONED_METADATA = ("namespace", "labels", "annotations", "ownerReferences")
_IDENTITY_FIELDS = ("hostname", "subdomain")  # a StatefulSet sets them on each pod


def pod_key(pod: Raw) -> Key:
    """Return namespace and name of a pod."""
    return text_at(pod, "metadata", "namespace"), text_at(pod, "metadata", "name")


def pod_identity(key: Key, pod: Raw | None) -> str:
    """Return the UID of a pod, or its full name if no API server has seen it."""
    return text_at(pod, "metadata", "uid") or "/".join(key)


def workload_key(pod: Raw | None, namespace: str) -> WorkloadKey | None:
    """Return the workload that defines a pod; None for a bare pod."""
    owner = workload(pod)
    return None if owner is None else (owner[0], (namespace, owner[1]))


def list_active_pods(state: ClusterState, key: WorkloadKey) -> tuple[Raw, ...]:
    """Return the active pods of a workload."""
    kind, (namespace, name) = key
    return filter_active_pods(
        [
            pod.raw
            for (pod_namespace, _), pod in state.pods.items()
            if pod_namespace == namespace and pod.workload == (kind, name)
        ]
    )


def has_node(pod: Raw | None) -> bool:
    """Return whether a pod exists and is bound to a node."""
    return bool(text_at(pod, "spec", "nodeName"))


def count_bound_pods(pods: Collection[Raw]) -> int:
    """Return how many of the pods are bound to a node."""
    return sum(map(has_node, pods))


def clone_pod(pod: Raw, owner_kind: str, number: int, spec: Raw | None) -> dict[str, Any]:
    """Return a new pod as the controller of ``owner_kind`` creates it.

    It is like ``pod``, or has ``spec`` if that is given; ``number`` makes its UID unique.
    """
    name = text_at(pod, "metadata", "name")
    uid = f"{name}-{number}{NEW_SUFFIX}"
    metadata = {k: v for k, v in map_at(pod, "metadata").items() if k in _CLONED_METADATA}
    metadata |= {"name": name if owner_kind == "StatefulSet" else uid, "uid": uid}
    new_spec = dict(map_at(pod, "spec"))
    if spec is not None:
        identity = {k: v for k, v in new_spec.items() if k in _IDENTITY_FIELDS}
        new_spec = {**spec, **identity}
    new_spec.pop("nodeName", None)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": new_spec}
