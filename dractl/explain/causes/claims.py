"""Causes in a pod's claims, before any node is looked at: PreEnqueue, the claim controller and admission
(kubernetes pkg/scheduler/framework/plugins/dynamicresources, pkg/controller/resourceclaim)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dractl.explain.causes.base import SEE_CLAIM, SEE_POD_CLAIMS, STOPPED, Cause, OfClaim, OfRequest, ReasonPage

if TYPE_CHECKING:
    from collections.abc import Mapping


class ClaimMissing(OfClaim, frozen=True, kw_only=True):
    """The pod names a claim that does not exist, or had one made from ``template``. ``elsewhere`` are claims of that
    name in other namespaces; ``none_known``: the input has no claim at all, and may lack those of the cluster;
    ``unlabelled`` is the namespace, if its missing label for adminAccess may be why the claim was refused."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "claim-missing",
        "the claim that the pod names does not exist",
        "The pod names a ResourceClaim that does not exist, or the claim of its template has not been created. The "
        "scheduler does not even try the pod: it has no condition and no event.",
        SEE_POD_CLAIMS + ", then kubectl get resourceclaims -n NS",
        "Create the claim in the pod's own namespace (claims are namespaced), or correct the name. For a template, "
        "look at the pod's FailedResourceClaimCreation events.",
        STOPPED,
    )
    shown: ClassVar[Mapping[str, str]] = {"elsewhere": "found"}

    nearest: str | None = None
    elsewhere: tuple[str, ...] = ()
    none_known: bool = False
    unlabelled: str | None = None
    template: str | None = None


class ClaimNotCreated(OfClaim, frozen=True, kw_only=True):
    """The claim controller has not made the claim of ``template`` (``namespace/name``). ``event`` is the controller's
    own sentence, ``refusal`` what the API server said there; ``webhook`` is the admission webhook that did not answer;
    ``template_is_younger``: the template was created after the pod; ``new``: the pod was created moments ago."""

    page: ClassVar[ReasonPage] = ClaimMissing.page

    template: str
    event: str = ""
    refusal: str = ""
    webhook: str = ""
    template_is_younger: bool = False
    new: bool = False


class TemplateMissing(OfClaim, frozen=True, kw_only=True):
    """The pod names a ResourceClaimTemplate (``namespace/name``) that does not exist."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "template-missing",
        "the ResourceClaimTemplate that the pod names does not exist",
        "The claim controller cannot make the pod's claim because the template is not in the pod's namespace.",
        "kubectl get resourceclaimtemplates -n NS; kubectl describe pod -n NS NAME (event FailedResourceClaimCreation)",
        "Create the template in the pod's namespace or correct the name, then recreate the pod.",
        STOPPED,
    )
    shown: ClassVar[Mapping[str, str]] = {"elsewhere": "found"}

    template: str
    nearest: str | None = None
    elsewhere: tuple[str, ...] = ()
    none_known: bool = False


class ClaimNotOwned(OfClaim, frozen=True, kw_only=True):
    """The claim was made for an earlier pod of the same name."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "claim-not-owned",
        "the claim belongs to another pod of the same name",
        "A claim made from a template belongs to one pod. This one is left over from a pod that had this name before.",
        SEE_CLAIM + " and compare metadata.ownerReferences[].uid with the pod's uid",
        "Wait until the garbage collector has removed the old claim, or delete it.",
        STOPPED,
    )


class ClaimDeleting(OfClaim, frozen=True, kw_only=True):
    """The claim is being deleted. ``users`` are pods that still use it, ``gone`` pods that it is reserved for and that
    no longer exist."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "claim-deleting",
        "the claim is being deleted",
        "The claim has a deletionTimestamp and waits for its finalizer: pods still use it, or its driver cannot "
        "unprepare it.",
        SEE_CLAIM + " (metadata.deletionTimestamp, finalizers, status.reservedFor)",
        "End the pods in status.reservedFor; if they are gone, restart the driver on their node so that it unprepares "
        "the claim.",
        STOPPED,
    )

    users: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    finalizers: tuple[str, ...] = ()
    asked: bool = False  # the question is about the claim itself


class ClaimUnsetSource(OfClaim, frozen=True, kw_only=True):
    """An entry of ``spec.resourceClaims`` names neither a claim nor a template."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "claim-unset-source",
        "an entry of spec.resourceClaims names no claim",
        "Neither resourceClaimName nor resourceClaimTemplateName is set. The form source: {...} of 1.30 and before is "
        "ignored.",
        SEE_POD_CLAIMS,
        "Set one of the two names.",
        STOPPED,
    )

    old_form: bool = False


class SchedulingGated(Cause, frozen=True, kw_only=True):
    """The pod has scheduling gates. ``queue`` (``namespace/name``) is Kueue's LocalQueue that the pod is for."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "scheduling-gated",
        "the pod has scheduling gates",
        "Whoever put the gates there (a queue such as Kueue, an operator) has not removed them yet.",
        "kubectl get pod -n NS NAME -o jsonpath='{.spec.schedulingGates}'",
        "Ask the owner of the gate, for Kueue: kubectl get workloads -n NS.",
        STOPPED,
    )
    shown: ClassVar[Mapping[str, str]] = {"gates": "found"}

    gates: tuple[str, ...] = ()
    queue: str = ""


class QuotaExceeded(OfClaim, frozen=True, kw_only=True):
    """A ResourceQuota forbids the claim, or the pod. ``have`` is its limit for ``resource``, ``used`` what is in use,
    ``more`` what is wanted beside, and ``want`` both. ``event`` is the API server's refusal where that is all that is
    known."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "quota-exceeded",
        "a ResourceQuota forbids the claim",
        "The namespace may have only so many claims (count/resourceclaims.resource.k8s.io) and devices of a class "
        "(NAME.deviceclass.resource.k8s.io/devices); All counts as 32.",
        "kubectl describe resourcequota -n NS; kubectl describe pod -n NS NAME (event FailedResourceClaimCreation)",
        "Delete claims that are no longer needed, ask for fewer devices, or raise the quota.",
        STOPPED,
    )
    shown: ClassVar[Mapping[str, str]] = {"quotas": "found", "request_name": "request"}

    quotas: tuple[str, ...]  # namespace/name, one
    request_name: str | None = None
    device_class: str | None = None
    resource: str | None = None
    want: int | str | None = None
    have: int | str | None = None
    used: int | str = 0
    more: int | str = 0
    event: str = ""


class AdminAccessNamespace(OfClaim, frozen=True, kw_only=True):
    """A request wants adminAccess, and the namespace is not labelled for it."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "admin-access-namespace",
        "adminAccess needs a label on the namespace",
        "Claims with adminAccess may only be created in a namespace that is labelled for it.",
        "kubectl get namespace NS --show-labels",
        "kubectl label namespace NS resource.kubernetes.io/admin-access=true, if this namespace may use adminAccess.",
        STOPPED,
    )
    shown: ClassVar[Mapping[str, str]] = {"request_name": "request"}

    request_name: str
    namespace: str


class ClassMissing(OfRequest, frozen=True, kw_only=True):
    """A request names a DeviceClass that does not exist. ``known`` are those that do; ``none_known``: the input has no
    class at all, and may lack those of the cluster. ``upstream`` is the scheduler's own sentence, where the request
    names no class at all. ``driver`` is the one that installs a class of that name, where it is known; ``silent``: it
    publishes no devices."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "class-missing",
        "the DeviceClass does not exist",
        "A request names a class that is not in the cluster: a typo, the driver's name in its place, or a driver whose "
        "classes were not installed.",
        "kubectl get deviceclasses",
        "Correct deviceClassName, or install the class with its driver (for gpu.nvidia.com: the chart with "
        "resources.gpus.enabled=true and gpuResourcesEnabledOverride=true).",
        STOPPED,
    )
    shown: ClassVar[Mapping[str, str]] = {"known": "found"}

    nearest: str | None = None
    known: tuple[str, ...] = ()
    none_known: bool = False
    upstream: str = ""
    driver: str = ""
    silent: bool = False


class BindingPending(OfClaim, frozen=True, kw_only=True):
    """The claim is allocated, and the scheduler waits for binding conditions of its device. ``since`` is when the claim
    was allocated (RFC 3339)."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "binding-pending",
        "the scheduler waits for the device to be ready",
        "The claim is allocated; the driver has not set the device's binding conditions yet (10 minutes at most).",
        SEE_CLAIM + " (status.devices[].conditions); event BindingConditionsPending",
        "Look at the driver's controller that prepares the device.",
        STOPPED,
    )
    shown: ClassVar[Mapping[str, str]] = {"conditions": "found", "request_name": "request"}

    request_name: str | None = None
    driver: str | None = None
    devices: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    since: str = ""


class BindingFailed(OfClaim, frozen=True, kw_only=True):
    """The driver has refused to get a device of the claim ready. ``failure`` says which condition it has set."""

    page: ClassVar[ReasonPage] = BindingPending.page

    failure: str


class ReservedLimit(OfClaim, frozen=True, kw_only=True):
    """As many pods use the claim as may (``want``); ``have`` is their number."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "reserved-limit",
        "the claim is reserved for 256 pods",
        "At most 256 pods can use one claim at a time.",
        SEE_CLAIM + " (status.reservedFor)",
        "End a pod that uses it, or use a second claim.",
        STOPPED,
    )

    have: int
    want: int


class NoConsumer(OfClaim, frozen=True, kw_only=True):
    """No pod uses the claim."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "no-consumer",
        "no pod uses the claim",
        "A claim is allocated when a pod that uses it is scheduled; until then pending is its normal state.",
        SEE_CLAIM + " (status.reservedFor); kubectl get pods -n NS",
        "Create a pod that refers to it.",
        STOPPED,
    )
