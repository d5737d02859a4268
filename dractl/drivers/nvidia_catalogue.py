"""The catalogue of ``gpu.nvidia.com``, by version.

Source: kubernetes-sigs/dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin (nvlib.go, deviceinfo.go, mig.go, partitions.go).
"""

from __future__ import annotations

from dractl.drivers import nvidia_versions
from dractl.drivers.profile import Attribute, Capacity, Catalogue, Options, Setting, Taint, version_index
from dractl.drivers.standard import NUMA_NODE, PCI_BUS_ID, PCIE_ROOT
from dractl.probes.nvml import ARCHITECTURES, BRANDS

NAME = "gpu.nvidia.com"
VENDOR = "0x10de"

LIST_ATTRIBUTES, FABRIC_MANAGER = "DRAListTypeAttributes", "FabricManagerPartitioning"
_GPU_OR_MIG = ("gpu", "mig")
CATALOGUE = Catalogue(
    title="NVIDIA GPUs and MIG devices",
    source="kubernetes-sigs/dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin/deviceinfo.go",
    versions=nvidia_versions.VERSIONS,
    released=nvidia_versions.RELEASED,
    tags=nvidia_versions.TAGS,
    aliases=nvidia_versions.ALIASES,
    chart="resources.gpus.enabled=true and gpuResourcesEnabledOverride=true",  # templates/validation.yaml
    attributes=(
        Attribute("type", "string", "kind of device", values=("gpu", "mig", "vfio")),
        Attribute("uuid", "string", "NVML's UUID: GPU-… or MIG-…; for vfio devices, derived from the PCI address"),
        Attribute("productName", "string", "such as NVIDIA H100 80GB HBM3; for vfio devices, the name in pci.ids"),
        Attribute("brand", "string", "as go-nvlib names it", devices=_GPU_OR_MIG, values=tuple(BRANDS.values())),
        Attribute(
            "architecture", "string", "as go-nvlib names it", devices=_GPU_OR_MIG, values=tuple(ARCHITECTURES.values())
        ),
        Attribute("cudaComputeCapability", "version", "such as 9.0.0", devices=_GPU_OR_MIG),
        Attribute("driverVersion", "version", "of the kernel driver, such as 580.65.6", devices=_GPU_OR_MIG),
        Attribute(
            "cudaDriverVersion", "version", "the newest CUDA version it supports, such as 13.0.0", devices=_GPU_OR_MIG
        ),
        Attribute(
            "addressingMode",
            "string",
            "how the GPU addresses host memory",
            "25.12",
            when="where the platform supports it; not of partitions in 25.12",
            devices=_GPU_OR_MIG,
            values=("ATS", "HMM", "None"),
        ),
        Attribute("parentUUID", "string", "the GPU that a MIG device is part of", devices=("mig",)),
        Attribute("profile", "string", "of a MIG device, such as 1g.5gb", devices=("mig",)),
        Attribute("minor", "int", "the GPU's minor number", removed="25.8", devices=("gpu",)),
        Attribute("index", "int", "the NVML index of the GPU, or of the MIG device on its GPU", removed="25.8"),
        Attribute("parentIndex", "int", "the NVML index of a MIG device's GPU", removed="25.8", devices=("mig",)),
        Attribute("pcieBusID", "string", "the PCI address before it was standardized", removed="25.12"),
        Attribute("vendorID", "string", "the PCI vendor id", "0.4", devices=("vfio",), values=("0x10de",)),
        Attribute("deviceID", "string", "the PCI device id", "0.4", devices=("vfio",)),
        Attribute("numa", "int", "the PCI function's NUMA node, -1 included", "0.4", "0.5", devices=("vfio",)),
        Attribute("iommuFDEnabled", "bool", "true if /dev/iommu exists", "0.4", devices=("vfio",)),
        Attribute(
            "gpuModuleID",
            "int",
            "NVML's module id of the GPU",
            "0.5",
            when="with FabricManagerPartitioning, unless it is 0",
            devices=("gpu", "vfio"),
        ),
        *(
            Attribute(
                f"partition{size}",
                "int",
                f"the NVSwitch partition of {size} GPUs (not rendered)",
                "0.5",
                when="with FabricManagerPartitioning",
                devices=("gpu", "vfio"),
            )
            for size in (1, 2, 4, 8)
        ),
        Attribute(PCI_BUS_ID, "string", "the PCI address", "25.12"),
        Attribute(
            PCIE_ROOT,
            "string",
            "the PCIe root complex, such as pci0000:17",
            when="where the root is known; not of partitions in 25.12",
        ),
        Attribute(
            NUMA_NODE,
            "int",
            "the PCI function's NUMA node",
            "0.5",
            when="where the function has a NUMA node",
            list_with=LIST_ATTRIBUTES,
        ),
    ),
    capacities=(
        Capacity(
            "memory", "total memory", when="unless NVML reports none (unified memory; 0.4 on)", devices=_GPU_OR_MIG
        ),
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
        *(
            Capacity(
                f"memorySlice{number}",
                "1 for a memory slice that the MIG device covers",
                when="of the memory slices that it covers; not of partitions",
                devices=("mig",),
            )
            for number in range(8)
        ),
        Capacity("addressableMemory", "sum of the 64-bit BARs, rounded up to a power of two", "0.4", devices=("vfio",)),
        Capacity("shares", "N, of which a claim takes one", "0.5", when="with consumableShares=N", devices=_GPU_OR_MIG),
    ),
    taints=(
        Taint(
            "gpu.nvidia.com/xid",
            ("NoSchedule", "None"),
            "an Xid error of the GPU; None if it is not fatal",
            "the Xid's number",
            "0.4",
            "with gate NVMLDeviceHealthCheck",
        ),
        Taint(
            "gpu.nvidia.com/gpu-lost",
            ("NoSchedule",),
            "NVML has lost the GPU",
            "",
            "0.4",
            "with gate NVMLDeviceHealthCheck",
        ),
        Taint(
            "gpu.nvidia.com/unmonitored",
            ("None",),
            "the GPU's health cannot be monitored",
            "",
            "0.4",
            "with gate NVMLDeviceHealthCheck",
        ),
    ),
    settings=(
        Setting(
            "dynamicMIG",
            "false, true",
            "feature gate DynamicMIG (since 25.12): partitions are made when they are claimed",
        ),
        Setting(
            "passthroughSupport",
            "false, true",
            "feature gate PassthroughSupport (with devices since 0.4): GPUs are vfio devices, too",
        ),
        Setting(
            LIST_ATTRIBUTES, "false, true", "feature gate of that name (since 0.5): numaNode is a list of one node"
        ),
        Setting(FABRIC_MANAGER, "false, true", "feature gate of that name (since 0.5): GPUs have gpuModuleID"),
        Setting(
            "pciIDs",
            "installed, embedded",
            "source of vfio device names: the pci.ids installed on the node, if any, or go-nvlib's own, as in "
            "the driver's image",
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
    """True if the rendered version has the features of ``wanted``."""
    asked = version_index(CATALOGUE, driver, options.versions.get(driver))
    return asked >= CATALOGUE.versions.index(wanted)
