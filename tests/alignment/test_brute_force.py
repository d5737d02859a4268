"""Shares of the best equal those of all allocations of 500 random small nodes, tried one by one.

The rules are written down again here from their definition: levels of standard attributes, each
device of the more numerous kind with one of the other kind, the farthest level as rare as possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from dractl.alignment import Aligner
from tests.alignment.machines import scheduler_of
from tests.explain.cluster import claim, device, device_class, node, request, slice_of, state_of

if TYPE_CHECKING:
    from dractl.alignment import Alignment
    from dractl.cluster.state import ClusterState

ROOT, NUMA = "resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode"
GPU, NIC = "gpu.nvidia.com", "dra.net"
KINDS = {GPU: "gpu", NIC: "nic"}
ORDER = ("root", "NODE", "numa", "SYS")  # levels from near to far
NEAREST, FARTHEST = 0, 1  # what an unknown level is taken for

Location = tuple[str | None, int | None]  # PCIe root and NUMA node
Device = tuple[str, str]  # driver and name
Devices = dict[Device, Location]


def random_devices(random: Random) -> Devices:
    """Return up to four GPUs and four NICs; on every fourth node some lack attributes."""
    devices: Devices = {}
    roots = random.randint(1, 4)
    is_incomplete = random.random() < 0.25
    for driver, name, max_devices in ((GPU, "gpu", 4), (NIC, "nic", 4)):
        for number in range(random.randint(1, max_devices)):
            root = random.randrange(roots)
            location: Location = (f"pci0000:{root}0", root % 2)
            if is_incomplete and random.random() < 0.4:
                location = (
                    location[0] if random.random() < 0.5 else None,
                    location[1] if random.random() < 0.5 else None,
                )
            devices[driver, f"{name}-{number}"] = location
    return devices


def possible_levels(a: Location, b: Location) -> tuple[str, str]:
    """Return the nearest and the farthest level between two locations."""
    if a[0] and a[0] == b[0]:
        return "root", "root"
    has_roots = bool(a[0] and b[0])
    if a[1] is None or b[1] is None:
        return ("NODE" if has_roots else "root"), "SYS"
    same_node = "NODE" if has_roots else "numa"
    level = same_node if a[1] == b[1] else "SYS"
    return level, level


def best_pairing(
    devices: Devices, chosen: Sequence[Device], drivers: tuple[str, str], bound: int
) -> tuple[int, ...]:
    """Return the levels of the best pairing of chosen devices, the farthest first."""

    def rank(a: Device, b: Device) -> int:
        return ORDER.index(possible_levels(devices[a], devices[b])[bound])

    first, second = ([each for each in chosen if each[0] == driver] for driver in drivers)
    if drivers[0] == drivers[1]:
        return farthest_first([rank(a, b) for a, b in combinations(first, 2)])
    if len(first) < len(second):
        first, second = second, first
    max_uses = -(-len(first) // len(second))
    return min(
        farthest_first([rank(a, second[n]) for a, n in zip(first, partners, strict=True)])
        for partners in product(range(len(second)), repeat=len(first))
        if max(partners.count(n) for n in partners) <= max_uses
    )


def farthest_first(ranks: list[int]) -> tuple[int, ...]:
    return tuple(sorted(ranks, reverse=True))


def allocations(
    devices: Devices, counts: dict[str, int], held: set[Device], constraint: str | None
) -> Iterator[tuple[Device, ...]]:
    """Yield all allocations of so many free devices of each driver that meet the constraint."""
    groups = [
        list(combinations([d for d in devices if d[0] == driver and d not in held], count))
        for driver, count in counts.items()
    ]
    for choice in product(*groups):
        chosen = tuple(each for group in choice for each in group)
        if constraint is None:
            yield chosen
            continue
        values = {devices[each][0 if constraint == ROOT else 1] for each in chosen}
        if len(values) == 1 and None not in values:
            yield chosen


def best_levels(
    devices: Devices, options: list[tuple[Device, ...]], drivers: tuple[str, str]
) -> tuple[int, ...] | None:
    """Return the best pairing of all options; None if unknown levels decide."""
    if not options:
        return None
    nearest, farthest = (
        min(best_pairing(devices, chosen, drivers, bound) for chosen in options)
        for bound in (NEAREST, FARTHEST)
    )
    return nearest if nearest == farthest else None


def count_levels(ranks: tuple[int, ...] | None) -> dict[str, int] | None:
    if ranks is None:
        return None
    return {level: ranks.count(n) for n, level in enumerate(ORDER) if n in ranks}


def share_as_near(actual: tuple[int, ...], best: tuple[int, ...]) -> float:
    pairs = zip(sorted(actual), sorted(best), strict=True)
    return sum(a <= b for a, b in pairs) / len(best)


def cluster(
    devices: Devices,
    mine: Sequence[Device],
    others: set[Device],
    counts: dict[str, int],
    constraint: str | None,
) -> ClusterState:
    """Return a node with the devices, claim ``mine`` and claim ``others``."""

    def publish_devices(driver: str) -> Iterator[Any]:
        for (owner, name), (root, numa_node) in devices.items():
            attributes = {ROOT: root, NUMA: numa_node}
            if owner == driver:
                yield device(name, **{k: v for k, v in attributes.items() if v is not None})

    def status(allocated: Sequence[Device] | set[Device], request_name: str = "") -> Any:
        results = [
            {"request": request_name or driver[:3], "driver": driver, "pool": "n", "device": name}
            for driver, name in allocated
        ]
        return {"allocation": {"devices": {"results": results}}}

    requests = [request(driver[:3], driver, count) for driver, count in counts.items()]
    constraints = [{"matchAttribute": constraint}] if constraint else []
    return state_of(
        node("n"),
        *(device_class(driver, f"device.driver == '{driver}'") for driver in KINDS),
        *(slice_of(driver, "n", *publish_devices(driver)) for driver in KINDS),
        claim("mine", *requests, constraints=constraints, status=status(mine)),
        claim("others", request("r", GPU), status=status(others, "r")),
    )


class Case:
    """A random node with an allocation of it, and what others hold."""

    def __init__(self, random: Random) -> None:
        options: list[tuple[Device, ...]] = []
        while not options:
            self.devices = random_devices(random)
            self.counts = {driver: random.randint(1, 3) for driver in (GPU, NIC)}
            self.constraint = random.choice((None, None, None, ROOT, NUMA))
            options = list(allocations(self.devices, self.counts, set(), None))
        self.mine = random.choice(options)
        self.others = {d for d in self.devices if d not in self.mine and random.random() < 0.3}

    def align(self) -> dict[tuple[str, str], Alignment]:
        """Return the alignments of claim ``mine`` by kinds."""
        state = cluster(self.devices, self.mine, self.others, self.counts, self.constraint)
        value = state.get("ResourceClaim", ("ml", "mine"))
        assert value is not None
        alignments = Aligner(scheduler_of(state)).align_claims([value])
        return {alignment.kinds: alignment for alignment in alignments}

    def best(self, drivers: tuple[str, str], held: set[Device]) -> tuple[int, ...] | None:
        options = list(allocations(self.devices, self.counts, held, self.constraint))
        return best_levels(self.devices, options, drivers)

    def share(self, drivers: tuple[str, str], best: tuple[int, ...]) -> tuple[float, ...]:
        pairings = (
            best_pairing(self.devices, self.mine, drivers, bound) for bound in (NEAREST, FARTHEST)
        )
        return tuple(sorted(share_as_near(ranks, best) for ranks in pairings))


@pytest.mark.parametrize("seed", range(20))
def test_the_best_is_the_best_of_all_allocations(seed: int) -> None:
    random = Random(seed)
    for _ in range(25):
        case = Case(random)
        alignments = case.align()
        for drivers in ((GPU, NIC), (GPU, GPU)):
            alignment = alignments.get((KINDS[drivers[0]], KINDS[drivers[1]]))
            if alignment is None:
                assert drivers == (GPU, GPU)
                assert case.counts[GPU] == 1
                continue
            best_free = case.best(drivers, set())
            assert alignment.best_free == count_levels(best_free), vars(case)
            if best_free is None:
                assert alignment.share is None
                continue
            assert alignment.share == case.share(drivers, best_free)
            assert alignment.best_now == count_levels(case.best(drivers, case.others))
