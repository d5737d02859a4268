"""Closures of loops: :func:`quantify` for the macros ``all`` and ``exists``, :func:`repeat` for all
other loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from dractl.cel import values as v
from dractl.cel.closures import Decider, Elements, Frame, Run, order_checker, put
from dractl.cel.values import CelError


class Loop(Struct, frozen=True):
    """The closures of a loop."""

    container: Run
    slots: tuple[int, ...]
    """The slots of the loop variables."""
    remembered: tuple[int, ...]
    """The slots of the sub-expressions that keep their value during the loop."""
    weight: int
    """The cost of a round, without the costs of the loops in it."""

    def begin(self, f: Frame) -> list[Any]:
        """Return the items of the loop, and forget the values remembered in an earlier run of
        it.
        """
        over = self.container(f)
        items: list[Any] = v.pairs(over) if len(self.slots) == 2 else v.elements(over)
        put(f, self.slots[-1], None)
        for slot in self.remembered:
            put(f, slot, None)
        return items


class Accumulation(Struct, frozen=True):
    """The closures that compute the result of a loop."""

    slot: int
    init: Run
    condition: Run | None
    """The condition to continue the loop; None if it is always true."""
    step: Run
    result: Run
    settles: bool
    """True if, once a round leaves the accumulator unchanged, all later rounds have the same result
    and cost.
    """
    change: Decider | None
    """Decides a condition; None if the rounds must be evaluated one by one."""
    idle: bool
    """The result of that condition with which a round leaves the accumulator unchanged."""
    elements: Elements | None
    """Computes what all rounds add to the accumulator; None if the rounds must be evaluated one by
    one.
    """


def repeat(loop: Loop, accumulation: Accumulation) -> Run:
    """Return the closure of a loop."""
    total, elements = accumulation.slot, accumulation.elements
    is_sorted = order_checker()
    change, idle, condition = accumulation.change, accumulation.idle, accumulation.condition
    parts, advance = _divider(change, is_sorted), _stepper(loop, accumulation)
    cost = None if change is None else change.cost

    def run(f: Frame) -> Any:
        items = loop.begin(f)
        f[total] = accumulation.init(f)
        batch = elements(f, items) if elements is not None and items and is_sorted(items) else None
        if batch is not None:
            _spend(f, len(items) * loop.weight)
            f[total].extend(batch)
            return accumulation.result(f)
        for rounds, verdict in parts(f, items, len(items)):
            if verdict is idle:
                if condition is not None and condition(f) is False:
                    _spend(f, loop.weight)
                    break
                _spend(f, len(rounds) * (loop.weight + (0 if cost is None else cost(f, idle))))
            elif not advance(f, items, rounds):
                break
        return accumulation.result(f)

    return run


def _stepper(loop: Loop, accumulation: Accumulation) -> Callable[[Frame, list[Any], range], bool]:
    """Return the function that evaluates some rounds, and returns False if the loop ends there."""
    total, condition, step = accumulation.slot, accumulation.condition, accumulation.step
    settles, weight = accumulation.settles, loop.weight
    two, slot = len(loop.slots) == 2, loop.slots[0]

    def advance(f: Frame, items: list[Any], rounds: range) -> bool:
        part = items if len(rounds) == len(items) else items[rounds.start : rounds.stop]
        for done, item in enumerate(part, rounds.start + 1):
            before, spent = f[total], f[1]
            _spend(f, weight)
            if two:
                f[slot], f[slot + 1] = item
            else:
                f[slot] = item
            if condition is not None and condition(f) is False:
                return False
            try:
                f[total] = step(f)
            except CelError as error:
                f[total] = error
            # A list that is still the same object may have changed in place
            if settles and f[total] is before and type(before) is not list:
                _spend(f, (len(items) - done) * (f[1] - spent))
                return False
        return True

    return advance


def quantify(loop: Loop, predicate: Run, decisive: bool, decider: Decider | None) -> Run:
    """Return the closure of ``all`` or ``exists`` whose predicate has no loop in it. A round with
    the result ``decisive`` decides the loop, and hides errors of other rounds.
    """
    scan = _scanner(loop, predicate, decisive)
    parts = _divider(decider, order_checker())

    def run(f: Frame) -> Any:
        items = loop.begin(f)
        allowed = min(len(items), (v.COST_LIMIT - f[1]) // loop.weight)
        failures: list[CelError] = []
        for rounds, verdict in parts(f, items, allowed):
            if verdict is (not decisive):
                continue
            position = rounds.start if verdict is decisive else scan(f, items, rounds, failures)
            if position is not None:
                # The loop ends only when its condition is evaluated, in the round after this one
                _spend(f, min(position + 2, len(items)) * loop.weight)
                return decisive
        _spend(f, len(items) * loop.weight)
        if failures:
            raise failures[0].with_traceback(None)
        return not decisive

    return run


def _scanner(
    loop: Loop, predicate: Run, decisive: bool
) -> Callable[[Frame, list[Any], range, list[CelError]], int | None]:
    """Return the function that evaluates some rounds one by one, up to the first that decides; an
    error is added to ``failures`` if that list is empty.
    """
    two, slot = len(loop.slots) == 2, loop.slots[0]

    def scan(f: Frame, items: list[Any], rounds: range, failures: list[CelError]) -> int | None:
        other = not decisive
        part = items if len(rounds) == len(items) else items[rounds.start : rounds.stop]
        for position, item in enumerate(part, rounds.start):
            if two:
                f[slot], f[slot + 1] = item
            else:
                f[slot] = item
            try:
                value = predicate(f)
            except CelError as error:
                if not failures:
                    failures.append(error)
                continue
            if value is decisive:
                return position
            if value is not other and not failures:
                failures.append(v.no_overload())
        return None

    return scan


_ROUNDS_ALONE = 16  # rounds that are evaluated one by one
_MOST_TRIES = 64  # ranges of rounds whose bounds are asked for in one run of a loop


def _divider(
    decider: Decider | None, is_sorted: Callable[[list[Any]], bool]
) -> Callable[[Frame, list[Any], int], Iterator[tuple[range, bool | None]]]:
    """Return the function that divides the first rounds of a loop into ranges, each with the result
    of the predicate in all of its rounds; None if they must be evaluated one by one.
    """

    def divide(f: Frame, items: list[Any], count: int) -> Iterator[tuple[range, bool | None]]:
        if decider is None or count <= _ROUNDS_ALONE or not is_sorted(items):
            yield range(count), None
            return
        if decider.regions is not None:
            regions = decider.regions(f, items, count)
            if regions is not None:
                yield from regions
                return
        bounds = decider.bounds
        tries, parts = 0, [(0, count)]
        while parts:
            start, stop = parts.pop()
            verdict = None
            if stop - start > _ROUNDS_ALONE and tries < _MOST_TRIES:
                tries += 1
                verdict = bounds(f, (items, start, stop))
                if verdict is None:
                    middle = (start + stop) // 2
                    parts += (middle, stop), (start, middle)
                    continue
            yield range(start, stop), verdict

    return divide


def _spend(f: Frame, cost: int) -> None:
    f[1] += cost
    if f[1] > v.COST_LIMIT:
        raise v.cost_exceeded()
