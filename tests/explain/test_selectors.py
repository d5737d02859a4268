"""Reading selectors: what they refer to, the conditions they join, the values that devices have instead."""

from __future__ import annotations

import pytest

from dractl.cluster.devices import Devices
from dractl.explain.selectors import conjuncts, misfit, references
from tests.explain.cluster import device, slice_of, state_of

HOPPER = "device.attributes['gpu.nvidia.com'].architecture == 'Hopper'"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HOPPER, [("attributes", "gpu.nvidia.com", "architecture")]),
        ('device.attributes["d"].?x.orValue(1) == 1', [("attributes", "d", "x")]),
        ("device.attributes['d']['x'] == 1", [("attributes", "d", "x")]),
        (
            "'pcieRoot' in device.attributes['resource.kubernetes.io']",
            [("attributes", "resource.kubernetes.io", "pcieRoot")],
        ),
        ("device.capacity['d'].memory.compareTo(quantity('1Gi')) > 0", [("capacity", "d", "memory")]),
        (
            "has(device.attributes['d'].a) && device.attributes['d'].b > 1",
            [("attributes", "d", "a"), ("attributes", "d", "b")],
        ),
        ("device.driver == 'd'", []),
    ],
)
def test_references_are_found_however_they_are_written(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert [(r.kind, r.domain, r.name) for r in references(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a && b && c", ["a", "b", "c"]),
        ("(a && b) && c", ["a", "b", "c"]),
        ("(a || b) && c", ["(a || b)", "c"]),
        ("a || b && c", ["a || b && c"]),
        ("a ? b : c && d", ["a ? b : c && d"]),
        ("x == 'a && b' && c", ["x == 'a && b'", "c"]),
        ("f(a && b)", ["f(a && b)"]),
        ("  ( a )  ", ["a"]),
        ("x.?y.orValue(1) == 1 && z", ["x.?y.orValue(1) == 1", "z"]),
    ],
)
def test_conditions_that_must_all_hold(text: str, expected: list[str]) -> None:
    parts = conjuncts(text)
    assert [part.text for part in parts] == expected
    assert [text[part.start : part.end] for part in parts] == expected


def devices_of(*found: dict) -> tuple[Devices, list]:
    from dractl.allocation import DeviceID

    state = state_of(slice_of("gpu.nvidia.com", "node-1", *found))
    return Devices(state, state.slices), [DeviceID("gpu.nvidia.com", "node-1", d["name"]) for d in found]


def test_values_are_counted() -> None:
    devices, lost = devices_of(
        *(device(f"gpu-{i}", architecture="Ampere") for i in range(3)), device("gpu-3", architecture="Ada")
    )
    assert misfit(devices, HOPPER, lost).found == ("Ampere", "Ada")
    assert "Ampere ×3, Ada" in misfit(devices, HOPPER, lost).detail


def test_the_same_name_in_another_domain_is_the_nearest() -> None:
    devices, lost = devices_of(device("gpu-0", **{"resource.kubernetes.io/pcieRoot": "pci0000:17"}))
    wrong = misfit(devices, "device.attributes['gpu.nvidia.com'].pcieRoot == 'x'", lost)
    assert wrong.nearest == "resource.kubernetes.io/pcieRoot"
    assert "0 of 1 devices" in wrong.detail


def test_a_misspelt_domain_finds_the_right_one() -> None:
    devices, lost = devices_of(device("gpu-0", **{"resource.kubernetes.io/pcieRoot": "pci0000:17"}))
    wrong = misfit(devices, "'pcieRoot' in device.attributes['resource.kubernbetes.io']", lost)
    assert wrong.nearest == "resource.kubernetes.io/pcieRoot"
