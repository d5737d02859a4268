"""Answers about inputs that show a part of a cluster: the rest is unknown, not absent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dractl.cli.main import main
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

Dump = Callable[..., str]

CLASS = device_class("gpu", "true")
NODE = node("a")
SLICE = slice_of("gpu.example.com", "a", device("gpu-0"), device("gpu-1"))
HELD = claim(
    "held", request("gpu", "gpu"), status=allocation("a", ("gpu.example.com", "gpu-0"), pod="p")
)
UNUSED = claim(
    "unused", request("gpu", "gpu"), status=allocation("a", ("gpu.example.com", "gpu-0"))
)
WAITING = claim("waiting", request("gpu", "gpu"))


@pytest.fixture
def dump(tmp_path: Path) -> Dump:
    """A function that writes objects as kubectl prints stored ones."""

    def write(*objects: dict[str, Any]) -> str:
        stored = [
            {**value, "metadata": {**value["metadata"], "uid": f"u{n}", "resourceVersion": "1"}}
            for n, value in enumerate(objects)
        ]
        path = tmp_path / "dump.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": stored}))
        return str(path)

    return write


def test_claims_alone_do_not_make_devices_disappear(
    dump: Dump, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["devices", dump(HELD), "--isolated"]) == 0
    text = capsys.readouterr().out
    assert "1 held" in text or "HELD" in text
    assert "no longer published" not in text
    assert "OUT OF SERVICE" not in text
    assert "the input has no ResourceSlices" in text
    assert "kubectl get resourceslices -o yaml" in text


def test_claims_alone_in_json_name_the_missing_kinds(
    dump: Dump, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["devices", dump(HELD), "-o", "json", "--isolated"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [row["state"] for row in report["devices"]] == ["held"]
    assert not report["problems"]
    rows = {row["resource"].partition(".")[0]: row for row in report["unread"]}
    assert rows["resourceslices"]["seen"] == "unseen"
    assert rows["resourceclaims"]["seen"] == "part"
    assert rows["resourceslices"]["add"] == "kubectl get resourceslices -o yaml"
    assert {row["why"] for row in report["unread"]} == {"not-in-input"}


def test_slices_alone_do_not_prove_devices_free(
    dump: Dump, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["devices", dump(SLICE), "--isolated"]) == 0
    text = capsys.readouterr().out
    assert "the input has no ResourceClaims: which devices are held is unknown" in text
    assert "kubectl get resourceclaims -A -o yaml" in text


def test_a_claim_is_unused_only_where_pods_were_seen(
    dump: Dump, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["devices", dump(SLICE, UNUSED), "--isolated"]) == 0
    assert "no pod uses it" not in capsys.readouterr().out
    assert main(["devices", dump(SLICE, UNUSED, NODE), "--isolated"]) == 0
    assert "no pod uses it" in capsys.readouterr().out


def test_a_waiting_claim_has_no_consumer_only_where_pods_were_seen(
    dump: Dump, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["explain", "claim/waiting", "-n", "ml", "--isolated"]
    main([*arguments, "-f", dump(CLASS, SLICE, WAITING)])
    assert "no pod uses it" not in capsys.readouterr().out
    main([*arguments, "-f", dump(CLASS, SLICE, WAITING, NODE)])
    assert "no pod uses it" in capsys.readouterr().out


def test_events_alone_have_no_device(dump: Dump, capsys: pytest.CaptureFixture[str]) -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "ml"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "ml"},
        "reason": "FailedScheduling",
        "message": "0/2 nodes are available: 2 cannot allocate all claims.",
    }
    assert main(["devices", dump(event), "--isolated"]) == 3
    errors = capsys.readouterr().err
    assert "no ResourceSlices" in errors
    assert "kubectl get resourceslices,resourceclaims -A -o yaml" in errors


def test_without_slices_the_scheduler_is_quoted(
    dump: Dump, capsys: pytest.CaptureFixture[str]
) -> None:
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/2 nodes are available: 2 cannot allocate all claims.",
    }
    train = pod(
        "train",
        {"name": "g", "resourceClaimName": "waiting"},
        status={"phase": "Pending", "conditions": [condition]},
    )
    path = dump(CLASS, WAITING, train)
    assert main(["explain", "pod/train", "-n", "ml", "-f", path, "-o", "json", "--isolated"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"] == "undecided"
    assert "2 cannot allocate all claims" in answer["headline"]
    assert "no ResourceSlices are in the input" in answer["headline"]


def test_a_template_of_another_namespace_may_exist(
    dump: Dump, capsys: pytest.CaptureFixture[str]
) -> None:
    """The dump is one of namespace ml: what it lacks of others is unknown."""
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "pair", "namespace": "dev"},
        "spec": {"spec": {"devices": {"requests": []}}},
    }
    train = pod("train", {"name": "g", "resourceClaimTemplateName": "pairs"})
    arguments = ["explain", "pod/train", "-n", "ml", "--isolated"]
    main([*arguments, "-f", dump(CLASS, SLICE, template, train)])
    assert "template ml/pairs is not in the input" in " ".join(capsys.readouterr().out.split())
    main([*arguments, "-f", dump(CLASS, SLICE, template, train, NODE)])
    assert "template ml/pairs does not exist" in " ".join(capsys.readouterr().out.split())


def test_copies_are_counted_with_a_note_where_no_claim_was_seen(
    dump: Dump, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", "gpu=1", "-f", dump(CLASS, SLICE), "--isolated"]) in (0, 1)
    assert "the input has no ResourceClaims" in capsys.readouterr().err
    assert main(["fit", "gpu=1", "-f", dump(CLASS, SLICE, NODE), "--isolated"]) in (0, 1)
    assert "no ResourceClaims" not in capsys.readouterr().err
