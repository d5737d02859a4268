"""Room on nodes while some of the movable pods stay."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.planning.landscape import Landscape, Layout
from dractl.planning.movable import find_movable_pods
from dractl.scheduler.attempt import Scheduler
from tests.explain.cluster import state_of
from tests.planning.cluster import FEATURES, machine, objects, running, waiting


@pytest.mark.parametrize(
    ("allocatable", "fits"),
    [({"cpu": "1"}, False), ({"cpu": "2"}, True), ({"cpu": "2", "pods": "1"}, False)],
)
def test_a_pod_that_stays_keeps_its_room(allocatable: dict[str, Any], fits: bool) -> None:
    state = state_of(
        *objects(
            machine("a", 2, allocatable=allocatable), running("x", "Job/x", "a", 0), waiting(1)
        )
    )
    movability = find_movable_pods(state, 0)
    landscape = Landscape(Scheduler(state, FEATURES), movability)
    wanted = landscape.client(state.pod(("ml", "wanted")))
    assert landscape.may_fit(wanted, "a", Layout()) is fits
    assert landscape.may_fit(wanted, "a", Layout(left=frozenset(movability.units)))
