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
        (
            "lists.range(1000001).size() > 0",
            "lists.range: size 1000001 exceeds maximum allowed (1000000)",
        ),
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
        ("dyn({})['%.0e'.format([2.5])]", "no such key: 2.500000×10⁰⁰"),
        ("dyn({})['%.15e'.format([-1.5])]", "no such key:  -1.500000×10⁰⁰"),
        ("dyn({})['%e|%.2f'.format(['NaN', -0.0])]", "no such key:    NaN|0.00"),
        (
            "dyn({})[string(duration('2562047h47m16.854775807s'))]",
            "no such key: 9223372036.854776s",
        ),
        ("dyn({})[[-0.0].sum()]", "no such key: 0"),
        (
            "dyn({})[format.dns1123Label().validate('a.b').value()[0]]",
            "no such key: must not contain dots",
        ),
        ("'a'.find(dyn(1)) == ''", "no such overload: find(string, int)"),
        ("dyn(1).find('a') == ''", "no such overload"),
        # what cannot be compared
        ("optional.of(quantity('1')) == optional.of(dyn(null))", "no such overload"),
        ("dyn(quantity('1')) == null", False),
        ("optional.ofNonZeroValue(optional.none()).hasValue()", True),
        ("[dyn(1), dyn('a')].isSorted() && [2.0, 0.0 / 0.0, 1.0].isSorted()", True),
        ("[dyn(1), dyn(null)].isSorted()", "no such overload"),
        ("[dyn(1), dyn({'a': 1})].min() == 1", "no such overload"),
        ("dyn([1]).sortBy(x, dyn(quantity('1'))) == [1]", "list elements must be comparable"),
        (
            "dyn(1).sortBy(x, 1).size() == 1",
            "internal error: interface conversion: *types.Err is not traits.Lister: missing method Add",
        ),
        (
            "dyn(b'a') in ['a']",
            "internal error: runtime error: hash of unhashable type types.Bytes",
        ),
        # a free type is bound by the first overload that takes it, whatever the values are then
        ("[].sum() == 0", True),
        (
            'sets.contains(dyn(["1"]).reverse().map(k, int(k)), [1])',
            "no such overload: int(string)",
        ),
        ('type(ip("::1")) == net.IP', True),
    ],
)
def test_evaluation(text: str, result: Any) -> None:
    assert evaluated(text) == result


V = f"{A}.?driverVersion"


@pytest.mark.parametrize(
    ("text", "before", "since"),
    [
        # cel-go 0.26 adapts again what an optional holds, when it comes from a variable or a branch
        (
            f'cel.bind(v, {V}, v.value()) == semver("580.65.6")',
            "unsupported conversion to ref.Val: (semver.Version)580.65.6",
            True,
        ),
        (
            f"{V}.optMap(v, v).orValue(1) == ''",
            "unsupported conversion to ref.Val: (semver.Version)580.65.6",
            "no such overload",
        ),
        (
            f'{V}.optMap(v, v) == optional.of(semver("580.65.6"))',
            "unsupported conversion to ref.Val: (semver.Version)580.65.6",
            True,
        ),
        (
            '(true ? optional.of(quantity("2")) : optional.none()).value() == quantity("2")',
            "unsupported conversion to ref.Val: (*resource.Quantity)2",
            True,
        ),
        (f"cel.bind(v, {V}, v.hasValue())", True, True),
        (f"{V}.optMap(v, v.major() > 9).orValue(false)", True, True),
        ("'a'.indexOf('', 100) == 100 && 'a'.lastIndexOf('', 100) == 100", True, False),
        ("'a'.indexOf('', -1) == -1", True, "index out of range: -1"),
        (
            "url('https://::1').getHost() == '::1'",
            True,
            'URL parse error during conversion from string: parse "https://::1": invalid port "::1" after host',
        ),
    ],
)
def test_between_releases(text: str, before: Any, since: Any) -> None:
    assert evaluated(text, release="1.35") == before
    assert evaluated(text) == since


@pytest.mark.parametrize(
    "text",
    [
        "has // here\n( device\n . // there\n driver )",
        "true && has(\n device\n.attributes)",
        "!has(device.capacity) || true",
    ],
)
def test_has_over_lines(text: str) -> None:
    assert evaluated(text) is True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[1].flatten() == [1]",
            "1:12: found no matching overload for 'flatten' applied to 'list(int).()'",
        ),
        (
            '[[1]].flatten() == ["a"]',
            "1:17: found no matching overload for '_==_' applied to '(list(int), list(string))'",
        ),
        (
            "[].sum() == 0.0",
            "1:10: found no matching overload for '_==_' applied to '(int, double)'",
        ),
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
        ("[1].map(1, true) == []", "1:9: argument is not an identifier"),
        ("[1].filter(a.b, true) == []", "1:13: argument is not an identifier"),
        ("[1].sortBy(1, 2) == [1]", "1:12: argument is not an identifier"),
        ("[1].sortBy(a.b, 2) == [1]", "1:13: argument is not an identifier"),
        ("a.true", "1:3: Syntax error: mismatched input 'true' expecting IDENTIFIER"),
        ("'a\\b\n' == ''", "1:1: Syntax error: token recognition error at: ''a\\b\n'"),
        ("'%'.format([]) == ''", "1:11: unexpected end of string"),
    ],
)
def test_uncompilable_expressions_have_upstreams_message(text: str, message: str) -> None:
    error = compiled(text).error
    assert error is not None
    assert error.startswith(f"compilation failed: ERROR: <input>:{message}\n")


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (
            "device.driver && foo == 1",
            [
                "7 expected type 'bool' but found 'string'",
                "18 undeclared reference to 'foo' (in container '')",
            ],
        ),
        (
            'x || device.attributes["a"] || (1 + 2) && true',
            [
                "1 undeclared reference to 'x' (in container '')",
                "23 expected type 'bool' but found 'map(string, any)'",
                "35 expected type 'bool' but found 'int'",
            ],
        ),
        (
            '.startsWith("a") == .x.y',
            [
                "12 found no matching overload for 'startsWith' applied to '(string)'",
                "22 undeclared reference to '.x' (in container '')",
            ],
        ),
        ("has(object.attributes.driver)", ["5 undeclared reference to 'object' (in container '')"]),
        (
            # the operand of optMap is checked twice
            "object.attributes['d'].?x.optMap(v, v == 1).orValue(false)",
            ["1 undeclared reference to 'object' (in container '')"] * 2,
        ),
        (
            "attributes('5').sign() == 1",
            [
                "11 undeclared reference to 'attributes' (in container '')",
                "21 found no matching overload for 'sign' applied to '!error!.()'",
            ],
        ),
        (
            "device.capacity['a'].all(k, device.capacity['a'][k].sign() >= 0)",
            ["57 found no matching overload for 'sign' applied to 'kubernetes.Quantity.()'"],
        ),
        (
            "{'a': 1}[?'b'].semver(0) == 0",
            ["22 found no matching overload for 'semver' applied to 'optional_type(int).(int)'"],
        ),
        (
            "device.attributes['a'].format.named('uuid') == 1",
            ["36 undeclared reference to 'named' (in container '')"],
        ),
    ],
)
def test_several_issues(text: str, messages: list[str]) -> None:
    assert [
        f"{issue.column} {issue.message}" for issue in compiled(text, mode="new").issues
    ] == messages


def test_quoted_names_beside_a_parse_error_are_reported() -> None:
    issues = compiled("device.attributes.?`lists.example.com`size", "1.36").issues
    assert [(issue.column, issue.message) for issue in issues] == [
        (20, "unsupported syntax: '`'"),
        (39, "Syntax error: extraneous input 'size' expecting <EOF>"),
    ]


def test_a_field_without_a_name() -> None:
    messages = [issue.message for issue in compiled("a.?1").issues]
    assert messages == [
        "Syntax error: mismatched input '1' expecting {IDENTIFIER, ESC_IDENTIFIER}",
        "unsupported ident kind",
    ]


@pytest.mark.parametrize("name", ["duration", "timestamp"])
def test_undefined_type_is_an_internal_error(name: str) -> None:
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
        # the paths of both variables are one slice: the second one's size counts for the first
        (f"{A}.exists(k, v, k.contains(k))", 1764),
        (f"{A}.exists(k, k.contains(k))", 708),
        ("device.attributes.exists(d, m, d.contains(d))", 1763),
        ("device.attributes.exists(d, m, m.exists(a, b, a.contains(d)))", 56515),
        (f"cel.bind(d, {A}, d.exists(k, d[k] == k))", 495),
        (f"cel.bind(d, {A}, d.exists(k, k == d[k]))", 399),
        ('cel.bind(d, device.capacity["d"], d.exists(k, k.contains("aa") && d[k] == d.x))', 495),
    ],
)
def test_cost(text: str, cost: int) -> None:
    assert compiled(text).max_cost == cost
