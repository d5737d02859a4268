"""Situations that page somebody: what is said first, and what is offered. Each was seen on a control plane
(tests/live/invented.py plays them there)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from dractl.allocation import Features
from dractl.cluster.state import ClusterState
from dractl.explain import Explainer, find_subjects
from dractl.explain.answer import plain
from dractl.report.explain import patch as explain_patch
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
from tests.explain.test_fixes import (
    DRIVER,
    GPU,
    explain,
    gpus,
    owned_pod,
    request_with_selector,
    template,
    titles,
)

if TYPE_CHECKING:
    from dractl.explain import Explanation

USES = {"name": "g", "resourceClaimTemplateName": "t"}
ONE = template("t", request("r", DRIVER))
POOL = "gpu-pool"


def waiting(**more: Any) -> dict[str, Any]:
    """A pod that no server has seen yet: its claim is made from the template."""
    return pod("p", USES, **more)


def seen(**more: Any) -> dict[str, Any]:
    """A pod that a server has, with the claim p-g."""
    made = pod("p", USES, metadata={"uid": "p"}, **more)
    made["status"]["resourceClaimStatuses"] = [{"name": "g", "resourceClaimName": "p-g"}]
    return made


OWN = {"uid": "c", "ownerReferences": [{"kind": "Pod", "name": "p", "uid": "p"}]}


def said(answer: Explanation) -> str:
    """The headline, the first two reasons and the notes."""
    return " | ".join(
        [answer.headline, *(plain(r.message) for r in answer.reasons[:2]), *answer.notes]
    )


def test_label_of_other_nodes_is_no_typing_error() -> None:
    held = claim(
        "held", request("r", DRIVER), status=allocation("h-1", (DRIVER, "gpu-0"), pod="hog")
    )
    nodes = node("h-1", labels={POOL: "gpu-h100"}), node("a-1", labels={POOL: "gpu-a100"})
    hog = pod(
        "hog",
        {"name": "g", "resourceClaimName": "held"},
        spec={"nodeName": "h-1"},
        status={"phase": "Running"},
    )
    subject = waiting(spec={"nodeSelector": {POOL: "gpu-h100"}})
    answer = explain(
        "pod/p", GPU, *nodes, gpus("h-1", "gpu-0"), gpus("a-1", "gpu-0"), ONE, held, hog, subject
    )
    assert "delete pod ml/hog" in titles(answer)
    assert not any("gpu-a100" in title for title in titles(answer))


def test_the_labels_of_all_nodes_are_shown_beside_the_wanted_one() -> None:
    nodes = node("a", labels={POOL: "train"}), node("b", labels={POOL: "infer"})
    answer = explain(
        "pod/p",
        GPU,
        *nodes,
        gpus("a", "gpu-0"),
        ONE,
        waiting(spec={"nodeSelector": {POOL: "h100"}}),
    )
    assert f"the nodes have {POOL}=train, infer" in said(answer)


def test_a_pool_published_by_two_installations_is_reported() -> None:
    old, new = gpus("node-1", "gpu-0"), gpus("node-1", "gpu-0")
    old["metadata"] = {"name": "old", "creationTimestamp": "2026-01-01T00:00:00Z"}
    new["metadata"] = {"name": "new", "creationTimestamp": "2026-02-01T00:00:00Z"}
    answer = explain("pod/p", GPU, node("node-1"), new, old, ONE, waiting())
    assert "old of 2026-01-01T00:00:00Z and new of 2026-02-01T00:00:00Z; both have gpu-0" in said(
        answer
    )
    assert "2 slices of generation 1 exist, and 1 is announced" in said(answer)
    assert answer.fixes[0].title.startswith("delete the older ResourceSlice old")
    # No pod is tried again when a slice is deleted (kubernetes dynamicresources.go, EventsToRegister).
    assert tuple(map(str, answer.fixes[0].steps[-2:])) == (
        "kubectl delete resourceslice old",
        "kubectl annotate resourceslice new deleted-duplicates=old",
    )
    assert answer.next


def test_slices_of_the_same_time_have_no_order() -> None:
    one, two = gpus("node-1", "gpu-0"), gpus("node-1", "gpu-0")
    one["metadata"] = {"name": "one", "creationTimestamp": "2026-01-01T00:00:00Z"}
    two["metadata"] = {"name": "two", "creationTimestamp": "2026-01-01T00:00:00Z"}
    answer = explain("pod/p", GPU, node("node-1"), one, two, ONE, waiting())
    assert answer.fixes[0].title.startswith("delete ResourceSlice one, unless two is the stale one")


def test_all_slices_of_earlier_installations_are_deleted() -> None:
    slices = [gpus("node-1", "gpu-0") for _ in range(3)]
    for month, item in enumerate(slices, start=1):
        item["metadata"] = {
            "name": f"of-{month}",
            "creationTimestamp": f"2026-0{month}-01T00:00:00Z",
        }
    answer = explain("pod/p", GPU, node("node-1"), *slices, ONE, waiting())
    assert answer.fixes[0].title.startswith("delete the older ResourceSlices of-1, of-2")


@pytest.mark.parametrize("release", ["1.35", "1.37"])
def test_the_implicit_name_of_a_class_is_recognized(release: str) -> None:
    wrong, right = (
        f"deviceclass.resource.k8s.io/{DRIVER}",
        f"deviceclass.resource.kubernetes.io/{DRIVER}",
    )
    limits = {"limits": {wrong: "1"}, "requests": {wrong: "1"}}
    subject = pod(
        "p",
        metadata={"uid": "p"},
        spec={"containers": [{"name": "main", "image": "x", "resources": limits}]},
    )
    answer = explain(
        "pod/p", GPU, node("node-1"), gpus("node-1", "gpu-0"), subject, release=release
    )
    assert f"nothing provides {wrong}; there is {right}" in said(answer)
    if release == "1.37":  # DRAExtendedResource is off by default before 1.36
        assert titles(answer)[0] == f"change extended resource {wrong} to {right}"


@pytest.mark.parametrize(
    ("wrong", "effect"),
    [
        ("nvidia.com/h100", ""),
        ("gpu.nvidia.com/gpu", ""),
        ("amd.com/gpu", "if these devices are acceptable"),
    ],
)
def test_the_resource_of_another_vendor_is_no_misspelling(wrong: str, effect: str) -> None:
    provided = device_class(DRIVER, f"device.driver == '{DRIVER}'")
    provided["spec"]["extendedResourceName"] = "nvidia.com/gpu"
    containers = [
        {
            "name": "main",
            "image": "x",
            "resources": {"limits": {wrong: "1"}, "requests": {wrong: "1"}},
        }
    ]
    subject = pod("p", metadata={"uid": "p"}, spec={"containers": containers})
    answer = explain("pod/p", provided, node("node-1"), gpus("node-1", "gpu-0"), subject)
    fix = next(
        fix
        for fix in answer.fixes
        if fix.title == f"change extended resource {wrong} to nvidia.com/gpu"
    )
    assert fix.effect == effect


def test_a_rule_for_every_device_of_a_driver_is_marked() -> None:
    spec = {
        "deviceSelector": {"driver": DRIVER},
        "taint": {"key": "drain", "value": "x", "effect": "NoSchedule"},
    }
    rule = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "drain-b"},
        "spec": spec,
    }
    nodes = [node(name) for name in "abc"]
    slices = [gpus(name, "gpu-0", "gpu-1") for name in "abc"]
    answer = explain("pod/p", GPU, *nodes, *slices, rule, ONE, waiting())
    assert "6 devices have a taint" in said(answer)
    assert "nearest" not in answer.headline
    assert "DeviceTaintRule drain-b, which selects every device of its driver" in said(answer)


def test_an_amount_rounded_up_by_the_device_is_shown() -> None:
    bandwidth = {
        "value": "100G",
        "requestPolicy": {
            "default": "25G",
            "validRange": {"min": "25G", "max": "100G", "step": "25G"},
        },
    }
    shared = {
        "name": "nic-0",
        "allowMultipleAllocations": True,
        "capacity": {"bandwidth": bandwidth},
    }
    nics = slice_of("nic.example.com", "node-1", shared)
    wanted = template("t", request("r", "nic", capacity={"requests": {"bandwidth": "10G"}}))
    status = allocation("node-1", ("nic.example.com", "nic-0"), pod="x")
    status["allocation"]["devices"]["results"][0] |= {
        "consumedCapacity": {"bandwidth": "100G"},
        "shareID": "s",
    }
    held = claim("held", request("r", "nic"), status=status)
    nic = device_class("nic", "device.driver == 'nic.example.com'")
    answer = explain("pod/p", nic, node("node-1"), nics, wanted, held, waiting())
    assert "wants 25G (10G, rounded up to what the device allows)" in said(answer)


def test_alternative_lacking_fewest_devices_is_nearest() -> None:
    options = [
        {
            "name": name,
            "deviceClassName": DRIVER,
            "count": 4,
            "selectors": [{"cel": {"expression": text}}],
        }
        for name, text in (
            ("old", f"device.attributes['{DRIVER}'].architecture == 'Ampere'"),
            ("new", f"device.attributes['{DRIVER}'].architecture == 'Hopper'"),
        )
    ]
    names = [f"gpu-{i}" for i in range(4)]
    status = allocation("a", *((DRIVER, name) for name in names[:3]), pod="x")
    status["allocation"]["devices"]["results"][0]["pool"] = "h"
    ampere, hopper = gpus("a", *names, architecture="Ampere"), gpus("h", *names)
    held = claim("held", request("r", DRIVER, 3), status=status)
    wanted = template("t", {"name": "r", "firstAvailable": options})
    one = allocation("h", (DRIVER, "gpu-0"), pod="y")
    other = claim("other", request("r", DRIVER), status=one)
    three = allocation("a", *((DRIVER, name) for name in names[:3]), pod="x")
    held["status"] = three
    answer = explain(
        "pod/p", GPU, node("a"), node("h"), ampere, hopper, wanted, held, other, waiting()
    )
    assert (
        "nearest is h: request r/new: 3 of 4 matching devices are free, 4 wanted" in answer.headline
    )


def test_pods_of_lower_priority_are_not_preempted() -> None:
    held = claim(
        "held", request("r", DRIVER), status=allocation("node-1", (DRIVER, "gpu-0"), pod="cheap")
    )
    spec = {"nodeName": "node-1", "priority": 1}
    cheap = pod(
        "cheap", {"name": "g", "resourceClaimName": "held"}, spec=spec, status={"phase": "Running"}
    )
    objects = GPU, node("node-1"), gpus("node-1", "gpu-0"), ONE, held, cheap
    assert "does not preempt pods for their devices" in said(
        explain("pod/p", *objects, waiting(spec={"priority": 9}))
    )
    assert "preempt" not in said(explain("pod/p", *objects, waiting(spec={"priority": 1})))


def test_all_pods_of_a_shared_claim_must_end() -> None:
    """kube-controller-manager releases a claim when nobody is left in reservedFor (resourceclaim/controller.go)."""
    sharing = {"name": "g", "resourceClaimName": "shared"}
    status = allocation("node-1", (DRIVER, "gpu-0"))
    status["reservedFor"] = [
        {"resource": "pods", "name": name, "uid": name} for name in ("low", "other")
    ]
    objects = (
        GPU,
        node("node-1"),
        gpus("node-1", "gpu-0"),
        ONE,
        claim("shared", request("r", DRIVER), status=status),
    )
    running = {"status": {"phase": "Running"}}
    low = pod(
        "low",
        sharing,
        metadata={"uid": "low"},
        spec={"nodeName": "node-1", "priority": 1},
        **running,
    )
    for priority, note in ((9, ""), (1, "pod ml/low and 1 more have a lower priority")):
        where = {"nodeName": "node-1", "priority": priority}
        other = pod("other", sharing, metadata={"uid": "other"}, spec=where, **running)
        text = said(explain("pod/p", *objects, low, other, waiting(spec={"priority": 5})))
        assert ("a lower priority" in text) == bool(note)
        assert note in text
        assert ("end them yourself" in text) == bool(note)


def test_missing_huge_pages_are_the_cause() -> None:
    resources = {name: {"hugepages-2Mi": "1Gi", "cpu": "1"} for name in ("limits", "requests")}
    container = {"name": "main", "image": "x", "resources": resources}
    answer = explain(
        "pod/p",
        GPU,
        node("node-1"),
        gpus("node-1", "gpu-0"),
        ONE,
        waiting(spec={"containers": [container]}),
    )
    assert titles(answer)[0] == "remove hugepages-2Mi from the pod's containers"


def test_a_request_added_by_a_limit_range_is_reported() -> None:
    noted = {"kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu request for container main"}
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "defaults", "namespace": "ml"},
    }
    subject = waiting(metadata={"annotations": noted}, requests={"cpu": "96"})
    answer = explain("pod/p", GPU, node("node-1"), gpus("node-1", "gpu-0"), ONE, limits, subject)
    assert (
        "the pod's owner did not ask for cpu 96 of container main: LimitRange ml/defaults added it"
        in said(answer)
    )


def test_the_node_selector_of_a_slice_is_shown_with_the_nodes_labels() -> None:
    published = slice_of("fpga.example.com", "rack", device("f0"))
    del published["spec"]["nodeName"]
    term = {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["rack-1"]}]}
    published["spec"]["nodeSelector"] = {"nodeSelectorTerms": [term]}
    fpga = device_class("fpga", "device.driver == 'fpga.example.com'")
    nodes = [node(name, labels={"rack": "rack1"}) for name in "ab"]
    answer = explain(
        "pod/p", fpga, *nodes, published, template("t", request("r", "fpga")), waiting()
    )
    assert "only for nodes with rack=rack-1; the nodes have rack=rack1" in said(answer)


def test_several_mistakes_are_corrected_by_one_fix() -> None:
    wrong = f"device.attributes['{DRIVER}'].architecture == 'hopper'"
    subject = waiting(spec={"nodeSelector": {POOL: "h-100"}})
    there = node("node-1", labels={POOL: "h100"}), gpus("node-1", "gpu-0")
    answer = explain("pod/p", GPU, *there, template("t", request_with_selector(wrong)), subject)
    assert len(answer.fixes) == 1
    assert "to 'Hopper' in request r" in answer.fixes[0].title
    assert f"change nodeSelector {POOL}=h-100 to h100" in answer.fixes[0].title
    assert {change.target.partition("/")[0] for change in answer.fixes[0].changes} == {
        "Pod",
        "ResourceClaimTemplate",
    }


def test_other_obstacles_are_shown_beside_a_missing_class() -> None:
    both = template("t", request("r", DRIVER, 3), request("n", "rdma.example.com"))
    answer = explain("pod/p", GPU, node("node-1"), gpus("node-1", "gpu-0"), both, waiting())
    assert "device class rdma.example.com does not exist" in answer.headline
    assert [(o.kind, o.want) for o in answer.obstacles] == [
        ("class", "request n: class rdma.example.com"),
        ("count", "request r: 3 devices"),
    ]
    assert any("wants 3 devices" in reason.message for reason in answer.reasons)
    assert any("rdma.example.com" in step.text for step in answer.next)
    alone = explain(
        "pod/p", GPU, node("node-1"), template("t", request("n", "rdma.example.com")), waiting()
    )
    assert not any(obstacle.kind == "count" for obstacle in alone.obstacles)


@pytest.mark.parametrize(
    ("expression", "right"),
    [
        ("productName.contains('h100')", "contains('H100')"),
        ("productName.endsWith('hbm3')", "endsWith('HBM3')"),
        ("productName.matches('h100.*')", "(?i)h100"),
        ("driverVersion == '580.82'", "semver('580.82.0')"),
        ("memory >= 80", "quantity('80G')"),
        ("memory.compareTo(quantity('40Gi')) >= 0", "device.capacity"),
        ("memory == '80Gi'", "change memory == 80Gi to == 81559Mi"),
    ],
)
@pytest.mark.parametrize("release", ["1.34", "1.37"])
def test_a_condition_as_it_was_meant(expression: str, right: str, release: str) -> None:
    one = device(
        "gpu-0", type="gpu", productName="NVIDIA H100 80GB HBM3", capacity={"memory": "81559Mi"}
    )
    one["attributes"]["driverVersion"] = {"version": "580.82.0"}
    asked = template("t", request_with_selector(f"device.attributes['{DRIVER}'].{expression}"))
    there = node("node-1"), slice_of(DRIVER, "node-1", one)
    answer = explain("pod/p", GPU, *there, asked, waiting(), release=release)
    assert right in answer.fixes[0].title
    if "memory" in expression:
        assert "memory is a capacity, read by device.capacity" in said(answer)


@pytest.mark.parametrize(
    ("written", "taint", "title"),
    [
        (
            {"key": "team", "operator": "Equal", "value": "LLM"},
            "team=llm",
            "of team=LLM in request r to team=llm",
        ),
        (
            {"key": "example.com/team", "operator": "Exists"},
            "example.com/Team=llm",
            "to example.com/Team",
        ),
        (
            {"key": "maintenence", "operator": "Equal", "value": "a"},
            "maintenance=a",
            "to maintenance=a",
        ),
    ],
)
def test_a_toleration_meant_for_the_taint_is_corrected(
    written: dict[str, str], taint: str, title: str
) -> None:
    key, _, value = taint.partition("=")
    one = device("gpu-0", type="gpu", taints=[{"key": key, "value": value, "effect": "NoSchedule"}])
    asked = template("t", request("r", DRIVER, tolerations=[written]))
    answer = explain(
        "pod/p", GPU, node("node-1"), slice_of(DRIVER, "node-1", one), asked, waiting()
    )
    assert answer.fixes[0].title.startswith("change the toleration of")
    assert title in answer.fixes[0].title


def test_a_pod_put_on_its_node_gets_a_node_selector() -> None:
    subject, made = (
        seen(spec={"nodeName": "node-1"}),
        claim("p-g", request("r", DRIVER), metadata=OWN),
    )
    answer = explain("pod/p", GPU, node("node-1"), gpus("node-1", "gpu-0"), ONE, made, subject)
    assert answer.verdict == "blocked"
    assert titles(answer) == [
        "choose node node-1 by nodeSelector kubernetes.io/hostname=node-1 instead of nodeName"
    ]
    assert [step.command.split()[1] for step in answer.fixes[0].steps] == [
        "get",
        "patch",
        "patch",
        "replace",
    ]


def test_a_recreated_pod_is_one_command() -> None:
    """What is created is asked about by a dry run first, which refuses a name that is still taken."""
    subject, made = seen(), claim("p-g", request("r", DRIVER, 8), metadata=OWN)
    answer = explain("pod/p", GPU, node("node-1"), gpus("node-1", "gpu-0"), ONE, made, subject)
    assert titles(answer) == ["recreate pod ml/p"]
    (step,) = answer.fixes[0].steps
    assert step.command == "kubectl get pod p -n ml -o yaml | kubectl replace --force -f -"


def test_a_pod_on_a_device_with_an_evicting_taint_is_reported() -> None:
    one = device(
        "gpu-0", type="gpu", taints=[{"key": "drain", "value": "x", "effect": "NoExecute"}]
    )
    status = allocation("node-1", (DRIVER, "gpu-0"), pod="p")
    held = claim("held", request("r", DRIVER), status=status)
    subject = pod(
        "p",
        {"name": "g", "resourceClaimName": "held"},
        metadata={"uid": "p"},
        spec={"nodeName": "node-1"},
    )
    answer = explain("pod/p", GPU, node("node-1"), slice_of(DRIVER, "node-1", one), held, subject)
    assert any("drain=x:NoExecute, for which pods are evicted" in note for note in answer.notes)
    tolerated = {"key": "drain", "operator": "Exists", "effect": "NoExecute"}
    status["allocation"]["devices"]["results"][0]["tolerations"] = [tolerated]
    survives = explain("pod/p", GPU, node("node-1"), slice_of(DRIVER, "node-1", one), held, subject)
    assert not any("evicted" in note for note in survives.notes)
    # Of several the shortest counts, from when the taint was set (device_taint_eviction.go claimEvictionTime).
    limited = [{**tolerated, "tolerationSeconds": seconds} for seconds in (600, 300)]
    status["allocation"]["devices"]["results"][0]["tolerations"] = limited
    stays = explain("pod/p", GPU, node("node-1"), slice_of(DRIVER, "node-1", one), held, subject)
    assert any(
        "toleration keeps this one there until 300 s after the taint was added" in note
        for note in stays.notes
    )


def test_all_of_no_devices_is_not_replaced_by_none() -> None:
    """The API server takes a count of 0 for one that is not given, and sets it to 1."""
    every = template(
        "t", {"name": "r", "exactly": {"deviceClassName": DRIVER, "allocationMode": "All"}}
    )
    answer = explain("pod/p", GPU, node("node-1"), gpus("node-1"), every, waiting())
    assert not answer.fits
    assert not any("instead of All" in title for title in titles(answer))


def test_configuration_refused_by_the_driver_is_corrected() -> None:
    parameters = {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "GpuConfig",
        "sharing": {"strategy": "TimeSlice"},
    }
    shared = template("t", request("r", DRIVER))
    spec = shared["spec"]["spec"]
    spec["devices"]["config"] = [{"opaque": {"driver": DRIVER, "parameters": parameters}}]
    made = claim("p-g", metadata=OWN, status=allocation("node-1", (DRIVER, "gpu-0"), pod="p"))
    made["spec"] = spec
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "p.1", "namespace": "ml"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "ml", "uid": "p"},
        "reason": "FailedPrepareDynamicResources",
        "message": "Failed to prepare dynamic resources: unknown sharing strategy: TimeSlice",
    }
    there = (
        GPU,
        node("node-1"),
        gpus("node-1", "gpu-0"),
        shared,
        made,
        seen(spec={"nodeName": "node-1"}),
    )
    answer = explain("pod/p", *there, event)
    assert (answer.verdict, answer.reasons[0].code) == ("failing", "not-prepared")
    assert (
        "unknown sharing strategy: TimeSlice; the driver refuses sharing.strategy of claim g"
        in answer.headline
    )
    assert titles(answer)[0].startswith("change sharing.strategy from TimeSlice to TimeSlicing")
    assert "correct the parameters" in answer.next[0].text
    # TimeSlicingSettings is off by default (dra-driver-nvidia-gpu pkg/featuregates/featuregates.go)
    assert "switch on feature gate TimeSlicingSettings" in answer.next[1].text
    # With spec.nodeName the scheduler would not see the new pod, and allocate nothing.
    assert "/spec/nodeName" in answer.fixes[0].steps[-1].command
    assert explain("pod/p", *there).verdict == "allocated"


def test_the_shortage_of_a_node_precedes_the_filters_sentence() -> None:
    subject = waiting(spec={"nodeSelector": {POOL: "h100"}})
    answer = explain(
        "pod/p", GPU, node("node-1"), node("node-2"), gpus("node-1", "gpu-0"), ONE, subject
    )
    own = f"nodeSelector wants {POOL}=h100; the nodes have no such label"
    assert f"{own} (node(s) didn't match Pod's node affinity/selector)" in answer.headline


def test_another_scheduler_gets_no_advice_about_kube_scheduler() -> None:
    subject = pod(
        "p",
        USES,
        metadata={"uid": "p"},
        spec={"schedulerName": "volcano"},
        status={"phase": "Pending"},
    )
    answer = explain("pod/p", GPU, node("node-1"), gpus("node-1", "gpu-0"), ONE, subject)
    assert "spec.schedulerName is volcano" in answer.headline
    assert not any("is kube-scheduler running" in note for note in answer.notes)


def test_the_claim_of_another_replica_is_no_near_name() -> None:
    annotations = {"resource.kubernetes.io/pod-claim-name": "g"}
    other = claim("p-h", request("r", DRIVER), metadata={"annotations": annotations})
    answer = explain("pod/p", GPU, node("node-1"), gpus("node-1", "gpu-0"), ONE, other, seen())
    assert "p-g was deleted; made from template ml/t" in answer.headline
    assert "p-h" not in answer.headline


def test_next_steps_do_not_repeat_a_command() -> None:
    subject = waiting(spec={"nodeSelector": {POOL: "h100"}})
    commands = [step.command for step in explain("pod/p", GPU, node("node-1"), ONE, subject).next]
    assert commands
    assert len(set(commands)) == len(commands)


def ring(number: int, where: str | None = None) -> tuple[dict[str, Any], ...]:
    """Replica ``ring-NUMBER`` of a StatefulSet, on node ``where`` with three GPUs, or waiting."""
    pod_ = owned_pod(f"ring-{number}", "StatefulSet/ring", node_name=where)
    name = pod_["metadata"]["name"]
    held = allocation(where, *((DRIVER, f"gpu-{n}") for n in range(3)), pod=name) if where else {}
    own = {
        "uid": f"{name}-g",
        "ownerReferences": [{"kind": "Pod", "name": name, "uid": f"uid-{name}"}],
    }
    return pod_, claim(f"{name}-g", request("r", DRIVER, 3), metadata=own, status=held)


def test_a_stateful_set_without_the_replicas_after_this_one() -> None:
    four = [f"gpu-{n}" for n in range(4)]
    nodes = *(node(n) for n in "ab"), *(gpus(n, *four) for n in "ab")
    owner = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "ring", "namespace": "ml", "uid": "ring"},
        "spec": {
            "replicas": 3,
            "template": {"spec": {"containers": [{"name": "main", "image": "x"}]}},
        },
    }
    replicas = *ring(0, "a"), *ring(1), *ring(2, "b")
    answer = explain(
        "pod/ring-1", GPU, *nodes, template("t", request("r", DRIVER, 3)), owner, *replicas
    )
    assert "no node has more than 1 of 4 matching devices free, 3 wanted" in answer.headline
    assert titles(answer) == [
        "lower count of request r from 3 to 2 in all 3 pods of StatefulSet ml/ring",
        "scale StatefulSet ml/ring from 3 to 2 replicas",
    ]
    assert answer.fixes[1].effect == "ends pod ml/ring-2"


def test_devices_in_use_are_counted_over_their_nodes() -> None:
    held = [
        claim(
            f"held-{n}",
            request("r", DRIVER),
            status=allocation(n, (DRIVER, "gpu-0"), pod=f"hog-{n}"),
        )
        for n in "ab"
    ]
    hogs = [
        pod(
            f"hog-{n}",
            {"name": "g", "resourceClaimName": f"held-{n}"},
            spec={"nodeName": n},
            status={},
        )
        for n in "ab"
    ]
    nodes = *(node(n) for n in ("a", "b", "cpu")), *(gpus(n, "gpu-0") for n in "ab")
    answer = explain("pod/p", GPU, *nodes, ONE, *held, *hogs, waiting())
    assert answer.headline == (
        "does not fit on any of the 3 nodes: request r: both matching devices are in use; held by pods ml/hog-a, ml/hog-b"
    )


def test_devices_on_a_cordoned_node_are_not_in_use() -> None:
    held = [
        claim(
            f"held-{n}",
            request("r", DRIVER),
            status=allocation(n, (DRIVER, "gpu-0"), pod=f"hog-{n}"),
        )
        for n in "ab"
    ]
    nodes = node("a"), node("b"), node("c", unschedulable=True), *(gpus(n, "gpu-0") for n in "abc")
    answer = explain("pod/p", GPU, *nodes, ONE, *held, waiting())
    messages = [reason.brief for reason in answer.reasons]
    assert "request r: the only matching device is in use" in messages
    assert not any("all 2" in message for message in messages)


def test_the_obstacles_on_the_node_of_a_shared_claim_are_shown() -> None:
    status = allocation("a", (DRIVER, "gpu-0"), pod="train")
    status["allocation"]["allocationTimestamp"] = "2026-01-01T00:00:00Z"
    shared = claim("shared", request("r", DRIVER), status=status)
    train = pod(
        "train", {"name": "g", "resourceClaimName": "shared"}, spec={"nodeName": "a"}, status={}
    )
    nodes = node("a", unschedulable=True), node("b"), gpus("a", "gpu-0"), gpus("b", "gpu-0")
    answer = explain(
        "pod/p", GPU, *nodes, shared, train, pod("p", {"name": "g", "resourceClaimName": "shared"})
    )
    assert (
        "claim ml/shared (used by pod train) is already allocated on a, so the pod must go there; that node refuses "
        "it: the node is cordoned" in answer.headline
    )
    assert titles(answer)[0] == "uncordon a"


def test_zone_of_a_volume_stands_beside_zones_of_nodes() -> None:
    zone = "topology.kubernetes.io/zone"
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {
            "nodeAffinity": {
                "required": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": zone, "operator": "In", "values": ["a"]}]}
                    ]
                }
            }
        },
    }
    bound = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "data",
            "namespace": "ml",
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
        },
        "spec": {"volumeName": "v"},
        "status": {"phase": "Bound"},
    }
    subject = waiting(
        spec={"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]}
    )
    nodes = node("node-1", labels={zone: "b"}), gpus("node-1", "gpu-0")
    answer = explain("pod/p", GPU, *nodes, ONE, volume, bound, subject)
    assert (
        f"PersistentVolumeClaim data can be used on nodes with {zone}=a; the node has {zone}=b"
        in answer.headline
    )


REVISION = "controller-revision-hash"


@pytest.mark.parametrize(
    ("spec", "stays"),
    [
        ({}, True),
        ({"podManagementPolicy": "Parallel"}, False),
        ({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}}, False),
        ({"podManagementPolicy": "Parallel", "updateStrategy": {"type": "OnDelete"}}, True),
    ],
    ids=["ordered", "parallel", "partition", "on-delete"],
)
def test_a_corrected_stateful_set_does_not_replace_its_pod(
    spec: dict[str, Any], stays: bool
) -> None:
    containers = [{"name": "main", "image": "x"}]
    claims = [{"name": "g", "resourceClaimTemplateName": "t"}]
    corrected = {"containers": containers, "resourceClaims": claims, "nodeSelector": {POOL: "h100"}}
    owner = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "ring", "namespace": "ml"},
        "spec": {"replicas": 1, "template": {"spec": corrected}, **spec},
        "status": {"updateRevision": "ring-2"},
    }
    old = owned_pod("ring-0", "StatefulSet/ring", labels={REVISION: "ring-1"})
    old["spec"]["nodeSelector"] = {POOL: "h1000"}
    own = {"uid": "c", "ownerReferences": [{"kind": "Pod", "name": "ring-0", "uid": "uid-ring-0"}]}
    nodes = node("a", labels={POOL: "h100"}), gpus("a", "gpu-0")
    waits = claim("ring-0-g", request("r", DRIVER), metadata=own)
    answer = explain("pod/ring-0", GPU, *nodes, ONE, owner, old, waits)
    assert ("made from an earlier version of StatefulSet ml/ring" in answer.headline) is stays
    if stays:
        assert titles(answer) == ["recreate pod ml/ring-0"]
        assert [step.command for step in answer.fixes[0].steps] == [
            "kubectl delete pod ring-0 -n ml"
        ]


@pytest.mark.parametrize("paused", [True, False])
def test_a_paused_deployment_does_not_replace_its_pod(paused: bool) -> None:
    def spec(selector: str) -> dict[str, Any]:
        claims = [{"name": "g", "resourceClaimTemplateName": "t"}]
        return {
            "containers": [{"name": "main", "image": "x"}],
            "resourceClaims": claims,
            "nodeSelector": {POOL: selector},
        }

    about = {"namespace": "ml", "labels": {"pod-template-hash": "5f4"}}
    owner = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "llm", "namespace": "ml"},
        "spec": {"replicas": 1, "paused": paused, "template": {"spec": spec("h100")}},
    }
    replicas = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            **about,
            "name": "llm-5f4",
            "ownerReferences": [{"kind": "Deployment", "name": "llm", "controller": True}],
        },
        "spec": {"replicas": 1, "template": {"spec": spec("h1000")}},
    }
    old = owned_pod("llm-5f4-x", "ReplicaSet/llm-5f4", labels={"pod-template-hash": "5f4"})
    old["spec"]["nodeSelector"] = {POOL: "h1000"}
    own = {
        "uid": "c",
        "ownerReferences": [{"kind": "Pod", "name": "llm-5f4-x", "uid": "uid-llm-5f4-x"}],
    }
    waits = claim("llm-5f4-x-g", request("r", DRIVER), metadata=own)
    nodes = node("a", labels={POOL: "h100"}), gpus("a", "gpu-0")
    answer = explain("pod/llm-5f4-x", GPU, *nodes, ONE, owner, replicas, old, waits)
    assert answer.headline.startswith("Deployment ml/llm is paused") is paused
    if paused:
        assert titles(answer) == ["resume Deployment ml/llm"]
        assert '"path": "/spec/paused"' in " ".join(step.command for step in answer.fixes[0].steps)


def test_a_daemon_set_is_not_behind_its_own_pods() -> None:
    held = claim(
        "other-g", request("r", DRIVER), status=allocation("b", (DRIVER, "gpu-0"), pod="burn-b")
    )
    burn_b = owned_pod("burn-b", "DaemonSet/burn", node_name="b")
    hog = pod(
        "hog",
        {"name": "g", "resourceClaimName": "held"},
        metadata={"uid": "uid-hog"},
        spec={"nodeName": "a"},
    )
    hogs = claim("held", request("r", DRIVER), status=allocation("a", (DRIVER, "gpu-0"), pod="hog"))
    waits = owned_pod("burn-a", "DaemonSet/burn")
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    waits["spec"]["affinity"] = {"nodeAffinity": required}
    own = {"uid": "c", "ownerReferences": [{"kind": "Pod", "name": "burn-a", "uid": "uid-burn-a"}]}
    mine = claim("burn-a-g", request("r", DRIVER), metadata=own)
    nodes = *(node(n) for n in "ab"), *(gpus(n, "gpu-0") for n in "ab")
    answer = explain("pod/burn-a", GPU, *nodes, ONE, held, burn_b, hog, hogs, waits, mine)
    assert "nearest is a: request r: the only matching device is in use" in answer.headline
    assert "DaemonSet" not in answer.headline
    assert titles(answer)[0] == "delete pod ml/hog"


def pod_with_refused_claim(message: str) -> tuple[dict[str, Any], ...]:
    """A pod whose claim the API server refuses, and the claim controller's event about it."""
    subject = pod("p", USES, metadata={"uid": "p"})
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "ml"},
        "involvedObject": {"kind": "Pod", "namespace": "ml", "name": "p", "uid": "p"},
        "reason": "FailedResourceClaimCreation",
        "message": f"PodResourceClaim g: create ResourceClaim : {message}",
    }
    return subject, event


def test_the_words_of_a_refusing_webhook_are_quoted() -> None:
    denied = 'admission webhook "guard.example.com" denied the request: no GPU budget left'
    answer = explain(
        "pod/p", GPU, node("a"), gpus("a", "gpu-0"), ONE, *pod_with_refused_claim(denied)
    )
    assert answer.headline == f"the claim of template ml/t cannot be created: {denied}"
    assert not answer.fixes
    assert answer.next[0].text.endswith(": no GPU budget left")


def test_a_silent_webhook_is_named() -> None:
    failed = 'Internal error occurred: failed calling webhook "guard.example.com": failed to call webhook: refused'
    answer = explain(
        "pod/p", GPU, node("a"), gpus("a", "gpu-0"), ONE, *pod_with_refused_claim(failed)
    )
    assert titles(answer) == ["wait until admission webhook guard.example.com answers"]
    assert (
        answer.next[0].command
        == "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations"
    )


def test_an_absent_claim_without_an_event_points_to_the_controller() -> None:
    answer = explain(
        "pod/p", GPU, node("a"), gpus("a", "gpu-0"), ONE, pod("p", USES, metadata={"uid": "p"})
    )
    assert "is kube-controller-manager running?" in answer.headline
    assert "kubectl get lease kube-controller-manager" in answer.next[0].command


@pytest.mark.parametrize(("seconds", "asks"), [(2, False), (300, True)])
def test_young_pod_makes_nobody_look_for_a_controller(seconds: int, asks: bool) -> None:
    """Neither the claim controller nor the scheduler is slow if the cluster was read right after the pod's creation."""
    created = {"uid": "p", "creationTimestamp": "2026-01-01T12:00:00Z"}
    without = pod("p", USES, metadata=created, status={"phase": "Pending"})
    there = claim("p-g", request("r", DRIVER))
    there["metadata"]["ownerReferences"] = [
        {"kind": "Pod", "name": "q", "controller": True, "uid": "p"}
    ]
    status = {
        "phase": "Pending",
        "resourceClaimStatuses": [{"name": "g", "resourceClaimName": "p-g"}],
    }
    untried = pod("q", USES, metadata=created, status=status)
    found = state_of(GPU, node("a"), gpus("a", "gpu-0"), ONE, without, untried, there)
    read = ClusterState(
        {kind: found.objects(kind) for kind in found.kinds}, read_at=1767268800.0 + seconds
    )
    explainer = Explainer(read, Features.for_release("1.37"))
    for name, controller in (("pod/p", "kube-controller-manager"), ("pod/q", "kube-scheduler")):
        answer = explainer.explain(find_subjects(read, name, None)[0])
        assert (f"is {controller} running?" in answer.headline) is asks
        assert ("a few seconds ago" in answer.headline) is not asks
        assert answer.next[0].text.endswith(f"see whether {controller} runs")


def test_a_dump_without_claims_is_taken_for_a_part_of_the_cluster() -> None:
    """As `kubectl cluster-info dump` writes it: nothing is deleted or created for what it lacks."""
    status = {
        "phase": "Pending",
        "resourceClaimStatuses": [{"name": "g", "resourceClaimName": "p-g"}],
    }
    answer = explain("pod/p", node("a"), pod("p", USES, metadata={"uid": "p"}, status=status))
    assert not answer.fixes
    assert not any(
        "recreate" in said for said in (*answer.notes, *(step.text for step in answer.next))
    )
    assert answer.next[0].command.endswith("-A -o yaml > dra.yaml")


def test_a_cluster_without_templates_is_not_called_an_input() -> None:
    found = state_of(GPU, node("a"), gpus("a", "gpu-0"), pod("p", USES))
    read = ClusterState(
        {"ResourceClaimTemplate": {}, **{kind: found.objects(kind) for kind in found.kinds}}
    )
    answer = Explainer(read, Features.for_release("1.37")).explain(
        find_subjects(read, "pod/p", None)[0]
    )
    assert answer.headline.startswith("template ml/t does not exist")


def test_a_suspended_job_is_not_explained_by_its_devices() -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "ml", "uid": "j"},
        "spec": {
            "suspend": True,
            "template": {"spec": {"containers": [{"name": "c"}], "resourceClaims": [USES]}},
        },
    }
    answer = explain("job/train", GPU, node("a"), gpus("a", "gpu-0"), ONE, job)
    assert answer.headline == (
        "Job ml/train is suspended (spec.suspend) and creates no pods. If it created one: fits on a"
    )
    assert answer.next[0].command.startswith("kubectl patch job train -n ml")


def test_holders_of_partitions_under_a_constraint_are_named() -> None:
    """conformance/oncall 242: two 3g.40gb of one GPU are wanted, and each GPU has room for one."""
    parts = []
    for gpu in (0, 1):
        for place in (0, 1):
            made_ = device(f"mig-{gpu}-{place}", type="gpu", profile="3g.40gb", parent=f"GPU-{gpu}")
            parts.append({**made_, "consumesCounters": consume_counter(gpu, place)})
        small = device(f"small-{gpu}", type="gpu", profile="1g.10gb", parent=f"GPU-{gpu}")
        parts.append({**small, "consumesCounters": consume_counter(gpu, 0)})
    counters = {f"half-{place}": {"value": "1"} for place in (0, 1)}
    sets = [{"name": f"gpu-{gpu}", "counters": counters} for gpu in (0, 1)]
    shared = slice_of(DRIVER, "n", resourceSliceCount=2)
    shared["spec"] = {
        **{k: v for k, v in shared["spec"].items() if k != "devices"},
        "sharedCounters": sets,
    }
    shared["metadata"]["name"] = "counters"
    wanted = request_with_selector(f"device.attributes['{DRIVER}'].profile == '3g.40gb'", count=2)
    same = [{"requests": ["r"], "matchAttribute": f"{DRIVER}/parent"}]
    small = [
        claim(
            f"c{n}",
            request("r", DRIVER),
            status=allocation("n", (DRIVER, f"small-{n}"), pod=f"nb-{n}"),
        )
        for n in (0, 1)
    ]
    users = [
        pod(
            f"nb-{n}",
            {"name": "g", "resourceClaimName": f"c{n}"},
            spec={"nodeName": "n"},
            status={"phase": "Running"},
        )
        for n in (0, 1)
    ]
    published = slice_of(DRIVER, "n", *parts, resourceSliceCount=2)
    answer = explain(
        "claim/c",
        GPU,
        node("n"),
        shared,
        published,
        claim("c", wanted, constraints=same),
        *small,
        *users,
    )
    assert answer.headline.endswith(
        "no value of parent is shared by 2 free devices of request r with profile == '3g.40gb'; held by pods ml/nb-0, ml/nb-1"
    )
    assert {"delete pod ml/nb-0", "delete pod ml/nb-1"} <= set(titles(answer))


def consume_counter(gpu: int, half: int) -> list[dict[str, Any]]:
    return [{"counterSet": f"gpu-{gpu}", "counters": {f"half-{half}": {"value": "1"}}}]


def test_slices_of_a_missing_node_are_to_be_deleted() -> None:
    held = claim(
        "held", request("r", DRIVER), status=allocation("h-1", (DRIVER, "gpu-0"), pod="hog")
    )
    answer = explain(
        "pod/p", GPU, node("h-1"), gpus("h-1", "gpu-0"), gpus("h-2", "gpu-0"), ONE, held, waiting()
    )
    assert "1 device of node h-2 cannot be used" in said(answer)
    assert [step.command for step in answer.next if "h-2" in step.text] == [
        f"kubectl delete resourceslice h-2-{DRIVER}"
    ]


def test_devices_of_excluded_nodes_are_not_counted() -> None:
    nodes = node("h-1", labels={POOL: "h100"}), node("a-1", labels={POOL: "a100"})
    held = claim(
        "held", request("r", DRIVER), status=allocation("h-1", (DRIVER, "gpu-0"), pod="hog")
    )
    hog = pod(
        "hog",
        {"name": "g", "resourceClaimName": "held"},
        spec={"nodeName": "h-1"},
        status={"phase": "Running"},
    )
    free = gpus("a-1", "gpu-0", "gpu-1")
    subject = waiting(spec={"nodeSelector": {POOL: "h100"}})
    answer = explain("pod/p", GPU, *nodes, gpus("h-1", "gpu-0"), free, ONE, held, hog, subject)
    assert [
        (stage.kept, stage.of) for stage in answer.funnel if stage.stage == "not allocated"
    ] == [(0, 1)]


def test_a_fix_names_the_disruption_budget_of_a_pod_it_ends() -> None:
    """kubectl delete does not ask it, so that nothing else says it."""
    held = claim(
        "held", request("r", DRIVER), status=allocation("node-1", (DRIVER, "gpu-0"), pod="hog")
    )
    hog = pod(
        "hog",
        {"name": "g", "resourceClaimName": "held"},
        spec={"nodeName": "node-1"},
        status={"phase": "Running"},
    )
    hog["metadata"]["labels"] = {"app": "hog"}
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "keep", "namespace": "ml"},
        "spec": {"selector": {"matchLabels": {"app": "hog"}}},
        "status": {"disruptionsAllowed": 0},
    }
    answer = explain(
        "pod/p", GPU, node("node-1"), gpus("node-1", "gpu-0"), ONE, held, hog, budget, waiting()
    )
    (ending,) = [fix for fix in answer.fixes if "hog" in fix.title]
    assert "PodDisruptionBudget ml/keep allows no disruption now" in ending.effect
    budget["status"]["disruptionsAllowed"] = 1
    answer = explain(
        "pod/p", GPU, node("node-1"), gpus("node-1", "gpu-0"), ONE, held, hog, budget, waiting()
    )
    assert not any("PodDisruptionBudget" in fix.effect for fix in answer.fixes)


def node_held_by_pod(
    why: str, restarts: int, metadata: dict[str, Any] | None = None, **more: Any
) -> tuple[dict[str, Any], ...]:
    """A node whose only device is held by a bare pod with a container that waits for ``why``."""
    held = claim(
        "held", request("r", DRIVER), status=allocation("node-1", (DRIVER, "gpu-0"), pod="hog")
    )
    waits = (
        [{"name": "main", "restartCount": restarts, "state": {"waiting": {"reason": why}}}]
        if why
        else []
    )
    status = {"phase": "Running", "containerStatuses": waits, **more}
    hog = pod(
        "hog",
        {"name": "g", "resourceClaimName": "held"},
        spec={"nodeName": "node-1"},
        status=status,
    )
    hog["metadata"] |= metadata or {}
    return GPU, node("node-1"), gpus("node-1", "gpu-0"), ONE, held, hog, waiting()


@pytest.mark.parametrize("why", ["CrashLoopBackOff", "ImagePullBackOff"])
def test_failing_holder_is_ended_first(why: str) -> None:
    (ending,) = [
        fix for fix in explain("pod/p", *node_held_by_pod(why, 57)).fixes if "hog" in fix.title
    ]
    assert why in ending.effect


def test_fix_notes_the_age_of_a_bare_pod_and_its_missing_owner() -> None:
    (ending,) = explain("pod/p", *node_held_by_pod("", 0, startTime="2026-01-01T00:00:00Z")).fixes
    assert "nothing re-creates it; it runs since 2026-01-01T00:00:00Z" in ending.effect


CREATED = {"manager": "argo-notebooks", "time": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("metadata", "whose"),
    [
        (
            {"labels": {"hub.jupyter.org/username": "jane"}},
            "; label hub.jupyter.org/username: jane",
        ),
        (
            {"annotations": {"example.com/keep": "until Friday", "example.com/owner": "anna"}},
            "; annotation example.com/owner: anna, annotation example.com/keep: until Friday",
        ),
        ({"ownerReferences": [{"kind": "Notebook", "name": "nb"}]}, "; owner Notebook nb"),
        (
            {
                "managedFields": [
                    {"manager": "kubelet", "time": "2025-01-01T00:00:00Z", "subresource": "status"},
                    CREATED,
                ]
            },
            "; written by argo-notebooks",
        ),
        ({"annotations": {"cni.example.com/podIP": "10.0.0.1"}}, ""),
    ],
)
def test_the_fix_names_the_owner_of_a_bare_pod(metadata: dict[str, Any], whose: str) -> None:
    (ending,) = explain("pod/p", *node_held_by_pod("", 0, metadata)).fixes
    assert ending.effect == f"frees 1 device; nothing re-creates it{whose}"


def test_the_age_of_a_bare_pod_is_counted_to_the_newest_time_of_the_dump() -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "ml"},
        "lastTimestamp": "2026-01-06T01:00:00Z",
    }
    (ending,) = explain(
        "pod/p", *node_held_by_pod("", 0, startTime="2026-01-01T00:00:00Z"), event
    ).fixes
    assert "it runs since 2026-01-01T00:00:00Z (5d)" in ending.effect


def test_objects_managed_by_git_get_advice_instead_of_commands() -> None:
    label = {"argocd.argoproj.io/instance": "llm-prod"}
    many = template("t", request("r", DRIVER, 2))
    many["metadata"]["labels"] = label
    answer = explain("pod/p", GPU, node("node-1"), gpus("node-1", "gpu-0"), many, waiting())
    (fix,) = answer.fixes
    assert fix.title == "lower count of request r from 2 to 1"
    assert "Argo CD application llm-prod undoes what is changed by hand" in fix.effect
    assert (fix.steps, fix.by_hand) == ((), "Argo CD application llm-prod")
    *_, patches, target, patch, operation, _, annotation = explain_patch.render(
        [answer]
    ).splitlines()
    text = "\n".join(line.removeprefix("# ") for line in (patches, target, patch, operation))
    (given,) = yaml.safe_load(text)["patches"]  # as kustomize takes it
    assert given["target"] == {"kind": "ResourceClaimTemplate", "namespace": "ml", "name": "t"}
    (done,) = yaml.safe_load(given["patch"])
    assert (done["op"], done["path"], done["value"]) == (
        "replace",
        "/spec/spec/devices/requests/0/exactly/count",
        1,
    )
    assert annotation == "#   argocd.argoproj.io/sync-options: Force=true,Replace=true"


def test_a_group_of_a_leader_worker_set_is_not_helped_by_the_end_of_its_leader() -> None:
    """A rack with devices for two of a group of three: kubernetes-sigs/lws makes the StatefulSet of the leaders, the
    leader that of its workers."""
    lws = "leaderworkerset.sigs.k8s.io"

    def member(name: str, owner: str, index: str, on: str = "") -> list[dict[str, Any]]:
        labels = {f"{lws}/name": "vllm", f"{lws}/group-index": "0", f"{lws}/worker-index": index}
        one = owned_pod(name, f"StatefulSet/{owner}", node_name=on, labels=labels)
        one["metadata"]["annotations"] = {f"{lws}/size": "3"}
        one["spec"]["nodeSelector"] = {"rack": "a"}
        status = allocation(on, (DRIVER, "gpu-0"), pod=name) if on else {}
        own = {
            "uid": f"c-{name}",
            "ownerReferences": [{"kind": "Pod", "name": name, "uid": f"uid-{name}"}],
        }
        return [one, claim(f"{name}-g", request("r", DRIVER), metadata=own, status=status)]

    def stateful(name: str, replicas: int, kind: str, owner: str) -> dict[str, Any]:
        claims = [{"name": "g", "resourceClaimTemplateName": "t"}]
        pods = {
            "containers": [{"name": "main", "image": "x"}],
            "resourceClaims": claims,
            "nodeSelector": {"rack": "a"},
        }
        above = [{"kind": kind, "name": owner, "controller": True}]
        return {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": name, "namespace": "ml", "ownerReferences": above},
            "spec": {"replicas": replicas, "template": {"spec": pods}},
        }

    nodes = [
        o
        for n, r in (("a1", "a"), ("a2", "a"), ("b1", "b"))
        for o in (node(n, labels={"rack": r}), gpus(n, "gpu-0"))
    ]
    sets = stateful("vllm", 1, "LeaderWorkerSet", "vllm"), stateful("vllm-0", 2, "Pod", "vllm-0")
    group = (
        member("vllm-0", "vllm", "0", "a1")
        + member("vllm-0-1", "vllm-0", "1", "a2")
        + member("vllm-0-2", "vllm-0", "2")
    )
    answer = explain("pod/vllm-0-2", GPU, ONE, *nodes, *sets, *group)
    room = "group 0 of LeaderWorkerSet ml/vllm wants 3 pods where rack=a, and there are 2 nodes with such devices"
    assert any(plain(reason.message).startswith(room) for reason in answer.reasons)
    assert not [title for title in titles(answer) if title.startswith(("scale", "delete"))]
    (fix,) = [fix for fix in answer.fixes if "rack=a" in fix.title]
    assert fix.by_hand == "LeaderWorkerSet ml/vllm"
    assert fix.effect.count("change it in LeaderWorkerSet ml/vllm") == 1


def test_attribute_of_other_driver_versions_calls_for_another_version() -> None:
    """resource.kubernetes.io/pcieRoot of gpu.nvidia.com: its NICs have it, its GPUs lack it."""
    root = "resource.kubernetes.io/pcieRoot"
    nic = device_class("dra.net", "device.driver == 'dra.net'")
    both = template("t", request("r", DRIVER), request("n", "dra.net"))
    both["spec"]["spec"]["devices"]["constraints"] = [
        {"requests": ["r", "n"], "matchAttribute": root}
    ]
    cards = slice_of("dra.net", "node-1", device("nic-0", **{root: "pci0000:00"}))
    answer = explain(
        "pod/p", GPU, nic, node("node-1"), gpus("node-1", "gpu-0"), cards, both, waiting()
    )
    assert answer.reasons[0].code == "attr-missing"
    assert answer.next[0].text.startswith(f"upgrade driver {DRIVER} if it is older than v0.")
    assert "pcieRoot" in answer.next[0].text


@pytest.mark.parametrize(("used", "offered"), [(1, True), (3, False)])
def test_the_worker_of_a_job_set_is_not_made_anew_where_its_restarts_are_used_up(
    used: int, offered: bool
) -> None:
    """The smaller template needs a new pod; with backoffLimit 0 the Job fails by that, and its JobSet restarts."""
    pods = {"spec": {"containers": [{"name": "main", "image": "x"}], "resourceClaims": [USES]}}
    above = [{"kind": "JobSet", "name": "llm", "controller": True}]
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "llm-w-0",
            "namespace": "ml",
            "ownerReferences": above,
            "labels": {"jobset.sigs.k8s.io/replicatedjob-name": "w"},
        },
        "spec": {"backoffLimit": 0, "parallelism": 1, "completions": 1, "template": pods},
    }
    jobs = [{"name": "w", "template": {"spec": {"template": pods}}}]
    job_set = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "llm", "namespace": "ml"},
        "spec": {"replicatedJobs": jobs, "failurePolicy": {"maxRestarts": 3}},
        "status": {"restartsCountTowardsMax": used},
    }
    own = {"uid": "c", "ownerReferences": [{"kind": "Pod", "name": "w-0", "uid": "uid-w-0"}]}
    cluster = [
        GPU,
        node("node-1"),
        gpus("node-1", "gpu-0"),
        template("t", request("r", DRIVER, 2)),
        job,
        job_set,
    ]
    answer = explain(
        "pod/w-0",
        *cluster,
        owned_pod("w-0", "Job/llm-w-0"),
        claim("w-0-g", request("r", DRIVER, 2), metadata=own),
    )
    lower = [fix for fix in answer.fixes if fix.title == "lower count of request r from 2 to 1"]
    if offered:
        assert "JobSet ml/llm restarts as a whole, with 1 restart left" in lower[0].effect
        assert "kubectl delete pod w-0 -n ml" in str(lower[0].steps[-1])
    else:
        assert lower == []
        assert any(
            "and JobSet ml/llm with it: its restarts are used up" in note for note in answer.notes
        )


def test_pods_running_first_after_a_change_are_named() -> None:
    """The cordoned node has room for both, and the one with the higher priority is placed first."""
    cordoned = node("node-1", unschedulable=True)
    other = pod("first", USES, spec={"priority": 1000})
    answer = explain(
        "pod/p", GPU, cordoned, gpus("node-1", "gpu-0", "gpu-1"), ONE, waiting(), other
    )
    (uncordon,) = [fix for fix in answer.fixes if fix.title.startswith("uncordon")]
    assert "pod ml/first runs before it" in uncordon.effect


def test_slices_announced_by_a_newer_one_are_not_deleted() -> None:
    """The driver is between two publications: each slice says another number."""
    old, new = gpus("node-1", "gpu-0"), gpus("node-1", "gpu-1")
    old["metadata"] = {"name": "old", "creationTimestamp": "2026-01-01T00:00:00Z"}
    new["metadata"] = {"name": "new", "creationTimestamp": "2026-02-01T00:00:00Z"}
    new["spec"]["pool"]["resourceSliceCount"] = 2
    answer = explain("pod/p", GPU, node("node-1"), old, new, ONE, waiting())
    assert "announce different numbers of slices (1 in old, 2 in new)" in answer.headline
    assert answer.fixes == ()


@pytest.mark.parametrize(
    ("gates", "owner"),
    [
        (("example.com/quota",), "the controller of example.com does"),
        (("a.io/x", "hold", "b.io/y"), "the controller of a.io, b.io does"),
        (("hold",), ""),
    ],
)
def test_the_owner_of_scheduling_gates_is_named(gates: tuple[str, ...], owner: str) -> None:
    held = waiting(spec={"schedulingGates": [{"name": name} for name in gates]})
    removal, wait = explain("pod/p", GPU, node("a"), gpus("a", "gpu-0"), ONE, held).fixes
    assert removal.title.startswith(f"remove scheduling gate{'s' * (len(gates) > 1)} {gates[0]}")
    assert "only if the owner agrees" in removal.effect
    assert (wait.title, wait.effect) == (
        "wait until the owner of the scheduling gates removes them",
        owner,
    )


@pytest.mark.parametrize("named", [True, False])
def test_forgotten_counter_set_stands_beside_others_of_the_driver(named: bool) -> None:
    """KEP-4815: a slice has devices or counter sets; from 1.35 on those of a pool may be in another slice."""
    uses = [{"counterSet": "gpu-1", "counters": {"memory": {"value": "10Gi"}}}]
    parts, sets = gpus("node-1", "gpu-0"), gpus("node-1")
    parts["spec"]["devices"][0]["consumesCounters"] = uses
    sets["metadata"]["name"] += "-sets"
    counters = {"memory": {"value": "80Gi"}}
    sets["spec"]["sharedCounters"] = [{"name": "gpu-1" if named else "gpu-0", "counters": counters}]
    for item in (parts, sets):
        item["spec"]["pool"]["resourceSliceCount"] = 2
    answer = explain("pod/p", GPU, node("node-1"), parts, sets, ONE, waiting())
    title = "fix driver gpu.nvidia.com, which must publish counter set gpu-1"
    assert [fix.title for fix in answer.fixes] == ([] if named else [title])
