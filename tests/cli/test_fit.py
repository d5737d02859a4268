"""dractl fit --add: nodes that do not exist yet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from dractl.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

WORKLOAD = """\
apiVersion: v1
kind: Node
metadata: {name: cpu-1, labels: {kubernetes.io/hostname: cpu-1}}
status: {allocatable: {cpu: "8", memory: 64Gi, pods: "110"}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 4}}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}
      containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
      resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
"""


@pytest.mark.parametrize(("nodes", "copies"), [("p5.48xlarge*3", 6), ("p4d.24xlarge*3", 0)])
def test_added_machines_have_the_labels_of_their_type(
    nodes: str, copies: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both have eight GPUs; the node selector wants one of them."""
    (tmp_path / "web.yaml").write_text(WORKLOAD)
    main(["fit", "--isolated", "-q", "-f", str(tmp_path / "web.yaml"), "deploy/web", "--add", nodes, "-o", "json"])
    assert json.loads(capsys.readouterr().out)["fits"] == copies


def test_an_unknown_machine_is_not_added(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "web.yaml").write_text(WORKLOAD)
    arguments = ["fit", "--isolated", "-f", str(tmp_path / "web.yaml"), "deploy/web", "--add"]
    assert main([*arguments, "p5.48xlarg"]) == 2
    assert "did you mean p5.48xlarge?" in capsys.readouterr().err
    assert main([*arguments, "p5.48xlarge*0"]) == 2
    assert "--add accepts NODES*N" in capsys.readouterr().err
