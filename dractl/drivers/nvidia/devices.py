"""Devices of ``gpu.nvidia.com``: full GPUs, GPUs known only from PCI, and MIG devices that exist.

Source: kubernetes-sigs/dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin/{deviceinfo,mig}.go.
"""

import re
from collections.abc import Mapping
from typing import Any

from dractl.drivers.nvidia.names import FABRIC_MANAGER, LIST_ATTRIBUTES, NAME
from dractl.drivers.profile import Options
from dractl.drivers.standard import NUMA_NODE, PCI_BUS_ID, numa_node, pcie_root
from dractl.drivers.values import binary_quantity, to_attributes, version
from dractl.topology.machine import Gpu, Machine, MigDevice, MigProfile, PciDevice


def place(bdf: str, pci: PciDevice | None, options: Options) -> dict[str, Any]:
    """Return the GPU's place. Its address comes from NVML; the other facts come from sysfs, which
    may not show the function.
    """
    address = _short(bdf)
    return {PCI_BUS_ID: address, "pcieBusID": address, **pcie_root(pci), **numa(pci, options)}


def _short(bdf: str) -> str:
    """Shorten an address like GetPCIBusID of go-nvlib: to four digits of domain if they are enough,
    or else leave NVML's eight.
    """
    domain, _, bus_and_function = bdf.partition(":")
    return f"{int(domain, 16):0{4 if len(domain) == 4 else 8}x}:{bus_and_function}"


def numa(pci: PciDevice | None, options: Options) -> dict[str, Any]:
    """Return the attribute of addNumaNodeAttribute; with the gate, it is a list with one node."""
    attribute = numa_node(pci)
    if not options.flag(NAME, LIST_ATTRIBUTES) or attribute[NUMA_NODE] is None:
        return attribute
    return {NUMA_NODE: (attribute[NUMA_NODE],)}


def fabric_manager(gpu: Gpu | None, options: Options) -> dict[str, Any]:
    """Return the attributes of addFabricManagerAttributes, without the partitions, which only
    Fabric Manager knows.
    """
    if gpu is None or not options.flag(NAME, FABRIC_MANAGER):
        return {}
    return {"gpuModuleID": gpu.module_id or None}


def common(gpu: Gpu, machine: Machine, pci: PciDevice | None, options: Options) -> dict[str, Any]:
    """Return the attributes that full GPUs and MIG devices share."""
    return {
        **product(gpu, machine),
        "addressingMode": gpu.addressing_mode,
        **place(str(gpu.bdf), pci, options),
    }


def product(gpu: Gpu, machine: Machine) -> dict[str, Any]:
    """Return the facts about a GPU and its software, under the names that HAMi's driver uses as
    well.
    """
    nvidia = machine.nvidia
    return {
        "productName": gpu.name,
        "brand": gpu.brand,
        "architecture": gpu.architecture,
        "cudaComputeCapability": version(gpu.cuda_compute_capability),
        "driverVersion": version(gpu.driver_version or (nvidia.driver_version if nvidia else None)),
        "cudaDriverVersion": version(nvidia.cuda_driver_version if nvidia else None),
    }


def full(gpu: Gpu, machine: Machine, pci: PciDevice | None, options: Options) -> dict[str, Any]:
    numbers = {"minor": gpu.minor, "index": gpu.index}
    attributes = {"type": "gpu", "uuid": gpu.uuid, **common(gpu, machine, pci, options), **numbers}
    device: dict[str, Any] = {
        "name": f"gpu-{gpu.minor}",
        "attributes": to_attributes({**attributes, **fabric_manager(gpu, options)}),
    }
    if gpu.memory_bytes is not None:
        device["capacity"] = {"memory": {"value": binary_quantity(gpu.memory_bytes)}}
    return device


def partial(number: int, gpu: Gpu, pci: PciDevice | None, options: Options) -> dict[str, Any]:
    """Return a full GPU that is known only from PCI."""
    return {
        "name": f"gpu-{number}",
        "attributes": to_attributes({"type": "gpu", **place(str(gpu.bdf), pci, options)}),
    }


def static_mig(
    gpu: Gpu, mig: MigDevice, machine: Machine, pci: PciDevice | None, options: Options
) -> dict[str, Any]:
    profile = next((p for p in gpu.mig_profiles if p.id == mig.profile_id), None)
    start, size = mig.placement.start, mig.placement.size
    name = mig_name(gpu, mig.profile or "", mig.profile_id, start)
    if not options.has(NAME, "canonical-mig-names"):
        name = f"gpu-{gpu.minor}-mig-{mig.profile_id}-{start}-{size}"
    numbers = {"index": mig.index, "parentIndex": gpu.index}
    attributes = {
        "type": "mig",
        "uuid": mig.uuid,
        "parentUUID": gpu.uuid,
        "profile": mig.profile,
        **common(gpu, machine, pci, options),
        **numbers,
    }
    capacity = (
        {name: binary_quantity(count) for name, count in counts(profile).items()}
        if profile is not None
        else {}
    )
    capacity |= {f"memorySlice{number}": "1" for number in range(start, start + size)}
    return {"name": name, "attributes": to_attributes(attributes), "capacity": amounts(capacity)}


def mig_name(gpu: Gpu, profile: str, profile_id: int, start: int) -> str:
    """Return the name of MigSpecTuple.ToCanonicalName: ``gpu-0-mig-1g5gb-me-20-3`` for
    ``1g.5gb+me``.
    """
    shown = re.sub("[^a-z0-9-]", "-", profile.lower().replace(".", "")).strip("-")
    return f"gpu-{gpu.minor}-mig-{shown}-{profile_id}-{start}"


def profiles_known_to_driver(gpu: Gpu, options: Options) -> tuple[MigProfile, ...]:
    """Return the GPU instance profiles that the driver asks for. Up to 0.4, go-nvml's list ends
    before the profile with 3 graphics slices (GPU_INSTANCE_PROFILE_COUNT is 17).
    """
    if options.has(NAME, "graphics-profiles"):
        return gpu.mig_profiles
    return tuple(profile for profile in gpu.mig_profiles if not is_unnamed(profile))


def is_unnamed(profile: MigProfile) -> bool:
    """Return True for the profile with 3 graphics slices, which go-nvlib NewMigProfile refuses."""
    return profile.slices == 3 and profile.name.endswith("+gfx")


def counts(profile: MigProfile) -> dict[str, int]:
    """Return the known capacities of a profile's instance, by name (CommonCapacitiesMig)."""
    capacities = {
        "multiprocessors": profile.multiprocessors,
        "copyEngines": profile.copy_engines,
        "decoders": profile.decoders,
        "encoders": profile.encoders,
        "jpegEngines": profile.jpeg_engines,
        "ofaEngines": profile.ofa_engines,
        "memory": profile.memory_bytes,
    }
    return {name: count for name, count in capacities.items() if count is not None}


def amounts(quantities: Mapping[str, str]) -> dict[str, Any]:
    """Return capacities or counters of a device."""
    return {name: {"value": quantity} for name, quantity in quantities.items()}
