"""An expression tried on devices."""

from __future__ import annotations

from dractl.cel import environment
from dractl.cel.trials import TriedDevice, try_on_devices
from dractl.model import Device, Target


def device(name: str, **attributes: str) -> TriedDevice:
    value = {
        "name": name,
        "attributes": {key: {"string": text} for key, text in attributes.items()},
    }
    return TriedDevice("gpu.example.com", "node-1", name, Device(value))


def test_true_is_before_false_before_errors_and_larger_groups_are_first() -> None:
    program = environment(Target.of("1.37"), "stored").compile(
        'device.attributes["gpu.example.com"].model == "a"'
    )
    devices = [
        device("none"),
        device("b", model="b"),
        device("c1", model="c"),
        device("c2", model="c"),
    ]
    found = try_on_devices(program, [*devices, device("a", model="a")])
    assert [(trial.result, [one.name for one in trial.devices]) for trial in found] == [
        (True, ["a"]),
        (False, ["c1", "c2"]),
        (False, ["b"]),
        (None, ["none"]),
    ]
    assert found[3].error == "no such key: model"
