"""Every command over the same ten inputs: they read the same objects, and know as much as another."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from dractl.cli.main import main
from dractl.inputs.reading import load_manifests
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

TEMPLATE: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "one", "namespace": "ml"},
    "spec": {
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
    },
}
CLASS = device_class("gpu", "true")
SLICE = slice_of("gpu.example.com", "a", device("gpu-0"), device("gpu-1"))
HELD = claim(
    "held", request("gpu", "gpu"), status=allocation("a", ("gpu.example.com", "gpu-0"), pod="p")
)
WAITING = claim("waiting", request("gpu", "gpu"))
POD = pod("train", {"name": "g", "resourceClaimName": "waiting"})
EVENT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "e", "namespace": "ml"},
    "involvedObject": {"kind": "Pod", "name": "p", "namespace": "ml"},
    "reason": "FailedScheduling",
    "message": "0/2 nodes are available: 2 cannot allocate all claims.",
}


def store(value: Mapping[str, Any], uid: str) -> dict[str, Any]:
    """Return an object as an API server prints it."""
    return {**value, "metadata": {**value["metadata"], "uid": uid, "resourceVersion": "1"}}


def write_dump(path: Path, *objects: Mapping[str, Any]) -> None:
    items = [store(value, f"u{number}") for number, value in enumerate(objects)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


def write_manifests(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for value in (CLASS, WAITING, POD, SLICE):
        (folder / f"{value['kind'].lower()}.json").write_text(json.dumps(value))


def make_chart(top: Path) -> None:
    (top / "templates").mkdir()
    (top / "Chart.yaml").write_text("apiVersion: v2\nname: one\nversion: 0.1.0\n")
    text = "{{- if .Values.dra }}\n" + json.dumps(TEMPLATE) + "\n{{- end }}\n"
    (top / "templates/claim.yaml").write_text(text)


def make_kustomization(top: Path) -> None:
    write_manifests(top / "base")
    names = ", ".join(sorted(path.name for path in (top / "base").iterdir()))
    (top / "base/kustomization.yaml").write_text(f"resources: [{names}]\n")
    (top / "prod").mkdir()
    (top / "prod/kustomization.yaml").write_text(
        "resources: [../base]\npatches: [{path: patch.yaml}]\n"
    )
    (top / "prod/patch.yaml").write_text(
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: gpu}\n"
        "spec: {selectors: [{cel: {expression: 'false'}}]}\n"
    )


def make_snapshots(top: Path) -> None:
    write_dump(top / "monday.json", CLASS, SLICE, node("a"))
    later = slice_of("gpu.example.com", "a", device("gpu-0"))
    write_dump(top / "tuesday.json", CLASS, later, node("a"))


def make_old_cluster(top: Path) -> None:
    old = {**WAITING, "apiVersion": "resource.k8s.io/v1beta1"}
    requests = [{"name": "gpu", "deviceClassName": "gpu"}]
    machine = node("a")
    machine["status"] = {**machine.get("status", {}), "nodeInfo": {"kubeletVersion": "v1.33.4"}}
    write_dump(
        top / "dump.json",
        {**CLASS, "apiVersion": "resource.k8s.io/v1beta1"},
        {**old, "spec": {"devices": {"requests": requests}}},
        machine,
    )


INPUTS: dict[str, Callable[[Path], None]] = {
    "chart": make_chart,
    "kustomization": make_kustomization,
    "snapshots": make_snapshots,
    "claims": lambda top: write_dump(top / "claims.json", HELD),
    "events": lambda top: write_dump(top / "events.json", EVENT),
    "no-nodes": lambda top: write_dump(top / "dump.json", CLASS, SLICE, HELD, WAITING, POD),
    "old": make_old_cluster,
    "manifests": write_manifests,
    "machine": lambda top: (top / "template.json").write_text(json.dumps(TEMPLATE)) and None,
    "namespace": lambda top: write_dump(top / "dump.json", HELD, WAITING, POD),
}
COMMANDS: dict[str, tuple[str, ...]] = {
    "lint": ("lint",),
    "explain": ("explain", "-A", "-o", "json", "-f"),
    "devices": ("devices", "-o", "json"),
    "fit": ("fit", "gpu=1", "-o", "json", "-f"),
    "plan": ("plan", "gpu=1", "-o", "json", "-f"),
    "impact": ("impact", "node/a", "-o", "json", "-f"),
    "upgrade": ("upgrade", "--from", "1.35", "--to", "1.36", "-o", "json", "-f"),
    "facts": ("facts", "-o", "json"),
    "check-driver": ("check-driver",),
    "cel": ("cel", "true", "--devices"),
    "migrate": ("migrate",),
    "migrate-classes": ("migrate", "--keep-requests", "-o", "json"),
}
JUDGES = ("explain", "devices", "fit", "plan", "impact", "upgrade", "facts", "check-driver")
LISTS_UNREAD = ("explain", "devices", "fit", "plan", "impact")
TAKES_HARDWARE = ("explain", "devices", "fit")


class Answer:
    """What a command answered."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    @property
    def unread(self) -> set[tuple[str, str, str]]:
        rows = json.loads(self.out).get("unread", ())
        return {(row["resource"], row["seen"], row["why"]) for row in rows}


@pytest.fixture
def ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str, str], Answer]:
    """A function that asks a command about one of the inputs; helm is not installed."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("kubectl", "kustomize"):
        if (path := shutil.which(name)) is not None:
            os.symlink(path, programs / name)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))

    def run(command: str, name: str) -> Answer:
        top = tmp_path / name
        if not top.exists():
            top.mkdir()
            INPUTS[name](top)
        extra = ("--hardware", "dgx-h100") if name == "machine" else ()
        extra = extra if command in TAKES_HARDWARE else ()
        code = main([*COMMANDS[command], str(top), *extra])
        shown = capsys.readouterr()
        return Answer(code, shown.out, shown.err)

    return run


Ask = Callable[[str, str], Answer]


@pytest.mark.parametrize("name", INPUTS)
def test_no_command_fails_by_itself(ask: Ask, name: str) -> None:
    for command in COMMANDS:
        answer = ask(command, name)
        assert answer.code in (0, 1, 2, 3), command
        assert "No such option" not in answer.err, (command, answer.err)
        assert "internal error" not in answer.err, (command, answer.err)
        assert "Traceback" not in answer.err + answer.out, command


@pytest.mark.parametrize("name", ["no-nodes", "manifests", "namespace", "claims"])
def test_commands_have_seen_the_same(ask: Ask, name: str) -> None:
    answers = [ask(command, name) for command in LISTS_UNREAD]
    seen = [answer.unread for answer in answers if answer.code in (0, 1)]
    assert len(seen) >= 2
    assert all(rows == seen[0] for rows in seen)
    assert ("nodes", "unseen", "not-in-input") in seen[0]
    compared = json.loads(ask("upgrade", name).out)["notCompared"]
    unseen = {resource for resource, extent, _ in seen[0] if extent == "unseen"}
    named = {text.partition(":")[0] for text in compared}
    assert unseen - {"resourceslices.resource.k8s.io"} <= named


@pytest.mark.parametrize("name", ["events", "claims", "namespace"])
def test_unseen_kinds_are_unknown_and_not_missing(ask: Ask, name: str) -> None:
    """Neither slices nor classes are in the input, which proves nothing about the cluster."""
    for command in ("fit", "plan"):
        answer = ask(command, name)
        assert answer.code == 3
        assert "unknown: the input has no ResourceSlice and no DeviceClass" in answer.err
        assert "kubectl get resourceslices,deviceclasses -o yaml" in answer.err
    impact = ask("impact", name)
    assert impact.code == 2
    assert "the input has no nodes" in impact.err
    driver = ask("check-driver", name)
    assert driver.code == 3
    assert "kubectl get resourceslices -o yaml" in driver.err


@pytest.mark.parametrize("name", INPUTS)
def test_nothing_is_fixed_or_migrated_where_nothing_is_wrong(ask: Ask, name: str) -> None:
    """No input has a request for a device plugin; the chart may, as it is not rendered."""
    migrated = ask("migrate", name)
    assert (migrated.code, migrated.out) == (3 if name == "chart" else 0, "")
    assert ask("lint", name).code == 0


def request_plugin(profile: str) -> dict[str, Any]:
    """Return a pod that asks a device plugin for a MIG device."""
    limits = {f"nvidia.com/mig-{profile}": 1}
    container = {"name": "main", "image": "x", "resources": {"limits": limits}}
    metadata = {"name": "old", "namespace": "ml"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container]},
    }


def add_plugin_pod(top: Path, name: str) -> None:
    """Add a pod with a device plugin's resource to an input; a patch changes it to another one."""
    pod = request_plugin("1g.5gb")
    dumps = [
        path for path in top.iterdir() if path.suffix == ".json" and "List" in path.read_text()
    ]
    for path in dumps:
        value = json.loads(path.read_text())
        value["items"].append(store(pod, "old"))
        path.write_text(json.dumps(value))
    if dumps:
        return
    folder = {"chart": top / "templates", "kustomization": top / "base"}.get(name, top)
    (folder / "old.json").write_text(json.dumps(pod))
    if name == "chart":
        (folder / "old.json").write_text("{{ if .Values.old }}" + json.dumps(pod) + "{{ end }}")
    if name == "kustomization":
        listed = (folder / "kustomization.yaml").read_text().replace("[", "[old.json, ")
        (folder / "kustomization.yaml").write_text(listed)
        (top / "prod/old.yaml").write_text(json.dumps(request_plugin("2g.10gb")))
        entry = "resources: [../base]\npatches: [{path: patch.yaml}, {path: old.yaml}]\n"
        (top / "prod/kustomization.yaml").write_text(entry)


@pytest.mark.parametrize("name", INPUTS)
def test_migrate_finds_the_requests_that_the_others_read(
    ask: Ask, name: str, tmp_path: Path
) -> None:
    """What the others refuse to judge as one cluster, migrate edits file by file."""
    if name == "kustomization" and not (shutil.which("kubectl") or shutil.which("kustomize")):
        pytest.skip("neither kustomize nor kubectl is installed")
    ask("facts", name)  # makes the input
    add_plugin_pod(tmp_path / name, name)
    migrated = ask("migrate-classes", name)
    if name == "chart":
        assert (migrated.code, json.loads(migrated.out)["classes"]) == (3, [])
        assert ask("explain", name).code == 3
        return
    classes = json.loads(migrated.out)["classes"]
    assert migrated.code == 0
    found = {row["spec"]["extendedResourceName"] for row in classes}
    if name == "snapshots":
        assert found == {"nvidia.com/mig-1g.5gb"}
        return
    documents = load_manifests([str(tmp_path / name)]).documents
    requested = {
        resource
        for document in documents
        if document.kind == "Pod"
        for container in document.value["spec"]["containers"]
        for resource in container.get("resources", {}).get("limits", {})
        if "/mig-" in resource
    }
    assert requested
    assert requested <= found
    assert found - requested <= {"nvidia.com/mig-1g.5gb"}  # of the base, as it is written


@pytest.mark.parametrize("name", ["old", "machine"])
def test_a_whole_cluster_lacks_nothing(ask: Ask, name: str) -> None:
    answer = ask("devices", name)
    assert answer.code == 0, answer.err
    rows = {resource.partition(".")[0] for resource, *_ in answer.unread}
    assert not rows & {"resourceslices", "resourceclaims", "nodes"}


@pytest.mark.parametrize("command", JUDGES)
def test_two_snapshots_are_not_one_cluster(ask: Ask, command: str) -> None:
    answer = ask(command, "snapshots")
    assert answer.code == 2
    assert "monday.json" in answer.err
    assert "tuesday.json" in answer.err


def test_lint_judges_each_snapshot_in_its_file(ask: Ask) -> None:
    assert ask("lint", "snapshots").code == 0


@pytest.mark.parametrize("command", JUDGES)
def test_a_chart_is_not_judged_unrendered(ask: Ask, command: str) -> None:
    answer = ask(command, "chart")
    assert answer.code == 3
    assert "not rendered" in answer.err


def test_lint_counts_a_skipped_chart(ask: Ask) -> None:
    answer = ask("lint", "chart")
    assert answer.code == 0
    assert "helm is not installed" in answer.err + answer.out


@pytest.mark.skipif(
    not (shutil.which("kubectl") or shutil.which("kustomize")),
    reason="neither kustomize nor kubectl is installed",
)
def test_a_patch_counts_for_every_command(ask: Ask) -> None:
    """The patch lets the class match nothing: no device has it, and nothing fits."""
    devices = json.loads(ask("devices", "kustomization").out)
    assert [row["classes"] for row in devices["devices"]] == [[], []]
    explanation = json.loads(ask("explain", "kustomization").out)
    assert [one["verdict"] for one in explanation["subjects"]] == ["unallocatable"]
