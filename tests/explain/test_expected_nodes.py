"""Nodes that an autoscaler would launch for a pending pod.

Expected verdicts follow Karpenter 1.15.0 (pkg/controllers/provisioning/scheduling: taints, requirements and limits) and its
allocator's recorded answers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from dractl.cli.main import main
from dractl.cluster.state import ClusterState
from dractl.explain.answer import ExpectedNode
from dractl.explain.expected_nodes import find_expected_nodes
from dractl.model import ResourceClaim, decode
from dractl.views import Pod
from tests.explain.cluster import (
    claim,
    device,
    device_class,
    node,
    pod,
    request,
    slice_of,
    state_of,
)

GPU_CLASS = device_class("gpu", 'device.driver == "gpu.nvidia.com"')
USES_CLAIM = {"name": "gpus", "resourceClaimName": "gpus"}
INSTANCE_TYPE = "node.kubernetes.io/instance-type"


def node_pool(name: str, *types: str, **spec: Any) -> dict[str, Any]:
    requirements = [{"key": INSTANCE_TYPE, "operator": "In", "values": list(types)}]
    template = {
        "requirements": [*(requirements if types else ()), *spec.pop("requirements", ())],
        "nodeClassRef": {"group": spec.pop("group", "karpenter.k8s.aws"), "kind": "EC2NodeClass"},
        "taints": spec.pop("taints", []),
    }
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": {"spec": template}, **spec},
    }


def ask(*objects: dict[str, Any], count: int = 1, **spec: Any) -> tuple[ExpectedNode, ...]:
    asked = pod("train", USES_CLAIM, spec=spec)
    state: ClusterState = state_of(GPU_CLASS, asked, *objects)
    decoded = decode(claim("gpus", request("gpu", "gpu", count)))
    assert isinstance(decoded, ResourceClaim)
    return find_expected_nodes(state, Pod(asked, ("ml", "train")), [decoded])


def verdicts(nodes: tuple[ExpectedNode, ...]) -> dict[str, str]:
    return {item.pool: item.verdict for item in nodes}


def test_no_node_is_expected_without_an_autoscaler() -> None:
    assert ask() == ()


def test_a_pool_brings_the_types_with_the_devices() -> None:
    (answer,) = ask(node_pool("gpu", "g6.2xlarge", "g6.12xlarge"), count=2)
    assert (answer.verdict, answer.machines) == ("comes", ("g6.12xlarge",))


def test_pool_without_the_devices_names_a_suitable_type() -> None:
    (answer,) = ask(node_pool("general", "m7i.2xlarge"))
    assert answer.verdict == "never"
    assert answer.fix is not None
    assert "allow " in answer.fix


def test_a_taint_has_to_be_tolerated() -> None:
    taints = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
    pool = node_pool("gpu", "g6.2xlarge", taints=taints)
    (answer,) = ask(pool)
    assert (answer.verdict, answer.fix) == ("never", "tolerate gpu=yes:NoSchedule")
    tolerations = [{"key": "gpu", "operator": "Exists"}]
    assert verdicts(ask(pool, tolerations=tolerations)) == {"gpu": "comes"}


def test_requirements_compare_the_labels_of_instance_types() -> None:
    family = {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["p5"]}
    zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}
    (answer,) = ask(node_pool("p5", requirements=[family, zone]), count=8)
    assert answer.machines == ("p5.48xlarge",)


def test_a_node_selector_has_to_be_met() -> None:
    pool = node_pool("gpu", "g6.2xlarge")
    assert verdicts(ask(pool, nodeSelector={"karpenter.sh/nodepool": "other"})) == {"gpu": "never"}
    assert verdicts(ask(pool, nodeSelector={"team": "ml"})) == {"gpu": "never"}
    assert verdicts(ask(pool, nodeSelector={INSTANCE_TYPE: "g6.2xlarge"})) == {"gpu": "comes"}


def test_limits_count_existing_nodes() -> None:
    pool = node_pool("gpu", "g6.2xlarge", limits={"cpu": "16"})
    assert verdicts(ask(pool)) == {"gpu": "comes"}
    pool["status"] = {"resources": {"cpu": "12"}}
    assert verdicts(ask(pool)) == {"gpu": "never"}


def test_other_providers_are_unknown() -> None:
    assert verdicts(ask(node_pool("gpu", group="karpenter.azure.com"))) == {"gpu": "unknown"}


def test_a_node_being_launched_is_named() -> None:
    launched = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": "gpu-x", "labels": {"karpenter.sh/nodepool": "gpu"}},
    }
    answers = ask(node_pool("gpu", "g6.2xlarge"), launched)
    assert answers[0].verdict == "comes"
    assert "gpu-x" in answers[0].reason


def karpenter(image: str, **variables: str) -> dict[str, Any]:
    environment = [{"name": name, "value": value} for name, value in variables.items()]
    container = {"name": "controller", "image": image, "env": environment}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "karpenter", "namespace": "kube-system"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }


IMAGE = "registry.example/karpenter/controller:1.15.1@sha256:0a"
BOTH_GATES = "NodeClassCEL=false,DRANVIDIAGPU=true,DRAEFA=true"


@pytest.mark.parametrize(
    ("deployment", "verdict", "words"),
    [
        (karpenter(IMAGE), "never", "IGNORE_DRA_REQUESTS"),
        (karpenter(IMAGE, IGNORE_DRA_REQUESTS="true"), "never", "IGNORE_DRA_REQUESTS"),
        (karpenter("karpenter/controller:1.14.3", IGNORE_DRA_REQUESTS="false"), "never", "1.14"),
        (karpenter(IMAGE, IGNORE_DRA_REQUESTS="false"), "never", "no devices"),
        (
            karpenter(IMAGE, IGNORE_DRA_REQUESTS="false", AWS_FEATURE_GATES="DRAEFA=true"),
            "never",
            "",
        ),
        (
            karpenter(IMAGE, IGNORE_DRA_REQUESTS="false", AWS_FEATURE_GATES=BOTH_GATES),
            "comes",
            "g6.2xlarge",
        ),
        (karpenter("registry.example/other:1"), "comes", "g6.2xlarge"),
    ],
)
def test_the_settings_of_karpenter_count(
    deployment: dict[str, Any], verdict: str, words: str
) -> None:
    """Options and gates of karpenter v1.15.0 and karpenter-provider-aws v1.15.1 (options.go)."""
    (answer,) = ask(node_pool("gpu", "g6.2xlarge"), deployment)
    assert (answer.verdict, words in answer.reason) == (verdict, True)


def test_eks_auto_mode_serves_no_claims() -> None:
    assert verdicts(ask(node_pool("gpu", group="eks.amazonaws.com"))) == {"gpu": "never"}


def event(reason: str, message: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"train.{reason}", "namespace": "ml"},
        "involvedObject": {"kind": "Pod", "namespace": "ml", "name": "train"},
        "reason": reason,
        "message": message,
    }


def test_nomination_of_an_existing_node_brings_none() -> None:
    nominated = event("Nominated", "Pod should schedule on: node/cpu-1")
    (answer,) = ask(node_pool("gpu", "g6.2xlarge"), node("cpu-1"), nominated)
    assert answer.verdict == "never"
    assert "cpu-1" in answer.reason


@pytest.mark.parametrize(
    ("reason", "verdict"), [("TriggeredScaleUp", "comes"), ("NotTriggerScaleUp", "never")]
)
def test_the_words_of_cluster_autoscaler_are_quoted(reason: str, verdict: str) -> None:
    (answer,) = ask(event(reason, "pod triggered scale-up: [{gpu 0->1 (max: 4)}]"))
    assert (answer.autoscaler, answer.verdict) == ("cluster-autoscaler", verdict)
    assert "gpu 0->1" in answer.reason


def cluster_autoscaler(version: str, *arguments: str) -> dict[str, Any]:
    raw = karpenter(f"registry.k8s.io/autoscaling/cluster-autoscaler:v{version}")
    raw["spec"]["template"]["spec"]["containers"][0]["args"] = list(arguments)
    return raw


@pytest.mark.parametrize(
    ("version", "arguments", "verdict", "words"),
    [
        ("1.34.5", (), "unknown", "ignores claims"),
        ("1.36.1", ("--enable-dynamic-resource-allocation=false",), "never", "refuses to start"),
        ("1.36.1", ("--cloud-provider=clusterapi",), "unknown", "incomplete"),
        ("1.36.1", ("--cloud-provider=oci",), "unknown", "does not know the devices"),
    ],
)
def test_the_settings_of_cluster_autoscaler_count(
    version: str, arguments: tuple[str, ...], verdict: str, words: str
) -> None:
    (answer,) = ask(cluster_autoscaler(version, *arguments))
    assert (answer.verdict, words in answer.reason) == (verdict, True)


def test_limit_of_cluster_autoscaler_stands_beside_its_message() -> None:
    words = event("NotTriggerScaleUp", "pod didn't trigger scale-up: 1 cannot allocate all claims")
    (answer,) = ask(cluster_autoscaler("1.36.1", "--cloud-provider=aws"), words)
    assert answer.verdict == "never"
    assert "1 cannot allocate all claims" in answer.reason
    assert "expects no devices" in answer.reason
    assert answer.fix == "keep at least one node in the node group"


@pytest.mark.parametrize("publishes", [False, True])
def test_node_group_without_nodes_has_devices_only_of_its_provider(publishes: bool) -> None:
    """modelplaneai/modelplane#306: a managed autoscaler, whose settings the cluster does not show."""
    words = event("NotTriggerScaleUp", "pod didn't trigger scale-up: 1 cannot allocate all claims")
    slices = (slice_of("gpu.nvidia.com", "node-1", device("gpu-0")),) if publishes else ()
    (answer,) = ask(words, *slices)
    assert (answer.verdict, "a group without nodes" in answer.reason) == ("never", not publishes)
    assert answer.fix == (None if publishes else "keep at least one node in the node group")


def test_node_launched_by_cluster_autoscaler_needs_no_advice() -> None:
    words = event("TriggeredScaleUp", "pod triggered scale-up: [{gpu 0->1 (max: 4)}]")
    spec = {"priorityClassName": "train", "preemptionPolicy": "PreemptLowerPriority"}
    (answer,) = ask(cluster_autoscaler("1.36.1", "--cloud-provider=aws"), words, **spec)
    assert (answer.verdict, answer.fix) == ("comes", None)
    assert "train" not in answer.reason


def priority_class(policy: str) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "train"},
        "value": 1000,
        **({"preemptionPolicy": policy} if policy else {}),
    }


@pytest.mark.parametrize(
    ("objects", "spec", "is_named"),
    [
        ((), {"priorityClassName": "train", "preemptionPolicy": "PreemptLowerPriority"}, True),
        ((), {"priorityClassName": "train", "preemptionPolicy": "Never"}, False),
        ((priority_class(""),), {"priorityClassName": "train"}, True),
        ((priority_class("Never"),), {"priorityClassName": "train"}, False),
        ((), {"priorityClassName": "train"}, False),
        ((), {"preemptionPolicy": "PreemptLowerPriority"}, False),
    ],
)
def test_preempting_priority_classes_are_named_in_the_reason(
    objects: tuple[dict[str, Any], ...], spec: dict[str, Any], is_named: bool
) -> None:
    """pkg/docs/dra_support.md of kubernetes-sigs/cluster-autoscaler, Limitations/caveats."""
    (answer,) = ask(cluster_autoscaler("1.37.0"), *objects, **spec)
    assert ("PriorityClass train" in answer.reason) == is_named
    assert ask(*objects, **spec) == ()


def test_a_nominated_pod_gets_no_node() -> None:
    """NominatedNode in cluster-autoscaler-1.36.1 utils/kubernetes/listers.go."""
    asked = pod("train", USES_CLAIM)
    asked["status"] = {"nominatedNodeName": "gpu-1"}
    decoded = decode(claim("gpus", request("gpu", "gpu")))
    assert isinstance(decoded, ResourceClaim)
    state = state_of(GPU_CLASS, asked, cluster_autoscaler("1.37.0"))
    (answer,) = find_expected_nodes(state, Pod(asked, ("ml", "train")), [decoded])
    assert (answer.verdict, "gpu-1" in answer.reason) == ("never", True)


def test_explain_prints_the_pools(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    objects = [
        GPU_CLASS,
        node("cpu-1"),
        claim("gpus", request("gpu", "gpu")),
        pod("train", USES_CLAIM),
        node_pool("gpu", "g6.2xlarge"),
    ]
    (tmp_path / "dump.yaml").write_text(yaml.safe_dump_all(objects))
    dump = str(tmp_path / "dump.yaml")
    main(["explain", "pod/train", "-n", "ml", "-f", dump])
    assert "NodePool gpu: Karpenter launches g6.2xlarge" in capsys.readouterr().out
    main(["explain", "pod/train", "-n", "ml", "-f", dump, "-o", "json"])
    (answer,) = json.loads(capsys.readouterr().out)["nodesExpected"]
    assert (answer["verdict"], answer["machines"]) == ("comes", ["g6.2xlarge"])
