"""Known bugs of a release that stop a pod: without the bug the verdict would be another one."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import BUGS, Bug
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.verdict import Attempt


class DecisiveBug(Struct, frozen=True):
    """A bug without which the pod would fit."""

    bug: Bug
    nodes: tuple[str, ...]
    """The nodes that the pod would fit on."""
    pool: str | None = None
    """For ``pool-name-key``: the name of a pool with counters that several drivers have."""
    drivers: tuple[str, ...] = ()
    """The drivers of that pool."""
    counter_set: str | None = None
    """One of its counter sets."""


def find_decisive_bug(
    scheduler: Scheduler,
    attempt: Attempt,
    claims: Sequence[PodClaim],
    retry: Callable[[Scheduler], Attempt],
) -> DecisiveBug | None:
    """Return the bug that stops a pod; ``retry`` runs the attempt with another scheduler."""
    if (
        not scheduler.features.upstream_bugs
        or attempt.stops
        or attempt.pre_bind_failure is not None
        or not attempt.nodes
    ):
        return None
    behaviour = scheduler.features.behaviour
    names = () if behaviour is None else behaviour.bugs
    bugs = [bug for bug in BUGS if bug.name in names and _concerns(scheduler, bug, claims)]
    if not bugs:
        return None
    features = replace(scheduler.features, upstream_bugs=False)
    attempt_without_bugs = retry(Scheduler(scheduler.state, features))
    if not attempt_without_bugs.fits:
        return None
    bug, nodes = bugs[0], tuple(node.name for node in attempt_without_bugs.nodes if node.fits)
    pools = _pools_of_several_drivers(scheduler) if bug.name == "pool-name-key" else {}
    if not pools:
        return DecisiveBug(bug, nodes)
    pool, drivers = next(iter(pools.items()))
    counter_sets = {
        counter_set.name
        for resource_slice in scheduler.slices
        if resource_slice.spec.pool.name == pool
        for counter_set in resource_slice.spec.shared_counters
    }
    return DecisiveBug(bug, nodes, pool, tuple(drivers), min(counter_sets, default=None))


def _concerns(scheduler: Scheduler, bug: Bug, claims: Sequence[PodClaim]) -> bool:
    """Decide whether the cluster and the claims have what the bug is about."""
    specs = [claim.claim.spec.devices for claim in claims if claim.claim is not None]
    constraints = [constraint for spec in specs for constraint in spec.constraints]
    match bug.name:
        case "pool-name-key":
            return bool(_pools_of_several_drivers(scheduler))
        case "rules-without-selector":
            return any(rule.spec.device_selector is None for rule in scheduler.state.taint_rules)
        case "distinct-identity" | "distinct-last-only":
            return any(constraint.distinct_attribute for constraint in constraints)
        case "list-not-restored":
            return any(constraint.match_attribute for constraint in constraints)
        case "alternative-forgotten":
            return any(
                alternative.allocation_mode == "All"
                for spec in specs
                for request in spec.requests
                for alternative in request.first_available[1:]
            )
        case _:
            return any(
                device.consumes_counters or device.allow_multiple_allocations
                for resource_slice in scheduler.slices
                for device in resource_slice.spec.devices
            )


def _pools_of_several_drivers(scheduler: Scheduler) -> Mapping[str, Sequence[str]]:
    """Return the drivers of each name that pools with counters of several drivers have."""
    drivers: dict[str, set[str]] = {}
    for resource_slice in scheduler.slices:
        spec = resource_slice.spec
        if spec.shared_counters:
            drivers.setdefault(spec.pool.name, set()).add(spec.driver)
    return {name: sorted(names) for name, names in drivers.items() if len(names) > 1}
