"""Volumes of a pod, as VolumeRestrictions, VolumeBinding and VolumeZone see them; messages as real schedulers wrote
them into the conditions of pods."""

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
    asking = pod("p", spec={"volumes": USES}, **more)
    state: ClusterState = state_of(asking, A, B, *objects)
    return Scheduler(state, Features.for_release("1.37")).attempt_pod(asking)


def fits(*objects: dict[str, Any]) -> list[str]:
    return [n.name for n in attempt(*objects).nodes if n.fits]


def test_a_volume_in_another_zone() -> None:
    found = attempt(claim(volume="pv"), volume("pv", "a", phase="Bound"), storage_class())
    assert [n.name for n in found.nodes if n.fits] == ["a-1"]
    (refused,) = [n.rejection for n in found.nodes if n.rejection is not None]
    assert refused.plugin == "VolumeBinding"
    assert refused.texts == ("node(s) didn't match PersistentVolume's node affinity",)
    assert refused.unresolvable


def test_a_claim_that_nobody_binds_stops_the_pod_everywhere() -> None:
    found = attempt(claim(), storage_class("Immediate"))
    assert (
        found.message
        == (
            "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"  # recorded with 1.37
        )
    )
    assert not found.fits


def test_a_claim_that_is_not_there() -> None:
    found = attempt(claim("other"), storage_class())
    assert (
        found.message
        == '0/2 nodes are available: persistentvolumeclaim "data" not found. not found'
    )


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        ([], ["a-1", "b-1"]),
        ([{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}], ["b-1"]),
    ],
)
def test_a_volume_is_made_where_the_class_may(allowed: list[Any], expected: list[str]) -> None:
    assert fits(claim(), storage_class(allowedTopologies=allowed)) == expected


def test_a_class_without_provisioner_needs_a_volume() -> None:
    local = storage_class(provisioner="kubernetes.io/no-provisioner")
    assert fits(claim(), local, volume("pv", "b")) == ["b-1"]
    assert fits(claim(), local, volume("pv", "b", phase="")) == [
        "b-1"
    ]  # a manifest: it is Available once it is there
    assert not fits(claim(), local, volume("pv", "b", phase="Released"))
    found = attempt(claim(), local)
    assert found.message is not None
    assert found.message.startswith(
        "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind."
    )


def test_a_volume_that_would_do_on_other_nodes_is_told() -> None:
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
def test_volumes_that_cannot_be_bound(unfit: dict[str, Any]) -> None:
    assert fits(claim(), storage_class(provisioner="kubernetes.io/no-provisioner"), unfit) == []


def test_a_volume_meant_for_the_claim_comes_before_a_smaller_one() -> None:
    """FindMatchingVolume: a prebound volume that the node cannot reach is no match, whatever else there is."""
    local = storage_class(provisioner="kubernetes.io/no-provisioner")
    meant = volume("pv", "a", size="20Gi", claimRef={"name": "data", "namespace": "ml"})
    assert fits(claim(), local, meant, volume("pv-2")) == ["a-1"]


def test_a_claim_that_is_being_provisioned_for_a_node() -> None:
    assert fits(claim(notes={"volume.kubernetes.io/selected-node": "b-1"}), storage_class()) == [
        "b-1"
    ]


def test_a_claim_for_one_pod_only() -> None:
    spec = {"nodeName": "a-1", "volumes": USES}
    user = pod("user", spec=spec, status={"phase": "Running"})
    found = attempt(
        claim(volume="pv", modes=("ReadWriteOncePod",)),
        volume("pv", phase="Bound"),
        storage_class(),
        user,
    )
    rejections = [n.rejection for n in found.nodes if n.rejection is not None]
    assert [r.plugin for r in rejections] == ["VolumeRestrictions"] * 2
    assert rejections[0].pods == ("ml/user",)


def test_labels_of_a_volume_against_those_of_the_node() -> None:
    labelled = volume(
        "pv", phase="Bound", labels={"failure-domain.beta.kubernetes.io/zone": "b__c"}
    )
    found = attempt(claim(volume="pv"), labelled, storage_class())
    assert [n.name for n in found.nodes if n.fits] == ["b-1"]
    (refused,) = [n.rejection for n in found.nodes if n.rejection is not None]
    assert refused.texts == ("node(s) had no available volume zone",)


def test_a_bound_volume_that_is_gone() -> None:
    found = attempt(claim(volume="pv"), volume("other"), storage_class())
    assert found.message is not None
    assert (
        "2 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
        in found.message
    )


def test_a_cluster_that_has_no_storage_class() -> None:
    """Recorded with 1.37: the claim names a class that does not exist, and the cluster has none at all."""
    asking = pod("p", spec={"volumes": USES})
    read = state_of(asking, A, B, claim())
    state = read.with_kinds({"StorageClass": {}, "PersistentVolume": {}})
    message = Scheduler(state, Features.for_release("1.37")).attempt_pod(asking).message
    assert (
        message
        == "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
    )


@pytest.mark.parametrize("objects", [(), (claim(volume="pv"), storage_class()), (claim(),)])
def test_without_the_objects_nothing_is_said_of_volumes(
    objects: tuple[dict[str, Any], ...],
) -> None:
    asking = pod("p", spec={"volumes": USES})
    scheduler = Scheduler(state_of(asking, A, *objects), Features.for_release("1.37"))
    assert not scheduler.volumes_of(scheduler.snapshot.pod(asking)).are_known
    assert scheduler.attempt_pod(asking).fits


def test_a_claim_of_an_ephemeral_volume_belongs_to_its_pod() -> None:
    """component-helpers/storage/ephemeral/ephemeral.go VolumeIsForPod."""
    ephemeral = [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]
    asking = pod(
        "p",
        spec={"volumes": ephemeral},
        metadata={"uid": "ours", "creationTimestamp": "2026-01-01T00:00:00Z"},
    )

    def message(owner: str) -> str | None:
        made = claim("p-v")
        made["metadata"]["ownerReferences"] = [
            {"kind": "Pod", "name": "p", "uid": owner, "controller": True}
        ]
        state = state_of(asking, A, B, made, storage_class())
        return Scheduler(state, Features.for_release("1.37")).attempt_pod(asking).message

    refused = "PVC ml/p-v was not created for pod ml/p (pod is not owner)"
    assert refused in (message("another") or "")
    assert refused not in (message("ours") or "")


ZONE_A = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}]


def asked_for(spec: dict[str, Any], *objects: dict[str, Any], **metadata: Any) -> Attempt:
    """A pod with an ephemeral volume of a claim with ``spec``, in a cluster that has claims of others."""
    ephemeral = [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]
    asking = pod("p", spec={"volumes": ephemeral}, metadata=metadata)
    state = state_of(asking, A, B, claim("other"), *objects)
    return Scheduler(state, Features.for_release("1.37")).attempt_pod(asking)


def test_a_pod_that_is_still_to_be_made_gets_the_claims_of_its_ephemeral_volumes() -> None:
    """The ephemeral volume controller makes them when the pod is there (pkg/controller/volume/ephemeral)."""
    named = {"storageClassName": "fast"}
    assert asked_for(named, storage_class()).fits
    assert [
        n.name for n in asked_for(named, storage_class(allowedTopologies=ZONE_A)).nodes if n.fits
    ] == ["a-1"]
    assert asked_for(named, storage_class("Immediate")).fits
    created = asked_for(
        named, storage_class(), uid="ours", creationTimestamp="2026-01-01T00:00:00Z"
    )
    assert 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v"' in (
        created.message or ""
    )


def test_a_claim_to_be_made_of_a_class_that_is_not_there_is_never_bound() -> None:
    found = asked_for({"storageClassName": "slow"}, storage_class())
    assert "pod has unbound immediate PersistentVolumeClaims" in (found.message or "")


def test_a_claim_to_be_made_without_a_class_gets_the_newest_default() -> None:
    """pkg/volume/util/storageclass.go GetDefaultClass: the newest, of equally old ones the first by name."""
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
    assert [n.name for n in asked_for({}, *classes).nodes if n.fits] == ["a-1"]
    assert not asked_for({"storageClassName": ""}, *classes).fits
