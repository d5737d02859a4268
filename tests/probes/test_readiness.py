"""What DRA needs on a node, read from a mounted root."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dractl import probes
from dractl.probes import SysRoot
from dractl.probes.readiness import Check, cdi_fault, checks
from tests import machines

if TYPE_CHECKING:
    from pathlib import Path

SPEC: dict[str, Any] = {
    "cdiVersion": "0.7.0",
    "kind": "k8s.gpu.nvidia.com/claim",
    "devices": [{"name": "gpu-0", "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia0"}]}}],
    "containerEdits": {"env": ["NVIDIA_VISIBLE_DEVICES=void"]},
}


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A host root with eight NVIDIA GPUs on which all is well."""
    top = machines.build(machines.describe("plx-8gpu"), tmp_path / "host")
    files: dict[str, str] = {
        "etc/containerd/config.toml": 'version = 3\n[plugins."io.containerd.cri.v1.runtime"]\n',
        "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.580.65.06": "",
        "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  "
        "Release Build\n",
        "run/cdi/k8s.gpu.nvidia.com.json": json.dumps(SPEC),
        "var/lib/kubelet/plugins_registry/gpu.nvidia.com-reg.sock": "",
        "var/lib/kubelet/plugins_registry/dra.net-6e2c-reg.sock": "",
        **{f"dev/nvidia{i}": "" for i in range(8)},
        "dev/nvidiactl": "",
        "dev/nvidia-uvm": "",
    }
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    (top / "var/run").symlink_to("/run")
    return top


def look(top: Path, *drivers: str) -> dict[str, Check]:
    """The worst check of each name."""
    order = ["ok", "unknown", "warning", "missing"]
    found: dict[str, Check] = {}
    for check in checks(probes.read(top), SysRoot.of(top), drivers or ("gpu.nvidia.com", "dra.net")):
        if check.name not in found or order.index(check.state) > order.index(found[check.name].state):
            found[check.name] = check
    return found


def test_a_ready_node(node: Path) -> None:
    found = look(node)
    states = {name: check.state for name, check in found.items()}
    assert states == {**dict.fromkeys(states, "ok"), "PCIe links": "warning"}
    link = found["PCIe links"]  # the one that the description has with 8 of 16 lanes
    assert link.evidence.startswith("gpu 0000:9b:00.0: the PCIe link runs at x8, although the device and its slot")
    assert link.advice.startswith("check again under load")
    assert found["CDI"].evidence == "1 specification in /var/run/cdi"  # /run/cdi is the same folder
    assert "8 /dev/nvidiaN" in found["device nodes"].evidence


def test_a_driver_that_is_not_registered(node: Path) -> None:
    check = look(node, "gpu.nvidia.com", "dra.cpu")["kubelet registration"]
    assert (check.state, "dra.cpu: no socket" in check.evidence) == ("missing", True)


def test_library_and_kernel_module_of_different_versions(node: Path) -> None:
    (node / "proc/driver/nvidia/version").write_text("NVRM version: NVIDIA UNIX Kernel Module  575.57.08  built\n")
    check = look(node)["NVML"]
    assert (check.state, check.evidence) == ("missing", "library 580.65.06, kernel module 575.57.08")


def test_missing_device_nodes(node: Path) -> None:
    (node / "dev/nvidia3").unlink()
    (node / "dev/nvidia-uvm").unlink()
    check = look(node)["device nodes"]
    assert (check.state, check.evidence) == ("missing", "7 of 8 /dev/nvidiaN, no /dev/nvidia-uvm")


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ('version = 2\n[plugins."io.containerd.grpc.v1.cri"]\nenable_cdi = true\n', "ok"),
        ('version = 2\n[plugins."io.containerd.grpc.v1.cri"]\nenable_cdi = false\n', "missing"),
        ('version = 3\n[plugins."io.containerd.cri.v1.runtime"]\nenable_cdi = false\n', "missing"),
        ("version = 2\n", "warning"),  # off in 1.7, on in 2.x: the file does not say which runs
        ("version = 3\n", "ok"),
        ("version = \n", "missing"),
    ],
)
def test_containerd(node: Path, text: str, state: str) -> None:
    (node / "etc/containerd/config.toml").write_text(text)
    assert look(node)["container runtime"].state == state


def test_gpus_without_a_driver(tmp_path: Path) -> None:
    top = machines.build(machines.describe("single-root-vm"), tmp_path)
    found = look(top)
    assert (found["kernel driver"].state, "0000:00:05.0" in found["kernel driver"].evidence) == ("missing", True)
    assert found["device nodes"].state == "unknown"
    assert found["container runtime"].state == "unknown"


def test_a_valid_cdi_specification() -> None:
    assert cdi_fault(json.dumps(SPEC).encode()) is None
    assert cdi_fault(b"cdiVersion: 0.6.0\nkind: vendor.com/gpu\ndevices:\n- name: '0'\n  containerEdits: {}\n") is None


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"cdiVersion": "7"}, "cdiVersion: '7' does not match"),
        ({"kind": "gpu"}, "kind: 'gpu' does not match"),
        ({"devices": []}, "devices: []"),
        (
            {"devices": [{"name": "a", "containerEdits": {"deviceNodes": [{}]}}]},
            "devices[0].containerEdits.deviceNodes[0]",
        ),
        ({"devices": [{"name": "a", "containerEdits": {}}] * 2}, "device a is defined twice"),
        ({"containeredits": {}}, "'containeredits' was unexpected"),
    ],
)
def test_faults_of_cdi_specifications(change: dict[str, Any], fault: str) -> None:
    assert fault in (cdi_fault(json.dumps({**SPEC, **change}).encode()) or "")


@pytest.mark.parametrize(
    "data", [None, b"", b"\xff", b"{", b"a: [", b"[" * 100_000, b"a: &a [x]\nb: [*a, *a]\n", b"kind: 1\n"]
)
def test_what_is_no_cdi_specification(data: bytes | None) -> None:
    assert cdi_fault(data)
