"""``gpu.nvidia.com`` with feature gate DynamicMIG: every MIG device that a GPU could have, as partitions with counters.

Source: kubernetes-sigs/dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin/{nvlib,partitions,driver}.go (KEP 4815).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dractl.drivers.nvidia_devices import amounts, common, counts, full, mig_name
from dractl.drivers.values import binary_quantity, typed

if TYPE_CHECKING:
    from dractl.drivers.profile import Options
    from dractl.topology.machine import Gpu, Machine, PciDevice

# supportsMIGModeToggle: from Hopper on MIG mode can be switched without resetting the GPU.
_RESET_NEEDED = ("Ampere",)


def is_partitionable(gpu: Gpu) -> bool:
    """isDynamicMIGCapable: a GPU that needs a reset to change its MIG mode must be in that mode."""
    return bool(gpu.mig_profiles) and gpu.source == "nvml" and (gpu.mig_mode is True or _toggles(gpu))


def _toggles(gpu: Gpu) -> bool:
    return gpu.architecture not in _RESET_NEEDED


def partitions(
    gpu: Gpu, machine: Machine, pci: PciDevice | None, options: Options
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The GPU's devices by name, and its counter set."""
    name = f"gpu-{gpu.minor}-counter-set"
    largest: dict[str, int] = {}
    for profile in gpu.mig_profiles:
        for capacity, count in counts(profile).items():
            largest[capacity] = max(largest.get(capacity, 0), count)
    slices = max((place.size for profile in gpu.mig_profiles for place in profile.placements), default=0)
    everything = _counters(largest, 0, slices)
    devices = []
    if gpu.mig_mode is not True or _toggles(gpu):
        whole = full(gpu, machine, pci, options)
        whole["capacity"] = amounts({capacity: binary_quantity(count) for capacity, count in largest.items()})
        whole["consumesCounters"] = [{"counterSet": name, "counters": everything}]
        devices.append(whole)
    for profile in gpu.mig_profiles:
        own = counts(profile)
        facts = {"type": "mig", "parentUUID": gpu.uuid, "profile": profile.name, **common(gpu, machine, pci, options)}
        devices += [
            {
                "name": mig_name(gpu, profile.name, profile.id, place.start),
                "attributes": typed(facts),
                "capacity": amounts({capacity: binary_quantity(count) for capacity, count in own.items()}),
                "consumesCounters": [{"counterSet": name, "counters": _counters(own, place.start, place.size)}],
            }
            for place in profile.placements
        ]
    return sorted(devices, key=lambda device: str(device["name"])), {"name": name, "counters": everything}


def _counters(amount: dict[str, int], start: int, size: int) -> dict[str, Any]:
    """Capacities as counters, whose names have hyphens, and one counter for each memory slice."""
    found = {re.sub("([a-z])([A-Z])", r"\1-\2", name).lower(): binary_quantity(count) for name, count in amount.items()}
    found |= {f"memory-slice-{number}": "1" for number in range(start, start + size)}
    return amounts(found)
