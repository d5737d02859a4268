"""Messages of the kubelet and the container runtime. They are those of Kubernetes 1.37."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.cluster.kubelet import (
    MissingDependency,
    parse_missing_dependency,
    parse_prepare_failure,
    unready_reason,
)
from tests.explain.cluster import node, state_of

LEAD = "Failed to prepare dynamic resources: prepare dynamic resources: "


@pytest.mark.parametrize(
    ("message", "answer", "driver"),
    [
        (f"{LEAD}DRA driver gpu.example.com is not registered", "unregistered", "gpu.example.com"),
        (
            f"{LEAD}NodePrepareResources: rpc error: code = Unavailable desc = connection error",
            "silent",
            "",
        ),
        (f"{LEAD}NodePrepareResources failed for ResourceClaim c: no such device", "refused", ""),
        (f"{LEAD}rpc error: code = Unknown desc = no such device", "refused", ""),
        (f"{LEAD}pod p is not allowed to use ResourceClaim c", "unasked", ""),
    ],
)
def test_events_say_whether_a_driver_is_missing_silent_or_refuses(
    message: str, answer: str, driver: str
) -> None:
    failure = parse_prepare_failure(message)
    assert (failure.answer, failure.driver) == (answer, driver)


@pytest.mark.parametrize(
    "words",
    [
        "NodePrepareResources failed for ResourceClaim rdma-demo: no such device",
        # kubernetes/kubernetes#124090, of kubelet 1.29
        "NodePrepareResources failed for claim default/rdma-demo: no such device",
    ],
)
def test_a_refusal_names_the_claim_in_the_words_of_every_release(words: str) -> None:
    assert parse_prepare_failure(f"{LEAD}{words}").claim == "rdma-demo"


@pytest.mark.parametrize(
    ("words", "gate"),
    [
        ("the Fancy feature gate is not enabled", "Fancy"),
        ('X is selected, but the "Fancy" feature gate is not enabled', "Fancy"),
        ("X needs feature gate Fancy", "Fancy"),
        ("no such device", None),
    ],
)
def test_a_refusal_names_the_feature_gate_of_a_driver(words: str, gate: str | None) -> None:
    refused = f"{LEAD}NodePrepareResources failed for ResourceClaim c: {words}"
    assert parse_prepare_failure(refused).gate == gate


@pytest.mark.parametrize(
    ("message", "dependency"),
    [
        (
            'unable to get OCI runtime: no runtime for "kata" is configured',
            MissingDependency("handler", "kata"),
        ),
        ('configmap "settings" not found', MissingDependency("object", "settings", "configmap")),
        ("write /var/lib/x: no space left on device", MissingDependency("space")),
        (
            "MountVolume.SetUp failed: hostPath type check failed: /data is not a character device",
            MissingDependency("hostpath", "/data", where="a character device"),
        ),
        (
            'failed to generate spec: failed to mkdir "/data": mkdir /data: read-only file system',
            MissingDependency("folder", "/data"),
        ),
        ("something else", MissingDependency("unknown")),
    ],
)
def test_messages_name_the_missing_dependency_of_a_pod(
    message: str, dependency: MissingDependency
) -> None:
    assert parse_missing_dependency(message) == dependency


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ({"status": "True", "message": "kubelet is posting ready status"}, ""),
        (
            {
                "status": "False",
                "message": "cni plugin not initialized",
                "reason": "KubeletNotReady",
            },
            "cni plugin not",
        ),
        ({"status": "False", "reason": "KubeletNotReady"}, "KubeletNotReady"),
        ({"status": "Unknown", "message": "Kubelet stopped posting node status."}, ""),
    ],
)
def test_the_ready_condition_of_a_node_says_why_it_is_not_ready(
    condition: dict[str, Any], reason: str
) -> None:
    value = node("a")
    value["status"]["conditions"] = [{"type": "Ready", **condition}]
    text = unready_reason(state_of(value), "a")
    assert text.startswith(reason)
    assert bool(text) == bool(reason)
