"""Faults are values: what they are about is read from fields, never from upstream's sentence."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.allocation import (
    Allocator,
    DanglingCounter,
    DanglingCounterSet,
    DuplicateDevice,
    Fatal,
    Fault,
    Features,
    NodeError,
)
from dractl.allocation.features import VARIANTS, Variant
from dractl.model import RequestRef

from .conftest import Cluster, claim, node, want

PART = {"name": "p", "consumesCounters": [{"counterSet": "s", "counters": {"c": {"value": "1"}}}]}


def fault(verdict: Any) -> Fault:
    assert isinstance(verdict, Fatal | NodeError)
    assert verdict.message == verdict.fault.text
    return verdict.fault


def test_failing_selector_names_the_request_and_the_device(cluster: Cluster) -> None:
    cluster.pool("gpu.io", [{"name": "a"}], name="pool-1")
    request = want("r", "gpu.io", 1, 'device.attributes["gpu.io"].memory == 1')
    found = fault(cluster.allocator("1.36").allocate(node(), [claim(request)]))
    assert (found.kind, found.request, str(found.device)) == (
        "selector",
        RequestRef("ns/c", "r"),
        "gpu.io/pool-1/a",
    )
    assert found.text == "claim ns/c: selector #0: CEL runtime error: no such key: memory"


def test_a_selector_that_does_not_compile_names_no_device(cluster: Cluster) -> None:
    """k8s.io/dynamic-resource-allocation structured/internal/stable/allocator_stable.go selectorsMatch."""
    cluster.pool("gpu.io", [{"name": "a"}])
    found = fault(cluster.allocator().allocate(node(), [claim(want("r", "gpu.io", 1, "device."))]))
    assert found.text.startswith("claim ns/c: selector #0: CEL compile error: ")


def test_a_fault_of_an_alternative_names_request_and_alternative(cluster: Cluster) -> None:
    cluster.pool("gpu.io", [{"name": "a"}])
    options = [
        {"name": "best", "deviceClassName": "pool.io", "allocationMode": "ExactCount", "count": 1}
    ]
    found = fault(
        cluster.allocator().allocate(node(), [claim({"name": "r", "firstAvailable": options})])
    )
    assert (found.kind, found.request, found.device_class) == (
        "class-missing",
        RequestRef("ns/c", "r", "best"),
        "pool.io",
    )
    assert str(found.request) == "r/best"
    assert found.text.startswith(
        "claim ns/c, request best: could not retrieve device class pool.io"
    )


def test_disabled_gate_is_named_even_where_upstream_does_not_name_it(cluster: Cluster) -> None:
    cluster.pool("gpu.io", [{"name": "a"}])
    request = want("r", "gpu.io", adminAccess=True)
    found = fault(
        cluster.allocator("1.35", DRAAdminAccess=False).allocate(node(), [claim(request)])
    )
    assert (found.kind, found.gate) == ("gate-off", "DRAAdminAccess")
    assert (
        found.text
        == "claim ns/c, request r: admin access is requested, but the feature is disabled"
    )


@pytest.mark.parametrize(
    ("release", "request_", "text"),
    [
        ("1.36", None, "claim ns/c: number of requested devices 33 exceeds the claim limit of 32"),
        (
            "1.37",
            "r",
            "claim ns/c, request r: adding 33 devices exceeds the claim limit of 32, with 0 already accounted for",
        ),
    ],
)
def test_too_many_devices(cluster: Cluster, release: str, request_: str | None, text: str) -> None:
    cluster.pool("gpu.io", [{"name": "a"}])
    found = fault(cluster.allocator(release).allocate(node(), [claim(want("r", "gpu.io", 33))]))
    assert (found.kind, found.claim, found.text) == ("limit", "ns/c", text)
    assert (None if found.request is None else str(found.request)) == request_


def test_mode_all_names_the_incomplete_or_invalid_pool(cluster: Cluster) -> None:
    every = {"name": "r", "exactly": {"deviceClassName": "gpu.io", "allocationMode": "All"}}
    cluster.pool("gpu.io", [{"name": "a"}])
    cluster.pool("nic.io", [{"name": "n"}], name="pool-1", pool={"resourceSliceCount": 2})
    found = fault(cluster.allocator().allocate(node(), [claim(every)]))
    assert (found.kind, found.pool, str(found.request)) == (
        "pool-incomplete",
        ("nic.io", "pool-1"),
        "r",
    )
    cluster.slices.pop()
    cluster.pool("nic.io", [{"name": "n"}, {"name": "n"}], name="pool-1")
    found = fault(cluster.allocator().allocate(node(), [claim(every)]))
    assert (found.kind, found.pool) == ("pool-invalid", ("nic.io", "pool-1"))


@pytest.mark.parametrize(
    ("devices", "count", "text"),
    [
        ([{"name": "n"}], 2, "is currently being updated"),
        ([{"name": "n"}, {"name": "n"}], 1, "is currently invalid"),
    ],
)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_broken_pool_fails_mode_all_on_its_node_alone_from_1_38_on(
    cluster: Cluster, variant: Variant, devices: list[Any], count: int, text: str
) -> None:
    """kubernetes#141898 wraps the error of all three variants; its text stays."""
    every = {"name": "r", "exactly": {"deviceClassName": "gpu.io", "allocationMode": "All"}}
    cluster.pool("gpu.io", [{"name": "a"}])
    cluster.pool("nic.io", devices, name="pool-1", pool={"resourceSliceCount": count})
    verdicts = []
    for release in ("1.37", "1.38"):
        allocator = cluster.allocator(release)
        chosen = Allocator(
            allocator.slices,
            allocator.classes,
            features=Features(release, allocator.features.on & {"DRAAdminAccess"}, variant=variant),
        )
        verdicts.append(chosen.allocate(node(), [claim(every)]))
    before, after = verdicts
    assert isinstance(before, Fatal)
    assert isinstance(after, NodeError)
    assert after.message == before.message
    assert after.message.endswith(f"asks for all devices, but resource pool nic.io/pool-1 {text}")


def test_constraint_broken_by_mode_all_is_named_with_the_device(cluster: Cluster) -> None:
    devices = [{"name": n, "attributes": {"root": {"string": n}}} for n in ("a", "b")]
    cluster.pool("gpu.io", devices)
    every = {"name": "r", "exactly": {"deviceClassName": "gpu.io", "allocationMode": "All"}}
    limits = [{"distinctAttribute": "gpu.io/root"}, {"matchAttribute": "gpu.io/root"}]
    found = fault(cluster.allocator().allocate(node(), [claim(every, constraints=limits)]))
    assert (found.kind, found.constraint, str(found.device)) == ("constraint", 1, "gpu.io/node-1/b")


def test_a_panic_of_a_release_carries_its_issue(cluster: Cluster) -> None:
    cluster.pool("gpu.io", [PART], pool={"resourceSliceCount": 2})
    cluster.pool(
        "gpu.io",
        [],
        pool={"resourceSliceCount": 2},
        sharedCounters=[{"name": "s", "counters": {"c": {"value": "1"}}}],
    )
    every = {"name": "r", "exactly": {"deviceClassName": "gpu.io", "allocationMode": "All"}}
    verdict = cluster.allocator("1.35", DRAPartitionableDevices=True).allocate(
        node(), [claim(every)]
    )
    found = fault(verdict)
    assert isinstance(verdict, Fatal)
    assert verdict.panics
    assert (found.kind, found.issue) == ("panic", "kubernetes#138882")
    assert found.text == "runtime error: invalid memory address or nil pointer dereference"


@pytest.mark.parametrize(
    ("devices", "sets", "expected", "text"),
    [
        ([{"name": "x"}, {"name": "x"}], [], DuplicateDevice("x"), "duplicate device name x"),
        ([PART], [], DanglingCounterSet("s", "p"), "counter set s not found"),
        (
            [PART],
            [{"name": "s", "counters": {"other": {"value": "1"}}}],
            DanglingCounter("s", "c", "p"),
            "counter c not found in counter set s",
        ),
    ],
)
def test_invalid_pool_has_its_reason(
    cluster: Cluster, devices: list[Any], sets: list[Any], expected: object, text: str
) -> None:
    count = {"resourceSliceCount": 1 + bool(sets)}
    cluster.pool("gpu.io", devices, pool=count)
    if sets:
        cluster.pool("gpu.io", [], pool=count, sharedCounters=sets)
    verdict = cluster.allocator().allocate(node(), [claim(want("r", "gpu.io"))])
    assert fault(verdict).kind == "pools-invalid"
    (pool,) = cluster.allocator().survey(node(), [claim(want("r", "gpu.io"))]).pools
    assert pool.fault == expected
    assert pool.fault is not None
    assert pool.fault.text == text


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("1.36", "runtime error: integer divide by zero"),
        ("1.38", "rounding request 5 up to the next step passes MaxInt64"),
    ],
)
def test_step_wrapping_to_zero_is_a_fault(cluster: Cluster, release: str, text: str) -> None:
    """Quantity.Value() of 2^64 is 0 up to 1.37, where Go's division panics, and the largest int64 from 1.38 on."""
    policy = {"default": "1", "validRange": {"min": "1", "step": str(2**64)}}
    capacity = {"memory": {"value": "1000E", "requestPolicy": policy}}
    cluster.pool("gpu.io", [{"name": "a", "allowMultipleAllocations": True, "capacity": capacity}])
    asked = want("r", "gpu.io", capacity={"requests": {"memory": "5"}})
    found = fault(cluster.allocator(release).allocate(node(), [claim(asked)]))
    assert found.kind == "capacity"
    assert found.text.endswith(text)
