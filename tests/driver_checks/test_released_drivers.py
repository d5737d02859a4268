"""The findings on slices that released drivers published on real machines, each with its ground.

A finding that is not here is new: argue it from the driver's source, or mend the rule.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec import Struct

from tests.conftest import shared_dir
from tests.driver_checks.published import check

SLICES = Path(__file__).resolve().parents[1] / "data" / "slices"

RECORDED = {
    "cpu": "dra.cpu",
    "dranet": "dra.net",
    "intel": "gpu.intel.com",
    "nvidia": "gpu.nvidia.com",
    "sriov": "sriovnetwork.k8snetworkplumbingwg.io",
}
"""The drivers whose own enumeration was recorded, by the folder of the answers."""


class Ground(Struct, frozen=True):
    """A place in a driver's source that makes a finding true, and how."""

    source: str
    """Repository, tag or commit, and file."""
    reason: str


_CPU = "kubernetes-sigs/dra-driver-cpu"
_NVIDIA = "kubernetes-sigs/dra-driver-nvidia-gpu"
_SRIOV = "k8snetworkplumbingwg/dra-driver-sriov@cd9404f"
SRIOV_DRIVER = RECORDED["sriov"]

GROUNDS = {
    ("dra.net", "DRA363"): Ground(
        "kubernetes-sigs/dranet@v1.4.0 pkg/inventory/db.go",
        "dra.net/pciAddress and dra.net/numaNode have no standard name beside them",
    ),
    ("dra.cpu", "DRA363"): Ground(
        f"{_CPU}@v0.1.0 pkg/driver/dra_hooks.go",
        "dra.cpu/numaNodeID has no standard name beside it, which came later",
    ),
    ("dra.cpu", "DRA365"): Ground(
        f"{_CPU}@v0.1.0 pkg/device/attributes.go",
        "dra.net/numaNode belongs to dra.net; de98098 has it still",
    ),
    ("dra.cpu", "DRA369"): Ground(
        f"{_CPU}@de98098 pkg/device/builder.go",
        "a group can be allocated several times, and its capacity has no requestPolicy: a claim"
        " without an amount takes all of its CPUs; v0.1.0 has it in pkg/driver/dra_hooks.go",
    ),
    (SRIOV_DRIVER, "DRA356"): Ground(
        f"{_SRIOV} pkg/devicestate/discovery.go",
        "the kernel's -1 is published, also where the node cannot be read",
    ),
    (SRIOV_DRIVER, "DRA363"): Ground(
        f"{_SRIOV} pkg/devicestate/discovery.go", "the NUMA node is in dra.net/numaNode alone"
    ),
    (SRIOV_DRIVER, "DRA365"): Ground(
        f"{_SRIOV} pkg/consts/consts.go", "dra.net/numaNode belongs to dra.net"
    ),
    ("gpu.amd.com", "DRA363"): Ground(
        "ROCm/k8s-gpu-dra-driver@2622427 cmd/gpu-kubeletplugin/deviceinfo.go",
        "pciAddr has no standard name beside it",
    ),
    ("gpu.nvidia.com", "DRA363"): Ground(
        f"{_NVIDIA}@v25.8.1 cmd/gpu-kubelet-plugin/deviceinfo.go",
        "pcieBusID has no standard name beside it; in v0.4.1, neither has numa of a vfio device",
    ),
    ("gpu.nvidia.com", "DRA357"): Ground(
        f"{_NVIDIA}@v0.4.1 cmd/gpu-kubelet-plugin/nvlib.go",
        "addressableMemory is the sum of the 64-bit BARs, and the machine of that record has none",
    ),
    ("gpu.nvidia.com", "DRA367"): Ground(
        f"{_NVIDIA}@v0.4.1 cmd/gpu-kubelet-plugin/deviceinfo.go",
        "gpu-N and gpu-vfio-N are one PCI function, without counters: both can be allocated",
    ),
    ("gpu.nvidia.com", "DRA369"): Ground(
        f"{_NVIDIA}@9593204 cmd/gpu-kubelet-plugin/consumable_shares.go",
        "memory and shares alone have a policy: the first claim takes all engines of a MIG device",
    ),
    ("gpu.intel.com", "DRA358"): Ground(
        "intel/intel-resource-drivers-for-kubernetes@1da939f cmd/kubelet-gpu-plugin/node_state.go",
        'pcieRoot is published as "" where it is unknown',
    ),
}
"""By driver and code: why the findings are true."""


def test_every_ground_names_a_file_and_its_version() -> None:
    for ground in GROUNDS.values():
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[\w.-]+ [\w./-]+\.go", ground.source)


@pytest.mark.parametrize("file", sorted(SLICES.glob("*.yaml")), ids=lambda file: file.stem)
def test_every_finding_has_a_ground(file: Path) -> None:
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    published = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": file.stem.replace(".", "-")},
        "spec": content["spec"],
    }
    assert not list_unfounded(content["spec"]["driver"], [published])


def list_unfounded(
    driver: str, slices: list[dict[str, Any]], gates: dict[str, bool] | None = None
) -> dict[str, str]:
    """Return the findings without a ground."""
    text = "---\n".join(json.dumps(one) + "\n" for one in slices)
    findings = {finding.code: finding.message for finding in check(text, gates=gates)}
    return {code: text for code, text in findings.items() if (driver, code) not in GROUNDS}


def answers() -> list[Path]:
    """Return all recorded answers: they are few."""
    return sorted((shared_dir() / "conformance" / "drivers").glob("*/*.json"))


@pytest.mark.parametrize("file", answers(), ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_every_finding_on_a_recorded_answer_has_a_ground(file: Path) -> None:
    content = json.loads(file.read_text(encoding="utf-8"))
    if "slices" not in content or content.get("refused") or file.stem.endswith("1.34"):
        return  # the driver ended, the API server refused it, or it is an answer for another release
    driver = RECORDED[file.parent.name.partition("@")[0]]
    pool = {"name": "node", "generation": 1, "resourceSliceCount": len(content["slices"])}
    slices = [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"slice-{index}"},
            "spec": {
                "driver": driver,
                "nodeName": "node",
                "pool": pool,
                **{field: value for field, value in one.items() if value},
            },
        }
        for index, one in enumerate(content["slices"])
    ]
    gates = {"DRAListTypeAttributes": file.stem == "list-attributes"}
    assert not list_unfounded(driver, slices, gates)
