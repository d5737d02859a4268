"""Verdicts that are kept from one attempt to the next."""

import sys
from pathlib import Path

import pytest

from dractl.allocation import Features
from dractl.cluster.changes import Delete, Patch, apply
from dractl.cluster.state import ClusterState, add_object
from dractl.scheduler.attempt import Scheduler

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import explain as clusters

_OTHER = clusters.CLASS.replace(
    "'gpu'", "'mig'"
)  # it reads the same attributes, and selects no device
_NONE = {"op": "replace", "path": "/spec/selectors/0/cel/expression", "value": _OTHER}


@pytest.fixture
def scheduler() -> Scheduler:
    """Two nodes, on each of which a pod has all GPUs but one; another pod wants two."""
    kinds: dict[str, dict[tuple[str, str], dict[str, object]]] = {}
    for item in clusters.source(2)["items"]:
        add_object(kinds, item, "ml")  # type: ignore[arg-type]
    return Scheduler(ClusterState(kinds), Features.for_release("1.37"))


def fitting(scheduler: Scheduler) -> list[str]:
    pod = scheduler.state.objects("Pod")["ml", "train-0"]
    return [node.name for node in scheduler.attempt_pod(pod).nodes if node.fits]


def test_a_verdict_is_not_kept_where_a_change_decides_otherwise(scheduler: Scheduler) -> None:
    freed = scheduler.with_state(apply(scheduler.state, [Delete("Pod/ml/job-00001")]))
    without = freed.with_state(apply(freed.state, [Patch("DeviceClass/gpu.nvidia.com", (_NONE,))]))
    assert [fitting(s) for s in (scheduler, freed, without, freed, scheduler)] == [
        [],
        ["node-00001"],
        [],
        ["node-00001"],
        [],
    ]
