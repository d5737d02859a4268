"""Defaults of an API server, beside what kube-apiserver 1.37 stored in a dry run."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dractl.objects.defaults import set_defaults
from dractl.views import Node, Pod, Workload
from dractl.views.volumes import PersistentVolume, PersistentVolumeClaim, StorageClass

RECORDED = json.loads(
    (Path(__file__).parents[1] / "data" / "defaults-1.37.json").read_text(encoding="utf-8")
)["objects"]
DRA = [row for row in RECORDED if row["object"]["apiVersion"].startswith("resource.k8s.io/")]
CLAIMS = [row for row in DRA if row["object"]["kind"].startswith("ResourceClaim")]


def names(rows: list[dict[str, Any]]) -> list[str]:
    return [row["object"]["metadata"]["name"] for row in rows]


@pytest.mark.parametrize("row", CLAIMS, ids=names(CLAIMS))
def test_claims_and_templates_get_the_defaults_of_the_server(row: dict[str, Any]) -> None:
    stored = copy.deepcopy(row["stored"]["spec"])
    if row["object"]["kind"] == "ResourceClaimTemplate":
        assert stored.pop("metadata") == {}  # the server writes it out
    for request in (stored.get("spec") or stored)["devices"]["requests"]:
        if request.get("deviceClassName") == "":
            del request["deviceClassName"]  # v1beta1 writes it out beside firstAvailable
    assert set_defaults(row["object"])["spec"] == stored


OTHERS = [row for row in DRA if row not in CLAIMS]


@pytest.mark.parametrize("row", OTHERS, ids=names(OTHERS))
def test_other_objects_of_dra_get_no_default_but_the_time_of_taints(row: dict[str, Any]) -> None:
    """``timeAdded`` is the time of the request, which no file knows."""
    stored = copy.deepcopy(row["stored"]["spec"])
    taints = [taint for device in stored.get("devices", ()) for taint in device.get("taints", ())]
    for taint in [*taints, *([stored["taint"]] if "taint" in stored else [])]:
        del taint["timeAdded"]
    assert set_defaults(row["object"])["spec"] == stored


def test_an_object_is_not_modified() -> None:
    before = json.dumps(DRA)
    for row in DRA:
        set_defaults(row["object"])
    assert json.dumps(DRA) == before


@pytest.mark.parametrize("requests", [None, [None], ["x"], [{"exactly": "x"}], {"a": 1}, 7])
def test_malformed_requests_stay_unchanged(requests: Any) -> None:
    value = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "spec": {"devices": {"requests": requests}},
    }
    set_defaults(value)


Read = Callable[[Any], Any]
POD_FIELDS: tuple[Read, ...] = (
    lambda pod: pod.restart_policy,
    lambda pod: pod.scheduler_name,
    lambda pod: pod.may_preempt,
    lambda pod: pod.priority,
    lambda pod: pod.requests,
    lambda pod: pod.request_units,
    lambda pod: pod.extended_requests,
    lambda pod: pod.host_ports,
    lambda pod: pod.spread_constraints,
    lambda pod: pod.node_affinity,
    lambda pod: [reference.name for reference in pod.volume_claims],
)
VIEWS: dict[str, tuple[type, tuple[Read, ...]]] = {
    "Pod": (Pod, POD_FIELDS),
    "Node": (Node, (lambda node: node.allocatable, lambda node: node.unschedulable)),
    "PersistentVolumeClaim": (
        PersistentVolumeClaim,
        (lambda claim: claim.volume_mode, lambda claim: claim.requested_bytes),
    ),
    "PersistentVolume": (PersistentVolume, (lambda volume: volume.volume_mode,)),
    "StorageClass": (StorageClass, (lambda of: of.waits_for_consumer, lambda of: of.provisions)),
    "Job": (
        Workload,
        (
            lambda job: job.parallelism,
            lambda job: job.completions,
            lambda job: job.completion_mode,
            lambda job: job.is_suspended,
        ),
    ),
    **{
        kind: (
            Workload,
            (
                lambda workload: workload.replicas,
                lambda workload: workload.strategy_type,
                lambda workload: workload.update_strategy_type,
                lambda workload: workload.pod_management_policy,
                lambda workload: workload.is_paused,
                lambda workload: workload.template_pod.requests,
                lambda workload: workload.template_pod.scheduler_name,
            ),
        )
        for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")
    },
}
CORE = [row for row in RECORDED if row["object"]["kind"] in VIEWS]


@pytest.mark.parametrize("row", CORE, ids=names(CORE))
def test_manifests_read_as_the_stored_objects(row: dict[str, Any]) -> None:
    view, reads = VIEWS[row["object"]["kind"]]
    written, stored = view(set_defaults(row["object"])), view(row["stored"])
    for number, read in enumerate(reads):
        assert read(written) == read(stored), number
