"""Which snapshots check-driver takes, and what it says of others."""

from __future__ import annotations

import pytest

from dractl.errors import InputError, UsageError
from tests.driver_checks.published import check, codes, resource_slice

DEVICE = "gpu-0 {uuid: {string: GPU-1}}"


def test_slices_of_two_drivers_need_a_choice() -> None:
    both = resource_slice(DEVICE) + resource_slice(DEVICE, driver="nic.example.com", name="nic")
    with pytest.raises(
        UsageError, match=r"slices of 2 drivers: gpu\.example\.com, nic\.example\.com"
    ) as error:
        check(both)
    assert error.value.hint == "name one with --driver NAME"
    assert codes(both, driver="nic.example.com") == set()


def test_a_misspelt_driver_has_its_nearest_name() -> None:
    with pytest.raises(UsageError, match=r"no slice of driver gpu\.exmaple\.com") as error:
        check(resource_slice(DEVICE), driver="gpu.exmaple.com")
    assert error.value.hint == "did you mean gpu.example.com?"


def test_snapshots_out_of_order() -> None:
    newer, older = (
        resource_slice(DEVICE, metadata=f"uid: u-1, generation: {version}") for version in (4, 2)
    )
    with pytest.raises(
        UsageError, match=r"snapshots out of order: node-1-gpu has metadata\.generation 4"
    ):
        check(newer, older)
    assert codes(older, newer) == set()


def test_recreated_object_is_no_wrong_order() -> None:
    before = resource_slice(DEVICE, metadata="uid: u-1, generation: 4")
    assert codes(before, resource_slice(DEVICE, metadata="uid: u-2, generation: 1")) == set()


def test_a_file_without_slices() -> None:
    with pytest.raises(InputError, match=r"no ResourceSlice"):
        check(resource_slice(DEVICE), "apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n")
