"""DRA756 no-machine-suffices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl.cli.main import main
from tests.lint.written import claim

if TYPE_CHECKING:
    from pathlib import Path

ROOT = "constraints:\n- matchAttribute: resource.kubernetes.io/pcieRoot"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            claim("gpu gpu.nvidia.com {count: 16}"),
            "request gpu wants 16 devices; the largest machine has 8 that match",
        ),
        (
            claim("gpu gpu.nvidia.com {count: 2}", ROOT),
            "pcieRoot; a machine has at most 1 matching device with the same value",
        ),
        (claim("gpu gpu.nvidia.com {count: 8}"), ""),
        (claim("gpu gpu.nvidia.com {count: 4}", ROOT.replace("pcieRoot", "numaNode")), ""),
    ],
)
def test_counts_and_constraints_on_a_described_machine(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "claim.yaml").write_text(text, encoding="utf-8")
    command = [
        "lint",
        "--isolated",
        "--hardware",
        "dgx-h100",
        "-o",
        "concise",
        "--select",
        "DRA756",
    ]
    code = main([*command, str(tmp_path / "claim.yaml")])
    out = capsys.readouterr().out
    assert (code == 1) == bool(said)
    assert said in out
    assert ("DRA756" in out) == bool(said)


def test_the_attribute_with_enough_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "claim.yaml").write_text(
        claim("gpu gpu.nvidia.com {count: 2}", ROOT), encoding="utf-8"
    )
    main(["lint", "--isolated", "--hardware", "dgx-h100", str(tmp_path / "claim.yaml")])
    assert "= help: resource.kubernetes.io/numaNode has 4" in capsys.readouterr().out


def test_capacity_of_no_device_is_reported_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = "gpu gpu.nvidia.com {capacity: {requests: {memory: 100Gi}}}"
    (tmp_path / "claim.yaml").write_text(claim(wanted), encoding="utf-8")
    main(
        [
            "lint",
            "--isolated",
            "--hardware",
            "dgx-h100",
            "-o",
            "concise",
            str(tmp_path / "claim.yaml"),
        ]
    )
    out = capsys.readouterr().out
    assert "error DRA754" in out
    assert "DRA756" not in out
