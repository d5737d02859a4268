"""What the controllers of workloads do next after a change, coarsely: which pods end and how many are made.

kubernetes pkg/controller/deployment (sync.go, rolling.go, recreate.go), pkg/controller/replicaset,
pkg/controller/statefulset/stateful_set_control.go, pkg/controller/daemon, pkg/controller/job/job_controller.go;
kubernetes-sigs/jobset pkg/controllers/failure_policy.go. A pod with a node counts as available, unless it says that it
is not ready.
"""

from collections.abc import Sequence
from math import ceil, floor

from msgspec import Struct

from dractl.cluster.pods import ended
from dractl.cluster.state import ClusterState, Key, at, list_at, map_at, maps_at, text_at
from dractl.cluster.workloads import controller, deletion_rank, ordinal
from dractl.objects import Raw

_BACKOFF_LIMIT, _UNLIMITED = 6, 2**31 - 1  # pkg/apis/batch/v1/defaults.go
_KILLED = (137, 143)  # exit codes after SIGKILL and SIGTERM
_REVISION = "deployment.kubernetes.io/revision"
_REPLICATED = "jobset.sigs.k8s.io/replicatedjob-name"
_BY_REPLICAS = ("Deployment", "ReplicaSet", "ReplicationController")
KNOWN = (
    *_BY_REPLICAS,
    "StatefulSet",
    "DaemonSet",
    "Job",
    "Node",
)  # a kubelet makes the pods of its files anew


class Owned(Struct, frozen=True):
    """A workload in a change: ``was`` and ``now`` are the object before and after it, ``before`` its active pods then,
    ``deleted`` those of them that the change deletes. ``made`` are pods that were made since, ``refused`` how many the
    API server did not take."""

    kind: str
    key: Key
    was: Raw | None
    now: Raw | None
    before: tuple[Raw, ...]
    deleted: tuple[Raw, ...]
    active: tuple[Raw, ...]
    made: frozenset[str] = frozenset()
    refused: int = 0


class Act(Struct, frozen=True):
    """What a controller does next: pods that it ends, and pods that it makes like those of ``like``. ``fails`` says why
    a Job ends with all its pods, ``reason`` is that of its condition."""

    end: tuple[Raw, ...] = ()
    like: tuple[Raw, ...] = ()
    fails: str = ""
    reason: str = ""


REST = Act()


def next_act(state: ClusterState, owned: Owned) -> Act:
    """The next act of a workload's controller; :data:`REST` if there is none."""
    if owned.kind == "Job":
        return _job(owned)
    if owned.kind == "Deployment" and _rolls(owned):
        return _rollout(state, owned)
    if owned.kind == "StatefulSet":
        return _in_order(owned)
    if owned.kind == "DaemonSet" and _replaces(owned):
        return _rollout_on_nodes(owned)
    if owned.kind in _BY_REPLICAS:
        return _replicas(owned)
    return _as_before(owned)


def available(pod: Raw) -> bool:
    """True for a pod on a node that does not say that it is not ready."""
    conditions = maps_at(pod, "status", "conditions")
    ready = next((c for c in conditions if c.get("type") == "Ready"), None)
    return bool(text_at(pod, "spec", "nodeName")) and (
        ready is None or ready.get("status") == "True"
    )


def rolling(value: Raw | None) -> tuple[int, int] | None:
    """How many pods more than its replicas a Deployment may have in a rollout, and how many fewer; None for the
    strategy Recreate (pkg/controller/deployment/util ResolveFenceposts)."""
    if text_at(value, "spec", "strategy", "type") == "Recreate":
        return None
    replicas = _replicas_of(value)
    update = map_at(value, "spec", "strategy", "rollingUpdate")
    surge = _share(update.get("maxSurge", "25%"), replicas, up=True)
    unavailable = _share(update.get("maxUnavailable", "25%"), replicas, up=False)
    return (surge, unavailable) if surge or unavailable else (0, 1)


def _share(value: object, whole: int, *, up: bool) -> int:
    if isinstance(value, str) and value.endswith("%") and value[:-1].isdigit():
        part = int(value[:-1]) * whole / 100
        return ceil(part) if up else floor(part)
    return value if isinstance(value, int) else 0


def _replicas_of(value: Raw | None) -> int:
    found = at(value, "spec", "replicas")
    return found if isinstance(found, int) else 1


# -- Deployments --


def _rolls(owned: Owned) -> bool:
    """True if the change has a Deployment replace its pods: another template, or another strategy while it does."""
    if owned.now is None or at(owned.now, "spec", "paused") is True:
        return False
    if at(owned.was, "spec", "template") != at(owned.now, "spec", "template") or _resumed(owned):
        return True
    return bool(at(owned.was, "spec", "strategy") != at(owned.now, "spec", "strategy"))


def _resumed(owned: Owned) -> bool:
    """True for a Deployment that is not paused any more: its template has changed in the meantime."""
    return at(owned.was, "spec", "paused") is True


def _rollout(state: ClusterState, owned: Owned) -> Act:
    """pkg/controller/deployment/rolling.go: reconcileNewReplicaSet, reconcileOldReplicaSets, cleanupUnhealthyReplicas.
    ``like`` of the old pods: which template they are made of is known to who asks."""
    replicas, how = _replicas_of(owned.now), rolling(owned.now)
    new = [pod for pod in owned.active if _is_new(state, owned, pod)]
    old = [pod for pod in owned.active if not any(pod is other for other in new)]
    model = owned.before[:1]
    if how is None:
        return (
            Act(end=tuple(old))
            if old
            else Act(like=model * max(replicas - len(new) - owned.refused, 0))
        )
    surge, unavailable = how
    wanted = len(new) + owned.refused
    total = wanted + len(old)
    make = min(replicas - wanted, replicas + surge - total)
    if make > 0:
        return Act(like=model * make)
    missing = wanted - sum(map(available, new))
    fewer = total - (replicas - unavailable) - missing
    if fewer <= 0 or not old:
        return REST
    unhealthy = [pod for pod in old if not available(pod)]
    if unhealthy:
        return Act(end=tuple(unhealthy[:fewer]))
    spare = sum(map(available, owned.active)) - (replicas - unavailable)
    old.sort(key=deletion_rank("ReplicaSet", owned.active))
    return Act(end=tuple(old[: max(min(fewer, spare), 0)]))


def _is_new(state: ClusterState, owned: Owned, pod: Raw) -> bool:
    """True for a pod of the revision to which a Deployment rolls."""
    if text_at(pod, "metadata", "uid") in owned.made:
        return True
    if at(owned.was, "spec", "template") != at(owned.now, "spec", "template") or _resumed(owned):
        return False
    own = text_at(controller(pod), "name")
    sets = {
        key[1]: int(revision)
        for key, value in state.all("ReplicaSet").items()
        if key[0] == owned.key[0]
        and any(
            text_at(o, "name") == owned.key[1]
            for o in maps_at(value, "metadata", "ownerReferences")
        )
        and (revision := str(map_at(value, "metadata", "annotations").get(_REVISION))).isdigit()
    }
    return own in sets and all(sets[own] >= other for other in sets.values())


def _replicas(owned: Owned) -> Act:
    """As many pods as before, more or fewer by what the replicas changed; those that end are chosen as
    pkg/controller/controller_utils.go ActivePodsWithRanks orders them."""
    change = (
        _replicas_of(owned.now) - _replicas_of(owned.was)
        if owned.now is not None and owned.was is not None
        else 0
    )
    wanted = max(len(owned.before) + change, 0)
    have = len(owned.active) + owned.refused
    if have < wanted:
        return Act(like=(*owned.deleted, *owned.before)[: wanted - have])
    if have > wanted:
        rank = deletion_rank(owned.kind, owned.active)
        return Act(end=tuple(sorted(owned.active, key=rank)[: have - wanted]))
    return REST


# -- others --


def _in_order(owned: Owned) -> Act:
    """A StatefulSet: its pods keep their names, the highest ordinals end first, and with the policy OrderedReady each
    waits for those before it."""
    replicas = _replicas_of(owned.now) if owned.now is not None else len(owned.before)
    start = at(owned.now, "spec", "ordinals", "start")
    first = start if isinstance(start, int) else 0
    over = (
        [pod for pod in owned.active if ordinal(pod) >= first + replicas]
        if owned.now is not None
        else []
    )
    if over:
        return Act(end=tuple(over))
    there = {text_at(pod, "metadata", "name"): pod for pod in owned.active}
    gone = [pod for pod in owned.deleted if text_at(pod, "metadata", "name") not in there]
    gone = sorted(
        (p for p in gone if owned.now is None or ordinal(p) < first + replicas), key=ordinal
    )
    if text_at(owned.now, "spec", "podManagementPolicy") == "Parallel":
        return Act(like=tuple(gone[owned.refused :]))
    if not gone or owned.refused:
        return REST
    before = [pod for pod in owned.active if ordinal(pod) < ordinal(gone[0])]
    return Act(like=(gone[0],)) if all(map(available, before)) else REST


def _replaces(owned: Owned) -> bool:
    """True if the change has a DaemonSet replace its pods."""
    changed = at(owned.was, "spec", "template") != at(owned.now, "spec", "template")
    return bool(changed) and text_at(owned.now, "spec", "updateStrategy", "type") != "OnDelete"


def _rollout_on_nodes(owned: Owned) -> Act:
    """A DaemonSet replaces first those of its pods that are not available (pkg/controller/daemon/update.go); the others
    follow one after the other."""
    old = [
        p
        for p in owned.active
        if text_at(p, "metadata", "uid") not in owned.made and not available(p)
    ]
    missing = len(owned.before) - len(owned.active) - owned.refused
    there = {text_at(pod, "metadata", "name") for pod in owned.active}
    gone = [pod for pod in owned.before if text_at(pod, "metadata", "name") not in there]
    return Act(end=tuple(old), like=tuple(gone[:missing])) if old or missing > 0 else REST


def _job(owned: Owned) -> Act:
    """A Job counts pods that are deleted as failed (isPodFailed): more than its backoffLimit, and it ends with all its
    pods. What is suspended ends without that."""
    if at(owned.now, "spec", "suspend") is True:
        return Act(end=owned.active) if owned.active else REST
    whole = owned.deleted and len(owned.deleted) == len(owned.before)
    if whole and controller(owned.now) is None:
        return _as_before(owned)  # its pods are made anew by suspending and resuming it
    limit, failed = at(owned.now, "spec", "backoffLimit"), at(owned.now, "status", "failed")
    each = at(owned.now, "spec", "backoffLimitPerIndex")
    most = limit if isinstance(limit, int) else _BACKOFF_LIMIT if each is None else _UNLIMITED
    actions = [_on_failure(owned.now, pod) for pod in owned.deleted]
    counted = sum(action != "Ignore" for action in actions)
    count, name = (failed if isinstance(failed, int) else 0) + counted, "/".join(owned.key)
    if owned.now is not None and "FailJob" in actions:
        why = "its podFailurePolicy ends it with the first killed pod"
        return Act(end=owned.active, fails=f"Job {name} fails: {why}", reason="PodFailurePolicy")
    if counted and owned.now is not None and count > most:
        why = f"backoffLimit {most}, and {count} of its pods have ended"
        return Act(
            end=owned.active, fails=f"Job {name} fails: {why}", reason="BackoffLimitExceeded"
        )
    if each == 0 and counted:
        return REST  # an index whose pod has failed is not tried again
    return _as_before(owned)


class Restart(Struct, frozen=True):
    """What a JobSet does when one of its Jobs fails. ``fails`` says why it fails with it; else it makes the Job anew,
    or all of its Jobs (``whole``). ``left`` is what is left of its restarts then, None where they are not counted."""

    fails: str = ""
    whole: bool = True
    left: int | None = None


def on_failed_job(job_set: Raw, job: Raw | None, reason: str) -> Restart:
    """What the failurePolicy of a JobSet says about a Job that fails for ``reason``. Of its message nothing is known: a
    rule with patterns counts where it fails the JobSet (executeFailurePolicy, ruleIsApplicable)."""
    policy = at(job_set, "spec", "failurePolicy")
    if not isinstance(policy, dict):
        return Restart("it has no failurePolicy")
    of, action = text_at(job, "metadata", "labels", _REPLICATED), "RestartJobSet"
    for rule in maps_at(policy, "rules"):
        reasons, targets = (
            list_at(rule, "onJobFailureReasons"),
            list_at(rule, "targetReplicatedJobs"),
        )
        told = (
            list_at(rule, "onJobFailureMessagePatterns") and text_at(rule, "action") != "FailJobSet"
        )
        if (
            of
            and not told
            and (not reasons or reason in reasons)
            and (not targets or of in targets)
        ):
            action = text_at(rule, "action")
            break
    if action == "FailJobSet":
        return Restart("its failurePolicy says FailJobSet")
    whole = action not in ("RestartJob", "RestartJobAndIgnoreMaxRestarts")
    if action.endswith("IgnoreMaxRestarts"):
        return Restart(whole=whole)
    counts = [at(job_set, "status", "restartsCountTowardsMax")]
    for status in maps_at(job_set, "status", "replicatedJobsStatus"):
        counts += list_at(status, "jobRestartsCountTowardsMax")
    used, most = sum(n for n in counts if isinstance(n, int)), at(policy, "maxRestarts")
    left = (most if isinstance(most, int) else 0) - used
    return (
        Restart("its restarts are used up", whole)
        if left <= 0
        else Restart(whole=whole, left=left - 1)
    )


def _on_failure(job: Raw | None, pod: Raw) -> str:
    """The action of a Job's podFailurePolicy on a running pod that is deleted: SIGTERM or SIGKILL ends its containers.
    A deletion sets no condition (kubernetes pkg/controller/job/pod_failure_policy.go matchPodFailurePolicy)."""
    for rule in (
        maps_at(job, "spec", "podFailurePolicy", "rules")
        if text_at(pod, "spec", "nodeName")
        else ()
    ):
        values, operator = (
            list_at(rule, "onExitCodes", "values"),
            text_at(rule, "onExitCodes", "operator"),
        )
        listed = [code in values for code in _KILLED]
        if (operator == "In" and any(listed)) or (operator == "NotIn" and not all(listed)):
            return text_at(rule, "action")
    return "Count"


def _as_before(owned: Owned) -> Act:
    """A controller that makes each deleted pod anew: a DaemonSet, a Job within its limit, one that is not known."""
    missing = len(owned.before) - len(owned.active) - owned.refused
    return Act(like=owned.deleted[-missing:]) if missing > 0 and owned.deleted else REST


def active(pods: Sequence[Raw]) -> tuple[Raw, ...]:
    """The pods that neither have ended nor are Terminating."""
    return tuple(
        p for p in pods if not ended(p) and not text_at(p, "metadata", "deletionTimestamp")
    )
