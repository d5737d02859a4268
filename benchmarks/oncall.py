"""Measures `dractl explain` on a large cluster with many pending pods: time and lines.

    python benchmarks/oncall.py             measures `explain -A`, as text and JSON, and one pod
    python benchmarks/oncall.py FILE        writes the dump

The dump has 300 nodes with 8 GPUs and 8 NICs each, 379 pods, 83 of them pending for 12 causes, and
a claim that no pod uses. Goals: `explain -A` in 4 s of CPU and on a screen of 24 lines by 120
columns, one pod in 2 s.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import resource
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path
from typing import Any

API = "resource.k8s.io/v1"
NODES = 300
ROOT = "resource.kubernetes.io/pcieRoot"
GPU, NIC = "gpu.nvidia.com", "dra.net"
TAINTED, CORDONED, SILENT = (296, 297, 298), (294, 295), (299, 300)


def objects() -> list[dict[str, Any]]:
    """Make the cluster, as `kubectl get -A -o json` lists it."""
    items = [device_class(GPU), device_class(NIC)]
    for name, requests in TEMPLATES.items():
        items.append(template(name, requests, pairs=name == "pair"))
    for i in range(1, NODES + 1):
        items.append(node(i))
        if i not in SILENT:
            items += [slice_of(i, GPU), slice_of(i, NIC)]
    for i in range(1, 297):
        items += job_pod(i)
    return [*items, *make_pending_objects(), make_unused_claim()]


def taint_rule() -> dict[str, Any]:
    """Make a rule that evicts every pod with a GPU."""
    taint = {"key": "example.com/broken", "effect": "NoExecute"}
    return {
        "apiVersion": API,
        "kind": "DeviceTaintRule",
        "metadata": {"name": "all"},
        "spec": {"deviceSelector": {"driver": GPU}, "taint": taint},
    }


def metadata(name: str, namespace: str = "", **more: Any) -> dict[str, Any]:
    scope = {"namespace": namespace} if namespace else {}
    return {
        "name": name,
        **scope,
        "uid": f"uid-{namespace}-{name}",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        **more,
    }


def device_class(driver: str) -> dict[str, Any]:
    selectors = [{"cel": {"expression": f"device.driver == '{driver}'"}}]
    return {
        "apiVersion": API,
        "kind": "DeviceClass",
        "metadata": metadata(driver),
        "spec": {"selectors": selectors},
    }


def request(name: str, class_name: str, count: int, expression: str = "") -> dict[str, Any]:
    exactly: dict[str, Any] = {
        "deviceClassName": class_name,
        "allocationMode": "ExactCount",
        "count": count,
    }
    if expression:
        exactly["selectors"] = [{"cel": {"expression": expression}}]
    return {"name": name, "exactly": exactly}


ARCHITECTURE = f"device.attributes['{GPU}'].architecture == 'Blackwell'"
TEMPLATES = {
    "one": [request("gpu", GPU, 1)],
    "two": [request("gpu", GPU, 2)],
    "four": [request("gpu", GPU, 4)],
    "nine": [request("gpu", GPU, 9)],
    "pair": [request("gpu", GPU, 2), request("nic", NIC, 1)],
    "typo": [request("gpu", "gpu.nvdia.com", 1)],
    "new": [request("gpu", GPU, 1, ARCHITECTURE)],
}


def spec(requests: list[dict[str, Any]], *, pairs: bool = False) -> dict[str, Any]:
    constraints = [{"requests": ["gpu", "nic"], "matchAttribute": ROOT}] if pairs else []
    return {"devices": {"requests": requests, "constraints": constraints}}


def template(name: str, requests: list[dict[str, Any]], *, pairs: bool) -> dict[str, Any]:
    made = {"spec": spec(requests, pairs=pairs)}
    return {
        "apiVersion": API,
        "kind": "ResourceClaimTemplate",
        "metadata": metadata(name, "ml"),
        "spec": made,
    }


def node(i: int) -> dict[str, Any]:
    name = f"gpu-{i}"
    labels = {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": "abc"[i % 3],
        "node.kubernetes.io/instance-type": "p5.48xlarge",
    }
    made: dict[str, Any] = {"unschedulable": True} if i in CORDONED else {}
    if i in TAINTED:
        made["taints"] = [{"key": "team", "value": "research", "effect": "NoSchedule"}]
    status = {
        "allocatable": {"cpu": "128", "memory": "2Ti", "pods": "110"},
        "nodeInfo": {"kubeletVersion": "v1.37.1"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata(name, labels=labels),
        "spec": made,
        "status": status,
    }


def slice_of(i: int, driver: str) -> dict[str, Any]:
    name, short = f"gpu-{i}", "gpu" if driver == GPU else "nic"
    devices = []
    for j in range(8):
        attributes = {
            ROOT: {"string": f"pci0000:{16 * j:02x}"},
            "uuid": {"string": f"{short}-{i:04}-{j}"},
        }
        attributes |= {
            "architecture": {"string": "Hopper"},
            "productName": {"string": "NVIDIA H100 80GB HBM3"},
        }
        devices.append(
            {
                "name": f"{short}-{j}",
                "attributes": attributes,
                "capacity": {"memory": {"value": "80Gi"}},
            }
        )
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    made = {"driver": driver, "nodeName": name, "pool": pool, "devices": devices}
    return {
        "apiVersion": API,
        "kind": "ResourceSlice",
        "metadata": metadata(f"{name}-{driver}"),
        "spec": made,
    }


def job_pod(i: int) -> list[dict[str, Any]]:
    """Make a pod of the Job that holds all GPUs of a node; tainted and cordoned nodes are free."""
    name, node_name = f"sweep-{i}", f"gpu-{i}"
    used = 0 if i in (*TAINTED, *CORDONED) else 8
    results = [
        {"request": "gpu", "driver": GPU, "pool": node_name, "device": f"gpu-{j}"}
        for j in range(used)
    ]
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node_name]}]}]
    status = {
        "allocation": {
            "devices": {"results": results},
            "nodeSelector": {"nodeSelectorTerms": terms},
        },
        "reservedFor": [{"resource": "pods", "name": name, "uid": f"uid-batch-{name}"}],
    }
    claim = {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": metadata(name, "batch"),
        "spec": spec([request("gpu", GPU, 8)]),
        "status": status,
    }
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "sweep",
        "controller": True,
        "uid": "uid-batch-sweep",
    }
    running_pod = pod(name, "batch", None, 8, owner)
    running_pod["spec"] |= {"nodeName": node_name}
    running_pod["status"] = {"phase": "Running"}
    if used:
        running_pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": name}]
    return [running_pod, claim] if used else [running_pod]


def pod(
    name: str,
    namespace: str,
    uses: str | None,
    cpu: int,
    owner: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    claims = [{"name": "gpu", "resourceClaimTemplateName": uses}] if uses else []
    resources = {
        "requests": {"cpu": str(cpu), "memory": "8Gi"},
        "claims": [{"name": "gpu"}] if uses else [],
    }
    container = {"name": "main", "image": "x", "resources": resources}
    about: dict[str, Any] = {"ownerReferences": [owner]} if owner else {}
    if owner and owner["kind"] == "ReplicaSet":
        about["labels"] = {"pod-template-hash": owner["name"].rpartition("-")[2]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(name, namespace, **about),
        "spec": {"containers": [container], "resourceClaims": claims, **more},
        "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False"}]},
    }


def add_claim(pending_pod: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a pending pod with the claim that its template has made."""
    name = pending_pod["metadata"]["name"]
    (reference,) = pending_pod["spec"]["resourceClaims"]
    uses = reference["resourceClaimTemplateName"]
    if uses not in TEMPLATES:
        return [pending_pod]
    pending_pod["status"]["resourceClaimStatuses"] = [
        {"name": "gpu", "resourceClaimName": f"{name}-gpu"}
    ]
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": name,
        "controller": True,
        "uid": pending_pod["metadata"]["uid"],
    }
    claim = {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": metadata(f"{name}-gpu", "ml", ownerReferences=[owner]),
        "spec": spec(TEMPLATES[uses], pairs=uses == "pair"),
    }
    return [pending_pod, claim]


# Kind, name, number of pods, template and CPUs of pending workloads, and other fields of their
# pods.
WORKLOADS: tuple[tuple[str, str, int, str, int, dict[str, Any]], ...] = (
    ("ReplicaSet", "infer", 40, "one", 4, {}),
    ("ReplicaSet", "api", 12, "typo", 4, {}),
    ("Job", "nccl", 12, "pair", 4, {}),
    ("StatefulSet", "ring", 8, "nine", 4, {}),
    ("ReplicaSet", "serve", 4, "four", 4, {}),
)
ALONE: tuple[tuple[str, str, int, dict[str, Any]], ...] = (
    ("much-cpu", "one", 256, {}),
    ("wrong-pool", "one", 4, {"nodeSelector": {"pool": "h100"}}),
    ("zone-d", "one", 4, {"nodeSelector": {"topology.kubernetes.io/zone": "d"}}),
    ("no-template", "onee", 4, {}),
    ("gated", "one", 4, {"schedulingGates": [{"name": "example.com/queue"}]}),
    ("blackwell", "new", 4, {}),
    ("pinned", "two", 4, {"nodeSelector": {"kubernetes.io/hostname": "gpu-1"}}),
)


def make_pending_objects() -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for kind, name, number, uses, cpu, more in WORKLOADS:
        owned_by = f"{name}-5f49" if kind == "ReplicaSet" else name
        group = "batch/v1" if kind == "Job" else "apps/v1"
        owner = {
            "apiVersion": group,
            "kind": kind,
            "name": owned_by,
            "controller": True,
            "uid": f"uid-{name}",
        }
        real = "Deployment" if kind == "ReplicaSet" else kind
        pod_spec = pod("x", "ml", uses, cpu, **more)["spec"]
        scale = (
            {"replicas": number}
            if kind != "Job"
            else {"parallelism": number, "completions": number}
        )
        workload = {"apiVersion": group, "kind": real, "metadata": metadata(name, "ml")}
        items.append({**workload, "spec": {**scale, "template": {"spec": pod_spec}}})
        for i in range(number):
            items += add_claim(pod(f"{owned_by}-{i}", "ml", uses, cpu, owner, **more))
    for name, uses, cpu, more in ALONE:
        items += add_claim(pod(name, "ml", uses, cpu, **more))
    return items


def make_unused_claim() -> dict[str, Any]:
    return {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": metadata("lonely", "ml"),
        "spec": spec([request("gpu", GPU, 8)]),
    }


def measure(path: str, *arguments: str) -> None:
    """Run explain on a terminal of 24 lines."""
    command = [sys.executable, "-m", "dractl", "explain", "-f", path, "--isolated", *arguments]
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    shown: list[bytes] = []
    reader = threading.Thread(target=lambda: shown.extend(iter(lambda: _read(ours), b"")))
    reader.start()
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    here = Path(__file__).resolve().parent.parent
    done = subprocess.run(
        command, stdout=its, stderr=subprocess.DEVNULL, check=False, cwd=here, env=os.environ
    )
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    os.close(its)
    reader.join()
    os.close(ours)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    lines = b"".join(shown).count(b"\n")
    print(
        f"explain {' '.join(arguments)}: {cpu:.2f} s CPU, {wall:.2f} s wall, {lines} lines, exit "
        f"code {done.returncode}"
    )


def _read(terminal: int) -> bytes:
    """Read what a program has written to its terminal; nothing once it has ended."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


if __name__ == "__main__":
    dump = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects()})
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(dump)
    else:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "dump.json")
            file.write_text(dump)
            for words in (
                ["-A"],
                ["-A", "-o", "json"],
                ["pod/serve-5f49-0"],
                ["pod/much-cpu"],
                ["deploy/infer"],
            ):
                measure(str(file), *words)
