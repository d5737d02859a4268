"""Possible values of an expression on any device, by its logic alone."""

from __future__ import annotations

import pytest

from dractl.cel import EvalError, environment
from dractl.model import Device, Target

A = 'device.attributes["a.b"]'
ALWAYS, NEVER, UNSURE = {True}, {False}, {True, False}
DEVICES = [
    Device({"name": "d", "attributes": {"s": s, "n": n, "f": f}})
    for s in ({"string": "x"}, {"string": "y"}, {"string": "z"}, {"int": 1})
    for n in ({"int": 1}, {"int": 2}, {"string": "x"})
    for f in ({"bool": True}, {"bool": False}, {"string": "x"})
] + [Device({"name": "d"})]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("true", ALWAYS),
        (f"{A}.n == 1 || true", ALWAYS),
        (f"{A}.n == 1 && false", NEVER),
        (f"has({A}.n) || !has({A}.n)", ALWAYS),
        (f"has({A}.n) && !has({A}.n)", NEVER),
        (f"has({A}.n) ? true : true", ALWAYS),
        ("device.driver == device.driver", ALWAYS),
        ('device.driver != "a" || device.driver != "b"', ALWAYS),
        ('device.driver == "a" && device.driver == "b"', NEVER),
        ('device.driver in ["a", "b"] || "a" != device.driver', ALWAYS),
        ('device.driver in ["a", "b"] || device.driver == "a"', UNSURE),
        ('device.driver == "a" || device.driver == "b"', UNSURE),
        (f'{A}.s != "x" || {A}.s != "y"', {True, None}),
        (f"{A}.n == {A}.n", {True, None}),
        (f"{A}.f && !{A}.f", {False, None}),
        (f"{A}.f && {A}.f == true", {True, False, None}),
        (f'!has({A}.s) || {A}.s == "x"', {True, False, None}),
        ('double("NaN") == double("NaN")', {True, False, None}),
        (f"cel.bind(x, {A}, x.n == 1 || x.n != 1)", {True, False, None}),
    ],
)
def test_outcomes(expression: str, expected: set[bool | None]) -> None:
    program = environment(Target.of("1.37"), "new").compile(expression)
    assert program.outcomes == expected
    seen = {program.evaluate(driver, device) for driver in ("a.b", "a", "b") for device in DEVICES}
    assert {None if isinstance(result, EvalError) else result for result in seen} <= expected


def test_uncompilable_expression_is_never_a_tautology() -> None:
    assert environment(Target.of("1.37"), "new").compile("device.").outcomes == {True, False, None}
