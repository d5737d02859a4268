"""Answers about small clusters, where each thing that a person needs must be named."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.allocation import Features
from dractl.cel import reading
from dractl.explain import Explainer, Explanation, find_subjects
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.groups import attribute_names
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

GPU = device_class("gpu", "device.driver == 'gpu.example.com'")
NIC = device_class("nic", "device.driver == 'nic.example.com'")
ROOT = "resource.kubernetes.io/pcieRoot"


def explain(name: str, *objects: dict[str, Any], release: str = "1.37") -> Explanation:
    state = state_of(*objects)
    (question,) = find_subjects(state, name, None)
    return Explainer(state, Features.for_release(release)).explain(question)


def gpus(where: str, *devices: dict[str, Any], **pool: Any) -> dict[str, Any]:
    return slice_of("gpu.example.com", where, *devices, **pool)


def wants(expression: str, **more: Any) -> dict[str, Any]:
    return request("r", "gpu", selectors=[{"cel": {"expression": expression}}], **more)


def test_the_largest_amount_there_is_is_named_and_offered() -> None:
    asked = wants("device.capacity['gpu.example.com'].memory.compareTo(quantity('80Gi')) >= 0")
    small = gpus(
        "node-1",
        device("gpu-0", capacity={"memory": "40Gi"}),
        device("gpu-1", capacity={"memory": "24Gi"}),
    )
    answer = explain("c", GPU, node("node-1"), small, claim("c", asked))
    assert answer.verdict == "unallocatable"
    assert answer.reasons[0].code == "selector-false"
    assert set(answer.reasons[0].facts["found"]) == {"40Gi", "24Gi"}
    (operation,) = answer.fixes[0].changes[0].operations  # type: ignore[union-attr]
    assert (
        operation["value"]
        == "device.capacity['gpu.example.com'].memory.compareTo(quantity('40Gi')) >= 0"
    )


def test_only_the_false_condition_is_changed() -> None:
    asked = wants(
        "device.attributes['gpu.example.com'].model == 'B' && device.attributes['gpu.example.com'].ready"
    )
    answer = explain(
        "c",
        GPU,
        node("node-1"),
        gpus("node-1", device("gpu-0", model="A", ready=True)),
        claim("c", asked),
    )
    (operation,) = answer.fixes[0].changes[0].operations  # type: ignore[union-attr]
    want = "device.attributes['gpu.example.com'].model == 'A' && device.attributes['gpu.example.com'].ready"
    assert operation["value"] == want


def test_holders_are_named_with_their_pods_and_whether_they_ended() -> None:
    held = claim(
        "job",
        request("r", "gpu"),
        status=allocation("node-1", ("gpu.example.com", "gpu-0"), pod="job"),
    )
    done = pod(
        "job",
        {"name": "g", "resourceClaimName": "job"},
        spec={"nodeName": "node-1"},
        status={"phase": "Succeeded"},
    )
    answer = explain(
        "c",
        GPU,
        node("node-1"),
        gpus("node-1", device("gpu-0")),
        held,
        done,
        claim("c", request("r", "gpu")),
    )
    (holder,) = answer.reasons[0].facts["holders"]
    assert (holder.claim, holder.pod, holder.finished) == ("ml/job", "ml/job", True)
    assert holder.devices == ("gpu.example.com/node-1/gpu-0",)


def test_a_misspelt_constraint_finds_the_attribute() -> None:
    devices = gpus(
        "node-1", device("gpu-0", **{ROOT: "pci0000:00"}), device("gpu-1", **{ROOT: "pci0000:00"})
    )
    typo = [{"matchAttribute": "resource.kubernbetes.io/pcieRoot"}]
    answer = explain(
        "c", GPU, node("node-1"), devices, claim("c", request("r", "gpu", 2), constraints=typo)
    )
    assert (answer.reasons[0].code, answer.reasons[0].facts["nearest"]) == ("attr-missing", ROOT)
    assert any(ROOT in fix.title for fix in answer.fixes)


@pytest.mark.parametrize(("first", "second"), [(1, "1"), (1, "2")])
def test_a_number_does_not_match_the_same_digits_as_text(first: int, second: str) -> None:
    """scheduling/match-types-differ was recorded on 1.37.1."""
    rail = "example.com/rail"
    devices = [
        gpus("node-1", device("gpu-0", **{rail: first})),
        slice_of("nic.example.com", "node-1", device("nic-0", **{rail: second})),
    ]
    asked = claim(
        "c", request("g", "gpu"), request("n", "nic"), constraints=[{"matchAttribute": rail}]
    )
    answer = explain("c", GPU, NIC, node("node-1"), *devices, asked)
    assert answer.reasons[0].code == "attr-type"
    assert "(g: int, n: string)" in answer.headline


def test_the_conflict_shows_the_devices_of_each_root() -> None:
    devices = [
        gpus(
            "node-1",
            device("gpu-0", **{ROOT: "a"}),
            device("gpu-1", **{ROOT: "a"}),
            device("gpu-2", **{ROOT: "b"}),
        ),
        slice_of("nic.example.com", "node-1", device("nic-0", **{ROOT: "b"})),
    ]
    asked = claim(
        "c", request("g", "gpu", 2), request("n", "nic"), constraints=[{"matchAttribute": ROOT}]
    )
    answer = explain("c", GPU, NIC, node("node-1"), *devices, asked)
    assert answer.conflict is not None
    assert {p.value: dict(p.free) for p in answer.conflict.places} == {
        "a": {"g": 2, "n": 0},
        "b": {"g": 1, "n": 1},
    }


def test_fitting_node_outside_dra_comes_first() -> None:
    full = node("node-1", unschedulable=True)
    empty = node("node-2")
    asked = pod("p", {"name": "g", "resourceClaimName": "c"})
    answer = explain(
        "pod/p",
        GPU,
        full,
        empty,
        gpus("node-1", device("gpu-0")),
        claim("c", request("r", "gpu")),
        asked,
    )
    assert answer.reasons[0].code == "node-filter"
    assert answer.reasons[0].nodes == ("node-1",)
    assert answer.scheduler_message == (
        "0/2 nodes are available: 1 cannot allocate all claims, 1 node(s) were unschedulable. "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )


def test_another_scheduler_comes_first_in_the_headline() -> None:
    asked = pod("p", {"name": "g", "resourceClaimName": "c"}, spec={"schedulerName": "volcano"})
    answer = explain(
        "pod/p",
        GPU,
        node("node-1"),
        gpus("node-1", device("gpu-0")),
        claim("c", request("r", "gpu")),
        asked,
    )
    assert (answer.verdict, answer.reasons[0].code) == ("blocked", "scheduler-bypass")
    leave, start = answer.fixes
    assert leave.effect.startswith("only if Volcano does not run")
    assert (start.title, start.changes) == ("start Volcano, unless it runs", ())


@pytest.mark.parametrize(
    ("template", "nearest"), [("one-gpus", "one-gpu"), ("entirely-different", None)]
)
def test_a_missing_template(template: str, nearest: str | None) -> None:
    there = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "one-gpu", "namespace": "ml"},
        "spec": {"spec": {"devices": {"requests": [request("r", "gpu")]}}},
    }
    asked = pod("p", {"name": "g", "resourceClaimTemplateName": template})
    answer = explain("pod/p", GPU, node("node-1"), gpus("node-1", device("gpu-0")), there, asked)
    assert (answer.reasons[0].code, answer.reasons[0].facts.get("nearest")) == (
        "template-missing",
        nearest,
    )
    assert answer.fixes


def test_a_kind_absent_from_the_input_is_not_called_missing() -> None:
    objects = GPU, pod("p", {"name": "g", "resourceClaimName": "c"})
    answer = explain("pod/p", *objects)
    assert "not in the input" in answer.reasons[0].message
    assert "does not exist" not in answer.reasons[0].message


def test_claim_absent_from_a_whole_cluster_does_not_exist() -> None:
    """A dump with nodes and classes is a dump of a cluster: it has no claim."""
    objects = GPU, node("node-1"), pod("p", {"name": "g", "resourceClaimName": "c"})
    answer = explain("pod/p", *objects)
    assert "claim ml/c does not exist" in answer.reasons[0].message


def test_kubelet_failing_to_prepare_is_quoted() -> None:
    placed = pod(
        "p",
        {"name": "g", "resourceClaimName": "c"},
        spec={"nodeName": "node-1"},
        metadata={"uid": "1"},
    )
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "ml"},
        "involvedObject": {"kind": "Pod", "name": "p", "uid": "1"},
        "reason": "FailedPrepareDynamicResources",
        "message": "DRA driver gpu.example.com is not registered",
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }
    held = claim(
        "c", request("r", "gpu"), status=allocation("node-1", ("gpu.example.com", "gpu-0"), pod="p")
    )
    answer = explain(
        "pod/p", GPU, node("node-1"), gpus("node-1", device("gpu-0")), held, placed, event
    )
    assert answer.verdict == "failing"
    assert "not registered" in answer.headline


def test_two_changes_are_combined_if_neither_is_enough() -> None:
    tainted = node("node-1", taints=[{"key": "dedicated", "effect": "NoSchedule"}])
    asked = pod("p", {"name": "g", "resourceClaimName": "c"})
    answer = explain(
        "pod/p",
        GPU,
        tainted,
        gpus("node-1", device("gpu-0")),
        claim("c", request("r", "gpu", 2)),
        asked,
    )
    (fix,) = answer.fixes
    assert len(fix.changes) == 2
    assert "dedicated" in fix.title
    assert "from 2 to 1" in fix.title


def test_invalid_manifest_gets_a_note() -> None:
    asked = claim("c", request("r", "gpu", -1))
    answer = explain("c", GPU, node("node-1"), gpus("node-1", device("gpu-0")), asked)
    assert any("would refuse ResourceClaim c" in note and "count" in note for note in answer.notes)
    stored = claim("c", request("r", "gpu"), metadata={"uid": "1"})
    assert explain("c", GPU, node("node-1"), gpus("node-1", device("gpu-0")), stored).notes == ()


@pytest.mark.parametrize(("release", "told"), [("1.35", False), ("1.36", True), ("1.37", True)])
def test_features_missing_from_nodes_are_named(release: str, told: bool) -> None:
    asked = pod(
        "p",
        {"name": "g", "resourceClaimName": "c"},
        spec={"hostNetwork": True, "hostUsers": False},
        metadata={},
    )
    able = node("node-2")
    able["status"]["declaredFeatures"] = ["UserNamespacesHostNetworkSupport"]
    objects = (
        GPU,
        node("node-1"),
        able,
        gpus("node-1", device("gpu-0")),
        claim("c", request("r", "gpu")),
        asked,
    )
    notes = [
        n for n in explain("pod/p", *objects, release=release).notes if "not checked here" in n
    ]
    assert bool(notes) is told
    assert all(
        "UserNamespacesHostNetworkSupport" in n and "node-1" in n and "node-2" not in n
        for n in notes
    )


# -- nodes that cannot be told apart --


def keys(
    *slices: dict[str, Any],
    expression: str = "device.attributes['d'].model == 'A'",
    held: list[dict[str, Any]] | None = None,
) -> list[object]:
    state = state_of(node("node-1"), node("node-2"), *slices, *(held or []))
    scheduler = Scheduler(state, Features.for_release("1.37"))
    names = attribute_names(reading, {"expression": expression})
    return list(scheduler.node_keys(scheduler.nodes, names).by_name.values())


def test_unread_names_and_values_do_not_matter() -> None:
    one, two = keys(
        gpus("node-1", device("gpu-0", model="A", uuid="1")),
        gpus("node-2", device("gpu-0", model="A", uuid="2")),
    )
    assert one == two


@pytest.mark.parametrize(
    "expression", ["device.attributes['d'].uuid == '1'", "device.attributes['d'].exists(k, true)"]
)
def test_readable_values_matter(expression: str) -> None:
    slices = gpus("node-1", device("gpu-0", uuid="1")), gpus("node-2", device("gpu-0", uuid="2"))
    one, two = keys(*slices, expression=expression)
    assert one != two


def test_devices_in_use_matter() -> None:
    held = [
        claim("h", request("r", "gpu"), status=allocation("node-1", ("gpu.example.com", "gpu-0")))
    ]
    one, two = keys(gpus("node-1", device("gpu-0")), gpus("node-2", device("gpu-0")), held=held)
    assert one != two


@pytest.mark.parametrize("names", [frozenset[str](), None])
def test_released_devices_change_the_keys_of_their_nodes_only(names: frozenset[str] | None) -> None:
    slices = [gpus(f"node-{i}", device("gpu-0")) for i in (1, 2, 3)]
    held = [
        claim(name, request("r", "gpu"), status=allocation(name, ("gpu.example.com", "gpu-0")))
        for name in ("node-1", "node-3")
    ]
    state = state_of(*(node(f"node-{i}") for i in (1, 2, 3)), *slices, *held)
    features = Features.for_release("1.37")
    scheduler = Scheduler(state, features)
    before = scheduler.node_keys(scheduler.nodes, names).by_name
    key = next(key for key in state.claims if key[1] == "node-1")
    released = Scheduler(state.replace("ResourceClaim", key, None), features)
    after = released.node_keys(released.nodes, names).by_name
    assert before["node-1"] == before["node-3"] != before["node-2"]
    assert list(after) == ["node-1", "node-2", "node-3"]
    assert after == {**before, "node-1": before["node-2"]}


def test_pool_spanning_nodes_is_never_shared() -> None:
    slices = [gpus(f"node-{i}", device("gpu-0"), name="one") for i in (1, 2)]
    one, two = keys(*slices)
    assert one != two


def test_requests_on_the_same_counters_name_the_counter_sets() -> None:
    def part(name: str, profile: str, memory: str) -> dict[str, Any]:
        counters = {"memory": {"value": memory}}
        consumed = [{"counterSet": f"{name[:5]}-set", "counters": counters}]
        return {**device(name, profile=profile), "consumesCounters": consumed}

    names = ("gpu-0", "gpu-1")
    parts = [
        part(f"{g}-{p}", p, m) for g in names for p, m in (("half", "40Gi"), ("large", "60Gi"))
    ]
    two = {"resourceSliceCount": 2}
    devices = gpus("node-1", *parts, **two)
    sets = gpus("node-1", **two)
    sets["metadata"]["name"] += "-sets"
    sets["spec"]["sharedCounters"] = [
        {"name": f"{g}-set", "counters": {"memory": {"value": "80Gi"}}} for g in names
    ]
    of_profile = "device.attributes['gpu.example.com'].profile == '{}'"
    asked = [
        request(
            f"r-{profile}",
            "gpu",
            count,
            selectors=[{"cel": {"expression": of_profile.format(profile)}}],
        )
        for profile, count in (("half", 1), ("large", 2))
    ]
    told = "their devices draw on the same counters, of gpu-0-set, gpu-1-set"
    answer = explain("c", GPU, node("node-1"), devices, sets, claim("c", *asked))
    assert answer.reasons[0].code == "search-conflict"
    assert answer.reasons[0].message.endswith(f"together they do not: {told}")
    answer = explain("c", GPU, node("node-1"), devices, sets, claim("c", request("r", "gpu", 3)))
    assert (
        answer.reasons[0].message == f"request r: one device would fit; 3 together do not: {told}"
    )


def test_a_name_inside_another_is_not_read() -> None:
    one, two = keys(
        gpus("node-1", device("gpu-0", uuid="1", id="1")),
        gpus("node-2", device("gpu-0", uuid="1", id="2")),
        expression="device.attributes['d'].uuid == '1' // id",
    )
    assert one == two


def test_value_failing_every_selector_matters() -> None:
    broken = {"name": "gpu-0", "attributes": {"v": {"version": "x"}}}
    one, two = keys(gpus("node-1", device("gpu-0")), gpus("node-2", broken), expression="true")
    assert one != two


# -- what decided an evaluation --


def test_false_part_of_a_selector_is_named_with_its_values() -> None:
    from dractl.explain.answer import plain

    text = (
        "device.attributes['gpu.example.com'].model in ['A', 'B'] && "
        "(device.attributes['gpu.example.com'].cores > 4 || device.attributes['gpu.example.com'].?big.orValue(false))"
    )
    devices = gpus(
        "node-1", device("gpu-0", model="A", cores=2), device("gpu-1", model="B", cores=2)
    )
    (reason,) = explain("c", GPU, node("node-1"), devices, claim("c", wants(text))).reasons
    part = "device.attributes['gpu.example.com'].cores > 4 || device.attributes['gpu.example.com'].?big.orValue(false)"
    (evaluated,) = plain(reason.evaluations)
    assert evaluated["expression"] == part == text[evaluated["start"] : evaluated["end"]]
    assert evaluated["saw"] == [
        {"name": "gpu.example.com/cores", "value": "2"},
        {"name": "gpu.example.com/big"},
    ]
    assert "cores > 4 || big.orValue(false) is false" in reason.message.replace("?", "")


def test_failing_selector_names_the_failed_lookup() -> None:
    text = "device.attributes['gpu.example.com'].model == 'A'"
    (reason, *_) = explain(
        "c", GPU, node("node-1"), gpus("node-1", device("gpu-0")), claim("c", wants(text))
    ).reasons
    assert reason.code == "selector-error"
    (evaluated,) = reason.evaluations
    assert evaluated.expression == "device.attributes['gpu.example.com'].model"
    assert evaluated.error == "no such key: model"
