"""Nodes that can be treated as separate clusters, since a copy on one node changes nothing for the
others.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from msgspec import Struct

from dractl.capacity.copies import shares_claims
from dractl.cluster.state import ClusterState, Key
from dractl.model import Quantity
from dractl.objects import Raw, selectors_of, slice_of
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.node_filters import NodeFilters
from dractl.scheduler.snapshot import NodeInfo, Snapshot
from dractl.scheduler.verdict import Attempt, NodeVerdict
from dractl.views.amounts import scheduler_units


class Islands(Struct, frozen=True):
    """Nodes that share no pods, slices or claims with other nodes."""

    state: ClusterState
    snapshot: Snapshot
    requests: tuple[str, ...]
    """The resources that a copy requests from the node."""
    pods: Mapping[str, Mapping[Key, Raw]]
    """The pods of each node."""
    slices: Mapping[str, Mapping[Key, Raw]]
    """The slices of each node."""
    claims: Mapping[tuple[str, str], Mapping[Key, Raw]]
    """The claims that hold devices of each driver and pool."""

    @classmethod
    def from_cluster(cls, scheduler: Scheduler, pod: Raw, first: Attempt) -> Islands | None:
        """Return the islands of a cluster; None if a copy of ``pod`` on one node would affect
        another node.
        """
        if _depends_on_other_nodes(scheduler, pod) or shares_claims(scheduler.state, pod):
            return None
        slices: dict[str, dict[Key, Raw]] = {}
        homes: dict[tuple[str, str], str] = {}
        for key, value in scheduler.state.objects("ResourceSlice").items():
            resource_slice = slice_of(value)
            node, pool = resource_slice.node, (resource_slice.driver, resource_slice.pool)
            if not node:
                if _may_use_driver(scheduler, first, pool[0]):
                    return None
                continue
            if homes.setdefault(pool, node) != node:
                return None  # a pool's counters, and whether it is complete, concern all its nodes
            slices.setdefault(node, {})[key] = value
        pods: dict[str, dict[Key, Raw]] = {}
        for key, placed_pod in scheduler.state.pods.items():
            if placed_pod.node_name and not placed_pod.has_ended:
                pods.setdefault(placed_pod.node_name, {})[key] = placed_pod.raw
        claims: dict[tuple[str, str], dict[Key, Raw]] = {}
        for key, claim in scheduler.state.claims.items():
            for device in claim.allocated_devices:
                claims.setdefault((device.driver, device.pool), {})[key] = claim.raw
        requests = tuple(sorted(scheduler.snapshot.pod(pod).requests))
        return cls(scheduler.state, scheduler.snapshot, requests, pods, slices, claims)

    def node_key(self, verdict: NodeVerdict) -> Hashable:
        """Return a key that is equal for two nodes if each copy that fits on one of them fits on
        the other, on corresponding devices.
        """
        node = self._node_info(verdict)
        free = tuple(self._free_units(node, resource) for resource in self.requests)
        room = node.allocatable.get("pods", Quantity()).value() - len(node.pods)
        ports = tuple(sorted(port for pod in node.pods for port in pod.host_ports))
        return verdict.group, free, room, ports, node.is_registered

    def _node_info(self, verdict: NodeVerdict) -> NodeInfo:
        return self.snapshot.nodes.get(verdict.name) or NodeInfo(verdict.node.raw)

    @staticmethod
    def _free_units(node: NodeInfo, resource: str) -> int:
        """Return the free amount of a resource, in the scheduler's units."""
        total = node.allocatable.get(resource, Quantity())
        return scheduler_units(resource, total) - node.requested_units.get(resource, 0)

    def count_room(self, verdict: NodeVerdict, pod: Raw) -> int | None:
        """Count the copies that fit by CPU, memory, number of pods and ports; None if the node
        limits none of these.
        """
        node = self._node_info(verdict)
        if not node.is_registered:
            return None
        provided = {
            name
            for claim in verdict.claims
            if not claim.name
            for name in self.requests
            if "/" in name
        }
        room = node.allocatable.get("pods", Quantity()).value() - len(node.pods)
        copy = self.snapshot.pod(pod)
        for name, amount in copy.request_units.items():
            if name in provided and node.allocatable.get(name, Quantity()).sign() == 0:
                continue
            room = min(room, max(self._free_units(node, name), 0) // amount)
        return min(room, 1) if copy.host_ports else room

    def isolate_node(self, node: str) -> ClusterState:
        """Return the cluster with this node as its only one."""
        slices = self.slices.get(node, {})
        claims: dict[Key, Raw] = {}
        for pool in self._list_pools(node):
            claims |= self.claims.get(pool, {})
        value = self.state.get("Node", ("", node))
        nodes = {("", node): value} if value is not None else {}
        return self.state.with_kinds(
            {
                "Node": nodes,
                "Pod": self.pods.get(node, {}),
                "ResourceSlice": slices,
                "ResourceClaim": claims,
            }
        )

    def map_pools(self, node: str, other: str) -> dict[tuple[str, str], str]:
        """Return, for each driver and pool of ``node``, the corresponding pool of ``other``, a node
        with an equal key.
        """
        return {
            pool: other_pool[1]
            for pool, other_pool in zip(
                self._list_pools(node), self._list_pools(other), strict=True
            )
        }

    def _list_pools(self, node: str) -> list[tuple[str, str]]:
        slices = map(slice_of, self.slices.get(node, {}).values())
        return sorted({(item.driver, item.pool) for item in slices})


def _depends_on_other_nodes(scheduler: Scheduler, pod: Raw) -> bool:
    """Return whether filters read pods of other nodes, or whether a pod repels copies."""
    view = scheduler.snapshot.pod(pod)
    if "podAffinity" in view.affinity or "podAntiAffinity" in view.affinity:
        return True
    filters = NodeFilters(scheduler.snapshot, view, scheduler.features)
    return bool(view.spread_constraints or filters.pod_affinity.repelling_pods)


def _may_use_driver(scheduler: Scheduler, first: Attempt, driver: str) -> bool:
    """Return whether a copy may get a device of this driver, or fail because of one."""
    device_classes = set()
    for claim in [*first.claims, *(claim for node in first.nodes[:1] for claim in node.claims)]:
        if claim.claim is None:
            continue
        for request in claim.claim.spec.devices.requests:
            options = (request.exactly,) if request.exactly is not None else request.first_available
            device_classes |= {option.device_class_name for option in options if option is not None}
    for name in device_classes:
        device_class = scheduler.state.get("DeviceClass", ("", name)) or {}
        programs = [
            scheduler.compile_selector(selector.text) for selector in selectors_of(device_class)
        ]
        drivers = [program.driver for program in programs if program.ok]
        if not any(
            driver_of_class is not None and driver_of_class != driver for driver_of_class in drivers
        ):
            return True
    return False
