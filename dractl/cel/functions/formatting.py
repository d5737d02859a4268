"""``string.format``: ext/formatting.go."""

import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from msgspec import Struct

from dractl.cel import values as v
from dractl.cel.functions import conversion as c
from dractl.cel.functions.registry import overload
from dractl.cel.functions.time import timestamp_text
from dractl.cel.numbers import format_double
from dractl.cel.values import CelError, Duration, Timestamp, TypeValue, Uint
from dractl.model.go import quote

_CLAUSE = re.compile(r"(?:\.([0-9]*+))?+(.?)", re.DOTALL | re.ASCII)
_LETTERS = "sdfexXbo"
_PRECISION = "could not parse formatting clause: error while parsing precision"
_MAX_PRECISION = 1_000_000  # above this, fmt prints an error instead of a number
_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


class FormatError(Exception):
    """An error in a format or its arguments."""


class Clause(Struct, frozen=True):
    """A clause: ``%.2f`` has the letter ``f`` and the precision 2."""

    letter: str
    """The letter; "" for a lone ``%`` at the end."""
    precision: int | None = None
    fault: str = ""
    """The error of an invalid clause."""


@lru_cache(256)
def parse(template: str) -> tuple[str | Clause, ...]:
    """Return the literal parts and the clauses, up to the first faulty clause."""
    parts: list[str | Clause] = []
    i = 0
    while i < len(template):
        j = template.find("%", i)
        if j < 0:
            parts.append(template[i:])
            break
        if j > i:
            parts.append(template[i:j])
        if template.startswith("%%", j):
            parts.append("%")
            i = j + 2
            continue
        match = _CLAUSE.match(template, j + 1)
        assert match
        clause = _parse_clause(match[1], match[2])
        parts.append(clause)
        if clause.fault:
            break
        i = match.end()
    return tuple(parts)


def _parse_clause(precision: str | None, letter: str) -> Clause:
    if not letter:
        if precision is None:
            return Clause("", fault="unexpected end of string")
        return Clause(".", fault=f"{_PRECISION}: could not find end of precision specifier")
    if precision is not None and not (precision and len(precision.lstrip("0")) < 19):
        reason = "value out of range" if precision else "invalid syntax"
        text = (
            f'error while converting precision to integer: strconv.Atoi: parsing "{precision}":'
            f" {reason}"
        )
        return Clause(letter, fault=f"{_PRECISION}: {text}")
    if letter not in _LETTERS:
        byte = chr(letter.encode("utf-8", "surrogatepass")[0])
        return Clause(
            letter,
            fault=f'could not parse formatting clause: unrecognized formatting clause "{byte}"',
        )
    return Clause(letter, None if precision is None else int(precision))


def wrong_type(letter: str, kind: str) -> str:
    """Return the message for an argument whose type does not fit the clause."""
    kinds = {
        "s": (
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists,"
            " types, durations, and timestamps"
        ),
        "d": "decimal clause can only be used on integers",
        "f": "fixed-point clause can only be used on doubles",
        "e": "scientific clause can only be used on doubles",
        "b": "only integers and bools can be formatted as binary",
        "x": "only integers, byte buffers, and strings can be formatted as hex",
        "X": "only integers, byte buffers, and strings can be formatted as hex",
        "o": "octal clause can only be used on integers",
    }
    return f"error during formatting: {kinds[letter]}, was given {kind}"


@overload("string_format", str, list)
def format_string(template: str, arguments: list[Any]) -> str:
    out: list[str] = []
    used = 0
    try:
        for part in parse(template):
            if isinstance(part, str):
                out.append(part)
                continue
            if used >= len(arguments):
                raise FormatError(f"index {used} out of range")
            if part.fault:
                raise FormatError(part.fault)
            out.append(_clause(part.letter, part.precision, arguments[used]))
            used += 1
    except FormatError as error:
        raise CelError(str(error)) from None
    return str(v.check_size("".join(out)))


def _clause(letter: str, precision: int | None, value: Any) -> str:
    kind = type(value)
    if letter == "s":
        return _text(value)
    if letter == "d" and kind in (int, Uint):
        return str(int(value))
    if letter in "fe":
        if kind is str and value in ("NaN", "Infinity", "-Infinity"):
            value = float(value)
        if type(value) is float:
            size = 6 if precision is None else precision
            text = _special(value) or _localize(value, letter, size)
            # Upstream writes %6e by mistake for %.6e
            return text if letter == "f" else text.rjust(size)
    if letter == "b" and kind in (int, Uint, bool):
        return f"{int(value):b}"
    if letter in "xX" and kind in (int, Uint, str, bytes):
        if kind in (int, Uint):
            text = f"{int(value):x}"
        else:
            text = (value if kind is bytes else value.encode("utf-8", "surrogatepass")).hex()
        return text.upper() if letter == "X" else text
    if letter == "o" and kind in (int, Uint):
        return f"{int(value):o}"
    raise FormatError(wrong_type(letter, v.type_name(value)))


def _localize(number: float, letter: str, precision: int) -> str:
    """Format a number as golang.org/x/text/message does for en_US: groups of three digits, powers
    of ten in full.
    """
    if precision > _MAX_PRECISION:
        raise v.cost_exceeded()
    number = number or 0.0  # -0.0 is printed without its sign
    if letter == "f":
        return format(number, f",.{precision}f")
    mantissa, _, exponent = format(number, ".6e").partition("e")
    return f"{mantissa}×10{exponent.lstrip('+').translate(_SUPERSCRIPT)}"


def _special(number: float) -> str | None:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    return None


def _text(value: Any) -> str:
    kind = type(value)
    convert: dict[type, Callable[[Any], str]] = {
        str: str,
        bool: c.bool_to_string,
        int: str,
        Uint: str,
        float: format_double,
        Timestamp: timestamp_text,
        Duration: c.duration_to_string,
        bytes: c.bytes_to_string,
    }
    if kind in convert:
        return convert[kind](value)
    if kind is TypeValue:
        return str(value.name)
    if value is None:
        return "null"
    if kind is list:
        return "[" + ", ".join(map(_format_nested, value)) + "]"
    if isinstance(value, dict):
        entries = sorted(
            (_key(key), _format_nested(value[v.encode_key(key)])) for key in v.keys(value)
        )
        return "{" + ", ".join(f"{key}:{text}" for key, text in entries) + "}"
    raise FormatError(wrong_type("s", v.type_name(value)))


def _key(key: Any) -> str:
    if type(key) is float:
        raise FormatError(
            "error during formatting: no formatting function for map key of type double"
        )
    return _format_nested(key)


_WITHIN = {
    str,
    bytes,
    bool,
    int,
    Uint,
    float,
    type(None),
    TypeValue,
    Timestamp,
    Duration,
    list,
    dict,
    v.Domains,
}


def _format_nested(value: Any) -> str:
    """Format a value within a list or map."""
    kind = type(value)
    if kind is str:
        return quote(value)
    if kind is bytes:
        return "b" + quote(_text(value))
    if kind is Timestamp or kind is Duration:
        return f'{"timestamp" if kind is Timestamp else "duration"}("{_text(value)}")'
    if kind is float:
        return format(value, ".6f") if math.isfinite(value) else f'"{_text(value)}"'
    if kind not in _WITHIN:
        raise FormatError(
            f"error during formatting: no formatting function for {v.type_name(value)}"
        )
    return _text(value)
