"""Reasons about the nodes that a pod may use: an allocated claim, and the filters of the
scheduler.
"""

from collections.abc import Iterator, Sequence

from dractl.cluster.events import newest_message
from dractl.cluster.shell import NextStep, quote_command
from dractl.cluster.state import ClusterState
from dractl.explain.reasons.base import (
    SEE_CLAIM,
    Cause,
    ClaimCause,
    ClaimStopCause,
    Facts,
    Progress,
    ReasonPage,
    StopCause,
)
from dractl.explain.reasons.controller_taints import find_taint_controller
from dractl.explain.reasons.next_step import (
    DAEMONSETS,
    AskedObject,
    complete_input,
    pods_on,
    remove_duplicate_resource,
    see_node,
)
from dractl.explain.reasons.phrases import Names, Scope, plural
from dractl.explain.reasons.refusals import describe_unmet, labels_text
from dractl.model.abbreviation import abbreviate, join_names
from dractl.model.nearest import nearest
from dractl.scheduler import cycle, pre_bind, volumes
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.rejection import (
    AntiAffinityConflict,
    InsufficientResource,
    NodeLabel,
    UnmetRequirement,
    UntoleratedTaint,
    VolumeClaimFault,
)
from dractl.views.volumes import PersistentVolumeClaim, StorageClass


class PinnedNode(ClaimCause, frozen=True, kw_only=True):
    """The claim is already allocated elsewhere."""

    page = ReasonPage(
        "pinned-node",
        "a claim is already allocated on another node",
        "A claim that several pods share is allocated once; every pod must go where it is.",
        SEE_CLAIM + " (status.allocation.nodeSelector)",
        "Make room on that node, give the pod a claim of its own, or end the claim's pods so that"
        " it is allocated again.",
        Progress.OUTSIDE_DRA,
    )

    places: tuple[str, ...] = ()
    """The nodes, or the values of their labels, to which the allocation is bound."""
    pools: tuple[str, ...] = ()
    """The pools of the allocated devices."""
    users: tuple[str, ...] = ()
    """The pods of the claim."""

    def facts(self) -> Facts:
        return {**super().facts(), "found": self.places}

    def sentence(self, names: Names, scope: Scope) -> str:
        places = ", ".join(self.places or self.pools)
        users = f" (used by pod {abbreviate(self.users)})" if self.users else ""
        return (
            f"claim {self.claim}{users} is already allocated on {places}, so the pod must go there"
        )


class ReservedLimit(ClaimStopCause[pre_bind.ReservedLimit], frozen=True, kw_only=True):
    """The claim is reserved for as many pods as may use it."""

    stops = (pre_bind.ReservedLimit,)
    page = ReasonPage(
        "reserved-limit",
        "the claim is reserved for 256 pods",
        "At most 256 pods can use one claim at a time.",
        SEE_CLAIM + " (status.reservedFor)",
        "End a pod that uses it, or use a second claim.",
        Progress.STOPPED,
        (
            "0/3 nodes are available: resourceclaim in use",
            "status.reservedFor: Too many: 257: must have at most 256 items",
        ),
    )

    @property
    def pod_claim(self) -> str:
        return self.stop.claim.name

    @property
    def claim(self) -> str:
        return self.stop.claim.full_name

    def facts(self) -> Facts:
        return {**super().facts(), "want": self.stop.limit, "have": self.stop.reserved}

    def sentence(self, names: Names, scope: Scope) -> str:
        return (
            f"claim {self.claim} is reserved for {self.stop.reserved} pods; the limit is"
            f" {self.stop.limit}"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        namespace, _, name = self.claim.partition("/")
        yield NextStep(
            f"end a pod that uses claim {self.claim}, or give this pod another claim",
            quote_command(
                "kubectl get resourceclaim {} -n {} -o jsonpath='{{.status.reservedFor[*].name}}'",
                name,
                namespace,
            ),
        )


class NodeFilter(Cause, frozen=True, kw_only=True):
    """A filter of the scheduler rejects the node."""

    stops = (volumes.VolumeUnusable,)
    page = ReasonPage(
        "node-filter",
        "the node is refused before DRA is asked",
        "The node is cordoned, tainted, not selected, or out of CPU, memory, pods or ports;"
        " affinity forbids it. Or the scheduler refuses the pod for something that explain does not"
        " check, such as a volume: it is quoted then.",
        "kubectl describe node NODE; kubectl describe pod -n NS NAME; kubectl get pvc -n NS",
        "Fix what the filter names: uncordon, tolerate, relax affinity, ask for less, create or"
        " bind the volume claim.",
        Progress.OUTSIDE_DRA,
        (
            "node(s) didn't match Pod's node affinity/selector",
            "node(s) had untolerated taint(s)",
            "node(s) were unschedulable",
            "pod has unbound immediate PersistentVolumeClaims",
        ),
    )
    identity = ("plugin", "resource")

    plugin: str | None = None
    texts: tuple[str, ...] = ()
    """The messages of the filter's plugin."""
    final: bool = True
    """True if ending pods would not help."""
    unmet: tuple[UnmetRequirement, ...] = ()
    """The requirements of the pod that the node does not meet."""
    labels: tuple[NodeLabel, ...] = ()
    """The labels that the nodes have instead of the wanted ones."""
    resource: str | None = None
    """The resource of which the node has too little."""
    want: str | None = None
    free: str | None = None
    pods: tuple[str, ...] = ()
    """The pods in the way, ``namespace/name``."""
    users: tuple[str, ...] = ()
    """The pods that use most of the resource."""
    nearest: str | None = None
    """The label (``key=value``) that was probably meant."""
    tolerates: tuple[str, ...] = ()
    """Tolerations of the pod that resemble the taint but do not match it."""
    claim_tolerates: tuple[str, ...] = ()
    """Tolerations of the pod's requests that have the key of the taint; they apply to devices, not
    to nodes.
    """

    @property
    def shortage(self) -> int:
        """The amount of the resource that the node lacks, in thousandths."""
        shortages = (u.wanted - u.free for u in self.unmet if isinstance(u, InsufficientResource))
        return next((shortage.milli_value() for shortage in shortages), 0)

    @classmethod
    def from_stop(cls, stop: volumes.VolumeUnusable, scheduler: Scheduler) -> Cause:
        about = VolumeClaimFault(
            "/".join(stop.volume_claim), _describe_unbound(scheduler.state, stop)
        )
        return cls(plugin=stop.plugin, texts=(stop.text,), unmet=(about,))

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "plugin": self.plugin,
            "resource": self.resource,
            "want": self.want,
            "free": self.free,
            "found": self.pods,
            "nearest": self.nearest,
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        used = f"mostly used by {abbreviate(self.users)}" if self.users else ""
        near = f"there is {self.nearest}" if self.nearest else ""
        tolerates = f"the pod tolerates {', '.join(self.tolerates)}" if self.tolerates else ""
        misplaced = (
            f"the claim tolerates {', '.join(self.claim_tolerates)}" if self.claim_tolerates else ""
        )
        misplaced += " for devices, which does not count for nodes" if misplaced else ""
        labels = labels_text(self.labels, len(self.nodes) < 2)
        details = "; ".join(
            filter(None, (describe_unmet(self.unmet), labels, near, tolerates, misplaced, used))
        )
        upstream = "; ".join(self.texts)
        if not details or not upstream:
            return details or upstream
        # Text that counts nodes is long and less important, so it comes last, where a narrow screen
        # may cut it off.
        return (
            f"{details} ({upstream})"
            if upstream.startswith("node(s)")
            else f"{upstream} ({details})"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        if self.plugin == "VolumeRestrictions" and self.pods:
            namespace, _, name = self.pods[0].partition("/")
            text = (
                f"end pod {self.pods[0]}, or wait until it is done: its volume allows one pod at a"
                " time"
            )
            yield NextStep(text, quote_command("kubectl get pod {} -n {}", name, namespace))
        elif (self.plugin or "").startswith("Volume"):
            yield from _volume_steps(asked.volumes, asked.namespace)
        elif self.plugin == "TaintToleration" and self.nodes:
            yield self._taint_step()
        elif self.plugin == "NodeAffinity":
            yield NextStep(
                "add a node that the pod's nodeSelector and affinity want, or scale up its node"
                " pool",
                "kubectl get nodes --show-labels",
            )
        elif self.plugin == "NodePorts" and self.nodes:
            yield NextStep(
                "let the pods use different ports, or run each on a node of its own: a node has"
                " every host port once, and with hostNetwork all ports of a container are host"
                " ports",
                pods_on(self.nodes[0]),
            )
        elif self.plugin == "NodeResourcesFit" and "/" in (self.resource or ""):
            if not self.users:
                yield NextStep(
                    f"see whether the device plugin that offers {self.resource} runs", DAEMONSETS
                )
            yield remove_duplicate_resource(self.resource or "", asked)
        elif self.plugin == "InterPodAffinity" and self.nodes:
            text = "see which pods run there"
            if any(isinstance(unmet, AntiAffinityConflict) for unmet in self.unmet):
                text = (
                    "add a node without such a pod, or prefer the anti-affinity instead of"
                    " requiring it"
                )
            yield NextStep(text, pods_on(self.nodes[0]))
        elif self.nodes:
            yield see_node(self.nodes[0])

    def _taint_step(self) -> NextStep:
        """Return the step for a node with a taint: a controller may be about to remove the node."""
        node = self.nodes[0]
        taints = (u.taint for u in self.unmet if isinstance(u, UntoleratedTaint))
        controllers = (find_taint_controller(taint.key or "") for taint in taints)
        leaving = next((c for c in controllers if c is not None and c.removes_node), None)
        if leaving is None:
            return see_node(node)
        return NextStep(
            f"see whether a new node comes: {leaving.name} is about to remove {node}",
            "kubectl get nodes -w",
        )


class NoNodes(StopCause[cycle.NoNodes], frozen=True, kw_only=True):
    """The cluster or the input has no node."""

    stops = (cycle.NoNodes,)
    page = NodeFilter.page

    def sentence(self, names: Names, scope: Scope) -> str:
        source = "cluster" if self.stop.is_certain else "input"
        return f"the {source} has no node on which the pod could run"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        if self.stop.is_certain:
            yield NextStep("see whether a node comes", "kubectl get nodes -w")
        else:
            yield complete_input("Node")


class Unchecked(Cause, frozen=True, kw_only=True):
    """The scheduler refuses the pod for something that dractl does not check."""

    page = NodeFilter.page
    identity = ("plugin",)

    plugin: str | None = None
    quotes: tuple[str, ...] = ()
    """The scheduler's words."""
    fitting: int = 0
    """The number of nodes that fit otherwise."""
    volumes: tuple[tuple[str, str], ...] = ()
    """The pod's PersistentVolumeClaims, each with its phase."""
    users: tuple[str, ...] = ()
    """Pods (``namespace/name``) that use the same volume, or that use volumes on the same node."""
    used: int = 0
    """The number of volumes that ``users`` use on the node."""

    def facts(self) -> Facts:
        return {**super().facts(), "plugin": self.plugin}

    def sentence(self, names: Names, scope: Scope) -> str:
        nodes = join_names(self.nodes[:1], self.fitting - 1)
        quotes = "; ".join(self.quotes)
        why = (
            f"the scheduler says: {quotes}; that is not checked here, and everything else would fit"
            f" on {nodes}"
        )
        volumes = ", ".join(f"{name} ({state})" for name, state in self.volumes)
        if self.users and self.used:
            return (
                f"{why}; {abbreviate(self.users)} use{'s' * (len(self.users) == 1)}"
                f" {plural(self.used, 'volume')} there"
            )
        if self.users:
            return f"{why}; pod {abbreviate(self.users)} uses PersistentVolumeClaim {volumes}"
        return f"{why}; PersistentVolumeClaims of the pod: {volumes}" if volumes else why

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        if self.users:
            namespace, _, name = self.users[0].partition("/")
            pods = abbreviate(self.users)
            text = f"end pod {pods}, as ReadWriteOncePod allows one pod at a time"
            if self.used:
                text = f"end, or move to another node, pod {pods}, so that there are fewer volumes"
            yield NextStep(text, quote_command("kubectl get pod {} -n {} -o wide", name, namespace))
            return
        yield from _volume_steps(self.volumes, asked.namespace)
        if not self.volumes:
            yield NextStep(
                "see what the scheduler says",
                quote_command("kubectl describe pod {} -n {}", asked.name, asked.namespace),
            )


def _volume_steps(claims: Sequence[tuple[str, str]], namespace: str) -> Iterator[NextStep]:
    """Yield a step for each PersistentVolumeClaim: it shows why the claim is not bound, or where
    its volume is.
    """
    for name, state in claims:
        if state in ("missing", "not in the input"):
            yield NextStep(
                f"create PersistentVolumeClaim {name}, or name one that exists where the pod is"
                " written",
                quote_command("kubectl get pvc -n {}", namespace),
            )
            continue
        if state == "awaited":
            text = (
                f"see why kube-controller-manager does not make PersistentVolumeClaim {name} of the"
                " ephemeral volume"
            )
            yield NextStep(
                text,
                quote_command(
                    "kubectl get events -n {} --field-selector reason=FailedBinding", namespace
                ),
            )
            continue
        if state == "to be made":
            text = (
                f"see whether the StorageClass of PersistentVolumeClaim {name}, which is made with"
                " the pod, is there"
            )
            yield NextStep(text, "kubectl get storageclass")
            continue
        text = f"see why PersistentVolumeClaim {name} is {state}"
        if state == "Bound":
            text = (
                f"see in which zone or on which node the volume of PersistentVolumeClaim {name} is"
            )
        yield NextStep(text, quote_command("kubectl describe pvc {} -n {}", name, namespace))


def _describe_unbound(state: ClusterState, stop: volumes.VolumeUnusable) -> str:
    """Say why a PersistentVolumeClaim cannot be used: it or its StorageClass does not exist, or its
    provisioner reports an error.
    """
    namespace, name = stop.volume_claim
    claim = PersistentVolumeClaim(
        stop.claim or state.get("PersistentVolumeClaim", stop.volume_claim)
    )
    if not claim.exists:
        names = [key[1] for key in state.objects("PersistentVolumeClaim") if key[0] == namespace]
        similar = nearest(name, names)
        return f"there is {similar}" if similar else ""
    if claim.phase == "Bound" or not claim.class_name:
        return ""
    classes = [key[1] for key in state.objects("StorageClass")]
    if state.covers("StorageClass") and claim.class_name not in classes:
        similar = nearest(claim.class_name, classes)
        why = f"its StorageClass {claim.class_name} does not exist"
        return f"{why}; there is {similar}" if similar else why
    message = newest_message(state, claim, "ProvisioningFailed")
    if message:
        return message
    provisioner = StorageClass(state.get("StorageClass", ("", claim.class_name))).provisioner
    if not provisioner:
        return ""
    return f"{provisioner} has not provisioned a volume of class {claim.class_name}"
