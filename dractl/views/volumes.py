"""PersistentVolumes and the claims to them."""

from collections.abc import Mapping
from typing import Any

from dractl.model import NodeSelector
from dractl.model.paths import at, list_at, maps_at, text_at
from dractl.properties import cached_property
from dractl.views.amounts import quantity
from dractl.views.base import View
from dractl.views.selectors import LabelSelector, label_selector, node_selector

_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_BOUND_ANNOTATION = "pv.kubernetes.io/bind-completed"
_NODE_ANNOTATION = "volume.kubernetes.io/selected-node"
_DEFAULT_CLASS_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_NO_PROVISIONER = "kubernetes.io/no-provisioner"
READ_WRITE_ONCE_POD = "ReadWriteOncePod"
"""The access mode of a claim that only one pod may use."""


class _Storage(View):
    """The fields that claims and volumes have in common."""

    @cached_property
    def class_name(self) -> str:
        """The StorageClass, "" for none."""
        annotation = self.annotations.get(_CLASS_ANNOTATION)
        name = text_at(self.spec, "storageClassName")
        return annotation if isinstance(annotation, str) else name

    @cached_property
    def volume_mode(self) -> str:
        """``spec.volumeMode``: Filesystem or Block."""
        return text_at(self.spec, "volumeMode") or "Filesystem"

    @cached_property
    def access_modes(self) -> frozenset[str]:
        """``spec.accessModes``."""
        return frozenset(map(str, list_at(self.spec, "accessModes")))

    @cached_property
    def attributes_class(self) -> str:
        """``spec.volumeAttributesClassName``."""
        return text_at(self.spec, "volumeAttributesClassName")

    @cached_property
    def phase(self) -> str:
        """``status.phase``; "" for a manifest."""
        return text_at(self.status, "phase")


class PersistentVolumeClaim(_Storage):
    """A claim to a PersistentVolume."""

    @cached_property
    def requested_bytes(self) -> int:
        """The amount of storage that the claim requests, in bytes."""
        return quantity(at(self.spec, "resources", "requests", "storage") or 0).value()

    @cached_property
    def volume_name(self) -> str:
        """The volume that the claim names, "" if none."""
        return text_at(self.spec, "volumeName")

    @property
    def is_bound(self) -> bool:
        """True if the controller has bound the claim to a volume."""
        return bool(self.volume_name) and _BOUND_ANNOTATION in self.annotations

    @property
    def selected_node(self) -> Any:
        """The node for which a volume is being provisioned; None if there is no such node."""
        return self.annotations.get(_NODE_ANNOTATION)

    @cached_property
    def selector(self) -> LabelSelector | None:
        """The labels that a volume must have."""
        return label_selector(at(self.spec, "selector"))


class PersistentVolume(_Storage):
    """A volume of the cluster."""

    @cached_property
    def capacity_bytes(self) -> int:
        """``spec.capacity.storage``."""
        return quantity(at(self.spec, "capacity", "storage") or 0).value()

    @cached_property
    def node_affinity(self) -> NodeSelector | None:
        """The nodes from which the volume can be used; None for all."""
        required = at(self.spec, "nodeAffinity", "required")
        return node_selector(required) if isinstance(required, dict) else None

    @cached_property
    def claim_reference(self) -> Mapping[str, Any] | None:
        """``spec.claimRef``: the claim for which the volume is reserved; None if it is not
        reserved.
        """
        reference = at(self.spec, "claimRef")
        return reference if isinstance(reference, dict) else None

    def is_for(self, claim: PersistentVolumeClaim) -> bool:
        """Decide whether the volume is reserved for a claim (IsVolumeBoundToClaim)."""
        reference = self.claim_reference
        return (
            reference is not None
            and text_at(reference, "name") == claim.name
            and text_at(reference, "namespace") == claim.namespace
            and text_at(reference, "uid") in ("", claim.uid)
        )


class StorageClass(View):
    """A StorageClass."""

    @property
    def provisioner(self) -> str:
        """``provisioner``; "" if the class names none."""
        return text_at(self.raw, "provisioner")

    @property
    def provisions(self) -> bool:
        """True if the class makes volumes for claims."""
        return self.provisioner not in ("", _NO_PROVISIONER)

    @property
    def waits_for_consumer(self) -> bool:
        """True if claims with this class are bound only when a pod that uses them is scheduled."""
        return text_at(self.raw, "volumeBindingMode") == "WaitForFirstConsumer"

    @property
    def is_default(self) -> bool:
        """True if the class is marked as the default for claims that name no class."""
        return any(self.annotations.get(name) == "true" for name in _DEFAULT_CLASS_ANNOTATIONS)

    def allows(self, labels: Mapping[str, Any]) -> bool:
        """Decide whether the class makes volumes for a node with these labels
        (MatchTopologySelectorTerms).
        """
        terms = maps_at(self.raw, "allowedTopologies")
        return not terms or any(
            all(
                labels.get(text_at(expression, "key")) in list_at(expression, "values")
                for expression in maps_at(term, "matchLabelExpressions")
            )
            for term in terms
        )
