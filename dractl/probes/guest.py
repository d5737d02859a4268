"""A check for guests: the PCI tree of a guest comes from its hypervisor, and does not show where
the devices are in the host.
"""

from collections.abc import Callable

from dractl.topology.levels import endpoints
from dractl.topology.machine import Machine


def report_flat_tree(machine: Machine, note: Callable[[str, str], None]) -> None:
    """Add a note if all devices of a virtual machine are on one PCIe root: QEMU puts them there
    regardless of the host, which misled users of NCCL (NVIDIA/nccl-tests#256, NVIDIA/nccl#1674).
    """
    devices = endpoints(machine)
    roots = {device.pcie_root for device in devices}
    if not machine.host.virtual or len(devices) < 2 or len(roots) != 1:
        return
    (root,) = roots
    if root is not None:
        note(
            root,
            f"all {len(devices)} devices of this virtual machine are on one PCIe root: that is how"
            " the hypervisor presents them, not where they are in the host; matching pcieRoot"
            " brings no two devices nearer to each other",
        )
