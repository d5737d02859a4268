"""All reasons, found by importing the modules of the room."""

from __future__ import annotations

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

# The pages of all codes.
REASONS: dict[str, ReasonPage] = {
    kind.page.code: kind.page
    for module in _MODULES
    for kind in vars(module).values()
    if isinstance(kind, type)
    and issubclass(kind, Cause)
    and kind.__module__ == module.__name__
    and "page" in vars(kind)
}
