"""Changes after which a subject fits: made from its reasons, each verified by allocating again, the smallest first."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from dractl.explain.answer import Fix
from dractl.explain.changes import PatchError, apply
from dractl.explain.fixes import constraints, expressions, holders, nodes, objects, requests, settings, slices
from dractl.explain.fixes.candidates import Candidate, Case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dractl.explain.judge import Judge, Judgement

__all__ = ["Candidate", "Case", "find_fixes"]

_MAKERS: tuple[Callable[[Case], Iterator[Candidate]], ...] = (
    objects.references,
    objects.leftovers,
    objects.together,
    objects.device_class,
    objects.namespace,
    objects.quota,
    objects.gates,
    objects.consumer,
    objects.shared_claims,
    objects.extended_resources,
    requests.classes,
    expressions.repairs,
    constraints.relax,
    requests.counts,
    requests.narrower_all,
    requests.tolerations,
    requests.capacities,
    requests.without_gate,
    holders.release,
    holders.share,
    holders.taint_rules,
    nodes.admit,
    nodes.reach_slices,
    nodes.add_node,
    slices.complete,
    slices.publish,
    settings.wait,
    settings.features,
)
_TRIALS = 64
_PAIRED = 8  # changes that are tried two at a time


def find_fixes(case: Case, most: int) -> tuple[Fix, ...]:
    """Up to ``most`` verified fixes, the smallest first."""
    candidates = sorted((c for make in _MAKERS for c in make(case)), key=lambda c: c.size)
    done: set[str] = set()
    tried: set[str] = set()
    fixes: list[Fix] = []
    for candidate in candidates:
        fingerprint = repr((candidate.changes, candidate.features))
        if candidate.family in done or candidate.unless in done or fingerprint in tried:
            continue
        if len(tried) >= _TRIALS or len(fixes) >= most:
            break
        tried.add(fingerprint)
        fitting = verify(case, candidate)
        if fitting:
            done |= {candidate.family, candidate.family.partition(":")[0]}
            fixes.append(Fix(candidate.title, candidate.changes, candidate.effect, fitting, len(fixes) + 1))
    return tuple(fixes) or _two_at_once(case, candidates)


def _two_at_once(case: Case, candidates: Sequence[Candidate]) -> tuple[Fix, ...]:
    """Where no single change is enough: the smallest two that are."""
    firsts = {c.family.partition(":")[0]: c for c in reversed(candidates) if c.changes and c.features is None}
    ordered = sorted(firsts.values(), key=lambda c: c.size)[:_PAIRED]
    for a, b in combinations(ordered, 2):
        both = Candidate(
            f"{a.title}, and {b.title}",
            (*a.changes, *b.changes),
            "two",
            " and ".join(filter(None, (a.effect, b.effect))),
        )
        fitting = verify(case, both)
        if fitting:
            return (Fix(both.title, both.changes, both.effect, fitting, 1),)
    return ()


def verify(case: Case, candidate: Candidate) -> tuple[str, ...]:
    """The nodes on which the subject fits after the change; none where it does not, or the change does not apply."""
    try:
        state = apply(case.state, candidate.changes)
    except PatchError:
        return ()
    from dractl.explain.judge import Judge as NewJudge

    judge = case.judge.after(state) if candidate.features is None else NewJudge(state, candidate.features)
    judgement = _again(case, judge, candidate)
    return tuple(n.name for n in judgement.nodes if n.fits) if judgement is not None and judgement.fits else ()


def _again(case: Case, judge: Judge, candidate: Candidate) -> Judgement | None:
    """The verdict on the subject as it is after the change: the pod is created again, its templates make new claims."""
    from dractl.explain.subjects import Question, claim_question

    question = case.question
    if question.kind in ("ResourceClaim", "ResourceClaimTemplate"):
        value = judge.state.get(question.kind, question.key)
        if value is None:
            return None
        pod = next((c for c in judge.state.all("Pod").values() if c not in case.state.all("Pod").values()), None)
        if candidate.family == "consumer" and pod is not None:
            return judge.pod(pod)
        return judge.claim(claim_question(judge.state, Question(question.kind, question.key, value)))
    pod = judge.state.get("Pod", question.key) or question.value
    return judge.pod(pod, anew=True)
