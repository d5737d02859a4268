"""DRA424 claim-shared-by-replicas."""

from __future__ import annotations

import pytest

from tests.lint.written import found, pod


@pytest.mark.parametrize(
    ("kind", "spec", "severity"),
    [
        ("DaemonSet", "", "warning"),
        ("Deployment", "replicas: 3\n", "info"),
        ("StatefulSet", "replicas: 2\n", "info"),
        ("Deployment", "replicas: 1\n", None),
        ("Deployment", "", None),
    ],
)
def test_several_pods_and_one_claim(kind: str, spec: str, severity: str | None) -> None:
    findings = found(pod("gpu=shared", kind=kind, spec=spec), "DRA424")
    assert [finding.severity for finding in findings] == ([severity] if severity else [])


def test_a_template_gives_each_pod_its_own_claim() -> None:
    assert found(pod("gpu:own", kind="Deployment", spec="replicas: 3\n"), "DRA424") == []
