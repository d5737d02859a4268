"""The input of the search: devices, requests and constraints as numbers, without names, attributes or nodes.

Devices are numbered in the order in which the scheduler walks them; a set of devices is an int with one bit per device.
Two nodes whose devices differ only in parts that nothing reads make equal problems, and share one search.
"""

from collections.abc import Iterator
from typing import Final, Literal

from msgspec import Struct

Vector = tuple[int, ...]


class Mark:
    """Sentinel: the attribute has no comparable value."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


OPAQUE: Final = Mark("OPAQUE")  # a type that the constraint cannot compare
FAULT: Final = Mark("FAULT")  # a derived attribute that cannot be evaluated: the attempt is aborted

Scalar = tuple[str, object]  # (type, value)
Value = Scalar | frozenset[Scalar] | Mark | None  # None: the device lacks the attribute


class Slot(Struct, frozen=True):
    """A request, or an alternative of one.

    ``every`` lists the devices of mode All in their order; it is None for ExactCount. ``selectable``: the devices that
    the selectors accept; ``faults``: devices at which the attempt is aborted; ``refused``: devices that are rejected
    before anything is reserved for them; ``tainted``: devices with a taint that is not tolerated. ``wants``: for each
    device, a share's consumption of each capacity, None if it never fits; None altogether if capacity plays no part.
    """

    claim: int
    request: int
    alternative: int | None
    need: int
    every: tuple[int, ...] | None
    admin: bool
    selectable: int
    faults: int
    refused: int
    tainted: int
    wants: tuple[Vector | None, ...] | None


ConstraintKind = Literal["match", "match-unrestored", "distinct", "distinct-last"]


class Constraint(Struct, frozen=True):
    """A constraint of a claim. ``values``: for each slot the value of each device, None for a slot that is not covered.

    With lists, a value is a set: the sets of a match must have a value in common, those of a distinct none.
    """

    kind: ConstraintKind
    lists: bool
    values: tuple[tuple[Value, ...] | None, ...]


class Charge(Struct, frozen=True):
    """Counters that a device consumes: the ledger, which of the ledger's pools the device is in, amount by counter."""

    ledger: int
    pool: int
    amounts: tuple[tuple[int, int], ...]


class Ledger(Struct, frozen=True):
    """Counters of a pool.

    ``available``: for each pool (several only if pools share a ledger) the remaining amount of each counter, None for a
    counter that the pool does not have.
    """

    available: tuple[tuple[int | None, ...], ...]


class Rules(Struct, frozen=True):
    """The parts of a variant's behaviour that shape the search.

    ``combinations``: the devices of a request are taken in increasing order. ``limit_unwinds``: see
    :class:`dractl.allocation.features.Behaviour`. ``leaks``, ``forgets_alternative``, ``all_panics`` and
    ``recheck_by_position`` are bugs. ``charged_once``: further shares of a device are not charged for its counters.
    """

    combinations: bool
    limit_unwinds: bool
    charged_once: bool
    leaks: bool
    forgets_alternative: bool
    all_panics: bool
    recheck_by_position: bool


class SearchProblem(Struct, frozen=True):
    """Everything that decides the search.

    ``requests``: by request the numbers of its slots, one, or one for each alternative. ``choices``: whether a request
    is a list of alternatives. ``constraints``: by claim. ``held``: devices in use by others. ``multi``: devices that
    can be shared; ``sharing``: those of them that are shared already. ``free``: by device what is left of each
    capacity.
    ``charges``, ``groups``: by device. ``slices``: by device the first device of its slice and how many there are.
    """

    rules: Rules
    devices: int
    slots: tuple[Slot, ...]
    requests: tuple[tuple[int, ...], ...]
    choices: tuple[bool, ...]
    constraints: tuple[tuple[Constraint, ...], ...]
    held: int
    multi: int
    sharing: int
    free: tuple[Vector, ...] | None
    charges: tuple[Charge | None, ...] | None
    ledgers: tuple[Ledger, ...]
    groups: tuple[tuple[tuple[int, frozenset[str]], ...], ...] | None
    baseline: tuple[frozenset[str] | None, ...]
    slices: tuple[tuple[int, int], ...] | None


def bits(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set, in increasing order."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
