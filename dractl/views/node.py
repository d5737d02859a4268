"""Nodes."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dractl.allocation.nodes import matches_some_term
from dractl.model import NodeSelector, Quantity, Taint
from dractl.model.paths import at, list_at, map_at, maps_at, text_at
from dractl.objects import Raw
from dractl.properties import cached_property
from dractl.views.amounts import quantities
from dractl.views.base import View


def taint(raw: Raw) -> Taint:
    """Read a taint of a node, or of the nodes of a NodePool."""
    return Taint(text_at(raw, "key"), text_at(raw, "value"), text_at(raw, "effect"))


class Node(View):
    """A node."""

    @property
    def unschedulable(self) -> bool:
        """True for a cordoned node."""
        return at(self.spec, "unschedulable") is True

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """``spec.taints``."""
        return tuple(map(taint, maps_at(self.spec, "taints")))

    @property
    def taint_entries(self) -> Sequence[Raw]:
        """``spec.taints`` as written, in the order of :attr:`taints`."""
        return maps_at(self.spec, "taints")

    @cached_property
    def allocatable(self) -> Mapping[str, Quantity]:
        """``status.allocatable``."""
        return quantities(map_at(self.status, "allocatable"))

    @property
    def capacity(self) -> Mapping[str, Any]:
        """``status.capacity`` as written."""
        return map_at(self.status, "capacity")

    @property
    def is_unready(self) -> bool:
        """True if the node's condition Ready is not true, or if its kubelet has stopped reporting
        it.
        """
        return any(
            condition.get("type") == "Ready" and condition.get("status") in ("False", "Unknown")
            for condition in maps_at(self.status, "conditions")
        )

    @property
    def heartbeats(self) -> tuple[str, ...]:
        """The times at which the kubelet last confirmed each condition (RFC 3339)."""
        conditions = maps_at(self.status, "conditions")
        return tuple(text_at(condition, "lastHeartbeatTime") for condition in conditions)

    @property
    def is_registered(self) -> bool:
        """False for a manifest to which no kubelet has added a status: the node's resources are
        unknown.
        """
        return bool(self.allocatable) or bool(self.uid)

    @property
    def kubelet_version(self) -> str:
        """``status.nodeInfo.kubeletVersion``, such as ``v1.37.1``; "" if unknown."""
        return text_at(self.status, "nodeInfo", "kubeletVersion")

    @property
    def kubelet_skips_claims(self) -> bool:
        """True if the kubelet stops preparing a pod's claims at the first claim that is already
        prepared (kubernetes pkg/kubelet/cm/dra/manager.go prepareResources before #135919).

        The versions that match are those whose changelog lacks the correction.
        """
        return re.match(r"v1\.(?:34\.[0-3]|35\.0)(?![0-9])", self.kubelet_version) is not None

    @property
    def kubelet_needs_claim_statuses(self) -> bool:
        """True if the kubelet, when a pod ends, finds the pod's claims only through the pod's
        status (kubernetes pkg/kubelet/cm/dra/manager.go UnprepareResources before #139845).
        """
        minor = re.match(r"v1\.(\d+)\.", self.kubelet_version)
        return minor is not None and int(minor[1]) < 37

    @property
    def kernel_version(self) -> str:
        """``status.nodeInfo.kernelVersion``; "" if unknown."""
        return text_at(self.status, "nodeInfo", "kernelVersion")

    @property
    def container_runtime(self) -> str:
        """``status.nodeInfo.containerRuntimeVersion``, such as ``containerd://2.1.0``; "" if
        unknown.
        """
        return text_at(self.status, "nodeInfo", "containerRuntimeVersion")

    @property
    def os_image(self) -> str:
        """``status.nodeInfo.osImage``, such as ``Ubuntu 24.04.3 LTS``; "" if unknown."""
        return text_at(self.status, "nodeInfo", "osImage")

    @cached_property
    def declared_features(self) -> tuple[str, ...]:
        """The feature gates that the node's kubelet declares."""
        features = list_at(self.raw, "status", "declaredFeatures")
        return tuple([name for name in features if isinstance(name, str)]) if features else ()

    def matches(self, selector: NodeSelector) -> bool:
        """Decide whether a term of node affinity matches; unreadable terms match nothing."""
        return matches_some_term(selector, self.name, self.labels)
