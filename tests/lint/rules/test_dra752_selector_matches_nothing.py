"""DRA752 selector-matches-nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl.drivers import Options, render
from dractl.lint import lint
from dractl.lint.inventory import TriedDevices
from dractl.machines import machine
from dractl.manifests import load
from dractl.model import Target, decode
from tests.lint.written import A100, GPU, GPU_SLICE, marked, selecting

if TYPE_CHECKING:
    from dractl.lint import Finding


def find(expression: str, devices: str = A100) -> list[Finding]:
    slices = [
        item.value
        for item in load(["-"], stdin=GPU_SLICE.replace("DEVICES", devices).encode()).documents
    ]
    classes = {"gpu.example.com": load(["-"], stdin=GPU.encode()).documents[0].value}
    inputs = load(["-"], stdin=selecting(expression, "gpu.example.com").encode())
    report = lint(inputs, Target.of(), devices=TriedDevices(map(decode, slices), classes))
    return [finding for finding in report.findings if finding.code == "DRA752"]


MODEL = 'device.attributes["gpu.example.com"].model'


def test_selector_false_on_all_devices_is_found() -> None:
    (finding,) = find(f'{MODEL} == "H100"')
    assert (finding.severity, finding.confidence) == ("warning", "likely")
    assert marked(finding) == "model"
    assert finding.message == "the only device left does not match this selector"
    assert "A100 ×1" in (finding.help or "")


def test_one_matching_device_is_enough() -> None:
    other = A100.replace("name: a", "name: b").replace("A100", "H100")
    assert find(f'{MODEL} == "H100"', f"{A100}, {other}") == []


def test_errors_are_those_of_dra751() -> None:
    assert find('device.attributes["gpu.example.com"].colour == "red"') == []


def on_a_dgx(expression: str) -> list[Finding]:
    options = Options(node_name="node-1", target=Target.of())
    rendering = render(machine("dgx-h100"), options, ["gpu.nvidia.com"], device_classes=True)
    classes = {item["metadata"]["name"]: item for item in rendering.device_classes}
    inputs = load(["-"], stdin=selecting(expression, "gpu.nvidia.com").encode())
    return list(
        lint(
            inputs,
            Target.of(),
            devices=TriedDevices(map(decode, rendering.slices), {}, assumed=classes),
        ).findings
    )


@pytest.mark.parametrize(
    ("expression", "code", "said"),
    [
        ('device.attributes["gpu.nvidia.com"].architecture == "hopper"', "DRA752", "Hopper"),
        ('device.attributes["gpu.nvidia.com"].architectur == "Hopper"', "DRA751", "architecture"),
    ],
)
def test_tried_devices_keep_the_finding_and_its_fix(expression: str, code: str, said: str) -> None:
    without = lint(
        load(["-"], stdin=selecting(expression, "gpu.nvidia.com").encode()), Target.of()
    ).findings[0]
    (finding,) = on_a_dgx(expression)
    assert (finding.code, finding.position) == (code, without.position)
    assert without.message in finding.message
    assert said in without.message
    assert finding.fix == without.fix != None  # noqa: E711 - both have one


def test_an_amount_is_reported_in_the_unit_of_the_devices() -> None:
    (finding,) = on_a_dgx(
        'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("80Gi")) >= 0'
    )
    assert finding.help == "memory: 81559Mi ×8; 80Gi is 81920Mi"


@pytest.mark.parametrize(
    ("expression", "help_"),
    [
        ('device.driver == "other.example.com"', "the drivers are gpu.example.com"),
        ("device.attributes.size() == 5", "the drivers are gpu.example.com"),
        ("device.allowMultipleAllocations", None),
    ],
)
def test_without_a_value_the_drivers_are_named_where_they_decide(
    expression: str, help_: str | None
) -> None:
    (finding,) = find(expression)
    assert finding.help == help_
