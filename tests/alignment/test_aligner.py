"""Alignments that a person can check by looking at the machine."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.alignment import Alignment, list_uses
from dractl.alignment.aligner import find_requests
from dractl.alignment.quality import Pair
from dractl.cluster import ClusterState
from dractl.cluster.rights import Rights, Unread
from dractl.report.alignment.text import alignment_lines
from tests.alignment.machines import (
    DGX_GPUS,
    DGX_NICS,
    align_claim,
    allocated_claim,
    cluster,
    scheduler_of,
)
from tests.explain.cluster import claim, device, device_class, node, request, slice_of, state_of

GPU_NIC, GPU_GPU = ("gpu", "nic"), ("gpu", "gpu")
ROOT, NUMA = "resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode"


@pytest.mark.parametrize(
    ("nics", "levels", "share"),
    [
        (DGX_NICS[:4], {"root": 4}, 1.0),
        ([DGX_NICS[0], DGX_NICS[1], DGX_NICS[4], DGX_NICS[5]], {"root": 2, "SYS": 2}, 0.5),
        (DGX_NICS[4:], {"SYS": 4}, 0.0),
    ],
    ids=["each-pair-on-one-root", "half-of-the-pairs", "all-across-sockets"],
)
def test_an_allocation_is_compared_with_the_best_one(
    nics: list[str], levels: Any, share: float
) -> None:
    state = cluster("dgx-h100", allocated_claim("c", "n", gpu=DGX_GPUS[:4], nic=nics))
    alignment = align_claim(state)[GPU_NIC]
    assert (alignment.levels, alignment.share) == (levels, (share, share))
    assert alignment.best_free == alignment.best_now == {"root": 4}


def test_an_improvement_pairs_split_requests_on_one_root() -> None:
    state = cluster("dgx-h100", allocated_claim("c", "n", gpu=DGX_GPUS[:4], nic=DGX_NICS[4:]))
    improvement = align_claim(state)[GPU_NIC].improvement
    assert improvement is not None
    paired = f"paired by matchAttribute {ROOT}"
    assert improvement.text == f"split gpu and nic into 4 requests each, {paired}"


def test_the_best_allocation_has_no_improvement() -> None:
    state = cluster("dgx-h100", allocated_claim("c", "n", gpu=DGX_GPUS[:4], nic=DGX_NICS[:4]))
    assert align_claim(state)[GPU_NIC].improvement is None


def test_the_best_beside_others_may_use_another_gpu() -> None:
    mine = allocated_claim("c", "n", gpu=["gpu-0"], nic=[DGX_NICS[5]])
    others = allocated_claim("o", "n", nic=DGX_NICS[:4])
    alignment = align_claim(cluster("dgx-h100", mine, others))[GPU_NIC]
    assert (alignment.best_free, alignment.best_now) == ({"root": 1}, {"root": 1})


def test_devices_of_others_are_not_part_of_the_best_now() -> None:
    """The other claims hold the NICs of one socket and the GPUs of the other one."""
    mine = allocated_claim("c", "n", gpu=["gpu-0"], nic=[DGX_NICS[5]])
    others = [
        allocated_claim("o", "n", nic=DGX_NICS[:4]),
        allocated_claim("p", "n", gpu=DGX_GPUS[4:]),
    ]
    alignment = align_claim(cluster("dgx-h100", mine, *others))[GPU_NIC]
    assert (alignment.best_free, alignment.best_now) == ({"root": 1}, {"SYS": 1})
    assert (alignment.share, alignment.share_now) == ((0, 0), (1, 1))
    assert alignment.improvement is None


def test_the_more_numerous_kind_uses_the_other_kind_evenly() -> None:
    state = cluster("dgx-h100", allocated_claim("c", "n", gpu=DGX_GPUS[:4], nic=DGX_NICS[:2]))
    alignment = align_claim(state)[GPU_NIC]
    nics = [pair.b for pair in alignment.pairs]
    assert len(alignment.pairs) == 4
    assert {nics.count(nic) for nic in nics} == {2}
    assert alignment.levels == {"root": 2, "NODE": 2}


def test_all_gpus_are_compared_with_each_other() -> None:
    state = cluster("dgx-h100", allocated_claim("c", "n", gpu=["gpu-0", "gpu-1", "gpu-4"]))
    alignment = align_claim(state)[GPU_GPU]
    assert alignment.levels == {"NODE": 1, "SYS": 2}
    assert alignment.best_free == {"NODE": 3}
    assert alignment.share == (pytest.approx(1 / 3), pytest.approx(1 / 3))


def test_slices_do_not_show_nvlink() -> None:
    pair = allocated_claim("c", "n", gpu=["gpu-0", "gpu-4"])
    assert align_claim(cluster("dgx-h100", pair))[GPU_GPU].levels == {"SYS": 1}


def test_a_snapshot_shows_nvlink_between_sockets() -> None:
    pair = allocated_claim("c", "n", gpu=["gpu-0", "gpu-4"])
    alignment = align_claim(cluster("dgx-h100", pair, with_snapshots=True))[GPU_GPU]
    assert (alignment.levels, alignment.share) == ({"NV18": 1}, (1, 1))
    assert {pair.source for pair in alignment.pairs} == {"snapshot"}


def test_the_best_now_is_unknown_if_claims_may_not_be_read() -> None:
    mine = allocated_claim("c", "n", gpu=["gpu-0"], nic=[DGX_NICS[5]])
    state = cluster("dgx-h100", mine)
    unread = Unread("ResourceClaim", "resourceclaims.resource.k8s.io", "ml")
    state = ClusterState(
        {kind: state.objects(kind) for kind in state.kinds}, rights=Rights((unread,))
    )
    alignment = align_claim(state)[GPU_NIC]
    assert (alignment.best_free, alignment.share) == ({"root": 1}, (0, 0))
    assert alignment.best_now is None
    assert alignment.share_now is None
    assert alignment.improvement is None


DRIVERS = {"gpu": "gpu.nvidia.com", "nic": "dra.net", "cpu": "dra.cpu"}
Published = tuple[str, str, str | None, int | None]
"""Kind and name of a device, its PCIe root and its NUMA node."""


def node_with(*devices: Published, allocated: tuple[tuple[str, str], ...]) -> ClusterState:
    """Return a node whose slices show attributes, and a claim for devices (kind, name)."""
    published: dict[str, list[Any]] = {}
    for kind, name, root, numa_node in devices:
        attributes = {k: v for k, v in ((ROOT, root), (NUMA, numa_node)) if v is not None}
        published.setdefault(DRIVERS[kind], []).append(device(name, **attributes))
    results = [
        {"request": kind, "driver": DRIVERS[kind], "pool": "n", "device": name}
        for kind, name in allocated
    ]
    return state_of(
        node("n"),
        *(device_class(driver, f"device.driver == '{driver}'") for driver in published),
        *(slice_of(driver, "n", *of_driver) for driver, of_driver in published.items()),
        claim(
            "c",
            *(request(kind, DRIVERS[kind]) for kind, _ in allocated),
            status={"allocation": {"devices": {"results": results}}},
        ),
    )


def test_an_unknown_level_is_not_guessed() -> None:
    devices: list[Published] = [("gpu", "g", None, None), ("nic", "n", "pci0000:10", 0)]
    state = node_with(*devices, allocated=(("gpu", "g"), ("nic", "n")))
    alignment = align_claim(state)[GPU_NIC]
    assert alignment.pairs[0].level is None
    assert alignment.levels == {"unknown": 1}
    assert (alignment.best_free, alignment.share) == (None, None)
    assert "unknown levels" in alignment.comparison_failure
    ((heading, line),) = alignment_lines([alignment])
    assert (heading, line[:18]) == ("GPU and NIC", "1 pair: 1 unknown;")


def test_an_unknown_level_of_one_pair_makes_the_share_an_interval() -> None:
    """One pair is as near as the best; the GPU of the other pair is in no slice."""
    mine = allocated_claim("c", "n", gpu=["gpu-0", "gpu-9"], nic=DGX_NICS[:2])
    alignment = align_claim(cluster("dgx-h100", mine))[GPU_NIC]
    assert alignment.levels == {"root": 1, "unknown": 1}
    assert (alignment.best_free, alignment.share) == ({"root": 2}, (0.5, 1.0))


def test_numa_nodes_align_cpus_which_have_no_root() -> None:
    devices: list[Published] = [
        ("gpu", "g", "pci0000:10", 0),
        ("cpu", "c0", None, 0),
        ("cpu", "c1", None, 1),
    ]
    state = node_with(*devices, allocated=(("gpu", "g"), ("cpu", "c1")))
    alignment = align_claim(state)["gpu", "cpu"]
    assert (alignment.levels, alignment.best_free) == ({"SYS": 1}, {"numa": 1})
    assert alignment.share == (0, 0)
    assert alignment.improvement is not None
    assert alignment.improvement.match_attribute == NUMA


def test_devices_on_several_nodes_have_no_best() -> None:
    driver, nodes = "gpu.nvidia.com", ("n", "m")
    published = device("gpu-0", **{ROOT: "pci0000:10"})
    results = [
        {"request": "r", "driver": driver, "pool": name, "device": "gpu-0"} for name in nodes
    ]
    state = state_of(
        *map(node, nodes),
        device_class(driver, "true"),
        *(slice_of(driver, name, published) for name in nodes),
        claim(
            "c", request("r", driver, 2), status={"allocation": {"devices": {"results": results}}}
        ),
    )
    alignment = align_claim(state)[GPU_GPU]
    assert alignment.pairs[0].level is None
    assert alignment.share is None
    (use,) = list_uses(scheduler_of(state))
    assert (use.node, use.share) == (None, None)
    assert "not on one node" in alignment.comparison_failure


def test_more_devices_than_any_node_has_are_not_compared() -> None:
    """The claims of a dump can hold anything."""
    gpus = [f"gpu-{number}" for number in range(5000)]
    state = cluster("dgx-h100", allocated_claim("c", "n", gpu=gpus, nic=DGX_NICS))
    alignments = align_claim(state).values()
    failures = {alignment.comparison_failure for alignment in alignments}
    assert failures == {"there are too many allocations to compare"}
    assert not any(alignment.pairs for alignment in alignments)


def test_two_shares_of_one_device_have_no_distance() -> None:
    state = cluster("dgx-h100", allocated_claim("c", "n", gpu=["gpu-0", "gpu-0"]))
    assert align_claim(state)[GPU_GPU].levels == {"X": 1}


@pytest.mark.parametrize(("share", "is_best"), [(None, False), ((1, 1), True), ((0.5, 1), False)])
def test_an_alignment_is_the_best_if_no_pair_could_be_nearer(share: Any, is_best: bool) -> None:
    assert Alignment(GPU_NIC, (), {}, share=share).is_best is is_best


def test_requests_of_several_claims_have_no_common_claim() -> None:
    gpu, nic = f"gpu.nvidia.com/n/{DGX_GPUS[0]}", f"dra.net/n/{DGX_NICS[0]}"
    alignment = Alignment(GPU_NIC, (Pair(gpu, nic, "root", "slices"),), {"root": 1})
    both = allocated_claim("c", "n", gpu=DGX_GPUS[:1], nic=DGX_NICS[:1])
    requests = find_requests(alignment, [both])
    assert (requests.claim, requests.names) == (0, [["gpu"], ["nic"]])
    parts = [
        allocated_claim("a", "n", gpu=DGX_GPUS[:1]),
        allocated_claim("b", "n", nic=DGX_NICS[:1]),
    ]
    requests = find_requests(alignment, parts)
    assert (requests.claim, requests.names) == (None, [["gpu"], ["nic"]])
