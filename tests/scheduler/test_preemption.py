"""Victims of preemption (defaultpreemption SelectVictimsOnNode): never for devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.allocation import Features
from dractl.scheduler.attempt import Scheduler
from tests.explain.cluster import (
    allocation,
    claim,
    device,
    device_class,
    node,
    pod,
    request,
    slice_of,
    state_of,
)

if TYPE_CHECKING:
    from dractl.scheduler.verdict import Attempt


def running(name: str, priority: int, cpu: str, **more: Any) -> dict[str, Any]:
    spec = {"nodeName": "node-1", "priority": priority, **more.pop("spec", {})}
    status = {"phase": "Running", "startTime": more.pop("start", "2026-01-01T00:00:00Z")}
    return pod(name, spec=spec, status=status, requests={"cpu": cpu}, **more)


def attempt(subject: dict[str, Any], *objects: dict[str, Any]) -> Attempt:
    return Scheduler(state_of(subject, *objects), Features.for_release("1.37")).attempt_pod(subject)


def victims(*objects: dict[str, Any], cpu: str = "4", priority: int = 10) -> list[str]:
    """Return the victims of a pod on node-1, which has 8 CPUs."""
    subject = pod("p", requests={"cpu": cpu}, spec={"priority": priority})
    (result,) = attempt(subject, node("node-1"), *objects).nodes
    return [name.partition("/")[2] for name in result.victims]


def test_only_the_least_important_pods_are_evicted() -> None:
    assert victims(running("a", 5, "4"), running("b", 1, "4")) == ["b"]
    # Beside a, b fits and c does not, although b is less important than c.
    assert victims(running("a", 5, "2"), running("b", 1, "2"), running("c", 5, "4")) == ["c"]


def test_the_older_of_two_equally_important_pods_stays() -> None:
    old, young = running("old", 1, "4"), running("young", 1, "4", start="2026-02-01T00:00:00Z")
    assert victims(young, old) == ["young"]


def test_pods_of_the_same_priority_are_not_evicted() -> None:
    result = attempt(
        pod("p", requests={"cpu": "4"}, spec={"priority": 1}), node("node-1"), running("a", 1, "8")
    )
    assert not result.fits
    assert result.message is not None
    assert "No preemption victims found for incoming pod" in result.message


def test_a_disruption_budget_protects_a_less_important_pod() -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "ml"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}},
        "status": {"disruptionsAllowed": 0},
    }
    guarded = running("guarded", 1, "4", metadata={"labels": {"app": "x"}})
    assert victims(running("a", 5, "4"), guarded) == ["guarded"]
    assert victims(running("a", 5, "4"), guarded, budget) == ["a"]


def test_no_pod_is_evicted_for_its_devices() -> None:
    gpu = device_class("gpu", "device.driver == 'gpu.example.com'")
    held = claim(
        "held",
        request("r", "gpu"),
        status=allocation("node-1", ("gpu.example.com", "gpu-0"), pod="low"),
    )
    low = running(
        "low", 1, "1", spec={"resourceClaims": [{"name": "g", "resourceClaimName": "held"}]}
    )
    subject = pod("p", {"name": "g", "resourceClaimName": "c"}, spec={"priority": 10})
    slices = slice_of("gpu.example.com", "node-1", device("gpu-0"))
    result = attempt(
        subject, node("node-1"), gpu, slices, held, low, claim("c", request("r", "gpu"))
    )
    assert not result.fits
    assert not result.nodes[0].victims
    assert result.message == (
        "0/1 nodes are available: 1 cannot allocate all claims. preemption: 0/1 nodes are "
        "available: 1 Preemption is not helpful for scheduling."
    )
