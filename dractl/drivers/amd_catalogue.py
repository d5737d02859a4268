"""The catalogue of ``gpu.amd.com``, as data.

Source: ROCm/k8s-gpu-dra-driver. Versions here are the months of its sources: 2025.10 is commit 2622427, whose chart is
v0.1.0; 2026.8 is the state around 586f959 (cmd/gpu-kubeletplugin, pkg/amdgpu, pkg/consts, docs). Releases v1.0.0
(7bf0efa) and v1.0.1 lie between; at 198fdc7 (chart v0.2.0), four weeks before v1.0.0, GetDevice sets the attributes of
2026.8 except driverVersionFull, without the gates AutoPartition and VFIOPassthrough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.drivers.profile import Attribute, Capacity, Catalogue, Setting, Taint, version_index
from dractl.drivers.standard import NUMA_NODE, PCI_BUS_ID, PCIE_ROOT

if TYPE_CHECKING:
    from dractl.drivers.profile import Options

NAME = "gpu.amd.com"
VENDOR = "0x1002"
# The chart of 198fdc7, and releases after it whose sources dractl does not know exactly.
BETWEEN = ("0.2", "0.2.0", "v0.2.0", "1.0", "1.0.0", "1.0.1", "v1.0.0", "v1.0.1")

GPU, PARTITION, VFIO = "amdgpu", "amdgpu-partition", "vfio"
_GPUS = (GPU, PARTITION)
_AUTO = "with autoPartition, of GPUs that can be partitioned"
_KNOWN = "where the module has a version file"

CATALOGUE = Catalogue(
    title="AMD GPUs",
    source="ROCm/k8s-gpu-dra-driver cmd/gpu-kubeletplugin/deviceinfo.go",
    versions=("2025.10", "2026.8", "main"),
    released="2026.8",
    tags={"2025.10": ("v0.1.0",)},
    aliases={"0.1": "2025.10", **dict.fromkeys(BETWEEN, "2026.8")},
    attributes=(
        Attribute("type", "string", "kind of device", values=(GPU, PARTITION, VFIO)),
        Attribute(
            "productName",
            "string",
            "product name with _ for blanks, without parentheses, such as AMD_Instinct_MI300X_OAM; empty if unknown",
            devices=_GPUS,
        ),
        Attribute("numaNode", "int", "the PCI function's NUMA node, -1 where there is none", "2026.8"),
        Attribute(
            "driverVersion",
            "version",
            "version of the amdgpu module, its first three parts",
            when=_KNOWN,
            devices=_GPUS,
        ),
        Attribute("driverVersionFull", "string", "of amdgpu", "2026.8", when=_KNOWN, devices=_GPUS),
        Attribute(
            "deviceID",
            "string",
            "PCI device id, such as 0x74a1; in 2025.10 KFD's unique id, decimal, and of GPUs only",
            when="where it can be read",
        ),
        Attribute(
            "partitionProfile",
            "string",
            "compute and memory partition, such as spx_nps1",
            when="where the GPU can be partitioned; not with autoPartition",
            devices=_GPUS,
        ),
        Attribute(
            "pciAddr", "string", "PCI address", when="in 2025.10 of GPUs; then of vfio devices and with autoPartition"
        ),
        Attribute("cardIndex", "int", "N of /dev/dri/cardN", removed="2026.8"),
        Attribute("renderIndex", "int", "N of /dev/dri/renderDN", removed="2026.8"),
        Attribute(
            "family",
            "string",
            "GPU family; AI of MI300 and MI350",
            removed="2026.8",
            when="where KFD lists the GPU (the driver asks libdrm)",
        ),
        Attribute(
            "driverSrcVersion",
            "string",
            "source version of the module; like driverVersion, empty if either is unknown",
            removed="2026.8",
        ),
        Attribute("parentPciAddr", "string", "PCI address of the GPU", removed="2026.8", devices=(PARTITION,)),
        Attribute("parentDeviceID", "string", "KFD's unique id of the GPU", removed="2026.8", devices=(PARTITION,)),
        Attribute(PCI_BUS_ID, "string", "PCI address", "2026.8", when="where it has the common form"),
        Attribute(PCIE_ROOT, "string", "PCIe root complex, such as pci0000:17", when="where the root is known"),
        Attribute(NUMA_NODE, "int", "the PCI function's NUMA node", "main", when="where the function has a NUMA node"),
        Attribute(
            "computePartition", "string", "compute mode", "2026.8", when=_AUTO, values=("spx", "dpx", "qpx", "cpx")
        ),
        Attribute("memoryPartition", "string", "memory mode", "2026.8", when=_AUTO, values=("nps1", "nps2", "nps4")),
        Attribute("gpuIndex", "int", "number of the GPU in the order of PCI addresses", "2026.8", when=_AUTO),
        Attribute("iommuGroup", "string", "number of the IOMMU group", "2026.8", devices=(VFIO,)),
        Attribute("isVF", "bool", "true for virtual functions, false for whole GPUs", "2026.8", devices=(VFIO,)),
        Attribute("vendorID", "string", "PCI vendor id, 0x1002", "2026.8", when="where it is known", devices=(VFIO,)),
    ),
    capacities=(
        Capacity(
            "memory",
            "VRAM as KFD's first memory bank has it; if unknown 0, in 2025.10 80Gi of a GPU and 20Gi of a partition",
            devices=_GPUS,
        ),
        Capacity("computeUnits", "compute units; 0 if KFD does not list the device", devices=_GPUS),
        Capacity("simdUnits", "SIMD units; 0 if KFD does not list the device", devices=_GPUS),
        Capacity(
            "partitions", "number of partitions in this mode: 1, 2, 4 or 8; a request takes 1", "2026.8", when=_AUTO
        ),
    ),
    taints=(
        Taint(
            "gpu.amd.com/memory-partition-conflict",
            ("NoExecute",),
            "a claim in use on the node has set a different memory mode",
            since="2026.8",
            when="with autoPartition",
        ),
    ),
    settings=(
        Setting(
            "autoPartition", "false, true", "gate AutoPartition: a device for each mode of a GPU (Kubernetes 1.36)"
        ),
        Setting("vfioPassthrough", "false, true", "gate VFIOPassthrough: GPUs bound to vfio-pci, and VFs of gim"),
    ),
    notes=(
        "devices are named gpu-<cardN>-<renderDN>: both numbers can change at a reboot",
        "partitions that exist have the pciBusID of their GPU: matchAttribute on it selects partitions of one GPU",
        "with autoPartition a GPU is a device for each mode, such as gpu-0-cpx-nps4; one of them is in use at a time",
        "capacities of autoPartition's devices are the GPU's; a request takes one partition's share",
        "v0.2.0, v1.0.0 and v1.0.1 are rendered as 2026.8; as of April 2026 the driver had no driverVersionFull",
        "proposed, not rendered: counters for VFs, and GPUs published both for containers and as vfio (issue 89)",
        "the standard numaNode of main is proposed, too (issue 92)",
    ),
)


def since(options: Options, version: str) -> bool:
    """True if the requested driver version is ``version`` or newer."""
    asked = version_index(CATALOGUE, NAME, options.versions.get(NAME))
    return asked >= CATALOGUE.versions.index(version)
