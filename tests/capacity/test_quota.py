"""Copies that the quotas of a namespace admit; charges as in kubernetes pkg/quota/v1/evaluator/core."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.allocation import Features
from dractl.capacity import find_subject, max_copies, place_copies
from dractl.scheduler.quota import PodsNotCreated, QuotaExceeded
from tests.capacity.test_placing import GPU, gpus, template
from tests.explain.cluster import claim, node, pod, request, state_of

ONE = template("one", request("gpu", "gpu"))
EXTENDED = {**GPU, "spec": {**GPU["spec"], "extendedResourceName": "example.com/gpu"}}


def quota(spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "ml"},
        "spec": spec,
    }


def fleet(*objects: dict[str, Any]) -> Any:
    return state_of(node("a"), gpus("a", *["r"] * 4), node("b"), gpus("b", *["r"] * 4), *objects)


@pytest.mark.parametrize(
    ("hard", "fits"),
    [
        ({"count/resourceclaims.resource.k8s.io": "3"}, 2),  # one claim is there
        ({"gpu.deviceclass.resource.k8s.io/devices": "6"}, 5),
        ({"pods": "2"}, 1),  # one pod is there; another has ended
        ({"count/pods": "5"}, 3),
        ({"requests.example.com/gpu": "3"}, 2),
        ({"services": "0", "nic.deviceclass.resource.k8s.io/devices": "0"}, 8),
        ({"pods": "0"}, 0),
    ],
)
def test_copies_stop_at_the_quota(hard: dict[str, str], fits: int) -> None:
    there = [
        claim("old", request("gpu", "gpu")),
        pod("old"),
        pod("done", status={"phase": "Succeeded"}),
    ]
    state = fleet(EXTENDED, ONE, quota({"hard": hard}), *there)
    features = Features.for_release("1.37")
    found = place_copies(find_subject(state, "template/one", "ml"), features)
    assert found.fits == fits
    assert sum(one.fits for one in found.nodes) == fits
    assert max_copies(found, features).fits == fits
    if fits < 8:
        (stop,) = found.next_attempt.stops
        assert isinstance(stop, QuotaExceeded)
        assert stop.resource in hard


def test_copies_within_a_quota_are_on_different_nodes() -> None:
    """kube-scheduler scores the node higher that is less allocated (NodeResourcesFit, LeastAllocated)."""
    state = fleet(GPU, ONE, quota({"hard": {"count/resourceclaims.resource.k8s.io": "4"}}))
    found = place_copies(find_subject(state, "template/one", "ml"), Features.for_release("1.37"))
    assert {one.name: one.fits for one in found.nodes} == {"a": 2, "b": 2}


def test_claims_count_as_extended_resources_from_1_35_on() -> None:
    state = fleet(EXTENDED, ONE, quota({"hard": {"requests.example.com/gpu": "3"}}))
    gates = {"DRAExtendedResource": True}
    asked = find_subject(state, "template/one", "ml")
    assert place_copies(asked, Features.for_release("1.34", gates)).fits == 8
    assert place_copies(asked, Features.for_release("1.35", gates)).fits == 3


@pytest.mark.parametrize(
    ("scope", "fits"),
    [({"scopes": ["Terminating"]}, 8), ({"scopes": ["NotTerminating"]}, 2), ({}, 2)],
)
def test_a_quota_with_scopes_counts_pods_in_them_alone(scope: dict[str, Any], fits: int) -> None:
    hard = {"requests.cpu": "5", "count/resourceclaims.resource.k8s.io": "100"}
    user = pod(
        "user", {"name": "gpu", "resourceClaimTemplateName": "one"}, requests={"cpu": "2"}, uid="u"
    )
    user["spec"]["nodeName"] = "elsewhere"
    user["status"] = {"phase": "Succeeded"}
    state = fleet(GPU, ONE, user, quota({"hard": hard, **scope}))
    assert (
        place_copies(find_subject(state, "pod/user", "ml"), Features.for_release("1.37")).fits
        == fits
    )


def test_a_pod_without_a_request_under_a_quota_is_refused() -> None:
    """pods.go enforcePodContainerConstraints; a LimitRange may fill in what is missing."""
    user = pod(
        "user",
        {"name": "gpu", "resourceClaimTemplateName": "one"},
        uid="u",
        status={"phase": "Succeeded"},
    )
    user["spec"]["nodeName"] = "elsewhere"
    state = fleet(GPU, ONE, user, quota({"hard": {"requests.cpu": "5"}}))
    features = Features.for_release("1.37")
    found = place_copies(find_subject(state, "pod/user", "ml"), features)
    assert found.fits == 0
    (stop,) = found.next_attempt.stops
    assert isinstance(stop, PodsNotCreated)
    assert stop.message == "failed quota: q: must specify requests.cpu for: main"
    assert place_copies(find_subject(state, "template/one", "ml"), features).fits == 8
    ranged = state.replace("LimitRange", ("ml", "defaults"), {"kind": "LimitRange"})
    assert place_copies(find_subject(ranged, "pod/user", "ml"), features).fits == 8


def test_claims_of_a_copy_are_charged_to_the_quota() -> None:
    """A shared claim exists already; the scheduler makes one for each pod with an extended resource."""
    counted = quota({"hard": {"count/resourceclaims.resource.k8s.io": "2"}})
    shared = pod("user", {"name": "gpu", "resourceClaimName": "old"})
    extended = pod("user", requests={"example.com/gpu": "1"})
    there = claim("old", request("gpu", "gpu")), claim("older", request("gpu", "gpu"))
    features = Features.for_release("1.37")
    found = place_copies(
        find_subject(fleet(GPU, counted, *there, shared), "pod/user", "ml"), features, max_count=3
    )
    assert found.fits == 3
    assert (
        place_copies(
            find_subject(fleet(EXTENDED, counted, extended), "pod/user", "ml"),
            features,
            max_count=3,
        ).fits
        == 2
    )
