"""Quantities (``10Gi``, ``500m``, ``1e3``), with the arithmetic and the strings of
k8s.io/apimachinery/pkg/api/resource.

The Go type stores a number either as an int64 times a power of ten or as an arbitrary decimal, and
some results depend on the representation (``is_int64``, ``value``, the rounding of negative
numbers), so both are kept here. :class:`Quantity` is the type of releases up to 1.37,
:class:`SaturatingQuantity` the type of 1.38.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache, total_ordering
from typing import Final, Literal, Self

from msgspec import Struct

from dractl.model.go import int64, json_number

Format = Literal["BinarySI", "DecimalSI", "DecimalExponent"]

# quantity.go
FORMAT_ERROR: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
NUMERIC_ERROR: Final = "unable to parse numeric part of quantity"
SUFFIX_ERROR: Final = "unable to parse quantity's suffix"

# Possessive: Go's parser does not backtrack either, and with backtracking, thousands of zeros would
# take minutes.
_SYNTAX = re.compile(
    r"(?P<sign>[+-]?)(?P<zeros>0*+)(?P<num>[0-9]*+)(?P<dot>\.?)(?P<denom>(?<=\.)[0-9]*+|)"
    r"(?P<suffix>[eEinumkKMGTP]*+[-+]?[0-9]*+)",
    re.ASCII,
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = {exponent: suffix for suffix, exponent in _BINARY.items()} | {0: ""}

_NANO = -9
_INT64_DIGITS = 18  # math.go maxInt64Factors
_MAX_INT64 = (1 << 63) - 1
_MIN_INT64 = -(1 << 63)
_MIN_INT32 = -(1 << 31)
_MAX_DIGITS = 4000  # a longer number has no use and would cost quadratic time

_GO_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)


def _ten(exponent: int) -> int:
    """Return ten to the ``exponent``, which is not negative."""
    return int(10**exponent)


def _is_int64(number: int) -> bool:
    return _MIN_INT64 <= number <= _MAX_INT64


Int64Amount = tuple[int, int]
"""An int64 and its power of ten, as in amount.go: a number that Go does not store as a decimal."""


def _divide_away_from_zero(number: int, divisor: int) -> int:
    quotient = -(-abs(number) // divisor)
    return quotient if number >= 0 else -quotient


def _int32(number: int) -> int:
    """Return the number as Go converts it to int32."""
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def _strip_factors(number: int, base: int) -> tuple[int, int]:
    """Return ``number`` without its factors ``base``, and the number of these factors; 0 factors
    for 0.
    """
    times = 0
    while number and number % base == 0:
        number //= base
        times += 1
    return number, times


PLENTY = "1P"
"""An amount that stands for an unknown one: more of a resource than any pod asks for."""


@total_ordering
class Quantity:
    """An exact number with the format in which it was written. Immutable; compared by the number
    alone.

    ``str()`` is the text that the API prints: the canonical form, or the text as written if Go
    keeps it.
    """

    __slots__ = ("_amount", "_exponent", "_fixed", "_text", "_unscaled", "_written", "format")

    format: Format
    """The format in which it was written, and is printed."""

    def __init__(
        self,
        unscaled: int = 0,
        exponent: int = 0,
        format: Format = "DecimalSI",  # noqa: A002
    ) -> None:
        """Make the number ``unscaled`` times ten to the ``exponent``."""
        self._unscaled = unscaled
        self._exponent = exponent
        self._fixed = _is_int64(unscaled)  # stored as int64Amount, not as inf.Dec
        self._amount: Int64Amount | None = None  # stored as int64Amount by 1.38 only
        self.format = format
        self._written: str | None = None  # the text as written, if Go keeps it
        self._text: str | None = None  # its printed text, once there is one

    @classmethod
    def parse(cls, value: str | float) -> Quantity:
        """Parse a value of a JSON document: a string (surrounding space is trimmed) or a number.

        ValueError with Go's text if it is not a quantity (a boolean is not).
        """
        if isinstance(value, bool):
            raise ValueError(FORMAT_ERROR)
        if isinstance(value, float):
            if not math.isfinite(value):
                raise ValueError(FORMAT_ERROR)
            value = json_number(value)
        elif isinstance(value, int):
            if abs(value) >= 10**_MAX_DIGITS:
                raise ValueError(NUMERIC_ERROR)
            value = str(value)
        return _parse(value.strip(_GO_SPACE))

    # -- numbers -----------------------------------------------------------------------------------

    def value(self) -> int:
        """Return the number rounded up to an integer, like ``Value()``: it overflows beyond int64,
        as in Go.
        """
        return self._to_scale(0)

    def milli_value(self) -> int:
        """Return the thousandths, rounded up, like ``MilliValue()``."""
        return self._to_scale(-3)

    def _to_scale(self, scale: int) -> int:
        shift = self._exponent - scale
        if self._fixed:  # amount.go AsScaledInt64: rounds away from zero; 0 where it overflows
            if shift < 0:
                return _divide_away_from_zero(self._unscaled, _ten(min(-shift, 20)))
            result = self._unscaled * _ten(min(shift, 20))
            if _is_int64(result):
                return result
            # math.go positiveScaleInt64: for these powers, Go multiplies once, and returns the
            # product even if it wrapped
            return int64(result) if shift in (1, 2, 3, 6, 9) and self._unscaled != _MIN_INT64 else 0
        if shift == 0:
            return int64(self._unscaled)
        # Scale_int.go: Go multiplies the int64 by a power of ten that it converts from a float to
        # int64; from ten to the 19th on, the result of the conversion is the smallest int64
        if shift > 0:
            return int64(self._unscaled * (_ten(shift) if shift < 19 else _MIN_INT64))
        divisor = _ten(-shift)
        # Truncating division, then rounded up if there is a remainder
        if self._unscaled < _MAX_INT64 and -shift < 19:
            number = int64(self._unscaled)
            quotient = abs(number) // divisor * (1 if number >= 0 else -1)
            return quotient + (number % divisor != 0)
        return int64(-(-self._unscaled // divisor))

    def sign(self) -> int:
        """Return -1, 0 or 1."""
        return (self._unscaled > 0) - (self._unscaled < 0)

    def is_int64(self) -> bool:
        """Return True if ``AsInt64()`` succeeds: false for every number stored as a decimal, even a
        whole one (``1.5Gi``).
        """
        if not self._fixed or self._exponent < 0:
            return False
        return self._unscaled == 0 or (
            self._exponent < 19 and _is_int64(self._unscaled * _ten(self._exponent))
        )

    def is_integer(self) -> bool:
        """Return True if the number is whole."""
        return self._exponent >= 0 or self._unscaled % _ten(min(-self._exponent, _MAX_DIGITS)) == 0

    def as_approximate_float(self) -> float:
        """Return ``AsApproximateFloat64()``: may lose precision; infinite if a float64 cannot
        represent it.
        """
        try:
            base = float(self._unscaled)
            return base * 10.0**self._exponent if self._exponent else base
        except OverflowError:
            return math.copysign(math.inf, self._unscaled) if self._unscaled else math.nan

    def exact(self) -> tuple[int, int]:
        """Return ``(unscaled, exponent)``: exactly unscaled times ten to the exponent; unscaled has
        no factor of ten.
        """
        unscaled, times = _strip_factors(self._unscaled, 10)
        return (unscaled, self._exponent + times) if unscaled else (0, 0)

    def go_parts(self) -> tuple[int, int]:
        """Return ``(unscaled, exponent)`` as Go stores the number: ``1`` and ``1.0`` differ,
        ``1.500`` and ``1500m`` do not.
        """
        return self._unscaled, self._exponent

    # -- arithmetic --------------------------------------------------------------------------------

    def __add__(self, other: Quantity) -> Self:
        """Return the sum in the format of the left number, or of the right one if the left is zero.

        OverflowError if the two are more than 4,000 orders of magnitude apart.
        """
        format_ = other.format if self._unscaled == 0 else self.format
        left, right = self._int64_amount(), other._int64_amount()
        total = _add_int64(left, right) if left is not None and right is not None else None
        if self._fixed and other._fixed and total is not None:
            return self._make(*total, format_, fixed=True)
        exponent = min(self._exponent, other._exponent)
        if max(self._exponent, other._exponent) - exponent > _MAX_DIGITS:
            raise OverflowError("the sum of these quantities has too many digits")
        unscaled = self._unscaled * _ten(self._exponent - exponent)
        unscaled += other._unscaled * _ten(other._exponent - exponent)
        return self._make(unscaled, exponent, format_, fixed=False, amount=total)

    def _int64_amount(self) -> Int64Amount | None:
        """Return the amount in which 1.38 stores the number, or None if it stores a decimal;
        earlier releases store more numbers as decimals.
        """
        return self._amount or ((self._unscaled, self._exponent) if self._fixed else None)

    def _make(
        self,
        unscaled: int,
        exponent: int,
        format_: Format,
        *,
        fixed: bool,
        amount: Int64Amount | None = None,
    ) -> Self:
        quantity = type(self)(unscaled, exponent, format_)
        quantity._fixed, quantity._amount = fixed, amount
        return quantity

    def __neg__(self) -> Self:
        amount = (-self._amount[0], self._amount[1]) if self._amount else None
        return self._make(
            -self._unscaled, self._exponent, self.format, fixed=self._fixed, amount=amount
        )

    def __sub__(self, other: Quantity) -> Self:
        """Return the difference; its format follows the rule for sums."""
        return self + (-other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        if self._exponent == other._exponent:
            return self._unscaled == other._unscaled
        return self.exact() == other.exact()

    def __lt__(self, other: Quantity) -> bool:
        if self._exponent == other._exponent:
            return self._unscaled < other._unscaled
        if self.sign() != other.sign():
            return self.sign() < other.sign()
        (a, a_exponent), (b, b_exponent) = self.exact(), other.exact()
        shift = a_exponent - b_exponent
        # The exponents are further apart than either number has digits, so they alone decide
        if abs(shift) > _MAX_DIGITS + 100:
            return (shift < 0) == (a > 0)
        return a * _ten(max(shift, 0)) < b * _ten(max(-shift, 0))

    def __hash__(self) -> int:
        return hash(self.exact())

    # -- text --------------------------------------------------------------------------------------

    def __str__(self) -> str:
        if self._text is None:
            self._text = self._written or self._canonical()
        return self._text

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def _canonical(self) -> str:
        """Format the number like CanonicalizeBytes in quantity.go."""
        unscaled, exponent = self.exact()
        if not unscaled:
            return "0"
        if (
            self.format == "BinarySI"
            and exponent >= 0
            and abs(number := unscaled * _ten(exponent)) >= 1024
        ):
            mantissa, times = _strip_factors(number, 1024)
            return f"{mantissa}{_BINARY_SUFFIX.get(times * 10, '')}"
        spare = exponent % 3
        mantissa, exponent = unscaled * _ten(spare), exponent - spare
        if self.format == "DecimalExponent":
            return f"{mantissa}e{exponent}" if exponent else str(mantissa)
        return f"{mantissa}{self._suffix(exponent)}"

    def _suffix(self, exponent: int) -> str:
        """Return the suffix of a power of ten: none above E, so that upstream prints 1000E as
        ``1``.
        """
        return _DECIMAL_SUFFIX.get(exponent, "")


class SaturatingQuantity(Quantity):
    """A quantity as Kubernetes calculates with it and prints it from 1.38 on.

    An integer beyond int64 becomes the nearest int64, and a negative number is rounded away from
    zero. Integers of 19 digits are not stored as decimals, and printing loses no power of ten
    (kubernetes#138510, #140459, #141305, #141937, #141938).
    """

    __slots__ = ()

    @classmethod
    def of(cls, quantity: Quantity) -> SaturatingQuantity:
        """Return the number as 1.38 stores it."""
        unscaled, exponent = quantity._amount or (quantity._unscaled, quantity._exponent)
        saturating = cls(unscaled, exponent, quantity.format)
        saturating._fixed = quantity._int64_amount() is not None
        saturating._written = quantity._written
        return saturating

    def _to_scale(self, scale: int) -> int:
        """Return the number in this scale, rounded away from zero, or the nearest int64 if it is
        beyond int64 (AsScaledInt64 of amount.go and scale_int.go).
        """
        shift = self._exponent - scale
        if shift < 0:
            return _saturate(_divide_away_from_zero(self._unscaled, _ten(min(-shift, _MAX_SHIFT))))
        return _saturate(self._unscaled * _ten(min(shift, _MAX_SHIFT)))

    def as_approximate_float(self) -> float:
        return super().as_approximate_float() if self._unscaled else 0.0

    def _suffix(self, exponent: int) -> str:
        return _DECIMAL_SUFFIX.get(exponent, f"e{exponent}")


_MAX_SHIFT = 2 * _MAX_DIGITS
"""Powers of ten beyond which a nonzero number is at one end of int64, or is rounded to 1 or -1."""


def _saturate(number: int) -> int:
    return max(_MIN_INT64, min(number, _MAX_INT64))


def _add_int64(left: Int64Amount, right: Int64Amount) -> Int64Amount | None:
    """Return the sum, or None if it is not an int64 (amount.go Add)."""
    for total, zero in ((left, right), (right, left)):
        if zero[0] == 0:
            return total
    exponent = min(left[1], right[1])
    if max(left[1], right[1]) - exponent > _INT64_DIGITS:
        return None
    a, b = left[0] * _ten(left[1] - exponent), right[0] * _ten(right[1] - exponent)
    return (a + b, exponent) if _is_int64(a) and _is_int64(b) and _is_int64(a + b) else None


def _quantity(
    unscaled: int, exponent: int, format_: Format, *, fixed: bool, text: str | None = None
) -> Quantity:
    quantity = Quantity(unscaled, exponent, format_)
    quantity._fixed = fixed
    quantity._written = text
    return quantity


class _Suffix(Struct, frozen=True):
    """The meaning of a suffix: a factor, and the format of the quantity."""

    base: int
    exponent: int
    format: Format


def _interpret(suffix: str) -> _Suffix:
    """Interpret a suffix like interpret in suffix.go."""
    if suffix in _DECIMAL:
        return _Suffix(10, _DECIMAL[suffix], "DecimalSI")
    if suffix in _BINARY:
        return _Suffix(2, _BINARY[suffix], "BinarySI")
    if len(suffix) > 1 and suffix[0] in "eE" and re.fullmatch(r"[+-]?[0-9]{1,19}", suffix[1:]):
        exponent = int(suffix[1:])
        if _is_int64(exponent):
            return _Suffix(10, _int32(exponent), "DecimalExponent")
    raise ValueError(SUFFIX_ERROR)


@lru_cache(maxsize=4096)
def _parse(text: str) -> Quantity:
    """Parse a quantity like ParseQuantity in quantity.go."""
    match = _SYNTAX.fullmatch(text) if text else None
    if match is None:
        raise ValueError(FORMAT_ERROR)
    if text == "0":
        return _quantity(0, 0, "DecimalSI", fixed=True, text=text)
    suffix = _interpret(match["suffix"])
    base, exponent, format_ = suffix.base, suffix.exponent, suffix.format
    num, denom = match["num"] or "0", match["denom"]
    if len(num) + len(denom) > _MAX_DIGITS:
        raise ValueError(NUMERIC_ERROR)
    sign = -1 if match["sign"] == "-" else 1
    if base == 10:
        precision, scale, factor = _INT64_DIGITS - len(num) - len(denom), exponent - len(denom), 1
        scale = _int32(scale)
    elif denom:
        precision, scale, factor = -1, 0, 1
    else:
        precision, scale, factor = 15 - len(num) - exponent * 3 // 10 - 1, 0, 1 << exponent
    if precision >= 0 and scale >= _NANO:
        digits = num + denom
        unscaled = int(digits)
        if _is_int64(unscaled * factor):
            if base == 2:
                keep = unscaled & 0x07 != 0
            else:
                keep = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
            return _quantity(
                sign * unscaled * factor, scale, format_, fixed=True, text=text if keep else None
            )
    if not (match["zeros"] or match["num"] or denom):
        raise ValueError(NUMERIC_ERROR)
    quantity = _parse_decimal(sign, int(num + denom), len(denom), base, exponent, format_)
    if base == 10 and precision == -1 and scale >= _NANO and _is_int64(sign * int(num + denom)):
        quantity._amount = sign * int(num + denom), scale
    return quantity


def _parse_decimal(
    sign: int, unscaled: int, decimals: int, base: int, exponent: int, format_: Format
) -> Quantity:
    """Parse a number in the slow path: arbitrary precision, rounded up to nanos, capped for binary
    suffixes.
    """
    if unscaled == 0:
        return _quantity(0, 0, format_, fixed=False)
    # A server up to 1.37 never answers a request with this exponent; 1.38 refuses the quantity.
    if base == 10 and exponent == _MIN_INT32:
        raise ValueError(SUFFIX_ERROR)
    scale = -decimals + (exponent if base == 10 else 0)
    if base == 2:
        unscaled <<= exponent
    if scale > _MAX_DIGITS:
        raise ValueError(NUMERIC_ERROR)
    unscaled = (
        unscaled * _ten(scale - _NANO)
        if scale >= _NANO
        else -(-unscaled // _ten(min(_NANO - scale, 2 * _MAX_DIGITS)))
    )
    scale = _NANO
    if format_ == "BinarySI":
        if unscaled > _MAX_INT64 * 10**9:
            unscaled, scale = _MAX_INT64, 0
        elif unscaled < 10**9:
            format_ = "DecimalSI"
    return _quantity(sign * unscaled, scale, format_, fixed=False)
