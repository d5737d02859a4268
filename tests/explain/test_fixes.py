"""Which fixes are offered: none that nobody would do, none that is undone at once, the right name
first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from dractl.allocation import Features
from dractl.cluster.changes import Create, Delete, Patch, apply_patch
from dractl.explain import Explainer, Explanation, find_subjects
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

if TYPE_CHECKING:
    from dractl.explain.answer import Fix

DRIVER = "gpu.nvidia.com"
GPU = device_class(
    DRIVER, f"device.driver == '{DRIVER}' && device.attributes['{DRIVER}'].type == 'gpu'"
)
MIG = device_class(
    "mig.nvidia.com", f"device.driver == '{DRIVER}' && device.attributes['{DRIVER}'].type == 'mig'"
)
NIC = device_class("dranet", "device.driver == 'dra.net'")
HOSTNAME = "kubernetes.io/hostname"


def explain(name: str, *objects: dict[str, Any], release: str = "1.37") -> Explanation:
    state = state_of(*objects)
    (question,) = find_subjects(state, name, None)
    return Explainer(state, Features.for_release(release)).explain(question)


def gpus(node_name: str, *names: str, architecture: str = "Hopper", **pool: Any) -> dict[str, Any]:
    return slice_of(
        DRIVER,
        node_name,
        *(device(n, type="gpu", architecture=architecture) for n in names),
        **pool,
    )


def migs(node_name: str) -> dict[str, Any]:
    return slice_of(DRIVER, node_name, device("mig-0", type="mig", architecture="Hopper"))


def template(name: str, *requests: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"spec": {"devices": {"requests": list(requests)}}},
    }


def request_with_selector(expression: str, **more: Any) -> dict[str, Any]:
    return request("r", DRIVER, selectors=[{"cel": {"expression": expression}}], **more)


def owned_pod(
    name: str,
    owner: str,
    template_name: str = "t",
    *,
    node_name: str | None = None,
    **metadata: Any,
) -> dict[str, Any]:
    """A pod that ``owner`` (Kind/name) made, of the template ``template_name``, on a node."""
    kind, _, owner_name = owner.partition("/")
    references = [
        {"kind": kind, "name": owner_name, "uid": f"uid-{owner_name}", "controller": True}
    ]
    return pod(
        name,
        {"name": "g", "resourceClaimTemplateName": template_name},
        metadata={"uid": f"uid-{name}", "ownerReferences": references, **metadata},
        spec={"nodeName": node_name} if node_name else {},
        status={
            "phase": "Running" if node_name else "Pending",
            "resourceClaimStatuses": [{"name": "g", "resourceClaimName": f"{name}-g"}],
        },
    )


def replica(
    name: str, node_name: str | None = None, deployment: str = "web", **metadata: Any
) -> dict[str, Any]:
    labels = {"pod-template-hash": "abc"}
    return owned_pod(
        name, f"ReplicaSet/{deployment}-abc", node_name=node_name, labels=labels, **metadata
    )


def allocated_claim(pod_name: str, node_name: str, *names: str) -> dict[str, Any]:
    """The claim of a pod with devices of the node."""
    owner = [{"kind": "Pod", "name": pod_name, "uid": f"uid-{pod_name}"}]
    status = allocation(node_name, *((DRIVER, name) for name in names), pod=pod_name)
    return claim(
        f"{pod_name}-g",
        request("r", DRIVER),
        status=status,
        metadata={"ownerReferences": owner, "uid": pod_name},
    )


def changes(fix: Fix) -> list[Any]:
    return [plain(change) for change in fix.changes]


def titles(answer: Explanation) -> list[str]:
    return [fix.title for fix in answer.fixes]


TWO = (GPU, node("node-1"), gpus("node-1", "gpu-0", "gpu-1"), template("t", request("r", DRIVER)))
BUSY = (
    *TWO,
    allocated_claim("web-0", "node-1", "gpu-0"),
    allocated_claim("web-1", "node-1", "gpu-1"),
)
WANTS = (
    claim("c", request("r", DRIVER)),
    pod("p", {"name": "g", "resourceClaimName": "c"}, metadata={"uid": "p"}),
)

# -- pods that come back --


def test_ending_a_sibling_replica_is_not_offered() -> None:
    generated = claim(
        "web-2-g",
        request("r", DRIVER),
        metadata={"ownerReferences": [{"kind": "Pod", "uid": "uid-web-2"}]},
    )
    pods = replica("web-0", "node-1"), replica("web-1", "node-1"), replica("web-2")
    answer = explain("pod/web-2", *BUSY, generated, *pods)
    assert answer.fixes == ()
    assert any("Deployment ml/web would recreate it" in note for note in answer.notes)


def test_scale_down_of_another_workload_removes_the_holding_pod() -> None:
    answer = explain("pod/p", *BUSY, *WANTS, replica("web-0", "node-1"), replica("web-1", "node-1"))
    (fix,) = answer.fixes
    mark, scale = changes(fix)
    assert mark["patch"] in ("Pod/ml/web-0", "Pod/ml/web-1")
    assert mark["json"][0]["value"] == {"controller.kubernetes.io/pod-deletion-cost": "-1"}
    assert scale == {
        "patch": "Deployment/ml/web",
        "json": [{"op": "replace", "path": "/spec/replicas", "value": 1}],
    }
    assert fix.tried == (Delete(mark["patch"]),)


def test_a_deletion_cost_is_set_in_place_and_the_pod_of_a_claim_is_recreated() -> None:
    patch = explain_patch.render(
        [explain("pod/p", *BUSY, *WANTS, replica("web-0", "node-1"), replica("web-1", "node-1"))]
    )
    assert "kubectl annotate pod web-" in patch
    assert "kubectl scale deployment/web -n ml --replicas=1" in patch
    tainted = node("node-1", taints=[{"key": "dedicated", "effect": "NoSchedule"}])
    patch = explain_patch.render(
        [explain("claim/c", GPU, tainted, gpus("node-1", "gpu-0"), *WANTS)]
    )
    assert "kubectl get pod p -n ml -o yaml > pod-p.before.yaml" in patch
    assert "kubectl replace --force -f pod-p.yaml" in patch


def test_deletion_cost_is_not_set_if_the_controller_picks_the_pod_anyway() -> None:
    cheap = replica(
        "web-0", "node-1", annotations={"controller.kubernetes.io/pod-deletion-cost": "-5"}
    )
    answer = explain("pod/p", *BUSY, *WANTS, cheap, replica("web-1", "node-1"))
    assert changes(answer.fixes[0]) == [
        {
            "patch": "Deployment/ml/web",
            "json": [{"op": "replace", "path": "/spec/replicas", "value": 1}],
        }
    ]
    assert answer.fixes[0].tried == (Delete("Pod/ml/web-0"),)


def test_cheapest_pod_ends_before_pods_sharing_a_node() -> None:
    # ActivePodsWithRanks compares the cost first, then how many pods are on the node; run on a 1.37
    # control plane
    held_by = [
        allocated_claim("web-0", "node-1", "gpu-0"),
        allocated_claim("web-1", "node-2", "gpu-2"),
        allocated_claim("web-2", "node-2", "gpu-3"),
    ]
    pods = replica("web-0", "node-1"), replica("web-1", "node-2"), replica("web-2", "node-2")
    wants = claim("c", request("r", DRIVER, 2)), WANTS[1]
    answer = explain(
        "pod/p", *TWO, node("node-2"), gpus("node-2", "gpu-2", "gpu-3"), *held_by, *pods, *wants
    )
    assert titles(answer) == [
        "lower count of request r from 2 to 1",
        "scale Deployment ml/web from 3 to 2 replicas, pod web-0 first",
    ]
    mark, scale = changes(answer.fixes[1])
    assert mark["patch"] == "Pod/ml/web-0"
    assert mark["json"][0]["value"] == {"controller.kubernetes.io/pod-deletion-cost": "-1"}
    assert scale == {
        "patch": "Deployment/ml/web",
        "json": [{"op": "replace", "path": "/spec/replicas", "value": 2}],
    }


def test_pending_pod_competing_for_the_freed_device_is_named() -> None:
    # On a 1.37 control plane, two pods that waited behind this one took what the replicas freed one
    # after the other.
    waits = {"name": "g", "resourceClaimName": "c"}, {"name": "g", "resourceClaimName": "d"}
    first, second = (
        pod(name, wants, metadata={"uid": name, "creationTimestamp": f"2026-01-0{day}T00:00:00Z"})
        for day, (name, wants) in enumerate(zip("pq", waits, strict=True), 1)
    )
    spec = {
        "replicas": 2,
        "selector": {"matchLabels": {}},
        "template": {"metadata": {}, "spec": {"containers": []}},
    }
    meta = {"name": "web", "namespace": "ml"}
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}
    pods = web, replica("web-0", "node-1"), replica("web-1", "node-1"), first
    both, single = claim("c", request("r", DRIVER, 2)), claim("d", request("r", DRIVER))
    (alone,) = explain("pod/p", *BUSY, *pods, both).fixes
    assert alone.effect == "frees 2 devices; all of its replicas"
    (beside,) = explain("pod/p", *BUSY, *pods, both, second, single).fixes
    assert beside.effect == f"{alone.effect}; pod ml/q may take what the first of them frees"


def test_a_stateful_set_ends_its_highest_ordinal() -> None:
    pods = (
        owned_pod("web-0", "StatefulSet/web", node_name="node-1"),
        owned_pod("web-1", "StatefulSet/web", node_name="node-1"),
    )
    answer = explain("pod/p", *BUSY, *WANTS, *pods)
    assert titles(answer) == ["scale StatefulSet ml/web from 2 to 1 replica"]
    assert answer.fixes[0].tried == (Delete("Pod/ml/web-1"),)


def test_a_job_is_suspended() -> None:
    pods = (
        owned_pod("web-0", "Job/web", node_name="node-1"),
        owned_pod("web-1", "Job/web", node_name="node-1"),
    )
    (fix,) = explain("pod/p", *BUSY, *WANTS, *pods).fixes
    assert changes(fix) == [
        {"patch": "Job/ml/web", "json": [{"op": "add", "path": "/spec/suspend", "value": True}]}
    ]
    assert set(fix.tried) == {Delete("Pod/ml/web-0"), Delete("Pod/ml/web-1")}


@pytest.mark.parametrize("owner", ["DaemonSet/web", "Node/node-1", "RayCluster/web"])
def test_unscalable_workload_is_left_alone(owner: str) -> None:
    pods = (
        owned_pod("web-0", owner, node_name="node-1"),
        owned_pod("web-1", owner, node_name="node-1"),
    )
    answer = explain("pod/p", *BUSY, *WANTS, *pods)
    assert answer.fixes == ()
    assert any(owner.partition("/")[2] in note for note in answer.notes)


def test_a_pod_without_a_controller_is_deleted() -> None:
    pods = pod("web-0", spec={"nodeName": "node-1"}), replica("web-1", "node-1")
    assert titles(explain("pod/p", *BUSY, *WANTS, *pods))[0] == "delete pod ml/web-0"


# -- what only a driver can publish --


def test_slices_are_never_applied_by_a_fix() -> None:
    pending = claim("c", request("r", DRIVER))
    answer = explain("c", GPU, node("node-1"), pending)
    (fix,) = answer.fixes
    assert fix.changes == ()
    assert any(isinstance(change, Create) for change in fix.tried)
    patch = explain_patch.render([answer])
    assert "kubectl" not in patch
    assert "nothing to apply" in patch


def test_a_driver_is_not_asked_to_publish_on_a_node_without_its_hardware() -> None:
    answer = explain(
        "c",
        GPU,
        NIC,
        node("node-1"),
        node("net-1"),
        gpus("node-1", "gpu-0"),
        claim("c", request("r", DRIVER, 3)),
    )
    assert titles(answer) == ["lower count of request r from 3 to 1"]


def test_a_patch_writes_equal_manifests_out_instead_of_aliasing_them() -> None:
    missing = [{"name": n, "resourceClaimName": n} for n in ("a", "b")]
    same = template("x", request("r", DRIVER))["spec"]["spec"]
    elsewhere = [{**claim(n, namespace="other"), "spec": same} for n in ("a", "b")]
    answer = explain("pod/p", *TWO, *elsewhere, pod("p", *missing))
    patch = explain_patch.render([answer])
    assert "&id" not in patch
    documents = re.findall(r"kubectl create -f - <<'EOF'(?: &&)?\n(.*?)EOF\n", patch, re.DOTALL)
    assert [yaml.safe_load(d) for d in documents] == [
        change["create"] for change in changes(answer.fixes[0])
    ]


def test_an_incomplete_pool_is_repaired_before_the_request_is_changed() -> None:
    hidden = gpus("node-2", "gpu-0", architecture="Ampere", resourceSliceCount=2)
    pending = claim(
        "c", request_with_selector(f"device.attributes['{DRIVER}'].architecture == 'Ampere'")
    )
    answer = explain(
        "c",
        GPU,
        MIG,
        node("node-1"),
        node("node-2"),
        node("mig-1"),
        gpus("node-1", "gpu-0"),
        hidden,
        migs("mig-1"),
        pending,
    )
    assert answer.reasons[0].code == "pool-incomplete"
    assert "publishes the missing slice" in answer.fixes[0].title
    assert answer.fixes[0].changes == ()
    assert not any("mig.nvidia.com" in title for title in titles(answer))


def test_a_class_without_devices_is_replaced() -> None:
    answer = explain("c", GPU, MIG, node("mig-1"), migs("mig-1"), claim("c", request("r", DRIVER)))
    assert titles(answer)[0] == f"change the class of request r from {DRIVER} to mig.nvidia.com"


# -- the right name --


def pod_with_extended_resource(resource: str, **more: Any) -> dict[str, Any]:
    pending = pod("p", requests={resource: "1"}, **more)
    pending["spec"]["containers"][0]["resources"]["limits"] = {resource: "1"}
    del pending["spec"]["resourceClaims"]
    return pending


def class_with_resource(device_class: dict[str, Any], resource: str) -> dict[str, Any]:
    return {**device_class, "spec": {**device_class["spec"], "extendedResourceName": resource}}


CARDS = (
    NIC,
    node("node-1"),
    gpus("node-1", "gpu-0"),
    slice_of("dra.net", "node-1", device("nic-0")),
)


def test_a_misspelt_extended_resource_is_renamed() -> None:
    answer = explain(
        "pod/p",
        class_with_resource(GPU, "nvidia.com/gpu"),
        *CARDS,
        pod_with_extended_resource("nvidia.com/gpus"),
    )
    assert (answer.reasons[0].facts["nearest"], answer.reasons[0].facts["class"]) == (
        "nvidia.com/gpu",
        DRIVER,
    )
    (fix,) = answer.fixes
    (change,) = fix.changes
    assert isinstance(change, Patch)
    resources = apply_patch(pod_with_extended_resource("nvidia.com/gpus"), change.operations)[
        "spec"
    ]["containers"][0]["resources"]
    assert resources == {"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}


@pytest.mark.parametrize(("free", "lowered"), [(5, 2), (4, 1)])
def test_only_one_of_two_containers_lowers_its_extended_resource(free: int, lowered: int) -> None:
    waiting = pod_with_extended_resource("nvidia.com/gpu")
    waiting["spec"]["containers"] = [
        {
            "name": name,
            "image": "x",
            "resources": {kind: {"nvidia.com/gpu": "3"} for kind in ("requests", "limits")},
        }
        for name in ("a", "b")
    ]
    cards = gpus("node-1", *(f"gpu-{number}" for number in range(free)))
    answer = explain(
        "pod/p", class_with_resource(GPU, "nvidia.com/gpu"), node("node-1"), cards, waiting
    )
    assert titles(answer)[0] == f"lower nvidia.com/gpu from 3 to {lowered}"


def test_excessive_container_is_lowered_beside_an_init_container() -> None:
    waiting = pod_with_extended_resource("nvidia.com/gpu")
    amounts = {kind: {"nvidia.com/gpu": "3"} for kind in ("requests", "limits")}
    waiting["spec"]["containers"] = [{"name": "a", "image": "x", "resources": amounts}]
    waiting["spec"]["initContainers"] = [{"name": "i", "image": "x"}]
    answer = explain(
        "pod/p",
        class_with_resource(GPU, "nvidia.com/gpu"),
        node("node-1"),
        gpus("node-1", "gpu-0"),
        waiting,
    )
    (change,) = next(
        fix for fix in answer.fixes if fix.title == "lower nvidia.com/gpu from 3 to 1"
    ).changes
    assert isinstance(change, Patch)
    (container,) = apply_patch(waiting, change.operations)["spec"]["containers"]
    assert container["resources"] == {
        kind: {"nvidia.com/gpu": "1"} for kind in ("requests", "limits")
    }


def test_a_class_of_another_vendor_does_not_provide_a_resource() -> None:
    answer = explain("pod/p", GPU, *CARDS, pod_with_extended_resource("example.com/fpga"))
    assert (answer.reasons[0].code, answer.fixes) == ("node-filter", ())
    assert titles(explain("pod/p", GPU, *CARDS, pod_with_extended_resource("nvidia.com/gpu"))) == [
        f"set extendedResourceName of class {DRIVER} to nvidia.com/gpu"
    ]


def test_an_abbreviated_attribute_name_is_corrected() -> None:
    pending = claim("c", request_with_selector(f"device.attributes['{DRIVER}'].arch == 'Hopper'"))
    answer = explain("c", *TWO, pending)
    assert titles(answer)[0] == f"change {DRIVER}/arch to {DRIVER}/architecture in request r"


def test_a_name_is_corrected_wherever_it_is_read() -> None:
    misspelt = "device.attributes['nvidia.com']"
    pending = claim(
        "c",
        request_with_selector(
            f"has({misspelt}.architecture) && {misspelt}.architecture == 'Hopper'"
        ),
    )
    (operation,) = explain("c", *TWO, pending).fixes[0].changes[0].operations  # type: ignore[union-attr]
    assert operation["value"].count("['gpu.nvidia.com']") == 2


def test_further_obstacles_are_named_beside_the_right_name() -> None:
    pending = claim(
        "c",
        request_with_selector(f"device.attributes['{DRIVER}'].architcture == 'Hopper'", count=2),
    )
    busy = claim(
        "held", request("r", DRIVER), status=allocation("node-1", (DRIVER, "gpu-0"), pod="x")
    )
    answer = explain("c", *TWO, busy, pending)
    assert answer.reasons[0].code == "selector-error"
    assert any(
        "architecture in request r. After that: " in note and "1 of 2" in note
        for note in answer.notes
    )
    assert not any("without" in title for title in titles(answer))


def test_an_existing_template_is_used_instead_of_a_new_one() -> None:
    pending = pod(
        "p", {"name": "g", "resourceClaimTemplateName": "one-gpus"}, metadata={"uid": "p"}
    )
    existing = template("one-gpu", request("r", DRIVER))
    assert titles(explain("pod/p", *TWO, existing, pending)) == [
        "change resourceClaimTemplateName one-gpus to one-gpu"
    ]
    busy = explain(
        "pod/p", *BUSY, existing, pending, pod("web-0", spec={"nodeName": "node-1"}), pod("web-1")
    )
    assert not any("create" in title for title in titles(busy))
    assert any("one-gpu. After that: " in note and "in use" in note for note in busy.notes)


def test_a_misspelt_class_is_not_created() -> None:
    answer = explain("c", *TWO, claim("c", request("r", "gpu.nvdia.com", 3)))
    assert not any("install" in title for title in titles(answer))
    assert any("it is not enough" in note for note in answer.notes)


# -- the rest --


@pytest.mark.parametrize(
    ("label", "offered"), [(HOSTNAME, False), ("topology.kubernetes.io/zone", False), ("a/b", True)]
)
def test_label_describing_a_node_stays(label: str, offered: bool) -> None:
    pending = pod(
        "p",
        {"name": "g", "resourceClaimName": "c"},
        spec={"nodeSelector": {label: "other"}},
        metadata={},
    )
    answer = explain("pod/p", *TWO, claim("c", request("r", DRIVER)), pending)
    assert answer.fixes[0].title == f"remove nodeSelector {label}=other from the pod"
    assert any(title.startswith("label node-1") for title in titles(answer)) is offered


@pytest.mark.parametrize(
    ("policy", "wanted", "amount", "clause"),
    [
        (
            {"validRange": {"min": "1G", "max": "8G", "step": "1G"}},
            "9G",
            "8G",
            "1G to 8G in steps of 1G",
        ),
        (
            {"validRange": {"min": "1G", "max": "8G", "step": "3G"}},
            "10G",
            "7G",
            "1G to 8G in steps of 3G",
        ),
        ({"validValues": ["1G", "2G", "4G"]}, "9G", "4G", "1G, 2G, 4G"),
    ],
)
@pytest.mark.parametrize("release", ["1.36", "1.37"])
def test_maximum_of_a_request_policy_is_offered(
    release: str, policy: Any, wanted: str, amount: str, clause: str
) -> None:
    port = {"name": "eth0", "allowMultipleAllocations": True}
    port["capacity"] = {"bandwidth": {"value": "10G", "requestPolicy": {"default": "1G", **policy}}}
    pending = claim("c", request("r", "dranet", capacity={"requests": {"bandwidth": "9G"}}))
    answer = explain(
        "c", NIC, node("node-1"), slice_of("dra.net", "node-1", port), pending, release=release
    )
    assert f"wants {wanted}, " in answer.reasons[0].message
    assert answer.reasons[0].message.endswith(clause)
    assert titles(answer) == [f"lower bandwidth of request r from 9G to {amount}"]


def port_with_share(used: str) -> tuple[dict[str, Any], ...]:
    """A port of 10G, of which another claim has a share."""
    policy = {"default": "1G", "validRange": {"min": "1G", "max": "8G", "step": "3G"}}
    port = {"name": "eth0", "allowMultipleAllocations": True}
    port["capacity"] = {"bandwidth": {"value": "10G", "requestPolicy": policy}}
    status = allocation("node-1", ("dra.net", "eth0"), pod="other")
    status["allocation"]["devices"]["results"][0] |= {
        "shareID": "s",
        "consumedCapacity": {"bandwidth": used},
    }
    return NIC, node("node-1"), slice_of("dra.net", "node-1", port), claim("other", status=status)


@pytest.mark.parametrize(("wanted", "amount"), [("9G", "4G"), ("8G", "4G"), ("7G", "4G")])
def test_largest_free_and_allowed_amount_is_offered(wanted: str, amount: str) -> None:
    """Of 10G 4G are used: 6G are free, and the policy allows 1G, 4G and 7G."""
    wants = claim("c", request("r", "dranet", capacity={"requests": {"bandwidth": wanted}}))
    assert titles(explain("c", *port_with_share("4G"), wants)) == [
        f"lower bandwidth of request r from {wanted} to {amount}"
    ]


def test_unpublished_capacity_is_not_taken_for_another() -> None:
    """The holders of such devices do not matter, and a name that resembles no other is no typing
    error.
    """
    wants = claim("c", request("r", "dranet", capacity={"requests": {"vram": "1"}}))
    held = allocation("node-2", ("dra.net", "eth0"), pod="x")
    port = device("eth0")
    port["capacity"] = {"bandwidth": {"value": "10G"}}
    whole = (node("node-2"), slice_of("dra.net", "node-2", port), claim("whole", status=held))
    answer = explain("c", *port_with_share("1G"), *whole, wants)
    assert [reason.code for reason in answer.reasons] == ["capacity-missing"]
    assert titles(answer) == ["remove capacity vram from request r"]
    close = claim("c", request("r", "dranet", capacity={"requests": {"bandwith": "1G"}}))
    assert (
        titles(explain("c", *port_with_share("1G"), close))[0]
        == "rename capacity bandwith of request r to bandwidth"
    )


@pytest.mark.parametrize(
    ("name", "published"), [("dra.net/bandwidth", "bandwidth"), ("bandwidth", "dra.net/bandwidth")]
)
def test_a_capacity_is_found_by_the_name_as_it_is_written(name: str, published: str) -> None:
    """kube-scheduler 1.37.1: "cannot allocate all claims" (consumable_capacity.go
    requestsContainNonExistCapacity).
    """
    port = device("eth0", capacity={published: "10G"})
    objects = NIC, node("node-1"), slice_of("dra.net", "node-1", port)
    answer = explain(
        "c", *objects, claim("c", request("r", "dranet", capacity={"requests": {name: "1G"}}))
    )
    assert f"they publish {published}; names are compared as they are written" in answer.headline
    assert titles(answer)[0] == f"rename capacity {name} of request r to {published}"


def test_no_fix_is_offered_where_the_pod_fits() -> None:
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "message": "0/2 nodes are available: 2 cannot allocate all claims.",
    }
    pending = pod(
        "p",
        {"name": "g", "resourceClaimName": "c"},
        metadata={"uid": "p"},
        status={"phase": "Pending", "conditions": [condition]},
    )
    answer = explain(
        "pod/p", *TWO, node("net-1", unschedulable=True), claim("c", request("r", DRIVER)), pending
    )
    assert answer.reasons[0].code == "would-fit-now"
    assert [fix.changes for fix in answer.fixes] == [()]


# -- what a patch says of pods that a workload makes --


def test_a_fix_of_a_shared_template_counts_its_other_pods() -> None:
    many = template("t", request("r", DRIVER, 3))
    generated = claim(
        "web-0-g",
        request("r", DRIVER, 3),
        metadata={"ownerReferences": [{"kind": "Pod", "uid": "uid-web-0"}]},
    )
    answer = explain(
        "pod/web-0",
        *TWO[:3],
        many,
        generated,
        replica("web-0"),
        pod("p", {"name": "g", "resourceClaimTemplateName": "t"}),
    )
    assert answer.fixes[0].effect == "1 more pod uses the template"
    patch = explain_patch.render([answer])
    assert "kubectl delete pod web-0 -n ml" in patch
    assert "get pod" not in patch.replace("--dry-run", "")
    assert "kubectl get resourceclaimtemplate t -n ml" in patch


def test_the_pod_of_a_deployment_is_changed_in_its_template() -> None:
    tainted = node("node-1", taints=[{"key": "dedicated", "effect": "NoSchedule"}])
    waiting = replica("web-0")
    waiting["spec"]["tolerations"] = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]
    generated = claim(
        "web-0-g",
        request("r", DRIVER),
        metadata={"ownerReferences": [{"kind": "Pod", "uid": "uid-web-0"}]},
    )
    answer = explain("pod/web-0", GPU, tainted, gpus("node-1", "gpu-0"), TWO[3], generated, waiting)
    # The API server adds tolerations to a pod, which its template does not have.
    value = [{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}]
    operation = {"op": "add", "path": "/spec/template/spec/tolerations", "value": value}
    assert changes(answer.fixes[0]) == [{"patch": "Deployment/ml/web", "json": [operation]}]
    patch = explain_patch.render([answer])
    assert "kubectl patch deployment web -n ml" in patch
    assert "kubectl delete" not in patch


@pytest.mark.parametrize(
    ("owner", "advice"),
    [
        ("Job/web", "change the manifest of Job ml/web and recreate it"),
        ("RayCluster/web", "change the manifest of RayCluster ml/web and recreate it"),
        # KServe rolls its pods when the InferenceService is edited.
        ("InferenceService/web", "change it in InferenceService ml/web, which would undo this"),
    ],
)
def test_immutable_object_is_edited_by_hand(owner: str, advice: str) -> None:
    tainted = node("node-1", taints=[{"key": "dedicated", "effect": "NoSchedule"}])
    generated = claim(
        "web-0-g",
        request("r", DRIVER),
        metadata={"ownerReferences": [{"kind": "Pod", "uid": "uid-web-0"}]},
    )
    answer = explain(
        "pod/web-0",
        GPU,
        tainted,
        gpus("node-1", "gpu-0"),
        TWO[3],
        generated,
        owned_pod("web-0", owner),
    )
    patch = explain_patch.render([answer])
    assert "kubectl" not in patch
    assert advice in patch
    assert "# --patch 2 prints: remove taint dedicated:NoSchedule from node-1" in patch
    assert "kubectl taint node node-1" in explain_patch.render([answer], 2)


# -- what the API server accepts, and what lasts --


def test_a_guard_beyond_the_cost_limit_is_not_offered() -> None:
    named = device("gpu-1", type="gpu", productName="NVIDIA H100")
    unnamed = slice_of(DRIVER, "node-1", device("gpu-0", type="gpu"), named)
    condition = f"device.attributes['{DRIVER}'].productName.contains('H100')"
    answer = explain(
        "c", GPU, node("node-1"), unnamed, claim("c", request_with_selector(condition))
    )
    rewrites = [
        o.get("value") for fix in answer.fixes for change in changes(fix) for o in change["json"]
    ]
    # "Forbidden: too complex, exceeds cost limit": the length of what orValue() returns is not
    # known.
    assert not any("orValue" in str(expression) for expression in rewrites)
    assert f"'productName' in device.attributes['{DRIVER}'] && {condition}" in rewrites


def slice_with_taints(*taints: dict[str, str]) -> dict[str, Any]:
    return slice_of(DRIVER, "node-1", device("gpu-0", type="gpu", taints=list(taints)))


def test_a_toleration_has_the_taints_value_and_effect() -> None:
    reserved = slice_with_taints({"key": "example.com/team", "value": "a", "effect": "NoSchedule"})
    answer = explain("c", GPU, node("node-1"), reserved, claim("c", request("r", DRIVER)))
    ((change,),) = [changes(f) for f in answer.fixes]
    assert change["json"][0]["value"] == [
        {"key": "example.com/team", "operator": "Equal", "value": "a", "effect": "NoSchedule"}
    ]


def test_a_toleration_of_a_broken_device_says_to_repair_it_instead() -> None:
    broken = slice_with_taints({"key": "gpu.nvidia.com/xid", "value": "79", "effect": "NoSchedule"})
    answer = explain("c", GPU, node("node-1"), broken, claim("c", request("r", DRIVER)))
    toleration, repair = answer.fixes
    assert toleration.effect.startswith(
        "only if the device works: the taint says that it is broken"
    )
    assert "else drain the node, then reset or replace the device" in toleration.effect
    assert (repair.title.startswith("repair device gpu-0"), repair.changes) == (True, ())


def test_a_toleration_of_an_evicting_taint_says_so_and_is_not_the_only_fix() -> None:
    rule = {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "drain"},
        "spec": {
            "deviceSelector": {"driver": DRIVER},
            "taint": {"key": "drain", "effect": "NoExecute"},
        },
    }
    answer = explain(
        "c", GPU, node("node-1"), gpus("node-1", "gpu-0"), rule, claim("c", request("r", DRIVER))
    )
    toleration, deletion = answer.fixes
    assert "pods that do not tolerate the taint are evicted" in toleration.effect
    assert deletion.title == "delete DeviceTaintRule drain"


def test_a_fix_does_not_get_the_pod_evicted() -> None:
    evicting = slice_with_taints({"key": "drain", "value": "a", "effect": "NoExecute"})
    tolerations = [
        {"key": "drain", "operator": "Exists"}
    ]  # enough for the scheduler, not for the eviction
    busy = request("r", DRIVER, 2, tolerations=tolerations)
    assert explain("c", GPU, node("node-1"), evicting, claim("c", busy)).fixes == ()


def test_fields_added_by_a_controller_stay_in_the_workload() -> None:
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchFields": [
                            {"key": "metadata.name", "operator": "In", "values": ["node-2"]}
                        ]
                    }
                ]
            }
        }
    }
    daemon = owned_pod("burn-in", "DaemonSet/burn-in")
    daemon["spec"]["affinity"] = affinity
    generated = claim(
        "burn-in-g",
        request("r", DRIVER),
        metadata={"ownerReferences": [{"kind": "Pod", "uid": "uid-burn-in"}]},
    )
    owner = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "burn-in", "namespace": "ml"},
        "spec": {
            "template": {"spec": {k: v for k, v in daemon["spec"].items() if k != "affinity"}}
        },
    }
    answer = explain("pod/burn-in", *TWO, node("node-2"), owner, generated, daemon)
    assert not any("affinity" in title for title in titles(answer))


def test_a_default_of_a_limit_range_is_set_in_the_template_with_its_parents() -> None:
    waiting = replica("web-0")
    waiting["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "96"}
    template_spec = {**waiting["spec"], "containers": [{"name": "main", "image": "x"}]}
    owner = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "ml"},
        "spec": {"template": {"spec": template_spec}},
    }
    generated = claim(
        "web-0-g",
        request("r", DRIVER),
        metadata={"ownerReferences": [{"kind": "Pod", "uid": "uid-web-0"}]},
    )
    answer = explain("pod/web-0", *TWO, owner, generated, waiting)
    (change,) = changes(answer.fixes[0])
    assert change["json"] == [
        {
            "op": "add",
            "path": "/spec/template/spec/containers/0/resources",
            "value": {"requests": {"cpu": "8"}},
        }
    ]
    assert apply_patch(owner, change["json"])


def test_a_terminating_pod_is_not_deleted_again() -> None:
    since = "2026-11-20T10:00:00Z"
    leaving = [
        pod(
            n,
            {"name": "g", "resourceClaimName": f"{n}-g"},
            metadata={"deletionTimestamp": since},
            spec={"nodeName": "node-1"},
        )
        for n in ("web-0", "web-1")
    ]
    answer = explain("pod/p", *BUSY, *WANTS, *leaving)
    assert answer.fixes[0].changes == ()
    assert since in answer.fixes[0].title
    assert answer.fixes[0].steps == ()


def test_scheduling_gates_are_left_to_their_owner() -> None:
    gated = pod(
        "p",
        {"name": "g", "resourceClaimName": "c"},
        metadata={"uid": "p", "labels": {"kueue.x-k8s.io/queue-name": "research"}},
        spec={"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]},
    )
    (fix,) = explain("pod/p", *TWO, WANTS[0], gated).fixes
    assert fix.changes == ()
    assert "LocalQueue ml/research" in fix.effect


def test_nothing_is_deleted_before_a_dry_run() -> None:
    generated = claim(
        "p-g",
        request("r", DRIVER, 3),
        metadata={"ownerReferences": [{"kind": "Pod", "uid": "uid-p"}]},
    )
    status = {
        "phase": "Pending",
        "resourceClaimStatuses": [{"name": "g", "resourceClaimName": "p-g"}],
    }
    waiting = pod(
        "p",
        {"name": "g", "resourceClaimTemplateName": "t"},
        metadata={"uid": "uid-p"},
        status=status,
    )
    answer = explain("pod/p", *TWO[:3], template("t", request("r", DRIVER, 3)), generated, waiting)
    commands = [step.command for step in answer.fixes[0].steps]
    first = next(i for i, step in enumerate(answer.fixes[0].steps) if step.destroys)
    assert any("--dry-run=server" in c for c in commands[:first])
    script = explain_patch.render([answer])
    assert all(
        line.endswith(("&&", "EOF", "-", "]"))
        for line in script.splitlines()
        if line.startswith("kubectl")
    )


def test_an_extended_resource_is_changed_where_its_limit_is_written() -> None:
    provider = {**GPU, "spec": {**GPU["spec"], "extendedResourceName": "nvidia.com/gpu"}}
    limits = {"limits": {"nvidia.com/gpus": "1"}}
    waiting = replica("web-0")
    # The API server copies limits to requests in the pod, not in its template.
    container = {
        "name": "main",
        "image": "x",
        "resources": {**limits, "requests": {"nvidia.com/gpus": "1"}},
    }
    waiting["spec"] |= {"resourceClaims": [], "containers": [container]}
    template_spec = {
        "resourceClaims": [],
        "containers": [{"name": "main", "image": "x", "resources": limits}],
    }
    owner = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "ml"},
        "spec": {"template": {"spec": template_spec}},
    }
    answer = explain("pod/web-0", provider, *TWO[1:], owner, waiting)
    (change,) = changes(answer.fixes[0])
    path = "/spec/template/spec/containers/0/resources/limits/nvidia.com~1gpu"
    assert change == {
        "patch": "Deployment/ml/web",
        "json": [{"op": "move", "from": f"{path}s", "path": path}],
    }
    assert apply_patch(owner, change["json"])


def test_derived_attribute_is_removed_with_its_constraint() -> None:
    """kube-apiserver refuses one that no constraint reads (ValidateResourceClaim), and
    kube-scheduler 1.37.1 found no devices for this claim.
    """
    nic = slice_of("dra.net", "a", device("nic-0"))
    derived = [
        [{"name": "example.com/bus", "expression": f"'{value}'"}] for value in ("one", "two")
    ]
    pending = template(
        "t", request("g", DRIVER, derivedAttributes=derived[0]), request("n", "dranet")
    )
    pending["spec"]["spec"]["devices"]["requests"][1]["exactly"]["derivedAttributes"] = derived[1]
    pending["spec"]["spec"]["devices"]["constraints"] = [{"matchAttribute": "example.com/bus"}]
    subject = pod("p", {"name": "g", "resourceClaimTemplateName": "t"})
    state = state_of(GPU, NIC, node("a"), gpus("a", "gpu-0"), nic, pending, subject)
    (question,) = find_subjects(state, "pod/p", None)
    answer = Explainer(state, Features.for_release("1.37", {"DRADerivedAttributes": True})).explain(
        question
    )
    (fix,) = (fix for fix in answer.fixes if fix.title == "remove the bus constraint")
    (patch,) = (change for change in fix.changes if isinstance(change, Patch))
    made = apply_patch(pending, patch.operations)
    assert "constraints" not in made["spec"]["spec"]["devices"]
    assert all(
        "derivedAttributes" not in r["exactly"] for r in made["spec"]["spec"]["devices"]["requests"]
    )


def test_an_ending_does_not_help_where_a_selector_fails_on_another_node() -> None:
    """A selector that looks up an absent attribute ends the whole attempt (allocator_stable.go)."""
    numbered = slice_of(DRIVER, "node-1", device("gpu-0", type="gpu", numaNode=0))
    held = claim("h", request("r", DRIVER), status=allocation("node-1", (DRIVER, "gpu-0"), pod="h"))
    uses = {"name": "g", "resourceClaimName": "h"}
    holder = pod("h", uses, spec={"nodeName": "node-1"}, status={"phase": "Running"})
    wanted = claim("c", request_with_selector(f"device.attributes['{DRIVER}'].numaNode == 0"))
    subject = pod("p", {"name": "g", "resourceClaimName": "c"})
    common = (GPU, node("node-1"), node("node-2"), numbered, held, holder, wanted, subject)
    answer = explain("pod/p", *common, gpus("node-2", "gpu-0"))
    assert not [title for title in titles(answer) if title.startswith("delete pod")]
    alone = explain("pod/p", *common)
    assert [title for title in titles(alone) if title.startswith("delete pod")]


def product(node_name: str, count: int, name: str) -> dict[str, Any]:
    return slice_of(
        DRIVER, node_name, *(device(f"gpu-{n}", productName=name) for n in range(count))
    )


@pytest.mark.parametrize(("on_a", "is_changed"), [("A100-SXM4-40GB", False), ("H100", True)])
def test_selector_of_a_class_is_changed_only_if_no_device_belongs_to_it(
    on_a: str, is_changed: bool
) -> None:
    product_name = f"device.attributes['{DRIVER}'].productName"
    small = device_class("a100", f"{product_name} == 'NVIDIA A100-SXM4-40GB'")
    answer = explain(
        "claim/c",
        small,
        claim("c", request("r", "a100", 2)),
        node("a"),
        node("b"),
        product("a", 1, f"NVIDIA {on_a}"),
        product("b", 4, "NVIDIA A100-SXM4-80GB"),
    )
    assert any(fix.title.endswith("in class a100") for fix in answer.fixes) is is_changed


def test_feature_gate_is_enabled_beside_the_others() -> None:
    """With all gates but one as in 1.34, the alternatives of a request need that one."""
    alternatives = {
        "name": "r",
        "firstAvailable": [{"name": "mig", "deviceClassName": "mig.nvidia.com"}],
    }
    state = state_of(MIG, claim("c", alternatives), node("a"), migs("a"))
    (question,) = find_subjects(state, "claim/c", None)
    features = Features.for_release("1.34", {"DRAPrioritizedList": False})
    answer = Explainer(state, features).explain(question)
    assert [fix.title for fix in answer.fixes] == ["enable feature gate DRAPrioritizedList"]


@pytest.mark.parametrize(("release", "exists"), [("1.35", False), ("1.37", True)])
def test_a_feature_gate_is_enabled_only_in_releases_that_have_it(
    release: str, exists: bool
) -> None:
    """DRAListTypeAttributes exists from 1.36 on (kubernetes pkg/features/kube_features.go)."""
    lists = device("gpu-0"), device("gpu-1", root="a")
    lists[0]["attributes"] = {"root": {"strings": ["a", "b"]}}
    alike = [{"requests": ["r"], "matchAttribute": f"{DRIVER}/root"}]
    answer = explain(
        "claim/c",
        {**GPU, "metadata": {"name": "any"}, "spec": {}},
        node("node-1"),
        slice_of(DRIVER, "node-1", *lists),
        claim("c", request("r", "any", 2), constraints=alike),
        release=release,
    )
    assert ("enable feature gate DRAListTypeAttributes" in titles(answer)) is exists


def test_a_driver_that_was_probably_meant_is_named() -> None:
    answer = explain(
        "claim/c",
        device_class("gpu", "device.driver == 'gpu.nvdiia.com'"),
        claim("c", request("r", "gpu")),
        node("a"),
        gpus("a", "gpu-0"),
    )
    assert (
        "driver gpu.nvdiia.com publishes no ResourceSlice (class gpu); there is gpu.nvidia.com"
        in answer.headline
    )


def test_other_drivers_of_the_vendor_are_named_once() -> None:
    answer = explain(
        "claim/c",
        device_class("gpu", "device.driver == 'gpus.nvidia.com'"),
        claim("c", request("r", "gpu")),
        node("a"),
        gpus("a", "gpu-0"),
    )
    assert answer.headline.count("gpu.nvidia.com") == 1
    assert "; there is gpu.nvidia.com" in answer.headline
    assert "of the same vendor" not in answer.headline


def test_missing_claim_is_created_for_the_class_that_its_name_resembles() -> None:
    classes = [device_class(name, f"device.driver == '{DRIVER}'") for name in ("a", "b", "c", "d")]
    wanted = device_class("gpu.example.com", f"device.driver == '{DRIVER}'")
    user = pod("p", {"name": "gpu", "resourceClaimName": "my-gpu"})
    answer = explain("pod/p", *classes, wanted, user, node("a"), gpus("a", "gpu-0"))
    assert answer.fixes[0].title == "create claim ml/my-gpu, for example for one gpu.example.com"


def test_error_of_a_selector_names_the_nodes_of_its_devices() -> None:
    expression = f"device.attributes['{DRIVER}'].nothing == 'x'"
    asks = request("r", DRIVER, selectors=[{"cel": {"expression": expression}}])
    answer = explain("claim/c", GPU, claim("c", asks), node("a"), node("b"), gpus("b", "gpu-0"))
    assert f"fails on device {DRIVER}/b/gpu-0 of node b: " in answer.headline
    assert answer.reasons[0].facts["nodes"] == ("b",)


def test_toleration_of_an_alternative_with_another_value_is_named() -> None:
    tolerations = [{"key": "drain", "operator": "Equal", "value": "y"}]
    whole = {"name": "whole", "deviceClassName": DRIVER, "tolerations": tolerations}
    taint = {"key": "drain", "value": "x", "effect": "NoSchedule"}
    answer = explain(
        "claim/c",
        GPU,
        claim("c", {"name": "r", "firstAvailable": [whole]}),
        node("a"),
        slice_of(DRIVER, "a", device("gpu-0", type="gpu", taints=[taint])),
    )
    message = answer.reasons[0].message
    assert message.startswith(
        "request r/whole: 1 device has a taint that is not tolerated: drain=x"
    )
    assert message.endswith("the request tolerates drain=y")
