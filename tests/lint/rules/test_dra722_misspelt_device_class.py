"""DRA722 misspelt-device-class."""

from __future__ import annotations

import pytest

from tests.lint.written import claim, device_class, documents, found, marked


def test_class_near_an_installed_one_is_found() -> None:
    (finding,) = found(claim("gpu gpu.nvida.com"), "DRA722")
    assert (finding.severity, finding.confidence, marked(finding)) == (
        "warning",
        "likely",
        "gpu.nvida.com",
    )
    assert finding.message == "unknown device class gpu.nvida.com; did you mean gpu.nvidia.com?"
    assert finding.fix is not None
    assert (finding.fix.safe, [edit.text for edit in finding.fix.edits]) == (
        False,
        ["gpu.nvidia.com"],
    )


def test_removed_class_has_its_successor() -> None:
    (finding,) = found(claim("channel imex.nvidia.com"), "DRA722")
    assert "compute-domain-default-channel.nvidia.com" in (finding.help or "")
    assert finding.fix is None


@pytest.mark.parametrize(
    "name", ["gpu.nvidia.com", "gpu.example.com", "dra.hugepages-4m", "my-gpus", "gpus"]
)
def test_possibly_right_names_are_left_alone(name: str) -> None:
    assert found(claim(f"gpu {name}"), "DRA722") == []


def test_a_class_of_the_input() -> None:
    own = device_class("gpu.nvida.com", 'device.driver == "x.example.com"')
    assert found(documents(own, claim("gpu gpu.nvida.com")), "DRA722") == []


def test_kueues_configuration_names_classes() -> None:
    mapping = """\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
resources:
  deviceClassMappings:
  - name: gpus
    deviceClassNames: [gpu.nvidia.co]
"""
    (finding,) = found(mapping, "DRA722")
    assert (finding.message, finding.position.line) == (
        "unknown device class gpu.nvidia.co; did you mean gpu.nvidia.com?",
        6,
    )
    assert found(mapping.replace("nvidia.co]", "nvidia.com]"), "DRA722") == []
