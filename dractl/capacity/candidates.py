"""Claims for a shape, the closest alignment first.

``fit`` places them, and ``discover --suggest`` prints the first one that fits.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from math import gcd
from typing import Any

from msgspec import Struct

from dractl.drivers.standard import NUMA_NODE, PCIE_ROOT
from dractl.model.device_phrases import name_devices
from dractl.model.shapes import MIG, Constraint, Shape, mig_selector, request_name
from dractl.views import Claim

UNALIGNED = "not aligned"
"""The alignment of devices that share neither a published PCIe root nor a published NUMA node."""

UNKNOWN_ALIGNMENT = "alignment unknown: no document says where the devices are"
"""Takes the place of :data:`UNALIGNED` on a described machine whose wiring is unknown."""

ATTRIBUTES: Mapping[Constraint | None, str] = {"pcieRoot": PCIE_ROOT, "numaNode": NUMA_NODE}
"""The attributes that the constraints of shapes compare."""
_SELECTORS = {
    ("nic", "dra.net"): '!device.attributes["dra.net"].?virtual.orValue(false)',
    ("rdma", "dra.net"): 'device.attributes["dra.net"].?rdma.orValue(false)',
    (
        "rdma",
        "sriovnetwork.k8snetworkplumbingwg.io",
    ): 'device.attributes["sriovnetwork.k8snetworkplumbingwg.io"].?rdmaCapable.orValue(false)',
}
"""Selectors for the devices of a kind, for drivers that also publish other devices."""
ALIGNED, _ANYWHERE = "aligned", "anywhere"
"""The alternatives of a request that prefers alignment."""
_SAME_ROOT, _SAME_NUMA_NODE = "all on one PCIe root", "all on one NUMA node"
_PARENT_UUID = "gpu.nvidia.com/parentUUID"
MIG_CLASS, MIG_DRIVER = "mig.nvidia.com", "gpu.nvidia.com"
"""The DeviceClass of MIG devices, and the driver that publishes them."""


class DeviceKind(Struct, frozen=True):
    """The devices that a kind in a shape stands for."""

    device_class: str
    selector: str | None = None
    """The CEL expression that selects these devices in the class; None if they are all devices of
    the class.
    """


def selector_of(kind: str, driver: str) -> str | None:
    """Return the CEL expression for the devices of a kind that a driver publishes; None if all its
    devices are of the kind.
    """
    return mig_selector(kind) or _SELECTORS.get((kind, driver))


class Candidate(Struct, frozen=True):
    """A claim for the devices of a shape."""

    alignment: str
    """The alignment of the devices; empty if the user requests none."""
    claim: Mapping[str, Any]


class _RequestGroups(Struct, frozen=True):
    """Requests in groups, each of which shares a PCIe root, and the remaining requests."""

    alignment: str
    requests: list[dict[str, Any]]
    roots: list[dict[str, Any]]
    """The constraints that keep each group on one PCIe root."""
    leftover: list[list[str]]
    """The names of the requests that remain, by kind; only kinds of which several devices remain
    are listed.
    """


def propose_claims(shape: Shape, kinds: Mapping[str, DeviceKind]) -> Iterator[Candidate]:
    """Yield the claims that serve a shape: only the claim with the alignment that the shape
    demands, or else all possible claims.
    """
    requests = [
        _build_request(request_name(kind), count, kinds[kind])
        for kind, count in shape.counts.items()
    ]
    names = [request["name"] for request in requests]
    root, node = _match_constraint(PCIE_ROOT, names), _match_constraint(NUMA_NODE, names)
    if shape.constraint == "pcieRoot":
        yield _build_candidate(shape, _SAME_ROOT, requests, [root])
    elif shape.constraint == "numaNode":
        yield _build_candidate(shape, _SAME_NUMA_NODE, requests, [node])
    elif shape.constraint == "none":
        yield _build_candidate(shape, "", requests, [])
    elif shape.devices == 1:
        yield _build_candidate(shape, "one device", requests, [])
    else:
        if all(kind.startswith(MIG) for kind in shape.counts):
            yield _build_candidate(
                shape, "all on one GPU", requests, [_match_constraint(_PARENT_UUID, names)]
            )
        yield _build_candidate(shape, _SAME_ROOT, requests, [root])
        yield from _propose_equal_groups(shape, kinds)
        unequal = list(_propose_unequal_groups(shape, kinds)) if len(shape.counts) > 1 else []
        for group in unequal:
            request_names = [request["name"] for request in group.requests]
            for near_requests in (request_names, *group.leftover):
                constraints = [*group.roots, _match_constraint(NUMA_NODE, near_requests)]
                label = f"{group.alignment} on the same NUMA node"
                yield _build_candidate(shape, label, group.requests, constraints)
        yield _build_candidate(shape, _SAME_NUMA_NODE, requests, [node])
        for group in unequal:
            label = f"{group.alignment} anywhere"
            yield _build_candidate(shape, label, group.requests, group.roots)
        yield _build_candidate(shape, UNALIGNED, requests, [])


def prefer_alignment(claim: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a claim that prefers the alignment that ``claim`` demands. Return None if it demands
    none, or if its constraints have no request in common.

    Only the leading request, which all constraints name, has alternatives: aligned, then anywhere.
    The scheduler tries every combination with the first alternative before it tries the second, and
    skips a constraint on ``REQUEST/ALTERNATIVE`` for devices of another alternative
    (k8s.io/dynamic-resource-allocation/structured, allocateOne, matchAttributeConstraint.add). If
    other requests had alternatives as well, the scheduler would take their second alternatives
    before it tried other aligned devices.
    """
    devices = Claim(claim).spec["devices"]
    constraints = devices.get("constraints", [])
    lead = _find_leading_request(devices["requests"], constraints)
    if lead is None:
        return None
    parts = {
        request["name"]: _split_request(request)
        for request in devices["requests"]
        if request is not lead
    }
    aligned = f"{lead['name']}/{ALIGNED}"
    preferred = [
        _match_constraint(constraint["matchAttribute"], [aligned, *others])
        for constraint in constraints
        for others in _list_partners(constraint["requests"], parts)
    ]
    requests = [_offer_both(lead), *(part for split in parts.values() for part in split)]
    return {**claim, "spec": {"devices": {"requests": requests, "constraints": preferred}}}


def _find_leading_request(
    requests: Sequence[dict[str, Any]], constraints: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    """Return the request that all constraints name; if there are several, the one for the most
    devices.
    """
    common = [
        request
        for request in requests
        if constraints and all(request["name"] in each["requests"] for each in constraints)
    ]
    return max(common, key=lambda request: request["exactly"].get("count", 1), default=None)


def _list_partners(
    names: Sequence[str], parts: Mapping[str, Sequence[Mapping[str, Any]]]
) -> list[list[str]]:
    """Return the requests that have to match the leading request, each alone in a list.

    Each list becomes a constraint of its own. If one constraint had several of these requests, they
    would have to match each other even if the leading request is not aligned.
    """
    partners = [[part["name"]] for name in names for part in parts.get(name, ())]
    return partners or [[]]


def _split_request(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one request for each device, since the devices of one request would have to match each
    other.
    """
    count = request["exactly"].get("count", 1)
    if count == 1:
        return [request]
    single = {key: value for key, value in request["exactly"].items() if key != "count"}
    return [
        {"name": f"{request['name']}-{number}", "exactly": deepcopy(single)}
        for number in range(count)
    ]


def _offer_both(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request whose devices are aligned if possible, and any devices otherwise."""
    alternatives = [{"name": name, **deepcopy(request["exactly"])} for name in (ALIGNED, _ANYWHERE)]
    return {"name": request["name"], "firstAvailable": alternatives}


def _propose_equal_groups(shape: Shape, kinds: Mapping[str, DeviceKind]) -> Iterator[Candidate]:
    """Yield claims with equal groups, each on one PCIe root. The first claims keep all groups on
    one NUMA node, the later ones do not.
    """
    whole = gcd(*shape.counts.values())
    for parts in (n for n in range(2, whole + 1) if whole % n == 0 and shape.devices > n):
        groups = [
            [
                _build_request(f"{request_name(kind)}-{i}", count // parts, kinds[kind])
                for kind, count in shape.counts.items()
            ]
            for i in range(parts)
        ]
        requests = [request for group in groups for request in group]
        roots = [_match_constraint(PCIE_ROOT, [r["name"] for r in group]) for group in groups]
        counts_text = _format_counts({kind: count // parts for kind, count in shape.counts.items()})
        label = f"{counts_text} on one PCIe root, {parts} times"
        # Not every driver publishes the NUMA node; since each group shares a root, the NUMA node of
        # one kind is enough.
        for near_requests in (
            [r["name"] for r in requests],
            [group[0]["name"] for group in groups],
        ):
            constraints = [*roots, _match_constraint(NUMA_NODE, near_requests)]
            yield _build_candidate(shape, f"{label}, {_SAME_NUMA_NODE}", requests, constraints)
        yield _build_candidate(shape, label, requests, roots)


def _propose_unequal_groups(
    shape: Shape, kinds: Mapping[str, DeviceKind]
) -> Iterator[_RequestGroups]:
    """Yield groups that are each on one PCIe root, and the remaining requests.

    There are as many groups as devices of the kind with the fewest; the largest groups come first.
    """
    times = min(shape.counts.values())
    for size in range(max(shape.counts.values()) // times, 0, -1):
        group = {kind: min(size, count // times) for kind, count in shape.counts.items()}
        leftover = {
            kind: count - times * group[kind]
            for kind, count in shape.counts.items()
            if count > times * group[kind]
        }
        if not leftover:
            continue
        groups = [
            {
                kind: _build_request(
                    request_name(kind) + (f"-{i}" if times > 1 else ""), count, kinds[kind]
                )
                for kind, count in group.items()
            }
            for i in range(times)
        ]
        other_requests = {
            kind: _build_request(f"other-{request_name(kind)}", count, kinds[kind])
            for kind, count in leftover.items()
        }
        repeated = f", {times} times" if times > 1 else ""
        yield _RequestGroups(
            f"{_format_counts(group)} on one PCIe root{repeated}, the other"
            f" {_format_counts(leftover).removeprefix('1 ')}",
            [request for part in (*groups, other_requests) for request in part.values()],
            [_match_constraint(PCIE_ROOT, [r["name"] for r in part.values()]) for part in groups],
            [
                [part[kind]["name"] for part in (*groups, other_requests)]
                for kind in leftover
                if len(leftover) == 1
            ],
        )


def _format_counts(counts: Mapping[str, int]) -> str:
    return " + ".join(
        f"{count} {name_devices(count, kind) or kind}" for kind, count in counts.items()
    )


def _build_request(name: str, count: int, kind: DeviceKind) -> dict[str, Any]:
    exactly: dict[str, Any] = {"deviceClassName": kind.device_class}
    if count > 1:
        exactly["count"] = count
    if kind.selector is not None:
        exactly["selectors"] = [{"cel": {"expression": kind.selector}}]
    return {"name": name, "exactly": exactly}


def _match_constraint(attribute: str, requests: list[str]) -> dict[str, Any]:
    return {"matchAttribute": attribute, "requests": requests}


def _build_candidate(
    shape: Shape, alignment: str, requests: list[dict[str, Any]], constraints: list[dict[str, Any]]
) -> Candidate:
    devices: dict[str, Any] = {"requests": requests}
    if constraints:
        devices["constraints"] = constraints
    name = "-".join(f"{count}-{request_name(kind)}" for kind, count in shape.counts.items())
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {"devices": devices},
    }
    return Candidate(alignment, claim)
