"""Direct effects of changes to a cluster: further changes, and the objects that they concern."""

from collections.abc import Sequence

from dractl.cluster.changes import Change, Create, Delete, Patch, parse_target
from dractl.cluster.state import ClusterState, Key
from dractl.cluster.workloads import WORKLOAD_KINDS
from dractl.objects import slice_of
from dractl.scheduler.attempt import Scheduler
from dractl.simulation.workload_pods import (
    WorkloadKey,
    list_active_pods,
    pod_identity,
    workload_key,
)
from dractl.views import Pod, View

_CLUSTER_WIDE_KINDS = ("DeviceClass", "DeviceTaintRule")
_RECREATE_GROUP = "RecreateGroupOnPodRestart"


# -- further changes --


def delete_whole_groups(state: ClusterState, changes: Sequence[Change]) -> tuple[Delete, ...]:
    """Delete the other pods of each LeaderWorkerSet group that loses a pod.

    The group is recreated as a whole unless its restartPolicy says otherwise
    (kubernetes-sigs/lws pkg/controllers/pod_controller.go handleRestartPolicy).
    """
    targets = {change.target for change in changes if isinstance(change, Delete)}
    groups = {
        (key[0], group)
        for kind, key in map(parse_target, targets)
        if kind == "Pod"
        and (group := Pod(state.get("Pod", key)).leader_worker_group) is not None
        and _recreates_group(state, key[0], group[0])
    }
    if not groups:
        return ()
    members = (
        "/".join(("Pod", *key))
        for key, pod in state.pods.items()
        if (key[0], pod.leader_worker_group) in groups
    )
    return tuple(Delete(member) for member in members if member not in targets)


def _recreates_group(state: ClusterState, namespace: str, leader_worker_set: str) -> bool:
    owner = state.workload("LeaderWorkerSet", (namespace, leader_worker_set))
    policy = owner.group_restart_policy
    return not policy or policy == _RECREATE_GROUP


def suspend_jobs(state: ClusterState, changes: Sequence[Change]) -> tuple[Patch, ...]:
    """Suspend or resume the Jobs of each JobSet whose ``spec.suspend`` changes.

    Upstream: kubernetes-sigs/jobset pkg/controllers/jobset_controller.go suspendJobs.
    """
    patches: list[Patch] = []
    for change in changes:
        kind, key = _kind_and_key(change)
        if kind != "JobSet" or not isinstance(change, Patch):
            continue
        operations = tuple(
            {**operation, "op": "add"}
            for operation in change.operations
            if operation["path"] == "/spec/suspend"
        )
        jobs = list_jobs(state, key) if operations else []
        patches += [Patch("/".join(("Job", *job)), operations) for _, job in jobs]
    return tuple(patches)


def list_jobs(state: ClusterState, job_set: Key) -> list[WorkloadKey]:
    """Return the Jobs of a JobSet."""
    namespace, name = job_set
    return [
        ("Job", key)
        for key, job in state.objects("Job").items()
        if key[0] == namespace
        and (owner := View(job).controller) is not None
        and (owner.kind, owner.name) == ("JobSet", name)
    ]


# -- objects that changes concern --


def list_changed_workloads(
    state: ClusterState, changes: Sequence[Change]
) -> tuple[WorkloadKey, ...]:
    """Return the workloads that are patched or deleted, or that lose a pod."""
    workloads: dict[WorkloadKey, None] = {}
    for change in changes:
        if isinstance(change, Create):
            continue
        kind, key = parse_target(change.target)
        if kind in WORKLOAD_KINDS:
            workloads[kind, key] = None
        elif kind == "Pod" and isinstance(change, Delete):
            owner = workload_key(state.pod(key))
            if owner is not None:
                workloads[owner] = None
    return tuple(workloads)


def list_pods_kept_by_finalizers(state: ClusterState, changes: Sequence[Change]) -> tuple[Key, ...]:
    """Return the deleted pods that a finalizer keeps; no new pod can have their names.

    Kubernetes' own finalizers do not count; its controllers remove them soon.
    """
    return tuple(key for key in _list_deleted(changes, "Pod") if state.pod(key).foreign_finalizers)


def find_pods_with_deleted_claims(state: ClusterState, changes: Sequence[Change]) -> set[str]:
    """Return the identities of pods that lose a generated claim.

    Their controller generates the claim again from its template
    (pkg/controller/resourceclaim/controller.go handleClaim).
    """
    claims = set(_list_deleted(changes, "ResourceClaim"))
    if not claims:
        return set()
    return {
        pod_identity(pod)
        for key, pod in state.pods.items()
        if any((key[0], claim) in claims for claim in pod.claim_statuses.values())
    }


def find_affected_nodes(scheduler: Scheduler, changes: Sequence[Change]) -> frozenset[str] | None:
    """Return the nodes on which the changes can help other pods; None if any node is possible."""
    nodes: set[str] = set()
    for change in changes:
        affected = _nodes_affected_by(scheduler, change)
        if affected is None:
            return None
        nodes |= affected
    return frozenset(nodes - {""})


def _nodes_affected_by(scheduler: Scheduler, change: Change) -> set[str] | None:
    kind, key = _kind_and_key(change)
    state = scheduler.state
    if kind in _CLUSTER_WIDE_KINDS or (kind == "ResourceClaim" and isinstance(change, Delete)):
        return None
    if kind == "Node":
        return {key[1]}
    if kind == "ResourceSlice":
        value = change.value if isinstance(change, Create) else state.get(kind, key)
        node = slice_of(value or {}).node
        return {node} if node else None
    if kind == "Pod":
        return {state.pod(key).node_name}
    if kind in WORKLOAD_KINDS and isinstance(change, Patch):
        pods = list_active_pods(state, (kind, key))
        return {pod.node_name for pod in pods}
    return set()


def _kind_and_key(change: Change) -> tuple[str, Key]:
    if not isinstance(change, Create):
        return parse_target(change.target)
    created = View(change.value)
    return created.kind, created.key


def _list_deleted(changes: Sequence[Change], kind: str) -> list[Key]:
    targets = [parse_target(change.target) for change in changes if isinstance(change, Delete)]
    return [key for target_kind, key in targets if target_kind == kind]
