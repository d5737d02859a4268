"""Small clusters with GPUs: what runs on which node, and what waits."""

from __future__ import annotations

from typing import Any

from dractl.allocation import Features
from dractl.planning import Plan, PlanOptions, find_plan, subject_of_pods
from tests.explain.cluster import (
    claim,
    device,
    device_class,
    node,
    pod,
    request,
    slice_of,
    state_of,
)

Object = dict[str, Any]
DRIVER = "gpu.example.com"
FEATURES = Features.for_release("1.37")
PCIE_ROOT = "resource.kubernetes.io/pcieRoot"


def objects(*parts: Object | list[Object]) -> list[Object]:
    """Return the objects of a cluster with a class of GPUs and templates for one to eight."""
    flat = [o for part in parts for o in ([part] if isinstance(part, dict) else part)]
    return [
        device_class(DRIVER, f"device.driver == '{DRIVER}'"),
        *map(template, range(1, 9)),
        *flat,
    ]


def template(count: int, **fields: Any) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": f"t{count}", "namespace": "ml"},
        "spec": {"spec": claim_spec(count, **fields)},
    }


def claim_spec(count: int, **fields: Any) -> Object:
    return {"devices": {"requests": [request("gpu", DRIVER, count)], **fields}}


def machine(name: str, gpus: int, **fields: Any) -> list[Object]:
    """Return a node with GPUs, two at each PCIe root, and its slice."""
    devices = [device(f"gpu-{i}", **{PCIE_ROOT: f"pci0000:{i // 2:02x}"}) for i in range(gpus)]
    return [node(name, **fields), slice_of(DRIVER, name, *devices)]


def running(
    name: str, owner: str, on: str, *gpus: int, metadata: Object | None = None, **spec: Any
) -> list[Object]:
    """Return a pod of ``owner`` (KIND/NAME, "" for none) that has GPUs of a node, and its claim."""
    kind, _, owner_name = owner.partition("/")
    references = (
        [{"kind": kind, "name": owner_name, "uid": owner_name, "controller": True}] if owner else []
    )
    value = pod(
        name,
        {"name": "gpus", "resourceClaimTemplateName": f"t{len(gpus)}"},
        metadata={"uid": f"uid-{name}", "ownerReferences": references, **(metadata or {})},
        status={
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "resourceClaimStatuses": [{"name": "gpus", "resourceClaimName": f"{name}-gpus"}],
        },
        spec={**spec, "nodeName": on},
        requests={"cpu": "1"},
    )
    results = [
        {"request": "gpu", "driver": DRIVER, "pool": on, "device": f"gpu-{gpu}"} for gpu in gpus
    ]
    field = {"key": "metadata.name", "operator": "In", "values": [on]}
    status = {
        "allocation": {
            "devices": {"results": results},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
        },
        "reservedFor": [{"resource": "pods", "name": name, "uid": f"uid-{name}"}],
    }
    claim_owner = {"kind": "Pod", "name": name, "uid": f"uid-{name}", "controller": True}
    return [
        value,
        claim(
            f"{name}-gpus",
            request("gpu", DRIVER, len(gpus)),
            metadata={"ownerReferences": [claim_owner]},
            status=status,
        ),
    ]


def waiting(count: int, name: str = "wanted", **spec: Any) -> Object:
    """Return a pod that waits for GPUs of one node."""
    return pod(
        name,
        {"name": "gpus", "resourceClaimTemplateName": f"t{count}"},
        metadata={"uid": f"uid-{name}", "creationTimestamp": "2026-01-01T00:00:00Z"},
        spec=spec,
        requests={"cpu": "1"},
    )


def plan_for(
    *parts: Object | list[Object], subjects: tuple[str, ...] = ("wanted",), **options: Any
) -> Plan:
    """Return the plan that makes the subjects fit."""
    state = state_of(*objects(*parts))
    subject = subject_of_pods(state, "wanted", [("ml", name) for name in subjects])
    return find_plan(subject, FEATURES, PlanOptions(**options))


def moves(plan: Plan) -> list[tuple[str, str, str]]:
    """Return the pod, the node before and the node after of each step."""
    return [(step.pod[1], step.source, step.target) for step in plan.steps]
