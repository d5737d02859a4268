"""Predict whether the pod runs after a fix, and which side effects the fix has in the cluster."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.cluster.changes import Change, Create, Delete, Patch, PatchError, apply, parse_target
from dractl.cluster.schedulers import as_default, scheduler_of
from dractl.cluster.state import Key
from dractl.cluster.workloads import WORKLOAD_KINDS, workload_target
from dractl.explain.fixes.candidates import Candidate
from dractl.explain.fixes.pod_templates import pods_to_recreate
from dractl.explain.fixes.problem import FixProblem
from dractl.explain.fixes.rollouts import END_FIRST_STRATEGY, set_strategy
from dractl.explain.fixes.steps import find_manual_edit
from dractl.explain.reasons.phrases import join_clauses, plural
from dractl.model.abbreviation import abbreviate
from dractl.objects import Raw
from dractl.scheduler.attempt import Scheduler
from dractl.simulation import SimulationOptions, SimulationResult, simulate
from dractl.simulation.queue import QueuedPod, list_pending_pods, schedule_pods
from dractl.views import DEFAULT_SCHEDULER

_MAX_RIVALS = 16  # pending pods that may take freed devices
_RECONCILED_KINDS = ("Pod", *WORKLOAD_KINDS)  # kinds to whose changes controllers react


class Outlook(Struct, frozen=True):
    """The simulated result of a candidate."""

    fix: Candidate | None
    """The candidate with its side effects; None if the pod still would not run."""
    why: str = ""
    """The reason why the pod would not run."""
    behind: bool = False
    """True if only pods ahead in the queue keep the pod from running."""


def predict_outlook(
    problem: FixProblem, candidate: Candidate, changes: Sequence[Change], nodes: Sequence[str]
) -> Outlook:
    """Simulate a candidate after which the pod on its own fits on ``nodes``.

    ``changes`` are the candidate's changes, made in the objects that people write.
    """
    for change in candidate.chance:
        simulation = _simulate(problem, candidate, (change, *changes), nodes)
        if simulation is not None and not simulation.subject_runs:
            return Outlook(None)
    simulation = _simulate(problem, candidate, changes, nodes)
    if simulation is None:
        return Outlook(candidate)
    if simulation.rejections and not simulation.subject_runs:
        rollout = _end_first(problem, candidate, changes, nodes)
        if rollout is not None:
            return Outlook(rollout)
    if simulation.failed_jobs or not simulation.subject_runs:
        return _describe_failure(problem, simulation)
    effects = (
        candidate.effect,
        *_side_effects(problem, candidate, simulation),
        *_possible_race(problem, changes, nodes, simulation),
        *simulation.notes,
    )
    return Outlook(replace(candidate, effect=join_clauses(*effects)))


def _describe_failure(problem: FixProblem, simulation: SimulationResult) -> Outlook:
    """Return why a candidate does not help."""
    why = "; ".join(simulation.failed_jobs)
    if not simulation.subject_runs:
        why = join_clauses(why, *simulation.rejections, *_pods_ahead(problem, simulation))
    is_behind = not simulation.failed_jobs and not simulation.rejections
    return Outlook(None, why, behind=is_behind)


def _simulate(
    problem: FixProblem, candidate: Candidate, changes: Sequence[Change], nodes: Sequence[str]
) -> SimulationResult | None:
    """Simulate the cluster after a candidate.

    Return None for subjects other than pods, and for workloads of unknown controllers: only their
    pod by itself can be judged.
    """
    question = problem.subject_question
    pod = problem.state.get("Pod", question.key)
    if question.kind != "Pod" or pod is None:
        return None
    if candidate.changes and find_manual_edit(problem.state, question, changes) is not None:
        return None
    scheduler = _queue_in_default_scheduler(problem, pod)
    if candidate.features is not None:
        scheduler = Scheduler(scheduler.state, candidate.features)
    trial = tuple(map(_name_default_scheduler, candidate.trial))
    try:
        if not candidate.changes:
            # A driver or time makes these changes, not a person, so no controller undoes them.
            target = "/".join(("Pod", *question.key))
            is_recreated = any(change.target == target for change in trial)
            options = SimulationOptions(
                recreated_pods=(question.key,) if is_recreated else (),
                extra_changes=trial,
                candidate_nodes=frozenset(nodes),
            )
            return simulate(scheduler, (), question.key, options)
        authored = tuple(map(_name_default_scheduler, changes))
        new_pod = apply(scheduler.state, trial).get("Pod", question.key) or pod
        unowned_pods, deletions = _recreate_pods(problem, authored)
        options = SimulationOptions(
            new_pod_spec=new_pod.get("spec"),
            recreated_pods=tuple(unowned_pods),
            extra_changes=tuple(
                change
                for change in trial
                if change not in authored
                and parse_target(change.target)[0] not in _RECONCILED_KINDS
            ),
            candidate_nodes=frozenset(nodes),
        )
        return simulate(scheduler, (*authored, *deletions), question.key, options)
    except PatchError:
        return None


def _recreate_pods(
    problem: FixProblem, changes: Sequence[Change]
) -> tuple[list[Key], list[Delete]]:
    """Recreate the waiting pods that get the changes only when they are created again.

    Return the pods that a person recreates or changes, and the deletions of the other pods.
    """
    patches = [change for change in changes if isinstance(change, Patch)]
    pods = dict.fromkeys(
        key
        for patch in patches
        for key in pods_to_recreate(problem.state, problem.subject_question, patch)
    )
    unowned = [k for k in pods if workload_target(problem.state, k) is None]
    unowned += [parse_target(p.target)[1] for p in patches if p.target.startswith("Pod/")]
    deleted = {change.target for change in changes if isinstance(change, Delete)}
    targets = ("/".join(("Pod", *key)) for key in pods if key not in unowned)
    deletions = [Delete(target) for target in targets if target not in deleted]
    return unowned, deletions


def _queue_in_default_scheduler(problem: FixProblem, pod: Raw) -> Scheduler:
    """Return a kube-scheduler whose queue also has the pods of the subject's own scheduler.

    Fixes are proven with kube-scheduler's logic, whichever scheduler places the pods.
    """
    state = problem.state
    scheduler = problem.scheduler
    if problem.gang is not None:
        scheduler = scheduler.with_state(state)
    pod_scheduler = scheduler_of(state, pod, problem.subject_question.key)
    if pod_scheduler.is_default or not pod_scheduler.may_run:
        return scheduler
    return state.cache.from_sources(
        ("as-default", pod_scheduler.name),
        (state, problem.scheduler),
        lambda *_: scheduler.with_state(as_default(state, pod_scheduler.name)),
    )


def _name_default_scheduler(change: Change) -> Change:
    """Return a change with the default scheduler in place of another."""
    if not isinstance(change, Patch):
        return change
    operations = tuple(
        (
            {**operation, "value": DEFAULT_SCHEDULER}
            if "value" in operation and str(operation["path"]).endswith("/schedulerName")
            else operation
        )
        for operation in change.operations
    )
    return replace(change, operations=operations)


def _end_first(
    problem: FixProblem, candidate: Candidate, changes: Sequence[Change], nodes: Sequence[str]
) -> Candidate | None:
    """Add a rollout strategy that ends an old pod before it creates a new one.

    Return None if that does not help, either.
    """
    owner = problem.owner
    if owner is None or not owner.startswith("Deployment/") or problem.workload is None:
        return None
    strategy = set_strategy(problem, owner, END_FIRST_STRATEGY)
    deployment = owner.replace("/", " ", 1)
    rollout = replace(
        candidate,
        title=f"{candidate.title}, with maxSurge 0 and maxUnavailable 1 in {deployment}",
        changes=(strategy, *candidate.changes),
        effect=join_clauses(
            candidate.effect, "the quota has no room for one more pod during the rollout"
        ),
        consequences=candidate.trial,
    )
    simulation = _simulate(problem, rollout, (strategy, *changes), nodes)
    if simulation is None or simulation.failed_jobs or not simulation.subject_runs:
        return None
    return rollout


def _pods_ahead(problem: FixProblem, simulation: SimulationResult) -> tuple[str, ...]:
    """Name the pods that get the freed devices or resources before the subject does."""
    keys = _keys_ahead(problem, simulation)
    if not keys:
        return ()
    snapshot = problem.scheduler.snapshot
    priority = snapshot.pod(problem.subject_question.value).priority
    pods = (snapshot.pod(problem.state.get("Pod", key) or {}) for key in keys)
    verb = "waits" if len(keys) == 1 else "wait"
    has_priority = all(pod.priority > priority for pod in pods)
    clause = "of higher priority" if has_priority else f"that {verb} longer"
    names = abbreviate(["/".join(key) for key in keys])
    return (f"{plural(len(keys), 'pending pod')} {clause} {verb} for the same: {names}",)


def _is_unrelated(problem: FixProblem, key: Key) -> bool:
    """Return True for a pod of another workload than the subject's, and for any pod of a
    LeaderWorkerSet.
    """
    is_other = problem.owner is None or workload_target(problem.state, key) != problem.owner
    return is_other or problem.state.pod(key).leader_worker_group is not None


def _side_effects(
    problem: FixProblem, candidate: Candidate, simulation: SimulationResult
) -> list[str]:
    """Name the other pods that end unexpectedly, and the pods that run before the subject."""
    changes = (*candidate.trial, *candidate.changes)
    targets = {change.target for change in changes if not isinstance(change, Create)}
    ended = [
        "/".join(key)
        for key in (simulation.ended_pods if candidate.changes else ())
        if "/".join(("Pod", *key)) not in targets and _is_unrelated(problem, key)
    ]
    ahead = [
        "/".join(key) for key in _keys_ahead(problem, simulation) if _is_unrelated(problem, key)
    ]
    effects = []
    if ended:
        effects.append(f"ends pod{'s' * (len(ended) > 1)} {abbreviate(ended)}")
    if ahead:
        noun, verb = ("pod", "runs") if len(ahead) == 1 else ("pods", "run")
        effects.append(f"{noun} {abbreviate(ahead)} {verb} before it")
    return effects


def _possible_race(
    problem: FixProblem,
    changes: Sequence[Change],
    nodes: Sequence[str],
    simulation: SimulationResult,
) -> tuple[str, ...]:
    """Name pending pods that could take the devices of the first pod to end, so that too few
    devices remain for the subject.

    Pods do not end at the same moment, and kube-scheduler tries the waiting pods whenever a claim
    is deallocated.
    """
    if len(simulation.ended_pods) < 2 or problem.gang is not None:
        return ()
    subject, first_ended = problem.subject_question.key, simulation.ended_pods[0]
    node = problem.state.pod(first_ended).node_name
    state = apply(problem.state, (Delete("/".join(("Pod", *first_ended))),))
    scheduler = problem.scheduler.with_state(state)
    rivals = [pod for pod in list_pending_pods(state) if pod.key != subject][:_MAX_RIVALS]
    queue = [QueuedPod(pod, pod.has_uncreated_claims, frozenset((node,))) for pod in rivals]
    race = schedule_pods(scheduler, queue, {}, first_ended)
    options = SimulationOptions(candidate_nodes=frozenset(nodes))
    try:
        if not race.placements or simulate(race.scheduler, changes, subject, options).subject_runs:
            return ()
    except PatchError:
        return ()
    noun = "pods" if len(race.placements) > 1 else "pod"
    names = abbreviate(["/".join(key) for key, _ in race.placements])
    return (f"{noun} {names} may take what the first of them frees",)


def _keys_ahead(problem: FixProblem, simulation: SimulationResult) -> list[Key]:
    """Return the pods that were placed before the subject."""
    return [key for key in simulation.scheduled_first if key != problem.subject_question.key]
