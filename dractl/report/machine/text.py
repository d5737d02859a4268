"""Phrases shared by the reports of a machine: descriptions of a device, a link, a NUMA node, a
fabric.
"""

from collections.abc import Iterable, Mapping, Sequence

from dractl.drivers.aligned_groups import list_aligned_groups, list_obstacles
from dractl.drivers.publication import Publication, silence
from dractl.report.canvas import Canvas
from dractl.report.plain import plural
from dractl.topology import cpulist
from dractl.topology.complexes import complexes, is_data_direct
from dractl.topology.fabric import cliques, meshes
from dractl.topology.machine import Gpu, Machine, MigProfile, NumaNode, PciDevice
from dractl.topology.rails import rails
from dractl.topology.units import show_bytes

STYLES = {
    "gpu": "32",
    "accelerator": "32",
    "nic": "36",
    "rdma": "36",
    "nvme": "33",
    "bridge": "2",
    "other": "",
}
ORDER = {"gpu": 0, "accelerator": 1, "nic": 2, "rdma": 2, "nvme": 3}
"""The order of kinds in a matrix, as in ``nvidia-smi topo -m``."""

_SMT = {
    "notsupported": "not supported",
    "notimplemented": "not implemented",
    "forceoff": "forced off",
}
_LABELS = {"gpu": "GPU", "accelerator": "ACC", "nic": "NIC", "rdma": "NIC", "nvme": "NVME"}
_MAX_LABEL = 12  # gpu-15-mig-*
_MAX_NAMES = 4


# --- names ----------------------------------------------------------------------------------------


def labels(
    machine: Machine, devices: Iterable[PciDevice], publication: Publication
) -> dict[str, str]:
    """Return short names of devices by address: the published name if it is short, else GPU0, NIC0,
    NVME0 ... by address.

    So a name in capitals is never a published name. A name with a question mark is a guess. The
    number of a GPU is NVML's index if NVML knows all GPUs.
    """
    devices = list(devices)
    indices = {gpu.bdf: gpu.index for gpu in machine.gpus}
    numbered = all(
        indices.get(device.bdf) is not None for device in devices if device.kind == "gpu"
    )
    counts: dict[str, int] = {}
    named: dict[str, str] = {}
    for device in devices:
        word = _LABELS[device.kind]
        number = counts.get(word, 0)
        counts[word] = number + 1
        if numbered and device.kind == "gpu":
            number = indices[device.bdf] or 0
        name = publication.name_of(device.bdf)
        named[device.bdf] = (
            name if name is not None and len(name) <= _MAX_LABEL else f"{word}{number}"
        )
    return named


def whole_name(device: PciDevice, publication: Publication) -> str:
    """Return the published name of a function that is published as a whole; else an
    empty string.
    """
    devices = publication.devices_of(device.bdf)
    return devices[0].shown if len(devices) == 1 and devices[0].kind != "mig" else ""


def parts(device: PciDevice, gpu: Gpu | None, publication: Publication) -> list[tuple[str, str]]:
    """Return the parts of a function that is divided into devices: the published name of each (or
    an empty string), and its kind.
    """
    devices = publication.devices_of(device.bdf)
    if gpu is None or not gpu.mig_devices:
        whole = len(devices) == 1 and devices[0].kind != "mig"
        return [] if whole else [(part.name, "") for part in devices]
    names = {part.uuid: part.name for part in devices if part.kind == "mig"}
    named = []
    for mig in gpu.mig_devices:
        start, end = mig.placement.start, mig.placement.start + mig.placement.size - 1
        slices = f"memory slice {start}" if start == end else f"memory slices {start}-{end}"
        named.append(
            (names.get(mig.uuid, ""), f"{mig.profile or f'MIG profile {mig.profile_id}'}, {slices}")
        )
    return named


def profiles(gpu: Gpu) -> str:
    """Return the MIG profiles that the GPU offers, each with the number that fit at the same time;
    empty if it has none.
    """
    offered = [
        f"{item.name} ×{_max_instances(item, gpu.mig_profiles)}"
        for item in gpu.mig_profiles
        if item.placements
    ]
    return f"MIG profiles: {', '.join(offered)}" if offered else ""


def _max_instances(profile: MigProfile, offered: Sequence[MigProfile]) -> int:
    """Return how many instances of a profile an empty GPU holds, as ``nvidia-smi mig -lgip`` does.

    Placements alone are too many: an H100 has seven for a profile with all media extensions (+me),
    but only one OFA engine.
    """
    whole = max(offered, key=lambda item: item.slices)
    engines = ("decoders", "encoders", "jpeg_engines", "ofa_engines")
    parts: list[int] = [
        getattr(whole, name) // amount for name in engines if (amount := getattr(profile, name))
    ]
    return min([len(profile.placements), *parts])


# --- devices --------------------------------------------------------------------------------------


def description(device: PciDevice, gpu: Gpu | None) -> str:
    """Return the device's product, and details from the GPU's own source."""
    words = [gpu.name if gpu is not None and gpu.name else product(device)]
    if gpu is not None:
        if gpu.memory_bytes is not None:
            words.append(show_bytes(gpu.memory_bytes))
        if gpu.mig_mode:
            words.append(f"MIG on, {plural(len(gpu.mig_devices), 'MIG device')}")
        if gpu.amd is not None and gpu.amd.compute_partition not in (None, "spx"):
            words.append(f"{gpu.amd.compute_partition}/{gpu.amd.memory_partition}")
        if gpu.health in ("lost", "reset-required"):
            words.append(gpu.health.upper())
    if device.data_direct_of:
        words.append(f"Data Direct function of {' '.join(device.data_direct_of)}")
    return ", ".join(words)


def binding(device: PciDevice) -> str:
    """Return the kernel driver, unless it is the usual one, and the number of VFs in use."""
    words = []
    if device.kind != "bridge" and device.driver != "nvidia":
        words.append(device.driver or "no driver")
    if device.sriov and device.sriov.total_vfs:
        words.append(f"{device.sriov.num_vfs or 0} of {device.sriov.total_vfs} VFs")
    return ", ".join(words)


def is_nvswitch(device: PciDevice) -> bool:
    """Return True for an NVSwitch: NVIDIA's only function of the class "other bridge"."""
    return device.vendor == "0x10de" and (device.class_code or "").startswith("0x0680")


def is_shown(device: PciDevice) -> bool:
    """Return True for functions that a workload or a user may look for; reports only count the
    others.
    """
    return (
        device.kind not in ("other", "bridge")
        or bool(device.names)
        or is_nvswitch(device)
        or is_data_direct(device)
    )


def product(device: PciDevice) -> str:
    """Return the vendor and the device: by name if pci.ids has one, or else by number."""
    if is_nvswitch(device):
        return device.device_name or "NVIDIA NVSwitch"
    vendor = device.vendor_name
    if vendor and device.device_name:
        return f"{short_vendor(vendor)} {_name_on_market(device.device_name)}"
    number = f"[{(device.vendor or '?')[2:]}:{(device.device or '?')[2:]}]"
    kind = device.class_name or (f"class {device.class_code}" if device.class_code else "function")
    return f"{short_vendor(vendor)} {kind} {number}" if vendor else f"{kind} {number}"


def _name_on_market(name: str) -> str:
    """Return the marketing name, which pci.ids has in brackets after the name of the chip: ``MT2910
    Family [ConnectX-7]``.
    """
    chip, bracket, sold = name.partition("[")
    return sold[:-1] if bracket and sold.endswith("]") and chip.strip() else name


def short_vendor(name: str) -> str:
    """Return a vendor's everyday name: AMD/ATI for ``Advanced Micro Devices, Inc. [AMD/ATI]``."""
    if "[" in name and name.endswith("]"):
        return name[name.index("[") + 1 : -1]
    for ending in (
        " Technologies",
        " Corporation",
        " Corp.",
        ", Inc.",
        " Inc.",
        " Inc",
        " Co., Ltd.",
        ", Ltd.",
        " Ltd.",
    ):
        name = name.removesuffix(ending)
    return name


def link(device: PciDevice, canvas: Canvas) -> tuple[str, bool]:
    """Return the PCIe link as ``×16 32 GT/s``, or ``×8/16 32 GT/s`` and True if it is slower than
    the function can be.
    """
    if device.link_width is None or device.link_speed is None:
        return "", False
    most_width, most_speed = device.max_link_width or 0, device.max_link_speed or 0
    width, speed = f"{device.link_width}", f"{device.link_speed:g}"
    slow = most_width > device.link_width or most_speed > device.link_speed
    if most_width > device.link_width:
        width += f"/{most_width}"
    if most_speed > device.link_speed:
        speed += f"/{most_speed:g}"
    return f"{canvas.glyph('×', 'x')}{width} {speed} GT/s", slow


def facts(
    device: PciDevice, gpu: Gpu | None, publication: Publication, canvas: Canvas
) -> list[tuple[str, str]]:
    """Return everything that identifies a device, with one pair for each fact, for the details of a
    picture.
    """
    number = (
        {"minor": gpu.minor, "NVML index": gpu.index, "UUID": gpu.uuid} if gpu is not None else {}
    )
    values: dict[str, object] = {
        "published as": " ".join(part.shown for part in publication.devices_of(device.bdf)),
        "not published": publication.left_out.get(device.bdf),
        "PCI address": device.bdf,
        "device": description(device, gpu),
        "names": " ".join(device.names),
        "driver": device.driver or "none",
        "VFs": (
            f"{device.sriov.num_vfs or 0} of {device.sriov.total_vfs}"
            if device.sriov and device.sriov.total_vfs
            else None
        ),
        "link": link(device, canvas)[0],
        "PCIe root": device.pcie_root,
        "bridges": " ".join(device.bridges),
        "NUMA node": device.numa_node,
        "IOMMU group": device.iommu_group,
        **number,
    }
    pairs = [(name, str(value)) for name, value in values.items() if value not in (None, "")]
    if gpu is not None and profiles(gpu):
        pairs.append(("MIG profiles", profiles(gpu).partition(": ")[2]))
    return pairs


# --- nodes and host -------------------------------------------------------------------------------


def node_line(node: NumaNode) -> str:
    """Return a NUMA node's CPUs, memory and huge pages."""
    words = [f"CPUs {node.cpus}" if node.cpus else "no CPUs"]
    if node.memory_bytes is None:
        words.append("memory unknown")
    elif node.memory_bytes == 0:
        words.append("no memory")
    else:
        owner = {"gpu": " of a GPU", "cpuless": " of CXL, HBM or persistent memory"}
        words.append(show_bytes(node.memory_bytes) + owner.get(node.memory_kind or "", ""))
    words += [
        f"{pages.total} huge pages of {show_bytes(pages.size_bytes)}"
        for pages in node.huge_pages
        if pages.total
    ]
    return " · ".join(words)


def node_lines(nodes: Iterable[NumaNode]) -> list[tuple[str, NumaNode]]:
    """Return the NUMA nodes with their titles. Nodes with neither CPUs nor memory share a line:
    Grace reserves one for each MIG device that its GPUs could have.
    """
    nodes = list(nodes)
    empty = [node for node in nodes if not node.cpus and node.memory_bytes == 0]
    shown = [(f"node {node.id}", node) for node in nodes if len(empty) < 2 or node not in empty]
    if len(empty) > 1:
        shown.append((f"nodes {cpulist.show(node.id for node in empty)}", empty[0]))
    return shown


def host_lines(machine: Machine) -> list[str]:
    """Return the host in one or two lines."""
    host, cpus = machine.host, machine.cpus
    threads = sum(len(cpulist.parse(package.cpus)) for package in cpus.packages)
    first = [text for text in (host.name, host_product(machine), cpus.model) if text]
    if cpus.packages:
        counted = (
            f"{plural(len(cpus.packages), 'socket')}, {plural(len(cpus.cores), 'core')},"
            f" {plural(threads, 'thread')}"
        )
        kinds = {core.type for core in cpus.cores}
        if "e-core" in kinds:
            slow = sum(core.type == "e-core" for core in cpus.cores)
            counted += f" ({len(cpus.cores) - slow} P, {slow} E)"
        first.append(counted)
    second = []
    if host.memory_bytes is not None:
        second.append(show_bytes(host.memory_bytes))
    if cpus.l3:
        second.append(plural(len(cpus.l3), "L3 cache"))
    if cpus.smt is not None:
        second.append(
            "SMT on" if cpus.smt else f"SMT {_SMT.get(str(cpus.smt_control), cpus.smt_control)}"
        )
    if host.kernel:
        second.append(
            f"Linux {host.kernel}" + (f" {host.architecture}" if host.architecture else "")
        )
    if host.virtual:
        second.append("virtual machine")
    if host.iommu is not None:
        second.append("IOMMU on" if host.iommu else "IOMMU off")
    if machine.nvidia and machine.nvidia.driver_version:
        cuda = (
            f", CUDA {machine.nvidia.cuda_driver_version}"
            if machine.nvidia.cuda_driver_version
            else ""
        )
        second.append(f"NVIDIA driver {machine.nvidia.driver_version}{cuda}")
    return [" · ".join(line) for line in (first, second) if line]


def host_product(machine: Machine) -> str:
    """Return the product as the firmware names it, with its vendor; empty if unknown."""
    host = machine.host
    if not host.product:
        return ""
    return (
        host.product
        if not host.vendor or host.product.startswith(host.vendor)
        else f"{host.vendor} {host.product}"
    )


# --- GPUs together --------------------------------------------------------------------------------


def fabric_lines(machine: Machine, names: Mapping[str, str]) -> list[str]:
    """Return the direct links between GPUs, and the NVLink cliques that they belong to."""
    pairs: dict[str, list[str]] = {}
    lines = []
    for mesh in meshes(machine):
        gpus = [names.get(bdf, bdf) for bdf in mesh.gpus]
        if len(gpus) > 2:
            lines.append(f"{mesh.level} from each to every other: {' '.join(gpus)}")
        else:
            pairs.setdefault(mesh.level, []).append(" - ".join(gpus))
    lines += [f"{level}: {', '.join(linked)}" for level, linked in pairs.items()]
    for clique in cliques(machine):
        gpus = [names.get(bdf, bdf) for bdf in clique.gpus]
        lines.append(f"clique {clique.name} (label nvidia.com/gpu.clique): {' '.join(gpus)}")
    return lines


def complex_lines(machine: Machine, names: Mapping[str, str]) -> list[str]:
    """Return the NVCX complexes: the NIC that serves each GPU, and the consequence for claims."""
    lines = []
    apart = False
    for item in complexes(machine):
        nics = " ".join(names.get(bdf, bdf) for bdf in item.nics)
        through = "one ConnectX switch"
        if item.data_direct is not None:
            function, gpu = machine.pci[item.data_direct], machine.pci[item.gpu]
            groups = (function.iommu_group, gpu.iommu_group)
            through = f"Data Direct function {item.data_direct}"
            # rdma_topo, NVCX_DMA_Complex.check
            if None not in groups and groups[0] != groups[1]:
                through += (
                    f" (but their IOMMU groups differ, {groups[0]} and {groups[1]}: see rdma_topo"
                    " check)"
                )
        apart |= any(
            machine.pci[bdf].pcie_root != machine.pci[item.gpu].pcie_root for bdf in item.nics
        )
        lines.append(f"{names.get(item.gpu, item.gpu)} + {nics}, through {through}")
    if apart:
        lines.append(
            "these NICs and GPUs are on different PCIe roots, so claims cannot match them by"
            " pcieRoot"
        )
    return lines


def rail_lines(machine: Machine, names: Mapping[str, str]) -> list[str]:
    """Return the RDMA NICs nearest to each GPU."""
    rdma = {device.bdf: device.name for device in machine.rdma_devices}
    lines = []
    for rail in rails(machine):
        gpus = " ".join(names.get(bdf, bdf) for bdf in rail.gpus)
        nics = ", ".join(f"{names.get(bdf, bdf)} ({rdma[bdf]})" for bdf in rail.nics)
        lines.append(f"{gpus}: {rail.level} to {nics}")
    return lines


# --- what drivers publish -------------------------------------------------------------------------


def names_by_place(publication: Publication) -> list[tuple[str, list[tuple[str, list[str]]]]]:
    """Return the names of published devices by PCIe root and driver; devices without a root come
    last.
    """
    places: dict[str, dict[str, list[str]]] = {}
    for device in publication.devices:
        place = places.setdefault(device.pcie_root or "without pcieRoot", {})
        place.setdefault(device.driver, []).append(device.shown)
    ordered = sorted(places.items(), key=lambda item: (not item[0].startswith("pci"), item[0]))
    return [(place, list(drivers.items())) for place, drivers in ordered]


def driver_list(publication: Publication) -> str:
    """Return the drivers that publish devices, with their versions."""
    return ", ".join(f"{name} {version}" for name, version in publication.drivers.items())


def alignment_lines(machine: Machine, publication: Publication) -> list[str]:
    """Return the alignments that claims can and cannot get on this node. For a described machine
    with unknown wiring, the alignments that claims cannot get are unknown.
    """
    is_wired = all(pci.path for pci in machine.pci_devices)
    return [
        *(group.text for group in list_aligned_groups(publication.devices)),
        *(list_obstacles(publication.devices) if is_wired else ()),
    ]


def lines_of_unpublished(publication: Publication) -> list[tuple[str, str]]:
    """Return drivers and functions that are not published, with the reason."""
    lines = [(driver, f"publishes nothing: {why}") for driver, why in publication.silent.items()]
    reasons_of_silence = {silence(driver) for driver in publication.silent}
    return lines + _merge_messages(
        (bdf, why) for bdf, why in publication.left_out.items() if why not in reasons_of_silence
    )


# --- text -----------------------------------------------------------------------------------------


def span(names: list[str]) -> str:
    """Return names separated by commas; if there are many, only the first and the last, with their
    number.
    """
    return (
        ", ".join(names)
        if len(names) <= _MAX_NAMES
        else f"{names[0]} to {names[-1]} ({len(names)})"
    )


def note_lines(machine: Machine, publication: Publication) -> list[tuple[str, str]]:
    """Return pairs of subject and message: notes on the machine, then notices of drivers.

    Notes with the same message are merged.
    """
    notes = [(note.about, note.message) for note in machine.notes]
    for notice in publication.notices:
        about, colon, text = notice.partition(": ")
        notes.append((about, text) if colon else ("drivers", notice))
    return _merge_messages(notes)


def _merge_messages(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    messages: dict[str, list[str]] = {}
    for about, message in pairs:
        messages.setdefault(message, []).append(about)
    return [(", ".join(abouts), message) for message, abouts in messages.items()]
