"""``gpu.nvidia.com``: NVIDIA's GPU driver: full GPUs, MIG devices, partitions of both, GPUs for passthrough, shares.

Source: kubernetes-sigs/dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin (nvlib.go, driver.go), deployments/helm.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dractl.drivers import nvidia_shares
from dractl.drivers.nvidia_catalogue import CATALOGUE, NAME, VENDOR, since
from dractl.drivers.nvidia_devices import full, partial, static_mig
from dractl.drivers.nvidia_partitions import is_partitionable, partitions
from dractl.drivers.nvidia_vfio import vfio_devices
from dractl.drivers.profile import Catalogue, Inventory, Options, Slice, device_class, one_slice
from dractl.errors import UsageError

if TYPE_CHECKING:
    from dractl.topology.machine import Machine

_SKIPPED = ("DGX Display", "NVIDIA DGX Display")  # go-nvlib's default skip list


@dataclass(frozen=True, slots=True)
class _Nvidia:
    name: str = NAME
    catalogue: Catalogue = CATALOGUE

    def present(self, machine: Machine) -> bool:
        return any(gpu.vendor == VENDOR for gpu in machine.gpus)

    def device_classes(self, options: Options) -> tuple[dict[str, Any], ...]:
        def of(kind: str) -> str:
            return f"device.driver == '{NAME}' && device.attributes['{NAME}'].type == '{kind}'"

        gpu = device_class(NAME, of("gpu"), extendedResourceName="nvidia.com/gpu")
        mig = device_class("mig.nvidia.com", of("mig"))
        vfio = device_class("vfio.gpu.nvidia.com", of("vfio"))
        return (gpu, mig, vfio) if since(options, "0.3") else (gpu, mig)

    def inventory(self, machine: Machine, options: Options) -> Inventory:
        dynamic = _gate("dynamicMIG", options)
        passed = _gate("passthroughSupport", options)
        shares = nvidia_shares.asked(options)
        if dynamic and passed:
            raise UsageError(f"{NAME}: dynamicMIG and passthroughSupport exclude each other; the driver refuses both")
        if passed and machine.host.iommu is False:
            return Inventory(
                notices=(f"{NAME}: with passthroughSupport the driver does not start here: no IOMMU is enabled",)
            )
        finds_vfio = passed and since(options, "0.4")
        found = _known_to_nvml(machine, options, dynamic=dynamic, vfio=finds_vfio)
        if shares is not None:
            shared = tuple(
                replace(one, devices=tuple(nvidia_shares.shared(device, shares) for device in one.devices))
                for one in found.slices
            )
            found = replace(found, slices=shared)
        if passed and not finds_vfio:
            why = f"{NAME}: 0.3 (25.12) has the gate PassthroughSupport, but finds no vfio device with it"
            return replace(found, notices=(*found.notices, why))
        if not finds_vfio:
            return found
        vfio = list(vfio_devices(machine, options))
        comments = {device["name"]: f"unknown here: {', '.join(unknown)}" for device, unknown in vfio if unknown}
        return replace(
            found,
            slices=one_slice((*found.devices, *(device for device, _ in vfio))),
            comments={**found.comments, **comments},
        )


PROFILE = _Nvidia()


def _known_to_nvml(machine: Machine, options: Options, *, dynamic: bool, vfio: bool) -> Inventory:
    """Full GPUs, MIG devices and, with ``dynamic``, partitions; ``vfio`` says whether there are vfio devices, too."""
    devices: list[dict[str, Any]] = []
    counter_sets: list[dict[str, Any]] = []
    apart: list[Slice] = []
    comments: dict[str, str] = {}
    notices: list[str] = []
    taken = {gpu.minor for gpu in machine.gpus if gpu.minor is not None}
    unnumbered = 0
    gpus = [gpu for gpu in machine.gpus if gpu.vendor == VENDOR and gpu.name not in _SKIPPED]
    for gpu in sorted(gpus, key=lambda gpu: (gpu.minor is None, gpu.minor or 0, gpu.bdf or "")):
        pci = machine.pci.get(gpu.bdf) if gpu.bdf is not None else None
        if gpu.health == "lost":
            notices.append(f"{gpu.bdf}: this GPU is lost; the driver publishes nothing until it is gone or back")
            continue
        if gpu.source != "nvml":
            if pci is not None and pci.driver not in (None, "nvidia"):
                what = "it is published for passthrough only" if vfio else "the driver does not see this GPU"
                notices.append(f"{gpu.bdf}: bound to {pci.driver}, not to nvidia; {what}")
                continue
            while unnumbered in taken:
                unnumbered += 1
            taken.add(unnumbered)
            device = partial(unnumbered, pci, options)
            comments[device["name"]] = (
                f"{gpu.bdf}: partial, known from PCI alone. NVML would tell its UUID, model, memory and versions, "
                "and its minor number, which the driver names it by; the number here is only the next free one."
            )
            devices.append(device)
        elif dynamic and is_partitionable(gpu):
            found, counters = partitions(gpu, machine, pci, options)
            counter_sets.append(counters)
            apart.append(Slice(tuple(found)))
        elif gpu.mig_mode:
            found = [static_mig(gpu, mig, machine, pci, options) for mig in gpu.mig_devices]
            if not found:
                what = "no more than a vfio device" if vfio else "nothing"
                notices.append(f"{gpu.bdf}: in MIG mode without a MIG device; the driver publishes {what} of this GPU")
            devices += found
        else:
            devices.append(full(gpu, machine, pci, options))
    if comments:
        notices.append(
            f"{NAME}: {len(comments)} GPU(s) known from PCI alone: attributes are missing and names may differ; "
            "a snapshot taken on the node (dractl discover --save) has the rest"
        )
    if dynamic and not counter_sets:
        notices.append(f"{NAME}: DynamicMIG changes nothing here, no GPU's MIG profiles are known and usable")
    slices = (*apart, *one_slice(devices))
    if counter_sets and options.target.at_least("1.35"):
        slices = (Slice(counter_sets=tuple(counter_sets)), *slices)
    elif counter_sets:
        combined = zip(apart, counter_sets, strict=True)
        slices = (*(replace(one, counter_sets=(counters,)) for one, counters in combined), *one_slice(devices))
    return Inventory(slices, comments, tuple(notices))


def _gate(name: str, options: Options) -> bool:
    value = options.setting(NAME, name) or "false"
    if value not in ("false", "true"):
        raise UsageError(f"{NAME}: {name} is true or false, not {value!r}")
    if value == "true" and not since(options, "0.3"):
        raise UsageError(f"{NAME}: {name[0].upper()}{name[1:]} came with 0.3 (25.12)")
    return value == "true"
