"""Maps hardware to drivers: for ``fit``'s words for hardware, and for the extended resources of device plugins."""

from __future__ import annotations

# Words for hardware; any other word in a shape is the name of a DeviceClass.
HARDWARE = {
    "gpu": ("gpu.nvidia.com", "gpu.amd.com", "gpu.intel.com", "gpu.example.com"),
    "nic": ("dra.net", "sriovnetwork.k8snetworkplumbingwg.io"),
    "rdma": ("dra.net", "sriovnetwork.k8snetworkplumbingwg.io"),
    "tpu": ("tpu.google.com",),
    "neuron": ("neuron.aws.com",),
    "gaudi": ("gaudi.intel.com",),
    "nvme": ("dra.nvme",),
}
# Resource of a device plugin (a whole name, or a prefix that ends in / or -), the more specific first.
_PLUGINS = {
    "nvidia.com/gpu": ("gpu.nvidia.com",),
    "nvidia.com/mig-": ("gpu.nvidia.com",),
    "amd.com/gpu": ("gpu.amd.com",),
    "gpu.intel.com/": ("gpu.intel.com",),
    "intel.com/": ("gpu.intel.com", "gaudi.intel.com", "qat.intel.com"),
    "habana.ai/gaudi": ("gaudi.intel.com",),
    "qat.intel.com/": ("qat.intel.com",),
    "google.com/tpu": ("tpu.google.com",),
    "aws.amazon.com/neuron": ("neuron.aws.com",),
    "aws.amazon.com/neurondevice": ("neuron.aws.com",),
    "vpc.amazonaws.com/efa": ("dra.net", "efa.networking.k8s.aws"),
    "rdma/": ("dra.net", "sriovnetwork.k8snetworkplumbingwg.io"),
    "rebellions.ai/": ("npu.rebellions.ai",),
    "furiosa.ai/": ("npu.furiosa.ai",),
    "tenstorrent.com/": ("tenstorrent.com",),
    "huawei.com/": ("npu.huawei.com",),
}

WITH_PLUGIN = frozenset(driver for drivers in _PLUGINS.values() for driver in drivers)
"""Drivers of hardware that a device plugin exists for, too."""


def drivers_of(resource: str) -> tuple[str, ...]:
    """DRA drivers that publish the hardware behind an extended resource; empty if none is known."""
    for name, drivers in _PLUGINS.items():
        if resource == name or (name[-1] in "/-" and resource.startswith(name)) or resource.startswith(f"{name}-"):
            return drivers
    return ()
