"""All reasons, which are found by importing the modules of this package."""

import pkgutil
from importlib import import_module
from pathlib import Path

from dractl.explain.reasons.base import Cause, ReasonPage
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.stops import PreBindFailure, Stop

_MODULE_ORDER = (
    *(
        "claims",
        "gangs",
        "limits",
        "pools",
        "selectors",
        "constraints",
        "devices",
        "capacity",
        "binding",
        "amounts",
    ),
    *("nodes", "schedulers", "scheduling", "running", "workloads", "cross_object"),
)
"""The modules in the order in which ``dractl rule`` lists their codes; modules that are not named
here come last.
"""
_NAMES = {module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])} - {
    "registry"
}
_MODULES = [
    import_module(f"dractl.explain.reasons.{name}")
    for name in (*_MODULE_ORDER, *sorted(_NAMES.difference(_MODULE_ORDER)))
]

_REASONS = tuple(
    kind
    for module in _MODULES
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Cause) and kind.__module__ == module.__name__
)

REASONS: dict[str, ReasonPage] = {
    kind.page.code: kind.page for kind in _REASONS if "page" in vars(kind)
}
"""The pages of all codes."""

_CAUSE_BY_STOP = {stop: kind for kind in _REASONS for stop in vars(kind).get("stops", ())}


def cause_of_stop(stop: Stop | PreBindFailure, scheduler: Scheduler) -> Cause:
    """Return the cause of a stop of the scheduler."""
    return _CAUSE_BY_STOP[type(stop)].from_stop(stop, scheduler)
