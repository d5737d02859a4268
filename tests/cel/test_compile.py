"""Verdicts at admission. Expectations are upstream's: recorded from its own compiler, or from its compile_test.go."""

from __future__ import annotations

import pytest

from tests.cel.conftest import compiled


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        (
            "device.driver == 1",
            "found no matching overload for '_==_' applied to '(string, int)'",
            14,
        ),
        (
            "'abc'.contains(1)",
            "found no matching overload for 'contains' applied to 'string.(int)'",
            14,
        ),
        (
            "contains('a', 'b')",
            "found no matching overload for 'contains' applied to '(string, string)'",
            8,
        ),
        ("true && 1", "expected type 'bool' but found 'int'", 8),
        ("devices.driver == 'x'", "undeclared reference to 'devices' (in container '')", 0),
        ("device.name == 'x'", "undefined field 'name'", 6),
        ("device.driver.size", "type 'string' does not support field selection", 13),
        ('duration("1d") > duration("1s")', "invalid duration argument", 9),
        ('timestamp("2024-01-01") == timestamp(0)', "invalid timestamp argument", 10),
        ("device.driver.matches('[')", "invalid matches argument", 22),
        ("[1, 'a'].size() == 2", "expected type 'int' but found 'string'", 4),
        ("{'a': 1, 'b': 'c'}.size() == 2", "expected type 'int' but found 'string'", 14),
        (
            "'%d'.format([1.5]) == ''",
            "error during formatting: decimal clause can only be used on integers, was given double",
            13,
        ),
        (
            "'%s'.format([1, 2]) == ''",
            "too many arguments supplied to string.format (expected 1, got 2)",
            11,
        ),
        ("1e309 == 1.0", "invalid double literal", 0),
        ("kubernetes.Quantity == int", "undeclared reference to 'kubernetes' (in container '')", 0),
    ],
)
def test_issue(text: str, message: str, offset: int) -> None:
    program = compiled(text, "1.37", "new")
    assert [(issue.message, issue.offset) for issue in program.issues] == [(message, offset)]
    assert program.error_type == "RuleInvalid"
    assert program.admission == "invalid"
    assert program.error is not None
    assert program.error.startswith(f"compilation failed: ERROR: <input>:1:{offset + 1}: {message}")


def test_places_count_code_points_and_lines() -> None:
    program = compiled('"ünï" == "x" &&\n  "😀" == 1', "1.37", "new")
    (issue,) = program.issues
    assert (issue.line, issue.column, issue.offset) == (2, 7, 22)
    assert program.error == (
        "compilation failed: ERROR: <input>:2:7: found no matching overload for '_==_' applied to '(string, int)'\n"
        ' |   "😀" == 1\n'
        " | ...．..^"
    )


def test_every_operand_other_than_bool_is_reported() -> None:
    program = compiled("1 && 'a' || 2.5", "1.37", "new")
    assert [issue.offset for issue in program.issues] == [0, 5, 12]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1", "int"),
        ('device.attributes["d"]', "map(string, google.protobuf.Any)"),
        ('device.capacity["d"].m', "kubernetes.Quantity"),
        ("dyn(true)", "dyn"),
        ('duration("1s")', "google.protobuf.Duration"),
    ],
)
def test_output_type(text: str, kind: str) -> None:
    program = compiled(text, "1.37", "new")
    assert program.error == f"must evaluate to bool or the unknown type, not {kind}"
    assert program.issues[0].offset is None


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('false && int("1.5") == 1', "type conversion error from 'string' to 'int'"),
        ('bool("yes")', "type conversion error from 'string' to 'bool'"),
        ("uint(-1) == 1u", "unsigned integer overflow"),
        ('string(b"\\xff") == ""', "invalid UTF-8 in bytes, cannot convert to string"),
        ("int(dyn(true)) == 1", "no such overload: int(bool)"),
        ('device.driver.find("[") == ""', "error parsing regexp: missing closing ]: `[`"),
        ("[int].exists(x, x == int)", "reference to undefined type: x"),
    ],
)
def test_failing_constants_are_reported(text: str, error: str) -> None:
    """Program construction folds constants: the API server reports an internal error."""
    program = compiled(text, "1.37", "new")
    assert program.error == f"program instantiation failed: {error}"
    assert program.error_type == "InternalError"


def test_arithmetic_is_not_folded() -> None:
    assert compiled("1 / 0 == 1", "1.37", "new").admission == "ok"


@pytest.mark.parametrize(
    ("text", "cost"),
    [  # dynamic-resource-allocation/cel/compile_test.go, and the server's verdicts
        ('device.driver == "dra.example.com"', 4),
        ('device.attributes["dra.example.com"].name', 4),
        ('device.attributes["dra.example.com"].name == "fish"', 5),
        ('device.attributes["dra.example.com"].name.isGreaterThan(semver("0.0.1"))', 6),
        ('device.capacity["dra.example.com"].name.isGreaterThan(quantity("1Ki"))', 6),
        ('device.attributes.exists_one(x, x == "dra.example.com")', 164),
        ("has(device.driver)", 1),
        ("true", 0),
    ],
)
def test_cost(text: str, cost: int) -> None:
    assert compiled(text, "1.37", "new").max_cost == cost


@pytest.mark.parametrize(
    "text",
    [
        'device.capacity["d"].x != quantity("1")',
        'type(device.attributes["d"].x) == int',
        '["a", "b"].join() == "ab"',
        'device.attributes["d"].?x == optional.of("a")',
        (
            "[1, 2].all(a, [1, 2, 3, 4, 5, 6, 7, 8, 9, 0].all(b, [1, 2, 3, 4, 5, 6, 7, 8, 9, 0].all(c, "
            "[1, 2, 3, 4, 5, 6, 7, 8, 9, 0].all(d, [1, 2, 3, 4, 5, 6, 7, 8, 9, 0].all(e, "
            "[1, 2, 3, 4, 5, 6, 7, 8, 9, 0].all(f, device.attributes.all(g, true)))))))"
        ),
    ],
)
def test_too_complex(text: str) -> None:
    program = compiled(text, "1.37", "new")
    assert program.ok
    assert program.admission == "tooComplex"
    assert program.max_cost is not None
    assert program.max_cost > 1_000_000


def test_length_counts_bytes() -> None:
    padded = 'device.driver == "' + "ü" * 5112 + '"'
    assert len(padded) < 10240 < len(padded.encode())
    assert compiled(padded, "1.37", "new").admission == "tooLong"
    assert compiled('device.driver == "' + "u" * 5112 + '"', "1.37", "new").admission == "ok"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\x00",
        "\ud800 == 1",
        "has(",
        "`",
        "//",
        "x.exists_one(",
        "(" * 5000,
        "[" * 3000 + "]" * 3000,
        "1" + "+1" * 4000,
        "-" * 3000 + "1",
        "a." * 5000 + "b",
        "has(device.driver)" * 500,
        "[1].exists_one(x,y," * 400,
        "true?true:" * 900,
        'device.driver + "' + "x" * 1_000_000 + '"',
    ],
)
def test_hostile_texts_end_in_a_verdict(text: str) -> None:
    program = compiled(text, "1.37", "new")
    assert program.admission in ("invalid", "tooLong")
    assert program.error
    assert program.issues
    assert all(issue.offset is None or 0 <= issue.offset <= len(text) for issue in program.issues)


def test_too_deep_for_the_library_is_reported() -> None:
    program = compiled("[" * 40 + "1" + "]" * 40 + ".size() == 1", "1.37", "new")
    assert [issue.message for issue in program.issues] == ["too deeply nested to check"]
    assert compiled("(" * 100 + "true" + ")" * 100, "1.37", "new").ok
    assert "recursion limit" in (
        compiled("(" * 250 + "true" + ")" * 250, "1.37", "new").error or ""
    )
