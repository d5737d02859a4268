"""DRA772 not-taken-by-version."""

from __future__ import annotations

import pytest

from dractl.errors import UsageError
from dractl.facts.consumers import parse_consumers
from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import claim, template

SELECTING = claim(
    "gpu gpu.example.com {selectors: [{cel: {expression: 'device.driver == \"gpu.example.com\"'}}]}"
)
WATCHING = claim("gpu gpu.example.com {adminAccess: true}")
PAIRED = claim(
    "gpu gpu.example.com", "constraints: [{requests: [gpu], matchAttribute: gpu.example.com/numa}]"
)
SLICE = """
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: gpu.example.com
  nodeName: n
  pool: {name: n, generation: 1, resourceSliceCount: 2}
  sharedCounters: [{name: c, counters: {memory: {value: 1Gi}}}]
"""


def find(text: str, consumer: str, version: str | None) -> list[str]:
    versions = {consumer: version} if version else {}
    terms = {"consumers": frozenset({consumer}), "versions": versions}
    report = lint(load(["-"], stdin=text.encode()), Target.of("1.37"), **terms)  # type: ignore[arg-type]
    return [finding.message for finding in report.findings if finding.code == "DRA772"]


@pytest.mark.parametrize(
    ("text", "version", "said"),
    [
        (
            SELECTING,
            "0.17.8",
            "Kueue 0.17.8 does not take selectors: 0.18 is the first release that does",
        ),
        (SELECTING, "0.18", None),
        (
            PAIRED,
            "0.18",
            "Kueue 0.18 does not take constraints: 0.19 is the first release that does",
        ),
        (PAIRED, None, None),
        (
            WATCHING,
            None,
            "Kueue 0.19 does not take adminAccess: the main branch does, as seen on 2026-08-22",
        ),
        (WATCHING, "0.20", None),
    ],
)
def test_kueue_by_version(text: str, version: str | None, said: str | None) -> None:
    """kubernetes-sigs/kueue pkg/dra/claims.go at the tags."""
    assert find(template(text), "kueue", version) == ([said] if said else [])


@pytest.mark.parametrize(
    ("version", "number"), [("1.34", 1), ("1.35.2", 1), ("1.36", 0), (None, 0)]
)
def test_counters_and_cluster_autoscaler(version: str | None, number: int) -> None:
    """kubernetes/autoscaler cluster-autoscaler/docs/dra_support.md, Additional KEP support"""
    assert len(find(SLICE, "cluster-autoscaler", version)) == number


def test_versions_of_consumers_as_they_are_written() -> None:
    assert parse_consumers(["kueue=0.19", "karpenter"]) == {"kueue": "0.19", "karpenter": None}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kueu", "did you mean kueue?"),
        ("kueue=0.14", "kueue 0.14 is older than 0.15"),
        ("karpenter=1.13", "older than 1.14"),
        ("karpenter=1.16", "karpenter 1.16 is not known"),
        ("kueue=", "is not a version of kueue"),
        ("kueue=new", "is not a version of kueue"),
    ],
)
def test_other_consumers_are_wrong_usage(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("?", r"\?")):
        parse_consumers([text])
