"""The node filters before DRA say what kube-scheduler says (messages recorded in conformance/scheduling)."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.scheduler.node_filters import NodeFilters, Rejection
from tests.explain.cluster import node, pod, state_of


def reject(asking: dict[str, Any], target: dict[str, Any], *others: dict[str, Any]) -> Rejection | None:
    return NodeFilters(state_of(target, asking, *others), asking)(target)


def running(name: str, where: str, **more: Any) -> dict[str, Any]:
    return pod(name, spec={"nodeName": where, **more.pop("spec", {})}, status={"phase": "Running"}, **more)


def test_a_plain_node_takes_a_plain_pod() -> None:
    assert reject(pod("a"), node("node-1")) is None


def test_cordoned_unless_tolerated() -> None:
    rejection = reject(pod("a"), node("node-1", unschedulable=True))
    assert rejection is not None
    assert (rejection.plugin, rejection.texts) == ("NodeUnschedulable", ("node(s) were unschedulable",))
    tolerating = pod("a", spec={"tolerations": [{"operator": "Exists"}]})
    assert reject(tolerating, node("node-1", unschedulable=True)) is None


@pytest.mark.parametrize(
    ("toleration", "refused"),
    [
        ({"key": "dedicated", "operator": "Exists"}, False),
        ({"key": "dedicated", "value": "gpu"}, False),
        ({"key": "dedicated", "value": "cpu"}, True),
        ({"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}, True),
    ],
)
def test_node_taints(toleration: dict[str, str], refused: bool) -> None:
    tainted = node("node-1", taints=[{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}])
    rejection = reject(pod("a", spec={"tolerations": [toleration]}), tainted)
    assert (rejection is not None) == refused
    if rejection is not None:
        assert rejection.texts == ("node(s) had untolerated taint(s)",)
        assert "dedicated=gpu:NoSchedule" in rejection.detail


def test_prefer_no_schedule_refuses_nothing() -> None:
    assert reject(pod("a"), node("node-1", taints=[{"key": "k", "effect": "PreferNoSchedule"}])) is None


def test_node_selector_and_affinity_name_the_label() -> None:
    rejection = reject(pod("a", spec={"nodeSelector": {"zone": "a"}}), node("node-1", labels={"zone": "b"}))
    assert rejection is not None
    assert rejection.texts == ("node(s) didn't match Pod's node affinity/selector",)
    assert "zone=a" in rejection.detail
    assert "zone=b" in rejection.detail


@pytest.mark.parametrize(
    ("operator", "values", "matches"),
    [
        ("In", ["a"], True),
        ("NotIn", ["a"], False),
        ("Exists", [], True),
        ("DoesNotExist", [], False),
        ("Gt", ["3"], False),
    ],
)
def test_affinity_operators(operator: str, values: list[str], matches: bool) -> None:
    term = {"matchExpressions": [{"key": "zone", "operator": operator, "values": values}]}
    required = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    rejection = reject(pod("a", spec={"affinity": required}), node("node-1", labels={"zone": "a"}))
    assert (rejection is None) == matches


def test_resources_count_what_other_pods_ask_for() -> None:
    other = running("b", "node-1", requests={"cpu": "6"})
    rejection = reject(pod("a", requests={"cpu": "2500m"}), node("node-1"), other)
    assert rejection is not None
    assert (rejection.texts, rejection.want, rejection.free) == (("Insufficient cpu",), "2500m", "2")
    assert not rejection.final  # ending the other pod would help
    assert reject(pod("a", requests={"cpu": "2"}), node("node-1"), other) is None


def test_more_than_the_node_has_is_final() -> None:
    rejection = reject(pod("a", requests={"cpu": "9"}), node("node-1"))
    assert rejection is not None
    assert rejection.final


def test_ended_pods_take_nothing() -> None:
    ended = pod("b", requests={"cpu": "8"}, spec={"nodeName": "node-1"}, status={"phase": "Succeeded"})
    assert reject(pod("a", requests={"cpu": "8"}), node("node-1"), ended) is None


def test_too_many_pods() -> None:
    rejection = reject(pod("a"), node("node-1", allocatable={"pods": "1"}), running("b", "node-1"))
    assert rejection is not None
    assert rejection.texts == ("Too many pods",)


def test_a_manifest_without_status_refuses_nothing() -> None:
    bare = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}
    assert reject(pod("a", requests={"cpu": "900"}), bare) is None


def test_host_ports() -> None:
    ports = {"containers": [{"name": "m", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
    rejection = reject(pod("a", spec=ports), node("node-1"), running("b", "node-1", spec=ports))
    assert rejection is not None
    assert rejection.texts == ("node(s) didn't have free ports for the requested pod ports",)
    assert rejection.pods == ("ml/b",)


def test_pod_anti_affinity_names_the_pod() -> None:
    term = {"labelSelector": {"matchLabels": {"app": "train"}}, "topologyKey": "kubernetes.io/hostname"}
    wish = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    asking = pod("a", spec=wish, metadata={"labels": {"app": "train"}})
    other = running("b", "node-1", metadata={"labels": {"app": "train"}})
    rejection = reject(asking, node("node-1"), other)
    assert rejection is not None
    assert rejection.texts == ("node(s) didn't match pod anti-affinity rules",)
    assert rejection.pods == ("ml/b",)


def test_topology_spread() -> None:
    spread = {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "x"}},
            }
        ]
    }
    asking = pod("a", spec=spread, metadata={"labels": {"app": "x"}})
    here, there = node("node-1", labels={"zone": "a"}), node("node-2", labels={"zone": "b"})
    other = running("b", "node-1", metadata={"labels": {"app": "x"}})
    rejection = reject(asking, here, there, other)
    assert rejection is not None
    assert rejection.texts == ("node(s) didn't match pod topology spread constraints",)
    assert reject(asking, there, here, other) is None


def test_an_init_container_counts_only_where_it_is_the_larger() -> None:
    spec = {"initContainers": [{"name": "i", "resources": {"requests": {"cpu": "9"}}}]}
    rejection = reject(pod("a", requests={"cpu": "1"}, spec=spec), node("node-1"))
    assert rejection is not None
    assert rejection.want == "9"


def test_hostile_values_end_in_an_answer() -> None:
    odd = pod("a", requests={"cpu": {"x": 1}}, spec={"tolerations": "all", "affinity": [1], "nodeSelector": 3})
    assert reject(odd, node("node-1", taints={"a": 1})) is None


# What follows was found by putting random clusters to a real scheduler (tests/conformance/fuzz_explain.py).

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
LABELLED = {"labels": {"app": "x"}}


def spread(key: str, **more: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "x"}}
    made = {"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return {**made, **more}


def spreading(*constraints: dict[str, Any]) -> dict[str, Any]:
    return pod("a", metadata=LABELLED, spec={"topologySpreadConstraints": list(constraints)})


def test_spread_over_fewer_than_min_domains_counts_from_zero() -> None:
    target = node("node-1", labels={"zone": "a"})
    there = running("b", "node-1", metadata=LABELLED)
    assert reject(spreading(spread("zone")), target, there) is None
    rejection = reject(spreading(spread("zone", minDomains=2)), target, there)
    assert rejection is not None
    assert rejection.texts == ("node(s) didn't match pod topology spread constraints",)


def test_spread_leaves_out_nodes_without_all_keys_and_tainted_ones_where_asked() -> None:
    target, there = node("node-1", labels={"zone": "a", "rack": "1"}), running("b", "node-1", metadata=LABELLED)
    empty = node("node-2", labels={"zone": "b"})
    assert reject(spreading(spread("zone")), target, there, empty) is not None
    assert reject(spreading(spread("zone"), spread("rack")), target, there, empty) is None
    tainted = node("node-2", labels={"zone": "b"}, taints=[{"key": "k", "effect": "NoSchedule"}])
    assert reject(spreading(spread("zone")), target, there, tainted) is not None
    assert reject(spreading(spread("zone", nodeTaintsPolicy="Honor")), target, there, tainted) is None


def test_spread_without_a_selector_counts_no_pod() -> None:
    constraint = {k: v for k, v in spread("zone").items() if k != "labelSelector"}
    target, there = node("node-1", labels={"zone": "a"}), running("b", "node-1", metadata=LABELLED)
    assert reject(spreading(constraint), target, there, node("node-2", labels={"zone": "b"})) is None


def test_affinity_counts_only_pods_that_match_every_term() -> None:
    terms = [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}},
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"tier": "1"}}},
    ]
    asking = pod("a", spec={"affinity": {"podAffinity": {REQUIRED: terms}}})
    x, one = (
        running(n, "node-1", metadata={"labels": labels}) for n, labels in (("b", {"app": "x"}), ("c", {"tier": "1"}))
    )
    rejection = reject(asking, node("node-1"), x, one)
    assert rejection is not None
    assert rejection.texts == ("node(s) didn't match pod affinity rules",)
    both = running("d", "node-1", metadata={"labels": {"app": "x", "tier": "1"}})
    assert reject(asking, node("node-1"), both) is None


def test_affinity_to_a_named_node_leaves_the_others_out() -> None:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-2"]}]}]
    asking = pod("a", spec={"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}})
    rejection = reject(asking, node("node-1", unschedulable=True))
    assert rejection is not None
    assert rejection.texts == ("node(s) didn't satisfy plugin(s) [NodeAffinity]",)
    assert reject(asking, node("node-2")) is None


def test_a_sidecar_takes_its_host_port() -> None:
    ports = [{"containerPort": 80, "hostPort": 80}]
    sidecar = {"name": "s", "image": "x", "restartPolicy": "Always", "ports": ports}
    there = running("b", "node-1", spec={"initContainers": [sidecar]})
    asking = pod("a", spec={"containers": [{"name": "main", "image": "x", "ports": ports}]})
    rejection = reject(asking, node("node-1"), there)
    assert rejection is not None
    assert rejection.plugin == "NodePorts"
