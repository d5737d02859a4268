"""Fixes outside DRA: what people mistype about nodes, and what others put into a pod."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.cluster.changes import Patch
from dractl.explain.answer import plain
from tests.explain.cluster import claim, node, pod, request
from tests.explain.test_fixes import DRIVER, GPU, changes, explain, gpus, replica, template, titles

CLAIM = claim("c", request("r", DRIVER))


def make_pod(**spec: Any) -> dict[str, Any]:
    return pod("p", {"name": "g", "resourceClaimName": "c"}, metadata={"uid": "p"}, spec=spec)


def first(spec: dict[str, Any], *nodes: dict[str, Any]) -> str:
    """The title of the first fix."""
    published = [gpus(n["metadata"]["name"], "gpu-0") for n in nodes]
    return explain("pod/p", GPU, *nodes, *published, CLAIM, make_pod(**spec)).fixes[0].title


def test_a_typing_error_in_a_node_selector_is_corrected() -> None:
    big = node("node-1", labels={"node.kubernetes.io/instance-type": "p5.48xlarge"})
    spec = {"nodeSelector": {"node.kubernetes.io/instance-type": "p5.48xlarg"}}
    assert (
        first(spec, big)
        == "change nodeSelector node.kubernetes.io/instance-type=p5.48xlarg to p5.48xlarge"
    )


def test_a_typing_error_in_a_key_is_corrected() -> None:
    spec = {"nodeSelector": {"gpu-polo": "h100"}}
    assert (
        first(spec, node("node-1", labels={"gpu-pool": "h100"}))
        == "change nodeSelector gpu-polo to gpu-pool"
    )


def test_a_typing_error_in_a_node_affinity_is_corrected() -> None:
    expression = {"key": "pool", "operator": "In", "values": ["gpu-h10"]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    title = first({"affinity": affinity}, node("node-1", labels={"pool": "gpu-h100"}))
    assert title == "change node affinity pool=gpu-h10 to gpu-h100"


@pytest.mark.parametrize(
    ("key", "value", "successor"),
    [
        # k8s.io/api core/v1 well_known_labels.go: LabelFailureDomainBetaZone is
        # topology.kubernetes.io/zone since 1.17.
        ("failure-domain.beta.kubernetes.io/zone", "eu-1a", "topology.kubernetes.io/zone"),
        ("accelerator", "nvidia-h100-80gb", "cloud.google.com/gke-accelerator"),
    ],
)
def test_an_outdated_label_key_is_replaced_by_its_successor(
    key: str, value: str, successor: str
) -> None:
    labelled_node = node("node-1", labels={successor: value})
    assert (
        first({"nodeSelector": {key: value}}, labelled_node)
        == f"change nodeSelector {key} to {successor}"
    )
    required = {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
        ]
    }
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    assert (
        first({"affinity": affinity}, labelled_node) == f"change node affinity {key} to {successor}"
    )


def test_the_missing_namespace_is_added_to_a_pod_affinity() -> None:
    labels = {"app": "kv-cache"}
    cache = pod("kv-0", namespace="cache", metadata={"labels": labels}, spec={"nodeName": "node-1"})
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    objects = GPU, node("node-1"), gpus("node-1", "gpu-0"), CLAIM, cache
    answer = explain("pod/p", *objects, make_pod(affinity=affinity))
    assert "no such pod in the namespaces that it names; there is cache/kv-0" in answer.headline
    assert answer.fixes[0].title == "add namespace cache to the pod's podAffinity"


def test_a_node_of_another_architecture_needs_another_image() -> None:
    """conformance/oncall 232: nothing but what keeps the pod away is changed, and the node keeps
    its taint.
    """
    arm = {"key": "kubernetes.io/arch", "value": "arm64", "effect": "NoSchedule"}
    arm_node = node("gb-1", labels={"kubernetes.io/arch": "arm64"}, taints=[arm])
    other = node("cpu-1", labels={"kubernetes.io/arch": "amd64"})
    spec = make_pod(nodeSelector={"kubernetes.io/arch": "amd64"})
    two = claim("c", request("r", DRIVER, 2))
    answer = explain("pod/p", GPU, arm_node, other, gpus("gb-1", "gpu-0", "gpu-1"), two, spec)
    tolerate = "tolerate taint kubernetes.io/arch=arm64:NoSchedule"
    assert titles(answer) == [
        f"{tolerate}, and change nodeSelector kubernetes.io/arch from amd64 to arm64"
    ]
    assert answer.fixes[0].effect == "the image must be built for arm64"


def test_another_node_name_is_not_a_typing_error() -> None:
    assert first(
        {"nodeSelector": {"rack": "rack-1"}}, node("node-1", labels={"rack": "rack-2"})
    ).startswith("remove")


def test_node_label_with_another_value_is_not_changed() -> None:
    a100 = node("node-1", labels={"pool": "a100"})
    answer = explain(
        "pod/p", GPU, a100, gpus("node-1", "gpu-0"), CLAIM, make_pod(nodeSelector={"pool": "h100"})
    )
    assert not any(title.startswith("label") for title in titles(answer))


def test_the_value_of_a_toleration_is_corrected() -> None:
    tainted = node("node-1", taints=[{"key": "team", "value": "llm", "effect": "NoSchedule"}])
    toleration = {"key": "team", "operator": "Equal", "value": "LLM", "effect": "NoSchedule"}
    assert (
        first({"tolerations": [toleration]}, tainted)
        == "change the pod's toleration of team=LLM to team=llm:NoSchedule"
    )


def test_a_taint_of_the_node_controller_goes_away_by_itself() -> None:
    new = node("node-1", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}])
    answer = explain("pod/p", GPU, new, gpus("node-1", "gpu-0"), CLAIM, make_pod())
    assert answer.fixes[0].title.startswith("wait until node-1 is back")
    assert answer.fixes[0].changes == ()


def test_cordoned_nodes_share_a_line() -> None:
    nodes = [node(n, unschedulable=True) for n in ("node-1", "node-2", "node-3")]
    published = [gpus(n["metadata"]["name"], "gpu-0") for n in nodes]
    answer = explain("pod/p", GPU, *nodes, *published, CLAIM, make_pod())
    assert titles(answer) == ["uncordon node-1"]
    assert "or node-2, node-3" in answer.fixes[0].effect
    assert [step.command for step in answer.fixes[0].steps] == ["kubectl uncordon node-1"]


def test_the_node_selector_of_a_runtime_class_is_removed_with_the_class() -> None:
    pending = make_pod(runtimeClassName="nvidia", nodeSelector={"runtime": "nvidia"})
    answer = explain("pod/p", GPU, node("node-1"), gpus("node-1", "gpu-0"), CLAIM, pending)
    assert titles(answer) == [
        "label node-1 with runtime=nvidia",
        "remove runtimeClassName nvidia from the pod",
    ]
    paths = [o["path"] for o in changes(answer.fixes[1])[0]["json"]]
    assert paths == [
        "/spec/runtimeClassName",
        "/spec/nodeSelector/runtime",
    ]  # else admission adds it again


def test_the_runtime_class_of_a_workload_is_removed_from_its_template() -> None:
    made = replica("web-0")
    made["spec"] |= {"runtimeClassName": "nvidia", "nodeSelector": {"runtime": "nvidia"}}
    template_spec = {k: v for k, v in made["spec"].items() if k != "nodeSelector"}
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
    answer = explain(
        "pod/web-0",
        GPU,
        node("node-1"),
        gpus("node-1", "gpu-0"),
        template("t", request("r", DRIVER)),
        owner,
        generated,
        made,
    )
    (fix,) = [fix for fix in answer.fixes if "runtimeClassName" in fix.title]
    removed = Patch(
        "Deployment/ml/web", ({"op": "remove", "path": "/spec/template/spec/runtimeClassName"},)
    )
    assert fix.changes == (removed,)


@pytest.mark.parametrize("network", [False, True])
def test_a_host_port_is_removed_unless_the_pod_uses_the_host_network(network: bool) -> None:
    def pod_with_host_port(name: str, **more: Any) -> dict[str, Any]:
        container = {"name": "main", "image": "x", "ports": [{"containerPort": 80, "hostPort": 80}]}
        spec = {"containers": [container], **({"hostNetwork": True} if network else {}), **more}
        return pod(name, {"name": "g", "resourceClaimName": "c"}, metadata={"uid": name}, spec=spec)

    other = pod_with_host_port("other", nodeName="node-1")
    other["spec"]["resourceClaims"] = []
    answer = explain(
        "pod/p", GPU, node("node-1"), gpus("node-1", "gpu-0"), CLAIM, other, pod_with_host_port("p")
    )
    removed = [{"op": "remove", "path": "/spec/containers/0/ports/0/hostPort"}]
    assert (
        any(plain(c).get("json") == removed for fix in answer.fixes for c in fix.changes)
        is not network
    )


def test_all_rejections_of_a_node_are_fixed_together() -> None:
    far = node(
        "node-1",
        labels={"pool": "a"},
        taints=[{"key": "team", "value": "x", "effect": "NoSchedule"}],
    )
    answer = explain(
        "pod/p", GPU, far, gpus("node-1", "gpu-0"), CLAIM, make_pod(nodeSelector={"pool": "b"})
    )
    both = (
        "add a toleration for team=x:NoSchedule to the pod, and remove nodeSelector pool=b from"
        " the pod"
    )
    assert answer.fixes[0].title == both
    assert len([step for step in answer.fixes[0].steps if step.destroys]) == 1


def test_node_gets_the_label_of_an_expression() -> None:
    terms = [
        {
            "matchExpressions": [
                {"key": "example.com/rack", "operator": "In", "values": ["r1", "r2"]}
            ]
        }
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    asking = make_pod(affinity={"nodeAffinity": required})
    answer = explain("pod/p", GPU, node("node-1"), gpus("node-1", "gpu-0"), CLAIM, asking)
    assert "label node-1 with example.com/rack=r1" in titles(answer)
