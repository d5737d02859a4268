"""Constraints that could bring the devices of a claim closer together, the simplest first."""

from collections.abc import Iterator, Sequence
from math import gcd

from dractl.alignment.quality import Improvement
from dractl.drivers.standard import NUMA_NODE, PCIE_ROOT
from dractl.objects import Raw
from dractl.views import Claim


def propose_constraints(
    claim: Raw, requests: Sequence[Sequence[str]]
) -> Iterator[tuple[Improvement, Raw]]:
    """Yield constraints, each with a copy of the claim that contains it.

    ``requests`` are the names of the requests of each kind of devices.
    """
    names = tuple(dict.fromkeys(name for kind in requests for name in kind))
    yield Improvement(PCIE_ROOT, names), _add_constraints(claim, [names], PCIE_ROOT)
    pairs = list(zip(*requests, strict=False))
    if len(pairs) > 1 and all(len(kind) == len(pairs) for kind in requests):
        improvement = Improvement(PCIE_ROOT, names, len(pairs))
        yield improvement, _add_constraints(claim, pairs, PCIE_ROOT)
    yield from _propose_parts(claim, requests, names)
    yield Improvement(NUMA_NODE, names), _add_constraints(claim, [names], NUMA_NODE)


def _propose_parts(
    claim: Raw, requests: Sequence[Sequence[str]], names: tuple[str, ...]
) -> Iterator[tuple[Improvement, Raw]]:
    """Yield claims whose requests are split into equal parts, each on a separate PCIe root."""
    counts = [_device_count(claim, name) for name in names]
    max_parts = gcd(*counts)
    for parts in range(2, max_parts + 1):
        if max_parts % parts or sum(counts) <= parts:
            continue
        groups = [tuple(_part_name(name, number) for name in names) for number in range(parts)]
        split_claim = _add_constraints(_split_requests(claim, names, parts), groups, PCIE_ROOT)
        yield Improvement(PCIE_ROOT, names, parts), split_claim
        # Some drivers do not publish the NUMA node. Devices on one PCIe root are on the same NUMA
        # node, so only the driver of the first kind has to publish the node.
        first_kind = [_part_name(name, n) for name in requests[0] for n in range(parts)]
        yield (
            Improvement(PCIE_ROOT, names, parts, NUMA_NODE),
            _add_constraints(split_claim, [first_kind], NUMA_NODE),
        )


def _add_constraints(claim: Raw, groups: Sequence[Sequence[str]], attribute: str) -> Raw:
    """Return a claim with an additional constraint for each group of requests."""
    constraints = [{"matchAttribute": attribute, "requests": list(group)} for group in groups]
    return _replace_devices(claim, constraints=[*Claim(claim).constraints, *constraints])


def _replace_devices(claim: Raw, **fields: object) -> Raw:
    """Return a claim with changed fields of ``spec.devices``."""
    view = Claim(claim)
    return {**claim, "spec": {**view.spec, "devices": {**view.devices, **fields}}}


def _device_count(claim: Raw, name: str) -> int:
    """Return the number of devices of a request; 1 if the request cannot be split."""
    for request in Claim(claim).requests:
        if request.name == name and request.exactly.get("allocationMode") != "All":
            count = request.exactly.get("count", 1)
            return count if isinstance(count, int) else 1
    return 1


def _split_requests(claim: Raw, names: Sequence[str], parts: int) -> Raw:
    """Return the claim with a request for each part; a constraint on a request then covers all of
    its parts.
    """
    view, requests = Claim(claim), list[Raw]()
    for request in view.requests:
        if request.name not in names:
            requests.append(request.raw)
            continue
        count = _device_count(claim, request.name) // parts
        exactly = {**request.exactly, "count": count}
        part_names = _part_names(request.name, parts)
        requests += [{"name": name, "exactly": exactly} for name in part_names]
    constraints = [_split_constraint(constraint, names, parts) for constraint in view.constraints]
    return _replace_devices(claim, requests=requests, constraints=constraints)


def _split_constraint(constraint: Raw, names: Sequence[str], parts: int) -> Raw:
    """Return a constraint that covers the parts of the requests called ``names``."""
    if not constraint.get("requests"):
        return constraint
    requests: list[str] = []
    for name in constraint["requests"]:
        requests += _part_names(name, parts) if name in names else [name]
    return {**constraint, "requests": requests}


def _part_names(name: str, parts: int) -> list[str]:
    return [_part_name(name, number) for number in range(parts)]


def _part_name(name: str, number: int) -> str:
    return f"{name}-{number}"
