"""NVMe controllers with their namespaces, and the disks of other functions."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from dractl.probes.enumerate import Enumerator, Scanned
from dractl.probes.pci import function_of
from dractl.probes.root import SysRoot
from dractl.topology.machine import NvmeController, NvmeNamespace

_CONTROLLER = re.compile(r"nvme\d+")
_NAMESPACE = re.compile(r"(nvme\d+)(?:c\d+)?(n\d+)")


def disks(enumerator: Enumerator) -> dict[str, str]:
    """Return the PCI function of each block device that belongs to a function, by the name of the
    device. Partitions are left out.
    """
    listed = enumerator.devices("block")
    names = {f.name for f in listed}
    return {
        f.name: bdf
        for f in listed
        if (bdf := function_of(f.path)) and (f.path or "").split("/")[-2] not in names
    }


def nvme(root: SysRoot, enumerator: Enumerator) -> list[NvmeController]:
    """Return every NVMe controller by name. In trees without ``/sys/class/nvme``, controllers are
    visible only through their block devices.
    """
    block = {f.name: f for f in enumerator.devices("block")}
    uses = _uses(root, block.values())
    controllers = [f for f in enumerator.devices("nvme") if _CONTROLLER.fullmatch(f.name)]
    subsystems = _subsystems(root, enumerator)
    controllers_found = [
        _controller(root, f, subsystems.get(f.name), block, uses) for f in controllers
    ]
    listed_namespaces = {ns.name for c in controllers_found for ns in c.namespaces}
    orphans: dict[str, list[Scanned]] = {}
    for f in block.values():
        match = _NAMESPACE.fullmatch(f.name)
        if match and f.name not in listed_namespaces and f.path and "/virtual/" not in f"/{f.path}":
            orphans.setdefault(match[1], []).append(f)
    for name, devices in orphans.items():
        if all(c.name != name for c in controllers_found):
            spaces = tuple(_namespace(root, f, uses) for f in devices)
            controllers_found.append(
                NvmeController(name=name, bdf=function_of(devices[0].path), namespaces=spaces)
            )
    return sorted(controllers_found, key=lambda c: (len(c.name), c.name))


def _controller(
    root: SysRoot,
    scanned: Scanned,
    subsystem: str | None,
    block: dict[str, Scanned],
    uses: dict[str, _Use],
) -> NvmeController:
    base = f"sys/devices/{scanned.path}" if scanned.path else f"sys/class/nvme/{scanned.name}"
    spaces = []
    for entry in root.names(base):
        match = _NAMESPACE.fullmatch(entry)
        if match is None:
            continue
        # With native multipath, the controller has hidden path devices (nvme0c1n1), and the disk
        # belongs to the subsystem (nvme0n1).
        disk = block.get(match[1] + match[2])
        if disk is not None:
            spaces.append(_namespace(root, disk, uses))
    return NvmeController(
        name=scanned.name,
        bdf=function_of(scanned.path),
        transport=root.text(f"{base}/transport"),
        model=root.text(f"{base}/model"),
        firmware=root.text(f"{base}/firmware_rev"),
        subsystem=subsystem,
        namespaces=tuple(spaces),
        serial=root.text(f"{base}/serial"),
    )


def _subsystems(root: SysRoot, enumerator: Enumerator) -> dict[str, str]:
    return {
        name: subsystem.name
        for subsystem in enumerator.devices("nvme-subsystem")
        for name in root.names(
            f"sys/devices/{subsystem.path}"
            if subsystem.path
            else f"sys/class/nvme-subsystem/{subsystem.name}"
        )
        if _CONTROLLER.fullmatch(name)
    }


def _namespace(root: SysRoot, scanned: Scanned, uses: dict[str, _Use]) -> NvmeNamespace:
    # Always in units of 512 bytes, independent of the block size
    sectors = root.integer(f"sys/devices/{scanned.path}/size")
    size, use = None if sectors is None else sectors * 512, uses.get(scanned.name)
    if use is None:
        return NvmeNamespace(scanned.name, size)
    return NvmeNamespace(scanned.name, size, use.mounted or bool(use.held), use.mounted, use.held)


class _Use(Struct, frozen=True):
    mounted: bool
    held: tuple[str, ...]


def _uses(root: SysRoot, block: Iterable[Scanned]) -> dict[str, _Use]:
    """Return for each disk whether the disk or one of its partitions is mounted, and which of them
    another device uses (LVM, RAID). The result is empty if this is unknown.
    """
    # If the /proc of a host is mounted, self has the reader's own mounts; process 1 has the host's.
    shared = not root.live and root.exists("proc/1")
    text = (
        root.text("proc/1/mounts")
        if shared
        else root.text("proc/self/mounts") or root.text("proc/mounts")
    )
    if text is None:
        return {}
    sources = {
        line.split(" ", 1)[0].rpartition("/")[2]
        for line in text.splitlines()
        if line.startswith("/dev/")
    }
    result: dict[str, _Use] = {}
    for disk in block:
        base = f"sys/devices/{disk.path}"
        parts = [name for name in root.names(base) if name.startswith(disk.name)]
        held = [disk.name] if root.names(f"{base}/holders") else []
        held += [part for part in parts if root.names(f"{base}/{part}/holders")]
        result[disk.name] = _Use(not sources.isdisjoint({disk.name, *parts}), tuple(held))
    return result
