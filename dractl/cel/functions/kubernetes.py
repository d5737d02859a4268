"""Quantities, semantic versions and named formats:
apiserver/pkg/cel/library/{quantity,semverlib,format}.go.
"""

import datetime
import re
from collections.abc import Callable
from functools import partial

from dractl.cel.functions.network import url
from dractl.cel.functions.registry import OVERLOADS, Overload, accepts, overload
from dractl.cel.values import NONE, CelError, NamedFormat, Optional, Sum
from dractl.model import Quantity, SaturatingQuantity, Version


def three_way(a: Quantity | Version, b: Quantity | Version) -> int:
    """Return -1, 0 or 1 if ``a`` is less than, equal to or greater than ``b``."""
    if a == b:
        return 0
    return -1 if a < b else 1  # type: ignore[operator]


# -- quantities ------------------------------------------------------------------------------------


@overload("string_to_quantity", str)
def quantity(text: str) -> Quantity:
    try:
        return parse_quantity(text)
    except ValueError as error:
        raise CelError(str(error)) from None


overload("is_quantity_string", str)(accepts(quantity))


def parse_quantity(text: str) -> Quantity:
    """Parse a quantity like resource.ParseQuantity, which accepts no space around the number,
    unlike the decoder of JSON documents.
    """
    if text != text.strip():
        raise ValueError(
            "quantities must match the regular expression"
            " '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    return Quantity.parse(text)


@overload("quantity_get_int", Quantity)
def as_integer(q: Quantity) -> int:
    if not q.is_int64():
        raise CelError("cannot convert value to integer")
    return q.value()


def saturate_integer(q: Quantity) -> int:
    """Return the integer of a quantity as Kubernetes 1.38 does, which accepts 19 digits."""
    return as_integer(SaturatingQuantity.of(q))


overload("quantity_is_integer", Quantity)(lambda q: q.is_int64())
overload("quantity_get_float", Quantity)(lambda q: q.as_approximate_float())
overload("quantity_sign", Quantity)(lambda q: q.sign())


@overload("quantity_add", Quantity, Quantity)
def add(a: Quantity, b: Quantity) -> Sum:
    try:
        return Sum.from_quantity(a + b)
    except OverflowError as error:
        raise CelError(str(error)) from None


overload("quantity_add_int", Quantity, int)(lambda a, b: add(a, Quantity(b)))
overload("quantity_sub", Quantity, Quantity)(lambda a, b: add(a, -b))
overload("quantity_sub_int", Quantity, int)(lambda a, b: add(a, -Quantity(b)))


# -- versions --------------------------------------------------------------------------------------


@overload("string_to_semver", str)
@overload("string_bool_to_semver", str, bool)
def semver(text: str, normalize: bool = False) -> Version:
    try:
        return Version.parse(_normalize(text) if normalize else text)
    except ValueError as error:
        raise CelError(str(error)) from None


overload("is_semver_string", str)(accepts(semver))
overload("is_semver_string_bool", str, bool)(accepts(semver))


def _normalize(text: str) -> str:
    """Normalize a version as normalizeAndParse of semverlib.go does: no ``v``, no leading zeros,
    missing parts are 0.
    """
    parts = text.removeprefix("v").split(".", 2)
    for i, part in enumerate(parts):
        if len(part) > 1:
            digits = part.lstrip("0")
            parts[i] = digits if digits[:1].isascii() and digits[:1].isdigit() else "0" + digits
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise ValueError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


overload("semver_major", Version)(lambda version: _wrap(version.major))
overload("semver_minor", Version)(lambda version: _wrap(version.minor))
overload("semver_patch", Version)(lambda version: _wrap(version.patch))


def _wrap(number: int) -> int:
    """Return a uint64 as Go converts it to int64."""
    return number - (1 << 64) if number >= 1 << 63 else number


for _kind, _prefix in ((Quantity, "quantity"), (Version, "semver")):
    OVERLOADS[f"{_prefix}_compare_to"] = Overload((_kind, _kind), three_way)
    OVERLOADS[f"{_prefix}_is_greater_than"] = Overload((_kind, _kind), lambda a, b: a > b)
    OVERLOADS[f"{_prefix}_is_less_than"] = Overload((_kind, _kind), lambda a, b: a < b)


# -- named formats ---------------------------------------------------------------------------------

# Compiled by re where they are used: few selectors name a format
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_UUID = r"[a-fA-F0-9]{8}-?[a-fA-F0-9]{4}-?[a-fA-F0-9]{4}-?[a-fA-F0-9]{4}-?[a-fA-F0-9]{12}"
_BASE64 = r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"
_DATE = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
_DATE_TIME = (
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})"
)

_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must"
    " start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for"
    " validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_LABEL_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an"
    " alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123',"
    " regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.',"
    " and "
    "must start and end with an alphanumeric character (e.g. 'example.com', regex used for"
    " validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.',"
    " and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or"
    " '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_NAME_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
    " alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for"
    " validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


def _match(pattern: str, text: str) -> re.Match[str] | None:
    return re.fullmatch(pattern, text, re.ASCII)


def _length_faults(text: str, limit: int) -> list[str]:
    return (
        [f"must be no more than {limit} bytes"]
        if len(text.encode("utf-8", "replace")) > limit
        else []
    )


def _pattern_check(
    pattern: str, limit: int, message: str, prefix: bool = False
) -> Callable[[str], list[str]]:
    def check(text: str) -> list[str]:
        # apimachinery/pkg/api/validation maskTrailingDash: a prefix may end with a dash
        masked = text[:-1] + "a" if prefix and len(text) > 1 and text.endswith("-") else text
        faults = _length_faults(masked, limit)
        if pattern == _LABEL and "." in masked and _match(_SUBDOMAIN, masked):
            return [*faults, "must not contain dots"]
        return faults if _match(pattern, masked) else [*faults, message]

    return check


def _name_faults(text: str) -> list[str]:
    parts = text.split("/")
    faults: list[str] = []
    if len(parts) > 2:
        shape = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a qualified name {_NAME_TEXT} {shape}"]
    if len(parts) == 2:
        if not parts[0]:
            faults.append("prefix part must be non-empty")
        else:
            faults += [
                f"prefix part {m}"
                for m in _pattern_check(_SUBDOMAIN, 253, _SUBDOMAIN_TEXT)(parts[0])
            ]
    name = parts[-1]
    if not name:
        faults.append("name part must be non-empty")
    else:
        faults += [f"name part {m}" for m in _length_faults(name, 63)]
    if not _match(_NAME, name):
        faults.append(f"name part {_NAME_TEXT}")
    return faults


def _label_value(text: str) -> list[str]:
    faults = _length_faults(text, 63)
    return faults if not text or _match(_NAME, text) else [*faults, _VALUE_TEXT]


def _uri(text: str) -> list[str]:
    try:
        url(text)
    except CelError as error:
        return [str(error).removeprefix("URL parse error during conversion from string: ")]
    return []


def _is_date(text: str) -> bool:
    match = _match(_DATE, text)
    try:
        return bool(match and datetime.date(int(match[1]) or 4, int(match[2]), int(match[3])))
    except ValueError:
        return False


def _is_date_time(text: str) -> bool:
    match = _match(_DATE_TIME, text)
    return bool(
        match
        and _is_date(match[1])
        and int(match[2]) < 24
        and int(match[3]) < 60
        and int(match[4]) < 60
    )


def _check_with(valid: Callable[[str], object], message: str) -> Callable[[str], list[str]]:
    return lambda text: [] if valid(text) else [message]


_FORMATS: dict[str, tuple[str, Callable[[str], list[str]]]] = {
    "dns1123Label": ("DNS1123Label", _pattern_check(_LABEL, 63, _LABEL_TEXT)),
    "dns1123Subdomain": ("DNS1123Subdomain", _pattern_check(_SUBDOMAIN, 253, _SUBDOMAIN_TEXT)),
    "dns1035Label": ("DNS1035Label", _pattern_check(_LABEL_1035, 63, _LABEL_1035_TEXT)),
    "qualifiedName": ("QualifiedName", _name_faults),
    "dns1123LabelPrefix": (
        "DNS1123LabelPrefix",
        _pattern_check(_LABEL, 63, _LABEL_TEXT, prefix=True),
    ),
    "dns1123SubdomainPrefix": (
        "DNS1123SubdomainPrefix",
        _pattern_check(_SUBDOMAIN, 253, _SUBDOMAIN_TEXT, prefix=True),
    ),
    "dns1035LabelPrefix": (
        "DNS1035LabelPrefix",
        _pattern_check(_LABEL_1035, 63, _LABEL_1035_TEXT, prefix=True),
    ),
    "labelValue": ("LabelValue", _label_value),
    "uri": ("URI", _uri),
    "uuid": ("uuid", _check_with(partial(_match, _UUID), "does not match the UUID format")),
    "byte": ("byte", _check_with(partial(_match, _BASE64), "invalid base64")),
    "date": ("date", _check_with(_is_date, "invalid date")),
    "datetime": ("datetime", _check_with(_is_date_time, "invalid datetime")),
}
_CHECKS = dict(_FORMATS.values())


overload("format-named", str)(
    lambda name: Optional(NamedFormat(_FORMATS[name][0])) if name in _FORMATS else NONE
)


@overload("format-validate", NamedFormat, str)
def validate(form: NamedFormat, text: str) -> Optional:
    faults = _CHECKS[form.name](text)
    return Optional(faults) if faults else NONE


for _name, (_go_name, _) in _FORMATS.items():
    OVERLOADS[f"format.{_name}"] = Overload((), partial(NamedFormat, _go_name))
