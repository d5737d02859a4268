"""Causes that span objects: why the facts of a node are as they are. They never change the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dractl.explain.causes.base import OUTSIDE, SEE_CLAIM, SEE_SLICES, STOPPED, Cause, OfClaim, ReasonPage

if TYPE_CHECKING:
    from collections.abc import Mapping

_PODS = "kubectl get pods -n NS -o wide"


class OldReplicas(Cause, frozen=True, kw_only=True):
    """The pod is a new replica of a rolling update, and ``pods``, its old replicas, hold the devices."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "rollout-waits",
        "a rolling update waits for its own old replicas",
        "The old replicas of the Deployment hold the devices that the new one needs, and the Deployment ends an old "
        "one only when a new one is ready: with maxUnavailable 0 that never happens.",
        "kubectl rollout status -n NS deployment/NAME; " + _PODS,
        "Set maxSurge to 0 and maxUnavailable to 1, or use the strategy Recreate.",
        OUTSIDE,
    )
    shown: ClassVar[Mapping[str, str]] = {"pods": "found"}

    owner: str  # Kind namespace/name
    pods: tuple[str, ...] = ()
    surge: str = ""
    unavailable: str = ""


class OwnReplicas(Cause, frozen=True, kw_only=True):
    """Other ``pods`` of the same workload hold the devices. ``ends``: such pods end by themselves (a Job's), so that
    waiting is the answer; ``together``: unless they wait for each other, as those of a JobSet or an Indexed Job may."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "own-replicas",
        "other pods of the same workload hold the devices",
        "The workload wants more pods than there are devices. Pods of a Job end, and the next one gets its turn; "
        "replicas of other workloads do not end by themselves.",
        _PODS,
        "Wait, if it is a Job; else lower the replicas, ask for fewer devices per pod, or add devices.",
        OUTSIDE,
    )
    shown: ClassVar[Mapping[str, str]] = {"pods": "found"}

    owner: str
    pods: tuple[str, ...] = ()
    ends: bool = False
    together: bool = False
    earlier: str = ""  # the run of the same CronJob that holds them


class ClaimEach(OfClaim, frozen=True, kw_only=True):
    """Each replica has a claim of its own from ``template``, and the claim's configuration asks for sharing, which
    works among the pods of one claim only."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "claim-for-each-replica",
        "each replica has its own claim, and devices are shared within one claim only",
        "A ResourceClaimTemplate makes one claim for each pod, and a device belongs to one claim. Time-slicing and MPS "
        "share a device among the containers and pods that use the same ResourceClaim.",
        SEE_CLAIM,
        "Create one ResourceClaim and name it in the pod template by resourceClaimName.",
        OUTSIDE,
    )

    template: str


class HoldersTerminating(Cause, frozen=True, kw_only=True):
    """``pods`` that hold the devices are being deleted and have not ended; ``since`` is when that began."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "holder-terminating",
        "a pod that holds the devices is Terminating",
        "The pod was deleted, and its kubelet has not reported its end: containers that do not stop, a finalizer, or a "
        "node that does not answer. Its claim stays allocated until then.",
        "kubectl get pod -n NS NAME -o wide; kubectl get node NODE",
        "Look at the node. If it is gone for good: kubectl delete pod --force --grace-period=0.",
        OUTSIDE,
    )
    shown: ClassVar[Mapping[str, str]] = {"pods": "found"}

    pods: tuple[str, ...] = ()
    since: str = ""
    on: tuple[str, ...] = ()


class HoldersEnded(Cause, frozen=True, kw_only=True):
    """``pods`` have ended or no longer exist, and ``claims`` still hold the devices for them."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "holder-ended",
        "a claim holds the devices for a pod that has ended",
        "kube-controller-manager releases the claims of pods that have ended or were deleted, usually within seconds. "
        "Until then, and for as long as it does not run, their devices stay allocated.",
        SEE_CLAIM,
        "See whether kube-controller-manager runs. Deleting the claims does not help: their finalizer keeps them until "
        "it releases them.",
        OUTSIDE,
    )
    shown: ClassVar[Mapping[str, str]] = {"claims": "found"}

    claims: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()


class LostNodes(Cause, frozen=True, kw_only=True):
    """``places`` are nodes that do not exist, or that do not answer (``unready``), and what the pod needs is there:
    ``claim`` is allocated there, or ``pods`` on them hold the devices."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "node-lost",
        "what the pod needs is on a node that is gone or does not answer",
        "A claim stays allocated on a node that was removed or that does not answer, until its pods are deleted.",
        "kubectl get nodes; kubectl get resourceclaims -A -o wide",
        "Bring the node back, or delete the claim's pods, so that the claim is allocated again.",
        OUTSIDE,
    )
    shown: ClassVar[Mapping[str, str]] = {"places": "found"}

    places: tuple[str, ...] = ()
    claim: str | None = None
    unready: bool = False


class DriverAbsent(Cause, frozen=True, kw_only=True):
    """``nodes`` look like nodes where ``driver`` publishes devices (the same ``label``), and it publishes none."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "driver-absent",
        "nodes with the hardware on which the driver publishes nothing",
        "Nodes of the same instance type or with the same hardware label publish devices, these do not: the driver's "
        "pod is not running on them, or has not found the hardware.",
        "kubectl get pods -A -o wide --field-selector spec.nodeName=NODE; kubectl get daemonsets -A",
        "See whether the driver's DaemonSet runs on these nodes, and what its log says.",
        OUTSIDE,
    )
    shown: ClassVar[Mapping[str, str]] = {"like": "found"}

    driver: str
    label: str = ""
    like: tuple[str, ...] = ()


class UnknownNodes(Cause, frozen=True, kw_only=True):
    """Slices of ``driver`` name ``places``, of which there is no Node; ``nearest`` is a Node with a similar name."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "slices-of-unknown-node",
        "ResourceSlices name a node that does not exist",
        "The driver publishes under a name other than the Node object's, so no node has the devices: the environment "
        "variable NODE_NAME of its DaemonSet must come from spec.nodeName.",
        SEE_SLICES + " (spec.nodeName); kubectl get nodes",
        "Set NODE_NAME of the driver's DaemonSet from the field spec.nodeName.",
        OUTSIDE,
    )
    shown: ClassVar[Mapping[str, str]] = {"places": "found"}

    driver: str
    places: tuple[str, ...] = ()
    nearest: str | None = None


class OldTemplate(OfClaim, frozen=True, kw_only=True):
    """The claim was made from an earlier version of ``template``."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "claim-of-old-template",
        "the claim was made from an earlier version of its template",
        "A claim is made once, when its pod is created; a later change of the template does not reach it.",
        SEE_CLAIM + " beside kubectl get resourceclaimtemplate",
        "Recreate the pod: its new claim is made from the template as it is now.",
        OUTSIDE,
    )

    template: str


class OldRevision(Cause, frozen=True, kw_only=True):
    """The pod was made from an earlier version of ``owner``, a StatefulSet, which does not replace it."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "pod-of-old-revision",
        "the pod was made from an earlier version of its StatefulSet",
        "A StatefulSet with podManagementPolicy OrderedReady does nothing further while one of its pods is not ready, "
        "so a correction of its pod template does not reach a pod that is pending (kubernetes#67250). With the update "
        "strategy OnDelete it never replaces pods itself.",
        "kubectl get statefulset -n NS NAME -o jsonpath='{.status.updateRevision}'; "
        "kubectl get pods -n NS -L controller-revision-hash",
        "Delete the pod: the next one is made from the StatefulSet as it is now.",
        OUTSIDE,
    )

    owner: str


class EvictionLoop(Cause, frozen=True, kw_only=True):
    """Pods of ``owner`` are evicted for the taint ``taint`` as soon as they run."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "eviction-loop",
        "pods are evicted by a device taint as soon as they run",
        "A toleration without an effect lets the scheduler place a pod on a device with a NoExecute taint, and the "
        "eviction controller ends the pod all the same. Its owner creates the next one.",
        "kubectl get events -n NS --field-selector reason=DeviceTaintManagerEviction",
        "Give the toleration the effect NoExecute, or choose devices without the taint.",
        OUTSIDE,
    )

    owner: str
    evicted: int = 0


class NotTriedYet(Cause, frozen=True, kw_only=True):
    """The scheduler has not looked at the pod: it has no condition PodScheduled. ``new``: it was created moments
    ago."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "not-tried-yet",
        "the scheduler has not tried the pod",
        "kube-scheduler writes the condition PodScheduled at its first attempt. A pod without it is seconds old, or "
        "kube-scheduler does not run.",
        "kubectl get pods -n kube-system -l component=kube-scheduler; kubectl get lease -n kube-system kube-scheduler",
        "Wait a few seconds; then see whether kube-scheduler runs.",
        STOPPED,
    )

    since: str = ""
    new: bool = False


class AddedByAdmission(Cause, frozen=True, kw_only=True):
    """The pod has ``what``, which its owner's template does not have: admission added it. ``by`` is what did, if
    that is known: the RuntimeClass that the pod names, or a LimitRange."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "added-by-admission",
        "admission added what keeps the pod off its nodes",
        "A RuntimeClass adds its node selector and tolerations to pods, a LimitRange its default requests. Removing "
        "them from the pod's template changes nothing.",
        "kubectl get runtimeclass -o yaml; kubectl get limitrange -n NS -o yaml",
        "Change the RuntimeClass or LimitRange, set the field in the template yourself, or label the nodes.",
        OUTSIDE,
    )

    what: str
    by: str = ""


class NoNodeHasAll(Cause, frozen=True, kw_only=True):
    """Each of ``requests`` finds devices, on different nodes. ``where`` are request and node."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "no-node-has-all",
        "no node has devices for all requests",
        "A pod runs on one node, and its devices must all be reachable from there.",
        SEE_SLICES,
        "Split the work into pods that each need the devices of one node.",
        OUTSIDE,
    )

    where: tuple[tuple[str, str], ...] = ()


class PodsNotCreated(Cause, frozen=True, kw_only=True):
    """``owner`` cannot create its pods; ``event`` is the newest refusal."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "pods-not-created",
        "the workload cannot create its pods",
        "The API server refuses the workload's pods: a quota, an admission policy, a webhook. There is no pod for the "
        "scheduler to place.",
        "kubectl describe replicaset -n NS (event FailedCreate)",
        "Fix what the event names.",
        STOPPED,
    )

    owner: str
    event: str = ""


class NotReadable(Cause, frozen=True, kw_only=True):
    """Objects that may not be read decide whether the subject fits; ``missing`` are sentences about them. ``quote`` is
    the scheduler's message; ``fitting`` are nodes with room, judging by what may be read."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "not-readable",
        "what decides whether it fits may not be read",
        "The user of the kubeconfig may not list everything that the scheduler looks at: ResourceSlices, DeviceClasses "
        "and nodes, or the claims of other namespaces, whose devices then look free.",
        "kubectl auth can-i list resourceslices; kubectl auth can-i list resourceclaims -A",
        "Ask an administrator for the ClusterRole that explain prints, or ask somebody who may read the whole cluster.",
        STOPPED,
    )
    shown: ClassVar[Mapping[str, str]] = {"missing": "found"}

    missing: tuple[str, ...] = ()
    quote: str = ""
    fitting: bool = False
