"""Free devices: end pods, delete claims that nobody uses, or share a claim."""

from collections.abc import Iterator, Sequence
from itertools import combinations, islice, product

from msgspec import Struct

from dractl.cluster.changes import Change, Delete, Patch, parse_target, pointer
from dractl.cluster.devices import Holder, outlives_pod
from dractl.cluster.state import Key, parse_key
from dractl.cluster.workloads import pods_of_target, workload_target
from dractl.explain.fixes.candidates import Candidate, FixSlot, Topic
from dractl.explain.fixes.edits import Path, put, replace
from dractl.explain.fixes.makers import fix_once_for
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.problem import FixProblem
from dractl.explain.reasons.capacity import CountersShort
from dractl.explain.reasons.holding import HOLDING_CAUSES, list_holders
from dractl.explain.reasons.phrases import join_clauses, plural
from dractl.model import ResourceClaim
from dractl.views.namespace import ADMIN_ACCESS_LABEL

_MAX_HOLDERS = 12  # claims that are released one by one
_MAX_PAIRED = 5  # claims that are released two at a time
_MAX_PAIRED_PARTITIONS = 9  # the same limit if some claims hold partitions
_MAX_ALTERNATIVES = 3  # maximum number of alternatives that are shown


class _HeldClaim(Struct, frozen=True):
    """A claim that holds wanted devices."""

    name: str
    """The name of the claim, ``namespace/name``."""
    holders: tuple[Holder, ...]
    """The holders of the claim, one for each pod and cause."""

    @property
    def is_idle(self) -> bool:
        """True if nobody uses its devices."""
        return all((h.pod is None and not h.consumer) or h.finished for h in self.holders)

    @property
    def device_count(self) -> int:
        """The number of wanted devices that it holds."""
        return max(len(holder.devices) for holder in self.holders)


@fix_once_for(*HOLDING_CAUSES)
def release_devices(problem: FixProblem) -> Iterator[Candidate]:
    """End the pods that hold wanted devices, or delete idle claims that hold some.

    Single claims are tried first, then pairs of claims. Then follow one claim of each driver, and
    as many claims of each driver as there are wanted devices. Last come all claims that one cause
    names on one node.
    """
    claims = _list_held_claims(problem)
    ordered = sorted(claims.values(), key=lambda c: (not c.is_idle, -c.device_count))
    for position, claim in enumerate(ordered[:_MAX_HOLDERS]):
        yield from _release_claims(problem, [claim], degree=position)
    # Partitions of one device are small, so more pairs of claims are worth a trial.
    has_partitions = any(isinstance(cause, CountersShort) for cause in problem.causes)
    paired = ordered[: _MAX_PAIRED_PARTITIONS if has_partitions else _MAX_PAIRED]
    nodes = {claim.name: _find_node(problem, claim) for claim in paired}
    for first, second in combinations(paired, 2):
        if None in nodes.values() or nodes[first.name] == nodes[second.name]:
            yield from _release_claims(problem, [first, second], degree=20)
    wanted = max((survey.wanted for _, survey in problem.requests()), default=1)
    for of_each_driver in _list_some_of_each_driver(problem, ordered, sorted({1, wanted})):
        yield from _release_claims(problem, of_each_driver, degree=25)
    for cause in problem.causes:
        names = list(dict.fromkeys(holder.claim for holder in list_holders([cause])))
        if 2 < len(names) <= _MAX_HOLDERS and len(cause.nodes) == 1:
            yield from _release_claims(problem, [claims[name] for name in names], degree=30)


def _list_held_claims(problem: FixProblem) -> dict[str, _HeldClaim]:
    """Return the claims that hold wanted devices, by their names."""
    holders_by_claim: dict[str, dict[Holder, None]] = {}
    for holder in list_holders(problem.causes):
        holders_by_claim.setdefault(holder.claim, {})[holder] = None
    return {name: _HeldClaim(name, tuple(holders)) for name, holders in holders_by_claim.items()}


def _list_some_of_each_driver(
    problem: FixProblem, claims: Sequence[_HeldClaim], counts: Sequence[int]
) -> Iterator[list[_HeldClaim]]:
    """Yield each number of claims of each driver, for each node on which devices of several drivers
    are in use.
    """
    by_node: dict[str | None, dict[str, list[_HeldClaim]]] = {}
    for claim in claims:
        drivers = {name.partition("/")[0] for holder in claim.holders for name in holder.devices}
        by_driver = by_node.setdefault(_find_node(problem, claim), {})
        for driver in sorted(drivers):
            by_driver.setdefault(driver, []).append(claim)
    for count, claims_by_driver in product(counts, islice(by_node.values(), _MAX_ALTERNATIVES)):
        some = [claim for each in claims_by_driver.values() for claim in each[:count]]
        distinct = {claim.name: claim for claim in some}
        if len(claims_by_driver) > 1 and 1 < len(distinct) <= _MAX_HOLDERS:
            yield list(distinct.values())


def _find_node(problem: FixProblem, claim: _HeldClaim) -> str | None:
    """Return the only node that can use the devices of a claim; None if several can."""
    return problem.case.devices.node_of(tuple([d for h in claim.holders for d in h.devices]))


def _release_claims(
    problem: FixProblem, claims: Sequence[_HeldClaim], *, degree: int
) -> Iterator[Candidate]:
    """End the pods of claims, and delete the claims that no pod uses."""
    if any(holder.consumer for claim in claims for holder in claim.holders):
        return  # a finalizer keeps the claim until its consumer gives it back
    left_claims = [
        claim for claim in claims if all(outlives_pod(problem.state, h) for h in claim.holders)
    ]
    pods = [
        holder.pod
        for claim in claims
        if claim not in left_claims
        for holder in claim.holders
        if holder.pod
    ]
    ending = problem.owners.plan_ending(pods)
    if ending is None:
        return
    unused_claims = [claim for claim in claims if not any(h.pod for h in claim.holders)]
    deletions = tuple(Delete(f"ResourceClaim/{claim.name}") for claim in unused_claims)
    releases = tuple(Delete(f"ResourceClaim/{claim.name}") for claim in left_claims)
    titles = [ending.title] if pods else []
    titles += [f"delete claim {claim.name}, which nobody uses" for claim in unused_claims]
    titles += [
        f"wait until kube-controller-manager releases claim {claim.name}, whose pod has ended"
        for claim in left_claims
    ]
    changes = (*ending.changes, *deletions)
    if changes and problem.when == "never":
        return  # with no device held, the subject does not fit either
    consequences = (*ending.deletions, *deletions, *releases)
    is_joint = len(claims) > 1
    slot = FixSlot(Topic.ENDING, ending.owner or str(degree % _MAX_ALTERNATIVES))
    if left_claims and not changes and not pods:
        slot = FixSlot(Topic.WAIT)
    elif is_joint:
        slot = FixSlot(Topic.ENDINGS)
    preference = ending.preference
    if not changes:
        preference = Preference.RESTORE
    elif all(claim.is_idle for claim in claims):
        preference = Preference.IDLE
    # A change may end pods that hold no wanted devices; a candidate with such pods ranks lower.
    further_pods = len(ending.deletions) - len(set(pods))
    devices = plural(sum(claim.device_count for claim in claims), "device")
    yield Candidate(
        " and ".join(titles),
        changes,
        slot,
        preference,
        effect=join_clauses(f"frees {devices}" if not further_pods else "", ending.effect),
        degree=degree + further_pods * _MAX_HOLDERS,
        superseded_by=(Topic.ENDING,) if is_joint else (),
        consequences=consequences if consequences != changes else (),
        corrects=not changes and not is_joint,
        nodes=_list_freed_nodes(problem, claims, ending.deletions),
    )


def _list_freed_nodes(
    problem: FixProblem, claims: Sequence[_HeldClaim], deletions: Sequence[Change]
) -> tuple[str, ...]:
    """Return the only nodes on which a release of the claims can help; empty for all nodes."""
    names = [_find_node(problem, claim) for claim in claims]
    pods, keys = problem.state.pods, (parse_target(deletion.target)[1] for deletion in deletions)
    nodes = dict.fromkeys([*names, *(pods[key].node_name for key in keys if key in pods)])
    return () if None in names else tuple(filter(None, nodes))


def note_recreated_pods(problem: FixProblem) -> tuple[str, ...]:
    """Note the pods that hold wanted devices, and would be recreated if they ended."""
    pod_by_owner: dict[str, str] = {}
    for pod in filter(None, (holder.pod for holder in list_holders(problem.causes))):
        owner = workload_target(problem.state, parse_key(pod))
        if owner is not None:
            pod_by_owner.setdefault(owner, pod)
    kept_pods = [
        (owner.replace("/", " ", 1), pod)
        for owner, pod in list(pod_by_owner.items())[:_MAX_HOLDERS]
        if problem.owners.plan_ending([pod]) is None
    ]
    return tuple(
        f"deleting pod {pod} would not free its devices: {owner} would recreate it"
        for owner, pod in kept_pods[:_MAX_ALTERNATIVES]
    )


@fix_once_for(*HOLDING_CAUSES)
def grant_admin_access(problem: FixProblem) -> Iterator[Candidate]:
    """Let the pods of a DaemonSet that take a device on each node use adminAccess.

    A pod that only monitors devices needs none for itself.
    """
    daemon_sets = dict.fromkeys(
        holder.workload
        for holder in list_holders(problem.causes)
        if holder.pod and holder.workload and holder.workload.startswith("DaemonSet ")
    )
    for daemon_set in daemon_sets:
        key = parse_key(daemon_set.partition(" ")[2])
        workload = problem.state.workload("DaemonSet", key)
        for reference in workload.template_pod.claim_references:
            yield from _set_admin_access(problem, daemon_set, (key[0], reference.template_name))


def _set_admin_access(problem: FixProblem, daemon_set: str, template: Key) -> Iterator[Candidate]:
    """Set ``adminAccess`` in a template, label its namespace, and recreate the DaemonSet's pods."""
    requests = problem.state.claim_template(template).claim.requests
    path: Path = ("spec", "spec", "devices", "requests")
    exact_requests = [index for index, request in enumerate(requests) if request.exactly]
    if not exact_requests:
        return
    pointers = (pointer(*path, index, "exactly", "adminAccess") for index in exact_requests)
    operations = tuple({"op": "add", "path": path, "value": True} for path in pointers)
    changes: tuple[Change, ...] = (
        Patch("/".join(("ResourceClaimTemplate", *template)), operations),
    )
    namespace = problem.state.get("Namespace", ("", template[0]))
    if namespace is not None:
        label = put(namespace, ("metadata", "labels", ADMIN_ACCESS_LABEL), "true")
        changes = (Patch(f"Namespace/{template[0]}", (label,)), *changes)
    pods = pods_of_target(problem.state, daemon_set.replace(" ", "/", 1))
    deletions = tuple(Delete("/".join(("Pod", *key))) for key in pods)
    yield Candidate(
        f"let {daemon_set} use adminAccess in template {template[1]}",
        (*changes, *deletions),
        FixSlot(Topic.SHARING, daemon_set),
        Preference.ADMIT,
        effect="if it only watches the devices: with adminAccess it takes none of them",
    )


@fix_once_for(*HOLDING_CAUSES)
def join_shared_claim(problem: FixProblem) -> Iterator[Candidate]:
    """Use a claim of the same namespace that several pods share already."""
    if problem.question.kind != "Pod":
        return
    for index, reference in enumerate(problem.question.pod.claim_references):
        claim = next((c for c in problem.claims if c.name == reference.name), None)
        if claim is None or claim.claim is None or claim.allocated:
            continue
        classes = _exact_classes(claim.claim)
        for name, user_count in _list_shared_claims(problem, classes).items():
            entry = {"name": claim.name, "resourceClaimName": name}
            yield Candidate(
                f"use claim {name}, which {user_count} pods share",
                (problem.patch(replace(("spec", "resourceClaims", index), entry)),),
                FixSlot(Topic.SHARING),
                Preference.ADAPT,
            )


def _list_shared_claims(problem: FixProblem, classes: set[str]) -> dict[str, int]:
    """Return the shared claims that ask for ``classes``, with the number of their users."""
    users_by_name = {}
    for (namespace, name), claim in problem.state.claims.items():
        users = claim.reserved_for
        if namespace != problem.question.key[0] or len(users) < 2 or claim.owners:
            continue
        if _exact_classes(problem.state.decode(claim.raw)) == classes:
            users_by_name[name] = len(users)
    return users_by_name


def _exact_classes(claim: ResourceClaim) -> set[str]:
    """Return the classes of a claim's requests without alternatives."""
    requests = claim.spec.devices.requests
    return {request.exactly.device_class_name for request in requests if request.exactly}
