"""DRA604 slash-in-domain."""

from __future__ import annotations

import pytest

from tests.lint.written import found, marked, selecting


@pytest.mark.parametrize(
    ("lookup", "of_class", "meant"),
    [
        ('attributes["gpu.example.com/model"].string', "any", 'device.attributes["gpu.example.com"].string'),
        ('attributes["nvidia.com/gpu"].memory', "gpu.nvidia.com", 'device.capacity["gpu.nvidia.com"].memory'),
        ('attributes["nvidia.com/gpu-memory"].x', "gpu.nvidia.com", 'device.capacity["gpu.nvidia.com"].memory'),
    ],
)
def test_a_domain_with_a_slash(lookup: str, of_class: str, meant: str) -> None:
    (finding,) = found(selecting(f'device.{lookup} == "A100"', of_class), "DRA604")
    assert finding.severity == "error"
    assert marked(finding) == lookup.split('"')[1]
    assert finding.help == f"write {meant}"


def test_the_help_is_never_an_expression_that_does_not_compile() -> None:
    (finding,) = found(selecting('"x" in device.attributes["example.com/gpu-memory"]'), "DRA604")
    assert "gpu-memory" not in (finding.help or "")


def test_domain_and_name_apart() -> None:
    assert found(selecting('device.attributes["gpu.example.com"].model == "a/b"'), "DRA604") == []
