"""Devices of a described machine whose place no source shows."""

from msgspec.structs import replace

from dractl.topology.machine import Machine

_ROOT = "pci0000:00"
"""A PCIe root that any machine may have. No report shows the value."""


def place_together(machine: Machine) -> Machine | None:
    """Return the machine as if its devices of unknown place shared a PCIe root and a NUMA node.

    Return None if the place of each device is known. Everything that a driver publishes differently
    for the returned machine depends on the unknown places.
    """
    if not machine.described or all(device.path for device in machine.pci_devices):
        return None
    return replace(
        machine,
        pci_devices=tuple(
            device
            if device.path
            else replace(device, path=f"{_ROOT}/{device.bdf}", pcie_root=_ROOT, numa_node=0)
            for device in machine.pci_devices
        ),
    )
