"""DRA777 autoscaler-without-claims. The limits themselves are tested in tests/autoscaler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import marked

if TYPE_CHECKING:
    from dractl.lint import Finding


def find(text: str, *consumers: str) -> list[Finding]:
    report = lint(
        load(["-"], stdin=text.encode()), Target.of("1.37"), consumers=frozenset(consumers)
    )
    return list(report.findings)


def deployment(version: str, *arguments: str) -> str:
    lines = "".join(f"        - {argument}\n" for argument in arguments)
    return (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: ca}\nspec:\n"
        "  selector: {matchLabels: {app: ca}}\n  template:\n    metadata: {labels: {app: ca}}\n"
        "    spec:\n      containers:\n      - name: ca\n"
        f"        image: registry.example/cluster-autoscaler:v{version}\n        args:\n{lines}"
    )


FLAG = "--enable-dynamic-resource-allocation"


def test_claims_are_off_by_default() -> None:
    (finding,) = find(deployment("1.34.5", "--cloud-provider=oci"), "cluster-autoscaler")
    assert (finding.code, finding.severity) == ("DRA777", "warning")
    assert marked(finding) == "registry.example/cluster-autoscaler:v1.34.5"


def test_the_flag_is_the_place() -> None:
    text = deployment("1.36.1", "--cloud-provider=oci", f"{FLAG}=false")
    (finding,) = find(text, "cluster-autoscaler")
    assert (finding.severity, marked(finding)) == ("error", f"{FLAG}=false")


def test_other_versions_and_consumers_get_no_finding() -> None:
    text = deployment("1.34.5", "--cloud-provider=oci")
    assert find(text) == []
    assert find(text, "karpenter") == []
    assert find(deployment("1.36.1", "--cloud-provider=oci"), "cluster-autoscaler") == []
