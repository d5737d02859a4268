"""Causes that span objects: the first words of an answer say why the facts are as they are."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.allocation import Features
from dractl.explain import Explainer, Explanation, find_subjects
from dractl.explain.fleet.groups import explain_groups
from dractl.report.explain.json import as_json
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
USES = {"name": "g", "resourceClaimName": "c"}
ONE = claim("c", request("r", "gpu"))


def explain(*objects: dict[str, Any], subject: str = "pod/p") -> Explanation:
    state = state_of(GPU, *objects)
    return Explainer(state, Features.for_release("1.37")).explain(
        find_subjects(state, subject, None)[0]
    )


def machine(name: str, **labels: str) -> tuple[dict[str, Any], ...]:
    return node(name, labels=labels), slice_of("gpu.example.com", name, device("gpu-0"))


def claim_of(by: str, where: str = "a") -> dict[str, Any]:
    given = allocation(where, ("gpu.example.com", "gpu-0"), pod=by)
    return claim(f"of-{by}", request("r", "gpu"), status=given, metadata={"uid": f"uid-{by}"})


def replica(
    name: str, owner: str, kind: str = "ReplicaSet", where: str | None = "a", **metadata: Any
) -> dict[str, Any]:
    """A pod that a controller made; without ``where`` it is pending and uses claim c."""
    made = pod(name, USES) if where is None else pod(name)
    if where is not None:
        made["spec"]["nodeName"] = where
        made["status"] = {"phase": "Running"}
    made["metadata"] |= {
        "ownerReferences": [{"kind": kind, "name": owner, "controller": True, "uid": "u"}],
        "labels": {"pod-template-hash": owner.rpartition("-")[2]},
        **metadata,
    }
    return made


def rollout(*machines: dict[str, Any], selector: dict[str, str] | None = None) -> Explanation:
    """Explain the new replica of a rolling update, whose old replica holds the device of node a."""
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "ml"},
        "spec": {"strategy": strategy, "template": {"spec": {"containers": []}}},
    }
    new = replica("p", "web-2", where=None)
    if selector is not None:
        new["spec"]["nodeSelector"] = selector
    return explain(*machines, ONE, claim_of("old"), replica("old", "web-1"), deployment, new)


def test_a_rollout_waits_for_its_old_replicas() -> None:
    answer = rollout(*machine("a"))
    assert answer.reasons[0].code == "device-in-use"
    assert answer.reasons[1].code == "rollout-waits"
    assert answer.headline.startswith("the rolling update of Deployment ml/web waits for itself")
    assert "maxSurge 1, maxUnavailable 0" in answer.headline


def test_a_rollout_waits_beside_nodes_that_refuse_the_pod() -> None:
    """Three nodes have a taint, and only the old replica is in the way on the fourth."""
    tainted = [each for name in "bcd" for each in machine(name)]
    for each in tainted:
        if each["kind"] == "Node":
            each["spec"] = {"taints": [{"key": "x", "effect": "NoSchedule"}]}
    answer = rollout(*machine("a"), *tainted)
    assert answer.reasons[0].code == "node-filter"
    assert answer.headline.startswith("the rolling update of Deployment ml/web waits for itself")


def test_a_rollout_to_nodes_that_refuse_the_new_replica_does_not_wait_for_itself() -> None:
    """No node has the label that the new template wants: the end of the old replica changes nothing."""
    answer = rollout(*machine("a"), *machine("b", pool="cpu"), selector={"pool": "gpu"})
    assert "nodeSelector wants pool=gpu" in answer.headline
    assert "rollout-waits" not in [reason.code for reason in answer.reasons]


def test_a_replica_of_another_workload_is_no_rollout() -> None:
    answer = explain(
        *machine("a"),
        ONE,
        claim_of("old"),
        replica("old", "api-1"),
        replica("p", "web-2", where=None),
    )
    assert "rollout-waits" not in [r.code for r in answer.reasons]
    assert "own-replicas" not in [r.code for r in answer.reasons]


def test_a_job_behind_itself_waits_its_turn() -> None:
    mine = replica("p", "train", "Job", where=None)
    answer = explain(*machine("a"), ONE, claim_of("first"), replica("first", "train", "Job"), mine)
    assert "nothing is wrong" in answer.headline
    assert "waits its turn" in answer.headline


ANTI = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {
                "labelSelector": {"matchLabels": {"app": "web"}},
                "topologyKey": "kubernetes.io/hostname",
            }
        ]
    }
}


def pod_kept_apart(
    name: str, owner: str, where: str | None, by: str = "affinity"
) -> dict[str, Any]:
    """A pod that is never on a node with another one of its kind."""
    made = replica(name, owner, where=where)
    made["metadata"]["labels"]["app"] = "web"
    if by == "affinity":
        made["spec"]["affinity"] = ANTI
    else:
        made["spec"]["containers"] = [
            {"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}
        ]
    return made


def revision(name: str, number: int) -> dict[str, Any]:
    """A ReplicaSet of Deployment web."""
    owner = {"kind": "Deployment", "name": "web", "controller": True, "uid": "u"}
    numbered = {"deployment.kubernetes.io/revision": str(number)}
    metadata = {
        "name": name,
        "namespace": "ml",
        "ownerReferences": [owner],
        "annotations": numbered,
    }
    spec = {"replicas": 1, "template": {"spec": {"containers": []}}}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec}


def two_nodes() -> list[dict[str, Any]]:
    nodes = [node(name, labels={"kubernetes.io/hostname": name}) for name in "ab"]
    return [*nodes, *(slice_of("gpu.example.com", name, device("gpu-0")) for name in "ab"), ONE]


@pytest.mark.parametrize("by", ["affinity", "port"])
def test_replicas_kept_apart_need_as_many_nodes(by: str) -> None:
    others = (pod_kept_apart(f"web-{n}", "web-1", n, by) for n in "ab")
    answer = explain(*two_nodes(), *others, pod_kept_apart("p", "web-1", None, by))
    assert (
        "2 other pods of Deployment ml/web keep this one away from their nodes" in answer.headline
    )
    if by == "affinity":
        said = {step.text: step.command for step in answer.next}
        scaling = said["lower the replicas of Deployment ml/web to the 2 that fit, or add a node"]
        assert scaling == "kubectl scale deployment/web -n ml --replicas=2"
        assert (
            "add a node without such a pod, or prefer the anti-affinity instead of requiring it"
            in said
        )


@pytest.mark.parametrize("by", ["affinity", "port"])
def test_old_replicas_of_a_rollout_keep_the_new_one_away(by: str) -> None:
    """Played on 1.37: with maxSurge 0 and maxUnavailable 1 the controller ends old replicas one by one."""
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    meta = {"name": "web", "namespace": "ml"}
    spec = {"replicas": 2, "strategy": strategy, "template": {"spec": {"containers": []}}}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}
    sets = [revision(f"web-{n}", n) for n in (1, 2)]
    old = [pod_kept_apart(f"web-{n}", "web-1", n, by) for n in "ab"]
    answer = explain(*two_nodes(), deployment, *sets, *old, pod_kept_apart("p", "web-2", None, by))
    assert "its 2 old replicas keep the new one away from their nodes" in answer.headline
    assert "set maxSurge to 0 and maxUnavailable to 1 in Deployment ml/web" in [
        fix.title for fix in answer.fixes
    ]


def test_old_replica_ending_first_is_marked() -> None:
    """Played on 1.37: of equal old replicas the controller ended the one for whose node another pod was waiting."""
    meta = {"name": "web", "namespace": "ml"}
    spec = {"replicas": 2, "template": {"spec": {"containers": []}}}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}
    sets = [revision(f"web-{n}", n) for n in (1, 2)]
    old = [pod_kept_apart(f"web-{n}", "web-1", n, "port") for n in "ab"]
    ahead = pod("ahead", spec={"nodeSelector": {"kubernetes.io/hostname": "a"}})
    ahead["metadata"]["creationTimestamp"] = "2025-01-01T00:00:00Z"
    ahead["spec"]["containers"] = old[0]["spec"]["containers"]
    everything = (*two_nodes(), deployment, *sets, *old, pod_kept_apart("p", "web-2", None, "port"))
    (free, *_) = explain(*everything).fixes
    assert free.title == "set maxSurge to 0 and maxUnavailable to 1 in Deployment ml/web"
    (fix, *_) = explain(*everything, ahead).fixes
    assert fix.title == f"{free.title}, old replica ml/web-b first"
    assert [step.command.partition(" -n ")[0] for step in fix.steps] == [
        "kubectl annotate pod web-b",
        "kubectl patch deployment web",
    ]


def test_a_taken_port_is_reported_for_the_wanted_node() -> None:
    """kube-scheduler asks NodeAffinity before NodePorts: the ports of other nodes are none of its business."""
    asking = pod_kept_apart("p", "other-1", None, "port")
    asking["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "b"}
    others = [pod_kept_apart(f"web-{n}", "web-1", n, "port") for n in "ab"]
    assert (
        "host port 80/TCP is taken by pod ml/web-b"
        in explain(*two_nodes(), *others, asking).headline
    )


def test_a_pod_kept_away_by_others_is_not_behind_its_own() -> None:
    others = [pod_kept_apart(f"other-{n}", "other-1", n) for n in "ab"]
    answer = explain(*two_nodes(), *others, pod_kept_apart("p", "web-1", None))
    assert not {"own-replicas", "rollout-waits"} & {reason.code for reason in answer.reasons}


def test_a_single_replica_among_many_holders_is_not_the_cause() -> None:
    others = [claim_of(name, where) for name, where in (("x", "b"), ("y", "c"))]
    pods = [pod(name, USES, spec={"nodeName": where}) for name, where in (("x", "b"), ("y", "c"))]
    mine = (
        claim_of("first"),
        replica("first", "train", "Job"),
        replica("p", "train", "Job", where=None),
    )
    nodes = [each for name in "abc" for each in machine(name)]
    answer = explain(*nodes, ONE, *others, *pods, *mine)
    assert "own-replicas" not in [reason.code for reason in answer.reasons]


def test_a_terminating_holder_is_the_cause() -> None:
    leaving = replica("old", "web-1", deletionTimestamp="2026-01-01T00:00:00Z")
    answer = explain(*machine("a"), ONE, claim_of("old"), leaving, pod("p", USES))
    assert "ml/old on a" in answer.headline
    assert "Terminating since 2026-01-01T00:00:00Z" in answer.headline
    assert any("--force" in step["command"] for step in as_json(answer)["next"])


def test_a_holder_without_a_node_does_not_terminate_slowly() -> None:
    """No kubelet has to end it, so nothing is forced."""
    leaving = replica("old", "web-1", deletionTimestamp="2026-01-01T00:00:00Z")
    del leaving["spec"]["nodeName"]
    answer = explain(*machine("a"), ONE, claim_of("old"), leaving, pod("p", USES))
    assert answer.headline.startswith("does not fit on the only node")
    assert [reason.code for reason in answer.reasons] == ["device-in-use"]


def test_a_claim_on_a_deleted_node_is_the_cause() -> None:
    pinned = claim(
        "c", request("r", "gpu"), status=allocation("lost", ("gpu.example.com", "gpu-0"), pod="x")
    )
    answer = explain(*machine("a"), pinned, pod("p", USES))
    assert "claim ml/c is allocated on node lost, which no longer exists" in answer.headline


def test_nodes_with_the_same_hardware_and_no_slice() -> None:
    label = {"node.kubernetes.io/instance-type": "p5"}
    objects = (
        *machine("a", **label),
        node("b", labels=label),
        node("cpu", labels={}),
        ONE,
        claim_of("x"),
    )
    answer = explain(*objects, replica("x", "web-1"), pod("p", USES))
    found = next(r for r in answer.reasons if r.code == "driver-absent")
    assert found.nodes == ("b",)
    assert "on b, which has node.kubernetes.io/instance-type=p5 like a" in answer.headline
    assert any("spec.nodeName=b" in step.command for step in answer.next)


def test_slices_of_a_nonexistent_node_are_reported() -> None:
    answer = explain(
        node("a"),
        slice_of("gpu.example.com", "a.example.com", device("gpu-0")),
        ONE,
        pod("p", USES),
    )
    assert (
        "slices of gpu.example.com are for node a.example.com, which does not exist; there is node a"
        in answer.headline
    )
    assert answer.fixes[0].title.startswith("set NODE_NAME of driver gpu.example.com")
    # The driver would publish deleted slices again.
    assert not any("delete its slices" in step.text for step in answer.next)


def test_slices_of_a_removed_node_are_deleted() -> None:
    gone = slice_of("gpu.example.com", "node-2", device("gpu-0"))
    answer = explain(node("node-1"), gone, ONE, pod("p", USES))
    assert "are for node node-2, which does not exist" in answer.headline
    assert any("bring node node-2 back, or delete its slices" in step.text for step in answer.next)
    # Another machine with a similar name is not the Node of these slices.
    assert not any("NODE_NAME" in fix.title for fix in answer.fixes)


def test_a_pod_without_a_scheduler_condition_has_not_been_tried() -> None:
    waiting = pod("p", USES)
    waiting["metadata"] |= {"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    waiting["status"] = {"phase": "Pending"}
    answer = explain(*machine("a"), ONE, waiting)
    assert answer.verdict == "allocatable"
    assert "has not tried the pod" in answer.headline
    assert [reason.code for reason in answer.reasons] == ["not-tried-yet"]
    assert answer.waits
    assert any("kube-scheduler" in step.text for step in answer.next)


@pytest.mark.parametrize(("template", "is_added"), [({}, True), ({"pool": "gpu"}, False)])
def test_a_node_selector_that_the_template_lacks_comes_from_admission(
    template: dict[str, str], is_added: bool
) -> None:
    """Kubernetes plugin/pkg/admission/podnodeselector adds one."""
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web-2", "namespace": "ml"},
        "spec": {"template": {"spec": {"containers": [], "nodeSelector": template}}},
    }
    asking = replica("p", "web-2", where=None)
    asking["spec"]["nodeSelector"] = {"pool": "gpu"}
    answer = explain(*machine("a"), ONE, owner, asking)
    assert answer.reasons[0].code == "node-filter"
    assert ("added-by-admission" in [reason.code for reason in answer.reasons]) is is_added
    assert ("admission added it" in answer.headline) is is_added


def test_there_is_always_a_next_step() -> None:
    answer = explain(node("a"), ONE, pod("p", USES))
    assert not answer.fits
    assert answer.fixes or answer.next


def refused_deployment(message: str) -> tuple[dict[str, Any], ...]:
    """A Deployment whose ReplicaSet cannot create its pods."""
    spec = {"containers": [{"name": "main", "image": "x"}], "resourceClaims": [USES]}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "ml", "uid": "u"},
        "spec": {"replicas": 2, "template": {"spec": spec}},
    }
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "ml"},
        "reason": "FailedCreate",
        "involvedObject": {"kind": "ReplicaSet", "name": "web-1"},
        "message": f"(combined from similar events): Error creating: pods is forbidden: {message}",
    }
    return deployment, event


def test_a_workload_cannot_create_its_pods() -> None:
    deployment, event = refused_deployment("exceeded quota: none")
    answer = explain(*machine("a"), ONE, deployment, event, subject="deploy/web")
    assert (answer.verdict, answer.reasons[0].code) == ("blocked", "pods-not-created")
    said = "ReplicaSet ml/web-1 cannot create its pods: Error creating: pods is forbidden: exceeded quota: none"
    assert answer.headline == f"there is no pod: {said}"
    state = state_of(*machine("a"), ONE, deployment, event)
    features = Features.for_release("1.37")
    assert (
        explain_groups(Explainer(state, features), ["deploy/web"], "ml", {}) == []
    )  # none of them would fit
    assert explain(*machine("a"), ONE, deployment, subject="deploy/web").fits


def test_entry_without_a_claim_is_named_once_beside_the_refusal() -> None:
    """kubernetes/kubernetes#131877: source of 1.30 and before is dropped, and names nothing."""
    deployment, event = refused_deployment(
        "spec.resourceClaims[0]: Invalid value: core.PodResourceClaim{}: must specify one of:"
        " `resourceClaimName`, `resourceClaimTemplateName`"
    )
    old = {"name": "g", "source": {"resourceClaimTemplateName": "t"}}
    deployment["spec"]["template"]["spec"]["resourceClaims"] = [old]
    deployment["spec"]["template"]["spec"]["nodeSelector"] = {"pool": "none"}
    answer = explain(*machine("a"), deployment, event, subject="deploy/web")
    assert [obstacle.code for obstacle in answer.obstacles] == ["claim-unset-source", "node-filter"]
    assert answer.next[0].text.startswith("give each entry of spec.resourceClaims")
    assert "see why the pods are refused" not in [step.text for step in answer.next]


@pytest.mark.parametrize(
    ("message", "step"),
    [
        (
            "maximum cpu usage per Container is 16, but limit is 32",
            "ask for at most 16 cpu for each container",
        ),
        (
            "minimum memory usage per Pod is 1Gi, but request is 1Mi",
            "ask for at least 1Gi memory for each pod",
        ),
    ],
)
def test_request_refused_by_a_limit_range_is_corrected(message: str, step: str) -> None:
    """kubernetes plugin/pkg/admission/limitranger/admission.go minConstraint, maxConstraint."""
    answer = explain(*machine("a"), ONE, *refused_deployment(message), subject="deploy/web")
    assert answer.next[0].text.startswith(step)
    assert answer.next[0].command == "kubectl get limitranges -n ml -o yaml"


def test_request_refused_by_a_quota_names_the_container() -> None:
    message = "failed quota: team: must specify limits.memory for: main"
    answer = explain(*machine("a"), ONE, *refused_deployment(message), subject="deploy/web")
    assert answer.next[0].text.startswith("set limits.memory of container main where the pods are")


def test_limit_above_a_limit_range_is_lowered_in_its_object() -> None:
    deployment, event = refused_deployment("maximum cpu usage per Container is 16, but limit is 32")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    container["resources"] = {"limits": {"cpu": "32", "memory": "1Gi"}, "requests": {"cpu": "2"}}
    most = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "team", "namespace": "ml"},
        "spec": {"limits": [{"type": "Container", "max": {"cpu": "16"}}]},
    }
    (fix,) = explain(*machine("a"), ONE, deployment, event, most, subject="deploy/web").fixes
    assert fix.title == "lower limits.cpu of container main from 32 to 16"
    assert fix.effect == "LimitRange ml/team allows no more; for every pod of Deployment ml/web"
    assert "kubectl patch deployment web -n ml --type=json" in str(fix.steps[-1])
    assert "/spec/template/spec/containers/0/resources/limits/cpu" in str(fix.steps[-1])


def test_a_missing_service_account_is_created() -> None:
    missing = 'error looking up service account ml/runner: serviceaccount "runner" not found'
    answer = explain(*machine("a"), ONE, *refused_deployment(missing), subject="deploy/web")
    assert answer.next[0].text.startswith("create ServiceAccount ml/runner")
    assert answer.next[0].command == "kubectl get serviceaccounts -n ml"
