"""Rejections by the API server, of changed objects and of new pods."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.allocation import Features
from dractl.cluster.changes import Create, Patch, PatchError
from dractl.model import Target
from dractl.simulation.admission import find_pod_rejection, find_rejection
from tests.simulation.cluster import Object, claim_template, replica, scheduler_of

FEATURES = Features.for_release("1.37")
TARGET = Target(FEATURES.release, FEATURES.on)
COUNT = "/spec/devices/requests/0/exactly/count"


def set_count(claim: str, count: int) -> Patch:
    return Patch(f"ResourceClaim/ml/{claim}", ({"op": "replace", "path": COUNT, "value": count},))


def test_the_api_server_rejects_a_patch_with_a_violation() -> None:
    state = scheduler_of(replica("p")).state
    rejection = find_rejection(state, [set_count("p-g", -1)], TARGET)
    assert rejection is not None
    assert rejection.startswith("spec.devices.requests[0].exactly.count: ")


def test_earlier_violations_do_not_reject_a_change() -> None:
    pod, claim = replica("p")
    claim["spec"]["devices"]["requests"][0]["exactly"]["count"] = -1
    state = scheduler_of(pod, claim).state
    label = Patch(
        "ResourceClaim/ml/p-g",
        ({"op": "add", "path": "/metadata/labels", "value": {"team": "ml"}},),
    )
    assert find_rejection(state, [label], TARGET) is None


def test_changes_are_judged_in_their_order() -> None:
    state = scheduler_of(claim_template(1)).state
    template = {**claim_template(1), "metadata": {"name": "u", "namespace": "ml"}}
    count = {"op": "replace", "path": f"/spec{COUNT}", "value": 2}
    patch = Patch("ResourceClaimTemplate/ml/u", (count,))
    with pytest.raises(PatchError):
        find_rejection(state, [patch], TARGET)
    find_rejection(state, [Create(template), patch], TARGET)


MIN_DOMAINS = "spec.topologySpreadConstraints[0].minDomains"
ONLY_HARD = "can only use minDomains if whenUnsatisfiable=DoNotSchedule"


def spread(when_unsatisfiable: str) -> list[dict[str, Any]]:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": when_unsatisfiable,
        "minDomains": 2,
    }
    return [constraint]


@pytest.mark.parametrize(
    ("when_unsatisfiable", "rejection"),
    [("ScheduleAnyway", f"{MIN_DOMAINS}: {ONLY_HARD}"), ("DoNotSchedule", None)],
)
def test_min_domains_needs_a_hard_spread_constraint(
    when_unsatisfiable: str, rejection: str | None
) -> None:
    """kubernetes pkg/apis/core/validation/validation.go validateMinDomains."""
    pod = replica("p", topologySpreadConstraints=spread(when_unsatisfiable))[0]
    assert find_rejection(scheduler_of().state, [Create(pod)], TARGET) == rejection


def limit_range(namespace: str = "ml", kind: str = "Container") -> Object:
    limit = {"type": kind, "min": {"cpu": "2"}, "max": {"memory": "1Gi"}}
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "limits", "namespace": namespace},
        "spec": {"limits": [limit]},
    }


@pytest.mark.parametrize(
    ("requests", "rejection"),
    [
        ({"cpu": "1"}, "minimum cpu usage per Container is 2, but request is 1"),
        ({"memory": "2Gi"}, "maximum memory usage per Container is 1Gi, but request is 2Gi"),
        ({"cpu": "2", "memory": "1Gi"}, None),
        ({}, None),
    ],
)
def test_a_limit_range_bounds_the_requests_of_containers(
    requests: dict[str, str], rejection: str | None
) -> None:
    """kubernetes plugin/pkg/admission/limitranger/admission.go."""
    pod = replica("p")[0]
    pod["spec"]["containers"][0]["resources"]["requests"] = requests
    state = scheduler_of(limit_range()).state
    assert find_pod_rejection(state, FEATURES, pod) == rejection


@pytest.mark.parametrize("limits", [limit_range("other"), limit_range(kind="Pod")])
def test_limits_of_other_namespaces_and_of_pods_do_not_bound_containers(limits: Object) -> None:
    state = scheduler_of(limits).state
    assert find_pod_rejection(state, FEATURES, replica("p")[0]) is None
