"""The devices that a change concerns: their state and taints before and after it."""

from collections.abc import Collection, Iterator, Mapping

from dractl.allocation import DeviceID, Features
from dractl.capacity.inventory import DeviceRow, take_inventory
from dractl.cluster.state import ClusterState
from dractl.impact.result import DeviceChange, DeviceState
from dractl.model.order import natural

Rows = Mapping[DeviceID, DeviceRow]


def list_rows(state: ClusterState, features: Features) -> Rows:
    """Return every device of a cluster by its identity, including devices that appear only in
    claims.
    """
    return {row.id: row for row in take_inventory(state, features).devices}


def compare_devices(
    before: Rows, after: Rows, selected: Collection[DeviceID]
) -> Iterator[DeviceChange]:
    """Yield the devices whose state or taints differ, and the ``selected`` devices."""
    for device in sorted({*before, *after, *selected}, key=lambda one: natural(str(one))):
        old, new = _describe(before.get(device)), _describe(after.get(device))
        if old != new or device in selected:
            row = after.get(device) or before.get(device)
            yield DeviceChange(str(device), row.node if row is not None else None, old, new)


def _describe(row: DeviceRow | None) -> DeviceState | None:
    return None if row is None else DeviceState(row.state, row.taints)
