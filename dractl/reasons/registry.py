"""All reasons, found by importing the modules of the room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.reasons import (
    amounts,
    between,
    binding,
    capacity,
    claims,
    constraints,
    devices,
    gangs,
    limits,
    nodes,
    pools,
    scheduling,
    selectors,
    workloads,
)
from dractl.reasons.base import Cause, ReasonPage

if TYPE_CHECKING:
    from dractl.scheduler.attempt import Scheduler
    from dractl.scheduler.stops import Late, Stop

# In the order in which `dractl rule` lists their codes, as far as a pod gets.
_MODULES = (
    claims,
    gangs,
    limits,
    pools,
    selectors,
    constraints,
    devices,
    capacity,
    binding,
    amounts,
    nodes,
    scheduling,
    workloads,
    between,
)

_REASONS = tuple(
    kind
    for module in _MODULES
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Cause) and kind.__module__ == module.__name__
)

# The pages of all codes.
REASONS: dict[str, ReasonPage] = {kind.page.code: kind.page for kind in _REASONS if "page" in vars(kind)}

_BY_STOP = {stop: kind for kind in _REASONS for stop in vars(kind).get("stops", ())}


def of_stop(stop: Stop | Late, scheduler: Scheduler) -> Cause:
    """The cause that a stop of the scheduler is."""
    return _BY_STOP[type(stop)].of_stop(stop, scheduler)
