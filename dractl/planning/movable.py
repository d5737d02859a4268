"""Pods that may move, and for each other pod, the reason why it stays where it is.

A move is an eviction (kubernetes pkg/registry/core/pod/storage/eviction.go) after which the
successor of the pod gets another node.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

from dractl.cluster.labels import LabelQuery
from dractl.cluster.podgroups import find_pod_group
from dractl.cluster.state import ClusterState, Key
from dractl.properties import cached_property
from dractl.simulation.controllers.job import count_failures_left, failure_action
from dractl.simulation.evicted_pods import mark_evicted
from dractl.simulation.workload_pods import WorkloadKey, workload_key
from dractl.views import Pod
from dractl.views.pod import DEFAULT_SCHEDULER
from dractl.views.quota import DisruptionBudget

SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
"""kubernetes/autoscaler cluster-autoscaler/utils/drain/drain.go PodSafeToEvictKey."""
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
"""sigs.k8s.io/karpenter pkg/apis/v1/labels.go DoNotDisruptAnnotationKey."""
_KUBERNETES_FINALIZERS = ("batch.kubernetes.io/job-tracking", "foregroundDeletion", "orphan")


class Unit(Struct, frozen=True, eq=False):
    """Pods that move together: one pod, or all pods of a gang."""

    pods: tuple[Pod, ...]
    """The pods, in the order of their names."""

    gang: str = ""
    """``KIND/NAMESPACE/NAME`` of the gang, "" for a pod by itself."""

    workload: WorkloadKey | None = None
    """The workload that recreates the pods; None for a bare pod, which can only end."""

    loss: int = 0
    """The rank of the work that a restart loses: 0 for the least, 3 for the most; see
    :func:`_rank_loss`.
    """

    @property
    def size(self) -> int:
        """The number of its pods."""
        return len(self.pods)

    @property
    def keys(self) -> tuple[Key, ...]:
        """Namespaces and names of the pods."""
        return tuple(pod.key for pod in self.pods)

    @property
    def nodes(self) -> frozenset[str]:
        """The nodes of the pods."""
        return frozenset(pod.node_name for pod in self.pods)


class Movability(Struct, frozen=True):
    """The running pods of a cluster, by whether they may move."""

    units: tuple[Unit, ...]
    """The units that may move or end."""

    kept: Mapping[Key, str]
    """The other running pods, each with the reason why it stays."""

    bare: tuple[Unit, ...] = ()
    """Pods without a controller and without any other protection: they can end, but not move."""

    failures_left: Mapping[WorkloadKey, int] = {}
    """The number of pods of a Job that may be evicted before it fails; other workloads have no
    limit.
    """


class Protection:
    """The rules that keep a pod where it is."""

    def __init__(self, state: ClusterState, priority: int, keep: LabelQuery | None) -> None:
        self.state = state
        self.priority = priority
        """The priority of the subject."""
        self.keep = keep

    def find_reason(self, pod: Pod) -> str:
        """Return why a pod with a controller may not move; "" if it may."""
        rules = (
            self._by_owner,
            self._by_annotation,
            self._by_option,
            self._by_priority,
            self._by_budget,
            self._by_job,
            self._by_claims,
        )
        return next(filter(None, (rule(pod) for rule in rules)), "")

    def find_reason_to_keep(self, pod: Pod) -> str:
        """Return why a bare pod may not even end; "" if it may."""
        rules = (self._by_annotation, self._by_option, self._by_priority, self._by_budget)
        return next(filter(None, (rule(pod) for rule in rules)), "")

    def _by_owner(self, pod: Pod) -> str:
        if pod.deletion_timestamp:
            return "it is Terminating already"
        owner = pod.controller
        if owner is None:
            return "it has no controller: nothing recreates it"
        if owner.kind == "DaemonSet":
            return f"DaemonSet {owner.name} recreates it on the same node"
        if owner.kind == "Node":
            return "it is a static pod of its node"
        if pod.scheduler_name != DEFAULT_SCHEDULER:
            return f"scheduler {pod.scheduler_name} would place it"
        finalizers = [name for name in pod.finalizers if name not in _KUBERNETES_FINALIZERS]
        return f"finalizer {finalizers[0]} keeps it" if finalizers else ""

    def _by_annotation(self, pod: Pod) -> str:
        if pod.annotations.get(SAFE_TO_EVICT) == "false":
            return f'annotation {SAFE_TO_EVICT} is "false"'
        if pod.annotations.get(DO_NOT_DISRUPT) == "true":
            return f'annotation {DO_NOT_DISRUPT} is "true"'
        return ""

    def _by_option(self, pod: Pod) -> str:
        is_kept = self.keep is not None and self.keep.matches(pod.labels)
        return "--keep selects it" if is_kept else ""

    def _by_priority(self, pod: Pod) -> str:
        if pod.priority <= self.priority:
            return ""
        return f"its priority {pod.priority} is higher than {self.priority} of the subject"

    @cached_property
    def budgets(self) -> tuple[DisruptionBudget, ...]:
        """All PodDisruptionBudgets."""
        objects = self.state.objects("PodDisruptionBudget")
        return tuple(DisruptionBudget(raw, key) for key, raw in objects.items())

    def _by_budget(self, pod: Pod) -> str:
        """Return why the eviction API refuses to evict a pod because of a budget; "" if it does not
        (EvictionREST.Create).
        """
        if pod.phase == "Pending":
            return ""  # canIgnorePDB: budgets do not protect pending pods
        budgets = [budget for budget in self.budgets if budget.selects(pod)]
        if len(budgets) > 1:
            names = ", ".join(budget.name for budget in budgets)
            return (
                f"PodDisruptionBudgets {names} select it: the eviction API refuses a pod with two"
            )
        return next(filter(None, (_object_to_eviction(budget, pod) for budget in budgets)), "")

    def _by_job(self, pod: Pod) -> str:
        workload = workload_key(pod)
        if workload is None or workload[0] != "Job":
            return ""
        job = self.state.workload(*workload)
        name = "/".join(job.key)
        if job.is_suspended or job.condition("Complete").status == "True":
            return f"Job {name} recreates no pods"
        match failure_action(job, mark_evicted(pod)):
            case "Ignore":
                return ""
            case "FailJob":
                return f"the podFailurePolicy of Job {name} ends it with the first killed pod"
            case "FailIndex":
                return f"the podFailurePolicy of Job {name} does not retry its index"
        limit = job.backoff_limit_per_index
        if limit is not None and pod.index_failures >= limit:
            return f"backoffLimitPerIndex {limit} of Job {name} is used up for its index"
        if count_failures_left(job) > 0:
            return ""
        return f"backoffLimit {job.backoff_limit} of Job {name} is used up: it would fail"

    def _by_claims(self, pod: Pod) -> str:
        """Return why a claim keeps a pod on its node, or makes the result of a move unknown; "" if
        no claim does.

        A claim with other users stays allocated: pkg/controller/resourceclaim/controller.go
        syncClaim deallocates a claim when the last pod of its reservedFor is gone. Until then, the
        claim binds new pods to its node.
        """
        for reference in pod.claim_references:
            if not reference.claim_name:
                continue
            key = (pod.key[0], reference.claim_name)
            others = self._claim_users[key] - 1
            if others > 0 or len(self.state.claim(key).reserved_for) > 1:
                return f"it shares claim {reference.claim_name} with pods that keep it allocated"
        return self._find_inconsistent_claim(pod)

    @cached_property
    def _claim_users(self) -> Counter[Key]:
        """The number of pods that name each claim in their spec."""
        return Counter(
            (key[0], reference.claim_name)
            for key, pod in self.state.pods.items()
            if not pod.has_ended
            for reference in pod.claim_references
            if reference.claim_name
        )

    def _find_inconsistent_claim(self, pod: Pod) -> str:
        """Return the inconsistency of a pod's claims, which makes the result of its eviction
        unknown; "" if there is none.
        """
        for name in sorted(pod.claim_names):
            claim = self.state.claim((pod.key[0], name))
            if not claim.exists:
                return f"its claim {name} is not in the input"
            if not claim.is_allocated:
                return f"its claim {name} is not allocated although it runs"
        return ""


def _object_to_eviction(budget: DisruptionBudget, pod: Pod) -> str:
    """Return why a budget does not let a pod be evicted; "" if it does (checkAndDecrement)."""
    name = f"PodDisruptionBudget {budget.name}"
    if pod.condition("Ready").status != "True":
        is_healthy = budget.current_healthy >= budget.desired_healthy > 0
        if budget.always_evicts_unhealthy or is_healthy:
            return ""
    if not budget.is_observed:
        return f"{name} has no status for its spec yet"
    if pod.name in budget.disrupted_pods or budget.allowed_disruptions <= 0:
        return f"{name} allows no disruption"
    return ""


def find_movable_pods(
    state: ClusterState, priority: int, keep: LabelQuery | None = None
) -> Movability:
    """Sort the running pods of a cluster by whether they may move for a subject of ``priority``."""
    protection = Protection(state, priority, keep)
    kept: dict[Key, str] = {}
    bare: list[Unit] = []
    groups: dict[tuple[str, Key], list[Pod]] = {}
    active = Counter(filter(None, (workload_key(pod) for pod in state.pods.values())))
    for key, pod in state.pods.items():
        if not pod.node_name or pod.has_ended:
            continue
        gang = _name_gang(state, pod)
        groups.setdefault((gang, ("", "") if gang else key), []).append(pod)
    units: list[Unit] = []
    for (gang, _), pods in groups.items():
        reasons = {pod.key: protection.find_reason(pod) for pod in pods}
        if not any(reasons.values()):
            units.append(_make_unit(pods, gang, active))
            continue
        reason = next(filter(None, reasons.values()))
        kept |= {key: why or f"it belongs to {gang}: {reason}" for key, why in reasons.items()}
        pod = pods[0]
        is_bare = pod.controller is None and not pod.deletion_timestamp
        if len(pods) == 1 and is_bare and not protection.find_reason_to_keep(pod):
            bare.append(Unit((pod,), loss=4))
    return Movability(tuple(units), kept, tuple(bare), _limit_failures(state, units))


def _name_gang(state: ClusterState, pod: Pod) -> str:
    """Return the gang of a pod. The pods of a gang start together, and therefore move together."""
    leader_worker = pod.leader_worker_group
    if leader_worker is not None:
        return f"LeaderWorkerSet/{pod.key[0]}/{leader_worker[0]} group {leader_worker[1]}"
    group = find_pod_group(state, pod)
    if group is None or group.min_count is None:
        return ""
    return " ".join((group.name, *group.reference[1:]))


def _make_unit(pods: Iterable[Pod], gang: str, active: Counter[WorkloadKey]) -> Unit:
    members = tuple(sorted(pods, key=lambda pod: pod.key))
    workload = workload_key(members[0])
    return Unit(members, gang, workload, _rank_loss(workload, gang, active))


def _rank_loss(workload: WorkloadKey | None, gang: str, active: Counter[WorkloadKey]) -> int:
    """Rank the work that a restart loses: from 0 for one of several replicas to 3 for a gang."""
    if gang:
        return 3
    if workload is None or workload[0] in ("Deployment", "ReplicaSet", "ReplicationController"):
        return 0 if workload is not None and active[workload] > 1 else 1
    return 1 if workload[0] == "StatefulSet" else 2


def _limit_failures(state: ClusterState, units: Iterable[Unit]) -> dict[WorkloadKey, int]:
    limits: dict[WorkloadKey, int] = {}
    for unit in units:
        workload = unit.workload
        if workload is None or workload[0] != "Job" or workload in limits:
            continue
        job = state.workload(*workload)
        if failure_action(job, mark_evicted(unit.pods[0])) != "Ignore":
            limits[workload] = count_failures_left(job)
    return limits


def list_idle_budgets(state: ClusterState) -> list[str]:
    """Return the PodDisruptionBudgets that select no pod."""
    pods = state.pods.values()
    return [
        "/".join(key)
        for key, raw in state.objects("PodDisruptionBudget").items()
        if not any(DisruptionBudget(raw, key).selects(pod) for pod in pods)
    ]
