"""Machines that labels of nodes name: asked where no node of the cluster ever serves a subject."""

from __future__ import annotations

import pytest

from dractl.allocation import Features
from dractl.explain.answer import Explanation
from dractl.explain.ask import find_subjects
from dractl.explain.explain import Explainer
from dractl.explain.fleet.batch import explain_each
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

NVIDIA = "gpu.nvidia.com"


def explain(instance_type: str, count: int) -> Explanation:
    """Explain a pod that wants GPUs, in a cluster whose only node publishes one."""
    state = state_of(
        device_class("nvidia", f"device.driver == '{NVIDIA}'"),
        node("a", labels={"node.kubernetes.io/instance-type": instance_type}),
        slice_of(NVIDIA, "a", device("gpu-0")),
        claim("c", request("r", "nvidia", count)),
        pod("p", {"name": "g", "resourceClaimName": "c"}),
    )
    explainer = Explainer(state, Features.for_release("1.37"))
    (answer,) = explain_each(explainer, find_subjects(state, "pod/p", "ml"))
    return answer


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (8, "node labels name hardware that could serve it: a new p4d.24xlarge, if all"),
        (16, "no new p4d.24xlarge (named by node labels) would serve it either"),
    ],
)
def test_a_machine_of_the_clusters_kind_is_asked_where_no_node_ever_serves(
    count: int, words: str
) -> None:
    """Amazon's P4d instances have 8 A100 GPUs."""
    answer = explain("p4d.24xlarge", count)
    assert answer.when == "never"
    assert any(note.startswith(words) for note in answer.notes)


def test_label_of_an_unknown_machine_is_left_out() -> None:
    answer = explain("m1.custom", 8)
    assert answer.when == "never"
    assert not any("labels of nodes name" in note for note in answer.notes)


def test_no_machine_is_asked_where_the_subject_fits() -> None:
    assert not any("labels of nodes name" in note for note in explain("p4d.24xlarge", 1).notes)
