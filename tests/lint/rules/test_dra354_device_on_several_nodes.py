"""DRA354 device-on-several-nodes."""

from __future__ import annotations

import pytest

from tests.lint.written import documents, found, published

SAME = (published("node-1", "gpu-0 gpu-1"), published("node-2", "gpu-1", generation=3))


@pytest.mark.parametrize("release", ["1.34", "1.35", "1.36", "1.37"])
def test_devices_of_one_name_on_two_nodes_are_one_device(release: str) -> None:
    (advice,) = found(documents(*SAME), "DRA354", release)
    assert (advice.severity, advice.object.name, advice.path) == (
        "error",
        "node-2-slice",
        "spec.pool.name",
    )
    assert "gpu-1" in advice.message
    assert "gpu-0" not in advice.message
    assert advice.related[0].position.line == 6


@pytest.mark.parametrize(
    "slices",
    [
        (published("node-1", "gpu-0", "node-1"), published("node-2", "gpu-0", "node-2")),
        (
            published("node-1", "gpu-0"),
            published("node-2", "gpu-1"),
        ),  # seen to work by the upstream allocator
        (
            published("node-1", "gpu-0", count=2),
            published("node-2", "gpu-1", count=2),
        ),  # one pool of two nodes
        # The device of a pool of two nodes that goes from one to the other.
        (
            published("node-1", "gpu-0", count=2),
            published("node-2", "gpu-0", count=2, generation=2),
        ),
    ],
)
def test_pools_of_different_nodes_may_be_alike(slices: tuple[str, ...]) -> None:
    for code in ("DRA351", "DRA354"):
        assert not found(documents(*slices), code)


def test_pool_complete_on_each_node_has_no_wrong_slice_count() -> None:
    assert not found(documents(*SAME), "DRA352")
    same_node = (published("node-1", "gpu-0"), published("node-1", "gpu-1", name="other"))
    (advice,) = found(documents(*same_node), "DRA352")
    assert advice.severity == "error"


def test_a_device_twice_for_one_node_makes_the_pool_invalid() -> None:
    both = (published("node-1", "gpu-0", count=2), published("", "gpu-0", count=2))
    assert found(documents(*both), "DRA351")
    assert not found(documents(*both), "DRA354")
