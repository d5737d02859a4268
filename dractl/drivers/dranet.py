"""``dra.net``: dranet, network interfaces and RDMA devices.

Source: kubernetes-sigs/dranet, pkg/inventory (db.go, net.go, sysfs.go), pkg/names, pkg/apis/attributes.go. What cloud
providers' metadata services add is :mod:`dractl.drivers.dranet_cloud`. dractl does not ask the kernel for eBPF
programs: an interface is rendered as one without.
"""

from __future__ import annotations

import ipaddress
import re
from base64 import b32encode
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dractl.drivers import dranet_cloud, dranet_filter, ghw
from dractl.drivers.ghw import UNKNOWN, network_functions
from dractl.drivers.profile import (
    Attribute,
    Catalogue,
    Inventory,
    Options,
    Setting,
    device_class,
    one_slice,
    version_index,
)
from dractl.drivers.standard import NUMA_NODE, PCIE_ROOT, numa_node, numa_nodes, pcie_root
from dractl.drivers.values import typed
from dractl.errors import UsageError
from dractl.probes import ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dractl.topology.machine import Machine, NetInterface, PciDevice

NAME = "dra.net"
_IGNORED = frozenset({"cilium_net", "cilium_host", "docker0"})  # ignoredInterfaceNames
_NO_NETDEV = frozenset({"vfio-pci", "uio_pci_generic", "igb_uio", "pci-stub"})  # nonNetdevDrivers
# sysfs.go's own expression knows domains of four digits; ghw lists those of five too.
_FOUR_DIGITS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]\Z")
_UNBOUND = "no kernel driver that creates an interface is bound"
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")
_MAX_TEXT = 64  # resourceapi.DeviceAttributeMaxValueLength
_KINDS = {"tun": "tuntap"}  # vishvananda/netlink Tuntap.Type; the other kinds are called as the kernel calls them

_WITH_INTERFACE, _PCI = "where it has an interface", "of PCI functions"
# github.com/vishvananda/netlink LinkOperState.String
_STATES = ("unknown", "not-present", "down", "lower-layer-down", "testing", "dormant", "up")

CATALOGUE = Catalogue(
    title="network interfaces and RDMA devices (dranet)",
    source="kubernetes-sigs/dranet pkg/inventory/db.go, pkg/apis/attributes.go",
    versions=("1.0", "1.1", "1.2", "1.3", "1.4", "main"),
    released="1.4",
    tags={
        "1.0": ("v1.0.0", "v1.0.1"),
        "1.1": ("v1.1.0",),
        "1.2": ("v1.2.0",),
        "1.3": ("v1.3.0",),
        "1.4": ("v1.4.0",),
    },
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
            PCIE_ROOT, "string", "PCIe root complex, such as pci0000:17", when="of PCI functions whose root is known"
        ),
        Attribute(
            NUMA_NODE,
            "int",
            "the PCI function's NUMA node; with the gate also equally near nodes of its socket",
            "main",
            when="of PCI functions with a NUMA node",
            list_with="DRAListTypeAttributes",
        ),
        *dranet_cloud.ATTRIBUTES,
    ),
    settings=(
        Setting("moveIBInterfaces", "true, false", "--move-ib-interfaces: false leaves IPoIB interfaces out"),
        Setting("filter", "CEL", "--filter: the devices that are published; empty: all. By default all but veth"),
        Setting("DRAListTypeAttributes", "false, true", "feature gate of that name (main): NUMA nodes as a list"),
        *dranet_cloud.SETTINGS,
    ),
    notes=(
        "PCI functions are named pci-<address>, other interfaces by their own name or net-<base32 of it>",
        "interfaces of the default route (from 1.3 on also those enslaved to them), loopback and veth are left out",
        "ebpf is rendered as false and eBPF programs are not listed: dractl does not ask the kernel for them",
        "pciVendor and pciDevice are names of the pci.ids that dranet embeds, of 2024-11-25",
        "all devices are in one slice: with more than 128, or a name over 64 bytes, nothing is published",
        "dranet ships no DeviceClass: its examples call theirs dranet or dra.net",
        "AWS's chart brings the class efa.networking.k8s.aws: --driver-option dra.net:cloud=aws",
        "from 1.4 on a webhook can add attributes of any name: --cloud-provider-hint=webhook",
    ),
    extension="a webhook of dranet (since 1.4)",
)


class _Dranet(Struct, frozen=True):
    name: str = NAME
    catalogue: Catalogue = CATALOGUE

    def present(self, machine: Machine) -> bool:
        return any(map(_allocatable, network_functions(machine))) or any(d.bdf for d in machine.rdma_devices)

    def device_classes(self, options: Options) -> tuple[dict[str, Any], ...]:
        own = device_class("dranet", 'device.driver == "dra.net"')
        return (own, dranet_cloud.EFA_CLASS) if options.setting(NAME, "cloud") == "aws" else (own,)

    def inventory(self, machine: Machine, options: Options) -> Inventory:
        """DB.scan: PCI functions, RDMA devices of other classes, interfaces; then what the host's uplink uses goes."""
        as_of = _Version(version_index(CATALOGUE, NAME, options.versions.get(NAME)))
        lists = options.flag(NAME, "DRAListTypeAttributes")
        if lists and not as_of.since("main"):
            raise UsageError(f"{NAME}: DRAListTypeAttributes came after 1.4", hint="--driver-version dra.net=main")
        functions = [pci for pci in network_functions(machine) if _allocatable(pci) or not as_of.since("1.3")]
        unbound = [pci.bdf for pci in network_functions(machine) if not _allocatable(pci) and as_of.since("1.3")]
        found = {device_name(pci.bdf): {"dra.net/pciAddress": pci.bdf} for pci in functions}
        described = dict(zip(found, functions, strict=True))
        if as_of.since("1.4"):
            for name, address, rdma in _standalone_rdma(machine):
                found.setdefault(name, {"dra.net/pciAddress": address, "dra.net/rdmaDevice": rdma})
        _interfaces(machine, found, options, as_of)
        _rdma(machine, found, as_of)
        for name, facts in found.items():
            facts.update(_pci(name, facts, described, machine, lists=lists, as_of=as_of))
        wanted = options.setting(NAME, "filter")
        left_out = {
            interface.name
            for interface in machine.net_interfaces
            if (interface.kind == "veth" and wanted is None)
            or (interface.uplink if as_of.since("1.3") else interface.gateway)
        }
        of_cloud = dranet_cloud.attributes(machine, options, as_of.since)
        devices = [
            {"name": name, "attributes": typed({**facts, **of_cloud(facts.get("dra.net/pciAddress", ""))})}
            for name, facts in sorted(found.items())
            if facts.get("dra.net/ifName") not in left_out
        ]
        comments = {name: text for name, pci in described.items() if (text := _other_names(pci)) is not None}
        why = dict.fromkeys(unbound, _UNBOUND)
        if wanted:
            everything, devices = devices, dranet_filter.kept(devices, wanted, options.target)
            why |= dict.fromkeys(_places(everything) - _places(devices), "the filter leaves it out")
        return Inventory(one_slice(devices), comments, why)


PROFILE = _Dranet()


class _Version(Struct, frozen=True):
    index: int

    def since(self, version: str) -> bool:
        return self.index >= CATALOGUE.versions.index(version)


def _places(devices: Iterable[dict[str, Any]]) -> set[str]:
    """PCI addresses of devices, and interfaces of those without."""
    found = (device["attributes"] for device in devices)
    return {(facts.get("dra.net/pciAddress") or facts["dra.net/ifName"])["string"] for facts in found}


def device_name(bdf: str) -> str:
    """names.NormalizePCIAddress."""
    return "pci-" + bdf.replace(":", "-").replace(".", "-")


def interface_name(name: str) -> str:
    """names.NormalizeInterfaceName: the name itself if it is a DNS label."""
    if _LABEL.match(name):
        return name
    return "net-" + b32encode(name.encode()).decode().rstrip("=").lower()


def _allocatable(pci: PciDevice) -> bool:
    """isAllocatableNetworkDevice."""
    return pci.driver is not None and pci.driver not in _NO_NETDEV


def _address(bdf: str | None, machine: Machine) -> str | None:
    """pciAddressFromPath: the last function of the path whose domain has four digits. Behind VMD that is the
    controller, not the function itself."""
    if bdf is None:
        return None
    path = machine.pci[bdf].path.split("/") if bdf in machine.pci else [bdf]
    return next((part for part in reversed(path) if _FOUR_DIGITS.match(part)), None)


def _standalone_rdma(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """discoverStandaloneRDMADevices: name, address and RDMA device of functions of any class."""
    for rdma in machine.rdma_devices:
        address = _address(rdma.bdf, machine)
        if address is not None:
            yield device_name(address), address, rdma.name


def _interfaces(machine: Machine, found: dict[str, dict[str, Any]], options: Options, as_of: _Version) -> None:
    """discoverNetworkInterfaces: of a function's interfaces the last one listed counts, but attributes that it does not
    set stay as an earlier one has set them."""
    skip_ipoib = options.setting(NAME, "moveIBInterfaces") == "false"
    for interface in sorted(machine.net_interfaces, key=_order):
        if interface.name in _IGNORED or interface.encapsulation == "loopback":
            continue
        if skip_ipoib and interface.kind == "ipoib":
            continue
        address = _address(interface.bdf, machine)
        name = interface_name(interface.name) if address is None else device_name(address)
        if address is not None and name not in found:
            continue  # the log says so, and the interface is not published
        if address is None:
            found[name] = {}
        facts = _link(interface, as_of)
        found[name].update({key: value for key, value in facts.items() if value is not None})


def _order(interface: NetInterface) -> tuple[bool, int, bool, str]:
    """netlink lists interfaces by their index; without it representors count as the newest."""
    return interface.index is None, interface.index or 0, interface.representor, interface.name


def _link(interface: NetInterface, as_of: _Version) -> dict[str, Any]:
    """addLinkAttributes."""
    sriov = (interface.sriov_total_vfs or 0) > 0
    limit = _MAX_TEXT if as_of.since("1.3") else None
    return {
        "dra.net/ifName": interface.name,
        "dra.net/mac": interface.mac,
        "dra.net/mtu": interface.mtu,
        "dra.net/encapsulation": interface.encapsulation,
        "dra.net/alias": interface.alias or "",
        "dra.net/state": interface.operstate or "unknown",
        "dra.net/type": _KINDS.get(interface.kind or "", interface.kind),
        "dra.net/ipv4": addresses((a for a in interface.addresses if ":" not in a), limit),
        "dra.net/ipv6": addresses((a for a in interface.addresses if ":" in a), limit),
        "dra.net/ebpf": False,
        "dra.net/sriov": sriov,
        "dra.net/sriovVfs": (interface.sriov_num_vfs or 0) if sriov else None,
        "dra.net/isSriovVf": True if interface.virtual_function and as_of.since("1.1") else None,
        "dra.net/virtual": bool(interface.virtual),
    }


def addresses(cidrs: Iterable[str], limit: int | None = _MAX_TEXT) -> str | None:
    """buildIPList: global unicast addresses, sorted and joined, as many as fit into ``limit`` bytes."""
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
        if limit is not None and len(longer) > limit:
            break
        joined = longer
    return joined or None


def _rdma(machine: Machine, found: dict[str, dict[str, Any]], as_of: _Version) -> None:
    """addRDMAAttributes."""
    interfaces = {interface.name: interface for interface in machine.net_interfaces}
    by_function = {rdma.bdf: rdma.name for rdma in reversed(machine.rdma_devices) if rdma.bdf is not None}
    for facts in found.values():
        interface = facts.get("dra.net/ifName")
        name = facts.get("dra.net/rdmaDevice") if as_of.since("main") else None
        if name is None and interface is not None:
            name = interfaces[interface].rdma_device
        elif name is None:
            name = by_function.get(facts.get("dra.net/pciAddress", ""))
        facts["dra.net/rdma"] = name is not None
        # Up to 1.4 only for functions without interface; at all from 1.1 on.
        if name is not None and as_of.since("1.1") and (as_of.since("main") or interface is None):
            facts["dra.net/rdmaDevice"] = name


def _pci(
    name: str,
    facts: dict[str, Any],
    described: dict[str, PciDevice],
    machine: Machine,
    *,
    lists: bool,
    as_of: _Version,
) -> dict[str, Any]:
    """addPCIAttributes; up to 1.4 only class 02 has more than pcieRoot (discoverPCIDevices)."""
    pci = machine.pci.get(facts.get("dra.net/pciAddress", ""))
    if pci is None:
        return {}
    if name not in described and not as_of.since("main"):
        return pcie_root(pci)
    names = ids.of_dranet()
    standard = numa_nodes(pci, machine) if lists else numa_node(pci)
    return {
        "dra.net/pciVendor": names.vendor(pci.vendor) or UNKNOWN,
        "dra.net/pciDevice": names.device(pci.vendor, pci.device) or UNKNOWN,
        "dra.net/pciSubsystem": pci.subsystem_device.removeprefix("0x") if pci.subsystem_device else None,
        "dra.net/numaNode": ghw.numa_node(pci, machine),
        **pcie_root(pci),
        **(standard if as_of.since("main") else {}),
    }


def _other_names(pci: PciDevice) -> str | None:
    """Differences between dranet's pci.ids and dractl's newer one, for a reader who compares."""
    old, new = ids.of_dranet(), ids.own()
    differing = [
        f"{newer!r}"
        for theirs, newer in (
            (old.vendor(pci.vendor), new.vendor(pci.vendor)),
            (old.device(pci.vendor, pci.device), new.device(pci.vendor, pci.device)),
        )
        if theirs != newer and newer is not None
    ]
    if not differing:
        return None
    return f"pci.ids of {new.date} has {' and '.join(differing)}; dranet's own is of {old.date}"
