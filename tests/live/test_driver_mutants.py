"""The driver lab passes every check, and each of its mutants fails exactly the one that it should.

Twice: on a control plane, where `tools/driver_plugin` stands for the kubelet, and on a real node, where the kubelet runs
pods with the driver before the tool calls it in the same folders.
"""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import whole_dir
from tests.live import driver_programs, driver_under_kubelet, node as real
from tests.live.driver_programs import LAB, RELEASE, ROWS, build, call_plugin, check_driver
from tests.oracle import control_plane

if TYPE_CHECKING:
    from collections.abc import Iterator

DRIVERS = pytest.mark.parametrize("row", [LAB, *ROWS], ids=lambda row: row["name"])


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a control plane with the node of the driver; skips what cannot be built here."""
    if driver_programs.lacking():
        pytest.skip(driver_programs.lacking())
    shared = whole_dir()
    assert shared is not None
    with control_plane(shared, RELEASE, tmp_path_factory.mktemp("plane")) as running:
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}
        running.request("POST", "/api/v1/nodes", json.dumps(node))
        yield running


@pytest.fixture(scope="module")
def node() -> Iterator[real.Node]:
    """Return a real node; skips where it cannot be started, or no driver can be built."""
    missing = real.lacking() or driver_programs.lacking()
    if missing:
        pytest.skip(f"no real node: {missing}")
    with real.Node() as running:
        yield running


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder with a short name: the path of a socket has 108 characters at most."""
    with tempfile.TemporaryDirectory(prefix="dra-") as name:
        yield Path(name)


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


def test_mutants_are_enough_and_half_are_public_faults() -> None:
    assert len(ROWS) >= 25
    assert len([row for row in ROWS if "#" in row.get("source", "")]) >= 12
    patches = {file.stem for file in driver_programs.MUTANTS.glob("*.patch")}
    assert sorted(patches) == sorted(row["name"] for row in ROWS)


@pytest.mark.live
@DRIVERS
def test_mutant_driver_fails_its_expected_checks(
    cluster: Any, folder: Path, row: dict[str, Any]
) -> None:
    cluster.request("DELETE", "/apis/resource.k8s.io/v1/resourceslices")
    failures = call_plugin(
        build(row["name"], folder),
        cluster.kubeconfig,
        folder,
        kubelet_root=folder / "kubelet",
        cdi_root=folder / "cdi",
    )
    snapshots = list((folder / "snapshots").glob("*.yaml"))
    failures |= driver_programs.check_snapshots(snapshots)
    if snapshots:
        failures |= check_driver("--cluster", "-f", dump(cluster, folder / "dump.json"))
    assert failures == set(filter(None, [row.get("expect")]))


@pytest.mark.node
@DRIVERS
def test_mutant_driver_on_a_real_node_fails_its_expected_checks(
    node: real.Node, folder: Path, row: dict[str, Any]
) -> None:
    program = build(row["name"], folder)
    with driver_under_kubelet.Run(node, program, folder) as run:
        at_work = run.list_codes()
    failures = call_plugin(
        program, node.kubeconfig, folder, kubelet_root=real.KUBELET, cdi_root=real.CDI
    )
    driver_under_kubelet.remove_remains()
    failures |= driver_programs.check_snapshots(list((folder / "snapshots").glob("*.yaml")))
    assert at_work == set(row.get("kubelet", ()))
    # What check-driver reports of the driver at work, it may report of its snapshots, too.
    assert failures - at_work == set(filter(None, [row.get("expect")])) - at_work
