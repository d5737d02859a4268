"""A check whether any node can satisfy a claim while all devices are free."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dractl.allocation.allocator import Allocator
from dractl.allocation.features import Features
from dractl.allocation.result import Unallocatable
from dractl.model import DeviceClass, Node, ResourceClaim, ResourceSlice, Target, decode

IsUnsatisfiable = Callable[[Mapping[str, Any], Mapping[str, Mapping[str, Any]]], bool]


def make_check(
    slices: Sequence[ResourceSlice], classes: Mapping[str, Mapping[str, Any]], target: Target
) -> IsUnsatisfiable | None:
    """Make a check that returns True for a claim that no node can satisfy even with all devices
    free.

    The check takes the claim, and the classes in the claim's files. Return None if there are no
    slices, or if a slice selects its nodes by anything other than a name.
    """
    names = sorted({item.spec.node_name or "" for item in slices})
    if not slices or not all(names):
        return None
    decoded_nodes = (
        decode({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}) for name in names
    )
    nodes = [item for item in decoded_nodes if isinstance(item, Node)]

    def is_unsatisfiable(
        claim: Mapping[str, Any], file_classes: Mapping[str, Mapping[str, Any]]
    ) -> bool:
        device_classes = [
            item
            for value in {**classes, **file_classes}.values()
            if isinstance(item := decode(value), DeviceClass)
        ]
        decoded_claim = decode(claim)
        allocator = Allocator(slices, device_classes, features=Features.for_release(target.release))
        return isinstance(decoded_claim, ResourceClaim) and all(
            isinstance(allocator.allocate(node, [decoded_claim]), Unallocatable) for node in nodes
        )

    return is_unsatisfiable
