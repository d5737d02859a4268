"""The devices that the kernel lists in a subsystem, read from sysfs or through libudev."""

import posixpath
from typing import Protocol

from msgspec import Struct

from dractl.probes.root import SysRoot


class Scanned(Struct, frozen=True):
    """A device in a subsystem."""

    name: str
    """The kernel's name."""
    path: str | None
    """The place below ``/sys/devices``; None if the tree does not show it."""


class Enumerator(Protocol):
    """Lists a subsystem's devices, sorted by name."""

    def devices(self, subsystem: str) -> list[Scanned]:
        """Return the devices of ``pci``, ``net``, ``infiniband``, ``block``,
        ``nvme``, ``drm`` ...
        """


class SysfsWalker:
    """Reads ``/sys/bus/<subsystem>/devices``, ``/sys/class/<subsystem>`` and ``/sys/block``, which
    is older than its class.
    """

    def __init__(self, root: SysRoot) -> None:
        self._root = root

    def devices(self, subsystem: str) -> list[Scanned]:
        by_name: dict[str, Scanned] = {}
        for directory in (
            f"sys/bus/{subsystem}/devices",
            f"sys/class/{subsystem}",
            f"sys/{subsystem}",
        ):
            for name in self._root.names(directory):
                path = f"{directory}/{name}"
                if name not in by_name and self._root.link(path) is not None:
                    by_name[name] = Scanned(name, self._place(path))
                elif name not in by_name and self._root.is_directory(path):
                    # Archives can contain directories in place of links: then the facts are
                    # available, but the place is not.
                    by_name[name] = Scanned(name, None)
        return [by_name[name] for name in sorted(by_name)]

    def _place(self, path: str) -> str | None:
        real = self._root.real(path)
        if real is None:
            # An archive may lack the target, but the text of the link contains the location, and
            # upstream reads nothing else.
            real = posixpath.normpath(
                posixpath.join(posixpath.dirname(path), self._root.link(path) or "")
            )
        return real.removeprefix("sys/devices/") if real.startswith("sys/devices/") else None
