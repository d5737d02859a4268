"""All probes together: they read one root and return one Machine."""

import os
import platform
import re
import sys
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from dractl.probes import amd, block, classes, cpu, ids, net, numa, pci, rdma, vpd
from dractl.probes.enumerate import Enumerator, SysfsWalker
from dractl.probes.guest import report_flat_tree
from dractl.probes.netlink import Interface
from dractl.probes.nvml import Listing
from dractl.probes.root import SysRoot
from dractl.probes.unpublished_gpus import report_unpublished_gpus
from dractl.topology import cpulist
from dractl.topology.links import slow_links
from dractl.topology.machine import (
    Gpu,
    Host,
    Machine,
    NetInterface,
    Note,
    NumaNode,
    NvmeController,
    PciDevice,
    RdmaDevice,
)

# GPUs whose memory and model sysfs does not show, or shows only with the driver.
_FACTS_ELSEWHERE = {
    classes.INTEL: (
        "its memory is known to the DRM driver only (an ioctl that needs privileges): it is omitted"
    ),
    classes.AMD: "no amdgpu driver is bound to it: its memory and partitions are unknown",
}


def probe(
    root: SysRoot, *, pci_ids: Path | None = None, enumerator: Enumerator | None = None
) -> Machine:
    """Return the machine that ``root`` shows. libudev, netlink and NVML are used only for a live
    root, since they show this machine only.

    ``pci_ids`` is the path of a database in place of the system's; ``enumerator`` lists devices in
    place of libudev and sysfs.
    """
    notes: list[Note] = []

    def note(about: str, message: str) -> None:
        notes.append(Note(about, message))

    enumerator = enumerator or _enumerator(root, note)
    cpus = cpu.probe(root, note)
    nodes = numa.probe(root, cpulist.parse(cpus.online or ""), note)
    devices = ids.add_installed_names(
        root, ids.name_devices(pci.probe(root, enumerator, note), pci_ids, note)
    )
    pci.note_unknown_numa(devices, len(nodes), note)
    pci.note_unpublishable(devices, note)
    devices = vpd.pair_data_direct(root, devices, note)
    report_unpublished_gpus(root, note)
    rdmas = rdma.probe(root, enumerator)
    interfaces = net.probe(root, enumerator, rdmas, _links(root, note), note)
    controllers = block.nvme(root, enumerator)
    disks = block.disks(enumerator)
    answer = _nvml(root, devices, note)
    names = _names(enumerator, disks, interfaces, controllers, rdmas)
    devices = _with_names(devices, names, interfaces, rdmas)
    amds, xgmi = amd.probe(root, devices)
    amd.report_dotted_partitions(root, note)
    gpus = _gpus(devices, answer, amds, note)
    gpus, nodes = _memory_of_gpus(root, gpus, nodes)
    denied = root.denied
    if denied:
        note(
            "permissions", f"{denied} files of /sys and /proc cannot be read by this user; root can"
        )
    host = _host(root)
    numa.note_uncounted_memory(nodes, host.memory_bytes, note)
    machine = Machine(
        host=host,
        cpus=cpus,
        numa_nodes=tuple(nodes),
        pci_devices=tuple(devices),
        pcie_roots=pci.roots(root),
        net_interfaces=tuple(interfaces),
        rdma_devices=tuple(rdmas),
        nvme_controllers=tuple(controllers),
        gpus=gpus,
        nvidia=answer.driver,
        links=(*answer.links, *xgmi),
    )
    report_flat_tree(machine, note)
    for slow in slow_links(machine):
        note(slow.device.bdf, slow.text)
    return replace(machine, notes=tuple(notes))


def _with_names(
    devices: list[PciDevice],
    names: dict[str, list[str]],
    interfaces: list[NetInterface],
    rdmas: list[RdmaDevice],
) -> list[PciDevice]:
    """Return the functions with the names of their devices; RDMA functions have their kind."""
    with_net = {interface.bdf for interface in interfaces}
    with_rdma = {rdma_device.bdf for rdma_device in rdmas}
    return [
        replace(
            device,
            names=tuple(sorted(set(names.get(device.bdf, ())))),
            # EFA and eRDMA functions have an RDMA device and no interface, regardless of their
            # class.
            kind=(
                "rdma"
                if device.bdf in with_rdma
                and (device.kind == "other" or device.bdf not in with_net)
                else device.kind
            ),
        )
        for device in devices
    ]


def _enumerator(root: SysRoot, note: Callable[[str, str], None]) -> Enumerator:
    if root.live and sys.platform == "linux":
        from dractl.probes.udev import open_udev

        udev, walker = open_udev(note), SysfsWalker(root)
        if udev is None:
            return walker
        # libudev lists nothing if /sys is a bind mount of a directory instead of a sysfs.
        if not udev.devices("pci") and walker.devices("pci"):
            note(
                "udev",
                "libudev lists no PCI functions although /sys/bus/pci/devices has some: /sys was"
                " read directly",
            )
            return walker
        return udev
    if root.live:
        note(
            "host",
            f"this machine runs {sys.platform}, not Linux: there is no /sys to read; --from reads a"
            " Linux node's snapshot",
        )
    return SysfsWalker(root)


def _links(root: SysRoot, note: Callable[[str, str], None]) -> dict[str, Interface]:
    if not root.live:
        return {}
    from dractl.probes import netlink

    return netlink.links(note)


def _nvml(root: SysRoot, devices: list[PciDevice], note: Callable[[str, str], None]) -> Listing:
    from dractl.probes import nvml

    expected = any(_nvidia_gpu(d) for d in devices)
    if root.live:
        return nvml.probe(note, expected=expected)
    if expected:
        note(
            "nvml",
            "NVML is available on a live node only: NVIDIA GPUs here are known from PCI alone; a"
            " snapshot has both",
        )
    return nvml.Listing()


def _nvidia_gpu(device: PciDevice) -> bool:
    return device.kind == "gpu" and device.vendor == classes.NVIDIA


def _names(
    enumerator: Enumerator,
    disks: dict[str, str],
    interfaces: list[NetInterface],
    controllers: list[NvmeController],
    rdmas: list[RdmaDevice],
) -> dict[str, list[str]]:
    """Return the names of disks, interfaces, RDMA devices, DRM and accel nodes by function."""
    by_function: dict[str, list[str]] = {}
    owners = [
        *((bdf, name) for name, bdf in disks.items()),
        *((device.bdf, device.name) for device in interfaces),
        *((device.bdf, device.name) for device in rdmas),
        *(
            (controller.bdf, space.name)
            for controller in controllers
            for space in controller.namespaces
        ),
    ]
    for bdf, name in owners:
        if bdf:
            by_function.setdefault(bdf, []).append(name)
    for subsystem, pattern in (
        ("drm", r"card\d+|renderD\d+"),
        ("accel", r"accel\d+"),
        ("nvme", r"nvme\d+"),
    ):
        for entry in enumerator.devices(subsystem):
            owner = pci.function_of(entry.path)
            if owner and re.fullmatch(pattern, entry.name):
                by_function.setdefault(owner, []).append(entry.name)
    return by_function


def _gpus(
    devices: list[PciDevice],
    answer: Listing,
    amds: dict[str, Gpu],
    note: Callable[[str, str], None],
) -> tuple[Gpu, ...]:
    """Return the GPUs of NVML, and the GPUs on PCI that NVML did not list. None of the known
    drivers treats a virtual function as a separate GPU.
    """
    by_address = {g.bdf: g for g in answer.gpus}
    gpus: list[Gpu] = []
    shown = [d for d in devices if d.kind == "gpu" and not d.physical_function]
    silent = [
        d for d in shown if _nvidia_gpu(d) and d.bdf not in by_address and d.driver == "nvidia"
    ]
    for device in shown:
        if device.bdf in by_address:
            gpus.append(by_address.pop(device.bdf))
            continue
        if device.bdf in amds:
            gpus.append(amds[device.bdf])
            continue
        # NVML does not identify the lost GPU; PCI does if all GPUs that are missing from NVML's
        # list are lost.
        lost = device in silent and 0 < answer.silent == len(silent)
        gpus.append(Gpu(bdf=device.bdf, vendor=device.vendor, health="lost" if lost else "unknown"))
        if lost:
            note(
                device.bdf,
                "this is the GPU that NVML cannot reach; its facts from PCI are still valid",
            )
        elif _nvidia_gpu(device) and answer.driver is not None and answer.driver.failure is None:
            note(device.bdf, _explain_no_driver(device.driver))
        elif device.vendor in _FACTS_ELSEWHERE:
            note(device.bdf, _FACTS_ELSEWHERE[device.vendor])
    for gpu in by_address.values():
        note(
            str(gpu.bdf),
            "NVML names this GPU but /sys does not show it: its root and NUMA node are unknown",
        )
        gpus.append(gpu)
    return tuple(gpus)


def _memory_of_gpus(
    root: SysRoot, gpus: tuple[Gpu, ...], nodes: list[NumaNode]
) -> tuple[tuple[Gpu, ...], list[NumaNode]]:
    """Return the GPUs, each with the NUMA node of its memory, and the NUMA nodes, of which nodes
    with GPU memory are marked.
    """
    node_of_gpu = _memory_nodes(root)
    gpus = tuple(
        (
            replace(g, memory_numa_node=node_of_gpu[g.bdf])
            if g.bdf in node_of_gpu and g.memory_numa_node is None
            else g
        )
        for g in gpus
    )
    theirs = {*node_of_gpu.values(), *(g.memory_numa_node for g in gpus)}
    return gpus, [
        replace(n, memory_kind="gpu") if n.id in theirs and not n.cpus else n for n in nodes
    ]


def _memory_nodes(root: SysRoot) -> dict[str, int]:
    """Return the NUMA nodes of GPUs' memory according to NVIDIA's kernel module (POWER9; on Grace,
    NVML has it too).
    """
    base = "proc/driver/nvidia/gpus"
    node_of_gpu = {}
    for bdf in root.names(base):
        match = re.search(
            r"^Node:\s*(\d{1,6})\b", root.text(f"{base}/{bdf}/numa_status") or "", re.MULTILINE
        )
        if match:
            node_of_gpu[bdf] = int(match[1])
    return node_of_gpu


def _explain_no_driver(driver: str | None) -> str:
    if driver is None:
        return "no kernel driver is bound to this GPU: NVML does not list it"
    return (
        f"this GPU is bound to {driver}: NVML does not list it"
        if driver != "nvidia"
        else "NVML does not list this GPU"
    )


def _host(root: SysRoot) -> Host:
    kernel = root.text("proc/sys/kernel/osrelease") or _version(root.text("proc/version"))
    groups = root.exists("sys/kernel/iommu_groups")
    total = re.search(r"MemTotal:\s*(\d+) kB", root.text("proc/meminfo") or "")
    flags = re.search(r"^flags\s*:.*$", root.text("proc/cpuinfo") or "", re.MULTILINE)
    return Host(
        name=root.text("proc/sys/kernel/hostname") or root.text("etc/hostname"),
        kernel=kernel,
        architecture=_architecture(root),
        vendor=root.text("sys/class/dmi/id/sys_vendor") or None,
        product=root.text("sys/class/dmi/id/product_name") or None,
        virtual=" hypervisor" in flags[0] if flags else None,
        iommu=bool(root.names("sys/kernel/iommu_groups")) if groups else None,
        iommufd=root.exists("dev/iommu") if root.is_directory("dev") else None,
        module_aliases=_module_aliases(root, kernel),
        memory_bytes=int(total[1]) * 1024 if total else None,
        page_bytes=_page_bytes(root, x86=flags is not None),
    )


def _page_bytes(root: SysRoot, *, x86: bool) -> int | None:
    """Return the size of a memory page on x86, where it is always the same; no file contains it.
    x86 is the only architecture whose /proc/cpuinfo has a line ``flags``.
    """
    if root.live and sys.platform == "linux":
        return os.sysconf("SC_PAGE_SIZE")
    return 4096 if x86 else None


def _module_aliases(root: SysRoot, kernel: str | None) -> bool | None:
    shown = root.live or root.is_directory("lib/modules")
    return root.exists(f"lib/modules/{kernel}/modules.alias") if kernel and shown else None


def _version(text: str | None) -> str | None:
    parts = (text or "").split()
    return parts[2] if len(parts) > 2 else None


def _architecture(root: SysRoot) -> str | None:
    if root.live:
        return platform.machine() or None
    return root.text("proc/sys/kernel/arch")
