"""Pods that are scheduled together: PodGroups and Workloads of Kubernetes, and PodGroups of
scheduler-plugins.

kubernetes staging/src/k8s.io/api/scheduling (v1alpha1 of 1.35, v1alpha2 of 1.36, v1alpha3 and
v1beta1 of 1.37; gate GenericWorkload) and pkg/scheduler/framework/plugins/gangscheduling;
kubernetes-sigs/scheduler-plugins apis/scheduling/v1alpha1/types.go.
"""

from typing import Final

from msgspec import Struct

from dractl.cluster.state import DEFAULT_NAMESPACE, ClusterState, Key
from dractl.objects import Raw
from dractl.views import ClaimReference, GangWorkload, Pod, PodGroup

GroupReference = tuple[str, ...]
"""The group that a pod names: ``(PodGroup,)`` or, in 1.35, ``(Workload, pod group, replica)``."""
NO_GROUP: Final[GroupReference] = ()
_LABELS = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io")
"""The label of scheduler-plugins, and its name before v0.22."""


def group_reference(pod: Pod) -> GroupReference:
    """Return the group that a pod names, empty if it names none."""
    if pod.pod_group_name:
        return (pod.pod_group_name,)
    if pod.workload_reference:
        return pod.workload_reference
    names = (pod.labels.get(label) for label in _LABELS)
    return next(((str(name),) for name in names if name), NO_GROUP)


def group_resource(pod: Pod) -> str:
    """Return the resource of the object for a pod's group, "" if the pod is in no group."""
    reference = group_reference(pod)
    if len(reference) > 1:
        return "workloads.scheduling.k8s.io"
    if pod.pod_group_name:
        return "podgroups.scheduling.k8s.io"
    return "podgroups.scheduling.x-k8s.io" if reference else ""


def group_object(pod: Pod) -> tuple[str, Key] | None:
    """Return the kind and key of the object that kube-scheduler reads for a pod's group.

    Return None for a pod without a group, and for groups of other schedulers.
    """
    reference = group_reference(pod)
    if not reference or not pod.is_grouped_by_scheduler:
        return None
    kind = "Workload" if len(reference) > 1 else "PodGroup"
    return kind, (pod.namespace or DEFAULT_NAMESPACE, reference[0])


class GangGroup(Struct, frozen=True):
    """The group with which kube-scheduler places a pod."""

    kind: str
    """PodGroup or, in 1.35, Workload."""
    key: Key
    value: Raw | None
    """The group's object; None if the input lacks it."""
    reference: GroupReference
    """The group, as its pods name it."""
    min_count: int | None
    """The number of pods that start together or not at all; None if the group is no gang."""
    topology: str
    """The node label whose value must be the same for all pods of the group, "" if none."""

    @property
    def name(self) -> str:
        """``Kind/namespace/name``."""
        return "/".join((self.kind, *self.key))

    @property
    def parent(self) -> str:
        """The CompositePodGroup that the group is part of, "" if none."""
        return PodGroup(self.value).composite_group_name

    def members(self, state: ClusterState) -> list[Pod]:
        """Return the pods of the group that have not ended, the oldest first. Each has its
        namespace, even if a manifest leaves it out.
        """
        namespace = self.key[0]
        members = [
            pod
            for key, pod in state.pods.items()
            if key[0] == namespace and group_reference(pod) == self.reference and not pod.has_ended
        ]
        return [
            Pod({**pod.raw, "metadata": {**pod.metadata, "namespace": namespace}}, pod.key)
            for pod in sorted(members, key=lambda pod: (pod.creation_timestamp, pod.key))
        ]


def find_pod_group(state: ClusterState, pod: Pod) -> GangGroup | None:
    """Return the group with which kube-scheduler places a pod; None for a pod without a group, and
    for groups of other schedulers.
    """
    target = group_object(pod)
    if target is None:
        return None
    (kind, key), reference, value = target, group_reference(pod), state.get(*target)
    count = min_count(state, key[0], reference)
    return GangGroup(kind, key, value, reference, count, PodGroup(value).topology_key)


class GroupClaim(Struct, frozen=True):
    """A claim that all pods of a PodGroup share, in place of a claim for each pod."""

    name: str
    """The name of the ResourceClaim."""
    group: PodGroup


def claims_of_group(state: ClusterState, pod: Pod) -> dict[str, GroupClaim]:
    """Return the claims that a pod shares with its PodGroup, by the names that the pod gives them.

    An entry of ``spec.resourceClaims`` refers to the group's claim if its name and template are the
    same as in the group (gate DRAWorkloadResourceClaims; dynamic-resource-allocation/resourceclaim
    BindTo).
    """
    target = group_object(pod)
    if target is None:
        return {}
    group = PodGroup(state.get(*target))
    claims: dict[str, GroupClaim] = {}
    for reference in group.claim_references:
        if reference in pod.claim_references:
            claims.setdefault(reference.name, GroupClaim(_claim_name(group, reference), group))
    return claims


def _claim_name(group: PodGroup, reference: ClaimReference) -> str:
    created = group.claim_statuses.get(reference.name)
    return reference.claim_name or created or f"{group.name}-{reference.name}"


def is_member(state: ClusterState, pod: Pod, kind: str, name: str) -> bool:
    """Return True if a pod is of the PodGroup or Workload ``name`` of its namespace."""
    reference = group_reference(pod)
    if not reference or kind not in ("PodGroup", "Workload"):
        return False
    if len(reference) > 1:
        return kind == "Workload" and reference[0] == name
    if kind == "PodGroup":
        return reference[0] == name
    return name in state.pod_group((pod.namespace, reference[0])).workload_names


def min_count(state: ClusterState, namespace: str, reference: GroupReference) -> int | None:
    """Return the number of pods of a gang that start together or not at all.

    Return None if the group is no gang, or not in the input.
    """
    if len(reference) <= 1:
        return state.pod_group((namespace, reference[0])).min_count if reference else None
    workload = GangWorkload(state.get("Workload", (namespace, reference[0])))
    return workload.min_count(reference[1])
