"""``dractl devices`` and ``dractl fit`` as they are called."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from pathlib import Path

import jsonschema
import pytest

from dractl.cli.main import main
from dractl.resources import data_dir
from tests.capacity.test_placing import GPU, NIC, PAIR, ROOT, gpus, nics, template
from tests.cli.test_terminal import Screen
from tests.cluster.test_live import FORBIDDEN, Kubectl, kubectl, listed
from tests.explain.cluster import allocation, claim, node, pod, request

__all__ = ["kubectl"]  # a fixture


@pytest.fixture
def dump(tmp_path: Path) -> str:
    held = claim(
        "held", request("gpu", "gpu"), status=allocation("a", ("gpu.example.com", "gpu-0"), pod="p")
    )
    objects = [
        GPU,
        NIC,
        PAIR,
        node("a"),
        gpus("a", "r1", "r1", "r2"),
        nics("a", "r1", "r1"),
        held,
        pod("p"),
    ]
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return str(path)


def valid(text: str, name: str) -> dict[str, object]:
    value = json.loads(text)
    jsonschema.validate(value, json.loads((data_dir("schemas") / "dractl" / name).read_text()))
    return value


def test_devices_are_listed_by_node(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "-f", dump, "--isolated"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[1].split()[:6] == ["a", "gpu.example.com", "-", "3", "2", "1"]
    assert out[1].endswith("ml/p")


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (["--state", "free"], 4),
        (["--driver", "nic.example.com"], 2),
        (["--class", "gpu", "--state", "held"], 1),
        (["--node", "a", "--state", "gone"], 0),
        (["--cel", "device.driver == 'nic.example.com'"], 2),
        (["--selector", "device.driver == 'nic.example.com'"], 2),
    ],
)
def test_devices_are_filtered(
    dump: str, options: list[str], count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["devices", "-f", dump, "-o", "json", "--isolated", *options]) == 0
    value = valid(capsys.readouterr().out, "devices-v1.json")
    assert len(value["devices"]) == count  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--node", "b"], "--node b: no such node in the input\nhint: nodes: a"),
        (["--driver", "gpu.example.con"], "did you mean gpu.example.com?"),
        (["--class", "gpus"], "did you mean gpu?"),
    ],
)
def test_name_unknown_to_the_cluster_is_an_error(
    dump: str, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["devices", "-f", dump, "--isolated", *options]) == 3
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("output", ["table", "wide"])
def test_options_without_a_match_print_one_line(
    dump: str, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["devices", "-f", dump, "--isolated", "--state", "gone", "-o", output]) == 0
    assert capsys.readouterr().out == "none of 5 devices matches these options\n"


def test_a_wide_table_is_never_cut(
    dump: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `kubectl get -o wide`, whose printer knows no width: k8s.io/cli-runtime
    pkg/printers/tabwriter.go.
    """
    words = ["devices", "-f", dump, "--isolated", "-o", "wide"]
    assert main(words) == 0
    piped = capsys.readouterr().out
    assert max(map(len, piped.splitlines())) > 60
    monkeypatch.setenv("NO_COLOR", "1")
    for columns in ("60", "80", "120"):
        screen = Screen()
        screen.encoding = "utf-8"
        monkeypatch.setattr(sys, "stdout", screen)
        monkeypatch.setenv("COLUMNS", columns)
        assert main(words) == 0
        assert screen.getvalue() == piped


def test_only_tables_are_watched(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "-f", dump, "--isolated", "--watch", "-o", "json"]) == 2
    assert "--watch shows a table" in capsys.readouterr().err


def test_uncompilable_selector_is_an_error(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "-f", dump, "--selector", "device.drivr == 'x'", "--isolated"]) == 2
    assert "--selector" in capsys.readouterr().err


def test_metrics_end_as_the_format_wants(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "-f", dump, "-o", "openmetrics", "--isolated"]) == 0
    out = capsys.readouterr().out
    assert 'dractl_devices{driver="gpu.example.com",node="a",model="",state="held"} 1' in out
    assert 'dractl_devices{driver="gpu.example.com",node="a",model="",state="gone"} 0' in out
    assert (
        'dractl_devices_held{namespace="ml",class="gpu",driver="gpu.example.com",model=""} 1' in out
    )
    assert out.endswith("# EOF\n")


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(text.splitlines()))


def test_devices_as_csv(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "-f", dump, "-o", "csv", "--isolated"]) == 0
    out = capsys.readouterr().out
    head, *devices = rows(out)
    assert len(devices) == 5
    first = dict(zip(head, devices[0], strict=True))
    assert first | {"pool": ""} == {
        "node": "a",
        "driver": "gpu.example.com",
        "pool": "",
        "device": "gpu-0",
        "state": "held",
        "classes": "gpu",
        "model": "",
        "pcieRoot": "r1",
        "numaNode": "",
        "taints": "",
        "claims": "ml/held",
        "pods": "ml/p",
    }
    assert main(["devices", "-f", dump, "-o", "csv", "--no-headers", "--isolated"]) == 0
    assert rows(capsys.readouterr().out) == devices
    assert main(["devices", "-f", dump, "-o", "csv", "--state", "gone", "--isolated"]) == 0
    assert rows(capsys.readouterr().out) == [head]


def test_fit_as_csv(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "gpu=1;nic=1", "-f", dump, "-o", "csv", "--isolated"]) == 0
    assert rows(capsys.readouterr().out) == [
        ["subject", "node", "copies", "decided"],
        ["gpu=1", "a", "2", "true"],
        ["nic=1", "a", "2", "true"],
    ]


@pytest.mark.parametrize(
    ("by", "holder"),
    [("namespace", "ml"), ("workload", "Job ml/train-0"), ("owner", "CronJob ml/train")],
)
def test_devices_by_their_holders(
    tmp_path: Path, by: str, holder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A workload is what made the pod, an owner the topmost that the input has."""
    held = claim(
        "held", request("gpu", "gpu"), status=allocation("a", ("gpu.example.com", "gpu-0"), pod="p")
    )
    user = pod("p")
    user["metadata"]["ownerReferences"] = [owner_reference("batch/v1", "Job", "train-0")]
    owners = [
        workload("batch/v1", "Job", "train-0", owner_reference("batch/v1", "CronJob", "train")),
        workload("batch/v1", "CronJob", "train"),
    ]
    path = tmp_path / "dump.json"
    items = [GPU, node("a"), gpus("a", "r1", "r1", "r2"), held, user, *owners]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    assert main(["devices", "-f", str(path), "--isolated", "--by", by]) == 0
    lines = [re.split(r"  +", line) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == [by.upper(), "DRIVER", "MODEL", "DEVICES", "FREE", "HELD", "HELD BY"]
    assert lines[1] == ["(no holder)", "gpu.example.com", "-", "2", "2", "0"]
    assert lines[2] == [holder, "gpu.example.com", "-", "1", "0", "1", "ml/p"]


def owner_reference(version: str, kind: str, name: str) -> dict[str, object]:
    return {"apiVersion": version, "kind": kind, "name": name, "uid": name, "controller": True}


def workload(version: str, kind: str, name: str, *owners: dict[str, object]) -> dict[str, object]:
    metadata = {"name": name, "namespace": "ml", "uid": name, "ownerReferences": list(owners)}
    spec = {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def test_a_page_loads_nothing(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "-f", dump, "-o", "html", "--isolated"]) == 0
    out = capsys.readouterr().out
    assert "http" not in out
    assert '<form class="filters screen">' in out  # not on paper


def test_fit_counts_copies_and_explains_the_next(
    dump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", "template/pair", "-f", dump, "--isolated"]) == 0
    out = capsys.readouterr().out
    assert "1 more copy fits" in out
    assert "The next copy stays pending" in out
    assert "Free, but unusable for this shape" in out


def test_fit_as_json(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(
            [
                "fit",
                "template/pair",
                "-f",
                dump,
                "-o",
                "json",
                "--pack",
                "--replicas",
                "2",
                "--isolated",
            ]
        )
        == 1
    )
    value = valid(capsys.readouterr().out, "fit-v1.json")
    assert (value["fits"], value["replicas"], value["most"]) == (
        1,
        2,
        {"fits": 1, "proven": True, "bound": 1},
    )
    assert value["stops"]


def test_a_shape_of_classes(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "gpu=1,nic=1", "-f", dump, "--isolated", "-o", "json"]) == 0
    value = valid(capsys.readouterr().out, "fit-v1.json")
    assert (value["subject"], value["constraint"]) == ("gpu=1,nic=1", None)
    nodes: list[dict[str, object]] = value["nodes"]  # type: ignore[assignment]
    # A GPU of root r1 is held: the other one has a NIC there, and a GPU of r2 takes the second NIC.
    assert nodes[0]["alignments"] == [
        {"alignment": "all on one PCIe root", "copies": 1},
        {"alignment": "not aligned", "copies": 1},
    ]
    assert main(["fit", "gpu=1,nic=1@pcieRoot", "-f", dump, "--isolated", "-o", "json"]) == 0
    assert valid(capsys.readouterr().out, "fit-v1.json")["constraint"] == "pcieRoot"
    assert main(["fit", "pair", "-f", dump, "--isolated", "-o", "json"]) == 0
    assert "constraint" not in valid(capsys.readouterr().out, "fit-v1.json")


def test_invalid_shape_is_refused(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "gpus=1", "-f", dump, "--isolated"]) == 2
    assert "did you mean gpu?" in capsys.readouterr().err
    for shape in ("gpu=0", "gpu=33", "gpu=x", "gpu=1,gpu=1", "gpu,gpu=1"):
        assert main(["fit", shape, "-f", dump, "--isolated"]) == 2
        assert "each kind once, with a count from 1 to 32" in capsys.readouterr().err


@pytest.mark.parametrize("shape", ["gpu", "gpu=1", "gpu,nic", "nic=1"])
def test_a_count_may_be_left_out(dump: str, shape: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", shape, "-f", dump, "--isolated", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["subject"].startswith(shape)


@pytest.mark.parametrize(
    ("shape", "code", "message"),
    [
        ("gpu=1,gpu=2", 2, "gpu occurs twice"),
        ("gpu=x", 2, "gpu=x: 'x' is no count"),
        ("", 2, "a shape has 1 to 32 devices"),
        ("gpuu", 3, "did you mean gpu=1?"),
    ],
)
def test_word_is_refused_if_neither_a_shape_nor_a_name(
    dump: str, shape: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", shape, "-f", dump, "--isolated"]) == code
    assert message in capsys.readouterr().err


def test_fit_notes_copies_sharing_a_named_claim(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    held = claim(
        "one", request("gpu", "gpu"), status=allocation("a", ("gpu.example.com", "gpu-0"), pod="w")
    )
    user = pod(
        "w",
        {"name": "gpu", "resourceClaimName": "one"},
        spec={"nodeName": "a"},
        status={"phase": "Running"},
    )
    path = tmp_path / "dump.json"
    objects = [GPU, node("a"), gpus("a", "r"), held, user]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    assert main(["fit", "pod/w", "-f", str(path), "--isolated"]) in (0, 1)
    said = " ".join(capsys.readouterr().err.split())
    assert "all copies share claim one" in said
    assert "dractl fit claim/one" in said
    assert main(["fit", "claim/one", "-f", str(path), "--isolated"]) in (0, 1)
    assert "share" not in capsys.readouterr().err


def test_fit_notes_an_ignored_pod_group(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    uses = {"name": "gpu", "resourceClaimTemplateName": "pair"}
    member = pod("w", uses, spec={"schedulingGroup": {"podGroupName": "ring"}})
    path = tmp_path / "dump.json"
    objects = [GPU, NIC, PAIR, node("a"), gpus("a", "r"), nics("a", "r"), member]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    assert main(["fit", "pod/w", "-f", str(path), "--isolated"]) == 0
    assert (
        "without the rules of PodGroup ring: dractl explain podgroup/ring"
        in capsys.readouterr().err
    )


def test_several_shapes_are_a_table(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "--shapes", "pair,claim/held,gpu=1+nic=1", "-f", dump, "--isolated"]) == 0
    out = capsys.readouterr().out
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["NODE", "PAIR", "HELD", "gpu=1,nic=1"]
    assert ["all", "1", "2", "2"] in lines


def test_a_file_is_placed_in_the_cluster(
    dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "claim.json"
    path.write_text(json.dumps(claim("mine", request("gpu", "gpu", 2))))
    assert main(["fit", str(path), "-f", dump, "--isolated", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["fits"] == 1


def test_a_template_without_its_class_fits_nowhere(
    dump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = Path(dump).read_text().replace('"deviceClassName": "nic"', '"deviceClassName": "nix"')
    Path(dump).write_text(text)
    assert main(["fit", "template/pair", "-f", dump, "--isolated"]) == 1
    assert "device class nix does not exist" in capsys.readouterr().out


def test_page_counts_copies_by_node_and_names_holders(
    dump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["devices", "-f", dump, "-o", "html", "--isolated"]) == 0
    out = capsys.readouterr().out
    assert '<span class="fits">pair <b>1</b></span>' in out
    assert "held by ml/p" in out
    assert (
        main(["fit", "--shapes", "pair,gpu=1", "-n", "ml", "-f", dump, "-o", "html", "--isolated"])
        == 0
    )
    out = capsys.readouterr().out
    assert '<span class="fits">pair <b>1</b></span><span class="fits">gpu=1 <b>2</b></span>' in out


def test_a_page_of_many_unlike_nodes_stays_small(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = [GPU]
    for number in range(400):
        roots = [f"r{number}-{i}" for i in range(number % 7 + 1)]
        items += [node(f"n{number:03}"), gpus(f"n{number:03}", *roots)]
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    assert main(["devices", "-f", str(path), "-o", "html", "--isolated"]) == 0
    out = capsys.readouterr().out
    assert out.count("<article") == 7  # as many as there are numbers of devices
    assert "n000 <small>and 57 like it" in out


def test_nodes_where_copies_have_other_places_are_not_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Full with a copy each, 80 nodes look the same, but the copy has the first root on one half of them."""
    items = [GPU, template("pair", request("gpu", "gpu", 2))]
    for number in range(80):
        name, taken = f"n{number:02}", ("gpu-2", "gpu-3") if number % 2 else ("gpu-0", "gpu-1")
        held = allocation(name, *(("gpu.example.com", device) for device in taken), pod="p")
        items += [
            node(name),
            gpus(name, "r1", "r1", "r2", "r2"),
            claim(f"c{name}", request("r", "gpu", 2), status=held),
        ]
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    assert main(["fit", "template/pair", "-f", str(path), "-o", "html", "--isolated"]) == 0
    assert capsys.readouterr().out.count("and 39 like it") == 2


def test_devices_without_the_right_to_read_claims(
    kubectl: Kubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = {"code": 1, "err": FORBIDDEN.format("resourceclaims")}
    slices = listed(gpus("a", "r", "r", "r"))
    config = {"config view": {"out": "ml\n\nprod"}}
    nodes = listed(node("a"))
    kubectl.answers(**config, resourceclaims=refused, resourceslices=slices, nodes=nodes)
    assert main(["devices", "--isolated"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[1].split() == ["a", "gpu.example.com", "-", "3", "0", "0", "3"]
    assert "held by such claims" in " ".join(out.split())
    assert "kubectl create clusterrole" in out
    assert main(["devices", "-o", "json", "--isolated"]) == 0
    value = valid(capsys.readouterr().out, "devices-v1.json")
    assert value["unread"] == [
        {"resource": "resourceclaims.resource.k8s.io", "seen": "unseen", "why": "forbidden"}
    ]
    assert {one["state"] for one in value["devices"]} == {"unknown"}  # type: ignore[attr-defined]
    assert [(one["total"], one["allocated"], one["available"]) for one in value["pools"]] == [
        (3, None, None)
    ]  # type: ignore[attr-defined]
    assert value["input"]["context"] == "prod"
    assert main(["devices", "-o", "html", "--isolated"]) == 0
    out = capsys.readouterr().out
    assert "3 devices, 0 free, 0 held, 3 unknown" in out
    assert "<p class=soft>context prod, Kubernetes 1.36, read 20" in out
    assert main(["devices", "-o", "wide", "--state", "unknown", "--isolated"]) == 0
    assert capsys.readouterr().out.count("  unknown  ") == 3


def test_devices_with_the_claims_of_one_namespace(
    kubectl: Kubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    """What these hold is known; nobody can say of the others that they are free."""
    held = claim(
        "held", request("gpu", "gpu"), status=allocation("a", ("gpu.example.com", "gpu-0"), pod="p")
    )
    refused = {
        **listed(held),
        "code": 1,
        "err": FORBIDDEN.format("resourceclaims"),
        "only_own": True,
    }
    kubectl.answers(
        resourceclaims=refused, resourceslices=listed(gpus("a", "r", "r")), nodes=listed(node("a"))
    )
    assert main(["devices", "-o", "json", "--isolated"]) == 0
    value = valid(capsys.readouterr().out, "devices-v1.json")
    assert [one["state"] for one in value["devices"]] == ["held", "unknown"]  # type: ignore[attr-defined]
    assert value["unread"] == [
        {
            "resource": "resourceclaims.resource.k8s.io",
            "namespace": "ml",
            "seen": "part",
            "why": "forbidden",
        }
    ]
    assert main(["fit", "gpu=1", "--isolated"]) == 3
    assert "resourceclaims" in capsys.readouterr().err


def test_devices_need_the_slices(kubectl: Kubectl, capsys: pytest.CaptureFixture[str]) -> None:
    kubectl.answers(resourceslices={"code": 1, "err": FORBIDDEN.format("resourceslices")})
    assert main(["devices", "--isolated"]) == 3
    assert "resourceslices" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asks", "why"),
    [
        (
            {"requests": [request("gpu", "gpu", 2)], "constraints": [{"distinctAttribute": ROOT}]},
            "2 different values wanted, there is 1",
        ),
        (
            {
                "requests": [
                    {
                        "name": "gpu",
                        "firstAvailable": [
                            {
                                "name": str(n),
                                "deviceClassName": "gpu",
                                "allocationMode": "ExactCount",
                                "count": n,
                            }
                            for n in (3, 2)
                        ],
                    }
                ]
            },
            "request gpu/3: 1 of 4 matching devices is free, 3 wanted; request gpu/2: 1 of 4 matching devices is free",
        ),
    ],
)
def test_stranded_devices_have_their_own_reason(
    asks: dict[str, object], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = template("t")
    asked["spec"]["spec"]["devices"] = asks
    path = tmp_path / "dump.json"
    path.write_text(
        json.dumps(
            {
                "kind": "List",
                "apiVersion": "v1",
                "items": [GPU, asked, node("a"), gpus("a", *"rrrs")],
            }
        )
    )
    assert main(["fit", "template/t", "-n", "ml", "-f", str(path), "-o", "json", "--isolated"]) == 0
    value = valid(capsys.readouterr().out, "fit-v1.json")
    assert [why in one["why"] for one in value["stranded"]] == [True]  # type: ignore[attr-defined]


def test_template_without_requests_is_not_placed_forever(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A node that says nothing about its room takes any number of copies without devices."""
    unlimited = node("a")
    unlimited["status"] = {}
    objects = [
        GPU,
        template("none"),
        template("one", request("g", "gpu")),
        unlimited,
        gpus("a", "r1"),
    ]
    (tmp_path / "dump.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    )
    assert main(["devices", "-o", "html", "-f", str(tmp_path), "--isolated"]) == 0
    out = capsys.readouterr().out
    assert '<span class="fits">one <b>1</b></span>' in out
    assert '<span class="fits">none' not in out


def test_devices_by_name_sorted_and_without_headers(
    dump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["devices", "-f", dump, "--isolated", "-o", "name", "--driver", "nic.example.com"])
        == 0
    )
    assert capsys.readouterr().out.splitlines() == [
        "nic.example.com/a/nic-0",
        "nic.example.com/a/nic-1",
    ]
    assert main(["devices", "-f", dump, "--isolated", "--sort-by", "devices", "--no-headers"]) == 0
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()[:2]] == [
        "nic.example.com",
        "gpu.example.com",
    ]
    assert main(["devices", "-f", dump, "--isolated", "--sort-by", "age"]) == 2
    assert "columns are node, driver, model, devices, free" in capsys.readouterr().err


def test_the_old_name_of_an_option_is_reported(
    dump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["devices", "-f", dump, "--isolated", "--selector", "true"]) == 0
    assert "--selector is called --cel" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "held"),
    [
        (["-n", "ml"], 1),
        (["-n=ml"], 1),
        (["-n", "other"], 0),
        (["-A"], 5),
        (["-l", "app=train"], 1),
        (["-l", "app=web"], 0),
        (["-n", "ml", "-l", "app"], 1),
    ],
)
def test_devices_of_a_namespace_or_labels_are_held_by_its_pods(
    options: list[str], held: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = claim(
        "held", request("gpu", "gpu"), status=allocation("a", ("gpu.example.com", "gpu-0"), pod="p")
    )
    user = pod("p", metadata={"labels": {"app": "train"}})
    objects = [GPU, NIC, node("a"), gpus("a", "r1", "r1", "r2"), nics("a", "r1", "r1"), taken, user]
    (tmp_path / "dump.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    )
    assert (
        main(["devices", "-f", str(tmp_path / "dump.json"), "--isolated", "-o", "json", *options])
        == 0
    )
    assert len(json.loads(capsys.readouterr().out)["devices"]) == held


@pytest.mark.parametrize(
    ("options", "variable", "file", "said"),
    [
        (["--kubernetes-version", "1.36"], "", "", "Kubernetes 1.36"),
        ([], "1.35", "", "Kubernetes 1.35 (DRACTL_KUBERNETES_VERSION)"),
        ([], "", "1.36", "Kubernetes 1.36 (dractl.toml)"),
        ([], "", "", "Kubernetes 1.37 (default)"),
    ],
)
def test_release_is_shown_with_its_origin(
    options: list[str],
    variable: str,
    file: str,
    said: str,
    dump: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    if variable:
        monkeypatch.setenv("DRACTL_KUBERNETES_VERSION", variable)
    if file:
        (tmp_path / "dractl.toml").write_text(f'kubernetes-version = "{file}"\n')
    for command in (["explain", "template/pair"], ["fit", "template/pair"]):
        main([*command, "-n", "ml", "-f", dump, *options])
        assert capsys.readouterr().out.splitlines()[0].endswith(said)
    versioned = {"status": {"nodeInfo": {"kubeletVersion": "v1.36.3"}}}
    objects = [GPU, NIC, PAIR, {**node("a"), **versioned}, gpus("a", "r1"), nics("a", "r1")]
    (tmp_path / "seen.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    )
    if not (options or variable or file):
        main(["explain", "template/pair", "-n", "ml", "-f", "seen.json"])
        assert capsys.readouterr().out.splitlines()[0].endswith("Kubernetes 1.36 (from kubelets)")


def test_settings_are_shown_with_their_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in os.environ if name.startswith("DRACTL_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    assert main(["fit", "--show-settings"]) == 0
    assert capsys.readouterr().out.startswith("no setting")
    (tmp_path / "dractl.toml").write_text(
        'kubernetes-version = "1.36"\n[lint]\nselect = ["DRA1"]\n'
    )
    monkeypatch.setenv("DRACTL_OUTPUT", "json")
    file = tmp_path / "dractl.toml"
    for command in (["fit"], ["lint", "nosuch.yaml"], ["cel"]):
        assert main([*command, "--show-settings"]) == 0
        shown = [f'{file}: kubernetes-version = "1.36"', f'{file}: select = ["DRA1"]']
        assert capsys.readouterr().out.splitlines() == ["DRACTL_OUTPUT=json", *shown]
    assert main(["fit", "--show-settings", "--isolated"]) == 0
    assert capsys.readouterr().out.startswith("no setting")


@pytest.mark.parametrize(("nodes", "lines"), [(40, 40), (41, 1)])
def test_equal_nodes_share_a_line_where_there_are_more_than_40(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], nodes: int, lines: int
) -> None:
    names = [f"n{number}" for number in range(nodes)]
    objects = [GPU, *map(node, names), *(gpus(name, "r1") for name in names)]
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    assert main(["devices", "-f", str(path), "--isolated"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert sum("gpu.example.com" in line.split() for line in out) == lines
