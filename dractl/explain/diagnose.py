"""From a node's survey to reasons: which stage loses what a request needs, or which requests cannot be had together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dractl.allocation import Fatal
from dractl.explain.errors import fatal, invalid
from dractl.explain.reasons import REASONS
from dractl.explain.stages import short
from dractl.explain.together import together, too_many

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dractl.allocation.survey import RequestSurvey, Survey
    from dractl.explain.about import About
    from dractl.explain.answer import Reason
    from dractl.scheduler.verdict import NodeVerdict


def reasons_of(about: About, verdict: NodeVerdict, survey: Survey) -> tuple[Reason, ...]:
    """Why the claims cannot be allocated on a node, the reason that got furthest first."""
    if isinstance(verdict.outcome, Fatal):
        return (fatal(about, verdict, survey),)
    reasons: list[Reason] = []
    for group in _by_request(survey.requests):
        if any(r.enough for r in group):
            continue
        told = [reason for request in group for reason in short(about, survey, request)]
        reasons += sorted(told, key=lambda r: -REASONS[r.code].reach)
    reasons += invalid(about, verdict, survey)
    if not reasons:
        reasons += together(about, survey)
    else:
        crowded = too_many(about, survey)
        # Whoever holds devices now: with all of them free it would not fit either.
        reasons = [crowded, *(r for r in reasons if r.code != "device-in-use")] if crowded is not None else reasons
    return tuple(replace(r, nodes=(verdict.name,)) for r in reasons)


def _by_request(requests: Iterable[RequestSurvey]) -> list[list[RequestSurvey]]:
    groups: dict[tuple[int, str], list[RequestSurvey]] = {}
    for request in requests:
        groups.setdefault((request.claim_index, request.request.partition("/")[0]), []).append(request)
    return list(groups.values())
