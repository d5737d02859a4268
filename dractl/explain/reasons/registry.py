"""All reasons, found by importing the modules of the room."""

import pkgutil
from importlib import import_module
from pathlib import Path

from dractl.explain.reasons.base import Cause, ReasonPage
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.stops import PreBindFailure, Stop

# In the order in which `dractl rule` lists their codes; modules that it lacks come last.
_ORDER = (
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
_NAMES = {module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])} - {
    "registry"
}
_MODULES = [
    import_module(f"dractl.explain.reasons.{name}")
    for name in (*_ORDER, *sorted(_NAMES.difference(_ORDER)))
]

_REASONS = tuple(
    kind
    for module in _MODULES
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Cause) and kind.__module__ == module.__name__
)

# The pages of all codes.
REASONS: dict[str, ReasonPage] = {
    kind.page.code: kind.page for kind in _REASONS if "page" in vars(kind)
}

_BY_STOP = {stop: kind for kind in _REASONS for stop in vars(kind).get("stops", ())}


def of_stop(stop: Stop | PreBindFailure, scheduler: Scheduler) -> Cause:
    """The cause that a stop of the scheduler is."""
    return _BY_STOP[type(stop)].of_stop(stop, scheduler)
