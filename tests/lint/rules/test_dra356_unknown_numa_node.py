"""DRA356 unknown-numa-node."""

from __future__ import annotations

import pytest

from tests.lint.written import found, marked, published


def with_attribute(name: str, value: str) -> str:
    return published("node-1", "gpu-0") + f"    attributes: {{{name}: {value}}}\n"


@pytest.mark.parametrize("name", ["resource.kubernetes.io/numaNode", "numa", "dra.net/numaNode"])
def test_minus_one_is_no_numa_node(name: str) -> None:
    # the kernel's drivers/base/node.c and include/linux/numa.h: NUMA_NO_NODE is -1
    (finding,) = found(with_attribute(name, "{int: -1}"), "DRA356")
    assert (finding.severity, marked(finding)) == ("warning", "-1")
    assert finding.message.startswith(f"{name} of -1")


@pytest.mark.parametrize(
    ("name", "value"),
    [("numaNode", "{int: 0}"), ("index", "{int: -1}"), ("numaNode", '{string: "-1"}')],
)
def test_other_values_and_other_attributes(name: str, value: str) -> None:
    assert found(with_attribute(name, value), "DRA356") == []
