"""Results of a nest of loops for many rounds of its outermost loop at once.

All loops in ``lists.range(99).all(x, lists.range(99).all(y, x * y < 9802))`` have the result of the
innermost predicate if it is the same for all values of their variables.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from dractl.cel.ast import Node
from dractl.cel.bounds import predicate_bounds
from dractl.cel.closures import Decider, Frame, Parts, Rounds, Run, Uncertain, read_constant


class Inner(Struct, frozen=True):
    """A loop ``all`` or ``exists`` that is the predicate of the loop around it."""

    items: Run
    weight: int
    """The cost of a round, without the costs of the loops in it."""
    decisive: bool
    """The result of a round that decides the loop."""


def nest_decider(predicate: Node, parts: Parts, loops: Sequence[Inner]) -> Decider | None:
    """Return the decider of a nest; None if the innermost predicate has no bounds."""
    bounds = predicate_bounds(predicate, parts)
    if bounds is None:
        return None

    def decide(f: Frame, rounds: Rounds) -> bool | None:
        try:
            over = [read_constant(loop.items, f) for loop in loops]
        except Uncertain:
            return None
        # The result of a loop without rounds does not depend on its predicate
        has_rounds = all(type(items) is list and items for items in over)
        return bounds(f, rounds) if has_rounds else None

    def cost(f: Frame, result: bool) -> int:
        total = 0
        for loop in reversed(loops):
            count = len(loop.items(f))
            if result is loop.decisive:
                # The loop ends only when its condition is evaluated, in the second round
                total += min(2, count) * loop.weight
            else:
                total = count * (loop.weight + total)
        return total

    return Decider(decide, None, cost)
