"""Shapes on the command line: ``fit`` and ``discover --suggest`` agree, and say what was asked."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from dractl.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

PAIR_AND_NEIGHBOUR = "1 GPU + 1 NIC on one PCIe root, the other GPU on the same NUMA node"


def fit(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(["fit", "--isolated", *words])
    return code, capsys.readouterr().out


@pytest.mark.parametrize(
    ("hardware", "shape", "copies"),
    [
        ("dgx-h100", "gpu=2,nic=1", 4),
        ("dgx-h100", "gpu=8,nic=8", 1),
        ("p5.48xlarge", "gpu=2,nic=1", 4),
        ("BM.GPU.H100.8", "gpu=2,nic=1", 4),
        ("dgx-b200", "gpu=2,nic=1", 4),
    ],
)
def test_a_shape_has_one_meaning_in_all_commands(
    hardware: str, shape: str, copies: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Eight GPUs and at least as many NICs: as many copies as the GPUs are enough for."""
    code, out = fit(capsys, shape, "--hardware", hardware, "-o", "json")
    assert (code, json.loads(out)["fits"]) == (0, copies)
    code, out = fit(capsys, "--shapes", f"{shape};gpu=1", "--hardware", hardware, "-o", "json")
    assert (code, json.loads(out)["subjects"][0]["fits"]) == (0, copies)
    assert main(["discover", "--isolated", "--hardware", hardware, "--suggest", shape]) == 0
    suggested = capsys.readouterr().out
    counted = re.search(r"^# (\d+) of these fits? on the node", suggested, re.MULTILINE)
    assert counted is not None
    assert int(counted[1]) == copies


def test_head_repeats_the_shape_and_table_shows_the_alignment(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out = fit(capsys, "gpu=2,nic=1", "--hardware", "dgx-h100")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("gpu=2,nic=1, as close to each other as each node allows ")
    assert lines[1].endswith("4 copies fit")
    assert lines[3:5] == ["  4 on dgx-h100-1", f"      {PAIR_AND_NEIGHBOUR}"]
    code, out = fit(capsys, "gpu=8,nic=8@none", "--hardware", "dgx-h100")
    assert code == 0
    assert out.startswith("gpu=8,nic=8@none, without constraint or preference ")


@pytest.mark.parametrize(
    ("shape", "head", "cause"),
    [
        ("gpu=2,nic=1@pcieRoot", "each copy on one PCIe root", "no PCIe root has 2 GPUs and a NIC"),
        (
            "gpu=2,nic=1@numaNode",
            "each copy on one NUMA node",
            "attribute resource.kubernetes.io/numaNode exists on 0 of 8 devices of request nic",
        ),
    ],
)
def test_unmet_demand_is_answered_with_the_cause(
    shape: str, head: str, cause: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = fit(capsys, shape, "--hardware", "dgx-h100")
    assert code == 1
    assert out.startswith(f"{shape}, {head} ")
    assert cause in out
    code, out = fit(capsys, "--shapes", f"{shape};gpu=1", "--hardware", "dgx-h100")
    text = " ".join(out.split())
    assert code == 1
    assert f"{shape}, {head} no further copy: {cause}" in text


def test_the_table_of_shapes_says_the_alignment_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = fit(
        capsys,
        *("--shapes", "gpu=2,nic=1;gpu=2,nic=1@none"),
        *("--hardware", "dgx-h100", "--hardware", "p4d.24xlarge"),
    )
    assert code == 0
    assert out.splitlines()[0].split() == ["NODE", "gpu=2,nic=1", "gpu=2,nic=1@none"]
    text = " ".join(out.split())
    assert f"allows {PAIR_AND_NEIGHBOUR}: 4 on dgx-h100-1 all on one PCIe root: 4 on p4d" in text
    assert text.endswith("gpu=2,nic=1@none, without constraint or preference")


def test_page_shows_the_shape_and_the_alignment(capsys: pytest.CaptureFixture[str]) -> None:
    _, out = fit(capsys, "gpu=2,nic=1", "--hardware", "dgx-h100", "-o", "html")
    assert "<h1>gpu=2,nic=1, as close to each other as each node allows: 4 copies fit" in out
    assert f"{PAIR_AND_NEIGHBOUR}: 4 on dgx-h100-1" in out
    shapes = "gpu=2,nic=1;gpu=1,nic=1@pcieRoot"
    _, out = fit(capsys, "--shapes", shapes, "--hardware", "dgx-h100", "-o", "html")
    assert "gpu=1,nic=1@pcieRoot, each copy on one PCIe root" in out
    assert f"{PAIR_AND_NEIGHBOUR}: 4 on dgx-h100-1" in out


def test_suggestions_obey_the_constraint_of_a_shape(capsys: pytest.CaptureFixture[str]) -> None:
    suggest = ["discover", "--isolated", "--hardware", "dgx-h100", "--suggest"]
    assert main([*suggest, "gpu=1,nic=1@pcieRoot;gpu=2,nic=1@none"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# gpu=1,nic=1@pcieRoot: all on one PCIe root\n")
    assert "# gpu=2,nic=1@none: no alignment asked for\n" in out
    assert out.count("matchAttribute") == 1
    assert main([*suggest, "gpu=2,nic=1"]) == 0
    heading = f"# gpu=2,nic=1: {PAIR_AND_NEIGHBOUR}".removesuffix(" node") + "\n# node\n#   gpu: "
    assert capsys.readouterr().out.startswith(heading)
    assert main([*suggest, "gpu=2,nic=1@pcieRoot"]) == 1
    assert "gpu=2,nic=1@pcieRoot: no PCIe root has them all" in capsys.readouterr().err
    assert main([*suggest, "gpu=1,nic=1@numaNode"]) == 1
    assert "dra.net would not publish numaNode here" in capsys.readouterr().err


def test_less_aligned_copies_are_counted_beside_the_suggested_claim(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One pair is on a root; two GPUs and two NICs are left, on roots without the other kind."""
    lab = tmp_path / "lab.yaml"
    lab.write_text(
        "roots:\n"
        "- {numa: 0, devices: [2xH100, nic]}\n"
        "- {numa: 1, devices: [H100]}\n"
        "- {numa: 1, devices: [2xnic]}\n"
    )
    suggest = ["discover", "--isolated", "--hardware", str(lab), "--suggest", "gpu=1,nic=1"]
    assert main(suggest) == 0
    out = capsys.readouterr().out
    assert "# 1 of these fits on the node; " in out
    assert "#   2 more copies of gpu=1,nic=1 fit less closely: not aligned\n" in out
    code, out = fit(capsys, "gpu=1,nic=1", "--hardware", str(lab))
    assert (code, "3 copies fit" in out) == (0, True)
    assert "      1: all on one PCIe root\n      2: not aligned\n" in out


def test_the_claim_that_prefers_an_alignment_begins_requests_with_their_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The fields have the order in which the API documents them, as in the claim above."""
    suggest = ["discover", "--isolated", "--hardware", "dgx-h100", "--suggest"]
    assert main([*suggest, "gpu=2,nic=1"]) == 0
    out = capsys.readouterr().out
    assert "\n    - name: gpu\n      exactly:\n        deviceClassName:" in out
    assert "\n#     - name: gpu\n#       firstAvailable:\n#       - name: aligned\n" in out
    assert out.index("#     requests:") < out.index("#     constraints:")


@pytest.mark.parametrize("name", ["gpu.nvidia.com=2", "gpu.nvidia.com=2,dranet=1"])
def test_names_of_device_classes_are_kinds_of_suggestions_too(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["discover", "--isolated", "--hardware", "dgx-h100", "--suggest", name]) == 0
    assert capsys.readouterr().out.startswith(f"# {name}: ")


@pytest.mark.parametrize(
    "command", [("fit", "gpu=2,nic=1"), ("discover", "--suggest", "gpu=2,nic=1")]
)
@pytest.mark.parametrize(
    ("hardware", "is_known"), [("a4-highgpu-8g", False), ("g6.48xlarge", True)]
)
def test_alignment_is_unknown_where_the_wiring_is(
    command: tuple[str, ...], hardware: str, is_known: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """No document says where the devices of the first are; those of the second share no root."""
    assert main([*command, "--isolated", "--hardware", hardware]) == 0
    out = capsys.readouterr().out
    assert ("not aligned" in out) == is_known
    assert ("alignment unknown: no document says where the devices are" in out) != is_known
