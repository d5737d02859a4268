"""dractl fit --add and --hardware: nodes that do not exist yet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

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
    main(
        [
            "fit",
            "--isolated",
            "-q",
            "-f",
            str(tmp_path / "web.yaml"),
            "deploy/web",
            "--add",
            nodes,
            "-o",
            "json",
        ]
    )
    assert json.loads(capsys.readouterr().out)["fits"] == copies


def test_an_unknown_machine_is_not_added(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "web.yaml").write_text(WORKLOAD)
    arguments = ["fit", "--isolated", "-f", str(tmp_path / "web.yaml"), "deploy/web", "--add"]
    assert main([*arguments, "p5.48xlarg"]) == 2
    assert "did you mean p5.48xlarge?" in capsys.readouterr().err
    assert main([*arguments, "p5.48xlarge*0"]) == 2
    assert "--add p5.48xlarge*0: the number of nodes is 1 to 100,000" in capsys.readouterr().err


class Output(NamedTuple):
    """The exit code of a command, and its output."""

    code: int
    out: str
    err: str


def fit(capsys: pytest.CaptureFixture[str], *arguments: str) -> Output:
    code = main(["fit", "--isolated", *arguments])
    captured = capsys.readouterr()
    return Output(code, captured.out, captured.err)


def test_cpus_of_a_described_machine_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two copies have devices; a copy wants 64 of 192, and of 96, CPUs."""
    wants = "resources: {requests: {cpu: 64}, claims"
    (tmp_path / "web.yaml").write_text(
        WORKLOAD.replace("resources: {claims", wants).replace(
            "p5.48xlarge}", "p5.48xlarge}\n      tolerations: []"
        )
    )
    common = ["-f", str(tmp_path / "web.yaml"), "deploy/web", "-o", "json", "--add"]
    code, out, _ = fit(capsys, *common, "p5.48xlarge")
    found = json.loads(out)
    assert (code, found["fits"], "unjudged" in found) == (0, 2, False)
    free = WORKLOAD.replace("resources: {claims", wants).replace(
        "      nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}\n", ""
    )
    (tmp_path / "web.yaml").write_text(free)
    code, out, _ = fit(capsys, *common, "8xH100,cpus=96")
    found = json.loads(out)
    assert (code, found["fits"], "unjudged" in found) == (0, 1, False)
    code, out, _ = fit(capsys, "-f", str(tmp_path / "web.yaml"), "deploy/web", "--add", "8xH100")
    assert "2 copies fit, by devices: cpu not judged" in out


@pytest.mark.parametrize(
    ("machine", "fits"),
    [("a3-highgpu-8g", 3), ("ND_H100_v5", 1), ("BM.GPU.H100.8", 3), ("dgx-b200", 3)],
)
def test_cpus_and_memory_of_documented_machines(
    machine: str, fits: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """208, 96, 224 and 224 CPUs; a copy wants 64."""
    wants = "resources: {requests: {cpu: 64, memory: 1Gi}, claims"
    free = WORKLOAD.replace(
        "      nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}\n", ""
    )
    (tmp_path / "web.yaml").write_text(
        free.replace("resources: {claims", wants).replace("count: 4", "count: 1")
    )
    found = json.loads(
        fit(capsys, "-f", str(tmp_path / "web.yaml"), "deploy/web", "-o", "json", "--add", machine)[
            1
        ]
    )
    assert (found["fits"], "unjudged" in found) == (fits, False)


def test_remainder_after_the_copies_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three of 64 CPUs fit into 208; what is not known is not shown."""
    wants = "resources: {requests: {cpu: 64, memory: 100Gi}, claims"
    free = WORKLOAD.replace(
        "      nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}\n", ""
    )
    (tmp_path / "web.yaml").write_text(
        free.replace("resources: {claims", wants).replace("count: 4", "count: 1")
    )
    common = ["-f", str(tmp_path / "web.yaml"), "deploy/web", "--add"]
    assert (
        "3 on a3-highgpu-8g-1    16 cpu and 1572Gi memory left"
        in fit(capsys, *common, "a3-highgpu-8g")[1]
    )
    assert "8xh100-1\n" in fit(capsys, *common, "8xH100")[1]


def test_described_machines_are_all_the_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    """No cluster is asked: there is none here."""
    code, out, _ = fit(capsys, "gpu=2", "--hardware", "dgx-h100*3")
    assert (code, "12 copies fit" in out, "dgx-h100-1, dgx-h100-2, dgx-h100-3" in out) == (
        0,
        True,
        True,
    )


def test_a_wrong_machine_is_reported_before_a_cluster_is_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for option in ("--hardware", "--add"):
        code, _, err = fit(capsys, "gpu=2", option, "dgx-h10")
        assert (code, "did you mean dgx-h100?" in err) == (2, True)


TWO_MANAGERS = """\
apiVersion: v1
kind: Node
metadata: {name: n1, uid: n1}
status: {allocatable: {cpu: "64", memory: 256Gi, pods: "110", nvidia.com/gpu: "4"}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.nvidia.com}
spec: {selectors: [{cel: {expression: device.driver == "gpu.nvidia.com"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: gpu.nvidia.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}, {name: gpu-1}, {name: gpu-2}, {name: gpu-3}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one, namespace: ml}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: old, namespace: ml, uid: old}
spec: {nodeName: n1, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: USED}}}]}
status: {phase: Running}
"""


@pytest.mark.parametrize(("used", "bound", "code"), [("3", 1, 0), ("4", 0, 1)])
def test_devices_of_a_device_plugin_are_not_counted(
    used: str, bound: int, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The plugin and the driver of one node have the same four GPUs; the scheduler sees no user of the slices'."""
    (tmp_path / "two.yaml").write_text(TWO_MANAGERS.replace("USED", used))
    common = ["template/one", "-n", "ml", "-f", str(tmp_path / "two.yaml")]
    done, out, _ = fit(capsys, *common, "-o", "json")
    found = json.loads(out)
    assert (done, found["fits"], found["nodes"][0]["fits"]) == (code, bound, bound)
    seen = {
        "node": "n1",
        "resource": "nvidia.com/gpu",
        "driver": "gpu.nvidia.com",
        "offered": 4,
        "inUse": int(used),
    }
    assert found["handedOut"] == [seen]
    done, out, _ = fit(capsys, *common)
    lines = out.splitlines()
    assert ("at most 1 more copy fits" if bound else "no more copies fit") in lines[1]
    assert (
        lines[2] == f"  node n1: 4 GPUs are also offered as nvidia.com/gpu, {used} of them in use"
    )
    done, out, _ = fit(capsys, *common, "--trust-slices", "-o", "json")
    found = json.loads(out)
    assert (done, found["fits"], "handedOut" in found) == (0, 4, False)
    main(["explain", "--isolated", *common])
    told = " ".join(capsys.readouterr().out.split())
    assert (
        f"fits on n1 note: node n1: 4 GPUs are also offered as nvidia.com/gpu, {used} of them in use"
        in told
    )


def test_machine_without_nics_has_none_whatever_classes_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = main(["fit", "gpu=1,nic=1", "--isolated", "--hardware", "g5.xlarge"])
    assert code == 3
    assert "no nic in this cluster: no driver publishes any" in capsys.readouterr().err


def test_caret_of_the_compiler_stays_below_the_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    claim = tmp_path / "claim.yaml"
    claim.write_text(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\n"
        "spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com,"
        " selectors: [{cel: {expression: 'device.driver =='}}]}}]}}\n"
    )
    main(["fit", "--isolated", str(claim), "--hardware", "dgx-h100"])
    _, after = capsys.readouterr().out.split("IDENTIFIER}\n")
    assert [line.partition(" (")[0] for line in after.splitlines()[:2]] == [
        "    | device.driver ==",
        "    | ................^",
    ]
