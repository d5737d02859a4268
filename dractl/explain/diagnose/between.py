"""Causes that span objects: who holds what is wanted and why they stay, nodes that should have devices, and objects
that are older than what they were made from."""
# ruff: noqa: ARG001 (all makers have one signature)

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dractl.cluster.devices import Holder, is_left_over
from dractl.cluster.managers import autoscaler
from dractl.cluster.pods import DEFAULT_SCHEDULER, event_about, is_new, scheduler_name
from dractl.cluster.state import Key, at, key_of, list_at, map_at, maps_at, text_at
from dractl.cluster.workloads import controller, leader_group, workload
from dractl.explain.case import Case
from dractl.explain.diagnose.nodes import NodeFindings
from dractl.explain.reasons.amounts import AllNeedsFree
from dractl.explain.reasons.base import TAKEN, Cause
from dractl.explain.reasons.between import (
    AddedByAdmission,
    DriverAbsent,
    EvictionLoop,
    LostNodes,
    NoNodeHasAll,
    NotTriedYet,
    OldTemplate,
    UnknownNodes,
)
from dractl.explain.reasons.capacity import CountersShort
from dractl.explain.reasons.devices import DeviceInUse
from dractl.explain.reasons.nodes import NodeFilter, PinnedNode
from dractl.explain.reasons.pools import NoSlicesOnNode, PoolIncomplete, PublishedTwice
from dractl.explain.reasons.workloads import (
    ClaimEach,
    HoldersEnded,
    HoldersTerminating,
    OldReplicas,
    OldRevision,
    OwnReplicas,
)
from dractl.model.nearest import nearest
from dractl.objects import Raw
from dractl.scheduler.preenqueue import enter
from dractl.scheduler.rejection import LabelUnmet, PortTaken, Repelled
from dractl.scheduler.snapshot import PodInfo

_HARDWARE = (
    "instance-type",
    "gpu",
    "accelerator",
    "nodepool",
    "node-pool",
    "nodegroup",
)  # labels that tell machines
_LIMIT_RANGER = "kubernetes.io/limit-ranger"
_REVISION = "controller-revision-hash"  # k8s.io/api apps/v1 ControllerRevisionHashLabelKey
_DRIVERS = (
    "kubelet-plugin",
    "dra",
    "driver",
)  # what DaemonSets of drivers, and their namespaces, are called
_OF_JOBS = ("batch.kubernetes.io/job-tracking",)
_EACH_NODE = "DaemonSet"  # its pods have a node each, and are never in each other's way
_ROLLING = ("maxSurge", "maxUnavailable")
_MOST = 8  # nodes with one label that are compared


def spanning(
    case: Case, found: Sequence[NodeFindings], ranked: Sequence[Cause]
) -> tuple[Cause, ...]:
    """The causes behind the causes, the one to begin with first."""
    if case.attempt.fits:
        return (*_evicted(case, found, ranked), *not_tried(case))
    makers = (
        _old_revision,
        _old_template,
        _lost_nodes,
        _evicted,
        _terminating,
        _ended,
        _replicas,
        _twice,
        _unknown_nodes,
        _absent,
        _apart,
        _added,
    )
    causes = tuple(cause for make in makers for cause in make(case, found, ranked))
    if any(isinstance(cause, EvictionLoop) for cause in causes):  # its pods come and go
        return tuple(
            cause for cause in causes if not isinstance(cause, HoldersTerminating | OwnReplicas)
        )
    return causes


# -- holders --


def _holding(case: Case, ranked: Sequence[Cause]) -> list[tuple[str, PodInfo]]:
    """The pods that hold what is wanted and have not ended, with their names."""
    names = dict.fromkeys(
        h.pod for c in ranked for h in getattr(c, "holders", ()) if h.pod and not h.finished
    )
    pods = ((name, case.state.get("Pod", key_of(name))) for name in names)
    there = [(name, case.scheduler.snapshot.pod(pod)) for name, pod in pods if pod is not None]
    return [(name, pod) for name, pod in there if pod.node_name]


def _terminating(
    case: Case, found: Sequence[NodeFindings], ranked: Sequence[Cause]
) -> Iterator[Cause]:
    leaving = [(name, pod) for name, pod in _holding(case, ranked) if pod.deleted]
    if leaving:
        first = leaving[0][1].value
        yield HoldersTerminating(
            pods=tuple(name for name, _ in leaving),
            since=min(pod.deleted for _, pod in leaving),
            on=tuple(dict.fromkeys(pod.node_name for _, pod in leaving)),
            finalizers=tuple(
                str(f) for f in list_at(first, "metadata", "finalizers") if f not in _OF_JOBS
            ),
            event=event_about(case.state, first, "FailedKillPod"),
        )


def _ended(case: Case, found: Sequence[NodeFindings], ranked: Sequence[Cause]) -> Iterator[Cause]:
    """Claims all of whose pods have ended or are gone: kube-controller-manager drops their reservations (kubernetes
    pkg/controller/resourceclaim, syncClaim)."""
    users: dict[str, list[Holder]] = {}
    for holder in (h for cause in ranked[:1] for h in getattr(cause, "holders", ())):
        users.setdefault(holder.claim, []).append(holder)
    left = {
        claim: those
        for claim, those in users.items()
        if all(is_left_over(case.state, h) for h in those)
    }
    if left:
        pods = dict.fromkeys(h.pod for those in left.values() for h in those if h.pod)
        yield HoldersEnded(claims=tuple(left), pods=tuple(pods))


def _replicas(
    case: Case, found: Sequence[NodeFindings], ranked: Sequence[Cause]
) -> Iterator[Cause]:
    """Pods of the same workload that are in the way, or hold what is wanted: a rollout, a queue behind itself, replicas
    that share."""
    pod, namespace = case.question.value, case.question.key[0]
    owner = workload(pod)
    kept = tuple(_kept_apart(case, found, ranked))
    if kept:
        yield from kept
        return
    taken = [
        cause for cause in ranked if isinstance(cause, DeviceInUse | AllNeedsFree | CountersShort)
    ]
    if owner is None or not taken or owner[0] == _EACH_NODE:
        return
    kind, name = owner
    if taken[0] is not ranked[0] and kind != "Deployment":
        return
    holding = _holding(case, ranked)
    theirs = [(n, p) for n, p in holding if key_of(n)[0] == namespace]
    mine = [(n, p.value) for n, p in theirs if workload(p.value) == owner]
    group = leader_group(pod)
    if group is not None:
        together = [(n, p.value) for n, p in theirs if leader_group(p.value) == group]
        short = _group_without_room(case, group, taken, [n for n, _ in together])
        if short is not None:
            yield short
            return
    pods = tuple(n for n, _ in mine)
    older = tuple(n for n, p in mine if _maker(p) != _maker(pod))
    if kind == "Deployment" and older:
        others = (
            "/".join(key) for key, other in _placed(case, owner) if _maker(other) != _maker(pod)
        )
        yield _old_replicas(case, name, (*older, *others))
    elif taken[0] is not ranked[0]:
        return
    elif pods and 2 * len(pods) >= len(holding):  # not one among many that hold devices
        yield from _sharing(case, pod)
        ends = kind == "Job"
        scaled = autoscaler(case.state, kind, (namespace, name))
        yield OwnReplicas(
            owner=f"{kind} {namespace}/{name}",
            pods=pods,
            ends=ends,
            together=ends and _together(case, (namespace, name)),
            autoscaler=scaled.name if scaled is not None else "",
        )
    elif kind == "Job":
        cron = _cron(case, namespace, name)
        runs = [_maker(p.value) for _, p in theirs if cron and _cron_of(case, p) == cron]
        if runs:
            yield OwnReplicas(
                owner=f"CronJob {namespace}/{cron}",
                pods=tuple(n for n, _ in theirs),
                ends=True,
                earlier=runs[0],
            )


def _placed(case: Case, owner: tuple[str, str]) -> Iterator[tuple[Key, Raw]]:
    """The pods of a workload of the pod's namespace that have a node."""
    for key, pod in case.state.all("Pod").items():
        if (
            key[0] == case.question.key[0]
            and workload(pod) == owner
            and text_at(pod, "spec", "nodeName")
        ):
            yield key, pod


def _kept_apart(
    case: Case, found: Sequence[NodeFindings], ranked: Sequence[Cause]
) -> Iterator[Cause]:
    """Pods of the same workload whose anti-affinity or host port keeps the pod from their nodes: a rollout, or more
    replicas than nodes."""
    pod, namespace = case.question.value, case.question.key[0]
    owner = workload(pod)
    first = {unmet.pod for cause in ranked[:1] for unmet in _kept_by(cause)}
    if owner is None or not first:
        return
    names = dict.fromkeys(
        unmet.pod for node in found for cause in node.causes for unmet in _kept_by(cause)
    )
    theirs = ((name, case.state.get("Pod", key_of(name))) for name in names)
    mine = {
        name: p
        for name, p in theirs
        if p is not None and key_of(name)[0] == namespace and workload(p) == owner
    }
    if not first <= mine.keys():
        return
    kind, name = owner
    older = [n for n, other in mine.items() if _maker(other) != _maker(pod)]
    if kind == "Deployment" and older:
        yield _old_replicas(case, name, older, apart=True)
        return
    job = kind == "Job"
    yield OwnReplicas(
        owner=f"{kind} {namespace}/{name}",
        pods=tuple(mine),
        apart=True,
        ends=job,
        together=job and _together(case, (namespace, name)),
    )


def _kept_by(cause: Cause) -> list[Repelled | PortTaken]:
    """The pods that keep the pod from a node."""
    unmet = cause.unmet if isinstance(cause, NodeFilter) else ()
    return [one for one in unmet if isinstance(one, Repelled | PortTaken)]


def _old_replicas(
    case: Case, deployment: str, pods: Iterable[str], *, apart: bool = False
) -> Cause:
    rolling = _rolling(case, deployment)
    surge, unavailable = (str(rolling.get(key, "")) for key in _ROLLING)
    owner = f"Deployment {case.question.key[0]}/{deployment}"
    return OldReplicas(
        owner=owner,
        pods=tuple(dict.fromkeys(pods)),
        surge=surge,
        unavailable=unavailable,
        apart=apart,
    )


_SIZE = "leaderworkerset.sigs.k8s.io/size"


def _group_without_room(
    case: Case, group: tuple[str, str], taken: Sequence[Cause], holding: Sequence[str]
) -> Cause | None:
    """The other pods of a LeaderWorkerSet's group, where it has to be on nodes of one place (its exclusive topology is
    a nodeSelector of the workers) and has more pods than that place has nodes with the devices."""
    pod, namespace = case.question.value, case.question.key[0]
    selector = map_at(pod, "spec", "nodeSelector")
    nodes = {name for cause in taken for name in cause.nodes}
    written = text_at(pod, "metadata", "annotations", _SIZE)
    owner = case.state.get("LeaderWorkerSet", (namespace, group[0]))
    size = (
        int(written) if written.isdecimal() else at(owner, "spec", "leaderWorkerTemplate", "size")
    )
    if not selector or not holding or not isinstance(size, int) or size <= len(nodes):
        return None
    return OwnReplicas(
        owner=f"group {group[1]} of LeaderWorkerSet {namespace}/{group[0]}",
        pods=tuple(holding),
        where=",".join(f"{key}={value}" for key, value in selector.items()),
        nodes_there=len(nodes),
        size=size,
    )


def siblings(case: Case) -> Iterator[str]:
    """A note about pods of the same workload that hold devices, where nothing else can be said of devices."""
    pod = case.question.value
    owner = workload(pod)
    if owner is None:
        return
    kind, name = owner
    holding = [
        other
        for _, other in _placed(case, owner)
        if any(c.allocated for c in enter(case.state, other).claims)
    ]
    if not holding:
        return
    older = [other for other in holding if _maker(other) != _maker(pod)]
    held = "hold devices" if len(holding) > 1 else "holds devices"
    if kind != "Deployment" or not older:
        yield f"{len(holding)} other pod{'s' if len(holding) > 1 else ''} of {kind} {name} {held}"
        return
    rolling = _rolling(case, name)
    settings = ", ".join(f"{key} {rolling[key]}" for key in _ROLLING if key in rolling)
    yield (
        f"{len(older)} old replica{'s hold' if len(older) > 1 else ' holds'} devices while Deployment {name} is "
        f"updated{f' ({settings})' if settings else ''}: if devices are short, the rolling update waits for itself"
    )


def _maker(pod: Raw) -> str:
    """The name of the object that made a pod: its ReplicaSet, not its Deployment."""
    return text_at(controller(pod), "name")


def _rolling(case: Case, deployment: str) -> Raw:
    """How a Deployment of the pod's namespace replaces its pods."""
    value = case.state.get("Deployment", (case.question.key[0], deployment))
    return map_at(value, "spec", "strategy", "rollingUpdate")


def _together(case: Case, key: Key) -> bool:
    """True if the pods of a Job may need each other: all of an Indexed Job run at once, or another controller than a
    CronJob made the Job."""
    value = case.state.get("Job", key)
    makers = (
        o for o in maps_at(value, "metadata", "ownerReferences") if o.get("controller") is True
    )
    at_once = at(value, "spec", "parallelism") == at(value, "spec", "completions")
    indexed = at_once and text_at(value, "spec", "completionMode") == "Indexed"
    return indexed or any(o.get("kind") != "CronJob" for o in makers)


def _cron(case: Case, namespace: str, job: str) -> str:
    owners = maps_at(case.state.get("Job", (namespace, job)), "metadata", "ownerReferences")
    return next((text_at(o, "name") for o in owners if o.get("kind") == "CronJob"), "")


def _cron_of(case: Case, pod: PodInfo) -> str:
    kind, name = pod.workload or ("", "")
    return _cron(case, pod.namespace, name) if kind == "Job" else ""


def _sharing(case: Case, pod: Raw) -> Iterator[Cause]:
    """Claims of templates whose configuration asks for sharing."""
    for reference in maps_at(pod, "spec", "resourceClaims"):
        template = text_at(reference, "resourceClaimTemplateName")
        value = case.state.get("ResourceClaimTemplate", (case.question.key[0], template))
        configs = maps_at(value, "spec", "spec", "devices", "config")
        if template and any(
            "sharing" in map_at(config, "opaque", "parameters") for config in configs
        ):
            yield ClaimEach(
                pod_claim=text_at(reference, "name"), template=f"{case.question.key[0]}/{template}"
            )


def _evicted(case: Case, found: Sequence[NodeFindings], ranked: Sequence[Cause]) -> Iterator[Cause]:
    """Pods of the same workload that the eviction controller ends one after the other."""
    owner = workload(case.question.value)
    if owner is None:
        return
    kind, name = owner
    namespace = case.question.key[0]
    evicted = {
        text_at(event, "involvedObject", "name") or text_at(event, "regarding", "name")
        for (where, _), event in case.state.all("Event").items()
        if where == namespace
        and event.get("reason") in ("DeviceTaintManagerEviction", "TaintManagerEviction")
    }
    number = sum(pod.startswith(f"{name}-") for pod in evicted)
    if number > 1:
        yield EvictionLoop(owner=f"{kind} {namespace}/{name}", evicted=number)


def _lost_nodes(
    case: Case, found: Sequence[NodeFindings], ranked: Sequence[Cause]
) -> Iterator[Cause]:
    """Nodes that are gone or do not answer, where a claim is allocated or pods hold what is wanted."""
    if not case.state.has("Node"):
        return
    for cause in ranked:
        if isinstance(cause, PinnedNode) and cause.places:
            gone = tuple(name for name in cause.places if not _exists(case, name))
            unready = tuple(name for name in cause.places if _unready(case, name))
            if len(gone) == len(cause.places):
                yield LostNodes(places=gone, claim=cause.claim)
            elif len(unready) == len(cause.places):
                yield LostNodes(places=unready, claim=cause.claim, unready=True)
            return
    places = Counter(pod.node_name for _, pod in _holding(case, ranked))
    gone = tuple(name for name in places if not _exists(case, name))
    unready = tuple(name for name in places if _unready(case, name))
    if gone or unready:
        yield LostNodes(places=gone or unready, unready=not gone)


def _exists(case: Case, node: str) -> bool:
    """True if there is a Node of that name; a place may also be the value of a label."""
    nodes = case.scheduler.snapshot.nodes
    return node in nodes or any(node in info.labels.values() for info in nodes.values())


def _unready(case: Case, node: str) -> bool:
    info = case.scheduler.snapshot.nodes.get(node)
    return info is not None and info.unready


# -- nodes and drivers --


def _twice(case: Case, found: Sequence[NodeFindings], ranked: Sequence[Cause]) -> Iterator[Cause]:
    """A pool with more slices than each of them says: two installations of a driver publish it."""
    for cause in ranked:
        if not isinstance(cause, PoolIncomplete) or (cause.have or 0) <= (cause.want or 0):
            continue
        those = [
            item
            for item in case.scheduler.slices
            if f"{item.spec.driver}/{item.spec.pool.name}" == cause.pool
            and item.spec.pool.generation == cause.generation
        ]
        those.sort(
            key=lambda item: (item.metadata.creation_timestamp or "", item.metadata.name or "")
        )
        names = Counter(device.name for item in those for device in item.spec.devices)
        yield PublishedTwice(
            driver=cause.driver,
            pool=cause.pool,
            generation=cause.generation,
            slices=tuple(
                (item.metadata.name or "", item.metadata.creation_timestamp or "") for item in those
            ),
            both=tuple(name for name, number in names.items() if number > 1),
            nodes=cause.nodes,
        )


def _unknown_nodes(
    case: Case, found: Sequence[NodeFindings], ranked: Sequence[Cause]
) -> Iterator[Cause]:
    """Slices for nodes that do not exist, of a driver that is wanted and publishes nothing on the nodes that do."""
    drivers = {c.driver for c in ranked if isinstance(c, NoSlicesOnNode)}
    if not drivers or not case.state.has("Node"):
        return
    nodes = [name for _, name in case.state.all("Node")]
    lost: dict[str, dict[str, None]] = {}
    for item in case.scheduler.slices:
        name = item.spec.node_name
        if name and name not in nodes and (item.spec.driver in drivers or None in drivers):
            lost.setdefault(item.spec.driver, {})[name] = None
    for driver, names in lost.items():
        first = next(iter(names))
        near = next(
            (n for n in nodes if first.startswith(f"{n}.") or n.startswith(f"{first}.")), None
        )
        yield UnknownNodes(
            driver=driver, places=tuple(names), nearest=near or nearest(first, nodes)
        )


def _of_use(case: Case, found: Sequence[NodeFindings]) -> tuple[set[str], set[str]]:
    """Nodes that lack nothing but devices, and nodes whose devices would do if they were free or no filter refused the
    node."""
    lacking: set[str] = set()
    full = {verdict.name for verdict in case.attempt.nodes if verdict.allocates}
    for node in found:
        filtered = any(isinstance(cause, NodeFilter) for cause in node.causes)
        if any(isinstance(cause, NoSlicesOnNode) for cause in node.causes) and not filtered:
            lacking |= {node.name, *node.like}
        elif node.causes and not filtered and node.causes[0].reach >= TAKEN:
            full |= {node.name, *node.like}
    return lacking, full


def _absent(case: Case, found: Sequence[NodeFindings], ranked: Sequence[Cause]) -> Iterator[Cause]:
    """Nodes that look like others with devices of the driver, and have none."""
    drivers = dict.fromkeys(
        c.driver for n in found for c in n.causes if isinstance(c, NoSlicesOnNode) and c.driver
    )
    for driver in drivers:
        there = {
            s.spec.node_name
            for s in case.scheduler.slices
            if s.spec.driver == driver and s.spec.devices
        }
        nodes = {name: info.labels for name, info in case.scheduler.snapshot.nodes.items()}
        with_devices = [labels for name, labels in nodes.items() if name in there]
        bare = {
            name: labels
            for name, labels in nodes.items()
            if name not in there and not _unready(case, name)
        }
        shared = {
            (key, text)
            for labels in with_devices
            for key, text in labels.items()
            if any(mark in key for mark in _HARDWARE)
        }
        wanted, full = _of_use(case, found)
        for key, text in sorted(shared):
            lacking = [
                name for name, labels in bare.items() if labels.get(key) == text and name in wanted
            ]
            like = sorted(n for n in there if n and nodes.get(n, {}).get(key) == text)
            if lacking and not full.isdisjoint(like):
                by, selector = _not_selected(case, lacking, set(like))
                yield DriverAbsent(
                    driver=driver,
                    nodes=tuple(lacking),
                    label=f"{key}={text}",
                    like=tuple(like[:_MOST]),
                    daemon_set=by,
                    selector=selector,
                )
                return


def _not_selected(case: Case, lacking: Sequence[str], like: set[str]) -> tuple[str, str]:
    """The DaemonSet of a driver that runs on nodes ``like`` those that lack its devices, and what its nodeSelector
    wants of these; empty where there is none."""
    nodes = case.scheduler.snapshot.nodes
    for key, value in case.state.all("DaemonSet").items():
        named = "/".join(key)
        if not any(mark in named for mark in _DRIVERS):
            continue
        own = ("DaemonSet", key[1])
        runs = any(
            workload(pod.value) == own for name in like if name in nodes for pod in nodes[name].pods
        )
        for label, text in map_at(value, "spec", "template", "spec", "nodeSelector").items():
            if runs and all(nodes[name].labels.get(label) != text for name in lacking):
                return f"DaemonSet {named}", f"{label}={text}"
    return "", ""


def _apart(case: Case, found: Sequence[NodeFindings], ranked: Sequence[Cause]) -> Iterator[Cause]:
    """Requests that each find devices, on different nodes only; those with alternatives are left out."""
    lacking = [
        {
            c.about[0]
            for c in n.causes
            if isinstance(c, NoSlicesOnNode) and c.about and c.about[0].alternative is None
        }
        for n in found
    ]
    requests = {ref for refs in lacking for ref in refs}
    if len(requests) < 2 or not all(lacking):
        return
    where = []
    for ref in sorted(requests):
        node = next(
            (n.name for n, refs in zip(found, lacking, strict=True) if ref not in refs), None
        )
        if node is None:
            return
        where.append((case.names.request(ref), node))
    yield NoNodeHasAll(where=tuple(where))


def _added(case: Case, found: Sequence[NodeFindings], ranked: Sequence[Cause]) -> Iterator[Cause]:
    """A node selector, or a request for a resource, that the pod has, and its owner's template has not."""
    pod = case.pod
    if ranked and isinstance(ranked[0], NodeFilter) and ranked[0].plugin == "NodeResourcesFit":
        yield from _by_limit_range(case, ranked[0].resource or "")
    if not ranked or not isinstance(ranked[0], NodeFilter) or ranked[0].plugin != "NodeAffinity":
        return
    written = _template(case)
    runtime = text_at(pod.spec, "runtimeClassName")
    for key, text in pod.node_selector.items():
        missing = written is not None and key not in map_at(written, "nodeSelector")
        if LabelUnmet(key, text) in ranked[0].unmet and (missing or (written is None and runtime)):
            yield AddedByAdmission(
                what=f"nodeSelector {key}={text}", by=f"RuntimeClass {runtime}" if runtime else ""
            )


def _by_limit_range(case: Case, resource: str) -> Iterator[Cause]:
    """Requests that a LimitRange has put into the pod, as admission notes in an annotation
    (kubernetes plugin/pkg/admission/limitranger)."""
    noted = text_at(case.question.value, "metadata", "annotations", _LIMIT_RANGER)
    for container in maps_at(case.pod.spec, "containers"):
        name, amount = text_at(container, "name"), at(container, "resources", "requests", resource)
        added = (part for part in noted.split(";") if part.rstrip().endswith(f"container {name}"))
        if amount is not None and any(
            f"{resource} request" in part or f", {resource} " in part for part in added
        ):
            ranges = [
                range_
                for namespace, range_ in case.state.all("LimitRange")
                if namespace == case.question.key[0]
            ]
            by = (
                f"LimitRange {case.question.key[0]}/{ranges[0]}"
                if len(ranges) == 1
                else "a LimitRange"
            )
            yield AddedByAdmission(what=f"{resource} {amount} of container {name}", by=by)


def _template(case: Case) -> Raw | None:
    """The pod template of the pod's owner; None where the input does not have it."""
    owner = controller(case.question.value)
    if owner is None:
        return None
    value = case.state.get(text_at(owner, "kind"), (case.question.key[0], text_at(owner, "name")))
    spec = at(value, "spec", "template", "spec")
    return spec if isinstance(spec, dict) else None


# -- claims and the scheduler --


def _old_revision(
    case: Case, found: Sequence[NodeFindings], ranked: Sequence[Cause]
) -> Iterator[Cause]:
    """A pod that its StatefulSet does not bring up to date (kubernetes pkg/controller/statefulset: with OrderedReady
    it returns at the first pod that is not ready, before it updates any), or its Deployment, while it is paused
    (pkg/controller/deployment/deployment_controller.go syncDeployment)."""
    pod = case.pod
    (kind, name), namespace = pod.workload or ("", ""), case.question.key[0]
    if kind == "Deployment":
        deployment, template = case.state.get("Deployment", (namespace, name)), _template(case)
        paused = at(deployment, "spec", "paused") is True
        if (
            paused
            and template is not None
            and template != at(deployment, "spec", "template", "spec")
        ):
            yield OldRevision(owner=f"Deployment {namespace}/{name}", paused=True)
    if kind != "StatefulSet":
        return
    value = case.state.get("StatefulSet", (namespace, name))
    own, wanted = pod.labels.get(_REVISION), text_at(value, "status", "updateRevision")
    if not own or not wanted or own == wanted:
        return
    strategy, ordinal = map_at(value, "spec", "updateStrategy"), pod.name.rpartition("-")[2]
    partition = at(strategy, "rollingUpdate", "partition")
    if isinstance(partition, int) and ordinal.isdecimal() and int(ordinal) < partition:
        return
    if (
        text_at(value, "spec", "podManagementPolicy") != "Parallel"
        or text_at(strategy, "type") == "OnDelete"
    ):
        yield OldRevision(owner=f"StatefulSet {namespace}/{name}")


def _old_template(
    case: Case, found: Sequence[NodeFindings], ranked: Sequence[Cause]
) -> Iterator[Cause]:
    """Claims that are not allocated and differ from the template that they were made from."""
    for claim in case.attempt.claims:
        if (
            claim.template is None
            or claim.value is None
            or not text_at(claim.value, "metadata", "uid")
        ):
            continue
        template = case.state.get("ResourceClaimTemplate", (claim.key[0], claim.template))
        if (
            template is None
            or claim.allocated
            or at(claim.value, "spec") == at(template, "spec", "spec")
        ):
            continue
        yield OldTemplate(
            pod_claim=claim.name or None,
            claim=claim.full_name,
            template=f"{claim.key[0]}/{claim.template}",
        )


def not_tried(case: Case) -> Iterator[Cause]:
    """A pod of a cluster that kube-scheduler has not looked at; of another scheduler's pods nothing is known.

    It does not look at a pod whose claims do not exist, either (PreEnqueue of kubernetes
    pkg/scheduler/framework/plugins/dynamicresources): that is another cause, or hidden from the user.
    """
    pod, value = case.pod, case.question.value
    if (
        scheduler_name(value) != DEFAULT_SCHEDULER
        or case.question.kind != "Pod"
        or not pod.uid
        or pod.ended
    ):
        return
    if _may_lack_claims(case, value) or any(
        claim.reserved_for(pod.uid) for claim in case.attempt.claims
    ):
        return
    tried = any(c.get("type") == "PodScheduled" for c in maps_at(value, "status", "conditions"))
    scheduled = event_about(case.state, value, "FailedScheduling") or event_about(
        case.state, value, "Scheduled"
    )
    if not tried and not scheduled and pod.phase == "Pending":
        yield NotTriedYet(since=pod.created, new=is_new(case.state, value))


def _may_lack_claims(case: Case, pod: Mapping[str, Any]) -> bool:
    """True if a claim of the pod may be missing, and what would show it may not be read."""
    hidden = {
        one.kind for one in case.state.rights.hidden("ResourceClaim", "ResourceClaimTemplate")
    }
    made = {text_at(status, "name") for status in maps_at(pod, "status", "resourceClaimStatuses")}
    references = (
        r for r in maps_at(pod, "spec", "resourceClaims") if text_at(r, "name") not in made
    )
    return bool(hidden) and any(
        text_at(r, "resourceClaimTemplateName") or "ResourceClaim" in hidden for r in references
    )
