"""Reading selectors: what they refer to, the conditions they join, the values that devices have
instead.
"""

from __future__ import annotations

import pytest

from dractl.cluster.devices import Devices
from dractl.explain.reasons.misfits import format_expression, values_text
from dractl.explain.selectors import misfit
from tests.explain.cluster import device, slice_of, state_of

HOPPER = "device.attributes['gpu.nvidia.com'].architecture == 'Hopper'"


def devices_of(*found: dict) -> tuple[Devices, list]:
    from dractl.allocation import DeviceID

    state = state_of(slice_of("gpu.nvidia.com", "node-1", *found))
    return Devices(state, state.slices), [
        DeviceID("gpu.nvidia.com", "node-1", d["name"]) for d in found
    ]


def test_values_are_counted() -> None:
    devices, lost = devices_of(
        *(device(f"gpu-{i}", architecture="Ampere") for i in range(3)),
        device("gpu-3", architecture="Ada"),
    )
    assert misfit(devices, HOPPER, lost).frequent_values == ("Ampere", "Ada")
    assert values_text(misfit(devices, HOPPER, lost)) == "architecture: Ampere ×3, Ada"


def test_the_same_name_in_another_domain_is_the_nearest() -> None:
    devices, lost = devices_of(device("gpu-0", **{"resource.kubernetes.io/pcieRoot": "pci0000:17"}))
    wrong = misfit(devices, "device.attributes['gpu.nvidia.com'].pcieRoot == 'x'", lost)
    assert wrong.nearest == "resource.kubernetes.io/pcieRoot"
    assert "0 of 1 devices" in values_text(wrong)


def test_a_misspelt_domain_finds_the_right_one() -> None:
    devices, lost = devices_of(device("gpu-0", **{"resource.kubernetes.io/pcieRoot": "pci0000:17"}))
    wrong = misfit(devices, "'pcieRoot' in device.attributes['resource.kubernbetes.io']", lost)
    assert wrong.nearest == "resource.kubernetes.io/pcieRoot"


def test_unpublished_name_comes_before_values() -> None:
    devices, lost = devices_of(device("gpu-0", architecture="Ampere", productName="A100"))
    wrong = misfit(
        devices, f"{HOPPER} && device.attributes['gpu.nvidia.com'].productNam == 'H100'", lost
    )
    assert (wrong.nearest, wrong.frequent_values) == ("gpu.nvidia.com/productName", ())


@pytest.mark.parametrize(
    ("text", "drivers"), [("device.driver == 'gpu.amd.com'", ("gpu.nvidia.com",)), ("false", ())]
)
def test_drivers_are_counted_where_the_driver_is_compared(
    text: str, drivers: tuple[str, ...]
) -> None:
    devices, lost = devices_of(device("gpu-0"))
    assert misfit(devices, text, lost).frequent_values == drivers


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HOPPER, "architecture == 'Hopper'"),
        ("device.capacity['d'].memory.compareTo(quantity('80Gi')) >= 0", "memory >= 80Gi"),
        ("device.attributes['d'].v.isLessThan(semver('1.2.3'))", "v < 1.2.3"),
        ("true && // device.attributes['d'].x\n   device.attributes['d'].y == 1", "true && y == 1"),
        (
            "device.driver == 'a b' && has(device.attributes['d'].x)",
            "device.driver == 'a b' && has(x)",
        ),
        (
            "device.attributes['resource.kubernetes.io'].numaNode == 0",
            "resource.kubernetes.io/numaNode == 0",
        ),
        (
            "device.driver == \"device.attributes['d'].x\"",
            "device.driver == \"device.attributes['d'].x\"",
        ),
    ],
)
def test_a_selector_as_a_person_would_say_it(text: str, said: str) -> None:
    assert format_expression(text) == said
