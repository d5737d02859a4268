"""Durations as Go's time.ParseDuration reads them."""

from __future__ import annotations

import pytest

from dractl.cel.functions.time import parse_duration


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("-0", 0),
        ("1h15m30.918273645s", 4530918273645),
        ("-1.5us", -1500),
        (".5s", 500000000),
        ("1.s", 1000000000),
        ("0.3333333333333333333h", 1200000000000),
        ("9223372036854775807ns", 2**63 - 1),
        ("-9223372036854775808ns", -(2**63)),
        ("00000000000000000000000000001s", 10**9),
        ("9223372036854775808ns", None),
        ("99999999999999999999999h", None),
        (".s", None),
        ("", None),
        ("-", None),
        ("1", None),
        ("1d", None),
        ("1s ", None),
        ("s", None),
    ],
)
def test_a_duration_in_nanoseconds(text: str, nanoseconds: int | None) -> None:
    assert parse_duration(text) == nanoseconds
