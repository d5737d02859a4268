"""What Karpenter, Cluster Autoscaler and Kueue refuse or cannot provision for, only where they are named."""

from __future__ import annotations

import pytest

from dractl.lint import Finding, lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import claim, device_class, template

CONSUMERS = ("karpenter", "cluster-autoscaler", "kueue")


def found(text: str, *consumers: str) -> list[Finding]:
    report = lint(load(["-"], stdin=text.encode()), Target.of("1.37"), consumers=frozenset(consumers))
    return [finding for finding in report.findings if finding.code.startswith("DRA76")]


def selecting(expression: str) -> str:
    return claim(f"gpu gpu.example.org {{selectors: [{{cel: {{expression: '{expression}'}}}}]}}")


UUID = 'device.attributes["gpu.example.org"].uuid == "GPU-1"'
ADDRESS = 'device.attributes["resource.kubernetes.io"].pciBusID == "0000:3b:00.0"'
WHOLE = template(claim("gpu gpu.example.org {allocationMode: All}"))
ADMIN = template(claim("gpu gpu.example.org {allocationMode: All, adminAccess: true}"))


@pytest.mark.parametrize("text", [selecting(UUID), WHOLE, ADMIN])
def test_nothing_is_said_unless_a_consumer_is_named(text: str) -> None:
    assert found(text) == []


def test_what_only_one_device_has_is_unknown_to_both_autoscalers() -> None:
    for consumer in ("karpenter", "cluster-autoscaler"):
        (finding,) = found(selecting(UUID), consumer)
        assert finding.code == "DRA762"
        assert finding.excerpt[finding.position.column - 1 :].startswith('device.attributes["gpu.example.org"].uuid')
    assert found(selecting(UUID), "kueue") == []


def test_an_address_is_the_same_on_nodes_of_a_group() -> None:
    assert [finding.code for finding in found(selecting(ADDRESS), "karpenter")] == ["DRA762"]
    assert found(selecting(ADDRESS), "cluster-autoscaler") == []


def test_a_class_is_judged_too() -> None:
    text = device_class("one", f"'{UUID}'")
    assert [finding.code for finding in found(text, "karpenter")] == ["DRA762"]


def test_a_root_that_devices_share_may_be_declared() -> None:
    text = claim(
        "gpu a.example.org\nnic b.example.org", "constraints:\n- matchAttribute: resource.kubernetes.io/pcieRoot"
    )
    assert [(finding.code, finding.severity) for finding in found(text, "karpenter")] == [("DRA762", "info")]
    assert found(text, "cluster-autoscaler") == []


def test_kueue_counts_templates_only() -> None:
    assert [finding.code for finding in found(WHOLE, "kueue")] == ["DRA765"]
    assert found(claim("gpu gpu.example.org {allocationMode: All}"), "kueue") == []
    assert found(ADMIN, "kueue") == []


def test_karpenter_ignores_admin_access() -> None:
    assert [finding.code for finding in found(ADMIN, "karpenter")] == ["DRA763"]
    assert found(ADMIN, "cluster-autoscaler") == []


SLICE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: gpu.example.org
  pool: {name: n, generation: 1, resourceSliceCount: 1}
  nodeName: n
  devices:
  - {name: a, attributes: {uuid: {string: x}}, capacity: {memory: {value: 80Gi}}}
  - {name: b, attributes: {uuid: {string: y}}, capacity: {memory: {value: 80Gi}}}
"""


def test_devices_that_differ_in_what_identifies_them_are_equal() -> None:
    assert found(SLICE, "cluster-autoscaler") == []
    (finding,) = found(
        SLICE.replace("y}}, capacity: {memory: {value: 80Gi", "y}}, capacity: {memory: {value: 40Gi"), *CONSUMERS
    )
    assert (finding.code, finding.position.line) == ("DRA767", 10)
