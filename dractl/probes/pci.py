"""PCI functions: their place, their kind, and the speed of their link."""

import re
from collections import Counter
from collections.abc import Callable, Iterable

from dractl.probes import classes
from dractl.probes.enumerate import Enumerator
from dractl.probes.root import SysRoot
from dractl.topology import cpulist
from dractl.topology.machine import BDF, PciDevice, PcieRoot, SrIov
from dractl.topology.standard_attributes import pcie_root_fault

_HOST_BRIDGE = re.compile(r"^pci[0-9a-f]{4,8}:[0-9a-f]{2}$")
_VFIO = re.compile(r"^vfio\d+$")
_SPEED = re.compile(r"^(\d+(?:\.\d+)?) ?GT/s")
_MEMORY_BAR = 0x200  # IORESOURCE_MEM
_TYPE_MASK, _TYPE_64 = 0x6, 0x4  # PCI_BASE_ADDRESS_MEM_TYPE_MASK, _64


def function_of(path: str | None) -> str | None:
    """Return the PCI function that a device below ``/sys/devices`` belongs to: the last address in
    its path.
    """
    return next((part for part in reversed((path or "").split("/")) if BDF.match(part)), None)


def place(path: str) -> tuple[str | None, tuple[str, ...]]:
    """Return the PCIe root and the bridges of a function's path. If there are several roots, the
    last one counts: VMD and Hyper-V nest a root in another device.
    """
    parts = path.split("/")
    roots = [i for i, part in enumerate(parts) if _HOST_BRIDGE.match(part)]
    if not roots:
        return None, ()
    return parts[roots[-1]], tuple(part for part in parts[roots[-1] + 1 : -1] if BDF.match(part))


def probe(
    root: SysRoot, enumerator: Enumerator, note: Callable[[str, str], None]
) -> list[PciDevice]:
    """Return every PCI function that the kernel lists, by address."""
    paths = {f.name: f.path for f in enumerator.devices("pci") if BDF.match(f.name)}
    if not paths:
        note("pci", _explain_no_functions(root))
    # Some archives list a function but not the bridge above it, although they contain the directory
    # of the bridge.
    for path in list(paths.values()):
        parts = (path or "").split("/")
        for i, part in enumerate(parts[:-1]):
            if (
                part not in paths
                and BDF.match(part)
                and root.exists("/".join(["sys/devices", *parts[: i + 1], "class"]))
            ):
                paths[part] = "/".join(parts[: i + 1])
    devices = [_device(root, bdf, path) for bdf, path in paths.items()]
    for device in devices:
        if not device.path:
            note(
                device.bdf,
                "the tree does not show this function's place: its root and bridges are unknown",
            )
    return sorted(devices, key=lambda d: address(d.bdf))


def address(bdf: str) -> tuple[int, ...]:
    """Return a function's address as numbers, to sort by."""
    domain, bus, device_and_function = bdf.split(":")
    device, function = device_and_function.split(".")
    return int(domain, 16), int(bus, 16), int(device, 16), int(function, 16)


_PLAIN_ROOT = re.compile(r"^pci[0-9a-f]{4}:[0-9a-f]{2}$")


def roots(root: SysRoot) -> tuple[PcieRoot, ...]:
    """Return the PCIe roots directly below ``/sys/devices`` with the CPUs near them, roots without
    functions included.
    """
    bus_roots = []
    for name in sorted(n for n in root.names("sys/devices") if _PLAIN_ROOT.match(n)):
        base = f"sys/devices/{name}/pci_bus/{name[3:]}"
        # Only the list is read, not the mask in cpuaffinity, which dra.cpu does not read either.
        bus_roots.append(PcieRoot(name, _cpus_of_bus(root.text(f"{base}/cpulistaffinity"), None)))
    return tuple(bus_roots)


def _cpus_of_bus(cpus: str | None, mask: str | None) -> str | None:
    """Return CPUs as a list, from a list file or, on kernels too old for one, from a mask; None if
    neither can be read.
    """
    try:
        if cpus:
            return cpulist.show(cpulist.parse(cpus))
        return (
            None if mask is None and cpus is None else cpulist.show(cpulist.parse_mask(mask or ""))
        )
    except ValueError:
        return None


def _explain_no_functions(root: SysRoot) -> str:
    if not root.exists("sys/bus/pci"):
        return (
            "there is no /sys/bus/pci: this machine has no PCI bus, or its /sys is not shown here"
        )
    return (
        "/sys/bus/pci/devices is empty: this machine has no PCI functions (virtio-mmio VMs and"
        " gVisor have none)"
    )


def _device(root: SysRoot, bdf: str, path: str | None) -> PciDevice:
    base = f"sys/devices/{path}" if path else f"sys/bus/pci/devices/{bdf}"
    code, vendor, device = (_hex(root, f"{base}/{name}", digits) for name, digits in _IDS)
    numa = root.integer(f"{base}/numa_node")
    driver = root.link(f"{base}/driver")
    group = root.link(f"{base}/iommu_group")
    pcie_root, bridges = place(path or "")
    kind = classes.kind(code, vendor, device)
    bars = _bars(root.text(f"{base}/resource")) if kind in ("gpu", "accelerator") else []
    return PciDevice(
        bdf=bdf,
        path=path or "",
        class_code=code,
        vendor=vendor,
        device=device,
        subsystem_vendor=_hex(root, f"{base}/subsystem_vendor", 4),
        subsystem_device=_hex(root, f"{base}/subsystem_device", 4),
        revision=_hex(root, f"{base}/revision", 2),
        driver=driver.rpartition("/")[2] if driver else None,
        kind=kind,
        pcie_root=pcie_root,
        bridges=bridges,
        numa_node=numa if numa is not None and numa >= 0 else None,
        local_cpus=_cpus_of_bus(root.text(f"{base}/local_cpulist"), root.text(f"{base}/local_cpus"))
        or None,
        link_speed=_speed(root.text(f"{base}/current_link_speed")),
        link_width=_width(root.integer(f"{base}/current_link_width")),
        max_link_speed=_speed(root.text(f"{base}/max_link_speed")),
        max_link_width=_width(root.integer(f"{base}/max_link_width")),
        sriov=_sriov(root, base, bdf),
        vfio=tuple(sorted(n for n in root.names(f"{base}/vfio-dev") if _VFIO.match(n))),
        iommu_group=(
            int(number) if group and (number := group.rpartition("/")[2]).isdecimal() else None
        ),
        bars=tuple(size for size, _ in bars),
        bars_64bit=tuple(size for size, wide in bars if wide),
        qat_services=root.text(f"{base}/qat/cfg_services"),
    )


_IDS = (("class", 6), ("vendor", 4), ("device", 4))


def _hex(root: SysRoot, path: str, digits: int) -> str | None:
    number = root.integer(path, 16)
    return None if number is None or number < 0 else f"0x{number:0{digits}x}"


def _speed(text: str | None) -> float | None:
    match = _SPEED.match(text or "")
    return float(match[1]) if match else None


def _width(lanes: int | None) -> int | None:
    return lanes if lanes and lanes < 64 else None  # 0 and 255 mean "unknown" in the kernel


def _sriov(root: SysRoot, base: str, bdf: str) -> SrIov | None:
    physical = root.link(f"{base}/physfn")
    if physical:
        parent = physical.rpartition("/")[2]
        return SrIov(physical_function=parent, vf_index=_vf_index(root, f"{base}/physfn", bdf))
    total = root.integer(f"{base}/sriov_totalvfs")
    if total is None:
        return None
    autoprobe = root.integer(f"{base}/sriov_drivers_autoprobe")
    return SrIov(
        total_vfs=total,
        num_vfs=root.integer(f"{base}/sriov_numvfs"),
        drivers_autoprobe=None if autoprobe is None else bool(autoprobe),
    )


def _vf_index(root: SysRoot, physical: str, bdf: str) -> int | None:
    for name in root.names(physical):
        if (
            name.startswith("virtfn")
            and (root.link(f"{physical}/{name}") or "").rpartition("/")[2] == bdf
        ):
            return int(name[6:]) if name[6:].isdecimal() else None
    return None


def _bars(text: str | None) -> list[tuple[int, bool]]:
    """Return the sizes of the memory regions among the first six lines of ``resource`` (the other
    lines are the ROM and bridge windows), and whether they have 64-bit addresses.
    """
    sizes = []
    for line in (text or "").splitlines()[:6]:
        try:
            start, end, flags = (int(part, 16) for part in line.split())
        except ValueError:
            continue
        if flags & _MEMORY_BAR and end > start:
            sizes.append((end - start + 1, flags & _TYPE_MASK == _TYPE_64))
    return sizes


def note_unknown_numa(
    devices: Iterable[PciDevice], nodes: int, note: Callable[[str, str], None]
) -> None:
    """Add a note for each root whose functions have no NUMA node although the host has several
    nodes.
    """
    if nodes <= 1:
        return
    roots = Counter(
        d.pcie_root for d in devices if d.numa_node is None and d.pcie_root and _publishable(d)
    )
    for name, count in sorted(roots.items()):
        functions = "function has" if count == 1 else "functions have"
        note(
            str(name),
            f"{count} {functions} no NUMA node (numa_node is -1): the firmware gives no proximity"
            " domain; a BIOS update or setting may add it, until then drivers publish them without"
            " resource.kubernetes.io/numaNode",
        )


def _publishable(device: PciDevice) -> bool:
    return device.kind not in ("bridge", "other")


def note_unpublishable(devices: Iterable[PciDevice], note: Callable[[str, str], None]) -> None:
    """Add a note for each root whose functions drivers publish without ``pcieRoot``."""
    why: dict[str, str] = {}
    for device in devices:
        reason = pcie_root_fault(device)
        if reason and device.pcie_root and _publishable(device):
            why.setdefault(device.pcie_root, reason)
    for name, reason in sorted(why.items()):
        note(name, f"drivers publish its devices without resource.kubernetes.io/pcieRoot: {reason}")
