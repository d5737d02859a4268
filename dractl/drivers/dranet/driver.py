"""``dra.net``: dranet, network interfaces and RDMA devices.

Source: kubernetes-sigs/dranet, pkg/inventory (db.go, net.go, sysfs.go), pkg/names,
pkg/apis/attributes.go. :mod:`dractl.drivers.dranet.cloud` adds the attributes from the metadata
services of cloud providers. dractl does not query the kernel for eBPF programs, and renders each
interface as if it had none.
"""

import ipaddress
import re
from base64 import b32encode
from collections.abc import Iterable, Iterator
from typing import Any

from dractl.drivers import ghw
from dractl.drivers.dranet import cloud as dranet_cloud, filter as dranet_filter
from dractl.drivers.ghw import UNKNOWN, network_functions
from dractl.drivers.profile import Inventory, Known, Options, single_slice
from dractl.drivers.standard import numa_node, numa_nodes, pcie_root
from dractl.drivers.values import to_attributes
from dractl.probes import ids
from dractl.topology.machine import Machine, NetInterface, PciDevice

NAME = "dra.net"
_IGNORED = frozenset({"cilium_net", "cilium_host", "docker0"})  # ignoredInterfaceNames
_NO_NETDEV = frozenset({"vfio-pci", "uio_pci_generic", "igb_uio", "pci-stub"})  # nonNetdevDrivers
# sysfs.go's own expression accepts domains of four digits; ghw also lists domains of five digits.
_FOUR_DIGITS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]\Z")
_UNBOUND = "no kernel driver that creates an interface is bound"
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")
_MAX_TEXT = 64  # resourceapi.DeviceAttributeMaxValueLength
# vishvananda/netlink Tuntap.Type; the other kinds have the kernel's names
_KINDS = {"tun": "tuntap"}


class _Dranet(Known, frozen=True):
    def present(self, machine: Machine) -> bool:
        return any(map(_is_allocatable, network_functions(machine))) or any(
            d.bdf for d in machine.rdma_devices
        )

    def publish(self, machine: Machine, options: Options) -> Inventory:
        """Return the devices of DB.scan: PCI functions, RDMA devices of other classes, and
        interfaces, without the devices of the host's uplink.
        """
        lists = options.flag(NAME, "DRAListTypeAttributes")
        bound_only = options.has(NAME, "bound-functions")
        functions = [
            pci for pci in network_functions(machine) if _is_allocatable(pci) or not bound_only
        ]
        unbound = [
            pci.bdf for pci in network_functions(machine) if not _is_allocatable(pci) and bound_only
        ]
        facts_by_name = {device_name(pci.bdf): {"dra.net/pciAddress": pci.bdf} for pci in functions}
        described = dict(zip(facts_by_name, functions, strict=True))
        if options.has(NAME, "standalone-rdma"):
            for name, address, rdma in _standalone_rdma(machine):
                facts_by_name.setdefault(
                    name, {"dra.net/pciAddress": address, "dra.net/rdmaDevice": rdma}
                )
        _interfaces(machine, facts_by_name, options)
        _rdma(machine, facts_by_name, options)
        for name, facts in facts_by_name.items():
            facts.update(_pci(name, facts, described, machine, options, lists=lists))
        wanted = options.setting(NAME, "filter")
        left_out = {
            interface.name
            for interface in machine.net_interfaces
            if (interface.kind == "veth" and wanted is None)
            or (interface.uplink if options.has(NAME, "uplinks") else interface.gateway)
        }
        cloud_attributes = dranet_cloud.attributes(machine, options)
        devices = [
            {
                "name": name,
                "attributes": to_attributes(
                    {**facts, **cloud_attributes(facts.get("dra.net/pciAddress", ""))}
                ),
            }
            for name, facts in sorted(facts_by_name.items())
            if facts.get("dra.net/ifName") not in left_out
        ]
        comments = {
            name: text
            for name, pci in described.items()
            if (text := _compare_names(pci)) is not None
        }
        why = dict.fromkeys(unbound, _UNBOUND)
        if wanted:
            everything, devices = (
                devices,
                dranet_filter.apply_filter(devices, wanted, options.target),
            )
            why |= dict.fromkeys(
                _places_of(everything) - _places_of(devices), "the filter leaves it out"
            )
        return Inventory(single_slice(devices), comments, why)


PROFILE = _Dranet(NAME)


def _places_of(devices: Iterable[dict[str, Any]]) -> set[str]:
    """Return the PCI addresses of devices; for devices without an address, the interface."""
    attributes_of_devices = (device["attributes"] for device in devices)
    return {
        (facts.get("dra.net/pciAddress") or facts["dra.net/ifName"])["string"]
        for facts in attributes_of_devices
    }


def device_name(bdf: str) -> str:
    """Return the name of a device (names.NormalizePCIAddress)."""
    return "pci-" + bdf.replace(":", "-").replace(".", "-")


def interface_name(name: str) -> str:
    """Return the name of an interface's device (names.NormalizeInterfaceName): the name itself if
    it is a DNS label.
    """
    if _LABEL.match(name):
        return name
    return "net-" + b32encode(name.encode()).decode().rstrip("=").lower()


def _is_allocatable(pci: PciDevice) -> bool:
    """Return True for a function that can be allocated (isAllocatableNetworkDevice)."""
    return pci.driver is not None and pci.driver not in _NO_NETDEV


def _address(bdf: str | None, machine: Machine) -> str | None:
    """Return the address of pciAddressFromPath: the last function of the path whose domain has four
    digits. Behind VMD, this is the controller instead of the function itself. A described function
    whose wiring is unknown has no path; its own address is returned.
    """
    if bdf is None:
        return None
    path = (machine.pci[bdf].path if bdf in machine.pci else "") or bdf
    return next((part for part in reversed(path.split("/")) if _FOUR_DIGITS.match(part)), None)


def _standalone_rdma(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Yield name, address and RDMA device of functions of any class
    (discoverStandaloneRDMADevices).
    """
    for rdma in machine.rdma_devices:
        address = _address(rdma.bdf, machine)
        if address is not None:
            yield device_name(address), address, rdma.name


def _interfaces(
    machine: Machine, facts_by_name: dict[str, dict[str, Any]], options: Options
) -> None:
    """Add the attributes of interfaces (discoverNetworkInterfaces).

    If a function has several interfaces, a later one overwrites the attributes that it sets.
    """
    skip_ipoib = options.setting(NAME, "moveIBInterfaces") == "false"
    for interface in sorted(machine.net_interfaces, key=_order):
        if interface.name in _IGNORED or interface.encapsulation == "loopback":
            continue
        if skip_ipoib and interface.kind == "ipoib":
            continue
        address = _address(interface.bdf, machine)
        name = interface_name(interface.name) if address is None else device_name(address)
        if address is not None and name not in facts_by_name:
            continue  # the driver logs this, and does not publish the interface
        if address is None:
            facts_by_name[name] = {}
        facts = _link(interface, options)
        facts_by_name[name].update(
            {key: value for key, value in facts.items() if value is not None}
        )


_SortKey = tuple[bool, int, bool, str]


def _order(interface: NetInterface) -> _SortKey:
    """Return a sort key: netlink lists interfaces by their index.

    Interfaces without an index come last; among them, representors follow the others.
    """
    return interface.index is None, interface.index or 0, interface.representor, interface.name


def _link(interface: NetInterface, options: Options) -> dict[str, Any]:
    """Return the attributes of addLinkAttributes."""
    sriov = (interface.sriov_total_vfs or 0) > 0
    limit = _MAX_TEXT if options.has(NAME, "limited-text") else None
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
        "dra.net/isSriovVf": True if interface.virtual_function else None,
        "dra.net/virtual": bool(interface.virtual),
    }


def addresses(cidrs: Iterable[str], limit: int | None = _MAX_TEXT) -> str | None:
    """Return the text of buildIPList: global unicast addresses, sorted and joined, as many as fit
    into ``limit`` bytes.
    """
    joined = ""
    for cidr in sorted(set(cidrs)):
        try:
            address = ipaddress.ip_interface(cidr).ip
        except ValueError:
            continue
        # Go's IsGlobalUnicast: everything but unspecified, loopback, multicast, link-local and
        # broadcast.
        if (
            address.is_unspecified
            or address.is_loopback
            or address.is_multicast
            or address.is_link_local
        ):
            continue
        longer = f"{joined},{cidr}" if joined else cidr
        if limit is not None and len(longer) > limit:
            break
        joined = longer
    return joined or None


def _rdma(machine: Machine, facts_by_name: dict[str, dict[str, Any]], options: Options) -> None:
    """Add the attributes of addRDMAAttributes."""
    of_all = options.has(NAME, "rdma-device-of-interfaces")
    interfaces = {interface.name: interface for interface in machine.net_interfaces}
    by_function = {
        rdma.bdf: rdma.name for rdma in reversed(machine.rdma_devices) if rdma.bdf is not None
    }
    for facts in facts_by_name.values():
        interface = facts.get("dra.net/ifName")
        name = facts.get("dra.net/rdmaDevice") if of_all else None
        if name is None and interface is not None:
            name = interfaces[interface].rdma_device
        elif name is None:
            name = by_function.get(facts.get("dra.net/pciAddress", ""))
        facts["dra.net/rdma"] = name is not None
        if name is not None and (of_all or interface is None):
            facts["dra.net/rdmaDevice"] = name


def _pci(
    name: str,
    facts: dict[str, Any],
    described: dict[str, PciDevice],
    machine: Machine,
    options: Options,
    *,
    lists: bool,
) -> dict[str, Any]:
    """Return the attributes of addPCIAttributes. Up to 1.4, only functions of class 02 have more
    than pcieRoot (discoverPCIDevices).
    """
    pci = machine.pci.get(facts.get("dra.net/pciAddress", ""))
    if pci is None:
        return {}
    if name not in described and not options.has(NAME, "pci-of-all"):
        return pcie_root(pci)
    names = ids.dranet_names()
    standard = numa_nodes(pci, machine) if lists else numa_node(pci)
    return {
        "dra.net/pciVendor": _cut(names.vendor(pci.vendor) or UNKNOWN, options),
        "dra.net/pciDevice": _cut(names.device(pci.vendor, pci.device) or UNKNOWN, options),
        "dra.net/pciSubsystem": pci.subsystem_device.removeprefix("0x")
        if pci.subsystem_device
        else None,
        "dra.net/numaNode": ghw.numa_node(pci, machine),
        **pcie_root(pci),
        **standard,
    }


def _cut(text: str, options: Options) -> str:
    """Return a name of pci.ids; dranet's main branch cuts it to the maximum length of an
    attribute.
    """
    if not options.has(NAME, "limited-names"):
        return text
    return text.encode()[:_MAX_TEXT].decode(errors="ignore")


def _compare_names(pci: PciDevice) -> str | None:
    """Return the differences between dranet's pci.ids and dractl's newer one, as a note."""
    old, new = ids.dranet_names(), ids.default_names()
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
