"""End pods for good, although a controller recreates them.

Deleting a pod of a ReplicaSet frees nothing: its successor exists before the scheduler retries the
waiting pod. The workload has to become smaller, and its controller chooses the pods that end.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from dractl.cluster.changes import Change, Delete, Patch, parse_target, pointer
from dractl.cluster.clock import newest_time
from dractl.cluster.events import newest_message
from dractl.cluster.managers import describe_ownership
from dractl.cluster.pods import describe_stuck_container
from dractl.cluster.state import ClusterState, Key, parse_key
from dractl.cluster.workloads import (
    DELETION_COST,
    SCALABLE_KINDS,
    ActivePods,
    deletion_cost,
    deletion_rank,
    pods_of_workload,
)
from dractl.explain.fixes.preference import Preference
from dractl.explain.reasons.phrases import join_clauses
from dractl.objects import Raw
from dractl.properties import cached_property
from dractl.views import Pod, View, age
from dractl.views.quota import DisruptionBudget


class Ending(Struct, frozen=True):
    """A way to end pods for good."""

    title: str
    """The title of a fix, an imperative."""
    changes: tuple[Change, ...]
    """The changes that a person applies; empty if the pods end without any."""
    deletions: tuple[Change, ...]
    """The deletions of the pods that end by these changes."""
    effect: str = ""
    """The loss for others, and what may keep the pods from ending."""
    preference: Preference = Preference.END
    """The rank that an engineer would give this ending."""

    @property
    def owner(self) -> str | None:
        """The workload that becomes smaller, as a target of changes."""
        return next((c.target for c in reversed(self.changes) if isinstance(c, Patch)), None)


class Owners:
    """The workloads of a cluster and their pods, as seen from a waiting pod.

    A correction may have deleted the waiting pod ``subject``; its controller then recreates it.
    """

    def __init__(self, state: ClusterState, subject: Key, pod: Raw) -> None:
        self.state = state
        self.subject = subject
        owner = Pod(pod).workload
        self.subject_owner = (owner[0], (subject[0], owner[1])) if owner is not None else None
        self._leader_group = Pod(pod).leader_worker_group
        self._active_pods = ActivePods(state)

    @cached_property
    def _now(self) -> float | None:
        return newest_time(self.state)

    def plan_ending(self, pods: Iterable[str]) -> Ending | None:
        """Return a way to end pods (``namespace/name``) for good.

        Return None if ending them does not help the waiting pod.
        """
        unowned: list[str] = []
        terminating: list[str] = []
        pods_by_owner: dict[tuple[str, Key], list[Key]] = {}
        for full_name in dict.fromkeys(pods):
            key = parse_key(full_name)
            pod = self.state.pod(key)
            owner = pod.workload
            if pod.deletion_timestamp:
                terminating.append(full_name)
            elif owner is None:
                unowned.append(full_name)
            else:
                kind, name = owner
                pods_by_owner.setdefault((kind, (key[0], name)), []).append(key)
        endings = [self._await_termination(full_name) for full_name in terminating]
        endings += [self._delete_unowned(unowned)] if unowned else []
        for (kind, key), victims in pods_by_owner.items():
            ending = self._shrink_workload(kind, key, victims)
            if ending is None:
                return None
            endings.append(ending)
        return self._combine(endings)

    def _combine(self, endings: Sequence[Ending]) -> Ending:
        """Combine several endings into one; effects that they share are named once."""
        deletions = tuple(deletion for ending in endings for deletion in ending.deletions)
        keys = [parse_target(deletion.target)[1] for deletion in deletions]
        stuck_effect = self._explain_stuck_pods(keys)
        effects = (ending.effect for ending in endings)
        preference = max((ending.preference for ending in endings), default=Preference.END)
        return Ending(
            " and ".join(ending.title for ending in endings),
            tuple(change for ending in endings for change in ending.changes),
            deletions,
            join_clauses(stuck_effect, *effects, *self._list_exhausted_budgets(keys)),
            Preference.IDLE if stuck_effect else preference,
        )

    def _delete_unowned(self, pods: Sequence[str]) -> Ending:
        """Delete pods that no controller recreates."""
        deletions = _delete_pods(pods)
        effect = "nothing re-creates them"
        if len(pods) == 1:
            pod = self.state.pod(parse_key(pods[0]))
            since = pod.start_time
            age_effect = f"it runs since {since} ({age(since, self._now)})" if since else ""
            effect = join_clauses("nothing re-creates it", age_effect, describe_ownership(pod.raw))
        title = f"delete pod {', '.join(pods)}"
        return Ending(title, deletions, deletions, effect, Preference.LAST)

    def _explain_stuck_pods(self, keys: Sequence[Key]) -> str:
        """Return why pods do not use their devices; "" if at least one pod does."""
        reasons = (describe_stuck_container(self.state.pod(key)) for key in keys)
        first = next(reasons, "")
        if not first or not all(reasons):
            return ""
        return f"it {first}" if len(keys) == 1 else f"they cannot run: {keys[0][1]} {first}"

    def _list_exhausted_budgets(self, keys: Sequence[Key]) -> Iterator[str]:
        """Warn of PodDisruptionBudgets that are exhausted and cover a pod that would end.

        An eviction would respect the budgets, but deleting and scaling do not.
        """
        for budget_key, budget in self.state.objects("PodDisruptionBudget").items():
            view = DisruptionBudget(budget)
            if view.status.get("disruptionsAllowed") != 0 or view.selector is None:
                continue
            labels = view.selector.match_labels.items()
            pods = (self.state.pod(key) for key in keys if key[0] == budget_key[0])
            if labels and any(labels <= pod.labels.items() for pod in pods):
                name = "/".join(budget_key)
                yield f"PodDisruptionBudget {name} allows no disruption now"

    def _await_termination(self, full_name: str) -> Ending:
        """Wait for a Terminating pod, since deleting it again would change nothing."""
        pod = self.state.pod(parse_key(full_name))
        since, node = pod.deletion_timestamp, pod.node_name
        effect = f"delete it by force only if {node} is gone for good"
        if pod.finalizers:
            names = ", ".join(pod.finalizers)
            effect = f"finalizer {names} keeps it: deleting it by force does nothing"
        if newest_message(self.state, pod, "FailedKillPod"):
            effect = f"its kubelet cannot end it: is the DRA driver on {node} running?"
        title = f"wait for pod {full_name}, Terminating on {node} since {since}"
        return Ending(title, (), _delete_pods([full_name]), effect)

    def _shrink_workload(self, kind: str, key: Key, victims: Sequence[Key]) -> Ending | None:
        """Scale a workload down, or suspend it, so that the victims end.

        Return None if the waiting pod belongs to the workload, or to a victim's group in a
        LeaderWorkerSet: a pod needs the leader and the other pods of its group.
        """
        active = self._active_pods.pods_of(kind, key)
        keys = [(key[0], View(pod).name) for pod in active]
        is_own = self.subject in keys or self.subject_owner == (kind, key)
        if is_own or not set(victims) <= set(keys) or self._shares_group(key[0], active):
            return None
        if kind == "Job":
            return self._suspend(key, keys)
        controllers = {Pod(pod).controller for pod in active}
        if kind not in SCALABLE_KINDS or len(controllers) > 1:
            return None  # the workload cannot be scaled, or a rollout has pods of two templates
        return _scale_down(kind, key, active, {name for _, name in victims})

    def _shares_group(self, namespace: str, pods: Iterable[Raw]) -> bool:
        """Return whether one of the pods is of the waiting pod's group of a LeaderWorkerSet."""
        if self._leader_group is None or namespace != self.subject[0]:
            return False
        return any(Pod(pod).leader_worker_group == self._leader_group for pod in pods)

    def _suspend(self, job: Key, pods: Sequence[Key]) -> Ending | None:
        """Suspend a Job, or the JobSet that owns it; None if the waiting pod belongs to it."""
        kind, key = "Job", job
        owner = Pod(self.state.get("Job", job)).controller
        job_set = None if owner is None or owner.kind != "JobSet" else (job[0], owner.name)
        if job_set is not None and self.state.get("JobSet", job_set) is not None:
            kind, key = "JobSet", job_set
            members = pods_of_workload(self.state, kind, key)
            pods = [pod_key for pod_key, pod in members if not Pod(pod).has_ended]
        if self.subject in pods:
            return None
        operation = {"op": "add", "path": "/spec/suspend", "value": True}
        effect = f"ends its {len(pods)} pods" if len(pods) > 1 else "ends its pod"
        return Ending(
            f"suspend {kind} {'/'.join(key)}",
            (Patch("/".join((kind, *key)), (operation,)),),
            _delete_pods("/".join(pod_key) for pod_key in pods),
            f"{effect}; or wait until it is done",
            Preference.LAST,
        )


def _scale_down(kind: str, key: Key, active: Sequence[Raw], names: Collection[str]) -> Ending:
    """Lower the replicas of a workload until the pods with the names end."""
    order = _order_deletions(kind, active, names)
    remaining = len(order.pods) - order.count
    operation = {"op": "replace", "path": "/spec/replicas", "value": remaining}
    title = (
        f"scale {kind} {'/'.join(key)} from {len(order.pods)} "
        f"to {remaining} replica{'s' if remaining != 1 else ''}"
    )
    if order.costs:
        noun = "pods" if len(order.costs) > 1 else "pod"
        title += f", {noun} {', '.join(order.costs)} first"
    marks = (
        lower_deletion_cost(key[0], pod, order.costs[name])
        for pod in active
        if (name := View(pod).name) in order.costs
    )
    effect, preference = "", Preference.END
    if not remaining:
        effect = "its last replica" if order.count == 1 else "all of its replicas"
        preference = Preference.OUTAGE
    return Ending(
        title,
        (*marks, Patch("/".join((kind, *key)), (operation,))),
        _delete_pods(f"{key[0]}/{View(pod).name}" for pod in order.pods[: order.count]),
        effect,
        preference,
    )


class _DeletionOrder(Struct, frozen=True):
    """The order in which a controller deletes the pods of a workload."""

    pods: Sequence[Raw]
    """The active pods, in the order of their deletion."""
    count: int
    """The number of pods that have to be deleted until no victim remains."""
    costs: Mapping[str, int]
    """The deletion costs with which victims have to be marked, by the name of the pod."""


def _order_deletions(kind: str, active: Sequence[Raw], names: Collection[str]) -> _DeletionOrder:
    """Order the pods of a workload as its controller deletes them, with the victims marked."""
    rank = deletion_rank(kind, active)
    victims = [pod for pod in active if View(pod).name in names]
    pods = sorted(active, key=lambda pod: (rank(pod), pod not in victims))
    count = 1 + max(map(pods.index, victims))
    costs = [deletion_cost(pod) - 1 for pod in victims]
    if kind != "StatefulSet":
        # A deletion cost counts before the number of pods on a node (kubernetes
        # pkg/controller/controller_utils.go ActivePodsWithRanks). If that number would end other
        # pods first, the victims are marked as the cheapest.
        lowest = min(map(deletion_cost, active)) - 1
        cheapest = sorted(
            active, key=lambda pod: (*rank(pod)[:3], lowest, 0) if pod in victims else rank(pod)
        )
        count_if_marked = 1 + max(map(cheapest.index, victims))
        if count_if_marked < count:
            pods, count, costs = cheapest, count_if_marked, [lowest] * len(victims)
    # Among equal pods the controller's choice is arbitrary, so victims are marked if an equal pod
    # has to stay.
    ranks_that_stay = [rank(pod) for pod in pods[count:]]
    marks = {
        View(pod).name: cost
        for pod, cost in zip(victims, costs, strict=True)
        if any(other <= rank(pod) for other in ranks_that_stay)
    }
    return _DeletionOrder(pods, count, marks)


def _delete_pods(pods: Iterable[str]) -> tuple[Change, ...]:
    """Return the deletions of pods (``namespace/name``)."""
    return tuple(Delete(f"Pod/{pod}") for pod in pods)


def lower_deletion_cost(namespace: str, pod: Raw, cost: int | None = None) -> Patch:
    """Return the annotation that makes a controller end a pod before others.

    The pod then ends before pods that are otherwise equal, or before pods with a deletion cost
    above ``cost``.
    """
    value = str(deletion_cost(pod) - 1 if cost is None else cost)
    if isinstance(View(pod).metadata.get("annotations"), dict):
        path = pointer("metadata", "annotations", DELETION_COST)
        operation: Raw = {"op": "add", "path": path, "value": value}
    else:
        annotations = {DELETION_COST: value}
        operation = {"op": "add", "path": "/metadata/annotations", "value": annotations}
    return Patch(f"Pod/{namespace}/{View(pod).name}", (operation,))
