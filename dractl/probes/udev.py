"""The enumerator of a live Linux host: libudev, through pyudev."""

import ctypes
from collections.abc import Callable
from typing import Any

from dractl.probes.enumerate import Scanned
from dractl.probes.root import CONTROL


class UdevEnumerator:
    """Lists devices through libudev, under the same names as sysfs; it always reads ``/sys``."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def devices(self, subsystem: str) -> list[Scanned]:
        by_name: dict[str, Scanned] = {}
        for device in self._context.list_devices(subsystem=subsystem):
            if device.subsystem == subsystem and not CONTROL.search(device.device_path):
                place = device.device_path.removeprefix("/devices/")
                by_name[device.sys_name] = Scanned(
                    device.sys_name, place if place != device.device_path else None
                )
        return [by_name[name] for name in sorted(by_name)]


def open_udev(note: Callable[[str, str], None]) -> UdevEnumerator | None:
    """Return libudev's enumerator, or None (with a note) if pyudev or libudev is missing."""
    try:
        import pyudev
    except ImportError:
        note("udev", "the package pyudev is not installed: /sys was read directly")
        return None
    try:
        # pyudev calls ctypes.util.find_library, which starts a compiler if ldconfig does not list
        # the library.
        ctypes.CDLL("libudev.so.1")
        return UdevEnumerator(pyudev.Context())
    except (ImportError, OSError) as error:
        note(
            "udev",
            f"libudev cannot be loaded ({error}): /sys was read directly; on Debian it is in the"
            " package libudev1",
        )
        return None
