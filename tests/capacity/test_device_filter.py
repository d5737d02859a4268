"""The devices that a listing keeps."""

from typing import Any

import pytest

from dractl.allocation import Features
from dractl.capacity import list_device_plugins, take_inventory
from dractl.capacity.device_filter import DeviceFilter
from dractl.cluster.labels import parse_labels
from dractl.errors import InputError, UsageError
from tests.explain.cluster import (
    allocation,
    claim,
    device,
    device_class,
    node,
    pod,
    request,
    slice_of,
    state_of,
)

FEATURES = Features.for_release("1.37")
STATE = state_of(
    device_class("gpu", "device.driver == 'gpu.nvidia.com'"),
    node("a"),
    slice_of("gpu.nvidia.com", "a", device("gpu-0"), device("gpu-1", productName="H100")),
    slice_of("dra.net", "a", device("nic-0")),
    claim("c", request("r", "gpu"), status=allocation("a", ("gpu.nvidia.com", "gpu-0"), pod="p")),
    pod("p", metadata={"labels": {"app": "trainer"}, "uid": "uid-p"}, spec={"nodeName": "a"}),
)
INVENTORY = take_inventory(STATE, FEATURES)


@pytest.mark.parametrize(
    ("conditions", "names"),
    [
        ({}, {"gpu-0", "gpu-1", "nic-0"}),
        ({"node": "a"}, {"gpu-0", "gpu-1", "nic-0"}),
        ({"drivers": ("dra.net",)}, {"nic-0"}),
        ({"device_class": "gpu"}, {"gpu-0", "gpu-1"}),
        ({"states": frozenset({"held"})}, {"gpu-0"}),
        ({"expression": "'productName' in device.attributes['gpu.nvidia.com']"}, {"gpu-1"}),
        ({"labels": parse_labels("app=trainer")}, {"gpu-0"}),
        ({"labels": parse_labels("app=other")}, set()),
        ({"namespace": "elsewhere"}, set()),
    ],
)
def test_a_device_is_listed_if_it_meets_all_conditions(
    conditions: dict[str, Any], names: set[str]
) -> None:
    rows = DeviceFilter(**conditions).select_devices(STATE, FEATURES, INVENTORY)
    assert {row.id.device for row in rows} == names


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({"node": "b"}, "--node b: no such node in the input"),
        ({"drivers": ("gpu.nvidia.co",)}, "--driver gpu.nvidia.co: no such driver in the input"),
        ({"device_class": "gpus"}, "--class gpus: no such class in the input"),
    ],
)
def test_name_absent_from_the_input_is_an_error(conditions: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        DeviceFilter(**conditions).check_names(STATE, INVENTORY, list_device_plugins(STATE))
    assert caught.value.message == message


def test_uncompilable_expression_is_an_error() -> None:
    with pytest.raises(UsageError, match="--cel does not compile"):
        DeviceFilter(expression="device.").select_devices(STATE, FEATURES, INVENTORY)
