"""Steps of a rollout: pkg/controller/deployment/rolling.go of Kubernetes 1.37."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.cluster.state import ClusterState
from dractl.simulation.controllers import NO_ACTION, ControllerAction, WorkloadChange, reconcile
from dractl.simulation.controllers.deployment import Fenceposts, resolve_fenceposts
from dractl.views import Pod, Workload
from tests.explain.cluster import state_of

Object = dict[str, Any]

SURGE = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
NO_SURGE = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
RECREATE = {"type": "Recreate"}


def deployment(image: str, replicas: int, strategy: Object) -> Workload:
    template = {"spec": {"image": image}}
    spec = {"replicas": replicas, "template": template, "strategy": strategy}
    return Workload({"spec": spec})


def replica_set(name: str, revision: str, owner: str = "web", namespace: str = "ml") -> Object:
    metadata = {
        "name": name,
        "namespace": namespace,
        "annotations": {"deployment.kubernetes.io/revision": revision},
        "ownerReferences": [{"kind": "Deployment", "name": owner}],
    }
    spec = {"template": {"spec": {"containers": [{"name": "main"}]}}}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec}


def pods(names: str, owner: str = "web-1") -> tuple[Pod, ...]:
    """Return a pod of each name; pods whose names begin with ``x`` have no node."""
    owners = [{"kind": "ReplicaSet", "name": owner, "controller": True}]
    return tuple(
        Pod(
            {
                "metadata": {
                    "name": name,
                    "uid": name,
                    "namespace": "ml",
                    "ownerReferences": owners,
                },
                "spec": {} if name.startswith("x") else {"nodeName": "n"},
            }
        )
        for name in names.split()
    )


def summary(action: ControllerAction) -> tuple[str, int]:
    """Return the names of the deleted pods, and the number of created ones."""
    names = (pod.name for pod in action.pods_to_delete)
    return " ".join(names), len(action.pods_to_create)


def roll_out_template(old: str, new: str, strategy: Object, rejections: int = 0) -> tuple[str, int]:
    """Return the next step of three replicas with ``old`` and ``new`` pods."""
    change = WorkloadChange(
        "Deployment",
        ("ml", "web"),
        previous=deployment("a", 3, strategy),
        current=deployment("b", 3, strategy),
        previous_pods=pods("a b c"),
        deleted_pods=(),
        active_pods=(*pods(old), *pods(new)),
        created_uids=frozenset(new.split()),
        rejections=rejections,
    )
    return summary(reconcile(ClusterState({}), change))


@pytest.mark.parametrize(
    ("old", "new", "strategy", "deleted", "created"),
    [
        ("a b c", "", SURGE, "", 1),
        ("a b c", "d", SURGE, "a", 0),  # four are available, three must be
        ("a b c", "xd", SURGE, "", 0),  # the new pod is not available: no old one ends
        ("a b xc", "xd", SURGE, "", 0),  # nor does an old one that is not available either
        ("a b xc", "d", SURGE, "xc", 0),  # cleanupUnhealthyReplicas
        ("", "d e f", SURGE, "", 0),
        ("xa xb xc", "", NO_SURGE, "xa", 0),
        ("a b c", "", NO_SURGE, "a", 0),
        ("b c", "d", NO_SURGE, "b", 0),
        ("b c", "", NO_SURGE, "", 1),
        ("a b c", "", RECREATE, "a b c", 0),
        ("", "", RECREATE, "", 3),
        ("", "d", RECREATE, "", 2),
    ],
)
def test_a_rollout_stays_between_its_fenceposts(
    old: str, new: str, strategy: Object, deleted: str, created: int
) -> None:
    assert roll_out_template(old, new, strategy) == (deleted, created)


def test_a_rejected_new_pod_takes_the_place_of_the_surge() -> None:
    """The new ReplicaSet has the replica in its spec, and keeps trying (rolling.go reconcileNewReplicaSet)."""
    assert roll_out_template("a b c", "", SURGE, rejections=1) == ("", 0)


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "fenceposts"),
    [
        (3, 0, 0, Fenceposts(0, 1)),  # one of them must not be 0
        (3, "25%", "25%", Fenceposts(1, 0)),  # surge is rounded up, unavailable down
        (1, "0%", "10%", Fenceposts(0, 1)),
        (8, 1, 2, Fenceposts(1, 2)),
    ],
)
def test_fenceposts_are_resolved_against_the_replicas(
    replicas: int, surge: object, unavailable: object, fenceposts: Fenceposts
) -> None:
    """pkg/controller/deployment/util ResolveFenceposts."""
    update = {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    assert resolve_fenceposts(deployment("a", replicas, update)) == fenceposts


def test_the_strategy_recreate_has_no_fenceposts() -> None:
    assert resolve_fenceposts(deployment("a", 3, RECREATE)) is None


def change_strategy(*replica_sets: Object, active_pods: tuple[Pod, ...]) -> ControllerAction:
    """Return the next step after a change of the strategy while a rollout is under way."""
    change = WorkloadChange(
        "Deployment",
        ("ml", "web"),
        previous=deployment("a", 2, SURGE),
        current=deployment("a", 2, NO_SURGE),
        previous_pods=active_pods,
        deleted_pods=(),
        active_pods=active_pods,
    )
    return reconcile(state_of(*replica_sets), change)


@pytest.mark.parametrize(
    "foreign_replica_sets",
    [
        (),
        (replica_set("api-9", "9", owner="api"),),
        (replica_set("web-9", "9", namespace="other"),),
    ],
)
def test_pods_of_the_latest_revision_are_the_new_ones(
    foreign_replica_sets: tuple[Object, ...],
) -> None:
    """The template stays the same, so only the ReplicaSet shows the revision of a pod."""
    replica_sets = (replica_set("web-1", "1"), replica_set("web-2", "2"), *foreign_replica_sets)
    active_pods = (*pods("a b"), *pods("c", owner="web-2"))
    assert summary(change_strategy(*replica_sets, active_pods=active_pods)) == ("a b", 0)
    newest_pods = pods("a b", owner="web-2")
    assert change_strategy(*replica_sets, active_pods=newest_pods) == NO_ACTION


def test_a_paused_deployment_does_not_roll_out() -> None:
    paused = Workload({"spec": {**deployment("b", 3, SURGE).spec, "paused": True}})
    active_pods = pods("a b c")
    change = WorkloadChange(
        "Deployment",
        ("ml", "web"),
        previous=deployment("a", 3, SURGE),
        current=paused,
        previous_pods=active_pods,
        deleted_pods=(),
        active_pods=active_pods,
    )
    assert reconcile(ClusterState({}), change) == NO_ACTION
