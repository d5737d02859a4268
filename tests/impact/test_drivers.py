"""Restart and stop of a driver: who waits, who cannot end, who finds no device."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.allocation import Features
from dractl.errors import UsageError
from dractl.impact import Impact, find_driver, find_driver_impact
from tests.explain.cluster import device, slice_of
from tests.simulation.cluster import DRIVER, machine, replica, scheduler_of

FEATURES = Features.for_release("1.37")


def remove_driver(*objects: Any, restarts: bool, node: str | None = None) -> Impact:
    state = scheduler_of(*objects).state
    return find_driver_impact(find_driver(state, FEATURES, DRIVER, node, restarts=restarts))


def terminating_replica(name: str, gpu: str) -> list[Any]:
    value, claim = replica(name, "", "n-1", gpu)
    value["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return [value, claim]


def test_running_pods_go_on_and_terminating_ones_wait() -> None:
    cluster = (
        machine("n-1", "gpu-0", "gpu-1"),
        replica("a", "", "n-1", "gpu-0"),
        terminating_replica("b", "gpu-1"),
    )
    restart = remove_driver(*cluster, restarts=True)
    assert {p.key[1]: p.effect for p in restart.pods} == {"a": "kept", "b": "waits"}
    assert not restart.hits
    stop = remove_driver(*cluster, restarts=False)
    assert {p.key[1]: p.effect for p in stop.pods} == {"a": "kept", "b": "blocked"}
    assert stop.hits


def test_absent_driver_loses_its_slices() -> None:
    """The kubelet deletes them 30 s after the plug-in is gone (pkg/kubelet/cm/dra/manager.go defaultWipingDelay)."""
    cluster = (machine("n-1", "gpu-0"), replica("p"))
    assert not remove_driver(*cluster, restarts=True).pending
    stop = remove_driver(*cluster, restarts=False)
    assert [(p.pod, p.before, p.after) for p in stop.pending] == [("ml/p", "n-1", None)]
    assert [(d.device, d.after) for d in stop.devices] == [(f"{DRIVER}/n-1/gpu-0", None)]


def test_a_stop_on_a_node_leaves_other_nodes_and_drivers() -> None:
    other = slice_of("nic.example.com", "n-1", device("nic-0"))
    cluster = (machine("n-1", "gpu-0"), machine("n-2", "gpu-0"), other)
    stop = remove_driver(*cluster, restarts=False, node="n-1")
    assert [d.device for d in stop.devices] == [f"{DRIVER}/n-1/gpu-0"]


def test_only_the_named_node_is_concerned() -> None:
    cluster = (
        machine("n-1", "gpu-0"),
        machine("n-2", "gpu-0"),
        replica("a", "", "n-1", "gpu-0"),
        replica("b", "", "n-2", "gpu-0"),
    )
    impact = remove_driver(*cluster, restarts=True, node="n-2")
    assert [pod.name for pod in impact.pods] == ["ml/b"]


@pytest.mark.parametrize(
    ("name", "node", "message"),
    [
        ("gpu.exampel.com", None, "did you mean gpu.example.com"),
        (DRIVER, "n-11", "did you mean n-1"),
    ],
)
def test_unknown_names_have_a_nearest_one(name: str, node: str | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        find_driver(
            scheduler_of(machine("n-1", "gpu-0")).state, FEATURES, name, node, restarts=True
        )
