"""Which fixes are offered: none that nobody would do, none that is undone at once, the right name first."""

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


def gpus(where: str, *names: str, architecture: str = "Hopper", **pool: Any) -> dict[str, Any]:
    return slice_of(
        DRIVER, where, *(device(n, type="gpu", architecture=architecture) for n in names), **pool
    )


def migs(where: str) -> dict[str, Any]:
    return slice_of(DRIVER, where, device("mig-0", type="mig", architecture="Hopper"))


def template(name: str, *requests: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"spec": {"devices": {"requests": list(requests)}}},
    }


def selecting(expression: str, **more: Any) -> dict[str, Any]:
    return request("r", DRIVER, selectors=[{"cel": {"expression": expression}}], **more)


def made(
    name: str, owner: str, of: str = "t", *, where: str | None = None, **metadata: Any
) -> dict[str, Any]:
    """A pod that ``owner`` (Kind/name) made, of the template ``of``, on a node."""
    kind, _, owner_name = owner.partition("/")
    references = [
        {"kind": kind, "name": owner_name, "uid": f"uid-{owner_name}", "controller": True}
    ]
    return pod(
        name,
        {"name": "g", "resourceClaimTemplateName": of},
        metadata={"uid": f"uid-{name}", "ownerReferences": references, **metadata},
        spec={"nodeName": where} if where else {},
        status={
            "phase": "Running" if where else "Pending",
            "resourceClaimStatuses": [{"name": "g", "resourceClaimName": f"{name}-g"}],
        },
    )


def replica(
    name: str, where: str | None = None, deployment: str = "web", **metadata: Any
) -> dict[str, Any]:
    labels = {"pod-template-hash": "abc"}
    return made(name, f"ReplicaSet/{deployment}-abc", where=where, labels=labels, **metadata)


def held(by: str, where: str, *names: str) -> dict[str, Any]:
    """The claim of a pod with devices of the node."""
    owner = [{"kind": "Pod", "name": by, "uid": f"uid-{by}"}]
    status = allocation(where, *((DRIVER, name) for name in names), pod=by)
    return claim(
        f"{by}-g",
        request("r", DRIVER),
        status=status,
        metadata={"ownerReferences": owner, "uid": by},
    )


def changes(fix: Fix) -> list[Any]:
    return [plain(change) for change in fix.changes]


def titles(answer: Explanation) -> list[str]:
    return [fix.title for fix in answer.fixes]


TWO = (GPU, node("node-1"), gpus("node-1", "gpu-0", "gpu-1"), template("t", request("r", DRIVER)))
BUSY = (*TWO, held("web-0", "node-1", "gpu-0"), held("web-1", "node-1", "gpu-1"))
WANTS = (
    claim("c", request("r", DRIVER)),
    pod("p", {"name": "g", "resourceClaimName": "c"}, metadata={"uid": "p"}),
)

# -- pods that come back --


def test_the_end_of_a_sibling_replica_is_no_fix() -> None:
    own = claim(
        "web-2-g",
        request("r", DRIVER),
        metadata={"ownerReferences": [{"kind": "Pod", "uid": "uid-web-2"}]},
    )
    pods = replica("web-0", "node-1"), replica("web-1", "node-1"), replica("web-2")
    answer = explain("pod/web-2", *BUSY, own, *pods)
    assert answer.fixes == ()
    assert any("Deployment ml/web would recreate it" in note for note in answer.notes)


def test_another_workload_becomes_smaller_by_the_pod_that_holds_the_devices() -> None:
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


def test_a_mark_is_set_in_place_and_a_pod_seen_from_its_claim_is_made_anew() -> None:
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


def test_no_mark_is_needed_where_the_controller_takes_that_pod_anyway() -> None:
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


def test_the_cheapest_pod_ends_before_those_that_share_a_node() -> None:
    # ActivePodsWithRanks compares the cost first, then how many pods are on the node; run on a 1.37 control plane
    held_by = [
        held("web-0", "node-1", "gpu-0"),
        held("web-1", "node-2", "gpu-2"),
        held("web-2", "node-2", "gpu-3"),
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


def test_who_may_take_what_the_first_of_several_pods_frees_is_told() -> None:
    # On a 1.37 control plane, two pods that waited behind this one took what the replicas freed one after the other.
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
    both, one = claim("c", request("r", DRIVER, 2)), claim("d", request("r", DRIVER))
    (alone,) = explain("pod/p", *BUSY, *pods, both).fixes
    assert alone.effect == "frees 2 devices; all of its replicas"
    (beside,) = explain("pod/p", *BUSY, *pods, both, second, one).fixes
    assert beside.effect == f"{alone.effect}; pod ml/q may take what the first of them frees"


def test_a_stateful_set_gives_up_its_highest_number() -> None:
    pods = (
        made("web-0", "StatefulSet/web", where="node-1"),
        made("web-1", "StatefulSet/web", where="node-1"),
    )
    answer = explain("pod/p", *BUSY, *WANTS, *pods)
    assert titles(answer) == ["scale StatefulSet ml/web from 2 to 1 replica"]
    assert answer.fixes[0].tried == (Delete("Pod/ml/web-1"),)


def test_a_job_is_suspended() -> None:
    pods = made("web-0", "Job/web", where="node-1"), made("web-1", "Job/web", where="node-1")
    (fix,) = explain("pod/p", *BUSY, *WANTS, *pods).fixes
    assert changes(fix) == [
        {"patch": "Job/ml/web", "json": [{"op": "add", "path": "/spec/suspend", "value": True}]}
    ]
    assert set(fix.tried) == {Delete("Pod/ml/web-0"), Delete("Pod/ml/web-1")}


@pytest.mark.parametrize("owner", ["DaemonSet/web", "Node/node-1", "RayCluster/web"])
def test_what_nobody_can_make_smaller_is_left_alone(owner: str) -> None:
    pods = made("web-0", owner, where="node-1"), made("web-1", owner, where="node-1")
    answer = explain("pod/p", *BUSY, *WANTS, *pods)
    assert answer.fixes == ()
    assert any(owner.partition("/")[2] in note for note in answer.notes)


def test_a_pod_of_nobody_ends() -> None:
    pods = pod("web-0", spec={"nodeName": "node-1"}), replica("web-1", "node-1")
    assert titles(explain("pod/p", *BUSY, *WANTS, *pods))[0] == "delete pod ml/web-0"


# -- what only a driver can publish --


def test_no_made_up_slice_is_to_be_applied() -> None:
    asked = claim("c", request("r", DRIVER))
    answer = explain("c", GPU, node("node-1"), asked)
    (fix,) = answer.fixes
    assert fix.changes == ()
    assert any(isinstance(change, Create) for change in fix.tried)
    patch = explain_patch.render([answer])
    assert "kubectl" not in patch
    assert "nothing to apply" in patch


def test_a_node_without_such_devices_is_not_told_to_have_some() -> None:
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


def test_the_same_value_twice_is_written_twice() -> None:
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


def test_an_incomplete_pool_comes_before_other_wishes() -> None:
    hidden = gpus("node-2", "gpu-0", architecture="Ampere", resourceSliceCount=2)
    asked = claim("c", selecting(f"device.attributes['{DRIVER}'].architecture == 'Ampere'"))
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
        asked,
    )
    assert answer.reasons[0].code == "pool-incomplete"
    assert "publishes the missing slice" in answer.fixes[0].title
    assert answer.fixes[0].changes == ()
    assert not any("mig.nvidia.com" in title for title in titles(answer))


def test_a_class_of_which_there_is_nothing_is_changed() -> None:
    answer = explain("c", GPU, MIG, node("mig-1"), migs("mig-1"), claim("c", request("r", DRIVER)))
    assert titles(answer)[0] == f"change the class of request r from {DRIVER} to mig.nvidia.com"


# -- the right name --


def extended(resource: str, **more: Any) -> dict[str, Any]:
    asked = pod("p", requests={resource: "1"}, **more)
    asked["spec"]["containers"][0]["resources"]["limits"] = {resource: "1"}
    del asked["spec"]["resourceClaims"]
    return asked


def providing(device_class: dict[str, Any], resource: str) -> dict[str, Any]:
    return {**device_class, "spec": {**device_class["spec"], "extendedResourceName": resource}}


CARDS = (
    NIC,
    node("node-1"),
    gpus("node-1", "gpu-0"),
    slice_of("dra.net", "node-1", device("nic-0")),
)


def test_the_near_extended_resource_is_meant() -> None:
    answer = explain("pod/p", providing(GPU, "nvidia.com/gpu"), *CARDS, extended("nvidia.com/gpus"))
    assert (answer.reasons[0].nearest, answer.reasons[0].device_class) == ("nvidia.com/gpu", DRIVER)
    (fix,) = answer.fixes
    (change,) = fix.changes
    assert isinstance(change, Patch)
    resources = apply_patch(extended("nvidia.com/gpus"), change.operations)["spec"]["containers"][
        0
    ]["resources"]
    assert resources == {"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}


@pytest.mark.parametrize(("free", "left"), [(5, 2), (4, 1)])
def test_of_two_containers_one_asks_for_less_of_an_extended_resource(free: int, left: int) -> None:
    waiting = extended("nvidia.com/gpu")
    waiting["spec"]["containers"] = [
        {
            "name": name,
            "image": "x",
            "resources": {kind: {"nvidia.com/gpu": "3"} for kind in ("requests", "limits")},
        }
        for name in ("a", "b")
    ]
    cards = gpus("node-1", *(f"gpu-{number}" for number in range(free)))
    answer = explain("pod/p", providing(GPU, "nvidia.com/gpu"), node("node-1"), cards, waiting)
    assert titles(answer)[0] == f"lower nvidia.com/gpu from 3 to {left}"


def test_the_container_that_asks_for_too_much_is_lowered_beside_an_init_container() -> None:
    waiting = extended("nvidia.com/gpu")
    amounts = {kind: {"nvidia.com/gpu": "3"} for kind in ("requests", "limits")}
    waiting["spec"]["containers"] = [{"name": "a", "image": "x", "resources": amounts}]
    waiting["spec"]["initContainers"] = [{"name": "i", "image": "x"}]
    answer = explain(
        "pod/p", providing(GPU, "nvidia.com/gpu"), node("node-1"), gpus("node-1", "gpu-0"), waiting
    )
    (change,) = next(
        fix for fix in answer.fixes if fix.title == "lower nvidia.com/gpu from 3 to 1"
    ).changes
    assert isinstance(change, Patch)
    (container,) = apply_patch(waiting, change.operations)["spec"]["containers"]
    assert container["resources"] == {
        kind: {"nvidia.com/gpu": "1"} for kind in ("requests", "limits")
    }


def test_a_class_of_another_vendor_does_not_provide_it() -> None:
    answer = explain("pod/p", GPU, *CARDS, extended("example.com/fpga"))
    assert (answer.reasons[0].code, answer.fixes) == ("node-filter", ())
    assert titles(explain("pod/p", GPU, *CARDS, extended("nvidia.com/gpu"))) == [
        f"set extendedResourceName of class {DRIVER} to nvidia.com/gpu"
    ]


def test_a_shortened_attribute_is_found() -> None:
    asked = claim("c", selecting(f"device.attributes['{DRIVER}'].arch == 'Hopper'"))
    answer = explain("c", *TWO, asked)
    assert titles(answer)[0] == f"change {DRIVER}/arch to {DRIVER}/architecture in request r"


def test_a_name_is_put_right_wherever_it_is_read() -> None:
    wrong = "device.attributes['nvidia.com']"
    asked = claim("c", selecting(f"has({wrong}.architecture) && {wrong}.architecture == 'Hopper'"))
    (operation,) = explain("c", *TWO, asked).fixes[0].changes[0].operations  # type: ignore[union-attr]
    assert operation["value"].count("['gpu.nvidia.com']") == 2


def test_what_else_is_in_the_way_of_the_right_name_is_said() -> None:
    asked = claim("c", selecting(f"device.attributes['{DRIVER}'].architcture == 'Hopper'", count=2))
    busy = claim(
        "held", request("r", DRIVER), status=allocation("node-1", (DRIVER, "gpu-0"), pod="x")
    )
    answer = explain("c", *TWO, busy, asked)
    assert answer.reasons[0].code == "selector-error"
    assert any(
        "architecture in request r. Then " in note and "1 of 2" in note for note in answer.notes
    )
    assert not any("without" in title for title in titles(answer))


def test_the_template_that_is_there_is_used_and_no_other_made() -> None:
    asked = pod("p", {"name": "g", "resourceClaimTemplateName": "one-gpus"}, metadata={"uid": "p"})
    one = template("one-gpu", request("r", DRIVER))
    assert titles(explain("pod/p", *TWO, one, asked)) == [
        "change resourceClaimTemplateName one-gpus to one-gpu"
    ]
    busy = explain(
        "pod/p", *BUSY, one, asked, pod("web-0", spec={"nodeName": "node-1"}), pod("web-1")
    )
    assert not any("create" in title for title in titles(busy))
    assert any("one-gpu. Then " in note and "in use" in note for note in busy.notes)


def test_a_class_that_was_misspelt_is_not_installed() -> None:
    answer = explain("c", *TWO, claim("c", request("r", "gpu.nvdia.com", 3)))
    assert not any("install" in title for title in titles(answer))
    assert any("not enough by itself" in note for note in answer.notes)


# -- the rest --


@pytest.mark.parametrize(
    ("label", "offered"), [(HOSTNAME, False), ("topology.kubernetes.io/zone", False), ("a/b", True)]
)
def test_a_label_that_says_what_a_node_is_stays(label: str, offered: bool) -> None:
    asked = pod(
        "p",
        {"name": "g", "resourceClaimName": "c"},
        spec={"nodeSelector": {label: "other"}},
        metadata={},
    )
    answer = explain("pod/p", *TWO, claim("c", request("r", DRIVER)), asked)
    assert answer.fixes[0].title == f"remove nodeSelector {label}=other from the pod"
    assert any(title.startswith("label node-1") for title in titles(answer)) is offered


@pytest.mark.parametrize(
    ("policy", "wanted", "most", "told"),
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
def test_the_most_that_a_request_policy_allows_is_offered(
    release: str, policy: Any, wanted: str, most: str, told: str
) -> None:
    port = {"name": "eth0", "allowMultipleAllocations": True}
    port["capacity"] = {"bandwidth": {"value": "10G", "requestPolicy": {"default": "1G", **policy}}}
    asked = claim("c", request("r", "dranet", capacity={"requests": {"bandwidth": "9G"}}))
    answer = explain(
        "c", NIC, node("node-1"), slice_of("dra.net", "node-1", port), asked, release=release
    )
    assert f"wants {wanted}, " in answer.reasons[0].message
    assert answer.reasons[0].message.endswith(told)
    assert titles(answer) == [f"lower bandwidth of request r from 9G to {most}"]


def shared_port(used: str) -> tuple[dict[str, Any], ...]:
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


@pytest.mark.parametrize(("asked", "most"), [("9G", "4G"), ("8G", "4G"), ("7G", "4G")])
def test_the_most_that_is_free_and_allowed_is_offered(asked: str, most: str) -> None:
    """Of 10G 4G are used: 6G are free, and the policy allows 1G, 4G and 7G."""
    wants = claim("c", request("r", "dranet", capacity={"requests": {"bandwidth": asked}}))
    assert titles(explain("c", *shared_port("4G"), wants)) == [
        f"lower bandwidth of request r from {asked} to {most}"
    ]


def test_a_capacity_that_no_device_has_is_not_another_one() -> None:
    """Whoever holds devices that lack it is beside the point; a name that is nothing like it is not what was meant."""
    wants = claim("c", request("r", "dranet", capacity={"requests": {"vram": "1"}}))
    held = allocation("node-2", ("dra.net", "eth0"), pod="x")
    port = device("eth0")
    port["capacity"] = {"bandwidth": {"value": "10G"}}
    whole = (node("node-2"), slice_of("dra.net", "node-2", port), claim("whole", status=held))
    answer = explain("c", *shared_port("1G"), *whole, wants)
    assert [reason.code for reason in answer.reasons] == ["capacity-missing"]
    assert titles(answer) == ["remove capacity vram from request r"]
    close = claim("c", request("r", "dranet", capacity={"requests": {"bandwith": "1G"}}))
    assert (
        titles(explain("c", *shared_port("1G"), close))[0]
        == "rename capacity bandwith of request r to bandwidth"
    )


@pytest.mark.parametrize(
    ("asked", "published"), [("dra.net/bandwidth", "bandwidth"), ("bandwidth", "dra.net/bandwidth")]
)
def test_a_capacity_is_found_by_the_name_as_it_is_written(asked: str, published: str) -> None:
    """kube-scheduler 1.37.1: "cannot allocate all claims" (consumable_capacity.go requestsContainNonExistCapacity)."""
    port = device("eth0", capacity={published: "10G"})
    objects = NIC, node("node-1"), slice_of("dra.net", "node-1", port)
    answer = explain(
        "c", *objects, claim("c", request("r", "dranet", capacity={"requests": {asked: "1G"}}))
    )
    assert f"they publish {published}; names are compared as they are written" in answer.headline
    assert titles(answer)[0] == f"rename capacity {asked} of request r to {published}"


def test_where_it_fits_nothing_is_to_be_changed() -> None:
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "message": "0/2 nodes are available: 2 cannot allocate all claims.",
    }
    asked = pod(
        "p",
        {"name": "g", "resourceClaimName": "c"},
        metadata={"uid": "p"},
        status={"phase": "Pending", "conditions": [condition]},
    )
    answer = explain(
        "pod/p", *TWO, node("net-1", unschedulable=True), claim("c", request("r", DRIVER)), asked
    )
    assert answer.reasons[0].code == "would-fit-now"
    assert [fix.changes for fix in answer.fixes] == [()]


# -- what a patch says of pods that a workload makes --


def test_a_template_of_several_pods_is_called_that_and_the_pod_is_left_to_its_owner() -> None:
    many = template("t", request("r", DRIVER, 3))
    own = claim(
        "web-0-g",
        request("r", DRIVER, 3),
        metadata={"ownerReferences": [{"kind": "Pod", "uid": "uid-web-0"}]},
    )
    answer = explain(
        "pod/web-0",
        *TWO[:3],
        many,
        own,
        replica("web-0"),
        pod("p", {"name": "g", "resourceClaimTemplateName": "t"}),
    )
    assert answer.fixes[0].effect == "1 more pod uses the template"
    patch = explain_patch.render([answer])
    assert "kubectl delete pod web-0 -n ml" in patch
    assert "get pod" not in patch.replace("--dry-run", "")
    assert "kubectl get resourceclaimtemplate t -n ml" in patch


def test_what_a_deployment_writes_is_changed_there() -> None:
    tainted = node("node-1", taints=[{"key": "dedicated", "effect": "NoSchedule"}])
    waiting = replica("web-0")
    waiting["spec"]["tolerations"] = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]
    own = claim(
        "web-0-g",
        request("r", DRIVER),
        metadata={"ownerReferences": [{"kind": "Pod", "uid": "uid-web-0"}]},
    )
    answer = explain("pod/web-0", GPU, tainted, gpus("node-1", "gpu-0"), TWO[3], own, waiting)
    # The API server adds tolerations to a pod, which its template does not have.
    value = [{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}]
    operation = {"op": "add", "path": "/spec/template/spec/tolerations", "value": value}
    assert changes(answer.fixes[0]) == [{"patch": "Deployment/ml/web", "json": [operation]}]
    patch = explain_patch.render([answer])
    assert "kubectl patch deployment web -n ml" in patch
    assert "kubectl delete" not in patch


@pytest.mark.parametrize(
    ("owner", "told"),
    [
        ("Job/web", "change the manifest of Job ml/web and recreate it"),
        ("RayCluster/web", "change the manifest of RayCluster ml/web and recreate it"),
        # KServe rolls its pods when the InferenceService is edited.
        ("InferenceService/web", "change it in InferenceService ml/web, which would undo this"),
    ],
)
def test_what_cannot_be_changed_in_place_is_said(owner: str, told: str) -> None:
    tainted = node("node-1", taints=[{"key": "dedicated", "effect": "NoSchedule"}])
    own = claim(
        "web-0-g",
        request("r", DRIVER),
        metadata={"ownerReferences": [{"kind": "Pod", "uid": "uid-web-0"}]},
    )
    answer = explain(
        "pod/web-0", GPU, tainted, gpus("node-1", "gpu-0"), TWO[3], own, made("web-0", owner)
    )
    patch = explain_patch.render([answer])
    assert "kubectl" not in patch
    assert told in patch
    assert "# --patch 2 prints: remove taint dedicated:NoSchedule from node-1" in patch
    assert "kubectl taint node node-1" in explain_patch.render([answer], 2)


# -- what the API server accepts, and what lasts --


def test_a_guard_beyond_the_cost_limit_is_not_offered() -> None:
    named = device("gpu-1", type="gpu", productName="NVIDIA H100")
    unnamed = slice_of(DRIVER, "node-1", device("gpu-0", type="gpu"), named)
    written = f"device.attributes['{DRIVER}'].productName.contains('H100')"
    answer = explain("c", GPU, node("node-1"), unnamed, claim("c", selecting(written)))
    found = [
        o.get("value") for fix in answer.fixes for change in changes(fix) for o in change["json"]
    ]
    # "Forbidden: too complex, exceeds cost limit": the length of what orValue() returns is not known.
    assert not any("orValue" in str(expression) for expression in found)
    assert f"'productName' in device.attributes['{DRIVER}'] && {written}" in found


def tainted(*taints: dict[str, str]) -> dict[str, Any]:
    return slice_of(DRIVER, "node-1", device("gpu-0", type="gpu", taints=list(taints)))


def test_a_toleration_has_the_taints_value_and_effect() -> None:
    reserved = tainted({"key": "example.com/team", "value": "a", "effect": "NoSchedule"})
    answer = explain("c", GPU, node("node-1"), reserved, claim("c", request("r", DRIVER)))
    ((change,),) = [changes(f) for f in answer.fixes]
    assert change["json"][0]["value"] == [
        {"key": "example.com/team", "operator": "Equal", "value": "a", "effect": "NoSchedule"}
    ]


def test_a_broken_device_is_repaired_before_anybody_tolerates_it() -> None:
    broken = tainted({"key": "gpu.nvidia.com/xid", "value": "79", "effect": "NoSchedule"})
    answer = explain("c", GPU, node("node-1"), broken, claim("c", request("r", DRIVER)))
    assert [bool(fix.changes) for fix in answer.fixes] == [False, True]
    assert answer.fixes[0].title.startswith("repair device gpu-0")


def test_a_toleration_that_is_regretted_is_never_the_only_fix() -> None:
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
    assert titles(answer)[0] == "delete DeviceTaintRule drain"


def test_the_pod_survives_on_its_device() -> None:
    evicting = tainted({"key": "drain", "value": "a", "effect": "NoExecute"})
    tolerations = [
        {"key": "drain", "operator": "Exists"}
    ]  # enough for the scheduler, not for the eviction
    busy = request("r", DRIVER, 2, tolerations=tolerations)
    assert explain("c", GPU, node("node-1"), evicting, claim("c", busy)).fixes == ()


def test_what_a_controller_put_into_the_pod_is_not_removed_from_its_owner() -> None:
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
    daemon = made("burn-in", "DaemonSet/burn-in")
    daemon["spec"]["affinity"] = affinity
    own = claim(
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
    answer = explain("pod/burn-in", *TWO, node("node-2"), owner, own, daemon)
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
    own = claim(
        "web-0-g",
        request("r", DRIVER),
        metadata={"ownerReferences": [{"kind": "Pod", "uid": "uid-web-0"}]},
    )
    answer = explain("pod/web-0", *TWO, owner, own, waiting)
    (change,) = changes(answer.fixes[0])
    assert change["json"] == [
        {
            "op": "add",
            "path": "/spec/template/spec/containers/0/resources",
            "value": {"requests": {"cpu": "8"}},
        }
    ]
    assert apply_patch(owner, change["json"])


def test_a_pod_that_is_terminating_is_not_deleted_again() -> None:
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


def test_gates_are_left_to_their_owner() -> None:
    gated = pod(
        "p",
        {"name": "g", "resourceClaimName": "c"},
        metadata={"uid": "p", "labels": {"kueue.x-k8s.io/queue-name": "research"}},
        spec={"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]},
    )
    (fix,) = explain("pod/p", *TWO, WANTS[0], gated).fixes
    assert fix.changes == ()
    assert "LocalQueue ml/research" in fix.effect


def test_nothing_is_deleted_before_the_server_was_asked() -> None:
    own = claim(
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
    answer = explain("pod/p", *TWO[:3], template("t", request("r", DRIVER, 3)), own, waiting)
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
    written = {
        "resourceClaims": [],
        "containers": [{"name": "main", "image": "x", "resources": limits}],
    }
    owner = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "ml"},
        "spec": {"template": {"spec": written}},
    }
    answer = explain("pod/web-0", provider, *TWO[1:], owner, waiting)
    (change,) = changes(answer.fixes[0])
    path = "/spec/template/spec/containers/0/resources/limits/nvidia.com~1gpu"
    assert change == {
        "patch": "Deployment/ml/web",
        "json": [{"op": "move", "from": f"{path}s", "path": path}],
    }
    assert apply_patch(owner, change["json"])


def test_a_derived_attribute_goes_with_the_constraint_that_reads_it() -> None:
    """kube-apiserver refuses one that no constraint reads (ValidateResourceClaim), and kube-scheduler 1.37.1 found no
    devices for this claim."""
    nic = slice_of("dra.net", "a", device("nic-0"))
    derived = [
        [{"name": "example.com/bus", "expression": f"'{value}'"}] for value in ("one", "two")
    ]
    asked = template(
        "t", request("g", DRIVER, derivedAttributes=derived[0]), request("n", "dranet")
    )
    asked["spec"]["spec"]["devices"]["requests"][1]["exactly"]["derivedAttributes"] = derived[1]
    asked["spec"]["spec"]["devices"]["constraints"] = [{"matchAttribute": "example.com/bus"}]
    subject = pod("p", {"name": "g", "resourceClaimTemplateName": "t"})
    state = state_of(GPU, NIC, node("a"), gpus("a", "gpu-0"), nic, asked, subject)
    (question,) = find_subjects(state, "pod/p", None)
    answer = Explainer(state, Features.for_release("1.37", {"DRADerivedAttributes": True})).explain(
        question
    )
    (fix,) = (fix for fix in answer.fixes if fix.title == "remove the bus constraint")
    (patch,) = (change for change in fix.changes if isinstance(change, Patch))
    made = apply_patch(asked, patch.operations)
    assert "constraints" not in made["spec"]["spec"]["devices"]
    assert all(
        "derivedAttributes" not in r["exactly"] for r in made["spec"]["spec"]["devices"]["requests"]
    )
