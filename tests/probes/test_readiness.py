"""Requirements of DRA on a node, read from a mounted root."""

from __future__ import annotations

import contextlib
import json
import socket
from typing import TYPE_CHECKING, Any

import pytest

from dractl import probes
from dractl.probes import SysRoot, services
from dractl.probes.cdi import cdi_fault
from dractl.probes.readiness import checks
from tests import sysfs_trees

if TYPE_CHECKING:
    from pathlib import Path

    from dractl.probes.services import Check

SPEC: dict[str, Any] = {
    "cdiVersion": "0.7.0",
    "kind": "k8s.gpu.nvidia.com/claim",
    "devices": [{"name": "gpu-0", "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia0"}]}}],
    "containerEdits": {"env": ["NVIDIA_VISIBLE_DEVICES=void"]},
}


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A host root with eight NVIDIA GPUs on which all is well."""
    top = sysfs_trees.build(sysfs_trees.describe("plx-8gpu"), tmp_path / "host")
    files: dict[str, str] = {
        "etc/containerd/config.toml": 'version = 3\n[plugins."io.containerd.cri.v1.runtime"]\n',
        "etc/cni/net.d/10-pods.conflist": json.dumps(
            {"plugins": [{"type": "bridge", "ipam": {"type": "host-local"}}]}
        ),
        "opt/cni/bin/bridge": "",
        "opt/cni/bin/host-local": "",
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
    for check in checks(
        probes.read(top), SysRoot.for_directory(top), drivers or ("gpu.nvidia.com", "dra.net")
    ):
        if check.name not in found or order.index(check.state) > order.index(
            found[check.name].state
        ):
            found[check.name] = check
    return found


def test_a_ready_node(node: Path) -> None:
    found = look(node)
    states = {name: check.state for name, check in found.items()}
    assert states == {**dict.fromkeys(states, "ok"), "PCIe links": "warning"}
    link = found["PCIe links"]  # the one that the description has with 8 of 16 lanes
    assert link.evidence.startswith(
        "gpu 0000:9b:00.0: the PCIe link runs at x8, although the device and its slot"
    )
    assert link.advice.startswith("check again under load")
    assert found["CDI"].evidence == "1 specification in /var/run/cdi"  # /run/cdi is the same folder
    assert "8 /dev/nvidiaN" in found["device nodes"].evidence


def test_unregistered_driver_is_reported(node: Path) -> None:
    check = look(node, "gpu.nvidia.com", "dra.cpu")["kubelet registration"]
    assert (check.state, "dra.cpu: no socket" in check.evidence) == ("missing", True)


def test_library_and_kernel_module_of_different_versions(node: Path) -> None:
    (node / "proc/driver/nvidia/version").write_text(
        "NVRM version: NVIDIA UNIX Kernel Module  575.57.08  built\n"
    )
    check = look(node)["NVML"]
    assert (check.state, check.evidence) == (
        "missing",
        "library 580.65.06, kernel module 575.57.08",
    )


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
    top = sysfs_trees.build(sysfs_trees.describe("single-root-vm"), tmp_path)
    found = look(top)
    assert (found["kernel driver"].state, "0000:00:05.0" in found["kernel driver"].evidence) == (
        "missing",
        True,
    )
    assert found["device nodes"].state == "unknown"
    assert found["container runtime"].state == "unknown"


def test_a_valid_cdi_specification() -> None:
    assert cdi_fault(json.dumps(SPEC).encode()) is None
    assert (
        cdi_fault(
            b"cdiVersion: 0.6.0\nkind: vendor.com/gpu\ndevices:\n- name: '0'\n  containerEdits: {}\n"
        )
        is None
    )


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
    "data",
    [None, b"", b"\xff", b"{", b"a: [", b"[" * 100_000, b"a: &a [x]\nb: [*a, *a]\n", b"kind: 1\n"],
)
def test_invalid_cdi_specification_has_a_fault(data: bytes | None) -> None:
    assert cdi_fault(data)


# -- what runs there --


def said(top: Path, name: str) -> list[str]:
    """Return the messages of a check by its name."""
    found = checks(probes.read(top), SysRoot.for_directory(top), ("gpu.nvidia.com",))
    return [check.evidence for check in found if (check.name, check.state) == (name, "missing")]


def left_behind(path: Path) -> None:
    """A socket on which nobody listens, as a program that was killed leaves it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as bound:
        bound.bind(path.name)


@pytest.mark.parametrize(
    "name", ["gpu.nvidia.com-reg.sock", "lab.example.com-0ecc8920-f135-reg.sock"]
)
def test_dead_driver_leaves_its_socket(node: Path, name: str) -> None:
    left_behind(node / "var/lib/kubelet/plugins_registry" / name)
    (evidence,) = said(node, "kubelet registration")
    assert f"nobody listens on /var/lib/kubelet/plugins_registry/{name}" in evidence


def test_registered_driver_without_a_listener_is_reported(node: Path) -> None:
    left_behind(node / "var/lib/kubelet/plugins/gpu.nvidia.com/dra.sock")
    assert "nobody listens on" in said(node, "kubelet registration")[0]


def test_listening_socket_is_recognized(tmp_path: Path) -> None:
    path = tmp_path / "proc" / "s.sock"
    path.parent.mkdir()
    (tmp_path / "sys").mkdir()
    with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as server:
        server.bind(path.name)
        server.listen()
        assert SysRoot.for_directory(tmp_path).listens("proc/s.sock") is True
    assert SysRoot.for_directory(tmp_path).listens("proc/s.sock") is False
    assert SysRoot.for_directory(tmp_path).listens("proc/none") is None


def test_the_kernels_list_of_sockets_is_believed(node: Path) -> None:
    """A line of /proc/net/unix of a listening socket; one that is only connected counts for nothing."""
    path = "/var/lib/kubelet/plugins_registry/gpu.nvidia.com-reg.sock"
    left_behind(node / path.lstrip("/"))
    (node / "proc/net").mkdir(exist_ok=True)
    table = node / "proc/net/unix"
    table.write_text(
        f"Num RefCount Protocol Flags Type St Inode Path\n0: 00000003 00000000 00000000 0001 03 7 {path}\n"
    )
    assert said(node, "kubelet registration")
    table.write_text(
        f"Num RefCount Protocol Flags Type St Inode Path\n0: 00000002 00000000 00010000 0001 01 7 {path}\n"
    )
    assert not said(node, "kubelet registration")


def test_sockets_of_storage_drivers_are_not_those_of_dra(node: Path) -> None:
    left_behind(node / "var/lib/kubelet/plugins_registry/csi.example.com-reg.sock")
    left_behind(node / "var/lib/kubelet/plugins/csi.example.com/csi.sock")
    assert not said(node, "kubelet registration")


def test_stopped_runtime_and_kubelet_are_reported(node: Path) -> None:
    left_behind(node / "run/containerd/containerd.sock")
    left_behind(node / "var/lib/kubelet/device-plugins/kubelet.sock")
    assert said(node, "container runtime") == [
        "containerd does not run: nobody listens on /run/containerd/containerd.sock"
    ]
    assert said(node, "kubelet") == [
        "does not run: nobody listens on /var/lib/kubelet/device-plugins/kubelet.sock"
    ]


def configure(node: Path, *lines: str) -> None:
    section = '[plugins."io.containerd.cri.v1.runtime"'
    text = "\n".join(line.replace("RUNTIME", section) for line in lines)
    (node / "etc/containerd/config.toml").write_text(f"version = 3\n{text}\n")


def test_specifications_where_the_runtime_does_not_look(node: Path) -> None:
    configure(node, "RUNTIME]", 'cdi_spec_dirs = ["/etc/cdi"]')
    assert said(node, "CDI") == ["1 specification in /run/cdi; the runtime reads only /etc/cdi"]
    configure(node, "RUNTIME]", 'cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]')
    assert not said(node, "CDI")


def test_device_node_of_a_specification_missing_on_the_host_is_reported(node: Path) -> None:
    (node / "dev/nvidia0").unlink()
    assert "names /dev/nvidia0, which does not exist here" in said(node, "CDI")[0]


def test_runtime_handlers(node: Path) -> None:
    configure(
        node,
        "RUNTIME.containerd]",
        'default_runtime_name = "nvidia"',
        "RUNTIME.containerd.runtimes.runc.options]",
        'BinaryName = "/usr/sbin/runc"',
    )
    assert [evidence.partition(": ")[2] for evidence in said(node, "runtime handlers")] == [
        "the default nvidia is not configured",
        "there is no /usr/sbin/runc",
    ]


def test_the_network_of_pods(node: Path) -> None:
    (node / "opt/cni/bin/host-local").unlink()
    assert "names plugin host-local, which is not in /opt/cni/bin" in said(node, "CNI")[0]
    (node / "etc/cni/net.d/10-pods.conflist").write_text("{")
    assert "cannot be parsed" in said(node, "CNI")[0]
    (node / "etc/cni/net.d/10-pods.conflist").unlink()
    assert said(node, "CNI") == ["no CNI configuration in /etc/cni/net.d"]


def test_nri_plugin_of_a_driver_is_recognized(node: Path) -> None:
    (node / "var/lib/kubelet/plugins/dra.net").mkdir(parents=True)
    configure(node, '[plugins."io.containerd.nri.v1.nri"]', "disable = true")
    assert said(node, "NRI") == ["dra.net needs NRI, which is off in the runtime"]


def test_prepared_claims_whose_devices_are_gone(node: Path) -> None:
    """The form is that of kubelet 1.37.1: kubernetes pkg/kubelet/cm/dra/state/checkpoint.go."""

    def prepared(driver: str, identity: str) -> None:
        device = {
            "PoolName": "node-1",
            "DeviceName": "gpu-0",
            "RequestNames": ["r"],
            "CDIDeviceIDs": [identity],
        }
        claim = {
            "ClaimName": "train",
            "Namespace": "ml",
            "DriverState": {driver: {"Devices": [device]}},
        }
        data = json.dumps({"kind": "DRACheckpoint", "ClaimInfoStateList": [claim]})
        state = node / "var/lib/kubelet/dra_manager_state"
        state.write_text(json.dumps({"Data": data, "Checksum": 1}))

    prepared("gpu.nvidia.com", "k8s.gpu.nvidia.com/claim=gpu-0")
    assert not said(node, "prepared claims")
    prepared("gpu.nvidia.com", "k8s.gpu.nvidia.com/claim=gpu-9")
    assert said(node, "prepared claims") == [
        "claim ml/train: no specification has CDI device k8s.gpu.nvidia.com/claim=gpu-9"
    ]
    prepared("lab.example.com", "k8s.gpu.nvidia.com/claim=gpu-0")
    assert said(node, "prepared claims") == [
        "claim ml/train: its driver lab.example.com is not registered"
    ]
    for data in (
        "",
        "[]",
        '{"Data": 7}',
        '{"Data": "[]"}',
        '{"Data": "{\\"ClaimInfoStateList\\": [7]}"}',
        "\0" * 9,
    ):
        (node / "var/lib/kubelet/dra_manager_state").write_text(data)
        look(node)


def test_prepared_claims_are_compared_with_the_cluster(node: Path) -> None:
    """As after a pod was deleted by force while its driver refused to unprepare (situation 15 on a real node)."""
    claims = [
        {"ClaimUID": uid, "ClaimName": uid, "Namespace": "ml", "DriverState": {}}
        for uid in ("a", "b", "c")
    ]
    data = json.dumps({"kind": "DRACheckpoint", "ClaimInfoStateList": claims})
    (node / "var/lib/kubelet/dra_manager_state").write_text(
        json.dumps({"Data": data, "Checksum": 1})
    )
    known = [
        {"metadata": {"uid": "a"}, "status": {"allocation": {"devices": {}, "nodeSelector": {}}}},
        {"metadata": {"uid": "b"}, "status": {}},
    ]
    found = list(services.compare_with_cluster(SysRoot.for_directory(node), known, []))
    assert [check.evidence.split(" is ")[0] for check in found] == ["claim ml/b", "claim ml/c"]
    assert {check.state for check in found} == {"missing"}
    (node / "var/lib/kubelet/dra_manager_state").write_text("\0")
    assert not list(services.compare_with_cluster(SysRoot.for_directory(node), known, []))


def test_runtime_classes_against_the_handlers_of_the_runtime(node: Path) -> None:
    classes = [{"metadata": {"name": name}, "handler": name} for name in ("runc", "nvidia")]
    assert not list(
        services.compare_with_cluster(SysRoot.for_directory(node), [], classes)
    )  # its defaults are not known
    configure(
        node,
        '[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]',
        'runtime_type = "x"',
    )
    (check,) = services.compare_with_cluster(SysRoot.for_directory(node), [], classes)
    assert (check.state, check.evidence.partition(";")[0]) == (
        "warning",
        "RuntimeClass nvidia names handler nvidia",
    )
