"""Measures explain for large clusters: time and memory.

    python benchmarks/explain.py [NODES...]        default: 1000 5000

Makes a dump with 8 GPUs per node, 7 of them in use, and a pod that wants two aligned GPUs. Runs
`dractl explain` on it and prints its wall time, CPU time and peak memory. Goals: 1,000 nodes (8,000
devices) in 2 s and 400 MB, 5,000 nodes (40,000 devices) in 6 s.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

API = "resource.k8s.io/v1"
CLASS = "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'"
MEMORY = "device.capacity['gpu.nvidia.com'].memory"


def source(nodes: int) -> dict[str, Any]:
    """Make a cluster as `kubectl get -o json` prints it: about 1.6 kB a device."""
    items: list[dict[str, Any]] = [
        {
            "apiVersion": API,
            "kind": "DeviceClass",
            "metadata": {"name": "gpu.nvidia.com"},
            "spec": {"selectors": [{"cel": {"expression": CLASS}}]},
        },
        template(),
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "train-0", "namespace": "ml"},
            "spec": {
                "containers": [
                    {
                        "name": "main",
                        "resources": {"requests": {"cpu": "4"}, "claims": [{"name": "gpu"}]},
                    }
                ],
                "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "pair"}],
            },
            "status": {"phase": "Pending"},
        },
    ]
    for i in range(nodes):
        items += [node(i), gpus(i), *claim_and_pod(i)]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def six_faults(nodes: int) -> dict[str, Any]:
    """Make a pod with six mistakes: gate, node label, memory, class, selector, root."""
    cluster = source(nodes)
    _, claims, pod, *_ = cluster["items"]
    pod["spec"]["schedulingGates"] = [{"name": "example.com/quota"}]
    pod["spec"]["nodeSelector"] = {"kubernetes.io/arch": "arm64"}
    pod["spec"]["containers"][0]["resources"]["requests"]["memory"] = "2Ti"
    devices = claims["spec"]["spec"]["devices"]
    gpu = devices["requests"][0]["exactly"]
    gpu["selectors"] = [{"cel": {"expression": f"{MEMORY}.compareTo(quantity('400Gi')) >= 0"}}]
    other = {"name": "other", "exactly": {"deviceClassName": "gpu.nvidia.co", "count": 1}}
    devices["requests"].append(other)
    devices["constraints"][0]["matchAttribute"] = "gpu.nvidia.com/pcieRoot"
    return cluster


def distinct_claims(count: int) -> dict[str, Any]:
    """Make claims of one to eight GPUs, no two of which are the same."""
    gpu = "device.driver == 'gpu.nvidia.com'"
    items = []
    for number in range(count):
        expression = f"{gpu} && {MEMORY}.compareTo(quantity('{number + 1}Gi')) >= 0"
        exactly = {
            "deviceClassName": "gpu.nvidia.com",
            "count": number % 8 + 1,
            "selectors": [{"cel": {"expression": expression}}],
        }
        constraints = [{"matchAttribute": "resource.kubernetes.io/pcieRoot"}] * (number % 2)
        spec = {"requests": [{"name": "gpu", "exactly": exactly}], "constraints": constraints}
        items.append(
            {
                "apiVersion": API,
                "kind": "ResourceClaim",
                "metadata": {"name": f"claim-{number}", "namespace": "ml"},
                "spec": {"devices": spec},
            }
        )
    return {"apiVersion": "v1", "kind": "List", "items": items}


def template() -> dict[str, Any]:
    exactly = {
        "deviceClassName": "gpu.nvidia.com",
        "allocationMode": "ExactCount",
        "count": 2,
        "selectors": [{"cel": {"expression": f"{MEMORY}.compareTo(quantity('40Gi')) >= 0"}}],
    }
    devices = {
        "requests": [{"name": "gpu", "exactly": exactly}],
        "constraints": [{"matchAttribute": "resource.kubernetes.io/pcieRoot"}],
    }
    metadata = {"name": "pair", "namespace": "ml"}
    return {
        "apiVersion": API,
        "kind": "ResourceClaimTemplate",
        "metadata": metadata,
        "spec": {"spec": {"devices": devices}},
    }


def node_pool() -> dict[str, Any]:
    """Make a NodePool that allows every instance type."""
    template = {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass"}}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "gpu"},
        "spec": {"template": {"spec": {**template, "requirements": []}}},
    }


def node(i: int) -> dict[str, Any]:
    name = f"node-{i:05}"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64"},
        },
        "spec": {},
        "status": {
            "allocatable": {"cpu": "96", "memory": "1Ti", "pods": "110"},
            "nodeInfo": {"kubeletVersion": "v1.36.3"},
        },
    }


def gpus(i: int) -> dict[str, Any]:
    devices = [
        {
            "name": f"gpu-{g}",
            "attributes": {
                "type": {"string": "gpu"},
                "architecture": {"string": "Hopper"},
                "brand": {"string": "Nvidia"},
                "productName": {"string": "NVIDIA H100 80GB HBM3"},
                "cudaComputeCapability": {"version": "9.0.0"},
                "cudaDriverVersion": {"version": "13.0.0"},
                "driverVersion": {"version": "580.95.5"},
                "uuid": {"string": f"GPU-{i:08x}-0000-4000-8000-{g:012x}"},
                "pcieBusID": {"string": f"0000:{16 + 8 * g:02x}:00.0"},
                "resource.kubernetes.io/pciBusID": {"string": f"0000:{16 + 8 * g:02x}:00.0"},
                "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{g // 2:02x}"},
                "resource.kubernetes.io/numaNode": {"int": g // 4},
            },
            "capacity": {"memory": {"value": "81559Mi"}},
        }
        for g in range(8)
    ]
    pool = {"name": f"node-{i:05}", "generation": 1, "resourceSliceCount": 1}
    spec = {
        "driver": "gpu.nvidia.com",
        "nodeName": f"node-{i:05}",
        "pool": pool,
        "devices": devices,
    }
    fields = [
        {
            "manager": "gpu-kubelet-plugin",
            "operation": "Update",
            "apiVersion": API,
            "fieldsV1": {"f:spec": {}},
        }
    ]
    return {
        "apiVersion": API,
        "kind": "ResourceSlice",
        "metadata": {
            "name": f"node-{i:05}-gpu.nvidia.com-x",
            "uid": f"{i:036}",
            "managedFields": fields,
        },
        "spec": spec,
    }


def claim_and_pod(i: int) -> list[dict[str, Any]]:
    """Make a pod that holds seven GPUs of a node, and its claim; the free GPU differs by node."""
    name, node_name = f"job-{i:05}", f"node-{i:05}"
    results = [
        {"request": "gpu", "driver": "gpu.nvidia.com", "pool": node_name, "device": f"gpu-{g}"}
        for g in range(8)
        if g != i % 8
    ]
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node_name]}]}]
    request = {
        "name": "gpu",
        "exactly": {
            "deviceClassName": "gpu.nvidia.com",
            "allocationMode": "ExactCount",
            "count": 7,
        },
    }
    claim = {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "ml", "uid": f"c{i:035}"},
        "spec": {"devices": {"requests": [request]}},
        "status": {
            "allocation": {
                "devices": {"results": results},
                "nodeSelector": {"nodeSelectorTerms": terms},
            },
            "reservedFor": [{"resource": "pods", "name": name, "uid": f"p{i:035}"}],
        },
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ml", "uid": f"p{i:035}"},
        "spec": {
            "nodeName": node_name,
            "containers": [
                {"name": "main", "resources": {"requests": {"cpu": "8", "memory": "64Gi"}}}
            ],
            "resourceClaims": [{"name": "gpu", "resourceClaimName": name}],
        },
        "status": {"phase": "Running"},
    }
    return [claim, pod]


def measure(nodes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "dump.json")
        path.write_text(json.dumps(source(nodes)))
        command = [
            sys.executable,
            "-m",
            "dractl",
            "explain",
            "-f",
            str(path),
            "pod/train-0",
            "-o",
            "json",
            "--isolated",
        ]
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            command,
            capture_output=True,
            check=False,
            cwd=Path(__file__).resolve().parent.parent,
            env=os.environ,
        )
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        answer = json.loads(done.stdout)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        size = path.stat().st_size / 1e6
        print(
            f"{nodes} nodes, {nodes * 8} devices, {size:.0f} MB: {wall:.2f} s wall, {cpu:.2f} s "
            f"CPU, {after.ru_maxrss / 1024:.0f} MB, {answer['verdict']}, {len(answer['fixes'])} "
            "fixes"
        )


if __name__ == "__main__":
    for count in sys.argv[1:] or ["1000", "5000"]:
        measure(int(count))
