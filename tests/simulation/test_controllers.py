"""What a Deployment's controller does next in a rollout: pkg/controller/deployment/rolling.go of Kubernetes 1.37."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.cluster.state import ClusterState
from dractl.simulation.controllers import REST, Act, Owned, next_act
from tests.explain.cluster import state_of

SPEC = {"template": {"spec": {"containers": [{"name": "main"}]}}}
ONE_MORE = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
ONE_LESS = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}


def deployment(image: str, replicas: int, strategy: dict[str, Any]) -> dict[str, Any]:
    return {
        "spec": {"replicas": replicas, "template": {"spec": {"image": image}}, "strategy": strategy}
    }


def replica_set(
    name: str, revision: str, owner: str = "web", namespace: str = "ml"
) -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": namespace,
        "annotations": {"deployment.kubernetes.io/revision": revision},
        "ownerReferences": [{"kind": "Deployment", "name": owner}],
    }
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": SPEC}


def pods(text: str, owner: str = "web-1") -> tuple[dict[str, Any], ...]:
    """A pod of each name; one whose name begins with ``x`` has no node."""
    owners = [{"kind": "ReplicaSet", "name": owner, "controller": True}]
    return tuple(
        {
            "metadata": {"name": name, "uid": name, "namespace": "ml", "ownerReferences": owners},
            "spec": {} if name.startswith("x") else {"nodeName": "n"},
        }
        for name in text.split()
    )


def names(act: Act) -> tuple[str, int]:
    return " ".join(each["metadata"]["name"] for each in act.end), len(act.like)


def rollout(old: str, new: str, replicas: int, strategy: dict[str, Any]) -> tuple[str, int]:
    """The pods that end next and how many are made, after the template has changed."""
    was, now = (deployment(image, replicas, strategy) for image in ("a", "b"))
    active = (*pods(old), *pods(new))
    owned = Owned(
        "Deployment", ("ml", "web"), was, now, pods(old), (), active, made=frozenset(new.split())
    )
    return names(next_act(ClusterState({}), owned))


@pytest.mark.parametrize(
    ("old", "new", "strategy", "ends", "makes"),
    [
        ("a b c", "", ONE_MORE, "", 1),
        ("a b c", "d", ONE_MORE, "a", 0),  # four are available, three must be
        ("a b c", "xd", ONE_MORE, "", 0),  # the new one is not available: nothing ends
        ("a b xc", "xd", ONE_MORE, "", 0),  # nor do old ones that are not available either
        ("a b xc", "d", ONE_MORE, "xc", 0),  # cleanupUnhealthyReplicas
        ("", "d e f", ONE_MORE, "", 0),
        ("xa xb xc", "", ONE_LESS, "xa", 0),
        ("a b c", "", ONE_LESS, "a", 0),
        ("b c", "d", ONE_LESS, "b", 0),
        ("b c", "", ONE_LESS, "", 1),
    ],
)
def test_a_rollout_keeps_as_many_pods_available_as_it_must(
    old: str, new: str, strategy: dict[str, Any], ends: str, makes: int
) -> None:
    assert rollout(old, new, 3, strategy) == (ends, makes)


def changed_strategy(*sets: dict[str, Any], active: tuple[dict[str, Any], ...]) -> Act:
    was, now = (deployment("a", 2, strategy) for strategy in (ONE_MORE, ONE_LESS))
    return next_act(
        state_of(*sets), Owned("Deployment", ("ml", "web"), was, now, active, (), active)
    )


@pytest.mark.parametrize(
    "others",
    [
        (),
        (replica_set("api-9", "9", owner="api"),),
        (replica_set("web-9", "9", namespace="other"),),
    ],
)
def test_the_pods_of_the_latest_revision_are_the_new_ones(
    others: tuple[dict[str, Any], ...],
) -> None:
    """With another strategy the template stays: which revision a pod has is known by its ReplicaSet."""
    sets = (replica_set("web-1", "1"), replica_set("web-2", "2"), *others)
    assert names(changed_strategy(*sets, active=(*pods("a b"), *pods("c", "web-2")))) == ("a b", 0)
    assert changed_strategy(*sets, active=pods("a b", "web-2")) == REST
