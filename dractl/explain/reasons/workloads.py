"""Reasons about workloads: the holders of the devices, and why they keep the devices.

They never change the verdict.
"""

from collections.abc import Iterator, Sequence

from dractl.cluster.shell import NextStep, quote_command, scale_command
from dractl.explain.reasons.base import SEE_CLAIM, Cause, ClaimCause, Facts, Progress, ReasonPage
from dractl.explain.reasons.next_step import (
    CONTROLLERS,
    AskedObject,
    delete_by_force,
    pods_on,
    see_kubelet,
)
from dractl.explain.reasons.phrases import Names, Scope, plural
from dractl.model.abbreviation import abbreviate

_PODS = "kubectl get pods -n NS -o wide"


def _hold(pods: Sequence[str]) -> str:
    return f"{'holds' if len(pods) == 1 else 'hold'} the devices"


def _keep_away(pods: Sequence[str], other: str) -> str:
    return (
        f"keeps {other} away from its node"
        if len(pods) == 1
        else f"keep {other} away from their nodes"
    )


class OldReplicas(Cause, frozen=True, kw_only=True):
    """The pod is a new replica of a rolling update, and old replicas are in its way."""

    page = ReasonPage(
        "rollout-waits",
        "a rolling update waits for its own old replicas",
        "The old replicas of the Deployment hold the devices that the new one needs, or keep it"
        " away from their nodes by anti-affinity or a host port, and the Deployment ends an old one"
        " only when a new one is ready: with maxUnavailable 0 that never happens.",
        "kubectl rollout status -n NS deployment/NAME; " + _PODS,
        "Set maxSurge to 0 and maxUnavailable to 1, or use the strategy Recreate.",
        Progress.OUTSIDE_DRA,
    )

    owner: str
    """The workload, ``Kind namespace/name``."""
    pods: tuple[str, ...] = ()
    """The old replicas."""
    surge: str = ""
    """The rollout's ``maxSurge``."""
    unavailable: str = ""
    """The rollout's ``maxUnavailable``."""
    apart: bool = False
    """True if the replicas keep the pod from their nodes by anti-affinity or a host port; False if
    they hold the devices.
    """

    def facts(self) -> Facts:
        return {**super().facts(), "found": self.pods}

    def sentence(self, names: Names, scope: Scope) -> str:
        values = (("maxSurge", self.surge), ("maxUnavailable", self.unavailable))
        settings = ", ".join(f"{key} {value}" for key, value in values if value)
        predicate = (
            _keep_away(self.pods, "the new one")
            if self.apart
            else f"{_hold(self.pods)} that the new one needs"
        )
        replicas = plural(len(self.pods), "old replica")
        why = f"the rolling update of {self.owner} waits for itself: its {replicas} {predicate}"
        return f"{why} ({settings})" if settings else why


class OldRevision(Cause, frozen=True, kw_only=True):
    """The pod was made from an earlier version of its workload, which does not replace it."""

    page = ReasonPage(
        "pod-of-old-revision",
        "the pod was made from an earlier version of its workload",
        "A StatefulSet with podManagementPolicy OrderedReady does nothing further while one of its"
        " pods is not ready, so a correction of its pod template does not reach a pod that is"
        " pending (kubernetes#67250). With the update strategy OnDelete it never replaces pods"
        " itself. A Deployment with spec.paused makes no pods of a changed template either.",
        "kubectl get statefulset -n NS NAME -o jsonpath='{.status.updateRevision}'; "
        "kubectl get pods -n NS -L controller-revision-hash",
        "Delete the pod: the next one is made from the StatefulSet as it is now. Resume a paused"
        " Deployment: kubectl rollout resume.",
        Progress.OUTSIDE_DRA,
    )

    owner: str
    """The StatefulSet or Deployment, ``Kind namespace/name``."""
    paused: bool = False
    """True for a paused Deployment."""

    def sentence(self, names: Names, scope: Scope) -> str:
        if self.paused:
            return (
                f"{self.owner} is paused, so its changes do not reach the pod, which is of an"
                " earlier version of it"
            )
        return (
            f"the pod was made from an earlier version of {self.owner}, whose changes do not reach"
            " it until it is deleted"
        )


class OwnReplicas(Cause, frozen=True, kw_only=True):
    """Other pods of the same workload are in the pod's way."""

    page = ReasonPage(
        "own-replicas",
        "other pods of the same workload hold the devices",
        "The workload wants more pods than there are devices, or, where anti-affinity or a host"
        " port keeps them apart, than there are nodes. Pods of a Job end, and the next one gets its"
        " turn; replicas of other workloads do not end by themselves.",
        _PODS,
        "Wait, if it is a Job; else lower the replicas, ask for fewer devices per pod, or add"
        " devices.",
        Progress.OUTSIDE_DRA,
    )
    is_root_cause = True

    owner: str
    """The workload, ``Kind namespace/name``."""
    pods: tuple[str, ...] = ()
    apart: bool = False
    """True if the pods keep the subject from their nodes by anti-affinity or a host port; False if
    they hold the devices.
    """
    ends: bool = False
    """True if the pods in the way end without any action, as the pods of a Job do, so that waiting
    is enough.
    """
    together: bool = False
    """True if the pods may wait for each other, as the pods of a JobSet or an Indexed Job do."""
    earlier: str = ""
    """The run of the same CronJob that holds the devices."""
    autoscaler: str = ""
    """The autoscaler that sets the number of replicas."""
    node_labels: str = ""
    """The labels of the nodes on which all pods of a group have to be."""
    node_count: int = 0
    """The number of nodes with these labels that have the devices."""
    size: int = 0
    """The number of pods in the group."""
    placed: int = 0
    """The number of the workload's pods that have a node."""

    def facts(self) -> Facts:
        return {**super().facts(), "found": self.pods}

    def sentence(self, names: Names, scope: Scope) -> str:
        if self.earlier:
            return f"Job {self.earlier}, an earlier run of {self.owner}, still holds the devices"
        predicate = _keep_away(self.pods, "this one") if self.apart else _hold(self.pods)
        why = f"{plural(len(self.pods), 'other pod')} of {self.owner} {predicate}"
        if self.together:
            return f"{why}; this one gets its turn only if they end without it"
        if self.ends:
            return f"nothing is wrong: {why}, and this one waits its turn"
        why += f" ({abbreviate([name.rpartition('/')[2] for name in self.pods])})"
        if self.size:
            nodes = f"{plural(self.node_count, 'node')} with such devices"
            return (
                f"{self.owner} wants {self.size} pods where {self.node_labels}, and there are"
                f" {nodes}; {why}"
            )
        return f"{why}, and {self.autoscaler} wants more" if self.autoscaler else why

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        if self.ends:
            yield NextStep(
                f"wait until a pod of {self.owner} is done",
                quote_command("kubectl get pods -n {}", asked.namespace),
            )
        elif self.autoscaler:
            yield NextStep(
                f"lower minReplicas and maxReplicas of {self.autoscaler.partition(' (')[0]} to what"
                " fits, since it undoes scaling by hand; or add a node",
                quote_command("kubectl get hpa -n {}", asked.namespace),
            )
        elif self.size:
            group = self.owner.partition(" of ")[2]
            yield NextStep(
                f"add a node where {self.node_labels}, or lower spec.leaderWorkerTemplate.size of"
                f" {group} to {self.node_count} if a smaller group will do",
                quote_command("kubectl get nodes -l {}", self.node_labels),
            )
        else:
            yield self._make_scaling_step()

    def _make_scaling_step(self) -> NextStep:
        """Return the step that scales the workload to the pods that have a node."""
        kind, _, full_name = self.owner.partition(" ")
        namespace, _, name = full_name.partition("/")
        if not self.placed or kind not in ("Deployment", "ReplicaSet", "StatefulSet"):
            return NextStep(
                f"lower the replicas of {self.owner} to what fits, or add a node",
                "kubectl get nodes",
            )
        verb = "fits" if self.placed == 1 else "fit"
        return NextStep(
            f"lower the replicas of {self.owner} to the {self.placed} that {verb}, or add a node",
            scale_command(kind, name, namespace, self.placed),
        )


class ClaimEach(ClaimCause, frozen=True, kw_only=True):
    """Each replica has its own claim, although the claim's configuration asks for sharing, which
    works only among the pods of one claim.
    """

    page = ReasonPage(
        "claim-for-each-replica",
        "each replica has its own claim, and devices are shared within one claim only",
        "A ResourceClaimTemplate makes one claim for each pod, and a device belongs to one claim."
        " Time-slicing and MPS share a device among the containers and pods that use the same"
        " ResourceClaim.",
        SEE_CLAIM,
        "Create one ResourceClaim and name it in the pod template by resourceClaimName.",
        Progress.OUTSIDE_DRA,
    )

    template: str
    """``namespace/name`` of the template of the claims."""

    def facts(self) -> Facts:
        return {**super().facts(), "template": self.template}

    def sentence(self, names: Names, scope: Scope) -> str:
        return (
            f"each replica has its own claim, from template {self.template}, and devices are shared"
            " only among the pods of one ResourceClaim"
        )


class HoldersEnded(Cause, frozen=True, kw_only=True):
    """Pods have ended or no longer exist, and claims still hold devices for them."""

    page = ReasonPage(
        "holder-ended",
        "a claim holds the devices for a pod that has ended",
        "kube-controller-manager releases the claims of pods that have ended or were deleted,"
        " usually within seconds. Until then, and for as long as it does not run, their devices"
        " stay allocated.",
        SEE_CLAIM,
        "See whether kube-controller-manager runs. Deleting the claims does not help: their"
        " finalizer keeps them until it releases them.",
        Progress.OUTSIDE_DRA,
    )
    steps_beside_fixes = True

    claims: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()

    def facts(self) -> Facts:
        return {**super().facts(), "found": self.claims}

    def sentence(self, names: Names, scope: Scope) -> str:
        single = len(self.claims) == 1
        return (
            f"claim{'' if single else 's'} {abbreviate(self.claims)} still"
            f" {'holds' if single else 'hold'} devices for pod {abbreviate(self.pods)}, which"
            f" {'has' if len(self.pods) == 1 else 'have'} ended: kube-controller-manager has not"
            f" released {'it' if single else 'them'}"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield CONTROLLERS


class HoldersTerminating(Cause, frozen=True, kw_only=True):
    """Pods that hold the devices are being deleted and have not ended."""

    page = ReasonPage(
        "holder-terminating",
        "a pod that holds the devices is Terminating",
        "The pod was deleted, and its kubelet has not reported its end: containers that do not"
        " stop, a finalizer, or a node that does not answer. Its claim stays allocated until then.",
        "kubectl get pod -n NS NAME -o wide; kubectl get node NODE",
        "Look at the node. If it is gone for good: kubectl delete pod --force --grace-period=0.",
        Progress.OUTSIDE_DRA,
    )
    steps_beside_fixes = True

    pods: tuple[str, ...] = ()
    since: str = ""
    """The time by which the first of these pods had to be gone (RFC 3339)."""
    on: tuple[str, ...] = ()
    """The nodes on which ``pods`` run."""
    finalizers: tuple[str, ...] = ()
    """The finalizers that keep the first of these pods."""
    event: str = ""
    """The kubelet's message about ending that pod."""

    def facts(self) -> Facts:
        return {**super().facts(), "found": self.pods}

    def sentence(self, names: Names, scope: Scope) -> str:
        single = len(self.pods) == 1
        why = f"; finalizer {abbreviate(self.finalizers)} keeps it" if self.finalizers else ""
        why = f"; its kubelet says: {self.event}" if self.event else why
        return (
            f"pod{'' if single else 's'} {abbreviate(self.pods)} on {abbreviate(self.on)}"
            f" {_hold(self.pods)}, and {'has' if single else 'have'} been Terminating since"
            f" {self.since}{why}"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        if self.event:
            yield NextStep(
                f"get the DRA driver on {self.on[0]} running and registered again: the kubelet"
                " cannot unprepare the claims until then, and deleting the pod by force would leave"
                " its devices in an unknown state",
                pods_on(self.on[0]),
            )
            return
        if self.finalizers:
            namespace, _, name = self.pods[0].partition("/")
            yield NextStep(
                f"see why the controller that set finalizer {abbreviate(self.finalizers)} does not"
                " remove it, and remove it yourself only if that controller is gone for good;"
                " deleting the pod by force does not remove it",
                quote_command("kubectl get pod {} -n {} -o yaml", name, namespace),
            )
            return
        for pod in self.pods[:1]:
            yield see_kubelet(self.on[0])
            yield delete_by_force(pod)
