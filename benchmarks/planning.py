"""Measures plans for clusters in which a plan of a known size is planted: moves and time.

    python benchmarks/planning.py [--nodes 50] [--clusters 100] [--seed 1]

Pods fill nodes of eight GPUs, except for a GPU here and there; about a third of the pods cannot
move. Then pods are moved onto one node, so that two or three moves back make room for a pod with
eight GPUs. Some of these moves depend on each other. Goals: on 50 nodes with 200 pods the planted
number of moves is found in 95 of 100 clusters, in 5 s of CPU each; 500 nodes take 30 s at most.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

SIZES = (1, 1, 2, 2, 2, 4)
GPUS = 8
NAMESPACE = "ml"


class Running(NamedTuple):
    """A pod that runs: the workload that made it, and the GPUs that it holds on a node."""

    name: str
    size: int
    node: int
    protected: bool


def plant_plan(nodes: int, seed: int) -> tuple[dict[str, Any], int]:
    """Make a dump; return it with the number of moves after which pod ``wanted`` fits."""
    chance = random.Random(f"{nodes}/{seed}")
    pods = {pod.name: pod for node in range(nodes) for pod in _fill(node, chance)}
    target, moves = chance.randrange(nodes), chance.choice((2, 3))
    pods = {name: pod for name, pod in pods.items() if pod.node != target}
    used = {target}
    if moves == 2:
        back = [_pick(pods, size, used, chance) for size in (4, chance.choice((2, 4)))]
        _move(pods, [(pod, target) for pod in back])
    else:  # the large pod goes back only once the small one has left its node
        large, small, other = (_pick(pods, size, used, chance) for size in (4, 2, 2))
        _move(pods, [(large, target), (small, large.node), (other, target)])
    return _objects(nodes, list(pods.values())), moves


def fill_nodes(nodes: int, seed: int) -> dict[str, Any]:
    """Make a dump in which no plan is planted: most likely, no small number of moves makes room."""
    chance = random.Random(f"full/{nodes}/{seed}")
    return _objects(nodes, [pod for node in range(nodes) for pod in _fill(node, chance)])


def _fill(node: int, chance: random.Random) -> list[Running]:
    """Make pods that leave at most one GPU of a node free."""
    room, pods = GPUS - (chance.random() < 0.2), []
    while room:
        size = chance.choice([size for size in SIZES if size <= room])
        pods.append(Running(f"work-{node}-{len(pods)}", size, node, chance.random() < 0.3))
        room -= size
    return pods


def _pick(pods: dict[str, Running], size: int, used: set[int], chance: random.Random) -> Running:
    """Pick a pod of a size from a node from which no other pod was picked."""
    pod = chance.choice([p for p in pods.values() if p.size == size and p.node not in used])
    used.add(pod.node)
    return pod


def _move(pods: dict[str, Running], moves: list[tuple[Running, int]]) -> None:
    """Move pods, which may move back."""
    for pod, node in moves:
        pods[pod.name] = pod._replace(node=node, protected=False)


# -- objects --


def _objects(nodes: int, pods: list[Running]) -> dict[str, Any]:
    items = [_class(), *(_node(node) for node in range(nodes)), *map(_slice, range(nodes))]
    items += [_template(size) for size in (*sorted(set(SIZES)), GPUS)]
    free = {node: list(range(GPUS)) for node in range(nodes)}
    for pod in pods:
        devices, free[pod.node] = free[pod.node][: pod.size], free[pod.node][pod.size :]
        items += _workload(pod, devices)
    wanted = _pod("wanted", GPUS, {"app": "wanted"})
    return {"apiVersion": "v1", "kind": "List", "items": [*items, wanted]}


def _meta(name: str, namespace: str | None = NAMESPACE, **more: Any) -> dict[str, Any]:
    scope = {"namespace": namespace} if namespace else {}
    created = "2026-10-01T08:00:00Z"
    return {"name": name, **scope, "uid": f"uid-{name}", "creationTimestamp": created, **more}


def _class() -> dict[str, Any]:
    selector = {"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": _meta("gpu.nvidia.com", None),
        "spec": {"selectors": [selector]},
    }


def _node(node: int) -> dict[str, Any]:
    name = f"node-{node:03}"
    amounts = {"cpu": "128", "memory": "2Ti", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": _meta(name, None, labels={"kubernetes.io/hostname": name}),
        "spec": {},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {"kubeletVersion": "v1.37.1"},
        },
    }


def _slice(node: int) -> dict[str, Any]:
    root = "resource.kubernetes.io/pcieRoot"
    devices = [
        {
            "name": f"gpu-{gpu}",
            "attributes": {
                "productName": {"string": "NVIDIA H100 80GB HBM3"},
                "uuid": {"string": f"GPU-{node}-{gpu}"},
                root: {"string": f"pci0000:{gpu // 2 * 16:02x}"},
            },
            "capacity": {"memory": {"value": "81559Mi"}},
        }
        for gpu in range(GPUS)
    ]
    pool = {"name": f"node-{node:03}", "generation": 1, "resourceSliceCount": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": _meta(f"node-{node:03}-gpus", None),
        "spec": {
            "driver": "gpu.nvidia.com",
            "nodeName": pool["name"],
            "pool": pool,
            "devices": devices,
        },
    }


def _claim_spec(size: int) -> dict[str, Any]:
    exactly = {"deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount", "count": size}
    return {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}


def _template(size: int) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": _meta(f"gpus-{size}"),
        "spec": {"spec": _claim_spec(size)},
    }


def _pod(name: str, size: int, labels: dict[str, str], **meta: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": "4"}, "claims": [{"name": "gpus"}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _meta(name, labels=labels, **meta),
        "spec": {
            "containers": [{"name": "main", "image": "example.com/work", "resources": resources}],
            "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": f"gpus-{size}"}],
        },
        "status": {"phase": "Pending", "resourceClaimStatuses": []},
    }


def _controller(api_version: str, kind: str, name: str) -> dict[str, Any]:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": f"uid-{name}",
        "controller": True,
    }


def _workload(pod: Running, devices: list[int]) -> list[dict[str, Any]]:
    """Make a workload, its pod, and the claim of the pod."""
    node, labels = f"node-{pod.node:03}", {"app": pod.name}
    owner = _controller("apps/v1", "StatefulSet", pod.name)
    name = f"{pod.name}-0"
    value = _pod(name, pod.size, labels, ownerReferences=[owner])
    template_metadata: dict[str, Any] = {"labels": labels}
    template_spec = dict(value["spec"])
    if pod.protected:
        annotations = {"karpenter.sh/do-not-disrupt": "true"}
        value["metadata"]["annotations"] = annotations
        template_metadata["annotations"] = annotations
    value["spec"]["nodeName"] = node
    claim = f"{name}-gpus"
    value["status"] = {
        "phase": "Running",
        "startTime": "2026-10-01T08:00:00Z",
        "conditions": [{"type": "Ready", "status": "True"}],
        "resourceClaimStatuses": [{"name": "gpus", "resourceClaimName": claim}],
    }
    results = [
        {"request": "gpu", "driver": "gpu.nvidia.com", "pool": node, "device": f"gpu-{device}"}
        for device in devices
    ]
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    allocation = {
        "devices": {"results": results},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
    }
    user = {"resource": "pods", "name": name, "uid": f"uid-{name}"}
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": _meta(pod.name),
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {"metadata": template_metadata, "spec": template_spec},
            },
        },
        value,
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": _meta(claim, ownerReferences=[_controller("v1", "Pod", name)]),
            "spec": _claim_spec(pod.size),
            "status": {"allocation": allocation, "reservedFor": [user]},
        },
    ]


def measure(path: Path) -> tuple[dict[str, Any], float]:
    """Run ``dractl plan`` on a dump. Return its report and the CPU time in seconds."""
    command = [sys.executable, "-m", "dractl", "plan", "pod/wanted", "-n", NAMESPACE]
    command += ["-f", str(path), "-o", "json", "--isolated"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run(command, capture_output=True, check=False, cwd=root, env=os.environ)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout), cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--clusters", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    successes, times = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.clusters):
            dump, moves = plant_plan(arguments.nodes, arguments.seed * 1000 + number)
            path = Path(folder) / "dump.json"
            path.write_text(json.dumps(dump))
            answer, cpu = measure(path)
            times.append(cpu)
            successes += answer["verdict"] == "plan" and answer["moved"] <= moves
            print(f"{number}: planted {moves}, {answer['verdict']} {answer['moved']}, {cpu:.2f} s")
    print(
        f"{arguments.nodes} nodes: planted size found in {successes} of {arguments.clusters}, "
        f"CPU {sorted(times)[len(times) // 2]:.2f} s median, {max(times):.2f} s at most"
    )


if __name__ == "__main__":
    main()
