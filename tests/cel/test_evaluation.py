"""Results of expressions on a device. Expectations are those of kube-scheduler's evaluator."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.cel import EvalError, Field
from dractl.model import Device
from tests.cel.conftest import GPU, compiled, evaluated

A = 'device.attributes["gpu.example.com"]'
C = 'device.capacity["gpu.example.com"]'


@pytest.mark.parametrize(
    ("text", "result"),
    [
        (f'{A}.type == "gpu"', True),
        (f'{A}.index == "3"', False),
        (f"{A}.index == 3.0", True),
        (f'{A}.driverVersion == "580.65.6"', "no such overload"),
        (f'"580.65.6" == {A}.driverVersion', False),
        (f'{A}.driverVersion != "580.65.6"', True),
        (
            f'{A}.driverVersion in ["580.65.6"]',
            "internal error: runtime error: hash of unhashable type cel.Semver",
        ),
        (f'{A}.driverVersion.compareTo(semver("570.0.0")) > 0', True),
        (f'{A}.driverVersion == semver("580.65.6+build")', True),
        (f"{A}.type > 3", "no such overload"),
        ("dyn(null) < dyn(null)", "no such overload: _<_"),
        ("9223372036854775807 == dyn(9223372036854775807.0)", True),
        ("dyn([0.0/0.0]) == dyn([0.0/0.0])", False),
        ("dyn(1) == dyn(1u)", True),
        ("dyn(true) == dyn(1)", False),
        ("{1: 'a'}[dyn(1.0)] == 'a'", True),
        ("{true: 'a'}.exists(k, k == true)", True),
        ("false < true", True),
        ("2.5 * 1.5 == 3.75", True),
        ("7.5 / 2.5 + 0.5 - 1.25 == 2.25", True),
        # kube-openapi validation/strfmt IsDateTime: hours to 23, minutes and seconds to 59
        ("!format.datetime().validate('2026-02-28T23:59:59Z').hasValue()", True),
        ("format.datetime().validate('2026-02-28T24:00:00Z').hasValue()", True),
        ("format.datetime().validate('2026-02-28T23:60:00Z').hasValue()", True),
        ("format.datetime().validate('2026-02-29T00:00:00Z').hasValue()", True),
        ('"\\U0001F600" > "\\uFFFF"', True),
    ],
)
def test_equality_and_order(text: str, result: Any) -> None:
    assert evaluated(text) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        (f"{A}.missing == 1 && false", False),
        (f"{A}.missing == 1 || true", True),
        (f"{A}.missing == 1 || {A}.other == 1", "no such key: missing"),
        (f"{A}.index || true", True),
        (f"{A}.index || false", "no such overload"),
        (f"{A}.index && false", False),
        ("[0, 1].exists(x, 1/x == 1)", True),
        ("[0, 1].exists_one(x, 1/x == 1)", "division by zero"),
        ("cel.bind(x, 1/0, true)", True),
        ("cel.bind(x, 1/0, x == 1)", "division by zero"),
        ("optional.of(1).orValue(1/0) == 1", True),
        (f"{A}.index ? true : false", "no such overload"),
    ],
)
def test_logic_and_laziness(text: str, result: Any) -> None:
    assert evaluated(text) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("has(device.attributes.nope)", True),
        ('device.attributes[?"nope"].hasValue()', True),
        ('"nope" in device.attributes', False),
        ('device.attributes["nope"] == {}', True),
        ("device.attributes[dyn(1)].size() == 0", True),
        ('has(device.attributes["nope"].x)', False),
        (f"has({A}.type)", True),
        (f"{A}.missing == 1", "no such key: missing"),
        (f'{A}.?missing.orValue("none") == "none"', True),
        (f"{A}.type.foo == 1", "no such key: foo"),
        (f"{A}.index[0] == 1", "no such key: 0"),
        ('device.attributes["resource.kubernetes.io"].pcieRoot == "pci0000:16"', True),
        (f'"type" in {A}', True),
        (
            f'{A}["resource.kubernetes.io/pcieRoot"] == "x"',
            "no such key: resource.kubernetes.io/pcieRoot",
        ),
        ('device.attributes["gpu.example.com/type"].x == 1', "no such key: x"),
        ("type(device) == map", True),
        ("has(device.driver)", True),
        ("device.allowMultipleAllocations", False),
        ("[1, 2][5] == 1", "index out of bounds: 5"),
        ("[1][dyn(1.5)] == 1", "unsupported index value 1.5 in list"),
        (f"{A}.all(k, {A}[k] == {A}[k])", True),
        (f"{A}.type.exists(x, true)", "got 'types.String', expected iterable type"),
    ],
)
def test_access(text: str, result: Any) -> None:
    assert evaluated(text) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        (f'{C}.memory == quantity("81920Mi")', True),
        (f'{C}.memory.isGreaterThan(quantity("79Gi"))', True),
        (f"{C}.memory.asInteger() == 85899345920", True),
        (f"{C}.cores.asInteger() == 2", "cannot convert value to integer"),
        (f"{C}.cores.isInteger()", False),
        ('quantity("1.5Gi").isInteger()', False),
        ('quantity("1K") == quantity("1k")', "unable to parse quantity's suffix"),
        ('quantity("1").add(2).compareTo(quantity("3")) == 0', True),
        ('sign(quantity("-1")) == -1', True),
        ('semver("550.08.1").major() == 550', 'Minor number must not contain leading zeroes "08"'),
        ('semver("v550.08", true).minor() == 8', True),
        (f"{A}.type.major() == 1", "no such overload: major(string)"),
        (f"{A}.index.startsWith('a')", "no such overload"),
        (f"{A}.index.size() == 1", "no such overload: size"),
    ],
)
def test_quantities_and_versions(text: str, result: Any) -> None:
    assert evaluated(text) == result


@pytest.mark.parametrize(
    "text",
    [
        "9223372036854775807 + 1 == 0",
        "-(-9223372036854775807 - 1) == 0",
        "(-9223372036854775807 - 1) / -1 == 0",
        "(-9223372036854775807 - 1) % -1 == 0",
    ],
)
def test_overflow(text: str) -> None:
    assert evaluated(text) == "integer overflow"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("-7 / 2 == -3 && -7 % 2 == -1", True),
        ("1 / 0 == 1", "division by zero"),
        ("1.0 / 0.0 > 1e300", True),
        ("0u - 1u == 0u", "unsigned integer overflow"),
        ('"tacocat".charAt(7) == ""', True),
        ('"tacocat".charAt(8) == ""', "index out of range: 8"),
        ('"a,b,c".split(",", 2) == ["a", "b,c"]', True),
        ('"abc".split("") == ["a", "b", "c"]', True),
        ('"abc".split("", 1) == ["abc"]', True),  # strings.SplitN
        ('"abc".split("", 2) == ["a", "bc"]', True),
        ('"abc".split("", 3) == ["a", "b", "c"]', True),
        ('"abc".split("", 4) == ["a", "b", "c"]', True),
        ('timestamp("2024-01-01T00:00:00Z").getDayOfYear() == 0', True),
        ('timestamp("2024-03-01T00:00:00Z").getDayOfYear() == 60', True),
        ('"abab".lastIndexOf("ab") == 2', True),
        ('"%s %d %.2f %x".format(["a", 2, 1234.5, 255]) == "a 2 1,234.50 ff"', True),
        (
            "'%s'.format([[1, 'a', 2.5, duration('1s')]]) == '[1, \"a\", 2.500000, duration(\"1s\")]'",
            True,
        ),
        ("string(1000000.0) == '1e+06'", True),
        ("string(timestamp('2024-01-01T02:00:00+02:00')) == '2024-01-01T02:00:00+02:00'", True),
        ("timestamp('2024-02-29T12:30:45Z').getHours('America/New_York') == 7", True),
        ("timestamp('2024-02-29T12:30:45Z').getDayOfWeek() == 4", True),
        ("int(duration('1s')) == 1000000000", True),
        ("duration('1h2m3.5s') == duration('3723500ms')", True),
        ("'gpu-12'.matches('^gpu-[0-9]+$')", True),
        ("'a1b22'.findAll('[0-9]+') == ['1', '22']", True),
        ("ip('::1').isLoopback() && ip('10.0.0.1').family() == 4", True),
        (
            "ip('01.2.3.4').family() == 4",
            (
                'IP Address "01.2.3.4" parse error during conversion from string: ParseAddr("01.2.3.4"): '
                "IPv4 field has octet with leading zero"
            ),
        ),
        ("cidr('10.1.2.3/8').masked().ip() == ip('10.0.0.0')", True),
        ("cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", True),
        ("url('https://u@Example.com:80/a%20b?x=1&x=2#f').getQuery() == {'x': ['1', '2']}", True),
        ("url('https://example.com:80/a').getPort() == '80'", True),
        ("format.dns1123Label().validate('Bad').hasValue()", True),
        ("format.named('nope').hasValue()", False),
        ("sets.equivalent([1, 2, 2], [2, 1])", True),
        ("[3, 1, 2].sort() == [1, 2, 3] && ['b', 'a'].sortBy(x, x) == ['a', 'b']", True),
        ("[[1], [2, 3]].flatten() == [1, 2, 3]", True),
        ("[1, 2, 1].distinct() == [1, 2]", True),
        ("{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}", True),
        ("['a', 'b'].transformList(i, x, i) == [0, 1]", True),
        ("optional.of(2).optMap(x, x * 2).value() == 4", True),
        ("[1, ?optional.none()].size() == 1", True),
        ("optional.none()[?'a'].hasValue()", False),
        ("optional.of({'a': 1})[?'a'].value() == 1", True),
        (
            "timestamp('2024-01-01T00:00:00Z').getHours('aa:00') == 0",
            'strconv.Atoi: parsing "aa": invalid syntax',
        ),
        ("[optional.of(1), optional.none()].unwrapOpt() == [1]", True),
    ],
)
def test_functions(text: str, result: Any) -> None:
    assert evaluated(text) == result


def test_invalid_version_fails_every_expression() -> None:
    device = {"attributes": {"driverVersion": {"version": "1.2"}, "x": {"int": 1}}}
    assert (
        evaluated("true", device)
        == "attribute driverVersion: parse semantic version: No Major.Minor.Patch elements found"
    )


def test_an_attribute_without_value_fails_every_expression() -> None:
    assert (
        evaluated("true", {"attributes": {"type": {}}})
        == "attribute type: unsupported attribute value"
    )


def test_list_attributes_by_release() -> None:
    device = {"attributes": {"models": {"strings": ["a", "b"]}}}
    assert (
        evaluated("true", device, release="1.36") == "attribute models: unsupported attribute value"
    )
    assert evaluated(f"{A}.models.exists(m, m == 'b') && {A}.models.includes('a')", device) is True


def test_an_explicit_name_and_a_bare_one_are_in_one_domain() -> None:
    device = {"attributes": {"x": {"int": 1}, "gpu.example.com/y": {"int": 2}}}
    assert evaluated(f"{A}.x == 1 && {A}.y == 2 && {A}.size() == 2", device) is True
    assert evaluated(f"{A}.x == 1", device, driver="other.example.com") == "no such key: x"


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (
            f"{A}.index",
            "CEL result of type int could not be converted to bool: unsupported type conversion from 'int' to bool",
        ),
        (
            f"{A}.type",
            (
                "CEL result of type string could not be converted to bool: unsupported native conversion from "
                "string to 'bool'"
            ),
        ),
        (
            f"{A}.driverVersion",
            (
                "CEL result of type kubernetes.Semver could not be converted to bool: type conversion error from "
                "'Semver' to 'bool'"
            ),
        ),
    ],
)
def test_result_other_than_bool_is_an_error(result: str, text: str) -> None:
    assert evaluated(result) == text
    assert evaluated(f"{A}.healthy") is True


@pytest.mark.parametrize(
    "text",
    [
        "lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, a + b + c >= 0)))",
        (
            "cel.bind(a, 'xxxxxxxxxx'.replace('x', 'yyyyyyyyyy'), cel.bind(b, a.replace('y', a), "
            "cel.bind(c, b.replace('y', b), c.replace('y', c).size() > 0)))"
        ),
        "lists.range(3000).all(a, lists.range(3000).all(b, a + b >= 0)) || true",
    ],
)
def test_endless_evaluations_are_given_up(text: str) -> None:
    assert evaluated(text) == "operation cancelled: actual cost limit exceeded"


def test_reads() -> None:
    assert compiled('device.driver == "d"').reads == {Field("driver")}
    assert compiled(f'has({A}.type) && {C}.memory == quantity("1")').reads == {
        Field("driver"),
        Field("attributes", "gpu.example.com", "type"),
        Field("capacity", "gpu.example.com", "memory"),
    }
    assert compiled(f'cel.bind(d, {A}, d.?type.orValue("") == "gpu")').reads == {
        Field("driver"),
        Field("attributes", "gpu.example.com", "type"),
    }
    assert compiled("1 == 1").reads == frozenset()
    for text in (
        f"{A}.exists(k, k == 'a')",
        f"{A}.size() == 1",
        "device.attributes == {}",
        f"{A}[device.driver] == 1",
        '"d" in device.attributes',
    ):
        assert compiled(text).reads is None, text


def test_equal_devices_are_evaluated_once() -> None:
    program = compiled(f'{A}.type.matches("^g") && device.driver.startsWith("gpu")')
    assert program.evaluate("gpu.example.com", Device(GPU)) is True
    # What is read is the same, so the answer is; what is not read does not matter.
    other = {**GPU, "name": "gpu-1", "attributes": {**GPU["attributes"], "index": {"int": 4}}}  # type: ignore[dict-item]
    assert program.evaluate("gpu.example.com", Device(other)) is True
    changed = {**GPU, "attributes": {"type": {"string": "nic"}}}
    assert program.evaluate("gpu.example.com", Device(changed)) is False
    assert program.evaluate("gpu.other.com", Device(GPU)) == EvalError("no such key: type")


def test_similar_types_are_cached_apart() -> None:
    program = compiled(f"{A}.x == 1")
    results = [
        program.evaluate("gpu.example.com", Device({"attributes": {"x": value}}))
        for value in ({"int": 1}, {"bool": True}, {"string": "1"})
    ]
    assert results == [True, False, False]


def test_uncompilable_program_is_not_evaluated() -> None:
    with pytest.raises(ValueError, match="does not compile"):
        compiled("1 +").evaluate("d", Device(GPU))


@pytest.mark.parametrize(("release", "is_integer"), [("1.37", False), ("1.38", True)])
def test_an_integer_of_nineteen_digits_is_one_from_1_38_on(release: str, is_integer: bool) -> None:
    """kubernetes#141938: AsInt64 of k8s.io/apimachinery, which apiserver/pkg/cel/library/quantity.go calls."""
    largest = 'quantity("9223372036854775807")'
    assert evaluated(f"{largest}.isInteger()", release=release) is is_integer
    integer = evaluated(f"{largest}.asInteger() == 9223372036854775807", release=release)
    assert integer == (True if is_integer else "cannot convert value to integer")


@pytest.mark.parametrize(("release", "is_zero"), [("1.37", False), ("1.38", True)])
def test_a_zero_of_a_large_scale_is_a_number_from_1_38_on(release: str, is_zero: bool) -> None:
    """kubernetes#141937: 0 times infinity is no number."""
    text = 'quantity("0e400").asApproximateFloat() == 0.0'
    assert evaluated(text, release=release) is is_zero
