"""Durations and timestamps: Go's package time for their strings, and CEL's getters."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

from dractl.cel import values as v
from dractl.cel.functions.registry import OVERLOADS, Overload
from dractl.cel.numbers import parse_int
from dractl.cel.values import CelError, Duration, Timestamp
from dractl.model.go import quote

_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
# Compiled by re where they are used: few selectors have times
_PART = r"([0-9]*)(\.?)([0-9]*)(ns|us|µs|μs|ms|s|m|h)"
_RFC3339 = (
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_EPOCH = date(1970, 1, 1).toordinal()


def parse_duration(text: str) -> int | None:
    """Parse a duration like time.ParseDuration, in nanoseconds; None if that fails."""
    sign = -1 if text[:1] == "-" else 1
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    if unsigned == "0":
        return 0
    pattern = re.compile(_PART, re.ASCII)
    total = i = 0
    while i < len(unsigned):
        part = pattern.match(unsigned, i)
        if not part or not (part[1] or part[3]) or len(part[1].lstrip("0")) > 20:
            return None
        unit = _UNITS[part[4]]
        total += int(part[1] or 0) * unit
        if part[3]:
            total += _fraction(part[3], unit)
        if total > (1 << 63):
            return None
        i = part.end()
    if i == 0 or not -(1 << 63) <= sign * total < 1 << 63:
        return None
    return sign * total


def _fraction(digits: str, unit: int) -> int:
    """Return the decimals of a unit in nanoseconds, computed in float64 like Go's
    time.leadingFraction and ParseDuration.
    """
    number, scale = 0, 1.0
    for digit in digits:
        longer = number * 10 + int(digit)
        if number > ((1 << 63) - 1) // 10 or longer > 1 << 63:
            break
        number, scale = longer, scale * 10
    return int(float(number) * (unit / scale))


def duration_text(nanoseconds: int) -> str:
    """Format a duration as seconds with as many decimals as needed, and ``s``."""
    whole, fraction = divmod(abs(nanoseconds), v.GIGA)
    seconds = whole + fraction / v.GIGA  # a float64, as time.Duration.Seconds gives it
    digits = repr(seconds)
    # The shortest text that reads back as the same number, without an exponent.
    text = (
        format(seconds, ".9f").rstrip("0").rstrip(".")
        if "e" in digits
        else digits.removesuffix(".0")
    )
    return f"{'-' if nanoseconds < 0 else ''}{text}s"


def parse_timestamp(text: str) -> tuple[int, int] | None:
    """Parse a timestamp like time.Parse(time.RFC3339, text): nanoseconds since the epoch and
    seconds east of UTC; None if it fails.

    The year 0 is accepted.
    """
    match = re.fullmatch(_RFC3339, text, re.ASCII)
    if not match:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    if len(match[4]) != 2 or hour > 23 or minute > 59 or second > 59:
        return None
    try:
        # The year 0 is a leap year that Python's calendar lacks; 2000 is a leap year too.
        days = date(year or 2000, month, day).toordinal() - (
            0 if year else 2000 * 365 + 2000 // 4 - 15
        )
    except ValueError:
        return None
    offset = 0
    if match[8]:
        hours, minutes = int(match[9]), int(match[10])
        if hours > 24 or minutes > 60:
            return None
        offset = (hours * 3600 + minutes * 60) * (-1 if match[8] == "-" else 1)
    seconds = (days - _EPOCH) * 86400 + hour * 3600 + minute * 60 + second - offset
    return seconds * v.GIGA + int((match[7] or "")[:9].ljust(9, "0")), offset


def timestamp_text(timestamp: Timestamp) -> str:
    """Format a timestamp as time.RFC3339Nano in its own zone."""
    seconds, fraction = divmod(timestamp.nanoseconds, v.GIGA)
    moment = _to_datetime(seconds + timestamp.zone)
    decimals = f"{fraction:09}".rstrip("0")
    zone = "Z"
    if timestamp.zone:
        hours, minutes = divmod(abs(timestamp.zone) // 60, 60)
        zone = f"{'-' if timestamp.zone < 0 else '+'}{hours:02}:{minutes:02}"
    return f"{moment:%m-%dT%H:%M:%S}".join(
        (f"{moment.year:04}-", f"{'.' + decimals if decimals else ''}{zone}")
    )


def _to_datetime(seconds: int) -> datetime:
    try:
        return datetime(1970, 1, 1) + timedelta(seconds=seconds)
    except OverflowError:
        raise CelError("timestamp overflow") from None


def _local(timestamp: Timestamp, zone: str) -> datetime:
    """Return a timestamp in a zone: a name of the time zone database, or an offset such as
    ``+02:00`` (timeZone in common/types/timestamp.go).
    """
    seconds = timestamp.nanoseconds // v.GIGA
    if ":" not in zone:
        return _to_datetime(seconds + _offset_of_name(zone, seconds))
    hours, minutes = (_atoi(part) for part in zone.split(":", 1))
    total = hours * 60 + (-minutes if zone.startswith("-") else minutes)
    return _to_datetime(seconds + total * 60)


def _atoi(text: str) -> int:
    number = parse_int(text)
    if number is None:
        raise CelError(f"strconv.Atoi: parsing {quote(text)}: invalid syntax")
    return number


def _offset_of_name(name: str, seconds: int) -> int:
    if name in ("", "UTC"):
        return 0
    from zoneinfo import ZoneInfo

    try:
        offset = _to_datetime(seconds).replace(tzinfo=UTC).astimezone(ZoneInfo(name)).utcoffset()
    except (OSError, ValueError, KeyError, OverflowError):
        raise CelError(f"unknown time zone {name}") from None
    return int(offset.total_seconds()) if offset else 0


_FIELDS: dict[str, Callable[[datetime], int]] = {
    "year": lambda t: t.year,
    "month": lambda t: t.month - 1,
    "day_of_month": lambda t: t.day - 1,
    "day_of_month_1_based": lambda t: t.day,
    "day_of_year": lambda t: t.timetuple().tm_yday - 1,
    "day_of_week": lambda t: t.isoweekday() % 7,
    "hours": lambda t: t.hour,
    "minutes": lambda t: t.minute,
    "seconds": lambda t: t.second,
}


def _getter(field: Callable[[datetime], int]) -> Callable[..., int]:
    def get(timestamp: Timestamp, zone: str = "") -> int:
        return field(_local(timestamp, zone))

    return get


def _milliseconds(timestamp: Timestamp, zone: str = "") -> int:
    _local(timestamp, zone)
    return timestamp.nanoseconds % v.GIGA // 10**6


def _whole(unit: int) -> Callable[[Duration], int]:
    def get(duration: Duration) -> int:
        whole = abs(duration.nanoseconds) // unit
        return whole if duration.nanoseconds >= 0 else -whole

    return get


_GETTERS: dict[str, Callable[..., Any]] = {name: _getter(field) for name, field in _FIELDS.items()}
for _name, _run in {**_GETTERS, "milliseconds": _milliseconds}.items():
    OVERLOADS[f"timestamp_to_{_name}"] = Overload((Timestamp,), _run)
    OVERLOADS[f"timestamp_to_{_name}_with_tz"] = Overload((Timestamp, str), _run)
OVERLOADS["timestamp_to_seconds_tz"] = OVERLOADS["timestamp_to_seconds_with_tz"]
for _name, _unit in {"hours": "h", "minutes": "m", "seconds": "s", "milliseconds": "ms"}.items():
    OVERLOADS[f"duration_to_{_name}"] = Overload((Duration,), _whole(_UNITS[_unit]))
