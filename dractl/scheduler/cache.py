"""Everything that a scheduler derives from a cluster before it handles a pod."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

from msgspec import Struct

from dractl.allocation import (
    Allocator,
    Fatal,
    Features,
    NodeError,
    Survey,
    Verdict,
    apply_taint_rules,
    backing_classes,
    delegated_resources,
)
from dractl.allocation.survey import restate
from dractl.cel import Program
from dractl.cluster.derived import derive_from
from dractl.cluster.state import ClusterState
from dractl.model import ResourceClaim, ResourceSlice, Target
from dractl.objects import Raw, slice_of
from dractl.properties import cached_property
from dractl.scheduler.claim_keys import NO_SPEC, SpecOutline, outline, selector_key
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.filter_results import FilterResults, PodFilterResults, filter_results
from dractl.scheduler.groups import AttributeNames, NodeGroups, NodeKeys, attribute_names
from dractl.scheduler.holdings import HeldDevices, collect_held_devices
from dractl.scheduler.snapshot import Snapshot, snapshot_of
from dractl.scheduler.verdict import Attempt, NodeVerdict
from dractl.views import Node, Pod, View

MAX_VERDICTS = 4096
"""The number of verdicts that are cached from one attempt to the next."""
MAX_SURVEYS = 4096
"""The number of surveys of nodes that are cached from one subject to the next."""
MAX_REFUSALS = 1024
"""The number of attempts without a node that are cached for one state of a cluster."""
MAX_SELECTORS = 4096
"""The number of selectors whose results are cached."""


class Verdicts(Struct, frozen=True):
    """The verdicts on claims, by key of the node."""

    by_specs: dict[Hashable, Verdict | None]
    """The verdicts without a fault, which all claims with the same key share."""
    with_faults: dict[Hashable, Verdict | None]
    """The verdicts with a fault. The fault names a claim, so other claims do not share them."""

    def look_up(self, node: Hashable, compute: Callable[[], Verdict | None]) -> Verdict | None:
        """Return the verdict on a node; a verdict that is missing is computed."""
        for verdicts in (self.by_specs, self.with_faults):
            if node in verdicts:
                return verdicts[node]
        verdict = compute()
        has_fault = isinstance(verdict, NodeError | Fatal)
        verdicts = self.with_faults if has_fault else self.by_specs
        verdicts[node] = verdict
        return verdict


class SchedulerCache:
    """The values that a scheduler of one release derives from a cluster
    (:mod:`dractl.cluster.derived`).

    Schedulers of a cluster before and after a change share those values that the change does not
    affect.
    """

    def __init__(self, state: ClusterState, features: Features) -> None:
        self.state = state
        self.features = features

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """The nodes by name."""
        return nodes_by_name(self.state)

    @cached_property
    def slices(self) -> tuple[ResourceSlice, ...]:
        """The ResourceSlices with the taints of DeviceTaintRules."""
        return scheduler_slices(self.state, self.features)

    @cached_property
    def held_devices(self) -> HeldDevices:
        """The devices that claims hold."""
        return collect_held_devices(self.state, self.features)

    @cached_property
    def snapshot(self) -> Snapshot:
        """The nodes with their pods."""
        return snapshot_of(self.state)

    @cached_property
    def groups(self) -> NodeGroups:
        """The nodes that the allocator cannot tell apart."""
        cache = self.state.cache
        return cache.from_sources(
            "node-groups", (self.slices,), lambda _: NodeGroups(self.slices, cache)
        )

    def node_keys(self, nodes: Mapping[str, Node], names: AttributeNames) -> NodeKeys:
        """Return the keys of nodes for a question that reads the attributes ``names``."""
        groups, in_use = self.groups, self.held_devices.in_use
        if nodes is not self.nodes:  # a subset of the nodes; it is seldom needed again
            return groups.keys(nodes, names, in_use)
        return self.state.cache.from_sources(
            ("node-keys", names),
            (groups, nodes, in_use),
            lambda nearest: groups.keys(nodes, names, in_use, nearest()),
        )

    @cached_property
    def class_attributes(self) -> AttributeNames:
        """The attributes that the selectors of all classes may read."""
        classes = self.state.objects("DeviceClass")
        return self.state.cache.from_sources(
            ("class-attributes", self.features),
            (classes,),
            lambda _: attribute_names(
                self.compile_selector, *(View(value).spec for value in classes.values())
            ),
        )

    @cached_property
    def allocator(self) -> Allocator:
        """The allocator for the slices, classes and held devices of the cluster."""
        return self.state.cache.from_sources(
            ("allocator", self.features),
            (self.slices, self.state.objects("DeviceClass"), self.held_devices),
            lambda nearest: self._make_allocator(nearest()),
        )

    def _make_allocator(self, previous: Allocator | None) -> Allocator:
        slices, classes, held = self.slices, self.state.classes, self.held_devices.devices
        if previous is None:
            return Allocator(slices, classes, state=held, features=self.features)
        return previous.replace(slices=slices, classes=classes, state=held)

    def verdicts(self, claims: tuple[PodClaim, ...], names: AttributeNames) -> Verdicts:
        """Return the cached verdicts on open claims by the key of the node.

        All clusters with the same slices and classes share them, since the key of a node contains
        everything that is in use there. All claims with the same keys in the same order share
        them, too: of a claim without devices, the allocator reads only the spec, and uses the name
        and the texts of selectors only in faults.
        """
        if not claims or not self.groups.are_independent:
            return Verdicts({}, {})
        questions = self.state.cache.from_sources(
            ("verdicts", self.features),
            (self.slices, self.state.objects("DeviceClass")),
            lambda _: dict[Hashable, dict[Hashable, Verdict | None]](),
        )
        question = self.claims_key(claims, names)
        of_claims = question, tuple([(claim.full_name, self._outline(claim)) for claim in claims])
        if question not in questions and sum(map(len, questions.values())) > MAX_VERDICTS:
            questions.clear()
        return Verdicts(questions.setdefault(question, {}), questions.setdefault(of_claims, {}))

    def surveys(self, verdicts: Iterable[NodeVerdict]) -> dict[str, Survey]:
        """Return the survey of each node for the claims of its verdict, by the name of the node.

        Claims with the same keys in the same order share surveys, as they share verdicts.
        """
        by_key = self.state.cache.from_sources(
            "surveys", (self.allocator,), lambda _: dict[Hashable, tuple[Raw, Survey]]()
        )
        surveys: dict[str, Survey] = {}
        for claims, of_claims in groupby(verdicts, attrgetter("claims")):
            key = self.claims_key(claims, self.attributes_read(claims))
            decoded = [claim.claim for claim in claims if claim.claim is not None]
            for verdict in of_claims:
                surveys[verdict.name] = self._survey(by_key, verdict.node, key, decoded)
        return surveys

    def _survey(
        self,
        by_key: dict[Hashable, tuple[Raw, Survey]],
        node: Node,
        claims_key: Hashable,
        claims: Sequence[ResourceClaim],
    ) -> Survey:
        key = id(node.raw), claims_key
        raw, survey = by_key.get(key, (None, None))
        if survey is not None and raw is node.raw:
            return restate(survey, claims)
        survey = self.allocator.survey(self.state.decode(node.raw), claims)
        if not survey.names_claims:
            if len(by_key) >= MAX_SURVEYS:
                by_key.clear()
            by_key[key] = node.raw, survey
        return survey

    def attributes_read(self, claims: Iterable[PodClaim]) -> AttributeNames:
        """Return the attributes that claims and all classes may read; None if they may read any."""
        names = self.class_attributes
        for claim in claims:
            of_claim = self._attributes_of(View(claim.value).spec)
            names = None if names is None or of_claim is None else names | of_claim
        return names

    def _attributes_of(self, spec: Raw) -> AttributeNames:
        return self.state.cache.from_object(
            ("attributes-read", self.features),
            spec,
            lambda: attribute_names(self.compile_selector, spec),
        )

    def claims_key(self, claims: Iterable[PodClaim], names: AttributeNames) -> Hashable:
        """Return a key that is equal for claims that the allocator cannot tell apart.

        ``names`` are the attributes that the question reads.
        """
        outlines = [self._outline(claim) for claim in claims]
        return names, tuple(
            [
                (each.text, *[self._selector_key(text, names) for text in each.selectors])
                for each in outlines
            ]
        )

    def _outline(self, claim: PodClaim) -> SpecOutline:
        decoded = claim.claim
        if decoded is None:
            return NO_SPEC
        return self.state.cache.from_object("spec-outline", decoded, lambda: outline(decoded.spec))

    def _selector_key(self, expression: str, names: AttributeNames) -> Hashable:
        key = expression, names
        keys = self._selector_keys
        if key not in keys:
            if len(keys) >= MAX_SELECTORS:
                keys.clear()
            slices = self.groups.distinct_slices(names)
            keys[key] = selector_key(self.compile_selector(expression), slices)
        return keys[key]

    @cached_property
    def _selector_keys(self) -> dict[tuple[str, AttributeNames], Hashable]:
        return self.state.cache.from_sources(
            ("selector-keys", self.features),
            (self.slices,),
            lambda _: dict[tuple[str, AttributeNames], Hashable](),
        )

    @cached_property
    def _filter_results(self) -> FilterResults:
        return filter_results(self.state, self.features)

    def filters(self, pod: Pod) -> PodFilterResults:
        """Return the filters for a pod, and their results for each node."""
        return self._filter_results.for_pod(pod, self.resources_left_to_dra(pod))

    @cached_property
    def refusals(self) -> dict[Hashable, Attempt]:
        """The attempts in which no node fits a pod. Pods that the scheduler cannot tell apart share
        them.
        """
        return self.state.cache.from_sources(
            "refusals", (self._filter_results, self.allocator), lambda _: dict[Hashable, Attempt]()
        )

    def resources_left_to_dra(self, pod: Pod) -> frozenset[str]:
        """Return the resources of a pod that NodeResourcesFit leaves to DRA."""
        if "DRAExtendedResource" not in self.features.on:
            return frozenset()
        return _resources_left_to_dra(self.state, self.features).intersection(pod.requests)

    @property
    def class_resources(self) -> frozenset[str]:
        """The extended resources that classes provide."""
        return _resources_of_classes(self.state, self.features)

    def compile_selector(self, expression: str) -> Program:
        """Compile a selector, or a part of one, as the scheduler does."""
        from dractl.cel import environment

        gates = self.features.on if self.features.cel_on is None else self.features.cel_on
        return environment(Target(self.features.release, gates), "stored").compile(expression)


def nodes_by_name(state: ClusterState) -> Mapping[str, Node]:
    """Return the nodes by name. If the input does not show all nodes, nodes that only slices name
    are added. Nothing but their names is known.
    """
    return _nodes_by_name(state, state.lists_all_nodes)


@derive_from("Node", "ResourceSlice")
def _nodes_by_name(state: ClusterState, lists_all: bool) -> Mapping[str, Node]:
    nodes = {name: node for (_, name), node in state.nodes.items()}
    if not lists_all:
        slices = state.objects("ResourceSlice").values()
        names = {slice_of(each).node for each in slices} - {"", *nodes}
        nodes |= {name: _unseen_node(name) for name in names}
    return dict(sorted(nodes.items(), key=lambda item: item[0]))


def add_nodes_of_slices(state: ClusterState) -> ClusterState:
    """Return the state with Node objects for the nodes that slices name, if the state has no
    nodes.
    """
    if state.lists("Node"):
        return state
    return state.with_kinds(
        {"Node": {("", name): node.raw for name, node in nodes_by_name(state).items()}}
    )


def _unseen_node(name: str) -> Node:
    labels = {"kubernetes.io/hostname": name}
    return Node({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})


@derive_from("DeviceClass")
def _resources_left_to_dra(state: ClusterState, features: Features) -> frozenset[str]:
    return delegated_resources(state.classes, features)


@derive_from("DeviceClass")
def _resources_of_classes(state: ClusterState, features: Features) -> frozenset[str]:
    return frozenset(backing_classes(state.classes, features))


def scheduler_slices(state: ClusterState, features: Features) -> tuple[ResourceSlice, ...]:
    """Return the ResourceSlices with the taints of DeviceTaintRules, as the scheduler sees them."""
    # Only the rules of 1.34 name classes.
    by_class = features.has("rules-by-class")
    return (
        _slices_with_taints_by_class(state, features)
        if by_class
        else _slices_with_taints(state, features)
    )


@derive_from("ResourceSlice", "DeviceTaintRule")
def _slices_with_taints(state: ClusterState, features: Features) -> tuple[ResourceSlice, ...]:
    return apply_taint_rules(state.slices, state.taint_rules, features)


@derive_from("ResourceSlice", "DeviceTaintRule", "DeviceClass")
def _slices_with_taints_by_class(
    state: ClusterState, features: Features
) -> tuple[ResourceSlice, ...]:
    return apply_taint_rules(state.slices, state.taint_rules, features, classes=state.classes)
