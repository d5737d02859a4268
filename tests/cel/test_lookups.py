"""Lookups and demands of an expression: the same from the checked tree and from the tokens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from dractl.cel.lookups import from_tokens
from tests.cel.conftest import compiled
from tests.conftest import WHOLE

if TYPE_CHECKING:
    from pathlib import Path

    from dractl.cel.lookups import Lookup

GPU = 'device.attributes["gpu.example.com"]'
OTHER = 'device.attributes["d.example.com"]'


def names(lookups: tuple[Lookup, ...]) -> list[tuple[str, str, str | None]]:
    return [(found.kind, found.domain, found.name) for found in lookups]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{GPU}.architecture == 'Hopper'", [("attributes", "gpu.example.com", "architecture")]),
        (f"{GPU}.?x.orValue(1) == 1", [("attributes", "gpu.example.com", "x")]),
        (f"{GPU}['x'] == 1", [("attributes", "gpu.example.com", "x")]),
        (f"{GPU}[?'x'].hasValue()", [("attributes", "gpu.example.com", "x")]),
        (
            "device . attributes [ r'd.example.com' ] . x == 1",
            [("attributes", "d.example.com", "x")],
        ),
        (f"'pcieRoot' in {GPU}", [("attributes", "gpu.example.com", "pcieRoot")]),
        (
            "device.capacity['d'].memory.compareTo(quantity('1Gi')) > 0",
            [("capacity", "d", "memory")],
        ),
        (
            f"has({GPU}.a) && {GPU}.b > 1",
            [("attributes", "gpu.example.com", "a"), ("attributes", "gpu.example.com", "b")],
        ),
        (f"{GPU}.size() > 1", [("attributes", "gpu.example.com", None)]),
        (f"{GPU}.exists(k, k == 'x')", [("attributes", "gpu.example.com", None)]),
        ("device.driver == 'gpu.example.com'", []),
        # what only looks like a lookup
        (f"device.driver == '{GPU}.x'".replace('"', r"\""), []),
        (f"true // {GPU}.x == 1", []),
        (f"// {GPU}.x\n{GPU}.y == 1", [("attributes", "gpu.example.com", "y")]),
    ],
)
def test_lookups_are_found_however_they_are_written(
    text: str, expected: list[tuple[str, str, str | None]]
) -> None:
    program = compiled(text)
    assert program.ok, program.error
    assert names(program.lookups) == expected
    assert names(from_tokens(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        f"{GPU}.architecture == 'Hopper'",
        f"has({GPU}.a) && 'b' in {GPU} && ({GPU}.?c.orValue(1)) == {OTHER}['x']",
        "device.capacity['d'].memory.compareTo(quantity('1Gi')) > 0",
    ],
)
def test_places_are_those_of_the_names(text: str) -> None:
    for found in compiled(text).lookups:
        assert text[slice(*found.domain_span)] == found.domain
        assert text[slice(*found.name_span)] == found.name
        assert found.domain in text[found.start : found.end]
        assert (found.name or "") in text[found.start : found.end]


def test_a_lookup_is_followed_through_cel_bind() -> None:
    text = f"cel.bind(a, {GPU}, a.index > 1 && a['type'] == 'gpu')"
    found = compiled(text).lookups
    assert names(found) == [
        ("attributes", "gpu.example.com", "index"),
        ("attributes", "gpu.example.com", "type"),
    ]
    assert [text[item.start : item.end] for item in found] == ["a.index", "a['type']"]


def test_test_of_an_entry_is_distinguished_from_reading_it() -> None:
    found = compiled(
        f"has({GPU}.a) && 'b' in {GPU} && {GPU}.?c.orValue(0) == 0 && {GPU}.d == 0"
    ).lookups
    assert [(item.name, item.tested, item.optional) for item in found] == [
        ("a", True, False),
        ("b", True, False),
        ("c", False, True),
        ("d", False, False),
    ]


def test_uncompilable_expression_is_read_from_its_tokens() -> None:
    program = compiled(f"{GPU}.model = 'x' && device.driver == 'gpu.example.com'")
    assert not program.ok
    assert names(program.lookups) == [("attributes", "gpu.example.com", "model")]
    assert program.driver == "gpu.example.com"


def test_tree_and_tokens_agree_on_the_recorded_expressions(shared: Path) -> None:
    compared = 0
    for line in (shared / "conformance/cel/cases.jsonl").read_text("utf-8").splitlines()[::10]:
        text = json.loads(line)["expression"]
        program = compiled(text)
        if (
            program.ok
            and "cel.bind" not in text
            and "\\" not in text
            and "device.attributes[" in text
        ):
            whole = [
                found
                for found in program.lookups
                if found.domain and text[found.start :].startswith("device")
            ]
            tokens = from_tokens(text)
            assert [found for found in whole if not found.tested] == [
                found for found in tokens if not found.tested
            ], text
            compared += bool(tokens)
    assert compared > (50 if WHOLE else 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{GPU}.a == 1 && {GPU}.b == 2 && true", [f"{GPU}.a == 1", f"{GPU}.b == 2", "true"]),
        (f"({GPU}.a == 1 && true) && false", [f"{GPU}.a == 1", "true", "false"]),
        (f"({GPU}.a == 1 || true) && false", [f"({GPU}.a == 1 || true)", "false"]),
        ("true || false && true", ["true || false && true"]),
        ("true ? false : true && false", ["true ? false : true && false"]),
        ("device.driver == 'a && b' && true", ["device.driver == 'a && b'", "true"]),
        (f"{GPU}.a == 1 // && comment\n && {GPU}.b == 2", [f"{GPU}.a == 1", f"{GPU}.b == 2"]),
        ("[1].all(x, x > 0 && x < 2)", ["[1].all(x, x > 0 && x < 2)"]),
        ("  ( true )  ", ["true"]),
        (f"{GPU}.?y.orValue(1) == 1 && true", [f"{GPU}.?y.orValue(1) == 1", "true"]),
    ],
)
def test_conjunction_is_split_into_its_conditions(text: str, expected: list[str]) -> None:
    parts = compiled(text).conjuncts
    assert [part.text for part in parts] == expected
    assert [text[part.start : part.end] for part in parts] == expected


@pytest.mark.parametrize(
    ("text", "drivers", "driver"),
    [
        ("device.driver == 'x'", {"x"}, "x"),
        ("'x' == device.driver", {"x"}, "x"),
        ("true && device.driver == 'x'", {"x"}, "x"),
        ("device.driver in ['x']", {"x"}, "x"),
        ("device.driver in ['x', 'y']", {"x", "y"}, None),
        ("device.driver == 'x' || device.driver == 'y'", {"x", "y"}, None),
        ("!(device.driver == 'x')", set(), None),
        ("device.driver != 'x'", set(), None),
        ("true // device.driver == 'x'", set(), None),
        (
            "'device.driver == \"x\"' == device.driver",
            {'device.driver == "x"'},
            'device.driver == "x"',
        ),
        ("device.driver in ['x', 'y'] && $", {"x", "y"}, None),
        ("$ // device.driver == 'x'", set(), None),
    ],
)
def test_drivers_asked_for(text: str, drivers: set[str], driver: str | None) -> None:
    program = compiled(text)
    assert program.drivers == drivers
    assert program.driver == driver


@pytest.mark.parametrize(
    ("text", "operator", "values"),
    [
        (f"{GPU}.a == 'x'", "==", ["x"]),
        (f"5 < {GPU}.a", ">", [5]),
        (f"{GPU}.a in ['x', 'y']", "in", ["x", "y"]),
        (f"{GPU}.a.compareTo(semver('1.2.3')) >= 0", ">=", ["1.2.3"]),
        (f"{GPU}.a.isLessThan(semver('1.2.3'))", "<", ["1.2.3"]),
        (f"{GPU}.?a.orValue(0) > -1", ">", [-1]),
    ],
)
def test_comparisons_with_literals(text: str, operator: str, values: list[object]) -> None:
    (found,) = compiled(text).comparisons
    assert found.lookup is not None
    assert found.lookup.name == "a"
    assert (found.operator, [literal.value for literal in found.literals]) == (operator, values)
    assert found.required
    for literal in found.literals:
        assert text[literal.start : literal.end] == literal.text


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("quantity('80Gi')", "quantity('81920Mi')", True),
        ("quantity('80Gi')", "quantity('80G')", False),
        # resource.ParseQuantity trims nothing, so CEL refuses these two at run time
        ("quantity('80Gi')", "quantity(' 80Gi')", False),
        ("quantity('80Gi')", "quantity('80Gi\\n')", False),
        ("semver('1.2.3+a')", "semver('1.2.3+b')", True),
        ("semver('1.2.3')", "semver('1.2.4')", False),
        ("1", "1.0", True),
        ("'1'", "1", False),
    ],
)
def test_literals_have_the_same_key_if_cel_calls_them_equal(
    one: str, other: str, equal: bool
) -> None:
    program = compiled(f"{GPU}.a == {one} && {GPU}.a == {other}")
    assert program.ok, program.error
    first, second = (literal for found in program.comparisons for literal in found.literals)
    assert (first.key == second.key) is equal


def test_a_comparison_below_or_and_not_is_not_required() -> None:
    text = f"({GPU}.a == 1 || {GPU}.b == 2) && !({GPU}.c == 3) && {GPU}.d == 4"
    found = [
        (item.lookup.name if item.lookup else "", item.required, item.negated)
        for item in compiled(text).comparisons
    ]
    assert found == [
        ("a", False, False),
        ("b", False, False),
        ("c", False, True),
        ("d", True, False),
    ]


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("device . driver.startsWith('x')", True),
        ("true // device.driver", False),
        ("'device.driver' == 'x'", False),
        ("device.driver ==", True),
    ],
)
def test_the_driver_is_mentioned_outside_comments_and_strings(text: str, mentions: bool) -> None:
    assert compiled(text).mentions_driver is mentions
