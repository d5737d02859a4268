"""Options that select a machine, and the function that reads it."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec.structs import replace
from typer import Option

from dractl.cli.headings import INPUT, OptionGroup
from dractl.errors import InputError, UsageError
from dractl.topology.machine import Machine

if TYPE_CHECKING:
    from dractl.drivers.rendering import Rendering
    from dractl.model import Target

SysfsRoot = Annotated[
    Path | None,
    Option(
        "--sysfs-root",
        "--root",
        metavar="DIR",
        help=(
            "Read a directory with sys/, proc/ and etc/ (such as a mounted host) instead of this"
            " machine."
        ),
    ),
]
From = Annotated[
    Path | None,
    Option(
        "--from",
        metavar="FILE",
        help=(
            "Read a snapshot written by --save, or an archive of /sys and /proc (.tar,"
            " .tar.gz/bz2/xz, .zip)."
        ),
    ),
]


class MachineSource(OptionGroup, frozen=True):
    """The machine that is read, by default the one that dractl runs on."""

    heading: ClassVar[str] = INPUT

    sysfs_root: SysfsRoot = None
    snapshot: From = None

    @property
    def is_this_machine(self) -> bool:
        """Return True if no option names a machine."""
        return self.sysfs_root is None and self.snapshot is None

    def read(self) -> Machine:
        """Read the machine. Raises UsageError and InputError."""
        return read_node(self.sysfs_root, self.snapshot)


def read_node(sysfs_root: Path | None, snapshot: Path | None) -> Machine:
    """Read the machine that the options select; by default this machine.

    Raises UsageError if both a root and a snapshot are given, InputError if the machine cannot be
    read.
    """
    from dractl import probes

    if sysfs_root is not None and snapshot is not None:
        raise UsageError("--root and --from both name a machine: give only one of them")
    if sysfs_root is not None and not os.path.isdir(sysfs_root):
        raise InputError(
            "is not a directory" if os.path.exists(sysfs_root) else "no such directory",
            place=str(sysfs_root),
            hint=(
                "read an archive or a snapshot with --from" if os.path.exists(sysfs_root) else None
            ),
        )
    database = os.environ.get("PCIDB_PATH")
    return probes.read(sysfs_root or snapshot, pci_ids=Path(database) if database else None)


def describe_machine(spec: str) -> Machine:
    """Return the machine that a line of ``--hardware`` describes."""
    from dractl.machines import machine

    described = machine(spec)
    return replace(described, host=replace(described.host, name=described.host.name or "node-1"))


def render_machine(machine: Machine, target: "Target") -> "Rendering":
    """Render the devices that the current releases of the drivers would publish for the machine."""
    from dractl.drivers import Options, render

    return render(machine, Options(machine.host.name or "node-1", target), device_classes=True)
