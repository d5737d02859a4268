"""``dractl lint -o sarif``: SARIF 2.1.0, as code scanning services read it."""

import json
from typing import Any

from dractl import __version__
from dractl.facts import current
from dractl.lint import registry
from dractl.lint.finding import Finding, Report, TextFix
from dractl.manifests import Position
from dractl.report.paths import uri

_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def render(report: Report) -> str:
    """Return one run; rules are described once, results point at them."""
    codes = sorted({finding.code for finding in report.findings})
    origin_value = registry.rules()
    places = {code: number for number, code in enumerate(codes)}
    driver = {
        "name": "dractl",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(origin_value[code]) for code in codes],
    }
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, places[finding.code]) for finding in report.findings],
        "properties": {
            "kubernetesVersion": report.kubernetes_version,
            "facts": current().to_json(),
        },
    }
    unchecked = report.unchecked
    notes = [{"level": "note", "message": {"text": note}} for note in report.notes]
    if unchecked is not None:
        message = {"text": f"selectors and derived attributes are not checked: {unchecked}"}
        notes.insert(0, {"level": "warning", "message": message})
    if notes:
        run["invocations"] = [{"executionSuccessful": True, "toolExecutionNotifications": notes}]
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=1)


def _rule(rule: Any) -> dict[str, Any]:
    made = {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.section("").replace("`", "")},
        "fullDescription": {"text": rule.section("What it does")},
        "help": {"text": rule.documentation, "markdown": rule.documentation},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }
    return {**made, "helpUri": rule.page} if rule.page else made


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    message = finding.message + (f"\n{finding.help}" if finding.help else "")
    location = _location(finding.position)
    if str(finding.object):
        location["logicalLocations"] = [
            {"fullyQualifiedName": f"{finding.object} {finding.path}".strip()}
        ]
    made: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": message},
        "locations": [location],
        "partialFingerprints": {"dractl/v1": finding.fingerprint},
        "properties": {"confidence": finding.confidence},
    }
    if finding.related:
        made["relatedLocations"] = [
            {**_location(related.position), "message": {"text": related.message}}
            for related in finding.related
        ]
    if finding.fix and finding.fix.safe:
        made["fixes"] = [_fix(finding.fix)]
    return made


def _location(position: Position) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": uri(position.file)},
            "region": _region(position),
        }
    }


def _region(position: Position) -> dict[str, int]:
    return {
        "startLine": position.line,
        "startColumn": position.column,
        "endLine": position.end_line,
        "endColumn": position.end_column,
    }


def _fix(fix: TextFix) -> dict[str, Any]:
    changes: dict[str, list[dict[str, Any]]] = {}
    for edit in fix.edits:
        replacement = {
            "deletedRegion": _region(edit.position),
            "insertedContent": {"text": edit.text},
        }
        changes.setdefault(edit.position.file, []).append(replacement)
    return {
        "description": {"text": fix.title},
        "artifactChanges": [
            {"artifactLocation": {"uri": uri(file)}, "replacements": edits}
            for file, edits in changes.items()
        ],
    }
