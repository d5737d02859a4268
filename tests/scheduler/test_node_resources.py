"""Requests and host ports against what a node has left."""

from __future__ import annotations

from typing import Any

import pytest

from tests.explain.cluster import node, pod
from tests.scheduler.filtering import reject, running


def test_requests_of_other_pods_use_up_a_node() -> None:
    other = running("b", "node-1", requests={"cpu": "6"})
    rejection = reject(pod("a", requests={"cpu": "2500m"}), node("node-1"), other)
    assert rejection is not None
    assert (rejection.texts, rejection.want, rejection.free) == (
        ("Insufficient cpu",),
        "2500m",
        "2",
    )
    assert not rejection.unresolvable  # ending the other pod would help
    assert reject(pod("a", requests={"cpu": "2"}), node("node-1"), other) is None


def test_no_eviction_helps_a_pod_larger_than_the_node() -> None:
    rejection = reject(pod("a", requests={"cpu": "9"}), node("node-1"))
    assert rejection is not None
    assert rejection.unresolvable


def test_ended_pods_use_nothing() -> None:
    ended = pod(
        "b", requests={"cpu": "8"}, spec={"nodeName": "node-1"}, status={"phase": "Succeeded"}
    )
    assert reject(pod("a", requests={"cpu": "8"}), node("node-1"), ended) is None


def test_a_node_takes_no_more_pods_than_it_allows() -> None:
    rejection = reject(pod("a"), node("node-1", allocatable={"pods": "1"}), running("b", "node-1"))
    assert rejection is not None
    assert rejection.texts == ("Too many pods",)


def test_a_node_manifest_without_status_has_unknown_resources() -> None:
    bare = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}
    assert reject(pod("a", requests={"cpu": "900"}), bare) is None


def test_an_init_container_counts_if_it_is_the_largest() -> None:
    spec = {"initContainers": [{"name": "i", "resources": {"requests": {"cpu": "9"}}}]}
    rejection = reject(pod("a", requests={"cpu": "1"}, spec=spec), node("node-1"))
    assert rejection is not None
    assert rejection.want == "9"


def test_cpu_is_counted_in_thousandths_and_other_resources_whole() -> None:
    """framework/types.go Resource.Add rounds each pod's CPU up to thousandths."""
    others = [running(f"p{n}", "node-1", requests={"cpu": "100u"}) for n in range(3)]
    subject = pod("a", requests={"cpu": "7998m"})
    rejection = reject(subject, node("node-1"), *others)
    assert rejection is not None
    assert rejection.resource == "cpu"
    assert reject(pod("a", requests={"cpu": "7997m"}), node("node-1"), *others) is None


@pytest.mark.parametrize("release", ["1.37", "1.38"])
def test_memory_beyond_int64_counts_as_zero_up_to_1_37(release: str) -> None:
    """Quantity.Value() of 10E wraps to 0, and saturates from 1.38 on (kubernetes#141305)."""
    refused = reject(pod("a", requests={"memory": "10E"}), node("node-1"), release=release)
    assert (refused is None) is (release == "1.37")
    assert refused is None or refused.texts == ("Insufficient memory",)


@pytest.mark.parametrize(
    ("release", "allocatable", "fits"),
    [("1.34", {}, True), ("1.34", {"x.io/gpu": "0"}, False), ("1.35", {"x.io/gpu": "0"}, True)],
)
def test_extended_resources_without_a_device_plugin_are_left_to_dra(
    release: str, allocatable: dict[str, str], fits: bool
) -> None:
    """noderesources/fit.go: up to 1.34 a device plugin that offers none has the resource, too."""
    subject = pod("a", requests={"x.io/gpu": "1"})
    rejection = reject(
        subject,
        node("node-1", allocatable=allocatable),
        release=release,
        delegated=frozenset({"x.io/gpu"}),
    )
    assert (rejection is None) == fits


def test_a_host_port_conflict_names_the_other_pod() -> None:
    ports = {"containers": [{"name": "m", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
    rejection = reject(pod("a", spec=ports), node("node-1"), running("b", "node-1", spec=ports))
    assert rejection is not None
    assert rejection.texts == ("node(s) didn't have free ports for the requested pod ports",)
    assert rejection.pods == ("ml/b",)


def test_a_sidecar_uses_its_host_port() -> None:
    ports = [{"containerPort": 80, "hostPort": 80}]
    sidecar = {"name": "s", "image": "x", "restartPolicy": "Always", "ports": ports}
    there = running("b", "node-1", spec={"initContainers": [sidecar]})
    subject = pod("a", spec={"containers": [{"name": "main", "image": "x", "ports": ports}]})
    rejection = reject(subject, node("node-1"), there)
    assert rejection is not None
    assert rejection.plugin == "NodePorts"


@pytest.mark.parametrize(
    ("ours", "theirs", "free"),
    [
        # HostPortInfo.CheckConflict: 0.0.0.0, the default, is every address.
        ("10.0.0.1", "10.0.0.2", True),
        ("10.0.0.1", "10.0.0.1", False),
        ("10.0.0.1", None, False),
        (None, "10.0.0.1", False),
        ("0.0.0.0", None, False),
    ],
)
def test_host_ports_conflict_on_the_same_address(
    ours: str | None, theirs: str | None, free: bool
) -> None:
    def listening(name: str, address: str | None, **spec: Any) -> dict[str, Any]:
        port = {"containerPort": 80, "hostPort": 80, **({"hostIP": address} if address else {})}
        return pod(
            name, spec={"containers": [{"name": "c", "image": "x", "ports": [port]}], **spec}
        )

    other = {**listening("b", theirs, nodeName="node-1"), "status": {"phase": "Running"}}
    rejection = reject(listening("a", ours), node("node-1"), other)
    assert (rejection is None) is free
    assert rejection is None or rejection.texts == (
        "node(s) didn't have free ports for the requested pod ports",
    )
