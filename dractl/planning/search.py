"""The search for the fewest moves that make room for pods.

The search begins with the pods that wait, each of which needs a place. Pods in the way have to
leave, and then need a place themselves. Bounds (:mod:`dractl.planning.landscape`) leave out
candidates that cannot work; the proof judges the others.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from dractl.planning.landscape import Client, Landscape, Layout
from dractl.planning.movable import Unit
from dractl.simulation.workload_pods import WorkloadKey


class Departure(Struct, frozen=True):
    """A unit that leaves."""

    unit: Unit
    """The pods."""

    cordon: str
    """The node that is cordoned, so that the pods do not return: others need their devices
    there.
    """

    nodes: tuple[str, ...]
    """The next node of each pod, "" for a pod that ends."""

    @property
    def ends(self) -> int:
        """The number of pods that end."""
        return sum(not node for node in self.nodes)


Candidate = tuple[Departure, ...]
"""Departures in the order of the search: each comes before the departures that make room for its
pods.
"""


class Work:
    """The amount of work that a search may still do."""

    def __init__(self, limit: int) -> None:
        self.remaining = limit

    def spend(self, amount: int = 1) -> bool:
        """Subtract an amount of work. Return False if nothing remains."""
        self.remaining -= amount
        return self.remaining > 0


class _Item(Struct, frozen=True, eq=False):
    """A pod that needs a place: a waiting pod, or a pod that leaves its node."""

    client: Client
    unit: Unit | None = None
    """The unit that leaves; None for a pod that waits."""

    member: int = 0
    """The index of the pod in the unit."""

    forbidden: str = ""
    """The node that a pod leaves and to which it must not return; "" for a pod that waits."""


class _Agenda(Struct, frozen=True):
    """An incomplete candidate: pods with a place, and pods that still need one."""

    layout: Layout
    items: tuple[_Item, ...]
    """The pods that need a place."""

    departures: tuple[tuple[Unit, str], ...]
    """The units that leave, in the order of the search, each with the node that it has to leave."""

    nodes: Mapping[tuple[Unit, int], str]
    """The next node of each pod that leaves, by unit and index."""

    departures_left: int
    """The number of further pods that may leave."""

    ends_left: int
    """The number of further pods that may end without a place."""


class Search:
    """An iterator over candidates by the number of pods that they move and end."""

    def __init__(
        self,
        landscape: Landscape,
        subjects: Sequence[Client],
        failures_left: Mapping[WorkloadKey, int],
        work: Work,
    ) -> None:
        self.landscape = landscape
        self.subjects = subjects
        self.failures_left = failures_left
        self.work = work
        self.is_cut = False
        """True if the work was used up before all candidates were made."""

    def candidates(self, moves: int, ends: int) -> Iterator[Candidate]:
        """Yield the candidates with at most ``moves`` moves and ``ends`` ends."""
        items = tuple(_Item(client) for client in self.subjects)
        yield from self._complete(_Agenda(Layout(), items, (), {}, moves + ends, ends))

    def _complete(self, agenda: _Agenda) -> Iterator[Candidate]:
        """Find a place for the pod with the fewest places, then for the other pods."""
        if not self.work.spend():
            self.is_cut = True
            return
        if not agenda.items:
            yield _candidate(agenda)
            return
        free = {item: self._free_nodes(item, agenda.layout) for item in agenda.items}
        item = min(agenda.items, key=lambda each: len(free[each]))
        others = tuple(other for other in agenda.items if other is not item)
        for node in self._sort_nodes(free[item], agenda.layout):
            layout = agenda.layout.add(item.client, node)
            yield from self._complete(_assign(agenda, item, node, layout, others))
        yield from self._end(agenda, item, others)
        yield from self._make_room(agenda, item, others, free[item])

    def _end(self, agenda: _Agenda, item: _Item, others: tuple[_Item, ...]) -> Iterator[Candidate]:
        """End a pod, together with all pods of its gang, instead of finding a place for it."""
        unit = item.unit
        if unit is None or unit.size > agenda.ends_left:
            return
        if any(agenda.nodes.get((unit, number)) for number in range(unit.size)):
            return
        remaining = tuple(other for other in others if other.unit is not unit)
        ended = {(unit, number): "" for number in range(unit.size)}
        yield from self._complete(
            _Agenda(
                agenda.layout,
                remaining,
                agenda.departures,
                {**agenda.nodes, **ended},
                agenda.departures_left,
                agenda.ends_left - unit.size,
            )
        )

    def _make_room(
        self, agenda: _Agenda, item: _Item, others: tuple[_Item, ...], free: frozenset[str]
    ) -> Iterator[Candidate]:
        """Let units leave a node so that a pod fits there."""
        if agenda.departures_left <= 0:
            return
        for node, units in self._leave_sets(agenda, item, free):
            layout = agenda.layout.add(item.client, node, units)
            leaving = tuple(
                _Item(self.landscape.client(pod), unit, number, node)
                for unit in units
                for number, pod in enumerate(unit.pods)
            )
            placed = _assign(agenda, item, node, layout, (*others, *leaving))
            yield from self._complete(
                _Agenda(
                    layout,
                    placed.items,
                    (*placed.departures, *((unit, node) for unit in units)),
                    placed.nodes,
                    agenda.departures_left - len(leaving),
                    agenda.ends_left,
                )
            )

    def _free_nodes(self, item: _Item, layout: Layout) -> frozenset[str]:
        """Return the nodes where a pod fits without changes, or may fit because pods have moved."""
        if item.unit is not None and item.unit.workload is None:
            return frozenset()  # nothing recreates a bare pod
        touched = layout.touched
        untouched = self.landscape.fits_now(item.client) - touched
        nodes = self.landscape.nodes_for(item.client)
        fitting = {
            node
            for node in touched
            if node in nodes and self.landscape.may_fit(item.client, node, layout)
        }
        return (untouched | fitting) - {item.forbidden}

    def _sort_nodes(self, nodes: frozenset[str], layout: Layout) -> list[str]:
        """Sort nodes; nodes to or from which no other pod moves come first."""
        touched = layout.touched
        return sorted(nodes, key=lambda node: (node in touched, node))

    def _leave_sets(
        self, agenda: _Agenda, item: _Item, free: frozenset[str]
    ) -> list[tuple[str, tuple[Unit, ...]]]:
        """Return the sets of units that may leave a node for a pod, the smallest first."""
        layout, limit = agenda.layout, agenda.departures_left
        evictions = Counter(unit.workload for unit in layout.left)
        touched = layout.touched
        options: list[tuple[int, int, str, tuple[Unit, ...]]] = []
        for node in self.landscape.nodes_for(item.client):
            if node == item.forbidden or (node in free and node not in touched):
                continue
            allowed = [
                unit
                for unit in self.landscape.units_by_node.get(node, ())
                if unit not in layout.left
                and unit.size <= limit
                and (unit.workload is not None or agenda.ends_left)
            ]
            if not allowed:
                continue
            if not self.work.spend(2):
                self.is_cut = True
                break
            for units in self.landscape.leave_sets(item.client, node, layout, allowed, limit):
                if not self._may_fail(units, evictions):
                    continue
                size = sum(unit.size for unit in units)
                options.append((size, sum(unit.loss for unit in units), node, units))
        options.sort(key=lambda option: (*option[:3], [unit.keys for unit in option[3]]))
        return [(node, units) for _, _, node, units in options]

    def _may_fail(self, units: Sequence[Unit], evictions: Counter[WorkloadKey | None]) -> bool:
        """Return True if the loss of ``units``, after the earlier evictions, makes no Job fail."""
        failures = evictions + Counter(unit.workload for unit in units)
        return all(failures[job] <= limit for job, limit in self.failures_left.items())


def _assign(
    agenda: _Agenda, item: _Item, node: str, layout: Layout, items: tuple[_Item, ...]
) -> _Agenda:
    """Return the agenda after a pod was assigned to a node."""
    nodes = agenda.nodes
    if item.unit is not None:
        nodes = {**nodes, (item.unit, item.member): node}
    return _Agenda(
        layout, items, agenda.departures, nodes, agenda.departures_left, agenda.ends_left
    )


def _candidate(agenda: _Agenda) -> Candidate:
    return tuple(
        Departure(unit, cordon, tuple(agenda.nodes[unit, number] for number in range(unit.size)))
        for unit, cordon in agenda.departures
    )
