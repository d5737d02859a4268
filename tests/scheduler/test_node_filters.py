"""The node filters before DRA say what kube-scheduler says (messages recorded in conformance/scheduling)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dractl.allocation import Features
from dractl.model import Taint
from dractl.scheduler.node_filters import NodeFilters
from dractl.scheduler.rejection import LabelMismatch, NodeLabel, UntoleratedTaint
from dractl.scheduler.snapshot import snapshot_of
from tests.explain.cluster import node, pod, state_of

if TYPE_CHECKING:
    from dractl.scheduler.rejection import Rejection


def filters(
    asking: dict[str, Any],
    *others: dict[str, Any],
    release: str = "1.37",
    delegated: frozenset[str] = frozenset(),
) -> NodeFilters:
    snapshot = snapshot_of(state_of(asking, *others))
    return NodeFilters(
        snapshot, snapshot.pod(asking), Features.for_release(release), delegated=delegated
    )


def reject(
    asking: dict[str, Any], target: dict[str, Any], *others: dict[str, Any], **more: Any
) -> Rejection | None:
    """The first filter that refuses ``target``."""
    made = filters(asking, target, *others, **more)
    return made.first_rejection(made.snapshot.nodes[target["metadata"]["name"]])


def running(name: str, where: str, **more: Any) -> dict[str, Any]:
    return pod(
        name, spec={"nodeName": where, **more.pop("spec", {})}, status={"phase": "Running"}, **more
    )


def test_a_plain_node_takes_a_plain_pod() -> None:
    assert reject(pod("a"), node("node-1")) is None


def test_cordoned_unless_tolerated() -> None:
    rejection = reject(pod("a"), node("node-1", unschedulable=True))
    assert rejection is not None
    assert (rejection.plugin, rejection.texts) == (
        "NodeUnschedulable",
        ("node(s) were unschedulable",),
    )
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
        assert rejection.unmet == (UntoleratedTaint(Taint("dedicated", "gpu", "NoSchedule")),)


def test_prefer_no_schedule_refuses_nothing() -> None:
    assert (
        reject(pod("a"), node("node-1", taints=[{"key": "k", "effect": "PreferNoSchedule"}]))
        is None
    )


def test_node_selector_and_affinity_name_the_label() -> None:
    rejection = reject(
        pod("a", spec={"nodeSelector": {"zone": "a"}}), node("node-1", labels={"zone": "b"})
    )
    assert rejection is not None
    assert rejection.texts == ("node(s) didn't match Pod's node affinity/selector",)
    assert rejection.unmet == (LabelMismatch("zone", "a"),)
    assert rejection.labels == (NodeLabel("zone", "b"),)


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
    required = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}
        }
    }
    rejection = reject(pod("a", spec={"affinity": required}), node("node-1", labels={"zone": "a"}))
    assert (rejection is None) == matches


def test_resources_count_what_other_pods_ask_for() -> None:
    other = running("b", "node-1", requests={"cpu": "6"})
    rejection = reject(pod("a", requests={"cpu": "2500m"}), node("node-1"), other)
    assert rejection is not None
    assert (rejection.texts, rejection.want, rejection.free) == (
        ("Insufficient cpu",),
        "2500m",
        "2",
    )
    assert not rejection.unresolvable  # ending the other pod would help
    assert reject(pod("a", requests={"cpu": "2"}), node("node-1"), other) is None


def test_more_than_the_node_has_is_final() -> None:
    rejection = reject(pod("a", requests={"cpu": "9"}), node("node-1"))
    assert rejection is not None
    assert rejection.unresolvable


def test_ended_pods_take_nothing() -> None:
    ended = pod(
        "b", requests={"cpu": "8"}, spec={"nodeName": "node-1"}, status={"phase": "Succeeded"}
    )
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
    term = {
        "labelSelector": {"matchLabels": {"app": "train"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    wish = {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    }
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
    odd = pod(
        "a",
        requests={"cpu": {"x": 1}},
        spec={"tolerations": "all", "affinity": [1], "nodeSelector": 3},
    )
    assert reject(odd, node("node-1", taints={"a": 1})) is None


# What follows was found by putting random clusters to a real scheduler (tests/conformance/fuzz_explain.py).

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
LABELLED = {"labels": {"app": "x"}}


def spread(key: str, **more: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "x"}}
    made = {
        "topologyKey": key,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
    }
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
    target, there = (
        node("node-1", labels={"zone": "a", "rack": "1"}),
        running("b", "node-1", metadata=LABELLED),
    )
    empty = node("node-2", labels={"zone": "b"})
    assert reject(spreading(spread("zone")), target, there, empty) is not None
    assert reject(spreading(spread("zone"), spread("rack")), target, there, empty) is None
    tainted = node("node-2", labels={"zone": "b"}, taints=[{"key": "k", "effect": "NoSchedule"}])
    assert reject(spreading(spread("zone")), target, there, tainted) is not None
    assert (
        reject(spreading(spread("zone", nodeTaintsPolicy="Honor")), target, there, tainted) is None
    )


def test_spread_without_a_selector_counts_no_pod() -> None:
    constraint = {k: v for k, v in spread("zone").items() if k != "labelSelector"}
    target, there = node("node-1", labels={"zone": "a"}), running("b", "node-1", metadata=LABELLED)
    assert (
        reject(spreading(constraint), target, there, node("node-2", labels={"zone": "b"})) is None
    )


def test_affinity_counts_only_pods_that_match_every_term() -> None:
    terms = [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}},
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"tier": "1"}}},
    ]
    asking = pod("a", spec={"affinity": {"podAffinity": {REQUIRED: terms}}})
    x, one = (
        running(n, "node-1", metadata={"labels": labels})
        for n, labels in (("b", {"app": "x"}), ("c", {"tier": "1"}))
    )
    rejection = reject(asking, node("node-1"), x, one)
    assert rejection is not None
    assert rejection.texts == ("node(s) didn't match pod affinity rules",)
    assert (
        rejection.unresolvable
    )  # interpodaffinity/filtering.go: UnschedulableAndUnresolvable, eviction does not help
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


# Facts that two readers of the same fields once answered differently.


def requiring(operator: str, *values: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": "k", "operator": operator, "values": list(values)}]}
    return pod("a", spec={"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}})


@pytest.mark.parametrize("label", ["1_0", " 10 ", "10 ", "٣", str(1 << 63), "9" * 5000])
def test_gt_compares_what_go_parses_as_an_integer(label: str) -> None:
    """strconv.ParseInt in apimachinery/pkg/labels/selector.go takes neither underscores, nor blanks, nor other digits,
    nor what 64 bits cannot hold."""
    assert reject(requiring("Gt", "5"), node("node-1", labels={"k": label})) is not None
    assert reject(requiring("Lt", "5"), node("node-1", labels={"k": label})) is not None


@pytest.mark.parametrize("label", ["10", "+10", "0010", "0" * 40 + "10"])
def test_gt_takes_signs_and_leading_zeros(label: str) -> None:
    assert reject(requiring("Gt", "5"), node("node-1", labels={"k": label})) is None


def test_in_without_values_matches_nothing() -> None:
    """component-helpers nodeaffinity.go: a term that cannot be parsed matches no node, the other terms still count."""
    assert reject(requiring("In"), node("node-1", labels={"k": "v"})) is not None
    terms = [
        {"matchExpressions": [{"key": "k", "operator": "In", "values": []}]},
        {"matchExpressions": [{"key": "k", "operator": "Exists"}]},
    ]
    other = pod("a", spec={"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}})
    assert reject(other, node("node-1", labels={"k": "v"})) is None


def test_all_filters_that_refuse_a_node_in_order() -> None:
    asking = pod(
        "a", requests={"cpu": "9"}, spec={"nodeSelector": {"zone": "a"}, "nodeName": "other"}
    )
    target = node("node-1", unschedulable=True, taints=[{"key": "k", "effect": "NoSchedule"}])
    refusals = {r: [f.plugin for f in _all(asking, target, r)] for r in ("1.36", "1.37")}
    rest = ["TaintToleration", "NodeAffinity", "NodeResourcesFit"]
    assert refusals == {
        "1.36": ["NodeUnschedulable", "NodeName", *rest],
        "1.37": ["NodeName", "NodeUnschedulable", *rest],
    }


def _all(asking: dict[str, Any], target: dict[str, Any], release: str) -> list[Rejection]:
    made = filters(asking, target, release=release)
    return list(made.rejections(made.snapshot.nodes["node-1"]))


def test_resources_are_counted_as_the_scheduler_does_cpu_in_thousandths_and_the_rest_whole() -> (
    None
):
    """framework/types.go Resource.Add rounds each pod's CPU up to thousandths."""
    others = [running(f"p{n}", "node-1", requests={"cpu": "100u"}) for n in range(3)]
    asking = pod("a", requests={"cpu": "7998m"})
    rejection = reject(asking, node("node-1"), *others)
    assert rejection is not None
    assert rejection.resource == "cpu"
    assert reject(pod("a", requests={"cpu": "7997m"}), node("node-1"), *others) is None


@pytest.mark.parametrize(
    ("release", "allocatable", "fits"),
    [("1.34", {}, True), ("1.34", {"x.io/gpu": "0"}, False), ("1.35", {"x.io/gpu": "0"}, True)],
)
def test_which_extended_resources_are_left_to_dra(
    release: str, allocatable: dict[str, str], fits: bool
) -> None:
    """noderesources/fit.go: up to 1.34 a device plugin that offers none has the resource all the same."""
    asking = pod("a", requests={"x.io/gpu": "1"})
    rejection = reject(
        asking,
        node("node-1", allocatable=allocatable),
        release=release,
        delegated=frozenset({"x.io/gpu"}),
    )
    assert (rejection is None) == fits


@pytest.mark.parametrize(
    ("ours", "theirs", "free"),
    [
        # HostPortInfo.CheckConflict: 0.0.0.0, the default, is every address.
        ("10.0.0.1", "10.0.0.2", True),
        ("10.0.0.1", "10.0.0.1", False),
        ("10.0.0.1", None, False),
        (None, "10.0.0.1", False),
        ("0.0.0.0", None, False),
    ],
)
def test_host_ports_are_taken_by_address(ours: str | None, theirs: str | None, free: bool) -> None:
    def listening(name: str, address: str | None, **spec: Any) -> dict[str, Any]:
        port = {"containerPort": 80, "hostPort": 80, **({"hostIP": address} if address else {})}
        return pod(
            name, spec={"containers": [{"name": "c", "image": "x", "ports": [port]}], **spec}
        )

    other = {**listening("b", theirs, nodeName="node-1"), "status": {"phase": "Running"}}
    rejection = reject(listening("a", ours), node("node-1"), other)
    assert (rejection is None) is free
    assert rejection is None or rejection.texts == (
        "node(s) didn't have free ports for the requested pod ports",
    )


@pytest.mark.parametrize("release", ["1.37", "1.38"])
def test_memory_beyond_int64_is_none_up_to_1_37(release: str) -> None:
    """Quantity.Value() of 10E wraps to 0, and is the largest int64 from 1.38 on (kubernetes#141305)."""
    refused = reject(pod("a", requests={"memory": "10E"}), node("node-1"), release=release)
    assert (refused is None) is (release == "1.37")
    assert refused is None or refused.texts == ("Insufficient memory",)
