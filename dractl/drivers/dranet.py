"""``dra.net``: dranet, network interfaces and RDMA devices.

Source: kubernetes-sigs/dranet, pkg/inventory (db.go, net.go, sysfs.go), pkg/names, pkg/apis/attributes.go. Cloud
providers' attributes come from metadata services and are not rendered; neither are those about eBPF programs, which
need a query of the kernel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dractl.drivers.ghw import is_network
from dractl.drivers.profile import Attribute, Catalogue, Inventory, Options, device_class, one_slice, version_index
from dractl.drivers.standard import NUMA_NODE, PCIE_ROOT, numa_node, pcie_root
from dractl.drivers.values import typed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dractl.topology.machine import Machine, NetInterface, PciDevice

NAME = "dra.net"
_IGNORED = frozenset({"cilium_net", "cilium_host", "docker0"})  # ignoredInterfaceNames
_NO_NETDEV = frozenset({"vfio-pci", "uio_pci_generic", "igb_uio", "pci-stub"})  # nonNetdevDrivers
# sysfs.go's own expression knows domains of four digits; ghw lists those of five too.
_FOUR_DIGITS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]\Z")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")
_MAX_TEXT = 64  # resourceapi.DeviceAttributeMaxValueLength

_WITH_INTERFACE, _PCI = "where it has an interface", "of PCI functions"
# github.com/vishvananda/netlink LinkOperState.String
_STATES = ("unknown", "not-present", "down", "lower-layer-down", "testing", "dormant", "up")

CATALOGUE = Catalogue(
    title="network interfaces and RDMA devices (dranet)",
    source="kubernetes-sigs/dranet pkg/inventory/db.go, pkg/apis/attributes.go",
    versions=("1.0", "1.1", "1.2", "1.3", "1.4", "main"),
    released="1.4",
    attributes=(
        Attribute("dra.net/ifName", "string", "the interface", when=_WITH_INTERFACE),
        Attribute("dra.net/mac", "string", "hardware address; empty if the interface has none", when=_WITH_INTERFACE),
        Attribute("dra.net/mtu", "int", "MTU", when=_WITH_INTERFACE),
        Attribute("dra.net/encapsulation", "string", "ether, infiniband, …", when=_WITH_INTERFACE),
        Attribute("dra.net/alias", "string", "the interface's alias, often empty", when=_WITH_INTERFACE),
        Attribute("dra.net/state", "string", "operational state", when=_WITH_INTERFACE, values=_STATES),
        Attribute("dra.net/type", "string", "link kind: device, bond, vlan, bridge, ipoib, …", when=_WITH_INTERFACE),
        Attribute(
            "dra.net/ipv4",
            "string",
            "global addresses with their prefix lengths, joined by commas; from 1.3 on cut at 64 bytes",
            when="where the interface has such an address",
        ),
        Attribute(
            "dra.net/ipv6",
            "string",
            "global addresses with their prefix lengths, joined by commas; from 1.3 on cut at 64 bytes",
            when="where the interface has such an address",
        ),
        Attribute("dra.net/ebpf", "bool", "true if eBPF programs are attached by tc or tcx", when=_WITH_INTERFACE),
        Attribute(
            "dra.net/tcFilterNames", "string", "eBPF programs attached by tc", when="where there are such programs"
        ),
        Attribute(
            "dra.net/tcxProgramNames", "string", "eBPF programs attached by tcx", when="where there are such programs"
        ),
        Attribute("dra.net/sriov", "bool", "true for a function that can have VFs", when=_WITH_INTERFACE),
        Attribute("dra.net/sriovVfs", "int", "number of its VFs", when="where sriov is true"),
        Attribute(
            "dra.net/isSriovVf",
            "bool",
            "always true",
            "1.1",
            when="of virtual functions with interface",
            values=(True,),
        ),
        Attribute("dra.net/virtual", "bool", "true if no hardware is behind the interface", when=_WITH_INTERFACE),
        Attribute("dra.net/rdma", "bool", "true if it has an RDMA device"),
        Attribute(
            "dra.net/rdmaDevice",
            "string",
            "its RDMA device",
            "1.1",
            when="where rdma is true; up to 1.4 only of functions without interface",
        ),
        Attribute("dra.net/pciAddress", "string", "PCI address", when=_PCI),
        Attribute(
            "dra.net/pciVendor", "string", "vendor name of dranet's own pci.ids; unknown if it has none", when=_PCI
        ),
        Attribute(
            "dra.net/pciDevice", "string", "device name of dranet's own pci.ids; unknown if it has none", when=_PCI
        ),
        Attribute("dra.net/pciSubsystem", "string", "subsystem device id, four hexadecimal digits", when=_PCI),
        Attribute("dra.net/numaNode", "int", "the PCI function's NUMA node", when="of PCI functions with a NUMA node"),
        Attribute(
            PCIE_ROOT, "string", "PCIe root complex, such as pci0000:17", when="of PCI functions whose root can be told"
        ),
        Attribute(
            NUMA_NODE,
            "int",
            "the PCI function's NUMA node; with the gate also equally near nodes of its socket",
            "main",
            when="of PCI functions with a NUMA node",
            list_with="listTypeAttributes",
        ),
    ),
    notes=(
        "PCI functions are named pci-<address>, other interfaces by their own name or net-<base32 of it>",
        "interfaces of the default route (and those enslaved to them), loopback and veth are not published",
        "dranet ships no DeviceClass: its examples call theirs dranet or dra.net",
    ),
)


@dataclass(frozen=True, slots=True)
class _Dranet:
    name: str = NAME
    catalogue: Catalogue = CATALOGUE

    def present(self, machine: Machine) -> bool:
        return any(_allocatable(d) for d in machine.pci_devices) or any(d.bdf for d in machine.rdma_devices)

    def device_classes(self, options: Options) -> tuple[dict[str, Any], ...]:  # noqa: ARG002
        return (device_class("dranet", 'device.driver == "dra.net"'),)

    def inventory(self, machine: Machine, options: Options) -> Inventory:
        version = version_index(CATALOGUE, NAME, options.versions.get(NAME))
        main = version >= CATALOGUE.versions.index("main")
        unbound: list[str] = []
        found: dict[str, dict[str, Any]] = {}
        owners: dict[str, PciDevice] = {}
        for pci in machine.pci_devices:
            if is_network(pci) and (_allocatable(pci) or version < CATALOGUE.versions.index("1.3")):
                found[device_name(pci.bdf)] = {"dra.net/pciAddress": pci.bdf}
                owners[device_name(pci.bdf)] = pci
            elif is_network(pci):
                unbound.append(pci.bdf)
        if version >= CATALOGUE.versions.index("1.4"):  # functions of other classes, such as eRDMA
            for rdma in machine.rdma_devices:
                if rdma.bdf is not None and _FOUR_DIGITS.match(rdma.bdf) and device_name(rdma.bdf) not in found:
                    found[device_name(rdma.bdf)] = {"dra.net/pciAddress": rdma.bdf, "dra.net/rdmaDevice": rdma.name}
                    if rdma.bdf in machine.pci:
                        owners[device_name(rdma.bdf)] = machine.pci[rdma.bdf]
        left_out = _interfaces(machine, found, version)
        _rdma(machine, found, version, main=main)
        for name, pci in owners.items():
            found[name] |= _pci(pci, main=main)
        devices = tuple(
            {"name": name, "attributes": typed(facts)} for name, facts in sorted(found.items()) if name not in left_out
        )
        notices: tuple[str, ...] = ()
        if unbound:
            shown = ", ".join(unbound[:4]) + (f" and {len(unbound) - 4} more" if len(unbound) > 4 else "")
            notices = (f"{NAME}: not published, no kernel driver makes an interface of them: {shown}",)
        return Inventory(one_slice(devices), notices=notices)


PROFILE = _Dranet()


def device_name(bdf: str) -> str:
    """names.NormalizePCIAddress."""
    return "pci-" + bdf.replace(":", "-").replace(".", "-")


def interface_name(name: str) -> str:
    """names.NormalizeInterfaceName: the name itself if it is a DNS label."""
    if _LABEL.match(name):
        return name
    from base64 import b32encode

    return "net-" + b32encode(name.encode()).decode().rstrip("=").lower()


def _allocatable(pci: PciDevice) -> bool:
    return is_network(pci) and pci.driver is not None and pci.driver not in _NO_NETDEV


def _interfaces(machine: Machine, found: dict[str, dict[str, Any]], version: int) -> set[str]:
    """Adds what interfaces tell; returns the devices that are not published after all."""
    vf_known = version >= CATALOGUE.versions.index("1.1")
    left_out: set[str] = set()
    for interface in _by_function(machine.net_interfaces):
        if interface.name in _IGNORED or interface.encapsulation == "loopback":
            continue
        if interface.bdf is not None and _FOUR_DIGITS.match(interface.bdf):
            name = device_name(interface.bdf)
            if name not in found:
                continue  # no network function of PCI: dranet says so in its log and goes on
        else:
            name = interface_name(interface.name)
            found[name] = {}
        found[name] |= _link(interface, vf_known=vf_known)
        if interface.uplink or interface.kind == "veth":  # the default filter: attributes type != "veth"
            left_out.add(name)
        else:
            left_out.discard(name)
    return left_out


def _by_function(interfaces: Iterable[NetInterface]) -> list[NetInterface]:
    """Representors first: of a function's interfaces the last one counts, and dranet sees them in any order."""
    return sorted(interfaces, key=lambda interface: (not interface.representor, interface.name))


def _link(interface: NetInterface, *, vf_known: bool) -> dict[str, Any]:
    sriov = (interface.sriov_total_vfs or 0) > 0
    return {
        "dra.net/ifName": interface.name,
        "dra.net/mac": interface.mac,
        "dra.net/mtu": interface.mtu,
        "dra.net/encapsulation": interface.encapsulation,
        "dra.net/alias": interface.alias,
        "dra.net/state": interface.operstate,
        "dra.net/type": interface.kind,
        "dra.net/ipv4": addresses(a for a in interface.addresses if ":" not in a),
        "dra.net/ipv6": addresses(a for a in interface.addresses if ":" in a),
        "dra.net/sriov": sriov,
        "dra.net/sriovVfs": (interface.sriov_num_vfs or 0) if sriov else None,
        "dra.net/isSriovVf": True if interface.virtual_function and vf_known else None,
        "dra.net/virtual": interface.virtual,
    }


def addresses(cidrs: Iterable[str]) -> str | None:
    """buildIPList: global unicast addresses, sorted and joined, as many as fit into 64 bytes."""
    import ipaddress

    joined = ""
    for cidr in sorted(set(cidrs)):
        try:
            address = ipaddress.ip_interface(cidr).ip
        except ValueError:
            continue
        # Go's IsGlobalUnicast: everything but unspecified, loopback, multicast, link-local and broadcast.
        if address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local:
            continue
        longer = f"{joined},{cidr}" if joined else cidr
        if len(longer) > _MAX_TEXT:
            break
        joined = longer
    return joined or None


def _rdma(machine: Machine, found: dict[str, dict[str, Any]], version: int, *, main: bool) -> None:
    interfaces = {interface.name: interface for interface in machine.net_interfaces}
    by_function = {rdma.bdf: rdma.name for rdma in reversed(machine.rdma_devices) if rdma.bdf is not None}
    for facts in found.values():
        name, interface = facts.get("dra.net/rdmaDevice"), facts.get("dra.net/ifName")
        if name is None and interface is not None:
            name = interfaces[interface].rdma_device
        elif name is None:
            name = by_function.get(facts.get("dra.net/pciAddress", ""))
        facts["dra.net/rdma"] = name is not None
        # Up to 1.4 only of functions without interface; from 1.1 on at all.
        if version >= CATALOGUE.versions.index("1.1") and (main or interface is None):
            facts["dra.net/rdmaDevice"] = name


def _pci(pci: PciDevice, *, main: bool) -> dict[str, Any]:
    return {
        "dra.net/pciVendor": pci.vendor_name,
        "dra.net/pciDevice": pci.device_name,
        "dra.net/pciSubsystem": pci.subsystem_device.removeprefix("0x") if pci.subsystem_device else None,
        "dra.net/numaNode": pci.numa_node,
        **pcie_root(pci),
        **(numa_node(pci) if main else {}),
    }
