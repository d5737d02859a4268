"""Measures dractl's allocator beside upstream's own.

    python benchmarks/allocation.py [FILE...]  default: ../shared/conformance/allocator-slow.jsonl

Runs both allocators on every shape of the files (cases of the allocator oracle), and on a claim of
8 equal GPUs on 1, 100 and 5,000 nodes. The figure is the CPU time of one allocation, the best of
three, without reading the input. Upstream's program is ``allocator-1.37`` in
``$DRACTL_ORACLE_DIR``, else in ``~/.cache/dractl-oracle``; without it, only dractl is measured. The
ratio is dractl's time divided by upstream's. A search that upstream ends after 10 s counts as 10 s.

For several nodes, upstream's time for one node is multiplied by their number, since its library
shares only compiled selectors between nodes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from dractl.allocation import Allocated, AllocatedState, Allocator, DeviceID, Features, Verdict
from dractl.model import DeviceClass, Node, Quantity, Reader, ResourceClaim, ResourceSlice

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("DRACTL_SHARED") or ROOT.parent / "shared")
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dractl-oracle"
ORACLE = Path(os.environ.get("DRACTL_ORACLE_DIR") or CACHE) / "allocator-1.37"

Case = dict[str, Any]


def ours(case: Case) -> tuple[float, Verdict]:
    """Return the CPU milliseconds of the best of three fresh allocators, and the verdict."""
    node = Node.read(Reader(case["node"]))
    claims = [ResourceClaim.read(Reader(item)) for item in case["claims"]]
    classes = [DeviceClass.read(Reader(item)) for item in case["classes"]]
    slices = [ResourceSlice.read(Reader(item)) for item in case["slices"]]
    state = AllocatedState(
        devices=frozenset(DeviceID.parse(text) for text in case.get("allocatedDevices") or ()),
        capacity={
            DeviceID.parse(text): {name: Quantity.parse(value) for name, value in capacity.items()}
            for text, capacity in (case.get("allocatedCapacity") or {}).items()
        },
    )
    features = Features("1.37", frozenset(case["features"]))
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        verdict = Allocator(slices, classes, state=state, features=features).allocate(node, claims)
        best = min(best, time.process_time() - start)
    return best * 1000, verdict


def upstream(case: Case) -> tuple[float, str]:
    """Return the milliseconds that upstream's program took for the allocation, and its verdict."""
    question = {**case, "timeoutMs": 10000}
    if case.get("expected", {}).get("verdict") != "timeout":
        question["repeat"] = 3
    done = subprocess.run(
        [str(ORACLE)], input=json.dumps(question), capture_output=True, text=True, check=True
    )
    answer = json.loads(done.stdout)
    return float(answer["ms"]) / (
        1 if answer["verdict"] == "timeout" else question.get("repeat", 1)
    ), answer["verdict"]


def gpu_slice(node: str) -> Case:
    devices = [
        {
            "name": f"gpu-{n}",
            "attributes": {
                "uuid": {"string": f"{node}-{n}"},
                "model": {"string": "H100"},
                "index": {"int": n},
                "driverVersion": {"version": "1.2.3"},
            },
            "capacity": {"memory": {"value": "80Gi"}},
        }
        for n in range(8)
    ]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    return {
        "metadata": {"name": f"{node}-gpu"},
        "spec": {"driver": "gpu.example.com", "nodeName": node, "pool": pool, "devices": devices},
    }


class Cluster(NamedTuple):
    """Objects for the allocator, as JSON."""

    slices: list[Case]
    device_class: Case
    claim: Case


def cluster(nodes: int) -> Cluster:
    """Make nodes with 8 equal GPUs each, and a claim for 8."""
    device_class = {
        "metadata": {"name": "gpu"},
        "spec": {"selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]},
    }
    selector = {"cel": {"expression": 'device.attributes["gpu.example.com"].model == "H100"'}}
    exactly = {
        "deviceClassName": "gpu",
        "allocationMode": "ExactCount",
        "count": 8,
        "selectors": [selector],
    }
    claim = {
        "metadata": {"name": "c", "namespace": "ns"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
    }
    return Cluster([gpu_slice(f"node-{n}") for n in range(nodes)], device_class, claim)


def measure_all_nodes(nodes: int) -> tuple[float, float | None]:
    """Return the milliseconds for the claim on every node: ours, and upstream's for as many."""
    objects = cluster(nodes)
    features = Features.for_release("1.37")
    slices = [ResourceSlice.read(Reader(item)) for item in objects.slices]
    classes = [DeviceClass.read(Reader(objects.device_class))]
    claims = [ResourceClaim.read(Reader(objects.claim))]
    machines = [Node.read(Reader({"metadata": {"name": f"node-{n}"}})) for n in range(nodes)]
    start = time.process_time()
    allocator = Allocator(slices, classes, features=features)
    fitting = sum(
        isinstance(allocator.allocate(machine, claims), Allocated) for machine in machines
    )
    mine = (time.process_time() - start) * 1000
    assert fitting == nodes
    if not ORACLE.exists():
        return mine, None
    case = {
        "features": sorted(features.on),
        "node": {"metadata": {"name": "node-0"}},
        "claims": [objects.claim],
        "classes": [objects.device_class],
        "slices": objects.slices[:1],
        "repeat": 2000,
    }
    done = subprocess.run(
        [str(ORACLE)], input=json.dumps(case), capture_output=True, text=True, check=True
    )
    return mine, json.loads(done.stdout)["ms"] / 2000 * nodes


def main() -> None:
    files = [Path(name) for name in sys.argv[1:]] or [
        SHARED / "conformance" / "allocator-slow.jsonl"
    ]
    print(
        f"{'shape':34}{'verdict':>15}{'ours ms':>10}{'upstream ms':>13}{'ratio':>10}   upstream "
        "says"
    )
    for path in files:
        for case in map(json.loads, path.read_text().splitlines()):
            mine, verdict = ours(case)
            theirs, upstream_verdict = upstream(case) if ORACLE.exists() else (0.0, "not built")
            ratio = f"{mine / theirs:.5f}" if theirs else "-"
            name = type(verdict).__name__.lower()
            print(
                f"{case['name']:34}{name:>15}{mine:10.2f}{theirs:13.1f}{ratio:>10}   "
                f"{upstream_verdict}",
                flush=True,
            )
    for nodes in (1, 100, 5000):
        mine, upstreams = measure_all_nodes(nodes)
        ratio = f"{mine / upstreams:.1f}" if upstreams else "-"
        shape = f"8 equal GPUs on {nodes} nodes"
        print(f"{shape:34}{'allocated':>15}{mine:10.1f}{upstreams or 0:13.2f}{ratio:>10}")


if __name__ == "__main__":
    main()
