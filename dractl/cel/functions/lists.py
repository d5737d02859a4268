"""Lists and sets: ext/lists.go, ext/sets.go, apiserver/pkg/cel/library/lists.go."""

from contextlib import suppress
from functools import cmp_to_key, partial, reduce
from itertools import chain
from typing import Any

from dractl.cel import values as v
from dractl.cel.functions.registry import OVERLOADS, ListOf, Overload, overload
from dractl.cel.values import CelError, Duration, Timestamp, Uint

_MAX_RANGE_SIZE = 1_000_000  # ext/lists.go defaultMaxRangeSize
_MAX_INCLUDES_SIZE = 48  # resourceapi.ResourceSliceMaxAttributeValuesPerDevice


def _is_equal(a: Any, b: Any) -> bool:
    """Return ``a.Equal(b) == types.True``; an error does not count as equality."""
    try:
        return v.equal(a, b)
    except CelError:
        return False


@overload("list_slice", list, int, int)
def slice_list(elements: list[Any], start: int, end: int) -> list[Any]:
    call = f"cannot slice({start}, {end})"
    if start < 0 or end < 0:
        raise CelError(f"{call}, negative indexes not supported")
    if start > end:
        raise CelError(f"{call}, start index must be less than or equal to end index")
    if end > len(elements):
        raise CelError(f"{call}, list is length {len(elements)}")
    return elements[start:end]


@overload("list_flatten", list)
@overload("list_flatten_int", list, int)
def flatten(elements: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise CelError("level must be non-negative")
    flat: list[Any] = []
    for element in elements:
        if type(element) is list and depth:
            flat += flatten(element, depth - 1)
        else:
            flat.append(element)
    return flat


@overload("list_range", int)
def numbers(count: int) -> list[int]:
    if count > v.LARGEST // 10:
        raise v.cost_exceeded()
    return list(range(count))


def numbers_strict(count: int) -> list[int]:
    """Return the numbers of ``lists.range`` as from Kubernetes 1.37 on (cel-go 0.29). CelError for
    a negative size and for one above the maximum.
    """
    if count < 0:
        raise CelError(f"lists.range: size must be non-negative, got {count}")
    if count > _MAX_RANGE_SIZE:
        raise CelError(f"lists.range: size {count} exceeds maximum allowed ({_MAX_RANGE_SIZE})")
    return numbers(count)


def _are_plain(*lists: list[Any]) -> bool:
    """Return True if all elements are ints or all are strings, so that equal ones hash equally."""
    return set(map(type, chain(*lists))) in ({int}, {str})


@overload("list_distinct", list)
def distinct(elements: list[Any]) -> list[Any]:
    if _are_plain(elements):
        return list(dict.fromkeys(elements))
    unique: list[Any] = []
    for element in elements:
        if not any(_is_equal(element, other) for other in unique):
            unique.append(element)
    return unique


overload("list_reverse", list)(lambda elements: elements[::-1])


def sort(elements: list[Any], by: list[Any] | None = None) -> list[Any]:
    keys = elements if by is None else by
    if len(elements) != len(keys):
        raise CelError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list,"
            f" but got {len(elements)} and {len(keys)} elements respectively"
        )
    if not elements:
        return elements
    if not v.is_ordered(keys[0]):
        raise CelError("list elements must be comparable")
    if any(type(key) is not type(keys[0]) for key in keys):
        raise CelError("list elements must have the same type")

    def by_key(a: int, b: int) -> int:
        try:
            return v.order(keys[a], keys[b])
        except CelError:  # a NaN has no order
            return 0

    return [elements[i] for i in sorted(range(len(keys)), key=cmp_to_key(by_key))]


def is_sorted(elements: list[Any]) -> bool:
    """Return True for a sorted list; elements that cannot be compared count as sorted."""
    for i, element in enumerate(elements):
        if not v.is_ordered(element):
            raise v.no_overload()
        with suppress(CelError):
            if i and v.order(elements[i - 1], element) > 0:
                return False
    return True


def _extreme(elements: list[Any], name: str, replaced_when: int) -> Any:
    if not elements:
        raise CelError(f"{name} called on empty list")
    result = elements[0]
    for element in elements[1:]:
        if not v.is_ordered(element):
            raise v.no_overload()
        with suppress(CelError):  # of elements that cannot be compared, the first is kept
            if v.order(result, element) == replaced_when:
                result = element
    return result


@overload("list_a_index_of_int", list, object)
def index_of(elements: list[Any], wanted: Any) -> int:
    return next((i for i, element in enumerate(elements) if _is_equal(element, wanted)), -1)


@overload("list_a_last_index_of_int", list, object)
def last_index_of(elements: list[Any], wanted: Any) -> int:
    return next((i for i in reversed(range(len(elements))) if _is_equal(elements[i], wanted)), -1)


@overload("list_includes_dyn_dyn", object, object)
def includes(target: Any, wanted: Any) -> bool:
    if type(target) is list:
        return any(_is_equal(element, wanted) for element in target)
    return _is_equal(target, wanted)


@overload("dra_includes_dyn_dyn", object, object)
def includes_bounded(target: Any, wanted: Any) -> bool:
    """Evaluate ``includes`` of 1.36: dynamic-resource-allocation/cel/compile.go includesFunc."""
    if type(target) is list:
        for i, element in enumerate(target):
            if i >= _MAX_INCLUDES_SIZE:
                raise CelError(
                    "'includes' function cannot be applied to lists longer than"
                    f" {_MAX_INCLUDES_SIZE} values"
                )
            if _is_equal(element, wanted):
                return True
        return False
    return _is_equal(target, wanted)


@overload("list_sets_contains_list", list, list)
def sets_contains(whole: list[Any], part: list[Any]) -> bool:
    if _are_plain(whole, part):
        return set(part) <= set(whole)
    return all(v.contains(element, whole) for element in part)


overload("list_sets_equivalent_list", list, list)(
    lambda a, b: sets_contains(a, b) and sets_contains(b, a)
)


@overload("list_sets_intersects_list", list, list)
def sets_intersect(a: list[Any], b: list[Any]) -> bool:
    if _are_plain(a, b):
        return not set(a).isdisjoint(b)
    return any(v.contains(element, b) for element in a)


def _sum(elements: list[Any], zero: Any) -> Any:
    return reduce(v.add, elements, zero)


_KINDS: dict[str, tuple[type, Any]] = {
    "int": (int, 0),
    "uint": (Uint, Uint(0)),
    "double": (float, 0.0),
    "duration": (Duration, Duration(0)),
    "bool": (bool, None),
    "timestamp": (Timestamp, None),
    "string": (str, None),
    "bytes": (bytes, None),
}
_LONG_NAMES = {"duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp"}

for _name, (_kind, _zero) in _KINDS.items():
    _operand = (ListOf(_kind),)
    OVERLOADS[f"list_{_name}_is_sorted_bool"] = Overload(_operand, is_sorted)
    OVERLOADS[f"list_{_name}_min_{_name}"] = Overload(
        _operand, partial(_extreme, name="min", replaced_when=1)
    )
    OVERLOADS[f"list_{_name}_max_{_name}"] = Overload(
        _operand, partial(_extreme, name="max", replaced_when=-1)
    )
    if _zero is not None:
        OVERLOADS[f"list_{_name}_sum_{_name}"] = Overload(_operand, partial(_sum, zero=_zero))
    _long = _LONG_NAMES.get(_name, _name)
    OVERLOADS[f"list_{_long}_sort"] = Overload((list,), sort)
    OVERLOADS[f"list_{_long}_sortByAssociatedKeys"] = Overload((list, list), sort)
