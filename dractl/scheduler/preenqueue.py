"""A pod's claims, and what keeps it from ever being looked at by the scheduler's filters.

The checks are those of PreEnqueue and of the claim controller (kubernetes
pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go, pkg/controller/resourceclaim/controller.go,
dynamic-resource-allocation/resourceclaim/claim.go), in their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from dractl.cluster.state import at, list_at, map_at, maps_at, text_at
from dractl.explain.answer import Reason
from dractl.model.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dractl.cluster.state import ClusterState, Key
    from dractl.model import ResourceClaim

    Raw = Mapping[str, Any]

ADMIN_LABEL = "resource.kubernetes.io/admin-access"


@dataclass(frozen=True, slots=True)
class PodClaim:
    """One entry of ``spec.resourceClaims``, or a claim asked about by itself (``name`` is empty then).

    ``value`` and ``claim`` are the claim as it is, or as its template would make it; None where there is none.
    ``editable`` says where its spec can be changed: ``Kind/namespace/name`` and the path of the claim's spec in it.
    """

    name: str
    key: Key
    value: Raw | None = None
    claim: ResourceClaim | None = None
    template: str | None = None
    editable: tuple[str, tuple[str, ...]] | None = None

    @property
    def full_name(self) -> str:
        return "/".join(self.key)

    @property
    def allocated(self) -> bool:
        return isinstance(at(self.value, "status", "allocation"), dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands before the filters: the pod's claims as far as they are there, and why they are not."""

    claims: tuple[PodClaim, ...]
    reasons: tuple[Reason, ...] = ()
    condition: str | None = None  # the message of PodScheduled; a pod that waits for something else here has none


def enter(state: ClusterState, pod: Raw, *, anew: bool = False) -> Entry:
    """The claims of ``pod``. With ``anew`` the pod is created again: its templates make new claims.

    A pod without a uid comes from a manifest; its templates make its claims too.
    """
    hypothetical = anew or not text_at(pod, "metadata", "uid")
    claims: list[PodClaim] = []
    reasons: list[Reason] = []
    condition: str | None = None
    gates = [text_at(gate, "name") for gate in maps_at(pod, "spec", "schedulingGates")]
    if gates:
        text = f"scheduling is held back by the pod's scheduling gates: {', '.join(gates)}"
        reasons.append(Reason("scheduling-gated", text, found=tuple(gates)))
        condition = "Scheduling is blocked due to non-empty scheduling gates"
    for reference in maps_at(pod, "spec", "resourceClaims"):
        claim, found = _resolve(state, pod, reference, hypothetical)
        if claim is not None:
            claims.append(claim)
        reasons += found
    return Entry(tuple(claims), tuple(reasons), condition)


def _resolve(state: ClusterState, pod: Raw, reference: Raw, hypothetical: bool) -> tuple[PodClaim | None, list[Reason]]:
    namespace = text_at(pod, "metadata", "namespace") or _namespace_of(state, pod)
    name = text_at(reference, "name")
    claim_name, template = text_at(reference, "resourceClaimName"), text_at(reference, "resourceClaimTemplateName")
    if claim_name:
        return _named(state, namespace, name, claim_name)
    if not template:
        why = "names neither a resourceClaimName nor a resourceClaimTemplateName"
        old = " (the old form source: {…} is no longer read)" if "source" in reference else ""
        return None, [Reason("claim-unset-source", f"pod claim {name} {why}{old}", pod_claim=name)]
    statuses = {text_at(s, "name"): s for s in maps_at(pod, "status", "resourceClaimStatuses")}
    if hypothetical:
        return _instantiate(state, pod, namespace, name, template)
    if name in statuses:
        created = text_at(statuses[name], "resourceClaimName")
        if not created:
            return None, []  # the claim controller found that none is needed
        claim, reasons = _named(state, namespace, name, created, template=template)
        if claim is not None and claim.value is not None and not _owned(claim.value, pod):
            why = f"claim {namespace}/{created} was made for another pod of this name: this pod does not own it"
            reasons = [*reasons, Reason("claim-not-owned", why, pod_claim=name, claim=claim.full_name)]
        return claim, reasons
    return None, [_not_created(state, pod, namespace, name, template)]


def _namespace_of(state: ClusterState, pod: Raw) -> str:
    return next((key[0] for key, value in state.all("Pod").items() if value is pod), "default")


def _owned(claim: Raw, pod: Raw) -> bool:
    uid = text_at(pod, "metadata", "uid")
    owners = maps_at(claim, "metadata", "ownerReferences")
    return any(text_at(owner, "uid") == uid or text_at(owner, "kind") == "PodGroup" for owner in owners)


def _named(
    state: ClusterState, namespace: str, name: str, claim_name: str, *, template: str | None = None
) -> tuple[PodClaim | None, list[Reason]]:
    key = (namespace, claim_name)
    value = state.get("ResourceClaim", key)
    if value is None:
        reason = _missing_claim(state, name, key)
        return None, [reason]
    claim = cast("ResourceClaim", state.decode(value))
    editable: tuple[str, tuple[str, ...]] = ("/".join(("ResourceClaim", *key)), ("spec",))
    if template is not None and state.get("ResourceClaimTemplate", (namespace, template)) is not None:
        editable = (f"ResourceClaimTemplate/{namespace}/{template}", ("spec", "spec"))
    found = PodClaim(name, key, value, claim, template, editable)
    if text_at(value, "metadata", "deletionTimestamp"):
        return found, [_deleting(state, found)]
    return found, []


def _deleting(state: ClusterState, claim: PodClaim) -> Reason:
    consumers = [text_at(c, "name") for c in maps_at(claim.value, "status", "reservedFor")]
    gone = [name for name in consumers if state.get("Pod", (claim.key[0], name)) is None]
    finalizers = ", ".join(str(f) for f in list_at(claim.value, "metadata", "finalizers"))
    why = f"claim {claim.full_name} is being deleted and cannot be used"
    if gone and state.has("Pod"):
        why += f"; it is still reserved for pod {', '.join(gone)}, which the source does not have"
    elif consumers:
        why += f"; pod {', '.join(consumers)} still uses it"
    if finalizers:
        why += f"; finalizers: {finalizers}"
    return Reason("claim-deleting", why, pod_claim=claim.name or None, claim=claim.full_name)


def _missing_claim(state: ClusterState, name: str, key: Key) -> Reason:
    namespace, claim = key
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
        "claim-missing", why, pod_claim=name, claim=f"{namespace}/{claim}", nearest=near, found=tuple(elsewhere)
    )


def _mentions_admin(state: ClusterState) -> bool:
    return any(
        ADMIN_LABEL in map_at(namespace, "metadata", "labels") for namespace in state.all("Namespace").values()
    ) or any(
        at(request, "exactly", "adminAccess")
        for claim in state.all("ResourceClaim").values()
        for request in maps_at(claim, "spec", "devices", "requests")
    )


def _missing_template(state: ClusterState, name: str, namespace: str, template: str) -> Reason:
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
        pod_claim=name,
        template=f"{namespace}/{template}",
        nearest=near,
        found=tuple(elsewhere),
    )


def _instantiate(
    state: ClusterState, pod: Raw, namespace: str, name: str, template: str
) -> tuple[PodClaim | None, list[Reason]]:
    value = state.get("ResourceClaimTemplate", (namespace, template))
    if value is None:
        return None, [_missing_template(state, name, namespace, template)]
    key = (namespace, _generated_name(pod, name))
    made: dict[str, Any] = {
        "apiVersion": value.get("apiVersion"),
        "kind": "ResourceClaim",
        "metadata": {**map_at(value, "spec", "metadata"), "name": key[1], "namespace": namespace},
        "spec": at(value, "spec", "spec"),
    }
    claim = cast("ResourceClaim", state.decode(made))
    editable = (f"ResourceClaimTemplate/{namespace}/{template}", ("spec", "spec"))
    reasons = admission(state, made, name, replaces=key)
    return PodClaim(name, key, made, claim, template, editable), reasons


def _generated_name(pod: Raw, name: str) -> str:
    """The name that the claim of this pod has, or a name in its place."""
    for status in maps_at(pod, "status", "resourceClaimStatuses"):
        if text_at(status, "name") == name and text_at(status, "resourceClaimName"):
            return text_at(status, "resourceClaimName")
    return f"{text_at(pod, 'metadata', 'name') or text_at(pod, 'metadata', 'generateName')}-{name}"


def _not_created(state: ClusterState, pod: Raw, namespace: str, name: str, template: str) -> Reason:
    """Why the claim controller has not made the claim of a template."""
    value = state.get("ResourceClaimTemplate", (namespace, template))
    if value is None:
        return _missing_template(state, name, namespace, template)
    made = {"apiVersion": value.get("apiVersion"), "kind": "ResourceClaim", "metadata": {"namespace": namespace}}
    made["spec"] = at(value, "spec", "spec")
    refused = admission(state, made, name)
    if refused:
        return refused[0]
    said = event_about(state, pod, "FailedResourceClaimCreation", f"PodResourceClaim {name}:")
    if "exceeded quota" in said:
        quota = said.partition("exceeded quota: ")[2].partition(",")[0]
        why = f"the claim of pod claim {name} was refused: {said[said.index('exceeded quota') :]}"
        return Reason("quota-exceeded", why, pod_claim=name, found=(f"{namespace}/{quota}",))
    why = f"the claim of template {namespace}/{template} has not been created"
    if said:
        why += f"; the claim controller says: {said}"
    elif text_at(value, "metadata", "creationTimestamp") > text_at(pod, "metadata", "creationTimestamp"):
        why += "; the template was created after the pod: the controller tries again with growing delays"
    return Reason("claim-missing", why, pod_claim=name, template=f"{namespace}/{template}")


def event_about(state: ClusterState, pod: Raw, reason: str, mention: str = "") -> str:
    """The newest event with ``reason`` about a pod that mentions a text; empty where the source has none."""
    uid, name = text_at(pod, "metadata", "uid"), text_at(pod, "metadata", "name")
    best = ("", "")
    for event in state.all("Event").values():
        about = map_at(event, "involvedObject") or map_at(event, "regarding")
        if event.get("reason") != reason or about.get("name") != name or about.get("uid") not in (uid, None):
            continue
        message = text_at(event, "message") or text_at(event, "note")
        when = (
            text_at(event, "lastTimestamp")
            or text_at(event, "eventTime")
            or text_at(event, "metadata", "creationTimestamp")
        )
        if mention in message:
            best = max(best, (when, message))
    return best[1]


# -- what the API server would say to a new claim --


def requests_of(claim: Raw) -> list[Raw]:
    return maps_at(claim, "spec", "devices", "requests")


def alternatives_of(request: Raw) -> list[Raw]:
    """The alternatives of a request, or the request itself: what holds class and count."""
    subrequests = maps_at(request, "firstAvailable")
    if subrequests:
        return subrequests
    return [map_at(request, "exactly") or request]  # v1beta1 keeps the fields in the request


def admission(state: ClusterState, claim: Raw, pod_claim: str, replaces: Key | None = None) -> list[Reason]:
    """Why the API server would refuse to create ``claim``: the namespace's label for adminAccess, its quotas."""
    namespace = text_at(claim, "metadata", "namespace")
    reasons: list[Reason] = []
    admin = [
        text_at(r, "name") for r in requests_of(claim) if any(a.get("adminAccess") is True for a in alternatives_of(r))
    ]
    labels = map_at(state.get("Namespace", ("", namespace)), "metadata", "labels")
    if admin and state.get("Namespace", ("", namespace)) is not None and labels.get(ADMIN_LABEL) != "true":
        why = f"request {admin[0]} wants adminAccess, and namespace {namespace} lacks the label {ADMIN_LABEL}=true"
        reasons.append(Reason("admin-access-namespace", why, pod_claim=pod_claim, request=admin[0]))
    wanted = devices_by_class([claim])
    others = [value for key, value in state.all("ResourceClaim").items() if key[0] == namespace and key != replaces]
    used = devices_by_class(others)
    for (where, quota), value in state.all("ResourceQuota").items():
        if where != namespace:
            continue
        for resource, limit in map_at(value, "spec", "hard").items():
            device_class, suffix, _ = resource.partition(".deviceclass.resource.k8s.io/devices")
            if not suffix or device_class not in wanted or not str(limit).isdigit():
                continue
            need, have = wanted[device_class], used.get(device_class, 0)
            if need + have > int(str(limit)):
                request = next(
                    text_at(r, "name")
                    for r in requests_of(claim)
                    if any(text_at(a, "deviceClassName") == device_class for a in alternatives_of(r))
                )
                already = f"{have} used, {need} more wanted"
                why = f"quota {namespace}/{quota} allows {limit} devices of {device_class}; {already}"
                reasons.append(
                    Reason(
                        "quota-exceeded",
                        why,
                        pod_claim=pod_claim or None,
                        request=request,
                        device_class=device_class,
                        resource=resource,
                        want=have + need,
                        have=int(str(limit)),
                        found=(f"{namespace}/{quota}",),
                    )
                )
    return reasons


def devices_by_class(claims: Iterable[Raw]) -> dict[str, int]:
    """Devices that quota counts for each class: the count, 32 for All, the worst of the alternatives
    (kubernetes pkg/quota/v1/evaluator/core/resource_claims.go)."""
    total: dict[str, int] = {}
    for claim in claims:
        for request in requests_of(claim):
            worst: dict[str, int] = {}
            for alternative in alternatives_of(request):
                count = alternative.get("count")
                need = 32 if alternative.get("allocationMode") == "All" else count if isinstance(count, int) else 1
                name = text_at(alternative, "deviceClassName")
                worst[name] = max(worst.get(name, 0), need)
            for name, need in worst.items():
                total[name] = total.get(name, 0) + need
    return total
