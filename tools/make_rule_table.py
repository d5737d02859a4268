"""Writes ``dractl/lint/rules/table.json``: the fix of each rule, and its releases.

The releases are those that report the rule's example. ``--check`` only reports whether the file is
up to date.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dractl.lint import lint, registry
from dractl.lint.finding import Finding
from dractl.lint.rule_table import FIRST_RELEASE, TABLE
from dractl.manifests import load
from dractl.model import Target
from dractl.model.releases import PREVIEWS, RELEASES

SHOWN = [release for release in RELEASES if release >= FIRST_RELEASE and release not in PREVIEWS]


def findings(rule: registry.Rule, release: str) -> list[Finding]:
    """Return the findings of a rule in its example."""
    report = lint(
        load(["-"], stdin=rule.example("Example").encode()),
        Target.of(release),
        consumers=frozenset(registry.CONSUMERS),
        versions=dict(re.findall(r"`--driver-version ([\w.-]+)=([\w.]+)`", rule.written)),
    )
    return [finding for finding in report.findings if finding.code == rule.code]


def row(rule: registry.Rule) -> dict[str, object]:
    """Return the row of a rule; values that most rules share are left out."""
    by_release = {release: findings(rule, release) for release in SHOWN}
    releases = [release for release, reported in by_release.items() if reported]
    fixes = [
        finding.fix
        for reported in by_release.values()
        for finding in reported
        if finding.fix is not None
    ]
    return {
        **({"fix": "safe" if any(fix.safe for fix in fixes) else "unsafe"} if fixes else {}),
        **({"releases": releases} if releases != SHOWN else {}),
    }


def table() -> str:
    rows = {
        code: row(rule)
        for code, rule in registry.rules().items()
        if rule.example("Example") and not rule.compares_snapshots
    }
    lines = ",\n".join(
        f" {json.dumps(code)}: {json.dumps(fields)}" for code, fields in rows.items()
    )
    return f"{{\n{lines}\n}}\n"


def main() -> int:
    if "--check" in sys.argv[1:]:
        if TABLE.read_text() == table():
            return 0
        print("dractl/lint/rules/table.json is not up to date: run python tools/make_rule_table.py")
        return 1
    TABLE.write_text(table())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
