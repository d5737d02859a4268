"""Constraints that are proposed for a claim."""

from __future__ import annotations

from dractl.alignment.improvement import propose_constraints
from dractl.alignment.quality import Improvement
from tests.explain.cluster import claim, request

ROOT, NUMA = "resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode"


def test_requests_of_unequal_numbers_are_constrained_as_a_whole() -> None:
    """Two requests for GPUs and one for a NIC cannot be paired."""
    value = claim("c", request("a", "gpu"), request("b", "gpu"), request("n", "nic"))
    improvements = [
        improvement for improvement, _ in propose_constraints(value, [["a", "b"], ["n"]])
    ]
    names = ("a", "b", "n")
    assert improvements == [Improvement(ROOT, names), Improvement(NUMA, names)]


def test_requests_of_equal_numbers_are_paired() -> None:
    requests = [request(name, "class") for name in ("g0", "g1", "n0", "n1")]
    proposals = list(propose_constraints(claim("c", *requests), [["g0", "g1"], ["n0", "n1"]]))
    names = ("g0", "g1", "n0", "n1")
    assert [improvement for improvement, _ in proposals] == [
        Improvement(ROOT, names),
        Improvement(ROOT, names, 2),
        Improvement(NUMA, names),
    ]
    assert proposals[1][1]["spec"]["devices"]["constraints"] == [
        {"matchAttribute": ROOT, "requests": ["g0", "n0"]},
        {"matchAttribute": ROOT, "requests": ["g1", "n1"]},
    ]


def test_requests_are_split_into_equal_parts() -> None:
    constraint = {"matchAttribute": "example.com/model", "requests": ["gpu"]}
    value = claim("c", request("gpu", "gpu", 4), request("nic", "nic", 2), constraints=[constraint])
    proposals = list(propose_constraints(value, [["gpu"], ["nic"]]))
    names = ("gpu", "nic")
    assert [improvement for improvement, _ in proposals] == [
        Improvement(ROOT, names),
        Improvement(ROOT, names, 2),
        Improvement(ROOT, names, 2, NUMA),
        Improvement(NUMA, names),
    ]
    devices = proposals[1][1]["spec"]["devices"]
    assert [(entry["name"], entry["exactly"]["count"]) for entry in devices["requests"]] == [
        ("gpu-0", 2),
        ("gpu-1", 2),
        ("nic-0", 1),
        ("nic-1", 1),
    ]
    assert devices["constraints"] == [
        {"matchAttribute": "example.com/model", "requests": ["gpu-0", "gpu-1"]},
        {"matchAttribute": ROOT, "requests": ["gpu-0", "nic-0"]},
        {"matchAttribute": ROOT, "requests": ["gpu-1", "nic-1"]},
    ]
    assert proposals[2][1]["spec"]["devices"]["constraints"][-1] == {
        "matchAttribute": NUMA,
        "requests": ["gpu-0", "gpu-1"],
    }


def test_an_improvement_in_words() -> None:
    whole = Improvement(ROOT, ("gpu", "nic"))
    assert whole.text == f"matchAttribute {ROOT} over gpu and nic"
    parts = Improvement(ROOT, ("gpu", "nic"), 2, NUMA)
    assert parts.text == (
        f"split gpu and nic into 2 requests each, paired by matchAttribute {ROOT}, "
        f"and {NUMA} over all of gpu"
    )
