"""Pairs of devices of two kinds, and the comparison of two allocations.

Allocations are compared by the ranks of their pairs, sorted from far to near. The better one has
fewer pairs of the farthest level; if both have equally many, the next level decides.
"""

from collections.abc import Callable, Sequence
from itertools import combinations

Ranks = tuple[int, ...]
"""Ranks of the levels of pairs, the farthest first."""

RankFunction = Callable[[int, int], int]
"""Returns the rank of the level between two numbered devices."""

_NO_ROW = -1


def pair_devices(
    first: Sequence[int], second: Sequence[int] | None, rank: RankFunction
) -> list[tuple[int, int]]:
    """Return the pairs of two kinds of devices; or all pairs of one kind (``second`` is None).

    Each device of the kind with more devices is in one pair. The devices of the other kind are in
    equally many pairs, as far as the numbers allow. Of all such pairings, one is chosen in which
    the farthest level is as rare as possible, then the next level.
    """
    if second is None:
        return list(combinations(first, 2))
    if len(first) < len(second):
        return [(a, b) for b, a in pair_devices(second, first, lambda b, a: rank(a, b))]
    if not second:
        return []
    uses = -(-len(first) // len(second))
    columns = [device for device in second for _ in range(uses)]
    ranks = [[rank(device, column) for column in columns] for device in first]
    return [
        (device, columns[column])
        for device, column in zip(first, _assign_columns(_weigh(ranks)), strict=True)
    ]


def _weigh(ranks: Sequence[Sequence[int]]) -> list[list[int]]:
    """Replace ranks by costs, such that one pair of a level costs more than all nearer pairs
    together.
    """
    levels = sorted({rank for row in ranks for rank in row})
    weights = {rank: (len(ranks) + 1) ** index for index, rank in enumerate(levels)}
    return [[weights[rank] for rank in row] for row in ranks]


def pair_ranks(first: Sequence[int], second: Sequence[int] | None, rank: RankFunction) -> Ranks:
    """Return the ranks of the pairs of :func:`pair_devices`, the farthest first."""
    pairs = pair_devices(first, second, rank)
    return tuple(sorted((rank(a, b) for a, b in pairs), reverse=True))


def count_as_near(actual: Sequence[int], best: Sequence[int]) -> int:
    """Count the ranks that are at least as near as the corresponding best ones; both lists are
    sorted.
    """
    return sum(a <= b for a, b in zip(sorted(actual), sorted(best), strict=True))


# -- the assignment problem --


def _assign_columns(costs: Sequence[Sequence[int]]) -> list[int]:
    """Return a column for each row, at the lowest total cost.

    There are at least as many columns as rows. This is the Hungarian method with potentials: each
    row is added along a cheapest augmenting path.
    """
    assignment = _Assignment(costs)
    for row in range(len(costs)):
        assignment.add_row(row)
    return assignment.columns_by_row()


class _Assignment:
    """A cheapest assignment of some rows to columns, extended row by row.

    In this class, the slack of a column is the cost of reaching it minus the part that the
    potentials cover.
    """

    def __init__(self, costs: Sequence[Sequence[int]]) -> None:
        self.costs = costs
        self.column_count = len(costs[0])
        # Each path starts at an additional column, which stands for the new row.
        self.start = self.column_count
        self.row_by_column = [_NO_ROW] * (self.column_count + 1)
        self.row_potentials = [0] * len(costs)
        self.column_potentials = [0] * (self.column_count + 1)

    def add_row(self, row: int) -> None:
        """Assign another row, and reassign the rows along the path."""
        self.row_by_column[self.start] = row
        slacks: list[int | None] = [None] * self.column_count
        predecessors = [self.start] * self.column_count
        visited = [False] * (self.column_count + 1)
        column = self.start
        while self.row_by_column[column] != _NO_ROW:
            visited[column] = True
            self._update_slacks(column, slacks, predecessors, visited)
            slack, column = _cheapest_column(slacks, visited)
            self._shift_potentials(slack, slacks, visited)
        while column != self.start:
            predecessor = predecessors[column]
            self.row_by_column[column] = self.row_by_column[predecessor]
            column = predecessor

    def _update_slacks(
        self,
        column: int,
        slacks: list[int | None],
        predecessors: list[int],
        visited: Sequence[bool],
    ) -> None:
        """Reach further columns through the row assigned to ``column``."""
        row = self.row_by_column[column]
        costs, potential = self.costs[row], self.row_potentials[row]
        for other in range(self.column_count):
            if visited[other]:
                continue
            slack = slacks[other]
            reduced_cost = costs[other] - potential - self.column_potentials[other]
            if slack is None or reduced_cost < slack:
                slacks[other], predecessors[other] = reduced_cost, column

    def _shift_potentials(
        self, shift: int, slacks: list[int | None], visited: Sequence[bool]
    ) -> None:
        """Cover the cost of the next column with the potentials of the rows and columns visited so
        far.
        """
        for column, is_visited in enumerate(visited):
            if is_visited:
                self.row_potentials[self.row_by_column[column]] += shift
                self.column_potentials[column] -= shift
            elif column != self.start and (slack := slacks[column]) is not None:
                slacks[column] = slack - shift

    def columns_by_row(self) -> list[int]:
        """Return the column of each row."""
        columns = [0] * len(self.costs)
        for column, row in enumerate(self.row_by_column[: self.column_count]):
            if row != _NO_ROW:
                columns[row] = column
        return columns


def _cheapest_column(slacks: Sequence[int | None], visited: Sequence[bool]) -> tuple[int, int]:
    """Return the smallest slack of the columns that are not visited yet, and the first column with
    this slack.
    """
    return min(
        (slack, column)
        for column, slack in enumerate(slacks)
        if slack is not None and not visited[column]
    )
