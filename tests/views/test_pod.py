"""Views of pods: typed fields of whatever an input holds."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.cluster.state import ClusterState
from dractl.model import Quantity
from dractl.views import ClaimReference, ContainerAmount, Pod

REFERENCES = [
    {"name": "gpu", "resourceClaimTemplateName": "gpu"},
    {"name": "nic", "resourceClaimName": "shared-nic"},
]


def pod(spec: dict[str, Any] | None = None, **fields: Any) -> Pod:
    return Pod({"metadata": {"name": "a", "namespace": "ml"}, "spec": spec or {}, **fields})


@pytest.mark.parametrize("raw", [None, {}, {"spec": None}, {"spec": [], "metadata": "x"}])
def test_a_pod_without_fields_reads_as_empty(raw: dict[str, Any] | None) -> None:
    view = Pod(raw)
    assert (view.name, view.node_name, view.labels, view.owners) == ("", "", {}, ())
    assert (view.requests, view.host_ports, view.claim_references) == ({}, (), ())
    assert view.is_pending
    assert view.priority == 0


def test_a_missing_pod_has_its_key() -> None:
    view = ClusterState({}).pod(("ml", "gone"))
    assert not view.exists
    assert (view.key, view.node_name) == (("ml", "gone"), "")


def test_a_state_hands_out_the_same_view_after_a_change_elsewhere() -> None:
    raw = {"metadata": {"name": "a", "namespace": "ml"}}
    state = ClusterState({"Pod": {("ml", "a"): raw}})
    other = state.replace("Pod", ("ml", "b"), {"metadata": {"name": "b", "namespace": "ml"}})
    assert other.pod(("ml", "a")) is state.pod(("ml", "a"))


def test_priority_comes_from_its_class_until_admission_writes_one() -> None:
    classes = {("", "high"): {"value": 1000}}
    raw = {"spec": {"priorityClassName": "high"}}
    assert Pod(raw, priority_classes=classes).priority == 1000
    assert Pod({"spec": {"priority": 5, **raw["spec"]}}, priority_classes=classes).priority == 5


def test_the_queue_is_ordered_by_priority_then_by_age() -> None:
    """priority_sort.go Less; a pod without a creation time is a new one."""
    old = pod(metadata={"name": "old", "creationTimestamp": "2026-01-01T00:00:00Z"})
    young = pod(metadata={"name": "young", "creationTimestamp": "2026-01-02T00:00:00Z"})
    new, high = pod(metadata={"name": "new"}), pod({"priority": 10}, metadata={"name": "high"})
    ranked = sorted([new, young, old, high], key=lambda view: view.queue_key or ())
    assert [view.name for view in ranked] == ["high", "old", "young", "new"]


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({"nodeName": "node-1"}, {}),
        ({"schedulingGates": [{"name": "wait"}]}, {}),
        ({"schedulerName": "volcano"}, {}),
        ({}, {"status": {"phase": "Succeeded"}}),
        ({}, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
    ],
)
def test_kube_scheduler_does_not_queue_other_pods(
    spec: dict[str, Any], fields: dict[str, Any]
) -> None:
    assert pod(spec, **fields).queue_key is None


def test_claims_come_from_the_spec_and_the_status() -> None:
    status = {
        "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "a-gpu-x"}],
        "extendedResourceClaimStatus": {"resourceClaimName": "a-extended"},
    }
    view = pod({"resourceClaims": REFERENCES}, status=status)
    assert view.claim_references[0] == ClaimReference("gpu", "", "gpu")
    assert view.claim_names == {"a-gpu-x", "shared-nic", "a-extended"}
    assert not view.has_uncreated_claims
    assert pod({"resourceClaims": REFERENCES}).has_uncreated_claims


def test_a_deployment_owns_the_pods_of_its_replica_sets() -> None:
    owner = {"kind": "ReplicaSet", "name": "web-5d9f", "controller": True}
    metadata = {"labels": {"pod-template-hash": "5d9f"}, "ownerReferences": [owner]}
    assert pod(metadata=metadata).workload == ("Deployment", "web")
    assert pod(metadata=metadata, status={"phase": "Failed"}).workload is None


def test_requests_are_those_of_the_containers_or_of_the_greediest_init_container() -> None:
    """PodRequests of component-helpers/resource: init containers run before the others."""

    def container(cpu: str) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": cpu}}}

    view = pod({"containers": [container("1"), container("2")], "initContainers": [container("4")]})
    assert view.requests == {"cpu": Quantity(4)}
    assert view.request_units == {"cpu": 4000}


def test_extended_requests_name_the_containers() -> None:
    resources = {"limits": {"vendor.com/gpu": "2", "memory": "1Gi"}}
    view = pod({"initContainers": [{}], "containers": [{"name": "c", "resources": resources}]})
    assert view.extended_requests == {"vendor.com/gpu": [ContainerAmount(1, 2)]}
    assert view.extended_request_sources == {
        "container-1-request-0": "memory: 1Gi of container c",
        "container-1-request-1": "vendor.com/gpu: 2 of container c",
    }
