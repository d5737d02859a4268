"""Probes: each turns one source of facts about a node (sysfs, libudev, netlink, NVML) into facts of
a Machine.
"""

import os
from pathlib import Path

from dractl.probes.probe import probe
from dractl.probes.root import MemoryTree, SysRoot
from dractl.topology import snapshot
from dractl.topology.machine import Machine

__all__ = ["SysRoot", "probe", "read"]


def read(path: Path | None = None, *, pci_ids: Path | None = None) -> Machine:
    """Return the machine at ``path``: a snapshot, an archive, or a directory with ``sys/``; without
    a path, this machine.

    Raises InputError if the path is none of these. ``pci_ids`` is the path of a pci.ids that
    replaces the system's.
    """
    if path is None:
        return probe(SysRoot.for_this_machine(), pci_ids=pci_ids)
    if os.path.isdir(path):  # False, too, if the name is too long
        return probe(SysRoot.for_directory(path), pci_ids=pci_ids)
    contents = snapshot.load(path)
    if isinstance(contents, dict):
        return probe(SysRoot(MemoryTree(contents), name=str(path)), pci_ids=pci_ids)
    return contents
