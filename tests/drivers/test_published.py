"""Devices as real nodes published them, rendered from the facts that those nodes had.

The slices stand in kubernetes-sigs/dranet, examples/: aws_eks_examples/gpu-efa, azure_aks_examples/{gb300,mi300x},
oci_oke_examples/BM.GPU.GB200-v3.4. Attributes of cloud providers are not rendered.
"""

from __future__ import annotations

import pytest

from dractl.drivers import Options, find
from dractl.model.releases import Target
from dractl.topology import Gpu, Machine, NetInterface, Nvidia, PciDevice, RdmaDevice


def publish_device(driver: str, machine: Machine, version: str) -> dict:
    options = Options("node-1", Target.of("1.35"), {driver: version})
    (device,) = find(driver).inventory(machine, options).devices
    return device


def function(bdf: str, path: str, **facts) -> PciDevice:
    return PciDevice(bdf, f"{path}/{bdf}", **facts)


@pytest.mark.parametrize(
    ("gpu", "nvidia", "root", "wanted"),
    [
        (
            Gpu(
                "0000:10:1c.0",
                "0x10de",
                "nvml",
                minor=0,
                uuid="GPU-8a10b6f7-077c-d51f-48f0-eba64feb5e9f",
                name="NVIDIA A100-SXM4-40GB",
                brand="Nvidia",
                architecture="Ampere",
                cuda_compute_capability="8.0",
                memory_bytes=40 << 30,
                addressing_mode="HMM",
            ),
            Nvidia("580.126.09", "13.0"),
            "pci0000:10",
            {
                "name": "gpu-0",
                "attributes": {
                    "addressingMode": {"string": "HMM"},
                    "architecture": {"string": "Ampere"},
                    "brand": {"string": "Nvidia"},
                    "cudaComputeCapability": {"version": "8.0.0"},
                    "cudaDriverVersion": {"version": "13.0.0"},
                    "driverVersion": {"version": "580.126.9"},
                    "productName": {"string": "NVIDIA A100-SXM4-40GB"},
                    "resource.kubernetes.io/pciBusID": {"string": "0000:10:1c.0"},
                    "resource.kubernetes.io/pcieRoot": {"string": "pci0000:10"},
                    "type": {"string": "gpu"},
                    "uuid": {"string": "GPU-8a10b6f7-077c-d51f-48f0-eba64feb5e9f"},
                },
                "capacity": {"memory": {"value": "40Gi"}},
            },
        ),
        (
            Gpu(
                "0008:06:00.0",
                "0x10de",
                "nvml",
                minor=0,
                uuid="GPU-ad11da28-7944-0f37-addf-86beae05fed3",
                name="NVIDIA GB300",
                brand="Nvidia",
                architecture="Blackwell",
                cuda_compute_capability="10.3",
                memory_bytes=284208 << 20,
                addressing_mode="ATS",
            ),
            Nvidia("580.105.08", "13.0"),
            "pci0008:00/0008:00:00.0/0008:01:00.0",
            {
                "name": "gpu-0",
                "attributes": {
                    "addressingMode": {"string": "ATS"},
                    "architecture": {"string": "Blackwell"},
                    "brand": {"string": "Nvidia"},
                    "cudaComputeCapability": {"version": "10.3.0"},
                    "cudaDriverVersion": {"version": "13.0.0"},
                    "driverVersion": {"version": "580.105.8"},
                    "productName": {"string": "NVIDIA GB300"},
                    "resource.kubernetes.io/pciBusID": {"string": "0008:06:00.0"},
                    "resource.kubernetes.io/pcieRoot": {"string": "pci0008:00"},
                    "type": {"string": "gpu"},
                    "uuid": {"string": "GPU-ad11da28-7944-0f37-addf-86beae05fed3"},
                },
                "capacity": {"memory": {"value": "284208Mi"}},
            },
        ),
    ],
    ids=["EKS A100", "AKS GB300"],
)
def test_gpus(gpu: Gpu, nvidia: Nvidia, root: str, wanted: dict) -> None:
    machine = Machine(
        pci_devices=(function(str(gpu.bdf), root, driver="nvidia"),), gpus=(gpu,), nvidia=nvidia
    )
    assert publish_device("gpu.nvidia.com", machine, "25.12.0") == wanted


MELLANOX = {"class_code": "0x020000", "driver": "mlx5_core", "vendor": "0x15b3"}


@pytest.mark.parametrize(
    ("machine", "version", "wanted"),
    [
        (
            Machine(
                pci_devices=(
                    function(
                        "0000:10:1b.0",
                        "pci0000:10",
                        class_code="0x020000",
                        driver="efa",
                        vendor="0x1d0f",
                        device="0xefa0",
                        subsystem_device="0xefa0",
                        numa_node=0,
                    ),
                ),
                rdma_devices=(RdmaDevice("rdmap16s27", "0000:10:1b.0"),),
            ),
            "1.1",
            {
                "dra.net/numaNode": {"int": 0},
                "dra.net/pciAddress": {"string": "0000:10:1b.0"},
                "dra.net/pciDevice": {"string": "Elastic Fabric Adapter (EFA)"},
                "dra.net/pciSubsystem": {"string": "efa0"},
                "dra.net/pciVendor": {"string": "Amazon.com, Inc."},
                "dra.net/rdma": {"bool": True},
                "dra.net/rdmaDevice": {"string": "rdmap16s27"},
                "resource.kubernetes.io/pcieRoot": {"string": "pci0000:10"},
            },
        ),
        (
            Machine(
                pci_devices=(
                    function(
                        "0000:20:01.0",
                        "pci0000:20",
                        class_code="0x020000",
                        driver="ena",
                        vendor="0x1d0f",
                        device="0xec20",
                        subsystem_device="0xec20",
                        numa_node=0,
                    ),
                ),
                net_interfaces=(
                    NetInterface(
                        "ens65",
                        "0000:20:01.0",
                        "device",
                        virtual=False,
                        mtu=9001,
                        encapsulation="ether",
                        alias="",
                        operstate="up",
                        mac="0e:96:fe:e8:a3:f5",
                        addresses=("192.168.155.224/19", "fe80::c96:feff:fee8:a3f5/64"),
                    ),
                ),
            ),
            "1.1",
            {
                "dra.net/alias": {"string": ""},
                "dra.net/ebpf": {"bool": False},
                "dra.net/encapsulation": {"string": "ether"},
                "dra.net/ifName": {"string": "ens65"},
                "dra.net/ipv4": {"string": "192.168.155.224/19"},
                "dra.net/mac": {"string": "0e:96:fe:e8:a3:f5"},
                "dra.net/mtu": {"int": 9001},
                "dra.net/numaNode": {"int": 0},
                "dra.net/pciAddress": {"string": "0000:20:01.0"},
                "dra.net/pciDevice": {"string": "Elastic Network Adapter (ENA)"},
                "dra.net/pciSubsystem": {"string": "ec20"},
                "dra.net/pciVendor": {"string": "Amazon.com, Inc."},
                "dra.net/rdma": {"bool": False},
                "dra.net/sriov": {"bool": False},
                "dra.net/state": {"string": "up"},
                "dra.net/type": {"string": "device"},
                "dra.net/virtual": {"bool": False},
                "resource.kubernetes.io/pcieRoot": {"string": "pci0000:20"},
            },
        ),
        (
            Machine(
                pci_devices=(
                    function(
                        "0101:00:00.0",
                        "LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/47505500-0001/pci0101:00",
                        device="0x101e",
                        subsystem_device="0x0101",
                        numa_node=0,
                        **MELLANOX,
                    ),
                ),
                rdma_devices=(RdmaDevice("mlx5_0", "0101:00:00.0"),),
            ),
            "1.1",
            {  # below Hyper-V's bus: no pcieRoot
                "dra.net/numaNode": {"int": 0},
                "dra.net/pciAddress": {"string": "0101:00:00.0"},
                "dra.net/pciDevice": {"string": "ConnectX Family mlx5Gen Virtual Function"},
                "dra.net/pciSubsystem": {"string": "0101"},
                "dra.net/pciVendor": {"string": "Mellanox Technologies"},
                "dra.net/rdma": {"bool": True},
                "dra.net/rdmaDevice": {"string": "mlx5_0"},
            },
        ),
        (
            Machine(
                pci_devices=(
                    function(
                        "0000:03:00.0",
                        "pci0000:00/0000:00:00.0/0000:01:00.0/0000:02:00.0",
                        device="0x1023",
                        numa_node=0,
                        **MELLANOX,
                    ),
                ),
                net_interfaces=(
                    NetInterface(
                        "rdma0",
                        "0000:03:00.0",
                        "device",
                        virtual=False,
                        mtu=9000,
                        operstate="up",
                        rdma_device="mlx5_0",
                        sriov_total_vfs=16,
                        sriov_num_vfs=0,
                        mac="60:5e:65:14:0f:10",
                    ),
                ),
            ),
            "1.1",
            {
                "dra.net/alias": {"string": ""},
                "dra.net/ebpf": {"bool": False},
                "dra.net/ifName": {"string": "rdma0"},
                "dra.net/mac": {"string": "60:5e:65:14:0f:10"},
                "dra.net/mtu": {"int": 9000},
                "dra.net/numaNode": {"int": 0},
                "dra.net/pciAddress": {"string": "0000:03:00.0"},
                "dra.net/pciDevice": {"string": "CX8 Family [ConnectX-8]"},
                "dra.net/pciVendor": {"string": "Mellanox Technologies"},
                "dra.net/rdma": {"bool": True},
                "dra.net/sriov": {"bool": True},
                "dra.net/sriovVfs": {"int": 0},
                "dra.net/state": {"string": "up"},
                "dra.net/type": {"string": "device"},
                "dra.net/virtual": {"bool": False},
                "resource.kubernetes.io/pcieRoot": {"string": "pci0000:00"},
            },
        ),
    ],
    ids=["EKS EFA", "EKS ENA", "AKS InfiniBand VF", "OKE ConnectX-8"],
)
def test_network_devices(machine: Machine, version: str, wanted: dict) -> None:
    device = publish_device("dra.net", machine, version)
    assert device["attributes"] == wanted
    assert device["name"] == "pci-" + wanted["dra.net/pciAddress"]["string"].replace(
        ":", "-"
    ).replace(".", "-")
