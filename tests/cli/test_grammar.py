"""A FILE is what it contains, in every command: a snapshot of a machine brings the devices that it would publish."""

import json
from pathlib import Path

import pytest

from dractl.cli.main import main
from tests.sysfs_trees import DESCRIPTIONS

SNAPSHOT = str(DESCRIPTIONS / "h100-vm.json")
HOPPER = 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"'


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> object:
    """Return a report without the command line that it was made by."""
    assert main([*arguments, "--isolated", "-o", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    if isinstance(report, dict):
        report.pop("command", None)
    return report


@pytest.fixture
def claim(tmp_path: Path) -> str:
    file = tmp_path / "claim.yaml"
    file.write_text(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: one, namespace: ml}\n"
        "spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}\n"
    )
    return str(file)


def test_a_snapshot_beside_the_subject_is_a_source_of_devices(
    claim: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for given in (["explain", claim, SNAPSHOT], ["explain", "-f", claim, "-f", SNAPSHOT]):
        assert answer(capsys, *given) == answer(
            capsys, "explain", "-f", claim, "--devices", SNAPSHOT
        )
    fits = answer(capsys, "fit", "gpu=1", SNAPSHOT)
    assert fits == answer(capsys, "fit", "gpu=1", "--devices", SNAPSHOT)
    assert isinstance(fits, dict)
    assert fits["fits"] == 1
    assert answer(capsys, "devices", SNAPSHOT) == answer(capsys, "devices", "--devices", SNAPSHOT)
    assert answer(capsys, "cel", HOPPER, SNAPSHOT) == answer(
        capsys, "cel", HOPPER, "--devices", SNAPSHOT
    )


def test_discover_takes_a_snapshot_an_archive_or_a_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer(capsys, "discover", SNAPSHOT) == answer(capsys, "discover", "--from", SNAPSHOT)
    (tmp_path / "sys").mkdir()
    assert answer(capsys, "discover", str(tmp_path)) == answer(
        capsys, "discover", "--root", str(tmp_path)
    )
    assert main(["discover", SNAPSHOT, "--root", str(tmp_path)]) == 2
    assert "give only one of them" in capsys.readouterr().err
