"""Devices that share counters, such as the partitions of a node's GPUs, and the equivalent states
of a search that result from them.

Devices of one kind are interchangeable one by one (:meth:`dractl.allocation.bounds.Bounds.kind`).
The partitions of two equal GPUs are not, since each charges the counters of its own GPU, but the
two GPUs as a whole are. The search depends only on the partitions of a GPU that still fit, and on
the remainder of the counters that they charge. A state need not be tried if an earlier state with
the same partitions and remainders failed.
"""

from collections.abc import Hashable, Sequence

from msgspec import Struct

from dractl.allocation.problem import Charge, SearchProblem, bits


class Block(Struct, frozen=True):
    """Devices that charge common counters, directly or through other devices of the block. All of
    these counters are in one ledger.
    """

    first: int
    devices: int
    ledger: int
    counters: tuple[int, ...]


class Shape(Struct, frozen=True):
    """The common structure of equal blocks; devices and counters are numbered within the block."""

    ledger: int
    available: tuple[int | None, ...]
    """The remaining amount of each counter before the search; None for a counter without limit."""
    charges: tuple[tuple[int, int, tuple[tuple[int, int], ...]], ...]
    """The number, the kind and the (counter, amount) pairs of each device."""


class Symmetry:
    """The blocks of a problem by shape, and a key that is equal for equivalent states of the
    search.
    """

    __slots__ = ("_known", "_states", "blocks", "counters", "fixed", "places", "shapes")

    def __init__(self, problem: SearchProblem, kinds: Sequence[int]) -> None:
        """Group the devices in blocks.

        ``kinds`` has a number for each device. Devices that differ only in the counters that they
        charge have the same number. ``places`` maps a device to three values: the number of its
        shape; a position in the shape, which for equivalent devices is the position of the first
        device; and its block. ``fixed`` has the devices that are in no block, and ``counters`` the
        (ledger, counter) pairs that are in none.
        """
        blocks = _by_shape(problem, kinds)
        self.shapes = list(blocks)
        self.blocks = list(blocks.values())
        self.places: dict[int, tuple[int, int, Block]] = {}
        self.fixed = -1
        moving: set[tuple[int, int]] = set()
        for number, shape in enumerate(self.shapes):
            firsts: dict[Hashable, int] = {}
            like = [
                (place, firsts.setdefault((kind, amounts), place))
                for place, kind, amounts in shape.charges
            ]
            for block in self.blocks[number]:
                self.fixed &= ~block.devices
                self.places |= {
                    block.first + place: (number, first, block) for place, first in like
                }
                moving.update((block.ledger, counter) for counter in block.counters)
        everything = (
            (n, c)
            for n, ledger in enumerate(problem.ledgers)
            for c in range(len(ledger.available[0]))
        )
        self.counters = tuple([place for place in everything if place not in moving])
        self._known: dict[Hashable, int] = {}
        self._states: dict[Hashable, int] = {}

    def state(self, todo: int, later: int, charged: Sequence[Sequence[int]]) -> Hashable:
        """Return the facts about blocks and counters on which the rest of the search depends: the
        state of each block, and the amounts taken of the counters outside blocks.

        ``todo`` and ``later`` are the devices left for the current request and for later requests.
        ``charged`` has the amount that the search has taken of each counter.
        """
        return (
            tuple([charged[ledger][counter] for ledger, counter in self.counters]),
            tuple(
                [
                    tuple(
                        sorted(
                            [self._state(number, block, todo, later, charged) for block in blocks]
                        )
                    )
                    for number, blocks in enumerate(self.blocks)
                ]
            ),
        )

    def kind(
        self, device: int, todo: int, later: int, charged: Sequence[Sequence[int]]
    ) -> Hashable:
        """Return the kind of a device among all blocks of its shape; None if it is in no block."""
        seat = self.places.get(device)
        if seat is None:
            return None
        number, place, block = seat
        return number, place, self._state(number, block, todo, later, charged)

    def _state(
        self, number: int, block: Block, todo: int, later: int, charged: Sequence[Sequence[int]]
    ) -> int:
        """Return a number for the state of a block. The rest of the search is the same for blocks
        of one shape whose states have the same number.
        """
        taken = charged[block.ledger]
        key = (
            number,
            (todo & block.devices) >> block.first,
            (later & block.devices) >> block.first,
            tuple([taken[counter] for counter in block.counters]),
        )
        state_number = self._known.get(key)
        if state_number is None:
            state = number, _state_left(self.shapes[number], *key[1:])
            state_number = self._known[key] = self._states.setdefault(state, len(self._states))
        return state_number


def _state_left(shape: Shape, todo: int, later: int, taken: tuple[int, ...]) -> Hashable:
    """Return the devices of a block that still fit, and the remainder of each counter: at most the
    amount that all these devices need together.
    """
    fitting = 0
    needed = [0] * len(taken)
    left = [
        None if have is None else have - used
        for have, used in zip(shape.available, taken, strict=True)
    ]
    for place, _, amounts in shape.charges:
        if (todo | later) >> place & 1 and all(
            (have := left[n]) is None or amount <= have for n, amount in amounts
        ):
            fitting |= 1 << place
            for n, amount in amounts:
                needed[n] += amount
    remainders = [
        need if have is None else min(need, have) for need, have in zip(needed, left, strict=True)
    ]
    return todo & fitting, later & fitting, tuple(remainders)


def _by_shape(problem: SearchProblem, kinds: Sequence[int]) -> dict[Shape, list[Block]]:
    if (
        problem.charges is None
        or problem.groups is not None
        or any(slot.admin for slot in problem.slots)
    ):
        return {}
    by_shape: dict[Shape, list[Block]] = {}
    for block in _blocks(problem.charges):
        charges = [
            (d, charge) for d in bits(block.devices) if (charge := problem.charges[d]) is not None
        ]
        if block.devices & problem.multi or any(
            amount < 0 for _, charge in charges for _, amount in charge.amounts
        ):
            # Such blocks are left out: all shares of a device charge its counters only once, and
            # with negative amounts the order of devices matters.
            continue
        number = {counter: n for n, counter in enumerate(block.counters)}
        shape = Shape(
            block.ledger,
            tuple(
                [problem.ledgers[block.ledger].available[0][counter] for counter in block.counters]
            ),
            tuple(
                [
                    (
                        device - block.first,
                        kinds[device],
                        tuple([(number[c], amount) for c, amount in charge.amounts]),
                    )
                    for device, charge in charges
                ]
            ),
        )
        by_shape.setdefault(shape, []).append(block)
    return by_shape


def _blocks(charges: Sequence[Charge | None]) -> list[Block]:
    """Return the connected parts of the graph of devices and counters."""
    by_counter: dict[tuple[int, int], Block] = {}
    for device, charge in enumerate(charges):
        if charge is None or not charge.amounts:
            continue
        block = Block(
            device, 1 << device, charge.ledger, tuple([counter for counter, _ in charge.amounts])
        )
        for counter, _ in charge.amounts:
            other = by_counter.get((charge.ledger, counter))
            if other is not None:
                block = Block(
                    min(block.first, other.first),
                    block.devices | other.devices,
                    charge.ledger,
                    tuple(sorted({*block.counters, *other.counters})),
                )
        for counter in block.counters:
            by_counter[charge.ledger, counter] = block
    return list(dict.fromkeys(by_counter.values()))
