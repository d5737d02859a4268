"""The subcommand explain: sources, subjects, formats and exit codes."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
import yaml

from dractl import facts
from dractl.cli import terminal
from dractl.cli.main import main
from tests.cluster.test_live import Kubectl, kubectl, listed
from tests.explain.cluster import (
    allocation,
    claim,
    device,
    device_class,
    node,
    pod,
    request,
    slice_of,
)

__all__ = ["kubectl"]  # a fixture

EXAMPLES = str(Path(__file__).resolve().parents[2] / "examples" / "explain")
CLASS = device_class("gpu", "device.driver == 'gpu.example.com'")


def dump(folder: Path, *objects: dict[str, Any], name: str = "dump.json") -> str:
    path = folder / name
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
    return str(path)


def busy_cluster() -> list[dict[str, Any]]:
    """Two nodes with a GPU each; that of node-1 is held by pod eval."""
    held = claim(
        "eval",
        request("r", "gpu"),
        status=allocation("node-1", ("gpu.example.com", "gpu-0"), pod="eval"),
    )
    running = pod(
        "eval",
        {"name": "g", "resourceClaimName": "eval"},
        spec={"nodeName": "node-1"},
        status={"phase": "Running"},
    )
    slices = [slice_of("gpu.example.com", f"node-{i}", device("gpu-0", memory=40)) for i in (1, 2)]
    return [CLASS, node("node-1"), node("node-2"), held, running, *slices]


class Output(NamedTuple):
    """The exit code of a command, and its output."""

    code: int
    out: str
    err: str


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> Output:
    code = main(["explain", "--isolated", *arguments])
    captured = capsys.readouterr()
    return Output(code, captured.out, captured.err)


def test_example_names_the_roots_and_their_devices(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, EXAMPLES)
    assert code == 1
    assert re.search(r"pci0000:17 +2 gpu · 0 nic", out)
    assert re.search(r"pci0000:5d +1 gpu \(\+1 in use\) · 1 nic", out)
    assert "To make it fit" in out
    assert "delete pod ml/eval-3" in out
    assert max(map(len, out.splitlines())) <= 100


def test_pod_hanging_on_its_node_is_pending_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Asked for by nobody's name: the scheduler is done with it, the kubelet is not."""
    objects = busy_cluster()
    running = next(value for value in objects if value["kind"] == "Pod")
    running["status"]["phase"] = "Pending"
    _, out, _ = run(capsys, "-f", dump(tmp_path, *objects))
    assert "pod ml/eval" in out
    assert "scheduled on node-1, whose kubelet has said nothing yet" in out


def test_pod_with_an_extended_resource_of_a_publishing_driver_is_pending(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No class provides nvidia.com/gpu here, and no device plugin."""
    limits = {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}
    waits = pod("train", spec={"containers": [{"name": "c", "image": "i", "resources": limits}]})
    gpu = slice_of("gpu.nvidia.com", "node-1", device("gpu-0"))
    code, out, _ = run(capsys, "-f", dump(tmp_path, node("node-1"), waits, gpu))
    assert (code, "pod ml/train" in out) == (1, True)


def test_an_age_ends_with_the_dump(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    objects = busy_cluster()
    waits = pod("train", {"name": "g", "resourceClaimName": "none"})
    waits["metadata"]["creationTimestamp"] = "2024-05-01T10:00:00Z"
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "ml"},
        "involvedObject": {"kind": "Pod", "namespace": "ml", "name": "train"},
        "lastTimestamp": "2024-05-01T10:14:00Z",
    }
    _, out, _ = run(capsys, "-f", dump(tmp_path, *objects, waits, event))
    assert "Pending 14m" in out


def test_unknown_release_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Asked for, or of the nodes: the answer is that of an older scheduler."""
    (tmp_path / "cluster.yaml").write_text(
        (Path(EXAMPLES) / "cluster.yaml").read_text(encoding="utf-8").replace("v1.36.3", "v1.99.0"),
        encoding="utf-8",
    )
    said = "Kubernetes 1.99 is newer than dractl knows"
    assert said in run(capsys, EXAMPLES, "--kubernetes-version", "1.99", "--assume-newest")[2]
    code, _, refused = run(capsys, EXAMPLES, "--kubernetes-version", "1.99")
    assert code == 2
    assert "--assume-newest applies its rules" in refused
    _, report, told = run(capsys, "-f", str(tmp_path), "-f", str(Path(EXAMPLES) / "training.yaml"))
    assert said in told
    assert said in report
    assert said not in run(capsys, EXAMPLES)[2]


def test_a_kind_and_a_name_as_kubectl_takes_them(capsys: pytest.CaptureFixture[str]) -> None:
    with_slash = run(capsys, "-f", EXAMPLES, "pod/train-0")
    assert run(capsys, "-f", EXAMPLES, "pod", "train-0") == with_slash
    assert run(capsys, "-f", EXAMPLES, "po", "train-0", "train-0")[1].count("pod ml/train-0") == 2


def dump_of_claims(folder: Path) -> str:
    counts = {"one": 1, "nine": 9, "ten": 10}
    return dump(
        folder,
        *busy_cluster(),
        *(claim(name, request("r", "gpu", n)) for name, n in counts.items()),
    )


def test_of_several_found_there_is_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = dump_of_claims(tmp_path)
    for arguments in ((), ("-A",), (path,)):
        code, out, err = run(capsys, "-f", path, *arguments)
        head, *rows = out.splitlines()
        assert code == 1
        assert head.split() == ["SUBJECT", "REASON", "WHY"]
        subjects = [row for row in rows if not row.startswith("    ")]
        assert [row.split()[2] for row in subjects[:3]] == ["ml/nine", "ml/ten", "ml/one"]
        assert "    fix: lower count of request r from 9 to 1" in rows
        assert rows[5:] == ["", "3 subjects for Kubernetes 1.37 (default): 2 unschedulable, 1 fit"]
        assert "explain KIND/NAME" in err
        assert run(capsys, "-f", path, *arguments, "-q")[2] == ""


def test_named_subjects_are_in_full_as_with_verbose(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = dump_of_claims(tmp_path)
    _, named, err = run(capsys, "-f", path, "claim/nine", "claim/one")
    assert named.startswith("resourceclaim ml/nine")
    assert "SUBJECT" not in named + err
    assert named.count("To make it fit") == 1
    assert "fits on node-2" in named
    _, verbose, _ = run(capsys, "-f", path, "-v")
    assert verbose.startswith("  SUBJECT")
    assert verbose.count("To make it fit") == 2
    _, everything, _ = run(capsys, "-f", path, "-vv")
    assert everything.count("\nnode-2\n") == 2  # each has the funnel of each node
    assert "\nnode-2\n" not in verbose


def test_json_has_the_documented_shape(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "-f", EXAMPLES, "pod/train-0", "-o", "json")
    answer = json.loads(out)
    assert code == 1
    assert answer["schema"] == "dractl/explain/v1"
    assert answer["subject"] == {
        "kind": "Pod",
        "namespace": "ml",
        "name": "train-0",
        "podClaims": {"devices": "train-0-devices"},
    }
    assert (answer["verdict"], answer["kubernetesVersion"]) == ("unallocatable", "1.36")
    assert answer["reasons"][0]["code"] == "constraint-conflict"
    assert answer["schedulerMessage"].startswith(
        "0/1 nodes are available: 1 cannot allocate all claims."
    )
    (one,) = answer["nodes"]
    stage = {
        "request": "nic",
        "stage": "1 × dranet",
        "kept": 1,
        "of": 5,
        "detail": "",
        "claim": "ml/train-0-devices",
    }
    assert stage in one["funnel"]
    ranks = [fix["rank"] for fix in answer["fixes"]]
    assert ranks == list(range(1, len(ranks) + 1))
    assert all(fix["verified"] and fix["nodes"] == ["node-1"] for fix in answer["fixes"])
    assert any(fix["changes"] == [{"delete": "Pod/ml/eval-3"}] for fix in answer["fixes"])


def test_several_subjects_come_under_subjects_worst_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fits = claim("fits", request("r", "gpu"))
    never = claim("never", request("r", "gpu", 9))
    missing = claim("missing", request("r", "gpus"))
    path = dump(tmp_path, *busy_cluster(), fits, never, missing)
    code, out, _ = run(capsys, "-f", path, "-o", "json")
    found = [(s["subject"]["name"], s["verdict"]) for s in json.loads(out)["subjects"]]
    assert found == [("missing", "blocked"), ("never", "unallocatable"), ("fits", "allocatable")]
    assert code == 1


def test_fitting_claim_names_node_and_device(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = dump(tmp_path, *busy_cluster(), claim("one", request("r", "gpu")))
    code, out, _ = run(capsys, "-f", path, "claim/one")
    assert code == 0
    assert "fits on node-2" in out
    assert "gpu.example.com/node-2/gpu-0" in out


def test_one_node_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = dump(tmp_path, *busy_cluster(), claim("two", request("r", "gpu", 2)))
    _, out, _ = run(capsys, "-f", path, "claim/two", "--node", "node-1", "-o", "json")
    assert [n["name"] for n in json.loads(out)["nodes"]] == ["node-1"]


def test_node_shows_the_holders_of_its_devices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, "-f", dump(tmp_path, *busy_cluster()), "node/node-1")
    assert code == 0
    assert re.search(r"gpu.example.com/node-1/gpu-0 +held +claim ml/eval \(pod ml/eval\)", out)
    assert "1 of 1 in use" in out
    _, out, _ = run(capsys, "-f", dump(tmp_path, *busy_cluster()), "node/node-2")
    assert "safe to restart" in out


def test_a_workload_without_pods_is_asked_for_its_template(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = {
        "containers": [{"name": "m", "image": "x"}],
        "resourceClaims": [{"name": "g", "resourceClaimTemplateName": "t"}],
    }
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t", "namespace": "ml"},
    }
    template["spec"] = {"spec": {"devices": {"requests": [request("r", "gpu", 2)]}}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "ml"},
        "spec": {"template": {"metadata": {"labels": {"app": "web"}}, "spec": spec}},
    }
    path = dump(tmp_path, *busy_cluster(), template, deployment)
    code, out, _ = run(capsys, "-f", path, "deploy/web", "-o", "json")
    answer = json.loads(out)
    assert code == 1
    assert answer["subject"]["podClaims"] == {"g": "web-g"}
    assert answer["reasons"][0]["code"] == "not-enough"


def test_patch_prints_commands_for_kubectl(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, EXAMPLES, "--patch")
    assert code == 1
    assert "kubectl get resourceclaimtemplate gpus-and-nic -n ml -o yaml > " in out
    written = re.search(r"<<'EOF' &&\n(.*?)EOF\n", out, re.DOTALL)
    assert written is not None
    (operation,) = json.loads(written[1])
    assert operation["op"] == "replace"
    assert operation["path"] == "/spec/spec/devices/constraints/0/matchAttribute"


def test_patch_takes_the_number_of_a_fix(capsys: pytest.CaptureFixture[str]) -> None:
    first = run(capsys, EXAMPLES, "--patch", "pod/train-0")[1]  # what follows is no number
    assert run(capsys, EXAMPLES, "pod/train-0", "--patch", "1")[1] == first
    assert (
        run(capsys, EXAMPLES, "pod/train-0", "--patch=2")[1].partition("\n")[0]
        != first.partition("\n")[0]
    )


def test_html_keeps_a_subclause_beside_its_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    dump_file = Path(EXAMPLES).parent / "reasons" / "driver-absent.yaml"
    _, out, _ = run(capsys, "-A", "-f", str(dump_file), "-o", "html")
    assert "gpu.nvidia.com publishes nothing on gpu-2, which has " in out
    assert ",</p>" not in out


def test_html_is_one_self_contained_page(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, EXAMPLES, "-o", "html")
    assert out.startswith("<!doctype html>")
    assert "<svg" in out
    assert "pci0000:5d" in out
    assert not re.search(r"(src|href)\s*=", out)
    assert "http" not in out


CONFIG = {"config view": {"out": "ml\n\nprod-eu"}}


def test_page_names_cluster_time_and_next_steps(
    kubectl: Kubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    """A ticket is read by somebody who ran neither kubectl nor dractl."""
    lost = pod("lost-0", {"name": "g", "resourceClaimName": "none"})
    kubectl.answers(**CONFIG, pods=listed(lost), nodes=listed(node("node-1")))
    code, out, _ = run(capsys, "pod/lost-0", "-n", "ml", "-o", "html")
    assert code == 1
    now = datetime.now(UTC).strftime("%Y-%m-%d")
    assert re.search(rf"context prod-eu, Kubernetes 1\.36, read {now} \d\d:\d\d UTC<", out)
    assert "<code>dractl explain --isolated pod/lost-0 -n ml -o html</code>" in out
    assert re.search(r"<h2>Next</h2>\s*<ul><li>[^<]+<pre>kubectl get ", out)
    _, out, _ = run(capsys, "pod/lost-0", "-n", "ml", "-o", "json")
    answer = json.loads(out)
    assert answer["command"] == "dractl explain --isolated pod/lost-0 -n ml -o json"
    assert answer["next"][0]["command"].startswith("kubectl get ")
    found = answer["input"]
    assert found.keys() == {"context", "serverVersion", "time"}
    assert (found["context"], found["serverVersion"]) == ("prod-eu", "1.36")
    assert abs(datetime.now(UTC) - datetime.fromisoformat(found["time"])).total_seconds() < 600


def test_an_answer_about_files_says_which_and_is_the_same_each_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    born = {"metadata": {"creationTimestamp": "2026-01-01T11:46:00Z"}}
    path = dump(tmp_path, *busy_cluster(), claim("c", request("r", "gpu", 9), **born))
    first = run(capsys, "-f", path, "-o", "json")
    assert json.loads(first[1])["input"] == {"files": [path], "time": "2026-01-01T11:46:00Z"}
    assert run(capsys, "-f", path, "-o", "json") == first
    page = run(capsys, "-f", path, "-o", "html")
    assert f"{path}, newest time 2026-01-01 11:46 UTC" in page[1]
    assert run(capsys, "-f", path, "-o", "html") == page


def test_a_page_of_many_subjects_begins_with_their_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = pod("lost", {"name": "g", "resourceClaimName": "none"})
    never = claim("never", request("r", "gpu", 9))
    _, out, _ = run(capsys, "-f", dump(tmp_path, *busy_cluster(), lost, never), "-o", "html")
    links = re.findall(r"<a href='#([\w-]+)'>([^<]*)</a></td><td class=w>([\w-]+)<", out)
    assert [(title, code) for _, title, code in links] == [
        ("pod ml/lost", "claim-missing"),
        ("resourceclaim ml/never", "not-enough"),
    ]
    for target, title, _ in links:
        assert f"<section id='{target}'>\n<h1>{title} " in out


def test_page_denies_a_fix_only_where_changes_were_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pod that runs and fails waits for no device."""
    crash = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m"}}
    states = [{"name": "main", "state": crash, "restartCount": 9}]
    *others, running, first, second = busy_cluster()
    running["status"] = {"phase": "Running", "containerStatuses": states}
    path = dump(tmp_path, *others, running, first, second)
    code, out, _ = run(capsys, "-f", path, "pod/eval", "-o", "html")
    assert code == 1
    assert "<h2>Next</h2>" in out
    assert "change makes it fit" not in out
    huge = claim("huge", request("r", "gpu", 1, selectors=[{"cel": {"expression": "false"}}]))
    huge["spec"]["devices"]["requests"][0]["exactly"]["count"] = 200
    none = dump(tmp_path, CLASS, node("node-1"), huge, name="none.json")
    _, out, _ = run(capsys, "-f", none, "claim/huge", "-o", "html")
    _, text, _ = run(capsys, "-f", none, "claim/huge")
    assert ("No small change makes it fit" in out) == ("No small change makes it fit" in text)


def pictures(page: str) -> list[ElementTree.Element]:
    """Return the pictures of a node's places."""
    drawn = page.partition("<div class=places>")[2].partition("</div>")[0]
    return list(ElementTree.fromstring(f"<all>{drawn}</all>"))


def test_the_picture_names_its_devices(capsys: pytest.CaptureFixture[str]) -> None:
    """Well-formed, and its texts beside the boxes: a text inside a `rect` is not drawn."""
    _, out, _ = run(capsys, EXAMPLES, "-o", "html")
    assert not any(picture.findall(".//rect/*") for picture in pictures(out))
    assert {"gpu-0", "gpu-2", "gpu held eval-3", "nic free", "pci-0000-5e-00-0"} <= {
        text.text for picture in pictures(out) for text in picture.iter("text")
    }


def boxes(page: str) -> dict[str, list[str]]:
    """Place -> names of the devices that are drawn in its frame."""
    return {
        picture.findtext("text") or "": [
            drawn.findtext("text") or "" for drawn in picture.findall("g")
        ]
        for picture in pictures(page)
    }


def test_the_picture_has_a_root_once_and_names_in_full(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One driver tells the NUMA node of a device, another one does not."""
    root = {"resource.kubernetes.io/pcieRoot": {"string": "pci0000:10"}}
    gpu, slice_name, nic = (device(name) for name in ("gpu-0", "gpu-0-mig-1g10gb-me-20-0", "nic-0"))
    gpu["attributes"] = slice_name["attributes"] = root
    nic["attributes"] = root | {"resource.kubernetes.io/numaNode": {"int": 1}}
    slices = [
        slice_of("gpu.example.com", "node-1", gpu, slice_name, device("gpu-1")),
        slice_of("nic.example.com", "node-1", nic),
    ]
    held = claim(
        "eval",
        request("r", "gpu"),
        status=allocation("node-1", ("gpu.example.com", "gpu-0"), pod="eval"),
    )
    asked = claim("c", request("r", "gpu", 9))
    path = dump(tmp_path, CLASS, node("node-1"), *slices, held, asked)
    _, out, _ = run(capsys, "-f", path, "claim/c", "-o", "html")
    assert boxes(out) == {
        "elsewhere": ["gpu-1"],
        "pci0000:10 · NUMA 1": ["gpu-0", "gpu-0-mig-1g10gb-me-20-0", "nic-0"],
    }
    thick = [
        g.findall("text")[0].text
        for picture in pictures(out)
        for g in picture.findall("g")
        if g.findall("rect")[0].get("stroke-width") == "3"
    ]
    assert thick == [
        "gpu-1",
        "gpu-0-mig-1g10gb-me-20-0",
    ]  # gpu-0 is held, nic-0 is of another class


def test_html_escapes_text_of_the_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = claim("c", request("r", "<script>alert(1)</script>"))
    _, out, _ = run(capsys, "-f", dump(tmp_path, *busy_cluster(), evil), "-o", "html")
    assert "<script>" not in out


@pytest.mark.parametrize(
    ("arguments", "code", "message", "hint"),
    [
        (["pod/train-1"], 3, "no pod train-1", "there is ml/train-0"),
        (["pdo/train-0"], 2, "unknown kind 'pdo'", "kinds:"),
        (["claim/train-0"], 3, "no resourceclaim train-0", ""),
        (["--node", "node-9"], 3, "no such node", "node-1"),
        (["-n", "default", "node/node-9"], 3, "no node node-9", "there is node-1"),
        (["pod", "train-1"], 3, "no pod train-1", "there is ml/train-0"),
        (["--patch", "99"], 2, "--patch 99: there are", ""),
        (["--patch", "-o", "json"], 2, "--patch prints a shell script", "-o json has the changes"),
        (["-o", "xml"], 2, "--output: unknown value 'xml'", "text, name, json, yaml, html"),
        (["--kubernetes-version", "1.30"], 2, "1.30", "1.31"),
        (["--kubernetes-version", "1.2"], 2, "1.2", ""),
        (["--feature-gates", "DRANothing=true"], 2, "DRANothing", ""),
    ],
)
def test_unanswerable_question_is_one_message(
    arguments: list[str], code: int, message: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found, out, err = run(capsys, "-f", EXAMPLES, *arguments)
    assert (found, out) == (code, "")
    assert message in err
    assert hint in err
    assert "Traceback" not in err


def test_unknown_name_leaves_the_answers_of_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = dump(tmp_path, CLASS, node("node-1"), claim("there", request("r", "gpu.example.com")))
    code, out, _ = run(capsys, "-f", path, "claim/there", "pod/gone", "-n", "ml")
    assert code == 1
    assert "claim ml/there" in out
    assert out.endswith("no pod gone in namespace ml\n")
    code, out, err = run(capsys, "-f", path, "claim/there", "pod/gone", "-n", "ml", "-o", "json")
    assert [subject["subject"]["name"] for subject in json.loads(out)["subjects"]] == ["there"]
    assert "no pod gone" in err


def test_missing_or_broken_file_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, "-f", str(tmp_path / "none.yaml"))
    assert code == 3
    assert "none.yaml" in err
    short = tmp_path / "short.yaml"  # kubectl writes kind: List after the items
    short.write_text(
        "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: p\n"
    )
    code, _, err = run(capsys, "-f", str(short))
    assert code == 3
    assert "cut short" in err
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [1\n")
    code, _, err = run(capsys, "-f", str(broken))
    assert code == 3
    assert "broken.yaml:" in err


def test_input_without_subjects_lists_its_objects(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, "-f", dump(tmp_path, CLASS, node("node-1")))
    assert code == 3
    assert "no pod or claim in the input" in err
    assert "1 DeviceClass, 1 Node" in err


def test_invalid_object_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = claim("c", request("r", "gpu"))
    odd["spec"]["devices"]["requests"] = "all"
    code, _, err = run(capsys, "-f", dump(tmp_path, *busy_cluster(), odd), "claim/c")
    assert code == 3
    assert "ResourceClaim/ml/c" in err


def test_exit_zero(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, EXAMPLES, "--exit-zero")[0] == 0


def test_without_nodes_those_of_the_slices_are_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    devices = dump(
        tmp_path,
        slice_of("gpu.example.com", "node-7", device("gpu-0", memory=1)),
        CLASS,
        name="devices.json",
    )
    asked = dump(tmp_path, claim("c", request("r", "gpu")), name="claim.json")
    code, out, _ = run(capsys, asked, "--devices", devices)
    assert code == 0
    assert "fits on node-7" in out
    assert "no Node objects" in out


# -- nothing pending, labels, names that begin so, workloads without pods --


def quiet(folder: Path) -> str:
    return dump(
        folder,
        *busy_cluster(),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}},
    )


def test_a_dump_of_cluster_info_has_logs_between_its_objects(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    waits = {
        "metadata": {"name": "p", "namespace": "ml"},
        "spec": {"containers": [], "resourceClaims": [{"name": "g", "resourceClaimName": "mine"}]},
        "status": {"phase": "Pending"},
    }
    of = "logs for container {0} of pod ml/p ===="
    logs = f"==== START {of}\n{{{{broken\n==== END {of}\n"
    path = tmp_path / "dump.json"
    path.write_text(
        json.dumps({"kind": "NodeList", "apiVersion": "v1", "items": []})
        + f"\n{logs.format('a')}{logs.format('b')}"
        + json.dumps({"kind": "PodList", "apiVersion": "v1", "items": [waits]})
        + f"\n{logs.format('a')}"
    )
    code, out, err = run(capsys, "-f", str(path), "-A")
    assert code == 1
    assert "claim ml/mine is not in the input" in out
    assert "kubectl cluster-info dump writes none" in err


def test_nothing_pending_is_good_news(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = quiet(tmp_path)
    said = "nothing is pending: no pod waits for devices, and no claim is unallocated\n"
    assert run(capsys, "-f", path) == (0, said, "")
    code, out, _ = run(capsys, "-f", path, "-o", "json")
    report = json.loads(out)
    assert (code, report["subjects"], report["facts"]) == (0, [], facts.current().to_json())
    code, out, _ = run(capsys, "-f", path, "--patch")
    assert (code, out) == (0, f"# {said}")
    code, out, _ = run(capsys, "-f", path, "-o", "html")
    assert code == 0
    assert "nothing is pending" in out
    code, out, err = run(capsys, "-f", path, "-n", "mll")
    assert (code, out) == (3, "")
    assert "no namespace mll" in err
    assert "there is ml" in err


def test_subjects_with_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    uses = {"name": "g", "resourceClaimName": "nine"}
    pods = [pod(f"web-{n}", uses, metadata={"labels": {"app": "web", "n": str(n)}}) for n in (1, 2)]
    other = pod("api-1", uses, metadata={"labels": {"app": "api"}})
    path = dump(tmp_path, *busy_cluster(), claim("nine", request("r", "gpu", 9)), *pods, other)
    for arguments in (
        ["-l", "app=web"],
        ["pods", "-l", "app=web"],
        ["pods", "--selector", "app notin (api)", "-n", "ml"],
    ):
        code, out, _ = run(capsys, "-f", path, *arguments, "-o", "json")
        assert code == 1
        assert {s["subject"]["name"] for s in json.loads(out)["subjects"]} >= {"web-1", "web-2"}
        assert "api-1" not in out
    assert (
        json.loads(run(capsys, "-f", path, "-l", "n=1", "-o", "json")[1])["subjects"][0]["subject"][
            "name"
        ]
        == "web-1"
    )
    code, _, err = run(capsys, "-f", path, "-l", "app=none")
    assert code == 3
    assert "no pod has these labels" in err
    code, _, err = run(capsys, "-f", path, "pod/web-1", "-l", "app=web")
    assert code == 2
    assert "exclude each other" in err


def make_workload(
    kind: str, name: str, owner: tuple[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    spec = {
        "containers": [{"name": "m", "image": "x"}],
        "resourceClaims": [{"name": "g", "resourceClaimTemplateName": "t"}],
    }
    metadata: dict[str, Any] = {"name": name, "namespace": "ml", "uid": f"uid-{name}"}
    if owner is not None:
        metadata["ownerReferences"] = [
            {"kind": owner[0], "name": owner[1], "controller": True, "uid": "u"}
        ]
    group = "batch/v1" if kind == "Job" else "apps/v1"
    return {
        "apiVersion": group,
        "kind": kind,
        "metadata": metadata,
        "spec": {"template": {"spec": spec}, **more.pop("spec", {})},
        **more,
    }


def refusal_event(kind: str, name: str, message: str) -> dict[str, Any]:
    about = {"kind": kind, "name": name, "namespace": "ml", "uid": f"uid-{name}"}
    metadata = {"name": f"{name}.1", "namespace": "ml"}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": metadata,
        "involvedObject": about,
        "reason": "FailedCreate",
        "message": message,
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }


QUOTA = 'pods "infer-1-x" is forbidden: exceeded quota: gpus, requested: pods=1, used: pods=2, limited: pods=2'


def test_workload_unable_to_create_pods_is_pending(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replica_set = make_workload("ReplicaSet", "infer-1", ("Deployment", "infer"))
    path = dump(
        tmp_path,
        *busy_cluster(),
        make_workload("Deployment", "infer"),
        replica_set,
        refusal_event("ReplicaSet", "infer-1", QUOTA),
    )
    for arguments in ((), ("deploy/infer",)):
        code, out, _ = run(capsys, "-f", path, *arguments)
        assert code == 1
        assert "ReplicaSet ml/infer-1 cannot create its pods" in out
        assert "exceeded quota: gpus" in out


def test_the_condition_of_a_replica_set_outlives_its_events(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    condition = {
        "type": "ReplicaFailure",
        "status": "True",
        "reason": "FailedCreate",
        "message": QUOTA,
    }
    status = {"conditions": [condition]}
    replica_set = make_workload("ReplicaSet", "infer-1", ("Deployment", "infer"), status=status)
    code, out, _ = run(
        capsys,
        "-f",
        dump(tmp_path, *busy_cluster(), make_workload("Deployment", "infer"), replica_set),
        "-o",
        "json",
    )
    (answer,) = json.loads(out)["subjects"]
    assert code == 1
    assert answer["subject"] == {
        "kind": "Deployment",
        "namespace": "ml",
        "name": "infer",
        "podClaims": {"g": None},
    }
    assert answer["reasons"][0]["code"] == "pods-not-created"


def test_an_old_refusal_is_over_once_all_pods_are_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    owner = {"kind": "Job", "name": "train", "controller": True, "uid": "uid-train"}
    running = pod(
        "train-x", metadata={"uid": "p", "ownerReferences": [owner]}, spec={"nodeName": "node-1"}
    )
    running["status"] = {"phase": "Running"}
    path = dump(
        tmp_path,
        *busy_cluster(),
        make_workload("Job", "train"),
        running,
        refusal_event("Job", "train", QUOTA),
    )
    assert run(capsys, "-f", path)[0] == 0


def test_a_workload_without_some_of_its_pods(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    owner = {"kind": "Job", "name": "train", "controller": True, "uid": "uid-train"}
    running = pod(
        "train-x", metadata={"uid": "p", "ownerReferences": [owner]}, spec={"nodeName": "node-1"}
    )
    running["status"] = {"phase": "Running"}
    job = make_workload("Job", "train", spec={"parallelism": 2, "completions": 2})
    path = dump(tmp_path, *busy_cluster(), job, running, refusal_event("Job", "train", QUOTA))
    code, out, _ = run(capsys, "-f", path)
    assert code == 1
    assert "job ml/train" in out


def test_names_with_the_given_prefix_are_suggested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pods = [pod(f"infer-5f49-{n}") for n in range(5)]
    path = dump(tmp_path, *busy_cluster(), make_workload("Deployment", "infer"), *pods)
    code, _, err = run(capsys, "-f", path, "pod/infer", "-n", "ml")
    assert code == 3
    assert "there is pod/infer-5f49-0, pod/infer-5f49-1, pod/infer-5f49-2 and 2 more" in err
    assert "deploy/infer asks about all of its pods" in err


def test_a_pod_of_an_earlier_replica_set_names_its_deployment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = dump(tmp_path, *busy_cluster(), make_workload("Deployment", "infer"))
    code, _, err = run(capsys, "-f", path, "pod/infer-5f49-x7k2p", "-n", "ml")
    assert code == 3
    assert "deploy/infer made pods of such names; it has no pod now" in err


def test_a_dump_without_dra_objects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = dump(tmp_path, node("node-1"), pod("train-0", {"name": "g", "resourceClaimName": "c"}))
    code, _, err = run(capsys, "-f", path)
    assert code == 1
    assert (
        "kubectl get resourceclaims,resourceclaimtemplates,resourceslices,deviceclasses -A -o yaml"
        in err
    )


@pytest.mark.parametrize(
    "words", [["ml/train"], ["pod/ml/train"], ["pods/train", "-n=ml"], ["po/train", "-n", "ml"]]
)
def test_a_name_as_our_own_answers_print_it(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    waits = pod("train", {"name": "g", "resourceClaimName": "none"})
    code, out, _ = run(capsys, "-f", dump(tmp_path, *busy_cluster(), waits), *words, "-o", "name")
    assert (code, out) == (1, "pod/ml/train\n")


def test_yaml_has_the_content_of_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = dump(tmp_path, *busy_cluster())
    as_json = json.loads(run(capsys, "-f", file, "pod/eval", "-o", "json")[1])
    as_yaml = yaml.safe_load(run(capsys, "-f", file, "pod/eval", "-o", "yaml")[1])
    assert as_json.pop("command") == as_yaml.pop("command").replace("-o yaml", "-o json")
    assert as_yaml == as_json


def test_the_last_line_is_the_page_of_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    uses = {"name": "g", "resourceClaimName": "nine"}
    path = dump(tmp_path, *busy_cluster(), claim("nine", request("r", "gpu", 9)), pod("web", uses))
    _, out, _ = run(capsys, "-f", path, "pod/web", "-n", "ml")
    code = json.loads(run(capsys, "-f", path, "pod/web", "-n", "ml", "-o", "json")[1])["reasons"][
        0
    ]["code"]
    said, asked = out.splitlines()[-1].split(": ")
    assert (said, asked) == (f"More about {code}", f"dractl rule {code}")
    assert main(asked.split()[1:]) == 0
    assert capsys.readouterr().out.startswith(f"{code}: ")


@pytest.mark.parametrize(("spare", "shown"), [(0, False), (1, True)])
def test_hint_on_details_is_left_out_where_it_would_scroll_the_table(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    spare: int,
    shown: bool,
) -> None:
    """The table stays on the screen with the hint and the prompt below it."""
    claims = [claim(f"c{number}", request("r", "gpu", 3)) for number in range(4)]
    path = dump(tmp_path, *busy_cluster(), *claims)
    arguments = ["explain", "-f", path, "--isolated"]
    main(arguments)
    height = capsys.readouterr().out.count("\n") + 1 + spare
    monkeypatch.setattr(terminal, "height", lambda _: height)
    main(arguments)
    assert ("for details: explain KIND/NAME" in capsys.readouterr().err) == shown


def test_no_workload_of_another_name_is_suggested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = dump(
        tmp_path, *busy_cluster(), make_workload("Deployment", "other"), pod("infer-5f49-0")
    )
    code, _, err = run(capsys, "-f", path, "pod/infer", "-n", "ml")
    assert code == 3
    assert "there is pod/infer-5f49-0" in err
    assert "asks about all of its pods" not in err
