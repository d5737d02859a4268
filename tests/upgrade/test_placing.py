"""What schedulers of two releases do with what a cluster has."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.upgrade import Inputs, plan
from tests.explain.cluster import allocation, claim, device, device_class, node, pod, request, slice_of, state_of

BASE = (
    node("node-1"),
    device_class("gpu", "device.driver == 'gpu.example.com'"),
    slice_of("gpu.example.com", "node-1", device("gpu-0"), device("gpu-1")),
)


def told(*objects: dict[str, Any], start: str, to: str) -> list[tuple[str, str, tuple[str, ...]]]:
    found = plan(Inputs((), state_of(*BASE, *objects)), start, to)
    told_of = [one for step in found.steps for one in step.findings if one.code != "known-problem"]
    return [(one.code, one.level, one.objects) for one in told_of]


@pytest.mark.parametrize(("users", "level"), [(2, "breaks"), (1, "changes")])
def test_a_claim_allocated_before_binding_conditions_takes_no_further_pod(users: int, level: str) -> None:
    """tests/upgrade/test_live.py plays it: the scheduler of 1.36 writes allocationTimestamp beside the reservation, and
    the API server refuses to change an allocation."""
    pods = [
        {**pod(f"p{n}", {"name": "d", "resourceClaimName": "joined"}), "status": {"phase": "Running"}}
        for n in range(users)
    ]
    for each in pods:
        each["spec"]["nodeName"] = "node-1"
    held = allocation("node-1", ("gpu.example.com", "gpu-0"))
    held["reservedFor"] = [{"resource": "pods", "name": f"p{n}", "uid": f"u{n}"} for n in range(users)]
    held["allocation"].pop("allocationTimestamp", None)
    shared = claim("joined", request("r", "gpu"), status=held)
    assert ("no-longer-fits", level, ("ResourceClaim/ml/joined",)) in told(*pods, shared, start="1.35", to="1.36")


def test_pods_that_want_the_same_are_one_finding() -> None:
    """An incomplete pool is used up to 1.34 (conformance/scheduling pool-incomplete)."""
    half = slice_of("half.example.com", "node-1", device("h0"), count=2)
    half["spec"]["pool"]["resourceSliceCount"] = 2
    claims = [claim(f"c{n}", request("r", "half")) for n in range(3)]
    pods = [pod(f"p{n}", {"name": "d", "resourceClaimName": f"c{n}"}) for n in range(3)]
    found = told(
        device_class("half", "device.driver == 'half.example.com'"), half, *claims, *pods, start="1.34", to="1.35"
    )
    assert found == [("no-longer-fits", "breaks", ("Pod/ml/p0", "Pod/ml/p1", "Pod/ml/p2"))]


def test_nothing_is_told_where_nothing_changes() -> None:
    waiting = (claim("c", request("r", "gpu")), pod("p", {"name": "d", "resourceClaimName": "c"}))
    assert told(*waiting, start="1.34", to="1.37") == []
