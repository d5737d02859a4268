"""Whether any machine of those that options name can satisfy a claim."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dractl.allocation import Allocator, Features, Unallocatable
from dractl.model import DeviceClass, Node, ResourceClaim, ResourceSlice, Target, decode

Refusal = Callable[[Mapping[str, Any], Mapping[str, Mapping[str, Any]]], bool]


def refusal(
    slices: Sequence[ResourceSlice], classes: Mapping[str, Mapping[str, Any]], target: Target
) -> Refusal | None:
    """True for a claim (and the classes of its files) that no node can satisfy, with all devices free; None if a slice
    tells its nodes otherwise than by their name."""
    names = sorted({item.spec.node_name or "" for item in slices})
    if not slices or not all(names):
        return None
    made = (
        decode({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}) for name in names
    )
    nodes = [item for item in made if isinstance(item, Node)]

    def refused(claim: Mapping[str, Any], own: Mapping[str, Mapping[str, Any]]) -> bool:
        known = [
            item
            for value in {**classes, **own}.values()
            if isinstance(item := decode(value), DeviceClass)
        ]
        wanted = decode(claim)
        allocator = Allocator(slices, known, features=Features.for_release(target.release))
        return isinstance(wanted, ResourceClaim) and all(
            isinstance(allocator.allocate(node, [wanted]), Unallocatable) for node in nodes
        )

    return refused
