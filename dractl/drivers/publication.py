"""The devices that drivers would publish for a node, each with its PCI function."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from dractl.drivers.registry import find
from dractl.drivers.rendering import Rendering
from dractl.drivers.standard import NUMA_NODE, PCI_BUS_ID, PCIE_ROOT
from dractl.properties import cached_property
from dractl.topology.machine import Machine

# The drivers that users mean by "2 GPUs and a NIC"; drivers of GPUs have the PCI id of their
# vendor.
GPU_DRIVERS = {"gpu.nvidia.com": "0x10de", "gpu.amd.com": "0x1002", "gpu.intel.com": "0x8086"}
# Kinds of devices, by the drivers' attribute type
_PARTS = {"mig": "mig", "amdgpu-partition": "partition"}
NET_DRIVERS = frozenset({"dra.net"})

_ADDRESSES = (PCI_BUS_ID, "dra.net/pciAddress", "pciAddress")
_ADDRESS_IN_NAME = re.compile(
    r"(?<![0-9a-f])([0-9a-f]{4,8})-([0-9a-f]{2})-([0-9a-f]{2})-([0-7])(?![0-9a-f])"
)


class Published(Struct, frozen=True):
    """A device as a driver would publish it."""

    driver: str
    name: str
    kind: str
    """``gpu``, ``mig``, ``partition`` (AMD's), ``nic``, ``interface`` (a network interface without
    a PCI function) or ``other``.
    """
    bdf: str | None = None
    """The function that the device is, or is a part of."""
    pcie_root: str | None = None
    """The value of :data:`PCIE_ROOT`; None if the driver does not publish the attribute."""
    numa_node: int | None = None
    """The value of :data:`NUMA_NODE`; None if the driver does not publish the attribute."""
    uuid: str | None = None
    guessed: bool = False
    """True if the name depends on a fact that dractl does not know, such as the minor number of a
    GPU for which NVML was not queried.
    """

    @property
    def shown(self) -> str:
        """The name, with a question mark if it is guessed."""
        return f"{self.name}?" if self.guessed else self.name

    def place(self, attribute: str) -> str | int | None:
        """Return the value of :data:`PCIE_ROOT` or :data:`NUMA_NODE`."""
        return self.pcie_root if attribute == PCIE_ROOT else self.numa_node


class Publication(Struct, frozen=True, dict=True):
    """The devices that the node's drivers would publish, and the functions that they would not."""

    drivers: Mapping[str, str] = field(default_factory=dict)
    """The version that was rendered, for each driver that has devices."""
    devices: tuple[Published, ...] = ()
    silent: Mapping[str, str] = field(default_factory=dict)
    """The reason why a driver publishes nothing on this node, by driver."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """The reason why a function's driver leaves it out, by function."""
    notices: tuple[str, ...] = ()
    """The drivers' other remarks."""

    def devices_of(self, bdf: str) -> tuple[Published, ...]:
        """Return the devices of the function at ``bdf``, or of its parts."""
        return self._by_function.get(bdf, ())

    @cached_property
    def _by_function(self) -> dict[str | None, tuple[Published, ...]]:
        functions: dict[str | None, list[Published]] = {}
        for device in self.devices:
            functions.setdefault(device.bdf, []).append(device)
        return {bdf: tuple(devices) for bdf, devices in functions.items()}

    def name_of(self, bdf: str) -> str | None:
        """Return the published name of the function at ``bdf``; None if it is published in parts or
        not at all.

        NVIDIA's driver names a MIG device after its GPU (``gpu-0-mig-1g5gb-19-3``, mig.go
        ToCanonicalName), so a GPU of which only MIG devices are published still has a name:
        ``gpu-0-mig-*``.
        """
        devices = self.devices_of(bdf)
        whole = {device.shown for device in devices if device.kind != "mig"}
        names = whole or {f"{device.name.partition('-mig-')[0]}-mig-*" for device in devices}
        return names.pop() if len(names) == 1 else None


def silence(driver: str) -> str:
    """Return the reason why a function is not published, if its driver publishes nothing at all."""
    return f"{driver} publishes nothing on this node"


NOTHING = Publication()
"""A node on which no driver publishes anything."""


def publication(rendering: Rendering, machine: Machine) -> Publication:
    """Return the devices that ``rendering``, made with the drivers' current releases, publishes for
    the functions of ``machine``.
    """
    devices = tuple(_list_devices(rendering, machine))
    left_out = {
        bdf: why for functions in rendering.left_out.values() for bdf, why in functions.items()
    }
    taken = {device.bdf for device in devices}
    return Publication(
        drivers={
            name: find(name).catalogue.released for name in dict.fromkeys(d.driver for d in devices)
        },
        devices=devices,
        silent=rendering.unpublished,
        left_out={
            **{
                bdf: why
                for bdf, why in _guess_reasons(machine, rendering.unpublished).items()
                if bdf not in taken
            },
            **left_out,
        },
        notices=rendering.notices,
    )


def _list_devices(rendering: Rendering, machine: Machine) -> Iterable[Published]:
    """Return the devices of all slices, in the order of the slices."""
    partial = {gpu.bdf for gpu in machine.gpus if gpu.source != "nvml"}
    by_name = {name: device.bdf for device in machine.pci_devices for name in device.names}
    for slice_ in rendering.slices:
        driver = slice_["spec"]["driver"]
        for device in slice_["spec"].get("devices", ()):
            attributes = device.get("attributes", {})
            bdf = address(device["name"], attributes) or by_name.get(device["name"])
            yield Published(
                driver=driver,
                name=device["name"],
                kind=_kind(driver, attributes, bdf),
                bdf=bdf if bdf in machine.pci else None,
                pcie_root=attributes.get(PCIE_ROOT, {}).get("string"),
                numa_node=_single(attributes.get(NUMA_NODE, {})),
                uuid=attributes.get("uuid", {}).get("string"),
                guessed=driver == "gpu.nvidia.com"
                and bdf in partial,  # the driver names GPUs by NVML's minor number
            )


def _guess_reasons(machine: Machine, silent: Mapping[str, str]) -> dict[str, str]:
    """Return the reasons why functions would not be published, for functions about which their
    drivers report nothing.
    """
    reasons: dict[str, str] = {}
    for device in machine.pci_devices:
        if device.kind not in ("gpu", "accelerator") or device.physical_function:
            continue
        gone = next((driver for driver in silent if device.vendor == GPU_DRIVERS.get(driver)), None)
        reasons[device.bdf] = (
            silence(gone) if gone else "no driver known to dractl would publish it on this node"
        )
    for net in machine.net_interfaces:
        # dranet pkg/inventory/net.go, getExcludedUplinkInterfaces
        if net.bdf is not None and net.uplink:
            reasons[net.bdf] = (
                f"{net.name} carries the node's default route, so dra.net leaves it out"
            )
    return reasons


def address(name: str, attributes: Mapping[str, Any]) -> str | None:
    """Return the PCI address in a device's attributes, or else in its name."""
    given = next(
        (text for key in _ADDRESSES if (text := attributes.get(key, {}).get("string"))), None
    )
    if given:
        return str(given)
    match = _ADDRESS_IN_NAME.search(name)
    return f"{match[1]}:{match[2]}:{match[3]}.{match[4]}" if match else None


def _single(value: Mapping[str, Any]) -> int | None:
    """Return an integer attribute; for the list form (gate DRAListTypeAttributes), its first item,
    which is the device's own node.
    """
    numbers = value.get("ints", ())
    number = value.get("int", numbers[0] if numbers else None)
    return number if isinstance(number, int) else None


def _kind(driver: str, attributes: Mapping[str, Any], bdf: str | None) -> str:
    if driver in GPU_DRIVERS:
        return _PARTS.get(attributes.get("type", {}).get("string", ""), "gpu")
    if driver in NET_DRIVERS:
        return "nic" if bdf else "interface"
    return "other"
