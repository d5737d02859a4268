"""The volumes of a pod, as VolumeRestrictions, VolumeBinding and VolumeZone see them.

kubernetes pkg/scheduler/framework/plugins/volumerestrictions, volumebinding, volumezone;
k8s.io/component-helpers/storage/volume/pv_helpers.go. Not checked, since their objects are not
read: limits of CSI drivers (CSINode), storage capacity (CSIStorageCapacity), and disks of in-tree
drivers.
"""

from collections.abc import Sequence, Set as AbstractSet

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation.nodes import matches_some_term
from dractl.cluster.derived import derive_from
from dractl.cluster.state import ClusterState, Key
from dractl.model import NodeSelector
from dractl.objects import Raw
from dractl.properties import cached_property
from dractl.scheduler.rejection import (
    MissingVolume,
    NoMatchingVolume,
    ProvisioningElsewhere,
    Rejection,
    UnmetRequirement,
    UnsupportedTopology,
    VolumeClaimConflict,
    VolumeNodeMismatch,
    VolumeZoneMismatch,
    find_label_mismatches,
)
from dractl.scheduler.snapshot import NodeInfo, Snapshot
from dractl.scheduler.stops import Stop
from dractl.views import Pod
from dractl.views.pod import VolumeClaimReference
from dractl.views.volumes import (
    READ_WRITE_ONCE_POD,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)

_AVAILABLE_PHASES = ("Available", "")
"""The phases of a volume that may be bound; a manifest has no phase."""
_TOPOLOGY_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}
"""Labels of volumes and nodes about their location, each with the label that replaces it."""


class VolumeUnusable(Stop, frozen=True):
    """A PersistentVolumeClaim of the pod cannot be used on any node."""

    plugin: str
    volume_claim: Key
    text: str
    """The plugin's message."""
    claim: Raw | None = None
    """The claim, if it exists or will be made."""


class _ClaimUser(Struct, frozen=True):
    """A pod that uses a claim, both as ``namespace/name``."""

    claim: str
    pod: str


class _VolumeZone(Struct, frozen=True):
    """A label of a volume about its location."""

    volume: str
    key: str
    values: frozenset[str]


class Volumes:
    """The PersistentVolumeClaims of one pod."""

    def __init__(self, snapshot: Snapshot, pod: Pod) -> None:
        self.state = snapshot.state
        self.snapshot = snapshot
        self.pod = pod
        self.are_known = True
        """False if the input lacks objects, so that some volume cannot be judged."""
        self.stop: VolumeUnusable | None = None
        self.bound: list[PersistentVolumeClaim] = []
        self.delayed: list[PersistentVolumeClaim] = []
        """The claims that are bound when a pod that uses them is scheduled."""
        if pod.volume_claims:
            self._resolve()

    # -- PreFilter -------------------------------------------------------------------------------

    def _resolve(self) -> None:
        """Look up all claims (podHasPVCs), then sort them by how they are bound.

        GetPodVolumeClaims.
        """
        claims: list[PersistentVolumeClaim] = []
        created: set[str] = set()
        shows_missing = self.state.shows("PersistentVolumeClaim", self.pod.namespace)
        for reference in self.pod.volume_claims:
            claim = self._look_up(reference)
            if not claim.exists and not shows_missing:
                self.are_known = False
                return
            if not claim.exists and reference.template is not None and not self._is_created:
                claim = self._create(reference.name, reference.template)
                created.add(reference.name)
            fault = self._fault(claim, reference)
            if fault:
                key = (self.pod.namespace, reference.name)
                self.stop = VolumeUnusable("VolumeBinding", key, fault)
                return
            claims.append(claim)
        for claim in claims:
            if not self._sort(claim, is_created=claim.name in created):
                text = "pod has unbound immediate PersistentVolumeClaims"
                key = (self.pod.namespace, claim.name)
                self.stop = VolumeUnusable("VolumeBinding", key, text, claim.raw)
                return

    @property
    def _is_created(self) -> bool:
        """True if the pod is in the cluster already, so that its controllers have seen it."""
        return bool(self.pod.creation_timestamp)

    def _look_up(self, reference: VolumeClaimReference) -> PersistentVolumeClaim:
        key = (self.pod.namespace, reference.name)
        return PersistentVolumeClaim(self.state.get("PersistentVolumeClaim", key), key)

    def _create(self, name: str, template: Raw) -> PersistentVolumeClaim:
        """Return the claim that a controller makes for a pod that the cluster does not have yet.

        The claim gets the default StorageClass if the template names none (kubernetes
        plugin/pkg/admission/storage/storageclass/setdefault).
        """
        view = PersistentVolumeClaim(template)
        spec = view.spec
        if "storageClassName" not in spec:
            spec = {**spec, "storageClassName": _default_class(self.state)}
        metadata = {**view.metadata, "name": name, "namespace": self.pod.namespace}
        return PersistentVolumeClaim({"metadata": metadata, "spec": spec})

    def _fault(self, claim: PersistentVolumeClaim, reference: VolumeClaimReference) -> str:
        """Return why a claim cannot be used at all, in the scheduler's words; "" if it can."""
        name, pod = reference.name, self.pod
        is_ephemeral = reference.template is not None
        if not claim.exists and is_ephemeral:
            return (
                "waiting for ephemeral volume controller to create the persistentvolumeclaim "
                f'"{name}"'
            )
        if not claim.exists:
            return f'persistentvolumeclaim "{name}" not found'
        if claim.phase == "Lost":
            volume = claim.volume_name
            return (
                f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
            )
        if claim.deletion_timestamp:
            return f'persistentvolumeclaim "{name}" is being deleted'
        if is_ephemeral and self._is_created and pod.uid not in {o.uid for o in claim.owners}:
            return (
                f"PVC {pod.namespace}/{name} was not created for pod {pod.full_name} "
                "(pod is not owner)"
            )
        return ""

    def _sort(self, claim: PersistentVolumeClaim, *, is_created: bool) -> bool:
        """Sort a claim by how it is bound. Return False for a claim without a volume that should
        have one already.
        """
        if claim.is_bound:
            self.bound.append(claim)
            self.are_known = self.are_known and self.state.covers("PersistentVolume")
        elif self._is_delayed(claim):
            self.delayed.append(claim)
        elif is_created and self._storage_class(claim).exists:
            # The claim is bound immediately, and it is unknown where its volume is
            self.are_known = False
        else:
            return False
        return True

    def _is_delayed(self, claim: PersistentVolumeClaim) -> bool:
        """Decide whether the claim is bound only when a pod that uses it is scheduled.

        IsDelayBindingMode.
        """
        if claim.volume_name:
            return False
        storage_class = self._storage_class(claim)
        has_classes = self.state.covers("StorageClass")
        if claim.class_name and not storage_class.exists and not has_classes:
            self.are_known = False
            return True
        return storage_class.waits_for_consumer

    def _storage_class(self, claim: PersistentVolumeClaim) -> StorageClass:
        return StorageClass(self.state.get("StorageClass", ("", claim.class_name)))

    # -- VolumeRestrictions ----------------------------------------------------------------------

    def check_restrictions(self, node: NodeInfo) -> Rejection | None:
        """Reject every node if another pod uses a claim with the access mode ReadWriteOncePod."""
        del node
        user = self._other_user if self.are_known else None
        if user is None:
            return None
        text = (
            "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
            "already in-use by another pod"
        )
        unmet = VolumeClaimConflict(user.claim, user.pod)
        return Rejection("VolumeRestrictions", (text,), False, (unmet,), pods=(user.pod,))

    @cached_property
    def _other_user(self) -> _ClaimUser | None:
        """Return another pod that uses a claim which only one pod may use."""
        names = {
            claim.name
            for claim in (*self.bound, *self.delayed)
            if READ_WRITE_ONCE_POD in claim.access_modes
        }
        if not names:
            return None
        for node in self.snapshot.nodes.values():
            for other in node.pods:
                if other is self.pod or other.namespace != self.pod.namespace:
                    continue
                for reference in other.volume_claims:
                    if reference.name in names:
                        return _ClaimUser(f"{other.namespace}/{reference.name}", other.full_name)
        return None

    # -- VolumeBinding ---------------------------------------------------------------------------

    def check_binding(self, node: NodeInfo) -> Rejection | None:
        """Reject a node on which bound volumes cannot be used, or on which the other claims cannot
        get a volume.
        """
        if not self.are_known:
            return None
        rejection = self._check_bound(node)
        shortage = self._unbindable(node)
        if shortage is None:
            return rejection
        text = "node(s) didn't find available persistent volumes to bind"
        if rejection is None:
            return Rejection("VolumeBinding", (text,), True, (shortage,))
        return replace(
            rejection, texts=(*rejection.texts, text), unmet=(*rejection.unmet, shortage)
        )

    def _check_bound(self, node: NodeInfo) -> Rejection | None:
        for claim in self.bound:
            volume = self._volume(claim)
            if not volume.exists:
                text = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
                return Rejection("VolumeBinding", (text,), True, (MissingVolume(claim.name),))
            if not _is_reachable(volume, node):
                text = "node(s) didn't match PersistentVolume's node affinity"
                affinity = volume.node_affinity or NodeSelector()
                unmet = VolumeNodeMismatch(claim.name, affinity)
                labels = find_label_mismatches(affinity, node.labels)
                return Rejection("VolumeBinding", (text,), True, (unmet,), labels)
        return None

    def _volume(self, claim: PersistentVolumeClaim) -> PersistentVolume:
        return PersistentVolume(self.state.get("PersistentVolume", ("", claim.volume_name)))

    def _unbindable(self, node: NodeInfo) -> UnmetRequirement | None:
        """Return why a claim that waits for its first consumer cannot be bound on the node; None if
        every such claim can.

        FindPodVolumes.
        """
        to_match: list[PersistentVolumeClaim] = []
        to_provision: list[PersistentVolumeClaim] = []
        for claim in self.delayed:
            if claim.selected_node is None:
                to_match.append(claim)
            elif claim.selected_node == node.name:
                to_provision.append(claim)
            else:
                return ProvisioningElsewhere(claim.name, str(claim.selected_node))
        chosen: set[str] = set()
        for claim in sorted(to_match, key=lambda claim: claim.requested_bytes):
            volume = self._match(claim, node, chosen)
            if volume is None:
                to_provision.append(claim)
            else:
                chosen.add(volume.name)
        for claim in to_provision:
            storage_class = self._storage_class(claim)
            if not storage_class.provisions:
                elsewhere = self._match(claim, None, chosen)
                affinity = None if elsewhere is None else elsewhere.node_affinity or NodeSelector()
                return NoMatchingVolume(claim.name, claim.class_name, affinity)
            if not storage_class.allows(node.labels):
                return UnsupportedTopology(claim.name, claim.class_name)
        return None

    def _match(
        self, claim: PersistentVolumeClaim, node: NodeInfo | None, chosen: AbstractSet[str]
    ) -> PersistentVolume | None:
        """Return the volume that is reserved for a claim, or the smallest one that fits it.

        FindMatchingVolume.

        Without ``node``, the volume may be anywhere.
        """
        smallest: PersistentVolume | None = None
        for volume in _volumes(self.state):
            if volume.name in chosen or not _may_match(volume, claim):
                continue
            is_reachable = node is None or _is_reachable(volume, node)
            if volume.claim_reference is not None:
                return volume if is_reachable else None
            if not is_reachable or not _suits(volume, claim):
                continue
            if smallest is None or volume.capacity_bytes < smallest.capacity_bytes:
                smallest = volume
        return smallest

    # -- VolumeZone ------------------------------------------------------------------------------

    def check_zone(self, node: NodeInfo) -> Rejection | None:
        """Reject a node whose topology labels differ from a bound volume's; a node without any such
        label fits.
        """
        if not self.are_known or not any(key in node.labels for key in _TOPOLOGY_LABELS):
            return None
        for zone in self._zones:
            value = node.labels.get(zone.key) or node.labels.get(_TOPOLOGY_LABELS[zone.key])
            if value not in zone.values:
                unmet = VolumeZoneMismatch(zone.volume, zone.key, tuple(sorted(zone.values)))
                text = "node(s) had no available volume zone"
                return Rejection("VolumeZone", (text,), True, (unmet,))
        return None

    @cached_property
    def _zones(self) -> Sequence[_VolumeZone]:
        """The topology labels of the pod's bound volumes."""
        return [
            _VolumeZone(claim.volume_name, key, frozenset(str(labels[key]).split("__")))
            for claim in self.bound
            for labels in [self._volume(claim).labels]
            for key in _TOPOLOGY_LABELS
            if key in labels
        ]


@derive_from("PersistentVolume")
def _volumes(state: ClusterState) -> Sequence[PersistentVolume]:
    return [PersistentVolume(raw) for raw in state.objects("PersistentVolume").values()]


def _default_class(state: ClusterState) -> str:
    """Return the name of the newest default StorageClass; "" without one.

    pkg/volume/util GetDefaultClass.
    """
    classes = (StorageClass(raw, key) for key, raw in state.objects("StorageClass").items())
    defaults = [(each.creation_timestamp, each.key[1]) for each in classes if each.is_default]
    newest = max((created for created, _ in defaults), default="")
    return min((name for created, name in defaults if created == newest), default="")


def _may_match(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Decide whether a volume can be bound to a claim, as far as the two specs determine it."""
    return (
        not volume.deletion_timestamp
        and (volume.claim_reference is None or volume.is_for(claim))
        and volume.capacity_bytes >= claim.requested_bytes
        and volume.volume_mode == claim.volume_mode
        and volume.attributes_class == claim.attributes_class
        and volume.class_name == claim.class_name
    )


def _suits(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Decide whether a volume that is not reserved for a claim is free and meets the demands of a
    claim.
    """
    return (
        volume.phase in _AVAILABLE_PHASES
        and (claim.selector is None or claim.selector.matches(volume.labels))
        and claim.access_modes <= volume.access_modes
    )


def _is_reachable(volume: PersistentVolume, node: NodeInfo) -> bool:
    """Decide whether the node affinity of a volume allows the node (CheckNodeAffinity compares only
    labels).
    """
    affinity = volume.node_affinity
    return affinity is None or matches_some_term(affinity, "", node.labels)
