"""Fixes for workloads whose replicas want the same and do not all fit: less for each of them, or fewer of them."""

from collections.abc import Iterator, Sequence

from dractl.capacity.binding import bind_copy
from dractl.cluster.changes import Change, Delete, Patch, apply, parse_target
from dractl.cluster.state import Key, at, map_at, parse_key
from dractl.cluster.workloads import workload_target
from dractl.explain.fixes.candidates import (
    Candidate,
    FixProblem,
    FixSlot,
    Topic,
    fix_for,
    fix_once_for,
)
from dractl.explain.fixes.holders import holders_of
from dractl.explain.fixes.pod_templates import pods_of_template
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.requests import shared_count_slot
from dractl.explain.reasons.amounts import NotEnoughTogether, SearchConflict
from dractl.explain.reasons.base import Held
from dractl.explain.reasons.constraints import ConstraintConflict
from dractl.explain.reasons.workloads import OwnReplicas
from dractl.model.names import RequestRef

_MAX_REPLICAS = 16  # replicas that are placed one after the other
_MAX_ATTEMPTS = 32  # that all counts may take together


@fix_once_for(Held, ConstraintConflict, NotEnoughTogether, SearchConflict)
def lower_count_everywhere(problem: FixProblem) -> Iterator[Candidate]:
    """The same, smaller count for every replica, where replicas of the pod's own workload hold the devices."""
    owner = workload_target(problem.pod, problem.question.key[0])
    if owner is None:
        return
    holding = {parse_key(h.pod) for cause in problem.causes for h in holders_of(cause) if h.pod} - {
        problem.question.key
    }
    if not any(workload_target(problem.state.get("Pod", key), key[0]) == owner for key in holding):
        return
    pods = [
        key
        for key, pod in problem.state.objects("Pod").items()
        if workload_target(pod, key[0]) == owner
    ]
    others = [key for key in pods if key != problem.question.key]
    if len(pods) > _MAX_REPLICAS:
        return
    wanted: dict[RequestRef, int] = {}
    for _, survey in problem.requests():
        wanted[survey.ref] = max(wanted.get(survey.ref, 0), survey.wanted)
    for ref, count in wanted.items():
        written = problem.editable_request(ref)
        if (
            written is None
            or not written.target.startswith("ResourceClaimTemplate/")
            or written.part.amount != count
        ):
            continue
        users = [
            key
            for key, _ in pods_of_template(problem.state, parse_target(written.target)[1])
            if key in others
        ]
        for left in range(count - 1, max(count - 1 - _MAX_ATTEMPTS // (len(users) + 1), 0), -1):
            ended = (Delete("Pod/" + "/".join(key)) for key in users)
            changes: tuple[Change, ...] = (written.put("count", value=left), *ended)
            if not _all_fit(problem, changes, [problem.question.key, *users]):
                continue
            kind, _, name = owner.partition("/")
            every = "both" if len(users) == 1 else f"all {len(users) + 1}"
            yield Candidate(
                f"lower count of {problem.request_name(ref)} from {count} to {left} in {every} pods of {kind} {name}",
                changes,
                shared_count_slot(ref),
                Preference.LESS,
                effect="the running pods restart",
            )
            return


@fix_for(OwnReplicas)
def scale_down(problem: FixProblem, cause: OwnReplicas) -> Iterator[Candidate]:
    """A StatefulSet without the replicas after this one, which hold the devices: it ends the pods of the highest
    ordinals first (kubernetes pkg/controller/statefulset)."""
    kind, _, name = cause.owner.partition(" ")
    own = _ordinal(problem.question.key[1])
    value = problem.state.get(kind, parse_key(name))
    replicas, start = at(value, "spec", "replicas"), at(value, "spec", "ordinals", "start") or 0
    if (
        kind != "StatefulSet"
        or own is None
        or not isinstance(replicas, int)
        or not isinstance(start, int)
    ):
        return
    later = {n: pod for pod in cause.pods if (n := _ordinal(pod)) is not None and n > own}
    for first in sorted(later, reverse=True):
        left = first - start
        gone = tuple(Delete(f"Pod/{pod}") for n, pod in later.items() if n >= first)
        yield Candidate(
            f"scale {cause.owner} from {replicas} to {left} replica{'' if left == 1 else 's'}",
            (
                Patch(
                    f"{kind}/{name}", ({"op": "replace", "path": "/spec/replicas", "value": left},)
                ),
            ),
            FixSlot(Topic.ENDING, cause.owner),
            Preference.END,
            effect=f"ends pod {', '.join(sorted(pod for n, pod in later.items() if n >= first))}",
            degree=replicas - left,
            consequences=gone,
        )


def _ordinal(pod: str) -> int | None:
    number = pod.rpartition("-")[2]
    return int(number) if number.isdecimal() else None


def _all_fit(problem: FixProblem, changes: Sequence[Change], pods: Sequence[Key]) -> bool:
    """True if all pods fit after the changes, placed one after the other as new ones."""
    state = apply(problem.state, changes)
    for key in pods:
        pod = problem.state.get("Pod", key)
        if pod is None:
            return False
        spec = {k: v for k, v in map_at(pod, "spec").items() if k != "nodeName"}
        fresh = {**pod, "spec": spec, "status": {}}
        scheduler = problem.scheduler.with_state(state.replace("Pod", key, None))
        attempt = scheduler.attempt_pod(fresh, recreated=True)
        node = next((n for n in attempt.nodes if n.fits), None) if attempt.fits else None
        if node is None:
            return False
        state = bind_copy(scheduler, fresh, node).state
    return True
