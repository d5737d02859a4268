"""The last lines of lint's text formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: train, namespace: ml}
spec: {devices: {requests: [{name: gpus, exactly: {deviceClassName: gpu.nvidia.com}}]}}
"""


def test_the_summary_breaks_between_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "claim.yaml").write_text(CLAIM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["lint", "--isolated", "claim.yaml"]) == 0
    first, *others = capsys.readouterr().out.splitlines()
    assert len(first) <= 40
    assert " ".join([first, *map(str.strip, others)]) == (
        "nothing found in 1 document of 1 file for Kubernetes 1.37 (default)"
    )
