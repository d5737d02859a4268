"""``dractl upgrade -o json``: ``dractl/upgrade/v1``."""

from typing import Any

from msgspec import to_builtins

from dractl.facts import current
from dractl.upgrade import Finding, Plan
from dractl.upgrade.finding import LEVELS

SCHEMA = "dractl/upgrade/v1"
_SUMMARY = {"breaks": "breaks", "changes": "changes", "info": "infos"}


def value(plan: Plan) -> dict[str, Any]:
    """Return the plan as plain values."""
    return {
        "schema": SCHEMA,
        "facts": current().to_json(),
        "from": plan.start,
        "to": plan.to,
        "drivers": {
            name: {"from": before, "to": after} for name, (before, after) in plan.drivers.items()
        },
        "steps": [
            {
                "step": step.step,
                "before": list(step.before),
                "findings": [_finding(finding) for finding in step.findings],
            }
            for step in plan.steps
        ],
        "notCompared": list(plan.not_compared),
        "summary": {_SUMMARY[level]: plan.count(level) for level in LEVELS},
    }


def _finding(finding: Finding) -> dict[str, Any]:
    """Return the value of a finding, without keys that would be empty."""
    return {name: item for name, item in to_builtins(finding).items() if item is not None}
