"""New pods as their controllers create them."""

from __future__ import annotations

from dractl.simulation.workload_pods import clone_pod
from dractl.views import Pod
from tests.simulation.cluster import replica


def bound_pod() -> Pod:
    pod = replica("web-0", "StatefulSet/web", "n-1", "gpu-0", hostname="web-0", subdomain="web")[0]
    pod["metadata"]["labels"] = {"app": "web"}
    return Pod(pod)


def test_a_new_pod_is_like_the_old_one_without_its_node_and_status() -> None:
    pod = bound_pod()
    clone = clone_pod(pod, "ReplicaSet", 3, None)
    assert clone["spec"] == {k: v for k, v in pod.spec.items() if k != "nodeName"}
    assert clone["metadata"]["labels"] == {"app": "web"}
    assert clone["metadata"]["ownerReferences"] == pod.metadata["ownerReferences"]
    assert "creationTimestamp" not in clone["metadata"]
    assert "status" not in clone


def test_new_pods_have_uids_of_their_own() -> None:
    clones = [clone_pod(bound_pod(), "ReplicaSet", number, None) for number in (0, 1)]
    assert len({clone["metadata"]["uid"] for clone in clones}) == 2
    assert len({clone["metadata"]["name"] for clone in clones}) == 2


def test_a_stateful_set_gives_a_new_pod_the_old_name() -> None:
    assert clone_pod(bound_pod(), "StatefulSet", 0, None)["metadata"]["name"] == "web-0"


def test_a_new_template_replaces_the_spec_but_not_the_identity() -> None:
    spec = {"containers": [{"name": "main", "image": "y"}], "nodeName": "n-1"}
    clone = clone_pod(bound_pod(), "StatefulSet", 0, spec)
    assert clone["spec"] == {
        "containers": [{"name": "main", "image": "y"}],
        "hostname": "web-0",
        "subdomain": "web",
    }
