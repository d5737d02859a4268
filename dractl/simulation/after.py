"""A cluster after a change and after all that follows from it, as far as it matters to one pod."""

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any

from msgspec import Struct

from dractl.cluster.changes import Change, Create, Delete, Patch, apply, parse_target
from dractl.cluster.state import ClusterState, Key, map_at, maps_at, text_at
from dractl.cluster.workloads import WORKLOADS, controller, leader_group, workload
from dractl.objects import Raw
from dractl.scheduler.attempt import Scheduler
from dractl.simulation.admission import pod_refusal
from dractl.simulation.controllers import KNOWN, Act, Owned, active, next_act, on_failed_job
from dractl.simulation.queue import QueuedPod, entries, identity, pending, place

Workload = tuple[str, Key]


_ROUNDS = 12
_MADE = 24  # pods that are made at most: more of a rollout are like these
_COMMON = ("DeviceClass", "DeviceTaintRule")  # they can help a pod anywhere


class World(Struct, frozen=True):
    """A cluster after a change. ``runs``: the pod that was asked about has a node, or the one that its workload makes
    in its place. ``placed`` are pods that got one, in their order; ``ended`` those that had one and are gone.
    ``refused`` is what the API server says to pods that are to be made, ``failed`` which Jobs end, and ``stays`` are
    pods that their finalizers keep. ``remarks`` is what controllers do besides, what is assumed of those that are not
    known, and who is left pending."""

    scheduler: Scheduler
    runs: bool
    placed: tuple[tuple[Key, str], ...] = ()
    ended: tuple[Key, ...] = ()
    refused: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    stays: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def ahead(self) -> tuple[Key, ...]:
        """The pods that were waiting before, and got a node."""
        return tuple(key for key, _ in self.placed if not key[1].endswith(_NEW))


_NEW = "-anew"
_WHOLE_GROUP = "RecreateGroupOnPodRestart"
_OWN_FINALIZERS = ("batch.kubernetes.io/job-tracking", "foregroundDeletion", "orphan")


def after(
    scheduler: Scheduler,
    changes: Sequence[Change],
    pod: Key,
    *,
    spec: Raw | None = None,
    again: Collection[Key] = (),
    given: Sequence[Change] = (),
    fitting: Collection[str] | None = None,
) -> World:
    """The cluster of ``scheduler`` after ``changes``. ``pod`` is the one that must run; ``spec`` is that of the pods
    that its workload makes after the change, where it changes them. Pods in ``again`` are replaced by a new one of the
    same name. ``given`` is what happens besides, and what no controller undoes; ``fitting`` are the nodes that
    are known to fit the pod if nobody is in front of it, None if that is not known. Raises PatchError."""
    before = scheduler.state
    changes = (*changes, *_whole_groups(before, changes), *_suspended_jobs(before, changes))
    stays = tuple(_kept(before, changes))
    state = apply(apply(before, given), changes)
    for key in stays:
        value = before.get("Pod", key)
        if value is not None and not text_at(value, "spec", "nodeName"):
            metadata = {**map_at(value, "metadata"), "deletionTimestamp": "9999-12-31T00:00:00Z"}
            state = state.replace("Pod", key, {**value, "metadata": metadata})
    owners = _concerned(before, changes)
    among = _touched(scheduler, (*given, *changes))
    where = None if fitting is None or among is None else among.union(fitting)
    was = {owner: _pods(scheduler, before, owner) for owner in owners}
    deleted = {
        owner: tuple(p for p in was[owner] if state.get("Pod", _key(p)) is None or _key(p) in stays)
        for owner in owners
    }
    asked = before.get("Pod", pod)
    own = _workload(asked, pod[0])
    running_before = 0 if own is None else _on_nodes(_pods(scheduler, before, own))
    made: set[str] = set()
    created = state.get("Pod", pod)
    if (
        text_at(asked, "metadata", "uid")
        and created is not None
        and not text_at(created, "metadata", "uid")
    ):
        state = state.replace(
            "Pod", pod, {**created, "metadata": {**created["metadata"], "uid": pod[1] + _NEW}}
        )
    wanted = {identity(pod, asked), pod[1] + _NEW}
    renewed = {identity(key, before.get("Pod", key)) for key in again} | _without_claim(
        state, changes
    )
    refused: dict[Workload, int] = {}
    said: list[str] = []
    over: dict[Workload, str] = {}  # Jobs that have failed, and what is to be said of it
    remarks: list[str] = []
    placed: list[tuple[Key, str]] = []
    running = scheduler.after(state)
    story: list[Hashable] = [repr((given, changes)), created is not asked and pod]
    for _ in range(_ROUNDS):
        acted = False
        for owner in owners:
            if owner in over:
                continue
            kind, key = owner
            owned = Owned(
                kind,
                key,
                before.get(kind, key),
                state.get(kind, key),
                was[owner],
                deleted[owner],
                _pods(scheduler, state, owner),
                frozenset(made),
                refused.get(owner, 0),
            )
            act = next_act(state, owned)
            if act.fails:
                act, jobs, remark = _failed(scheduler, state, owned, act)
                over |= jobs
                remarks.append(remark)
            if kind not in KNOWN and act.like:
                name = f"{kind} {'/'.join(key)}"
                remarks.append(
                    f"assumed: {name}, a kind that dractl does not know, makes its pods anew"
                )
            for gone in act.end:
                ends = Delete("/".join(("Pod", *_key(gone))))
                state = apply(state, (ends, *_whole_groups(state, (ends,))))
                story.append(ends.target)
                acted = True
            for model in act.like[: max(_MADE - len(made), 0)]:
                of_own = _workload(model, key[0]) == own
                fresh = _like(model, spec if of_own else None, len(made), kind)
                why = pod_refusal(state, scheduler.features, fresh)
                if why is None and (
                    state.get("Pod", _key(fresh)) is not None or _key(fresh) in stays
                ):
                    why = f"pod {'/'.join(_key(fresh))} is still there"
                acted = True
                if why is not None:
                    refused[owner] = refused.get(owner, 0) + 1
                    said.append(f"{kind} {'/'.join(key)} cannot make its pod: {why}")
                    continue
                made.add(fresh["metadata"]["uid"])
                wanted |= {fresh["metadata"]["uid"]} if of_own else set()
                state = state.replace("Pod", _key(fresh), fresh)
                story.append(repr(fresh))
        queue = entries(pending(running.snapshot, state), made | renewed, wanted, where, among)
        result = place(running.after(state), queue, scheduler.played, tuple(story))
        placed += result.nodes
        story.append(result.nodes)
        running, state = result.scheduler, result.scheduler.state
        runs = bool(text_at(state.get("Pod", pod), "spec", "nodeName"))
        runs = runs or (
            own is not None and _on_nodes(_pods(scheduler, state, own)) > running_before
        )
        if runs or not acted:
            break
    if runs and made:
        left = [
            QueuedPod(key, p.value, True, where)
            for key, p in pending(running.snapshot, state)
            if p.uid in made
        ]
        then = place(running, left, scheduler.played, tuple(story)).scheduler.state
        remarks += _left(scheduler, then, dict.fromkeys((*owners, *over))) if left else []
    return World(
        running,
        runs,
        tuple(placed),
        tuple(key for key, p in before.all("Pod").items() if _ended(p, state.get("Pod", key))),
        tuple(dict.fromkeys(said)),
        tuple(filter(None, dict.fromkeys(over.values()))),
        tuple("/".join(key) for key in stays),
        tuple(filter(None, dict.fromkeys(remarks))),
    )


def _left(before: Scheduler, state: ClusterState, owners: Iterable[Workload]) -> list[str]:
    """What is said of workloads of which fewer pods have a node than before, since new ones do not fit."""
    found = []
    for kind, key in owners:
        had, have = _pods(before, before.state, (kind, key)), _pods(before, state, (kind, key))
        left = min(_on_nodes(had) - _on_nodes(have), len(have) - _on_nodes(have))
        found += (
            [f"leaves {left} of the pods of {kind} {'/'.join(key)} pending"] if left > 0 else []
        )
    return found


def _failed(
    before: Scheduler, state: ClusterState, owned: Owned, act: Act
) -> tuple[Act, dict[Workload, str], str]:
    """What follows from a Job that fails: by itself its pods end; of a JobSet, all of it fails, or what has failed is
    made anew. With the Jobs that are over by that, what is to be said of them, and a remark."""
    job = (owned.kind, owned.key)
    reference = controller(owned.now)
    name = (owned.key[0], text_at(reference, "name"))
    job_set = state.get("JobSet", name) if text_at(reference, "kind") == "JobSet" else None
    if job_set is None:
        return act, {job: act.fails}, ""
    then = on_failed_job(job_set, owned.now, act.reason)
    jobs = _jobs_of(state, name) if then.whole or then.fails else [job]
    ends = tuple(pod for each in jobs for pod in _pods(before, state, each))
    if then.fails:
        said = f"{act.fails}, and JobSet {'/'.join(name)} with it: {then.fails}"
        return Act(end=ends), dict.fromkeys(jobs, said), ""
    again = tuple(pod for each in jobs for pod in _pods(before, before.state, each))
    remark = (
        f"JobSet {'/'.join(name)} restarts {'as a whole' if then.whole else f'Job {owned.key[1]}'}"
    )
    if then.left is not None:
        remark += f", with {then.left} restart{'s' * (then.left != 1)} left"
    return Act(end=ends, like=again), dict.fromkeys(jobs, ""), remark


def _jobs_of(state: ClusterState, job_set: Key) -> list[Workload]:
    return [
        ("Job", key)
        for key, job in state.all("Job").items()
        if key[0] == job_set[0]
        and (text_at(of := controller(job), "kind"), text_at(of, "name")) == ("JobSet", job_set[1])
    ]


def _suspended_jobs(state: ClusterState, changes: Sequence[Change]) -> tuple[Patch, ...]:
    """A JobSet suspends its Jobs (kubernetes-sigs/jobset pkg/controllers/jobset_controller.go suspendJobs)."""
    suspended = [
        (key, [o for o in change.operations if o["path"] == "/spec/suspend"])
        for change in changes
        if isinstance(change, Patch)
        for kind, key in [parse_target(change.target)]
        if kind == "JobSet"
    ]
    return tuple(
        Patch("/".join(("Job", *job)), tuple({**o, "op": "add"} for o in operations))
        for key, operations in suspended
        for _, job in _jobs_of(state, key)
        if operations
    )


def _on_nodes(pods: Sequence[Raw]) -> int:
    return sum(bool(text_at(pod, "spec", "nodeName")) for pod in pods)


def _ended(before: Raw, after: Raw | None) -> bool:
    return (
        before is not after
        and bool(text_at(before, "spec", "nodeName"))
        and not text_at(after, "spec", "nodeName")
    )


def _key(pod: Raw) -> Key:
    return text_at(pod, "metadata", "namespace"), text_at(pod, "metadata", "name")


def _workload(pod: Raw | None, namespace: str) -> Workload | None:
    owner = workload(pod)
    return None if owner is None else (owner[0], (namespace, owner[1]))


def _pods(before: Scheduler, state: ClusterState, owner: Workload) -> tuple[Raw, ...]:
    """The active pods of a workload in ``state``, most of which a scheduler has read ``before``."""
    read, (kind, (namespace, name)) = before.snapshot.pod, owner
    pods = state.all("Pod").items()
    return active(
        [pod for (ns, _), pod in pods if ns == namespace and read(pod).workload == (kind, name)]
    )


def _concerned(before: ClusterState, changes: Sequence[Change]) -> tuple[Workload, ...]:
    """The workloads that a change patches or whose pods it deletes."""
    found: dict[Workload, None] = {}
    for change in changes:
        if isinstance(change, Create):
            continue
        kind, key = parse_target(change.target)
        if kind in WORKLOADS:
            found[kind, key] = None
        elif kind == "Pod" and isinstance(change, Delete):
            owner = _workload(before.get(kind, key), key[0])
            if owner is not None:
                found[owner] = None
    return tuple(found)


def _whole_groups(state: ClusterState, changes: Sequence[Change]) -> tuple[Delete, ...]:
    """The other pods of each LeaderWorkerSet's group of which a change deletes one: it is recreated as a whole, unless
    its restartPolicy says otherwise (kubernetes-sigs/lws pkg/controllers/pod_controller.go handleRestartPolicy)."""
    named = {change.target for change in changes if isinstance(change, Delete)}
    groups = set()
    for namespace, name in (key for kind, key in map(parse_target, named) if kind == "Pod"):
        group = leader_group(state.get("Pod", (namespace, name)))
        owner = state.get("LeaderWorkerSet", (namespace, group[0])) if group is not None else None
        policy = text_at(owner, "spec", "leaderWorkerTemplate", "restartPolicy") or _WHOLE_GROUP
        if group is not None and policy == _WHOLE_GROUP:
            groups.add((namespace, group))
    if not groups:
        return ()
    others = (
        "/".join(("Pod", *key))
        for key, pod in state.all("Pod").items()
        if (key[0], leader_group(pod)) in groups
    )
    return tuple(Delete(target) for target in others if target not in named)


def _touched(scheduler: Scheduler, changes: Sequence[Change]) -> frozenset[str] | None:
    """The nodes on which a change can help other pods; None for all."""
    found: set[str] = set()
    before = scheduler.state
    for change in changes:
        kind, key = ("", ("", "")) if isinstance(change, Create) else parse_target(change.target)
        kind = kind or str(change.value.get("kind"))  # type: ignore[union-attr]
        if kind in _COMMON:
            return None
        if kind == "Node":
            found.add(key[1])
        elif kind == "ResourceSlice":
            value = change.value if isinstance(change, Create) else before.get(kind, key)
            node = text_at(value, "spec", "nodeName")
            if not node:
                return None
            found.add(node)
        elif kind == "ResourceClaim" and isinstance(change, Delete):
            return None
        elif kind in WORKLOADS and isinstance(change, Patch):
            found |= {text_at(p, "spec", "nodeName") for p in _pods(scheduler, before, (kind, key))}
        elif kind == "Pod":
            found.add(text_at(before.get(kind, key), "spec", "nodeName"))
    return frozenset(found - {""})


def _kept(state: ClusterState, changes: Sequence[Change]) -> list[Key]:
    """The pods that a change deletes and that finalizers of others keep: nothing of the same name can be made."""
    keys = [parse_target(c.target) for c in changes if isinstance(c, Delete)]
    pods = [(key, state.get(kind, key)) for kind, key in keys if kind == "Pod"]
    return [
        key
        for key, pod in pods
        if any(
            name not in _OWN_FINALIZERS for name in map_at(pod, "metadata").get("finalizers") or ()
        )
    ]


def _without_claim(state: ClusterState, changes: Sequence[Change]) -> set[str]:
    """The pods, by uid, of which a change deletes a claim: their controller makes it anew from its template
    (pkg/controller/resourceclaim/controller.go handleClaim)."""
    gone = {
        key
        for kind, key in (parse_target(c.target) for c in changes if isinstance(c, Delete))
        if kind == "ResourceClaim"
    }
    return {
        identity(key, pod)
        for key, pod in (state.all("Pod").items() if gone else ())
        if any(
            (key[0], s.get("resourceClaimName")) in gone
            for s in maps_at(pod, "status", "resourceClaimStatuses")
        )
    }


def _like(model: Raw, spec: Raw | None, number: int, kind: str) -> dict[str, Any]:
    """A pod as its controller makes it, like another one; of ``spec``, where the change has made another."""
    metadata = map_at(model, "metadata")
    kept = {
        k: v
        for k, v in metadata.items()
        if k in ("namespace", "labels", "annotations", "ownerReferences")
    }
    name = text_at(model, "metadata", "name")
    kept["name"] = name if kind == "StatefulSet" else f"{name}-{number}{_NEW}"
    kept["uid"] = f"{name}-{number}{_NEW}"
    own = {k: v for k, v in map_at(model, "spec").items() if k != "nodeName"}
    if spec is not None:
        own = {k: v for k, v in spec.items() if k != "nodeName"}
        own |= {k: v for k, v in map_at(model, "spec").items() if k in ("hostname", "subdomain")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": kept, "spec": own}
