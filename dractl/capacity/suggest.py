"""``discover --suggest gpu=2,nic=1``: the claim with the closest alignment that a node satisfies.

Candidates are tried in the order of their alignment, the closest first and those without alignment
last. Each claim is allocated on the node's devices as the scheduler would, repeatedly, until it no
longer fits.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import Allocated, AllocatedState, Allocator, DeviceID, Features
from dractl.capacity.candidates import (
    ALIGNED,
    ATTRIBUTES,
    MIG_CLASS,
    MIG_DRIVER,
    UNALIGNED,
    DeviceKind,
    prefer_alignment,
    propose_claims,
    selector_of,
)
from dractl.capacity.placing import AlignedCopies
from dractl.drivers.rendering import Rendering
from dractl.errors import InputError
from dractl.facts.resources import hardware
from dractl.model import decode
from dractl.model.releases import Target
from dractl.model.shapes import MAX_DEVICES, MIG, Shape
from dractl.objects import slice_of
from dractl.program import program_name
from dractl.views import View

_CLASS_BY_DRIVER = {"dra.net": "dranet"}  # for drivers whose class does not have their name


class Suggestion(Struct, frozen=True):
    """A claim that fits a node with all of its devices free."""

    shape: Shape
    claim: Mapping[str, Any]
    alignment: str
    """The alignment of the devices; empty if the user asked for none."""
    devices: tuple[str, ...]
    """The devices of the first claim: ``request: driver/device``."""
    copies: int
    """The number of such claims that fit, including this one."""
    further: tuple[AlignedCopies, ...]
    """Claims for the same shape that fit in addition to these, with a less close alignment."""
    leftover: Mapping[str, int]
    """The number of devices, by driver, that remain after the first claim."""
    preference: "Preference | None" = None
    """The claim that prefers the alignment, if there is one."""


class Preference(Struct, frozen=True):
    """A claim that gets aligned devices as long as there are any, and other devices afterwards."""

    claim: Mapping[str, Any]
    copies: int
    """The number of claims that fit the node with all of its devices free."""
    aligned: int
    """The number of these claims that are aligned as demanded."""


class _Node:
    """The node that a rendering is for, and the devices that claims have taken from it."""

    def __init__(self, rendering: Rendering, target: Target) -> None:
        node = next((slice_of(item).node for item in rendering.slices), "node-1")
        self.node: Any = decode({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
        slices: list[Any] = [decode(item) for item in rendering.slices]
        classes: list[Any] = [decode(item) for item in rendering.device_classes]
        self.devices = Counter(item.spec.driver for item in slices for _ in item.spec.devices)
        self.allocator = Allocator(slices, classes, features=Features.for_release(target.release))
        self.taken: set[DeviceID] = set()

    def allocate(self, claim: Mapping[str, Any]) -> Allocated | None:
        """Allocate one more claim, and take its devices; return None if it does not fit."""
        state = AllocatedState(devices=frozenset(self.taken))
        wanted: Any = decode(claim)
        verdict = self.allocator.replace(state=state).allocate(self.node, [wanted])
        if not isinstance(verdict, Allocated):
            return None
        self.taken |= _device_ids(verdict)
        return verdict

    def fill(self, claim: Mapping[str, Any]) -> int:
        """Allocate a claim until it no longer fits; return how many times it was allocated."""
        copies = 0
        while copies < self.devices.total() and self.allocate(claim) is not None:
            copies += 1
        return copies


def suggest(shape: Shape, rendering: Rendering, target: Target) -> Suggestion | None:
    """Return the claim with the closest alignment, or the demanded one, that the node satisfies.

    Return None if no claim fits. Raises InputError if no driver publishes a device of a kind.
    """
    node = _Node(rendering, target)
    suggestion: Suggestion | None = None
    further: Counter[str] = Counter()
    for candidate in propose_claims(shape, _find_device_kinds(shape, rendering)):
        if suggestion is not None:
            further[candidate.alignment] += node.fill(candidate.claim)
            continue
        first = node.allocate(candidate.claim)
        if first is None:
            continue
        leftover = node.devices - Counter(device.driver for device in node.taken)
        suggestion = Suggestion(
            shape,
            candidate.claim,
            candidate.alignment,
            _device_names(first),
            copies=1 + node.fill(candidate.claim),
            further=(),
            leftover={name: n for name, n in leftover.items() if name in _hardware_drivers()},
        )
    if suggestion is None:
        return None
    more = tuple(AlignedCopies(label, copies) for label, copies in further.items() if copies)
    is_demanded = shape.constraint is not None
    preference = None if is_demanded else _find_preference(suggestion, _Node(rendering, target))
    return replace(suggestion, further=more, preference=preference)


def _find_preference(suggestion: Suggestion, node: _Node) -> Preference | None:
    """Return the claim that prefers the alignment of a suggestion, proven on the idle node.

    Return None if it would have fewer aligned copies than the suggestion.
    """
    claim = prefer_alignment(suggestion.claim)
    if claim is None:
        return None
    copies: list[Allocated] = []
    while len(copies) < node.devices.total() and (verdict := node.allocate(claim)) is not None:
        copies.append(verdict)
    aligned = sum(map(_is_aligned, copies))
    return Preference(claim, len(copies), aligned) if aligned >= suggestion.copies else None


def _is_aligned(verdict: Allocated) -> bool:
    """Return True if every request with alternatives has the aligned one."""
    results = (result for allocation in verdict.results for result in allocation.devices.results)
    alternatives = (result.request.partition("/")[2] for result in results)
    return all(name == ALIGNED for name in alternatives if name)


def find_largest_shape(rendering: Rendering, target: Target) -> Shape | None:
    """Return the largest shape of accelerators, each with a NIC, whose pairs can be aligned.

    Without NICs, the shape has all accelerators; return None if there are no accelerators.
    """
    counts = Counter(
        kind
        for item in map(slice_of, rendering.slices)
        for kind, drivers in hardware().items()
        if item.driver in drivers
        for _ in item.devices
    )
    kind = next((k for k in hardware() if k not in ("nic", "rdma", "nvme") and counts[k]), None)
    if kind is None:
        return None
    for number in range(min(counts[kind], counts["nic"], MAX_DEVICES // 2), 0, -1):
        shape = Shape(f"{kind}={number},nic={number}", {kind: number, "nic": number})
        suggestion = suggest(shape, rendering, target)
        if suggestion is not None and suggestion.alignment != UNALIGNED:
            return shape
    number = min(counts[kind], MAX_DEVICES)
    return Shape(f"{kind}={number}", {kind: number})


def drivers_without_attribute(shape: Shape, rendering: Rendering) -> tuple[str, ...]:
    """Return the drivers of a shape's kinds that do not publish the attribute that it demands."""
    attribute = ATTRIBUTES.get(shape.constraint)
    drivers = {name for kind in shape.counts for name in hardware().get(kind, ())}
    publishing: dict[str, bool] = {}
    for item in map(slice_of, rendering.slices):
        if item.driver in drivers and attribute is not None:
            publishing[item.driver] = publishing.get(item.driver, False) or any(
                attribute in device.fields.get("attributes", {}) for device in item.devices
            )
    return tuple(driver for driver, published in publishing.items() if not published)


def _hardware_drivers() -> set[str]:
    return set().union(*hardware().values())


def _device_ids(verdict: Allocated) -> set[DeviceID]:
    results = (result for allocation in verdict.results for result in allocation.devices.results)
    return {DeviceID(result.driver, result.pool, result.device) for result in results}


def _device_names(verdict: Allocated) -> tuple[str, ...]:
    results = (result for allocation in verdict.results for result in allocation.devices.results)
    return tuple(f"{result.request}: {result.driver}/{result.device}" for result in results)


def _find_device_kinds(shape: Shape, rendering: Rendering) -> dict[str, DeviceKind]:
    """Return the class and the selector of each kind, for the drivers with devices on the node."""
    publishing = {slice_of(item).driver for item in rendering.slices}
    classes = {View(item).name for item in rendering.device_classes}
    kinds: dict[str, DeviceKind] = {}
    for kind in shape.counts:
        if kind in classes:
            kinds[kind] = DeviceKind(kind)
            continue
        drivers = (MIG_DRIVER,) if kind.startswith(MIG) else hardware().get(kind, ())
        driver = next((name for name in drivers if name in publishing), "")
        name = MIG_CLASS if kind.startswith(MIG) else _CLASS_BY_DRIVER.get(driver, driver)
        if not driver or name not in classes:
            raise InputError(
                f"no driver known to dractl would publish a {kind} on this node",
                hint=(
                    f"`{program_name()} discover` shows the node's devices and why a driver "
                    "publishes none"
                ),
            )
        kinds[kind] = DeviceKind(name, selector_of(kind, driver))
    return kinds
