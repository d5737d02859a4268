"""Values derived from a cluster's objects are kept while these objects are the same, and no longer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from dractl.cluster.derived import MAX_CHANGED_STATES, MAX_VERSIONS, derive_from, update_from
from dractl.cluster.state import ClusterState

NODE: dict[str, Any] = {"kind": "Node", "metadata": {"name": "node-1"}}
POD: dict[str, Any] = {"kind": "Pod", "metadata": {"name": "a", "namespace": "ml"}}
COMPUTED: list[str] = []


@pytest.fixture(autouse=True)
def nothing_computed() -> None:
    COMPUTED.clear()


@derive_from("Node")
def names(state: ClusterState, prefix: str = "") -> list[str]:
    """Return the names of all nodes."""
    COMPUTED.append(prefix or "names")
    return [prefix + node.name for node in state.nodes.values()]


@update_from("Node", "Pod")
def history(state: ClusterState, previous: Mapping[str, int] | None) -> Mapping[str, int]:
    """Return the numbers of nodes and pods, and how many earlier values this one is made of."""
    COMPUTED.append("history")
    generation = 0 if previous is None else previous["generation"] + 1
    return {"generation": generation, "nodes": len(state.nodes), "pods": len(state.pods)}


def cluster() -> ClusterState:
    return ClusterState({"Node": {("", "node-1"): NODE}, "Pod": {("ml", "a"): POD}})


def test_a_value_is_computed_once_for_the_same_objects() -> None:
    state = cluster()
    assert names(state) is names(state)
    assert COMPUTED == ["names"]


def test_a_change_of_other_kinds_keeps_a_value() -> None:
    state = cluster()
    value = names(state)
    assert names(state.replace("Pod", ("ml", "a"), None)) is value


def test_a_change_of_a_kind_makes_a_new_value_and_keeps_the_old_one() -> None:
    state = cluster()
    value = names(state)
    changed = state.replace("Node", ("", "node-2"), {"metadata": {"name": "node-2"}})
    assert names(changed) == ["node-1", "node-2"]
    assert names(state) is value
    assert COMPUTED == ["names", "names"]


def test_arguments_have_values_of_their_own() -> None:
    state = cluster()
    assert names(state, "a/") == ["a/node-1"]
    assert names(state, "b/") == ["b/node-1"]


def test_clusters_without_common_objects_share_no_values() -> None:
    first, second = cluster(), ClusterState({"Node": {("", "node-1"): dict(NODE)}})
    assert names(first) is not names(second)


def test_a_value_is_updated_from_the_one_with_most_objects_in_common() -> None:
    state = cluster()
    assert history(state)["generation"] == 0
    both = state.with_kinds({"Node": {}, "Pod": {}})
    assert history(both)["generation"] == 1
    assert history(state.with_kinds({"Pod": {}}))["generation"] == 1  # from ``state``, not ``both``


def test_the_versions_of_a_value_are_bounded() -> None:
    state = cluster()
    history(state)
    for number in range(MAX_VERSIONS):
        history(state.replace("Pod", ("ml", f"p{number}"), POD))
    COMPUTED.clear()
    history(state)
    assert COMPUTED == ["history"]


def test_the_version_that_was_used_last_is_kept() -> None:
    state = cluster()
    history(state)
    for number in range(MAX_VERSIONS + 1):
        history(state.replace("Pod", ("ml", f"p{number}"), POD))
        history(state)
    assert COMPUTED.count("history") == MAX_VERSIONS + 2


def test_the_changed_states_are_bounded() -> None:
    state = cluster()

    def change(number: int) -> ClusterState:
        COMPUTED.append("change")
        return state.replace("Pod", ("ml", f"p{number}"), POD)

    for number in range(MAX_CHANGED_STATES + 1):
        first = state.cache.from_change(state, number, lambda number=number: change(number))
        again = state.cache.from_change(state, number, lambda number=number: change(number))
        assert again is first
    COMPUTED.clear()
    state.cache.from_change(state, 0, lambda: change(0))
    assert COMPUTED == ["change"]


def test_a_value_is_made_of_the_one_for_the_most_similar_number_of_objects() -> None:
    state = cluster().with_objects({"Pod": {("ml", f"p{number}"): POD for number in range(9)}})
    reduced = state.with_kinds({"Pod": {("ml", "a"): POD}})
    generations = [history(each)["generation"] for each in (state, reduced)]
    assert generations == [0, 1]
    assert history(state.replace("Pod", ("ml", "b"), POD))["generation"] == 1
    assert history(reduced.replace("Pod", ("ml", "b"), POD))["generation"] == 2


def test_a_single_object_has_one_value_in_all_states() -> None:
    raw = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}
    state = ClusterState({"Node": {("", "node-1"): raw}})
    decoded = state.decode(raw)
    assert state.replace("Pod", ("ml", "a"), POD).decode(raw) is decoded
    assert state.merge(cluster()).decode(raw) is decoded
