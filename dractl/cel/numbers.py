"""Numbers as strings, as Go's strconv reads and writes them."""

import math
import re

# Compiled by re where they are used: few selectors convert strings to numbers
_INT = r"[+-]?[0-9]+"
_UINT = r"[0-9]+"
_DECIMAL = (
    r"[+-]?(?:[0-9](?:_?[0-9])*\.?(?:[0-9](?:_?[0-9])*)?|\.[0-9](?:_?[0-9])*)"
    r"(?:[eE][+-]?[0-9](?:_?[0-9])*)?"
)
_HEX = r"[+-]?0[xX]_?(?:[0-9a-fA-F_]+\.?[0-9a-fA-F_]*|\.[0-9a-fA-F_]+)[pP][+-]?[0-9_]+"
_SPECIAL = r"[+-]?(?:inf|infinity)|nan"
_MAX_CHARACTERS = 400  # a number with more digits is out of range for every type


def parse_int(text: str) -> int | None:
    """Parse an integer like strconv.ParseInt(text, 10, 64); None if that fails."""
    if (
        re.fullmatch(_INT, text, re.ASCII)
        and len(text.lstrip("+-0")) < 20
        and -(1 << 63) <= (number := _integer(text)) < 1 << 63
    ):
        return number
    return None


def parse_uint(text: str) -> int | None:
    """Parse an unsigned integer like strconv.ParseUint(text, 10, 64); None if that fails."""
    if (
        re.fullmatch(_UINT, text, re.ASCII)
        and len(text.lstrip("0")) < 21
        and (number := _integer(text)) < 1 << 64
    ):
        return number
    return None


def _integer(text: str) -> int:
    digits = text.lstrip("+-").lstrip("0") or "0"
    return -int(digits) if text[0] == "-" else int(digits)


def parse_double(text: str) -> float | None:
    """Parse a double like strconv.ParseFloat(text, 64); None if that fails."""
    if re.fullmatch(_SPECIAL, text, re.ASCII | re.IGNORECASE):
        return float(text)
    if re.fullmatch(_DECIMAL, text, re.ASCII):
        number = float(text.replace("_", ""))
    elif re.fullmatch(_HEX, text, re.ASCII) and len(text) < _MAX_CHARACTERS:
        try:
            number = float.fromhex(text.replace("_", ""))
        except (ValueError, OverflowError):
            return None
    else:
        return None
    return None if math.isinf(number) else number


def format_double(number: float) -> str:
    """Format a number as ``%g`` with the shortest digits that read back as the same number."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    sign = "-" if math.copysign(1, number) < 0 else ""
    mantissa, _, exponent_text = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + ("" if fraction == "0" else fraction)).lstrip("0")
    if not digits:
        return sign + "0"
    exponent = int(exponent_text or 0) + len(whole) - 1
    if whole == "0":
        exponent = int(exponent_text or 0) - (len(fraction) - len(fraction.lstrip("0"))) - 1
    digits = digits.rstrip("0") or "0"
    if exponent < -4 or exponent >= 6:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{fraction}e{exponent:+03}"
    return sign + plain_decimal(digits, exponent)


def plain_decimal(digits: str, exponent: int) -> str:
    """Format digits as the shortest ``%f``.

    The point is after the first digit, and ``exponent`` moves it.
    """
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    if len(digits) <= exponent + 1:
        return digits + "0" * (exponent + 1 - len(digits))
    return f"{digits[: exponent + 1]}.{digits[exponent + 1 :]}"
