"""The volumes of a pod, as VolumeRestrictions, VolumeBinding and VolumeZone see them.

kubernetes pkg/scheduler/framework/plugins/volumerestrictions, volumebinding, volumezone;
k8s.io/component-helpers/storage/volume/pv_helpers.go. Not checked, since their objects are not read: limits of CSI
drivers (CSINode), storage capacity (CSIStorageCapacity), and disks of in-tree drivers.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct

from dractl.allocation.nodes import some_term_matches
from dractl.cluster.state import ClusterState, Key, at, list_at, map_at, maps_at, text_at
from dractl.model import NodeSelector
from dractl.objects import Raw
from dractl.scheduler.rejection import (
    ClaimTaken,
    NodeLabel,
    NotProvisionable,
    NoVolume,
    Provisioning,
    Rejection,
    Unmet,
    VolumeElsewhere,
    VolumeInZone,
    VolumeMissing,
    instead,
)
from dractl.scheduler.snapshot import NodeInfo, Snapshot
from dractl.scheduler.stops import Stop
from dractl.views import Pod
from dractl.views.amounts import quantity
from dractl.views.selectors import label_selector, node_selector

_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_BOUND = "pv.kubernetes.io/bind-completed"
_SELECTED_NODE = "volume.kubernetes.io/selected-node"
_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_FREE = ("Available", "")  # a manifest has no phase yet
_ONE_POD = "ReadWriteOncePod"
_ZONES = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}


class VolumeUnusable(Stop, frozen=True):
    """A PersistentVolumeClaim of the pod cannot be used on any node; ``text`` is the plugin's message, ``claim`` the
    object, if there is one or one will be made."""

    plugin: str
    volume_claim: Key
    text: str
    claim: Raw | None = None


class Zone(Struct, frozen=True):
    """A label of a volume that says where it is."""

    volume: str
    key: str
    values: frozenset[str]


class Storage(Struct, frozen=True):
    """A PersistentVolumeClaim or a PersistentVolume, typed: of a claim ``size`` are the bytes that it asks for and
    ``volume`` is the volume that it names."""

    value: Raw
    name: str
    namespace: str
    uid: str
    class_name: str
    size: int
    mode: str
    access: frozenset[str]
    attributes_class: str
    labels: Mapping[str, Any]
    phase: str
    deleted: bool
    volume: str

    @property
    def annotations(self) -> Mapping[str, Any]:
        return map_at(self.value, "metadata", "annotations")


def _storage(value: Raw) -> Storage:
    metadata, spec = map_at(value, "metadata"), map_at(value, "spec")
    annotated = map_at(metadata, "annotations").get(_CLASS)
    size = at(spec, "capacity", "storage") or at(spec, "resources", "requests", "storage") or 0
    return Storage(
        value,
        name=text_at(metadata, "name"),
        namespace=text_at(metadata, "namespace"),
        uid=text_at(metadata, "uid"),
        class_name=annotated if isinstance(annotated, str) else text_at(spec, "storageClassName"),
        size=quantity(size).value(),
        mode=text_at(spec, "volumeMode") or "Filesystem",
        access=frozenset(map(str, list_at(spec, "accessModes"))),
        attributes_class=text_at(spec, "volumeAttributesClassName"),
        labels=map_at(metadata, "labels"),
        phase=text_at(value, "status", "phase"),
        deleted=bool(text_at(metadata, "deletionTimestamp")),
        volume=text_at(spec, "volumeName"),
    )


class Volumes:
    """The PersistentVolumeClaims of one pod. ``known`` is false if the input has no such objects, so that nothing can
    be said of some volume."""

    def __init__(self, snapshot: Snapshot, pod: Pod) -> None:
        self.state = snapshot.state
        self.snapshot = snapshot
        self.pod = pod
        self.known = True
        self.stop: VolumeUnusable | None = None
        self.bound: list[Storage] = []
        self.delayed: list[Storage] = []
        self.names = claim_names(pod)
        if self.names:
            self._resolve()

    def _resolve(self) -> None:
        """PreFilter of VolumeBinding: podHasPVCs, then GetPodVolumeClaims."""
        if not self.state.listed("PersistentVolumeClaim"):
            self.known = False
            return
        found: list[Storage] = []
        made: set[str] = set()
        for name, template in self.names:
            value = self.state.get("PersistentVolumeClaim", (self.pod.namespace, name))
            if value is None and template is not None and not self.pod.creation_timestamp:
                value = self._made(name, template)
                made.add(name)
            claim = None if value is None else _storage(value)
            fault = _fault(claim, name, ephemeral=template is not None, pod=self.pod)
            if claim is None or fault:
                self.stop = self.stop or VolumeUnusable(
                    "VolumeBinding", (self.pod.namespace, name), fault
                )
                return
            found.append(claim)
        for claim in found:
            if claim.volume and _BOUND in claim.annotations:
                self.bound.append(claim)
                self.known = self.known and self.state.listed("PersistentVolume")
            elif self._waits(claim):
                self.delayed.append(claim)
            elif (
                claim.name in made
                and self.state.get("StorageClass", ("", claim.class_name)) is not None
            ):
                self.known = (
                    False  # it is bound at once, and where its volume will be nobody knows yet
                )
            else:
                fault = "pod has unbound immediate PersistentVolumeClaims"
                self.stop = VolumeUnusable(
                    "VolumeBinding", (self.pod.namespace, claim.name), fault, claim.value
                )
                return

    def _made(self, name: str, template: Raw) -> Raw:
        """The claim that a controller makes for a pod that the cluster does not have yet, of the default StorageClass
        where the template names none (kubernetes plugin/pkg/admission/storage/storageclass/setdefault)."""
        spec = map_at(template, "spec")
        if "storageClassName" not in spec:
            spec = {**spec, "storageClassName": _default_class(self.state)}
        return {
            "metadata": {
                **map_at(template, "metadata"),
                "name": name,
                "namespace": self.pod.namespace,
            },
            "spec": spec,
        }

    def _waits(self, claim: Storage) -> bool:
        """True if the claim is bound when a pod that uses it is scheduled (IsDelayBindingMode)."""
        if claim.volume:
            return False
        found = self.state.get("StorageClass", ("", claim.class_name))
        if found is None and claim.class_name and not self.state.listed("StorageClass"):
            self.known = False
            return True
        return text_at(found, "volumeBindingMode") == "WaitForFirstConsumer"

    # -- filters ------------------------------------------------------------------------------------------------------

    def restrictions(self, node: NodeInfo) -> Rejection | None:
        """A claim with the access mode ReadWriteOncePod that another pod uses, on whichever node."""
        del node
        if not self.known or not self.taken:
            return None
        text = (
            "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
            "another pod"
        )
        claim, other = self.taken
        return Rejection(
            "VolumeRestrictions", (text,), False, (ClaimTaken(claim, other),), pods=(other,)
        )

    @cached_property
    def taken(self) -> tuple[str, str] | None:
        """A claim of the pod that only one pod may use, and the pod that uses it."""
        names = {claim.name for claim in (*self.bound, *self.delayed) if _ONE_POD in claim.access}
        if not names:
            return None
        for node in self.snapshot.nodes.values():
            for other in node.pods:
                if other is self.pod or other.namespace != self.pod.namespace:
                    continue
                for name, _ in claim_names(other):
                    if name in names:
                        return f"{self.pod.namespace}/{name}", other.full_name
        return None

    def binding(self, node: NodeInfo) -> Rejection | None:
        """VolumeBinding: bound volumes must be usable from the node, for the others it must have or get one."""
        if not self.known:
            return None
        texts: list[str] = []
        unmet: list[Unmet] = []
        labels: tuple[NodeLabel, ...] = ()
        for claim in self.bound:
            name = claim.name
            volume = self.state.get("PersistentVolume", ("", claim.volume))
            if volume is None:
                texts.append(
                    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
                )
                unmet.append(VolumeMissing(name))
                break
            if not _reachable(volume, node):
                texts.append("node(s) didn't match PersistentVolume's node affinity")
                wanted = node_selector(map_at(volume, "spec", "nodeAffinity", "required"))
                unmet.append(VolumeElsewhere(name, wanted))
                labels = instead(wanted, node.labels)
                break
        lacking = self._unbindable(node)
        if lacking is not None:
            texts.append("node(s) didn't find available persistent volumes to bind")
            unmet.append(lacking)
        return (
            Rejection("VolumeBinding", tuple(texts), True, tuple(unmet), labels) if texts else None
        )

    def _unbindable(self, node: NodeInfo) -> Unmet | None:
        """Why a claim that waits for its first consumer cannot be bound on the node (FindPodVolumes)."""
        to_match: list[Storage] = []
        to_provision: list[Storage] = []
        for claim in self.delayed:
            selected = claim.annotations.get(_SELECTED_NODE)
            if selected is None:
                to_match.append(claim)
            elif selected == node.name:
                to_provision.append(claim)
            else:
                return Provisioning(claim.name, str(selected))
        chosen: set[str] = set()
        to_match.sort(key=lambda claim: claim.size)
        for claim in to_match:
            volume = self._match(claim, node, chosen)
            if volume is None:
                to_provision.append(claim)
            else:
                chosen.add(volume.name)
        for claim in to_provision:
            name, class_name = claim.name, claim.class_name
            found = self.state.get("StorageClass", ("", class_name))
            if text_at(found, "provisioner") in ("", _NO_PROVISIONER):
                return NoVolume(name, class_name, self._elsewhere(claim, chosen))
            if not _provisionable(found, node):
                return NotProvisionable(name, class_name)
        return None

    @cached_property
    def offered(self) -> Sequence[Storage]:
        """The volumes of the cluster."""
        return [_storage(value) for value in self.state.all("PersistentVolume").values()]

    def _elsewhere(self, claim: Storage, chosen: set[str]) -> NodeSelector | None:
        """The nodes of a volume that would fit a claim there."""
        volume = self._match(claim, None, chosen)
        return (
            None
            if volume is None
            else node_selector(map_at(volume.value, "spec", "nodeAffinity", "required"))
        )

    def _match(self, claim: Storage, node: NodeInfo | None, chosen: set[str]) -> Storage | None:
        """The smallest volume that fits a claim, or the one that is meant for it (FindMatchingVolume); without
        ``node`` on any."""
        best: Storage | None = None
        for volume in self.offered:
            if volume.name in chosen or volume.deleted:
                continue
            reference = at(volume.value, "spec", "claimRef")
            meant = isinstance(reference, dict) and _refers(reference, claim)
            if isinstance(reference, dict) and not meant:
                continue
            if volume.size < claim.size or volume.mode != claim.mode:
                continue
            if (
                volume.attributes_class != claim.attributes_class
                or volume.class_name != claim.class_name
            ):
                continue
            if meant:
                return volume if node is None or _reachable(volume.value, node) else None
            if volume.phase not in _FREE or not _selects(claim, volume):
                continue
            if not claim.access <= volume.access or not (
                node is None or _reachable(volume.value, node)
            ):
                continue
            if best is None or volume.size < best.size:
                best = volume
        return best

    def zone(self, node: NodeInfo) -> Rejection | None:
        """VolumeZone: labels of bound volumes against those of the node; a node without any such label fits."""
        if not self.known or not any(key in node.labels for key in _ZONES):
            return None
        for zone in self.zones:
            value = node.labels.get(zone.key) or node.labels.get(_ZONES[zone.key])
            if value not in zone.values:
                text = "node(s) had no available volume zone"
                there = VolumeInZone(zone.volume, zone.key, tuple(sorted(zone.values)))
                return Rejection("VolumeZone", (text,), True, (there,))
        return None

    @cached_property
    def zones(self) -> Sequence[Zone]:
        """The topology labels of the pod's bound volumes."""
        found: list[Zone] = []
        for claim in self.bound:
            labels = map_at(
                self.state.get("PersistentVolume", ("", claim.volume)), "metadata", "labels"
            )
            found += [
                Zone(claim.volume, key, frozenset(str(labels[key]).split("__")))
                for key in _ZONES
                if key in labels
            ]
        return found


def claim_names(pod: Pod) -> list[tuple[str, Raw | None]]:
    """The names of the PersistentVolumeClaims of a pod, each with the template of which it is made for an ephemeral
    volume."""
    found: list[tuple[str, Raw | None]] = []
    for volume in maps_at(pod.spec, "volumes"):
        if isinstance(volume.get("persistentVolumeClaim"), dict):
            # Of a StatefulSet's replica that is to be made, it has a template, too.
            template = at(volume, "ephemeral", "volumeClaimTemplate")
            found.append((text_at(volume, "persistentVolumeClaim", "claimName"), template))
        elif isinstance(volume.get("ephemeral"), dict):
            template = at(volume, "ephemeral", "volumeClaimTemplate") or {}
            found.append((f"{pod.name}-{text_at(volume, 'name')}", template))
    return found


def _default_class(state: ClusterState) -> str:
    """The name of the newest default StorageClass; empty without one (kubernetes pkg/volume/util GetDefaultClass)."""
    marked = [
        (text_at(value, "metadata", "creationTimestamp"), key[1])
        for key, value in state.all("StorageClass").items()
        if any(map_at(value, "metadata", "annotations").get(name) == "true" for name in _DEFAULT)
    ]
    newest = max((created for created, _ in marked), default="")
    return min((name for created, name in marked if created == newest), default="")


def _fault(claim: Storage | None, name: str, *, ephemeral: bool, pod: Pod) -> str:
    """Why a claim cannot be used at all, in the scheduler's words; "" if it can."""
    if claim is None:
        if ephemeral:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        return f'persistentvolumeclaim "{name}" not found'
    if claim.phase == "Lost":
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{claim.volume}"'
    if claim.deleted:
        return f'persistentvolumeclaim "{name}" is being deleted'
    owners = maps_at(claim.value, "metadata", "ownerReferences")
    if (
        ephemeral
        and pod.creation_timestamp
        and not any(text_at(owner, "uid") == pod.uid for owner in owners)
    ):
        return (
            f"PVC {pod.namespace}/{name} was not created for pod {pod.full_name} (pod is not owner)"
        )
    return ""


def _refers(reference: Raw, claim: Storage) -> bool:
    """True if a volume's claimRef means the claim (IsVolumeBoundToClaim)."""
    if (text_at(reference, "name"), text_at(reference, "namespace")) != (
        claim.name,
        claim.namespace,
    ):
        return False
    return text_at(reference, "uid") in ("", claim.uid)


def _selects(claim: Storage, volume: Storage) -> bool:
    selector = label_selector(at(claim.value, "spec", "selector"))
    return selector is None or selector.matches(volume.labels)


def _reachable(volume: Raw, node: NodeInfo) -> bool:
    """True if the node affinity of a volume allows the node (CheckNodeAffinity looks at labels only)."""
    required = at(volume, "spec", "nodeAffinity", "required")
    if not isinstance(required, dict):
        return True
    return some_term_matches(node_selector(required), "", node.labels)


def _provisionable(storage_class: Raw | None, node: NodeInfo) -> bool:
    """True if a class makes volumes for the node's topology (MatchTopologySelectorTerms)."""
    terms = maps_at(storage_class, "allowedTopologies")
    return not terms or any(
        all(
            node.labels.get(text_at(e, "key")) in list_at(e, "values")
            for e in maps_at(term, "matchLabelExpressions")
        )
        for term in terms
    )
