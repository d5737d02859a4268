"""kube-scheduler's attempt to place a pod or a claim in a cluster, node by node."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import ClassVar

from msgspec.structs import replace

from dractl.allocation import (
    Allocator,
    Fatal,
    Features,
    NoAllocator,
    NodeError,
    Verdict,
    apply_taint_rules,
    backing_classes,
    delegated_resources,
)
from dractl.allocation.nodes import SelectorFault, selector_matches
from dractl.cel import Program
from dractl.cluster.state import ClusterState, at, text_at
from dractl.errors import Unsupported
from dractl.model import Node, RequestRef, ResourceSlice, Target
from dractl.objects import Raw
from dractl.scheduler import condition
from dractl.scheduler.binding import failure
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.extended import special_claim
from dractl.scheduler.groups import ClaimsHeld, Groups, names_read
from dractl.scheduler.node_filters import NodeFilters
from dractl.scheduler.prebind import late
from dractl.scheduler.preemption import preempt
from dractl.scheduler.preenqueue import Entered, enter
from dractl.scheduler.rejection import Rejection
from dractl.scheduler.snapshot import NodeInfo, PodInfo, Snapshot
from dractl.scheduler.stops import Stop
from dractl.scheduler.verdict import Attempt, NodeVerdict
from dractl.scheduler.volumes import Volumes

_Filtered = dict[object, tuple[Raw, NodeFilters, "_Refused"]]
_Known = dict[tuple[str, frozenset[str]], dict[NodeInfo, "Rejection | None"]]


_VERDICTS = 4096  # that are kept from one attempt to the next
CANNOT_ALLOCATE = "cannot allocate all claims"
NOT_ON_NODE = "resourceclaim not available on the node"
TIMED_OUT = "timed out trying to allocate devices"


class ClassMissing(Stop, frozen=True):
    """A request names a DeviceClass that does not exist."""

    absent: ClassVar[str] = "DeviceClass"

    claim: PodClaim
    request: RequestRef
    device_class: str

    @property
    def text(self) -> str:
        return f"request {self.request}: device class {self.device_class} does not exist"


class NoNodes(Stop, frozen=True):
    """The cluster has no node."""

    absent: ClassVar[str] = "Node"

    @property
    def text(self) -> str:
        return "no nodes available to schedule pods"


class Scheduler:
    """kube-scheduler of one release, in one cluster. Attempts do not change the cluster.

    It shares what did not change with ``before``, or else with the first one of a cluster from which ``state`` was
    made: compiled selectors, indexed slices, searches, what the filters said. :meth:`after` makes one for a change.
    """

    def __init__(
        self, state: ClusterState, features: Features, before: Scheduler | None = None
    ) -> None:
        # Attributes that were read before the change: keys of nodes for more than is read are right, too, and known.
        self._wide: frozenset[str] | None = frozenset() if before is None else before._asked
        self._asked: frozenset[str] | None = self._wide
        before = before or state.derived.get(features)
        self.state = state
        self.features = features
        # What pods came to, by what made other clusters of this one: see dractl.simulation.
        self.played: dict[Hashable, NodeVerdict | None] = {}
        self.slices: tuple[ResourceSlice, ...]
        # Only the DeviceTaintRules of 1.34 name classes.
        sources = (
            "ResourceSlice",
            "DeviceTaintRule",
            *(("DeviceClass",) if features.has("rules-by-class") else ()),
        )
        if before is not None and _same(before.state, state, *sources):
            self.slices = before.slices
        else:
            self.slices = apply_taint_rules(
                state.slices, state.taint_rules, features, classes=state.classes
            )
        self.nodes: Mapping[str, Raw]
        if before is not None and _same(before.state, state, "Node", "ResourceSlice"):
            self.nodes = before.nodes
        else:
            self.nodes = nodes_of(state)
        self.held: ClaimsHeld
        if before is not None and _same(before.state, state, "ResourceClaim"):
            self.held = before.held
        else:
            self.held = ClaimsHeld.of(state, features, None if before is None else before.held)
        self._groups: Groups
        if before is not None and before.slices is self.slices:
            self._groups = before._groups
        else:
            self._groups = Groups(self.slices, None if before is None else before._groups.known)
        # What the node filters said of a pod stays true as long as pods and nodes are the same.
        self.snapshot: Snapshot
        self.filtered: _Filtered
        self._refused: _Known = {} if before is None else before._refused
        if before is not None and _same(before.state, state, *_FILTER_KINDS):
            self.snapshot, self.filtered = before.snapshot, before.filtered
        else:
            self.snapshot = Snapshot.of(state, None if before is None else before.snapshot)
            self.filtered = {}
        if before is None:
            self.allocator = Allocator(
                self.slices, state.classes, state=self.held.devices, features=features
            )
        else:
            self.allocator = before.allocator.replace(
                slices=None if self.slices is before.slices else self.slices,
                classes=None if _same(before.state, state, "DeviceClass") else state.classes,
                state=self.held.devices,
            )
        state.derived.setdefault(features, self)

    def compile(self, expression: str) -> Program:
        """A selector, or a part of one, as the scheduler compiles it."""
        from dractl.cel import environment

        gates = self.features.on if self.features.cel_on is None else self.features.cel_on
        return environment(Target(self.features.release, gates), "stored").compile(expression)

    def after(self, state: ClusterState) -> Scheduler:
        """The scheduler of the same release in a changed cluster."""
        return Scheduler(state, self.features, self)

    # -- pods and claims -----------------------------------------------------------------------------------------------

    def pod(
        self, pod: Raw, *, recreated: bool = False, among: Collection[str] | None = None
    ) -> Attempt:
        """Attempt to place a pod; with ``recreated``, as if it were created again. ``among``: these nodes alone are
        tried, as if the cluster were known to have no other that fits."""
        return self.entered(
            self.snapshot.pod(pod), enter(self.state, pod, recreated=recreated), among
        )

    def entered(
        self, pod: PodInfo, entry: Entered, among: Collection[str] | None = None
    ) -> Attempt:
        """The attempt to place a pod of which PreEnqueue has given ``entry``."""
        if entry.stops:
            return Attempt(entry.claims, entry.stops, message=entry.condition)
        return self._attempt(pod, entry.claims, among)

    def claim(self, claim: PodClaim) -> Attempt:
        """The attempt for a claim by itself, as if a pod without any other wish used it."""
        return self._attempt(None, (claim,))

    def beside_claims(self, pod: PodInfo, claims: tuple[PodClaim, ...]) -> Attempt:
        """The attempt for a pod as if every claim that is still to be allocated could be, on any node: its volumes, the
        node filters, and where allocated claims can be used."""
        unusable = self.volumes(pod).stop
        if unusable is not None:
            return Attempt(claims, (unusable,), message=unusable.text)
        if not self.nodes:
            return Attempt(claims)
        return self._attempt(pod, tuple(claim for claim in claims if claim.allocated))

    def refusals(self, pod: PodInfo, node: str) -> tuple[Rejection, ...]:
        """Every filter before DRA that refuses a node; the scheduler itself reports the first."""
        if node not in self.snapshot.nodes:
            return ()
        filters, _ = self._filters(pod, self._delegated(pod))
        return tuple(filters.refusals(self.snapshot.nodes[node]))

    def volumes(self, pod: PodInfo) -> Volumes:
        """The PersistentVolumeClaims of a pod."""
        return self._filters(pod, self._delegated(pod))[0].volumes

    def _delegated(self, pod: PodInfo | None) -> frozenset[str]:
        """The resources of a pod that NodeResourcesFit leaves to DRA."""
        if pod is None or "DRAExtendedResource" not in self.features.on:
            return frozenset()
        return delegated_resources(self.state.classes, self.features).intersection(pod.requests)

    def _mapped(self, pod: PodInfo | None) -> bool:
        """True if a class provides an extended resource that the pod wants."""
        if pod is None or "DRAExtendedResource" not in self.features.on:
            return False
        return (
            not backing_classes(self.state.classes, self.features).keys().isdisjoint(pod.extended)
        )

    def _attempt(
        self,
        pod: PodInfo | None,
        claims: tuple[PodClaim, ...],
        among: Collection[str] | None = None,
    ) -> Attempt:
        unusable = None if pod is None else self.volumes(pod).stop
        if unusable is not None and self.nodes:
            said = condition.whole_pod_error(len(self.nodes), unusable.text)
            return Attempt(claims, (unusable,), message=condition.without_state(said))
        missing = self._missing_classes(claims)
        if missing:
            said = condition.whole_pod_error(len(self.nodes), missing[0].text)
            said = self._with_preemption(
                pod, said, [condition.NOT_HELPFUL] * len(self.nodes), claims=False
            )
            return Attempt(claims, missing, message=said)
        if not self.nodes:
            return Attempt(claims, (NoNodes(),), message=NoNodes().text)
        delegated, mapped = self._delegated(pod), self._mapped(pod)
        rejections = (
            _Refused()
            if pod is None or not self.state.has("Node")
            else self._filters(pod, delegated)[1]
        )
        open_claims, allocated = (
            tuple(c for c in claims if not c.allocated),
            [c for c in claims if c.allocated],
        )
        names = self._names_read(claims)
        if self._wide is None or (names is not None and names <= self._wide):
            names = self._wide
        self._asked = names
        decoded = self.state.decode(pod.value) if mapped and pod is not None else None
        verdicts = []
        known = {} if mapped or not open_claims else self._known(open_claims, names)
        for name, node in self.nodes.items():
            if among is not None and name not in among:
                continue
            here = open_claims
            group = self._groups.key(node, names, self.held.in_use)
            if decoded is not None:
                special = special_claim(self.state, decoded, node, self.features)
                here = here if special is None else (*here, special)
                group = (
                    group,
                    None if special is None or special.claim is None else repr(special.claim.spec),
                )
            verdicts.append(self._node(name, node, rejections, allocated, here, group, known))
        return self._conclude(pod, claims, tuple(verdicts), delegated, mapped=mapped)

    def _known(
        self, claims: tuple[PodClaim, ...], names: frozenset[str] | None
    ) -> dict[Hashable, Verdict | None]:
        """Verdicts on claims by key of the node: those of all clusters with the same slices and classes, where the
        key of a node tells all that is in use there."""
        if not self._groups.apart:
            return {}
        asked = names, tuple((c.full_name, repr(c.claim and c.claim.spec)) for c in claims)
        shared, classes = self._groups.verdicts, self.state.all("DeviceClass")
        if asked not in shared or shared[asked][0] is not classes:
            if sum(len(known) for _, known in shared.values()) > _VERDICTS:
                shared.clear()
            shared[asked] = classes, {}
        return shared[asked][1]

    def _filters(self, pod: PodInfo, delegated: frozenset[str]) -> tuple[NodeFilters, _Refused]:
        """The filters for a pod, and the first one that refuses each node."""
        value = pod.value
        known = self.filtered.get((id(value), delegated))
        if known is None or known[0] is not value:
            filters = NodeFilters(self.snapshot, pod, self.features, delegated=delegated)
            alike = self._refused.setdefault((filters.read, delegated), {}) if filters.local else {}
            known = self.filtered[id(value), delegated] = value, filters, _Refused(filters, alike)
        return known[1], known[2]

    def _names_read(self, claims: tuple[PodClaim, ...]) -> frozenset[str] | None:
        classes = (at(value, "spec") for value in self.state.all("DeviceClass").values())
        return names_read(self.compile, *classes, *(at(claim.value, "spec") for claim in claims))

    def _node(
        self,
        name: str,
        node: Raw,
        rejections: _Refused,
        allocated: Sequence[PodClaim],
        here: tuple[PodClaim, ...],
        group: Hashable,
        known: dict[Hashable, Verdict | None],
    ) -> NodeVerdict:
        elsewhere = (
            tuple([c for c in allocated if not self._available(c, node) or self._failed(c)])
            if allocated
            else ()
        )
        try:
            outcome = known[group]
        except KeyError:
            outcome = known[group] = self.allocate(node, here)
        return NodeVerdict(node, name, rejections[name], tuple(elsewhere), here, outcome, group)

    def _available(self, claim: PodClaim, node: Raw) -> bool:
        """True if an allocated claim can be used on a node."""
        assert claim.claim is not None
        allocation = claim.claim.status.allocation
        if allocation is None or allocation.node_selector is None:
            return True
        decoded: Node = self.state.decode(node)
        try:
            return selector_matches(allocation.node_selector, decoded)
        except SelectorFault:
            return False

    def _failed(self, claim: PodClaim) -> bool:
        return self.features.binding_conditions and failure(claim) is not None

    def allocate(self, node: Raw, claims: tuple[PodClaim, ...]) -> Verdict | None:
        """The allocator's verdict on one node; None if there is nothing to allocate."""
        if not claims:
            return None
        decoded: Node = self.state.decode(node)
        outcome = self.allocator.allocate(decoded, [c.claim for c in claims if c.claim is not None])
        if isinstance(outcome, NoAllocator):
            raise Unsupported(
                outcome.message, hint="dractl says nothing rather than something wrong"
            )
        return outcome

    def _missing_classes(self, claims: tuple[PodClaim, ...]) -> tuple[ClassMissing, ...]:
        """PreFilter: every class that a request names must exist."""
        known = {name for _, name in self.state.all("DeviceClass")}
        found: list[ClassMissing] = []
        for claim in claims:
            if claim.allocated or claim.claim is None:
                continue
            for request in claim.claim.spec.devices.requests:
                ref = RequestRef(claim.full_name, request.name)
                asked = [
                    (replace(ref, alternative=a.name), a.device_class_name)
                    for a in request.first_available
                ]
                if request.exactly is not None:
                    asked = [(ref, request.exactly.device_class_name)]
                found += [
                    ClassMissing(claim, each, name)
                    for each, name in asked
                    if name and name not in known
                ]
        return tuple(found)

    # -- the whole attempt ---------------------------------------------------------------------------------------------

    def _conclude(
        self,
        pod: PodInfo | None,
        claims: tuple[PodClaim, ...],
        nodes: tuple[NodeVerdict, ...],
        delegated: frozenset[str],
        *,
        mapped: bool,
    ) -> Attempt:
        fatal = next((n for n in nodes if n.asked and self.is_fatal(n.outcome)), None)
        if fatal is not None:
            text = (
                fatal.outcome.message
                if isinstance(fatal.outcome, Fatal)
                else f"node {fatal.name}: {TIMED_OUT}"
            )
            return Attempt(claims, nodes=nodes, fatal=fatal, message=condition.filter_error(text))
        if any(n.fits for n in nodes):
            failed = late(self.state, self.features, pod, claims, nodes, mapped=mapped)
            return Attempt(
                claims, nodes=nodes, late=failed, message=None if failed is None else failed.text
            )
        texts = [
            text
            for n in nodes
            for text in (n.rejection.texts if n.rejection is not None else dra_texts(n))
        ]
        said = condition.fit_error(len(nodes), texts)
        second = [condition.NOT_HELPFUL] * len(nodes)
        if pod is not None and any(n.rejection is not None for n in nodes):
            preempting, second = preempt(self._filters(pod, delegated)[0], nodes, dra_texts)
            if preempting:
                return Attempt(claims, nodes=preempting)
        said = self._with_preemption(pod, said, second, claims=bool(claims or mapped))
        return Attempt(claims, nodes=nodes, message=said)

    def _with_preemption(
        self, pod: PodInfo | None, first: str, second: list[str], *, claims: bool
    ) -> str:
        never = pod is not None and not pod.preempts
        preemption = (
            condition.NEVER_PREEMPTS if never else condition.fit_error(len(self.nodes), second)
        )
        return condition.with_preemption(
            first,
            preemption,
            release_1_37=self.features.has("preemption-after-claims"),
            claims=claims,
        )

    def is_fatal(self, outcome: Verdict | None) -> bool:
        """True if an outcome ends the attempt for all nodes; from 1.36 on a search that times out does."""
        if isinstance(outcome, Fatal):
            return True
        return outcome is not None and outcome.times_out and self.features.has("timeout-is-fatal")


class _Refused(dict[str, "Rejection | None"]):
    """By name of a node the first filter that refuses it; asked when it is first wanted. ``known`` is the same by node,
    of pods that are the same to the filters, where the node alone decides: before and after a change."""

    def __init__(
        self,
        filters: NodeFilters | None = None,
        known: dict[NodeInfo, Rejection | None] | None = None,
    ) -> None:
        super().__init__()
        self.nodes: Mapping[str, NodeInfo] = {} if filters is None else filters.snapshot.nodes
        self.filters = filters
        self._known: dict[NodeInfo, Rejection | None] = {} if known is None else known

    def __missing__(self, name: str) -> Rejection | None:
        node, found = self.nodes.get(name), None
        if self.filters is not None and node is not None:
            if self.filters.pod.node_name == name:  # it is not in its own way
                found = self.filters.first(node)
            elif node in self._known:
                found = self._known[node]
            else:
                found = self._known[node] = self.filters.first(node)
        self[name] = found
        return found


_FILTER_KINDS = (
    "Pod",
    "Node",
    "Namespace",
    "PriorityClass",
    "PodDisruptionBudget",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
)


def dra_texts(verdict: NodeVerdict) -> tuple[str, ...]:
    """The DRA plugin's sentence about a node; none if the claims can be allocated or used there."""
    if verdict.allocates:
        return (NOT_ON_NODE,) if verdict.elsewhere else ()
    if isinstance(verdict.outcome, NodeError):
        return (verdict.outcome.message,)
    return (TIMED_OUT if verdict.times_out else CANNOT_ALLOCATE,)


def nodes_of(state: ClusterState) -> Mapping[str, Raw]:
    """The nodes by name; if the input has none, those that the slices name, of which nothing else is known."""
    nodes = state.all("Node")
    if nodes:
        return {name: value for (_, name), value in sorted(nodes.items())}
    names = sorted(
        {text_at(value, "spec", "nodeName") for value in state.all("ResourceSlice").values()} - {""}
    )
    return {
        n: {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": n, "labels": {"kubernetes.io/hostname": n}},
        }
        for n in names
    }


def _same(before: ClusterState, after: ClusterState, *kinds: str) -> bool:
    return all(before.all(kind) is after.all(kind) for kind in kinds)
