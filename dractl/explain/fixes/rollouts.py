"""Fixes for workloads that wait for themselves, or whose claims are older than what they are made from."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from dractl.cluster.changes import Change, Create, Delete, Patch, parse_target, pointer
from dractl.cluster.state import at, map_at, maps_at, parse_key, text_at
from dractl.cluster.workloads import deletion_rank, pods_of_workload, workload_target
from dractl.explain.fixes.candidates import Candidate, FixProblem, FixSlot, Topic, fix_for
from dractl.explain.fixes.edits import put
from dractl.explain.fixes.holders import holders_of
from dractl.explain.fixes.owners import lower_deletion_cost
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.settings import recreate_subject
from dractl.explain.reasons.between import EvictionLoop, OldTemplate
from dractl.explain.reasons.claims import ClaimMissing
from dractl.explain.reasons.workloads import ClaimEach, OldReplicas, OldRevision, OwnReplicas
from dractl.simulation.controllers import filter_active_pods
from dractl.views import Pod

_MAX_OLD_REPLICAS = 8  # old replicas whose end is tried

END_FIRST_STRATEGY = {
    "type": "RollingUpdate",
    "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1},
}
"""The strategy of a Deployment that ends an old replica before it makes a new one."""

_TEMPLATE_FIELD, _CLAIM_FIELD = "resourceClaimTemplateName", "resourceClaimName"


@fix_for(OldTemplate, ClaimMissing)
def recreate_pod(problem: FixProblem, cause: OldTemplate | ClaimMissing) -> Iterator[Candidate]:
    """The pod created again: its claim is gone, or older than its template. The claim controller makes the claim of a
    pod once (kubernetes pkg/controller/resourceclaim)."""
    entry = problem.claim_reference(cause.pod_claim)
    template = text_at(entry[1], "resourceClaimTemplateName") if entry is not None else ""
    if problem.pod is None or not template or not cause.claim:
        return
    claim = cause.claim.rpartition("/")[2]
    why = f"its claim {claim} was deleted, and is not created again while the pod exists"
    if isinstance(cause, ClaimMissing) and cause.none_known:
        why = (
            f"if claim {claim} is gone from the cluster, too: the input has no ResourceClaim at all"
        )
    if isinstance(cause, OldTemplate):
        why = f"its claim {claim} was made from an earlier version of template {template}"
        others = _count_old_claims(problem, template)
        if others:
            also = (
                "that of 1 more pending pod"
                if others == 1
                else f"those of {others} more pending pods"
            )
            why += f", like {also}"
    yield Candidate(
        f"recreate pod {'/'.join(problem.question.key)}",
        recreate_subject(problem),
        FixSlot(Topic.POD),
        Preference.RENEW if isinstance(cause, OldTemplate) else Preference.AGAIN,
        effect=why,
        corrects=isinstance(cause, OldTemplate) or not cause.none_known,
    )


def _count_old_claims(problem: FixProblem, template: str) -> int:
    """The number of other pending pods whose claims, not allocated yet, differ from the template."""
    namespace = problem.question.key[0]
    spec = at(problem.state.get("ResourceClaimTemplate", (namespace, template)), "spec", "spec")
    number = 0
    for key, pod in problem.state.objects("Pod").items():
        if key[0] != namespace or key == problem.question.key or not Pod(pod).is_pending:
            continue
        named = {
            text_at(r, "name")
            for r in maps_at(pod, "spec", "resourceClaims")
            if template == text_at(r, _TEMPLATE_FIELD)
        }
        made = (
            text_at(s, _CLAIM_FIELD)
            for s in maps_at(pod, "status", "resourceClaimStatuses")
            if text_at(s, "name") in named
        )
        claims = (problem.state.get("ResourceClaim", (namespace, name)) for name in made)
        number += any(c is not None and at(c, "spec") != spec for c in claims)
    return number


@fix_for(OldRevision)
def update_pod(problem: FixProblem, cause: OldRevision) -> Iterator[Candidate]:
    """What has the workload make the next pod from its template as it is now: the end of a StatefulSet's pod, the
    resumption of a Deployment."""
    value = problem.state.get(*parse_target(cause.owner.replace(" ", "/", 1)))
    template = map_at(value, "spec", "template", "spec")
    if problem.pod is None or not template:
        return
    claimed = {
        text_at(t, "metadata", "name") for t in maps_at(value, "spec", "volumeClaimTemplates")
    }
    volumes = [v for v in maps_at(problem.pod, "spec", "volumes") if text_at(v, "name") in claimed]
    spec = {**template, "volumes": [*maps_at(template, "volumes"), *volumes]}
    resumed = Patch(cause.owner.replace(" ", "/", 1), ({"op": "remove", "path": "/spec/paused"},))
    yield Candidate(
        f"resume {cause.owner}"
        if cause.paused
        else f"recreate pod {'/'.join(problem.question.key)}",
        (resumed,) if cause.paused else recreate_subject(problem),
        FixSlot(Topic.POD),
        Preference.RENEW,
        effect=f"the next one is made from {cause.owner} as it is now",
        consequences=(problem.patch({"op": "replace", "path": "/spec", "value": spec}),),
        corrects=True,
    )


@fix_for(OldReplicas)
def end_old_replica(problem: FixProblem, cause: OldReplicas) -> Iterator[Candidate]:
    """A Deployment whose new replica waits for the devices of the old ones: an old one has to end first
    (kubernetes pkg/controller/deployment/rolling.go)."""
    target = cause.owner.replace(" ", "/", 1)
    strategy = set_strategy(problem, target, END_FIRST_STRATEGY)
    title = f"set maxSurge to 0 and maxUnavailable to 1 in {cause.owner}"
    marks = _mark_old_replicas(problem, target)
    for position, name in enumerate(cause.pods[:_MAX_OLD_REPLICAS]):
        first = Candidate(
            title,
            (strategy,),
            FixSlot(Topic.ROLLOUT),
            Preference.CORRECT,
            effect="an old replica ends before its successor starts",
            degree=position,
            consequences=(Delete(f"Pod/{name}"),),
            corrects=True,
            chance=tuple(marks.values()),
        )
        if len(marks) <= _MAX_OLD_REPLICAS:
            yield first
        if name in marks:
            yield replace(
                first,
                title=f"{title}, old replica {name} first",
                changes=(marks[name], strategy),
                slot=FixSlot(Topic.ROLLOUT, "marked"),
                consequences=(marks[name], *first.consequences),
                superseded_by=(first.slot,),
                chance=(),
            )
        yield Candidate(
            f"delete old replica {name}",
            (Delete(f"Pod/{name}"),),
            FixSlot(Topic.ENDING, "old replica"),
            Preference.END,
            effect="once for each new replica: the rollout waits again at the next one",
            degree=position,
        )


def _mark_old_replicas(problem: FixProblem, deployment: str) -> dict[str, Patch]:
    """What has a Deployment end one old replica before those that are equal to it, by the pod's name; empty where none
    are equal. Which of them ends otherwise, their UIDs and ready times decide by the second (kubernetes
    pkg/controller/controller_utils.go ActivePodsWithRanks)."""
    kind, key = parse_target(deployment)
    owned = (Pod(raw, pod_key) for pod_key, raw in pods_of_workload(problem.state, kind, key))
    pods = [pod.raw for pod in filter_active_pods(owned)]
    newest = Pod(problem.pod).controller
    rank = deletion_rank("ReplicaSet", pods)
    old = sorted((pod for pod in pods if Pod(pod).controller != newest), key=rank)
    equal = [pod for pod in old if rank(pod) == rank(old[0])]
    names = ["/".join((key[0], text_at(pod, "metadata", "name"))) for pod in equal]
    return (
        dict(zip(names, (lower_deletion_cost(key[0], pod) for pod in equal), strict=True))
        if len(equal) > 1
        else {}
    )


def set_strategy(problem: FixProblem, deployment: str, strategy: Mapping[str, Any]) -> Patch:
    written = problem.state.get(*parse_target(deployment)) or {"spec": {}}
    return Patch(deployment, (put(written, ("spec", "strategy"), strategy),))


@fix_for(OwnReplicas)
def await_turn(problem: FixProblem, cause: OwnReplicas) -> Iterator[Candidate]:
    """A pod whose Job, or an earlier run of whose CronJob, holds the devices: it is not its turn."""
    if not cause.ends:
        return
    for position, name in enumerate(cause.pods):
        title = f"wait until another pod of {cause.owner} is done"
        effect = f"lower spec.parallelism of {cause.owner} to what fits, to have no pods waiting"
        kind, _, job_name = cause.owner.partition(" ")
        made_by = Pod(problem.state.get(kind, parse_key(job_name))).controller
        if made_by is not None:
            effect += f": in {made_by.kind} {made_by.name}, which makes it"
        gone = [name]
        if cause.earlier:
            job = f"{name.partition('/')[0]}/{cause.earlier}"
            title = f"wait until Job {job} is done"
            effect = (
                f"set concurrencyPolicy of {cause.owner} to Forbid, so that its runs do not overlap"
            )
            gone = _active_pods(problem, f"Job/{job}")
        yield Candidate(
            title,
            (),
            FixSlot(Topic.WAIT),
            Preference.ADAPT if cause.together else Preference.AGAIN,
            effect=f"if its pods do not need each other; {effect}" if cause.together else effect,
            degree=position,
            consequences=tuple(Delete(f"Pod/{pod}") for pod in gone),
            corrects=not cause.together,
        )


def _active_pods(problem: FixProblem, job: str) -> list[str]:
    pods = problem.state.objects("Pod").items()
    return [
        "/".join(key)
        for key, pod in pods
        if workload_target(pod, key[0]) == job and not Pod(pod).has_ended
    ]


@fix_for(ClaimEach)
def share_claim(problem: FixProblem, cause: ClaimEach) -> Iterator[Candidate]:
    """One claim for all replicas, where the devices are configured to be shared and each replica has a claim of its
    own: sharing works among the pods of one claim (k8s-dra-driver-gpu, GpuConfig.sharing)."""
    entry, owner = (
        problem.claim_reference(cause.pod_claim),
        workload_target(problem.pod, problem.question.key[0]),
    )
    namespace, _, template = cause.template.partition("/")
    value = problem.state.get("ResourceClaimTemplate", (namespace, template))
    if (
        entry is None
        or owner is None
        or value is None
        or owner.partition("/")[0] not in ("Deployment", "StatefulSet")
    ):
        return
    name = f"{owner.rpartition('/')[2]}-shared"
    made = {
        "apiVersion": value.get("apiVersion"),
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": at(value, "spec", "spec"),
    }
    written = {"name": text_at(entry[1], "name"), "resourceClaimName": name}
    change = {
        "op": "replace",
        "path": pointer("spec", "resourceClaims", entry[0]),
        "value": written,
    }
    patch = problem.patch(change)
    # The old replicas hold what the new ones need. A Deployment can be told to end them all first.
    siblings = _delete_holders(problem, owner)
    at_once = (
        siblings
        if owner.startswith("StatefulSet/")
        else (set_strategy(problem, owner, {"type": "Recreate"}),)
    )
    yield Candidate(
        f"let all replicas of {owner.replace('/', ' ', 1)} share one ResourceClaim",
        (Create(made), patch, *at_once),
        FixSlot(Topic.SHARING),
        Preference.CORRECT,
        effect=f"resourceClaimName {name} instead of resourceClaimTemplateName {template}: only pods of one claim "
        "share its devices; all replicas restart at once",
        consequences=(Create(made), patch, *siblings),
        corrects=True,
    )


@fix_for(EvictionLoop)
def add_eviction_effect(problem: FixProblem, cause: EvictionLoop) -> Iterator[Candidate]:
    """The effect NoExecute in tolerations that lack it: without it the scheduler places the pod, and the eviction
    controller ends it (kubernetes pkg/controller/devicetainteviction)."""
    owner = cause.owner.replace(" ", "/", 1)
    for _, survey in problem.requests():
        written = problem.editable_request(survey.ref)
        if written is None:
            continue
        for index, own in enumerate(written.part.tolerations):
            if own.get("effect"):
                continue
            patch = written.put("tolerations", index, "effect", value="NoExecute")
            yield Candidate(
                f"add effect NoExecute to the toleration of {text_at(own, 'key')} in {problem.request_name(survey.ref)}",
                (patch,),
                FixSlot(Topic.TOLERATION, repr(survey.ref)),
                Preference.CORRECT,
                effect="if the device may be used: without the effect its pods are evicted",
                consequences=(patch, *_delete_holders(problem, owner)),
                corrects=True,
            )


def _delete_holders(problem: FixProblem, owner: str) -> tuple[Change, ...]:
    """The end of the pods of the same workload that hold what is wanted."""
    holders = dict.fromkeys(
        h.pod for cause in problem.causes for h in holders_of(cause) if h.pod and not h.finished
    )
    pods = ((name, problem.state.get("Pod", parse_key(name))) for name in holders)
    return tuple(
        Delete(f"Pod/{n}")
        for n, pod in pods
        if pod is not None and workload_target(pod, parse_key(n)[0]) == owner
    )
