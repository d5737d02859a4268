"""``gpu.nvidia.com`` with feature gate DynamicMIG: each MIG device that a GPU could have is a
partition with counters.

Source: kubernetes-sigs/dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin/{nvlib,partitions,driver}.go
(KEP 4815).
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from dractl.drivers.nvidia.devices import (
    amounts,
    common,
    counts,
    full,
    mig_name,
    profiles_known_to_driver,
)
from dractl.drivers.nvidia.names import NAME
from dractl.drivers.profile import Options
from dractl.drivers.standard import PCIE_ROOT
from dractl.drivers.values import binary_quantity, to_attributes
from dractl.topology.machine import Gpu, Machine, MigProfile, PciDevice, Placement

Device = dict[str, Any]

# supportsMIGModeToggle: from Hopper on, MIG mode can be switched without a reset of the GPU.
_RESET_NEEDED = ("Kepler", "Maxwell", "Pascal", "Volta", "Turing", "Ampere", "Ada Lovelace")


def is_partitionable(gpu: Gpu, options: Options) -> bool:
    """Return True for a GPU that isDynamicMIGCapable accepts. A GPU that needs a reset to change
    its MIG mode must already be in that mode, and a vGPU keeps its partition. 25.12 accepts every
    GPU.
    """
    if not options.has(NAME, "dynamic-mig-checks"):
        return True
    return (
        gpu.mig_mode is not None
        and gpu.virtualization != "vgpu"
        and (gpu.mig_mode or _toggles(gpu))
    )


def _toggles(gpu: Gpu) -> bool:
    return gpu.architecture not in _RESET_NEEDED


def partitions(
    gpu: Gpu,
    machine: Machine,
    pci: PciDevice | None,
    options: Options,
    share: Callable[[Device], Device],
) -> tuple[list[Device], dict[str, Any] | None]:
    """Return the GPU's devices by name, and its counter set if there is one. ``share`` applies
    consumableShares to a device.

    A GPU without profiles has no counters (partitions.go PartSharedCounterSets); in 25.12 it has an
    empty set.
    """
    name = f"gpu-{gpu.minor}-counter-set"
    profiles = profiles_known_to_driver(gpu, options)
    largest = _largest_counts(profiles)
    slices = max((place.size for profile in profiles for place in profile.placements), default=0)
    everything = _counters(largest, 0, slices)
    offered = dict(everything)
    devices = []
    if gpu.mig_mode is not True or _toggles(gpu) or not options.has(NAME, "dynamic-mig-checks"):
        whole = full(gpu, machine, pci, options)
        whole["attributes"] = _part_attributes(whole["attributes"], options, keep_root=True)
        if profiles or not options.has(NAME, "dynamic-mig-checks"):
            whole["capacity"] = amounts(
                {capacity: binary_quantity(count) for capacity, count in largest.items()}
            )
            whole |= _consumption(name, everything)
        devices.append(share(whole))
        # applyConsumableShares modifies the map of capacities, from which the counter set is made
        # afterwards.
        added = devices[0]["capacity"].keys() - whole["capacity"].keys()
        offered |= {
            capacity: {"value": devices[0]["capacity"][capacity]["value"]} for capacity in added
        }
    for profile in profiles:
        facts = {
            "type": "mig",
            "parentUUID": gpu.uuid,
            "profile": profile.name,
            **common(gpu, machine, pci, options),
        }
        attributes = _part_attributes(to_attributes(facts), options, keep_root=False)
        shared = {key: count for key, count in counts(profile).items() if key in largest}
        devices += [
            share(
                _partition(gpu, profile, placement, attributes)
                | _consumption(name, _counters(shared, placement.start, placement.size))
            )
            for placement in profile.placements
        ]
    counter_set = (
        {"name": name, "counters": offered}
        if devices and (profiles or not options.has(NAME, "dynamic-mig-checks"))
        else None
    )
    return sorted(devices, key=lambda device: str(device["name"])), counter_set


def _largest_counts(profiles: Sequence[MigProfile]) -> dict[str, int]:
    """Return the largest count of each capacity. A capacity is left out if it is unknown for the
    profile of the whole GPU.
    """
    if not profiles:
        return {}
    whole = max(profiles, key=lambda profile: profile.slices)
    return {
        name: max(counts(profile).get(name, 0) for profile in profiles) for name in counts(whole)
    }


def _consumption(counter_set: str, counters: dict[str, Any]) -> Device:
    return {"consumesCounters": [{"counterSet": counter_set, "counters": counters}]}


def _partition(gpu: Gpu, profile: MigProfile, placement: Placement, attributes: Device) -> Device:
    """Return the MIG device of a profile at one of its placements, without its counters."""
    return {
        "name": mig_name(gpu, profile.name, profile.id, placement.start),
        "attributes": attributes,
        "capacity": amounts(
            {capacity: binary_quantity(count) for capacity, count in counts(profile).items()}
        ),
    }


def _part_attributes(attributes: Device, options: Options, *, keep_root: bool) -> Device:
    """Return the attributes of a GPU and its partitions; 25.12 has a separate list of attributes
    for partitions (PartDevAttributes, PartAttributes).
    """
    if options.has(NAME, "dynamic-mig-checks"):
        return attributes
    gone = {"addressingMode"} if keep_root else {"addressingMode", PCIE_ROOT}
    return {name: value for name, value in attributes.items() if name not in gone}


def _counters(amount: dict[str, int], start: int, size: int) -> dict[str, Any]:
    """Return capacities as counters, whose names have hyphens, with one counter for each memory
    slice.
    """
    counters = {
        re.sub("([a-z])([A-Z])", r"\1-\2", name).lower(): binary_quantity(count)
        for name, count in amount.items()
    }
    counters |= {f"memory-slice-{number}": "1" for number in range(start, start + size)}
    return amounts(counters)
