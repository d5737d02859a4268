"""A pod's extended resources become requests, as kube-scheduler makes them."""

from __future__ import annotations

from typing import Any

from dractl.allocation import Features, extended_resources
from dractl.model import decode

from .conftest import API, Cluster, taken

FEATURES = Features.for_release("1.37")


def pod(*containers: dict[str, Any], init: tuple[dict[str, Any], ...] = ()) -> Any:
    spec = {"containers": list(containers), "initContainers": list(init)}
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "ns"},
            "spec": spec,
        }
    )


def container(name: str, count: int, *, kind: str = "limits", **more: Any) -> dict[str, Any]:
    resources = {kind: {"vendor.com/gpu": str(count), "cpu": "1"}}
    return {"name": name, "image": "i", "resources": resources, **more}


def machine(**allocatable: str) -> Any:
    status = {
        "allocatable": {"cpu": "8", **{key.replace("_", "/"): v for key, v in allocatable.items()}}
    }
    return decode(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}, "status": status}
    )


def make_backing_class(name: str = "gpu.io", created: str | None = None) -> Any:
    metadata = {"name": name, "creationTimestamp": created}
    spec = {"extendedResourceName": "vendor.com/gpu"}
    return decode({"apiVersion": API, "kind": "DeviceClass", "metadata": metadata, "spec": spec})


def summarize_requests(found: Any) -> list[tuple[str, str, int]]:
    return [
        (r.name, r.exactly.device_class_name, r.exactly.count)
        for r in found.claim.spec.devices.requests
    ]


def test_a_limit_becomes_a_request_of_the_class() -> None:
    found = extended_resources(pod(container("c", 2)), machine(), [make_backing_class()], FEATURES)
    assert summarize_requests(found) == [("container-0-request-1", "gpu.io", 2)]
    assert [(m.container_name, m.request_name) for m in found.mappings] == [
        ("c", "container-0-request-1")
    ]


def test_the_claim_can_be_allocated(cluster: Cluster) -> None:
    cluster.pool("gpu.io", [{"name": "a"}, {"name": "b"}])
    found = extended_resources(pod(container("c", 2)), machine(), [make_backing_class()], FEATURES)
    assert found.claim is not None
    verdict = cluster.allocator().allocate(machine(), [found.claim])
    assert taken(verdict) == ["container-0-request-1=a", "container-0-request-1=b"]


def test_a_device_plugin_on_the_node_comes_first() -> None:
    found = extended_resources(
        pod(container("c", 2)), machine(**{"vendor.com_gpu": "4"}), [make_backing_class()], FEATURES
    )
    assert found.claim is None
    assert found.misfit is None


def test_init_containers_reuse_devices_of_later_containers() -> None:
    init = (container("warm", 1), container("big", 3), container("side", 1, restartPolicy="Always"))
    found = extended_resources(
        pod(container("main", 1), init=init), machine(), [make_backing_class()], FEATURES
    )
    assert summarize_requests(found) == [
        ("container-1-request-1", "gpu.io", 1),
        ("container-2-request-1", "gpu.io", 1),
        ("container-3-request-1", "gpu.io", 1),
    ]


def test_unavailable_resource_is_named() -> None:
    other = {
        "name": "c",
        "image": "i",
        "resources": {"limits": {"vendor.com/gpu": "1", "vendor.com/fpga": "1"}},
    }
    assert (
        extended_resources(pod(other), machine(), [make_backing_class()], FEATURES).misfit
        == "vendor.com/fpga"
    )


def test_of_two_classes_the_newer_one_is_used() -> None:
    classes = [
        make_backing_class("old", "2026-01-01T00:00:00Z"),
        make_backing_class("new", "2026-02-01T00:00:00Z"),
    ]
    for order in (classes, classes[::-1]):
        found = extended_resources(pod(container("c", 1)), machine(), order, FEATURES)
        assert summarize_requests(found)[0][1] == "new"
    equal = [make_backing_class("b"), make_backing_class("a")]
    assert (
        summarize_requests(extended_resources(pod(container("c", 1)), machine(), equal, FEATURES))[
            0
        ][1]
        == "a"
    )


def test_implicit_names_and_the_gate() -> None:
    name = "deviceclass.resource.kubernetes.io/gpu.io"
    implicit = pod({"name": "c", "image": "i", "resources": {"requests": {name: "1"}}})
    assert (
        extended_resources(implicit, machine(), [make_backing_class()], FEATURES).claim is not None
    )
    off = Features.for_release("1.36", {"DRAExtendedResource": False})
    assert extended_resources(implicit, machine(), [make_backing_class()], off).claim is None
