"""``qat.intel.com``: virtual functions of Intel QuickAssist cards.

Source: intel/intel-resource-drivers-for-kubernetes@1da939f
cmd/kubelet-qat-plugin/deviceresources.go, pkg/qat/device/device.go.
"""

from typing import Any

from dractl.drivers.profile import Inventory, Known, Options, single_slice
from dractl.drivers.values import to_attributes
from dractl.topology.machine import Machine, PciDevice

NAME = "qat.intel.com"
_SERVICES = ("sym", "asym", "dc", "dcc")


class _Qat(Known, frozen=True):
    def present(self, machine: Machine) -> bool:
        return any(_is_card(pci) for pci in machine.pci_devices)

    def publish(self, machine: Machine, options: Options) -> Inventory:  # noqa: ARG002
        devices: list[dict[str, Any]] = []
        left_out: dict[str, str] = {}
        notices: list[str] = []
        for card in machine.pci_devices:
            if not _is_card(card):
                continue
            services = _services(card.qat_services)
            if services is None:
                left_out[card.bdf] = f"its services are {card.qat_services or 'unknown'}"
                continue
            functions = [
                pci
                for pci in machine.pci_devices
                if pci.sriov and pci.sriov.physical_function == card.bdf
            ]
            if not functions:
                notices.append(
                    f"{NAME}: {card.bdf} has no virtual functions; the driver creates them when it"
                    " starts"
                )
            devices += (
                {"name": _name(pci), "attributes": to_attributes({"services": services})}
                for pci in functions
            )
        return Inventory(single_slice(devices), left_out=left_out, notices=tuple(notices))


PROFILE = _Qat(NAME)


def _is_card(pci: PciDevice) -> bool:
    return pci.driver == "4xxx"


def _services(text: str | None) -> str | None:
    """Return the services in the driver's order; None for an unknown combination."""
    if text is None:
        return None
    configured = [name for name in text.strip().split(";") if name]
    return (
        ";".join(name for name in _SERVICES if name in configured)
        if set(configured) <= set(_SERVICES)
        else None
    )


def _name(pci: PciDevice) -> str:
    return "qatvf-" + pci.bdf.replace(":", "-").replace(".", "-")
