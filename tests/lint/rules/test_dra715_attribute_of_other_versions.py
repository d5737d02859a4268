"""DRA715 attribute-of-other-versions."""

from __future__ import annotations

from tests.lint.written import claim, found, marked, selecting

GPU = 'device.attributes["gpu.nvidia.com"]'


def test_an_attribute_of_the_first_release_only() -> None:
    (finding,) = found(selecting(f"{GPU}.index == 0", "gpu.nvidia.com"), "DRA715")
    assert (finding.severity, finding.confidence, marked(finding)) == ("warning", "likely", "index")
    assert "gpu.nvidia.com no longer publishes gpu.nvidia.com/index" in finding.message
    assert "v25.3.2 was the last release with it; the newest is v0.5.1" in finding.message


def test_a_constraint_on_one() -> None:
    constraint = "constraints: [{matchAttribute: gpu.nvidia.com/index}]"
    (finding,) = found(claim("gpu gpu.nvidia.com {count: 2}", constraint), "DRA715")
    assert marked(finding) == "gpu.nvidia.com/index"


def test_a_guarded_one_is_for_older_drivers_too() -> None:
    assert found(selecting(f"{GPU}.?index.orValue(0) == 0", "gpu.nvidia.com"), "DRA715") == []
    assert (
        found(selecting(f'"index" in {GPU} && {GPU}.index == 0', "gpu.nvidia.com"), "DRA715") == []
    )


def test_an_attribute_of_the_current_release() -> None:
    assert found(selecting(f'{GPU}.architecture == "Hopper"', "gpu.nvidia.com"), "DRA715") == []
