"""A snapshot without NVML's facts: what it lacks is unknown, and nothing is concluded from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl.cli.main import main
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

NODE = str(ROOT / "examples" / "discover" / "node.json")
HOPPER = 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"'
ROOT_IS_KNOWN = 'device.attributes["resource.kubernetes.io"].pcieRoot == "pci0000:15"'
LACKS = "error: unknown: the snapshot lacks gpu.nvidia.com/architecture"


def claim(folder: Path, expression: str) -> str:
    file = folder / "claim.yaml"
    selectors = f"[{{cel: {{expression: '{expression}'}}}}]"
    exactly = f"{{deviceClassName: gpu.nvidia.com, selectors: {selectors}}}"
    file.write_text(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: gpu}\n"
        f"spec: {{devices: {{requests: [{{name: gpu, exactly: {exactly}}}]}}}}\n"
    )
    return str(file)


@pytest.mark.parametrize(
    "command",
    [["explain", "claim.yaml"], ["fit", "gpu", "-f", "claim.yaml"], ["cel", HOPPER]],
    ids=["explain", "fit", "cel"],
)
def test_selector_on_unknown_values_is_not_judged(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    claim(tmp_path, HOPPER)
    monkeypatch.chdir(tmp_path)
    assert main([*command, "--devices", NODE, "--isolated"]) == 3
    shown = capsys.readouterr()
    assert (LACKS in shown.err, shown.out) == (True, "")


@pytest.mark.parametrize(
    ("expression", "code"), [(HOPPER, 0), (ROOT_IS_KNOWN, 0), ('device.driver == "x"', 0)]
)
def test_lint_reports_nothing_about_unknown_values(
    expression: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = claim(tmp_path, expression)
    assert main(["lint", file, "--devices", NODE, "--isolated", "-o", "concise"]) == code
    shown = capsys.readouterr()
    assert ("DRA752" in shown.out) is ("driver" in expression)
    assert shown.err.count("model, memory and versions are unknown here") == 1


def test_values_of_a_snapshot_are_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", claim(tmp_path, ROOT_IS_KNOWN), "--devices", NODE, "--isolated"]) == 0
    assert "unknown" not in capsys.readouterr().out
