"""Properties: verdicts and traces agree, memory changes nothing, and every part of a trace stands where it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given, settings, strategies as st

from dractl.cel import EvalError
from dractl.model import Device
from tests.cel.conftest import compiled

if TYPE_CHECKING:
    from dractl.cel.tracing import Trace

DRIVER = "d.example.com"
NAMES = ("a", "b", "c")
ATTRIBUTES = st.dictionaries(
    st.sampled_from([*NAMES, "d.example.com/a", "other.io/a", "other.io/b"]),
    st.one_of(
        st.integers(-2, 2).map(lambda v: {"int": v}),
        st.booleans().map(lambda v: {"bool": v}),
        st.sampled_from(["", "x", "gpu-1"]).map(lambda v: {"string": v}),
        st.sampled_from(["1.0.0", "2.0.0-rc.1", "bad"]).map(lambda v: {"version": v}),
        st.lists(st.integers(0, 2), max_size=2).map(lambda v: {"ints": v}),
    ),
    max_size=4,
)
DEVICES = st.builds(
    lambda attributes, value: Device(
        {
            "name": "d",
            "attributes": attributes,
            "capacity": {"m": {"value": value}},
            "allowMultipleAllocations": True,
        }
    ),
    ATTRIBUTES,
    st.sampled_from(["1", "1Gi", "1500m"]),
)

LEAVES = st.sampled_from(
    [
        *(
            "1",
            "0",
            "2u",
            "-1",
            "1.5",
            "'x'",
            "''",
            "true",
            "false",
            "null",
            "[1, 2]",
            "['x']",
            "{'x': 1}",
            "dyn([])",
        ),
        *(
            "device.driver",
            "device.allowMultipleAllocations",
            "device.attributes",
            "device.attributes['other.io']",
        ),
        *(
            f"device.attributes['{domain}'].{name}"
            for domain in ("d.example.com", "other.io")
            for name in NAMES
        ),
        *(f"device.attributes['d.example.com'].?{name}" for name in NAMES),
        *(f"has(device.attributes['{DRIVER}'].{name})" for name in NAMES),
        *(
            "device.capacity['d.example.com'].m",
            "device.capacity['d.example.com']['n']",
            "semver('1.0.0')",
            "quantity('1')",
        ),
        *(
            "duration('1s')",
            "timestamp(0)",
            "optional.of(1)",
            "optional.none()",
            "'a' in device.attributes['d.example.com']",
        ),
    ]
)


def _larger(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    inner = st.one_of(
        parts, parts.map("dyn({})".format)
    )  # dyn, so that most combinations pass the type checker
    operators = st.sampled_from(["&&", "||", "==", "!=", "<", ">=", "+", "-", "*", "/", "%", "in"])
    members = st.sampled_from(
        [
            *(
                "size()",
                "startsWith('g')",
                "split('-')",
                "exists(x, x == 1)",
                "all(x, x != 2)",
                "map(x, dyn(x) == 1)",
            ),
            *(
                "filter(x, x == 1 || x == 'x')",
                "exists_one(x, x == 1)",
                "orValue(3)",
                "hasValue()",
                "compareTo(semver('1.0.0'))",
            ),
            *(
                "isGreaterThan(quantity('1'))",
                "transformList(i, x, i)",
                "all(k, v, v == 1)",
                "distinct()",
                "first()",
                "x",
                "?x",
            ),
            *("optMap(x, x)", "includes(1)", "matches('^[a-z]+')", "asInteger()"),
        ]
    )
    functions = st.sampled_from(
        [
            "!({})",
            "-({})",
            "dyn({})",
            "type({}) == int",
            "size({})",
            "string({})",
            "[{}]",
            "{{'k': {}}}",
            "int({})",
        ]
    )
    return st.one_of(
        st.builds("({}) {} ({})".format, inner, operators, inner),
        st.builds("({}).{}".format, inner, members),
        st.builds(lambda function, a: function.format(a), functions, inner),
        st.builds("({}) ? ({}) : ({})".format, inner, inner, inner),
        st.builds("cel.bind(v, {}, v == {})".format, inner, inner),
        st.builds("({})[{}]".format, inner, inner),
        st.builds("({})[?{}]".format, inner, inner),
    )


EXPRESSIONS = st.recursive(
    st.one_of(LEAVES, LEAVES.map("dyn({})".format)), _larger, max_leaves=5
).map(lambda text: f"dyn({text}) == true")


def result(text: str, device: Device) -> bool | str:
    """A fresh evaluation: nothing is remembered."""
    from dractl.cel.compiler import compile_program

    program = compile_program(text, compiled("true").declarations)
    answer = program.evaluate(DRIVER, device)
    return answer.text if isinstance(answer, EvalError) else answer


@settings(max_examples=400, deadline=None)
@given(EXPRESSIONS, DEVICES)
def test_verdict_and_trace_agree(text: str, device: Device) -> None:
    program = compiled(text)
    if not program.ok:
        return
    verdict = program.evaluate(DRIVER, device)
    trace = program.trace(DRIVER, device)
    if isinstance(verdict, EvalError):
        assert trace.error == verdict.text
    else:
        assert trace.error is None
        assert trace.value is verdict
    check_places(trace, text)


def check_places(trace: Trace, source: str) -> None:
    assert 0 <= trace.start < trace.end <= len(source)
    assert source[trace.start : trace.end] == trace.text
    assert trace.text.count("(") == trace.text.count(")")
    assert trace.text.count("[") == trace.text.count("]")
    for child in trace.children:
        check_places(child, source)


@settings(max_examples=200, deadline=None)
@given(EXPRESSIONS, st.lists(DEVICES, min_size=2, max_size=4))
def test_memory_changes_no_answer(text: str, devices: list[Device]) -> None:
    program = compiled(text)
    if not program.ok:
        return
    for device in devices:
        answer = program.evaluate(DRIVER, device)
        assert (answer.text if isinstance(answer, EvalError) else answer) == result(text, device)


@settings(max_examples=200, deadline=None)
@given(EXPRESSIONS, DEVICES, ATTRIBUTES)
def test_unread_attributes_do_not_change_the_result(
    text: str, device: Device, others: dict[str, Any]
) -> None:
    program = compiled(text)
    if (
        not program.ok
        or program.reads is None
        or any("version" in value for value in others.values())
    ):
        return
    read = {
        name for field in program.reads for name in (field.name, f"{field.domain}/{field.name}")
    }
    changed = {name: value for name, value in device.mapping["attributes"].items() if name in read}
    changed |= {name: value for name, value in others.items() if name not in read}
    if any(value.get("version") == "bad" for value in device.mapping["attributes"].values()):
        return
    assert result(text, device) == result(text, Device({**device.mapping, "attributes": changed}))


@settings(max_examples=300, deadline=None)
@given(
    st.text(alphabet=st.sampled_from("'\"\\()[]{}.,?:&|=!<>+-*/%`ab1 udevice\n\téx"), max_size=40)
)
def test_no_text_breaks_the_compiler(text: str) -> None:
    program = compiled(text)
    assert program.ok or (program.error and program.issues)
    for issue in program.issues:
        assert issue.offset is None or 0 <= issue.offset <= len(text)
