"""Devices of ``gpu.amd.com``: whole GPUs and partitions that exist.

Source: ROCm/k8s-gpu-dra-driver, cmd/gpu-kubeletplugin/deviceinfo.go (GetDevice), discovery.go,
pkg/amdgpu/amdgpu.go.
"""

from typing import Any

from msgspec import Struct

from dractl.drivers.amd.names import GPU, NAME, PARTITION
from dractl.drivers.profile import Options
from dractl.drivers.standard import PCIE_ROOT, bus_id, numa_node, numa_number, pcie_root
from dractl.drivers.values import binary_quantity, to_attributes, version
from dractl.facts.drivers import driver
from dractl.topology.machine import Amdgpu, Gpu, Machine, PciDevice

_PRODUCT_NAME = str.maketrans({" ": "_", "(": None, ")": None})
_UNKNOWN_MEMORY = {GPU: 80 << 30, PARTITION: 20 << 30}  # assumed by getMemoryBytes of 0.1


class Unit(Struct, frozen=True):
    """A GPU, or a partition of it, that has DRM nodes of its own. Numbers are None if KFD does not
    list it.
    """

    gpu: Gpu
    amd: Amdgpu
    pci: PciDevice | None
    card_index: int
    render_minor: int
    memory_bytes: int | None
    simd_count: int | None
    simd_per_cu: int | None

    @property
    def compute_units(self) -> int:
        """The number of compute units: KFD's simd_count divided by simd_per_cu, which counts as 1
        if it is missing.
        """
        each = 1 if self.simd_per_cu is None else self.simd_per_cu
        return self.simd_count // each if self.simd_count and each else 0


def product_name(name: str | None) -> str:
    """Return the product name as the driver spells it."""
    return (name or "").strip().translate(_PRODUCT_NAME)


def place(pci: PciDevice | None) -> dict[str, Any]:
    """Return the attributes for the place of a PCI function, as the driver publishes them from
    1.0.0 on: its own attribute, and the standard ones.
    """
    return {"numaNode": numa_number(pci), **bus_id(pci), **pcie_root(pci), **numa_node(pci)}


def place_of_gpu(pci: PciDevice | None) -> dict[str, Any]:
    """Return the place of a GPU of amdgpu. getPcieInfo (discovery.go) adds none of the standard
    attributes if the PCIe root is unknown.
    """
    attributes = place(pci)
    return attributes if attributes.get(PCIE_ROOT) else {"numaNode": attributes["numaNode"]}


def module_version(gpu: Gpu, *, short: bool = True) -> dict[str, Any]:
    """Return the attributes with the version of the kernel module. ``driverVersion`` has three
    parts, since the API accepts no more (SemverDriverVersion). Earlier versions of the driver
    (``short`` is False) published all parts (ROCm/gpu-operator#609).
    """
    full = gpu.driver_version
    strict_version: dict[str, Any] | None = None
    if full:
        strict_version = version(".".join(full.split(".")[:3])) if short else {"version": full}
    return {"driverVersion": strict_version, "driverVersionFull": full}


def kfd_identities(machine: Machine) -> dict[str, str]:
    """Return KFD's unique id of each GPU as a decimal. If KFD does not list a GPU, GetAMDGPUs of
    0.1 uses the id of the GPU before it.
    """
    identities, last = {}, ""
    for gpu in sorted(
        (gpu for gpu in machine.gpus if gpu.amd is not None), key=lambda gpu: gpu.bdf or ""
    ):
        assert gpu.amd is not None
        if gpu.amd.kfd_id and gpu.source == "kfd":
            last = str(int(gpu.amd.kfd_id, 16))
        identities[gpu.bdf or ""] = last
    return identities


def device(unit: Unit, options: Options, identity: str) -> dict[str, Any]:
    """Return the device of a GPU or a partition that exists. ``identity`` is its id in
    :func:`kfd_identities`.
    """
    kind = GPU if unit.amd.compute_partition in (None, "spx") else PARTITION
    current = options.has(NAME, "rewritten")
    modes = (unit.amd.compute_partition, unit.amd.memory_partition)
    attributes: dict[str, Any] = {
        "type": kind,
        "productName": product_name(unit.gpu.name),
        "partitionProfile": "_".join(mode or "" for mode in modes)
        if unit.amd.compute_partition
        else None,
    }
    if current:
        device_id = unit.pci.device if unit.pci is not None else None
        short = options.has(NAME, "short-version")
        attributes |= {
            **module_version(unit.gpu, short=short),
            "deviceID": device_id,
            **place_of_gpu(unit.pci),
        }
    else:
        attributes |= _attributes_of_0_1(unit, kind, identity)
    memory = unit.memory_bytes or (0 if current else _UNKNOWN_MEMORY[kind])
    capacity = {
        "memory": memory,
        "computeUnits": unit.compute_units,
        "simdUnits": unit.simd_count or 0,
    }
    return {
        "name": f"gpu-{unit.card_index}-{unit.render_minor}",
        "attributes": to_attributes(attributes),
        "capacity": {name: {"value": binary_quantity(number)} for name, number in capacity.items()},
    }


def _attributes_of_0_1(unit: Unit, kind: str, identity: str) -> dict[str, Any]:
    """Return the attributes that only 0.1 publishes. They include the module's version as it is;
    the API server refuses a version that has four parts or is empty. GetDriverVersion returns the
    module's version and its source version, or neither.
    """
    module, source = unit.gpu.driver_version, unit.amd.source_version
    prefix = "parentPciAddr parentDeviceID" if kind == PARTITION else "pciAddr deviceID"
    return {
        **dict(zip(prefix.split(), (unit.gpu.bdf, identity), strict=True)),
        "cardIndex": unit.card_index,
        "renderIndex": unit.render_minor,
        # libdrm reports the kernel's name, which depends on the version of the graphics core: AI
        # for 9.4.3, 9.4.4 and 9.5.0 (drivers/gpu/drm/amd/amdgpu/amdgpu_discovery.c
        # amdgpu_discovery_set_ip_blocks). KFD shows these versions unchanged (amdkfd/kfd_device.c
        # kgd2kfd_probe). No other GPU has partition files (amdgpu_gfx.c amdgpu_gfx_sysfs_xcp_init),
        # which 0.1 needs.
        "family": driver(NAME).table("families").get(str(unit.amd.gfx_version)),
        "driverVersion": {"version": module if module and source else ""},
        "driverSrcVersion": source if module and source else "",
        **pcie_root(unit.pci),
    }
