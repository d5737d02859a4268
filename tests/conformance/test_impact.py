"""Changes of device taints on a real control plane of 1.37: which pods the eviction controller deleted, and when.

They are in ``$DRACTL_SHARED/conformance/impact``.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dractl.allocation import Features
from dractl.cluster import ClusterState
from dractl.impact import find_taint_impact, select_taint_objects
from dractl.manifests import load
from tests.conftest import shared_dir

SITUATIONS = sorted(
    file.parent for file in (shared_dir() / "conformance/impact").glob("*/expected.json")
)


def read(file: Path) -> ClusterState:
    return ClusterState.from_documents(load([str(file)], relevant_only=False).documents)


@pytest.mark.parametrize("folder", SITUATIONS, ids=lambda folder: folder.name)
def test_pods_deleted_by_the_controller_are_evicted_on_time(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_bytes())
    objects = select_taint_objects(read(folder / "change.yaml"), "change.yaml")
    features = Features.for_release(expected["release"])
    impact = find_taint_impact(read(folder / "dump.yaml"), objects, features)
    evicted = {
        pod.name: pod.at
        for pod in impact.list_pods("evicted")
        if pod.at is None or pod.at <= expected["watched"]
    }
    deleted = {row["pod"]: row["at"] for row in expected["evicted"]}
    assert evicted.keys() == deleted.keys()
    # The server keeps the time of a taint in whole seconds.
    assert all(abs((evicted[pod] or 0) - at) <= 2 for pod, at in deleted.items())
    assert impact.hits == bool(evicted)
