"""PreEnqueue: the pod's claims, and the stops that keep the pod from being scheduled at all.

The checks follow PreEnqueue and the claim controller, in their order (kubernetes
pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go,
pkg/controller/resourceclaim/controller.go, dynamic-resource-allocation/resourceclaim/claim.go).
"""

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from msgspec import Struct

from dractl import model
from dractl.cluster.events import newest_message
from dractl.cluster.podgroups import GroupClaim, claims_of_group
from dractl.cluster.pods import is_new
from dractl.cluster.state import DEFAULT_NAMESPACE, ClusterState, Key
from dractl.model import PodResourceClaim, ResourceClaim
from dractl.objects import Raw
from dractl.scheduler.admission import find_refusals
from dractl.scheduler.claims import EditableSpec, PodClaim
from dractl.scheduler.stops import Stop
from dractl.views import ClaimTemplate, Pod


class SchedulingGated(Stop, frozen=True):
    """The pod has scheduling gates."""

    gates: tuple[str, ...]
    queue: str = ""
    """The LocalQueue of Kueue that the pod is for (``namespace/name``)."""

    @property
    def text(self) -> str:
        """The message of the condition PodScheduled."""
        return "Scheduling is blocked due to non-empty scheduling gates"


class ClaimUnsetSource(Stop, frozen=True):
    """An entry of ``spec.resourceClaims`` names neither a claim nor a template."""

    pod_claim: str
    old_form: bool
    """True if the entry has the field ``source`` of 1.30 and earlier, which later releases ignore.
    """


class ClaimMissing(Stop, frozen=True):
    """The claim does not exist in the pod's namespace."""

    absent: ClassVar[str] = "ResourceClaim"

    pod_claim: str
    claim: Key
    template: str | None = None
    """The template from which the claim was made."""


class TemplateMissing(Stop, frozen=True):
    """The template does not exist in the pod's namespace, so the claim is not made."""

    absent: ClassVar[str] = "ResourceClaimTemplate"

    pod_claim: str
    template: Key


class ClaimNotCreated(Stop, frozen=True):
    """The claim controller has not made the claim of a template that exists."""

    pod_claim: str
    template: Key
    event: str
    """The newest event FailedResourceClaimCreation about the claim."""
    template_is_younger: bool
    """True if the template was created after the pod."""
    pod_is_new: bool = False
    """True if the pod was created moments before the cluster was read."""
    existing: str = ""
    """A claim that was made for the pod, and that the pod's status does not name."""
    template_since: str = ""
    """The time at which the template was created (RFC 3339); "" if unknown."""

    @property
    def template_came_later(self) -> bool:
        """True if the template did not exist yet when the controller looked for it."""
        return self.template_is_younger and self.event.endswith("not found")


class ClaimNotOwned(Stop, frozen=True):
    """The claim was made for another pod of the same name."""

    claim: PodClaim


class ClaimDeleting(Stop, frozen=True):
    """The claim is being deleted."""

    claim: PodClaim
    users: tuple[str, ...]
    """The pods for which the claim is reserved."""
    finalizers: tuple[str, ...]


class PreEnqueueResult(Struct, frozen=True):
    """The existing claims of a pod, and the stops that keep the pod from being scheduled."""

    claims: tuple[PodClaim, ...]
    stops: tuple[Stop, ...] = ()

    @property
    def condition(self) -> str | None:
        """The message of the condition PodScheduled; None unless scheduling gates hold the pod
        back.
        """
        return next((stop.text for stop in self.stops if isinstance(stop, SchedulingGated)), None)


class _Resolution(Struct, frozen=True):
    """The claim of one entry of ``spec.resourceClaims``. ``claim`` is None if the claim does not
    exist, or if none is needed.
    """

    claim: PodClaim | None = None
    stops: tuple[Stop, ...] = ()


def pre_enqueue(state: ClusterState, pod: Raw, *, recreated: bool = False) -> PreEnqueueResult:
    """Resolve the claims of a pod, and return them with the stops that hold the pod back.

    With ``recreated`` the pod is created again, so that its templates create new claims. A pod
    without a uid comes from a manifest; its templates create its claims too.
    """
    return _PreEnqueue(state, pod, recreated=recreated).run()


class _PreEnqueue:
    """PreEnqueue of one pod."""

    def __init__(self, state: ClusterState, raw: Raw, *, recreated: bool) -> None:
        self.state = state
        self.view = Pod(raw)
        self.pod = cast("model.Pod", state.decode(raw))
        self.namespace = self.pod.metadata.namespace or _namespace_in(state, raw)
        self.creates_claims = recreated or not self.pod.metadata.uid
        self.group_claims = claims_of_group(state, self.view) if self.creates_claims else {}

    def run(self) -> PreEnqueueResult:
        """Return the claims and the stops."""
        stops: list[Stop] = []
        if self.pod.spec.scheduling_gates:
            queue = self.view.local_queue
            full_name = f"{self.namespace}/{queue}" if queue else ""
            stops.append(SchedulingGated(self.pod.spec.scheduling_gates, full_name))
        resolutions = [self._resolve(reference) for reference in self.pod.spec.resource_claims]
        stops += (stop for resolution in resolutions for stop in resolution.stops)
        claims = (resolution.claim for resolution in resolutions)
        return PreEnqueueResult(tuple(c for c in claims if c is not None), tuple(stops))

    def _resolve(self, reference: PodResourceClaim) -> _Resolution:
        name, template = reference.name, reference.resource_claim_template_name
        if reference.resource_claim_name:
            return self._look_up(name, reference.resource_claim_name)
        if not template:
            return _Resolution(stops=(ClaimUnsetSource(name, self._has_source(name)),))
        if self.creates_claims:
            if name in self.group_claims:
                return self._share(name, template, self.group_claims[name])
            return self._create(name, template)
        return self._look_up_generated(name, template)

    def _has_source(self, name: str) -> bool:
        """Return True if the entry of this name has the field ``source`` of Kubernetes up to
        1.30.
        """
        references = self.view.claim_references
        return any(reference.has_source for reference in references if reference.name == name)

    # -- claims that exist -----------------------------------------------------------------------

    def _look_up_generated(self, name: str, template: str) -> _Resolution:
        """Look up the claim that the claim controller has made from a template."""
        statuses = {
            status.name: status.resource_claim_name
            for status in self.pod.status.resource_claim_statuses
        }
        if name not in statuses:
            return _Resolution(stops=(self._explain_missing_claim(name, template),))
        claim_name = statuses[name]
        if not claim_name:
            return _Resolution()  # the claim controller has found that no claim is needed
        resolution = self._look_up(name, claim_name, template=template)
        claim = resolution.claim
        if claim is None or claim.claim is None or self._owns(claim.claim):
            return resolution
        return _Resolution(claim, (*resolution.stops, ClaimNotOwned(claim)))

    def _look_up(self, name: str, claim_name: str, *, template: str | None = None) -> _Resolution:
        key = (self.namespace, claim_name)
        value = self.state.get("ResourceClaim", key)
        if value is None:
            return _Resolution(stops=(ClaimMissing(name, key, template),))
        claim = cast("ResourceClaim", self.state.decode(value))
        editable = EditableSpec("/".join(("ResourceClaim", *key)), ("spec",))
        if template is not None and self._template(template).exists:
            editable = self._template_spec(template)
        pod_claim = PodClaim(name, key, value, claim, template, editable)
        if not claim.metadata.deletion_timestamp:
            return _Resolution(pod_claim)
        users = tuple(user.name for user in claim.status.reserved_for if user.resource == "pods")
        return _Resolution(pod_claim, (ClaimDeleting(pod_claim, users, claim.metadata.finalizers),))

    def _owns(self, claim: ResourceClaim) -> bool:
        return any(
            owner.uid == self.pod.metadata.uid or owner.kind == "PodGroup"
            for owner in claim.metadata.owner_references
        )

    def _explain_missing_claim(self, name: str, template: str) -> Stop:
        """Return why the claim controller has not made the claim of a template."""
        key = (self.namespace, template)
        claim_template = self._template(template)
        existing = self._find_unnamed_claim(name)
        if not existing:
            if not claim_template.exists:
                return TemplateMissing(name, key)
            claim = self._instantiate(claim_template, self._claim_name(name))
            refusals = find_refusals(self.state, self._decode(claim), self.namespace, name)
            if refusals:
                return refusals[0]
        event = newest_message(
            self.state, self.view, "FailedResourceClaimCreation", f"PodResourceClaim {name}:"
        )
        pod_created = self.pod.metadata.creation_timestamp or ""
        is_younger = claim_template.creation_timestamp > pod_created
        return ClaimNotCreated(
            name,
            key,
            event,
            is_younger,
            is_new(self.state, self.view),
            existing,
            claim_template.creation_timestamp,
        )

    def _find_unnamed_claim(self, name: str) -> str:
        """Return a claim that the controller has made for an entry of the pod, though the pod's
        status does not name it; "" if there is none.

        The controller writes the status only after it has made all claims of a pod (kubernetes
        pkg/controller/resourceclaim/controller.go syncPod).
        """
        pod = self.view
        for key in self.state.claims_of_pod((self.namespace, pod.name)):
            claim = self.state.claim(key)
            is_of_pod = any(owner.uid == pod.uid for owner in claim.owners)
            if is_of_pod and claim.pod_claim_name == name:
                return "/".join(key)
        return ""

    # -- claims that are to be created -----------------------------------------------------------

    def _create(self, name: str, template: str) -> _Resolution:
        """Make the claim of a template."""
        claim_template = self._template(template)
        if not claim_template.exists:
            return _Resolution(stops=(TemplateMissing(name, (self.namespace, template)),))
        key = (self.namespace, self._claim_name(name))
        raw = self.state.cache.from_object(
            ("claim-of-template", *key),
            claim_template.raw,
            lambda: self._instantiate(claim_template, key[1]),
        )
        claim = self._decode(raw)
        refusals = find_refusals(self.state, claim, self.namespace, name, replaces=key)
        pod_claim = PodClaim(name, key, raw, claim, template, self._template_spec(template))
        return _Resolution(pod_claim, tuple(refusals))

    def _share(self, name: str, template: str, shared: GroupClaim) -> _Resolution:
        """Return the claim that all pods of a PodGroup share, as it exists, or as its controller
        would make it.
        """
        claim_name, group = shared.name, shared.group
        if self.state.get("ResourceClaim", (self.namespace, claim_name)) is not None:
            return self._look_up(name, claim_name)
        claim_template = self._template(template)
        if not claim_template.exists:
            return _Resolution(stops=(TemplateMissing(name, (self.namespace, template)),))
        owner = {"apiVersion": group.raw.get("apiVersion"), "kind": "PodGroup", "controller": True}
        identity = {key: group.metadata[key] for key in ("name", "uid") if group.metadata.get(key)}
        raw = self._instantiate(claim_template, claim_name, [{**owner, **identity}])
        key = (self.namespace, claim_name)
        spec = self._template_spec(template)
        return _Resolution(PodClaim(name, key, raw, self._decode(raw), None, spec))

    def _template(self, name: str) -> ClaimTemplate:
        return self.state.claim_template((self.namespace, name))

    def _template_spec(self, name: str) -> EditableSpec:
        target = f"ResourceClaimTemplate/{self.namespace}/{name}"
        return EditableSpec(target, ("spec", "spec"))

    def _instantiate(
        self, template: ClaimTemplate, name: str, owners: Sequence[Raw] = ()
    ) -> dict[str, Any]:
        """Return the claim that the controller makes from a template, for the given owners."""
        metadata = {**template.claim_metadata, "name": name, "namespace": self.namespace}
        if owners:
            metadata["ownerReferences"] = list(owners)
        return {
            "apiVersion": template.raw.get("apiVersion"),
            "kind": "ResourceClaim",
            "metadata": metadata,
            "spec": template.claim_spec,
        }

    def _claim_name(self, name: str) -> str:
        """Return the name of the claim that was made for the pod, or a placeholder for it."""
        for status in self.pod.status.resource_claim_statuses:
            if status.name == name and status.resource_claim_name:
                return status.resource_claim_name
        return f"{self.pod.metadata.name or self.pod.metadata.generate_name}-{name}"

    def _decode(self, claim: Raw) -> ResourceClaim:
        return cast("ResourceClaim", self.state.decode(claim))


def _namespace_in(state: ClusterState, pod: Raw) -> str:
    """Return the namespace under which the cluster stores a pod; the pod itself may name none."""
    keys = (key for key, raw in state.objects("Pod").items() if raw is pod)
    return next(keys, (DEFAULT_NAMESPACE, ""))[0]
