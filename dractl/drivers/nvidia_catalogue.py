"""What ``gpu.nvidia.com`` publishes, by version.

Source: kubernetes-sigs/dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin (nvlib.go, deviceinfo.go, mig.go, partitions.go).
"""

from __future__ import annotations

import re

from dractl.drivers.profile import Attribute, Capacity, Catalogue, Options, Setting, version_index
from dractl.drivers.standard import NUMA_NODE, PCI_BUS_ID, PCIE_ROOT

NAME = "gpu.nvidia.com"
VENDOR = "0x10de"

# Releases were counted by calendar until 25.12; later ones have both names.
_CALENDAR = (((26, 4), "0.4"), ((25, 12), "0.3"), ((25, 8), "0.2"), ((25, 3), "0.1"))

_GPU_OR_MIG = ("gpu", "mig")
CATALOGUE = Catalogue(
    title="NVIDIA GPUs and MIG devices",
    source="kubernetes-sigs/dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin/deviceinfo.go",
    versions=("0.1", "0.2", "0.3", "0.4", "0.5"),
    released="0.4",
    attributes=(
        Attribute("type", "string", "gpu, mig or vfio"),
        Attribute("uuid", "string", "NVML's UUID: GPU-… or MIG-…; of vfio devices made from the PCI address"),
        Attribute("productName", "string", "such as NVIDIA H100 80GB HBM3; of vfio devices the name of pci.ids"),
        Attribute("brand", "string", "such as Nvidia, Tesla, GeForce", devices=_GPU_OR_MIG),
        Attribute("architecture", "string", "such as Ampere, Ada Lovelace, Hopper, Blackwell", devices=_GPU_OR_MIG),
        Attribute("cudaComputeCapability", "version", "such as 9.0.0", devices=_GPU_OR_MIG),
        Attribute("driverVersion", "version", "of the kernel driver, such as 580.65.6", devices=_GPU_OR_MIG),
        Attribute("cudaDriverVersion", "version", "the newest CUDA it runs, such as 13.0.0", devices=_GPU_OR_MIG),
        Attribute("addressingMode", "string", "ATS, HMM or None", "0.3", optional=True, devices=_GPU_OR_MIG),
        Attribute("parentUUID", "string", "the GPU that a MIG device is part of", devices=("mig",)),
        Attribute("profile", "string", "of a MIG device, such as 1g.5gb", devices=("mig",)),
        Attribute("minor", "int", "the GPU's minor number", removed="0.2"),
        Attribute("index", "int", "the GPU's NVML index", removed="0.2"),
        Attribute("parentIndex", "int", "the NVML index of a MIG device's GPU", removed="0.2", devices=("mig",)),
        Attribute("pcieBusID", "string", "the PCI address before it was standardized", removed="0.3"),
        Attribute("vendorID", "string", "0x10de", "0.4", devices=("vfio",)),
        Attribute("deviceID", "string", "the PCI device id", "0.4", devices=("vfio",)),
        Attribute("numa", "int", "the PCI function's NUMA node, -1 included", "0.4", "0.5", devices=("vfio",)),
        Attribute("iommuFDEnabled", "bool", "whether /dev/iommu exists", "0.4", devices=("vfio",)),
        Attribute("gpuModuleID", "int", "with gate FabricManagerPartitioning", "0.5", optional=True),
        *(
            Attribute(f"partition{size}", "int", "the NVSwitch partition of that size", "0.5", optional=True)
            for size in (1, 2, 4, 8)
        ),
        Attribute(PCI_BUS_ID, "string", "the PCI address", "0.3"),
        Attribute(PCIE_ROOT, "string", "the PCIe root complex, such as pci0000:17", optional=True),
        Attribute(NUMA_NODE, "int", "the PCI function's NUMA node", "0.5", optional=True),
    ),
    capacities=(
        Capacity("memory", "total memory; absent where NVML tells none (unified memory)", devices=_GPU_OR_MIG),
        *(
            Capacity(name, f"number of {what}", devices=("mig",))
            for name, what in (
                ("multiprocessors", "streaming multiprocessors"),
                ("copyEngines", "copy engines"),
                ("decoders", "decoders"),
                ("encoders", "encoders"),
                ("jpegEngines", "JPEG engines"),
                ("ofaEngines", "optical flow engines"),
            )
        ),
        Capacity(
            "memorySlice0 to memorySlice7", "1 for each memory slice that the MIG device covers", devices=("mig",)
        ),
        Capacity("addressableMemory", "sum of the 64-bit BARs, rounded up to a power of two", "0.4", devices=("vfio",)),
        Capacity("shares", "with consumableShares=N: N, of which a claim takes one", "0.5", devices=_GPU_OR_MIG),
    ),
    settings=(
        Setting(
            "dynamicMIG",
            "false, true",
            "feature gate DynamicMIG (since 0.3): partitions are made when they are claimed",
        ),
        Setting(
            "passthroughSupport",
            "false, true",
            "feature gate PassthroughSupport (with devices since 0.4): GPUs are vfio devices, too",
        ),
        Setting(
            "consumableShares",
            "disabled, memory, unlimited, or a number",
            "--consumable-shares with the gate ConsumableShares (since 0.5): claims share GPUs and MIG devices",
        ),
    ),
    notes=(
        "full GPUs are named gpu-<minor>, by the minor number of /dev/nvidia<minor>, not by NVML's index",
        "a GPU in MIG mode is not published itself, only its MIG devices are",
        "vfio devices, gpu-vfio-<place in the order of addresses>, exist with passthroughSupport only",
        "a GPU is a gpu and a vfio device at once; when one of them is prepared, the other is withdrawn",
    ),
)


def since(options: Options, wanted: str, driver: str = NAME) -> bool:
    """Whether the version that is rendered has what came with ``wanted``; calendar versions are known too."""
    text = options.versions.get(driver)
    calendar = re.match(r"v?(2\d)\.(\d+)", text or "")
    if calendar is not None:
        month = (int(calendar[1]), int(calendar[2]))
        text = next((version for begin, version in _CALENDAR if begin <= month), "0.0")
    return version_index(CATALOGUE, driver, text) >= CATALOGUE.versions.index(wanted)
