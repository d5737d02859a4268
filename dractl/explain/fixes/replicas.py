"""Fixes for workloads whose replicas do not all fit: smaller requests, or fewer replicas."""

from collections.abc import Iterator, Sequence

from dractl.capacity.binding import bind_copy
from dractl.cluster.changes import Change, Delete, Patch, apply, parse_target
from dractl.cluster.state import Key, parse_key
from dractl.cluster.workloads import parse_ordinal, pods_of_target, workload_target
from dractl.explain.fixes.candidates import Candidate, FixSlot, Topic
from dractl.explain.fixes.edits import replace
from dractl.explain.fixes.makers import fix_for, fix_once_for
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.problem import FixProblem
from dractl.explain.fixes.requests import replica_count_slot
from dractl.explain.reasons.holding import HOLDING_CAUSES, list_holders
from dractl.explain.reasons.workloads import OwnReplicas
from dractl.model.names import RequestRef
from dractl.views import View

_MAX_REPLICAS = 16  # the maximum number of replicas that are placed one after the other
_MAX_ATTEMPTS = 32  # the maximum number of pods that are placed, over all counts that are tried


@fix_once_for(*HOLDING_CAUSES)
def lower_count_everywhere(problem: FixProblem) -> Iterator[Candidate]:
    """Lower the count for every replica, if replicas of the pod's workload hold the devices."""
    owner = problem.owner
    if owner is None:
        return
    subject = problem.question.key
    holding = {parse_key(h.pod) for h in list_holders(problem.causes) if h.pod} - {subject}
    if not any(workload_target(problem.state, key) == owner for key in holding):
        return
    replicas = pods_of_target(problem.state, owner)
    if len(replicas) > _MAX_REPLICAS:
        return
    wanted: dict[RequestRef, int] = {}
    for _, survey in problem.requests():
        wanted[survey.ref] = max(wanted.get(survey.ref, 0), survey.wanted)
    for ref, count in wanted.items():
        candidate = _lower_count(problem, ref, count, replicas)
        if candidate is not None:
            yield candidate
            return


def _lower_count(
    problem: FixProblem, ref: RequestRef, count: int, replicas: Sequence[Key]
) -> Candidate | None:
    """Lower a request's count in a template to the largest with which all replicas fit."""
    editable = problem.editable_request(ref)
    if editable is None or editable.part.amount != count:
        return None
    kind, template = parse_target(editable.target)
    if kind != "ResourceClaimTemplate":
        return None
    subject = problem.question.key
    pods = problem.state.pods_of_template(template)
    users = [pod for pod in pods if pod in replicas and pod != subject]
    deletions = [Delete("/".join(("Pod", *key))) for key in users]
    lowest = max(count - 1 - _MAX_ATTEMPTS // (len(users) + 1), 0)
    for new_count in range(count - 1, lowest, -1):
        changes: tuple[Change, ...] = (editable.put(("count",), new_count), *deletions)
        if _all_fit(problem, changes, [subject, *users]):
            owner = problem.owner or ""
            noun = "both" if len(users) == 1 else f"all {len(users) + 1}"
            return Candidate(
                f"lower count of {problem.request_name(ref)} from {count} to {new_count} "
                f"in {noun} pods of {owner.replace('/', ' ', 1)}",
                changes,
                replica_count_slot(ref),
                Preference.LESS,
                effect="the running pods restart",
            )
    return None


@fix_for(OwnReplicas)
def scale_down(problem: FixProblem, cause: OwnReplicas) -> Iterator[Candidate]:
    """Scale a StatefulSet down, so that its later replicas release the devices.

    The controller ends the pods with the highest ordinals first (kubernetes
    pkg/controller/statefulset).
    """
    kind, _, name = cause.owner.partition(" ")
    ordinal = parse_ordinal(problem.question.key[1])
    workload = problem.state.workload(kind, parse_key(name))
    replicas, first_ordinal = workload.replicas, workload.first_ordinal
    if kind != "StatefulSet" or ordinal is None or replicas is None:
        return
    later_pods = {
        number: pod
        for pod in cause.pods
        if (number := parse_ordinal(pod)) is not None and number > ordinal
    }
    for first_ended in sorted(later_pods, reverse=True):
        count = first_ended - first_ordinal
        ended_pods = [pod for number, pod in later_pods.items() if number >= first_ended]
        noun = "replica" if count == 1 else "replicas"
        yield Candidate(
            f"scale {cause.owner} from {replicas} to {count} {noun}",
            (Patch(f"{kind}/{name}", (replace(("spec", "replicas"), count),)),),
            FixSlot(Topic.ENDING, cause.owner),
            Preference.END,
            effect=f"ends pod {', '.join(sorted(ended_pods))}",
            degree=replicas - count,
            consequences=tuple(Delete(f"Pod/{pod}") for pod in ended_pods),
        )


def _all_fit(problem: FixProblem, changes: Sequence[Change], pods: Sequence[Key]) -> bool:
    """Return whether all pods fit after the changes, recreated and placed one by one."""
    state = apply(problem.state, changes)
    for key in pods:
        pod = problem.state.get("Pod", key)
        if pod is None:
            return False
        spec = {k: v for k, v in View(pod).spec.items() if k != "nodeName"}
        fresh = {**pod, "spec": spec, "status": {}}
        scheduler = problem.scheduler.with_state(state.replace("Pod", key, None))
        attempt = scheduler.attempt_pod(fresh, recreated=True)
        node = next((n for n in attempt.nodes if n.fits), None) if attempt.fits else None
        if node is None:
            return False
        state = bind_copy(scheduler, fresh, node).state
    return True
