"""Plans for random clusters beside a brute force over all orders of up to four moves.

The clusters and the brute force are those of ``$DRACTL_SHARED/conformance/compare/plan.py``, whose moves were played on a
control plane of 1.37. ``DRACTL_FUZZ`` sets how many clusters are tried (200), ``DRACTL_SEED`` which.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from dractl.allocation import Features
from dractl.planning import PlanOptions, find_plan, subject_of_pods
from dractl.report.planning.json import plan_value
from tests.explain.cluster import state_of

if TYPE_CHECKING:
    from pathlib import Path

CASES = int(os.environ.get("DRACTL_FUZZ", "200"))
SEED = os.environ.get("DRACTL_SEED", "1")
FEATURES = Features.for_release("1.37")


@pytest.fixture(scope="module")
def brute_force(whole: Path) -> Any:
    """The program with the clusters and the truth about them."""
    file = whole / "conformance" / "compare" / "plan.py"
    spec = importlib.util.spec_from_file_location("brute_force_of_plans", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.conformance
@pytest.mark.parametrize("number", range(CASES))
def test_plan_is_as_short_as_the_shortest_order_of_moves(
    brute_force: Any, number: int, record_property: pytest.RecordProperty
) -> None:
    world, path, _ = brute_force.case(SEED, number)
    state = state_of(*world.objects())
    pod = (brute_force.NS, world.subject["name"])
    plan = find_plan(subject_of_pods(state, "wanted", [pod]), FEATURES, PlanOptions())
    assert plan.verdict == ("none" if path is None else "plan")
    if path is not None:
        assert plan.moved == len(plan.steps) == len(path)
        assert brute_force.check(world, path, plan_value(plan, (), "1.37")) is None
    record_property("cases", 1)
