"""Objects of a small cluster: machines with GPUs, workloads, and replicas with a claim each."""

from __future__ import annotations

from typing import Any

from dractl.allocation import Features
from dractl.scheduler.attempt import Scheduler
from tests.explain.cluster import (
    allocation,
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
GPU_CLASS = device_class(DRIVER, f"device.driver == '{DRIVER}'")
POD_TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "x"}]}}


def claim_template(count: int) -> Object:
    """Return the template ``t`` of claims for ``count`` GPUs."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t", "namespace": "ml"},
        "spec": {"spec": {"devices": {"requests": [request("r", DRIVER, count)]}}},
    }


def scheduler_of(*objects: Object | list[Object] | tuple[Object, ...]) -> Scheduler:
    """Return the scheduler of a cluster with GPUs of one class; lists of objects are flattened."""
    flat = [o for entry in objects for o in ([entry] if isinstance(entry, dict) else entry)]
    state = state_of(GPU_CLASS, claim_template(1), *flat)
    return Scheduler(state, Features.for_release("1.37"))


def machine(name: str, *gpus: str, **fields: Any) -> tuple[Object, Object]:
    """Return a node with GPUs, and its slice."""
    return node(name, **fields), slice_of(DRIVER, name, *map(device, gpus))


def replica(
    name: str, owner: str = "", on: str = "", gpu: str = "", **spec: Any
) -> tuple[Object, Object]:
    """Return a pod of ``owner`` (Kind/name) and its claim; ``on`` a node it has ``gpu``."""
    metadata: Object = {"uid": f"uid-{name}", "creationTimestamp": "2026-01-01T00:00:00Z"}
    kind, _, owner_name = owner.partition("/")
    if owner:
        reference = {"kind": kind, "name": owner_name, "uid": owner_name, "controller": True}
        metadata["ownerReferences"] = [reference]
    status: Object = {"phase": "Running" if on else "Pending"}
    status["resourceClaimStatuses"] = [{"name": "g", "resourceClaimName": f"{name}-g"}]
    value = pod(
        name,
        {"name": "g", "resourceClaimTemplateName": "t"},
        metadata=metadata,
        status=status,
        spec={**spec, **({"nodeName": on} if on else {})},
        requests={"cpu": "1"},
    )
    return value, _generated_claim(name, on, gpu)


def _generated_claim(name: str, on: str, gpu: str) -> Object:
    owner = {"kind": "Pod", "name": name, "uid": f"uid-{name}", "controller": True}
    return claim(
        f"{name}-g",
        request("r", DRIVER),
        metadata={"ownerReferences": [owner], "uid": f"uid-{name}-g"},
        status=allocation(on, (DRIVER, gpu), pod=name) if on else {},
    )


def workload(kind: str, name: str, **spec: Any) -> Object:
    """Return a workload with a pod template."""
    return {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "ml", "uid": f"uid-{name}"},
        "spec": {"template": POD_TEMPLATE, **spec},
    }


def leader_worker_set(**leader_worker_template: Any) -> list[Object]:
    """Return a LeaderWorkerSet of one group: a leader and a worker, each with a GPU of n-1."""
    owner = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "lws", "namespace": "ml"},
        "spec": {
            "leaderWorkerTemplate": {
                "size": 2,
                "workerTemplate": POD_TEMPLATE,
                **leader_worker_template,
            }
        },
    }
    leader = replica("lws-0", "StatefulSet/lws", "n-1", "gpu-0")
    worker = replica("lws-0-1", "StatefulSet/lws-0", "n-1", "gpu-1")
    for member in (leader[0], worker[0]):
        member["metadata"]["labels"] = {
            "leaderworkerset.sigs.k8s.io/name": "lws",
            "leaderworkerset.sigs.k8s.io/group-index": "0",
        }
    stateful_sets = (workload("StatefulSet", name, replicas=1) for name in ("lws", "lws-0"))
    return [owner, *stateful_sets, *leader, *worker]


def job_set(failure_policy: Object | None, **status: Any) -> list[Object]:
    """Return a JobSet of two Jobs that fail with their first pod, each with a worker on n-1."""
    replicated_job = {"name": "w", "replicas": 2, "template": {"spec": {"template": POD_TEMPLATE}}}
    spec: Object = {"replicatedJobs": [replicated_job]}
    if failure_policy is not None:
        spec["failurePolicy"] = failure_policy
    objects: list[Object] = [
        {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": {"name": "llm", "namespace": "ml"},
            "spec": spec,
            "status": status,
        }
    ]
    for index in range(2):
        job = workload("Job", f"llm-w-{index}", backoffLimit=0, parallelism=1, completions=1)
        job["metadata"]["labels"] = {"jobset.sigs.k8s.io/replicatedjob-name": "w"}
        job["metadata"]["ownerReferences"] = [{"kind": "JobSet", "name": "llm", "controller": True}]
        objects += [job, *replica(f"w-{index}", f"Job/llm-w-{index}", "n-1", f"gpu-{index}")]
    return objects
