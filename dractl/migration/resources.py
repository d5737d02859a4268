"""Extended resources of device plugins, and the devices of DRA drivers that stand for them."""

from __future__ import annotations

from msgspec import Struct

from dractl.drivers.resources import drivers_of
from dractl.model.nearest import nearest

GPU, MIG = "gpu.nvidia.com", "mig.nvidia.com"
SRIOV = "sriovnetwork.k8snetworkplumbingwg.io"
_SHARED = ".shared"  # renameByDefault of k8s-device-plugin's sharing configuration (api/config/v1/replicas.go)


class Wanted(Struct, frozen=True):
    """A request for devices: class, selectors, the name of request and claim, and what the user has to know."""

    name: str
    device_class: str
    driver: str
    selectors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


# Resource -> name of request and claim, class; the driver is that of drivers/resources.py.
_EXACT = {
    "nvidia.com/gpu": ("gpu", GPU),
    "amd.com/gpu": ("gpu", "gpu.amd.com"),
    "gpu.intel.com/i915": ("gpu", "gpu.intel.com"),
    "gpu.intel.com/xe": ("gpu", "gpu.intel.com"),
    "habana.ai/gaudi": ("gaudi", "gaudi.intel.com"),
    "aws.amazon.com/neuron": ("neuron", "neuron.aws.com"),
    "aws.amazon.com/neurondevice": ("neuron", "neuron.aws.com"),
    "vpc.amazonaws.com/efa": ("efa", "efa.networking.k8s.aws"),
    "google.com/tpu": ("tpu", "tpu.google.com"),
    "rebellions.ai/npu": ("npu", "npu.rebellions.ai"),
    "tenstorrent.com/chip": ("chip", "tenstorrent.com"),
}
_WITHOUT_DEVICES = {
    "aws.amazon.com/neuroncore": "neuron.aws.com publishes whole Neuron devices, not cores; request "
    "aws.amazon.com/neuron, or write the claim by hand",
    "gpu.intel.com/i915_monitoring": "monitoring is an adminAccess request, which needs a namespace labelled "
    "resource.kubernetes.io/admin-access; write the claim by hand",
    "gpu.intel.com/xe_monitoring": "monitoring is an adminAccess request, which needs a namespace labelled "
    "resource.kubernetes.io/admin-access; write the claim by hand",
}
_SHARING = (
    "{resource} is a replica of a shared device; the claim gets a whole device unless gpu.nvidia.com runs with "
    "consumableShares=N (since 0.5)"
)
_POOL = (
    "{resource}: the selector needs a DeviceAttributes object that sets resourceName to {pool}; replace the network "
    "annotation with a VfConfig that names the NetworkAttachmentDefinition"
)


def wanted(resource: str) -> Wanted | None:
    """The devices that a device plugin's resource stands for; None where no driver is known to publish them."""
    if resource.endswith(_SHARED):
        shared = wanted(resource.removesuffix(_SHARED)) if resource.startswith("nvidia.com/") else None
        if shared is None:
            return None
        return Wanted(
            shared.name, shared.device_class, shared.driver, shared.selectors, (_SHARING.format(resource=resource),)
        )
    if resource.startswith("nvidia.com/mig-"):
        return mig(resource.removeprefix("nvidia.com/mig-"))
    domain, _, pool = resource.partition("/")
    if "sriov" in pool.lower() and domain != SRIOV:
        expression = f'device.attributes["{SRIOV}"].resourceName == "{pool}"'
        return Wanted("vf", SRIOV, SRIOV, (expression,), (_POOL.format(resource=resource, pool=pool),))
    if resource not in _EXACT:
        return None
    name, device_class = _EXACT[resource]
    return Wanted(name, device_class, drivers_of(resource)[0])


def mig(suffix: str) -> Wanted:
    """MIG devices of a profile as resource names and labels spell it: ``1g.10gb.me`` for ``1g.10gb+me``.

    Source: NVIDIA/k8s-device-plugin, internal/rm/rm.go AddDefaultResourcesToConfig (``+`` becomes ``.``; 1b826ac).
    """
    size, gb, media = suffix.partition("gb.")
    profile = f"{size}gb+{media}" if gb else suffix
    return Wanted("mig", MIG, GPU, (f'device.attributes["gpu.nvidia.com"].profile == "{profile}"',))


def is_extended(resource: str) -> bool:
    """True if only a device plugin or a DeviceClass can provide the resource."""
    return "/" in resource and "kubernetes.io/" not in resource


def why_not(resource: str) -> str:
    """Why a resource has no claim."""
    known = _WITHOUT_DEVICES.get(resource)
    if known:
        return f"{resource}: {known}"
    near = nearest(resource, _EXACT)
    return f"{resource}: no DRA driver is known for it" + (f"; did you mean {near}?" if near else "")
