"""``gpu.amd.com``: AMD GPUs as a whole. Partitions and VFIO devices are not rendered.

Source: ROCm/k8s-gpu-dra-driver, cmd/gpu-kubeletplugin (deviceinfo.go, discovery.go), pkg/amdgpu. It has no releases:
versions here are the months of its sources.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dractl.drivers import amd_partitions
from dractl.drivers.profile import (
    Attribute,
    Capacity,
    Catalogue,
    Inventory,
    Options,
    device_class,
    one_slice,
    version_index,
)
from dractl.drivers.standard import NUMA_NODE, PCI_BUS_ID, PCIE_ROOT, bus_id, numa_node, pcie_root
from dractl.drivers.values import binary_quantity, typed, version

if TYPE_CHECKING:
    from dractl.topology.machine import Gpu, Machine, PciDevice

NAME = "gpu.amd.com"
VENDOR = "0x1002"
_MEMORY_WITHOUT_KFD = 80 << 30  # discovery.go getMemoryBytes, of GPUs that KFD does not list
_PRODUCT_NAME = str.maketrans({" ": "_", "(": None, ")": None})  # pkg/amdgpu/amdgpu.go:206

CATALOGUE = Catalogue(
    title="AMD GPUs",
    source="ROCm/k8s-gpu-dra-driver cmd/gpu-kubeletplugin/deviceinfo.go",
    versions=("2025.10", "2026.8", "main"),
    released="2026.8",
    attributes=(
        Attribute("type", "string", "kind of device", values=("amdgpu", "amdgpu-partition", "vfio")),
        Attribute(
            "productName",
            "string",
            "product name with _ for blanks, without parentheses, such as AMD_Instinct_MI300X_OAM; empty if unknown",
        ),
        Attribute("numaNode", "int", "the PCI function's NUMA node, -1 where there is none", "2026.8"),
        Attribute(
            "driverVersion", "version", "of amdgpu, its first three parts", when="where the module has a version file"
        ),
        Attribute("driverVersionFull", "string", "of amdgpu", "2026.8", when="where the module has a version file"),
        Attribute("deviceID", "string", "the PCI device id; in 2025.10 KFD's unique id, decimal"),
        Attribute(
            "partitionProfile",
            "string",
            "compute and memory partition, such as spx_nps1",
            when="where the GPU can be partitioned",
        ),
        Attribute(
            "pciAddr", "string", "PCI address", when="in 2025.10; then of vfio devices and with the gate AutoPartition"
        ),
        Attribute("cardIndex", "int", "N of /dev/dri/cardN", removed="2026.8"),
        Attribute("renderIndex", "int", "N of /dev/dri/renderDN", removed="2026.8"),
        Attribute("family", "string", "GPU family, as libdrm says (not rendered)", removed="2026.8"),
        Attribute("driverSrcVersion", "string", "source version of the module (not rendered)", removed="2026.8"),
        Attribute(PCI_BUS_ID, "string", "the PCI address", "2026.8", when="where it has the common form"),
        Attribute(PCIE_ROOT, "string", "the PCIe root complex, such as pci0000:17", when="where the root can be told"),
        Attribute(NUMA_NODE, "int", "the PCI function's NUMA node", "main", when="where the function has a NUMA node"),
        *amd_partitions.ATTRIBUTES,
    ),
    capacities=(
        Capacity("memory", "VRAM as KFD's first memory bank has it; 80Gi if KFD does not list the GPU"),
        Capacity("computeUnits", "compute units; 0 if KFD does not list the GPU"),
        Capacity("simdUnits", "SIMD units; 0 if KFD does not list the GPU"),
        *amd_partitions.CAPACITIES,
    ),
    taints=amd_partitions.TAINTS,
    notes=(
        "devices are named gpu-<cardN>-<renderDN>: both numbers can change at a reboot",
        *amd_partitions.NOTES,
    ),
)


@dataclass(frozen=True, slots=True)
class _Amd:
    name: str = NAME
    catalogue: Catalogue = CATALOGUE

    def present(self, machine: Machine) -> bool:
        return any(gpu.vendor == VENDOR and gpu.amd is not None for gpu in machine.gpus)

    def device_classes(self, options: Options) -> tuple[dict[str, Any], ...]:  # noqa: ARG002
        return (device_class(NAME, "device.driver == 'gpu.amd.com'"),)

    def inventory(self, machine: Machine, options: Options) -> Inventory:
        release = CATALOGUE.versions[version_index(CATALOGUE, NAME, options.versions.get(NAME))]
        devices, notices = [], []
        for gpu in machine.gpus:
            if gpu.vendor != VENDOR:
                continue
            if gpu.amd is None or gpu.amd.card_index is None or gpu.amd.render_minor is None:
                notices.append(f"{gpu.bdf}: not published, the amdgpu driver shows no card of this GPU")
            elif gpu.amd.compute_partition not in (None, "spx"):
                notices.append(
                    f"{gpu.bdf}: partitioned ({gpu.amd.compute_partition}); dractl does not render partitions"
                )
            elif gpu.amd.compute_partition is None and release == "2025.10":
                notices.append(f"{gpu.bdf}: without partition files; the driver leaves such GPUs out up to 2025.10")
            else:
                pci = machine.pci.get(gpu.bdf) if gpu.bdf is not None else None
                devices.append(_device(gpu, pci, release))
        devices.sort(key=lambda device: device["name"])
        return Inventory(one_slice(devices), notices=tuple(notices))


PROFILE = _Amd()


def _device(gpu: Gpu, pci: PciDevice | None, release: str) -> dict[str, Any]:
    amd = gpu.amd
    assert amd is not None
    profile = (
        f"{amd.compute_partition}_{amd.memory_partition}" if amd.compute_partition and amd.memory_partition else None
    )
    full = gpu.driver_version
    found: dict[str, Any] = {
        "type": "amdgpu",
        "productName": (gpu.name or "").translate(_PRODUCT_NAME),
        "partitionProfile": profile,
    }
    if release == "2025.10":
        found |= {
            "pciAddr": gpu.bdf,
            "cardIndex": amd.card_index,
            "renderIndex": amd.render_minor,
            "deviceID": _decimal(amd.unique_id) if gpu.source == "kfd" else "",
            # As it is: the API server refuses 6.12.12.31400000, and the empty string where amdgpu has no version file.
            "driverVersion": {"version": full or ""},
        }
    else:
        found |= {
            "numaNode": -1 if pci is None or pci.numa_node is None else pci.numa_node,
            "driverVersion": version(".".join(full.split(".")[:3])) if full else None,
            "driverVersionFull": full,
            "deviceID": pci.device if pci is not None else None,
            **bus_id(pci),
        }
    found |= pcie_root(pci)
    if release == "main":
        found |= numa_node(pci)
    in_kfd = gpu.source == "kfd"
    capacity = {
        "memory": gpu.memory_bytes if in_kfd and gpu.memory_bytes else _MEMORY_WITHOUT_KFD,
        "computeUnits": amd.simd_count // amd.simd_per_cu if in_kfd and amd.simd_count and amd.simd_per_cu else 0,
        "simdUnits": (amd.simd_count or 0) if in_kfd else 0,
    }
    return {
        "name": f"gpu-{amd.card_index}-{amd.render_minor}",
        "attributes": typed(found),
        "capacity": {name: {"value": binary_quantity(number)} for name, number in capacity.items()},
    }


def _decimal(unique: str | None) -> str | None:
    """KFD's unique_id, which is decimal; sysfs has the same number in hexadecimal (amdgpu.go topoUniqueIdRe)."""
    try:
        return None if unique is None else str(int(unique, 16))
    except ValueError:
        return None
