"""Demands of a pod outside its claims, and ways to lift them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar

from msgspec import Struct

from dractl.cluster.changes import parse_target
from dractl.explain.obstacles.trial import (
    Path,
    Trial,
    append_entries,
    edit_in,
    filter_entries,
    map_entries,
    set_in,
)
from dractl.model import Taint
from dractl.model.nearest import nearest
from dractl.model.paths import remove_at
from dractl.model.taints import format_taint
from dractl.objects import Raw
from dractl.scheduler.admission import AdminAccessNamespace
from dractl.scheduler.cycle import NoNodes
from dractl.scheduler.pre_enqueue import (
    ClaimDeleting,
    ClaimMissing,
    ClaimNotCreated,
    ClaimNotOwned,
    ClaimUnsetSource,
    SchedulingGated,
    TemplateMissing,
)
from dractl.scheduler.quota import QuotaExceeded
from dractl.scheduler.rejection import (
    AntiAffinityConflict,
    CordonedNode,
    HostPortConflict,
    InsufficientResource,
    LabelMismatch,
    MissingTopologyLabel,
    NodeAffinityMismatch,
    NodeListMismatch,
    NodeNameMismatch,
    PodAffinityMismatch,
    Rejection,
    SkewExceeded,
    TooFewDomains,
    TooManyPods,
    UnmetRequirement,
    UntoleratedTaint,
)
from dractl.scheduler.stops import Stop
from dractl.scheduler.volumes import VolumeUnusable
from dractl.views.namespace import ADMIN_ACCESS_LABEL
from dractl.views.selectors import REQUIRED

_CORDON_TAINT = "node.kubernetes.io/unschedulable"
_CLAIM_FIELDS = {
    "ResourceClaim": "resourceClaimName",
    "ResourceClaimTemplate": "resourceClaimTemplateName",
}
_PLENTY = "1000000"
"""More pods than any node runs."""


class Demand(Struct, frozen=True):
    """One thing that a subject demands, and that can be lifted."""

    kind: ClassVar[str]
    """The kind, as reports have it."""
    stage: ClassVar[int]
    """The order in which demands are corrected, since each may depend on earlier corrections."""
    remoteness: ClassVar[float] = 1
    """The distance of a node from a fit if this demand is not met there."""
    passes: ClassVar[bool] = False
    """True if time alone may remove the obstacle, since somebody holds the wanted devices."""
    is_before_nodes: ClassVar[bool] = False
    """True if the demand, when it is not met, ends the scheduler's attempt before any node is
    looked at.
    """

    @property
    def object(self) -> str:
        """The object that states the demand, as ``Kind/namespace/name``; empty for the subject."""
        return ""

    @property
    def hides(self) -> bool:
        """True if the demand hides other demands until it is corrected."""
        return False

    @property
    def want(self) -> str:
        """The demand in words."""
        raise NotImplementedError

    def lift(self, trial: Trial) -> Trial:
        """Return the trial without the demand."""
        raise NotImplementedError


class FieldDemand(Demand, frozen=True):
    """A demand that is a field of the pod's spec."""

    @property
    def path(self) -> Path:
        """The path of the field in the spec."""
        raise NotImplementedError

    def lift(self, trial: Trial) -> Trial:
        return trial.edit_pod(lambda spec: remove_at(spec, self.path))


# -- before the nodes --


class NoGates(FieldDemand, frozen=True):
    """The demand that the pod has no scheduling gates."""

    kind = "scheduling-gate"
    is_before_nodes = True
    stage = 1

    gates: tuple[str, ...]

    @property
    def want(self) -> str:
        return f"no scheduling gate {', '.join(self.gates)}"

    @property
    def path(self) -> Path:
        return ("schedulingGates",)


class SchedulerName(FieldDemand, frozen=True):
    """The demand that the pod's scheduler runs; the input does not show that it does."""

    kind = "scheduler-name"
    is_before_nodes = True
    stage = 2

    name: str

    @property
    def want(self) -> str:
        return f"schedulerName {self.name}"

    @property
    def path(self) -> Path:
        return ("schedulerName",)


class ClaimOfPod(Demand, frozen=True):
    """The demand for a usable claim or template in an entry of ``spec.resourceClaims``."""

    kind = "claim"
    is_before_nodes = True
    stage = 0
    name: str
    target: str = ""

    @property
    def hides(self) -> bool:
        return True

    @property
    def object(self) -> str:
        return self.target

    @property
    def want(self) -> str:
        return f"claim {self.name}"

    def lift(self, trial: Trial) -> Trial:
        """Use the claim or template that was probably meant; if there is none, drop the entry."""
        meant = self._find_meant(trial)
        return trial.edit_pod(
            lambda spec: edit_in(spec, ("resourceClaims",), partial(self._use, meant))
        )

    def _find_meant(self, trial: Trial) -> Mapping[str, str]:
        """Return the field that names the intended object; empty if the name is right, or resembles
        none.
        """
        kind, (namespace, name) = parse_target(self.target) if self.target else ("", ("", ""))
        if kind not in _CLAIM_FIELDS or trial.state.get(kind, (namespace, name)) is not None:
            return {}
        names = [other for space, other in trial.state.objects(kind) if space == namespace]
        meant = nearest(name, names)
        return {_CLAIM_FIELDS[kind]: meant} if meant else {}

    def _use(self, meant: Mapping[str, str], entries: Sequence[Raw] | None) -> list[Raw]:
        others = [entry for entry in entries or () if entry.get("name") != self.name]
        return [*others, {"name": self.name, **meant}] if meant else others


class RoomInQuota(Demand, frozen=True):
    """The demand for room in a ResourceQuota, for the claim of a template."""

    kind = "quota"
    is_before_nodes = True
    stage = 9
    """The stage after corrections of the claim, since these change the amount."""

    quota: str
    resource: str
    need: str

    @property
    def object(self) -> str:
        return f"ResourceQuota/{self.quota}"

    @property
    def want(self) -> str:
        return f"{self.need} of {self.resource} in quota {self.quota}"

    def lift(self, trial: Trial) -> Trial:
        return trial.edit(
            self.object, lambda quota: remove_at(quota, ("spec", "hard", self.resource))
        )


class AdminNamespace(Demand, frozen=True):
    """The demand for a namespace whose claims may ask for adminAccess."""

    kind = "admin-access"
    is_before_nodes = True
    stage = 1

    namespace: str

    @property
    def object(self) -> str:
        return f"Namespace/{self.namespace}"

    @property
    def want(self) -> str:
        return f"adminAccess in namespace {self.namespace}"

    def lift(self, trial: Trial) -> Trial:
        path = ("metadata", "labels", ADMIN_ACCESS_LABEL)
        return trial.edit(self.object, lambda namespace: set_in(namespace, path, "true"))


class GangPods(Demand, frozen=True):
    """The demand for as many pods of a PodGroup as have to start together."""

    kind = "gang"
    is_before_nodes = True
    stage = 1

    group: str
    minimum: int

    @property
    def object(self) -> str:
        return self.group

    @property
    def want(self) -> str:
        return f"{self.minimum} pods of {self.group.replace('/', ' ', 1)}"

    def lift(self, trial: Trial) -> Trial:
        path = ("spec", "schedulingPolicy", "gang", "minCount")
        return trial.edit(self.group, lambda group: set_in(group, path, 1))


class AnyNode(Demand, frozen=True):
    """The demand for any node at all: without nodes, no later demand can be judged."""

    kind = "nodes"
    stage = 15

    @property
    def want(self) -> str:
        return "a node"

    def lift(self, trial: Trial) -> Trial:
        return trial


class VolumesOfPod(Demand, frozen=True):
    """The demand for the PersistentVolumeClaims of the pod."""

    kind = "volume"
    stage = 9

    claim: str

    @property
    def object(self) -> str:
        return f"PersistentVolumeClaim/{self.claim}"

    @property
    def want(self) -> str:
        return f"PersistentVolumeClaim {self.claim}"

    def lift(self, trial: Trial) -> Trial:
        return trial.edit_pod(
            lambda spec: filter_entries(
                spec,
                ("volumes",),
                lambda volume: "persistentVolumeClaim" not in volume and "ephemeral" not in volume,
            )
        )


def demand_of_stop(stop: Stop) -> Demand | None:
    """Return the demand that makes a stop end the attempt; None if it cannot be lifted."""
    match stop:
        case SchedulingGated(gates=gates):
            return NoGates(gates)
        case ClaimMissing(pod_claim=name, claim=key):
            return ClaimOfPod(name, "/".join(("ResourceClaim", *key)))
        case (
            TemplateMissing(pod_claim=name, template=key)
            | ClaimNotCreated(pod_claim=name, template=key)
        ):
            return ClaimOfPod(name, "/".join(("ResourceClaimTemplate", *key)))
        case ClaimUnsetSource(pod_claim=name):
            return ClaimOfPod(name)
        case ClaimNotOwned(claim=claim) | ClaimDeleting(claim=claim):
            return ClaimOfPod(claim.name, f"ResourceClaim/{claim.full_name}")
        case QuotaExceeded(quota=key, resource=resource, need=need):
            return RoomInQuota("/".join(key), resource, str(need))
        case AdminAccessNamespace(namespace=namespace):
            return AdminNamespace(namespace)
        case VolumeUnusable(volume_claim=key):
            return VolumesOfPod("/".join(key))
        case NoNodes():
            return AnyNode()
    return None


# -- filters of nodes --


class OpenNode(Demand, frozen=True):
    """The demand for nodes that are not cordoned."""

    kind = "cordon"
    stage = 20

    nodes: tuple[str, ...]

    @property
    def object(self) -> str:
        return f"Node/{self.nodes[0]}"

    @property
    def want(self) -> str:
        return "a node that is not cordoned"

    def lift(self, trial: Trial) -> Trial:
        for name in self.nodes:
            trial = trial.edit(f"Node/{name}", _uncordon)
        return trial


def _uncordon(node: Raw) -> Raw:
    node = remove_at(node, ("spec", "unschedulable"))
    return filter_entries(node, ("spec", "taints"), lambda t: t.get("key") != _CORDON_TAINT)


class NoTaint(Demand, frozen=True):
    """The demand for nodes without a taint that the pod does not tolerate."""

    kind = "taint"
    stage = 19

    taint: Taint

    @property
    def want(self) -> str:
        return f"no taint {format_taint(self.taint)}"

    def lift(self, trial: Trial) -> Trial:
        toleration = {"key": self.taint.key, "effect": self.taint.effect, "operator": "Exists"}
        if self.taint.value:
            toleration |= {"operator": "Equal", "value": self.taint.value}
        return trial.edit_pod(lambda spec: append_entries(spec, ("tolerations",), toleration))


def is_taint_of_cordon(demand: Demand) -> bool:
    """Decide whether a demand is about the taint that comes with a cordon."""
    return isinstance(demand, NoTaint) and demand.taint.key == _CORDON_TAINT


class NodeLabel(FieldDemand, frozen=True):
    """The demand of an entry of the pod's ``nodeSelector``."""

    kind = "node-selector"
    stage = 17

    key: str
    value: str

    @property
    def want(self) -> str:
        return f"nodeSelector {self.key}={self.value}"

    @property
    def path(self) -> Path:
        return ("nodeSelector", self.key)


class NodeAffinity(FieldDemand, frozen=True):
    """The pod's required node affinity."""

    kind = "node-affinity"
    stage = 18

    @property
    def want(self) -> str:
        return "the required node affinity"

    @property
    def path(self) -> Path:
        return ("affinity", "nodeAffinity", REQUIRED)


class NodeName(FieldDemand, frozen=True):
    """The pod's ``spec.nodeName``."""

    kind = "node-name"
    stage = 16

    name: str

    @property
    def want(self) -> str:
        return f"nodeName {self.name}"

    @property
    def path(self) -> Path:
        return ("nodeName",)


class HostPort(Demand, frozen=True):
    """The demand for a port of the node that another pod uses."""

    kind = "host-port"
    passes = True
    stage = 23

    port: int
    protocol: str

    @property
    def want(self) -> str:
        return f"host port {self.port}/{self.protocol}"

    def lift(self, trial: Trial) -> Trial:
        return trial.edit_pod(self._free)

    def _free(self, spec: Raw) -> Raw:
        def keep(port: Raw) -> bool:
            number = port.get("hostPort") or (spec.get("hostNetwork") and port.get("containerPort"))
            return number != self.port or (port.get("protocol") or "TCP") != self.protocol

        return _edit_containers(spec, lambda container: filter_entries(container, ("ports",), keep))


class PodCount(Demand, frozen=True):
    """The demand for room for one more pod on nodes."""

    kind = "pods"
    passes = True
    stage = 22

    nodes: tuple[str, ...]

    @property
    def object(self) -> str:
        return f"Node/{self.nodes[0]}"

    @property
    def want(self) -> str:
        return "room for one more pod"

    def lift(self, trial: Trial) -> Trial:
        for name in self.nodes:
            trial = trial.edit(
                f"Node/{name}",
                lambda node: set_in(node, ("status", "allocatable", "pods"), _PLENTY),
            )
        return trial


class NodeResource(Demand, frozen=True):
    """The demand for a resource of the node: CPU, memory, or an extended resource."""

    kind = "resource"
    stage = 21

    resource: str
    amount: str = ""

    @property
    def want(self) -> str:
        return " ".join(filter(None, (self.amount, self.resource)))

    def lift(self, trial: Trial) -> Trial:
        return trial.edit_pod(self._ask_for_none)

    def _ask_for_none(self, spec: Raw) -> Raw:
        for field in ("requests", "limits"):
            spec = remove_at(spec, ("resources", field, self.resource))
        spec = remove_at(spec, ("overhead", self.resource))
        return _edit_containers(spec, self._ask_container_for_none)

    def _ask_container_for_none(self, container: Raw) -> Raw:
        for field in ("requests", "limits"):
            container = remove_at(container, ("resources", field, self.resource))
        return container


class Spread(FieldDemand, frozen=True):
    """The pod's topologySpreadConstraints."""

    kind = "topology-spread"
    stage = 24

    @property
    def want(self) -> str:
        return "the topologySpreadConstraints"

    @property
    def path(self) -> Path:
        return ("topologySpreadConstraints",)


class PodAffinity(FieldDemand, frozen=True):
    """The demand of the pod's required affinity or anti-affinity to other pods."""

    kind = "pod-affinity"
    stage = 25

    field: str
    """``podAffinity`` or ``podAntiAffinity``."""

    @property
    def want(self) -> str:
        return f"the required {self.field}"

    @property
    def path(self) -> Path:
        return ("affinity", self.field, REQUIRED)


class OthersAntiAffinity(Demand, frozen=True):
    """The demand for nodes without pods whose anti-affinity keeps the pod away."""

    kind = "pod-affinity"
    stage = 26

    pods: tuple[str, ...]

    @property
    def object(self) -> str:
        return f"Pod/{self.pods[0]}"

    @property
    def want(self) -> str:
        return f"no pod whose anti-affinity excludes it, such as {self.pods[0]}"

    def lift(self, trial: Trial) -> Trial:
        for pod in self.pods:
            trial = trial.edit(
                f"Pod/{pod}",
                lambda value: remove_at(value, ("spec", "affinity", "podAntiAffinity")),
            )
        return trial


def demands_of_rejection(rejection: Rejection, nodes: tuple[str, ...]) -> Iterator[Demand]:
    """Yield the demands that nodes do not meet; none if they cannot be lifted."""
    theirs = tuple(
        unmet.pod
        for unmet in rejection.unmet
        if isinstance(unmet, AntiAffinityConflict) and unmet.theirs
    )
    if theirs:
        yield OthersAntiAffinity(theirs)
    for unmet in rejection.unmet:
        demand = _demand_of_requirement(unmet, nodes)
        if demand is not None:
            yield demand
    if rejection.plugin.startswith("Volume") or rejection.plugin == "NodeVolumeLimits":
        claims = (text_of_claim for unmet in rejection.unmet if (text_of_claim := _claim_of(unmet)))
        yield VolumesOfPod(next(claims, ""))


def _claim_of(unmet: UnmetRequirement) -> str:
    return str(getattr(unmet, "claim", "") or getattr(unmet, "volume", ""))


def _demand_of_requirement(unmet: UnmetRequirement, nodes: tuple[str, ...]) -> Demand | None:
    match unmet:
        case CordonedNode():
            return OpenNode(nodes)
        case UntoleratedTaint(taint=taint):
            return NoTaint(taint)
        case LabelMismatch(key=key, wanted=value):
            return NodeLabel(key, value)
        case NodeAffinityMismatch() | NodeListMismatch():
            return NodeAffinity()
        case NodeNameMismatch(wanted=name):
            return NodeName(name)
        case HostPortConflict(port=port, protocol=protocol):
            return HostPort(port, protocol)
        case TooManyPods():
            return PodCount(nodes)
        case InsufficientResource(resource=resource, wanted=amount):
            return NodeResource(resource, str(amount))
        case SkewExceeded() | TooFewDomains() | MissingTopologyLabel():
            return Spread()
        case PodAffinityMismatch():
            return PodAffinity("podAffinity")
        case AntiAffinityConflict(theirs=False):
            return PodAffinity("podAntiAffinity")
    return None


def _edit_containers(spec: Raw, edit: Callable[[Raw], Raw]) -> Raw:
    """Return the spec of a pod with edited containers and init containers."""
    for field in ("initContainers", "containers"):
        spec = map_entries(spec, (field,), edit)
    return spec
