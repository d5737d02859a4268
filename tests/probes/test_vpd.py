"""Vital Product Data, and the pairing of Data Direct functions by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl import probes
from dractl.probes.vpd import keyword
from tests import sysfs_trees

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (sysfs_trees.vpd({"PN": "ABC", "V3": "7dd8"}), "7dd8"),
        (sysfs_trees.vpd({"PN": "ABC"}), None),
        (b"", None),
        (b"\xff", None),
        (b"\x90\xff\xffV3", None),  # longer than the file
        (b"\x90\x05\x00V3\xffab", None),  # a keyword longer than its resource
        (b"\x02", None),
    ],
)
def test_a_keyword_of_the_read_only_resource(data: bytes, value: str | None) -> None:
    assert keyword(data, "V3") == value


def test_a_function_whose_vpd_is_missing_has_a_note(tmp_path: Path) -> None:
    tree = sysfs_trees.build(sysfs_trees.describe("data-direct"), tmp_path)
    (tree / "sys/bus/pci/devices/0009:03:00.0/vpd").unlink()
    machine = probes.read(tree)
    assert machine.pci["0009:03:00.0"].data_direct_of == ()
    assert machine.pci["0019:03:00.0"].data_direct_of == ("0010:03:00.0",)
    (note,) = (note for note in machine.notes if note.about == "0009:03:00.0")
    assert note.message.endswith("its VPD, which only root may read, has no V3")
