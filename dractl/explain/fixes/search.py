"""Search for fixes: make candidates from causes, prove them by attempts, preferred ones first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice

from msgspec.structs import replace

from dractl.cluster.changes import Delete, Patch, PatchError, apply, parse_target
from dractl.cluster.managers import find_manager
from dractl.cluster.shell import NextStep
from dractl.cluster.state import ClusterState
from dractl.explain.answer import Explanation, Fix, FixResult
from dractl.explain.ask import Question
from dractl.explain.fixes import holders, pod_templates
from dractl.explain.fixes.candidates import Candidate, FixSlot, Topic, combine
from dractl.explain.fixes.joint import JointSearch, chain
from dractl.explain.fixes.makers import make_candidates
from dractl.explain.fixes.outlook import Outlook
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.problem import FixProblem
from dractl.explain.fixes.proof import (
    Proven,
    make_authored_changes,
    predict,
    prove,
    spare_parts,
    verify,
)
from dractl.explain.fixes.steps import find_manual_edit, steps
from dractl.explain.obstacles import Oracle, recreate_subject
from dractl.explain.reasons.gangs import PodGroupMissing
from dractl.explain.reasons.phrases import join_clauses
from dractl.explain.reasons.scheduling import NoConsumer, PodDeleting, WouldFitNow
from dractl.explain.reasons.selectors import SelectorError, SelectorFalse

Explain = Callable[[ClusterState, Question], Explanation]

MAX_TRIALS = 64
"""The maximum number of candidates that are tried."""
MAX_VAIN_CHANGES = 2
"""The maximum number of changes that are named although they do not help."""
MAX_COMBINATIONS = 6
"""The maximum number of combinations of corrections that are proven for some nodes."""
MAX_JOINT_ATTEMPTS = 200
"""The maximum number of attempts for fixes that correct several obstacles."""
MAX_NODE_SETS = 3
"""The maximum number of sets of nodes for which the obstacles are corrected together."""
_SELECTOR_CODES = {cause.page.code for cause in (SelectorFalse, SelectorError)}
_ENDING_PREFERENCES = (Preference.LAST, Preference.OUTAGE)
_FREEING_TOPICS = {Topic.ENDING, Topic.ROLLOUT, Topic.WAIT, Topic.SHARING, Topic.POD}


def find_fixes(problem: FixProblem, most: int, explain: Explain) -> FixResult:
    """Return up to ``most`` proven fixes, in the order in which an experienced engineer would
    consider them.

    ``explain`` answers a question about another cluster.
    """
    unseen = any(isinstance(cause, PodGroupMissing) and cause.unseen for cause in problem.causes)
    if unseen or isinstance(problem.headline_cause, PodDeleting):
        # The scheduler tries no pod without its group, and a new pod cannot take the name of a pod
        # that is being deleted.
        return FixResult()
    search = _Search(problem, explain)
    for candidate in _sort_candidates(problem):
        if len(search.tried) >= MAX_TRIALS or len(search.proven) >= most:
            break
        search.try_candidate(candidate)
        if search.proven and search.proven[-1].candidate.slot.topic is Topic.POD:
            break  # a new pod fits, so nothing else has to change
    return search.result()


def _sort_candidates(problem: FixProblem) -> list[Candidate]:
    """Return the candidates for a problem, the smallest first.

    If the subject fits already, they only wait or create a consumer.
    """
    candidates = sorted(make_candidates(problem), key=lambda c: c.size)
    only = Topic.WAIT if isinstance(problem.headline_cause, WouldFitNow) else None
    if isinstance(problem.headline_cause, NoConsumer) and problem.case.attempt.fits:
        only = Topic.CONSUMER
    return [c for c in candidates if only in (None, c.slot.topic)]


class _Search:
    """The search for the fixes of one problem."""

    def __init__(self, problem: FixProblem, explain: Explain) -> None:
        self.problem = problem
        self.explain = explain
        self.done: set[FixSlot | Topic] = set()
        """Slots that have a proven fix."""
        self.tried: set[str] = set()
        """Fingerprints of the candidates."""
        self.proven: list[Proven] = []
        self.insufficient: dict[FixSlot, tuple[Candidate, Explanation]] = {}
        """Corrections that are not enough, each with the explanation of the subject after it."""
        self.corrected: set[FixSlot] = set()
        """Slots whose remaining candidates are tried only if they are corrections."""
        self.in_vain: Counter[FixSlot] = Counter()
        self.vain: dict[str, tuple[Candidate, Outlook]] = {}
        """Candidates after which the pod fits if judged by itself, but does not run in the
        simulation.
        """

    def try_candidate(self, candidate: Candidate) -> None:
        """Prove a candidate, unless another candidate has taken its slot."""
        slot = candidate.slot
        fingerprint = repr((bool(candidate.changes), candidate.trial, candidate.features))
        if slot in self.done or self.done.intersection(candidate.superseded_by):
            return
        if fingerprint in self.tried or (slot in self.corrected and not candidate.corrects):
            return
        if candidate.title in self.vain or self.in_vain[slot] >= MAX_VAIN_CHANGES:
            return
        self.tried.add(fingerprint)
        nodes = self._verify(candidate)
        if nodes:
            self._judge_outlook(candidate, nodes, predict(self.problem, candidate, nodes))
        elif candidate.corrects and candidate.changes and slot not in self.insufficient:
            self._keep_insufficient(candidate)

    def _verify(self, candidate: Candidate) -> tuple[str, ...]:
        """Return the nodes on which the subject fits after a change.

        The nodes on which the change can help are tried first, since most changes are not enough
        there. If the subject fits on them, all nodes are tried: a selector that fails to evaluate
        on another node ends the scheduler's attempt.
        """
        if candidate.nodes and not verify(self.problem, candidate, candidate.nodes):
            return ()
        return verify(self.problem, candidate)

    def _judge_outlook(
        self, candidate: Candidate, nodes: tuple[str, ...], outlook: Outlook
    ) -> None:
        if outlook.fix is None:
            self.in_vain[candidate.slot] += 1
            if outlook.why:
                self.vain.setdefault(candidate.title, (candidate, outlook))
            return
        self.done |= {candidate.slot, candidate.slot.topic}
        self.proven.append(spare_parts(self.problem, Proven(outlook.fix, nodes), combine))

    def _keep_insufficient(self, candidate: Candidate) -> None:
        """Keep a correction that is not enough, with the explanation of the subject after it."""
        try:
            state = apply(self.problem.state, candidate.trial)
        except PatchError:
            return
        trial = recreate_subject(state, self.problem.state, self.problem.question)
        remainder = self.explain(state, trial.question)
        if remainder.fits:
            return
        self.insufficient[candidate.slot] = candidate, remainder
        is_selector = bool(remainder.reasons) and remainder.reasons[0].code in _SELECTOR_CODES
        if not is_selector and all(stage.kept for stage in remainder.funnel):
            # The selector is then right, and something else keeps the subject pending.
            self.corrected.add(candidate.slot)

    # -- the result --

    def result(self) -> FixResult:
        """Return the fixes, and the notes on changes that do not help."""
        shown = self._select_shown()
        shown = [*self._find_joint_fixes(shown), *shown]
        fixes = tuple(_make_fix(self.problem, each, n) for n, each in enumerate(shown, 1))
        insufficient = [pair for slot, pair in self.insufficient.items() if slot not in self.done]
        notes = [
            f"it is not enough to {candidate.title}. After that: {then.headline}"
            for candidate, then in insufficient
        ]
        notes += (
            f"would not help: {title}: {then.why}"
            for title, (_, then) in islice(self.vain.items(), MAX_VAIN_CHANGES)
        )
        steps_after: list[NextStep] = []
        if not fixes:
            if not _FREEING_TOPICS & self.done:
                notes += holders.note_recreated_pods(self.problem)
            steps_after = [
                NextStep(f"{candidate.title}, which is needed and not enough")
                for candidate, _ in insufficient
            ]
            steps_after += (step for _, then in insufficient for step in then.next)
        steps_after += self._list_steps_of_little_use(shown)
        return FixResult(fixes, tuple(notes), tuple(steps_after))

    def _select_shown(self) -> list[Proven]:
        """Return the fixes that are shown, which no other fix supersedes."""
        shown = [
            each for each in self.proven if not self.done.intersection(each.candidate.superseded_by)
        ]
        # Nobody would end the last replica of another workload if something else helps.
        gentle = [e for e in shown if e.candidate.preference is not Preference.OUTAGE]
        return gentle or shown

    def _find_joint_fixes(self, shown: Sequence[Proven]) -> list[Proven]:
        """Return a fix that corrects several obstacles, unless a shown fix keeps all conditions or
        ends pods.

        Corrections of an intent come before changes that give it up. If a part of the fix is not a
        change, such as waiting for a node, a second fix that only changes objects follows.
        """
        if not all(
            each.candidate.preference >= Preference.RELAX
            and each.candidate.preference not in _ENDING_PREFERENCES
            for each in shown
        ):
            return []
        first = self._find_joint_fix(shown, lambda _: True)
        if first is None:
            return []
        if all(part.changes for part in first.candidate.parts or (first.candidate,)):
            return [first]
        second = self._find_joint_fix(shown, lambda candidate: bool(candidate.changes))
        return [first] if second is None else [first, second]

    def _find_joint_fix(
        self, shown: Sequence[Proven], accepts: Callable[[Candidate], bool]
    ) -> Proven | None:
        """Return a fix for the nearest nodes; ``accepts`` is true for each of its parts."""
        oracle = Oracle(self.problem.case.scheduler, MAX_JOINT_ATTEMPTS)
        joint = JointSearch(self.problem, oracle, accepts, self.corrected)
        for obstacles in self.problem.obstacles.on_nodes[:MAX_NODE_SETS]:
            if len(obstacles.demands) < 2 and not self.insufficient:
                continue  # each candidate for the only obstacle has been tried already
            for candidate in islice(joint.combinations(obstacles), MAX_COMBINATIONS):
                if shown and candidate.preference >= shown[0].candidate.preference:
                    continue
                proven = prove(self.problem, candidate)
                if proven is not None:
                    return spare_parts(self.problem, proven, partial(chain, self.problem))
        return None

    def _list_steps_of_little_use(self, shown: Sequence[Proven]) -> list[NextStep]:
        """Return the changes that help pods ahead in the queue before they help the subject."""
        later = [candidate for candidate, then in self.vain.values() if then.behind]
        if shown:
            later = [c for c in later if c.preference < shown[0].candidate.preference]
        return [_make_step(self.problem, candidate) for candidate in later[:MAX_VAIN_CHANGES]]


def corrections(problem: FixProblem) -> tuple[NextStep, ...]:
    """Return corrections of wrong values as next steps, without a proof that the subject then fits.

    A proof would need devices and nodes, which the user is not allowed to read.
    """
    steps_by_slot: dict[str, NextStep] = {}
    for candidate in sorted(make_candidates(problem), key=lambda c: c.size):
        if not candidate.corrects or candidate.preference is not Preference.CORRECT:
            continue
        changes = make_authored_changes(problem, candidate)
        if changes:
            commands = _add_commands(problem, Fix(candidate.title, changes)).steps
            command = str(commands[0]) if len(commands) == 1 else ""
            step = NextStep(f"{candidate.title}; not verified", command)
            steps_by_slot.setdefault(candidate.slot.detail, step)
    return tuple(steps_by_slot.values())


def _make_step(problem: FixProblem, candidate: Candidate) -> NextStep:
    """Return a change that helps pods ahead in the queue first, as a next step."""
    commands = steps(problem.state, problem.question, candidate.changes)
    command = commands[-1].command if len(commands) == 1 else ""
    return NextStep(
        f"{candidate.title} helps only after the pods ahead in the queue have been placed", command
    )


def _make_fix(problem: FixProblem, proven: Proven, rank: int) -> Fix:
    """Return a proven candidate as a fix, with its commands."""
    candidate = proven.candidate
    changes = make_authored_changes(problem, candidate)
    assert changes is not None
    restarted = {
        problem.question.key,
        *(parse_target(c.target)[1] for c in changes if isinstance(c, Delete)),
    }
    remarks = dict.fromkeys(
        pod_templates.describe_affected_pods(problem.state, restarted, c)
        for c in changes
        if isinstance(c, Patch)
    )
    fix = Fix(
        candidate.title,
        changes,
        candidate.effect,
        proven.nodes,
        rank,
        candidate.trial if candidate.trial != changes else (),
        parts=tuple(part.title for part in candidate.parts),
    )
    return _add_commands(problem, fix, remarks)


def _add_commands(problem: FixProblem, fix: Fix, remarks: Iterable[str] = ()) -> Fix:
    """Return a fix with the commands that apply it, unless a manager would revert them."""
    maker = find_manual_edit(problem.state, problem.question, fix.changes)
    managed = find_manager(problem.state, fix.changes)
    advice = ""
    if maker:
        advice = f"change it in {maker}"
    elif managed is not None:
        advice = managed.advice
    is_reverted = managed is not None and managed.reverts
    # A part may already have its own remarks.
    advice = advice if advice not in fix.effect else ""
    return replace(
        fix,
        effect=join_clauses(*fix.effect.split("; "), *remarks, advice),
        steps=() if is_reverted else steps(problem.state, problem.question, fix.changes),
        by_hand=maker or (managed.name if managed is not None and is_reverted else None),
    )
