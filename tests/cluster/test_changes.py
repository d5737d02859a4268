"""Changes to a cluster: RFC 6902, and what ending a pod brings about."""

from __future__ import annotations

import pytest

from dractl.cluster.changes import (
    Create,
    Delete,
    Patch,
    PatchError,
    apply,
    apply_patch,
    parse_target,
    pointer,
)
from tests.explain.cluster import allocation, claim, node, pod, request, state_of

KEY = ("ml", "eval")


def test_patch_adds_replaces_and_removes() -> None:
    value = {"a": {"b": [1, 2]}, "c": 3}
    operations = [
        {"op": "add", "path": "/a/b/-", "value": 4},
        {"op": "replace", "path": "/a/b/0", "value": 9},
        {"op": "remove", "path": "/c"},
        {"op": "add", "path": "/d~1e", "value": {}},
    ]
    assert apply_patch(value, operations) == {"a": {"b": [9, 2, 4]}, "d/e": {}}
    assert value == {"a": {"b": [1, 2]}, "c": 3}


def test_a_patch_shares_what_it_leaves_alone_and_changes_nothing_else() -> None:
    value = {"a": {"b": [{"x": 1}], "c": [2]}, "d": {}}
    added = {"e": [1]}
    operations = [
        {"op": "add", "path": "/a/b/0/y", "value": added},
        {"op": "add", "path": "/a/b/0/y/e/-", "value": 2},
        {"op": "move", "from": "/d", "path": "/a/d"},
    ]
    after = apply_patch(value, operations)
    assert after == {"a": {"b": [{"x": 1, "y": {"e": [1, 2]}}], "c": [2], "d": {}}}
    assert value == {"a": {"b": [{"x": 1}], "c": [2]}, "d": {}}
    assert added == {"e": [1]}
    assert after["a"]["c"] is value["a"]["c"]


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/missing"},
        {"op": "replace", "path": "/a/7", "value": 1},
        {"op": "add", "path": "/x/y", "value": 1},
        {"op": "test", "path": "/a", "value": 1},
        {"op": "replace", "path": "/a/1", "value": 1},
        {"op": "remove", "path": "/a/1"},
    ],
)
def test_an_inapplicable_patch_is_refused(operation: dict) -> None:
    with pytest.raises(PatchError):
        apply_patch({"a": [1]}, [operation])


def test_a_json_pointer_escapes_slashes_and_tildes() -> None:
    assert (
        pointer("metadata", "labels", "example.com/a~b", 0)
        == "/metadata/labels/example.com~1a~0b/0"
    )


def test_targets_are_split_into_kind_and_key() -> None:
    assert parse_target("Node/node-1") == ("Node", ("", "node-1"))
    assert parse_target("Pod/ml/train-0") == ("Pod", ("ml", "train-0"))


def test_ending_the_only_pod_frees_a_claim_of_its_own_name() -> None:
    held = claim("eval", request("r", "c"), status=allocation("node-1", ("d", "gpu-0"), pod="eval"))
    state = apply(state_of(held, pod("eval")), [Delete("Pod/ml/eval")])
    assert state.get("Pod", KEY) is None
    assert "allocation" not in state.get("ResourceClaim", KEY)["status"]


def test_ending_one_of_two_pods_keeps_the_allocation() -> None:
    status = allocation("node-1", ("d", "gpu-0"), pod="eval")
    status["reservedFor"].append({"resource": "pods", "name": "other", "uid": "2"})
    state = apply(
        state_of(claim("eval", request("r", "c"), status=status), pod("eval")),
        [Delete("Pod/ml/eval")],
    )
    left = state.get("ResourceClaim", KEY)["status"]
    assert [c["name"] for c in left["reservedFor"]] == ["other"]
    assert "allocation" in left


def test_a_generated_claim_goes_with_its_pod() -> None:
    owner = {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "eval", "uid": "1"}]}
    generated = claim("eval-gpu-x", request("r", "c"), metadata=owner)
    state = apply(state_of(generated, pod("eval")), [Delete("Pod/ml/eval")])
    assert state.get("ResourceClaim", ("ml", "eval-gpu-x")) is None


def test_ending_all_pods_of_a_shared_claim_frees_its_devices() -> None:
    status = allocation("node-1", ("d", "gpu-0"), pod="eval")
    status["reservedFor"].append({"resource": "pods", "name": "other", "uid": "2"})
    before = state_of(claim("shared", request("r", "c"), status=status), pod("eval"), pod("other"))
    state = apply(before, [Delete("Pod/ml/eval"), Delete("Pod/ml/other")])
    assert "allocation" not in state.get("ResourceClaim", ("ml", "shared"))["status"]


def test_ending_a_pod_releases_a_claim_of_an_earlier_change() -> None:
    new = claim("new", request("r", "c"), status=allocation("node-1", ("d", "gpu-0"), pod="eval"))
    state = apply(state_of(pod("eval")), [Create(new), Delete("Pod/ml/eval")])
    assert "allocation" not in state.get("ResourceClaim", ("ml", "new"))["status"]


def test_ending_a_pod_leaves_claims_of_another_namespace_and_malformed_ones() -> None:
    status = allocation("node-1", ("d", "gpu-0"), pod="eval")
    other = claim("other", request("r", "c"), status=status, metadata={"namespace": "team"})
    odd = claim(
        "odd",
        request("r", "c"),
        status={"reservedFor": ["eval"]},
        metadata={"ownerReferences": "eval"},
    )
    before = state_of(other, odd, pod("eval"))
    assert apply(before, [Delete("Pod/ml/eval")]).objects("ResourceClaim") == before.objects(
        "ResourceClaim"
    )


def test_a_change_leaves_the_original_state_unchanged() -> None:
    before = state_of(node("node-1"))
    after = apply(
        before,
        [Patch("Node/node-1", ({"op": "add", "path": "/spec/unschedulable", "value": True},))],
    )
    assert after.get("Node", ("", "node-1"))["spec"] == {"unschedulable": True}
    assert before.get("Node", ("", "node-1"))["spec"] == {}


def test_an_object_is_created_and_a_missing_target_is_refused() -> None:
    state = apply(state_of(), [Create(node("node-2"))])
    assert state.get("Node", ("", "node-2")) is not None
    with pytest.raises(PatchError, match="node-9"):
        apply(state, [Delete("Node/node-9")])


def test_the_same_change_gives_the_same_cluster() -> None:
    state = state_of(node("node-1"))
    cordon = Patch("Node/node-1", ({"op": "add", "path": "/spec/unschedulable", "value": True},))
    label = Patch("Node/node-1", ({"op": "add", "path": "/spec/unschedulable", "value": 1},))
    assert apply(state, [cordon]) is apply(state, (cordon,))
    assert apply(state, [cordon]) is not apply(state, [label])
    assert apply(state, [cordon]) is not apply(state_of(node("node-1")), [cordon])


def test_a_created_object_is_itself_in_the_cluster() -> None:
    state = state_of()
    for value in (node("node-2"), node("node-2")):
        assert apply(state, [Create(value)]).get("Node", ("", "node-2")) is value
