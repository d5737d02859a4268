"""DRA764 alternatives-not-queued."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import API, claim, marked, template

if TYPE_CHECKING:
    from dractl.lint import Finding


def find(text: str, *consumers: str) -> list[Finding]:
    report = lint(
        load(["-"], stdin=text.encode()), Target.of("1.37"), consumers=frozenset(consumers)
    )
    return [finding for finding in report.findings if finding.code == "DRA764"]


ALTERNATIVES = (
    API
    + "kind: ResourceClaim\nmetadata: {name: c}\nspec:\n  devices: {requests: [{name: gpu, firstAvailable: "
    "[{name: a, deviceClassName: large}, {name: b, deviceClassName: small}]}]}\n"
)


def test_kueue_refuses_alternatives_of_a_template() -> None:
    # kubernetes-sigs/kueue pkg/dra/claims.go: "FirstAvailable device selection is not supported"
    (finding,) = find(template(ALTERNATIVES), "kueue")
    assert (finding.severity, marked(finding)) == ("warning", "firstAvailable")


def test_claims_and_exact_requests_are_not_refused() -> None:
    assert find(ALTERNATIVES, "kueue") == []
    assert find(template(claim("gpu small")), "kueue") == []
    assert find(template(ALTERNATIVES), "karpenter") == []
