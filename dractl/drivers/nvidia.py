"""``gpu.nvidia.com``: NVIDIA's GPU driver, full GPUs and static MIG devices.

Source: kubernetes-sigs/dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin (nvlib.go, deviceinfo.go), deployments/helm.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dractl.drivers.profile import Attribute, Capacity, Catalogue, Inventory, Options, device_class, version_index
from dractl.drivers.standard import NUMA_NODE, PCI_BUS_ID, PCIE_ROOT, bus_id, numa_node, pcie_root
from dractl.drivers.values import binary_quantity, typed, version

if TYPE_CHECKING:
    from dractl.topology.machine import Gpu, Machine, MigDevice, MigProfile, PciDevice

NAME = "gpu.nvidia.com"
VENDOR = "0x10de"
_SKIPPED = ("DGX Display", "NVIDIA DGX Display")  # go-nvlib's default skip list

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
        Attribute("vendorID", "string", "0x10de", "0.3", devices=("vfio",)),
        Attribute("deviceID", "string", "the PCI device id", "0.3", devices=("vfio",)),
        Attribute("numa", "int", "the PCI function's NUMA node, -1 included", "0.3", "0.5", devices=("vfio",)),
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
        Capacity("addressableMemory", "sum of the 64-bit BARs", "0.3", devices=("vfio",)),
    ),
    notes=(
        "full GPUs are named gpu-<minor>, by the minor number of /dev/nvidia<minor>, not by NVML's index",
        "a GPU in MIG mode is not published itself, only its MIG devices are",
        "vfio devices exist with the driver's feature gate PassthroughSupport only; dractl does not render them",
    ),
)


@dataclass(frozen=True, slots=True)
class _Nvidia:
    name: str = NAME
    catalogue: Catalogue = CATALOGUE

    def present(self, machine: Machine) -> bool:
        return any(gpu.vendor == VENDOR for gpu in machine.gpus)

    def device_classes(self, options: Options) -> tuple[dict[str, Any], ...]:
        def of(kind: str) -> str:
            return f"device.driver == '{NAME}' && device.attributes['{NAME}'].type == '{kind}'"

        gpu = device_class(NAME, of("gpu"), extendedResourceName="nvidia.com/gpu")
        mig = device_class("mig.nvidia.com", of("mig"))
        vfio = device_class("vfio.gpu.nvidia.com", of("vfio"))
        return (gpu, mig, vfio) if _since(options, "0.3") else (gpu, mig)

    def inventory(self, machine: Machine, options: Options) -> Inventory:
        devices: list[dict[str, Any]] = []
        comments: dict[str, str] = {}
        notices: list[str] = []
        taken = {gpu.minor for gpu in machine.gpus if gpu.minor is not None}
        unnumbered = 0
        gpus = [gpu for gpu in machine.gpus if gpu.vendor == VENDOR and gpu.name not in _SKIPPED]
        for gpu in sorted(gpus, key=lambda gpu: (gpu.minor is None, gpu.minor or 0, gpu.bdf or "")):
            pci = machine.pci.get(gpu.bdf) if gpu.bdf is not None else None
            if gpu.health == "lost":
                notices.append(f"{gpu.bdf}: this GPU is lost; the driver publishes nothing until it is gone or back")
                continue
            if gpu.source != "nvml":
                if pci is not None and pci.driver not in (None, "nvidia"):
                    notices.append(f"{gpu.bdf}: bound to {pci.driver}, not to nvidia; the driver does not see this GPU")
                    continue
                while unnumbered in taken:
                    unnumbered += 1
                taken.add(unnumbered)
                device = _partial(unnumbered, pci, options)
                comments[device["name"]] = (
                    f"{gpu.bdf}: partial, known from PCI alone. NVML would tell its UUID, model, memory and versions, "
                    "and its minor number, which the driver names it by; the number here is only the next free one."
                )
                devices.append(device)
            elif gpu.mig_mode:
                found = [_mig(gpu, mig, machine, pci, options) for mig in gpu.mig_devices]
                if not found:
                    notices.append(
                        f"{gpu.bdf}: in MIG mode without a MIG device; the driver publishes nothing of this GPU"
                    )
                devices += found
            else:
                devices.append(_full(gpu, machine, pci, options))
        if comments:
            notices.append(
                f"{NAME}: {len(comments)} GPU(s) known from PCI alone: attributes are missing and names may differ; "
                "a snapshot taken on the node (dractl discover --save) has the rest"
            )
        return Inventory(tuple(devices), comments=comments, notices=tuple(notices))


PROFILE = _Nvidia()


def _since(options: Options, wanted: str) -> bool:
    text = options.versions.get(NAME)
    calendar = re.match(r"v?(2\d)\.(\d+)", text or "")
    if calendar is not None:
        month = (int(calendar[1]), int(calendar[2]))
        text = next((version for begin, version in _CALENDAR if begin <= month), "0.0")
    return version_index(CATALOGUE, NAME, text) >= CATALOGUE.versions.index(wanted)


def _place(pci: PciDevice | None, options: Options) -> dict[str, Any]:
    """Where the function is: what PCI alone tells."""
    found = {**pcie_root(pci)}
    if _since(options, "0.3"):
        found = {**bus_id(pci), **found}
    elif pci is not None:
        domain, _, rest = pci.bdf.partition(":")
        found = {"pcieBusID": f"{int(domain, 16):08x}:{rest}", **found}
    if _since(options, "0.5"):
        found |= numa_node(pci)
    return found


def _common(gpu: Gpu, machine: Machine, pci: PciDevice | None, options: Options) -> dict[str, Any]:
    nvidia = machine.nvidia
    return {
        "productName": gpu.name,
        "brand": gpu.brand,
        "architecture": gpu.architecture,
        "cudaComputeCapability": version(gpu.cuda_compute_capability),
        "driverVersion": version(gpu.driver_version or (nvidia.driver_version if nvidia else None)),
        "cudaDriverVersion": version(nvidia.cuda_driver_version if nvidia else None),
        "addressingMode": gpu.addressing_mode if _since(options, "0.3") else None,
        **_place(pci, options),
    }


def _full(gpu: Gpu, machine: Machine, pci: PciDevice | None, options: Options) -> dict[str, Any]:
    numbers = {} if _since(options, "0.2") else {"minor": gpu.minor, "index": gpu.index}
    device: dict[str, Any] = {
        "name": f"gpu-{gpu.minor}",
        "attributes": typed({"type": "gpu", "uuid": gpu.uuid, **_common(gpu, machine, pci, options), **numbers}),
    }
    if gpu.memory_bytes is not None:
        device["capacity"] = {"memory": {"value": binary_quantity(gpu.memory_bytes)}}
    return device


def _partial(number: int, pci: PciDevice | None, options: Options) -> dict[str, Any]:
    return {"name": f"gpu-{number}", "attributes": typed({"type": "gpu", **_place(pci, options)})}


def _mig(gpu: Gpu, mig: MigDevice, machine: Machine, pci: PciDevice | None, options: Options) -> dict[str, Any]:
    profile = next((p for p in gpu.mig_profiles if p.id == mig.profile_id), None)
    start, size = mig.placement.start, mig.placement.size
    if _since(options, "0.3"):
        shown = re.sub("[^a-z0-9-]", "-", (mig.profile or "").lower().replace(".", ""))
        name = f"gpu-{gpu.minor}-mig-{shown}-{mig.profile_id}-{start}"
    else:
        name = f"gpu-{gpu.minor}-mig-{mig.profile_id}-{start}-{size}"
    numbers = {} if _since(options, "0.2") else {"parentIndex": gpu.index}
    found = {
        "type": "mig",
        "uuid": mig.uuid,
        "parentUUID": gpu.uuid,
        "profile": mig.profile,
        **_common(gpu, machine, pci, options),
        **numbers,
    }
    return {"name": name, "attributes": typed(found), "capacity": _mig_capacity(profile, start, size)}


def _mig_capacity(profile: MigProfile | None, start: int, size: int) -> dict[str, Any]:
    counts: dict[str, str] = {}
    if profile is not None:
        counts = {
            "multiprocessors": str(profile.multiprocessors),
            "copyEngines": str(profile.copy_engines),
            "decoders": str(profile.decoders),
            "encoders": str(profile.encoders),
            "jpegEngines": str(profile.jpeg_engines),
            "ofaEngines": str(profile.ofa_engines),
            "memory": binary_quantity(profile.memory_bytes),
        }
    counts |= {f"memorySlice{number}": "1" for number in range(start, start + size)}
    return {name: {"value": count} for name, count in counts.items()}
