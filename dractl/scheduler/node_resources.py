"""NodeResourcesFit and NodePorts: the resources and ports that a node's other pods leave free.

kubernetes pkg/scheduler/framework/plugins/noderesources/fit.go, nodeports.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from dractl.allocation import Features
from dractl.model import Quantity, SaturatingQuantity
from dractl.properties import cached_property
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
"""The order in which fitsRequest checks these resources; all other resources come after them."""


class NodeResources:
    """The requests and host ports of one pod."""

    def __init__(self, others: BoundPods, features: Features, delegated: frozenset[str]) -> None:
        self.others = others
        self.pod = others.pod
        self.features = features
        self.delegated = delegated
        """Extended resources that NodeResourcesFit leaves to DRA."""
        self.saturates = features.has("saturating-quantities")

    def check_ports(self, node: NodeInfo) -> Rejection | None:
        """Reject a node where another pod uses a host port that the pod needs."""
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
        too_many = node.allocatable_units.get("pods", 0) < len(others) + 1
        without_pod = node if others is node.pods else NodeInfo(node.raw, others)
        shortages = self._find_shortages(without_pod)
        if not too_many and not shortages:
            return None
        rejection = Rejection(
            "NodeResourcesFit",
            tuple(f"Insufficient {shortage.resource}" for shortage in shortages),
            any(self._exceeds(node, shortage.resource) for shortage in shortages),
            tuple(shortages),
        )
        if too_many:
            limit = node.allocatable.get("pods", Quantity())
            return replace(
                rejection,
                texts=("Too many pods", *rejection.texts),
                unmet=(TooManyPods(limit, len(others)), *rejection.unmet),
                resource="pods",
                want=str(len(others) + 1),
                free=str(limit),
            )
        first = shortages[0]
        return replace(
            rejection, resource=first.resource, want=str(first.wanted), free=str(first.free)
        )

    @cached_property
    def _request_units(self) -> Mapping[str, int]:
        """The requests in the scheduler's units, in the order in which they are checked."""

        def order(name: str) -> tuple[int, str]:
            is_basic = name in _BASIC_RESOURCES
            return (_BASIC_RESOURCES.index(name) if is_basic else len(_BASIC_RESOURCES), name)

        requests = self.pod.requests
        return {
            name: scheduler_units(
                name, SaturatingQuantity.of(requests[name]) if self.saturates else requests[name]
            )
            for name in sorted(requests, key=order)
        }

    def _find_shortages(self, node: NodeInfo) -> list[InsufficientResource]:
        """Return the resources that are scarce on a node."""
        shortages = []
        total_units = node.saturating_units if self.saturates else node.allocatable_units
        for name, units in self._request_units.items():
            if name in self.delegated and self._delegates(node, name):
                continue
            if units > total_units.get(name, 0) - node.requested_units.get(name, 0):
                total = node.allocatable.get(name, Quantity())
                free = total - node.sum_requests(name)
                shortages.append(InsufficientResource(name, self.pod.requests[name], free, total))
        return shortages

    def _exceeds(self, node: NodeInfo, resource: str) -> bool:
        """Decide whether the pod asks for more than the whole node has, so that evictions do not
        help.
        """
        total_units = node.saturating_units if self.saturates else node.allocatable_units
        return self._request_units[resource] > total_units.get(resource, 0)

    def _delegates(self, node: NodeInfo, resource: str) -> bool:
        """Decide whether NodeResourcesFit leaves a resource to DRA, because no device plugin of the
        node has it.

        Up to 1.34, a device plugin that offers zero units also counts as having the resource
        (shouldDelegateResourceToDRA).
        """
        if not self.features.has("delegates-unless-offered"):
            return resource not in node.allocatable
        return node.allocatable.get(resource, Quantity()).sign() == 0


def _conflict(port: HostPort, used: HostPort) -> bool:
    same_address = port.address == used.address or ANY_ADDRESS in (port.address, used.address)
    return (port.protocol, port.port) == (used.protocol, used.port) and same_address
