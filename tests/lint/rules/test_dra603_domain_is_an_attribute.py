"""DRA603 domain-is-an-attribute."""

from __future__ import annotations

import pytest

from tests.lint.written import documents, found, marked, published, selecting


def test_an_attribute_where_the_domain_belongs() -> None:
    (finding,) = found(selecting('"a" in device.attributes["model"]', "gpu.nvidia.com"), "DRA603")
    assert (finding.severity, finding.confidence, marked(finding)) == ("warning", "likely", "model")
    assert finding.help == 'write device.attributes["gpu.nvidia.com"].model'


def test_a_capacity_of_the_driver_is_looked_up_as_one() -> None:
    (finding,) = found(selecting('"a" in device.attributes["memory"]', "gpu.nvidia.com"), "DRA603")
    assert finding.help == 'write device.capacity["gpu.nvidia.com"].memory'


@pytest.mark.parametrize(
    "expression",
    [
        'device.attributes["composite"].compositionName == "a"',  # a driver may be called so
        'device.attributes["gpu.example.com"].model == "A100"',
        '"model" in device.attributes && device.attributes["model"].size == 1',
    ],
)
def test_domains(expression: str) -> None:
    assert found(selecting(expression), "DRA603") == []


def test_attribute_of_an_input_slice_is_known() -> None:
    text = selecting('device.attributes["colour"].x == "red"')
    assert found(text, "DRA603") == []
    slice_ = published("node-1", "gpu-0") + "    attributes: {colour: {string: red}}\n"
    assert len(found(documents(text, slice_), "DRA603")) == 1


def test_a_class_names_its_driver_in_another_selector() -> None:
    text = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: mig}
spec:
  selectors:
  - cel: {expression: "device.driver == 'gpu.nvidia.com'"}
  - cel: {expression: "'a' in device.attributes['type']"}
"""
    (finding,) = found(text, "DRA603")
    assert finding.help == 'write device.attributes["gpu.nvidia.com"].type'
