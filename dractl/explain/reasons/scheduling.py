"""Reasons about the scheduler itself."""

from collections.abc import Iterator

from dractl.cluster.shell import NextStep, quote_command
from dractl.explain.reasons.base import SEE_CLAIM, Cause, ClaimCause, Facts, Progress, ReasonPage
from dractl.explain.reasons.next_step import AskedObject, remove_duplicate_resource
from dractl.explain.reasons.phrases import Names, Scope
from dractl.explain.reasons.schedulers import WITHOUT_CLAIMS, UnseenScheduler
from dractl.model.abbreviation import abbreviate
from dractl.model.names import RequestRef
from dractl.scheduler import pre_bind
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.words import SchedulerWords


class PlacedByHand(ClaimCause, frozen=True, kw_only=True):
    """``spec.nodeName`` was set before the claim was allocated."""

    page = UnseenScheduler.page

    exists: bool = True
    """True if the node exists."""
    scheduler: str = ""
    """The pod's scheduler, if it does not allocate claims."""
    instead: str = ""
    """The advice for pods of that scheduler, as an imperative."""

    def sentence(self, names: Names, scope: Scope) -> str:
        node = ", ".join(self.nodes) + ("" if self.exists else ", which does not exist,")
        by = (
            f"{self.scheduler} schedules it, and allocates no claims"
            if self.scheduler
            else "spec.nodeName was set by hand or by another controller"
        )
        return f"the pod was put on node {node} before claim {self.claim} was allocated: {by}"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        if self.scheduler:
            yield NextStep(self.instead or WITHOUT_CLAIMS)
            return
        node = self.nodes[0] if self.nodes else "NODE"
        yield NextStep(
            "remove spec.nodeName from the pod's manifest, select the node with nodeSelector "
            f"kubernetes.io/hostname: {node} instead, and recreate the pod",
            quote_command("kubectl delete pod {} -n {}", asked.name, asked.namespace),
        )


class ClaimReplaced(ClaimCause, frozen=True, kw_only=True):
    """The pod is on its node, but its claim is not allocated, or not reserved for the pod; the
    claim may have been both before.
    """

    page = ReasonPage(
        "claim-replaced",
        "the pod's claim has lost its allocation since the pod was put on its node",
        "The scheduler allocated a claim and put the pod on a node. Since then the claim was "
        "deleted and created again, or its allocation was taken away. The kubelet refuses a "
        "claim that is not reserved for the pod, however often it tries.",
        SEE_CLAIM + " (metadata.creationTimestamp, status.reservedFor)",
        "Recreate the pod: the scheduler then allocates the claim as it is now.",
        Progress.STOPPED,
    )
    steps_beside_fixes = True

    is_younger: bool = False
    """True if the claim was created after the pod."""
    unused: tuple[str, ...] = ()
    """Claims with the same requests that have no owner and that no pod names."""
    gate: str = ""
    """The feature gate without which kube-scheduler ignores claims, if the node's release has it
    off by default.
    """
    scheduler: str = ""
    """The scheduler that the pod names, unless it is kube-scheduler."""

    def facts(self) -> Facts:
        return {**super().facts(), "found": self.unused}

    def sentence(self, names: Names, scope: Scope) -> str:
        node = abbreviate(self.nodes)
        how = (
            "it was replaced"
            if self.is_younger
            else "it was replaced or lost its allocation, or no scheduler allocated it"
        )
        return (
            f"claim {self.claim} is not allocated and not reserved for the pod, which is on {node}:"
            f" {how}; the kubelet refuses it until the pod is recreated"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        if self.gate:
            yield NextStep(
                f"see whether kube-scheduler and kube-controller-manager run with --feature-gates="
                f"{self.gate}=true: it is off by default in this release, and without it they take"
                " no notice of claims",
                "kubectl get pods -n kube-system -o yaml",
            )
        yield NextStep(
            "recreate the pod: the scheduler then allocates the claim as it is now",
            quote_command("kubectl delete pod {} -n {}", asked.name, asked.namespace),
        )
        if self.scheduler:
            yield NextStep(
                f"if the claim of the new pod is not allocated either, see whether {self.scheduler}"
                " (spec.schedulerName) is set up to allocate and reserve claims",
                quote_command("kubectl get events -n {}", asked.namespace),
            )
        if self.unused:
            names = [claim.rpartition("/")[2] for claim in self.unused]
            yield NextStep(
                f"unless somebody still needs them, delete the claims like it that no pod names:"
                f" {', '.join(names)}; they have no owner, so nothing deletes them with their pods."
                " Whatever makes them has to set ownerReferences",
                quote_command(
                    "kubectl delete resourceclaims -n {}" + " {}" * len(names),
                    asked.namespace,
                    *names,
                ),
            )


class TimeoutRisk(ClaimCause, frozen=True, kw_only=True):
    """The scheduler gives up before it finds an answer."""

    page = ReasonPage(
        "timeout-risk",
        "the scheduler's search takes too long",
        "kube-scheduler tries combinations one after the other and gives up after 10 seconds per"
        " node.",
        "kubectl describe pod -n NS NAME (timed out trying to allocate devices)",
        "Fix the request that cannot be satisfied; narrow the selectors of the large one.",
        Progress.STOPPED,
        ("node node-1: timed out trying to allocate devices",),
    )
    identity = ("pod_claim", "requests")

    requests: tuple[RequestRef, ...] = ()
    because: Cause | None = None
    """The cause of the long search: a demand that cannot be satisfied."""

    @property
    def refs(self) -> tuple[RequestRef, ...]:
        return self.requests

    def sentence(self, names: Names, scope: Scope) -> str:
        why = (
            "the scheduler would try combinations for more than 10 seconds and give up "
            "(timed out trying to allocate devices)"
        )
        if self.because is None:
            return why
        return (
            f"{why}; the part that cannot be satisfied: {self.because.full_sentence(names, scope)}"
        )


class SchedulerError(ClaimCause, frozen=True, kw_only=True):
    """The allocator fails with an error that has no code of its own in dractl."""

    page = ReasonPage(
        "scheduler-error",
        "the scheduler fails with an error",
        "The structured allocator of kube-scheduler ends the attempt with an error for which dractl"
        " has no separate reason: an amount that the device's range arithmetic cannot represent, a"
        " derived attribute that cannot be evaluated, a field that this release does not know. It"
        " stops the pod on every node.",
        "kubectl describe pod -n NS NAME (event FailedScheduling)",
        "Change what the error names; the message is quoted as the scheduler prints it.",
        Progress.STOPPED,
    )
    identity = ("claim", "request")

    request: RequestRef | None = None
    upstream: str = ""
    """The scheduler's sentence."""
    devices: tuple[str, ...] = ()

    def facts(self) -> Facts:
        return {**super().facts(), "devices": self.devices}

    @property
    def refs(self) -> tuple[RequestRef, ...]:
        return () if self.request is None else (self.request,)

    def sentence(self, names: Names, scope: Scope) -> str:
        return self.upstream


class UpstreamBug(ClaimCause, frozen=True, kw_only=True):
    """A known bug of the release keeps the pod from being placed."""

    stops = (pre_bind.NoAllocationTime, pre_bind.EmptyMapping, pre_bind.Miscounted)
    page = ReasonPage(
        "upstream-bug",
        "a known bug of this Kubernetes release",
        "Without the bug the pod would be allocated; explain names the issue.",
        "the issue that explain names",
        "Upgrade kube-scheduler, or avoid the combination that the issue names.",
        Progress.STOPPED,
    )

    effect: str = ""
    """The sentence about the effect."""
    fits_without: bool = False
    """True if the pod would fit on ``nodes`` without the bug."""
    issue: str | None = None
    """``kubernetes#NNN``."""
    mended: str = ""
    """The first release without the bug."""
    pool: str | None = None
    counter_set: str | None = None
    names: tuple[str, ...] = ()
    """The pods or drivers that the bug affects."""
    request: RequestRef | None = None
    devices: tuple[str, ...] = ()

    @classmethod
    def from_stop(
        cls,
        stop: pre_bind.NoAllocationTime | pre_bind.EmptyMapping | pre_bind.Miscounted,
        scheduler: Scheduler,
    ) -> Cause:
        match stop:
            case pre_bind.NoAllocationTime(claim):
                effect = (
                    f"claim {claim.full_name} was allocated without allocationTimestamp, by"
                    " Kubernetes 1.35 or before, or with DRADeviceBindingConditions off: no"
                    " further pod can join it until its pods end and it is allocated again"
                )
                users = (
                    tuple(c.name for c in claim.claim.status.reserved_for)
                    if claim.claim is not None
                    else ()
                )
                return cls(
                    pod_claim=claim.name or None, claim=claim.full_name, effect=effect, names=users
                )
            case pre_bind.EmptyMapping(_, nodes):
                effect = (
                    "the pod has claims and wants an extended resource that a device class"
                    f" provides, and the device plugin of node {nodes[0]} has it: the scheduler"
                    " makes an empty claim for it and fails to bind the pod"
                )
                return cls(effect=effect, nodes=nodes)
            case pre_bind.Miscounted():
                claim = stop.open_claims[0]
                effect = (
                    "scoring counts allocations wrongly in this release where one claim of a pod is"
                    " allocated already and another has firstAvailable"
                )
                return cls(
                    pod_claim=claim.name, claim=claim.full_name, effect=effect, issue=stop.issue
                )

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "issue": self.issue,
            "pool": self.pool,
            "counterSet": self.counter_set,
            "found": self.names,
            "devices": self.devices,
        }

    @property
    def refs(self) -> tuple[RequestRef, ...]:
        return () if self.request is None else (self.request,)

    def sentence(self, names: Names, scope: Scope) -> str:
        issue = f" ({self.issue})" if self.issue else ""
        if not self.fits_without:
            return f"{self.effect}{issue}"
        return (
            f"it would fit on {abbreviate(self.nodes)}, but for a known bug in the scheduler:"
            f" {self.effect}{issue}"
        )


class NoConsumer(ClaimCause, frozen=True, kw_only=True):
    """No pod uses the claim."""

    page = ReasonPage(
        "no-consumer",
        "no pod uses the claim",
        "A claim is allocated when a pod that uses it is scheduled; until then pending is its"
        " normal state.",
        SEE_CLAIM + " (status.reservedFor); kubectl get pods -n NS",
        "Create a pod that refers to it.",
        Progress.STOPPED,
    )

    def sentence(self, names: Names, scope: Scope) -> str:
        return (
            f"no pod uses claim {self.claim}: a claim is allocated when a pod that uses it is"
            " scheduled, until then pending is its normal state"
        )


class ExtendedResourceUnmapped(Cause, frozen=True, kw_only=True):
    """Nothing provides the extended resource."""

    page = ReasonPage(
        "extended-resource-unmapped",
        "no DeviceClass provides the extended resource",
        "The pod asks for a resource by name. Nodes with a device plugin offer it themselves; nodes"
        " with a DRA driver only through a class with that extendedResourceName.",
        "kubectl get deviceclasses -o yaml; kubectl describe node NODE (Allocatable)",
        "Set spec.extendedResourceName in the driver's class (feature gate DRAExtendedResource), or"
        " use a claim.",
        Progress.OUTSIDE_DRA,
    )
    identity = ("resource",)

    resource: str
    device_class: str | None = None
    """The class of the similar resource if there is ``nearest``; else the class that maps this
    resource (``is_mapped``), or a class without extendedResourceName for devices of the same
    vendor.
    """
    nearest: str | None = None
    """A similar resource."""
    is_mapped: bool = False
    """True if ``device_class`` maps this resource, which has no effect while the gate is off."""
    gate_off: bool = False
    """True if the gate DRAExtendedResource is off."""

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "resource": self.resource,
            "class": self.device_class,
            "nearest": self.nearest,
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        if self.nearest:
            by = f", of class {self.device_class}" if self.device_class else ""
            return f"nothing provides {self.resource}; there is {self.nearest}{by}"
        if self.is_mapped:
            return (
                f"the node offers no {self.resource}; class {self.device_class} provides it only"
                " with the feature gate DRAExtendedResource, which is off"
            )
        why = (
            f"the node offers no {self.resource}; its DRA driver has devices of class"
            f" {self.device_class}, which does not provide {self.resource}"
            " (spec.extendedResourceName)"
        )
        return f"{why}; the feature gate DRAExtendedResource is off, too" if self.gate_off else why

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield remove_duplicate_resource(self.resource, asked)


class PodDeleting(Cause, frozen=True, kw_only=True):
    """The pod is being deleted and has never had a node."""

    page = ReasonPage(
        "pod-deleting",
        "the pod is being deleted, and will not be scheduled",
        "The pod was deleted and never had a node. Finalizers keep it until the controllers that"
        " set them remove them; the scheduler does not try it, and nothing of the same name can be"
        " created until then.",
        "kubectl get pod -n NS NAME -o jsonpath='{.metadata.deletionTimestamp}"
        " {.metadata.finalizers}'",
        "See whether the controller of the finalizer runs. If it is gone for good, remove the"
        " finalizer.",
        Progress.STOPPED,
    )

    pod: str
    since: str
    """The time by which the pod has to be gone (RFC 3339)."""
    finalizers: tuple[str, ...] = ()
    """The finalizers that keep the pod."""

    def facts(self) -> Facts:
        return {**super().facts(), "found": self.finalizers}

    def sentence(self, names: Names, scope: Scope) -> str:
        kept = f"; finalizer {abbreviate(self.finalizers)} keeps it" if self.finalizers else ""
        return (
            f"pod {self.pod} has been Terminating since {self.since}, and will not be scheduled"
            f"{kept}"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        pod = asked.name, asked.namespace
        if not self.finalizers:
            yield NextStep("wait until it is gone", quote_command("kubectl get pod {} -n {}", *pod))
            return
        yield NextStep(
            f"see why the controller that set finalizer {abbreviate(self.finalizers)} does not"
            " remove it",
            quote_command("kubectl get pod {} -n {} -o yaml", *pod),
        )
        yield NextStep(
            "only if that controller is gone for good, remove the pod's finalizers; a pod that"
            " replaces it can be created then",
            quote_command(
                "kubectl patch pod {} -n {} --type=merge -p {}",
                *pod,
                '{"metadata":{"finalizers":null}}',
            ),
        )


class InputIncomplete(Cause, frozen=True, kw_only=True):
    """The scheduler has said why the pod does not fit, although it would fit by the objects in the
    input.
    """

    page = ReasonPage(
        "input-incomplete",
        "the scheduler saw more than the input has",
        "By what the input has, the pod fits; the scheduler says that it does not. It saw nodes, or"
        " claims of other namespaces, that the input lacks.",
        "kubectl get pod -n NS NAME -o jsonpath='{.status.conditions}'",
        "Believe the scheduler's message, and add to the input what is missing.",
        Progress.STOPPED,
    )

    message: str
    """The scheduler's message."""
    absent: str
    """The objects that the input lacks: ``nodes``, or ``namespaces`` if it has the objects of one
    namespace only.
    """

    def sentence(self, names: Names, scope: Scope) -> str:
        absent = "nodes, so node filters could not be checked"
        if self.absent == "namespaces":
            absent = "the claims of other namespaces, so the devices that they hold look free"
        return f"the scheduler says: {self.message}; the input lacks {absent}"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        if self.absent == "namespaces":
            yield NextStep(
                "add the namespaces, and all pods and ResourceClaims, to the input",
                "kubectl get namespaces,pods,resourceclaims -A -o yaml",
            )
        else:
            yield NextStep("add the nodes to the input", "kubectl get nodes -o yaml")


class WouldFitNow(Cause, frozen=True, kw_only=True):
    """The pod fits now, and the scheduler has not tried again."""

    page = ReasonPage(
        "would-fit-now",
        "the pod would fit now, and has not been tried again",
        "Its condition is older than a change that helps. The scheduler tries again at an event"
        " that concerns the pod, or after five minutes.",
        "kubectl get pod -n NS NAME -o yaml (status.conditions[].lastTransitionTime)",
        "Wait a few minutes; if nothing happens, see whether kube-scheduler runs, or delete and"
        " recreate the pod.",
        Progress.STOPPED,
    )

    pod_claim: str | None = None
    devices: tuple[str, ...] = ()
    since: str = ""
    """The time of the scheduler's last attempt (RFC 3339)."""
    leaving: tuple[str, ...] = ()
    """The pods that the scheduler preempts on the node and whose end it waits for."""
    unbound: tuple[str, ...] = ()
    """The PersistentVolumeClaims whose binding the scheduler waits for (kubernetes
    pkg/scheduler/framework/plugins/volumebinding PreBind, BindPodVolumes).
    """

    def facts(self) -> Facts:
        return {**super().facts(), "podClaim": self.pod_claim, "devices": self.devices}

    def sentence(self, names: Names, scope: Scope) -> str:
        since = f" at {self.since}" if self.since else ""
        if self.leaving:
            pods = abbreviate(self.leaving)
            return (
                f"kube-scheduler preempts pods of lower priority on {self.nodes[0]}, and waits"
                f" until they end: {pods}"
            )
        if self.unbound:
            which = f"PersistentVolumeClaim {abbreviate(self.unbound)}"
            return (
                f"kube-scheduler has chosen {self.nodes[0]}, and waits for {which} to be bound"
                " there"
            )
        return (
            f"it fits now (on {self.nodes[0]}), but the scheduler's last attempt{since} failed and"
            " it has not tried again; it does so at an event that concerns the pod, or after five"
            " minutes"
        )


class SchedulerDiffers(Cause, frozen=True, kw_only=True):
    """kube-scheduler's message contradicts the objects, and is newer than they are."""

    page = ReasonPage(
        "scheduler-differs",
        "kube-scheduler fails where the pod should fit",
        "By the objects of the input the pod fits, and kube-scheduler's newest words, which are "
        "newer than every object, say otherwise. A feature gate may differ from the release's "
        "default, something outside the objects may fail (a webhook, the API server), or "
        "kube-scheduler has a bug.",
        "kubectl describe pod -n NS NAME (FailedScheduling); kubectl get pod -n NS NAME -o yaml"
        " (status.conditions)",
        "Read kube-scheduler's log; name gates that differ with --feature-gates; see whether a "
        "later patch release fixes it. Waiting changes nothing.",
        Progress.STOPPED,
    )
    is_root_cause = True

    words: SchedulerWords
    release: str
    """The release whose kube-scheduler was modelled; "" if it is not that of the cluster."""

    def facts(self) -> Facts:
        return {**super().facts(), "found": (self.words.message,)}

    def sentence(self, names: Names, scope: Scope) -> str:
        times = f" ({self.words.times})" if self.words.times else ""
        fails = "fails" if self.words.is_failure else "refuses it"
        message = self.words.message.partition(" preemption:")[0].rstrip(".")
        return (
            f"the scheduler {fails}{times}: {message}; by the objects it "
            f"would fit on {abbreviate(self.nodes)}"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield NextStep(
            "read kube-scheduler's log: its words are newer than every object here, so that waiting"
            " changes nothing",
            "kubectl logs -n kube-system -l component=kube-scheduler --tail=200",
        )
        yield NextStep(
            "if a feature gate of the cluster differs from its release's default, name it:"
            " --feature-gates NAME=true",
            "kubectl get --raw /metrics | grep kubernetes_feature_enabled",
        )
        kubernetes = f"Kubernetes {self.release}" if self.release else "Kubernetes"
        yield NextStep(
            f"see whether a later patch release of {kubernetes} fixes it: it may be a bug of"
            " kube-scheduler",
            "kubectl version",
        )


class Mixed(Cause, frozen=True, kw_only=True):
    """The nodes have different causes, and no cause holds on most of them."""

    page = ReasonPage(
        "mixed",
        "every node has a different reason",
        "No single reason stops the pod on most nodes; explain lists them node by node.",
        "dractl explain -o json (nodes[].reasons)",
        "Pick the smallest fix: one node is enough.",
        Progress.OUTSIDE_DRA,
    )

    codes: tuple[str, ...] = ()
    """The codes of the causes."""
    nearest_node: str = ""
    """The node that is nearest to a fit."""
    nearest_cause: Cause | None = None
    """The cause on that node."""

    def facts(self) -> Facts:
        return {**super().facts(), "found": self.codes}

    def sentence(self, names: Names, scope: Scope) -> str:
        why = "no common reason"
        if self.nearest_cause is None:
            return why
        return f"{why}; nearest is {self.nearest_node}: {self.nearest_cause.full_sentence(names)}"
