"""Known bugs of a release that stop a pod which would otherwise fit."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import BUGS, Bug
from dractl.cluster.derived import derive_from
from dractl.cluster.state import ClusterState
from dractl.model.releases import RELEASES
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.verdict import Attempt


class DecisiveBug(Struct, frozen=True):
    """A bug without which the pod would fit."""

    bug: Bug
    mended: str
    """The first release or patch release that fixes the bug; "" if there is none."""
    nodes: tuple[str, ...]
    """The nodes that the pod would fit on."""
    pool: str | None = None
    """For ``pool-name-key``: a pool name that several drivers use for pools with counters."""
    drivers: tuple[str, ...] = ()
    """The drivers that have a pool of this name."""
    counter_set: str | None = None
    """One of the counter sets of these pools."""


def find_decisive_bug(
    scheduler: Scheduler,
    attempt: Attempt,
    claims: Sequence[PodClaim],
    retry: Callable[[Scheduler], Attempt],
) -> DecisiveBug | None:
    """Return the bug without which the pod would fit; None if no bug stops it. ``retry`` runs the
    attempt with another scheduler.
    """
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

    def attempt_without(bugs_off: frozenset[str]) -> Attempt:
        """Attempt to place the pod with a scheduler that lacks some bugs of the release."""
        features = replace(scheduler.features, bugs_off=bugs_off)
        return retry(Scheduler(scheduler.state, features))

    features = replace(scheduler.features, upstream_bugs=False)
    right_attempt = retry(Scheduler(scheduler.state, features))
    if not right_attempt.fits:
        return None
    bug = _decide(bugs, attempt_without)
    mended = _first_release_without(bug, scheduler.features.release)
    nodes = tuple(node.name for node in right_attempt.nodes if node.fits)
    pools = _pools_of_several_drivers(scheduler) if bug.name == "pool-name-key" else {}
    if not pools:
        return DecisiveBug(bug, mended, nodes)
    pool, drivers = next(iter(pools.items()))
    counter_sets = {
        counter_set.name
        for resource_slice in scheduler.slices
        if resource_slice.spec.pool.name == pool
        for counter_set in resource_slice.spec.shared_counters
    }
    return DecisiveBug(bug, mended, nodes, pool, tuple(drivers), min(counter_sets, default=None))


def _decide(bugs: Sequence[Bug], attempt_without: Callable[[frozenset[str]], Attempt]) -> Bug:
    """Return the first bug without which the pod fits, or else the first bug that alone stops the
    pod.
    """
    if len(bugs) == 1:
        return bugs[0]
    for bug in bugs:
        if attempt_without(frozenset({bug.name})).fits:
            return bug
    names = frozenset(bug.name for bug in bugs)
    return next((bug for bug in bugs if not attempt_without(names - {bug.name}).fits), bugs[0])


def _first_release_without(bug: Bug, release: str) -> str:
    """Return the first patch of ``release`` that fixes a bug; if there is none, the first later
    release, or patch of it, without the bug.
    """
    patches = bug.fixed_by_release
    later = next((one for one in RELEASES if one > bug.last), "")
    return patches.get(release) or patches.get(later, later)


def _concerns(scheduler: Scheduler, bug: Bug, claims: Sequence[PodClaim]) -> bool:
    """Decide whether the cluster and the claims have the objects that trigger the bug."""
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
            return _has_partial_devices(scheduler.state)


@derive_from("ResourceSlice")
def _has_partial_devices(state: ClusterState) -> bool:
    """Decide whether any device consumes counters, or can be allocated to several claims."""
    return any(
        device.mapping.get("consumesCounters") or device.mapping.get("allowMultipleAllocations")
        for resource_slice in state.slices
        for device in resource_slice.spec.devices
    )


def _pools_of_several_drivers(scheduler: Scheduler) -> Mapping[str, Sequence[str]]:
    """Return the drivers of pools with counters, by each pool name that several drivers use."""
    drivers: dict[str, set[str]] = {}
    for resource_slice in scheduler.slices:
        spec = resource_slice.spec
        if spec.shared_counters:
            drivers.setdefault(spec.pool.name, set()).add(spec.driver)
    return {name: sorted(names) for name, names in drivers.items() if len(names) > 1}
