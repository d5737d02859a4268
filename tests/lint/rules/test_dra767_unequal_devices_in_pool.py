"""DRA767 unequal-devices-in-pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import documents, marked, published

if TYPE_CHECKING:
    from dractl.lint import Finding


def find(text: str, *consumers: str) -> list[Finding]:
    report = lint(
        load(["-"], stdin=text.encode()), Target.of("1.37"), consumers=frozenset(consumers)
    )
    return [finding for finding in report.findings if finding.code == "DRA767"]


def pool(*fields: str, name: str = "gpus") -> str:
    text = published("node-1", "", pool=name, name=name)
    return text + "".join(f"  - {{name: gpu-{at}, {part}}}\n" for at, part in enumerate(fields))


A, B = "attributes: {model: {string: A}}", "attributes: {model: {string: B}}"


def test_two_models_in_a_pool() -> None:
    (finding,) = find(pool(A, A, B, B), "cluster-autoscaler")
    assert (finding.severity, marked(finding)) == ("warning", "gpu-2")
    assert "a different kind of device than gpu-0" in finding.message


def test_equal_devices_and_pools_of_their_own() -> None:
    assert find(pool(A, A), "cluster-autoscaler") == []
    assert find(documents(pool(A), pool(B, name="others")), "cluster-autoscaler") == []
    assert find(pool(A, B), "karpenter") == []


def test_partitions_sharing_counters_differ_by_design() -> None:
    counters = "consumesCounters: [{counterSet: c, counters: {slices: {value: 1}}}]"
    assert find(pool(f"{A}, {counters}", f"{B}, {counters}"), "cluster-autoscaler") == []


def test_devices_differing_only_in_identifiers_are_equal() -> None:
    def gpu(uuid: str, memory: str) -> str:
        return (
            f"attributes: {{uuid: {{string: {uuid}}}}}, capacity: {{memory: {{value: {memory}}}}}"
        )

    assert find(pool(gpu("x", "80Gi"), gpu("y", "80Gi")), "cluster-autoscaler") == []
    assert len(find(pool(gpu("x", "80Gi"), gpu("y", "40Gi")), "cluster-autoscaler")) == 1


def test_counter_sets_of_a_pool() -> None:
    def sets(*memory: str) -> str:
        listed = "".join(
            f"  - {{name: gpu-{at}, counters: {{memory: {{value: {amount}}}}}}}\n"
            for at, amount in enumerate(memory)
        )
        return published("node-1", "").replace("  devices:\n", "  sharedCounters:\n") + listed

    (finding,) = find(sets("80Gi", "80Gi", "40Gi"), "cluster-autoscaler")
    assert marked(finding) == "gpu-2"
    assert "counter set gpu-2 differs from gpu-0" in finding.message
    assert find(sets("80Gi", "80Gi"), "cluster-autoscaler") == []
