"""DRA713 misspelt-driver-attribute."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dractl.lint import lint
from dractl.lint.inventory import TriedDevices
from dractl.manifests import load
from dractl.model import Target, decode
from tests.lint.written import A100, GPU_SLICE, claim, found


def claim_with_selector(expression: str) -> str:
    return claim("gpu any {selectors: [{cel: {expression: 'EXPRESSION'}}]}").replace(
        "EXPRESSION", expression
    )


@pytest.mark.parametrize(
    ("lookup", "meant"),
    [
        ('attributes["gpu.nvidia.com"].architcture == "Hopper"', "did you mean architecture?"),
        ('attributes["gpu.nvidia.com"].productname == "H100"', "did you mean productName?"),
        ('attributes["gpu.nvidia.com"].arch == "Hopper"', "did you mean architecture?"),
        ('attributes["dra.net"].ifname == "eth0"', "did you mean ifName?"),
        (
            'capacity["gpu.nvidia.com"].memroy.isGreaterThan(quantity("1Gi"))',
            "did you mean memory?",
        ),
        (
            'attributes["gpu.nvidia.com"].memory == "80Gi"',
            'write device.capacity["gpu.nvidia.com"].memory',
        ),
    ],
)
def test_a_misspelt_attribute_of_a_known_driver(lookup: str, meant: str) -> None:
    (advice,) = found(claim_with_selector(f"device.{lookup}"), "DRA713")
    assert (advice.severity, advice.confidence) == ("warning", "likely")
    assert meant in advice.message


@pytest.mark.parametrize(
    "lookup",
    [
        'attributes["gpu.nvidia.com"].architecture == "Hopper"',
        'attributes["gpu.nvidia.com"].partition3 == 1',  # near four of them
        'attributes["gpu.nvidia.com"].vbiosVersion == "1"',  # may be new
        'attributes["gpu.example.com"].mdoel == "A100"',  # everybody's
        'attributes["gpu.vendor.com"].architcture == "Hopper"',
        'capacity["gpu.nvidia.com"].memorySlice7.isGreaterThan(quantity("0"))',
    ],
)
def test_possibly_right_names_are_left_alone(lookup: str) -> None:
    assert not found(claim_with_selector(f"device.{lookup}"), "DRA713")


def test_a_misspelt_attribute_of_a_constraint() -> None:
    constraint = "constraints: [{matchAttribute: gpu.nvidia.com/productname}]"
    (advice,) = found(claim("gpu any {count: 2}", constraint), "DRA713")
    assert "did you mean gpu.nvidia.com/productName?" in advice.message


def test_published_devices_know_better_than_the_catalogue() -> None:
    text = claim_with_selector('device.attributes["gpu.nvidia.com"].architcture == "Hopper"')
    odd = GPU_SLICE.replace("gpu.example.com", "gpu.nvidia.com").replace(
        "DEVICES", A100.replace("model", "architcture")
    )
    slices = [document.value for document in load(["-"], stdin=odd.encode()).documents]
    report = lint(
        load(["-"], stdin=text.encode()), Target.of(), devices=TriedDevices(map(decode, slices), {})
    )
    assert "DRA713" not in {finding.code for finding in report.findings}


def test_a_clean_claim_needs_no_driver() -> None:
    program = (
        "import sys\nfrom dractl.lint import lint\nfrom dractl.manifests import load\nfrom dractl.model import Target\n"
        "report = lint(load(['-'], stdin=sys.stdin.buffer.read()), Target.of())\nassert not report.findings\n"
        "print('dractl.drivers.nvidia.gpu' in sys.modules)"
    )
    text = claim_with_selector('device.attributes["gpu.nvidia.com"].architecture == "Hopper"')
    shown = subprocess.run(
        [sys.executable, "-c", program], input=text.encode(), capture_output=True, check=True
    )
    assert shown.stdout == b"False\n"


def test_name_of_a_slice_is_not_misspelt() -> None:
    text = claim_with_selector('device.attributes["gpu.nvidia.com"].productname == "H100"')
    slice_of_it = GPU_SLICE.replace("gpu.example.com", "gpu.nvidia.com").replace(
        "DEVICES", "{name: gpu-0, attributes: {productname: {string: H100}}}"
    )
    assert found(text, "DRA713") != []
    assert found(f"{text}---\n{slice_of_it}", "DRA713") == []


def test_of_a_newer_driver_it_is_a_note() -> None:
    text = claim_with_selector('device.attributes["gpu.nvidia.com"].productname == "H100"')
    report = lint(
        load(["-"], stdin=text.encode()), Target.of("1.37"), versions={"gpu.nvidia.com": "0.9.0"}
    )
    (finding,) = [finding for finding in report.findings if finding.code == "DRA713"]
    assert (finding.severity, finding.fix) == ("info", None)
