"""A proof that no plan exists, because no arrangement of the movable pods makes room.

Devices are counted by driver, without constraints. If the pods do not fit even by this count, no
order of moves makes them fit.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from dractl.planning.landscape import Client, Landscape
from dractl.views import Pod

MAX_ARRANGEMENTS = 20_000
"""The maximum number of partial arrangements that are tried; if it is reached, it is unknown
whether an arrangement exists.
"""

MAX_PIECES = 60
"""The maximum number of pods that are arranged."""
_UNLIMITED = 1 << 62
_Amounts = tuple[int, ...]


class _Piece(Struct, frozen=True):
    """A pod to arrange."""

    amounts: _Amounts
    """The amount of each resource that the pod takes."""

    stays: str
    """The node of a running pod, "" for a pod that waits."""

    nodes: frozenset[str]
    """The nodes to which the pod can go."""


def may_be_arranged(landscape: Landscape, subjects: Sequence[Client]) -> bool | None:
    """Return False if no arrangement has room for ``subjects``; None if that is unknown."""
    arranger = _Arranger(landscape, subjects)
    if not arranger.has_enough_in_all():
        return False
    if not arranger.is_small:
        return None
    try:
        return arranger.place(0, arranger.rooms)
    except _TooManyArrangementsError:
        return None


class _TooManyArrangementsError(Exception):
    """The search for an arrangement takes too long."""


class _Arranger:
    """A search for an arrangement that places one pod after the other, the largest first."""

    def __init__(self, landscape: Landscape, subjects: Sequence[Client]) -> None:
        self.nodes = tuple(landscape.emptied.nodes)
        self.drivers = sorted({item.spec.driver for item in landscape.scheduler.slices})
        requests = {name for client in subjects for name in client.pod.request_units}
        self.resources = sorted({"pods", *requests})
        movable = [pod for unit in landscape.units for pod in unit.pods]
        self.is_small = len(movable) + len(subjects) <= MAX_PIECES
        self.pieces = sorted(
            (
                *(self._make_waiting_piece(landscape, client) for client in subjects),
                *(self._make_running_piece(landscape, pod) for pod in movable),
            ),
            key=lambda piece: piece.amounts,
            reverse=True,
        )
        self.rooms = tuple(self._room(landscape, node) for node in self.nodes)
        self.dead_ends: set[tuple[int, tuple[_Amounts, ...]]] = set()

    def _room(self, landscape: Landscape, node: str) -> _Amounts:
        """Return the amounts of devices and resources that a node has for the pods of the search.

        No amount is smaller than what the pods of the search that run on the node take, so that
        they always fit where they are.
        """
        counts = Counter(device.driver for device in landscape.free_devices(node))
        room = landscape.use_of(node, frozenset(landscape.units)).room
        amounts = (
            *(counts[driver] for driver in self.drivers),
            *(room.get(name, _UNLIMITED) for name in self.resources),
        )
        staying = [piece.amounts for piece in self.pieces if piece.stays == node]
        taken = [sum(column) for column in zip(*staying, strict=True)] or [0] * len(amounts)
        return tuple(map(max, amounts, taken))

    def _make_waiting_piece(self, landscape: Landscape, client: Client) -> _Piece:
        amounts = self._amounts(client.pod, landscape.count_devices(client))
        return _Piece(amounts, "", frozenset(landscape.nodes_for(client)))

    def _make_running_piece(self, landscape: Landscape, pod: Pod) -> _Piece:
        """Make the piece of a running pod. The other nodes for the pod are determined only for a
        small search, since each node costs an attempt.
        """
        amounts = self._amounts(pod, landscape.count_held_devices(pod))
        nodes = landscape.nodes_for(landscape.client(pod)) if self.is_small else ()
        return _Piece(amounts, pod.node_name, frozenset(nodes))

    def _amounts(self, pod: Pod, devices: Mapping[str, int]) -> _Amounts:
        requests = pod.request_units
        return (
            *(devices.get(driver, 0) for driver in self.drivers),
            *(1 if name == "pods" else requests.get(name, 0) for name in self.resources),
        )

    def has_enough_in_all(self) -> bool:
        """Return whether all nodes together have enough of each resource for all pods."""
        total = [sum(column) for column in zip(*self.rooms, strict=True)]
        pieces = zip(*(piece.amounts for piece in self.pieces), strict=True)
        return all(sum(column) <= room for column, room in zip(pieces, total, strict=True))

    def place(self, number: int, rooms: tuple[_Amounts, ...]) -> bool:
        """Place the pods from index ``number`` on. Return True if that is possible."""
        if number == len(self.pieces):
            return True
        if (number, rooms) in self.dead_ends:
            return False
        if len(self.dead_ends) >= MAX_ARRANGEMENTS:
            raise _TooManyArrangementsError
        piece = self.pieces[number]
        for index in self._order_nodes(piece):
            remaining = tuple(
                room - amount for room, amount in zip(rooms[index], piece.amounts, strict=True)
            )
            if min(remaining) >= 0:
                after = (*rooms[:index], remaining, *rooms[index + 1 :])
                if self.place(number + 1, after):
                    return True
        self.dead_ends.add((number, rooms))
        return False

    def _order_nodes(self, piece: _Piece) -> list[int]:
        indexes = [i for i, n in enumerate(self.nodes) if n in piece.nodes or n == piece.stays]
        return sorted(indexes, key=lambda index: self.nodes[index] != piece.stays)
