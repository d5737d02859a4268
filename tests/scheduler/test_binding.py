"""Claims that are allocated already: joining one, and waiting for its devices."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.allocation import Features
from dractl.explain import Explainer, Explanation, find_subjects
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

GPU = device_class("gpu", "device.driver == 'gpu.example.com'")
CLUSTER = (GPU, node("node-1"), slice_of("gpu.example.com", "node-1", device("gpu-0")))
WHEN = "2026-11-21T02:21:34Z"


def explain(
    *objects: dict[str, Any], release: str = "1.37", gates: dict[str, bool] | None = None
) -> Explanation:
    state = state_of(*objects)
    (question,) = find_subjects(state, "pod/p", None)
    return Explainer(state, Features.for_release(release, gates or {})).explain(question)


def shared(timestamp: str | None, user: str | None = "first") -> dict[str, Any]:
    status = allocation("node-1", ("gpu.example.com", "gpu-0"), pod=user)
    if timestamp:
        status["allocation"]["allocationTimestamp"] = timestamp
    return claim("c", request("r", "gpu"), status=status, metadata={"uid": "uid-c"})


def joining(**more: Any) -> dict[str, Any]:
    return pod("p", {"name": "g", "resourceClaimName": "c"}, metadata={"uid": "uid-p"}, **more)


FIRST_POD = pod(
    "first",
    {"name": "g", "resourceClaimName": "c"},
    metadata={"uid": "uid-first"},
    spec={"nodeName": "node-1"},
    status={"phase": "Running"},
)


# Recorded with kube-scheduler 1.36.3 and 1.37.1; so do 1.34 and 1.35 with the alpha gate.
@pytest.mark.parametrize(
    ("release", "gates", "joins"),
    [
        ("1.37", {}, False),
        ("1.36", {}, False),
        ("1.36", {"DRADeviceBindingConditions": False}, True),
        ("1.35", {}, True),
        ("1.35", {"DRADeviceBindingConditions": True}, False),
        ("1.34", {"DRADeviceBindingConditions": True, "DRAResourceClaimDeviceStatus": True}, False),
    ],
)
def test_a_claim_allocated_without_a_time_cannot_be_joined(
    release: str, gates: dict[str, bool], joins: bool
) -> None:
    answer = explain(*CLUSTER, FIRST_POD, shared(None), joining(), release=release, gates=gates)
    assert answer.fits is joins
    if not joins:
        assert (answer.verdict, answer.reasons[0].code) == ("error", "upstream-bug")
        assert "allocationTimestamp" in answer.reasons[0].message
        assert "ml/c" in answer.reasons[0].message
        assert "field cannot be modified once set" in (answer.scheduler_message or "")
        assert any("delete pod ml/first" in fix.title for fix in answer.fixes)


def test_a_claim_with_a_time_or_a_reservation_of_the_pod_can_be_joined() -> None:
    assert explain(*CLUSTER, FIRST_POD, shared(WHEN), joining()).fits
    assert explain(*CLUSTER, shared(None, user="p"), joining()).fits


# -- binding conditions --


def attached(*conditions: dict[str, Any], user: str | None = "p") -> dict[str, Any]:
    """A claim whose device is usable once its driver has set Attached."""
    status = shared(WHEN, user)["status"]
    result = status["allocation"]["devices"]["results"][0]
    result |= {"bindingConditions": ["Attached"], "bindingFailureConditions": ["Failed"]}
    if conditions:
        identity = {k: result[k] for k in ("driver", "pool", "device")}
        status["devices"] = [{**identity, "conditions": list(conditions)}]
    return claim("c", request("r", "gpu"), status=status, metadata={"uid": "uid-c"})


def test_a_pod_waits_for_a_device_to_become_ready() -> None:
    answer = explain(*CLUSTER, attached(), joining())
    assert (answer.verdict, answer.reasons[0].code) == ("blocked", "binding-pending")
    assert "Attached" in answer.headline
    assert answer.reasons[0].facts["devices"] == ("gpu.example.com/node-1/gpu-0",)
    assert answer.scheduler_message is None
    assert answer.fixes[0].changes == ()


@pytest.mark.parametrize(("status", "fits"), [("True", True), ("False", False), ("Unknown", False)])
def test_only_a_true_condition_makes_a_device_ready(status: str, fits: bool) -> None:
    assert (
        explain(*CLUSTER, attached({"type": "Attached", "status": status}), joining()).fits is fits
    )


@pytest.mark.parametrize(
    ("count", "which"), [(1, "device gpu.example.com/node-1/gpu-0"), (2, "each of 2 devices")]
)
def test_a_device_that_a_gate_hides_is_named(count: int, which: str) -> None:
    conditions = {"bindingConditions": ["Ready"], "bindingFailureConditions": ["Failed"]}
    hidden = [{**device(f"gpu-{n}"), **conditions} for n in range(count)]
    slices = slice_of("gpu.example.com", "node-1", *hidden)
    free = claim("c", request("r", "gpu", count))
    gates = {"DRADeviceBindingConditions": False}
    answer = explain(GPU, node("node-1"), slices, free, joining(), gates=gates)
    assert answer.reasons[0].code == "binding-conditions-off"
    says = f"{which} has binding conditions, but DRADeviceBindingConditions is off"
    assert says in answer.headline


def test_a_full_claim_shows_who_uses_it() -> None:
    full = shared(WHEN)
    users = [{"resource": "pods", "name": f"u{n}", "uid": f"uid-u{n}"} for n in range(256)]
    full["status"]["reservedFor"] = users
    answer = explain(*CLUSTER, full, joining())
    assert answer.reasons[0].code == "reserved-limit"
    wanted = "kubectl get resourceclaim c -n ml -o jsonpath='{.status.reservedFor[*].name}'"
    assert wanted in [step.command for step in answer.next]


def test_conditions_are_not_read_while_the_gate_is_off() -> None:
    assert explain(
        *CLUSTER, attached(), joining(), gates={"DRADeviceBindingConditions": False}
    ).fits


def test_a_failed_device_is_deallocated() -> None:
    failed = {"type": "Failed", "status": "True", "reason": "NoFabric", "message": "cable"}
    answer = explain(*CLUSTER, attached(failed), joining())
    assert answer.verdict == "allocatable"
    assert "released and allocated again" in answer.notes[0]
    assert "NoFabric: cable" in answer.notes[0]


def test_a_failed_device_of_another_pod_stays_allocated() -> None:
    failed = {"type": "Failed", "status": "True", "reason": "NoFabric"}
    answer = explain(*CLUSTER, FIRST_POD, attached(failed, user="first"), joining())
    assert (answer.verdict, answer.reasons[0].code) == ("unallocatable", "binding-pending")
    assert "resourceclaim not available on the node" in (answer.scheduler_message or "")


# -- claims that nobody else uses --

BOTH = (*CLUSTER, node("node-2"), slice_of("gpu.example.com", "node-2", device("gpu-0")))
ONLY_2: dict[str, Any] = {"nodeSelector": {"kubernetes.io/hostname": "node-2"}}


@pytest.mark.parametrize("user", [None, "p"])
def test_an_allocation_on_another_node_without_other_users_is_released(user: str | None) -> None:
    answer = explain(*BOTH, shared(WHEN, user), joining(spec=ONLY_2))
    assert answer.verdict == "allocatable"
    assert [
        (a.pool, a.device) for n in answer.nodes if n.name == "node-2" for a in n.allocation
    ] == [("node-2", "gpu-0")]
    assert "ml/c is allocated on node-1" in answer.notes[0]
    assert "released and allocated again" in answer.notes[0]


def test_an_allocation_with_another_user_is_not_released() -> None:
    answer = explain(*BOTH, FIRST_POD, shared(WHEN), joining(spec=ONLY_2))
    assert answer.verdict == "unallocatable"
    assert [r.code for n in answer.nodes if n.name == "node-2" for r in n.reasons] == [
        "pinned-node"
    ]


def test_a_pod_may_not_fit_after_its_claim_is_released() -> None:
    full = claim(
        "full",
        request("r", "gpu"),
        status=allocation("node-2", ("gpu.example.com", "gpu-0"), pod="x"),
    )
    answer = explain(*BOTH, full, shared(WHEN, None), joining(spec=ONLY_2))
    assert answer.verdict == "unallocatable"
    assert [r.code for n in answer.nodes if n.name == "node-2" for r in n.reasons] == [
        "device-in-use"
    ]
    assert "released and allocated again" in answer.notes[0]


# -- devices of the same pod --


def test_a_claim_cannot_take_a_device_of_the_pods_other_claim() -> None:
    other = claim("d", request("r", "gpu"), metadata={"uid": "uid-d"})
    both = pod(
        "p",
        {"name": "g", "resourceClaimName": "c"},
        {"name": "h", "resourceClaimName": "d"},
        metadata={"uid": "uid-p"},
    )
    answer = explain(*CLUSTER, shared(WHEN, "p"), other, both)
    assert (answer.reasons[0].code, answer.reasons[0].facts["podClaim"]) == (
        "device-in-use-same-pod",
        "h",
    )
    assert answer.reasons[0].facts["holders"][0].claim == "ml/c"


def test_two_requests_cannot_share_the_only_matching_device() -> None:
    devices = slice_of(
        "gpu.example.com", "node-1", device("gpu-0", big=True), device("gpu-1"), device("gpu-2")
    )
    big = [{"cel": {"expression": "device.attributes['gpu.example.com'].?big.orValue(false)"}}]
    wanted = (
        request("a", "gpu", selectors=big),
        request("b", "gpu", selectors=big),
        request("x", "gpu"),
    )
    answer = explain(GPU, node("node-1"), devices, claim("c", *wanted), joining())
    assert answer.reasons[0].code == "device-in-use-same-pod"
    assert "a and b" in answer.reasons[0].message
    assert answer.reasons[0].facts["devices"] == ("gpu.example.com/node-1/gpu-0",)
