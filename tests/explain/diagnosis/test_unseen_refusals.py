"""40 sentences that dractl had not read when they were written down: the right first step, or an honest quotation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dractl.allocation import Features
from dractl.explain import Explainer, Explanation, find_subjects
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
    from collections.abc import Mapping

DATA = Path(__file__).parents[2] / "data" / "unseen-refusals.json"
REFUSALS = json.loads(DATA.read_text())["refusals"]
NODE, POD, CLAIM, OTHER = "n1", "job-0", "job-0-dev-x7k2p", "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
UID = "88ba1ba9-cf2e-5ba4-9881-e2a59d9424e2"
PREFIX = "Failed to prepare dynamic resources: prepare dynamic resources: "
LOG = "read the log of driver {} on n1: it has more details than the event"
LONGEST_EVENT = 1024  # kubernetes pkg/apis/core/validation/events.go


def message_of(refusal: Mapping[str, Any]) -> str:
    """The event's message, cut as the API server wants it."""
    words = refusal.get("event", {}).get("message") or (
        f"{PREFIX}NodePrepareResources failed for ResourceClaim {CLAIM}: {refusal['words']}"
    )
    values = {"ns": "ml", "claim": CLAIM, "uid": UID, "pod": POD, "other": OTHER}
    for name, value in {**values, "device": refusal["device"]}.items():
        words = words.replace(f"{{{name}}}", value)
    return str(words[:LONGEST_EVENT])


def explain(refusal: Mapping[str, Any]) -> Explanation:
    """The answer about a pod with such an event."""
    driver, kind = refusal["driver"], refusal.get("class", refusal["driver"])
    status = allocation(NODE, (driver, refusal["device"]), pod=POD)
    if refusal.get("pods") == 2:
        status["reservedFor"].append({"resource": "pods", "name": "job-1", "uid": "job-1"})
    claimed = claim(CLAIM, request("r", kind), status=status, metadata={"uid": UID})
    if "parameters" in refusal:
        opaque = {"driver": driver, "parameters": refusal["parameters"]}
        claimed["spec"]["devices"]["config"] = [{"opaque": opaque}]
        configured = [{"source": "FromClaim", "requests": ["r"], "opaque": opaque}]
        status["allocation"]["devices"]["config"] = configured
    waiting = {"reason": refusal.get("waiting", "ContainerCreating")}
    if "waiting" in refusal:
        waiting["message"] = message_of(refusal).removeprefix("Error: ")
    container = {"name": "main", "restartCount": 0, "state": {"waiting": waiting}}
    refused = pod(
        POD,
        {"name": "c0", "resourceClaimName": CLAIM},
        metadata={"uid": POD},
        spec={"nodeName": NODE, "hostNetwork": refusal.get("hostNetwork", False)},
        status={"phase": "Pending", "containerStatuses": [container]},
    )
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "ml"},
        "involvedObject": {"kind": "Pod", "name": POD, "namespace": "ml", "uid": POD},
        "reason": refusal.get("event", {}).get("reason", "FailedPrepareDynamicResources"),
        "message": message_of(refusal),
    }
    here = node(NODE)
    here["status"]["nodeInfo"] = {"kubeletVersion": refusal.get("kubelet", "v1.36.2")}
    published = slice_of(driver, NODE, device(refusal["device"]))
    named = device_class(kind, f"device.driver == '{driver}'")
    state = state_of(named, here, published, claimed, refused, event)
    (question,) = find_subjects(state, f"pod/{POD}", None)
    return Explainer(state, Features.for_release("1.36")).explain(question)


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal["id"])
def test_a_sentence_that_was_not_read_before(refusal: Mapping[str, Any]) -> None:
    answer = explain(refusal)
    steps = [step.text for step in answer.next]
    advice = "\n".join(steps).lower()
    assert answer.verdict == "failing"
    assert refusal["quote"] in answer.headline
    assert not [wording for wording in refusal["never"] if wording in advice]
    if refusal["expect"] == "quoted":
        assert answer.headline.endswith(message_of(refusal).removeprefix(PREFIX))
        assert steps == [LOG.format(refusal["driver"])]
    else:
        assert any(wording in advice for wording in refusal["step"]), steps


def test_the_sentences_are_forty_of_many_drivers() -> None:
    assert len({refusal["id"] for refusal in REFUSALS}) == len(REFUSALS) == 40
    assert len({refusal["driver"] for refusal in REFUSALS}) >= 18
    assert all(refusal["source"] and refusal["meaning"] for refusal in REFUSALS)
