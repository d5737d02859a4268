"""What keeps a subject from being tried at all, what fails after a node was found, and what the pod itself shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.cluster.pods import event_about
from dractl.cluster.state import at, key_of, list_at, map_at, maps_at, text_at
from dractl.cluster.workloads import refusal
from dractl.model.nearest import nearest
from dractl.objects import Claim
from dractl.reasons.between import PodsNotCreated
from dractl.reasons.binding import BindingPending
from dractl.reasons.claims import (
    ClaimDeleting,
    ClaimMissing,
    ClaimNotCreated,
    ClaimNotOwned,
    ClaimUnsetSource,
    SchedulingGated,
    TemplateMissing,
)
from dractl.reasons.limits import AdminAccessNamespace, ClassMissing, QuotaExceeded
from dractl.reasons.nodes import NodeFilter, NoNodes, ReservedLimit
from dractl.reasons.scheduling import UpstreamBug
from dractl.scheduler import binding, stops
from dractl.scheduler.admission import ADMIN_LABEL
from dractl.scheduler.known_bugs import decisive_bug
from dractl.scheduler.node_filters import declared_features
from dractl.scheduler.quota import PER_CLASS
from dractl.scheduler.rejection import VolumeClaim
from dractl.scheduler.snapshot import PodInfo

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from dractl.cluster.state import ClusterState, Key
    from dractl.explain.case import Case
    from dractl.model import Quantity
    from dractl.model.names import RequestRef
    from dractl.reasons.base import Cause
    from dractl.scheduler.binding import BindingFailure
    from dractl.scheduler.stops import Late, Stop

    Raw = Mapping[str, Any]


# -- before any node --


def of_stop(stop: Stop, case: Case) -> Cause:
    """The cause of what ends an attempt before any node."""
    state = case.state
    match stop:
        case stops.SchedulingGated(gates):
            queue = text_at(case.question.value, "metadata", "labels", _QUEUE)
            return SchedulingGated(gates=gates, queue=f"{case.question.key[0]}/{queue}" if queue else "")
        case stops.ClaimUnsetSource(name, old_form):
            return ClaimUnsetSource(pod_claim=name, old_form=old_form)
        case stops.ClaimMissing():
            return _missing_claim(stop, state)
        case stops.TemplateMissing(name, (namespace, template)):
            here = [n for (ns, n) in state.all("ResourceClaimTemplate") if ns == namespace]
            return TemplateMissing(
                pod_claim=name,
                template=f"{namespace}/{template}",
                nearest=nearest(template, here),
                elsewhere=tuple(sorted("/".join(k) for k in state.all("ResourceClaimTemplate") if k[1] == template)),
                none_known=not state.listed("ResourceClaimTemplate"),
            )
        case stops.ClaimNotCreated():
            return _not_made(stop)
        case stops.ClaimNotOwned(claim):
            return ClaimNotOwned(pod_claim=claim.name, claim=claim.full_name)
        case stops.ClaimDeleting(claim, users, finalizers):
            gone = tuple(name for name in users if state.get("Pod", (claim.key[0], name)) is None)
            return ClaimDeleting(
                pod_claim=claim.name or None,
                claim=claim.full_name,
                users=users,
                gone=gone if state.has("Pod") else (),
                finalizers=finalizers,
            )
        case stops.AdminAccessNamespace(name, request, namespace):
            return AdminAccessNamespace(pod_claim=name, request_name=request.name, namespace=namespace)
        case stops.QuotaExceeded():
            return QuotaExceeded(
                pod_claim=stop.pod_claim or None,
                request_name=stop.request.name if stop.request is not None else None,
                device_class=stop.resource.removesuffix(PER_CLASS) if stop.resource.endswith(PER_CLASS) else None,
                resource=stop.resource,
                want=_number(stop.used + stop.need),
                have=_number(stop.limit),
                used=_number(stop.used),
                more=_number(stop.need),
                quotas=("/".join(stop.quota),),
            )
        case stops.PodsNotCreated(name, message):
            return PodsNotCreated(owner=f"the owner of pod {name}", event=message)
        case stops.ClassMissing(_, request, wanted):
            return _missing_class(case, request, wanted)
        case stops.VolumeUnusable(plugin, (namespace, volume_claim), text):
            about = (VolumeClaim(f"{namespace}/{volume_claim}", _why_unbound(case, (namespace, volume_claim))),)
            return NodeFilter(plugin=plugin, texts=(text,), unmet=about)
        case stops.NoNodes():
            return NoNodes()


def _why_unbound(case: Case, key: Key) -> str:
    """Why a PersistentVolumeClaim cannot be used: no such claim or StorageClass, or what its provisioner says."""
    value = case.state.get("PersistentVolumeClaim", key)
    if value is None:
        near = nearest(key[1], [name for where, name in case.state.all("PersistentVolumeClaim") if where == key[0]])
        return f"there is {near}" if near else ""
    if text_at(value, "status", "phase") == "Bound":
        return ""
    name = text_at(value, "spec", "storageClassName")
    if not name:
        return ""
    known = [known for _, known in case.state.all("StorageClass")]
    if known and name not in known:
        near = nearest(name, known)
        return f"its StorageClass {name} does not exist" + (f"; there is {near}" if near else "")
    said = event_about(case.state, value, "ProvisioningFailed")
    provisioner = text_at(case.state.get("StorageClass", ("", name)), "provisioner")
    if said:
        return said
    return f"{provisioner} has not provisioned a volume of class {name}" if provisioner else ""


def _number(amount: Quantity) -> int | str:
    """A count as a number; of CPU, memory and the like the quantity."""
    text = str(amount)
    return int(text) if text.isdigit() else text


_OF_TEMPLATE = "resource.kubernetes.io/pod-claim-name"  # kubernetes pkg/controller/resourceclaim


def _missing_claim(stop: stops.ClaimMissing, state: ClusterState) -> Cause:
    namespace, claim = stop.claim
    here = [
        name
        for (ns, name), value in state.all("ResourceClaim").items()
        if ns == namespace and _OF_TEMPLATE not in map_at(value, "metadata", "annotations")  # made for another pod
    ]
    labels = map_at(state.get("Namespace", ("", namespace)), "metadata", "labels")
    unlabelled = state.has("Namespace") and labels.get(ADMIN_LABEL) != "true" and _mentions_admin(state)
    return ClaimMissing(
        pod_claim=stop.pod_claim,
        claim=f"{namespace}/{claim}",
        nearest=nearest(claim, here),
        elsewhere=tuple(sorted("/".join(k) for k in state.all("ResourceClaim") if k[1] == claim)),
        none_known=not state.listed("ResourceClaim"),
        unlabelled=namespace if unlabelled else None,
        template=None if stop.template is None else f"{namespace}/{stop.template}",
    )


def _mentions_admin(state: ClusterState) -> bool:
    return any(
        ADMIN_LABEL in map_at(namespace, "metadata", "labels") for namespace in state.all("Namespace").values()
    ) or any(
        request.fields.get("adminAccess")
        for claim in state.all("ResourceClaim").values()
        for request in Claim.of(None, claim, ("spec",)).alternatives
    )


_CREATING = "create ResourceClaim :"  # kubernetes pkg/controller/resourceclaim: the claim has no name yet
_QUEUE = "kueue.x-k8s.io/queue-name"  # kubernetes-sigs/kueue apis/kueue/v1beta1
_NO_ANSWER = 'failed calling webhook "'  # k8s.io/apiserver pkg/admission/plugin/webhook


def _not_made(stop: stops.ClaimNotCreated) -> Cause:
    namespace, template = stop.template
    event = stop.event
    if "exceeded quota: " in event:
        refusal = event[event.index("exceeded quota: ") :]
        quota = refusal.removeprefix("exceeded quota: ").partition(",")[0]
        return QuotaExceeded(pod_claim=stop.pod_claim, quotas=(f"{namespace}/{quota}",), event=refusal)
    return ClaimNotCreated(
        pod_claim=stop.pod_claim,
        template=f"{namespace}/{template}",
        event=event,
        refusal=event.partition(_CREATING)[2].strip(),
        webhook=event.partition(_NO_ANSWER)[2].partition('"')[0],
        template_is_younger=stop.younger,
        new=stop.new,
    )


def _missing_class(case: Case, request: RequestRef, wanted: str) -> Cause:
    """A class that does not exist. Where a known driver installs one of that name, only another one of that driver's
    can have been meant."""
    from dractl.drivers.classes import installed_by
    from dractl.model import Target

    known = sorted(name for _, name in case.state.all("DeviceClass"))
    none_known = not case.state.listed("DeviceClass")
    installed = installed_by(wanted, Target.of(case.scheduler.features.release))
    if installed is None:
        near = nearest(wanted, known) or _class_of_driver(case.state, wanted)
        return ClassMissing(
            request=request, device_class=wanted, nearest=near, known=tuple(known), none_known=none_known
        )
    driver = installed[0]
    own = [name for name in known if driver in case.drivers_of(name)]
    return ClassMissing(
        request=request,
        device_class=wanted,
        nearest=nearest(wanted, own) or _class_of_driver(case.state, wanted),
        known=tuple(known),
        none_known=none_known,
        driver=driver,
        silent=driver not in case.drivers,
    )


def _class_of_driver(state: ClusterState, driver: str) -> str | None:
    """The class whose selector wants this driver, where a driver's name was written in place of the class."""
    for (_, name), value in sorted(state.all("DeviceClass").items()):
        for selector in maps_at(value, "spec", "selectors"):
            if driver in text_at(selector, "cel", "expression"):
                return name
    return None


# -- after a node was found --


def of_late(stop: Late) -> Cause:
    """The cause of what fails after a node was found."""
    match stop:
        case stops.ReservedLimit(claim, reserved, limit):
            return ReservedLimit(pod_claim=claim.name, claim=claim.full_name, have=reserved, want=limit)
        case stops.NoAllocationTime(claim):
            effect = (
                f"claim {claim.full_name} was allocated without allocationTimestamp, by Kubernetes 1.35 or before, or "
                "with DRADeviceBindingConditions off: no further pod can join it until its pods end and it is "
                "allocated again"
            )
            users = tuple(c.name for c in claim.claim.status.reserved_for) if claim.claim is not None else ()
            return UpstreamBug(pod_claim=claim.name or None, claim=claim.full_name, effect=effect, names=users)
        case stops.EmptyMapping(_, nodes):
            effect = (
                "the pod has claims and wants an extended resource that a device class provides, and the device plugin "
                f"of node {nodes[0]} has it: the scheduler makes an empty claim for it and fails to bind the pod"
            )
            return UpstreamBug(effect=effect, nodes=nodes)
        case stops.Miscounted(claims):
            effect = (
                "one claim of the pod is allocated already and another has alternatives (firstAvailable): scoring "
                "counts allocations wrongly in this release"
            )
            return UpstreamBug(pod_claim=claims[0].name, claim=claims[0].full_name, effect=effect, issue=stop.issue)


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
    own = PodInfo(case.question.value).priority(case.state)
    held = (h.pod for cause in ranked[:1] for h in getattr(cause, "holders", ()) if h.pod and not h.finished)
    found = ((name, case.state.get("Pod", key_of(name))) for name in dict.fromkeys(held))
    lower = [name for name, pod in found if pod is not None and PodInfo(pod).priority(case.state) < own]
    if lower:
        those = f"pod {lower[0]} has" if len(lower) == 1 else f"pod {lower[0]} and {len(lower) - 1} more have"
        yield (
            f"{those} a lower priority, but kube-scheduler does not preempt pods for their devices: "
            f"end {'it' if len(lower) == 1 else 'one'} yourself"
        )


def undeclared_features(case: Case) -> Iterator[str]:
    """Possible objections of NodeDeclaredFeatures, which the scheduler asks after DRA."""
    needed = declared_features(case.question.value) if case.scheduler.features.has("declared-features") else []
    lacking = [
        text_at(node, "metadata", "name")
        for node in case.scheduler.nodes
        if not set(needed) <= set(list_at(node, "status", "declaredFeatures"))
    ]
    if needed and lacking:
        more = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
        yield (
            f"node features are not checked here: the pod needs {', '.join(needed)}, and status.declaredFeatures of "
            f"{', '.join(lacking[:3])}{more} lacks it"
        )


def unchecked_volumes(case: Case) -> Iterator[str]:
    """A note that volumes are not checked, if the input lacks the objects that the scheduler looks at."""
    if not case.scheduler.volumes(case.question.value).known:
        kinds = "PersistentVolumeClaims, PersistentVolumes or StorageClasses"
        yield f"volumes are not checked here: the input lacks their {kinds}"


def volumes_of(case: Case) -> Iterator[tuple[str, str]]:
    """The PersistentVolumeClaims of the pod, each with its phase, those that are not bound first."""
    pod, namespace = case.question.value, case.question.key[0]
    found = []
    for volume in maps_at(pod, "spec", "volumes"):
        name = text_at(volume, "persistentVolumeClaim", "claimName")
        if isinstance(volume.get("ephemeral"), dict):
            name = f"{text_at(pod, 'metadata', 'name')}-{text_at(volume, 'name')}"
        if name:
            claim = case.state.get("PersistentVolumeClaim", (namespace, name))
            known = case.state.has("PersistentVolumeClaim")
            phase = text_at(claim, "status", "phase") or "Pending"
            found.append((name, phase if claim is not None else "missing" if known else "not in the input"))
    yield from sorted(found, key=lambda entry: entry[1] == "Bound")


def condition_of(pod: Raw) -> Raw:
    """The condition PodScheduled, if the scheduler could not place the pod; else nothing."""
    found = next((c for c in maps_at(pod, "status", "conditions") if c.get("type") == "PodScheduled"), {})
    return found if at(found, "status") == "False" else {}
