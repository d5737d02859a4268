"""Objects of a dump that are kept, and their keys."""

from __future__ import annotations

from typing import Any

from dractl.cluster.state import add_object


def add(**value: Any) -> tuple[bool, list[tuple[str, tuple[str, str]]]]:
    kinds: dict[str, Any] = {}
    named = add_object(kinds, value, "default")
    return named, [(kind, key) for kind, objects in kinds.items() for key in objects]


def test_a_kind_of_another_api_group_is_not_kept() -> None:
    """Cluster API's Machines and others have Nodes and Pods of their own; without a name they are no mistake here."""
    assert add(apiVersion="example.com/v1", kind="Node", metadata={"name": "a"}) == (True, [])
    assert add(apiVersion="example.com/v1", kind="Node") == (True, [])
    assert add(apiVersion="example.com/v1", kind="Widget") == (True, [])


def test_events_of_both_groups_are_kept() -> None:
    for version in ("v1", "events.k8s.io/v1"):
        added = add(apiVersion=version, kind="Event", metadata={"name": "e", "namespace": "ml"})
        assert added == (True, [("Event", ("ml", "e"))])


def test_an_object_without_a_name_is_refused() -> None:
    assert add(apiVersion="v1", kind="Pod", metadata={}) == (False, [])
    assert add(apiVersion="v1", kind="Pod", metadata={"generateName": "web-"}) == (
        True,
        [("Pod", ("default", "web-"))],
    )
    assert add(apiVersion="v1", kind="Node", metadata={"name": "a", "namespace": "x"}) == (
        True,
        [("Node", ("", "a"))],
    )
