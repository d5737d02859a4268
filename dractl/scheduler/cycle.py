"""One scheduling cycle: the steps PreFilter, Filter and PostFilter for a pod, or for a claim by
itself.

kubernetes pkg/scheduler/schedule_one.go,
pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go.
"""

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar

from msgspec.structs import replace

from dractl.allocation import Fatal, Features, NoAllocator, NodeError, Unallocatable, Verdict
from dractl.allocation.nodes import SelectorFault, selector_matches
from dractl.errors import Unsupported
from dractl.model import RequestRef
from dractl.properties import cached_property
from dractl.scheduler import condition
from dractl.scheduler.binding import find_binding_failure
from dractl.scheduler.cache import MAX_REFUSALS, SchedulerCache
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.extended import make_special_claim
from dractl.scheduler.filter_results import PodFilterResults
from dractl.scheduler.pre_bind import PreBind
from dractl.scheduler.preemption import preempt
from dractl.scheduler.rejection import Rejection
from dractl.scheduler.stops import Stop
from dractl.scheduler.verdict import Attempt, NodeVerdict
from dractl.views import Node, Pod

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
        """The scheduler's message."""
        return f"request {self.request}: device class {self.device_class} does not exist"


class NoNodes(Stop, frozen=True):
    """The cluster has no node."""

    absent: ClassVar[str] = "Node"
    is_certain: bool
    """True if the list of nodes was read; False if the input may lack nodes."""

    @property
    def text(self) -> str:
        """The scheduler's message."""
        return "no nodes available to schedule pods"


class SchedulingCycle:
    """One attempt to find a node."""

    def __init__(
        self,
        cache: SchedulerCache,
        pod: Pod | None,
        claims: tuple[PodClaim, ...],
        node_names: Collection[str] | None = None,
    ) -> None:
        self.cache = cache
        self.features = cache.features
        self.pod = pod
        """The pod; None for claims that are tried as if a pod without any other requirements used
        them.
        """
        self.claims = claims
        self.open_claims = tuple(claim for claim in claims if not claim.allocated)
        """The claims that are still to be allocated."""
        self.node_names = node_names
        """The nodes that are tried; None for all."""

    def run(self) -> Attempt:
        """Return the result of the cycle. Pods that the scheduler cannot tell apart share the
        verdicts if no node fits.
        """
        key = self._refusal_key
        refusals = {} if key is None else self.cache.refusals
        if key in refusals:
            return self._restate(refusals[key])
        attempt = self._pre_filter() or self._conclude(tuple(self._filter()))
        if key is not None and _is_plain_refusal(attempt):
            if len(refusals) >= MAX_REFUSALS:
                refusals.clear()
            refusals[key] = attempt
        return attempt

    @property
    def _refusal_key(self) -> Hashable:
        """A key that is equal for pods with the same verdicts on all nodes and the same message;
        None if the verdicts may depend on other parts of the pod and its claims.
        """
        pod_key = None if self._filters is None else self._filters.pod_key
        if self.pod is None or pod_key is None or len(self.open_claims) < len(self.claims):
            return None
        if self._has_mapped_resources or not self.cache.groups.are_independent:
            return None
        names = None if self.node_names is None else frozenset(self.node_names)
        read = self.cache.attributes_read(self.claims)
        return pod_key, self.cache.claims_key(self.claims, read), names, self.pod.may_preempt

    def _restate(self, refusal: Attempt) -> Attempt:
        """Return the attempt of a pod that the scheduler cannot tell apart, for this pod."""
        nodes = tuple([replace(node, claims=self.claims) for node in refusal.nodes])
        return replace(refusal, claims=self.claims, nodes=nodes)

    @cached_property
    def _filters(self) -> PodFilterResults | None:
        """The node filters for the pod; None without a pod."""
        return None if self.pod is None else self.cache.filters(self.pod)

    # -- PreFilter -------------------------------------------------------------------------------

    def _pre_filter(self) -> Attempt | None:
        """Return the attempt if it ends before any node."""
        nodes = len(self.cache.nodes)
        unusable = None if self._filters is None else self._filters.filters.volumes.stop
        if unusable is not None and nodes:
            message = condition.whole_pod_error(nodes, unusable.text)
            message = condition.add_missing_state(message)
            return Attempt(self.claims, (unusable,), message=message)
        missing = tuple(self._find_missing_classes())
        if missing:
            message = condition.whole_pod_error(nodes, missing[0].text)
            message = self._with_preemption(message, [condition.NOT_HELPFUL] * nodes, claims=False)
            return Attempt(self.claims, missing, message=message)
        if not nodes:
            none = NoNodes(self.cache.state.lists_none("Node"))
            return Attempt(self.claims, (none,), message=none.text)
        return None

    def _find_missing_classes(self) -> Iterator[ClassMissing]:
        """Yield each DeviceClass that a request names and that does not exist."""
        names = {name for _, name in self.cache.state.objects("DeviceClass")}
        for claim in self.open_claims:
            for request in claim.claim.spec.devices.requests if claim.claim is not None else ():
                ref = RequestRef(claim.full_name, request.name)
                classes = [
                    (replace(ref, alternative=option.name), option.device_class_name)
                    for option in request.first_available
                ]
                if request.exactly is not None:
                    classes = [(ref, request.exactly.device_class_name)]
                for reference, name in classes:
                    if name and name not in names:
                        yield ClassMissing(claim, reference, name)

    # -- Filter ----------------------------------------------------------------------------------

    def _filter(self) -> Iterator[NodeVerdict]:
        """Yield the verdict on each node."""
        names = self.cache.attributes_read(self.claims)
        # With mapped resources (extended resources that a class provides), the scheduler makes one
        # more claim, which depends on the node. So no verdicts of earlier attempts are used.
        verdicts = self.cache.verdicts(
            () if self._has_mapped_resources else self.open_claims, names
        )
        nodes = self._nodes_to_try
        groups = self.cache.node_keys(nodes, names).by_name.values()
        rejections = self._first_rejections(nodes)
        allocated = [claim for claim in self.claims if claim.allocated]
        claims, by_specs = self.open_claims, verdicts.by_specs
        for (name, node), rejection, group in zip(nodes.items(), rejections, groups, strict=True):
            if self._has_mapped_resources:
                claims, group = self._add_special_claim(node, group)  # noqa: PLW2901
            yield NodeVerdict(
                node,
                name,
                rejection,
                (
                    tuple([claim for claim in allocated if not self._is_usable(claim, node)])
                    if allocated
                    else ()
                ),
                claims,
                by_specs[group]  # does what look_up does, without the call
                if group in by_specs
                else verdicts.look_up(group, partial(allocate, self.cache, node, claims)),
                group,
            )

    @property
    def _nodes_to_try(self) -> Mapping[str, Node]:
        nodes, names = self.cache.nodes, self.node_names
        if names is None:
            return nodes
        return {name: nodes[name] for name in nodes if name in names}

    @cached_property
    def _has_mapped_resources(self) -> bool:
        """True if a class provides an extended resource that the pod asks for."""
        if self.pod is None or "DRAExtendedResource" not in self.features.on:
            return False
        return not self.cache.class_resources.isdisjoint(self.pod.extended_requests)

    def _add_special_claim(
        self, node: Node, group: Hashable
    ) -> tuple[tuple[PodClaim, ...], Hashable]:
        """Return the open claims, and the key of a node for them.

        The claims include the one that the scheduler makes on the node for the pod's extended
        resources.
        """
        assert self.pod is not None
        special = make_special_claim(self.cache.state, self.pod, node, self.features)
        if special is None or special.claim is None:
            return self.open_claims, group
        return (*self.open_claims, special), (group, repr(special.claim.spec))

    def _first_rejections(self, nodes: Mapping[str, Node]) -> Sequence[Rejection | None]:
        """Return the first rejection of each node before DRA."""
        if self._filters is None or not self.cache.state.has("Node"):
            return [None] * len(nodes)
        return self._filters.first_rejections.find(nodes)

    def _is_usable(self, claim: PodClaim, node: Node) -> bool:
        """Decide whether an allocated claim can be used on a node."""
        if self.features.binding_conditions and find_binding_failure(claim) is not None:
            return False
        assert claim.claim is not None
        allocation = claim.claim.status.allocation
        if allocation is None or allocation.node_selector is None:
            return True
        try:
            return selector_matches(allocation.node_selector, self.cache.state.decode(node.raw))
        except SelectorFault:
            return False

    # -- PostFilter and steps after a node was found ----------------------------------------

    def _conclude(self, nodes: tuple[NodeVerdict, ...]) -> Attempt:
        # Equal nodes share one verdict, so there are few different ones.
        verdicts = {id(node.allocator_verdict): node for node in nodes}.values()
        if any(is_fatal(self.features, node.allocator_verdict) for node in verdicts):
            for node in nodes:
                if node.rejection is None and is_fatal(self.features, node.allocator_verdict):
                    message = condition.filter_error(_fatal_text(node))
                    return Attempt(self.claims, nodes=nodes, fatal_node=node, message=message)
        if any(node.allocates for node in verdicts) and any(node.fits for node in nodes):
            failure = PreBind(
                self.cache.state,
                self.features,
                self.pod,
                self.claims,
                nodes,
                has_mapped_resources=self._has_mapped_resources,
            ).find_failure()
            text = None if failure is None else failure.text
            return Attempt(self.claims, nodes=nodes, pre_bind_failure=failure, message=text)
        return self._post_filter(nodes)

    def _post_filter(self, nodes: tuple[NodeVerdict, ...]) -> Attempt:
        texts = [
            text
            for node in nodes
            for text in (dra_texts(node) if node.rejection is None else node.rejection.texts)
        ]
        preemption_texts: Sequence[str] = [condition.NOT_HELPFUL] * len(nodes)
        if self._filters is not None and any(node.rejection is not None for node in nodes):
            preemption = preempt(self._filters.filters, nodes, dra_texts)
            if preemption.nodes:
                return Attempt(self.claims, nodes=preemption.nodes)
            preemption_texts = preemption.texts
        message = self._with_preemption(
            condition.fit_error(len(nodes), texts),
            preemption_texts,
            claims=bool(self.claims or self._has_mapped_resources),
        )
        return Attempt(self.claims, nodes=nodes, message=message)

    def _with_preemption(self, message: str, texts: Sequence[str], *, claims: bool) -> str:
        """Add the sentences of preemption about each node to a message."""
        if self.pod is not None and not self.pod.may_preempt:
            preemption = condition.NEVER_PREEMPTS
        else:
            preemption = condition.fit_error(len(self.cache.nodes), texts)
        return condition.add_preemption(
            message,
            preemption,
            release_1_37=self.features.has("preemption-after-claims"),
            claims=claims,
        )


def _is_plain_refusal(attempt: Attempt) -> bool:
    """Decide whether no node fits, only for a lack of devices. No sentence names a claim then."""
    return (
        bool(attempt.nodes)
        and attempt.fatal_node is None
        and all(
            node.rejection is None and isinstance(node.allocator_verdict, Unallocatable)
            for node in attempt.nodes
        )
    )


def allocate(cache: SchedulerCache, node: Node, claims: tuple[PodClaim, ...]) -> Verdict | None:
    """Return the allocator's verdict on one node; None if there is nothing to allocate."""
    if not claims:
        return None
    decoded = [claim.claim for claim in claims if claim.claim is not None]
    verdict = cache.allocator.allocate(cache.state.decode(node.raw), decoded)
    if isinstance(verdict, NoAllocator):
        raise Unsupported(verdict.message)
    return verdict


def _fatal_text(verdict: NodeVerdict) -> str:
    if isinstance(verdict.allocator_verdict, Fatal):
        return verdict.allocator_verdict.message
    return f"node {verdict.name}: {TIMED_OUT}"


def is_fatal(features: Features, verdict: Verdict | None) -> bool:
    """Decide whether a verdict ends the attempt for all nodes. From 1.36 on, a timeout ends it."""
    if isinstance(verdict, Fatal):
        return True
    return verdict is not None and verdict.times_out and features.has("timeout-is-fatal")


def dra_texts(verdict: NodeVerdict) -> tuple[str, ...]:
    """Return the DRA plugin's sentence about a node; none if the claims can be allocated or used
    there.
    """
    if verdict.allocates:
        return (NOT_ON_NODE,) if verdict.unusable_claims else ()
    if isinstance(verdict.allocator_verdict, NodeError):
        return (verdict.allocator_verdict.message,)
    return (TIMED_OUT if verdict.times_out else CANNOT_ALLOCATE,)
