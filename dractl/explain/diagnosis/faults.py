"""Causes for errors of the scheduler's allocator, and for pools that the scheduler does not use."""

from collections.abc import Sequence
from typing import Any

from dractl.allocation import DeviceID, Fatal, Fault, NodeError, PoolSurvey, RequestSurvey, Survey
from dractl.explain import selectors
from dractl.explain.context import Case
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.constraints import AllUnderConstraint
from dractl.explain.reasons.limits import ClaimLimit, ClassMissing, GateOff
from dractl.explain.reasons.pools import PoolCause, PoolIncomplete, PoolInvalid, PoolObsolete
from dractl.explain.reasons.scheduling import SchedulerError, UpstreamBug
from dractl.explain.reasons.selectors import SelectorError
from dractl.model import RequestRef


def cause_of_allocator_error(case: Case, outcome: Fatal | NodeError, survey: Survey) -> Cause:
    """Return the cause of an error that ends the attempt for all nodes, or for one."""
    fault = outcome.fault
    claim = case.claims.get(fault.claim or "") or next(iter(case.claims.values()), None)
    match fault.kind:
        case "pool-incomplete" | "pool-invalid" | "pool-reached" | "pools-invalid" if (
            fault.pool is not None
        ):
            pool = next((p for p in survey.pools if (p.driver, p.pool) == fault.pool), None)
            if pool is not None:
                return cause_of_unused_pool(
                    pool, fault.request, all_mode=fault.kind != "pool-reached"
                )
        case "limit":
            requests = [r for r in survey.requests if claim and r.claim == claim.full_name]
            want = sum(r.wanted for r in requests if r.ref.alternative is None) or None
            refs = tuple(r.ref for r in requests) or (
                (fault.request,) if fault.request is not None else ()
            )
            return ClaimLimit(claim=fault.claim or "", requests=refs, want=want)
        case "selector" | "selector-empty":
            return _cause_of_selector_error(case, fault, survey)
        case "constraint":
            unmet = next((c for c in survey.constraints if not c.satisfiable), None)
            unmet = unmet or next(iter(survey.constraints), None)
            constraint = f"{unmet.kind} {unmet.attribute}" if unmet else None
            return AllUnderConstraint(
                request=fault.request, constraint=constraint, devices=_faulty_devices(fault)
            )
    return cause_of_fault(case, fault, None)


def cause_of_fault(case: Case, fault: Fault, request: RequestSurvey | None) -> Cause:
    """Return the cause of a fault that only its message explains."""
    ref = request.ref if request is not None else fault.request
    device_class = (request.device_class or None) if request is not None else fault.device_class
    claim = case.claims.get(fault.claim or (ref.claim if ref is not None else "")) or next(
        iter(case.claims.values()), None
    )
    full_name = claim.full_name if claim is not None else None
    pod_claim = claim.name or None if claim is not None else None
    match fault.kind:
        case "class-unnamed" | "class-missing":
            return ClassMissing(request=ref, device_class=device_class, upstream=fault.text)
        case "gate-off":
            return GateOff(
                request=ref,
                device_class=device_class,
                gate=fault.gate,
                upstream=fault.text,
                devices=_faulty_devices(fault),
            )
        case "selector" | "selector-empty":
            return SelectorError(request=ref, device_class=device_class, upstream=fault.text)
        case "limit":
            refs = (ref,) if ref is not None else ()
            return ClaimLimit(claim=fault.claim or full_name or "", requests=refs)
        case "pool-incomplete" | "pool-invalid" | "pool-reached" | "pools-invalid":
            kind = PoolIncomplete if fault.kind == "pool-incomplete" else PoolInvalid
            driver, name = fault.pool or ("", "")
            pool = f"{driver}/{name}" if fault.pool is not None else ""
            return kind(request=ref, driver=driver, pool=pool, upstream=fault.text)
        case "constraint":
            return AllUnderConstraint(request=ref, devices=_faulty_devices(fault))
        case "node-selector" | "panic":
            return UpstreamBug(
                pod_claim=pod_claim,
                claim=full_name,
                request=ref,
                effect=fault.text,
                issue=fault.issue,
                devices=_faulty_devices(fault),
            )
        case _:
            return SchedulerError(
                pod_claim=pod_claim,
                claim=full_name,
                request=ref,
                upstream=fault.text,
                devices=_faulty_devices(fault),
            )


def _cause_of_selector_error(case: Case, fault: Fault, survey: Survey) -> Cause:
    """Return the cause for a selector that fails, with the values of the devices on which it
    fails.
    """
    for request in survey.requests:
        for stage in request.stages:
            errors = [loss for loss in stage.lost if loss.code == "selector-error"]
            if not errors:
                continue
            failing = [loss.device for loss in errors]
            misfit = selectors.misfit(case.devices, stage.expression or "", failing)
            return SelectorError(
                request=request.ref,
                device_class=request.device_class or None,
                selector=stage.expression,
                error=errors[0].error or errors[0].message,
                attribute=misfit.reference.full_name if misfit.reference else None,
                values=misfit.frequent_values,
                misfit=misfit,
                nearest=misfit.nearest,
                on=nodes_of(case, failing),
                devices=tuple(map(str, failing)),
                evaluated=case.evaluations(stage.expression or "", failing),
            )
    return cause_of_fault(case, fault, None)


def nodes_of(case: Case, devices: Sequence[DeviceID]) -> tuple[str, ...]:
    """Return the nodes whose slices have the devices."""
    pools = {(device.driver, device.pool) for device in devices}
    names = (
        s.spec.node_name
        for s in case.scheduler.slices
        if (s.spec.driver, s.spec.pool.name) in pools
    )
    return tuple(dict.fromkeys(name for name in names if name))


def _faulty_devices(fault: Fault) -> tuple[str, ...]:
    return () if fault.device is None else (str(fault.device),)


def cause_of_unused_pool(
    pool: PoolSurvey,
    request: RequestRef | None = None,
    *,
    device_class: str | None = None,
    all_mode: bool = False,
) -> PoolCause:
    """Return why the scheduler does not use a pool.

    With ``all_mode``, ``request`` wants all devices, and the pool keeps this request from being
    allocated.
    """
    facts: dict[str, Any] = {
        "driver": pool.driver,
        "pool": f"{pool.driver}/{pool.pool}",
        "have": pool.slices,
        "want": pool.expected,
        "generation": pool.generation,
        "request": request,
        "device_class": device_class,
        "all_mode": all_mode,
    }
    if pool.state == "invalid":
        fault = pool.fault.text if pool.fault is not None else "its slices contradict each other"
        return PoolInvalid(**facts, fault=fault)
    return (PoolIncomplete if pool.state == "incomplete" else PoolObsolete)(**facts)
