"""Which reason comes first when nodes have different ones."""

from __future__ import annotations

from typing import Any

from dractl.allocation import Features
from dractl.explain import Explainer, Explanation, Options, find_subjects
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
HOST = "kubernetes.io/hostname"


def gpus(name: str, count: int) -> tuple[dict[str, Any], ...]:
    return node(name), slice_of(
        "gpu.example.com", name, *(device(f"gpu-{i}") for i in range(count))
    )


def claim_with_devices(name: str, where: str, *devices: str) -> dict[str, Any]:
    given = allocation(where, *(("gpu.example.com", d) for d in devices), pod="x")
    return claim(
        name, request("r", "gpu", len(devices)), status=given, metadata={"uid": f"uid-{name}"}
    )


def explain(*objects: dict[str, Any], subject: str = "pod/p") -> Explanation:
    state = state_of(GPU, *objects)
    return Explainer(state, Features.for_release("1.36")).explain(
        find_subjects(state, subject, None)[0]
    )


def port(name: str, **more: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "x", "ports": [{"containerPort": 80, "hostPort": 80}]}
    return pod(name, *more.pop("claims", ()), spec={"containers": [container], **more})


def test_obstacles_on_the_wanted_nodes_come_first() -> None:
    objects = (
        *gpus("node-1", 1),
        *gpus("node-2", 1),
        *gpus("node-3", 1),
        ONE,
        port("first", nodeName="node-1"),
    )
    answer = explain(*objects, port("p", claims=(USES,), nodeSelector={HOST: "node-1"}))
    assert answer.reasons[0].facts["plugin"] == "NodePorts"
    assert "nodeSelector" not in answer.headline
    assert "node-1" in answer.headline
    assert "ml/first" in answer.headline


def test_selector_leaving_no_node_with_devices_is_the_reason() -> None:
    objects = (*gpus("node-1", 1), node("node-2"), ONE)
    answer = explain(*objects, pod("p", USES, spec={"nodeSelector": {HOST: "node-2"}}))
    assert answer.reasons[0].facts["plugin"] == "NodeAffinity"


def test_devices_in_use_on_the_wanted_node_come_first() -> None:
    objects = (
        *gpus("node-1", 1),
        *gpus("node-2", 1),
        *gpus("node-3", 1),
        ONE,
        claim_with_devices("h", "node-1", "gpu-0"),
    )
    answer = explain(*objects, pod("p", USES, spec={"nodeSelector": {HOST: "node-1"}}))
    assert answer.reasons[0].code == "device-in-use"
    assert answer.reasons[0].nodes == ("node-1",)


def test_filter_rejecting_every_node_comes_before_device_shortages() -> None:
    spread = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {},
    }
    objects = (
        *gpus("node-1", 1),
        *gpus("node-2", 1),
        ONE,
        claim_with_devices("h", "node-1", "gpu-0"),
        claim_with_devices("i", "node-2", "gpu-0"),
    )
    answer = explain(*objects, pod("p", USES, spec={"topologySpreadConstraints": [spread]}))
    assert [r.code for r in answer.reasons][:2] == ["node-filter", "device-in-use"]
    assert answer.reasons[0].facts["plugin"] == "PodTopologySpread"


def test_node_lacking_least_is_named_among_equal_reasons() -> None:
    objects = (*gpus("node-1", 4), *gpus("node-2", 4), claim("c", request("r", "gpu", 4)))
    taken = (
        claim_with_devices("h", "node-1", "gpu-0", "gpu-1"),
        claim_with_devices("i", "node-2", "gpu-0"),
    )
    answer = explain(*objects, *taken, pod("p", USES))
    assert answer.reasons[0].nodes == ("node-2", "node-1")
    assert "nearest is node-2" in answer.headline
    assert "3 of 4 matching devices are free, 4 wanted" in answer.headline


def node_with_gpus(name: str, count: int, model: str) -> tuple[dict[str, Any], ...]:
    return node(name), slice_of(
        "gpu.example.com", name, *(device(f"gpu-{i}", model=model) for i in range(count))
    )


def test_unmatched_selector_counts_the_devices_of_all_nodes() -> None:
    selector = [{"cel": {"expression": "device.attributes['gpu.example.com'].model == 'L40'"}}]
    wanted = claim("c", request("r", "gpu", selectors=selector))
    answer = explain(
        *node_with_gpus("node-1", 4, "A100"),
        *node_with_gpus("node-2", 3, "H100"),
        wanted,
        pod("p", USES),
    )
    assert answer.reasons[0].code == "selector-false"
    assert "0 of 7 devices" in answer.headline
    assert "H100 ×3" in answer.headline


def test_many_reasons_are_summarized_by_the_nearest_node() -> None:
    taint = {"key": "broken", "effect": "NoSchedule"}
    objects = (
        *gpus("node-1", 4),
        claim_with_devices("h", "node-1", "gpu-0"),
        *gpus("node-2", 2),
        node("node-3", taints=[taint]),
        slice_of("gpu.example.com", "node-3", *(device(f"gpu-{i}") for i in range(4))),
        node("node-4"),
        slice_of(
            "gpu.example.com",
            "node-4",
            *(device(f"gpu-{i}") for i in range(4)),
            resourceSliceCount=2,
        ),
        *(node(f"cpu-{i}") for i in range(5)),
    )
    answer = explain(*objects, claim("c", request("r", "gpu", 4)), pod("p", USES))
    assert answer.reasons[0].code == "mixed"
    assert "nearest is node-3" in answer.headline
    assert "×" not in answer.headline
    assert "not-enough" not in answer.headline


def test_a_cordoned_node_is_not_called_the_nearest() -> None:
    cordoned = (
        node("node-0", unschedulable=True),
        slice_of("gpu.example.com", "node-0", device("gpu-0"), device("gpu-1")),
    )
    objects = (
        *cordoned,
        *gpus("node-1", 2),
        claim_with_devices("h", "node-1", "gpu-0"),
        *gpus("node-2", 1),
        node("node-3", taints=[{"key": "broken", "effect": "NoSchedule"}]),
        node("node-4"),
        slice_of("gpu.example.com", "node-4", device("gpu-0"), resourceSliceCount=2),
    )
    answer = explain(*objects, claim("c", request("r", "gpu", 2)), pod("p", USES))
    assert answer.reasons[0].code == "mixed"
    assert "nearest is node-1" in answer.headline


def test_two_claims_too_large_for_every_node_share_a_headline() -> None:
    both = (claim("c", request("r", "gpu", 3)), claim("d", request("r", "gpu", 3)))
    uses = (USES, {"name": "h", "resourceClaimName": "d"})
    answer = explain(
        *gpus("node-1", 4),
        claim_with_devices("x", "node-1", "gpu-0", "gpu-1"),
        *both,
        pod("p", *uses),
    )
    # Smaller claims would meet the holder next: he comes second.
    assert [r.code for r in answer.reasons] == ["not-enough", "device-in-use"]
    assert "g/r, h/r want 6 devices together; the node has 4" in answer.headline
    # Where it would be large enough, whoever holds the devices is to blame.
    answer = explain(
        *gpus("node-1", 6),
        claim_with_devices("x", "node-1", "gpu-0", "gpu-1", "gpu-2", "gpu-3"),
        *both,
        pod("p", *uses),
    )
    assert {r.code for r in answer.reasons} == {"device-in-use"}


def test_the_funnel_has_the_nodes_on_which_devices_fit() -> None:
    objects = (
        *gpus("node-1", 4),
        *gpus("node-2", 2),
        node("node-3"),
        port("first", nodeName="node-1"),
    )
    both = (
        *objects,
        port("second", nodeName="node-2"),
        ONE,
        claim_with_devices("h", "node-2", "gpu-0"),
    )
    answer = explain(*both, port("p", claims=(USES,)))
    assert answer.reasons[0].facts["plugin"] == "NodePorts"
    first, in_use = answer.funnel
    assert (first.kept, first.of, first.nodes) == (6, 6, 2)
    assert (in_use.kept, in_use.of) == (5, 6)


def test_the_funnel_counts_holders_on_nodes_that_share_an_answer() -> None:
    # More than 64 nodes that read the same share an answer, so only one of them names its holder.
    nodes = [f"node-{number}" for number in range(70)]
    objects = [each for name in nodes for each in gpus(name, 2)]
    held = [claim_with_devices(f"h-{name}", name, "gpu-0") for name in nodes]
    answer = explain(*objects, *held, claim("c", request("r", "gpu", 2)), pod("p", USES))
    detail = next(stage.detail for stage in answer.funnel if "allocated" in stage.stage)
    assert detail.startswith("70 held: claim ml/h-node-0")
    assert detail.endswith("; 69 more on similar nodes")


def test_the_shortage_of_another_request_on_the_same_node_is_shown() -> None:
    nic = device_class("nic", "device.driver == 'nic.example.com'")
    nics = slice_of("nic.example.com", "node-1", device("n"))
    both = (claim("c", request("r", "gpu")), claim("d", request("r", "nic", 2)))
    uses = (USES, {"name": "h", "resourceClaimName": "d"})
    answer = explain(
        *gpus("node-1", 1),
        claim_with_devices("x", "node-1", "gpu-0"),
        nic,
        nics,
        *both,
        pod("p", *uses),
    )
    # To end the holder would not be enough: what no holder is to blame for comes first.
    assert [(r.code, r.facts.get("podClaim")) for r in answer.reasons] == [
        ("not-enough", "h"),
        ("device-in-use", "g"),
    ]
    assert "h/r wants 2 devices" in answer.headline
    assert "g/r: the only matching device is in use" in answer.headline


def test_the_funnel_distinguishes_claims_with_the_same_request() -> None:
    both = (claim("c", request("r", "gpu", 3)), claim("d", request("r", "gpu", 3)))
    uses = (USES, {"name": "h", "resourceClaimName": "d"})
    answer = explain(*gpus("node-1", 4), *both, pod("p", *uses))
    assert [stage["claim"] for stage in as_json(answer)["funnel"]] == ["ml/c", "ml/d"]


def test_answer_for_one_node_is_about_it() -> None:
    state = state_of(
        GPU,
        *gpus("node-1", 1),
        *gpus("node-2", 1),
        ONE,
        claim_with_devices("h", "node-1", "gpu-0"),
        pod("p", USES),
    )
    question = find_subjects(state, "pod/p", None)[0]
    features = Features.for_release("1.36")
    assert Explainer(state, features).explain(question).verdict == "allocatable"
    assert (
        Explainer(state, features, Options(node="node-2")).explain(question).verdict
        == "allocatable"
    )
    answer = Explainer(state, features, Options(node="node-1")).explain(question)
    assert answer.verdict == "unallocatable"
    assert (
        answer.headline
        == "does not fit on node-1: request r: the only matching device is in use; held by pod ml/x"
    )
    assert all("node-1" in fix.nodes for fix in answer.fixes)


def test_a_filter_of_all_nodes_comes_before_the_cause_of_an_odd_node() -> None:
    """Each filter that refuses a node counts, not only the first, which is all that the scheduler reports."""
    odd = node("node-3", labels={"pool": "a100"})
    odd["spec"] = {"taints": [{"key": "team", "value": "research", "effect": "NoSchedule"}]}
    slices = (slice_of("gpu.example.com", "node-3", device("gpu-0")),)
    objects = (*gpus("node-1", 1), *gpus("node-2", 1), odd, *slices, ONE)
    answer = explain(*objects, pod("p", USES, spec={"nodeSelector": {"pool": "h100"}}))
    assert answer.reasons[0].facts["plugin"] == "NodeAffinity"
    assert set(answer.reasons[0].nodes) == {"node-1", "node-2", "node-3"}
    assert "pool=h100" in answer.headline
    assert "research" not in answer.headline
    assert [
        r.facts.get("plugin") for n in answer.nodes if n.name == "node-3" for r in n.reasons
    ] == ["TaintToleration", "NodeAffinity"]


def fleet(full: int, tainted: int) -> list[dict[str, Any]]:
    """Nodes with one GPU each: those of the first are in use, the others have a taint."""
    found: list[dict[str, Any]] = []
    for i in range(full + tainted):
        name = f"node-{i:02}"
        found += gpus(name, 1)
        if i < full:
            found.append(claim_with_devices(f"h-{i}", name, "gpu-0"))
        else:
            found[-2]["spec"] = {"taints": [{"key": "team", "value": "a", "effect": "NoSchedule"}]}
    return found


def test_a_few_odd_nodes_are_not_the_cause_where_all_others_are_full() -> None:
    answer = explain(*fleet(19, 1), ONE, pod("p", USES))
    assert answer.reasons[0].code == "device-in-use"
    assert "19 are like node-00" in answer.headline
    assert explain(*fleet(2, 1), ONE, pod("p", USES)).reasons[0].code == "node-filter"
    everywhere = pod("p", USES, spec={"nodeSelector": {"pool": "x"}})
    assert explain(*fleet(19, 1), ONE, everywhere).reasons[0].code == "node-filter"


def test_nodes_without_devices_are_not_the_cause_where_they_would_not_help() -> None:
    label = {"node.kubernetes.io/instance-type": "p5"}
    alike = [node(name, labels=label) for name in ("node-1", "node-2")]
    slices = slice_of("gpu.example.com", "node-1", device("gpu-0"))
    held_by_other = claim_with_devices("h", "node-1", "gpu-0")
    for wanted, objects, absent in ((1, [held_by_other], True), (9, [], False)):
        answer = explain(
            *alike, slices, *objects, claim("c", request("r", "gpu", wanted)), pod("p", USES)
        )
        assert ("publishes nothing on" in answer.headline) is absent
    pinned = pod("p", USES, spec={"nodeSelector": {HOST: "node-1"}})
    assert (
        "publishes nothing on" not in explain(*alike, slices, held_by_other, ONE, pinned).headline
    )


def node_with_roots(name: str, model: str, *roots: str) -> tuple[dict[str, Any], ...]:
    gpus = (device(f"gpu-{i}", model=model, root=root) for i, root in enumerate(roots))
    return node(name), slice_of("gpu.example.com", name, *gpus)


def request_for_model(name: str, model: str, count: int = 1) -> dict[str, Any]:
    selector = [{"cel": {"expression": f"device.attributes['gpu.example.com'].model == '{model}'"}}]
    return request(name, "gpu", count, selectors=selector)


def test_uninvolved_constraint_is_not_shown_in_full() -> None:
    """The only B is in use: how the free A are spread over the roots does not matter."""
    same = [{"requests": ["a", "b"], "matchAttribute": "gpu.example.com/root"}]
    both = claim("c", request_for_model("a", "A"), request_for_model("b", "B"), constraints=same)
    extra = slice_of(
        "gpu.example.com", "node-1", device("b-0", model="B", root="r0"), resourceSliceCount=2
    )
    extra["metadata"]["name"] = "more"
    one, slices = node_with_roots("node-1", "A", "r0", "r1")
    slices["spec"]["pool"]["resourceSliceCount"] = 2
    answer = explain(
        one, slices, extra, both, claim_with_devices("h", "node-1", "b-0"), pod("p", USES)
    )
    assert answer.reasons[0].code == "device-in-use"
    assert answer.conflict is None


def test_the_groups_of_a_constraint_belong_to_the_headlines_node() -> None:
    same = [{"requests": ["a"], "matchAttribute": "gpu.example.com/root"}]
    spread, near = (
        node_with_roots("node-1", "A", "r0", "r1", "r2", "r3"),
        node_with_roots("node-2", "A", "r0", "r0", "r0", "r1"),
    )
    answer = explain(
        *spread, *near, claim("c", request_for_model("a", "A", 4), constraints=same), pod("p", USES)
    )
    assert answer.reasons[0].code == "constraint-conflict"
    assert answer.conflict is not None
    assert (
        f"nearest is {answer.conflict.node}" in answer.headline or "nearest" not in answer.headline
    )


def test_headline_names_the_roomiest_of_too_small_nodes() -> None:
    """Of a node that the pod does not want nothing is said, however much it has."""
    nodes = [
        node(name, allocatable={"cpu": cpu}) for name, cpu in (("a", "8"), ("b", "12"), ("c", "14"))
    ]
    away = {"key": HOST, "operator": "NotIn", "values": ["c"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [away]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    slices = [slice_of("gpu.example.com", name, device("gpu-0")) for name in "abc"]
    answer = explain(
        *nodes, *slices, ONE, pod("p", USES, requests={"cpu": "16"}, spec={"affinity": affinity})
    )
    assert "cpu: wants 16, free 12 of 12" in answer.headline


def test_a_node_affinity_refused_in_pre_filter_and_filter_is_in_the_headline_once() -> None:
    """PreFilter keeps only the nodes that the affinity names; Filter would refuse the others too
    (schedule_one.go findNodesThatFitPod, plugins/nodeaffinity).
    """
    named = [{"key": "metadata.name", "operator": "In", "values": ["b"]}]
    required = {"nodeSelectorTerms": [{"matchFields": named}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    answer = explain(
        *gpus("a", 1),
        *gpus("b", 1),
        claim_with_devices("c", "a", "gpu-0"),
        pod("p", USES, spec={"affinity": affinity}),
    )
    assert "that node refuses it: node affinity wants the node b" in answer.headline
    assert answer.headline.count("node affinity wants") == 1
