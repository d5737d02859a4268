"""Which enumerator answers, and what is said where libudev cannot."""

from __future__ import annotations

import builtins
import sys
from typing import TYPE_CHECKING, Any

from dractl.probes.enumerate import SysfsWalker
from dractl.probes.probe import _enumerator
from dractl.probes.root import MemoryTree, SysRoot

if TYPE_CHECKING:
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
    assert isinstance(_enumerator(SysRoot.this_machine(), notes.__setitem__), SysfsWalker)
    assert "pyudev is not installed" in notes["udev"]


def test_another_system_than_linux_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    notes: dict[str, str] = {}
    assert isinstance(_enumerator(SysRoot.this_machine(), notes.__setitem__), SysfsWalker)
    assert "darwin, not Linux" in notes["host"]


def test_a_tree_is_never_read_through_libudev() -> None:
    notes: dict[str, str] = {}
    root = SysRoot(MemoryTree({}), name="archive")
    assert isinstance(_enumerator(root, notes.__setitem__), SysfsWalker)
    assert notes == {}
