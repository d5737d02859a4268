"""Words and lines that the views of a Machine share: how a device, a link, a node is put."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.report.canvas import size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dractl.drivers.view import View
    from dractl.report.canvas import Canvas
    from dractl.topology.machine import Gpu, Machine, NumaNode, PciDevice

STYLES = {"gpu": "32", "accelerator": "32", "nic": "36", "rdma": "36", "nvme": "33", "bridge": "2", "other": ""}
_SMT = {"notsupported": "not supported", "notimplemented": "not implemented", "forceoff": "forced off"}
LABELS = {"gpu": "GPU", "accelerator": "ACC", "nic": "NIC", "rdma": "NIC", "nvme": "NVME"}


def labels(machine: Machine, devices: Iterable[PciDevice]) -> dict[str, str]:
    """GPU0, NIC0, NVME0 ... by address. GPUs carry NVML's index where there is one, as nvidia-smi numbers them."""
    indices = {g.bdf: g.index for g in machine.gpus}
    devices = list(devices)
    nvml = all(indices.get(d.bdf) is not None for d in devices if d.kind == "gpu")
    counts: dict[str, int] = {}
    found: dict[str, str] = {}
    for device in devices:
        word = LABELS[device.kind]
        number = counts.get(word, 0)
        counts[word] = number + 1
        if nvml and device.kind == "gpu":
            number = indices[device.bdf] or 0
        found[device.bdf] = f"{word}{number}"
    return found


def description(device: PciDevice, gpu: Gpu | None) -> str:
    """What the device is: its product, and for a GPU what NVML adds."""
    parts = [gpu.name if gpu is not None and gpu.name else product(device)]
    if gpu is not None:
        if gpu.memory_bytes is not None:
            parts.append(size(gpu.memory_bytes))
        if gpu.mig_mode:
            parts.append(f"MIG on, {_plural(len(gpu.mig_devices), 'device')}")
        if gpu.amd is not None and gpu.amd.compute_partition not in (None, "spx"):
            parts.append(f"{gpu.amd.compute_partition}/{gpu.amd.memory_partition}")
        if gpu.health in ("lost", "reset-required"):
            parts.append(gpu.health.upper())
    return ", ".join(parts)


def is_nvswitch(device: PciDevice) -> bool:
    """Whether the function is an NVSwitch: NVIDIA's only function of the class "other bridge"."""
    return device.vendor == "0x10de" and (device.class_code or "").startswith("0x0680")


def product(device: PciDevice) -> str:
    """Vendor and device, by name where pci.ids has one, else by number."""
    if is_nvswitch(device):
        return device.device_name or "NVIDIA NVSwitch"
    vendor = device.vendor_name
    if vendor and device.device_name:
        return f"{short_vendor(vendor)} {_marketed(device.device_name)}"
    number = f"[{(device.vendor or '?')[2:]}:{(device.device or '?')[2:]}]"
    kind = device.class_name or (f"class {device.class_code}" if device.class_code else "function")
    return f"{short_vendor(vendor)} {kind} {number}" if vendor else f"{kind} {number}"


def _marketed(name: str) -> str:
    """pci.ids has a chip's own name first and in brackets the one it is sold by: ``MT2910 Family [ConnectX-7]``."""
    chip, bracket, sold = name.partition("[")
    return sold[:-1] if bracket and sold.endswith("]") and chip.strip() else name


def short_vendor(name: str) -> str:
    """A vendor as people call it: AMD/ATI for ``Advanced Micro Devices, Inc. [AMD/ATI]``."""
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
    """The PCIe link as ``x16 32 GT/s``; ``x8/16 32 GT/s`` and true where the function could do more than it does."""
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


def node_line(node: NumaNode) -> str:
    """A NUMA node's CPUs and memory in words."""
    parts = [f"CPUs {node.cpus}" if node.cpus else "no CPUs"]
    if node.memory_bytes is None:
        parts.append("memory unknown")
    elif node.memory_bytes == 0:
        parts.append("no memory")
    else:
        owner = {"gpu": " of a GPU", "cpuless": " of CXL, HBM or persistent memory"}
        parts.append(size(node.memory_bytes) + owner.get(node.memory_kind or "", ""))
    parts += [f"{h.total} huge pages of {size(h.size_bytes)}" for h in node.huge_pages if h.total]
    return " · ".join(parts)


def host_lines(machine: Machine) -> list[str]:
    """The host in one or two lines."""
    host, cpus = machine.host, machine.cpus
    threads = sum(_count(p.cpus) for p in cpus.packages)
    first = [p for p in (host.name, _product(machine), cpus.model) if p]
    if cpus.packages:
        counted = (
            f"{_plural(len(cpus.packages), 'socket')}, {_plural(len(cpus.cores), 'core')}, {_plural(threads, 'thread')}"
        )
        kinds = {c.type for c in cpus.cores}
        if "e-core" in kinds:
            slow = sum(c.type == "e-core" for c in cpus.cores)
            counted += f" ({len(cpus.cores) - slow} P, {slow} E)"
        first.append(counted)
    second = []
    if host.memory_bytes is not None:
        second.append(size(host.memory_bytes))
    if cpus.l3:
        second.append(f"{_plural(len(cpus.l3), 'L3 cache')}")
    if cpus.smt is not None:
        second.append("SMT on" if cpus.smt else f"SMT {_SMT.get(str(cpus.smt_control), cpus.smt_control)}")
    if host.kernel:
        second.append(f"Linux {host.kernel}" + (f" {host.architecture}" if host.architecture else ""))
    if host.virtual:
        second.append("virtual machine")
    if host.iommu is not None:
        second.append("IOMMU on" if host.iommu else "IOMMU off")
    if machine.nvidia and machine.nvidia.driver_version:
        cuda = f", CUDA {machine.nvidia.cuda_driver_version}" if machine.nvidia.cuda_driver_version else ""
        second.append(f"NVIDIA driver {machine.nvidia.driver_version}{cuda}")
    return [" · ".join(line) for line in (first, second) if line]


def _product(machine: Machine) -> str:
    host = machine.host
    if not host.product:
        return ""
    return host.product if not host.vendor or host.product.startswith(host.vendor) else f"{host.vendor} {host.product}"


def _plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _count(cpus: str) -> int:
    from dractl.topology import cpulist

    return len(cpulist.parse(cpus))


def wrap(text: str, width: int, indent: str) -> list[str]:
    """``text`` in lines of at most ``width`` columns; the second and later ones indented."""
    import textwrap

    return textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False) or [""]


def dra_places(view: View) -> list[tuple[str, list[tuple[str, list[str]]]]]:
    """Names of published devices by place (PCIe root, or none) and driver."""
    places: dict[str, dict[str, list[str]]] = {}
    for device in view.devices:
        place = places.setdefault(device.root or "without pcieRoot", {})
        place.setdefault(device.driver, []).append(device.name)
    ordered = sorted(places.items(), key=lambda item: (not item[0].startswith("pci"), item[0]))
    return [(place, list(drivers.items())) for place, drivers in ordered]


def dra_drivers(view: View) -> str:
    """The drivers and the versions that the view is of."""
    return ", ".join(f"{name} {version}" for name, version in view.drivers.items())
