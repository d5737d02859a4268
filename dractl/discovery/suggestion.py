"""``discover --suggest gpu=2,nic=1``: the ResourceClaim with the closest alignment that a node can satisfy.

Candidates are tried from the closest alignment to none; each is allocated on the node's own devices as the scheduler
would allocate it.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dractl.allocation import Allocated, Allocator, Features
from dractl.discovery.publication import GPU_DRIVERS
from dractl.drivers.standard import NUMA_NODE, PCIE_ROOT
from dractl.errors import InputError, UsageError
from dractl.model import decode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dractl.drivers.rendering import Rendering
    from dractl.model.releases import Target

KINDS = ("gpu", "nic", "rdma")
_MAX = 32  # resource/v1 AllocationResultsMaxSize
_SELECTORS = {
    "nic": '"pciAddress" in device.attributes["dra.net"]',
    "rdma": '"pciAddress" in device.attributes["dra.net"] && device.attributes["dra.net"].rdma',
}


class Suggestion(Struct, frozen=True):
    """A claim that fits the node.

    ``alignment`` describes how close its devices are, ``devices`` (``request: driver/device``) are those it would get
    while all of the node's devices are free.
    """

    claim: dict[str, Any]
    alignment: str
    devices: tuple[str, ...]


def parse(text: str) -> dict[str, int]:
    """Counts by kind of a shape such as ``gpu=2,nic=1``; raises UsageError."""
    shape: dict[str, int] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        kind, equals, number = part.partition("=")
        if kind not in KINDS or kind in shape or (equals and not (number.isdecimal() and 0 < int(number[:9]) <= _MAX)):
            raise UsageError(
                f"--suggest: {part!r} is not KIND=COUNT",
                hint=f"write it like gpu=2,nic=1: each of {', '.join(KINDS)} at most once, counts from 1 to {_MAX}",
            )
        shape[kind] = int(number or 1)
    if not shape or sum(shape.values()) > _MAX:
        raise UsageError(
            f"--suggest takes 1 to {_MAX} devices, such as gpu=2,nic=1", hint="a claim cannot allocate more devices"
        )
    return shape


def suggest(shape: Mapping[str, int], rendering: Rendering, target: Target) -> Suggestion | None:
    """The claim with the closest alignment that allocates on the rendered node; None if not even the loosest does.

    Raises InputError if no driver publishes a device of a kind in ``shape``.
    """
    node: Any = decode({"apiVersion": "v1", "kind": "Node", "metadata": {"name": _node_name(rendering)}})
    slices: list[Any] = [decode(item) for item in rendering.slices]
    classes: list[Any] = [decode(item) for item in rendering.device_classes]
    allocator = Allocator(slices, classes, features=Features.for_release(target.release))
    for alignment, claim in _candidates(shape, _classes(shape, rendering)):
        asked: Any = decode(claim)
        verdict = allocator.allocate(node, [asked])
        if isinstance(verdict, Allocated):
            return Suggestion(claim, alignment, _devices(verdict))
    return None


def _node_name(rendering: Rendering) -> str:
    return next((item["spec"]["nodeName"] for item in rendering.slices), "node-1")


def _devices(verdict: Any) -> tuple[str, ...]:
    results = (result for allocation in verdict.results for result in allocation.devices.results)
    return tuple(f"{result.request}: {result.driver}/{result.device}" for result in results)


def _classes(shape: Mapping[str, int], rendering: Rendering) -> dict[str, str]:
    """DeviceClass names by kind; ``gpu`` is the class of the GPU driver with devices here."""
    gpu = next((s["spec"]["driver"] for s in rendering.slices if s["spec"]["driver"] in GPU_DRIVERS), None)
    named = {item["metadata"]["name"] for item in rendering.device_classes}
    by_kind = {"gpu": gpu, "nic": "dranet", "rdma": "dranet"}
    missing = [kind for kind in shape if by_kind[kind] not in named]
    if missing:
        raise InputError(
            f"no driver known to dractl would publish a {missing[0]} on this node",
            hint="`dractl discover` shows the node's devices and why a driver publishes none",
        )
    return {kind: str(name) for kind, name in by_kind.items()}


def _candidates(shape: Mapping[str, int], classes: Mapping[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Claims with a description of their alignment, the closest first and unaligned last."""
    requests = [_request(kind, kind, count, classes) for kind, count in shape.items()]
    names = [r["name"] for r in requests]
    if sum(shape.values()) == 1:
        yield "one device", _claim(shape, requests, [])
        return
    root, node = _match(PCIE_ROOT, names), _match(NUMA_NODE, names)
    yield "all on one PCIe root", _claim(shape, requests, [root])
    whole = gcd(*shape.values())
    for parts in (n for n in range(2, whole + 1) if whole % n == 0 and sum(shape.values()) > n):
        groups = [
            [_request(f"{kind}-{i}", kind, count // parts, classes) for kind, count in shape.items()]
            for i in range(parts)
        ]
        flat = [r for group in groups for r in group]
        roots = [_match(PCIE_ROOT, [r["name"] for r in group]) for group in groups]
        each = " + ".join(f"{count // parts} {kind}" for kind, count in shape.items())
        near = _match(NUMA_NODE, [r["name"] for r in flat])
        yield f"{each} on one PCIe root, {parts} times, all on one NUMA node", _claim(shape, flat, [*roots, near])
        yield f"{each} on one PCIe root, {parts} times", _claim(shape, flat, roots)
    yield "all on one NUMA node", _claim(shape, requests, [node])
    yield "not aligned: no PCIe root or NUMA node of this node has them all", _claim(shape, requests, [])


def _request(name: str, kind: str, count: int, classes: Mapping[str, str]) -> dict[str, Any]:
    exactly: dict[str, Any] = {"deviceClassName": classes[kind]}
    if count > 1:
        exactly["count"] = count
    if kind in _SELECTORS:
        exactly["selectors"] = [{"cel": {"expression": _SELECTORS[kind]}}]
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
        "metadata": {"name": "-".join(f"{n}-{kind}" for kind, n in shape.items())},
        "spec": {"devices": devices},
    }
