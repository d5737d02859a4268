"""Causes in nodes, in other parts of the scheduler, and between objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dractl.explain.causes.base import OUTSIDE, SEE_CLAIM, STOPPED, Cause, OfClaim, ReasonPage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dractl.model.names import RequestRef
    from dractl.scheduler.rejection import NodeLabel, Unmet


class PinnedNode(OfClaim, frozen=True, kw_only=True):
    """The claim is already allocated elsewhere: on the nodes ``places``, or in ``pools``. ``users`` are its pods."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "pinned-node",
        "a claim is already allocated on another node",
        "A claim that several pods share is allocated once; every pod must go where it is.",
        SEE_CLAIM + " (status.allocation.nodeSelector)",
        "Make room on that node, give the pod a claim of its own, or end the claim's pods so that it is allocated "
        "again.",
        OUTSIDE,
    )
    shown: ClassVar[Mapping[str, str]] = {"places": "found"}

    places: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()
    users: tuple[str, ...] = ()


class NodeFilter(Cause, frozen=True, kw_only=True):
    """A filter of the scheduler refuses the node. ``texts`` are the plugin's own words; ``unmet`` is what the pod
    wants, ``labels`` what the nodes have instead. ``pods`` (``namespace/name``) stand in the way;
    ``final``: to end pods would not help. ``users`` use most of ``resource``. ``nearest`` is the label (``key=value``)
    that was probably meant, ``tolerates`` are tolerations that look like the taint and do not match."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "node-filter",
        "the node is refused before DRA is asked",
        "The node is cordoned, tainted, not selected, or out of CPU, memory, pods or ports; affinity forbids it. Or "
        "the scheduler refuses the pod for something that explain does not check, such as a volume: it is quoted then.",
        "kubectl describe node NODE; kubectl describe pod -n NS NAME; kubectl get pvc -n NS",
        "Fix what the filter names: uncordon, tolerate, relax affinity, ask for less, create or bind the volume claim.",
        OUTSIDE,
    )
    identity: ClassVar[tuple[str, ...]] = ("plugin", "resource")
    shown: ClassVar[Mapping[str, str]] = {"pods": "found"}

    plugin: str | None = None
    texts: tuple[str, ...] = ()
    final: bool = True
    unmet: tuple[Unmet, ...] = ()
    labels: tuple[NodeLabel, ...] = ()
    resource: str | None = None
    want: str | None = None
    free: str | None = None
    pods: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    nearest: str | None = None
    tolerates: tuple[str, ...] = ()


class NoNodes(Cause, frozen=True, kw_only=True):
    """The input has no node."""

    page: ClassVar[ReasonPage] = NodeFilter.page


class Unchecked(Cause, frozen=True, kw_only=True):
    """The scheduler refuses the pod for something that is not checked here; ``quotes`` are its own words, ``fitting``
    is the number of nodes that fit otherwise. ``volumes`` are the pod's PersistentVolumeClaims with their phase."""

    page: ClassVar[ReasonPage] = NodeFilter.page
    identity: ClassVar[tuple[str, ...]] = ("plugin",)

    plugin: str | None = None
    quotes: tuple[str, ...] = ()
    fitting: int = 0
    volumes: tuple[tuple[str, str], ...] = ()


class OtherScheduler(Cause, frozen=True, kw_only=True):
    """``spec.schedulerName`` names another scheduler."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "scheduler-bypass",
        "kube-scheduler does not schedule this pod",
        "spec.schedulerName names another scheduler, or spec.nodeName was set by hand: nobody allocates the claims, "
        "or a scheduler does that explain does not know.",
        "kubectl get pod -n NS NAME -o jsonpath='{.spec.schedulerName} {.spec.nodeName}'",
        "Use the default scheduler, and let it choose the node (nodeSelector instead of nodeName).",
        STOPPED,
    )
    shown: ClassVar[Mapping[str, str]] = {"schedulers": "found"}

    plugin: str
    schedulers: tuple[str, ...] = ()


class PlacedByHand(OfClaim, frozen=True, kw_only=True):
    """``spec.nodeName`` was set without the scheduler having allocated the claim. ``exists``: there is such a node."""

    page: ClassVar[ReasonPage] = OtherScheduler.page

    exists: bool = True


class NotPrepared(Cause, frozen=True, kw_only=True):
    """The pod is on its node, and the kubelet cannot prepare its devices: ``event`` is what it says. ``faults`` are
    what the driver would find in the configuration of a claim: pod claim, path, and why. ``drivers`` are those of its
    devices. ``vanished``: they were prepared, and the container runtime no longer knows them."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "not-prepared",
        "the kubelet cannot prepare the pod's devices",
        "The scheduler has done its part. The kubelet asks the driver on the node to prepare the devices, and it does "
        "not answer, is not registered, or refuses the claim's configuration; or the files that it wrote for the "
        "container runtime (CDI) are gone, as after a reboot. Containers do not start until it succeeds.",
        "kubectl describe pod -n NS NAME (FailedPrepareDynamicResources)",
        "Restart the driver on the node, or correct the configuration in the claim or its template. Where CDI files "
        "are gone, recreate the pod.",
        STOPPED,
    )
    shown: ClassVar[Mapping[str, str]] = {"paths": "found"}

    event: str
    headline: str = ""
    faults: tuple[tuple[str, str, str], ...] = ()
    drivers: tuple[str, ...] = ()
    vanished: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        """The fields of the configuration that the driver would refuse."""
        return tuple(path for _, path, _ in self.faults)

    @property
    def answered(self) -> bool:
        """True if the driver itself refused (kubernetes pkg/kubelet/cm/dra/manager.go): it runs and is registered."""
        silent = any(code in self.event for code in ("code = Unavailable", "code = DeadlineExceeded"))
        return not silent and ("rpc error" in self.event or "failed for claim" in self.event)


class TimeoutRisk(OfClaim, frozen=True, kw_only=True):
    """The scheduler gives up before it has an answer. ``because`` is what cannot be satisfied."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "timeout-risk",
        "the scheduler's search takes too long",
        "kube-scheduler tries combinations one after the other and gives up after 10 seconds per node.",
        "kubectl describe pod -n NS NAME (timed out trying to allocate devices)",
        "Fix the request that cannot be satisfied; narrow the selectors of the large one.",
        STOPPED,
    )
    identity: ClassVar[tuple[str, ...]] = ("pod_claim", "requests")

    requests: tuple[RequestRef, ...] = ()
    because: Cause | None = None


class SchedulerError(OfClaim, frozen=True, kw_only=True):
    """The allocator fails with an error that has no code of its own; ``upstream`` is its sentence."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "scheduler-error",
        "the scheduler fails with an error",
        "The structured allocator of kube-scheduler ends the attempt with an error for which dractl has no separate "
        "reason: an amount that the device's range arithmetic cannot represent, a derived attribute that cannot be "
        "evaluated, a field that this release does not know. It stops the pod on every node.",
        "kubectl describe pod -n NS NAME (event FailedScheduling)",
        "Change what the error names; the message is quoted as the scheduler prints it.",
        STOPPED,
    )
    identity: ClassVar[tuple[str, ...]] = ("claim", "request")

    request: RequestRef | None = None
    upstream: str = ""
    devices: tuple[str, ...] = ()


class UpstreamBug(OfClaim, frozen=True, kw_only=True):
    """A known bug of the release stops the pod. ``effect`` is what goes wrong; ``fits_without``: on ``nodes`` it would
    fit if the release did not have the bug."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "upstream-bug",
        "a known bug of this Kubernetes release",
        "Without the bug the pod would be allocated; explain names the issue.",
        "the issue that explain names",
        "Upgrade kube-scheduler, or avoid the combination that the issue names.",
        STOPPED,
    )
    shown: ClassVar[Mapping[str, str]] = {"names": "found"}

    effect: str = ""
    fits_without: bool = False
    issue: str | None = None
    pool: str | None = None
    counter_set: str | None = None
    names: tuple[str, ...] = ()
    request: RequestRef | None = None
    devices: tuple[str, ...] = ()


class ExtendedResourceUnmapped(Cause, frozen=True, kw_only=True):
    """Nothing provides the extended resource. ``nearest`` is a similar one (of ``device_class``, if set); else
    ``device_class`` has devices of the vendor and does not provide it. ``gate_off``: DRAExtendedResource is off."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "extended-resource-unmapped",
        "no DeviceClass provides the extended resource",
        "The pod asks for a resource by name. Nodes with a device plugin offer it themselves; nodes with a DRA driver "
        "only through a class with that extendedResourceName.",
        "kubectl get deviceclasses -o yaml; kubectl describe node NODE (Allocatable)",
        "Set spec.extendedResourceName in the driver's class (feature gate DRAExtendedResource), or use a claim.",
        OUTSIDE,
    )
    identity: ClassVar[tuple[str, ...]] = ("resource",)

    resource: str
    device_class: str | None = None
    nearest: str | None = None
    gate_off: bool = False


class WouldFitNow(Cause, frozen=True, kw_only=True):
    """The pod fits now, and the scheduler has not tried again since ``since`` (RFC 3339). ``leaving`` are the pods that
    it preempts on the node, and waits for."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "would-fit-now",
        "the pod would fit now, and has not been tried again",
        "Its condition is older than a change that helps. The scheduler tries again at an event that concerns the pod, "
        "or after five minutes.",
        "kubectl get pod -n NS NAME -o yaml (status.conditions[].lastTransitionTime)",
        "Wait a few minutes; if nothing happens, see whether kube-scheduler runs, or delete and recreate the pod.",
        STOPPED,
    )

    pod_claim: str | None = None
    devices: tuple[str, ...] = ()
    since: str = ""
    leaving: tuple[str, ...] = ()


class Mixed(Cause, frozen=True, kw_only=True):
    """Nodes have different causes, and none holds on most of them. ``codes`` are theirs; ``nearest_node`` and
    ``nearest_cause`` are those of the node that is nearest to fitting."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "mixed",
        "every node has a different reason",
        "No single reason stops the pod on most nodes; explain lists them node by node.",
        "dractl explain -o json (nodes[].reasons)",
        "Pick the smallest fix: one node is enough.",
        OUTSIDE,
    )
    shown: ClassVar[Mapping[str, str]] = {"codes": "found"}

    codes: tuple[str, ...] = ()
    nearest_node: str = ""
    nearest_cause: Cause | None = None
