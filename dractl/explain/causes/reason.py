"""Between causes and the values that JSON shows: one flat record with a code and a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.explain.answer import Reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from dractl.explain.causes.base import Cause
    from dractl.model.names import RequestRef

_MOST = 8  # kinds of devices whose evaluation is shown
_KEYS = frozenset(Reason.__struct_fields__)


def reason_of(
    cause: Cause, message: str, called: Callable[[RequestRef], str], pod_claim: str | None, brief: str = ""
) -> Reason:
    """A cause as JSON shows it. ``called`` names a request among several; ``pod_claim`` is what the pod calls the claim
    of the first."""
    facts: dict[str, Any] = {}
    for field in cause.__struct_fields__:
        name = cause.shown.get(field, field)
        value = getattr(cause, field)
        if name in _KEYS and field != "request" and value is not None:
            facts[name] = value[:_MOST] if name == "evaluated" else value
    if cause.about:
        first = cause.about[0]
        several = len({ref.claim for ref in cause.about}) > 1
        facts["claim"] = first.claim
        facts["request"] = ", ".join(map(called, cause.about)) if several else ", ".join(map(str, cause.about))
        facts.setdefault("pod_claim", pod_claim)
    return Reason(cause.code, message, **facts, brief=brief)
