"""A node that a filter before DRA refuses, and what the pod wants that the node does not give."""

from collections.abc import Mapping

from msgspec import Struct

from dractl.allocation.nodes import label_matches
from dractl.model import NodeSelector, Quantity, Taint


class Cordoned(Struct, frozen=True):
    """``spec.unschedulable`` of the node is true."""


class OtherNode(Struct, frozen=True):
    """The pod's ``spec.nodeName`` is another node."""

    wanted: str


class OtherNodes(Struct, frozen=True):
    """Required node affinity names other nodes."""

    wanted: tuple[str, ...]


class Untolerated(Struct, frozen=True):
    """A taint of the node that the pod does not tolerate."""

    taint: Taint


class LabelUnmet(Struct, frozen=True):
    """An entry of the pod's ``nodeSelector`` that the node's labels lack."""

    key: str
    wanted: str


class AffinityUnmet(Struct, frozen=True):
    """Required node affinity that does not match the node."""

    wanted: NodeSelector


class PortTaken(Struct, frozen=True):
    """A host port that another pod of the node uses."""

    port: int
    protocol: str
    pod: str


class TooManyPods(Struct, frozen=True):
    """The node runs as many pods as it may."""

    allowed: Quantity
    running: int


class Insufficient(Struct, frozen=True):
    """The node has too little left of a resource."""

    resource: str
    wanted: Quantity
    free: Quantity
    total: Quantity


class NoDomain(Struct, frozen=True):
    """The node lacks the topology label of a spread constraint."""

    key: str


class Skewed(Struct, frozen=True):
    """A copy here would exceed a spread constraint's ``maxSkew``: matching pods of this domain and of the least, which
    is ``emptiest``."""

    key: str
    domain: str
    here: int
    least: int
    max_skew: int
    emptiest: str = ""


class TooFewDomains(Struct, frozen=True):
    """A spread constraint's ``minDomains`` is not reached, so that the least counts as zero."""

    key: str
    domain: str
    here: int
    domains: int
    min_domains: int


class PodAffinityUnmet(Struct, frozen=True):
    """No pod of the node's domain matches the required pod affinity; ``friend`` (pod, node) is the first that does
    elsewhere. ``wants`` are the labels that it asks for, and ``stranger`` has them in a namespace that it does not
    name."""

    key: str
    friend: tuple[str, str] | None
    wants: tuple[tuple[str, str], ...] = ()
    stranger: str | None = None


class Repelled(Struct, frozen=True):
    """Anti-affinity to a pod of the node's domain; ``theirs`` if it is that pod's own."""

    pod: str
    theirs: bool


class ClaimTaken(Struct, frozen=True):
    """A PersistentVolumeClaim for one pod only (ReadWriteOncePod) that another pod uses."""

    claim: str
    pod: str


class VolumeMissing(Struct, frozen=True):
    """A PersistentVolumeClaim is bound to a volume that does not exist."""

    claim: str


class VolumeElsewhere(Struct, frozen=True):
    """The volume of a PersistentVolumeClaim is for nodes with these labels."""

    claim: str
    wanted: NodeSelector


class Provisioning(Struct, frozen=True):
    """A PersistentVolumeClaim is being provisioned for another node."""

    claim: str
    node: str


class NoVolume(Struct, frozen=True):
    """No volume matches a PersistentVolumeClaim here, and its StorageClass provisions none. ``wanted`` are the nodes of
    a volume that would match."""

    claim: str
    storage_class: str
    wanted: NodeSelector | None = None


class NotProvisionable(Struct, frozen=True):
    """The StorageClass of a PersistentVolumeClaim provisions nothing in the node's topology."""

    claim: str
    storage_class: str


class VolumeInZone(Struct, frozen=True):
    """A bound volume's topology label that the node does not share."""

    volume: str
    key: str
    values: tuple[str, ...]


class VolumeClaim(Struct, frozen=True):
    """The PersistentVolumeClaim (``namespace/name``) that the plugin's sentence is about, and why it is so."""

    claim: str
    why: str = ""


Unmet = (
    Cordoned
    | OtherNode
    | OtherNodes
    | Untolerated
    | LabelUnmet
    | AffinityUnmet
    | PortTaken
    | TooManyPods
    | Insufficient
    | NoDomain
    | Skewed
    | TooFewDomains
    | PodAffinityUnmet
    | Repelled
    | ClaimTaken
    | VolumeMissing
    | VolumeElsewhere
    | Provisioning
    | NoVolume
    | NotProvisionable
    | VolumeInZone
    | VolumeClaim
)


class NodeLabel(Struct, frozen=True):
    """A node's value of a label; ``value`` is None if it has no such label."""

    key: str
    value: str | None


def instead(wanted: NodeSelector, labels: Mapping[str, str]) -> tuple[NodeLabel, ...]:
    """The values of a node with ``labels`` for those of which a selector wants certain values, or numbers."""
    unmet = (
        each.key
        for term in wanted.node_selector_terms
        for each in term.match_expressions
        if each.operator in ("In", "Gt", "Lt") and not label_matches(each, labels)
    )
    return tuple(NodeLabel(key, labels.get(key)) for key in dict.fromkeys(unmet))


class Rejection(Struct, frozen=True):
    """A filter refuses a node.

    ``texts`` are the plugin's own sentences, one for each thing missing. ``final``: evicting pods would not help
    (UnschedulableAndUnresolvable). ``unmet`` is what the pod wants or meets, ``labels`` what the node has instead of
    unmet labels. ``pods`` (``namespace/name``) stand in the way.
    """

    plugin: str
    texts: tuple[str, ...]
    final: bool
    unmet: tuple[Unmet, ...] = ()
    labels: tuple[NodeLabel, ...] = ()
    resource: str | None = None
    want: str | None = None
    free: str | None = None
    pods: tuple[str, ...] = ()
