"""Devices that device plugins offer: allocatable and requested extended resources of nodes, beside ResourceSlices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dractl.cluster.pods import ended
from dractl.cluster.state import map_at, text_at
from dractl.scheduler.snapshot import pod_requests, quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dractl.cluster.state import ClusterState

    Raw = Mapping[str, Any]

# Resource of a device plugin (a whole name, or a prefix that ends in / or -) -> drivers that publish the same hardware.
DRIVERS_OF = {
    "nvidia.com/gpu": ("gpu.nvidia.com",),
    "nvidia.com/mig-": ("gpu.nvidia.com",),
    "amd.com/gpu": ("gpu.amd.com",),
    "gpu.intel.com/": ("gpu.intel.com",),
    "intel.com/": ("gpu.intel.com", "gaudi.intel.com", "qat.intel.com"),
    "habana.ai/gaudi": ("gaudi.intel.com",),
    "qat.intel.com/": ("qat.intel.com",),
    "google.com/tpu": ("tpu.google.com",),
    "aws.amazon.com/neuron": ("neuron.aws.com",),
    "vpc.amazonaws.com/efa": ("efa.networking.k8s.aws", "dra.net"),
    "rdma/": ("dra.net", "sriovnetwork.k8snetworkplumbingwg.io"),
    "rebellions.ai/": ("npu.rebellions.ai",),
    "furiosa.ai/": ("npu.furiosa.ai",),
    "tenstorrent.com/": ("tenstorrent.com",),
    "huawei.com/": ("npu.huawei.com",),
}


@dataclass(frozen=True, slots=True)
class PluginRow:
    """An extended resource of a node: units that its device plugin offers, and that running pods request."""

    node: str
    resource: str
    allocatable: int
    requested: int


def drivers_of(resource: str) -> tuple[str, ...]:
    """DRA drivers that publish the hardware behind an extended resource; empty if none is known."""
    for name, drivers in DRIVERS_OF.items():
        if resource == name or (name[-1] in "/-" and resource.startswith(name)) or resource.startswith(f"{name}-"):
            return drivers
    return ()


def plugins(state: ClusterState) -> tuple[PluginRow, ...]:
    """The accelerators that device plugins offer, by node and resource."""
    requested: dict[str, dict[str, int]] = {}
    for pod in state.all("Pod").values():
        place = text_at(pod, "spec", "nodeName")
        if place and not ended(pod):
            of_node = requested.setdefault(place, {})
            for resource, amount in pod_requests(map_at(pod, "spec")).items():
                if "/" in resource:
                    of_node[resource] = of_node.get(resource, 0) + amount.value()
    found = []
    for (_, name), node in sorted(state.all("Node").items()):
        for resource, amount in sorted(map_at(node, "status", "allocatable").items()):
            units = quantity(amount).value() if drivers_of(resource) else 0
            if units:
                found.append(PluginRow(name, resource, units, requested.get(name, {}).get(resource, 0)))
    return tuple(found)
