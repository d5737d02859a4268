"""Closures of sub-expressions, the frame that they share, and their memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from dractl.cel import values as v
from dractl.cel.values import CelError, Halted

Frame = list[Any]
"""Slot 0 is the device's View, slot 1 the cost of the loops so far, then one slot for each variable
in scope and each sub-expression that is remembered.
"""

Run = Callable[[Frame], Any]

Interval = tuple[Any, Any]
"""The lowest and the highest of some ints, or of some strings."""

Bounds = Callable[[Frame, Interval], bool | None]
"""Returns the result of a predicate for all values of a loop variable in an interval; None if it is
not the same for all, or not known.
"""


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
