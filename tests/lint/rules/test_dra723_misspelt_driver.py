"""DRA723 misspelt-driver."""

from __future__ import annotations

import pytest

from tests.lint.written import claim, device_class, documents, found, marked, published, selecting

PARAMETERS = "parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig}"


def claim_with_config(driver: str, of_class: str = "gpu.nvidia.com") -> str:
    return claim(f"gpu {of_class}", f"config: [{{opaque: {{driver: {driver}, {PARAMETERS}}}}}]")


def test_a_selector_on_a_misspelt_driver() -> None:
    (finding,) = found(selecting('device.driver == "gpu.nvida.com"'), "DRA723")
    assert (finding.severity, marked(finding)) == ("warning", '"gpu.nvida.com"')
    assert finding.message == "unknown driver gpu.nvida.com; did you mean gpu.nvidia.com?"
    assert finding.fix is not None
    assert [edit.text for edit in finding.fix.edits] == ["gpu.nvidia.com"]


@pytest.mark.parametrize("name", ["gpu.nvidia.io", "gpu.amd.com"])
def test_configuration_never_reaching_devices_of_the_class_is_found(name: str) -> None:
    (finding,) = found(claim_with_config(name), "DRA723")
    assert marked(finding) == name
    assert f"belong to gpu.nvidia.com: {name} never gets the configuration" in finding.message


def test_a_configuration_of_a_misspelt_driver() -> None:
    (finding,) = found(claim_with_config("gpu.nvida.com", "mine"), "DRA723")
    assert finding.message == "unknown driver gpu.nvida.com; did you mean gpu.nvidia.com?"


@pytest.mark.parametrize("name", ["gpu.nvidia.com", "nic.vendor.example"])
def test_known_and_distinct_drivers_are_fine(name: str) -> None:
    assert found(selecting(f'device.driver == "{name}"'), "DRA723") == []
    assert found(claim_with_config(name, "mine"), "DRA723") == []


def test_a_driver_of_the_input() -> None:
    slice_ = published("node-1", "gpu-0").replace("gpu.example.com", "gpu.nvida.com")
    assert found(documents(slice_, selecting('device.driver == "gpu.nvida.com"')), "DRA723") == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "nvidia.com/gpu",
            'no driver can have the name "nvidia.com/gpu"; did you mean gpu.nvidia.com?',
        ),
        ("vendor.example/nic", 'no driver can have the name "vendor.example/nic"'),
        ("amd.com", "unknown driver amd.com; did you mean gpu.amd.com?"),
    ],
)
def test_names_unlike_any_driver_are_fine(name: str, said: str) -> None:
    (finding,) = found(selecting(f'device.driver == "{name}"'), "DRA723")
    assert (finding.message, marked(finding)) == (said, f'"{name}"')


def test_several_drivers_of_a_vendor() -> None:
    (finding,) = found(selecting('device.driver == "nvidia.com"'), "DRA723")
    assert "gpu.nvidia.com or compute-domain.nvidia.com" in finding.message
    assert finding.fix is None


def test_the_configuration_of_a_class() -> None:
    text = device_class("mine", "device.driver == 'gpu.vendor.example'", config="nvidia.com")
    (finding,) = found(text, "DRA723")
    assert finding.path == "spec.config[0].opaque.driver"
    assert found(text.replace("nvidia.com", "gpu.vendor.example"), "DRA723") == []


@pytest.mark.parametrize(
    ("domain", "said"),
    [
        (
            "nvidia.com",
            "unknown domain nvidia.com; did you mean gpu.nvidia.com?",
        ),  # the one with a productName
        ("gpu.nvida.com", "unknown domain gpu.nvida.com; did you mean gpu.nvidia.com?"),
    ],
)
def test_domains_of_attributes(domain: str, said: str) -> None:
    selector = f'device.attributes["{domain}"].productName == "NVIDIA L4"'
    (finding,) = found(selecting(selector, "mine"), "DRA723")
    assert (finding.message, marked(finding)) == (said, domain)
    own = device_class("mine", "device.driver == 'gpu.vendor.example'")
    assert (
        found(documents(own, selecting(selector, "mine")), "DRA723") == []
    )  # it may use any domain
    assert found(selecting(selector, "gpu.nvidia.com"), "DRA723") == []  # DRA717


def test_domains_of_drivers_named_in_a_selector_are_fine() -> None:
    selector = 'device.driver == "gpu.vendor.example" && device.attributes["nvidia.com"].x == "y"'
    assert found(selecting(selector, "mine"), "DRA723") == []
