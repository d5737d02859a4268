"""``gpu.intel.com``: Intel GPUs, whichever kernel driver they are bound to.

Source: intel/intel-resource-drivers-for-kubernetes, cmd/kubelet-gpu-plugin/node_state.go, pkg/gpu (device, discovery).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dractl.drivers.profile import (
    Attribute,
    Capacity,
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
from dractl.topology.pcie_root import published

if TYPE_CHECKING:
    from dractl.topology.machine import Machine, PciDevice

NAME = "gpu.intel.com"
_VENDOR, _CLASSES = "0x8086", ("0x030000", "0x038000")
_ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")
_DRM = ("i915", "xe")

# pkg/gpu/device/models.go: PCI device id -> model, family.
_MODELS = {
    "0x4626": ("Alder Lake-P", "Iris Xe"),
    "0xa7a0": ("Raptor Lake-P", "Iris Xe"),
    "0x7d67": ("Arrow Lake-S", "Intel Graphics"),
    "0x56a0": ("A770", "Arc A-Series"),
    "0x56a1": ("A750", "Arc A-Series"),
    "0x56a2": ("A580", "Arc A-Series"),
    "0x56a5": ("A380", "Arc A-Series"),
    "0x56a6": ("A310", "Arc A-Series"),
    "0x56b0": ("A30M", "Arc Pro A-Series"),
    "0x56b1": ("A40/A50", "Arc Pro A-Series"),
    "0x56b2": ("A60M", "Arc Pro A-Series"),
    "0x56b3": ("A60", "Arc Pro A-Series"),
    "0x56c0": ("Flex 170", "Data Center Flex"),
    "0x56c1": ("Flex 140", "Data Center Flex"),
    "0x0b69": ("Max 1550", "Data Center Max"),
    "0x0bd0": ("Max 1550", "Data Center Max"),
    "0x0bd5": ("Max 1550", "Data Center Max"),
    "0x0bd6": ("Max 1450", "Data Center Max"),
    "0x0bd9": ("Max 1100", "Data Center Max"),
    "0x0bda": ("Max 1100", "Data Center Max"),
    "0x0bdb": ("Max 1100", "Data Center Max"),
    "0xb080": ("B390", "Arc B-Series"),
    "0xb081": ("B370", "Arc B-Series"),
    "0xb082": ("B390", "Arc B-Series"),
    "0xb083": ("B370", "Arc B-Series"),
    "0xb084": ("B390", "Arc B-Series"),
    "0xb085": ("B370", "Arc B-Series"),
    "0xb086": ("B390", "Arc B-Series"),
    "0xb087": ("B370", "Arc B-Series"),
    "0xe20b": ("B580", "Arc B-Series"),
    "0xe20c": ("B570", "Arc B-Series"),
    "0xe211": ("B60", "Arc Pro B-Series"),
    "0xe212": ("B50", "Arc Pro B-Series"),
    "0xe222": ("B65", "Arc Pro B-Series"),
    "0xe223": ("B70", "Arc Pro B-Series"),
}

CATALOGUE = Catalogue(
    title="Intel GPUs",
    source="intel/intel-resource-drivers-for-kubernetes cmd/kubelet-gpu-plugin/node_state.go",
    versions=("0.11",),
    released="0.11",
    attributes=(
        Attribute("model", "string", "such as Flex 170, Max 1100, B580; Unknown"),
        Attribute("family", "string", "such as Data Center Flex; Unknown"),
        Attribute("driver", "string", "kernel driver bound now: xe, i915, vfio-pci, xe-vfio-pci or empty"),
        Attribute("sriov", "bool", "whether virtual functions can be made"),
        Attribute("type", "string", "gpu or vf"),
        Attribute("pciId", "string", "PCI device id, such as 0x56c0"),
        Attribute("pciAddress", "string", "PCI address; deprecated"),
        Attribute("pciRoot", "string", "bus of the PCIe root; deprecated", when="where the root can be told"),
        Attribute("health", "string", "Unknown, Healthy or Unhealthy, as xpumd says"),
        Attribute(PCI_BUS_ID, "string", "the PCI address"),
        Attribute(PCIE_ROOT, "string", "the PCIe root complex, such as pci0000:17; empty where it cannot be told"),
    ),
    capacities=(
        Capacity("memory", "local memory, asked of the kernel driver (not rendered)"),
        Capacity("millicores", "1k"),
    ),
    settings=(
        Setting("manageBinding", "true, false", "whether the driver binds GPUs to the kernel driver that is needed"),
    ),
    notes=("without manageBinding a GPU that no kernel driver is bound to has the taint UnboundUnmanaged",),
)


@dataclass(frozen=True, slots=True)
class _Intel:
    name: str = NAME
    catalogue: Catalogue = CATALOGUE

    def present(self, machine: Machine) -> bool:
        return any(_published(device) for device in machine.pci_devices)

    def device_classes(self, options: Options) -> tuple[dict[str, Any], ...]:
        vfio = device_class("gpu-vfio.intel.com", 'device.driver == "gpu.intel.com"')
        bound = 'device.attributes["gpu.intel.com"].driver'
        if not _manages_binding(options):
            only = {"cel": {"expression": f"{bound} == 'vfio-pci' || {bound} == 'xe-vfio-pci'"}}
            vfio["spec"]["selectors"].append(only)
        return (device_class(NAME, 'device.driver == "gpu.intel.com"'), vfio)

    def inventory(self, machine: Machine, options: Options) -> Inventory:
        version_index(CATALOGUE, NAME, options.versions.get(NAME))
        managed = _manages_binding(options)
        devices = [_device(device, managed=managed) for device in machine.pci_devices if _published(device)]
        notices = (
            [f"{NAME}: capacity memory is not rendered: only the kernel driver tells it, not /sys"] if devices else []
        )
        return Inventory(one_slice(devices), notices=tuple(notices))


PROFILE = _Intel()


def _manages_binding(options: Options) -> bool:
    value = options.setting(NAME, "manageBinding") or "true"
    if value not in ("true", "false"):
        raise UsageError(f"{NAME}: manageBinding is true or false, not {value!r}")
    return value == "true"


def _published(device: PciDevice) -> bool:
    """Not bound to a graphics driver it must be a known model (discovery-pci.go DiscoverPCIDevice)."""
    known = device.driver in _DRM or device.device in _MODELS
    return (
        device.vendor == _VENDOR
        and device.class_code in _CLASSES
        and _ADDRESS.match(device.bdf) is not None
        and device.device is not None
        and known
    )


def _device(device: PciDevice, *, managed: bool) -> dict[str, Any]:
    model, family = _MODELS.get(device.device or "", ("Unknown", "Unknown"))
    root = published(device)
    sriov = device.sriov
    virtual = sriov is not None and sriov.physical_function is not None
    can_share = sriov is not None and bool(sriov.total_vfs) and sriov.drivers_autoprobe is True
    found: dict[str, Any] = {
        "name": f"{device.bdf.replace(':', '-').replace('.', '-')}-{device.device}",
        "attributes": typed(
            {
                "model": model,
                "family": family,
                "driver": device.driver or "",
                "sriov": can_share,
                "type": "vf" if virtual else "gpu",
                "pciId": device.device,
                "pciAddress": device.bdf,
                "pciRoot": root.partition(":")[2] if root else None,
                "health": "Unknown",
                PCI_BUS_ID: device.bdf,
                PCIE_ROOT: root or "",
            }
        ),
        "capacity": {"millicores": {"value": "1k"}},
    }
    if device.driver is None and not managed:
        found["taints"] = [{"key": "UnboundUnmanaged", "effect": "NoSchedule"}]
    return found
