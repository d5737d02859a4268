"""Groups of pods that start together: what kube-scheduler 1.36 and 1.37 left pending, on clusters made for the test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dractl.allocation import Features
from dractl.capacity import find_subject, place_copies
from dractl.capacity.gangs import (
    GroupMissing,
    MemberBlocked,
    NoTopologyDomain,
    TooFewFit,
    TooFewPods,
    UnequalPods,
    find_gang_wait,
)
from dractl.cluster import podgroups
from dractl.views import Pod
from tests.capacity.test_placing import GPU, gpus, template
from tests.explain.cluster import node, pod, request, state_of

if TYPE_CHECKING:
    from dractl.capacity.gangs import GangWait
    from dractl.cluster.state import ClusterState

ONE = template("one", request("gpu", "gpu"))
USES = {"name": "gpu", "resourceClaimTemplateName": "one"}
NODES = (
    node("a", labels={"zone": "za"}),
    gpus("a", *"rrr"),
    node("b", labels={"zone": "zb"}),
    gpus("b", *"rr"),
)
BASIC = {"basic": {}}


def gang(least: int) -> dict[str, Any]:
    return {"gang": {"minCount": least}}


def podgroup(policy: dict[str, Any], name: str = "ring", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "ml", "uid": f"uid-{name}"},
        "spec": {"schedulingPolicy": policy, **spec},
    }


def ring(count: int, start: int = 0, **spec: Any) -> list[dict[str, Any]]:
    """Pods of the group as they are before the claim controller has seen them."""
    spec = {"schedulingGroup": {"podGroupName": spec.pop("group", "ring")}, **spec}
    uses = [{"name": "main", "image": "x", "resources": {"claims": [{"name": "gpu"}]}}]
    return [
        pod(f"ring-{i}", USES, spec={"containers": uses, **spec})
        for i in range(start, start + count)
    ]


def with_uids(pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {**p, "metadata": {**p["metadata"], "uid": f"uid-{p['metadata']['name']}"}} for p in pods
    ]


def asked(state: ClusterState, release: str = "1.37", name: str = "ring-0") -> GangWait | None:
    found = state.get("Pod", ("ml", name))
    assert found is not None
    return find_gang_wait(
        state, found, podgroups.find_pod_group(state, Pod(found)), Features.for_release(release)
    )


def test_a_gang_waits_until_its_minimum_fits() -> None:
    """1.37: "pod group is unschedulable, minCount (8) cannot be satisfied: 5 scheduled, 2 remaining"."""
    found = asked(state_of(GPU, ONE, *NODES, podgroup(gang(8)), *ring(8)))
    assert isinstance(found, TooFewFit)
    assert (found.minimum, found.pods, found.placed, found.fits) == (8, 8, 0, 5)
    assert asked(state_of(GPU, ONE, *NODES, podgroup(gang(5)), *ring(8))) is None


def test_pods_on_nodes_count_and_ended_ones_do_not() -> None:
    on = [{**p, "spec": {**p["spec"], "nodeName": "a", "resourceClaims": []}} for p in ring(2)]
    waits = ring(6, 2)
    assert asked(state_of(GPU, ONE, *NODES, podgroup(gang(7)), *on, *waits), name="ring-2") is None
    over = [{**p, "status": {"phase": "Succeeded"}} for p in on]
    assert asked(
        state_of(GPU, ONE, *NODES, podgroup(gang(7)), *over, *waits), name="ring-2"
    ) == TooFewPods("PodGroup/ml/ring", 7, 6)


def test_a_basic_group_starts_although_not_all_its_pods_fit() -> None:
    assert asked(state_of(GPU, ONE, *NODES, podgroup(BASIC), *ring(8))) is None


@pytest.mark.parametrize(
    ("release", "policy", "held"),
    [
        ("1.37", gang(3), True),
        ("1.37", gang(2), True),  # one pod holds back its whole group
        ("1.37", BASIC, True),
        ("1.36", gang(3), True),  # too few are left
        ("1.36", gang(2), False),
    ],
)
def test_a_pod_with_a_scheduling_gate_blocks_its_group(
    release: str, policy: dict[str, Any], held: bool
) -> None:
    gated = ring(1, 2, schedulingGates=[{"name": "g"}])
    found = asked(state_of(GPU, ONE, *NODES, podgroup(policy), *ring(2), *gated), release)
    assert isinstance(found, MemberBlocked) == held
    assert not isinstance(found, MemberBlocked) or found.pod["metadata"]["name"] == "ring-2"


def test_a_missing_group_keeps_its_pods_pending() -> None:
    pods = ring(2, group="rnig")
    assert asked(state_of(GPU, ONE, *NODES, podgroup(gang(2)), *pods)) == GroupMissing(
        "PodGroup/ml/rnig"
    )
    assert asked(state_of(GPU, ONE, *NODES, *pods)) is None  # the input may just lack PodGroups


def test_pods_of_other_priority_are_refused_from_1_37_on() -> None:
    """1.37 says so in the pods' condition; 1.36 placed both."""
    state = state_of(
        GPU,
        ONE,
        *NODES,
        podgroup(gang(2)),
        *with_uids(ring(1)),
        *with_uids(ring(1, 1, priority=2_000_000_000)),
    )
    text = "all pods in a single pod group should have the same priority as the pod group's priority, got 2000000000"
    pod = state.objects("Pod")["ml", "ring-0"]
    found = find_gang_wait(
        state,
        pod,
        podgroups.find_pod_group(state, Pod(pod)),
        Features.for_release("1.37"),
        recreated=True,
    )
    assert isinstance(found, UnequalPods)
    assert found.text == f"{text} and 0"


def test_a_topology_constraint_keeps_pods_on_nodes_of_one_domain() -> None:
    """1.36 and 1.37 placed three pods on zone za and left four pending, of which three fitted."""
    by_zone = {"topology": [{"key": "zone"}]}
    assert (
        asked(
            state_of(GPU, ONE, *NODES, podgroup(gang(3), schedulingConstraints=by_zone), *ring(3))
        )
        is None
    )
    found = asked(
        state_of(GPU, ONE, *NODES, podgroup(gang(4), schedulingConstraints=by_zone), *ring(4))
    )
    assert isinstance(found, TooFewFit)
    assert (found.fits, found.domain) == (3, "zone=za")
    by_rack = {"topology": [{"key": "rack"}]}
    state = state_of(GPU, ONE, *NODES, podgroup(gang(1), schedulingConstraints=by_rack), *ring(1))
    assert asked(state) == NoTopologyDomain("PodGroup/ml/ring", "rack")


def test_pods_of_a_group_share_its_claim() -> None:
    """Four pods and one device a node: 1.36 and 1.37 placed all on one node (gate DRAWorkloadResourceClaims)."""
    shared = podgroup(gang(4), resourceClaims=[USES])
    nodes = (node("a"), gpus("a", "r"), node("b"), gpus("b", "r"))
    state = state_of(GPU, ONE, *nodes, shared, *ring(4))
    assert asked(state) is None
    assert isinstance(asked(state_of(GPU, ONE, *nodes, podgroup(gang(4)), *ring(4))), TooFewFit)
    copies = place_copies(
        find_subject(state, "pod/ring-0", "ml"), Features.for_release("1.37"), max_count=4
    )
    assert (copies.fits, [n.fits for n in copies.nodes if n.fits]) == (4, [4])
    (claim,) = copies.state.objects("ResourceClaim").values()
    users = [(user["resource"], user["name"]) for user in claim["status"]["reservedFor"]]
    assert users == [("podgroups", "ring")]  # one reservation, which no limit of pods ends


def test_each_pod_is_tried_once_in_a_cycle() -> None:
    """The second pod is refused before the third, which it wants beside it, is placed; 1.35 tries it again."""
    beside = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "labelSelector": {"matchLabels": {"app": "leader"}},
                    "topologyKey": "kubernetes.io/hostname",
                }
            ]
        }
    }
    first, second, third = *ring(1), *ring(1, 1, affinity=beside), *ring(1, 2)
    third["metadata"]["labels"] = {"app": "leader"}
    state = state_of(GPU, ONE, *NODES, podgroup(gang(3)), first, second, third)
    assert isinstance(asked(state), TooFewFit)
    assert asked(state, "1.35") is None
