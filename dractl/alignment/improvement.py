"""Constraints that could bring the devices of a claim closer together, the simplest first."""

from collections.abc import Iterator, Sequence
from math import gcd

from dractl.alignment.quality import Improvement
from dractl.cluster.state import list_at, map_at, maps_at, text_at
from dractl.drivers.standard import NUMA_NODE, PCIE_ROOT
from dractl.objects import Raw


def candidates(claim: Raw, requests: Sequence[Sequence[str]]) -> Iterator[tuple[Improvement, Raw]]:
    """Constraints with the claim that has them. ``requests``: the names of the requests of each kind."""
    names = tuple(dict.fromkeys(name for those in requests for name in those))
    yield Improvement(PCIE_ROOT, names), _constrained(claim, [names], PCIE_ROOT)
    groups = list(zip(*requests, strict=False))
    if len(groups) > 1 and all(len(those) == len(groups) for those in requests):
        yield Improvement(PCIE_ROOT, names, len(groups)), _constrained(claim, groups, PCIE_ROOT)
    counts = [_count(claim, name) for name in names]
    whole = gcd(*counts)
    for parts in (n for n in range(2, whole + 1) if whole % n == 0 and sum(counts) > n):
        groups = [tuple(_part(name, n) for name in names) for n in range(parts)]
        changed = _constrained(_split(claim, names, parts), groups, PCIE_ROOT)
        yield Improvement(PCIE_ROOT, names, parts), changed
        # Not every driver publishes the NUMA node; where roots are shared it is enough that one of the kinds does.
        first = [_part(name, n) for name in requests[0] for n in range(parts)]
        yield (
            Improvement(PCIE_ROOT, names, parts, NUMA_NODE),
            _constrained(changed, [first], NUMA_NODE),
        )
    yield Improvement(NUMA_NODE, names), _constrained(claim, [names], NUMA_NODE)


def _constrained(claim: Raw, groups: Sequence[Sequence[str]], attribute: str) -> Raw:
    added = [{"matchAttribute": attribute, "requests": list(names)} for names in groups]
    devices = map_at(claim, "spec", "devices")
    return _with(claim, {**devices, "constraints": [*list_at(devices, "constraints"), *added]})


def _with(claim: Raw, devices: Raw) -> Raw:
    return {**claim, "spec": {**claim["spec"], "devices": devices}}


def _count(claim: Raw, name: str) -> int:
    """The devices of a request; 1 for one that cannot be split."""
    for request in maps_at(claim, "spec", "devices", "requests"):
        exactly = map_at(request, "exactly")
        if text_at(request, "name") == name and exactly.get("allocationMode") != "All":
            count = exactly.get("count", 1)
            return count if isinstance(count, int) else 1
    return 1


def _part(name: str, number: int) -> str:
    return f"{name}-{number}"


def _split(claim: Raw, names: Sequence[str], parts: int) -> Raw:
    """The claim with a request for each part of the named ones; constraints over these cover every part."""
    devices = map_at(claim, "spec", "devices")
    requests: list[Raw] = []
    for request in maps_at(devices, "requests"):
        name = text_at(request, "name")
        if name not in names:
            requests.append(request)
            continue
        exactly = {**map_at(request, "exactly"), "count": _count(claim, name) // parts}
        requests += [{"name": _part(name, n), "exactly": exactly} for n in range(parts)]
    constraints = [
        {**c, "requests": [p for name in c["requests"] for p in _parts(name, names, parts)]}
        if c.get("requests")
        else c
        for c in maps_at(devices, "constraints")
    ]
    return _with(claim, {**devices, "requests": requests, "constraints": constraints})


def _parts(name: str, names: Sequence[str], parts: int) -> list[str]:
    return [_part(name, n) for n in range(parts)] if name in names else [name]
