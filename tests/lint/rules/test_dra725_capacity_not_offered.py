"""DRA725 capacity-not-offered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import claim, marked

if TYPE_CHECKING:
    from dractl.lint import Finding


def find(text: str, release: str = "1.37") -> list[Finding]:
    report = lint(load(["-"], stdin=text.encode()), Target.of(release))
    return [finding for finding in report.findings if finding.code == "DRA725"]


def request_capacity(device_class: str, capacity: str) -> str:
    return claim(f"a {device_class} {{capacity: {{requests: {{{capacity}}}}}}}")


@pytest.mark.parametrize(
    ("device_class", "capacity", "message"),
    [
        ("gpu.nvidia.com", "gpu.nvidia.com/memory: 40Gi", "publishes this capacity as memory"),
        ("dra.cpu", "cpu: 4", "publishes this capacity as dra.cpu/cpu"),
        ("dra.cpu", "dra.cpu/cpus: 4", "did you mean dra.cpu/cpu?"),
        ("tpu.google.com", "hbm: 16Gi", "tpu.google.com publishes no capacity hbm"),
        ("gpu.nvidia.com", "multiprocessors: 14", "of devices of type mig, not gpu"),
    ],
)
def test_names_of_no_device_are_found(device_class: str, capacity: str, message: str) -> None:
    (finding,) = find(request_capacity(device_class, capacity))
    assert (finding.severity, marked(finding)) == ("warning", capacity.partition(":")[0])
    assert message in finding.message


def test_possible_names_are_fine() -> None:
    assert find(request_capacity("gpu.nvidia.com", "memory: 40Gi")) == []
    assert find(request_capacity("mig.nvidia.com", "multiprocessors: 14")) == []
    assert find(request_capacity("dranet", "bandwidth: 10G")) == []  # a webhook may add it
    assert find(request_capacity("unknown.example.org", "x: 1")) == []


def test_where_the_field_is_dropped_it_limits_nothing() -> None:
    assert find(request_capacity("tpu.google.com", "hbm: 16Gi"), "1.35") == []


def test_from_1_38_on_the_domain_of_the_driver_can_be_written() -> None:
    """k8s.io/api v0.38.0-alpha.2 resource/v1/types.go, CapacityRequirements"""
    assert find(request_capacity("gpu.nvidia.com", "gpu.nvidia.com/memory: 40Gi"), "1.38") == []
    assert find(request_capacity("gpu.nvidia.com", "other.example.com/memory: 40Gi"), "1.38") != []
    (twice,) = find(
        request_capacity("gpu.nvidia.com", "gpu.nvidia.com/memory: 40Gi, memory: 40Gi"), "1.38"
    )
    assert "gpu.nvidia.com/memory and memory are the same capacity" in twice.message


def test_newer_driver_than_known_makes_it_a_note() -> None:
    text = request_capacity("gpu.nvidia.com", "nosuch: 1Gi")
    report = lint(
        load(["-"], stdin=text.encode()), Target.of("1.37"), versions={"gpu.nvidia.com": "0.9.0"}
    )
    (finding,) = [finding for finding in report.findings if finding.code == "DRA725"]
    assert (finding.severity, finding.fix) == ("info", None)
    assert "known to v0.5.1" in finding.message
