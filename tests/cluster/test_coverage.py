"""Coverage: how much of each kind an input shows."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.cluster import sources
from dractl.cluster.coverage import Coverage, Extent
from dractl.cluster.rights import Rights, Unread
from dractl.cluster.state import ClusterState
from tests.explain.cluster import (
    allocation,
    claim,
    device_class,
    node,
    pod,
    request,
    slice_of,
    state_of,
)


def as_stored(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object as an API server prints it."""
    return {**value, "metadata": {**value["metadata"], "uid": "1", "resourceVersion": "7"}}


CLASS = as_stored(device_class("gpu", "true"))
CLAIM = as_stored(claim("c", request("r", "gpu")))
SLICE = as_stored(slice_of("gpu.example.com", "a"))


def extents(state: ClusterState, *kinds: str) -> list[Extent]:
    return [state.extent(kind) for kind in kinds]


def test_dump_with_nodes_shows_every_kind_for_devices() -> None:
    state = state_of(as_stored(node("a")), CLASS)
    assert not state.list_unread()
    assert state.covers("ResourceClaim")


def test_a_dump_with_nodes_and_without_dra_says_nothing_of_dra() -> None:
    """`kubectl cluster-info dump` lists nodes and pods, and no object of resource.k8s.io."""
    state = state_of(as_stored(node("a")), as_stored(pod("p")))
    assert extents(state, "Node", "Pod", "ResourceSlice") == ["whole", "whole", "unseen"]


def test_claims_of_pods_prove_pods() -> None:
    held = claim(
        "held", request("r", "gpu"), status=allocation("a", ("gpu.example.com", "gpu-0"), pod="p")
    )
    state = state_of(as_stored(node("a")), as_stored(held))
    assert state.extent("Pod") == "unseen"
    assert not state.shows("Pod", "ml")


def test_undumped_volumes_are_unknown() -> None:
    state = state_of(as_stored(node("a")), CLASS)
    assert not state.covers("PersistentVolumeClaim")


def test_volume_claims_of_one_namespace_say_nothing_of_the_others() -> None:
    volume_claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "eval", "uid": "1"},
    }
    state = state_of(node("a"), volume_claim)
    assert state.shows("PersistentVolumeClaim", "eval")
    assert not state.shows("PersistentVolumeClaim", "ml")


def test_without_nodes_a_kind_without_an_object_is_unseen() -> None:
    state = state_of(CLASS, SLICE)
    assert extents(state, "DeviceClass", "ResourceSlice") == ["whole", "whole"]
    assert extents(state, "Node", "ResourceClaim", "Pod") == ["unseen", "unseen", "unseen"]


@pytest.mark.parametrize(
    "message", ["no nodes available to schedule pods", "0/0 nodes are available: no nodes match."]
)
def test_message_of_the_scheduler_proves_the_absence_of_nodes(message: str) -> None:
    condition = {"type": "PodScheduled", "status": "False", "message": message}
    waiting = pod("p", status={"phase": "Pending", "conditions": [condition]})
    assert state_of(as_stored(waiting)).extent("Node") == "whole"


def test_objects_of_one_namespace_may_be_a_part() -> None:
    state = state_of(CLAIM)
    (row,) = state.list_unread(["ResourceClaim"])
    assert row.as_json() == {
        "resource": "resourceclaims.resource.k8s.io",
        "namespace": CLAIM["metadata"]["namespace"],
        "seen": "part",
        "why": "not-in-input",
        "effect": "devices that claims hold look free",
        "add": "kubectl get resourceclaims -A -o yaml",
    }


def test_manifests_are_never_whole() -> None:
    state = state_of(device_class("gpu", "true"), slice_of("gpu.example.com", "a"))
    assert extents(state, "DeviceClass", "ResourceSlice") == ["part", "part"]


def test_unseen_kind_is_named_with_the_kubectl_command() -> None:
    (row,) = state_of(CLAIM).list_unread(["ResourceSlice"])
    assert (row.seen, row.add) == ("unseen", "kubectl get resourceslices -o yaml")


def test_two_inputs_show_more_than_each() -> None:
    state = state_of(CLAIM).merge(state_of(SLICE))
    assert extents(state, "ResourceClaim", "ResourceSlice", "Node") == ["part", "whole", "unseen"]


def test_described_machines_are_all_the_nodes() -> None:
    machines = sources.from_objects([node("a"), SLICE])
    state = state_of(device_class("gpu", "true")).merge(machines)
    assert extents(state, "Node", "ResourceSlice", "ResourceClaim") == ["whole", "whole", "whole"]
    assert state.extent("ResourceClaimTemplate") == "unseen"


def test_rights_of_a_user_limit_the_coverage() -> None:
    rights = Rights((Unread("ResourceClaim", "resourceclaims.resource.k8s.io", "ml"),))
    state = ClusterState({}, rights=rights, coverage=Coverage())
    assert extents(state, "ResourceClaim", "ResourceSlice") == ["part", "whole"]
    assert [row.why for row in state.list_unread()] == ["forbidden"]


def slices_of(*nodes: str) -> list[dict[str, Any]]:
    return [as_stored(slice_of("gpu.example.com", name)) for name in nodes]


def unschedulable(message: str) -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "False", "message": message}
    return as_stored(pod("p", status={"phase": "Pending", "conditions": [condition]}))


@pytest.mark.parametrize(
    ("objects", "extent"),
    [
        (slices_of("a", "b"), "whole"),  # b may have been deleted
        ([*slices_of("a", "b"), unschedulable("0/1 nodes are available: x.")], "whole"),
        ([*slices_of("a", "b"), unschedulable("0/2 nodes are available: x.")], "part"),
        ([*slices_of("a"), unschedulable("0/2 nodes are available: x.")], "whole"),
        (slices_of("a", "b", "c"), "part"),
    ],
)
def test_other_objects_show_that_a_dump_has_only_some_nodes(
    objects: list[dict[str, Any]], extent: Extent
) -> None:
    state = state_of(as_stored(node("a")), *objects)
    assert state.extent("Node") == extent
    assert state.lists_all_nodes == (extent == "whole")


def used_claim(name: str, consumer: str, namespace: str = "ml") -> dict[str, Any]:
    status = allocation("a", ("gpu.example.com", "gpu-0"), pod=consumer)
    return as_stored(claim(name, request("r", "gpu"), namespace=namespace, status=status))


@pytest.mark.parametrize(
    ("objects", "shows"),
    [
        ([pod("p")], False),  # kubectl get pod p -o yaml
        ([pod("p"), pod("other", spec={"nodeName": "a"})], True),  # user has ended
        ([pod("p"), pod("user")], True),
    ],
)
def test_claims_of_pods_that_a_dump_lacks_show_whether_it_has_all_pods(
    objects: list[dict[str, Any]], *, shows: bool
) -> None:
    state = state_of(as_stored(node("a")), used_claim("c", "user"), *map(as_stored, objects))
    assert state.shows("Pod", "ml") == shows


def test_pods_of_one_namespace_show_that_namespace() -> None:
    running = as_stored(pod("p", spec={"nodeName": "a"}))
    state = state_of(as_stored(node("a")), used_claim("c", "user", "eval"), running)
    assert (state.shows("Pod", "ml"), state.shows("Pod", "eval")) == (True, False)
