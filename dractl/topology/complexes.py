"""NVCX complexes: a GPU and the ConnectX NIC that is wired to it beside the path in the PCIe tree.

rdma-core's ``rdma_topo`` (kernel-boot/rdma_topo) defines them. On Grace boards with ConnectX-8, the
NIC's functions are on one PCIe root. Its *Data Direct* function, through which it reaches the GPU,
is on the root of the GPU. On boards with ConnectX switches, the NIC and the GPU are below one
upstream port of the NIC's switch. ``rdma_topo``'s third kind consists of all NICs and GPUs of a
NUMA node. It is left out, since the NUMA node itself already shows it.
"""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from dractl.topology.machine import Machine, PciDevice

MELLANOX, NVIDIA = "0x15b3", "0x10de"
# rdma_topo, pci_device_types
DATA_DIRECT = "0x2100"
NICS = frozenset({"0x1021", "0x1023", "0x1025"})
_SWITCHES = frozenset({"0x197c", "0x1979"})
_GRACE_PORTS = frozenset({"0x22b1", "0x22b2", "0x22b8"})


class Complex(Struct, frozen=True):
    """A GPU and the physical functions of its NIC, as PCI addresses."""

    kind: Literal["data-direct", "inline"]
    gpu: str
    nics: tuple[str, ...]
    """The functions of the NIC, the primary one first."""
    data_direct: str | None = None
    """The function through which the NIC reaches the GPU; None if they share a switch
    (``inline``).
    """


def is_data_direct(device: PciDevice) -> bool:
    """Return True for a ConnectX Data Direct function (``ConnectX-8 DMA Controller``)."""
    return device.vendor == MELLANOX and device.device == DATA_DIRECT


def is_connectx(device: PciDevice) -> bool:
    """Return True for the physical functions that ``rdma_topo`` pairs with GPUs: ConnectX-7, -8 and
    -9.
    """
    virtual = device.sriov is not None and device.sriov.physical_function is not None
    return device.vendor == MELLANOX and device.device in NICS and not virtual


def complexes(machine: Machine) -> tuple[Complex, ...]:
    """Return the machine's complexes by the address of their NIC.

    As in rdma_topo (PCITopo.__detect_topo_type), inline complexes count only on machines that have
    neither a Data Direct function nor a GPU at a root port; on other machines, NICs and GPUs are
    grouped by NUMA node.
    """
    if any(map(is_data_direct, machine.pci_devices)):
        pairs = tuple(_data_direct(machine))
    elif any(len(gpu.bridges) == 1 for gpu in _gpus(machine)):
        return ()
    else:
        pairs = tuple(_inline(machine))
    order = {device.bdf: number for number, device in enumerate(machine.pci_devices)}
    return tuple(sorted(pairs, key=lambda item: (order[item.nics[0]], order[item.gpu])))


def _data_direct(machine: Machine) -> Iterator[Complex]:
    """Yield the complexes with a Data Direct function.

    NIC and Data Direct function are paired by the V3 field of their VPD
    (``PciDevice.data_direct_of``); the GPU is the only one below the function's root port, which is
    a port of Grace. Between the port and the function there is one ConnectX switch, between the
    port and the GPU a second one below it (rdma_topo, __get_nvcx_complex).
    """
    for function in machine.pci_devices:
        if (
            not is_data_direct(function)
            or not function.data_direct_of
            or len(function.bridges) != 3
        ):
            continue
        above = function.bridges[:2]  # the root port, and the switch's upstream port
        gpus = [
            d
            for d in _gpus(machine)
            if d.bridges[:1] == above[:1] and d.pcie_root == function.pcie_root
        ]
        nics = tuple(bdf for bdf in function.data_direct_of if bdf in machine.pci)
        if len(gpus) != 1 or not nics or gpus[0].bridges[:2] != above or len(gpus[0].bridges) != 5:
            continue
        switches = {*function.bridges[1:], *gpus[0].bridges[1:]}
        if _is_port(machine, above[0], NVIDIA, _GRACE_PORTS) and all(
            _is_switch(machine, port) for port in switches
        ):
            yield Complex("data-direct", gpus[0].bdf, nics, function.bdf)


def _inline(machine: Machine) -> Iterator[Complex]:
    """Yield the complexes of a root port, a switch and a NIC, with a second switch and the GPU
    below the first one.
    """
    for gpu in _gpus(machine):
        # The last four bridges, towards the GPU: the first switch's upstream and downstream port,
        # then the second switch's upstream and downstream port.
        if len(gpu.bridges) < 4 or not all(_is_switch(machine, port) for port in gpu.bridges[-4:]):
            continue
        shared = gpu.bridges[-4]
        nics = tuple(d.bdf for d in machine.pci_devices if is_connectx(d) and shared in d.bridges)
        if nics:
            yield Complex("inline", gpu.bdf, nics)


def _gpus(machine: Machine) -> Iterator[PciDevice]:
    for device in machine.pci_devices:
        if device.kind == "gpu" and device.vendor == NVIDIA:
            yield device


def _is_switch(machine: Machine, bdf: str) -> bool:
    return _is_port(machine, bdf, MELLANOX, _SWITCHES)


def _is_port(machine: Machine, bdf: str, vendor: str, devices: frozenset[str]) -> bool:
    port = machine.pci.get(bdf)
    return port is not None and port.vendor == vendor and port.device in devices
