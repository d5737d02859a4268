"""DRA601 invalid-quantity-literal."""

from __future__ import annotations

import pytest

from dractl.cel import EvalError, environment
from dractl.model import Device, Target
from tests.lint.written import found, marked, selecting


def larger_than(argument: str) -> str:
    return f'device.capacity["gpu.example.com"].memory.isGreaterThan({argument})'


@pytest.mark.parametrize(
    ("written", "help_"),
    [
        ("6 GiB", "write 6Gi"),
        ("6GB", "write 6G"),
        ("6 K", "write 6k"),
        ("1.5 ti", "write 1.5Ti"),
        (" 6Gi", "write 6Gi"),
        ("6Gi ", "write 6Gi"),
        ("6 ", "write 6;"),
        ("much", "a quantity is a number with a suffix"),
        ("1.2.3 Gi", "a quantity is a number with a suffix"),
        ("", "a quantity is a number with a suffix"),
    ],
)
def test_quantities_refused_by_resource_parse_quantity_are_found(written: str, help_: str) -> None:
    (finding,) = found(selecting(larger_than(f'quantity("{written}")')), "DRA601")
    assert finding.severity == "error"
    assert marked(finding) == written or not written
    assert finding.message.startswith(f'"{written}" is not a quantity')
    assert (finding.help or "").startswith(help_)


@pytest.mark.parametrize("written", ["6Gi", "6", "1.5Ti", "500m", "1e3", "-1", "+.5"])
def test_quantities(written: str) -> None:
    assert found(selecting(larger_than(f'quantity("{written}")')), "DRA601") == []


@pytest.mark.parametrize("written", ["6 GiB", " 6Gi", "6Gi", "1e3", "much"])
def test_the_rule_and_the_evaluation_agree(written: str) -> None:
    program = environment(Target.of(), "stored").compile(f'quantity("{written}").isInteger()')
    fails = isinstance(program.evaluate("d", Device({"name": "d"})), EvalError)
    assert fails == bool(found(selecting(larger_than(f'quantity("{written}")')), "DRA601"))


def test_is_quantity_takes_any_string() -> None:
    assert found(selecting('isQuantity("6 GiB")'), "DRA601") == []


def test_a_call_in_a_string_is_none() -> None:
    assert found(selecting('device.driver == "quantity(6 GiB)"'), "DRA601") == []
