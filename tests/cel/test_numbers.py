"""Numbers in strings are those of Go's strconv: ParseInt, ParseUint and ParseFloat with 64 bits."""

from __future__ import annotations

import math

import pytest

from dractl.cel.numbers import parse_double, parse_int, parse_uint


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("9223372036854775807", 9223372036854775807),
        ("9223372036854775808", None),
        ("-9223372036854775808", -9223372036854775808),
        ("-9223372036854775809", None),
        ("+0000000000000000000000000007", 7),
        ("1_000", None),
        ("", None),
    ],
)
def test_integers_end_at_64_bits(text: str, number: int | None) -> None:
    assert parse_int(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("18446744073709551615", 18446744073709551615),
        ("18446744073709551616", None),
        ("00018446744073709551616", None),
        ("+1", None),
    ],
)
def test_unsigned_integers_end_at_64_bits(text: str, number: int | None) -> None:
    assert parse_uint(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("inf", math.inf),
        ("+Inf", math.inf),
        ("-Infinity", -math.inf),
        ("0x1p4", 16.0),
        ("1_0.5", 10.5),
        ("1e309", None),
    ],
)
def test_doubles(text: str, number: float | None) -> None:
    assert parse_double(text) == number


def test_nan_has_no_sign() -> None:
    found = parse_double("NaN")
    assert found is not None
    assert math.isnan(found)
    assert parse_double("-nan") is None
