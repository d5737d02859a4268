"""The funnel: which stage loses which device, and why."""

from __future__ import annotations

from typing import Any

from dractl.allocation import AllocatedState, DeviceID, DuplicateDevice, Unallocatable

from .conftest import Cluster, claim, node, taken, want


def gpu(name: str, model: str, root: str | None = None, **more: Any) -> dict[str, Any]:
    attributes: dict[str, Any] = {"model": {"string": model}}
    if root is not None:
        attributes["resource.kubernetes.io/pcieRoot"] = {"string": root}
    return {"name": name, "attributes": attributes, **more}


def test_every_device_is_lost_at_one_stage_or_kept(cluster: Cluster) -> None:
    taint = [{"key": "xid", "value": "79", "effect": "NoSchedule"}]
    cluster.pool(
        "gpu.io", [gpu("a", "A"), gpu("h", "H"), gpu("held", "H"), gpu("bad", "H", taints=taint)]
    )
    cluster.pool("nic.io", [{"name": "n"}])
    state = AllocatedState(devices=frozenset({DeviceID("gpu.io", "node-1", "held")}))
    request = want("r", "gpu.io", 2, 'device.attributes["gpu.io"].model == "H"')
    (found,) = cluster.allocator(state=state).survey(node(), [claim(request)]).requests
    lost = {s.name: {loss.device.device: loss.code for loss in s.lost} for s in found.stages}
    assert lost == {
        "class-selector": {"n": "selector-false"},
        "request-selector": {"a": "selector-false"},
        "in-use": {"held": "device-in-use"},
        "taints": {"bad": "tainted"},
    }
    assert [d.device for d in found.candidates] == ["h"]
    assert found.wanted == 2
    assert not found.enough
    assert next(s for s in found.stages if s.name == "taints").lost[0].taint == "xid=79:NoSchedule"


def test_failing_selector_is_reported_in_the_words_of_the_scheduler(cluster: Cluster) -> None:
    cluster.pool("gpu.io", [gpu("a", "A")])
    request = want("r", "gpu.io", 1, 'device.attributes["gpu.io"].memory == 1')
    (found,) = cluster.allocator("1.36").survey(node(), [claim(request)]).requests
    (loss,) = found.stages[-3].lost
    assert (loss.code, loss.message) == (
        "selector-error",
        "claim ns/c: selector #0: CEL runtime error: no such key: memory",
    )


def test_values_of_a_constraint_hold_the_remaining_devices_of_each_request(
    cluster: Cluster,
) -> None:
    root = "resource.kubernetes.io/pcieRoot"
    cluster.pool(
        "gpu.io", [gpu("g0", "H", "r0"), gpu("g1", "H", "r0"), gpu("g2", "H", "r1"), gpu("g3", "H")]
    )
    cluster.pool("nic.io", [gpu("n", "C", "r1")])
    ours = claim(
        want("gpu", "gpu.io", 2), want("nic", "nic.io"), constraints=[{"matchAttribute": root}]
    )
    found = cluster.allocator().survey(node(), [ours])
    (aligned,) = found.constraints
    held = {
        g.value: {name: [d.device for d in ds] for name, ds in g.candidates} for g in aligned.groups
    }
    assert held == {"r0": {"gpu": ["g0", "g1"], "nic": []}, "r1": {"gpu": ["g2"], "nic": ["n"]}}
    assert not aligned.satisfiable
    assert [found.count_devices(request) for request in found.requests] == [2, 1]
    (loss,) = found.requests[0].stages[-1].lost
    assert (loss.device.device, loss.code, loss.attribute) == ("g3", "attr-missing", root)


def test_capacity_and_counters_say_how_much_is_missing(cluster: Cluster) -> None:
    nic = {"name": "n", "allowMultipleAllocations": True, "capacity": {"bw": {"value": "10G"}}}
    cluster.pool("nic.io", [nic, {"name": "bare"}])
    part = {"consumesCounters": [{"counterSet": "s", "counters": {"memory": {"value": "4Gi"}}}]}
    cluster.pool(
        "gpu.io", [gpu("p", "H", **part), gpu("q", "H", **part)], pool={"resourceSliceCount": 2}
    )
    counters = [{"name": "s", "counters": {"memory": {"value": "6Gi"}}}]
    cluster.pool("gpu.io", [], pool={"resourceSliceCount": 2}, sharedCounters=counters)
    device = DeviceID("nic.io", "node-1", "n")
    from dractl.model import Quantity

    state = AllocatedState(
        devices=frozenset({DeviceID("gpu.io", "node-1", "p")}),
        shared=frozenset({device}),
        capacity={device: {"bw": Quantity.parse("8G")}},
    )
    share = want("share", "nic.io", capacity={"requests": {"bw": "3G"}})
    found = cluster.allocator(state=state).survey(node(), [claim(share, want("part", "gpu.io"))])
    short, missing = found.requests[0].stages[-1].lost
    assert (short.code, short.want, short.free, short.total) == (
        "capacity-short",
        "3G",
        "2G",
        "10G",
    )
    assert (missing.code, missing.capacity) == ("capacity-missing", "bw")
    (counter,) = next(s for s in found.requests[1].stages if s.name == "counters").lost
    assert (counter.counter_set, counter.counter, counter.want, counter.free) == (
        "s",
        "memory",
        "4Gi",
        "2Gi",
    )


def test_alternatives_have_funnels_of_their_own(cluster: Cluster) -> None:
    cluster.pool("gpu.io", [gpu("a", "A")])
    options = [{"name": "h", "deviceClassName": "nope"}, {"name": "a", "deviceClassName": "gpu.io"}]
    found = cluster.allocator().survey(node(), [claim({"name": "r", "firstAvailable": options})])
    assert [(r.request, r.enough) for r in found.requests] == [("r/h", False), ("r/a", True)]
    fault = found.requests[0].fault
    assert fault is not None
    assert (fault.kind, fault.device_class, str(fault.request)) == ("class-missing", "nope", "r/h")


def test_pools_tell_why_they_are_not_used(cluster: Cluster) -> None:
    cluster.pool("a.io", [{"name": "x"}], pool={"resourceSliceCount": 3})
    cluster.pool("b.io", [{"name": "x"}, {"name": "x"}])
    cluster.pool("c.io", [{"name": "x"}])
    cluster.pool("d.io", [{"name": "x"}], pool={"resourceSliceCount": 2})
    cluster.pool("d.io", [{"name": "y"}], pool={"generation": 2}, where={"nodeName": "node-2"})
    found = {p.driver: p for p in cluster.allocator().survey(node(), []).pools}
    assert {driver: p.state for driver, p in found.items()} == {
        "a.io": "incomplete",
        "b.io": "invalid",
        "c.io": "usable",
        "d.io": "obsolete",
    }
    assert (found["a.io"].slices, found["a.io"].expected) == (1, 3)
    assert found["b.io"].fault == DuplicateDevice("x")


def test_devices_hidden_by_a_gate_name_it(cluster: Cluster) -> None:
    cluster.pool(
        "gpu.io",
        [gpu("a", "A", bindingConditions=["Attached"], bindingFailureConditions=["Failed"])],
    )
    (found,) = (
        cluster.allocator(DRADeviceBindingConditions=False)
        .survey(node(), [claim(want("r", "gpu.io"))])
        .requests
    )
    (loss,) = (loss for stage in found.stages for loss in stage.lost)
    assert (loss.code, loss.gate) == ("gate-off", "DRADeviceBindingConditions")
    (found,) = (
        cluster.allocator(DRADeviceBindingConditions=True)
        .survey(node(), [claim(want("r", "gpu.io"))])
        .requests
    )
    assert [device.device for device in found.candidates] == ["a"]


def test_devices_of_a_counter_set_share_a_group_with_allocated_ones(cluster: Cluster) -> None:
    """KEP-5963 (DRADeviceCompatibilityGroups): one group in common with every device that takes from the set."""

    def part(name: str, *groups: str) -> dict[str, Any]:
        use = {
            "counterSet": "s",
            "counters": {"memory": {"value": "1"}},
            "compatibilityGroups": list(groups),
        }
        return {"name": name, "consumesCounters": [use]}

    parts = [
        part("a", "x", "y"),
        part("b", "y", "z"),
        part("c", "x"),
        part("d", "z"),
        part("e", "y"),
    ]
    cluster.pool("gpu.io", parts, pool={"resourceSliceCount": 2})
    counters = [{"name": "s", "counters": {"memory": {"value": "9"}}}]
    cluster.pool("gpu.io", [], pool={"resourceSliceCount": 2}, sharedCounters=counters)
    held = AllocatedState(
        devices=frozenset({DeviceID("gpu.io", "node-1", "a"), DeviceID("gpu.io", "node-1", "b")})
    )
    allocator = cluster.allocator(state=held, DRADeviceCompatibilityGroups=True)
    assert taken(allocator.allocate(node(), [claim(want("r", "gpu.io"))])) == ["r=e"]
    assert isinstance(allocator.allocate(node(), [claim(want("r", "gpu.io", 2))]), Unallocatable)
