"""Fix workloads that wait for themselves, or whose claims are older than their templates."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from dractl.cluster.changes import Change, Create, Delete, Patch, parse_target
from dractl.cluster.state import parse_key, text_at
from dractl.cluster.workloads import (
    deletion_rank,
    pods_of_target,
    pods_of_workload,
    workload_target,
)
from dractl.explain.fixes.candidates import Candidate, FixSlot, Topic
from dractl.explain.fixes.edits import put, remove, replace as replace_field
from dractl.explain.fixes.makers import fix_for
from dractl.explain.fixes.owners import lower_deletion_cost
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.problem import FixProblem
from dractl.explain.fixes.settings import recreate_subject
from dractl.explain.reasons.claims import ClaimMissing
from dractl.explain.reasons.cross_object import EvictionLoop, OldTemplate
from dractl.explain.reasons.holding import list_holders
from dractl.explain.reasons.workloads import ClaimEach, OldReplicas, OldRevision, OwnReplicas
from dractl.simulation.controllers import filter_active_pods
from dractl.views import ClaimTemplate, Pod, Workload

_MAX_OLD_REPLICAS = 8  # the maximum number of old replicas that are ended, one in each trial

END_FIRST_STRATEGY = {
    "type": "RollingUpdate",
    "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1},
}
"""The strategy of a Deployment that ends an old replica before it makes a new one."""

_TEMPLATE_FIELD, _CLAIM_FIELD = "resourceClaimTemplateName", "resourceClaimName"


@fix_for(OldTemplate, ClaimMissing)
def recreate_pod(problem: FixProblem, cause: OldTemplate | ClaimMissing) -> Iterator[Candidate]:
    """Recreate a pod whose claim is gone, or older than its template.

    The claim controller makes the claim of a pod once (kubernetes
    pkg/controller/resourceclaim).
    """
    reference = problem.claim_reference(cause.pod_claim)
    template = text_at(reference[1], _TEMPLATE_FIELD) if reference is not None else ""
    if problem.pod is None or not template or not cause.claim:
        return
    claim = cause.claim.rpartition("/")[2]
    preference, corrects = Preference.AGAIN, True
    if isinstance(cause, OldTemplate):
        preference = Preference.RENEW
        effect = f"its claim {claim} was made from an earlier version of template {template}"
        count = _count_old_claims(problem, template)
        if count:
            others = "that of 1 more pending pod"
            if count > 1:
                others = f"those of {count} more pending pods"
            effect += f", like {others}"
    elif cause.none_known or cause.may_exist:
        corrects = False
        lack = "the input has no ResourceClaim at all" if cause.none_known else "it was not seen"
        effect = f"if claim {claim} is gone from the cluster, too: {lack}"
    else:
        effect = f"its claim {claim} was deleted, and is not created again while the pod exists"
    yield Candidate(
        f"recreate pod {'/'.join(problem.question.key)}",
        recreate_subject(problem),
        FixSlot(Topic.POD),
        preference,
        effect=effect,
        corrects=corrects,
    )


def _count_old_claims(problem: FixProblem, template: str) -> int:
    """Count the other pending pods with a claim that differs from its template."""
    namespace = problem.question.key[0]
    spec = problem.state.claim_template((namespace, template)).claim_spec
    count = 0
    for key, pod in problem.state.pods.items():
        if key[0] != namespace or key == problem.question.key or not pod.is_pending:
            continue
        pod_claims = {
            reference.name
            for reference in pod.claim_references
            if reference.template_name == template
        }
        names = (name for entry, name in pod.claim_statuses.items() if entry in pod_claims)
        claims = (problem.state.claim((namespace, name)) for name in names)
        count += any(claim.exists and claim.raw.get("spec") != spec for claim in claims)
    return count


@fix_for(OldRevision)
def update_pod(problem: FixProblem, cause: OldRevision) -> Iterator[Candidate]:
    """Let a workload create the next pod from its present template.

    A StatefulSet does so after its pod ends, a Deployment after it is resumed.
    """
    owner = cause.owner.replace(" ", "/", 1)
    value = problem.state.get(*parse_target(owner))
    workload = Workload(value)
    template = workload.template_pod.spec
    if problem.pod is None or not template:
        return
    names = workload.volume_claim_templates
    volumes = [volume for volume in Pod(problem.pod).volumes if volume.get("name") in names]
    spec = {**template, "volumes": [*workload.template_pod.volumes, *volumes]}
    if cause.paused:
        title = f"resume {cause.owner}"
        changes: tuple[Change, ...] = (Patch(owner, (remove(("spec", "paused")),)),)
    else:
        title = f"recreate pod {'/'.join(problem.question.key)}"
        changes = recreate_subject(problem)
    yield Candidate(
        title,
        changes,
        FixSlot(Topic.POD),
        Preference.RENEW,
        effect=f"the next one is made from {cause.owner} as it is now",
        consequences=(problem.patch(replace_field(("spec",), spec)),),
        corrects=True,
    )


@fix_for(OldReplicas)
def end_old_replica(problem: FixProblem, cause: OldReplicas) -> Iterator[Candidate]:
    """End an old replica of a Deployment first, if the new replica waits for its devices.

    The strategy decides which step is first (kubernetes pkg/controller/deployment/rolling.go).
    """
    marks = _mark_old_replicas(problem, cause.owner.replace(" ", "/", 1))
    for position, name in enumerate(cause.pods[:_MAX_OLD_REPLICAS]):
        rollout = _roll_out(problem, cause, name, marks, position)
        if len(marks) <= _MAX_OLD_REPLICAS:
            yield rollout
        if name in marks:
            yield replace(
                rollout,
                title=f"{rollout.title}, old replica {name} first",
                changes=(marks[name], *rollout.changes),
                slot=FixSlot(Topic.ROLLOUT, "marked"),
                consequences=(marks[name], *rollout.consequences),
                superseded_by=(rollout.slot,),
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


def _roll_out(
    problem: FixProblem, cause: OldReplicas, name: str, marks: Mapping[str, Patch], position: int
) -> Candidate:
    """Set a strategy that ends an old replica first, whichever of equal rank that is."""
    strategy = set_strategy(problem, cause.owner.replace(" ", "/", 1), END_FIRST_STRATEGY)
    return Candidate(
        f"set maxSurge to 0 and maxUnavailable to 1 in {cause.owner}",
        (strategy,),
        FixSlot(Topic.ROLLOUT),
        Preference.CORRECT,
        effect="an old replica ends before its successor starts",
        degree=position,
        consequences=(Delete(f"Pod/{name}"),),
        corrects=True,
        chance=tuple(marks.values()),
    )


def _mark_old_replicas(problem: FixProblem, deployment: str) -> dict[str, Patch]:
    """Return, for each of several old replicas of equal rank, the patch after which the Deployment
    ends this replica first. The keys are the names of the replicas.

    The result is empty if no replicas have equal rank. Without a patch, UIDs and ready times would
    decide among them (kubernetes pkg/controller/controller_utils.go ActivePodsWithRanks).
    """
    kind, key = parse_target(deployment)
    owned_pods = (Pod(raw, pod_key) for pod_key, raw in pods_of_workload(problem.state, kind, key))
    active_pods = [pod.raw for pod in filter_active_pods(owned_pods)]
    newest_owner = Pod(problem.pod).controller
    rank = deletion_rank("ReplicaSet", active_pods)
    old_pods = sorted((pod for pod in active_pods if Pod(pod).controller != newest_owner), key=rank)
    equal_pods = [pod for pod in old_pods if rank(pod) == rank(old_pods[0])]
    if len(equal_pods) < 2:
        return {}
    return {f"{key[0]}/{Pod(pod).name}": lower_deletion_cost(key[0], pod) for pod in equal_pods}


def set_strategy(problem: FixProblem, deployment: str, strategy: Mapping[str, Any]) -> Patch:
    """Return a patch that sets the strategy of a Deployment."""
    value = problem.state.get(*parse_target(deployment)) or {"spec": {}}
    return Patch(deployment, (put(value, ("spec", "strategy"), strategy),))


@fix_for(OwnReplicas)
def await_turn(problem: FixProblem, cause: OwnReplicas) -> Iterator[Candidate]:
    """Wait for pods of the same Job, or of an earlier Job of its CronJob, to free the devices."""
    if not cause.ends:
        return
    for position, name in enumerate(cause.pods):
        if cause.earlier:
            job = f"{name.partition('/')[0]}/{cause.earlier}"
            title = f"wait until Job {job} is done"
            state = problem.state
            pods = [k for k in pods_of_target(state, f"Job/{job}") if not state.pod(k).has_ended]
            ending_pods = ["/".join(key) for key in pods]
            effect = (
                f"set concurrencyPolicy of {cause.owner} to Forbid, so that its runs do not overlap"
            )
        else:
            title = f"wait until another pod of {cause.owner} is done"
            ending_pods = [name]
            effect = _advise_parallelism(problem, cause.owner)
        if cause.together:
            effect = f"if its pods do not need each other; {effect}"
        yield Candidate(
            title,
            (),
            FixSlot(Topic.WAIT),
            Preference.ADAPT if cause.together else Preference.AGAIN,
            effect=effect,
            degree=position,
            consequences=tuple(Delete(f"Pod/{pod}") for pod in ending_pods),
            corrects=not cause.together,
        )


def _advise_parallelism(problem: FixProblem, owner: str) -> str:
    """Advise to lower the parallelism of a Job, in the manifest of the object that makes it."""
    advice = f"lower spec.parallelism of {owner} to what fits, to have no pods waiting"
    kind, _, name = owner.partition(" ")
    controller = Pod(problem.state.get(kind, parse_key(name))).controller
    if controller is None:
        return advice
    return f"{advice}: in {controller.kind} {controller.name}, which makes it"


@fix_for(ClaimEach)
def share_claim(problem: FixProblem, cause: ClaimEach) -> Iterator[Candidate]:
    """Use one claim for all replicas, if each has its own claim with devices that are configured
    for sharing.

    Sharing works among the pods of one claim (k8s-dra-driver-gpu, GpuConfig.sharing).
    """
    reference = problem.claim_reference(cause.pod_claim)
    owner = problem.owner
    namespace, _, template = cause.template.partition("/")
    value = problem.state.get("ResourceClaimTemplate", (namespace, template))
    if reference is None or owner is None or value is None:
        return
    kind, _, workload = owner.partition("/")
    if kind not in ("Deployment", "StatefulSet"):
        return
    name = f"{workload.rpartition('/')[2]}-shared"
    manifest = {
        "apiVersion": value.get("apiVersion"),
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": ClaimTemplate(value).claim_spec,
    }
    index, entry = reference
    new_entry = {"name": text_at(entry, "name"), _CLAIM_FIELD: name}
    patch = problem.patch(replace_field(("spec", "resourceClaims", index), new_entry))
    # The old replicas hold the devices that the new ones need, so the Deployment's strategy ends
    # the old ones first.
    deletions = _delete_holders(problem, owner)
    restart = deletions
    if kind == "Deployment":
        restart = (set_strategy(problem, owner, {"type": "Recreate"}),)
    yield Candidate(
        f"let all replicas of {kind} {workload} share one ResourceClaim",
        (Create(manifest), patch, *restart),
        FixSlot(Topic.SHARING),
        Preference.CORRECT,
        effect=(
            f"resourceClaimName {name} instead of resourceClaimTemplateName {template}: "
            "only pods of one claim share its devices; all replicas restart at once"
        ),
        consequences=(Create(manifest), patch, *deletions),
        corrects=True,
    )


@fix_for(EvictionLoop)
def add_eviction_effect(problem: FixProblem, cause: EvictionLoop) -> Iterator[Candidate]:
    """Add the effect NoExecute to tolerations without an effect.

    Without the effect, the scheduler places the pod and the eviction controller then ends it
    (kubernetes pkg/controller/devicetainteviction).
    """
    owner = cause.owner.replace(" ", "/", 1)
    for _, survey in problem.requests():
        editable = problem.editable_request(survey.ref)
        if editable is None:
            continue
        for index, toleration in enumerate(editable.part.tolerations):
            if toleration.get("effect"):
                continue
            patch = editable.put(("tolerations", index, "effect"), "NoExecute")
            key, request = text_at(toleration, "key"), problem.request_name(survey.ref)
            yield Candidate(
                f"add effect NoExecute to the toleration of {key} in {request}",
                (patch,),
                FixSlot(Topic.TOLERATION, repr(survey.ref)),
                Preference.CORRECT,
                effect="if the device may be used: without the effect its pods are evicted",
                consequences=(patch, *_delete_holders(problem, owner)),
                corrects=True,
            )


def _delete_holders(problem: FixProblem, owner: str) -> tuple[Change, ...]:
    """Delete the pods of a workload that hold wanted devices."""
    holders = dict.fromkeys(
        holder.pod for holder in list_holders(problem.causes) if holder.pod and not holder.finished
    )
    return tuple(
        Delete(f"Pod/{name}")
        for name in holders
        if workload_target(problem.state, parse_key(name)) == owner
    )
