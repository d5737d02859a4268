"""The cluster as the scheduler's filters see it: nodes with the pods on them, read once and kept for all attempts.

The terms are kube-scheduler's own (kubernetes pkg/scheduler/framework/types.go: PodInfo, NodeInfo; backend/cache:
Snapshot). Objects are read leniently: a field of the wrong type, which no API server stores, counts as absent.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import compress, count
from operator import is_not
from types import MappingProxyType

from msgspec import Struct, field
from msgspec.structs import replace

from dractl.allocation import is_extended
from dractl.allocation.nodes import label_matches, some_term_matches
from dractl.cluster.pods import DEFAULT_SCHEDULER, ENDED, scheduler_name
from dractl.cluster.state import ClusterState, Key, at, list_at, map_at, maps_at, text_at
from dractl.cluster.workloads import workload
from dractl.model import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Quantity,
    Taint,
    Toleration,
)
from dractl.objects import Raw

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class HostPort(Struct, frozen=True, order=True):
    """A port of the node that a container takes."""

    protocol: str
    port: int
    address: str


class LabelSelector(Struct, frozen=True):
    """Requirements on the labels of an object, all of which must hold; without any it selects everything."""

    match_labels: Mapping[str, str]
    match_expressions: tuple[NodeSelectorRequirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """True if the labels meet all requirements (apimachinery/pkg/labels Selector.Matches)."""
        return all(labels.get(key) == value for key, value in self.match_labels.items()) and all(
            label_matches(requirement, labels) for requirement in self.match_expressions
        )


class AffinityTerm(Struct, frozen=True):
    """A required term of pod affinity or anti-affinity. A term without ``selector`` selects no pod.

    Without ``namespaces`` and ``namespace_selector`` it is about the namespace of its own pod.
    """

    topology_key: str
    selector: LabelSelector | None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None


class SpreadConstraint(Struct, frozen=True):
    """A topology spread constraint with ``whenUnsatisfiable: DoNotSchedule``."""

    topology_key: str
    selector: LabelSelector | None
    max_skew: int | None
    min_domains: int | None
    ignores_affinity: bool  # nodeAffinityPolicy: Ignore
    honors_taints: bool  # nodeTaintsPolicy: Honor


class PodInfo:
    """A pod, typed. Every field is read when it is first asked for, and kept. ``classes`` are the PriorityClasses."""

    def __init__(self, value: Raw, classes: Mapping[Key, Raw] = MappingProxyType({})) -> None:
        self.value = value
        self.classes = classes
        self.spec = map_at(value, "spec")
        self.name = text_at(value, "metadata", "name")
        self.namespace = text_at(value, "metadata", "namespace")
        self.node_name = text_at(self.spec, "nodeName")

    @property
    def full_name(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @cached_property
    def uid(self) -> str:
        """metadata.uid; "" for a manifest."""
        return text_at(self.value, "metadata", "uid")

    @cached_property
    def ended(self) -> bool:
        """True if the pod has succeeded or failed: it uses nothing of its node."""
        return self.phase in ENDED

    @cached_property
    def workload(self) -> tuple[str, str] | None:
        """Kind and name of the workload in which the pod is written."""
        return workload(self.value)

    @cached_property
    def turn(self) -> tuple[int, str, str] | None:
        """Its place among the pods that kube-scheduler would try: by priority, then by age, new ones last (kubernetes
        pkg/scheduler/framework/plugins/queuesort/priority_sort.go). None for pods that it would not try."""
        if self.node_name or self.ended or self.deleted or self.scheduling_gates:
            return None
        if scheduler_name(self.value) != DEFAULT_SCHEDULER:
            return None
        return -self.priority, self.created or "~", self.name

    @cached_property
    def lacks_claims(self) -> bool:
        """True if claims of its templates have not been made: their controller tries again."""
        there = {
            text_at(status, "name")
            for status in maps_at(self.value, "status", "resourceClaimStatuses")
        }
        return any(
            text_at(entry, "resourceClaimTemplateName") and text_at(entry, "name") not in there
            for entry in maps_at(self.spec, "resourceClaims")
        )

    @property
    def start_time(self) -> str:
        """When the kubelet took the pod (RFC 3339); "" if it has not."""
        return text_at(self.value, "status", "startTime")

    @property
    def phase(self) -> str:
        """status.phase; "" for a manifest."""
        return text_at(self.value, "status", "phase")

    @property
    def created(self) -> str:
        """metadata.creationTimestamp (RFC 3339); "" for a manifest."""
        return text_at(self.value, "metadata", "creationTimestamp")

    @property
    def deleted(self) -> str:
        """When the pod is to be gone (RFC 3339); "" if it is not being deleted."""
        return text_at(self.value, "metadata", "deletionTimestamp")

    @property
    def preempts(self) -> bool:
        """False for ``preemptionPolicy: Never``."""
        return text_at(self.spec, "preemptionPolicy") != "Never"

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """metadata.labels."""
        return map_at(self.value, "metadata", "labels")

    @cached_property
    def scheduling_gates(self) -> tuple[str, ...]:
        """The names of the pod's scheduling gates."""
        return tuple(text_at(gate, "name") for gate in maps_at(self.spec, "schedulingGates"))

    @cached_property
    def requests(self) -> Mapping[str, Quantity]:
        """Requests of the pod, without zeros."""
        return {
            name: amount for name, amount in pod_requests(self.spec).items() if amount.sign() > 0
        }

    @cached_property
    def amounts(self) -> Mapping[str, int]:
        """:attr:`requests` in the scheduler's units."""
        return {name: units(name, amount) for name, amount in self.requests.items()}

    @cached_property
    def host_ports(self) -> tuple[HostPort, ...]:
        """Every host port of the pod, sidecars included."""
        sidecars = [
            c for c in maps_at(self.spec, "initContainers") if c.get("restartPolicy") == "Always"
        ]
        return tuple(
            HostPort(
                text_at(port, "protocol") or "TCP",
                port["hostPort"],
                text_at(port, "hostIP") or ANY_ADDRESS,
            )
            for container in [*maps_at(self.spec, "containers"), *sidecars]
            for port in maps_at(container, "ports")
            if isinstance(port.get("hostPort"), int) and port["hostPort"] > 0
        )

    @cached_property
    def tolerations(self) -> tuple[Toleration, ...]:
        """Tolerations of node taints."""
        return tuple(
            Toleration(
                text_at(t, "key"), text_at(t, "operator"), text_at(t, "value"), text_at(t, "effect")
            )
            for t in maps_at(self.spec, "tolerations")
        )

    @cached_property
    def node_selector(self) -> Mapping[str, str]:
        """spec.nodeSelector."""
        return map_at(self.spec, "nodeSelector")

    @cached_property
    def node_affinity(self) -> NodeSelector | None:
        """Required node affinity."""
        found = at(self.spec, "affinity", "nodeAffinity", REQUIRED)
        return node_selector(found) if isinstance(found, dict) else None

    @cached_property
    def affinity(self) -> tuple[AffinityTerm, ...]:
        """Required pod affinity."""
        return tuple(map(_affinity_term, maps_at(self.spec, "affinity", "podAffinity", REQUIRED)))

    @cached_property
    def anti_affinity(self) -> tuple[AffinityTerm, ...]:
        """Required pod anti-affinity."""
        return tuple(
            map(_affinity_term, maps_at(self.spec, "affinity", "podAntiAffinity", REQUIRED))
        )

    @cached_property
    def spread(self) -> tuple[SpreadConstraint, ...]:
        """Topology spread constraints that forbid nodes."""
        return tuple(
            SpreadConstraint(
                text_at(found, "topologyKey"),
                label_selector(at(found, "labelSelector")),
                _integer(at(found, "maxSkew")),
                _integer(at(found, "minDomains")),
                ignores_affinity=found.get("nodeAffinityPolicy") == "Ignore",
                honors_taints=found.get("nodeTaintsPolicy") == "Honor",
            )
            for found in maps_at(self.spec, "topologySpreadConstraints")
            if found.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"
        )

    @cached_property
    def priority(self) -> int:
        """spec.priority, which admission writes; a manifest has only the name of its class."""
        written = at(self.spec, "priority")
        if isinstance(written, int):
            return written
        value = at(self.classes.get(("", text_at(self.spec, "priorityClassName"))), "value")
        return value if isinstance(value, int) else 0

    @property
    def group(self) -> str:
        """The PodGroup of Kubernetes that the pod names."""
        return text_at(self.spec, "schedulingGroup", "podGroupName")

    @property
    def containers(self) -> list[Raw]:
        """Its containers as written, init containers first."""
        return [*maps_at(self.spec, "initContainers"), *maps_at(self.spec, "containers")]

    @cached_property
    def extended(self) -> Mapping[str, Sequence[tuple[int, int]]]:
        """By extended resource (index of the container, amount) for each container that wants it, init containers
        first."""
        found: dict[str, list[tuple[int, int]]] = {}
        for index, container in enumerate(self.containers):
            for name, value in container_requests(container).items():
                amount = value.value()
                if is_extended(name) and amount > 0:
                    found.setdefault(name, []).append((index, amount))
        return found

    @cached_property
    def written(self) -> Mapping[str, str]:
        """What the pod asks for where the special claim has a request: ``container-0-request-1`` is ``vendor.com/gpu: 2
        of container main``. The numbers are those of the container, init containers first, and of the resource among
        its sorted names."""
        found = {}
        for number, container in enumerate(self.containers):
            amounts = {
                **map_at(container, "resources", "limits"),
                **map_at(container, "resources", "requests"),
            }
            for position, resource in enumerate(sorted(amounts)):
                asked = f"{resource}: {amounts[resource]} of container {text_at(container, 'name')}"
                found[f"container-{number}-request-{position}"] = asked
        return found


class NodeInfo:
    """A node, typed, and the pods on it. What it offers and what is used of it are in the scheduler's units."""

    def __init__(self, value: Raw, pods: Sequence[PodInfo] = ()) -> None:
        self.value = value
        self.pods = pods
        self.name = text_at(value, "metadata", "name")
        self.labels: Mapping[str, str] = map_at(value, "metadata", "labels")

    @property
    def unschedulable(self) -> bool:
        """True for a cordoned node."""
        return at(self.value, "spec", "unschedulable") is True

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """The node's taints."""
        return tuple(
            Taint(text_at(t, "key"), text_at(t, "value"), text_at(t, "effect"))
            for t in maps_at(self.value, "spec", "taints")
        )

    @cached_property
    def allocatable(self) -> Mapping[str, Quantity]:
        """status.allocatable."""
        return {
            name: quantity(value)
            for name, value in map_at(self.value, "status", "allocatable").items()
        }

    @property
    def unready(self) -> bool:
        """True if the node's condition Ready does not hold, or its kubelet no longer reports it."""
        conditions = maps_at(self.value, "status", "conditions")
        return any(
            c.get("type") == "Ready" and c.get("status") in ("False", "Unknown") for c in conditions
        )

    @property
    def reported(self) -> bool:
        """False for a manifest that no kubelet has filled in: nothing is known of its resources."""
        return bool(self.allocatable) or bool(text_at(self.value, "metadata", "uid"))

    @cached_property
    def requested(self) -> Mapping[str, int]:
        """The sum of what the pods on the node ask for."""
        total: dict[str, int] = {}
        for pod in self.pods:
            for name, amount in pod.amounts.items():
                total[name] = total.get(name, 0) + amount
        return total

    def used(self, resource: str) -> Quantity:
        """The exact sum of the requests for a resource on the node."""
        total = Quantity()
        for pod in self.pods:
            if resource in pod.requests:
                total = pod.requests[resource] + total
        return total

    def matches(self, selector: NodeSelector) -> bool:
        """True if a term of a pod's node affinity matches; terms that cannot be parsed match nothing."""
        return some_term_matches(selector, self.name, self.labels)

    def __repr__(self) -> str:
        return f"NodeInfo({self.name!r})"


class Budget(Struct, frozen=True):
    """A PodDisruptionBudget: the pods that it protects, how many of them may be evicted, and which already are."""

    namespace: str
    selector: LabelSelector | None
    allowed: int
    disrupted: Container[str]

    def protects(self, pod: PodInfo) -> bool:
        """True if an eviction of the pod counts (filterPodsWithPDBViolation). A selector without requirements matches
        nothing."""
        if self.selector is None or not (
            self.selector.match_labels or self.selector.match_expressions
        ):
            return False
        if (
            self.namespace != pod.namespace
            or not pod.labels
            or not self.selector.matches(pod.labels)
        ):
            return False
        return pod.name not in self.disrupted


def _budget(key: Key, value: Raw) -> Budget:
    status = map_at(value, "status")
    allowed = _integer(status.get("disruptionsAllowed")) or 0
    return Budget(
        key[0],
        label_selector(at(value, "spec", "selector")),
        allowed,
        map_at(status, "disruptedPods"),
    )


def exchanged(before: Mapping[Key, Raw], after: Mapping[Key, Raw]) -> tuple[list[Raw], list[Raw]]:
    """The objects of a kind that a change takes away, and those that it brings; a patched one is both."""
    old, new = list(before.values()), list(after.values())
    first = next(compress(count(), map(is_not, old, new)), min(len(old), len(new)))
    old, new = old[first:], new[first:]  # most changes are in one place
    last = next(
        compress(count(), map(is_not, reversed(old), reversed(new))), min(len(old), len(new))
    )
    old, new = old[: len(old) - last], new[: len(new) - last]
    kept = set(map(id, old)).intersection(map(id, new))
    return [value for value in old if id(value) not in kept], [
        value for value in new if id(value) not in kept
    ]


class Snapshot(Struct, frozen=True):
    """Nodes by name, each with its pods; ``state`` is the cluster that they are taken from. ``repels``: the
    anti-affinity of a pod may keep others away."""

    state: ClusterState
    nodes: Mapping[str, NodeInfo]
    known: Mapping[int, PodInfo] = field(
        default_factory=dict
    )  # by the identity of the pod's mapping
    repels: bool = False
    budgets: tuple[Budget, ...] = ()

    @classmethod
    def of(cls, state: ClusterState, before: Snapshot | None = None) -> Snapshot:
        """The snapshot of a cluster; what is known of pods that did not change is taken over from ``before``."""
        classes, values, pods = state.all("PriorityClass"), state.all("Node"), state.all("Pod")
        if before is None or before.state.all("PriorityClass") is not classes:
            before = cls(ClusterState({}), {})
        gone, new = exchanged(before.state.all("Pod"), pods)
        added = {id(value): PodInfo(value, classes) for value in new}
        known = {**before.known, **added}
        changed = [*(known.pop(id(value)) for value in gone), *added.values()]
        placed: dict[str, list[PodInfo]] = {info.node_name: [] for info in changed}
        kept, same = before.nodes, before.state.all("Node") is values
        if not same:
            placed |= {
                name: []
                for (_, name), v in values.items()
                if name not in kept or kept[name].value is not v
            }
        for info in map(known.__getitem__, map(id, pods.values())) if placed.keys() != {""} else ():
            if info.node_name in placed and not info.ended:
                placed[info.node_name].append(info)
        made = {
            name: NodeInfo(values["", name], there)
            for name, there in placed.items()
            if ("", name) in values
        }
        nodes = (
            {**kept, **made} if same else {name: made.get(name) or kept[name] for _, name in values}
        )
        repels = any(info.anti_affinity for info in (known if before.repels else added).values())
        budgets = tuple(
            _budget(key, value) for key, value in state.all("PodDisruptionBudget").items()
        )
        return cls(state, nodes, known, repels, budgets)

    def pod(self, value: Raw) -> PodInfo:
        """A pod of the cluster, or one that is not in it."""
        info = self.known.get(id(value))
        if info is not None and info.value is value:
            return info
        return PodInfo(value, self.state.all("PriorityClass"))

    def without(self, pods: Iterable[PodInfo]) -> Snapshot:
        """The cluster without some pods."""
        gone = {id(pod) for pod in pods}
        changed = {
            name: NodeInfo(node.value, [p for p in node.pods if id(p) not in gone])
            for name in {pod.node_name for pod in pods}
            if (node := self.nodes.get(name)) is not None
        }
        return replace(self, nodes=ChainMap(changed, self.nodes)) if changed else self  # type: ignore[arg-type]


ANY_ADDRESS = "0.0.0.0"  # noqa: S104


def units(resource: str, amount: Quantity) -> int:
    """An amount as the scheduler counts it: CPU in thousandths, everything else whole, both rounded up
    (pkg/scheduler/framework/types.go Resource.Add)."""
    return amount.milli_value() if resource == "cpu" else amount.value()


@lru_cache(maxsize=4096)
def _quantity(text: str) -> Quantity:
    try:
        return Quantity.parse(text)
    except ValueError:
        return Quantity()


def quantity(value: object) -> Quantity:
    """A quantity of a node or pod; anything else counts as zero."""
    return _quantity(str(value)) if isinstance(value, str | int | float) else Quantity()


def container_requests(container: Raw) -> dict[str, Quantity]:
    """Requests of a container. The API server copies limits to requests that are not given; manifests that no server
    has seen lack that."""
    requests = map_at(container, "resources", "requests")
    limits = map_at(container, "resources", "limits")
    return {name: quantity(value) for name, value in {**limits, **requests}.items()}


def container_limits(container: Raw) -> dict[str, Quantity]:
    """Limits of a container."""
    return {
        name: quantity(value) for name, value in map_at(container, "resources", "limits").items()
    }


def pod_requests(spec: Raw) -> dict[str, Quantity]:
    """Requests of a pod, as the scheduler adds them up (k8s.io/component-helpers/resource/helpers.go PodRequests)."""
    return _of_pod(spec, container_requests, "requests")


def pod_limits(spec: Raw) -> dict[str, Quantity]:
    """Limits of a pod, as quota adds them up (PodLimits in the same place)."""
    limits = _of_pod(spec, container_limits, "limits")
    return {name: amount for name, amount in limits.items() if amount.sign()}


def _of_pod(
    spec: Raw, of: Callable[[Raw], dict[str, Quantity]], pod_level: str
) -> dict[str, Quantity]:
    total: dict[str, Quantity] = {}
    for container in maps_at(spec, "containers"):
        total = _sum(total, of(container))
    sidecars: dict[str, Quantity] = {}
    init: dict[str, Quantity] = {}
    for container in maps_at(spec, "initContainers"):
        own = of(container)
        if container.get("restartPolicy") == "Always":
            total, sidecars = _sum(total, own), _sum(sidecars, own)
            init = _max(init, sidecars)
        else:
            init = _max(init, _sum(dict(sidecars), own))
    total = _max(total, init)
    total |= {name: quantity(value) for name, value in map_at(spec, "resources", pod_level).items()}
    overhead = {name: quantity(value) for name, value in map_at(spec, "overhead").items()}
    return _sum(total, {k: v for k, v in overhead.items() if pod_level == "requests" or k in total})


def init_request(spec: Raw, resource: str) -> tuple[str, Quantity] | None:
    """Name and request of the init container that decides how much of a resource the pod asks for; None if its
    containers do."""
    initializing = [
        c for c in maps_at(spec, "initContainers") if c.get("restartPolicy") != "Always"
    ]
    asked = [
        (text_at(c, "name"), container_requests(c).get(resource, Quantity())) for c in initializing
    ]
    whole = pod_requests({k: v for k, v in spec.items() if k not in ("initContainers", "overhead")})
    name, most = max(asked, key=lambda item: item[1].milli_value(), default=("", Quantity()))
    return (name, most) if whole.get(resource, Quantity()) < most else None


def _sum(left: dict[str, Quantity], right: Mapping[str, Quantity]) -> dict[str, Quantity]:
    if not right:
        return left
    return {
        **left,
        **{name: left[name] + amount if name in left else amount for name, amount in right.items()},
    }


def _max(left: dict[str, Quantity], right: Mapping[str, Quantity]) -> dict[str, Quantity]:
    return {
        **left,
        **{n: max(left[n], amount) if n in left else amount for n, amount in right.items()},
    }


def node_selector(value: Raw) -> NodeSelector:
    """A node selector of a pod, a claim or a volume."""
    return NodeSelector(
        tuple(
            NodeSelectorTerm(
                tuple(map(_requirement, maps_at(term, "matchExpressions"))),
                tuple(map(_requirement, maps_at(term, "matchFields"))),
            )
            for term in maps_at(value, "nodeSelectorTerms")
        )
    )


def _requirement(value: Raw) -> NodeSelectorRequirement:
    values = tuple(item for item in list_at(value, "values") if isinstance(item, str))
    return NodeSelectorRequirement(text_at(value, "key"), text_at(value, "operator"), values)


def label_selector(value: object) -> LabelSelector | None:
    """A label selector as the API has it; None if there is none."""
    if not isinstance(value, dict):
        return None
    return LabelSelector(
        map_at(value, "matchLabels"), tuple(map(_requirement, maps_at(value, "matchExpressions")))
    )


def _affinity_term(value: Raw) -> AffinityTerm:
    return AffinityTerm(
        text_at(value, "topologyKey"),
        label_selector(at(value, "labelSelector")),
        tuple(name for name in list_at(value, "namespaces") if isinstance(name, str)),
        label_selector(at(value, "namespaceSelector")),
    )


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
