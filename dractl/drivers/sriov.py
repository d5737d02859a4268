"""``sriovnetwork.k8snetworkplumbingwg.io``: the virtual functions (VFs) of network cards.

Source: k8snetworkplumbingwg/dra-driver-sriov, pkg/devicestate/discovery.go, pkg/host/host.go,
pkg/consts/consts.go, pkg/controller/resourcepolicycontroller.go, deployments/helm.

Only devices that a SriovResourcePolicy selects are published. The rendering has the devices that a
policy with one filter would select. Without a filter, the rendering has all VFs, as with the policy
``configs: [{}]`` of the driver's README.
"""

import re
from collections.abc import Iterator
from typing import Any

from dractl.drivers.ghw import network_functions
from dractl.drivers.profile import Inventory, Known, Options, single_slice
from dractl.drivers.standard import PCI_BUS_ID, PCIE_ROOT, numa_number
from dractl.drivers.values import to_attributes
from dractl.errors import UsageError
from dractl.topology.machine import Machine, NetInterface, PciDevice
from dractl.topology.standard_attributes import pci_bus_id, publish_pcie_root

NAME = "sriovnetwork.k8snetworkplumbingwg.io"
_MULTUS = "k8s.cni.cncf.io"
# The phys_port_name of a physical port (k8snetworkplumbingwg/sriovnet physPortRepRegex)
_UPLINK = re.compile(r"p\d+\Z")
_LINK_TYPES = {"ether": "ethernet", "infiniband": "infiniband"}
# NormalizeLinkType; the CRD allows no other values.
_ASKED_LINK_TYPES = {
    "eth": "ethernet",
    "ethernet": "ethernet",
    "ib": "infiniband",
    "infiniband": "infiniband",
}

# Fields of a policy's ResourceFilter, each with the attribute that it compares.
_FILTERS = {
    "vendors": "vendor",
    "devices": "deviceID",
    "pciAddresses": "pciAddress",
    "pfNames": "PFName",
    "pfPciAddresses": "pfPciAddress",
}


class _Sriov(Known, frozen=True):
    def present(self, machine: Machine) -> bool:
        return any(True for _ in _families(machine, []))

    def publish(self, machine: Machine, options: Options) -> Inventory:
        link_type = _link_type(options)
        notices: list[str] = []
        devices: list[dict[str, Any]] = []
        for parent, uplink, children in _families(machine, notices):
            mode = _eswitch_mode(parent, machine)
            for child in children:
                facts = _facts(child, parent, uplink, mode, machine)
                if _is_selected(facts, link_type, options):
                    devices.append(_device(child, facts, options))
        if devices:
            notices.append(
                f"{NAME}: published only where a SriovResourcePolicy selects these devices"
            )
        return Inventory(single_slice(devices), notices=tuple(notices))


PROFILE = _Sriov(NAME)


def _families(
    machine: Machine, notices: list[str]
) -> Iterator[tuple[PciDevice, NetInterface, list[PciDevice]]]:
    """Yield physical functions with their interface and their VFs; report other functions that
    might have been expected to have VFs.
    """
    functions: dict[str, list[PciDevice]] = {}
    for pci in machine.pci_devices:
        # GetVFList follows the links named virtfnN
        if pci.sriov is not None and pci.sriov.vf_index is not None:
            functions.setdefault(str(pci.physical_function), []).append(pci)
    for parent in network_functions(machine):
        if parent.physical_function is not None:
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
            notices.append(
                f"{parent.bdf}: could have {parent.sriov.total_vfs} VFs, but none exist"
                " (sriov_numvfs)"
            )


def _uplink(parent: PciDevice, machine: Machine) -> NetInterface | None:
    """Return the interface of TryGetPFInterfaceName: the interface of the physical port, else the
    function's first one.

    The driver looks only into the function's own ``net`` directory, so it does not see the
    interfaces of virtio and of subfunctions, which are one level below. To the driver, a domain of
    more than four digits is no address (sriovnet's pciAddressRe).
    """
    if pci_bus_id(parent) is None:
        return None
    interfaces = [
        i
        for i in machine.net_interfaces
        if i.bdf == parent.bdf and not i.representor and not i.nested
    ]
    return min(
        interfaces, key=lambda i: (_UPLINK.match(i.port_name or "") is None, i.name), default=None
    )


def _eswitch_mode(parent: PciDevice, machine: Machine) -> str:
    """Return the mode of GetNicSriovMode: legacy unless devlink, which dractl does not query,
    reports another mode. Representors exist only in mode switchdev.
    """
    return (
        "switchdev"
        if any(i.representor and i.bdf == parent.bdf for i in machine.net_interfaces)
        else "legacy"
    )


def _facts(
    child: PciDevice, parent: PciDevice, uplink: NetInterface, mode: str, machine: Machine
) -> dict[str, Any]:
    return {
        f"{NAME}/vendor": _id(parent.vendor),
        f"{NAME}/deviceID": _id(child.device),
        f"{NAME}/pfDeviceID": _id(parent.device),
        f"{NAME}/pciAddress": child.bdf,
        f"{_MULTUS}/deviceID": child.bdf,
        f"{NAME}/PFName": uplink.name,
        f"{NAME}/EswitchMode": mode,
        f"{NAME}/vfID": child.sriov.vf_index if child.sriov is not None else None,
        PCIE_ROOT: publish_pcie_root(parent) or "",
        f"{NAME}/pfPciAddress": parent.bdf,
        PCI_BUS_ID: child.bdf,
        f"{NAME}/linkType": _LINK_TYPES.get(uplink.encapsulation or "", "unknown"),
        f"{NAME}/rdmaCapable": any(rdma.bdf == child.bdf for rdma in machine.rdma_devices),
        "dra.net/numaNode": numa_number(parent),
    }


def _id(text: str | None) -> str | None:
    return text.removeprefix("0x") if text is not None else None


def _device(child: PciDevice, facts: dict[str, Any], options: Options) -> dict[str, Any]:
    given = {
        f"{NAME}/resourceName": options.setting(NAME, "resourceName") or None,
        f"{_MULTUS}/resourceName": options.setting(NAME, "multusResourceName") or None,
    }
    return {
        "name": child.bdf.replace(":", "-").replace(".", "-"),
        "attributes": to_attributes({**facts, **given}),
    }


def _link_type(options: Options) -> str | None:
    asked = options.setting(NAME, "linkType")
    if asked in (None, "any"):
        return None
    if asked.lower() not in _ASKED_LINK_TYPES:
        raise UsageError(
            f"{NAME}: linkType must be one of {', '.join(_ASKED_LINK_TYPES)}, not {asked!r}"
        )
    return _ASKED_LINK_TYPES[asked.lower()]


def _is_selected(facts: dict[str, Any], link_type: str | None, options: Options) -> bool:
    """Return True for a device that deviceMatchesFilter accepts: each given list must contain the
    device's value literally.
    """
    for name, attribute in _FILTERS.items():
        asked = options.setting(NAME, name)
        if asked not in (None, "all") and facts[f"{NAME}/{attribute}"] not in asked.split(","):
            return False
    return link_type in (None, facts[f"{NAME}/linkType"])
