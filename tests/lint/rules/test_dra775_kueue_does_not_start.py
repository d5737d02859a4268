"""DRA775 kueue-does-not-start: kubernetes-sigs/kueue pkg/config/validation.go validateDeviceClassMappings."""

from __future__ import annotations

from textwrap import indent
from typing import Any

import pytest
import yaml

from tests.lint.written import documents, found, marked

CEL = {"cel": {"expression": "device.driver == 'gpu.example.com'"}}


def counter(name: str = "memory", **more: Any) -> dict[str, Any]:
    return {"counter": {"name": name, "driver": "gpu.example.com", "deviceSelector": CEL, **more}}


def mapping(name: str, *classes: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "deviceClassNames": list(classes), **more}


def configuration(*mappings: Any, **more: Any) -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            "resources": {"deviceClassMappings": list(mappings)},
            **more,
        }
    )


ONE = mapping("gpus", "gpu.example.com")
TWO_COUNTERS = (
    mapping("memory", "mig.example.com", sources=[counter()]),
    mapping("cores", "mig.example.com", sources=[counter("cores")]),
)


@pytest.mark.parametrize("mappings", [(ONE,), TWO_COUNTERS, ()])
def test_configuration_accepted_by_kueue_is_fine(mappings: Any) -> None:
    assert found(configuration(*mappings), "DRA775") == []


@pytest.mark.parametrize(
    ("mappings", "path", "words"),
    [
        (
            [mapping(f"r{n}", f"c{n}.example.com") for n in range(17)],
            "resources.deviceClassMappings",
            "at most 16",
        ),
        (
            [mapping("r", *(f"c{n}.example.com" for n in range(9)))],
            "resources.deviceClassMappings[0].deviceClassNames",
            "at most 8",
        ),
        ([ONE, mapping("gpus", "b.example.com")], "resources.deviceClassMappings[1].name", "gpus"),
        ([mapping("r")], "resources.deviceClassMappings[0].deviceClassNames", "at least one"),
        (
            [mapping("r", "a.example.com", "a.example.com")],
            "resources.deviceClassMappings[0].deviceClassNames[1]",
            "twice",
        ),
        (
            [TWO_COUNTERS[0], mapping("whole", "mig.example.com")],
            "resources.deviceClassMappings[1].deviceClassNames[0]",
            "already mapped to resource memory",
        ),
        (
            [TWO_COUNTERS[0], mapping("more", "mig.example.com", sources=[counter()])],
            "resources.deviceClassMappings[1].deviceClassNames[0]",
            "counter memory",
        ),
        (
            [mapping("r", "a.example.com", sources=[{}])],
            "resources.deviceClassMappings[0].sources[0]",
            "either counter or capacity",
        ),
        (
            [mapping("r", "a.example.com", sources=[counter(driver="")])],
            "resources.deviceClassMappings[0].sources[0].counter",
            "driver is required",
        ),
        (
            [mapping("r", "a.example.com", sources=[counter("Memory")])],
            "resources.deviceClassMappings[0].sources[0].counter.name",
            "Memory",
        ),
        ([mapping("a/b/c", "a.example.com")], "resources.deviceClassMappings[0].name", "a/b/c"),
    ],
)
def test_configuration_stopping_kueue_is_found(mappings: list[Any], path: str, words: str) -> None:
    (finding,) = found(configuration(*mappings), "DRA775")
    assert (finding.severity, finding.path) == ("error", path)
    assert words in finding.message


def test_expressions_are_compiled() -> None:
    broken = counter(deviceSelector={"cel": {"expression": "device.driver = 'x'"}})
    (finding,) = found(configuration(mapping("r", "a.example.com", sources=[broken])), "DRA775")
    assert finding.path.endswith("deviceSelector.cel.expression")


def test_sources_of_capacity_need_a_gate() -> None:
    source = {"capacity": counter()["counter"]}
    one = mapping("r", "a.example.com", sources=[source])
    (finding,) = found(configuration(one), "DRA775")
    assert finding.severity == "warning"
    gates = {"KueueDRAIntegrationConsumableCapacity": True}
    assert found(configuration(one, featureGates=gates), "DRA775") == []


@pytest.mark.parametrize(
    "head",
    [
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kueue-manager-config}\n"
            "data:\n  controller_manager_config.yaml: |\n"
        ),
        (
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: kueue}\n"
            "spec:\n values:\n  managerConfig:\n   controllerManagerConfigYaml: |\n"
        ),
        "managerConfig:\n  controllerManagerConfigYaml: |\n",
    ],
)
def test_the_configuration_is_read_where_it_is_installed(head: str) -> None:
    text = head + indent(configuration(mapping("r", "gpu.nvidia.co", "gpu.nvidia.co")), " " * 8)
    (finding,) = found(text, "DRA775")
    assert marked(finding) == "gpu.nvidia.co"
    assert {f.position.line for f in found(documents(text), "DRA722")} >= {finding.position.line}


@pytest.mark.parametrize(
    "value", [3, "x", [], [3, {"name": 3, "deviceClassNames": 3, "sources": 3}]]
)
def test_values_of_the_wrong_type_do_no_harm(value: Any) -> None:
    text = yaml.safe_dump(
        {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            "resources": {"deviceClassMappings": value},
        }
    )
    found(text, "DRA775")
