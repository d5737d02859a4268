"""The same situations as another author would have met them: other drivers, other workloads, two causes at once. Each
was seen on a control plane first."""

from __future__ import annotations

from typing import Any

import pytest

from tests.explain.cluster import allocation, claim, device, device_class, node, pod, request, slice_of
from tests.explain.test_fixes import DRIVER, GPU, explain, gpus, selecting, template, titles
from tests.explain.test_on_call import ONE, OWN, said, seen, waiting

ANY = device_class(DRIVER, f"device.driver == '{DRIVER}'")


def held(where: str, by: str, *names: str, **owner: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A claim with devices of a node, and the running pod that uses it."""
    devices = [(DRIVER, name) for name in names or ("gpu-0",)]
    uses = {"name": "g", "resourceClaimName": f"of-{by}"}
    holder = pod(by, uses, spec={"nodeName": where}, status={"phase": "Running"}, metadata=owner)
    return claim(f"of-{by}", request("r", DRIVER), status=allocation(where, *devices, pod=by)), holder


def owned_by(kind: str, name: str, **more: Any) -> dict[str, Any]:
    reference = {"apiVersion": "example.com/v1", "kind": kind, "name": name, "uid": "o", "controller": True}
    return {"ownerReferences": [reference], **more}


# -- the first sentence --


def test_a_headline_names_the_workload_that_holds_the_devices() -> None:
    owner = owned_by("ReplicaSet", "mesh-5f", labels={"pod-template-hash": "5f"})
    holders = held("a", "mesh-5f-x", **owner)
    answer = explain("pod/p", GPU, node("a"), gpus("a", "gpu-0"), ONE, *holders, waiting())
    assert answer.headline.endswith("the only matching device is in use; held by Deployment ml/mesh")


def test_the_nearest_node_is_one_that_nothing_else_refuses() -> None:
    """The pod of a DaemonSet, which has to run on its own node."""
    expressions = [{"key": "metadata.name", "operator": "In", "values": ["b"]}]
    terms = {"nodeSelectorTerms": [{"matchFields": expressions}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    holders = *held("a", "other"), *held("b", "hog")
    nodes = *(node(n) for n in "ab"), *(gpus(n, "gpu-0") for n in "ab")
    answer = explain("pod/p", GPU, *nodes, ONE, *holders, waiting(spec={"affinity": affinity}))
    assert "nearest is b: request r: the only matching device is in use; held by pod ml/hog" in answer.headline


def test_alternatives_on_different_nodes_are_not_requests_for_both() -> None:
    other = device_class("npu.example.com", "device.driver == 'npu.example.com'")
    options = [{"name": "gpu", "deviceClassName": DRIVER}, {"name": "npu", "deviceClassName": "npu.example.com"}]
    npus = slice_of("npu.example.com", "b", device("npu-0"))
    taken = claim("of-x", request("r", "npu.example.com"), status=allocation("b", ("npu.example.com", "npu-0")))
    either = template("t", {"name": "r", "firstAvailable": options})
    nodes = node("a"), node("b"), gpus("a", "gpu-0"), npus, taken
    answer = explain("pod/p", GPU, other, *nodes, *held("a", "hog"), either, waiting())
    assert "no node has devices for all requests" not in said(answer)


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        (
            "node.kubernetes.io/unreachable",
            "the node does not answer (taint node.kubernetes.io/unreachable:NoSchedule)",
        ),
        ("node.kubernetes.io/not-ready", "the node is not ready (taint node.kubernetes.io/not-ready:NoSchedule)"),
        ("team", "taint team:NoSchedule is not tolerated"),
    ],
)
def test_taints_that_stand_for_a_condition_of_the_node(key: str, sentence: str) -> None:
    tainted = node("a", taints=[{"key": key, "effect": "NoSchedule"}])
    assert sentence in explain("pod/p", GPU, tainted, gpus("a", "gpu-0"), ONE, waiting()).headline


def test_all_taints_that_are_not_tolerated_are_named() -> None:
    taints = [{"key": key, "effect": "NoSchedule"} for key in ("team", "maintenance")]
    answer = explain("pod/p", GPU, node("a", taints=taints), gpus("a", "gpu-0"), ONE, waiting())
    assert "taints team:NoSchedule, maintenance:NoSchedule are not tolerated" in answer.headline


def test_a_cordon_does_not_hide_another_taint() -> None:
    taints = [{"key": key, "effect": "NoSchedule"} for key in ("node.kubernetes.io/unschedulable", "team")]
    answer = explain("pod/p", GPU, node("a", unschedulable=True, taints=taints), gpus("a", "gpu-0"), ONE, waiting())
    assert "taint team:NoSchedule is not tolerated" in said(answer)


# -- fixes --


def test_a_workload_that_another_controller_writes_is_changed_there() -> None:
    """A LeaderWorkerSet applies its StatefulSets again as they were."""
    spec = {"replicas": 1, "selector": {}, "template": {"metadata": {}, "spec": waiting()["spec"]}}
    metadata = {"name": "serve", "namespace": "ml", **owned_by("LeaderWorkerSet", "llm")}
    made = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}
    subject = waiting(metadata=owned_by("StatefulSet", "serve"))
    tainted = node("a", taints=[{"key": "team", "effect": "NoSchedule"}])
    fix = explain("pod/p", GPU, tainted, gpus("a", "gpu-0"), ONE, made, subject).fixes[0]
    assert fix.title == "add a toleration for team:NoSchedule to the pod"
    assert "change it in LeaderWorkerSet ml/llm" in fix.effect
    assert not fix.steps


def test_a_selector_that_is_true_elsewhere_is_no_mistake() -> None:
    """Of two kinds of partitions the one that was asked for is in use: the other is no replacement."""
    full, part = (device(name, type=kind) for name, kind in (("gpu-0", "gpu"), ("mig-0", "gpu-partition")))
    devices = slice_of(DRIVER, "a", full, part)
    wanted = template("t", selecting(f"device.attributes['{DRIVER}'].type == 'gpu'"))
    answer = explain("pod/p", ANY, node("a"), devices, wanted, *held("a", "hog"), waiting())
    assert answer.fixes[0].title == "delete pod ml/hog"
    assert not any("gpu-partition" in title for title in titles(answer))


def test_another_product_is_offered_as_something_else_to_ask_for() -> None:
    slices = (
        slice_of(DRIVER, "a", device("gpu-0", model="H100")),
        slice_of(DRIVER, "b", device("gpu-0", model="H100-NVL")),
    )
    wanted = template("t", selecting(f"device.attributes['{DRIVER}'].model == 'H100'"))
    answer = explain("pod/p", ANY, node("a"), node("b"), *slices, wanted, *held("a", "hog"), waiting())
    fix = next(fix for fix in answer.fixes if "H100-NVL" in fix.title)
    assert fix.effect == "if such devices will do"
    assert not any("not enough by itself" in note for note in answer.notes)


def test_what_is_given_up_with_a_selector() -> None:
    wanted = template("t", selecting(f"device.attributes['{DRIVER}'].model.contains('B200')"))
    answer = explain("pod/p", ANY, node("a"), slice_of(DRIVER, "a", device("gpu-0", model="H100")), wanted, waiting())
    assert answer.fixes[0].effect == f"the pod may then get any device of class {DRIVER}"


def test_an_attribute_that_is_read_as_a_quantity_of_capacity() -> None:
    version = {"name": "gpu-0", "attributes": {"driverVersion": {"version": "6.12.12"}}}
    text = f"device.capacity['{DRIVER}'].driverVersion.compareTo(quantity('6')) >= 0"
    wanted = template("t", selecting(text))
    answer = explain("pod/p", ANY, node("a"), slice_of(DRIVER, "a", version), wanted, waiting())
    assert f"read {DRIVER}/driverVersion from device.attributes" in answer.fixes[0].title
    assert "semver('6.0.0')" in answer.fixes[0].title


# -- pods that have a node, or nearly --


def test_the_claim_of_a_pod_on_its_node_is_not_deallocated() -> None:
    sharing = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig", "sharing": {"strategy": "TimeSlice"}}
    config = {"opaque": {"driver": "gpu.nvidia.com", "parameters": sharing}}
    own = claim("p-g", request("r", DRIVER), metadata=OWN, status=allocation("a", (DRIVER, "gpu-0"), pod="p"))
    own["spec"]["devices"]["config"] = [config]
    made = template("t", request("r", DRIVER))
    made["spec"]["spec"]["devices"]["config"] = [config]
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "ml"},
        "involvedObject": {"kind": "Pod", "namespace": "ml", "name": "p", "uid": "p"},
        "reason": "FailedPrepareDynamicResources",
        "message": "prepare devices for claim ml/p-g: rpc error: code = Unknown desc = unknown strategy: TimeSlice",
    }
    subject = seen(spec={"nodeName": "a"})
    answer = explain("pod/p", GPU, node("a"), gpus("a", "gpu-0"), made, own, event, subject)
    assert not any("deallocate" in title for title in titles(answer))
    assert not any("registered" in step.text for step in answer.next)


def test_a_pod_whose_claim_is_reserved_for_it_has_been_tried() -> None:
    status = allocation("a", (DRIVER, "gpu-0"), pod="p")
    status["reservedFor"][0]["uid"] = "p"
    status["allocation"]["devices"]["results"][0]["bindingConditions"] = ["example.com/attached"]
    own = claim("p-g", request("r", DRIVER), metadata=OWN, status=status)
    answer = explain("pod/p", GPU, node("a"), gpus("a", "gpu-0"), ONE, own, seen())
    assert "is kube-scheduler running?" not in said(answer)
