"""Claims, templates and classes beside every pair of neighbouring versions of drivers.

What is expected follows from the drivers' own code, which each case names: what a version publishes, and how
kube-scheduler's allocator takes an attribute that is absent. A selector that looks one up ends the attempt, a constraint is
never satisfied (k8s.io/dynamic-resource-allocation structured/internal/stable/allocator_stable.go), and an amount that a
device lacks is not to be had.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from dractl.cluster.sources import from_objects
from dractl.upgrade import Finding, UpgradeInput, plan
from tests.explain.cluster import claim, device, device_class, node, request, slice_of

NVIDIA = "kubernetes-sigs/dra-driver-nvidia-gpu"
GPU = "cmd/gpu-kubelet-plugin"
DRANET = "kubernetes-sigs/dranet"
CPU = "kubernetes-sigs/dra-driver-cpu"
TPU = "kubernetes-sigs/dra-driver-google-tpu"
AMD = "ROCm/k8s-gpu-dra-driver"
INTEL = "intel/intel-resource-drivers-for-kubernetes"
EXAMPLE = "kubernetes-sigs/dra-example-driver"
ROCKCHIP_CODE = "gclawes/rockchip-dra-driver"
STANDARD = "resource.kubernetes.io"


class Ask(NamedTuple):
    """A request of a claim for devices of the driver."""

    selector: str = ""
    match: str = ""
    distinct: str = ""
    capacity: str = ""
    count: int = 1

    @property
    def label(self) -> str:
        return self.selector or self.match or self.distinct or self.capacity


class Case(NamedTuple):
    """``expected``: the level, and the full name of the attribute or capacity; None: the claim is not named."""

    driver: str
    start: str
    to: str
    devices: str
    ask: Ask
    expected: tuple[str, str] | None
    source: str


def nvidia(**more: Any) -> dict[str, Any]:
    common = {"architecture": "Hopper", "brand": "Nvidia", "productName": "NVIDIA H100 80GB HBM3"}
    return {**common, **more}


def gpus(**more: Any) -> list[dict[str, Any]]:
    """Four GPUs; ``more`` are attributes whose values are functions of the number."""
    return [
        device(
            f"gpu-{n}",
            type="gpu",
            uuid=f"GPU-{n}",
            capacity={"memory": "80Gi"},
            **nvidia(**{key: value(n) for key, value in more.items()}),
        )
        for n in range(4)
    ]


def migs(**more: Any) -> list[dict[str, Any]]:
    """Two MIG devices on each of two GPUs."""
    return [
        device(
            f"gpu-{n // 2}-mig-{n}",
            type="mig",
            uuid=f"MIG-{n}",
            parentUUID=f"GPU-{n // 2}",
            profile="3g.40gb",
            capacity={"memory": "40Gi"},
            **nvidia(**{key: value(n) for key, value in more.items()}),
        )
        for n in range(4)
    ]


def address(n: int) -> str:
    return f"0000:{n + 1:02x}:00.0"


def parent(n: int) -> str:
    return address(n // 2)


def root(n: int) -> str:
    return f"pci0000:{n // 2:02x}"


def vfio(**more: Any) -> list[dict[str, Any]]:
    """Four GPUs that are bound to vfio-pci."""
    return [
        device(
            f"gpu-vfio-{n}",
            type="vfio",
            uuid=f"vfio-{n}",
            vendorID="0x10de",
            deviceID="0x2330",
            iommuFDEnabled=True,
            **{key: value(n) for key, value in more.items()},
        )
        for n in range(4)
    ]


def nics() -> list[dict[str, Any]]:
    """Return the slices of dra.net for two functions on each of two NUMA nodes."""
    return [
        device(
            f"pci-0000-{n + 1:02x}-00-0",
            **{
                "dra.net/ifName": f"eth{n}",
                "dra.net/mtu": 9000,
                "dra.net/rdma": True,
                "dra.net/sriov": False,
                "dra.net/virtual": False,
                "dra.net/pciAddress": address(n),
                "dra.net/numaNode": n // 2,
                f"{STANDARD}/pcieRoot": root(n),
            },
        )
        for n in range(4)
    ]


def cpus() -> list[dict[str, Any]]:
    """The NUMA nodes of a machine with two sockets, as dra.cpu 0.1 and 0.2 publish them."""
    return [
        {
            **device(
                f"cpudevnuma00{n}",
                capacity={"dra.cpu/cpu": "32"},
                **{
                    "dra.cpu/numaNodeID": n,
                    "dra.cpu/socketID": n // 2,
                    "dra.cpu/smtEnabled": True,
                    "dra.cpu/numCPUs": 32,
                    "dra.net/numaNode": n,
                },
            ),
            "allowMultipleAllocations": True,
        }
        for n in range(4)
    ]


def amd_gpus(*, old: bool) -> list[dict[str, Any]]:
    first = {"family": "AI", "driverSrcVersion": "ABC"}
    return [
        device(
            f"gpu-{n}-{n + 128}",
            type="amdgpu",
            productName="AMD Instinct MI300X",
            deviceID=f"id-{n}",
            partitionProfile="spx_nps1",
            capacity={"memory": "192Gi", "computeUnits": "304"},
            **(
                {**first, "cardIndex": n, "renderIndex": n + 128, "pciAddr": address(n)}
                if old
                else {"numaNode": n // 2}
            ),
            **{f"{STANDARD}/pcieRoot": root(n)},
        )
        for n in range(4)
    ]


def intel_gpus() -> list[dict[str, Any]]:
    return [
        device(
            f"gpu-{n}",
            model="Flex 170",
            family="Data Center Flex",
            driver="i915",
            sriov=True,
            pciId="0x56c0",
            pciAddress=f"0{n}:00.0",
            health="Healthy",
            capacity={"memory": "16Gi", "millicores": "1k"},
            **{f"{STANDARD}/pcieRoot": root(n), f"{STANDARD}/pciBusID": address(n)},
        )
        for n in range(4)
    ]


def tpus() -> list[dict[str, Any]]:
    return [device(str(n), index=n, uuid=f"tpu-{n}", tpuGen="v6e") for n in range(4)]


def channels() -> list[dict[str, Any]]:
    return [device("channel-0", type="channel", id=0), device("daemon-0", type="daemon", id=0)]


def example_gpus() -> list[dict[str, Any]]:
    """GPUs of the example driver, in its default settings (without partitions and PCIe roots)."""
    return [
        {
            **device(
                f"gpu-{n}",
                index=n,
                uuid=f"gpu-{n}",
                model="LATEST-GPU-MODEL",
                capacity={"memory": "80Gi", "compute": "100"},
            ),
            "allowMultipleAllocations": False,
        }
        for n in range(4)
    ]


def example_nics() -> list[dict[str, Any]]:
    capacity = {"vfs": "100", "ingressBandwidth": "100G", "egressBandwidth": "100G"}
    return [
        {
            **device(
                f"nic-{n}", index=n, uuid=f"net-{n}", model="LATEST-NET-MODEL", capacity=capacity
            ),
            "allowMultipleAllocations": True,
        }
        for n in range(4)
    ]


def example_cpus() -> list[dict[str, Any]]:
    return [
        {
            **device(f"numa-{n}", numaNodeID=n, capacity={"cpu.example.com/cpu": "4"}),
            "allowMultipleAllocations": True,
        }
        for n in range(8)
    ]


def rockchip_devices(**more: Any) -> list[dict[str, Any]]:
    """The NPU and the GPU of an RK3588; ``more`` are further attributes of both."""
    common = {"soc": "rk3588", **more}
    npu = device(
        "npu-0",
        type="npu",
        vendor="rockchip",
        model="rknn",
        kmd="rocket",
        coreCount=3,
        deviceNode="/dev/accel/accel0",
        capacity={"shares": "3"},
        **common,
    )
    gpu = device(
        "gpu-0",
        type="gpu",
        vendor="arm",
        model="Mali-G610",
        kmd="panthor",
        shaderCores=4,
        deviceNode="/dev/dri/renderD128",
        capacity={"shares": "8"},
        **common,
    )
    return [{**each, "allowMultipleAllocations": True} for each in (npu, gpu)]


DEVICES = {
    "gpus-25.3": lambda: gpus(
        minor=int, index=int, pcieBusID=address, **{f"{STANDARD}/pcieRoot": root}
    ),
    "migs-25.3": lambda: migs(
        index=int, parentIndex=lambda n: n // 2, pcieBusID=parent, **{f"{STANDARD}/pcieRoot": root}
    ),
    "gpus-25.8": lambda: gpus(pcieBusID=address, **{f"{STANDARD}/pcieRoot": root}),
    "migs-25.8": lambda: migs(pcieBusID=parent, **{f"{STANDARD}/pcieRoot": root}),
    "gpus-25.12": lambda: gpus(**{f"{STANDARD}/pciBusID": address, f"{STANDARD}/pcieRoot": root}),
    "migs-25.12": lambda: migs(**{f"{STANDARD}/pciBusID": parent, f"{STANDARD}/pcieRoot": root}),
    "vfio-0.4": lambda: vfio(numa=lambda n: n // 2, **{f"{STANDARD}/pciBusID": address}),
    "nics": nics,
    "cpus": cpus,
    "amd-0.1": lambda: amd_gpus(old=True),
    "amd-1.0": lambda: amd_gpus(old=False),
    "intel": intel_gpus,
    "tpus": tpus,
    "channels": channels,
    "example-gpus": example_gpus,
    "example-nics": example_nics,
    "example-cpus": example_cpus,
    "rockchip-0.1": rockchip_devices,
    "rockchip-0.5": lambda: rockchip_devices(deviceGid=44),
}


def of(driver: str, name: str) -> str:
    return f'device.attributes["{driver}"].{name}'


def has(driver: str, name: str) -> str:
    return f'"{name}" in device.attributes["{driver}"]'


def steps(
    driver: str, start: str, to: str, devices: str, source: str, *rows: tuple[Ask, Any]
) -> list[Case]:
    return [Case(driver, start, to, devices, ask, expected, source) for ask, expected in rows]


NV = "gpu.nvidia.com"
INDEX = (
    f"{NV}/index",
    f"{NVIDIA}@v25.8.1 {GPU}/deviceinfo.go has no index, minor, parentIndex; v25.3.2 has",
)
BUS = f"{NVIDIA}@v25.12.0 {GPU}/deviceinfo.go has deviceattribute.StandardDeviceAttributePrefix + pciBusID in place of pcieBusID"
ROCKCHIP = "dra.rockchip.com"
CASES = [
    *steps(
        NV, "25.3", "25.8", "gpus-25.3", INDEX[1],
        (Ask(f"{of(NV, 'index')} == 0"), ("breaks", f"{NV}/index")),
        (Ask(f"{of(NV, 'minor')} < 2"), ("breaks", f"{NV}/minor")),
        (Ask(f"{has(NV, 'index')} && {of(NV, 'index')} == 1"), ("breaks", f"{NV}/index")),
        (Ask(f"!({has(NV, 'index')}) || {of(NV, 'index')} == 1"), ("changes", f"{NV}/index")),
        (Ask(distinct=f"{NV}/index", count=2), ("breaks", f"{NV}/index")),
        (Ask(distinct=f"{NV}/minor", count=4), ("breaks", f"{NV}/minor")),
        (Ask(f"{of(NV, 'pcieBusID')} == '{address(1)}'"), None),
        (Ask(f"{of(NV, 'architecture')} == 'Hopper'"), None),
        (Ask(match=f"{STANDARD}/pcieRoot", count=2), None),
        (Ask(distinct=f"{NV}/uuid", count=2), None),
        (Ask(capacity="memory"), None),
    ),
    *steps(
        NV, "25.3", "25.8", "migs-25.3", INDEX[1],
        (Ask(match=f"{NV}/parentIndex", count=2), ("breaks", f"{NV}/parentIndex")),
        (Ask(distinct=f"{NV}/parentIndex", count=2), ("breaks", f"{NV}/parentIndex")),
        (Ask(f"{of(NV, 'parentIndex')} == 0"), ("breaks", f"{NV}/parentIndex")),
        (Ask(match=f"{NV}/parentUUID", count=2), None),
        (Ask(capacity="memory"), None),
    ),
    *steps(
        NV, "25.8", "25.12", "gpus-25.8", BUS,
        (Ask(f"{of(NV, 'pcieBusID')} == '{address(1)}'"), ("breaks", f"{NV}/pcieBusID")),
        (Ask(f"{has(NV, 'pcieBusID')} && {of(NV, 'pcieBusID')} == '{address(1)}'"), ("breaks", f"{NV}/pcieBusID")),
        (Ask(f"!({has(NV, 'pcieBusID')}) || {of(NV, 'pcieBusID')} == '{address(1)}'"), ("changes", f"{NV}/pcieBusID")),
        (Ask(distinct=f"{NV}/pcieBusID", count=2), ("breaks", f"{NV}/pcieBusID")),
        (Ask(f"{of(STANDARD, 'pciBusID')} == '{address(1)}'"), ("changes", f"{STANDARD}/pciBusID")),
        (Ask(f"{has(STANDARD, 'pciBusID')} && {of(STANDARD, 'pciBusID')} == '{address(1)}'"), ("changes", f"{STANDARD}/pciBusID")),
        (Ask(f"!({has(STANDARD, 'pciBusID')}) || {of(STANDARD, 'pciBusID')} == '{address(1)}'"), ("changes", f"{STANDARD}/pciBusID")),
        (Ask(distinct=f"{STANDARD}/pciBusID", count=2), ("changes", f"{STANDARD}/pciBusID")),
        (Ask(f"{of(NV, 'addressingMode')} == 'HMM'"), ("changes", f"{NV}/addressingMode")),
        (Ask(f"{of(NV, 'productName')}.startsWith('NVIDIA')"), None),
        (Ask(capacity="memory"), None),
    ),
    *steps(
        NV, "25.8", "25.12", "migs-25.8", BUS,
        (Ask(match=f"{NV}/pcieBusID", count=2), ("breaks", f"{NV}/pcieBusID")),
        (Ask(match=f"{STANDARD}/pciBusID", count=2), ("changes", f"{STANDARD}/pciBusID")),
        (Ask(match=f"{NV}/parentUUID", count=2), None),
    ),
    *steps(
        NV, "25.12", "0.4", "gpus-25.12", f"{NVIDIA}@v0.4.1 {GPU}/deviceinfo.go; conformance: nvidia@25.12.0 plain, nvidia@0.4.1 plain",
        (Ask(f"{of(STANDARD, 'pciBusID')} == '{address(0)}'"), None),
        (Ask(f"{of(NV, 'brand')} == 'Nvidia'"), None),
        (Ask(match=f"{STANDARD}/pcieRoot", count=2), None),
        (Ask(distinct=f"{STANDARD}/pciBusID", count=2), None),
        (Ask(capacity="memory"), None),
    ),
    *steps(
        NV, "0.4", "0.5", "vfio-0.4", f"{NVIDIA}@95932046 {GPU}/deviceinfo.go has the standard numaNode in place of numa",
        (Ask(f"{of(NV, 'numa')} == 0"), ("breaks", f"{NV}/numa")),
        (Ask(match=f"{NV}/numa", count=2), ("breaks", f"{NV}/numa")),
        (Ask(f"!({has(NV, 'numa')}) || {of(NV, 'numa')} == 0"), ("changes", f"{NV}/numa")),
        (Ask(f"{of(STANDARD, 'numaNode')} == 1"), ("changes", f"{STANDARD}/numaNode")),
        (Ask(match=f"{STANDARD}/numaNode", count=2), ("changes", f"{STANDARD}/numaNode")),
        (Ask(f"{of(NV, 'iommuFDEnabled')}"), None),
        (Ask(match=f"{NV}/deviceID", count=2), None),
    ),
    *steps(
        NV, "0.4", "0.5", "gpus-25.12", f"{NVIDIA}@95932046 {GPU}/deviceinfo.go: numaNode where sysfs has it, shares with ConsumableShares",
        (Ask(f"{of(STANDARD, 'numaNode')} == 0"), ("changes", f"{STANDARD}/numaNode")),
        (Ask(match=f"{STANDARD}/numaNode", count=2), ("changes", f"{STANDARD}/numaNode")),
        (Ask(capacity="shares"), ("changes", f"{NV}/shares")),
        (Ask(f"{of(STANDARD, 'pciBusID')} == '{address(0)}'"), None),
    ),
    *steps(
        NV, "0.5", "main", "gpus-25.12", f"{NVIDIA} main site/content/docs/reference/resourceslice-attributes.md: news of vGPUs alone",
        (Ask(f"{of(NV, 'architecture')} == 'Hopper'"), None),
        (Ask(match=f"{STANDARD}/pcieRoot", count=2), None),
        (Ask(capacity="memory"), None),
    ),
    *[
        Case("compute-domain.nvidia.com", start, to, "channels", Ask(f"{of('compute-domain.nvidia.com', 'type')} == 'channel'"), None,
             f"{NVIDIA}@{start} and {to} cmd/compute-domain-kubelet-plugin/deviceinfo.go: type and id")
        for start, to in (("25.3", "25.8"), ("25.8", "25.12"), ("25.12", "0.4"), ("0.4", "0.5"), ("0.5", "main"))
    ],
    *steps(
        "dra.net", "1.0", "1.1", "nics", f"{DRANET}@v1.1.0 pkg/apis/attributes.go: isSriovVf, rdmaDevice, azure.dra.net/*",
        (Ask(f"{of('dra.net', 'isSriovVf')}"), ("changes", "dra.net/isSriovVf")),
        (Ask(f"{of('dra.net', 'rdmaDevice')} == 'mlx5_0'"), ("changes", "dra.net/rdmaDevice")),
        (Ask(match="azure.dra.net/placementGroupId", count=2), ("changes", "azure.dra.net/placementGroupId")),
        (Ask(f"{of('dra.net', 'rdma')} == true"), None),
    ),
    *steps(
        "dra.net", "1.1", "1.2", "nics", f"{DRANET}@v1.2.0 pkg/cloudprovider: oke.dra.net/*",
        (Ask(match="oke.dra.net/rackId", count=2), ("changes", "oke.dra.net/rackId")),
        (Ask(f"{of('dra.net', 'mtu')} >= 9000"), None),
    ),
    *steps(
        "dra.net", "1.2", "1.3", "nics", f"{DRANET}@v1.3.0 pkg/apis/attributes.go is as in v1.2.0",
        (Ask(match="dra.net/numaNode", count=2), None),
        (Ask(f"{of('dra.net', 'ifName')} == 'eth1'"), None),
    ),
    *steps(
        "dra.net", "1.3", "1.4", "nics", f"{DRANET}@v1.4.0 pkg/cloudprovider: alibaba.dra.net/*, azure.dra.net/interconnectGroupId",
        (Ask(f"{of('alibaba.dra.net', 'erdma')}"), ("changes", "alibaba.dra.net/erdma")),
        (Ask(match="azure.dra.net/interconnectGroupId", count=2), ("changes", "azure.dra.net/interconnectGroupId")),
        (Ask(distinct="dra.net/pciAddress", count=2), None),
    ),
    *steps(
        "dra.net", "1.4", "main", "nics", f"{DRANET}@f258477 pkg/inventory/db.go: the standard numaNode beside its own; conformance: dranet@main",
        (Ask(match=f"{STANDARD}/numaNode", count=2), ("changes", f"{STANDARD}/numaNode")),
        (Ask(f"{of(STANDARD, 'numaNode')} == 1"), ("changes", f"{STANDARD}/numaNode")),
        (Ask(f"!({has(STANDARD, 'numaNode')}) || {of(STANDARD, 'numaNode')} == 1"), ("changes", f"{STANDARD}/numaNode")),
        (Ask(match="dra.net/numaNode", count=2), None),
    ),
    *steps(
        "dra.cpu", "0.1", "0.2", "cpus", f"{CPU}@v0.2.0 pkg/driver/dra_hooks.go setPCIeRootsAttribute",
        (Ask(match=f"{STANDARD}/pcieRoot", count=2), ("changes", f"{STANDARD}/pcieRoot")),
        (Ask(f"{of('dra.cpu', 'socketID')} == 0"), None),
        (Ask(capacity="dra.cpu/cpu"), None),
    ),
    *steps(
        "dra.cpu", "0.2", "main", "cpus", f"{CPU}@de98098 pkg/device/builder.go: the standard numaNode, with the value of numaNodeID",
        (Ask(f"{of(STANDARD, 'numaNode')} == 0"), ("changes", f"{STANDARD}/numaNode")),
        (Ask(f"{of('dra.cpu', 'numaNodeID')} == 0"), None),
        (Ask(distinct="dra.cpu/socketID", count=2), None),
        (Ask(capacity="dra.cpu/cpu"), None),
    ),
    *steps(
        "gpu.amd.com", "0.1", "1.0.0", "amd-0.1", f"{AMD}@2622427 and 198fdc7 cmd/gpu-kubeletplugin/deviceinfo.go",
        (Ask(f"{of('gpu.amd.com', 'cardIndex')} == 0"), ("breaks", "gpu.amd.com/cardIndex")),
        (Ask(f"{of('gpu.amd.com', 'renderIndex')} == 128"), ("breaks", "gpu.amd.com/renderIndex")),
        (Ask(f"{of('gpu.amd.com', 'pciAddr')} == '{address(0)}'"), ("breaks", "gpu.amd.com/pciAddr")),
        (Ask(match="gpu.amd.com/family", count=2), ("breaks", "gpu.amd.com/family")),
        (Ask(distinct="gpu.amd.com/cardIndex", count=2), ("breaks", "gpu.amd.com/cardIndex")),
        (Ask(f"!({has('gpu.amd.com', 'family')}) || {of('gpu.amd.com', 'family')} == 'AI'"), ("info", "gpu.amd.com/family")),
        (Ask(f"{of('gpu.amd.com', 'numaNode')} == 0"), ("changes", "gpu.amd.com/numaNode")),
        (Ask(f"{of('gpu.amd.com', 'productName')}.contains('MI300X')"), None),
        (Ask(capacity="computeUnits"), None),
    ),
    *steps(
        "gpu.amd.com", "1.0.0", "1.0.1", "amd-1.0", f"{AMD}#68: driverVersionFull",
        (Ask(f"{of('gpu.amd.com', 'driverVersionFull')} == '6.14.14'"), ("changes", "gpu.amd.com/driverVersionFull")),
        (Ask(match="gpu.amd.com/numaNode", count=2), None),
    ),
    *steps(
        "gpu.amd.com", "1.0.1", "main", "amd-1.0", f"{AMD}@586f959: the standard numaNode, partitions as devices",
        (Ask(match=f"{STANDARD}/numaNode", count=2), ("changes", f"{STANDARD}/numaNode")),
        (Ask(f"{of('gpu.amd.com', 'computePartition')} == 'spx'"), ("changes", "gpu.amd.com/computePartition")),
        (Ask(capacity="partitions"), ("changes", "gpu.amd.com/partitions")),
        (Ask(f"{of('gpu.amd.com', 'deviceID')} == 'id-1'"), None),
    ),
    *steps(
        "gpu.intel.com", "0.10", "0.11", "intel", f"{INTEL}@gpu-v0.11.0 cmd/kubelet-gpu-plugin/node_state.go: type",
        (Ask(f"{of('gpu.intel.com', 'type')} == 'gpu'"), ("changes", "gpu.intel.com/type")),
        (Ask(match="gpu.intel.com/type", count=2), ("changes", "gpu.intel.com/type")),
        (Ask(f"{of('gpu.intel.com', 'family')} == 'Data Center Flex'"), None),
        (Ask(capacity="millicores"), None),
    ),
    *steps(
        "tpu.google.com", "0.1", "0.2", "tpus", f"{TPU}@v0.2.0 cmd/tpu-dra-kubeletplugin/manager.go: brand, accelerator, chipCount, topology",
        (Ask(f"{of('tpu.google.com', 'brand')} == 'Google'"), ("changes", "tpu.google.com/brand")),
        (Ask(match="tpu.google.com/accelerator", count=4), ("changes", "tpu.google.com/accelerator")),
        (Ask(f"{of('tpu.google.com', 'chipCount')} == 4"), ("changes", "tpu.google.com/chipCount")),
        (Ask(f"{of('tpu.google.com', 'tpuGen')} == 'v6e'"), None),
    ),
    *steps(
        "cpu.example.com", "0.4", "0.5", "example-cpus", f"{EXAMPLE}#127 (health, the news of v0.5.0 by #271) and #262 change no attribute of internal/profiles/cpu/cpu.go",
        (Ask(f"{of('cpu.example.com', 'numaNodeID')} == 0"), None),
        (Ask(distinct="cpu.example.com/numaNodeID", count=2), None),
        (Ask(capacity="cpu.example.com/cpu"), None),
    ),
    *steps(
        "gpu.example.com", "0.4", "0.5", "example-gpus", f"{EXAMPLE}@ad2f649 (#268) internal/profiles/gpu/gpu.go: the standard pcieRoot, if publishPCIeRoot; the rest as in v0.4.0",
        (Ask(match=f"{STANDARD}/pcieRoot", count=2), ("changes", f"{STANDARD}/pcieRoot")),
        (Ask(f"{of(STANDARD, 'pcieRoot')} == 'pci0000:00'"), ("changes", f"{STANDARD}/pcieRoot")),
        (Ask(f"{of('gpu.example.com', 'model')} == 'LATEST-GPU-MODEL'"), None),
        (Ask(distinct="gpu.example.com/index", count=2), None),
        (Ask(capacity="compute"), None),
    ),
    *steps(
        "net.example.com", "0.4", "0.5", "example-nics", f"{EXAMPLE}@ad2f649 (#268) internal/profiles/net/net.go: the standard pcieRoot, if publishPCIeRoot; the rest as in v0.4.0",
        (Ask(match=f"{STANDARD}/pcieRoot", count=2), ("changes", f"{STANDARD}/pcieRoot")),
        (Ask(f"{of(STANDARD, 'pcieRoot')} == 'pci0000:80'"), ("changes", f"{STANDARD}/pcieRoot")),
        (Ask(match="net.example.com/model", count=2), None),
        (Ask(distinct="net.example.com/index", count=2), None),
        (Ask(capacity="ingressBandwidth"), None),
    ),
    *steps(
        ROCKCHIP, "0.1", "0.2", "rockchip-0.1", f"{ROCKCHIP_CODE}@06bba6b (0.2.0) cmd/kubeletplugin/cdi.go: names of variables in containers",
        (Ask(f"{of(ROCKCHIP, 'type')} == 'npu'"), None),
        (Ask(match=f"{ROCKCHIP}/soc", count=2), None),
        (Ask(capacity="shares"), None),
    ),
    *steps(
        ROCKCHIP, "0.2", "0.3", "rockchip-0.1", f"{ROCKCHIP_CODE} CHANGELOG.md: 0.3.0 has another base image (b509ad7)",
        (Ask(f"{of(ROCKCHIP, 'kmd')} == 'panthor'"), None),
        (Ask(distinct=f"{ROCKCHIP}/vendor", count=2), None),
    ),
    *steps(
        ROCKCHIP, "0.3", "0.4", "rockchip-0.1", f"{ROCKCHIP_CODE}@fb9815e (0.4.0) cmd/kubeletplugin/devices.go: a taint on what is lost, attributes as before",
        (Ask(f"{of(ROCKCHIP, 'deviceNode')} == '/dev/accel/accel0'"), None),
        (Ask(f"{has(ROCKCHIP, 'coreCount')} && {of(ROCKCHIP, 'coreCount')} == 3"), None),
        (Ask(capacity="shares"), None),
    ),
    *steps(
        ROCKCHIP, "0.4", "0.5", "rockchip-0.1", f"{ROCKCHIP_CODE}@06b5502 (0.5.0), as in @54c3f56 cmd/kubeletplugin/devices.go: deviceGid, where it is known",
        (Ask(f"{of(ROCKCHIP, 'deviceGid')} == 44"), ("changes", f"{ROCKCHIP}/deviceGid")),
        (Ask(f"!({has(ROCKCHIP, 'deviceGid')}) || {of(ROCKCHIP, 'deviceGid')} == 44"), ("info", f"{ROCKCHIP}/deviceGid")),
        (Ask(match=f"{ROCKCHIP}/deviceGid", count=2), ("changes", f"{ROCKCHIP}/deviceGid")),
        (Ask(f"{of(ROCKCHIP, 'model')} == 'Mali-G610'"), None),
    ),
    *steps(
        ROCKCHIP, "0.5", "0.6", "rockchip-0.5", f"{ROCKCHIP_CODE}@54c3f56 (0.6.0) cmd/kubeletplugin/devices.go shareRequestPolicy: between one share and all, as one is",
        (Ask(capacity="shares"), None),
        (Ask(match=f"{ROCKCHIP}/deviceGid", count=2), None),
        (Ask(f"{has(ROCKCHIP, 'shaderCores')} && {of(ROCKCHIP, 'shaderCores')} == 4"), None),
    ),
    *steps(
        ROCKCHIP, "0.6", "0.7", "rockchip-0.5", f"{ROCKCHIP_CODE}@3aac1c8 (0.7.0) cmd/kubeletplugin/devices.go and internal/discovery/vpu.go: function and block",
        (Ask(f"{has(ROCKCHIP, 'block')} && {of(ROCKCHIP, 'block')} == 'rkvdec'"), ("changes", f"{ROCKCHIP}/block")),
        (Ask(f"{of(ROCKCHIP, 'function')} == 'decode'"), ("changes", f"{ROCKCHIP}/function")),
        (Ask(match=f"{ROCKCHIP}/block", count=2), ("changes", f"{ROCKCHIP}/block")),
        (Ask(f"{of(ROCKCHIP, 'vendor')} == 'arm'"), None),
        (Ask(capacity="shares"), None),
    ),
]  # fmt: skip


def devices_claim(ask: Ask, class_name: str) -> dict[str, Any]:
    more: dict[str, Any] = {}
    if ask.selector:
        more["selectors"] = [{"cel": {"expression": ask.selector}}]
    if ask.capacity:
        more["capacity"] = {"requests": {ask.capacity: "1"}}
    constraints = [
        {kind: name} for kind, name in (("matchAttribute", ask.match), ("distinctAttribute", ask.distinct)) if name
    ]  # fmt: skip
    made = claim("asks", request("r", class_name, ask.count, **more))
    if constraints:
        made["spec"]["devices"]["constraints"] = constraints
    return made


def named(case: Case, *objects: dict[str, Any]) -> list[Finding]:
    """The findings of the driver's step that name one of the claims, templates and classes."""
    machine = [
        node("node-1"),
        slice_of(case.driver, "node-1", *DEVICES[case.devices]()),
        device_class("all", f'device.driver == "{case.driver}"'),
        claim("bystander", request("r", "all")),
    ]
    compared = UpgradeInput(
        (),
        from_objects([*machine, *objects]),
        versions={case.driver: f"{case.start}..{case.to}"},
        gates={"DRAConsumableCapacity": True},
    )
    (step,) = [
        each for each in plan(compared, "1.37", "1.37").steps if each.step.startswith(case.driver)
    ]
    of_attributes = [one for one in step.findings if one.code != "may-match-more"]
    assert not [one for one in of_attributes if "ResourceClaim/ml/bystander" in one.objects]
    kinds = ("ResourceClaim", "DeviceClass")
    return [one for one in of_attributes if any(name.startswith(kinds) for name in one.objects)]


@pytest.mark.parametrize(
    "case", CASES, ids=lambda one: f"{one.driver}-{one.start}-{one.to}-{one.ask.label}"
)
def test_claim_reading_a_changed_attribute_is_named(case: Case) -> None:
    found = named(case, devices_claim(case.ask, "all"))
    if case.expected is None:
        assert not found, case.source
        return
    (finding,) = found
    assert "ResourceClaim/ml/asks" in finding.objects
    assert finding.level == case.expected[0], (finding.message, case.source)
    assert finding.reads is not None
    assert case.expected[1] in [read.attribute for read in finding.reads]
    assert case.expected[1] in finding.message


def test_every_pair_of_neighbouring_versions_has_cases() -> None:
    from itertools import pairwise

    from dractl.facts.drivers import driver, names

    pairs = {(name, *pair) for name in names() for pair in pairwise(driver(name).versions)}
    assert {(case.driver, case.start, case.to) for case in CASES} == pairs
    assert len(CASES) >= 60
