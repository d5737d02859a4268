"""The devices that the kernel lists in a subsystem, read from sysfs or through libudev."""

import posixpath
from typing import Protocol

from msgspec import Struct

from dractl.probes.root import SysRoot


class Scanned(Struct, frozen=True):
    """A device: its kernel name and its place below ``/sys/devices``, or None if the tree does not show it."""

    name: str
    path: str | None


class Enumerator(Protocol):
    """Lists a subsystem's devices, sorted by name."""

    def devices(self, subsystem: str) -> list[Scanned]:
        """The devices of ``pci``, ``net``, ``infiniband``, ``block``, ``nvme``, ``drm`` ..."""


class SysfsWalker:
    """Reads ``/sys/bus/<subsystem>/devices``, ``/sys/class/<subsystem>`` and ``/sys/block``, which is older than its
    class.
    """

    def __init__(self, root: SysRoot) -> None:
        self._root = root

    def devices(self, subsystem: str) -> list[Scanned]:
        found: dict[str, Scanned] = {}
        for directory in (
            f"sys/bus/{subsystem}/devices",
            f"sys/class/{subsystem}",
            f"sys/{subsystem}",
        ):
            for name in self._root.names(directory):
                path = f"{directory}/{name}"
                if name not in found and self._root.link(path) is not None:
                    found[name] = Scanned(name, self._place(path))
                elif name not in found and self._root.is_directory(path):
                    # Archives can have directories in place of links: the facts are there, the place is not.
                    found[name] = Scanned(name, None)
        return [found[name] for name in sorted(found)]

    def _place(self, path: str) -> str | None:
        real = self._root.real(path)
        if real is None:
            # An archive may lack the target; the link still contains its location, and upstream reads no
            # more than that.
            real = posixpath.normpath(
                posixpath.join(posixpath.dirname(path), self._root.link(path) or "")
            )
        return real.removeprefix("sys/devices/") if real.startswith("sys/devices/") else None
