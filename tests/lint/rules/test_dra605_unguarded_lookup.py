"""DRA605 unguarded-lookup."""

from __future__ import annotations

import pytest

from tests.lint.written import GPU, NICS, device_class, documents, found, selecting

ANY = device_class("any", "device.allowMultipleAllocations == false")


MODEL = 'device.attributes["gpu.example.com"].model == "A100"'


def test_a_lookup_fails_on_the_devices_of_another_driver() -> None:
    (advice,) = found(documents(GPU, NICS, ANY, selecting(MODEL)), "DRA605")
    assert (advice.severity, advice.confidence) == ("warning", "likely")
    assert "nic.example.com" in advice.message
    assert "no such key: model" in advice.message
    assert advice.related[0].message == "the driver nic.example.com"


@pytest.mark.parametrize(
    "text",
    [
        documents(GPU, ANY, selecting(MODEL)),  # no other driver is known
        documents(GPU, NICS, device_class("b", MODEL + ' && device.driver == "gpu.example.com"')),
        documents(GPU, NICS, device_class("b", MODEL)),  # DRA211 says so
        documents(
            NICS,
            device_class(
                "b",
                'device.driver == "b" && device.attributes["resource.kubernetes.io"].pageSize == "4k"',
            ),
        ),
        documents(GPU, NICS, selecting(MODEL, "gpu.example.com")),  # the class asks for the driver
        documents(GPU, NICS, selecting(MODEL, "elsewhere")),
        documents(GPU, NICS, ANY, selecting('device.driver == "gpu.example.com" && ' + MODEL)),
        documents(
            GPU,
            NICS,
            ANY,
            selecting('device.attributes["gpu.example.com"].?model.orValue("") == "A100"'),
        ),
        documents(
            GPU, NICS, ANY, selecting('has(device.attributes["gpu.example.com"].model) && ' + MODEL)
        ),
        documents(
            GPU,
            NICS,
            ANY,
            selecting('device.attributes["resource.kubernetes.io"].pcieRoot == "pci0000:00"'),
        ),
        documents(
            GPU, NICS, ANY, selecting('device.attributes["shared.example.com"].model == "A100"')
        ),
    ],
)
def test_a_guarded_lookup_is_left_alone(text: str) -> None:
    assert not found(text, "DRA605")


def test_class_checking_the_driver_too_late_is_found() -> None:
    late = device_class("late", MODEL, 'device.driver == "gpu.example.com"')
    (advice,) = found(documents(GPU, NICS, late), "DRA605")
    assert (advice.object.name, advice.path) == ("late", "spec.selectors[0].cel.expression")
