"""Lint: what an API server would reject in manifests, and what it accepts although it cannot be
intended.
"""

from typing import TYPE_CHECKING

from dractl.exports import import_on_use

if TYPE_CHECKING:
    from dractl.lint.finding import Finding, Report
    from dractl.lint.run import lint
    from dractl.lint.selection import Selection

__all__ = ["Finding", "Report", "Selection", "lint"]

__getattr__ = import_on_use(
    __name__, {"Finding": "finding", "Report": "finding", "lint": "run", "Selection": "selection"}
)
