"""Reports of explain on a node and its devices."""

from __future__ import annotations

from typing import Any

from dractl.allocation import Features
from dractl.explain import Explainer, Explanation, find_subjects
from tests.explain.cluster import (
    allocation,
    claim,
    device_class,
    node,
    pod,
    request,
    slice_of,
    state_of,
)

MIG = device_class("mig", "device.driver == 'gpu.example.com'")


def partition(name: str, *slices: str) -> dict[str, Any]:
    counters = {s: {"value": "1"} for s in slices}
    return {"name": name, "consumesCounters": [{"counterSet": "card-0", "counters": counters}]}


def card() -> tuple[dict[str, Any], ...]:
    """A card of two halves that is also offered whole, as one pool of two slices."""
    pool = {"resourceSliceCount": 2}
    counters = slice_of("gpu.example.com", "node-1", **pool)
    counters["metadata"]["name"] = "counters"
    del counters["spec"]["devices"]
    counters["spec"]["sharedCounters"] = [
        {"name": "card-0", "counters": {"slice-0": {"value": "1"}, "slice-1": {"value": "1"}}}
    ]
    parts = (
        partition("left", "slice-0"),
        partition("right", "slice-1"),
        partition("whole", "slice-0", "slice-1"),
    )
    return MIG, node("node-1"), counters, slice_of("gpu.example.com", "node-1", *parts, **pool)


def explain_node(*objects: dict[str, Any]) -> Explanation:
    state = state_of(*objects)
    (question,) = find_subjects(state, "node/node-1", None)
    return Explainer(state, Features.for_release("1.36")).explain(question)


def claim_with_device(name: str) -> dict[str, Any]:
    return claim(
        "c", request("r", "mig"), status=allocation("node-1", ("gpu.example.com", name), pod="p")
    )


def test_a_partition_whose_counters_another_one_uses_is_not_free() -> None:
    answer = explain_node(*card(), claim_with_device("left"))
    found = {d.device.rpartition("/")[2]: d for d in answer.devices}
    assert {name: d.status for name, d in found.items()} == {
        "left": "held",
        "right": "free",
        "whole": "unavailable",
    }
    assert "slice-0 of card-0, 0 left" in found["whole"].detail
    assert "ml/c" in found["whole"].detail
    assert answer.headline == "1 free, 1 held, 1 unavailable"


def test_mutually_exclusive_partitions_are_not_all_promised() -> None:
    answer = explain_node(*card())
    assert {d.status for d in answer.devices} == {"free"}
    assert "cannot all be allocated at once" in answer.headline


def test_the_devices_of_a_pods_answer_show_the_same_state() -> None:
    wanted = claim(
        "w", request("r", "mig", selectors=[{"cel": {"expression": "device.driver == 'x'"}}])
    )
    wants = pod("q", {"name": "g", "resourceClaimName": "w"})
    state = state_of(*card(), claim_with_device("left"), wanted, wants)
    answer = Explainer(state, Features.for_release("1.36")).explain(
        find_subjects(state, "pod/q", None)[0]
    )
    assert {d.status for d in answer.devices if d.device.endswith("/whole")} == {"unavailable"}


def test_the_remaining_capacity_of_a_shared_device_is_shown() -> None:
    shared = {
        "name": "nic-0",
        "allowMultipleAllocations": True,
        "capacity": {"bandwidth": {"value": "10G"}},
    }
    status = allocation("node-1", ("nic.example.com", "nic-0"), pod="p")
    result = status["allocation"]["devices"]["results"][0]
    result |= {
        "shareID": "0f1c6a4e-2c1f-4a52-9d8d-0d6f5f4b3a21",
        "consumedCapacity": {"bandwidth": "4G"},
    }
    answer = explain_node(
        node("node-1"),
        slice_of("nic.example.com", "node-1", shared),
        claim("c", request("r", "nic"), status=status),
    )
    (found,) = answer.devices
    assert found.status == "held"
    assert found.detail == "shared: bandwidth 6G of 10G left"


def on_node(**status: Any) -> dict[str, Any]:
    """A pod with the claim of ``held`` on node-1, as its kubelet reports it."""
    placed = pod("p", {"name": "g", "resourceClaimName": "c"}, metadata={"uid": "p"})
    placed["spec"]["nodeName"] = "node-1"
    main = {"name": "main", "restartCount": 2, **status}
    return {**placed, "status": {"phase": "Running", "containerStatuses": [main]}}


def test_hanging_pod_is_named() -> None:
    over = {"terminated": {"exitCode": 1, "reason": "Error"}}
    answer = explain_node(*card(), claim_with_device("left"), on_node(state=over, ready=False))
    assert (answer.verdict, answer.fits) == ("failing", False)
    assert "1 pod on it cannot start, run or end" in answer.headline
    assert any(
        "pod ml/p: started on node-1, where container main ended" in note for note in answer.notes
    )
    assert [step.command for step in answer.next] == ["dractl explain pod/p -n ml"]


def test_running_pod_does_not_hang() -> None:
    running = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    answer = explain_node(
        *card(), claim_with_device("left"), on_node(state=running, ready=True, restartCount=0)
    )
    assert (answer.verdict, answer.next) == ("allocatable", ())


def test_unresponsive_node_makes_its_pods_hang() -> None:
    silent = [
        {"type": "Ready", "status": "Unknown", "message": "Kubelet stopped posting node status."}
    ]
    _, worker, *published = card()
    worker["status"] = {**worker.get("status", {}), "conditions": silent}
    running = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    answer = explain_node(
        MIG, worker, *published, claim_with_device("left"), on_node(state=running, ready=True)
    )
    assert answer.verdict == "blocked"
    assert answer.reasons[0].code == "node-not-ready"
    assert "Kubelet stopped posting node status" in answer.headline
    assert "cannot start" not in answer.headline


def test_device_moved_into_its_pod_is_held() -> None:
    """dra.net 1.4 no longer publishes an interface that it has moved; the claim's status says that it is ready."""
    taken = claim_with_device("eth7")
    result = taken["status"]["allocation"]["devices"]["results"][0]
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    where = {key: result[key] for key in ("driver", "pool", "device")}
    states = []
    for devices in ([], [{**where, **ready}]):
        taken["status"]["devices"] = devices
        states += [
            d.status for d in explain_node(*card(), taken).devices if d.device.endswith("/eth7")
        ]
    assert states == ["unpublished", "held"]
