"""Measures fit and devices for large clusters: time and memory.

    python benchmarks/capacity.py [NODES...]        default: 200 5000

Makes a dump with 8 GPUs per node, of which a random part, equal in every run, is in use. Counts how
many more pods with two aligned GPUs fit, and lists the devices. Goals: 200 nodes in 1 s, 5,000
nodes and 1,000 copies in 10 s and 600 MB.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import explain as clusters

API = "resource.k8s.io/v1"


def dump(nodes: int, copies: int) -> dict[str, Any]:
    """Make a cluster in which about ``copies`` more pairs fit.

    A pair needs both GPUs of a PCIe root.
    """
    chance = random.Random(7)
    items = [item for item in clusters.source(0)["items"] if item["kind"] != "Pod"]
    for i in range(nodes):
        root = chance.randrange(4)
        free = (
            {2 * root, 2 * root + 1} if chance.random() < copies / nodes else {chance.randrange(8)}
        )
        claim, pod = clusters.claim_and_pod(i)
        results = [
            {
                "request": "gpu",
                "driver": "gpu.nvidia.com",
                "pool": f"node-{i:05}",
                "device": f"gpu-{g}",
            }
            for g in range(8)
            if g not in free
        ]
        claim["status"]["allocation"]["devices"]["results"] = results
        items += [clusters.node(i), clusters.gpus(i), claim, pod]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def measure(nodes: int, path: Path, *words: str) -> None:
    command = [sys.executable, "-m", "dractl", *words, "-f", str(path), "-o", "json", "--isolated"]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run(command, capture_output=True, check=False, cwd=root, env=os.environ)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = json.loads(done.stdout)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    summary = f"{answer['fits']} fit" if "fits" in answer else f"{len(answer['devices'])} devices"
    print(
        f"{nodes} nodes, dractl {' '.join(words)}: {wall:.2f} s wall, {cpu:.2f} s CPU, "
        f"at most {after.ru_maxrss / 1024:.0f} MB so far, {summary}"
    )


def main() -> None:
    for nodes in [int(n) for n in sys.argv[1:]] or [200, 5000]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "dump.json"
            path.write_text(json.dumps(dump(nodes, nodes // 5)))
            measure(nodes, path, "fit", "template/pair")
            measure(nodes, path, "devices")
            measure(nodes, path, "fit", "template/pair", "--pack")


if __name__ == "__main__":
    main()
