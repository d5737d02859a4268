"""The search for obstacles: minimal sets of demands without which a subject fits.

All filters of a node are evaluated, not only those up to the first that fails. Among the demands of
the claims, a minimal set is found by asking the scheduler (Junker, QuickXplain, AAAI 2004). If
several sets are possible, devices in use come before demands of the claims, single conditions
before whole requests, and one count before several constraints. The scheduler is asked once for all
nodes that do not differ for the subject.
"""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import Survey
from dractl.cluster.changes import parse_target
from dractl.explain.obstacles.claim_demands import (
    ClassOfRequest,
    Condition,
    Count,
    FreeCounters,
    FreeDevices,
    RequestedDevices,
    SharedAttribute,
    UsablePools,
    class_demand,
    demands_of_claim,
    location_of,
)
from dractl.explain.obstacles.demands import (
    Demand,
    GangPods,
    NodeLabel,
    NodeResource,
    OpenNode,
    SchedulerName,
    demand_of_stop,
    demands_of_rejection,
    is_taint_of_cordon,
)
from dractl.explain.obstacles.trial import (
    Oracle,
    Trial,
    find_too_few_pods_of_gang,
    ignores_pod,
    lift_all,
)
from dractl.explain.reasons.limits import drivers_of_class
from dractl.model.nearest import nearest
from dractl.objects import Claim
from dractl.properties import cached_property
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.cycle import ClassMissing
from dractl.scheduler.rejection import Rejection
from dractl.scheduler.stops import Stop
from dractl.scheduler.verdict import Attempt, NodeVerdict
from dractl.views import Node, Pod

MAX_STOPS = 8
"""The number of rounds in which stops are lifted; each round may reveal further stops."""
MAX_FILTER_ROUNDS = 4
MAX_NODE_GROUPS = 5
"""The number of groups of nodes on which obstacles are computed, the nearest groups first."""
MAX_SPLIT_NODES = 6
"""The number of nodes, equal up to the first filter, for which all filters are evaluated."""
MAX_ALIKE = 4
"""The number of nodes of a group that corrections may choose from."""


class NodeObstacles(Struct, frozen=True):
    """The obstacles on nodes that have the same obstacles."""

    nodes: tuple[str, ...]
    demands: tuple[Demand, ...]
    """The demands, in the order in which they are corrected."""
    remoteness: float
    """The distance of the nodes from a fit."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """The nodes; None if all may be tried."""
        return self.nodes or None


class Obstacles(Struct, frozen=True):
    """The obstacles of a subject on the nodes that come into question, the nearest nodes first."""

    on_nodes: tuple[NodeObstacles, ...] = ()


def find_obstacles(oracle: Oracle, trial: Trial) -> Obstacles:
    """Find the obstacles that keep a subject from the nodes that are nearest to a fit."""
    opening = _lift_stops(oracle, trial)
    stops, attempt = opening.demands, opening.attempt
    if attempt.stops or attempt.pre_bind_failure is not None:
        on_no_node = NodeObstacles((), order_demands(stops), 0)
        return Obstacles((on_no_node,) if stops else ())
    if attempt.fits:
        nodes = tuple(node.name for node in attempt.nodes if node.fits)
        return Obstacles((NodeObstacles(nodes, order_demands(stops), 0),) if stops else ())
    search = _Search(oracle, opening)
    groups = search.nearest_groups()
    sets = [each for group in groups if (each := search.on_group(group)) is not None]
    sets.sort(key=lambda each: each.remoteness)
    return Obstacles(tuple(_put_distinct_first(sets)))


def _put_distinct_first(sets: Sequence[NodeObstacles]) -> list[NodeObstacles]:
    """Return the sets of obstacles; a set that reads like an earlier one comes last."""
    distinct: dict[object, NodeObstacles] = {}
    for each in sets:
        distinct.setdefault(tuple(map(_signature, each.demands)), each)
    return [*distinct.values(), *(each for each in sets if each not in distinct.values())]


def order_demands(demands: Sequence[Demand]) -> tuple[Demand, ...]:
    return tuple(sorted(dict.fromkeys(demands), key=lambda demand: demand.stage))


# -- before the nodes --


class _Opening(Struct, frozen=True):
    """A trial without the stops that end the attempt before any node."""

    demands: tuple[Demand, ...]
    """The demands that are lifted."""
    trial: Trial
    attempt: Attempt


def _lift_stops(oracle: Oracle, trial: Trial) -> _Opening:
    """Lift the stops that end the attempt before any node."""
    demands: list[Demand] = []
    if ignores_pod(trial):
        demands.append(SchedulerName(Pod(trial.question.value).scheduler_name))
    few = find_too_few_pods_of_gang(trial)
    if few is not None:
        demands.append(GangPods(few.group, few.minimum))
    trial = lift_all(trial, demands)
    attempt = oracle.attempt(trial)
    for _ in range(MAX_STOPS):
        if not attempt.stops:
            break
        lifted = [
            demand
            for stop in attempt.stops
            if (demand := _demand_of_stop(oracle, trial, stop)) is not None
        ]
        if not lifted:
            break
        demands += lifted
        trial = lift_all(trial, lifted)
        attempt = oracle.attempt(trial)
    return _Opening(tuple(demands), trial, attempt)


def _demand_of_stop(oracle: Oracle, trial: Trial, stop: Stop) -> Demand | None:
    if not isinstance(stop, ClassMissing):
        return demand_of_stop(stop)
    editable = stop.claim.editable
    if editable is None:
        return None
    value = trial.state.get(*parse_target(editable.target))
    request = Claim.of(editable.target, value or {}, editable.path).request(str(stop.request))
    if request is None:
        return None
    return class_demand(editable.target, editable.path, request, _drivers(oracle))


def _drivers(oracle: Oracle) -> frozenset[str]:
    """Return the drivers that publish slices, or that classes name."""
    published = frozenset(item.spec.driver for item in oracle.scheduler.slices)
    return published.union(*map(drivers_of_class, oracle.scheduler.state.classes))


# -- on the nodes --


class _Group(Struct, frozen=True):
    """Nodes that are equal for the subject."""

    nodes: tuple[NodeVerdict, ...]
    demands: tuple[Demand, ...]
    """The demands that fail in the filters of these nodes."""
    remoteness: float
    """The estimated distance of the nodes from a fit."""
    reading: object
    """A key that is equal for nodes with the same devices and the same numbers of suitable ones."""


class _Search:
    """The search on the nodes of one cluster, without the stops before the nodes."""

    def __init__(self, oracle: Oracle, opening: _Opening) -> None:
        self.oracle = oracle
        self.trial = opening.trial
        self.stops = opening.demands
        self.attempt = opening.attempt
        self.scheduler = oracle.scheduler.with_state(self.trial.state)
        self.open_claims = [claim for claim in self.attempt.claims if not claim.allocated]
        self.drivers = _drivers(oracle)

    def nearest_groups(self) -> list[_Group]:
        """Return groups of nodes; groups that are probably nearest to a fit come first."""
        alike: dict[object, list[NodeVerdict]] = {}
        for verdict in self.attempt.nodes:
            rejection = verdict.rejection and (verdict.rejection.plugin, verdict.rejection.texts)
            pinned = tuple(claim.full_name for claim in verdict.unusable_claims)
            key = (verdict.group, rejection, pinned, bool(verdict.victims))
            alike.setdefault(key, []).append(verdict)
        groups: dict[object, _Group] = {}
        for nodes in alike.values():
            for group in self._split(nodes):
                groups.setdefault(group.reading, group)
        return sorted(groups.values(), key=lambda group: group.remoteness)[:MAX_NODE_GROUPS]

    def _split(self, nodes: Sequence[NodeVerdict]) -> Iterator[_Group]:
        """Yield groups of nodes that fail the same demands. The nodes are equal up to the first
        filter that rejects them.
        """
        groups: dict[object, list[NodeVerdict]] = {}
        demands: dict[object, tuple[Demand, ...]] = {}
        for verdict in nodes[:MAX_SPLIT_NODES]:
            missed = self._filter_demands(self.trial, (verdict.name,))
            kinds = tuple(map(_signature, missed))
            groups.setdefault(kinds, []).append(verdict)
            demands[kinds] = missed
        for signature, group in groups.items():
            yield self._group(group, demands[signature], signature)

    def _group(
        self, nodes: Sequence[NodeVerdict], missed: tuple[Demand, ...], signature: object
    ) -> _Group:
        first = nodes[0]
        remoteness = self._remoteness(missed, first.node)
        reading: object = first.group
        if not first.allocates:
            survey = self._survey(first)
            remoteness += 1 + 10 * sum(not r.offered for r in survey.requests)
            # If the group is a tuple, its nodes have equal devices, but different devices may be
            # in use.
            if isinstance(first.group, tuple):
                reading = first.group[0], _count_candidates(survey)
        names = tuple(node.name for node in nodes[:MAX_ALIKE])
        if len(names) > 1:
            missed = self._filter_demands(self.trial, names)
        return _Group(tuple(nodes), missed, remoteness, (signature, reading))

    def _survey(self, verdict: NodeVerdict) -> Survey:
        return self.scheduler.surveys([verdict])[verdict.name]

    def _remoteness(self, demands: Sequence[Demand], node: Node) -> float:
        """Return how far a node is from a fit. A condition of the pod counts more if other nodes
        meet it.
        """
        return sum(
            8 if self._is_met_elsewhere(demand, node) else demand.remoteness for demand in demands
        )

    def _is_met_elsewhere(self, demand: Demand, node: Node) -> bool:
        """Decide whether other nodes, or devices of other nodes, meet a demand. Such a demand is
        probably no mistake.

        A misspelt label is met by the nodes that have the label that was probably meant.
        """
        match demand:
            case NodeLabel(key=key, value=value):
                nodes = self.scheduler.nodes.values()
                values = {other.labels[key] for other in nodes if key in other.labels}
                meant = value if value in values else nearest(value, values)
                return meant is not None and node.labels.get(key) != meant
            case Condition(text=text):
                return _is_met_by_a_device(self.scheduler, text)
        return False

    def _filter_demands(self, trial: Trial, nodes: tuple[str, ...]) -> tuple[Demand, ...]:
        """Return the demands that fail in filters. Each round lifts the demands that it finds, so
        that the next round can find others.
        """
        demands: list[Demand] = []
        if trial.question.kind in ("ResourceClaim", "ResourceClaimTemplate"):
            return ()
        if trial is self.trial and not self._rejects_nodes:
            return ()
        for _ in range(MAX_FILTER_ROUNDS):
            missed = [
                demand
                for rejection in self._find_rejections(trial, nodes[0])
                for demand in demands_of_rejection(rejection, nodes)
                if demand not in demands
            ]
            if not missed:
                break
            # A cordon comes with its own taint.
            if any(isinstance(demand, OpenNode) for demand in missed):
                missed = [demand for demand in missed if not is_taint_of_cordon(demand)]
            demands += dict.fromkeys(missed)
            trial = lift_all(trial, missed)
        return tuple(demands)

    def _find_rejections(self, trial: Trial, node: str) -> tuple[Rejection, ...]:
        # One object is the subject on all nodes, since the filters of a pod are cached with the
        # object.
        if trial is self.trial:
            return self.scheduler.find_rejections(self._subject, node)
        scheduler = self.scheduler.with_state(trial.state)
        return scheduler.find_rejections(scheduler.snapshot.pod(trial.question.value), node)

    @cached_property
    def _rejects_nodes(self) -> bool:
        """True if a filter rejects a node for the subject as it is."""
        return any(node.rejection is not None for node in self.attempt.nodes)

    @cached_property
    def _subject(self) -> Pod:
        return self.scheduler.snapshot.pod(self.trial.question.value)

    def on_group(self, group: _Group) -> NodeObstacles | None:
        """Return the obstacles on a group of nodes; None if lifting all demands is not enough."""
        first = group.nodes[0]
        lifted = lift_all(self.trial, group.demands)
        demands = self._claim_demands(first)
        names = (first.name,)

        def fits(lifts: Sequence[Demand]) -> bool:
            if not lifts and not group.demands:
                return False  # the attempt on all nodes has shown it
            return not self.oracle.is_exhausted and self.oracle.fits(lift_all(lifted, lifts), names)

        free = FreeDevices()
        is_held = fits((free,))
        # Holders are not to blame if the subject does not fit even with all devices free
        if not is_held:
            if not fits(demands):
                return None
            demands.sort(key=_coarseness)
        # Usually the only obstacle is that devices are in use.
        tried = (free,) if is_held and demands[0] == free else demands
        needed = smallest_subset(fits, tried)
        for count in (demand for demand in tried if isinstance(demand, Count)):
            needed = _put_count_for_constraints(fits, needed, count)
        demands = [*group.demands, *needed]
        nodes = tuple(node.name for node in group.nodes[:MAX_ALIKE])
        return NodeObstacles(
            nodes, order_demands((*self.stops, *demands)), self._remoteness(demands, first.node)
        )

    def _claim_demands(self, verdict: NodeVerdict) -> list[Demand]:
        """Return the demands of the claims on a node; demands that should be given up last come
        last."""
        demands: list[Demand] = [location_of(claim) for claim in verdict.unusable_claims]
        demands.append(FreeDevices())
        demands += _demands_of_pools(self._survey(verdict)) if verdict.claims else ()
        of_claims = [
            demand
            for claim in self.open_claims
            for demand in demands_of_claim(
                claim, self.drivers, self.oracle.scheduler.compile_selector, self.trial
            )
        ]
        of_claims += self._resource_demands(verdict)
        # Whole requests and classes are given up only if nothing else is enough.
        of_claims.sort(key=_coarseness)
        lifted = {(d.target, d.request) for d in self.stops if isinstance(d, ClassOfRequest)}
        return demands + [
            demand
            for demand in of_claims
            if not (
                isinstance(demand, ClassOfRequest) and (demand.target, demand.request) in lifted
            )
        ]

    def _resource_demands(self, verdict: NodeVerdict) -> Iterator[Demand]:
        """Yield the demands for extended resources for which the scheduler makes a claim.

        No object states that claim, so its demands are the amounts of the containers.
        """
        if all(claim.editable is not None for claim in verdict.claims):
            return
        for resource, amounts in Pod(self.trial.question.value).extended_requests.items():
            yield NodeResource(resource, str(sum(part.amount for part in amounts)))


def _count_candidates(survey: Survey) -> object:
    """Return the number of suitable devices of a node, for each request and each value of a
    constraint.
    """
    requests = tuple(len(request.candidates) for request in survey.requests)
    return requests, tuple(
        tuple(sorted(tuple(len(devices) for _, devices in group.candidates) for group in c.groups))
        for c in survey.constraints
    )


def _demands_of_pools(survey: Survey) -> Iterator[Demand]:
    """Yield the demands that a node's pools do not meet: complete slices, and counters."""
    broken = tuple((p.driver, p.pool) for p in survey.pools if p.state != "usable")
    if broken:
        yield UsablePools(broken)
    counted = {
        loss.device.driver
        for request in survey.requests
        for stage in request.stages
        if stage.name == "counters"
        for loss in stage.lost
    }
    if counted:
        yield FreeCounters(tuple(sorted(counted)))


def _coarseness(demand: Demand) -> int:
    match demand:
        case FreeCounters():
            return 1
        case ClassOfRequest():
            return 2
        case RequestedDevices():
            return 3
    return 0


def _signature(demand: Demand) -> object:
    """Return a key that is equal for demands of different nodes that mean the same."""
    fields = {name: getattr(demand, name) for name in demand.__struct_fields__ if name != "nodes"}
    return (demand.kind, tuple(fields.items()))


def _put_count_for_constraints(
    is_enough: Callable[[Sequence[Demand]], bool], needed: list[Demand], count: Count
) -> list[Demand]:
    """Replace constraints among the needed demands by a demand for a lower count, if fewer demands
    are then needed.

    A single device meets any constraint.
    """
    constraints = [each for each in needed if isinstance(each, SharedAttribute)]
    if len(constraints) < 2 or count in needed:
        return needed
    others = [each for each in needed if each not in constraints]
    kept = smallest_subset(lambda lifted: is_enough([*others, *lifted]), [count, *constraints])
    if len(kept) >= len(constraints):
        return needed
    broken = tuple(each for each in constraints if each not in kept)
    return [*others, *(replace(count, constraints=broken) if d == count else d for d in kept)]


def _is_met_by_a_device(scheduler: Scheduler, condition: str) -> bool:
    """Decide whether a published device meets a condition; it is decided once for equal slices."""

    def decide() -> bool:
        program = scheduler.compile_selector(condition)
        return program.ok and any(
            program.evaluate(item.spec.driver, device) is True
            for item in scheduler.slices
            for device in item.spec.devices
        )

    return scheduler.state.cache.from_sources(
        ("met-condition", scheduler.features, condition), (scheduler.slices,), lambda _: decide()
    )


def smallest_subset(
    is_enough: Callable[[Sequence[Demand]], bool], demands: Sequence[Demand]
) -> list[Demand]:
    """Return a minimal part of ``demands`` that is enough, given that all demands together are
    enough.

    No demand of the result is superfluous. If there is a choice, the demands that come first are in
    the result.
    """

    def search(
        base: tuple[Demand, ...], parts: tuple[Demand, ...], *, changed: bool
    ) -> tuple[Demand, ...]:
        if changed and is_enough(base):
            return ()
        if len(parts) == 1:
            return parts
        first, second = parts[: len(parts) // 2], parts[len(parts) // 2 :]
        late = search((*base, *first), second, changed=True)
        early = search((*base, *late), first, changed=bool(late))
        return (*early, *late)

    return list(search((), tuple(demands), changed=True))
