"""DRA771 selector-not-compiled-by-kueue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import claim, marked, template

if TYPE_CHECKING:
    from dractl.lint import Finding


def find(text: str, *consumers: str) -> list[Finding]:
    report = lint(
        load(["-"], stdin=text.encode()), Target.of("1.37"), consumers=frozenset(consumers)
    )
    return [finding for finding in report.findings if finding.code == "DRA771"]


def claim_with_selector(expression: str) -> str:
    return claim(f"nic nic.example.org {{selectors: [{{cel: {{expression: '{expression}'}}}}]}}")


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("device.allowMultipleAllocations", "allowMultipleAllocations"),
        ('device.attributes["a.example.org"].list.includes(1)', "includes"),
    ],
)
def test_selectors_not_compiled_by_kueue_are_found(expression: str, name: str) -> None:
    (finding,) = find(template(claim_with_selector(expression)), "kueue")
    assert (finding.severity, marked(finding)) == ("warning", name)
    assert (
        find(claim_with_selector(expression), "kueue") == []
    )  # of a claim, which Kueue does not count
    assert find(template(claim_with_selector(expression)), "karpenter") == []


def test_strings_and_other_names() -> None:
    assert (
        find(template(claim_with_selector('device.driver == "allowMultipleAllocations"')), "kueue")
        == []
    )
    assert (
        find(
            template(claim_with_selector('device.attributes["a.example.org"].includes == 1')),
            "kueue",
        )
        == []
    )
