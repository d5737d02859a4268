"""Simulate a cluster after a change until it is known whether one pod runs."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Self

from msgspec import Struct, field

from dractl.cluster.changes import Change, Delete, apply
from dractl.cluster.state import ClusterState, Key
from dractl.scheduler.attempt import Scheduler
from dractl.simulation.admission import find_pod_rejection
from dractl.simulation.controllers import (
    SIMULATED_OWNERS,
    ControllerAction,
    WorkloadChange,
    reconcile,
)
from dractl.simulation.effects import delete_whole_groups
from dractl.simulation.job_failure import fail_job
from dractl.simulation.queue import (
    QueuedPod,
    build_queue,
    list_pending_pods,
    placement_cache,
    schedule_pods,
)
from dractl.simulation.setup import DEFAULT_OPTIONS, Setup, SimulationOptions, prepare
from dractl.simulation.workload_pods import (
    WorkloadKey,
    clone_pod,
    count_bound_pods,
    list_active_pods,
    workload_key,
)
from dractl.views import Pod

MAX_ROUNDS = 12  # a rollout with more rounds does not depend on the change
MAX_CREATED_PODS = 24  # further pods of a rollout would be like these
NO_SUBJECT: Key = ("", "")
"""The subject of a simulation that continues until no controller acts."""


class SimulationResult(Struct, frozen=True):
    """A cluster after a change and after everything that follows from it."""

    scheduler: Scheduler
    """The scheduler of the cluster at the end."""

    subject_runs: bool
    """Whether the subject, or a pod that its workload creates instead, has a node."""

    placements: tuple[tuple[Key, str], ...] = ()
    """Pods that got a node, each with the node, in their order."""

    scheduled_first: tuple[Key, ...] = ()
    """Pods of ``placements`` that waited before the change, the subject included."""

    successors: Mapping[Key, Key] = {}
    """The pods that controllers created, each with the pod on which it is modelled."""

    ended_pods: tuple[Key, ...] = ()
    """Pods that had a node before the change and no longer exist."""

    rejections: tuple[str, ...] = ()
    """Messages about pods that the API server refuses to create."""

    failed_jobs: tuple[str, ...] = ()
    """Messages about Jobs that fail."""

    kept_by_finalizers: tuple[str, ...] = ()
    """Names of deleted pods that a finalizer keeps."""

    notes: tuple[str, ...] = ()
    """Side effects, assumptions about unknown controllers, and pods that stay pending."""


def simulate(
    scheduler: Scheduler,
    changes: Sequence[Change],
    subject: Key,
    options: SimulationOptions = DEFAULT_OPTIONS,
) -> SimulationResult:
    """Simulate ``changes`` to the cluster of ``scheduler`` until the subject runs.

    The simulation also ends when no controller acts any longer. Raises PatchError if a change does
    not apply.
    """
    simulation = Simulation.start(prepare(scheduler, changes, subject, options))
    for _ in range(max(MAX_ROUNDS, simulation.setup.deleted_pod_count)):
        acted = simulation.reconcile_controllers()
        simulation.schedule_pending_pods()
        if simulation.subject_runs or not acted:
            break
    return simulation.result()


class Simulation(Struct):
    """A cluster after a change, advanced in rounds: controllers act, then pods are scheduled."""

    setup: Setup
    """Everything that is known before the first round."""

    scheduler: Scheduler
    """The scheduler of the cluster at the end of the last round."""

    state: ClusterState
    """The cluster now."""

    history: list[Hashable]
    """Events by which ``state`` differs from the cluster before the change."""

    subject_identities: set[str]
    """Identities of the pods whose placement answers the question."""

    subject_runs: bool = False
    """Whether one of the pods in ``subject_identities`` has a node."""

    created_uids: set[str] = field(default_factory=set)
    """UIDs of the pods that controllers have created."""

    successors: dict[Key, Key] = field(default_factory=dict)
    """The created pods, each with the pod on which it is modelled."""

    rejection_counts: Counter[WorkloadKey] = field(default_factory=Counter)
    """The number of pods that the API server has refused to create, by workload."""

    rejections: list[str] = field(default_factory=list)
    """Messages about the refused pods."""

    finished_jobs: dict[WorkloadKey, str] = field(default_factory=dict)
    """Jobs that no longer act, each with a message about its failure; the message is empty for a
    restarted Job.
    """

    notes: list[str] = field(default_factory=list)
    """Side effects and assumptions."""

    placements: list[tuple[Key, str]] = field(default_factory=list)
    """Pods that got a node, each with the node."""

    @classmethod
    def start(cls, setup: Setup) -> Self:
        """Return the simulation before its first round."""
        return cls(
            setup=setup,
            scheduler=setup.scheduler.with_state(setup.state),
            state=setup.state,
            history=list(setup.history),
            subject_identities=set(setup.subject.identities),
        )

    # -- controllers --

    def reconcile_controllers(self) -> bool:
        """Let the controller of each workload act once. Return True if at least one controller
        acted.
        """
        acted = False
        for workload in self.setup.workloads:
            if workload not in self.finished_jobs:
                acted |= self._reconcile(workload)
        return acted

    def _reconcile(self, workload: WorkloadKey) -> bool:
        action = self._next_action(self._describe_change(workload))
        for pod in action.pods_to_delete:
            self._delete_pod(pod)
        limit = max(MAX_CREATED_PODS, self.setup.deleted_pod_count)
        max_new_pods = max(limit - len(self.created_uids), 0)
        pods_to_create = action.pods_to_create[:max_new_pods]
        for pod in pods_to_create:
            self._create_pod(workload, pod)
        return bool(action.pods_to_delete or pods_to_create)

    def _describe_change(self, workload: WorkloadKey) -> WorkloadChange:
        pods_before = self.setup.workloads[workload]
        return WorkloadChange(
            *workload,
            previous=self.setup.scheduler.state.workload(*workload),
            current=self.state.workload(*workload),
            previous_pods=pods_before.active,
            deleted_pods=pods_before.deleted,
            active_pods=self._list_active_pods(workload),
            created_uids=frozenset(self.created_uids),
            rejections=self.rejection_counts[workload],
        )

    def _next_action(self, change: WorkloadChange) -> ControllerAction:
        """Return the next step of the controller, and note its consequences for Jobs and unknown
        kinds.
        """
        action = reconcile(self.state, change)
        if action.failure:
            failure = fail_job(self.setup.scheduler.state, self.state, change, action)
            self.finished_jobs |= failure.finished_jobs
            self.notes.append(failure.note)
            return failure.action
        if action.pods_to_create and change.kind not in SIMULATED_OWNERS:
            name = f"{change.kind} {'/'.join(change.key)}"
            self.notes.append(f"assumed: {name} (unknown kind) recreates its pods")
        return action

    def _delete_pod(self, pod: Pod) -> None:
        deletion = Delete("/".join(("Pod", *pod.key)))
        deletions = (deletion, *delete_whole_groups(self.state, (deletion,)))
        self.state = apply(self.state, deletions)
        self.history.append(deletion.target)

    def _create_pod(self, workload: WorkloadKey, model: Pod) -> None:
        """Create a pod like ``model`` unless the API server rejects it."""
        kind, key = workload
        subject = self.setup.subject
        is_replica = workload_key(model) == subject.workload
        spec = subject.new_spec if is_replica else None
        pod = Pod(clone_pod(model, kind, len(self.created_uids), spec))
        rejection = self._find_rejection(pod)
        if rejection is not None:
            self.rejection_counts[workload] += 1
            self.rejections.append(f"{kind} {'/'.join(key)} cannot make its pod: {rejection}")
            return
        self.created_uids.add(pod.uid)
        self.successors[pod.key] = model.key
        if is_replica:
            self.subject_identities.add(pod.uid)
        self.state = self.state.replace("Pod", pod.key, pod.raw)
        self.history.append(repr(pod.raw))

    def _find_rejection(self, pod: Pod) -> str | None:
        rejection = find_pod_rejection(self.state, self.setup.scheduler.features, pod.raw)
        if rejection is not None:
            return rejection
        is_kept = pod.key in self.setup.terminating_pods
        if is_kept or self.state.get("Pod", pod.key) is not None:
            return f"pod {'/'.join(pod.key)} is still there"
        return None

    # -- the scheduler --

    def schedule_pending_pods(self) -> None:
        """Try the pending pods up to the subject, and find out whether it runs."""
        queue = build_queue(
            list_pending_pods(self.state),
            self.created_uids | self.setup.regenerating_pods,
            self.subject_identities,
            self.setup.subject_nodes,
            self.setup.affected_nodes,
        )
        queue_result = schedule_pods(
            self.scheduler.with_state(self.state),
            queue,
            placement_cache(self.setup.scheduler),
            tuple(self.history),
        )
        self.scheduler, self.state = queue_result.scheduler, queue_result.scheduler.state
        self.placements += queue_result.placements
        self.history.append(queue_result.placements)
        self.subject_runs = self._subject_has_node()

    def _subject_has_node(self) -> bool:
        """Return whether the subject has a node, or its workload has one more bound replica."""
        subject = self.setup.subject
        if self.state.pod(subject.key).node_name:
            return True
        if subject.workload is None:
            return False
        return count_bound_pods(self._list_active_pods(subject.workload)) > subject.bound_replicas

    def _list_active_pods(self, workload: WorkloadKey) -> tuple[Pod, ...]:
        return list_active_pods(self.state, workload)

    # -- the result --

    def result(self) -> SimulationResult:
        """Return the result of the simulation."""
        before = self.setup.scheduler.state
        return SimulationResult(
            scheduler=self.scheduler,
            subject_runs=self.subject_runs,
            placements=tuple(self.placements),
            scheduled_first=tuple(key for key, _ in self.placements if before.get("Pod", key)),
            successors=dict(self.successors),
            ended_pods=self._list_ended_pods(),
            rejections=tuple(dict.fromkeys(self.rejections)),
            failed_jobs=tuple(filter(None, dict.fromkeys(self.finished_jobs.values()))),
            kept_by_finalizers=tuple("/".join(key) for key in self.setup.terminating_pods),
            notes=tuple(filter(None, dict.fromkeys((*self.notes, *self._note_pending_pods())))),
        )

    def _list_ended_pods(self) -> tuple[Key, ...]:
        pods_before, pods = self.setup.scheduler.state.pods, self.state.pods
        return tuple(
            key
            for key, pod in pods_before.items()
            if pod.node_name and not (key in pods and pods[key].node_name)
        )

    def _note_pending_pods(self) -> list[str]:
        """Return a note for each workload that has fewer bound pods than before the change."""
        state = self._state_after_remaining_pods()
        if state is None:
            return []
        initial = self.setup.scheduler
        notes: list[str] = []
        for kind, key in dict.fromkeys((*self.setup.workloads, *self.finished_jobs)):
            pods_before = list_active_pods(initial.state, (kind, key))
            pods = list_active_pods(state, (kind, key))
            bound = count_bound_pods(pods)
            pending = min(count_bound_pods(pods_before) - bound, len(pods) - bound)
            if pending > 0:
                notes.append(f"leaves {pending} of the pods of {kind} {'/'.join(key)} pending")
        return notes

    def _state_after_remaining_pods(self) -> ClusterState | None:
        """Return the cluster in which the created pods behind the subject in the queue have been
        tried.

        Return None if the subject does not run, or if no created pod waits.
        """
        if not self.subject_runs or not self.created_uids:
            return None
        queue = [
            QueuedPod(pod, generates_claims=True, nodes=self.setup.subject_nodes)
            for pod in list_pending_pods(self.state)
            if pod.uid in self.created_uids
        ]
        if not queue:
            return None
        cache = placement_cache(self.setup.scheduler)
        return schedule_pods(self.scheduler, queue, cache, tuple(self.history)).scheduler.state
