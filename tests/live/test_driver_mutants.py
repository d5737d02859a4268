"""The driver lab passes every check, and each of its mutants fails exactly the one that it should.

The driver is `tests/oracles/lab`, a copy of the one that runs on the node of `$DRACTL_SHARED/oracle`; a mutant is a patch
of `tests/data/driver-mutants`. The kubelet is `tools/driver_plugin`, the control plane a real one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.conftest import ROOT, whole_dir
from tests.oracle import control_plane

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.live

RELEASE = "1.37"
MUTANTS = ROOT / "tests" / "data" / "driver-mutants"
ROWS = yaml.safe_load((MUTANTS / "index.yaml").read_text(encoding="utf-8"))
LAB = {"name": "lab", "expect": None}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a control plane with the node of the driver; skips what cannot be built here."""
    pytest.importorskip("grpc", reason="grpcio is not installed")
    for program in ("go", "patch"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    shared = whole_dir()
    if shared is None:
        pytest.skip("the oracles are not here")
    with control_plane(shared, RELEASE, tmp_path_factory.mktemp("plane")) as running:
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}
        running.request("POST", "/api/v1/nodes", json.dumps(node))
        yield running


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder with a short name: the path of a socket has 108 characters at most."""
    with tempfile.TemporaryDirectory(prefix="dra-") as name:
        yield Path(name)


def build(name: str, folder: Path) -> Path:
    """Build the driver or a mutant of it."""
    shared = whole_dir()
    assert shared is not None
    shutil.copytree(ROOT / "tests" / "oracles" / "lab", folder / "lab")
    for file in ("go.mod", "go.sum"):
        shutil.copy(shared / "oracle" / "node" / RELEASE / file, folder / file)
    if name != LAB["name"]:
        patch = str(MUTANTS / f"{name}.patch")
        subprocess.run(["patch", "-p1", "-s", "-d", str(folder / "lab"), "-i", patch], check=True)
    program = folder / f"{name}-driver"  # the source of lab is in a folder of that name
    flags = ["-trimpath", "-ldflags", "-s -w", "-o", str(program)]
    # With the user's own build cache: without it, the libraries of Kubernetes take minutes.
    environment = {name: value for name, value in os.environ.items() if name != "XDG_CACHE_HOME"}
    build_command = ["go", "build", *flags, "./lab"]
    subprocess.run(build_command, cwd=folder, env=environment, check=True)
    return program


def call_plugin(cluster: Any, program: Path, folder: Path) -> set[str]:
    """Return the checks of the plug-in API that a driver fails."""
    places = ["--kubelet-root", str(folder / "kubelet"), "--cdi-root", str(folder / "cdi")]
    places += ["--kubeconfig", str(cluster.kubeconfig)]
    options = ["--call-seconds", "10", "--start-seconds", "15", "--json"]
    options += ["--log", str(folder / "log"), "--snapshots", str(folder / "snapshots")]
    driver = [str(program), "-kubeconfig", str(cluster.kubeconfig)]
    driver += ["-kubelet-root", str(folder / "kubelet"), "-cdi-root", str(folder / "cdi")]
    command = [sys.executable, "-m", "tools.driver_plugin", *places, *options, "--", *driver]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert results, done.stderr
    return {result["id"] for result in results if result["status"] == "failed"}


def check_driver(*words: str) -> set[str]:
    """Return the codes that check-driver reports."""
    command = [sys.executable, "-m", "dractl", "check-driver", "--isolated", "-o", "json", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return {finding["code"] for finding in json.loads(done.stdout)["findings"]}


def dump(cluster: Any, file: Path) -> str:
    """Write the slices and nodes of the cluster, with the heartbeat that a kubelet would send."""
    items = []
    for path, kind in (
        ("/apis/resource.k8s.io/v1/resourceslices", "ResourceSlice"),
        ("/api/v1/nodes", "Node"),
    ):
        _, _, body = cluster.request("GET", path)
        version = body["apiVersion"]
        items += [{"apiVersion": version, "kind": kind, **item} for item in body["items"]]
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for item in items:
        if item["kind"] == "Node":
            ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": now}
            item["status"] = {"conditions": [ready]}
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(file)


@pytest.mark.parametrize("row", [LAB, *ROWS], ids=lambda row: row["name"])
def test_mutant_driver_fails_its_expected_checks(
    cluster: Any, folder: Path, row: dict[str, str]
) -> None:
    cluster.request("DELETE", "/apis/resource.k8s.io/v1/resourceslices")
    failures = call_plugin(cluster, build(row["name"], folder), folder)
    snapshots = sorted(map(str, (folder / "snapshots").glob("*.yaml")))
    if snapshots:
        failures |= check_driver(*snapshots)
        failures |= check_driver("--cluster", "-f", dump(cluster, folder / "dump.json"))
    assert failures == ({row["expect"]} if row["expect"] else set())
