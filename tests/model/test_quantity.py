"""Quantities. ``quantities.jsonl`` is what k8s.io/apimachinery v0.37.1 says: ParseQuantity, String, Value, MilliValue,
AsInt64, Sign, Add, Sub and Cmp. ``../data/quantities.json`` is what v0.37.2 and v0.38.0-alpha.2 say."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings, strategies as st

from dractl.model import Quantity, SaturatingQuantity
from dractl.model.quantity import FORMAT_ERROR, NUMERIC_ERROR, SUFFIX_ERROR

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent / "quantities.jsonl").read_bytes().splitlines()
]
PARSED = [row for row in ROWS if isinstance(row["in"], str)]
SUMS = [row for row in ROWS if isinstance(row["in"], list)]


def told(text: str) -> dict[str, Any]:
    try:
        quantity = Quantity.parse(text)
    except ValueError as error:
        return {"in": text, "error": str(error)}
    return {
        "in": text,
        "text": str(quantity),
        "value": quantity.value(),
        "milli": quantity.milli_value(),
        "format": quantity.format,
        "int64": quantity.is_int64(),
        "sign": quantity.sign(),
    }


@pytest.mark.parametrize("row", PARSED, ids=lambda row: row["in"] or "empty")
def test_parsing_as_upstream(row: dict[str, Any]) -> None:
    assert told(row["in"]) == row


@pytest.mark.parametrize("row", SUMS, ids=lambda row: " ".join(row["in"]))
def test_arithmetic_as_upstream(row: dict[str, Any]) -> None:
    operator, left, right = row["in"]
    a, b = Quantity.parse(left), Quantity.parse(right)
    result = a + b if operator == "a" else a - b
    assert (a > b) - (a < b) == row["cmp"]
    assert (str(result), result.value(), result.format, result.is_int64()) == (
        row["text"],
        row["value"],
        row["format"],
        row["int64"],
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5, "5"),
        (1.5, "1500m"),
        (1e21, "1e+21"),
        (1e-7, "100e-9"),
        (-0.0, "0"),
        ("\u2003 1Gi\n", "1Gi"),
    ],
)
def test_quantity_is_parsed_from_json_values(value: Any, text: str) -> None:
    assert str(Quantity.parse(value)) == text


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (True, FORMAT_ERROR),
        (float("nan"), FORMAT_ERROR),
        ("1" * 100_000, NUMERIC_ERROR),
        ("1Ki" * 50_000, FORMAT_ERROR),
        ("1e" + "9" * 10_000, SUFFIX_ERROR),
        (10**5000, NUMERIC_ERROR),
    ],
    ids=["bool", "nan", "digits", "suffixes", "exponent", "integer"],
)
def test_invalid_quantity_is_refused(value: Any, error: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(error)}$"):
        Quantity.parse(value)


def test_numbers_beyond_all_measure_are_compared_without_being_written_out() -> None:
    huge, huger = Quantity.parse("1e1000000000"), Quantity.parse("1e1000000001")
    assert huge < huger
    assert huge > Quantity.parse("1")
    assert Quantity.parse("-1e1000000000") < Quantity.parse("0.1")
    assert Quantity.parse("1e-1000000000") == Quantity.parse("1n")
    with pytest.raises(OverflowError):
        huge + Quantity.parse("1")


SUFFIXES = ["", "n", "u", "m", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "e3", "e-3"]
POWERS = {
    **dict(
        zip(
            ["n", "u", "m", "", "k", "M", "G", "T", "P"],
            (Fraction(10) ** e for e in range(-9, 16, 3)),
            strict=True,
        )
    ),
    **dict(zip(["Ki", "Mi", "Gi", "Ti"], (Fraction(1024) ** e for e in range(1, 5)), strict=True)),
    "e3": Fraction(1000),
    "e-3": Fraction(1, 1000),
}
numbers = st.decimals(-(10**9), 10**9, places=4, allow_nan=False)
written = st.tuples(numbers, st.sampled_from(SUFFIXES))


def text_of(number: tuple[Any, str]) -> str:
    return f"{number[0]:f}{number[1]}"


def exact(number: tuple[Any, str]) -> Fraction:
    """The number, rounded up to nanos (away from zero); with a binary suffix at most what an int64 holds."""
    nanos = Fraction(number[0]) * POWERS[number[1]] * 10**9
    rounded = Fraction(math.ceil(abs(nanos)), 10**9)
    if number[1].endswith("i"):
        rounded = min(rounded, Fraction(2**63 - 1))
    return rounded if nanos >= 0 else -rounded


@settings(deadline=None)
@given(written)
def test_the_canonical_form_is_the_same_number(number: tuple[Any, str]) -> None:
    assume(abs(exact(number)) < 10**21)  # upstream prints no suffix above E
    quantity = Quantity.parse(text_of(number))
    again = Quantity.parse(str(quantity))
    assert again == quantity
    assert hash(again) == hash(quantity)
    assert str(again) == str(quantity)


@settings(deadline=None)
@given(written, written)
def test_order_and_sums_are_those_of_the_numbers(a: tuple[Any, str], b: tuple[Any, str]) -> None:
    left, right = Quantity.parse(text_of(a)), Quantity.parse(text_of(b))
    assert (left < right, left == right) == (exact(a) < exact(b), exact(a) == exact(b))
    total, exponent = (left + right).exact()
    assert Fraction(total) * Fraction(10) ** exponent == exact(a) + exact(b)
    assert left + right - right == left


@settings(deadline=None)
@given(written)
def test_a_positive_value_is_rounded_up(number: tuple[Any, str]) -> None:
    value = exact(number)
    assume(0 <= value < 2**63)
    assert Quantity.parse(text_of(number)).value() == math.ceil(value)


@settings(deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_a_quantity_or_a_value_error(text: str) -> None:
    said = told(text)
    assert said.get("error", FORMAT_ERROR) in {FORMAT_ERROR, NUMERIC_ERROR, SUFFIX_ERROR}


@pytest.mark.parametrize(
    "text",
    ["-" + "0" * 20_000 + "!", "0" * 20_000 + "." + "0" * 20_000 + "e+" + "0" * 20_000 + "x"],
)
def test_thousands_of_zeros_without_a_quantity_end_at_once(text: str) -> None:
    """A pattern that goes back over them would not end while the tests run."""
    with pytest.raises(ValueError, match="quantities must match"):
        Quantity.parse(text)


# -- two releases --

TABLE = json.loads((Path(__file__).parents[1] / "data" / "quantities.json").read_bytes())["rows"]


def answers(asked: str | list[str], release: str) -> dict[str, Any]:
    """Return the result of a release for a text, or for a sum or difference."""

    def parse(text: str) -> Quantity:
        quantity = Quantity.parse(text)
        return quantity if release < "1.38" else SaturatingQuantity.of(quantity)

    if isinstance(asked, str):
        try:
            quantity = parse(asked)
        except ValueError as error:
            return {"error": str(error)}
        answer = {"sign": quantity.sign(), "milli": quantity.milli_value()}
    else:
        operator, left, right = asked[0], parse(asked[1]), parse(asked[2])
        quantity = left + right if operator == "a" else left - right
        answer = {"cmp": (left > right) - (left < right)}
    return answer | {
        "text": str(quantity),
        "value": quantity.value(),
        "format": quantity.format,
        "int64": quantity.is_int64(),
    }


@pytest.mark.parametrize("row", TABLE, ids=lambda row: str(row["in"]))
def test_two_releases_as_upstream(row: dict[str, Any]) -> None:
    assert answers(row["in"], "1.37") == row["1.37"]
    assert answers(row["in"], "1.38") == row["1.37"] | row["1.38"]


def test_a_zero_of_a_large_scale_is_no_number_up_to_1_37() -> None:
    """kubernetes#141937: 0 times infinity."""
    zero = Quantity.parse("0e400")
    assert math.isnan(zero.as_approximate_float())
    assert SaturatingQuantity.of(zero).as_approximate_float() == 0


@pytest.mark.parametrize("text", ["1e2147483648", "-10e-2147483648"])
def test_exponent_beyond_the_server_is_refused(text: str) -> None:
    """kubernetes#141203; up to 1.37 the parser does not end."""
    with pytest.raises(ValueError, match=re.escape(SUFFIX_ERROR)):
        Quantity.parse(text)


def test_printed_form_is_not_kept_by_a_saturating_quantity() -> None:
    quantity = Quantity.parse("1000E")
    assert str(quantity) == "1"
    assert str(SaturatingQuantity.of(quantity)) == "1e21"


@given(st.integers(-(10**25), 10**25), st.integers(-9, 12))
def test_integers_of_1_38_are_the_nearest_int64_away_from_zero(unscaled: int, scale: int) -> None:
    number = Fraction(unscaled) * Fraction(10) ** scale
    away = math.ceil(number) if number > 0 else math.floor(number)
    expected = max(-(2**63), min(away, 2**63 - 1))
    assert SaturatingQuantity(unscaled, scale).value() == expected
