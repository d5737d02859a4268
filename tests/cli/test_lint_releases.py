"""``dractl lint --kubernetes-version A,B``: one run, findings marked by release."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from dractl.cli.main import main
from dractl.resources import data_dir

if TYPE_CHECKING:
    from pathlib import Path

CLASS = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {extendedResourceName: example.com/gpu, selectors: [{cel: {expression: device.driver == 1}}]}
"""


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    (tmp_path / "class.yaml").write_text(CLASS)
    return str(tmp_path / "class.yaml")


def test_findings_name_their_releases(manifest: str, capsys: pytest.CaptureFixture[str]) -> None:
    """DRAExtendedResource is off by default in 1.34 and on in 1.37; the selector compiles nowhere."""
    assert (
        main(
            [
                "lint",
                "--isolated",
                "-q",
                "-o",
                "json",
                "--kubernetes-version",
                "1.34,1.37",
                manifest,
            ]
        )
        == 1
    )
    found = json.loads(capsys.readouterr().out)
    Draft202012Validator(
        json.loads((data_dir("schemas") / "dractl" / "lint-v1.json").read_bytes())
    ).validate(found)
    assert found["kubernetesVersion"] == "1.34,1.37"
    marked = {one["code"]: one.get("releases") for one in found["findings"]}
    assert marked == {"DRA802": ["1.34"], "DRA113": None}


def test_files_are_changed_for_one_release_only(
    manifest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lint", "--isolated", "--fix", "--kubernetes-version", "1.34,1.37", manifest]) == 2
    assert "several releases" in capsys.readouterr().err
