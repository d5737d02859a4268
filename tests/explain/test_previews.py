"""Answers under a release that was not out when it was read about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dractl.cli.main import main

CLUSTER = """\
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {nodeInfo: {kubeletVersion: v1.38.0}, allocatable: {cpu: "8", memory: 8Gi, pods: "10"}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}], CLASS}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s1}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0, novel: 1}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c, namespace: default}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, REQUEST}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default}
spec: {resourceClaims: [{name: c, resourceClaimName: c}], containers: [{name: a, image: x, resources: {claims: [{name: c}]}}]}
"""
KNOWN = "count: 1"


def explain_release(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    request: str = KNOWN,
    device_class: str = "config: []",
    release: str = "1.38",
    gates: str = "",
) -> dict[str, Any]:
    text = CLUSTER.replace("REQUEST", request).replace("CLASS", device_class)
    (folder / "dump.yaml").write_text(text)
    arguments = ["-f", str(folder / "dump.yaml"), "--kubernetes-version", release]
    arguments += ["--feature-gates", gates] if gates else []
    main(["explain", "--isolated", "-q", "pod/p", "-o", "json", *arguments])
    answer = json.loads(capsys.readouterr().out)
    assert isinstance(answer, dict)
    return answer


@pytest.mark.parametrize(
    "request_",
    [
        "spread: 3",
        "allocationMode: AtLeast",
        "selectors: [{cel: {expression: device.health == 1}}]",
    ],
)
def test_answer_depending_on_an_unknown_name_is_undecided_without_a_fix(
    request_: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = explain_release(tmp_path, capsys, request=request_)
    assert answer["verdict"] == "undecided"
    assert [reason["code"] for reason in answer["reasons"]] == ["not-known-of-preview"]
    assert "not known of 1.38.0-alpha.2, read 2026-" in answer["reasons"][0]["message"]
    assert not answer.get("fixes")


def test_a_class_with_an_unknown_field_leaves_its_claims_undecided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = explain_release(tmp_path, capsys, device_class="limits: {}")
    assert answer["verdict"] == "undecided"
    assert "spec.limits" in answer["headline"]


def test_known_fields_are_decided_as_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain_release(tmp_path, capsys)["verdict"] == "allocatable"
    answer = explain_release(tmp_path, capsys, request="selectors: [{cel: {expression: 'false'}}]")
    assert answer["verdict"] == "unallocatable"
    released = explain_release(tmp_path, capsys, request="spread: 3", release="1.37")
    assert released["verdict"] == "allocatable"  # stored objects of 1.37 cannot have the field


def test_a_planned_gate_is_taken_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """KEP-5690: off by default; which pods would be preempted is not judged."""
    (tmp_path / "dump.yaml").write_text(
        CLUSTER.replace("REQUEST", KNOWN).replace("CLASS", "config: []")
    )
    options = ["--kubernetes-version", "1.38", "--feature-gates", "DRAPreemption=true"]
    dump = str(tmp_path / "dump.yaml")
    assert main(["explain", "--isolated", "-q", "pod/p", "-f", dump, *options]) == 0
    shown = capsys.readouterr().err
    assert "warning: feature gate DRAPreemption: planned by KEP-5690" in shown


def test_the_effect_of_a_planned_feature_on_a_field_is_undecided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """KEP-6406: the API server drops the field while the gate is off; with it, devices are shared."""
    field = "extendedResourceName: example.com/gpu, extendedResourceCapacityRequests: {requests: {a: 1}}"
    assert explain_release(tmp_path, capsys, device_class=field)["verdict"] == "allocatable"
    gates = "DRAExtendedResourceCapacity=true"
    answer = explain_release(tmp_path, capsys, device_class=field, gates=gates)
    assert answer["verdict"] == "undecided"
    assert "KEP-6406" in answer["headline"]
