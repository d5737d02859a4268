"""Traces: what each part of an expression came to, and where it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cel.conftest import compiled

if TYPE_CHECKING:
    from dractl.cel.tracing import Trace
    from dractl.model import Device


def trace_of(text: str, gpu: Device) -> Trace:
    return compiled(text).trace("gpu.example.com", gpu)


def outline(trace: Trace, depth: int = 1) -> list[str]:
    """The parts of the first levels as ``text = value``."""
    lines = [f"{trace.text} = {trace.shown}"]
    if depth:
        for child in trace.children:
            lines += outline(child, depth - 1)
    return lines


def test_conjunction(gpu: Device) -> None:
    a = 'device.attributes["gpu.example.com"].index > 2'
    b = 'device.attributes["gpu.example.com"].type == "nic"'
    trace = trace_of(f"({a}) && {b}", gpu)
    assert outline(trace) == [f"({a}) && {b} = false", f"{a} = true", f"{b} = false"]
    left, right = trace.children
    assert trace.text[left.start : left.end] == a
    assert trace.text[right.start : right.end] == b
    assert right.children[0].shown == '"gpu"'


def test_short_circuited_parts_are_absent_from_the_trace(gpu: Device) -> None:
    assert outline(trace_of("false && 1/0 == 1", gpu)) == [
        "false && 1/0 == 1 = false",
        "false = false",
    ]
    assert outline(trace_of("true ? 1 < 2 : 1/0 == 1", gpu)) == [
        "true ? 1 < 2 : 1/0 == 1 = true",
        "true = true",
        "1 < 2 = true",
    ]


def test_errors_stand_where_they_arise(gpu: Device) -> None:
    trace = trace_of('device.attributes["gpu.example.com"].nope == 1 || true', gpu)
    assert trace.value is True
    failed = trace.children[0]
    assert failed.error == failed.children[0].error == "no such key: nope"
    assert failed.children[0].text == 'device.attributes["gpu.example.com"].nope'


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "[1, 2].exists(x, x > 1)",
            ["[1, 2].exists(x, x > 1) = true", "[1, 2] = [1, 2]", "x > 1 = false", "x > 1 = true"],
        ),
        (
            "[1, 2].map(x, (x + 1)) == [2, 3]",
            [
                "[1, 2].map(x, (x + 1)) == [2, 3] = true",
                "[1, 2].map(x, (x + 1)) = [2, 3]",
                "[2, 3] = [2, 3]",
            ],
        ),
        (
            "[3, 1].sortBy(x, -x) == [3, 1]",
            [
                "[3, 1].sortBy(x, -x) == [3, 1] = true",
                "[3, 1].sortBy(x, -x) = [3, 1]",
                "[3, 1] = [3, 1]",
            ],
        ),
        (
            "optional.of(1).optMap(x, x + 1).hasValue()",
            [
                "optional.of(1).optMap(x, x + 1).hasValue() = true",
                "optional.of(1).optMap(x, x + 1) = optional.of(2)",
            ],
        ),
        ("has(device.driver)", ["has(device.driver) = true"]),
        (
            'cel.bind(d, device.driver, d == "x")',
            ['cel.bind(d, device.driver, d == "x") = false', 'd == "x" = false'],
        ),
        ("sets.contains([1], [2])", ["sets.contains([1], [2]) = false", "[1] = [1]", "[2] = [2]"]),
        ("!(1 < 2)", ["!(1 < 2) = false", "1 < 2 = true"]),
        ("-(1 + 2) * 3 == -9", ["-(1 + 2) * 3 == -9 = true", "-(1 + 2) * 3 = -9", "-9 = -9"]),
    ],
)
def test_macros_and_calls(text: str, lines: list[str], gpu: Device) -> None:
    assert outline(trace_of(text, gpu)) == lines


@pytest.mark.parametrize(
    "text", ["optional.of(1).optMap(x, x + 1)", "optional.of(1).optFlatMap(x, optional.of(x + 1))"]
)
def test_a_macro_that_binds_a_variable_is_one_part(text: str, gpu: Device) -> None:
    """Its expansion has a second node of the same text, whose value is not an optional."""
    lines = outline(trace_of(f"{text}.hasValue()", gpu), 9)
    assert [line for line in lines if line.startswith(f"{text} =")] == [f"{text} = optional.of(2)"]
    assert "x + 1 = 2" in lines


def test_functions_are_named(gpu: Device) -> None:
    trace = trace_of('[1].exists(x, x == 1) && has(device.driver) && "a".startsWith("a")', gpu)
    names = set()

    def collect(part: Trace) -> None:
        names.add(part.function)
        for child in part.children:
            collect(child)

    collect(trace)
    assert {"exists", "has", "startsWith", "_&&_", "_==_"} <= names


def test_values_are_shown_as_cel_writes_them(gpu: Device) -> None:
    trace = trace_of(
        '[dyn({"a": 1u, "b": 2u}), dyn(b"x"), dyn(null), dyn(2.5), dyn(duration("90s"))] == '
        '[dyn(device.capacity["gpu.example.com"].memory)]',
        gpu,
    )
    assert [child.shown for child in trace.children] == [
        '[{"a": 1u, "b": 2u}, b"x", null, 2.5, duration("90s")]',
        '[quantity("80Gi")]',
    ]


def test_a_faulty_device(gpu: Device) -> None:
    from dractl.model import Device

    trace = trace_of("true", Device({"name": "d", "attributes": {"v": {"version": "x"}}}))
    assert trace.error == "attribute v: parse semantic version: No Major.Minor.Patch elements found"


def test_a_long_loop_is_kept_in_part(gpu: Device) -> None:
    trace = trace_of("lists.range(5000).all(x, x >= 0)", gpu)
    assert trace.value is True
    assert len(trace.children) < 2500
