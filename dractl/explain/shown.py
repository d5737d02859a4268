"""Between causes and the values that JSON shows: one flat record with a code and a sentence."""

from typing import Any

from dractl.explain.answer import Reason
from dractl.reasons.base import Cause
from dractl.reasons.phrases import Names

_MOST = 8  # kinds of devices whose evaluation is shown
_CALLED = {"request_name": "request"}  # the name of a request that has no claim yet
_KEYS = frozenset(Reason.__struct_fields__)


def reason_of(cause: Cause, names: Names, pod_claim: str | None = None) -> Reason:
    """A cause as JSON shows it; ``pod_claim`` is what the pod calls the claim of the first request."""
    facts: dict[str, Any] = {}
    for field in cause.__struct_fields__:
        name = "found" if field == cause.found else _CALLED.get(field, field)
        value = getattr(cause, field)
        if name in _KEYS and field != "request" and value is not None:
            facts[name] = value[:_MOST] if name == "evaluated" else value
    if cause.about:
        several = len({ref.claim for ref in cause.about}) > 1
        facts["claim"] = cause.about[0].claim
        facts["request"] = ", ".join(map(names.short if several else str, cause.about))
        facts.setdefault("pod_claim", pod_claim)
    return Reason(cause.code, cause.said(names), **facts, brief=cause.brief(names))
