"""Reasons about a pod's claims, from PreEnqueue and the claim controller. They end the attempt
before any node is tried.

Kubernetes pkg/scheduler/framework/plugins/dynamicresources, pkg/controller/resourceclaim.
"""

from collections.abc import Iterator

from dractl.cluster.shell import NextStep, quote_command
from dractl.cluster.state import ClusterState
from dractl.explain.reasons.base import (
    SEE_CLAIM,
    SEE_POD_CLAIMS,
    Cause,
    ClaimCause,
    ClaimStopCause,
    Facts,
    Progress,
    ReasonPage,
    StopCause,
)
from dractl.explain.reasons.limits import QuotaRefusal
from dractl.explain.reasons.next_step import CONTROLLERS, AskedObject, complete_input, retry_prefix
from dractl.explain.reasons.phrases import Names, Scope
from dractl.model.nearest import nearest
from dractl.objects import Claim
from dractl.scheduler import pre_enqueue
from dractl.scheduler.attempt import Scheduler
from dractl.views import Namespace
from dractl.views.namespace import ADMIN_ACCESS_LABEL

_CREATION_PREFIX = "create ResourceClaim :"
"""The beginning of the claim controller's message about a claim that has no name yet (kubernetes
pkg/controller/resourceclaim/controller.go).
"""
_SILENT_WEBHOOK = 'failed calling webhook "'
"""Kubernetes k8s.io/apiserver pkg/admission/plugin/webhook."""
_DENIALS = ("denied the request: ", "denied request: ")
"""Words that precede an admission plugin's own message (k8s.io/apiserver pkg/admission/plugin):
webhooks deny "the request", policies "request".
"""


class ClaimMissing(ClaimStopCause[pre_enqueue.ClaimMissing], frozen=True, kw_only=True):
    """The pod names a claim that does not exist, or its generated claim was deleted."""

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
        ('resourceclaim.resource.k8s.io "gpu" not found',),
    )

    nearest: str | None
    """A similar name in the same namespace."""
    elsewhere: tuple[str, ...]
    """Claims with that name in other namespaces."""
    none_known: bool
    """True if the input has no claim at all; it may then lack the claims of the cluster."""
    may_exist: bool
    """True if the input may lack the claim although the cluster has it."""
    unlabelled: str | None
    """The namespace, if the claim may have been refused because the namespace lacks the label for
    adminAccess.
    """
    is_template: bool
    """True if a ResourceClaimTemplate has the name."""

    @classmethod
    def from_stop(cls, stop: pre_enqueue.ClaimMissing, scheduler: Scheduler) -> Cause:
        state, (namespace, name) = scheduler.state, stop.claim
        names = [
            key[1]
            for key, claim in state.claims.items()
            if key[0] == namespace and not claim.pod_claim_name
        ]
        view = state.namespace(namespace)
        is_unlabelled = view.exists and not view.allows_admin_access and _uses_admin_access(state)
        template = state.get("ResourceClaimTemplate", stop.claim)
        return cls(
            stop=stop,
            nearest=nearest(name, names),
            elsewhere=_find_in_other_namespaces(state, "ResourceClaim", name),
            none_known=not state.covers("ResourceClaim"),
            may_exist=not state.shows("ResourceClaim", namespace),
            unlabelled=namespace if is_unlabelled else None,
            is_template=stop.template is None and template is not None,
        )

    @property
    def pod_claim(self) -> str:
        return self.stop.pod_claim

    @property
    def claim(self) -> str:
        return "/".join(self.stop.claim)

    @property
    def template(self) -> str | None:
        """``namespace/name`` of the template that the claim was made from."""
        return None if self.stop.template is None else f"{self.stop.claim[0]}/{self.stop.template}"

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "template": self.template,
            "nearest": self.nearest,
            "found": self.elsewhere,
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        if self.is_template:
            return (
                f"claim {self.claim} does not exist; {self.claim} is a ResourceClaimTemplate, which"
                " resourceClaimTemplateName has to name"
            )
        if self.none_known:
            why = f"claim {self.claim} is not in the input, which has no ResourceClaim at all"
        elif self.may_exist:
            why = f"claim {self.claim} is not in the input"
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


class ClaimNotCreated(ClaimStopCause[pre_enqueue.ClaimNotCreated], frozen=True, kw_only=True):
    """The claim controller has not made the claim of a template."""

    stops = (pre_enqueue.ClaimNotCreated,)
    page = ClaimMissing.page
    steps_beside_fixes = True

    @classmethod
    def from_stop(cls, stop: pre_enqueue.ClaimNotCreated, scheduler: Scheduler) -> Cause:
        refusal = QuotaRefusal.parse(stop)
        return cls(stop=stop) if refusal is None else refusal

    @property
    def pod_claim(self) -> str:
        return self.stop.pod_claim

    @property
    def template(self) -> str:
        """``namespace/name`` of the template."""
        return "/".join(self.stop.template)

    @property
    def event(self) -> str:
        """The sentence of the claim controller; "" if there is none."""
        return self.stop.event

    @property
    def refusal(self) -> str:
        """The API server's sentence in the event."""
        return self.event.partition(_CREATION_PREFIX)[2].strip()

    @property
    def webhook(self) -> str:
        """The admission webhook that did not answer."""
        return self.event.partition(_SILENT_WEBHOOK)[2].partition('"')[0]

    def facts(self) -> Facts:
        return {**super().facts(), "template": self.template}

    def sentence(self, names: Names, scope: Scope) -> str:
        if self.stop.existing:
            return (
                f"claim {self.stop.existing} exists for it, from template {self.template}, and the"
                " pod's status does not name it"
            )
        if self.stop.template_came_later:
            since = self.stop.template_since
            return (
                f"template {self.template} was missing when the claim controller tried; it exists"
                f" since {since}, and the claim has not been created since then"
            )
        why = f"the claim of template {self.template} has not been created"
        if self.refusal:
            return f"the claim of template {self.template} cannot be created: {self.refusal}"
        if self.event:
            return f"{why}; the claim controller says: {self.event}"
        if self.stop.template_is_younger:
            return (
                f"{why}; the template was created after the pod: the controller tries again with"
                " growing delays"
            )
        if self.stop.pod_is_new:
            return f"{why} yet; the pod was created a few seconds ago"
        return f"{why}, and no event says why: is kube-controller-manager running?"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        if self.stop.existing or self.stop.template_came_later:
            yield NextStep(
                "recreate the pod, or restart kube-controller-manager: the claim controller has "
                "given up on the pod, and only a new pod or a new start makes it try again now",
                quote_command("kubectl delete pod {} -n {}", asked.name, asked.namespace),
            )
        elif self.webhook:
            yield NextStep(
                f"see why admission webhook {self.webhook} does not answer",
                "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
            )
        elif self.event:
            namespace, name = self.stop.template
            messages = (self.event.partition(denial)[2] for denial in _DENIALS)
            message = next(filter(None, messages), "")
            yield NextStep(
                f"change template {self.template} so that its claims are accepted (their labels are"
                " its spec.metadata.labels)" + (f": {message}" if message else ""),
                quote_command("kubectl edit resourceclaimtemplate {} -n {}", name, namespace),
            )
        else:
            prefix = retry_prefix(self.stop.pod_is_new)
            yield NextStep(f"{prefix}{CONTROLLERS.text}", CONTROLLERS.command)


class TemplateMissing(ClaimStopCause[pre_enqueue.TemplateMissing], frozen=True, kw_only=True):
    """The pod names a ResourceClaimTemplate that does not exist."""

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
        ('resource claim template "gpu": resourceclaimtemplate.resource.k8s.io "gpu" not found',),
    )

    nearest: str | None
    """A similar name in the same namespace."""
    elsewhere: tuple[str, ...]
    """Templates with that name in other namespaces."""
    none_known: bool
    """True if the input has no template at all; it may then lack the templates of the cluster."""
    may_exist: bool
    """True if the input may lack the template although the cluster has it."""
    is_claim: bool
    """True if a ResourceClaim has the name."""

    @classmethod
    def from_stop(cls, stop: pre_enqueue.TemplateMissing, scheduler: Scheduler) -> Cause:
        state, (namespace, name) = scheduler.state, stop.template
        names = [key[1] for key in state.objects("ResourceClaimTemplate") if key[0] == namespace]
        return cls(
            stop=stop,
            nearest=nearest(name, names),
            elsewhere=_find_in_other_namespaces(state, "ResourceClaimTemplate", name),
            none_known=not state.covers("ResourceClaimTemplate"),
            may_exist=not state.shows("ResourceClaimTemplate", namespace),
            is_claim=state.claim(stop.template).exists,
        )

    @property
    def pod_claim(self) -> str:
        return self.stop.pod_claim

    @property
    def template(self) -> str:
        """``namespace/name`` of the template."""
        return "/".join(self.stop.template)

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "template": self.template,
            "nearest": self.nearest,
            "found": self.elsewhere,
        }

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
        elif self.may_exist:
            why = f"template {self.template} is not in the input"
        else:
            why = f"template {self.template} does not exist, so the claim is not created"
        if self.elsewhere:
            return f"{why}; {self.elsewhere[0]} does, but templates are namespaced"
        return f"{why}; did you mean {self.nearest}?" if self.nearest else why

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        if self.none_known:
            yield complete_input("ResourceClaimTemplate")
        name = self.stop.template[1]
        text = f"create template {name}, or correct its name where the pod is written"
        if self.nearest:
            text = (
                f"replace the name {name} by {self.nearest} where the pod is written, and recreate"
                " the pod"
            )
        yield NextStep(
            text, quote_command("kubectl get resourceclaimtemplates -n {}", asked.namespace)
        )


class ClaimNotOwned(ClaimStopCause[pre_enqueue.ClaimNotOwned], frozen=True, kw_only=True):
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
        ("ResourceClaim ml/train-0-gpu was not created for Pod ml/train-0 (Pod is not owner)",),
    )

    @property
    def pod_claim(self) -> str:
        return self.stop.claim.name

    @property
    def claim(self) -> str:
        return self.stop.claim.full_name

    def sentence(self, names: Names, scope: Scope) -> str:
        return f"claim {self.claim} was made for another pod of this name: this pod does not own it"


class ClaimDeleting(ClaimStopCause[pre_enqueue.ClaimDeleting], frozen=True, kw_only=True):
    """The claim of a pod is being deleted."""

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
        ('resourceclaim "train-0-gpu" is being deleted',),
    )

    absent_users: tuple[str, ...]
    """Pods that do not exist although the claim is reserved for them."""

    @classmethod
    def from_stop(cls, stop: pre_enqueue.ClaimDeleting, scheduler: Scheduler) -> Cause:
        state, namespace = scheduler.state, stop.claim.key[0]
        users = stop.users if state.shows("Pod", namespace) else ()
        absent = tuple(name for name in users if not state.pod((namespace, name)).exists)
        return cls(stop=stop, absent_users=absent)

    @property
    def pod_claim(self) -> str | None:
        return self.stop.claim.name or None

    @property
    def claim(self) -> str:
        return self.stop.claim.full_name

    def sentence(self, names: Names, scope: Scope) -> str:
        why = f"claim {self.claim} is being deleted and cannot be used"
        users = ", ".join(self.stop.users)
        if self.absent_users:
            why += (
                f"; it is still reserved for pod {', '.join(self.absent_users)}, which does not"
                " exist in the input"
            )
        elif users:
            single = len(self.stop.users) == 1
            why += f"; pod {users} still uses it" if single else f"; pods {users} still use it"
        if self.stop.finalizers:
            why += f"; finalizers: {', '.join(self.stop.finalizers)}"
        return why

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield _claim_users_step(asked)


class SubjectClaimDeleting(ClaimCause, frozen=True, kw_only=True):
    """The question is about a claim that is being deleted."""

    page = ClaimDeleting.page

    def sentence(self, names: Names, scope: Scope) -> str:
        return f"claim {self.claim} is being deleted"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield _claim_users_step(asked)


class ClaimUnsetSource(ClaimStopCause[pre_enqueue.ClaimUnsetSource], frozen=True, kw_only=True):
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
        ('pod "ml/train-0", spec.resourceClaim "gpu": none of the supported fields are set',),
    )

    @property
    def pod_claim(self) -> str:
        return self.stop.pod_claim

    def sentence(self, names: Names, scope: Scope) -> str:
        why = (
            f"pod claim {self.pod_claim} names neither a resourceClaimName nor a"
            " resourceClaimTemplateName"
        )
        return why + (" (the old form source: {…} is no longer read)" if self.stop.old_form else "")

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        form = ", in the entry itself and not below source" if self.stop.old_form else ""
        yield NextStep(
            f"give pod claim {self.pod_claim} one of the two names where the pod is written{form},"
            " and recreate the pod",
            quote_command(
                "kubectl get resourceclaims,resourceclaimtemplates -n {}", asked.namespace
            ),
        )


class SchedulingGated(StopCause[pre_enqueue.SchedulingGated], frozen=True, kw_only=True):
    """The pod has scheduling gates."""

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
    steps_beside_fixes = True

    @property
    def gates(self) -> tuple[str, ...]:
        """The names of the gates."""
        return self.stop.gates

    @property
    def _has_kueue_gate(self) -> bool:
        return any("kueue" in gate for gate in self.gates)

    def facts(self) -> Facts:
        return {**super().facts(), "found": self.gates}

    def sentence(self, names: Names, scope: Scope) -> str:
        gates = ", ".join(self.gates)
        if self.stop.queue and self._has_kueue_gate:
            return (
                f"Kueue has not admitted the pod to LocalQueue {self.stop.queue} yet: scheduling"
                f" gate {gates} holds it back"
            )
        return f"scheduling is held back by the pod's scheduling gates: {gates}"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        if self._has_kueue_gate:
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


def _claim_users_step(asked: AskedObject) -> NextStep:
    return NextStep(
        "see who still uses the claim",
        quote_command(
            "kubectl get resourceclaims -n {} -o"
            " 'custom-columns=CLAIM:.metadata.name,USERS:.status.reservedFor[*].name'",
            asked.namespace,
        ),
    )


def _find_in_other_namespaces(state: ClusterState, kind: str, name: str) -> tuple[str, ...]:
    """Return the objects of a kind and name, as ``namespace/name``."""
    return tuple(sorted("/".join(key) for key in state.objects(kind) if key[1] == name))


def _uses_admin_access(state: ClusterState) -> bool:
    """Return True if a namespace is labelled for adminAccess, or a claim wants it."""
    return any(
        ADMIN_ACCESS_LABEL in Namespace(value).labels
        for value in state.objects("Namespace").values()
    ) or any(
        request.fields.get("adminAccess")
        for value in state.objects("ResourceClaim").values()
        for request in Claim.of(None, value, ("spec",)).alternatives
    )
