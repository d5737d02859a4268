"""An estimate of the calls of allocateOne (dynamic-resource-allocation/structured) that upstream's
allocator would make in a part of the search that is ruled out.
"""

from msgspec import Struct

from dractl.allocation.bounds import Bounds, union
from dractl.allocation.holdings import Holdings

_HUGE = 1e18


class EarlierDevices(Struct, frozen=True):
    """Devices that an earlier request takes: ``count`` of the devices in ``mask``."""

    mask: int
    count: int


class Tries(Struct, frozen=True):
    """Two estimates for a slot: how many devices are tried, and in how many ways the slot can be
    served.
    """

    calls: float
    ways: float


def size(bounds: Bounds, search: Holdings, number: int, need: int, todo: int) -> float:
    """Return an estimate of how often upstream calls allocateOne in a failing part of
    the search.
    """
    problem = bounds.problem
    start = problem.slots[number]
    total, ways = 0.0, 1.0
    before: list[EarlierDevices] = []
    claim, part = start.claim, -1
    for request in range(start.request, len(problem.requests)):
        calls, leaves = 0.0, 0.0
        first = problem.slots[problem.requests[request][0]]
        if first.claim != claim:
            claim, part = first.claim, -1
        for alternative in (number,) if request == start.request else problem.requests[request]:
            slot = problem.slots[alternative]
            wanted = need if request == start.request else slot.need
            mask = bounds.devices_left(search, alternative)
            if request == start.request and slot.every is None:
                mask &= todo
            tries = _tries(bounds, search, alternative, wanted, mask & part, before)
            calls += tries.calls
            leaves += tries.ways
        total += ways * (calls + len(problem.requests[request]) - 1)
        ways *= leaves
        if not ways or total > _HUGE:
            break
        slot = problem.slots[number if request == start.request else problem.requests[request][0]]
        mask = bounds.devices_left(search, problem.requests[request][0])
        before.append(EarlierDevices(mask, slot.need))
        part &= _typical_part(bounds, problem.requests[request][0], mask)
    return min(total, _HUGE)


def _tries(
    bounds: Bounds,
    search: Holdings,
    number: int,
    wanted: int,
    mask: int,
    before: list[EarlierDevices],
) -> Tries:
    slot = bounds.problem.slots[number]
    if slot.every is not None:
        return Tries(float(wanted), float((mask & bounds.whole[number]).bit_count() >= wanted))
    combinations = bounds.problem.rules.combinations
    share = 1.0
    if mask and not slot.admin and not mask & bounds.problem.multi:
        gone = sum(
            each.count * (mask & each.mask).bit_count() / max(each.mask.bit_count(), 1)
            for each in before
        )
        share = max(mask.bit_count() - gone, 0.0) / mask.bit_count()
    calls, leaves = 0.0, 0.0
    for group, repeats in _parts(bounds, search, number, mask):
        candidates = group.bit_count() * share
        for taken in range(1, wanted + 1):
            calls += _ways(candidates, taken, combinations) * repeats**taken
        leaves += _ways(candidates, wanted, combinations) * repeats**wanted
    return Tries(calls, leaves)


def _parts(bounds: Bounds, search: Holdings, number: int, mask: int) -> list[tuple[int, float]]:
    """Return the sets of devices to try, each with the number of devices that a member represents.

    A match constraint without a value yet has one set for each value. A distinct constraint has one
    set, with one device of each value. Without a constraint, all devices are one set.
    """
    slot = bounds.problem.slots[number]
    for table in bounds.values[slot.claim]:
        masks = table.by_slot.get(number)
        if masks is None:
            continue
        held = [mask & devices for devices in masks.values() if mask & devices]
        if (
            table.constraint.kind == "match"
            and search.trackers[slot.claim][table.index].key() is None
        ):
            return [(devices, 1.0) for devices in held]
        if table.constraint.kind != "match" and held:
            one_each = 0
            for devices in held:
                one_each |= devices & -devices
            return [(one_each, mask.bit_count() / len(held))]
    return [(mask, 1.0)]


def _typical_part(bounds: Bounds, number: int, mask: int) -> int:
    """Return the devices that a match constraint allows if the slot gets the most common value."""
    slot = bounds.problem.slots[number]
    part = -1
    for table in bounds.values[slot.claim]:
        masks = table.by_slot.get(number)
        if masks and table.constraint.kind == "match":
            value = max(masks, key=lambda v: (masks[v] & mask).bit_count())
            part = 0
            for others in table.by_slot.values():
                part |= others.get(value, 0)
    return part


def companions(bounds: Bounds, number: int, device: int) -> int:
    """Return the devices that share a matched attribute's value with this one."""
    mask = -1
    for table in bounds.values[bounds.problem.slots[number].claim]:
        masks = table.by_slot.get(number)
        if masks and table.constraint.kind == "match":
            mask &= union({v: m for v, m in masks.items() if m >> device & 1}, tuple(masks))
    return mask


def scale_steps(steps: float, then: int, now: int, wanted: int, *, combinations: bool) -> float:
    """Return the steps for a device, estimated from a similar one that took ``steps`` when more
    devices were left to combine with it.
    """
    ways = _ways(then, wanted, combinations)
    return max(1.0, steps * _ways(now, wanted, combinations) / ways) if ways else steps


def _ways(candidates: float, taken: int, combinations: bool) -> float:
    """Return the number of ways to try ``taken`` of the candidates."""
    ways = 1.0
    for n in range(taken):
        if candidates - n <= 0:
            return 0.0
        ways *= (candidates - n) / (n + 1 if combinations else 1)
    return min(ways, _HUGE)
