"""Verdicts are kept from one attempt to the next, and after changes that do not concern them."""

import sys
from pathlib import Path

import pytest

from dractl.allocation import Features
from dractl.cluster.changes import Delete, Patch, apply
from dractl.cluster.state import ClusterState, add_object
from dractl.scheduler.attempt import Scheduler

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import explain as clusters

_OTHER = clusters.CLASS.replace("'gpu'", "'mig'")
"""A selector that reads the same attributes, and selects no device."""
_SELECT_NONE = {"op": "replace", "path": "/spec/selectors/0/cel/expression", "value": _OTHER}


@pytest.fixture
def scheduler() -> Scheduler:
    """Return one of two nodes, each with one free GPU; a pod asks for two."""
    kinds: dict[str, dict[tuple[str, str], dict[str, object]]] = {}
    for item in clusters.source(2)["items"]:
        add_object(kinds, item, "ml")  # type: ignore[arg-type]
    return Scheduler(ClusterState(kinds), Features.for_release("1.37"))


def fitting_nodes(scheduler: Scheduler) -> list[str]:
    pod = scheduler.state.objects("Pod")["ml", "train-0"]
    return [node.name for node in scheduler.attempt_pod(pod).nodes if node.fits]


def test_a_decisive_change_gets_a_new_verdict(scheduler: Scheduler) -> None:
    freed = scheduler.with_state(apply(scheduler.state, [Delete("Pod/ml/job-00001")]))
    without = freed.with_state(
        apply(freed.state, [Patch("DeviceClass/gpu.nvidia.com", (_SELECT_NONE,))])
    )
    assert [fitting_nodes(s) for s in (scheduler, freed, without, freed, scheduler)] == [
        [],
        ["node-00001"],
        [],
        ["node-00001"],
        [],
    ]
