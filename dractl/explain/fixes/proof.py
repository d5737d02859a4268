"""Prove a candidate: the API server accepts it, the subject is placed, no part is superfluous."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import Allocated, DeviceID, find_evicting_taint, list_evicting_taints
from dractl.cluster.changes import Change, Create, Patch, PatchError, apply, parse_target
from dractl.cluster.state import ClusterState
from dractl.explain.ask import CLAIMS, Question, claim_question
from dractl.explain.fixes import pod_templates
from dractl.explain.fixes.candidates import Candidate, Topic
from dractl.explain.fixes.outlook import Outlook, predict_outlook
from dractl.explain.fixes.problem import FixProblem
from dractl.explain.obstacles.trial import Trial, ignores_pod
from dractl.model import DeviceTaint, Target
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.verdict import Attempt, NodeVerdict
from dractl.simulation.admission import find_rejection

MAX_SPARING_NODES = 4
"""The number of nodes on which a fix is tried without one of its parts."""
EvictingDevices = Mapping[DeviceID, tuple[DeviceTaint, ...]]


class Proven(Struct, frozen=True):
    """A candidate after which the subject runs."""

    candidate: Candidate
    """The candidate, with the side effects that the simulation shows."""
    nodes: tuple[str, ...]
    """The nodes on which the subject fits then."""


def prove(problem: FixProblem, candidate: Candidate) -> Proven | None:
    """Return a candidate with its side effects; None if the subject would not run after it."""
    nodes = verify(problem, candidate)
    outlook = predict(problem, candidate, nodes) if nodes else None
    if outlook is None or outlook.fix is None:
        return None
    return Proven(outlook.fix, nodes)


def predict(problem: FixProblem, candidate: Candidate, nodes: Sequence[str]) -> Outlook:
    """Return the outlook after a candidate with which the subject fits on ``nodes`` by itself."""
    changes = make_authored_changes(problem, candidate)
    assert changes is not None
    return predict_outlook(problem, candidate, changes, nodes)


def spare_parts(
    problem: FixProblem, proven: Proven, join: Callable[[Sequence[Candidate]], Candidate]
) -> Proven:
    """Return a joint candidate without the parts that it does not need; the costliest part is
    dropped first.

    A part is kept without a trial if a later part writes the same fields.
    """
    for part in sorted(proven.candidate.parts, key=lambda part: part.size, reverse=True):
        others = [p for p in proven.candidate.parts if p is not part]
        if not others or any(_rewrites(p.changes, part.changes) for p in others):
            continue
        smaller = join(others)
        if verify(problem, smaller, proven.nodes[:MAX_SPARING_NODES]):
            proven = prove(problem, smaller) or proven
    return proven


def _rewrites(later: Sequence[Change], earlier: Sequence[Change]) -> bool:
    """Decide whether later changes overwrite values of earlier ones, or a value around them."""
    return any(
        target == other and f"{path}/".startswith(f"{around}/")
        for target, path in _list_paths(earlier)
        for other, around in _list_paths(later)
    )


def _list_paths(changes: Sequence[Change]) -> set[tuple[str, str]]:
    """Return the targets and paths of the operations of patches."""
    patches = [change for change in changes if isinstance(change, Patch)]
    return {(p.target, str(o["path"])) for p in patches for o in p.operations}


def make_authored_changes(problem: FixProblem, candidate: Candidate) -> tuple[Change, ...] | None:
    """Return the changes of a candidate, made in the objects that people write.

    A change of a workload's pod becomes a change of the pod template. The result is None if no
    person could make the changes, or if the API server would refuse them.
    """
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
    shown = select_shown_changes(problem.state, changes)
    try:
        refused = find_rejection(problem.state, shown, Target(features.release, features.on))
    except PatchError:
        return None
    return tuple(changes) if refused is None else None


def select_shown_changes(state: ClusterState, changes: Iterable[Change]) -> list[Change]:
    """Return the changes, except patches of objects that the input does not have."""
    return [
        change
        for change in changes
        if not isinstance(change, Patch) or state.get(*parse_target(change.target)) is not None
    ]


def verify(
    problem: FixProblem, candidate: Candidate, nodes: Collection[str] | None = None
) -> tuple[str, ...]:
    """Return the nodes on which the subject fits after the change; only ``nodes`` are tried, if
    given.

    The result is empty if the subject fits on none, or if nobody could make the change.
    """
    try:
        state = apply(problem.state, candidate.trial)
    except PatchError:
        return ()
    scheduler = (
        problem.scheduler.with_state(state)
        if candidate.features is None
        else Scheduler(state, candidate.features)
    )
    attempt = _retry(problem, scheduler, candidate, nodes)
    if attempt is None or not attempt.fits or make_authored_changes(problem, candidate) is None:
        return ()
    if problem.gang is not None and not problem.gang.starts(state, scheduler.features):
        return ()
    fitting = [node for node in attempt.nodes if node.fits]
    return tuple(n.name for n in list_lasting_nodes(fitting, find_evicting_devices(scheduler)))


def list_lasting_nodes(
    nodes: Iterable[NodeVerdict], evicting: EvictingDevices
) -> tuple[NodeVerdict, ...]:
    """Return the nodes whose devices would not evict the subject right after it is placed."""
    return tuple(node for node in nodes if not evicting or not _evicts(node, evicting))


def _evicts(node: NodeVerdict, evicting: EvictingDevices) -> bool:
    """Decide whether a device that a node gives the subject has a taint that evicts it."""
    verdict = node.allocator_verdict
    results = verdict.results if isinstance(verdict, Allocated) else ()
    return any(find_evicting_taint(result.devices.results, evicting) for result in results)


def find_evicting_devices(scheduler: Scheduler) -> EvictingDevices:
    """Return the devices whose taints evict pods; they are computed once for equal slices."""
    slices = scheduler.slices
    return scheduler.state.cache.from_sources(
        "evicting", (slices,), lambda _: list_evicting_taints(slices)
    )


def _retry(
    problem: FixProblem, scheduler: Scheduler, candidate: Candidate, nodes: Collection[str] | None
) -> Attempt | None:
    """Return the verdict on the subject as it is after the change.

    The pod is created again, and its templates make new claims.
    """
    question = problem.subject_question
    if question.kind in CLAIMS:
        value = scheduler.state.get(question.kind, question.key)
        if value is None:
            return None
        match candidate.changes:
            case [Create(pod)] if candidate.slot.topic is Topic.CONSUMER:
                return scheduler.attempt_pod(pod)
        return scheduler.attempt_claim(
            claim_question(scheduler.state, Question(question.kind, question.key, value))
        )
    pod = scheduler.state.get("Pod", question.key) or question.value
    if ignores_pod(Trial(scheduler.state, replace(question, value=pod))):
        return None
    return scheduler.attempt_pod(pod, recreated=True, node_names=nodes)
