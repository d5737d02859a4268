"""Fixes for workloads that wait for themselves, or whose claims are older than what they are made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.cluster.changes import Create, Delete, Patch, pointer
from dractl.cluster.pods import ended, is_pending
from dractl.cluster.state import at, list_at, map_at, maps_at, text_at
from dractl.explain.causes import Cause
from dractl.explain.fixes.candidates import Candidate, Preference, Slot, Topic
from dractl.explain.fixes.edits import put
from dractl.explain.fixes.holders import holders_of
from dractl.explain.fixes.owners import controller, workload
from dractl.explain.fixes.registry import fix_once_for
from dractl.explain.fixes.settings import recreated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dractl.explain.fixes.candidates import Problem

    Raw = Mapping[str, Any]


@fix_once_for(Cause)
def recreate(problem: Problem) -> Iterator[Candidate]:
    """The pod created again: its claim is gone, or older than its template. The claim controller makes the claim of a
    pod once (kubernetes pkg/controller/resourceclaim)."""
    pod = problem.state.get("Pod", problem.question.key)
    if problem.question.kind != "Pod" or pod is None or not text_at(pod, "metadata", "uid"):
        return
    namespace = problem.question.key[0]
    made = {
        text_at(s, "name"): text_at(s, "resourceClaimName") for s in maps_at(pod, "status", "resourceClaimStatuses")
    }
    for reference in maps_at(pod, "spec", "resourceClaims"):
        template = text_at(reference, "resourceClaimTemplateName")
        claim = made.get(text_at(reference, "name"))
        if not template or not claim:
            continue
        old = problem.state.get("ResourceClaim", (namespace, claim))
        new = problem.state.get("ResourceClaimTemplate", (namespace, template))
        if new is None or at(old, "status", "allocation") is not None:
            continue
        if old is None:
            why = f"its claim {claim} was deleted, and is not created again while the pod exists"
        elif at(old, "spec") != at(new, "spec", "spec"):
            why = f"its claim {claim} was made from an earlier version of template {template}"
        else:
            continue
        yield Candidate(
            f"recreate pod {'/'.join(problem.question.key)}",
            recreated(problem),
            Slot(Topic.POD),
            Preference.AGAIN,
            effect=why,
            corrects=True,
        )
        return


@fix_once_for(Cause)
def rollout(problem: Problem) -> Iterator[Candidate]:
    """A Deployment whose new replica waits for the devices of the old ones: the old one has to end first
    (kubernetes pkg/controller/deployment/rolling.go)."""
    owner = workload(problem.state.get("Pod", problem.question.key))
    if owner is None or owner[0] != "Deployment":
        return
    namespace, own = problem.question.key[0], text_at(controller(problem.question.value), "name")
    older = [
        name
        for name in _holders(problem)
        if name.startswith(f"{namespace}/")
        and workload(pod := _pod(problem, name)) == owner
        and text_at(controller(pod), "name") != own
    ]
    if not older:
        return
    target = f"Deployment/{namespace}/{owner[1]}"
    written = problem.state.get("Deployment", (namespace, owner[1]))
    rolling = {"maxSurge": 0, "maxUnavailable": 1}
    operation = put(written or {"spec": {}}, ("spec", "strategy"), {"type": "RollingUpdate", "rollingUpdate": rolling})
    for position, name in enumerate(older):
        yield Candidate(
            f"set maxSurge to 0 and maxUnavailable to 1 in Deployment {namespace}/{owner[1]}",
            (Patch(target, (operation,)),),
            Slot(Topic.ROLLOUT),
            Preference.CORRECT,
            effect="an old replica ends before its successor starts",
            degree=position,
            tried=(Delete(f"Pod/{name}"),),
            corrects=True,
        )
        yield Candidate(
            f"delete old replica {name}",
            (Delete(f"Pod/{name}"),),
            Slot(Topic.ENDING, "old replica"),
            Preference.END,
            effect="once for each new replica: the rollout waits again at the next one",
            degree=position,
        )


@fix_once_for(Cause)
def turn(problem: Problem) -> Iterator[Candidate]:
    """A pod whose Job, or another run of whose CronJob, holds the devices: it is not its turn."""
    mine = _run(problem, problem.state.get("Pod", problem.question.key))
    if mine is None:
        return
    job, cron = mine
    for position, name in enumerate(_holders(problem)):
        other = _run(problem, _pod(problem, name))
        if other is None or name.partition("/")[0] != problem.question.key[0]:
            continue
        if other[0] == job:
            title = f"wait until another pod of Job {job} is done"
            effect = f"lower spec.parallelism of Job {job} to what fits, to have no pods waiting"
        elif cron is not None and other[1] == cron:
            title = f"wait until Job {other[0]} is done"
            effect = f"set concurrencyPolicy of CronJob {cron} to Forbid, so that its runs do not overlap"
        else:
            continue
        yield Candidate(
            title,
            (),
            Slot(Topic.WAIT),
            Preference.AGAIN,
            effect=effect,
            degree=position,
            tried=tuple(Delete(f"Pod/{p}") for p in _of_job(problem, other[0], name)),
            corrects=True,
        )


def _of_job(problem: Problem, job: str, pod: str) -> list[str]:
    """The pods that are gone when a holder's turn is over: it alone, or every pod of another run."""
    mine = _run(problem, problem.state.get("Pod", problem.question.key))
    if mine is not None and mine[0] == job:
        return [pod]
    return [
        "/".join(key)
        for key, value in problem.state.all("Pod").items()
        if (run := _run(problem, value)) is not None and run[0] == job and not ended(value)
    ]


def _run(problem: Problem, pod: Raw | None) -> tuple[str, str | None] | None:
    """The Job of a pod and its CronJob, as ``namespace/name``."""
    owner = controller(pod)
    if owner is None or text_at(owner, "kind") != "Job":
        return None
    namespace, name = text_at(pod, "metadata", "namespace"), text_at(owner, "name")
    above = maps_at(problem.state.get("Job", (namespace, name)), "metadata", "ownerReferences")
    cron = next((text_at(o, "name") for o in above if text_at(o, "kind") == "CronJob"), None)
    return f"{namespace}/{name}", f"{namespace}/{cron}" if cron else None


@fix_once_for(Cause)
def share(problem: Problem) -> Iterator[Candidate]:
    """One claim for all replicas, where the devices are configured to be shared and each replica has a claim of its
    own: sharing works among the pods of one claim (k8s-dra-driver-gpu, GpuConfig.sharing)."""
    pod = problem.state.get("Pod", problem.question.key)
    owner = workload(pod)
    if owner is None or pod is None or owner[0] != "Deployment":
        return
    namespace = problem.question.key[0]
    written = problem.state.get("Deployment", (namespace, owner[1]))
    # The old replicas hold what the new ones need: they all have to end first.
    target = f"Deployment/{namespace}/{owner[1]}"
    at_once = Patch(target, (put(written or {"spec": {}}, ("spec", "strategy"), {"type": "Recreate"}),))
    siblings = [name for name in _holders(problem) if workload(_pod(problem, name)) == owner]
    for index, reference in enumerate(maps_at(pod, "spec", "resourceClaims")):
        template = text_at(reference, "resourceClaimTemplateName")
        value = problem.state.get("ResourceClaimTemplate", (namespace, template)) if template else None
        if value is None or not siblings or not _sharing(at(value, "spec", "spec")):
            continue
        name = f"{owner[1]}-shared"
        made = {
            "apiVersion": value.get("apiVersion"),
            "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": namespace},
            "spec": at(value, "spec", "spec"),
        }
        entry = {"name": text_at(reference, "name"), "resourceClaimName": name}
        change = {"op": "replace", "path": pointer("spec", "resourceClaims", index), "value": entry}
        patch = Patch("/".join(("Pod", *problem.question.key)), (change,))
        yield Candidate(
            f"let all replicas of {owner[0]} {namespace}/{owner[1]} share one ResourceClaim",
            (Create(made), patch, at_once),
            Slot(Topic.SHARING),
            Preference.CORRECT,
            effect=f"resourceClaimName {name} instead of resourceClaimTemplateName {template}: only pods of one claim "
            "share its devices; all replicas restart at once",
            tried=(Create(made), patch, *(Delete(f"Pod/{s}") for s in siblings)),
            corrects=True,
        )


def _sharing(spec: Any) -> bool:
    """True if a claim's opaque configuration asks for sharing."""
    return any("sharing" in map_at(config, "opaque", "parameters") for config in list_at(spec, "devices", "config"))


def _holders(problem: Problem) -> list[str]:
    """The running pods, ``namespace/name``, that hold what is wanted."""
    names = dict.fromkeys(h.pod for cause in problem.causes for h in holders_of(cause) if h.pod and not h.finished)
    return [name for name in names if (pod := _pod(problem, name)) is not None and not is_pending(pod)]


def _pod(problem: Problem, name: str) -> Raw | None:
    namespace, _, pod = name.partition("/")
    value: Raw | None = problem.state.get("Pod", (namespace, pod))
    return value
