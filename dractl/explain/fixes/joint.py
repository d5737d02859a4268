"""A fix for several obstacles: one correction for each, proven together.

Each obstacle is corrected in the cluster after the corrections before it, with all later obstacles
lifted. So the makers of candidates see one obstacle at a time.
"""

from collections.abc import Callable, Container, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.cluster.changes import Change, Patch, PatchError, apply
from dractl.explain.fixes.candidates import (
    Candidate,
    FixSlot,
    join,
    join_patches,
    order_parts,
    subtract_changes,
)
from dractl.explain.fixes.makers import make_candidates
from dractl.explain.fixes.owners import Owners
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.problem import FixProblem
from dractl.explain.fixes.proof import (
    find_evicting_devices,
    list_lasting_nodes,
    make_authored_changes,
    select_shown_changes,
)
from dractl.explain.obstacles import Demand, NodeObstacles, Oracle, Trial, recreate_subject
from dractl.explain.obstacles.claim_demands import RequestedDevices
from dractl.explain.obstacles.demands import NodeAffinity, NodeLabel
from dractl.explain.obstacles.isolation import isolate
from dractl.explain.obstacles.search import find_obstacles
from dractl.explain.obstacles.trial import lift_all

MAX_CHOICES = 3
"""The maximum number of corrections of one obstacle that are combined with those of other
obstacles.
"""
MAX_CANDIDATES = 40
"""The maximum number of candidates that are tried for one obstacle."""
MAX_DEPTH = 12
"""The maximum number of corrections in one fix."""


class Plan(Struct, frozen=True):
    """The cluster after the corrections that were chosen so far."""

    trial: Trial
    """The cluster, and the subject as people wrote it."""
    demands: tuple[Demand, ...]
    """The obstacles that remain."""
    nodes: tuple[str, ...]
    """The nodes on which the subject has to fit."""
    parts: tuple[Candidate, ...] = ()
    """The corrections, each with the changes that a person makes."""


class JointSearch:
    """The search for fixes of one problem that have a part for each obstacle."""

    def __init__(
        self,
        problem: FixProblem,
        oracle: Oracle,
        accepts: Callable[[Candidate], bool],
        corrected: Container[FixSlot] = (),
    ) -> None:
        self.problem = problem
        self.oracle = oracle
        self.accepts = accepts
        """Decides whether a candidate may be a part."""
        self.corrected = corrected
        """The slots in which only candidates that correct a mistake are tried."""

    def combinations(self, obstacles: NodeObstacles) -> Iterator[Candidate]:
        """Yield candidates that correct all obstacles on some nodes, the preferred ones first."""
        if _leads_elsewhere(obstacles):
            return
        trial = Trial(self.problem.case.state, self.problem.question)
        plan = Plan(trial, obstacles.demands, obstacles.nodes)
        for whole in self._complete(plan):
            yield chain(self.problem, whole.parts)

    def _complete(self, plan: Plan) -> Iterator[Plan]:
        if not plan.demands:
            yield plan
            return
        if self.oracle.is_exhausted or len(plan.parts) >= MAX_DEPTH:
            return
        for further in self._correct_first(plan):
            yield from self._complete(further)

    def _correct_first(self, plan: Plan) -> Iterator[Plan]:
        """Yield the plans in which the first remaining obstacle is corrected.

        Candidates that correct a mistake come first. If one of them is not enough, it is combined
        with other corrections of the same obstacle. Only then come candidates that drop a condition
        of the subject.
        """
        demand, *others = plan.demands
        problem = self._isolate(plan, others)
        if problem is None:  # an earlier correction has removed it
            yield Plan(plan.trial, tuple(others), plan.nodes, plan.parts)
            return
        slots: set[FixSlot] = set()
        tried: set[str] = set()
        insufficient: list[Candidate] = []
        candidates = sorted(make_candidates(problem), key=lambda c: c.size)[:MAX_CANDIDATES]
        for candidate in candidates:
            if candidate.preference >= Preference.RELAX:
                yield from self._follow_up(plan, problem, insufficient)
                insufficient = []
            if len(slots) >= MAX_CHOICES or self.oracle.is_exhausted:
                return
            if candidate.slot in slots or not self._is_for(demand, candidate):
                continue
            if candidate.slot in self.corrected and not candidate.corrects:
                continue
            fingerprint = repr((candidate.title, candidate.trial))
            if fingerprint in tried:
                continue
            tried.add(fingerprint)
            further = self._correct(plan, problem, candidate, others)
            if further is not None:
                slots.add(candidate.slot)
                yield self._look_again(further) if demand.hides else further
            elif candidate.corrects and candidate.changes:
                insufficient.append(candidate)
        yield from self._follow_up(plan, problem, insufficient)

    def _follow_up(
        self, plan: Plan, problem: FixProblem, insufficient: Sequence[Candidate]
    ) -> Iterator[Plan]:
        """Yield one plan per insufficient correction. The obstacle remains in the plan, so further
        corrections of it follow.
        """
        titles = {part.title for part in plan.parts}
        for candidate in insufficient[:MAX_CHOICES]:
            further = self._advance(plan, problem, candidate)
            if further is not None and candidate.title not in titles:
                yield further

    def _isolate(self, plan: Plan, others: Sequence[Demand]) -> FixProblem | None:
        """Return the problem with the other obstacles lifted; None if the subject fits then."""
        base, written = self.problem.case, plan.trial
        isolated = isolate(self.oracle, base, written.state, others, plan.nodes)
        if isolated.conclusion.fits:
            return None
        question = written.question
        owners = Owners(written.state, question.key, question.value)
        return FixProblem(isolated.case, isolated.causes, owners, None, written, base)

    def _is_for(self, demand: Demand, candidate: Candidate) -> bool:
        """Decide whether a candidate may be one part of a fix.

        Only changes up to ``Preference.RESTORE`` can bring devices to a request that has none.
        """
        if candidate.features is not None or not self.accepts(candidate):
            return False
        is_unpublished = isinstance(demand, RequestedDevices)
        return not is_unpublished or candidate.preference <= Preference.RESTORE

    def _correct(
        self, plan: Plan, problem: FixProblem, candidate: Candidate, others: Sequence[Demand]
    ) -> Plan | None:
        """Return the plan with a correction; None if it is not enough, or if nobody can make it."""
        base = self.problem.case
        try:
            state = apply(plan.trial.state, candidate.trial)
        except PatchError:
            return None
        trial = lift_all(recreate_subject(state, base.state, base.question), others)
        nodes = self.oracle.list_fitting_nodes(trial, plan.nodes)
        evicting = find_evicting_devices(self.oracle.scheduler.with_state(trial.state))
        names = tuple(node.name for node in list_lasting_nodes(nodes, evicting))
        further = self._advance(plan, problem, candidate) if names else None
        if further is None:
            return None
        return Plan(further.trial, tuple(others), names, further.parts)

    def _advance(self, plan: Plan, problem: FixProblem, candidate: Candidate) -> Plan | None:
        """Return the plan with a correction, without checking where the subject fits then; None if
        a person cannot make the correction.
        """
        authored = make_authored_changes(problem, candidate)
        if authored is None:
            return None
        question = plan.trial.question
        try:
            state = apply(plan.trial.state, candidate.trial)
            edits, _ = split_recreation(self.problem, authored)
            edits = select_shown_changes(state, edits)
            state = apply(state, subtract_changes(edits, candidate.trial))
        except PatchError:
            return None
        value = state.get(question.kind, question.key) or question.value
        part = Candidate(
            candidate.title,
            authored,
            candidate.slot,
            candidate.preference,
            effect=candidate.effect,
            consequences=candidate.trial,
        )
        trial = Trial(state, replace(question, value=value))
        return Plan(trial, plan.demands, plan.nodes, (*plan.parts, part))

    def _look_again(self, plan: Plan) -> Plan:
        """Return the plan with the obstacles that became visible after its corrections."""
        base = self.problem.case
        trial = recreate_subject(plan.trial.state, base.state, base.question)
        sets = find_obstacles(self.oracle, trial).on_nodes or (NodeObstacles(plan.nodes, (), 0),)
        on_same_nodes = (each for each in sets if set(each.nodes) & set(plan.nodes))
        nearest = next(on_same_nodes, sets[0])
        return Plan(plan.trial, nearest.demands, nearest.nodes, plan.parts)


def _leads_elsewhere(obstacles: NodeObstacles) -> bool:
    """Return True if no change of these nodes is worthwhile: the pod's node selection excludes
    them, and they lack the devices.
    """
    kinds = {type(demand) for demand in obstacles.demands}
    return RequestedDevices in kinds and not kinds.isdisjoint((NodeLabel, NodeAffinity))


def chain(problem: FixProblem, parts: Sequence[Candidate]) -> Candidate:
    """Return one candidate for several, each made in the cluster after the previous ones.

    So every operation of a later candidate is kept, even if it equals an earlier operation. The
    subject is recreated once, after everything else.
    """
    edits, recreation = split_recreation(problem, [c for part in parts for c in part.changes])
    trial = join_patches(change for part in parts for change in part.trial)
    return join(parts, order_parts(parts), (*join_patches(edits), *recreation), trial)


def split_recreation(
    problem: FixProblem, changes: Sequence[Change]
) -> tuple[list[Change], tuple[Change, ...]]:
    """Split changes into edits, and changes that recreate the subject. The second part is empty if
    an edit patches the subject, since that recreates it anyway.
    """
    edits: list[Change] = []
    recreation: dict[type[Change], Change] = {}
    for change in changes:
        if change.target == problem.target and not isinstance(change, Patch):
            recreation[type(change)] = change
        else:
            edits.append(change)
    is_patched = any(change.target == problem.target for change in edits)
    return edits, () if is_patched else tuple(recreation.values())
