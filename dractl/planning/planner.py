"""Find a plan that ends as few pods as possible and, of such plans, one that moves the fewest."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import Features
from dractl.cluster.changes import parse_target
from dractl.cluster.clock import newest_time
from dractl.cluster.labels import LabelQuery
from dractl.cluster.state import ClusterState
from dractl.model.abbreviation import abbreviate
from dractl.planning.arrangement import may_be_arranged
from dractl.planning.landscape import Client, Landscape
from dractl.planning.movable import Movability, find_movable_pods, list_idle_budgets
from dractl.planning.obstruction import MAX_NAMED_PODS, describe_obstruction
from dractl.planning.plan import Plan, Step
from dractl.planning.proof import Proof, Prover
from dractl.planning.search import Candidate, Search, Work
from dractl.planning.steps import list_places, list_steps, note_steps
from dractl.planning.subject import Subject, empty_cluster
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.cache import add_nodes_of_slices
from dractl.scheduler.rejection import PodAffinityMismatch
from dractl.scheduler.verdict import NodeVerdict
from dractl.simulation.queue import QueuedPod, list_pending_pods, schedule_pods
from dractl.views import Pod, parse_timestamp
from dractl.views.pod import DEFAULT_SCHEDULER

MAX_MOVES = 6
"""The maximum number of pods that a plan moves or ends."""
WORK_LIMIT = 45_000
"""The maximum number of partial candidates that are examined, which takes about ten seconds on a
large cluster.
"""
PROOF_WORK = 25
"""The amount of work that one proof costs."""
IMPROVEMENT_WORK = 2_000
"""The amount of work for finding a better plan of the same size, after the first plan."""


class PlanOptions(Struct, frozen=True):
    """The limits of a plan."""

    may_end: bool = False
    """Whether pods may end without a place."""

    keep: LabelQuery | None = None
    """The pods that must not move."""


def find_plan(
    subject: Subject,
    features: Features,
    options: PlanOptions,
    progress: Callable[[str], None] = lambda _: None,
) -> Plan:
    """Find out which pods have to move so that all pods of ``subject`` fit."""
    # A plan cordons nodes by changing Node objects, which an input of slices alone lacks.
    subject = replace(subject, state=add_nodes_of_slices(subject.state))
    return _Planner(subject, features, options, progress).find()


class _Success(Struct, frozen=True):
    """A proven candidate."""

    cost: tuple[int, ...]
    proof: Proof


class _Outcome(Struct, frozen=True):
    """The result of a search."""

    proof: Proof | None = None
    unseen: str = ""
    """A description of the candidates that were not examined; empty if there are none."""
    is_unproven: bool = False
    """True if there were candidates but no proof succeeded."""


class _Planner:
    """A search for the plan of one subject."""

    def __init__(
        self,
        subject: Subject,
        features: Features,
        options: PlanOptions,
        progress: Callable[[str], None],
    ) -> None:
        self.subject = subject
        self.state = subject.state
        self.options = options
        self.progress = progress
        self.scheduler = _place_as_is(subject, features)
        """The scheduler, after it has placed those pods of the subject that fit without a move."""
        pods = [self.scheduler.state.pod(key) for key in subject.pods]
        self.pods = [pod for pod in pods if not pod.node_name]
        """The other pods of the subject, in the order of the queue."""
        self.work = Work(WORK_LIMIT)

    def find(self) -> Plan:
        """Return the plan."""
        plan = Plan(
            self.subject.name,
            "none",
            before=self.state,
            after=self.state,
            subjects=self.subject.pods,
            notes=self._note_input(),
        )
        if not self.pods:
            places = list_places((), self.subject.pods, self.scheduler.state)
            return replace(plan, verdict="fits", after=self.scheduler.state, places=places)
        schedulers = {pod.scheduler_name for pod in self.pods} - {DEFAULT_SCHEDULER}
        if schedulers:
            reason = f"scheduler {', '.join(sorted(schedulers))} places it, which is not simulated"
            return replace(plan, verdict="undecided", reasons=(reason,))
        if self._is_hopeless():
            return replace(plan, is_hopeless=True)
        movability = self._find_movable_pods()
        landscape = Landscape(self.scheduler, movability)
        clients = [landscape.client(pod) for pod in self.pods]
        if not all(map(landscape.nodes_for, clients)):
            return self._refuse(plan, movability, landscape, clients)
        if may_be_arranged(landscape, clients) is False and not self.options.may_end:
            return self._refuse(plan, movability, landscape, clients)
        outcome = self._search(movability, landscape, clients)
        if outcome.proof is not None:
            return self._conclude(plan, outcome.proof)
        plan = replace(plan, reasons=self._describe_queue() if outcome.is_unproven else ())
        if not outcome.unseen:
            return self._refuse(plan, movability, landscape, clients)
        return replace(plan, verdict="undecided", reasons=(*plan.reasons, outcome.unseen))

    # -- without a plan --

    def _is_hopeless(self) -> bool:
        """Return whether some pod of the subject would fit nowhere even in an empty cluster."""
        empty = self.scheduler.with_state(empty_cluster(self.state))
        return not all(self._may_fit(pod, empty) for pod in self.pods)

    def _may_fit(self, pod: Pod, empty: Scheduler) -> bool:
        """Return whether a pod may fit in the empty cluster.

        An affinity to other pods matches nothing there. If only such an affinity stops the pod, the
        pod may fit as long as the affinity matches a pod that runs now.
        """
        alone = empty.attempt_pod(pod.raw, recreated=pod.has_uncreated_claims)
        if alone.fits:
            return True
        mismatches = _list_affinity_mismatches(alone.nodes)
        if not any(node.allocates and not node.unusable_claims for node, _ in mismatches):
            return False
        beside = self.scheduler.attempt_pod(pod.raw, recreated=pod.has_uncreated_claims)
        matches = [unmet.first_match for _, unmet in _list_affinity_mismatches(beside.nodes)]
        return not matches or any(matches)

    def _find_movable_pods(self) -> Movability:
        priority = min(pod.priority for pod in self.pods)
        movability = find_movable_pods(self.state, priority, self.options.keep)
        return movability if self.options.may_end else replace(movability, bare=())

    def _refuse(
        self, plan: Plan, movability: Movability, landscape: Landscape, clients: Sequence[Client]
    ) -> Plan:
        reasons = describe_obstruction(landscape, movability, clients)
        return replace(plan, reasons=plan.reasons or reasons)

    def _describe_queue(self) -> tuple[str, ...]:
        """Return the pods that would take the room that the moves create."""
        keys = [pod.key for pod in list_pending_pods(self.state)]
        last = max((keys.index(key) for key in self.subject.pods if key in keys), default=0)
        ahead = ["/".join(key) for key in keys[:last] if key not in self.subject.pods]
        if not ahead:
            return ("moves would make enough room, but kube-scheduler would not use it",)
        names = abbreviate(ahead, MAX_NAMED_PODS)
        return (f"pods that wait ahead of it would take the room that moves make: {names}",)

    # -- with a plan --

    def _search(
        self, movability: Movability, landscape: Landscape, clients: Sequence[Client]
    ) -> _Outcome:
        """Try candidates of increasing size, and prove them."""
        search = Search(landscape, clients, movability.failures_left, self.work)
        prover = Prover(self.scheduler, [pod.key for pod in self.pods])
        pods = sum(unit.size for unit in landscape.units)
        sizes = _list_sizes(min(pods, MAX_MOVES), may_end=self.options.may_end)
        for moves, ends in sizes:
            self.progress(f"looking for {_describe_size(moves, ends)}")
            success = self._find_best(search, prover, moves, ends)
            if success is not None:
                return _Outcome(success.proof)
            if search.is_cut:
                return _Outcome(
                    unseen=_describe_unseen(moves, ends), is_unproven=prover.failures > 0
                )
        unseen = f"plans that move more than {MAX_MOVES} pods were not looked at"
        return _Outcome(unseen=unseen if pods > MAX_MOVES else "", is_unproven=prover.failures > 0)

    def _find_best(self, search: Search, prover: Prover, moves: int, ends: int) -> _Success | None:
        """Return the cheapest proven candidate of one size that is found before the work is used
        up; None if there is none.
        """
        best: _Success | None = None
        tried: set[frozenset[object]] = set()
        for candidate in search.candidates(moves, ends):
            cost = self._cost(candidate)
            key = frozenset((d.unit, d.cordon, d.nodes) for d in candidate)
            if key in tried or (best is not None and best.cost <= cost):
                continue
            tried.add(key)
            self.work.spend(PROOF_WORK)
            proof = prover.prove(candidate)
            if proof is not None:
                if best is None:
                    self.work.remaining = min(self.work.remaining, IMPROVEMENT_WORK)
                best = _Success(cost, proof)
        return best

    def _cost(self, candidate: Candidate) -> tuple[int, ...]:
        """Return a sort key for candidates: the highest priority of their pods, the work that a
        restart of the pods loses, and for how long the pods that lose much have run.
        """
        units = [departure.unit for departure in candidate]
        pods = [pod for unit in units for pod in unit.pods]
        now = newest_time(self.state)
        ages = [
            int(now - start)
            for unit in units
            if unit.loss > 1 and now is not None
            for pod in unit.pods
            if (start := parse_timestamp(pod.start_time or "")) is not None
        ]
        return (
            max((pod.priority for pod in pods), default=0),
            sum(unit.loss * unit.size for unit in units),
            sum(ages),
        )

    def _conclude(self, plan: Plan, proof: Proof) -> Plan:
        steps = list_steps(proof, self.subject.pods)
        return replace(
            plan,
            verdict="plan",
            after=proof.scheduler.state,
            steps=steps,
            places=list_places(steps, self.subject.pods, proof.scheduler.state),
            notes=(*note_steps(steps), *_note_unseen_jobs(self.state, steps), *plan.notes),
        )

    def _note_input(self) -> tuple[str, ...]:
        return tuple(
            f"PodDisruptionBudget {name} selects no pod" for name in list_idle_budgets(self.state)
        )


def _note_unseen_jobs(state: ClusterState, steps: Sequence[Step]) -> Iterator[str]:
    """Yield the Jobs whose backoffLimit is unknown."""
    for owner in dict.fromkeys(step.owner for step in steps if step.delay and step.owner):
        if state.get(*parse_target(owner)) is None:
            yield f"{owner} is not in the input: its backoffLimit is taken to be the default"


def _place_as_is(subject: Subject, features: Features) -> Scheduler:
    """Place the pods of a subject that fit without a move, as kube-scheduler would do at once."""
    scheduler = Scheduler(subject.state, features)
    pods = [subject.state.pod(key) for key in subject.pods]
    queue = [
        QueuedPod(pod, generates_claims=pod.has_uncreated_claims or not pod.uid)
        for pod in pods
        if not pod.node_name
    ]
    return schedule_pods(scheduler, queue, {}, "as is").scheduler


def _list_affinity_mismatches(
    nodes: Iterable[NodeVerdict],
) -> Iterator[tuple[NodeVerdict, PodAffinityMismatch]]:
    for node in nodes:
        for unmet in node.rejection.unmet if node.rejection is not None else ():
            if isinstance(unmet, PodAffinityMismatch):
                yield node, unmet


def _describe_size(moves: int, ends: int) -> str:
    ending = f" and end {ends}" if ends else ""
    return f"plans that move {moves} pods{ending}"


def _describe_unseen(moves: int, ends: int) -> str:
    return f"not all {_describe_size(moves, ends)} were looked at, and no larger plans"


def _list_sizes(limit: int, *, may_end: bool) -> Iterator[tuple[int, int]]:
    """Yield numbers of moves and ends: the fewest ends first, then the fewest moves."""
    for ends in count() if may_end else (0,):
        if ends > limit:
            return
        for moves in range(limit - ends + 1):
            if moves + ends:
                yield moves, ends
