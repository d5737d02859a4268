"""``tpu.google.com``: Google TPUs, from their PCI functions and the node's labels about its TPU
slice.

Source: kubernetes-sigs/dra-driver-google-tpu@f5a9d8c
cmd/tpu-dra-kubeletplugin/{manager.go,hardware.go,util.go}.
"""

import re

from dractl.drivers.profile import Inventory, Known, Options, single_slice
from dractl.drivers.values import to_attributes
from dractl.errors import UsageError
from dractl.facts.drivers import driver
from dractl.topology.machine import Machine, PciDevice

NAME = "tpu.google.com"
_VENDOR = "0x1ae0"
_NO_TPU = ("0x001f", "0x0042", "0xabcd")  # NVMe and network functions with the same vendor id

# Node labels use these names for accelerators; a name tpuN is its own generation.
_OWN_GENERATION = re.compile(r"tpu\d+[a-z]?\Z")


class _Tpu(Known, frozen=True):
    def present(self, machine: Machine) -> bool:
        return any(_is_tpu(pci) for pci in machine.pci_devices)

    def publish(self, machine: Machine, options: Options) -> Inventory:
        names = sorted(
            name
            for pci in machine.pci_devices
            if _is_tpu(pci) and (name := _device_file(pci)) is not None
        )
        if not names:
            return Inventory(
                unpublished="no TPU has a device file: neither /dev/accelN nor vfio-pci"
            )
        accelerator = options.setting(NAME, "accelerator") or _accelerator(
            machine.host.instance_type
        )
        if accelerator is None:
            how = "name it: --driver-option tpu.google.com:accelerator=tpu-v6e-slice"
            return Inventory(
                unpublished=(
                    f"the accelerator is unknown here: it is read from the node's labels; {how}"
                )
            )
        count = _count(options) or len(names)
        if count != len(names):
            return Inventory(
                unpublished=f"the node's labels say {count} chips, but {len(names)} were found"
            )
        common = {
            "tpuGen": _generation(accelerator),
            "brand": "Google",
            "accelerator": accelerator,
            "chipCount": count,
            "topology": (
                options.setting(NAME, "topology")
                or driver(NAME).table("topologies").get(str(count))
            ),
        }
        devices = [
            {"name": name, "attributes": to_attributes({"index": i, **common})}
            for i, name in enumerate(names)
        ]
        return Inventory(
            single_slice(devices),
            notices=(f"{NAME}: uuid is not rendered: it is derived from the node's name",),
        )


PROFILE = _Tpu(NAME)


def _is_tpu(pci: PciDevice) -> bool:
    return pci.vendor == _VENDOR and pci.device is not None and pci.device not in _NO_TPU


def _device_file(pci: PciDevice) -> str | None:
    """Return the entry of /dev or /dev/vfio."""
    accel = next((name for name in pci.names if name.startswith("accel")), None)
    if accel is None and pci.driver == "vfio-pci" and pci.iommu_group is not None:
        return str(pci.iommu_group)
    return accel


def _accelerator(instance_type: str | None) -> str | None:
    return driver(NAME).table("families").get((instance_type or "").partition("-")[0])


def _generation(accelerator: str) -> str:
    if _OWN_GENERATION.match(accelerator):
        return accelerator
    generations = driver(NAME).table("generations")
    if accelerator not in generations:
        raise UsageError(
            f"{NAME}: accelerator {accelerator!r} is unknown to the driver",
            hint=f"it knows {', '.join(generations)} and names such as tpu7x",
        )
    return generations[accelerator]


def _count(options: Options) -> int | None:
    text = options.setting(NAME, "chipCount")
    if text is not None and not text.isdecimal():
        raise UsageError(f"{NAME}: chipCount must be a number, not {text!r}")
    return int(text) if text else None
