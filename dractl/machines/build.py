"""Builds a Machine from a layout: addresses, names and numbers as Linux and NVML
would assign them.
"""

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from dractl.errors import UsageError
from dractl.facts import hardware
from dractl.machines import mig
from dractl.machines.labels import ARCHITECTURES, architecture_of
from dractl.machines.layout import (
    KEYS,
    MAX_DEVICES,
    Layout,
    PlannedDevice,
    PlannedRoot,
    numbers,
    size,
)
from dractl.machines.products import Product, mig_layout, mig_layouts, products
from dractl.program import program_name
from dractl.topology import cpulist
from dractl.topology.machine import (
    Amdgpu,
    Core,
    Cpus,
    Fabric,
    Gpu,
    Host,
    Link,
    Machine,
    NetInterface,
    Note,
    NumaNode,
    Nvidia,
    NvmeController,
    NvmeNamespace,
    Package,
    PciDevice,
    RdmaDevice,
    SrIov,
)

_MAX_PER_ROOT = 15  # a root without a name gets 16 bus numbers, including its own
_FIRST_ON_ROOT, _LAST_ON_ROOT = 0x10, 0x1F  # device numbers of functions on the root's own bus
# dractl's own namespace, so that UUIDs are the same each time
_NAMES = uuid.UUID("5d2f6f3e-6b0e-5e0a-9d53-0d7ac1d0b1a5")
_PAGE = 4096  # bytes of a page on x86; the CPUs are numbered as on x86, too
_HOSTS = {  # DMI's vendor and product on each cloud; EC2's product is the instance type
    "aws": ("Amazon EC2", None),
    "azure": ("Microsoft Corporation", "Virtual Machine"),
    "gce": ("Google", "Google Compute Engine"),
    "alibaba": ("Alibaba Cloud", "Alibaba Cloud ECS"),
    "oke": (None, None),
}


class _Parts(Struct, frozen=True):
    """The parts of a machine that belong to one device: its functions, the physical one first, and
    everything attached to them.
    """

    functions: tuple[PciDevice, ...]
    interfaces: tuple[NetInterface, ...] = ()
    rdma: tuple[RdmaDevice, ...] = ()
    controllers: tuple[NvmeController, ...] = ()
    gpus: tuple[Gpu, ...] = ()


class _Plan(Struct, frozen=True):
    """The settings of the whole machine, and the numbers assigned so far (``eth0``, ``eth1``
    ...).
    """

    settings: Mapping[str, Any]
    vfs: int
    given: Counter[str] = field(default_factory=Counter)

    def take(self, prefix: str) -> int:
        """Return the next number after a prefix, from 0."""
        self.given[prefix] += 1
        return self.given[prefix] - 1


def machine(layout: Layout) -> Machine:
    """Return the machine of a layout. Raises UsageError if such a machine cannot exist."""
    settings = layout.settings
    given = numbers(settings)
    _check(layout, given)
    memory = _memory(settings.get("memory"), layout.numa)
    cpus_of_nodes, processors = _processors(
        given.get("cpus", 0), layout.numa, given.get("threads", 2)
    )
    plan = _Plan(settings, given.get("vfs", 0))
    placed = sorted(_place_devices(layout.roots, cpus_of_nodes), key=lambda place: place[0].bdf)
    parts = [_parts(function, slot, plan) for function, slot, _ in placed]
    bridges = [bridge for _, _, bridge in placed if bridge is not None]
    functions = [*bridges, *(function for part in parts for function in part.functions)]
    twice = [
        bdf for bdf, count in Counter(function.bdf for function in functions).items() if count > 1
    ]
    if twice:
        raise UsageError(f"--hardware: two functions would have the address {twice[0]}")
    gpus = tuple(gpu for part in parts for gpu in part.gpus)
    cuda = any(gpu.source == "nvml" for gpu in gpus)
    distances = [
        tuple(10 if a == b else 21 for b in range(layout.numa)) for a in range(layout.numa)
    ]
    return Machine(
        host=_host(layout, memory),
        cpus=processors,
        numa_nodes=tuple(
            NumaNode(n, cpus_of_nodes[n], memory, distances=distances[n])
            for n in range(layout.numa)
        ),
        pci_devices=tuple(sorted(functions, key=lambda function: function.bdf)),
        net_interfaces=tuple(interface for part in parts for interface in part.interfaces),
        rdma_devices=tuple(rdma for part in parts for rdma in part.rdma),
        nvme_controllers=tuple(controller for part in parts for controller in part.controllers),
        gpus=gpus,
        links=_links(gpus, int(settings.get("nvlinks", 0))),
        nvidia=(
            Nvidia(
                _driver(settings),
                str(settings.get("cuda", hardware.products().modules["nvidia"]["cuda"])),
            )
            if cuda
            else None
        ),
        reported=layout.reported,
        notes=_notes(layout),
        identity=False,
        described=True,
    )


def _driver(settings: Mapping[str, Any]) -> str:
    return str(settings.get("driver", hardware.products().modules["nvidia"]["version"]))


def _nvml(settings: Mapping[str, Any]) -> Nvidia:
    return Nvidia(
        _driver(settings), str(settings.get("cuda", hardware.products().modules["nvidia"]["cuda"]))
    )


def _check(layout: Layout, given: Mapping[str, int]) -> None:
    held = layout.products
    if not (held or layout.reported or given.get("cpus")) and layout.settings.get("memory") is None:
        raise UsageError(
            "--hardware describes nothing",
            hint=f"products are {', '.join(products())}; keys are {', '.join(KEYS)}",
        )
    asked = layout.settings.get("mig")
    if mig.is_on(asked) and not any(mig_layout(product) for product in held):
        value = "on" if asked in mig.ON else asked
        drawn = ", ".join(
            dict.fromkeys(product.name for product in held if product.kind == "nvidia")
        )
        raise UsageError(
            f"--hardware: mig={value}, but the MIG profiles of {drawn or 'a machine without a GPU'}"
            " are not known",
            hint=(
                f"they are known of {', '.join(mig_layouts())}; "
                f"`{program_name()} discover --save` keeps a real machine's"
            ),
        )
    if sum(1 + given.get("vfs", 0) * product.virtual_functions for product in held) > MAX_DEVICES:
        raise UsageError(f"--hardware: at most {MAX_DEVICES} devices, virtual functions included")


def _notes(layout: Layout) -> tuple[Note, ...]:
    """Return a note for each value of the machine that is derived or unknown."""
    notes = [
        Note("hardware", f"assumed: {item.of} ({item.source})")
        for item in layout.evidence
        if item.sure == "derived"
    ]
    wiring = describe_wiring(layout)
    if wiring is not None:
        notes.append(Note("hardware", wiring))
    partitioned = {product.name: mig_layout(product) for product in layout.products}
    for name, layout_of_product in partitioned.items():
        if layout_of_product is not None and layout_of_product.derived:
            notes.append(Note("hardware", f"MIG profiles of {name}: {layout_of_product.derived}"))
    return tuple(notes)


def describe_wiring(layout: Layout) -> str | None:
    """Return a sentence on the devices whose place is unknown; None if there are none."""
    unwired = sum(len(root.slots) for root in layout.roots if not root.is_wired)
    if not unwired:
        return None
    subject = "its device is" if unwired == 1 else f"its {unwired} devices are"
    return (
        f"no document says where {subject}: PCIe roots and NUMA nodes are unknown, and addresses "
        "assumed; an answer that depends on them is undecided"
    )


def _host(layout: Layout, memory: int | None) -> Host:
    settings, architecture = layout.settings, architecture_of(layout)
    cloud = settings.get("cloud")
    vendor, product = _HOSTS.get(str(cloud), (None, None))
    kind = settings.get("instanceType")
    return Host(
        architecture=ARCHITECTURES[architecture] if architecture is not None else None,
        vendor=vendor,
        product=kind if cloud == "aws" else product,
        cloud=cloud,
        instance_type=kind,
        page_bytes=_PAGE if memory is not None else None,
    )


# --- places ---------------------------------------------------------------------------------------


def _place_devices(
    roots: Sequence[PlannedRoot], cpus_of_nodes: Sequence[str]
) -> Iterator[tuple[PciDevice, PlannedDevice, PciDevice | None]]:
    """Yield each device's function with only its place set, and the root port above it, if there is
    one.
    """
    unnamed = 0
    for root in roots:
        if root.name is None:
            domain, bus = divmod(unnamed, 15)
            host, unnamed = f"pci{domain:04x}:{bus * 16 + 16:02x}", unnamed + 1
            if len(root.slots) > _MAX_PER_ROOT:
                raise UsageError(
                    f"--hardware: at most {_MAX_PER_ROOT} devices share a root", hint="give roots=N"
                )
        else:
            host = root.name
        folder = f"{root.behind}/{host}" if root.behind else host
        local = cpus_of_nodes[root.numa] or None if root.numa is not None else None
        for number, slot in enumerate(root.slots):
            bdf = slot.address or _next_address(host, number)
            if not root.is_wired:
                yield PciDevice(bdf=bdf, path=""), slot, None
                continue
            port = f"{host[3:]}:{number + 1:02x}.0"
            on_root = bdf.rpartition(":")[0] == host[3:]
            bridge = None
            if not on_root:
                bridge = PciDevice(
                    bdf=port,
                    path=f"{folder}/{port}",
                    class_code="0x060400",
                    driver="pcieport",
                    kind="bridge",
                    pcie_root=host,
                    numa_node=root.numa,
                )
            function = PciDevice(
                bdf=bdf,
                path=f"{folder}/{bdf}" if on_root else f"{folder}/{port}/{bdf}",
                pcie_root=host,
                bridges=() if on_root else (port,),
                numa_node=root.numa,
                local_cpus=local,
            )
            yield function, slot, bridge


def _next_address(host: str, number: int) -> str:
    """Return the next address. On bus 00, as in guests, the device is directly on the root; on
    other roots, each device has its own bus.
    """
    domain, bus = host[3:].split(":")
    if bus == "00":
        device = _FIRST_ON_ROOT + number
        if device > _LAST_ON_ROOT:
            raise UsageError(
                f"--hardware: too many devices on {host}; give addresses, or other roots"
            )
        return f"{domain}:00:{device:02x}.0"
    secondary = int(bus, 16) + 1 + number
    if secondary > 0xFF:
        raise UsageError(
            f"--hardware: no bus numbers are left below {host}; give addresses, or other roots"
        )
    return f"{domain}:{secondary:02x}:00.0"


def _memory(value: object, numa: int) -> int | None:
    """Return the bytes of each node, in whole pages."""
    if value is None:
        return None
    return size(value) // numa // _PAGE * _PAGE


def _processors(cpus: int, numa: int, threads: int) -> tuple[list[str], Cpus]:
    """Return CPUs numbered as in Linux on x86: first threads of all cores, then second threads.
    There is one package per NUMA node.
    """
    if not cpus:
        return [""] * numa, Cpus()
    if cpus % (numa * threads):
        raise UsageError(
            f"--hardware: {cpus} CPUs do not make whole cores of {threads} threads on {numa} NUMA"
            " nodes"
        )
    total = cpus // threads
    per_node = total // numa
    members = [
        [cpu for cpu in range(cpus) if cpu % total // per_node == node] for node in range(numa)
    ]
    shown = [cpulist.show(member) for member in members]
    cores = tuple(
        Core(
            package=core // per_node,
            id=core % per_node,
            cpus=cpulist.show(range(core, cpus, total)),
            numa_node=core // per_node,
        )
        for core in range(total)
    )
    packages = tuple(Package(node, shown[node]) for node in range(numa))
    return shown, Cpus(online=f"0-{cpus - 1}", smt=threads > 1, packages=packages, cores=cores)


# --- devices --------------------------------------------------------------------------------------


def _parts(function: PciDevice, slot: PlannedDevice, plan: _Plan) -> _Parts:
    product = slot.product
    if product.kind == "nvidia":
        return _nvidia(function, slot, plan)
    if product.kind == "amd":
        return _amd(function, product, plan)
    if product.kind == "intel":
        return _intel(function, product, plan)
    if product.kind == "nic":
        return _nic(function, slot, plan)
    if product.kind == "nvme":
        return _nvme(function, plan)
    return _accelerator(function, product, plan)


def _nvidia(function: PciDevice, slot: PlannedDevice, plan: _Plan) -> _Parts:
    product = slot.product
    facts, settings = product.facts, plan.settings
    layout = mig_layout(product)
    number = plan.take("gpu") if slot.number is None else slot.number
    memory = settings.get("gpuMemory")
    fabric = settings.get("fabric") or ({} if facts.get("fabric") else None)
    gpu = Gpu(
        bdf=function.bdf,
        vendor="0x10de",
        source="nvml",
        partial=False,
        health="ok",
        index=number,
        minor=number,
        uuid=f"GPU-{uuid.uuid5(_NAMES, f'{function.bdf} {product.name}')}",
        name=facts["name"],
        brand=facts.get("brand", "Nvidia"),
        architecture=facts["architecture"],
        cuda_compute_capability=facts["compute"],
        memory_bytes=size(memory) if memory is not None else product.memory_bytes,
        addressing_mode=settings.get("addressingMode", facts.get("addressing", "HMM")),
        driver_version=_driver(settings),
        mig_mode=mig.is_on(settings.get("mig")) if layout is not None else None,
        mig_devices=(
            mig.devices(settings.get("mig"), layout.profiles, product.name, function.bdf)
            if layout is not None
            else ()
        ),
        mig_profiles=layout.profiles if layout is not None else (),
        fabric=_fabric(fabric) if fabric is not None else None,
    )
    pci = replace(
        function,
        class_code="0x030200",
        vendor="0x10de",
        device=facts.get("device"),
        vendor_name="NVIDIA Corporation",
        driver="nvidia",
        kind="gpu",
    )
    return _Parts((pci,), gpus=(gpu,))


def _links(gpus: Sequence[Gpu], number: int) -> tuple[Link, ...]:
    """Return NVLinks through switches, with equal numbers between any two GPUs; none in MIG mode,
    which has no peer-to-peer access.
    """
    whole = [gpu.bdf for gpu in gpus if gpu.bdf is not None and number and not gpu.mig_mode]
    return tuple(Link(a, b, "nvlink", count=number) for a, b in combinations(whole, 2))


def _fabric(said: Mapping[str, Any]) -> Fabric:
    """Return the NVLink fabric of a machine whose NVLinks extend beyond it. The UUID only shows
    that there is a fabric.
    """
    return Fabric(
        "completed",
        str(said.get("cluster", uuid.uuid5(_NAMES, "fabric"))),
        int(said.get("clique", 0)),
    )


def _amd(function: PciDevice, product: Product, plan: _Plan) -> _Parts:
    facts = product.facts
    number = plan.take("card")
    partitions = facts.get("partitions", True)
    names = (f"card{number}", f"renderD{128 + number}")
    gpu = Gpu(
        bdf=function.bdf,
        vendor="0x1002",
        source="kfd",
        partial=False,
        health="ok",
        index=number,
        name=facts["name"],
        memory_bytes=product.memory_bytes,
        driver_version=hardware.products().modules["amdgpu"]["version"],
        amd=Amdgpu(
            card_index=number,
            render_minor=128 + number,
            compute_partition="spx" if partitions else None,
            memory_partition="nps1" if partitions else None,
            simd_count=facts["computeUnits"] * 4,
            simd_per_cu=4,
            gfx_version=facts.get("gfx"),
            source_version=hardware.products().modules["amdgpu"]["source"],
        ),
    )
    pci = replace(
        function,
        class_code="0x120000",
        vendor="0x1002",
        device=facts["device"],
        vendor_name="Advanced Micro Devices, Inc. [AMD/ATI]",
        driver="amdgpu",
        kind="gpu",
        names=names,
    )
    return _Parts((pci,), gpus=(gpu,))


def _intel(function: PciDevice, product: Product, plan: _Plan) -> _Parts:
    facts, number = product.facts, plan.take("card")
    pci = replace(
        function,
        class_code=facts.get("class", "0x038000"),
        vendor="0x8086",
        device=facts["device"],
        vendor_name="Intel Corporation",
        driver=facts["driver"],
        kind="gpu",
        names=(f"card{number}", f"renderD{128 + number}"),
        sriov=SrIov(total_vfs=1, num_vfs=0, drivers_autoprobe=True) if facts.get("sriov") else None,
    )
    return _Parts(
        (pci,),
        gpus=(
            Gpu(bdf=function.bdf, vendor="0x8086", source="pci", memory_bytes=product.memory_bytes),
        ),
    )


def _nvme(function: PciDevice, plan: _Plan) -> _Parts:
    name = f"nvme{plan.take('nvme')}"
    namespace = NvmeNamespace(f"{name}n1")
    controller = NvmeController(name, function.bdf, transport="pcie", namespaces=(namespace,))
    pci = replace(
        function, class_code="0x010802", driver="nvme", kind="nvme", names=(name, namespace.name)
    )
    return _Parts((pci,), controllers=(controller,))


def _nic(function: PciDevice, slot: PlannedDevice, plan: _Plan) -> _Parts:
    product = slot.product
    facts = (
        product.facts if slot.subsystem is None else {**product.facts, "subsystem": slot.subsystem}
    )
    vfs = plan.vfs if product.virtual_functions else 0
    physical = replace(_apply_facts(function, facts, "nic"), sriov=_physical(vfs))
    name = slot.interface or f"eth{plan.take('eth')}" if facts.get("interface", True) else None
    pf = _network(physical, facts, plan, name, vfs, virtual_function=bool(facts.get("virtual")))
    parts = [
        replace(
            pf, interfaces=tuple(_as_recorded(interface, slot, vfs) for interface in pf.interfaces)
        )
    ]
    for number in range(vfs):
        virtual = replace(
            _virtual(physical, number),
            device=facts["vf"]["device"],
            device_name=facts["vf"]["name"],
        )
        virtual = replace(virtual, driver=facts["vf"]["driver"])
        name = f"{parts[0].interfaces[0].name}v{number}"
        parts.append(_network(virtual, facts, plan, name, 0, virtual_function=True))
    return _Parts(
        tuple(pci for part in parts for pci in part.functions),
        interfaces=tuple(interface for part in parts for interface in part.interfaces),
        rdma=tuple(rdma for part in parts for rdma in part.rdma),
    )


def _as_recorded(interface: NetInterface, slot: PlannedDevice, vfs: int) -> NetInterface:
    """Return an interface with the facts in the file of its machine. The maximum number of virtual
    functions is not recorded.
    """
    infiniband = slot.link == "infiniband"
    return replace(
        interface,
        mtu=slot.mtu,
        uplink=slot.uplink,
        gateway=slot.uplink,
        kind="ipoib" if infiniband else interface.kind,
        encapsulation="infiniband" if infiniband else interface.encapsulation,
        sriov_total_vfs=max(vfs, 1) if slot.sriov else interface.sriov_total_vfs,
        sriov_num_vfs=vfs if slot.sriov else interface.sriov_num_vfs,
    )


def _network(
    pci: PciDevice,
    facts: Mapping[str, Any],
    plan: _Plan,
    name: str | None,
    vfs: int,
    *,
    virtual_function: bool = False,
) -> _Parts:
    """Return a function with its network interface and its RDMA device, if it has them."""
    rdma = _rdma_name(pci, facts["rdma"], plan) if facts.get("rdma") else None
    interfaces: tuple[NetInterface, ...] = ()
    if name is not None:
        interfaces = (
            NetInterface(
                name=name,
                bdf=pci.bdf,
                kind="device",
                virtual=False,
                driver=pci.driver,
                encapsulation="ether",
                operstate="up",
                rdma_device=rdma,
                sriov_total_vfs=vfs or None,
                sriov_num_vfs=vfs or None,
                virtual_function=virtual_function,
            ),
        )
    names = tuple(item for item in (name, rdma) if item is not None)
    devices = (
        (RdmaDevice(rdma, pci.bdf, (name,) if name is not None else ()),)
        if rdma is not None
        else ()
    )
    return _Parts((replace(pci, names=names),), interfaces=interfaces, rdma=devices)


def _rdma_name(pci: PciDevice, prefix: str, plan: _Plan) -> str:
    """Return the name of an RDMA device: ``mlx5_0``, or ``rdmap16s27`` as udev names EFA after bus
    and device.
    """
    if prefix != "rdmap":
        return f"{prefix}{plan.take(prefix)}"
    _, bus, device_and_function = pci.bdf.split(":")
    return f"rdmap{int(bus, 16)}s{int(device_and_function.partition('.')[0], 16)}"


def _accelerator(function: PciDevice, product: Product, plan: _Plan) -> _Parts:
    facts = product.facts
    vfs = plan.vfs if product.virtual_functions else 0
    prefix = facts.get("prefix")
    physical = replace(
        _apply_facts(function, facts, "accelerator"),
        names=(f"{prefix}{plan.take(prefix)}",) if prefix is not None else (),
        iommu_group=plan.take("group") if facts.get("group") else None,
        sriov=_physical(vfs),
    )
    virtual = [
        replace(
            _virtual(physical, number),
            device=facts["vf"]["device"],
            device_name=facts["vf"]["name"],
            driver=facts["vf"]["driver"],
        )
        for number in range(vfs)
    ]
    return _Parts((physical, *virtual))


def _apply_facts(function: PciDevice, facts: Mapping[str, Any], kind: Any) -> PciDevice:
    subsystem = facts.get("subsystem")
    return replace(
        function,
        class_code=facts.get("class", "0x020000"),
        vendor=facts["vendor"],
        device=facts["device"],
        subsystem_vendor=facts["vendor"] if subsystem is not None else None,
        subsystem_device=subsystem,
        vendor_name=facts["vendorName"],
        device_name=facts.get("name"),
        driver=facts["driver"],
        kind=kind,
    )


def _physical(vfs: int) -> SrIov | None:
    return SrIov(total_vfs=vfs, num_vfs=vfs, drivers_autoprobe=True) if vfs else None


def _virtual(parent: PciDevice, number: int) -> PciDevice:
    """Return a virtual function, at the next address after the physical function."""
    slot, index = divmod(number + 1, 8)
    bdf = f"{parent.bdf[:-4]}{slot:02x}.{index}"
    return replace(
        parent,
        bdf=bdf,
        path=f"{parent.path.rpartition('/')[0]}/{bdf}",
        sriov=SrIov(physical_function=parent.bdf, vf_index=number),
    )


def as_node(original: Machine, node_name: str) -> Machine:
    """Return the same hardware as another node: its GPUs have other UUIDs."""
    gpus = tuple(
        replace(
            gpu,
            uuid=(
                f"GPU-{uuid.uuid5(_NAMES, f'{node_name} {gpu.uuid}')}"
                if gpu.uuid is not None
                else None
            ),
            mig_devices=tuple(
                replace(mig, uuid=f"MIG-{uuid.uuid5(_NAMES, f'{node_name} {mig.uuid}')}")
                for mig in gpu.mig_devices
            ),
        )
        for gpu in original.gpus
    )
    return replace(original, gpus=gpus)
