"""Whether a known fault of the release is what stops a subject: the verdict without the fault is another one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dractl.allocation import BUGS, Bug
from dractl.explain.answer import Reason
from dractl.scheduler.attempt import Judge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dractl.scheduler.attempt import Judgement
    from dractl.scheduler.preenqueue import PodClaim


def upstream_bug(
    judge: Judge, judgement: Judgement, claims: Sequence[PodClaim], again: Callable[[Judge], Judgement]
) -> Reason | None:
    """The reason, where the subject would fit if the release did not have the fault; ``again`` judges it once more."""
    if not judge.features.upstream_bugs or judgement.stopped or judgement.late is not None or not judgement.nodes:
        return None
    known = [bug for bug in BUGS if _present(judge, bug) and _applies(judge, bug, claims)]
    if not known:
        return None
    mended = again(Judge(judge.state, replace(judge.features, upstream_bugs=False)))
    if not mended.fits:
        return None
    bug = known[0]
    nodes = tuple(n.name for n in mended.nodes if n.fits)
    why = f"{bug.effect[0].lower()}{bug.effect[1:].rstrip('.')} in Kubernetes {bug.first} to {bug.last}"
    issue = f"kubernetes#{bug.issue}" if bug.issue else None
    pools = _shared_pools(judge) if bug.name == "pool-name-key" else {}
    first = next(iter(pools), None)
    sets = sorted({s.name for item in judge.slices if item.spec.pool.name == first for s in item.spec.shared_counters})
    return Reason(
        "upstream-bug",
        f"it would fit on {', '.join(nodes[:3])}, if not for a known fault of the scheduler: {why}"
        + (f" ({issue})" if issue else ""),
        pod_claim=claims[0].name or None if claims else None,
        claim=claims[0].full_name if claims else None,
        issue=issue,
        nodes=nodes,
        pool=first,
        counter_set=sets[0] if sets else None,
        found=tuple(pools.get(first, ())) if first else (),
    )


def _present(judge: Judge, bug: Bug) -> bool:
    behaviour = judge.features.behaviour
    return behaviour is not None and bug.name in behaviour.bugs


def _applies(judge: Judge, bug: Bug, claims: Sequence[PodClaim]) -> bool:
    """Whether the cluster and the claims have what the fault is about."""
    specs = [c.claim.spec.devices for c in claims if c.claim is not None]
    constraints = [c for spec in specs for c in spec.constraints]
    match bug.name:
        case "pool-name-key":
            return bool(_shared_pools(judge))
        case "rules-without-selector":
            return any(rule.spec.device_selector is None for rule in judge.state.taint_rules)
        case "distinct-identity" | "distinct-last-only":
            return any(c.distinct_attribute for c in constraints)
        case "list-not-restored":
            return any(c.match_attribute for c in constraints)
        case "alternative-forgotten":
            later = (a for spec in specs for request in spec.requests for a in request.first_available[1:])
            return any(alternative.allocation_mode == "All" for alternative in later)
        case _:
            return any(
                d.consumes_counters or d.allow_multiple_allocations for s in judge.slices for d in s.spec.devices
            )


def _shared_pools(judge: Judge) -> Mapping[str, Sequence[str]]:
    """Names of pools with counters that several drivers use, with the drivers."""
    drivers: dict[str, set[str]] = {}
    for item in judge.slices:
        if item.spec.shared_counters:
            drivers.setdefault(item.spec.pool.name, set()).add(item.spec.driver)
    return {name: sorted(those) for name, those in drivers.items() if len(those) > 1}
