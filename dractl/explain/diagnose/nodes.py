"""Causes that keep a subject from one node: filters, claims that are allocated elsewhere, and devices."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import (
    IMPLICIT_PREFIX,
    Allocated,
    Fatal,
    NodeError,
    RequestSurvey,
    Survey,
    is_extended,
)
from dractl.cluster.state import map_at, maps_at, text_at
from dractl.explain.answer import AllocatedDevice, FunnelStage
from dractl.explain.case import Case
from dractl.explain.diagnose.faults import allocator_error, unusable
from dractl.explain.diagnose.pods import failure_text
from dractl.explain.diagnose.requests import alone, of_stage, of_vendor
from dractl.explain.diagnose.together import together, too_many
from dractl.explain.funnel import funnel, whole
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.binding import BindingFailed
from dractl.explain.reasons.devices import DeviceInUse, Tainted
from dractl.explain.reasons.nodes import NodeFilter, PinnedNode
from dractl.explain.reasons.passing_taints import passing
from dractl.explain.reasons.pools import SliceNodeMismatch
from dractl.explain.reasons.refusals import toleration_text
from dractl.explain.reasons.scheduling import ExtendedResourceUnmapped, TimeoutRisk
from dractl.explain.reasons.selectors import SelectorFalse
from dractl.model.nearest import nearest
from dractl.objects import Raw
from dractl.scheduler.binding import failure
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.extended import provided
from dractl.scheduler.quota import options
from dractl.scheduler.rejection import LabelUnmet, NodeLabel, Rejection, Untolerated
from dractl.scheduler.verdict import NodeVerdict

_MOST = 2  # pods that a cause names


class NodeFindings(Struct, frozen=True):
    """Findings on a node; the nodes in ``like`` have the same."""

    name: str
    verdict: Any  # Verdict or "filtered"
    causes: tuple[Cause, ...] = ()
    funnel: tuple[FunnelStage, ...] = ()
    allocation: tuple[AllocatedDevice, ...] = ()
    like: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """The number of these nodes."""
        return 1 + len(self.like)

    @property
    def refused(self) -> bool:
        """True if the pod could not go there whatever devices are free."""
        return any(isinstance(cause, NodeFilter | PinnedNode) for cause in self.causes)


def findings(case: Case) -> list[NodeFindings]:
    """The findings on each group of nodes, for the first of them."""
    return [_together(_node(case, group[0]), group) for group in case.groups]


def _together(found: NodeFindings, group: Sequence[NodeVerdict]) -> NodeFindings:
    if len(group) == 1:
        return found
    names = tuple(verdict.name for verdict in group)
    return replace(
        found, like=names[1:], causes=tuple(replace(cause, nodes=names) for cause in found.causes)
    )


def _node(case: Case, verdict: NodeVerdict) -> NodeFindings:
    before = (
        a for c in case.attempt.claims if c.allocated for a in allocation_of(c.value, c.full_name)
    )
    allocation = (*before, *_allocation(case, verdict))
    survey = case.surveys.get(verdict.name)
    stages = (
        funnel(case.devices, survey.requests, case.names.request, case.false_part)
        if survey is not None
        else ()
    )
    if verdict.fits:
        return NodeFindings(verdict.name, "allocatable", (), stages, allocation)
    causes: list[Cause] = []
    if verdict.rejection is not None:
        causes += [
            _filtered(case, verdict, refused)
            for refused in case.refusals[verdict.name] or (verdict.rejection,)
        ]
    causes += [_pinned(case, claim, verdict) for claim in verdict.elsewhere]
    if not verdict.allocates and survey is not None:
        causes += _timeouts(verdict, _unallocatable(case, verdict, survey))
    kind = "filtered" if verdict.rejection is not None else "unallocatable"
    if verdict.asked and case.scheduler.is_fatal(verdict.outcome):
        kind = "error"
    return NodeFindings(
        verdict.name, kind, tuple(causes), stages, allocation if verdict.allocates else ()
    )


def _unallocatable(case: Case, verdict: NodeVerdict, survey: Survey) -> list[Cause]:
    """Why the claims cannot be allocated on a node, what got furthest first."""
    outcome = verdict.outcome
    if isinstance(outcome, Fatal) or (
        isinstance(outcome, NodeError) and outcome.fault.pool is not None
    ):
        return [_at(allocator_error(case, outcome, survey), verdict)]
    found: list[Cause] = []
    for group in _by_request(survey.requests):
        if not any(request.enough for request in group):
            causes = [cause for request in group for cause in alone(case, survey, request)]
            found += sorted(causes, key=lambda cause: -cause.reach)
    if isinstance(outcome, NodeError):
        found += [unusable(pool) for pool in survey.pools if pool.state == "invalid"]
    if not found:
        found = together(case, survey)
    elif (crowded := too_many(case, survey)) is not None:
        # Whoever holds devices now: with all of them free it would not fit either.
        found = [crowded, *(cause for cause in found if not isinstance(cause, DeviceInUse))]
    return [_at(cause, verdict) for cause in found]


def _at(cause: Cause, verdict: NodeVerdict) -> Cause:
    """A cause as one of this node."""
    if isinstance(cause, SliceNodeMismatch) and cause.keys:
        labels = map_at(verdict.node, "metadata", "labels")
        there = tuple(
            NodeLabel(key, str(labels[key]) if key in labels else None) for key in cause.keys
        )
        return replace(cause, nodes=(verdict.name,), labels=there)
    return replace(cause, nodes=(verdict.name,))


def _by_request(requests: Iterable[RequestSurvey]) -> list[list[RequestSurvey]]:
    groups: dict[tuple[int, str], list[RequestSurvey]] = {}
    for request in requests:
        groups.setdefault((request.claim_index, request.ref.name), []).append(request)
    return list(groups.values())


def everywhere(cause: Cause, found: Sequence[NodeFindings]) -> bool:
    """True if a cause is what keeps the subject from every node that has a device for it."""
    return all(
        _lacks(node, cause) or (node.name in cause.nodes and not node.refused) for node in found
    )


def _lacks(node: NodeFindings, cause: Cause) -> bool:
    return any(own.about == cause.about and own.reach < cause.page.reach for own in node.causes)


def over_nodes(case: Case, cause: Cause, found: Sequence[NodeFindings]) -> Cause:
    """A selector that no device of several nodes meets, taints of their devices, or devices that are all in use, with
    the values and numbers of all of their devices."""
    tainted, in_use = isinstance(cause, Tainted), isinstance(cause, DeviceInUse)
    if not tainted and (not isinstance(cause, SelectorFalse | DeviceInUse) or cause.have):
        return cause
    if in_use and not everywhere(cause, found):
        return cause
    there = [
        (case.surveys[node.name], node.count)
        for node in found
        if node.name in cause.nodes and node.name in case.refusing
    ]
    if sum(times for _, times in there) < 2:
        return cause
    request = next((r for r in whole(there) if r.ref in cause.about), None)
    for stage in request.stages if request is not None else ():
        if isinstance(cause, SelectorFalse) and (stage.expression != cause.selector or stage.kept):
            continue
        if in_use and (stage.name != "in-use" or stage.kept):
            continue
        if request is None or not stage.lost or (tainted and stage.name != "taints"):
            continue
        over = of_stage(case, request, stage, max(request.wanted, 1))
        if isinstance(over, Tainted) and isinstance(cause, Tainted):
            return replace(over, nodes=cause.nodes, have=cause.have)
        return replace(over, nodes=cause.nodes) if over.code == cause.code else cause
    return cause


def _timeouts(verdict: NodeVerdict, found: list[Cause]) -> list[Cause]:
    if not verdict.times_out:
        return found
    because = found[0] if found else None
    refs = because.about if because is not None else ()
    claim = refs[0].claim if refs else None
    return [TimeoutRisk(nodes=(verdict.name,), claim=claim, requests=refs, because=because), *found]


# -- filters, and claims that are allocated --


def _filtered(case: Case, verdict: NodeVerdict, refused: Rejection) -> Cause:
    unmapped = _unmapped(case, verdict, refused.resource) if refused.resource else None
    return unmapped or NodeFilter(
        plugin=refused.plugin,
        texts=refused.texts,
        final=refused.final,
        unmet=refused.unmet,
        labels=refused.labels,
        resource=refused.resource,
        want=refused.want,
        free=refused.free,
        pods=refused.pods,
        users=_users(case, verdict.name, refused),
        nearest=_near_label(verdict, refused),
        tolerates=_near_tolerations(case, refused),
        claim_tolerates=_tolerations_of_claims(case, refused),
        nodes=(verdict.name,),
    )


def _near_label(verdict: NodeVerdict, refused: Rejection) -> str | None:
    """A label of the node with the value that a nodeSelector wants, under a key that looks like the wanted one."""
    wanted = next((one for one in refused.unmet if isinstance(one, LabelUnmet)), None)
    labels = map_at(verdict.node, "metadata", "labels")
    if wanted is None or wanted.key in labels:
        return None
    near = nearest(
        wanted.key, [key for key, value in labels.items() if value == wanted.wanted], 0.8
    )
    return f"{near}={wanted.wanted}" if near else None


def _near_tolerations(case: Case, refused: Rejection) -> tuple[str, ...]:
    """Tolerations of the pod for the key of a taint that people set, in whatever case, that do not tolerate it."""
    keys = _keys(refused)
    return tuple(
        toleration_text(t) for t in case.pod.tolerations if t.key and t.key.lower() in keys
    )


def _tolerations_of_claims(case: Case, refused: Rejection) -> tuple[str, ...]:
    """Tolerations of the pod's requests for the key of such a taint, in whatever case."""
    keys = _keys(refused)
    specs = (
        [c.claim.spec.devices for c in case.claims.values() if c.claim is not None] if keys else []
    )
    asked = [option for spec in specs for request in spec.requests for option in options(request)]
    near = [
        toleration_text(t)
        for option in asked
        for t in option.tolerations
        if t.key and t.key.lower() in keys
    ]
    return tuple(dict.fromkeys(near))


def _keys(refused: Rejection) -> set[str]:
    """The keys of taints that people set, in lower case."""
    taints = (one.taint.key or "" for one in refused.unmet if isinstance(one, Untolerated))
    return {key.lower() for key in taints if passing(key) is None}


def _users(case: Case, node: str, refused: Rejection) -> tuple[str, ...]:
    """The pods that use most of the resource of which the node has too little left."""
    info = case.scheduler.snapshot.nodes.get(node)
    if (
        refused.plugin != "NodeResourcesFit"
        or refused.final
        or info is None
        or refused.resource in (None, "pods")
    ):
        return ()
    used = [(pod.amounts.get(refused.resource or "", 0), pod.full_name) for pod in info.pods]
    return tuple(
        name for amount, name in sorted(used, key=lambda u: (-u[0], u[1]))[:_MOST] if amount
    )


def _pinned(case: Case, claim: PodClaim, verdict: NodeVerdict) -> Cause:
    failed = failure(claim) if case.scheduler.features.binding_conditions else None
    here = (verdict.name,)
    if failed is not None:
        return BindingFailed(
            pod_claim=claim.name or None,
            claim=claim.full_name,
            failure=failure_text(failed),
            nodes=here,
        )
    return PinnedNode(
        pod_claim=claim.name or None,
        claim=claim.full_name,
        places=tuple(
            str(value)
            for term in maps_at(
                claim.value, "status", "allocation", "nodeSelector", "nodeSelectorTerms"
            )
            for e in [*maps_at(term, "matchFields"), *maps_at(term, "matchExpressions")]
            for value in e.get("values") or ()
        ),
        pools=tuple(sorted({a.pool for a in allocation_of(claim.value, claim.full_name)})),
        users=tuple(
            text_at(c, "name")
            for c in maps_at(claim.value, "status", "reservedFor")
            if text_at(c, "resource") == "pods"
        ),
        nodes=here,
    )


def _unmapped(case: Case, verdict: NodeVerdict, resource: str) -> Cause | None:
    """An extended resource that the node's DRA driver could provide, if its class said so."""
    if "/" not in resource:
        return None
    allocatable = map_at(verdict.node, "status", "allocatable")
    if str(allocatable.get(resource, "0")) != "0":
        return None
    scheduler = case.scheduler
    named = provided(scheduler.state.classes)
    if scheduler.features.has("implicit-extended-names"):
        named |= {
            f"{IMPLICIT_PREFIX}{item.metadata.name}": item.metadata.name or ""
            for item in scheduler.state.classes
        }
    offered = {
        r
        for node in scheduler.nodes.values()
        for r in map_at(node, "status", "allocatable")
        if is_extended(r)
    }
    near = nearest(resource, named.keys() | offered)
    here = (verdict.name,)
    if near is not None and resource not in named.keys() | offered:
        return ExtendedResourceUnmapped(
            resource=resource, nearest=near, device_class=named.get(near), nodes=here
        )
    for item in scheduler.state.classes:
        drivers = case.drivers_of(item.metadata.name or "")
        there = any(
            s.spec.driver in drivers and s.spec.node_name == verdict.name and s.spec.devices
            for s in scheduler.slices
        )
        if there and not item.spec.extended_resource_name and of_vendor(resource, drivers):
            off = "DRAExtendedResource" not in scheduler.features.on
            return ExtendedResourceUnmapped(
                resource=resource, device_class=item.metadata.name, gate_off=off, nodes=here
            )
    return None


# -- allocations --


def _allocation(case: Case, verdict: NodeVerdict) -> tuple[AllocatedDevice, ...]:
    """What the scheduler would give on this very node: its group's verdict names another node's devices."""
    if not isinstance(verdict.outcome, Allocated):
        return ()
    own = case.scheduler.allocate(verdict.node, verdict.claims)
    if not isinstance(own, Allocated):
        return ()
    return tuple(
        AllocatedDevice(claim.full_name, result.request, result.driver, result.pool, result.device)
        for claim, allocation in zip(verdict.claims, own.results, strict=False)
        for result in allocation.devices.results
    )


def allocation_of(claim: Raw | None, name: str) -> tuple[AllocatedDevice, ...]:
    return tuple(
        AllocatedDevice(
            name,
            text_at(r, "request"),
            text_at(r, "driver"),
            text_at(r, "pool"),
            text_at(r, "device"),
        )
        for r in maps_at(claim, "status", "allocation", "devices", "results")
    )
