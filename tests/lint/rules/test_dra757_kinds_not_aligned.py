"""DRA757 kinds-not-aligned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl.cli.main import main
from tests.lint.written import claim

if TYPE_CHECKING:
    from pathlib import Path

PAIR = "gpu gpu.nvidia.com\nnic dranet"
OVER_BOTH = (
    "constraints:\n- {requests: [gpu, nic], matchAttribute: resource.kubernetes.io/pcieRoot}"
)
OVER_ONE = "constraints:\n- {requests: [gpu], matchAttribute: resource.kubernetes.io/pcieRoot}"


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        # a GPU and a NIC on each of eight roots
        (claim(PAIR), "dgx-h100", "of 64 choices of a device for each, 8 are on one PCIe root"),
        (claim(PAIR, OVER_ONE), "dgx-h100", "of 64 choices"),
        (claim(PAIR, OVER_BOTH), "dgx-h100", ""),
        (claim(PAIR, OVER_BOTH.replace("{requests: [gpu, nic], ", "{")), "dgx-h100", ""),
        (claim(PAIR), "2xH100,2xnic,roots=1", ""),  # there is no other root
        (claim("gpu gpu.nvidia.com\nother gpu.nvidia.com"), "dgx-h100", ""),  # of one kind
    ],
)
def test_pairs_on_described_machines(
    text: str, machine: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "claim.yaml").write_text(text, encoding="utf-8")
    command = ["lint", "--isolated", "--hardware", machine, "-o", "concise", "--select", "DRA757"]
    assert main([*command, str(tmp_path / "claim.yaml")]) == 0
    out = capsys.readouterr().out
    assert said in out
    assert ("DRA757" in out) == bool(said)
