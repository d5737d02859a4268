"""Machines that nobody has at hand: ``8xH100,2xnic`` or a YAML file becomes a Machine to render slices of.

A line: items joined by commas, each ``[COUNTx]PRODUCT`` or ``KEY=VALUE``. Products of one kind are spread evenly over
the PCIe roots, roots evenly over the NUMA nodes; so the first GPU and the first NIC share a root. Keys: ``roots``
(default: the largest count), ``numa`` (default 2, or 1 with one root), ``cpus`` (default none), ``threads`` a core
(default 2), ``memory`` of all nodes together (such as ``512Gi``; default unknown), ``vfs`` of each NIC (default none),
``driver`` and ``cuda`` (NVIDIA's versions), ``mig`` (``on``: GPUs whose MIG profiles we know are in MIG mode).

A YAML file says where things are: the same keys, and ``roots`` as a list of ``{numa: 0, devices: [2xH100, nic]}``.
"""

from __future__ import annotations

import os
import re
import uuid
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dractl.errors import UsageError
from dractl.topology import cpulist
from dractl.topology.machine import (
    Core,
    Cpus,
    Gpu,
    Host,
    Machine,
    MigProfile,
    NetInterface,
    NumaNode,
    Nvidia,
    NvmeController,
    NvmeNamespace,
    Package,
    PciDevice,
    Placement,
    RdmaDevice,
    SrIov,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MIB = 1 << 20
_MAX_DEVICES = 512
_MAX_PER_ROOT = 15  # a root is given 16 bus numbers, its own included
_MAX_CPUS = 4096
_MAX_VFS = 128
_NAMES = uuid.UUID("5d2f6f3e-6b0e-5e0a-9d53-0d7ac1d0b1a5")  # our own namespace: UUIDs are the same each time
KEYS = ("roots", "numa", "cpus", "threads", "memory", "vfs", "driver", "cuda", "mig")
_PAGE = 4096  # of x86, as which CPUs are numbered, too


@dataclass(frozen=True, slots=True)
class _GpuModel:
    name: str
    architecture: str
    compute: str
    memory_mib: int
    device: str | None = None


# NVML's name, architecture, compute capability and total memory as nvidia-smi prints it; PCI ids of pci.ids.
GPUS = {
    "A10": _GpuModel("NVIDIA A10", "Ampere", "8.6", 23028, "0x2236"),
    "A30": _GpuModel("NVIDIA A30", "Ampere", "8.0", 24576, "0x20b7"),
    "A100": _GpuModel("NVIDIA A100-SXM4-80GB", "Ampere", "8.0", 81920, "0x20b2"),
    "A100-40GB": _GpuModel("NVIDIA A100-SXM4-40GB", "Ampere", "8.0", 40960, "0x20b0"),
    "L4": _GpuModel("NVIDIA L4", "Ada Lovelace", "8.9", 23034, "0x27b8"),
    "L40S": _GpuModel("NVIDIA L40S", "Ada Lovelace", "8.9", 46068, "0x26b9"),
    "H100": _GpuModel("NVIDIA H100 80GB HBM3", "Hopper", "9.0", 81559, "0x2330"),
    "H200": _GpuModel("NVIDIA H200", "Hopper", "9.0", 143771, "0x2335"),
    "B200": _GpuModel("NVIDIA B200", "Blackwell", "10.0", 183359, "0x2901"),
    "GB200": _GpuModel("NVIDIA GB200", "Blackwell", "10.0", 189471, "0x2941"),
    "GB300": _GpuModel("NVIDIA GB300", "Blackwell", "10.3", 284208),
}


def _mig_profile(
    number: int, name: str, slices: int, mib: int, processors: int, engines: tuple[int, int, int, int], *starts: int
) -> MigProfile:
    """``engines``: copy engines, decoders, JPEG engines, OFA engines; ``starts``: first memory slices of placements."""
    copy, decoders, jpeg, ofa = engines
    size = {40192: 8, 19968: 4, 9856: 2, 4864: 1}[mib]
    places = tuple(Placement(start, size) for start in starts)
    return MigProfile(number, name, slices, mib * _MIB, processors, copy, decoders, 0, jpeg, ofa, places)


# GPU instance profiles of the A100 40GB: KEP 4815's example; ids and placements as `nvidia-smi mig -lgipp` has them.
_MIG = {
    "A100-40GB": (
        _mig_profile(19, "1g.5gb", 1, 4864, 14, (1, 0, 0, 0), *range(7)),
        _mig_profile(20, "1g.5gb+me", 1, 4864, 14, (1, 1, 1, 1), *range(7)),
        _mig_profile(15, "1g.10gb", 1, 9856, 14, (1, 1, 0, 0), 0, 2, 4, 6),
        _mig_profile(14, "2g.10gb", 2, 9856, 28, (2, 1, 0, 0), 0, 2, 4),
        _mig_profile(9, "3g.20gb", 3, 19968, 42, (3, 2, 0, 0), 0, 4),
        _mig_profile(5, "4g.20gb", 4, 19968, 56, (4, 2, 0, 0), 0),
        _mig_profile(0, "7g.40gb", 7, 40192, 98, (7, 5, 1, 1), 0),
    )
}


@dataclass(frozen=True, slots=True)
class _NicModel:
    vendor: str
    device: str
    vendor_name: str
    device_name: str
    driver: str
    vf_device: str
    vf_name: str
    vf_driver: str
    rdma: bool


_MLX5 = ("0x101e", "ConnectX Family mlx5Gen Virtual Function", "mlx5_core")
_CONNECTX_7 = _NicModel(
    "0x15b3", "0x1021", "Mellanox Technologies", "MT2910 Family [ConnectX-7]", "mlx5_core", *_MLX5, rdma=True
)
NICS = {
    "nic": _CONNECTX_7,
    "ConnectX-7": _CONNECTX_7,
    "ConnectX-6": _NicModel(
        "0x15b3",
        "0x101b",
        "Mellanox Technologies",
        "MT28908 Family [ConnectX-6]",
        "mlx5_core",
        "0x101c",
        "MT28908 Family [ConnectX-6 Virtual Function]",
        "mlx5_core",
        rdma=True,
    ),
    "E810": _NicModel(
        "0x8086",
        "0x1592",
        "Intel Corporation",
        "Ethernet Controller E810-C for QSFP",
        "ice",
        "0x1889",
        "Ethernet Adaptive Virtual Function",
        "iavf",
        rdma=False,
    ),
}
PRODUCTS = (*GPUS, *NICS, "nvme")
_BY_LOWER_CASE = {name.lower(): name for name in PRODUCTS}


@dataclass(slots=True)
class _Root:
    numa: int
    products: list[str] = field(default_factory=list)


def machine(spec: str) -> Machine:
    """The machine that a line or a YAML file describes. Raises UsageError, InputError for a file that is none."""
    if os.path.sep in spec or spec.endswith((".yaml", ".yml")):
        return _from_file(spec)
    settings: dict[str, Any] = {}
    counts: dict[str, int] = {}
    for item in filter(None, (part.strip() for part in spec.split(","))):
        key, equals, value = item.partition("=")
        if equals:
            settings[key.strip()] = value.strip()
        else:
            product, count = _product(item)
            counts[product] = counts.get(product, 0) + count
    numbers = _settings(settings)
    roots = numbers.get("roots") or max(counts.values(), default=1)
    numa = numbers.get("numa") or (2 if roots > 1 else 1)
    layout = [_Root(number * numa // roots) for number in range(roots)]
    for product, count in counts.items():
        for number in range(count):
            layout[number * roots // count if count <= roots else number % roots].products.append(product)
    return _build(layout, numa, settings)


def _from_file(path: str) -> Machine:
    from dractl.errors import InputError
    from dractl.manifests import load

    inputs = load([path], relevant_only=False)
    for broken in inputs.broken:
        raise InputError(broken.message, place=str(broken.position), hint=broken.hint)
    if len(inputs.documents) != 1:
        raise InputError("describes no single machine", place=path)
    value = inputs.documents[0].value
    roots = value.get("roots", [])
    if not isinstance(roots, list) or not all(isinstance(root, dict) for root in roots):
        raise InputError("`roots` is a list such as [{numa: 0, devices: [2xH100, nic]}]", place=path)
    settings = {str(key): item for key, item in value.items() if key != "roots"}
    layout = []
    for root in roots:
        node, devices = root.get("numa", 0), root.get("devices", [])
        if not isinstance(node, int) or not 0 <= node < 1024 or not isinstance(devices, list):
            raise InputError("a root has `numa`, a node's number, and `devices`, a list", place=path)
        layout.append(_Root(node))
        for device in devices:
            product, count = _product(str(device))
            layout[-1].products += [product] * min(count, _MAX_DEVICES + 1)
    numa = _settings(settings).get("numa") or max((root.numa + 1 for root in layout), default=1)
    return _build(layout, max(numa, *(root.numa + 1 for root in layout), 1), settings)


def _product(text: str) -> tuple[str, int]:
    match = re.match(r"(?:(\d{1,4})\s*[xX×]\s*)?(.+)\Z", text.strip())
    name = match[2] if match is not None else text
    if match is None or name.lower() not in _BY_LOWER_CASE:
        from difflib import get_close_matches

        near = get_close_matches(name.lower(), _BY_LOWER_CASE, 1)
        suggestion = f"; did you mean {_BY_LOWER_CASE[near[0]]}?" if near else ""
        raise UsageError(
            f"--hardware does not know {name!r}{suggestion}",
            hint=f"products are {', '.join(PRODUCTS)}; keys are {', '.join(KEYS)}",
        )
    return _BY_LOWER_CASE[name.lower()], int(match[1] or 1)


def _settings(settings: Mapping[str, Any]) -> dict[str, int]:
    """The keys that are numbers; raises UsageError for unknown keys and numbers out of range."""
    found: dict[str, int] = {}
    limits = {"roots": _MAX_DEVICES, "numa": 64, "cpus": _MAX_CPUS, "threads": 8, "vfs": _MAX_VFS}
    for key, value in settings.items():
        if key not in KEYS:
            raise UsageError(f"--hardware does not know the key {key!r}", hint=f"keys are {', '.join(KEYS)}")
        if key == "mig" and value not in ("on", "off", True, False):
            raise UsageError(f"--hardware: mig is on or off, not {value!r}")
        if key in limits:
            if not str(value).isdecimal() or not 1 <= int(value) <= limits[key]:
                raise UsageError(f"--hardware: {key} is a number from 1 to {limits[key]}, not {value!r}")
            found[key] = int(value)
    return found


def _build(layout: Sequence[_Root], numa: int, settings: Mapping[str, Any]) -> Machine:
    numbers = _settings(settings)
    vfs = numbers.get("vfs", 0)
    products = [product for root in layout for product in root.products]
    if not products and not numbers.get("cpus") and settings.get("memory") is None:
        raise UsageError("--hardware describes nothing", hint=f"products are {', '.join(PRODUCTS)}; or cpus, or memory")
    if settings.get("mig") in ("on", True) and not any(product in _MIG for product in products):
        drawn = ", ".join(dict.fromkeys(product for product in products if product in GPUS))
        raise UsageError(
            f"--hardware: mig=on puts no GPU into MIG mode: the MIG profiles of {drawn or 'no GPU'} are not known here",
            hint=f"they are known of {', '.join(_MIG)}; `dractl discover --save` keeps those of a real machine",
        )
    if sum(1 + vfs * (product in NICS) for product in products) > _MAX_DEVICES:
        raise UsageError(f"--hardware describes at most {_MAX_DEVICES} devices, VFs included")
    memory = _memory(settings.get("memory"), numa)
    cpus = numbers.get("cpus", 0)
    nodes_of_cpus, processors = _processors(cpus, numa, numbers.get("threads", 2))
    functions: list[PciDevice] = []
    gpus: list[Gpu] = []
    interfaces: list[NetInterface] = []
    rdmas: list[RdmaDevice] = []
    controllers: list[NvmeController] = []
    for number, root in enumerate(layout):
        if len(root.products) > _MAX_PER_ROOT:
            raise UsageError(f"--hardware: at most {_MAX_PER_ROOT} devices share a root", hint="give roots=N")
        domain, bus = divmod(number, 15)
        host = f"pci{domain:04x}:{bus * 16 + 16:02x}"
        for slot, product in enumerate(root.products):
            port = f"{host[3:]}:{slot + 1:02x}.0"
            bdf = f"{domain:04x}:{bus * 16 + 17 + slot:02x}:00.0"
            function = PciDevice(
                bdf=bdf,
                path=f"{host}/{port}/{bdf}",
                pcie_root=host,
                bridges=(port,),
                numa_node=root.numa,
                local_cpus=nodes_of_cpus[root.numa] or None,
            )
            functions.append(_bridge(host, port, root.numa))
            if product in GPUS:
                functions.append(_gpu_function(function, product))
                gpus.append(_gpu(bdf, product, len(gpus), settings))
            elif product in NICS:
                functions.append(_nic(function, NICS[product], interfaces, rdmas, vfs))
                functions += [
                    _virtual(functions[-1], NICS[product], number, interfaces, rdmas) for number in range(vfs)
                ]
            else:
                functions.append(_nvme(function, controllers))
    nvidia = Nvidia(str(settings.get("driver", "580.65.06")), str(settings.get("cuda", "13.0"))) if gpus else None
    distances = [tuple(10 if a == b else 21 for b in range(numa)) for a in range(numa)]
    return Machine(
        host=Host(page_bytes=_PAGE if memory is not None else None),
        cpus=processors,
        numa_nodes=tuple(NumaNode(n, nodes_of_cpus[n], memory, distances=distances[n]) for n in range(numa)),
        pci_devices=tuple(sorted(functions, key=lambda function: function.bdf)),
        net_interfaces=tuple(interfaces),
        rdma_devices=tuple(rdmas),
        nvme_controllers=tuple(controllers),
        gpus=tuple(gpus),
        nvidia=nvidia,
        identity=False,
    )


def _memory(value: object, numa: int) -> int | None:
    """Bytes of each node, whole pages."""
    from dractl.model import Quantity

    if value is None:
        return None
    try:
        size = Quantity.parse(str(value)).value()
    except ValueError:
        size = 0
    if not 1 << 20 <= size <= 1 << 50:
        raise UsageError(f"--hardware: memory is a quantity such as 512Gi, from 1Mi to 1Pi, not {value!r}")
    return size // numa // _PAGE * _PAGE


def _processors(cpus: int, numa: int, threads: int) -> tuple[list[str], Cpus]:
    """CPUs numbered as Linux does on x86: first threads of all cores, then second ones. One package a NUMA node."""
    if not cpus:
        return [""] * numa, Cpus()
    if cpus % (numa * threads):
        raise UsageError(f"--hardware: {cpus} CPUs do not make whole cores of {threads} threads on {numa} NUMA nodes")
    total = cpus // threads
    per_node = total // numa
    members = [[cpu for cpu in range(cpus) if cpu % total // per_node == node] for node in range(numa)]
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


def _bridge(host: str, port: str, numa: int) -> PciDevice:
    return PciDevice(
        bdf=port,
        path=f"{host}/{port}",
        class_code="0x060400",
        driver="pcieport",
        kind="bridge",
        pcie_root=host,
        numa_node=numa,
    )


def _gpu_function(function: PciDevice, product: str) -> PciDevice:
    model = GPUS[product]
    return replace(
        function,
        class_code="0x030200",
        vendor="0x10de",
        device=model.device,
        vendor_name="NVIDIA Corporation",
        driver="nvidia",
        kind="gpu",
    )


def _gpu(bdf: str, product: str, number: int, settings: Mapping[str, Any]) -> Gpu:
    model = GPUS[product]
    return Gpu(
        bdf=bdf,
        vendor="0x10de",
        source="nvml",
        partial=False,
        health="ok",
        index=number,
        minor=number,
        uuid=f"GPU-{uuid.uuid5(_NAMES, f'{bdf} {product}')}",
        name=model.name,
        brand="Nvidia",
        architecture=model.architecture,
        cuda_compute_capability=model.compute,
        memory_bytes=model.memory_mib * _MIB,
        driver_version=str(settings.get("driver", "580.65.06")),
        mig_mode=settings.get("mig") in ("on", True) if product in _MIG else None,
        mig_profiles=_MIG.get(product, ()),
    )


def _nic(
    function: PciDevice, model: _NicModel, interfaces: list[NetInterface], rdmas: list[RdmaDevice], vfs: int
) -> PciDevice:
    name = f"eth{sum(not interface.virtual_function for interface in interfaces)}"
    rdma = f"mlx5_{len(rdmas)}" if model.rdma else None
    interfaces.append(
        NetInterface(
            name=name,
            bdf=function.bdf,
            kind="device",
            virtual=False,
            driver=model.driver,
            encapsulation="ether",
            operstate="up",
            rdma_device=rdma,
            sriov_total_vfs=vfs or None,
            sriov_num_vfs=vfs or None,
        )
    )
    if rdma is not None:
        rdmas.append(RdmaDevice(rdma, function.bdf, (name,)))
    return replace(
        function,
        sriov=SrIov(total_vfs=vfs, num_vfs=vfs, drivers_autoprobe=True) if vfs else None,
        class_code="0x020000",
        vendor=model.vendor,
        device=model.device,
        vendor_name=model.vendor_name,
        device_name=model.device_name,
        driver=model.driver,
        kind="nic",
        names=(name, rdma) if rdma is not None else (name,),
    )


def _virtual(
    parent: PciDevice, model: _NicModel, number: int, interfaces: list[NetInterface], rdmas: list[RdmaDevice]
) -> PciDevice:
    """A virtual function, at the next address after the physical one's, with an interface and what belongs to it."""
    slot, index = divmod(number + 1, 8)
    bdf = f"{parent.bdf[:-4]}{slot:02x}.{index}"
    name = f"{parent.names[0]}v{number}"
    rdma = f"mlx5_{len(rdmas)}" if model.rdma else None
    interfaces.append(
        replace(
            next(interface for interface in interfaces if interface.bdf == parent.bdf),
            name=name,
            bdf=bdf,
            driver=model.vf_driver,
            rdma_device=rdma,
            sriov_total_vfs=None,
            sriov_num_vfs=None,
            virtual_function=True,
        )
    )
    if rdma is not None:
        rdmas.append(RdmaDevice(rdma, bdf, (name,)))
    return replace(
        parent,
        bdf=bdf,
        path=f"{parent.path.rpartition('/')[0]}/{bdf}",
        device=model.vf_device,
        device_name=model.vf_name,
        driver=model.vf_driver,
        names=(name, rdma) if rdma is not None else (name,),
        sriov=SrIov(physical_function=parent.bdf, vf_index=number),
    )


def _nvme(function: PciDevice, controllers: list[NvmeController]) -> PciDevice:
    name = f"nvme{len(controllers)}"
    namespace = NvmeNamespace(f"{name}n1")
    controllers.append(NvmeController(name, function.bdf, transport="pcie", namespaces=(namespace,)))
    return replace(function, class_code="0x010802", driver="nvme", kind="nvme", names=(name, namespace.name))


def as_node(original: Machine, node_name: str) -> Machine:
    """The same hardware as another node has it: GPUs have UUIDs of their own there."""
    gpus = tuple(
        replace(
            gpu,
            uuid=f"GPU-{uuid.uuid5(_NAMES, f'{node_name} {gpu.uuid}')}" if gpu.uuid is not None else None,
            mig_devices=tuple(
                replace(mig, uuid=f"MIG-{uuid.uuid5(_NAMES, f'{node_name} {mig.uuid}')}") for mig in gpu.mig_devices
            ),
        )
        for gpu in original.gpus
    )
    return replace(original, gpus=gpus)
