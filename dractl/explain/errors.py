"""Errors of the allocator as reasons: those that end the whole attempt, and pools that contradict themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dractl.allocation import Fatal, NodeError
from dractl.explain import selectors
from dractl.explain.about import texts
from dractl.explain.answer import Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dractl.allocation import Fault, FaultKind
    from dractl.allocation.survey import Loss, Survey
    from dractl.explain.about import About
    from dractl.scheduler.verdict import NodeVerdict


# Faults that have a reason of their own; any other is one that dractl has no advice for.
_CODES: dict[FaultKind, str] = {
    "class-unnamed": "class-missing",
    "class-missing": "class-missing",
    "gate-off": "gate-off",
    "selector-empty": "selector-error",
    "selector": "selector-error",
    "limit": "limit-32",
    "pool-incomplete": "pool-incomplete",
    "pool-invalid": "pool-invalid",
    "pool-reached": "pool-invalid",
    "pools-invalid": "pool-invalid",
    "constraint": "constraint-conflict",
    "node-selector": "upstream-bug",
    "panic": "upstream-bug",
}


def code_of(fault: Fault) -> str:
    """The reason code of a fault."""
    return _CODES.get(fault.kind, "scheduler-error")


def fatal(about: About, verdict: NodeVerdict, survey: Survey) -> Reason:
    """The reason for an error that ends the attempt for all nodes."""
    assert isinstance(verdict.outcome, Fatal)
    fault = verdict.outcome.fault
    code = code_of(fault)
    claim = about.claims.get(fault.claim or "") or next(iter(about.claims.values()), None)
    request_name = None if fault.request is None else str(fault.request)
    where: dict[str, Any] = {
        "pod_claim": claim.name or None if claim else None,
        "claim": claim.full_name if claim else None,
        "request": request_name,
        "nodes": (verdict.name,),
    }
    if fault.pool is not None and code in ("pool-incomplete", "pool-invalid"):
        pool = next((p for p in survey.pools if (p.driver, p.pool) == fault.pool), None)
        if pool is not None:
            reason = about.pool(pool, where)
            if fault.kind == "pool-reached":
                return reason
            return replace(reason, message=f"request {request_name} wants all devices, and {reason.message}")
    match code:
        case "limit-32":
            mine = [r for r in survey.requests if claim and r.claim == claim.full_name]
            want = sum(r.wanted for r in mine if r.ref.alternative is None) or None
            names = ", ".join(r.request for r in mine) or request_name
            why = f"claim {fault.claim or ''}: {names} want {want or 'too many'} devices, and a claim can have 32"
            return Reason(code, why, **{**where, "request": names}, want=want, have=32)
        case "selector-error":
            return _selector_error(about, fault.text, survey, where)
        case "constraint-conflict":
            unmet = next((c for c in survey.constraints if not c.satisfiable), None)
            unmet = unmet or next(iter(survey.constraints), None)
            constraint = f"{unmet.kind} {unmet.attribute}" if unmet else None
            unheld = constraint or "a constraint"
            why = f"request {request_name} wants all devices, and {unheld} does not hold for all of them"
            devices = () if fault.device is None else (str(fault.device),)
            return Reason(code, why, **where, constraint=constraint, devices=devices)
    devices = () if fault.device is None else (str(fault.device),)
    return Reason(code, fault.text, **where, gate=fault.gate, issue=fault.issue, devices=devices)


def _selector_error(about: About, text: str, survey: Survey, where: dict[str, Any]) -> Reason:
    for request in survey.requests:
        for stage in request.stages:
            errors = [loss for loss in stage.lost if loss.code == "selector-error"]
            if not errors:
                continue
            wrong = selectors.misfit(about.devices, stage.expression or "", [loss.device for loss in errors])
            said = (text.partition("CEL ")[2] or text).partition(". consider")[0]
            condition = selectors.readable(stage.expression or "")
            why = f"request {request.request}: {condition} fails on {_count(errors)}: {said}"
            if wrong.detail:
                why += f" ({wrong.detail})"
            return Reason(
                "selector-error",
                why,
                **{**where, **about.where(request)},
                selector=stage.expression,
                attribute=wrong.reference.full_name if wrong.reference else None,
                nearest=wrong.nearest,
                found=wrong.found,
                devices=texts(loss.device for loss in errors),
            )
    return Reason("selector-error", text, **where)


def invalid(about: About, verdict: NodeVerdict, survey: Survey) -> list[Reason]:
    """The scheduler's "invalid resource pools were encountered", with the pools and their faults."""
    if not isinstance(verdict.outcome, NodeError):
        return []
    return [about.pool(p, {}) for p in survey.pools if p.state == "invalid"]


def _count(errors: Sequence[Loss]) -> str:
    return f"{len(errors)} devices" if len(errors) > 1 else f"device {errors[0].device}"
