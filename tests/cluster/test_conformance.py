"""Checks of the conformance programme on the objects of a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.cluster.conformance import cluster_checks

SERVED = (
    "deviceclasses",
    "resourceclaims",
    "resourceclaims/status",
    "resourceclaimtemplates",
    "resourceslices",
)
CLASS = {"metadata": {"name": "gpu.nvidia.com"}}


def pool(
    node: str, *, count: int = 1, generation: int = 1, driver: str = "gpu.nvidia.com"
) -> dict[str, Any]:
    pool = {"name": node, "generation": generation, "resourceSliceCount": count}
    return {"spec": {"driver": driver, "nodeName": node, "pool": pool}}


def node(name: str, **capacity: str) -> dict[str, Any]:
    labels = {"nvidia.com/gpu.present": "true"}
    return {"metadata": {"name": name, "labels": labels}, "status": {"capacity": capacity}}


def states(*arguments: Any) -> dict[str, str]:
    return {check.name: check.state for check in cluster_checks(*arguments)}


def test_a_complete_cluster_passes_every_check() -> None:
    checks = states(SERVED, [CLASS], [pool("a"), pool("b")], [node("a"), node("b")])
    assert checks == dict.fromkeys(checks, "ok")


def test_a_missing_api_names_its_resources() -> None:
    assert states((), [], [], [])["resource.k8s.io/v1"] == "missing"


def test_a_pool_is_complete_if_its_newest_generation_is() -> None:
    old_and_new = [
        pool("a", generation=1),
        pool("a", generation=2, count=2),
        pool("a", generation=2, count=2),
    ]
    assert states(SERVED, [CLASS], old_and_new, [])["pools"] == "ok"
    half = [pool("a", generation=1), pool("a", generation=2, count=2)]
    (check,) = (c for c in cluster_checks(SERVED, [CLASS], half, []) if c.name == "pools")
    assert (check.state, check.evidence) == (
        "missing",
        "gpu.nvidia.com: incomplete: a (1 of 2 slices)",
    )


@pytest.mark.parametrize(
    ("marked", "state"),
    [
        ({"metadata": {"name": "b", "labels": {"nvidia.com/gpu.present": "true"}}}, "missing"),
        (
            {"metadata": {"name": "b"}, "status": {"capacity": {"amd.com/gpu": "8", "cpu": "4"}}},
            "missing",
        ),
        ({"metadata": {"name": "b"}, "status": {"capacity": {"amd.com/gpu": "0"}}}, "unknown"),
        ({"metadata": {"name": "a", "labels": {"nvidia.com/gpu.present": "true"}}}, "ok"),
    ],
)
def test_nodes_with_accelerators_and_without_slices_are_named(
    marked: dict[str, Any], state: str
) -> None:
    assert states(SERVED, [CLASS], [pool("a")], [marked])["nodes with accelerators"] == state
