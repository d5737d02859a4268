"""Many subjects at once: equal replicas have one answer, and one failure does not end the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dractl.allocation import Features
from dractl.capacity import replicas
from dractl.capacity.replicas import place_first
from dractl.cluster.changes import PatchError
from dractl.errors import InputError
from dractl.explain import Explainer, explain_each, find_all_waiting
from dractl.explain.answer import Relief
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
    from dractl.explain import Explanation, Question

DRIVER = "gpu.example.com"
GPU = device_class("gpu", f"device.driver == '{DRIVER}'")


class Failing(Explainer):
    """Fails for pods whose name begins with ``bad``."""

    def explain(self, question: Question) -> Explanation:
        if question.key[1] == "bad-input":
            raise InputError("the claim has no spec", hint="look at it")
        if question.key[1] == "bad":
            raise PatchError("there is nothing at 'resourceClaimName'")
        return super().explain(question)


def replica(
    name: str, owner: str = "web-1", count: int = 4, **spec: Any
) -> tuple[dict[str, Any], ...]:
    made = pod(name, {"name": "g", "resourceClaimName": f"of-{name}"}, spec=spec)
    made["metadata"] |= {
        "ownerReferences": [{"kind": "ReplicaSet", "name": owner, "controller": True, "uid": "u"}],
        "labels": {"pod-template-hash": "1"},
    }
    entry = made["spec"]["resourceClaims"][0]
    entry.pop("resourceClaimName")
    entry["resourceClaimTemplateName"] = "t"
    made["status"] = {
        "phase": "Pending",
        "resourceClaimStatuses": [{"name": "g", "resourceClaimName": f"of-{name}"}],
    }
    return made, claim(f"of-{name}", request("r", "gpu", count))


def explain_all(
    *objects: dict[str, Any], kind: type[Explainer] = Explainer, alike: bool = True
) -> list[Explanation]:
    state = state_of(GPU, node("a"), slice_of("gpu.example.com", "a", device("gpu-0")), *objects)
    return explain_each(
        kind(state, Features.for_release("1.37")),
        find_all_waiting(state, None),
        group_replicas=alike,
    )


def test_equal_replicas_have_one_answer() -> None:
    objects = (*replica("a"), *replica("b"), *replica("c"))
    (answer,) = explain_all(*objects)
    assert answer.alike == ("b", "c")
    assert answer.title == "deployment ml/web (3 pods)"
    assert len(explain_all(*objects, alike=False)) == 3


@pytest.mark.parametrize(
    "other", [replica("b", count=5), replica("b", "api-1"), replica("b", nodeSelector={"x": "y"})]
)
def test_differing_pods_have_separate_answers(other: tuple[dict[str, Any], ...]) -> None:
    assert all(not answer.alike for answer in explain_all(*replica("a"), *other))


def test_one_failure_leaves_the_others_their_answers() -> None:
    answers = explain_all(
        *(
            pod(name, {"name": "g", "resourceClaimName": "c"})
            for name in ("bad", "bad-input", "good")
        ),
        claim("c", request("r", "gpu")),
        kind=Failing,
    )
    found = {answer.subject.name: answer for answer in answers}
    assert found["good"].verdict == "allocatable"
    assert found["bad"].verdict == "undecided"
    assert "nothing at 'resourceClaimName'" in found["bad"].headline
    assert (found["bad-input"].headline, found["bad-input"].notes) == (
        "cannot be explained: the claim has no spec",
        ("look at it",),
    )


def test_an_error_about_the_only_subject_is_raised() -> None:
    with pytest.raises(InputError):
        explain_all(
            pod("bad-input", {"name": "g", "resourceClaimName": "c"}),
            claim("c", request("r", "gpu")),
            kind=Failing,
        )


ONE_EACH = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "t", "namespace": "ml"},
    "spec": {"spec": {"devices": {"requests": [request("r", "gpu", 1)]}}},
}


def four_in_use(*pods: tuple[dict[str, Any], ...]) -> list[Explanation]:
    """Pods that want one GPU each, in a cluster whose only node has four: all held by a pod of batch."""
    held = claim(
        "held",
        request("r", "gpu", 4),
        status=allocation("a", *((DRIVER, f"gpu-{i}") for i in range(4))),
    )
    holder = pod("sweep", {"name": "g", "resourceClaimName": "held"}, spec={"nodeName": "a"})
    holder["status"] = {"phase": "Running"}
    held["status"]["reservedFor"] = [{"resource": "pods", "name": "sweep", "uid": "uid-ml-sweep"}]
    holder["metadata"]["uid"] = "uid-ml-sweep"
    slices = slice_of(DRIVER, "a", *(device(f"gpu-{i}") for i in range(4)))
    state = state_of(
        GPU, node("a"), slices, ONE_EACH, held, holder, *(each for made in pods for each in made)
    )
    return explain_each(
        Explainer(state, Features.for_release("1.37")),
        find_all_waiting(state, None),
        group_replicas=True,
    )


def test_a_fix_says_how_many_of_the_pods_fit_after_it() -> None:
    """Six replicas wait, and what is freed has room for four: the fix is proven for one alone."""
    (answer,) = four_in_use(*(replica(name, count=1) for name in "abcdef"))
    (ending,) = [fix for fix in answer.fixes if fix.title.startswith("delete pod ml/sweep")]
    assert ending.relief == Relief(fits=4, of=6)


def test_a_quota_that_was_lowered_counts_no_pod_that_exists() -> None:
    """Quotas are checked when a pod is created, and an uncordoned node takes what exists."""
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "ml"},
        "spec": {"hard": {"pods": "1"}},
        "status": {"hard": {"pods": "1"}, "used": {"pods": "3"}},
    }
    slices = slice_of(DRIVER, "a", *(device(f"gpu-{i}") for i in range(4)))
    pods = [each for name in "abc" for each in replica(name, f"web-{name}", count=1)]
    state = state_of(GPU, ONE_EACH, node("a", unschedulable=True), slices, quota, *pods)
    explainer = Explainer(state, Features.for_release("1.37"))
    answers = explain_each(explainer, find_all_waiting(state, None), group_replicas=True)
    relief = {fix.relief for answer in answers for fix in answer.fixes if fix.title == "uncordon a"}
    assert relief == {Relief(fits=3, of=3)}


def test_pods_equal_to_one_that_does_not_fit_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight pods want 5 GPUs each; if they want 4, the node has room for one of them."""
    tried: list[str] = []

    def count(state: Any, name: str, *further: Any) -> Any:
        tried.append(name)
        return place_first(state, name, *further)

    monkeypatch.setattr(replicas, "place_first", count)
    template = {**ONE_EACH, "spec": {"spec": {"devices": {"requests": [request("r", "gpu", 5)]}}}}
    slices = slice_of(DRIVER, "a", *(device(f"gpu-{i}") for i in range(4)))
    pods = [each for name in "abcdefgh" for each in replica(name, f"web-{name}", count=5)]
    state = state_of(GPU, node("a"), slices, template, *pods)
    explainer = Explainer(state, Features.for_release("1.37"))
    answers = explain_each(explainer, find_all_waiting(state, None), group_replicas=True)
    relief = {fix.relief for answer in answers for fix in answer.fixes}
    assert relief == {Relief(fits=1, of=8)}
    assert tried == ["a", "b"]


def test_fix_for_several_workloads_is_counted_over_all() -> None:
    answers = four_in_use(
        replica("a", count=1), replica("b", count=1), replica("c", "api-1", count=1)
    )
    found = {
        fix.relief
        for answer in answers
        for fix in answer.fixes
        if fix.title.startswith("delete pod ml/sweep")
    }
    assert [len(answer.alike) for answer in answers] == [1, 0]
    assert found == {Relief(fits=3, of=3)}


def jobs_of_set(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """Two Jobs of a JobSet, with a pod each."""
    template = {"spec": {"template": {"spec": {"containers": [{"name": "main"}]}}}}
    whole = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "spec": {"replicatedJobs": [{"template": template}]},
    }
    objects: list[dict[str, Any]] = [
        {**whole, "metadata": {"name": "set", "namespace": "ml", "uid": "u-set"}}
    ]
    for number in range(2):
        above = [{"kind": "JobSet", "name": "set", "controller": True}]
        metadata = {"name": f"set-{number}", "namespace": "ml", "ownerReferences": above}
        made, own = replica(f"p{number}", **spec)
        made["metadata"]["ownerReferences"] = [
            {"kind": "Job", "name": f"set-{number}", "controller": True}
        ]
        made["metadata"]["labels"] = {
            "job-name": f"set-{number}",
            "jobset.sigs.k8s.io/job-index": str(number),
        }
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {**metadata, "uid": f"u-{number}"},
            **template,
        }
        objects += [job, made, own]
    return objects


def test_pods_of_the_jobs_of_a_job_set_have_one_answer() -> None:
    (answer,) = four_in_use(*((each,) for each in jobs_of_set({})))
    assert answer.title == "jobset ml/set (2 pods)"
    spread = {
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
        ]
    }
    assert len(four_in_use(*((each,) for each in jobs_of_set(spread)))) == 2


def test_replicas_beyond_the_fitting_one_have_their_own_answer() -> None:
    """Each by itself fits on the only free device; together one does."""
    slices = slice_of(DRIVER, "a", device("gpu-0"))
    pods = [each for name in "abc" for each in replica(name, count=1)]
    state = state_of(GPU, node("a"), slices, ONE_EACH, *pods)
    answers = explain_each(
        Explainer(state, Features.for_release("1.37")),
        find_all_waiting(state, None),
        group_replicas=True,
    )
    told = [(a.title, a.verdict, a.reasons[0].code if a.reasons else "") for a in answers]
    assert told == [
        ("deployment ml/web (2 pods)", "unallocatable", "device-in-use"),
        ("pod ml/a", "allocatable", ""),
    ]
    assert "1 of 3 pods of deployment ml/web fits at once" in answers[0].notes


def test_nothing_is_counted_for_one_pod() -> None:
    (answer,) = four_in_use(replica("a", count=1))
    assert answer.fixes
    assert not any(fix.relief for fix in answer.fixes)


def test_a_claim_made_for_a_pod_is_no_subject_without_it() -> None:
    """A moment after its pod is deleted, or before the pod is listed."""
    pod_a, claim_a = replica("a")
    claim_a["metadata"]["ownerReferences"] = [
        {"kind": "Pod", "name": "a", "controller": True, "uid": "u"}
    ]
    assert [answer.subject.name for answer in explain_all(pod_a, claim_a)] == ["a"]
    runs = pod("other", status={"phase": "Running"}, spec={"nodeName": "a"})  # pods are shown
    assert explain_all(claim_a, runs) == []


def test_unused_claims_come_after_waiting_pods() -> None:
    answers = explain_all(claim("a-spare", request("r", "gpu")), *replica("b"))
    assert [answer.subject.name for answer in answers] == ["b", "a-spare"]
