"""A pending pod as Karpenter judges it, and facts about the instance types that Karpenter may
launch."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from msgspec import Struct

from dractl.autoscaler import Judgement, judge
from dractl.autoscaler.requirements import Requirement, Requirements, require_labels
from dractl.cluster.state import ClusterState
from dractl.explain.placement_attempts import CAPACITY_TYPE, CAPACITY_TYPES
from dractl.facts.autoscalers import DeviceTables
from dractl.machines import labels_of, room_of
from dractl.model import Quantity, ResourceClaim
from dractl.views import Pod
from dractl.views.node_pool import NodePool

_AWS = "karpenter.k8s.aws"
GPU_COUNT = f"{_AWS}/instance-gpu-count"
NVIDIA_GPU = "nvidia.com/gpu"
"""The extended resource for NVIDIA GPUs. Its amount is also the value of the label for the number
of GPUs (computeCapacity in karpenter-provider-aws v1.15.1 pkg/providers/instancetype/types.go).
"""
_OPTIONAL_LABELS = tuple(
    f"{_AWS}/instance-{part}" for part in ("accelerator-", "gpu-", "local-nvme")
)
"""Labels that only some instance types have (computeRequirements in the same file)."""


_OF_EVERY_NODE = {
    "topology.kubernetes.io/zone": Requirement(excludes=True),
    "topology.kubernetes.io/region": Requirement(excludes=True),
    CAPACITY_TYPE: Requirement(CAPACITY_TYPES),
}
"""Labels of every instance type, with values that depend on the account."""


class PoolInquiry(Struct, frozen=True):
    """A pod with its claims, and the facts about instance types."""

    pod: Pod
    tables: DeviceTables
    judge: Callable[[str], Judgement]
    """Judges the claims on an instance type."""
    requirements: Mapping[str, Requirements]
    """The labels that nodes of an instance type have."""


def make_pool_inquiry(
    state: ClusterState, pod: Pod, claims: Sequence[ResourceClaim], tables: DeviceTables
) -> PoolInquiry:
    """Return the inquiry for a pod; the claims are judged once on each instance type."""
    classes = {item.metadata.name: item for item in state.classes}
    return PoolInquiry(
        pod,
        tables,
        cache(lambda name: judge(claims, classes, name, tables)),
        {name: _type_requirements(name, tables) for name in tables.types},
    )


def _type_requirements(name: str, tables: DeviceTables) -> Requirements:
    """Return the labels of an instance type that Karpenter knows before a node exists."""
    labels = labels_of(name)
    absent = {
        key: Requirement()
        for key in tables.well_known_labels
        if key.startswith(_OPTIONAL_LABELS) and key not in labels
    }
    present = {key: labels[key] for key in tables.well_known_labels if key in labels}
    return {**_OF_EVERY_NODE, **absent, **require_labels(present)}


def has_room(pod: Pod, name: str) -> bool:
    """Return True if an instance type has as much CPU and memory as the pod requests."""
    room = room_of(name)
    return all(
        Quantity.parse(room[resource]) >= pod.requests[resource]
        for resource in ("cpu", "memory")
        if resource in room and resource in pod.requests
    )


def is_within_limits(pool: NodePool, name: str) -> bool:
    """Return True if a NodePool's limits allow one more node of an instance type."""
    room = room_of(name)
    added = {"nodes": "1", NVIDIA_GPU: labels_of(name).get(GPU_COUNT, "0")}
    added |= {resource: room[resource] for resource in ("cpu", "memory") if resource in room}
    return all(
        _value(pool.resources.get(resource)) + Quantity.parse(added[resource]).value()
        <= limit.value()
        for resource, limit in pool.limits.items()
        if resource in added
    )


def _value(amount: Quantity | None) -> int:
    return 0 if amount is None else amount.value()
