"""Closures of sub-expressions, the frame that they share, and their memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from dractl.cel import values as v
from dractl.cel.ast import Node
from dractl.cel.values import CelError, Halted

Frame = list[Any]
"""Slot 0 is the device's View, slot 1 the cost of the loops so far, then one slot for each variable
in scope and each sub-expression that is remembered.
"""

Run = Callable[[Frame], Any]

Rounds = tuple[list[Any], int, int]
"""The items of a loop, which are ints or strings in order, and the first and the end of some rounds
with them.
"""

Bounds = Callable[[Frame, Rounds], bool | None]
"""Returns the result of a predicate in some rounds of a loop; None if it is not the same in all, or
not known.
"""


class Parts(Struct, frozen=True):
    """The closures of the sub-expressions of a loop over ``variable``. Both functions return None
    for other sub-expressions.
    """

    variable: str
    slot: int
    constant: Callable[[Node], Run | None]
    """Returns the closure of a sub-expression that keeps its value during the loop."""
    tabular: Callable[[Node], Run | None]
    """Returns the closure of a sub-expression that has the same values for all devices, since it
    depends on the variable alone and the loop always has the same items.
    """


class Uncertain(Exception):
    """An error, or a value of a type without bounds, so that nothing is known of many rounds."""


Regions = Callable[[Frame, list[Any], int], list[tuple[range, bool]] | None]
"""Divides the first rounds of a loop, whose items are in order, by the result of a predicate; None
if they must be evaluated round by round.
"""


class Decider(Struct, frozen=True):
    """The functions that decide a predicate for many rounds of a loop."""

    bounds: Bounds
    regions: Regions | None


Elements = Callable[[Frame, list[Any]], Iterable[Any] | None]
"""Returns what ``map`` makes of the items of a loop, which are ints or strings in order; None if
this must be evaluated round by round.
"""


def read_constant(run: Run, f: Frame) -> Any:
    """Return the value of a sub-expression that keeps it during a loop; Uncertain if it fails, for
    round by round it may be skipped.
    """
    try:
        return run(f)
    except (CelError, Halted):
        raise Uncertain from None


def remember(run: Run, slot: int, cell: Frame | None) -> Run:
    """Return a closure that evaluates once and then returns that value or raises that error.

    The memory is a slot of ``cell``, or of the frame, where None means that nothing is remembered.
    """

    def recall(f: Frame) -> Any:
        memory = cell or f
        value = memory[slot]
        if value is None:
            try:
                value = run(f)
            except CelError as error:
                memory[slot] = error
                raise
            memory[slot] = value
        elif type(value) is CelError:
            # Each raise of the same error would lengthen its traceback
            raise value.with_traceback(None)
        return value

    return recall


class _Outcome(Struct, frozen=True):
    value: Any
    error: CelError | Halted | None
    cost: int


def remember_loop(run: Run, slot: int, cell: Frame | None) -> Run:
    """Return :func:`remember` for a sub-expression with a loop: each use has the cost of an
    evaluation.
    """

    def recall(f: Frame) -> Any:
        memory, before = cell or f, f[1]
        outcome = memory[slot]
        if outcome is None:
            f[1] = 0
            outcome = memory[slot] = _evaluate(run, f)
        f[1] = before + outcome.cost
        if f[1] > v.COST_LIMIT:
            raise v.cost_exceeded()
        if outcome.error is not None:
            raise outcome.error.with_traceback(None)
        return outcome.value

    return recall


def _evaluate(run: Run, f: Frame) -> _Outcome:
    try:
        return _Outcome(run(f), None, f[1])
    except (CelError, Halted) as error:
        return _Outcome(None, error, f[1])


def put(f: Frame, slot: int, value: Any) -> None:
    """Set a variable; the frame grows to fit it."""
    while len(f) <= slot:
        f.append(None)
    f[slot] = value
