"""The part of an expression that decided, and the values that it saw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cel.conftest import compiled

if TYPE_CHECKING:
    from dractl.model import Device

GPU = 'device.attributes["gpu.example.com"]'


@pytest.mark.parametrize(
    ("text", "part", "result", "seen"),
    [
        (
            f'{GPU}.index > 2 && {GPU}.type == "nic"',
            f'{GPU}.type == "nic"',
            False,
            {"gpu.example.com/type": '"gpu"'},
        ),
        (
            f'({GPU}.index > 2 && ({GPU}.type == "nic"))',
            f'{GPU}.type == "nic"',
            False,
            {"gpu.example.com/type": '"gpu"'},
        ),
        (
            f'{GPU}.index > 5 || {GPU}.type == "nic"',
            f'{GPU}.index > 5 || {GPU}.type == "nic"',
            False,
            {"gpu.example.com/index": "3", "gpu.example.com/type": '"gpu"'},
        ),
        (
            f"{GPU}.nope == 1 || {GPU}.index == 3",
            f"{GPU}.index == 3",
            True,
            {"gpu.example.com/index": "3"},
        ),
        (f"false && {GPU}.nope == 1", "false", False, {}),
        (
            f'"nope" in {GPU} && {GPU}.nope == 1',
            f'"nope" in {GPU}',
            False,
            {"gpu.example.com/nope": None},
        ),
        (
            f"{GPU}.?nope.orValue(1) == 2",
            f"{GPU}.?nope.orValue(1) == 2",
            False,
            {"gpu.example.com/nope": None},
        ),
        (
            'device.driver == "x"',
            'device.driver == "x"',
            False,
            {"device.driver": '"gpu.example.com"'},
        ),
        (
            'device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("100Gi"))',
            'device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("100Gi"))',
            False,
            {"gpu.example.com/memory": 'quantity("80Gi")'},
        ),
        (
            f"cel.bind(a, {GPU}, a.index == 3 && a.index == 4)",
            "a.index == 4",
            False,
            {"gpu.example.com/index": "3"},
        ),
        (
            f'"x" in {GPU} ? true : {GPU}.index == 4',
            f"{GPU}.index == 4",
            False,
            {"gpu.example.com/index": "3"},
        ),
    ],
)
def test_decision_names_the_deciding_part_and_its_values(
    text: str, part: str, result: bool, seen: dict[str, str | None], gpu: Device
) -> None:
    found = compiled(text).decision("gpu.example.com", gpu)
    assert (found.text, found.result, found.error) == (part, result, None)
    assert text[found.start : found.end] == part
    assert {part.name: part.value for part in found.seen} == seen


def test_error_is_decided_by_the_failed_operation(gpu: Device) -> None:
    found = compiled(f'{GPU}.index > 2 && {GPU}.nope == "x"').decision("gpu.example.com", gpu)
    assert (found.text, found.result, found.error) == (f"{GPU}.nope", None, "no such key: nope")
    assert {part.name: part.value for part in found.seen} == {"gpu.example.com/nope": None}


def test_an_error_of_an_operator_shows_its_operands(gpu: Device) -> None:
    found = compiled(f'{GPU}.driverVersion > "500"').decision("gpu.example.com", gpu)
    assert found.text == f'{GPU}.driverVersion > "500"'
    assert found.error is not None
    assert {part.name: part.value for part in found.seen} == {
        "gpu.example.com/driverVersion": 'semver("580.65.6")'
    }


@pytest.mark.parametrize("condition", ["x % 7 != -1 - y", "y % 7 >= x * y"])
def test_a_decision_shares_the_loops_of_the_verdict(
    condition: str, gpu: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = f"lists.range(20).all(x, lists.range(20).all(y, {condition} - {GPU}.index * 0))"
    alone, after = compiled(loop), compiled(loop)
    expected = alone.decision("gpu.example.com", gpu)
    verdict = after.evaluate("gpu.example.com", gpu)
    monkeypatch.setattr("dractl.cel.closures._evaluate", None)
    assert after.decision("gpu.example.com", gpu) == expected
    assert verdict is expected.result
