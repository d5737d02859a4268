"""Lint: what an API server would say to manifests, and what it accepts although it cannot be meant."""

from __future__ import annotations

from dractl.lint.finding import Finding, Report
from dractl.lint.run import lint
from dractl.lint.selection import Selection

__all__ = ["Finding", "Report", "Selection", "lint"]
