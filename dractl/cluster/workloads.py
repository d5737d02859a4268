"""Pods and the workloads that recreate them: the walk from one to the other, and which pod a controller ends first.

kubernetes pkg/controller/controller_utils.go ActivePodsWithRanks, pkg/controller/statefulset, pkg/controller/job.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from dractl.cluster.podgroups import is_member
from dractl.cluster.pods import ended
from dractl.cluster.shell import quote_command
from dractl.cluster.state import API_GROUPS, ClusterState, Key, map_at, maps_at, text_at
from dractl.objects import Raw

_HASH = "pod-template-hash"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_QUEUE = "kueue.x-k8s.io/queue-name"
_PHASES = ("Pending", "Unknown", "Running")
SCALABLE_KINDS = ("Deployment", "ReplicaSet", "StatefulSet")  # those with spec.replicas
WORKLOAD_KINDS = (
    *SCALABLE_KINDS,
    "DaemonSet",
    "Job",
)  # those whose pod template is at spec.template


def controller_of(pod: Raw | None) -> Raw | None:
    """The owner that recreates the pod when it is deleted; None where it has none, or has ended."""
    if pod is None or ended(pod):
        return None
    return next(
        (o for o in maps_at(pod, "metadata", "ownerReferences") if o.get("controller") is True),
        None,
    )


def workload_of(pod: Raw | None) -> tuple[str, str] | None:
    """Kind and name of the workload in which the pod is written: the Deployment, not its ReplicaSet."""
    owner = controller_of(pod)
    if owner is None:
        return None
    kind, name = text_at(owner, "kind"), text_at(owner, "name")
    made = text_at(pod, "metadata", "labels", _HASH)
    if kind == "ReplicaSet" and made and name.endswith(f"-{made}"):
        return "Deployment", name.removesuffix(f"-{made}")
    return kind, name


def leader_group(pod: Raw | None) -> tuple[str, str] | None:
    """The LeaderWorkerSet of a pod, and its group in it (sigs.k8s.io/lws api/leaderworkerset/v1)."""
    labels = map_at(pod, "metadata", "labels")
    name, index = (
        labels.get(f"leaderworkerset.sigs.k8s.io/{key}") for key in ("name", "group-index")
    )
    return (name, index) if isinstance(name, str) and isinstance(index, str) else None


def workload_target(pod: Raw | None, namespace: str) -> str | None:
    """``Kind/namespace/name`` of the workload of a pod."""
    owner = workload_of(pod)
    return f"{owner[0]}/{namespace}/{owner[1]}" if owner is not None else None


def pods_of_workload(state: ClusterState, kind: str, key: Key) -> Iterator[tuple[Key, Raw]]:
    """The pods below a workload, over any number of owners between (a CronJob's Jobs, a RayJob's RayCluster), and those
    of a PodGroup."""
    owners = {(kind, key[1])}
    between = [
        (middle, other[1], value)
        for middle in state.kinds
        if middle not in API_GROUPS
        for other, value in state.objects(middle).items()
        if other[0] == key[0] and maps_at(value, "metadata", "ownerReferences")
    ]
    reached = 0
    while reached < len(owners):  # the objects are in any order
        reached = len(owners)
        owners |= {(middle, name) for middle, name, value in between if _has_owner(value, owners)}
    for other, pod in state.objects("Pod").items():
        if other[0] == key[0] and (_has_owner(pod, owners) or is_member(state, pod, kind, key[1])):
            yield other, pod


def _has_owner(value: Raw, owners: set[tuple[str, str]]) -> bool:
    references = maps_at(value, "metadata", "ownerReferences")
    return any((text_at(r, "kind"), text_at(r, "name")) in owners for r in references)


def newest_refusal(state: ClusterState, namespace: str, name: str) -> tuple[str, str] | None:
    """The object that cannot create the pods of a workload (itself, its ReplicaSet or Job), and the newest refusal."""
    newest = ("", "", "")
    for (where, owner), kind, when, message in _iter_refusals(state):
        if where == namespace and (owner == name or owner.startswith(f"{name}-")):
            newest = max(newest, (when, message, f"{kind} {namespace}/{owner}"))
    return (newest[2], newest[1]) if newest[1] else None


def workloads_with_refusals(state: ClusterState) -> set[tuple[str, Key]]:
    """Kind and key of the topmost workload behind each refusal to create a pod."""
    return {topmost(state, kind, key) for key, kind, _, _ in _iter_refusals(state)}


def topmost(state: ClusterState, kind: str, key: Key) -> tuple[str, Key]:
    """Kind and key of the workload above all others that own one, as far as the input has them."""
    seen: set[tuple[str, Key]] = set()
    while (kind, key) not in seen:
        seen.add((kind, key))
        for owner in maps_at(state.get(kind, key), "metadata", "ownerReferences"):
            above = (text_at(owner, "kind"), (key[0], text_at(owner, "name")))
            if state.get(*above) is not None:
                kind, key = above
                break
    return kind, key


_COMBINED = "(combined from similar events): "  # k8s.io/client-go tools/record


def _iter_refusals(state: ClusterState) -> Iterator[tuple[Key, str, str, str]]:
    """Key and kind of whoever may not create a pod, when, and the refusal: from events, and from the condition that
    ReplicaSets and Deployments have (kubernetes pkg/controller/replicaset/replica_set_utils.go)."""
    for (namespace, _), event in state.objects("Event").items():
        if event.get("reason") == "FailedCreate":
            about = map_at(event, "involvedObject") or map_at(event, "regarding")
            when = text_at(event, "lastTimestamp") or text_at(event, "eventTime")
            message = (text_at(event, "message") or text_at(event, "note")).removeprefix(_COMBINED)
            yield (namespace, text_at(about, "name")), text_at(about, "kind"), when, message
    for kind in ("ReplicaSet", "Deployment"):
        for key, value in state.objects(kind).items():
            for condition in maps_at(value, "status", "conditions"):
                if condition.get("type") == "ReplicaFailure" and condition.get("status") == "True":
                    yield (
                        key,
                        kind,
                        text_at(condition, "lastTransitionTime"),
                        text_at(condition, "message"),
                    )


def count_missing_pods(state: ClusterState, kind: str, key: Key, value: Raw) -> int:
    """The number of pods that a workload lacks because their creation is refused; 0 if nothing refuses it."""
    if newest_refusal(state, *key) is None:
        return 0
    pods = [pod for _, pod in pods_of_workload(state, kind, key)]
    return max(
        _desired_pods(kind, value)
        - (len(pods) if kind != "Job" else sum(not ended(pod) for pod in pods)),
        0,
    )


def _desired_pods(kind: str, value: Raw) -> int:
    """The pods that a workload wants at this time."""
    spec, status = map_at(value, "spec"), map_at(value, "status")
    if kind == "DaemonSet":
        return _number(status.get("desiredNumberScheduled"), 1)
    if kind == "Job":
        # Without completions, none is started after the first success: pkg/controller/job/job_controller.go manageJob.
        parallel, done = _number(spec.get("parallelism"), 1), _number(status.get("succeeded"), 0)
        left = _number(spec.get("completions"), 0 if done else parallel) - done
        return 0 if spec.get("suspend") is True else max(min(parallel, left), 0)
    return _number(spec.get("replicas"), 1) if kind in SCALABLE_KINDS else 1


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) else default


class ActivePods:
    """By workload the pods that have neither ended nor are Terminating; indexed when first asked for."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._pods: dict[tuple[str, str, str], list[Raw]] | None = None

    def of(self, kind: str, key: Key) -> list[Raw]:
        """The pods of one workload."""
        if self._pods is None:
            self._pods = {}
            for (namespace, _), pod in self._state.objects("Pod").items():
                owner = workload_of(pod)
                if owner is not None and not text_at(pod, "metadata", "deletionTimestamp"):
                    self._pods.setdefault((*owner, namespace), []).append(pod)
        return self._pods.get((kind, key[1], key[0]), [])


def deletion_rank(kind: str, active: Sequence[Raw]) -> Callable[[Raw], tuple[int, ...]]:
    """The order in which a controller ends pods: the least first. A StatefulSet begins with the highest ordinal. A
    ReplicaSet takes pods without a node, pending, not ready, cheap, many on one node; age comes next, which is compared
    by its logarithm and so left to chance."""
    if kind == "StatefulSet":
        return lambda pod: (-ordinal(pod),)
    nodes = Counter(text_at(p, "spec", "nodeName") for p in active)

    def rank(pod: Raw) -> tuple[int, ...]:
        node, phase = text_at(pod, "spec", "nodeName"), text_at(pod, "status", "phase")
        conditions = maps_at(pod, "status", "conditions")
        ready = any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)
        started = _PHASES.index(phase) if phase in _PHASES else 0
        return bool(node), started, ready, deletion_cost(pod), -nodes[node]

    return rank


def with_volumes(stateful_set: Raw, pod: Raw) -> Raw:
    """A pod of a StatefulSet with the volumes that its volumeClaimTemplates give the replica of that name, each with
    what its claim is made from (kubernetes pkg/controller/statefulset/stateful_set_utils.go updateStorage)."""
    templates = {
        text_at(t, "metadata", "name"): t
        for t in maps_at(stateful_set, "spec", "volumeClaimTemplates")
    }
    if not templates:
        return pod
    replica = text_at(pod, "metadata", "name")
    volumes: list[Raw] = [
        v for v in maps_at(pod, "spec", "volumes") if v.get("name") not in templates
    ]
    for name, template in templates.items():
        claimed = {"claimName": f"{name}-{replica}"}
        volumes.append(
            {
                "name": name,
                "persistentVolumeClaim": claimed,
                "ephemeral": {"volumeClaimTemplate": template},
            }
        )
    return {**pod, "spec": {**map_at(pod, "spec"), "volumes": volumes}}


def ordinal(pod: Raw) -> int:
    """The number at the end of the name of a StatefulSet's pod; 0 for other names."""
    number = text_at(pod, "metadata", "name").rpartition("-")[2]
    return int(number) if number.isdigit() else 0


def deletion_cost(pod: Raw) -> int:
    """The pod's annotation ``pod-deletion-cost``, 0 by default."""
    cost = str(map_at(pod, "metadata", "annotations").get(DELETION_COST, "0"))
    return int(cost) if cost.lstrip("-").isdigit() else 0


# -- workloads that want no pods now: suspended, paused, scaled to zero, done --


class IdleState(Struct, frozen=True):
    """Why a workload creates no pods although nothing refuses them, and the command that makes it create some."""

    why: str
    resume: str = ""


def idle_state(kind: str, key: Key, value: Raw | None) -> IdleState | None:
    """Why a workload of a cluster wants no pods now; None if it wants some."""
    if not text_at(value, "metadata", "uid"):
        return None
    namespace, name = key
    called = f"{kind} {namespace}/{name}"
    spec, conditions = map_at(value, "spec"), maps_at(value, "status", "conditions")
    over = (
        {text_at(c, "type"): c for c in conditions if c.get("status") == "True"}
        if kind == "Job"
        else {}
    )
    for condition, word in (("Complete", "is done"), ("Failed", "has failed")):
        if condition in over:
            why = text_at(over[condition], "message") if condition == "Failed" else ""
            return IdleState(f"{called} {word}" + (f" ({why})" if why else ""))
    if spec.get("suspend") is True:
        queue = text_at(value, "metadata", "labels", _QUEUE)
        if queue:
            why = f"{called} is suspended until LocalQueue {namespace}/{queue} of Kueue admits it"
            return IdleState(
                why, quote_command("kubectl get workloads.kueue.x-k8s.io -n {}", namespace)
            )
        suspended = '{"spec":{"suspend":false}}'
        resume = quote_command(
            "kubectl patch {} {} -n {} --type=merge -p {}", kind.lower(), name, namespace, suspended
        )
        return IdleState(f"{called} is suspended (spec.suspend) and creates no pods", resume)
    if kind == "Deployment" and spec.get("paused") is True:
        resume = quote_command("kubectl rollout resume deployment/{} -n {}", name, namespace)
        return IdleState(
            f"{called} is paused (spec.paused) and creates no pods of a new template", resume
        )
    if spec.get("replicas") == 0:
        resume = quote_command(
            "kubectl scale {}/{} -n {} --replicas=1", kind.lower(), name, namespace
        )
        return IdleState(f"{called} has 0 replicas", resume)
    if spec.get("parallelism") == 0:
        return IdleState(f"{called} has parallelism 0 and creates no pods")
    if kind == "CronJob" and not maps_at(value, "status", "active"):
        return IdleState(f"{called} has no Job now; its schedule is {text_at(spec, 'schedule')}")
    return None
