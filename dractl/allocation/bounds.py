"""Bounds that show whether the rest of a search can still succeed.

Every bound is a proof: it rules out only cases without a solution. Devices that can be shared are
never ruled out.
"""

from collections.abc import Hashable, Iterator, Sequence

from msgspec import Struct

from dractl.allocation.holdings import Holdings
from dractl.allocation.problem import OPAQUE, Charge, Constraint, Scalar, SearchProblem, Slot, bits
from dractl.allocation.symmetry import Symmetry


class Demand(Struct, frozen=True, gc=False):
    """The devices that the search still wants for a slot: ``need`` of the devices in ``mask``."""

    slot: int
    need: int
    mask: int
    certain: bool = True
    """False for a request that may use another alternative instead."""


class Counter(Struct, frozen=True, order=True):
    """A counter and its ledger, both given by their numbers."""

    ledger: int
    number: int


class Consumers(Struct, frozen=True, order=True):
    """The devices that consume an amount of one counter."""

    amount: int
    devices: int


class CounterSum(Struct, frozen=True):
    """A sum of counters that bounds all requests together."""

    counters: tuple[Counter, ...]
    """The counters that are summed."""
    consumers: tuple[Consumers, ...]
    """The devices that consume them, smallest amount first."""


class _Values:
    """The devices of each slot that a constraint covers, by their value of the constrained
    attribute.
    """

    __slots__ = ("by_slot", "constraint", "index", "same")

    def __init__(
        self,
        constraint: Constraint,
        index: int,
        slots: tuple[Slot, ...],
        numbers: list[int],
        known: dict[Hashable, int],
    ) -> None:
        self.constraint = constraint
        self.index = index  # the number of the constraint in its claim
        self.by_slot: dict[int, dict[Hashable, int]] = {}
        self.same: dict[int, int] = {}  # by slot: a number, equal for slots with equal values
        for number in numbers:
            values = constraint.values[number]
            if values is None:
                continue
            self.same[number] = known.setdefault(values, len(known))
            masks: dict[Hashable, int] = {}
            for device in bits(slots[number].selectable):
                value = values[device]
                if value is None:
                    continue
                for scalar in value if isinstance(value, frozenset) else (value,):
                    masks[scalar] = masks.get(scalar, 0) | 1 << device
            self.by_slot[number] = masks


class Bounds:
    """The problem's data for looking ahead; built at the first failure of a search."""

    def __init__(self, problem: SearchProblem) -> None:
        self.problem = problem
        self.admin = any(slot.admin for slot in problem.slots)
        self.usable = [
            slot.selectable & ~slot.refused & ~slot.tainted & self._free_of(slot)
            for slot in problem.slots
        ]
        self.whole = [
            sum(1 << d for d in slot.every) if slot.every is not None else 0
            for slot in problem.slots
        ]
        self.known: dict[Hashable, int] = {}
        self.values = [self._values(claim) for claim in range(len(problem.constraints))]
        for tables in self.values:
            for table in tables:
                for number, masks in table.by_slot.items():
                    having = 0
                    for mask in masks.values():
                        having |= mask
                    self.usable[number] &= having
        self.relevant = [0] * (len(problem.requests) + 1)
        for request in range(len(problem.requests) - 1, -1, -1):
            mask = self.relevant[request + 1]
            for number in problem.requests[request]:
                mask |= problem.slots[number].selectable
            self.relevant[request] = mask
        columns = self._columns()
        self.symmetry = Symmetry(problem, _number_rows(columns))
        # Devices with the same number are interchangeable in the whole search.
        self.kinds = _number_rows(
            columns if problem.charges is None else [*columns, problem.charges]
        )
        self.counted = problem.charges is not None
        self.charges = self._charge_groups()
        # Ledgers with a counter below zero before the search: nothing can be charged to them.
        self.overdrawn = {
            number
            for number, ledger in enumerate(problem.ledgers)
            if any(left is not None and left < 0 for left in ledger.available[0])
        }
        self.sums = self._sums()

    def _free_of(self, slot: Slot) -> int:
        """Return the devices that no other claim holds and that have capacity to serve the slot."""
        mask = -1 if slot.admin else ~self.problem.held
        if slot.wants is not None and self.problem.free is not None:
            for device in bits(slot.selectable):
                want = slot.wants[device]
                if want is None or any(
                    w > f for w, f in zip(want, self.problem.free[device], strict=True)
                ):
                    mask &= ~(1 << device)
        return mask

    def _values(self, claim: int) -> list[_Values]:
        numbers = [n for n, slot in enumerate(self.problem.slots) if slot.claim == claim]
        return [
            _Values(constraint, index, self.problem.slots, numbers, self.known)
            for index, constraint in enumerate(self.problem.constraints[claim])
        ]

    def _charge_groups(self) -> list[tuple[Charge, int]]:
        """Return each different charge, with the devices that have it. Devices that can be shared
        are left out, since all their shares are charged only once.
        """
        groups: dict[Charge, int] = {}
        for device, charge in enumerate(self.problem.charges or ()):
            if charge is not None and charge.amounts and not self.problem.multi >> device & 1:
                groups[charge] = groups.get(charge, 0) | 1 << device
        return list(groups.items())

    def _sums(self) -> list[CounterSum]:
        """Return one sum over the first counter of every device, one over the second, and so on."""
        sums = []
        for place in range(max((len(charge.amounts) for charge, _ in self.charges), default=0)):
            counters: set[Counter] = set()
            by_amount: dict[int, int] = {}
            for charge, mask in self.charges:
                if place < len(charge.amounts):
                    counter, amount = charge.amounts[place]
                    counters.add(Counter(charge.ledger, counter))
                    by_amount[amount] = by_amount.get(amount, 0) | mask
            consumers = sorted(Consumers(amount, devices) for amount, devices in by_amount.items())
            sums.append(CounterSum(tuple(sorted(counters)), tuple(consumers)))
        return sums

    def _columns(self) -> list[Sequence[Hashable]]:
        """Return everything that the search looks at for each device, except its counters."""
        problem = self.problem
        columns: list[Sequence[Hashable]] = []
        for number, slot in enumerate(problem.slots):
            every = self.whole[number]
            columns.append(
                [
                    (
                        slot.selectable >> d & 1,
                        slot.refused >> d & 1,
                        slot.tainted >> d & 1,
                        every >> d & 1,
                    )
                    for d in range(problem.devices)
                ]
            )
            if slot.wants is not None:
                columns.append(slot.wants)
        seen: set[int] = set()
        for constraints in problem.constraints:
            for constraint in constraints:
                for values in constraint.values:
                    if values is not None and id(values) not in seen:
                        seen.add(id(values))
                        columns.append(values)
        columns.append(
            [
                (problem.held >> d & 1, problem.multi >> d & 1, problem.sharing >> d & 1)
                for d in range(problem.devices)
            ]
        )
        return columns + [column for column in (problem.free, problem.groups) if column is not None]

    def kind(self, search: Holdings, number: int, device: int) -> Hashable:
        """Return the kind of a device for a slot. Unused devices of the same kind are
        interchangeable.
        """
        shared = search.shares.get(device)
        if not self.admin:
            slot = self.problem.slots[number]
            todo, later = (
                slot.selectable & ~search.used,
                self.relevant[slot.request + 1] & ~search.used,
            )
            of_block = self.symmetry.kind(device, todo, later, search.charged)
            if of_block is not None:
                return of_block
            return self.kinds[device] if shared is None else (self.kinds[device], shared)
        return self.kinds[device], shared, tuple([used >> device & 1 for used in search.used_by])

    # -- can it still succeed? ---------------------------------------------------------------------

    def feasible(self, search: Holdings, number: int, need: int, todo: int) -> bool:
        """Return False if the slot certainly cannot get ``need`` of the devices in ``todo``, or if
        a later request certainly cannot be satisfied.
        """
        groups: dict[int, int] = {}
        needs: list[Demand] = []
        tables: dict[int, list[Demand]] = {}
        for demand in self._demands_left(search, number, need, todo):
            if not self._has_enough(search, demand.slot, demand.need, demand.mask):
                return False
            if demand.certain:
                needs.append(demand)
                slot = self.problem.slots[demand.slot]
                if self.values[slot.claim]:
                    tables.setdefault(slot.claim, []).append(demand)
                if not slot.admin and not demand.mask & self.problem.multi:
                    groups[demand.mask] = groups.get(demand.mask, 0) + demand.need
        if self.sums and not self._counters_suffice(search, needs):
            return False
        if not self._pigeonhole(groups) or not self._has_values_for_claims(search, tables):
            return False
        return all(
            self._can_satisfy_constraints(search, claim, wanted) for claim, wanted in tables.items()
        )

    def _demands_left(
        self, search: Holdings, number: int, need: int, todo: int
    ) -> Iterator[Demand]:
        """Yield the demand of the slot, and one demand for each later request. For a request with
        several alternatives, this is the first alternative with enough devices left, or else the
        last one, and it is not certain.
        """
        problem = self.problem
        slot = problem.slots[number]
        if slot.every is None:
            yield Demand(number, need, self.devices_left(search, number) & todo)
        else:
            yield Demand(
                number, need, self.devices_left(search, number) & _mask(slot.every[-need:])
            )
        for request in range(slot.request + 1, len(problem.requests)):
            numbers = problem.requests[request]
            if len(numbers) == 1:
                only = problem.slots[numbers[0]]
                mask = self.devices_left(search, numbers[0])
                if only.every is not None:
                    mask &= self.whole[numbers[0]]
                    yield Demand(numbers[0], max(only.need, 1), mask)
                elif only.need:
                    yield Demand(numbers[0], only.need, mask)
                continue
            best: Demand | None = None
            for alternative in numbers:
                other = problem.slots[alternative]
                mask = self.devices_left(search, alternative)
                wanted = other.need
                if other.every is not None:
                    mask &= self.whole[alternative]
                    wanted = max(wanted, 1)
                best = Demand(alternative, wanted, mask, certain=False)
                if self._has_enough(search, alternative, wanted, mask):
                    break
            assert best is not None
            yield best

    def devices_left(self, search: Holdings, number: int) -> int:
        """Return the devices that the slot can still get, each considered separately."""
        slot = self.problem.slots[number]
        mask = self.usable[number] & ~(search.used_by[slot.claim] if slot.admin else search.used)
        for table in self.values[slot.claim]:
            masks = table.by_slot.get(number)
            if masks is None:
                continue
            key = search.trackers[slot.claim][table.index].key()
            if table.constraint.kind == "match":
                if key is not None:
                    mask &= union(masks, key if isinstance(key, frozenset) else (key,))
            elif table.constraint.kind == "distinct" and key:
                assert isinstance(key, frozenset)
                taken = frozenset().union(*key) if table.constraint.lists else key
                mask &= ~union(masks, taken)
        if self.counted and mask:
            mask = self._chargeable(search, mask)
        if search.shares and slot.wants is not None:
            for device in search.shares:
                if mask >> device & 1 and not search.fits(number, device):
                    mask &= ~(1 << device)
        return mask

    def _chargeable(self, search: Holdings, mask: int) -> int:
        """Return the devices whose counters still suffice."""
        for charge, devices in self.charges:
            if devices & mask and not self._affordable(search, charge):
                mask &= ~devices
        return mask

    def _affordable(self, search: Holdings, charge: Charge) -> bool:
        available = self.problem.ledgers[charge.ledger].available[0]
        taken = search.charged[charge.ledger]
        for counter, amount in charge.amounts:
            left = available[counter]
            if left is not None and taken[counter] + amount > left:
                return False
        if charge.ledger not in self.overdrawn:
            return True
        return all(
            left is None or left >= used for left, used in zip(available, taken, strict=True)
        )

    def _has_enough(self, search: Holdings, number: int, need: int, mask: int) -> bool:
        slot = self.problem.slots[number]
        if mask & self.problem.multi and not self.problem.rules.combinations:
            return True  # one device can be used again and again
        if mask.bit_count() < need:
            return False
        if need > 1 and self.charges and slot.every is None:
            return self._affords(search, need, mask)
        return True

    def _affords(self, search: Holdings, need: int, mask: int) -> bool:
        """Return True if the counters suffice for ``need`` of the devices in ``mask``, considering
        only each device's first counter.
        """
        unlimited = mask
        by_first: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for charge, devices in self.charges:
            counter, amount = charge.amounts[0]
            if devices & mask and amount > 0:
                unlimited &= ~devices
                by_first.setdefault((charge.ledger, counter), []).append(
                    (amount, (devices & mask).bit_count())
                )
        count_affordable = unlimited.bit_count()
        for (ledger, counter), amounts in by_first.items():
            left = self.problem.ledgers[ledger].available[0][counter]
            if left is None:
                return True
            left -= search.charged[ledger][counter]
            for amount, count in sorted(amounts):
                fitting = min(count, left // amount)
                count_affordable += fitting
                left -= fitting * amount
        return count_affordable >= need

    def _counters_suffice(self, search: Holdings, needs: list[Demand]) -> bool:
        """Return True if all requests together stay within the sums of counters when each takes the
        devices that consume least.
        """
        for summed in self.sums:
            total = 0
            for counter in summed.counters:
                left = self.problem.ledgers[counter.ledger].available[0][counter.number]
                if left is None:
                    break
                total += max(left - search.charged[counter.ledger][counter.number], 0)
            else:
                if sum(_min_consumption(summed.consumers, demand) for demand in needs) > total:
                    return False
        return True

    def _pigeonhole(self, groups: dict[int, int]) -> bool:
        """Return True if the requests that must each get devices of their own can all get them
        (Hall's condition).
        """
        if any(mask.bit_count() < need for mask, need in groups.items()):
            return False
        if len(groups) < 2:
            return True
        union = 0
        for mask in groups:
            union |= mask
        if union.bit_count() < sum(groups.values()):
            return False
        return _flow(groups)

    def _has_values_for_claims(self, search: Holdings, tables: dict[int, list[Demand]]) -> bool:
        """Return False if there are more equal claims than the values of a match constraint can
        serve.
        """
        alike: dict[Hashable, tuple[_Values, list[Demand], set[int]]] = {}
        for claim, wanted in tables.items():
            for table in self.values[claim]:
                if (
                    table.constraint.kind != "match"
                    or search.trackers[claim][table.index].key() is not None
                ):
                    continue
                covered = [
                    demand
                    for demand in wanted
                    if demand.slot in table.by_slot
                    and demand.need
                    and not demand.mask & self.problem.multi
                    and not self.problem.slots[demand.slot].admin
                ]
                if not covered:
                    continue
                key = tuple(
                    [(demand.need, demand.mask, table.same[demand.slot]) for demand in covered]
                )
                alike.setdefault(key, (table, covered, set()))[2].add(claim)
        for table, covered, claims in alike.values():
            if len(claims) < 2:
                continue
            served = sum(
                min(
                    (demand.mask & table.by_slot[demand.slot].get(value, 0)).bit_count()
                    // demand.need
                    for demand in covered
                )
                for value in table.by_slot[covered[0].slot]
            )
            if served < len(claims):
                return False
        return True

    def _can_satisfy_constraints(self, search: Holdings, claim: int, wanted: list[Demand]) -> bool:
        """Return True if the remaining devices for a claim's certain requests can satisfy each of
        its constraints.
        """
        for table in self.values[claim]:
            covered = [demand for demand in wanted if demand.slot in table.by_slot and demand.need]
            if not covered:
                continue
            if table.constraint.kind == "match":
                if not any(
                    self._fits_one_value(search, table, covered, value)
                    for value in table.by_slot[covered[0].slot]
                ):
                    return False
            elif table.constraint.kind == "distinct" and not self._has_distinct_values(
                table, covered
            ):
                return False
        return True

    def _fits_one_value(
        self, search: Holdings, table: _Values, covered: list[Demand], value: Hashable
    ) -> bool:
        """Return True if enough devices have the value for all covered requests."""
        groups: dict[int, int] = {}
        for demand in covered:
            having = demand.mask & table.by_slot[demand.slot].get(value, 0)
            if not self._has_enough(search, demand.slot, demand.need, having):
                return False
            if value is OPAQUE and demand.need > 1:
                return False
            if not self.problem.slots[demand.slot].admin and not having & self.problem.multi:
                groups[having] = groups.get(having, 0) + demand.need
        return all(mask.bit_count() >= need for mask, need in groups.items())

    def _has_distinct_values(self, table: _Values, covered: list[Demand]) -> bool:
        """Return True if there are at least as many values as wanted devices."""
        values: set[Hashable] = set()
        opaque = False
        for demand in covered:
            for value, having in table.by_slot[demand.slot].items():
                if having & demand.mask:
                    if value is OPAQUE:
                        opaque = True
                    else:
                        values.add(value)
        return opaque or len(values) >= sum(demand.need for demand in covered)


def _number_rows(columns: Sequence[Sequence[Hashable]]) -> list[int]:
    """Return a number for each row of a table, equal for equal rows."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(row, len(numbers)) for row in zip(*columns, strict=True)]


def _min_consumption(consumers: tuple[Consumers, ...], demand: Demand) -> int:
    """Return the smallest amount that the wanted devices consume. A device that is not among the
    consumers consumes nothing.
    """
    free = demand.mask
    for group in consumers:
        free &= ~group.devices
    wanted, total = demand.need - free.bit_count(), 0
    for group in consumers:
        if wanted <= 0:
            break
        count = min((group.devices & demand.mask).bit_count(), wanted)
        total += group.amount * count
        wanted -= count
    return total


def _mask(devices: tuple[int, ...]) -> int:
    mask = 0
    for device in devices:
        mask |= 1 << device
    return mask


def union(
    masks: dict[Hashable, int],
    values: frozenset[Scalar] | frozenset[Hashable] | tuple[Hashable, ...],
) -> int:
    mask = 0
    for value in values:
        mask |= masks.get(value, 0)
    return mask


def _flow(groups: dict[int, int]) -> bool:
    """Return True if every group can get its number of devices, with no device used twice
    (augmenting paths).
    """
    needs = list(groups.items())
    owner: dict[int, int] = {}

    def place(group: int, seen: set[int]) -> bool:
        for device in bits(needs[group][0]):
            if device in seen:
                continue
            seen.add(device)
            current = owner.get(device)
            if current is None or place(current, seen):
                owner[device] = group
                return True
        return False

    return all(place(group, set()) for group, (_, need) in enumerate(needs) for _ in range(need))
