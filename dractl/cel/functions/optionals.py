"""Optional values: cel/library.go optionalLib. ``or``, ``orValue`` and ``?.`` are evaluated by
:mod:`dractl.cel.evaluation`.
"""

from typing import Any

from dractl.cel import values as v
from dractl.cel.functions.registry import ListOf, overload
from dractl.cel.values import NONE, CelError, Optional

overload("optional_of", object)(Optional)
overload("optional_ofNonZeroValue", object)(
    lambda value: NONE if v.is_zero(value) else Optional(value)
)
overload("optional_none")(lambda: NONE)


@overload("optional_value", Optional)
def value_of(optional: Optional) -> Any:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return v.content_of(optional)


overload("optional_hasValue", Optional)(lambda optional: optional.present)


@overload("optional_unwrap", ListOf(Optional))
@overload("optional_unwrapOpt", ListOf(Optional))
def unwrap(elements: list[Any]) -> list[Any]:
    for element in elements:
        if type(element) is not Optional:
            raise CelError(f"value {v.text_of_key(element)} is not optional")
    return [v.content_of(element) for element in elements if element.present]


overload("list_first", list)(lambda elements: Optional(elements[0]) if elements else NONE)
overload("list_last", list)(lambda elements: Optional(elements[-1]) if elements else NONE)
