"""No report shows a secret: the tests plant secrets, and look for them in every format of the
commands that read clusters.
"""

from __future__ import annotations

import base64
import json
import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from dractl.cli.main import main
from tests.flux_repository import write_repository
from tests.planning import cluster

if TYPE_CHECKING:
    from pathlib import Path

PLANTED = "hunter2-planted"
ENCODED = base64.b64encode(PLANTED.encode()).decode()
ENV = {"containers": [{"name": "main", "image": "x", "env": [{"name": "PASS", "value": PLANTED}]}]}
NOTES = {
    "kubectl.kubernetes.io/last-applied-configuration": json.dumps({"spec": ENV}),
    "example.com/token": PLANTED,
}
MESSAGE = (
    f"Failed: Authorization: Bearer {PLANTED}.abc.def, token={PLANTED}, pull"
    f" https://me:{PLANTED}@registry.example.com/x"
)
RULE: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceTaintRule",
    "metadata": {"name": "sick", "annotations": NOTES},
    "spec": {
        "deviceSelector": {"driver": cluster.DRIVER},
        "taint": {"key": "example.com/x", "effect": "NoExecute"},
    },
}
QUESTIONS = (
    ("explain", ["-A", "-f", "dump.json"]),
    ("explain", ["pod/wanted", "-n", "ml", "-f", "dump.json"]),
    ("explain", ["pod/stuck", "-n", "ml", "-f", "dump.json"]),
    ("devices", ["-f", "dump.json"]),
    ("fit", ["statefulset/x", "-n", "ml", "-f", "dump.json"]),
    ("plan", ["pod/wanted", "-n", "ml", "-f", "dump.json"]),
    ("impact", ["rule.json", "-f", "dump.json"]),
    ("impact", ["node/b", "--drain", "-f", "dump.json"]),
    ("impact", [f"driver/{cluster.DRIVER}", "-f", "dump.json"]),
    ("upgrade", ["--from", "1.34", "--to", "1.37", "-f", "dump.json"]),
    ("upgrade", ["--from", "1.34", "--to", "1.37", "dump.json"]),
    ("lint", ["dump.json", "rule.json"]),
    ("check_driver", ["--cluster", "-f", "dump.json"]),
    ("migrate", ["repository"]),
    ("lint", ["repository"]),
    ("upgrade", ["--from", "1.34", "--to", "1.37", "repository"]),
    ("upgrade", ["--from", "1.34", "--to", "1.37", "-f", "dump.json", "-f", "repository"]),
    ("explain", ["-A", "-f", "dump.json", "-f", "repository"]),
    ("fit", ["claim/variables", "-n", "ml", "-f", "dump.json", "-f", "repository"]),
    ("plan", ["pod/wanted", "-n", "ml", "-f", "dump.json", "-f", "repository"]),
    ("impact", ["rule.json", "-f", "dump.json", "-f", "repository"]),
    ("check_driver", ["--cluster", "-f", "dump.json", "-f", "repository"]),
    ("check_driver", ["slices.json", "--chart", "repository/charts/trainer"]),
)
OTHER_QUESTIONS = {("explain", "csv"), ("devices", "svg")}
"""Formats for described machines, and for a drawing of allocations, which are not tried here."""


def list_formats(command: str) -> tuple[str, ...]:
    """Return the formats of a command; check-driver has those of lint."""
    module = import_module(f"dractl.cli.commands.{command.replace('check_driver', 'lint')}")
    return tuple(form for form in module.FORMATS if (command, form) not in OTHER_QUESTIONS)


def plant(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object with secrets in its annotations, and in the environment of its pods."""
    planted = {**value, "metadata": {**value["metadata"], "annotations": NOTES}}
    if value["kind"] == "Pod":
        planted["spec"] = {**value["spec"], **ENV}
    return planted


def event(pod: str, reason: str) -> dict[str, Any]:
    """Return an event of a pod whose message has secrets."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{pod}.{reason}", "namespace": "ml"},
        "involvedObject": {"kind": "Pod", "name": pod, "namespace": "ml", "uid": f"uid-{pod}"},
        "type": "Warning",
        "reason": reason,
        "message": MESSAGE,
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }


def workload() -> dict[str, Any]:
    """Return a StatefulSet whose template has a secret in its environment."""
    spec = {**ENV, "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "t1"}]}
    labels = {"app": "x"}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "x", "namespace": "ml", "uid": "x"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels, "annotations": NOTES}, "spec": spec},
        },
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, with a dump that is full of secrets."""
    stuck, *claims = cluster.running("stuck", "Job/stuck", "b", 2)
    waiting = {
        "state": {"waiting": {"reason": "CreateContainerError", "message": MESSAGE}},
        "name": "main",
    }
    stuck["status"] = {
        **stuck["status"],
        "phase": "Pending",
        "message": MESSAGE,
        "conditions": [{"type": "Ready", "status": "False", "reason": "X", "message": MESSAGE}],
        "containerStatuses": [waiting],
    }
    objects = cluster.objects(
        cluster.machine("a", 4),
        cluster.machine("b", 4),
        cluster.running("x", "StatefulSet/x", "a", 0),
        cluster.running("y", "StatefulSet/y", "b", 0),
        cluster.running("bare", "", "b", 1),
        stuck,
        claims,
        cluster.waiting(4),
        workload(),
    )
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": "ml"},
        "stringData": {"a": PLANTED},
        "data": {"b": ENCODED},
    }
    events = [event(pod, reason) for pod in ("stuck", "wanted", "x") for reason in REASONS]
    items = [*map(plant, [*objects, secret]), *events]
    dump = {"kind": "List", "apiVersion": "v1", "items": items}
    (tmp_path / "dump.json").write_text(json.dumps(dump))
    (tmp_path / "rule.json").write_text(json.dumps(RULE))
    slices = [item for item in items if item["kind"] == "ResourceSlice"]
    (tmp_path / "slices.json").write_text(json.dumps({**dump, "items": slices}))
    write_repository(tmp_path / "repository", secret=PLANTED, encoded=ENCODED)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    monkeypatch.chdir(tmp_path)
    return tmp_path


REASONS = ("Failed", "FailedMount", "FailedPrepareDynamicResources", "FailedScheduling", "Evicted")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("command", "arguments"), QUESTIONS)
def test_no_format_shows_a_secret(
    command: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for form in list_formats(command):
        name = command.replace("_", "-")
        code = main([name, *arguments, "--isolated", "-o", form, *VERBOSE.get(command, [])])
        printed = capsys.readouterr()
        assert code in (0, 1), printed.err
        assert printed.out.strip() or form in ("name", "github", "csv"), form
        for secret in (PLANTED, ENCODED):
            assert secret not in printed.out + printed.err, (form, printed.out)


VERBOSE = {
    "explain": ["-vv"],
    "plan": ["-vv"],
    "impact": ["-vv"],
    "fit": ["-vv"],
    "upgrade": ["-v"],
}


@pytest.mark.usefixtures("folder")
def test_a_patch_of_a_fix_has_no_value_of_the_environment(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["explain", "pod/wanted", "-n", "ml", "-f", "dump.json", "--isolated", "--patch", "1"])
    printed = capsys.readouterr()
    assert PLANTED not in printed.out + printed.err
