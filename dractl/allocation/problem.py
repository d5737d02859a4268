"""The input of the search: devices, requests and constraints as numbers, without names, attributes
or nodes.

Devices are numbered in the order in which the scheduler walks them; a set of devices is an int with
one bit per device. Two nodes whose devices differ only in parts that nothing reads make equal
problems, and share one search.
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
    """A request, or an alternative of one."""

    claim: int
    request: int
    alternative: int | None
    need: int
    every: tuple[int, ...] | None
    """The devices of mode All in their order; None for ExactCount."""
    admin: bool
    selectable: int
    """The devices that the selectors accept."""
    faults: int
    """Devices at which the attempt is aborted."""
    refused: int
    """Devices that are rejected before anything is reserved for them."""
    tainted: int
    """Devices with a taint that is not tolerated."""
    wants: tuple[Vector | None, ...] | None
    """The consumption of each capacity by a share of each device; None for a device that no share
    fits. The whole tuple is None if capacities do not matter.
    """


ConstraintKind = Literal["match", "match-unrestored", "distinct", "distinct-last"]


class Constraint(Struct, frozen=True):
    """A constraint of a claim.

    A list is a set of values. A match needs a value that all sets share; a distinct constraint
    needs sets that share none.
    """

    kind: ConstraintKind
    lists: bool
    values: tuple[tuple[Value, ...] | None, ...]
    """For each slot, the value of each device; None for a slot that the constraint does not
    cover.
    """


class Charge(Struct, frozen=True):
    """Counters that a device consumes."""

    ledger: int
    pool: int
    """The device's pool, as a number in the ledger."""
    amounts: tuple[tuple[int, int], ...]
    """The amounts, each with the number of its counter."""


class Ledger(Struct, frozen=True):
    """Counters of a pool."""

    available: tuple[tuple[int | None, ...], ...]
    """For each pool, the remaining amount of each counter; None for a counter that the pool does
    not have. A ledger has several pools only if they share it.
    """


class Rules(Struct, frozen=True):
    """The parts of a variant's behaviour that shape the search. ``leaks``, ``forgets_alternative``,
    ``all_panics`` and ``recheck_by_position`` are bugs.
    """

    combinations: bool
    """True if the devices of a request are taken in increasing order."""
    limit_unwinds: bool
    """True if the search, once a claim has over 32 devices, skips all further devices of the
    claim's earlier requests.
    """
    charged_once: bool
    """True if further shares of a device are not charged for its counters."""
    leaks: bool
    forgets_alternative: bool
    all_panics: bool
    recheck_by_position: bool


class SearchProblem(Struct, frozen=True):
    """Everything that decides the search."""

    rules: Rules
    devices: int
    slots: tuple[Slot, ...]
    requests: tuple[tuple[int, ...], ...]
    """The numbers of the slots of each request: one slot, or one for each alternative."""
    choices: tuple[bool, ...]
    """True for each request that is a list of alternatives."""
    constraints: tuple[tuple[Constraint, ...], ...]
    """The constraints by claim."""
    held: int
    """Devices that other claims hold."""
    multi: int
    """Devices that can be shared."""
    sharing: int
    """Devices that are shared already."""
    free: tuple[Vector, ...] | None
    """The remaining amount of each capacity of each device; None if capacities do not matter."""
    charges: tuple[Charge | None, ...] | None
    """The charges by device; None if no device consumes counters, or if their gate is off."""
    ledgers: tuple[Ledger, ...]
    groups: tuple[tuple[tuple[int, frozenset[str]], ...], ...] | None
    """The compatibility groups by device; None if their gate is off."""
    baseline: tuple[frozenset[str] | None, ...]
    slices: tuple[tuple[int, int], ...] | None
    """For each device, the first device of its slice and the number of devices in that slice; None
    if no rule needs them.
    """


def bits(mask: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set, in increasing order."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
