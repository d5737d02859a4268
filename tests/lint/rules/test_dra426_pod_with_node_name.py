"""DRA426 pod-with-node-name."""

from __future__ import annotations

import pytest

from tests.lint.written import found, marked, pod

NAMED = pod("gpu:gpus").replace("spec:\n", "spec:\n  nodeName: node-1\n", 1)


def test_pod_bypassing_the_scheduler_is_found() -> None:
    (finding,) = found(NAMED, "DRA426")
    assert (finding.severity, marked(finding)) == ("warning", "node-1")
    assert "nodeSelector: {kubernetes.io/hostname: node-1}" in (finding.help or "")


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_the_template_of_a_workload(kind: str) -> None:
    text = pod("gpu:gpus", kind=kind).replace(
        "    spec:\n", "    spec:\n      nodeName: node-1\n", 1
    )
    assert len(found(text, "DRA426")) == 1


def test_started_pod_was_placed_by_the_scheduler() -> None:
    assert found(NAMED + "status: {phase: Running}\n", "DRA426") == []


def test_a_pod_without_claims_and_one_without_node() -> None:
    bare = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  nodeName: node-1\n"
    assert found(bare + "  containers: [{name: c, image: x}]\n", "DRA426") == []
    assert found(pod("gpu:gpus"), "DRA426") == []
