"""The nodes and locations of a cluster's devices."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from dractl.alignment.distance import UNKNOWN_LOCATION, Levels, Location, device_kind, locate
from dractl.allocation import DeviceID
from dractl.cluster.devices import Devices
from dractl.cluster.state import ClusterState
from dractl.model import ResourceSlice
from dractl.objects import PoolName, Raw
from dractl.views import AllocatedDevice, Claim


class DeviceLocator:
    """Looks up where devices are, and caches the result."""

    def __init__(self, state: ClusterState, slices: Iterable[ResourceSlice]) -> None:
        self.devices = Devices(state, slices)
        self.levels = {
            node: Levels.from_machine(machine, source)
            for node, (machine, source) in state.machines.items()
        }
        self._nodes: dict[PoolName, dict[str, str | None]] = {}
        self._locations: dict[tuple[DeviceID, str | None], Location] = {}

    def find_node(self, device: DeviceID) -> str | None:
        """Return the node of a device; None if the device can be used from several nodes, or no
        slice has it.
        """
        pool = (device.driver, device.pool)
        if pool not in self._nodes:
            self._nodes[pool] = {
                published.name: slice_.spec.node_name or published.node_name
                for slice_ in self.devices.pool(*pool)
                for published in slice_.spec.devices
            }
        return self._nodes[pool].get(device.device)

    def locate(self, device: DeviceID, node: str | None) -> Location:
        """Return the location of a device on a node; an unknown one if it is not on that node."""
        key = (device, node)
        if key not in self._locations:
            self._locations[key] = self._look_up(device, node)
        return self._locations[key]

    def _look_up(self, device: DeviceID, node: str | None) -> Location:
        published = self.devices.get(device)
        if published is None or node is None or self.find_node(device) != node:
            return replace(UNKNOWN_LOCATION, kind=device_kind(device.driver))
        return locate(device.driver, published, self.levels.get(node))

    def locate_all(self, node: str) -> dict[DeviceID, Location]:
        """Return the locations of all devices of a node."""
        devices = (
            DeviceID(slice_.spec.driver, slice_.spec.pool.name, published.name)
            for slice_ in self.devices.slices
            if slice_.spec.node_name == node
            for published in slice_.spec.devices
        )
        return {device: self.locate(device, node) for device in devices}


def list_allocated_devices(claims: Sequence[Raw]) -> list[DeviceID]:
    """Return the devices that are allocated for claims, except through adminAccess."""
    return [
        device_id(allocated)
        for claim in map(Claim, claims)
        for allocated in claim.allocated_devices
        if not allocated.admin_access
    ]


def device_id(allocated: AllocatedDevice) -> DeviceID:
    """Return the identity of an allocated device."""
    return DeviceID(allocated.driver, allocated.pool, allocated.device)
