"""DRA762 attribute-unknown-before-launch."""

from __future__ import annotations

from dractl.lint import Finding, lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import claim, device_class


def found(text: str, *consumers: str) -> list[Finding]:
    report = lint(load(["-"], stdin=text.encode()), Target.of("1.37"), consumers=frozenset(consumers))
    return [finding for finding in report.findings if finding.code.startswith("DRA76")]


def selecting(expression: str) -> str:
    return claim(f"gpu gpu.example.org {{selectors: [{{cel: {{expression: '{expression}'}}}}]}}")


UUID = 'device.attributes["gpu.example.org"].uuid == "GPU-1"'
ADDRESS = 'device.attributes["resource.kubernetes.io"].pciBusID == "0000:3b:00.0"'


def test_only_where_a_consumer_is_named() -> None:
    assert found(selecting(UUID)) == []


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
