"""Every rule file is complete, and its examples show what it says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import yaml

from dractl.lint import lint, registry, rule_table
from dractl.lint.finding import SEVERITIES
from dractl.manifests import load
from dractl.model import Target
from tests.driver_checks import published
from tools import make_rule_table

ROOT = Path(__file__).resolve().parent.parent.parent
RULES = list(registry.rules().values())


def codes(text: str, rule: registry.Rule) -> dict[str, set[str]]:
    """Return severities of the findings by code, for the versions of drivers that a page names.

    The example of a rule about several snapshots is a recording, for check-driver.
    """
    found: dict[str, set[str]] = {}
    if rule.compares_snapshots:
        for finding in published.check(text):
            found.setdefault(finding.code, set()).add(finding.severity)
        return found
    release = re.search(r"`--kubernetes-version ([\d.]+)`", rule.written)
    report = lint(
        load(["-"], stdin=text.encode()),
        Target.of(release[1]) if release else Target.of(),
        consumers=frozenset(registry.CONSUMERS),
        versions=dict(re.findall(r"`--driver-version ([\w.-]+)=([\w.]+)`", rule.written)),
    )
    for finding in report.findings:
        found.setdefault(finding.code, set()).add(finding.severity)
    return found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_page_has_the_headings_in_order(rule: registry.Rule) -> None:
    headings = [line[3:] for line in rule.documentation.splitlines() if line.startswith("## ")]
    wanted = [heading for heading in registry.HEADINGS if heading in headings]
    assert headings == wanted
    assert {"What it does", "Why is this bad", "Source"} <= set(headings)
    assert rule.section("")


@pytest.mark.parametrize(
    "rule", [r for r in RULES if r.example("Example")], ids=lambda rule: rule.code
)
def test_the_example_has_the_finding(rule: registry.Rule) -> None:
    assert rule.code in codes(rule.example("Example"), rule)


@pytest.mark.parametrize(
    "rule", [r for r in RULES if r.example("Use instead")], ids=lambda rule: rule.code
)
def test_use_instead_example_is_free_of_errors(rule: registry.Rule) -> None:
    found = codes(rule.example("Use instead"), rule)
    assert rule.code not in found
    assert not [code for code, severities in found.items() if "error" in severities]


def test_every_violation_has_a_reporting_rule() -> None:
    ids = set()
    for path in (ROOT / "dractl" / "validation").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                prefix, dash, number = node.value.partition("-")
                if dash and len(prefix) in (2, 3) and prefix.isupper() and number.isdigit():
                    ids.add(node.value)
    assert ids
    assert not {
        violation for violation in ids if registry.for_violation(violation).code == "DRA199"
    }


def test_no_two_rules_report_one_violation_or_have_one_name() -> None:
    violations = [violation for rule in RULES for violation in rule.violations]
    assert len(violations) == len(set(violations))
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_head_of_a_page_has_only_known_keys() -> None:
    """A misspelt key would be ignored, and the violation have no rule."""
    for path in (ROOT / "dractl" / "lint" / "rules").glob("*.md"):
        assert re.fullmatch(r"DRA\d{3}", path.stem)
        head = yaml.safe_load(path.read_text(encoding="utf-8").split("---\n")[1])
        assert head.keys() <= {"name", "severity", "violations", "rejects"}
        assert head["severity"] in SEVERITIES


def test_the_table_of_fixes_and_releases_is_up_to_date() -> None:
    """If not: ``python tools/make_rule_table.py``."""
    assert rule_table.TABLE.read_text(encoding="utf-8") == make_rule_table.table()


@pytest.mark.parametrize(
    ("releases", "period"),
    [
        ((), "all"),
        (("1.36", "1.37"), "1.36 and later"),
        (("1.34", "1.35"), "up to 1.35"),
        (("1.35", "1.36"), "1.35 to 1.36"),
        (("1.34", "1.36", "1.37"), "1.34, 1.36, 1.37"),
    ],
)
def test_releases_as_a_phrase(releases: tuple[str, ...], period: str) -> None:
    assert rule_table.RuleRow(releases=releases).period == period
