"""Devices that device plugins offer: the extended resources that nodes have and pods request."""

from collections import Counter

from msgspec import Struct

from dractl.cluster.state import ClusterState
from dractl.facts.resources import by_name, drivers_of
from dractl.objects import slice_of


class PluginRow(Struct, frozen=True):
    """An extended resource of a node: the units that its device plugin offers, and the units that
    running pods request.
    """

    node: str
    resource: str
    allocatable: int
    requested: int


def list_device_plugins(state: ClusterState) -> tuple[PluginRow, ...]:
    """Return the accelerators that device plugins offer, by node and resource."""
    return _list_offered(state, _add_up_requests(state))


def _add_up_requests(state: ClusterState) -> Counter[tuple[str, str]]:
    """Return the units that running pods request, by node and extended resource."""
    requested: Counter[tuple[str, str]] = Counter()
    for pod in state.pods.values():
        if pod.node_name and not pod.has_ended:
            for resource, amount in pod.requests.items():
                if "/" in resource:
                    requested[pod.node_name, resource] += amount.value()
    return requested


def _list_offered(
    state: ClusterState, requested: Counter[tuple[str, str]]
) -> tuple[PluginRow, ...]:
    rows = []
    for (_, name), node in sorted(state.nodes.items()):
        for resource, amount in sorted(node.allocatable.items()):
            units = amount.value() if drivers_of(resource) else 0
            if units:
                rows.append(PluginRow(name, resource, units, requested[name, resource]))
    return tuple(rows)


class PluginAllocation(Struct, frozen=True):
    """Units of a resource that a device plugin offers and that containers use.

    It is unknown which of the driver's devices these units are.
    """

    node: str
    resource: str
    driver: str
    """The driver that publishes the same hardware."""
    offered: int
    used: int

    def __str__(self) -> str:
        row = by_name().get(self.resource)
        noun = "GPU" if row is not None and row.request == "gpu" else "device"
        are = f"{noun} is" if self.offered == 1 else f"{noun}s are"
        return (
            f"node {self.node}: {self.offered} {are} also offered as {self.resource}, {self.used}"
            " of them in use"
        )


def device_plugin_allocations(state: ClusterState) -> tuple[PluginAllocation, ...]:
    """Return the devices in use through device plugins on nodes that also have a DRA driver, by
    node and resource.
    """
    requested = _add_up_requests(state)
    if not requested:
        return ()
    offered = [row for row in _list_offered(state, requested) if row.requested]
    if not offered:
        return ()
    slices = map(slice_of, state.objects("ResourceSlice").values())
    published = {(item.node, item.driver) for item in slices}
    return tuple(
        PluginAllocation(
            row.node, row.resource, driver, row.allocatable, min(row.requested, row.allocatable)
        )
        for row in offered
        for driver in drivers_of(row.resource)[:1]
        if (row.node, driver) in published
    )
