"""Options that name a node other than this machine, and reading it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dractl.errors import UsageError

if TYPE_CHECKING:
    from dractl.topology.machine import Machine

SysfsRoot = Annotated[
    Path | None,
    typer.Option(
        "--sysfs-root",
        "--root",
        metavar="DIR",
        help="Read a tree with sys/, proc/, etc/ (a mounted host) instead of this machine.",
    ),
]
From = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="FILE",
        help="Read a snapshot of --save, or a gathered archive (.tar, .tar.gz, .tar.bz2, .tar.xz, .zip).",
    ),
]


def read_node(sysfs_root: Path | None, snapshot: Path | None) -> Machine:
    """The machine that the options name; this one without any."""
    from dractl import probes
    from dractl.errors import InputError

    if sysfs_root is not None and snapshot is not None:
        raise UsageError("--sysfs-root and --from both name a machine: give one of them")
    if sysfs_root is not None and not sysfs_root.is_dir():
        raise InputError(
            "this is not a directory" if sysfs_root.exists() else "no such directory",
            place=str(sysfs_root),
            hint="an archive or a snapshot is read with --from" if sysfs_root.exists() else None,
        )
    database = os.environ.get("PCIDB_PATH")
    return probes.read(sysfs_root or snapshot, pci_ids=Path(database) if database else None)
