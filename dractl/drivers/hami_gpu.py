"""``hami-core-gpu.project-hami.io``: NVIDIA GPUs that HAMi shares by cores and memory.

Source: Project-HAMi/k8s-dra-driver@ebeaad9 cmd/hami-kubelet-plugin/hami_core.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dractl.drivers import nvidia_start
from dractl.drivers.agent import shared, steps
from dractl.drivers.profile import (
    Attribute,
    Capacity,
    Catalogue,
    Inventory,
    Options,
    device_class,
    one_slice,
    version_index,
)
from dractl.drivers.standard import PCIE_ROOT, pcie_root
from dractl.drivers.values import binary_quantity, typed, version

if TYPE_CHECKING:
    from dractl.topology.machine import Gpu, Machine

NAME = "hami-core-gpu.project-hami.io"

CATALOGUE = Catalogue(
    title="HAMi shares of NVIDIA GPUs",
    source="Project-HAMi/k8s-dra-driver@ebeaad9 cmd/hami-kubelet-plugin/hami_core.go",
    versions=("0.1",),
    released="0.1",
    tags={"0.1": ("v0.1.0",)},
    attributes=(
        Attribute("type", "string", "always hami-gpu", values=("hami-gpu",)),
        Attribute("uuid", "string", "the GPU's UUID; snapshots omit it"),
        Attribute("minor", "int", "N of /dev/nvidiaN"),
        Attribute("productName", "string", "such as NVIDIA H100 80GB HBM3"),
        Attribute("brand", "string", "such as Nvidia or Tesla"),
        Attribute("architecture", "string", "such as Hopper"),
        Attribute("cudaComputeCapability", "version", "such as 9.0.0"),
        Attribute("driverVersion", "version", "of NVIDIA's driver"),
        Attribute("cudaDriverVersion", "version", "the newest CUDA that the driver supports"),
        Attribute("pcieBusID", "string", "PCI address with an eight-digit domain, as NVML writes it"),
        Attribute(PCIE_ROOT, "string", "the PCIe root complex, such as pci0000:17"),
    ),
    capacities=(
        Capacity("cores", "percent of the GPU, 100; a request takes all by default"),
        Capacity("memory", "memory; a request takes all by default, in steps of 1Mi"),
    ),
    notes=(
        "devices are named hami-gpu-<minor>, and several claims can share one",
        "rendered only when named: nodes run it instead of NVIDIA's driver",
    ),
)

_POLICIES = {"cores": steps("0", "1"), "memory": steps("1Mi", "1Mi")}


class _Hami(Struct, frozen=True):
    name: str = NAME
    catalogue: Catalogue = CATALOGUE

    def present(self, machine: Machine) -> bool:
        return any(gpu.vendor == "0x10de" and gpu.minor is not None for gpu in machine.gpus)

    def device_classes(self, options: Options) -> tuple[dict[str, Any], ...]:  # noqa: ARG002
        guard = f"device.driver == '{NAME}' && device.attributes['{NAME}'].type == 'hami-gpu'"
        return (device_class(NAME, guard, extendedResourceName="nvidia.com/gpu"),)

    def inventory(self, machine: Machine, options: Options) -> Inventory:
        version_index(CATALOGUE, NAME, options.versions.get(NAME))
        why = nvidia_start.unreachable(machine)
        if why is not None:
            return Inventory(unpublished=f"it does not start: {why}")
        gpus = [gpu for gpu in machine.gpus if gpu.vendor == "0x10de" and gpu.minor is not None]
        return Inventory(one_slice(_device(gpu, machine) for gpu in gpus))


PROFILE = _Hami()


def _device(gpu: Gpu, machine: Machine) -> dict[str, Any]:
    nvidia = machine.nvidia
    pci = machine.pci.get(gpu.bdf) if gpu.bdf is not None else None
    domain, _, rest = (gpu.bdf or "").partition(":")
    found = {
        "type": "hami-gpu",
        "uuid": gpu.uuid,
        "minor": gpu.minor,
        "productName": gpu.name,
        "brand": gpu.brand,
        "architecture": gpu.architecture,
        "cudaComputeCapability": version(gpu.cuda_compute_capability),
        "driverVersion": version(gpu.driver_version or (nvidia.driver_version if nvidia else None)),
        "cudaDriverVersion": version(nvidia.cuda_driver_version if nvidia else None),
        "pcieBusID": f"{int(domain, 16):08x}:{rest}" if rest else None,
        **pcie_root(pci),
    }
    capacity = {"cores": {"value": "100"}}
    if gpu.memory_bytes is not None:
        capacity["memory"] = {"value": binary_quantity(gpu.memory_bytes)}
    device = {"name": f"hami-gpu-{gpu.minor}", "attributes": typed(found), "capacity": capacity}
    return shared(device, _POLICIES)
