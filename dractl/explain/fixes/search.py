"""The search for fixes: candidates made from causes, each verified by another attempt, the preferred ones first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import DeviceID
from dractl.cluster.changes import Change, Delete, Patch, PatchError, apply, parse_target
from dractl.cluster.managers import find_manager
from dractl.cluster.shell import NextStep
from dractl.cluster.state import API_GROUPS, ClusterState
from dractl.explain.answer import Explanation, Fix
from dractl.explain.ask import Question, claim_question, pods_from_templates
from dractl.explain.fixes import holders, pod_templates
from dractl.explain.fixes.candidates import (
    SUBSTITUTE_EFFECT,
    Candidate,
    FixProblem,
    FixSlot,
    Topic,
    combine,
    make_candidates,
    order_parts,
)
from dractl.explain.fixes.edits import remove
from dractl.explain.fixes.outlook import Outlook, predict_outlook
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.steps import find_manual_edit, steps
from dractl.explain.fixes.tolerations import find_evicting_taint, list_evicting_taints
from dractl.explain.reasons.gangs import PodGroupMissing
from dractl.explain.reasons.limits import ClassMissing
from dractl.explain.reasons.scheduling import NoConsumer, PodDeleting, WouldFitNow
from dractl.explain.reasons.selectors import SelectorError, SelectorFalse
from dractl.model import DeviceTaint, Target
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.verdict import Attempt
from dractl.simulation.admission import find_rejection

Explain = Callable[[ClusterState, Question, int], Explanation]


_SELECTOR = {cause.page.code for cause in (SelectorFalse, SelectorError)}
_TRIALS = 64
_CORRECTED = 2  # corrections that are followed by others
_FURTHER = 3  # fixes that may follow a correction
_REASONS = 4  # of what else keeps a pod
_PAIRED = 8  # changes that are tried two at a time
_ENDS = (Preference.LAST, Preference.OUTAGE)
_VAIN = 2  # changes that are named although they do not help


class FixResult(Struct, frozen=True):
    """Fixes, and notes about changes that are not enough; ``next`` are the next steps after such a change, where there
    is no fix."""

    fixes: tuple[Fix, ...] = ()
    notes: tuple[str, ...] = ()
    next: tuple[NextStep, ...] = ()


def find_fixes(problem: FixProblem, most: int, explain: Explain) -> FixResult:
    """Up to ``most`` verified fixes, in the order in which an experienced engineer would consider them. ``explain``
    answers a question about another cluster, with so many fixes."""
    unseen = any(isinstance(cause, PodGroupMissing) and cause.unseen for cause in problem.causes)
    if unseen or isinstance(problem.headline_cause, PodDeleting):
        return FixResult()  # nothing is tried until its group is there; nothing of its name can be made until it is gone
    candidates = sorted(make_candidates(problem), key=lambda c: c.size)
    # Where it fits already, to change anything is to do too much.
    only = Topic.WAIT if isinstance(problem.headline_cause, WouldFitNow) else None
    if isinstance(problem.headline_cause, NoConsumer) and problem.case.attempt.fits:
        only = Topic.CONSUMER
    candidates = [c for c in candidates if only in (None, c.slot.topic)]
    done: set[FixSlot | Topic] = set()
    tried: set[str] = set()
    failed: dict[
        FixSlot, tuple[Candidate, Explanation]
    ] = {}  # corrections that are not enough, and what is left then
    around: set[FixSlot] = set()  # slots of which only corrections are left
    fixes: list[tuple[Candidate, tuple[str, ...]]] = []  # with the nodes that fit
    in_vain: Counter[FixSlot] = Counter()
    vain: dict[
        str, tuple[Candidate, Outlook]
    ] = {}  # after which the pod would fit by itself, and what comes of them
    for candidate in candidates:
        fingerprint = repr((candidate.trial, candidate.features))
        if (
            candidate.slot in done
            or done.intersection(candidate.superseded_by)
            or fingerprint in tried
        ):
            continue
        if candidate.slot in around and not candidate.corrects:
            continue
        if candidate.title in vain or in_vain[candidate.slot] >= _VAIN:
            continue
        if len(tried) >= _TRIALS or len(fixes) >= most:
            break
        tried.add(fingerprint)
        fitting = verify(problem, candidate)
        then = _offered(problem, candidate, fitting) if fitting else None
        if then is not None and then.fix is not None and candidate.parts:
            least, fitting = _least(problem, then.fix, fitting)
            then = Outlook(least)
        if then is not None and then.fix is None:
            in_vain[candidate.slot] += 1
            if then.why:
                vain.setdefault(candidate.title, (candidate, then))
        elif then is not None and then.fix is not None:
            done |= {candidate.slot, candidate.slot.topic}
            fixes.append((then.fix, fitting))
            if candidate.slot.topic is Topic.POD:
                break  # a new pod fits: there is nothing to change
        elif candidate.corrects and candidate.changes and candidate.slot not in failed:
            left = _after(problem, candidate, explain)
            if left is None or left.fits:
                continue
            failed[candidate.slot] = candidate, left
            if not left.reasons or left.reasons[0].code not in _SELECTOR:
                around.add(
                    candidate.slot
                )  # the selector is right then, and something else is in the way
    shown = [(c, nodes) for c, nodes in fixes if not done.intersection(c.superseded_by)]
    shown.sort(key=lambda item: item[0].reluctant)
    if shown and shown[0][0].reluctant:
        shown = []
    gentle = [item for item in shown if item[0].preference is not Preference.OUTAGE]
    shown = gentle or shown  # nobody ends the last replica of others where something else helps
    found = tuple(_fix(problem, c, nodes, n + 1) for n, (c, nodes) in enumerate(shown))
    if all(
        c.preference >= Preference.RELAX and c.preference not in _ENDS for c, _ in shown
    ):  # what was meant comes before giving it up
        found = (*_one_after_the_other(problem, [c for c, _ in failed.values()], explain), *found)
    found = found or _two_at_once(
        problem, [c for c in candidates if c.slot not in around and not c.corrects]
    )
    open_ = [item for slot, item in failed.items() if slot not in done]
    wrong = tuple(f"not enough by itself: {c.title}. Then {then.headline}" for c, then in open_)
    wrong += tuple(
        f"would not help: {title}: {then.why}" for title, (_, then) in list(vain.items())[:_VAIN]
    )
    frees = {Topic.ENDING, Topic.ROLLOUT, Topic.WAIT, Topic.SHARING, Topic.POD}
    held = () if found or frees & done else holders.note_recreated_pods(problem)
    others = () if found else _besides(problem, explain)
    after = (
        ()
        if found
        else tuple(NextStep(f"{c.title}, which is needed and not enough") for c, _ in open_)
    )
    after += () if found else tuple(step for _, then in open_ for step in then.next)
    later = [c for c, then in vain.values() if then.behind]
    better = (c for c in later if not shown or c.preference < shown[0][0].preference)
    after += tuple(_of_little_use(problem, candidate) for candidate in better)[:_VAIN]
    return FixResult(found, (*wrong, *held, *others), after)


def corrections(problem: FixProblem) -> tuple[NextStep, ...]:
    """What puts right what was written wrong, where it cannot be verified that the subject fits then: what devices and
    nodes there are may not be read."""
    found: dict[str, NextStep] = {}
    for candidate in sorted(make_candidates(problem), key=lambda c: c.size):
        changes = (
            authored_changes(problem, candidate)
            if candidate.preference is Preference.CORRECT
            else None
        )
        if changes and candidate.corrects:
            how = _applied(problem, Fix(candidate.title, changes)).steps
            command = str(how[0]) if len(how) == 1 else ""
            found.setdefault(
                candidate.slot.detail, NextStep(f"{candidate.title}; not verified", command)
            )
    return tuple(found.values())


def _of_little_use(problem: FixProblem, candidate: Candidate) -> NextStep:
    """A change of which others have the use first."""
    how = steps(problem.state, problem.question, candidate.changes)
    command = how[-1].command if len(how) == 1 else ""
    return NextStep(
        f"{candidate.title} helps only after the pods ahead in the queue have been placed", command
    )


def _fix(problem: FixProblem, candidate: Candidate, nodes: tuple[str, ...], rank: int) -> Fix:
    changes = authored_changes(problem, candidate)
    assert changes is not None
    restarted = {
        problem.question.key,
        *(parse_target(c.target)[1] for c in changes if isinstance(c, Delete)),
    }
    concerned = dict.fromkeys(
        pod_templates.describe_affected_pods(problem.state, restarted, c)
        for c in changes
        if isinstance(c, Patch)
    )
    tried = candidate.trial if candidate.trial != changes else ()
    return _applied(
        problem, Fix(candidate.title, changes, candidate.effect, nodes, rank, tried), concerned
    )


def _applied(problem: FixProblem, fix: Fix, remarks: Iterable[str] = ()) -> Fix:
    """A fix with the commands that apply it; without them where somebody would undo what they do."""
    maker = find_manual_edit(problem.state, problem.question, fix.changes)
    managed = find_manager(problem.state, fix.changes)
    where = f"change it in {maker}" if maker else managed.advice if managed is not None else ""
    reverted = managed is not None and managed.reverts
    effects = (
        *fix.effect.split("; "),
        *remarks,
        where if where not in fix.effect else "",
    )  # a part may have remarks
    return replace(
        fix,
        effect="; ".join(dict.fromkeys(filter(None, effects))),
        steps=() if reverted else steps(problem.state, problem.question, fix.changes),
        by_hand=maker or (managed.name if managed is not None and reverted else None),
    )


def _offered(problem: FixProblem, candidate: Candidate, nodes: Sequence[str]) -> Outlook:
    """What comes of a candidate after which the subject by itself fits on ``nodes``."""
    changes = authored_changes(problem, candidate)
    assert changes is not None
    return predict_outlook(problem, candidate, changes, nodes)


def authored_changes(problem: FixProblem, candidate: Candidate) -> tuple[Change, ...] | None:
    """The changes of a candidate where a person makes them: of a pod that a workload makes its pod template is changed.
    None where nobody could, or the API server would refuse it."""
    changes: list[Change] = []
    for change in candidate.changes:
        moved = change
        if isinstance(change, Patch) and change.target == problem.target:
            placed = pod_templates.move_to_template(problem.state, problem.question.key, change)
            if placed is None:
                return None
            moved = placed
        changes.append(moved)
    features = problem.scheduler.features
    present = [
        c
        for c in changes
        if not isinstance(c, Patch) or problem.state.get(*parse_target(c.target)) is not None
    ]
    try:
        refused = find_rejection(problem.state, present, Target(features.release, features.on))
    except PatchError:
        return None
    return tuple(changes) if refused is None else None


def _one_after_the_other(
    problem: FixProblem, corrections: Sequence[Candidate], explain: Explain
) -> tuple[Fix, ...]:
    """A correction that is not enough by itself, together with what fixes the rest."""
    for correction in corrections[:_CORRECTED]:
        first = authored_changes(problem, correction)
        then = _after(problem, correction, explain, fixes=_FURTHER)
        if first is None or then is None:
            continue
        further = [fix for fix in then.fixes if fix.changes and not _undoes(fix.changes, first)]
        further = [
            fix
            for fix in further
            if SUBSTITUTE_EFFECT not in fix.effect or not _rewrites(fix.changes, first)
        ]
        rest = min(further, key=lambda fix: _rewrites(fix.changes, first), default=None)
        if rest is None:
            continue
        further_on = Candidate(
            rest.title,
            rest.changes,
            correction.slot,
            correction.preference,
            effect=rest.effect,
            consequences=rest.tried,
        )
        whole = combine((correction, further_on))
        fitting = verify(problem, whole)
        offered = _offered(problem, whole, fitting) if fitting else None
        if offered is not None and offered.fix is not None:
            least, nodes = _least(problem, offered.fix, fitting)
            return (_fix(problem, least, nodes, 1),)
    return ()


def _least(
    problem: FixProblem, candidate: Candidate, nodes: tuple[str, ...]
) -> tuple[Candidate, tuple[str, ...]]:
    """A joint candidate without each part that it helps without, the costliest dropped first, and where the subject
    fits then. What a later part writes again is no part by itself."""
    for part in sorted(candidate.parts, key=lambda part: part.size, reverse=True):
        others = [p for p in candidate.parts if p is not part]
        if not others or any(_rewrites(p.changes, part.changes) for p in others):
            continue
        rest = combine(others)
        fitting = verify(problem, rest)
        offered = _offered(problem, rest, fitting).fix if fitting else None
        if offered is not None:
            candidate, nodes = offered, fitting
    return candidate, nodes


def _rewrites(later: Sequence[Change], earlier: Sequence[Change]) -> bool:
    written = {(c.target, o["path"]) for c in earlier if isinstance(c, Patch) for o in c.operations}
    return any(
        (c.target, o["path"]) in written
        for c in later
        if isinstance(c, Patch)
        for o in c.operations
    )


def _undoes(later: Sequence[Change], earlier: Sequence[Change]) -> bool:
    """True if later changes remove the very part that earlier ones correct."""
    removed = {
        (c.target, str(o["path"]))
        for c in later
        if isinstance(c, Patch)
        for o in c.operations
        if o["op"] == "remove"
    }
    return any(
        target == c.target and str(o["path"]).startswith(f"{path}/")
        for c in earlier
        if isinstance(c, Patch)
        for o in c.operations
        for target, path in removed
    )


def _besides(problem: FixProblem, explain: Explain) -> tuple[str, ...]:
    """What else keeps the pod, where a class that does not exist ends the scheduler's attempt before any node: the
    headline without the requests of such classes."""
    missing = [
        c.request for c in problem.causes if isinstance(c, ClassMissing) and c.request is not None
    ]
    places = {
        (w.target, _request_path(w.part.path))
        for ref in missing
        if (w := problem.editable_request(ref)) is not None
    }
    if not places or problem.question.kind != "Pod":
        return ()
    # From the last one of a list to the first, so that indices stay true.
    removed = sorted(places, key=lambda place: (place[0], place[1][-1]), reverse=True)
    patches = tuple(Patch(target, (remove(*path),)) for target, path in removed)
    without = Candidate("", patches, FixSlot(Topic.CLASS), Preference.DROP)
    then = _after(problem, without, explain)
    if then is None or then.fits:
        return ()
    names = " and ".join(dict.fromkeys(f"request {ref.name}" for ref in missing))
    more = [
        reason.message for reason in then.reasons[1:_REASONS] if reason.message not in then.headline
    ]
    return ("; ".join([f"that is not all: without {names}, {then.headline}", *more]),)


def _request_path(path: Sequence[str | int]) -> tuple[str | int, ...]:
    """The path of the request that an alternative, or its content, belongs to."""
    last = len(path) - 1 - tuple(reversed(path)).index("requests")
    return tuple(path[: last + 2])


def _after(
    problem: FixProblem, correction: Candidate, explain: Explain, *, fixes: int = 0
) -> Explanation | None:
    """The answer after a correction that is not enough by itself; None where it does not apply."""
    try:
        state = apply(problem.state, correction.trial)
    except PatchError:
        return None
    kind, key = problem.question.kind, problem.question.key
    value = {**(_of_workload(problem, state) or state.get(kind, key) or problem.question.value)}
    if kind == "Pod":  # created again, with the claims that its templates make then
        value["metadata"] = {k: v for k, v in value["metadata"].items() if k != "uid"}
        value["status"] = {}
    return explain(state, Question(kind, key, value), fixes)


def _of_workload(problem: FixProblem, state: ClusterState) -> Mapping[str, Any] | None:
    """Of a workload: the pod that the template of the question's pod makes in another state."""
    kind, key, asked = problem.question.kind, problem.question.key, problem.question.value
    before, after = problem.state.get(kind, key), state.get(kind, key)
    if kind in API_GROUPS or before is None or after is None:
        return None
    pods = zip(
        pods_from_templates(Question(kind, key, before)),
        pods_from_templates(Question(kind, key, after)),
        strict=False,
    )
    return next((then.value for now, then in pods if now.value == asked), asked)


def _two_at_once(problem: FixProblem, candidates: Sequence[Candidate]) -> tuple[Fix, ...]:
    """The smallest pair of changes that works, if no single change does."""
    single = (
        c for c in reversed(candidates) if c.changes and c.features is None and not c.reluctant
    )
    firsts: dict[object, Candidate] = {}
    for c in single:
        every = (
            c.title if c.slot.topic is Topic.COUNT else ""
        )  # of smaller numbers the largest is not always enough
        firsts[c.slot.topic if c.slot.topic is Topic.ENDING else (c.slot, every)] = c
    ordered = sorted(firsts.values(), key=lambda c: c.size)[:_PAIRED]
    for a, b in combinations(ordered, 2):
        if _rewrites(a.changes, b.changes):
            continue
        both = combine(order_parts((a, b)))
        fitting = verify(problem, both)
        offered = _offered(problem, both, fitting).fix if fitting else None
        if offered is not None:
            least, nodes = _least(problem, offered, fitting)
            return (_fix(problem, least, nodes, 1),)
    return ()


def verify(problem: FixProblem, candidate: Candidate) -> tuple[str, ...]:
    """The nodes on which the subject fits after the change; none where it does not, or nobody could make the change."""
    try:
        state = apply(problem.state, candidate.trial)
    except PatchError:
        return ()
    scheduler = (
        problem.scheduler.with_state(state)
        if candidate.features is None
        else Scheduler(state, candidate.features)
    )
    attempt = _again(problem, scheduler, candidate)
    if attempt is None or not attempt.fits or authored_changes(problem, candidate) is None:
        return ()
    if problem.gang is not None and not problem.gang.starts(state, scheduler.features):
        return ()
    evictors = _evictors(scheduler)
    return tuple(
        n.name
        for n in attempt.nodes
        if n.fits and find_evicting_taint(n.allocator_verdict, evictors) is None
    )


def _evictors(scheduler: Scheduler) -> Mapping[DeviceID, tuple[DeviceTaint, ...]]:
    """The devices that evict pods; looked for once in clusters with the same slices."""
    slices = scheduler.slices
    return scheduler.state.cache.from_sources(
        "evicting", (slices,), lambda _: list_evicting_taints(slices)
    )


def _again(problem: FixProblem, scheduler: Scheduler, candidate: Candidate) -> Attempt | None:
    """The verdict on the subject as it is after the change: the pod is created again, its templates make new claims."""
    question = problem.subject_question
    if question.kind in ("ResourceClaim", "ResourceClaimTemplate"):
        value = scheduler.state.get(question.kind, question.key)
        if value is None:
            return None
        pod = next(
            (
                c
                for c in scheduler.state.objects("Pod").values()
                if c not in problem.state.objects("Pod").values()
            ),
            None,
        )
        if candidate.slot.topic is Topic.CONSUMER and pod is not None:
            return scheduler.attempt_pod(pod)
        return scheduler.attempt_claim(
            claim_question(scheduler.state, Question(question.kind, question.key, value))
        )
    pod = scheduler.state.get("Pod", question.key) or question.value
    return scheduler.attempt_pod(pod, recreated=True)
