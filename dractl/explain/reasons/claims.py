"""Reasons in a pod's claims, before any node is looked at: PreEnqueue, the claim controller and
admission (kubernetes pkg/scheduler/framework/plugins/dynamicresources,
pkg/controller/resourceclaim).
"""

from collections.abc import Iterator

from dractl.cluster.shell import NextStep, quote_command
from dractl.cluster.state import ClusterState, map_at
from dractl.explain.reasons.base import (
    SEE_CLAIM,
    SEE_POD_CLAIMS,
    Cause,
    ClaimCause,
    Progress,
    ReasonPage,
)
from dractl.explain.reasons.limits import QuotaExceeded
from dractl.explain.reasons.next_step import CONTROLLERS, AskedObject, complete_input, retry_prefix
from dractl.explain.reasons.phrases import Names, Scope
from dractl.model.nearest import nearest
from dractl.objects import Claim
from dractl.scheduler import pre_enqueue
from dractl.scheduler.attempt import Scheduler
from dractl.views.namespace import ADMIN_ACCESS_LABEL

_POD_CLAIM_ANNOTATION = (  # kubernetes pkg/controller/resourceclaim
    "resource.kubernetes.io/pod-claim-name"
)
_CREATION_PREFIX = (  # kubernetes pkg/controller/resourceclaim: the claim has no name yet
    "create ResourceClaim :"
)
_SILENT_WEBHOOK = 'failed calling webhook "'  # k8s.io/apiserver pkg/admission/plugin/webhook
# k8s.io/apiserver/pkg/admission/plugin: policies deny "request", webhooks "the request", and a
# message follows
_DENIALS = ("denied the request: ", "denied request: ")


class ClaimMissing(ClaimCause, frozen=True, kw_only=True):
    """The pod names a claim that does not exist, or had one made from ``template``. ``elsewhere``
    are claims of that name in other namespaces; ``none_known``: the input has no claim at all, and
    may lack those of the cluster; ``unlabelled`` is the namespace, if its missing label for
    adminAccess may be why the claim was refused.
    """

    stops = (pre_enqueue.ClaimMissing,)
    page = ReasonPage(
        "claim-missing",
        "the claim that the pod names does not exist",
        "The pod names a ResourceClaim that does not exist, or the claim of its template has not"
        " been created. The scheduler does not even try the pod: it has no condition and no event.",
        SEE_POD_CLAIMS + ", then kubectl get resourceclaims -n NS",
        "Create the claim in the pod's own namespace (claims are namespaced), or correct the name."
        " For a template, look at the pod's FailedResourceClaimCreation events.",
        Progress.STOPPED,
    )
    found = "elsewhere"

    nearest: str | None = None
    elsewhere: tuple[str, ...] = ()
    none_known: bool = False
    unlabelled: str | None = None
    template: str | None = None
    is_template: bool = False  # a ResourceClaimTemplate has the name

    @classmethod
    def of_stop(cls, stop: pre_enqueue.ClaimMissing, scheduler: Scheduler) -> Cause:
        state, (namespace, claim) = scheduler.state, stop.claim
        here = [
            name
            for (ns, name), value in state.objects("ResourceClaim").items()
            if ns == namespace
            and _POD_CLAIM_ANNOTATION
            not in map_at(value, "metadata", "annotations")  # made for another pod
        ]
        labels = map_at(state.get("Namespace", ("", namespace)), "metadata", "labels")
        unlabelled = (
            state.has("Namespace")
            and labels.get(ADMIN_ACCESS_LABEL) != "true"
            and _mentions_admin(state)
        )
        return cls(
            pod_claim=stop.pod_claim,
            claim=f"{namespace}/{claim}",
            nearest=nearest(claim, here),
            elsewhere=_names_in_other_namespaces(state, "ResourceClaim", claim),
            none_known=not state.covers("ResourceClaim"),
            unlabelled=namespace if unlabelled else None,
            template=None if stop.template is None else f"{namespace}/{stop.template}",
            is_template=stop.template is None
            and state.get("ResourceClaimTemplate", stop.claim) is not None,
        )

    def sentence(self, names: Names, scope: Scope) -> str:
        if self.is_template:
            return (
                f"claim {self.claim} does not exist; {self.claim} is a ResourceClaimTemplate, which"
                " resourceClaimTemplateName has to name"
            )
        if self.none_known:
            why = f"claim {self.claim} is not in the input, which has no ResourceClaim at all"
        elif self.template is not None:
            return (
                f"claim {self.claim} was deleted; made from template {self.template}, it is not"
                " created again while the pod exists"
            )
        else:
            why = f"claim {self.claim} does not exist"
        if self.elsewhere:
            return f"{why}; {self.elsewhere[0]} does, but claims are namespaced"
        if self.nearest:
            return f"{why}; did you mean {self.nearest}?"
        if self.unlabelled:
            why += (
                ". Nothing says why: if it was refused for adminAccess, namespace"
                f" {self.unlabelled} lacks the label resource.kubernetes.io/admin-access=true"
            )
        return why

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        if self.none_known:
            yield complete_input("ResourceClaim")
        elif self.template is None:
            yield NextStep(
                "see which claims the namespace has",
                quote_command("kubectl get resourceclaims -n {}", asked.namespace),
            )
        else:
            yield NextStep(
                "recreate the pod, and its claim with it; devices that are in use stay so until"
                " their pods end",
                quote_command("kubectl delete pod {} -n {}", asked.name, asked.namespace),
            )


class ClaimNotCreated(ClaimCause, frozen=True, kw_only=True):
    """The claim controller has not made the claim of ``template`` (``namespace/name``). ``event``
    is the controller's own sentence, ``refusal`` what the API server said there; ``webhook`` is the
    admission webhook that did not answer; ``template_is_younger``: the template was created after
    the pod; ``new``: the pod was created moments ago.
    """

    stops = (pre_enqueue.ClaimNotCreated,)
    page = ClaimMissing.page
    steps_beside_fixes = True

    template: str
    event: str = ""
    refusal: str = ""
    webhook: str = ""
    template_is_younger: bool = False
    new: bool = False

    @classmethod
    def of_stop(cls, stop: pre_enqueue.ClaimNotCreated, scheduler: Scheduler) -> Cause:
        namespace, template = stop.template
        event = stop.event
        if "exceeded quota: " in event:
            refusal = event[event.index("exceeded quota: ") :]
            quota = refusal.removeprefix("exceeded quota: ").partition(",")[0]
            return QuotaExceeded(
                pod_claim=stop.pod_claim, quotas=(f"{namespace}/{quota}",), event=refusal
            )
        return cls(
            pod_claim=stop.pod_claim,
            template=f"{namespace}/{template}",
            event=event,
            refusal=event.partition(_CREATION_PREFIX)[2].strip(),
            webhook=event.partition(_SILENT_WEBHOOK)[2].partition('"')[0],
            template_is_younger=stop.template_is_younger,
            new=stop.pod_is_new,
        )

    def sentence(self, names: Names, scope: Scope) -> str:
        why = f"the claim of template {self.template} has not been created"
        if self.refusal:
            return f"the claim of template {self.template} cannot be created: {self.refusal}"
        if self.event:
            return f"{why}; the claim controller says: {self.event}"
        if self.template_is_younger:
            return (
                f"{why}; the template was created after the pod: the controller tries again with"
                " growing delays"
            )
        if self.new:
            return f"{why} yet; the pod was created a few seconds ago"
        return f"{why}, and no event says why: is kube-controller-manager running?"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        namespace, _, template = self.template.partition("/")
        if self.webhook:
            yield NextStep(
                f"see why admission webhook {self.webhook} does not answer",
                "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
            )
        elif self.event:
            asks = next((rest for mark in _DENIALS if (rest := self.event.partition(mark)[2])), "")
            yield NextStep(
                f"change template {self.template} so that its claims are accepted (their labels are"
                " its spec.metadata.labels)" + (f": {asks}" if asks else ""),
                quote_command("kubectl edit resourceclaimtemplate {} -n {}", template, namespace),
            )
        else:
            yield NextStep(f"{retry_prefix(self.new)}{CONTROLLERS.text}", CONTROLLERS.command)


class TemplateMissing(ClaimCause, frozen=True, kw_only=True):
    """The pod names a ResourceClaimTemplate (``namespace/name``) that does not exist."""

    stops = (pre_enqueue.TemplateMissing,)
    page = ReasonPage(
        "template-missing",
        "the ResourceClaimTemplate that the pod names does not exist",
        "The claim controller cannot make the pod's claim because the template is not in the pod's"
        " namespace.",
        "kubectl get resourceclaimtemplates -n NS; kubectl describe pod -n NS NAME (event"
        " FailedResourceClaimCreation)",
        "Create the template in the pod's namespace or correct the name, then recreate the pod.",
        Progress.STOPPED,
    )
    found = "elsewhere"

    template: str
    nearest: str | None = None
    elsewhere: tuple[str, ...] = ()
    none_known: bool = False
    is_claim: bool = False  # a ResourceClaim has the name

    @classmethod
    def of_stop(cls, stop: pre_enqueue.TemplateMissing, scheduler: Scheduler) -> Cause:
        state, (namespace, template) = scheduler.state, stop.template
        here = [name for (ns, name) in state.objects("ResourceClaimTemplate") if ns == namespace]
        return cls(
            pod_claim=stop.pod_claim,
            template=f"{namespace}/{template}",
            nearest=nearest(template, here),
            elsewhere=_names_in_other_namespaces(state, "ResourceClaimTemplate", template),
            none_known=not state.covers("ResourceClaimTemplate"),
            is_claim=state.get("ResourceClaim", stop.template) is not None,
        )

    def sentence(self, names: Names, scope: Scope) -> str:
        if self.is_claim:
            return (
                f"template {self.template} does not exist; {self.template} is a ResourceClaim,"
                " which resourceClaimName has to name"
            )
        if self.none_known:
            why = (
                f"template {self.template} is not in the input, which has no ResourceClaimTemplate"
                " at all"
            )
        else:
            why = f"template {self.template} does not exist, so the claim is not created"
        if self.elsewhere:
            return f"{why}; {self.elsewhere[0]} does, but templates are namespaced"
        return f"{why}; did you mean {self.nearest}?" if self.nearest else why

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        if self.none_known:
            yield complete_input("ResourceClaimTemplate")
        name = self.template.rpartition("/")[2]
        text = f"create template {name}, or correct its name where the pod is written"
        if self.nearest:
            text = (
                f"replace the name {name} by {self.nearest} where the pod is written, and recreate"
                " the pod"
            )
        yield NextStep(
            text, quote_command("kubectl get resourceclaimtemplates -n {}", asked.namespace)
        )


class ClaimNotOwned(ClaimCause, frozen=True, kw_only=True):
    """The claim was made for an earlier pod of the same name."""

    stops = (pre_enqueue.ClaimNotOwned,)
    page = ReasonPage(
        "claim-not-owned",
        "the claim belongs to another pod of the same name",
        "A claim made from a template belongs to one pod. This one is left over from a pod that had"
        " this name before.",
        SEE_CLAIM + " and compare metadata.ownerReferences[].uid with the pod's uid",
        "Wait until the garbage collector has removed the old claim, or delete it.",
        Progress.STOPPED,
    )

    @classmethod
    def of_stop(cls, stop: pre_enqueue.ClaimNotOwned, scheduler: Scheduler) -> Cause:
        return cls(pod_claim=stop.claim.name, claim=stop.claim.full_name)

    def sentence(self, names: Names, scope: Scope) -> str:
        return f"claim {self.claim} was made for another pod of this name: this pod does not own it"


class ClaimDeleting(ClaimCause, frozen=True, kw_only=True):
    """The claim is being deleted. ``users`` are pods that still use it, ``gone`` pods that it is
    reserved for and that no longer exist.
    """

    stops = (pre_enqueue.ClaimDeleting,)
    page = ReasonPage(
        "claim-deleting",
        "the claim is being deleted",
        "The claim has a deletionTimestamp and waits for its finalizer: pods still use it, or its"
        " driver cannot unprepare it.",
        SEE_CLAIM + " (metadata.deletionTimestamp, finalizers, status.reservedFor)",
        "End the pods in status.reservedFor; if they are gone, restart the driver on their node so"
        " that it unprepares the claim.",
        Progress.STOPPED,
    )

    users: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    finalizers: tuple[str, ...] = ()
    asked: bool = False  # the question is about the claim itself

    @classmethod
    def of_stop(cls, stop: pre_enqueue.ClaimDeleting, scheduler: Scheduler) -> Cause:
        state, claim = scheduler.state, stop.claim
        gone = (name for name in stop.users if state.get("Pod", (claim.key[0], name)) is None)
        return cls(
            pod_claim=claim.name or None,
            claim=claim.full_name,
            users=stop.users,
            gone=tuple(gone) if state.has("Pod") else (),
            finalizers=stop.finalizers,
        )

    def sentence(self, names: Names, scope: Scope) -> str:
        if self.asked:
            return f"claim {self.claim} is being deleted"
        why = f"claim {self.claim} is being deleted and cannot be used"
        if self.gone:
            why += (
                f"; it is still reserved for pod {', '.join(self.gone)}, which does not exist in"
                " the input"
            )
        elif self.users:
            one = len(self.users) == 1
            why += (
                f"; {'pod' if one else 'pods'} {', '.join(self.users)} still"
                f" {'uses' if one else 'use'} it"
            )
        if self.finalizers:
            why += f"; finalizers: {', '.join(self.finalizers)}"
        return why

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield NextStep(
            "see who still uses the claim",
            quote_command("kubectl get resourceclaims -n {} -o wide", asked.namespace),
        )


class ClaimUnsetSource(ClaimCause, frozen=True, kw_only=True):
    """An entry of ``spec.resourceClaims`` names neither a claim nor a template."""

    stops = (pre_enqueue.ClaimUnsetSource,)
    page = ReasonPage(
        "claim-unset-source",
        "an entry of spec.resourceClaims names no claim",
        "Neither resourceClaimName nor resourceClaimTemplateName is set. The form source: {...} of"
        " 1.30 and before is ignored.",
        SEE_POD_CLAIMS,
        "Set one of the two names.",
        Progress.STOPPED,
    )

    old_form: bool = False

    def sentence(self, names: Names, scope: Scope) -> str:
        why = (
            f"pod claim {self.pod_claim} names neither a resourceClaimName nor a"
            " resourceClaimTemplateName"
        )
        return why + (" (the old form source: {…} is no longer read)" if self.old_form else "")


class SchedulingGated(Cause, frozen=True, kw_only=True):
    """The pod has scheduling gates. ``queue`` (``namespace/name``) is Kueue's LocalQueue that the
    pod is for.
    """

    stops = (pre_enqueue.SchedulingGated,)
    page = ReasonPage(
        "scheduling-gated",
        "the pod has scheduling gates",
        "Whoever put the gates there (a queue such as Kueue, an operator) has not removed them"
        " yet.",
        "kubectl get pod -n NS NAME -o jsonpath='{.spec.schedulingGates}'",
        "Ask the owner of the gate, for Kueue: kubectl get workloads -n NS.",
        Progress.STOPPED,
    )
    found = "gates"
    steps_beside_fixes = True

    gates: tuple[str, ...] = ()
    queue: str = ""

    def sentence(self, names: Names, scope: Scope) -> str:
        gates = ", ".join(self.gates)
        if self.queue and any("kueue" in gate for gate in self.gates):
            return (
                f"Kueue has not admitted the pod to LocalQueue {self.queue} yet: scheduling gate"
                f" {gates} holds it back"
            )
        return f"scheduling is held back by the pod's scheduling gates: {gates}"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        if any("kueue" in gate for gate in self.gates):
            yield NextStep(
                "see why Kueue has not admitted the pod's Workload",
                quote_command("kubectl get workloads.kueue.x-k8s.io -n {}", asked.namespace),
            )
        else:
            yield NextStep(
                f"ask the owner of the gate {self.gates[0]}: it removes the gate when it releases"
                " the pod",
                quote_command("kubectl get pod {} -n {} -o yaml", asked.name, asked.namespace),
            )


def _names_in_other_namespaces(state: ClusterState, kind: str, name: str) -> tuple[str, ...]:
    return tuple(sorted("/".join(key) for key in state.objects(kind) if key[1] == name))


def _mentions_admin(state: ClusterState) -> bool:
    return any(
        ADMIN_ACCESS_LABEL in map_at(namespace, "metadata", "labels")
        for namespace in state.objects("Namespace").values()
    ) or any(
        request.fields.get("adminAccess")
        for claim in state.objects("ResourceClaim").values()
        for request in Claim.of(None, claim, ("spec",)).alternatives
    )
