"""The Machine: NUMA nodes, CPUs, PCI tree, devices, and the distances between them."""

from dractl.topology.machine import (
    Core,
    Cpus,
    Gpu,
    Host,
    Link,
    Machine,
    MigDevice,
    MigProfile,
    NetInterface,
    Note,
    NumaNode,
    Nvidia,
    NvmeController,
    PciDevice,
    RdmaDevice,
    SrIov,
)

__all__ = [
    "Core",
    "Cpus",
    "Gpu",
    "Host",
    "Link",
    "Machine",
    "MigDevice",
    "MigProfile",
    "NetInterface",
    "Note",
    "NumaNode",
    "Nvidia",
    "NvmeController",
    "PciDevice",
    "RdmaDevice",
    "SrIov",
]
