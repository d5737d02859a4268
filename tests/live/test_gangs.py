"""PodGroups on a real control plane: the groups that explain says start are the ones that start, and its fixes work."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import whole_dir
from tests.explain.cluster import device_class, slice_of
from tests.live.test_capacity import MERGE
from tests.live.test_explain import apply, dractl
from tests.oracle import control_plane

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.live,
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]

VERSIONS = {"1.36": "scheduling.k8s.io/v1alpha2", "1.37": "scheduling.k8s.io/v1beta1"}
GATES = "GenericWorkload=true,DRAWorkloadResourceClaims=true,TopologyAwareWorkloadScheduling=true"
USES = {"name": "gpu", "resourceClaimTemplateName": "one"}
BY_ZONE = {"schedulingConstraints": {"topology": [{"key": "zone"}]}}
# By the namespace of a group: how its pods are scheduled, the pods themselves, and what explain says of the first.
GROUPS: dict[str, tuple[dict[str, Any], list[dict[str, Any]], str]] = {
    "short": ({"minimum": 8}, [{}] * 8, "gang-waits"),
    "starts": ({"minimum": 5}, [{}] * 8, ""),
    "fewer": ({"minimum": 5}, [{}] * 3, "gang-waits"),
    "lost": ({"name": "other", "minimum": 2}, [{}] * 2, "podgroup-missing"),
    "basic": ({}, [{}] * 2, ""),
    "shared": ({"minimum": 7, "resourceClaims": [USES]}, [{}] * 7, ""),
    "zone": ({"minimum": 4, **BY_ZONE}, [{}] * 4, "gang-waits"),
    "narrow": ({"minimum": 3, **BY_ZONE}, [{}] * 3, ""),
    "gated": (
        {"minimum": 3},
        [{}, {}, {"schedulingGates": [{"name": "example.com/later"}]}],
        "gang-waits",
    ),
    "mixed": ({"minimum": 4}, [{}, {}, {}, {"nodeSelector": {"zone": "none"}}], "gang-waits"),
}


@pytest.fixture(scope="module", params=["1.36", "1.37"])
def plane(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    shared = whole_dir()
    if shared is None:
        pytest.skip("no conformance data, no cluster program")
    folder, version = tmp_path_factory.mktemp("plane"), VERSIONS[request.param]
    gates = GATES + (",GangScheduling=true" if request.param == "1.36" else "")
    with control_plane(
        shared, request.param, folder, gates, scheduler=True, apis=f"{version}=true"
    ) as running:
        kubectl = running.dir / "kubectl"
        kubectl.write_text(
            f'#!/bin/sh\nexec {running.kube} kubectl --kubeconfig={running.kubeconfig} "$@"\n'
        )
        kubectl.chmod(0o755)
        for name in ("a", "b"):
            _node(running, name)
        objects = [
            one
            for namespace, group in GROUPS.items()
            for one in _objects(namespace, version, *group[:2])
        ]
        made = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        running.kubectl("create", "-f", "-", stdin=made)
        _settle(running)
        _run_pods(running)
        yield running


def _node(plane: Any, name: str) -> None:
    value = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"zone": f"z{name}"}},
    }
    plane.kubectl("create", "-f", "-", stdin=json.dumps(value))
    amounts = {"cpu": "64", "memory": "256Gi", "pods": "500"}
    ready = {
        "allocatable": amounts,
        "capacity": amounts,
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    plane.request("PATCH", f"/api/v1/nodes/{name}/status", json.dumps({"status": ready}), MERGE)
    plane.request("PATCH", f"/api/v1/nodes/{name}", json.dumps({"spec": {"taints": None}}), MERGE)


def _objects(
    namespace: str, version: str, group: dict[str, Any], pods: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """A group with a driver of its own: three devices on node a and two on b."""
    spec, driver = dict(group), f"{namespace}.example.com"
    name, least = spec.pop("name", "ring"), spec.pop("minimum", None)
    spec["schedulingPolicy"] = {"basic": {}} if least is None else {"gang": {"minCount": least}}
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    yield device_class(namespace, f"device.driver == '{driver}'")
    for node, count in (("a", 3), ("b", 2)):
        yield slice_of(driver, node, *({"name": f"gpu-{i}"} for i in range(count)))
    requests = [{"name": "gpu", "exactly": {"deviceClassName": namespace}}]
    own = {"namespace": namespace}
    template = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate"}
    yield {
        **template,
        "metadata": {"name": "one", **own},
        "spec": {"spec": {"devices": {"requests": requests}}},
    }
    yield {
        "apiVersion": version,
        "kind": "PodGroup",
        "metadata": {"name": name, **own},
        "spec": spec,
    }
    container = {"name": "main", "image": "x", "resources": {"claims": [{"name": "gpu"}]}}
    for number, more in enumerate(pods):
        body = {
            "schedulingGroup": {"podGroupName": "ring"},
            "containers": [container],
            "resourceClaims": [USES],
            **more,
        }
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"ring-{number}", **own},
            "spec": body,
        }


def _pods(plane: Any) -> dict[tuple[str, str], dict[str, Any]]:
    items = json.loads(plane.kubectl("get", "pods", "-A", "-o", "json").stdout)["items"]
    return {(pod["metadata"]["namespace"], pod["metadata"]["name"]): pod for pod in items}


def _on_nodes(plane: Any, namespace: str) -> list[str]:
    return [
        name
        for (where, name), pod in _pods(plane).items()
        if where == namespace and pod["spec"].get("nodeName")
    ]


def _settle(plane: Any, seconds: float = 6) -> None:
    """Waits until no pod has got a node or another condition for some seconds, which a group's backoff may take."""
    before, since = None, time.monotonic()
    while time.monotonic() < since + seconds:
        now = json.dumps([pod["spec"].get("nodeName") for pod in _pods(plane).values()])
        if now != before:
            before, since = now, time.monotonic()
        time.sleep(0.5)


def _run_pods(plane: Any) -> None:
    """Report the pods that have a node as running: no kubelet does, and explain notices that after a while."""
    for (namespace, name), pod in _pods(plane).items():
        if pod["spec"].get("nodeName"):
            status = json.dumps({"status": {"phase": "Running"}})
            path = f"/api/v1/namespaces/{namespace}/pods/{name}/status"
            plane.request("PATCH", path, status, MERGE)


def explain_ring(plane: Any, namespace: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        dractl(plane, "explain", "pod/ring-0", "-n", namespace, "-o", "json")[1]
    )
    return found


@pytest.mark.parametrize("namespace", GROUPS)
def test_groups_reported_to_start_do_start(plane: Any, namespace: str) -> None:
    found, on_nodes = explain_ring(plane, namespace), _on_nodes(plane, namespace)
    assert (found["verdict"] == "allocated") == ("ring-0" in on_nodes)
    code = found["reasons"][0]["code"] if found["reasons"] else ""
    assert code == GROUPS[namespace][2]


@pytest.mark.parametrize(
    ("namespace", "starts"), [("short", 5), ("fewer", 3), ("zone", 3), ("mixed", 4)]
)
def test_a_group_starts_after_the_first_fix(plane: Any, namespace: str, starts: int) -> None:
    if plane.release == "1.36" and namespace != "mixed":
        assert explain_ring(plane, namespace)["fixes"] == []  # minCount is immutable
        return
    apply(plane, dractl(plane, "explain", "pod/ring-0", "-n", namespace, "--patch")[1])
    end = time.monotonic() + 60  # a group is tried again after a backoff of up to ten seconds
    while len(_on_nodes(plane, namespace)) < starts and time.monotonic() < end:
        time.sleep(1)
    assert len(_on_nodes(plane, namespace)) == starts
