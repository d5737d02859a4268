"""The options that select a machine to read, and reading it."""

import os
from pathlib import Path
from typing import Annotated

from typer import Option

from dractl.cli.headings import INPUT
from dractl.errors import InputError, UsageError
from dractl.topology.machine import Machine

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
        rich_help_panel=INPUT,
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
        rich_help_panel=INPUT,
    ),
]


def read_node(sysfs_root: Path | None, snapshot: Path | None) -> Machine:
    """Read the machine that the options select; by default this machine.

    Raises UsageError if both are given, InputError if the machine cannot be read.
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
