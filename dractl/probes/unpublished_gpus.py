"""GPUs that are not PCI devices. No driver publishes them, since drivers find GPUs on the PCI bus
or with NVML.

NVIDIA/k8s-device-plugin#1963 and NVIDIA/gpu-operator#1453 are about boards with Tegra; Linux
drivers/hv/dxgkrnl (in Microsoft's kernel) is the GPU that a Windows host lends to its guests, WSL2
among them.
"""

import re
from collections.abc import Callable

from dractl.probes.root import SysRoot

_PLATFORM_DEVICES = "sys/bus/platform/devices"
_TEGRA_GPU = re.compile(r"[0-9a-f]+\.(?:gpu|gk20a|gm20b|gp10b|gv11b|ga10b)\Z")
_HYPERV_DRIVER = "sys/bus/pci/drivers/dxgkrnl"


def report_unpublished_gpus(root: SysRoot, note: Callable[[str, str], None]) -> None:
    """Add a note for each GPU that no DRA driver publishes."""
    for name in root.names(_PLATFORM_DEVICES):
        if _TEGRA_GPU.match(name):
            note(
                name,
                "an integrated GPU of the board (Tegra): it is no PCI device, and no DRA driver"
                " publishes it",
            )
    if root.exists("dev/dxg") or root.names(_HYPERV_DRIVER):
        note(
            "/dev/dxg",
            "a GPU that the Windows host lends to this machine (dxgkrnl): it is no PCI device with"
            " a driver of its vendor, and no DRA driver publishes it",
        )
