"""A node's hardware as plain values: the facts that probes found, and no others.

A fact that could not be read is ``None`` (an absent key in JSON), and a :class:`Note` says why.
Sizes are bytes, link speeds GT/s, CPU and node sets the kernel's list form (``0-15,32-47``), PCI
ids lower-case hexadecimal with ``0x``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from dractl.errors import InputError
from dractl.properties import cached_property
from dractl.topology import cpulist

SCHEMA = "dractl/machine/v1"
MAX_BRIDGES = 255
"""The maximum number of bridges above a function: a PCI domain has 256 buses."""

_HEX = re.compile(r"^0x[0-9a-f]{1,8}$")

Kind = Literal["gpu", "nic", "rdma", "nvme", "accelerator", "bridge", "other"]
KINDS: tuple[Kind, ...] = ("gpu", "nic", "rdma", "nvme", "accelerator", "bridge", "other")

BDF = re.compile(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")
"""A PCI function's address. Domains wider than 16 bits exist (VMD, clouds), although upstream's
helpers refuse them.
"""


class Note(Struct, frozen=True):
    """The reason why a fact is missing, or a remark on something unusual."""

    about: str
    """A PCI address, a PCIe root, an interface, or a source such as ``nvml``."""
    message: str


class Host(Struct, frozen=True):
    """The machine as a whole."""

    name: str | None = None
    """The host name, which is identity (:meth:`Machine.drop_identity`)."""
    kernel: str | None = None
    architecture: str | None = None
    vendor: str | None = None
    product: str | None = None
    virtual: bool | None = None
    iommu: bool | None = None
    iommufd: bool | None = None
    module_aliases: bool | None = None
    """True if the modules.alias of the running kernel exists."""
    memory_bytes: int | None = None
    page_bytes: int | None = None
    """The size of a memory page that is not huge."""
    cloud: str | None = None
    """The provider (``aws``, ``azure``, ``gce``, ``oke``, ``alibaba``), if a described machine
    names it.
    """
    instance_type: str | None = None
    """The provider's name for the machine, if a described machine names it."""


class Package(Struct, frozen=True):
    """A CPU socket."""

    id: int
    """The kernel's physical_package_id: sparse on some hosts, -1 on some ARM hosts and VMs."""
    cpus: str


class Core(Struct, frozen=True):
    """A physical core."""

    package: int
    id: int
    """The kernel's core id, which is unique only within ``package`` and ``cluster``, and not even
    there on some machines.
    """
    cpus: str
    """The online hardware threads."""
    numa_node: int | None = None
    type: str = "standard"
    """``standard``, ``p-core`` or ``e-core``."""
    cluster: int | None = None
    """The cluster; None if the kernel knows none."""


class CacheGroup(Struct, frozen=True):
    """CPUs that share an L3 cache."""

    id: int
    """The kernel's id, or the lowest CPU of the group if the kernel gives none."""
    cpus: str
    size_bytes: int | None = None


class Cpus(Struct, frozen=True):
    """The host's CPUs."""

    online: str | None = None
    present: str | None = None
    model: str | None = None
    smt: bool | None = None
    """True if ``/sys/devices/system/cpu/smt/control`` is ``on``, as dra.cpu reads it."""
    smt_control: str | None = None
    """The text of ``/sys/devices/system/cpu/smt/control``."""
    packages: tuple[Package, ...] = ()
    cores: tuple[Core, ...] = ()
    l3: tuple[CacheGroup, ...] = ()
    uncached: str | None = None
    """Online CPUs whose caches the kernel does not describe."""


class HugePages(Struct, frozen=True):
    """Huge pages of one size on one NUMA node."""

    size_bytes: int
    total: int
    free: int | None = None


class NumaNode(Struct, frozen=True):
    """A NUMA node."""

    id: int
    cpus: str = ""
    memory_bytes: int | None = None
    memory_kind: str | None = None
    """``dram``, ``cpuless`` (CXL, HBM, persistent memory), ``gpu`` or ``none``."""
    distances: tuple[int, ...] = ()
    """The distance to each node of :attr:`Machine.numa_nodes`, in that order. The kernel writes one
    SLIT column for each *online* node, so node ids must not be used as indices.
    """
    huge_pages: tuple[HugePages, ...] = ()
    hugetlb: bool | None = None
    """False if the kernel has no huge pages at all (CONFIG_HUGETLBFS), None if it has them or this
    is unknown.
    """


class SrIov(Struct, frozen=True):
    """SR-IOV of one function."""

    total_vfs: int | None = None
    """The number of virtual functions that a physical function can have."""
    num_vfs: int | None = None
    drivers_autoprobe: bool | None = None
    physical_function: str | None = None
    """The address of the physical function that a virtual one belongs to."""
    vf_index: int | None = None


class PciDevice(Struct, frozen=True):
    """One PCI function."""

    bdf: str
    path: str
    """The place below ``/sys/devices`` (``pci0000:00/0000:00:01.0/0000:01:00.0``), which determines
    ``pcie_root`` and ``bridges``.
    """
    class_code: str | None = None
    vendor: str | None = None
    device: str | None = None
    subsystem_vendor: str | None = None
    subsystem_device: str | None = None
    revision: str | None = None
    class_name: str | None = None
    vendor_name: str | None = None
    device_name: str | None = None
    installed_name: str | None = None
    """An NVIDIA GPU's name in the pci.ids installed on the machine, if it differs from
    ``device_name``.
    """
    driver: str | None = None
    kind: Kind = "other"
    pcie_root: str | None = None
    """The last host bridge of the path: VMD and Hyper-V nest host bridges. Drivers may publish a
    different ``resource.kubernetes.io/pcieRoot``:
    :func:`dractl.topology.standard_attributes.publish_pcie_root`.
    """
    bridges: tuple[str, ...] = ()
    """The bridges above the function, the root port first."""
    numa_node: int | None = None
    local_cpus: str | None = None
    link_speed: float | None = None
    """The speed in GT/s."""
    link_width: int | None = None
    max_link_speed: float | None = None
    max_link_width: int | None = None
    names: tuple[str, ...] = ()
    """The network, RDMA, block and DRM devices of the function."""
    sriov: SrIov | None = None
    iommu_group: int | None = None
    vfio: tuple[str, ...] = ()
    """The devices of vfio-dev."""
    bars: tuple[int, ...] = ()
    """The sizes of a GPU's or accelerator's memory regions."""
    bars_64bit: tuple[int, ...] = ()
    """The sizes of regions that have 64-bit addresses."""
    data_direct_of: tuple[str, ...] = ()
    """The functions of the NIC whose Data Direct function this is
    (:mod:`dractl.topology.complexes`).
    """
    qat_services: str | None = None
    """The services that a QuickAssist function is configured for, such as ``sym;asym``."""

    @property
    def physical_function(self) -> str | None:
        """The address of the physical function that a virtual function belongs to; None for a
        function that is not virtual.
        """
        return self.sriov.physical_function if self.sriov is not None else None


class PcieRoot(Struct, frozen=True):
    """A root below ``/sys/devices`` (``pci0000:17``)."""

    name: str
    local_cpus: str | None = None
    """The ``cpulistaffinity`` of the root's bus; None if that cannot be read."""


class NetInterface(Struct, frozen=True):
    """A network interface. ``mac`` and ``addresses`` (CIDRs) are identity.

    ``sriov_total_vfs``, ``sriov_num_vfs`` and ``virtual_function`` are read from
    ``/sys/class/net/<name>/device``, as dranet does: with virtio, this device is not the PCI
    function.
    """

    name: str
    bdf: str | None = None
    kind: str | None = None
    """The link kind as netlink names it (``device`` for hardware, ``veth``, ``bond``, ``vlan``,
    ``bridge`` ...).
    """
    virtual: bool | None = None
    driver: str | None = None
    mtu: int | None = None
    encapsulation: str | None = None
    alias: str | None = None
    operstate: str | None = None
    speed_mbps: int | None = None
    master: str | None = None
    port_name: str | None = None
    representor: bool = False
    rdma_device: str | None = None
    sriov_total_vfs: int | None = None
    sriov_num_vfs: int | None = None
    virtual_function: bool = False
    nested: bool = False
    """True for interfaces of a device below the PCI function, such as a device of virtio or USB, or
    a subfunction.
    """
    uplink: bool = False
    """True for interfaces with the default route of lowest metric and for interfaces enslaved to
    them.
    """
    gateway: bool = False
    """True for interfaces with any default route through a gateway."""
    index: int | None = None
    """The kernel's ifindex."""
    mac: str | None = None
    """The address; "" for an interface without an address."""
    addresses: tuple[str, ...] = ()


class RdmaPort(Struct, frozen=True):
    """A port of an RDMA device."""

    number: int
    state: str | None = None
    link_layer: str | None = None
    rate: str | None = None


class RdmaDevice(Struct, frozen=True):
    """An RDMA device."""

    name: str
    bdf: str | None = None
    """The function; None for software (rxe, siw), or a bond whose function the kernel does not
    name.
    """
    net_interfaces: tuple[str, ...] = ()
    ports: tuple[RdmaPort, ...] = ()
    firmware: str | None = None


class NvmeNamespace(Struct, frozen=True):
    """A namespace's block device."""

    name: str
    size_bytes: int | None = None
    in_use: bool | None = None
    """True if the disk is mounted, or another device uses it."""
    mounted: bool | None = None
    """True if the disk or one of its partitions is mounted."""
    held: tuple[str, ...] = ()
    """The disk or partitions that another device uses (LVM, RAID)."""


class NvmeController(Struct, frozen=True):
    """An NVMe controller."""

    name: str
    bdf: str | None = None
    """The function; None for fabrics controllers."""
    transport: str | None = None
    model: str | None = None
    firmware: str | None = None
    subsystem: str | None = None
    namespaces: tuple[NvmeNamespace, ...] = ()
    serial: str | None = None
    """The serial number, which is identity."""


class Placement(Struct, frozen=True):
    """A possible place of a GPU instance: memory slices ``start`` to ``start + size - 1``."""

    start: int
    size: int


class MigProfile(Struct, frozen=True):
    """A GPU instance profile that the GPU offers."""

    id: int
    """The id of the profile (19 for 1g), not its index in NVML."""
    name: str
    slices: int
    memory_bytes: int | None
    """The memory. Like ``multiprocessors``, it is None on a described GPU if no source has it."""
    multiprocessors: int | None
    copy_engines: int
    decoders: int
    encoders: int
    jpeg_engines: int
    ofa_engines: int
    placements: tuple[Placement, ...] = ()


class MigDevice(Struct, frozen=True):
    """An existing MIG device."""

    uuid: str
    profile: str | None
    profile_id: int
    """The :attr:`MigProfile.id` of the device's GPU instance."""
    placement: Placement
    gpu_instance: int
    compute_instance: int
    index: int | None = None
    """The index among the GPU's MIG devices."""
    compute_slices: int | None = None
    """The slices of the device's compute instance, which may be fewer than the slices of the GPU
    instance; None if NVML does not report them.
    """


class NvLink(Struct, frozen=True):
    """One NVLink of a GPU."""

    link: int
    active: bool
    remote: str | None = None
    """The other end: ``gpu``, ``switch`` or ``other``."""
    remote_bdf: str | None = None
    """The other end's address."""


class Fabric(Struct, frozen=True):
    """A GPU's NVLink fabric (IMEX domain): ``<cluster_uuid>.<clique_id>`` is the clique."""

    state: str
    cluster_uuid: str | None = None
    clique_id: int | None = None


class AmdPartition(Struct, frozen=True):
    """A compute partition of an AMD GPU that is a device of its own
    (``/sys/devices/platform/amdgpu_xcp_N``); the GPU's first partition is its PCI function itself.
    """

    card_index: int
    render_minor: int
    simd_count: int | None = None
    simd_per_cu: int | None = None
    memory_bytes: int | None = None
    kfd_id: str | None = None
    """KFD's unique_id in hexadecimal."""


class Amdgpu(Struct, frozen=True):
    """A GPU as amdgpu and KFD show it in sysfs."""

    card_index: int | None = None
    render_minor: int | None = None
    compute_partition: str | None = None
    memory_partition: str | None = None
    simd_count: int | None = None
    simd_per_cu: int | None = None
    unique_id: str | None = None
    """amdgpu's unique_id, or else KFD's, in hexadecimal."""
    kfd_id: str | None = None
    """KFD's unique_id, in hexadecimal."""
    memory_bank: bool | None = None
    """False if KFD lists the GPU without a memory bank."""
    source_version: str | None = None
    """The version of the kernel module."""
    partitions: tuple[AmdPartition, ...] = ()
    """The partitions besides the PCI function that KFD lists."""
    gfx_version: int | None = None
    """KFD's gfx_target_version, such as 90402 (gfx942)."""


class Gpu(Struct, frozen=True):
    """A GPU."""

    bdf: str | None
    vendor: str | None = None
    source: str = "pci"
    """The source of the GPU's facts: ``nvml``, ``kfd`` or ``pci``."""
    partial: bool = True
    """True if the vendor's own source is not available."""
    health: str = "unknown"
    """``ok``, ``lost`` (fell off the bus), ``reset-required`` or ``unknown``."""
    index: int | None = None
    minor: int | None = None
    uuid: str | None = None
    name: str | None = None
    brand: str | None = None
    architecture: str | None = None
    cuda_compute_capability: str | None = None
    memory_bytes: int | None = None
    addressing_mode: str | None = None
    memory_numa_node: int | None = None
    """The NUMA node that consists of the GPU's memory (Grace), as opposed to the node of the PCI
    function.
    """
    module_id: int | None = None
    ecc: bool | None = None
    driver_version: str | None = None
    mig_mode: bool | None = None
    """The MIG mode; None if the GPU has no MIG."""
    mig_mode_pending: bool | None = None
    mig_profiles: tuple[MigProfile, ...] = ()
    mig_devices: tuple[MigDevice, ...] = ()
    nvlinks: tuple[NvLink, ...] = ()
    fabric: Fabric | None = None
    amd: Amdgpu | None = None
    virtualization: str | None = None
    """``none``, ``passthrough`` or ``vgpu`` (in guests), ``host-vgpu``, ``host-vsga``, or
    ``unknown`` if NVML does not report it.
    """
    refused: str | None = None
    """``FACT (ERROR)`` if NVML fails to report a fact of the GPU with an error that stops the
    vendor's driver.
    """
    mig_refused: str | None = None
    """``FACT (ERROR)`` if NVML fails in this way for a fact of the GPU's MIG devices."""


class Nvidia(Struct, frozen=True):
    """The NVIDIA driver as NVML reports it."""

    driver_version: str | None = None
    cuda_driver_version: str | None = None
    """The version as ``major.minor``."""
    nvml_version: str | None = None
    unreachable: int = 0
    """The number of GPUs that NVML counts but cannot reach."""
    failure: str | None = None
    """The reason why NVML cannot be initialized, if the node is the cause."""


class Link(Struct, frozen=True):
    """A connection that a vendor's library reports."""

    a: str
    b: str
    kind: str
    """``nvlink``, ``xgmi`` or ``pcie``."""
    count: int | None = None
    """The number of NVLinks."""
    level: str | None = None
    """NVML's own level for a link of kind ``pcie``."""
    source: str = "nvml"


class Fact(Struct, frozen=True):
    """A value that a vendor's agent reports, as a string; the driver's catalogue defines its
    type.
    """

    name: str
    value: str


class Reported(Struct, frozen=True):
    """A device known only to a vendor's agent, with the attributes and capacities that the driver
    would publish.
    """

    driver: str
    name: str
    attributes: tuple[Fact, ...] = ()
    capacities: tuple[Fact, ...] = ()


class Machine(Struct, frozen=True, dict=True):
    """A node's hardware. Lists are sorted: nodes by id, functions by address, the
    others by name.
    """

    host: Host = Host()
    cpus: Cpus = Cpus()
    numa_nodes: tuple[NumaNode, ...] = ()
    pci_devices: tuple[PciDevice, ...] = ()
    pcie_roots: tuple[PcieRoot, ...] = ()
    net_interfaces: tuple[NetInterface, ...] = ()
    rdma_devices: tuple[RdmaDevice, ...] = ()
    nvme_controllers: tuple[NvmeController, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    nvidia: Nvidia | None = None
    links: tuple[Link, ...] = ()
    reported: tuple[Reported, ...] = ()
    notes: tuple[Note, ...] = ()
    identity: bool = True
    """True if the value has host name, MAC and IP addresses and serial numbers."""
    described: bool = False
    """True for a machine that was made from a description. Its bridges are not known: each function
    that is not directly on its root has a port of its own.
    """

    @cached_property
    def pci(self) -> Mapping[str, PciDevice]:
        """Functions by address."""
        return {d.bdf: d for d in self.pci_devices}

    def drop_identity(self) -> Machine:
        """Return the same hardware without host name, MAC and IP addresses and serial numbers.

        UUIDs of GPUs stay, because drivers publish them; AMD's ``unique_id`` is a serial number and
        is removed.
        """
        return replace(
            self,
            identity=False,
            host=replace(self.host, name=None),
            net_interfaces=tuple(replace(n, mac=None, addresses=()) for n in self.net_interfaces),
            nvme_controllers=tuple(replace(n, serial=None) for n in self.nvme_controllers),
            gpus=tuple(
                replace(g, amd=replace(g.amd, unique_id=None)) if g.amd else g for g in self.gpus
            ),
        )


def check(machine: Machine) -> None:
    """Check addresses and CPU lists, on which all other code relies. Raises InputError for
    malformed ones.
    """
    for i, gpu in enumerate(machine.gpus):
        if gpu.bdf is not None and not BDF.match(gpu.bdf):
            raise InputError(f"gpus[{i}].bdf: {gpu.bdf!r} is not an address such as 0000:3b:00.0")
    seen: set[str] = set()
    for i, device in enumerate(machine.pci_devices):
        if device.bdf in seen:
            raise InputError(f"pciDevices[{i}].bdf: {device.bdf} is listed twice")
        seen.add(device.bdf)
        for name, value, form, right in (
            ("bdf", device.bdf, BDF, "an address such as 0000:3b:00.0"),
            ("class", device.class_code, _HEX, "hexadecimal such as 0x030200"),
            ("vendor", device.vendor, _HEX, "hexadecimal such as 0x10de"),
        ):
            if value is not None and not form.match(value):
                raise InputError(f"pciDevices[{i}].{name} is {value[:40]!r}, but must be {right}")
        if len(device.bridges) > MAX_BRIDGES:
            raise InputError(
                f"pciDevices[{i}].bridges has {len(device.bridges)} entries; at most {MAX_BRIDGES}"
                " are possible"
            )
    lists = [("cpus.online", machine.cpus.online), ("cpus.present", machine.cpus.present)]
    lists += [(f"numaNodes[{i}].cpus", node.cpus) for i, node in enumerate(machine.numa_nodes)]
    lists += [
        (f"cpus.packages[{i}].cpus", package.cpus)
        for i, package in enumerate(machine.cpus.packages)
    ]
    lists += [(f"cpus.cores[{i}].cpus", core.cpus) for i, core in enumerate(machine.cpus.cores)]
    lists += [(f"cpus.l3[{i}].cpus", group.cpus) for i, group in enumerate(machine.cpus.l3)]
    for place, text in lists:
        try:
            cpulist.parse(text or "")
        except ValueError as error:
            raise InputError(
                f"{place} is {str(text)[:40]!r}, but must be a list of CPUs such as 0-15,32-47"
            ) from error
