"""Selectors with which tests/conformance/fuzz_cel.py found a difference. What is expected is what upstream's program
(cel-RELEASE) answered."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cel.conftest import compiled, evaluated

A = 'device.attributes["gpu.example.com"]'


@pytest.mark.parametrize(
    ("text", "result"),
    [
        # what add and sub give is unknown to the == of a quantity on its left
        ('quantity("2") == quantity("1").add(1)', "no such overload"),
        ('quantity("1").add(1) == quantity("2")', True),
        ('quantity("1").add(1) == quantity("3").sub(quantity("1"))', "no such overload"),
        ('quantity("2") in [quantity("1").add(1)]', False),
        ('quantity("1").add(1) in [quantity("2")]', True),
        ('[quantity("2")] == [quantity("1").add(1)]', True),
        ('quantity("1").add(1).isGreaterThan(quantity("1").sub(1))', True),
        # nothing is looked for in an empty list
        ("1 / 0 in []", False),
        (f"{A}.nope in []", False),
        # ext/lists.go takes the arguments of sortBy for lists
        (
            "[1].sortBy(x, 1 / 0) == [1]",
            "internal error: interface conversion: *types.Err is not traits.Lister: missing method Add",
        ),
        (
            f"{A}.nope.sortBy(x, 1).size() == 1",
            "internal error: interface conversion: *types.Err is not traits.Lister: missing method Add",
        ),
        ("dyn([3, 1]).sortBy(x, x) == [1, 3]", True),
        ("lists.range(1000001).size() > 0", "lists.range: size 1000001 exceeds maximum allowed (1000000)"),
        (
            'cidr("10.0.0.0/8").containsCIDR("10.1.0.0")',
            (
                "network address parse error during conversion from string: network address parse error during "
                "conversion from string: netip.ParsePrefix(\"10.1.0.0\"): no '/'"
            ),
        ),
        ('cidr("10.0.0.0/8").containsIP("10.1")', "no such overload"),
        # formats that are no literals
        ('("%" + "").format([]) == ""', "index 0 out of range"),
        (
            '("%.d" + "").format([1]) == ""',
            (
                "could not parse formatting clause: error while parsing precision: error while converting precision to "
                'integer: strconv.Atoi: parsing "": invalid syntax'
            ),
        ),
        (
            '("%.5" + "").format([1]) == ""',
            (
                "could not parse formatting clause: error while parsing precision: could not find end of precision "
                "specifier"
            ),
        ),
        # hosts, as Go 1.26 reads them
        (
            'url("https://fd00::/8") == url("https://a")',
            'URL parse error during conversion from string: parse "https://fd00::/8": invalid port "::" after host',
        ),
        (
            'url("http://[1.2.3.4]/").getHost() == ""',
            'URL parse error during conversion from string: parse "http://[1.2.3.4]/": invalid IP-literal',
        ),
        ('url("ftp://a:1:2/").getHost() == "a:1:2"', True),
        ('url("http://[fe80::1%25eth0]/").getHostname() == "fe80::1%eth0"', True),
        ('url("HTTP://h/#") == url("http://h/")', True),
        # a free type is bound by the first overload that takes it, whatever the values are then
        ("[].sum() == 0", True),
        ('sets.contains(dyn(["1"]).reverse().map(k, int(k)), [1])', "no such overload: int(string)"),
        ('type(ip("::1")) == net.IP', True),
    ],
)
def test_evaluation(text: str, result: Any) -> None:
    assert evaluated(text) == result


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1].flatten() == [1]", "1:12: found no matching overload for 'flatten' applied to 'list(int).()'"),
        (
            '[[1]].flatten() == ["a"]',
            "1:17: found no matching overload for '_==_' applied to '(list(int), list(string))'",
        ),
        ("[].sum() == 0.0", "1:10: found no matching overload for '_==_' applied to '(int, double)'"),
        ("type(1) == dyn", "1:12: undeclared reference to 'dyn' (in container '')"),
        (
            "'%d'.format([[1]]) == ''",
            "1:14: error during formatting: decimal clause can only be used on integers, was given list",
        ),
        (
            "'%s'.format([{'a': [quantity('1')]}]) == ''",
            (
                "1:29: error during formatting: string clause can only be used on strings, bools, bytes, ints, "
                "doubles, maps, lists, types, durations, and timestamps, was given kubernetes.Quantity"
            ),
        ),
        ("'%z'.format([]) == ''", "1:12: index 0 out of range"),
        ("'%'.format([]) == ''", "1:11: unexpected end of string"),
    ],
)
def test_what_does_not_compile(text: str, message: str) -> None:
    error = compiled(text).error
    assert error is not None
    assert error.startswith(f"compilation failed: ERROR: <input>:{message}\n")


@pytest.mark.parametrize("name", ["duration", "timestamp"])
def test_what_is_no_type(name: str) -> None:
    program = compiled(f"type(1) == {name}")
    assert (program.error, program.error_type) == (
        f"program instantiation failed: reference to undefined type: {name}",
        "InternalError",
    )


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("[['a']].flatten().isSorted()", 1844674407370955297),
        ("[['a'].map(x, x)].flatten().min() == ''", 1844674407370955321),
    ],
)
def test_cost(text: str, cost: int) -> None:
    assert compiled(text).max_cost == cost
