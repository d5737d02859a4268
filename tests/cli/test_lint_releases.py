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
SLICE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "a", "uid": "1", "resourceVersion": "1"},
    "spec": {
        "driver": "gpu.example.com",
        "nodeName": "n",
        "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "gpu-0"}],
    },
}


def node(version: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "uid": "2", "resourceVersion": "2"},
        "status": {"nodeInfo": {"kubeletVersion": f"v{version}"}},
    }


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


def test_devices_show_the_release_unless_it_is_named(
    manifest: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The kubelets of a dump of --devices are those of the cluster for which selectors are tried."""
    dump = tmp_path / "dump.json"
    dump.write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("1.34.2"), SLICE]})
    )
    lint = ["lint", "--isolated", manifest, "--devices", str(dump)]
    assert main(lint) == 1
    output = capsys.readouterr().out
    assert "DRA802" in output  # its gate is off in 1.34
    assert "for Kubernetes 1.34 (from kubelets)\n" in output
    assert main([*lint, "--kubernetes-version", "1.37"]) == 1
    assert "for Kubernetes 1.37\n" in capsys.readouterr().out
    dump.write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("1.33.0"), SLICE]})
    )
    assert main(lint) == 3
    assert "--devices needs Kubernetes 1.34 or later, not 1.33" in capsys.readouterr().err
