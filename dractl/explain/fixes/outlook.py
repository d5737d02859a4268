"""What a fix brings about in the whole cluster: whether the pod runs after it, and what else happens."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.cluster.changes import Change, Create, Delete, Patch, PatchError, apply, parse_target
from dractl.cluster.schedulers import as_default, scheduler_of
from dractl.cluster.state import Key, text_at
from dractl.cluster.workloads import WORKLOAD_KINDS, workload_target
from dractl.explain.fixes.candidates import Candidate, FixProblem
from dractl.explain.fixes.pod_templates import pods_to_recreate
from dractl.explain.fixes.rollouts import END_FIRST_STRATEGY, set_strategy
from dractl.explain.fixes.steps import find_manual_edit
from dractl.explain.reasons.phrases import first, plural
from dractl.objects import Raw
from dractl.scheduler.attempt import Scheduler
from dractl.simulation import SimulationOptions, SimulationResult, simulate
from dractl.simulation.queue import QueuedPod, list_pending_pods, schedule_pods
from dractl.views import DEFAULT_SCHEDULER, Pod

_MAX_RIVALS = 16  # pods that may take what another frees
_RECONCILED_KINDS = ("Pod", *WORKLOAD_KINDS)  # kinds whose changes controllers answer


class Outlook(Struct, frozen=True):
    """A fix as it is offered; None if the pod does not run after it. ``why`` is then why not, ``behind`` if others are
    in front of it and nothing else is in the way."""

    fix: Candidate | None
    why: str = ""
    behind: bool = False


def predict_outlook(
    problem: FixProblem, candidate: Candidate, changes: Sequence[Change], nodes: Sequence[str]
) -> Outlook:
    """The outlook of a candidate after which the pod by itself fits on ``nodes``; ``changes`` are its changes where a
    person makes them."""
    for change in candidate.chance:
        simulation = _simulate(problem, candidate, (change, *changes), nodes)
        if simulation is not None and not simulation.subject_runs:
            return Outlook(None)
    simulation = _simulate(problem, candidate, changes, nodes)
    if simulation is None:
        return Outlook(candidate)
    if simulation.rejections and not simulation.subject_runs:
        first_end = _end_first(problem, candidate, changes, nodes)
        if first_end is not None:
            return Outlook(first_end)
    why = "; ".join(simulation.failed_jobs)
    if not simulation.subject_runs:
        messages = (why, *simulation.rejections, *_pods_ahead(problem, simulation))
        why = "; ".join(filter(None, messages))
    if simulation.failed_jobs or not simulation.subject_runs:
        return Outlook(None, why, behind=not simulation.failed_jobs and not simulation.rejections)
    also = (
        *_side_effects(problem, candidate, simulation),
        *_possible_race(problem, changes, nodes, simulation),
        *simulation.notes,
    )
    return Outlook(replace(candidate, effect="; ".join(filter(None, (candidate.effect, *also)))))


def _simulate(
    problem: FixProblem, candidate: Candidate, changes: Sequence[Change], nodes: Sequence[str]
) -> SimulationResult | None:
    """The cluster after a candidate; None where only the pod itself can be looked at: for other subjects
    than pods, and workloads of kinds whose controllers are not known."""
    question = problem.subject_question
    pod = problem.state.get("Pod", question.key)
    if question.kind != "Pod" or pod is None:
        return None
    if candidate.changes and find_manual_edit(problem.state, question, changes) is not None:
        return None
    scheduler = _queue_in_default_scheduler(problem, pod)
    state = scheduler.state
    if candidate.features is not None:
        scheduler = Scheduler(state, candidate.features)
    try:
        trial = tuple(map(_name_default_scheduler, candidate.trial))
        changes = tuple(map(_name_default_scheduler, changes))
        then = apply(state, trial)
        if not candidate.changes:
            own = "/".join(("Pod", *question.key))
            again = (question.key,) if any(getattr(c, "target", "") == own for c in trial) else ()
            options = SimulationOptions(
                recreated_pods=again, extra_changes=trial, candidate_nodes=frozenset(nodes)
            )
            return simulate(scheduler, (), question.key, options)
        patches = [c for c in changes if isinstance(c, Patch)]
        renewing = dict.fromkeys(
            key for c in patches for key in pods_to_recreate(problem.state, question, c)
        )
        bare = [
            key
            for key in renewing
            if workload_target(problem.state.get("Pod", key), key[0]) is None
        ]
        bare += [parse_target(c.target)[1] for c in patches if c.target.startswith("Pod/")]
        deleted = [f"Pod/{'/'.join(key)}" for key in renewing if key not in bare]
        named = {c.target for c in changes if isinstance(c, Delete)}
        ends = (Delete(target) for target in deleted if target not in named)
        spec = (then.get("Pod", question.key) or pod or {}).get("spec")
        options = SimulationOptions(
            new_pod_spec=spec,
            recreated_pods=tuple(bare),
            extra_changes=tuple(
                c for c in trial if c not in changes and _changed_kind(c) not in _RECONCILED_KINDS
            ),
            candidate_nodes=frozenset(nodes),
        )
        return simulate(scheduler, (*changes, *ends), question.key, options)
    except PatchError:
        return None


def _queue_in_default_scheduler(problem: FixProblem, pod: Raw) -> Scheduler:
    """Return the scheduler of the cluster in which the pods of the pod's own scheduler are in
    kube-scheduler's queue: whatever schedules them, its view is what fixes are proven by."""
    state = problem.state
    scheduler = (
        problem.scheduler if problem.gang is None else problem.scheduler.with_state(problem.state)
    )
    named = scheduler_of(state, pod, problem.subject_question.key)
    if named.is_default or not named.may_run:
        return scheduler
    return state.cache.from_sources(
        ("as-default", named.name),
        (state, problem.scheduler),
        lambda *_: scheduler.with_state(as_default(state, named.name)),
    )


def _name_default_scheduler(change: Change) -> Change:
    """Return a change in which a scheduler that is named is the default one."""
    if not isinstance(change, Patch):
        return change
    operations = tuple(
        {**operation, "value": DEFAULT_SCHEDULER}
        if "value" in operation and str(operation["path"]).endswith("/schedulerName")
        else operation
        for operation in change.operations
    )
    return replace(change, operations=operations)


def _changed_kind(change: Change) -> str:
    return (
        str(change.value.get("kind"))
        if isinstance(change, Create)
        else parse_target(change.target)[0]
    )


def _end_first(
    problem: FixProblem, candidate: Candidate, changes: Sequence[Change], nodes: Sequence[str]
) -> Candidate | None:
    """The candidate with a rollout that ends an old pod before it makes a new one, where no more pods are allowed."""
    owner = workload_target(problem.pod, problem.question.key[0])
    value = None if owner is None else problem.state.get(*parse_target(owner))
    if value is None or owner is None or not owner.startswith("Deployment/"):
        return None
    strategy = set_strategy(problem, owner, END_FIRST_STRATEGY)
    both = replace(
        candidate,
        title=f"{candidate.title}, with maxSurge 0 and maxUnavailable 1 in {owner.replace('/', ' ', 1)}",
        changes=(strategy, *candidate.changes),
        effect="; ".join(
            filter(
                None,
                (candidate.effect, "the quota has no room for one pod more while it rolls out"),
            )
        ),
        consequences=candidate.trial,
    )
    simulation = _simulate(problem, both, (strategy, *changes), nodes)
    if simulation is None or simulation.failed_jobs or not simulation.subject_runs:
        return None
    return both


def _pods_ahead(problem: FixProblem, simulation: SimulationResult) -> tuple[str, ...]:
    """Who gets what a change frees before the pod does."""
    ahead = _keys_ahead(problem, simulation)
    if not ahead:
        return ()
    snapshot = problem.scheduler.snapshot
    own = snapshot.pod(problem.subject_question.value).priority
    higher = all(snapshot.pod(problem.state.get("Pod", key) or {}).priority > own for key in ahead)
    one = len(ahead) == 1
    which = "of higher priority" if higher else f"that wait{'s' * one} longer"
    names = first(["/".join(key) for key in ahead])
    return (f"{plural(len(ahead), 'pending pod')} {which} wait{'s' * one} for the same: {names}",)


def _is_unrelated(pod: Raw | None, key: Key, own: str) -> bool:
    """True for a pod of which nobody expects that it ends with those of the workload ``own``."""
    return workload_target(pod, key[0]) != own or Pod(pod).leader_worker_group is not None


def _side_effects(
    problem: FixProblem, candidate: Candidate, simulation: SimulationResult
) -> list[str]:
    """What else happens: pods of others that end although the fix does not name them, and those that the change lets
    run before the subject does."""
    named = {c.target for c in (*candidate.trial, *candidate.changes) if not isinstance(c, Create)}
    own = workload_target(problem.pod, problem.question.key[0])
    ended = [
        "/".join(key)
        for key in (simulation.ended_pods if candidate.changes else ())
        if "/".join(("Pod", *key)) not in named
        and (own is None or _is_unrelated(problem.state.get("Pod", key), key, own))
    ]
    ahead = [
        "/".join(key)
        for key in _keys_ahead(problem, simulation)
        if own is None or _is_unrelated(problem.state.get("Pod", key), key, own)
    ]
    found = [f"ends pod{'s' * (len(ended) > 1)} {first(ended)}"] if ended else []
    found += (
        [f"pod{'s' * (len(ahead) > 1)} {first(ahead)} run{'s' * (len(ahead) == 1)} before it"]
        if ahead
        else []
    )
    return found


def _possible_race(
    problem: FixProblem,
    changes: Sequence[Change],
    nodes: Sequence[str],
    simulation: SimulationResult,
) -> tuple[str, ...]:
    """Who may take what the first of several pods frees, so that the others do not free enough: pods do not end at the
    same moment, and kube-scheduler tries the pods that wait whenever a claim is deallocated."""
    if len(simulation.ended_pods) < 2 or problem.gang is not None:
        return ()
    asked, gone = problem.subject_question.key, simulation.ended_pods[0]
    there = frozenset((text_at(problem.state.get("Pod", gone), "spec", "nodeName"),))
    begun = problem.scheduler.with_state(apply(problem.state, (Delete("/".join(("Pod", *gone))),)))
    others = [pod for pod in list_pending_pods(begun.state) if pod.key != asked][:_MAX_RIVALS]
    taken = schedule_pods(
        begun, [QueuedPod(pod, pod.has_uncreated_claims, there) for pod in others], {}, gone
    )
    options = SimulationOptions(candidate_nodes=frozenset(nodes))
    try:
        if not taken.placements or simulate(taken.scheduler, changes, asked, options).subject_runs:
            return ()
    except PatchError:
        return ()
    names = first(["/".join(key) for key, _ in taken.placements])
    return (
        f"pod{'s' * (len(taken.placements) > 1)} {names} may take what the first of them frees",
    )


def _keys_ahead(problem: FixProblem, simulation: SimulationResult) -> list[Key]:
    return [key for key in simulation.scheduled_first if key != problem.subject_question.key]
