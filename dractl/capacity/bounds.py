"""Copies that fit at the very most: the devices of each request counted by themselves, whatever others take."""

from collections.abc import Iterable, Sequence
from typing import Any

from dractl.allocation import DeviceID
from dractl.allocation.survey import RequestSurvey
from dractl.cluster.devices import Devices
from dractl.model import ResourceClaim
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.verdict import NodeVerdict

_NODES = 200  # that are surveyed where devices are not of one node each


def at_most(scheduler: Scheduler, nodes: Sequence[NodeVerdict], room: int | None) -> int | None:
    """An upper bound of the copies that ``nodes`` take together; None if none is known. ``room`` is what they have CPU,
    memory and pods for."""
    found = [] if room is None else [room]
    if len(nodes) > _NODES:
        return min(found, default=None)
    index = Devices(scheduler.state, scheduler.slices)
    by_request: dict[tuple[int, str], list[RequestSurvey]] = {}
    claims: Sequence[ResourceClaim] = ()
    for verdict in nodes:
        # A claim that copies share is allocated once, however many there are.
        made = [claim for claim in verdict.claims if claim.template is not None or not claim.name]
        claims = [claim.claim for claim in made if claim.claim is not None]
        survey = scheduler.allocator.survey(scheduler.state.decode(verdict.node), claims)
        for request in survey.requests:
            by_request.setdefault((request.claim_index, request.ref.name), []).append(request)
    for (number, name), surveys in by_request.items():
        bound = _of_request(index, claims[number], name, surveys)
        found += [] if bound is None else [bound]
    return min(found, default=None)


def _of_request(index: Devices, claim: ResourceClaim, name: str, surveys: Iterable[RequestSurvey]) -> int | None:
    """Copies that the devices of one request are enough for, whichever alternatives they take; None if each device
    serves any number."""
    request = next(one for one in claim.spec.devices.requests if one.name == name)
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
            shares = _shares(index, candidate, option)
            if shares is None:
                return None
            uses[candidate] = max(uses.get(candidate, 0), shares)
    return None if least is None else sum(uses.values()) // least


def _shares(index: Devices, identity: DeviceID, option: Any) -> int | None:
    """Claims that a device serves at the very most; None if that is not known."""
    device = index.get(identity)
    if device is None:
        return None
    if not device.allow_multiple_allocations:
        return 1
    amounts = {} if option.capacity is None else option.capacity.requests
    found = []
    for name, amount in amounts.items():
        capacity = device.capacity.get(name) or device.capacity.get(name.removeprefix(f"{identity.driver}/"))
        if capacity is not None and amount.sign() > 0:
            found.append(capacity.value.value() // max(1, amount.value()))
    return min(found, default=None)
