"""Selects the overload of a function call.

An implementation is registered under cel-go's overload id with the Python types of its operands
(:mod:`dractl.cel.values`; ``object`` for any). The result of :func:`dispatcher` picks the first
overload whose types fit, as cel-go does for operands whose type is only known at run time.
"""

from collections.abc import Callable, Sequence
from typing import Any

from dractl.cel.functions import (
    conversion,  # noqa: F401
    formatting,  # noqa: F401
    kubernetes,
    lists,
    network,
    optionals,  # noqa: F401
    regex,  # noqa: F401
    strings,
    time,  # noqa: F401
)
from dractl.cel.functions.registry import OVERLOADS, ListOf
from dractl.cel.values import NO_OVERLOAD, CelError, Domains, Duration, Sum, Timestamp, type_name
from dractl.model import Quantity, SaturatingQuantity

# Upstream implements these in the value itself (traits.Receiver, common/types/string.go), so the
# error names no function.
_BARE = {"contains", "startsWith", "endsWith", "matches"}
# Upstream implements these once for all overloads, so the error names the function, except for
# types with a traits.Receiver.
_NAMED = {"size", "sort", "@sortByAssociatedKeys"}
_RECEIVERS = (str, Duration, Timestamp)


# Overloads that a newer cel-go implements differently under the same id, as pairs of release and
# overload.
_CHANGED: dict[str, tuple[int, Callable[..., Any]]] = {
    "string_to_url": (36, network.strict_url),
    "is_url_string": (36, network.is_strict_url),
    "list_range": (37, lists.numbers_strict),
    "string_index_of_string_int": (37, strings.clamp(strings.index_of)),
    "quantity_get_int": (38, kubernetes.saturate_integer),
    "quantity_is_integer": (38, lambda q: SaturatingQuantity.of(q).is_int64()),
    "quantity_get_float": (38, lambda q: SaturatingQuantity.of(q).as_approximate_float()),
    "string_last_index_of_string_int": (37, strings.clamp(strings.last_index_of_offset)),
}


def dispatcher(function: str, ids: Sequence[str], release: int) -> Callable[..., Any]:
    """Return the implementation of a call: ``ids`` are the overloads that the type checker did not
    exclude. Static types are no guarantee, since the checker binds a free type parameter to the
    type that the first call needs.
    """
    candidates: list[tuple[tuple[type | ListOf, ...], Callable[..., Any]]] = []
    for name in ids:
        if name in OVERLOADS:
            implementation = OVERLOADS[name]
            since, changed = _CHANGED.get(name, (release + 1, implementation.run))
            candidates.append(
                (implementation.operands, changed if release >= since else implementation.run)
            )

    chosen: dict[tuple[type, ...], Callable[..., Any]] = {}
    # The Python type of a list does not show the type of its elements
    by_type = not any(isinstance(wanted, ListOf) for types, _ in candidates for wanted in types)

    def call(*operands: Any) -> Any:
        kinds = tuple(map(type, operands))
        if kinds in chosen:
            return chosen[kinds](*operands)
        for types, run in candidates:
            if len(types) == len(operands) and all(map(_fits, operands, types)):
                if by_type:
                    chosen[kinds] = run
                return run(*operands)
        raise _no_overload(function, operands)

    if len(candidates) == 1 and len(candidates[0][0]) == 1:
        ((wanted,), only) = candidates[0]
        return lambda operand: only(operand) if type(operand) is wanted else call(operand)
    return call


def _fits(value: Any, wanted: type | ListOf) -> bool:
    kind = type(value)
    if kind is wanted or wanted is object:
        return True
    if isinstance(wanted, ListOf):
        return kind is list and (not value or type(value[0]) is wanted.element)
    return (wanted is dict and kind is Domains) or (wanted is Quantity and kind is Sum)


def _no_overload(function: str, operands: Sequence[Any]) -> CelError:
    if function in _BARE:
        return CelError(NO_OVERLOAD)
    if function in _NAMED:
        return CelError(
            NO_OVERLOAD if isinstance(operands[0], _RECEIVERS) else f"{NO_OVERLOAD}: {function}"
        )
    if function == "flatten":
        name = type_name(operands[0])
        return CelError(f"{NO_OVERLOAD}: {name}{_PARAMETERS.get(name, '')}.flatten()")
    return CelError(f"{NO_OVERLOAD}: {function}({', '.join(map(type_name, operands))})")


_PARAMETERS = {"map": "(dyn, dyn)", "optional_type": "(dyn)"}
