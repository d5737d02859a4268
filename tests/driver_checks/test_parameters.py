"""Opaque parameters of a driver's chart beside the CustomResourceDefinition that the chart has for them."""

from __future__ import annotations

import pytest

from tests.driver_checks.published import check, resource_slice

DRIVER = "lab.example.com"
SLICE = resource_slice("gpu-0 {uuid: {string: GPU-1}}", driver=DRIVER)
SCHEMA = """
        type: object
        required: [sharing]
        properties:
          sharing:
            type: object
            properties:
              strategy: {type: string, enum: [TimeSlicing, MPS]}
              interval: {type: integer, minimum: 1, nullable: true}
              labels: {type: object, additionalProperties: {type: string}}
              port: {x-kubernetes-int-or-string: true}
              more: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""


def definition(schema: str = SCHEMA, version: str = "v1") -> str:
    return (
        "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
        f"metadata: {{name: labconfigs.{DRIVER}}}\nspec:\n  group: {DRIVER}\n"
        "  names: {kind: LabConfig, plural: labconfigs}\n  scope: Namespaced\n  versions:\n"
        f"  - name: {version}\n    schema:\n      openAPIV3Schema:{schema}"
    )


def device_class(parameters: str, *, driver: str = DRIVER, version: str = "v1") -> str:
    return (
        "---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: lab}\nspec:\n"
        f"  selectors: [{{cel: {{expression: \"device.driver == '{DRIVER}'\"}}}}]\n"
        f"  config:\n  - opaque:\n      driver: {driver}\n      parameters:"
        f" {{apiVersion: {DRIVER}/{version}, kind: LabConfig{parameters and ', ' + parameters}}}\n"
    )


def messages(*texts: str) -> list[str]:
    """Return what DRA390 finds in a chart."""
    findings = check(SLICE, chart="".join(texts))
    return [finding.message.partition(": ")[2] for finding in findings if finding.code == "DRA390"]


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("sharing: {strategy: MPS, interval: 5}", []),
        ("sharing: {interval: null, port: http, labels: {a: b}, more: {any: [1]}}", []),
        ("", ['"sharing" is required']),
        ("sharing: {stratgy: MPS}", ['unknown field "stratgy"']),
        ("sharing: {strategy: Mps}", ['must be one of TimeSlicing, MPS, not "Mps"']),
        ("sharing: {interval: 0}", ["must be at least 1, not 0"]),
        ("sharing: {labels: {a: 1}}", ["must be a string, not 1"]),
        ("sharing: []", ["must be a map, not a list"]),
    ],
)
def test_parameters_follow_the_schema_of_the_chart(parameters: str, expected: list[str]) -> None:
    assert messages(definition(), device_class(parameters)) == expected


def test_version_absent_from_the_definition_is_reported() -> None:
    (message,) = messages(definition(), device_class("sharing: {}", version="v1beta1"))
    assert message == "it has v1"


def test_parameters_of_another_driver_or_kind_are_not_judged() -> None:
    assert messages(definition(), device_class("wrong: 1", driver="nic.example.com")) == []
    other = definition().replace("kind: LabConfig", "kind: NicConfig")
    assert messages(other, device_class("wrong: 1")) == []
    assert messages(device_class("wrong: 1")) == []


def test_invalid_schema_is_reported_once() -> None:
    broken = definition("\n        type: object\n        required: 5\n")
    twice = device_class("a: 1") + device_class("a: 1").replace("name: lab}", "name: lab2}")
    (message,) = messages(broken, twice)
    assert "5 is not of type 'array'" in message


def test_a_schema_in_levels() -> None:
    depth = 20
    schema = "{type: object, properties: {a: " * depth + "{}" + "}}" * depth
    assert messages(definition(f" {schema}\n"), device_class("a: {a: {a: 1}}")) == [
        "must be a map, not 1"
    ]
