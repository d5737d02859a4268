"""``sriovnetwork.k8snetworkplumbingwg.io``: the virtual functions (VFs) of network cards.

Source: k8snetworkplumbingwg/dra-driver-sriov, pkg/devicestate/discovery.go, pkg/host/host.go, pkg/consts/consts.go,
pkg/controller/resourcepolicycontroller.go, deployments/helm.

Nothing is published of which no SriovResourcePolicy says so. What is rendered is what a policy with one filter would
select; without filter that is every VF, as with the policy ``configs: [{}]`` of the driver's README.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dractl.drivers.ghw import network_functions
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
from dractl.drivers.standard import PCI_BUS_ID, PCIE_ROOT
from dractl.drivers.values import typed
from dractl.errors import UsageError
from dractl.topology.standard_attributes import pci_bus_id, published

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dractl.topology.machine import Machine, NetInterface, PciDevice

NAME = "sriovnetwork.k8snetworkplumbingwg.io"
_MULTUS = "k8s.cni.cncf.io"
_UPLINK = re.compile(r"p\d+\Z")  # the physical port's phys_port_name (k8snetworkplumbingwg/sriovnet physPortRepRegex)
_LINK_TYPES = {"ether": "ethernet", "infiniband": "infiniband"}
# NormalizeLinkType; the CRD allows no other.
_ASKED_LINK_TYPES = {"eth": "ethernet", "ethernet": "ethernet", "ib": "infiniband", "infiniband": "infiniband"}

# Fields of a policy's ResourceFilter, and the attribute that each compares.
_FILTERS = {
    "vendors": "vendor",
    "devices": "deviceID",
    "pciAddresses": "pciAddress",
    "pfNames": "PFName",
    "pfPciAddresses": "pfPciAddress",
}

CATALOGUE = Catalogue(
    title="virtual functions of SR-IOV network cards",
    source="k8snetworkplumbingwg/dra-driver-sriov pkg/devicestate/discovery.go, pkg/consts/consts.go",
    versions=("main",),
    released="main",
    complete=False,
    attributes=(
        Attribute(f"{NAME}/vendor", "string", "the physical function's PCI vendor id, such as 15b3"),
        Attribute(f"{NAME}/deviceID", "string", "the virtual function's PCI device id, such as 101e"),
        Attribute(f"{NAME}/pfDeviceID", "string", "the physical function's PCI device id, such as 1021"),
        Attribute(f"{NAME}/pciAddress", "string", "the virtual function's PCI address"),
        Attribute(f"{NAME}/pfPciAddress", "string", "the physical function's PCI address"),
        Attribute(f"{NAME}/PFName", "string", "the physical function's interface"),
        Attribute(
            f"{NAME}/EswitchMode", "string", "as devlink reports it, else legacy", values=("legacy", "switchdev")
        ),
        Attribute(f"{NAME}/vfID", "int", "number of the virtual function"),
        Attribute(f"{NAME}/linkType", "string", "kind of link", values=("ethernet", "infiniband", "unknown")),
        Attribute(f"{NAME}/rdmaCapable", "bool", "true if the virtual function has an RDMA device"),
        Attribute(
            f"{NAME}/resourceName", "string", "a name that users choose", when="set by a DeviceAttributes object"
        ),
        Attribute(
            f"{_MULTUS}/resourceName", "string", "likewise; Multus compares it", when="set by a DeviceAttributes object"
        ),
        Attribute(f"{_MULTUS}/deviceID", "string", "the virtual function's PCI address, for Multus"),
        Attribute(PCI_BUS_ID, "string", "the virtual function's PCI address"),
        Attribute(
            PCIE_ROOT,
            "string",
            "the physical function's PCIe root complex, such as pci0000:17; empty if unknown",
        ),
        Attribute("dra.net/numaNode", "int", "the physical function's NUMA node, -1 included"),
    ),
    settings=(
        *(
            Setting(name, "all, or a list separated by commas", f"only devices whose {attribute} is in the list")
            for name, attribute in _FILTERS.items()
        ),
        Setting("linkType", f"any, or one of {', '.join(_ASKED_LINK_TYPES)}", "only devices of this link type"),
        Setting("resourceName", "none, or a string", f"attribute {NAME}/resourceName of a DeviceAttributes object"),
        Setting("multusResourceName", "none, or a string", f"attribute {_MULTUS}/resourceName of such an object"),
    ),
    notes=(
        "rendered only when named: --driver " + NAME,
        "EswitchMode is rendered as switchdev if representors are found, else as legacy: dractl does not ask devlink",
        "without a SriovResourcePolicy nothing is published; the options are the fields of its filter",
        "DeviceAttributes objects can add any other attribute to the devices that a policy selects",
        "devices are named by the address of the VF, such as 0000-3b-00-2; physical functions are not published",
    ),
)


class _Sriov(Struct, frozen=True):
    name: str = NAME
    catalogue: Catalogue = CATALOGUE

    def present(self, machine: Machine) -> bool:
        return any(True for _ in _families(machine, []))

    def device_classes(self, options: Options) -> tuple[dict[str, Any], ...]:  # noqa: ARG002
        return (device_class(NAME, f"device.driver == '{NAME}'"),)

    def inventory(self, machine: Machine, options: Options) -> Inventory:
        version_index(CATALOGUE, NAME, options.versions.get(NAME))
        link_type = _link_type(options)
        notices: list[str] = []
        devices: list[dict[str, Any]] = []
        for parent, uplink, children in _families(machine, notices):
            mode = _eswitch_mode(parent, machine)
            for child in children:
                facts = _facts(child, parent, uplink, mode, machine)
                if _selected(facts, link_type, options):
                    devices.append(_device(child, facts, options))
        if devices:
            notices.append(f"{NAME}: published only where a SriovResourcePolicy selects these devices")
        return Inventory(one_slice(devices), notices=tuple(notices))


PROFILE = _Sriov()


def _families(machine: Machine, notices: list[str]) -> Iterator[tuple[PciDevice, NetInterface, list[PciDevice]]]:
    """Physical functions with their interface and their VFs; reports others for which VFs might have been expected."""
    functions: dict[str, list[PciDevice]] = {}
    for pci in machine.pci_devices:
        if pci.sriov is not None and pci.sriov.vf_index is not None:  # GetVFList follows the links virtfnN
            functions.setdefault(str(_parent_of(pci)), []).append(pci)
    for parent in network_functions(machine):
        if _parent_of(parent) is not None:
            continue
        children = functions.get(parent.bdf, [])
        uplink = _uplink(parent, machine)
        if uplink is not None and children:
            yield parent, uplink, children
        elif children:
            why = (
                "its PCI domain has more than four digits"
                if pci_bus_id(parent) is None
                else "it has no interface itself"
            )
            notices.append(f"{parent.bdf}: its VFs are not published: {why}")
        elif parent.sriov is not None and parent.sriov.total_vfs:
            notices.append(f"{parent.bdf}: could have {parent.sriov.total_vfs} VFs, but none exist (sriov_numvfs)")


def _parent_of(pci: PciDevice) -> str | None:
    return pci.sriov.physical_function if pci.sriov is not None else None


def _uplink(parent: PciDevice, machine: Machine) -> NetInterface | None:
    """TryGetPFInterfaceName: the interface of the physical port, else the first of the function.

    It looks into the function's own ``net`` directory, and interfaces of virtio and of subfunctions are one level
    below; domains of more than four digits are no addresses to it (sriovnet's pciAddressRe).
    """
    if pci_bus_id(parent) is None:
        return None
    own = [i for i in machine.net_interfaces if i.bdf == parent.bdf and not i.representor and not i.nested]
    return min(own, key=lambda i: (_UPLINK.match(i.port_name or "") is None, i.name), default=None)


def _eswitch_mode(parent: PciDevice, machine: Machine) -> str:
    """GetNicSriovMode: legacy unless devlink, which dractl does not query, reports another mode. Representors exist
    only in mode switchdev."""
    return "switchdev" if any(i.representor and i.bdf == parent.bdf for i in machine.net_interfaces) else "legacy"


def _facts(child: PciDevice, parent: PciDevice, uplink: NetInterface, mode: str, machine: Machine) -> dict[str, Any]:
    return {
        f"{NAME}/vendor": _id(parent.vendor),
        f"{NAME}/deviceID": _id(child.device),
        f"{NAME}/pfDeviceID": _id(parent.device),
        f"{NAME}/pciAddress": child.bdf,
        f"{_MULTUS}/deviceID": child.bdf,
        f"{NAME}/PFName": uplink.name,
        f"{NAME}/EswitchMode": mode,
        f"{NAME}/vfID": child.sriov.vf_index if child.sriov is not None else None,
        PCIE_ROOT: published(parent) or "",
        f"{NAME}/pfPciAddress": parent.bdf,
        PCI_BUS_ID: child.bdf,
        f"{NAME}/linkType": _LINK_TYPES.get(uplink.encapsulation or "", "unknown"),
        f"{NAME}/rdmaCapable": any(rdma.bdf == child.bdf for rdma in machine.rdma_devices),
        "dra.net/numaNode": -1 if parent.numa_node is None else parent.numa_node,
    }


def _id(text: str | None) -> str | None:
    return text.removeprefix("0x") if text is not None else None


def _device(child: PciDevice, facts: dict[str, Any], options: Options) -> dict[str, Any]:
    given = {
        f"{NAME}/resourceName": options.setting(NAME, "resourceName") or None,
        f"{_MULTUS}/resourceName": options.setting(NAME, "multusResourceName") or None,
    }
    return {"name": child.bdf.replace(":", "-").replace(".", "-"), "attributes": typed({**facts, **given})}


def _link_type(options: Options) -> str | None:
    asked = options.setting(NAME, "linkType")
    if asked in (None, "any"):
        return None
    if asked.lower() not in _ASKED_LINK_TYPES:
        raise UsageError(f"{NAME}: linkType must be one of {', '.join(_ASKED_LINK_TYPES)}, not {asked!r}")
    return _ASKED_LINK_TYPES[asked.lower()]


def _selected(facts: dict[str, Any], link_type: str | None, options: Options) -> bool:
    """deviceMatchesFilter: each given list must contain the device's value, as written."""
    for name, attribute in _FILTERS.items():
        asked = options.setting(NAME, name)
        if asked not in (None, "all") and facts[f"{NAME}/{attribute}"] not in asked.split(","):
            return False
    return link_type in (None, facts[f"{NAME}/linkType"])
