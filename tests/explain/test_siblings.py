"""The same situations as another author would have met them: other drivers, other workloads, two causes at once. Each
was seen on a control plane first."""

from __future__ import annotations

from typing import Any

import pytest

from tests.explain.cluster import (
    allocation,
    claim,
    device,
    device_class,
    node,
    pod,
    request,
    slice_of,
)
from tests.explain.test_fixes import (
    DRIVER,
    GPU,
    explain,
    gpus,
    request_with_selector,
    template,
    titles,
)
from tests.explain.test_on_call import ONE, OWN, said, seen, waiting

ANY = device_class(DRIVER, f"device.driver == '{DRIVER}'")


def claim_and_pod(
    where: str, by: str, *names: str, **owner: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A claim with devices of a node, and the running pod that uses it."""
    devices = [(DRIVER, name) for name in names or ("gpu-0",)]
    uses = {"name": "g", "resourceClaimName": f"of-{by}"}
    holder = pod(by, uses, spec={"nodeName": where}, status={"phase": "Running"}, metadata=owner)
    return claim(
        f"of-{by}", request("r", DRIVER), status=allocation(where, *devices, pod=by)
    ), holder


def metadata_with_owner(kind: str, name: str, **more: Any) -> dict[str, Any]:
    reference = {
        "apiVersion": "example.com/v1",
        "kind": kind,
        "name": name,
        "uid": "o",
        "controller": True,
    }
    return {"ownerReferences": [reference], **more}


# -- the first sentence --


def test_headline_names_the_workload_holding_the_devices() -> None:
    owner = metadata_with_owner("ReplicaSet", "mesh-5f", labels={"pod-template-hash": "5f"})
    holders = claim_and_pod("a", "mesh-5f-x", **owner)
    answer = explain("pod/p", GPU, node("a"), gpus("a", "gpu-0"), ONE, *holders, waiting())
    assert answer.headline.endswith(
        "the only matching device is in use; held by Deployment ml/mesh"
    )


def test_nearest_node_is_refused_by_nothing_else() -> None:
    """The pod of a DaemonSet, which has to run on its own node."""
    expressions = [{"key": "metadata.name", "operator": "In", "values": ["b"]}]
    terms = {"nodeSelectorTerms": [{"matchFields": expressions}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    holders = *claim_and_pod("a", "other"), *claim_and_pod("b", "hog")
    nodes = *(node(n) for n in "ab"), *(gpus(n, "gpu-0") for n in "ab")
    answer = explain("pod/p", GPU, *nodes, ONE, *holders, waiting(spec={"affinity": affinity}))
    assert (
        "nearest is b: request r: the only matching device is in use; held by pod ml/hog"
        in answer.headline
    )


def test_alternatives_on_different_nodes_are_not_requests_for_both() -> None:
    other = device_class("npu.example.com", "device.driver == 'npu.example.com'")
    options = [
        {"name": "gpu", "deviceClassName": DRIVER},
        {"name": "npu", "deviceClassName": "npu.example.com"},
    ]
    npus = slice_of("npu.example.com", "b", device("npu-0"))
    taken = claim(
        "of-x",
        request("r", "npu.example.com"),
        status=allocation("b", ("npu.example.com", "npu-0")),
    )
    either = template("t", {"name": "r", "firstAvailable": options})
    nodes = node("a"), node("b"), gpus("a", "gpu-0"), npus, taken
    answer = explain("pod/p", GPU, other, *nodes, *claim_and_pod("a", "hog"), either, waiting())
    assert "no node has devices for all requests" not in said(answer)


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        (
            "node.kubernetes.io/unreachable",
            "the node does not answer (taint node.kubernetes.io/unreachable:NoSchedule)",
        ),
        (
            "node.kubernetes.io/not-ready",
            "the node is not ready (taint node.kubernetes.io/not-ready:NoSchedule)",
        ),
        ("team", "taint team:NoSchedule is not tolerated"),
    ],
)
def test_taints_of_node_conditions_are_named_by_the_condition(key: str, sentence: str) -> None:
    tainted = node("a", taints=[{"key": key, "effect": "NoSchedule"}])
    assert sentence in explain("pod/p", GPU, tainted, gpus("a", "gpu-0"), ONE, waiting()).headline


def test_all_untolerated_taints_are_named() -> None:
    taints = [{"key": key, "effect": "NoSchedule"} for key in ("team", "maintenance")]
    answer = explain("pod/p", GPU, node("a", taints=taints), gpus("a", "gpu-0"), ONE, waiting())
    assert "taints team:NoSchedule, maintenance:NoSchedule are not tolerated" in answer.headline


def test_a_cordon_does_not_hide_another_taint() -> None:
    taints = [
        {"key": key, "effect": "NoSchedule"} for key in ("node.kubernetes.io/unschedulable", "team")
    ]
    answer = explain(
        "pod/p",
        GPU,
        node("a", unschedulable=True, taints=taints),
        gpus("a", "gpu-0"),
        ONE,
        waiting(),
    )
    assert "taint team:NoSchedule is not tolerated" in said(answer)


# -- fixes --


@pytest.mark.parametrize("writer", ["LeaderWorkerSet", "InferenceService"])
def test_managed_workload_is_changed_at_its_controller(writer: str) -> None:
    """A LeaderWorkerSet applies its StatefulSets again as they were, KServe's InferenceService its Deployments
    (kserve/kserve pkg/controller/v1beta1/inferenceservice/reconcilers/deployment)."""
    spec = {"replicas": 1, "selector": {}, "template": {"metadata": {}, "spec": waiting()["spec"]}}
    metadata = {"name": "serve", "namespace": "ml", **metadata_with_owner(writer, "llm")}
    made = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}
    subject = waiting(metadata=metadata_with_owner("StatefulSet", "serve"))
    tainted = node("a", taints=[{"key": "team", "effect": "NoSchedule"}])
    fix = explain("pod/p", GPU, tainted, gpus("a", "gpu-0"), ONE, made, subject).fixes[0]
    assert fix.title == "add a toleration for team:NoSchedule to the pod"
    assert f"change it in {writer} ml/llm" in fix.effect
    assert not fix.steps


def test_selector_true_elsewhere_is_no_mistake() -> None:
    """Of two kinds of partitions the one that was asked for is in use: the other is no replacement."""
    full, part = (
        device(name, type=kind) for name, kind in (("gpu-0", "gpu"), ("mig-0", "gpu-partition"))
    )
    devices = slice_of(DRIVER, "a", full, part)
    wanted = template("t", request_with_selector(f"device.attributes['{DRIVER}'].type == 'gpu'"))
    answer = explain(
        "pod/p", ANY, node("a"), devices, wanted, *claim_and_pod("a", "hog"), waiting()
    )
    assert "delete pod ml/hog" in titles(answer)
    assert not any("gpu-partition" in title for title in titles(answer))


def test_another_product_is_offered_as_something_else_to_ask_for() -> None:
    slices = (
        slice_of(DRIVER, "a", device("gpu-0", model="H100")),
        slice_of(DRIVER, "b", device("gpu-0", model="H100-NVL")),
    )
    wanted = template("t", request_with_selector(f"device.attributes['{DRIVER}'].model == 'H100'"))
    answer = explain(
        "pod/p", ANY, node("a"), node("b"), *slices, wanted, *claim_and_pod("a", "hog"), waiting()
    )
    fix = next(fix for fix in answer.fixes if "H100-NVL" in fix.title)
    assert fix.effect == "if these devices are acceptable"
    assert not any("it is not enough" in note for note in answer.notes)


def test_the_fix_names_the_properties_given_up_with_a_selector() -> None:
    wanted = template(
        "t", request_with_selector(f"device.attributes['{DRIVER}'].model.contains('B200')")
    )
    answer = explain(
        "pod/p",
        ANY,
        node("a"),
        slice_of(DRIVER, "a", device("gpu-0", model="H100")),
        wanted,
        waiting(),
    )
    assert answer.fixes[0].effect == f"the pod may then get any device of class {DRIVER}"


def test_an_attribute_read_as_capacity_is_reported() -> None:
    version = {"name": "gpu-0", "attributes": {"driverVersion": {"version": "6.12.12"}}}
    text = f"device.capacity['{DRIVER}'].driverVersion.compareTo(quantity('6')) >= 0"
    wanted = template("t", request_with_selector(text))
    answer = explain("pod/p", ANY, node("a"), slice_of(DRIVER, "a", version), wanted, waiting())
    assert f"read {DRIVER}/driverVersion from device.attributes" in answer.fixes[0].title
    assert "semver('6.0.0')" in answer.fixes[0].title


# -- pods that have a node, or nearly --


def test_the_claim_of_a_pod_on_its_node_is_not_deallocated() -> None:
    sharing = {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "GpuConfig",
        "sharing": {"strategy": "TimeSlice"},
    }
    config = {"opaque": {"driver": "gpu.nvidia.com", "parameters": sharing}}
    own = claim(
        "p-g",
        request("r", DRIVER),
        metadata=OWN,
        status=allocation("a", (DRIVER, "gpu-0"), pod="p"),
    )
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


# -- second causes, near misses, next steps --


def test_a_pod_bound_to_a_nonexistent_node_is_reported() -> None:
    own = claim("p-g", request("r", DRIVER), metadata=OWN)
    answer = explain(
        "pod/p", GPU, node("a"), gpus("a", "gpu-0"), ONE, own, seen(spec={"nodeName": "b"})
    )
    assert "the pod was put on node b, which does not exist, before claim" in answer.headline
    # No kubelet ends it: without the flag the command waits for ever.
    delete, _, create = answer.fixes[0].steps[-1].command.partition(" && ")
    assert delete.endswith("--force --grace-period=0")
    assert create.startswith("kubectl create -f ")


def test_type_of_an_attribute_is_compared_with_the_literal() -> None:
    version = {
        "name": "gpu-0",
        "attributes": {"driverVersion": {"version": "580.82.7"}, "type": {"string": "gpu"}},
    }
    wanted = template(
        "t", request_with_selector(f"device.attributes['{DRIVER}'].driverVersion >= '570'")
    )
    answer = explain("pod/p", GPU, node("a"), slice_of(DRIVER, "a", version), wanted, waiting())
    assert "driverVersion is a version, not a string" in answer.headline


def test_survey_shows_the_false_part_of_a_selector() -> None:
    gpu = device("gpu-0", type="gpu", architecture="Hopper", brand="Nvidia")
    text = " && ".join(
        f"device.attributes['{DRIVER}'].{a}"
        for a in ("architecture == 'Hopper'", "brand == 'NVIDIA'")
    )
    answer = explain(
        "pod/p",
        GPU,
        node("a"),
        slice_of(DRIVER, "a", gpu),
        template("t", request_with_selector(text)),
        waiting(),
    )
    assert [stage.detail for stage in answer.funnel if stage.detail] == ["brand: Nvidia"]


def test_the_domain_to_fill_first_under_a_spread_constraint_is_named() -> None:
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    web = {"labels": {"app": "web"}}
    there = pod("there", spec={"nodeName": "a"}, status={"phase": "Running"}, metadata=web)
    subject = waiting(spec={"topologySpreadConstraints": [spread]}, metadata=web)
    answer = explain("pod/p", GPU, node("a"), node("cpu"), gpus("a", "gpu-0"), ONE, there, subject)
    assert "kubernetes.io/hostname=a has 1 matching pod, cpu has 0; maxSkew is 1" in answer.headline


def test_labels_of_pod_affinity_are_shown() -> None:
    term = {
        "labelSelector": {"matchLabels": {"app": "cache"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    answer = explain(
        "pod/p", GPU, node("a"), gpus("a", "gpu-0"), ONE, waiting(spec={"affinity": affinity})
    )
    assert (
        "wants a pod (app=cache) in the same kubernetes.io/hostname, and there is no such pod"
        in answer.headline
    )


def test_meant_label_of_a_node_selector_is_in_the_headline() -> None:
    labelled = node("a", labels={"example.com/pool": "train"})
    subject = waiting(spec={"nodeSelector": {"example.com/pools": "train"}})
    answer = explain("pod/p", GPU, labelled, gpus("a", "gpu-0"), ONE, subject)
    assert "there is example.com/pool=train" in answer.headline


def test_a_zone_is_no_typing_error_for_another() -> None:
    labelled = node("a", labels={"topology.kubernetes.io/zone": "us-east-1a"})
    subject = waiting(spec={"nodeSelector": {"topology.kubernetes.io/zone": "us-east-1c"}})
    answer = explain("pod/p", GPU, labelled, gpus("a", "gpu-0"), ONE, subject)
    assert not any("to us-east-1a" in title for title in titles(answer))


def test_a_toleration_similar_to_a_node_taint_is_shown() -> None:
    tainted = node("a", taints=[{"key": "team", "value": "llm", "effect": "NoSchedule"}])
    written = {"key": "team", "operator": "Equal", "value": "LLM", "effect": "NoSchedule"}
    answer = explain(
        "pod/p", GPU, tainted, gpus("a", "gpu-0"), ONE, waiting(spec={"tolerations": [written]})
    )
    assert (
        "taint team=llm:NoSchedule is not tolerated; the pod tolerates team=LLM:NoSchedule"
        in answer.headline
    )


def test_three_causes_are_corrected_at_once() -> None:
    tainted = node("a", taints=[{"key": "team", "effect": "NoSchedule"}])
    four = template("t", request("r", DRIVER, 4))
    answer = explain(
        "pod/p", GPU, tainted, gpus("a", "gpu-0", "gpu-1"), four, waiting(requests={"cpu": "100"})
    )
    title = answer.fixes[0].title
    assert all(
        part in title
        for part in ("request r from 4 to 2", "cpu from 100 to 8", "a toleration for team")
    )


def test_pods_of_an_indexed_job_may_need_each_other() -> None:
    spec = {
        "parallelism": 2,
        "completions": 2,
        "completionMode": "Indexed",
        "template": {"spec": waiting()["spec"]},
    }
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "ml"},
        "spec": spec,
    }
    owner = metadata_with_owner("Job", "train")
    answer = explain(
        "pod/p",
        GPU,
        node("a"),
        gpus("a", "gpu-0"),
        ONE,
        job,
        *claim_and_pod("a", "train-0", **owner),
        waiting(metadata=owner),
    )
    assert "nothing is wrong" not in said(answer)
    assert "this one gets its turn only if they end without it" in answer.headline


def test_quota_refusing_pods_is_named_in_the_next_step() -> None:
    spec = {"replicas": 1, "selector": {}, "template": {"metadata": {}, "spec": waiting()["spec"]}}
    metadata = {"name": "web", "namespace": "ml", "uid": "w"}
    workload = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec}
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "ml"},
        "involvedObject": {"kind": "ReplicaSet", "namespace": "ml", "name": "web"},
        "reason": "FailedCreate",
        "message": 'pods "web-x" is forbidden: exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2',
    }
    answer = explain("replicaset/web", GPU, node("a"), gpus("a", "gpu-0"), ONE, workload, event)
    assert answer.next[0].text.startswith(
        "raise quota few, or lower what the pods ask for (requested: pods=1"
    )
    assert answer.next[0].command == "kubectl edit resourcequota few -n ml"


def test_a_missing_storage_class_is_named() -> None:
    volume = {"name": "d", "persistentVolumeClaim": {"claimName": "data"}}
    pvc = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "ml"},
        "spec": {"storageClassName": "fast-ssdd"},
        "status": {"phase": "Pending"},
    }
    storage = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast-ssd"},
    }
    objects = GPU, node("a"), gpus("a", "gpu-0"), ONE, pvc, storage
    answer = explain("pod/p", *objects, waiting(spec={"volumes": [volume]}))
    assert (
        "ml/data: its StorageClass fast-ssdd does not exist; there is fast-ssd" in answer.headline
    )


def test_a_driver_is_not_made_up_where_the_class_has_a_typing_error() -> None:
    wrong = device_class(DRIVER, "device.driver == 'gpu.nvdia.com'")
    answer = explain("pod/p", wrong, node("a"), gpus("a", "gpu-0"), ONE, waiting())
    assert titles(answer)[0] == f"change driver gpu.nvdia.com to {DRIVER} in class {DRIVER}"
    assert not any(title.startswith("make driver") for title in titles(answer))


def test_a_class_of_another_kind_of_device_is_not_offered() -> None:
    nics = slice_of("nic.example.com", "a", device("nic-0"))
    others = device_class("nic", "device.driver == 'nic.example.com'"), device_class("fast", "true")
    answer = explain(
        "pod/p", GPU, *others, node("a"), nics, template("t", request("r", "fpga")), waiting()
    )
    assert not any(title.startswith("change the class") for title in titles(answer))


def test_default_tolerations_are_no_near_misses() -> None:
    """Admission adds them for NoExecute (kubernetes plugin/pkg/admission/defaulttolerationseconds)."""
    key = "node.kubernetes.io/unreachable"
    tainted = node("a", taints=[{"key": key, "effect": "NoSchedule"}])
    written = {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    answer = explain(
        "pod/p", GPU, tainted, gpus("a", "gpu-0"), ONE, waiting(spec={"tolerations": [written]})
    )
    assert "tolerates" not in answer.headline


def test_an_attribute_is_found_again_by_its_value() -> None:
    """AMD's driver has published pciBusID instead of pciAddr since 2026."""
    gpu = {
        "name": "gpu-0",
        "attributes": {"resource.kubernetes.io/pciBusID": {"string": "0000:03:00.0"}},
    }
    wanted = template(
        "t", request_with_selector(f"device.attributes['{DRIVER}'].pciAddr == '0000:03:00.0'")
    )
    answer = explain("pod/p", ANY, node("a"), slice_of(DRIVER, "a", gpu), wanted, waiting())
    assert answer.fixes[0].title.startswith(
        f"change {DRIVER}/pciAddr to resource.kubernetes.io/pciBusID"
    )


def test_value_with_the_written_prefix_comes_before_a_similar_one() -> None:
    profiles = [
        device(f"mig-{n}", type="gpu", profile=p) for n, p in enumerate(("1g.5gb+me", "1g.10gb"))
    ]
    wanted = template(
        "t", request_with_selector(f"device.attributes['{DRIVER}'].profile == '1g.10gb+me'")
    )
    answer = explain("pod/p", GPU, node("a"), slice_of(DRIVER, "a", *profiles), wanted, waiting())
    assert answer.fixes[0].title == "change profile == '1g.10gb+me' to '1g.10gb' in request r"


def test_other_pods_with_claims_of_the_earlier_template_are_counted() -> None:
    old = request("r", DRIVER, 8)
    first = claim("p-g", old, metadata=OWN)
    second = claim(
        "q-g",
        old,
        metadata={"uid": "d", "ownerReferences": [{"kind": "Pod", "name": "q", "uid": "q"}]},
    )
    other = pod("q", {"name": "g", "resourceClaimTemplateName": "t"}, metadata={"uid": "q"})
    other["status"]["resourceClaimStatuses"] = [{"name": "g", "resourceClaimName": "q-g"}]
    answer = explain("pod/p", GPU, node("a"), gpus("a", "gpu-0"), ONE, first, second, other, seen())
    assert answer.fixes[0].title == "recreate pod ml/p"
    assert answer.fixes[0].effect.endswith(
        "an earlier version of template t, like that of 1 more pending pod"
    )


def test_request_added_by_a_limit_range_is_set_where_absent() -> None:
    noted = {
        "annotations": {
            "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu request for container main"
        }
    }
    subject = waiting(requests={"cpu": "96"}, metadata=noted)
    answer = explain("pod/p", GPU, node("a"), gpus("a", "gpu-0"), ONE, subject)
    assert answer.fixes[0].title == "set the pod's request for cpu to 8"
    assert answer.fixes[0].effect.startswith("it names none, and a LimitRange makes that 96")


def test_survey_names_the_selector_and_the_missing_attribute() -> None:
    gpus_of = (device("gpu-0", type="gpu", root="r1"), device("gpu-1", type="gpu"))
    asked = {**request_with_selector(f"device.attributes['{DRIVER}'].type == 'gpu'")}
    asked["exactly"] = {**asked["exactly"], "count": 2}
    wanted = template("t", asked)
    wanted["spec"]["spec"]["devices"]["constraints"] = [{"matchAttribute": f"{DRIVER}/root"}]
    answer = explain("pod/p", GPU, node("a"), slice_of(DRIVER, "a", *gpus_of), wanted, waiting())
    assert [(stage.stage, stage.kept, stage.of) for stage in answer.funnel] == [
        ("2 × gpu.nvidia.com", 2, 2),
        ("type == 'gpu'", 2, 2),
        (f"has {DRIVER}/root", 1, 2),
    ]


def test_pods_competing_for_freed_devices_are_named() -> None:
    """kube-scheduler's queue: the pod of higher priority is tried first."""
    closed = node("a", unschedulable=True), gpus("a", "gpu-0"), ONE
    first = pod("first", {"name": "g", "resourceClaimTemplateName": "t"}, spec={"priority": 1000})
    answer = explain("pod/p", GPU, *closed, waiting(), first)
    said_of = (
        "would not help: uncordon a: 1 pending pod of higher priority waits for the same: ml/first"
    )
    assert said_of in answer.notes
    assert answer.fixes == ()


def test_a_step_after_other_pods_is_named_only_if_no_fix_is_preferable() -> None:
    """The pod may go to b by itself; removing the taint changes the node for everybody, and the pod
    of higher priority comes first then.
    """
    tainted = node("b", taints=[{"key": "dedicated", "effect": "NoSchedule"}]), gpus("b", "gpu-0")
    closed = node("a", unschedulable=True), gpus("a", "gpu-0"), ONE
    first = pod("first", {"name": "g", "resourceClaimTemplateName": "t"}, spec={"priority": 1000})
    answer = explain("pod/p", GPU, *closed, *tainted, waiting(), first)
    assert titles(answer) == ["add a toleration for dedicated:NoSchedule to the pod"]
    notes = "; ".join(answer.notes)
    assert "would not help: uncordon a" in notes
    assert "would not help: remove taint dedicated:NoSchedule from b" in notes
    (step,) = answer.next
    assert step.text == "uncordon a helps only after the pods ahead in the queue have been placed"


def test_a_joint_fix_with_an_act_that_is_no_change_stands_alone() -> None:
    """A second one may only change objects, and no object makes a driver publish devices."""
    nic = {
        **GPU,
        "metadata": {"name": "nic"},
        "spec": {"selectors": [{"cel": {"expression": "device.driver == 'nic.example.com'"}}]},
    }
    both = template("t", request("r", DRIVER), request("s", "nic"))
    closed = node("a", unschedulable=True), gpus("a", "gpu-0")
    answer = explain("pod/p", GPU, nic, *closed, both, waiting())
    assert titles(answer) == ["uncordon a, and make driver nic.example.com publish devices"]


@pytest.mark.parametrize(
    ("selector", "title"),
    [
        (
            "memory == '80Gi'",
            f"read {DRIVER}/memory from device.capacity, and compare it with quantity('80Gi')",
        ),
        ("memory == true", "remove the selector memory == true"),
        ("memory in ['80Gi', '40Gi']", "remove the selector memory in ['80Gi', '40Gi']"),
        ("cores >= 8", "change cores >= 8 to >= 4"),
        ("cores < 2", "change cores < 2 to <= 4"),
    ],
)
def test_a_comparison_with_another_type_is_changed_or_removed(selector: str, title: str) -> None:
    """memory is a capacity, which no boolean and no list of texts is compared with."""
    gpu = {
        "name": "gpu-0",
        "attributes": {"cores": {"int": 4}},
        "capacity": {"memory": {"value": "80Gi"}},
    }
    wanted = template("t", request_with_selector(f"device.attributes['{DRIVER}'].{selector}"))
    answer = explain("pod/p", ANY, node("a"), slice_of(DRIVER, "a", gpu), wanted, waiting())
    assert titles(answer) == [f"{title} {'from' if title.startswith('remove') else 'in'} request r"]


def test_a_toleration_in_the_claim_does_not_count_for_nodes() -> None:
    """kube-scheduler: "node(s) had untolerated taint(s)", although the request tolerates the very taint."""
    tainted = node("a", taints=[{"key": "team", "value": "llm", "effect": "NoSchedule"}])
    written = {"key": "team", "operator": "Equal", "value": "llm", "effect": "NoSchedule"}
    tolerant = template("t", request("r", DRIVER, tolerations=[written]))
    answer = explain("pod/p", GPU, tainted, gpus("a", "gpu-0"), tolerant, waiting())
    assert (
        "the claim tolerates team=llm:NoSchedule for devices, which does not count for nodes"
        in said(answer)
    )
    assert "the claim tolerates" not in said(
        explain("pod/p", GPU, tainted, gpus("a", "gpu-0"), ONE, waiting())
    )
