"""Which devices of two kinds count as pairs, and how an allocation compares with another.

An allocation is as good as its sorted positions: of two, that one is better whose farthest level is rarer, then the
next. Compared are the positions from far to near, as tuples.
"""

from collections.abc import Callable, Sequence
from itertools import combinations

Positions = tuple[int, ...]
"""Positions of pairs, the farthest first."""


def paired(
    first: Sequence[int], second: Sequence[int] | None, far: Callable[[int, int], int]
) -> list[tuple[int, int]]:
    """The pairs: of one kind (``second`` is None) all; of two each device of the more numerous kind with one of the
    other, none used more often than evenly, so that the farthest level is rarest, then the next.

    Devices are numbers, ``far`` says how far two are apart.
    """
    if second is None:
        return list(combinations(first, 2))
    if len(first) < len(second):
        return [(a, b) for b, a in paired(second, first, lambda b, a: far(a, b))]
    if not second:
        return []
    uses = -(-len(first) // len(second))
    columns = [b for b in second for _ in range(uses)]
    table = [[far(a, b) for b in columns] for a in first]
    ranks = {
        number: rank
        for rank, number in enumerate(sorted({number for row in table for number in row}))
    }
    weights = [(len(first) + 1) ** rank for rank in range(len(ranks))]
    chosen = _assigned([[weights[ranks[number]] for number in row] for row in table])
    return [(a, columns[column]) for a, column in zip(first, chosen, strict=True)]


def _assigned(costs: Sequence[Sequence[int]]) -> list[int]:
    """The column of each row in an assignment of the lowest total cost (the Hungarian method with potentials, by
    shortest augmenting paths). There are at least as many columns as rows."""
    rows, columns = len(costs), len(costs[0])
    owner = [-1] * (
        columns + 1
    )  # the row of each column; the last column stands for the row that is added
    of_row, of_column = [0] * rows, [0] * (columns + 1)
    for row in range(rows):
        owner[columns], column = row, columns
        least: list[int | None] = [None] * columns
        before = [columns] * columns
        seen = [False] * (columns + 1)
        while owner[column] != -1:
            seen[column] = True
            here, step, following = owner[column], -1, -1
            for c in range(columns):
                if seen[c]:
                    continue
                cost = costs[here][c] - of_row[here] - of_column[c]
                known = least[c]
                if known is None or cost < known:
                    least[c], before[c], known = cost, column, cost
                if step < 0 or known < step:
                    step, following = known, c
            for c in range(columns + 1):
                if seen[c]:
                    of_row[owner[c]] += step
                    of_column[c] -= step
                elif c < columns and (known := least[c]) is not None:
                    least[c] = known - step
            column = following
        while column != columns:
            owner[column] = owner[before[column]]
            column = before[column]
    found = [0] * rows
    for column in range(columns):
        if owner[column] != -1:
            found[owner[column]] = column
    return found


def at_least_as_near(actual: Sequence[int], best: Sequence[int]) -> int:
    """How many positions of an allocation are as near as those of another, both sorted by level."""
    return sum(a <= b for a, b in zip(sorted(actual), sorted(best), strict=True))
