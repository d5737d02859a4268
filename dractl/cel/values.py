"""CEL's values in Python, with the operations of cel-go's common/types: equality, order,
arithmetic, conversion.

========================= =====================================================================
CEL                       Python
========================= =====================================================================
bool, int, double         bool, int, float
uint                      :class:`Uint`
string, bytes, null_type  str, bytes, None
list(T), map(K, V)        list; dict whose keys went through :func:`encode_key`
optional_type(T)          :class:`Optional`
type                      :class:`TypeValue`
duration, timestamp       :class:`Duration`, :class:`Timestamp`, both in nanoseconds
Quantity, Semver          :class:`dractl.model.Quantity`, :class:`dractl.model.Version`
net.IP, net.CIDR, URL     :class:`IP`, :class:`CIDR`, :class:`URL`
NamedFormat               :class:`NamedFormat`
========================= =====================================================================

An operation that fails raises :class:`CelError` with upstream's text.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dractl.cel.numbers import format_double
from dractl.model import Quantity, Version

if TYPE_CHECKING:
    import ipaddress
    from collections.abc import Iterator

MIN_INT, MAX_INT, MAX_UINT = -(1 << 63), (1 << 63) - 1, (1 << 64) - 1
MIN_SECONDS, MAX_SECONDS = -62135596800, 253402300799  # 0001-01-01T00:00:00Z, 9999-12-31T23:59:59Z
GIGA = 10**9

LARGEST = 10_000_000
"""Maximum number of elements or characters. Upstream's limit of the actual cost ends an evaluation
before it has a larger value.
"""

MAX_LENGTH = 10240
"""Maximum length of an expression in bytes: resourceapi.CELSelectorExpressionMaxLength."""

COST_LIMIT = 1_000_000
"""resourceapi.CELSelectorExpressionMaxCost, which applies to the estimate and to the actual cost of
an evaluation.
"""


class CelError(Exception):
    """An evaluation that fails. ``str()`` is upstream's text."""


class Halted(Exception):
    """An evaluation that upstream aborts because it costs too much, or because upstream panics.
    Unlike an error, ``||`` cannot absorb it.
    """


def cost_exceeded() -> Halted:
    return Halted("operation cancelled: actual cost limit exceeded")


NO_OVERLOAD = "no such overload"


def no_overload() -> CelError:
    return CelError(NO_OVERLOAD)


class Uint(int):
    """An unsigned integer: 0 to 2^64-1."""

    __slots__ = ()


class TypeValue(Struct, frozen=True, order=True):
    """A type as a value, such as ``int`` or ``type(x)``."""

    name: str


class Duration(Struct, frozen=True, order=True):
    nanoseconds: int


class Timestamp(Struct, frozen=True):
    """A moment, in nanoseconds since 1970-01-01T00:00:00Z."""

    nanoseconds: int
    zone: int = 0
    """Seconds east of UTC, which affect only the text of the timestamp."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timestamp) and self.nanoseconds == other.nanoseconds

    def __hash__(self) -> int:
        return hash(self.nanoseconds)

    def __lt__(self, other: Timestamp) -> bool:
        return self.nanoseconds < other.nanoseconds

    def __le__(self, other: Timestamp) -> bool:
        return self.nanoseconds <= other.nanoseconds


class Optional(Struct, frozen=True):
    """``optional.of(value)``; ``optional.none()`` has no value. The value may be an error: see
    :func:`content_of`.
    """

    value: Any = None
    present: bool = True


NONE = Optional(None, False)


def content_of(optional: Optional) -> Any:
    """Return the content of an optional that is present. Raises the error that cel-go raises if it
    cannot convert the content again (evaluation.py).
    """
    if type(optional.value) is CelError:
        raise optional.value
    return optional.value


class IP(Struct, frozen=True):
    address: ipaddress.IPv4Address | ipaddress.IPv6Address


class CIDR(Struct, frozen=True):
    """An address with a prefix length; the address may have host bits."""

    address: ipaddress.IPv4Address | ipaddress.IPv6Address
    length: int


class URL(Struct, frozen=True):
    """The parts of net/url.URL that CEL can read."""

    text: str
    scheme: str
    host: str
    path: str
    query: str


class NamedFormat(Struct, frozen=True):
    name: str


class Sum(Quantity):
    """The result of ``add`` and ``sub``. Upstream's result is a pointer (library/quantity.go),
    which no ``==`` accepts on its right side.
    """

    __slots__ = ()

    @classmethod
    def from_quantity(cls, quantity: Quantity) -> Sum:
        total = cls(quantity._unscaled, quantity._exponent, quantity.format)
        total._fixed = quantity._fixed
        return total


class Domains(dict[str, Any]):
    """An outer map of a device. Every lookup succeeds (with an empty map for unknown domains), but
    membership and iteration include only known domains (compile.go
    newStringInterfaceMapWithDefault).
    """

    __slots__ = ()


_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    dict: "map",
    Domains: "map",
    Optional: "optional_type",
    TypeValue: "type",
    Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    Quantity: "kubernetes.Quantity",
    Sum: "kubernetes.Quantity",
    Version: "kubernetes.Semver",
    URL: "kubernetes.URL",
    NamedFormat: "kubernetes.NamedFormat",
    IP: "net.IP",
    CIDR: "net.CIDR",
}


def type_name(value: Any) -> str:
    """Return the name of the run-time type of a value."""
    return _NAMES.get(type(value), "kubernetes.DRADevice")


# -- map keys --------------------------------------------------------------------------------------


KEY_TYPES = {str, int, Uint, bool, float}
UNHASHABLE = (Version, NamedFormat, bytes)


class _Key:
    """A map key of a type that no lookup finds; it is equal only to itself."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def encode_key(key: Any) -> Any:
    """Return a key in the form that the dict uses. Equal numbers are one key whatever their type,
    as in CEL; a bool is not a number, although it is one in Python.
    """
    if type(key) in KEY_TYPES:
        return (key,) if type(key) is bool else key
    if isinstance(key, UNHASHABLE):
        raise hash_panic(key)
    return _Key(key)


def hash_panic(value: Any) -> Halted:
    """Return the panic of Go maps for slices and for structs that contain a slice or a function."""
    return Halted(f"internal error: runtime error: hash of unhashable type {go_name(value)}")


def decode_key(key: Any) -> Any:
    if type(key) is tuple:
        return key[0]
    return key.value if type(key) is _Key else key


def keys(mapping: dict[Any, Any]) -> Iterator[Any]:
    """Return the keys of a map, in a fixed order (upstream's is random)."""
    try:
        ordered = sorted(mapping)
    except TypeError:
        ordered = sorted(mapping, key=lambda k: (type(k).__name__, text_of_key(decode_key(k))))
    return map(decode_key, ordered)


def find(mapping: dict[Any, Any], key: Any) -> tuple[Any, bool]:
    """Return the value of a key, and whether there is such a key."""
    if type(mapping) is Domains:
        return (mapping.get(key) if type(key) is str else None) or {}, True
    if type(key) in KEY_TYPES:
        encoded = encode_key(key)
        if encoded in mapping:
            return mapping[encoded], True
    return None, False


def has_key(mapping: dict[Any, Any], key: Any) -> bool:
    """Return ``key in mapping``: unlike :func:`find`, an outer map of a device does not contain an
    unknown domain.
    """
    return type(key) in KEY_TYPES and encode_key(key) in mapping


# -- equality and order ----------------------------------------------------------------------------

_NUMBERS = {int, Uint, float}
_STRICT = (Quantity, Version, IP, CIDR, URL, NamedFormat)


def equal(a: Any, b: Any) -> bool:
    """Return ``a == b``. Values of different kinds are unequal. Raises CelError if the left value
    has a type of Kubernetes and the right value is of another kind, except for null.
    """
    kind, other = type(a), type(b)
    if other is Sum and isinstance(a, _STRICT):
        raise no_overload()
    if kind is other or (kind is Sum and other is Quantity):
        if kind is list:
            return len(a) == len(b) and all(map(_equal_or_error, a, b))
        if kind is dict:
            return _equal_maps(a, b)
        if kind is Optional:
            return a.present == b.present and (
                not a.present or _equal_inside(content_of(a), content_of(b))
            )
        return bool(a == b)
    if kind in _NUMBERS and other in _NUMBERS:
        return _compare_numbers(a, b) == 0
    if a is None or b is None:
        return False
    if isinstance(a, dict) and isinstance(b, dict):
        return _equal_maps(a, b)
    if isinstance(a, _STRICT):
        raise no_overload()
    return False


def _equal_inside(a: Any, b: Any) -> bool:
    """Compare the contents of two optionals. Unlike in ``==``, the left value decides how null is
    compared.
    """
    if b is None and isinstance(a, _STRICT):
        raise no_overload()
    return equal(a, b)


def _equal_or_error(a: Any, b: Any) -> bool:
    """Compare values inside lists and maps, where upstream treats an error as equality."""
    try:
        return equal(a, b)
    except CelError:
        return True


def _equal_maps(a: dict[Any, Any], b: dict[Any, Any]) -> bool:
    if len(a) != len(b):
        return False
    for key, value in a.items():
        other, exists = find(b, decode_key(key))
        if not exists or not _equal_or_error(value, other):
            return False
    return True


def _compare_numbers(a: Any, b: Any) -> int | None:
    """Return -1, 0 or 1; None if one of the numbers is NaN. An int and a double are compared as
    doubles, as in common/types/compare.go.
    """
    if type(a) is float or type(b) is float:
        if math.isnan(a) or math.isnan(b):
            return None
        if type(a) is not float:
            a = _as_double(a, b)
        elif type(b) is not float:
            b = _as_double(b, a)
    return int(a > b) - int(a < b)


def _as_double(number: int, other: float) -> float:
    """Return the double that is compared with ``other`` in place of an integer. If ``other`` is
    outside the range of the integer's type, an infinity is returned, so that the order is right.
    """
    low, high = (0, MAX_UINT) if type(number) is Uint else (MIN_INT, MAX_INT)
    if other < low:
        return math.inf
    if other > float(high):
        return -math.inf
    return float(number)


# The traits.Receiver of these types handles operators that the types do not have
_RECEIVERS = {str, Duration, Timestamp}
_ORDERED = {bool, int, Uint, float, str, bytes, Duration, Timestamp}


_UNORDERED = "NaN values cannot be ordered"


def is_ordered(value: Any) -> bool:
    """Return True for types that implement traits.ComparerType."""
    return type(value) in _ORDERED


def compare(a: Any, b: Any, operator: str) -> int:
    """Return -1, 0 or 1. The error for a left value without an order names ``operator``."""
    kind = type(a)
    if kind not in _ORDERED:
        raise CelError(f"{NO_OVERLOAD}: {operator}")
    return order(a, b)


def order(a: Any, b: Any) -> int:
    """Compare two values like traits.Comparer.Compare."""
    kind, other = type(a), type(b)
    if kind is float and math.isnan(a):
        raise CelError(_UNORDERED)
    if kind is other:
        if kind is float and math.isnan(b):
            raise CelError(_UNORDERED)
        return int(a > b) - int(a < b)
    if kind in _NUMBERS and other in _NUMBERS:
        result = _compare_numbers(a, b)
        if result is None:
            raise CelError(_UNORDERED)
        return result
    raise no_overload()


# -- arithmetic ------------------------------------------------------------------------------------


def _check_range(number: int, kind: type) -> Any:
    if kind is int:
        if not MIN_INT <= number <= MAX_INT:
            raise CelError("integer overflow")
        return number
    if not 0 <= number <= MAX_UINT:
        raise CelError("unsigned integer overflow")
    return Uint(number)


def _duration(nanoseconds: int) -> Duration:
    if not MIN_INT <= nanoseconds <= MAX_INT:
        raise CelError("integer overflow")
    return Duration(nanoseconds)


def timestamp(nanoseconds: int, zone: int = 0) -> Timestamp:
    """Make a timestamp; CelError outside the years 1 to 9999."""
    if not MIN_SECONDS <= nanoseconds // GIGA <= MAX_SECONDS:
        raise CelError("timestamp overflow")
    return Timestamp(nanoseconds, zone)


def check_size(value: Any) -> Any:
    """Return a string, bytes or list. Raises Halted if it is too large to have been made within the
    cost limit.
    """
    if len(value) > LARGEST:
        raise cost_exceeded()
    return value


def _no_operator(a: Any, operator: str) -> CelError:
    return no_overload() if type(a) in _RECEIVERS else CelError(f"{NO_OVERLOAD}: {operator}")


def add(a: Any, b: Any) -> Any:
    kind, other = type(a), type(b)
    if kind is Timestamp and other is Duration:
        return timestamp(a.nanoseconds + b.nanoseconds, a.zone)
    if kind is Duration and other in (Duration, Timestamp):
        total = a.nanoseconds + b.nanoseconds
        return _duration(total) if other is Duration else timestamp(total, b.zone)
    if kind not in (int, Uint, float, str, bytes, list, Duration, Timestamp):
        raise _no_operator(a, "_+_")
    if kind is not other or kind is Timestamp:
        raise no_overload()
    if kind is int or kind is Uint:
        return _check_range(int(a) + int(b), kind)
    if kind is not float and len(a) + len(b) > LARGEST:
        raise cost_exceeded()
    return a + b


def subtract(a: Any, b: Any) -> Any:
    kind, other = type(a), type(b)
    if kind is Timestamp and other in (Duration, Timestamp):
        difference = a.nanoseconds - b.nanoseconds
        return timestamp(difference, a.zone) if other is Duration else _duration(difference)
    if kind not in (int, Uint, float, Duration, Timestamp):
        raise _no_operator(a, "_-_")
    if kind is not other:
        raise no_overload()
    if kind is Duration:
        return _duration(a.nanoseconds - b.nanoseconds)
    return a - b if kind is float else _check_range(int(a) - int(b), kind)


def multiply(a: Any, b: Any) -> Any:
    kind = _numeric(a, b, "_*_", {int, Uint, float})
    return a * b if kind is float else _check_range(int(a) * int(b), kind)


def divide(a: Any, b: Any) -> Any:
    kind = _numeric(a, b, "_/_", {int, Uint, float})
    if kind is float:
        if b:
            return a / b
        # IEEE 754: division by zero is not an error.
        return (
            math.nan if not a or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)
        )
    if b == 0:
        raise CelError("division by zero")
    quotient = abs(int(a)) // abs(int(b))
    return _check_range(quotient if (a < 0) == (b < 0) else -quotient, kind)


def modulo(a: Any, b: Any) -> Any:
    kind = _numeric(a, b, "_%_", {int, Uint})
    if b == 0:
        raise CelError("modulus by zero")
    if kind is int and a == MIN_INT and b == -1:
        raise CelError("integer overflow")
    remainder = abs(int(a)) % abs(int(b))
    return _check_range(-remainder if a < 0 else remainder, kind)


def _numeric(a: Any, b: Any, operator: str, allowed: set[type]) -> type:
    kind = type(a)
    if kind not in allowed:
        raise _no_operator(a, operator)
    if kind is not type(b):
        raise no_overload()
    return kind


def negate(a: Any) -> Any:
    kind = type(a)
    if kind is float:
        return -a
    if kind is int:
        return _check_range(-a, int)
    if kind is Duration:
        return _duration(-a.nanoseconds)
    if kind is bool:
        raise no_overload()
    raise _no_operator(a, "-_")


# -- access ----------------------------------------------------------------------------------------


def text_of_key(key: Any) -> str:
    """Return a key as Go's ``%v`` prints it."""
    if type(key) is str:
        return key
    if type(key) is bool:
        return "true" if key else "false"
    if type(key) is float:
        return format_double(key)
    if isinstance(key, int):
        return str(int(key))
    return "null" if key is None else type_name(key)


def index(container: Any, key: Any) -> Any:
    """Return ``container[key]``."""
    if isinstance(container, dict):
        value, exists = find(container, key)
        if exists:
            return value
        raise CelError(f"no such key: {text_of_key(key)}")
    if type(container) is list:
        position = list_index(key)
        if 0 <= position < len(container):
            return container[position]
        raise CelError(f"index out of bounds: {position}")
    raise CelError(f"no such key: {text_of_key(key)}")


def list_index(key: Any) -> int:
    if type(key) is int:
        return key
    if type(key) is Uint:
        if key > MAX_INT:
            raise CelError(f"unsupported index value {int(key)} in list")
        return int(key)
    if type(key) is float:
        if key.is_integer() and MIN_INT <= key <= MAX_INT:
            return int(key)
        raise CelError(f"unsupported index value {text_of_key(key)} in list")
    raise CelError(f"unsupported index type '{type_name(key)}' in list")


def select(container: Any, name: str) -> Any:
    """Return ``container.field``."""
    if isinstance(container, dict):
        value, exists = find(container, name)
        if exists:
            return value
    elif type(container) is list:
        list_index(name)
    raise CelError(f"no such key: {name}")


_GO_NAMES = {
    bool: "types.Bool",
    int: "types.Int",
    Uint: "types.Uint",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    type(None): "types.Null",
    Duration: "types.Duration",
    Timestamp: "types.Timestamp",
    Version: "cel.Semver",
    Quantity: "cel.Quantity",
    Sum: "*cel.Quantity",
    IP: "cel.IP",
    CIDR: "cel.CIDR",
    URL: "cel.URL",
    NamedFormat: "cel.Format",
    Optional: "*types.Optional",
    TypeValue: "*types.Type",
    list: "*types.baseList",
    dict: "*types.baseMap",
    Domains: "cel.mapper",
}


def go_name(value: Any) -> str:
    """Return the Go type of a value, which some messages name."""
    return _GO_NAMES.get(type(value), "types.Unknown")


def elements(container: Any) -> list[Any]:
    """Return the items of a loop with one variable: the elements of a list, the keys of a map."""
    if type(container) is list:
        return container
    if isinstance(container, dict):
        return list(keys(container))
    raise CelError(f"got '{go_name(container)}', expected iterable type")


def qualifier(key: Any) -> Any:
    """Return a key or index; CelError for a value whose type cannot be one
    (interpreter/attributes.go NewQualifier).
    """
    if type(key) in KEY_TYPES:
        return key
    raise CelError(f"invalid qualifier type: {go_name(key)}")


def pairs(container: Any) -> list[tuple[Any, Any]]:
    """Return the items of a loop with two variables: index and element, or key and value."""
    if type(container) is list:
        return list(enumerate(container))
    if isinstance(container, dict):
        return [(key, container[encode_key(key)]) for key in keys(container)]
    raise CelError(f"unsupported comprehension range type: {go_name(container)}")


def contains(element: Any, container: Any) -> bool:
    """Return ``element in container``."""
    if isinstance(container, dict):
        return has_key(container, element)
    if type(container) is list:
        for other in container:
            try:
                if equal(element, other):
                    return True
            except CelError:
                continue
        return False
    raise no_overload()


def size(value: Any) -> int:
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    raise _no_operator(value, "size")


def is_zero(value: Any) -> bool:
    """Return True for zero values (traits.Zeroer), for ``optional.ofNonZeroValue``."""
    if value is None or isinstance(value, (bool, int, float, str, bytes, list, dict)):
        return not value
    if isinstance(value, (Duration, Timestamp)):
        return value.nanoseconds == (0 if isinstance(value, Duration) else MIN_SECONDS * GIGA)
    return False


def to_bool(value: Any) -> bool:
    """Return the result of a selector as Go's bool (ConvertToNative)."""
    if value is True or value is False:
        return bool(value)
    name = type_name(value)
    inner = value
    while type(inner) is Optional and inner.present:
        inner = inner.value
    if inner is True or inner is False:
        return bool(inner)
    reasons = {
        int: "unsupported type conversion from 'int' to bool",
        Uint: "unsupported type conversion from 'uint' to bool",
        str: "unsupported native conversion from string to 'bool'",
        float: "type conversion error from Double to 'bool'",
        bytes: "type conversion error from Bytes to 'bool'",
        list: "type conversion error from list to 'bool'",
        dict: "type conversion error from map to 'bool'",
        Domains: "type conversion error from map to 'bool'",
        type(None): "type conversion error from 'null_type' to 'bool'",
        Timestamp: "type conversion error from 'Timestamp' to 'bool'",
        Duration: "type conversion error from 'Duration' to 'bool'",
        Version: "type conversion error from 'Semver' to 'bool'",
        Quantity: "type conversion error from 'Quantity' to 'bool'",
        Sum: "type conversion error from 'Quantity' to 'bool'",
        IP: "type conversion error from 'IP' to 'bool'",
        CIDR: "type conversion error from 'CIDR' to 'bool'",
        URL: "type conversion error from 'URL' to 'bool'",
        NamedFormat: "type conversion error from 'Format' to 'bool'",
        TypeValue: "type conversion not supported for 'type'",
        Optional: "optional.none() dereference",
    }
    raise CelError(
        f"CEL result of type {name} could not be converted to bool:"
        f" {reasons.get(type(inner), name)}"
    )
