"""The parts of core/v1 that claims and their scheduling need: Pod, Node, Namespace, node selectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from dractl.model.meta import Condition, ObjectMeta
from dractl.model.quantity import Quantity
from dractl.model.reader import Reader


class NodeSelectorRequirement(Struct, frozen=True):
    """``operator``: In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    @classmethod
    def read(cls, r: Reader) -> NodeSelectorRequirement:
        return cls(r.text("key"), r.text("operator"), r.texts("values"))


class NodeSelectorTerm(Struct, frozen=True):
    """Requirements on a node's labels and fields, all of which must hold; an empty term matches no node."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()

    @classmethod
    def read(cls, r: Reader) -> NodeSelectorTerm:
        return cls(
            r.each("matchExpressions", NodeSelectorRequirement.read),
            r.each("matchFields", NodeSelectorRequirement.read),
        )


class NodeSelector(Struct, frozen=True):
    """Terms are ORed; the requirements in a term are ANDed."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()

    @classmethod
    def read(cls, r: Reader) -> NodeSelector:
        return cls(r.each("nodeSelectorTerms", NodeSelectorTerm.read))


class Taint(Struct, frozen=True):
    """A node's taint."""

    key: str
    value: str = ""
    effect: str = ""
    time_added: str | None = None

    @classmethod
    def read(cls, r: Reader) -> Taint:
        return cls(r.text("key"), r.text("value"), r.text("effect"), r.optional_text("timeAdded"))


class Toleration(Struct, frozen=True):
    """A pod's toleration of a node's taint."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None

    @classmethod
    def read(cls, r: Reader) -> Toleration:
        return cls(r.text("key"), r.text("operator"), r.text("value"), r.text("effect"), r.integer("tolerationSeconds"))


class ContainerResourceClaim(Struct, frozen=True):
    """A container's reference to a claim of its pod, and to one of that claim's requests ("": all)."""

    name: str
    request: str = ""

    @classmethod
    def read(cls, r: Reader) -> ContainerResourceClaim:
        return cls(r.text("name"), r.text("request"))


class ResourceRequirements(Struct, frozen=True):
    """A container's needs for CPU, memory and extended resources, and the pod's claims that it uses."""

    limits: Mapping[str, Quantity]
    requests: Mapping[str, Quantity]
    claims: tuple[ContainerResourceClaim, ...] = ()

    @classmethod
    def read(cls, r: Reader) -> ResourceRequirements:
        return cls(r.quantities("limits"), r.quantities("requests"), r.each("claims", ContainerResourceClaim.read))


class Container(Struct, frozen=True):
    """``restart_policy`` Always makes an init container a sidecar."""

    name: str
    image: str
    resources: ResourceRequirements
    restart_policy: str | None = None

    @classmethod
    def read(cls, r: Reader) -> Container:
        resources = ResourceRequirements.read(r.child("resources"))
        return cls(r.text("name"), r.text("image"), resources, r.optional_text("restartPolicy"))


class PodResourceClaim(Struct, frozen=True):
    """A claim that a pod uses under ``name``: an existing one, or one made from a template."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None

    @classmethod
    def read(cls, r: Reader) -> PodResourceClaim:
        return cls(r.text("name"), r.optional_text("resourceClaimName"), r.optional_text("resourceClaimTemplateName"))


class PodSpec(Struct, frozen=True):
    """``affinity`` is the mapping as written; ``node_affinity`` is what it requires of nodes."""

    resource_claims: tuple[PodResourceClaim, ...]
    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...]
    ephemeral_containers: tuple[Container, ...]
    resources: ResourceRequirements | None
    node_name: str
    node_selector: Mapping[str, str]
    affinity: Mapping[str, Any] | None
    node_affinity: NodeSelector | None
    tolerations: tuple[Toleration, ...]
    scheduler_name: str
    scheduling_gates: tuple[str, ...]
    priority: int | None
    overhead: Mapping[str, Quantity]

    @classmethod
    def read(cls, r: Reader) -> PodSpec:
        return cls(
            resource_claims=r.each("resourceClaims", PodResourceClaim.read),
            containers=r.each("containers", Container.read),
            init_containers=r.each("initContainers", Container.read),
            ephemeral_containers=r.each("ephemeralContainers", Container.read),
            resources=r.optional("resources", ResourceRequirements.read),
            node_name=r.text("nodeName"),
            node_selector=r.text_map("nodeSelector"),
            affinity=r.raw_map("affinity"),
            node_affinity=r.child("affinity")
            .child("nodeAffinity")
            .optional("requiredDuringSchedulingIgnoredDuringExecution", NodeSelector.read),
            tolerations=r.each("tolerations", Toleration.read),
            scheduler_name=r.text("schedulerName"),
            scheduling_gates=r.each("schedulingGates", lambda gate: gate.text("name")),
            priority=r.integer("priority"),
            overhead=r.quantities("overhead"),
        )


class PodResourceClaimStatus(Struct, frozen=True):
    """The claim made for a pod's claim from a template; ``resource_claim_name`` None: no claim is needed."""

    name: str
    resource_claim_name: str | None = None

    @classmethod
    def read(cls, r: Reader) -> PodResourceClaimStatus:
        return cls(r.text("name"), r.optional_text("resourceClaimName"))


class ContainerExtendedResourceRequest(Struct, frozen=True):
    """The request of the scheduler's own claim that serves an extended resource of a container."""

    container_name: str
    resource_name: str
    request_name: str

    @classmethod
    def read(cls, r: Reader) -> ContainerExtendedResourceRequest:
        return cls(r.text("containerName"), r.text("resourceName"), r.text("requestName"))


class PodExtendedResourceClaimStatus(Struct, frozen=True):
    """The claim that the scheduler made for a pod's extended resources."""

    resource_claim_name: str
    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()

    @classmethod
    def read(cls, r: Reader) -> PodExtendedResourceClaimStatus:
        return cls(r.text("resourceClaimName"), r.each("requestMappings", ContainerExtendedResourceRequest.read))


class PodStatus(Struct, frozen=True):
    """A pod's phase, its conditions, and the claims that were made for it."""

    phase: str
    reason: str
    nominated_node_name: str
    conditions: tuple[Condition, ...]
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...]
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None

    @classmethod
    def read(cls, r: Reader) -> PodStatus:
        return cls(
            phase=r.text("phase"),
            reason=r.text("reason"),
            nominated_node_name=r.text("nominatedNodeName"),
            conditions=r.each("conditions", Condition.read),
            resource_claim_statuses=r.each("resourceClaimStatuses", PodResourceClaimStatus.read),
            extended_resource_claim_status=r.optional(
                "extendedResourceClaimStatus", PodExtendedResourceClaimStatus.read
            ),
        )


class Pod(Struct, frozen=True):
    """A pod, reduced to what claims and the choice of its node depend on."""

    metadata: ObjectMeta
    spec: PodSpec
    status: PodStatus

    @classmethod
    def read(cls, r: Reader) -> Pod:
        return cls(
            ObjectMeta.read(r.child("metadata")), PodSpec.read(r.child("spec")), PodStatus.read(r.child("status"))
        )


class NodeSpec(Struct, frozen=True):
    """Schedulability of a node, and its taints."""

    unschedulable: bool
    taints: tuple[Taint, ...]

    @classmethod
    def read(cls, r: Reader) -> NodeSpec:
        return cls(bool(r.boolean("unschedulable")), r.each("taints", Taint.read))


class NodeStatus(Struct, frozen=True):
    """A node's resources. ``kubelet_version`` reads like ``v1.36.3``."""

    capacity: Mapping[str, Quantity]
    allocatable: Mapping[str, Quantity]
    conditions: tuple[Condition, ...]
    kubelet_version: str
    declared_features: tuple[str, ...]

    @classmethod
    def read(cls, r: Reader) -> NodeStatus:
        return cls(
            capacity=r.quantities("capacity"),
            allocatable=r.quantities("allocatable"),
            conditions=r.each("conditions", Condition.read),
            kubelet_version=r.child("nodeInfo").text("kubeletVersion"),
            declared_features=r.texts("declaredFeatures"),
        )


class Node(Struct, frozen=True):
    """A node, reduced to what the modelled scheduler filters depend on."""

    metadata: ObjectMeta
    spec: NodeSpec
    status: NodeStatus

    @classmethod
    def read(cls, r: Reader) -> Node:
        return cls(
            ObjectMeta.read(r.child("metadata")), NodeSpec.read(r.child("spec")), NodeStatus.read(r.child("status"))
        )


class Namespace(Struct, frozen=True):
    """A namespace; its labels decide whether adminAccess is allowed."""

    metadata: ObjectMeta
    phase: str

    @classmethod
    def read(cls, r: Reader) -> Namespace:
        return cls(ObjectMeta.read(r.child("metadata")), r.child("status").text("phase"))
