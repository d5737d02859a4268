"""The state of a claim's constraints while devices are added and removed.

The rules follow matchAttributeConstraint and distinctAttributeConstraint in
k8s.io/dynamic-resource-allocation/structured/internal/*/{allocator_*,constraint}.go.
"""

from collections.abc import Hashable
from typing import Protocol, cast

from dractl.allocation.problem import FAULT, OPAQUE, Constraint, Scalar, Slot, Value


class ConstraintFault(Exception):
    """A derived attribute cannot be evaluated on the device."""


class Tracker(Protocol):
    """One constraint during a search."""

    def add(self, slot: int, device: int) -> bool:
        """Add the device if the constraint allows it."""
        ...

    def remove(self, slot: int) -> None:
        """Undo the last addition for the slot."""
        ...

    def key(self) -> Hashable:
        """Return everything that later results depend on."""
        ...


class _Match:
    """All values are equal; with lists, all sets have a value in common."""

    __slots__ = ("lists", "stack", "values")

    def __init__(self, constraint: Constraint) -> None:
        self.values = constraint.values
        self.lists = constraint.lists
        self.stack: list[Value] = []

    def add(self, slot: int, device: int) -> bool:
        values = self.values[slot]
        if values is None:
            return True
        value = values[device]
        if value is None:
            return False
        if value is FAULT:
            raise ConstraintFault
        if not self.stack:
            self.stack.append(value)
            return True
        if self.lists:
            common = cast("frozenset[Scalar]", self.stack[-1]) & cast("frozenset[Scalar]", value)
            if not common:
                return False
            self.stack.append(common)
            return True
        if value is OPAQUE or value != self.stack[0]:
            return False
        self.stack.append(value)
        return True

    def remove(self, slot: int) -> None:
        if self.values[slot] is not None:
            self.stack.pop()

    def key(self) -> Hashable:
        return self.stack[-1] if self.stack else None


class _MatchUnrestored(_Match):
    """kubernetes#140326: the common values stay narrowed when a device is removed."""

    __slots__ = ("common", "count")

    def __init__(self, constraint: Constraint) -> None:
        super().__init__(constraint)
        self.common: frozenset[Scalar] = frozenset()
        self.count = 0

    def add(self, slot: int, device: int) -> bool:
        values = self.values[slot]
        if values is None:
            return True
        value = values[device]
        if value is None:
            return False
        values_of_device = cast("frozenset[Scalar]", value)
        if self.count == 0:
            self.common = values_of_device
        else:
            if not self.common & values_of_device:
                return False
            self.common &= values_of_device
        self.count += 1
        return True

    def remove(self, slot: int) -> None:
        if self.values[slot] is not None:
            self.count -= 1

    def key(self) -> Hashable:
        return self.common, self.count


def _clash(new: Value, old: Value, *, lists: bool) -> bool:
    if lists:
        return bool(cast("frozenset[Scalar]", new) & cast("frozenset[Scalar]", old))
    return new is OPAQUE or new == old


class _Distinct:
    """No two values are equal; with lists, no two sets have a value in common."""

    __slots__ = ("added", "lists", "values")

    def __init__(self, constraint: Constraint) -> None:
        self.values = constraint.values
        self.lists = constraint.lists
        self.added: list[Value] = []

    def add(self, slot: int, device: int) -> bool:
        values = self.values[slot]
        if values is None:
            return True
        value = values[device]
        if value is None:
            return False
        if value is FAULT:
            raise ConstraintFault
        if any(_clash(value, old, lists=self.lists) for old in self.added):
            return False
        self.added.append(value)
        return True

    def remove(self, slot: int) -> None:
        if self.values[slot] is not None:
            self.added.pop()

    def key(self) -> Hashable:
        return frozenset(self.added)


class _DistinctLastOnly:
    """kubernetes#140438: one value is remembered for each request, and forgotten when any device of
    the request is removed.
    """

    __slots__ = ("count", "last", "lists", "request_of", "values")

    def __init__(self, constraint: Constraint, slots: tuple[Slot, ...]) -> None:
        self.values = constraint.values
        self.lists = constraint.lists
        self.request_of = [slot.request for slot in slots]
        self.last: dict[int, Value] = {}
        self.count = 0

    def add(self, slot: int, device: int) -> bool:
        values = self.values[slot]
        if values is None:
            return True
        value = values[device]
        if value is None:
            return False
        if self.count and any(_clash(value, old, lists=self.lists) for old in self.last.values()):
            return False
        self.last[self.request_of[slot]] = value
        self.count += 1
        return True

    def remove(self, slot: int) -> None:
        if self.values[slot] is not None:
            self.last.pop(self.request_of[slot], None)
            self.count -= 1

    def key(self) -> Hashable:
        return frozenset(self.last.items()), self.count


def tracker(constraint: Constraint, slots: tuple[Slot, ...]) -> Tracker:
    """Return the state of a constraint before any device is added."""
    match constraint.kind:
        case "match":
            return _Match(constraint)
        case "match-unrestored":
            return _MatchUnrestored(constraint)
        case "distinct":
            return _Distinct(constraint)
        case "distinct-last":
            return _DistinctLastOnly(constraint, slots)
