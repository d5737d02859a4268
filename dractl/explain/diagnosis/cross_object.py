"""Causes that span objects: holders that stay, nodes that should have devices, and outdated
objects.
"""

# ruff: noqa: ARG001 (all makers have one signature)

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from dractl.cluster.devices import Holder, outlives_pod
from dractl.cluster.events import newest_message
from dractl.cluster.managers import find_autoscaler
from dractl.cluster.pods import is_new
from dractl.cluster.state import Key, at, parse_key
from dractl.explain.context import Case
from dractl.explain.diagnosis.contradictions import find_contradictions
from dractl.explain.diagnosis.nodes import NodeFindings
from dractl.explain.diagnosis.pods import list_holding_pods
from dractl.explain.diagnosis.silent_drivers import find_plugin_faults
from dractl.explain.reasons.amounts import AllNeedsFree
from dractl.explain.reasons.base import Cause, Progress
from dractl.explain.reasons.capacity import CountersShort
from dractl.explain.reasons.cross_object import (
    AddedByAdmission,
    DriverAbsent,
    EvictionLoop,
    LostNodes,
    NoNodeHasAll,
    NotTriedYet,
    OldTemplate,
    UnknownNodes,
    is_same_host,
)
from dractl.explain.reasons.devices import DeviceInUse
from dractl.explain.reasons.nodes import NodeFilter, PinnedNode
from dractl.explain.reasons.pools import (
    CountsDiffer,
    NoSlicesOnNode,
    PoolIncomplete,
    PublishedTwice,
)
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
from dractl.scheduler.pre_enqueue import pre_enqueue
from dractl.scheduler.rejection import AntiAffinityConflict, HostPortConflict, LabelMismatch
from dractl.views import DEFAULT_SCHEDULER, Claim, Pod, Workload
from dractl.views.claim_template import ClaimTemplate

_MACHINE_LABELS = (
    "instance-type",
    "gpu",
    "accelerator",
    "nodepool",
    "node-pool",
    "nodegroup",
)  # labels that identify the model of a machine
_LIMIT_RANGER = "kubernetes.io/limit-ranger"
_REVISION = "controller-revision-hash"  # k8s.io/api apps/v1 ControllerRevisionHashLabelKey
_DRIVER_MARKS = (
    "kubelet-plugin",
    "dra",
    "driver",
)  # words in the names of drivers' DaemonSets and of their namespaces
_JOB_FINALIZERS = ("batch.kubernetes.io/job-tracking",)
_DAEMON_SET = "DaemonSet"  # its pods run on different nodes, never in each other's way
_OCCUPANCY = (DeviceInUse, AllNeedsFree, CountersShort)  # causes that end with the holders
_ROLLOUT_FIELDS = ("maxSurge", "maxUnavailable")
MAX_NODES_COMPARED = 8  # the maximum number of nodes with one label that are compared


def root_causes(
    case: Case, findings: Sequence[NodeFindings], ranked: Sequence[Cause]
) -> tuple[Cause, ...]:
    """Return the causes that underlie the ranked causes; the first one has to be removed first."""
    if case.attempt.fits:
        return (*_find_eviction_loop(case, findings, ranked), *find_pod_not_tried(case))
    diagnoses = (
        _find_old_revision,
        _find_claims_of_old_template,
        _find_lost_nodes,
        _find_eviction_loop,
        _find_terminating_holders,
        _find_completed_holders,
        _find_replicas_in_the_way,
        _find_pools_published_twice,
        _find_slices_for_unknown_nodes,
        _find_silent_drivers,
        _find_devices_on_different_nodes,
        _find_fields_added_by_admission,
    )
    causes = tuple(cause for diagnose in diagnoses for cause in diagnose(case, findings, ranked))
    causes = (*find_contradictions(case, ranked), *causes)
    faults = tuple(find_plugin_faults(case, findings))
    if faults:  # a fault of the plug-in is a more precise cause than DriverAbsent
        causes = (*faults, *(cause for cause in causes if not isinstance(cause, DriverAbsent)))
    # In an eviction loop, holders end and are recreated: waiting for them does not help.
    if any(isinstance(cause, EvictionLoop) for cause in causes):
        return tuple(
            cause for cause in causes if not isinstance(cause, HoldersTerminating | OwnReplicas)
        )
    return causes


# -- holders --


def _active_holders(case: Case, ranked: Sequence[Cause]) -> list[tuple[str, Pod]]:
    """Return the pods that hold wanted devices on a node and have not ended, with their names."""
    return [(name, pod) for name, pod in list_holding_pods(case, ranked) if pod.node_name]


def _find_terminating_holders(
    case: Case, findings: Sequence[NodeFindings], ranked: Sequence[Cause]
) -> Iterator[Cause]:
    terminating = [
        (name, pod) for name, pod in _active_holders(case, ranked) if pod.deletion_timestamp
    ]
    if terminating:
        first = terminating[0][1]
        yield HoldersTerminating(
            pods=tuple(name for name, _ in terminating),
            since=min(pod.deletion_timestamp for _, pod in terminating),
            on=tuple(dict.fromkeys(pod.node_name for _, pod in terminating)),
            finalizers=tuple(
                finalizer for finalizer in first.finalizers if finalizer not in _JOB_FINALIZERS
            ),
            event=newest_message(case.state, first, "FailedKillPod"),
        )


def _find_completed_holders(
    case: Case, findings: Sequence[NodeFindings], ranked: Sequence[Cause]
) -> Iterator[Cause]:
    """Yield the claims whose pods have all ended or are gone.

    kube-controller-manager drops their reservations (kubernetes pkg/controller/resourceclaim,
    syncClaim).
    """
    users: dict[str, list[Holder]] = {}
    for holder in (h for cause in ranked[:1] for h in cause.holders):
        users.setdefault(holder.claim, []).append(holder)
    completed = {
        claim: holders
        for claim, holders in users.items()
        if all(outlives_pod(case.state, h) for h in holders)
    }
    if completed:
        pods = dict.fromkeys(h.pod for holders in completed.values() for h in holders if h.pod)
        yield HoldersEnded(claims=tuple(completed), pods=tuple(pods))


def _find_replicas_in_the_way(
    case: Case, findings: Sequence[NodeFindings], ranked: Sequence[Cause]
) -> Iterator[Cause]:
    """Yield causes for pods of the same workload that are in the way or hold wanted devices.

    The reason is a rollout, a queue of runs, or replicas that share a claim.
    """
    anti_affine = tuple(_find_anti_affine_replicas(case, findings, ranked))
    if anti_affine:
        yield from anti_affine
        return
    owner = case.question.pod.workload
    occupancy = [cause for cause in ranked if isinstance(cause, _OCCUPANCY)]
    if owner is None or not occupancy or owner[0] == _DAEMON_SET:
        return
    decisive = occupancy[0] is ranked[0]
    if decisive or (owner[0] == "Deployment" and any(map(_is_only_occupied, findings))):
        holders = _active_holders(case, ranked)
        short = _find_group_without_room(case, occupancy, holders)
        rollout = _find_rollout(case, owner, holders)
        if short is not None:
            yield short
        elif rollout is not None:
            yield rollout
        elif decisive:
            yield from _find_own_replicas(case, owner, holders)


def _is_only_occupied(node: NodeFindings) -> bool:
    """Return True for a node that does not refuse the pod, but whose devices are held."""
    return not node.refuses_pod and any(isinstance(cause, _OCCUPANCY) for cause in node.causes)


def _find_group_without_room(
    case: Case, occupancy: Sequence[Cause], holders: Sequence[tuple[str, Pod]]
) -> Cause | None:
    """Return the cause for a LeaderWorkerSet group whose own pods fill its topology domain."""
    group = case.question.pod.leader_worker_group
    if group is None:
        return None
    neighbours = _in_namespace(case, holders)
    members = [name for name, pod in neighbours if pod.leader_worker_group == group]
    return _group_without_room(case, group, occupancy, members)


def _in_namespace(case: Case, pods: Sequence[tuple[str, Pod]]) -> list[tuple[str, Pod]]:
    """Return the pods in the subject's namespace."""
    return [(name, pod) for name, pod in pods if parse_key(name)[0] == case.question.key[0]]


def _find_rollout(
    case: Case, owner: tuple[str, str], holders: Sequence[tuple[str, Pod]]
) -> Cause | None:
    """Return the cause for a Deployment whose old replicas hold the devices that the new replica
    wants.
    """
    kind, name = owner
    new = _controller_name(case.question.pod)
    old_holders = [
        pod_name
        for pod_name, pod in _in_namespace(case, holders)
        if pod.workload == owner and _controller_name(pod) != new
    ]
    if kind != "Deployment" or not old_holders:
        return None
    old_replicas = (
        "/".join(key) for key, pod in _pods_with_node(case, owner) if _controller_name(pod) != new
    )
    return _cause_of_old_replicas(case, name, (*old_holders, *old_replicas))


def _find_own_replicas(
    case: Case, owner: tuple[str, str], holders: Sequence[tuple[str, Pod]]
) -> Iterator[Cause]:
    """Yield causes for replicas of the subject's workload, or earlier runs of its CronJob."""
    kind, name = owner
    namespace = case.question.key[0]
    neighbours = _in_namespace(case, holders)
    replicas = tuple(n for n, pod in neighbours if pod.workload == owner)
    # If most holders are other pods, the replicas are not the cause.
    if replicas and 2 * len(replicas) >= len(holders):
        yield from _find_claims_for_sharing(case)
        completes = kind == "Job"
        scaler = find_autoscaler(case.state, kind, (namespace, name))
        yield OwnReplicas(
            owner=f"{kind} {namespace}/{name}",
            pods=replicas,
            ends=completes,
            together=completes and _pods_need_each_other(case, (namespace, name)),
            autoscaler=scaler.name if scaler is not None else "",
            placed=sum(1 for _ in _pods_with_node(case, owner)),
        )
    elif kind == "Job":
        cron_job = _cron_job_of_job(case, namespace, name)
        runs = [
            _controller_name(pod)
            for _, pod in neighbours
            if cron_job and _cron_job_of_pod(case, pod) == cron_job
        ]
        if runs:
            yield OwnReplicas(
                owner=f"CronJob {namespace}/{cron_job}",
                pods=tuple(n for n, _ in neighbours),
                ends=True,
                earlier=runs[0],
            )


def _pods_with_node(case: Case, owner: tuple[str, str]) -> Iterator[tuple[Key, Pod]]:
    """Yield the pods of a workload in the pod's namespace that have a node."""
    for key, pod in case.state.pods.items():
        if key[0] == case.question.key[0] and pod.workload == owner and pod.node_name:
            yield key, pod


def _find_anti_affine_replicas(
    case: Case, findings: Sequence[NodeFindings], ranked: Sequence[Cause]
) -> Iterator[Cause]:
    """Yield causes for pods of the same workload whose anti-affinity or host port repels the pod.

    The workload is rolled out, or has more replicas than there are nodes.
    """
    pod, namespace = case.question.pod, case.question.key[0]
    owner = pod.workload
    blockers = {unmet.pod for cause in ranked[:1] for unmet in _pods_that_block(cause)}
    if owner is None or not blockers:
        return
    names = dict.fromkeys(
        unmet.pod for node in findings for cause in node.causes for unmet in _pods_that_block(cause)
    )
    pods = ((name, case.state.pod(parse_key(name))) for name in names)
    replicas = {
        name: other
        for name, other in pods
        if parse_key(name)[0] == namespace and other.workload == owner
    }
    if not blockers <= replicas.keys():
        return
    kind, name = owner
    old_replicas = [
        n for n, other in replicas.items() if _controller_name(other) != _controller_name(pod)
    ]
    if kind == "Deployment" and old_replicas:
        yield _cause_of_old_replicas(case, name, old_replicas, apart=True)
        return
    job = kind == "Job"
    yield OwnReplicas(
        owner=f"{kind} {namespace}/{name}",
        pods=tuple(replicas),
        apart=True,
        ends=job,
        together=job and _pods_need_each_other(case, (namespace, name)),
        placed=sum(1 for _ in _pods_with_node(case, owner)),
    )


def _pods_that_block(cause: Cause) -> list[AntiAffinityConflict | HostPortConflict]:
    """Return the conflicts with other pods that keep the pod from a node."""
    unmet = cause.unmet if isinstance(cause, NodeFilter) else ()
    return [entry for entry in unmet if isinstance(entry, AntiAffinityConflict | HostPortConflict)]


def _cause_of_old_replicas(
    case: Case, deployment: str, pods: Iterable[str], *, apart: bool = False
) -> Cause:
    rollout = _rollout_settings(case, deployment)
    surge, unavailable = (str(rollout.get(key, "")) for key in _ROLLOUT_FIELDS)
    owner = f"Deployment {case.question.key[0]}/{deployment}"
    return OldReplicas(
        owner=owner,
        pods=tuple(dict.fromkeys(pods)),
        surge=surge,
        unavailable=unavailable,
        apart=apart,
    )


_GROUP_SIZE = "leaderworkerset.sigs.k8s.io/size"


def _group_without_room(
    case: Case, group: tuple[str, str], occupancy: Sequence[Cause], holders: Sequence[str]
) -> Cause | None:
    """Return the cause for a LeaderWorkerSet group that has more pods than its topology domain has
    nodes.

    The exclusive topology of a group is a nodeSelector of its workers; only nodes with the devices
    count.
    """
    pod, namespace = case.question.pod, case.question.key[0]
    selector = pod.node_selector
    nodes = {name for cause in occupancy for name in cause.nodes}
    annotation = str(pod.annotations.get(_GROUP_SIZE, ""))
    workload = case.state.workload("LeaderWorkerSet", (namespace, group[0]))
    size = int(annotation) if annotation.isdecimal() else workload.group_size
    if not selector or not holders or size is None or size <= len(nodes):
        return None
    return OwnReplicas(
        owner=f"group {group[1]} of LeaderWorkerSet {namespace}/{group[0]}",
        pods=tuple(holders),
        node_labels=",".join(f"{key}={value}" for key, value in selector.items()),
        node_count=len(nodes),
        size=size,
    )


def note_replicas_with_devices(case: Case) -> Iterator[str]:
    """Yield a note on pods of the same workload that hold devices, if the input shows no other
    devices.
    """
    pod = case.question.pod
    owner = pod.workload
    if owner is None:
        return
    kind, name = owner
    holders = [
        other
        for _, other in _pods_with_node(case, owner)
        if any(c.allocated for c in pre_enqueue(case.state, other.raw).claims)
    ]
    if not holders:
        return
    old_replicas = [other for other in holders if _controller_name(other) != _controller_name(pod)]
    verb = "hold devices" if len(holders) > 1 else "holds devices"
    if kind != "Deployment" or not old_replicas:
        yield f"{len(holders)} other pod{'s' if len(holders) > 1 else ''} of {kind} {name} {verb}"
        return
    rollout = _rollout_settings(case, name)
    settings = ", ".join(f"{key} {rollout[key]}" for key in _ROLLOUT_FIELDS if key in rollout)
    yield (
        f"{len(old_replicas)} old replica{'s hold' if len(old_replicas) > 1 else ' holds'} devices"
        f" while Deployment {name} is updated{f' ({settings})' if settings else ''}: if devices are"
        " short, the rolling update waits for itself"
    )


def _controller_name(pod: Pod) -> str:
    """Return the name of the object that created a pod: its ReplicaSet, not its Deployment."""
    return "" if pod.controller is None else pod.controller.name


def _rollout_settings(case: Case, deployment: str) -> Raw:
    """Return the rolling-update settings of a Deployment in the pod's namespace."""
    return case.state.workload("Deployment", (case.question.key[0], deployment)).rolling_update


def _pods_need_each_other(case: Case, key: Key) -> bool:
    """Return True if the pods of a Job may need each other.

    They may if the Job is Indexed and runs all of its pods at once, or if a controller other than a
    CronJob created the Job.
    """
    job = case.state.workload("Job", key)
    is_indexed = job.parallelism == job.completions and job.completion_mode == "Indexed"
    return is_indexed or any(o.is_controller and o.kind != "CronJob" for o in job.owners)


def _cron_job_of_job(case: Case, namespace: str, job: str) -> str:
    owners = case.state.workload("Job", (namespace, job)).owners
    return next((owner.name for owner in owners if owner.kind == "CronJob"), "")


def _cron_job_of_pod(case: Case, pod: Pod) -> str:
    kind, name = pod.workload or ("", "")
    return _cron_job_of_job(case, pod.namespace, name) if kind == "Job" else ""


def _find_claims_for_sharing(case: Case) -> Iterator[Cause]:
    """Yield the cause for claims that are made of a template although its configuration asks for
    sharing.
    """
    namespace = case.question.key[0]
    for reference in case.question.pod.claim_references:
        name = reference.template_name
        template = ClaimTemplate(case.state.get("ResourceClaimTemplate", (namespace, name)))
        if name and any("sharing" in parameters for parameters in template.driver_parameters):
            yield ClaimEach(pod_claim=reference.name, template=f"{namespace}/{name}")


def _find_eviction_loop(
    case: Case, findings: Sequence[NodeFindings], ranked: Sequence[Cause]
) -> Iterator[Cause]:
    """Yield the cause for a workload whose pods the taint eviction controller ends again and
    again.
    """
    owner = case.question.pod.workload
    if owner is None:
        return
    kind, name = owner
    namespace = case.question.key[0]
    victims = {
        event.regarding.name
        for (event_namespace, _), event in case.state.events.items()
        if event_namespace == namespace
        and event.reason in ("DeviceTaintManagerEviction", "TaintManagerEviction")
    }
    number = sum(pod.startswith(f"{name}-") for pod in victims)
    if number > 1:
        yield EvictionLoop(owner=f"{kind} {namespace}/{name}", evicted=number)


def _find_lost_nodes(
    case: Case, findings: Sequence[NodeFindings], ranked: Sequence[Cause]
) -> Iterator[Cause]:
    """Yield the nodes that are gone or do not answer and hold the claim or the wanted devices."""
    if not case.state.lists_all_nodes:
        return
    for cause in ranked:
        if isinstance(cause, PinnedNode) and cause.places:
            missing = tuple(name for name in cause.places if not _node_exists(case, name))
            unready = tuple(name for name in cause.places if _is_unready(case, name))
            if len(missing) == len(cause.places):
                yield LostNodes(places=missing, claim=cause.claim)
            elif len(unready) == len(cause.places):
                yield LostNodes(places=unready, claim=cause.claim, unready=True)
            return
    node_counts = Counter(pod.node_name for _, pod in _active_holders(case, ranked))
    missing = tuple(name for name in node_counts if not _node_exists(case, name))
    unready = tuple(name for name in node_counts if _is_unready(case, name))
    if missing or unready:
        yield LostNodes(places=missing or unready, unready=not missing)


def _node_exists(case: Case, node: str) -> bool:
    """Return True if a node has the name ``node``, or a label whose value is ``node``."""
    nodes = case.scheduler.snapshot.nodes
    return node in nodes or any(node in info.labels.values() for info in nodes.values())


def _is_unready(case: Case, node: str) -> bool:
    info = case.scheduler.snapshot.nodes.get(node)
    return info is not None and info.is_unready


# -- nodes and drivers --


def _find_pools_published_twice(
    case: Case, findings: Sequence[NodeFindings], ranked: Sequence[Cause]
) -> Iterator[Cause]:
    """Yield pools whose slices announce different numbers of slices. Also yield pools with more
    slices than each slice announces, since two installations of a driver publish them.
    """
    for cause in ranked:
        if not isinstance(cause, PoolIncomplete):
            continue
        slices = [
            item
            for item in case.scheduler.slices
            if f"{item.spec.driver}/{item.spec.pool.name}" == cause.pool
            and item.spec.pool.generation == cause.generation
        ]
        slices.sort(
            key=lambda item: (item.metadata.creation_timestamp or "", item.metadata.name or "")
        )
        counts = [
            (item.metadata.name or "", item.spec.pool.resource_slice_count) for item in slices
        ]
        if len({number for _, number in counts}) > 1:
            yield CountsDiffer(
                driver=cause.driver, pool=cause.pool, counts=tuple(counts), nodes=cause.nodes
            )
            continue
        if (cause.have or 0) <= (cause.want or 0):
            continue
        names = Counter(device.name for item in slices for device in item.spec.devices)
        yield PublishedTwice(
            driver=cause.driver,
            pool=cause.pool,
            generation=cause.generation,
            slices=tuple(
                (item.metadata.name or "", item.metadata.creation_timestamp or "")
                for item in slices
            ),
            duplicates=tuple(name for name, number in names.items() if number > 1),
            nodes=cause.nodes,
        )


def _find_slices_for_unknown_nodes(
    case: Case, findings: Sequence[NodeFindings], ranked: Sequence[Cause]
) -> Iterator[Cause]:
    """Yield slices for nodes that do not exist, of a driver that publishes nothing on existing
    nodes.
    """
    drivers = {c.driver for c in ranked if isinstance(c, NoSlicesOnNode)}
    if not drivers or not case.state.lists_all_nodes:
        return
    nodes = [name for _, name in case.state.objects("Node")]
    unknown_nodes: dict[str, dict[str, None]] = {}
    for item in case.scheduler.slices:
        name = item.spec.node_name
        if name and name not in nodes and (item.spec.driver in drivers or None in drivers):
            unknown_nodes.setdefault(item.spec.driver, {})[name] = None
    for driver, names in unknown_nodes.items():
        first = next(iter(names))
        similar = next((name for name in nodes if is_same_host(name, first)), None)
        yield UnknownNodes(
            driver=driver, places=tuple(names), nearest=similar or nearest(first, nodes)
        )


def _useful_nodes(case: Case, findings: Sequence[NodeFindings]) -> tuple[set[str], set[str]]:
    """Return the nodes that refuse the pod only because they have no slices, and the nodes whose
    devices would suffice if they were free.
    """
    without_devices: set[str] = set()
    with_devices = {verdict.name for verdict in case.attempt.nodes if verdict.allocates}
    for node in findings:
        filtered = any(isinstance(cause, NodeFilter) for cause in node.causes)
        if any(isinstance(cause, NoSlicesOnNode) for cause in node.causes) and not filtered:
            without_devices |= {node.name, *node.like}
        elif node.causes and not filtered and node.causes[0].progress >= Progress.IN_USE:
            with_devices |= {node.name, *node.like}
    return without_devices, with_devices


def _find_silent_drivers(
    case: Case, findings: Sequence[NodeFindings], ranked: Sequence[Cause]
) -> Iterator[Cause]:
    """Yield nodes that have no devices of the driver, although they look like nodes with
    devices.
    """
    drivers = dict.fromkeys(
        c.driver for n in findings for c in n.causes if isinstance(c, NoSlicesOnNode) and c.driver
    )
    for driver in drivers:
        publishing_nodes = {
            s.spec.node_name
            for s in case.scheduler.slices
            if s.spec.driver == driver and s.spec.devices
        }
        nodes = {name: info.labels for name, info in case.scheduler.snapshot.nodes.items()}
        publishing_labels = [labels for name, labels in nodes.items() if name in publishing_nodes]
        silent = {
            name: labels
            for name, labels in nodes.items()
            if name not in publishing_nodes and not _is_unready(case, name)
        }
        machine_labels = {
            (key, text)
            for labels in publishing_labels
            for key, text in labels.items()
            if any(mark in key for mark in _MACHINE_LABELS)
        }
        useful, occupied = _useful_nodes(case, findings)
        for key, text in sorted(machine_labels):
            lacking = [
                name
                for name, labels in silent.items()
                if labels.get(key) == text and name in useful
            ]
            peers = sorted(n for n in publishing_nodes if n in nodes and nodes[n].get(key) == text)
            if lacking and not occupied.isdisjoint(peers):
                daemon_set, selector = _find_unmatched_daemon_set(case, lacking, set(peers))
                yield DriverAbsent(
                    driver=driver,
                    nodes=tuple(lacking),
                    label=f"{key}={text}",
                    like=tuple(peers[:MAX_NODES_COMPARED]),
                    daemon_set=daemon_set,
                    selector=selector,
                )
                return


def _find_unmatched_daemon_set(
    case: Case, lacking: Sequence[str], peers: set[str]
) -> tuple[str, str]:
    """Return the DaemonSet of a driver that runs on ``peers``, and the label in its node selector
    that the ``lacking`` nodes do not have.

    Both are empty if there is no such DaemonSet.
    """
    nodes = case.scheduler.snapshot.nodes
    for key, value in case.state.objects("DaemonSet").items():
        full_name = "/".join(key)
        if not any(mark in full_name for mark in _DRIVER_MARKS):
            continue
        owner = ("DaemonSet", key[1])
        runs = any(
            pod.workload == owner for name in peers if name in nodes for pod in nodes[name].pods
        )
        for label, text in Workload(value).template_pod.node_selector.items():
            if runs and all(nodes[name].labels.get(label) != text for name in lacking):
                return f"DaemonSet {full_name}", f"{label}={text}"
    return "", ""


def _find_devices_on_different_nodes(
    case: Case, findings: Sequence[NodeFindings], ranked: Sequence[Cause]
) -> Iterator[Cause]:
    """Yield the cause for requests that find their devices on different nodes only; alternatives
    are left out.
    """
    lacking = [
        {
            c.refs[0]
            for c in n.causes
            if isinstance(c, NoSlicesOnNode) and c.refs and c.refs[0].alternative is None
        }
        for n in findings
    ]
    requests = {ref for refs in lacking for ref in refs}
    if len(requests) < 2 or not all(lacking):
        return
    nodes_with_devices = []
    for ref in sorted(requests):
        node = next(
            (n.name for n, refs in zip(findings, lacking, strict=True) if ref not in refs), None
        )
        if node is None:
            return
        nodes_with_devices.append((case.names.request(ref), node))
    yield NoNodeHasAll(nodes_by_request=tuple(nodes_with_devices))


def _find_fields_added_by_admission(
    case: Case, findings: Sequence[NodeFindings], ranked: Sequence[Cause]
) -> Iterator[Cause]:
    """Yield a node selector or resource request of the pod that its owner's template does not
    have.
    """
    pod = case.pod
    if ranked and isinstance(ranked[0], NodeFilter) and ranked[0].plugin == "NodeResourcesFit":
        yield from _requests_added_by_limit_range(case, ranked[0].resource or "")
    if not ranked or not isinstance(ranked[0], NodeFilter) or ranked[0].plugin != "NodeAffinity":
        return
    template = _owner_template(case)
    runtime = pod.runtime_class_name
    for key, text in pod.node_selector.items():
        missing = template is not None and key not in template.node_selector
        if LabelMismatch(key, text) in ranked[0].unmet and (
            missing or (template is None and runtime)
        ):
            yield AddedByAdmission(
                addition=f"nodeSelector {key}={text}",
                by=f"RuntimeClass {runtime}" if runtime else "",
            )


def _requests_added_by_limit_range(case: Case, resource: str) -> Iterator[Cause]:
    """Yield requests that a LimitRange has put into the pod.

    Admission notes them in an annotation (kubernetes plugin/pkg/admission/limitranger).
    """
    annotation = str(case.question.view.annotations.get(_LIMIT_RANGER, ""))
    for container in case.pod.main_containers:
        name, amount = container.get("name"), at(container, "resources", "requests", resource)
        notes = (
            part for part in annotation.split(";") if part.rstrip().endswith(f"container {name}")
        )
        if amount is not None and any(
            f"{resource} request" in part or f", {resource} " in part for part in notes
        ):
            ranges = [
                range_
                for namespace, range_ in case.state.objects("LimitRange")
                if namespace == case.question.key[0]
            ]
            by = (
                f"LimitRange {case.question.key[0]}/{ranges[0]}"
                if len(ranges) == 1
                else "a LimitRange"
            )
            yield AddedByAdmission(addition=f"{resource} {amount} of container {name}", by=by)


def _owner_template(case: Case) -> Pod | None:
    """Return the pod template of the pod's owner; None if the input does not have it."""
    owner = case.question.pod.controller
    if owner is None:
        return None
    template = case.state.workload(owner.kind, (case.question.key[0], owner.name)).template_pod
    return template if template.spec else None


# -- claims and the scheduler --


def _find_old_revision(
    case: Case, findings: Sequence[NodeFindings], ranked: Sequence[Cause]
) -> Iterator[Cause]:
    """Yield the cause for a pod that its StatefulSet or paused Deployment does not update.

    With OrderedReady a StatefulSet stops at the first pod that is not ready, before it updates any
    (kubernetes pkg/controller/statefulset). A paused Deployment updates no pod
    (pkg/controller/deployment/deployment_controller.go syncDeployment).
    """
    pod = case.pod
    (kind, name), namespace = pod.workload or ("", ""), case.question.key[0]
    if kind == "Deployment":
        deployment = case.state.workload("Deployment", (namespace, name))
        template = _owner_template(case)
        if (
            deployment.is_paused
            and template is not None
            and template.spec != deployment.template_pod.spec
        ):
            yield OldRevision(owner=f"Deployment {namespace}/{name}", paused=True)
    if kind != "StatefulSet":
        return
    workload = case.state.workload("StatefulSet", (namespace, name))
    revision, ordinal = pod.labels.get(_REVISION), pod.name.rpartition("-")[2]
    if not revision or not workload.update_revision or revision == workload.update_revision:
        return
    partition = workload.update_partition
    if partition is not None and ordinal.isdecimal() and int(ordinal) < partition:
        return
    if workload.pod_management_policy != "Parallel" or workload.update_strategy_type == "OnDelete":
        yield OldRevision(owner=f"StatefulSet {namespace}/{name}")


def _find_claims_of_old_template(
    case: Case, findings: Sequence[NodeFindings], ranked: Sequence[Cause]
) -> Iterator[Cause]:
    """Yield claims that are not allocated and differ from the template that they were created
    from.
    """
    for claim in case.attempt.claims:
        view = Claim(claim.value)
        if claim.template is None or not view.uid:
            continue
        template = ClaimTemplate(
            case.state.get("ResourceClaimTemplate", (claim.key[0], claim.template))
        )
        if not template.exists or claim.allocated or view.spec == template.claim_spec:
            continue
        yield OldTemplate(
            pod_claim=claim.name or None,
            claim=claim.full_name,
            template=f"{claim.key[0]}/{claim.template}",
        )


def find_pod_not_tried(case: Case) -> Iterator[Cause]:
    """Yield the cause for a pod that kube-scheduler has not tried; nothing is known of other
    schedulers' pods.

    A pod whose claims do not exist is not tried either (PreEnqueue of kubernetes
    pkg/scheduler/framework/plugins/dynamicresources): such a pod has another cause, or the user may
    not see its claims.
    """
    pod, subject = case.pod, case.question.pod
    if (
        subject.scheduler_name != DEFAULT_SCHEDULER
        or case.question.kind != "Pod"
        or not pod.uid
        or pod.has_ended
    ):
        return
    if _may_lack_claims(case, subject) or any(
        claim.is_reserved_for(pod.uid) for claim in case.attempt.claims
    ):
        return
    has_condition = "PodScheduled" in subject.conditions
    scheduler_event = newest_message(case.state, subject, "FailedScheduling") or newest_message(
        case.state, subject, "Scheduled"
    )
    if not has_condition and not scheduler_event and pod.phase == "Pending":
        yield NotTriedYet(since=pod.creation_timestamp, new=is_new(case.state, subject))


def _may_lack_claims(case: Case, pod: Pod) -> bool:
    """Return True if a claim of the pod may be missing, and the user is not allowed to read the
    objects that would show it.
    """
    unreadable_kinds = {
        one.kind for one in case.state.rights.unreadable("ResourceClaim", "ResourceClaimTemplate")
    }
    return bool(unreadable_kinds) and any(
        reference.template_name or "ResourceClaim" in unreadable_kinds
        for reference in pod.uncreated_claim_references
    )
