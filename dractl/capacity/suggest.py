"""``discover --suggest gpu=2,nic=1``: the ResourceClaim with the closest alignment that a node can satisfy.

Candidates are tried from the closest alignment to none; each is allocated on the node's own devices as the scheduler
would allocate it, and again, until no more of it fits.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from math import gcd
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import Allocated, AllocatedState, Allocator, DeviceID, Features
from dractl.drivers.rendering import Rendering
from dractl.drivers.standard import NUMA_NODE, PCIE_ROOT
from dractl.errors import InputError
from dractl.facts.resources import hardware
from dractl.model import decode
from dractl.model.releases import Target
from dractl.model.shapes import MIG, mig_selector, request_name

_SELECTORS = {
    "nic": '"pciAddress" in device.attributes["dra.net"]',
    "rdma": '"pciAddress" in device.attributes["dra.net"] && device.attributes["dra.net"].rdma',
}
_CLASSES = {"dra.net": "dranet"}  # of drivers whose class is not named after them
_MIG_CLASS, _PARENT = "mig.nvidia.com", "gpu.nvidia.com/parentUUID"
UNALIGNED = "not aligned: no PCIe root, and no NUMA node that their drivers publish, has them all"


class Suggestion(Struct, frozen=True):
    """A claim that fits the node.

    ``alignment`` describes how close its devices are, ``devices`` (``request: driver/device``) are those it would get
    while all of the node's devices are free. So many ``copies`` of it fit, this one included; one of them leaves over
    ``left``: devices by driver.
    """

    claim: dict[str, Any]
    alignment: str
    devices: tuple[str, ...]
    copies: int = 1
    left: Mapping[str, int] = {}


def suggest(shape: Mapping[str, int], rendering: Rendering, target: Target) -> Suggestion | None:
    """The claim with the closest alignment that allocates on the rendered node; None if not even the loosest does.

    Raises InputError if no driver publishes a device of a kind in ``shape``.
    """
    node: Any = decode(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": _node_name(rendering)}}
    )
    slices: list[Any] = [decode(item) for item in rendering.slices]
    classes: list[Any] = [decode(item) for item in rendering.device_classes]
    allocator = Allocator(slices, classes, features=Features.for_release(target.release))
    for alignment, claim in _candidates(shape, _classes(shape, rendering)):
        asked: Any = decode(claim)
        verdict = allocator.allocate(node, [asked])
        if not isinstance(verdict, Allocated):
            continue
        taken = _taken(verdict)
        every = Counter(item.spec.driver for item in slices for _ in item.spec.devices)
        left = every - Counter(device.driver for device in taken)
        copies = 1
        while isinstance(verdict, Allocated) and copies < sum(every.values()):
            verdict = allocator.replace(state=AllocatedState(devices=frozenset(taken))).allocate(
                node, [asked]
            )
            if isinstance(verdict, Allocated):
                taken |= _taken(verdict)
                copies += 1
        found = Suggestion(claim, alignment, _devices(allocator.allocate(node, [asked])), copies)
        known = set().union(*hardware().values())
        return replace(
            found, left={driver: count for driver, count in left.items() if driver in known}
        )
    return None


def largest(rendering: Rendering, target: Target) -> dict[str, int] | None:
    """The largest shape of accelerators, with a NIC each, whose pairs can be aligned; without NICs all accelerators;
    None without any."""
    counts = Counter(
        kind
        for item in rendering.slices
        for kind, drivers in hardware().items()
        if item["spec"]["driver"] in drivers
        for _ in item["spec"].get("devices", ())
    )
    kind = next((k for k in hardware() if k not in ("nic", "rdma", "nvme") and counts[k]), None)
    if kind is None:
        return None
    for number in range(min(counts[kind], counts["nic"], _HALF), 0, -1):
        shape = {kind: number, "nic": number}
        found = suggest(shape, rendering, target)
        if found is not None and found.alignment != UNALIGNED:
            return shape
    return {kind: min(counts[kind], 2 * _HALF)}


_HALF = 16  # of the devices that one claim can have


def _node_name(rendering: Rendering) -> str:
    return next((item["spec"]["nodeName"] for item in rendering.slices), "node-1")


def _taken(verdict: Allocated) -> set[DeviceID]:
    results = (result for allocation in verdict.results for result in allocation.devices.results)
    return {DeviceID(result.driver, result.pool, result.device) for result in results}


def _devices(verdict: Any) -> tuple[str, ...]:
    results = (result for allocation in verdict.results for result in allocation.devices.results)
    return tuple(f"{result.request}: {result.driver}/{result.device}" for result in results)


def _classes(shape: Mapping[str, int], rendering: Rendering) -> dict[str, str]:
    """DeviceClass names by kind: those of the drivers with devices here."""
    there = [item["spec"]["driver"] for item in rendering.slices]
    named = {item["metadata"]["name"] for item in rendering.device_classes}
    found = {}
    for kind in shape:
        drivers = ("gpu.nvidia.com",) if kind.startswith(MIG) else hardware().get(kind, ())
        driver = next((name for name in drivers if name in there), None)
        of_class = _MIG_CLASS if kind.startswith(MIG) else _CLASSES.get(driver or "", driver)
        if driver is None or of_class not in named:
            raise InputError(
                f"no driver known to dractl would publish a {kind} on this node",
                hint="`dractl discover` shows the node's devices and why a driver publishes none",
            )
        found[kind] = str(of_class)
    return found


def _candidates(
    shape: Mapping[str, int], classes: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Claims with a description of their alignment, the closest first and unaligned last."""
    requests = [_request(request_name(kind), kind, count, classes) for kind, count in shape.items()]
    names = [r["name"] for r in requests]
    if sum(shape.values()) == 1:
        yield "one device", _claim(shape, requests, [])
        return
    if all(kind.startswith(MIG) for kind in shape):
        yield "all on one GPU", _claim(shape, requests, [_match(_PARENT, names)])
    root, node = _match(PCIE_ROOT, names), _match(NUMA_NODE, names)
    yield "all on one PCIe root", _claim(shape, requests, [root])
    whole = gcd(*shape.values())
    for parts in (n for n in range(2, whole + 1) if whole % n == 0 and sum(shape.values()) > n):
        groups = [
            [
                _request(f"{request_name(kind)}-{i}", kind, count // parts, classes)
                for kind, count in shape.items()
            ]
            for i in range(parts)
        ]
        flat = [r for group in groups for r in group]
        roots = [_match(PCIE_ROOT, [r["name"] for r in group]) for group in groups]
        each = " + ".join(f"{count // parts} {kind}" for kind, count in shape.items())
        near = _match(NUMA_NODE, [r["name"] for r in flat])
        yield (
            f"{each} on one PCIe root, {parts} times, all on one NUMA node",
            _claim(shape, flat, [*roots, near]),
        )
        # Not every driver publishes the NUMA node; where roots are shared it is enough that one of the kinds does.
        first = _match(NUMA_NODE, [group[0]["name"] for group in groups])
        yield (
            f"{each} on one PCIe root, {parts} times, all on one NUMA node",
            _claim(shape, flat, [*roots, first]),
        )
        yield f"{each} on one PCIe root, {parts} times", _claim(shape, flat, roots)
    uneven = list(_uneven(shape, classes)) if len(shape) > 1 else []
    for label, flat, roots, others in uneven:
        for same in ([r["name"] for r in flat], *others):
            yield (
                f"{label} on the same NUMA node",
                _claim(shape, flat, [*roots, _match(NUMA_NODE, same)]),
            )
    yield "all on one NUMA node", _claim(shape, requests, [node])
    yield from (
        (f"{label} anywhere", _claim(shape, flat, roots)) for label, flat, roots, _ in uneven
    )
    yield UNALIGNED, _claim(shape, requests, [])


def _uneven(
    shape: Mapping[str, int], classes: Mapping[str, str]
) -> Iterator[tuple[str, list[dict[str, Any]], list[dict[str, Any]], list[list[str]]]]:
    """Groups on one root, as many as all kinds have devices for, the largest first, and requests for what is left over:
    what they are called, all requests, the groups' constraints, and the names of the requests for a kind that alone is
    left over."""
    times = min(shape.values())
    for most in range(max(shape.values()) // times, 0, -1):
        group = {kind: min(most, count // times) for kind, count in shape.items()}
        rest = {
            kind: count - times * group[kind]
            for kind, count in shape.items()
            if count > times * group[kind]
        }
        if not rest:
            continue
        groups = [
            {
                kind: _request(
                    request_name(kind) + (f"-{i}" if times > 1 else ""), kind, count, classes
                )
                for kind, count in group.items()
            }
            for i in range(times)
        ]
        others = {
            kind: _request(f"other-{request_name(kind)}", kind, n, classes)
            for kind, n in rest.items()
        }
        label = " + ".join(f"{count} {kind}" for kind, count in group.items()) + " on one PCIe root"
        label += f", {times} times" if times > 1 else ""
        label += ", the other " + " + ".join(f"{count} {kind}" for kind, count in rest.items())
        roots = [_match(PCIE_ROOT, [r["name"] for r in one.values()]) for one in groups]
        alone = [
            [one[kind]["name"] for one in (*groups, others)] for kind in rest if len(rest) == 1
        ]
        yield label, [r for one in (*groups, others) for r in one.values()], roots, alone


def _request(name: str, kind: str, count: int, classes: Mapping[str, str]) -> dict[str, Any]:
    exactly: dict[str, Any] = {"deviceClassName": classes[kind]}
    if count > 1:
        exactly["count"] = count
    selector = mig_selector(kind) or _SELECTORS.get(kind)
    if selector is not None:
        exactly["selectors"] = [{"cel": {"expression": selector}}]
    return {"name": name, "exactly": exactly}


def _match(attribute: str, requests: list[str]) -> dict[str, Any]:
    return {"matchAttribute": attribute, "requests": requests}


def _claim(
    shape: Mapping[str, int], requests: list[dict[str, Any]], constraints: list[dict[str, Any]]
) -> dict[str, Any]:
    devices: dict[str, Any] = {"requests": requests}
    if constraints:
        devices["constraints"] = constraints
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "-".join(f"{n}-{request_name(kind)}" for kind, n in shape.items())},
        "spec": {"devices": devices},
    }
