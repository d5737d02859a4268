"""PreEnqueue: the pod's claims, and what keeps the pod from being scheduled at all.

The checks are those of PreEnqueue and of the claim controller, in their order (kubernetes
pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go, pkg/controller/resourceclaim/controller.go,
dynamic-resource-allocation/resourceclaim/claim.go).
"""

from typing import Any, ClassVar, cast

from msgspec import Struct

from dractl.cluster.podgroups import shared_claims
from dractl.cluster.pods import event_about, is_new
from dractl.cluster.state import ClusterState, Key, at, map_at, maps_at, text_at
from dractl.model import Pod, PodResourceClaim, ResourceClaim
from dractl.objects import Raw
from dractl.scheduler.admission import admission
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.stops import Stop

_QUEUE = "kueue.x-k8s.io/queue-name"  # kubernetes-sigs/kueue apis/kueue/v1beta1


class SchedulingGated(Stop, frozen=True):
    """The pod has scheduling gates; ``queue`` (``namespace/name``) is Kueue's LocalQueue that it is for."""

    gates: tuple[str, ...]
    queue: str = ""

    @property
    def text(self) -> str:
        return "Scheduling is blocked due to non-empty scheduling gates"


class ClaimUnsetSource(Stop, frozen=True):
    """An entry of ``spec.resourceClaims`` names neither a claim nor a template.

    ``old_form``: it has the field ``source`` of 1.30 and earlier, which is no longer read.
    """

    pod_claim: str
    old_form: bool


class ClaimMissing(Stop, frozen=True):
    """The claim does not exist in the pod's namespace. ``template``: the one that it was made from, if it was."""

    absent: ClassVar[str] = "ResourceClaim"

    pod_claim: str
    claim: Key
    template: str | None = None


class TemplateMissing(Stop, frozen=True):
    """The template does not exist in the pod's namespace, so the claim is not made."""

    absent: ClassVar[str] = "ResourceClaimTemplate"

    pod_claim: str
    template: Key


class ClaimNotCreated(Stop, frozen=True):
    """The claim controller has not made the claim of a template that exists.

    ``event`` is the newest FailedResourceClaimCreation about it; ``younger``: the template was created after the pod.
    ``new``: the pod was created moments before the cluster was read.
    """

    pod_claim: str
    template: Key
    event: str
    younger: bool
    new: bool = False


class ClaimNotOwned(Stop, frozen=True):
    """The claim was made for another pod of the same name."""

    claim: PodClaim


class ClaimDeleting(Stop, frozen=True):
    """The claim is being deleted. ``users`` are the pods that it is reserved for."""

    claim: PodClaim
    users: tuple[str, ...]
    finalizers: tuple[str, ...]


class Entered(Struct, frozen=True):
    """Result of PreEnqueue: the claims that are there, and what is missing."""

    claims: tuple[PodClaim, ...]
    stops: tuple[Stop, ...] = ()

    @property
    def condition(self) -> str | None:
        """The message of the condition PodScheduled; None unless scheduling gates hold the pod back."""
        return next((stop.text for stop in self.stops if isinstance(stop, SchedulingGated)), None)


def enter(state: ClusterState, value: Raw, *, recreated: bool = False) -> Entered:
    """Claims of a pod. With ``recreated`` the pod is created again, so its templates create new claims.

    A pod without a uid comes from a manifest; its templates create its claims too.
    """
    pod = cast("Pod", state.decode(value))
    creates_claims = recreated or not pod.metadata.uid
    shared = shared_claims(state, value) if creates_claims else {}
    namespace = pod.metadata.namespace or _namespace_of(state, value)
    claims: list[PodClaim] = []
    stops: list[Stop] = []
    if pod.spec.scheduling_gates:
        queue = text_at(value, "metadata", "labels", _QUEUE)
        stops.append(
            SchedulingGated(pod.spec.scheduling_gates, f"{namespace}/{queue}" if queue else "")
        )
    for reference in pod.spec.resource_claims:
        claim, found = _resolve(
            state, value, pod, namespace, reference, creates_claims, shared.get(reference.name)
        )
        if claim is not None:
            claims.append(claim)
        stops += found
    return Entered(tuple(claims), tuple(stops))


def _namespace_of(state: ClusterState, pod: Raw) -> str:
    return next((key[0] for key, value in state.all("Pod").items() if value is pod), "default")


def _resolve(
    state: ClusterState,
    value: Raw,
    pod: Pod,
    namespace: str,
    reference: PodResourceClaim,
    creates_claims: bool,
    shared: tuple[str, Raw] | None,
) -> tuple[PodClaim | None, list[Stop]]:
    name, template = reference.name, reference.resource_claim_template_name
    if reference.resource_claim_name:
        return _named(state, namespace, name, reference.resource_claim_name)
    if not template:
        entries = maps_at(value, "spec", "resourceClaims")
        old_form = any("source" in entry for entry in entries if text_at(entry, "name") == name)
        return None, [ClaimUnsetSource(name, old_form)]
    statuses = {
        status.name: status.resource_claim_name for status in pod.status.resource_claim_statuses
    }
    if creates_claims:
        if shared is not None:
            return _of_group(state, namespace, reference, *shared)
        return _instantiate(state, pod, namespace, name, template)
    if name not in statuses:
        return None, [_not_made(state, value, pod, namespace, name, template)]
    created = statuses[name]
    if not created:
        return None, []  # the claim controller found that none is needed
    claim, stops = _named(state, namespace, name, created, template=template)
    if claim is not None and claim.claim is not None and not _owned(claim.claim, pod):
        stops = [*stops, ClaimNotOwned(claim)]
    return claim, stops


def _owned(claim: ResourceClaim, pod: Pod) -> bool:
    return any(
        owner.uid == pod.metadata.uid or owner.kind == "PodGroup"
        for owner in claim.metadata.owner_references
    )


def _named(
    state: ClusterState, namespace: str, name: str, claim_name: str, *, template: str | None = None
) -> tuple[PodClaim | None, list[Stop]]:
    key = (namespace, claim_name)
    value = state.get("ResourceClaim", key)
    if value is None:
        return None, [ClaimMissing(name, key, template)]
    claim = cast("ResourceClaim", state.decode(value))
    editable: tuple[str, tuple[str, ...]] = ("/".join(("ResourceClaim", *key)), ("spec",))
    if (
        template is not None
        and state.get("ResourceClaimTemplate", (namespace, template)) is not None
    ):
        editable = (f"ResourceClaimTemplate/{namespace}/{template}", ("spec", "spec"))
    found = PodClaim(name, key, value, claim, template, editable)
    if claim.metadata.deletion_timestamp:
        users = tuple(
            consumer.name for consumer in claim.status.reserved_for if consumer.resource == "pods"
        )
        return found, [ClaimDeleting(found, users, claim.metadata.finalizers)]
    return found, []


def _instantiate(
    state: ClusterState, pod: Pod, namespace: str, name: str, template: str
) -> tuple[PodClaim | None, list[Stop]]:
    value = state.get("ResourceClaimTemplate", (namespace, template))
    if value is None:
        return None, [TemplateMissing(name, (namespace, template))]
    key = (namespace, _generated_name(pod, name))
    made = _made(value, namespace, key[1])
    claim = cast("ResourceClaim", state.decode(made))
    editable = (f"ResourceClaimTemplate/{namespace}/{template}", ("spec", "spec"))
    stops: list[Stop] = [*admission(state, claim, namespace, name, replaces=key)]
    return PodClaim(name, key, made, claim, template, editable), stops


def _of_group(
    state: ClusterState, namespace: str, reference: PodResourceClaim, claim_name: str, group: Raw
) -> tuple[PodClaim | None, list[Stop]]:
    """The claim that all pods of a PodGroup share, as its controller has made it or would make it."""
    template = reference.resource_claim_template_name or ""
    if state.get("ResourceClaim", (namespace, claim_name)) is not None:
        return _named(state, namespace, reference.name, claim_name)
    value = state.get("ResourceClaimTemplate", (namespace, template))
    if value is None:
        return None, [TemplateMissing(reference.name, (namespace, template))]
    made = _made(value, namespace, claim_name)
    owner = {"apiVersion": group.get("apiVersion"), "kind": "PodGroup", "controller": True}
    metadata = {
        key: at(group, "metadata", key) for key in ("name", "uid") if at(group, "metadata", key)
    }
    made["metadata"]["ownerReferences"] = [{**owner, **metadata}]
    claim = cast("ResourceClaim", state.decode(made))
    editable = (f"ResourceClaimTemplate/{namespace}/{template}", ("spec", "spec"))
    return PodClaim(reference.name, (namespace, claim_name), made, claim, None, editable), []


def _made(template: Raw, namespace: str, name: str) -> dict[str, Any]:
    """The claim that the controller makes of a template."""
    return {
        "apiVersion": template.get("apiVersion"),
        "kind": "ResourceClaim",
        "metadata": {**map_at(template, "spec", "metadata"), "name": name, "namespace": namespace},
        "spec": at(template, "spec", "spec"),
    }


def _generated_name(pod: Pod, name: str) -> str:
    """The name of the claim that was made for this pod, or a name in its place."""
    for status in pod.status.resource_claim_statuses:
        if status.name == name and status.resource_claim_name:
            return status.resource_claim_name
    return f"{pod.metadata.name or pod.metadata.generate_name}-{name}"


def _not_made(
    state: ClusterState, value: Raw, pod: Pod, namespace: str, name: str, template: str
) -> Stop:
    """Why the claim controller has not made the claim of a template."""
    key = (namespace, template)
    found = state.get("ResourceClaimTemplate", key)
    if found is None:
        return TemplateMissing(name, key)
    claim = cast("ResourceClaim", state.decode(_made(found, namespace, _generated_name(pod, name))))
    refused = admission(state, claim, namespace, name)
    if refused:
        return refused[0]
    event = event_about(state, value, "FailedResourceClaimCreation", f"PodResourceClaim {name}:")
    younger = text_at(found, "metadata", "creationTimestamp") > (
        pod.metadata.creation_timestamp or ""
    )
    return ClaimNotCreated(name, key, event, younger, is_new(state, value))
