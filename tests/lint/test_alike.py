"""One cause in many devices is one finding where people read."""

from __future__ import annotations

import pytest
import yaml

from dractl.lint import Report, lint
from dractl.lint.alike import merge_alike
from dractl.manifests import load
from dractl.model import Target


def report(count: int, release: str = "1.36", **fields: object) -> Report:
    devices = [{"name": f"gpu-{at}", **fields} for at in range(count)]
    text = yaml.safe_dump(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": "s"},
            "spec": {
                "driver": "gpu.example.com",
                "nodeName": "n1",
                "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
                "devices": devices,
            },
        }
    )
    return lint(load(["-"], stdin=text.encode()), Target.of(release))


def test_a_field_dropped_from_each_device_is_one_finding_with_its_cause() -> None:
    """kubernetes 1.36 without DRAListTypeAttributes: each attribute then lacks a value."""
    whole = report(100, attributes={"links": {"strings": ["a", "b"]}})
    assert len(whole.findings) == 100
    (finding,) = merge_alike(whole).findings
    assert "DRAListTypeAttributes is off" in finding.message
    assert finding.message.endswith("(so in 100 devices)")
    assert finding.position == whole.findings[0].position


def test_two_mistakes_of_each_device_are_two_findings() -> None:
    whole = report(8, "1.37", basic={"attributes": {}}, bsic={})
    assert [f.path for f in merge_alike(whole).findings] == [
        "spec.devices[0].basic",
        "spec.devices[0].bsic",
    ]


@pytest.mark.parametrize("count", [1, 2])
def test_few_devices_are_shown_one_by_one(count: int) -> None:
    whole = report(count, "1.37", basic={})
    assert merge_alike(whole).findings == whole.findings


def test_devices_with_mistakes_of_their_own_stay_apart() -> None:
    whole = report(3, "1.37", taints=[{"key": "a", "effect": "No"}, {"key": "b", "effect": "Nix"}])
    assert len(merge_alike(whole).findings) == 2
