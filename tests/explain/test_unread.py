"""Explain with partial rights: it answers as much as it can, and no more."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.allocation import Features
from dractl.cluster.rights import Rights, Unread
from dractl.cluster.state import ClusterState
from dractl.errors import InputError
from dractl.explain import Explainer, Explanation, find_subjects
from dractl.report.canvas import Canvas
from dractl.report.explain import json as explain_json, text as explain_text
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

PLURALS = {
    "ResourceSlice": "resourceslices.resource.k8s.io",
    "DeviceClass": "deviceclasses.resource.k8s.io",
    "ResourceClaim": "resourceclaims.resource.k8s.io",
    "ResourceClaimTemplate": "resourceclaimtemplates.resource.k8s.io",
    "Node": "nodes",
    "Pod": "pods",
    "DeviceTaintRule": "devicetaintrules.resource.k8s.io",
    "ResourceQuota": "resourcequotas",
}
CLUSTER = (
    "ResourceSlice",
    "DeviceClass",
    "Node",
    "DeviceTaintRule",
)  # what a user of one namespace is not allowed to read
SAYS = "0/2 nodes are available: 2 cannot allocate all claims. preemption: 0/2 nodes are available."
GPU = {"name": "g", "resourceClaimName": "mine"}
SLICES = [
    slice_of("gpu.example.com", name, device("gpu-0"), device("gpu-1"))
    for name in ("node-1", "node-2")
]
WHOLE = [node("node-1"), node("node-2"), device_class("gpu", "true"), *SLICES]


def cluster_as_seen(
    *objects: dict[str, Any], hidden: tuple[str, ...] = (), narrow: tuple[str, ...] = ()
) -> ClusterState:
    """A cluster as its user sees it: nothing of the kinds ``hidden``, of ``narrow`` only what is in ml."""
    kinds: dict[str, Any] = {}
    whole = state_of(*objects)
    for kind in whole.kinds:
        if kind not in hidden:
            kinds[kind] = {
                k: v for k, v in whole.objects(kind).items() if kind not in narrow or k[0] == "ml"
            }
    unread = [Unread(kind, PLURALS[kind]) for kind in hidden] + [
        Unread(kind, PLURALS[kind], "ml") for kind in narrow
    ]
    return ClusterState(kinds, rights=Rights(tuple(unread), "system:serviceaccount:ml:dev"))


def answer(state: ClusterState, name: str = "pod/train-0") -> Explanation:
    (question,) = find_subjects(state, name, "ml")
    return Explainer(state, Features.for_release("1.37")).explain(question)


def pending_pod_with_message(
    *claims: dict[str, str], says: str = SAYS, **more: Any
) -> dict[str, Any]:
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": says,
    }
    status = {"phase": "Pending", "conditions": [condition], **more.pop("status", {})}
    metadata = {
        "uid": "uid-train-0",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        **more.pop("metadata", {}),
    }
    return pod("train-0", *(claims or (GPU,)), status=status, metadata=metadata, **more)


MINE = claim("mine", request("r", "gpu", 2))


# -- devices cannot be compared --


def test_the_scheduler_is_quoted_where_devices_cannot_be_compared() -> None:
    found = answer(
        cluster_as_seen(
            *WHOLE,
            MINE,
            pending_pod_with_message(),
            hidden=CLUSTER,
            narrow=("ResourceClaim", "Pod"),
        )
    )
    assert found.verdict == "undecided"
    assert (
        'the scheduler says "0/2 nodes are available: 2 cannot allocate all claims"'
        in found.headline
    )
    assert (
        "you are not allowed to read ResourceSlices and DeviceClasses, so devices were not compared"
        in found.headline
    )
    assert found.scheduler_message == SAYS
    assert found.reasons[0].code == "not-readable"
    assert {one.resource for one in found.unread} == {
        PLURALS[kind] for kind in ("ResourceSlice", "DeviceClass", "Node")
    }
    assert "--serviceaccount=ml:dev" in found.next[-1].command
    assert not found.fixes


def test_a_pod_without_a_scheduler_condition_has_not_been_tried() -> None:
    fresh = pod("train-0", GPU, metadata={"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"})
    found = answer(cluster_as_seen(*WHOLE, MINE, fresh, hidden=CLUSTER))
    assert found.headline.startswith(
        "cannot be decided: you are not allowed to read ResourceSlices"
    )
    assert any("the scheduler has not tried the pod" in note for note in found.notes)
    assert any("kube-scheduler" in step.command for step in found.next)


def test_the_scheduler_does_not_look_at_a_pod_before_its_claim_is_created() -> None:
    entry = {"name": "g", "resourceClaimTemplateName": "two-gpus"}
    fresh = pod(
        "train-0", entry, metadata={"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    )
    found = answer(cluster_as_seen(*WHOLE, fresh, hidden=(*CLUSTER, "ResourceClaimTemplate")))
    assert not any("is kube-scheduler running" in said for said in (found.headline, *found.notes))


@pytest.mark.parametrize(
    ("changed", "code", "said"),
    [
        (
            {"spec": {"schedulingGates": [{"name": "example.com/gate"}]}},
            "scheduling-gated",
            "example.com/gate",
        ),
        (
            {"spec": {"schedulerName": "volcano"}},
            "other-scheduler",
            "spec.schedulerName is volcano",
        ),
    ],
    ids=["gate", "scheduler"],
)
def test_facts_of_the_pod_itself_are_decided(changed: dict[str, Any], code: str, said: str) -> None:
    found = answer(
        cluster_as_seen(*WHOLE, MINE, pending_pod_with_message(**changed), hidden=CLUSTER)
    )
    assert (found.verdict, found.reasons[0].code) == ("blocked", code)
    assert said in found.headline


def test_a_missing_template_is_decided_if_the_namespace_is_readable() -> None:
    other = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "two-gpus", "namespace": "ml"},
        "spec": {"spec": {"devices": {"requests": [request("r", "gpu")]}}},
    }
    uses = pending_pod_with_message({"name": "g", "resourceClaimTemplateName": "two-gpu"})
    found = answer(cluster_as_seen(*WHOLE, other, uses, hidden=CLUSTER))
    assert (found.verdict, found.reasons[0].code) == ("blocked", "template-missing")
    assert "two-gpus" in found.next[0].text
    assert any("devices were not compared" in note for note in found.notes)


def test_forbidden_template_is_not_missing() -> None:
    uses = pending_pod_with_message({"name": "g", "resourceClaimTemplateName": "two-gpus"})
    found = answer(cluster_as_seen(*WHOLE, uses, hidden=(*CLUSTER, "ResourceClaimTemplate")))
    assert found.verdict == "undecided"
    assert "does not exist" not in found.headline
    assert (
        "you are not allowed to read ResourceClaimTemplates, so the template was not looked at"
        in found.headline
    )


def test_forbidden_claim_is_not_missing() -> None:
    found = answer(
        cluster_as_seen(
            *WHOLE, MINE, pending_pod_with_message(), hidden=(*CLUSTER, "ResourceClaim")
        )
    )
    assert found.verdict == "undecided"
    assert "does not exist" not in found.headline


def test_forbidden_class_is_not_missing() -> None:
    found = answer(
        cluster_as_seen(*WHOLE, MINE, pending_pod_with_message(), hidden=("DeviceClass",))
    )
    assert found.verdict == "undecided"
    assert "you are not allowed to read DeviceClasses" in found.headline


def test_node_filters_are_asked_where_nodes_may_be_read() -> None:
    picky = pending_pod_with_message(spec={"nodeSelector": {"pool": "gpu"}})
    found = answer(cluster_as_seen(*WHOLE, MINE, picky, hidden=("ResourceSlice", "DeviceClass")))
    assert (found.verdict, found.reasons[0].code) == ("blocked", "node-filter")
    assert "pool=gpu" in found.headline


def test_a_missing_volume_claim_is_decided_if_the_namespace_is_readable() -> None:
    data = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    other = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "date", "namespace": "ml", "uid": "date"},
        "spec": {},
    }
    found = answer(
        cluster_as_seen(
            *WHOLE, MINE, other, pending_pod_with_message(spec={"volumes": [data]}), hidden=CLUSTER
        )
    )
    assert (found.verdict, found.reasons[0].code) == ("blocked", "node-filter")
    assert 'persistentvolumeclaim "data" not found' in found.headline


def test_extended_resource_may_come_from_a_forbidden_class() -> None:
    wants = pod("train-0", requests={"example.com/gpu": "1"})
    found = answer(cluster_as_seen(*WHOLE, wants, hidden=("DeviceClass",)))
    assert found.verdict == "undecided"
    assert "Insufficient" not in found.headline


def test_old_replicas_of_a_rollout_are_named() -> None:
    def metadata_of_replica(replica_set: str) -> dict[str, Any]:
        owner = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": f"web-{replica_set}",
            "controller": True,
        }
        return {"ownerReferences": [owner], "labels": {"pod-template-hash": replica_set}}

    held = claim(
        "held",
        request("r", "gpu", 2),
        status=allocation("node-1", ("gpu.example.com", "gpu-0"), pod="old"),
    )
    old = pod(
        "old",
        {"name": "g", "resourceClaimName": "held"},
        spec={"nodeName": "node-1"},
        metadata=metadata_of_replica("1"),
    )
    found = answer(
        cluster_as_seen(
            *WHOLE,
            MINE,
            held,
            old,
            pending_pod_with_message(metadata=metadata_of_replica("2")),
            hidden=CLUSTER,
        )
    )
    assert any(
        "1 old replica holds devices while Deployment web is updated" in note
        for note in found.notes
    )


def test_a_pod_whose_claims_are_allocated_needs_no_slices() -> None:
    shared = claim(
        "mine",
        request("r", "gpu"),
        status=allocation("node-1", ("gpu.example.com", "gpu-0"), pod="other"),
    )
    found = answer(
        cluster_as_seen(
            *WHOLE, shared, pending_pod_with_message(), hidden=("ResourceSlice", "DeviceClass")
        )
    )
    assert not found.unread
    assert all(reason.code != "not-readable" for reason in found.reasons)


def test_a_claim_by_itself() -> None:
    found = answer(cluster_as_seen(*WHOLE, MINE, hidden=CLUSTER), "claim/mine")
    assert found.verdict == "undecided"
    assert "devices were not compared" in found.headline


# -- devices can be compared in part --


def busy() -> list[dict[str, Any]]:
    """A namespace that cannot be seen holds all devices."""
    both = [
        claim(
            f"other-{name}",
            request("r", "gpu", 2),
            namespace="eval",
            status=allocation(
                name, ("gpu.example.com", "gpu-0"), ("gpu.example.com", "gpu-1"), pod="o"
            ),
        )
        for name in ("node-1", "node-2")
    ]
    return [*WHOLE, MINE, *both]


def test_note_warns_of_devices_held_in_other_namespaces() -> None:
    found = answer(
        cluster_as_seen(*busy(), pending_pod_with_message(), narrow=("ResourceClaim", "Pod"))
    )
    assert found.verdict == "undecided"
    assert not found.fits
    assert found.headline.startswith("may fit on node-1, node-2, but the scheduler says")
    assert (
        "you are not allowed to read claims of other namespaces, so devices that they hold look free"
        in found.headline
    )
    assert {each.verdict for each in found.nodes} == {"undecided"}
    assert not any(each.allocation for each in found.nodes)
    shown = explain_json.as_json(found)
    assert shown["unread"][0] == {
        "resource": "resourceclaims.resource.k8s.io",
        "namespace": "ml",
        "seen": "part",
        "why": "forbidden",
        "effect": "devices that they hold look free",
    }


def test_without_a_condition_it_is_as_open() -> None:
    found = answer(cluster_as_seen(*busy(), pod("train-0", GPU), narrow=("ResourceClaim",)))
    assert found.verdict == "undecided"
    assert found.headline.startswith(
        "may fit on node-1, node-2, but you are not allowed to read claims of other namespaces"
    )


@pytest.mark.parametrize(
    ("hidden", "narrow"), [(("DeviceTaintRule",), ()), (("Node",), ()), ((), ("Pod",))]
)
def test_nothing_fits_for_sure_while_something_may_not_be_read(
    hidden: tuple[str, ...], narrow: tuple[str, ...]
) -> None:
    found = answer(cluster_as_seen(*WHOLE, MINE, pod("train-0", GPU), hidden=hidden, narrow=narrow))
    assert found.verdict == "undecided"


def test_a_pod_too_large_for_every_node_is_decided() -> None:
    found = answer(
        cluster_as_seen(
            *WHOLE,
            claim("mine", request("r", "gpu", 9)),
            pending_pod_with_message(),
            narrow=("ResourceClaim", "Pod"),
        )
    )
    assert found.verdict == "unallocatable"
    assert any("claims of other namespaces" in note for note in found.notes)
    assert found.fixes
    assert not any(fix["verified"] for fix in explain_json.as_json(found)["fixes"])
    assert "each verified with what you can read" in explain_text.render(
        [found], Canvas(unicode=False)
    )


def test_slices_without_a_node_name_need_nodes() -> None:
    everywhere = slice_of("net.example.com", "x", device("nic-0"))
    everywhere["spec"].pop("nodeName")
    everywhere["spec"]["allNodes"] = True
    lonely = [
        device_class("gpu", "true"),
        everywhere,
        claim("mine", request("r", "gpu", 9)),
        pending_pod_with_message(),
    ]
    found = answer(cluster_as_seen(*lonely, hidden=("Node",)))
    assert found.verdict == "undecided"
    assert "no nodes available" not in found.headline


# -- what cannot be answered at all --


def test_a_node_with_unreadable_devices_is_an_error() -> None:
    state = cluster_as_seen(*WHOLE, hidden=("ResourceSlice",))
    with pytest.raises(InputError, match="you are not allowed to read resourceslices") as raised:
        answer(state, "node/node-1")
    assert "kubectl create clusterrole" in (raised.value.hint or "")


def test_a_driver_of_a_node_is_not_called_idle_if_claims_are_unread() -> None:
    found = answer(cluster_as_seen(*busy(), narrow=("ResourceClaim",)), "node/node-1")
    assert found.verdict == "undecided"
    assert not any(driver.restartable for driver in found.drivers)
    assert any("look free" in note for note in found.notes)


def test_unreadable_objects_are_not_called_missing() -> None:
    with pytest.raises(
        InputError, match="no node node-1 can be seen: you are not allowed to read nodes"
    ):
        find_subjects(cluster_as_seen(*WHOLE, hidden=("Node",)), "node/node-1", "ml")


def test_a_node_that_the_scheduler_counts_and_the_dump_lacks_is_not_gone() -> None:
    """`kubectl get node a -o yaml` shows one node; the scheduler has tried two."""
    state = state_of(
        device_class("gpu", "true"),
        node("a"),
        slice_of("gpu.example.com", "a", device("gpu-0")),
        slice_of("gpu.example.com", "b", device("gpu-0")),
        claim("w", request("r", "gpu", count=2)),
        pending_pod_with_message(
            {"name": "g", "resourceClaimName": "w"},
            says="0/2 nodes are available: 2 cannot allocate all claims.",
        ),
    )
    found = answer(state)
    assert "does not fit on any of the 2 nodes" in found.headline
    assert not any("does not exist" in note for note in found.notes)
    assert any("add `kubectl get nodes -o yaml`" in note for note in found.notes)
    assert not any("delete resourceslice" in step.command for step in found.next)
