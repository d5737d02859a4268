"""Fixes by freeing devices: ending pods, deleting claims that nobody uses; and by sharing a claim."""

from collections.abc import Iterator
from itertools import combinations

from dractl.cluster.changes import Delete, Patch, parse_target, pointer
from dractl.cluster.devices import Holder, outlives_pod
from dractl.cluster.state import maps_at, parse_key, text_at
from dractl.cluster.workloads import workload_target
from dractl.explain.fixes.candidates import Candidate, FixProblem, FixSlot, Topic, fix_once_for
from dractl.explain.fixes.edits import put, replace
from dractl.explain.fixes.preference import Preference
from dractl.explain.reasons.amounts import NotEnoughTogether, SearchConflict
from dractl.explain.reasons.base import Cause, Held
from dractl.explain.reasons.capacity import CountersShort
from dractl.explain.reasons.constraints import ConstraintConflict
from dractl.explain.reasons.phrases import plural
from dractl.views.namespace import ADMIN_ACCESS_LABEL

_MAX_HOLDERS = 12  # holders that are tried one by one
_MAX_ALTERNATIVES = 3  # alternatives that are shown


@fix_once_for(Held, ConstraintConflict, NotEnoughTogether, SearchConflict)
def release_devices(problem: FixProblem) -> Iterator[Candidate]:
    """Ending the pods, or deleting the idle claims, that hold what is wanted: one, then two, then all of one node."""
    by_claim: dict[str, list[Holder]] = {}
    for cause in problem.causes:
        for holder in holders_of(cause):
            held = by_claim.setdefault(holder.claim, [])
            if holder not in held:
                held.append(holder)
    ordered = sorted(
        by_claim.items(),
        key=lambda item: (not _are_idle(item[1]), -max(len(h.devices) for h in item[1])),
    )
    for position, (claim, holders) in enumerate(ordered[:_MAX_HOLDERS]):
        yield from _release_claims(problem, [(claim, holders)], degree=position)
    if len(ordered) > 1:
        many = any(
            isinstance(cause, CountersShort) for cause in problem.causes
        )  # small partitions of one device
        for pair in combinations(ordered[: 9 if many else 5], 2):
            yield from _release_claims(problem, list(pair), degree=20)
    for cause in problem.causes:
        claims = list(dict.fromkeys(h.claim for h in holders_of(cause)))
        if 2 < len(claims) <= _MAX_HOLDERS and len(cause.nodes) == 1:
            yield from _release_claims(problem, [(c, by_claim[c]) for c in claims], degree=30)


def holders_of(cause: Cause) -> tuple[Holder, ...]:
    """Holders of the devices that a cause is about."""
    return (
        cause.holders
        if isinstance(cause, Held | ConstraintConflict | NotEnoughTogether | SearchConflict)
        else ()
    )


def _are_idle(holders: list[Holder]) -> bool:
    return all((h.pod is None and not h.consumer) or h.finished for h in holders)


def _release_claims(
    problem: FixProblem, claims: list[tuple[str, list[Holder]]], *, degree: int
) -> Iterator[Candidate]:
    if any(h.consumer for _, holders in claims for h in holders):
        return  # whoever it is reserved for has to give it back: a finalizer keeps it until then
    unused = [claim for claim, holders in claims if not any(h.pod for h in holders)]
    left = [
        claim for claim, holders in claims if all(outlives_pod(problem.state, h) for h in holders)
    ]
    pods = [h.pod for claim, holders in claims if claim not in left for h in holders if h.pod]
    ending = problem.owners.plan_ending(pods)
    if ending is None:
        return
    deleted = tuple(Delete(f"ResourceClaim/{claim}") for claim in unused)
    released = tuple(Delete(f"ResourceClaim/{claim}") for claim in left)
    titles = [
        *([ending.title] if pods else ()),
        *(f"delete claim {claim}, which nobody uses" for claim in unused),
        *(
            f"wait until kube-controller-manager releases claim {claim}, whose pod has ended"
            for claim in left
        ),
    ]
    changes, gone = (*ending.changes, *deleted), (*ending.deletions, *deleted, *released)
    devices = sum(max(len(h.devices) for h in holders) for _, holders in claims)
    more = len(ending.deletions) - len(
        set(pods)
    )  # that go besides, and free what was not looked for
    several = len(claims) > 1
    waits = not changes
    slot = (
        FixSlot(Topic.ENDINGS)
        if several
        else FixSlot(Topic.ENDING, ending.owner or str(degree % _MAX_ALTERNATIVES))
    )
    if left and waits and not pods:
        slot = FixSlot(Topic.WAIT)
    preference = ending.preference
    if waits:
        preference = Preference.RESTORE
    elif all(_are_idle(holders) for _, holders in claims):
        preference = Preference.IDLE
    yield Candidate(
        " and ".join(titles),
        changes,
        slot,
        preference,
        ending.effect
        if more
        else "; ".join(filter(None, (f"frees {plural(devices, 'device')}", ending.effect))),
        degree=degree + more * _MAX_HOLDERS,
        superseded_by=(Topic.ENDING,) if several else (),
        consequences=gone if gone != changes else (),
        corrects=waits and not several,
    )


def note_recreated_pods(problem: FixProblem) -> tuple[str, ...]:
    """Notes about pods that hold the devices, and would be recreated if they ended."""
    first: dict[str, str] = {}  # of each workload, one of its pods that hold something
    for holder in (h for cause in problem.causes for h in holders_of(cause) if h.pod):
        full_name = holder.pod or ""
        key = parse_key(full_name)
        owner = workload_target(problem.state.get("Pod", key), key[0])
        if owner is not None:
            first.setdefault(owner, full_name)
    kept = {
        owner: pod
        for owner, pod in list(first.items())[:_MAX_HOLDERS]
        if problem.owners.plan_ending([pod]) is None
    }
    return tuple(
        f"deleting pod {pod} would not free its devices: {owner.replace('/', ' ', 1)} would recreate it"
        for owner, pod in list(kept.items())[:_MAX_ALTERNATIVES]
    )


@fix_once_for(Held, ConstraintConflict, NotEnoughTogether, SearchConflict)
def grant_admin_access(problem: FixProblem) -> Iterator[Candidate]:
    """adminAccess for the pods of a DaemonSet that take a device on each node: what only watches devices needs none of
    them for itself."""
    found: dict[str, list[str]] = {}
    for holder in (h for cause in problem.causes for h in holders_of(cause) if h.pod):
        if (holder.workload or "").startswith("DaemonSet "):
            found.setdefault(holder.workload or "", []).append(holder.pod or "")
    for owner in found:
        key = parse_key(owner.partition(" ")[2])
        value, named = problem.state.get("DaemonSet", key), owner.replace(" ", "/", 1)
        pods = [
            "/".join(k)
            for k, p in problem.state.objects("Pod").items()
            if workload_target(p, k[0]) == named
        ]
        for reference in maps_at(value, "spec", "template", "spec", "resourceClaims"):
            target = (
                f"ResourceClaimTemplate/{key[0]}/{text_at(reference, 'resourceClaimTemplateName')}"
            )
            requests = maps_at(
                problem.state.get(*parse_target(target)), "spec", "spec", "devices", "requests"
            )
            exact = [i for i, request in enumerate(requests) if request.get("exactly")]
            if not exact:
                continue
            paths = (
                pointer("spec", "spec", "devices", "requests", i, "exactly", "adminAccess")
                for i in exact
            )
            admin = Patch(
                target, tuple({"op": "add", "path": path, "value": True} for path in paths)
            )
            namespace = problem.state.get("Namespace", ("", key[0]))
            label = Patch(
                f"Namespace/{key[0]}",
                (put(namespace, ("metadata", "labels", ADMIN_ACCESS_LABEL), "true"),),
            )
            changes = (label, admin) if namespace is not None else (admin,)
            ended = tuple(Delete(f"Pod/{pod}") for pod in pods)
            yield Candidate(
                f"let {owner} use adminAccess in template {target.rpartition('/')[2]}",
                (*changes, *ended),
                FixSlot(Topic.SHARING, owner),
                Preference.ADMIT,
                effect="if it only watches the devices: with adminAccess it takes none of them",
                consequences=(*changes, *ended),
            )


@fix_once_for(Held, ConstraintConflict, NotEnoughTogether, SearchConflict)
def join_shared_claim(problem: FixProblem) -> Iterator[Candidate]:
    """Using a claim of the same namespace that several pods share already."""
    if problem.question.kind != "Pod":
        return
    namespace = problem.question.key[0]
    for index, reference in enumerate(maps_at(problem.question.value, "spec", "resourceClaims")):
        mine = next((c for c in problem.claims if c.name == text_at(reference, "name")), None)
        if mine is None or mine.claim is None or mine.allocated:
            continue
        classes = {
            r.exactly.device_class_name for r in mine.claim.spec.devices.requests if r.exactly
        }
        for key, value in problem.state.objects("ResourceClaim").items():
            if key[0] != namespace or maps_at(value, "metadata", "ownerReferences"):
                continue
            users = maps_at(value, "status", "reservedFor")
            if len(users) < 2:
                continue
            theirs = problem.state.decode(value)
            if {
                r.exactly.device_class_name for r in theirs.spec.devices.requests if r.exactly
            } == classes:
                entry = {"name": mine.name, "resourceClaimName": key[1]}
                change = replace(("spec", "resourceClaims", index), entry)
                yield Candidate(
                    f"use claim {key[1]}, which {len(users)} pods share",
                    (problem.patch(change),),
                    FixSlot(Topic.SHARING),
                    Preference.ADAPT,
                )
