"""Views of the other kinds: fields of whatever an input holds."""

from __future__ import annotations

import pytest

from dractl.model import Quantity
from dractl.views import (
    Autoscaler,
    Claim,
    ClaimTemplate,
    ConfigMap,
    GangWorkload,
    JobSet,
    Node,
    View,
    Workload,
)
from dractl.views.quota import LimitRange

VIEWS = (
    Autoscaler, Claim, ClaimTemplate, ConfigMap, JobSet, LimitRange, Node, Workload
)  # fmt: skip


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.__name__)
@pytest.mark.parametrize("raw", [None, {}, {"spec": [], "status": "x"}, {"spec": None, "data": 1}])
def test_every_field_of_a_malformed_object_reads(
    view: type[View], raw: dict[str, object] | None
) -> None:
    value = view(raw)
    fields = [name for name in dir(view) if not name.startswith("_")]
    assert value.name == ""
    for name in fields:
        getattr(value, name)


def test_conditions_keep_their_order_and_the_first_of_a_type_counts() -> None:
    conditions = [
        {"type": "Ready", "status": "True"},
        {"type": "Held", "status": "False"},
        {"type": "Ready", "status": "False"},
    ]
    view = View({"status": {"conditions": conditions}})
    assert [entry.type for entry in view.condition_entries] == ["Ready", "Held", "Ready"]
    assert view.condition("Ready").status == "True"


def test_a_claim_names_the_nodes_of_its_allocation() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["node-1"]}
    selector = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    claim = Claim({"status": {"allocation": {"nodeSelector": selector}}})
    assert claim.node_names == ("node-1",)


def test_a_template_shows_the_requests_of_its_claims() -> None:
    requests = [
        {"name": "gpu", "exactly": {"count": 2}},
        {"name": "any", "firstAvailable": [{"name": "large"}, {"name": "small"}]},
    ]
    template = ClaimTemplate({"spec": {"spec": {"devices": {"requests": requests}}}})
    gpu, alternatives = template.claim.requests
    assert (gpu.name, gpu.exactly, gpu.alternatives) == ("gpu", {"count": 2}, [])
    assert [alternative["name"] for alternative in alternatives.alternatives] == ["large", "small"]


def test_the_restarts_of_a_job_set_count_its_own_and_those_of_its_jobs() -> None:
    """kubernetes-sigs/jobset api/jobset/v1alpha2/jobset_types.go JobSetStatus."""
    status = {
        "restartsCountTowardsMax": 1,
        "replicatedJobsStatus": [{"jobRestartsCountTowardsMax": [0, 2]}],
    }
    job_set = JobSet({"spec": {"failurePolicy": {"maxRestarts": 4}}, "status": status})
    assert (job_set.max_restarts, job_set.counted_restarts) == (4, 3)


@pytest.mark.parametrize(
    ("gang", "expected"), [({"minCount": 4}, 4), ({"minCount": 0}, None), (None, None)]
)
def test_a_group_of_a_workload_is_a_gang_with_a_minimum(
    gang: dict[str, int] | None, expected: int | None
) -> None:
    """k8s.io/api scheduling/v1alpha1: PodGroup.policy.gang.minCount."""
    workload = GangWorkload({"spec": {"podGroups": [{"name": "ring", "policy": {"gang": gang}}]}})
    assert workload.min_count("ring") == expected
    assert workload.min_count("other") is None


def test_equal_amounts_of_nodes_are_one_mapping() -> None:
    first, second, third = (
        Node({"kind": "Node", "status": {"allocatable": {"cpu": cpu, "pods": pods}}})
        for cpu, pods in (("4", "110"), ("4", "110"), (4, True))
    )
    assert first.allocatable is second.allocatable
    assert third.allocatable == {"cpu": Quantity.parse("4"), "pods": Quantity()}
