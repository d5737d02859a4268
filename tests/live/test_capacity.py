"""fit against a real scheduler: copies are created until three stay pending; as many got a node as fit said."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.explain.cluster import device, device_class, node, request, slice_of
from tests.live.test_explain import cluster, create, dractl, tear_down

__all__ = ["cluster"]  # a fixture

pytestmark = [
    pytest.mark.live,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

ROOT = "resource.kubernetes.io/pcieRoot"
GPU, NIC = "gpu.example.com", "nic.example.com"
CLASSES = [device_class("gpu", f"device.driver == '{GPU}'"), device_class("nic", f"device.driver == '{NIC}'")]


def devices(driver: str, name: str, *roots: str) -> dict[str, Any]:
    word = driver.partition(".")[0]
    return slice_of(driver, name, *(device(f"{word}-{i}", **{ROOT: root}) for i, root in enumerate(roots)))


def template(*requests: dict[str, Any], **more: Any) -> dict[str, Any]:
    spec = {"devices": {"requests": list(requests), **more}}
    metadata = {"name": "shape", "namespace": "fit"}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": metadata,
        "spec": {"spec": spec},
    }


def copy(number: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"copy-{number}", "namespace": "fit"},
        "spec": {
            "containers": [{"name": "main", "image": "example.com/image", "resources": {"claims": [{"name": "c"}]}}],
            "resourceClaims": [{"name": "c", "resourceClaimTemplateName": "shape"}],
        },
    }


def worker(name: str, pods: str = "110") -> dict[str, Any]:
    made = node(name, allocatable={"pods": pods})
    made["status"]["capacity"] = made["status"]["allocatable"]
    return made


FLEETS: dict[str, list[dict[str, Any]]] = {
    "one": [
        template(request("gpu", "gpu")),
        *(worker("a"), devices(GPU, "a", "r", "r", "r")),
        *(worker("b"), devices(GPU, "b", "r")),
        worker("c"),
    ],
    "aligned": [
        template(request("gpu", "gpu", 2), request("nic", "nic"), constraints=[{"matchAttribute": ROOT}]),
        *(worker("a"), devices(GPU, "a", "r1", "r1", "r2", "r2", "r3"), devices(NIC, "a", "r1", "r3")),
        *(worker("b"), devices(GPU, "b", "r1", "r1"), devices(NIC, "b", "r1", "r1")),
    ],
    "few-pods": [
        template(request("gpu", "gpu")),
        *(worker("a", pods="2"), devices(GPU, "a", "r", "r", "r", "r")),
    ],
    "all-on-a-node": [
        template({"name": "gpu", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}}),
        *(worker("a"), devices(GPU, "a", "r", "r")),
        *(worker("b"), devices(GPU, "b", "r")),
    ],
}


@pytest.mark.parametrize("name", FLEETS)
def test_as_many_fit_as_the_scheduler_places(cluster: Any, name: str) -> None:
    try:
        cluster.kubectl("create", "namespace", "fit", check=False)
        for value in [*CLASSES, *FLEETS[name]]:
            create(cluster, value)
        _, text = dractl(cluster, "fit", "template/shape", "-n", "fit", "-o", "json", "--isolated")
        said = json.loads(text)
        placed = play(cluster)
        assert said["fits"] == sum(placed.values())
        assert {n["name"]: n["fits"] for n in said["nodes"] if n["fits"]} == placed
        if said["stops"] or not placed:
            assert said["schedulerMessage"] == pending_message(cluster)
    finally:
        tear_down(cluster)


def play(cluster: Any) -> dict[str, int]:
    """Creates copies until three are refused; how many each node got."""
    for number in range(1, 40):
        create(cluster, copy(number))
        pods = settled(cluster, number)
        if sum(not pod["spec"].get("nodeName") for pod in pods) >= 3:
            break
    placed: dict[str, int] = {}
    for pod in pods:
        if where := pod["spec"].get("nodeName"):
            placed[where] = placed.get(where, 0) + 1
    return placed


def settled(cluster: Any, count: int) -> list[dict[str, Any]]:
    """The pods when each has a node or the scheduler's refusal."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        pods = json.loads(cluster.kubectl("get", "pods", "-n", "fit", "-o", "json").stdout)["items"]
        if len(pods) == count and all(p["spec"].get("nodeName") or refusals(p) for p in pods):
            return pods
        time.sleep(0.2)
    raise AssertionError("the scheduler did not look at every pod within 30 seconds")


def refusals(pod: dict[str, Any]) -> list[str]:
    conditions = pod.get("status", {}).get("conditions", ())
    return [c["message"] for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"]


def pending_message(cluster: Any) -> str:
    pods = json.loads(cluster.kubectl("get", "pods", "-n", "fit", "-o", "json").stdout)["items"]
    return next(message for pod in pods if not pod["spec"].get("nodeName") for message in refusals(pod))
