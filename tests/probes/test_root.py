"""The view of a tree never leaves it and always ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl.errors import InputError
from dractl.probes.root import MAX_FILE, MemoryTree, SysRoot

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> tuple[SysRoot, Path]:
    top = tmp_path / "node"
    (top / "sys/devices").mkdir(parents=True)
    (top / "proc").mkdir()
    (tmp_path / "secret").write_text("outside")
    return SysRoot.for_directory(top), top


def test_links_stay_inside(root: tuple[SysRoot, Path], tmp_path: Path) -> None:
    view, top = root
    (top / "sys/absolute").symlink_to(tmp_path / "secret")
    (top / "sys/relative").symlink_to("../../secret")
    (top / "sys/host").symlink_to("/proc/version")
    (top / "proc/version").write_text("this tree's")
    assert view.text("sys/absolute") is None
    assert view.text("sys/relative") is None
    assert view.text("sys/host") == "this tree's"  # an absolute target is the tree's own


def test_links_in_circles_end(root: tuple[SysRoot, Path]) -> None:
    view, top = root
    (top / "sys/a").symlink_to("b")
    (top / "sys/b").symlink_to("a")
    (top / "sys/self").symlink_to("self/self")
    assert view.real("sys/a") is None
    assert view.real("sys/self/x") is None
    assert view.names("sys/a") == []


def test_nothing_speaks_to_the_terminal(root: tuple[SysRoot, Path]) -> None:
    view, top = root
    (top / "sys/alias").write_text("a\x1b]0;title\x07b\x9b1m", encoding="utf-8")
    (top / "sys/devices/e\x1b[2J").mkdir()
    (top / "sys/driver").symlink_to("drivers/x\x1b[2J")
    assert view.text("sys/alias") == "a?]0;title?b?1m"
    assert view.names("sys/devices") == []
    assert view.link("sys/driver") is None


def test_winding_and_deep_links_end(root: tuple[SysRoot, Path]) -> None:
    view, top = root
    (top / "sys/deep").symlink_to("a/" * 2000)
    for i in range(60):
        (top / f"sys/l{i}").symlink_to(f"l{i + 1}/" + "./x/../" * 12)
    assert view.real("sys/deep") is None
    assert view.real("sys/l0") is None
    assert view.real("sys/" + "x/" * 5000) is None


def test_links_of_directories_are_followed_in_the_middle_of_a_path(
    root: tuple[SysRoot, Path],
) -> None:
    view, top = root
    (top / "sys/devices/card").mkdir()
    (top / "sys/devices/card/vendor").write_text("0x10de\n")
    (top / "sys/class").mkdir()
    (top / "sys/class/card0").symlink_to("../devices/card")
    assert view.text("sys/class/card0/vendor") == "0x10de"
    assert view.real("sys/class/card0/../../devices") == "sys/devices"
    assert view.link("sys/class/card0") == "../devices/card"


def test_hostile_files(root: tuple[SysRoot, Path]) -> None:
    import os

    view, top = root
    (top / "sys/huge").write_bytes(b"7" * (MAX_FILE + 1000))
    (top / "sys/binary").write_bytes(b"\xff\xfe\x00")
    os.mkfifo(top / "sys/pipe")
    assert len(view.text("sys/huge") or "") == MAX_FILE
    assert view.integer("sys/huge") is None
    assert view.integer("sys/binary") is None
    assert view.text("sys/pipe") is None  # nobody waits for a pipe's other end
    assert view.text("sys/devices") is None


def test_memory_and_directory_show_the_same(root: tuple[SysRoot, Path]) -> None:
    memory = SysRoot(
        MemoryTree(
            {
                "sys/devices/card/vendor": b"0x10de\n",
                "sys/class/card0": "../devices/card",
                "sys/empty": None,
            }
        ),
        name="archive",
    )
    assert memory.names("sys") == ["class", "devices", "empty"]
    assert memory.text("sys/class/card0/vendor") == "0x10de"
    assert memory.is_directory("sys/empty")
    assert memory.names("sys/empty") == []


@pytest.mark.parametrize(
    ("name", "message"),
    [("none", "no such directory"), ("file", "not a directory"), ("empty", "neither sys/")],
)
def test_folder_without_a_tree_is_refused(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=message):
        SysRoot.for_directory(tmp_path / name)
