"""Workloads, the pods that they make, and the order in which a controller ends pods.

kubernetes pkg/controller/controller_utils.go ActivePodsWithRanks, pkg/controller/statefulset,
pkg/controller/job.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from dractl.cluster.podgroups import is_member
from dractl.cluster.shell import quote_command, scale_command
from dractl.cluster.state import API_GROUPS, ClusterState, Key
from dractl.objects import Raw
from dractl.views import Condition, Pod, View, Workload

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
SCALABLE_KINDS = ("Deployment", "ReplicaSet", "StatefulSet")
"""Kinds with ``spec.replicas``."""
WORKLOAD_KINDS = (*SCALABLE_KINDS, "DaemonSet", "Job")
"""Kinds whose pod template is at ``spec.template``."""
_PHASES = ("Pending", "Unknown", "Running")
"""The phases in the order in which a ReplicaSet ends pods."""


def workload_target(state: ClusterState, pod: Key) -> str | None:
    """Return ``Kind/namespace/name`` of the workload that made a pod; None if none did."""
    owner = state.pod(pod).workload
    return f"{owner[0]}/{pod[0]}/{owner[1]}" if owner is not None else None


def pods_of_target(state: ClusterState, target: str) -> list[Key]:
    """Return the pods that a workload, ``Kind/namespace/name``, has made itself."""
    return [key for key in state.pods if workload_target(state, key) == target]


def pods_of_workload(state: ClusterState, kind: str, key: Key) -> Iterator[tuple[Key, Raw]]:
    """Yield the pods of a PodGroup or a workload.

    Other owners may be between the workload and its pods: a CronJob's Jobs, a RayJob's RayCluster.
    If a dump lacks the ReplicaSets of a Deployment, its pods are recognised by their template hash.
    """
    owners = {(kind, key[1])}
    owned_objects = [
        (other_kind, other_key[1], view)
        for other_kind in state.kinds
        if other_kind not in API_GROUPS
        for other_key, value in state.objects(other_kind).items()
        if other_key[0] == key[0] and (view := View(value)).owners
    ]
    size = 0
    while size < len(owners):  # repeated, since objects may come in any order
        size = len(owners)
        owners |= {(kind, name) for kind, name, view in owned_objects if _has_owner(view, owners)}
    for pod_key, pod in state.pods.items():
        if pod_key[0] == key[0] and (
            _has_owner(pod, owners)
            or pod.workload == (kind, key[1])
            or is_member(state, pod, kind, key[1])
        ):
            yield pod_key, pod.raw


def _has_owner(view: View, owners: set[tuple[str, str]]) -> bool:
    return any((owner.kind, owner.name) in owners for owner in view.owners)


class _Refusal(Struct, frozen=True):
    """A refusal to create a pod."""

    kind: str
    """The kind of the object that tried to create the pod, such as ReplicaSet."""
    key: Key
    time: str
    message: str


def newest_refusal(state: ClusterState, namespace: str, name: str) -> tuple[str, str] | None:
    """Return the object that cannot create the pods of a workload, and the newest refusal.

    The object is the workload itself, its ReplicaSet or its Job; None if nothing is refused.
    """
    refusals = [
        (refusal.time, refusal.message, f"{refusal.kind} {namespace}/{refusal.key[1]}")
        for refusal in _iter_refusals(state)
        if refusal.key[0] == namespace
        and (refusal.key[1] == name or refusal.key[1].startswith(f"{name}-"))
    ]
    _, message, owner = max(refusals, default=("", "", ""))
    return (owner, message) if message else None


def workloads_with_refusals(state: ClusterState) -> set[tuple[str, Key]]:
    """Return kind and key of the topmost workload behind each refusal to create a pod."""
    return {topmost(state, refusal.kind, refusal.key) for refusal in _iter_refusals(state)}


def topmost(state: ClusterState, kind: str, key: Key) -> tuple[str, Key]:
    """Return the kind and key of the topmost owner of a workload, as far as the input has it."""
    visited: set[tuple[str, Key]] = set()
    while (kind, key) not in visited:
        visited.add((kind, key))
        for owner in state.workload(kind, key).owners:
            above = (owner.kind, (key[0], owner.name))
            if state.get(*above) is not None:
                kind, key = above
                break
    return kind, key


def _iter_refusals(state: ClusterState) -> Iterator[_Refusal]:
    """Yield the refusals to create a pod, from events and from conditions.

    ReplicaSets and Deployments report refusals in a condition (kubernetes
    pkg/controller/replicaset/replica_set_utils.go).
    """
    for (namespace, _), event in state.events.items():
        if event.reason == "FailedCreate":
            owner = event.regarding
            yield _Refusal(owner.kind, (namespace, owner.name), event.last_seen, event.message)
    for kind in ("ReplicaSet", "Deployment"):
        for key, value in state.objects(kind).items():
            failure = Workload(value).condition("ReplicaFailure")
            if failure.status == "True":
                yield _Refusal(kind, key, failure.last_transition, failure.message)


def count_missing_pods(state: ClusterState, kind: str, key: Key) -> int:
    """Count the pods that a workload lacks because their creation is refused; 0 if no creation is
    refused.
    """
    if newest_refusal(state, *key) is None:
        return 0
    pods = [Pod(pod) for _, pod in pods_of_workload(state, kind, key)]
    existing = sum(not pod.has_ended for pod in pods) if kind == "Job" else len(pods)
    return max(_count_wanted_pods(kind, state.workload(kind, key)) - existing, 0)


def _count_wanted_pods(kind: str, workload: Workload) -> int:
    """Count the pods that a workload wants to have at this time."""
    if kind == "DaemonSet":
        return _default_to(workload.desired_number_scheduled, 1)
    if kind == "Job":
        # Without completions, no pod is started after the first success:
        # pkg/controller/job/job_controller.go manageJob.
        parallelism, succeeded = _default_to(workload.parallelism, 1), workload.succeeded or 0
        completions = _default_to(workload.completions, 0 if succeeded else parallelism)
        remaining = max(min(parallelism, completions - succeeded), 0)
        return 0 if workload.is_suspended else remaining
    return _default_to(workload.replicas, 1) if kind in SCALABLE_KINDS else 1


def _default_to(number: int | None, default: int) -> int:
    return default if number is None else number


class ActivePods:
    """The pods that have not ended and are not Terminating, by workload.

    They are indexed on first use.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._pods: dict[tuple[str, str, str], list[Raw]] | None = None

    def pods_of(self, kind: str, key: Key) -> list[Raw]:
        """Return the active pods of one workload."""
        if self._pods is None:
            self._pods = {}
            for (namespace, _), pod in self._state.pods.items():
                owner = pod.workload
                if owner is not None and not pod.deletion_timestamp:
                    self._pods.setdefault((*owner, namespace), []).append(pod.raw)
        return self._pods.get((kind, key[1], key[0]), [])


def deletion_rank(kind: str, active: Sequence[Raw]) -> Callable[[Raw], tuple[int, ...]]:
    """Return the sort key by which a controller ends pods, the smallest first.

    A StatefulSet begins with the highest ordinal. A ReplicaSet prefers pods without a node, then
    pending ones, those that are not ready, those with a low deletion cost, and those with many
    others on their node. Then it compares the logarithms of ages, which is left out here.
    """
    if kind == "StatefulSet":
        return lambda raw: (-ordinal(raw),)
    pods_by_node = Counter(Pod(raw).node_name for raw in active)

    def rank(raw: Raw) -> tuple[int, ...]:
        pod = Pod(raw)
        progress = _PHASES.index(pod.phase) if pod.phase in _PHASES else 0
        is_ready = pod.condition("Ready").status == "True"
        crowding = -pods_by_node[pod.node_name]
        return bool(pod.node_name), progress, is_ready, deletion_cost(raw), crowding

    return rank


def with_volumes(stateful_set: Raw, pod: Raw) -> Raw:
    """Return a pod of a StatefulSet with the volumes that its volumeClaimTemplates give it.

    Each volume has the template of its claim (kubernetes
    pkg/controller/statefulset/stateful_set_utils.go updateStorage).
    """
    templates = Workload(stateful_set).volume_claim_templates
    if not templates:
        return pod
    view = Pod(pod)
    volumes: list[Raw] = [volume for volume in view.volumes if volume.get("name") not in templates]
    volumes += [
        {
            "name": name,
            "persistentVolumeClaim": {"claimName": f"{name}-{view.name}"},
            "ephemeral": {"volumeClaimTemplate": template},
        }
        for name, template in templates.items()
    ]
    return {**pod, "spec": {**view.spec, "volumes": volumes}}


def ordinal(pod: Raw) -> int:
    """Return the number at the end of the name of a StatefulSet's pod; 0 for other names."""
    return parse_ordinal(Pod(pod).name) or 0


def parse_ordinal(pod_name: str) -> int | None:
    """Return the number at the end of a pod's name; None if there is none."""
    number = pod_name.rpartition("-")[2]
    return int(number) if number.isdecimal() else None


def deletion_cost(pod: Raw) -> int:
    """Return the pod's annotation ``pod-deletion-cost``, 0 by default."""
    cost = str(Pod(pod).annotations.get(DELETION_COST, "0"))
    return int(cost) if cost.lstrip("-").isdigit() else 0


# -- workloads that want no pods now: suspended, paused, scaled to zero, done --


class IdleState(Struct, frozen=True):
    """The reason why a workload creates no pods although nothing refuses them."""

    why: str
    resume: str = ""
    """The command that makes the workload create pods, "" if there is none."""


def idle_state(state: ClusterState, kind: str, key: Key) -> IdleState | None:
    """Return why an existing workload wants no pods now; None if it wants some."""
    workload = state.workload(kind, key)
    if not workload.uid:
        return None
    namespace, name = workload.key
    title = f"{kind} {namespace}/{name}"
    if kind == "Job" and (end := _job_end(workload.conditions)):
        return IdleState(f"{title} {end}")
    if workload.is_suspended:
        return _suspension(kind, title, workload, _kueue_words(state, workload))
    if kind == "Deployment" and workload.is_paused:
        resume = quote_command("kubectl rollout resume deployment/{} -n {}", name, namespace)
        return IdleState(
            f"{title} is paused (spec.paused) and creates no pods of a new template", resume
        )
    if workload.replicas == 0:
        resume = scale_command(kind, name, namespace, 1)
        return IdleState(f"{title} has 0 replicas", resume)
    if workload.parallelism == 0:
        return IdleState(f"{title} has parallelism 0 and creates no pods")
    if kind == "CronJob" and not workload.has_active_jobs:
        return IdleState(f"{title} has no Job now; its schedule is {workload.schedule}")
    return None


def _job_end(conditions: Mapping[str, Condition]) -> str:
    """Return how a Job has ended, such as ``is done``; "" if it still runs."""
    if conditions.get("Complete", Condition()).status == "True":
        return "is done"
    failure = conditions.get("Failed", Condition())
    if failure.status != "True":
        return ""
    return f"has failed ({failure.message})" if failure.message else "has failed"


def _kueue_words(state: ClusterState, workload: Workload) -> str:
    """Return what Kueue says of a workload for which it has reserved no quota; "" if it is silent.

    It does not know a device class that was mapped while its manager ran
    (kubernetes-sigs/kueue#13727).
    """
    for raw in state.objects("Workload").values():
        view = Workload(raw)
        reserved = view.condition("QuotaReserved")
        is_its_own = any(owner.uid == workload.uid for owner in view.owners)
        if is_its_own and reserved.status == "False" and reserved.message:
            hint = (
                " (Kueue reads deviceClassMappings only when its manager starts)"
                if "is not mapped in DRA configuration" in reserved.message
                else ""
            )
            return f"Kueue says: {reserved.message.rstrip('.')}{hint}"
    return ""


def _suspension(kind: str, title: str, workload: Workload, kueue_words: str) -> IdleState:
    namespace, name = workload.key
    queue = workload.local_queue
    if queue:
        why = f"{title} is suspended until LocalQueue {namespace}/{queue} of Kueue admits it"
        why = "; ".join(filter(None, (why, kueue_words)))
        return IdleState(
            why, quote_command("kubectl get workloads.kueue.x-k8s.io -n {}", namespace)
        )
    patch = '{"spec":{"suspend":false}}'
    resume = quote_command(
        "kubectl patch {} {} -n {} --type=merge -p {}", kind.lower(), name, namespace, patch
    )
    return IdleState(f"{title} is suspended (spec.suspend) and creates no pods", resume)
