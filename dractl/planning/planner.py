"""Find the plan with the fewest ended, then the fewest moved pods."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import Features
from dractl.cluster.changes import parse_target
from dractl.cluster.clock import newest_time
from dractl.cluster.labels import LabelQuery
from dractl.cluster.state import ClusterState
from dractl.planning.arrangement import may_be_arranged
from dractl.planning.landscape import Client, Landscape
from dractl.planning.movable import Movability, find_movable_pods, list_idle_budgets
from dractl.planning.obstruction import describe_obstruction
from dractl.planning.plan import Plan, Step
from dractl.planning.proof import Proof, Prover
from dractl.planning.search import Candidate, Search, Work
from dractl.planning.steps import list_places, list_steps, note_steps
from dractl.planning.subject import Subject, empty_cluster
from dractl.scheduler.attempt import Scheduler
from dractl.simulation.queue import QueuedPod, schedule_pods
from dractl.views import parse_timestamp

MAX_MOVES = 6
"""Pods that a plan moves or ends at most."""
WORK_LIMIT = 60_000
"""Partial candidates that are looked at; some ten seconds on a large cluster."""
PROOF_WORK = 25
"""The work that a proof counts for."""
IMPROVEMENT_WORK = 2_000
"""The work for a better plan of the same size, once there is one."""


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
    return _Planner(subject, features, options, progress).find()


class _Success(Struct, frozen=True):
    """A proven candidate."""

    cost: tuple[int, ...]
    proof: Proof


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
        """The scheduler of the cluster with the pods of the subject that fit as it is."""
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
        if self._is_hopeless():
            return replace(plan, is_hopeless=True)
        movability = self._find_movable_pods()
        landscape = Landscape(self.scheduler, movability)
        clients = [landscape.client(pod) for pod in self.pods]
        if not all(map(landscape.nodes_for, clients)):
            return self._refuse(plan, movability, landscape, clients)
        if may_be_arranged(landscape, clients) is False and not self.options.may_end:
            return self._refuse(plan, movability, landscape, clients)
        success = self._search(movability, landscape, clients)
        if success is not None:
            return self._conclude(plan, success.proof)
        if self.is_exhausted:
            return self._refuse(plan, movability, landscape, clients)
        return replace(plan, verdict="undecided", reasons=(self.unseen,))

    # -- without a plan --

    def _is_hopeless(self) -> bool:
        """Return whether some pod of the subject fits nowhere even in an empty cluster."""
        empty = self.scheduler.with_state(empty_cluster(self.state))
        return not all(
            empty.attempt_pod(pod.raw, recreated=pod.has_uncreated_claims).fits for pod in self.pods
        )

    def _find_movable_pods(self) -> Movability:
        priority = min(pod.priority for pod in self.pods)
        movability = find_movable_pods(self.state, priority, self.options.keep)
        return movability if self.options.may_end else replace(movability, bare=())

    def _refuse(
        self, plan: Plan, movability: Movability, landscape: Landscape, clients: Sequence[Client]
    ) -> Plan:
        reasons = describe_obstruction(landscape, movability, clients)
        return replace(plan, reasons=reasons)

    # -- with one --

    def _search(
        self, movability: Movability, landscape: Landscape, clients: Sequence[Client]
    ) -> _Success | None:
        """Look for candidates with more and more pods, and prove them."""
        search = Search(landscape, clients, movability.failures_left, self.work)
        prover = Prover(self.scheduler, [pod.key for pod in self.pods])
        pods = sum(unit.size for unit in landscape.units)
        sizes = _list_sizes(min(pods, MAX_MOVES), may_end=self.options.may_end)
        for moves, ends in sizes:
            self.progress(f"looking for plans that move {moves} pods")
            success = self._find_best(search, prover, moves, ends)
            if success is not None:
                return success
            if search.is_cut:
                self.is_exhausted = False
                self.unseen = f"not all plans that move {moves + ends} pods were looked at"
                return None
        self.is_exhausted = pods <= MAX_MOVES
        self.unseen = f"plans that move more than {MAX_MOVES} pods were not looked at"
        return None

    def _find_best(self, search: Search, prover: Prover, moves: int, ends: int) -> _Success | None:
        """Return the cheapest proven candidate of one size, as far as the work allows."""
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
        """Order candidates by whose work they end: priority, what a restart repeats, age."""
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
    """Place the pods of a subject that fit without a move: kube-scheduler does not wait."""
    scheduler = Scheduler(subject.state, features)
    pods = [subject.state.pod(key) for key in subject.pods]
    queue = [
        QueuedPod(pod, generates_claims=pod.has_uncreated_claims or not pod.uid)
        for pod in pods
        if not pod.node_name
    ]
    return schedule_pods(scheduler, queue, {}, "as is").scheduler


def _list_sizes(limit: int, *, may_end: bool) -> Iterator[tuple[int, int]]:
    """Yield numbers of moves and ends: the fewest ends first, then the fewest moves."""
    for ends in count() if may_end else (0,):
        if ends > limit:
            return
        for moves in range(limit - ends + 1):
            if moves + ends:
                yield moves, ends
