"""The structured allocator of kube-scheduler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from dractl.allocation.build import Builder, Built
from dractl.allocation.devices import NodeDevices
from dractl.allocation.faults import AttemptFailed, Fault, FaultKind
from dractl.allocation.features import BUGS, Behaviour, Features
from dractl.allocation.matching import Matcher
from dractl.allocation.pools import SliceIndex
from dractl.allocation.problem import SearchProblem
from dractl.allocation.result import (
    Allocated,
    Cost,
    Exhausted,
    Fatal,
    NoAllocator,
    NodeError,
    Unallocatable,
    Verdict,
    allocation_results,
)
from dractl.allocation.search import Abort, NoSolution, Outcome, OutOfBudget, Solution, search
from dractl.allocation.state import AllocatedState
from dractl.allocation.survey import Survey
from dractl.allocation.surveyor import survey
from dractl.errors import UsageError
from dractl.model import DeviceClass, Node, ResourceClaim, ResourceSlice

DEFAULT_BUDGET = 300_000
"""Devices and requests that a search examines before it gives up; a few seconds of work."""

_MAX_REMEMBERED_SEARCHES = 10_000  # searches whose results are cached

_ONE_POOL: Final[frozenset[FaultKind]] = frozenset({"pool-incomplete", "pool-invalid"})
"""Faults of a pool that end a request with mode All before the search (validateDeviceRequest)."""

# Duration of one call of allocateOne in 1.37, measured with 16 to 128 devices, which it checks one
# after the other.
_SECONDS_PER_STEP = 0.5e-6
_SECONDS_PER_DEVICE = 0.03e-6


class Allocator:
    """Computes what kube-scheduler would allocate.

    ``slices`` are all ResourceSlices of the cluster, including slices of other nodes; ``classes``
    all DeviceClasses. Results for devices are cached across nodes, so use one allocator for all
    nodes.
    """

    def __init__(
        self,
        slices: Sequence[ResourceSlice],
        classes: Iterable[DeviceClass] | Mapping[str, DeviceClass],
        *,
        state: AllocatedState | None = None,
        features: Features,
        before: Allocator | None = None,
    ) -> None:
        """Prepare an allocator. It inherits results for selectors, devices and searches from
        ``before``, an allocator with the same features.
        """
        self.features = features
        self.state = state or AllocatedState()
        self.classes = _by_name(classes)
        self.behaviour: Behaviour | None = features.behaviour
        self.slices = tuple(slices)
        self._index: SliceIndex | None = None
        self._matcher: Matcher | None = None
        self._outcomes: dict[tuple[SearchProblem, int], Outcome] = (
            {} if before is None else before._outcomes
        )
        if self.behaviour is None:
            return
        self._matcher = Matcher(features, self.behaviour) if before is None else before._matcher
        if before is not None and before.slices is self.slices:
            self._index = before._index
        else:
            self._index = SliceIndex(self.slices, features, self.behaviour)

    def replace(
        self,
        *,
        slices: Sequence[ResourceSlice] | None = None,
        classes: Iterable[DeviceClass] | Mapping[str, DeviceClass] | None = None,
        state: AllocatedState | None = None,
    ) -> Allocator:
        """Return an allocator for a changed cluster that inherits results for unchanged selectors,
        devices and searches.
        """
        return Allocator(
            self.slices if slices is None else slices,
            self.classes if classes is None else classes,
            state=self.state if state is None else state,
            features=self.features,
            before=self,
        )

    def allocate(
        self, node: Node, claims: Sequence[ResourceClaim], budget: int | None = None
    ) -> Verdict:
        """Return the verdict on a pod's unallocated claims, in the order of the pod, on one node.

        ``budget`` limits the work (:data:`DEFAULT_BUDGET`); a search that exceeds it is Exhausted.
        UsageError for mappings instead of the objects that :func:`dractl.model.decode` returns.
        """
        _check(node, claims)
        if self.behaviour is None:
            return NoAllocator(text=self.features.unsupported_text)
        try:
            built = self.problem(node, claims)
        except AttemptFailed as failed:
            if failed.fault.kind in _ONE_POOL and self.features.has("broken-pool-rejects-node"):
                return NodeError(fault=failed.fault)
            return Fatal(fault=failed.fault)
        return self._verdict(
            built, self._search(built.problem, DEFAULT_BUDGET if budget is None else budget), node
        )

    def problem(self, node: Node, claims: Sequence[ResourceClaim]) -> Built:
        """Return the input of the search for claims on a node. Raises AttemptFailed if the attempt
        ends before the search.
        """
        if self.behaviour is None or self._index is None or self._matcher is None:
            raise AttemptFailed(Fault("unsupported", self.features.unsupported_text))
        return self._builder(self._index, self._matcher, self.behaviour, node).build(claims)

    def survey(self, node: Node, claims: Sequence[ResourceClaim]) -> Survey:
        """Return a node's devices for each request: every stage with the devices that it keeps and
        loses, and why.
        """
        name = node.metadata.name
        if self.behaviour is None or self._index is None or self._matcher is None:
            return Survey(name, (), (), (), Fault("unsupported", self.features.unsupported_text))
        try:
            builder = self._builder(self._index, self._matcher, self.behaviour, node)
            obsolete = self._index.obsolete(node)
        except AttemptFailed as failed:
            return Survey(name, (), (), (), failed.fault)
        return survey(builder, obsolete, claims)

    def _builder(
        self, index: SliceIndex, matcher: Matcher, behaviour: Behaviour, node: Node
    ) -> Builder:
        devices = NodeDevices(self.features, behaviour, self.state, node, index.gather(node))
        return Builder(matcher, self.classes, devices)

    def _search(self, problem: SearchProblem, budget: int) -> Outcome:
        """Search once for all nodes whose devices differ only in parts that nothing reads."""
        key = (problem, budget)
        outcome = self._outcomes.get(key)
        if outcome is None:
            if len(self._outcomes) >= _MAX_REMEMBERED_SEARCHES:
                self._outcomes.clear()
            outcome = self._outcomes[key] = search(problem, budget)
        return outcome

    def _verdict(self, built: Built, outcome: Outcome, node: Node) -> Verdict:
        seconds = outcome.steps * (_SECONDS_PER_STEP + _SECONDS_PER_DEVICE * built.problem.devices)
        cost = Cost(outcome.work, outcome.steps, seconds)
        unordered = built.unordered
        match outcome:
            case OutOfBudget():
                return Exhausted(cost, unordered)
            case Abort():
                return Fatal(cost, unordered, fault=_abort_fault(built, outcome))
            case NoSolution():
                if not built.behaviour.lenient_pools and any(
                    pool.invalid is not None for pool in built.devices.pools
                ):
                    return NodeError(cost, unordered)
                return Unallocatable(cost, unordered)
            case Solution():
                try:
                    return Allocated(cost, unordered, allocation_results(built, outcome, node))
                except AttemptFailed as failed:
                    return Fatal(cost, unordered, fault=failed.fault)


def _check(node: object, claims: Iterable[object]) -> None:
    for value, kind in ((node, Node), *((claim, ResourceClaim) for claim in claims)):
        if not isinstance(value, kind):
            message = f"a {kind.__name__} of dractl.model is needed, not {type(value).__name__}"
            raise UsageError(message, hint="dractl.model.decode turns an object's mapping into one")


def _by_name(classes: Iterable[DeviceClass] | Mapping[str, DeviceClass]) -> dict[str, DeviceClass]:
    if isinstance(classes, dict):
        return classes
    values = classes.values() if isinstance(classes, Mapping) else classes
    by_name: dict[str, DeviceClass] = {}
    for device_class in values:
        by_name.setdefault(device_class.metadata.name, device_class)
    return by_name


def _abort_fault(built: Built, abort: Abort) -> Fault:
    """Return the reason why a search was aborted, in upstream's words."""
    asked = built.asked[abort.slot]
    ref = asked.ref
    match abort.reason:
        case "device":
            return built.fault(abort.slot, abort.device)
        case "constraint":
            device = built.candidate(abort.device).id
            text = f"cannot add device {device} because a claim constraint would not be satisfied"
            return Fault(
                "constraint",
                f"{asked.place}: {text}",
                ref.claim,
                ref,
                device,
                constraint=abort.detail[0],
            )
        case "derived":
            constraint = asked.claim.spec.devices.constraints[abort.detail[0]]
            attribute = constraint.match_attribute or constraint.distinct_attribute
            derived = next(d for d in asked.spec.derived_attributes if d.name == attribute)
            candidate = built.candidate(abort.device)
            text = built.attributes.fault_text(candidate, derived.name, derived.expression)
            return Fault("derived", text, ref.claim, ref, candidate.id, constraint=abort.detail[0])
        case "limit":
            return Fault("limit", "allocation max size exceeded", ref.claim)
        case "panic-nil":
            text = "runtime error: invalid memory address or nil pointer dereference"
            return Fault("panic", text, ref.claim, ref, issue=_issue("all-with-counters"))
        case "panic-index":
            index, length = abort.detail
            text = f"runtime error: index out of range [{index}] with length {length}"
            return Fault("panic", text, ref.claim, ref, issue=_issue("recheck-by-position"))


def _issue(bug: str) -> str:
    return next(f"kubernetes#{bug_fact.issue}" for bug_fact in BUGS if bug_fact.name == bug)
