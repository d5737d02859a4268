"""Optional values: cel/library.go optionalLib. ``or``, ``orValue`` and ``?.`` are evaluated by
:mod:`dractl.cel.evaluation`."""

from __future__ import annotations

from typing import Any

from dractl.cel import values as v
from dractl.cel.functions.registry import ListOf, overload
from dractl.cel.values import NONE, CelError, Optional


@overload("optional_of", object)
def of(value: Any) -> Optional:
    return Optional(value)


@overload("optional_ofNonZeroValue", object)
def of_non_zero(value: Any) -> Optional:
    return NONE if v.is_zero(value) else Optional(value)


@overload("optional_none")
def none() -> Optional:
    return NONE


@overload("optional_value", Optional)
def value_of(optional: Optional) -> Any:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return v.opened(optional)


@overload("optional_hasValue", Optional)
def has_value(optional: Optional) -> bool:
    return optional.present


@overload("optional_unwrap", ListOf(Optional))
@overload("optional_unwrapOpt", ListOf(Optional))
def unwrap(elements: list[Any]) -> list[Any]:
    for element in elements:
        if type(element) is not Optional:
            raise CelError(f"value {v.text_of_key(element)} is not optional")
    return [v.opened(element) for element in elements if element.present]


@overload("list_first", list)
def first(elements: list[Any]) -> Optional:
    return Optional(elements[0]) if elements else NONE


@overload("list_last", list)
def last(elements: list[Any]) -> Optional:
    return Optional(elements[-1]) if elements else NONE
