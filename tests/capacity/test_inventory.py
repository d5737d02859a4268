"""Devices, their states and what somebody has to clean up."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pytest

from dractl.allocation import Features
from dractl.capacity import find_problems, list_device_plugins, take_inventory
from dractl.capacity.device_plugins import device_plugin_allocations
from dractl.report.canvas import Canvas
from dractl.report.capacity import text as capacity_text
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

FEATURES = Features.for_release("1.37")
GPU = device_class("gpu", "device.driver == 'gpu.nvidia.com'")


def gpus(name: str, *devices: dict[str, Any], **pool: Any) -> dict[str, Any]:
    return slice_of("gpu.nvidia.com", name, *devices, **pool)


def make_claim(
    name: str, device_name: str, pod_name: str | None = None, **metadata: Any
) -> dict[str, Any]:
    status = allocation("a", ("gpu.nvidia.com", device_name), pod=pod_name)
    made = claim(name, request("r", "gpu"), status=status)
    made["metadata"] |= metadata
    return made


class InventoryAndProblems(NamedTuple):
    """An inventory, the states of its devices by name, and the codes of its problems."""

    stock: Any
    states: dict[str, str]
    problems: list[str]


def inventory_of(*objects: dict[str, Any]) -> InventoryAndProblems:
    state = state_of(GPU, *objects)
    stock = take_inventory(state, FEATURES)
    found = find_problems(state, stock, list_device_plugins(state))
    states = {row.id.device: row.state for row in stock.devices}
    return InventoryAndProblems(stock, states, [p.code for p in found])


def test_each_device_has_its_state() -> None:
    sick = device("gpu-2", taints=[{"key": "xid", "value": "79", "effect": "NoExecute"}])
    fleet = gpus("a", device("gpu-0"), device("gpu-1", productName="H100"), sick)
    stock, states, found = inventory_of(
        node("a"), fleet, pod("p"), make_claim("c", "gpu-0", "p"), make_claim("old", "gpu-9", "p")
    )
    assert states == {"gpu-0": "held", "gpu-1": "free", "gpu-2": "tainted", "gpu-9": "gone"}
    rows = {row.id.device: row for row in stock.devices}
    assert rows["gpu-1"].model == "H100"
    assert rows["gpu-1"].classes == ("gpu",)
    assert rows["gpu-0"].holders[0].pod == "ml/p"
    assert rows["gpu-2"].taints == ("xid=79:NoExecute",)
    assert found == ["device-gone"]


@pytest.mark.parametrize(
    ("numa", "said"), [({"int": 1}, 1), ({"ints": [1, 3]}, 1), ({"string": "1"}, None), ({}, None)]
)
def test_a_device_row_names_its_root_and_numa_node(numa: dict[str, Any], said: int | None) -> None:
    """A device between NUMA nodes publishes a list of them since 1.36 (KEP-5491)."""
    where = device("gpu-0", **{"resource.kubernetes.io/pcieRoot": "pci0000:00"})
    where["attributes"] |= {"resource.kubernetes.io/numaNode": numa} if numa else {}
    (row,) = inventory_of(node("a"), gpus("a", where))[0].devices
    assert (row.pcie_root, row.numa_node) == ("pci0000:00", said)


@pytest.mark.parametrize(
    ("ready", "state", "codes"), [("True", "held", []), ("False", "gone", ["device-gone"])]
)
def test_an_interface_moved_into_a_pod_is_held(ready: str, state: str, codes: list[str]) -> None:
    """dra.net 1.4.0 publishes it no longer, and says in the claim's status that it is ready."""
    moved = make_claim("c", "gpu-9", "p")
    condition = {"type": "Ready", "status": ready, "reason": "NetworkDeviceReady"}
    device_status = {
        "driver": "gpu.nvidia.com",
        "pool": "a",
        "device": "gpu-9",
        "conditions": [condition],
    }
    moved["status"]["devices"] = [device_status]
    _, states, found = inventory_of(node("a"), gpus("a", device("gpu-0")), pod("p"), moved)
    assert (states["gpu-9"], found) == (state, codes)


def test_an_unhealthy_device_is_a_problem() -> None:
    """As kubelet 1.37.1 reports it in the status of the pod (KEP-4680)."""
    resource = {
        "health": "Unhealthy",
        "message": "ECC page retirement limit reached",
        "resourceID": "x/device=7-gpu-0",
    }
    status = {
        "name": "main",
        "allocatedResourcesStatus": [{"name": "claim:g", "resources": [resource]}],
    }
    user = pod(
        "p",
        {"name": "g", "resourceClaimName": "c"},
        spec={"nodeName": "a"},
        status={"phase": "Running", "containerStatuses": [status]},
    )
    state = state_of(
        GPU, node("a"), gpus("a", device("gpu-0")), user, make_claim("c", "gpu-0", "p")
    )
    (problem,) = find_problems(state, take_inventory(state, FEATURES), list_device_plugins(state))
    assert (problem.code, problem.objects) == (
        "device-unhealthy",
        ("gpu.nvidia.com/a/gpu-0", "Pod/ml/p"),
    )
    assert "ECC page retirement" in problem.message


def test_a_pool_with_slices_missing_cannot_be_used() -> None:
    stock, states, found = inventory_of(node("a"), gpus("a", device("gpu-0"), resourceSliceCount=2))
    assert states == {"gpu-0": "incomplete"}
    assert stock.pools[0].available is None
    assert found == ["pool-incomplete"]


def test_claims_without_a_running_pod_are_problems() -> None:
    ended = pod("ended", status={"phase": "Succeeded"})
    objects = [
        make_claim("unused", "gpu-0"),
        make_claim("done", "gpu-1", "ended"),
        make_claim(
            "leaving", "gpu-2", "p", deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["f"]
        ),
        make_claim("used", "gpu-3", "p"),
    ]
    fleet = gpus("a", *(device(f"gpu-{i}") for i in range(4)))
    _, _, found = inventory_of(node("a"), fleet, pod("p"), ended, *objects)
    assert found == ["pod-finished", "claim-deleting", "claim-unused"]


def test_an_unused_claim_is_deleted_in_its_namespace() -> None:
    state = state_of(GPU, node("a"), gpus("a", device("gpu-0")), make_claim("unused", "gpu-0"))
    (problem,) = find_problems(state, take_inventory(state, FEATURES), list_device_plugins(state))
    assert [step.command for step in problem.next] == ["kubectl delete resourceclaim unused -n ml"]


def test_a_device_in_two_claims_is_a_problem() -> None:
    users = [pod("p"), pod("q")]
    _, _, found = inventory_of(
        node("a"),
        gpus("a", device("gpu-0")),
        *users,
        make_claim("c", "gpu-0", "p"),
        make_claim("d", "gpu-0", "q"),
    )
    assert found == ["device-twice"]


def test_a_device_plugin_beside_a_driver_is_a_problem() -> None:
    worker = node("a", allocatable={"nvidia.com/gpu": "1", "example.com/other": "3"})
    user = pod(
        "p", requests={"nvidia.com/gpu": "1"}, spec={"nodeName": "a"}, status={"phase": "Running"}
    )
    state = state_of(GPU, worker, gpus("a", device("gpu-0")), user)
    (row,) = list_device_plugins(state)
    assert (row.resource, row.allocatable, row.requested) == ("nvidia.com/gpu", 1, 1)
    assert [p.code for p in find_problems(state, take_inventory(state, FEATURES), (row,))] == [
        "offered-twice"
    ]


@pytest.mark.parametrize(
    ("resource", "offered", "said"),
    [
        ("nvidia.com/gpu", 1, "1 GPU is also offered as nvidia.com/gpu, 1 of them in use"),
        (
            "nvidia.com/mig-1g.10gb",
            2,
            "2 devices are also offered as nvidia.com/mig-1g.10gb, 1 of them in use",
        ),
    ],
)
def test_devices_in_use_through_a_plugin_are_described(
    resource: str, offered: int, said: str
) -> None:
    worker = node("a", allocatable={resource: str(offered)})
    user = pod("p", requests={resource: "1"}, spec={"nodeName": "a"}, status={"phase": "Running"})
    (found,) = device_plugin_allocations(
        state_of(worker, slice_of("gpu.nvidia.com", "a", device("gpu-0")), user)
    )
    assert str(found) == f"node a: {said}"


def test_a_node_with_a_device_plugin_only_is_no_problem() -> None:
    state = state_of(node("a", allocatable={"amd.com/gpu": "8"}))
    assert [row.resource for row in list_device_plugins(state)] == ["amd.com/gpu"]
    assert find_problems(state, take_inventory(state, FEATURES), list_device_plugins(state)) == ()


def test_devices_of_an_absent_pool_are_on_the_node_of_their_claim() -> None:
    held = claim(
        "c", request("r", "gpu"), status=allocation("a", ("gpu.example.com", "gpu-0"), pod="p")
    )
    (row,) = take_inventory(state_of(GPU, node("a"), held), Features.for_release("1.37")).devices
    assert (row.state, row.node) == ("gone", "a")


@pytest.mark.parametrize(("phase", "codes"), [("Running", []), ("Succeeded", ["pod-finished"])])
def test_a_claim_kept_by_a_pod_group_is_a_problem(phase: str, codes: list[str]) -> None:
    held = claim("c", request("r", "gpu"), status=allocation("a", ("gpu.example.com", "gpu-0")))
    held["status"]["reservedFor"] = [{"resource": "podgroups", "name": "ring", "uid": "u"}]
    group = {"schedulingGroup": {"podGroupName": "ring"}, "nodeName": "a"}
    member = pod("w", {"name": "r", "resourceClaimName": "c"}, spec=group, status={"phase": phase})
    state = state_of(
        GPU, node("a"), slice_of("gpu.example.com", "a", device("gpu-0")), held, member
    )
    stock = take_inventory(state, Features.for_release("1.37"))
    found = find_problems(state, stock, list_device_plugins(state))
    assert [one.code for one in found] == codes
    assert all("for PodGroup ring, whose pods have all ended" in one.message for one in found)


def test_slices_of_a_deleted_node_are_a_problem() -> None:
    _, _, found = inventory_of(node("b"), gpus("a", device("gpu-0")))
    assert found == ["node-gone"]


def test_a_device_out_of_service_is_not_available() -> None:
    """Counts as pkg/controller/resourcepoolstatusrequest/views.go makes them."""
    sick = device("gpu-2", taints=[{"key": "xid", "value": "79", "effect": "NoSchedule"}])
    fleet = gpus("a", device("gpu-0"), device("gpu-1"), sick, device("gpu-3"))
    (row,) = inventory_of(node("a"), fleet, pod("p"), make_claim("c", "gpu-0", "p"))[0].pools
    assert (row.total, row.allocated, row.unavailable, row.available) == (4, 1, 1, 2)


def test_a_pool_counts_shared_capacity_counters_and_partitions() -> None:
    """Counts as pkg/controller/resourcepoolstatusrequest/views.go makes them."""
    share = {
        "name": "nic-0",
        "allowMultipleAllocations": True,
        "capacity": {"bandwidth": {"value": "100G"}},
    }
    nics = slice_of("nic.example.com", "a", share, {**share, "name": "nic-1"}, {"name": "nic-2"})
    users = claim(
        "nic", request("r", "nic"), status=allocation("a", ("nic.example.com", "nic-0"), pod="p")
    )
    others = claim(
        "nic-too",
        request("r", "nic"),
        status=allocation("a", ("nic.example.com", "nic-0"), pod="p"),
    )
    for user, amount, share_id in ((users, "20G", "94fea872"), (others, "10G", "a1b2c3d4")):
        user["status"]["allocation"]["devices"]["results"][0] |= {
            "consumedCapacity": {"bandwidth": amount},
            "shareID": f"{share_id}-bd00-4722-877d-33e31a9d6b13",
        }
    counted = gpus("a")
    counted["metadata"]["name"] = "counters"
    del counted["spec"]["devices"]
    counted["spec"]["sharedCounters"] = [{"name": "gpu-0", "counters": {"slices": {"value": "7"}}}]
    parts = gpus("a", *(partition(f"p{i}", size) for i, size in enumerate((3, 3, 3, 1))))
    parts["spec"]["partitionTypeAttribute"] = "gpu.nvidia.com/profile"
    for made in (counted, parts):
        made["spec"]["pool"]["resourceSliceCount"] = 2
    stock, states, _ = inventory_of(
        node("a"), nics, users, others, counted, parts, make_claim("c", "p0", "p"), pod("p")
    )
    pools = {row.driver: row for row in stock.pools}
    shares = pools["nic.example.com"].shared
    assert shares is not None
    assert (shares.full, shares.partial) == (1, 1)
    assert [(a.name, a.total, a.consumed, a.remaining) for a in shares.capacity] == [
        ("bandwidth", "200G", "30G", "170G")
    ]
    ((name, (amount,)),) = pools["gpu.nvidia.com"].counters
    assert (name, amount.name, amount.remaining) == ("gpu-0", "slices", "4")
    rows = [(row.type, row.total, row.allocatable) for row in pools["gpu.nvidia.com"].partitions]
    assert rows == [("1g", 1, 1), ("3g", 3, 1)]
    assert states["p1"] == "free"
    assert next(row for row in stock.devices if row.id.device == "p0").requests == ("r",)


def test_partitions_are_counted_only_where_a_type_is_a_size() -> None:
    """A type whose devices take different amounts, or a partition without a type, says nothing about what fits."""
    odd = {**partition("p1", 2), "attributes": {"profile": {"string": "3g"}}}
    for second in (odd, {**partition("p1", 3), "attributes": {}}):
        parts = gpus("a", partition("p0", 3), second)
        parts["spec"]["partitionTypeAttribute"] = "gpu.nvidia.com/profile"
        counted = gpus("a")
        counted["metadata"]["name"] = "counters"
        del counted["spec"]["devices"]
        counted["spec"]["sharedCounters"] = [
            {"name": "gpu-0", "counters": {"slices": {"value": "7"}}}
        ]
        for made in (counted, parts):
            made["spec"]["pool"]["resourceSliceCount"] = 2
        stock, states, _ = inventory_of(node("a"), counted, parts)
        assert [row.partitions for row in stock.pools] == [()]
        assert states == {"p0": "free", "p1": "free"}


def partition(name: str, size: int) -> dict[str, Any]:
    takes = [{"counterSet": "gpu-0", "counters": {"slices": {"value": str(size)}}}]
    return {
        "name": name,
        "attributes": {"profile": {"string": f"{size}g"}},
        "consumesCounters": takes,
    }


def test_partitions_are_counted_beside_their_devices() -> None:
    """Overlapping partitions are all free until one is taken: the number of devices would mislead."""
    counted = gpus("a")
    counted["metadata"]["name"] = "counters"
    del counted["spec"]["devices"]
    counted["spec"]["sharedCounters"] = [
        {"name": name, "counters": {"slices": {"value": "7"}}} for name in ("gpu-0", "gpu-1")
    ]
    parts = gpus("a", *(partition(f"p{i}", 3) for i in range(3)))
    for made in (counted, parts):
        made["spec"]["pool"]["resourceSliceCount"] = 2
    stock, _, _ = inventory_of(node("a"), counted, parts, make_claim("c", "p0", "p"), pod("p"))
    text = capacity_text.devices(stock, (), (), Canvas(120))
    assert "2     1     1  ml/p; 2 of 3 partitions possible" in text


@pytest.mark.parametrize("width", [48, 60, 66, 80, 120])
def test_numbers_and_holders_stay_readable_on_every_terminal(width: int) -> None:
    """Models give way first, then holders: two columns are never cut into each other."""
    model = "NVIDIA H100 80GB HBM3"
    devices = [device(f"gpu-{i}", productName=model) for i in range(8)]
    claims = [make_claim(f"c{i}", f"gpu-{i}", f"trainer-{i}") for i in range(3)]
    pods = [pod(f"trainer-{i}") for i in range(3)]
    stock, _, _ = inventory_of(node("a"), gpus("a", *devices), *pods, *claims)
    head, row, *rest = capacity_text.devices(stock, (), (), Canvas(width)).splitlines()
    assert max(len(head), len(row)) <= width
    assert "…" not in head
    assert head.split()[:2] == ["NODE", "DRIVER"]
    end = head.index("HELD") + len("HELD")
    assert row[:end].split()[-3:] == ["8", "5", "3"]
    left_out = [name for name in ("MODEL", "HELD BY") if name not in head]
    assert left_out == {48: ["MODEL", "HELD BY"], 60: ["MODEL"], 66: ["MODEL"]}.get(width, [])
    assert ("hidden: " in " ".join(rest)) == bool(left_out)
    if "HELD BY" in head:
        assert "ml/trainer-0" in row
        assert row.endswith("ml/trainer-2") or re.search(r"trainer-[01] \+[12]$", row)
