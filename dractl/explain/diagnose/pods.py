"""What keeps a subject from being tried at all, what fails after a node was found, and what the pod itself shows."""

from collections.abc import Iterable, Iterator, Sequence

from dractl.allocation import DeviceID, backing_classes
from dractl.cluster.paste import NextStep, command
from dractl.cluster.pods import ended, stuck
from dractl.cluster.state import at, key_of, list_at, map_at, maps_at, text_at
from dractl.cluster.workloads import refusal
from dractl.explain.answer import AllocatedDevice
from dractl.explain.case import Case
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.between import PodsNotCreated
from dractl.explain.reasons.binding import BindingPending
from dractl.explain.reasons.nodes import NodeFilter
from dractl.explain.reasons.phrases import first, plural
from dractl.explain.reasons.scheduling import UpstreamBug
from dractl.model import ResourceSlice
from dractl.objects import Raw
from dractl.scheduler import binding
from dractl.scheduler.attempt import CANNOT_ALLOCATE
from dractl.scheduler.binding import BindingFailure
from dractl.scheduler.known_bugs import decisive_bug
from dractl.scheduler.node_filters import declared_features
from dractl.scheduler.snapshot import init_request
from dractl.scheduler.volumes import claim_names


def known_bug(case: Case) -> Cause | None:
    """The bug of the release without which the pod would fit."""
    if case.attempt.fits:
        return None
    claims, pod = case.attempt.claims, case.question.value
    found = decisive_bug(case.scheduler, case.attempt, claims, lambda scheduler: scheduler.pod(pod))
    if found is None:
        return None
    bug = found.bug
    return UpstreamBug(
        pod_claim=claims[0].name or None if claims else None,
        claim=claims[0].full_name if claims else None,
        effect=f"{bug.effect[0].lower()}{bug.effect[1:].rstrip('.')} in Kubernetes {bug.first} to {bug.last}",
        fits_without=True,
        issue=f"kubernetes#{bug.issue}" if bug.issue else None,
        nodes=found.nodes,
        pool=found.pool,
        counter_set=found.counter_set,
        names=found.drivers,
    )


def awaited(case: Case) -> Cause | None:
    """The binding conditions that a pod waits for whose claims are all allocated."""
    if not case.scheduler.features.binding_conditions:
        return None
    found = binding.pending(case.attempt.claims)
    if found is None:
        return None
    return BindingPending(
        pod_claim=found.claim.name or None,
        claim=found.claim.full_name,
        request_name=found.request or None,
        driver=found.device.driver,
        devices=(str(found.device),),
        conditions=found.conditions,
        since=found.since,
    )


def failure_text(found: BindingFailure) -> str:
    """``driver/pool/device has CONDITION (reason: message)``."""
    said = ": ".join(filter(None, (found.condition.reason, found.condition.message)))
    return f"{found.device} has {found.condition.type}" + (f" ({said})" if said else "")


# -- what the pod shows --


def not_created(case: Case) -> Cause | None:
    """The refusal of a workload's pods, where the question is about the pod that it would make."""
    if text_at(case.question.value, "metadata", "uid"):
        return None
    found = refusal(case.state, *case.question.key)
    return PodsNotCreated(owner=found[0], event=found[1]) if found is not None else None


def outranked(case: Case, ranked: Sequence[Cause]) -> Iterator[str]:
    """That pods of lower priority keep what they hold: the scheduler evicts no pod for its devices, since DRA refuses
    nodes as UnschedulableAndUnresolvable (kubernetes pkg/scheduler/framework/plugins/dynamicresources)."""
    own, snapshot = case.pod.priority, case.scheduler.snapshot
    users: dict[str, list[str]] = {}  # a claim is free once all pods that share it have ended
    for cause in ranked[:1]:
        for holder in getattr(cause, "holders", ()):
            if holder.pod and not holder.finished:
                users.setdefault(holder.claim, []).append(holder.pod)
    found = {n: case.state.get("Pod", key_of(n)) for names in users.values() for n in names}
    below = {
        name for name, pod in found.items() if pod is not None and snapshot.pod(pod).priority < own
    }
    sharing = [names for names in users.values() if below.issuperset(names)]
    lower = list(dict.fromkeys(name for names in sharing for name in names))
    if lower:
        those = (
            f"pod {lower[0]} has"
            if len(lower) == 1
            else f"pod {lower[0]} and {len(lower) - 1} more have"
        )
        end = "it" if len(lower) == 1 else "them" if len(sharing) == 1 else "one"
        yield (
            f"{those} a lower priority, but kube-scheduler does not preempt pods for their devices: end {end} yourself"
        )


def rival_classes(case: Case) -> Iterator[str]:
    """Which of several classes with the name of an extended resource counts (dynamic-resource-allocation/deviceclass
    extendedresourcecache)."""
    classes, features = case.scheduler.state.classes, case.scheduler.features
    for resource in case.pod.extended:
        named = sorted(
            c.metadata.name for c in classes if c.spec.extended_resource_name == resource
        )
        if len(named) > 1 and resource in (backing := backing_classes(classes, features)):
            yield (
                f"classes {', '.join(named)} all have the extendedResourceName {resource}: the newest counts, "
                f"{backing[resource].metadata.name}"
            )


def undeclared_features(case: Case) -> Iterator[str]:
    """Possible objections of NodeDeclaredFeatures, which the scheduler asks after DRA."""
    needed = (
        declared_features(case.question.value)
        if case.scheduler.features.has("declared-features")
        else []
    )
    lacking = [
        name
        for name, node in case.scheduler.nodes.items()
        if not set(needed) <= set(list_at(node, "status", "declaredFeatures"))
    ]
    if needed and lacking:
        more = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
        yield (
            f"node features are not checked here: the pod needs {', '.join(needed)}, and status.declaredFeatures of "
            f"{', '.join(lacking[:3])}{more} lacks it"
        )


def taking_resources(case: Case, given: Iterable[AllocatedDevice]) -> str:
    """A device of those that the pod would get that takes resources of its node (kubernetes
    pkg/scheduler/framework/plugins/dynamicresources/nodeallocatabledynamicresources.go); empty if none does."""
    for each in given:
        device = case.devices.get(DeviceID(each.driver, each.pool, each.device))
        if device is not None and device.mapping.get("nodeAllocatableResources"):
            return each.device
    return ""


def unchecked_volumes(case: Case) -> Iterator[str]:
    """A note that volumes are not checked, if the input lacks the objects that the scheduler looks at."""
    if not case.scheduler.volumes(case.pod).known:
        kinds = "PersistentVolumeClaims, PersistentVolumes or StorageClasses"
        yield f"volumes are not checked here: the input lacks their {kinds}"


def volumes_of(case: Case) -> Iterator[tuple[str, str]]:
    """The PersistentVolumeClaims of the pod, each with its phase, those that are not bound first."""
    found = []
    for name, template in claim_names(case.pod):
        claim = case.state.get("PersistentVolumeClaim", (case.pod.namespace, name))
        phase = text_at(claim, "status", "phase") or "Pending"
        if claim is None:
            phase = "missing" if case.state.has("PersistentVolumeClaim") else "not in the input"
            phase = phase if template is None else "awaited" if case.pod.created else "to be made"
        found.append((name, phase))
    yield from sorted(found, key=lambda entry: entry[1] == "Bound")


def volume_users(
    case: Case, nodes: Sequence[str], quotes: Sequence[str]
) -> tuple[tuple[str, ...], int]:
    """The pods that are in the way of a volume, and the number of volumes on the node if these are too many: users of
    the same ReadWriteOncePod claim (plugins/volumerestrictions), pods with volumes (plugins/nodevolumelimits)."""
    said = " ".join(quotes)
    own = {name for name, _ in volumes_of(case)}
    pods = case.state.all("Pod").items()
    on = [(key, pod) for key, pod in pods if text_at(pod, "spec", "nodeName") and not ended(pod)]
    claims = {
        key: {
            text_at(v, "persistentVolumeClaim", "claimName")
            for v in maps_at(pod, "spec", "volumes")
        }
        - {""}
        for key, pod in on
    }
    if "ReadWriteOncePod" in said:
        namespace = case.question.key[0]
        return tuple(
            "/".join(key) for key, names in claims.items() if key[0] == namespace and names & own
        ), 0
    if "max volume count" not in said:
        return (), 0
    there = [
        key for key, pod in on if text_at(pod, "spec", "nodeName") in nodes[:1] and claims[key]
    ]
    return tuple("/".join(key) for key in there), sum(len(claims[key]) for key in there)


def asked_by(case: Case, ranked: Sequence[Cause]) -> Iterator[str]:
    """What of a pod asks for most of a resource that a node lacks, where that is not plain from its containers: an init
    container, the overhead of its RuntimeClass, its pod-level resources (component-helpers/resource PodRequests)."""
    resource = next(
        (c.resource for c in ranked[:1] if isinstance(c, NodeFilter) and c.resource), None
    )
    if resource is None:
        return
    spec = case.pod.spec
    overhead = map_at(spec, "overhead").get(resource)
    if overhead is not None:
        runtime = text_at(spec, "runtimeClassName")
        yield f"of the pod's {resource} the overhead of RuntimeClass {runtime} is {overhead}"
    level = at(spec, "resources", "requests", resource)
    if level is not None:
        yield f"the pod asks for {resource} {level} as a whole (spec.resources), whatever its containers ask for"
        return
    biggest = init_request(spec, resource)
    if biggest is not None:
        name, amount = biggest
        yield f"init container {name} asks for {resource} {amount}, more than all containers together"


def lacking(case: Case, message: str) -> str:
    """What the input lacks of what the scheduler saw, where it says something else than what was computed: ``nodes``,
    or ``namespaces`` if all objects are of one."""
    state = case.state
    if state.read_at is not None or state.rights.unread:
        return ""
    if not state.has("Node"):
        return "nodes"
    where = {key[0] for kind in ("Pod", "ResourceClaim") for key in state.all(kind)}
    known = {key[1] for key in state.all("Namespace")}
    if CANNOT_ALLOCATE in message and len(where) == 1 and known == where:
        return "namespaces"
    return ""


def stranded(case: Case) -> Iterator[str]:
    """That slices of nodes that do not exist have devices: nobody can use them."""
    gone = _of_no_node(case)
    if gone:
        one = len(gone) == 1
        yield (
            f"{plural(sum(len(item.spec.devices) for those in gone.values() for item in those), 'device')} of "
            f"node{'' if one else 's'} {first(list(gone))} can be used by nobody: there are slices, and the "
            f"node{' does' if one else 's do'} not exist"
        )


def without_node(case: Case) -> tuple[NextStep, ...]:
    """What to do about slices of a node that does not exist."""
    gone = _of_no_node(case)
    if case.attempt.fits or not gone:
        return ()
    node, those = next(iter(gone.items()))
    names = [item.metadata.name or "" for item in those]
    delete = command("kubectl delete resourceslice" + " {}" * len(names), *names)
    return (NextStep(f"bring node {node} back, or delete its slices", delete),)


def _of_no_node(case: Case) -> dict[str, list[ResourceSlice]]:
    """The slices of nodes that do not exist, by node; none where the input has no nodes."""
    nodes = {key[1] for key in case.state.all("Node")}
    gone: dict[str, list[ResourceSlice]] = {}
    for item in case.scheduler.slices if nodes else ():
        if item.spec.node_name and item.spec.node_name not in nodes:
            gone.setdefault(item.spec.node_name, []).append(item)
    return gone


def failing(case: Case, ranked: Sequence[Cause]) -> Iterator[str]:
    """That pods which hold the devices do nothing with them."""
    held = (
        h.pod
        for cause in ranked[:1]
        for h in getattr(cause, "holders", ())
        if h.pod and not h.finished
    )
    found = {name: stuck(case.state.get("Pod", key_of(name))) for name in dict.fromkeys(held)}
    stopped = [f"{name} {why}" for name, why in found.items() if why]
    if stopped:
        yield f"{'pods hold' if len(stopped) > 1 else 'a pod holds'} devices and cannot run: {first(stopped)}"


def condition_of(pod: Raw) -> Raw:
    """The condition PodScheduled, if the scheduler could not place the pod; else nothing."""
    found = next(
        (c for c in maps_at(pod, "status", "conditions") if c.get("type") == "PodScheduled"), {}
    )
    return found if at(found, "status") == "False" else {}
