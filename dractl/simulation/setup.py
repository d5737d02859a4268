"""The start of a simulation: the changed cluster, and the facts that stay the same in every
round.
"""

from collections.abc import Collection, Hashable, Sequence

from msgspec import Struct

from dractl.cluster.changes import Change, apply
from dractl.cluster.state import ClusterState, Key
from dractl.objects import Raw
from dractl.scheduler.attempt import Scheduler
from dractl.simulation.effects import (
    delete_whole_groups,
    find_affected_nodes,
    find_pods_with_deleted_claims,
    list_changed_workloads,
    list_pods_kept_by_finalizers,
    suspend_jobs,
)
from dractl.simulation.workload_pods import (
    NEW_SUFFIX,
    WorkloadKey,
    count_bound_pods,
    list_active_pods,
    pod_identity,
    workload_key,
)
from dractl.views import Pod

_DISTANT_FUTURE = "9999-12-31T00:00:00Z"


class SimulationOptions(Struct, frozen=True):
    """Further facts about a change."""

    new_pod_spec: Raw | None = None
    """Spec of the pods that the subject's workload creates after the change; None if it is
    unchanged.
    """

    recreated_pods: tuple[Key, ...] = ()
    """Pods that a new pod of the same name replaces."""

    extra_changes: tuple[Change, ...] = ()
    """Changes that are applied first, and that no controller reverts."""

    candidate_nodes: frozenset[str] | None = None
    """Nodes known to fit the subject if no other pod comes first; None if they are unknown."""


DEFAULT_OPTIONS = SimulationOptions()


class Subject(Struct, frozen=True):
    """The pod that must run after the change."""

    key: Key
    """Namespace and name of the pod."""

    identities: frozenset[str]
    """Identities of the pod before the change, and of a new pod with its name."""

    workload: WorkloadKey | None
    """Workload of the pod; None for a bare pod."""

    bound_replicas: int
    """Pods of the workload that had a node before the change."""

    new_spec: Raw | None
    """Spec of the pods that the workload creates after the change; None if it is unchanged."""


class WorkloadPods(Struct, frozen=True):
    """Active pods of a workload before the change."""

    active: tuple[Pod, ...]
    """All active pods."""

    deleted: tuple[Pod, ...]
    """Pods that the change deletes, even if a finalizer keeps the object."""


class Setup(Struct, frozen=True):
    """Everything that is known before the first round."""

    scheduler: Scheduler
    """The scheduler of the cluster before the change."""

    subject: Subject
    """The pod that must run after the change."""

    state: ClusterState
    """The cluster right after the change."""

    history: tuple[Hashable, ...]
    """Events by which ``state`` differs from the cluster before the change."""

    terminating_pods: tuple[Key, ...]
    """Deleted pods that a finalizer keeps in the cluster."""

    workloads: dict[WorkloadKey, WorkloadPods]
    """Workloads whose controllers may act, with their pods before the change."""

    regenerating_pods: frozenset[str]
    """Identities of pods whose claims are generated again."""

    affected_nodes: frozenset[str] | None
    """Nodes on which the change can help pods ahead of the subject; None for all."""

    subject_nodes: frozenset[str] | None
    """Nodes on which the subject may fit; None for all."""

    @property
    def deleted_pod_count(self) -> int:
        """The number of pods that the change deletes. At most as many are created in their
        place.
        """
        return sum(len(pods.deleted) for pods in self.workloads.values())


def prepare(
    scheduler: Scheduler, changes: Sequence[Change], subject: Key, options: SimulationOptions
) -> Setup:
    """Apply the changes and find the objects that they concern. Raises PatchError if a change does
    not apply.
    """
    before = scheduler.state
    changes = (*changes, *delete_whole_groups(before, changes), *suspend_jobs(before, changes))
    terminating_pods = list_pods_kept_by_finalizers(before, changes)
    state = apply(apply(before, options.extra_changes), changes)
    state = _keep_pending_pods(before, state, terminating_pods)
    subject_changed = state.get("Pod", subject) is not before.get("Pod", subject)
    affected_nodes = find_affected_nodes(scheduler, (*options.extra_changes, *changes))
    recreated_pods = {pod_identity(before.pod(key)) for key in options.recreated_pods}
    return Setup(
        scheduler=scheduler,
        subject=_describe_subject(scheduler, subject, options.new_pod_spec),
        state=_give_subject_new_uid(before, state, subject),
        history=(repr((options.extra_changes, changes)), subject_changed and subject),
        terminating_pods=terminating_pods,
        workloads={
            workload: _list_workload_pods(before, state, workload, terminating_pods)
            for workload in list_changed_workloads(before, changes)
        },
        regenerating_pods=frozenset(recreated_pods | find_pods_with_deleted_claims(state, changes)),
        affected_nodes=affected_nodes,
        subject_nodes=_unite(affected_nodes, options.candidate_nodes),
    )


def _unite(nodes: frozenset[str] | None, others: frozenset[str] | None) -> frozenset[str] | None:
    return None if nodes is None or others is None else nodes | others


def _keep_pending_pods(
    before: ClusterState, state: ClusterState, terminating_pods: Collection[Key]
) -> ClusterState:
    """Leave deleted pods without a node Terminating if a finalizer keeps them.

    A deleted pod with a node counts as gone: its containers end, and it uses no resources.
    """
    for key in terminating_pods:
        pod = before.pod(key)
        if pod.exists and not pod.node_name:
            metadata = {**pod.metadata, "deletionTimestamp": _DISTANT_FUTURE}
            state = state.replace("Pod", key, {**pod.raw, "metadata": metadata})
    return state


def _describe_subject(scheduler: Scheduler, key: Key, new_spec: Raw | None) -> Subject:
    pod = scheduler.state.pod(key)
    workload = workload_key(pod)
    replicas = list_active_pods(scheduler.state, workload) if workload else ()
    return Subject(
        key=key,
        identities=frozenset({pod_identity(pod), _new_uid(key)}),
        workload=workload,
        bound_replicas=count_bound_pods(replicas),
        new_spec=new_spec,
    )


def _give_subject_new_uid(before: ClusterState, state: ClusterState, key: Key) -> ClusterState:
    """Give the subject a UID if the change replaces it by a manifest without a UID."""
    pod = state.pod(key)
    if not pod.exists or not before.pod(key).uid or pod.uid:
        return state
    metadata = {**pod.metadata, "uid": _new_uid(key)}
    return state.replace("Pod", key, {**pod.raw, "metadata": metadata})


def _new_uid(key: Key) -> str:
    return f"{key[1]}{NEW_SUFFIX}"


def _list_workload_pods(
    before: ClusterState,
    state: ClusterState,
    workload: WorkloadKey,
    terminating_pods: Collection[Key],
) -> WorkloadPods:
    active = list_active_pods(before, workload)
    deleted = (
        pod for pod in active if pod.key in terminating_pods or state.get("Pod", pod.key) is None
    )
    return WorkloadPods(active, tuple(deleted))
