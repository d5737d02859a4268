"""Subjects for which the scheduler has nothing to do: a pod on its node or at its end, a claim that is allocated or
deleted."""

from collections.abc import Sequence

from dractl.cluster.kubelet import report_of
from dractl.cluster.pods import reserved_for
from dractl.cluster.schedulers import scheduler_of
from dractl.cluster.state import at, maps_at, text_at
from dractl.explain import placed
from dractl.explain.answer import NodeAnswer
from dractl.explain.ask import Question
from dractl.explain.build import Parts
from dractl.explain.conclude import Conclusion, of_cause
from dractl.explain.diagnosis.nodes import allocation_of
from dractl.explain.placed import OnNode
from dractl.explain.reasons.claims import ClaimDeleting
from dractl.explain.reasons.headline import Headline
from dractl.explain.reasons.scheduling import PlacedByHand
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.extended import granted


def placed_pod(
    scheduler: Scheduler, question: Question, claims: Sequence[PodClaim]
) -> tuple[Conclusion, Parts]:
    """The conclusion about a pod that has a node or has ended, and its devices."""
    value = question.value
    node = text_at(value, "spec", "nodeName")
    made = granted(scheduler.state, value)
    every = claims if made is None else (*claims, made)
    allocated = tuple(a for c in every for a in allocation_of(c.value, c.full_name))
    nodes = (NodeAnswer(node, "allocated", allocation=allocated),) if node else ()
    without = placed.without(value, claims)
    on = OnNode(
        scheduler.state,
        report_of(scheduler.state, value),
        every,
        allocated,
        scheduler.slices,
        without,
    )
    by_hand = None if on.pod.ended else _by_hand(scheduler, question, claims)
    if by_hand is not None:
        return of_cause("blocked", by_hand), Parts(nodes=nodes, notes=without.sentences)
    cause = placed.cause_of(on)
    notes: tuple[str, ...] = ()
    if not on.pod.ended:
        notes = (
            *placed.notes_of(on, cause),
            *placed.evicted(every, scheduler.slices),
            *without.sentences,
        )
    parts = Parts(nodes=nodes, notes=notes)
    if cause is None:
        return Conclusion("allocated", Headline(placed.headline(on.pod))), parts
    return of_cause("allocated" if cause.passing else "failing", cause), parts


def _by_hand(
    scheduler: Scheduler, question: Question, claims: Sequence[PodClaim]
) -> PlacedByHand | None:
    """The cause that a pod was put on its node with claims that nobody allocates."""
    first = next((claim for claim in claims if not claim.allocated), None)
    if first is None:
        return None
    state, node = scheduler.state, text_at(question.value, "spec", "nodeName")
    named = scheduler_of(state, question.value, question.key)
    facts = named.facts if named.allocates is False else None
    return PlacedByHand(
        pod_claim=first.name,
        claim=first.full_name,
        nodes=(node,),
        exists=not state.has("Node") or state.get("Node", ("", node)) is not None,
        scheduler=named.title if facts is not None else "",
        instead=(facts.claims.instead or "") if facts is not None else "",
    )


def resting_claim(value: PodClaim) -> tuple[Conclusion, Parts]:
    """The conclusion about a claim that is allocated, or is being deleted."""
    if not value.allocated:
        return of_cause("blocked", ClaimDeleting(claim=value.full_name, asked=True)), Parts()
    selector = at(value.value, "status", "allocation", "nodeSelector")
    names = [
        str(name)
        for term in maps_at(selector, "nodeSelectorTerms")
        for field in maps_at(term, "matchFields")
        for name in field.get("values") or ()
    ]
    where = names[0] if names else "any node"
    nodes = (
        NodeAnswer(where, "allocated", allocation=allocation_of(value.value, value.full_name)),
    )
    users = reserved_for(value.value)
    return Conclusion(
        "allocated", Headline(f"allocated on {where}, used by {users or 'no pod'}")
    ), Parts(nodes=nodes)
