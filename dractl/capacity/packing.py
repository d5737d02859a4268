"""The largest number of copies that any order of placing reaches."""

import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import Allocated, DeviceID, Exhausted, Features, RequestSurvey
from dractl.capacity.copies import Copies
from dractl.capacity.islands import Islands
from dractl.capacity.placing import MAX_COPIES_PER_NODE, Fit, find_quota_limit
from dractl.cluster.devices import Devices
from dractl.model import ResourceClaim
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.verdict import NodeVerdict

# If nodes share devices, every node is surveyed; with more nodes than this, no bound is computed.
_MAX_SURVEYED_NODES = 200


class MaxCopies(Struct, frozen=True):
    """The number of copies that some order of placing reaches."""

    fits: int
    proven: bool
    """True if it is proven that no order of the copies fits more."""
    bound: int | None = None
    """An upper bound of the copies that fit in any order; None if no bound is known."""


def max_copies(
    fit: Fit, features: Features, progress: Callable[[str], None] = lambda _: None
) -> MaxCopies:
    """Count the copies that fit if all copies on a node are allocated at once, not one by one.

    If copies on one node affect another node, return the copies that fit one by one. That number is
    not proven to be the largest, so it comes with a bound.
    """
    subject = fit.subject
    scheduler = Scheduler(subject.state, features)
    first = scheduler.attempt_pod(subject.copy(1), recreated=True)
    islands = Islands.from_cluster(scheduler, subject.copy(1), first) if fit.nodes else None
    if first.stops or first.fatal_node is not None:
        return MaxCopies(0, proven=True)
    limit = find_quota_limit(subject, features, first)
    if islands is None:
        # A filter that rejects a node now may let it pass later, so the bound includes all nodes.
        bound = upper_bound(scheduler, first.nodes, None)
        return _cap_by_quota(fit.fits, proven=False, bound=bound, limit=limit.copies)
    if fit.fits >= limit.copies:
        return MaxCopies(fit.fits, proven=True)
    reached = {node.name: node.fits for node in fit.nodes}
    by_key: dict[Hashable, MaxCopies] = {}
    total, proven = 0, not fit.undecided
    bounds: list[int | None] = []
    free = [node for node in first.nodes if node.fits and not node.victims]
    for done, verdict in enumerate(free):
        key = islands.node_key(verdict)
        if key not in by_key:
            progress(f"packing copies ({done} of {len(free)} nodes)")
            by_key[key] = _pack_node(
                subject, scheduler, islands, verdict, reached.get(verdict.name, 0)
            )
        total += by_key[key].fits
        proven = proven and by_key[key].proven
        bounds.append(by_key[key].bound)
    bound = None if None in bounds else sum(filter(None, bounds))
    return _cap_by_quota(total, proven=proven, bound=bound, limit=limit.copies)


def _cap_by_quota(fits: int, *, proven: bool, bound: int | None, limit: int) -> MaxCopies:
    """Limit the number to the copies that quotas admit; a number that equals its bound is
    proven.
    """
    highest = limit if bound is None else min(bound, limit)
    proven = proven or fits >= highest
    fits = min(fits, limit)
    if proven:
        return MaxCopies(fits, proven, fits)
    return MaxCopies(fits, proven, None if highest == sys.maxsize else highest)


def _pack_node(
    subject: Copies, scheduler: Scheduler, islands: Islands, verdict: NodeVerdict, reached: int
) -> MaxCopies:
    """Add copies to a node as long as the claims of all copies can be allocated at once."""
    scheduler_of_node = scheduler.with_state(islands.isolate_node(verdict.name))
    node: Any = scheduler_of_node.state.decode(verdict.node.raw)
    room = islands.count_room(verdict, subject.copy(1))
    fits = reached
    while room is None or fits < room:
        claims = [
            _number_claim(claim.claim, number)
            for number in range(fits + 1)
            for claim in verdict.claims
            if claim.claim is not None
        ]
        if not claims:
            return MaxCopies(fits, proven=room is not None, bound=room)
        if fits >= MAX_COPIES_PER_NODE:
            return MaxCopies(fits, proven=False, bound=room)
        outcome = scheduler_of_node.allocator.allocate(node, claims)
        if not isinstance(outcome, Allocated):
            if not isinstance(outcome, Exhausted):
                return MaxCopies(fits, proven=True, bound=fits)
            bound = upper_bound(scheduler_of_node, [verdict], room)
            return MaxCopies(fits, proven=fits == bound, bound=bound)
        fits += 1
    return MaxCopies(fits, proven=True, bound=fits)


def _number_claim(claim: Any, number: int) -> Any:
    """Copy a claim under another name, for another copy of the pod."""
    return replace(claim, metadata=replace(claim.metadata, name=f"{claim.metadata.name}-{number}"))


# -- bounds: the devices of each request, as if no other request took any --


def upper_bound(scheduler: Scheduler, nodes: Sequence[NodeVerdict], room: int | None) -> int | None:
    """Return an upper bound on the copies that ``nodes`` take together; None if none is known.

    ``room`` is the number of copies for which they have CPU, memory and pods.
    """
    bounds = [] if room is None else [room]
    if len(nodes) > _MAX_SURVEYED_NODES:
        return min(bounds, default=None)
    index = Devices(scheduler.state, scheduler.slices)
    by_request: dict[tuple[int, str], list[RequestSurvey]] = {}
    claims: Sequence[ResourceClaim] = ()
    for verdict in nodes:
        # A claim that copies share is allocated once, however many copies there are.
        new_claims = [
            claim for claim in verdict.claims if claim.template is not None or not claim.name
        ]
        claims = [claim.claim for claim in new_claims if claim.claim is not None]
        survey = scheduler.allocator.survey(scheduler.state.decode(verdict.node.raw), claims)
        for request in survey.requests:
            by_request.setdefault((request.claim_index, request.ref.name), []).append(request)
    for (number, name), surveys in by_request.items():
        bound = _limit_by_request(index, claims[number], name, surveys)
        bounds += [] if bound is None else [bound]
    return min(bounds, default=None)


def _limit_by_request(
    index: Devices, claim: ResourceClaim, name: str, surveys: Iterable[RequestSurvey]
) -> int | None:
    """Count the copies for which the devices of one request suffice, using any of its alternatives.

    Return None if a device can serve any number of copies.
    """
    request = next(r for r in claim.spec.devices.requests if r.name == name)
    options: dict[str | None, Any] = {option.name: option for option in request.first_available}
    if request.exactly is not None:
        options[None] = request.exactly
    uses: dict[DeviceID, int] = {}
    least = None
    for survey in surveys:
        if survey.fault is not None:
            continue
        option = options[survey.ref.alternative]
        if getattr(option, "admin_access", False):
            return None
        least = max(1, survey.wanted if least is None else min(least, survey.wanted))
        for candidate in survey.candidates:
            shares = _max_claims(index, candidate, option)
            if shares is None:
                return None
            uses[candidate] = max(uses.get(candidate, 0), shares)
    return None if least is None else sum(uses.values()) // least


def _max_claims(index: Devices, identity: DeviceID, option: Any) -> int | None:
    """Return the largest number of claims that a device can serve; None if it is unknown."""
    device = index.get(identity)
    if device is None:
        return None
    if not device.allow_multiple_allocations:
        return 1
    amounts = {} if option.capacity is None else option.capacity.requests
    counts = []
    for name, amount in amounts.items():
        capacity = device.capacity.get(name) or device.capacity.get(
            name.removeprefix(f"{identity.driver}/")
        )
        if capacity is not None and amount.sign() > 0:
            counts.append(capacity.value.value() // max(1, amount.value()))
    return min(counts, default=None)
