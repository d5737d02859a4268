"""Small clusters for tests, written as the API server would hand them out."""

from __future__ import annotations

from typing import Any

from dractl.cluster.state import ClusterState, add_object

API = "resource.k8s.io/v1"


def state_of(*objects: dict[str, Any]) -> ClusterState:
    kinds: dict[str, Any] = {}
    for value in objects:
        add_object(kinds, value, "default")
    return ClusterState(kinds)


def device(name: str, **attributes: Any) -> dict[str, Any]:
    """A device; attributes by their Python type, capacity as ``capacity={...}``."""
    capacity = attributes.pop("capacity", {})
    taints = attributes.pop("taints", None)
    kinds = {bool: "bool", int: "int", str: "string"}
    made: dict[str, Any] = {
        "name": name,
        "attributes": {k: {kinds[type(v)]: v} for k, v in attributes.items()},
    }
    if capacity:
        made["capacity"] = {k: {"value": v} for k, v in capacity.items()}
    if taints:
        made["taints"] = taints
    return made


def slice_of(driver: str, node: str, *devices: dict[str, Any], **pool: Any) -> dict[str, Any]:
    return {
        "apiVersion": API,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-{driver}"},
        "spec": {
            "driver": driver,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1, **pool},
            "devices": list(devices),
        },
    }


def device_class(name: str, expression: str) -> dict[str, Any]:
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    return {"apiVersion": API, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def request(name: str, class_name: str, count: int = 1, **more: Any) -> dict[str, Any]:
    exactly = {
        "deviceClassName": class_name,
        "allocationMode": "ExactCount",
        "count": count,
        **more,
    }
    return {"name": name, "exactly": exactly}


def claim(
    name: str, *requests: dict[str, Any], namespace: str = "ml", **more: Any
) -> dict[str, Any]:
    """A claim; ``constraints=[...]``, ``status={...}``, ``metadata={...}`` as they are written."""
    spec = {"devices": {"requests": list(requests), "constraints": more.get("constraints", [])}}
    metadata = {"name": name, "namespace": namespace, **more.get("metadata", {})}
    return {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": spec,
        "status": more.get("status", {}),
    }


def allocation(node: str, *devices: tuple[str, str], pod: str | None = None) -> dict[str, Any]:
    """The status of a claim with devices (driver, name) of the node's pools, reserved for ``pod``."""
    results = [
        {"request": "r", "driver": driver, "pool": node, "device": name} for driver, name in devices
    ]
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]
    status: dict[str, Any] = {
        "allocation": {
            "devices": {"results": results},
            "nodeSelector": {"nodeSelectorTerms": terms},
        }
    }
    if pod is not None:
        status["reservedFor"] = [{"resource": "pods", "name": pod, "uid": f"uid-{pod}"}]
    return status


def node(name: str, *, labels: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    status = {
        "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110", **more.pop("allocatable", {})}
    }
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": more,
        "status": status,
    }


def pod(name: str, *claims: dict[str, str], namespace: str = "ml", **more: Any) -> dict[str, Any]:
    """A pod with resourceClaims; ``spec={...}``, ``status={...}``, ``metadata={...}``, ``requests={...}``."""
    container = {"name": "main", "image": "x", "resources": {"requests": more.get("requests", {})}}
    spec = {"containers": [container], "resourceClaims": list(claims), **more.get("spec", {})}
    metadata = {"name": name, "namespace": namespace, **more.get("metadata", {})}
    status = more.get("status", {"phase": "Pending"})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}
