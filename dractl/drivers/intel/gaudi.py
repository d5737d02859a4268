"""``gaudi.intel.com``: Intel Gaudi accelerators that the kernel driver habanalabs is bound to.

Source: intel/intel-resource-drivers-for-kubernetes@1da939f cmd/kubelet-gaudi-plugin/node_state.go,
pkg/gaudi/{discovery/discovery.go,device/device.go}.
"""

import re
from typing import Any

from dractl.drivers.profile import Inventory, Known, Options, single_slice
from dractl.drivers.standard import PCIE_ROOT
from dractl.drivers.values import to_attributes
from dractl.errors import UsageError
from dractl.topology.machine import Machine, PciDevice
from dractl.topology.standard_attributes import publish_pcie_root

NAME = "gaudi.intel.com"
_ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")
_NAMING = ("machine", "classic")


class _Gaudi(Known, frozen=True):
    def present(self, machine: Machine) -> bool:
        return any(_is_gaudi(pci) for pci in machine.pci_devices)

    def publish(self, machine: Machine, options: Options) -> Inventory:
        naming = options.setting(NAME, "namingStyle") or _NAMING[0]
        if naming not in _NAMING:
            raise UsageError(f"{NAME}: namingStyle must be {' or '.join(_NAMING)}, not {naming!r}")
        devices, left_out = [], {}
        for pci in sorted(machine.pci_devices, key=lambda pci: pci.bdf):
            if not _is_gaudi(pci):
                continue
            accel = next((name for name in pci.names if name.startswith("accel")), None)
            if accel is None and naming == "classic":
                left_out[pci.bdf] = "it has no accel device"
                continue
            name = f"{pci.bdf.replace(':', '-').replace('.', '-')}-{pci.device}"
            devices.append(_device(pci, accel if naming == "classic" and accel else name))
        return Inventory(single_slice(devices), left_out=left_out)


PROFILE = _Gaudi(NAME)


def _is_gaudi(pci: PciDevice) -> bool:
    return (
        pci.driver == "habanalabs"
        and _ADDRESS.match(pci.bdf) is not None
        and pci.device is not None
    )


def _device(pci: PciDevice, name: str) -> dict[str, Any]:
    root = publish_pcie_root(pci)
    attributes = {
        "model": model.name
        if (model := PROFILE.catalogue.models.get(pci.device or ""))
        else pci.device,
        PCIE_ROOT: root or "",
        "serial": "",
        "healthy": True,
        "pciRoot": root.partition(":")[2] if root and root.count(":") == 1 else None,
    }
    return {"name": name, "attributes": to_attributes(attributes)}
