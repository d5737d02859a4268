"""Nodes that a filter before DRA rejects, with the requirements that they do not meet."""

from collections.abc import Mapping

from msgspec import Struct

from dractl.allocation.nodes import label_matches
from dractl.model import NodeSelector, Quantity, Taint


class CordonedNode(Struct, frozen=True):
    """``spec.unschedulable`` of the node is true."""


class NodeNameMismatch(Struct, frozen=True):
    """The pod's ``spec.nodeName`` is another node."""

    wanted: str


class NodeListMismatch(Struct, frozen=True):
    """Required node affinity names other nodes."""

    wanted: tuple[str, ...]


class UntoleratedTaint(Struct, frozen=True):
    """A taint of the node that the pod does not tolerate."""

    taint: Taint


class LabelMismatch(Struct, frozen=True):
    """An entry of the pod's ``nodeSelector`` that the node's labels do not satisfy."""

    key: str
    wanted: str


class NodeAffinityMismatch(Struct, frozen=True):
    """Required node affinity that does not match the node."""

    wanted: NodeSelector


class HostPortConflict(Struct, frozen=True):
    """A host port that another pod of the node uses."""

    port: int
    protocol: str
    pod: str


class TooManyPods(Struct, frozen=True):
    """The node runs as many pods as it may."""

    allowed: Quantity
    running: int


class InsufficientResource(Struct, frozen=True):
    """The node has too little of a resource left."""

    resource: str
    wanted: Quantity
    free: Quantity
    total: Quantity


class MissingTopologyLabel(Struct, frozen=True):
    """The node lacks the topology label of a spread constraint."""

    key: str


class SkewExceeded(Struct, frozen=True):
    """One more pod on the node would exceed the ``maxSkew`` of a spread constraint."""

    key: str
    domain: str
    matching: int
    """The number of matching pods in the node's domain."""
    minimum: int
    """The number of matching pods in the domain that has the fewest."""
    max_skew: int
    emptiest: str = ""
    """The domain with the fewest matching pods."""


class TooFewDomains(Struct, frozen=True):
    """A spread constraint has fewer domains than ``minDomains``, so its minimum counts as zero."""

    key: str
    domain: str
    matching: int
    """The number of matching pods in the node's domain."""
    domains: int
    min_domains: int


class PodAffinityMismatch(Struct, frozen=True):
    """No pod of the node's domain matches the required pod affinity."""

    key: str
    first_match: tuple[str, str] | None
    """The first matching pod on another node, with that node."""
    labels: tuple[tuple[str, str], ...] = ()
    """The labels that the affinity asks for."""
    match_in_other_namespace: str | None = None
    """A pod with these labels in a namespace that the affinity does not name."""


class AntiAffinityConflict(Struct, frozen=True):
    """Anti-affinity between the pod and a pod in the node's domain."""

    pod: str
    theirs: bool
    """True if the anti-affinity is the other pod's."""


class VolumeClaimConflict(Struct, frozen=True):
    """A PersistentVolumeClaim for a single pod (ReadWriteOncePod) that another pod uses."""

    claim: str
    pod: str


class MissingVolume(Struct, frozen=True):
    """A PersistentVolumeClaim is bound to a volume that does not exist."""

    claim: str


class VolumeNodeMismatch(Struct, frozen=True):
    """The volume of a PersistentVolumeClaim is for nodes with other labels."""

    claim: str
    wanted: NodeSelector


class ProvisioningElsewhere(Struct, frozen=True):
    """A PersistentVolumeClaim is being provisioned for another node."""

    claim: str
    node: str


class NoMatchingVolume(Struct, frozen=True):
    """No volume matches a PersistentVolumeClaim on the node, and its StorageClass provisions
    none.
    """

    claim: str
    storage_class: str
    wanted: NodeSelector | None = None
    """The node selector of a volume that would match on other nodes."""


class UnsupportedTopology(Struct, frozen=True):
    """The StorageClass of a PersistentVolumeClaim provisions nothing in the node's topology."""

    claim: str
    storage_class: str


class VolumeZoneMismatch(Struct, frozen=True):
    """A bound volume's topology label that the node does not share."""

    volume: str
    key: str
    values: tuple[str, ...]


class VolumeClaimFault(Struct, frozen=True):
    """A fault of the PersistentVolumeClaim (``namespace/name``) that the plugin's sentence is
    about.
    """

    claim: str
    why: str = ""


UnmetRequirement = (
    CordonedNode
    | NodeNameMismatch
    | NodeListMismatch
    | UntoleratedTaint
    | LabelMismatch
    | NodeAffinityMismatch
    | HostPortConflict
    | TooManyPods
    | InsufficientResource
    | MissingTopologyLabel
    | SkewExceeded
    | TooFewDomains
    | PodAffinityMismatch
    | AntiAffinityConflict
    | VolumeClaimConflict
    | MissingVolume
    | VolumeNodeMismatch
    | ProvisioningElsewhere
    | NoMatchingVolume
    | UnsupportedTopology
    | VolumeZoneMismatch
    | VolumeClaimFault
)


class NodeLabel(Struct, frozen=True):
    """A label of a node, with its value."""

    key: str
    value: str | None
    """The value; None if the node does not have the label."""


class Rejection(Struct, frozen=True):
    """A filter rejects a node."""

    plugin: str
    texts: tuple[str, ...]
    """The plugin's own sentences, one for each requirement that is not met."""
    unresolvable: bool
    """True if evicting pods would not help (UnschedulableAndUnresolvable)."""
    unmet: tuple[UnmetRequirement, ...] = ()
    labels: tuple[NodeLabel, ...] = ()
    """The labels that the node has instead of required ones."""
    resource: str | None = None
    """The first resource that is scarce on the node; None if none is."""
    want: str | None = None
    free: str | None = None
    pods: tuple[str, ...] = ()
    """The pods (``namespace/name``) that conflict with this pod."""


def find_label_mismatches(
    selector: NodeSelector, labels: Mapping[str, str]
) -> tuple[NodeLabel, ...]:
    """Return the labels that a selector compares and that do not match, with the node's values."""
    keys = (
        requirement.key
        for term in selector.node_selector_terms
        for requirement in term.match_expressions
        if requirement.operator in ("In", "Gt", "Lt") and not label_matches(requirement, labels)
    )
    return tuple(NodeLabel(key, labels.get(key)) for key in dict.fromkeys(keys))
