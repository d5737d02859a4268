"""DRA755 unknown-class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint import lint
from dractl.lint.inventory import TriedDevices
from dractl.manifests import load
from dractl.model import Target, decode
from tests.lint.written import A100, GPU, GPU_SLICE, claim, device_class, documents, marked

if TYPE_CHECKING:
    from dractl.lint import Finding


def find(text: str, *, classes: bool = True) -> list[Finding]:
    slices = [
        item.value
        for item in load(["-"], stdin=GPU_SLICE.replace("DEVICES", A100).encode()).documents
    ]
    known = (
        {"gpu.example.com": load(["-"], stdin=GPU.encode()).documents[0].value} if classes else {}
    )
    report = lint(
        load(["-"], stdin=text.encode()),
        Target.of(),
        devices=TriedDevices(map(decode, slices), known),
    )
    return [finding for finding in report.findings if finding.code == "DRA755"]


def test_class_absent_from_the_cluster_is_found() -> None:
    (finding,) = find(claim("gpu gpu.exmaple.com"))
    assert (finding.severity, marked(finding)) == ("error", "gpu.exmaple.com")
    assert finding.message == "unknown device class gpu.exmaple.com"
    assert "gpu.example.com" in (finding.help or "")


def test_installed_class_is_no_misspelling_of_another() -> None:
    (finding,) = find(claim("gpu mig.nvidia.com"))
    assert finding.help == "the driver gpu.nvidia.com installs it"


def test_classes_of_the_cluster_and_of_the_input() -> None:
    assert find(claim("gpu gpu.example.com")) == []
    own = device_class("mine", 'device.driver == "gpu.example.com"')
    assert find(documents(own, claim("gpu mine"))) == []


def test_devices_without_classes_say_nothing_of_them() -> None:
    assert find(claim("gpu mine"), classes=False) == []
