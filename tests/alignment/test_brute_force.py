"""Shares of the best equal those of all allocations, one after the other, of 500 random small nodes.

The rules are written down again here, from their definition: levels of standard attributes, each device of the more
numerous kind with one of the other, the farthest level rarest.
"""

from __future__ import annotations

from itertools import combinations, product
from random import Random
from typing import Any

import pytest

from dractl.alignment import Aligner
from dractl.allocation import Features
from dractl.scheduler.attempt import Scheduler
from tests.explain.cluster import claim, device, device_class, node, request, slice_of, state_of

ROOT, NUMA = "resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode"
GPU, NIC = "gpu.nvidia.com", "dra.net"
ORDER = ("root", "NODE", "numa", "SYS")
Where = tuple[str | None, int | None]
Devices = dict[tuple[str, str], Where]


def random_node(random: Random) -> Devices:
    found: Devices = {}
    roots = random.randint(1, 4)
    some = random.random() < 0.25  # some devices lack attributes
    for driver, name, most in ((GPU, "gpu", 4), (NIC, "nic", 4)):
        for number in range(random.randint(1, most)):
            root = random.randrange(roots)
            at: Where = (f"pci0000:{root}0", root % 2)
            if some and random.random() < 0.4:
                at = (
                    at[0] if random.random() < 0.5 else None,
                    at[1] if random.random() < 0.5 else None,
                )
            found[driver, f"{name}-{number}"] = at
    return found


def bounds(a: Where, b: Where) -> tuple[str, str]:
    """The nearest and the farthest level that two places can have."""
    same = None if a[1] is None or b[1] is None else a[1] == b[1]
    if a[0] and b[0]:
        if a[0] == b[0]:
            return "root", "root"
        return ("NODE", "SYS") if same is None else ("NODE", "NODE") if same else ("SYS", "SYS")
    return ("root", "SYS") if same is None else ("numa", "numa") if same else ("SYS", "SYS")


def worst_first(levels: list[int]) -> tuple[int, ...]:
    return tuple(sorted(levels, reverse=True))


def value(
    places: Devices, chosen: tuple[tuple[str, str], ...], kinds: tuple[str, str], side: int
) -> tuple[int, ...]:
    """The levels of the best pairing of chosen devices; ``side`` 0 takes unknown levels as near, 1 as far."""

    def far(a: tuple[str, str], b: tuple[str, str]) -> int:
        return ORDER.index(bounds(places[a], places[b])[side])

    first, second = ([d for d in chosen if d[0] == kind] for kind in kinds)
    if kinds[0] == kinds[1]:
        return worst_first([far(a, b) for a, b in combinations(first, 2)])
    if len(first) < len(second):
        first, second = second, first
    most = -(-len(first) // len(second))
    return min(
        worst_first([far(a, second[n]) for a, n in zip(first, those, strict=True)])
        for those in product(range(len(second)), repeat=len(first))
        if max(those.count(n) for n in those) <= most
    )


def allocations(
    places: Devices, counts: dict[str, int], held: set[tuple[str, str]], constraint: str | None
) -> Any:
    free = [[d for d in places if d[0] == driver and d not in held] for driver in counts]
    for those in product(*(combinations(f, n) for f, n in zip(free, counts.values(), strict=True))):
        chosen = tuple(d for group in those for d in group)
        values = {places[d][0 if constraint == ROOT else 1] for d in chosen} if constraint else {0}
        if len(values) == 1 and None not in values:
            yield chosen


def best(places: Devices, options: list[Any], kinds: tuple[str, str]) -> tuple[int, ...] | None:
    if not options:
        return None
    near, far = (min(value(places, chosen, kinds, side) for chosen in options) for side in (0, 1))
    return near if near == far else None


def part(actual: tuple[int, ...], wanted: tuple[int, ...]) -> float:
    return sum(a <= b for a, b in zip(sorted(actual), sorted(wanted), strict=True)) / len(wanted)


def cluster(
    places: Devices,
    mine: Any,
    others: set[tuple[str, str]],
    counts: dict[str, int],
    constraint: Any,
) -> Any:
    def published(driver: str) -> Any:
        for (owner, name), (root, numa) in places.items():
            if owner == driver:
                known = {ROOT: root, NUMA: numa}
                yield device(name, **{k: v for k, v in known.items() if v is not None})

    def results(devices: Any, own: str | None = None) -> dict[str, Any]:
        found = [
            {"request": own or d[0][:3], "driver": d[0], "pool": "n", "device": d[1]}
            for d in devices
        ]
        return {"allocation": {"devices": {"results": found}}}

    requests = [request(driver[:3], driver, count) for driver, count in counts.items()]
    constraints = [{"matchAttribute": constraint}] if constraint else []
    return state_of(
        node("n"),
        *(device_class(driver, f"device.driver == '{driver}'") for driver in (GPU, NIC)),
        *(slice_of(driver, "n", *published(driver)) for driver in (GPU, NIC)),
        claim("mine", *requests, constraints=constraints, status=results(mine)),
        claim("others", request("r", GPU), status=results(others, "r")),
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_best_is_the_best_of_all_allocations(seed: int) -> None:
    random = Random(seed)
    seen = 0
    while seen < 25:
        places = random_node(random)
        counts = {driver: random.randint(1, 3) for driver in (GPU, NIC)}
        constraint = random.choice((None, None, None, ROOT, NUMA))
        options = list(allocations(places, counts, set(), None))
        if not options:
            continue
        seen += 1
        mine = random.choice(options)
        others = {d for d in places if d not in mine and random.random() < 0.3}
        state = cluster(places, mine, others, counts, constraint)
        aligner = Aligner(Scheduler(state, Features.for_release("1.37")))
        found = {
            a.kinds: a for a in aligner.of_claims([state.get("ResourceClaim", ("ml", "mine"))])
        }
        for kinds, words in (((GPU, NIC), ("gpu", "nic")), ((GPU, GPU), ("gpu", "gpu"))):
            if kinds == (GPU, GPU) and counts[GPU] < 2:
                assert words not in found
                continue
            free = best(places, list(allocations(places, counts, set(), constraint)), kinds)
            now = best(places, list(allocations(places, counts, others, constraint)), kinds)
            near, far = (value(places, mine, kinds, side) for side in (0, 1))
            told = found[words]
            expected = (
                None
                if free is None
                else {w: free.count(n) for n, w in enumerate(ORDER) if n in free}
            )
            assert told.best_free == expected, (seed, places, mine)
            if free is None:
                assert told.share is None
                continue
            assert told.share == tuple(sorted((part(far, free), part(near, free))))
            assert told.best_now == (
                None if now is None else {w: now.count(n) for n, w in enumerate(ORDER) if n in now}
            )
