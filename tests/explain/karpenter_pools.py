"""Pods and NodePools with what Karpenter's provisioner makes of them, as ``tests/data/karpenter-pools.json`` has them.

    python -m tests.explain.karpenter_pools

asks the program of ``tests/oracles/karpenter`` again, where it is built, and writes its answers into the file. A situation that
has no answer yet gets one.
"""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from dractl.facts.autoscalers import device_tables
from dractl.machines import labels_of, room_of

Situation = dict[str, Any]

DATA = Path(__file__).parents[1] / "data" / "karpenter-pools.json"
ZONES = ["eu-west-1a", "eu-west-1b", "eu-west-1c"]
CAPACITY_TYPES = ["on-demand", "spot"]


def oracle_program() -> Path:
    cache_dir = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = os.environ.get("DRACTL_ORACLE_DIR") or Path(cache_dir, "dractl-oracle")
    return Path(folder, "karpenter-pools")


def situations() -> list[Situation]:
    found: list[Situation] = json.loads(DATA.read_text())["situations"]
    return found


@cache
def instance_types() -> dict[str, dict[str, Any]]:
    """All types with devices, as a cloud with three zones has them: the labels and amounts that Karpenter documents."""
    types = {}
    for name in device_tables()["karpenter"].types:
        labels = labels_of(name)
        known = {
            key: value
            for key, value in labels.items()
            if key.startswith(("karpenter.k8s.aws/", "kubernetes.io/"))
        }
        room = room_of(name)
        types[name] = {
            "labels": {**known, "karpenter.k8s.aws/instance-capability-flex": "false"},
            "capacity": {
                "cpu": room["cpu"],
                "memory": room["memory"],
                "nvidia.com/gpu": labels["karpenter.k8s.aws/instance-gpu-count"],
            },
            "zones": ZONES,
            "capacityTypes": CAPACITY_TYPES,
        }
    return types


def ask_karpenter(program: Path, asked: list[Situation]) -> list[dict[str, Any]]:
    """Ask the provisioner; its answers lack what differs from run to run."""
    text = "".join(json.dumps({**item, "types": instance_types()}) + "\n" for item in asked)
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return [{key: answer[key] for key in ("nodeClaims", "existing")} for answer in answers]


def main() -> None:
    """Write the program's answers into the file."""
    document = json.loads(DATA.read_text())
    answers = ask_karpenter(oracle_program(), document["situations"])
    for situation, answer in zip(document["situations"], answers, strict=True):
        situation["answer"] = answer
    lines = ",\n".join(f"  {json.dumps(item)}" for item in document["situations"])
    head = json.dumps(document["source"])
    DATA.write_text(f'{{"source": {head},\n "situations": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
