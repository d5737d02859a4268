"""DRA804 distinct-attribute-not-kept.

Against the allocator, which does as upstream's does.
"""

from __future__ import annotations

import pytest

from dractl.allocation import Allocated, Allocator, Features
from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target, decode
from tests.lint.written import GPU, claim, found

DISTINCT = "constraints: [{distinctAttribute: gpu.example.com/numa}]"
GATE = {"DRAConsumableCapacity": True}


@pytest.mark.parametrize("release", ["1.34", "1.35", "1.36", "1.37"])
@pytest.mark.parametrize(
    ("counts", "values"),
    [
        ((1,), (0,)),
        ((2,), (0, 0)),
        ((3,), (0, 1, 0)),
        ((1, 1, 1), (0, 1, 0)),
        ((2, 1), (0, 1, 0)),
        ((1, 2), (0, 1, 0)),
    ],
)
def test_the_release_says_whether_values_are_compared(
    release: str, counts: tuple[int, ...], values: tuple[int, ...]
) -> None:
    requests = "\n".join(
        f"r{at} gpu.example.com {{count: {count}}}" for at, count in enumerate(counts)
    )
    text = claim(requests, DISTINCT)
    listed = [
        {"name": f"gpu-{at}", "attributes": {"numa": {"int": value}}}
        for at, value in enumerate(values)
    ]
    pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": "node-1", "pool": pool, "devices": listed}
    slices = [
        decode(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceSlice",
                "metadata": {"name": "s"},
                "spec": spec,
            }
        )
    ]
    (document,) = load(["-"], stdin=text.encode()).documents
    (of_class,) = load(["-"], stdin=GPU.encode()).documents
    allocator = Allocator(
        slices, [decode(of_class.value)], features=Features.for_release(release, GATE)
    )  # type: ignore[arg-type, list-item]
    node = decode({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}})
    taken = allocator.allocate(node, [decode(document.value)])  # type: ignore[arg-type, list-item]
    equal = len(set(values)) < len(values)
    assert bool(found(text, "DRA804", release, GATE)) == (equal and isinstance(taken, Allocated))


def test_a_dropped_constraint_is_another_rules_business() -> None:
    text = claim(
        "gpu gpu.example.com {count: 3}", "constraints: [{distinctAttribute: gpu.example.com/numa}]"
    )
    report = lint(load(["-"], stdin=text.encode()), Target.of("1.35"))
    assert "DRA804" not in {finding.code for finding in report.findings}
    assert "DRA802" in {finding.code for finding in report.findings}
