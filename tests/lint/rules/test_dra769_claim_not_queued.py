"""DRA769 claim-not-queued."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import marked, pod

if TYPE_CHECKING:
    from dractl.lint import Finding


def find(text: str, *consumers: str) -> list[Finding]:
    report = lint(
        load(["-"], stdin=text.encode()), Target.of("1.37"), consumers=frozenset(consumers)
    )
    return [finding for finding in report.findings if finding.code == "DRA769"]


def add_queue(text: str) -> str:
    name = "p" if "kind: Pod" in text else "w"
    labels = "{kueue.x-k8s.io/queue-name: team}"
    return text.replace(
        f"metadata: {{name: {name}}}", f"metadata: {{name: {name}, labels: {labels}}}"
    )


def test_kueue_refuses_claims_by_name() -> None:
    for text in (pod("gpu=gpus"), pod("gpu=gpus", kind="StatefulSet")):
        (finding,) = find(add_queue(text), "kueue")
        assert (finding.severity, marked(finding)) == ("warning", "gpus")


def test_templates_and_unqueued_pods_are_left_alone() -> None:
    assert find(add_queue(pod("gpu:gpus")), "kueue") == []
    assert find(pod("gpu=gpus"), "kueue") == []
    assert find(add_queue(pod("gpu=gpus")), "karpenter") == []
