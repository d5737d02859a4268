"""Hints where the API server's message has none."""

from __future__ import annotations

import pytest

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import claim, device_class, documents, found, pod, published


@pytest.mark.parametrize(
    ("release", "expression", "said"),
    [
        (
            "1.37",
            'device.capacity["d.com"].m > quantity("1Gi")',
            'device.capacity["d.com"].m.compareTo(quantity("1Gi")) > 0',
        ),
        (
            "1.37",
            'device.capacity["d.com"].m >= 10',
            'device.capacity["d.com"].m.compareTo(quantity("10")) >= 0',
        ),
        (
            "1.37",
            'true && "1Gi" < device.capacity["d.com"].m || false',
            'quantity("1Gi").compareTo(device.capacity',
        ),
        (
            "1.37",
            'device.capacity["d.com"].m > 10Gi',
            'device.capacity["d.com"].m.compareTo(quantity("10Gi")) > 0',
        ),
        ("1.37", 'device.driver == "x" and true', "write && instead of and"),
        ("1.37", "not true", "write ! instead of not"),
        ("1.37", "true & true", "write && instead of &"),
        ("1.37", 'device.driver <> "x"', "write != instead of <>"),
        ("1.37", 'device.driver in ("a", "b")', "in [...]"),
        ("1.37", 'device.driver.contain("x")', "did you mean contains?"),
        ("1.37", 'gpu.d.com/model == "x"', 'write device.attributes["gpu.d.com"].model'),
        ("1.37", 'device.attributes[gpu.d.com].m == "x"', 'put strings in quotes: "gpu.d.com"'),
        ("1.37", 'Device.driver == "x"', "did you mean device?"),
        ("1.37", "device.driver == True", "write true"),
        ("1.37", "selector.cel", "dractl cel - < selector.cel"),
        ("1.37", "true &&", "an operand is missing"),
        ("1.37", "(true", "close its brackets and quotes"),
        ("1.37", 'device.attributes["d.com"] == "a"', 'device.attributes["gpu.example.com"].model'),
        ("1.37", 'device.attributes["d.com"]', 'device.attributes["gpu.example.com"].model'),
        ("1.37", 'device.capacity["d.com"] == "a"', 'device.capacity["gpu.example.com"].memory'),
        ("1.37", 'driver == "d.com"', "write device.driver"),
        ("1.37", 'device.name == "gpu-0"', "a device has driver, attributes, capacity"),
        ("1.34", "[2, 1].sort() == [1, 2]", "Kubernetes 1.35 and later accept it"),
        (
            "1.35",
            "device.allowMultipleAllocations",
            "1.35 accepts it if the feature gate DRAConsumableCapacity is on",
        ),
        (
            "1.35",
            "[1].includes(1)",
            "1.36 accepts it if the feature gate DRAListTypeAttributes is on",
        ),
        ("1.37", "device.driver = 'd.com'".replace("'", '"'), "=="),
        ("1.37", "device.driver == ", "an operand is missing"),
    ],
)
def test_uncompilable_selector_has_a_hint(release: str, expression: str, said: str | None) -> None:
    text = device_class("gpu.example.com", f"'{expression}'")
    (finding,) = [
        f for f in lint(load(["-"], stdin=text.encode()), Target.of(release)).findings if f.api
    ]
    assert finding.help is None if said is None else said in (finding.help or "")


def test_constraint_without_attributes_has_its_own_hint() -> None:
    text = claim("a x\nb x", "constraints: [{requests: [a, b]}]")
    (finding,) = [f for f in lint(load(["-"], stdin=text.encode()), Target.of()).findings if f.api]
    assert "multiple fields are set" in finding.message
    assert (finding.help or "").startswith("the constraint has neither")


def test_the_lower_limit_of_devices_is_explained() -> None:
    plain = published("node-1", " ".join(f"gpu-{number}" for number in range(129)))
    tainted = plain.replace(
        "- name: gpu-5\n", "- name: gpu-5\n    taints: [{key: a, effect: NoSchedule}]\n"
    )
    helps = []
    for text in (plain, tainted):
        (finding,) = [
            f
            for f in lint(load(["-"], stdin=text.encode()), Target.of()).findings
            if f.code == "DRA312"
        ]
        helps.append(finding.help)
    assert helps[0] is None
    assert helps[1] is not None
    assert helps[1].startswith("128 are only allowed if")


def test_all_missing_fields_of_a_configuration_are_named_once() -> None:
    text = claim(
        "gpu gpu.nvidia.com",
        "config: [{opaque: {driver: gpu.nvidia.com, parameters: {sharing: {}}}}]",
    )
    messages = [finding.message for finding in found(text, "DRA711")]
    assert len(messages) == len(set(messages))
    assert {name for name in ("apiVersion", "kind") if any(f'"{name}"' in m for m in messages)} == {
        "apiVersion",
        "kind",
    }


def test_claim_of_a_container_is_a_map_from_the_list_of_the_pod() -> None:
    text = pod("gpu=gpus")
    for written, said in (
        ("[gpu]", "write {name: gpu}"),
        ("[{name: nic}]", "list it under resourceClaims of the pod"),
    ):
        changed = text.replace("[{name: gpu}]", written)
        (finding,) = [
            f for f in lint(load(["-"], stdin=changed.encode()), Target.of()).findings if f.api
        ]
        assert (finding.help or "").startswith(said)


def test_hint_names_the_label_for_admin_access() -> None:
    access = claim("gpu CLASS {allocationMode: All, adminAccess: true}").replace(
        "{name: gpus}", "{name: m, namespace: ml}"
    )
    text = documents("apiVersion: v1\nkind: Namespace\nmetadata: {name: ml}\n", access)
    helps = [
        item.help
        for item in lint(load(["-"], stdin=text.encode()), Target.of("1.37")).findings
        if item.code == "DRA119"
    ]
    assert helps == [
        'add resource.kubernetes.io/admin-access: "true" to metadata.labels of the Namespace ml'
    ]
