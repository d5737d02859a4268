"""``gpu.intel.com``: Intel GPUs, with any kernel driver.

Source: intel/intel-resource-drivers-for-kubernetes, cmd/kubelet-gpu-plugin/node_state.go, pkg/gpu
(device, discovery); for 0.10 at the tag gpu-v0.10.1, with pkg/helpers/device.go (DeterminePCIRoot).
"""

import re
from typing import Any

from dractl.drivers.profile import Inventory, Known, Options, single_slice
from dractl.drivers.standard import PCI_BUS_ID, PCIE_ROOT
from dractl.drivers.values import binary_quantity, to_attributes
from dractl.errors import UsageError
from dractl.facts import Model
from dractl.topology.machine import Machine, PciDevice
from dractl.topology.standard_attributes import publish_pcie_root

NAME = "gpu.intel.com"
_MIB = 1 << 20
_VENDOR, _CLASSES = "0x8086", ("0x030000", "0x038000")
_DRM, _VFIO = ("i915", "xe"), ("vfio-pci", "xe-vfio-pci")
_CARD = re.compile(r"card[0-9]{1,3}\Z")  # pkg/gpu/device/device.go CardRegexp
_UNKNOWN = Model(name="Unknown", family="Unknown")


class _Intel(Known, frozen=True):
    def present(self, machine: Machine) -> bool:
        return any(
            _is_gpu(device) and _ignore_reason(device) is None for device in machine.pci_devices
        )

    def publish(self, machine: Machine, options: Options) -> Inventory:
        old = not options.has(NAME, "by-pci")
        managed = _manages_binding(options)
        healthy = options.flag(NAME, "healthMonitoring")
        memory = {gpu.bdf: gpu.memory_bytes for gpu in machine.gpus}
        devices = []
        left_out = {}
        unknown = []
        for pci in machine.pci_devices:
            if not (_is_gpu(pci) or (old and pci.driver in _DRM)):
                continue
            why = _ignore_reason_in_0_10(pci) if old else _ignore_reason(pci)
            if why is not None:
                left_out[pci.bdf] = why
                continue
            model = self.catalogue.model(pci.device, options.versions.get(NAME)) or _UNKNOWN
            device = _device(pci, model, memory.get(pci.bdf), managed=managed, healthy=healthy)
            devices.append(_as_in_0_10(device, pci) if old else device)
            if "memory" not in devices[-1]["capacity"]:
                unknown.append(pci.bdf)
        notices = (
            (
                (
                    f"{NAME}: memory of {', '.join(unknown)} is omitted: only its kernel driver or"
                    " xpumd knows it"
                ),
            )
            if unknown
            else ()
        )
        return Inventory(single_slice(devices), left_out=left_out, notices=notices)


PROFILE = _Intel(NAME)


def _manages_binding(options: Options) -> bool:
    value = options.setting(NAME, "manageBinding") or "true"
    if value not in ("true", "false"):
        raise UsageError(f"{NAME}: manageBinding must be true or false, not {value!r}")
    return value == "true"


def _is_gpu(device: PciDevice) -> bool:
    return device.vendor == _VENDOR and device.class_code in _CLASSES and device.device is not None


_PLAIN = len("0000:00:00.0")


def _ignore_reason(device: PciDevice) -> str | None:
    """Return the reason why DiscoverPCIDevice (discovery-pci.go) ignores a GPU; None for a GPU that
    it publishes.
    """
    if device.driver in _DRM:
        if not any(map(_CARD.match, device.names)):
            return f"{device.driver} has no /dev/dri/card for it"
        return None
    if device.device not in PROFILE.catalogue.models:
        return f"model {device.device} is unknown, and neither {' nor '.join(_DRM)} is bound to it"
    if device.driver in _VFIO and len(device.vfio) != 1:
        return f"{device.driver} has no single vfio-dev for it (kernels before 6.6 have none)"
    if device.driver in _VFIO and device.iommu_group is None:
        return "it has no IOMMU group"
    return None


def _ignore_reason_in_0_10(device: PciDevice) -> str | None:
    """Return the reason why DiscoverDevices of 0.10 does not find a GPU; it lists only GPUs bound
    to i915 or xe.
    """
    if device.driver not in _DRM:
        return (
            f"neither {' nor '.join(_DRM)} is bound to it, and versions up to 0.10 publish no"
            " others"
        )
    if not any(name.startswith(("card", "renderD")) for name in device.names):
        return f"{device.driver} has no /dev/dri/card for it"
    return None


def _as_in_0_10(device: dict[str, Any], pci: PciDevice) -> dict[str, Any]:
    """Return the device as 0.10 publishes it. Its root is the first folder in the function's path,
    whatever that folder is.
    """
    root = pci.path.partition("/")[0]
    attributes = {
        name: value
        for name, value in device["attributes"].items()
        if name not in ("type", "pciRoot")
    }
    attributes[PCIE_ROOT] = {"string": root}
    if root.count(":") == 1:
        attributes["pciRoot"] = {"string": root.partition(":")[2]}
    family = attributes["family"]["string"]
    # Arc and Arc Pro were one series
    attributes["family"] = {"string": family.removesuffix(" A-Series")}
    return {**device, "attributes": attributes}


def _memory(device: PciDevice, bytes_reported: int | None) -> dict[str, Any]:
    """Return the memory in MiB, as the kernel driver or xpumd reports it; 0 if no graphics driver
    is bound (discovery.go).
    """
    if device.driver not in _DRM:
        return {"memory": {"value": "0"}}
    return (
        {}
        if bytes_reported is None
        else {"memory": {"value": binary_quantity(bytes_reported // _MIB * _MIB)}}
    )


def _device(
    device: PciDevice, model: Model, memory: int | None, *, managed: bool, healthy: bool
) -> dict[str, Any]:
    root = publish_pcie_root(device)
    sriov = device.sriov
    virtual = sriov is not None and sriov.physical_function is not None and sriov.total_vfs is None
    # deduceVfIdx compares the length of the virtfn link
    virtual = virtual and len(device.bdf) == _PLAIN
    can_share = sriov is not None and bool(sriov.total_vfs) and sriov.drivers_autoprobe is True
    entry: dict[str, Any] = {
        "name": f"{device.bdf.replace(':', '-').replace('.', '-')}-{device.device}",
        "attributes": to_attributes(
            {
                "model": model.name,
                "family": model.family,
                "driver": device.driver or "",
                "sriov": can_share,
                "type": "vf" if virtual else "gpu",
                "pciId": device.device,
                "pciAddress": device.bdf,
                "pciRoot": root.partition(":")[2] if root else None,
                "health": "Healthy" if healthy else "Unknown",
                PCI_BUS_ID: device.bdf,
                PCIE_ROOT: root or "",
            }
        ),
        "capacity": {**_memory(device, memory), "millicores": {"value": "1k"}},
    }
    if device.driver is None and not managed:
        entry["taints"] = [{"key": "UnboundUnmanaged", "effect": "NoSchedule"}]
    return entry
