"""One mistake has one finding."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dractl.cli.main import main
from tests.lint.written import claim, device_class

NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: media}\n"
KUSTOMIZATION = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: media
resources: [namespace.yaml, claim.yaml]
"""


def codes(path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    main(["lint", str(path), "-o", "json", "--isolated"])
    return [finding["code"] for finding in json.loads(capsys.readouterr().out)["findings"]]


def test_label_required_by_the_server_is_not_advised_as_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "namespace.yaml").write_text(NAMESPACE)
    (tmp_path / "kustomization.yaml").write_text(KUSTOMIZATION)
    text = claim("gpu gpu.intel.com {allocationMode: All, adminAccess: true}")
    (tmp_path / "claim.yaml").write_text(text)
    assert codes(tmp_path, capsys) == ["DRA119"]


def test_a_class_near_one_of_the_input_and_of_a_driver_is_found_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = (
        device_class("gpu.nvidia.com", "device.driver == 'gpu.nvidia.com'")
        + "---\n"
        + claim("gpu gpu.nvidia.con")
    )
    (tmp_path / "both.yaml").write_text(both)
    assert codes(tmp_path, capsys) == ["DRA423"]


def test_installed_class_is_no_misspelling(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The chart of NVIDIA's driver has mig.nvidia.com beside gpu.nvidia.com."""
    both = (
        device_class("gpu.nvidia.com", "device.driver == 'gpu.nvidia.com'")
        + "---\n"
        + claim("gpu mig.nvidia.com")
    )
    (tmp_path / "both.yaml").write_text(both)
    assert codes(tmp_path, capsys) == []
