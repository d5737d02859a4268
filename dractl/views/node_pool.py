"""NodePools and NodeClaims of Karpenter (karpenter.sh/v1)."""

from collections.abc import Mapping

from dractl.model import NodeSelectorRequirement, Quantity, Taint
from dractl.model.paths import integer_at, map_at, maps_at, text_at
from dractl.properties import cached_property
from dractl.views.amounts import quantity
from dractl.views.base import View
from dractl.views.node import taint
from dractl.views.selectors import requirement

POOL_LABEL = "karpenter.sh/nodepool"
"""The label with the NodePool of a node or NodeClaim."""

NODE_POOL_KINDS = {"nodepools.karpenter.sh": "NodePool", "nodeclaims.karpenter.sh": "NodeClaim"}
"""The resources of Karpenter that are read, and their kinds."""


class NodePool(View):
    """A NodePool: the nodes that Karpenter may launch."""

    @cached_property
    def requirements(self) -> tuple[NodeSelectorRequirement, ...]:
        """``spec.template.spec.requirements``."""
        return tuple(map(requirement, maps_at(self.spec, "template", "spec", "requirements")))

    @cached_property
    def min_values(self) -> Mapping[str, int]:
        """``minValues`` by label: how many values of the label the remaining instance types must
        have.
        """
        entries = maps_at(self.spec, "template", "spec", "requirements")
        return {
            text_at(entry, "key"): least
            for entry in entries
            if (least := integer_at(entry, "minValues")) is not None
        }

    @property
    def weight(self) -> int:
        """``spec.weight``: Karpenter tries the NodePool with the highest weight first."""
        return integer_at(self.spec, "weight") or 0

    @property
    def is_static(self) -> bool:
        """True if the NodePool has a fixed number of nodes (``spec.replicas``), independent of
        waiting pods.
        """
        return integer_at(self.spec, "replicas") is not None

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """Taints that the nodes of the NodePool keep (startup taints are removed before pods are
        placed).
        """
        return tuple(map(taint, maps_at(self.spec, "template", "spec", "taints")))

    @cached_property
    def node_labels(self) -> Mapping[str, str]:
        """Labels of the nodes of the NodePool, including the label with its name."""
        labels = map_at(self.spec, "template", "metadata", "labels")
        return {**{key: str(value) for key, value in labels.items()}, POOL_LABEL: self.name}

    @cached_property
    def limits(self) -> Mapping[str, Quantity]:
        """``spec.limits``: the maximum amounts for all nodes of the NodePool together."""
        return {name: quantity(value) for name, value in map_at(self.spec, "limits").items()}

    @cached_property
    def resources(self) -> Mapping[str, Quantity]:
        """``status.resources``: the amounts of the present nodes of the NodePool."""
        return {name: quantity(value) for name, value in map_at(self.status, "resources").items()}

    @property
    def provider(self) -> str:
        """The API group of the NodePool's node class, such as ``karpenter.k8s.aws``."""
        return text_at(self.spec, "template", "spec", "nodeClassRef", "group")


class NodeClaim(View):
    """A NodeClaim: a node that Karpenter launches or has launched."""

    @property
    def pool(self) -> str:
        """The name of the NodePool that the NodeClaim belongs to."""
        return str(self.labels.get(POOL_LABEL, ""))

    @property
    def node_name(self) -> str:
        """The name of the NodeClaim's node; "" as long as there is no node."""
        return text_at(self.status, "nodeName")

    @property
    def is_on_the_way(self) -> bool:
        """True until the node is initialized: until then, Karpenter counts on the devices of the
        instance type.
        """
        if self.deletion_timestamp:
            return False
        initialized = self.condition("Initialized")
        return initialized.status != "True" if initialized.type else not self.node_name

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """Taints that the NodeClaim's node keeps."""
        return tuple(map(taint, maps_at(self.spec, "taints")))

    @cached_property
    def allocatable(self) -> Mapping[str, Quantity]:
        """``status.allocatable``: the amounts that the node will have."""
        return {name: quantity(value) for name, value in map_at(self.status, "allocatable").items()}
