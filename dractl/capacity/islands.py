"""Nodes as clusters by themselves: where a copy on one node changes nothing for the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dractl.capacity.copies import claims_by_name
from dractl.cluster.pods import ended
from dractl.cluster.state import map_at, maps_at, text_at
from dractl.scheduler.node_filters import NodeFilters, host_ports, pod_requests, quantity, used_resources

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from dractl.cluster.state import ClusterState, Key
    from dractl.scheduler.attempt import Judge, Judgement, NodeVerdict

    Raw = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Islands:
    """What each node has to itself: pods, slices, and the claims that hold its devices."""

    state: ClusterState
    requests: tuple[str, ...]  # resources that a copy asks the node for
    pods: Mapping[str, Mapping[Key, Raw]]
    slices: Mapping[str, Mapping[Key, Raw]]
    claims: Mapping[tuple[str, str], Mapping[Key, Raw]]  # by driver and pool

    @classmethod
    def of(cls, judge: Judge, pod: Raw, first: Judgement) -> Islands | None:
        """The islands of a cluster; None if copies of ``pod`` on one node matter for another."""
        if _looks_around(judge, pod) or claims_by_name(pod):
            return None
        slices: dict[str, dict[Key, Raw]] = {}
        homes: dict[tuple[str, str], str] = {}
        for key, value in judge.state.all("ResourceSlice").items():
            node = text_at(value, "spec", "nodeName")
            pool = (text_at(value, "spec", "driver"), text_at(value, "spec", "pool", "name"))
            if not node:
                if _wanted(judge, first, pool[0]):
                    return None
                continue
            if homes.setdefault(pool, node) != node:
                return None  # a pool over several nodes: complete or not, counters in common
            slices.setdefault(node, {})[key] = value
        pods: dict[str, dict[Key, Raw]] = {}
        for key, value in judge.state.all("Pod").items():
            node = text_at(value, "spec", "nodeName")
            if node and not ended(value):
                pods.setdefault(node, {})[key] = value
        claims: dict[tuple[str, str], dict[Key, Raw]] = {}
        for key, value in judge.state.all("ResourceClaim").items():
            for result in maps_at(value, "status", "allocation", "devices", "results"):
                claims.setdefault((text_at(result, "driver"), text_at(result, "pool")), {})[key] = value
        requests = tuple(sorted(pod_requests(map_at(pod, "spec"))))
        return cls(judge.state, requests, pods, slices, claims)

    def key(self, verdict: NodeVerdict) -> Hashable:
        """Equal for nodes that take the same copies, device for device."""
        name = verdict.name
        allocatable = map_at(verdict.node, "status", "allocatable")
        here = self.pods.get(name, {}).values()
        used = used_resources(list(here)) if self.requests else {}
        free = tuple(
            str(quantity(allocatable.get(r, 0)) - used[r]) if r in used else str(quantity(allocatable.get(r, 0)))
            for r in self.requests
        )
        room = quantity(allocatable.get("pods", 0)).value() - len(here)
        ports = tuple(sorted(port for pod in here for port in host_ports(map_at(pod, "spec"))))
        known = bool(allocatable) or bool(text_at(verdict.node, "metadata", "uid"))
        return verdict.group, free, room, ports, known

    def room(self, verdict: NodeVerdict, pod: Raw) -> int | None:
        """Copies that the node has CPU, memory, pods and ports for; None if it says nothing of these."""
        allocatable = map_at(verdict.node, "status", "allocatable")
        if not allocatable and not text_at(verdict.node, "metadata", "uid"):
            return None
        here = list(self.pods.get(verdict.name, {}).values())
        provided = {name for claim in verdict.claims if not claim.name for name in self.requests if "/" in name}
        used = used_resources(here)
        room = quantity(allocatable.get("pods", 0)).value() - len(here)
        for name, want in pod_requests(map_at(pod, "spec")).items():
            if want.sign() <= 0 or (name in provided and quantity(allocatable.get(name, 0)).sign() == 0):
                continue
            free = quantity(allocatable.get(name, 0))
            free = free - used[name] if name in used else free
            count = 0
            while count < room and want <= free:
                free = free - want
                count += 1
            room = min(room, count)
        return min(room, 1) if host_ports(map_at(pod, "spec")) else room

    def alone(self, node: str) -> ClusterState:
        """The cluster as if it had this node only."""
        slices = self.slices.get(node, {})
        claims: dict[Key, Raw] = {}
        for pool in self._pools(node):
            claims |= self.claims.get(pool, {})
        value = self.state.get("Node", ("", node))
        nodes = {("", node): value} if value is not None else {}
        return self.state.only(
            {"Node": nodes, "Pod": self.pods.get(node, {}), "ResourceSlice": slices, "ResourceClaim": claims}
        )

    def pools(self, node: str, other: str) -> dict[tuple[str, str], str]:
        """The pool of ``other`` for each driver and pool of ``node``, a node that is its equal."""
        return {ours: theirs[1] for ours, theirs in zip(self._pools(node), self._pools(other), strict=True)}

    def _pools(self, node: str) -> list[tuple[str, str]]:
        slices = self.slices.get(node, {}).values()
        return sorted({(text_at(s, "spec", "driver"), text_at(s, "spec", "pool", "name")) for s in slices})


def _looks_around(judge: Judge, pod: Raw) -> bool:
    """True if the filters look at pods of other nodes, or a pod already there repels copies."""
    spec = map_at(pod, "spec")
    affinity = map_at(spec, "affinity")
    if "podAffinity" in affinity or "podAntiAffinity" in affinity:
        return True
    filters = NodeFilters(judge.state, pod)
    return bool(filters.spread or filters.repelling)


def _wanted(judge: Judge, first: Judgement, driver: str) -> bool:
    """True if a copy may get, or fail on, a device of this driver."""
    wanted = set()
    for claim in [*first.claims, *(claim for node in first.nodes[:1] for claim in node.claims)]:
        if claim.claim is None:
            continue
        for request in claim.claim.spec.devices.requests:
            options = (request.exactly,) if request.exactly is not None else request.first_available
            wanted |= {option.device_class_name for option in options if option is not None}
    for name in wanted:
        value = judge.state.get("DeviceClass", ("", name))
        programs = [judge.compile(text_at(s, "cel", "expression")) for s in maps_at(value, "spec", "selectors")]
        drivers = [program.driver for program in programs if program.ok]
        if not any(named is not None and named != driver for named in drivers):
            return True
    return False
