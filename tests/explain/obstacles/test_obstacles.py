"""Obstacles: exactly what is in the way on the nearest node, and when the subject could fit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any
from unittest.mock import MagicMock

import pytest

from dractl.allocation import Features
from dractl.cluster.changes import Patch
from dractl.explain.answer import Explanation
from dractl.explain.ask import find_subjects
from dractl.explain.explain import Explainer
from dractl.explain.obstacles.demands import Demand, NodeLabel, demand_of_stop
from dractl.explain.obstacles.search import smallest_subset
from dractl.resources import data_dir
from dractl.scheduler import admission, pre_enqueue, quota
from dractl.scheduler.stops import Stop
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

GPU = "gpu.example.com"
ROOT = "resource.kubernetes.io/pcieRoot"
CLASS = device_class("gpu", f"device.driver == '{GPU}'")
NIC_CLASS = device_class("nic", "device.driver == 'nic.example.com'")
USES = {"name": "g", "resourceClaimName": "c"}
CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
TOO_MUCH = [{"name": "main", "resources": {"requests": {"cpu": "96"}}}]


def explain(*objects: dict[str, Any]) -> Explanation:
    state = state_of(*objects)
    (question,) = find_subjects(state, "pod/p", "ml")
    return Explainer(state, Features.for_release("1.37")).explain(question)


def gpus(name: str, count: int = 4) -> dict[str, Any]:
    return slice_of(GPU, name, *(device(f"gpu-{n}", model="H100") for n in range(count)))


def machine(name: str, count: int = 4, **more: Any) -> tuple[dict[str, Any], ...]:
    return node(name, **more), gpus(name, count)


def selector(text: str) -> list[dict[str, Any]]:
    return [{"cel": {"expression": text}}]


def kinds(answer: Explanation) -> list[str]:
    return [obstacle.kind for obstacle in answer.obstacles]


def holder(name: str, node_name: str, *devices: str) -> tuple[dict[str, Any], ...]:
    """A running pod with devices of a node."""
    held = allocation(node_name, *((GPU, each) for each in devices), pod=name)
    uses = {"name": "g", "resourceClaimName": f"{name}-c"}
    running = pod(name, uses, spec={"nodeName": node_name}, status={"phase": "Running"})
    return running, claim(f"{name}-c", request("r", "gpu", len(devices)), status=held)


def test_fitting_pod_has_no_obstacle() -> None:
    answer = explain(CLASS, *machine("a"), claim("c", request("r", "gpu")), pod("p", USES))
    assert (answer.obstacles, answer.when) == ((), None)


MISTAKES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "selector": ({"selectors": selector(f"device.attributes['{GPU}'].model == 'B200'")}, {}),
    "count": ({"count": 9}, {}),
    "node-selector": ({}, {"nodeSelector": {"pool": "gpu"}}),
    "resource": ({}, {"containers": TOO_MUCH}),
    "scheduling-gate": ({}, {"schedulingGates": [{"name": "example.com/budget"}]}),
}


@pytest.mark.parametrize(
    "wrong",
    [
        ("selector",),
        ("count", "resource"),
        ("selector", "count", "node-selector"),
        ("selector", "count", "node-selector", "resource", "scheduling-gate"),
    ],
    ids=" ".join,
)
def test_exactly_the_mistakes_are_in_the_way_and_one_fix_has_a_part_for_each(
    wrong: Sequence[str],
) -> None:
    fields = {k: v for name in wrong for k, v in MISTAKES[name][0].items()}
    spec = {k: v for name in wrong for k, v in MISTAKES[name][1].items()}
    wanted = claim("c", request("r", "gpu", **fields))
    answer = explain(CLASS, *machine("a"), wanted, pod("p", USES, spec=spec))
    assert sorted(kinds(answer)) == sorted(wrong)
    assert all(obstacle.nodes in ((), ("a",)) for obstacle in answer.obstacles)
    assert {obstacle.code for obstacle in answer.obstacles} <= {r.code for r in answer.reasons}
    assert len(answer.fixes[0].parts or answer.fixes[0].changes) == len(wrong)
    assert answer.fixes[0].nodes == ("a",)


def test_a_cordon_and_its_taint_are_one_obstacle() -> None:
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    cordoned = machine("a", unschedulable=True, taints=[taint])
    answer = explain(CLASS, *cordoned, claim("c", request("r", "gpu")), pod("p", USES))
    assert kinds(answer) == ["cordon"]


def test_nearest_node_satisfies_the_node_selector() -> None:
    """That another node lacks the devices is no reason to go there."""
    wanted = claim("c", request("r", "gpu", 9))
    spec = {"nodeSelector": {"pool": "gpu"}, "containers": TOO_MUCH}
    objects = (CLASS, *machine("a", labels={"pool": "gpu"}), node("cpu-1"), wanted)
    answer = explain(*objects, pod("p", USES, spec=spec))
    assert sorted(kinds(answer)) == ["count", "resource"]
    assert {obstacle.nodes for obstacle in answer.obstacles} == {("a",)}


def test_obstacles_behind_a_missing_class_are_judged_without_it() -> None:
    text = f"device.attributes['{GPU}'].model == 'B200'"
    wanted = claim("c", request("r", "team-gpu", 9, selectors=selector(text)))
    answer = explain(CLASS, *machine("a"), wanted, pod("p", USES))
    assert kinds(answer) == ["class", "selector", "count"]
    assert answer.when == "never"


def test_demands_are_unknown_without_devices() -> None:
    text = f"device.attributes['{GPU}'].model == 'B200'"
    wanted = claim("c", request("r", "gpu", 9, selectors=selector(text)))
    answer = explain(CLASS, node("a"), wanted, pod("p", USES))
    assert kinds(answer) == ["devices"]
    assert any(
        note.startswith("not known of request r") and "model == 'B200', a count of 9" in note
        for note in answer.notes
    )


def test_holders_of_unpublished_devices_are_named_those_with_most_devices_first() -> None:
    """The allocations outlive the slices, so the devices are held once they are published."""
    objects = [CLASS, node("a"), claim("c", request("r", "gpu")), pod("p", USES)]
    numbers = {"one": (0,), "three": (1, 2, 3), "single": (4,), "two": (5, 6), "other": (7,)}
    for name, devices in numbers.items():
        held = allocation("a", *((GPU, f"gpu-{n}") for n in devices), pod=name)
        objects += [
            claim(name, request("r", "gpu", len(devices)), status=held),
            pod(name, {"name": "g", "resourceClaimName": name}, spec={"nodeName": "a"}),
        ]
    notes = [note for note in explain(*objects).notes if note.startswith("allocated although")]
    assert notes == [
        "allocated although no slice has them: devices of ml/three, ml/two, ml/one and 2 more"
    ]


def test_devices_that_a_slice_has_are_not_called_unpublished() -> None:
    """The pod shares a claim for the only device, and wants another one of its own."""
    status = allocation("a", (GPU, "gpu-0"), pod="other")
    status["allocation"]["allocationTimestamp"] = "2026-11-27T07:00:00Z"
    shared = claim("shared", request("r", "gpu"), status=status)
    mine = {"name": "shared", "resourceClaimName": "shared"}
    other = pod("other", mine, spec={"nodeName": "a"})
    text = f"device.attributes['{GPU}'].model == 'H100'"
    wanted = claim("c", request("r", "gpu", selectors=selector(text)))
    answer = explain(CLASS, *machine("a", 1), shared, wanted, other, pod("p", USES, mine))
    assert answer.reasons[0].code == "device-in-use-same-pod"
    assert answer.next[0].text.startswith("let one request of the pod serve both purposes")
    said = ("allocated although", "not known")
    assert not [note for note in answer.notes if note.startswith(said)]


def template(name: str, *requests: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"spec": claim("any", *requests)["spec"]},
    }


DEVICES_IN_QUOTA = "gpu.deviceclass.resource.k8s.io/devices"
QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "gpus", "namespace": "ml"},
    "spec": {"hard": {DEVICES_IN_QUOTA: "0"}},
    "status": {"hard": {DEVICES_IN_QUOTA: "0"}},
}
BY_TEMPLATE = {"name": "g", "resourceClaimTemplateName": "t"}


def test_quota_is_an_obstacle_beside_those_behind_it() -> None:
    spec = {"containers": [{**container, "image": "x"} for container in TOO_MUCH]}
    subject = pod("p", BY_TEMPLATE, metadata={"uid": "p"}, spec=spec)
    answer = explain(CLASS, *machine("a"), QUOTA, template("t", request("r", "gpu")), subject)
    assert kinds(answer) == ["quota", "resource"]
    assert answer.obstacles[0].object == "ResourceQuota/ml/gpus"
    (fix, *_) = answer.fixes
    # The pod waits for a claim that its controller has given up on: it is recreated, once.
    recreated = [c for c in fix.changes if not isinstance(c, Patch) and c.target == "Pod/ml/p"]
    patched = [c for c in fix.changes if isinstance(c, Patch) and c.target == "Pod/ml/p"]
    assert {c.target for c in fix.changes} == {"ResourceQuota/ml/gpus", "Pod/ml/p"}
    assert bool(recreated) != bool(patched)


def test_every_stop_but_two_is_a_demand_that_can_be_lifted() -> None:
    """A missing class is a demand of the claims; of pods that were not created there is none to try."""
    stops = [kind(*(MagicMock() for _ in kind.__struct_fields__)) for kind in Stop.__subclasses__()]
    assert {type(stop).__name__ for stop in stops if demand_of_stop(stop) is None} == {
        "ClassMissing",
        "PodsNotCreated",
    }


def test_stops_before_the_scheduling_cycle_are_obstacles_before_the_nodes() -> None:
    modules = (admission.__name__, pre_enqueue.__name__, quota.__name__)
    kinds_of_stops = [kind for kind in Stop.__subclasses__() if kind.__module__ in modules]
    assert kinds_of_stops
    for kind in kinds_of_stops:
        demand = demand_of_stop(kind(*(MagicMock() for _ in kind.__struct_fields__)))
        assert demand is None or demand.is_before_nodes, kind.__name__


def kinds_of(demand: type[Demand]) -> Iterator[str]:
    """Yield the kinds of a class of demands and of those below it."""
    if "kind" in vars(demand):
        yield demand.kind
    for child in demand.__subclasses__():
        yield from kinds_of(child)


def test_schema_lists_the_kind_of_every_demand() -> None:
    schema = json.loads((data_dir("schemas") / "dractl" / "explain-v1.json").read_text("utf-8"))
    obstacle = schema["$defs"]["answer"]["properties"]["obstacles"]["items"]["properties"]
    _, _, listed = obstacle["kind"]["description"].rstrip(".").partition(": ")
    assert set(listed.split(", ")) == set(kinds_of(Demand))


def test_obstacles_behind_a_misspelt_claim_are_judged_with_the_meant_one() -> None:
    misspelt = {"name": "g", "resourceClaimName": "traning"}
    wanted = claim("training", request("r", "gpu", 9))
    answer = explain(CLASS, *machine("a"), wanted, pod("p", misspelt))
    assert sorted(kinds(answer)) == ["claim", "count"]
    assert len(answer.fixes[0].parts) == 2


def test_a_shared_claim_keeps_the_pod_where_it_is_allocated() -> None:
    """Its devices are not in the pod's way, and it is no reason to go to its node."""
    used = allocation("b", ("disk.example.com", "disk-0"), pod="loader")
    used["allocation"]["allocationTimestamp"] = "2026-10-01T08:00:00Z"
    shared = claim("shared", request("d", "disk"), status=used)
    loader = pod("loader", {"name": "d", "resourceClaimName": "shared"}, spec={"nodeName": "b"})
    disks = [slice_of("disk.example.com", name, device("disk-0")) for name in "ab"]
    subject = pod("p", USES, {"name": "d", "resourceClaimName": "shared"})
    objects = (*machine("a"), node("b"), *disks, claim("c", request("r", "gpu")))
    disk_class = device_class("disk", "device.driver == 'disk.example.com'")
    answer = explain(CLASS, disk_class, *objects, shared, loader, subject)
    assert kinds(answer) == ["claim-location"]
    assert answer.obstacles[0].nodes == ("a",)


def test_a_cluster_without_nodes_is_one_obstacle() -> None:
    everywhere = gpus("a")
    everywhere["spec"] = {k: v for k, v in everywhere["spec"].items() if k != "nodeName"}
    everywhere["spec"]["allNodes"] = True
    answer = explain(CLASS, everywhere, claim("c", request("r", "gpu")), pod("p", USES))
    assert (kinds(answer), answer.when) == (["nodes"], "never")


def test_a_constraint_counts_though_one_of_its_requests_has_no_devices() -> None:
    nic = slice_of("nic.example.com", "a", device("nic-0", rdma=True))
    wanted = claim(
        "c",
        request("gpu", "gpu"),
        request("nic", "nic", selectors=selector("device.attributes['nic.example.com'].rdma")),
        constraints=[{"requests": ["gpu", "nic"], "matchAttribute": "example.com/rack"}],
    )
    answer = explain(CLASS, NIC_CLASS, node("a"), nic, wanted, pod("p", USES))
    assert sorted(kinds(answer)) == ["constraint", "devices"]


def test_constraint_of_all_requests_counts_though_one_of_them_has_no_devices() -> None:
    nic = slice_of("nic.example.com", "a", device("nic-0", **{"example.com/rack": "1"}))
    gpu = slice_of(GPU, "a", device("gpu-0", **{"example.com/rack": "2"}))
    wanted = claim(
        "c",
        *(request(name, name) for name in ("gpu", "nic", "fpga")),
        constraints=[{"matchAttribute": "example.com/rack"}],
    )
    fpga = device_class("fpga", "device.driver == 'fpga.example.com'")
    answer = explain(CLASS, NIC_CLASS, fpga, node("a"), gpu, nic, wanted, pod("p", USES))
    assert sorted(kinds(answer)) == ["constraint", "devices"]


def test_each_unmet_constraint_of_an_attribute_is_an_obstacle() -> None:
    """Each pair needs one rack, and all four devices are in different ones."""
    gpu = slice_of(GPU, "a", *(device(f"gpu-{n}", **{"example.com/rack": f"{n}"}) for n in (0, 1)))
    drivers = "nic", "fpga"
    others = [
        slice_of(f"{name}.example.com", "a", device(f"{name}-0", **{"example.com/rack": name}))
        for name in drivers
    ]
    wanted = claim(
        "c",
        *(request(f"gpu-{name}", "gpu") for name in drivers),
        *(request(name, name) for name in drivers),
        constraints=[
            {"requests": [f"gpu-{name}", name], "matchAttribute": "example.com/rack"}
            for name in drivers
        ],
    )
    fpga = device_class("fpga", "device.driver == 'fpga.example.com'")
    answer = explain(CLASS, NIC_CLASS, fpga, node("a"), gpu, *others, wanted, pod("p", USES))
    assert kinds(answer) == ["constraint", "constraint"]


def test_devices_in_use_are_no_obstacle_to_an_extended_resource_too_large_for_a_node() -> None:
    gpu = device_class("gpu", f"device.driver == '{GPU}'")
    gpu["spec"]["extendedResourceName"] = "example.com/gpu"
    amounts = {"example.com/gpu": "9"}
    containers = [{"name": "main", "resources": {"requests": amounts, "limits": amounts}}]
    answer = explain(
        gpu, *machine("a", unschedulable=True), pod("p", spec={"containers": containers})
    )
    assert "device-in-use" not in kinds(answer)
    assert "cordoned" in answer.headline


def test_an_extended_resource_too_large_for_a_node_is_an_obstacle() -> None:
    """As for a claim, no node ever has 16 devices if the largest one has 4."""
    gpu = device_class("gpu", f"device.driver == '{GPU}'")
    gpu["spec"]["extendedResourceName"] = "example.com/gpu"
    amounts = {"example.com/gpu": "16"}
    containers = [{"name": "main", "resources": {"requests": amounts, "limits": amounts}}]
    answer = explain(gpu, *machine("a"), pod("p", spec={"containers": containers}))
    (obstacle,) = answer.obstacles
    assert (obstacle.kind, obstacle.want) == ("resource", "16 example.com/gpu")
    assert obstacle.code == "not-enough"
    assert answer.when == "never"
    assert [fix.title for fix in answer.fixes] == ["lower example.com/gpu from 16 to 4"]


def test_obstacles_of_unpublished_devices_are_noted() -> None:
    rule = {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "firmware"},
        "spec": {
            "deviceSelector": {"driver": GPU},
            "taint": {"key": "firmware", "effect": "NoSchedule"},
        },
    }
    held = holder("x", "a", "gpu-0")
    answer = explain(CLASS, node("a"), rule, *held, claim("c", request("r", "gpu")), pod("p", USES))
    assert kinds(answer) == ["devices"]
    assert any("DeviceTaintRule firmware" in note for note in answer.notes)
    assert any("ml/x" in note for note in answer.notes)


def test_the_fix_of_a_mixture_changes_objects_and_names_the_repair() -> None:
    taint = {"key": "example.com/xid", "value": "79", "effect": "NoExecute"}
    broken = node("a"), slice_of(GPU, "a", device("gpu-0", taints=[taint]))
    subject = pod("p", USES, spec={"nodeSelector": {"pool": "gpu"}})
    answer = explain(CLASS, *broken, claim("c", request("r", "gpu")), subject)
    assert sorted(kinds(answer)) == ["device-taint", "node-selector"]
    toleration = answer.fixes[0]
    assert {c.target for c in toleration.changes} == {"Pod/ml/p", "ResourceClaim/ml/c"}
    assert any(part.startswith("add a toleration for example.com/xid") for part in toleration.parts)
    assert "the taint says that it is broken; else drain the node" in toleration.effect


def test_nodes_with_the_meant_label_are_nearer_than_others() -> None:
    """What is in the way there is said, even if less is in the way on a node of another pool."""
    full = machine("a", labels={"pool": "gpu"}, allocatable={"cpu": "1", "memory": "1Gi"})
    containers = [{"name": "main", "resources": {"requests": {"cpu": "2", "memory": "2Gi"}}}]
    spec = {"nodeSelector": {"pool": "gpus"}, "containers": containers}
    subject = pod("p", USES, spec=spec)
    answer = explain(CLASS, *full, *machine("b"), claim("c", request("r", "gpu")), subject)
    assert sorted(kinds(answer)) == ["node-selector", "resource", "resource"]
    assert answer.obstacles[0].nodes == ("a",)


def test_as_many_pods_end_as_a_node_runs_too_many() -> None:
    running = [pod(n, spec={"nodeName": "a"}, status={"phase": "Running"}) for n in ("x", "y")]
    crowded = machine("a", allocatable={"pods": "1"})
    answer = explain(CLASS, *crowded, *running, claim("c", request("r", "gpu")), pod("p", USES))
    assert kinds(answer) == ["pods"]
    assert {c.target for c in answer.fixes[0].changes} == {"Pod/ml/x", "Pod/ml/y"}


def test_permanent_taint_is_tolerated_while_the_other_goes_away() -> None:
    pressure = {"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}
    team = {"key": "team", "value": "vision", "effect": "NoSchedule"}
    tainted = machine("a", taints=[pressure, team])
    answer = explain(CLASS, *tainted, claim("c", request("r", "gpu")), pod("p", USES))
    fix = answer.fixes[0]
    assert "add a toleration for team=vision:NoSchedule to the pod" in fix.parts
    assert "node.kubernetes.io/disk-pressure:NoSchedule goes away" in fix.title
    assert {change.target for change in fix.changes} == {"Pod/ml/p"}


def test_one_count_is_in_the_way_where_it_breaks_two_constraints() -> None:
    """Three of four devices can neither share a root with the NIC nor be of three NUMA nodes; one can do both."""
    numa, nic_driver = "resource.kubernetes.io/numaNode", "nic.example.com"
    devices = (device(f"gpu-{n}", **{ROOT: f"pci0000:{n // 2}0", numa: n // 2}) for n in range(4))
    nic = slice_of(nic_driver, "a", device("nic-0", **{ROOT: "pci0000:00"}))
    wanted = claim(
        "c",
        request("gpu", "gpu", 3),
        request("nic", "nic"),
        constraints=[
            {"requests": ["gpu", "nic"], "matchAttribute": ROOT},
            {"requests": ["gpu"], "distinctAttribute": numa},
        ],
    )
    machines = node("a"), slice_of(GPU, "a", *devices), nic
    answer = explain(CLASS, NIC_CLASS, *machines, wanted, pod("p", USES))
    assert kinds(answer) == ["count"]
    assert "no PCIe root has 3 GPUs" in answer.obstacles[0].have
    assert "numaNode over gpu: 3 different values wanted, there are 2" in answer.obstacles[0].have
    assert "lower count of request gpu from 3 to 1" in answer.fixes[0].title


def test_constraints_that_no_lower_count_meets_are_the_obstacles() -> None:
    """The pair is on two roots and NUMA nodes; the number of the other GPUs changes nothing."""
    numa, nic_driver = "resource.kubernetes.io/numaNode", "nic.example.com"
    devices = (device(f"gpu-{n}", **{ROOT: "pci0000:00", numa: 0}) for n in range(4))
    nic = slice_of(nic_driver, "a", device("nic-0", **{ROOT: "pci0000:90", numa: 1}))
    wanted = claim(
        "c",
        request("others", "gpu", 2),
        request("gpu", "gpu"),
        request("nic", "nic"),
        constraints=[{"requests": ["gpu", "nic"], "matchAttribute": name} for name in (ROOT, numa)],
    )
    machines = node("a"), slice_of(GPU, "a", *devices), nic
    answer = explain(CLASS, NIC_CLASS, *machines, wanted, pod("p", USES))
    assert kinds(answer) == ["constraint", "constraint"]


# -- when --


def test_devices_in_use_are_the_obstacle_where_an_idle_node_would_do() -> None:
    held = holder("x", "a", "gpu-0", "gpu-1", "gpu-2", "gpu-3")
    answer = explain(CLASS, *machine("a"), *held, claim("c", request("r", "gpu")), pod("p", USES))
    assert (kinds(answer), answer.when) == (["device-in-use"], "now-held")


@pytest.mark.parametrize("app", ["cache", "other"])
def test_pods_that_affinity_asks_for_stay_on_an_idle_node(app: str) -> None:
    """An idle node has no holder, and still has the pod beside which the subject has to run."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    required = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    cache = pod("cache", spec={"nodeName": "a"}, metadata={"labels": {"app": "cache"}})
    held = holder("x", "a", "gpu-0", "gpu-1", "gpu-2", "gpu-3")
    objects = (CLASS, *machine("a"), *held, cache)
    subject = pod("p", USES, spec={"affinity": required})
    answer = explain(*objects, claim("c", request("r", "gpu")), subject)
    assert answer.when == ("now-held" if app == "cache" else "never")


def test_a_correction_that_is_not_enough_is_followed_by_the_lasting_cause() -> None:
    slices = slice_of(GPU, "a", *(device(f"gpu-{n}", **{ROOT: f"pci0000:{n}0"}) for n in range(4)))
    wanted = template("big", request("r", "gpu", 2))
    wanted["spec"]["spec"]["devices"]["constraints"] = [{"matchAttribute": ROOT}]
    held = holder("x", "a", "gpu-0", "gpu-1", "gpu-2", "gpu-3")
    subject = pod("p", {"name": "g", "resourceClaimTemplateName": "bigg"})
    answer = explain(CLASS, node("a"), slices, *held, wanted, subject)
    (note,) = (note for note in answer.notes if note.startswith("it is not enough to "))
    assert "bigg to big. After that: never here, even on an idle node: " in note


def test_demand_beyond_an_idle_node_is_reported_before_holders() -> None:
    """Whoever ended the holder would have ended it for nothing."""
    roots = {f"gpu-{n}": f"pci0000:{n}0" for n in range(4)}
    devices = (device(name, **{ROOT: root}) for name, root in roots.items())
    apart = node("a"), slice_of(GPU, "a", *devices)
    nic = slice_of("nic.example.com", "a", device("nic-0", **{ROOT: "pci0000:00"}))
    wanted = claim(
        "c",
        request("gpu", "gpu", 2),
        request("nic", "nic"),
        constraints=[{"requests": ["gpu", "nic"], "matchAttribute": ROOT}],
    )
    held = holder("x", "a", "gpu-0", "gpu-1", "gpu-2", "gpu-3")
    answer = explain(CLASS, NIC_CLASS, *apart, nic, *held, wanted, pod("p", USES))
    assert answer.when == "never"
    assert answer.headline.startswith("never here, even on an idle node: ")
    assert "right now also" in answer.headline
    assert answer.reasons[0].code != "device-in-use"
    assert kinds(answer)[0] != "device-in-use"


def test_holders_are_named_beside_lasting_obstacles_and_not_in_them() -> None:
    held = holder("x", "a", "gpu-0", "gpu-1", "gpu-2", "gpu-3")
    subject = pod("p", USES, spec={"nodeSelector": {"pool": "gpu"}})
    answer = explain(CLASS, *machine("a"), *held, claim("c", request("r", "gpu", 9)), subject)
    assert {obstacle.kind: "ml/x" in obstacle.have for obstacle in answer.obstacles} == {
        "count": False,
        "node-selector": False,
        "device-in-use": True,
    }


def test_missing_class_beside_other_obstacles_names_the_nearest_class() -> None:
    wanted = claim("c", request("r", "gp", 9))
    answer = explain(CLASS, NIC_CLASS, *machine("a"), wanted, pod("p", USES))
    assert kinds(answer) == ["class", "count"]
    assert answer.obstacles[0].have.endswith("device class gp does not exist; there is gpu")


def test_a_lasting_cause_is_not_repeated_as_one_of_the_moment() -> None:
    gpu = device("gpu-0", capacity={"memory": "80Gi"})
    wanted = request("r", "gpu", capacity={"requests": {"memory": "96Gi"}})
    slices = slice_of(GPU, "a", gpu)
    answer = explain(CLASS, node("a"), slices, claim("c", wanted), pod("p", USES))
    assert answer.headline.count("wants 96Gi") == 1


def test_a_class_that_the_search_adds_is_not_suggested() -> None:
    roots = ("pci0000:00", "pci0000:10")
    pair = (device(f"gpu-{root[-2]}", type="gpu", **{ROOT: root}) for root in roots)
    aligned = {"requests": ["gpu", "nic"], "matchAttribute": ROOT}
    requests = request("gpu", "gpu.nvidia.com", 2), request("nic", "dranet")
    answer = explain(
        node("a"),
        slice_of("gpu.nvidia.com", "a", *pair),
        slice_of("dra.net", "a", device("nic-0", **{ROOT: roots[0]})),
        claim("c", *requests, constraints=[aligned]),
        pod("p", USES),
    )
    assert kinds(answer) == ["class", "class", "constraint"]
    assert not any("there is only" in reason.message for reason in answer.reasons)


def test_a_gate_alone_blocks_the_pod() -> None:
    gated = pod("p", USES, spec={"schedulingGates": [{"name": "example.com/budget"}]})
    answer = explain(CLASS, *machine("a"), claim("c", request("r", "gpu")), gated)
    assert (kinds(answer), answer.when) == (["scheduling-gate"], "blocked")


# -- the smallest set --


@pytest.mark.parametrize("needed", [(0,), (7,), (2, 5), (0, 3, 7), tuple(range(8))])
def test_the_smallest_set_is_found_with_few_questions(needed: tuple[int, ...]) -> None:
    demands = [NodeLabel(str(number), "x") for number in range(8)]
    wanted = [demands[number] for number in needed]
    asked: list[int] = []

    def is_enough(lifted: Sequence[Demand]) -> bool:
        asked.append(len(lifted))
        return set(wanted) <= set(lifted)

    assert smallest_subset(is_enough, demands) == wanted
    assert len(asked) <= 2 * len(demands)


def test_of_two_sets_the_first_is_taken() -> None:
    demands = [NodeLabel(str(number), "x") for number in range(4)]
    either = {demands[1], demands[3]}
    assert smallest_subset(lambda lifted: bool(either & set(lifted)), demands) == [demands[1]]


def test_cause_names_the_claim_made_by_the_controller() -> None:
    """The obstacles are those of a recreated pod, whose claims have no random suffix."""
    wanted = request("r", "gpu", selectors=selector(f"device.attributes['{GPU}'].model == 'B200'"))
    spec = {"devices": {"requests": [wanted, request("n", "rdma")]}}
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t", "namespace": "ml"},
        "spec": {"spec": spec},
    }
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1", "controller": True}
    metadata = {"ownerReferences": [owner], "annotations": {CLAIM_NAME: "g"}}
    generated = claim("p-g-x7k2p", wanted, request("n", "rdma"), metadata=metadata)
    waiting = pod("p", {"name": "g", "resourceClaimTemplateName": "t"}, metadata={"uid": "1"})
    statuses = [{"name": "g", "resourceClaimName": "p-g-x7k2p"}]
    waiting["status"] = {**waiting.get("status", {}), "resourceClaimStatuses": statuses}
    answer = explain(CLASS, *machine("a"), template, generated, waiting)
    assert [reason.code for reason in answer.reasons] == ["class-missing", "selector-false"]
    assert {reason.facts.get("claim") for reason in answer.reasons} == {"ml/p-g-x7k2p"}
