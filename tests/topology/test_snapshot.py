"""Snapshots and archives: what is written is read back, and what is neither ends in one clear error."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from dractl import probes
from dractl.errors import InputError
from dractl.topology import snapshot
from dractl.topology.machine import Machine
from tests import sysfs_trees

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sysfs_trees.build(sysfs_trees.describe("sriov"), tmp_path_factory.mktemp("sriov"))


def test_a_snapshot_is_the_machine_again(tree: Path, tmp_path: Path) -> None:
    machine = probes.read(tree)
    file = tmp_path / "node.json"
    snapshot.save(machine, file, identity=True)
    assert probes.read(file) == machine
    snapshot.save(machine, file)
    assert probes.read(file) == machine.drop_identity()


def test_a_snapshot_holds_no_identity_unless_asked(tree: Path, tmp_path: Path) -> None:
    machine = probes.read(tree)
    file = tmp_path / "node.json"
    snapshot.save(machine, file)
    text = file.read_text()
    assert "secret-host-name" not in text
    assert "02:00:00:00:00:01" not in text
    snapshot.save(machine, file, identity=True)
    assert "secret-host-name" in file.read_text()
    assert "02:00:00:00:00:01" in file.read_text()


def test_serial_numbers_are_identity(tmp_path: Path) -> None:
    machine = probes.read(sysfs_trees.build(sysfs_trees.describe("vmd"), tmp_path / "vmd"))
    assert machine.nvme_controllers[0].serial == "S3CR3TSERIAL"
    assert "S3CR3TSERIAL" not in json.dumps(snapshot.to_json(machine.drop_identity()))


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "tar.bz2", "tar.xz", "zip"])
@pytest.mark.parametrize("folder", ["", "node-7", "gathered/2026/node-7"])
def test_an_archive_at_any_top_folder_is_the_tree(
    tree: Path, tmp_path: Path, ending: str, folder: str
) -> None:
    archive = sysfs_trees.pack(tree, tmp_path / f"node.{ending}", folder=folder)
    assert probes.read(archive) == probes.read(tree)


def test_members_outside_the_tree_are_left_out(tmp_path: Path) -> None:
    outside = tmp_path / "secret"
    outside.write_text("outside")
    archive = sysfs_trees.tar_of(
        {
            "sys/devices/system/cpu/online": b"0",
            "sys/devices/system/node/node0/cpulist": b"0",
            "../../sys/devices/system/node/node1/cpulist": b"0",
            "sys/class/dmi/id/product_name": str(outside),
            "sys/class/dmi/id/sys_vendor": "../../../../../../../../" + str(outside),
            "proc/sys/kernel/osrelease": "/proc/sys/kernel/osrelease",
        },
        tmp_path / "hostile.tar",
    )
    machine = probes.read(archive)
    assert [n.id for n in machine.numa_nodes] == [0]
    assert (machine.host.product, machine.host.vendor, machine.host.kernel) == (None, None, None)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "neither a snapshot nor a readable archive"),
        (b"\x00" * 600, "has no sys/ folder"),
        (b"apiVersion: v1\nkind: Pod\n", "neither a snapshot nor a readable archive"),
        (b"PK\x03\x04 broken", "not a readable zip archive"),
        (b"\x1f\x8b\x08\x00 broken", "neither a snapshot nor a readable archive"),
        (b"{", "not valid JSON"),
        (b'{"a": ' + b"[" * 200_000, "nested too deeply"),
        (
            b'{"schema": "dractl/machine/v1", "pciDevices": [{"bdf": "0000:00:00.0", "path": "", "bridges": ['
            + b", ".join([b'"0000:00:01.0"'] * 256)
            + b"]}]}",
            "pciDevices[0].bridges has 256 entries; at most 255 are possible",
        ),
        (b'{"schema": "dractl/explain/v1"}', "not a machine snapshot"),
        (b'{"schema": "dractl/machine/v1", "pciDevices": {}}', "pciDevices must be a list"),
        (
            b'{"schema": "dractl/machine/v1", "pciDevices": [{"bdf": "0000:00:01.0"}]}',
            "pciDevices[0].path is missing",
        ),
        (
            b'{"schema": "dractl/machine/v1", "numaNodes": [{"id": "0"}]}',
            "numaNodes[0].id must be an integer, not '0'",
        ),
        (
            b'{"schema": "dractl/machine/v1", "numaNodes": [{"id": true}]}',
            "numaNodes[0].id must be an integer, not True",
        ),
        (
            b'{"schema": "dractl/machine/v1", "numaNodes": [{"id": 0, "cpus": "0-x"}]}',
            "'0-x', but must be a list of CPUs",
        ),
        (
            b'{"schema": "dractl/machine/v1", "pciDevices": [{"bdf": "a", "path": "b"}]}',
            "pciDevices[0].bdf is 'a', but must be an address such as 0000:3b:00.0",
        ),
        (
            b'{"schema": "dractl/machine/v1", "pciDevices": [{"bdf": "a", "path": "b", "kind": "toaster"}]}',
            "pciDevices[0].kind must be one of 'gpu'",
        ),
    ],
)
def test_file_other_than_a_snapshot_is_refused(
    tmp_path: Path, content: bytes, message: str
) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(InputError) as error:
        probes.read(file)
    assert error.value.place == str(file)
    assert message in error.value.message
    assert "\n" not in error.value.message


def test_oversized_archive_ends_at_once(tmp_path: Path) -> None:
    import tarfile

    info = tarfile.TarInfo("sys/devices/huge")
    info.size = 1 << 40
    (tmp_path / "bomb.tar").write_bytes(info.tobuf())
    with pytest.raises(InputError, match="unpacks to more than"):
        probes.read(tmp_path / "bomb.tar")


def test_zstd_damaged_in_its_midst_is_no_archive(tmp_path: Path) -> None:
    """tarfile reads zstd from Python 3.14 on, and lets its errors out; before, it is no archive that it knows."""
    whole = sysfs_trees.tar_of(
        {"sys/devices/large": b"\0" * (1 << 20)}, tmp_path / "whole.tar"
    ).read_bytes()
    # RFC 8878: a frame without checksum whose window is 1 MiB; raw blocks (a header of 3 bytes, the size from bit 3
    # on); then a block of the reserved type.
    pieces = [whole[start : start + (1 << 17)] for start in range(0, len(whole) // 2, 1 << 17)]
    blocks = b"".join((len(piece) << 3).to_bytes(3, "little") + piece for piece in pieces)
    (tmp_path / "node.tar.zst").write_bytes(b"\x28\xb5\x2f\xfd\0\x50" + blocks + b"\xff" * 3)
    with pytest.raises(InputError, match="neither a snapshot nor a readable archive"):
        probes.read(tmp_path / "node.tar.zst")


def test_an_archive_of_something_else_is_named(tmp_path: Path) -> None:
    archive = sysfs_trees.tar_of({"manifests/pod.yaml": b"kind: Pod"}, tmp_path / "manifests.tar")
    with pytest.raises(InputError, match="has no sys/ folder"):
        probes.read(archive)


def test_a_snapshot_does_not_speak_to_the_terminal() -> None:
    value = snapshot.to_json(Machine())
    value["host"]["product"] = "a\x1b[2Jb\ud800"
    assert snapshot.from_json(value).host.product == "a?[2Jb?"


def test_a_snapshot_of_a_newer_dractl_is_read_as_far_as_it_is_known() -> None:
    value = {**snapshot.to_json(Machine()), "quantumDevices": [{"id": 1}]}
    assert snapshot.from_json(value) == Machine()


def test_amd_unique_ids_are_identity(tmp_path: Path) -> None:
    machine = probes.read(sysfs_trees.build(sysfs_trees.describe("mi300x"), tmp_path / "mi300x"))
    assert "1f2e3d4c5b6a7988" in json.dumps(snapshot.to_json(machine))
    assert "1f2e3d4c5b6a7988" not in json.dumps(snapshot.to_json(machine.drop_identity()))


def test_gpus_without_an_address_are_read_and_malformed_addresses_are_not() -> None:
    value = {"schema": "dractl/machine/v1", "host": {}, "gpus": [{"vendor": "NVIDIA"}]}
    assert snapshot.from_json(value).gpus[0].bdf is None
    with pytest.raises(InputError, match=r"gpus\[0\]\.bdf"):
        snapshot.from_json({**value, "gpus": [{"bdf": "<script>:00:00.0"}]})


def test_an_address_is_listed_once() -> None:
    """Drivers name their devices after their addresses."""
    function = {
        "bdf": "0000:3b:00.0",
        "path": "pci0000:3a/0000:3b:00.0",
        "class": "0x030200",
        "vendor": "0x10de",
    }
    value = {"schema": "dractl/machine/v1", "host": {}, "pciDevices": [function, function]}
    with pytest.raises(InputError, match=r"pciDevices\[1\]\.bdf: 0000:3b:00\.0 is listed twice"):
        snapshot.from_json(value)
