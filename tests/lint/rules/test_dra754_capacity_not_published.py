"""DRA754 capacity-not-published."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint import lint
from dractl.lint.inventory import TriedDevices
from dractl.manifests import load
from dractl.model import Target, decode
from tests.lint.written import GPU, GPU_SLICE, claim, marked

if TYPE_CHECKING:
    from dractl.lint import Finding


BIG = "{name: a, allowMultipleAllocations: true, capacity: {gpu.example.com/memory: {value: 80Gi}}}"


def find(capacity: str, devices: str = BIG) -> list[Finding]:
    slices = [
        item.value
        for item in load(["-"], stdin=GPU_SLICE.replace("DEVICES", devices).encode()).documents
    ]
    classes = {"gpu.example.com": load(["-"], stdin=GPU.encode()).documents[0].value}
    text = claim(f"gpu gpu.example.com {{capacity: {{requests: {capacity}}}}}")
    report = lint(
        load(["-"], stdin=text.encode()),
        Target.of(),
        devices=TriedDevices(map(decode, slices), classes),
    )
    return [finding for finding in report.findings if finding.code == "DRA754"]


def test_capacity_of_no_device_is_found() -> None:
    (finding,) = find("{gpu.example.com/memroy: 1Gi}")
    assert (finding.severity, finding.confidence) == ("error", "likely")
    assert marked(finding) == "gpu.example.com/memroy"
    assert (
        finding.message
        == "no device for request gpu has a capacity gpu.example.com/memroy (1 checked)"
    )
    assert "gpu.example.com/memory" in (finding.help or "")


def test_more_than_the_largest_device_has() -> None:
    (finding,) = find("{gpu.example.com/memory: 81Gi}")
    assert marked(finding) == "81Gi"
    assert finding.help == "the largest available is 80Gi"


def test_as_much_as_the_largest_has() -> None:
    small = BIG.replace("name: a", "name: b").replace("80Gi", "10Gi")
    assert find("{gpu.example.com/memory: 80Gi}", f"{small}, {BIG}") == []
    assert find("{gpu.example.com/memory: 81920Mi}") == []
