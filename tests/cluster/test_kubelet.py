"""What kubelet and the container runtime say, read by what it tells. The messages are theirs, of Kubernetes 1.37."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dractl.cluster.kubelet import Obstacle, newest, obstacle_of, prepare_of, unready
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
def test_who_refuses_to_prepare_a_claim(message: str, answer: str, driver: str) -> None:
    found = prepare_of(message)
    assert (found.answer, found.driver) == (answer, driver)


@pytest.mark.parametrize(
    ("words", "obstacle"),
    [
        (
            'unable to get OCI runtime: no runtime for "kata" is configured',
            Obstacle("handler", "kata"),
        ),
        ('configmap "settings" not found', Obstacle("object", "settings", "configmap")),
        ("write /var/lib/x: no space left on device", Obstacle("space")),
        ("something else", Obstacle("unknown")),
    ],
)
def test_what_lacks_for_the_start_of_a_pod(words: str, obstacle: Obstacle) -> None:
    assert obstacle_of(words) == obstacle


@pytest.mark.parametrize(
    ("condition", "said"),
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
def test_what_is_not_ready_on_a_node(condition: dict[str, Any], said: str) -> None:
    value = node("a")
    value["status"]["conditions"] = [{"type": "Ready", **condition}]
    found = unready(state_of(value), "a")
    assert found.startswith(said)
    assert bool(found) == bool(said)


def test_the_newest_event_with_one_of_the_reasons_counts() -> None:
    """Events are in the order of their time."""
    events: Any = [
        SimpleNamespace(reason=reason) for reason in ("Killing", "Evicted", "Killing", "Pulled")
    ]
    assert newest(events, ("Killing", "Evicted")) is events[2]
    assert newest(events, ("Evicted",)) is events[1]
    assert newest(events, ("Failed",)) is None
