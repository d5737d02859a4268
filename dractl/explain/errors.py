"""Errors of the allocator as reasons: those that end the whole attempt, and pools that contradict themselves."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dractl.allocation import Fatal, NodeError
from dractl.explain import selectors
from dractl.explain.about import texts
from dractl.explain.answer import Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dractl.allocation.survey import Loss, Survey
    from dractl.explain.about import About
    from dractl.scheduler.attempt import NodeVerdict


def fatal(about: About, verdict: NodeVerdict, survey: Survey) -> Reason:
    """A fatal error of the allocator as a reason."""
    text = verdict.outcome.message if isinstance(verdict.outcome, Fatal) else ""
    code = code_of(text)
    claim_name, request_name = _mentioned(text)
    claim = about.claims.get(claim_name or "") or next(iter(about.claims.values()), None)
    where: dict[str, Any] = {
        "pod_claim": claim.name or None if claim else None,
        "claim": claim.full_name if claim else None,
        "request": request_name,
        "nodes": (verdict.name,),
    }
    if code in ("pool-incomplete", "pool-invalid"):
        for pool in survey.pools:
            if f"{pool.driver}/{pool.pool}" in text:
                reason = about.pool(pool, where)
                return replace(reason, message=f"request {request_name} wants all devices, and {reason.message}")
    if code == "limit-32":
        mine = [r for r in survey.requests if claim and r.claim == claim.full_name]
        want = sum(r.wanted for r in mine if "/" not in r.request) or None
        names = ", ".join(r.request for r in mine) or request_name
        why = f"claim {claim_name or ''}: {names} want {want or 'too many'} devices, and a claim can have 32"
        return Reason(code, why, **{**where, "request": names}, want=want, have=32)
    if code == "selector-error":
        return _selector_error(about, text, survey, where)
    if code == "constraint-conflict":
        device = re.search(r"cannot add device (\S+) because", text)
        unmet = next((c for c in survey.constraints if not c.satisfiable), None) or next(iter(survey.constraints), None)
        constraint = f"{unmet.kind} {unmet.attribute}" if unmet else None
        unheld = constraint or "a constraint"
        why = f"request {request_name} wants all devices, and {unheld} does not hold for all of them"
        return Reason(code, why, **where, constraint=constraint, devices=(device[1],) if device else ())
    gate = re.search(r"the (\w+) feature is disabled", text)
    return Reason(code, text, **where, gate=gate[1] if gate else None)


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


def code_of(text: str) -> str:
    """The code of an error text of the allocator."""
    for mark, code in (
        ("currently being updated", "pool-incomplete"),
        ("currently invalid", "pool-invalid"),
        ("exceeds the claim limit", "limit-32"),
        ("number of requested devices", "limit-32"),
        ("claim constraint would not be satisfied", "constraint-conflict"),
        ("CEL", "selector-error"),
        ("device class", "class-missing"),
        ("feature is disabled", "gate-off"),
        ("timed out", "timeout-risk"),
        ("parse node selector", "upstream-bug"),
        ("pool", "pool-invalid"),
    ):
        if mark in text:
            return code
    return "gate-off"


def _mentioned(text: str) -> tuple[str | None, str | None]:
    claim = re.search(r"\bclaim ([^\s,:]+/[^\s,:]+)", text)
    request = re.search(r"\brequest ([^\s,:]+)", text)
    return claim[1] if claim else None, request[1] if request else None


def _count(errors: Sequence[Loss]) -> str:
    return f"{len(errors)} devices" if len(errors) > 1 else f"device {errors[0].device}"
