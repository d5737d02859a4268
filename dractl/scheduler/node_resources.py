"""NodeResourcesFit and NodePorts: what a node has left beside its other pods.

kubernetes pkg/scheduler/framework/plugins/noderesources/fit.go, nodeports.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

from dractl.allocation import Features
from dractl.model import Quantity, SaturatingQuantity
from dractl.scheduler.bound_pods import BoundPods
from dractl.scheduler.rejection import (
    HostPortConflict,
    InsufficientResource,
    Rejection,
    TooManyPods,
)
from dractl.scheduler.snapshot import NodeInfo
from dractl.views.amounts import scheduler_units
from dractl.views.pod import ANY_ADDRESS, HostPort

_BASIC_RESOURCES = ("cpu", "memory", "ephemeral-storage")
"""The order in which fitsRequest looks at these; other resources come after them."""


class NodeResources:
    """The requests and host ports of one pod."""

    def __init__(self, others: BoundPods, features: Features, delegated: frozenset[str]) -> None:
        self.others = others
        self.pod = others.pod
        self.features = features
        self.delegated = delegated
        """Extended resources that NodeResourcesFit leaves to DRA."""

    def check_ports(self, node: NodeInfo) -> Rejection | None:
        """Reject a node where another pod uses a host port of the pod."""
        if not self.pod.host_ports:
            return None
        for other in self.others.pods_on(node):
            for used in other.host_ports:
                for port in self.pod.host_ports:
                    if _conflict(port, used):
                        text = "node(s) didn't have free ports for the requested pod ports"
                        taken = HostPortConflict(port.port, port.protocol, other.full_name)
                        return Rejection(
                            "NodePorts", (text,), False, (taken,), pods=(other.full_name,)
                        )
        return None

    def check_resources(self, node: NodeInfo) -> Rejection | None:
        """Reject a node that has too little of a resource left (fitsRequest)."""
        if not node.is_registered:
            return None
        others = self.others.pods_on(node)
        limit = node.allocatable.get("pods", Quantity())
        too_many = TooManyPods(limit, len(others)) if limit.value() < len(others) + 1 else None
        without_pod = node if others is node.pods else NodeInfo(node.raw, others)
        shortages = tuple(self._shortages(without_pod))
        if too_many is not None:
            resource, want, free = "pods", str(too_many.running + 1), str(limit)
        elif shortages:
            first = shortages[0]
            resource, want, free = first.resource, str(first.wanted), str(first.free)
        else:
            return None
        return Rejection(
            "NodeResourcesFit",
            (
                *(("Too many pods",) if too_many is not None else ()),
                *(f"Insufficient {shortage.resource}" for shortage in shortages),
            ),
            any(self._exceeds(node, shortage.resource) for shortage in shortages),
            (*((too_many,) if too_many is not None else ()), *shortages),
            resource=resource,
            want=want,
            free=free,
        )

    @cached_property
    def _resource_names(self) -> Sequence[str]:
        """The resources that the pod asks for, in the order in which they are looked at."""

        def order(name: str) -> tuple[int, str]:
            is_basic = name in _BASIC_RESOURCES
            return (_BASIC_RESOURCES.index(name) if is_basic else len(_BASIC_RESOURCES), name)

        return sorted(self.pod.requests, key=order)

    def _shortages(self, node: NodeInfo) -> Iterator[InsufficientResource]:
        """Yield the resources of which a node has too little left."""
        for name in self._resource_names:
            if name in self.delegated and self._delegates(node, name):
                continue
            total = node.allocatable.get(name, Quantity())
            free_units = self._units(name, total) - node.requested_units.get(name, 0)
            if self._units(name, self.pod.requests[name]) > free_units:
                free = total - node.sum_requests(name)
                yield InsufficientResource(name, self.pod.requests[name], free, total)

    def _exceeds(self, node: NodeInfo, resource: str) -> bool:
        """Decide whether the pod asks for more than the whole node has, so that evictions do not
        help.
        """
        total = node.allocatable.get(resource, Quantity())
        request = self.pod.requests[resource]
        return self._units(resource, request) > self._units(resource, total)

    def _units(self, resource: str, amount: Quantity) -> int:
        """Return an amount in the units of the release's scheduler."""
        saturates = self.features.has("saturating-quantities")
        return scheduler_units(resource, SaturatingQuantity.of(amount) if saturates else amount)

    def _delegates(self, node: NodeInfo, resource: str) -> bool:
        """Decide whether NodeResourcesFit leaves a resource to DRA: no device plugin has it there.

        Up to 1.34 a device plugin that offers none counts as having it
        (shouldDelegateResourceToDRA).
        """
        if not self.features.has("delegates-unless-offered"):
            return resource not in node.allocatable
        return node.allocatable.get(resource, Quantity()).sign() == 0


def _conflict(port: HostPort, used: HostPort) -> bool:
    same_address = port.address == used.address or ANY_ADDRESS in (port.address, used.address)
    return (port.protocol, port.port) == (used.protocol, used.port) and same_address
