"""Copies that fit, and the most that any order reaches, on small fleets: counted by hand, or by trying everything."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from dractl.allocation import Features
from dractl.capacity import (
    MaxCopies,
    added_nodes,
    find_stranded_devices,
    find_subject,
    max_copies,
    place_copies,
)
from dractl.capacity.added_nodes import AddedNodes
from dractl.capacity.placing import list_remaining_resources
from dractl.capacity.what_if import add_nodes, keep_node, remove_object
from dractl.cluster.sources import from_manifests
from dractl.errors import InputError, UsageError
from dractl.model.quantity import PLENTY
from dractl.scheduler.attempt import Scheduler
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

ROOT = "resource.kubernetes.io/pcieRoot"
FEATURES = Features.for_release("1.37")
GPU = device_class("gpu", "device.driver == 'gpu.example.com'")
NIC = device_class("nic", "device.driver == 'nic.example.com'")


def gpus(name: str, *roots: str) -> dict[str, Any]:
    return slice_of(
        "gpu.example.com",
        name,
        *(device(f"gpu-{i}", **{ROOT: root}) for i, root in enumerate(roots)),
    )


def nics(name: str, *roots: str) -> dict[str, Any]:
    return slice_of(
        "nic.example.com",
        name,
        *(device(f"nic-{i}", **{ROOT: root}) for i, root in enumerate(roots)),
    )


def template(name: str, *requests: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"spec": {"devices": {"requests": list(requests), **more}}},
    }


def fits(found: Any) -> dict[str, int]:
    return {one.name: one.fits for one in found.nodes}


PAIR = template(
    "pair", request("gpu", "gpu"), request("nic", "nic"), constraints=[{"matchAttribute": ROOT}]
)


def test_devices_without_a_partner_on_their_root_are_stranded() -> None:
    state = state_of(GPU, NIC, PAIR, node("a"), gpus("a", "r1", "r1", "r2"), nics("a", "r1", "r3"))
    found = place_copies(find_subject(state, "template/pair", "ml"), FEATURES)
    assert found.fits == 1
    left = find_stranded_devices(found, Scheduler(found.state, FEATURES), lambda _: "")
    assert {(one.pcie_root, one.devices) for one in left} == {
        ("r1", ("gpu.example.com/a/gpu-1",)),
        ("r2", ("gpu.example.com/a/gpu-2",)),
        ("r3", ("nic.example.com/a/nic-1",)),
    }


def test_a_claim_held_by_another_pod_is_not_given_again() -> None:
    held = claim(
        "held",
        request("gpu", "gpu"),
        status=allocation("a", ("gpu.example.com", "gpu-0"), pod="other"),
    )
    state = state_of(
        GPU, template("one", request("gpu", "gpu")), node("a"), gpus("a", "r1", "r1"), held
    )
    found = place_copies(find_subject(state, "template/one", "ml"), FEATURES)
    assert [one.devices for one in found.nodes] == [("gpu.example.com/a/gpu-1",)]


@pytest.mark.parametrize(
    ("most", "expected"), [(1, (1, 0)), (2, (1, 1)), (3, (2, 1)), (4, (2, 2)), (5, (2, 2))]
)
def test_no_more_copies_are_placed_than_asked_for(most: int, expected: tuple[int, int]) -> None:
    """The emptiest node is next, and the first by name among equals."""
    objects = (template("one", request("gpu", "gpu")), node("a"), node("b"))
    state = state_of(GPU, *objects, gpus("a", "r1", "r1"), gpus("b", "r1", "r1"))
    found = place_copies(find_subject(state, "template/one", "ml"), FEATURES, max_count=most)
    assert (found.fits, fits(found)) == (sum(expected), dict(zip("ab", expected, strict=True)))


def test_a_missing_class_is_nought_with_the_cause() -> None:
    state = state_of(template("one", request("gpu", "gpux")), GPU, node("a"), gpus("a", "r1"))
    found = place_copies(find_subject(state, "template/one", "ml"), FEATURES)
    assert found.fits == 0
    assert found.next_attempt.stops


def test_copies_of_one_claim_share_its_device() -> None:
    shared = claim("team", request("gpu", "gpu"))
    user = pod("user", {"name": "gpu", "resourceClaimName": "team"}, uid="u")
    small = {"pods": "5"}
    nodes = [node("a", allocatable=small), node("b", allocatable=small)]
    state = state_of(GPU, shared, user, *nodes, gpus("a", "r1"), gpus("b", "r1"))
    found = place_copies(find_subject(state, "pod/user", "ml"), FEATURES)
    assert found.fits == 5  # all on the node that the first one took
    assert sorted(fits(found).values()) == [0, 5]


def test_copies_of_a_pod_have_its_cpu_request() -> None:
    user = pod("user", {"name": "gpu", "resourceClaimTemplateName": "one"}, requests={"cpu": "2"})
    small = node("a", allocatable={"cpu": "5"})
    objects = [
        GPU,
        template("one", request("gpu", "gpu")),
        user,
        small,
        gpus("a", "r", "r", "r", "r"),
    ]
    assert place_copies(find_subject(state_of(*objects), "pod/user", "ml"), FEATURES).fits == 2


def test_only_resources_requested_by_copies_are_listed_as_remaining() -> None:
    """A described machine has room for anything of which nobody says how much it has."""
    asking = pod("user", {"name": "gpu", "resourceClaimTemplateName": "one"}, requests={"cpu": "3"})
    nodes = node("a"), node("b", allocatable={"cpu": PLENTY})
    state = state_of(
        GPU,
        template("one", request("gpu", "gpu")),
        *nodes,
        gpus("a", "r", "r"),
        gpus("b", "r"),
        asking,
    )
    found = place_copies(find_subject(state, "pod/user", "ml"), FEATURES)
    assert found.fits == 3
    assert {name: dict(amounts) for name, amounts in list_remaining_resources(found).items()} == {
        "a": {"cpu": "2"},
        "b": {},
    }


def test_a_selector_error_on_one_node_stops_all_copies() -> None:
    """dynamicresources.go Filter: an error of CEL on one node ends the attempt, whatever fits elsewhere."""
    selector = {"cel": {"expression": "device.attributes['gpu.example.com'].model == 'a'"}}
    fleets = [
        slice_of("gpu.example.com", "a", device("gpu-0", model="a")),
        slice_of("gpu.example.com", "b", device("d")),
    ]
    state = state_of(
        GPU,
        template("one", request("gpu", "gpu", selectors=[selector])),
        node("a"),
        node("b"),
        *fleets,
    )
    found = place_copies(find_subject(state, "template/one", "ml"), FEATURES)
    assert found.fits == 0
    assert (
        "claim ml/one-1-claim: selector #0 on device gpu.example.com/b/d: CEL runtime error"
        in str(found.next_attempt.message)
    )


def test_an_unproven_maximum_has_a_bound() -> None:
    """Devices that both nodes reach: no more copies than half of them. A claim that copies share bounds nothing."""
    far = slice_of("gpu.example.com", "any", *({"name": f"gpu-{i}"} for i in range(5)))
    del far["spec"]["nodeName"]
    far["spec"]["allNodes"] = True
    state = state_of(GPU, template("two", request("gpu", "gpu", 2)), far, node("a"), node("b"))
    found = place_copies(find_subject(state, "template/two", "ml"), FEATURES)
    assert (found.fits, max_copies(found, FEATURES)) == (2, MaxCopies(2, proven=True, bound=2))
    sized = request("gpu", "gpu", 2)
    either = {
        "name": "gpu",
        "firstAvailable": [{"name": f"n{n}", **sized["exactly"], "count": n} for n in (2, 1)],
    }
    state = state_of(GPU, template("either", either), far, node("a"), node("b"))
    found = place_copies(find_subject(state, "template/either", "ml"), FEATURES)
    assert (found.fits, max_copies(found, FEATURES)) == (3, MaxCopies(3, proven=False, bound=5))
    shared = pod("user", {"name": "gpu", "resourceClaimName": "one"})
    state = state_of(GPU, claim("one", request("gpu", "gpu")), shared, far, node("a"), node("b"))
    found = place_copies(find_subject(state, "pod/user", "ml"), FEATURES, max_count=9)
    assert (found.fits, max_copies(found, FEATURES)) == (9, MaxCopies(9, proven=False, bound=None))


def test_placing_ends_with_the_budget() -> None:
    state = state_of(
        GPU,
        template("one", request("gpu", "gpu")),
        *(node(name) for name in "abc"),
        *(gpus(name, *["r"] * count) for name, count in (("a", 2), ("b", 3), ("c", 4))),
    )
    whole = place_copies(find_subject(state, "template/one", "ml"), FEATURES)
    assert (fits(whole), whole.undecided) == ({"a": 2, "b": 3, "c": 4}, False)
    found = place_copies(find_subject(state, "template/one", "ml"), FEATURES, budget=3)
    assert (fits(found), found.undecided) == ({"a": 2, "b": 0, "c": 0}, True)


def test_copies_with_anti_affinity_are_placed_in_turn() -> None:
    repel = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "zone"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [repel]}}
    user = pod(
        "user",
        {"name": "gpu", "resourceClaimTemplateName": "one"},
        metadata={"labels": {"app": "x"}},
    )
    user["spec"]["affinity"] = affinity
    nodes = [
        node(name, labels={"zone": zone}) for name, zone in (("a", "1"), ("b", "1"), ("c", "2"))
    ]
    slices = [gpus(name, "r", "r") for name in "abc"]
    state = state_of(GPU, template("one", request("gpu", "gpu")), user, *nodes, *slices)
    found = place_copies(find_subject(state, "pod/user", "ml"), FEATURES)
    assert sorted(fits(found).values()) == [0, 1, 1]


def test_an_extended_resource_of_a_class_needs_no_node_capacity() -> None:
    provider = {**GPU, "spec": {**GPU["spec"], "extendedResourceName": "example.com/gpu"}}
    user = pod("user", requests={"example.com/gpu": "1"})
    user["spec"]["containers"][0]["resources"]["limits"] = {"example.com/gpu": "1"}
    user["spec"].pop("resourceClaims", None)
    state = state_of(provider, user, node("a"), node("b"), gpus("a", "r", "r", "r"), gpus("b", "r"))
    assert fits(place_copies(find_subject(state, "pod/user", "ml"), FEATURES)) == {"a": 3, "b": 1}


@pytest.mark.parametrize(
    ("asks", "busy", "port", "fits"),
    [
        ({}, "", 0, 4),
        ({"cpu": "3"}, "", 0, 2),
        ({"cpu": "3"}, "3", 0, 1),
        ({"cpu": "9"}, "", 0, 0),
        ({}, "", 80, 1),
    ],
)
def test_cpu_and_memory_of_the_node_limit_the_maximum(
    asks: dict[str, str], busy: str, port: int, fits: int
) -> None:
    """NodeResourcesFit and NodePorts: the node has 8 CPUs and four devices."""
    own = pod("p", {"name": "d", "resourceClaimTemplateName": "one"}, requests=asks)
    own["spec"]["containers"][0]["ports"] = [{"hostPort": port}] if port else []
    other = pod("busy", requests={"cpu": busy}, spec={"nodeName": "a"}, status={"phase": "Running"})
    one = template("one", request("gpu", "gpu"))
    state = state_of(GPU, one, node("a"), gpus("a", *["r"] * 4), own, *([other] if busy else []))
    found = max_copies(place_copies(find_subject(state, "pod/p", "ml"), FEATURES), FEATURES)
    assert (found.fits, found.proven) == (fits, True)


def test_the_class_limits_the_maximum_of_an_extended_resource() -> None:
    """The node offers none of example.com/gpu: the class's devices count (extended resources of DRA)."""
    provider = {**GPU, "spec": {**GPU["spec"], "extendedResourceName": "example.com/gpu"}}
    user = pod("user", requests={"example.com/gpu": "1"})
    user["spec"]["containers"][0]["resources"]["limits"] = {"example.com/gpu": "1"}
    user["spec"].pop("resourceClaims", None)
    state = state_of(provider, user, node("a"), gpus("a", "r", "r", "r"))
    found = max_copies(place_copies(find_subject(state, "pod/user", "ml"), FEATURES), FEATURES)
    assert (found.fits, found.proven) == (3, True)


def test_changes_work_without_node_objects() -> None:
    """Slices name their nodes, and a node keeps its pools apart."""
    state = state_of(
        GPU, template("one", request("gpu", "gpu")), gpus("a", "r", "r"), gpus("b", "r")
    )

    def counted(changed: Any) -> dict[str, int]:
        return fits(place_copies(find_subject(changed, "template/one", "ml"), FEATURES))

    assert counted(state) == {"a": 2, "b": 1}
    assert counted(keep_node(state, "b")) == {"b": 1}
    assert counted(remove_object(state, "node/b", None)) == {"a": 2}
    near, far = gpus("x", "r", "r"), gpus("x", "r")
    near["spec"]["pool"]["name"], far["spec"]["pool"]["name"] = "x-near", "far"
    far["metadata"]["name"] = "other"
    assert counted(add_nodes(state, state_of(near, far), 2, "h")) == {
        "a": 2,
        "b": 1,
        "h-1": 3,
        "h-2": 3,
    }


def test_nodes_are_removed_and_added() -> None:
    state = state_of(
        GPU,
        template("one", request("gpu", "gpu")),
        node("a"),
        gpus("a", "r"),
        node("b"),
        gpus("b", "r"),
    )
    asked = find_subject(state, "template/one", "ml")
    assert place_copies(asked, FEATURES).fits == 2
    smaller = remove_object(state, "node/b", None)
    assert place_copies(find_subject(smaller, "template/one", "ml"), FEATURES).fits == 1
    larger = add_nodes(state, state_of(gpus("x", "r", "r", "r")), 2, "h")
    assert fits(place_copies(find_subject(larger, "template/one", "ml"), FEATURES)) == {
        "a": 1,
        "b": 1,
        "h-1": 3,
        "h-2": 3,
    }
    assert fits(
        place_copies(find_subject(keep_node(state, "b"), "template/one", "ml"), FEATURES)
    ) == {"b": 1}


def claims_with_gpus(count: int) -> list[dict[str, Any]]:
    """Return claims and pods that hold a GPU of node a each: two of a Deployment, the rest bare."""
    objects = []
    for number in range(count):
        device_of_claim = ("gpu.example.com", f"gpu-{number}")
        status = allocation("a", device_of_claim, pod=f"p{number}")
        held = claim(f"c{number}", request("r", "gpu"), status=status)
        user = pod(
            f"p{number}",
            {"name": "gpu", "resourceClaimName": f"c{number}"},
            spec={"nodeName": "a"},
            status={"phase": "Running"},
            metadata={"uid": f"uid-p{number}"},
        )
        if number < 2:
            owner = {"kind": "ReplicaSet", "apiVersion": "apps/v1", "name": "web-1", "uid": "r"}
            user["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
        objects += [held, user]
    return objects


def workload(kind: str, name: str, owner: str = "") -> dict[str, Any]:
    owners = [{"kind": "Deployment", "apiVersion": "apps/v1", "name": owner, "uid": "d"}]
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": "ml",
            **({"ownerReferences": [{**owners[0], "controller": True}]} if owner else {}),
        },
        "spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "main"}]}}},
    }


@pytest.mark.parametrize(
    ("target", "free"),
    [
        ("deploy/web", 2),
        ("deployments/ml/web", 2),
        ("rs/web-1", 2),
        ("ns/ml", 3),
        ("namespace/ml", 3),
    ],
)
def test_workloads_and_namespaces_are_removed(target: str, free: int) -> None:
    """Claims by name outlive their pods; what nothing reserves is released by the controller."""
    owners = [workload("Deployment", "web"), workload("ReplicaSet", "web-1", "web")]
    state = state_of(
        GPU,
        template("one", request("gpu", "gpu")),
        node("a"),
        gpus("a", "r", "r", "r"),
        *owners,
        *claims_with_gpus(3),
    )
    assert place_copies(find_subject(state, "template/one", "ml"), FEATURES).fits == 0
    smaller = remove_object(state, target, None)
    assert place_copies(find_subject(smaller, "template/one", "ml"), FEATURES).fits == free


def test_unremovable_objects_are_refused_with_a_hint() -> None:
    state = state_of(GPU, PAIR, node("a"), gpus("a", "r"), *claims_with_gpus(1))
    with pytest.raises(InputError, match="no pod and no claim is in namespace mll") as raised:
        remove_object(state, "ns/mll", None)
    assert raised.value.hint == "there is ml"
    with pytest.raises(UsageError, match="unknown kind 'deplyo'; did you mean deploy"):
        remove_object(state, "deplyo/web", None)
    with pytest.raises(UsageError, match="a DeviceClass holds no devices"):
        remove_object(state, "deviceclass/gpu", None, {"deviceclass": "DeviceClass"})
    with pytest.raises(UsageError, match="missing kind") as raised:
        remove_object(state, "p0", None)
    assert raised.value.hint == "write pod/p0"
    with pytest.raises(InputError, match="no deployment web"):
        remove_object(state, "deploy/web", None)


def test_unknown_names_get_the_nearest() -> None:
    state = state_of(GPU, PAIR, node("gpu-1"), gpus("gpu-1", "r"))
    with pytest.raises(InputError) as raised:
        find_subject(state, "template/pairs", "ml")
    assert "pair" in (raised.value.hint or "")
    with pytest.raises(UsageError, match="did you mean"):
        find_subject(state, "tempalte/pair", "ml")
    with pytest.raises(InputError) as gone:
        remove_object(state, "node/gpu-2", None)
    assert "gpu-1" in (gone.value.hint or "")


def test_a_spent_budget_leaves_a_count_undecided() -> None:
    shared = [node(f"n{i}") for i in range(4)]
    spread = [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": {"a": "b"}},
        }
    ]
    user = pod(
        "user",
        {"name": "gpu", "resourceClaimTemplateName": "one"},
        uid="u",
        metadata={"labels": {"a": "b"}},
    )
    user["spec"]["topologySpreadConstraints"] = spread
    slices = [gpus(f"n{i}", *["r"] * 6) for i in range(4)]
    state = state_of(GPU, template("one", request("gpu", "gpu")), user, *shared, *slices)
    found = place_copies(find_subject(state, "pod/user", "ml"), FEATURES, budget=20)
    assert found.undecided
    assert 0 < found.fits < 24
    assert place_copies(find_subject(state, "pod/user", "ml"), FEATURES).fits == 24


@settings(max_examples=60, deadline=None)
@given(
    roots=st.lists(st.sampled_from(["r1", "r2", "r3"]), min_size=1, max_size=6),
    sizes=st.sampled_from([(1,), (2,), (1, 1), (2, 1)]),
    same=st.booleans(),
)
def test_the_maximum_of_devices_equals_an_exhaustive_search(
    roots: list[str], sizes: tuple[int, ...], same: bool
) -> None:
    requests = [request(f"r{i}", "gpu", count) for i, count in enumerate(sizes)]
    constraints = [{"matchAttribute": ROOT}] if same else []
    state = state_of(
        GPU, template("t", *requests, constraints=constraints), node("a"), gpus("a", *roots)
    )
    found = place_copies(find_subject(state, "template/t", "ml"), FEATURES)
    packed = max_copies(found, FEATURES)
    assert packed.proven
    assert packed.fits == exhaustive(roots, sum(sizes), same)
    assert found.fits <= packed.fits


def exhaustive(roots: list[str], wants: int, same: bool) -> int:
    """Disjoint sets of ``wants`` devices, each on one root if ``same``: as many as any choice gives."""

    def best(free: frozenset[int]) -> int:
        found = 0
        for chosen in combinations(sorted(free), wants):
            if not same or len({roots[i] for i in chosen}) == 1:
                found = max(found, 1 + best(free - frozenset(chosen)))
        return found

    return best(frozenset(range(len(roots))))


def test_copies_with_victims_are_not_counted() -> None:
    """defaultpreemption: a node's CPU is freed by pods of lower priority, devices are not."""
    small = {"cpu": "4"}
    low = pod(
        "low",
        requests={"cpu": "3"},
        spec={"nodeName": "a", "priority": 1},
        status={"phase": "Running"},
    )
    user = pod(
        "user", {"name": "gpu", "resourceClaimTemplateName": "one"}, requests={"cpu": "2"}, uid="u"
    )
    user["spec"]["priority"] = 10
    objects = [
        GPU,
        template("one", request("gpu", "gpu")),
        node("a", allocatable=small),
        gpus("a", "r", "r"),
        low,
        user,
    ]
    found = place_copies(find_subject(state_of(*objects), "pod/user", "ml"), FEATURES)
    assert found.fits == 0
    assert found.preempts == (("a", ("ml/low",)),)
    held = claim(
        "held", request("r", "gpu"), status=allocation("a", ("gpu.example.com", "gpu-0"), pod="low")
    )
    other = claim(
        "other",
        request("r", "gpu"),
        status=allocation("a", ("gpu.example.com", "gpu-1"), pod="low"),
    )
    found = place_copies(find_subject(state_of(*objects, held, other), "pod/user", "ml"), FEATURES)
    assert (found.fits, found.preempts) == (0, ())


def shareable_device(name: str, memory: str) -> dict[str, Any]:
    return {
        "name": name,
        "capacity": {"memory": {"value": memory}},
        "allowMultipleAllocations": True,
    }


def test_the_remaining_capacity_of_shared_devices_is_stranded() -> None:
    asks = request("gpu", "gpu", capacity={"requests": {"memory": "30Gi"}})
    fleet = slice_of(
        "gpu.example.com", "a", shareable_device("gpu-0", "40Gi"), shareable_device("gpu-1", "60Gi")
    )
    state = state_of(GPU, template("part", asks), node("a"), fleet)
    found = place_copies(find_subject(state, "template/part", "ml"), FEATURES)
    assert found.fits == 3
    left = find_stranded_devices(found, Scheduler(found.state, FEATURES), lambda _: "")
    assert [(one.devices, one.why) for one in left] == [
        (("gpu.example.com/a/gpu-0",), "capacity memory: wants 30Gi, 10Gi of 40Gi is free")
    ]


def partition(name: str, size: int) -> dict[str, Any]:
    taken = [{"counterSet": "gpu-0", "counters": {"slices": {"value": str(size)}}}]
    return {"name": name, "attributes": {}, "consumesCounters": taken}


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=6),
    total=st.integers(1, 9),
    wants=st.integers(1, 2),
)
def test_the_maximum_of_partitions_equals_an_exhaustive_search(
    sizes: list[int], total: int, wants: int
) -> None:
    parts = slice_of(
        "gpu.example.com", "a", *(partition(f"p{i}", size) for i, size in enumerate(sizes))
    )
    counters = slice_of("gpu.example.com", "a")
    counters["metadata"]["name"] += "-counters"
    counters["spec"]["sharedCounters"] = [
        {"name": "gpu-0", "counters": {"slices": {"value": str(total)}}}
    ]
    for made in (parts, counters):
        made["spec"]["pool"]["resourceSliceCount"] = 2
    del counters["spec"]["devices"]
    state = state_of(GPU, template("t", request("gpu", "gpu", wants)), node("a"), parts, counters)
    found = place_copies(find_subject(state, "template/t", "ml"), FEATURES)
    packed = max_copies(found, FEATURES)
    chosen = [c for n in range(len(sizes) + 1) for c in combinations(sizes, n) if sum(c) <= total]
    assert packed.proven
    assert packed.fits == max(len(c) // wants for c in chosen)
    assert found.fits <= packed.fits


@settings(max_examples=60, deadline=None)
@given(
    devices=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    wants=st.lists(st.integers(1, 4), min_size=1, max_size=2),
)
def test_the_maximum_of_shares_equals_an_exhaustive_search(
    devices: list[int], wants: list[int]
) -> None:
    asks = [
        request(f"r{i}", "gpu", capacity={"requests": {"memory": f"{amount}Gi"}})
        for i, amount in enumerate(wants)
    ]
    fleet = slice_of(
        "gpu.example.com",
        "a",
        *(shareable_device(f"d{i}", f"{size}Gi") for i, size in enumerate(devices)),
    )
    state = state_of(GPU, template("t", *asks), node("a"), fleet)
    found = place_copies(find_subject(state, "template/t", "ml"), FEATURES)
    packed = max_copies(found, FEATURES)
    assert packed.proven
    assert packed.fits == shares(tuple(devices), wants)
    assert found.fits <= packed.fits


def shares(free: tuple[int, ...], wants: list[int]) -> int:
    """Copies of which each takes an amount of one device for every request of ``wants``."""

    @cache  # devices with as much left are alike
    def fits(left: tuple[int, ...], amounts: tuple[int, ...]) -> bool:
        if not amounts:
            return True
        rest = amounts[1:]
        return any(
            fits(tuple(sorted((*left[:i], size - amounts[0], *left[i + 1 :]))), rest)
            for i, size in enumerate(left)
            if size >= amounts[0]
        )

    copies = 0
    while fits(tuple(sorted(free)), tuple(wants) * (copies + 1)):
        copies += 1
    return copies


def anywhere(driver: str, *names: str) -> dict[str, Any]:
    """Devices that every node reaches."""
    made = slice_of(driver, "fabric", *(device(name) for name in names))
    del made["spec"]["nodeName"]
    made["spec"]["allNodes"] = True
    return made


def test_devices_of_all_nodes_are_allocated_once() -> None:
    one = template("one", request("nic", "nic"))
    shared = anywhere("nic.example.com", "n-0", "n-1", "n-2")
    found = place_copies(
        find_subject(state_of(NIC, GPU, one, node("a"), node("b"), shared), "template/one", "ml"),
        FEATURES,
    )
    assert found.fits == 3
    # Those of another driver change nothing for copies that do not ask for them.
    state = state_of(
        NIC,
        GPU,
        template("two", request("g", "gpu")),
        node("a"),
        gpus("a", "r", "r"),
        node("b"),
        shared,
    )
    assert fits(place_copies(find_subject(state, "template/two", "ml"), FEATURES)) == {
        "a": 2,
        "b": 0,
    }


def test_copies_of_a_workload_have_the_labels_of_its_template() -> None:
    """Replicas that repel each other by their own label: one on each node, however many devices are free."""
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    required = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    copy = pod("x", {"name": "g", "resourceClaimTemplateName": "one"}, spec={"affinity": required})[
        "spec"
    ]
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "ml"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": copy},
        },
    }
    nodes = [item for name in ("a", "b") for item in (node(name), gpus(name, "r", "r", "r"))]
    state = state_of(GPU, template("one", request("gpu", "gpu")), deployment, *nodes)
    assert fits(place_copies(find_subject(state, "deploy/web", "ml"), FEATURES)) == {"a": 1, "b": 1}


def test_an_input_without_nodes_is_no_cluster_without_nodes() -> None:
    """Only ``--add`` makes the added nodes the only ones."""
    written = from_manifests([GPU])
    machine = state_of(gpus("h", "r"))
    additions = (AddedNodes("--add", "h", 2),)
    assert not added_nodes.add_nodes(written, (), lambda _: machine).shows("Node")
    assert added_nodes.add_nodes(written, additions, lambda _: machine).shows("Node")
