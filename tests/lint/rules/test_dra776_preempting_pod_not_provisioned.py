"""DRA776 preempting-pod-not-provisioned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import documents, marked, pod

if TYPE_CHECKING:
    from pathlib import Path

    from dractl.lint import Finding


def find(text: str, *consumers: str) -> list[Finding]:
    report = lint(
        load(["-"], stdin=text.encode()), Target.of("1.37"), consumers=frozenset(consumers)
    )
    return [finding for finding in report.findings if finding.code == "DRA776"]


def priority_class(policy: str = "") -> str:
    text = (
        "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: train}\nvalue: 9\n"
    )
    return text + (f"preemptionPolicy: {policy}\n" if policy else "")


def pod_of_class(name: str) -> str:
    return pod("gpu:gpus").replace("spec:", f"spec:\n  priorityClassName: {name}", 1)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (documents(pod_of_class("train"), priority_class()), ["train"]),
        (documents(pod_of_class("train"), priority_class("PreemptLowerPriority")), ["train"]),
        (documents(pod_of_class("train"), priority_class("Never")), []),
        (pod_of_class("train"), []),
        (pod_of_class("system-node-critical"), ["system-node-critical"]),
        (documents(pod("gpu:gpus"), priority_class()), []),
    ],
)
def test_preempting_pods_with_claims_are_found(text: str, named: list[str]) -> None:
    assert list(map(marked, find(text, "cluster-autoscaler"))) == named
    assert find(text, "karpenter") == []
    assert find(text) == []


def test_a_class_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "class.yaml").write_text(priority_class())
    (tmp_path / "pod.yaml").write_text(pod_of_class("train"))
    report = lint(
        load([str(tmp_path)]), Target.of("1.37"), consumers=frozenset({"cluster-autoscaler"})
    )
    assert [f.code for f in report.findings if f.code == "DRA776"] == ["DRA776"]
