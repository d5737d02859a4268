"""``plan -o json``: dractl/plan/v1."""

from collections.abc import Sequence
from typing import Any

from dractl.planning import Plan, Step
from dractl.planning.commands import list_batches


def plan_value(plan: Plan, reasons: Sequence[str], release: str) -> dict[str, Any]:
    """Return a plan as JSON; ``reasons`` say why there is none."""
    commands = {
        step.pod: list(batch.commands)
        for batch in list_batches(plan.steps)
        for step in batch.steps[:1]
    }
    return {
        "schema": "dractl/plan/v1",
        "subject": plan.subject,
        "kubernetesVersion": release,
        "verdict": plan.verdict,
        "steps": [_step(step, commands.get(step.pod, [])) for step in plan.steps],
        "moved": plan.moved,
        "ended": plan.ended,
        "places": {"/".join(key): node for key, node in plan.places},
        "why": list(reasons),
        "notes": list(plan.notes),
    }


def _step(step: Step, commands: list[str]) -> dict[str, Any]:
    """Return a step; the first pod of a gang has the gang's commands."""
    value: dict[str, Any] = {"owner": step.owner, "from": step.source}
    if step.target:
        value = {"move": "/".join(step.pod), **value, "to": step.target}
    else:
        value = {"end": "/".join(step.pod), **value}
    if step.alternatives:
        value["or"] = list(step.alternatives)
    if step.gang:
        value["gang"] = step.gang
    if step.delay:
        value["recreatedAfterSeconds"] = step.delay
    return {**value, "cordon": list(step.cordon), "commands": commands}
