"""Lint: what an API server would reject in manifests, and what it accepts although it cannot be
intended.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dractl.lint.finding import Finding, Report
    from dractl.lint.run import lint
    from dractl.lint.selection import Selection

__all__ = ["Finding", "Report", "Selection", "lint"]

_HOME = {"Finding": "finding", "Report": "finding", "lint": "run", "Selection": "selection"}


def __getattr__(name: str) -> Any:
    """Import a name above on first use: explain needs only the configuration."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"dractl.lint.{_HOME[name]}"), name)
    return value
