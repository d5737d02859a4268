"""Devices of ``gpu.nvidia.com``: full GPUs, GPUs known from PCI alone, MIG devices that exist.

Source: kubernetes-sigs/dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin/{deviceinfo,mig}.go.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dractl.drivers.nvidia_catalogue import since
from dractl.drivers.standard import bus_id, numa_node, pcie_root
from dractl.drivers.values import binary_quantity, typed, version

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dractl.drivers.profile import Options
    from dractl.topology.machine import Gpu, Machine, MigDevice, MigProfile, PciDevice


def _place(pci: PciDevice | None, options: Options) -> dict[str, Any]:
    """Where the function is: what PCI alone tells."""
    found = {**pcie_root(pci)}
    if since(options, "0.3"):
        found = {**bus_id(pci), **found}
    elif pci is not None:
        domain, _, rest = pci.bdf.partition(":")
        found = {"pcieBusID": f"{int(domain, 16):08x}:{rest}", **found}
    if since(options, "0.5"):
        found |= numa_node(pci)
    return found


def common(gpu: Gpu, machine: Machine, pci: PciDevice | None, options: Options) -> dict[str, Any]:
    nvidia = machine.nvidia
    return {
        "productName": gpu.name,
        "brand": gpu.brand,
        "architecture": gpu.architecture,
        "cudaComputeCapability": version(gpu.cuda_compute_capability),
        "driverVersion": version(gpu.driver_version or (nvidia.driver_version if nvidia else None)),
        "cudaDriverVersion": version(nvidia.cuda_driver_version if nvidia else None),
        "addressingMode": gpu.addressing_mode if since(options, "0.3") else None,
        **_place(pci, options),
    }


def full(gpu: Gpu, machine: Machine, pci: PciDevice | None, options: Options) -> dict[str, Any]:
    numbers = {} if since(options, "0.2") else {"minor": gpu.minor, "index": gpu.index}
    device: dict[str, Any] = {
        "name": f"gpu-{gpu.minor}",
        "attributes": typed({"type": "gpu", "uuid": gpu.uuid, **common(gpu, machine, pci, options), **numbers}),
    }
    if gpu.memory_bytes is not None:
        device["capacity"] = {"memory": {"value": binary_quantity(gpu.memory_bytes)}}
    return device


def partial(number: int, pci: PciDevice | None, options: Options) -> dict[str, Any]:
    return {"name": f"gpu-{number}", "attributes": typed({"type": "gpu", **_place(pci, options)})}


def static_mig(gpu: Gpu, mig: MigDevice, machine: Machine, pci: PciDevice | None, options: Options) -> dict[str, Any]:
    profile = next((p for p in gpu.mig_profiles if p.id == mig.profile_id), None)
    start, size = mig.placement.start, mig.placement.size
    name = mig_name(gpu, mig.profile or "", mig.profile_id, start)
    if not since(options, "0.3"):
        name = f"gpu-{gpu.minor}-mig-{mig.profile_id}-{start}-{size}"
    numbers = {} if since(options, "0.2") else {"parentIndex": gpu.index}
    found = {
        "type": "mig",
        "uuid": mig.uuid,
        "parentUUID": gpu.uuid,
        "profile": mig.profile,
        **common(gpu, machine, pci, options),
        **numbers,
    }
    capacity = {name: binary_quantity(count) for name, count in counts(profile).items()} if profile is not None else {}
    capacity |= {f"memorySlice{number}": "1" for number in range(start, start + size)}
    return {"name": name, "attributes": typed(found), "capacity": amounts(capacity)}


def mig_name(gpu: Gpu, profile: str, profile_id: int, start: int) -> str:
    """MigSpecTuple.ToCanonicalName: ``1g.5gb+me`` becomes ``gpu-0-mig-1g5gb-me-20-3``."""
    shown = re.sub("[^a-z0-9-]", "-", profile.lower().replace(".", "")).strip("-")
    return f"gpu-{gpu.minor}-mig-{shown}-{profile_id}-{start}"


def counts(profile: MigProfile) -> dict[str, int]:
    """CommonCapacitiesMig: what an instance of a profile has, by capacity name."""
    return {
        "multiprocessors": profile.multiprocessors,
        "copyEngines": profile.copy_engines,
        "decoders": profile.decoders,
        "encoders": profile.encoders,
        "jpegEngines": profile.jpeg_engines,
        "ofaEngines": profile.ofa_engines,
        "memory": profile.memory_bytes,
    }


def amounts(quantities: Mapping[str, str]) -> dict[str, Any]:
    """Capacities or counters of a device."""
    return {name: {"value": quantity} for name, quantity in quantities.items()}
