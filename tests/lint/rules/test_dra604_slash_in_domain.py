"""DRA604 slash-in-domain."""

from __future__ import annotations

import pytest

from tests.lint.written import found, marked, selecting


@pytest.mark.parametrize(
    ("lookup", "of_class", "meant"),
    [
        (
            'attributes["gpu.example.com/model"].string',
            "any",
            'device.attributes["gpu.example.com"].string',
        ),
        (
            'attributes["nvidia.com/gpu"].memory',
            "gpu.nvidia.com",
            'device.capacity["gpu.nvidia.com"].memory',
        ),
        (
            'attributes["nvidia.com/gpu-memory"].x',
            "gpu.nvidia.com",
            'device.capacity["gpu.nvidia.com"].memory',
        ),
    ],
)
def test_a_domain_with_a_slash(lookup: str, of_class: str, meant: str) -> None:
    (finding,) = found(selecting(f'device.{lookup} == "A100"', of_class), "DRA604")
    assert finding.severity == "error"
    assert marked(finding) == lookup.split('"')[1]
    assert finding.help == f"write {meant}"


def test_help_is_never_an_uncompilable_expression() -> None:
    (finding,) = found(selecting('"x" in device.attributes["example.com/gpu-memory"]'), "DRA604")
    assert "gpu-memory" not in (finding.help or "")


def test_domain_and_name_apart() -> None:
    assert found(selecting('device.attributes["gpu.example.com"].model == "a/b"'), "DRA604") == []


@pytest.mark.parametrize(
    ("expression", "written"),
    [
        (
            'device.attributes["nvidia.com/gpu"].architecture == "x"',
            'device.attributes["gpu.nvidia.com"].architecture',
        ),
        (
            'device.attributes["nvidia.com/gpu"].memory.compareTo(quantity("1Gi")) > 0',
            'device.capacity["gpu.nvidia.com"].memory',
        ),
        ('device.attributes["nvidia.com/gpu"].memory == 1', None),  # a quantity is not compared so
        ('has(device.attributes["nvidia.com/gpu"].architecture)', None),
        ('device.attributes["nvidia.com/gpu"].?architecture.orValue("") == "x"', None),
        ('device.attributes["example.com/gpu"].model == "x"', None),
    ],
)
def test_meant_lookup_is_an_unsafe_fix(expression: str, written: str | None) -> None:
    (finding,) = found(selecting(expression), "DRA604")
    assert (finding.fix.edits[0].text if finding.fix else None) == written
    assert finding.fix is None or not finding.fix.safe
