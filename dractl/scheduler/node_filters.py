"""The scheduler's node filters that run before DRA, in their order, as far as objects show what they look at.

Words and order are those of kube-scheduler (kubernetes pkg/scheduler/apis/config/v1/default_plugins.go and the plugins'
own folders). Not checked: volumes, extenders, other plugins.
"""

from __future__ import annotations

from collections import ChainMap
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dractl.cluster.pods import ENDED
from dractl.cluster.state import at, list_at, map_at, maps_at, text_at
from dractl.model import Quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence

    from dractl.cluster.state import ClusterState

    Raw = Mapping[str, Any]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class Rejection:
    """A node that a filter refuses. ``texts`` are the plugin's own, one for each thing missing; ``final``: ending other
    pods would not help (UnschedulableAndUnresolvable)."""

    plugin: str
    texts: tuple[str, ...]
    final: bool
    detail: str = ""
    resource: str | None = None
    want: str | None = None
    free: str | None = None
    pods: tuple[str, ...] = ()  # namespace/name of pods that stand in the way


class NodeFilters:
    """The filters for one pod, with what they count on every node prepared once."""

    def __init__(self, state: ClusterState, pod: Raw, *, ignored_resources: frozenset[str] = frozenset()) -> None:
        """``ignored_resources``: extended resources that DRA provides, by node filters' own rule."""
        self.state = state
        self.pod = pod
        self.spec = map_at(pod, "spec")
        self.requests = {name: amount for name, amount in pod_requests(self.spec).items() if amount.sign() > 0}
        self.ignored_resources = ignored_resources
        self.named_nodes = _named_nodes(self.spec)
        self.spread = [
            c
            for c in maps_at(self.spec, "topologySpreadConstraints")
            if c.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"
        ]
        placed: dict[str, list[Raw]] = {}
        self.placed: MutableMapping[str, list[Raw]] = placed
        for other in state.all("Pod").values():
            node = text_at(other, "spec", "nodeName")
            if node and other is not pod and text_at(other, "status", "phase") not in ENDED:
                placed.setdefault(node, []).append(other)
        self.repelling = [
            (other, node, terms)
            for node, pods in self.placed.items()
            for other in pods
            if (terms := maps_at(other, "spec", "affinity", "podAntiAffinity", _REQUIRED))
        ]

    def __call__(self, node: Raw) -> Rejection | None:
        """The first filter that refuses ``node``, or None."""
        if self.named_nodes is not None and text_at(node, "metadata", "name") not in self.named_nodes:
            # PreFilter left only the named nodes over (schedule_one.go findNodesThatFitPod).
            text = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
            names = ", ".join(sorted(self.named_nodes))
            return Rejection("NodeAffinity", (text,), True, f"node affinity wants the node {names}")
        for check in _FILTERS:
            rejection = check(self, node)
            if rejection is not None:
                return rejection
        return None

    def victims(self, node: Raw) -> list[Raw]:
        """The pods of a node that the scheduler may end in favour of this one: those of lower priority."""
        if text_at(self.spec, "preemptionPolicy") == "Never":
            return []
        own = priority(self.state, self.pod)
        return [other for other in self.on(node) if priority(self.state, other) < own]

    def without(self, victims: Sequence[Raw], node: Raw) -> NodeFilters:
        """The same filters as if these pods of a node were not there."""
        gone = {id(pod) for pod in victims}
        changed = copy(self)
        kept = [other for other in self.on(node) if id(other) not in gone]
        changed.placed = ChainMap({text_at(node, "metadata", "name"): kept}, self.placed)
        changed.repelling = [entry for entry in self.repelling if id(entry[0]) not in gone]
        return changed

    def on(self, node: Raw) -> Sequence[Raw]:
        """The running pods of a node."""
        return self.placed.get(text_at(node, "metadata", "name"), ())


def _unschedulable(filters: NodeFilters, node: Raw) -> Rejection | None:
    if at(node, "spec", "unschedulable") is not True:
        return None
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    if any(tolerates(t, taint) for t in maps_at(filters.spec, "tolerations")):
        return None
    return Rejection("NodeUnschedulable", ("node(s) were unschedulable",), True, "the node is cordoned")


def _node_name(filters: NodeFilters, node: Raw) -> Rejection | None:
    wanted = text_at(filters.spec, "nodeName")
    if not wanted or wanted == text_at(node, "metadata", "name"):
        return None
    text = "node(s) didn't match the requested node name"
    return Rejection("NodeName", (text,), True, f"spec.nodeName is {wanted}")


def _taints(filters: NodeFilters, node: Raw) -> Rejection | None:
    tolerations = maps_at(filters.spec, "tolerations")
    for taint in maps_at(node, "spec", "taints"):
        if taint.get("effect") not in ("NoSchedule", "NoExecute"):
            continue
        if not any(tolerates(toleration, taint) for toleration in tolerations):
            text = "node(s) had untolerated taint(s)"
            return Rejection("TaintToleration", (text,), True, f"taint {taint_text(taint)} is not tolerated")
    return None


def _affinity(filters: NodeFilters, node: Raw) -> Rejection | None:
    text = ("node(s) didn't match Pod's node affinity/selector",)
    labels = map_at(node, "metadata", "labels")
    for key, value in map_at(filters.spec, "nodeSelector").items():
        if labels.get(key) != value:
            return Rejection("NodeAffinity", text, True, f"nodeSelector wants {key}={value}{_label(labels, key)}")
    required = at(filters.spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    if isinstance(required, dict):
        terms = maps_at(required, "nodeSelectorTerms")
        if not any(matches_term(term, node) for term in terms):
            return Rejection("NodeAffinity", text, True, f"node affinity wants {_terms_text(terms)}")
    return None


def _ports(filters: NodeFilters, node: Raw) -> Rejection | None:
    wanted = host_ports(filters.spec)
    if not wanted:
        return None
    for other in filters.on(node):
        for used in host_ports(map_at(other, "spec")):
            for port in wanted:
                same_address = port[2] == used[2] or "0.0.0.0" in (port[2], used[2])  # noqa: S104
                if port[:2] == used[:2] and same_address:
                    text = "node(s) didn't have free ports for the requested pod ports"
                    detail = f"host port {port[1]}/{port[0]} is used by pod {full_name(other)}"
                    return Rejection("NodePorts", (text,), False, detail, pods=(full_name(other),))
    return None


def _resources(filters: NodeFilters, node: Raw) -> Rejection | None:
    allocatable = map_at(node, "status", "allocatable")
    if not allocatable and not text_at(node, "metadata", "uid"):
        return None  # a manifest that no kubelet has filled in
    others = filters.on(node)
    texts: list[str] = []
    details: list[str] = []
    final = False
    first: tuple[str, str, str] | None = None
    limit = quantity(allocatable.get("pods", 0))
    if limit.value() < len(others) + 1:
        texts.append("Too many pods")
        details.append(f"the node may run {limit} pods and runs {len(others)}")
        first = ("pods", str(len(others) + 1), str(limit))
    used = used_resources(others) if filters.requests else {}
    for name in sorted(filters.requests, key=lambda n: (n not in _BASIC, _BASIC.index(n) if n in _BASIC else 0, n)):
        if name in filters.ignored_resources and quantity(allocatable.get(name, 0)).sign() == 0:
            continue
        want, have = filters.requests[name], quantity(allocatable.get(name, 0))
        free = have - used[name] if name in used else have
        if want > free:
            texts.append(f"Insufficient {name}")
            details.append(f"{name}: wants {want}, free {free} of {have}")
            final = final or want > have
            first = first or (name, str(want), str(free))
    if first is None:
        return None
    resource, want_text, free_text = first
    return Rejection("NodeResourcesFit", tuple(texts), final, "; ".join(details), resource, want_text, free_text)


def _topology_spread(filters: NodeFilters, node: Raw) -> Rejection | None:
    labels = map_at(node, "metadata", "labels")
    for constraint in filters.spread:
        key = text_at(constraint, "topologyKey")
        if key not in labels:
            text = "node(s) didn't match pod topology spread constraints (missing required label)"
            return Rejection("PodTopologySpread", (text,), True, f"the node has no label {key}")
        counts = _spread_counts(filters, constraint, key)
        here = counts.get(labels[key], 0)
        least = min(counts.values(), default=0)
        domains = at(constraint, "minDomains")
        if isinstance(domains, int) and len(counts) < domains:
            least = 0
        skew = at(constraint, "maxSkew")
        own = 1 if _spread_selects(constraint, filters.pod) else 0
        if isinstance(skew, int) and here + own - least > skew:
            text = "node(s) didn't match pod topology spread constraints"
            detail = f"{key}={labels[key]} has {here} matching pods, another has {least}; maxSkew is {skew}"
            if isinstance(domains, int) and len(counts) < domains:
                detail = (
                    f"{key}={labels[key]} has {here} matching pods; minDomains is {domains}, there are {len(counts)}"
                )
            return Rejection("PodTopologySpread", (text,), False, detail)
    return None


def _spread_counts(filters: NodeFilters, constraint: Raw, key: str) -> dict[str, int]:
    """Matching pods in each domain: only nodes with the labels of all constraints count, and pods that are being
    deleted do not (podtopologyspread/filtering.go calPreFilterState)."""
    namespace = text_at(filters.pod, "metadata", "namespace")
    keys = {text_at(c, "topologyKey") for c in filters.spread}
    counts: dict[str, int] = {}
    for candidate in filters.state.all("Node").values():
        labels = map_at(candidate, "metadata", "labels")
        if not keys <= labels.keys() or not _spread_includes(filters, constraint, candidate):
            continue
        count = sum(
            text_at(p, "metadata", "namespace") == namespace
            and not text_at(p, "metadata", "deletionTimestamp")
            and _spread_selects(constraint, p)
            for p in filters.on(candidate)
        )
        counts[labels[key]] = counts.get(labels[key], 0) + count
    return counts


def _spread_includes(filters: NodeFilters, constraint: Raw, node: Raw) -> bool:
    """Whether a node is one over which a constraint spreads: its node inclusion policies."""
    if constraint.get("nodeAffinityPolicy") != "Ignore" and _affinity(filters, node) is not None:
        return False
    return constraint.get("nodeTaintsPolicy") != "Honor" or _taints(filters, node) is None


def _spread_selects(constraint: Raw, pod: Raw) -> bool:
    selector = at(constraint, "labelSelector")
    return isinstance(selector, dict) and matches_labels(selector, map_at(pod, "metadata", "labels"))


def _pod_affinity(filters: NodeFilters, node: Raw) -> Rejection | None:
    affinity = map_at(filters.spec, "affinity")
    wanting = maps_at(affinity, "podAffinity", _REQUIRED)
    term = _not_affine(filters, wanting, node) if wanting else None
    if term is not None:
        text = "node(s) didn't match pod affinity rules"
        return Rejection("InterPodAffinity", (text,), True, f"no pod that affinity wants in this {_key(term)}")
    for term in maps_at(affinity, "podAntiAffinity", _REQUIRED):
        for other in _domain_pods(filters, term, node):
            if _selects(filters, term, other, filters.pod):
                text = "node(s) didn't match pod anti-affinity rules"
                detail = f"anti-affinity to pod {full_name(other)}"
                return Rejection("InterPodAffinity", (text,), False, detail, pods=(full_name(other),))
    for other, place, terms in filters.repelling:
        for term in terms:
            if _same_domain(filters, term, node, place) and _selects(filters, term, filters.pod, other):
                text = "node(s) didn't satisfy existing pods anti-affinity rules"
                detail = f"pod {full_name(other)} wants no such pod beside it"
                return Rejection("InterPodAffinity", (text,), False, detail, pods=(full_name(other),))
    return None


def _named_nodes(spec: Raw) -> frozenset[str] | None:
    """The nodes that required node affinity names, where every term names some (nodeaffinity.go PreFilter)."""
    found: set[str] = set()
    terms = maps_at(spec, "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms")
    for term in terms:
        named = [
            set(list_at(field, "values"))
            for field in maps_at(term, "matchFields")
            if field.get("key") == "metadata.name" and field.get("operator") == "In"
        ]
        if not named:
            return None
        found |= set.intersection(*named)
    return frozenset(found) or None


def _key(term: Raw) -> str:
    return text_at(term, "topologyKey")


def _same_domain(filters: NodeFilters, term: Raw, node: Raw, other: str) -> bool:
    there = filters.state.get("Node", ("", other))
    value = map_at(node, "metadata", "labels").get(_key(term))
    return value is not None and map_at(there, "metadata", "labels").get(_key(term)) == value


def _domain_pods(filters: NodeFilters, term: Raw, node: Raw) -> Iterable[Raw]:
    for place, pods in filters.placed.items():
        if _same_domain(filters, term, node, place):
            yield from pods


def _not_affine(filters: NodeFilters, terms: Sequence[Raw], node: Raw) -> Raw | None:
    """The first term of a pod's affinity that a node does not satisfy. Only pods that match all terms count for any
    (interpodaffinity/filtering.go updateWithAffinityTerms, satisfyPodAffinity)."""
    labels = map_at(node, "metadata", "labels")
    without = next((term for term in terms if _key(term) not in labels), None)
    if without is not None:
        return without

    def wanted(pod: Raw) -> bool:
        return all(_selects(filters, term, pod, filters.pod) for term in terms)

    friends = [place for place, pods in filters.placed.items() for other in pods if wanted(other)]
    missing = next((t for t in terms if not any(_same_domain(filters, t, node, place) for place in friends)), None)
    if missing is None:
        return None
    # The first pod of a group that wants to be together may go anywhere.
    in_a_domain = any(
        _key(term) in map_at(filters.state.get("Node", ("", place)), "metadata", "labels")
        for term in terms
        for place in friends
    )
    return None if not in_a_domain and wanted(filters.pod) else missing


def _selects(filters: NodeFilters, term: Raw, pod: Raw, owner: Raw) -> bool:
    namespaces = list_at(term, "namespaces")
    namespace = text_at(pod, "metadata", "namespace")
    selector = at(term, "namespaceSelector")
    if isinstance(selector, dict):
        labels = map_at(filters.state.get("Namespace", ("", namespace)), "metadata", "labels")
        chosen = namespace in namespaces or matches_labels(selector, labels)
    elif namespaces:
        chosen = namespace in namespaces
    else:
        chosen = namespace == text_at(owner, "metadata", "namespace")
    wanted = at(term, "labelSelector")
    return chosen and isinstance(wanted, dict) and matches_labels(wanted, map_at(pod, "metadata", "labels"))


_FILTERS: tuple[Callable[[NodeFilters, Raw], Rejection | None], ...] = (
    _unschedulable,
    _node_name,
    _taints,
    _affinity,
    _ports,
    _resources,
    _topology_spread,
    _pod_affinity,
)
_BASIC = ("cpu", "memory", "ephemeral-storage")


# -- what pods and nodes say --


def declared_features(pod: Raw) -> list[str]:
    """The features that a node must declare for a pod (component-helpers/nodedeclaredfeatures InferForScheduling)."""
    spec = map_at(pod, "spec")
    containers = [c for kind in ("containers", "initContainers") for c in maps_at(spec, kind)]
    needed = []
    if any(r.get("action") == "RestartAllContainers" for c in containers for r in maps_at(c, "restartPolicyRules")):
        needed.append("RestartAllContainersOnContainerExits")
    if spec.get("hostNetwork") is True and spec.get("hostUsers") is False:
        needed.append("UserNamespacesHostNetworkSupport")
    if any(mount.get("bindMountOptions") for c in containers for mount in maps_at(c, "volumeMounts")):
        needed.append("VolumeBindMountOptions")
    return needed


def priority(state: ClusterState, pod: Raw) -> int:
    """A pod's priority; admission writes it, a manifest has only the name of its class."""
    written = at(pod, "spec", "priority")
    if isinstance(written, int):
        return written
    value = at(state.get("PriorityClass", ("", text_at(pod, "spec", "priorityClassName"))), "value")
    return value if isinstance(value, int) else 0


def full_name(value: Raw) -> str:
    return f"{text_at(value, 'metadata', 'namespace')}/{text_at(value, 'metadata', 'name')}"


@lru_cache(maxsize=4096)
def _quantity(text: str) -> Quantity:
    try:
        return Quantity.parse(text)
    except ValueError:
        return Quantity.parse("0")


def quantity(value: object) -> Quantity:
    """A quantity of a node or pod; what is none counts as zero."""
    return _quantity(str(value)) if isinstance(value, str | int | float) else _quantity("0")


def _container_requests(container: Raw) -> dict[str, Quantity]:
    requests = map_at(container, "resources", "requests")
    limits = map_at(container, "resources", "limits")
    # The API server copies limits to requests that are not given; manifests that no server saw lack that.
    return {name: quantity(value) for name, value in {**limits, **requests}.items()}


def _sum(left: dict[str, Quantity], right: Mapping[str, Quantity]) -> dict[str, Quantity]:
    return {**left, **{name: left[name] + amount if name in left else amount for name, amount in right.items()}}


def _max(left: dict[str, Quantity], right: Mapping[str, Quantity]) -> dict[str, Quantity]:
    return {**left, **{n: max(left[n], amount) if n in left else amount for n, amount in right.items()}}


def pod_requests(spec: Raw) -> dict[str, Quantity]:
    """What a pod asks of a node, as the scheduler adds it up (kubernetes component-helpers resource/helpers.go)."""
    total: dict[str, Quantity] = {}
    for container in maps_at(spec, "containers"):
        total = _sum(total, _container_requests(container))
    sidecars: dict[str, Quantity] = {}
    init: dict[str, Quantity] = {}
    for container in maps_at(spec, "initContainers"):
        own = _container_requests(container)
        if container.get("restartPolicy") == "Always":
            total, sidecars = _sum(total, own), _sum(sidecars, own)
            init = _max(init, sidecars)
        else:
            init = _max(init, _sum(dict(sidecars), own))
    total = _max(total, init)
    pod_level = {name: quantity(value) for name, value in map_at(spec, "resources", "requests").items()}
    total = {**total, **pod_level}
    return _sum(total, {name: quantity(value) for name, value in map_at(spec, "overhead").items()})


def used_resources(pods: Iterable[Raw]) -> dict[str, Quantity]:
    """The sum of what pods ask for."""
    total: dict[str, Quantity] = {}
    for pod in pods:
        total = _sum(total, pod_requests(map_at(pod, "spec")))
    return total


def host_ports(spec: Raw) -> list[tuple[str, int, str]]:
    """(protocol, port, address) of every host port of a pod, sidecars included."""
    sidecars = [c for c in maps_at(spec, "initContainers") if c.get("restartPolicy") == "Always"]
    return [
        (text_at(port, "protocol") or "TCP", port["hostPort"], text_at(port, "hostIP") or "0.0.0.0")  # noqa: S104
        for container in [*maps_at(spec, "containers"), *sidecars]
        for port in maps_at(container, "ports")
        if isinstance(port.get("hostPort"), int) and port["hostPort"] > 0
    ]


def tolerates(toleration: Raw, taint: Raw) -> bool:
    """Whether a pod's toleration tolerates a node's taint (core/v1 toleration.go)."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    return (
        operator == "Equal"
        and bool(toleration.get("key"))
        and (toleration.get("value") or "") == (taint.get("value") or "")
    )


def taint_text(taint: Raw) -> str:
    """``key=value:effect``, or ``key:effect`` without a value."""
    value = text_at(taint, "value")
    return f"{text_at(taint, 'key')}{'=' + value if value else ''}:{text_at(taint, 'effect')}"


def _label(labels: Raw, key: str) -> str:
    return f"; the node has {key}={labels[key]}" if key in labels else "; the node has no such label"


def _terms_text(terms: Sequence[Raw]) -> str:
    texts = []
    for term in terms:
        parts = [
            f"{text_at(e, 'key')} {text_at(e, 'operator')} {','.join(map(str, list_at(e, 'values')))}".rstrip()
            for e in [*maps_at(term, "matchExpressions"), *maps_at(term, "matchFields")]
        ]
        texts.append(" and ".join(parts))
    return " or ".join(texts) or "nothing"


def matches_term(term: Raw, node: Raw) -> bool:
    """Whether one term of a node selector matches (component-helpers nodeaffinity.go); an empty one matches nothing."""
    expressions, names = maps_at(term, "matchExpressions"), maps_at(term, "matchFields")
    if not expressions and not names:
        return False
    labels = map_at(node, "metadata", "labels")
    fields = {"metadata.name": text_at(node, "metadata", "name")}
    return all(matches_expression(e, labels) for e in expressions) and all(matches_expression(e, fields) for e in names)


def matches_labels(selector: Raw, labels: Raw) -> bool:
    """Whether a label selector matches; an empty one matches everything."""
    return all(labels.get(key) == value for key, value in map_at(selector, "matchLabels").items()) and all(
        matches_expression(e, labels) for e in maps_at(selector, "matchExpressions")
    )


def matches_expression(expression: Raw, labels: Raw) -> bool:
    key, operator, values = text_at(expression, "key"), text_at(expression, "operator"), list_at(expression, "values")
    value = labels.get(key)
    match operator:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            try:
                left, right = int(str(value)), int(str(values[0]))
            except (ValueError, IndexError):
                return False
            return left > right if operator == "Gt" else left < right
    return False
