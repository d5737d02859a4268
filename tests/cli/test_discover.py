"""``dractl discover`` as a user calls it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from dractl.cli.main import main
from tests import sysfs_trees

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    top = tmp_path_factory.mktemp("machines")
    return {
        name: sysfs_trees.build(sysfs_trees.describe(name), top / name)
        for name in sysfs_trees.NAMES
    }


def run(*arguments: str | Path) -> int:
    return main(["discover", *map(str, arguments)])


def test_the_tree_shows_roots_switches_devices_and_their_names(
    trees: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "pci.ids").write_text("10b5  PLX Technology, Inc.\n")
    monkeypatch.setenv("PCIDB_PATH", str(tmp_path / "pci.ids"))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    assert run("--root", trees["plx-8gpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("  pci0000:15")
    assert lines[at + 1].startswith("  └─ switch 0000:16:00.0  PLX Technology")
    assert [line.split()[1:3] for line in lines[at + 2 : at + 7]] == [
        ["0000:18:00.0", "nic"],
        ["0000:19:00.0", "gpu"],
        ["0000:1a:00.0", "gpu"],
        ["0000:1b:00.0", "nic"],
        ["0000:1c:00.0", "nvme"],
    ]
    assert lines[at + 2].split()[3:6] == ["pci-0000-18-00-0", "eth0", "mlx5_0"]
    assert [lines[at + i].split()[3] for i in (3, 4)] == ["gpu-0?", "gpu-1?"]  # NVML was not asked
    assert [line for line in lines if line.startswith("NUMA node ")] == [
        "NUMA node 0",
        "NUMA node 1",
    ]
    slow, note = (line for line in lines if "0000:9b:00.0" in line)
    assert slow.endswith("×8/16 32 GT/s")
    assert note.startswith(
        "  0000:9b:00.0: the PCIe link runs at x8, although the device and its slot can do x16"
    )


@pytest.mark.parametrize("width", [60, 80, 100, 140, 200])
@pytest.mark.parametrize("view", ["tree", "matrix"])
@pytest.mark.parametrize("name", sysfs_trees.NAMES)
def test_no_line_is_wider_than_the_terminal(
    name: str,
    view: str,
    width: int,
    trees: dict[str, Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert run("--root", trees[name], "-o", view) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= width


def test_the_matrix_is_symmetric_and_complete(
    trees: dict[str, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run("--root", trees["plx-8gpu"], "-o", "matrix") == 0
    lines = capsys.readouterr().out.splitlines()
    head = lines[0].split()
    labels = head[: head.index("CPU")]
    rows = {line.split()[0]: line.split()[1:] for line in lines[1 : len(labels) + 1]}
    assert list(rows) == labels
    for i, a in enumerate(labels):
        assert rows[a][i] == "X"
        for j, b in enumerate(labels):
            assert rows[a][j] == rows[b][i]
    assert labels[:8] == [f"gpu-{n}?" for n in range(8)]
    assert rows["gpu-0?"][-2:] == ["0-3,8-11", "0"]
    assert rows["gpu-0?"][labels.index("NVME0")] == "PIX"


def test_json_is_a_machine_without_identity(
    trees: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--root", trees["sriov"], "-o", "json") == 0
    text = capsys.readouterr().out
    assert json.loads(text)["schema"] == "dractl/machine/v1"
    assert "secret-host-name" not in text
    assert run("--root", trees["sriov"], "-o", "json", "--with-identity") == 0
    assert "secret-host-name" in capsys.readouterr().out


def test_a_saved_snapshot_shows_the_same(
    trees: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--root", trees["cxl"], "--save", tmp_path / "node.json") == 0
    first = capsys.readouterr()
    assert str(tmp_path / "node.json") in first.err
    assert run("--from", tmp_path / "node.json") == 0
    assert capsys.readouterr().out == first.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--root", "/none"], 3, "no such directory"),
        (["--from", "/none.json"], 3, "/none.json: cannot be read: No such file or directory"),
        (["--from", "x", "--root", "y"], 2, "give only one of them"),
        (["-o", "tre"], 2, "did you mean tree?"),
    ],
)
def test_errors_are_one_message(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


def test_a_c_locale_gets_ascii(trees: dict[str, Path]) -> None:
    import os
    import subprocess
    import sys

    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for view in ("tree", "matrix"):
        command = [
            sys.executable,
            "-m",
            "dractl",
            "discover",
            "--root",
            str(trees["plx-8gpu"]),
            "-o",
            view,
        ]
        done = subprocess.run(command, capture_output=True, env=environment, check=True)
        assert done.stdout.isascii()
        assert b"\\u" not in done.stdout


def test_this_machine_can_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-o", "json") == 0
    assert json.loads(capsys.readouterr().out)["host"]["kernel"] is not None


def test_table_has_a_line_a_device(
    trees: dict[str, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run("--root", trees["hyper-v"], "-o", "table") == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[:5] == ["ADDRESS", "KIND", "PUBLISHED", "AS", "NUMA"]
    assert [line.split()[:4] for line in lines] == [
        ["0001:00:00.0", "gpu", "gpu-0?", "0"],
        ["0002:00:00.0", "gpu", "gpu-1?", "1"],
        ["e0e5:00:02.0", "nic", "pci-e0e5-00-02-0", "0"],
    ]
    assert "pci0001:00 (not published)" in lines[0]


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_table_leaves_columns_out_to_fit(
    width: int,
    trees: dict[str, Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert run("--root", trees["plx-8gpu"], "-o", "table") == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= width


def test_yaml_and_json_are_the_same(
    trees: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    import yaml

    assert run("--root", trees["vmd"], "-o", "json") == 0
    value = json.loads(capsys.readouterr().out)
    assert run("--root", trees["vmd"], "-o", "yaml") == 0
    assert yaml.safe_load(capsys.readouterr().out) == value


@pytest.mark.parametrize("name", sysfs_trees.NAMES)
def test_svg_is_well_formed_shows_every_device_and_loads_nothing(
    name: str, trees: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    from xml.etree import ElementTree

    from dractl import probes
    from dractl.topology.levels import endpoints

    assert run("--root", trees[name], "-o", "svg") == 0
    text = capsys.readouterr().out
    root = ElementTree.fromstring(text)
    shown = {g.get("data-bdf") for g in root.iter("{http://www.w3.org/2000/svg}g")}
    assert {d.bdf for d in endpoints(probes.read(trees[name]))} <= shown
    assert "href" not in text
    assert "url(" not in text


def test_html_is_self_contained_and_escapes_names(
    tmp_path: Path,
    trees: dict[str, Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    database = tmp_path / "pci.ids"
    database.write_text("15b3  <script>alert(1)</script>\n\t1021  <b>\n")
    monkeypatch.setenv("PCIDB_PATH", str(database))
    assert run("--root", trees["plx-8gpu"], "-o", "html") == 0
    text = capsys.readouterr().out
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("name", sysfs_trees.NAMES)
def test_written_snapshot_fits_its_schema(
    name: str, trees: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    import jsonschema

    from dractl.resources import data_dir

    schema = json.loads(
        (data_dir("schemas") / "dractl" / "machine-v1.json").read_text(encoding="utf-8")
    )
    assert run("--root", trees[name], "-o", "json", "--with-identity") == 0
    jsonschema.validate(json.loads(capsys.readouterr().out), schema)


def test_diff_compares_two_machines(
    trees: dict[str, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    assert run("--diff", trees["vmd"], trees["vmd"]) == 0
    assert "no difference" in capsys.readouterr().out
    assert run("--diff", trees["vmd"], trees["cxl"]) == 1
    assert "sockets: 1 → 2" in capsys.readouterr().out
    assert run("--diff", trees["vmd"], trees["cxl"], "-o", "json") == 1
    assert json.loads(capsys.readouterr().out)["differences"]
    assert run("--diff", trees["vmd"], trees["cxl"], "-o", "svg") == 2


def test_suggest_prints_a_claim(trees: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    import yaml

    assert run("--root", trees["plx-8gpu"], "--suggest", "gpu=2,nic=1") == 0
    claim = yaml.safe_load(capsys.readouterr().out)
    assert (
        claim["spec"]["devices"]["constraints"][0]["matchAttribute"]
        == "resource.kubernetes.io/pcieRoot"
    )
    assert run("--root", trees["plx-8gpu"], "--suggest", "gpu=9") == 1
    assert run("--root", trees["plx-8gpu"], "--suggest", "gpu=zwei") == 2


def test_check_of_a_mounted_root(
    trees: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--check", "--root", trees["single-root-vm"]) == 1
    assert "no driver is bound to gpu 0000:00:05.0" in capsys.readouterr().out
    assert run("--check", "--root", trees["single-root-vm"], "-o", "json") == 1
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert {"name", "state", "evidence"} <= set(checks[0])
    capsys.readouterr()
    assert run("--check", "--from", "x.json") == 2
    assert "--check reads files that a snapshot does not have" in capsys.readouterr().err
    assert run("--cluster") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--check", "--suggest", "gpu=1"], "--check and --suggest cannot be combined"),
        (["--diff", "a", "b", "--check"], "--diff and --check cannot be combined"),
        (["--diff", "a", "b", "--root", "c"], "--diff already names both machines"),
        (["--check", "--save", "x.json"], "it cannot be combined with --diff or --check"),
        (["--suggest", "gpu=1", "-o", "json"], "--suggest cannot print json"),
        (["--cluster"], "--cluster needs --check"),
    ],
)
def test_ignored_options_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    assert message in capsys.readouterr().err


def test_check_names_a_slow_link_in_80_columns(
    trees: dict[str, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    run("--check", "--root", trees["plx-8gpu"])
    lines = [line for line in capsys.readouterr().out.splitlines() if "PCIe links" in line]
    assert [line.split()[3:5] for line in lines] == [["gpu", "0000:9b:00.0:"]]


def test_sizes_in_a_diff_are_for_people_and_raw_in_json(
    trees: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    assert run("--diff", trees["plx-8gpu"], trees["sriov"]) == 1
    out = capsys.readouterr().out
    assert "  memory: 1008 GiB → 125 GiB" in out
    assert "  huge pages of 1 GiB: 16 → 0" in out
    assert "  distances: 10 21 → 10 20" in out
    assert run("--diff", trees["plx-8gpu"], trees["sriov"], "-o", "json") == 1
    differences = json.loads(capsys.readouterr().out)["differences"]
    (memory,) = (d for d in differences if (d["place"], d["what"]) == ("NUMA node 0", "memory"))
    assert memory == {**memory, "before": "1081918619648", "after": "134217728000", "unit": "bytes"}


def test_json_has_the_published_devices(
    trees: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--root", trees["plx-8gpu"], "-o", "json") == 0
    devices = json.loads(capsys.readouterr().out)["publishedDevices"]
    (nic,) = (device for device in devices if device.get("bdf") == "0000:18:00.0")
    assert (nic["driver"], nic["name"], nic["kind"]) == ("dra.net", "pci-0000-18-00-0", "nic")
    assert (nic["pcieRoot"], nic["guessed"]) == ("pci0000:15", False)


def test_a_release_without_slices_shows_the_hardware_all_the_same(
    trees: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--root", trees["plx-8gpu"], "--kubernetes-version", "1.32") == 0
    captured = capsys.readouterr()
    assert "0000:19:00.0" in captured.out
    assert (
        "names of published devices are omitted: ResourceSlices are rendered for Kubernetes 1.34"
        in captured.err
    )


def test_check_of_a_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        '*--raw*) echo \'{"resources": [{"name": "resourceslices"}, {"name": "deviceclasses"}]}\' ;;\n'
        '*) echo \'{"kind": "List", "items": []}\' ;;\n'
        "esac\n"
    )
    kubectl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert run("--check", "--cluster") == 1
    out = capsys.readouterr().out
    assert "not served: resourceclaims, resourceclaimtemplates" in out
    assert "no ResourceSlice in the cluster" in out
    kubectl.write_text("#!/bin/sh\necho 'The connection to the server was refused' >&2\nexit 1\n")
    assert run("--check", "--cluster") == 3
    assert (
        "kubectl cannot read what the API server serves in resource.k8s.io/v1: The connection"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(("second", "width"), [(1, 580), (5, 1144)])
def test_a_picture_has_two_columns_where_both_are_used(
    second: int, width: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Six GPUs on the first NUMA node."""
    roots = ""
    for node, bus, number in ((0, 0x0A, 6), (1, 0x84, second)):
        gpus = [f"0000:{bus + one:02x}:00.0" for one in range(1, number + 1)]
        roots += f"- {{root: 'pci0000:{bus:02x}', numa: {node}, devices: {{H100: {gpus}}}}}\n"
    (tmp_path / "box.yaml").write_text(f"title: box\nnuma: 2\nroots:\n{roots}")
    assert (
        main(["discover", "--isolated", "--hardware", str(tmp_path / "box.yaml"), "-o", "svg"]) == 0
    )
    assert f'viewBox="0 0 {width} ' in capsys.readouterr().out
