"""explain about pods that fit one by one and wait for their group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dractl.allocation import Features
from dractl.capacity import Placement, replicas
from dractl.cluster.changes import apply
from dractl.errors import InputError
from dractl.explain import Explainer, Question, explain_each, find_subjects
from dractl.explain.fleet.batch import drop_repeated_step
from dractl.scheduler.attempt import Scheduler
from dractl.simulation import simulate
from tests.capacity.test_gangs import NODES, ONE, USES, gang, podgroup, ring
from tests.capacity.test_placing import GPU
from tests.explain.cluster import allocation, claim, pod, request, state_of

if TYPE_CHECKING:
    from dractl.cluster.state import ClusterState
    from dractl.explain.answer import Explanation

TRIED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "pod group is unschedulable",
}


def explain_pod(state: ClusterState, name: str = "ring-0", release: str = "1.37") -> Explanation:
    value = state.get("Pod", ("ml", name))
    assert value is not None
    return Explainer(state, Features.for_release(release)).explain(
        Question("Pod", ("ml", name), value)
    )


def unschedulable_ring(count: int) -> list[dict[str, Any]]:
    return [{**p, "status": {"phase": "Pending", "conditions": [TRIED]}} for p in ring(count)]


def test_pod_fitting_alone_waits_for_its_gang() -> None:
    found = explain_pod(state_of(GPU, ONE, *NODES, podgroup(gang(8)), *unschedulable_ring(8)))
    assert (found.verdict, [r.code for r in found.reasons]) == (
        "unallocatable",
        ["gang-waits", "device-in-use"],
    )
    assert found.headline.startswith(
        "PodGroup ml/ring starts with 8 pods at once or none, and 5 fit; the next one, "
    )
    assert (
        found.reasons[0].facts["group"],
        found.reasons[0].facts["want"],
        found.reasons[0].facts["have"],
    ) == ("PodGroup ml/ring", 8, 5)
    assert (
        found.reasons[1].facts.get("holders", ()) == ()
    )  # the others of the gang hold nothing yet


def test_pods_of_a_gang_keep_their_names_while_they_are_placed() -> None:
    """ring-0 to ring-4 have the five devices, so ring-5 is the next one."""
    found = explain_pod(state_of(GPU, ONE, *NODES, podgroup(gang(8)), *unschedulable_ring(8)))
    assert "the next one, ring-5: " in found.headline
    assert found.headline.endswith("; held by pods ml/ring-0, ml/ring-1 and 3 more")


def test_no_next_step_repeats_the_question_about_the_group() -> None:
    found = explain_pod(state_of(GPU, ONE, *NODES, podgroup(gang(8)), *unschedulable_ring(8)))
    assert any(step.command == "dractl explain podgroup/ring -n ml" for step in found.next)
    again = drop_repeated_step(found, ["podgroup/ring"])
    assert not any("dractl explain podgroup" in step.command for step in again.next)
    assert again.next or again.fixes
    assert drop_repeated_step(found, ["podgroup/other"]) == found


def test_fitting_gang_is_retried() -> None:
    found = explain_pod(state_of(GPU, ONE, *NODES, podgroup(gang(5)), *unschedulable_ring(5)))
    assert [r.code for r in found.reasons] == ["would-fit-now"]


def test_fewer_pods_at_once_are_a_fix_where_the_minimum_can_be_changed() -> None:
    state = state_of(GPU, ONE, *NODES, podgroup(gang(8)), *unschedulable_ring(8))
    (fix,) = explain_pod(state).fixes
    assert fix.title == "lower minCount of PodGroup ml/ring from 8 to 5"
    assert explain_pod(apply(state, fix.changes)).reasons[0].code == "would-fit-now"
    assert explain_pod(state, release="1.36").fixes == ()  # where it is immutable


def test_a_fix_starts_the_whole_gang() -> None:
    """Two devices are missing: the end of one holder of one device is not enough, that of a holder of two is."""
    held = [
        claim(
            "one",
            request("r", "gpu"),
            status=allocation("a", ("gpu.example.com", "gpu-0"), pod="single"),
        ),
        claim(
            "two",
            request("r", "gpu", 2),
            status=allocation(
                "b", ("gpu.example.com", "gpu-0"), ("gpu.example.com", "gpu-1"), pod="double"
            ),
        ),
    ]
    holders = [
        pod(
            name,
            {"name": "r", "resourceClaimName": own},
            spec={"nodeName": node},
            metadata={"uid": f"uid-{name}"},
        )
        for name, own, node in (("single", "one", "a"), ("double", "two", "b"))
    ]
    state = state_of(GPU, ONE, *NODES, *held, *holders, podgroup(gang(4)), *unschedulable_ring(4))
    fixes = explain_pod(state).fixes
    assert any("pod ml/double" in fix.title for fix in fixes)
    assert not any(fix.title.startswith("delete pod ml/single (") for fix in fixes)


def test_fix_of_another_pod_of_the_gang_names_the_pod() -> None:
    other = ring(1, 3, nodeSelector={"zone": "none"})
    found = explain_pod(
        state_of(GPU, ONE, *NODES, podgroup(gang(4)), *unschedulable_ring(3), *other)
    )
    assert (
        "ring-3: does not fit on any of the 2 nodes: nodeSelector wants zone=none" in found.headline
    )
    assert [(f.title, f.effect) for f in found.fixes if "nodeSelector" in f.title] == [
        ("remove nodeSelector zone=none from the pod", "of pod ring-3")
    ]


def test_a_gang_without_its_pods_is_not_tried() -> None:
    state = state_of(GPU, ONE, *NODES, podgroup(gang(5)), *ring(3))
    found = explain_pod(state)
    assert found.headline == (
        "PodGroup ml/ring starts with 5 pods at once or none, and only 3 exist; the scheduler tries none before"
    )
    assert (found.verdict, found.notes) == ("blocked", ())


def test_missing_group_comes_before_claims_waiting_for_it() -> None:
    waits = [{**p, "metadata": {**p["metadata"], "uid": "u"}} for p in ring(1, group="rnig")]
    found = explain_pod(state_of(GPU, ONE, *NODES, podgroup(gang(2)), *waits))
    assert [r.code for r in found.reasons][:2] == ["podgroup-missing", "claim-missing"]
    assert (
        found.headline
        == "PodGroup ml/rnig does not exist, so the scheduler tries none of its pods; there is ring"
    )
    first, second = found.next[:2]
    assert first.text.startswith("if ring is meant, correct the name of the group")
    assert second.text.startswith("create PodGroup ml/rnig")


def test_unchecked_constraints_of_a_gang_get_a_note() -> None:
    lost = explain_pod(state_of(GPU, ONE, *NODES, *ring(1)))
    assert lost.notes == (
        "PodGroup ml/ring is not in the input: whether its pods start together or not at all was not checked",
    )
    child = explain_pod(
        state_of(GPU, ONE, *NODES, podgroup(gang(1), parentCompositePodGroupName="all"), *ring(1))
    )
    assert child.notes == (
        "PodGroup ml/ring is part of CompositePodGroup all, which is not checked here",
    )
    by_zone = {"topology": [{"key": "zone"}]}
    near = explain_pod(
        state_of(GPU, ONE, *NODES, podgroup(gang(2), schedulingConstraints=by_zone), *ring(2))
    )
    assert near.notes[0].startswith(
        "PodGroup ml/ring keeps its pods on nodes with one value of zone"
    )


def test_slow_gang_stays_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    state = state_of(GPU, ONE, *NODES, podgroup(gang(5)), *ring(5))
    monkeypatch.setattr(replicas, "place_first", lambda *_: Placement(2, state, undecided=True))
    (note,) = explain_pod(state).notes
    assert note.startswith(
        "2 of the 5 pods with which PodGroup ml/ring starts fit; whether all do was not decided"
    )


def test_pods_of_one_gang_have_one_answer() -> None:
    state = state_of(GPU, ONE, *NODES, podgroup(gang(8)), *unschedulable_ring(8))
    questions = [Question("Pod", key, value) for key, value in state.objects("Pod").items()]
    answers = explain_each(
        Explainer(state, Features.for_release("1.37")), questions, group_replicas=True
    )
    assert [answer.title for answer in answers] == ["podgroup ml/ring (8 pods)"]


def test_group_without_pods_is_not_reported_as_unknown() -> None:
    state = state_of(GPU, ONE, *NODES, podgroup(gang(8)))
    with pytest.raises(InputError) as raised:
        find_subjects(state, "podgroup/ring", "ml")
    assert str(raised.value).startswith("podgroup ring in namespace ml has no pods")
    assert "ml/ring" not in str(raised.value.hint)
    assert "podGroupName: ring" in str(raised.value.hint)


def test_groups_of_other_schedulers_are_left_alone() -> None:
    labels = {"scheduling.x-k8s.io/pod-group": "ring"}
    pods = [pod(f"w{i}", USES, metadata={"labels": labels}) for i in range(8)]
    crd = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "spec": {"minMember": 8},
    }
    crd["metadata"] = {"name": "ring", "namespace": "ml"}
    assert explain_pod(state_of(GPU, ONE, *NODES, crd, *pods), "w0").verdict == "allocatable"


def test_a_gang_does_not_start_while_a_claim_of_another_pod_is_older_than_its_template() -> None:
    """pkg/controller/resourceclaim makes the claim of a pod once: three devices, whatever the template says now."""

    def runs(spec: dict[str, Any]) -> bool:
        first, second = unschedulable_ring(2)
        owner = [{"kind": "Pod", "name": "ring-1", "uid": ""}]
        made = {**claim("ring-1-gpu", metadata={"ownerReferences": owner}), "spec": spec}
        second["status"]["resourceClaimStatuses"] = [
            {"name": "gpu", "resourceClaimName": "ring-1-gpu"}
        ]
        state = state_of(GPU, ONE, *NODES, podgroup(gang(2)), first, second, made)
        scheduler = Scheduler(state, Features.for_release("1.37"))
        return simulate(scheduler, (), ("ml", "ring-0")).subject_runs

    assert runs(ONE["spec"]["spec"])
    assert not runs({"devices": {"requests": [request("gpu", "gpu", 3)]}})


def test_next_pod_of_a_started_group_needs_no_others_beside_it() -> None:
    """Three pods run in zone za and hold its devices; zone zb has free ones."""
    running = ring(3)
    held = []
    for number, member in enumerate(running):
        name = member["metadata"]["name"]
        member["spec"] |= {
            "nodeName": "a",
            "resourceClaims": [{"name": "gpu", "resourceClaimName": name}],
        }
        given = allocation("a", ("gpu.example.com", f"gpu-{number}"), pod=name)
        held.append(claim(name, request("gpu", "gpu"), status=given))
    by_zone = {"topology": [{"key": "zone"}]}
    group = podgroup(gang(3), schedulingConstraints=by_zone)
    waits = unschedulable_ring(4)[3]
    answer = explain_pod(state_of(GPU, ONE, *NODES, group, *held, *running, waits), "ring-3")
    assert answer.headline.startswith(
        "no other pod of PodGroup ml/ring fits on nodes with zone=za; the next one, ring-3: "
    )
