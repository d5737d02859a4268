"""Pods that are scheduled together: PodGroups and Workloads of Kubernetes, and PodGroups of scheduler-plugins.

kubernetes staging/src/k8s.io/api/scheduling (v1alpha1 of 1.35, v1alpha2 of 1.36, v1alpha3 and v1beta1 of 1.37; gate
GenericWorkload) and pkg/scheduler/framework/plugins/gangscheduling; kubernetes-sigs/scheduler-plugins
apis/scheduling/v1alpha1/types.go.
"""

from msgspec import Struct

from dractl.cluster.pods import ended
from dractl.cluster.state import DEFAULT_NAMESPACE, ClusterState, Key, at, map_at, maps_at, text_at
from dractl.objects import Raw

# scheduler-plugins' label, and what it was before v0.22.
_LABELS = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io")


def group_reference(pod: Raw) -> tuple[str, ...]:
    """What a pod says of its group: ``(PodGroup)``; in 1.35 ``(Workload, pod group, replica)``; empty without one."""
    name = text_at(pod, "spec", "schedulingGroup", "podGroupName")
    if name:
        return (name,)
    reference = map_at(pod, "spec", "workloadRef")
    if reference:
        return tuple(text_at(reference, key) for key in ("name", "podGroup", "podGroupReplicaKey"))
    labels = map_at(pod, "metadata", "labels")
    return next(((str(labels[key]),) for key in _LABELS if labels.get(key)), ())


def group_resource(pod: Raw) -> str:
    """The resource that has the object of a pod's group; empty without one."""
    group = group_reference(pod)
    if len(group) > 1:
        return "workloads.scheduling.k8s.io"
    if text_at(pod, "spec", "schedulingGroup", "podGroupName"):
        return "podgroups.scheduling.k8s.io"
    return "podgroups.scheduling.x-k8s.io" if group else ""


def group_object(pod: Raw) -> tuple[str, Key] | None:
    """Kind and key of the object that kube-scheduler reads for a pod's group; None for a pod without a group, and for
    groups of other schedulers."""
    group = group_reference(pod)
    if not group or not (
        map_at(pod, "spec", "schedulingGroup") or map_at(pod, "spec", "workloadRef")
    ):
        return None
    kind = "Workload" if len(group) > 1 else "PodGroup"
    return kind, (text_at(pod, "metadata", "namespace") or DEFAULT_NAMESPACE, group[0])


class GangGroup(Struct, frozen=True):
    """The group that kube-scheduler places a pod with: kind and key of its object, and the object, None where the input
    lacks it. ``own`` is what the pod says of it, ``min_count`` how many pods start together (None: it is no gang),
    ``topology`` the node label of which its pods must have one value (empty: none)."""

    kind: str
    key: Key
    value: Raw | None
    own: tuple[str, ...]
    min_count: int | None
    topology: str

    @property
    def name(self) -> str:
        """``Kind/namespace/name``."""
        return "/".join((self.kind, *self.key))

    @property
    def parent(self) -> str:
        """The CompositePodGroup that it is part of; empty without one."""
        return text_at(self.value, "spec", "parentCompositePodGroupName")

    def members(self, state: ClusterState) -> list[Raw]:
        """Its pods that have not ended, the oldest first; each with its namespace."""
        namespace = self.key[0]
        found = [
            (text_at(other, "metadata", "creationTimestamp"), key, other)
            for key, other in state.objects("Pod").items()
            if key[0] == namespace and group_reference(other) == self.own and not ended(other)
        ]
        return [
            {**other, "metadata": {**map_at(other, "metadata"), "namespace": namespace}}
            for _, _, other in sorted(found, key=lambda item: item[:2])
        ]


def find_pod_group(state: ClusterState, pod: Raw) -> GangGroup | None:
    """The group that kube-scheduler places a pod with; None as :func:`object_of` says."""
    found = group_object(pod)
    if found is None:
        return None
    (kind, key), own, value = found, group_reference(pod), state.get(*found)
    topology = next(iter(maps_at(value, "spec", "schedulingConstraints", "topology")), {})
    return GangGroup(kind, key, value, own, min_count(state, key[0], own), text_at(topology, "key"))


def claims_of_group(state: ClusterState, pod: Raw) -> dict[str, tuple[str, Raw]]:
    """By the pod's name for a claim that all pods of its PodGroup share in place of one each, the name of the claim and
    the PodGroup. An entry of ``spec.resourceClaims`` is the group's if name and template are the same (gate
    DRAWorkloadResourceClaims; dynamic-resource-allocation/resourceclaim BindTo)."""
    found = group_object(pod)
    group = state.get(*found) if found is not None else None
    if group is None:
        return {}
    own = ("name", "resourceClaimName", "resourceClaimTemplateName")
    entries = [
        tuple(entry.get(key) for key in own) for entry in maps_at(pod, "spec", "resourceClaims")
    ]
    statuses = maps_at(group, "status", "resourceClaimStatuses")
    made = {text_at(status, "name"): text_at(status, "resourceClaimName") for status in statuses}
    shared: dict[str, tuple[str, Raw]] = {}
    for claim in maps_at(group, "spec", "resourceClaims"):
        if tuple(claim.get(key) for key in own) in entries:
            name = text_at(claim, "name")
            named = text_at(claim, "resourceClaimName") or made.get(name)
            shared.setdefault(
                name, (named or f"{text_at(group, 'metadata', 'name')}-{name}", group)
            )
    return shared


def is_member(state: ClusterState, pod: Raw, kind: str, name: str) -> bool:
    """True if a pod is of the PodGroup or Workload ``name`` of its namespace."""
    group = group_reference(pod)
    if not group or kind not in ("PodGroup", "Workload"):
        return False
    if len(group) > 1:
        return kind == "Workload" and group[0] == name
    if kind == "PodGroup":
        return group[0] == name
    spec = at(state.get("PodGroup", (text_at(pod, "metadata", "namespace"), group[0])), "spec")
    of_1_36 = text_at(spec, "podGroupTemplateRef", "workload", "workloadName")
    return name in (text_at(spec, "workloadRef", "workloadName"), of_1_36)


def min_count(state: ClusterState, namespace: str, group: tuple[str, ...]) -> int | None:
    """Pods of a gang that start together or not at all; None if the group is no gang, or not in the input."""
    if len(group) > 1:
        groups = maps_at(state.get("Workload", (namespace, group[0])), "spec", "podGroups")
        policy = next((map_at(one, "policy") for one in groups if one.get("name") == group[1]), {})
        found = at(policy, "gang", "minCount")
    else:
        spec = map_at(state.get("PodGroup", (namespace, group[0])), "spec") if group else {}
        found = at(spec, "schedulingPolicy", "gang", "minCount") or spec.get("minMember")
    return found if isinstance(found, int) and found > 0 else None
