"""The parts of core/v1 that claims and their scheduling need: Pod, Node, Namespace,
node selectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dractl.model.apitype import APIType
from dractl.model.meta import Condition, ObjectMeta
from dractl.model.quantity import Quantity
from dractl.model.reader import Reader


class NodeSelectorRequirement(APIType, frozen=True):
    """A requirement on a node's label or field."""

    key: str
    operator: str
    """In, NotIn, Exists, DoesNotExist, Gt or Lt."""
    values: tuple[str, ...] = ()


class NodeSelectorTerm(APIType, frozen=True):
    """Requirements on a node's labels and fields, all of which must be met; an empty term matches
    no node.
    """

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(APIType, frozen=True):
    """A selection of nodes by terms: one term must match, and in it, every requirement must be
    met.
    """

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class Taint(APIType, frozen=True):
    """A node's taint."""

    key: str
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class Toleration(APIType, frozen=True):
    """A pod's toleration of a node's taint."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class ContainerResourceClaim(APIType, frozen=True):
    """A container's reference to a claim of its pod, and to one request of that claim ("" for all
    requests).
    """

    name: str
    request: str = ""


class ResourceRequirements(APIType, frozen=True):
    """A container's needs for CPU, memory and extended resources, and the pod's claims that it
    uses.
    """

    limits: Mapping[str, Quantity]
    requests: Mapping[str, Quantity]
    claims: tuple[ContainerResourceClaim, ...] = ()


class Container(APIType, frozen=True):
    """A container of a pod."""

    name: str
    image: str
    resources: ResourceRequirements
    restart_policy: str | None = None
    """Whether an init container is a sidecar: ``Always`` makes it one."""


class PodResourceClaim(APIType, frozen=True):
    """A claim that a pod uses under ``name``: an existing one, or one made from a template."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSpec(APIType, frozen=True):
    """The specification of a pod, as far as scheduling depends on it."""

    resource_claims: tuple[PodResourceClaim, ...]
    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...]
    ephemeral_containers: tuple[Container, ...]
    resources: ResourceRequirements | None
    node_name: str
    node_selector: Mapping[str, str]
    affinity: Mapping[str, Any] | None
    """The mapping as written."""
    node_affinity: NodeSelector | None
    """The nodes that ``affinity`` requires."""
    tolerations: tuple[Toleration, ...]
    scheduler_name: str
    scheduling_gates: tuple[str, ...]
    priority: int | None
    overhead: Mapping[str, Quantity]

    @classmethod
    def read(cls, r: Reader) -> PodSpec:
        affinity = r.child("affinity").child("nodeAffinity")
        return cls.read_with(
            r,
            node_affinity=affinity.optional(
                "requiredDuringSchedulingIgnoredDuringExecution", NodeSelector.read
            ),
            scheduling_gates=r.items_of("schedulingGates", lambda gate: gate.text("name")),
        )


class PodResourceClaimStatus(APIType, frozen=True):
    """The claim that was created from a template for a claim entry of the pod."""

    name: str
    resource_claim_name: str | None = None
    """The name of the claim; None if no claim is needed."""


class ContainerExtendedResourceRequest(APIType, frozen=True):
    """The mapping from an extended resource of a container to the request for it in the scheduler's
    claim.
    """

    container_name: str
    resource_name: str
    request_name: str


class PodExtendedResourceClaimStatus(APIType, frozen=True):
    """The claim that the scheduler made for a pod's extended resources."""

    resource_claim_name: str
    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()


class PodStatus(APIType, frozen=True):
    """A pod's phase, its conditions, and the claims that were made for it."""

    phase: str
    reason: str
    nominated_node_name: str
    conditions: tuple[Condition, ...]
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...]
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None


class Pod(APIType, frozen=True):
    """A pod, reduced to the fields on which claims and the choice of its node depend."""

    metadata: ObjectMeta
    spec: PodSpec
    status: PodStatus


class NodeSpec(APIType, frozen=True):
    """Taints of a node, and whether it is unschedulable."""

    unschedulable: bool
    taints: tuple[Taint, ...]


class NodeStatus(APIType, frozen=True):
    """A node's resources."""

    capacity: Mapping[str, Quantity]
    allocatable: Mapping[str, Quantity]
    conditions: tuple[Condition, ...]
    kubelet_version: str
    """The version of the kubelet, such as ``v1.36.3``."""
    declared_features: tuple[str, ...]

    @classmethod
    def read(cls, r: Reader) -> NodeStatus:
        return cls.read_with(r, kubelet_version=r.child("nodeInfo").text("kubeletVersion"))


class Node(APIType, frozen=True):
    """A node, reduced to the fields on which the modelled scheduler filters depend."""

    metadata: ObjectMeta
    spec: NodeSpec
    status: NodeStatus


class Namespace(APIType, frozen=True):
    """A namespace; its labels decide whether adminAccess is allowed."""

    metadata: ObjectMeta
    phase: str

    @classmethod
    def read(cls, r: Reader) -> Namespace:
        return cls.read_with(r, phase=r.child("status").text("phase"))
