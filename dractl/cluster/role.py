"""The ClusterRole of deploy/clusterrole.yaml: everything that dractl reads of a cluster."""

from collections import Counter
from collections.abc import Iterable, Mapping

_ALL = "*"
ROLE_RESOURCES: Mapping[str, tuple[str, ...]] = {
    "resource.k8s.io": (
        "resourceslices",
        "resourceclaims",
        "resourceclaimtemplates",
        "deviceclasses",
        "devicetaintrules",
    ),
    "": (
        "events",
        "limitranges",
        "namespaces",
        "nodes",
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "resourcequotas",
    ),
    "apps": ("daemonsets", "deployments", "replicasets", "statefulsets"),
    "batch": ("cronjobs", "jobs"),
    "autoscaling": ("horizontalpodautoscalers",),
    "policy": ("poddisruptionbudgets",),
    "scheduling.k8s.io": ("podgroups", "priorityclasses", "workloads"),
    "scheduling.x-k8s.io": ("podgroups",),
    "scheduling.run.ai": ("podgroups",),
    "scheduling.sigs.k8s.io": ("podgroups",),
    "scheduling.volcano.sh": ("podgroups",),
    "karpenter.sh": ("nodeclaims", "nodepools"),
    "storage.k8s.io": ("storageclasses",),
    "resource.nvidia.com": ("computedomains",),
    "nvidia.com": ("clusterpolicies", "gpuclusters"),
    "rbac.authorization.k8s.io": ("clusterrolebindings", "clusterroles", "rolebindings", "roles"),
    "admissionregistration.k8s.io": (
        "mutatingadmissionpolicies",
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingwebhookconfigurations",
    ),
    "apiextensions.k8s.io": ("customresourcedefinitions",),
    "kubevirt.io": ("kubevirts",),
    "jobset.x-k8s.io": (_ALL,),
    "leaderworkerset.x-k8s.io": (_ALL,),
    "ray.io": (_ALL,),
}
"""The plural names that the role allows to read, by API group."""


def has_resource(name: str) -> bool:
    """Return True if the role allows to read a resource: ``jobs.batch``, or, as kubectl also takes
    it, a kind with its version and group (``rayjob.v1.ray.io``).
    """
    plural, _, group = name.partition(".")
    without_version = group.partition(".")[2]
    allowed = ROLE_RESOURCES.get(group, ())
    return plural in allowed or _ALL in (*allowed, *ROLE_RESOURCES.get(without_version, ()))


def list_role_resources(names: Iterable[str]) -> tuple[str, ...]:
    """Return the resources that the role allows, of ``names`` that an API server serves. They are
    in the role's order, and in the form that ``kubectl create clusterrole`` takes.

    kubectl refuses a resource that is not served, and takes a name without a group for the resource
    of the first group that has it (k8s.io/kubectl pkg/cmd/create/create_role.go, ResourceFor). So a
    name that several groups serve keeps its group.
    """
    served = [name.partition(".")[::2] for name in names]
    groups = Counter(plural for plural, _ in served)
    return tuple(
        f"{plural}.{group}" if group and groups[plural] > 1 else plural
        for group, allowed in ROLE_RESOURCES.items()
        for plural, other in served
        if other == group and (plural in allowed or _ALL in allowed)
    )
