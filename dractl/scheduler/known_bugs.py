"""Does a known bug of the release stop a pod? It does if the verdict without the bug is another one."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import BUGS, Bug
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.verdict import Attempt


class Decisive(Struct, frozen=True):
    """A bug without which the pod would fit on ``nodes``.

    For pools of several drivers whose name is the same (``pool-name-key``): one such pool, its drivers, and one of its
    counter sets.
    """

    bug: Bug
    nodes: tuple[str, ...]
    pool: str | None = None
    drivers: tuple[str, ...] = ()
    counter_set: str | None = None


def decisive_bug(
    scheduler: Scheduler,
    attempt: Attempt,
    claims: Sequence[PodClaim],
    again: Callable[[Scheduler], Attempt],
) -> Decisive | None:
    """The bug that stops a pod, if one does; ``again`` makes the attempt with another scheduler."""
    if (
        not scheduler.features.upstream_bugs
        or attempt.stopped
        or attempt.late is not None
        or not attempt.nodes
    ):
        return None
    behaviour = scheduler.features.behaviour
    there = () if behaviour is None else behaviour.bugs
    known = [bug for bug in BUGS if bug.name in there and _applies(scheduler, bug, claims)]
    if not known:
        return None
    fixed = again(Scheduler(scheduler.state, replace(scheduler.features, upstream_bugs=False)))
    if not fixed.fits:
        return None
    bug = known[0]
    nodes = tuple(n.name for n in fixed.nodes if n.fits)
    pools = _shared_pools(scheduler) if bug.name == "pool-name-key" else {}
    if not pools:
        return Decisive(bug, nodes)
    pool, drivers = next(iter(pools.items()))
    sets = {
        s.name
        for item in scheduler.slices
        if item.spec.pool.name == pool
        for s in item.spec.shared_counters
    }
    return Decisive(bug, nodes, pool, tuple(drivers), min(sets, default=None))


def _applies(scheduler: Scheduler, bug: Bug, claims: Sequence[PodClaim]) -> bool:
    """True if the cluster and the claims have what the bug is about."""
    specs = [c.claim.spec.devices for c in claims if c.claim is not None]
    constraints = [c for spec in specs for c in spec.constraints]
    match bug.name:
        case "pool-name-key":
            return bool(_shared_pools(scheduler))
        case "rules-without-selector":
            return any(rule.spec.device_selector is None for rule in scheduler.state.taint_rules)
        case "share-forgotten":  # it lets pods in, and stops none
            return False
        case "distinct-identity" | "distinct-last-only":
            return any(c.distinct_attribute for c in constraints)
        case "list-not-restored":
            return any(c.match_attribute for c in constraints)
        case "alternative-forgotten":
            later = (
                a
                for spec in specs
                for request in spec.requests
                for a in request.first_available[1:]
            )
            return any(alternative.allocation_mode == "All" for alternative in later)
        case _:
            return any(
                d.consumes_counters or d.allow_multiple_allocations
                for s in scheduler.slices
                for d in s.spec.devices
            )


def _shared_pools(scheduler: Scheduler) -> Mapping[str, Sequence[str]]:
    """By name the pools with counters that several drivers have, with the drivers."""
    drivers: dict[str, set[str]] = {}
    for item in scheduler.slices:
        if item.spec.shared_counters:
            drivers.setdefault(item.spec.pool.name, set()).add(item.spec.driver)
    return {name: sorted(those) for name, those in drivers.items() if len(those) > 1}
