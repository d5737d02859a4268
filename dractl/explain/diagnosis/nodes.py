"""Causes that keep a subject from one node: filters, claims that are allocated elsewhere, and
devices.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import Allocated, Fatal, NodeError, RequestSurvey, Survey, is_extended
from dractl.explain.answer import AllocatedDevice
from dractl.explain.context import Case
from dractl.explain.diagnosis.combinations import cause_of_excess, diagnose_combination
from dractl.explain.diagnosis.faults import cause_of_allocator_error, cause_of_unused_pool
from dractl.explain.diagnosis.pods import failure_text
from dractl.explain.diagnosis.requests import cause_of_stage, diagnose_request, drivers_of_vendor
from dractl.explain.funnel import merge_surveys
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.binding import BindingFailed
from dractl.explain.reasons.controller_taints import find_taint_controller
from dractl.explain.reasons.devices import DeviceInUse, Tainted
from dractl.explain.reasons.nodes import NodeFilter, PinnedNode
from dractl.explain.reasons.pools import SliceNodeMismatch
from dractl.explain.reasons.refusals import toleration_text
from dractl.explain.reasons.scheduling import ExtendedResourceUnmapped, TimeoutRisk
from dractl.explain.reasons.selectors import SelectorFalse
from dractl.model.nearest import nearest
from dractl.objects import IMPLICIT_PREFIX, Raw
from dractl.scheduler.binding import find_binding_failure
from dractl.scheduler.charges import request_options
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.extended import classes_by_resource
from dractl.scheduler.rejection import LabelMismatch, NodeLabel, Rejection, UntoleratedTaint
from dractl.scheduler.verdict import NodeVerdict
from dractl.views import Claim

MAX_USERS_NAMED = 2  # pods that a cause names


class NodeFindings(Struct, frozen=True):
    """The findings on a node, which are equal for all nodes that this node stands for."""

    name: str
    verdict: Any
    """A verdict of the allocator, or ``filtered``."""
    causes: tuple[Cause, ...] = ()
    allocation: tuple[AllocatedDevice, ...] = ()
    like: tuple[str, ...] = ()
    """Further nodes with the same findings."""

    @property
    def count(self) -> int:
        """The number of nodes with these findings."""
        return 1 + len(self.like)

    @property
    def refuses_pod(self) -> bool:
        """True if the node refuses the pod whatever devices are free."""
        return any(isinstance(cause, NodeFilter | PinnedNode) for cause in self.causes)


def node_findings(case: Case) -> list[NodeFindings]:
    """Return the findings on each group of nodes, made for the first node of the group."""
    return [_merge_equal_nodes(_diagnose_node(case, group[0]), group) for group in case.groups]


def _merge_equal_nodes(finding: NodeFindings, group: Sequence[NodeVerdict]) -> NodeFindings:
    """Extend the finding on one node to the nodes of its group."""
    if len(group) == 1:
        return finding
    names = tuple(verdict.name for verdict in group)
    return replace(
        finding,
        like=names[1:],
        causes=tuple(replace(cause, nodes=names) for cause in finding.causes),
    )


def _diagnose_node(case: Case, verdict: NodeVerdict) -> NodeFindings:
    earlier = (
        a for c in case.attempt.claims if c.allocated for a in allocation_of(c.value, c.full_name)
    )
    allocation = (*earlier, *_allocation_on_node(case, verdict))
    if verdict.fits:
        return NodeFindings(verdict.name, "allocatable", (), allocation)
    survey = case.surveys.get(verdict.name)
    causes: list[Cause] = []
    if verdict.rejection is not None:
        causes += [
            _filter_cause(case, verdict, rejection)
            for rejection in case.refusals[verdict.name] or (verdict.rejection,)
        ]
    causes += [_cause_of_allocated_claim(case, claim, verdict) for claim in verdict.unusable_claims]
    if not verdict.allocates and survey is not None:
        causes += _add_timeout(verdict, _allocation_causes(case, verdict, survey))
    kind = "filtered" if verdict.rejection is not None else "unallocatable"
    if verdict.passes_filters and case.scheduler.is_fatal(verdict.allocator_verdict):
        kind = "error"
    return NodeFindings(verdict.name, kind, tuple(causes), allocation if verdict.allocates else ())


def _allocation_causes(case: Case, verdict: NodeVerdict, survey: Survey) -> list[Cause]:
    """Return why the claims cannot be allocated on a node; the cause at the latest stage comes
    first.
    """
    outcome = verdict.allocator_verdict
    if isinstance(outcome, Fatal) or (
        isinstance(outcome, NodeError) and outcome.fault.pool is not None
    ):
        return [_locate_cause(cause_of_allocator_error(case, outcome, survey), verdict)]
    causes_on_node: list[Cause] = []
    for group in _by_request(survey.requests):
        if not any(request.enough for request in group):
            causes = [
                cause for request in group for cause in diagnose_request(case, survey, request)
            ]
            causes_on_node += sorted(causes, key=lambda cause: -cause.progress)
    if isinstance(outcome, NodeError):
        causes_on_node += [
            cause_of_unused_pool(pool) for pool in survey.pools if pool.state == "invalid"
        ]
    if not causes_on_node:
        causes_on_node = diagnose_combination(case, survey)
    elif (crowded := cause_of_excess(case, survey)) is not None:
        # Even with all devices free the claims would not fit, so the holders do not matter.
        causes_on_node = [
            crowded,
            *(cause for cause in causes_on_node if not isinstance(cause, DeviceInUse)),
        ]
    return [_locate_cause(cause, verdict) for cause in causes_on_node]


def _locate_cause(cause: Cause, verdict: NodeVerdict) -> Cause:
    """Return a cause with this node added, and with the node's labels if the cause compares
    labels.
    """
    if isinstance(cause, SliceNodeMismatch) and cause.keys:
        labels = verdict.node.labels
        node_labels = tuple(
            NodeLabel(key, str(labels[key]) if key in labels else None) for key in cause.keys
        )
        return replace(cause, nodes=(verdict.name,), labels=node_labels)
    return replace(cause, nodes=(verdict.name,))


def _by_request(requests: Iterable[RequestSurvey]) -> list[list[RequestSurvey]]:
    groups: dict[tuple[int, str], list[RequestSurvey]] = {}
    for request in requests:
        groups.setdefault((request.claim_index, request.ref.name), []).append(request)
    return list(groups.values())


def blocks_every_node(cause: Cause, findings: Sequence[NodeFindings]) -> bool:
    """Return True if the cause alone keeps the subject from every node that has a device for it."""
    return all(
        _is_worse_off(node, cause) or (node.name in cause.nodes and not node.refuses_pod)
        for node in findings
    )


def _is_worse_off(node: NodeFindings, cause: Cause) -> bool:
    """Return True if the node stops the cause's requests at an earlier stage than the cause."""
    return any(
        other.refs == cause.refs and other.progress < cause.page.progress for other in node.causes
    )


def merge_across_nodes(case: Case, cause: Cause, findings: Sequence[NodeFindings]) -> Cause:
    """Add up the values and counts of a cause that several nodes have.

    That is done for a selector that no device meets, for taints, and for devices that are all in
    use.
    """
    tainted, in_use = isinstance(cause, Tainted), isinstance(cause, DeviceInUse)
    if not tainted and (not isinstance(cause, SelectorFalse | DeviceInUse) or cause.have):
        return cause
    if in_use and not blocks_every_node(cause, findings):
        return cause
    surveys = [
        (case.surveys[node.name], node.count)
        for node in findings
        if node.name in cause.nodes and node.name in case.refusing
    ]
    if sum(number for _, number in surveys) < 2:
        return cause
    request = next((r for r in merge_surveys(surveys) if r.ref in cause.refs), None)
    for stage in request.stages if request is not None else ():
        if isinstance(cause, SelectorFalse) and (stage.expression != cause.selector or stage.kept):
            continue
        if in_use and (stage.name != "in-use" or stage.kept):
            continue
        if request is None or not stage.lost or (tainted and stage.name != "taints"):
            continue
        merged = cause_of_stage(case, request, stage, max(request.wanted, 1))
        if isinstance(merged, Tainted) and isinstance(cause, Tainted):
            return replace(merged, nodes=cause.nodes, have=cause.have)
        return replace(merged, nodes=cause.nodes) if merged.code == cause.code else cause
    return cause


def _add_timeout(verdict: NodeVerdict, causes: list[Cause]) -> list[Cause]:
    if not verdict.times_out:
        return causes
    first = causes[0] if causes else None
    refs = first.refs if first is not None else ()
    claim = refs[0].claim if refs else None
    return [TimeoutRisk(nodes=(verdict.name,), claim=claim, requests=refs, because=first), *causes]


# -- filters, and claims that are allocated --


def _filter_cause(case: Case, verdict: NodeVerdict, rejection: Rejection) -> Cause:
    unmapped = (
        _class_without_mapping(case, verdict, rejection.resource) if rejection.resource else None
    )
    return unmapped or NodeFilter(
        plugin=rejection.plugin,
        texts=rejection.texts,
        final=rejection.unresolvable,
        unmet=rejection.unmet,
        labels=rejection.labels,
        resource=rejection.resource,
        want=rejection.want,
        free=rejection.free,
        pods=rejection.pods,
        users=_largest_users(case, verdict.name, rejection),
        nearest=_similar_label(verdict, rejection),
        tolerates=_similar_pod_tolerations(case, rejection),
        claim_tolerates=_similar_claim_tolerations(case, rejection),
        nodes=(verdict.name,),
    )


def _similar_label(verdict: NodeVerdict, rejection: Rejection) -> str | None:
    """Return a label of the node that has the wanted value under a similar key."""
    unmet_label = next((one for one in rejection.unmet if isinstance(one, LabelMismatch)), None)
    labels = verdict.node.labels
    if unmet_label is None or unmet_label.key in labels:
        return None
    similar = nearest(
        unmet_label.key, [key for key, value in labels.items() if value == unmet_label.wanted], 0.8
    )
    return f"{similar}={unmet_label.wanted}" if similar else None


def _similar_pod_tolerations(case: Case, rejection: Rejection) -> tuple[str, ...]:
    """Return the tolerations of the pod that have the key of one of the node's taints, in any
    letter case, but do not tolerate it.

    Only taints that people set count.
    """
    keys = _taint_keys(rejection)
    return tuple(
        toleration_text(t) for t in case.pod.tolerations if t.key and t.key.lower() in keys
    )


def _similar_claim_tolerations(case: Case, rejection: Rejection) -> tuple[str, ...]:
    """Return the tolerations of the pod's requests that have the key of a taint that people set, in
    any letter case.
    """
    keys = _taint_keys(rejection)
    specs = (
        [c.claim.spec.devices for c in case.claims.values() if c.claim is not None] if keys else []
    )
    alternatives = [
        option for spec in specs for request in spec.requests for option in request_options(request)
    ]
    similar = [
        toleration_text(t)
        for option in alternatives
        for t in option.tolerations
        if t.key and t.key.lower() in keys
    ]
    return tuple(dict.fromkeys(similar))


def _taint_keys(rejection: Rejection) -> set[str]:
    """Return the keys of taints that people set, in lower case."""
    taints = (one.taint.key or "" for one in rejection.unmet if isinstance(one, UntoleratedTaint))
    return {key.lower() for key in taints if find_taint_controller(key) is None}


def _largest_users(case: Case, node: str, rejection: Rejection) -> tuple[str, ...]:
    """Return the pods that use most of the scarce resource of the node."""
    info = case.scheduler.snapshot.nodes.get(node)
    if (
        rejection.plugin != "NodeResourcesFit"
        or rejection.unresolvable
        or info is None
        or rejection.resource in (None, "pods")
    ):
        return ()
    amounts = [
        (pod.request_units.get(rejection.resource or "", 0), pod.full_name) for pod in info.pods
    ]
    return tuple(
        name
        for amount, name in sorted(amounts, key=lambda u: (-u[0], u[1]))[:MAX_USERS_NAMED]
        if amount
    )


def _cause_of_allocated_claim(case: Case, claim: PodClaim, verdict: NodeVerdict) -> Cause:
    binding_failure = (
        find_binding_failure(claim) if case.scheduler.features.binding_conditions else None
    )
    here = (verdict.name,)
    if binding_failure is not None:
        return BindingFailed(
            pod_claim=claim.name or None,
            claim=claim.full_name,
            failure=failure_text(binding_failure),
            nodes=here,
        )
    return PinnedNode(
        pod_claim=claim.name or None,
        claim=claim.full_name,
        places=Claim(claim.value).node_selector_values,
        pools=tuple(sorted({a.pool for a in allocation_of(claim.value, claim.full_name)})),
        users=Claim(claim.value).consumer_pods,
        nodes=here,
    )


def _class_without_mapping(case: Case, verdict: NodeVerdict, resource: str) -> Cause | None:
    """Return the cause for an extended resource that no class maps to devices, although the node's
    driver could provide it.
    """
    if "/" not in resource:
        return None
    amount = verdict.node.allocatable.get(resource)
    if amount is not None and amount.sign():
        return None
    scheduler = case.scheduler
    class_by_resource = classes_by_resource(scheduler.state.classes)
    if scheduler.features.has("implicit-extended-names"):
        class_by_resource |= {
            f"{IMPLICIT_PREFIX}{item.metadata.name}": item.metadata.name or ""
            for item in scheduler.state.classes
        }
    offered = {r for node in scheduler.nodes.values() for r in node.allocatable if is_extended(r)}
    similar = nearest(resource, class_by_resource.keys() | offered)
    here = (verdict.name,)
    if similar is not None and resource not in class_by_resource.keys() | offered:
        return ExtendedResourceUnmapped(
            resource=resource,
            nearest=similar,
            device_class=class_by_resource.get(similar),
            nodes=here,
        )
    gate_off = "DRAExtendedResource" not in scheduler.features.on
    for item in scheduler.state.classes:
        drivers = case.drivers_of(item.metadata.name or "")
        is_published = any(
            s.spec.driver in drivers and s.spec.node_name == verdict.name and s.spec.devices
            for s in scheduler.slices
        )
        name = item.spec.extended_resource_name
        is_mapped = gate_off and name == resource
        if is_published and (is_mapped or (not name and drivers_of_vendor(resource, drivers))):
            return ExtendedResourceUnmapped(
                resource=resource,
                device_class=item.metadata.name,
                is_mapped=is_mapped,
                gate_off=gate_off,
                nodes=here,
            )
    return None


# -- allocations --


def _allocation_on_node(case: Case, verdict: NodeVerdict) -> tuple[AllocatedDevice, ...]:
    """Return the devices that the scheduler would allocate on this very node.

    The verdict of the node's group names the devices of another node.
    """
    if not isinstance(verdict.allocator_verdict, Allocated):
        return ()
    verdict_here = case.scheduler.allocate(verdict.node, verdict.claims)
    if not isinstance(verdict_here, Allocated):
        return ()
    return tuple(
        AllocatedDevice(claim.full_name, result.request, result.driver, result.pool, result.device)
        for claim, allocation in zip(verdict.claims, verdict_here.results, strict=False)
        for result in allocation.devices.results
    )


def allocation_of(claim: Raw | None, name: str) -> tuple[AllocatedDevice, ...]:
    """Return the devices that are allocated to a claim."""
    return tuple(
        AllocatedDevice(name, device.request, device.driver, device.pool, device.device)
        for device in Claim(claim).allocated_devices
    )
