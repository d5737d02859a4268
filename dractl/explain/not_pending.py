"""Subjects for which the scheduler has no work left: a pod with a node or at its end, an allocated
or deleted claim.
"""

from collections.abc import Sequence

from dractl.cluster.events import events_about
from dractl.cluster.pods import describe_consumers
from dractl.cluster.schedulers import scheduler_of
from dractl.cluster.state import ClusterState
from dractl.explain import after_scheduling
from dractl.explain.after_scheduling import PlacedPod
from dractl.explain.answer import NodeAnswer
from dractl.explain.ask import Question
from dractl.explain.build import Parts
from dractl.explain.conclude import Conclusion, conclude_from_cause
from dractl.explain.diagnosis.nodes import allocation_of
from dractl.explain.reasons.claims import SubjectClaimDeleting
from dractl.explain.reasons.headline import Headline
from dractl.explain.reasons.scheduling import ClaimReplaced, PlacedByHand
from dractl.model.releases import find_release, stage
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.extended import find_special_claim
from dractl.views import Claim, Pod

_CLAIMS_GATE = "DynamicResourceAllocation"


def conclude_placed_pod(
    scheduler: Scheduler, question: Question, claims: Sequence[PodClaim]
) -> tuple[Conclusion, Parts]:
    """Return the conclusion about a pod that has a node or has ended, and its devices."""
    value, pod = question.value, question.pod
    node = pod.node_name
    extended = find_special_claim(scheduler.state, pod)
    all_claims = claims if extended is None else (*claims, extended)
    allocated = tuple(a for c in all_claims for a in allocation_of(c.value, c.full_name))
    nodes = (NodeAnswer(node, "allocated", allocation=allocated),) if node else ()
    unlisted = after_scheduling.find_unlisted_claims(value, claims)
    on_node = PlacedPod(
        scheduler.state,
        pod,
        events_about(scheduler.state, pod),
        all_claims,
        allocated,
        scheduler.slices,
        unlisted,
    )
    manual = None if pod.has_ended else _cause_of_open_claim(scheduler, question, claims)
    if manual is not None:
        return conclude_from_cause("blocked", manual), Parts(nodes=nodes, notes=unlisted.sentences)
    cause = after_scheduling.find_cause(on_node)
    notes: tuple[str, ...] = ()
    evicts_all = scheduler.features.has("evicts-extended-resources")
    if not pod.has_ended:
        notes = (
            *after_scheduling.make_notes(on_node, cause),
            *after_scheduling.note_evicting_taints(
                all_claims if evicts_all else claims, scheduler.slices
            ),
            *after_scheduling.note_overlooked_taints(
                extended, scheduler.slices, scheduler.features
            ),
            *unlisted.sentences,
        )
    parts = Parts(nodes=nodes, notes=notes)
    if cause is None:
        return Conclusion("allocated", Headline(after_scheduling.headline_of(on_node.pod))), parts
    return conclude_from_cause("allocated" if cause.is_transient else "failing", cause), parts


def _cause_of_open_claim(
    scheduler: Scheduler, question: Question, claims: Sequence[PodClaim]
) -> PlacedByHand | ClaimReplaced | None:
    """Return the cause if a pod is on its node with a claim that is not allocated.

    If a controller makes the pod and its template sets no node, the scheduler has placed the pod,
    and the claim has lost its allocation afterwards.
    """
    unallocated = next((claim for claim in claims if not claim.allocated), None)
    if unallocated is None:
        return None
    state, pod = scheduler.state, question.pod
    claim = Claim(unallocated.value)
    is_younger = bool(claim.creation_timestamp) and (
        claim.creation_timestamp > pod.creation_timestamp
    )
    named = scheduler_of(state, question.value, question.key)
    if named.allocates is not False and (is_younger or _is_placed_by_scheduler(state, pod)):
        return ClaimReplaced(
            pod_claim=unallocated.name,
            claim=unallocated.full_name,
            nodes=(pod.node_name,),
            is_younger=is_younger,
            unused=_find_unused_claims(state, claim),
            gate="" if is_younger else _optional_gate(state, pod),
            scheduler="" if named.is_default else named.title,
        )
    facts = named.facts if named.allocates is False else None
    return PlacedByHand(
        pod_claim=unallocated.name,
        claim=unallocated.full_name,
        nodes=(pod.node_name,),
        exists=not state.lists_all_nodes or state.node(pod.node_name).exists,
        scheduler=named.title if facts is not None else "",
        instead=(facts.claims.instead or "") if facts is not None else "",
    )


def _is_placed_by_scheduler(state: ClusterState, pod: Pod) -> bool:
    """Return True if an event says that the scheduler has placed the pod, or if a controller makes
    the pod and its template is not known to set the node.
    """
    if any(event.reason == "Scheduled" for event in events_about(state, pod)):
        return True
    owner = pod.controller
    if owner is None or owner.kind == "Node":
        return False
    return not state.workload(owner.kind, (pod.namespace, owner.name)).template_pod.node_name


def _optional_gate(state: ClusterState, pod: Pod) -> str:
    """Return the gate of claims if it is off by default in the release of the pod's node."""
    release = find_release(state.node(pod.node_name).kubelet_version)
    reached = None if release is None else stage(_CLAIMS_GATE, release)
    return _CLAIMS_GATE if reached is not None and not reached.default else ""


def _find_unused_claims(state: ClusterState, claim: Claim) -> tuple[str, ...]:
    """Return claims with the same requests that have no owner and that no pod names."""
    if claim.owners:
        return ()
    named = {
        name
        for pod in state.pods.values()
        if pod.namespace == claim.namespace
        for name in pod.claim_names
    }
    return tuple(
        other.full_name
        for other in state.claims.values()
        if other.namespace == claim.namespace
        and other.name not in named
        and not other.owners
        and other.devices == claim.devices
    )


def conclude_claim(claim: PodClaim) -> tuple[Conclusion, Parts]:
    """Return the conclusion about a claim that is allocated or is being deleted."""
    if not claim.allocated:
        return (
            conclude_from_cause("blocked", SubjectClaimDeleting(claim=claim.full_name)),
            Parts(),
        )
    names = Claim(claim.value).node_names
    node = names[0] if names else "any node"
    nodes = (NodeAnswer(node, "allocated", allocation=allocation_of(claim.value, claim.full_name)),)
    users = describe_consumers(Claim(claim.value))
    return Conclusion(
        "allocated", Headline(f"allocated on {node}, used by {users or 'no pod'}")
    ), Parts(nodes=nodes)
