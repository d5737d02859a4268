"""Every driver profile. A driver is one module and one entry here."""

from difflib import get_close_matches
from functools import cache
from importlib import import_module

from dractl.drivers.profile import Known
from dractl.errors import UsageError

# Driver name -> module, imported on demand.
_MODULES = {
    "gpu.nvidia.com": "nvidia.gpu",
    "compute-domain.nvidia.com": "nvidia.compute_domain",
    "gpu.amd.com": "amd.gpu",
    "gpu.intel.com": "intel.gpu",
    "dra.net": "dranet.driver",
    "dra.cpu": "cpu",
    "sriovnetwork.k8snetworkplumbingwg.io": "sriov",
    "dra.memory": "memory",
    "dra.nvme": "nvme",
    "tpu.google.com": "tpu",
    "neuron.aws.com": "neuron.driver",
    "gaudi.intel.com": "intel.gaudi",
    "qat.intel.com": "intel.qat",
    "spyre.ibm.com": "spyre",
    "npu.rebellions.ai": "rebellions",
    "dra.hygon.com": "hygon",
    "tenstorrent.com": "tenstorrent",
    "dra.rockchip.com": "rockchip",
    "npu.furiosa.ai": "furiosa",
    "npu.huawei.com": "huawei",
    "ascend.project-hami.io": "ascend",
    "hami-core-gpu.project-hami.io": "hami_gpu",
    "ovsdpdk.k8snetworkplumbingwg.io": "ovsdpdk",
    "composite.dra.example.io": "composite",
    "gpu.example.com": "example.gpu",
    "net.example.com": "example.net",
    "cpu.example.com": "example.cpu",
}

# Drivers that are not rendered by default: few nodes run them although most have the hardware, or
# they publish nothing without policies, or they need no hardware.
ONLY_NAMED = (
    "sriovnetwork.k8snetworkplumbingwg.io",
    "dra.memory",
    "dra.nvme",
    "hami-core-gpu.project-hami.io",
    "gpu.example.com",
    "net.example.com",
    "cpu.example.com",
)


def names() -> tuple[str, ...]:
    """Return every driver that dractl can render."""
    return tuple(_MODULES)


def by_default() -> tuple[str, ...]:
    """Return the drivers that are rendered if the user names none."""
    return tuple(name for name in _MODULES if name not in ONLY_NAMED)


@cache
def find(name: str) -> Known:
    """Return the profile of a driver; raises UsageError with the nearest name."""
    if name not in _MODULES:
        near = get_close_matches(name, _MODULES, 1)
        raise UsageError(
            f"unknown driver {name!r}" + (f"; did you mean {near[0]}?" if near else ""),
            hint=f"drivers are {', '.join(_MODULES)}",
        )
    profile: Known = import_module(f"dractl.drivers.{_MODULES[name]}").PROFILE
    return profile
