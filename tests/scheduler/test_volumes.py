"""Volumes of a pod, as VolumeRestrictions, VolumeBinding and VolumeZone see them.

Messages are those that real schedulers wrote into the conditions of pods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dractl.allocation import Features
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.rejection import NoMatchingVolume
from tests.explain.cluster import node, pod, state_of

if TYPE_CHECKING:
    from dractl.cluster.state import ClusterState
    from dractl.scheduler.verdict import Attempt

ZONE = "topology.kubernetes.io/zone"
USES = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
A, B = node("a-1", labels={ZONE: "a"}), node("b-1", labels={ZONE: "b"})


def claim(
    name: str = "data",
    *,
    volume: str = "",
    modes: tuple[str, ...] = ("ReadWriteOnce",),
    **spec: Any,
) -> Any:
    bound = {"pv.kubernetes.io/bind-completed": "yes"} if volume else {}
    metadata = {
        "name": name,
        "namespace": "ml",
        "uid": f"uid-{name}",
        "annotations": {**bound, **spec.pop("notes", {})},
    }
    made = {"storageClassName": "fast", "accessModes": list(modes), **spec}
    made.setdefault("resources", {"requests": {"storage": "10Gi"}})
    if volume:
        made["volumeName"] = volume
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": made}


def volume(
    name: str, *zones: str, size: str = "10Gi", phase: str = "Available", **more: Any
) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
    }
    if zones:
        term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": list(zones)}]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    metadata = {"name": name, "labels": more.pop("labels", {})}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": metadata,
        "spec": {**spec, **more},
        "status": {"phase": phase},
    }


def storage_class(
    mode: str = "WaitForFirstConsumer", provisioner: str = "csi.example.com", **more: Any
) -> Any:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
        **more,
    }


def attempt(*objects: dict[str, Any], **more: Any) -> Attempt:
    subject = pod("p", spec={"volumes": USES}, **more)
    state: ClusterState = state_of(subject, A, B, *objects)
    return Scheduler(state, Features.for_release("1.37")).attempt_pod(subject)


def fits(*objects: dict[str, Any]) -> list[str]:
    return [n.name for n in attempt(*objects).nodes if n.fits]


def test_a_volume_of_another_zone_rejects_the_node() -> None:
    result = attempt(claim(volume="pv"), volume("pv", "a", phase="Bound"), storage_class())
    assert [n.name for n in result.nodes if n.fits] == ["a-1"]
    (refused,) = [n.rejection for n in result.nodes if n.rejection is not None]
    assert refused.plugin == "VolumeBinding"
    assert refused.texts == ("node(s) didn't match PersistentVolume's node affinity",)
    assert refused.unresolvable


def test_an_unbound_immediate_claim_stops_the_pod_on_all_nodes() -> None:
    result = attempt(claim(), storage_class("Immediate"))
    # Recorded with 1.37.
    assert result.message == (
        "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
    )
    assert not result.fits


def test_a_missing_volume_claim_stops_the_pod() -> None:
    result = attempt(claim("other"), storage_class())
    assert (
        result.message
        == '0/2 nodes are available: persistentvolumeclaim "data" not found. not found'
    )


def test_a_claim_of_another_namespace_does_not_prove_that_a_claim_is_missing() -> None:
    """The dump may have the claims of that namespace only."""
    elsewhere = claim("other")
    elsewhere["metadata"]["namespace"] = "eval"
    assert attempt(elsewhere, storage_class()).fits


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        ([], ["a-1", "b-1"]),
        ([{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}], ["b-1"]),
    ],
)
def test_a_volume_is_provisioned_in_the_topology_of_its_class(
    allowed: list[Any], expected: list[str]
) -> None:
    assert fits(claim(), storage_class(allowedTopologies=allowed)) == expected


def test_a_class_without_a_provisioner_needs_a_volume() -> None:
    local = storage_class(provisioner="kubernetes.io/no-provisioner")
    assert fits(claim(), local, volume("pv", "b")) == ["b-1"]
    # A manifest has no phase: the volume is Available once it is created.
    assert fits(claim(), local, volume("pv", "b", phase="")) == ["b-1"]
    assert not fits(claim(), local, volume("pv", "b", phase="Released"))
    result = attempt(claim(), local)
    assert result.message is not None
    assert result.message.startswith(
        "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind."
    )


def test_a_rejection_names_the_nodes_of_the_matching_volume() -> None:
    local = storage_class(provisioner="kubernetes.io/no-provisioner")
    refused = {n.name: n.rejection for n in attempt(claim(), local, volume("pv", "b")).nodes}
    assert refused["b-1"] is None
    assert refused["a-1"] is not None
    (unmet,) = refused["a-1"].unmet
    assert isinstance(unmet, NoMatchingVolume)
    assert unmet.wanted is not None
    assert unmet.wanted.node_selector_terms[0].match_expressions[0].values == ("b",)
    (unmet,) = (
        u for n in attempt(claim(), local).nodes[:1] if n.rejection for u in n.rejection.unmet
    )
    assert isinstance(unmet, NoMatchingVolume)
    assert unmet.wanted is None


@pytest.mark.parametrize(
    "unfit",
    [
        volume("pv", size="9Gi"),
        volume("pv", phase="Released"),
        volume("pv", volumeMode="Block"),
        volume("pv", accessModes=["ReadOnlyMany"]),
        volume("pv", storageClassName="slow"),
        volume("pv", claimRef={"name": "other", "namespace": "ml"}),
        # component-helpers/storage/volume/pv_helpers.go FindMatchingVolume
        {**volume("pv"), "metadata": {"name": "pv", "deletionTimestamp": "2026-01-01T00:00:00Z"}},
    ],
)
def test_a_volume_unlike_the_claim_is_not_bound(unfit: dict[str, Any]) -> None:
    assert fits(claim(), storage_class(provisioner="kubernetes.io/no-provisioner"), unfit) == []


def test_a_volume_with_a_claim_reference_comes_before_a_smaller_one() -> None:
    """FindMatchingVolume: a prebound volume that the node cannot reach hides all others."""
    local = storage_class(provisioner="kubernetes.io/no-provisioner")
    meant = volume("pv", "a", size="20Gi", claimRef={"name": "data", "namespace": "ml"})
    assert fits(claim(), local, meant, volume("pv-2")) == ["a-1"]


def test_a_claim_provisioned_for_a_node_rejects_the_others() -> None:
    assert fits(claim(notes={"volume.kubernetes.io/selected-node": "b-1"}), storage_class()) == [
        "b-1"
    ]


def test_a_claim_for_one_pod_rejects_every_node_while_another_uses_it() -> None:
    spec = {"nodeName": "a-1", "volumes": USES}
    user = pod("user", spec=spec, status={"phase": "Running"})
    result = attempt(
        claim(volume="pv", modes=("ReadWriteOncePod",)),
        volume("pv", phase="Bound"),
        storage_class(),
        user,
    )
    rejections = [n.rejection for n in result.nodes if n.rejection is not None]
    assert [r.plugin for r in rejections] == ["VolumeRestrictions"] * 2
    assert rejections[0].pods == ("ml/user",)


def test_zone_labels_of_a_volume_must_equal_those_of_the_node() -> None:
    labelled = volume(
        "pv", phase="Bound", labels={"failure-domain.beta.kubernetes.io/zone": "b__c"}
    )
    result = attempt(claim(volume="pv"), labelled, storage_class())
    assert [n.name for n in result.nodes if n.fits] == ["b-1"]
    (refused,) = [n.rejection for n in result.nodes if n.rejection is not None]
    assert refused.texts == ("node(s) had no available volume zone",)


def test_a_claim_bound_to_a_missing_volume_rejects_the_node() -> None:
    result = attempt(claim(volume="pv"), volume("other"), storage_class())
    assert result.message is not None
    assert (
        "2 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
        in result.message
    )


def test_a_claim_waits_in_a_cluster_without_storage_classes() -> None:
    """Recorded with 1.37: the claim names a class that does not exist, and the cluster has none."""
    subject = pod("p", spec={"volumes": USES})
    read = state_of(subject, A, B, claim())
    state = read.with_kinds({"StorageClass": {}, "PersistentVolume": {}})
    message = Scheduler(state, Features.for_release("1.37")).attempt_pod(subject).message
    assert (
        message
        == "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
    )


@pytest.mark.parametrize("objects", [(), (claim(volume="pv"), storage_class()), (claim(),)])
def test_volumes_are_unknown_without_their_objects(objects: tuple[dict[str, Any], ...]) -> None:
    subject = pod("p", spec={"volumes": USES})
    scheduler = Scheduler(state_of(subject, A, *objects), Features.for_release("1.37"))
    assert not scheduler.volumes_of(scheduler.snapshot.pod(subject)).are_known
    assert scheduler.attempt_pod(subject).fits


def test_an_ephemeral_volumes_claim_must_be_owned_by_the_pod() -> None:
    """component-helpers/storage/ephemeral/ephemeral.go VolumeIsForPod."""
    ephemeral = [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]
    subject = pod(
        "p",
        spec={"volumes": ephemeral},
        metadata={"uid": "ours", "creationTimestamp": "2026-01-01T00:00:00Z"},
    )

    def message(owner: str) -> str | None:
        made = claim("p-v")
        made["metadata"]["ownerReferences"] = [
            {"kind": "Pod", "name": "p", "uid": owner, "controller": True}
        ]
        state = state_of(subject, A, B, made, storage_class())
        return Scheduler(state, Features.for_release("1.37")).attempt_pod(subject).message

    refused = "PVC ml/p-v was not created for pod ml/p (pod is not owner)"
    assert refused in (message("another") or "")
    assert refused not in (message("ours") or "")


ZONE_A = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}]


def attempt_ephemeral(spec: dict[str, Any], *objects: dict[str, Any], **metadata: Any) -> Attempt:
    """Attempt a pod with an ephemeral volume of a claim with ``spec``, beside claims of others."""
    ephemeral = [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]
    subject = pod("p", spec={"volumes": ephemeral}, metadata=metadata)
    state = state_of(subject, A, B, claim("other"), *objects)
    return Scheduler(state, Features.for_release("1.37")).attempt_pod(subject)


def test_a_new_pod_gets_the_claims_of_its_ephemeral_volumes() -> None:
    """The volume controller creates them after the pod (pkg/controller/volume/ephemeral)."""
    named = {"storageClassName": "fast"}
    assert attempt_ephemeral(named, storage_class()).fits
    assert [
        n.name
        for n in attempt_ephemeral(named, storage_class(allowedTopologies=ZONE_A)).nodes
        if n.fits
    ] == ["a-1"]
    assert attempt_ephemeral(named, storage_class("Immediate")).fits
    created = attempt_ephemeral(
        named, storage_class(), uid="ours", creationTimestamp="2026-01-01T00:00:00Z"
    )
    assert 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v"' in (
        created.message or ""
    )


def test_a_new_claim_of_a_missing_class_is_never_bound() -> None:
    result = attempt_ephemeral({"storageClassName": "slow"}, storage_class())
    assert "pod has unbound immediate PersistentVolumeClaims" in (result.message or "")


def test_a_new_claim_without_a_class_gets_the_newest_default() -> None:
    """storageclass.go GetDefaultClass: the newest, of equally old ones the first by name."""
    marked = {"storageclass.kubernetes.io/is-default-class": "true"}

    def default(name: str, created: str, **more: Any) -> dict[str, Any]:
        made: dict[str, Any] = storage_class(**more)
        return made | {
            "metadata": {"name": name, "annotations": marked, "creationTimestamp": created}
        }

    classes = [
        default("b", "2026-01-02T00:00:00Z"),
        default("a", "2026-01-02T00:00:00Z", allowedTopologies=ZONE_A),
        default("z", "2026-01-01T00:00:00Z"),
    ]
    assert [n.name for n in attempt_ephemeral({}, *classes).nodes if n.fits] == ["a-1"]
    assert not attempt_ephemeral({"storageClassName": ""}, *classes).fits
