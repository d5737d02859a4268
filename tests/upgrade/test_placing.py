"""Results of the schedulers of two releases on a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.allocation.features import Features
from dractl.errors import UsageError
from dractl.scheduler.attempt import Scheduler
from dractl.upgrade import UpgradeInput, plan
from dractl.upgrade.placing import compare_outcomes, empty_cluster, find_outcome, list_subjects
from dractl.upgrade.upgrade import gates_of, list_stored, path_of
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

BASE = (
    node("node-1"),
    device_class("gpu", "device.driver == 'gpu.example.com'"),
    slice_of("gpu.example.com", "node-1", device("gpu-0"), device("gpu-1")),
)


def told(
    *objects: dict[str, Any], start: str, to: str, gates: dict[str, bool] | None = None
) -> list[tuple[str, str, tuple[str, ...]]]:
    found = plan(UpgradeInput((), state_of(*BASE, *objects), gates or {}), start, to)
    told_of = [one for step in found.steps for one in step.findings if one.code != "known-problem"]
    return [(one.code, one.level, one.objects) for one in told_of]


@pytest.mark.parametrize(("users", "level"), [(2, "breaks"), (1, "changes")])
def test_a_claim_allocated_before_binding_conditions_takes_no_further_pod(
    users: int, level: str
) -> None:
    """tests/upgrade/test_live.py plays it: the scheduler of 1.36 writes allocationTimestamp beside the reservation, and
    the API server refuses to change an allocation."""
    pods = [
        {
            **pod(f"p{n}", {"name": "d", "resourceClaimName": "joined"}),
            "status": {"phase": "Running"},
        }
        for n in range(users)
    ]
    for each in pods:
        each["spec"]["nodeName"] = "node-1"
    held = allocation("node-1", ("gpu.example.com", "gpu-0"))
    held["reservedFor"] = [
        {"resource": "pods", "name": f"p{n}", "uid": f"u{n}"} for n in range(users)
    ]
    held["allocation"].pop("allocationTimestamp", None)
    shared = claim("joined", request("r", "gpu"), status=held)
    assert ("no-longer-fits", level, ("ResourceClaim/ml/joined",)) in told(
        *pods, shared, start="1.35", to="1.36"
    )


def test_equal_pods_are_one_finding() -> None:
    """An incomplete pool is used up to 1.34 (conformance/scheduling pool-incomplete)."""
    half = slice_of("half.example.com", "node-1", device("h0"), count=2)
    half["spec"]["pool"]["resourceSliceCount"] = 2
    claims = [claim(f"c{n}", request("r", "half")) for n in range(3)]
    pods = [pod(f"p{n}", {"name": "d", "resourceClaimName": f"c{n}"}) for n in range(3)]
    found = told(
        device_class("half", "device.driver == 'half.example.com'"),
        half,
        *claims,
        *pods,
        start="1.34",
        to="1.35",
    )
    assert found == [("no-longer-fits", "breaks", ("Pod/ml/p0", "Pod/ml/p1", "Pod/ml/p2"))]


def test_unchanged_outcome_is_not_reported() -> None:
    waiting = (claim("c", request("r", "gpu")), pod("p", {"name": "d", "resourceClaimName": "c"}))
    assert told(*waiting, start="1.34", to="1.37") == []


@pytest.mark.parametrize("gates", [{}, {"DRADeviceTaints": True}])
def test_gates_of_a_cluster_apply_to_each_release(gates: dict[str, bool]) -> None:
    """DRADeviceTaints: alpha in 1.33, on by default since 1.36 (pkg/features/kube_features.go)."""
    taint = {"key": "sick", "effect": "NoSchedule"}
    tainted = slice_of("sick.example.com", "node-1", device("s0", taints=[taint]))
    objects = (
        device_class("sick", "device.driver == 'sick.example.com'"),
        tainted,
        claim("c", request("r", "sick")),
        pod("p", {"name": "d", "resourceClaimName": "c"}),
    )
    found = told(*objects, start="1.35", to="1.36", gates=gates)
    assert (("no-longer-fits", "breaks", ("Pod/ml/p",)) in found) is not bool(gates)


@pytest.mark.parametrize(
    ("release", "gates", "kept"),
    [
        ("1.34", {"DRAAdminAccess": False}, {"DRAAdminAccess": False}),
        ("1.36", {"DRAAdminAccess": False}, {}),  # locked
        ("1.36", {"DRAAdminAccess": True}, {"DRAAdminAccess": True}),
        ("1.33", {"DRAConsumableCapacity": True}, {}),  # came with 1.34
        ("1.33", {"AllAlpha": True, "AllBeta": False}, {"AllAlpha": True, "AllBeta": False}),
    ],
)
def test_gate_counts_in_releases_where_it_can_be_set(
    release: str, gates: dict[str, bool], kept: dict[str, bool]
) -> None:
    assert gates_of(release, gates) == kept


def nodes(**devices: tuple[str, ...]) -> list[dict[str, Any]]:
    """Nodes with devices of gpu.example.com."""
    slices = [
        slice_of("gpu.example.com", name, *map(device, names)) for name, names in devices.items()
    ]
    return [device_class("gpu", "device.driver == 'gpu.example.com'"), *map(node, devices), *slices]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            {"a": ()},
            {"a": ("g",)},
            ("fits-now", "changes", "fits now, on a; before: 0/1 nodes are available"),
        ),
        (
            {"a": ("g",)},
            {"a": ()},
            ("no-longer-fits", "breaks", "no longer fits: 0/1 nodes are available"),
        ),
        (
            {"a": ()},
            {"a": (), "b": ()},
            (
                "other-message",
                "info",
                "still does not fit; kube-scheduler says now: 0/2 nodes are available",
            ),
        ),
        ({"a": ()}, {"a": ()}, None),
        (
            {"a": ("g",), "b": ("g",)},
            {"a": ("g",), "b": ()},
            ("other-nodes", "changes", "fits no longer on b"),
        ),
        (
            {"a": ("g",), "b": ()},
            {"a": ("g",), "b": ("g",)},
            ("other-nodes", "changes", "fits also on b"),
        ),
        (
            {"a": ("g",), "b": ()},
            {"a": (), "b": ("g",)},
            ("other-nodes", "changes", "fits no longer on a and also on b"),
        ),
        (
            {"a": ("g",)},
            {"a": ("h",)},
            (
                "other-devices",
                "changes",
                "on a it gets r: gpu.example.com/a/h instead of r: gpu.example.com/a/g",
            ),
        ),
        ({"a": ("g",)}, {"a": ("g",)}, None),
    ],
)
def test_differences_between_two_outcomes_are_named(
    before: dict[str, tuple[str, ...]],
    after: dict[str, tuple[str, ...]],
    said: tuple[str, str, str] | None,
) -> None:
    asked = (claim("c", request("r", "gpu")), pod("p", {"name": "d", "resourceClaimName": "c"}))
    features = Features.for_release("1.37")
    states = [state_of(*nodes(**each), *asked) for each in (before, after)]
    found = compare_outcomes(
        *(
            find_outcome(Scheduler(each, features), list_subjects(each, state_of())[0])
            for each in states
        )
    )
    if said is None:
        assert found is None
    else:
        assert found is not None
        assert (found.code, found.level) == said[:2]
        assert found.message.startswith(said[2])


def test_empty_cluster_keeps_claims_outliving_their_pods() -> None:
    """A claim made for a pod (its ownerReferences name it) is deleted with the pod; another one is freed."""
    held = allocation("node-1", ("gpu.example.com", "gpu-0"), pod="p")
    owner = {"ownerReferences": [{"kind": "Pod", "name": "p", "uid": "uid-p"}]}
    state = state_of(
        *BASE,
        pod("p", {"name": "d", "resourceClaimName": "own"}),
        claim("own", request("r", "gpu"), status=held),
        claim("made", request("r", "gpu"), status=held, metadata=owner),
        claim("new", request("r", "gpu")),
    )
    left = empty_cluster(state)
    assert not left.objects("Pod")
    assert {
        key[1]: "allocation" in value["status"]
        for key, value in left.objects("ResourceClaim").items()
    } == {"own": False, "new": False}


@pytest.mark.parametrize(
    ("names", "where"),
    [(["node-1"], "node-1"), (["node-1", "node-2"], "2 nodes"), ([""], "several nodes")],
)
def test_a_note_names_the_nodes_whose_hardware_is_guessed(names: list[str], where: str) -> None:
    slices = [slice_of("gpu.nvidia.com", name, device("gpu-0", type="gpu")) for name in names]
    inputs = UpgradeInput(
        (), state_of(*map(node, names), *slices), versions={"gpu.nvidia.com": "25.12..0.4"}
    )
    notes = plan(inputs, "1.35", "1.36").not_compared
    assert any(note.startswith(f"gpu.nvidia.com on {where}: its present slices") for note in notes)


def test_driver_without_a_slice_is_reported_as_not_upgraded() -> None:
    inputs = UpgradeInput((), state_of(*BASE), versions={"gpu.nvidia.com": "0.4"})
    found = plan(inputs, "1.35", "1.36")
    assert "gpu.nvidia.com: the input has no slice of it" in found.not_compared
    assert not found.drivers


@pytest.mark.parametrize(
    ("start", "to", "said"),
    [
        ("1.35", "1.99", "unknown Kubernetes release 1.99"),
        ("1.36", "1.35", "1.36 to 1.35 is a downgrade"),
    ],
)
def test_upgrade_goes_to_a_known_later_release(start: str, to: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        path_of(start, to)


def test_slices_of_no_known_version_need_the_present_version() -> None:
    """None of them has an attribute of this name."""
    slices = slice_of("gpu.nvidia.com", "node-1", device("gpu-0", type="gpu", colour="red"))
    inputs = UpgradeInput((), state_of(*BASE, slices), versions={"gpu.nvidia.com": "0.4"})
    with pytest.raises(
        UsageError, match=r"the slices of gpu\.nvidia\.com fit no version that dractl knows"
    ) as error:
        plan(inputs, "1.35", "1.36")
    assert error.value.hint == "write gpu.nvidia.com=PRESENT..0.4"


def test_api_server_judges_recreated_objects_of_a_cluster() -> None:
    """Pods of a workload are made anew from its template, and a pod that runs is not made again."""
    owned = pod(
        "owned", metadata={"ownerReferences": [{"kind": "ReplicaSet", "name": "web", "uid": "w"}]}
    )
    ran = pod("ran", status={"phase": "Running"}, spec={"nodeName": "node-1"})
    web: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "ml"},
    }
    web["spec"] = {"template": {"spec": pod("p")["spec"]}}
    state = state_of(device_class("gpu", "true"), web, owned, ran, pod("waits"))
    assert {item.value["metadata"]["name"] for item in list_stored(state)} == {
        "gpu",
        "web",
        "waits",
    }
