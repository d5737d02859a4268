"""Verdicts are kept from one attempt to the next, and after changes that do not concern them."""

import sys
from pathlib import Path
from typing import Any

import pytest

from dractl.allocation import Allocator, Features, Survey, Verdict
from dractl.cluster.changes import Delete, Patch, apply
from dractl.cluster.state import ClusterState, add_object
from dractl.model import Node
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.cycle import SchedulingCycle
from dractl.scheduler.verdict import Attempt

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import explain as clusters

_OTHER = clusters.CLASS.replace("'gpu'", "'mig'")
"""A selector that reads the same attributes, and selects no device."""
_SELECT_NONE = {"op": "replace", "path": "/spec/selectors/0/cel/expression", "value": _OTHER}


@pytest.fixture
def scheduler() -> Scheduler:
    """Return one of two nodes, each with one free GPU; a pod asks for two."""
    kinds: dict[str, dict[tuple[str, str], dict[str, object]]] = {}
    for item in clusters.source(2)["items"]:
        add_object(kinds, item, "ml")  # type: ignore[arg-type]
    return Scheduler(ClusterState(kinds), Features.for_release("1.37"))


def fitting_nodes(scheduler: Scheduler) -> list[str]:
    pod = scheduler.state.objects("Pod")["ml", "train-0"]
    return [node.name for node in scheduler.attempt_pod(pod).nodes if node.fits]


def test_a_decisive_change_gets_a_new_verdict(scheduler: Scheduler) -> None:
    freed = scheduler.with_state(apply(scheduler.state, [Delete("Pod/ml/job-00001")]))
    without = freed.with_state(
        apply(freed.state, [Patch("DeviceClass/gpu.nvidia.com", (_SELECT_NONE,))])
    )
    assert [fitting_nodes(s) for s in (scheduler, freed, without, freed, scheduler)] == [
        [],
        ["node-00001"],
        [],
        ["node-00001"],
        [],
    ]


_FAULTY = {
    "op": "replace",
    "path": "/spec/spec/devices/requests/0/exactly/selectors/0/cel/expression",
    "value": "1 / 0 == 1",
}


def pods_of_template(scheduler: Scheduler) -> list[dict[str, object]]:
    """Return two pods that differ in their names."""
    pod = scheduler.state.objects("Pod")["ml", "train-0"]
    return [{**pod, "metadata": {**pod["metadata"], "name": name}} for name in ("first", "second")]


def test_equal_claims_share_their_verdicts(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    allocate = Allocator.allocate

    def count(allocator: Allocator, node: Node, *rest: Any) -> Verdict:
        asked.append(node.metadata.name)
        return allocate(allocator, node, *rest)

    monkeypatch.setattr(Allocator, "allocate", count)
    first, second = (scheduler.attempt_pod(pod) for pod in pods_of_template(scheduler))
    assert asked == ["node-00000", "node-00001"]
    assert [n.allocator_verdict for n in first.nodes] == [n.allocator_verdict for n in second.nodes]
    assert [claim.full_name for claim in second.nodes[0].claims] == ["ml/second-gpu"]


def attempt_alone(scheduler: Scheduler, pod: dict[str, object]) -> Attempt:
    """Attempt to place a pod without the attempts of other pods."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SchedulingCycle, "_refusal_key", None)
        return scheduler.attempt_pod(pod)


def test_equal_pods_share_a_refusal_under_the_names_of_their_claims(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = pods_of_template(scheduler)
    refusal = attempt_alone(scheduler, second)
    scheduler.attempt_pod(first)
    monkeypatch.delattr(SchedulingCycle, "_filter")
    attempt = scheduler.attempt_pod(second)
    assert attempt == refusal
    assert {claim.full_name for n in attempt.nodes for claim in n.claims} == {"ml/second-gpu"}


@pytest.mark.parametrize(
    "spec",
    [
        {"preemptionPolicy": "Never"},
        {"nodeName": "node-00001"},
        {"nodeSelector": {"kubernetes.io/hostname": "node-00000"}},
        {"tolerations": [{"operator": "Exists"}]},
    ],
)
def test_other_pods_get_a_refusal_of_their_own(
    scheduler: Scheduler, spec: dict[str, object]
) -> None:
    first, second = pods_of_template(scheduler)
    second["spec"] = {**second["spec"], **spec}  # type: ignore[dict-item]
    expected = attempt_alone(scheduler, second)
    scheduler.attempt_pod(first)
    assert scheduler.attempt_pod(second) == expected


def test_equal_claims_share_surveys_under_their_names(scheduler: Scheduler) -> None:
    for pod in pods_of_template(scheduler):
        verdict = scheduler.attempt_pod(pod).nodes[0]
        claims = [claim.claim for claim in verdict.claims if claim.claim is not None]
        expected = scheduler.allocator.survey(scheduler.state.decode(verdict.node.raw), claims)
        assert scheduler.surveys([verdict]) == {verdict.name: expected}
        assert {request.claim for request in expected.requests} == {
            f"ml/{pod['metadata']['name']}-gpu"  # type: ignore[index]
        }


def with_selector(scheduler: Scheduler, expression: str) -> Scheduler:
    patch = {**_FAULTY, "value": expression}
    return scheduler.with_state(
        apply(scheduler.state, [Patch("ResourceClaimTemplate/ml/pair", (patch,))])
    )


@pytest.mark.parametrize(("size", "surveyed"), [(50, 0), (80, 2)])
def test_selectors_with_equal_results_share_surveys_under_their_texts(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch, size: int, surveyed: int
) -> None:
    """All devices have 79.6 GiB."""
    pod = scheduler.state.objects("Pod")["ml", "train-0"]
    verdicts = scheduler.attempt_pod(pod).nodes
    scheduler.surveys(verdicts)
    expression = f"{clusters.MEMORY}.compareTo(quantity('{size}Gi')) >= 0"
    other = with_selector(scheduler, expression)
    verdicts = other.attempt_pod(pod).nodes
    claims = [claim.claim for claim in verdicts[0].claims if claim.claim is not None]
    expected = {
        verdict.name: other.allocator.survey(other.state.decode(verdict.node.raw), claims)
        for verdict in verdicts
    }
    asked: list[str] = []
    survey = Allocator.survey

    def count(allocator: Allocator, node: Node, *rest: Any) -> Survey:
        asked.append(node.metadata.name)
        return survey(allocator, node, *rest)

    monkeypatch.setattr(Allocator, "survey", count)
    found = other.surveys(verdicts)
    assert found == expected
    assert len(asked) == surveyed
    stages = found["node-00000"].requests[0].stages
    assert [each.expression for each in stages if each.name == "request-selector"] == [expression]


def test_a_fault_names_the_claim_of_each_pod(scheduler: Scheduler) -> None:
    broken = scheduler.with_state(
        apply(scheduler.state, [Patch("ResourceClaimTemplate/ml/pair", (_FAULTY,))])
    )
    for pod in pods_of_template(broken):
        attempt = broken.attempt_pod(pod)
        name = f"ml/{pod['metadata']['name']}-gpu"  # type: ignore[index]
        assert name in (attempt.message or "")
        (survey,) = broken.surveys(attempt.nodes[:1]).values()
        errors = {loss.message for s in survey.requests[0].stages for loss in s.lost if loss.error}
        assert errors
        assert all(name in message for message in errors)
