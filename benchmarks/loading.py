"""Measures loading: one small file, a cluster's dump of 8,000 devices, a tree of many files.

Run: python benchmarks/loading.py   (CPU seconds, best of five)
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu.nvidia.com}
"""


def device(node: int, number: int) -> dict[str, Any]:
    """Make a device with as many attributes as a full GPU has in practice."""
    return {
        "name": f"gpu-{number}",
        "attributes": {
            "type": {"string": "gpu"},
            "uuid": {"string": f"GPU-{node:08x}-{number:04x}-4b1f-8a1c-0123456789ab"},
            "productName": {"string": "NVIDIA H100 80GB HBM3"},
            "brand": {"string": "Nvidia"},
            "architecture": {"string": "Hopper"},
            "cudaComputeCapability": {"version": "9.0.0"},
            "driverVersion": {"version": "570.124.6"},
            "cudaDriverVersion": {"version": "12.8.0"},
            "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{number:02x}"},
            "resource.kubernetes.io/pciBusID": {"string": f"0000:{number:02x}:00.0"},
        },
        "capacity": {"memory": {"value": "81559Mi"}},
    }


def cluster_dump(devices: int, per_node: int = 8) -> str:
    """Make ``kubectl get resourceslices -o json`` of a cluster with that many GPUs."""
    items = [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"node-{node}-gpu.nvidia.com-abcde", "generation": 1},
            "spec": {
                "driver": "gpu.nvidia.com",
                "nodeName": f"node-{node}",
                "pool": {"name": f"node-{node}", "generation": 1, "resourceSliceCount": 1},
                "devices": [device(node, number) for number in range(per_node)],
            },
        }
        for node in range(devices // per_node)
    ]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=4)


def best(statement: str, setup: str = "pass") -> float:
    """Return the least CPU time of the statement over five fresh interpreters."""
    clock = "time.process_time()"
    program = f"{setup}\nimport time\nbegin = {clock}\n{statement}\nprint({clock} - begin)"
    return min(float(subprocess.check_output([sys.executable, "-c", program])) for _ in range(5))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        small, dump, tree = (
            Path(folder, "claim.yaml"),
            Path(folder, "dump.json"),
            Path(folder, "tree"),
        )
        small.write_text(CLAIM)
        dump.write_text(cluster_dump(8000))
        for number in range(5000):
            path = tree / str(number % 50) / f"{number}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(
                CLAIM
                if number % 100 == 0
                else CLAIM.replace("resource.k8s.io", "x.io")
                .replace("ResourceClaim", "Y")
                .replace("deviceClass", "z")
            )
        load = "from dractl.manifests import load; load([{!r}])"
        alone = best(load.format(str(small)), "import dractl.manifests, typer")
        print(f"one small YAML file, import yaml included      {alone:.3f} s")
        size, seconds = dump.stat().st_size / 1e6, best(load.format(str(dump)))
        print(f"8,000 devices as a JSON List ({size:.0f} MB)             {seconds:.3f} s")
        seconds = best(load.format(str(tree)))
        print(f"5,000 files in 50 folders, 50 of them matter   {seconds:.3f} s")


if __name__ == "__main__":
    started = time.perf_counter()
    main()
    print(f"measured in {time.perf_counter() - started:.0f} s")
