"""kube-scheduler's words about a pod, beside the sentence that it would print by the objects."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.allocation import Features
from dractl.explain import Explainer, Explanation, Options, find_subjects
from dractl.report.explain.json import as_json
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.words import MAX_EVENT_BYTES, SchedulerWords, compare_words
from dractl.views import Pod
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

DRIVER = "gpu.example.com"
USES = {"name": "g", "resourceClaimName": "c"}
REFUSAL = "0/1 nodes are available: 1 cannot allocate all claims."
FAILURE = 'running PreBind plugin "DynamicResources": claim c: the server refused it'
OBJECTS = "2026-09-20T09:00:00Z"


def explain(
    message: str, *objects: dict[str, Any], free: bool, caveats: tuple[str, ...] = (), **event: Any
) -> Explanation:
    """Explain a pod of a cluster with one GPU, of which kube-scheduler has said a message."""
    reason = event.pop("condition", "Unschedulable")
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-09-20T09:30:00Z",
    }
    happened = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "ml"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "ml", "uid": "p"},
        "reason": "FailedScheduling",
        "source": {"component": "default-scheduler"},
        "message": event.pop("said", message),
        "count": 12,
        "firstTimestamp": "2026-09-20T09:30:00Z",
        "lastTimestamp": "2026-09-20T10:00:00Z",
        **event,
    }
    holder = claim(
        "held", request("r", "gpu"), status=allocation("node-1", (DRIVER, "gpu-0"), pod="x")
    )
    slices = slice_of(DRIVER, "node-1", device("gpu-0"))
    slices["metadata"]["creationTimestamp"] = OBJECTS
    state = state_of(
        device_class("gpu", f"device.driver == '{DRIVER}'"),
        node("node-1"),
        slices,
        claim("c", request("r", "gpu"), metadata={"uid": "c", "creationTimestamp": OBJECTS}),
        pod(
            "p",
            USES,
            metadata={"uid": "p", "creationTimestamp": OBJECTS},
            status={"phase": "Pending", "conditions": [condition]},
        ),
        happened,
        *(() if free else (holder,)),
        *objects,
    )
    (question,) = find_subjects(state, "pod/p", None)
    options = Options(attempt_notes=caveats)
    return Explainer(state, Features.for_release("1.37"), options).explain(question)


def agrees(answer: Explanation) -> bool | None:
    value: bool | None = as_json(answer)["scheduler"]["agrees"]
    return value


def test_the_same_refusal_agrees() -> None:
    answer = explain(REFUSAL, free=False)
    assert agrees(answer) is True
    assert as_json(answer)["scheduler"] == {
        "said": REFUSAL,
        "at": "2026-09-20T10:00:00Z",
        "agrees": True,
    }


def test_preemption_part_of_a_message_is_ignored() -> None:
    answer = explain(f"{REFUSAL} preemption: 0/1 nodes are available: 1 anything.", free=False)
    assert agrees(answer) is True


def test_truncated_message_agrees_with_its_beginning() -> None:
    """The API server cuts events at 1,024 bytes."""
    names = ", ".join(f"1 node(s) had taint {number}" for number in range(60))
    answer = explain(f"0/1 nodes are available: {names}"[:1024], free=False)
    assert agrees(answer) is not True
    assert agrees(explain(REFUSAL, free=False)) is True


def test_repeated_failure_is_quoted_where_the_pod_would_fit() -> None:
    answer = explain(FAILURE, free=True, condition="SchedulerError")
    assert answer.verdict == "error"
    assert answer.reasons[0].code == "scheduler-differs"
    assert "the scheduler fails (12 times since 2026-09-20T09:30:00Z" in answer.headline
    assert "the server refused it" in answer.headline
    assert not any("wait" in step.text.lower().split() for step in answer.next)
    assert agrees(answer) is False


def test_a_refusal_repeated_for_half_an_hour_is_believed() -> None:
    preemption = "0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    answer = explain(f"{REFUSAL} preemption: {preemption}", free=True)
    assert answer.verdict == "blocked"
    assert "by the objects it would fit on node-1" in answer.headline
    assert "preemption" not in answer.headline
    assert agrees(answer) is False


def test_lasting_refusal_of_an_unmodelled_release_is_believed() -> None:
    """kubernetes/kubernetes#131662: 1.33 refused claims for more than 16 devices."""
    caveats = ("dractl has no scheduler of Kubernetes 1.33: this is what that of 1.34 would do",)
    answer = explain(REFUSAL, free=True, caveats=caveats)
    assert answer.reasons[0].code == "scheduler-differs"
    assert "has not tried again" not in answer.headline
    assert any("a later patch release of Kubernetes fixes it" in s.text for s in answer.next)
    # The words of two releases about the same refusal may differ.
    assert agrees(explain("0/1 nodes: other words.", free=False, caveats=caveats)) is None


def test_a_single_refusal_may_be_older_than_a_deletion() -> None:
    """A deletion leaves no time behind: the pod may fit since then."""
    answer = explain(REFUSAL, free=True, count=1, firstTimestamp="2026-09-20T10:00:00Z")
    assert answer.reasons[0].code == "would-fit-now"
    assert agrees(answer) is None


def test_words_older_than_an_object_are_not_weighed() -> None:
    newer = slice_of(DRIVER, "node-1", device("gpu-0"))
    newer["metadata"]["creationTimestamp"] = "2026-09-20T10:00:01Z"
    answer = explain(REFUSAL, newer, free=True)
    assert agrees(answer) is None
    assert answer.reasons[0].code == "would-fit-now"


@pytest.mark.parametrize("component", ["volcano", "kubelet"])
def test_events_of_others_are_not_the_schedulers(component: str) -> None:
    answer = explain(REFUSAL, free=False, source={"component": component}, said="something else")
    assert agrees(answer) is True


def test_another_refusal_is_noted_beside_the_answer() -> None:
    message = "0/1 nodes are available: 1 node(s) were unschedulable."
    answer = explain(message, free=False)
    assert agrees(answer) is False
    assert any("kube-scheduler says otherwise" in note for note in answer.notes)


def test_cut_message_agrees_with_the_whole_one() -> None:
    """kube-scheduler cuts what it writes at NoteLengthLimit (kubernetes pkg/scheduler/
    schedule_one.go truncateMessage).
    """
    resources = {f"example.com/resource-{number}": "1" for number in range(60)}
    subject = pod("p", requests=resources)
    scheduler = Scheduler(state_of(node("node-1"), subject), Features.for_release("1.37"))
    attempt = scheduler.attempt_pod(subject)
    assert attempt.message is not None
    assert len(attempt.message) > MAX_EVENT_BYTES

    def agrees_with(message: str) -> bool | None:
        cut = SchedulerWords(f"{message[:1020]} ...", "Unschedulable", "")
        return compare_words(scheduler, Pod(subject), cut, attempt, complete=True)

    assert agrees_with(attempt.message) is True
    assert agrees_with(attempt.message.replace("resource-0", "other")) is not True
