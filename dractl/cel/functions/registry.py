"""The table of overloads, filled by the libraries."""

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import Struct

from dractl.cel.values import CelError

Run = TypeVar("Run", bound=Callable[..., Any])


class ListOf(Struct, frozen=True):
    """A list whose first element has this type; this is how cel-go distinguishes typed lists at run
    time.
    """

    element: type


class Overload(Struct, frozen=True):
    operands: tuple[type | ListOf, ...]
    run: Callable[..., Any]


OVERLOADS: dict[str, Overload] = {}


def overload(name: str, *operands: type | ListOf) -> Callable[[Run], Run]:
    """Register an implementation under cel-go's overload id; a member's target is its first
    operand.
    """

    def register(run: Run) -> Run:
        OVERLOADS[name] = Overload(operands, run)
        return run

    return register


def accepts(parse: Callable[..., object]) -> Callable[..., bool]:
    """Make a test that is True for operands that ``parse`` accepts."""

    def test(*operands: Any) -> bool:
        try:
            parse(*operands)
        except CelError:
            return False
        return True

    return test
