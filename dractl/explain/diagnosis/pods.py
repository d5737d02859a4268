"""Diagnosis of the pod itself: why the scheduler does not try it, and why it fails after it got a
node.
"""

from collections.abc import Iterable, Iterator, Sequence

from dractl.allocation import DeviceID, backing_classes
from dractl.cluster.pods import describe_stuck_container
from dractl.cluster.shell import NextStep, quote_command
from dractl.cluster.state import parse_key
from dractl.cluster.workloads import newest_refusal
from dractl.explain.answer import AllocatedDevice
from dractl.explain.context import Case
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.binding import BindingPending
from dractl.explain.reasons.cross_object import PodsNotCreated, UnknownNodes
from dractl.explain.reasons.nodes import NodeFilter
from dractl.explain.reasons.phrases import plural
from dractl.explain.reasons.scheduling import UpstreamBug
from dractl.model import ResourceSlice
from dractl.model.abbreviation import abbreviate
from dractl.scheduler import binding
from dractl.scheduler.binding import BindingFailure
from dractl.scheduler.cycle import CANNOT_ALLOCATE
from dractl.scheduler.known_bugs import find_decisive_bug
from dractl.scheduler.node_filters import node_features_for
from dractl.views import Condition, Pod
from dractl.views.amounts import init_container_request
from dractl.views.volumes import PersistentVolumeClaim


def find_upstream_bug(case: Case) -> Cause | None:
    """Return the upstream bug without which the pod would fit."""
    if case.attempt.fits:
        return None
    claims, pod = case.attempt.claims, case.question.value
    decisive = find_decisive_bug(
        case.scheduler, case.attempt, claims, lambda scheduler: scheduler.attempt_pod(pod)
    )
    if decisive is None:
        return None
    bug = decisive.bug
    return UpstreamBug(
        pod_claim=claims[0].name or None if claims else None,
        claim=claims[0].full_name if claims else None,
        effect=(
            f"{bug.effect[0].lower()}{bug.effect[1:].rstrip('.')} in Kubernetes {bug.releases}"
        ),
        fits_without=True,
        issue=f"kubernetes#{bug.issue}" if bug.issue else None,
        mended=decisive.mended,
        nodes=decisive.nodes,
        pool=decisive.pool,
        counter_set=decisive.counter_set,
        names=decisive.drivers,
    )


def find_pending_binding(case: Case) -> Cause | None:
    """Return the binding conditions that a pod with allocated claims waits for."""
    if not case.scheduler.features.binding_conditions:
        return None
    wait = binding.find_binding_wait(case.attempt.claims)
    if wait is None:
        return None
    return BindingPending(
        pod_claim=wait.claim.name or None,
        claim=wait.claim.full_name,
        request_name=wait.request or None,
        driver=wait.device.driver,
        devices=(str(wait.device),),
        conditions=wait.conditions,
        since=wait.since,
    )


def failure_text(failure: BindingFailure) -> str:
    """Format a failure as ``driver/pool/device has CONDITION (reason: message)``."""
    reason_text = ": ".join(filter(None, (failure.condition.reason, failure.condition.message)))
    return f"{failure.device} has {failure.condition.type}" + (
        f" ({reason_text})" if reason_text else ""
    )


# -- facts that the pod shows --


def find_pod_refusal(case: Case) -> Cause | None:
    """Return why the API server refuses a workload's pods, if the question is about a pod that is
    not created yet.
    """
    if case.question.view.uid:
        return None
    refused = newest_refusal(case.state, *case.question.key)
    return PodsNotCreated(owner=refused[0], event=refused[1]) if refused is not None else None


def note_lower_priority_holders(case: Case, ranked: Sequence[Cause]) -> Iterator[str]:
    """Yield a note that pods of lower priority keep their devices.

    The scheduler evicts no pod for its devices, since DRA refuses nodes as
    UnschedulableAndUnresolvable
    (kubernetes pkg/scheduler/framework/plugins/dynamicresources).
    """
    priority, snapshot = case.pod.priority, case.scheduler.snapshot
    # A claim becomes free only when all pods that share it have ended
    users: dict[str, list[str]] = {}
    for cause in ranked[:1]:
        for holder in cause.holders:
            if holder.pod and not holder.finished:
                users.setdefault(holder.claim, []).append(holder.pod)
    pods = {n: case.state.get("Pod", parse_key(n)) for names in users.values() for n in names}
    weaker = {
        name
        for name, pod in pods.items()
        if pod is not None and snapshot.pod(pod).priority < priority
    }
    preemptable = [names for names in users.values() if weaker.issuperset(names)]
    lower = list(dict.fromkeys(name for names in preemptable for name in names))
    if lower:
        subject = (
            f"pod {lower[0]} has"
            if len(lower) == 1
            else f"pod {lower[0]} and {len(lower) - 1} more have"
        )
        victims = "one" if len(preemptable) > 1 else "them"
        yield (
            f"{subject} a lower priority, but kube-scheduler does not preempt pods for their "
            f"devices: end {'it' if len(lower) == 1 else victims} yourself"
        )


def note_rival_classes(case: Case) -> Iterator[str]:
    """Yield a note on the class that the scheduler uses if several have the same extended resource
    name.

    Upstream: dynamic-resource-allocation/deviceclass/extendedresourcecache.
    """
    classes, features = case.scheduler.state.classes, case.scheduler.features
    for resource in case.pod.extended_requests:
        named = sorted(
            c.metadata.name for c in classes if c.spec.extended_resource_name == resource
        )
        if len(named) > 1 and resource in (backing := backing_classes(classes, features)):
            yield (
                f"classes {', '.join(named)} all have the extendedResourceName {resource}:"
                f" kube-scheduler uses the newest, {backing[resource].metadata.name}"
            )


def note_missing_node_features(case: Case) -> Iterator[str]:
    """Yield a note on nodes that NodeDeclaredFeatures may refuse; the scheduler runs that plugin
    after DRA.
    """
    required = (
        node_features_for(case.pod) if case.scheduler.features.has("declared-features") else []
    )
    nodes = [
        name
        for name, node in case.scheduler.nodes.items()
        if not set(required) <= set(node.declared_features)
    ]
    if required and nodes:
        yield (
            f"node features are not checked here: the pod needs {', '.join(required)}, and"
            f" status.declaredFeatures of {abbreviate(nodes)} lacks it"
        )


def device_that_takes_resources(case: Case, allocated: Iterable[AllocatedDevice]) -> str:
    """Return the name of an allocated device that takes resources of its node; empty if there is
    none.

    Upstream: pkg/scheduler/framework/plugins/dynamicresources/nodeallocatabledynamicresources.go.
    """
    for entry in allocated:
        device = case.devices.get(DeviceID(entry.driver, entry.pool, entry.device))
        if device is not None and device.mapping.get("nodeAllocatableResources"):
            return entry.device
    return ""


def note_unchecked_volumes(case: Case) -> Iterator[str]:
    """Yield a note that volumes are not checked, if the input lacks the objects that the scheduler
    looks at.
    """
    if not case.scheduler.volumes_of(case.pod).are_known:
        kinds = "PersistentVolumeClaims, PersistentVolumes or StorageClasses"
        yield f"volumes are not checked here: the input lacks their {kinds}"


def volumes_of(case: Case) -> Iterator[tuple[str, str]]:
    """Yield the PersistentVolumeClaims of the pod with their phases; unbound ones come first."""
    phases = []
    for reference in case.pod.volume_claims:
        name, template = reference.name, reference.template
        claim = case.state.get("PersistentVolumeClaim", (case.pod.namespace, name))
        phase = PersistentVolumeClaim(claim).phase or "Pending"
        if claim is None and template is not None:
            phase = "awaited" if case.pod.creation_timestamp else "to be made"
        elif claim is None:
            shows = case.state.shows("PersistentVolumeClaim", case.pod.namespace)
            phase = "missing" if shows else "not in the input"
        phases.append((name, phase))
    yield from sorted(phases, key=lambda entry: entry[1] == "Bound")


def volume_users(
    case: Case, nodes: Sequence[str], quotes: Sequence[str]
) -> tuple[tuple[str, ...], int]:
    """Return the pods in the way of a volume, and the number of volumes on the node if the node has
    too many.

    The pods use the same ReadWriteOncePod claim (plugins/volumerestrictions) or have volumes on the
    node (plugins/nodevolumelimits).
    """
    messages = " ".join(quotes)
    claim_names_of_pod = {name for name, _ in volumes_of(case)}
    placed = {
        key: pod for key, pod in case.state.pods.items() if pod.node_name and not pod.has_ended
    }
    claims = {key: pod.named_volume_claims for key, pod in placed.items()}
    if "ReadWriteOncePod" in messages:
        namespace = case.question.key[0]
        return (
            tuple(
                "/".join(key)
                for key, names in claims.items()
                if key[0] == namespace and names & claim_names_of_pod
            ),
            0,
        )
    if "max volume count" not in messages:
        return (), 0
    users = [key for key, pod in placed.items() if pod.node_name in nodes[:1] and claims[key]]
    return tuple("/".join(key) for key in users), sum(len(claims[key]) for key in users)


def note_largest_request(case: Case, ranked: Sequence[Cause]) -> Iterator[str]:
    """Yield a note on a large request for the resource that a node lacks, if no main container
    makes it.

    An init container, the overhead of the RuntimeClass or the pod's own resources may make it
    (component-helpers/resource PodRequests).
    """
    resource = next(
        (c.resource for c in ranked[:1] if isinstance(c, NodeFilter) and c.resource), None
    )
    if resource is None:
        return
    overhead = case.pod.overhead.get(resource)
    if overhead is not None:
        runtime = case.pod.runtime_class_name
        yield f"of the pod's {resource} the overhead of RuntimeClass {runtime} is {overhead}"
    requests = case.pod.pod_level_resources.get("requests")
    level = requests.get(resource) if isinstance(requests, dict) else None
    if level is not None:
        yield (
            f"the pod asks for {resource} {level} as a whole (spec.resources), whatever its"
            " containers ask for"
        )
        return
    init = init_container_request(case.pod.spec, resource)
    if init is not None:
        name, amount = init
        yield (
            f"init container {name} asks for {resource} {amount}, more than all containers together"
        )


def find_missing_input(case: Case, message: str) -> str:
    """Return the kind of objects that the scheduler saw and the input lacks, if the scheduler's
    message differs from the attempt.

    The kind is ``nodes``, or ``namespaces`` if all objects of the input are in one namespace.
    """
    state = case.state
    if state.read_at is not None or state.rights.unread:
        return ""
    if not state.lists_all_nodes:
        return "nodes"
    used_namespaces = {key[0] for kind in ("Pod", "ResourceClaim") for key in state.objects(kind)}
    listed_namespaces = {key[1] for key in state.objects("Namespace")}
    if (
        CANNOT_ALLOCATE in message
        and len(used_namespaces) == 1
        and listed_namespaces == used_namespaces
    ):
        return "namespaces"
    return ""


def note_orphaned_slices(case: Case) -> Iterator[str]:
    """Yield a note that nobody can use the devices in slices of nodes that do not exist."""
    slices_by_node = _slices_of_missing_nodes(case)
    if slices_by_node:
        singular = len(slices_by_node) == 1
        slices = [item for items in slices_by_node.values() for item in items]
        devices = plural(sum(len(item.spec.devices) for item in slices), "device")
        yield (
            f"{devices} of node{'' if singular else 's'} {abbreviate(list(slices_by_node))} cannot"
            f" be used: the node{' of the slices does' if singular else 's of the slices do'} not"
            " exist"
        )


def steps_for_orphaned_slices(case: Case, causes: Sequence[Cause]) -> tuple[NextStep, ...]:
    """Return the next steps for slices of a node that does not exist.

    A driver that runs under a wrong name of its node would publish deleted slices again.
    """
    slices_by_node = _slices_of_missing_nodes(case)
    misnamed = any(isinstance(cause, UnknownNodes) and cause.is_misnamed for cause in causes)
    if case.attempt.fits or misnamed or not slices_by_node:
        return ()
    node, slices = next(iter(slices_by_node.items()))
    names = [item.metadata.name or "" for item in slices]
    delete = quote_command("kubectl delete resourceslice" + " {}" * len(names), *names)
    return (NextStep(f"bring node {node} back, or delete its slices", delete),)


def _slices_of_missing_nodes(case: Case) -> dict[str, list[ResourceSlice]]:
    """Group the slices of nodes that do not exist by node; empty unless the input has all nodes."""
    nodes = {key[1] for key in case.state.objects("Node")}
    slices_by_node: dict[str, list[ResourceSlice]] = {}
    for item in case.scheduler.slices if case.state.lists_all_nodes else ():
        if item.spec.node_name and item.spec.node_name not in nodes:
            slices_by_node.setdefault(item.spec.node_name, []).append(item)
    return slices_by_node


def list_holding_pods(case: Case, causes: Iterable[Cause]) -> list[tuple[str, Pod]]:
    """Return the pods that hold wanted devices and have not ended, with their names."""
    names = dict.fromkeys(h.pod for c in causes for h in c.holders if h.pod and not h.finished)
    pods = case.state.pods
    holders = [(name, pods.get(parse_key(name))) for name in names]
    return [(name, pod) for name, pod in holders if pod is not None]


def note_stuck_holders(case: Case, ranked: Sequence[Cause]) -> Iterator[str]:
    """Yield a note that pods which hold the devices cannot run."""
    holders = list_holding_pods(case, ranked[:1])
    reasons = [(name, describe_stuck_container(pod)) for name, pod in holders]
    descriptions = [f"{name} {why}" for name, why in reasons if why]
    if descriptions:
        yield (
            f"{'pods hold' if len(descriptions) > 1 else 'a pod holds'} devices and cannot run:"
            f" {abbreviate(descriptions)}"
        )


def unschedulable_condition(pod: Pod) -> Condition | None:
    """Return the condition PodScheduled if the scheduler could not place the pod."""
    condition = pod.condition("PodScheduled")
    return condition if condition.status == "False" else None
