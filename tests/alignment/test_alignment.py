"""Alignments that a person can check by looking at the machine."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.alignment import Alignment, uses
from dractl.alignment.improvement import candidates
from dractl.alignment.quality import Improvement
from dractl.allocation import Features
from dractl.cluster import ClusterState, sources
from dractl.cluster.rights import Rights, Unread
from dractl.scheduler.attempt import Scheduler
from tests.alignment.machines import alignments, cluster, holding
from tests.explain.cluster import (
    claim,
    device,
    device_class,
    node,
    pod,
    request,
    slice_of,
    state_of,
)

# dgx-h100: a GPU and its NIC on each of eight PCIe roots, four on each socket.
NICS = [f"pci-0000-{bus}-00-0" for bus in ("18", "40", "4f", "5e", "9a", "c0", "ce", "dc")]
GPUS = [f"gpu-{n}" for n in range(8)]
GPU_NIC, GPU_GPU = ("gpu", "nic"), ("gpu", "gpu")
ROOT, NUMA = "resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode"


@pytest.mark.parametrize(
    ("nics", "levels", "share"),
    [
        (NICS[:4], {"root": 4}, 1.0),
        ([NICS[0], NICS[1], NICS[4], NICS[5]], {"root": 2, "SYS": 2}, 0.5),
        (NICS[4:], {"SYS": 4}, 0.0),
    ],
    ids=["each pair on one root", "half of them", "all across sockets"],
)
def test_three_allocations_on_a_machine_with_eight_gpus(
    nics: list[str], levels: Any, share: float
) -> None:
    found = alignments(cluster("dgx-h100", holding("c", "n", gpu=GPUS[:4], nic=nics)))[GPU_NIC]
    assert (found.levels, found.share) == (levels, (share, share))
    assert found.best_free == found.best_now == {"root": 4}
    if share < 1:
        assert found.improvement is not None
        assert (
            found.improvement.text
            == f"split gpu and nic into 4 requests each, paired by matchAttribute {ROOT}"
        )
    else:
        assert found.improvement is None


def test_what_others_hold_is_not_to_be_had_now() -> None:
    """Of the eight NICs only those of the other socket are left."""
    state = cluster(
        "dgx-h100", holding("c", "n", gpu=["gpu-0"], nic=[NICS[5]]), holding("o", "n", nic=NICS[:4])
    )
    found = alignments(state)[GPU_NIC]
    assert (found.best_free, found.best_now) == ({"root": 1}, {"root": 1})  # with another GPU
    state = cluster("dgx-h100", holding("c", "n", gpu=["gpu-0"], nic=[NICS[5]]),
                    holding("o", "n", nic=NICS[:4]), holding("p", "n", gpu=GPUS[4:]))  # fmt: skip
    found = alignments(state)[GPU_NIC]
    assert (found.best_free, found.best_now) == ({"root": 1}, {"SYS": 1})
    assert (found.share, found.share_now) == ((0, 0), (1, 1))
    assert found.improvement is None


def test_more_devices_of_one_kind_share_those_of_the_other_evenly() -> None:
    found = alignments(cluster("dgx-h100", holding("c", "n", gpu=GPUS[:4], nic=NICS[:2])))[GPU_NIC]
    used = [pair.a if "nic" in pair.a else pair.b for pair in found.pairs]
    assert len(found.pairs) == 4
    assert {used.count(nic) for nic in used} == {2}
    assert found.levels == {"root": 2, "NODE": 2}


def test_all_gpus_of_one_kind_are_compared_with_each_other() -> None:
    found = alignments(cluster("dgx-h100", holding("c", "n", gpu=["gpu-0", "gpu-1", "gpu-4"])))[
        GPU_GPU
    ]
    assert found.levels == {"NODE": 1, "SYS": 2}
    assert (found.best_free, found.share) == (
        {"NODE": 3},
        (pytest.approx(1 / 3), pytest.approx(1 / 3)),
    )


def test_nvlink_makes_sockets_equal_where_it_is_known() -> None:
    pair = holding("c", "n", gpu=["gpu-0", "gpu-4"])
    assert alignments(cluster("dgx-h100", pair))[GPU_GPU].levels == {"SYS": 1}
    found = alignments(cluster("dgx-h100", pair, known=True))[GPU_GPU]
    assert (found.levels, found.share) == ({"NV18": 1}, (1, 1))
    assert {p.source for p in found.pairs} == {"snapshot"}


def test_what_is_free_is_not_known_without_the_right_to_read_claims() -> None:
    state = cluster("dgx-h100", holding("c", "n", gpu=["gpu-0"], nic=[NICS[5]]))
    unread = ClusterState(
        {kind: state.all(kind) for kind in state.kinds},
        rights=Rights((Unread("ResourceClaim", "resourceclaims.resource.k8s.io", "ml"),)),
    )
    found = alignments(unread)[GPU_NIC]
    assert (found.best_free, found.share) == ({"root": 1}, (0, 0))
    assert (found.best_now, found.share_now, found.improvement) == (None, None, None)


def attributed(*devices: Any, **more: Any) -> Any:
    """A node with GPUs and NICs: (driver, name, root, NUMA node)."""
    drivers = {"gpu": "gpu.nvidia.com", "nic": "dra.net", "cpu": "dra.cpu", "nvme": "dra.nvme"}
    published: dict[str, list[Any]] = {}
    for kind, name, root, numa in devices:
        known = {k: v for k, v in ((ROOT, root), (NUMA, numa)) if v is not None}
        published.setdefault(drivers[kind], []).append(device(name, **known))
    kinds = more["kinds"]
    results = [
        {"request": k, "driver": drivers[k], "pool": "n", "device": name}
        for k, name in more["mine"]
    ]
    return state_of(
        node("n"),
        *(device_class(driver, f"device.driver == '{driver}'") for driver in published),
        *(slice_of(driver, "n", *those) for driver, those in published.items()),
        claim(
            "c",
            *(request(k, drivers[k]) for k in kinds),
            status={"allocation": {"devices": {"results": results}}},
        ),
    )


def test_an_unknown_level_is_not_guessed() -> None:
    both = {"kinds": ("gpu", "nic"), "mine": (("gpu", "g"), ("nic", "n"))}
    found = alignments(attributed(("gpu", "g", None, None), ("nic", "n", "pci0000:10", 0), **both))[
        GPU_NIC
    ]
    assert found.pairs[0].level is None
    assert (found.levels, found.best_free, found.share) == ({"unknown": 1}, None, None)
    assert "nothing tells" in found.why


def test_an_interval_where_only_what_it_has_is_unknown() -> None:
    """Two pairs: one known to be as near as the best, the other unknown; the best is known."""
    state = cluster("dgx-h100", holding("c", "n", gpu=["gpu-0", "gpu-9"], nic=NICS[:2]))
    found = alignments(state)[GPU_NIC]
    assert found.levels == {"root": 1, "unknown": 1}
    assert (found.best_free, found.share) == ({"root": 2}, (0.5, 1.0))


def test_numa_nodes_alone_tell_of_cpus_and_of_devices_without_a_root() -> None:
    both = {"kinds": ("gpu", "cpu"), "mine": (("gpu", "g"), ("cpu", "c1"))}
    places = (("gpu", "g", "pci0000:10", 0), ("cpu", "c0", None, 0), ("cpu", "c1", None, 1))
    found = alignments(attributed(*places, **both))["gpu", "cpu"]
    assert (found.levels, found.best_free, found.share) == ({"SYS": 1}, {"numa": 1}, (0, 0))
    assert found.improvement is not None
    assert found.improvement.match_attribute == NUMA


def test_devices_on_several_nodes_have_no_best() -> None:
    results = [
        {"request": "r", "driver": "gpu.nvidia.com", "pool": where, "device": "gpu-0"}
        for where in ("n", "m")
    ]
    state = state_of(
        node("n"),
        node("m"),
        device_class("gpu.nvidia.com", "true"),
        *(
            slice_of("gpu.nvidia.com", where, device("gpu-0", **{ROOT: "pci0000:10"}))
            for where in ("n", "m")
        ),
        claim(
            "c",
            request("r", "gpu.nvidia.com", 2),
            status={"allocation": {"devices": {"results": results}}},
        ),
    )
    found = alignments(state)[GPU_GPU]
    assert found.pairs[0].level is None
    assert found.share is None
    assert "not on one node" in found.why


def test_claims_of_one_pod_are_judged_together_and_the_worst_comes_first() -> None:
    state = cluster(
        "dgx-h100",
        holding("a-gpu", "n", gpu=["gpu-0"]),
        holding("a-nic", "n", nic=[NICS[4]]),
        holding("b", "n", gpu=["gpu-1"], nic=[NICS[1]]),
    )
    refs = {"a": ("a-gpu", "a-nic"), "b": ("b",)}
    for name, claims in refs.items():
        entries = [{"name": each, "resourceClaimName": each} for each in claims]
        value = pod(name, *entries, spec={"nodeName": "n"})
        reserved = {"reservedFor": [{"resource": "pods", "name": name, "uid": f"uid-{name}"}]}
        for each in claims:
            held = state.get("ResourceClaim", ("ml", each))
            assert held is not None
            state = state.replace(
                "ResourceClaim", ("ml", each), {**held, "status": {**held["status"], **reserved}}
            )
        state = state.merged(sources.of_objects([value]))
    found = uses(Scheduler(state, Features.for_release("1.37")))
    assert [(use.pod, use.share) for use in found] == [("ml/a", 0), ("ml/b", 1)]
    assert found[0].claims == ("ml/a-gpu", "ml/a-nic")


def test_more_devices_than_any_node_has_are_not_compared() -> None:
    """Claims of a dump can hold anything; the answer comes at once."""
    state = cluster("dgx-h100", holding("c", "n", gpu=[f"gpu-{n}" for n in range(5000)], nic=NICS))
    told = alignments(state)
    assert {found.why for found in told.values()} == {"there are too many allocations to compare"}
    assert not any(found.pairs for found in told.values())
    assert uses(Scheduler(state, Features.for_release("1.37")))[0].share is None


def test_a_device_that_is_held_twice_is_one_device() -> None:
    found = alignments(cluster("dgx-h100", holding("c", "n", gpu=["gpu-0", "gpu-0"])))[GPU_GPU]
    assert found.levels == {"X": 1}


def test_requests_of_unequal_numbers_are_constrained_as_a_whole() -> None:
    """Two requests for GPUs and one for a NIC make no pairs."""
    asked = claim("c", request("a", "gpu"), request("b", "gpu"), request("n", "nic"))
    found = [one for one, _ in candidates(asked, [["a", "b"], ["n"]])]
    assert found == [Improvement(ROOT, ("a", "b", "n")), Improvement(NUMA, ("a", "b", "n"))]


@pytest.mark.parametrize(("share", "best"), [(None, False), ((1, 1), True), ((0.5, 1), False)])
def test_an_alignment_is_the_best_if_no_pair_could_be_nearer(share: Any, best: bool) -> None:
    assert Alignment(("gpu", "nic"), (), {}, share=share).best is best
