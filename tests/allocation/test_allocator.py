"""The allocator gives the devices of kube-scheduler, or its message."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.allocation import (
    Allocated,
    AllocatedState,
    DeviceID,
    Exhausted,
    Fatal,
    Features,
    NoAllocator,
    NodeError,
    Unallocatable,
    apply_taint_rules,
    as_json,
)
from dractl.errors import Unsupported, UsageError
from dractl.model import decode

from .conftest import API, Cluster, claim, node, taken, want


def gpu(name: str, **attributes: Any) -> dict[str, Any]:
    kinds = {int: "int", str: "string", bool: "bool"}
    return {"name": name, "attributes": {key: {kinds[type(v)]: v} for key, v in attributes.items()}}


def test_takes_the_first_devices_in_the_order_of_drivers_pools_slices_and_devices(
    cluster: Cluster,
) -> None:
    cluster.pool("gpu.io", [gpu("b"), gpu("a")], "pool-2").pool("gpu.io", [gpu("z")], "pool-1")
    verdict = cluster.allocator().allocate(node(), [claim(want("r", "gpu.io", 2))])
    assert taken(verdict) == ["r=z", "r=b"]


def test_default_mode_and_count_ask_for_one_device(cluster: Cluster) -> None:
    cluster.pool("gpu.io", [gpu("a"), gpu("b")])
    verdict = cluster.allocator().allocate(
        node(), [claim({"name": "r", "exactly": {"deviceClassName": "gpu.io"}})]
    )
    assert taken(verdict) == ["r=a"]


def test_local_devices_pin_the_claim_to_the_node(cluster: Cluster) -> None:
    cluster.pool("gpu.io", [gpu("a")])
    verdict = cluster.allocator().allocate(node(), [claim(want("r", "gpu.io"))])
    assert isinstance(verdict, Allocated)
    assert as_json(verdict.results[0])["nodeSelector"] == {
        "nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}
        ]
    }


def test_backtracks_over_requests(cluster: Cluster) -> None:
    cluster.pool("gpu.io", [gpu("a", big=True), gpu("b", big=False)])
    requests = want("any", "gpu.io"), want("big", "gpu.io", 1, 'device.attributes["gpu.io"].big')
    verdict = cluster.allocator().allocate(node(), [claim(*requests)])
    assert taken(verdict) == ["any=b", "big=a"]


def test_an_alternative_is_kept_only_if_everything_after_it_fits(cluster: Cluster) -> None:
    cluster.pool("gpu.io", [gpu("a"), gpu("b")])
    alternatives = [
        {"name": "two", "deviceClassName": "gpu.io", "count": 2},
        {"name": "one", "deviceClassName": "gpu.io", "count": 1},
    ]
    verdict = cluster.allocator().allocate(
        node(), [claim({"name": "r", "firstAvailable": alternatives}, want("other", "gpu.io"))]
    )
    assert taken(verdict) == ["r/one=a", "other=b"]


def test_match_attribute_finds_the_root_with_both(cluster: Cluster) -> None:
    root = "resource.kubernetes.io/pcieRoot"
    cluster.pool(
        "gpu.io",
        [{"name": f"g{n}", "attributes": {root: {"string": f"r{n % 2}"}}} for n in range(4)],
    )
    cluster.pool("nic.io", [{"name": "n", "attributes": {root: {"string": "r1"}}}])
    both = claim(
        want("g", "gpu.io", 2), want("n", "nic.io"), constraints=[{"matchAttribute": root}]
    )
    assert taken(cluster.allocator().allocate(node(), [both])) == ["g=g1", "g=g3", "n=n"]
    three = claim(
        want("g", "gpu.io", 3), want("n", "nic.io"), constraints=[{"matchAttribute": root}]
    )
    assert isinstance(cluster.allocator().allocate(node(), [three]), Unallocatable)


def test_a_bare_attribute_lies_in_the_domain_of_its_driver(cluster: Cluster) -> None:
    cluster.pool("gpu.io", [gpu("a", numa=0), gpu("b", numa=0)])
    ours = claim(want("r", "gpu.io", 2), constraints=[{"matchAttribute": "gpu.io/numa"}])
    other = claim(want("r", "gpu.io", 2), constraints=[{"matchAttribute": "nic.io/numa"}])
    assert isinstance(cluster.allocator().allocate(node(), [ours]), Allocated)
    assert isinstance(cluster.allocator().allocate(node(), [other]), Unallocatable)


@pytest.mark.parametrize(
    ("release", "expected"), [("1.36", ["r=a", "r=b", "r=c"]), ("1.37", ["r=a", "r=b", "r=d"])]
)
def test_distinct_attribute_forgets_all_but_the_last_up_to_1_36(
    cluster: Cluster, release: str, expected: list[str]
) -> None:
    """kubernetes#140438."""
    cluster.pool("gpu.io", [gpu("a", numa=0), gpu("b", numa=1), gpu("c", numa=0), gpu("d", numa=2)])
    distinct = claim(want("r", "gpu.io", 3), constraints=[{"distinctAttribute": "gpu.io/numa"}])
    assert taken(cluster.allocator(release).allocate(node(), [distinct])) == expected
    right = cluster.allocator(release, upstream_bugs=False).allocate(node(), [distinct])
    assert taken(right) == ["r=a", "r=b", "r=d"]


def test_devices_in_use_are_left_to_others_but_not_to_admins(cluster: Cluster) -> None:
    cluster.pool("gpu.io", [gpu("a"), gpu("b")])
    state = AllocatedState(devices=frozenset({DeviceID("gpu.io", "node-1", "a")}))
    allocator = cluster.allocator(state=state)
    assert taken(allocator.allocate(node(), [claim(want("r", "gpu.io"))])) == ["r=b"]
    assert taken(allocator.allocate(node(), [claim(want("r", "gpu.io", adminAccess=True))])) == [
        "r=a"
    ]


def test_all_takes_every_device_and_fails_where_one_is_held(cluster: Cluster) -> None:
    cluster.pool("gpu.io", [gpu("a"), gpu("b")])
    everything = claim(
        {"name": "r", "exactly": {"deviceClassName": "gpu.io", "allocationMode": "All"}}
    )
    assert taken(cluster.allocator().allocate(node(), [everything])) == ["r=a", "r=b"]
    state = AllocatedState(devices=frozenset({DeviceID("gpu.io", "node-1", "b")}))
    assert isinstance(cluster.allocator(state=state).allocate(node(), [everything]), Unallocatable)


def test_failing_selector_ends_the_attempt_only_if_its_device_is_reached(cluster: Cluster) -> None:
    cluster.pool("gpu.io", [gpu("a", model="H100"), gpu("b")])
    selector = 'device.attributes["gpu.io"].model == "H100"'
    allocator = cluster.allocator()
    assert taken(allocator.allocate(node(), [claim(want("r", "gpu.io", 1, selector))])) == ["r=a"]
    verdict = allocator.allocate(node(), [claim(want("r", "gpu.io", 2, selector))])
    assert isinstance(verdict, Fatal)
    assert verdict.message == (
        "claim ns/c: selector #0 on device gpu.io/node-1/b: CEL runtime error: no such key: model. consider using CEL "
        "optional chaining (.? followed by orValue()) or guarding the check with has() for optional fields"
    )


def test_an_incomplete_pool_of_another_driver_keeps_all_from_its_devices(cluster: Cluster) -> None:
    cluster.pool("gpu.io", [gpu("a")]).pool("nic.io", [gpu("n")], pool={"resourceSliceCount": 2})
    everything = claim(
        {"name": "r", "exactly": {"deviceClassName": "gpu.io", "allocationMode": "All"}}
    )
    verdict = cluster.allocator().allocate(node(), [everything])
    assert isinstance(verdict, Fatal)
    expected = "claim ns/c, request r: asks for all devices, but resource pool nic.io/node-1 is currently being updated"
    assert verdict.message == expected
    assert taken(cluster.allocator().allocate(node(), [claim(want("r", "gpu.io"))])) == ["r=a"]


def test_an_invalid_pool_rejects_the_node_if_nothing_else_fits(cluster: Cluster) -> None:
    cluster.pool("gpu.io", [gpu("a"), gpu("a")])
    verdict = cluster.allocator().allocate(node(), [claim(want("r", "gpu.io"))])
    assert isinstance(verdict, NodeError)
    assert verdict.message == "invalid resource pools were encountered"


def test_taints_are_tolerated_by_requests(cluster: Cluster) -> None:
    bad = {**gpu("a"), "taints": [{"key": "broken", "value": "yes", "effect": "NoSchedule"}]}
    noted = {**gpu("b"), "taints": [{"key": "broken", "effect": "None"}]}
    cluster.pool("gpu.io", [bad, noted])
    allocator = cluster.allocator()
    assert taken(allocator.allocate(node(), [claim(want("r", "gpu.io"))])) == ["r=b"]
    tolerant = want("r", "gpu.io", tolerations=[{"key": "broken", "operator": "Exists"}])
    assert taken(allocator.allocate(node(), [claim(tolerant)])) == ["r=a"]


@pytest.mark.parametrize(("release", "left"), [("1.36", 0), ("1.37", 1)])
def test_a_rule_without_selector_taints_everything_up_to_1_36(
    cluster: Cluster, release: str, left: int
) -> None:
    cluster.pool("gpu.io", [gpu("a")])
    rule: Any = decode(
        {
            "apiVersion": "resource.k8s.io/v1beta2",
            "kind": "DeviceTaintRule",
            "metadata": {"name": "r"},
            "spec": {"taint": {"key": "k", "effect": "NoSchedule"}},
        }
    )
    features = Features.for_release(release, {"DRADeviceTaintRules": True})
    allocator = cluster.allocator(release, DRADeviceTaintRules=True)
    tainted = allocator.replace(slices=apply_taint_rules(allocator.slices, [rule], features))
    verdict = tainted.allocate(node(), [claim(want("r", "gpu.io"))])
    assert isinstance(verdict, Allocated) == bool(left)


def test_partitions_share_counters(cluster: Cluster) -> None:
    def part(name: str, memory: str) -> dict[str, Any]:
        return {
            **gpu(name),
            "consumesCounters": [
                {"counterSet": "gpu-0", "counters": {"memory": {"value": memory}}}
            ],
        }

    cluster.pool(
        "gpu.io",
        [part("half", "40Gi"), part("whole", "80Gi"), part("other-half", "40Gi")],
        pool={"resourceSliceCount": 2},
    )
    counters = [{"name": "gpu-0", "counters": {"memory": {"value": "80Gi"}}}]
    cluster.pool("gpu.io", [], pool={"resourceSliceCount": 2}, sharedCounters=counters)
    verdict = cluster.allocator().allocate(node(), [claim(want("r", "gpu.io", 2))])
    assert taken(verdict) == ["r=half", "r=other-half"]
    state = AllocatedState(devices=frozenset({DeviceID("gpu.io", "node-1", "whole")}))
    assert isinstance(
        cluster.allocator(state=state).allocate(node(), [claim(want("r", "gpu.io"))]), Unallocatable
    )


def test_unpackable_partitions_of_eight_gpus_are_a_proof(cluster: Cluster) -> None:
    """A GPU has room for three quarters, or for two beside a half: with five halves there are 3 × 3 + 5 × 2 = 19."""

    def part(gpu_: int, name: str, places: range) -> dict[str, Any]:
        counters = {f"slot-{place}": {"value": "1"} for place in places} | {
            "cores": {"value": str(len(places) - 1)}
        }
        made = {**gpu(f"{gpu_}-{name}-{places[0]}", size=name), "consumesCounters": []}
        made["consumesCounters"] = [{"counterSet": f"gpu-{gpu_}", "counters": counters}]
        return made

    quarters, halves = [range(n, n + 2) for n in (0, 2, 4)], [range(n, n + 4) for n in (0, 4)]
    parts = [
        part(n, name, places)
        for n in range(8)
        for name, all_ in (("q", quarters), ("h", halves))
        for places in all_
    ]
    counters = {f"slot-{place}": {"value": "1"} for place in range(8)} | {"cores": {"value": "7"}}
    cluster.pool("gpu.io", parts, pool={"resourceSliceCount": 2})
    sets = [{"name": f"gpu-{n}", "counters": counters} for n in range(8)]
    cluster.pool("gpu.io", [], pool={"resourceSliceCount": 2}, sharedCounters=sets)

    def make_claims(count: int) -> Any:
        of = "device.attributes['gpu.io'].size == '{}'"
        return [
            claim(
                want("q", "gpu.io", count, of.format("q")), want("h", "gpu.io", 5, of.format("h"))
            )
        ]

    allocator = cluster.allocator()
    assert isinstance(allocator.allocate(node(), make_claims(19)), Allocated)
    assert isinstance(allocator.allocate(node(), make_claims(20), budget=20_000), Unallocatable)


def test_shares_of_partitions_charge_the_counters_once(cluster: Cluster) -> None:
    """Each card has room for one of its partitions, of which two have three shares each: six claims
    fit, if the partition with two shares is left alone.
    """

    def part(card: str, name: str, shares: int) -> dict[str, Any]:
        counters = [{"counterSet": card, "counters": {"slots": {"value": "3"}}}]
        made = {**gpu(name, shared=shares > 0), "consumesCounters": counters}
        if not shares:
            return made
        bandwidth = {"bandwidth": {"value": str(shares)}}
        return {**made, "allowMultipleAllocations": True, "capacity": bandwidth}

    parts = [part("a", "a-3", 3), part("b", "b-2", 2), part("a", "a-1", 0), part("b", "b-3", 3)]
    cluster.pool("gpu.io", parts, pool={"resourceSliceCount": 2})
    sets = [{"name": card, "counters": {"slots": {"value": "3"}}} for card in ("a", "b")]
    cluster.pool("gpu.io", [], pool={"resourceSliceCount": 2}, sharedCounters=sets)
    shared, one = "device.attributes['gpu.io'].shared", {"requests": {"bandwidth": "1"}}
    six = claim(
        want("p", "gpu.io", 1, shared, capacity=one),
        want("q", "gpu.io", 1, capacity=one),
        want("r", "gpu.io", 2, shared, capacity=one),
        want("s", "gpu.io", 2, capacity=one),
    )
    verdict = cluster.allocator().allocate(node(), [six])
    assert sorted(share.partition("=")[2] for share in taken(verdict)) == ["a-3"] * 3 + ["b-3"] * 3


def test_shares_consume_capacity(cluster: Cluster) -> None:
    policy = {"default": "1G", "validRange": {"min": "1G", "step": "1G"}}
    nic = {
        "name": "n",
        "allowMultipleAllocations": True,
        "capacity": {"bw": {"value": "10G", "requestPolicy": policy}},
    }
    cluster.pool("nic.io", [nic])

    def share(name: str, amount: str) -> dict[str, Any]:
        return want(name, "nic.io", capacity={"requests": {"bw": amount}})

    verdict = cluster.allocator().allocate(node(), [claim(share("a", "2500M"), share("b", "7G"))])
    assert isinstance(verdict, Allocated)
    found = [
        result["consumedCapacity"] for result in as_json(verdict.results[0])["devices"]["results"]
    ]
    assert found == [{"bw": "3G"}, {"bw": "7G"}]
    assert isinstance(
        cluster.allocator().allocate(node(), [claim(share("a", "2500M"), share("b", "8G"))]),
        Unallocatable,
    )


@pytest.mark.parametrize(
    ("asked", "consumed"), [("100m", "100m"), ("120m", "150m"), ("951m", "1"), ("4", "4")]
)
def test_shares_of_less_than_one(cluster: Cluster, asked: str, consumed: str) -> None:
    """1.37's DRAFractionalCapacityRange rounds up in thousandths (consumable_capacity.go)."""
    policy = {"default": "100m", "validRange": {"min": "100m", "step": "50m"}}
    core = {
        "name": "n",
        "allowMultipleAllocations": True,
        "capacity": {"c": {"value": "4", "requestPolicy": policy}},
    }
    cluster.pool("nic.io", [core])
    request = want("r", "nic.io", capacity={"requests": {"c": asked}})
    verdict = cluster.allocator(DRAFractionalCapacityRange=True).allocate(node(), [claim(request)])
    assert isinstance(verdict, Allocated)
    (result,) = as_json(verdict.results[0])["devices"]["results"]
    assert result["consumedCapacity"] == {"c": consumed}


@pytest.mark.parametrize(
    ("release", "requests", "fits"),
    [
        ("1.37", {"nic.io/bw": "4G"}, False),
        ("1.38", {"nic.io/bw": "4G"}, True),
        ("1.38", {"bw": "4G"}, True),
        ("1.38", {"bw": "8G"}, False),
        ("1.38", {"bw": "4G", "nic.io/bw": "4G"}, False),
        ("1.38", {"other.io/bw": "4G"}, False),
    ],
)
def test_a_capacity_with_the_domain_of_its_driver(
    cluster: Cluster, release: str, requests: dict[str, str], fits: bool
) -> None:
    """k8s.io/api v0.38.0-alpha.2 resource/v1/types.go, CapacityRequirements: from 1.38 on the domain can be left out,
    and a request with both names is an error. 4G of 10G are held under the other name."""
    nic = {"name": "n", "allowMultipleAllocations": True, "capacity": {"bw": {"value": "10G"}}}
    cluster.pool("nic.io", [nic])
    result = {"request": "r", "driver": "nic.io", "pool": "node-1", "device": "n", "shareID": "x"}
    consumed = {"nic.io/bw" if release == "1.38" else "bw": "4G"}
    held = claim(
        status={"allocation": {"devices": {"results": [{**result, "consumedCapacity": consumed}]}}}
    )
    state = AllocatedState.from_claims([held], Features.for_release(release))
    request = want("r", "nic.io", capacity={"requests": requests})
    verdict = cluster.allocator(release, state=state).allocate(node(), [claim(request)])
    assert isinstance(verdict, Allocated) is fits


def test_state_is_gathered_from_allocated_claims(cluster: Cluster) -> None:
    cluster.pool("gpu.io", [gpu("a"), gpu("b")])
    result = {"request": "r", "driver": "gpu.io", "pool": "node-1", "device": "a"}
    holder = claim(status={"allocation": {"devices": {"results": [result]}}})
    admin = claim(
        status={
            "allocation": {"devices": {"results": [{**result, "device": "b", "adminAccess": True}]}}
        }
    )
    state = AllocatedState.from_claims([holder, admin, claim()], Features.for_release("1.37"))
    assert state.devices == {DeviceID("gpu.io", "node-1", "a")}


def test_shares_of_stored_claims_add_up() -> None:
    def holder(share: str, amount: str) -> Any:
        result = {"request": "r", "driver": "d", "pool": "p", "device": "n", "shareID": share}
        return claim(
            status={
                "allocation": {
                    "devices": {"results": [{**result, "consumedCapacity": {"bw": amount}}]}
                }
            }
        )

    claims = [holder("0" * 8, "2Gi"), holder("1" * 8, "3Gi")]
    device = DeviceID("d", "p", "n")
    state = AllocatedState.from_claims(claims, Features.for_release("1.37"))
    assert state.devices == frozenset()
    assert str(state.capacity[device]["bw"]) == "5Gi"
    off = Features.for_release(
        "1.37", {"DRAConsumableCapacity": False, "DRAFractionalCapacityRange": False}
    )
    assert AllocatedState.from_claims(claims, off).devices == {device}


def test_missing_class_is_named_with_its_request(cluster: Cluster) -> None:
    verdict = cluster.allocator().allocate(node(), [claim(want("r", "nope"))])
    assert verdict.message == (
        'claim ns/c, request r: could not retrieve device class nope: deviceclass.resource.k8s.io "nope" not found'
    )


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("1.36", "claim ns/c: number of requested devices 33 exceeds the claim limit of 32"),
        (
            "1.37",
            "claim ns/c, request r: adding 33 devices exceeds the claim limit of 32, with 0 already accounted for",
        ),
    ],
)
def test_limit_of_devices(cluster: Cluster, release: str, text: str) -> None:
    cluster.pool("gpu.io", [gpu("a")])
    assert (
        cluster.allocator(release).allocate(node(), [claim(want("r", "gpu.io", 33))]).message
        == text
    )


@pytest.mark.parametrize("release", ["1.34", "1.36", "1.37"])
def test_a_claim_may_have_as_many_devices_as_the_limit(cluster: Cluster, release: str) -> None:
    """AllocationResultsMaxSize is 32 in all releases: k8s.io/api/resource/v1 types.go."""
    cluster.pool("gpu.io", [gpu(f"g{n}") for n in range(40)])
    allocator = cluster.allocator(release)
    thirty_two = claim(want("a", "gpu.io", 30), want("b", "gpu.io", 2))
    assert isinstance(allocator.allocate(node(), [thirty_two]), Allocated)
    more = allocator.allocate(node(), [claim(want("a", "gpu.io", 31), want("b", "gpu.io", 2))])
    assert "exceeds the claim limit of 32" in more.message


def test_budget_ends_a_search_without_a_proof(cluster: Cluster) -> None:
    cluster.pool("gpu.io", [gpu(f"g{n}") for n in range(8)])
    nine = claim(*[want(f"r{n}", "gpu.io") for n in range(9)])
    assert isinstance(cluster.allocator().allocate(node(), [nine], budget=5), Exhausted)
    verdict = cluster.allocator().allocate(node(), [nine])
    assert isinstance(verdict, Unallocatable)
    assert verdict.cost.work < 200


def test_exploding_search_is_reported_as_upstream_timeout(cluster: Cluster) -> None:
    cluster.pool("gpu.io", [gpu(f"g{n}", index=n) for n in range(40)])
    late = claim(
        want("special", "gpu.io", 1, 'device.attributes["gpu.io"].index > 100'), name="late"
    )
    verdict = cluster.allocator().allocate(node(), [claim(want("r", "gpu.io", 8)), late])
    assert isinstance(verdict, Unallocatable)
    assert verdict.times_out
    quick = cluster.allocator().allocate(node(), [claim(want("r", "gpu.io", 8))])
    assert not quick.times_out


def test_equal_nodes_share_a_search(cluster: Cluster) -> None:
    for name in ("node-1", "node-2"):
        devices = [{**gpu("a", index=0), "attributes": {"uuid": {"string": name}}}]
        cluster.pool("gpu.io", devices, name, where={"nodeName": name})
    allocator = cluster.allocator()
    ours = claim(want("r", "gpu.io"))
    first, second = (
        allocator.allocate(node("node-1"), [ours]),
        allocator.allocate(node("node-2"), [ours]),
    )
    assert isinstance(first, Allocated)
    assert isinstance(second, Allocated)
    pools = [found.results[0].devices.results[0].pool for found in (first, second)]
    assert pools == ["node-1", "node-2"]
    assert len(allocator._outcomes) == 1


def test_replace_asks_again_with_another_state(cluster: Cluster) -> None:
    cluster.pool("gpu.io", [gpu("a")])
    held = cluster.allocator(
        state=AllocatedState(devices=frozenset({DeviceID("gpu.io", "node-1", "a")}))
    )
    ours = claim(want("r", "gpu.io"))
    assert isinstance(held.allocate(node(), [ours]), Unallocatable)
    assert taken(held.replace(state=AllocatedState()).allocate(node(), [ours])) == ["r=a"]
    assert isinstance(held.allocate(node(), [ours]), Unallocatable)


def test_features_without_a_variant_have_no_behaviour() -> None:
    features = Features("1.35", frozenset({"DRAConsumableCapacity"}), variant="incubating")
    assert features.behaviour is None
    assert features.unsupported_text == (
        "internal error: no allocator available for feature set {AdminAccess:false ConsumableCapacity:true "
        "DeviceBindingAndStatus:false DeviceTaints:false PartitionableDevices:false PrioritizedList:false}, "
        "enabled allocators: incubating"
    )
    cluster = Cluster()
    allocator = cluster.allocator().__class__([], [], features=features)
    assert isinstance(allocator.allocate(node(), []), NoAllocator)


@pytest.mark.parametrize(
    ("release", "variant"),
    [
        ("1.34", "experimental"),
        ("1.35", "incubating"),
        ("1.36", "incubating"),
        ("1.37", "incubating"),
        ("1.38", "incubating"),
    ],
)
def test_default_variant_follows_the_release(release: str, variant: str) -> None:
    behaviour = Features.for_release(release).behaviour
    assert behaviour is not None
    assert behaviour.variant == variant


@pytest.mark.parametrize(
    ("version", "has"), [("1.36", True), ("v1.36.3", True), ("v1.36.4", False), ("1.37", False)]
)
def test_a_bug_ends_with_a_patch_release(version: str, has: bool) -> None:
    """k8s.io/dynamic-resource-allocation v0.36.4 keys counters by pool and driver."""
    behaviour = Features.for_release(version).behaviour
    assert behaviour is not None
    assert ("pool-name-key" in behaviour.bugs) is has


@pytest.mark.parametrize(
    ("bug", "version", "has"),
    [
        ("rollback-leaks", "v1.36.2", True),
        ("rollback-leaks", "v1.36.3", False),
        ("rollback-leaks", "1.36", False),
        ("rollback-leaks", "v1.35.9", True),
        ("all-with-counters", "v1.36.1", True),
        ("all-with-counters", "v1.36.2", False),
        ("all-with-counters", "1.36", False),
    ],
)
def test_early_patches_keep_a_bug_of_the_release_before(bug: str, version: str, has: bool) -> None:
    """kubernetes/kubernetes#140436 and kubernetes/kubernetes#138882: k8s.io/
    dynamic-resource-allocation v0.36.3 has rollbackDevice, v0.36.2 the pool of a device of All.
    """
    behaviour = Features.for_release(version).behaviour
    assert behaviour is not None
    assert (bug in behaviour.bugs) is has


def test_lists_are_not_compared_in_1_36() -> None:
    """AllocatorFeatures of 1.36 leaves the gate out; CEL gets it."""
    features = Features.for_release("1.36", {"DRAListTypeAttributes": True})
    assert "DRAListTypeAttributes" not in features.on
    assert features.cel_on is not None
    assert "DRAListTypeAttributes" in features.cel_on


def test_unmodelled_releases_are_refused() -> None:
    with pytest.raises(Unsupported, match=r"1\.33 is not modelled"):
        Features.for_release("1.33")
    with pytest.raises(UsageError, match="DRAListTypeAttribute"):
        Features.for_release("1.37", {"DRAListTypeAttribute": True})


def test_device_ids_keep_slashes_of_pools() -> None:
    assert DeviceID.parse("d/a/b/x") == DeviceID("d", "a/b", "x")
    with pytest.raises(ValueError, match="driver/pool/device"):
        DeviceID.parse("d/x")


def test_older_versions_of_claims_are_understood(cluster: Cluster) -> None:
    cluster.pool("gpu.io", [gpu("a")])
    old: Any = decode(
        {
            "apiVersion": API.replace("v1", "v1beta1"),
            "kind": "ResourceClaim",
            "metadata": {"name": "c"},
            "spec": {"devices": {"requests": [{"name": "r", "deviceClassName": "gpu.io"}]}},
        }
    )
    assert taken(cluster.allocator().allocate(node(), [old])) == ["r=a"]


def test_deciding_bug_is_seen_by_allocating_without_it(cluster: Cluster) -> None:
    """kubernetes#140434: pools of two drivers with the same name share their counters up to 1.36."""
    for driver in ("a.io", "b.io"):
        part = {
            "name": "x",
            "consumesCounters": [{"counterSet": "s", "counters": {"c": {"value": "1"}}}],
        }
        cluster.pool(driver, [part], pool={"resourceSliceCount": 2})
        counters = [{"name": "s", "counters": {"c": {"value": "1"}}}]
        cluster.pool(driver, [], pool={"resourceSliceCount": 2}, sharedCounters=counters)
    both = claim(want("a", "a.io"), want("b", "b.io"))
    assert isinstance(cluster.allocator("1.36").allocate(node(), [both]), Unallocatable)
    assert isinstance(
        cluster.allocator("1.36", upstream_bugs=False).allocate(node(), [both]), Allocated
    )
    assert isinstance(cluster.allocator("1.37").allocate(node(), [both]), Allocated)


def test_two_equal_constraints_are_one(cluster: Cluster) -> None:
    """A claim that constrains the same attribute twice needs one value, not two."""
    cluster.pool("gpu.io", [gpu("a", numa=0), gpu("b", numa=1, last=True), gpu("c", numa=0)])
    twice = [{"matchAttribute": "gpu.io/numa"}, {"matchAttribute": "gpu.io/numa"}]
    first = claim(want("r", "gpu.io"), name="first")
    second = claim(want("r", "gpu.io", 2), name="second", constraints=twice)
    third = claim(
        want("r", "gpu.io", 1, 'device.attributes["gpu.io"].?last.orValue(false)'), name="third"
    )
    assert isinstance(cluster.allocator().allocate(node(), [first, second, third]), Unallocatable)
    assert taken(cluster.allocator().allocate(node(), [second, third])) == ["r=a", "r=c", "r=b"]
    cluster.pool("gpu.io", [gpu("d", numa=1), gpu("e", numa=2), gpu("f", numa=2)], "node-1-more")
    verdict = cluster.allocator().allocate(node(), [first, third, second])
    assert taken(verdict) == ["r=a", "r=b", "r=e", "r=f"]


@pytest.mark.parametrize(
    ("wrong", "message", "hint"),
    [
        (
            {"on": frozenset({"DRADeviceTaint"})},
            "feature gate DRADeviceTaint is not known",
            "DRADeviceTaints",
        ),
        ({"cel_on": frozenset({"Foo"})}, "feature gate Foo is not known", "DRAAdminAccess"),
        ({"release": "1.99"}, "Kubernetes 1.99 is not known", "1.34"),
        ({"variant": "stabel"}, "variant stabel is not known", "stable"),
    ],
)
def test_invalid_features_are_refused(wrong: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        Features(**{"release": "1.36", "on": frozenset(), **wrong})
    assert hint in str(raised.value.hint)


def test_mappings_have_to_be_decoded_first(cluster: Cluster) -> None:
    allocator = cluster.allocator()
    for wrong in (("node-1", [claim()]), (node(), [{"kind": "ResourceClaim"}])):
        with pytest.raises(UsageError, match=r"of dractl\.model is needed"):
            allocator.allocate(*wrong)  # type: ignore[arg-type]
