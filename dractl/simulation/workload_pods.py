"""Pods of a workload, and new pods as its controller creates them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dractl.cluster.derived import derive_from
from dractl.cluster.state import ClusterState
from dractl.objects import Raw
from dractl.simulation.controllers import filter_active_pods
from dractl.views import Key, Pod

WorkloadKey = tuple[str, Key]
"""The kind of a workload, and its namespace and name."""

NEW_SUFFIX = "-new"
"""End of the name and UID of pods that the simulation creates."""

_CLONED_METADATA = ("labels", "annotations", "ownerReferences")
_IDENTITY_FIELDS = ("hostname", "subdomain")  # a StatefulSet sets them on each pod


def pod_identity(pod: Pod) -> str:
    """Return the UID of a pod, or its full name if no API server has seen it."""
    return pod.uid or "/".join(pod.key)


def workload_key(pod: Pod) -> WorkloadKey | None:
    """Return the workload that defines a pod; None for a pod without a controller."""
    if pod.workload is None:
        return None
    kind, name = pod.workload
    return kind, (pod.key[0], name)


def list_active_pods(state: ClusterState, workload: WorkloadKey) -> tuple[Pod, ...]:
    """Return the active pods of a workload."""
    return filter_active_pods(_pods_by_workload(state).get(workload, ()))


@derive_from("Pod", "PriorityClass")
def _pods_by_workload(state: ClusterState) -> Mapping[WorkloadKey, Sequence[Pod]]:
    pods: dict[WorkloadKey, list[Pod]] = {}
    for pod in state.pods.values():
        workload = workload_key(pod)
        if workload is not None:
            pods.setdefault(workload, []).append(pod)
    return pods


def count_bound_pods(pods: Iterable[Pod]) -> int:
    """Return how many of the pods are bound to a node."""
    return sum(bool(pod.node_name) for pod in pods)


def clone_pod(pod: Pod, owner_kind: str, number: int, spec: Raw | None) -> dict[str, Any]:
    """Return a new pod as the controller of ``owner_kind`` creates it.

    It is a copy of ``pod``, with ``spec`` if that is given; ``number`` makes its UID unique.
    """
    uid = f"{pod.name}-{number}{NEW_SUFFIX}"
    metadata = {k: v for k, v in pod.metadata.items() if k in _CLONED_METADATA}
    metadata |= {
        "namespace": pod.key[0],
        "name": pod.name if owner_kind == "StatefulSet" else uid,
        "uid": uid,
    }
    new_spec = dict(pod.spec)
    if spec is not None:
        identity = {k: v for k, v in new_spec.items() if k in _IDENTITY_FIELDS}
        new_spec = {**spec, **identity}
    new_spec.pop("nodeName", None)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": new_spec}
