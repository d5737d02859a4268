"""The answer for one node: what its filters, its devices and claims allocated before say, as reasons."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dractl.allocation import CLAIM_NAME, Allocated, is_extended
from dractl.cluster.state import map_at, maps_at, text_at
from dractl.explain.answer import AllocatedDevice, FunnelStage, NodeAnswer, Reason
from dractl.explain.diagnose import reasons_of
from dractl.explain.funnel import funnel, whole
from dractl.explain.stages import of_stage
from dractl.explain.stopped import failure_text
from dractl.model.nearest import nearest
from dractl.scheduler.attempt import TIMED_OUT
from dractl.scheduler.binding import failure
from dractl.scheduler.extended import as_written, provided

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dractl.allocation.survey import RequestSurvey, Survey
    from dractl.explain.about import About
    from dractl.explain.subjects import Question
    from dractl.scheduler.claims import PodClaim
    from dractl.scheduler.verdict import Attempt, NodeVerdict

    Raw = Mapping[str, Any]

_MANY = 64  # with more nodes than this, those with the same answer share one


@dataclass(slots=True)
class Study:
    """What was found out about one subject on the way to its answer."""

    question: Question
    judgement: Attempt
    about: About
    surveys: dict[str, Survey] = field(default_factory=dict)  # by node, of those that cannot allocate
    fitting: dict[str, Survey] = field(default_factory=dict)  # of those that can

    def heading(self, request: RequestSurvey) -> str:
        """What a person calls a request: its claim is named where there are several, and an extended resource as the
        pod has it."""
        return self._called(request.claim, request.request)

    def retold(self, reason: Reason) -> Reason:
        """A reason whose message calls its request so."""
        if reason.claim is None or reason.request is None:
            return reason
        if reason.claim.endswith(f"/{CLAIM_NAME}"):
            named = re.compile(rf"(?:\brequests? )?(?:{re.escape(CLAIM_NAME)}/)?\b(container-\d+-request-\d+)")
            written = as_written(self.question.value)
            message = named.sub(lambda m: written.get(m[1], m[0]), reason.message)
        else:
            told = self._called(reason.claim, reason.request)
            message = re.sub(rf"\brequest {re.escape(reason.request)}(?![\w/-])", lambda _: told, reason.message)
        return replace(reason, message=message)

    def _called(self, claim_name: str, request: str) -> str:
        claim = self.about.claims.get(claim_name)
        if claim is not None and claim.key[1] == CLAIM_NAME:
            return as_written(self.question.value).get(request, f"request {request}")
        if claim is None or len(self.about.claims) < 2:
            return f"request {request}"
        return f"request {claim.name or claim.key[1]}/{request}"


def bundle(study: Study, alike: Sequence[NodeVerdict]) -> NodeAnswer:
    """The answer for nodes that cannot be told apart, made for the first of them."""
    answer = _node(study, alike[0])
    if len(alike) == 1:
        return answer
    names = tuple(n.name for n in alike)
    return replace(answer, like=names[1:], reasons=tuple(replace(r, nodes=names) for r in answer.reasons))


def _allocation(study: Study, verdict: NodeVerdict) -> tuple[AllocatedDevice, ...]:
    """What the scheduler would give on this very node: its group's verdict names another node's devices."""
    if not isinstance(verdict.outcome, Allocated):
        return ()
    own = study.about.judge.allocate(verdict.node, verdict.claims)
    return allocated_devices(verdict.claims, own) if isinstance(own, Allocated) else ()


def _node(study: Study, verdict: NodeVerdict) -> NodeAnswer:
    before = (a for c in study.judgement.claims if c.allocated for a in allocation_of(c.value, c.full_name))
    allocation = (*before, *_allocation(study, verdict))
    stages: tuple[FunnelStage, ...] = ()
    if verdict.allocates and verdict.outcome is not None:
        study.fitting[verdict.name] = _survey(study, verdict)
        stages = funnel(study.about.devices, study.fitting[verdict.name].requests, study.heading)
    if verdict.fits:
        return NodeAnswer(verdict.name, "allocatable", (), stages, allocation)
    reasons: list[Reason] = []
    if verdict.rejection is not None:
        r = verdict.rejection
        detail = "; ".join(filter(None, (r.detail, r.of_node)))
        why = f"{'; '.join(r.texts)}" + (f" ({detail})" if detail else "")
        code = "node-filter"
        unmapped = _unmapped(study, verdict) if r.resource else None
        reasons.append(
            unmapped
            or Reason(
                code,
                why,
                plugin=r.plugin,
                resource=r.resource,
                want=r.want,
                free=r.free,
                nodes=(verdict.name,),
                found=r.pods,
            )
        )
    reasons += [_pinned(study, claim, verdict) for claim in verdict.elsewhere]
    if not verdict.allocates and verdict.outcome is not None:
        survey = study.surveys[verdict.name] = _survey(study, verdict)
        stages = funnel(study.about.devices, survey.requests, study.heading)
        found = tuple(study.retold(reason) for reason in reasons_of(study.about, verdict, survey))
        reasons += _timeouts(verdict, found)
    kind: Any = "filtered" if verdict.rejection is not None else "unallocatable"
    if verdict.asked and study.about.judge.is_fatal(verdict.outcome):
        kind = "error"
    return NodeAnswer(verdict.name, kind, tuple(reasons), stages, allocation if verdict.allocates else ())


def _survey(study: Study, verdict: NodeVerdict) -> Survey:
    judge = study.about.judge
    decoded = [c.claim for c in verdict.claims if c.claim is not None]
    return judge.allocator.survey(judge.state.decode(verdict.node), decoded)


def summed(reason: Reason) -> bool:
    """Whether the numbers of a reason are those of all its nodes together."""
    return reason.code == "selector-false" and not reason.have


def over_nodes(study: Study, reason: Reason, nodes: Sequence[NodeAnswer]) -> Reason:
    """A reason of several nodes, told with the devices of all of them where these can be put together: where no device
    of any meets a selector."""
    there = [
        (study.surveys[n.name], 1 + len(n.like)) for n in nodes if n.name in reason.nodes and n.name in study.surveys
    ]
    if not summed(reason) or sum(times for _, times in there) < 2:
        return reason
    request = next((r for r in whole(there) if (r.claim, r.request) == (reason.claim, reason.request)), None)
    stage = next((s for s in request.stages if s.expression == reason.selector), None) if request is not None else None
    if request is None or stage is None or stage.kept:
        return reason
    told = study.retold(of_stage(study.about, request, stage, max(request.wanted, 1)))
    return replace(told, nodes=reason.nodes) if told.code == reason.code else reason


def _timeouts(verdict: NodeVerdict, found: tuple[Reason, ...]) -> tuple[Reason, ...]:
    if not verdict.times_out:
        return found
    why = f"the scheduler would try combinations for more than 10 seconds and give up ({TIMED_OUT})"
    if found:
        why += f"; what cannot be satisfied: {found[0].message}"
    timeout = Reason(
        "timeout-risk",
        why,
        nodes=(verdict.name,),
        pod_claim=found[0].pod_claim if found else None,
        request=found[0].request if found else None,
    )
    return (timeout, *found)


def _pinned(study: Study, claim: PodClaim, verdict: NodeVerdict) -> Reason:
    failed = failure(claim) if study.about.judge.features.binding_conditions else None
    if failed is not None:
        why = f"claim {claim.full_name} cannot be used: {failure_text(failed)}"
        return Reason(
            "binding-pending", why, pod_claim=claim.name or None, claim=claim.full_name, nodes=(verdict.name,)
        )
    users = [text_at(c, "name") for c in maps_at(claim.value, "status", "reservedFor")]
    where = sorted({a.pool for a in allocation_of(claim.value, claim.full_name)})
    names = [
        str(value)
        for term in maps_at(claim.value, "status", "allocation", "nodeSelector", "nodeSelectorTerms")
        for e in [*maps_at(term, "matchFields"), *maps_at(term, "matchExpressions")]
        for value in e.get("values") or ()
    ]
    place = ", ".join(names) or ", ".join(where)
    why = f"claim {claim.full_name} is already allocated on {place}, the pod must go there"
    if users:
        why += f"; it is used by pod {', '.join(users[:3])}"
    return Reason(
        "pinned-node",
        why,
        pod_claim=claim.name or None,
        claim=claim.full_name,
        found=tuple(names),
        nodes=(verdict.name,),
    )


def _unmapped(study: Study, verdict: NodeVerdict) -> Reason | None:
    """An extended resource that the node's DRA driver could provide, if its class said so."""
    resource = verdict.rejection.resource if verdict.rejection is not None else None
    if resource is None or "/" not in resource:
        return None
    allocatable = map_at(verdict.node, "status", "allocatable")
    if str(allocatable.get(resource, "0")) != "0":
        return None
    judge = study.about.judge
    named = provided(judge.state.classes)
    offered = {r for node in judge.nodes for r in map_at(node, "status", "allocatable") if is_extended(r)}
    near = nearest(resource, named.keys() | offered)
    if near is not None and resource not in named.keys() | offered:
        by = f", of class {named[near]}" if near in named else ""
        return Reason(
            "extended-resource-unmapped",
            f"nothing provides {resource}; there is {near}{by}",
            device_class=named.get(near),
            resource=resource,
            nearest=near,
            nodes=(verdict.name,),
        )
    for item in judge.state.classes:
        drivers = study.about.drivers_of(item.metadata.name or "")
        there = any(
            s.spec.driver in drivers and s.spec.node_name == verdict.name and s.spec.devices for s in judge.slices
        )
        if there and not item.spec.extended_resource_name and _of_vendor(resource, drivers):
            why = (
                f"the node offers no {resource}; its DRA driver has devices of class {item.metadata.name}, "
                f"which does not provide {resource} (spec.extendedResourceName)"
            )
            if "DRAExtendedResource" not in judge.features.on:
                why += "; the feature gate DRAExtendedResource is off besides"
            return Reason(
                "extended-resource-unmapped",
                why,
                device_class=item.metadata.name,
                resource=resource,
                nodes=(verdict.name,),
            )
    return None


def _of_vendor(resource: str, drivers: Iterable[str]) -> bool:
    """Whether a resource is named after the vendor of one of the drivers: nvidia.com/gpu, gpu.nvidia.com."""
    domain = resource.partition("/")[0]
    return any(f".{driver}".endswith(f".{domain}") or f".{domain}".endswith(f".{driver}") for driver in drivers)


def allocation_of(claim: Raw | None, name: str) -> tuple[AllocatedDevice, ...]:
    """What a claim has been given."""
    return tuple(
        AllocatedDevice(name, text_at(r, "request"), text_at(r, "driver"), text_at(r, "pool"), text_at(r, "device"))
        for r in maps_at(claim, "status", "allocation", "devices", "results")
    )


def allocated_devices(claims: Sequence[PodClaim], outcome: Allocated) -> tuple[AllocatedDevice, ...]:
    """What an allocation gives to each claim."""
    return tuple(
        AllocatedDevice(claim.full_name, result.request, result.driver, result.pool, result.device)
        for claim, allocation in zip(claims, outcome.results, strict=False)
        for result in allocation.devices.results
    )


def bundles(verdicts: Sequence[NodeVerdict]) -> list[list[NodeVerdict]]:
    """Each node by itself; where there are many, those together that get the same answer."""
    if len(verdicts) <= _MANY:
        return [[v] for v in verdicts]
    found: dict[object, list[NodeVerdict]] = {}
    for v in verdicts:
        refused = None if v.rejection is None else (v.rejection.plugin, v.rejection.texts)
        elsewhere = tuple(c.full_name for c in v.elsewhere)
        found.setdefault((v.group, refused, elsewhere, bool(v.victims)), []).append(v)
    return list(found.values())
