"""The findings on slices that released drivers published on real machines, each with its ground.

A finding that is not here is new: argue it from the driver's source, or mend the rule.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import SAMPLE, shared_dir
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

# By driver and code: why the finding is true.
GROUNDS = {
    # kubernetes-sigs/dranet@v1.4.0 pkg/inventory: pciAddress and numaNode are in its own domain alone.
    (
        "dra.net",
        "DRA363",
    ): "dra.net/pciAddress and dra.net/numaNode have no standard name beside them",
    # kubernetes-sigs/dra-driver-cpu@v0.1.0: numaNodeID and dra.net/numaNode; the standard name came later.
    ("dra.cpu", "DRA363"): "dra.cpu/numaNodeID has no standard name beside it",
    ("dra.cpu", "DRA365"): "dra.net/numaNode belongs to dra.net",
    # kubernetes-sigs/dra-driver-cpu@de98098 pkg/driver/dra_hooks.go: a capacity without requestPolicy.
    ("dra.cpu", "DRA369"): "a claim without an amount takes all CPUs of a group",
    # k8snetworkplumbingwg/dra-driver-sriov@cd9404f: dra.net/numaNode, -1 where it is unknown.
    ("sriovnetwork.k8snetworkplumbingwg.io", "DRA356"): "the kernel's -1 is published",
    ("sriovnetwork.k8snetworkplumbingwg.io", "DRA363"): "the NUMA node is dra.net's alone",
    ("sriovnetwork.k8snetworkplumbingwg.io", "DRA365"): "dra.net/numaNode belongs to dra.net",
    # ROCm/k8s-gpu-dra-driver#92: numaNode, and pciAddr before 2026.
    ("gpu.amd.com", "DRA363"): "pciAddr or numaNode have no standard name beside them",
    # kubernetes-sigs/dra-driver-nvidia-gpu v25.8 and older: pcieBusID.
    # cmd/gpu-kubelet-plugin/vfio-device.go up to v0.4.1: numa.
    ("gpu.nvidia.com", "DRA363"): "pcieBusID, or numa of a vfio device, have no standard name",
    # The machine of that record has no 64-bit BAR, whose sizes the driver adds up.
    ("gpu.nvidia.com", "DRA357"): "0 of addressableMemory is published",
    # cmd/gpu-kubelet-plugin/vfio-device.go: gpu-N and gpu-vfio-N of one function, without counters.
    ("gpu.nvidia.com", "DRA367"): "both can be allocated until one is prepared",
    # cmd/gpu-kubelet-plugin/consumable_shares.go at 9593204: a policy for memory and shares alone.
    ("gpu.nvidia.com", "DRA369"): "the first claim takes all engines of a MIG device",
    # intel/intel-resource-drivers-for-kubernetes@1da939f: "" where the root cannot be resolved.
    ("gpu.intel.com", "DRA358"): "pcieRoot is published empty",
}


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
    """Return the recorded answers, each 20th by default."""
    return sorted((shared_dir() / "conformance" / "drivers").glob("*/*.json"))[::SAMPLE]


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
