"""dractl explain --hardware, and --network-devices of render and explain."""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from dractl.cli import machine_comparison
from dractl.cli.main import main
from dractl.machines.names import every
from dractl.resources import data_dir
from tests.cluster.test_live import Kubectl, kubectl, listed
from tests.explain.cluster import allocation, claim as claim_of, node, pod, request

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["kubectl"]  # a fixture

CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: train, namespace: ml}
spec:
  devices:
    requests:
    - name: gpus
      exactly:
        deviceClassName: gpu.nvidia.com
        count: 8
        selectors:
        - cel: {expression: 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"'}
"""
MACHINES = "p5.48xlarge,p4d.24xlarge,trn2.48xlarge,4xH100,2xnic"
CAMERAS = """\
driver: camera.example.com
allNodes: true
devices: [{name: camera-1, attributes: {zoom: 4}}]
"""


@pytest.fixture
def claim(tmp_path: Path) -> str:
    (tmp_path / "claim.yaml").write_text(CLAIM)
    return str(tmp_path / "claim.yaml")


def explain(*arguments: str) -> int:
    return main(["explain", "--isolated", "-q", *arguments])


DEPLOYMENT = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: part, namespace: ml}
spec:
  spec:
    devices:
      requests:
      - name: one
        exactly: {deviceClassName: mig.nvidia.com}
      - name: other
        exactly: {deviceClassName: missing.example.com}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: ml}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
      resourceClaims: [{name: gpu, resourceClaimTemplateName: part}]
"""


def test_a_deployment_whose_corrections_are_not_enough(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After a correction it is the pod that its template makes that is attempted again, not the Deployment."""
    path = tmp_path / "web.yaml"
    for text in (DEPLOYMENT, DEPLOYMENT.replace("missing.example.com", "mig.nvidia.com")):
        path.write_text(text)
        assert explain(str(path), "--hardware", "p5.48xlarge") == 1
        out = capsys.readouterr().out
        assert "deployment ml/web" in out
        assert "✗ p5.48xlarge" in out


def test_which_machines_serve_a_claim(claim: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(claim, "--hardware", MACHINES) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["resourceclaim", "ml/train"]
    assert [line[:2] for line in lines[2:6]] == [
        ["✓", "p5.48xlarge"],
        ["✗", "p4d.24xlarge"],
        ["✗", "trn2.48xlarge"],
        ["✗", "4xH100,2xnic"],
    ]
    assert [line[2] for line in lines[3:6]] == [
        "selector-false",
        "no-slices-for-driver",
        "not-enough",
    ]
    assert " ".join(lines[7]).startswith("1 of 4 machines can serve it")


UNNAMED = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: train, namespace: ml}
spec: {devices: {requests: [{name: gpus, deviceClassName: gpu.nvidia.com, count: 8}]}}
"""


def test_a_claim_that_the_server_refuses_is_sent_to_lint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "claim.yaml"
    path.write_text(UNNAMED)
    assert main(["explain", "--isolated", str(path), "--hardware", "dgx-h100,p5.48xlarge"]) == 1
    notices = " ".join(capsys.readouterr().err.split())
    assert notices.count("the API server would refuse ResourceClaim train") == 1
    assert "(dractl lint says where)" in notices
    assert main(["explain", "--isolated", str(path), "--hardware", "dgx-h100", "-v"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "write deviceClassName in the request" in out
    assert "None" not in out


def test_a_claim_that_the_server_takes_is_not_sent_to_lint(
    claim: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "--isolated", claim, "--hardware", "dgx-h100"]) == 0
    assert "would refuse" not in capsys.readouterr().err


def test_the_comparison_as_json(claim: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(claim, "--hardware", MACHINES, "-o", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "dractl/explain-machines/v1"
    (subject,) = found["subjects"]
    assert subject["servedBy"] == ["p5.48xlarge"]
    verdicts = [machine["answer"]["verdict"] for machine in subject["machines"]]
    assert verdicts == ["allocatable", "unallocatable", "unallocatable", "unallocatable"]
    schema = json.loads((data_dir("schemas") / "dractl" / "explain-machines-v1.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(found)


def three_gpus(folder: Path) -> str:
    """Write a claim of three GPUs: of the eight of a p5.48xlarge two are left after two copies."""
    (folder / "three.yaml").write_text(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: three, namespace: ml}\n"
        "spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 3}}]}}\n"
    )
    return str(folder / "three.yaml")


def test_stranded_devices_of_a_machine_stand_below_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain(three_gpus(tmp_path), "--hardware", "p5.48xlarge,g6.xlarge") == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "stranded" in line]
    assert len(lines) == 2  # each GPU is on a PCIe root of its own
    for line in lines:
        assert line.startswith("p5.48xlarge: 1 device of gpu.nvidia.com on pci")
        assert line.endswith("stranded after 2 copies (a copy wants 3 GPUs; the node has 2 free)")


def stranded_names(answer: dict[str, Any]) -> list[tuple[str, str]]:
    """Return stranded devices by name, since fit numbers its nodes, with the reason."""
    return [
        (device.rpartition("/")[2], devices["why"])
        for devices in answer["stranded"]
        for device in devices["devices"]
    ]


def test_stranded_devices_are_those_of_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = three_gpus(tmp_path)
    assert explain(path, "--hardware", "p5.48xlarge,g6.xlarge", "-o", "json") == 0
    found = json.loads(capsys.readouterr().out)
    schema = json.loads((data_dir("schemas") / "dractl" / "explain-machines-v1.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(found)
    serving, other = found["subjects"][0]["machines"]
    assert (
        main(
            [
                "fit",
                "claim/three",
                "-n",
                "ml",
                "--isolated",
                "-f",
                path,
                "--hardware",
                "p5.48xlarge",
                "-o",
                "json",
            ]
        )
        == 0
    )
    counted = json.loads(capsys.readouterr().out)
    assert serving["copies"] == counted["fits"] == 2
    assert stranded_names(serving) == stranded_names(counted)
    assert len(stranded_names(serving)) == 2
    assert "copies" not in other


def test_copies_that_share_a_claim_are_not_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    three_gpus(tmp_path)
    path = tmp_path / "three.yaml"
    path.write_text(
        path.read_text()
        + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ml}\nspec:\n"
        "  containers: [{name: c, image: x}]\n"
        "  resourceClaims: [{name: gpu, resourceClaimName: three}]\n"
    )
    assert explain(str(path), "pod/p", "-n", "ml", "--hardware", "p5.48xlarge", "-o", "json") == 0
    (machine,) = json.loads(capsys.readouterr().out)["subjects"][0]["machines"]
    assert machine["fits"]
    assert "copies" not in machine


def test_what_the_scheduler_said_of_other_nodes_does_not_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seen on a cluster: no machine served a pod whose condition said that no node did."""
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/3 nodes are available: 3 cannot allocate all claims.",
        "lastTransitionTime": "2026-11-30T07:02:57Z",
    }
    waiting = pod(
        "p",
        {"name": "d", "resourceClaimName": "train"},
        status={"phase": "Pending", "conditions": [condition]},
    )
    path = tmp_path / "pod.yaml"
    path.write_text(f"{CLAIM}---\n{json.dumps(waiting)}\n")
    assert explain(str(path), "pod/p", "-n", "ml", "--hardware", "p5.48xlarge,g6.xlarge") == 0
    out = capsys.readouterr().out
    assert re.search(r"✓ p5.48xlarge +fits", out)
    assert "1 of 2 machines can serve it" in out


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_terminal_shows_the_whole_reason(
    claim: str, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    explain(claim, "--hardware", MACHINES)
    whole = capsys.readouterr().out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    explain(claim, "--hardware", MACHINES)
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= width
    assert "…" not in shown
    assert sorted(shown.split()) == sorted(whole.replace("DETAIL" * (width < 80), "").split())


def test_no_machine_serves_it(claim: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(claim, "--hardware", "p4d.24xlarge") == 1
    assert explain(claim, "--hardware", "p4d.24xlarge", "--exit-zero") == 0
    capsys.readouterr()
    assert explain(claim, "--hardware", "p4d.24xlarge", "-v") == 1
    assert "# p4d.24xlarge" in capsys.readouterr().out


def test_a_file_of_templates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = CLAIM.replace("kind: ResourceClaim", "kind: ResourceClaimTemplate").replace(
        "spec:\n", "spec:\n spec:\n", 1
    )
    (tmp_path / "template.yaml").write_text(text)
    assert explain(str(tmp_path / "template.yaml"), "--hardware", "dgx-h100") == 0
    assert capsys.readouterr().out.startswith("resourceclaimtemplate ml/train")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-o", "name"), "--hardware compares machines as text, json, yaml, csv or html, not name"),
        (("--patch",), "--hardware cannot be combined with --patch"),
        (("--node", "node-1"), "--hardware cannot be combined with --node"),
        (("--devices", "local"), "--hardware cannot be combined with --devices"),
    ],
)
def test_options_incompatible_with_machines_are_refused(
    claim: str, arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain(claim, "--hardware", "dgx-h100", *arguments) == 2
    assert said in capsys.readouterr().err


def claims(folder: Path, count: int) -> str:
    """Write claims of H100s and of A100s in turn."""
    documents = [
        CLAIM.replace("name: train", f"name: train-{number}").replace(
            "Hopper", ("Hopper", "Ampere")[number % 2]
        )
        for number in range(count)
    ]
    (folder / "claims.yaml").write_text("---\n".join(documents))
    return str(folder / "claims.yaml")


def test_several_claims_are_a_matrix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The machines that serve the most come first."""
    assert explain(claims(tmp_path, 3), "--hardware", "trn2*,p4d.*,p5.48*") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0][:2] == ["MACHINE", "SERVES"]
    assert lines[1:4] == [
        ["p5.48xlarge", "2/3", "✓", "selector-false", "✓"],
        ["p4d.24xlarge", "1/3", "selector-false", "✓", "selector-false"],
        ["trn2.48xlarge", "0/3", *["no-slices-for-driver"] * 3],
    ]
    assert " ".join(lines[5]).startswith("3 of 3 subjects can be served by a machine")


def test_unservable_claims_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(claims(tmp_path, 2), "--hardware", "p4d.24xlarge,p4de.24xlarge") == 1
    assert "no machine can serve resourceclaim ml/train-0\n" in capsys.readouterr().out
    assert explain(claims(tmp_path, 2), "--hardware", "p4d.24xlarge", "-v") == 1
    assert "# p4d.24xlarge" in capsys.readouterr().out


def test_the_matrix_as_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    subjects = ("resourceclaim/ml/train-0", "resourceclaim/ml/train-1")
    assert explain(claims(tmp_path, 2), "--hardware", "p4d.*,P5.48xlarge", "-o", "csv") == 0
    assert list(csv.reader(capsys.readouterr().out.splitlines())) == [
        ["machine", "serves", *subjects, *(f"stranded {subject}" for subject in subjects)],
        ["p4d.24xlarge", "1", "selector-false", "fits", "", "0"],
        ["P5.48xlarge", "1", "fits", "selector-false", "0", ""],
    ]


def matrix_of_three_gpus(folder: Path) -> str:
    """Write two claims: of three GPUs, and of one Ampere."""
    path = folder / "two.yaml"
    three = (folder / three_gpus(folder)).read_text()
    path.write_text(f"{three}---\n{CLAIM.replace('Hopper', 'Ampere')}")
    return str(path)


def test_the_matrix_counts_stranded_devices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = matrix_of_three_gpus(tmp_path)
    machines = ("--hardware", "p5.48xlarge,p4d.24xlarge")
    explain(path, *machines, "-o", "csv")
    head, *rows = csv.reader(capsys.readouterr().out.splitlines())
    column = head.index("stranded resourceclaim/ml/three")
    assert {row[0]: row[column] for row in rows} == {"p5.48xlarge": "2", "p4d.24xlarge": "2"}
    other = {row[0]: row[head.index("stranded resourceclaim/ml/train")] for row in rows}
    assert other["p5.48xlarge"] == ""
    explain(path, *machines)
    text = capsys.readouterr().out
    assert "✓ 2" in text
    assert "2 devices are stranded" not in text
    assert "N devices are stranded" in text
    explain(path, *machines, "-o", "html")
    assert '<td class="good">✓ 2</td>' in capsys.readouterr().out


def test_a_large_matrix_counts_no_stranded_devices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_comparison, "MAX_FILLED", 3)
    explain(matrix_of_three_gpus(tmp_path), "--hardware", "p5.48xlarge,p4d.24xlarge", "-o", "csv")
    assert "stranded" not in capsys.readouterr().out


def test_the_matrix_as_html(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Cells have letters; a legend has the reasons' codes and titles, and how many cells they fill."""
    assert (
        explain(claims(tmp_path, 2), "--hardware", "trn2.48xlarge,p5.48xlarge", "-o", "html") == 1
    )
    page = capsys.readouterr().out
    assert "<h1>2 subjects on 2 machines</h1>" in page
    assert re.findall(r"<tr><td>(\S+)</td><td>(\d/2)</td>", page) == [
        ("p5.48xlarge", "1/2"),
        ("trn2.48xlarge", "0/2"),
    ]
    legend = re.findall(r"<td>(\w+)</td><td class=w><code>([a-z-]+)</code></td>", page)
    assert legend == [("a", "no-slices-for-driver"), ("b", "selector-false")]
    assert '<td class="soft" title="selector-false">b</td>' in page
    assert "no machine can serve resourceclaim ml/train-1" in page


def test_csv_needs_machines(claim: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(claim, "-o", "csv") == 2
    assert "name machines with --hardware" in capsys.readouterr().err


def test_more_answers_than_are_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(claims(tmp_path, 201), "--hardware", "all") == 2
    machines = len(every())
    message = capsys.readouterr().err
    assert f"201 subjects on {machines} machines are {201 * machines:,} answers" in message
    assert "-n NAMESPACE" in message


@pytest.mark.parametrize(
    ("machines", "code"), [("p4d.24xlarge,p5.48xlarge", 0), ("p4d.24xlarge,p5.48xlarge,a100", 2)]
)
def test_the_maximum_of_answers_is_given(
    machines: str, code: int, claim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_comparison, "MAX_SUBJECTS", 1)
    monkeypatch.setattr(machine_comparison, "every", lambda: ("p4d.24xlarge", "p5.48xlarge"))
    assert explain(claim, "--hardware", machines) == code


def test_notes_on_few_machines_are_printed(claim: str, capsys: pytest.CaptureFixture[str]) -> None:
    machines = "p5.48xlarge,g6.12xlarge"
    assert main(["explain", "--isolated", claim, "--hardware", machines, "--exit-zero"]) == 0
    message = capsys.readouterr().err
    assert "g6.12xlarge: assumed: addresses" in message
    assert "-v prints" not in message


def test_notes_on_many_machines_are_counted(claim: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--isolated", claim, "--hardware", "p5*,g6.*", "--exit-zero"]) == 0
    message = capsys.readouterr().err
    assert re.search(r"-v prints \d+ notes on values that are assumed", message)
    assert "assumed: addresses" not in message


def test_pattern_without_a_machine_is_refused(
    claim: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain(claim, "--hardware", "p55*") == 2
    assert "no machine matches 'p55*'; the nearest are p5" in capsys.readouterr().err


def test_an_unknown_machine_has_near_ones(claim: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(claim, "--hardware", "p5.48xlarg") == 2
    assert "p5.48xlarge" in capsys.readouterr().err


def test_network_devices_alone_and_beside_a_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cameras.yaml"
    path.write_text(CAMERAS)
    assert main(["render", "--isolated", "-q", "--network-devices", str(path), "-o", "json"]) == 0
    (item,) = json.loads(capsys.readouterr().out)["items"]
    assert item["spec"]["allNodes"] is True
    arguments = [
        "--network-devices",
        str(path),
        "--hardware",
        "T4",
        "--driver",
        "gpu.nvidia.com",
        "-o",
        "json",
    ]
    assert main(["render", "--isolated", "-q", *arguments]) == 0
    drivers = [item["spec"]["driver"] for item in json.loads(capsys.readouterr().out)["items"]]
    assert drivers == ["gpu.nvidia.com", "camera.example.com"]


def test_a_pool_in_two_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(CAMERAS)
    files = [
        "--network-devices",
        str(tmp_path / "a.yaml"),
        "--network-devices",
        str(tmp_path / "b.yaml"),
    ]
    assert main(["render", "--isolated", *files]) == 3
    assert "pool network of camera.example.com is in" in capsys.readouterr().err
    assert main(["render", "--isolated", "--diff", "-", *files]) == 2


def test_a_claim_for_a_network_device(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cameras.yaml").write_text(CAMERAS)
    wanted = CLAIM.replace("gpu.nvidia.com", "camera.example.com").replace("count: 8", "count: 1")
    wanted = wanted.replace('architecture == "Hopper"', "zoom == 4")
    wanted += "---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: camera.example.com}\nspec: {}\n"
    (tmp_path / "claim.yaml").write_text(wanted)
    given = [str(tmp_path / "claim.yaml"), "--network-devices", str(tmp_path / "cameras.yaml")]
    assert explain(*given, "--hardware", "dgx-h100") == 0
    assert "camera-1" in capsys.readouterr().out


def requests(*of: str) -> str:
    """A claim for one device of each class."""
    listed = "".join(
        f"    - {{name: r{number}, exactly: {{{request}}}}}\n" for number, request in enumerate(of)
    )
    head = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: train}\n"
    return f"{head}spec:\n  devices:\n    requests:\n{listed}"


@pytest.mark.parametrize(
    ("claims", "machine", "serves"),
    [
        (requests("deviceClassName: mig.nvidia.com"), "p5.48xlarge", False),
        (requests("deviceClassName: mig.nvidia.com"), "p5.48xlarge,mig=on", True),
        (requests("deviceClassName: efa.networking.k8s.aws, count: 32"), "p5.48xlarge", True),
        (requests("deviceClassName: efa.networking.k8s.aws, count: 32"), "p4d.24xlarge", False),
        (requests("deviceClassName: gpu.amd.com, count: 8"), "ND_MI300X_v5", True),
        (requests("deviceClassName: tpu.google.com, count: 8"), "ct6e-standard-8t", True),
        (requests("deviceClassName: neuron.aws.com, count: 16"), "trn2.48xlarge", True),
    ],
)
def test_machines_of_every_kind(
    claims: str, machine: str, serves: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "claim.yaml").write_text(claims)
    explain(str(tmp_path / "claim.yaml"), "--hardware", machine, "-o", "json")
    (subject,) = json.loads(capsys.readouterr().out)["subjects"]
    assert bool(subject["servedBy"]) is serves


POD = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  nodeSelector: {SELECTOR}
  containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
"""


def serve_by_machine(
    path: Path, text: str, machines: str, capsys: pytest.CaptureFixture[str], *more: str
) -> dict[str, object]:
    """By machine what it needs, what sets labels and what was not judged; None for machines that do not serve."""
    path.write_text(text)
    explain(str(path), "--hardware", machines, "-o", "json", *more)
    found = json.loads(capsys.readouterr().out)
    schema = json.loads((data_dir("schemas") / "dractl" / "explain-machines-v1.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(found)
    (subject,) = found["subjects"]
    return {
        each["machine"]: (
            [need["requirement"] for need in each.get("needs", ())],
            each.get("setBy", {}),
            each.get("unjudged", []),
        )
        if each["fits"]
        else None
        for each in subject["machines"]
    }


def test_node_selectors_are_judged_by_known_labels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pod.yaml"
    of_type = POD.replace("SELECTOR", "node.kubernetes.io/instance-type: p5.48xlarge")
    assert serve_by_machine(path, of_type, "p5.48xlarge,p4d.24xlarge,dgx-h100", capsys) == {
        "p5.48xlarge": ([], {}, []),
        "p4d.24xlarge": None,
        "dgx-h100": (
            ["node.kubernetes.io/instance-type=p5.48xlarge"],
            {},
            [],
        ),  # a node of one's own may have any
    }
    own = POD.replace("SELECTOR", "team: ml, karpenter.k8s.aws/instance-gpu-name: h100")
    assert serve_by_machine(path, own, "p5.48xlarge,p4d.24xlarge", capsys) == {
        "p5.48xlarge": (["team=ml"], {"karpenter.k8s.aws/instance-gpu-name=h100": "Karpenter"}, []),
        "p4d.24xlarge": None,
    }


def test_the_conditions_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(POD.replace("SELECTOR", "team: ml, nvidia.com/gpu.family: hopper"))
    assert explain(str(path), "--hardware", "p5.48xlarge,dgx-h100,dgx-a100") == 0
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "2 of 3 machines can serve it; for Kubernetes 1.37 (default)",
        "p5.48xlarge, dgx-h100: only on nodes that match team=ml (nodeSelector)",
        "p5.48xlarge, dgx-h100: only on nodes where GPU Feature Discovery sets nvidia.com/gpu.family=hopper",
    ]


def test_a_label_of_a_machine_file_is_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = tmp_path / "mine.yaml"
    machine.write_text("labels: {team: web}\nroots: [{devices: [H100]}]\n")
    text = POD.replace("SELECTOR", "team: ml")
    assert serve_by_machine(tmp_path / "pod.yaml", text, str(machine), capsys) == {
        str(machine): None
    }
    machine.write_text("labels: {team: ml}\nroots: [{devices: [H100]}]\n")
    assert serve_by_machine(tmp_path / "pod.yaml", text, str(machine), capsys) == {
        str(machine): ([], {}, [])
    }


def test_affinity_to_other_pods_is_not_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Affinity to a pod that runs elsewhere says nothing about a machine."""
    term = "{topologyKey: zone, labelSelector: {matchLabels: {app: db}}}"
    affinity = (
        f"affinity: {{podAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}"
    )
    text = POD.replace("nodeSelector: {SELECTOR}", affinity)
    assert serve_by_machine(tmp_path / "pod.yaml", text, "dgx-h100", capsys) == {
        "dgx-h100": ([], {}, ["podAffinity"])
    }


def test_cpus_are_judged_where_they_are_documented(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """NVIDIA documents those of a DGX, Karpenter those of instance types; a line of products has none."""
    asked = "resources: {requests: {cpu: 500}, limits: {nvidia.com/gpu: 1}, claims: [{name: gpu}]}"
    text = POD.replace("nodeSelector: {SELECTOR}", "tolerations: []").replace(
        "resources: {claims: [{name: gpu}]}", asked
    )
    assert serve_by_machine(tmp_path / "pod.yaml", text, "8xH100,dgx-h100,p5.48xlarge", capsys) == {
        "8xH100": ([], {}, ["cpu"]),
        "dgx-h100": None,
        "p5.48xlarge": None,
    }
    less = text.replace("cpu: 500", "cpu: 200, memory: 1Ti")
    assert serve_by_machine(tmp_path / "pod.yaml", less, "dgx-h100,p5.48xlarge", capsys) == {
        "dgx-h100": ([], {}, []),
        "p5.48xlarge": None,
    }


def test_pools_for_some_nodes_are_assumed_to_be_for_this_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two cameras are in one zone only; no node is in both."""
    pool = "driver: camera.example.com\npool: {0}\nnodeSelector: {{zone: {0}}}\ndevices: [{1}]\n"
    cameras = (
        pool.format("a", "{name: one}") + "---\n" + pool.format("b", "{name: two}, {name: three}")
    )
    (tmp_path / "cameras.yaml").write_text(cameras)
    claim = requests("deviceClassName: camera, count: 2")
    text = f"{claim}---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {{name: camera}}\nspec: {{}}\n"
    more = ("--network-devices", str(tmp_path / "cameras.yaml"))
    cel = "spec: {selectors: [{cel: {expression: 'device.driver == \"camera.example.com\"'}}]}"
    text = text.replace("spec: {}", cel)
    assert serve_by_machine(tmp_path / "claim.yaml", text, "dgx-h100", capsys, *more) == {
        "dgx-h100": (["zone=b"], {}, [])
    }
    assert serve_by_machine(
        tmp_path / "claim.yaml", text.replace("count: 2", "count: 3"), "dgx-h100", capsys, *more
    ) == {"dgx-h100": None}


def test_drivers_are_configured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "claim.yaml"
    path.write_text(requests("deviceClassName: mig.nvidia.com"))
    arguments = [str(path), "--hardware", "dgx-h100"]
    assert explain(*arguments) == 1
    assert explain(*arguments, "--driver-option", "gpu.nvidia.com:dynamicMIG=true") == 0
    assert explain(str(path), "--driver-option", "gpu.nvidia.com:dynamicMIG=true") == 2
    assert "--driver-option needs --hardware" in capsys.readouterr().err
    assert explain(*arguments, "--driver-version", "0.4") == 2
    assert "write DRIVER=0.4, such as gpu.nvidia.com=0.4" in capsys.readouterr().err
    assert explain(*arguments, "--driver-option", "gpu.nvidia.com:dynamicMig=true") == 2
    assert "did you mean dynamicMIG?" in capsys.readouterr().err


def test_every_alternative_has_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alternatives = ", ".join(
        f"{{name: {name}, deviceClassName: {of}}}"
        for name, of in (("big", "gpu.amd.com"), ("small", "gpu.intel.com"))
    )
    (tmp_path / "claim.yaml").write_text(
        requests("deviceClassName: x").replace(
            "exactly: {deviceClassName: x}", f"firstAvailable: [{alternatives}]"
        )
    )
    assert explain(str(tmp_path / "claim.yaml"), "--hardware", "dgx-h100") == 1
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "dgx-h100" in line]
    assert "request r0/big: driver gpu.amd.com publishes no ResourceSlice" in row
    assert "request r0/small: driver gpu.intel.com publishes no ResourceSlice" in row


def test_a_machine_whose_drivers_are_silent_says_why(
    claim: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [claim, "--hardware", "p5.48xlarge,8xTPU-v6e"]
    assert explain(*arguments) == 3
    assert (
        "--hardware 8xTPU-v6e: tpu.google.com publishes nothing here: the accelerator"
        in capsys.readouterr().err
    )
    assert explain(*arguments, "--driver-option", "tpu.google.com:accelerator=tpu-v6e-slice") == 0


@pytest.mark.parametrize("command", ["lint", "explain", "fit"])
def test_version_alone_is_for_the_only_driver(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """0.4 publishes no NUMA node, 0.5 does (`dractl rule gpu.nvidia.com`)."""
    path = tmp_path / "claim.yaml"
    expression = "'numaNode' in device.attributes['resource.kubernetes.io']"
    exactly = (
        f'{{deviceClassName: gpu.nvidia.com, selectors: [{{cel: {{expression: "{expression}"}}}}]}}'
    )
    requests = f"{{devices: {{requests: [{{name: gpu, exactly: {exactly}}}]}}}}"
    path.write_text(
        f"apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {{name: c}}\nspec: {requests}\n"
    )
    asked = [
        command,
        str(path),
        "--hardware",
        "dgx-h100",
        "--driver",
        "gpu.nvidia.com",
        "--driver-version",
    ]
    found = {
        version: (main([*asked, version]), capsys.readouterr().out)[1] for version in ("0.4", "0.5")
    }
    assert found["0.4"] != found["0.5"]


def test_devices_lists_those_of_described_machines(capsys: pytest.CaptureFixture[str]) -> None:
    asked = [
        "devices",
        "--hardware",
        "dgx-h100*2",
        "--driver",
        "gpu.nvidia.com,dra.net",
        "-o",
        "name",
    ]
    assert main(asked) == 0
    names = capsys.readouterr().out.split()
    nodes = [name.split("/")[1] for name in names]
    assert (len(names), nodes.count("dgx-h100-1"), nodes.count("dgx-h100-2")) == (32, 16, 16)


ONE_GPU = request("gpu", "gpu.nvidia.com")
HELD = allocation("n1", ("gpu.nvidia.com", "gpu-0"), pod="a")
SUBJECTS = {
    "pending": (pod("a", {"name": "gpu", "resourceClaimName": "a"}), claim_of("a", ONE_GPU)),
    "running": (
        pod(
            "a",
            {"name": "gpu", "resourceClaimName": "a"},
            spec={"nodeName": "n1"},
            status={"phase": "Running"},
        ),
        claim_of("a", ONE_GPU, status=HELD),
    ),
}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_pod_of_the_cluster_is_asked_about_on_a_described_machine(
    subject: str, kubectl: Kubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    """The pod, and the claim that it uses, come from the cluster; its nodes and what they hold do
    not count."""
    a_pod, a_claim = SUBJECTS[subject]
    kubectl.answers(pods=listed(a_pod), resourceclaims=listed(a_claim), nodes=listed(node("n1")))
    assert explain("pod/a", "-n", "ml", "--hardware", "dgx-h100,trn2.48xlarge") == 0
    out = capsys.readouterr().out
    assert re.search(r"✓ dgx-h100 +fits", out)
    assert re.search(r"✗ trn2.48xlarge +\S", out)
    assert "1 of 2 machines can serve it; for Kubernetes 1.36 (from the cluster)" in out


def test_with_files_alone_no_cluster_is_asked(
    claim: str, kubectl: Kubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl.answers()
    assert explain(claim, "--hardware", "dgx-h100") == 0
    assert explain("claim/train", "-f", claim, "--hardware", "dgx-h100") == 0
    assert explain("--hardware", "dgx-h100") == 3
    assert "KIND/NAME asks about an object of the cluster" in capsys.readouterr().err
    assert not kubectl.log.exists()


def test_an_autoscaler_judges_the_machines(claim: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Karpenter declares Hopper GPUs on a p5, and no device on a trn2; it knows no DGX."""
    explain(
        claim,
        "--hardware",
        "p5.48xlarge,trn2.48xlarge,dgx-h100",
        "--for",
        "karpenter",
        "-o",
        "json",
    )
    answer = json.loads(capsys.readouterr().out)
    schema = json.loads((data_dir("schemas") / "dractl/explain-machines-v1.json").read_text())
    jsonschema.validate(answer, schema)
    (subject,) = answer["subjects"]
    verdicts = {item["machine"]: item["autoscaler"]["verdict"] for item in subject["machines"]}
    assert verdicts == {"p5.48xlarge": "serves", "trn2.48xlarge": "never", "dgx-h100": "unknown"}


def test_a_machine_on_which_the_pod_would_stay_pending_is_loud(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Karpenter compares no capacity of devices that are not shared; kube-scheduler does."""
    text = CLAIM.replace("count: 8", "capacity: {requests: {memory: 40Gi}}").partition(
        "        selectors"
    )[0]
    (tmp_path / "claim.yaml").write_text(text)
    machines = ("--hardware", "g4dn.xlarge", "--for", "karpenter=1.15")
    assert explain(str(tmp_path / "claim.yaml"), *machines) == 1
    assert "would launch g4dn.xlarge, and the pod would stay pending" in capsys.readouterr().out


LATE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: train}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.nvidia.com
        selectors:
        - cel:
            expression: device.attributes['gpu.nvidia.com'].cudaDriverVersion.major() >= 13
"""


@pytest.mark.parametrize("command", ["explain", "fit"])
def test_an_autoscaler_assumes_nothing_of_the_site(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The driver's version has no value before a node exists (Karpenter 1.15, equalOnNode): on a described machine the
    condition on it is taken to hold."""
    path = tmp_path / "claim.yaml"
    path.write_text(LATE)
    words = [str(path)] if command == "explain" else ["claim/train", "-f", str(path)]
    main([command, *words, "--hardware", "g6.2xlarge", "--for", "karpenter", "-o", "json"])
    answer = json.loads(capsys.readouterr().out)
    (machine,) = answer["subjects"][0]["machines"] if command == "explain" else answer["machines"]
    assert machine["autoscaler"]["verdict"] == "never"
    assert "cudaDriverVersion" in machine["autoscaler"]["reason"]


@pytest.mark.parametrize("name", ["karpenter=9", "kueue", "nobody"])
def test_an_unknown_autoscaler_is_wrong_usage(claim: str, name: str) -> None:
    assert explain(claim, "--hardware", "p5.48xlarge", "--for", name) == 2
    assert explain(claim, "--for", "karpenter") == 2


def test_fit_judges_the_machines(capsys: pytest.CaptureFixture[str]) -> None:
    """Karpenter declares the GPUs of a p5; no provider of it has a DGX."""
    machines = ("--hardware", "p5.48xlarge*2,dgx-h100", "--for", "karpenter")
    assert main(["fit", "gpu=2", *machines, "-o", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    schema = json.loads((data_dir("schemas") / "dractl/fit-v1.json").read_text())
    jsonschema.validate(answer, schema)
    verdicts = {item["machine"]: item["autoscaler"]["verdict"] for item in answer["machines"]}
    assert verdicts == {"p5.48xlarge": "serves", "dgx-h100": "unknown"}
    main(["fit", "gpu=2", *machines])
    assert "karpenter launches p5.48xlarge" in capsys.readouterr().out
    assert main(["fit", "gpu=2", "--for", "karpenter"]) == 2


def test_verdicts_of_an_autoscaler_are_a_column(
    claim: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A verdict shorter than the autoscaler's name (``serves``) moves nothing to the right of it."""
    explain(claim, "--hardware", "p5.48xlarge,trn2.48xlarge,dgx-h100", "--for", "karpenter")
    lines = capsys.readouterr().out.splitlines()
    (head,) = (line for line in lines if "KARPENTER" in line)
    place = head.index("KARPENTER")
    rows = [line for line in lines if line[2:].startswith(("p5.48", "trn2.48", "dgx-h100"))]
    assert [row[place:].split()[0] for row in rows] == ["serves", "never", "unknown"]
    behind = place + len(head[place:].split()[0]) + 2
    assert all(line[behind - 2 : behind] == "  " and line[behind] != " " for line in (head, *rows))
