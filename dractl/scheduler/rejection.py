"""A node that a filter before DRA refuses, and what the pod wants that the node does not give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dractl.model import NodeSelector, Quantity, Taint


@dataclass(frozen=True, slots=True)
class Cordoned:
    """``spec.unschedulable`` of the node is true."""


@dataclass(frozen=True, slots=True)
class OtherNode:
    """The pod's ``spec.nodeName`` is another node."""

    wanted: str


@dataclass(frozen=True, slots=True)
class OtherNodes:
    """Required node affinity names other nodes."""

    wanted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Untolerated:
    """A taint of the node that the pod does not tolerate."""

    taint: Taint


@dataclass(frozen=True, slots=True)
class LabelUnmet:
    """An entry of the pod's ``nodeSelector`` that the node's labels lack."""

    key: str
    wanted: str


@dataclass(frozen=True, slots=True)
class AffinityUnmet:
    """Required node affinity that does not match the node."""

    wanted: NodeSelector


@dataclass(frozen=True, slots=True)
class PortTaken:
    """A host port that another pod of the node uses."""

    port: int
    protocol: str
    pod: str


@dataclass(frozen=True, slots=True)
class TooManyPods:
    """The node runs as many pods as it may."""

    allowed: Quantity
    running: int


@dataclass(frozen=True, slots=True)
class Insufficient:
    """The node has too little left of a resource."""

    resource: str
    wanted: Quantity
    free: Quantity
    total: Quantity


@dataclass(frozen=True, slots=True)
class NoDomain:
    """The node lacks the topology label of a spread constraint."""

    key: str


@dataclass(frozen=True, slots=True)
class Skewed:
    """A copy here would exceed a spread constraint's ``maxSkew``: matching pods of this domain and of the least."""

    key: str
    domain: str
    here: int
    least: int
    max_skew: int


@dataclass(frozen=True, slots=True)
class TooFewDomains:
    """A spread constraint's ``minDomains`` is not reached, so that the least counts as zero."""

    key: str
    domain: str
    here: int
    domains: int
    min_domains: int


@dataclass(frozen=True, slots=True)
class PodAffinityUnmet:
    """No pod of the node's domain matches the required pod affinity; ``friend`` (pod, node) is the first that does
    elsewhere."""

    key: str
    friend: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class Repelled:
    """Anti-affinity to a pod of the node's domain; ``theirs`` if it is that pod's own."""

    pod: str
    theirs: bool


@dataclass(frozen=True, slots=True)
class ClaimTaken:
    """A PersistentVolumeClaim for one pod only (ReadWriteOncePod) that another pod uses."""

    claim: str
    pod: str


@dataclass(frozen=True, slots=True)
class VolumeMissing:
    """A PersistentVolumeClaim is bound to a volume that does not exist."""

    claim: str


@dataclass(frozen=True, slots=True)
class VolumeElsewhere:
    """The volume of a PersistentVolumeClaim is for nodes with these labels."""

    claim: str
    wanted: NodeSelector


@dataclass(frozen=True, slots=True)
class Provisioning:
    """A PersistentVolumeClaim is being provisioned for another node."""

    claim: str
    node: str


@dataclass(frozen=True, slots=True)
class NoVolume:
    """No volume matches a PersistentVolumeClaim, and its StorageClass provisions none."""

    claim: str
    storage_class: str


@dataclass(frozen=True, slots=True)
class NotProvisionable:
    """The StorageClass of a PersistentVolumeClaim provisions nothing in the node's topology."""

    claim: str
    storage_class: str


@dataclass(frozen=True, slots=True)
class VolumeInZone:
    """A bound volume's topology label that the node does not share."""

    volume: str
    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VolumeClaim:
    """The PersistentVolumeClaim (``namespace/name``) that the plugin's sentence is about."""

    claim: str


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


@dataclass(frozen=True, slots=True)
class NodeLabel:
    """What a node has for a label; ``value`` is None if it has no such label."""

    key: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Rejection:
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
