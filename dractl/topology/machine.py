"""A node's hardware as plain values: the facts that probes found, and no others.

A fact that could not be read is ``None`` (an absent key in JSON), and a :class:`Note` says why.
Sizes are bytes, link speeds GT/s, CPU and node sets the kernel's list form (``0-15,32-47``), PCI
ids lower-case hexadecimal with ``0x``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from dractl.errors import InputError
from dractl.topology import cpulist

SCHEMA = "dractl/machine/v1"
MAX_BRIDGES = 255
"""Bridges above a function: a PCI domain has 256 buses."""

_HEX = re.compile(r"^0x[0-9a-f]{1,8}$")

Kind = Literal["gpu", "nic", "rdma", "nvme", "accelerator", "bridge", "other"]
KINDS: tuple[Kind, ...] = ("gpu", "nic", "rdma", "nvme", "accelerator", "bridge", "other")

BDF = re.compile(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")
"""A PCI function's address. Domains wider than 16 bits exist (VMD, clouds), although upstream's
helpers refuse them.
"""


class Note(Struct, frozen=True):
    """The reason why a fact is missing, or something unusual. ``about`` is a PCI address, a PCIe
    root, an interface, or a source such as ``nvml``.
    """

    about: str
    message: str


class Host(Struct, frozen=True):
    """The machine as a whole. ``name`` is identity (:meth:`Machine.without_identity`).
    ``page_bytes`` is the size of a memory page that is not huge. ``cloud`` is the provider
    (``aws``, ``azure``, ``gce``, ``oke``, ``alibaba``) and ``instance_type`` its name for the
    machine, where a described machine says so. ``module_aliases`` is true if the running kernel has
    its modules.alias.
    """

    name: str | None = None
    kernel: str | None = None
    architecture: str | None = None
    vendor: str | None = None
    product: str | None = None
    virtual: bool | None = None
    iommu: bool | None = None
    iommufd: bool | None = None
    module_aliases: bool | None = None
    memory_bytes: int | None = None
    page_bytes: int | None = None
    cloud: str | None = None
    instance_type: str | None = None


class Package(Struct, frozen=True):
    """A CPU socket. ``id`` is the kernel's physical_package_id: sparse on some hosts, -1 on some
    ARM hosts and VMs.
    """

    id: int
    cpus: str


class Core(Struct, frozen=True):
    """A physical core. ``cpus`` are its online hardware threads; ``type`` is ``standard``,
    ``p-core`` or ``e-core``.

    ``id`` is unique within ``package`` and ``cluster`` at best: some machines give it to several
    cores. ``cluster`` is None where the kernel knows none.
    """

    package: int
    id: int
    cpus: str
    numa_node: int | None = None
    type: str = "standard"
    cluster: int | None = None


class CacheGroup(Struct, frozen=True):
    """CPUs that share an L3 cache. ``id`` is the kernel's, or the lowest CPU of the group if the
    kernel gives none.
    """

    id: int
    cpus: str
    size_bytes: int | None = None


class Cpus(Struct, frozen=True):
    """The host's CPUs. ``smt`` is true if ``/sys/devices/system/cpu/smt/control`` is ``on``, as
    dra.cpu reads it; ``smt_control`` is the file's text. ``uncached`` are online CPUs whose caches
    the kernel does not describe.
    """

    online: str | None = None
    present: str | None = None
    model: str | None = None
    smt: bool | None = None
    smt_control: str | None = None
    packages: tuple[Package, ...] = ()
    cores: tuple[Core, ...] = ()
    l3: tuple[CacheGroup, ...] = ()
    uncached: str | None = None


class HugePages(Struct, frozen=True):
    """Huge pages of one size on one NUMA node."""

    size_bytes: int
    total: int
    free: int | None = None


class NumaNode(Struct, frozen=True):
    """A NUMA node. ``distances`` has one entry for each node of :attr:`Machine.numa_nodes`, in that
    order.

    The kernel writes one SLIT column for each *online* node, so node ids must not be used as
    indices. ``memory_kind`` is ``dram``, ``cpuless`` (CXL, HBM, persistent memory), ``gpu`` or
    ``none``. ``hugetlb`` is False if the kernel has no huge pages at all (CONFIG_HUGETLBFS), None
    if it has them or this is unknown.
    """

    id: int
    cpus: str = ""
    memory_bytes: int | None = None
    memory_kind: str | None = None
    distances: tuple[int, ...] = ()
    huge_pages: tuple[HugePages, ...] = ()
    hugetlb: bool | None = None


class SrIov(Struct, frozen=True):
    """SR-IOV of one function: a physical function has ``total_vfs``, a virtual one
    ``physical_function`` (its BDF).
    """

    total_vfs: int | None = None
    num_vfs: int | None = None
    drivers_autoprobe: bool | None = None
    physical_function: str | None = None
    vf_index: int | None = None


class PciDevice(Struct, frozen=True):
    """One PCI function.

    ``path`` is its place below ``/sys/devices`` (``pci0000:00/0000:00:01.0/0000:01:00.0``). It
    determines ``pcie_root`` (the last host bridge of the path: VMD and Hyper-V nest them) and
    ``bridges`` (root port first). Drivers may publish another ``resource.kubernetes.io/pcieRoot``:
    :func:`dractl.topology.standard_attributes.published`. ``names`` are the network, RDMA, block
    and DRM devices of the function, ``vfio`` those of vfio-dev. ``link_speed`` is in GT/s. ``bars``
    are the sizes of a GPU's or accelerator's memory regions, ``bars_64bit`` those of them that have
    64-bit addresses. ``installed_name`` is an NVIDIA GPU's name in the pci.ids installed on the
    machine, if ``device_name`` is another. ``data_direct_of`` are the functions of the NIC whose
    Data Direct function this is (:mod:`dractl.topology.complexes`). ``qat_services`` is what a
    QuickAssist function is configured for, such as ``sym;asym``.
    """

    bdf: str
    path: str
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
    driver: str | None = None
    kind: Kind = "other"
    pcie_root: str | None = None
    bridges: tuple[str, ...] = ()
    numa_node: int | None = None
    local_cpus: str | None = None
    link_speed: float | None = None
    link_width: int | None = None
    max_link_speed: float | None = None
    max_link_width: int | None = None
    names: tuple[str, ...] = ()
    sriov: SrIov | None = None
    iommu_group: int | None = None
    vfio: tuple[str, ...] = ()
    bars: tuple[int, ...] = ()
    bars_64bit: tuple[int, ...] = ()
    data_direct_of: tuple[str, ...] = ()
    qat_services: str | None = None

    @property
    def physical_function(self) -> str | None:
        """The address of the function that a virtual one belongs to; None for others."""
        return self.sriov.physical_function if self.sriov is not None else None


class PcieRoot(Struct, frozen=True):
    """A root below ``/sys/devices`` (``pci0000:17``); ``local_cpus`` is its bus's
    ``cpulistaffinity``, None if that cannot be read.
    """

    name: str
    local_cpus: str | None = None


class NetInterface(Struct, frozen=True):
    """A network interface. ``mac`` and ``addresses`` (CIDRs) are identity.

    ``kind`` is the link kind as netlink names it (``device`` for hardware, ``veth``, ``bond``,
    ``vlan``, ``bridge`` ...); ``index`` is the kernel's ifindex. ``uplink`` is true for interfaces
    with the default route of lowest metric and for those enslaved to them, ``gateway`` for those
    with any default route through a gateway. ``mac`` is empty for an interface without address.
    ``sriov_total_vfs``, ``sriov_num_vfs`` and ``virtual_function`` are read from
    ``/sys/class/net/<name>/device``, as dranet does: with virtio that is not the PCI function.
    ``nested`` is true for interfaces of a device below the PCI function, such as virtio's, USB's
    and subfunctions'.
    """

    name: str
    bdf: str | None = None
    kind: str | None = None
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
    uplink: bool = False
    gateway: bool = False
    index: int | None = None
    mac: str | None = None
    addresses: tuple[str, ...] = ()


class RdmaPort(Struct, frozen=True):
    """A port of an RDMA device."""

    number: int
    state: str | None = None
    link_layer: str | None = None
    rate: str | None = None


class RdmaDevice(Struct, frozen=True):
    """An RDMA device. Without ``bdf`` it is software (rxe, siw), or a bond whose function the
    kernel does not name.
    """

    name: str
    bdf: str | None = None
    net_interfaces: tuple[str, ...] = ()
    ports: tuple[RdmaPort, ...] = ()
    firmware: str | None = None


class NvmeNamespace(Struct, frozen=True):
    """A namespace's block device. ``in_use``: it is mounted or held.

    ``mounted`` is true if the disk or one of its partitions is mounted; ``held`` lists those that
    another device holds (LVM, RAID).
    """

    name: str
    size_bytes: int | None = None
    in_use: bool | None = None
    mounted: bool | None = None
    held: tuple[str, ...] = ()


class NvmeController(Struct, frozen=True):
    """An NVMe controller; fabrics controllers have no ``bdf``. ``serial`` is identity."""

    name: str
    bdf: str | None = None
    transport: str | None = None
    model: str | None = None
    firmware: str | None = None
    subsystem: str | None = None
    namespaces: tuple[NvmeNamespace, ...] = ()
    serial: str | None = None


class Placement(Struct, frozen=True):
    """Possible place of a GPU instance: memory slices ``start`` to ``start + size - 1``."""

    start: int
    size: int


class MigProfile(Struct, frozen=True):
    """A GPU instance profile that the GPU offers. ``id`` is the profile's own id (19 for 1g), not
    NVML's index.
    """

    id: int
    name: str
    slices: int
    memory_bytes: int
    multiprocessors: int
    copy_engines: int
    decoders: int
    encoders: int
    jpeg_engines: int
    ofa_engines: int
    placements: tuple[Placement, ...] = ()


class MigDevice(Struct, frozen=True):
    """An existing MIG device; ``profile_id`` is its GPU instance's :attr:`MigProfile.id`, ``index``
    its place among the GPU's MIG devices. ``compute_slices`` are those of its compute instance,
    which can be fewer than its GPU instance has; None if NVML does not report them.
    """

    uuid: str
    profile: str | None
    profile_id: int
    placement: Placement
    gpu_instance: int
    compute_instance: int
    index: int | None = None
    compute_slices: int | None = None


class NvLink(Struct, frozen=True):
    """One NVLink of a GPU. ``remote`` is ``gpu``, ``switch`` or ``other``; ``remote_bdf`` the other
    end's address.
    """

    link: int
    active: bool
    remote: str | None = None
    remote_bdf: str | None = None


class Fabric(Struct, frozen=True):
    """A GPU's NVLink fabric (IMEX domain): ``<cluster_uuid>.<clique_id>`` is the clique."""

    state: str
    cluster_uuid: str | None = None
    clique_id: int | None = None


class AmdPartition(Struct, frozen=True):
    """A compute partition of an AMD GPU that is a device of its own
    (``/sys/devices/platform/amdgpu_xcp_N``).

    Its first partition is the GPU's PCI function itself. ``kfd_id`` is KFD's unique_id in
    hexadecimal.
    """

    card_index: int
    render_minor: int
    simd_count: int | None = None
    simd_per_cu: int | None = None
    memory_bytes: int | None = None
    kfd_id: str | None = None


class Amdgpu(Struct, frozen=True):
    """A GPU as amdgpu and KFD show it in sysfs.

    ``unique_id`` and ``kfd_id`` are hexadecimal: amdgpu's unique_id, or else KFD's, and KFD's
    alone. ``partitions`` are those besides the PCI function that KFD lists. ``memory_bank`` is
    False if KFD lists the GPU without a memory bank. ``source_version`` is that of the kernel
    module, ``gfx_version`` KFD's gfx_target_version, such as 90402 (gfx942).
    """

    card_index: int | None = None
    render_minor: int | None = None
    compute_partition: str | None = None
    memory_partition: str | None = None
    simd_count: int | None = None
    simd_per_cu: int | None = None
    unique_id: str | None = None
    kfd_id: str | None = None
    memory_bank: bool | None = None
    source_version: str | None = None
    partitions: tuple[AmdPartition, ...] = ()
    gfx_version: int | None = None


class Gpu(Struct, frozen=True):
    """A GPU. ``source`` is ``nvml``, ``kfd`` or ``pci``; ``partial`` is true if the vendor's own
    source did not answer.

    ``health`` is ``ok``, ``lost`` (fell off the bus), ``reset-required`` or ``unknown``.
    ``memory_numa_node`` is the NUMA node that is the GPU's memory (Grace), which is not the node of
    the PCI function. ``mig_mode`` is None if the GPU has no MIG. ``virtualization`` is ``none``,
    ``passthrough`` or ``vgpu`` (in guests), ``host-vgpu``, ``host-vsga``, or ``unknown`` where NVML
    refuses it. ``refused`` is a fact that NVML answers with an error that the vendor's driver does
    not tolerate, and the error; ``mig_refused`` likewise one of the MIG devices.
    """

    bdf: str | None
    vendor: str | None = None
    source: str = "pci"
    partial: bool = True
    health: str = "unknown"
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
    module_id: int | None = None
    ecc: bool | None = None
    driver_version: str | None = None
    mig_mode: bool | None = None
    mig_mode_pending: bool | None = None
    mig_profiles: tuple[MigProfile, ...] = ()
    mig_devices: tuple[MigDevice, ...] = ()
    nvlinks: tuple[NvLink, ...] = ()
    fabric: Fabric | None = None
    amd: Amdgpu | None = None
    virtualization: str | None = None
    refused: str | None = None
    mig_refused: str | None = None


class Nvidia(Struct, frozen=True):
    """The NVIDIA driver as NVML reports it; ``cuda_driver_version`` as ``major.minor``.
    ``unreachable`` is the number of GPUs that NVML counts but cannot reach; ``failure`` is the
    reason why NVML cannot be initialized, if it lies with the node.
    """

    driver_version: str | None = None
    cuda_driver_version: str | None = None
    nvml_version: str | None = None
    unreachable: int = 0
    failure: str | None = None


class Link(Struct, frozen=True):
    """A connection that a vendor's library reports: ``nvlink`` with ``count`` links, ``xgmi``, or
    ``pcie`` with NVML's own ``level``.
    """

    a: str
    b: str
    kind: str
    count: int | None = None
    level: str | None = None
    source: str = "nvml"


class Fact(Struct, frozen=True):
    """A value that a vendor's agent reports, as a string; the driver's catalogue has its type."""

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
    """A node's hardware. Lists are sorted: nodes by id, functions by address, the rest by name. Of
    a ``described`` machine the bridges are not known: each function that is not on its root has a
    port of its own.
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
    described: bool = False

    @cached_property
    def pci(self) -> Mapping[str, PciDevice]:
        """Functions by address."""
        return {d.bdf: d for d in self.pci_devices}

    def without_identity(self) -> Machine:
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
    """Raises InputError for malformed addresses and CPU lists, which everything else relies on."""
    for i, gpu in enumerate(machine.gpus):
        if gpu.bdf is not None and not BDF.match(gpu.bdf):
            raise InputError(f"gpus[{i}].bdf: {gpu.bdf!r} is not an address such as 0000:3b:00.0")
    seen: set[str] = set()
    for i, device in enumerate(machine.pci_devices):
        if device.bdf in seen:
            raise InputError(f"pciDevices[{i}].bdf: {device.bdf} is listed twice")
        seen.add(device.bdf)
        for what, value, form, right in (
            ("bdf", device.bdf, BDF, "an address such as 0000:3b:00.0"),
            ("class", device.class_code, _HEX, "hexadecimal such as 0x030200"),
            ("vendor", device.vendor, _HEX, "hexadecimal such as 0x10de"),
        ):
            if value is not None and not form.match(value):
                raise InputError(f"pciDevices[{i}].{what} is {value[:40]!r}, but must be {right}")
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
