"""``dractl cel -o json``: the document ``dractl/cel/v1``."""

import json
from typing import Any

from dractl.cel import Issue, Program
from dractl.cel.trials import ReleaseVerdict, Trial
from dractl.cel.values import COST_LIMIT, MAX_LENGTH
from dractl.facts import current

SCHEMA = "dractl/cel/v1"
_RESULTS = {True: "true", False: "false", None: "error"}


def render(answer: ReleaseVerdict) -> str:
    """Return everything in the answer; ``schemas/dractl/cel-v1.json`` is its schema."""
    return json.dumps(to_json(answer), indent=1, ensure_ascii=False)


def to_json(answer: ReleaseVerdict) -> dict[str, Any]:
    """Return the document as a mapping."""
    program = answer.program
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "facts": current().to_json(),
        "kubernetesVersion": answer.release,
        "expression": program.text,
        "admission": answer.admission,
        "error": program.error,
        "issues": [_issue(issue) for issue in program.issues],
        "help": answer.help,
        "type": program.output_type,
        "cost": {"max": program.max_cost, "limit": COST_LIMIT},
        "length": {"bytes": len(program.text.encode("utf-8", "replace")), "limit": MAX_LENGTH},
        "evaluable": answer.stored.ok,
        "drivers": sorted(program.drivers),
        "reads": _reads(program),
        "remarks": [
            {"code": code, "message": text, "help": help_} for code, text, help_ in answer.remarks
        ],
    }
    if answer.asked:
        document["results"] = [_trial(trial) for trial in answer.trials]
        document["summary"] = {
            "true": answer.count(True),
            "false": answer.count(False),
            "error": answer.count(None),
        }
        document["untriedDrivers"] = list(answer.untried)
    return document


def _issue(issue: Issue) -> dict[str, Any]:
    return {
        "message": issue.message,
        "line": issue.line,
        "column": issue.column,
        "offset": issue.offset,
    }


def _reads(program: Program) -> list[dict[str, str]]:
    names = {
        (lookup.kind, lookup.domain, lookup.name)
        for lookup in program.lookups
        if lookup.name is not None
    }
    return [
        {"kind": kind, "domain": domain, "name": name or ""} for kind, domain, name in sorted(names)
    ]


def _trial(trial: Trial) -> dict[str, Any]:
    decision = trial.decision
    return {
        "result": _RESULTS[trial.result],
        "error": trial.error,
        "decidedBy": {"text": decision.text, "start": decision.start, "end": decision.end},
        "saw": [{"name": seen.name, "value": seen.value} for seen in decision.seen],
        "devices": [str(device) for device in trial.devices],
    }
