"""YAML scalars as the API server understands them: go-yaml v2, which sigs.k8s.io/yaml uses for
decoding.

The rules follow go.yaml.in/yaml/v2 resolve.go and sigs.k8s.io/yaml yaml.go: YAML 1.1's booleans,
C-like integers, no base 60, dates that stay strings. Values pass through JSON and have JSON's form
afterwards: ``5.0`` is 5.
"""

import base64
import math
import re
import struct
from typing import Any

_PREFIX = "tag:yaml.org,2002:"
PLAIN = ""
"""The tag of a plain scalar, whose text decides on its type."""
STR = _PREFIX + "str"
BINARY = _PREFIX + "binary"
MERGE = _PREFIX + "merge"
_BOOL, _INT, _FLOAT, _NULL, _TIMESTAMP = (
    _PREFIX + name for name in ("bool", "int", "float", "null", "timestamp")
)

_WORDS: dict[str, tuple[str, Any]] = {
    **dict.fromkeys(
        ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), (_BOOL, True)
    ),
    **dict.fromkeys(
        ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), (_BOOL, False)
    ),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), (_NULL, None)),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), (_FLOAT, math.nan)),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), (_FLOAT, math.inf)),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), (_FLOAT, -math.inf)),
}
_FIRST_CHARACTERS = frozenset("+-0123456789.yYnNtTfFoO~")
# Patterns are compiled on first use (re caches them), since most documents contain only decimal
# numbers.
_INTEGER = r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))\Z"
_BINARY_INTEGER = r"(?:0b([-+]?[01]+)|-0b([01]+))\Z"
_DECIMAL = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z"
_DOT_DECIMAL = r"\.[0-9]+(?:[eE][-+]?[0-9]+)?\Z"
_DATE = (
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"(?:[Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:[.,][0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2})?)?\Z"
)
# Input that Go's base64.StdEncoding decodes. Python accepts superfluous "=" even when it validates.
_BASE64 = r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"
_INT64 = (-(2**63), 2**63 - 1)
_UINT64_MAX = 2**64 - 1


class Unresolvable(ValueError):
    """A scalar that contradicts its tag, with go-yaml's message."""


def plain(text: str) -> Any:
    """Return the value of a plain scalar without a tag, as go-yaml decodes it."""
    if text and text[0] not in _FIRST_CHARACTERS:
        return text
    return _resolve(text)[1]


def resolve_tagged(tag: str, text: str) -> Any:
    """Return the value of a scalar with a tag, however it is quoted, as go-yaml decodes it. Raises
    Unresolvable.
    """
    if tag == STR:
        return text
    if tag == BINARY:
        encoded = re.sub(r"[\r\n]", "", text)
        if not re.fullmatch(_BASE64, encoded):
            raise Unresolvable("!!binary value contains invalid base64 data")
        return base64.b64decode(encoded).decode("utf-8", "replace")
    if tag not in (_BOOL, _INT, _FLOAT, _NULL, _TIMESTAMP):
        return text  # go-yaml keeps a scalar without a matching rule as a string
    own_tag, value = _resolve(text)
    if own_tag == tag:
        return value
    if tag == _FLOAT and own_tag == _INT:
        return float(value)
    raise Unresolvable(f"cannot decode {_short(own_tag)} `{text}` as a {_short(tag)}")


def json_number(value: Any) -> Any:
    """Return a float as Go's encoding/json writes it and reads it back: integral below 1e21 is an
    integer.

    Go writes the shortest digits that identify the float64, and pads them with zeros.
    """
    if type(value) is not float or not value.is_integer() or abs(value) >= 1e21:
        return value
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    return int(whole + fraction) * 10 ** (int(exponent) - len(fraction)) if exponent else int(value)


def key_text(value: Any) -> str | None:
    """Return a map key as sigs.k8s.io/yaml turns it into a string; None for a key that it refuses:
    null, or an integer beyond int64.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and _INT64[0] <= value <= _INT64[1]:
        return str(value)
    if isinstance(value, float):
        return _go_float32(value)
    return None


def _short(tag: str) -> str:
    return "!!" + tag.removeprefix(_PREFIX)


def _resolve(text: str) -> tuple[str, Any]:
    if text in _WORDS:
        return _WORDS[text]
    first = text[0]
    if first not in _FIRST_CHARACTERS:
        return STR, text
    if first == ".":
        return _float(text) if re.match(_DOT_DECIMAL, text) else (STR, text)
    if first in "+-0123456789":
        if first != "0" and len(text) < 19 and text.isascii() and text.isdigit():
            return _INT, int(text)
        if re.match(_DATE, text):
            return _TIMESTAMP, text
        return _number(text.replace("_", "")) or (STR, text)
    return STR, text


def _number(text: str) -> tuple[str, Any] | None:
    if (match := re.match(_INTEGER, text)) is not None:
        sign, hexadecimal, binary, octal, decimal = match.groups()
        # No number with more than 19 decimal digits fits in 64 bits, and Python's int() refuses
        # very long strings.
        digits = hexadecimal or binary or octal or decimal
        if len(digits) <= 64 + len(digits) - len(digits.lstrip("0")):
            base = 10
            if hexadecimal:
                base = 16
            elif binary or octal:
                base = 2 if binary else 8
            value = (
                int(digits, base) if len(digits) < 4000 else int(digits.lstrip("0") or "0", base)
            )
            value = -value if sign == "-" else value
            if _INT64[0] <= value <= _INT64[1] or (not sign and value <= _UINT64_MAX):
                return _INT, value
    if re.match(_DECIMAL, text):
        kind, number = _float(text)
        return (kind, number) if kind == _FLOAT else None
    if (match := re.match(_BINARY_INTEGER, text)) is not None and len(text) <= 67:
        value = int(match[1], 2) if match[1] else -int(match[2], 2)
        if _INT64[0] <= value <= _UINT64_MAX:
            return _INT, value
    return None


def _float(text: str) -> tuple[str, Any]:
    value = float(text)
    # The number is out of range, where Go's ParseFloat fails
    return (STR, text) if math.isinf(value) else (_FLOAT, value)


def _go_float32(value: float) -> str:
    """Format a float like strconv.FormatFloat(value, 'g', -1, 32), which sigs.k8s.io/yaml writes
    float keys with.
    """
    if math.isnan(value):
        return ".nan"
    try:
        single = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        single = math.copysign(math.inf, value)
    if math.isinf(single):
        return ".inf" if single > 0 else "-.inf"
    for precision in range(1, 10):
        shortest = f"{single:.{precision - 1}e}"
        if struct.unpack("f", struct.pack("f", float(shortest)))[0] == single:
            break
    mantissa, exponent = shortest.split("e")
    power = int(exponent)
    # strconv/ftoa.go: "%e is used if the exponent ... use precision 6 for this decision"
    if -4 <= power < 6:
        return f"{float(shortest):.{max(0, precision - 1 - power)}f}"
    return f"{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"
