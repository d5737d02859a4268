"""Between causes and the values that JSON shows: one flat record with a code and a sentence."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from dractl.explain import causes
from dractl.explain.answer import Reason
from dractl.model.names import RequestRef

if TYPE_CHECKING:
    from collections.abc import Callable

    from dractl.explain.causes.base import Cause

_KEYS = frozenset(field.name for field in fields(Reason))


def reason_of(cause: Cause, message: str, called: Callable[[RequestRef], str], pod_claim: str | None) -> Reason:
    """A cause as JSON shows it. ``called`` names a request among several; ``pod_claim`` is what the pod calls the claim
    of the first."""
    facts: dict[str, Any] = {}
    for field in fields(cause):
        name = cause.shown.get(field.name, field.name)
        value = getattr(cause, field.name)
        if name in _KEYS and name != "request" and value is not None:
            facts[name] = value
    if cause.about:
        first = cause.about[0]
        several = len({ref.claim for ref in cause.about}) > 1
        facts["claim"] = first.claim
        facts["request"] = ", ".join(map(called, cause.about)) if several else ", ".join(map(str, cause.about))
        facts.setdefault("pod_claim", pod_claim)
    elif isinstance(getattr(cause, "request", None), str):
        facts["request"] = cause.request  # type: ignore[attr-defined]
    return Reason(cause.code, message, **facts)


def cause_of(reason: Reason) -> Cause:
    """A reason as a cause, while some are still made as reasons: what its message alone says goes to ``upstream`` and
    the like."""
    kind = _kind(reason)
    refs = tuple(RequestRef.parse(reason.claim or "", name) for name in (reason.request or "").split(", ") if name)
    given: dict[str, Any] = {}
    for field in fields(kind):
        key = kind.shown.get(field.name, field.name)
        if field.name == "requests":
            given["requests"] = refs
        elif field.name == "request" and field.type != "str" and "RequestRef" in str(field.type):
            given["request"] = refs[0] if refs else None
        elif key in _KEYS and getattr(reason, key) is not None:
            given[field.name] = getattr(reason, key)
        elif field.name in ("upstream", "failure", "fault", "effect"):
            given[field.name] = reason.message
        elif field.default is MISSING and field.default_factory is MISSING:
            given[field.name] = 0 if field.name in ("want", "have", "free") else ""
    return kind(**given)


def _kind(reason: Reason) -> type[Cause]:
    several = ", " in (reason.request or "") or " and " in (reason.request or "")
    special: dict[str, type[Cause]] = {
        "claim-missing": causes.ClaimNotCreated if reason.template else causes.ClaimMissing,
        "binding-pending": causes.BindingPending if reason.driver else causes.BindingFailed,
        "scheduler-bypass": causes.OtherScheduler if reason.plugin else causes.PlacedByHand,
        "not-enough": causes.NotEnoughTogether if several else causes.NotEnough,
        "device-in-use-same-pod": causes.Rivals if several else causes.DeviceInUseSamePod,
        "all-needs-free": causes.AllNeedsUntainted if reason.taint else causes.AllNeedsFree,
        "constraint-conflict": causes.ConstraintConflict,
        "node-filter": causes.NodeFilter if reason.plugin else causes.NoNodes,
    }
    first = {kind.page.code: kind for kind in reversed(causes.CAUSES)}
    return special.get(reason.code) or first[reason.code]
