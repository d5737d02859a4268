"""The alignment of everything that is allocated in a cluster."""

from __future__ import annotations

from dractl.alignment import list_uses
from dractl.cluster import sources
from tests.alignment.machines import DGX_NICS, allocated_claim, cluster, scheduler_of
from tests.explain.cluster import pod


def pod_on_node(name: str, *claims: str) -> dict[str, object]:
    entries = [{"name": claim, "resourceClaimName": claim} for claim in claims]
    return pod(name, *entries, spec={"nodeName": "n"})


def test_claims_of_one_pod_are_compared_together_and_the_worst_comes_first() -> None:
    state = cluster(
        "dgx-h100",
        allocated_claim("a-gpu", "n", "a", gpu=["gpu-0"]),
        allocated_claim("a-nic", "n", "a", nic=[DGX_NICS[4]]),
        allocated_claim("b", "n", "b", gpu=["gpu-1"], nic=[DGX_NICS[1]]),
    )
    pods = sources.from_objects([pod_on_node("a", "a-gpu", "a-nic"), pod_on_node("b", "b")])
    uses = list_uses(scheduler_of(state.merge(pods)))
    assert [(use.pod, use.share) for use in uses] == [("ml/a", 0), ("ml/b", 1)]
    assert uses[0].claims == ("ml/a-gpu", "ml/a-nic")
    assert uses[0].node == "n"


def test_a_claim_without_a_pod_is_a_use() -> None:
    state = cluster("dgx-h100", allocated_claim("c", "n", gpu=["gpu-0"], nic=[DGX_NICS[0]]))
    (use,) = list_uses(scheduler_of(state))
    assert (use.pod, use.claims, use.node, use.share) == (None, ("ml/c",), "n", 1)


def test_a_claim_for_a_single_device_is_no_use() -> None:
    state = cluster("dgx-h100", allocated_claim("c", "n", gpu=["gpu-0"]))
    assert list_uses(scheduler_of(state)) == ()


def test_the_share_of_too_many_devices_is_unknown() -> None:
    gpus = [f"gpu-{number}" for number in range(5000)]
    state = cluster("dgx-h100", allocated_claim("c", "n", gpu=gpus, nic=DGX_NICS))
    assert list_uses(scheduler_of(state))[0].share is None


def test_progress_counts_allocations() -> None:
    claims = [allocated_claim(f"c-{number}", "n", gpu=["gpu-0"]) for number in range(150)]
    messages: list[str] = []
    list_uses(scheduler_of(cluster("dgx-h100", *claims)), messages.append)
    assert messages == ["comparing allocations (100)"]
