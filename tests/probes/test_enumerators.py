"""Which enumerator answers, and what is said where libudev cannot."""

from __future__ import annotations

import builtins
import sys
from typing import TYPE_CHECKING, Any

from dractl.probes import udev
from dractl.probes.enumerate import Scanned, SysfsWalker
from dractl.probes.probe import _enumerator
from dractl.probes.root import DirectoryTree, MemoryTree, SysRoot
from tests import sysfs_trees

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_without_pyudev_the_walker_answers_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        if name == "pyudev":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    monkeypatch.setattr(sys, "platform", "linux")
    notes: dict[str, str] = {}
    assert isinstance(_enumerator(SysRoot.for_this_machine(), notes.__setitem__), SysfsWalker)
    assert "pyudev is not installed" in notes["udev"]


def test_another_system_than_linux_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    notes: dict[str, str] = {}
    assert isinstance(_enumerator(SysRoot.for_this_machine(), notes.__setitem__), SysfsWalker)
    assert "darwin, not Linux" in notes["host"]


def test_a_tree_is_never_read_through_libudev() -> None:
    notes: dict[str, str] = {}
    root = SysRoot(MemoryTree({}), name="archive")
    assert isinstance(_enumerator(root, notes.__setitem__), SysfsWalker)
    assert notes == {}


def test_where_libudev_lists_nothing_the_walker_answers_with_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a directory that is mounted over /sys: libudev reads sysfs alone."""

    class Silent:
        def devices(self, subsystem: str) -> list[Scanned]:
            return []

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(udev, "open_udev", lambda note: Silent())
    tree = DirectoryTree(str(sysfs_trees.build(sysfs_trees.describe("vmd"), tmp_path)))
    notes: dict[str, str] = {}
    assert isinstance(
        _enumerator(SysRoot(tree, name="test", live=True), notes.__setitem__), SysfsWalker
    )
    assert notes["udev"].startswith(
        "libudev lists no PCI functions although /sys/bus/pci/devices has some"
    )
