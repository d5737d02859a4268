"""What the scheduler says before and after it looks at nodes, as reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.cluster.state import at, map_at, maps_at, text_at
from dractl.explain.answer import Reason
from dractl.model.nearest import nearest
from dractl.scheduler.admission import ADMIN_LABEL
from dractl.scheduler.stops import (
    AdminAccessDenied,
    DeletedClaim,
    EmptyMapping,
    ForeignClaim,
    Gated,
    Miscounted,
    NoAllocationTime,
    NoNodes,
    NoSuchClaim,
    NoSuchClass,
    NoSuchTemplate,
    NotYetMade,
    OverQuota,
    ReservationsFull,
    UnnamedClaim,
)

if TYPE_CHECKING:
    from dractl.cluster.state import ClusterState
    from dractl.scheduler.binding import BindingFailure, BindingWait
    from dractl.scheduler.known_bugs import Decisive
    from dractl.scheduler.stops import Late, Stop


def reason_of(stop: Stop, state: ClusterState) -> Reason:
    """The reason for what ends an attempt before any node."""
    match stop:
        case Gated(gates):
            text = f"scheduling is held back by the pod's scheduling gates: {', '.join(gates)}"
            return Reason("scheduling-gated", text, found=gates)
        case UnnamedClaim(name, old_form):
            why = "names neither a resourceClaimName nor a resourceClaimTemplateName"
            old = " (the old form source: {…} is no longer read)" if old_form else ""
            return Reason("claim-unset-source", f"pod claim {name} {why}{old}", pod_claim=name)
        case NoSuchClaim():
            return _missing_claim(stop, state)
        case NoSuchTemplate():
            return _missing_template(stop, state)
        case NotYetMade():
            return _not_made(stop)
        case ForeignClaim(claim):
            why = f"claim {claim.full_name} was made for another pod of this name: this pod does not own it"
            return Reason("claim-not-owned", why, pod_claim=claim.name, claim=claim.full_name)
        case DeletedClaim():
            return _deleting(stop, state)
        case AdminAccessDenied(name, request, namespace):
            why = f"request {request.name} wants adminAccess, and namespace {namespace} lacks the label"
            return Reason("admin-access-namespace", f"{why} {ADMIN_LABEL}=true", pod_claim=name, request=request.name)
        case OverQuota():
            return _over_quota(stop)
        case NoSuchClass():
            return _missing_class(stop, state)
        case NoNodes():
            return Reason("node-filter", "the source has no node on which the pod could run")


def _missing_claim(stop: NoSuchClaim, state: ClusterState) -> Reason:
    namespace, claim = stop.claim
    here = [n for (ns, n) in state.all("ResourceClaim") if ns == namespace]
    elsewhere = sorted("/".join(k) for k in state.all("ResourceClaim") if k[1] == claim)
    why = f"claim {namespace}/{claim} does not exist"
    if not state.has("ResourceClaim"):
        why = f"claim {namespace}/{claim} is not in the source, which has no ResourceClaim at all"
    near = nearest(claim, here)
    if elsewhere:
        why += f"; {elsewhere[0]} does, but claims are namespaced"
    elif near:
        why += f"; the namespace has {near}"
    namespace_labels = map_at(state.get("Namespace", ("", namespace)), "metadata", "labels")
    if not elsewhere and not near and state.has("Namespace") and namespace_labels.get(ADMIN_LABEL) != "true":
        why += (
            f". Nothing says why: if it was refused for adminAccess, namespace {namespace} lacks the label"
            f" {ADMIN_LABEL}=true"
            if _mentions_admin(state)
            else ""
        )
    return Reason(
        "claim-missing",
        why,
        pod_claim=stop.pod_claim,
        claim=f"{namespace}/{claim}",
        nearest=near,
        found=tuple(elsewhere),
    )


def _mentions_admin(state: ClusterState) -> bool:
    return any(
        ADMIN_LABEL in map_at(namespace, "metadata", "labels") for namespace in state.all("Namespace").values()
    ) or any(
        at(request, "exactly", "adminAccess")
        for claim in state.all("ResourceClaim").values()
        for request in maps_at(claim, "spec", "devices", "requests")
    )


def _missing_template(stop: NoSuchTemplate, state: ClusterState) -> Reason:
    namespace, template = stop.template
    here = [n for (ns, n) in state.all("ResourceClaimTemplate") if ns == namespace]
    elsewhere = sorted("/".join(k) for k in state.all("ResourceClaimTemplate") if k[1] == template)
    why = f"template {namespace}/{template} does not exist, so the claim is not made"
    if not state.has("ResourceClaimTemplate"):
        why = f"template {namespace}/{template} is not in the source, which has no ResourceClaimTemplate at all"
    near = nearest(template, here)
    if elsewhere:
        why += f"; {elsewhere[0]} does, but templates are namespaced"
    elif near:
        why += f"; the namespace has {near}"
    return Reason(
        "template-missing",
        why,
        pod_claim=stop.pod_claim,
        template=f"{namespace}/{template}",
        nearest=near,
        found=tuple(elsewhere),
    )


def _not_made(stop: NotYetMade) -> Reason:
    namespace, template = stop.template
    said = stop.event
    if "exceeded quota" in said:
        quota = said.partition("exceeded quota: ")[2].partition(",")[0]
        why = f"the claim of pod claim {stop.pod_claim} was refused: {said[said.index('exceeded quota') :]}"
        return Reason("quota-exceeded", why, pod_claim=stop.pod_claim, found=(f"{namespace}/{quota}",))
    why = f"the claim of template {namespace}/{template} has not been created"
    if said:
        why += f"; the claim controller says: {said}"
    elif stop.younger:
        why += "; the template was created after the pod: the controller tries again with growing delays"
    return Reason("claim-missing", why, pod_claim=stop.pod_claim, template=f"{namespace}/{template}")


def _deleting(stop: DeletedClaim, state: ClusterState) -> Reason:
    claim = stop.claim
    gone = [name for name in stop.users if state.get("Pod", (claim.key[0], name)) is None]
    why = f"claim {claim.full_name} is being deleted and cannot be used"
    if gone and state.has("Pod"):
        why += f"; it is still reserved for pod {', '.join(gone)}, which the source does not have"
    elif stop.users:
        why += f"; pod {', '.join(stop.users)} still uses it"
    if stop.finalizers:
        why += f"; finalizers: {', '.join(stop.finalizers)}"
    return Reason("claim-deleting", why, pod_claim=claim.name or None, claim=claim.full_name)


def _over_quota(stop: OverQuota) -> Reason:
    quota = "/".join(stop.quota)
    already = f"{stop.used} used, {stop.need} more wanted"
    why = f"quota {quota} allows {stop.limit} devices of {stop.device_class}; {already}"
    return Reason(
        "quota-exceeded",
        why,
        pod_claim=stop.pod_claim or None,
        request=stop.request.name,
        device_class=stop.device_class,
        resource=stop.resource,
        want=stop.used + stop.need,
        have=stop.limit,
        found=(quota,),
    )


def _missing_class(stop: NoSuchClass, state: ClusterState) -> Reason:
    known = sorted(name for _, name in state.all("DeviceClass"))
    wanted = stop.device_class
    near = nearest(wanted, known) or _class_of_driver(state, wanted)
    why = f"request {stop.request}: device class {wanted} does not exist"
    if not known:
        why = f"request {stop.request}: device class {wanted} is not in the source, which has no class at all"
    elif near:
        why += f"; there is {near}"
    else:
        why += f"; there are {', '.join(known[:5])}"
    return Reason(
        "class-missing",
        why,
        pod_claim=stop.claim.name or None,
        claim=stop.claim.full_name,
        request=str(stop.request),
        device_class=wanted,
        nearest=near,
        found=tuple(known),
    )


def _class_of_driver(state: ClusterState, driver: str) -> str | None:
    """The class whose selector wants this driver, where a driver's name was written in place of the class."""
    for (_, name), value in sorted(state.all("DeviceClass").items()):
        for selector in maps_at(value, "spec", "selectors"):
            if driver in text_at(selector, "cel", "expression"):
                return name
    return None


def late_reason(stop: Late) -> Reason:
    """The reason for what fails after a node was found."""
    match stop:
        case ReservationsFull(claim, reserved, limit):
            why = f"claim {claim.full_name} is reserved for {reserved} pods, and {limit} is the most"
            return Reason("reserved-limit", why, pod_claim=claim.name, claim=claim.full_name, have=reserved, want=limit)
        case NoAllocationTime(claim):
            why = (
                f"claim {claim.full_name} was allocated without allocationTimestamp, by Kubernetes 1.35 or before, or "
                "with DRADeviceBindingConditions off: no further pod can join it until its pods end and it is "
                "allocated anew"
            )
            users = tuple(c.name for c in claim.claim.status.reserved_for) if claim.claim is not None else ()
            return Reason("upstream-bug", why, pod_claim=claim.name or None, claim=claim.full_name, found=users)
        case EmptyMapping(_, nodes):
            why = (
                "the pod has claims and wants an extended resource that a device class provides, and the device plugin "
                f"of node {nodes[0]} has it: the scheduler makes an empty claim for it and fails to bind the pod"
            )
            return Reason("upstream-bug", why, nodes=nodes)
        case Miscounted(claims):
            why = (
                "one claim of the pod is allocated already and another has alternatives (firstAvailable): scoring "
                "counts allocations wrongly in this release"
            )
            claim = claims[0]
            return Reason("upstream-bug", why, pod_claim=claim.name, claim=claim.full_name, issue=stop.issue)


def bug_reason(found: Decisive, claim_name: str | None, claim: str | None) -> Reason:
    """The reason for a known bug without which the pod would fit."""
    bug = found.bug
    why = f"{bug.effect[0].lower()}{bug.effect[1:].rstrip('.')} in Kubernetes {bug.first} to {bug.last}"
    issue = f"kubernetes#{bug.issue}" if bug.issue else None
    return Reason(
        "upstream-bug",
        f"it would fit on {', '.join(found.nodes[:3])}, if not for a known fault of the scheduler: {why}"
        + (f" ({issue})" if issue else ""),
        pod_claim=claim_name,
        claim=claim,
        issue=issue,
        nodes=found.nodes,
        pool=found.pool,
        counter_set=found.counter_set,
        found=found.drivers,
    )


def failure_text(found: BindingFailure) -> str:
    """``driver/pool/device has CONDITION (reason: message)``."""
    said = ": ".join(filter(None, (found.condition.reason, found.condition.message)))
    return f"{found.device} has {found.condition.type}" + (f" ({said})" if said else "")


def waiting_reason(found: BindingWait) -> Reason:
    """The reason of a pod whose allocated devices are not ready."""
    claim = found.claim
    until = f"ten minutes after {found.since}" if found.since else "after ten minutes"
    why = (
        f"claim {claim.full_name} is allocated; the scheduler waits until the driver of {found.device} sets "
        f"{', '.join(found.conditions)} in the claim's status.devices; it gives up {until} and allocates anew"
    )
    return Reason(
        "binding-pending",
        why,
        pod_claim=claim.name or None,
        claim=claim.full_name,
        request=found.request or None,
        driver=found.device.driver,
        devices=(str(found.device),),
        found=found.conditions,
    )
