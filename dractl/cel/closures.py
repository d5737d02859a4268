"""Closures of sub-expressions, the frame that they share, and their memory."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
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
"""Some rounds of a loop, as three values: the items of the whole loop (sorted ints or strings), the
index of the first round, and the index after the last round.
"""

Bounds = Callable[[Frame, Rounds], bool | None]
"""Returns the result of a predicate if it is the same in every round of a range; None if the
results differ or are unknown.
"""


class Parts(Struct, frozen=True):
    """The closures of the sub-expressions of a loop over ``variable``. Each function returns None
    for a sub-expression for which it is not meant.
    """

    variable: str
    slot: int
    constant: Callable[[Node], Run | None]
    """Returns the closure of a sub-expression that keeps its value during the loop."""
    tabular: Callable[[Node], Run | None]
    """Returns the closure of a sub-expression that has the same values for all devices, since it
    depends on the variable alone and the loop always has the same items.
    """
    inner: Mapping[str, Run] = {}
    """The closures of the items of the loops in the predicate, by variable. The items keep their
    value during the loop.
    """


class Uncertain(Exception):
    """Many rounds cannot be decided at once, because of an error or a value whose type has no
    bounds.
    """


Regions = Callable[[Frame, list[Any], int], list[tuple[range, bool]] | None]
"""Divides the first rounds of a loop over sorted items into ranges in which a predicate has the
same result; None if the rounds must be evaluated one by one.
"""


class Decider(Struct, frozen=True):
    """The functions that decide a predicate for many rounds of a loop."""

    bounds: Bounds
    regions: Regions | None
    cost: Callable[[Frame, bool], int] | None = None
    """Returns the cost that the loops in the predicate add to a round with this result; None if it
    has no loops.
    """


Elements = Callable[[Frame, list[Any]], Iterable[Any] | None]
"""Returns the elements that ``map`` computes from a loop's items, which are sorted ints or strings;
None if the rounds must be evaluated one by one.
"""


def read_constant(run: Run, f: Frame) -> Any:
    """Return the value of a sub-expression that keeps its value during a loop. Raises Uncertain if
    the sub-expression fails, since an evaluation round by round may skip it.
    """
    try:
        return run(f)
    except (CelError, Halted):
        raise Uncertain from None


def remember(run: Run, slot: int, cell: Frame | None) -> Run:
    """Return a closure that evaluates once and then returns that value or raises that error.

    The result is stored in a slot of ``cell``, or of the frame if ``cell`` is None. The slot is
    None as long as nothing is stored.
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


class Outcome(Struct, frozen=True):
    """The value or the error of a loop, and its cost."""

    value: Any
    error: CelError | Halted | None
    cost: int


def remember_loop(run: Run, slot: int, cell: Frame | None) -> Run:
    """Wrap a sub-expression with a loop like :func:`remember`, but charge the cost of an evaluation
    for each use.
    """

    def recall(f: Frame) -> Any:
        memory = cell or f
        if memory[slot] is None:
            memory[slot] = _evaluate(run, f)
        return _repeat_outcome(memory[slot], f)

    return recall


def share_loop(run: Run, key: int) -> Run:
    """Wrap a loop that has one result for a device like :func:`remember_loop`; all closures of the
    expression that are built with the same key share the result.
    """

    def recall(f: Frame) -> Any:
        outcomes = f[0].outcomes
        if key not in outcomes:
            outcomes[key] = _evaluate(run, f)
        return _repeat_outcome(outcomes[key], f)

    return recall


def _evaluate(run: Run, f: Frame) -> Outcome:
    """Evaluate a loop; the cost in the frame stays the same."""
    before, f[1] = f[1], 0
    try:
        return Outcome(run(f), None, f[1])
    except (CelError, Halted) as error:
        return Outcome(None, error.with_traceback(None), f[1])
    finally:
        f[1] = before


def _repeat_outcome(outcome: Outcome, f: Frame) -> Any:
    f[1] += outcome.cost
    if f[1] > v.COST_LIMIT:
        raise v.cost_exceeded()
    if outcome.error is not None:
        raise outcome.error.with_traceback(None)
    return outcome.value


def order_checker() -> Callable[[list[Any]], bool]:
    """Return a function that checks whether a list consists of sorted ints or of sorted strings. It
    remembers the last list, since a range that is written in the expression is always the same.
    """
    last: list[Any] | None = None
    answer = False

    def is_sorted(items: list[Any]) -> bool:
        nonlocal last, answer
        if items is not last:
            kinds = set(map(type, items))
            answer = kinds in ({int}, {str}) and all(map(operator.le, items, items[1:]))
            last = items
        return answer

    return is_sorted


def put(f: Frame, slot: int, value: Any) -> None:
    """Set a variable; the frame grows to fit it."""
    while len(f) <= slot:
        f.append(None)
    f[slot] = value
