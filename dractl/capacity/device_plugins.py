"""Devices that device plugins offer: allocatable and requested extended resources of nodes, beside
ResourceSlices.
"""

from msgspec import Struct

from dractl.cluster.state import ClusterState, map_at, text_at
from dractl.facts.resources import by_name, drivers_of
from dractl.views import Pod
from dractl.views.amounts import pod_requests, quantity


class PluginRow(Struct, frozen=True):
    """An extended resource of a node: units that its device plugin offers, and that running pods
    request.
    """

    node: str
    resource: str
    allocatable: int
    requested: int


def list_device_plugins(state: ClusterState) -> tuple[PluginRow, ...]:
    """Return the accelerators that device plugins offer, by node and resource."""
    requested: dict[str, dict[str, int]] = {}
    for pod in state.objects("Pod").values():
        node_name = text_at(pod, "spec", "nodeName")
        if node_name and not Pod(pod).has_ended:
            amounts = requested.setdefault(node_name, {})
            for resource, amount in pod_requests(map_at(pod, "spec")).items():
                if "/" in resource:
                    amounts[resource] = amounts.get(resource, 0) + amount.value()
    rows = []
    for (_, name), node in sorted(state.objects("Node").items()):
        for resource, amount in sorted(map_at(node, "status", "allocatable").items()):
            units = quantity(amount).value() if drivers_of(resource) else 0
            if units:
                rows.append(
                    PluginRow(name, resource, units, requested.get(name, {}).get(resource, 0))
                )
    return tuple(rows)


class PluginAllocation(Struct, frozen=True):
    """Units of a resource that a device plugin offers and that containers use.

    Which of the driver's devices they are is unknown.
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
    """Return the devices in use through device plugins beside a driver, by node and resource."""
    offered = [row for row in list_device_plugins(state) if row.requested]
    if not offered:
        return ()
    specs = [item.get("spec") for item in state.objects("ResourceSlice").values()]
    published = {(text_at(spec, "nodeName"), text_at(spec, "driver")) for spec in specs}
    return tuple(
        PluginAllocation(
            row.node, row.resource, driver, row.allocatable, min(row.requested, row.allocatable)
        )
        for row in offered
        for driver in drivers_of(row.resource)[:1]
        if (row.node, driver) in published
    )
